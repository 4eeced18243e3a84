//! `warpfold uniformity`: annotated IR.

use warpfold::render::{self, Question};

use crate::failure::Failure;
use crate::options::{CheckArgs, Format, InputArgs, LaunchArgs, ReportArgs, StageArgs};
use crate::walk;

const AFTER_HELP: &str = "\
Each value is followed by the scope at which it is uniform (const, grid, block,
warp, lane), its stride from lane to lane where that is known, and the reason
where lanes differ; each branch by whether it can split a warp. The sizes of
the launch are taken into account where they are stated. `--why` follows one
value, branch or block down to what differs by nature.

Examples:
  warpfold uniformity tests/kernels/clamp.clif
  warpfold uniformity --block 8,8 --stage canonical tests/kernels/clamp.clif
  warpfold uniformity --why v12 tests/kernels/clamp.clif
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

    /// Say why lanes differ in a value (v12), differ in it at a block
    /// (v12@block3), or part at a block (block3), step by step
    #[arg(long, value_name = "WHAT", help_heading = "Output")]
    why: Option<String>,
}

impl Args {
    /// Runs the command.
    pub fn execute(self) -> Result<(), Failure> {
        let places = self.report.output.places().reads(self.input.files());
        places.check()?;
        let machine = walk::default_machine()?;
        let kernel = walk::kernel(&self.input, &self.launch, &self.check, &machine, &places)?;
        let staged = walk::staged(kernel.lowered, self.stage.stage)?;
        let (func, uniformity) = (staged.func(), staged.uniformity());
        let (file, paint) = (staged.lowered().file(), self.report.output.paint());
        let why = (self.why.as_deref())
            .map(|text| Question::parse(text, func))
            .transpose()
            .map_err(|message| Failure::about("--why", message))?;
        let text = match (why, self.report.format) {
            (None, Format::Text) => render::annotated(func, uniformity, paint),
            (None, Format::Json) => render::json_uniformity(file, func, uniformity),
            (Some(of), Format::Text) => render::why(func, uniformity, of, paint),
            (Some(of), Format::Json) => render::json_why(file, func, uniformity, of),
        };
        self.report.output.write(&text)
    }
}
