//! `warpfold run`: the main job.

use warpfold::picture::Subject;
use warpfold::render;
use warpfold::{Diagnostic, Fault, Outcome};

use crate::failure::Failure;
use crate::options::{InputArgs, LaunchArgs, ProfileFiles, ReportArgs, RoadArgs, RunCheckArgs};
use crate::pictures::PictureArgs;
use crate::timing::TimingArgs;
use crate::walk;

const AFTER_HELP: &str = "\
The kernel is first run with all branches kept, and decisions rest on what was
counted; `--profile` takes counts from a file instead, `--no-profile` decides by
what the analysis knows and by assumption.
Results, stores, traps and memory are then compared before and after.

Examples:
  warpfold run tests/kernels/clamp.clif
  warpfold run --machine hopper --force predicate tests/kernels/clamp.clif
  warpfold run --grid 4 --block 128 --arg 'buf:i32:512:random(-9, 9)' k.clif
  warpfold run --format json -o clamp.json tests/kernels/clamp.clif
  warpfold run --timeline lanes.svg --cfg graph.svg tests/kernels/clamp.clif
  warpfold run --timing --machine hopper tests/kernels/clamp.clif

Exit status:
  0  the versions do the same
  1  they differ, or the kernel did not finish
  2  bad usage or bad input";

/// Arguments of `run`.
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
    road: RoadArgs,

    /// Decide without counts of a run
    #[arg(long, help_heading = "Conversion", conflicts_with = "profile")]
    no_profile: bool,

    #[command(flatten)]
    files: ProfileFiles,

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
        let places = places.reads(self.road.files()).reads(self.files.files());
        let places = self.pictures.places(places)?;
        places.check()?;
        let settings = walk::settings(&self.road)?;
        let kernel = walk::kernel(
            &self.input,
            &self.launch,
            &self.road.check,
            &settings.machine,
            &places,
        )?;
        let launch = walk::launch(&kernel, &self.input)?;
        let timing = self.timing.model(&settings.machine)?;
        let mut run = self.launch.run_options(self.pictures.timeline()?, timing);
        run.checks = self.checks.checks();
        let mut canonical = kernel.lowered.clean()?.canonicalise()?;
        if !self.no_profile && self.files.profile.is_empty() {
            canonical = canonical.profile(&launch, &run)?;
        }
        canonical = walk::with_files(canonical, &self.files)?;
        let outcome = canonical.convert(&settings)?.measure(&launch, &run)?;
        self.pictures.write(&Subject::of_run(&outcome))?;
        self.report
            .write(&self.pictures.report(render::run(&outcome)))?;
        verdict(&outcome)
    }
}

/// A failure if the versions differ.
fn verdict(outcome: &Outcome) -> Result<(), Failure> {
    let (of, version) = if !outcome.sameness().is_same() {
        (outcome.sameness(), "converted")
    } else if !outcome.kept_sameness().is_same() {
        (outcome.kept_sameness(), "canonical")
    } else {
        return Ok(());
    };
    let mut d = Diagnostic::new(
        outcome.optimized().lowered().file(),
        format!("the {version} kernel differs: {of}"),
    )
    .at(of.line(), 0);
    d.fault = Fault::Run;
    Err(d.into())
}
