//! Dominators and post-dominators of a function's blocks.
//!
//! Both come from the one algorithm in [`warpfold_ir::dominators`]. For
//! post-dominators the edges are turned round and a virtual exit is the root:
//! every return and trap leads to it. A loop that never leaves gets a virtual
//! node before its header: its back edges lead there, and from there an edge to
//! the virtual exit (see [`Ends`](crate::Ends)). So every reachable block has a path to
//! the virtual exit, and post-dominance is defined everywhere.
//!
//! Unreachable blocks dominate nothing but themselves and have no immediate
//! dominator.

use cranelift_entity::EntityRef;
use warpfold_ir::Block;
use warpfold_ir::dominators::{Dominators, Graph};

use crate::cfg::Cfg;
use crate::loops::{LoopId, Loops};

/// A dominator or post-dominator tree.
#[derive(Clone, Debug)]
pub struct DomTree {
    num_blocks: usize,
    tree: Dominators,
}

/// What the parent of a block in a post-dominator tree is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Parent {
    Block(Block),
    /// The virtual node of a loop that never leaves.
    Loop(LoopId),
    /// The virtual exit, or nothing (unreachable blocks).
    Exit,
}

impl DomTree {
    /// The dominator tree, rooted at the entry.
    pub fn dominators(cfg: &Cfg) -> Self {
        let n = cfg.num_blocks();
        if cfg.rpo().is_empty() {
            return Self::empty(n);
        }
        let mut edges = Vec::new();
        for &b in cfg.rpo() {
            edges.extend(cfg.succs(b).iter().map(|s| (b.as_u32(), s.as_u32())));
        }
        Self {
            num_blocks: n,
            tree: Dominators::new(&Graph::new(n, &edges), cfg.entry().as_u32()),
        }
    }

    /// The post-dominator tree, rooted at the virtual exit. Where the
    /// immediate post-dominator is a virtual node, [`idom`](Self::idom) says
    /// `None`.
    pub fn post_dominators(cfg: &Cfg) -> Self {
        Self::post_dominators_of_rest(cfg, &Loops::new(cfg), |_, _| true)
    }

    /// The post-dominator tree of what is left of the graph when only the
    /// edges stay that `keep` says; every reachable block must still reach an
    /// end. Nodes: blocks, then one per loop, then the exit.
    pub(crate) fn post_dominators_of_rest(
        cfg: &Cfg,
        loops: &Loops,
        keep: impl Fn(Block, Block) -> bool,
    ) -> Self {
        let n = cfg.num_blocks();
        let exit = (n + loops.len()) as u32;
        let virtual_node = |l: LoopId| n as u32 + l.as_u32();
        let mut edges = Vec::new();
        for &b in cfg.rpo() {
            let succs = cfg.succs(b);
            if succs.is_empty() {
                edges.push((exit, b.as_u32()));
            }
            for &to in succs.iter().filter(|&&to| keep(b, to)) {
                let to = match loops.endless_round(b, to) {
                    Some(l) => virtual_node(l),
                    None => to.as_u32(),
                };
                edges.push((to, b.as_u32()));
            }
        }
        let endless = loops.ids().filter(|&l| loops.is_endless(l));
        edges.extend(endless.map(|l| (exit, virtual_node(l))));
        Self {
            num_blocks: n,
            tree: Dominators::new(&Graph::new(exit as usize + 1, &edges), exit),
        }
    }

    fn empty(num_blocks: usize) -> Self {
        Self {
            num_blocks,
            tree: Dominators::new(&Graph::new(num_blocks + 1, &[]), num_blocks as u32),
        }
    }

    /// The immediate (post-)dominator of `b`: the nearest block other than
    /// `b` on every path from the entry to `b` (from `b` to the exit). `None`
    /// for the root, for unreachable blocks, and where it is no block but a
    /// virtual node.
    pub fn idom(&self, b: Block) -> Option<Block> {
        match self.tree.idom(b.as_u32()) {
            Some(d) if (d as usize) < self.num_blocks => Some(Block::from_u32(d)),
            _ => None,
        }
    }

    /// The same with the virtual nodes of a graph with these loops told apart.
    pub(crate) fn parent(&self, b: Block, loops: &Loops) -> Parent {
        match self.tree.idom(b.as_u32()).map(|d| d as usize) {
            Some(d) if d < self.num_blocks => Parent::Block(Block::new(d)),
            Some(d) if d < self.num_blocks + loops.len() => {
                Parent::Loop(LoopId::new(d - self.num_blocks))
            }
            _ => Parent::Exit,
        }
    }

    /// Whether every path from the entry to `b` (from `b` to the exit) passes
    /// `a`. Blocks dominate themselves.
    pub fn dominates(&self, a: Block, b: Block) -> bool {
        self.tree.dominates(a.as_u32(), b.as_u32())
    }

    /// Whether the tree has `b`: the entry reaches it.
    pub fn contains(&self, b: Block) -> bool {
        self.tree.is_reachable(b.as_u32())
    }
}
