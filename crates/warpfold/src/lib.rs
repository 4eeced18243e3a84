//! If-conversion for SIMT code, with every prediction beside a measurement.
//!
//! For each conditional of a GPU kernel: is a branch cheaper, or straight-line
//! code? This crate puts the parts of Warpfold in a row. The row is
//! [`road`]: stages from a kernel to a verdict, each owning the one before.
//!
//! ```
//! use warpfold::launch::Overrides;
//! use warpfold::{Options, RunOptions, Settings, Source, Syntax};
//!
//! let text = "
//! ;! block = 32
//! ;! [[arg]]
//! ;! varying = \"lane\"
//! function %clamp(i32) -> i32 {
//! block0(v0: i32):
//!     v1 = iconst.i32 20
//!     v2 = icmp sgt v0, v1
//!     brif v2, block1, block2(v0)
//! block1:
//!     v3 = isub v1, v0
//!     jump block2(v3)
//! block2(v4: i32):
//!     return v4
//! }";
//! let kernel = Source::parse(text, "clamp.clif", Syntax::Clif)?
//!     .kernel(&Overrides::default(), &Options::default())?;
//! let launch = kernel.launch(".".as_ref())?;
//! let run = RunOptions::default();
//! let machine = warpfold::machine::Machine::builtin("ampere").unwrap();
//! let outcome = kernel
//!     .lowered
//!     .clean()?
//!     .canonicalise()?
//!     .profile(&launch, &run)?
//!     .convert(&Settings::new(machine))?
//!     .measure(&launch, &run)?;
//! assert!(outcome.all_same());
//! assert_eq!(outcome.optimized().report().decisions[0].outcome(), "straight");
//! print!("{}", warpfold::render::text(&warpfold::render::run(&outcome), Default::default()));
//! # Ok::<(), warpfold::Errors>(())
//! ```
//!
//! The crates behind the stages, for what the road does not offer:

/// The page on embedding, to be tested.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/embedding.md")]
struct Embedding;

pub use warpfold_analysis as analysis;
pub use warpfold_clif as clif;
pub use warpfold_exec as exec;
pub use warpfold_ir as ir;
pub use warpfold_machine as machine;
pub use warpfold_opt as opt;

pub mod compare;
mod error;
mod hints;
pub mod launch;
mod measure;
pub mod picture;
pub mod profile;
pub mod render;
pub mod road;
pub mod same;
mod settings;
mod source;

pub use error::{Diagnostic, Errors, Fault, machine_diagnostic};
pub use hints::BranchHint;
pub use measure::{Baseline, Outcome, cost_by_branch};
pub use road::{Before, Canonical, Lowered, Optimized};
pub use settings::{
    DEFAULT_CALL_DEPTH, DEFAULT_MACHINE, DEFAULT_STEP_LIMIT, Decider, Options, RunChecks,
    RunOptions, Settings, policy,
};
pub use source::{Kernel, Source, Syntax};
