//! Control flow: parallel copies, values of lanes that wait, exits and traps
//! in the middle of a block, guards.

mod support;
use support::*;
use warpfold_exec::{Ending, Site};
use warpfold_ir::{
    BlockCall, CostClass, FunctionBuilder, Guard, Imm, InstData, IntCC, Opcode, Origin, TrapCode,
};

/// Each lane swaps two values as often as its own trip count says.
#[test]
fn swaps_in_a_divergent_loop() {
    let mut f = FunctionBuilder::new("swap");
    let n = f.param(I32, true);
    let x = f.param(I32, true);
    let y = f.param(I64, true);
    let z = f.param(I64, true);
    f.returns(&[I32, I64, I64]);
    let (h, b, end) = (f.block(), f.block(), f.block());
    let i = f.block_param(h, I32);
    let keep = f.block_param(h, I32);
    let (p, q) = (f.block_param(h, I64), f.block_param(h, I64));
    let zero = f.iconst(I32, 0);
    f.jump(h, &[zero, x, y, z]);
    f.switch_to(h);
    let more = f.icmp(IntCC::Slt, i, n);
    f.br(more, b, end);
    f.switch_to(b);
    let one = f.iconst(I32, 1);
    let i1 = f.ins(Opcode::Iadd, I32, &[i, one]);
    f.jump(h, &[i1, keep, q, p]);
    f.switch_to(end);
    f.ret(&[keep, p, q]);
    let args = vec![
        varying(40, |t| (t % 5) as i64),
        varying(40, |t| t as i64),
        varying(40, |t| 100 + t as i64),
        varying(40, |t| 200 + t as i64),
    ];
    let o = run_block(&f.finish(), 40, args).unwrap();
    for t in 0..40u128 {
        let (p, q) = match t % 5 % 2 {
            0 => (100 + t, 200 + t),
            _ => (200 + t, 100 + t),
        };
        assert_eq!(o.returns.get(t as usize), Some(&[t, p, q][..]));
    }
}

/// A branch whose edges lead to one block only chooses arguments.
#[test]
fn two_edges_to_one_block_never_split() {
    let mut f = FunctionBuilder::new("choose");
    let c = f.param(PRED, true);
    let x = f.param(I32, true);
    let y = f.param(I32, true);
    f.returns(&[I32]);
    let j = f.block();
    let v = f.block_param(j, I32);
    f.br(c, BlockCall::new(j, &[x]), BlockCall::new(j, &[y]));
    f.switch_to(j);
    f.ret(&[v]);
    let args = vec![
        pred(32, |t| t % 3 == 0),
        varying(32, |t| t as i64),
        varying(32, |t| -(t as i64)),
    ];
    let o = run_block(&f.finish(), 32, args).unwrap();
    assert_eq!(branching(&o), [0, 1, 0, 1]);
    assert_eq!(o.counters.branches.proven, 1);
    assert_eq!(o.branches[0].taken, [1, 1]);
    assert_eq!(row(&o), [0, 0, 2, 2, 64]);
    let expected: Vec<_> = (0..32)
        .map(|t| Some(if t % 3 == 0 { t } else { -t }))
        .collect();
    assert_eq!(returned(&o), expected);
}

/// The mark decides the charge: proven branches are charged as such.
#[test]
fn branch_kinds_follow_the_mark() {
    let kinds = |proven: bool, c: fn(u64) -> bool| {
        let mut f = ifz(2, 2, 0);
        let e = f.entry().unwrap();
        f.block_mut(e)
            .term
            .as_mut()
            .unwrap()
            .mark_mut()
            .unwrap()
            .proven = proven;
        let o = run_block(&f, 32, vec![pred(32, c), varying(32, |_| 0)]).unwrap();
        let k = o.counters.branches;
        [k.proven, k.agree, k.split]
    };
    assert_eq!(kinds(false, |_| true), [0, 1, 0]);
    assert_eq!(kinds(false, |t| t < 4), [0, 0, 1]);
    assert_eq!(kinds(true, |_| true), [1, 0, 0]);
    assert_eq!(kinds(true, |t| t < 4), [1, 0, 0]);
}

/// Lanes that divide by zero leave; what follows in the block is counted with
/// those that are left.
#[test]
fn a_trap_in_the_middle_of_a_block() {
    let mut f = FunctionBuilder::new("div");
    let x = f.param(I32, true);
    let y = f.param(I32, true);
    f.returns(&[I32]);
    let a = fill(&mut f, Opcode::Iadd, 2, x);
    f.set_origin(Origin::new(7, 3));
    let q = f.ins(Opcode::Sdiv, I32, &[a, y]);
    f.set_origin(Origin::NONE);
    let r = fill(&mut f, Opcode::Iadd, 3, q);
    f.ret(&[r]);
    let f = f.finish();
    let run = |y: fn(u64) -> i64| {
        run_block(&f, 40, vec![varying(40, |t| t as i64 * 10), varying(40, y)]).unwrap()
    };

    let o = run(|t| t as i64 % 4);
    // Warp 0: 3 issues at 32 lanes, 4 at 24; warp 1: 3 at 8, 4 at 6.
    assert_eq!(warps(&o), [(7, 3 * 32 + 4 * 24), (7, 3 * 8 + 4 * 6)]);
    assert_eq!(lost(&o), [7 * 24, 4 * 8 + 4 * 2, 0, 0]);
    assert_eq!(o.end, Ending::Trapped);
    assert_eq!(o.traps.len(), 10);
    assert_eq!(o.counters.traps, 10);
    let last = o.traps.last().unwrap();
    assert_eq!((last.thread, last.warp, last.lane), (36, 1, 4));
    assert_eq!(last.code, TrapCode::IntegerDivisionByZero);
    assert_eq!(last.origin, Origin::new(7, 3));
    assert!(matches!(last.site, Site::Inst(i) if f.inst(i).op == Opcode::Sdiv));
    assert_eq!(o.returns.get(4), None);
    assert_eq!(o.returns.get(5), Some(&[52 + 3][..]));

    let o = run(|t| i64::from(t >= 32));
    assert_eq!(warps(&o), [(3, 96), (7, 56)], "nobody is left in warp 0");
    assert_eq!(o.counters.class(CostClass::Alu), 2 + 5);
    assert_eq!(o.counters.class(CostClass::Ctl), 1);
    assert_eq!(o.term_issues[0], 1);

    let o = run(|_| 0);
    assert_eq!(warps(&o), [(3, 96), (3, 24)]);
    assert_eq!(o.traps.len(), 40);
}

/// A trap in an arm leaves the others to join.
#[test]
fn a_trap_terminator_retires_its_lanes() {
    let mut f = FunctionBuilder::new("arm");
    let c = f.param(PRED, true);
    let x = f.param(I32, true);
    f.returns(&[I32]);
    let (a, b) = (f.block(), f.block());
    f.br(c, a, b);
    f.switch_to(a);
    f.trap(TrapCode::User(3));
    f.switch_to(b);
    let v = fill(&mut f, Opcode::Iadd, 2, x);
    f.ret(&[v]);
    let args = vec![pred(32, |t| t < 3), varying(32, |t| t as i64)];
    let o = run_block(&f.finish(), 32, args).unwrap();
    assert_eq!(row(&o), [2, 0, 3, 5, 32 + 3 + 3 * 29]);
    assert_eq!(lost(&o), [0, 9, 29, 0]);
    let codes: Vec<_> = o
        .traps
        .iter()
        .map(|t| (t.thread, t.code, t.address))
        .collect();
    let user = TrapCode::User(3);
    assert_eq!(codes, [(0, user, None), (1, user, None), (2, user, None)]);
    assert_eq!(returned(&o)[2..4], [None, Some(5)]);
}

#[test]
fn a_guarded_trap_ends_a_segment() {
    let mut f = FunctionBuilder::new("trapif");
    let c = f.param(PRED, true);
    let x = f.param(I32, true);
    f.returns(&[I32]);
    f.push(
        InstData::new(Opcode::TrapIf, I32, &[], Imm::Trap(TrapCode::User(1))).guarded(Guard {
            pred: c,
            negated: true,
            otherwise: None,
        }),
    );
    let v = fill(&mut f, Opcode::Iadd, 2, x);
    f.ret(&[v]);
    let f = f.finish();
    let o = run_block(&f, 64, vec![pred(64, |t| t < 8), varying(64, |_| 1)]).unwrap();
    assert_eq!(warps(&o), [(4, 32 + 3 * 8), (1, 32)]);
    assert_eq!(lost(&o), [0, 3 * 24, 0, 8]);
    assert_eq!(o.blocks[0].segments, [2, 1]);
    assert_eq!(o.traps.len(), 56);
    assert_eq!(o.counters.thread_inst_executed_pred_on, 24 + 3 * 8 + 32);
}

/// An exit in an arm: the lanes leave the join entry too, and if the whole
/// arm leaves, nothing of it issues any more.
#[test]
fn an_exit_inside_an_arm() {
    let mut f = FunctionBuilder::new("armexit");
    let c = f.param(PRED, true);
    let d = f.param(PRED, true);
    let x = f.param(I32, true);
    f.returns(&[I32]);
    let (a, j) = (f.block(), f.block());
    let y = f.block_param(j, I32);
    f.br(c, a, BlockCall::new(j, &[x]));
    f.switch_to(a);
    exit_if(&mut f, d, false);
    let v = fill(&mut f, Opcode::Iadd, 5, x);
    f.jump(j, &[v]);
    f.switch_to(j);
    f.ret(&[y]);
    let f = f.finish();
    let run = |d: fn(u64) -> bool| {
        let args = vec![pred(32, |t| t < 16), pred(32, d), varying(32, |t| t as i64)];
        run_block(&f, 32, args).unwrap()
    };
    let o = run(|t| t < 4);
    assert_eq!(row(&o), [5, 0, 4, 9, 32 + 16 + 6 * 12 + 28]);
    assert_eq!(passes(&o), [(1, 32), (1, 16), (1, 28)]);
    assert_eq!(returned(&o)[3..6], [None, Some(9), Some(10)]);
    let o = run(|_| true);
    assert_eq!(row(&o), [0, 0, 3, 3, 32 + 16 + 16]);
    assert_eq!(passes(&o), [(1, 32), (1, 16), (1, 16)]);
    assert_eq!(o.blocks[1].segments, [1, 0]);
}

/// Values defined before a divergent loop, used behind it, and written in the
/// loop by lanes that stay longer.
#[test]
fn values_of_lanes_that_wait_are_kept() {
    let mut f = FunctionBuilder::new("live");
    let n = f.param(I32, true);
    let t = f.param(I32, true);
    f.returns(&[I32, PRED]);
    let (h, b, end) = (f.block(), f.block(), f.block());
    let i = f.block_param(h, I32);
    let zero = f.iconst(I32, 0);
    f.jump(h, &[zero]);
    f.switch_to(h);
    // Defined in the loop, used behind it: temporal divergence.
    let square = f.ins(Opcode::Imul, I32, &[i, i]);
    let odd = {
        let one = f.iconst(I32, 1);
        let bit = f.ins(Opcode::Band, I32, &[i, one]);
        f.icmp(IntCC::Ne, bit, zero)
    };
    let q = f.icmp(IntCC::Slt, i, n);
    f.br(q, b, end);
    f.switch_to(b);
    let one = f.iconst(I32, 1);
    let i1 = f.ins(Opcode::Iadd, I32, &[i, one]);
    f.jump(h, &[i1]);
    f.switch_to(end);
    let r = f.ins(Opcode::Iadd, I32, &[square, t]);
    f.ret(&[r, odd]);
    let args = vec![
        varying(32, |t| (t % 9) as i64),
        varying(32, |t| 1000 * t as i64),
    ];
    let o = run_block(&f.finish(), 32, args).unwrap();
    for t in 0..32u128 {
        let n = t % 9;
        assert_eq!(
            o.returns.get(t as usize),
            Some(&[1000 * t + n * n, n % 2][..])
        );
    }
}

/// A guard without `else` does nothing where it is false, also no trap.
#[test]
fn a_false_guard_does_nothing_at_all() {
    let mut f = FunctionBuilder::new("guard");
    let p = f.param(PRED, true);
    let x = f.param(I32, true);
    let y = f.param(I32, true);
    f.returns(&[I32]);
    let guard = Guard {
        pred: p,
        negated: false,
        otherwise: None,
    };
    f.set_guard(Some(guard));
    let q = f.ins(Opcode::Udiv, I32, &[x, y]);
    f.set_guard(None);
    let r = f.ins(Opcode::Select, I32, &[p, q, y]);
    f.ret(&[r]);
    let args = vec![
        pred(32, |t| t % 2 == 1),
        varying(32, |t| 6 * t as i64),
        varying(32, |t| if t % 2 == 1 { 3 } else { 0 }),
    ];
    let o = run_block(&f.finish(), 32, args).unwrap();
    assert_eq!(o.traps, []);
    let expected: Vec<_> = (0..32)
        .map(|t| Some(if t % 2 == 1 { 2 * t } else { 0 }))
        .collect();
    assert_eq!(returned(&o), expected);
    assert_eq!(o.counters.guarded, 1);
    assert_eq!(lost(&o), [0, 0, 0, 16]);
}

/// An infinite loop that one lane leaves by an exit inside still counts right,
/// and a switch over wide indices takes the default.
#[test]
fn switches_take_their_index_unsigned_at_any_width() {
    for ty in [warpfold_ir::Type::I8, I32, I64] {
        let mut f = FunctionBuilder::new("wide");
        let s = f.param(ty, true);
        f.returns(&[I32]);
        let (a, j) = (f.block(), f.block());
        let y = f.block_param(j, I32);
        let (one, two) = (f.iconst(I32, 1), f.iconst(I32, 2));
        f.terminate(warpfold_ir::Terminator::Switch {
            index: s,
            table: vec![a.into(), BlockCall::new(j, &[two])],
            default: BlockCall::new(j, &[one]),
            mark: warpfold_ir::BranchMark::default(),
        });
        f.switch_to(a);
        f.jump(j, &[s].map(|_| two));
        f.switch_to(j);
        f.ret(&[y]);
        let big = |t: u64| {
            if t < 8 {
                0
            } else if t < 16 {
                1
            } else {
                -1
            }
        };
        let o = run_block(&f.finish(), 32, vec![varying(32, big)]).unwrap();
        let expected: Vec<_> = (0..32).map(|t| Some(if t < 16 { 2 } else { 1 })).collect();
        assert_eq!(returned(&o), expected, "{ty}");
        assert_eq!(o.branches[0].taken, [1, 1, 1]);
        assert_eq!(o.counters.extra_targets, 1, "two edges are one target");
    }
}
