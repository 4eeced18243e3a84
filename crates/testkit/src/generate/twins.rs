//! Sides that do the same on different operands.

use super::Generator;
use super::writer::{Ty, Val};

/// What both sides do at one place.
#[derive(Clone, Copy)]
enum Step {
    /// An operation of two operands, perhaps the other way round on one side; the
    /// second one perhaps the same for both.
    Two(&'static str, Option<Val>),
    One(&'static str),
    /// A division by either constant.
    By(&'static str, [i64; 2]),
    /// A load of what the lane itself may have stored.
    Load(u32),
    /// A load that may be speculated.
    Free,
    Store(u32),
}

impl Generator<'_> {
    /// A diamond both of whose sides consist of the same operations in the same
    /// order, mostly on what came before and on one value, but begun with different
    /// ones, with other things between on one side or both.
    pub(super) fn twins(&mut self) {
        self.w.coverage.shape("twins");
        let ty = self.bytes.pick(&[Ty::I32, Ty::I64, Ty::I32, Ty::I8]);
        let steps: Vec<Step> = (0..1 + self.bytes.below(6))
            .map(|_| self.step(ty))
            .collect();
        let cond = self.condition();
        let types = vec![ty; self.bytes.pick(&[1, 1, 2, 1, 0])];
        let sides = [self.w.block(&[]), self.w.block(&[])];
        let join = self.w.block(&types);
        self.w.brif(cond, (sides[0], &[]), (sides[1], &[]));
        let between = self.bytes.chance(100);
        for (n, side) in sides.into_iter().enumerate() {
            let scope = self.w.pool.len();
            self.w.open(side);
            self.depth += 1;
            let mut last = self.value(ty);
            for &step in &steps {
                if between && self.bytes.chance(40) {
                    self.statements(0..=1);
                }
                last = self.twin(n, ty, step, last);
            }
            self.depth -= 1;
            let mut values = self.values(&types);
            if let Some(first) = values.first_mut() {
                *first = last;
            }
            self.w.jump(join, &values);
            self.w.pool.truncate(scope);
        }
        self.w.open(join);
        if let Some(&v) = self.w.params(join).first()
            && self.bytes.chance(200)
        {
            let place = self.bytes.below(4);
            self.keep(v, place);
        }
    }

    fn step(&mut self, ty: Ty) -> Step {
        let two = ["iadd", "imul", "isub", "bxor", "umin", "smax", "band"];
        match self.bytes.below(12) {
            0..=5 => {
                let common = self.bytes.chance(200).then(|| self.value(ty));
                Step::Two(self.bytes.pick(&two), common)
            }
            6 | 7 => Step::One(self.bytes.pick(&["bnot", "ineg", "popcnt", "clz"])),
            8 if ty != Ty::I8 => {
                let op = self.bytes.pick(&["udiv", "sdiv", "srem"]);
                Step::By(op, self.bytes.pick(&[[3, 7], [7, 3], [5, 5]]))
            }
            9 => Step::Load(8 * self.bytes.below(4) as u32),
            10 => Step::Free,
            _ => Step::Store(8 * self.bytes.below(4) as u32),
        }
    }

    /// One step on one side; what comes after it.
    fn twin(&mut self, side: usize, ty: Ty, step: Step, last: Val) -> Val {
        // Twins mostly build upon each other.
        let a = match self.bytes.chance(230) {
            true => last,
            false => self.value(ty),
        };
        match step {
            Step::Two(op, common) => {
                let b = common.unwrap_or_else(|| self.value(ty));
                match self.bytes.chance(40) {
                    true => self.w.ins(ty, op, &[b, a]),
                    false => self.w.ins(ty, op, &[a, b]),
                }
            }
            Step::One(op) => self.w.ins(ty, op, &[a]),
            Step::By(op, by) => {
                let by = self.int(ty, by[side]);
                self.w.ins(ty, op, &[a, by])
            }
            Step::Load(offset) => {
                let rest = format!("notrap aligned v{}+{offset}", self.out.id);
                self.w.def(ty, "load", true, &rest)
            }
            Step::Free => {
                let at = self.element(self.inputs.ints, 8);
                let rest = format!("notrap aligned readonly can_move v{}", at.id);
                self.w.def(ty, "load", true, &rest)
            }
            Step::Store(offset) => {
                if self.depth > 0 {
                    self.w.coverage.shape("store-arm");
                }
                let rest = format!("notrap aligned v{}, v{}+{offset}", a.id, self.out.id);
                self.w.act("store", &rest);
                last
            }
        }
    }
}
