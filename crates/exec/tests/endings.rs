//! Runs that do not end well, and launches that do not begin.

mod support;
use support::*;
use warpfold_exec::{Arg, ExecError, ExecOptions, GLOBAL_BASE, Launch, LaunchError, Memory, run};
use warpfold_ir::{
    BlockCall, Function, FunctionBuilder, Imm, InstData, IntCC, MemFlags, Opcode, SlotData, Type,
};

/// `e: jump h | h: br c, h, x | x: ret`: lanes with `c` go round for ever.
fn spin() -> Function {
    let mut f = FunctionBuilder::new("spin");
    let c = f.param(PRED, true);
    let (h, x) = (f.block(), f.block());
    f.jump(h, &[]);
    f.switch_to(h);
    f.br(c, h, x);
    f.switch_to(x);
    f.ret(&[]);
    f.finish()
}

fn no_progress(result: Result<warpfold_exec::Outcome, ExecError>) -> (u32, u32, u32) {
    match result {
        Err(ExecError::NoProgress {
            block, mask, warp, ..
        }) => (block.as_u32(), mask, warp),
        other => panic!("{other:?}"),
    }
}

#[test]
fn lanes_that_go_round_for_ever() {
    let end = run_block(&spin(), 32, vec![pred(32, |t| t % 4 == 1)]);
    assert_eq!(no_progress(end), (1, 0x2222_2222, 0));
    let o = run_block(&spin(), 32, vec![pred(32, |_| false)]).unwrap();
    assert_eq!(row(&o), [0, 0, 3, 3, 96]);
}

/// The first warp may wait for another; the last one to run waits for nobody.
#[test]
fn another_warp_could_still_act() {
    let launch = Launch::linear(1, 64).with_args(vec![pred(64, |t| t < 32)]);
    let options = ExecOptions {
        step_limit: 10_000,
        ..ExecOptions::default()
    };
    let end = run(&spin(), &launch, &options);
    let Err(ExecError::StepLimit {
        limit, mask, warp, ..
    }) = end
    else {
        panic!("{end:?}");
    };
    assert_eq!((limit, mask, warp), (10_000, u32::MAX, 0));
    let end = run_block(&spin(), 64, vec![pred(64, |t| t >= 32)]);
    assert_eq!(no_progress(end), (1, u32::MAX, 1));
}

/// `WAIT`: the consumer, which runs first, waits for a store of the producer.
#[test]
fn a_lane_cannot_wait_for_one_of_its_warp() {
    let mut f = FunctionBuilder::new("wait");
    let c = f.param(PRED, true);
    let a = f.param(I64, false);
    let [w, d, p, j] = std::array::from_fn(|_| f.block());
    let one = f.iconst(I32, 1);
    let zero = f.iconst(I32, 0);
    f.br(c, w, p);
    f.switch_to(w);
    let x = load(&mut f, I32, a, 0);
    let q = f.icmp(IntCC::Eq, x, zero);
    f.br(q, w, d);
    f.switch_to(d);
    f.jump(j, &[]);
    f.switch_to(p);
    store(&mut f, I32, one, a, 0);
    f.jump(j, &[]);
    f.switch_to(j);
    f.ret(&[]);
    let f = f.finish();
    let end = |c: fn(u64) -> bool, first: u8| {
        let mut memory = Memory::new();
        let base = memory.add(vec![first, 0, 0, 0], false);
        let args = vec![pred(32, c), Arg::Uniform(u128::from(base))];
        run_launch(
            &f,
            &Launch {
                memory,
                ..Launch::linear(1, 32).with_args(args)
            },
        )
    };
    assert_eq!(no_progress(end(|t| t == 0, 0)), (1, 1, 0));
    assert!(end(|t| t == 0, 1).is_ok());
    assert!(end(|_| false, 0).is_ok());
}

/// A loop whose state repeats with a long period, entered after a tail.
#[test]
fn cycles_of_any_length_are_found() {
    let mut f = FunctionBuilder::new("cycle");
    let modulus = f.param(I32, false);
    let start = f.param(I32, true);
    let h = f.block();
    let i = f.block_param(h, I32);
    f.jump(h, &[start]);
    f.switch_to(h);
    let one = f.iconst(I32, 1);
    let next = f.ins(Opcode::Iadd, I32, &[i, one]);
    let next = f.ins(Opcode::Urem, I32, &[next, modulus]);
    f.jump(h, &[next]);
    let f = f.finish();
    for (modulus, start) in [(1, 0), (2, 1), (1000, 5000), (3, 1 << 20)] {
        let args = vec![Arg::Uniform(modulus), varying(32, move |_| start)];
        let launch = Launch::linear(1, 32).with_args(args);
        let options = ExecOptions {
            step_limit: 100_000,
            ..ExecOptions::default()
        };
        assert_eq!(no_progress(run(&f, &launch, &options)), (1, u32::MAX, 0));
    }
}

/// A loop that writes a new byte each time makes progress, until the limit.
#[test]
fn a_loop_that_writes_is_not_stuck() {
    let mut f = FunctionBuilder::new("count");
    let a = f.param(I64, false);
    let h = f.block();
    f.jump(h, &[]);
    f.switch_to(h);
    let x = load(&mut f, I32, a, 0);
    let one = f.iconst(I32, 1);
    let y = f.ins(Opcode::Iadd, I32, &[x, one]);
    store(&mut f, I32, y, a, 0);
    f.jump(h, &[]);
    let f = f.finish();
    let mut memory = Memory::new();
    let base = memory.add(vec![0; 4], false);
    let launch = Launch {
        memory,
        ..Launch::linear(1, 1).with_args(vec![Arg::Uniform(u128::from(base))])
    };
    let options = ExecOptions {
        step_limit: 4001,
        ..ExecOptions::default()
    };
    let end = run(&f, &launch, &options).unwrap_err();
    assert!(
        matches!(end, ExecError::StepLimit { limit: 4001, .. }),
        "{end}"
    );
    let text = "step limit of 4001 issues reached in block1: block 0, warp 0, lanes 0x00000001";
    assert_eq!(end.to_string(), text);
}

/// Lanes that left do not count, whatever their registers hold.
#[test]
fn only_live_lanes_must_repeat() {
    let mut f = FunctionBuilder::new("ghost");
    let gone = f.param(PRED, true);
    let step = f.param(I32, true);
    let h = f.block();
    let i = f.block_param(h, I32);
    exit_if(&mut f, gone, false);
    f.jump(h, &[step]);
    f.switch_to(h);
    let next = f.ins(Opcode::Iadd, I32, &[i, step]);
    f.jump(h, &[next]);
    let args = vec![pred(32, |t| t < 4), varying(32, |t| i64::from(t < 4))];
    let end = run_block(&f.finish(), 32, args);
    assert_eq!(no_progress(end), (1, 0xFFFF_FFF0, 0));
}

/// The second warp repeats itself between barriers; the first counts, and
/// releases it in the end.
#[test]
fn others_may_act_while_a_warp_waits_at_a_barrier() {
    let mut f = FunctionBuilder::new("patience");
    let first = f.param(PRED, true);
    let a = f.param(I64, false);
    let [h, w, count, done, wait, end] = std::array::from_fn(|_| f.block());
    let i = f.block_param(h, I32);
    let zero = f.iconst(I32, 0);
    f.jump(h, &[zero]);
    f.switch_to(h);
    plain(&mut f, Opcode::Barrier);
    f.jump(w, &[]);
    f.switch_to(w);
    f.br(first, count, wait);
    f.switch_to(count);
    let (one, last) = (f.iconst(I32, 1), f.iconst(I32, 500));
    let next = f.ins(Opcode::Iadd, I32, &[i, one]);
    let more = f.icmp(IntCC::Slt, next, last);
    f.br(more, BlockCall::new(h, &[next]), done);
    f.switch_to(done);
    store(&mut f, I32, one, a, 0);
    f.jump(end, &[]);
    f.switch_to(wait);
    let x = load(&mut f, I32, a, 0);
    let again = f.icmp(IntCC::Eq, x, zero);
    f.br(again, BlockCall::new(h, &[zero]), end);
    f.switch_to(end);
    f.ret(&[]);
    let mut memory = Memory::new();
    let base = memory.add(vec![0; 4], false);
    let args = vec![pred(64, |t| t < 32), Arg::Uniform(u128::from(base))];
    let launch = Launch {
        memory,
        ..Launch::linear(1, 64).with_args(args)
    };
    let o = run_launch(&f.finish(), &launch).unwrap();
    assert_eq!(o.counters.barriers, 500);
}

/// Registers repeat, memory does not stand still: not called stuck.
#[test]
fn a_write_that_changes_a_byte_is_progress() {
    let mut f = FunctionBuilder::new("blink");
    let a = f.param(I64, false);
    let x = f.param(I32, false);
    let y = f.param(I32, false);
    let h = f.block();
    f.jump(h, &[]);
    f.switch_to(h);
    store(&mut f, I32, x, a, 0);
    store(&mut f, I32, y, a, 0);
    f.jump(h, &[]);
    let f = f.finish();
    let end = |x, y| {
        let mut memory = Memory::new();
        let base = memory.add(vec![0; 4], false);
        let args = [u128::from(base), x, y].map(Arg::Uniform).to_vec();
        let launch = Launch {
            memory,
            ..Launch::linear(1, 1).with_args(args)
        };
        let options = ExecOptions {
            step_limit: 10_000,
            ..ExecOptions::default()
        };
        run(&f, &launch, &options)
    };
    assert!(matches!(end(1, 2), Err(ExecError::StepLimit { .. })));
    assert_eq!(no_progress(end(2, 2)), (1, 1, 0));
}

#[test]
fn the_step_limit_is_exact() {
    let f = counted_loop(4);
    let launch = Launch::linear(1, 32).with_args(vec![varying(32, |_| 8), varying(32, |_| 0)]);
    let with = |step_limit| {
        let options = ExecOptions {
            step_limit,
            ..ExecOptions::default()
        };
        run(&f, &launch, &options)
    };
    assert_eq!(with(68).unwrap().counters.inst_executed, 68);
    assert!(matches!(with(67), Err(ExecError::StepLimit { .. })));
    assert!(matches!(with(0), Err(ExecError::StepLimit { .. })));
}

/// What a trapped warp no longer issues is not charged.
#[test]
fn a_trap_gives_its_steps_back() {
    let mut f = FunctionBuilder::new("div");
    let x = f.param(I32, true);
    let q = f.ins(Opcode::Udiv, I32, &[x, x]);
    fill(&mut f, Opcode::Iadd, 5, q);
    f.ret(&[]);
    let launch = Launch::linear(1, 64).with_args(vec![varying(64, |_| 0)]);
    let options = ExecOptions {
        step_limit: 8,
        ..ExecOptions::default()
    };
    let o = run(&f.finish(), &launch, &options).unwrap();
    assert_eq!(o.counters.inst_executed, 2);
}

#[test]
fn records_are_limited() {
    let launch = Launch::linear(1, 32).with_args(vec![varying(32, |_| 8), varying(32, |_| 0)]);
    let options = ExecOptions {
        timeline: true,
        record_limit: 50,
        ..ExecOptions::default()
    };
    let end = run(&counted_loop(4), &launch, &options).unwrap_err();
    assert_eq!(end, ExecError::RecordLimit { limit: 50 });
}

#[test]
fn launches_that_are_not_possible() {
    let f = counted_loop(1);
    let end = |launch: &Launch| match run(&f, launch, &ExecOptions::default()) {
        Err(ExecError::Launch(e)) => e,
        other => panic!("{other:?}"),
    };
    let none = LaunchError::ZeroSize {
        name: "block",
        axis: "x",
    };
    assert_eq!(end(&Launch::linear(1, 0)), none);
    assert_eq!(none.to_string(), "block size x is 0");
    assert_eq!(
        end(&Launch::linear(1, 32)),
        LaunchError::ArgCount {
            expected: 2,
            got: 0
        }
    );
    assert_eq!(
        end(&Launch::linear(1, 1025)),
        LaunchError::BlockTooLarge { threads: 1025 }
    );
    assert_eq!(
        end(&Launch {
            shared: u32::MAX,
            ..Launch::linear(1, 1)
        }),
        LaunchError::SharedTooLarge { bytes: u32::MAX }
    );
    let empty = Function::new("empty");
    assert_eq!(
        run(&empty, &Launch::linear(1, 1), &ExecOptions::default()),
        Err(LaunchError::Incomplete.into())
    );
}

#[test]
fn slots_and_registers_are_limited() {
    let with_slot = |size, threads| {
        let mut f = FunctionBuilder::new("slots");
        f.func_mut().slots.push(SlotData { size, align: 16 });
        f.ret(&[]);
        run(
            &f.finish(),
            &Launch::linear(1, threads),
            &ExecOptions::default(),
        )
    };
    assert_eq!(
        with_slot(u32::MAX, 1),
        Err(LaunchError::LocalTooLarge.into())
    );
    assert!(matches!(
        with_slot(8 << 20, 1024),
        Err(ExecError::Launch(LaunchError::WarpsTooLarge { .. }))
    ));
    assert!(with_slot(64, 1024).is_ok());

    let mut f = FunctionBuilder::new("many");
    let x = f.param(Type::I8, true);
    fill_bytes(&mut f, x, 65_534);
    f.ret(&[]);
    let launch = Launch::linear(1, 1).with_args(vec![Arg::Uniform(1)]);
    assert!(run(&f.finish(), &launch, &ExecOptions::default()).is_ok());
    let mut f = FunctionBuilder::new("too_many");
    let x = f.param(Type::I8, true);
    fill_bytes(&mut f, x, 65_535);
    f.ret(&[]);
    assert!(matches!(
        run(&f.finish(), &launch, &ExecOptions::default()),
        Err(ExecError::Launch(LaunchError::FunctionTooLarge { .. }))
    ));
}

fn fill_bytes(f: &mut FunctionBuilder, mut x: warpfold_ir::Value, n: u32) {
    for _ in 0..n {
        x = f.ins(Opcode::Bnot, Type::I8, &[x]);
    }
}

/// 32-bit pointers need buffers below 4 GiB; small ones always are.
#[test]
fn narrow_pointers_reach_the_buffers() {
    let mut f = FunctionBuilder::new("narrow");
    let a = f.param(I32, false);
    f.returns(&[I32]);
    let imm = Imm::Mem {
        flags: MemFlags::NONE,
        offset: -4,
    };
    let v = f.push(InstData::new(Opcode::Load, I32, &[a], imm)).unwrap();
    f.ret(&[v]);
    let mut memory = Memory::new();
    let base = memory.add(vec![1, 2, 3, 4], true);
    assert_eq!(base, GLOBAL_BASE);
    let launch = Launch {
        memory,
        ..Launch::linear(1, 1).with_args(vec![Arg::Uniform(u128::from(base + 4))])
    };
    let o = run_launch(&f.finish(), &launch).unwrap();
    assert_eq!(returned(&o), [Some(0x0403_0201)]);
}
