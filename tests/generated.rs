//! Generated kernels, unconverted against converted.
//!
//! Two thousand programs, each under a drawn machine and knob, must do the
//! same in all versions and cost what was predicted; one in four also must do
//! what Cranelift's interpreter does. A failing program is made smaller by
//! proptest and printed as a kernel file with its launch.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use warpfold::analysis::regions::RegionShape;
use warpfold::machine::MACHINES;
use warpfold::opt::report::{Force, Form};
use warpfold_testkit::checks::generated::{Drawn, FORCES, Seen};
use warpfold_testkit::checks::regret::Compared;
use warpfold_testkit::generate::{Options, SHAPES, generate};

const CASES: u32 = 2_000;

fn runner(cases: u32) -> TestRunner {
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 3_000,
        ..Config::default()
    };
    // The same programs in every run.
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

#[test]
fn converted_programs_do_the_same_and_cost_what_was_predicted() {
    let total = RefCell::new(Seen::default());
    // Checks against the interpreter, by machine and by knob.
    let asked = RefCell::new(BTreeMap::<String, u64>::new());
    let result = runner(CASES).run(&vec(any::<u8>(), 0..300), |bytes| {
        let drawn = Drawn::new(&bytes);
        match drawn.check(drawn.oracle) {
            Ok(seen) => {
                let knob = drawn.force.map_or("by cost", Force::name);
                for name in [&drawn.machine.name, knob] {
                    *asked.borrow_mut().entry(name.to_owned()).or_default() += seen.tally.oracle;
                }
                let mut total = total.borrow_mut();
                total.coverage.add(&seen.coverage);
                total.tally.add(&seen.tally);
                Ok(())
            }
            Err(failure) => {
                let text = &drawn.program.text;
                Err(TestCaseError::fail(format!("{failure}\n{text}")))
            }
        }
    });
    if let Err(e) = result {
        panic!("{e}");
    }
    let Seen { coverage, tally } = total.into_inner();
    let asked = asked.into_inner();
    println!("{tally}\n{asked:?}\n{coverage}");
    assert_eq!(tally.checked, u64::from(CASES));
    assert_eq!(coverage.missing(&[]), [""; 0]);
    let names = |map: &BTreeMap<String, u64>| -> BTreeSet<String> { map.keys().cloned().collect() };
    let set = |names: &[&str]| -> BTreeSet<String> { names.iter().map(|&n| n.into()).collect() };
    assert_eq!(
        names(&tally.outcomes),
        set(&[
            "branch", "exit", "folded", "select", "skip", "straight", "trap"
        ])
    );
    assert_eq!(
        names(&tally.shapes),
        set(&[
            "acyclic",
            "chain",
            "degenerate",
            "diamond",
            "guard",
            "switch",
            "triangle"
        ])
    );
    assert_eq!(
        names(&tally.blockers),
        set(&[
            "cross-lane",
            "depth",
            "early end",
            "edges",
            "sync",
            "unsafe"
        ])
    );
    // Every shape in every form, but that nothing can be skipped where there is
    // nothing between branch and join.
    let mut pairs = BTreeSet::new();
    for shape in RegionShape::ALL {
        for form in [Form::Branch, Form::Straight, Form::Skip] {
            if (shape, form) != (RegionShape::Degenerate, Form::Skip) {
                pairs.insert(format!("{shape} {form}"));
            }
        }
    }
    assert_eq!(names(&tally.pairs), pairs, "{tally}");
    assert!(tally.kernels_converted > 700, "{tally}");
    assert!(tally.outcome("straight") > 1_000, "{tally}");
    assert!(tally.outcome("select") > 500, "{tally}");
    assert!(tally.merged > 80, "{tally}");
    assert!(tally.exact > 1_700, "{tally}");
    assert!(tally.oracle > 350, "{tally}");
    // Before and after of each program in both modes, and of many in no mode.
    assert_eq!(tally.compared.modes, 2 * u64::from(CASES));
    assert!(tally.compared.yielding > 40, "{tally}");
    assert!(tally.compared.scalar > 900, "{tally}");
    // No machine and no knob goes without the interpreter.
    let knobs = FORCES.map(|force| force.map_or("by cost", Force::name));
    for name in MACHINES.iter().map(|shipped| shipped.name).chain(knobs) {
        let n = asked.get(name).copied().unwrap_or(0);
        assert!(n > 40, "{name}: {asked:?}");
    }
}

/// Of the first two hundred programs with at most 32 legal assignments each costs
/// what is predicted for it on every machine, and none less than the chosen one.
#[test]
fn no_legal_assignment_is_cheaper() {
    const PROGRAMS: u64 = 200;
    let total = RefCell::new(Compared::default());
    let result = runner(4_000).run(&vec(any::<u8>(), 0..160), |bytes| {
        if total.borrow().kernels == PROGRAMS {
            return Ok(());
        }
        let drawn = Drawn::new(&bytes);
        match drawn.check_regret(32) {
            Ok(compared) => {
                total.borrow_mut().add(compared.unwrap_or_default());
                Ok(())
            }
            Err(failure) => {
                let text = &drawn.program.text;
                Err(TestCaseError::fail(format!("{failure}\n{text}")))
            }
        }
    });
    if let Err(e) = result {
        panic!("{e}");
    }
    let compared = total.into_inner();
    println!("{compared:?}");
    assert_eq!(compared.kernels, PROGRAMS);
    assert!(compared.assignments > 1_500, "{compared:?}");
    assert!(compared.skipping > 500, "{compared:?}");
    assert!(compared.merging > 15, "{compared:?}");
}

/// Programs say truly what they contain, and the smallest one is small.
#[test]
fn coverage_is_what_the_text_holds() {
    let bytes: Vec<u8> = (0..400u32).map(|i| (i * i % 251) as u8).collect();
    let options = Options {
        traps: true,
        cross_lane: true,
        shared: true,
        waits: true,
        ..Options::default()
    };
    let program = generate(&bytes, &options);
    for (op, &n) in &program.coverage.ops {
        let written = program
            .text
            .lines()
            .filter(|line| {
                let line = line.trim_start();
                let line = line.split_once(" = ").map_or(line, |(_, rest)| rest);
                let word = line.split([' ', '.']).next();
                !line.starts_with('%') && word == Some(op)
            })
            .count();
        assert_eq!(written as u64, n, "{op}\n{}", program.text);
    }
    assert!(SHAPES.iter().all(|(_, doc)| !doc.is_empty()));
    let smallest = generate(&[], &Options::default());
    assert_eq!(
        smallest.text.matches("block").count(),
        2,
        "{}",
        smallest.text
    );
}
