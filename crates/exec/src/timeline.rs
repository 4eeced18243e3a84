//! The timeline: which lanes were active at each issue, in the order of
//! execution.
//!
//! Warps of one block take turns at barriers. The issues of a block pass are
//! recorded when the stretch up to the next guarded exit, or to the
//! terminator, begins, so the records of one warp are always in its order.

use warpfold_ir::Block;

use crate::launch::Mode;
use crate::outcome::Site;

/// One entry of a block by one group of lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pass {
    /// Warp of the launch: `block_linear * warps_per_block + warp`.
    pub warp: u64,
    /// The function, by its position in the module.
    pub function: usize,
    /// The block entered.
    pub block: Block,
    /// The lanes that enter.
    pub mask: u32,
    /// Entries on the stacks of all frames, the bases included; with independent
    /// thread scheduling, the convergence barriers that the lanes are inside of.
    pub depth: u32,
}

/// One issue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Issue {
    /// The pass it belongs to, an index into [`Timeline::passes`].
    pub pass: u32,
    /// What issued.
    pub site: Site,
    /// Active lanes.
    pub mask: u32,
    /// Active lanes whose guard holds.
    pub on: u32,
}

/// One entry of the reconvergence stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StackEntry {
    /// The function, by its position in the module.
    pub function: usize,
    /// Where its lanes go on.
    pub pc: Block,
    /// Where they join those of the entry below; `None` if nowhere.
    pub join: Option<Block>,
    /// Its lanes.
    pub mask: u32,
}

/// The record of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Timeline {
    /// How lanes were scheduled, which says what the depth of a pass is.
    pub mode: Mode,
    /// Block passes, in order.
    pub passes: Vec<Pass>,
    /// Issues, in order.
    pub issues: Vec<Issue>,
    /// The stacks of all frames when they were deepest for the first time,
    /// bottom first; stack mode only.
    pub deepest: Vec<StackEntry>,
}
