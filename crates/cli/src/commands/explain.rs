//! `warpfold explain`: decisions in full, without measuring.

use std::str::FromStr;

use warpfold::render;

use crate::failure::Failure;
use crate::input::display_name;
use crate::options::{InputArgs, LaunchArgs, ProfileArgs, ReportArgs, RoadArgs};
use crate::walk;

const AFTER_HELP: &str = "\
Says for each branch what is uniform about it, how often it is thought to
execute, the price of each form by component, what forbids straight code, and
at which branch overhead the decision would turn.

Examples:
  warpfold explain tests/kernels/clamp.clif
  warpfold explain --region 37 tests/kernels/clamp.clif
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
    /// Only the branch on this line (or `inst7`, by its number), with the
    /// arithmetic behind each price line by line
    #[arg(long, value_name = "LINE")]
    region: Option<Place>,

    #[command(flatten)]
    report: ReportArgs,
}

/// Which branch.
#[derive(Clone, Copy)]
enum Place {
    Line(u32),
    Inst(u32),
}

impl FromStr for Place {
    type Err = &'static str;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let (number, place): (_, fn(u32) -> Self) = match s.strip_prefix("inst") {
            Some(number) => (number, Self::Inst),
            None => (s, Self::Line),
        };
        let number = number.parse().map_err(|_| "expected a line, or `inst` and a number")?;
        Ok(place(number))
    }
}

impl Args {
    /// Runs the command.
    pub fn execute(self) -> Result<(), Failure> {
        let places = self.report.output.places().reads(self.input.files());
        let places = places.reads(self.road.files());
        let places = places.reads(self.profile.files.files());
        places.check()?;
        let (optimized, _) = walk::optimized(&self.input, &self.launch, &self.road, &self.profile, &places)?;
        let mut doc = render::explain(&optimized);
        if let Some(place) = self.region {
            let (line, inst) = match place {
                Place::Line(line) => (Some(line), None),
                Place::Inst(inst) => (None, Some(inst)),
            };
            if !doc.only(line, inst) {
                let file = display_name(&self.input.file);
                let at = match place {
                    Place::Line(line) => format!("on line {line}"),
                    Place::Inst(inst) => format!("at inst{inst}"),
                };
                let message = format!("there is no conditional branch {at}");
                return Err(Failure::about(file, message));
            }
        }
        self.report.write(&doc)
    }
}
