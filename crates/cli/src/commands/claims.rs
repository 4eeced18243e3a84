//! `warpfold claims`: what the literature says, expected and measured.

use warpfold_testkit::claims;

use crate::failure::Failure;
use crate::options::{Format, ReportArgs};

const AFTER_HELP: &str = "\
Runs the kernels of each claim, which are part of the program, and compares what
is counted with what the claim says; see docs/claims.md. The text shows the chief
counters of a run and how many more were compared; the JSON has all of them.

Examples:
  warpfold claims C-03
  warpfold claims C-07 C-65
  warpfold claims --format json C-31

Exit status:
  0  all of them hold
  1  something differs
  2  bad usage or bad input";

/// Arguments of `claims`.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// Check these only, by number
    #[arg(value_name = "ID")]
    ids: Vec<String>,

    #[command(flatten)]
    report: ReportArgs,
}

impl Args {
    /// Runs the command.
    pub fn execute(self) -> Result<(), Failure> {
        let ids: Vec<&str> = self.ids.iter().map(String::as_str).collect();
        let report = claims::run(&ids).map_err(|e| Failure::about("claims", e))?;
        let text = match self.report.format {
            Format::Text => report.text(self.report.output.paint()),
            Format::Json => report.json(),
        };
        self.report.output.write(&text)?;
        match report.holds() {
            true => Ok(()),
            false => Err(Failure::Said),
        }
    }
}
