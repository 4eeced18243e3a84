//! What passes did to the branches of a function, so that a report can name
//! the fate of each, and which instructions they removed.

use warpfold_ir::{Inst, Origin};

/// A branch that canonicalisation turned into a guarded exit or trap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExitMade {
    /// The branch.
    pub origin: Origin,
    /// The instruction that took its place.
    pub inst: Inst,
    /// `exit` or `trap`.
    pub kind: &'static str,
}

/// The record of the passes that ran on one function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Log {
    /// Branches that went away, with the reason. A branch in code that became
    /// unreachable is listed as well.
    pub folded: Vec<(Origin, String)>,
    /// Branches that became guarded exits or traps.
    pub exits: Vec<ExitMade>,
    /// Instructions hoisted above a branch, with the branch.
    pub hoisted: Vec<(Inst, Origin)>,
}

impl Log {
    /// Records that the branch at `origin` went away; ignored for branches
    /// that have no CLIF counterpart.
    pub fn fold(&mut self, origin: Origin, why: impl Into<String>) {
        if !origin.is_none() {
            self.folded.push((origin, why.into()));
        }
    }
}
