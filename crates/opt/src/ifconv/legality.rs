//! What forbids a region to become straight-line code.
//!
//! Legality is about meaning, never about cost: no knob overrides it.

use std::fmt;

use warpfold_ir::{Block, Function, Inst, print};

use crate::safety::Unsafe;

/// How many regions deep straight code may span.
pub const MAX_DEPTH: u32 = warpfold_analysis::MAX_STRAIGHT_HEIGHT;

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
    /// A switch inside or at the head.
    Switch {
        /// The block that ends with it.
        block: Block,
    },
    /// A block that is entered from several places of the region, so that the
    /// region is no nest of triangles and diamonds.
    Shape {
        /// The block.
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
}

/// Each rule's name and meaning, in the order of [`Blocker`].
pub const RULES: [(&str, &str); 8] = [
    ("sync", "A barrier, warp synchronisation or fence inside."),
    ("call", "A call inside."),
    (
        "early end",
        "A path inside returns values, returns in a function with calls, or ends in a tail call; under `--force select` any that returns or traps.",
    ),
    ("switch", "A switch inside or at the head."),
    (
        "shape",
        "A block that is entered from several places of the region.",
    ),
    ("depth", "More than 8 regions deep."),
    ("keep", "A branch inside whose author keeps it by a hint."),
    (
        "unsafe",
        "An instruction that is not safe to speculate, under `--force select`.",
    ),
];

impl Blocker {
    /// The name of the rule.
    pub const fn name(self) -> &'static str {
        let rule = match self {
            Self::Sync { .. } => 0,
            Self::Call { .. } => 1,
            Self::EarlyEnd { .. } => 2,
            Self::Switch { .. } => 3,
            Self::Shape { .. } => 4,
            Self::Depth { .. } => 5,
            Self::Keep { .. } => 6,
            Self::Unsafe { .. } => 7,
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
            Self::Switch { block } => format!("{block} ends with a switch"),
            Self::Shape { block } => format!("{block} is entered from several places"),
            Self::Depth { block } => {
                format!("{block} heads a region more than {MAX_DEPTH} deep")
            }
            Self::Keep { block } => format!("the branch of {block} is kept by a hint"),
            Self::Unsafe { inst, why } => {
                format!("`{}` {why}", print::inst_text(func, inst))
            }
        }
    }
}

impl fmt::Display for Blocker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
