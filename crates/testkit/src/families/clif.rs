//! The families that are timed beside Cranelift, as CLIF functions.
//!
//! They use no SIMT intrinsic, so that Cranelift compiles them for its host as
//! they are; which parameters vary from lane to lane is said beside.

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, Block, BlockArg, Function, InstBuilder, MemFlagsData, Signature, UserFuncName, Value,
    types,
};
use cranelift_codegen::isa::CallConv;

/// The parameters of the functions here that vary: the second, an `i32`.
pub const VARYING: &[usize] = &[1];

/// One block of about `size` instructions: additions, products, shifts, logic,
/// compares with selects, loads and stores.
pub fn straight(size: usize) -> Function {
    let mut writer = Writer::new();
    let mut func = writer.func();
    let mut cursor = FuncCursor::new(&mut func);
    writer.open(&mut cursor);
    writer.work(&mut cursor, size);
    writer.close(&mut cursor);
    func
}

/// About `size` instructions in diamonds in a row, 16 for each.
pub fn diamonds(size: usize) -> Function {
    let mut writer = Writer::new();
    let mut func = writer.func();
    let mut cursor = FuncCursor::new(&mut func);
    writer.open(&mut cursor);
    for _ in 0..size / 16 {
        writer.diamond(&mut cursor);
    }
    writer.close(&mut cursor);
    func
}

struct Writer {
    base: Value,
    /// The last values made, used again as operands.
    recent: [Value; 8],
    turn: usize,
}

impl Writer {
    fn new() -> Self {
        let none = Value::from_u32(0);
        Self {
            base: none,
            recent: [none; 8],
            turn: 0,
        }
    }

    fn func(&self) -> Function {
        let mut signature = Signature::new(CallConv::SystemV);
        signature.params.push(AbiParam::new(types::I64));
        signature.params.push(AbiParam::new(types::I32));
        Function::with_name_signature(UserFuncName::user(0, 0), signature)
    }

    fn open(&mut self, c: &mut FuncCursor<'_>) {
        let entry = c.func.dfg.make_block();
        c.insert_block(entry);
        self.base = c.func.dfg.append_block_param(entry, types::I64);
        let x = c.func.dfg.append_block_param(entry, types::I32);
        c.goto_bottom(entry);
        self.recent = [x; 8];
    }

    fn close(&mut self, c: &mut FuncCursor<'_>) {
        let sum = self.recent[1..]
            .iter()
            .fold(self.recent[0], |sum, &v| c.ins().bxor(sum, v));
        c.ins().store(MemFlagsData::new(), sum, self.base, 0);
        c.ins().return_(&[]);
    }

    /// About `n` instructions.
    fn work(&mut self, c: &mut FuncCursor<'_>, n: usize) {
        let mut left = n as isize;
        while left > 0 {
            self.turn += 1;
            let at = |i: usize| self.recent[(self.turn + i) % 8];
            let (a, b, d) = (at(1), at(3), at(6));
            let offset = (self.turn % 1024) as i32 * 4;
            let (made, count) = match self.turn % 10 {
                0 => (c.ins().imul(a, b), 1),
                1 => {
                    let k = c.ins().iconst(types::I32, self.turn as i64 & 0xffff);
                    (c.ins().iadd(a, k), 2)
                }
                2 => (c.ins().bxor(a, b), 1),
                3 => {
                    let less = c.ins().icmp(IntCC::SignedLessThan, a, b);
                    (c.ins().select(less, b, d), 2)
                }
                4 => (c.ins().isub(a, d), 1),
                5 => (
                    c.ins()
                        .load(types::I32, MemFlagsData::new(), self.base, offset),
                    1,
                ),
                6 => (c.ins().rotl(a, b), 1),
                7 => (c.ins().band(a, d), 1),
                8 => {
                    c.ins().store(MemFlagsData::new(), a, self.base, offset);
                    (c.ins().iadd(b, d), 2)
                }
                _ => (c.ins().bor(a, b), 1),
            };
            self.recent[self.turn % 8] = made;
            left -= count;
        }
    }

    fn diamond(&mut self, c: &mut FuncCursor<'_>) {
        let [then, otherwise, join]: [Block; 3] = std::array::from_fn(|_| c.func.dfg.make_block());
        let param = c.func.dfg.append_block_param(join, types::I32);
        let (a, b) = (self.recent[self.turn % 8], self.recent[(self.turn + 5) % 8]);
        let less = c.ins().icmp(IntCC::UnsignedLessThan, a, b);
        c.ins().brif(less, then, &[], otherwise, &[]);
        let before = self.recent;
        for side in [then, otherwise] {
            self.recent = before;
            c.insert_block(side);
            self.work(c, 5);
            let made: BlockArg = self.recent[self.turn % 8].into();
            c.ins().jump(join, &[made]);
        }
        self.recent = before;
        c.insert_block(join);
        self.work(c, 2);
        self.recent[self.turn % 8] = param;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cranelift_codegen::settings;

    #[test]
    fn cranelift_and_we_accept_them_at_the_size_asked_for() {
        let flags = settings::Flags::new(settings::builder());
        for build in [straight, diamonds] {
            for size in [200, 2_000] {
                let func = build(size);
                cranelift_codegen::verify_function(&func, &flags).expect("valid CLIF");
                let n = func.dfg.num_insts();
                assert!(
                    (size * 9 / 10..=size * 11 / 10 + 20).contains(&n),
                    "{n} for {size}"
                );
                warpfold::clif::lower(&func, &Default::default()).expect("lowers");
            }
        }
    }
}
