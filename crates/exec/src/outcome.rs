//! What a run leaves: results, memory, traps, counters and records.

use std::fmt;

use warpfold_analysis::Profile;
use warpfold_ir::{Block, Inst, Origin, TrapCode};

use crate::check::Checked;
use crate::counters::{BlockCounters, BranchCounters, Counters, WarpCounters};
use crate::error::describe;
use crate::events::Event;
use crate::memory::Memory;
use crate::timeline::Timeline;
use crate::timing::Timing;

/// A place where something issues.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Site {
    /// An instruction.
    Inst(Inst),
    /// A block's terminator.
    Term(Block),
    /// Behind a block's terminator, where lanes that go round a loop give way to
    /// others; independent thread scheduling only.
    Yield(Block),
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inst(i) => write!(f, "{i}"),
            Self::Term(b) => write!(f, "end of {b}"),
            Self::Yield(b) => write!(f, "yield behind {b}"),
        }
    }
}

/// A lane that trapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TrapRecord {
    /// Thread of the grid: `block_linear * threads_per_block + thread_linear`.
    pub thread: u64,
    /// Linear block number in the grid.
    pub grid_block: u64,
    /// Warp in the block.
    pub warp: u32,
    /// Lane in the warp.
    pub lane: u32,
    /// Where.
    pub site: Site,
    /// In which function, by its position in the module.
    pub function: usize,
    /// Where in the source.
    pub origin: Origin,
    /// Why.
    pub code: TrapCode,
    /// The address, of a trapped memory access.
    pub address: Option<u64>,
}

impl fmt::Display for TrapRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "thread {}: {} ({}) at {} ({})",
            self.thread,
            describe(self.code),
            self.code,
            self.site,
            self.origin
        )?;
        match self.address {
            Some(a) => write!(f, ", address {a:#x}"),
            None => Ok(()),
        }
    }
}

/// The values that the threads returned.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Returns {
    width: usize,
    values: Vec<u128>,
    returned: Vec<bool>,
}

impl Returns {
    /// Room for `width` values of each of `threads` threads; nothing is kept
    /// when a thread returns no values.
    pub(crate) fn new(width: usize, threads: u64) -> Self {
        let threads = if width == 0 { 0 } else { threads as usize };
        Self {
            width,
            values: vec![0; width * threads],
            returned: vec![false; threads],
        }
    }

    pub(crate) fn set(&mut self, thread: u64, index: usize, bits: u128) {
        let thread = thread as usize;
        self.values[thread * self.width + index] = bits;
        self.returned[thread] = true;
    }

    /// Values that each thread returns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Threads of the grid, or 0 when they return nothing.
    pub fn threads(&self) -> usize {
        self.returned.len()
    }

    /// What a thread of the grid returned, as bits. `None` if it left by an
    /// exit or trap, or if the kernel returns no values.
    pub fn get(&self, thread: usize) -> Option<&[u128]> {
        let at = thread * self.width;
        self.returned
            .get(thread)?
            .then(|| &self.values[at..at + self.width])
    }

    /// The threads in order.
    pub fn iter(&self) -> impl Iterator<Item = Option<&[u128]>> {
        (0..self.threads()).map(|t| self.get(t))
    }
}

/// How a run ended that ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// Every thread returned or exited.
    Finished,
    /// The same, but for threads that trapped.
    Trapped,
}

/// What one function did, of those that were called.
#[derive(Clone, PartialEq, Debug)]
pub struct FunctionOutcome {
    /// Its position in the module.
    pub function: usize,
    /// Its name.
    pub name: String,
    /// Each `br` and `switch`, in layout order.
    pub branches: Vec<BranchCounters>,
    /// Each block, in layout order.
    pub blocks: Vec<BlockCounters>,
    /// Issues of each instruction, by its index; constants have none.
    pub issues: Vec<u64>,
    /// Issues of each block's terminator, by the block's index.
    pub term_issues: Vec<u64>,
}

/// What a run leaves. `branches`, `blocks`, `issues`, `term_issues` and
/// `profile` are those of the function that was launched, all its frames
/// together; the others' are in `callees`.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// Totals of the launch.
    pub counters: Counters,
    /// Each `br` and `switch`, in layout order.
    pub branches: Vec<BranchCounters>,
    /// Each block, in layout order.
    pub blocks: Vec<BlockCounters>,
    /// Each warp of each block, in order.
    pub warps: Vec<WarpCounters>,
    /// Issues of each instruction, by its index; constants have none.
    pub issues: Vec<u64>,
    /// Issues of each block's terminator, by the block's index.
    pub term_issues: Vec<u64>,
    /// The other functions that calls can reach, by position in the module.
    pub callees: Vec<FunctionOutcome>,
    /// Returned values.
    pub returns: Returns,
    /// Lanes that trapped, in order of time.
    pub traps: Vec<TrapRecord>,
    /// The buffers after the run.
    pub memory: Memory,
    /// The branch profile, if asked for.
    pub profile: Option<Profile>,
    /// The timeline, if asked for.
    pub timeline: Option<Timeline>,
    /// Cycles by the model of time, if asked for.
    pub timing: Option<Timing>,
    /// Every event, by thread and in each thread in order, if asked for.
    pub events: Option<Vec<Event>>,
    /// How much was checked, if anything was to be.
    pub checked: Option<Checked>,
    /// How it ended.
    pub end: Ending,
}

impl Outcome {
    /// The counters of a branch, by the block it ends.
    pub fn branch(&self, block: Block) -> Option<&BranchCounters> {
        self.branches.iter().find(|b| b.block == block)
    }

    /// The counters of a block.
    pub fn block(&self, block: Block) -> Option<&BlockCounters> {
        self.blocks.iter().find(|b| b.block == block)
    }
}
