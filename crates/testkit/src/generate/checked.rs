//! What may end a lane early, and what stands behind a check because it would.
//!
//! What could trap is written so that it does not, unless the options ask for
//! traps: divisors are constants, tested, or have a bit set; loads are in
//! bounds behind their check, and really out of bounds in front of it.

use super::Generator;
use super::writer::{Blk, Ty, Val};

impl Generator<'_> {
    /// A side that only returns, or only traps.
    pub(super) fn leave(&mut self) {
        let returns = self.bytes.chance(150);
        // A trap that does not fire tests what is never true.
        let fires = !returns && self.fires();
        let cond = if returns {
            self.condition()
        } else {
            let small = self.small();
            let n = if fires { 12 } else { 16 };
            self.icmp_with("ugt", small, n - 1)
        };
        let shared = returns && self.bytes.chance(60);
        let side = if shared {
            self.shared_return()
        } else {
            self.w.block(&[])
        };
        let rest = self.w.block(&[]);
        match self.bytes.chance(80) {
            true if returns => self.w.brif(cond, (rest, &[]), (side, &[])),
            _ => self.w.brif(cond, (side, &[]), (rest, &[])),
        }
        if shared {
            self.left_behind |= self.exchanged;
            self.w.open(rest);
            return;
        }
        let here = self.w.here();
        let (scope, was_late) = (self.w.pool.len(), self.w.late);
        if self.bytes.chance(100) {
            self.w.late = true;
            self.w.coverage.shape("late-block");
        }
        self.w.open(side);
        if returns {
            self.w.coverage.shape("early-return");
            self.note_return();
            self.finish_lane();
        } else {
            self.w.coverage.shape("trap-side");
            self.w.act("trap", "user1");
        }
        self.w.late = was_late;
        self.w.pool.truncate(scope);
        self.w.resume(here);
        self.w.open(rest);
    }

    /// Notes a return other than the last, where it stands.
    ///
    /// Returns that a barrier can reach are ranked first among the ends of a function,
    /// the later in layout first. The last return must be ahead of all others as long as
    /// barriers follow: they are met on the way to it.
    pub(super) fn note_return(&mut self) {
        self.left_behind |= self.exchanged && self.w.late;
    }

    /// A way out that several branches share.
    fn shared_return(&mut self) -> Blk {
        self.w.coverage.shape("shared-return");
        match self.way_out {
            Some(block) => block,
            None => *self.way_out.insert(self.w.block(&[])),
        }
    }

    /// `trapz` or `trapnz`, or an addition that traps on overflow.
    pub(super) fn trap_check(&mut self) {
        self.w.coverage.shape("trap-check");
        let fires = self.fires();
        let small = self.small();
        let n = if fires { 13 } else { 16 };
        match self.bytes.below(3) {
            0 => {
                let c = self.icmp_with("ult", small, n);
                self.w.act("trapz", &format!("v{}, user2", c.id));
            }
            1 => {
                let c = self.icmp_with("uge", small, n);
                self.w.act("trapnz", &format!("v{}, heap_oob", c.id));
            }
            _ => {
                let by = self.int(Ty::I32, if fires { -13 } else { 1 });
                let rest = format!("v{}, v{}, user3", small.id, by.id);
                self.w.def(Ty::I32, "uadd_overflow_trap", false, &rest);
            }
        }
    }

    /// `if (d != 0) x = a / d`.
    pub(super) fn checked_division(&mut self) {
        self.w.coverage.shape("div-checked");
        let ty = self.bytes.pick(&[Ty::I32, Ty::I64, Ty::I8, Ty::I16]);
        let op = self.bytes.pick(&["sdiv", "udiv", "urem", "srem"]);
        let (a, d) = (self.value(ty), self.value(ty));
        let d = self.divisor(d);
        let otherwise = self.value(ty);
        let cond = self.icmp_with("ne", d, 0);
        let (side, join) = (self.w.block(&[]), self.w.block(&[ty]));
        self.w.brif(cond, (side, &[]), (join, &[otherwise]));
        let scope = self.w.pool.len();
        self.w.open(side);
        self.depth += 1;
        let q = self.w.ins(ty, op, &[a, d]);
        self.statements(0..=1);
        self.depth -= 1;
        self.w.jump(join, &[q]);
        self.w.pool.truncate(scope);
        self.w.open(join);
    }

    /// `if (i < 8) x = table[i]`, where `table[8]` is not mapped.
    pub(super) fn checked_load(&mut self) {
        self.w.coverage.shape("load-checked");
        let index = self.small();
        let otherwise = self.value(Ty::I64);
        let cond = self.icmp_with("ult", index, 8);
        let (side, join) = (self.w.block(&[]), self.w.block(&[Ty::I64]));
        self.w.brif(cond, (side, &[]), (join, &[otherwise]));
        let scope = self.w.pool.len();
        self.w.open(side);
        self.depth += 1;
        let at = self.address(self.inputs.table, index, 8);
        let flags = self
            .bytes
            .pick(&["notrap aligned readonly", "aligned", "notrap aligned"]);
        let v = self
            .w
            .def(Ty::I64, "load", true, &format!("{flags} v{}", at.id));
        self.statements(0..=1);
        self.depth -= 1;
        self.w.jump(join, &[v]);
        self.w.pool.truncate(scope);
        self.w.open(join);
    }

    /// Whether the next check fires in some lanes.
    pub(super) fn fires(&mut self) -> bool {
        let fires = self.options.traps && self.bytes.chance(100);
        if fires {
            self.w.coverage.shape("fires");
        }
        fires
    }

    /// A division: by a constant, or by what is never 0 (or, where traps are
    /// asked for, may be).
    pub(super) fn division(&mut self) {
        let ty = self.int_type();
        let op = self.bytes.pick(&["udiv", "sdiv", "urem", "srem"]);
        let a = self.value(ty);
        let by_constant = ty != Ty::I128 && self.bytes.chance(128);
        if by_constant {
            self.w.coverage.shape("div-constant");
            let n = self.bytes.pick(&[3, 1, 2, 7, 100, 16]);
            let d = self.int(ty, n);
            self.w.ins(ty, op, &[a, d]);
            return;
        }
        let d = self.value(ty);
        if self.fires() {
            self.w.ins(ty, op, &[a, d]);
            return;
        }
        self.w.coverage.shape("div-bare");
        let d = self.divisor(d);
        let one = self.small_constant(ty, 1);
        let d = self.w.ins(ty, "bor", &[d, one]);
        self.w.ins(ty, op, &[a, d]);
    }

    /// A divisor that is not negative, so that no quotient overflows.
    pub(super) fn divisor(&mut self, d: Val) -> Val {
        let mask = self.small_constant(d.ty, 0x7f);
        self.w.ins(d.ty, "band", &[d, mask])
    }

    /// A constant that fits every integer type.
    fn small_constant(&mut self, ty: Ty, n: i64) -> Val {
        match ty {
            Ty::I128 => {
                let n = self.int(Ty::I64, n);
                self.w.cast(Ty::I128, "uextend", n)
            }
            _ => self.int(ty, n),
        }
    }
}
