//! The end of the road: what the three versions did, beside what was
//! predicted.
//!
//! An issue of the converted function belongs to the innermost branch of the
//! source whose side it came from; conversion says which. What a branch cost
//! is then the sum over its issues, each counted by the executor and weighed
//! by the machine, plus the overhead of its own executions. Nothing here
//! knows how a prediction was made.

use std::collections::BTreeMap;
use std::sync::Arc;

use warpfold_analysis::Profile;
use warpfold_exec::{ExecError, Launch};
use warpfold_ir::{Function, Origin};
use warpfold_machine::{Cost, Machine};
use warpfold_opt::Owners;

use crate::error::Errors;
use crate::road::{Canonical, Lowered, Optimized, Record};
use crate::same::{self, Sameness};
use crate::settings::RunOptions;

/// Everything that is known in the end.
#[derive(Clone, Debug)]
pub struct Outcome {
    optimized: Optimized,
    baseline: Arc<Baseline>,
    after: Option<warpfold_exec::Outcome>,
    measured: BTreeMap<Option<Origin>, Cost>,
    sameness: Sameness,
}

/// The runs of one launch that are the same however the kernel is converted: of
/// the versions *before* and *kept*. Whoever converts a kernel many times makes
/// them once.
#[derive(Clone, Debug)]
pub struct Baseline {
    launch: Launch,
    run: RunOptions,
    before: warpfold_exec::Outcome,
    kept: Option<warpfold_exec::Outcome>,
    kept_sameness: Sameness,
    /// What the run with all branches kept counted.
    profile: Option<Profile>,
}

impl Baseline {
    /// The run of the function as written, cleaned up.
    pub fn before(&self) -> &warpfold_exec::Outcome {
        &self.before
    }

    /// The run of the canonical function, all branches kept; `None` if it did
    /// not finish.
    pub fn kept(&self) -> Option<&warpfold_exec::Outcome> {
        self.kept.as_ref()
    }

    /// Whether the canonical function did the same as before.
    pub fn kept_sameness(&self) -> &Sameness {
        &self.kept_sameness
    }

    /// What the run with all branches kept counted; `None` if it did not finish.
    pub fn profile(&self) -> Option<&Profile> {
        self.profile.as_ref()
    }
}

impl Outcome {
    /// The stage before: functions, report, settings.
    pub fn optimized(&self) -> &Optimized {
        &self.optimized
    }

    /// Blocks of the grid and threads of a block.
    pub fn shape(&self) -> ([u32; 3], [u32; 3]) {
        (self.baseline.launch.grid, self.baseline.launch.block)
    }

    /// The run of the function as written, cleaned up.
    pub fn before(&self) -> &warpfold_exec::Outcome {
        &self.baseline.before
    }

    /// The run of the canonical function, all branches kept; `None` if it did
    /// not finish.
    pub fn kept(&self) -> Option<&warpfold_exec::Outcome> {
        self.baseline.kept()
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
        &self.baseline.kept_sameness
    }

    /// Whether all three versions did the same.
    pub fn all_same(&self) -> bool {
        self.sameness.is_same() && self.kept_sameness().is_same()
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
        [Some(self.before()), self.kept(), self.after()].map(|o| Some(o?.counters.cost(machine)))
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

/// Runs `func`, some version of the kernel, with its accesses recorded if
/// `record` says so and they are not too many: results, traps and memory must do
/// then.
fn execute(
    lowered: &Lowered,
    func: &Function,
    launch: &Launch,
    run: &RunOptions,
    record: Record,
) -> Result<warpfold_exec::Outcome, ExecError> {
    match lowered.run(func, launch, run, record) {
        Err(ExecError::RecordLimit { .. }) if record.events => {
            let record = Record {
                events: false,
                ..record
            };
            lowered.run(func, launch, run, record)
        }
        result => result,
    }
}

/// The run of a version, unless it did not finish, and whether it did the same
/// as before.
fn compared(
    before: &warpfold_exec::Outcome,
    launch: &Launch,
    name: &str,
    run: Result<warpfold_exec::Outcome, ExecError>,
) -> (Option<warpfold_exec::Outcome>, Sameness) {
    match run {
        Ok(outcome) => {
            let threads = launch.total_threads().unwrap_or(u64::MAX);
            let sameness = same::compare(before, &outcome, threads);
            (Some(outcome), sameness)
        }
        Err(e) => {
            let why = format!("the version {name} ended otherwise: {e}");
            (None, Sameness::Unfinished(why))
        }
    }
}

pub(crate) fn baseline(
    canonical: &Canonical,
    launch: &Launch,
    run: &RunOptions,
) -> Result<Baseline, Errors> {
    let lowered = canonical.before().lowered();
    let record = Record {
        profile: false,
        events: true,
        timeline: true,
        timing: true,
    };
    let func = canonical.before().func();
    let before =
        execute(lowered, func, launch, run, record).map_err(|e| lowered.failed(func, &e))?;
    let record = Record {
        profile: true,
        events: before.events.is_some(),
        timeline: false,
        timing: true,
    };
    let ran = execute(lowered, canonical.func(), launch, run, record);
    let (mut kept, kept_sameness) = compared(&before, launch, "kept", ran);
    Ok(Baseline {
        launch: launch.clone(),
        run: *run,
        profile: kept.as_mut().and_then(|o| o.profile.take()),
        before,
        kept,
        kept_sameness,
    })
}

pub(crate) fn measure(optimized: Optimized, baseline: Arc<Baseline>) -> Outcome {
    let Baseline {
        launch,
        run,
        before,
        ..
    } = &*baseline;
    let record = Record {
        profile: false,
        events: before.events.is_some(),
        timeline: true,
        timing: true,
    };
    let ran = execute(optimized.lowered(), optimized.func(), launch, run, record);
    let (after, sameness) = compared(before, launch, "after", ran);
    let measured = match &after {
        Some(after) => cost_by_branch(
            optimized.func(),
            after,
            optimized.owners(),
            &optimized.settings().machine,
        ),
        None => BTreeMap::new(),
    };
    Outcome {
        after,
        measured,
        sameness,
        baseline,
        optimized,
    }
}
