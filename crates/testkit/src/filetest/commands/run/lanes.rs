//! Lines as lanes of a launch.

use warpfold::analysis::LaunchShape;
use warpfold::exec::{Arg, ExecOptions, Launch};
use warpfold::ir::Function;

use super::lines::{End, Line};
use super::versions::Program;
use crate::checks::claimed::run_under_claims;

/// How lines are spread over a grid.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    blocks: u32,
    threads: u32,
}

/// 32 to a warp; what is left over of the last warp runs lines again, from
/// the first on.
pub(super) fn packed(lines: usize) -> Shape {
    Shape {
        blocks: clamp(lines.div_ceil(32)),
        threads: 32,
    }
}

/// Each line a warp of one lane.
pub(super) fn alone(lines: usize) -> Shape {
    Shape {
        blocks: clamp(lines),
        threads: 1,
    }
}

fn clamp(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Runs all lines; for each, whether every lane that ran it did as it says.
pub(super) fn run(
    program: &Program,
    lines: &[Line],
    shape: Shape,
    how: &ExecOptions,
    first: &mut [Option<Vec<u128>>],
) -> Vec<Result<(), String>> {
    let launch = Launch::linear(shape.blocks, shape.threads);
    let threads = launch.total_threads().unwrap_or(0) as usize;
    let of = |thread: usize| thread % lines.len();
    let Some(kernel) = program.functions.get(program.kernel) else {
        return vec![Err("there is nothing to launch".to_owned()); lines.len()];
    };
    let args = (0..kernel.params.len())
        .map(|i| Arg::Varying((0..threads).map(|t| lines[of(t)].args[i]).collect()))
        .collect();
    let functions: Vec<&Function> = program.functions.iter().collect();
    let launch = launch.with_args(args);
    let known = LaunchShape::new(launch.grid, launch.block);
    let outcome = match run_under_claims(&functions, program.kernel, &launch, known, how, false) {
        Ok(outcome) => outcome,
        Err(e) => return vec![Err(e.to_string()); lines.len()],
    };
    let mut ends: Vec<End> = (0..threads)
        .map(|t| End::Returned(outcome.returns.get(t).unwrap_or_default().to_vec()))
        .collect();
    for trap in &outcome.traps {
        ends[trap.thread as usize] = End::Trapped(trap.code);
    }
    let mut results = vec![Ok(()); lines.len()];
    for (thread, end) in ends.iter().enumerate() {
        let line = of(thread);
        if results[line].is_ok() {
            results[line] = lines[line].check(end, &mut first[line]);
        }
    }
    results
}
