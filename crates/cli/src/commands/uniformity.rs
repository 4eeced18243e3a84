//! `warpfold uniformity`: annotated IR.

use warpfold::render;

use crate::failure::Failure;
use crate::options::{CheckArgs, Format, InputArgs, LaunchArgs, ReportArgs, StageArgs};
use crate::walk;

const AFTER_HELP: &str = "\
Each value is followed by the scope at which it is uniform (const, grid, block,
warp, lane), its stride from lane to lane where that is known, and the reason
where lanes differ; each branch by whether it can split a warp. The sizes of
the launch are taken into account where they are stated.

Examples:
  warpfold uniformity tests/kernels/clamp.clif
  warpfold uniformity --block 8,8 --stage canonical tests/kernels/clamp.clif
  warpfold uniformity --format json kernel.wf

Exit status:
  0  done
  2  bad usage or bad input";

/// Arguments of `uniformity`.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    launch: LaunchArgs,
    #[command(flatten)]
    stage: StageArgs,
    #[command(flatten)]
    check: CheckArgs,
    #[command(flatten)]
    report: ReportArgs,
}

impl Args {
    /// Runs the command.
    pub fn execute(self) -> Result<(), Failure> {
        let machine = walk::default_machine()?;
        let kernel = walk::kernel(&self.input, &self.launch, &self.check, &machine)?;
        let staged = walk::staged(kernel.lowered, self.stage.stage)?;
        let (func, uniformity) = (staged.func(), staged.uniformity());
        let text = match self.report.format {
            Format::Text => render::annotated(func, uniformity, self.report.output.paint()),
            Format::Json => render::json_uniformity(staged.lowered().file(), func, uniformity),
        };
        self.report.output.write(&text)
    }
}
