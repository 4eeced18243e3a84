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

/// A call on the way to inlined code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallStep {
    /// The name of the function called.
    pub callee: String,
    /// Where the call stands, in the function that made it.
    pub site: Origin,
}

/// A branch that came in with a callee.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inlined {
    /// Its own origin, which no other branch has. The line is that of the
    /// callee's text.
    pub origin: Origin,
    /// The branch of the callee that it is a copy of.
    pub source: Origin,
    /// `br` or `switch`.
    pub opcode: &'static str,
    /// The calls that led to it, the outermost first; the last one's callee is
    /// the function that has the source.
    pub path: Vec<CallStep>,
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
    /// Branches of inlined functions, in the order of inlining.
    pub inlined: Vec<Inlined>,
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
