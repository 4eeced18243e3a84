//! `warpfold policies`: who can decide, and what each makes of a kernel.

use std::sync::Arc;

use warpfold::opt::policy::POLICIES;
use warpfold::render::{self, Cell, Table, Tone};
use warpfold::{Decider, Diagnostic, Fault, compare};

use crate::failure::Failure;
use crate::input::display_name;
use crate::options::{
    Format, InputArgs, LaunchArgs, ProfileFiles, ReportArgs, RoadArgs, WhichArgs,
};
use crate::walk;

const AFTER_HELP: &str = "\
Without FILE lists the policies with their rules and sources. With FILE converts
and runs the kernel under every policy (or the one that --policy names), and
compares what it costs when it is executed, and what became of each branch.

Examples:
  warpfold policies
  warpfold policies tests/kernels/clamp.clif
  warpfold policies --machine textbook --format json tests/kernels/clamp.clif

Exit status:
  0  done
  1  a version of the kernel differs, or it did not finish
  2  bad usage or bad input";

/// Arguments of `policies`.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// Compare the policies on this kernel, CLIF or (`.wf`) Warpfold IR; `-` for
    /// standard input
    #[arg(value_name = "FILE")]
    file: Option<String>,

    #[command(flatten)]
    which: WhichArgs,

    #[command(flatten)]
    launch: LaunchArgs,
    #[command(flatten)]
    road: RoadArgs,

    /// Decide without counts of a run
    #[arg(long, help_heading = "Conversion", conflicts_with = "profile")]
    no_profile: bool,

    #[command(flatten)]
    files: ProfileFiles,

    #[command(flatten)]
    report: ReportArgs,
}

impl Args {
    /// Runs the command.
    pub fn execute(self) -> Result<(), Failure> {
        match &self.file {
            Some(file) => self.compare(file),
            None => {
                let text = match self.report.format {
                    Format::Text => self.list(),
                    Format::Json => render::json_policies(POLICIES),
                };
                self.report.output.write(&text)
            }
        }
    }

    fn list(&self) -> String {
        let paint = self.report.output.paint();
        let mut table = Table::new().words("policy").words("source");
        let mut rules = String::new();
        for row in POLICIES {
            table.row([Cell::new(Tone::Choice, row.name), Cell::plain(row.source)]);
            let name = paint.tone(Tone::Choice, format!("{:26}", row.name));
            let lines = render::wrapped(row.rule, " ", 72);
            rules += &format!("{name}  {}\n", lines.join(&format!("\n{:28}", "")));
        }
        format!("{}\n{rules}", table.render(paint, 0))
    }

    fn compare(&self, file: &str) -> Result<(), Failure> {
        let input = InputArgs {
            file: file.to_owned(),
            which: self.which.clone(),
        };
        let places = self.report.output.places().reads(input.files());
        let places = places.reads(self.road.files());
        let places = places.reads(self.files.files());
        places.check()?;
        let settings = walk::settings(&self.road)?;
        let kernel = walk::kernel(&input, &self.launch, &self.road.check, &settings.machine, &places)?;
        let launch = walk::launch(&kernel, &input)?;
        let run = self.launch.run_options(false, None);
        let mut canonical = kernel.lowered.clean()?.canonicalise()?;
        if !self.no_profile && self.files.profile.is_empty() {
            canonical = canonical.profile(&launch, &run)?;
        }
        canonical = walk::with_files(canonical, &self.files)?;
        let one = settings.policy.name() != "cost";
        let policies: Vec<Decider> = match one {
            true => vec![warpfold::policy("cost").map_err(|e| Failure::about("--policy", e))?, settings.policy.clone()],
            false => POLICIES.iter().map(|row| Arc::new(row.policy) as Decider).collect(),
        };
        let all = compare::policies(&canonical, &policies, &settings, &launch, &run)?;
        let name = &canonical.func().name;
        let doc = render::Comparison::new(display_name(file), name, &settings.machine.name, &all);
        let text = match self.report.format {
            Format::Text => doc.text(self.report.output.paint()),
            Format::Json => render::json_comparison(&doc),
        };
        self.report.output.write(&text)?;
        match all.iter().find(|c| !c.same) {
            None => Ok(()),
            Some(c) => {
                let message = format!("the kernel differs under `{}`", c.policy);
                let mut d = Diagnostic::new(display_name(file), message);
                d.fault = Fault::Run;
                Err(d.into())
            }
        }
    }
}
