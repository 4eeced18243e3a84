//! What the model of time finds.

use warpfold_ir::CostClass;

/// What a resident warp does in a cycle.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum WarpState {
    /// It issues.
    Selected,
    /// It could issue; its scheduler issues for another.
    NotSelected,
    /// It waits for an operand that an instruction makes.
    Dependency,
    /// It waits for an operand that comes from memory.
    Memory,
    /// It waits for a branch, jump, return, call or guarded exit to be
    /// resolved, or after its last one to end.
    Control,
    /// It waits for a pipe that another instruction holds.
    Throughput,
    /// It waits at a barrier.
    Barrier,
}

impl WarpState {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Selected,
        Self::NotSelected,
        Self::Dependency,
        Self::Memory,
        Self::Control,
        Self::Throughput,
        Self::Barrier,
    ];

    /// Its name: `selected`, `not_selected`, `dependency`, ….
    pub const fn name(self) -> &'static str {
        match self {
            Self::Selected => "selected",
            Self::NotSelected => "not_selected",
            Self::Dependency => "dependency",
            Self::Memory => "memory",
            Self::Control => "control",
            Self::Throughput => "throughput",
            Self::Barrier => "barrier",
        }
    }
}

/// A launch in cycles of one multiprocessor.
///
/// Every cycle after the launch overhead counts once for each scheduler
/// (*scheduler cycles*) and once for each warp that is resident and has not
/// ended (*warp cycles*). So always
///
/// ```text
/// schedulers · (cycles − launch) = issue_active + no_eligible + no_warp
/// warp_cycles = Σ states
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Timing {
    /// From the launch to the end of the last warp.
    pub cycles: u64,
    /// Of these, before the first issue.
    pub launch: u64,
    /// Schedulers of the multiprocessor.
    pub schedulers: u32,
    /// Warps it has room for.
    pub resident_warps: u32,
    /// Most blocks that were resident at once.
    pub resident_blocks: u32,
    /// Instructions issued: the counter `inst_executed`.
    pub issued: u64,
    /// Scheduler cycles with an issue.
    pub issue_active: u64,
    /// Scheduler cycles in which warps were there and none could issue.
    pub no_eligible: u64,
    /// Scheduler cycles in which no warp was there.
    pub no_warp: u64,
    /// Warp cycles by what the warp did, by position in [`WarpState::ALL`].
    pub states: [u64; WarpState::ALL.len()],
    /// Classes that issued and whose latency the machine does not state.
    pub assumed: Vec<CostClass>,
}

impl Timing {
    /// Warp cycles spent like this.
    pub fn state(&self, state: WarpState) -> u64 {
        self.states[state as usize]
    }

    /// Cycles that resident warps lived, summed.
    pub fn warp_cycles(&self) -> u64 {
        self.states.iter().sum()
    }

    fn scheduler_cycles(&self) -> u64 {
        self.issue_active + self.no_eligible + self.no_warp
    }

    /// Percentage of scheduler cycles with an issue.
    pub fn issue_utilization(&self) -> Option<f64> {
        ratio(self.issue_active, self.scheduler_cycles()).map(|r| 100.0 * r)
    }

    /// Instructions per cycle of the multiprocessor, launch overhead included.
    pub fn ipc(&self) -> Option<f64> {
        ratio(self.issued, self.cycles)
    }

    /// Warps that could issue, per scheduler cycle.
    pub fn eligible_warps(&self) -> Option<f64> {
        let eligible = self.state(WarpState::Selected) + self.state(WarpState::NotSelected);
        ratio(eligible, self.scheduler_cycles())
    }

    /// Warps that were there, per scheduler cycle.
    pub fn active_warps(&self) -> Option<f64> {
        ratio(self.warp_cycles(), self.scheduler_cycles())
    }

    /// Percentage of the room for warps that was used, over time.
    pub fn occupancy(&self) -> Option<f64> {
        let room = self.scheduler_cycles() * u64::from(self.resident_warps);
        ratio(self.warp_cycles() * u64::from(self.schedulers), room).map(|r| 100.0 * r)
    }
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
