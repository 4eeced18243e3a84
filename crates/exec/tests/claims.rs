//! What kernels of the divergence literature show beside the counters that
//! `warpfold claims` holds them to.

mod support;
use support::*;
use warpfold_exec::{Arg, Launch, SHARED_BASE, run};
use warpfold_ir::{BlockCall, FunctionBuilder, Opcode};

fn zero(threads: u64) -> Arg {
    varying(threads, |_| 0)
}

/// The segment behind a guarded exit is passed where lanes are left.
#[test]
fn c43_no_lane_begins_what_is_behind_its_exit() {
    let oob = vec![pred(96, |t| t >= 40), zero(96)];
    let o = run_block(&guard_exit(20), 96, oob).unwrap();
    assert_eq!(o.blocks[0].segments, [3, 2], "no lane begins the second");
    let profile = o.profile.as_ref().unwrap();
    assert_eq!(
        [profile.passes(block(0), 0), profile.passes(block(0), 1)],
        [3, 2]
    );
}

#[test]
fn c48_guarded_lanes_keep_their_values() {
    let odd = vec![pred(32, |t| t & 1 == 1), zero(32)];
    let o = run_block(&predicated(40, 60), 32, odd).unwrap();
    let expected: Vec<_> = (0..32)
        .map(|t| Some(if t & 1 == 1 { 40 } else { 0 }))
        .collect();
    assert_eq!(returned(&o), expected, "60 times xor 1 is nothing");
}

/// No lane on, no request; and what is not loaded is the `else` value.
#[test]
fn c66_lanes_that_are_off_request_nothing() {
    let mut f = FunctionBuilder::new("lds");
    let a = f.param(I64, true);
    let p = f.param(PRED, true);
    let z = f.param(I32, true);
    f.returns(&[I32]);
    f.set_guard(Some(warpfold_ir::Guard {
        pred: p,
        negated: false,
        otherwise: Some(z),
    }));
    let v = load(&mut f, I32, a, 0);
    f.set_guard(None);
    f.ret(&[v]);
    let f = f.finish();
    for (lanes, wavefronts) in [(16, 16), (0, 0)] {
        let args = vec![
            varying(32, |t| (SHARED_BASE + 128 * t) as i64),
            pred(32, |t| t < lanes),
            varying(32, |t| t as i64 + 7),
        ];
        let launch = Launch {
            shared: 8192,
            ..Launch::linear(1, 32).with_args(args)
        };
        let o = run_launch(&f, &launch).unwrap();
        let s = o.counters.shared.loads;
        assert_eq!((s.requests, s.wavefronts), (lanes.min(1), wavefronts));
        let of = |t: u64| Some(if t < lanes { 0 } else { t as i32 + 7 });
        assert_eq!(returned(&o), (0..32).map(of).collect::<Vec<_>>());
    }
}

/// Four ways by a switch: `c_i` has `10 (i + 1)` operations.
#[test]
fn switches_go_in_table_order() {
    let mut f = FunctionBuilder::new("sw");
    let s = f.param(I32, true);
    let x = f.param(I32, true);
    f.returns(&[I32]);
    let cases: Vec<_> = (0..4).map(|_| f.block()).collect();
    let j = f.block();
    let y = f.block_param(j, I32);
    f.terminate(warpfold_ir::Terminator::Switch {
        index: s,
        table: cases.iter().map(|&c| c.into()).collect(),
        default: BlockCall::new(j, &[x]),
        mark: warpfold_ir::BranchMark::default(),
    });
    for (i, &case) in cases.iter().enumerate() {
        f.switch_to(case);
        let v = fill(&mut f, Opcode::Iadd, 10 * (i as u32 + 1), x);
        f.jump(j, &[v]);
    }
    f.switch_to(j);
    f.ret(&[y]);
    let f = f.finish();
    let run = |s: fn(u64) -> i64| run_block(&f, 32, vec![varying(32, s), zero(32)]).unwrap();
    let o = run(|t| t as i64 % 4);
    assert_eq!(o.branches[0].taken, [1, 1, 1, 1, 0]);
    let order: Vec<u32> = timeline(&o).iter().map(|p| p.0).collect();
    assert_eq!(order, [0, 1, 2, 3, 4, 5]);
    let falling = run(|t| 3 - t as i64 % 4);
    let order: Vec<u32> = timeline(&falling).iter().map(|p| p.0).collect();
    assert_eq!(order, [0, 1, 2, 3, 4, 5], "table order, not lane order");
    let o = run(|t| if t < 4 { -1 } else { 9 });
    assert_eq!(row(&o), [0, 0, 2, 2, 64], "out of the table: the default");
    assert_eq!(o.branches[0].taken, [0, 0, 0, 0, 1]);
}

#[test]
fn two_runs_are_the_same_to_the_last_record() {
    let f = counted_loop(3);
    let args = vec![varying(64, |t| (t * 7 % 13) as i64), zero(64)];
    let launch = Launch::linear(1, 64).with_args(args);
    let once = run(&f, &launch, &all_records()).unwrap();
    assert_eq!(once, run(&f, &launch, &all_records()).unwrap());
}
