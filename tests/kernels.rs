//! Every kernel of `tests/kernels` under every machine and every knob.
//!
//! Each of them must do the same before and after, cost exactly what was
//! predicted, and do what Cranelift's interpreter does wherever lanes do not
//! see each other. So that this cannot hold because nothing happened, the
//! numbers of branches that were really converted are written here, kernel by
//! kernel.

use std::path::{Path, PathBuf};

use warpfold::machine::MACHINES;
use warpfold::opt::report::Force;
use warpfold_testkit::checks::generated::FORCES;
use warpfold_testkit::checks::{Subject, Tally, check, check_same, settings};

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kernels")
}

/// The kernels by name, in order.
fn kernels() -> Vec<(String, Subject)> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(directory())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "clif"))
        .collect();
    files.sort();
    let read = |path: &PathBuf| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(path).unwrap();
        let file = format!("{name}.clif");
        let subject = Subject::read(&text, &file, &directory());
        let subject = subject.unwrap_or_else(|e| panic!("{name}: {e}"));
        (name, subject)
    };
    files.iter().map(read).collect()
}

/// Kernels that the interpreter cannot run lane by lane.
const CROSS_LANE: [&str; 3] = ["reduction", "warp_compact", "warp_skip"];

/// Branches that became straight code, regions nested in others included:
/// under `straight`, `predicate` and `select`, which are the same on every
/// machine, and by cost, summed over all machines. Then exits.
const CONVERTED: &[(&str, [u64; 5])] = &[
    ("binary_search", [1, 1, 1, 6, 0]),
    ("bitonic_step", [0, 0, 0, 0, 2]),
    ("checked_index", [1, 1, 0, 6, 0]),
    ("clamp", [2, 2, 0, 12, 0]),
    ("clamp_branchless", [0, 0, 0, 0, 0]),
    ("collatz", [1, 1, 1, 6, 0]),
    ("count_matches", [1, 1, 1, 6, 0]),
    ("guard_clause", [0, 0, 0, 0, 1]),
    ("local_array", [1, 1, 1, 5, 0]),
    ("mandelbrot", [0, 0, 0, 0, 0]),
    ("parity", [1, 1, 1, 6, 0]),
    ("parity_warp", [1, 1, 1, 0, 0]),
    ("quadratic", [2, 2, 0, 11, 0]),
    ("reduction", [1, 1, 0, 4, 1]),
    ("safe_div", [1, 1, 0, 6, 0]),
    ("short_circuit", [0, 0, 0, 0, 0]),
    ("short_circuit_bitwise", [1, 1, 0, 6, 0]),
    ("sign_magnitude", [2, 2, 2, 12, 0]),
    ("stencil3x3", [2, 2, 0, 11, 1]),
    ("switch_lane", [0, 0, 0, 0, 0]),
    ("trip_count", [0, 0, 0, 0, 0]),
    ("warp_compact", [0, 0, 0, 0, 1]),
    ("warp_skip", [2, 2, 2, 6, 0]),
];

#[test]
fn same_exact_and_as_the_interpreter_says() {
    let mut seen: Vec<(String, [u64; 5])> = Vec::new();
    let mut alone = Vec::new();
    let mut total = Tally::default();
    for (kernel, subject) in kernels() {
        let expected = subject
            .expected()
            .unwrap_or_else(|e| panic!("{kernel}: {e}"));
        if expected.is_none() {
            alone.push(kernel.clone());
        }
        // By column, one number for each machine.
        let mut columns: [Vec<u64>; 5] = Default::default();
        for shipped in MACHINES {
            let machine = shipped.machine();
            for force in FORCES {
                let tally = check(&subject, &machine, force, expected.as_ref())
                    .unwrap_or_else(|e| panic!("{kernel}: {e}"));
                assert_eq!(tally.exact, 1, "{kernel}: no lane traps");
                let (column, n) = match force {
                    Some(Force::Straight) => (0, tally.converted),
                    Some(Force::Predicate) => (1, tally.converted),
                    Some(Force::Select) => (2, tally.converted),
                    None => (3, tally.converted),
                    Some(Force::Branch) => {
                        assert_eq!(tally.converted, 0, "{kernel}");
                        (4, tally.outcome("exit"))
                    }
                };
                columns[column].push(n);
                total.add(&tally);
            }
        }
        let row = std::array::from_fn(|i| match i {
            3 => columns[i].iter().sum(),
            _ => {
                let n = columns[i][0];
                assert!(columns[i].iter().all(|&m| m == n), "{kernel}: {columns:?}");
                n
            }
        });
        seen.push((kernel, row));
    }
    assert_eq!(alone, CROSS_LANE);
    let written: Vec<(String, [u64; 5])> = CONVERTED
        .iter()
        .map(|&(kernel, row)| (kernel.to_owned(), row))
        .collect();
    assert!(seen == written, "converted were {seen:?}\n{total}");
}

/// No knob beats the decision: forms forced everywhere never cost less.
#[test]
fn the_decision_is_the_cheapest_of_all_that_were_forced() {
    for (kernel, subject) in kernels() {
        for shipped in MACHINES {
            let machine = shipped.machine();
            let cost = |force| {
                let outcome = subject.outcome(&settings(&machine, force, false)).unwrap();
                check_same(&outcome).unwrap();
                outcome.totals()[2].unwrap()
            };
            let chosen = cost(None);
            for force in Force::ALL {
                let forced = cost(Some(force));
                assert!(
                    chosen <= forced,
                    "{kernel} on {}: {chosen}, but {forced} with {force}",
                    machine.name
                );
            }
        }
    }
}

/// Without a profile the same kernels convert to code that does the same.
#[test]
fn same_without_a_profile() {
    let mut converted = 0;
    for (kernel, subject) in kernels() {
        let blind = subject.without_profile().unwrap();
        for shipped in MACHINES {
            let outcome = blind
                .outcome(&settings(&shipped.machine(), None, true))
                .unwrap_or_else(|e| panic!("{kernel}: {e}"));
            check_same(&outcome).unwrap_or_else(|e| panic!("{kernel}: {e}"));
            let report = outcome.optimized().report();
            assert_eq!(report.predicted, None, "{kernel}");
            converted += Tally::of(report).converted;
        }
    }
    assert_eq!(converted, 105);
}
