//! Choices between values that are one instruction without a branch, or nearly so:
//! minimum, maximum, absolute value, clamp, the number of a condition, and logic.
//!
//! What recognises them has to get signs and operands right whatever the branches
//! look like that choose. So each stands in a *frame* of tests whose edges go to one
//! of two ways, each of which is an edge to the join or a block of its own: triangles,
//! diamonds, their mirror images, both edges to one block, `&&`, `||` and mixes, of
//! either polarity. Values beside those that make the idiom are drawn too, since what
//! nearly is one must not be taken for it.

use super::Generator;
use super::writer::{Blk, Ty, Val, list};

impl Generator<'_> {
    /// One choice, in a frame, and a use of what was chosen.
    pub(super) fn idiom(&mut self) {
        match self.bytes.below(10) {
            0..=2 => self.number(),
            3 => self.extreme(),
            4 => self.clamp(),
            5 | 6 => self.absolute(),
            7 | 8 => self.float_extreme(),
            _ => self.truth(),
        }
    }

    /// Constants by one or several conditions.
    fn number(&mut self) {
        self.w.coverage.shape("idiom-number");
        let ty = self.bytes.pick(&[Ty::I32, Ty::I16, Ty::I64, Ty::I8]);
        let pair = self.bytes.pick(&[
            (1, 0),
            (0, 1),
            (1, 0),
            (0, 1),
            (-1, 0),
            (0, -1),
            (1, 1),
            (0, 0),
            (1, -1),
            (5, 4),
        ]);
        let values = [pair.0, pair.1].map(|n| self.int(ty, n));
        let tests = 1 + self.bytes.below(3);
        let conditions: Vec<Val> = (0..tests).map(|_| self.condition()).collect();
        let chosen = self.frame(&conditions, values);
        self.use_of(chosen);
    }

    /// The smaller or the greater of two integers.
    fn extreme(&mut self) {
        self.w.coverage.shape("idiom-extreme");
        let ty = self.int_type();
        let [a, b] = self.pair(ty);
        let cond = self.icmp(&[a, b]);
        let chosen = self.either(cond, a, b);
        self.use_of(chosen);
    }

    /// The smaller of one constant and the greater of another and a number.
    fn clamp(&mut self) {
        self.w.coverage.shape("idiom-clamp");
        let ty = self.bytes.pick(&[Ty::I32, Ty::I64, Ty::I8, Ty::I16]);
        let mut v = self.value(ty);
        let (low, high) = self.bytes.pick(&[(-3, 9), (0, 100), (2, 2), (7, -7)]);
        for (bound, codes) in [(low, ["slt", "sle", "ult"]), (high, ["sgt", "sge", "ugt"])] {
            let bound = self.int(ty, bound);
            let cc = self.bytes.pick(&codes);
            let rest = format!("{cc} {}", list(&[v, bound]));
            let cond = self.w.def(Ty::I8, "icmp", false, &rest);
            v = self.either(cond, bound, v);
        }
        self.use_of(v);
    }

    /// A number or its negative, by its sign or by something like it.
    fn absolute(&mut self) {
        self.w.coverage.shape("idiom-absolute");
        let ty = self.bytes.pick(&[Ty::I32, Ty::I64, Ty::I8, Ty::I16]);
        let mut a = self.value(ty);
        if self.bytes.chance(60) {
            // The least one in some lanes.
            let bits = self.int(ty, i64::MIN >> (64 - ty.bits()));
            a = self.w.ins(ty, "bor", &[a, bits]);
        }
        let negative = self.w.ins(ty, "ineg", &[a]);
        let bound = self.bytes.pick(&[0, 0, 0, 1, -1]);
        let cc = self.bytes.pick(&["slt", "sgt", "sle", "sge", "ult", "eq"]);
        let cond = self.icmp_with(cc, a, bound);
        let chosen = self.either(cond, negative, a);
        self.use_of(chosen);
    }

    /// The smaller or the greater of two floats, among them zeros of both signs, NaNs
    /// and what cannot be one of these.
    fn float_extreme(&mut self) {
        self.w.coverage.shape("idiom-float");
        let ty = self.bytes.pick(&[Ty::F32, Ty::F64, Ty::F32]);
        // What comes from an integer is never a NaN or -0.
        let kinds: &[usize] = match self.bytes.chance(128) {
            true => &[1, 1, 3],
            false => &[0, 1, 2, 3],
        };
        let [a, b] = [(); 2].map(|()| match self.bytes.pick(kinds) {
            0 => self.value(ty),
            1 => {
                let number = self.small();
                self.w.cast(ty, "fcvt_from_sint", number)
            }
            2 => {
                // Zeros of both signs.
                let number = self.value(ty);
                let zero = self.float(ty, "0.0");
                let settled = self.settled(number);
                self.w.ins(ty, "fcopysign", &[zero, settled])
            }
            _ => {
                let n = self
                    .bytes
                    .pick(&["0x1.4p2", "0.0", "-0.0", "0x1.8p1", "-0.0", "+NaN"]);
                self.float(ty, n)
            }
        });
        let cc = self.bytes.pick(&[
            "lt", "gt", "le", "ge", "lt", "gt", "ult", "uge", "ord", "uno", "eq",
        ]);
        let rest = format!("{cc} {}", list(&[a, b]));
        let cond = self.w.def(Ty::I8, "fcmp", false, &rest);
        let chosen = self.either(cond, a, b);
        self.use_of(chosen);
    }

    fn float(&mut self, ty: Ty, text: &str) -> Val {
        let op = if ty == Ty::F32 {
            "f32const"
        } else {
            "f64const"
        };
        self.w.def(ty, op, false, text)
    }

    /// Truth values, one of them perhaps a constant: what `&&` and `||` make of
    /// conditions that are used as values.
    fn truth(&mut self) {
        self.w.coverage.shape("idiom-truth");
        let values = [(); 2].map(|()| match self.bytes.below(4) {
            0 => self.int(Ty::I8, 0),
            1 => self.int(Ty::I8, 1),
            _ => self.compare(),
        });
        let tests = 1 + self.bytes.below(2);
        let conditions: Vec<Val> = (0..tests).map(|_| self.compare()).collect();
        let chosen = self.frame(&conditions, values);
        if self.bytes.chance(128) {
            return self.use_of(chosen);
        }
        // A condition again.
        let numbers = [1, 0].map(|n| self.int(Ty::I32, n));
        let chosen = self.frame(&[chosen], numbers);
        self.use_of(chosen);
    }

    /// `a` or `b`, whichever way round.
    fn either(&mut self, cond: Val, a: Val, b: Val) -> Val {
        match self.bytes.chance(128) {
            true => self.frame(&[cond], [b, a]),
            false => self.frame(&[cond], [a, b]),
        }
    }

    /// Stores what was chosen, most often: nothing else may look at it.
    fn use_of(&mut self, v: Val) {
        if !self.bytes.chance(60) {
            let place = self.bytes.below(4);
            self.keep(v, place);
        }
    }

    /// Tests in a row, behind which one of two values is chosen.
    fn frame(&mut self, conditions: &[Val], values: [Val; 2]) -> Val {
        let join = self.w.block(&[values[0].ty]);
        // Each way is an edge to the join or a block that may do something.
        let blocks = [(); 2].map(|()| self.bytes.chance(128).then(|| self.w.block(&[])));
        let way = |n: usize| -> (Blk, Vec<Val>) {
            match blocks[n] {
                Some(block) => (block, Vec::new()),
                None => (join, vec![values[n]]),
            }
        };
        if conditions.len() > 1 {
            self.w.coverage.shape("idiom-chain");
        }
        let scope = self.w.pool.len();
        for (i, &cond) in conditions.iter().enumerate() {
            if i + 1 == conditions.len() {
                let [then, otherwise] = [way(0), way(1)];
                self.w
                    .brif(cond, (then.0, &then.1), (otherwise.0, &otherwise.1));
                break;
            }
            let next = self.w.block(&[]);
            let goes_on = self.bytes.chance(128);
            // `a && b` fails to the second way, `a || b` succeeds to the first.
            let mut out = usize::from(!goes_on);
            if self.bytes.chance(60) {
                self.w.coverage.shape("idiom-cross");
                out = 1 - out;
            }
            let leaves = way(out);
            match goes_on {
                true => self.w.brif(cond, (leaves.0, &leaves.1), (next, &[])),
                false => self.w.brif(cond, (next, &[]), (leaves.0, &leaves.1)),
            }
            self.w.open(next);
        }
        for (n, block) in blocks.into_iter().enumerate() {
            let Some(block) = block else { continue };
            self.w.open(block);
            self.depth += 1;
            if self.bytes.chance(40) {
                self.operation();
            }
            self.depth -= 1;
            self.w.jump(join, &[values[n]]);
            self.w.pool.truncate(scope);
        }
        self.w.open(join);
        self.w.params(join)[0]
    }
}
