//! How runs with calls end: traps, too many frames, barriers, no progress, callees that
//! are missing.

use super::indirect::INDIRECT;
use super::*;

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
