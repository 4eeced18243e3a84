//! What a check found.

use std::fmt;

use warpfold_ir::{Block, Origin, Value};

use crate::outcome::Site;

/// Where in a launch something was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Where {
    /// The instruction or terminator.
    pub site: Site,
    /// Where it came from in the source.
    pub origin: Origin,
    /// Its function, by its position in the module.
    pub function: usize,
    /// Linear block number in the grid.
    pub grid_block: u64,
    /// Warp in the block.
    pub warp: u32,
    /// The lanes concerned.
    pub lanes: u32,
}

impl fmt::Display for Where {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ({}), block {}, warp {}, lanes {:#010x}",
            self.site, self.origin, self.grid_block, self.warp, self.lanes
        )
    }
}

/// What poison was used as.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PoisonUse {
    /// A guard.
    Guard,
    /// The condition of a branch, or the index of a switch.
    Condition,
    /// The address of a memory access or of a callee.
    Address,
    /// A value that is stored.
    Stored,
    /// A value that is returned.
    Returned,
    /// An operand that other lanes see.
    CrossLane,
    /// An operand of an instruction that trapped by it.
    Trapping,
}

impl fmt::Display for PoisonUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Guard => "a guard",
            Self::Condition => "a condition",
            Self::Address => "an address",
            Self::Stored => "a stored value",
            Self::Returned => "a returned value",
            Self::CrossLane => "a cross-lane operand",
            Self::Trapping => "an operand that makes a lane trap",
        })
    }
}

/// How an access takes part in a race.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RacingKind {
    /// A load.
    Read,
    /// A store.
    Write,
    /// An atomic load.
    AtomicRead,
    /// An atomic store or update.
    AtomicWrite,
}

impl fmt::Display for RacingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "load",
            Self::Write => "store",
            Self::AtomicRead => "atomic load",
            Self::AtomicWrite => "atomic update",
        })
    }
}

/// One of two accesses that race.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RacingAccess {
    /// Where; with its one lane.
    pub at: Where,
    /// Thread of the grid.
    pub thread: u64,
    /// What it does.
    pub kind: RacingKind,
}

impl fmt::Display for RacingAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of thread {} at {}", self.kind, self.thread, self.at)
    }
}

/// The first thing that a check found wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CheckError {
    /// The lanes are not as claimed.
    Claim {
        /// Where.
        at: Where,
        /// The value, of a claim about one.
        value: Option<Value>,
        /// The block that the claim is about.
        block: Block,
        /// What is claimed.
        claim: String,
        /// What is the case, with lanes and values.
        found: String,
    },
    /// Poison is used as it must not be.
    Poison {
        /// Where; with the lanes that hold poison.
        at: Where,
        /// The value.
        value: Value,
        /// What it is used as.
        used: PoisonUse,
        /// What made the poison of the first of these lanes: a guarded
        /// instruction without `else`, or a poison constant.
        made: Option<(Site, Origin)>,
    },
    /// Two accesses to one byte, of different threads, that nothing orders.
    Race {
        /// The byte.
        address: u64,
        /// The one that came first in this run.
        first: RacingAccess,
        /// The other one.
        second: RacingAccess,
    },
}

impl CheckError {
    /// Where it was found; of a race, the second access.
    pub fn at(&self) -> &Where {
        match self {
            Self::Claim { at, .. } | Self::Poison { at, .. } => at,
            Self::Race { second, .. } => &second.at,
        }
    }
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Claim {
                at,
                value,
                block,
                claim,
                found,
            } => {
                write!(f, "false claim at {at}: ")?;
                if let Some(value) = value {
                    write!(f, "{value} in ")?;
                }
                write!(f, "{block} is `{claim}`; {found}")
            }
            Self::Poison {
                at,
                value,
                used,
                made,
            } => {
                write!(f, "poison at {at}: {value} is used as {used}")?;
                match made {
                    Some((site, origin)) => write!(f, "; the poison is from {site} ({origin})"),
                    None => Ok(()),
                }
            }
            Self::Race {
                address,
                first,
                second,
            } => write!(f, "race at address {address:#x}: {first}; {second}"),
        }
    }
}

impl std::error::Error for CheckError {}
