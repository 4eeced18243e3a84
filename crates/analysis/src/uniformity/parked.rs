//! Control divergence under [`Convergence::Parked`](super::Convergence): what a
//! branch separates when lanes meet as soon as they can.
//!
//! The lanes that a branch separates get *labels*, one for each of its edges,
//! and the labels walk along the graph. They live on edges, so that two edges
//! to one block are told apart. A block to which different edges bring
//! different labels is a join: it mixes what the edges carry, and goes on under
//! a label of its own. The walk ends where one block is all that is left to
//! visit and no lane has gone round a loop.
//!
//! - A loop that does not contain the branch is stepped over: what arrives at
//!   its header leaves by all its exits.
//! - Loops around the branch are finished from the inside out. Back edges only
//!   collect labels at the header; then the header's label leaves by every
//!   exit, for those who go round may leave there later. An exit that already
//!   carries another label is *divergent*: lanes leave by it in different
//!   rounds, and bring different values of what varies in the loop. Exits are
//!   told apart; two of one loop need not both diverge.
//! - A cycle with several entries has no header of its own: which rounds it has
//!   depends on how it is taken apart. Of the outermost such cycle around the
//!   branch three things are known whichever way. If one target of the branch
//!   is in it, its lanes stay together, and only exits diverge. If lanes meet
//!   where all ways from the branch end, and nothing but the branch leads into
//!   those ways, none of them has passed a header, and they meet as in any other
//!   graph. Otherwise it is *opaque*: all its parameters are mixed, what varies in
//!   it differs from block to block, and all its exits diverge; and so is a cycle
//!   that different labels enter at different blocks.
//!
//! After Rosemann, Moll and Hack (2021) and LLVM's uniformity analysis for
//! cycles; with labels on edges rather than on blocks. No executor of ours
//! runs by this contract: it is for comparison with what the literature says.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::{HashMap, HashSet};
use smallvec::{SmallVec, smallvec};
use warpfold_ir::Block;

use super::Graph;
use crate::{Edge, JoinRule, LoopId};

/// Which lanes are together, as far as one branch goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Label {
    /// Those that took this edge: of the branch, or out of an opaque cycle.
    Edge(Edge),
    /// Those that met at this block.
    Block(Block),
}

type Labels = SmallVec<[Label; 2]>;

/// What is visited as one: a block, or a loop that is stepped over.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Node {
    Block(Block),
    Loop(LoopId),
}

/// A loop with a divergent exit.
#[derive(Clone, Debug)]
pub(crate) struct Left {
    /// Its header.
    pub header: Block,
    /// Its blocks.
    pub blocks: Vec<Block>,
    /// Where its lanes may come from different rounds.
    pub apart: HashSet<Block>,
}

/// What one branch separates under this contract.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parked {
    /// The blocks that run with a part of the lanes.
    pub region: HashSet<Block>,
    /// The joins, with the edges by which separated lanes come.
    pub joins: BTreeMap<Block, Vec<Edge>>,
    /// The divergent exits of loops.
    pub exits: BTreeSet<Edge>,
    /// The loops that these leave.
    pub left: Vec<Left>,
    /// The blocks of opaque cycles.
    pub opaque: Vec<Block>,
}

struct Walk<'a, 'b> {
    graph: &'a Graph<'a>,
    budget: &'b mut u64,
    carried: HashMap<Edge, Labels>,
    /// Whether lanes may have left on the way, or go round for ever: who is
    /// left then need not be all.
    gone: bool,
    found: Parked,
}

impl Parked {
    /// What the branch at the end of `branch` separates. `budget` counts down
    /// the edges walked; `None` when it is used up.
    pub fn new(graph: &Graph<'_>, branch: Block, budget: &mut u64) -> Option<Self> {
        let mut walk = Walk {
            graph,
            budget,
            carried: HashMap::new(),
            gone: false,
            found: Self::default(),
        };
        let mut frontier: Vec<Edge> = graph.cfg.edges_from(branch).collect();
        for &e in &frontier {
            walk.carried.insert(e, smallvec![Label::Edge(e)]);
        }
        let mut around = graph.loops.loop_of(branch);
        let up = |&l: &LoopId| graph.loops.parent(l);
        let ancestors = std::iter::successors(around, up);
        if let Some(cycle) = ancestors.filter(|&l| graph.loops.is_irreducible(l)).last() {
            match walk.irreducible(branch, cycle, &frontier)? {
                Some(exits) => frontier = exits,
                None => return Some(walk.found),
            }
            around = graph.loops.parent(cycle);
        }
        while let Some(exits) = walk.level(around, &frontier)? {
            frontier = exits;
            match around {
                Some(l) => around = graph.loops.parent(l),
                None => break,
            }
        }
        Some(walk.found)
    }
}

impl Walk<'_, '_> {
    fn pay(&mut self, edges: usize) -> Option<()> {
        *self.budget = self.budget.checked_sub(1 + edges as u64)?;
        Some(())
    }

    /// The labels of edges, each once.
    fn union(&self, edges: &[Edge]) -> Labels {
        let mut union = Labels::new();
        for l in edges.iter().filter_map(|e| self.carried.get(e)).flatten() {
            if !union.contains(l) {
                union.push(*l);
            }
        }
        union
    }

    /// The label that goes on from `b`, to which `edges` lead; a join if they
    /// differ.
    fn arrive(&mut self, b: Block, edges: &[Edge]) -> Option<Label> {
        match (&self.union(edges)[..], edges.len()) {
            ([], _) => None,
            (&[label], _) => Some(label),
            (_, 1) => Some(Label::Block(b)),
            _ => {
                self.found.joins.insert(b, edges.to_vec());
                Some(Label::Block(b))
            }
        }
    }

    fn inside(&self, around: Option<LoopId>, b: Block) -> bool {
        around.is_none_or(|l| self.graph.loops.contains(l, b))
    }

    /// What `b`, in `around`, is visited as part of.
    fn node(&self, around: Option<LoopId>, b: Block) -> Node {
        let loops = &self.graph.loops;
        let up = |&l: &LoopId| loops.parent(l).filter(|&p| Some(p) != around);
        match loops.loop_of(b).filter(|&l| Some(l) != around) {
            Some(l) => std::iter::successors(Some(l), up)
                .last()
                .map_or(Node::Block(b), Node::Loop),
            None => Node::Block(b),
        }
    }

    /// The edges that bring labels to `b`, apart from those from inside `l`.
    fn labelled(&mut self, b: Block, l: Option<LoopId>) -> Option<Vec<Edge>> {
        let preds = self.graph.cfg.preds(b);
        self.pay(preds.len())?;
        let outside = |e: &&Edge| l.is_none_or(|l| !self.graph.loops.contains(l, e.from));
        let edges = preds.iter().filter(outside);
        Some(
            edges
                .filter(|e| self.carried.contains_key(*e))
                .copied()
                .collect(),
        )
    }

    /// Walks the labels of `frontier` through the blocks of `around` until its
    /// header or its exits are all that is left. Gives the exits that carry
    /// labels; nothing if the lanes have met. The outer `None` when the budget
    /// is used up.
    fn level(&mut self, around: Option<LoopId>, frontier: &[Edge]) -> Option<Option<Vec<Edge>>> {
        let header = around.map(|l| self.graph.loops.header(l));
        let (mut back, mut exits) = (Vec::new(), Vec::new());
        let mut queue: BTreeSet<(Option<u32>, Node)> = BTreeSet::new();
        let mut edges: Vec<Edge> = frontier.to_vec();
        loop {
            for e in edges.drain(..) {
                let to = self.graph.cfg.target(e);
                let list = match () {
                    () if Some(to) == header => &mut back,
                    () if !self.inside(around, to) => &mut exits,
                    () => {
                        let node = self.node(around, to);
                        let first = match node {
                            Node::Block(b) => b,
                            Node::Loop(l) => self.graph.loops.header(l),
                        };
                        queue.insert((self.graph.cfg.rpo_index(first), node));
                        continue;
                    }
                };
                if !list.contains(&e) {
                    list.push(e);
                }
            }
            let Some((_, node)) = queue.pop_first() else {
                break;
            };
            let last = !self.gone && queue.is_empty() && back.is_empty() && exits.is_empty();
            match self.visit(node, last)? {
                Some(out) => edges = out,
                None => return Some(None),
            }
        }
        let Some(l) = around else {
            return Some(None);
        };
        if let Some(label) = self.arrive(self.graph.loops.header(l), &back) {
            let all: Vec<Edge> = self.graph.loops.exits(self.graph.cfg, l).collect();
            self.leave(l, &all, label)?;
            exits = all;
        }
        let met = self.union(&exits).len() < 2;
        Some((!met).then_some(exits))
    }

    /// Sends what has arrived at `node` on. Gives the edges that carry
    /// something else than before; nothing if it is the `last` to visit, and
    /// all lanes meet there.
    fn visit(&mut self, node: Node, last: bool) -> Option<Option<Vec<Edge>>> {
        let graph = self.graph;
        let (label, out): (_, Vec<Edge>) = match node {
            Node::Block(b) => {
                let edges = self.labelled(b, None)?;
                let label = self.arrive(b, &edges);
                if last {
                    return Some(None);
                }
                self.found.region.insert(b);
                (label, graph.cfg.edges_from(b).collect())
            }
            Node::Loop(l) => {
                let mut entered = Vec::new();
                let mut edges = Vec::new();
                for &entry in graph.loops.entries(l) {
                    let here = self.labelled(entry, Some(l))?;
                    if !here.is_empty() {
                        entered.push(entry);
                        edges.extend(here);
                    }
                }
                self.pay(graph.loops.blocks(l).len())?;
                let exits: Vec<Edge> = graph.loops.exits(graph.cfg, l).collect();
                if entered.len() > 1 && self.union(&edges).len() > 1 {
                    return Some(Some(self.open(l, exits)?));
                }
                let label = entered.first().and_then(|&b| self.arrive(b, &edges));
                if last {
                    return Some(None);
                }
                self.found.region.extend(graph.loops.blocks(l));
                (label, exits)
            }
        };
        let Some(label) = label else {
            return Some(Some(Vec::new()));
        };
        self.pay(out.len())?;
        self.gone |= out.is_empty();
        let carries: Labels = smallvec![label];
        let changed = out
            .into_iter()
            .filter(|&e| self.carried.insert(e, carries.clone()).as_ref() != Some(&carries));
        Some(Some(changed.collect()))
    }

    /// Marks `l` opaque; gives its exits, each with a label of its own.
    fn open(&mut self, l: LoopId, exits: Vec<Edge>) -> Option<Vec<Edge>> {
        self.gone |= exits.is_empty();
        for &e in &exits {
            self.carried.insert(e, smallvec![Label::Edge(e)]);
        }
        if !self.found.opaque.contains(&self.graph.loops.header(l)) {
            self.found.opaque.extend(self.graph.loops.blocks(l));
            // From one of its blocks to another lanes may have made different rounds.
            let within = self.graph.loops.blocks(l).iter().copied();
            self.left(l, &exits, within.collect())?;
        }
        Some(exits)
    }

    /// Lets the lanes that go round `l` under `label` leave by every exit.
    fn leave(&mut self, l: LoopId, exits: &[Edge], label: Label) -> Option<()> {
        let mut apart = Vec::new();
        for &e in exits {
            let carried = self.carried.entry(e).or_default();
            if carried.iter().any(|&other| other != label) {
                apart.push(e);
            }
            if !carried.contains(&label) {
                carried.push(label);
            }
        }
        match apart.is_empty() {
            true => Some(()),
            false => self.left(l, &apart, HashSet::new()),
        }
    }

    /// Notes that lanes leave `l` by `exits` in different rounds, and are in different
    /// ones in the blocks `apart`.
    fn left(&mut self, l: LoopId, exits: &[Edge], mut apart: HashSet<Block>) -> Option<()> {
        let (cfg, loops) = (self.graph.cfg, &self.graph.loops);
        let mut work: Vec<Block> = exits.iter().map(|&e| cfg.target(e)).collect();
        while let Some(b) = work.pop() {
            // Whoever comes back does so through the header of a loop around, and
            // executes all anew.
            if loops.contains(l, b) || !apart.insert(b) {
                continue;
            }
            self.pay(cfg.succs(b).len())?;
            work.extend(cfg.succs(b));
        }
        self.found.exits.extend(exits);
        self.found.region.extend(loops.blocks(l));
        self.found.left.push(Left {
            header: loops.header(l),
            blocks: loops.blocks(l).to_vec(),
            apart,
        });
        Some(())
    }

    /// Goes through `cycle`, the outermost around the branch that has several
    /// entries. Gives what [`level`](Self::level) does.
    fn irreducible(
        &mut self,
        branch: Block,
        cycle: LoopId,
        frontier: &[Edge],
    ) -> Option<Option<Vec<Edge>>> {
        let graph = self.graph;
        let (cfg, loops) = (graph.cfg, &graph.loops);
        let stays = |&e: &Edge| loops.contains(cycle, cfg.target(e));
        let (inside, outside): (Vec<Edge>, Vec<Edge>) = frontier.iter().copied().partition(stays);
        let targets: BTreeSet<Block> = inside.iter().map(|&e| cfg.target(e)).collect();
        let exits: Vec<Edge> = loops.exits(cfg, cycle).collect();
        self.pay(loops.blocks(cycle).len() + exits.len())?;
        match (targets.len(), targets.first()) {
            (0, _) | (_, None) => Some(Some(outside)),
            (1, Some(&to)) => {
                if let Some(label) = self.arrive(to, &inside) {
                    self.leave(cycle, &exits, label)?;
                }
                Some(Some(exits))
            }
            _ => {
                let met = outside.is_empty() && self.meets_within(branch, cycle, &inside)?;
                match met {
                    true => Some(None),
                    false => Some(Some(self.open(cycle, exits)?)),
                }
            }
        }
    }

    /// Whether the lanes that leave `branch` by `edges` meet in `cycle` as in a
    /// graph without cycles, whichever way it is taken apart; they then have.
    fn meets_within(&mut self, branch: Block, cycle: LoopId, edges: &[Edge]) -> Option<bool> {
        let graph = self.graph;
        let (cfg, loops) = (graph.cfg, &graph.loops);
        let Some(join) = graph.joins.under(JoinRule::Cfg, branch) else {
            return Some(false);
        };
        let mut region: BTreeSet<(Option<u32>, Block)> = BTreeSet::new();
        let mut work: Vec<Block> = edges.iter().map(|&e| cfg.target(e)).collect();
        while let Some(b) = work.pop() {
            if b == join || !region.insert((cfg.rpo_index(b), b)) {
                continue;
            }
            self.pay(cfg.succs(b).len())?;
            let retreats = cfg
                .succs(b)
                .iter()
                .any(|&to| to != join && cfg.rpo_index(to) <= cfg.rpo_index(b));
            if b == branch || retreats || !loops.contains(cycle, b) {
                return Some(false);
            }
            work.extend(cfg.succs(b));
        }
        // Who comes from elsewhere may come to a header, of this cycle or one within.
        for &(_, b) in &region {
            let preds = cfg.preds(b);
            self.pay(preds.len())?;
            let known = |a: Block| a == branch || region.contains(&(cfg.rpo_index(a), a));
            if !preds.iter().all(|e| known(e.from)) {
                return Some(false);
            }
        }
        for b in region.into_iter().map(|(_, b)| b).chain([join]) {
            self.visit(Node::Block(b), b == join)?;
        }
        Some(true)
    }
}
