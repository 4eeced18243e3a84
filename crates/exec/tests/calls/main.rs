//! Calls: frames, results, recursion, slots; and, in modules of their own, tail calls,
//! indirect calls, endings.

mod endings;
mod indirect;
#[path = "../support/mod.rs"]
mod support;
mod tail;

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
