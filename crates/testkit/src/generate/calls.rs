//! Calls of functions that stand in the same file.
//!
//! There are two. One calls itself, at most three times, so no pass makes it part of its
//! caller: nothing around the call becomes straight. The other has branches, returns
//! in the middle, and a trap behind a check, and is inlined.

use super::Generator;
use super::writer::Ty;

const RECURSIVE: &str = "
function %descend(i32, i64) -> i64 {
    fn0 = %descend(i32, i64) -> i64

block0(v0: i32, v1: i64):
    brif v0, block1, block2(v1)

block1:
    v2 = iconst.i32 1
    v3 = isub v0, v2
    v4 = uextend.i64 v0
    v5 = imul v1, v4
    v6 = call fn0(v3, v5)
    v7 = iadd v6, v4
    jump block2(v7)

block2(v8: i64):
    return v8
}
";

const INLINED: &str = "
function %settle(i32, i64) -> i64 {
block0(v0: i32, v1: i64):
    v2 = iconst.i32 16
    v3 = icmp uge v0, v2
    trapnz v3, user9
    v4 = iconst.i64 0
    v5 = icmp sgt v1, v4
    brif v5, block1, block2

block1:
    v6 = iconst.i32 5
    v7 = icmp ult v0, v6
    v8 = isub v1, v4
    brif v7, block3, block4(v8)

block2:
    v9 = ineg v1
    return v9

block3:
    v10 = uextend.i64 v0
    v11 = iadd v1, v10
    jump block4(v11)

block4(v12: i64):
    v13 = bxor v12, v1
    return v13
}
";

impl Generator<'_> {
    /// A call of one of the two.
    pub(super) fn call(&mut self) {
        let small = self.small();
        let v = self.value(Ty::I64);
        if self.bytes.chance(128) {
            self.w.coverage.shape("call-inlined");
            self.w.call("settle", &[small, v], Some(Ty::I64));
            return;
        }
        self.w.coverage.shape("call");
        if self.depth > 0 {
            self.w.coverage.shape("call-arm");
        }
        let three = self.int(Ty::I32, 3);
        let rounds = self.w.ins(Ty::I32, "band", &[small, three]);
        self.w.call("descend", &[rounds, v], Some(Ty::I64));
    }

    /// The text of the functions that are called.
    pub(super) fn callees(&self) -> String {
        let shapes = &self.w.coverage.shapes;
        [("call", RECURSIVE), ("call-inlined", INLINED)]
            .iter()
            .filter(|(shape, _)| shapes.contains_key(shape))
            .map(|&(_, text)| text)
            .collect()
    }
}
