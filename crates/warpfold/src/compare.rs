//! Policies side by side: what each makes of a kernel, and what that costs when
//! it is executed.
//!
//! A policy is judged by the executor, never by the model that one of them
//! decides by. Different policies often end in the same code, which then runs
//! once.

use warpfold_exec::Launch;
use warpfold_ir::Origin;
use warpfold_machine::Cost;

use crate::error::Errors;
use crate::measure::Outcome;
use crate::road::Canonical;
use crate::settings::{Decider, RunOptions, Settings};

/// What one policy made of a kernel.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The policy's name.
    pub policy: String,
    /// By branch, in the order of the source: what it became.
    pub branches: Vec<(Origin, &'static str)>,
    /// What the converted kernel was predicted to cost; only with a profile.
    pub predicted: Option<Cost>,
    /// What it cost; `None` if it did not finish.
    pub executed: Option<Cost>,
    /// Issues of the converted kernel, by the same.
    pub issues: Option<u64>,
    /// Branch executions that split a warp, by the same.
    pub splits: Option<u64>,
    /// Whether it did the same as before.
    pub same: bool,
}

/// Converts and runs a kernel under each of `policies`; all else is as in
/// `settings`.
///
/// # Errors
/// If a conversion is no valid IR, the launch does not fit, or the kernel does
/// not finish before conversion.
pub fn policies(
    canonical: &Canonical,
    policies: &[Decider],
    settings: &Settings,
    launch: &Launch,
    run: &RunOptions,
) -> Result<Vec<Compared>, Errors> {
    let mut ran: Vec<Outcome> = Vec::new();
    let mut all = Vec::new();
    for policy in policies {
        let settings = Settings {
            policy: policy.clone(),
            ..settings.clone()
        };
        let optimized = canonical.clone().convert(&settings)?;
        let report = optimized.report();
        let mut compared = Compared {
            policy: policy.name().to_owned(),
            branches: report
                .decisions
                .iter()
                .map(|d| (d.origin, d.outcome()))
                .collect(),
            predicted: report.predicted,
            executed: None,
            issues: None,
            splits: None,
            same: false,
        };
        let known = ran
            .iter()
            .position(|o| o.optimized().func() == optimized.func());
        let known = match known {
            Some(known) => known,
            None => {
                ran.push(optimized.measure(launch, run)?);
                ran.len() - 1
            }
        };
        let outcome = &ran[known];
        let after = outcome.after();
        compared.executed = outcome.totals()[2];
        compared.issues = after.map(|o| o.counters.inst_executed);
        compared.splits = after.map(|o| o.counters.divergent_branch);
        compared.same = outcome.all_same();
        all.push(compared);
    }
    Ok(all)
}
