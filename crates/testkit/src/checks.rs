//! What must hold for every kernel, as functions that any test, fuzzer or
//! user's own suite can call.
//!
//! [`Subject::read`] takes a kernel with its launch down the road to where it
//! is priced. From there
//!
//! - [`check_same`]: all versions did the same, the lanes of all issues add
//!   up, and no branch split that was proven not to;
//! - [`check_exact`]: with the profile of the same launch and no trap, what a
//!   conversion was predicted to cost is what it costs, in total and branch by
//!   branch; after clean-up the difference is what clean-up lists as removed;
//! - [`check_modes`]: the kernel does the same with independent thread scheduling,
//!   at the same cost if no lane gives way;
//! - [`check_scalar`]: it does what its threads do one at a time, without masks;
//! - [`check_oracle`]: every version does what Cranelift's interpreter does.
//!
//! Beside these, [`claimed`] holds a kernel against the executor's own checks: what the
//! uniformity analysis claims is what lanes hold.
//!
//! [`check`] does all of it for one machine and knob; [`generated`] does it for
//! programs made from bytes; [`check_ir_text`] and [`check_clif_text`] feed the
//! road text that nobody vouches for. Each returns what it
//! saw, so that a test can assert that conversions really took place: a check
//! that only ever sees branches proves nothing.

pub mod between;
pub mod claimed;
pub mod decided;
pub mod generated;
mod modes;
pub mod regret;
mod tally;
mod text;

use std::fmt;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use warpfold::exec::{BranchCounters, Launch};
use warpfold::launch::Overrides;
use warpfold::machine::{Cost, MACHINES, Machine};
use warpfold::opt::report::Force;
use warpfold::same::Sameness;
use warpfold::{
    Baseline, Canonical, Options, Outcome, RunChecks, RunOptions, Settings, Source, Syntax,
};

use crate::oracle::{self, Expected, OracleError};

pub use modes::{Compared, check_modes, check_scalar};
pub use tally::{IDIOMS, Tally};
pub use text::{check_clif_text, check_ir_text};

/// Steps after which a run is given up: kernels under check are small.
pub const STEP_LIMIT: u64 = 4_000_000;

/// The shipped machines, read once.
pub(crate) static SHIPPED: LazyLock<Vec<Machine>> =
    LazyLock::new(|| MACHINES.iter().map(|m| m.machine()).collect());

/// A check that failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// Which check: `road`, `same`, `lanes`, `exact`, `modes`, `scalar`, `oracle`,
    /// `claims`, `text`.
    pub check: &'static str,
    /// Machine and knob, where they matter.
    pub under: String,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.check)?;
        if !self.under.is_empty() {
            write!(f, " ({})", self.under)?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for Failure {}

/// A kernel with its launch, canonical and profiled.
#[derive(Clone, Debug)]
pub struct Subject {
    text: String,
    canonical: Canonical,
    launch: Launch,
    baseline: Arc<Baseline>,
}

impl Subject {
    /// Reads a kernel file and runs it before and kept, which counts; files that its
    /// launch names lie in `dir`.
    ///
    /// # Errors
    /// Whatever the road refuses.
    pub fn read(text: &str, file: &str, dir: &Path) -> Result<Self, Failure> {
        Self::read_by(text, file, dir, Options::default())
    }

    /// The same with options of the road.
    ///
    /// # Errors
    /// Whatever the road refuses.
    pub fn read_by(text: &str, file: &str, dir: &Path, options: Options) -> Result<Self, Failure> {
        let road = |e: warpfold::Errors| fail("road", String::new(), e.to_string());
        let options = Options {
            verify_each: true,
            ..options
        };
        let kernel = Source::parse(text, file, Syntax::of_file(file))
            .and_then(|s| s.kernel(&Overrides::default(), &options))
            .map_err(road)?;
        let launch = kernel.launch(dir).map_err(road)?;
        let canonical = kernel
            .lowered
            .clean()
            .and_then(warpfold::Before::canonicalise)
            .map_err(road)?;
        let baseline = canonical.baseline(&launch, &run_options()).map_err(road)?;
        if let Sameness::Unfinished(why) = baseline.kept_sameness() {
            return Err(fail("road", String::new(), why.clone()));
        }
        Ok(Self {
            text: text.to_owned(),
            canonical: canonical.profiled_by(&baseline),
            launch,
            baseline: Arc::new(baseline),
        })
    }

    /// The kernel as it is priced.
    pub fn canonical(&self) -> &Canonical {
        &self.canonical
    }

    /// How many lanes trap in the kernel as it was written.
    pub fn traps(&self) -> usize {
        self.baseline.before().traps.len()
    }

    /// The launch.
    pub fn launch(&self) -> &Launch {
        &self.launch
    }

    /// The same kernel and launch, with nothing counted beforehand.
    ///
    /// # Errors
    /// Whatever the road refuses.
    pub fn without_profile(&self) -> Result<Self, Failure> {
        let canonical = self.canonical.before().clone().canonicalise();
        Ok(Self {
            canonical: canonical.map_err(|e| fail("road", String::new(), e.to_string()))?,
            ..self.clone()
        })
    }

    /// Converts, and runs what comes out beside the versions that have run.
    ///
    /// # Errors
    /// If it is no valid IR.
    pub fn outcome(&self, settings: &Settings) -> Result<Outcome, Failure> {
        let optimized = self.canonical.clone().convert(settings);
        let optimized = optimized.map_err(|e| fail("road", under(settings), e.to_string()))?;
        Ok(optimized.measure_beside(&self.baseline))
    }

    /// What the interpreter makes of it; `None` where it cannot run it lane
    /// by lane.
    ///
    /// # Errors
    /// If the interpreter fails on what it should know, or the kernel does
    /// not end.
    pub fn expected(&self) -> Result<Option<Expected>, Failure> {
        let name = &self.canonical.func().name;
        match oracle::function(&self.text, name)
            .and_then(|func| oracle::run(&func, &self.launch, 32 * STEP_LIMIT))
        {
            Ok(expected) => Ok(Some(expected)),
            Err(OracleError::Unsupported(_)) => Ok(None),
            Err(e) => Err(fail("oracle", String::new(), e.to_string())),
        }
    }
}

fn run_options() -> RunOptions {
    RunOptions {
        step_limit: STEP_LIMIT,
        checks: RunChecks::ALL,
        ..RunOptions::default()
    }
}

fn fail(check: &'static str, under: String, message: String) -> Failure {
    Failure {
        check,
        under,
        message,
    }
}

fn under(settings: &Settings) -> String {
    let force = match settings.force {
        Some(force) => force.name().to_owned(),
        None => format!("by {}", settings.policy.name()),
    };
    let cleanup = if settings.cleanup {
        ""
    } else {
        ", no clean-up"
    };
    format!("{}, {force}{cleanup}", settings.machine.name)
}

/// Settings for a machine and knob, with or without the final clean-up.
pub fn settings(machine: &Machine, force: Option<Force>, cleanup: bool) -> Settings {
    Settings {
        force,
        cleanup,
        ..Settings::new(machine.clone())
    }
}

/// The versions before, kept and after did the same; in each the lanes of all
/// issues add up, in total and at every branch, and no branch split that is
/// marked as one that never does.
///
/// # Errors
/// The first that does not hold.
pub fn check_same(outcome: &Outcome) -> Result<(), Failure> {
    let under = || under(outcome.optimized().settings());
    for (name, sameness) in [
        ("kept", outcome.kept_sameness()),
        ("after", outcome.sameness()),
    ] {
        if !sameness.is_same() {
            return Err(fail("same", under(), format!("{name}: {sameness}")));
        }
    }
    let runs = [Some(outcome.before()), outcome.kept(), outcome.after()];
    for (name, run) in ["before", "kept", "after"].into_iter().zip(runs) {
        let Some(run) = run else {
            return Err(fail("lanes", under(), format!("{name} did not run")));
        };
        if !run.counters.lanes_add_up() {
            return Err(fail(
                "lanes",
                under(),
                format!("{name}: {:?}", run.counters),
            ));
        }
        let wrong = |b: &&BranchCounters| {
            32 * b.executions != b.lanes + b.lost.total() || b.proven && b.divergent != 0
        };
        if let Some(b) = run.branches.iter().find(wrong) {
            return Err(fail("lanes", under(), format!("{name}: {b:?}")));
        }
    }
    Ok(())
}

/// What a conversion cost, exactly as predicted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exact {
    /// Executed and predicted, without clean-up.
    pub cost: Cost,
    /// What clean-up saved.
    pub removed: Cost,
}

/// The outcome without clean-up cost what was predicted, in total and for
/// each branch; the one with clean-up less by what it lists as removed. Keeping
/// every branch is not dearer than before, and deciding by cost not dearer
/// than that.
/// `None` if a lane trapped: predictions are for launches without traps.
///
/// # Errors
/// The first number that differs.
pub fn check_exact(plain: &Outcome, cleaned: &Outcome) -> Result<Option<Exact>, Failure> {
    if !plain.before().traps.is_empty() {
        return Ok(None);
    }
    let wrong = |o: &Outcome, message: String| {
        let all = warpfold::render::text(&warpfold::render::run(o), Default::default());
        let under = under(o.optimized().settings());
        Err(fail("exact", under, format!("{message}\n{all}")))
    };
    let report = plain.optimized().report();
    let [before, kept, executed] = plain.totals();
    let (Some(predicted), Some(executed)) = (report.predicted, executed) else {
        return wrong(plain, "there is no prediction or no run".into());
    };
    if predicted != executed {
        return wrong(plain, format!("predicted {predicted}, executed {executed}"));
    }
    // What canonicalisation does pays off whatever a branch costs.
    if before < kept {
        let message = format!(
            "before {}, kept {}",
            before.unwrap_or_default(),
            kept.unwrap_or_default()
        );
        return wrong(plain, message);
    }
    let by_cost = plain.optimized().settings().force.is_none()
        && report.policy == "cost"
        && report.decisions.iter().all(|d| d.hint.is_none());
    if by_cost && Some(predicted) > kept {
        return wrong(plain, "dearer than with every branch kept".into());
    }
    if report.predicted_kept != kept {
        let shown = [report.predicted_kept, kept].map(|c| c.unwrap_or_default());
        let message = format!("kept: predicted {}, executed {}", shown[0], shown[1]);
        return wrong(plain, message);
    }
    let mut outside = executed;
    for d in &report.decisions {
        let measured = plain.measured(d.origin).unwrap_or_default();
        let predicted = d.predicted.unwrap_or_default();
        if predicted != measured {
            let message = format!(
                "the branch at {}: predicted {predicted}, executed {measured}",
                d.origin
            );
            return wrong(plain, message);
        }
        outside -= measured;
    }
    if plain.measured_outside() != Some(outside) {
        return wrong(plain, format!("outside of branches {outside} is left"));
    }

    let report = cleaned.optimized().report();
    let [_, _, after] = cleaned.totals();
    let after = after.unwrap_or_default();
    let removed: Cost = report.removed.iter().map(|r| r.predicted).sum();
    if report.predicted != Some(predicted) || after + removed != predicted || after > predicted {
        let message = format!(
            "cleaned up: predicted {}, executed {after}, removed {removed}",
            report.predicted.unwrap_or_default()
        );
        return wrong(cleaned, message);
    }
    Ok(Some(Exact {
        cost: predicted,
        removed,
    }))
}

/// Every version did what the interpreter did.
///
/// # Errors
/// The first difference.
pub fn check_oracle(expected: &Expected, outcome: &Outcome) -> Result<(), Failure> {
    let runs = [Some(outcome.before()), outcome.kept(), outcome.after()];
    for (name, run) in ["before", "kept", "after"].into_iter().zip(runs) {
        let result = match run {
            Some(run) => oracle::compare(expected, run).map_err(|m| m.to_string()),
            None => Err("did not run".to_owned()),
        };
        if let Err(message) = result {
            let under = under(outcome.optimized().settings());
            return Err(fail("oracle", under, format!("{name}: {message}")));
        }
    }
    Ok(())
}

/// All checks of a kernel under one machine and knob, but for the scalar run.
/// `expected` is what the interpreter made of it, if it could run it.
///
/// # Errors
/// The first check that fails.
pub fn check(
    subject: &Subject,
    machine: &Machine,
    force: Option<Force>,
    expected: Option<&Expected>,
) -> Result<Tally, Failure> {
    check_with(subject, machine, force, expected, false)
}

/// The same; `scalar` also runs the threads one at a time.
///
/// # Errors
/// The first check that fails.
pub fn check_with(
    subject: &Subject,
    machine: &Machine,
    force: Option<Force>,
    expected: Option<&Expected>,
    scalar: bool,
) -> Result<Tally, Failure> {
    check_settings(subject, &settings(machine, force, true), expected, scalar)
}

/// The same under any settings, with and without clean-up.
///
/// # Errors
/// The first check that fails.
pub fn check_settings(
    subject: &Subject,
    settings: &Settings,
    expected: Option<&Expected>,
    scalar: bool,
) -> Result<Tally, Failure> {
    let [plain, cleaned] = [false, true].map(|cleanup| {
        subject.outcome(&Settings {
            cleanup,
            ..settings.clone()
        })
    });
    let (plain, cleaned) = (plain?, cleaned?);
    for outcome in [&plain, &cleaned] {
        check_same(outcome)?;
        if let Some(expected) = expected {
            check_oracle(expected, outcome)?;
        }
    }
    let exact = check_exact(&plain, &cleaned)?;
    let mut compared = check_modes(subject, &cleaned)?;
    if scalar {
        compared.add(&check_scalar(subject, &cleaned)?);
    }
    let mut tally = Tally::of(plain.optimized().report());
    tally.count_idioms(subject.canonical.func(), plain.optimized().func());
    tally.checked = 1;
    tally.exact = u64::from(exact.is_some());
    tally.oracle = u64::from(expected.is_some());
    tally.compared = compared;
    tally.executed = exact.map_or(Cost::ZERO, |e| e.cost);
    Ok(tally)
}
