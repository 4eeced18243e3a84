//! The control-flow graph of a function: successors by edge number,
//! predecessors, reachability and reverse postorder.
//!
//! An *edge* is a position in a terminator's target list, so two edges of one
//! branch to the same block stay two edges. Successors are known for every
//! block of the layout; predecessors count only edges from blocks that the
//! entry reaches, so that dead blocks neither widen a join nor spoil a loop.
//! The graph is a snapshot: after an edit of the function it is built anew.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use cranelift_entity::{EntityRef, SecondaryMap};
use warpfold_ir::dominators::Graph;
use warpfold_ir::{Block, Function, Origin};

/// A control-flow edge: target number `index` of the terminator of `from`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Edge {
    /// The block that the edge leaves.
    pub from: Block,
    /// Its position in the terminator's targets.
    pub index: u32,
}

/// The control-flow graph of one function.
#[derive(Clone, Debug)]
pub struct Cfg {
    entry: Option<Block>,
    num_blocks: usize,
    laid_out: usize,
    succs: Lists<Block>,
    preds: Lists<Edge>,
    rpo: Vec<Block>,
    rpo_index: SecondaryMap<Block, Option<u32>>,
    layout_index: SecondaryMap<Block, Option<u32>>,
    /// Position by the origins of the blocks' ends; where these are equal or none, in
    /// layout.
    written_index: SecondaryMap<Block, Option<u32>>,
}

impl Cfg {
    /// Builds the graph of the laid-out blocks.
    pub fn new(func: &Function) -> Self {
        let num_blocks = func.num_blocks();
        let mut layout_index = SecondaryMap::with_capacity(num_blocks);
        let mut edges = Vec::new();
        for (i, &b) in func.layout.iter().enumerate() {
            layout_index[b] = Some(i as u32);
            let targets = func.block(b).term.iter().flat_map(|t| t.targets());
            edges.extend(targets.map(|target| (b.as_u32(), target.block.as_u32())));
        }
        // A block that a pass made belongs to the one before it.
        let mut last = Origin::new(0, 0);
        let mut written: Vec<(Origin, Block)> = Vec::with_capacity(func.layout.len());
        for &b in &func.layout {
            let origin = func.block(b).origin;
            if !origin.is_none() {
                last = origin;
            }
            written.push((last, b));
        }
        written.sort_by_key(|&(origin, _)| origin);
        let mut written_index = SecondaryMap::with_capacity(num_blocks);
        for (i, &(_, b)) in written.iter().enumerate() {
            written_index[b] = Some(i as u32);
        }
        let entry = func.entry();
        let graph = Graph::new(num_blocks, &edges);
        let rpo: Vec<Block> = entry
            .map(|e| graph.reverse_postorder(e.as_u32()))
            .unwrap_or_default()
            .into_iter()
            .map(Block::from_u32)
            .collect();
        let mut rpo_index = SecondaryMap::with_capacity(num_blocks);
        for (i, &b) in rpo.iter().enumerate() {
            rpo_index[b] = Some(i as u32);
        }
        let succs = Lists::new(num_blocks, || {
            edges.iter().map(|&(from, to)| (from, Block::from_u32(to)))
        });
        let preds = Lists::new(num_blocks, || {
            let reached = func.layout.iter().filter(|&&b| rpo_index[b].is_some());
            reached.flat_map(|&from| {
                (0..).zip(succs.get(from)).map(move |(index, to)| {
                    let edge = Edge { from, index };
                    (to.as_u32(), edge)
                })
            })
        });
        Self {
            entry,
            num_blocks,
            laid_out: func.layout.len(),
            succs,
            preds,
            rpo,
            rpo_index,
            layout_index,
            written_index,
        }
    }

    /// Whether it is the graph of `func` as that is now.
    pub fn is_of(&self, func: &Function) -> bool {
        let same = |(i, &b): (usize, &Block)| {
            let targets = func.block(b).term.iter().flat_map(|t| t.targets());
            self.layout_index[b] == Some(i as u32) && targets.map(|t| &t.block).eq(self.succs(b))
        };
        self.num_blocks == func.num_blocks()
            && self.laid_out == func.layout.len()
            && func.layout.iter().enumerate().all(same)
    }

    /// The entry block.
    ///
    /// # Panics
    /// If the function has no blocks; verified functions have an entry.
    pub fn entry(&self) -> Block {
        self.entry.expect("a verified function has an entry block")
    }

    /// Number of blocks the function ever made, for tables indexed by block.
    pub fn num_blocks(&self) -> usize {
        self.num_blocks
    }

    /// The edges into `b` from reachable blocks: in layout order of the
    /// blocks they leave, then by edge number.
    pub fn preds(&self, b: Block) -> &[Edge] {
        self.preds.get(b)
    }

    /// The targets of the terminator of `b`, by edge number; repeated targets
    /// are repeated.
    pub fn succs(&self, b: Block) -> &[Block] {
        self.succs.get(b)
    }

    /// The block that `edge` leads to.
    ///
    /// # Panics
    /// If the graph has no such edge.
    pub fn target(&self, edge: Edge) -> Block {
        self.succs(edge.from)[edge.index as usize]
    }

    /// The edges out of `b`.
    pub fn edges_from(&self, from: Block) -> impl Iterator<Item = Edge> + use<> {
        (0..self.succs(from).len() as u32).map(move |index| Edge { from, index })
    }

    /// The reachable blocks in reverse postorder of a depth-first walk that
    /// takes edges by number; the entry comes first.
    pub fn rpo(&self) -> &[Block] {
        &self.rpo
    }

    /// The reachable blocks in a topological order of the edges that do not
    /// retreat in reverse postorder. Among the blocks that may come next the
    /// one does whose terminator has the lowest origin (a block without takes that
    /// of the block before it in layout; on a tie the first in layout), so of a
    /// reducible graph the order depends neither on the order of edges nor on the
    /// layout.
    pub fn topological(&self) -> Vec<Block> {
        let retreats = |from: Block, to: Block| self.rpo_index[to] <= self.rpo_index[from];
        let mut missing: SecondaryMap<Block, u32> = SecondaryMap::with_capacity(self.num_blocks);
        for &b in &self.rpo {
            let forward = self.preds(b).iter().filter(|e| !retreats(e.from, b));
            missing[b] = forward.count() as u32;
        }
        let mut ready: BinaryHeap<Reverse<(Option<u32>, Block)>> = BinaryHeap::new();
        ready.extend(self.entry.map(|b| Reverse((self.written_index[b], b))));
        let mut order = Vec::with_capacity(self.rpo.len());
        while let Some(Reverse((_, b))) = ready.pop() {
            order.push(b);
            for &to in self.succs(b).iter().filter(|&&to| !retreats(b, to)) {
                missing[to] -= 1;
                if missing[to] == 0 {
                    ready.push(Reverse((self.written_index[to], to)));
                }
            }
        }
        order
    }

    /// Position of `b` in [`rpo`](Self::rpo); `None` when unreachable.
    pub fn rpo_index(&self, b: Block) -> Option<u32> {
        self.rpo_index[b]
    }

    /// Position of `b` in the function's layout; `None` when not laid out.
    pub fn layout_index(&self, b: Block) -> Option<u32> {
        self.layout_index[b]
    }

    /// Whether some path from the entry leads to `b`.
    pub fn is_reachable(&self, b: Block) -> bool {
        self.rpo_index[b].is_some()
    }

    /// Whether the terminator of `b` leads to at least two different blocks:
    /// only such a branch can split a warp.
    pub fn branches(&self, b: Block) -> bool {
        let succs = self.succs(b);
        succs.iter().any(|s| *s != succs[0])
    }
}

/// One list per block, stored end to end.
#[derive(Clone, Debug)]
struct Lists<T> {
    start: Vec<u32>,
    items: Vec<T>,
}

impl<T: Copy> Lists<T> {
    /// Sorts what `all` gives, each with the number of its block; what is of one
    /// block stays in order.
    fn new<I: Iterator<Item = (u32, T)>>(num_blocks: usize, all: impl Fn() -> I) -> Self {
        let mut start = vec![0u32; num_blocks + 1];
        for (b, _) in all() {
            start[b as usize + 1] += 1;
        }
        for b in 0..num_blocks {
            start[b + 1] += start[b];
        }
        let mut items: Vec<T> = Vec::new();
        if let Some((_, first)) = all().next() {
            items.resize(start[num_blocks] as usize, first);
        }
        let mut next = start.clone();
        for (b, item) in all() {
            let slot = &mut next[b as usize];
            items[*slot as usize] = item;
            *slot += 1;
        }
        Self { start, items }
    }

    fn get(&self, b: Block) -> &[T] {
        let i = b.index();
        &self.items[self.start[i] as usize..self.start[i + 1] as usize]
    }
}
