//! Early returns under both join rules: C-77 of the claims, and GUARD.

mod support;
use support::*;
use warpfold_analysis::JoinRule;
use warpfold_exec::{Arg, ExecError, ExecOptions, Launch, Outcome, run};
use warpfold_ir::{Function, FunctionBuilder, Opcode};

fn with(f: &Function, joins: JoinRule, threads: u32, args: Vec<Arg>) -> Result<Outcome, ExecError> {
    let options = ExecOptions {
        joins,
        ..all_records()
    };
    warpfold_ir::verify(f).unwrap();
    let o = run(f, &Launch::linear(1, threads).with_args(args), &options)?;
    check_identities(f, &o);
    Ok(o)
}

/// `e: br c, t, f | t: br o, r, a | r: ret | a: 3 alu, jump z | f: 2 alu, jump z | z: 5 alu, ret`.
fn return_in_arm() -> Function {
    let mut b = FunctionBuilder::new("retarm");
    let c = b.param(PRED, true);
    let o = b.param(PRED, true);
    let x = b.param(I32, true);
    b.returns(&[I32]);
    let [t, r, a, f, z] = std::array::from_fn(|_| b.block());
    let y = b.block_param(z, I32);
    b.br(c, t, f);
    b.switch_to(t);
    b.br(o, r, a);
    b.switch_to(r);
    b.ret(&[x]);
    b.switch_to(a);
    let v = fill(&mut b, Opcode::Iadd, 3, x);
    b.jump(z, &[v]);
    b.switch_to(f);
    let v = fill(&mut b, Opcode::Bxor, 2, x);
    b.jump(z, &[v]);
    b.switch_to(z);
    let v = fill(&mut b, Opcode::Iadd, 5, y);
    b.ret(&[v]);
    b.finish()
}

#[test]
fn a_return_in_an_arm() {
    let f = return_in_arm();
    let args = || {
        vec![
            pred(32, |t| t < 16),
            pred(32, |t| t & 1 == 1),
            varying(32, |_| 0),
        ]
    };
    let o = with(&f, JoinRule::Default, 32, args()).unwrap();
    assert_eq!(row(&o), [10, 0, 6, 16, 280]);
    assert_eq!(branching(&o), [2, 2, 3, 4]);
    assert_eq!(lost(&o), [0, 104, 128, 0]);
    assert_eq!(
        passes(&o),
        [(1, 32), (1, 16), (1, 8), (1, 8), (1, 16), (1, 24)]
    );
    let cfg = with(&f, JoinRule::Cfg, 32, args()).unwrap();
    assert_eq!(row(&cfg), [15, 0, 7, 22, 280]);
    assert_eq!(branching(&cfg), [2, 2, 4, 3]);
    assert_eq!(lost(&cfg), [0, 224, 200, 0]);
    assert_eq!(
        passes(&cfg),
        [(1, 32), (1, 16), (1, 8), (1, 8), (1, 16), (2, 24)]
    );
    assert_eq!(o.returns, cfg.returns, "joins never change results");
}

/// `e: br c, m, n | m: 2 alu, br o, r, w | r: ret | n: 1 alu, jump w | w: bar, 1 alu, ret`.
#[test]
fn a_return_before_a_barrier() {
    let mut b = FunctionBuilder::new("retbar");
    let c = b.param(PRED, true);
    let o = b.param(PRED, true);
    let x = b.param(I32, true);
    b.returns(&[I32]);
    let [m, r, n, w] = std::array::from_fn(|_| b.block());
    let y = b.block_param(w, I32);
    b.br(c, m, n);
    b.switch_to(m);
    let v = fill(&mut b, Opcode::Iadd, 2, x);
    b.br(o, r, warpfold_ir::BlockCall::new(w, &[v]));
    b.switch_to(r);
    b.ret(&[v]);
    b.switch_to(n);
    let v = fill(&mut b, Opcode::Bxor, 1, x);
    b.jump(w, &[v]);
    b.switch_to(w);
    plain(&mut b, Opcode::Barrier);
    let v = fill(&mut b, Opcode::Iadd, 1, y);
    b.ret(&[v]);
    let f = b.finish();
    let args = || vec![pred(32, |t| t < 8), pred(32, |_| false), varying(32, |_| 0)];
    let o = with(&f, JoinRule::Default, 32, args()).unwrap();
    assert_eq!(row(&o), [4, 0, 4, 9, 200]);
    assert_eq!(branching(&o), [1, 2, 2, 3]);
    assert_eq!(lost(&o), [0, 0, 88, 0]);
    assert_eq!(o.counters.barriers, 1);
    assert_eq!(passes(&o), [(1, 32), (1, 8), (0, 0), (1, 24), (1, 32)]);
    match with(&f, JoinRule::Cfg, 32, args()) {
        Err(ExecError::BarrierDivergence {
            arrived, missing, ..
        }) => assert_eq!((arrived, missing), (0xFF, 0xFFFF_FF00)),
        other => panic!("{other:?}"),
    }
}

/// `e: br c, t, m | t: 2 alu, br o, m, end | m: 6 alu, jump end | end: ret`.
#[test]
fn a_shared_block_passes_twice() {
    let mut b = FunctionBuilder::new("shared");
    let c = b.param(PRED, true);
    let o = b.param(PRED, true);
    let x = b.param(I32, true);
    b.returns(&[I32]);
    let [t, m, end] = std::array::from_fn(|_| b.block());
    let in_m = b.block_param(m, I32);
    let y = b.block_param(end, I32);
    b.br(c, t, warpfold_ir::BlockCall::new(m, &[x]));
    b.switch_to(t);
    let v = fill(&mut b, Opcode::Bxor, 2, x);
    let to = |block| warpfold_ir::BlockCall::new(block, &[v]);
    b.br(o, to(m), to(end));
    b.switch_to(m);
    let v = fill(&mut b, Opcode::Iadd, 6, in_m);
    b.jump(end, &[v]);
    b.switch_to(end);
    b.ret(&[y]);
    let args = vec![
        pred(32, |t| t < 12),
        pred(32, |t| t < 4),
        varying(32, |_| 0),
    ];
    let o = with(&b.finish(), JoinRule::Default, 32, args).unwrap();
    assert_eq!(row(&o), [14, 0, 5, 19, 268]);
    assert_eq!(branching(&o), [2, 2, 3, 3]);
    assert_eq!(lost(&o), [0, 0, 340, 0]);
    assert_eq!(passes(&o), [(1, 32), (1, 12), (2, 24), (1, 32)]);
    let expected: Vec<_> = (0..32)
        .map(|t| Some(if (4..12).contains(&t) { 0 } else { 6 }))
        .collect();
    assert_eq!(returned(&o), expected);
}

#[test]
fn a_guard_clause_differs_in_pushes_only() {
    let args = vec![pred(96, |t| t >= 40), varying(96, |_| 0)];
    let f = guard_clause(20);
    let o = with(&f, JoinRule::Default, 96, args.clone()).unwrap();
    let cfg = with(&f, JoinRule::Cfg, 96, args).unwrap();
    assert_eq!(row(&o), row(&cfg));
    assert_eq!([o.counters.pushes, cfg.counters.pushes], [1, 2]);
    assert_eq!(o.returns, cfg.returns);
}
