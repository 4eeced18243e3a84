//! The end of the road: what the three versions did, beside what was
//! predicted.
//!
//! An issue of the converted function belongs to the innermost branch of the
//! source whose side it came from; conversion says which. What a branch cost
//! is then the sum over its issues, each counted by the executor and weighed
//! by the machine, plus the overhead of its own executions. Nothing here
//! knows how a prediction was made.

use std::collections::BTreeMap;

use warpfold_exec::{ExecError, Launch};
use warpfold_ir::{Function, Origin};
use warpfold_machine::{Cost, Machine};
use warpfold_opt::Owners;

use crate::error::Errors;
use crate::road::{Optimized, Record};
use crate::same::{self, Sameness};
use crate::settings::RunOptions;

/// Everything that is known in the end.
#[derive(Clone, Debug)]
pub struct Outcome {
    optimized: Optimized,
    grid: [u32; 3],
    block: [u32; 3],
    before: warpfold_exec::Outcome,
    kept: Option<warpfold_exec::Outcome>,
    after: Option<warpfold_exec::Outcome>,
    measured: BTreeMap<Option<Origin>, Cost>,
    sameness: Sameness,
    kept_sameness: Sameness,
}

impl Outcome {
    /// The stage before: functions, report, settings.
    pub fn optimized(&self) -> &Optimized {
        &self.optimized
    }

    /// Blocks of the grid and threads of a block.
    pub fn shape(&self) -> ([u32; 3], [u32; 3]) {
        (self.grid, self.block)
    }

    /// The run of the function as written, cleaned up.
    pub fn before(&self) -> &warpfold_exec::Outcome {
        &self.before
    }

    /// The run of the canonical function, all branches kept; `None` if it did
    /// not finish.
    pub fn kept(&self) -> Option<&warpfold_exec::Outcome> {
        self.kept.as_ref()
    }

    /// The run of the converted function; `None` if it did not finish.
    pub fn after(&self) -> Option<&warpfold_exec::Outcome> {
        self.after.as_ref()
    }

    /// Whether the converted function did the same as before.
    pub fn sameness(&self) -> &Sameness {
        &self.sameness
    }

    /// Whether the canonical function did the same as before.
    pub fn kept_sameness(&self) -> &Sameness {
        &self.kept_sameness
    }

    /// Whether all three versions did the same.
    pub fn all_same(&self) -> bool {
        self.sameness.is_same() && self.kept_sameness.is_same()
    }

    /// What the issues that belong to a branch cost in the converted function,
    /// with the overhead of its executions; zero where nothing is left of it.
    pub fn measured(&self, branch: Origin) -> Option<Cost> {
        self.after.as_ref()?;
        Some(
            self.measured
                .get(&Some(branch))
                .copied()
                .unwrap_or_default(),
        )
    }

    /// What the issues that belong to no branch cost in the converted
    /// function.
    pub fn measured_outside(&self) -> Option<Cost> {
        self.after.as_ref()?;
        Some(self.measured.get(&None).copied().unwrap_or_default())
    }

    /// What each version cost in total: before, kept, after.
    pub fn totals(&self) -> [Option<Cost>; 3] {
        let machine = &self.optimized.settings().machine;
        [Some(&self.before), self.kept(), self.after()].map(|o| Some(o?.counters.cost(machine)))
    }
}

/// What issues cost, by the branch they belong to. Those of callees belong to
/// none.
pub fn cost_by_branch(
    func: &Function,
    run: &warpfold_exec::Outcome,
    owners: &Owners,
    machine: &Machine,
) -> BTreeMap<Option<Origin>, Cost> {
    let mut costs: BTreeMap<Option<Origin>, Cost> = BTreeMap::new();
    for &b in &func.layout {
        for &i in &func.block(b).insts {
            let data = func.inst(i);
            let issues = run.issues.get(i.as_u32() as usize).copied().unwrap_or(0);
            let mut cost = machine.issue_cost(data.cost_class());
            if data.guard.is_some() {
                cost += machine.guard;
            }
            *costs.entry(owners.inst(i)).or_default() += cost * issues;
        }
        let issues = run
            .term_issues
            .get(b.as_u32() as usize)
            .copied()
            .unwrap_or(0);
        let class = func.term(b).cost_class();
        *costs.entry(owners.term(b)).or_default() += machine.issue_cost(class) * issues;
    }
    for branch in &run.branches {
        let kinds = branch.kinds();
        let overhead = machine.branch_overhead(true, false) * kinds.proven
            + machine.branch_overhead(false, false) * kinds.agree
            + machine.branch_overhead(false, true) * kinds.split;
        *costs.entry(owners.term(branch.block)).or_default() += overhead;
    }
    // The rest is what callees cost, and indirect calls that split.
    let own: Cost = costs.values().copied().sum();
    *costs.entry(None).or_default() += run.counters.cost(machine) - own;
    costs
}

pub(crate) fn measure(
    optimized: Optimized,
    launch: &Launch,
    run: &RunOptions,
) -> Result<Outcome, Errors> {
    let lowered = optimized.lowered();
    let execute = |func: &Function, events: bool, timeline: bool| {
        let record = Record {
            events,
            timeline,
            timing: true,
            ..Record::default()
        };
        match lowered.run(func, launch, run, record) {
            // Too much to compare access by access: results, traps and memory
            // must do.
            Err(ExecError::RecordLimit { .. }) if events => {
                let record = Record {
                    events: false,
                    ..record
                };
                lowered.run(func, launch, run, record)
            }
            result => result,
        }
    };
    let before_func = optimized.before().func();
    let before = execute(before_func, true, true).map_err(|e| lowered.failed(before_func, &e))?;
    let events = before.events.is_some();
    let threads = launch.total_threads().unwrap_or(u64::MAX);
    let version =
        |func: &Function, name: &str, timeline: bool| match execute(func, events, timeline) {
            Ok(outcome) => {
                let sameness = same::compare(&before, &outcome, threads);
                (Some(outcome), sameness)
            }
            Err(e) => {
                let why = format!("the version {name} ended otherwise: {e}");
                (None, Sameness::Unfinished(why))
            }
        };
    let (kept, kept_sameness) = version(optimized.canonical().func(), "kept", false);
    let (after, sameness) = version(optimized.func(), "after", true);
    let measured = match &after {
        Some(after) => cost_by_branch(
            optimized.func(),
            after,
            optimized.owners(),
            &optimized.settings().machine,
        ),
        None => BTreeMap::new(),
    };
    Ok(Outcome {
        grid: launch.grid,
        block: launch.block,
        before,
        kept,
        after,
        measured,
        sameness,
        kept_sameness,
        optimized,
    })
}
