//! The loop forest, reducible loops and others.
//!
//! A loop is a strongly connected set of blocks. The outermost loops are the
//! maximal such sets; a loop's header is its block that a depth-first walk
//! from the entry comes to first, and the loops inside it are the maximal
//! strongly connected sets that are left when the edges to its header are
//! taken away. This is Havlak's forest ("Nesting of Reducible and Irreducible
//! Loops", 1997), found the way LLVM finds its cycles: headers by decreasing
//! preorder number, each collecting its body backwards and swallowing loops
//! already found whole.
//!
//! A loop with several *entries* (blocks that an edge from outside leads to)
//! is irreducible; then the choice of header depends on edge order, the set of
//! blocks of an outermost loop does not.
//!
//! *Back edges* lead from inside a loop to its header. Without them the graph
//! has no cycle. They are the edges that retreat in reverse postorder.
//!
//! Unreachable blocks are in no loop. The walk is near-linear, except that an
//! entry of an irreducible loop is looked at again for every loop around it
//! that it is an entry of as well.

use cranelift_entity::{PrimaryMap, SecondaryMap, entity_impl};
use warpfold_ir::Block;

use crate::cfg::{Cfg, Edge};

/// A loop of a [`Loops`] forest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LoopId(u32);
entity_impl!(LoopId, "loop");

#[derive(Clone, Debug)]
struct LoopData {
    parent: Option<LoopId>,
    depth: u32,
    endless: bool,
    /// The header, then the other entries in reverse postorder.
    entries: Vec<Block>,
    back_edges: Vec<Edge>,
    /// Its blocks' positions in `Loops::order`.
    start: u32,
    end: u32,
}

/// The loop forest of a function.
#[derive(Clone, Debug, Default)]
pub struct Loops {
    loops: PrimaryMap<LoopId, LoopData>,
    innermost: SecondaryMap<Block, Option<LoopId>>,
    headed: SecondaryMap<Block, Option<LoopId>>,
    is_entry: SecondaryMap<Block, bool>,
    /// The blocks in loops, every loop's together.
    order: Vec<Block>,
    place: SecondaryMap<Block, u32>,
}

impl Loops {
    /// Finds the loops.
    pub fn new(cfg: &Cfg) -> Self {
        let mut found = Finder::new(cfg).find(cfg);
        // Headers in reverse postorder: outer loops come before inner ones.
        let mut by_header: Vec<usize> = (0..found.loops.len()).collect();
        by_header.sort_unstable_by_key(|&i| cfg.rpo_index(found.loops[i].entries[0]));
        let mut new_id = vec![LoopId(0); by_header.len()];
        for (new, &old) in by_header.iter().enumerate() {
            new_id[old] = LoopId(new as u32);
        }
        let mut this = Self {
            loops: PrimaryMap::with_capacity(by_header.len()),
            innermost: SecondaryMap::with_capacity(cfg.num_blocks()),
            headed: SecondaryMap::with_capacity(cfg.num_blocks()),
            is_entry: SecondaryMap::with_capacity(cfg.num_blocks()),
            order: Vec::new(),
            place: SecondaryMap::with_capacity(cfg.num_blocks()),
        };
        for &old in &by_header {
            let mut entries = std::mem::take(&mut found.loops[old].entries);
            entries.sort_unstable_by_key(|&b| cfg.rpo_index(b));
            let parent = found.loops[old].parent.map(|p| new_id[p as usize]);
            let depth = parent.map_or(0, |p| this.loops[p].depth) + 1;
            for &b in &entries {
                this.is_entry[b] = true;
            }
            let back_edges = std::mem::take(&mut found.loops[old].back_edges);
            this.headed[entries[0]] = Some(this.loops.next_key());
            this.loops.push(LoopData {
                parent,
                depth,
                endless: false,
                entries,
                back_edges,
                start: 0,
                end: 0,
            });
        }
        for &b in cfg.rpo() {
            this.innermost[b] = found.innermost[b].map(|l| new_id[l as usize]);
        }
        this.lay_out(cfg);
        for l in this.loops.keys() {
            let outermost = this.loops[l].parent.is_none();
            this.loops[l].endless = outermost && this.exits(cfg, l).next().is_none();
        }
        this
    }

    /// Orders the blocks so that every loop's are a range: loops in preorder
    /// of the forest, of each first the blocks of its own.
    fn lay_out(&mut self, cfg: &Cfg) {
        let n = self.loops.len();
        // Sizes with inner loops; inner loops have the higher numbers.
        let mut own = vec![0u32; n];
        for &b in cfg.rpo() {
            if let Some(l) = self.innermost[b] {
                own[l.0 as usize] += 1;
            }
        }
        let mut size = own.clone();
        for l in (0..n).rev() {
            if let Some(p) = self.loops[LoopId(l as u32)].parent {
                size[p.0 as usize] += size[l];
            }
        }
        // Where in its range a loop's next inner loop starts.
        let mut next = vec![0u32; n];
        let mut top = 0;
        for l in 0..n {
            let data = &mut self.loops[LoopId(l as u32)];
            let slot = match data.parent {
                Some(p) => &mut next[p.0 as usize],
                None => &mut top,
            };
            data.start = *slot;
            data.end = data.start + size[l];
            *slot = data.end;
            next[l] = data.start + own[l];
        }
        let mut fill: Vec<u32> = self.loops.values().map(|l| l.start).collect();
        self.order = vec![Block::from_u32(0); top as usize];
        for &b in cfg.rpo() {
            if let Some(l) = self.innermost[b] {
                let at = &mut fill[l.0 as usize];
                self.order[*at as usize] = b;
                self.place[b] = *at;
                *at += 1;
            }
        }
    }

    /// Number of loops.
    pub fn len(&self) -> usize {
        self.loops.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.loops.is_empty()
    }

    /// The loops in reverse postorder of their headers: outer before inner.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = LoopId> + use<> {
        self.loops.keys()
    }

    /// The innermost loop that `b` is in.
    pub fn loop_of(&self, b: Block) -> Option<LoopId> {
        self.innermost[b]
    }

    /// How many loops `b` is in.
    pub fn block_depth(&self, b: Block) -> u32 {
        self.loop_of(b).map_or(0, |l| self.depth(l))
    }

    /// The loop whose header `b` is.
    pub fn headed_by(&self, b: Block) -> Option<LoopId> {
        self.headed[b]
    }

    /// Whether an edge from outside some loop, or the start of the function,
    /// leads into that loop at `b`.
    pub fn is_entry(&self, b: Block) -> bool {
        self.is_entry[b]
    }

    /// The header of `l`.
    pub fn header(&self, l: LoopId) -> Block {
        self.loops[l].entries[0]
    }

    /// The entries of `l`: the header, then the others in reverse postorder.
    pub fn entries(&self, l: LoopId) -> &[Block] {
        &self.loops[l].entries
    }

    /// Whether `l` has an entry beside its header.
    pub fn is_irreducible(&self, l: LoopId) -> bool {
        self.entries(l).len() > 1
    }

    /// The innermost loop around `l`.
    pub fn parent(&self, l: LoopId) -> Option<LoopId> {
        self.loops[l].parent
    }

    /// How deep `l` is nested; outermost loops have depth 1.
    pub fn depth(&self, l: LoopId) -> u32 {
        self.loops[l].depth
    }

    /// The blocks of `l`, inner loops included. The header comes first; the
    /// blocks in no inner loop precede the others.
    pub fn blocks(&self, l: LoopId) -> &[Block] {
        let data = &self.loops[l];
        &self.order[data.start as usize..data.end as usize]
    }

    /// Whether `b` is in `l`, perhaps in a loop inside it.
    pub fn contains(&self, l: LoopId, b: Block) -> bool {
        let data = &self.loops[l];
        self.innermost[b].is_some() && (data.start..data.end).contains(&self.place[b])
    }

    /// The edges that leave `l`, in the order of [`blocks`](Self::blocks).
    /// Takes time proportional to the loop's size.
    pub fn exits<'a>(&'a self, cfg: &'a Cfg, l: LoopId) -> impl Iterator<Item = Edge> + 'a {
        let edges = self.blocks(l).iter().flat_map(|&b| cfg.edges_from(b));
        edges.filter(move |&e| !self.contains(l, cfg.target(e)))
    }

    /// Whether no edge leaves `l`: lanes that enter never reach a return or
    /// trap.
    pub fn is_endless(&self, l: LoopId) -> bool {
        self.loops[l].endless
    }

    /// The loop that never leaves of which `from → to` is a back edge.
    pub(crate) fn endless_round(&self, from: Block, to: Block) -> Option<LoopId> {
        self.headed_by(to)
            .filter(|&l| self.is_endless(l) && self.contains(l, from))
    }

    /// The edges from inside `l` to its header, in layout order.
    pub fn back_edges(&self, l: LoopId) -> &[Edge] {
        &self.loops[l].back_edges
    }

    /// Whether `edge` is a back edge of some loop.
    pub fn is_back_edge(&self, cfg: &Cfg, edge: Edge) -> bool {
        let header = self.headed[cfg.target(edge)];
        header.is_some_and(|l| self.contains(l, edge.from))
    }
}

/// Loops in the order they are found, by plain numbers.
struct Finder {
    loops: Vec<Found>,
    innermost: SecondaryMap<Block, Option<u32>>,
    /// Preorder number and last descendant's in the depth-first walk.
    pre: SecondaryMap<Block, u32>,
    last: SecondaryMap<Block, u32>,
    preorder: Vec<Block>,
}

struct Found {
    parent: Option<u32>,
    /// Some loop around it, for a shortcut to the outermost one.
    around: Option<u32>,
    entries: Vec<Block>,
    back_edges: Vec<Edge>,
}

impl Finder {
    fn new(cfg: &Cfg) -> Self {
        let mut this = Self {
            loops: Vec::new(),
            innermost: SecondaryMap::with_capacity(cfg.num_blocks()),
            pre: SecondaryMap::with_default(u32::MAX),
            last: SecondaryMap::with_capacity(cfg.num_blocks()),
            preorder: Vec::with_capacity(cfg.rpo().len()),
        };
        let mut walk = Vec::new();
        if let Some(&entry) = cfg.rpo().first() {
            this.enter(entry, &mut walk);
        }
        while let Some((b, edge)) = walk.last_mut() {
            match cfg.succs(*b).get(*edge) {
                Some(&to) => {
                    *edge += 1;
                    if this.pre[to] == u32::MAX {
                        this.enter(to, &mut walk);
                    }
                }
                None => {
                    this.last[*b] = this.preorder.len() as u32 - 1;
                    walk.pop();
                }
            }
        }
        this
    }

    fn enter(&mut self, b: Block, walk: &mut Vec<(Block, usize)>) {
        self.pre[b] = self.preorder.len() as u32;
        self.preorder.push(b);
        walk.push((b, 0));
    }

    fn is_ancestor(&self, a: Block, b: Block) -> bool {
        self.pre[a] <= self.pre[b] && self.pre[b] <= self.last[a]
    }

    fn find(mut self, cfg: &Cfg) -> Self {
        for i in (0..self.preorder.len()).rev() {
            let header = self.preorder[i];
            let back_edges: Vec<Edge> = cfg
                .preds(header)
                .iter()
                .copied()
                .filter(|e| self.is_ancestor(header, e.from))
                .collect();
            if !back_edges.is_empty() {
                self.collect(cfg, header, back_edges);
            }
        }
        self
    }

    /// Makes the loop of `header`: what reaches the back edges backwards
    /// without leaving the header's part of the depth-first tree.
    fn collect(&mut self, cfg: &Cfg, header: Block, back_edges: Vec<Edge>) {
        let this = self.loops.len() as u32;
        let mut work: Vec<Block> = back_edges.iter().map(|e| e.from).collect();
        self.loops.push(Found {
            parent: None,
            around: None,
            entries: vec![header],
            back_edges,
        });
        let swallowed = self.outermost(header);
        debug_assert!(swallowed.is_none(), "inner loops have later headers");
        self.innermost[header] = Some(this);
        while let Some(b) = work.pop() {
            match self.outermost(b) {
                Some(l) if l == this => {}
                Some(l) => {
                    self.loops[l as usize].parent = Some(this);
                    self.loops[l as usize].around = Some(this);
                    for k in 0..self.loops[l as usize].entries.len() {
                        let entry = self.loops[l as usize].entries[k];
                        self.extend(cfg, header, entry, &mut work);
                    }
                }
                None => {
                    self.innermost[b] = Some(this);
                    self.extend(cfg, header, b, &mut work);
                }
            }
        }
    }

    /// Looks at what precedes `b`, which is in the loop of `header`.
    fn extend(&mut self, cfg: &Cfg, header: Block, b: Block, work: &mut Vec<Block>) {
        let mut from_outside = false;
        for e in cfg.preds(b) {
            if self.is_ancestor(header, e.from) {
                work.push(e.from);
            } else {
                from_outside = true;
            }
        }
        if from_outside {
            let found = self.loops.last_mut();
            found.expect("a loop is being built").entries.push(b);
        }
    }

    /// The outermost loop found so far that `b` is in.
    fn outermost(&mut self, b: Block) -> Option<u32> {
        let mut l = self.innermost[b]?;
        while let Some(up) = self.loops[l as usize].around {
            // Path halving.
            let far = self.loops[up as usize].around.unwrap_or(up);
            self.loops[l as usize].around = Some(far);
            l = far;
        }
        Some(l)
    }
}
