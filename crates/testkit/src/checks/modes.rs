//! The two execution models against each other, and both against threads that are
//! run one at a time.

use warpfold::Outcome;
use warpfold::analysis::LaunchShape;
use warpfold::exec::{self, ExecOptions, Mode};
use warpfold::ir::Function;

use super::claimed::run_under_claims;
use super::{Failure, STEP_LIMIT, Subject, fail, under};
use crate::scalar::{self, ScalarError};

/// What a comparison saw.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Compared {
    /// Versions of kernels run with independent thread scheduling.
    pub modes: u64,
    /// Of these, those with a yield, in which only results are compared.
    pub yielding: u64,
    /// Versions run thread by thread.
    pub scalar: u64,
}

impl Compared {
    /// Adds another.
    pub fn add(&mut self, other: &Self) {
        self.modes += other.modes;
        self.yielding += other.yielding;
        self.scalar += other.scalar;
    }
}

/// The versions before and after with their runs on the stack.
fn versions(outcome: &Outcome) -> [(&'static str, &Function, Option<&exec::Outcome>); 2] {
    let optimized = outcome.optimized();
    [
        ("before", optimized.before().func(), Some(outcome.before())),
        ("after", optimized.func(), outcome.after()),
    ]
}

/// Counters that both modes share for a kernel in which no lane gives way: all, but
/// what only one mode has, and which of the idle lanes have left already.
fn shared(run: &exec::Outcome) -> Vec<(String, u64)> {
    let c = &run.counters;
    let of_one = ["stack_", "joins_", "barrier_max_depth", "lost_"];
    let rows = c.rows().into_iter();
    let mut rows: Vec<_> = rows
        .filter(|(name, _)| !of_one.iter().any(|p| name.starts_with(p)))
        .collect();
    rows.push(("lost in all".to_owned(), c.lost.total()));
    rows
}

/// Why two runs of one function are not the same; `costs` says whether counters must
/// agree as well.
fn difference(a: &exec::Outcome, b: &exec::Outcome, costs: bool) -> Option<String> {
    if a.returns != b.returns {
        return Some("results differ".to_owned());
    }
    let traps = |run: &exec::Outcome| {
        let mut traps: Vec<_> = run
            .traps
            .iter()
            .map(|t| (t.thread, t.site, t.code))
            .collect();
        traps.sort_unstable();
        traps
    };
    if traps(a) != traps(b) {
        return Some(format!("traps: {:?} and {:?}", traps(a), traps(b)));
    }
    if a.memory != b.memory {
        return Some("memory differs".to_owned());
    }
    if !costs {
        return None;
    }
    let (left, right) = (shared(a), shared(b));
    if let Some((x, y)) = left.iter().zip(&right).find(|(x, y)| x != y) {
        return Some(format!("{} is {} and {}", x.0, x.1, y.1));
    }
    if a.blocks != b.blocks {
        return Some("passes of blocks differ".to_owned());
    }
    let branches = |run: &exec::Outcome| -> Vec<_> {
        let all = run.branches.iter();
        all.map(|b| (b.block, b.executions, b.taken.clone(), b.divergent, b.lanes))
            .collect()
    };
    (branches(a) != branches(b)).then(|| "branches differ".to_owned())
}

/// With independent thread scheduling the versions before and after do the same, cost
/// the same unless lanes give way, and hold what uniformity claims of them.
///
/// # Errors
/// The first difference.
pub fn check_modes(subject: &Subject, outcome: &Outcome) -> Result<Compared, Failure> {
    let lowered = outcome.optimized().lowered();
    let mut compared = Compared::default();
    for (name, func, stack) in versions(outcome) {
        let wrong = |message: String| {
            let under = under(outcome.optimized().settings());
            Err(fail("modes", under, format!("{name}: {message}\n{func}")))
        };
        let Some(stack) = stack else { continue };
        let options = ExecOptions {
            mode: Mode::Its,
            joins: lowered.options().joins,
            step_limit: STEP_LIMIT,
            ..ExecOptions::default()
        };
        let functions = lowered.linked(func);
        // Under the uniformity claims, which must hold in this mode too.
        let launch = subject.launch();
        let shape = LaunchShape::new(launch.grid, launch.block);
        let kernel = lowered.kernel();
        match run_under_claims(&functions, kernel, launch, shape, &options, false) {
            Err(e) => return wrong(e.to_string()),
            Ok(its) => {
                let yields = its.counters.yields > 0;
                if let Some(message) = difference(stack, &its, !yields) {
                    return wrong(message);
                }
                compared.modes += 1;
                compared.yielding += u64::from(yields);
            }
        }
    }
    Ok(compared)
}

/// The versions before and after do what their threads do one at a time.
///
/// # Errors
/// The first difference.
pub fn check_scalar(subject: &Subject, outcome: &Outcome) -> Result<Compared, Failure> {
    let lowered = outcome.optimized().lowered();
    let mut compared = Compared::default();
    for (name, func, run) in versions(outcome) {
        let Some(run) = run else { continue };
        let functions = lowered.linked(func);
        let depth = warpfold::DEFAULT_CALL_DEPTH as usize;
        let kernel = lowered.kernel();
        let limit = 32 * STEP_LIMIT;
        let result = match scalar::run(&functions, kernel, subject.launch(), depth, limit) {
            Err(ScalarError::Unsupported(_)) => continue,
            Err(e) => Err(e.to_string()),
            Ok(expected) => scalar::compare(&expected, run),
        };
        if let Err(message) = result {
            let under = under(outcome.optimized().settings());
            let message = format!("{name}: {message}\n{func}");
            return Err(fail("scalar", under, message));
        }
        compared.scalar += 1;
    }
    Ok(compared)
}
