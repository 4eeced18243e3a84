//! Calls: frames, results, recursion, tail calls, indirect calls, endings.

mod support;

use support::{assert_checks_change_nothing, varying};
use warpfold_exec::{
    Arg, Ending, ExecError, ExecOptions, GLOBAL_BASE, Launch, LaunchError, Mode, Outcome, Site,
    run, run_module,
};
use warpfold_ir::{CostClass, Function, Module, Terminator, TrapCode, parse_module, verify_module};

fn module(text: &str) -> Module {
    let module = parse_module(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    verify_module(&module).unwrap_or_else(|e| panic!("{e}"));
    module
}

/// Runs the first function with everything recorded, and checks what always
/// holds, over all functions.
fn launch_with(m: &Module, launch: &Launch, options: ExecOptions) -> Result<Outcome, ExecError> {
    let its = ExecOptions {
        mode: Mode::Its,
        ..options
    };
    let [stack, its] = [options, its].map(|options| launch_in_mode(m, launch, options));
    if let (Ok(stack), Ok(its)) = (&stack, &its) {
        support::check_modes(stack, its);
        // On the stack a frame that a tail call left stays for lanes that come later.
        assert!(stack.counters.max_call_depth >= its.counters.max_call_depth);
        let code = |o: &Outcome| {
            let mut traps: Vec<_> = o.traps.iter().map(|t| (t.thread, t.site, t.code)).collect();
            traps.sort_unstable();
            traps
        };
        assert_eq!(code(stack), code(its));
    }
    stack
}

fn launch_in_mode(m: &Module, launch: &Launch, options: ExecOptions) -> Result<Outcome, ExecError> {
    let entry = &m.functions[0].name;
    let full = ExecOptions {
        timeline: true,
        profile: true,
        events: true,
        ..options
    };
    let plain = run_module(m, entry, launch, &options);
    let full = run_module(m, entry, launch, &full);
    match (&plain, &full) {
        (Ok(plain), Ok(full)) => {
            assert_eq!(plain.counters, full.counters, "records change nothing");
            assert_eq!(plain.returns, full.returns);
            let c = &full.counters;
            assert!(c.lanes_add_up(), "{c:?}");
            let timeline = full.timeline.as_ref().unwrap();
            assert_eq!(timeline.issues.len() as u64, c.inst_executed);
            let lanes: u64 = timeline
                .issues
                .iter()
                .map(|i| u64::from(i.mask.count_ones()))
                .sum();
            assert_eq!(lanes, c.thread_inst_executed);
            let classes: u64 = CostClass::ALL.iter().map(|&x| c.class(x)).sum();
            assert_eq!(classes, c.inst_executed);
            let own = full.issues.iter().chain(&full.term_issues);
            let of_callees = |f: &warpfold_exec::FunctionOutcome| -> u64 {
                f.issues.iter().chain(&f.term_issues).sum()
            };
            let callees: u64 = full.callees.iter().map(of_callees).sum();
            assert_eq!(own.sum::<u64>() + callees + c.yields, c.inst_executed);
        }
        (a, b) => assert_eq!(a.as_ref().err(), b.as_ref().err()),
    }
    let functions: Vec<_> = m.functions.iter().collect();
    assert_checks_change_nothing(&functions, 0, launch, &options, &plain);
    full
}

fn launch(m: &Module, threads: u32, args: Vec<Arg>) -> Outcome {
    let launch = Launch::linear(1, threads).with_args(args);
    launch_with(m, &launch, ExecOptions::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn results(o: &Outcome, threads: usize) -> Vec<u128> {
    (0..threads)
        .map(|t| o.returns.get(t).expect("it returned")[0])
        .collect()
}

#[test]
fn a_call_gives_results_to_the_lanes_that_make_it() {
    let m = module(
        "function %main(i32 varying) -> i32 {
             fn0 = %both(i32, i32) -> i32, i32
         block0(v0: i32):
             v1 = const.i32 1
             v2 = const.i32 8
             v3 = icmp.i32 ult v0, v2
             br v3, block1, block2(v1)
         block1:
             v4, v5 = call fn0(v0, v2)
             v6 = isub.i32 v4, v5
             jump block2(v6)
         block2(v7: i32):
             ret v7
         }
         function %both(i32, i32) -> i32, i32 {
         block0(v0: i32, v1: i32):
             v2 = iadd.i32 v0, v1
             v3 = isub.i32 v0, v1
             ret v2, v3
         }",
    );
    let o = launch(&m, 32, vec![varying(32, |t| t as i64)]);
    let expected: Vec<u128> = (0..32).map(|t| if t < 8 { 16 } else { 1 }).collect();
    assert_eq!(results(&o, 32), expected);
    // icmp, br; call, isub, jump; ret — and of the callee iadd, isub, ret.
    assert_eq!(o.counters.inst_executed, 6 + 3);
    assert_eq!(o.counters.class(CostClass::Call), 1);
    assert_eq!(o.counters.thread_inst_executed, 3 * 32 + 3 * 8 + 3 * 8);
    assert_eq!(o.counters.max_call_depth, 2);
    assert_eq!(o.callees.len(), 1);
    assert_eq!((o.callees[0].function, &*o.callees[0].name), (1, "both"));
    assert_eq!(
        (o.callees[0].blocks[0].passes, o.callees[0].blocks[0].lanes),
        (1, 8)
    );
    // The kernel's profile is its own: a segment ends behind the call.
    let profile = o.profile.as_ref().unwrap();
    let block1 = m.functions[0].layout[1];
    assert_eq!(
        (profile.passes(block1, 0), profile.passes(block1, 1)),
        (1, 1)
    );
    let timeline = o.timeline.as_ref().unwrap();
    let functions: Vec<usize> = timeline.passes.iter().map(|p| p.function).collect();
    assert_eq!(functions, [0, 0, 1, 0]);
}

const FIB: &str = "\
function %fib(i32 varying) -> i32 {
    fn0 = %fib(i32) -> i32
block0(v0: i32):
    v1 = const.i32 2
    v2 = icmp.i32 ult v0, v1
    br v2, block1, block2
block1:
    ret v0
block2:
    v3 = const.i32 1
    v4 = isub.i32 v0, v3
    v5 = call fn0(v4)
    v6 = isub.i32 v0, v1
    v7 = call fn0(v6)
    v8 = iadd.i32 v5, v7
    ret v8
}";

#[test]
fn recursion_of_each_lane_by_itself() {
    let m = module(FIB);
    let fib = |n: u64| (0..n).fold((0u128, 1u128), |(a, b), _| (b, a + b)).0;
    let o = launch(&m, 32, vec![varying(32, |t| (t % 13) as i64)]);
    let expected: Vec<u128> = (0..32).map(|t| fib(t % 13)).collect();
    assert_eq!(results(&o, 32), expected);
    assert_eq!(o.counters.max_call_depth, 12);
    assert!(o.counters.divergent_branch > 0);
    // A function that only calls itself needs no module.
    let launch = Launch::linear(1, 4).with_args(vec![varying(4, |t| t as i64)]);
    let alone = run(&m.functions[0], &launch, &ExecOptions::default()).unwrap();
    assert_eq!(alone.returns.get(3), Some(&[2][..]));
}

#[test]
fn functions_that_call_each_other() {
    let m = module(
        "function %even(i32 varying) -> pred {
             fn0 = %odd(i32) -> pred
         block0(v0: i32):
             v1 = const.i32 0
             v2 = icmp.i32 eq v0, v1
             br v2, block1, block2
         block1:
             v3 = const.pred true
             ret v3
         block2:
             v4 = const.i32 1
             v5 = isub.i32 v0, v4
             v6 = call fn0(v5)
             ret v6
         }
         function %odd(i32) -> pred {
             fn0 = %even(i32) -> pred
         block0(v0: i32):
             v1 = const.i32 0
             v2 = icmp.i32 eq v0, v1
             br v2, block1, block2
         block1:
             v3 = const.pred false
             ret v3
         block2:
             v4 = const.i32 1
             v5 = isub.i32 v0, v4
             v6 = call fn0(v5)
             ret v6
         }",
    );
    let o = launch(&m, 32, vec![varying(32, |t| t as i64)]);
    let expected: Vec<u128> = (0..32).map(|t| 1 - t % 2).collect();
    assert_eq!(results(&o, 32), expected);
}

/// Sums 1 to `v0` by tail calls, each lane as often as it must.
const SUM: &str = "\
function %main(i32 varying) -> i64 {
    fn0 = %sum(i32, i64) -> i64
block0(v0: i32):
    v1 = const.i64 0
    v2 = call fn0(v0, v1)
    ret v2
}
function %sum(i32, i64) -> i64 {
    ss0 = slot 8, align 8
    fn0 = %sum(i32, i64) -> i64
block0(v0: i32, v1: i64):
    v2 = const.i32 0
    v3 = icmp.i32 eq v0, v2
    br v3, block1, block2
block1:
    ret v1
block2:
    v4 = stack_addr.i64 ss0
    v5 = uextend.i64 v0
    v6 = load.i64 v4
    v7 = iadd.i64 v5, v6
    store.i64 v7, v4
    v8 = iadd.i64 v1, v7
    v9 = const.i32 1
    v10 = isub.i32 v0, v9
    return_call fn0(v10, v8)
}";

#[test]
fn tail_calls_do_not_grow() {
    let m = module(SUM);
    let sum = |n: u128| n * (n + 1) / 2;
    let o = launch(&m, 32, vec![varying(32, |t| t as i64)]);
    assert_eq!(results(&o, 32), (0..32).map(sum).collect::<Vec<_>>());
    assert_eq!(o.counters.max_call_depth, 2);
    let o = launch(&m, 2, vec![varying(2, |t| 100_000 - t as i64)]);
    assert_eq!(results(&o, 2), [sum(100_000), sum(99_999)]);
    assert_eq!(o.counters.max_call_depth, 2);
    // The other side first: lanes that return later keep their frame.
    let last = SUM.replace("block1:\n    ret v1\n", "") + "\nblock1:\n    ret v1\n}";
    let last = last.replacen("return_call fn0(v10, v8)\n}", "return_call fn0(v10, v8)", 1);
    let last = last
        .replace("icmp.i32 eq v0, v2", "icmp.i32 ne v0, v2")
        .replace("br v3, block1, block2", "br v3, block2, block1");
    let m = module(&last);
    let o = launch(&m, 32, vec![varying(32, |t| 1_000 * t as i64)]);
    let expected: Vec<u128> = (0..32).map(|t| sum(1_000 * t)).collect();
    assert_eq!(results(&o, 32), expected);
    assert_eq!(o.counters.max_call_depth, 2 + 31);
}

#[test]
fn a_kernel_that_ends_in_a_tail_call() {
    let m = module(
        "function %main(i32 varying) -> i32 {
             fn0 = %twice(i32) -> i32
         block0(v0: i32):
             return_call fn0(v0)
         }
         function %twice(i32) -> i32 {
         block0(v0: i32):
             v1 = iadd.i32 v0, v0
             ret v1
         }",
    );
    let o = launch(&m, 40, vec![varying(40, |t| t as i64)]);
    assert_eq!(results(&o, 40), (0..40).map(|t| 2 * t).collect::<Vec<_>>());
    assert_eq!(o.counters.max_call_depth, 1);
    assert_eq!(o.counters.inst_executed, 2 * 3);
}

const INDIRECT: &str = "\
function %main(i32 varying) -> i32 {
    sig0 = (i32) -> i32
    fn0 = %up(i32) -> i32
    fn1 = %down(i32) -> i32
    fn2 = %odd_one(i32)
block0(v0: i32):
    v1 = func_addr.i64 fn0
    v2 = func_addr.i64 fn1
    v3 = const.i32 3
    v4 = urem.i32 v0, v3
    v5 = const.i32 1
    v6 = icmp.i32 eq v4, v5
    v7 = select.i64 v6, v1, v2
    v8 = call_indirect sig0, v7(v0)
    ret v8
}
function %up(i32) -> i32 {
block0(v0: i32):
    v1 = const.i32 100
    v2 = iadd.i32 v0, v1
    ret v2
}
function %down(i32) -> i32 {
block0(v0: i32):
    v1 = const.i32 100
    v2 = isub.i32 v0, v1
    ret v2
}
function %odd_one(i32) {
block0(v0: i32):
    ret
}";

#[test]
fn indirect_calls_group_lanes_by_callee() {
    let m = module(INDIRECT);
    let o = launch(&m, 32, vec![varying(32, |t| t as i64)]);
    let expected: Vec<u128> = (0..32i64)
        .map(|t| if t % 3 == 1 { t + 100 } else { t - 100 })
        .map(|x| u128::from(x as u32))
        .collect();
    assert_eq!(results(&o, 32), expected);
    let c = &o.counters;
    assert_eq!(
        (c.divergent_branch, c.extra_targets, c.branches.split),
        (1, 1, 1)
    );
    assert_eq!(c.branches.total(), 1);
    // Lane 0 calls `down`, so that runs first.
    let functions: Vec<usize> = o
        .timeline
        .as_ref()
        .unwrap()
        .passes
        .iter()
        .map(|p| p.function)
        .collect();
    assert_eq!(functions, [0, 2, 1]);
    assert_eq!(c.max_call_depth, 2, "one after the other");
    // All lanes to one callee: no branch at all.
    let o = launch(&m, 32, vec![varying(32, |_| 1)]);
    assert_eq!(o.counters.branches.total(), 0);
    // In tail position.
    let tail = INDIRECT
        .replace("    v8 = call_indirect", "    return_call_indirect")
        .replace("\n    ret v8", "");
    let o = launch(&module(&tail), 32, vec![varying(32, |t| t as i64)]);
    assert_eq!(results(&o, 32), expected);
    assert_eq!(
        o.counters.max_call_depth, 2,
        "the first goes upon the frame"
    );
}

#[test]
fn an_indirect_call_of_nothing_traps() {
    for callee in ["v9", "v10"] {
        // An address that is none, and a function of another signature.
        let text = INDIRECT
            .replace(
                "call_indirect sig0, v7(v0)",
                &format!("call_indirect sig0, {callee}(v0)"),
            )
            .replace(
                "v7 = select.i64 v6, v1, v2",
                "v7 = const.i64 7\n v9 = select.i64 v6, v1, v7\n v11 = func_addr.i64 fn2\n \
                 v10 = select.i64 v6, v1, v11",
            );
        let o = launch(&module(&text), 3, vec![varying(3, |t| t as i64)]);
        assert_eq!(o.end, Ending::Trapped);
        let threads: Vec<u64> = o.traps.iter().map(|t| t.thread).collect();
        assert_eq!(threads, [0, 2]);
        assert!(o.traps.iter().all(|t| t.code == TrapCode::HeapOutOfBounds));
        assert_eq!(o.returns.get(1), Some(&[101][..]));
    }
}

#[test]
fn each_frame_has_slots_of_its_own() {
    // Each level writes its slot, calls, and reads its own and its caller's.
    let m = module(
        "function %main(i64 varying) -> i64 {
             fn0 = %down(i64, i64) -> i64
         block0(v0: i64):
             v1 = const.i64 0
             v2 = call fn0(v0, v1)
             ret v2
         }
         function %down(i64, i64) -> i64 {
             ss0 = slot 8, align 32
             fn0 = %down(i64, i64) -> i64
         block0(v0: i64, v1: i64):
             v2 = stack_addr.i64 ss0
             v3 = load.i64 v2
             v4 = iadd.i64 v0, v3
             store.i64 v4, v2
             v5 = const.i64 0
             v6 = icmp.i64 eq v0, v5
             br v6, block1, block2
         block1:
             v7 = load.i64 v1
             ret v7
         block2:
             v8 = const.i64 1
             v9 = isub.i64 v0, v8
             v10 = call fn0(v9, v2)
             v11 = load.i64 v2
             v12 = const.i64 10
             v13 = imul.i64 v10, v12
             v14 = iadd.i64 v13, v11
             ret v14
         }",
    );
    // Level 0 reads 1 from the slot above it, which is zero when it begins.
    let o = launch(&m, 4, vec![varying(4, |t| 1 + t as i64)]);
    assert_eq!(results(&o, 4), [11, 112, 1_123, 11_234]);
    // Five levels begin, four return from `block1`, four from `block2`.
    assert_eq!(o.counters.local.loads.requests, 5 + 4 + 4);
}

#[test]
fn a_trap_in_a_callee_retires_the_lane_everywhere() {
    let m = module(
        "function %main(i32 varying) -> i32 {
             fn0 = %checked(i32) -> i32
         block0(v0: i32):
             v1 = call fn0(v0) @4:4
             v2 = iadd.i32 v1, v1
             v3 = active_mask
             v4 = iadd.i32 v2, v3
             ret v4
         }
         function %checked(i32) -> i32 {
             fn0 = %divide(i32) -> i32
         block0(v0: i32):
             v1 = call fn0(v0)
             ret v1
         }
         function %divide(i32) -> i32 {
         block0(v0: i32):
             v1 = const.i32 12
             v2 = udiv.i32 v1, v0 @9:9
             ret v2
         }",
    );
    let o = launch(&m, 4, vec![varying(4, |t| t as i64)]);
    assert_eq!(o.traps.len(), 1);
    let trap = o.traps[0];
    assert_eq!((trap.thread, trap.function, trap.origin.line), (0, 2, 9));
    assert_eq!(trap.code, TrapCode::IntegerDivisionByZero);
    assert_eq!(o.returns.get(0), None);
    assert_eq!(o.returns.get(3), Some(&[8 + 0b1110][..]));
    // All lanes: nothing is left to go on with.
    let o = launch(&m, 4, vec![varying(4, |_| 0)]);
    assert_eq!(o.traps.len(), 4);
    assert_eq!(o.counters.inst_executed, 3, "call, call, udiv");
}

#[test]
fn lanes_that_call_too_deep_trap() {
    let text = "\
function %main(i32 varying) -> i32 {
    fn0 = %deep(i32) -> i32
block0(v0: i32):
    v1 = call fn0(v0) @1:2
    ret v1
}
function %deep(i32) -> i32 {
    fn0 = %deep(i32) -> i32
block0(v0: i32):
    v1 = const.i32 0
    v2 = icmp.i32 eq v0, v1
    br v2, block1, block2
block1:
    ret v0
block2:
    v3 = const.i32 1
    v4 = isub.i32 v0, v3
    v5 = call fn0(v4) @5:6
    v6 = iadd.i32 v5, v3
    ret v6
}";
    let m = module(text);
    let run = |depth: u32, m: &Module| {
        let options = ExecOptions {
            call_depth: depth,
            ..ExecOptions::default()
        };
        let launch = Launch::linear(1, 8).with_args(vec![varying(8, |t| t as i64)]);
        launch_with(m, &launch, options).unwrap()
    };
    let o = run(6, &m);
    // Lane t has t + 2 frames.
    let trapped: Vec<u64> = o.traps.iter().map(|t| t.thread).collect();
    assert_eq!(trapped, [5, 6, 7]);
    for t in &o.traps {
        assert_eq!(
            (t.code, t.function, t.origin.line),
            (TrapCode::StackOverflow, 1, 6)
        );
        assert!(matches!(t.site, Site::Inst(_)));
    }
    assert_eq!(o.returns.get(4), Some(&[4][..]));
    assert_eq!(o.counters.max_call_depth, 6);
    assert_eq!(run(9, &m).end, Ending::Finished);
    let o = run(1, &m);
    assert_eq!((o.traps.len(), o.traps[0].function), (8, 0));
    // Without end, by the default limit: a result, no hang.
    let endless = module(&text.replace("icmp.i32 eq v0, v1", "icmp.i32 ult v0, v1"));
    let o = run(1024, &endless);
    assert_eq!((o.traps.len(), o.counters.max_call_depth), (8, 1024));
    // By the bytes of slots: 16 MiB a lane.
    let large = text.replace("    fn0 = %deep(i32) -> i32\nblock0(v0: i32):\n    v1 = const", "    ss0 = slot 4194000, align 8\n    fn0 = %deep(i32) -> i32\nblock0(v0: i32):\n    v1 = const");
    let o = run(1024, &module(&large));
    let trapped: Vec<u64> = o.traps.iter().map(|t| t.thread).collect();
    assert_eq!(trapped, [4, 5, 6, 7], "four frames have room");
}

#[test]
fn barriers_in_callees() {
    let text = "\
function %main(i64, i32 varying) {
    fn0 = %step(i64, i32)
block0(v0: i64, v1: i32):
    call fn0(v0, v1)
    ret
}
function %step(i64, i32) {
block0(v0: i64, v1: i32):
    v2 = const.i32 4
    v3 = imul.i32 v1, v2
    v4 = uextend.i64 v3
    v5 = iadd.i64 v0, v4
    store.i32 v1, v5
    barrier
    v6 = const.i32 63
    v7 = isub.i32 v6, v1
    v8 = imul.i32 v7, v2
    v9 = uextend.i64 v8
    v10 = iadd.i64 v0, v9
    v11 = load.i32 v10
    barrier
    store.i32 v11, v5
    ret
}";
    let m = module(text);
    let mut launch = Launch::linear(1, 64).with_args(vec![
        Arg::Uniform(u128::from(GLOBAL_BASE)),
        varying(64, |t| t as i64),
    ]);
    launch.memory.add(vec![0; 256], false);
    let o = launch_with(&m, &launch, ExecOptions::default()).unwrap();
    assert_eq!(o.counters.barriers, 2);
    let words: Vec<u8> = o.memory.bytes(0).chunks(4).map(|c| c[0]).collect();
    assert_eq!(words, (0..64).rev().collect::<Vec<u8>>());
    // Not all lanes of the warp are in the callee.
    let split = text.replace(
        "    call fn0(v0, v1)\n    ret\n",
        "    v2 = const.i32 9\n    v3 = icmp.i32 ult v1, v2\n    br v3, block1, block2\n\
         block1:\n    call fn0(v0, v1)\n    jump block2\nblock2:\n    ret\n",
    );
    let error = launch_with(&module(&split), &launch, ExecOptions::default()).unwrap_err();
    let ExecError::BarrierDivergence {
        arrived,
        missing,
        function,
        ..
    } = error
    else {
        panic!("{error}");
    };
    assert_eq!((arrived, missing, function), (0x1FF, !0x1FF, 1));
}

#[test]
fn a_caller_that_goes_round_makes_no_progress() {
    let m = module(
        "function %main(i32) {
             fn0 = %same(i32) -> i32
         block0(v0: i32):
             jump block1(v0)
         block1(v1: i32):
             v2 = call fn0(v1)
             jump block1(v2)
         }
         function %same(i32) -> i32 {
         block0(v0: i32):
             ret v0
         }",
    );
    let launch = Launch::linear(1, 32).with_args(vec![Arg::Uniform(3)]);
    let error = launch_with(&m, &launch, ExecOptions::default()).unwrap_err();
    assert!(
        matches!(error, ExecError::NoProgress { function: 0, .. }),
        "{error}"
    );
    // A loop in a callee that ends is no reason, however often it is called.
    let m = module(
        "function %main(i32) -> i32 {
             fn0 = %count(i32) -> i32
         block0(v0: i32):
             v1 = const.i32 0
             jump block1(v1)
         block1(v2: i32):
             v3 = const.i32 40
             v4 = call fn0(v3)
             v5 = const.i32 1
             v6 = iadd.i32 v2, v5
             v7 = icmp.i32 ult v6, v0
             br v7, block1(v6), block2
         block2:
             ret v6
         }
         function %count(i32) -> i32 {
         block0(v0: i32):
             jump block1(v0)
         block1(v1: i32):
             v2 = const.i32 1
             v3 = isub.i32 v1, v2
             v4 = const.i32 0
             v5 = icmp.i32 ugt v3, v4
             br v5, block1(v3), block2
         block2:
             ret v3
         }",
    );
    let launch = Launch::linear(1, 32).with_args(vec![Arg::Uniform(300)]);
    let o = launch_with(&m, &launch, ExecOptions::default()).unwrap();
    assert_eq!(o.returns.get(31), Some(&[300][..]));
}

#[test]
fn callees_must_be_there() {
    let m = module(INDIRECT);
    let launch = Launch::linear(1, 1).with_args(vec![Arg::Uniform(0)]);
    let error = run(&m.functions[0], &launch, &ExecOptions::default()).unwrap_err();
    assert!(
        matches!(error, ExecError::Launch(LaunchError::Unlinked { .. })),
        "{error}"
    );
    let error = run_module(&m, "nobody", &launch, &ExecOptions::default()).unwrap_err();
    assert_eq!(error, ExecError::Launch(LaunchError::Incomplete));
    // What is never reached is not looked at.
    let o = run_module(&m, "up", &launch, &ExecOptions::default()).unwrap();
    assert!(o.callees.is_empty());
}

/// Terminators that the text has none of are not forgotten by anyone.
#[test]
fn a_tail_call_is_an_end() {
    let m = module(SUM);
    let func: &Function = &m.functions[1];
    let ends = func.layout.iter().filter(|&&b| func.term(b).is_end());
    assert_eq!(ends.count(), 2);
    let tail = func
        .layout
        .iter()
        .any(|&b| matches!(func.term(b), Terminator::TailCall(_)));
    assert!(tail);
}
