//! `warpfold test`: files that say what they must give.

use std::io::{IsTerminal, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

use warpfold_testkit::filetest::{Language, Progress, Registry, Runner, Summary, test_files};

use crate::failure::Failure;
use crate::options::{Format, OutputArgs};

const AFTER_HELP: &str = "\
A file names its tests before its code, `test exec`, `test run`, and holds what
they must give in comments; see docs/filetests.md. Run tests of Cranelift's suite
(`; run: %f(1) == 2`) run as they are: each line as a lane, 32 to a warp and alone, the
function as written and converted under each form. Functions that use what is not
supported are skipped, with the reason.

Examples:
  warpfold test tests/filetests
  warpfold test --by-opcode tests/filetests/run
  warpfold test --format json -o results.json tests/filetests/run

Exit status:
  0  nothing failed
  1  something failed
  2  bad usage or bad input";

/// Arguments of `test`.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// Test files (`.clif` or `.wf`), or folders of them at any depth
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,

    /// Rewrite text expectations to what the tests give
    #[arg(long)]
    bless: bool,

    /// Files at a time [default: one for each core]
    #[arg(short, long, value_name = "N")]
    jobs: Option<NonZero<usize>>,

    /// Count the cases by CLIF opcode too
    #[arg(long, help_heading = "Output")]
    by_opcode: bool,

    /// List the skipped cases, each with what stands in its way
    #[arg(long, help_heading = "Output")]
    skipped: bool,

    /// Text or JSON
    #[arg(
        long,
        value_name = "FORMAT",
        value_enum,
        default_value_t,
        help_heading = "Output"
    )]
    format: Format,

    /// Write to this file instead of standard output, which `-` stands for
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<String>,
}

impl Args {
    /// Runs the command.
    pub fn execute(self) -> Result<(), Failure> {
        let mut files = Vec::new();
        for path in &self.paths {
            files.extend(files_of(path)?);
        }
        files.sort();
        files.dedup();
        let names: Vec<String> = files.iter().map(|f| f.display().to_string()).collect();
        let output = OutputArgs {
            output: self.output,
            ..OutputArgs::default()
        };
        let places = output.places();
        places.reads(names.iter().map(String::as_str)).check()?;
        let jobs = self.jobs.or_else(|| available_parallelism().ok());
        let runner = Runner::new(Registry::builtin()).bless(self.bless);
        let bar = Bar::new();
        let report = runner.run_files(&files, jobs.map_or(1, NonZero::get), &|p| bar.draw(p));
        bar.clear();
        let report = report.map_err(|e| Failure::about("<blessed file>", e.to_string()))?;
        let summary = Summary {
            report: &report,
            by_opcode: self.by_opcode,
            skipped: self.skipped,
        };
        let text = match self.format {
            Format::Text => summary.text(),
            Format::Json => summary.json(),
        };
        output.write(&text)?;
        match report.passed() {
            true => Ok(()),
            false => Err(Failure::Said),
        }
    }
}

/// The test files that a path stands for; none is an error.
fn files_of(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let name = path.display().to_string();
    let cannot = |e: std::io::Error| Failure::about(&name, format!("cannot read: {e}"));
    if !std::fs::metadata(path).map_err(cannot)?.is_dir() {
        return match Language::of(path) {
            Some(_) => Ok(vec![path.to_owned()]),
            None => Err(Failure::about(&name, "a test file is called .clif or .wf")),
        };
    }
    let files = test_files(path).map_err(cannot)?;
    match files.is_empty() {
        true => Err(Failure::about(&name, "holds no test files")),
        false => Ok(files),
    }
}

/// A progress bar on standard error, where that is a terminal.
struct Bar {
    shown: bool,
}

impl Bar {
    const WIDTH: usize = 30;

    fn new() -> Self {
        Self {
            shown: std::io::stderr().is_terminal(),
        }
    }

    fn draw(&self, p: Progress) {
        if !self.shown {
            return;
        }
        let full = p.done * Self::WIDTH / p.files.max(1);
        let bar: String = (0..Self::WIDTH)
            .map(|i| if i < full { '#' } else { '.' })
            .collect();
        let counts = p.counts;
        // A terminal that is gone misses nothing.
        let _ = write!(
            std::io::stderr(),
            "\r[{bar}] {}/{} files, {} passed, {} failed\x1b[K",
            p.done,
            p.files,
            counts.passed,
            counts.failed
        );
    }

    fn clear(&self) {
        if self.shown {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
