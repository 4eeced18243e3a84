//! The oracle against numbers worked out by hand, and against runs that are
//! wrong in one way each.

use super::*;
use warpfold::exec::{ExecOptions, GLOBAL_BASE, LOCAL_BASE, Memory};

fn expect(text: &str, launch: &Launch) -> Result<Expected, OracleError> {
    run(&function(text, "f")?, launch, 10_000)
}

fn lower(text: &str) -> warpfold::ir::Function {
    let mut lowered = warpfold::clif::read(text, &Default::default()).unwrap();
    let mut func = lowered.remove(0).func;
    for param in &mut func.params {
        param.varying = true;
    }
    func
}

const PLACES: &str = "function %f() -> i32, i32, i32, i32, i32, i32 {
    fn0 = %tid_x() -> i32
    fn1 = %tid_y() -> i32
    fn2 = %ctaid_y() -> i32
    fn3 = %lane_id() -> i32
    fn4 = %warp_id() -> i32
    fn5 = %nctaid_x() -> i32
block0:
    v0 = call fn0()
    v1 = call fn1()
    v2 = call fn2()
    v3 = call fn3()
    v4 = call fn4()
    v5 = call fn5()
    return v0, v1, v2, v3, v4, v5
}";

#[test]
fn lanes_know_where_they_are() {
    let launch = Launch {
        grid: [2, 2, 1],
        block: [5, 9, 1],
        ..Launch::linear(1, 1)
    };
    let expected = expect(PLACES, &launch).unwrap();
    assert_eq!(expected.lanes.len(), 180);
    // Thread 38 of the third block.
    let at = LaneEnd::Returned(vec![3, 7, 1, 6, 1, 2]);
    assert_eq!(expected.lanes[2 * 45 + 38], at);
    assert_eq!(expected.steps, 180 * 7);
    let outcome = warpfold::exec::run(&lower(PLACES), &launch, &ExecOptions::default()).unwrap();
    assert_eq!(compare(&expected, &outcome), Ok(()));
}

const MEMORY: &str = "function %f(i64, i32) {
    ss0 = explicit_slot 8, align = 8
    ss1 = explicit_slot 3
block0(v0: i64, v1: i32):
    v2 = stack_addr.i64 ss1
    store v2, v0
    v3 = load.i32 aligned v0+8
    v4 = sdiv v3, v1
    store v4, v0+12
    return
}";

fn memory_launch(by: &[u128], buffer: u64) -> Launch {
    let mut memory = Memory::new();
    memory.add(vec![1; 16], false);
    memory.add(vec![7; 16], true);
    Launch {
        memory,
        ..Launch::linear(1, by.len() as u32)
    }
    .with_args(vec![Arg::Uniform(buffer.into()), Arg::Varying(by.to_vec())])
}

#[test]
fn memory_lies_where_the_executor_has_it() {
    let expected = expect(MEMORY, &memory_launch(&[1, 0, 2], GLOBAL_BASE)).unwrap();
    let code = TrapCode::IntegerDivisionByZero;
    let ends = [
        LaneEnd::Returned(vec![]),
        LaneEnd::Trapped { code, inst: 3 },
        LaneEnd::Returned(vec![]),
    ];
    assert_eq!(expected.lanes, ends);
    // The second slot lies 16 bytes behind the end of the first, aligned.
    let slot = LOCAL_BASE + 32;
    assert_eq!(expected.memory[0][..8], slot.to_le_bytes());
    assert_eq!(expected.memory[0][12..], (0x0101_0101u32 / 2).to_le_bytes());
    assert_eq!(expected.memory[1], [7; 16]);

    let trap = |buffer| match &expect(MEMORY, &memory_launch(&[1], buffer)).unwrap().lanes[0] {
        LaneEnd::Trapped { code, inst } => (*code, *inst),
        end => panic!("{end:?}"),
    };
    let second = GLOBAL_BASE + 2 * 4096;
    assert_eq!(trap(second), (TrapCode::HeapOutOfBounds, 1), "read-only");
    assert_eq!(trap(GLOBAL_BASE + 1), (TrapCode::HeapMisaligned, 2));
    assert_eq!(trap(u64::MAX), (TrapCode::HeapOutOfBounds, 1));
    for buffer in [GLOBAL_BASE, second, GLOBAL_BASE + 1, u64::MAX, 1 << 62] {
        let launch = memory_launch(&[1, 0, 3], buffer);
        let expected = expect(MEMORY, &launch).unwrap();
        let outcome = warpfold::exec::run(&lower(MEMORY), &launch, &ExecOptions::default());
        assert_eq!(compare(&expected, &outcome.unwrap()), Ok(()), "{buffer:#x}");
    }
}

#[test]
fn the_least_number_has_a_remainder() {
    let text = "function %f(i32, i32) -> i32 {
block0(v0: i32, v1: i32):
    v2 = srem v0, v1
    return v2
}";
    let args = [1 << 31, 7].map(|x| Arg::Varying(vec![x, x]));
    let mut launch = Launch::linear(1, 2).with_args(args.to_vec());
    launch.args[1] = Arg::Varying(vec![0xffff_ffff, 7]);
    let lanes = expect(text, &launch).unwrap().lanes;
    let returned = |x: u128| LaneEnd::Returned(vec![x]);
    // -2147483648 = -306783378 · 7 - 2.
    assert_eq!(lanes, [returned(0), returned(0xffff_fffe)]);
}

#[test]
fn differences_are_found_where_they_are() {
    let launch = memory_launch(&[1, 0, 2], GLOBAL_BASE);
    let expected = expect(MEMORY, &launch).unwrap();
    let outcome = warpfold::exec::run(&lower(MEMORY), &launch, &ExecOptions::default()).unwrap();
    let message = |e: &Expected| compare(e, &outcome).unwrap_err().to_string();
    let mut wrong = expected.clone();
    wrong.memory[0][3] ^= 1;
    assert!(message(&wrong).starts_with("byte 3 of buffer 0 is"));
    let mut wrong = expected.clone();
    wrong.lanes[0] = LaneEnd::Returned(vec![5]);
    assert_eq!(message(&wrong), "thread 0: returns [5], but here []");
    let mut wrong = expected.clone();
    wrong.lanes[1] = LaneEnd::Returned(vec![]);
    assert!(message(&wrong).starts_with("thread 1: returns, but here: "));
    let mut wrong = expected.clone();
    let code = TrapCode::IntegerDivisionByZero;
    wrong.lanes[1] = LaneEnd::Trapped { code, inst: 2 };
    assert_eq!(
        message(&wrong),
        "thread 1: traps with int_divz at inst2, but here with int_divz at inst3"
    );
    wrong.lanes[1] = expected.lanes[1].clone();
    wrong.lanes[2] = LaneEnd::Trapped { code, inst: 3 };
    assert_eq!(
        message(&wrong),
        "thread 2: traps with int_divz at inst3, but not here"
    );
}

#[test]
fn what_it_cannot_do_it_says() {
    let unsupported = |body: &str| {
        let text = format!("function %f() {{\n{body}}}\n");
        match expect(&text, &Launch::linear(1, 1)) {
            Err(e @ OracleError::Unsupported(_)) => e.to_string(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        unsupported("    fn0 = %barrier()\nblock0:\n    call fn0()\n    return\n"),
        "%barrier depends on other lanes"
    );
    assert_eq!(
        unsupported(
            "block0:\n    v0 = iconst.i64 1\n    v1 = sextend.i128 v0\n    \
             v2 = umulhi v1, v1\n    return\n"
        ),
        "umulhi of i128"
    );
    assert_eq!(
        unsupported("block0:\n    v0 = f16const 0x1.0\n    v1 = fadd v0, v0\n    return\n"),
        "f16const of f16"
    );
    let endless = "function %f() {\nblock0:\n    jump block0\n}\n";
    let e = expect(endless, &Launch::linear(1, 1)).unwrap_err();
    assert_eq!(e, OracleError::StepLimit(10_000));
    let e = expect(
        "function %g() {\nblock0:\n    return\n}\n",
        &Launch::linear(1, 1),
    );
    assert_eq!(e.unwrap_err().to_string(), "there is no function %f");
}
