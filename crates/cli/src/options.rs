//! Groups of options that commands share.

use clap::{Args, ValueEnum};
use warpfold::exec::timing::TimingModel;
use warpfold::launch::{ArgOverride, Dims, Overrides};
use warpfold::{RunChecks, RunOptions, Syntax};

use crate::input;
use crate::walk::Stage;

/// The kernel.
#[derive(Args)]
pub struct InputArgs {
    /// Kernel file, CLIF or (`.wf`) Warpfold IR; `-` for standard input
    pub file: String,

    #[command(flatten)]
    pub which: WhichArgs,
}

/// Which function of a file, and what the file is.
#[derive(Args, Clone)]
pub struct WhichArgs {
    /// Which function of the file is the kernel [default: the launch's, or the first]
    #[arg(long, value_name = "NAME")]
    pub function: Option<String>,

    /// What the file holds, `clif` or `wf` [default: by its name; standard input, by what reads]
    #[arg(long, value_name = "SYNTAX", value_parser = parse_syntax)]
    pub syntax: Option<Syntax>,
}

impl InputArgs {
    /// The file that is read.
    pub fn files(&self) -> [&str; 1] {
        [&self.file]
    }
}

fn parse_syntax(s: &str) -> Result<Syntax, String> {
    match s {
        "clif" => Ok(Syntax::Clif),
        "wf" => Ok(Syntax::Wf),
        _ => Err("expected `clif` or `wf`".to_owned()),
    }
}

/// The launch. Each overrides what the kernel file's `;!` lines say.
#[derive(Args)]
#[command(next_help_heading = "Launch")]
pub struct LaunchArgs {
    /// Blocks in the grid: X, X,Y or X,Y,Z
    #[arg(long, value_name = "DIMS", allow_hyphen_values = true)]
    pub grid: Option<Dims>,

    /// Threads in a block: X, X,Y or X,Y,Z
    #[arg(long, value_name = "DIMS", allow_hyphen_values = true)]
    pub block: Option<Dims>,

    /// Bytes of shared memory per block
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true)]
    pub shared: Option<u32>,

    /// An argument, in order or as INDEX=SPEC: `5`, `lane`, `tid % 2 == 0`,
    /// `[1, 0]`, `random(-10, 10)`, `at:NAME:4*lane`, `buf:i32:128:iota`
    #[arg(long, value_name = "SPEC", allow_hyphen_values = true)]
    pub arg: Vec<ArgOverride>,

    /// Seed of random contents that name none
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Issues after which a run is given up
    #[arg(long, value_name = "N", default_value_t = warpfold::DEFAULT_STEP_LIMIT)]
    pub step_limit: u64,

    /// Most frames of a warp; lanes that call deeper trap
    #[arg(long, value_name = "N", default_value_t = warpfold::DEFAULT_CALL_DEPTH)]
    pub call_depth: u32,
}

impl LaunchArgs {
    /// What they replace in the file's launch.
    pub fn overrides(&self, input: &InputArgs) -> Overrides {
        Overrides {
            function: input.which.function.clone(),
            grid: self.grid,
            block: self.block,
            shared: self.shared,
            seed: self.seed,
            args: self.arg.clone(),
        }
    }

    /// How to run.
    pub fn run_options(&self, timeline: bool, timing: Option<TimingModel>) -> RunOptions {
        RunOptions {
            step_limit: self.step_limit,
            call_depth: self.call_depth,
            timeline,
            timing,
            ..RunOptions::default()
        }
    }
}

/// What is checked while a kernel runs.
#[derive(Args)]
#[command(next_help_heading = "Launch")]
pub struct RunCheckArgs {
    /// Check while the kernel runs, and fail where something is wrong: what is
    /// claimed to be uniform, uses of poison, data races
    #[arg(long = "check", value_name = "WHAT", value_enum, value_delimiter = ',')]
    checks: Vec<Check>,
}

/// A check.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Check {
    /// What the uniformity analysis claims, against what lanes hold
    Uniformity,
    /// Poison used as it must not be
    Poison,
    /// Accesses of different lanes to one byte that nothing orders
    Races,
    /// All of these
    All,
}

impl RunCheckArgs {
    /// The checks that are asked for.
    pub fn checks(&self) -> RunChecks {
        let asked = |check| self.checks.contains(&check) || self.checks.contains(&Check::All);
        RunChecks {
            uniformity: asked(Check::Uniformity),
            poison: asked(Check::Poison),
            races: asked(Check::Races),
        }
    }
}

/// Whether to run for counts.
#[derive(Args)]
#[command(next_help_heading = "Conversion")]
pub struct ProfileArgs {
    /// Run the kernel first, all branches kept, and decide by its counts
    #[arg(long, conflicts_with = "profile")]
    pub measure: bool,

    #[command(flatten)]
    pub files: ProfileFiles,
}

/// Counts from files.
#[derive(Args)]
#[command(next_help_heading = "Conversion")]
pub struct ProfileFiles {
    /// Decide by the counts in this file, which `warpfold exec --profile-out`
    /// has written; several add up
    #[arg(long, value_name = "FILE")]
    pub profile: Vec<String>,
}

impl ProfileFiles {
    /// The files that are read.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.profile.iter().map(String::as_str)
    }
}

/// Which version.
#[derive(Args)]
pub struct StageArgs {
    /// Which version of the kernel
    #[arg(long, value_name = "STAGE", value_enum, default_value_t)]
    pub stage: Stage,
}

/// Where lanes meet again.
#[derive(Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Joins {
    /// Post-dominators without early-return edges
    #[default]
    Default,
    /// Post-dominators of the whole graph
    Cfg,
}

impl From<Joins> for warpfold::analysis::JoinRule {
    fn from(joins: Joins) -> Self {
        match joins {
            Joins::Default => Self::Default,
            Joins::Cfg => Self::Cfg,
        }
    }
}

/// How lanes are scheduled.
#[derive(Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Mode {
    /// By a reconvergence stack
    #[default]
    Stack,
    /// Independent thread scheduling: a lane may wait for another of its warp
    Its,
}

impl From<Mode> for warpfold::exec::Mode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Stack => Self::Stack,
            Mode::Its => Self::Its,
        }
    }
}

/// The road, as far as decisions go.
#[derive(Args)]
#[command(next_help_heading = "Conversion")]
pub struct RoadArgs {
    /// Machine by name (see `warpfold machines`) or path of a TOML file
    #[arg(long, value_name = "NAME|PATH", default_value = warpfold::DEFAULT_MACHINE)]
    pub machine: String,

    /// Who decides, by name (see `warpfold policies`)
    #[arg(long, value_name = "NAME", default_value = "cost", value_parser = policy)]
    pub policy: warpfold::Decider,

    /// Override who decides wherever legal: branch, straight, select (all bare),
    /// predicate (all guarded) or skip (all behind a jump)
    #[arg(long, value_name = "FORM")]
    pub force: Option<warpfold::opt::report::Force>,

    /// What is assumed of conditions that nothing is known of: the probability
    /// that a lane is true, and the correlation of a warp's lanes
    #[arg(long, value_name = "p=P,rho=R", default_value = "p=1/2,rho=0")]
    pub prior: warpfold::opt::Prior,

    /// Do not merge equal instructions of both sides in straight code
    #[arg(long)]
    pub no_merge: bool,

    /// Leave what conversion emits as it is, so that predictions are exact
    #[arg(long)]
    pub no_cleanup: bool,

    #[command(flatten)]
    pub check: CheckArgs,
}

impl RoadArgs {
    /// The file that is read, where the machine is one.
    pub fn files(&self) -> Option<&str> {
        input::machine_file(&self.machine)
    }
}

fn policy(name: &str) -> Result<warpfold::Decider, String> {
    warpfold::policy(name)
}

/// What every command that walks the road takes.
#[derive(Args)]
#[command(next_help_heading = "Conversion")]
pub struct CheckArgs {
    /// Where the lanes of a branch meet again
    #[arg(long, value_name = "RULE", value_enum, default_value_t)]
    pub joins: Joins,

    /// How the lanes of a warp are scheduled
    #[arg(long, value_name = "MODE", value_enum, default_value_t)]
    pub mode: Mode,

    /// Make equal loads and stores of both sides of a branch once, in the canonical
    /// kernel and what it becomes
    #[arg(long)]
    pub merge_accesses: bool,

    /// Verify the IR after each stage, not only after reading
    #[arg(long)]
    pub verify_each: bool,
}

/// Whether to colour.
#[derive(Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum When {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// How a report is written.
#[derive(Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Format {
    /// To be read
    #[default]
    Text,
    /// To be parsed; versioned
    Json,
}

/// Where the result goes.
#[derive(Args, Default)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Write to this file instead of standard output, which `-` stands for
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<String>,

    /// Colour
    #[arg(long, value_name = "WHEN", value_enum, default_value_t)]
    pub color: When,
}

/// The same with a choice of format.
#[derive(Args)]
#[command(next_help_heading = "Output")]
pub struct ReportArgs {
    /// Text or JSON
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub format: Format,

    #[command(flatten)]
    pub output: OutputArgs,
}
