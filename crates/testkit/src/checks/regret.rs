//! No legal assignment of forms is cheaper than the chosen one, and each costs
//! what is predicted for it.
//!
//! What may be chosen is listed without a look at cost. Each assignment is
//! converted for each machine; every different function that comes out is run
//! once, and what it did is weighed by each machine that gets it (what is guarded, or
//! merged, depends on prices). So both halves of the claim
//! are tested by execution: that predictions are exact for what is not chosen,
//! too, and that the choice is the best of all.

use std::collections::HashMap;

use warpfold::exec::Outcome;
use warpfold::ir::Function;
use warpfold::machine::Cost;
use warpfold::{Optimized, Settings, same};

use super::{Failure, SHIPPED, Subject, Tally, fail, run_options, settings, under};

/// What was compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Compared {
    /// Kernels.
    pub kernels: u64,
    /// Legal assignments, those of all kernels together.
    pub assignments: u64,
    /// Of these, assignments that skip something.
    pub skipping: u64,
    /// Assignments in which some machine merges instructions of both sides.
    pub merging: u64,
    /// Runs of different functions.
    pub runs: u64,
}

impl Compared {
    /// Adds another kernel's.
    pub fn add(&mut self, other: Self) {
        self.kernels += other.kernels;
        self.assignments += other.assignments;
        self.skipping += other.skipping;
        self.merging += other.merging;
        self.runs += other.runs;
    }
}

/// Checks every legal assignment of a kernel on every machine; nothing if there
/// are more than `limit` or no choice at all, or if a lane traps.
///
/// # Errors
/// The first prediction that is wrong, version that does something else, or
/// assignment that is cheaper than the chosen one.
pub fn check_regret(subject: &Subject, limit: usize) -> Result<Option<Compared>, Failure> {
    let machines = &*SHIPPED;
    let Some(first) = machines.first() else {
        return Ok(None);
    };
    let choices = subject
        .canonical
        .choices(&settings(first, None, false), limit);
    let Some(choices) = choices.filter(|c| c.len() > 1) else {
        return Ok(None);
    };
    let lowered = subject.canonical.before().lowered();
    let run = |func: &Function, what: String| {
        lowered
            .execute(func, &subject.launch, &run_options())
            .map_err(|e| fail("regret", what, e.to_string()))
    };
    let before = subject.baseline.before();
    if !before.traps.is_empty() {
        return Ok(None);
    }
    let threads = subject.launch.total_threads().unwrap_or(u64::MAX);
    let convert = |settings: &Settings| -> Result<Optimized, Failure> {
        let optimized = subject.canonical.clone().convert(settings);
        optimized.map_err(|e| fail("road", under(settings), e.to_string()))
    };
    let mut compared = Compared {
        kernels: 1,
        assignments: choices.len() as u64,
        ..Compared::default()
    };
    let mut runs: HashMap<String, Outcome> = HashMap::new();
    let mut least: Vec<Option<Cost>> = vec![None; machines.len()];
    for choice in choices {
        let skips = choice
            .straight
            .values()
            .any(|bodies| bodies.contains(&true));
        compared.skipping += u64::from(skips);
        let mut merges = false;
        for (machine, least) in machines.iter().zip(&mut least) {
            let settings = Settings {
                choice: Some(choice.clone()),
                ..settings(machine, None, false)
            };
            let what = || format!("{}, {choice:?}", machine.name);
            let optimized = convert(&settings)?;
            merges |= Tally::of(optimized.report()).merged > 0;
            let text = optimized.func().to_string();
            if !runs.contains_key(&text) {
                let outcome = run(optimized.func(), what())?;
                let sameness = same::compare(before, &outcome, threads);
                if !sameness.is_same() {
                    return Err(fail("regret", what(), format!("{sameness}\n{text}")));
                }
                runs.insert(text.clone(), outcome);
            }
            let executed = runs[&text].counters.cost(machine);
            let predicted = optimized.report().predicted;
            if predicted != Some(executed) {
                let predicted = predicted.unwrap_or_default();
                let message = format!("predicted {predicted}, executed {executed}\n{text}");
                return Err(fail("regret", what(), message));
            }
            *least = Some(least.map_or(executed, |l| l.min(executed)));
        }
        compared.merging += u64::from(merges);
    }
    for (machine, least) in machines.iter().zip(least) {
        let chosen = convert(&settings(machine, None, false))?;
        let predicted = chosen.report().predicted;
        if predicted != least {
            let [predicted, least] = [predicted, least].map(Option::unwrap_or_default);
            let text = chosen.func().to_string();
            let message = format!("the choice costs {predicted}, the cheapest {least}\n{text}");
            return Err(fail("regret", machine.name.clone(), message));
        }
    }
    compared.runs = runs.len() as u64;
    Ok(Some(compared))
}
