//! Bounded loops: at most four rounds, nested at most twice, so that every
//! program ends.

use super::Generator;
use super::writer::{Ty, Val};

impl Generator<'_> {
    /// A bounded loop.
    pub(super) fn repeat(&mut self) {
        let per_lane = self.bytes.chance(160);
        let trips = if per_lane {
            self.w.coverage.shape("loop-lane");
            let small = self.small();
            let three = self.int(Ty::I32, 3);
            self.w.ins(Ty::I32, "band", &[small, three])
        } else {
            self.w.coverage.shape("loop-uniform");
            match self.bytes.chance(100) {
                true => {
                    let three = self.int(Ty::I32, 3);
                    let scalar = self.scalar;
                    self.w.ins(Ty::I32, "band", &[scalar, three])
                }
                false => {
                    let n = self.bytes.below(4) as i64;
                    self.int(Ty::I32, n)
                }
            }
        };
        self.loops += 1;
        self.depth += 1;
        let carried = self.any_type();
        let types = [Ty::I32, carried, carried];
        let zero = self.int(Ty::I32, 0);
        let start = [zero, self.value(carried), self.value(carried)];
        let header = self.w.block(&types);
        let exit = self.w.block(&types[1..]);
        self.w.jump(header, &start);
        let scope = self.w.pool.len();
        self.w.open(header);
        let [i, a, b] = self.w.params(header)[..] else {
            unreachable!("the header was made with three parameters");
        };
        let memory = self.options.waits && self.bytes.chance(140);
        if memory {
            self.w.coverage.shape("loop-memory");
        }
        let bottom = self.bytes.chance(100);
        if bottom {
            self.w.coverage.shape("loop-bottom");
        } else {
            let goes_on = self.goes_on(i, trips, memory);
            let body = self.w.block(&[]);
            self.w.brif(goes_on, (body, &[]), (exit, &[a, b]));
            self.w.open(body);
        }
        self.statements(1..=4);
        if self.bytes.chance(60) {
            self.w.coverage.shape("loop-break");
            let cond = self.condition();
            let out = [self.value(carried), a];
            let rest = self.w.block(&[]);
            self.w.brif(cond, (exit, &out), (rest, &[]));
            self.w.open(rest);
            self.statements(0..=2);
        }
        let one = self.int(Ty::I32, 1);
        let next = self.w.ins(Ty::I32, "iadd", &[i, one]);
        let again = if self.bytes.chance(80) {
            self.w.coverage.shape("loop-swap");
            [next, b, a]
        } else {
            [next, self.value(carried), self.value(carried)]
        };
        if bottom {
            let goes_on = self.goes_on(next, trips, memory);
            self.w.brif(goes_on, (header, &again), (exit, &again[1..]));
        } else {
            self.w.jump(header, &again);
        }
        self.w.pool.truncate(scope);
        self.depth -= 1;
        self.loops -= 1;
        self.w.open(exit);
    }

    /// Whether another round follows after `i` of at most `trips`.
    fn goes_on(&mut self, i: Val, mut trips: Val, memory: bool) -> Val {
        if memory {
            // The lane's own number decides, and what it has stored there.
            let offset = 8 * self.bytes.below(4);
            let rest = format!("notrap aligned v{}+{offset}", self.out.id);
            let own = self.w.def(Ty::I32, "load", true, &rest);
            trips = self.w.ins(Ty::I32, "band", &[trips, own]);
        }
        let rest = format!("ult v{}, v{}", i.id, trips.id);
        self.w.def(Ty::I8, "icmp", false, &rest)
    }

    /// A loop that is entered in either of its two blocks.
    pub(super) fn two_entries(&mut self) {
        self.w.coverage.shape("irreducible");
        let small = self.small();
        let three = self.int(Ty::I32, 3);
        let trips = self.w.ins(Ty::I32, "band", &[small, three]);
        let ty = self.any_type();
        let cond = self.condition();
        let zero = self.int(Ty::I32, 0);
        let start = [zero, self.value(ty)];
        let [a, b] = [(); 2].map(|()| self.w.block(&[Ty::I32, ty]));
        let exit = self.w.block(&[ty]);
        self.w.brif(cond, (a, &start), (b, &start));
        self.loops += 1;
        self.depth += 1;
        let scope = self.w.pool.len();
        self.w.open(a);
        let i = self.w.params(a)[0];
        self.statements(0..=2);
        let out = [i, self.value(ty)];
        self.w.jump(b, &out);
        self.w.pool.truncate(scope);
        self.w.open(b);
        let i = self.w.params(b)[0];
        self.statements(0..=2);
        let one = self.int(Ty::I32, 1);
        let next = self.w.ins(Ty::I32, "iadd", &[i, one]);
        let v = self.value(ty);
        let rest = format!("ult v{}, v{}", next.id, trips.id);
        let goes_on = self.w.def(Ty::I8, "icmp", false, &rest);
        self.w.brif(goes_on, (a, &[next, v]), (exit, &[v]));
        self.w.pool.truncate(scope);
        self.depth -= 1;
        self.loops -= 1;
        self.w.open(exit);
    }
}
