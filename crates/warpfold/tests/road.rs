//! The road on the kernels of the repository: versions agree, measured costs
//! add up, predictions come true.

use std::path::{Path, PathBuf};

use warpfold::exec::Launch;
use warpfold::launch::Overrides;
use warpfold::machine::{Cost, MACHINES, Machine};
use warpfold::opt::report::Force;
use warpfold::{Canonical, Kernel, Options, RunOptions, Settings, Source, Syntax, cost_by_branch};

fn kernels() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kernels");
    let mut files: Vec<PathBuf> = std::fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "clif"))
        .collect();
    files.sort();
    assert!(files.len() >= 14);
    files
}

fn kernel(path: &Path) -> (Kernel, Launch) {
    let text = std::fs::read_to_string(path).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    let options = Options {
        verify_each: true,
        ..Options::default()
    };
    let kernel = Source::parse(&text, name, Syntax::Clif)
        .and_then(|s| s.kernel(&Overrides::default(), &options))
        .unwrap();
    let launch = kernel.launch(path.parent().unwrap()).unwrap();
    (kernel, launch)
}

fn canonical(path: &Path) -> (Canonical, Launch) {
    let (kernel, launch) = kernel(path);
    let canonical = kernel
        .lowered
        .clean()
        .and_then(|s| s.canonicalise())
        .and_then(|s| s.profile(&launch, &RunOptions::default()))
        .unwrap();
    (canonical, launch)
}

/// Without clean-up: what was predicted for each branch is what it cost, and
/// branches together with the rest are the whole.
#[test]
fn predictions_come_true_branch_by_branch() {
    let forces = [None].into_iter().chain(Force::ALL.map(Some));
    let mut converted = 0;
    for (i, path) in kernels().iter().enumerate() {
        let (canonical, launch) = canonical(path);
        for (j, force) in forces.clone().enumerate() {
            let machine = MACHINES[(i + j) % MACHINES.len()].machine();
            let settings = Settings {
                force,
                cleanup: false,
                ..Settings::new(machine)
            };
            let outcome = canonical
                .clone()
                .convert(&settings)
                .and_then(|s| s.measure(&launch, &RunOptions::default()))
                .unwrap();
            let place = format!("{} {force:?}", path.display());
            assert!(outcome.all_same(), "{place}: {}", outcome.sameness());
            let report = outcome.optimized().report();
            let [_, kept, after] = outcome.totals();
            assert_eq!(report.predicted, after, "{place}");
            assert_eq!(report.predicted_kept, kept, "{place}");
            let mut sum = outcome.measured_outside().unwrap();
            for d in &report.decisions {
                let measured = outcome.measured(d.origin).unwrap();
                assert_eq!(
                    d.predicted.unwrap_or_default(),
                    measured,
                    "{place}: {}",
                    d.origin
                );
                sum += measured;
                converted += u32::from(d.outcome() != "branch");
            }
            assert_eq!(Some(sum), after, "{place}");
        }
    }
    assert!(converted > 40, "{converted}");
}

/// With clean-up: what is missing is what the report lists as removed.
#[test]
fn what_clean_up_saves_is_listed() {
    let mut removed = 0;
    for path in kernels() {
        let (canonical, launch) = canonical(&path);
        let settings = Settings {
            force: Some(Force::Straight),
            ..Settings::new(Machine::builtin("unit").unwrap())
        };
        let outcome = canonical
            .convert(&settings)
            .and_then(|s| s.measure(&launch, &RunOptions::default()))
            .unwrap();
        assert!(
            outcome.all_same(),
            "{}: {}",
            path.display(),
            outcome.sameness()
        );
        let report = outcome.optimized().report();
        let listed: Cost = report.removed.iter().map(|r| r.predicted).sum();
        let [_, _, after] = outcome.totals();
        assert_eq!(
            report.predicted.unwrap() - listed,
            after.unwrap(),
            "{}",
            path.display()
        );
        removed += report.removed.len();
    }
    println!("{removed} instructions removed in all");
}

/// Every issue has an owner, also where lanes trap.
#[test]
fn costs_by_branch_are_the_whole_cost() {
    let text = "\
;! block = 96
;! [[arg]]
;! varying = \"lane % 3\"
function %f(i32) -> i32 {
block0(v0: i32):
    v1 = iconst.i32 12
    v2 = iconst.i32 2
    v3 = icmp eq v0, v2
    brif v3, block2(v1), block1
block1:
    v4 = sdiv v1, v0
    v5 = imul v4, v4
    jump block2(v5)
block2(v6: i32):
    return v6
}
";
    let machine = Machine::builtin("hopper").unwrap();
    for force in [None, Some(Force::Branch), Some(Force::Predicate)] {
        let kernel = Source::parse(text, "f.clif", Syntax::Clif)
            .and_then(|s| s.kernel(&Overrides::default(), &Options::default()))
            .unwrap();
        let launch = kernel.launch(Path::new("")).unwrap();
        let settings = Settings {
            force,
            ..Settings::new(machine.clone())
        };
        let outcome = kernel
            .lowered
            .clean()
            .and_then(|s| s.canonicalise())
            .and_then(|s| s.convert(&settings))
            .and_then(|s| s.measure(&launch, &RunOptions::default()))
            .unwrap();
        assert!(outcome.all_same(), "{force:?}: {}", outcome.sameness());
        let after = outcome.after().unwrap();
        assert_eq!(after.traps.len(), 33, "{force:?}");
        let optimized = outcome.optimized();
        let costs = cost_by_branch(optimized.func(), after, optimized.owners(), &machine);
        assert_eq!(
            costs.values().sum::<Cost>(),
            after.counters.cost(&machine),
            "{force:?}"
        );
    }
}

/// Millions of accesses are not logged one by one; the verdict says so.
#[test]
fn too_many_accesses_to_compare_each() {
    let text = "\
;! block = 1024
;! [[arg]]
;! buffer = \"i32\"
;! len = 1
function %f(i64) {
block0(v0: i64):
    v1 = iconst.i32 0
    jump block1(v1)
block1(v2: i32):
    v3 = load.i32 v0
    v4 = iconst.i32 1
    v5 = iadd v2, v4
    v6 = iconst.i32 5000
    v7 = icmp ult v5, v6
    brif v7, block1(v5), block2
block2:
    return
}
";
    let kernel = Source::parse(text, "f.clif", Syntax::Clif)
        .and_then(|s| s.kernel(&Overrides::default(), &Options::default()))
        .unwrap();
    let launch = kernel.launch(Path::new("")).unwrap();
    let settings = Settings::new(Machine::builtin("unit").unwrap());
    let outcome = kernel
        .lowered
        .clean()
        .and_then(|s| s.canonicalise())
        .and_then(|s| s.convert(&settings))
        .and_then(|s| s.measure(&launch, &RunOptions::default()))
        .unwrap();
    assert!(outcome.all_same());
    assert_eq!(
        outcome.sameness().to_string(),
        "results, memory and traps of 1024 threads; too many accesses to compare each"
    );
}

/// A profile merged from two launches decides like one of both.
#[test]
fn profiles_can_come_from_elsewhere() {
    let path = kernels()
        .into_iter()
        .find(|p| p.ends_with("clamp.clif"))
        .unwrap();
    let (once, _) = canonical(&path);
    let mut twice = once.counts().unwrap().clone();
    twice.merge(once.counts().unwrap());
    let settings = Settings::new(Machine::builtin("ampere").unwrap());
    let single = once.clone().convert(&settings).unwrap();
    let double = once.with_profile(twice).convert(&settings).unwrap();
    assert_eq!(
        double.report().predicted.unwrap(),
        single.report().predicted.unwrap() * 2
    );
    assert_eq!(single.func(), double.func());
}

#[test]
fn a_launch_that_does_not_fit_is_an_error() {
    let (kernel, _) = kernel(&kernels()[0]);
    let before = kernel.lowered.clean().unwrap();
    let e = before
        .canonicalise()
        .unwrap()
        .profile(&Launch::linear(1, 32), &RunOptions::default())
        .unwrap_err();
    let file = kernels()[0]
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    assert!(e.to_string().starts_with(&format!("{file}: %")), "{e}");
    assert_eq!(e.fault(), warpfold::Fault::Input);
}

/// With calls: what callees cost is part of what was predicted, in every form
/// and on every machine, and belongs to no branch.
#[test]
fn predictions_of_kernels_that_call() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests/calls");
    let names = [
        "direct",
        "indirect",
        "inline",
        "mutual",
        "recursive",
        "slots",
    ];
    let mut copies = 0;
    for (i, name) in names.iter().enumerate() {
        let (canonical, launch) = canonical(&dir.join(format!("{name}.clif")));
        let forces = [None].into_iter().chain(Force::ALL.map(Some));
        for (j, force) in forces.enumerate() {
            let machine = MACHINES[(i + j) % MACHINES.len()].machine();
            let settings = Settings {
                force,
                cleanup: false,
                ..Settings::new(machine)
            };
            let outcome = canonical
                .clone()
                .convert(&settings)
                .and_then(|s| s.measure(&launch, &RunOptions::default()))
                .unwrap();
            assert!(outcome.all_same(), "{name} {force:?}");
            let report = outcome.optimized().report();
            let [_, kept, after] = outcome.totals();
            assert_eq!(report.predicted, after, "{name} {force:?}");
            assert_eq!(report.predicted_kept, kept, "{name} {force:?}");
            let mut parts = outcome.measured_outside().unwrap();
            for d in &report.decisions {
                let measured = outcome.measured(d.origin).unwrap();
                if let Some(predicted) = d.predicted {
                    assert_eq!(predicted, measured, "{name} {force:?} {}", d.origin);
                }
                parts += measured;
                copies += usize::from(!d.path.is_empty());
            }
            assert_eq!(Some(parts), after, "{name} {force:?}");
        }
    }
    assert_eq!(
        copies,
        2 * (1 + Force::ALL.len()),
        "the branches of inline.clif's helpers"
    );
}

/// Converted text with what it still calls is a kernel again.
#[test]
fn converted_modules_are_read_again() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests/calls");
    let (canonical, launch) = canonical(&dir.join("inline.clif"));
    let settings = Settings::new(Machine::builtin("ampere").unwrap());
    let optimized = canonical.convert(&settings).unwrap();
    let module = optimized.module();
    let names: Vec<&str> = module.functions.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["main", "power"]);
    let text = module.to_string();
    let again = Source::parse(&text, "again.wf", Syntax::Wf)
        .and_then(|s| s.kernel(&Overrides::default(), &Options::default()))
        .unwrap();
    let run = |lowered: &warpfold::Lowered, func| {
        let outcome = lowered.execute(func, &launch, &RunOptions::default());
        outcome.unwrap().returns
    };
    let written = run(&again.lowered, again.lowered.func());
    assert_eq!(written, run(optimized.lowered(), optimized.func()));
}

/// A run that fails in a callee is reported at the callee's line.
#[test]
fn failures_in_callees_have_their_place() {
    let text = "function %main() {
    fn0 = %spin()
block0:
    call fn0()
    return
}
function %spin() {
block0:
    jump block1
block1:
    jump block1
}
;! block = 4
";
    let kernel = Source::parse(text, "spin.clif", Syntax::Clif)
        .and_then(|s| s.kernel(&Overrides::default(), &Options::default()))
        .unwrap();
    let launch = kernel.launch(Path::new(".")).unwrap();
    let lowered = kernel.lowered;
    let error = lowered
        .execute(lowered.func(), &launch, &RunOptions::default())
        .unwrap_err();
    let diagnostic = &error.as_slice()[0];
    assert_eq!(diagnostic.line, Some(11), "{error}");
    assert!(
        diagnostic.message.starts_with("%spin: no progress"),
        "{error}"
    );
}

/// With frames for every call, and with what can be inlined: the same results
/// and traps.
#[test]
fn inlining_changes_no_result() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests/calls");
    let mut inlined = 0;
    for entry in std::fs::read_dir(&dir).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "clif") {
            continue;
        }
        let (kernel, launch) = kernel(&path);
        let lowered = kernel.lowered;
        let written = lowered.clone().as_written().unwrap();
        let before = lowered.clean().unwrap();
        let run = |lowered: &warpfold::Lowered, func| {
            let outcome = lowered.execute(func, &launch, &RunOptions::default());
            let outcome = outcome.unwrap_or_else(|e| panic!("{path:?}: {e}"));
            let mut traps: Vec<_> = outcome.traps.iter().map(|t| (t.thread, t.code)).collect();
            traps.sort_by_key(|t| t.0);
            let calls = outcome.counters.class(warpfold::ir::CostClass::Call);
            (outcome.returns, traps, calls)
        };
        let (returns, traps, calls) = run(written.lowered(), written.func());
        let after = run(before.lowered(), before.func());
        assert_eq!((returns, traps), (after.0, after.1), "{path:?}");
        assert!(after.2 <= calls, "{path:?}");
        inlined += calls - after.2;
    }
    assert!(inlined >= 4, "{inlined} calls fewer");
}
