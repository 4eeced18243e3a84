//! Passes over the SIMT IR, and if-conversion by an explicit cost model.
//!
//! [`inline()`] and [`clean()`] leave the *before* of every comparison, [`canonicalise()`] what
//! is cheaper whatever a branch costs, and [`convert()`] decides for each
//! conditional region between its branch and straight-line code, rewrites, and
//! reports every number it decided by. This crate predicts; it never executes,
//! and the executor never sees it.

pub mod canonical;
pub mod clean;
pub mod docs;
mod edit;
pub mod ifconv;
pub mod inline;
pub mod log;
pub mod pass;
pub mod policy;
pub mod prior;
pub mod report;
pub mod safety;
mod turn;

use warpfold_analysis::JoinRule;
use warpfold_analysis::uniformity::{Uniformity, UniformityOptions};
use warpfold_ir::{Function, Terminator};

pub use ifconv::decide::Choice;
pub use ifconv::{
    Assumed, Context, Conversion, Misfit, Owners, SourceBranch, choices, convert, convert_owned,
    misfits,
};
pub use log::{CallStep, ExitMade, Inlined, Log};
pub use pass::{ModulePassRow, PassRow, passes};
pub use prior::Prior;

/// Folds constants and removes dead code and repeated computations. `joins` is
/// the rule by which lanes will join when the function runs.
pub fn clean(func: &mut Function, joins: JoinRule, log: &mut Log) {
    pass::to_fixpoint(pass::CLEAN, func, joins, log);
}

/// Inlines the callees of `func` that do not call themselves. `others` are the
/// functions of its module (it may be among them), cleaned up already; `joins`
/// is the rule by which lanes will join.
pub fn inline(func: &mut Function, others: &[&Function], joins: JoinRule, log: &mut Log) {
    for row in pass::MODULE {
        (row.run)(func, others, joins, log);
    }
}

/// Hoists equal work of both sides and turns sides that only leave into
/// guarded exits and traps, then cleans up after itself. `joins` is the rule by
/// which lanes will join when the function runs.
pub fn canonicalise(func: &mut Function, joins: JoinRule, log: &mut Log) {
    let rows: Vec<_> = pass::CANONICAL.iter().chain(pass::CLEAN).copied().collect();
    pass::to_fixpoint(&rows, func, joins, log);
}

/// Merges equal loads and stores of both sides (see the pass `accesses`), then cleans
/// up after itself. `options` is what is known when the function runs.
pub fn merge_accesses(func: &mut Function, options: &UniformityOptions, log: &mut Log) {
    if canonical::accesses::merge(func, options, log) {
        pass::to_fixpoint(pass::TIDY, func, options.joins, log);
    }
}

/// Marks the branches that never split a warp, as `uniformity` proves. A
/// branch whose edges all go to one block never does.
pub fn mark_proven(func: &mut Function, uniformity: &Uniformity) {
    for b in func.layout.clone() {
        let proven = has_one_target(func.term(b)) || uniformity.is_uniform_branch(b);
        if let Some(mark) = func.block_mut(b).term.as_mut().and_then(|t| t.mark_mut()) {
            mark.proven = proven;
        }
    }
}

fn has_one_target(term: &Terminator) -> bool {
    term.targets()
        .windows(2)
        .all(|pair| pair[0].block == pair[1].block)
}
