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
//! Under [`Convergence::Parked`] lanes of different sides meet earlier: see
//! `parked.rs`.

use hashbrown::{HashMap, HashSet};
use warpfold_ir::{Block, Function, InstData, Shape as Form, Value, ValueDef};

use super::memory::Memory;
use super::parked::Parked;
use super::scope::Scope;
use super::{Convergence, Fault, Graph};
use crate::Edge;

/// What one branch separates.
#[derive(Clone, Debug)]
pub(crate) struct Split {
    pub branch: Block,
    pub join: Option<Block>,
    /// How far the branch's condition diverges; raised by the solver.
    pub scope: Scope,
    /// The blocks that run with a part of the lanes, in reverse postorder.
    pub region: Vec<Block>,
    sides: HashMap<Block, Side>,
    /// Where lanes of different sides meet.
    pub meets: Vec<Block>,
    /// Blocks whose parameters are mixed whatever edge they come by.
    pub opaque: Vec<Block>,
    pub rounds: Vec<Round>,
    varying: HashSet<Value>,
    parked: Option<Parked>,
}

/// Blocks that some lanes may execute again while others wait.
#[derive(Clone, Debug)]
pub(crate) struct Round {
    /// The first block of the round, which dominates the others.
    pub header: Block,
    /// The blocks whose values are separated.
    pub defs: Vec<Block>,
    /// Where only lanes come that have gone round together, or where others
    /// may.
    place: Place,
}

#[derive(Clone, Debug)]
enum Place {
    Together(HashSet<Block>),
    Apart(HashSet<Block>),
}

impl Round {
    /// Whether lanes may execute `b` together that left the round apart.
    pub fn separates_at(&self, b: Block) -> bool {
        match &self.place {
            Place::Together(blocks) => !blocks.contains(&b),
            Place::Apart(blocks) => blocks.contains(&b),
        }
    }
}

/// The side of a branch that a block is on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    One(u32),
    Several,
}

impl Side {
    fn with(self, other: Option<Self>) -> Self {
        match other {
            Some(other) if other != self => Self::Several,
            _ => self,
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
        branch: Block,
        budget: &mut u64,
    ) -> Option<Self> {
        let cfg = graph.cfg;
        let join = graph.joins.of(branch);
        let mut targets: Vec<Block> = Vec::new();
        for &to in cfg.succs(branch) {
            if !targets.contains(&to) {
                targets.push(to);
            }
        }
        let mut split = Self {
            branch,
            join,
            scope: Scope::Const,
            region: Vec::new(),
            sides: HashMap::new(),
            meets: join.into_iter().collect(),
            opaque: Vec::new(),
            rounds: Vec::new(),
            varying: HashSet::new(),
            parked: None,
        };
        if convergence == Convergence::Parked {
            split.take(Parked::new(graph, branch, budget)?, graph);
            split.find_varying(func, graph);
            return Some(split);
        }
        let sides = targets.iter().enumerate();
        let mut work: Vec<_> = sides.map(|(i, &to)| (to, Side::One(i as u32))).collect();
        while let Some((b, side)) = work.pop() {
            let old = split.sides.get(&b).copied();
            let side = side.with(old);
            let lost = graph.fault == Some(Fault::ExitLabels) && graph.leaves_loop(branch, b);
            if Some(b) == join || Some(side) == old || lost {
                continue;
            }
            if split.sides.insert(b, side).is_none() {
                split.region.push(b);
            }
            let succs = cfg.succs(b);
            *budget = budget.checked_sub(1 + succs.len() as u64)?;
            work.extend(succs.iter().map(|&to| (to, side)));
        }
        split.region.sort_unstable_by_key(|&b| cfg.rpo_index(b));
        if graph.fault != Some(Fault::Temporal) {
            split.find_rounds(graph, &targets, budget)?;
        }
        split.find_varying(func, graph);
        Some(split)
    }

    /// Whether `b` may run with a part of the lanes.
    pub fn contains(&self, b: Block) -> bool {
        self.sides.contains_key(&b)
    }

    fn find_rounds(
        &mut self,
        graph: &Graph<'_>,
        targets: &[Block],
        budget: &mut u64,
    ) -> Option<()> {
        // Only what dominates the branch or the join is of use past either.
        let dominates = |a: Block, b: Block| graph.dominators.dominates(a, b);
        let again: Vec<Block> = self
            .region
            .iter()
            .copied()
            .filter(|&d| dominates(d, self.branch) || self.join.is_some_and(|j| dominates(d, j)))
            .collect();
        if again.is_empty() {
            return Some(());
        }
        // The region's blocks from which its lanes get to the join.
        let to_join = match self.join {
            Some(join) => self.reaching(graph, join, budget)?,
            None => self.region.iter().copied().collect(),
        };
        let mut tops: Vec<(Side, usize)> = Vec::new();
        for d in again {
            let side = self.sides[&d];
            let round = tops
                .iter()
                .find(|&&(s, r)| s == side && dominates(self.rounds[r].header, d));
            if let Some(&(_, r)) = round {
                self.rounds[r].defs.push(d);
                continue;
            }
            // Lanes on one side are together as far as this branch goes. The
            // others wait at the start of theirs, or at the join.
            let waiting: Vec<Block> = (targets.iter().enumerate())
                .filter(|&(i, &to)| side != Side::One(i as u32) && self.contains(to))
                .map(|(_, &to)| to)
                .collect();
            let mut apart = HashSet::new();
            walk(graph, waiting, &mut apart, budget, |b| {
                b != d && self.contains(b)
            })?;
            let back = self.reaching(graph, d, budget)?;
            // From where lanes of the join get back into the region, past
            // `d`. Both are then in one cycle.
            let stays = |b: &Block| back.contains(b) || to_join.contains(b);
            let enters = |b: Block| {
                let mut preds = graph.cfg.preds(b).iter();
                b != d && stays(&b) && preds.any(|e| !self.contains(e.from))
            };
            let entered = self.region.iter().any(|&b| dominates(d, b) && enters(b));
            if let (Some(join), true) = (self.join, entered) {
                let outermost = |b: Block| {
                    let up = |&l: &_| graph.loops.parent(l);
                    std::iter::successors(graph.loops.loop_of(b), up).last()
                };
                let cycle = outermost(join);
                walk(graph, vec![join], &mut apart, budget, |b| {
                    b != d && (b == join || cycle.is_some() && outermost(b) == cycle)
                })?;
            }
            let together = (self.region.iter().copied())
                .filter(|b| stays(b) && !apart.contains(b))
                .collect();
            tops.push((side, self.rounds.len()));
            self.rounds.push(Round {
                header: d,
                defs: vec![d],
                place: Place::Together(together),
            });
        }
        Some(())
    }

    /// The region's blocks that reach `to` within the region.
    fn reaching(&self, graph: &Graph<'_>, to: Block, budget: &mut u64) -> Option<HashSet<Block>> {
        let mut found = HashSet::new();
        let mut work = vec![to];
        while let Some(b) = work.pop() {
            let preds = graph.cfg.preds(b);
            *budget = budget.checked_sub(1 + preds.len() as u64)?;
            for e in preds {
                if self.contains(e.from) && found.insert(e.from) {
                    work.push(e.from);
                }
            }
        }
        if self.contains(to) {
            found.insert(to);
        }
        Some(found)
    }

    /// Takes what labels have found.
    fn take(&mut self, parked: Parked, graph: &Graph<'_>) {
        let targets = parked.exits.iter().map(|&e| graph.cfg.target(e));
        self.meets = parked.joins.keys().copied().chain(targets).collect();
        self.opaque.clone_from(&parked.opaque);
        self.region = parked.region.iter().copied().collect();
        self.region
            .sort_unstable_by_key(|&b| graph.cfg.rpo_index(b));
        self.rounds = (parked.left.iter())
            .map(|left| Round {
                header: left.header,
                defs: left.blocks.clone(),
                place: Place::Apart(left.apart.clone()),
            })
            .collect();
        self.parked = Some(parked);
    }

    /// Whether the lanes that this branch separated and that come to `b`
    /// together bring different values for parameter `k`.
    pub fn mixes(&self, func: &Function, graph: &Graph<'_>, b: Block, k: u32) -> bool {
        let all = || graph.args(func, b, k);
        let differ = |of: &mut dyn Iterator<Item = Value>| {
            let first = of.next();
            let mut rest = of;
            first.is_some_and(|first| Iterator::any(&mut rest, |a| !graph.numbers.same(a, first)))
        };
        match &self.parked {
            None => {
                let comes = |e: Edge| e.from == self.branch || self.contains(e.from);
                let told_apart = || graph.labelled(func, b, k);
                let brought = || told_apart().filter(|a| comes(a.0)).map(|a| a.1);
                differ(&mut brought()) || brought().any(|a| self.varies(a))
            }
            // Who meets in one round has what varies from that round, but by
            // divergent exits lanes come from several.
            Some(parked) => {
                let joined = parked.joins.get(&b).map_or(&[][..], Vec::as_slice);
                let mut met = all().filter(|a| joined.contains(&a.0)).map(|a| a.1);
                let apart = |(e, a)| parked.exits.contains(&e) && self.varies(a);
                differ(&mut met) || all().any(apart)
            }
        }
    }

    fn find_varying(&mut self, func: &Function, graph: &Graph<'_>) {
        // Needed of what is executed again, and of what edges carry to a join.
        for &b in &self.region {
            for &p in &func.block(b).params {
                if graph.param_varies(func, p, |v| self.varying.contains(&v)) {
                    self.varying.insert(p);
                }
            }
            for &i in &func.block(b).insts {
                let inst = func.inst(i);
                let varies =
                    graph.differs_again(inst) || inst.uses().any(|v| self.varying.contains(&v));
                if varies {
                    self.varying.extend(&inst.results);
                }
            }
        }
    }

    /// Whether executing the definition of `v` again within the region may
    /// give something else. Values from outside the region do not vary.
    pub fn varies(&self, v: Value) -> bool {
        self.varying.contains(&v)
    }
}

/// Adds to `seen` what `from` reaches over blocks that are `allowed`.
fn walk(
    graph: &Graph<'_>,
    from: Vec<Block>,
    seen: &mut HashSet<Block>,
    budget: &mut u64,
    allowed: impl Fn(Block) -> bool,
) -> Option<()> {
    let mut work = from;
    while let Some(b) = work.pop() {
        if !allowed(b) || !seen.insert(b) {
            continue;
        }
        let succs = graph.cfg.succs(b);
        *budget = budget.checked_sub(1 + succs.len() as u64)?;
        work.extend(succs);
    }
    Some(())
}

/// What the edge `e` carries for parameter `k` of its target: something, as the
/// graph is the function's.
pub(crate) fn carried(func: &Function, e: Edge, k: usize) -> Option<Value> {
    let target = func.term(e.from).target(e.index)?;
    target.args.get(k).copied()
}

/// Whether executing `inst` again on the same operands may give another result.
pub(crate) fn depends_on_more_than_operands(inst: &InstData, memory: &Memory) -> bool {
    let effects = inst.op.effects();
    if inst.op.shape() == Form::Load {
        return !memory.is_fixed(inst);
    }
    effects.convergent || effects.reads || effects.writes
}

impl Graph<'_> {
    /// Whether executing `inst` again on the same operands may give another
    /// result.
    pub fn differs_again(&self, inst: &InstData) -> bool {
        let overlooked = self.fault == Some(Fault::Convergent) && inst.op.effects().convergent;
        !overlooked && depends_on_more_than_operands(inst, &self.memory)
    }

    /// Whether `b` is outside of the innermost loop that `from` is in.
    fn leaves_loop(&self, from: Block, b: Block) -> bool {
        let around = self.loops.loop_of(from);
        around.is_some_and(|l| !self.loops.contains(l, b))
    }

    /// The edges to `b` that labels tell apart, each edge of a block having its
    /// own, and what they bring for parameter `k`.
    pub fn labelled<'a>(
        &'a self,
        func: &'a Function,
        b: Block,
        k: u32,
    ) -> impl Iterator<Item = (Edge, Value)> + 'a {
        let by_block = self.fault == Some(Fault::BlockLabels);
        let first = move |e: Edge| self.args(func, b, k).find(|other| other.0.from == e.from);
        let all = self.args(func, b, k);
        all.filter(move |&(e, arg)| !by_block || first(e) == Some((e, arg)))
    }

    /// The edges to `b` and what they bring for parameter `k`.
    pub fn args<'a>(
        &'a self,
        func: &'a Function,
        b: Block,
        k: u32,
    ) -> impl Iterator<Item = (Edge, Value)> + 'a {
        let edges = self.cfg.preds(b).iter();
        edges.filter_map(move |&e| Some((e, carried(func, e, k as usize)?)))
    }

    /// What the edges to its block carry for the parameter `p`.
    pub fn brought<'a>(&'a self, func: &'a Function, p: Value) -> impl Iterator<Item = Value> + 'a {
        let place = match func.def(p) {
            ValueDef::Param(b, k) => Some((b, k)),
            ValueDef::Result(..) => None,
        };
        let edges = place.into_iter();
        edges.flat_map(move |(b, k)| self.args(func, b, k).map(|a| a.1))
    }

    /// Whether every edge, but for those that carry the parameter `p` itself,
    /// carries its number. One that does need not speak for the others: it may
    /// carry a copy of `p`.
    pub fn brings_one_number(&self, func: &Function, p: Value) -> bool {
        let mut others = self.brought(func, p).filter(|&a| a != p).peekable();
        others.peek().is_some() && others.all(|a| self.numbers.same(a, p))
    }

    /// Whether a pass of the block of parameter `p` may give it another value,
    /// where only values do that `varies`: it may unless every edge brings the
    /// same number, and then if what an edge brings does.
    pub fn param_varies(&self, func: &Function, p: Value, varies: impl Fn(Value) -> bool) -> bool {
        !self.brings_one_number(func, p) || self.brought(func, p).any(|a| a != p && varies(a))
    }

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
        for (_, arg) in self.args(func, b, k) {
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
