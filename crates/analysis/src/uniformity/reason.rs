//! Why a value differs between the lanes of a warp.
//!
//! When the solver first finds a value to differ it notes one cause that had
//! already been found. Following the notes from cause to cause therefore ends,
//! at something that differs by nature.

use std::fmt;

use cranelift_entity::EntityRef;
use warpfold_ir::{Block, Opcode, Value};

use super::Uniformity;

/// The immediate cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// A parameter of the function that varies from lane to lane.
    Parameter(u32),
    /// An instruction that gives lanes different results by itself.
    Source(Opcode),
    /// A load that reads for each lane from its own local memory, or an
    /// address for which nothing better is known.
    Memory(Opcode),
    /// It is computed from a value that differs.
    Operand(Value),
    /// A block parameter where lanes meet that a branch separated.
    Join {
        /// The block whose terminator is that branch.
        branch: Block,
    },
    /// It is computed from, or passes on, a value that varies in a loop which
    /// lanes leave, or go round in, one by one.
    Temporal {
        /// The value, uniform where it is defined.
        value: Value,
        /// The first block of what is executed again.
        header: Block,
        /// The block whose terminator separates the lanes.
        branch: Block,
    },
    /// A block in which a branch lets only a part of the lanes come.
    Separated {
        /// The block whose terminator is that branch.
        branch: Block,
    },
    /// A block that lanes may have left the kernel before.
    Left {
        /// Where.
        at: Block,
    },
    /// A block that lanes may come to one after another, because they wait for
    /// each other before.
    Waited {
        /// In a loop that this block is in, or in what it calls.
        at: Block,
    },
    /// A block of a function that others call: lanes may be away from the
    /// start.
    Called,
    /// Nothing better was found within the analysis's budget.
    Budget,
    /// The value was made after the analysis, or is never computed.
    Unknown,
}

/// What a step of a [`Chain`] is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// A value.
    Value(Value),
    /// The branch at the end of a block.
    Branch(Block),
    /// The lanes that run a block.
    Block(Block),
}

/// One step from an effect to its cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// What differs, or separates lanes.
    pub subject: Subject,
    /// Why.
    pub reason: Reason,
}

/// The steps from a value or branch down to what differs by nature.
#[derive(Clone, Debug)]
pub struct Chain<'a> {
    uniformity: &'a Uniformity,
    next: Option<Step>,
}

impl<'a> Chain<'a> {
    pub(crate) fn new(uniformity: &'a Uniformity, first: Option<Step>) -> Self {
        Self {
            uniformity,
            next: first,
        }
    }
}

impl Iterator for Chain<'_> {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        let step = self.next.take()?;
        let of_branch = |b| {
            Some(Step {
                subject: Subject::Branch(b),
                reason: self.uniformity.branch_reason(b)?,
            })
        };
        self.next = match step.reason {
            Reason::Operand(v) => self.uniformity.reason(v).map(|reason| Step {
                subject: Subject::Value(v),
                reason,
            }),
            Reason::Join { branch }
            | Reason::Temporal { branch, .. }
            | Reason::Separated { branch } => of_branch(branch),
            Reason::Parameter(_)
            | Reason::Source(_)
            | Reason::Memory(_)
            | Reason::Left { .. }
            | Reason::Waited { .. }
            | Reason::Called
            | Reason::Budget
            | Reason::Unknown => None,
        };
        Some(step)
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(v) => write!(f, "v{}", v.index()),
            Self::Branch(b) => write!(f, "the branch of {b}"),
            Self::Block(b) => write!(f, "{b}"),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parameter(k) => write!(f, "is parameter {k}, declared varying"),
            Self::Source(op) => write!(f, "is {op}, which differs between lanes"),
            Self::Memory(op) => write!(f, "is {op} of memory of the lane's own"),
            Self::Operand(v) => write!(f, "depends on {v}"),
            Self::Join { branch } => {
                write!(f, "mixes what the branch of {branch} separated")
            }
            Self::Temporal {
                value,
                header,
                branch,
            } => write!(
                f,
                "depends on {value}, which varies in the loop at {header} that lanes leave \
                 one by one at {branch}"
            ),
            Self::Separated { branch } => {
                write!(f, "runs with lanes that the branch of {branch} separated")
            }
            Self::Waited { at } => {
                write!(f, "runs without lanes that may still wait in {at}")
            }
            Self::Left { at } => write!(f, "runs without lanes that may have left in {at}"),
            Self::Called => f.write_str("is in a function that part of a warp may call"),
            Self::Budget => f.write_str("was not followed further"),
            Self::Unknown => f.write_str("was not there when the analysis ran"),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.subject, self.reason)
    }
}

/// Steps of a [`Chain`] that its text names from the start; more are left out
/// up to the last.
const NAMED: usize = 16;
/// Steps that its text follows at all, so that the texts of all branches of a
/// long function together stay near-linear.
const FOLLOWED: usize = 256;

impl fmt::Display for Chain<'_> {
    /// The text of its [`Trail`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.trail().fmt(f)
    }
}

impl Chain<'_> {
    /// What its text says, to be kept without the analysis.
    pub fn trail(&self) -> Trail {
        let mut steps = self.clone();
        let named: Vec<Step> = steps.by_ref().take(NAMED).collect();
        let mut rest = steps.take(FOLLOWED - NAMED + 1);
        let mut end = End::Source;
        for left_out in 0.. {
            match rest.next() {
                Some(_) if left_out == FOLLOWED - NAMED => end = End::Further,
                Some(step) => end = End::At { left_out, step },
                None => break,
            }
        }
        Trail { named, end }
    }
}

/// A [`Chain`] as far as its text goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trail {
    named: Vec<Step>,
    end: End,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    /// The last step is named.
    Source,
    /// So many steps are left out up to this one, which is the last.
    At { left_out: usize, step: Step },
    /// It was not followed to the end.
    Further,
}

impl fmt::Display for Trail {
    /// The steps, separated by `; `. Of a very long chain the first ones and
    /// the last.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.named.iter().enumerate() {
            write!(f, "{}{step}", if i > 0 { "; " } else { "" })?;
        }
        match self.end {
            End::Source => Ok(()),
            End::At { left_out: 0, step } => write!(f, "; {step}"),
            End::At { left_out, step } => write!(f, "; ({left_out} steps left out); {step}"),
            End::Further => f.write_str("; and so on"),
        }
    }
}
