//! Differences between two kernels are found and named.

use warpfold::exec::{Arg, ExecOptions, Launch, Memory, Outcome, run};
use warpfold::ir::{Function, parse_module, verify};
use warpfold::same::{Difference, Sameness, compare};

/// Runs a kernel `%f(i64, i32 varying)` whose second argument is the thread's
/// number, on one buffer of 64 bytes.
fn outcome(body: &str, results: &str) -> Outcome {
    let text =
        format!("function %f(i64, i32 varying){results} {{\nblock0(v0: i64, v1: i32):\n{body}}}\n");
    let func: Function = parse_module(&text).unwrap().functions.remove(0);
    verify(&func).unwrap();
    let mut memory = Memory::new();
    let buffer = memory.add(vec![0; 64], false);
    let launch = Launch {
        memory,
        ..Launch::linear(1, 8)
    }
    .with_args(vec![
        Arg::Uniform(buffer.into()),
        Arg::Varying((0..8).collect()),
    ]);
    let options = ExecOptions {
        events: true,
        ..ExecOptions::default()
    };
    run(&func, &launch, &options).unwrap()
}

#[track_caller]
fn difference(before: &Outcome, after: &Outcome) -> Difference {
    match compare(before, after, 8) {
        Sameness::Different(d) => d,
        other => panic!("{other:?}"),
    }
}

/// Each thread stores its number to its own word.
const STORE: &str = "    v2 = const.i64 2\n    v3 = uextend.i64 v1\n    v4 = ishl.i64 v3, v2\n    v5 = iadd.i64 v0, v4\n    store.i32 v1, v5 @1:10\n";

#[test]
fn a_kernel_is_the_same_as_itself() {
    let a = outcome(&format!("{STORE}    ret v1\n"), " -> i32");
    assert_eq!(
        compare(&a, &a, 8),
        Sameness::Same {
            threads: 8,
            events: Some(8)
        }
    );
}

#[test]
fn speculated_loads_are_no_difference() {
    let load = "    v6 = load.i32 can_move v5\n";
    let a = outcome(&format!("{STORE}    ret\n"), "");
    let b = outcome(&format!("{STORE}{load}    ret\n"), "");
    assert!(compare(&a, &b, 8).is_same());
    let c = outcome(&format!("{STORE}    v6 = load.i32 v5 @2:11\n    ret\n"), "");
    let d = difference(&a, &c);
    assert_eq!(
        d.to_string(),
        "event 1 of thread 0: none before, load of 0x0 at 0x10000000 (line 11) after"
    );
    assert_eq!(d.origin().map(|o| o.line), Some(11));
}

#[test]
fn results_are_compared_by_lane() {
    let a = outcome("    ret v1\n", " -> i32");
    let b = outcome(
        "    v2 = const.i32 5\n    v3 = icmp.i32 eq v1, v2\n    v4 = select.i32 v3, v2, v2\n    v6 = const.i32 4\n    v5 = select.i32 v3, v6, v1\n    ret v5\n",
        " -> i32",
    );
    assert_eq!(
        difference(&a, &b).to_string(),
        "thread 5 returned 0x5 before, 0x4 after"
    );
}

/// A store that conditional code must not do, though it changes nothing.
#[test]
fn a_silent_store_is_a_difference() {
    let a = outcome("    ret\n", "");
    let b = outcome(
        "    v2 = const.i32 0\n    store.i32 v2, v0 @4:3\n    ret\n",
        "",
    );
    assert_eq!(
        difference(&a, &b).to_string(),
        "event 0 of thread 0: none before, store of 0x0 at 0x10000000 (line 3) after"
    );
    assert_eq!(difference(&b, &a).thread(), Some(0));
}

#[test]
fn traps_count_with_their_place() {
    let trap = |line: u32, code: &str| {
        outcome(
            &format!(
                "    v2 = const.i32 6\n    v3 = icmp.i32 eq v1, v2\n    trap if v3, {code} @9:{line}\n    ret\n"
            ),
            "",
        )
    };
    assert!(compare(&trap(7, "user1"), &trap(7, "user1"), 8).is_same());
    let d = difference(&trap(7, "user1"), &trap(8, "user1"));
    assert_eq!(d.thread(), Some(6));
    let d = difference(&trap(7, "user1"), &trap(7, "user2"));
    assert_eq!(
        d.to_string(),
        "event 0 of thread 6: trap user1 (line 7) before, trap user2 (line 7) after"
    );
}

/// Without event logs traps, results and memory still speak.
#[test]
fn without_events_less_is_compared() {
    let strip = |mut o: Outcome| {
        o.events = None;
        o
    };
    let a = strip(outcome(&format!("{STORE}    ret\n"), ""));
    assert_eq!(
        compare(&a, &a, 8),
        Sameness::Same {
            threads: 8,
            events: None
        }
    );
    let b = strip(outcome("    ret\n", ""));
    assert_eq!(
        difference(&a, &b).to_string(),
        "byte 4 of buffer 0 is 0x01 before, 0x00 after"
    );
    let trapped =
        "    v2 = const.i32 6\n    v3 = icmp.i32 eq v1, v2\n    trap if v3, user3 @9:7\n    ret\n";
    let c = strip(outcome(trapped, ""));
    assert_eq!(difference(&b, &c).thread(), Some(6));
}
