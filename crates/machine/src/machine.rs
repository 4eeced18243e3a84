//! The machine: a bag of facts.
//!
//! Every field is a fact about issue slots, cycles or addresses; what follows
//! from them is for cost models to say. Of a branch the machine tells apart
//! three executions: its condition was *proven* uniform before anything ran,
//! the lanes happened to *agree*, or the warp *split*. The overhead `b` is
//! what such an execution costs beyond the issues that are counted anyway
//! (the branch and the jumps that end its sides).

use std::fmt;

use target_lexicon::{PointerWidth, Triple};
use warpfold_ir::CostClass;

use crate::cost::Cost;
use crate::read::{self, MachineError};
use crate::shipped::MACHINES;

/// Lanes of a warp, on every machine.
pub const WARP_LANES: u32 = 32;

/// Number of cost classes.
pub(crate) const CLASSES: usize = CostClass::ALL.len();

/// A number of cycles, or the range over which measurements of it lie.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Cycles {
    /// The least measured.
    pub low: u32,
    /// The most measured, at least `low`.
    pub high: u32,
}

impl fmt::Display for Cycles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.low == self.high {
            write!(f, "{}", self.low)
        } else {
            write!(f, "{}–{}", self.low, self.high)
        }
    }
}

/// Instructions that hardware issues for a branch beside the code of its two
/// sides. Recorded for comparison with hardware instruction counters; costs
/// use `b`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct IssuedOverhead {
    /// On the then and on the else path of a provably uniform branch.
    pub proven: [u32; 2],
    /// On the then and on the else path of any other branch.
    pub divergent: [u32; 2],
}

/// How long a load waits, by where its data is. In cycles.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct MemoryLatency {
    /// Shared memory.
    pub shared: Option<Cycles>,
    /// First-level cache.
    pub l1: Option<Cycles>,
    /// Second-level cache.
    pub l2: Option<Cycles>,
    /// Device memory.
    pub dram: Option<Cycles>,
}

/// What a model of time needs; costs do not use it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Timing {
    /// Warp schedulers of a multiprocessor.
    pub schedulers: u32,
    /// Instructions that a scheduler can issue in a cycle.
    pub issue_per_cycle: u32,
    /// Warps that a multiprocessor holds.
    pub resident_warps: u32,
}

/// One number of a machine and where it comes from.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Sourced {
    /// Its place in the TOML document: `issue.fp64`, `branch.split`.
    pub name: String,
    /// The number as text.
    pub value: String,
    /// Where it comes from.
    pub source: String,
}

/// Facts and costs of one machine.
#[derive(Clone, PartialEq, Debug)]
pub struct Machine {
    /// Its name, as given to `--machine`.
    pub name: String,
    /// One sentence about it.
    pub description: String,
    /// The target; it fixes the pointer width.
    pub triple: Triple,
    /// Cost of one issue per class, by [`CostClass::index`]; constants are 0.
    pub issue: [Cost; CLASSES],
    /// Added to the issue of a guarded instruction.
    pub guard: Cost,
    /// Overhead of executing a branch that is provably uniform.
    pub b_proven: Cost,
    /// Overhead of executing any other branch when the warp agrees.
    pub b_agree: Cost,
    /// Overhead of executing a branch that splits the warp.
    pub b_split: Cost,
    /// What hardware issues for a branch.
    pub issued_overhead: Option<IssuedOverhead>,
    /// Cycles until a dependent instruction can issue, by
    /// [`CostClass::index`], where known.
    pub latency: [Option<Cycles>; CLASSES],
    /// Cycles for which an issue occupies its pipe, by [`CostClass::index`],
    /// where known.
    pub interval: [Option<Cycles>; CLASSES],
    /// Latencies of loads.
    pub memory: MemoryLatency,
    /// Schedulers and resident warps, where known.
    pub timing: Option<Timing>,
    /// Every number above with its source, in the order of this struct.
    pub sources: Vec<Sourced>,
}

/// There is no shipped machine of this name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no machine is named `{name}`; shipped are {}", shipped_names())]
pub struct UnknownMachine {
    /// The name asked for.
    pub name: String,
}

fn shipped_names() -> String {
    let names: Vec<&str> = MACHINES.iter().map(|m| m.name).collect();
    names.join(", ")
}

impl Machine {
    /// Reads a machine from its TOML document.
    ///
    /// # Errors
    /// For anything that is no machine: bad TOML, an unknown or missing key, a
    /// negative, infinite or too finely given cost, a warp that has not 32
    /// lanes, a triple without a known pointer width.
    pub fn from_toml(text: &str) -> Result<Self, MachineError> {
        read::machine(text)
    }

    /// The shipped machine `name`.
    ///
    /// # Errors
    /// If none has this name; the message lists those that there are.
    pub fn builtin(name: &str) -> Result<Self, UnknownMachine> {
        MACHINES
            .iter()
            .find(|m| m.name == name)
            .map(|m| m.machine())
            .ok_or_else(|| UnknownMachine { name: name.into() })
    }

    /// What one issue of `class` costs, guard not included.
    pub fn issue_cost(&self, class: CostClass) -> Cost {
        self.issue[class.index()]
    }

    /// What executing a branch costs beyond its own issue. A branch marked
    /// proven is charged as such whatever the warp does.
    pub fn branch_overhead(&self, proven: bool, split: bool) -> Cost {
        match (proven, split) {
            (true, _) => self.b_proven,
            (false, false) => self.b_agree,
            (false, true) => self.b_split,
        }
    }

    /// Cycles until an instruction that depends on one of `class` can issue,
    /// where known.
    pub fn dependent_latency(&self, class: CostClass) -> Option<Cycles> {
        self.latency[class.index()]
    }

    /// Width of an address in bits, 32 or 64.
    pub fn pointer_bits(&self) -> u32 {
        match self.triple.pointer_width() {
            Ok(PointerWidth::U32) => 32,
            // Reading a machine admits no other width.
            _ => 64,
        }
    }

    /// The source of the number called `name`.
    pub fn source(&self, name: &str) -> Option<&Sourced> {
        self.sources.iter().find(|s| s.name == name)
    }
}
