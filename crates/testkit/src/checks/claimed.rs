//! Kernels under the executor's checks: whatever the uniformity analysis claims
//! is so, poison is used only where it may be, and lanes do not race where
//! that was promised.

use warpfold::analysis::JoinRule;
use warpfold::analysis::uniformity::{
    Convergence, Fault, LaunchShape, Uniformity, UniformityOptions,
};
use warpfold::exec::{Checked, Checks, ExecError, ExecOptions, Launch, Mode, Outcome, run_checked};
use warpfold::ir::{Function, verify};

use super::{Failure, STEP_LIMIT, fail};
use crate::graphs::{Features, Kernel};

/// The claims about functions that are run together, the one at `entry` as the
/// kernel.
pub fn claims(
    functions: &[&Function],
    entry: usize,
    shape: LaunchShape,
    joins: JoinRule,
    mode: Mode,
) -> Vec<Uniformity> {
    let called = |name: &str| {
        let mut callees = functions.iter().flat_map(|f| f.callees.values());
        callees.any(|c| c.name == name)
    };
    let claims = functions.iter().enumerate().map(|(i, func)| {
        let options = UniformityOptions {
            shape,
            convergence: Convergence::Ipdom,
            joins,
            called: i != entry || called(&func.name),
            independent: mode == Mode::Its,
            ..UniformityOptions::default()
        };
        Uniformity::new(func, &options)
    });
    claims.collect()
}

/// Runs functions under the claims about them and the check of poison, and
/// of races if asked for.
///
/// # Errors
/// As [`run_checked`].
pub fn run_under_claims(
    functions: &[&Function],
    entry: usize,
    launch: &Launch,
    shape: LaunchShape,
    options: &ExecOptions,
    races: bool,
) -> Result<Outcome, ExecError> {
    let claims = claims(functions, entry, shape, options.joins, options.mode);
    let claims: Vec<Option<&Uniformity>> = claims.iter().map(Some).collect();
    let checks = Checks {
        claims: &claims,
        poison: true,
        races,
    };
    run_checked(functions, entry, launch, options, &checks)
}

/// What the check of one kernel saw.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Seen {
    /// Kernels.
    pub kernels: u64,
    /// What was in them.
    pub features: Features,
    /// How much was compared.
    pub checked: Checked,
}

impl Seen {
    /// Adds another's.
    pub fn add(&mut self, other: &Self) {
        self.kernels += other.kernels;
        self.features.add(&other.features);
        self.checked.add(&other.checked);
    }
}

/// Checks a kernel on an odd graph, with a mistake planted in the analysis
/// or without.
///
/// # Errors
/// If it is not valid, does not end, or is not as claimed.
pub fn check_graph(kernel: &Kernel, fault: Option<Fault>) -> Result<Seen, Failure> {
    let func = &kernel.func;
    let failed = |message: String| fail("claims", String::new(), message);
    verify(func).map_err(|e| fail("road", String::new(), e.to_string()))?;
    let options = UniformityOptions {
        shape: kernel.shape,
        joins: kernel.joins,
        budget: kernel.budget,
        fault,
        ..UniformityOptions::default()
    };
    let claims = Uniformity::new(func, &options);
    let how = ExecOptions {
        joins: kernel.joins,
        step_limit: STEP_LIMIT,
        ..ExecOptions::default()
    };
    let checks = Checks {
        claims: &[Some(&claims)],
        poison: true,
        races: false,
    };
    let outcome = run_checked(&[func], 0, &kernel.launch, &how, &checks)
        .map_err(|e| failed(e.to_string()))?;
    let mut features = kernel.features(&claims);
    kernel.ran(&outcome, &mut features);
    Ok(Seen {
        kernels: 1,
        features,
        checked: outcome.checked.unwrap_or_default(),
    })
}
