//! `warpfold exec`: run and count, no conversion.

use warpfold::picture::Subject;
use warpfold::render;

use crate::failure::Failure;
use crate::input;
use crate::options::{CheckArgs, InputArgs, LaunchArgs, ReportArgs, RunCheckArgs, StageArgs};
use crate::pictures::PictureArgs;
use crate::places;
use crate::timing::TimingArgs;
use crate::walk;

const AFTER_HELP: &str = "\
Examples:
  warpfold exec tests/kernels/clamp.clif
  warpfold exec --check all tests/kernels/reduction.clif
  warpfold exec --timeline - --block 32 tests/kernels/clamp.clif
  warpfold exec --profile-out clamp.json tests/kernels/clamp.clif
  warpfold opt k.clif | warpfold exec -

Exit status:
  0  the kernel finished (lanes that trap are counted and listed)
  1  it did not: no progress, step limit, lanes waiting for each other, a check
  2  bad usage or bad input";

/// Arguments of `exec`.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    launch: LaunchArgs,
    #[command(flatten)]
    checks: RunCheckArgs,
    #[command(flatten)]
    stage: StageArgs,
    #[command(flatten)]
    check: CheckArgs,

    /// Machine that weighs the counters, by name or path
    #[arg(long, value_name = "NAME|PATH", default_value = warpfold::DEFAULT_MACHINE)]
    machine: String,

    /// Run the canonical version, too, and write its counts to this file, for
    /// `--profile` of other commands
    #[arg(long, value_name = "FILE")]
    profile_out: Option<String>,

    #[command(flatten)]
    report: ReportArgs,

    #[command(flatten)]
    pictures: PictureArgs,

    #[command(flatten)]
    timing: TimingArgs,
}

impl Args {
    /// Runs the command.
    pub fn execute(self) -> Result<(), Failure> {
        let places = self.report.output.places().reads(self.input.files());
        let places = places
            .reads(input::machine_file(&self.machine))
            .writes("--profile-out", self.profile_out.as_deref());
        let places = self.pictures.places(places)?;
        places.check()?;
        let machine = input::machine(&self.machine)?;
        let kernel = walk::kernel(&self.input, &self.launch, &self.check, &machine, &places)?;
        let launch = walk::launch(&kernel, &self.input)?;
        let timing = self.timing.model(&machine)?;
        let mut run = self.launch.run_options(self.pictures.timeline()?, timing);
        if let Some(path) = &self.profile_out {
            let canonical = kernel.lowered.clone().clean()?.canonicalise()?;
            let file = canonical.profile(&launch, &run)?.profile_file(1)?;
            places::write(path, &file.to_json())?;
        }
        run.checks = self.checks.checks();
        let staged = walk::staged(kernel.lowered, self.stage.stage)?;
        let outcome = staged.lowered().execute(staged.func(), &launch, &run)?;
        let shape = (launch.grid, launch.block);
        self.pictures.write(&Subject::of_execution(
            staged.lowered(),
            staged.func(),
            &outcome,
            shape,
        ))?;
        let doc = render::executed(
            staged.lowered(),
            staged.func(),
            &outcome,
            shape,
            &machine,
        );
        self.report.write(&self.pictures.report(doc))
    }
}
