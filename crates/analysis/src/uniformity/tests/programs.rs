//! Random functions that the dynamic tests run: any graph, values that vary in every
//! way that the claims speak of, most of them with a loop that counts.

use warpfold_ir::dominators::{Dominators, Graph as Plain};
use warpfold_ir::{
    BlockCall, FunctionBuilder, Guard, Imm, InstData, IntCC, Terminator, TrapCode, Type,
};

use super::*;

/// A source of numbers (xorshift), the same on every machine.
pub(super) struct Rng(pub u64);

impl Rng {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % n
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// The values a block may use.
#[derive(Clone, Default)]
struct Pool {
    ints: Vec<Value>,
    preds: Vec<Value>,
}

pub(super) fn random_function(rng: &mut Rng) -> Function {
    let n = 3 + rng.below(7);
    let mut succs: Vec<Vec<usize>> = (0..n)
        .map(|i| {
            let count = match [0, 1, 1, 2, 2, 2, 2, 2, 3][rng.below(9)] {
                0 | 1 if i == 0 => 2,
                0 if rng.below(3) > 0 => 1,
                count => count,
            };
            let last = i + 1 == n && rng.below(4) > 0;
            (0..if last { 0 } else { count })
                .map(|edge| match rng.below(3) {
                    0 | 1 if edge == 0 && i + 1 < n => i + 1,
                    _ => 1 + rng.below(n - 1),
                })
                .collect()
        })
        .collect();
    // Most graphs get a counting loop whose bound varies, from `head` to
    // `latch`, whatever else may happen on the way.
    let head = 1 + rng.below(n - 2);
    let latch = head + rng.below(n - 1 - head);
    let counts = rng.below(4) > 0;
    if counts {
        for (i, to) in succs.iter_mut().enumerate().take(latch).skip(head - 1) {
            match to.first_mut() {
                Some(first) => *first = i + 1,
                None => to.push(i + 1),
            }
        }
        succs[latch] = vec![head, latch + 1];
    }
    let edges: Vec<(u32, u32)> = succs
        .iter()
        .enumerate()
        .flat_map(|(i, s)| s.iter().map(move |&t| (i as u32, t as u32)))
        .collect();
    let graph = Plain::new(n, &edges);
    let dominators = Dominators::new(&graph, 0);
    let rpo: Vec<usize> = graph
        .reverse_postorder(0)
        .iter()
        .map(|&b| b as usize)
        .collect();

    let mut f = FunctionBuilder::new("f");
    let mut pools = vec![Pool::default(); n];
    pools[0].ints = vec![f.param(Type::I32, false), f.param(Type::I32, true)];
    let blocks: Vec<Block> = (0..n)
        .map(|i| if i == 0 { f.current() } else { f.block() })
        .collect();
    for &i in rpo.iter().skip(1) {
        for _ in 0..rng.below(3).max(usize::from(counts && i == head)) {
            let p = f.block_param(blocks[i], Type::I32);
            pools[i].ints.push(p);
        }
        if rng.below(4) == 0 {
            let p = f.block_param(blocks[i], Type::Pred);
            pools[i].preds.push(p);
        }
    }
    for &i in &rpo {
        if let Some(d) = dominators.idom(i as u32) {
            let above = pools[d as usize].clone();
            pools[i].ints.splice(0..0, above.ints);
            pools[i].preds.splice(0..0, above.preds);
        }
        f.switch_to(blocks[i]);
        if i == 0 {
            let one = f.iconst(Type::I32, 1);
            let cond = f.icmp(IntCC::Eq, one, pools[0].ints[0]);
            pools[0].ints.push(one);
            pools[0].preds.push(cond);
        }
        for _ in 0..rng.below(5) {
            random_inst(rng, &mut f, &mut pools[i]);
        }
    }
    for i in 0..n {
        f.switch_to(blocks[i]);
        let counter = f.func().block(blocks[head]).params.first().copied();
        if let Some(p) = counter.filter(|p| counts && i == latch && pools[i].ints.contains(p)) {
            let one = pools[i].ints[2];
            pools[i]
                .ints
                .push(f.ins(Opcode::Iadd, Type::I32, &[p, one]));
        }
        if !rpo.contains(&i) {
            f.trap(TrapCode::User(1));
            continue;
        }
        let mut calls: Vec<BlockCall> = Vec::new();
        for &to in &succs[i] {
            let params = f.func().block(blocks[to]).params.clone();
            let own = &pools[i];
            let mut args: Vec<Value> = Vec::new();
            for &p in &params {
                let pool = match f.func().ty(p) {
                    Type::I32 => &own.ints,
                    _ => &own.preds,
                };
                args.push(match rng.below(5) {
                    // What other edges may bring as well, computed anew.
                    4 if f.func().ty(p) == Type::I32 => {
                        let op = [Opcode::Iadd, Opcode::Bxor][rng.below(2)];
                        let first = own.ints.len().min(4);
                        let (a, b) = (own.ints[rng.below(first)], own.ints[rng.below(first)]);
                        f.ins(op, Type::I32, &[a, b])
                    }
                    // Going round, so that loops count.
                    0..=2 if pool.contains(&p) && f.func().ty(p) == Type::I32 => {
                        let step = [own.ints[2], own.ints[0], p][rng.below(3)];
                        f.ins(Opcode::Iadd, Type::I32, &[p, step])
                    }
                    0..=2 if f.func().ty(p) == Type::I32 => own.ints[2],
                    _ => rng.pick(pool),
                });
            }
            calls.push(BlockCall::new(blocks[to], &args));
        }
        let pool = &pools[i];
        let term = match calls.len() {
            0 if rng.below(4) == 0 => Terminator::Trap(TrapCode::User(0)),
            0 => Terminator::ret(&[]),
            1 => Terminator::jump(calls[0].clone()),
            2 => {
                let recent = *pool.ints.last().expect("an integer");
                let cond = match rng.below(4) {
                    0 => rng.pick(&pool.preds),
                    1 => f.icmp(IntCC::Ult, recent, pool.ints[1]),
                    2 => f.icmp(IntCC::Eq, rng.pick(&pool.ints), pool.ints[1]),
                    _ => f.icmp(rng.pick(IntCC::ALL), recent, rng.pick(&pool.ints)),
                };
                Terminator::br(cond, calls[0].clone(), calls[1].clone())
            }
            _ => Terminator::Switch {
                index: rng.pick(&pool.ints),
                default: calls.pop().expect("three targets"),
                table: calls,
                mark: Default::default(),
            },
        };
        f.terminate(term);
    }
    f.finish()
}

fn random_inst(rng: &mut Rng, f: &mut FunctionBuilder, pool: &mut Pool) {
    let (a, b) = (rng.pick(&pool.ints), rng.pick(&pool.ints));
    let (p, q) = (rng.pick(&pool.preds), rng.pick(&pool.preds));
    let op = |rng: &mut Rng, ops: &[Opcode]| rng.pick(ops);
    use Opcode::*;
    match rng.below(13) {
        0 => pool
            .ints
            .push(f.ins(op(rng, &[LaneId, TidX, WarpId]), Type::I32, &[])),
        1 => {
            let c = [0, 1, 2, 3, 5, 31, 32][rng.below(7)];
            pool.ints.push(f.iconst(Type::I32, c));
        }
        2..=4 => {
            let op = op(
                rng,
                &[
                    Iadd, Iadd, Iadd, Isub, Imul, Band, Bor, Bxor, Ushr, Umin, Smax,
                ],
            );
            pool.ints.push(f.ins(op, Type::I32, &[a, b]));
        }
        5 | 6 => {
            let cc = rng.pick(IntCC::ALL);
            pool.preds.push(f.icmp(cc, a, b));
        }
        7 => pool.ints.push(f.ins(Select, Type::I32, &[p, a, b])),
        8 => {
            let op = op(rng, &[And, Or, Xor, Andn]);
            pool.preds.push(f.ins(op, Type::Pred, &[p, q]));
        }
        9 => pool.ints.push(match rng.below(5) {
            4 => f.ins(ShflIdx, Type::I32, &[a, pool.ints[2]]),
            0 => f.ins(Ballot, Type::I32, &[p]),
            1 => f.ins(ActiveMask, Type::I32, &[]),
            2 => f.ins(ReadFirst, Type::I32, &[a]),
            _ => f.ins(ShflBfly, Type::I32, &[a, b]),
        }),
        10 => pool
            .preds
            .push(f.ins(op(rng, &[VoteAny, VoteAll]), Type::Pred, &[p])),
        11 => {
            let guard = Guard {
                pred: p,
                negated: rng.below(2) == 0,
                otherwise: (rng.below(3) > 0).then_some(b),
            };
            let op = op(rng, &[Iadd, Ballot, ReadFirst]);
            let args: &[Value] = match op {
                Iadd => &[a, b],
                Ballot => &[q],
                _ => &[a],
            };
            let inst = InstData::new(op, Type::I32, args, Imm::None).guarded(guard);
            let result = f.push(inst).expect("a result");
            // Poison stays where it is made.
            if guard.otherwise.is_some() {
                pool.ints.push(result);
            }
        }
        _ if rng.below(3) == 0 => {
            let guard = Guard {
                pred: p,
                negated: false,
                otherwise: None,
            };
            f.push(InstData::new(Exit, Type::I32, &[], Imm::None).guarded(guard));
        }
        _ => {}
    }
}
