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
use warpfold_testkit::checks::regret::{Compared, check_regret};
use warpfold_testkit::checks::{Subject, Tally, check_same, check_with, settings};

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

/// What became of the branches of a kernel: those that became straight code,
/// regions nested in others included, under `straight`, `predicate` and
/// `select`, which are the same on every machine; the same by cost, machine by
/// machine in the order of [`MACHINES`]; and exits and traps with a guard, the
/// same under every machine and knob.
type Row = ([u64; 3], [u64; MACHINES.len()], [u64; 2]);

const CONVERTED: &[(&str, Row)] = &[
    ("binary_search", ([1, 1, 1], [1, 1, 1, 1, 1, 1], [0, 0])),
    ("bitonic_step", ([0, 0, 0], [0, 0, 0, 0, 0, 0], [2, 0])),
    ("checked_index", ([1, 1, 0], [1, 1, 1, 1, 1, 1], [0, 0])),
    ("clamp", ([2, 2, 0], [2, 2, 2, 2, 2, 2], [0, 0])),
    ("clamp_branchless", ([0, 0, 0], [0, 0, 0, 0, 0, 0], [0, 0])),
    ("collatz", ([1, 1, 1], [1, 1, 1, 1, 1, 1], [0, 0])),
    ("count_matches", ([1, 1, 1], [1, 1, 1, 1, 1, 1], [0, 0])),
    ("guard_clause", ([0, 0, 0], [0, 0, 0, 0, 0, 0], [1, 0])),
    ("local_array", ([1, 1, 1], [0, 1, 1, 1, 1, 1], [0, 0])),
    ("mandelbrot", ([0, 0, 0], [0, 0, 0, 0, 0, 0], [0, 0])),
    ("parity", ([1, 1, 1], [1, 1, 1, 1, 1, 1], [0, 0])),
    ("parity_warp", ([1, 1, 1], [0, 0, 0, 0, 0, 0], [0, 0])),
    ("quadratic", ([2, 2, 0], [1, 2, 2, 2, 2, 2], [0, 0])),
    ("rare_work", ([2, 2, 2], [0, 2, 2, 2, 2, 2], [0, 0])),
    ("reduction", ([1, 1, 0], [0, 0, 1, 1, 1, 1], [1, 0])),
    ("safe_div", ([1, 1, 0], [1, 1, 1, 1, 1, 1], [0, 0])),
    ("short_circuit", ([2, 2, 0], [2, 2, 2, 2, 2, 2], [0, 0])),
    (
        "short_circuit_bitwise",
        ([1, 1, 0], [1, 1, 1, 1, 1, 1], [0, 0]),
    ),
    ("sign_magnitude", ([2, 2, 2], [2, 2, 2, 2, 2, 2], [0, 0])),
    ("stencil3x3", ([2, 2, 0], [1, 2, 2, 2, 2, 2], [1, 0])),
    ("switch_lane", ([1, 1, 1], [1, 1, 1, 1, 1, 1], [0, 0])),
    ("trip_count", ([0, 0, 0], [0, 0, 0, 0, 0, 0], [0, 0])),
    ("two_ways", ([2, 2, 2], [2, 2, 2, 2, 2, 2], [0, 0])),
    ("warp_compact", ([0, 0, 0], [0, 0, 0, 0, 0, 0], [1, 0])),
    ("warp_skip", ([2, 2, 2], [1, 1, 1, 1, 1, 1], [0, 0])),
];

#[test]
fn same_exact_and_as_the_interpreter_says() {
    let mut seen: Vec<(String, Row)> = Vec::new();
    let mut alone = Vec::new();
    let mut total = Tally::default();
    for (kernel, subject) in kernels() {
        let expected = subject
            .expected()
            .unwrap_or_else(|e| panic!("{kernel}: {e}"));
        if expected.is_none() {
            alone.push(kernel.clone());
        }
        let mut forced = [[0; MACHINES.len()]; 3];
        let mut skipped = [0; MACHINES.len()];
        let mut by_cost = [0; MACHINES.len()];
        let mut exits = Vec::new();
        for (m, shipped) in MACHINES.iter().enumerate() {
            let machine = shipped.machine();
            for force in FORCES {
                let scalar = machine.name == "unit";
                let tally = check_with(&subject, &machine, force, expected.as_ref(), scalar)
                    .unwrap_or_else(|e| panic!("{kernel}: {e}"));
                assert_eq!(tally.exact, 1, "{kernel}: no lane traps");
                match force {
                    Some(Force::Straight) => forced[0][m] = tally.converted,
                    Some(Force::Predicate) => forced[1][m] = tally.converted,
                    Some(Force::Select) => forced[2][m] = tally.converted,
                    None => by_cost[m] = tally.converted,
                    Some(Force::Branch) => assert_eq!(tally.converted, 0, "{kernel}"),
                    Some(Force::Skip) => skipped[m] = tally.converted,
                }
                exits.push([tally.outcome("exit"), tally.outcome("trap")]);
                total.add(&tally);
            }
        }
        let everywhere = |all: &[u64]| {
            assert!(all.iter().all(|&n| n == all[0]), "{kernel}: {forced:?}");
            all[0]
        };
        let forced = [0, 1, 2].map(|i| everywhere(&forced[i]));
        // What can be straight can be so with parts skipped.
        assert_eq!(everywhere(&skipped), forced[0], "{kernel}");
        assert!(exits.iter().all(|e| e == &exits[0]), "{kernel}: {exits:?}");
        seen.push((kernel, (forced, by_cost, exits[0])));
    }
    assert_eq!(alone, CROSS_LANE);
    let written: Vec<(String, Row)> = CONVERTED
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

/// Every legal assignment of every kernel costs what is predicted for it on every
/// machine, and none less than the chosen one.
#[test]
fn no_legal_assignment_is_cheaper() {
    let mut compared = Compared::default();
    for (kernel, subject) in kernels() {
        let found = check_regret(&subject, 32).unwrap_or_else(|e| panic!("{kernel}: {e}"));
        compared.add(found.unwrap_or_default());
    }
    println!("{compared:?}");
    assert!(compared.kernels >= 15, "{compared:?}");
}

/// Without a profile the same kernels convert to code that does the same.
#[test]
fn same_without_a_profile() {
    let mut converted = [0; MACHINES.len()];
    for (kernel, subject) in kernels() {
        let blind = subject.without_profile().unwrap();
        for (m, shipped) in MACHINES.iter().enumerate() {
            let outcome = blind
                .outcome(&settings(&shipped.machine(), None, true))
                .unwrap_or_else(|e| panic!("{kernel}: {e}"));
            check_same(&outcome).unwrap_or_else(|e| panic!("{kernel}: {e}"));
            let report = outcome.optimized().report();
            assert_eq!(report.predicted, None, "{kernel}");
            converted[m] += Tally::of(report).converted;
        }
    }
    assert_eq!(converted, [22, 25, 25, 25, 25, 25]);
}
