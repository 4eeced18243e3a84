//! What a user can set: for the whole road, for a run, for a conversion.

use std::sync::Arc;

use warpfold_analysis::JoinRule;
use warpfold_analysis::uniformity::LaunchShape;
use warpfold_exec::Mode;
use warpfold_exec::timing::TimingModel;
use warpfold_machine::Machine;
use warpfold_opt as opt;
use warpfold_opt::ifconv::policy::{Cheapest, Policy};
use warpfold_opt::policy::{POLICIES, find};
use warpfold_opt::report::Force;

/// The machine that decides when none is named.
pub const DEFAULT_MACHINE: &str = "ampere";

/// Issues after which a run is given up.
pub const DEFAULT_STEP_LIMIT: u64 = 100_000_000;

/// Most frames of a warp.
pub const DEFAULT_CALL_DEPTH: u32 = 1024;

/// What holds all along the road.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Where the lanes of a branch meet again.
    pub joins: JoinRule,
    /// How the lanes of a warp are scheduled, in runs and in what analyses claim.
    pub mode: Mode,
    /// What is known of the launch; `None` for what the kernel's file states,
    /// and for nothing where there is no file.
    pub shape: Option<LaunchShape>,
    /// Merge equal loads and stores of both sides, before anything is priced.
    pub merge_accesses: bool,
    /// Verify after each stage in every build.
    pub verify_each: bool,
}

/// What is checked while a kernel runs; what is found wrong ends the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RunChecks {
    /// What the uniformity analysis claims is compared with what lanes hold.
    pub uniformity: bool,
    /// Poison is followed to where it must not be.
    pub poison: bool,
    /// Accesses of different lanes to one byte must be ordered.
    pub races: bool,
}

impl RunChecks {
    /// All of them.
    pub const ALL: Self = Self {
        uniformity: true,
        poison: true,
        races: true,
    };
}

/// How a kernel is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunOptions {
    /// Issues after which a run is given up.
    pub step_limit: u64,
    /// Most frames of a warp, the kernel's included; a lane that calls deeper
    /// traps.
    pub call_depth: u32,
    /// Record which lanes went through which block.
    pub timeline: bool,
    /// Schedule what runs by this model of time.
    pub timing: Option<TimingModel>,
    /// What is checked.
    pub checks: RunChecks,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            step_limit: DEFAULT_STEP_LIMIT,
            call_depth: DEFAULT_CALL_DEPTH,
            timeline: false,
            timing: None,
            checks: RunChecks::default(),
        }
    }
}

/// Who decides; to be shared between conversions.
pub type Decider = Arc<dyn Policy + Send + Sync>;

/// The shipped policy of this name (see `opt::policy::POLICIES`).
///
/// # Errors
/// What names there are.
pub fn policy(name: &str) -> Result<Decider, String> {
    match find(name) {
        Some(row) => Ok(Arc::new(row.policy)),
        None => {
            let names: Vec<&str> = POLICIES.iter().map(|row| row.name).collect();
            Err(format!(
                "no policy is named `{name}`; there are {}",
                names.join(", ")
            ))
        }
    }
}

/// How to convert.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What things cost.
    pub machine: Machine,
    /// Who decides; a knob or a hint overrides it.
    pub policy: Decider,
    /// The form that overrides whoever decides where it is legal.
    pub force: Option<Force>,
    /// An assignment of forms spelled out, instead of all that decides.
    pub choice: Option<opt::Choice>,
    /// What is assumed of branches where nothing is known.
    pub prior: opt::Prior,
    /// Whether equal instructions of both sides of a diamond are merged in
    /// straight code, where that is cheaper.
    pub merge: bool,
    /// Whether to clean up what conversion emits. Predictions are exact
    /// without.
    pub cleanup: bool,
}

impl Settings {
    /// By cost on `machine`, with merging and clean-up.
    pub fn new(machine: Machine) -> Self {
        Self {
            machine,
            policy: Arc::new(Cheapest),
            force: None,
            choice: None,
            prior: opt::Prior::default(),
            merge: true,
            cleanup: true,
        }
    }
}
