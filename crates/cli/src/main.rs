//! The warpfold command.
//!
//! A thin skin over the `warpfold` library: arguments in, one of its prefixes
//! of the staged road, its rendering out. Conventions:
//!
//! - `FILE` may be `-` for standard input; results go to standard output or
//!   to `-o FILE`; everything else goes to standard error.
//! - Errors read `error: FILE:LINE:COL: message`, one line each.
//! - Exit status 0: done. 1: the kernel was read and launched, but its
//!   versions differ or it did not finish, or a test or claim failed. 2: bad
//!   usage or bad input.
//! - Colour only where standard output is a terminal and `NO_COLOR` is unset.

mod commands;
mod failure;
mod input;
mod options;
mod output;
mod pictures;
mod places;
mod timing;
mod walk;

use std::process::ExitCode;

use clap::Parser;

/// If-conversion for SIMT code: for each conditional, is a branch cheaper, or
/// straight-line code? Decides by an explicit cost model, rewrites, and runs
/// both versions on 32-lane warps, so that every prediction stands beside a
/// measurement.
#[derive(Parser)]
#[command(name = "warpfold", version, after_help = AFTER_HELP)]
struct Cli {
    #[command(subcommand)]
    command: commands::Command,
}

const AFTER_HELP: &str = "\
Examples:
  # Decide, convert, run before and after, compare:
  warpfold run tests/kernels/clamp.clif
  # What would be decided on another machine, and why:
  warpfold explain --machine pascal tests/kernels/clamp.clif
  # The converted IR, from standard input:
  warpfold opt - < tests/kernels/clamp.clif

Exit status:
  0  done
  1  the versions of the kernel differ, it did not finish, or a test or claim failed
  2  bad usage or bad input";

fn main() -> ExitCode {
    let cli = Cli::parse();
    match cli.command.execute() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
