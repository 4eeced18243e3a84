//! `warpfold opt`: the converted IR.

use crate::failure::Failure;
use crate::options::{InputArgs, LaunchArgs, OutputArgs, ProfileArgs, RoadArgs};
use crate::walk;

const AFTER_HELP: &str = "\
The output is IR text (.wf) under the launch lines of the input, so that
`warpfold exec` and every other command can read it.

Examples:
  warpfold opt tests/kernels/clamp.clif
  warpfold opt --measure --machine pascal -o clamp.wf tests/kernels/clamp.clif
  warpfold opt --force straight k.clif | warpfold exec -

Exit status:
  0  done
  1  with --measure: the kernel did not finish
  2  bad usage or bad input";

/// Arguments of `opt`.
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
    output: OutputArgs,
}

impl Args {
    /// Runs the command.
    pub fn execute(self) -> Result<(), Failure> {
        let (optimized, header) =
            walk::optimized(&self.input, &self.launch, &self.road, &self.profile)?;
        let gap = if header.is_empty() { "" } else { "\n" };
        self.output
            .write(&format!("{header}{gap}{}", optimized.module()))
    }
}
