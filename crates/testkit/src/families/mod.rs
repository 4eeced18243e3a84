//! Functions of any size in the shapes that make compilers slow.
//!
//! An analysis that is linear on ordinary code may be quadratic in the depth of
//! a nest, in the edges that meet in one block, in the exits of one loop. Each
//! [`Family`] grows one of these with the size and keeps everything else fixed,
//! so time or counted steps over the size show which one a pass suffers from.
//! [`Family::build`] gives the function in the SIMT IR, [`clif::straight`] and
//! [`clif::diamonds`] give functions that Cranelift compiles as well.
//!
//! All branches depend on the lane, so that nothing is uniform that could be
//! skipped. The functions are valid; they are to be analysed and converted, not
//! to be run.

pub mod clif;

use warpfold::ir::{
    Block, BlockCall, BranchMark, Function, FunctionBuilder, Imm, InstData, IntCC, MemFlags,
    Opcode, Terminator, Type, Value,
};

/// What grows with the size of the function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Family {
    /// Instructions in one block.
    Straight,
    /// Diamonds in a row: joins in a row.
    Diamonds,
    /// Tests that all lead to one else side: `a && b && c && …`.
    ShortCircuit,
    /// Diamonds, each inside one side of the one before.
    NestedIfs,
    /// Small loops in a row, with a diamond in each.
    Loops,
    /// Loops, each inside the one before.
    NestedLoops,
    /// Diamonds in a row inside one loop.
    LoopOfDiamonds,
    /// Exits of one loop to one block.
    Breaks,
    /// Targets of one switch, with one join.
    Switch,
}

impl Family {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Straight,
        Self::Diamonds,
        Self::ShortCircuit,
        Self::NestedIfs,
        Self::Loops,
        Self::NestedLoops,
        Self::LoopOfDiamonds,
        Self::Breaks,
        Self::Switch,
    ];

    /// A short name, of letters and `-`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Straight => "straight",
            Self::Diamonds => "diamonds",
            Self::ShortCircuit => "short-circuit",
            Self::NestedIfs => "nested-ifs",
            Self::Loops => "loops",
            Self::NestedLoops => "nested-loops",
            Self::LoopOfDiamonds => "loop-of-diamonds",
            Self::Breaks => "breaks",
            Self::Switch => "switch",
        }
    }

    /// A function of about `size` instructions, terminators included.
    pub fn build(self, size: usize) -> Function {
        let mut writer = Writer::new(self.name());
        match self {
            Self::Straight => writer.work(size),
            Self::Diamonds => writer.diamonds(size),
            Self::ShortCircuit => writer.short_circuit(size),
            Self::NestedIfs => writer.nested_ifs(size),
            Self::Loops => writer.loops(size),
            Self::NestedLoops => writer.nested_loops(size),
            Self::LoopOfDiamonds => writer.loop_of_diamonds(size),
            Self::Breaks => writer.breaks(size),
            Self::Switch => writer.switch(size),
        }
        writer.finish()
    }
}

/// The instructions and terminators that stand in the laid-out blocks.
pub fn instructions(func: &Function) -> usize {
    let blocks = func.layout.iter();
    blocks.map(|&b| func.block(b).insts.len() + 1).sum()
}

/// Writes one function; `acc` is what its work has come to so far.
struct Writer {
    b: FunctionBuilder,
    base: Value,
    tid: Value,
    one: Value,
    acc: Value,
    turn: usize,
}

impl Writer {
    fn new(name: &str) -> Self {
        let mut b = FunctionBuilder::new(name.replace('-', "_"));
        let base = b.param(Type::I64, false);
        let tid = b.ins(Opcode::TidX, Type::I32, &[]);
        let one = b.iconst(Type::I32, 1);
        Self {
            b,
            base,
            tid,
            one,
            acc: tid,
            turn: 0,
        }
    }

    fn finish(mut self) -> Function {
        let data = InstData::new(
            Opcode::Store,
            Type::I32,
            &[self.acc, self.base],
            Imm::Mem {
                flags: MemFlags::NONE,
                offset: 0,
            },
        );
        self.b.push(data);
        self.b.ret(&[]);
        self.b.finish()
    }

    /// `n` instructions on the accumulator, of all sorts.
    fn work(&mut self, n: usize) {
        for _ in 0..n {
            self.turn += 1;
            let (acc, tid, one) = (self.acc, self.tid, self.one);
            let (op, a, b) = match self.turn % 8 {
                0 => (Opcode::Iadd, acc, tid),
                1 => (Opcode::Imul, acc, one),
                2 => (Opcode::Bxor, acc, tid),
                3 => (Opcode::Isub, acc, one),
                4 => (Opcode::Band, acc, tid),
                5 => (Opcode::Ishl, acc, one),
                6 => (Opcode::Bor, acc, one),
                _ => (Opcode::Ushr, acc, one),
            };
            self.acc = self.b.ins(op, Type::I32, &[a, b]);
        }
    }

    /// Whether a lane's accumulator is below its number.
    fn test(&mut self) -> Value {
        self.b.icmp(IntCC::Ult, self.acc, self.tid)
    }

    /// A block with the accumulator as its parameter.
    fn join(&mut self) -> (Block, Value) {
        let b = self.b.block();
        let param = self.b.block_param(b, Type::I32);
        (b, param)
    }

    fn go_to(&mut self, b: Block, acc: Value) {
        self.b.switch_to(b);
        self.acc = acc;
    }

    /// 10 instructions.
    fn diamond(&mut self) {
        let cond = self.test();
        let (then, otherwise) = (self.b.block(), self.b.block());
        let (join, param) = self.join();
        self.b.br(cond, then, otherwise);
        let before = self.acc;
        for side in [then, otherwise] {
            self.go_to(side, before);
            self.work(3);
            self.b.jump(join, &[self.acc]);
        }
        self.go_to(join, param);
    }

    fn diamonds(&mut self, size: usize) {
        for _ in 0..size / 10 {
            self.diamond();
        }
    }

    fn short_circuit(&mut self, size: usize) {
        let (otherwise, there) = self.join();
        let (join, param) = self.join();
        for _ in 0..size / 5 {
            self.work(3);
            let cond = self.test();
            let next = self.b.block();
            let call = BlockCall::new(otherwise, &[self.acc]);
            self.b.br(cond, next, call);
            self.b.switch_to(next);
        }
        self.b.jump(join, &[self.acc]);
        self.go_to(otherwise, there);
        self.work(3);
        self.b.jump(join, &[self.acc]);
        self.go_to(join, param);
    }

    fn nested_ifs(&mut self, size: usize) {
        let mut open = Vec::new();
        for _ in 0..size / 10 {
            self.work(2);
            let cond = self.test();
            let (then, otherwise) = (self.b.block(), self.b.block());
            self.b.br(cond, then, otherwise);
            open.push((otherwise, self.acc));
            self.b.switch_to(then);
        }
        while let Some((otherwise, before)) = open.pop() {
            let (join, param) = self.join();
            self.work(1);
            self.b.jump(join, &[self.acc]);
            self.go_to(otherwise, before);
            self.work(3);
            self.b.jump(join, &[self.acc]);
            self.go_to(join, param);
        }
    }

    /// Opens a loop that lanes leave one by one; gives its header and the
    /// block behind it.
    fn open_loop(&mut self) -> (Block, Block, Value) {
        let (header, acc) = self.join();
        self.b.jump(header, &[self.acc]);
        self.go_to(header, acc);
        self.work(1);
        let cond = self.test();
        let body = self.b.block();
        let (exit, out) = self.join();
        let leave = BlockCall::new(exit, &[self.acc]);
        self.b.br(cond, body, leave);
        self.b.switch_to(body);
        (header, exit, out)
    }

    fn loops(&mut self, size: usize) {
        for _ in 0..size / 16 {
            let (header, exit, out) = self.open_loop();
            self.work(1);
            self.diamond();
            self.b.jump(header, &[self.acc]);
            self.go_to(exit, out);
        }
    }

    fn nested_loops(&mut self, size: usize) {
        let mut open = Vec::new();
        for _ in 0..size / 9 {
            open.push(self.open_loop());
            self.work(2);
        }
        while let Some((header, exit, out)) = open.pop() {
            self.work(2);
            self.b.jump(header, &[self.acc]);
            self.go_to(exit, out);
        }
    }

    fn loop_of_diamonds(&mut self, size: usize) {
        let (header, exit, out) = self.open_loop();
        self.diamonds(size);
        self.b.jump(header, &[self.acc]);
        self.go_to(exit, out);
    }

    fn breaks(&mut self, size: usize) {
        let (header, exit, out) = self.open_loop();
        for _ in 0..size / 5 {
            self.work(3);
            let cond = self.test();
            let next = self.b.block();
            let leave = BlockCall::new(exit, &[self.acc]);
            self.b.br(cond, next, leave);
            self.b.switch_to(next);
        }
        self.b.jump(header, &[self.acc]);
        self.go_to(exit, out);
    }

    fn switch(&mut self, size: usize) {
        let (join, param) = self.join();
        let before = self.acc;
        let count = size / 5;
        // The first edge goes straight to the join.
        let mut table = vec![BlockCall::new(join, &[before])];
        let blocks: Vec<Block> = (0..count).map(|_| self.b.block()).collect();
        table.extend(blocks.iter().map(|&b| BlockCall::from(b)));
        let default = BlockCall::new(join, &[self.one]);
        self.b.terminate(Terminator::Switch {
            index: before,
            table,
            default,
            mark: BranchMark::default(),
        });
        for side in blocks {
            self.go_to(side, before);
            self.work(4);
            self.b.jump(join, &[self.acc]);
        }
        self.go_to(join, param);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_valid_and_of_the_size_asked_for() {
        for family in Family::ALL {
            for size in [100, 1_000, 5_000] {
                let func = family.build(size);
                warpfold::ir::verify(&func).unwrap_or_else(|e| panic!("{family:?}: {e}"));
                let n = instructions(&func);
                let allowed = size * 9 / 10..=size * 11 / 10 + 20;
                assert!(allowed.contains(&n), "{family:?}: {n} for {size}");
            }
        }
    }
}
