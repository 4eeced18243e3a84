//! What the model of time knows of a machine.

use warpfold_ir::CostClass;
use warpfold_machine::{Cycles, Machine};

/// Steps of resident warps that are kept, unless told otherwise.
pub const MAX_STEPS: u64 = 1 << 25;

const CLASSES: usize = CostClass::ALL.len();

/// The level of the memory hierarchy that answers every load of global,
/// constant and local memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum LoadLevel {
    /// First-level cache.
    #[default]
    L1,
    /// Second-level cache.
    L2,
    /// Device memory.
    Dram,
}

impl LoadLevel {
    /// All of them, nearest first.
    pub const ALL: [Self; 3] = [Self::L1, Self::L2, Self::Dram];

    /// Its name: `l1`, `l2`, `dram`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::L1 => "l1",
            Self::L2 => "l2",
            Self::Dram => "dram",
        }
    }
}

/// A multiprocessor in cycles. Made [from a machine](TimingModel::new); every
/// number can then be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimingModel {
    /// Warp schedulers, at least 1.
    pub schedulers: u32,
    /// Instructions of one warp that a scheduler can issue in a cycle, at
    /// least 1.
    pub issue_per_cycle: u32,
    /// Warps that are resident at once.
    pub resident_warps: u32,
    /// Cycles before the first issue.
    pub launch: u64,
    /// Cycles from an issue until what depends on it can issue, by
    /// [`CostClass::index`]; at least 1.
    pub latency: [u32; CLASSES],
    /// Cycles for which an issue holds its pipe; 0 where pipes keep up.
    pub interval: [u32; CLASSES],
    /// Classes whose latency the machine does not state, by
    /// [`CostClass::index`]; they have that of another class.
    pub assumed: [bool; CLASSES],
    /// Cycles of a load from shared memory.
    pub shared_load: u32,
    /// Cycles of any other load.
    pub load: u32,
    /// Cycles of an atomic operation outside shared memory.
    pub atomic: u32,
    /// Most steps of resident warps that are kept, about 8 bytes each: passes of
    /// stretches of blocks, edges taken with arguments, memory accesses. More
    /// is [`ExecError::TimingLimit`](crate::ExecError::TimingLimit).
    pub max_steps: u64,
}

/// Why a machine gives no model of time.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("machine `{machine}` does not state `{what}`, which the timing model needs")]
pub struct TimingModelError {
    /// The machine's name.
    pub machine: String,
    /// What it lacks, as the machine's TOML calls it.
    pub what: &'static str,
}

/// The number that stands for a range: its middle, rounded up.
fn one(cycles: Cycles) -> u32 {
    cycles.low + (cycles.high - cycles.low).div_ceil(2)
}

/// The class whose latency a class has where the machine does not state it.
fn stand_in(class: CostClass) -> CostClass {
    match class {
        CostClass::Math64 => CostClass::Fp64Div,
        _ => CostClass::Alu,
    }
}

impl TimingModel {
    /// The model of a machine, with loads answered at `level` and no launch
    /// overhead. The middle, rounded up, stands for a range. A class without a
    /// latency has that of plain arithmetic, `math64` that of `fp64_div`, and
    /// none less than its interval; shared memory without one has that of the
    /// first-level cache; atomics are answered at the second level, or at
    /// `level` where there is no number for it.
    ///
    /// # Errors
    /// If the machine does not state its schedulers, the latency of `alu` or
    /// that of `level`.
    pub fn new(machine: &Machine, level: LoadLevel) -> Result<Self, TimingModelError> {
        let need = |there: Option<u32>, what| {
            there.ok_or(TimingModelError {
                machine: machine.name.clone(),
                what,
            })
        };
        let lacks = |what| TimingModelError {
            machine: machine.name.clone(),
            what,
        };
        let timing = machine.timing.ok_or(lacks("timing"))?;
        need(
            machine.dependent_latency(CostClass::Alu).map(one),
            "latency.alu",
        )?;
        let memory = machine.memory;
        let load = match level {
            LoadLevel::L1 => need(memory.l1.map(one), "memory.l1"),
            LoadLevel::L2 => need(memory.l2.map(one), "memory.l2"),
            LoadLevel::Dram => need(memory.dram.map(one), "memory.dram"),
        }?;
        let mut latency = [1; CLASSES];
        let mut interval = [0; CLASSES];
        let mut assumed = [false; CLASSES];
        for &class in CostClass::ALL {
            let i = class.index();
            let mut of = class;
            let stated = loop {
                match machine.dependent_latency(of) {
                    Some(cycles) => break one(cycles),
                    None => of = stand_in(of),
                }
            };
            assumed[i] = of != class;
            interval[i] = machine.interval[i].map_or(0, one);
            latency[i] = stated.max(interval[i]).max(1);
        }
        Ok(Self {
            schedulers: timing.schedulers,
            issue_per_cycle: timing.issue_per_cycle,
            resident_warps: timing.resident_warps,
            launch: 0,
            latency,
            interval,
            assumed,
            shared_load: memory.shared.map_or(load, one).max(1),
            load: load.max(1),
            atomic: memory.l2.map_or(load, one).max(1),
            max_steps: MAX_STEPS,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_a_middle() {
        assert_eq!(one(Cycles { low: 4, high: 5 }), 5);
        assert_eq!(one(Cycles { low: 33, high: 39 }), 36);
        assert_eq!(one(Cycles { low: 6, high: 6 }), 6);
    }

    #[test]
    fn what_a_machine_does_not_state_is_assumed_and_marked() {
        let machine = Machine::builtin("blackwell").unwrap();
        let m = TimingModel::new(&machine, LoadLevel::L1).unwrap();
        let of = |c: CostClass| (m.latency[c.index()], m.assumed[c.index()]);
        assert_eq!(of(CostClass::Alu), (4, false));
        assert_eq!(of(CostClass::Pred), (4, true));
        // Not below its interval.
        assert_eq!(of(CostClass::FpDiv), (8, true));
        assert_eq!((m.load, m.shared_load), (42, 42), "no number for shared");
        let machine = Machine::builtin("pascal").unwrap();
        let m = TimingModel::new(&machine, LoadLevel::Dram).unwrap();
        assert_eq!(m.latency[CostClass::Math64.index()], 330, "as fp64_div");
        assert_eq!((m.load, m.shared_load, m.atomic), (379, 30, 250));
        assert_eq!(m.issue_per_cycle, 2);
    }

    #[test]
    fn a_machine_without_time_is_refused() {
        let machine = Machine::builtin("unit").unwrap();
        let e = TimingModel::new(&machine, LoadLevel::L1).unwrap_err();
        assert_eq!(
            e.to_string(),
            "machine `unit` does not state `timing`, which the timing model needs"
        );
    }
}
