//! What a machine costs: facts with their sources, and the numbers made of them.
//!
//! A [`Machine`] holds facts only: what an issue of each
//! [`CostClass`](warpfold_ir::CostClass) costs, what executing a branch costs
//! on top of its own issue, latencies, schedulers, the pointer width. It never
//! decides anything; cost models do, and the executor's counters are weighed
//! by the same numbers, so that a prediction and a measurement compare.
//!
//! Machines are TOML documents. Six ship with the crate ([`MACHINES`]); any
//! other is read with [`Machine::from_toml`]. Every number has a source, its
//! own or its section's, and a document with an unknown key, a negative cost
//! or more decimals than [`Cost`] keeps is refused with line and column.
//!
//! # The counting rule
//!
//! One issue per IR instruction, terminators included, for the warp as a
//! whole; constants and block parameters are free. Weighed by a machine:
//!
//! ```text
//! cost = Σ issues of a class · issue cost of the class
//!      + guarded issues · guard
//!      + branches executed · b     (b_proven, b_agree or b_split)
//! ```
//!
//! Warps have 32 lanes ([`WARP_LANES`]); a machine that says otherwise is
//! refused.

mod cost;
mod machine;
mod number;
mod page;
mod read;
mod shipped;

pub use cost::{Cost, CostError};
pub use machine::{
    Cycles, IssuedOverhead, Machine, MemoryLatency, Sourced, Timing, UnknownMachine, WARP_LANES,
};
pub use page::machines_page;
pub use read::MachineError;
pub use shipped::{MACHINES, Shipped};
