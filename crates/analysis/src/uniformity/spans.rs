//! Which branches need no walk to find what they separate.
//!
//! **Problem.** What a divergent branch does to values depends on its region
//! (see `control.rs`). Walking each region by itself takes quadratic time where
//! regions nest, share an else side, or are exits of one loop.
//!
//! **Method.** Joins form a forest: the parent of a block is the join of its
//! branch, or the target of its jump. The region of a branch `B` with join `J`
//! are the paths in this forest from its targets up to `J`, and the regions of
//! the blocks on them. So what is asked of a region comes down to sums and
//! minima along paths, which are differences of sums from the root:
//!
//! - **Ahead**: no edge of the region retreats in reverse postorder. Then none
//!   of its blocks dominates `B`, there is no round, and all that is left to know
//!   is whether `B` brings different arguments to `J`. That is found for all
//!   branches with one join together: each block below `J` brings what its
//!   branch's targets bring, by the block right below `J` that each leads to. A
//!   value from inside the region that all edges carry would have to
//!   come from a block on every path from `B` to `J`, which would be the join.
//! - **Loop**: `B` leaves a loop with one entry, all exits of which lead to `J`, and
//!   goes on in it on one side only. Then the region is the loop, a round is one
//!   iteration, and what varies in the loop is separated behind it.
//! - **Walk**: everything else; `control.rs` walks it within a budget.
//!
//! Everything is computed once, in time linear in the function but for the
//! number of loops that an edge leaves or a use looks out of.

use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;
use warpfold_ir::{Block, Function, Value};

use super::control::carried;
use super::numbers::Numbers;
use super::{Convergence, Graph};
use crate::{Edge, JoinRule, LoopId};

/// How the region of a branch is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Span {
    /// Nothing in it goes back.
    Ahead,
    /// It is a loop.
    Loop(LoopId),
    /// By walking it.
    #[default]
    Walk,
}

/// A block's place in the forest of joins.
#[derive(Clone, Copy, Default, Debug)]
struct Place {
    /// The tree: 0 for that of the virtual exit, else 1 + the reverse postorder
    /// index of a root whose join does not lie ahead.
    tree: u32,
    depth: u32,
    /// Blocks from here to the root whose own regions go back.
    back: u32,
}

/// What the edges from a part of the graph to a join carry for one parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Carried {
    #[default]
    Nothing,
    One(Value),
    Several,
}

impl Carried {
    fn with(self, other: Self, numbers: &Numbers) -> Self {
        match (self, other) {
            (Self::Nothing, c) | (c, Self::Nothing) => c,
            (Self::One(a), Self::One(b)) if numbers.same(a, b) => self,
            _ => Self::Several,
        }
    }
}

/// The spans of all branches, and what goes with them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spans {
    span: SecondaryMap<Block, Span>,
    place: SecondaryMap<Block, Place>,
    /// Of a branch ahead: which parameters of its join it brings different
    /// arguments for.
    mixes: SecondaryMap<Block, SmallVec<[bool; 2]>>,
    /// The same of a loop's exits together.
    loop_mixes: SecondaryMap<LoopId, SmallVec<[bool; 2]>>,
    /// The innermost loop around a value's definition in which it varies.
    varying: SecondaryMap<Value, Option<LoopId>>,
    steps: u64,
}

impl Spans {
    /// Classifies the branches of `func`. Planted mistakes are in the walks.
    pub fn new(func: &Function, graph: &Graph<'_>, convergence: Convergence) -> Self {
        let mut spans = Self::default();
        if convergence == Convergence::Parked || graph.fault.is_some() {
            return spans;
        }
        spans.find_places(graph);
        spans.find_mixes(func, graph);
        if !graph.loops.is_empty() {
            spans.find_varying(func, graph);
            spans.find_loops(func, graph);
        }
        spans
    }

    /// How the region of the branch at the end of `b` is known.
    pub fn span(&self, b: Block) -> Span {
        self.span[b]
    }

    /// Which parameters of its join the branch of `b`, which is ahead or
    /// leaves a loop, brings different arguments for.
    pub fn mixes(&self, b: Block) -> &[bool] {
        match self.span[b] {
            Span::Ahead => &self.mixes[b],
            Span::Loop(l) => &self.loop_mixes[l],
            Span::Walk => &[],
        }
    }

    /// The innermost loop around the definition of `v` in which `v` varies; it
    /// varies in all loops around that one.
    pub fn varies_in(&self, v: Value) -> Option<LoopId> {
        self.varying[v]
    }

    /// Edges, uses and loops looked at.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// How deep `b` lies below the root of its tree of joins, which has depth
    /// 1.
    pub fn depth(&self, b: Block) -> u32 {
        self.place[b].depth
    }

    /// The depth of the join at which the lanes that take the edge from `b` to
    /// `to` meet the others of a branch that is ahead; 0 if they leave instead.
    pub fn limit(&self, graph: &Graph<'_>, b: Block, to: Block) -> u32 {
        self.meeting(graph, b, to).map_or(0, |j| self.depth(j))
    }

    /// The block above `b` in its tree of joins.
    pub fn above(&self, graph: &Graph<'_>, b: Block) -> Option<Block> {
        let up = graph.joins.of(b)?;
        (graph.cfg.rpo_index(up) > graph.cfg.rpo_index(b)).then_some(up)
    }

    /// The join of `b` as far as the edge to `to` is concerned.
    fn meeting(&self, graph: &Graph<'_>, b: Block, to: Block) -> Option<Block> {
        let ends = graph.joins.ends();
        let early = graph.joins.rule() == JoinRule::Default && ends.home(b) != ends.home(to);
        if early { None } else { graph.joins.of(b) }
    }

    /// Places the blocks in the forest, and tells which branches are ahead.
    fn find_places(&mut self, graph: &Graph<'_>) {
        let cfg = graph.cfg;
        for (i, &b) in cfg.rpo().iter().enumerate().rev() {
            self.steps += 1 + cfg.succs(b).len() as u64;
            let join = graph.joins.of(b);
            let up = self.above(graph, b);
            let above = match (join, up) {
                (_, Some(up)) => self.place[up],
                (None, None) => Place::default(),
                (Some(_), None) => Place {
                    tree: i as u32 + 1,
                    ..Place::default()
                },
            };
            // Sound only below a root whose join is not behind it.
            let ahead = |&to: &Block| {
                if Some(to) == join {
                    return up.is_some();
                }
                let from = self.place[to];
                let root = self.meeting(graph, b, to);
                let until = root.map_or(Place::default(), |j| self.place[j]);
                cfg.rpo_index(to) > Some(i as u32)
                    && (root.is_none() || up.is_some())
                    && from.tree == until.tree
                    && from.back == until.back
            };
            let is_ahead = !cfg.branches(b) || cfg.succs(b).iter().all(ahead);
            if cfg.branches(b) && is_ahead {
                self.span[b] = Span::Ahead;
            }
            self.place[b] = Place {
                tree: above.tree,
                depth: above.depth + 1,
                back: above.back + u32::from(!is_ahead),
            };
        }
    }

    /// Finds what the branches ahead bring to their joins.
    fn find_mixes(&mut self, func: &Function, graph: &Graph<'_>) {
        let cfg = graph.cfg;
        // The blocks right below the join that edges lead to: found on the way
        // down each tree, where the path from the root is at hand.
        let mut below: SecondaryMap<Block, SmallVec<[Block; 2]>> = SecondaryMap::new();
        let mut children: SecondaryMap<Block, SmallVec<[Block; 2]>> = SecondaryMap::new();
        let mut work: Vec<Block> = Vec::new();
        for &b in cfg.rpo() {
            match self.above(graph, b) {
                Some(up) => children[up].push(b),
                None => work.push(b),
            }
        }
        let mut path: Vec<Block> = Vec::new();
        while let Some(b) = work.pop() {
            path.truncate(self.depth(b) as usize - 1);
            path.push(b);
            for e in cfg.preds(b) {
                let join = graph.joins.of(e.from);
                if self.span[e.from] == Span::Ahead
                    && join != Some(b)
                    && let Some(join) = self.meeting(graph, e.from, b)
                {
                    below[e.from].push(path[self.depth(join) as usize]);
                }
            }
            work.extend(&children[b]);
        }
        let mut carried: SecondaryMap<Block, SmallVec<[Carried; 2]>> = SecondaryMap::new();
        for &b in cfg.rpo().iter().rev() {
            let Some(join) = graph.joins.of(b) else {
                continue;
            };
            let count = func.block(join).params.len();
            if count == 0 || cfg.branches(b) && self.span[b] != Span::Ahead {
                continue;
            }
            let mut own: SmallVec<[Carried; 2]> = SmallVec::from_elem(Carried::Nothing, count);
            self.steps += (count * cfg.succs(b).len()) as u64;
            let calls = func.term(b).targets();
            for call in calls.iter().filter(|call| call.block == join) {
                for (c, &arg) in own.iter_mut().zip(&call.args) {
                    *c = c.with(Carried::One(arg), &graph.numbers);
                }
            }
            for at in &below[b] {
                for (c, &more) in own.iter_mut().zip(&carried[*at]) {
                    *c = c.with(more, &graph.numbers);
                }
            }
            if cfg.branches(b) {
                self.mixes[b] = own.iter().map(|&c| c == Carried::Several).collect();
            }
            carried[b] = own;
        }
    }

    /// Finds in which loops values vary.
    fn find_varying(&mut self, func: &Function, graph: &Graph<'_>) {
        let loops = &graph.loops;
        for &b in graph.cfg.rpo() {
            let Some(here) = loops.loop_of(b) else {
                continue;
            };
            for &p in &func.block(b).params {
                self.varying[p] = match graph.brings_one_number(func, p) {
                    true => {
                        let brought = graph.brought(func, p).filter(|&a| a != p);
                        let around = brought.filter_map(|a| self.varying_around(graph, a, b));
                        around.max_by_key(|&l| loops.depth(l))
                    }
                    false => Some(here),
                };
            }
            for &i in &func.block(b).insts {
                let inst = func.inst(i);
                self.steps += 1;
                let varying = match graph.differs_again(inst) {
                    true => Some(here),
                    false => {
                        let around = inst.uses().filter_map(|v| self.varying_around(graph, v, b));
                        around.max_by_key(|&l| loops.depth(l))
                    }
                };
                for &r in &inst.results {
                    self.varying[r] = varying;
                }
            }
        }
    }

    /// The innermost loop around `b` in which `v` varies.
    fn varying_around(&self, graph: &Graph<'_>, v: Value, b: Block) -> Option<LoopId> {
        let mut l = self.varying[v]?;
        while !graph.loops.contains(l, b) {
            l = graph.loops.parent(l)?;
        }
        Some(l)
    }

    /// Finds the loops that are regions, and what their exits carry.
    fn find_loops(&mut self, func: &Function, graph: &Graph<'_>) {
        let (cfg, loops) = (graph.cfg, &graph.loops);
        let mut exits: SecondaryMap<LoopId, Vec<Edge>> = SecondaryMap::new();
        for &b in cfg.rpo() {
            for edge in cfg.edges_from(b) {
                let mut around = loops.loop_of(b);
                while let Some(l) = around.filter(|&l| !loops.contains(l, cfg.target(edge))) {
                    self.steps += 1;
                    exits[l].push(edge);
                    around = loops.parent(l);
                }
            }
        }
        // The one block that all exits lead to.
        let mut exit: SecondaryMap<LoopId, Option<Block>> = SecondaryMap::new();
        for l in loops.ids().filter(|&l| !loops.is_irreducible(l)) {
            let mut targets = exits[l].iter().map(|&e| cfg.target(e));
            exit[l] = targets.next().filter(|&to| targets.all(|t| t == to));
            let Some(to) = exit[l] else { continue };
            let params = 0..func.block(to).params.len();
            self.steps += (exits[l].len() * params.len()) as u64;
            let varies = |v: Value| {
                let inner = self.varying[v];
                inner.is_some_and(|inner| loops.contains(l, loops.header(inner)))
            };
            let mixed = params.map(|k| {
                let mut args = exits[l].iter().filter_map(|&e| carried(func, e, k));
                let mut first = None;
                args.any(|a| varies(a) || !graph.numbers.same(a, *first.get_or_insert(a)))
            });
            self.loop_mixes[l] = mixed.collect();
        }
        for &b in cfg.rpo() {
            if !cfg.branches(b) || self.span[b] == Span::Ahead {
                continue;
            }
            let Some(join) = graph.joins.of(b) else {
                continue;
            };
            let mut inside = cfg.succs(b).iter().filter(|&&to| to != join);
            let one_side = inside.next().is_some_and(|to| inside.all(|t| t == to));
            let mut around = loops.loop_of(b).filter(|_| one_side);
            while let Some(l) = around.filter(|&l| !loops.contains(l, join)) {
                if exit[l] == Some(join) {
                    self.span[b] = Span::Loop(l);
                    break;
                }
                around = loops.parent(l);
            }
        }
    }
}
