//! What stands in the blocks of a graph.

use warpfold::ir::{
    Block, BlockCall, Function, FunctionBuilder, Guard, Imm, InstData, IntCC, MemFlags, Opcode,
    Slot, SlotData, Terminator, TrapCode, Type, Value,
};

use super::skeleton::Skeleton;
use crate::generate::Bytes;

/// Edges that do not go on to a later block, per lane.
const FUEL: i128 = 7;

/// Where a value is no poison.
#[derive(Clone, Copy)]
struct Where {
    pred: Value,
    negated: bool,
}

/// The values that a block may use.
#[derive(Clone, Default)]
struct Pool {
    ints: Vec<Value>,
    longs: Vec<Value>,
    preds: Vec<Value>,
    /// Integers that are poison outside of their guard.
    guarded: Vec<(Value, Where)>,
}

struct Filler<'a, 'b> {
    bytes: &'a mut Bytes<'b>,
    f: FunctionBuilder,
    one: Value,
    fixed: Value,
    written: Value,
    slot: Slot,
}

pub(super) fn fill(bytes: &mut Bytes<'_>, skeleton: &Skeleton) -> Function {
    let n = skeleton.succs.len();
    let mut f = FunctionBuilder::new("odd");
    let params = [
        f.param(Type::I32, false),
        f.param(Type::I32, true),
        f.param(Type::I64, false),
        f.param(Type::I64, false),
    ];
    f.returns(&[Type::I32]);
    let slot = f.func_mut().slots.push(SlotData { size: 16, align: 8 });
    let blocks: Vec<Block> = (0..n)
        .map(|i| if i == 0 { f.current() } else { f.block() })
        .collect();
    let mut pools = vec![Pool::default(); n];
    // Lanes carry their fuel from block to block.
    let mut fuel = vec![None; n];
    for &i in skeleton.order.iter().skip(1) {
        fuel[i] = Some(f.block_param(blocks[i], Type::I32));
        let header = skeleton.counted.is_some_and(|(head, _)| head == i);
        for _ in 0..bytes.below(3).max(usize::from(header)) {
            let p = f.block_param(blocks[i], Type::I32);
            pools[i].ints.push(p);
        }
        if bytes.chance(60) {
            let p = f.block_param(blocks[i], Type::Pred);
            pools[i].preds.push(p);
        }
    }
    let one = f.iconst(Type::I32, 1);
    let start = f.iconst(Type::I32, FUEL);
    fuel[0] = Some(start);
    let always = f.icmp(IntCC::Eq, one, one);
    let sometimes = f.icmp(IntCC::Ult, params[1], params[0]);
    pools[0].ints = vec![params[0], params[1], one];
    pools[0].preds = vec![sometimes, always];
    pools[0].longs = vec![params[2]];
    let mut filler = Filler {
        bytes,
        f,
        one,
        fixed: params[2],
        written: params[3],
        slot,
    };
    for &i in &skeleton.order {
        if let Some(d) = skeleton.above[i] {
            let above = pools[d].clone();
            let own = std::mem::replace(&mut pools[i], above);
            pools[i].ints.extend(own.ints);
            pools[i].preds.extend(own.preds);
        }
        filler.f.switch_to(blocks[i]);
        for _ in 0..filler.bytes.below(6) {
            filler.statement(&mut pools[i]);
        }
    }
    for i in 0..n {
        filler.f.switch_to(blocks[i]);
        match fuel[i].filter(|_| skeleton.order.contains(&i)) {
            Some(left) => filler.end(skeleton, &blocks, i, left, &mut pools[i]),
            None => filler.f.trap(TrapCode::User(1)),
        }
    }
    filler.f.finish()
}

impl Filler<'_, '_> {
    fn int(&mut self, pool: &Pool) -> Value {
        // Mostly what was computed last.
        let all = pool.ints.len();
        match self.bytes.below(3) {
            0 | 1 => pool.ints[all - 1 - self.bytes.below(all.min(4))],
            _ => self.bytes.pick(&pool.ints),
        }
    }

    fn pred(&mut self, pool: &Pool) -> Value {
        self.bytes.pick(&pool.preds)
    }

    fn constant(&mut self) -> Value {
        const USUAL: [i128; 16] = [
            0,
            1,
            2,
            3,
            4,
            5,
            7,
            8,
            16,
            31,
            32,
            33,
            64,
            -1,
            -32,
            0x7fff_ffff,
        ];
        let x = self.bytes.pick(&USUAL);
        self.f.iconst(Type::I32, x)
    }

    fn binary(&mut self, op: Opcode, a: Value, b: Value) -> Value {
        self.f.ins(op, Type::I32, &[a, b])
    }

    /// The address of one of 16 words of a buffer, by an index.
    fn address(&mut self, base: Value, index: Value) -> Value {
        let words = self.f.iconst(Type::I32, 15);
        let two = self.f.iconst(Type::I32, 2);
        let index = self.binary(Opcode::Band, index, words);
        let offset = self.binary(Opcode::Ishl, index, two);
        let offset = self.f.ins(Opcode::Uextend, Type::I64, &[offset]);
        self.f.ins(Opcode::Iadd, Type::I64, &[base, offset])
    }

    fn memory(&mut self, op: Opcode, args: &[Value], flags: MemFlags) -> Option<Value> {
        let imm = Imm::Mem { flags, offset: 0 };
        self.f.push(InstData::new(op, Type::I32, args, imm))
    }

    fn statement(&mut self, pool: &mut Pool) {
        use Opcode::*;
        let (a, b) = (self.int(pool), self.int(pool));
        match self.bytes.below(27) {
            0 => {
                const IDS: [Opcode; 11] = [
                    TidX, LaneId, TidY, TidZ, WarpId, CtaidX, CtaidY, CtaidZ, NtidX, NtidY, NctaidX,
                ];
                let op = self.bytes.pick(&IDS);
                pool.ints.push(self.f.ins(op, Type::I32, &[]));
            }
            1 => pool.ints.push(self.constant()),
            2 | 3 => {
                const OPS: [Opcode; 14] = [
                    Iadd, Isub, Imul, Band, Bor, Bxor, BandNot, BxorNot, Umin, Umax, Smin, Smax,
                    Umulhi, Iadd,
                ];
                let op = self.bytes.pick(&OPS);
                pool.ints.push(self.binary(op, a, b));
            }
            // Bits: an index taken apart.
            4 | 5 => {
                const OPS: [Opcode; 12] = [
                    Band, Ushr, Ishl, Sshr, Rotl, Rotr, Bor, Bxor, Udiv, Urem, Sdiv, Srem,
                ];
                let op = self.bytes.pick(&OPS);
                let (divides, shifts) = (
                    matches!(op, Udiv | Urem | Sdiv | Srem),
                    matches!(op, Ushr | Ishl | Sshr | Rotl | Rotr),
                );
                let by = match (divides, shifts) {
                    (true, _) => self.bytes.pick(&[32, 2, 1, 4, 8, 31, 33, 64, 3]),
                    (_, true) => self.bytes.pick(&[5, 1, 2, 4, 6, 31, 3]),
                    _ => self.bytes.pick(&[31, -32, 1, 32, 64, 16, 96, 15]),
                };
                let by = self.f.iconst(Type::I32, by);
                pool.ints.push(self.binary(op, a, by));
            }
            6 => {
                const OPS: [Opcode; 8] = [Ineg, Bnot, Bitrev, Bswap, Iabs, Popcnt, Clz, Ctz];
                let op = self.bytes.pick(&OPS);
                pool.ints.push(self.f.ins(op, Type::I32, &[a]));
            }
            // An index going on: base + factor * index, and back again.
            7 => {
                let index = self
                    .f
                    .ins(self.bytes.pick(&[TidX, LaneId, TidY]), Type::I32, &[]);
                let factor = self.constant();
                let scaled = self.binary(Imul, index, factor);
                let sum = self.binary(Iadd, scaled, a);
                pool.ints.push(sum);
                if self.bytes.chance(80) {
                    let back = self.binary(Isub, sum, scaled);
                    pool.ints.push(back);
                }
            }
            // The number of a thread in its block, or its grid.
            8 => {
                let (id, size) = self.bytes.pick(&[(TidY, NtidX), (CtaidX, NtidX)]);
                let id = self.f.ins(id, Type::I32, &[]);
                let size = self.f.ins(size, Type::I32, &[]);
                let row = self.binary(Imul, id, size);
                let x = self.f.ins(TidX, Type::I32, &[]);
                pool.ints.push(self.binary(Iadd, row, x));
            }
            9 | 10 => {
                let cc = self.bytes.pick(IntCC::ALL);
                let b = match self.bytes.chance(100) {
                    true => self.constant(),
                    false => b,
                };
                pool.preds.push(self.f.icmp(cc, a, b));
            }
            11 => {
                let p = self.pred(pool);
                pool.ints.push(self.f.ins(Select, Type::I32, &[p, a, b]));
            }
            12 => {
                let (p, q) = (self.pred(pool), self.pred(pool));
                let op = self.bytes.pick(&[And, Or, Xor, Andn]);
                pool.preds.push(self.f.ins(op, Type::Pred, &[p, q]));
            }
            13 | 25 => {
                let p = self.pred(pool);
                let x = match self.bytes.below(6) {
                    0 | 4 => self.f.ins(Ballot, Type::I32, &[p]),
                    1 | 5 => self.f.ins(ActiveMask, Type::I32, &[]),
                    2 => self.f.ins(ReadFirst, Type::I32, &[a]),
                    _ => self.f.ins(Bint, Type::I32, &[p]),
                };
                pool.ints.push(x);
            }
            14 => {
                let op = self.bytes.pick(&[ShflIdx, ShflBfly, ShflUp, ShflDown]);
                let by = match self.bytes.chance(128) {
                    true => self.constant(),
                    false => b,
                };
                pool.ints.push(self.binary(op, a, by));
            }
            15 => {
                let p = self.pred(pool);
                let op = self.bytes.pick(&[VoteAny, VoteAll, Not]);
                pool.preds.push(self.f.ins(op, Type::Pred, &[p]));
            }
            16 | 17 => self.guarded(pool, a, b),
            18 => self.exit(pool, a),
            // Other widths, and back.
            19 => match self.bytes.below(3) {
                0 => {
                    let narrow = self.f.ins(Ireduce, Type::I8, &[a]);
                    let op = self.bytes.pick(&[Sextend, Uextend]);
                    pool.ints.push(self.f.ins(op, Type::I32, &[narrow]));
                }
                1 => {
                    let op = self.bytes.pick(&[Sextend, Uextend]);
                    let long = self.f.ins(op, Type::I64, &[a]);
                    let sum = self.f.ins(Iadd, Type::I64, &[long, self.fixed]);
                    pool.longs.extend([long, sum]);
                }
                _ => {
                    let long = self.bytes.pick(&pool.longs);
                    pool.ints.push(self.f.ins(Ireduce, Type::I32, &[long]));
                }
            },
            20 => {
                let flags = match self.bytes.chance(128) {
                    true => MemFlags::READONLY,
                    false => MemFlags::NONE,
                };
                let at = self.address(self.fixed, a);
                let x = self.memory(Load, &[at], flags);
                pool.ints.extend(x);
            }
            21 => {
                let at = self.address(self.written, a);
                match self.bytes.below(3) {
                    0 => pool.ints.extend(self.memory(Load, &[at], MemFlags::NONE)),
                    1 => {
                        self.memory(Store, &[b, at], MemFlags::NONE);
                    }
                    _ => {
                        let op = self
                            .bytes
                            .pick(&[AtomicAdd, AtomicXchg, AtomicUmax, AtomicOr]);
                        pool.ints.extend(self.memory(op, &[b, at], MemFlags::NONE));
                    }
                }
            }
            22 => {
                let imm = Imm::Slot {
                    slot: self.slot,
                    offset: 0,
                };
                let address = InstData::new(StackAddr, Type::I64, &[], imm);
                if let Some(at) = self.f.push(address) {
                    if self.bytes.chance(160) {
                        self.memory(Store, &[a, at], MemFlags::NONE);
                    }
                    pool.ints.extend(self.memory(Load, &[at], MemFlags::NONE));
                }
            }
            // Lanes that are known beforehand.
            23 => {
                let index = self.f.ins(self.bytes.pick(&[LaneId, TidX]), Type::I32, &[]);
                let bits = self.bytes.pick(&[1, 2, 6, 16, 31]);
                let bits = self.f.iconst(Type::I32, bits);
                let some = self.binary(Band, index, bits);
                let other = self.constant();
                let cc = self.bytes.pick(&[IntCC::Eq, IntCC::Ult, IntCC::Ne]);
                pool.preds.push(self.f.icmp(cc, some, other));
            }
            // An index against a bound.
            24 => {
                let index = self.f.ins(TidX, Type::I32, &[]);
                let index = match self.bytes.chance(100) {
                    true => self.binary(Iadd, index, pool.ints[0]),
                    false => index,
                };
                let bound = match self.bytes.chance(128) {
                    true => self.constant(),
                    false => pool.ints[0],
                };
                let cc = self.bytes.pick(&[IntCC::Ult, IntCC::Sge, IntCC::Ugt]);
                pool.preds.push(self.f.icmp(cc, index, bound));
            }
            // Traps in the lanes that divide by 0.
            _ if self.bytes.chance(40) => pool.ints.push(self.binary(Udiv, a, b)),
            _ => pool.ints.push(self.binary(Iadd, a, self.one)),
        }
    }

    /// A guarded instruction; without `else` its result is poison elsewhere,
    /// and stays among its like.
    fn guarded(&mut self, pool: &mut Pool, a: Value, b: Value) {
        use Opcode::{Ballot, Iadd, Imul, ReadFirst, Select, ShflBfly};
        let known = match self.bytes.chance(100) && !pool.guarded.is_empty() {
            true => Some(self.bytes.pick(&pool.guarded)),
            false => None,
        };
        // What is no poison where this holds, made into what is none anywhere.
        if let (Some((x, place)), true) = (known, self.bytes.chance(100)) {
            let (yes, no) = if place.negated { (b, x) } else { (x, b) };
            pool.ints
                .push(self.f.ins(Select, Type::I32, &[place.pred, yes, no]));
            return;
        }
        let place = match known {
            Some((_, place)) => place,
            None => Where {
                pred: self.pred(pool),
                negated: self.bytes.chance(128),
            },
        };
        let a = known.map_or(a, |(x, _)| x);
        let otherwise = self.bytes.chance(140).then_some(b);
        let guard = Guard {
            pred: place.pred,
            negated: place.negated,
            otherwise,
        };
        let q = self.pred(pool);
        let op = self.bytes.pick(&[Iadd, Imul, Ballot, ReadFirst, ShflBfly]);
        let args: &[Value] = match op {
            Ballot => &[q],
            ReadFirst => &[a],
            _ => &[a, b],
        };
        let inst = InstData::new(op, Type::I32, args, Imm::None).guarded(guard);
        let Some(result) = self.f.push(inst) else {
            return;
        };
        match otherwise {
            Some(_) => pool.ints.push(result),
            None => {
                pool.guarded.push((result, place));
                // Lane-wise code may compute on it.
                if self.bytes.chance(128) {
                    let more = self.binary(Iadd, result, a);
                    pool.guarded.push((more, place));
                }
            }
        }
    }

    fn exit(&mut self, pool: &Pool, a: Value) {
        // Not all lanes at once, as a rule.
        let pred = match self.bytes.below(4) {
            0 | 1 => {
                let bound = self.constant();
                self.f.icmp(IntCC::Eq, a, bound)
            }
            2 => {
                let bound = self.constant();
                self.f.icmp(IntCC::Eq, pool.ints[1], bound)
            }
            _ => *pool.preds.last().expect("the entry has predicates"),
        };
        let (op, imm) = match self.bytes.chance(50) {
            true => (Opcode::TrapIf, Imm::Trap(TrapCode::User(2))),
            false => (Opcode::Exit, Imm::None),
        };
        let guard = Guard {
            pred,
            negated: self.bytes.chance(20),
            otherwise: None,
        };
        let ty = Type::I32;
        self.f.push(InstData::new(op, ty, &[], imm).guarded(guard));
    }

    /// The terminator of block `i`, whose lanes have `left` of their fuel.
    fn end(
        &mut self,
        skeleton: &Skeleton,
        blocks: &[Block],
        i: usize,
        left: Value,
        pool: &mut Pool,
    ) {
        let targets = &skeleton.succs[i];
        let less = targets.iter().any(|&to| to <= i).then(|| {
            let none = self.f.iconst(Type::I32, 0);
            let empty = self.f.icmp(IntCC::Eq, left, none);
            let guard = Guard {
                pred: empty,
                negated: false,
                otherwise: None,
            };
            let exit = InstData::new(Opcode::Exit, Type::I32, &[], Imm::None);
            self.f.push(exit.guarded(guard));
            self.binary(Opcode::Isub, left, self.one)
        });
        let counts = skeleton.counted.filter(|&(_, latch)| latch == i);
        let counter = counts.and_then(|(head, _)| {
            let params = &self.f.func().block(blocks[head]).params;
            params.get(1).copied().filter(|p| pool.ints.contains(p))
        });
        let counter = counter.map(|p| {
            let next = self.binary(Opcode::Iadd, p, self.one);
            pool.ints.push(next);
            next
        });
        let mut calls: Vec<BlockCall> = Vec::new();
        for &to in targets {
            let params = self.f.func().block(blocks[to]).params.clone();
            let mut args = vec![match less {
                Some(less) if to <= i => less,
                _ => left,
            }];
            for &p in &params[1..] {
                let int = self.f.func().ty(p) == Type::I32;
                args.push(match self.bytes.below(4) {
                    _ if !int => self.pred(pool),
                    // Going round, so that loops count.
                    0 | 1 if counter.is_some() && to <= i => counter.unwrap_or(self.one),
                    0 | 1 if pool.ints.contains(&p) => {
                        let step = self.bytes.pick(&pool.ints[..3]);
                        self.binary(Opcode::Iadd, p, step)
                    }
                    2 => self.constant(),
                    _ => self.int(pool),
                });
            }
            calls.push(BlockCall::new(blocks[to], &args));
        }
        let term = match calls.len() {
            0 if self.bytes.chance(40) => Terminator::Trap(TrapCode::User(0)),
            0 => Terminator::ret(&[self.int(pool)]),
            1 => Terminator::jump(calls.remove(0)),
            2 => {
                let cond = self.condition(pool, counter);
                let second = calls.remove(1);
                Terminator::br(cond, calls.remove(0), second)
            }
            _ => {
                let index = match self.bytes.chance(128) {
                    true => {
                        let three = self.f.iconst(Type::I32, 3);
                        let x = self.int(pool);
                        self.binary(Opcode::Band, x, three)
                    }
                    false => self.int(pool),
                };
                let default = calls.remove(calls.len() - 1);
                Terminator::Switch {
                    index,
                    default,
                    table: calls,
                    mark: Default::default(),
                }
            }
        };
        self.f.terminate(term);
    }

    fn condition(&mut self, pool: &Pool, counter: Option<Value>) -> Value {
        if let Some(counter) = counter {
            let bound = match self.bytes.below(3) {
                0 => pool.ints[0],
                1 => pool.ints[1],
                _ => self.constant(),
            };
            return self.f.icmp(IntCC::Ult, counter, bound);
        }
        let x = self.int(pool);
        match self.bytes.below(5) {
            0 | 4 => {
                let latest = pool.preds.len() - 1 - self.bytes.below(2);
                pool.preds[latest]
            }
            1 => self.f.icmp(IntCC::Ult, x, pool.ints[1]),
            2 => {
                let some = self.bytes.pick(&[1, 2, 3, 4]);
                let y = self.f.iconst(Type::I32, some);
                self.f.icmp(IntCC::Ult, pool.ints[1], y)
            }
            _ => {
                let y = self.int(pool);
                let cc = self.bytes.pick(IntCC::ALL);
                self.f.icmp(cc, x, y)
            }
        }
    }
}
