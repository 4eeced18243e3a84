//! The names of things inside a function: dense indices into its arenas.

use cranelift_entity::entity_impl;

/// An SSA value: a block parameter or an instruction's result.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(u32);
entity_impl!(Value, "v");

/// An instruction that is no terminator.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Inst(u32);
entity_impl!(Inst, "inst");

/// A basic block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Block(u32);
entity_impl!(Block, "block");

/// A piece of local (per-lane) memory that the function declares.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(u32);
entity_impl!(Slot, "ss");

/// A function that the function declares to call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FuncRef(u32);
entity_impl!(FuncRef, "fn");

/// A signature that the function declares for indirect calls.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SigRef(u32);
entity_impl!(SigRef, "sig");

/// Where in the CLIF input an instruction or branch came from.
///
/// Printed as ` @inst:line`. Rewrites hand it on, so that a count taken on
/// converted code still names the branch the user wrote.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Origin {
    /// The CLIF instruction number.
    pub inst: u32,
    /// The 1-based line in the CLIF text, or 0 when there was no text.
    pub line: u32,
}

impl Origin {
    /// No CLIF counterpart: made by a pass, or built by hand.
    pub const NONE: Self = Self {
        inst: u32::MAX,
        line: 0,
    };

    /// The origin with CLIF instruction number `inst` on `line` (0 for none).
    pub const fn new(inst: u32, line: u32) -> Self {
        Self { inst, line }
    }

    /// Whether this is [`Origin::NONE`].
    pub fn is_none(self) -> bool {
        self == Self::NONE
    }
}

impl Default for Origin {
    fn default() -> Self {
        Self::NONE
    }
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_none() {
            f.write_str("-")
        } else {
            write!(f, "{}:{}", self.inst, self.line)
        }
    }
}
