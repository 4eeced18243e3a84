//! A model of time: how many cycles one multiprocessor takes for a launch.
//!
//! Counters know no machine and no time. This module takes what was executed,
//! warp by warp, and schedules it on a multiprocessor as a machine describes
//! it; it changes nothing of the run and is off unless
//! [`ExecOptions::timing`](crate::ExecOptions::timing) is set.
//!
//! # The model
//!
//! - Blocks are placed in order, each as soon as the multiprocessor has room
//!   for all its warps; the room is freed when its last warp has ended.
//! - A warp takes the lowest free place; place `p` belongs to scheduler
//!   `p mod schedulers`.
//! - In each cycle a scheduler issues for one warp, chosen by loose round
//!   robin: the first that can issue, from the one after the last chosen on. It
//!   issues one instruction, or, where the machine issues several per cycle, as
//!   many as follow each other without a dependence.
//! - A warp issues in order. An instruction waits for its operands, its guard
//!   and its `else` value, as a scoreboard of registers would make it: a value
//!   is ready the *dependent latency* of its class after its issue. A block
//!   parameter is ready when the arguments are that came in by the edges taken.
//! - After a branch, jump, return, call or guarded exit nothing of the warp
//!   issues until it is resolved, a latency later: nothing is predicted.
//! - A class with an *issue interval* holds its pipe for so long; the divisions
//!   and special functions of a precision share one.
//! - A load's value comes from shared memory or from the level of the hierarchy
//!   that the model names, the same for every load. A load or store without a
//!   lane on asks for nothing.
//! - Groups of a warp that are scheduled independently issue in the order in which
//!   they ran, from one scoreboard; a yield is resolved like a branch.
//! - At a barrier a warp waits until all warps of its block that have not ended
//!   are there.
//!
//! With one scheduler, `W` warps of `n` instructions that all depend on the one
//! before, latency `L`, this gives `launch + n·L + W − 1` cycles for `W ≤ L` and
//! `launch + n·W + L − 1` beyond.
//!
//! # What it leaves out
//!
//! Caches, bandwidth, bank conflicts and coalescing (the counters have them),
//! instruction fetch, register and shared-memory limits on residency, register
//! bank conflicts, other multiprocessors. Scoreboards are kept by function, not
//! by frame: a call waits for its arguments, a return for its values, and what
//! comes back is ready when the caller goes on.
//!
//! # Memory
//!
//! What is kept of a warp is its way through the code, segment by segment, and
//! only for the blocks that are resident: the model follows the run block by
//! block. [`TimingModel::max_steps`] bounds it.

mod code;
mod model;
mod record;
mod result;
mod sm;

pub(crate) use record::Recorder;

pub use model::{LoadLevel, MAX_STEPS, TimingModel, TimingModelError};
pub use result::{Timing, WarpState};
