//! What checks on request catch, and what they let pass.

mod claims;
mod poison;
mod races;

use warpfold_analysis::uniformity::Fault;
use warpfold_analysis::{LaunchShape, Uniformity, UniformityOptions};
use warpfold_exec::{
    Arg, CheckError, Checked, Checks, ExecError, ExecOptions, Launch, run_checked, run_functions,
};
use warpfold_ir::{Function, parse_function, verify};

fn function(text: &str) -> Function {
    let func = parse_function(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    verify(&func).unwrap_or_else(|e| panic!("{e}\n{text}"));
    func
}

/// Lines of a function without parameters.
fn kernel(lines: &str) -> Function {
    function(&format!("function %f() {{\nblock0:\n{lines}\n}}\n"))
}

fn options(shape: LaunchShape, fault: Option<Fault>) -> UniformityOptions {
    UniformityOptions {
        shape,
        fault,
        ..UniformityOptions::default()
    }
}

/// Runs `func` under the claims and the check of poison, and of races if asked
/// for; the same without checks must end.
fn check(
    func: &Function,
    claims: Option<&Uniformity>,
    launch: &Launch,
    races: bool,
) -> Result<Checked, CheckError> {
    let checks = Checks {
        claims: &[claims],
        poison: true,
        races,
    };
    let how = ExecOptions::default();
    run_functions(&[func], 0, launch, &how).unwrap_or_else(|e| panic!("{e}"));
    match run_checked(&[func], 0, launch, &how, &checks) {
        Ok(outcome) => Ok(outcome.checked.expect("something was checked")),
        Err(ExecError::Check(e)) => Err(*e),
        Err(e) => panic!("{e}"),
    }
}

/// Arguments by thread.
fn by_thread(threads: u64, f: impl Fn(u64) -> i64) -> Arg {
    Arg::Varying((0..threads).map(|t| f(t) as u128).collect())
}
