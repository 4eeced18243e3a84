//! Counters, by the names CUDA users know.
//!
//! A counter knows no machine; [`Counters::cost`] weighs them by one. All are
//! totals of whole numbers, taken at issue. Always, in total and per branch:
//!
//! `32 · inst_executed = pred_on + lost_partial + lost_exited + lost_diverged + lost_predicated`
//!
//! where each term is counted on its own, not derived from the others.

use warpfold_ir::{Block, CostClass, CounterClass, Origin};
use warpfold_machine::{Cost, Machine};

use crate::metrics::ratio;

/// Lanes that an issue could have used and did not, summed over issues.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LostLanes {
    /// The warp has fewer than 32 threads.
    pub partial: u64,
    /// The lane has returned, exited or trapped.
    pub exited: u64,
    /// The lane is elsewhere, or waits at a join.
    pub diverged: u64,
    /// The lane is active, but the guard is false.
    pub predicated: u64,
}

impl LostLanes {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.partial + self.exited + self.diverged + self.predicated
    }
}

/// Executions of branches and switches, by what they cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BranchKinds {
    /// Marked proven, or with one target block only.
    pub proven: u64,
    /// Not proven, and the warp agreed.
    pub agree: u64,
    /// Not proven, and the warp split.
    pub split: u64,
}

impl BranchKinds {
    /// All executions.
    pub fn total(&self) -> u64 {
        self.proven + self.agree + self.split
    }
}

/// Transactions of global or local memory in one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Transactions {
    /// Instructions in which at least one lane went through.
    pub requests: u64,
    /// Distinct 32-byte sectors of each request, summed.
    pub sectors: u64,
    /// The fewest sectors that the distinct bytes of each request could lie in,
    /// summed.
    pub ideal: u64,
    /// Distinct 128-byte lines of each request, summed.
    pub lines: u64,
}

/// Transactions of shared memory in one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SharedTransactions {
    /// Instructions in which at least one lane went through.
    pub requests: u64,
    /// Rounds in which every bank serves one word.
    pub wavefronts: u64,
    /// The fewest wavefronts that the distinct bytes of each request could take,
    /// summed.
    pub ideal: u64,
    /// Wavefronts beyond each request's first.
    pub conflicts: u64,
}

/// Which counters of a space an access goes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Load,
    Store,
    Atomic,
}

/// Loads, stores and atomic accesses of one space.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LoadStore<T> {
    /// Loads.
    pub loads: T,
    /// Stores.
    pub stores: T,
    /// Atomic loads, stores and read-modify-writes.
    pub atomics: T,
}

impl<T> LoadStore<T> {
    pub(crate) fn side(&mut self, side: Side) -> &mut T {
        match side {
            Side::Load => &mut self.loads,
            Side::Store => &mut self.stores,
            Side::Atomic => &mut self.atomics,
        }
    }
}

/// Totals of a launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counters {
    /// Issues: IR instructions executed by a warp, terminators included.
    pub inst_executed: u64,
    /// Active lanes, summed over issues.
    pub thread_inst_executed: u64,
    /// Active lanes whose guard holds, summed over issues.
    pub thread_inst_executed_pred_on: u64,
    /// Lanes lost, summed over issues.
    pub lost: LostLanes,
    /// Issues by [`CostClass::index`].
    pub classes: [u64; CostClass::ALL.len()],
    /// Issues of guarded instructions.
    pub guarded: u64,
    /// Branch executions.
    pub branches: BranchKinds,
    /// Branch executions whose lanes went to more than one block.
    pub divergent_branch: u64,
    /// Target blocks taken beyond the first, summed over branch executions.
    pub extra_targets: u64,
    /// Side entries pushed by splits.
    pub pushes: u64,
    /// Most entries on a warp's stacks, the bases included.
    pub max_depth: u64,
    /// Convergence barriers released with every participant that had not left,
    /// where the textbook's join is no later; independent thread scheduling only,
    /// like the next four.
    pub joins_on_time: u64,
    /// The same where the textbook's join is later.
    pub joins_deferred: u64,
    /// Convergence barriers released without participants that had yielded.
    pub joins_early: u64,
    /// Most convergence barriers that a lane took part in at once.
    pub max_barrier_depth: u64,
    /// Issues in which lanes gave way on a back edge.
    pub yields: u64,
    /// Most frames of a warp, the kernel's included.
    pub max_call_depth: u64,
    /// Block barriers completed.
    pub barriers: u64,
    /// Lanes that trapped.
    pub traps: u64,
    /// Global memory.
    pub global: LoadStore<Transactions>,
    /// Shared memory.
    pub shared: LoadStore<SharedTransactions>,
    /// Local memory.
    pub local: LoadStore<Transactions>,
    /// Issues by number of active lanes; `[0]` is always 0.
    pub active_lanes: [u64; 33],
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            inst_executed: 0,
            thread_inst_executed: 0,
            thread_inst_executed_pred_on: 0,
            lost: LostLanes::default(),
            classes: [0; CostClass::ALL.len()],
            guarded: 0,
            branches: BranchKinds::default(),
            divergent_branch: 0,
            extra_targets: 0,
            pushes: 0,
            max_depth: 0,
            joins_on_time: 0,
            joins_deferred: 0,
            joins_early: 0,
            max_barrier_depth: 0,
            yields: 0,
            max_call_depth: 0,
            barriers: 0,
            traps: 0,
            global: LoadStore::default(),
            shared: LoadStore::default(),
            local: LoadStore::default(),
            active_lanes: [0; 33],
        }
    }
}

impl Counters {
    /// Issues of a cost class.
    pub fn class(&self, class: CostClass) -> u64 {
        self.classes[class.index()]
    }

    /// Issues of a counter class.
    pub fn counter_class(&self, class: CounterClass) -> u64 {
        CostClass::ALL
            .iter()
            .filter(|c| c.counter() == Some(class))
            .map(|c| self.class(*c))
            .sum()
    }

    /// What it all costs on a machine: every issue by its class, a charge for
    /// each guarded one, and the overhead of each branch.
    pub fn cost(&self, machine: &Machine) -> Cost {
        let issues: Cost = CostClass::ALL
            .iter()
            .map(|&c| machine.issue_cost(c) * self.class(c))
            .sum();
        issues
            + machine.guard * self.guarded
            + machine.branch_overhead(true, false) * self.branches.proven
            + machine.branch_overhead(false, false) * self.branches.agree
            + machine.branch_overhead(false, true) * self.branches.split
    }

    /// Whether the lanes of all issues add up.
    pub fn lanes_add_up(&self) -> bool {
        32 * self.inst_executed == self.thread_inst_executed_pred_on + self.lost.total()
    }
}

/// What one `br` or `switch` did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BranchCounters {
    /// The block it ends.
    pub block: Block,
    /// Where it came from.
    pub origin: Origin,
    /// Whether each execution is charged as proven uniform.
    pub proven: bool,
    /// Executions.
    pub executions: u64,
    /// By edge number: executions in which any lane took the edge.
    pub taken: Vec<u64>,
    /// Executions with more than one target block.
    pub divergent: u64,
    /// Target blocks taken beyond the first, summed.
    pub extra_targets: u64,
    /// Active lanes, summed over executions.
    pub lanes: u64,
    /// Lanes lost at the branch itself, summed over executions.
    pub lost: LostLanes,
}

impl BranchCounters {
    /// The same by what it costs.
    pub fn kinds(&self) -> BranchKinds {
        if self.proven {
            BranchKinds {
                proven: self.executions,
                ..BranchKinds::default()
            }
        } else {
            BranchKinds {
                proven: 0,
                agree: self.executions - self.divergent,
                split: self.divergent,
            }
        }
    }

    /// Executions that did not diverge, in percent.
    pub fn efficiency(&self) -> Option<f64> {
        ratio(100 * (self.executions - self.divergent), self.executions)
    }
}

/// What one block did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BlockCounters {
    /// Which.
    pub block: Block,
    /// Entries by one group of lanes.
    pub passes: u64,
    /// Lanes that entered, summed over passes.
    pub lanes: u64,
    /// Passes of each segment: those begun with a lane alive.
    pub segments: Vec<u64>,
}

/// What one warp did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WarpCounters {
    /// Issues.
    pub issued: u64,
    /// Active lanes, summed over issues.
    pub thread_inst: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_weighs_classes_guards_and_branches() {
        let mut c = Counters::default();
        c.classes[CostClass::Alu.index()] = 10;
        c.classes[CostClass::Branch.index()] = 6;
        c.guarded = 4;
        c.branches = BranchKinds {
            proven: 1,
            agree: 2,
            split: 3,
        };
        let mut m = Machine::builtin("unit").unwrap();
        assert_eq!(c.cost(&m), Cost::issues(16));
        m.guard = Cost(100);
        m.b_proven = Cost(1_000);
        m.b_agree = Cost(20_000);
        m.b_split = Cost(300_000);
        assert_eq!(c.cost(&m), Cost(16_000 + 400 + 1_000 + 40_000 + 900_000));
    }
}
