//! Kernels of the literature as builder code, and shorthands for launches.
#![allow(dead_code)]

use warpfold_analysis::{LaunchShape, Uniformity, UniformityOptions};
use warpfold_exec::timing::{LoadLevel, TimingModel, WarpState};
use warpfold_exec::{Arg, Checks, ExecError, ExecOptions, Launch, Mode, Outcome, run, run_checked};
use warpfold_ir::{
    Block, BlockCall, CostClass, CounterClass, Function, FunctionBuilder, Guard, Imm, InstData,
    IntCC, MemFlags, Opcode, Type, Value,
};
use warpfold_machine::Machine;

pub const I32: Type = Type::I32;
pub const I64: Type = Type::I64;
pub const PRED: Type = Type::Pred;

/// Everything recorded.
pub fn all_records() -> ExecOptions {
    ExecOptions {
        timeline: true,
        profile: true,
        events: true,
        timing: Some(multiprocessor()),
        ..ExecOptions::default()
    }
}

/// A multiprocessor with three schedulers, and some latency everywhere.
pub fn multiprocessor() -> TimingModel {
    let machine = Machine::builtin("hopper").unwrap();
    TimingModel {
        schedulers: 3,
        launch: 7,
        ..TimingModel::new(&machine, LoadLevel::L2).unwrap()
    }
}

/// One varying argument: `f` of each thread.
pub fn varying(threads: u64, f: impl Fn(u64) -> i64) -> Arg {
    Arg::Varying((0..threads).map(|t| f(t) as u128).collect())
}

/// A predicate argument.
pub fn pred(threads: u64, f: impl Fn(u64) -> bool) -> Arg {
    varying(threads, |t| i64::from(f(t)))
}

/// Runs one block of `threads` with everything recorded, and checks what
/// always holds.
pub fn run_block(func: &Function, threads: u32, args: Vec<Arg>) -> Result<Outcome, ExecError> {
    run_launch(func, &Launch::linear(1, threads).with_args(args))
}

/// The same for any launch.
pub fn run_launch(func: &Function, launch: &Launch) -> Result<Outcome, ExecError> {
    if let Err(e) = warpfold_ir::verify(func) {
        panic!("{e:?}\n{func}");
    }
    let [stack, its] = Mode::ALL.map(|mode| {
        let with = |options: ExecOptions| ExecOptions { mode, ..options };
        let plain = run(func, launch, &with(ExecOptions::default()));
        let full = run(func, launch, &with(all_records()));
        match (&plain, &full) {
            (Ok(plain), Ok(full)) => {
                assert_eq!(plain.counters, full.counters, "records change nothing");
                assert_eq!(plain.returns, full.returns);
                check_identities(func, full);
            }
            (a, b) => assert_eq!(a.as_ref().err(), b.as_ref().err()),
        }
        assert_checks_change_nothing(&[func], 0, launch, &with(all_records()), &full);
        full
    });
    if let (Ok(stack), Ok(its)) = (&stack, &its) {
        check_modes(stack, its);
    }
    stack
}

/// A kernel in which no lane waits for another costs the same in both modes.
pub fn check_modes(stack: &Outcome, its: &Outcome) {
    let (a, b) = (&stack.counters, &its.counters);
    assert_eq!(a.yields, 0);
    if b.yields == 0 {
        assert_eq!(stack.returns, its.returns);
        assert_eq!(a.inst_executed, b.inst_executed);
        assert_eq!(a.thread_inst_executed, b.thread_inst_executed);
        assert_eq!(a.classes, b.classes);
        assert_eq!(a.divergent_branch, b.divergent_branch);
        assert_eq!(stack.blocks, its.blocks);
        assert_eq!(stack.branches.len(), its.branches.len());
        assert_eq!(stack.timing, its.timing);
    }
}

/// Runs it under the uniformity claims, with nothing known of the launch and
/// with all of it known, and the check of poison: the outcome must be the same.
pub fn assert_checks_change_nothing(
    functions: &[&Function],
    entry: usize,
    launch: &Launch,
    options: &ExecOptions,
    unchecked: &Result<Outcome, ExecError>,
) {
    let shapes = [
        LaunchShape::unknown(),
        LaunchShape::new(launch.grid, launch.block),
    ];
    for shape in shapes {
        let claims: Vec<Uniformity> = functions
            .iter()
            .map(|f| {
                let called = functions.len() > 1 || f.callees.values().any(|c| c.name == f.name);
                let how = UniformityOptions {
                    shape,
                    joins: options.joins,
                    called,
                    independent: options.mode == Mode::Its,
                    ..UniformityOptions::default()
                };
                Uniformity::new(f, &how)
            })
            .collect();
        let claims: Vec<Option<&Uniformity>> = claims.iter().map(Some).collect();
        let checks = Checks {
            claims: &claims,
            poison: true,
            races: false,
        };
        let mut checked = run_checked(functions, entry, launch, options, &checks);
        if let Ok(outcome) = &mut checked {
            assert!(outcome.checked.take().is_some());
        }
        match (&checked, unchecked) {
            (Ok(a), Ok(b)) => assert_eq!(a, b),
            (a, b) => assert_eq!(a.as_ref().err(), b.as_ref().err()),
        }
    }
}

/// What holds in every outcome with a timeline.
pub fn check_identities(func: &Function, o: &Outcome) {
    let c = &o.counters;
    assert!(c.lanes_add_up(), "{c:?}");
    for t in [&c.global, &c.local] {
        for t in [t.loads, t.stores, t.atomics] {
            assert!(t.requests <= t.ideal && t.ideal <= t.sectors, "{c:?}");
        }
    }
    for t in [c.shared.loads, c.shared.stores, c.shared.atomics] {
        assert!(t.requests <= t.ideal && t.ideal <= t.wavefronts, "{c:?}");
    }
    let timeline = o.timeline.as_ref().unwrap();
    assert_eq!(timeline.issues.len() as u64, c.inst_executed);
    assert!(
        timeline
            .issues
            .iter()
            .all(|i| i.mask != 0 && i.on & !i.mask == 0)
    );
    let lanes = |f: fn(&warpfold_exec::Issue) -> u32| -> u64 {
        timeline
            .issues
            .iter()
            .map(|i| u64::from(f(i).count_ones()))
            .sum()
    };
    assert_eq!(lanes(|i| i.mask), c.thread_inst_executed);
    assert_eq!(lanes(|i| i.on), c.thread_inst_executed_pred_on);
    let total: u64 = CostClass::ALL.iter().map(|&x| c.class(x)).sum();
    assert_eq!(total, c.inst_executed);
    let by_site: u64 = o.issues.iter().chain(&o.term_issues).sum();
    assert_eq!(by_site + c.yields, c.inst_executed);
    for (n, &count) in c.active_lanes.iter().enumerate() {
        let seen = timeline
            .issues
            .iter()
            .filter(|i| i.mask.count_ones() as usize == n);
        assert_eq!(seen.count() as u64, count);
    }
    assert_eq!(
        timeline.passes.len() as u64,
        o.blocks.iter().map(|b| b.passes).sum()
    );
    for b in &o.branches {
        assert_eq!(32 * b.executions, b.lanes + b.lost.total());
        let counts = o.profile.as_ref().unwrap().branch(b.block).unwrap();
        assert_eq!(
            (counts.executions, &counts.taken[..], counts.splits),
            (b.executions, &b.taken[..], b.divergent)
        );
        assert_eq!(o.term_issues[b.block.as_u32() as usize], b.executions);
    }
    assert_eq!(c.branches.total(), c.class(CostClass::Branch));
    let issued: u64 = o.warps.iter().map(|w| w.issued).sum();
    assert_eq!(issued, c.inst_executed);
    let _ = func;
    let Some(t) = &o.timing else { return };
    assert_eq!(t.issued, c.inst_executed);
    assert_eq!(
        u64::from(t.schedulers) * (t.cycles - t.launch),
        t.issue_active + t.no_eligible + t.no_warp
    );
    assert_eq!(t.state(WarpState::Selected), t.issue_active);
    assert!(t.issue_active <= t.issued);
    // Nobody is faster than the longest of its warps, or slower than all in a
    // row at the longest latency.
    let longest = o.warps.iter().map(|w| w.issued).max().unwrap_or(0);
    assert!(t.cycles - t.launch >= longest);
    assert!(t.warp_cycles() <= 400 * c.inst_executed * u64::from(t.resident_warps));
}

/// `n` dependent operations on `x`.
pub fn fill(b: &mut FunctionBuilder, op: Opcode, n: u32, mut x: Value) -> Value {
    let one = b.iconst(I32, 1);
    for _ in 0..n {
        x = b.ins(op, I32, &[x, one]);
    }
    x
}

/// The same, each guarded with its old value as `else`.
pub fn fill_guarded(
    b: &mut FunctionBuilder,
    op: Opcode,
    n: u32,
    mut x: Value,
    pred: Value,
    negated: bool,
) -> Value {
    let one = b.iconst(I32, 1);
    for _ in 0..n {
        let guard = Guard {
            pred,
            negated,
            otherwise: Some(x),
        };
        let data = InstData::new(op, I32, &[x, one], Imm::None).guarded(guard);
        x = b.push(data).unwrap();
    }
    x
}

/// `e: br c, a, b | a: A alu, jump j | b: B alu, jump j | j: Z alu, ret`.
pub fn ifz(a: u32, b: u32, z: u32) -> Function {
    let mut f = FunctionBuilder::new("if");
    let c = f.param(PRED, true);
    let x = f.param(I32, true);
    f.returns(&[I32]);
    let (ba, bb, j) = (f.block(), f.block(), f.block());
    let y = f.block_param(j, I32);
    f.br(c, ba, bb);
    f.switch_to(ba);
    let v = fill(&mut f, Opcode::Iadd, a, x);
    f.jump(j, &[v]);
    f.switch_to(bb);
    let v = fill(&mut f, Opcode::Bxor, b, x);
    f.jump(j, &[v]);
    f.switch_to(j);
    let v = fill(&mut f, Opcode::Isub, z, y);
    f.ret(&[v]);
    f.finish()
}

/// `e: br c, a, j | a: A alu, jump j | j: ret`.
pub fn then(a: u32) -> Function {
    let mut f = FunctionBuilder::new("then");
    let c = f.param(PRED, true);
    let x = f.param(I32, true);
    f.returns(&[I32]);
    let (ba, j) = (f.block(), f.block());
    let y = f.block_param(j, I32);
    f.br(c, ba, BlockCall::new(j, &[x]));
    f.switch_to(ba);
    let v = fill(&mut f, Opcode::Iadd, a, x);
    f.jump(j, &[v]);
    f.switch_to(j);
    f.ret(&[y]);
    f.finish()
}

/// `e: A alu if c, B alu if !c, ret`.
pub fn predicated(a: u32, b: u32) -> Function {
    let mut f = FunctionBuilder::new("pred");
    let c = f.param(PRED, true);
    let x = f.param(I32, true);
    f.returns(&[I32]);
    let v = fill_guarded(&mut f, Opcode::Iadd, a, x, c, false);
    let v = fill_guarded(&mut f, Opcode::Bxor, b, v, c, true);
    f.ret(&[v]);
    f.finish()
}

/// `e: jump h(0) | h(i): q = i < n, br q, b, x | b: B alu, i + 1, jump h | x: ret`.
pub fn counted_loop(body: u32) -> Function {
    let mut f = FunctionBuilder::new("loop");
    let n = f.param(I32, true);
    let x = f.param(I32, true);
    f.returns(&[I32]);
    let (h, b, end) = (f.block(), f.block(), f.block());
    let (i, v) = (f.block_param(h, I32), f.block_param(h, I32));
    let zero = f.iconst(I32, 0);
    f.jump(h, &[zero, x]);
    f.switch_to(h);
    let q = f.icmp(IntCC::Slt, i, n);
    f.br(q, b, end);
    f.switch_to(b);
    let w = fill(&mut f, Opcode::Iadd, body, v);
    let one = f.iconst(I32, 1);
    let i1 = f.ins(Opcode::Iadd, I32, &[i, one]);
    f.jump(h, &[i1, w]);
    f.switch_to(end);
    f.ret(&[v]);
    f.finish()
}

/// `e: br oob, x, b | x: ret | b: B alu, ret`, laid out e, x, b.
pub fn guard_clause(body: u32) -> Function {
    let mut f = FunctionBuilder::new("guard");
    let oob = f.param(PRED, true);
    let x = f.param(I32, true);
    f.returns(&[I32]);
    let (out, b) = (f.block(), f.block());
    f.br(oob, out, b);
    f.switch_to(out);
    f.ret(&[x]);
    f.switch_to(b);
    let v = fill(&mut f, Opcode::Iadd, body, x);
    f.ret(&[v]);
    f.finish()
}

/// A guarded exit.
pub fn exit_if(f: &mut FunctionBuilder, pred: Value, negated: bool) {
    f.push(
        InstData::new(Opcode::Exit, I32, &[], Imm::None).guarded(Guard {
            pred,
            negated,
            otherwise: None,
        }),
    );
}

/// `e: exit if oob, B alu, ret`. Stores its result, since an exit returns none.
pub fn guard_exit(body: u32) -> Function {
    let mut f = FunctionBuilder::new("guardx");
    let oob = f.param(PRED, true);
    let x = f.param(I32, true);
    exit_if(&mut f, oob, false);
    fill(&mut f, Opcode::Iadd, body, x);
    f.ret(&[]);
    f.finish()
}

/// A load of `ty` at `address + offset`.
pub fn load(f: &mut FunctionBuilder, ty: Type, address: Value, offset: i32) -> Value {
    let flags = MemFlags::NONE;
    f.push(InstData::new(
        Opcode::Load,
        ty,
        &[address],
        Imm::Mem { flags, offset },
    ))
    .unwrap()
}

/// A store of `value` at `address + offset`.
pub fn store(f: &mut FunctionBuilder, ty: Type, value: Value, address: Value, offset: i32) {
    let flags = MemFlags::NONE;
    f.push(InstData::new(
        Opcode::Store,
        ty,
        &[value, address],
        Imm::Mem { flags, offset },
    ));
}

/// An instruction without result, operands or immediate.
pub fn plain(f: &mut FunctionBuilder, op: Opcode) {
    f.push(InstData::new(op, I32, &[], Imm::None));
}

/// alu, pred, ctl, issued, TI.
pub fn row(o: &Outcome) -> [u64; 5] {
    let c = &o.counters;
    [
        c.counter_class(CounterClass::Alu),
        c.counter_class(CounterClass::Pred),
        c.counter_class(CounterClass::Ctl),
        c.inst_executed,
        c.thread_inst_executed,
    ]
}

/// Divergent branches, branches, pushes, depth.
pub fn branching(o: &Outcome) -> [u64; 4] {
    let c = &o.counters;
    [
        c.divergent_branch,
        c.branches.total(),
        c.pushes,
        c.max_depth,
    ]
}

/// Lanes lost: partial, exited, diverged, predicated.
pub fn lost(o: &Outcome) -> [u64; 4] {
    let l = &o.counters.lost;
    [l.partial, l.exited, l.diverged, l.predicated]
}

/// Passes and lanes of each block in layout order.
pub fn passes(o: &Outcome) -> Vec<(u64, u64)> {
    o.blocks.iter().map(|b| (b.passes, b.lanes)).collect()
}

/// Issues and lanes of each warp.
pub fn warps(o: &Outcome) -> Vec<(u64, u64)> {
    o.warps.iter().map(|w| (w.issued, w.thread_inst)).collect()
}

/// The passes of the timeline: block number, mask, depth.
pub fn timeline(o: &Outcome) -> Vec<(u32, u32, u32)> {
    let passes = &o.timeline.as_ref().unwrap().passes;
    passes
        .iter()
        .map(|p| (p.block.as_u32(), p.mask, p.depth))
        .collect()
}

/// What each thread returned, as signed 32-bit numbers.
pub fn returned(o: &Outcome) -> Vec<Option<i32>> {
    o.returns
        .iter()
        .map(|r| r.map(|r| r[0] as u32 as i32))
        .collect()
}

/// Rounded as the claims are: three decimals and two.
pub fn averages(o: &Outcome) -> (f64, f64) {
    let round = |x: f64, n: f64| (x * n).round() / n;
    let c = &o.counters;
    (
        round(c.thread_inst_executed_per_inst_executed().unwrap(), 1000.0),
        round(c.warp_execution_efficiency().unwrap(), 100.0),
    )
}

/// The block made `i`-th.
pub fn block(i: u32) -> Block {
    Block::from_u32(i)
}
