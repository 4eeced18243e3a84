//! Where lanes end: returns, traps, and loops that never leave; their ranks,
//! and each block's *home*.
//!
//! An end is ranked by kind (see [`EndKind`]), within a kind the later in
//! layout first. A block's home is the first-ranked end it can reach, so every
//! block has one. A *loop that never leaves* is an outermost loop without an
//! edge out of it; its end is a virtual node before its header, to which its
//! back edges lead instead. Its place in layout is its header's.
//!
//! `exit if` and `trap if` end no block and are no ends. A tail call is a return.
//! What a callee does is not looked at: a barrier in it ranks no return.

use std::cmp::Reverse;

use cranelift_entity::SecondaryMap;
use warpfold_ir::{Block, Function, Opcode, Terminator};

use crate::cfg::Cfg;
use crate::loops::Loops;

/// What kind of end it is; the order is the order of ranks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum EndKind {
    /// A return that some block barrier can reach.
    ReturnAfterBarrier,
    /// Any other return.
    Return,
    /// A trap.
    Trap,
    /// A loop that never leaves.
    Loop,
}

/// One end of a function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct End {
    /// Its kind.
    pub kind: EndKind,
    /// The block that returns or traps; the header of a loop.
    pub block: Block,
}

/// The ends of a function in order of rank, and the homes of its blocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ends {
    ends: Vec<End>,
    home: SecondaryMap<Block, Option<u32>>,
}

impl Ends {
    /// Finds and ranks the ends of the reachable blocks. Linear.
    pub fn new(func: &Function, cfg: &Cfg, loops: &Loops) -> Self {
        let after_barrier = after_barrier(func, cfg);
        let mut ends: Vec<End> = Vec::new();
        for &block in cfg.rpo() {
            let kind = match func.block(block).term {
                Some(Terminator::Ret(_) | Terminator::TailCall(_)) if after_barrier[block] => {
                    EndKind::ReturnAfterBarrier
                }
                Some(Terminator::Ret(_) | Terminator::TailCall(_)) => EndKind::Return,
                Some(Terminator::Trap(_)) => EndKind::Trap,
                _ => match loops.headed_by(block) {
                    Some(l) if loops.is_endless(l) => EndKind::Loop,
                    _ => continue,
                },
            };
            ends.push(End { kind, block });
        }
        ends.sort_unstable_by_key(|e| (e.kind, Reverse(cfg.layout_index(e.block))));
        let mut home = SecondaryMap::with_capacity(cfg.num_blocks());
        for (i, end) in ends.iter().enumerate() {
            settle(cfg, end.block, i as u32, &mut home);
        }
        Self { ends, home }
    }

    /// The ends, first-ranked first.
    pub fn ranked(&self) -> &[End] {
        &self.ends
    }

    /// The home of `b` as a position in [`ranked`](Self::ranked); `None` for
    /// unreachable blocks only.
    pub fn home(&self, b: Block) -> Option<usize> {
        self.home[b].map(|i| i as usize)
    }
}

/// Gives the home `end` to every block without one that reaches `block`.
fn settle(cfg: &Cfg, block: Block, end: u32, home: &mut SecondaryMap<Block, Option<u32>>) {
    let mut work = vec![block];
    while let Some(b) = work.pop() {
        if home[b].is_none() {
            home[b] = Some(end);
            work.extend(cfg.preds(b).iter().map(|e| e.from));
        }
    }
}

/// The blocks in which or before which, on some path, a barrier stands.
fn after_barrier(func: &Function, cfg: &Cfg) -> SecondaryMap<Block, bool> {
    let mut after = SecondaryMap::with_capacity(cfg.num_blocks());
    let has_barrier = |b: &Block| {
        let mut insts = func.block(*b).insts.iter();
        insts.any(|&i| func.inst(i).op == Opcode::Barrier)
    };
    let mut work: Vec<Block> = cfg.rpo().iter().copied().filter(has_barrier).collect();
    while let Some(b) = work.pop() {
        if !std::mem::replace(&mut after[b], true) {
            work.extend_from_slice(cfg.succs(b));
        }
    }
    after
}
