//! What a profile says of the inside of regions.

mod support;
use support::*;
use warpfold_analysis::SegmentCounts;
use warpfold_exec::Outcome;
use warpfold_ir::{BlockCall, FunctionBuilder, IntCC, Opcode, Value};

fn inside(o: &Outcome, head: u32, b: u32, segment: u32) -> Option<(u64, u64)> {
    let profile = o.profile.as_ref().unwrap();
    let counts = profile.inside(block(head), block(b), segment);
    counts.map(|SegmentCounts { reached, alive }| (reached, alive))
}

/// `h: br c, a, b | a: exit if d, 1 alu, jump j | b: exit if e, 1 alu, exit if f, 1 alu, jump j`.
fn exits(f: &mut FunctionBuilder, [c, d, e, g]: [Value; 4], x: Value, join: BlockCall) {
    let (a, b) = (f.block(), f.block());
    f.br(c, a, b);
    f.switch_to(a);
    exit_if(f, d, false);
    fill(f, Opcode::Iadd, 1, x);
    f.terminate(warpfold_ir::Terminator::Jump(join.clone()));
    f.switch_to(b);
    exit_if(f, e, false);
    fill(f, Opcode::Iadd, 1, x);
    exit_if(f, g, false);
    fill(f, Opcode::Iadd, 1, x);
    f.terminate(warpfold_ir::Terminator::Jump(join));
}

#[test]
fn reached_and_alive_around_exits() {
    let mut f = FunctionBuilder::new("exits");
    let preds: [Value; 4] = std::array::from_fn(|_| f.param(PRED, true));
    let x = f.param(I32, true);
    let j = f.block();
    exits(&mut f, preds, x, j.into());
    f.switch_to(j);
    f.ret(&[]);
    let f = f.finish();
    let run = |p: [fn(u64) -> bool; 4]| {
        let mut args: Vec<_> = p.iter().map(|p| pred(32, p)).collect();
        args.push(varying(32, |_| 0));
        let o = run_block(&f, 32, args).unwrap();
        // At the join the lanes that are left go on.
        let left = (0..32).any(|t| !if p[0](t) { p[1](t) } else { p[2](t) || p[3](t) });
        assert_eq!(
            inside(&o, 0, 1, 0),
            Some((u64::from(left), u64::from(left)))
        );
        [(2, 0), (2, 1), (3, 0), (3, 1), (3, 2)].map(|(b, s)| inside(&o, 0, b, s).unwrap())
    };
    let (none, all) = (|_| false, |_| true);
    // Both sides, nobody leaves.
    assert_eq!(run([|t| t < 8, none, none, none]), [(1, 1); 5]);
    // One side: the other is not reached, but alive.
    assert_eq!(
        run([all, none, none, none]),
        [(1, 1), (1, 1), (0, 1), (0, 1), (0, 1)]
    );
    // All of the first side leave: the second's lanes are alive behind it.
    assert_eq!(
        run([|t| t < 8, all, none, none]),
        [(1, 1), (0, 1), (1, 1), (1, 1), (1, 1)]
    );
    // Everybody leaves by the first side.
    assert_eq!(
        run([all, all, none, none]),
        [(1, 1), (0, 0), (0, 0), (0, 0), (0, 0)]
    );
    // The first side leaves, then the second at its second exit.
    assert_eq!(
        run([|t| t < 8, all, |t| t < 16, all]),
        [(1, 1), (0, 1), (1, 1), (1, 1), (0, 0)]
    );
    // The second side leaves at once, the first stays.
    assert_eq!(
        run([|t| t < 8, none, all, none]),
        [(1, 1), (1, 1), (1, 1), (0, 1), (0, 1)]
    );
}

/// An inner region in one side of an outer one, all in a loop: executions of
/// each head are counted apart, and a block reached by both inner sides passes
/// twice but is reached once.
#[test]
fn nested_regions_in_a_loop() {
    let mut f = FunctionBuilder::new("nest");
    let n = f.param(I32, true);
    let c = f.param(PRED, true);
    let d = f.param(PRED, true);
    let [h, o, a, p, q, m, b, j, end] = std::array::from_fn(|_| f.block());
    let i = f.block_param(h, I32);
    let zero = f.iconst(I32, 0);
    f.jump(h, &[zero]);
    f.switch_to(h);
    let more = f.icmp(IntCC::Slt, i, n);
    f.br(more, o, end);
    f.switch_to(o);
    f.br(c, a, b);
    f.switch_to(a);
    f.br(d, p, q);
    for side in [p, q] {
        f.switch_to(side);
        f.jump(m, &[]);
    }
    f.switch_to(m);
    f.jump(j, &[]);
    f.switch_to(b);
    f.jump(j, &[]);
    f.switch_to(j);
    let one = f.iconst(I32, 1);
    let i1 = f.ins(Opcode::Iadd, I32, &[i, one]);
    f.jump(h, &[i1]);
    f.switch_to(end);
    f.ret(&[]);
    let f = f.finish();
    // Warp 0: lanes 0..16 take a, of which 0..4 take p, for 2 trips; lane 0
    // makes 5. Warp 1: one trip, all take b.
    let args = vec![
        varying(64, |t| match t {
            0 => 5,
            1..32 => 2,
            _ => 1,
        }),
        pred(64, |t| t < 16),
        pred(64, |t| t < 4),
    ];
    let o = run_block(&f, 64, args).unwrap();
    let [_, o_, a_, p_, q_, m_, b_, j_] = std::array::from_fn(|i| i as u32 + 1);
    // Head o: 2 + 3 executions in warp 0, one in warp 1.
    assert_eq!(inside(&o, o_, a_, 0), Some((5, 6)));
    assert_eq!(inside(&o, o_, b_, 0), Some((2 + 1, 6)));
    assert_eq!(inside(&o, o_, p_, 0), Some((5, 6)));
    assert_eq!(inside(&o, o_, q_, 0), Some((2, 6)));
    assert_eq!(inside(&o, o_, m_, 0), Some((5, 6)));
    assert_eq!(inside(&o, o_, j_, 0), Some((6, 6)), "the join");
    assert_eq!(inside(&o, a_, m_, 0), Some((5, 5)));
    // Head a: five executions.
    assert_eq!(inside(&o, a_, p_, 0), Some((5, 5)));
    assert_eq!(inside(&o, a_, q_, 0), Some((2, 5)));
    assert_eq!(inside(&o, a_, b_, 0), None);
    assert_eq!(inside(&o, 1, o_, 0), None, "a loop exit heads no region");
}

/// Early returns in an arm: the lanes leave, and the rest joins.
#[test]
fn an_early_return_is_inside() {
    let mut f = FunctionBuilder::new("early");
    let c = f.param(PRED, true);
    let d = f.param(PRED, true);
    let [a, out, back, j] = std::array::from_fn(|_| f.block());
    f.br(c, a, j);
    f.switch_to(a);
    f.br(d, out, back);
    f.switch_to(out);
    f.ret(&[]);
    f.switch_to(back);
    f.jump(j, &[]);
    f.switch_to(j);
    f.ret(&[]);
    let f = f.finish();
    let run = |c: fn(u64) -> bool, d: fn(u64) -> bool| {
        let o = run_block(&f, 32, vec![pred(32, c), pred(32, d)]).unwrap();
        [1, 2, 3].map(|b| inside(&o, 0, b, 0).unwrap())
    };
    assert_eq!(run(|t| t < 16, |t| t < 8), [(1, 1), (1, 1), (1, 1)]);
    // Straight order has `out` before `back`: only then is nobody alive.
    assert_eq!(run(|_| true, |_| true), [(1, 1), (1, 1), (0, 0)]);
    assert_eq!(run(|_| true, |_| false), [(1, 1), (0, 1), (1, 1)]);
    assert_eq!(run(|_| false, |_| true), [(0, 1), (0, 1), (0, 1)]);
}

/// Lanes are counted by edge, beside the warp's view.
#[test]
fn lanes_by_edge() {
    let mut f = FunctionBuilder::new("lanes");
    let p = f.param(PRED, true);
    let (a, j) = (f.block(), f.block());
    f.br(p, a, j);
    f.switch_to(a);
    f.jump(j, &[]);
    f.switch_to(j);
    f.ret(&[]);
    let f = f.finish();
    // Three lanes of the first warp, none of the second, which has 8.
    let o = run_block(&f, 40, vec![pred(40, |t| t < 3)]).unwrap();
    let counts = o.profile.as_ref().unwrap().branch(block(0)).unwrap();
    assert_eq!(counts.taken[..], [1, 2]);
    assert_eq!(counts.lanes[..], [3, 37]);
    assert_eq!(counts.lane_share(0), Some((3, 40)));
}
