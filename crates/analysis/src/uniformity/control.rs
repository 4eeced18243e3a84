//! Control divergence: what a branch that splits a warp does to values.
//!
//! Under [`Convergence::Ipdom`] the lanes that a branch `B` separates meet at
//! its join `J` and nowhere before. Let the *region* of `B` be the blocks that
//! its targets reach without passing `J`; each is on one side of `B`, or on
//! several. Two lanes that execute something together last met at the join of
//! the branch that separated them last. From this follows, for any graph:
//!
//! - **Joins.** Lanes reach `J` over edges from the region or from `B`, so a
//!   parameter of `J` mixes what these edges carry. It stays whole only if they
//!   carry one value that does not vary in the region.
//! - **Rounds.** Lanes on one side may execute a block `D` that dominates `B`
//!   again (they go round a loop) while the others wait, on another side or at
//!   `J`, with what they got from `D` earlier. So a value of `D` that varies in
//!   the region is separated wherever the others come without passing `D`
//!   again. That is temporal divergence after a loop whose exit diverges; and
//!   where the join lies beyond one iteration, it is what makes the header's
//!   parameters diverge, through the arguments of the other back edges.
//!
//! A block that two sides reach separately before the join needs no rule of its
//! own: each pass of it is one group, and a value defined in it reaches past
//! the join only through the join's parameters. Reducibility plays no part.
//!
//! A value *varies* in a region if executing its definition again may give
//! something else: parameters that are no mere copies, loads from memory that
//! may be written, whatever depends on which lanes take part, and what is
//! computed from those.
//!
//! Under [`Convergence::Parked`] lanes of different sides also meet in every
//! block that several sides reach, and loop headers gather their lanes: all
//! blocks on several sides count as joins. A cycle with several entries is one
//! opaque node: a split inside it, or arriving in it on two sides, separates
//! all its parameters and all that leaves it.

use cranelift_entity::{EntitySet, SecondaryMap};
use warpfold_ir::{Block, Function, InstData, MemFlags, Shape as Form, Value, ValueDef};

use super::domain::Scope;
use super::{Convergence, Graph};

/// What one branch separates.
#[derive(Clone, Debug)]
pub(crate) struct Split {
    pub branch: Block,
    pub join: Option<Block>,
    /// How far the branch's condition diverges; raised by the solver.
    pub scope: Scope,
    /// The blocks that run with a part of the lanes.
    pub region: EntitySet<Block>,
    /// Where lanes of different sides meet.
    pub meets: Vec<Block>,
    /// Blocks whose parameters are mixed whatever edge they come by.
    pub opaque: Vec<Block>,
    pub rounds: Vec<Round>,
    varying: EntitySet<Value>,
}

/// Blocks that some lanes may execute again while others wait.
#[derive(Clone, Debug)]
pub(crate) struct Round {
    /// The first block of the round, which dominates the others.
    pub header: Block,
    /// The blocks whose values are separated.
    pub defs: Vec<Block>,
    /// Where they are.
    pub after: EntitySet<Block>,
}

/// The side of a branch that a block is on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Side {
    #[default]
    None,
    One(u32),
    Several,
}

impl Side {
    fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::None, side) | (side, Self::None) => side,
            (a, b) if a == b => a,
            _ => Self::Several,
        }
    }
}

impl Split {
    /// What the branch at the end of `branch` separates. `budget` counts down
    /// the edges walked; `None` when it is used up.
    pub fn new(
        func: &Function,
        graph: &Graph<'_>,
        convergence: Convergence,
        memory: &super::memory::LocalMemory,
        branch: Block,
        budget: &mut u64,
    ) -> Option<Self> {
        let cfg = graph.cfg;
        let join = graph.joins.of(branch);
        let mut sides: Vec<Block> = Vec::new();
        for &to in cfg.succs(branch) {
            if !sides.contains(&to) {
                sides.push(to);
            }
        }
        let mut side: SecondaryMap<Block, Side> = SecondaryMap::new();
        let mut work = Vec::new();
        for (i, &to) in sides.iter().enumerate() {
            work.push((to, Side::One(i as u32)));
        }
        while let Some((b, new)) = work.pop() {
            let merged = side[b].with(new);
            if Some(b) == join || merged == side[b] {
                continue;
            }
            side[b] = merged;
            let succs = cfg.succs(b);
            *budget = budget.checked_sub(1 + succs.len() as u64)?;
            work.extend(succs.iter().map(|&to| (to, merged)));
        }
        let mut split = Self {
            branch,
            join,
            scope: Scope::Const,
            region: EntitySet::new(),
            meets: join.into_iter().collect(),
            opaque: Vec::new(),
            rounds: Vec::new(),
            varying: EntitySet::new(),
        };
        for &b in cfg.rpo() {
            if side[b] != Side::None {
                split.region.insert(b);
            }
        }
        split.find_rounds(graph, &sides, &side, budget)?;
        if convergence == Convergence::Parked {
            let shared = cfg.rpo().iter().filter(|&&b| side[b] == Side::Several);
            split.meets.extend(shared);
            split.find_opaque(graph, &side);
        }
        split.find_varying(func, graph, memory);
        Some(split)
    }

    fn find_rounds(
        &mut self,
        graph: &Graph<'_>,
        sides: &[Block],
        side: &SecondaryMap<Block, Side>,
        budget: &mut u64,
    ) -> Option<()> {
        // Only what dominates the branch or the join is of use past either.
        let mut again: Vec<Block> = Vec::new();
        let above_join = self.join.and_then(|j| graph.dominators.idom(j));
        for start in [Some(self.branch), above_join] {
            let mut at = start;
            while let Some(d) = at {
                if self.region.contains(d) && !again.contains(&d) {
                    again.push(d);
                }
                at = graph.dominators.idom(d);
                *budget = budget.checked_sub(1)?;
            }
        }
        again.sort_unstable_by_key(|&d| graph.cfg.rpo_index(d));
        let mut tops: Vec<(Side, usize)> = Vec::new();
        for d in again {
            let round = tops.iter().find(|&&(s, round)| {
                s == side[d] && graph.dominators.dominates(self.rounds[round].header, d)
            });
            if let Some(&(_, round)) = round {
                self.rounds[round].defs.push(d);
                continue;
            }
            // Lanes of the same side are together as long as this branch is
            // concerned.
            let waiting = sides
                .iter()
                .enumerate()
                .filter(|&(i, _)| side[d] != Side::One(i as u32))
                .map(|(_, &to)| to)
                .chain(self.join);
            let mut after = EntitySet::new();
            let mut work: Vec<Block> = waiting.collect();
            while let Some(b) = work.pop() {
                if b == d || !after.insert(b) {
                    continue;
                }
                let succs = graph.cfg.succs(b);
                *budget = budget.checked_sub(1 + succs.len() as u64)?;
                work.extend(succs);
            }
            tops.push((side[d], self.rounds.len()));
            self.rounds.push(Round {
                header: d,
                defs: vec![d],
                after,
            });
        }
        Some(())
    }

    /// The outermost cycles with several entries that this split is in, or
    /// reaches on two sides.
    fn find_opaque(&mut self, graph: &Graph<'_>, side: &SecondaryMap<Block, Side>) {
        let loops = &graph.loops;
        for l in loops.ids() {
            let nested = std::iter::successors(loops.parent(l), |&p| loops.parent(p));
            if !loops.is_irreducible(l) || nested.into_iter().any(|p| loops.is_irreducible(p)) {
                continue;
            }
            let arriving = loops
                .blocks(l)
                .iter()
                .fold(Side::None, |s, &b| s.with(side[b]));
            if !loops.contains(l, self.branch) && arriving != Side::Several {
                continue;
            }
            let inside = loops.blocks(l).to_vec();
            let mut after = EntitySet::new();
            for &b in graph.cfg.rpo() {
                if !loops.contains(l, b) {
                    after.insert(b);
                }
            }
            for &b in &inside {
                self.region.insert(b);
            }
            self.opaque.extend(&inside);
            self.rounds.push(Round {
                header: loops.header(l),
                defs: inside,
                after,
            });
        }
    }

    fn find_varying(
        &mut self,
        func: &Function,
        graph: &Graph<'_>,
        memory: &super::memory::LocalMemory,
    ) {
        for &b in graph.cfg.rpo() {
            if !self.region.contains(b) {
                continue;
            }
            for &p in &func.block(b).params {
                let varies = match graph.copied(func, p) {
                    Some(v) => self.varying.contains(v),
                    None => true,
                };
                if varies {
                    self.varying.insert(p);
                }
            }
            for &i in &func.block(b).insts {
                let inst = func.inst(i);
                let varies = depends_on_more_than_operands(inst, memory)
                    || inst.uses().any(|v| self.varying.contains(v));
                if varies {
                    for &r in &inst.results {
                        self.varying.insert(r);
                    }
                }
            }
        }
    }

    /// Whether executing the definition of `v` again within the region may
    /// give something else. Values from outside the region do not vary.
    pub fn varies(&self, v: Value) -> bool {
        self.varying.contains(v)
    }
}

/// Whether executing `inst` again on the same operands may give another result.
pub(crate) fn depends_on_more_than_operands(
    inst: &InstData,
    memory: &super::memory::LocalMemory,
) -> bool {
    let effects = inst.op.effects();
    if inst.op.shape() == Form::Load {
        let flags = inst.mem().map_or(MemFlags::NONE, |(flags, _)| flags);
        return !flags.contains(MemFlags::READONLY)
            || flags.contains(MemFlags::VOLATILE)
            || memory.may_be_local(inst.args[0]);
    }
    effects.convergent || effects.reads || effects.writes
}

impl Graph<'_> {
    /// The value that the block parameter `p` merely copies: every edge
    /// carries it, or `p` itself.
    pub fn copied(&self, func: &Function, p: Value) -> Option<Value> {
        let ValueDef::Param(b, k) = func.def(p) else {
            return None;
        };
        if func.entry() == Some(b) {
            return None;
        }
        let mut copied = None;
        for &edge in self.cfg.preds(b) {
            let arg = func.term(edge.from).targets()[edge.index as usize].args[k as usize];
            if arg == p || copied == Some(arg) {
                continue;
            }
            if copied.is_some() {
                return None;
            }
            copied = Some(arg);
        }
        copied
    }
}
