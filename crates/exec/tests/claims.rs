//! Kernels of the divergence literature with the exact counters of an
//! independent interpreter.

mod support;
use support::*;
use warpfold_exec::{Arg, Launch, Memory, Outcome, SHARED_BASE, run};
use warpfold_ir::{BlockCall, FunctionBuilder, Guard, Imm, InstData, IntCC, MemFlags, Opcode};

fn zero(threads: u64) -> Arg {
    varying(threads, |_| 0)
}

fn if_run(a: u32, b: u32, threads: u32, c: impl Fn(u64) -> bool) -> Outcome {
    let n = u64::from(threads);
    run_block(&ifz(a, b, 0), threads, vec![pred(n, c), zero(n)]).unwrap()
}

#[test]
fn c01_c02_uniform_branches_take_one_path() {
    let o = if_run(40, 60, 32, |_| true);
    assert_eq!(row(&o), [40, 0, 3, 43, 1376]);
    assert_eq!(branching(&o), [0, 1, 0, 1]);
    assert_eq!(row(&if_run(40, 60, 32, |_| false)), [60, 0, 3, 63, 2016]);

    let o = if_run(40, 60, 64, |t| t / 32 == 0);
    assert_eq!(row(&o), [100, 0, 6, 106, 3392]);
    assert_eq!(branching(&o), [0, 2, 0, 1]);
}

#[test]
fn c03_c05_c14_mixed_warps_take_both() {
    let o = if_run(40, 60, 64, |t| t % 2 == 0);
    assert_eq!(row(&o), [200, 0, 8, 208, 3392]);
    assert_eq!(averages(&o), (16.308, 50.96));
    assert_eq!(branching(&o), [2, 2, 4, 3]);
    assert_eq!(lost(&o), [0, 0, 3264, 0]);
    assert_eq!(warps(&o), [(104, 1696), (104, 1696)]);

    let o = if_run(2, 2, 64, |t| t < 4);
    assert_eq!(row(&o), [6, 0, 7, 13, 320]);
    assert_eq!(branching(&o), [1, 2, 2, 3]);
    assert_eq!(passes(&o), [(2, 64), (1, 4), (2, 60), (2, 64)]);

    let o = if_run(10, 10, 64, |t| t < 16);
    assert_eq!(row(&o), [30, 0, 7, 37, 832]);
    assert_eq!(warps(&o), [(24, 416), (13, 416)]);
}

#[test]
fn c07_the_ratio_of_lanes_does_not_matter() {
    for n in 0..=32 {
        let o = if_run(40, 60, 32, |t| t < n);
        let (issued, ti) = match n {
            0 => (63, 2016),
            32 => (43, 1376),
            n => (104, 2016 - 20 * n),
        };
        assert_eq!(row(&o)[3..], [issued, ti], "n = {n}");
    }
}

#[test]
fn c08_c09_c10_sides_of_any_length() {
    let o = if_run(50, 100, 32, |t| t < 30);
    assert_eq!(row(&o), [150, 0, 4, 154, 1796]);
    let o = if_run(1000, 1, 32, |t| t == 9);
    assert_eq!(row(&o), [1001, 0, 4, 1005, 1127]);
    assert_eq!(lost(&o), [0, 0, 31033, 0]);

    let run = |c: fn(u64) -> bool| run_block(&then(10), 32, vec![pred(32, c), zero(32)]).unwrap();
    let o = run(|t| t < 16);
    assert_eq!(row(&o), [10, 0, 3, 13, 240]);
    assert_eq!(branching(&o), [1, 1, 1, 2]);
    assert_eq!(lost(&o), [0, 0, 176, 0]);
    assert_eq!(row(&run(|_| true)), [10, 0, 3, 13, 416]);
    assert_eq!(row(&run(|_| false)), [0, 0, 2, 2, 64]);
}

#[test]
fn c13_c20_c80_masks_in_the_order_of_time() {
    let args = || vec![pred(32, |t| t < 16), zero(32)];
    let o = run_block(&ifz(1, 1, 1), 32, args()).unwrap();
    assert_eq!(row(&o), [3, 0, 4, 7, 160]);
    let expected = [
        (0, 0xFFFF_FFFF, 1),
        (1, 0x0000_FFFF, 3),
        (2, 0xFFFF_0000, 2),
        (3, 0xFFFF_FFFF, 1),
    ];
    assert_eq!(timeline(&o), expected);
    let o = run_block(&ifz(3, 5, 0), 32, args()).unwrap();
    assert_eq!(row(&o), [8, 0, 4, 12, 224]);
    assert_eq!(timeline(&o), expected);

    let o = run_block(&ifz(1, 1, 1), 8, vec![pred(8, |t| t % 2 == 1), zero(8)]).unwrap();
    assert_eq!(row(&o), [3, 0, 4, 7, 40]);
    assert_eq!(lost(&o), [168, 0, 16, 0]);
    assert_eq!(
        timeline(&o),
        [(0, 0xFF, 1), (1, 0xAA, 3), (2, 0x55, 2), (3, 0xFF, 1)]
    );
}

#[test]
fn c15_blocks_do_not_share_warps() {
    let launch = Launch::linear(2, 32).with_args(vec![pred(64, |t| t < 32), zero(64)]);
    let o = run_launch(&ifz(40, 60, 0), &launch).unwrap();
    assert_eq!(row(&o), [100, 0, 6, 106, 3392]);
    assert_eq!(branching(&o), [0, 2, 0, 1]);
}

#[test]
fn c31_to_c36_loops_cost_the_longest_trip() {
    let run = |n: &dyn Fn(u64) -> i64| {
        run_block(&counted_loop(4), 32, vec![varying(32, n), zero(32)]).unwrap()
    };
    let o = run(&|t| t as i64 + 1);
    assert_eq!(row(&o), [160, 33, 67, 260, 4352]);
    assert_eq!(branching(&o), [31, 33, 31, 2]);
    assert_eq!(lost(&o), [0, 0, 3968, 0]);
    assert_eq!(passes(&o), [(1, 32), (33, 560), (32, 528), (1, 32)]);
    let expected: Vec<_> = (0..32).map(|t| Some(4 * (t + 1))).collect();
    assert_eq!(returned(&o), expected, "waiting lanes keep their values");

    let o = run(&|t| if t == 31 { 1000 } else { 1 });
    assert_eq!(row(&o), [5000, 1001, 2003, 8004, 8376]);
    assert_eq!(branching(&o), [1, 1001, 1, 2]);
    assert_eq!(row(&run(&|_| 0)), [0, 1, 3, 4, 128]);
    let o = run(&|_| 8);
    assert_eq!(row(&o), [40, 9, 19, 68, 2176]);
    assert_eq!(branching(&o), [0, 9, 0, 1]);
    let o = run(&|t| if t == 5 { 101 } else { 1 });
    assert_eq!(row(&o), [505, 102, 205, 812, 1184]);
    let o = run(&|t| if t == 5 { 40 } else { 3 });
    assert_eq!(row(&o), [200, 41, 83, 324, 1192]);
    assert_eq!(lost(&o), [0, 0, 9176, 0]);
}

#[test]
fn c42_c43_bounds_checks_three_ways() {
    let threads = 1024;
    let args = vec![pred(threads, |t| t >= 1000), zero(threads)];
    let o = run_block(&guard_clause(20), 1024, args).unwrap();
    assert_eq!(row(&o), [640, 0, 65, 705, 22048]);
    assert_eq!(branching(&o), [1, 32, 1, 2]);
    assert_eq!(lost(&o), [0, 504, 8, 0]);
    assert_eq!(passes(&o), [(32, 1024), (1, 24), (32, 1000)]);

    let oob = || vec![pred(96, |t| t >= 40), zero(96)];
    let o = run_block(&guard_clause(20), 96, oob()).unwrap();
    assert_eq!(row(&o), [40, 0, 7, 47, 992]);
    assert_eq!(branching(&o), [1, 3, 1, 2]);
    assert_eq!(lost(&o), [0, 504, 8, 0]);
    assert_eq!(passes(&o), [(3, 96), (2, 56), (2, 40)]);
    assert_eq!(warps(&o), [(22, 704), (23, 224), (2, 64)]);

    let o = run_block(&guard_exit(20), 96, oob()).unwrap();
    assert_eq!(row(&o), [40, 0, 5, 45, 936]);
    assert_eq!(o.counters.thread_inst_executed_pred_on, 896);
    assert_eq!(lost(&o), [0, 504, 0, 40]);
    assert_eq!(warps(&o), [(22, 704), (22, 200), (1, 32)]);
    assert_eq!(o.blocks[0].segments, [3, 2], "no lane begins the second");
    let profile = o.profile.as_ref().unwrap();
    assert_eq!(
        [profile.passes(block(0), 0), profile.passes(block(0), 1)],
        [3, 2]
    );

    let inb = vec![pred(96, |t| t < 40), zero(96)];
    let o = run_block(&predicated(20, 0), 96, inb).unwrap();
    assert_eq!(row(&o), [60, 0, 3, 63, 2016]);
    assert_eq!(o.counters.thread_inst_executed_pred_on, 896);
    assert_eq!(lost(&o), [0, 0, 0, 1120]);
    assert_eq!(o.counters.guarded, 60);
}

#[test]
fn c45_c46_partial_warps() {
    let o = if_run(10, 10, 20, |_| true);
    assert_eq!(row(&o), [10, 0, 3, 13, 260]);
    assert_eq!(lost(&o), [156, 0, 0, 0]);
    let o = if_run(10, 10, 44, |_| true);
    assert_eq!(lost(&o), [260, 0, 0, 0]);
    assert_eq!(warps(&o), [(13, 416), (13, 156)]);
}

#[test]
fn c47_all_four_causes_of_lost_lanes() {
    let mut f = FunctionBuilder::new("four");
    let c = f.param(PRED, true);
    let q = f.param(PRED, true);
    let r = f.param(PRED, true);
    let x = f.param(I32, true);
    let (a, j) = (f.block(), f.block());
    let y = f.block_param(j, I32);
    f.br(c, a, BlockCall::new(j, &[x]));
    f.switch_to(a);
    let v = fill_guarded(&mut f, Opcode::Iadd, 4, x, q, false);
    f.jump(j, &[v]);
    f.switch_to(j);
    exit_if(&mut f, r, false);
    fill(&mut f, Opcode::Iadd, 3, y);
    f.ret(&[]);
    let args = vec![
        pred(44, |t| t % 32 < 16),
        pred(44, |t| t % 32 % 4 != 0),
        pred(44, |t| t % 8 == 7),
        zero(44),
    ];
    let o = run_block(&f.finish(), 44, args).unwrap();
    assert_eq!(row(&o), [14, 0, 8, 22, 384]);
    assert_eq!(branching(&o), [1, 2, 1, 2]);
    assert_eq!(o.counters.thread_inst_executed_pred_on, 317);
    assert_eq!(lost(&o), [220, 20, 80, 67]);
    assert_eq!(passes(&o), [(2, 44), (2, 28), (2, 44)]);
}

#[test]
fn c48_c49_predication_costs_both_sides() {
    let odd = vec![pred(32, |t| t & 1 == 1), zero(32)];
    let o = run_block(&predicated(40, 60), 32, odd).unwrap();
    assert_eq!(row(&o), [100, 0, 1, 101, 3232]);
    assert_eq!(o.counters.thread_inst_executed_pred_on, 1632);
    assert_eq!(branching(&o), [0, 0, 0, 1]);
    assert_eq!(lost(&o), [0, 0, 0, 1600]);
    let expected: Vec<_> = (0..32)
        .map(|t| Some(if t & 1 == 1 { 40 } else { 0 }))
        .collect();
    assert_eq!(returned(&o), expected, "60 times xor 1 is nothing");

    let o = run_block(&predicated(5, 100), 32, vec![pred(32, |_| true), zero(32)]).unwrap();
    assert_eq!(row(&o), [105, 0, 1, 106, 3392]);
    assert_eq!(o.counters.thread_inst_executed_pred_on, 192);
    assert_eq!(lost(&o), [0, 0, 0, 3200]);
}

/// `LDBR`: `e: br c, a, b | a: v = ld [A], jump j | b: v = ld [B], jump j | j: ret v`.
#[test]
fn c61_c62_disabled_lanes_do_not_request() {
    let mut f = FunctionBuilder::new("ldbr");
    let c = f.param(PRED, true);
    let pa = f.param(I64, true);
    let pb = f.param(I64, true);
    f.returns(&[I32]);
    let (a, b, j) = (f.block(), f.block(), f.block());
    let y = f.block_param(j, I32);
    f.br(c, a, b);
    f.switch_to(a);
    let v = load(&mut f, I32, pa, 0);
    f.jump(j, &[v]);
    f.switch_to(b);
    let v = load(&mut f, I32, pb, 0);
    f.jump(j, &[v]);
    f.switch_to(j);
    f.ret(&[y]);
    let f = f.finish();
    let run = |c: fn(u64) -> bool| {
        let mut memory = Memory::new();
        let base = memory.add((0..128).collect(), true) as i64;
        let address = varying(32, |t| base + 4 * t as i64);
        let args = vec![pred(32, c), address.clone(), address];
        let launch = Launch {
            memory,
            ..Launch::linear(1, 32).with_args(args)
        };
        run_launch(&f, &launch).unwrap()
    };
    let loads = |o: &Outcome| {
        let t = o.counters.global.loads;
        [t.requests, t.sectors, t.lines]
    };
    let o = run(|t| t < 16);
    assert_eq!(row(&o), [0, 0, 4, 6, 128]);
    assert_eq!(branching(&o), [1, 1, 2, 3]);
    assert_eq!(loads(&o), [2, 4, 2]);
    assert_eq!(loads(&run(|t| t & 1 == 1)), [2, 8, 2]);
    assert_eq!(loads(&run(|_| true)), [1, 4, 1]);
    let expected = (0..32u32).map(|t| {
        Some(i32::from_le_bytes(std::array::from_fn(|k| {
            (4 * t) as u8 + k as u8
        })))
    });
    assert_eq!(returned(&o), expected.collect::<Vec<_>>());
}

/// `LDS`: `e: v = ld.shared [A] if p else z, ret v`.
#[test]
fn c66_shared_memory_banks() {
    let mut f = FunctionBuilder::new("lds");
    let a = f.param(I64, true);
    let p = f.param(PRED, true);
    let z = f.param(I32, true);
    f.returns(&[I32]);
    let guard = Guard {
        pred: p,
        negated: false,
        otherwise: Some(z),
    };
    let imm = Imm::Mem {
        flags: MemFlags::NONE,
        offset: 0,
    };
    let v = f
        .push(InstData::new(Opcode::Load, I32, &[a], imm).guarded(guard))
        .unwrap();
    f.ret(&[v]);
    let f = f.finish();
    let run = |a: fn(u64) -> u64, p: fn(u64) -> bool| {
        let args = vec![
            varying(32, |t| (SHARED_BASE + a(t)) as i64),
            pred(32, p),
            varying(32, |t| t as i64 + 7),
        ];
        let launch = Launch {
            shared: 8192,
            ..Launch::linear(1, 32).with_args(args)
        };
        let o = run_launch(&f, &launch).unwrap();
        assert_eq!(o.counters.inst_executed, 2);
        let s = o.counters.shared.loads;
        ([s.requests, s.wavefronts, s.conflicts], o)
    };
    let all = |_| true;
    assert_eq!(run(|t| 4 * t, all).0, [1, 1, 0]);
    assert_eq!(run(|t| 8 * t, all).0, [1, 2, 1]);
    assert_eq!(run(|t| 16 * t, all).0, [1, 4, 3]);
    assert_eq!(run(|t| 128 * t, all).0, [1, 32, 31]);
    assert_eq!(run(|t| 132 * t, all).0, [1, 1, 0]);
    assert_eq!(run(|_| 0, all).0, [1, 1, 0]);
    assert_eq!(run(|t| 128 * (t & 1), all).0, [1, 2, 1]);
    let (s, o) = run(|t| 128 * t, |t| t < 16);
    assert_eq!(s, [1, 16, 15]);
    assert_eq!(o.counters.thread_inst_executed_pred_on, 48);
    assert_eq!(lost(&o), [0, 0, 0, 16]);
    let expected: Vec<_> = (0..32)
        .map(|t| Some(if t < 16 { 0 } else { t + 7 }))
        .collect();
    assert_eq!(returned(&o), expected);
    assert_eq!(
        run(|t| 4 * t, |_| false).0,
        [0, 0, 0],
        "no lane on: no request"
    );
}

/// `SIGN`: sign, then magnitude.
#[test]
fn c81_sign_then_magnitude() {
    let mut f = FunctionBuilder::new("sign");
    let v = f.param(I32, true);
    let x = f.param(I32, true);
    f.returns(&[I32]);
    let [neg, big, small, nj, pos, j] = std::array::from_fn(|_| f.block());
    let ynj = f.block_param(nj, I32);
    let yj = f.block_param(j, I32);
    let zero_ = f.iconst(I32, 0);
    let n = f.icmp(IntCC::Slt, v, zero_);
    f.br(n, neg, pos);
    f.switch_to(neg);
    let ten = f.iconst(I32, -10);
    let m = f.icmp(IntCC::Slt, v, ten);
    f.br(m, big, small);
    f.switch_to(big);
    let w = fill(&mut f, Opcode::Iadd, 4, x);
    f.jump(nj, &[w]);
    f.switch_to(small);
    let w = fill(&mut f, Opcode::Bxor, 4, x);
    f.jump(nj, &[w]);
    f.switch_to(nj);
    f.jump(j, &[ynj]);
    f.switch_to(pos);
    let w = fill(&mut f, Opcode::Isub, 8, x);
    f.jump(j, &[w]);
    f.switch_to(j);
    let w = fill(&mut f, Opcode::Iadd, 1, yj);
    f.ret(&[w]);
    let f = f.finish();
    let run = |v: [i64; 8]| run_block(&f, 8, vec![varying(8, |t| v[t as usize]), zero(8)]).unwrap();
    let o = run([5, -3, 7, -20, 2, -4, 9, -30]);
    assert_eq!(row(&o), [17, 2, 7, 26, 100]);
    assert_eq!(branching(&o), [2, 2, 4, 5]);
    assert_eq!(lost(&o), [624, 0, 108, 0]);
    assert_eq!(
        timeline(&o),
        [
            (0, 0xFF, 1),
            (1, 0xAA, 3),
            (2, 0x88, 5),
            (3, 0x22, 4),
            (4, 0xAA, 3),
            (5, 0x55, 2),
            (6, 0xFF, 1)
        ]
    );
    let deepest = &o.timeline.as_ref().unwrap().deepest;
    let shape: Vec<_> = deepest.iter().map(|e| (e.pc.as_u32(), e.mask)).collect();
    assert_eq!(
        shape,
        [(6, 0xFF), (5, 0x55), (4, 0xAA), (3, 0x22), (2, 0x88)]
    );
    let o = run([1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(row(&o), [9, 1, 3, 13, 104]);
    let o = run([-1, -20, -2, -30, -3, -40, -4, -50]);
    assert_eq!(row(&o), [9, 2, 6, 17, 96]);
    assert_eq!(lost(&o), [408, 0, 40, 0]);
}

/// Four ways by a switch: `c_i` has `10 (i + 1)` operations.
#[test]
fn c21_switches_sum_their_bodies() {
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
    assert_eq!(row(&o), [100, 0, 6, 106, 896]);
    assert_eq!(branching(&o), [1, 1, 4, 5]);
    assert_eq!(o.counters.extra_targets, 3);
    assert_eq!(o.branches[0].taken, [1, 1, 1, 1, 0]);
    let order: Vec<u32> = timeline(&o).iter().map(|p| p.0).collect();
    assert_eq!(order, [0, 1, 2, 3, 4, 5]);
    let falling = run(|t| 3 - t as i64 % 4);
    let order: Vec<u32> = timeline(&falling).iter().map(|p| p.0).collect();
    assert_eq!(order, [0, 1, 2, 3, 4, 5], "table order, not lane order");
    let o = run(|_| 2);
    assert_eq!(row(&o), [30, 0, 3, 33, 1056]);
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
