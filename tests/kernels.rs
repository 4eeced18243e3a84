//! Every kernel of `tests/kernels` under every machine and every knob.
//!
//! Each of them must do the same before and after, cost exactly what was
//! predicted, and do what Cranelift's interpreter does wherever lanes do not
//! see each other. So that this cannot hold because nothing happened, the
//! numbers of kernels and branches that were really converted are written
//! here, by knob.

use std::collections::BTreeMap;
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

fn name(force: Option<Force>) -> &'static str {
    force.map_or("by cost", Force::name)
}

#[test]
fn same_exact_and_as_the_interpreter_says() {
    let mut by_force: BTreeMap<&str, Tally> = BTreeMap::new();
    let mut alone = Vec::new();
    for (kernel, subject) in kernels() {
        let expected = subject.expected().unwrap_or_else(|e| panic!("{kernel}: {e}"));
        if expected.is_none() {
            alone.push(kernel.clone());
        }
        for shipped in MACHINES {
            let machine = shipped.machine();
            for force in FORCES {
                let tally = check(&subject, &machine, force, expected.as_ref())
                    .unwrap_or_else(|e| panic!("{kernel}: {e}"));
                assert_eq!(tally.exact, 1, "{kernel}: no lane traps");
                by_force.entry(name(force)).or_default().add(&tally);
            }
        }
    }
    assert_eq!(alone, CROSS_LANE);
    // Over six machines: kernels with a conversion, branches in straight code,
    // of these headed by a region that needed no guard, and exits.
    let seen: Vec<(&str, [u64; 4])> = by_force
        .iter()
        .map(|(&force, t)| {
            let counts = [
                t.kernels_converted,
                t.converted,
                t.outcome("select"),
                t.outcome("exit"),
            ];
            (force, counts)
        })
        .collect();
    assert_eq!(seen, []);
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
    assert_eq!(converted, 0);
}
