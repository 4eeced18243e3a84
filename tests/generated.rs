//! Generated kernels, unconverted against converted.
//!
//! Two thousand programs, each under a drawn machine and knob or policy, some with hints,
//! must do the same in all versions and in both modes and cost what was predicted; one in
//! four also must do what Cranelift's interpreter does. A failing program is made smaller by
//! proptest and printed as a kernel file with its launch.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use warpfold::analysis::regions::RegionShape;
use warpfold::analysis::{Cfg, JoinRule, Joins};
use warpfold::ir::{Block, Opcode};
use warpfold::launch::Overrides;
use warpfold::machine::MACHINES;
use warpfold::opt::ifconv::legality::RULES;
use warpfold::opt::policy::POLICIES;
use warpfold::opt::report::{Force, Form};
use warpfold::{Options as RoadOptions, Source, Syntax};
use warpfold_testkit::checks::IDIOMS;
use warpfold_testkit::checks::generated::{Drawn, FORCES, Seen};
use warpfold_testkit::checks::regret::Compared;
use warpfold_testkit::generate::{Options, SHAPES, generate, random_bytes};

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
                for name in [drawn.machine.name.clone(), drawn.decider()] {
                    *asked.borrow_mut().entry(name).or_default() += seen.tally.oracle;
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
    assert_eq!(names(&tally.blockers), set(&RULES.map(|(name, _)| name)));
    let idioms = IDIOMS.map(Opcode::mnemonic);
    assert_eq!(names(&tally.idioms), set(&idioms), "{tally}");
    assert!(tally.idioms.values().all(|&n| n >= 5), "{tally}");
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
    for row in POLICIES {
        let n = asked.get(&format!("by {}", row.name)).copied().unwrap_or(0);
        assert!(n > 0, "{}: {asked:?}", row.name);
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

/// A lane that is past a barrier never leaves to a return where the others do not go
/// as long as barriers follow: all that come to one meet on the way to the same end.
#[test]
fn all_lanes_come_to_a_barrier() {
    let options = Options {
        cross_lane: true,
        shared: true,
        ..Options::default()
    };
    let (mut several, mut leave) = (0, 0);
    for seed in 0..6_000 {
        let bytes = random_bytes(0xba44 << 20 | seed, 60..260);
        let program = generate(&bytes, &options);
        let counted = |shape| program.coverage.shapes.get(shape).copied().unwrap_or(0);
        if counted("barrier") < 2 {
            continue;
        }
        several += 1;
        if counted("late-block") + counted("shared-return") == 0 {
            continue;
        }
        leave += 1;
        let kernel = Source::parse(&program.text, "barrier.clif", Syntax::Clif)
            .and_then(|s| s.kernel(&Overrides::default(), &RoadOptions::default()))
            .unwrap_or_else(|e| panic!("{e}\n{}", program.text));
        let func = kernel.lowered.func();
        let cfg = Cfg::new(func);
        let joins = Joins::new(func, &cfg, JoinRule::Default);
        let home = |b: Block| joins.ends().home(b);
        let entry = home(func.layout[0]);
        for &b in &func.layout {
            let mut insts = func.block(b).insts.iter();
            let waits = insts.any(|&i| func.inst(i).op == Opcode::Barrier);
            assert!(!waits || home(b) == entry, "{b}\n{}", program.text);
        }
    }
    println!("{several} programs with several barriers, {leave} with returns behind the last");
    assert!(leave > 60, "{several} {leave}");
}
