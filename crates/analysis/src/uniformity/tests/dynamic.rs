//! Random graphs, run by a small stack machine that tests every claim.
//!
//! The machine follows the executor's rules (a stack of program counter, join
//! and mask; the first successor first) and keeps every lane's registers apart.
//! At each pass of a block it compares, for every value that dominates the
//! block, what the lanes hold with what is claimed there. The same machine with
//! one wide warp in place of two tests the claims at block scope.

use cranelift_entity::EntityRef;
use warpfold_ir::eval::eval;
use warpfold_ir::{InstData, Terminator, Type};

use super::programs::{Rng, random_function};
use super::*;

struct Entry {
    pc: Block,
    join: Option<Block>,
    mask: u128,
}

struct Machine<'a> {
    func: &'a Function,
    joins: &'a Joins,
    dominators: DomTree,
    uniformity: &'a Uniformity,
    /// The index of the first thread, and how many run as one group.
    first: u32,
    lanes: u32,
    /// Whether the group is a block of several warps.
    wide: bool,
    regs: Vec<Vec<Option<u128>>>,
    live: u128,
    /// Claims tested that were not `Lane`, and uses where the claim at the
    /// definition does not hold.
    claims: u64,
    stale: u64,
}

impl Machine<'_> {
    fn lanes_of(&self, mask: u128) -> impl Iterator<Item = u32> + use<> {
        (0..128).filter(move |l| mask >> l & 1 == 1)
    }

    fn check(&mut self, v: Value, b: Block, mask: u128) -> Result<(), String> {
        let held: Vec<(u32, u128)> = self
            .lanes_of(mask)
            .filter_map(|l| Some((l, self.regs[v.index()][l as usize]?)))
            .collect();
        let test = |shape: Shape| {
            if !self.wide {
                return shape.check(&held);
            }
            let equal = held.iter().all(|h| h.1 == held[0].1);
            if shape.scope() <= Scope::Block && !equal {
                return Err(format!("claimed {}, but warps differ", shape.scope()));
            }
            Ok(())
        };
        let shape = self.uniformity.shape_at(v, b);
        self.claims += u64::from(shape.scope() < Scope::Lane);
        self.stale += u64::from(test(self.uniformity.shape(v)).is_err());
        test(shape).map_err(|e| format!("{v} at {b}: {e}; claimed {shape:?}"))
    }

    fn set(&mut self, v: Value, lane: u32, bits: Option<u128>) {
        self.regs[v.index()][lane as usize] = bits;
    }

    fn get(&self, v: Value, lane: u32) -> Option<u128> {
        self.regs[v.index()][lane as usize]
    }

    /// Runs until all lanes are gone or `passes` are used up.
    fn run(&mut self, params: &[Vec<u128>], mut passes: u32) -> Result<(), String> {
        let full = (1u128 << self.lanes) - 1;
        self.live = full;
        let entry = self.func.layout[0];
        for (k, values) in params.iter().enumerate() {
            let p = self.func.block(entry).params[k];
            for lane in 0..self.lanes {
                self.set(p, lane, Some(values[(self.first + lane) as usize]));
            }
        }
        let mut stack = vec![Entry {
            pc: entry,
            join: None,
            mask: full,
        }];
        while let Some(top) = stack.last() {
            let mask = top.mask & self.live;
            if mask == 0 || Some(top.pc) == top.join {
                stack.pop();
                continue;
            }
            if passes == 0 {
                return Ok(());
            }
            passes -= 1;
            let (pc, join) = (top.pc, top.join);
            let targets = self.pass(pc, mask, full)?;
            let mut groups: Vec<(Block, u128)> = Vec::new();
            for (lane, to) in targets {
                match groups.iter_mut().find(|g| g.0 == to) {
                    Some(g) => g.1 |= 1 << lane,
                    None => groups.push((to, 1 << lane)),
                }
            }
            // In the order of the terminator's targets.
            let order: Vec<Block> = self
                .func
                .term(pc)
                .targets()
                .iter()
                .map(|t| t.block)
                .collect();
            groups.sort_by_key(|g| order.iter().position(|&t| t == g.0));
            let top = stack.len() - 1;
            match groups[..] {
                [] => {
                    stack.pop();
                }
                [(to, _)] => stack[top].pc = to,
                _ => {
                    let uniform = match self.wide {
                        false => self.uniformity.is_uniform_branch(pc),
                        true => self.uniformity.branch_scope(pc) <= Scope::Block,
                    };
                    if uniform {
                        return Err(format!("the branch of {pc} splits"));
                    }
                    let meet = self.joins.of(pc);
                    match meet {
                        Some(meet) if join != Some(meet) => stack[top].pc = meet,
                        _ => {
                            stack.pop();
                        }
                    }
                    for &(to, mask) in groups.iter().rev() {
                        if Some(to) != meet {
                            stack.push(Entry {
                                pc: to,
                                join: meet,
                                mask,
                            });
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Executes one block for `mask`; gives each lane's target.
    fn pass(&mut self, b: Block, mask: u128, full: u128) -> Result<Vec<(u32, Block)>, String> {
        let narrow = if self.wide { Scope::Block } else { Scope::Warp };
        for (scope, all, what) in [
            (self.uniformity.live_scope(b), self.live, "live"),
            (self.uniformity.exec_scope(b), full, "launched"),
        ] {
            if scope <= narrow && mask != all {
                return Err(format!(
                    "{b} claims all {what} lanes at {scope}, {mask:#x} run it"
                ));
            }
        }
        for v in self.func.values() {
            let def = match self.func.def(v) {
                warpfold_ir::ValueDef::Param(d, _) => Some(d),
                warpfold_ir::ValueDef::Result(..) => self.uniformity.state.def_block[v],
            };
            let own_param =
                matches!(self.func.def(v), warpfold_ir::ValueDef::Param(d, _) if d == b);
            if let Some(d) = def
                && (own_param || d != b && self.dominators.dominates(d, b))
            {
                self.check(v, b, mask)?;
            }
        }
        let mut mask = mask;
        for &i in &self.func.block(b).insts {
            let inst = self.func.inst(i).clone();
            let holds = |m: &Self, lane| match inst.guard {
                Some(g) => (m.get(g.pred, lane).expect("no poison") & 1 == 1) != g.negated,
                None => true,
            };
            let on: Vec<u32> = self.lanes_of(mask).filter(|&l| holds(self, l)).collect();
            if inst.op == Opcode::Exit {
                for &lane in &on {
                    mask &= !(1 << lane);
                    self.live &= !(1 << lane);
                }
                continue;
            }
            let Some(&result) = inst.results.first() else {
                continue;
            };
            let mut out = Vec::new();
            for lane in self.lanes_of(mask) {
                let bits = match (on.contains(&lane), inst.guard) {
                    (true, _) => self.evaluate(&inst, lane, &on),
                    (false, Some(g)) => g.otherwise.map(|v| self.get(v, lane).expect("no poison")),
                    (false, None) => None,
                };
                out.push((lane, bits));
            }
            for (lane, bits) in out {
                self.set(result, lane, bits);
            }
            self.check(result, b, mask)?;
        }
        let term = self.func.term(b).clone();
        if matches!(term, Terminator::Ret(_) | Terminator::Trap(_)) {
            self.live &= !mask;
            return Ok(Vec::new());
        }
        let targets = term.targets();
        let mut out = Vec::new();
        for lane in self.lanes_of(mask) {
            let edge = match &term {
                Terminator::Jump(_) => 0,
                Terminator::Br { cond, .. } => {
                    let taken = self.get(*cond, lane).expect("no poison") & 1 == 1;
                    if let (Some(known), false) = (self.uniformity.known_mask(b), self.wide)
                        && (known >> lane & 1 == 1) != taken
                    {
                        return Err(format!("lane {lane} at {b} is against the known mask"));
                    }
                    usize::from(!taken)
                }
                Terminator::Switch { index, table, .. } => {
                    let index = self.get(*index, lane).expect("no poison");
                    index.min(table.len() as u128) as usize
                }
                Terminator::Ret(_) | Terminator::Trap(_) | Terminator::TailCall(_) => {
                    unreachable!("handled above, and no calls are drawn")
                }
            };
            let target = targets[edge];
            let args: Vec<_> = target.args.iter().map(|&a| self.get(a, lane)).collect();
            let params = self.func.block(target.block).params.clone();
            for (p, a) in params.into_iter().zip(args) {
                self.set(p, lane, a);
            }
            out.push((lane, target.block));
        }
        Ok(out)
    }

    fn evaluate(&self, inst: &InstData, lane: u32, on: &[u32]) -> Option<u128> {
        let thread = self.first + lane;
        // Of a wide group, a warp's lanes see each other only.
        let warp: Vec<u32> = on.iter().copied().filter(|l| l / 32 == lane / 32).collect();
        let held = |v: Value, l: u32| self.get(v, l).expect("no poison");
        let lanes_where = |p: &dyn Fn(u32) -> bool| {
            warp.iter()
                .filter(|&&l| p(l))
                .fold(0u128, |m, l| m | 1 << (l % 32))
        };
        Some(match inst.op {
            Opcode::LaneId => u128::from(thread % 32),
            Opcode::WarpId => u128::from(thread / 32),
            Opcode::TidX => u128::from(thread),
            Opcode::ActiveMask => lanes_where(&|_| true),
            Opcode::Ballot => lanes_where(&|l| held(inst.args[0], l) & 1 == 1),
            Opcode::VoteAny => u128::from(warp.iter().any(|&l| held(inst.args[0], l) & 1 == 1)),
            Opcode::VoteAll => u128::from(warp.iter().all(|&l| held(inst.args[0], l) & 1 == 1)),
            Opcode::ReadFirst => held(inst.args[0], *warp.first()?),
            Opcode::ShflBfly | Opcode::ShflIdx => {
                let asked = held(inst.args[1], lane) as u32 & 31;
                let from = match inst.op {
                    Opcode::ShflBfly => lane ^ asked,
                    _ => (lane & !31) | asked,
                };
                held(inst.args[0], if warp.contains(&from) { from } else { lane })
            }
            _ => {
                let types: Vec<Type> = inst.args.iter().map(|&a| self.func.ty(a)).collect();
                let args: Vec<u128> = inst.args.iter().map(|&a| held(a, lane)).collect();
                eval(inst, &types, &args)?.ok()?
            }
        })
    }
}

/// Runs a function under all its claims; counts claims and stale ones.
fn test(func: &Function, options: &UniformityOptions, threads: u32) -> Result<[u64; 2], String> {
    let cfg = Cfg::new(func);
    let joins = Joins::new(func, &cfg, options.joins);
    let uniformity = Uniformity::with_graph(func, &cfg, &joins, options);
    let params = vec![vec![1; 128], (0..128u128).map(|t| t * 7 % 5).collect()];
    let mut counts = [0, 0];
    let warps = (0..threads.div_ceil(32)).map(|w| (w * 32, 32.min(threads - w * 32), false));
    for (first, lanes, wide) in warps.chain([(0, threads, true)]) {
        let mut machine = Machine {
            func,
            joins: &joins,
            dominators: DomTree::dominators(&cfg),
            uniformity: &uniformity,
            first,
            lanes,
            wide,
            regs: vec![vec![None; 128]; func.num_values()],
            live: 0,
            claims: 0,
            stale: 0,
        };
        machine.run(&params, 40)?;
        counts[0] += machine.claims;
        counts[1] += machine.stale;
    }
    Ok(counts)
}

fn soak(programs: u64, seed: u64) {
    let mut rng = Rng(seed);
    let mut total = [0, 0];
    for n in 0..programs {
        let func = random_function(&mut rng);
        if let Err(e) = verify(&func) {
            panic!("program {n}: {e}");
        }
        let threads = [64, 40, 33][n as usize % 3];
        let shape = match n % 2 {
            0 => LaunchShape::one_dimensional(),
            _ => LaunchShape::new([1; 3], [threads, 1, 1]),
        };
        for joins in [JoinRule::Default, JoinRule::Cfg] {
            for budget in [None, Some(20)] {
                let options = UniformityOptions {
                    shape,
                    joins,
                    budget,
                    ..UniformityOptions::default()
                };
                match test(&func, &options, threads) {
                    Ok(counts) => {
                        total[0] += counts[0];
                        total[1] += counts[1];
                    }
                    Err(e) => {
                        let u = Uniformity::new(&func, &options);
                        panic!("program {n}, {options:?}: {e}\n{}", annotate(&func, &u));
                    }
                }
            }
        }
    }
    assert!(total[0] > programs * 100, "few claims: {total:?}");
    assert!(
        total[1] > programs / 20,
        "no claim was ever stale: {total:?}"
    );
}

#[test]
fn random_graphs_keep_every_claim() {
    soak(50, 0x9E37_79B9_7F4A_7C15);
}

#[test]
#[ignore = "minutes; run by hand after changes to control"]
fn many_random_graphs_keep_every_claim() {
    let seed = std::env::var("SEED").ok().and_then(|s| s.parse().ok());
    soak(4_000, seed.unwrap_or(1));
}

/// Compares what is claimed with and without walking every region, for every
/// value at every block that it dominates.
fn compare_with_walks(programs: u64, seed: u64) {
    let mut rng = Rng(seed);
    let mut seen = [0; 3];
    for n in 0..programs {
        let func = random_function(&mut rng);
        for rule in [JoinRule::Default, JoinRule::Cfg] {
            let options = UniformityOptions {
                shape: LaunchShape::one_dimensional(),
                joins: rule,
                budget: Some(u64::MAX),
                ..UniformityOptions::default()
            };
            let cfg = Cfg::new(&func);
            let joins = Joins::new(&func, &cfg, rule);
            let ours = Uniformity::with_graph(&func, &cfg, &joins, &options);
            let by_walks =
                Uniformity::solved_by(solve::solve_by_walks, &func, &cfg, &joins, &options);
            let shown = || format!("program {n}, {rule:?}\n{}", annotate(&func, &ours));
            for &b in cfg.rpo() {
                assert_eq!(
                    ours.exec_scope(b),
                    by_walks.exec_scope(b),
                    "{b} {}",
                    shown()
                );
                assert_eq!(
                    ours.live_scope(b),
                    by_walks.live_scope(b),
                    "{b} {}",
                    shown()
                );
                assert_eq!(
                    ours.branch_scope(b),
                    by_walks.branch_scope(b),
                    "{b} {}",
                    shown()
                );
                for v in func.values() {
                    let (x, y) = (ours.shape_at(v, b), by_walks.shape_at(v, b));
                    assert_eq!(x, y, "{v} at {b} in {}", shown());
                }
                if ours.branch_scope(b) == Scope::Lane && cfg.branches(b) {
                    seen[match ours.state.spans.span(b) {
                        spans::Span::Ahead => 0,
                        spans::Span::Loop(_) => 1,
                        spans::Span::Walk => 2,
                    }] += 1;
                }
            }
        }
    }
    assert!(seen.iter().all(|&n| n > programs / 4), "{seen:?}");
}

#[test]
fn spans_claim_what_walks_claim() {
    compare_with_walks(300, 0xD1B5_4A32_D192_ED03);
}

#[test]
#[ignore = "minutes; run by hand after changes to spans"]
fn many_spans_claim_what_walks_claim() {
    compare_with_walks(50_000, 2);
}
