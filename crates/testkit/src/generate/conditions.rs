//! Conditions: on data, on the place in the warp, on what is the same in a
//! warp or everywhere, and on what the other lanes say.

use super::Generator;
use super::writer::{Ty, Val, list};

impl Generator<'_> {
    /// The result of a comparison.
    pub(super) fn compare(&mut self) -> Val {
        if self.bytes.chance(70) {
            let ty = self.bytes.pick(&[Ty::F32, Ty::F64]);
            let cc = self.bytes.pick(&[
                "lt", "ge", "eq", "ne", "ord", "uno", "one", "ueq", "le", "gt", "ult", "ule",
                "ugt", "uge",
            ]);
            let args = self.pair(ty);
            return self
                .w
                .def(Ty::I8, "fcmp", false, &format!("{cc} {}", list(&args)));
        }
        let ty = self.int_type();
        let args = self.pair(ty);
        self.icmp(&args)
    }

    pub(super) fn icmp(&mut self, args: &[Val]) -> Val {
        let cc = self.bytes.pick(&[
            "slt", "ult", "eq", "ne", "sge", "uge", "sgt", "ugt", "sle", "ule",
        ]);
        self.w
            .def(Ty::I8, "icmp", false, &format!("{cc} {}", list(args)))
    }

    /// `icmp CC a, n`.
    pub(super) fn icmp_with(&mut self, cc: &str, a: Val, n: i64) -> Val {
        let n = self.int(a.ty, n);
        self.w
            .def(Ty::I8, "icmp", false, &format!("{cc} {}", list(&[a, n])))
    }

    /// A condition for a branch: any integer. Some split every warp, some none.
    pub(super) fn condition(&mut self) -> Val {
        match self.bytes.below(16) {
            // Data, from 0 to 15.
            0..=2 => {
                let small = self.small();
                let n = self.bytes.below(17) as i64;
                let cc = self.bytes.pick(&["ult", "ugt", "eq", "ne"]);
                self.icmp_with(cc, small, n)
            }
            // The position in the warp, known before anything runs.
            3 => {
                let bit = 1 << self.bytes.below(5);
                let bit = self.int(Ty::I32, bit);
                let tid = self.tid;
                self.w.ins(Ty::I32, "band", &[tid, bit])
            }
            4 => {
                let n = self.bytes.below(66) as i64;
                let tid = self.tid;
                self.icmp_with("ult", tid, n)
            }
            // The warp.
            5 => {
                let five = self.int(Ty::I32, 5);
                let tid = self.tid;
                let warp = self.w.ins(Ty::I32, "ushr", &[tid, five]);
                let one = self.int(Ty::I32, 1);
                self.w.ins(Ty::I32, "band", &[warp, one])
            }
            // The same everywhere.
            6 => {
                let n = self.bytes.below(10) as i64;
                let cc = self.bytes.pick(&["sgt", "sle", "eq"]);
                let scalar = self.scalar;
                self.icmp_with(cc, scalar, n)
            }
            7 => {
                let (a, b) = (self.compare(), self.compare());
                let op = self.bytes.pick(&["band", "bor", "bxor"]);
                self.w.ins(Ty::I8, op, &[a, b])
            }
            8 => {
                let c = self.compare();
                self.icmp_with("eq", c, 0)
            }
            9 => {
                let ty = self.int_type();
                self.value(ty)
            }
            10 if self.options.cross_lane => self.vote(),
            11 if self.bytes.chance(60) => self.int(Ty::I8, 1),
            _ => self.compare(),
        }
    }
}
