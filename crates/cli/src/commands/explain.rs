//! `warpfold explain`: decisions in full, without measuring.

use warpfold::render;

use crate::failure::Failure;
use crate::options::{InputArgs, LaunchArgs, ProfileArgs, ReportArgs, RoadArgs};
use crate::walk;

const AFTER_HELP: &str = "\
Says for each branch what is uniform about it, how often it is thought to
execute, the price of each form by component, what forbids straight code, and
at which branch overhead the decision would turn.

Examples:
  warpfold explain tests/kernels/clamp.clif
  warpfold explain --machine ./my-gpu.toml --measure tests/kernels/clamp.clif
  warpfold explain --profile k.json k.clif
  warpfold explain --format json - < tests/kernels/clamp.clif

Exit status:
  0  done
  1  with --measure: the kernel did not finish
  2  bad usage or bad input";

/// Arguments of `explain`.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    launch: LaunchArgs,
    #[command(flatten)]
    road: RoadArgs,
    #[command(flatten)]
    profile: ProfileArgs,
    #[command(flatten)]
    report: ReportArgs,
}

impl Args {
    /// Runs the command.
    pub fn execute(self) -> Result<(), Failure> {
        let (optimized, _) = walk::optimized(&self.input, &self.launch, &self.road, &self.profile)?;
        self.report.write(&render::explain(&optimized))
    }
}
