//! Text that nobody vouches for: whatever it is, the road takes it to its end
//! or refuses it with a place, and never panics or runs on.

use std::path::Path;

use warpfold::ir::{parse_module, verify};
use warpfold::launch::Overrides;
use warpfold::machine::Machine;
use warpfold::{Canonical, Errors, Options, RunOptions, Settings, Source, Syntax};

use super::{Failure, fail};

/// Launches with more threads are not run.
const MOST_THREADS: u64 = 1 << 12;

/// Steps after which a run is given up.
const STEPS: u64 = 20_000;

/// IR text: what is read prints and reads back as itself, and what the
/// verifier accepts goes down the road.
///
/// # Errors
/// If it reads back as something else, or the road goes wrong.
pub fn check_ir_text(text: &str) -> Result<(), Failure> {
    if let Ok(module) = parse_module(text) {
        let printed = module.to_string();
        let again = parse_module(&printed).map(|m| m.to_string());
        if again.as_ref() != Ok(&printed) {
            let message = format!("printed:\n{printed}\nread back:\n{again:?}");
            return Err(fail("text", String::new(), message));
        }
        if module.functions.iter().any(|f| verify(f).is_err()) {
            return Ok(());
        }
    }
    walk(text, Syntax::Wf)
}

/// CLIF text with a launch goes down the road.
///
/// # Errors
/// If it is refused without a place, or the road goes wrong.
pub fn check_clif_text(text: &str) -> Result<(), Failure> {
    walk(text, Syntax::Clif)
}

fn walk(text: &str, syntax: Syntax) -> Result<(), Failure> {
    let road = |e: Errors| fail("road", String::new(), e.to_string());
    let options = Options {
        verify_each: true,
        ..Options::default()
    };
    let source = match Source::parse(text, "text", syntax) {
        Ok(source) => source,
        Err(e) => return placed(&e),
    };
    // What is wrong with a launch may be that something is missing, which has
    // no place.
    let Ok(kernel) = source.kernel(&Overrides::default(), &options) else {
        return Ok(());
    };
    let launch = kernel.launch(Path::new("/nonexistent")).ok();
    let launch = launch.filter(|l| l.total_threads().is_some_and(|n| n <= MOST_THREADS));
    let run = RunOptions {
        step_limit: STEPS,
        ..RunOptions::default()
    };
    let mut canonical = kernel
        .lowered
        .clean()
        .and_then(warpfold::Before::canonicalise)
        .map_err(road)?;
    if let Some(launch) = &launch
        && let Ok(profiled) = Canonical::profile(canonical.clone(), launch, &run)
    {
        canonical = profiled;
    }
    let machine = Machine::builtin(warpfold::DEFAULT_MACHINE)
        .map_err(|e| fail("road", String::new(), e.to_string()))?;
    let optimized = canonical.convert(&Settings::new(machine)).map_err(road)?;
    if let Some(launch) = &launch {
        // The program may race or run too long: that it comes to an end is
        // all that is asked.
        let _ = optimized.measure(launch, &run);
    }
    Ok(())
}

/// Every error says where.
fn placed(errors: &Errors) -> Result<(), Failure> {
    match errors.as_slice().iter().find(|d| d.line.is_none()) {
        None => Ok(()),
        Some(d) => Err(fail("text", String::new(), format!("no place: {d}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_any_kind_is_taken_or_refused() {
        let kernel = "function %f(i32 varying) {\nblock0(v0: i32):\n    v1 = const.i32 3\n    \
                      v2 = icmp.i32 slt v0, v1\n    br v2, block1, block2\n\nblock1:\n    \
                      jump block2\n\nblock2:\n    ret\n}\n";
        for cut in 0..kernel.len() {
            check_ir_text(&kernel[..cut]).unwrap_or_else(|e| panic!("{cut}: {e}"));
        }
        check_ir_text(kernel).unwrap();
        let clif = ";! block = 8\n;! [[arg]]\n;! scalar = 1\nfunction %f(i32) {\nblock0(v0: i32):\n    \
                    brif v0, block1, block2\nblock1:\n    trap user1\nblock2:\n    return\n}\n";
        for cut in 0..clif.len() {
            check_clif_text(&clif[..cut]).unwrap_or_else(|e| panic!("{cut}: {e}"));
        }
        check_clif_text(clif).unwrap();
    }
}
