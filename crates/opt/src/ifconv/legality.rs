//! What forbids a region to become straight-line code.
//!
//! Legality is about meaning, never about cost: no knob overrides it.

use std::fmt;

use warpfold_ir::{Block, Function, Inst, print};

use crate::safety::Unsafe;

/// How many regions deep straight code may span.
pub const MAX_DEPTH: u32 = warpfold_analysis::MAX_STRAIGHT_HEIGHT;

/// How many edges may leave the tests of one region, those of nested regions
/// not counted. It bounds the work on guards.
pub const MAX_EDGES: usize = 64;

/// Why a region cannot become straight-line code in some form, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Blocker {
    /// A barrier, warp synchronisation or fence inside.
    Sync {
        /// The instruction.
        inst: Inst,
    },
    /// A call inside: its lanes would no longer be those that run the callee
    /// together.
    Call {
        /// The instruction.
        inst: Inst,
    },
    /// A path inside returns values, or what a tail call gives. (Without values it becomes a guarded exit,
    /// except where all must be bare.)
    EarlyEnd {
        /// The block that ends there.
        block: Block,
    },
    /// An instruction that depends on which lanes execute it together, where
    /// lanes arrive on several ways: they pass one way after the other, and
    /// in straight code at once.
    Convergent {
        /// The instruction.
        inst: Inst,
    },
    /// More than [`MAX_EDGES`] edges leave the tests of one region.
    Edges {
        /// The block whose test has one too many.
        block: Block,
    },
    /// More than [`MAX_DEPTH`] regions deep.
    Depth {
        /// The head of the region that is too deep.
        block: Block,
    },
    /// A branch inside that its author keeps.
    Keep {
        /// The block that it ends.
        block: Block,
    },
    /// An instruction that is not safe to speculate, where all must be bare.
    Unsafe {
        /// The instruction.
        inst: Inst,
        /// Why it is not safe.
        why: Unsafe,
    },
    /// A branch that a rewrite made or settled.
    Decided {
        /// The block that it ends.
        block: Block,
    },
}

/// Each rule's name and meaning, in the order of [`Blocker`].
pub const RULES: [(&str, &str); 9] = [
    ("sync", "A barrier, warp synchronisation or fence inside."),
    ("call", "A call inside."),
    (
        "early end",
        "A path inside returns values, returns in a function with calls, or ends in a tail call; under `--force select` any that returns or traps.",
    ),
    (
        "cross-lane",
        "A vote, ballot or shuffle where lanes arrive on several ways, and so at several times.",
    ),
    (
        "edges",
        "More than 64 edges leave the branches and switches that decide together.",
    ),
    ("depth", "More than 8 regions deep."),
    ("keep", "A branch inside whose author keeps it by a hint."),
    (
        "unsafe",
        "An instruction that is not safe to speculate, under `--force select`.",
    ),
    ("decided", "A branch that a rewrite has made or settled."),
];

impl Blocker {
    /// The name of the rule.
    pub const fn name(self) -> &'static str {
        let rule = match self {
            Self::Sync { .. } => 0,
            Self::Call { .. } => 1,
            Self::EarlyEnd { .. } => 2,
            Self::Convergent { .. } => 3,
            Self::Edges { .. } => 4,
            Self::Depth { .. } => 5,
            Self::Keep { .. } => 6,
            Self::Unsafe { .. } => 7,
            Self::Decided { .. } => 8,
        };
        RULES[rule].0
    }

    /// One sentence that names the instruction or block of `func`, the
    /// canonical function.
    pub fn describe(self, func: &Function) -> String {
        match self {
            Self::Sync { inst } => {
                format!("`{}` synchronises", print::inst_text(func, inst))
            }
            Self::Call { inst } => format!("`{}` is a call", print::inst_text(func, inst)),
            Self::EarlyEnd { block } => {
                format!("`{}` in {block} ends a path", print::term_text(func, block))
            }
            Self::Convergent { inst } => format!(
                "`{}` depends on which lanes execute it together, and they arrive on several ways",
                print::inst_text(func, inst)
            ),
            Self::Edges { block } => {
                format!("with {block} more than {MAX_EDGES} edges decide together")
            }
            Self::Depth { block } => {
                format!("{block} heads a region more than {MAX_DEPTH} deep")
            }
            Self::Keep { block } => format!("the branch of {block} is kept by a hint"),
            Self::Unsafe { inst, why } => {
                format!("`{}` {why}", print::inst_text(func, inst))
            }
            Self::Decided { block } => format!("the branch of {block} is settled"),
        }
    }
}

impl fmt::Display for Blocker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
