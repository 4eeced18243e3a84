//! `warpfold machines`: what ships, and one in full.

use warpfold::machine::{MACHINES, Machine};
use warpfold::render::{self, Cell, Table, Tone};

use crate::failure::Failure;
use crate::input;
use crate::options::{Format, ReportArgs};

const AFTER_HELP: &str = "\
A machine is a TOML file of facts, each with its source. To make your own, print
one, change it, and give its path to --machine.

Examples:
  warpfold machines
  warpfold machines hopper > my-gpu.toml

Exit status:
  0  done
  2  bad usage or bad input";

/// Arguments of `machines`.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// Print this machine's TOML, or it alone as JSON; a path is checked first
    #[arg(value_name = "NAME|PATH")]
    machine: Option<String>,

    #[command(flatten)]
    report: ReportArgs,
}

impl Args {
    /// Runs the command.
    pub fn execute(self) -> Result<(), Failure> {
        let file = self.machine.as_deref().and_then(input::machine_file);
        self.report.output.places().reads(file).check()?;
        let text = match (self.report.format, &self.machine) {
            (Format::Text, Some(name)) => input::machine_text(name)?,
            (Format::Text, None) => self.list(),
            (Format::Json, Some(name)) => render::json_machines([&input::machine(name)?]),
            (Format::Json, None) => {
                let all: Vec<Machine> = MACHINES.iter().map(|row| row.machine()).collect();
                render::json_machines(&all)
            }
        };
        self.report.output.write(&text)
    }

    fn list(&self) -> String {
        let paint = self.report.output.paint();
        let mut table = Table::new()
            .words("machine")
            .group("branch overhead b", &["proven", "agreed", "split"])
            .numbers("guard")
            .words("triple");
        let mut about = String::new();
        // Machines share sources: each is printed once, with all it is for.
        let mut sources: Vec<(String, Vec<String>)> = Vec::new();
        for row in MACHINES {
            let m = row.machine();
            table.row([
                Cell::new(Tone::Choice, &m.name),
                Cell::plain(m.b_proven),
                Cell::plain(m.b_agree),
                Cell::plain(m.b_split),
                Cell::plain(m.guard),
                Cell::plain(&m.triple),
            ]);
            let name = paint.tone(Tone::Choice, format!("{:9}", m.name));
            about.push_str(&format!("{name}  {}\n", m.description));
            for number in ["branch.proven", "branch.agree", "branch.split"] {
                let Some(s) = m.source(number) else {
                    continue;
                };
                let what = format!("{} {number} = {}", m.name, s.value);
                match sources.iter_mut().find(|(text, _)| *text == s.source) {
                    Some((_, of)) => of.push(what),
                    None => sources.push((s.source.clone(), vec![what])),
                }
            }
        }
        let mut text = table.render(paint, 0);
        text.push('\n');
        text.push_str(&about);
        text.push_str("\nWhere the branch overheads come from:\n");
        for (source, of) in sources {
            let of = paint.tone(Tone::Choice, of.join(", "));
            text.push_str(&format!("  {of}\n    {source}\n"));
        }
        text
    }
}
