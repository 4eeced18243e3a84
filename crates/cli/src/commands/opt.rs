//! `warpfold opt`: the converted IR.

use warpfold::render;

use crate::failure::Failure;
use crate::options::{Format, InputArgs, LaunchArgs, ProfileArgs, ReportArgs, RoadArgs};
use crate::walk;

const AFTER_HELP: &str = "\
The output is IR text (.wf) under the launch lines of the input, so that
`warpfold exec` and every other command can read it. As JSON it stands beside the
decisions and the kernel's size at each stage with the passes that led there.

Examples:
  warpfold opt tests/kernels/clamp.clif
  warpfold opt --measure --machine pascal -o clamp.wf tests/kernels/clamp.clif
  warpfold opt --force straight k.clif | warpfold exec -
  warpfold opt --format json tests/kernels/clamp.clif

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
    report: ReportArgs,
}

impl Args {
    /// Runs the command.
    pub fn execute(self) -> Result<(), Failure> {
        let places = self.report.output.places().reads(self.input.files());
        let places = places.reads(self.road.files());
        let places = places.reads(self.profile.files.files());
        places.check()?;
        let (optimized, header) =
            walk::optimized(&self.input, &self.launch, &self.road, &self.profile, &places)?;
        match self.report.format {
            Format::Text => self.report.output.write(&render::code(&optimized, &header)),
            Format::Json => self.report.write(&render::opt(&optimized, &header)),
        }
    }
}
