//! A 32-lane masked executor for the Warpfold IR, with counters.
//!
//! [`run`] executes a [`Launch`] of a kernel on warps of 32 lanes and returns
//! an [`Outcome`]: results, memory and traps, and what it took. It shares no
//! code with what predicts costs, so that a prediction can be tested by it.
//!
//! # Execution model
//!
//! The lanes of a warp that are *active* execute an instruction together; it
//! is one issue. At a branch the lanes are grouped by target block. Where there
//! is more than one group the warp *splits*: the groups run one after another,
//! the first successor first (table order, a switch's default last), and meet
//! again at the branch's [join](warpfold_analysis::Joins), where they wait for
//! each other on the reconvergence stack. Two edges to one block are one
//! target: they choose block arguments and never split. Nothing issues without
//! an active lane.
//!
//! A call runs its callee in a frame of its own for the lanes that make it; they
//! go on together when all have come back. Lanes of an indirect call are grouped
//! by callee. A lane that calls too deep traps.
//!
//! A lane that returns, exits or traps is gone. A trap is recorded and the
//! other lanes go on. Warps of a block run in order, each until it ends or
//! waits at a barrier; blocks run in order. One launch runs on one thread and
//! is deterministic.
//!
//! The function must be [verified](warpfold_ir::verify()); the launch is
//! checked here.
//!
//! ```
//! use warpfold_exec::{Arg, ExecOptions, Launch, run};
//! use warpfold_ir::{FunctionBuilder, Opcode, Type};
//!
//! let mut b = FunctionBuilder::new("double");
//! let x = b.param(Type::I32, true);
//! b.returns(&[Type::I32]);
//! let y = b.ins(Opcode::Iadd, Type::I32, &[x, x]);
//! b.ret(&[y]);
//! let launch = Launch::linear(1, 32).with_args(vec![Arg::Varying((0..32).collect())]);
//! let outcome = run(&b.finish(), &launch, &ExecOptions::default()).unwrap();
//! assert_eq!(outcome.returns.get(5), Some(&[10][..]));
//! assert_eq!(outcome.counters.inst_executed, 2);
//! ```

mod access;
mod atomic;
mod calls;
mod census;
mod check;
mod counters;
mod cross;
mod decode;
pub mod docs;
mod engine;
mod error;
mod events;
mod its;
mod lanes;
mod launch;
mod linked;
mod local;
mod loops;
mod memory;
mod metrics;
mod moves;
mod outcome;
mod program;
mod progress;
mod record;
mod registers;
mod special;
mod stack;
mod stacked;
mod tally;
mod terminate;
mod timeline;
pub mod timing;
mod transactions;
mod warp;
mod warp_sync;

pub use check::{CheckError, Checked, Checks, PoisonUse, RacingAccess, RacingKind, Where};
pub use counters::{
    BlockCounters, BranchCounters, BranchKinds, Counters, LoadStore, LostLanes, SharedTransactions,
    Transactions, WarpCounters,
};
pub use error::{ExecError, LaunchError};
pub use events::{Event, EventKind, events_of};
pub use launch::{Arg, ExecOptions, Launch, MAX_BLOCK_THREADS, MAX_THREADS, MAX_WARPS, Mode};
pub use memory::{
    FUNCTION_BASE, GLOBAL_BASE, LOCAL_BASE, MAX_LOCAL, MAX_SHARED, Memory, SHARED_BASE,
};
pub use outcome::{Ending, FunctionOutcome, Outcome, Returns, Site, TrapRecord};
pub use timeline::{Issue, Pass, StackEntry, Timeline};

use warpfold_ir::{Function, Module};

/// Runs a verified kernel that calls nobody, or itself.
///
/// # Errors
/// Where the launch is not possible, where lanes of a warp would wait for ever
/// at a barrier or in a loop, and where a limit of `options` is reached. A
/// lane that traps is no error; see [`Outcome::traps`].
pub fn run(func: &Function, launch: &Launch, options: &ExecOptions) -> Result<Outcome, ExecError> {
    run_functions(&[func], 0, launch, options)
}

/// Runs a function of a [verified](warpfold_ir::verify_module) module.
///
/// # Errors
/// As [`run`], and where there is no such function.
pub fn run_module(
    module: &Module,
    entry: &str,
    launch: &Launch,
    options: &ExecOptions,
) -> Result<Outcome, ExecError> {
    let functions: Vec<&Function> = module.functions.iter().collect();
    let entry = module.position(entry).ok_or(LaunchError::Incomplete)?;
    run_functions(&functions, entry, launch, options)
}

/// The same of functions that are no module: the one at position `entry` is
/// launched, and calls find theirs by name. Addresses of functions depend on
/// their positions only.
///
/// # Errors
/// As [`run`], and where a callee is missing.
pub fn run_functions(
    functions: &[&Function],
    entry: usize,
    launch: &Launch,
    options: &ExecOptions,
) -> Result<Outcome, ExecError> {
    run_checked(functions, entry, launch, options, &Checks::NONE)
}

/// The same under [`Checks`]; [`Outcome::checked`] says how much was checked.
///
/// # Errors
/// As [`run_functions`], and [`ExecError::Check`] with the first thing that a
/// check finds wrong.
pub fn run_checked(
    functions: &[&Function],
    entry: usize,
    launch: &Launch,
    options: &ExecOptions,
    checks: &Checks<'_>,
) -> Result<Outcome, ExecError> {
    let func = functions.get(entry).ok_or(LaunchError::Incomplete)?;
    let dims = launch.check(func)?;
    let linked = linked::Linked::new(functions, entry, options)?;
    engine::Engine::new(&linked, launch, options, checks, dims)?.run()
}
