//! Data races between lanes, warps and blocks.

use super::*;
use warpfold_exec::{GLOBAL_BASE, Memory, RacingKind};

/// Lines after some on which `v0` is the thread in the block, `v1` the block,
/// `v2` the address of the thread's own 8 bytes and `v3` that of its neighbour's,
/// `v4` the beginning of the buffer; `v5` and `v6` the same in shared memory.
fn run(blocks: u32, threads: u32, lines: &str) -> Result<Checked, CheckError> {
    let func = kernel(&format!(
        "    v0 = tid_x
    v1 = ctaid_x
    v4 = const.i64 {GLOBAL_BASE}
    v20 = const.i32 3
    v21 = uextend.i64 v0
    v22 = ishl.i64 v21, v20
    v2 = iadd.i64 v4, v22
    v23 = const.i64 8
    v3 = iadd.i64 v2, v23
    v24 = shared_base.i64
    v5 = iadd.i64 v24, v22
    v6 = iadd.i64 v5, v23
{lines}
    ret"
    ));
    let mut launch = Launch::linear(blocks, threads);
    launch.shared = 8192;
    launch.memory = Memory::new();
    launch.memory.add(vec![0; 8192], false);
    check(&func, None, &launch, true)
}

#[track_caller]
fn race(result: Result<Checked, CheckError>, kinds: [RacingKind; 2], threads: [u64; 2]) {
    match result {
        Err(CheckError::Race { first, second, .. }) => {
            assert_eq!([first.kind, second.kind], kinds);
            assert_eq!([first.thread, second.thread], threads);
            assert_eq!(first.at.lanes, 1 << (threads[0] % 32));
        }
        other => panic!("{other:?}"),
    }
}

use RacingKind::{AtomicRead, AtomicWrite, Read, Write};

#[test]
fn lanes_of_one_instruction_race_where_they_store_different_values() {
    race(run(1, 32, "    store.i32 v0, v4"), [Write; 2], [0, 1]);
    // One value: memory is the same in any order.
    assert!(run(1, 32, "    store.i32 v20, v4").is_ok());
    // One byte of two is shared, and differs.
    let lines = "    v30 = iadd.i64 v4, v21\n    store.i16 v31, v30";
    let lines = format!("    v31 = ireduce.i16 v0\n{lines}");
    race(run(1, 32, &lines), [Write; 2], [0, 1]);
}

/// A store that its own thread has stored over may still come behind another one's.
#[test]
fn stores_race_with_what_is_stored_over() {
    let stores = |lines: [&str; 3]| {
        let head = "    v30 = const.i32 5\n    v31 = const.i32 0\n    v32 = icmp.i32 eq v0, v31\n";
        run(1, 2, &format!("{head}{}", lines.join("\n")))
    };
    let [five, zero, other] = [
        "    store.i32 v30, v4 if !v32",
        "    store.i32 v31, v4 if !v32",
        "    store.i32 v31, v4 if v32",
    ];
    race(stores([five, zero, other]), [Write; 2], [1, 0]);
    race(stores([other, five, zero]), [Write; 2], [0, 1]);
    assert!(stores([zero, zero, other]).is_ok());
    // What a barrier has ordered is past.
    assert!(stores([five, "    barrier", other]).is_ok());
    // Of one's own there may be many.
    assert!(stores([five, zero, five]).is_ok());
}

/// Lockstep orders nothing.
#[test]
fn lanes_of_one_warp_race_in_different_instructions() {
    for (own, next) in [("v2", "v3"), ("v5", "v6")] {
        let lines = format!("    store.i32 v0, {own}\n    v30 = load.i32 {next}");
        race(run(1, 32, &lines), [Write, Read], [1, 0]);
        let lines = format!("    v30 = load.i32 {next}\n    store.i32 v0, {own}");
        race(run(1, 32, &lines), [Read, Write], [0, 1]);
    }
    let own = "    store.i32 v0, v2\n    v30 = load.i32 v2\n    store.i32 v30, v2";
    assert!(run(2, 1, own).is_err(), "two blocks");
    assert!(run(1, 64, own).is_ok());
}

#[test]
fn barriers_order_a_block_and_warp_sync_a_warp() {
    let with = |sync: &str| format!("    store.i32 v0, v5\n{sync}\n    v30 = load.i32 v6");
    race(run(1, 64, &with("")), [Write, Read], [1, 0]);
    assert!(run(2, 64, &with("    barrier")).is_ok());
    assert!(run(1, 32, &with("    warp_sync")).is_ok());
    // Between warps it orders nothing.
    race(run(1, 64, &with("    warp_sync")), [Read, Write], [31, 32]);
    race(run(1, 64, &with("    fence")), [Write, Read], [1, 0]);
}

#[test]
fn blocks_race_whatever_barriers_there_are() {
    let lines = "    barrier\n    store.i32 v1, v2\n    barrier";
    race(run(2, 32, lines), [Write; 2], [0, 32]);
    // Shared memory is each block's own.
    assert!(run(2, 32, &lines.replace("v2", "v5")).is_ok());
}

#[test]
fn atomics_race_with_plain_accesses_only() {
    let add = "    v30 = atomic_add.i32 v0, v4";
    assert!(
        run(
            2,
            64,
            &format!("{add}\n    v32 = atomic_add.i32 v0, v4\n    v31 = atomic_load.i32 v4")
        )
        .is_ok()
    );
    let load = "    v31 = load.i32 v4";
    race(
        run(1, 32, &format!("{add}\n{load}")),
        [AtomicWrite, Read],
        [1, 0],
    );
    race(
        run(1, 32, "    v31 = atomic_load.i32 v4\n    store.i32 v20, v4"),
        [AtomicRead, Write],
        [1, 0],
    );
    assert!(run(1, 32, &format!("{load}\n    v32 = atomic_load.i32 v4")).is_ok());
}

#[test]
fn what_no_other_lane_has_does_not_race() {
    let func = function(
        "function %f() {
    ss0 = slot 4, align 4

block0:
    v0 = tid_x
    v1 = stack_addr.i64 ss0
    store.i32 v0, v1
    v2 = load.i32 v1
    v3 = const.i64 0x10000000
    v4 = load.i32 v3
    ret
}
",
    );
    let mut launch = Launch::linear(2, 64);
    launch.memory.add(vec![0; 64], true);
    let checked = check(&func, None, &launch, true).unwrap();
    assert_eq!(
        checked.bytes, 0,
        "slots and read-only memory are not followed"
    );
}

#[test]
fn both_accesses_are_named() {
    let lines = "    store.i32 v0, v2 @4:10\n    v30 = load.i32 v3 @5:11";
    assert_eq!(
        run(1, 32, lines).unwrap_err().to_string(),
        "race at address 0x10000008: store of thread 1 at inst12 (4:10), block 0, warp 0, lanes \
         0x00000002; load of thread 0 at inst13 (5:11), block 0, warp 0, lanes 0x00000001"
    );
}
