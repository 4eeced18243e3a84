//! If-conversion for SIMT code, with every prediction beside a measurement.
//!
//! The crates of the workspace, under one roof for embedders:

pub use warpfold_analysis as analysis;
pub use warpfold_clif as clif;
pub use warpfold_exec as exec;
pub use warpfold_ir as ir;
pub use warpfold_machine as machine;
pub use warpfold_opt as opt;

pub mod launch;
