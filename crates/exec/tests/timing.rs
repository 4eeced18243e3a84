//! The model of time: its closed form, what an instruction waits for, and how
//! warps and blocks share a multiprocessor.

mod support;
use support::*;
use warpfold_exec::timing::{LoadLevel, Timing, TimingModel, WarpState};
use warpfold_exec::{
    Arg, ExecError, ExecOptions, Launch, LaunchError, Memory, Mode, SHARED_BASE, run, run_module,
};
use warpfold_ir::{
    CostClass, Function, FunctionBuilder, Guard, Opcode, TrapCode, Type, parse_module,
};
use warpfold_machine::Machine;

const CLASSES: usize = CostClass::ALL.len();

/// One scheduler, every latency `latency`, no intervals, loads 100 cycles,
/// those from shared memory 20, atomics 200.
fn model(latency: u32) -> TimingModel {
    TimingModel {
        schedulers: 1,
        issue_per_cycle: 1,
        resident_warps: 64,
        launch: 0,
        latency: [latency; CLASSES],
        interval: [0; CLASSES],
        assumed: [false; CLASSES],
        shared_load: 20,
        load: 100,
        atomic: 200,
        max_steps: 1 << 20,
    }
}

fn timed_launch(func: &Function, launch: &Launch, model: TimingModel) -> Result<Timing, ExecError> {
    warpfold_ir::verify(func).unwrap();
    let timed_in = |mode| {
        let options = ExecOptions {
            mode,
            timing: Some(model),
            ..ExecOptions::default()
        };
        run(func, launch, &options)
    };
    let o = timed_in(Mode::Stack)?;
    let t = o.timing.unwrap();
    // No lane waits for another here.
    let its = timed_in(Mode::Its)?;
    assert_eq!((its.counters.yields, its.timing.as_ref()), (0, Some(&t)));
    assert_eq!(t.issued, o.counters.inst_executed);
    let slots = t.issue_active + t.no_eligible + t.no_warp;
    assert_eq!(u64::from(t.schedulers) * (t.cycles - t.launch), slots);
    assert_eq!(t.state(WarpState::Selected), t.issue_active);
    Ok(t)
}

fn timed(func: &Function, threads: u32, args: Vec<Arg>, model: TimingModel) -> Timing {
    let launch = Launch::linear(1, threads).with_args(args);
    timed_launch(func, &launch, model).unwrap()
}

/// `n` operations in a chain and a return.
fn chain(n: u32) -> Function {
    let mut b = FunctionBuilder::new("chain");
    let x = b.param(I32, true);
    b.returns(&[I32]);
    let y = fill(&mut b, Opcode::Iadd, n - 1, x);
    b.ret(&[y]);
    b.finish()
}

fn lanes(threads: u64) -> Arg {
    varying(threads, |t| t as i64)
}

#[test]
fn dependent_chains_have_a_closed_form() {
    let n = 25;
    let func = chain(n);
    for latency in [1, 4, 6] {
        for warps in 1..=20u32 {
            let m = TimingModel {
                launch: 60,
                ..model(latency)
            };
            let t = timed(&func, 32 * warps, vec![lanes(32 * u64::from(warps))], m);
            let (n, l, w) = (u64::from(n), u64::from(latency), u64::from(warps));
            let expected = match w <= l {
                true => 60 + n * l + w - 1,
                false => 60 + n * w + l - 1,
            };
            assert_eq!(t.cycles, expected, "latency {l}, {w} warps");
            assert_eq!((t.issue_active, t.launch), (n * w, 60));
        }
    }
}

#[test]
fn independent_instructions_follow_each_other() {
    let mut b = FunctionBuilder::new("independent");
    let x = b.param(I32, true);
    b.returns(&[I32]);
    let y = b.ins(Opcode::Iadd, I32, &[x, x]);
    let z = b.ins(Opcode::Isub, I32, &[x, x]);
    let w = b.ins(Opcode::Bxor, I32, &[x, x]);
    let u = b.ins(Opcode::Iadd, I32, &[y, z]);
    let _ = w;
    b.ret(&[u]);
    let t = timed(&b.finish(), 32, vec![lanes(32)], model(4));
    // Issued at 0, 1, 2, at 5 when z is ready, the return at 9; it ends at 13.
    assert_eq!(t.cycles, 13);
    assert_eq!(t.state(WarpState::Dependency), 2 + 3);
    assert_eq!(t.state(WarpState::Control), 3);
}

/// A guard and an `else` value are operands.
#[test]
fn guards_and_else_values_are_waited_for() {
    for (late_guard, late_else) in [(false, false), (true, false), (false, true)] {
        let mut b = FunctionBuilder::new("guarded");
        let c = b.param(PRED, true);
        let x = b.param(I32, true);
        b.returns(&[I32]);
        let q = b.ins(Opcode::And, PRED, &[c, c]);
        let y = b.ins(Opcode::Iadd, I32, &[x, x]);
        b.set_guard(Some(Guard {
            pred: if late_guard { q } else { c },
            negated: false,
            otherwise: Some(if late_else { y } else { x }),
        }));
        let z = b.ins(Opcode::Isub, I32, &[x, x]);
        b.set_guard(None);
        b.ret(&[z]);
        let args = vec![pred(32, |t| t < 16), lanes(32)];
        let t = timed(&b.finish(), 32, args, model(10));
        let issued_at = match (late_guard, late_else) {
            (true, _) => 10,
            (_, true) => 11,
            _ => 2,
        };
        assert_eq!(t.cycles, issued_at + 10 + 10, "{late_guard} {late_else}");
    }
}

/// A block parameter is as late as the argument of the edge that was taken.
#[test]
fn block_parameters_wait_for_their_arguments() {
    let mut b = FunctionBuilder::new("moves");
    let a = b.param(I64, true);
    let c = b.param(PRED, true);
    let x = b.param(I32, true);
    b.returns(&[I32]);
    let [arm, other, join] = [b.block(), b.block(), b.block()];
    let y = b.block_param(join, I32);
    let v = load(&mut b, I32, a, 0);
    b.br(c, arm, other);
    b.switch_to(arm);
    b.jump(join, &[v]);
    b.switch_to(other);
    b.jump(join, &[x]);
    b.switch_to(join);
    let z = b.ins(Opcode::Iadd, I32, &[y, y]);
    b.ret(&[z]);
    let func = b.finish();
    let cycles = |lanes_of_v: u64| {
        let mut memory = Memory::new();
        let base = memory.add(vec![0; 128], false);
        let args = vec![
            varying(32, |t| (base + 4 * t) as i64),
            pred(32, |t| t < lanes_of_v),
            lanes(32),
        ];
        let launch = Launch {
            memory,
            ..Launch::linear(1, 32).with_args(args)
        };
        timed_launch(&func, &launch, model(4)).unwrap()
    };
    // Load 0, branch 1, jump 5, and then the sum at 9, the return at 13.
    assert_eq!(cycles(0).cycles, 17);
    // The sum waits for the load until 100.
    assert_eq!(cycles(32).cycles, 108);
    // Split: a third block, 13 until the sum could issue; it waits as well.
    let split = cycles(7);
    assert_eq!(split.cycles, 108);
    assert_eq!(split.state(WarpState::Memory), 100 - 13);
}

/// All parameters of a block are moved at once: what comes into the first one
/// does not pass on to the second.
#[test]
fn moves_of_an_edge_are_parallel() {
    let mut b = FunctionBuilder::new("shift");
    let x = b.param(I32, true);
    let yes = b.param(PRED, true);
    let no = b.param(PRED, true);
    b.returns(&[I32]);
    let [round, end] = [b.block(), b.block()];
    let first = b.block_param(round, I32);
    let second = b.block_param(round, I32);
    let again = b.block_param(round, PRED);
    let slow = b.ins(Opcode::Imul, I32, &[x, x]);
    b.jump(round, &[x, x, yes]);
    b.switch_to(round);
    let back = warpfold_ir::BlockCall::new(round, &[slow, first, no]);
    b.br(again, back, end);
    b.switch_to(end);
    let t = b.ins(Opcode::Iadd, I32, &[second, second]);
    b.ret(&[t]);
    let mut m = model(1);
    m.latency[CostClass::Mul.index()] = 50;
    let args = vec![lanes(32), pred(32, |_| true), pred(32, |_| false)];
    let t = timed(&b.finish(), 32, args, m);
    assert_eq!(t.cycles, 6, "mul, jump, br, br, add, ret");
}

#[test]
fn branches_wait_for_their_condition() {
    let mut b = FunctionBuilder::new("branch");
    let x = b.param(I32, true);
    let [arm, join] = [b.block(), b.block()];
    let q = b.icmp(warpfold_ir::IntCC::Slt, x, x);
    b.br(q, arm, join);
    b.switch_to(arm);
    b.jump(join, &[]);
    b.switch_to(join);
    b.ret(&[]);
    let mut m = model(4);
    m.latency[CostClass::Pred.index()] = 30;
    let t = timed(&b.finish(), 32, vec![lanes(32)], m);
    assert_eq!(t.cycles, 30 + 4 + 4);
}

#[test]
fn loads_wait_by_where_their_data_is() {
    let cycles = |shared: bool, on: bool, op: Opcode| {
        let mut b = FunctionBuilder::new("load");
        let a = b.param(I64, true);
        let c = b.param(PRED, true);
        let x = b.param(I32, true);
        b.returns(&[I32]);
        b.set_guard(Some(Guard {
            pred: c,
            negated: false,
            otherwise: Some(x),
        }));
        let imm = warpfold_ir::Imm::Mem {
            flags: warpfold_ir::MemFlags::NONE,
            offset: 0,
        };
        let args: &[_] = if op == Opcode::Load { &[a] } else { &[x, a] };
        let v = b
            .push(warpfold_ir::InstData::new(op, I32, args, imm))
            .unwrap();
        b.set_guard(None);
        b.ret(&[v]);
        let mut memory = Memory::new();
        let base = memory.add(vec![0; 128], false);
        let base = if shared { SHARED_BASE } else { base };
        let args = vec![
            varying(32, |t| (base + 4 * t) as i64),
            pred(32, |_| on),
            lanes(32),
        ];
        let launch = Launch {
            memory,
            shared: 128,
            ..Launch::linear(1, 32).with_args(args)
        };
        timed_launch(&b.finish(), &launch, model(4)).unwrap().cycles
    };
    assert_eq!(cycles(false, true, Opcode::Load), 100 + 4);
    assert_eq!(cycles(true, true, Opcode::Load), 20 + 4);
    assert_eq!(cycles(true, false, Opcode::Load), 4 + 4, "nobody asks");
    assert_eq!(cycles(false, true, Opcode::AtomicAdd), 200 + 4);
    assert_eq!(cycles(true, true, Opcode::AtomicAdd), 20 + 4);
}

/// Double-precision operations that hold their pipe for 8 cycles, one of which
/// shares it with a division.
#[test]
fn intervals_hold_pipes() {
    let func = |second: Opcode| {
        let mut b = FunctionBuilder::new("pipes");
        let x = b.param(Type::F64, true);
        b.returns(&[Type::F64, Type::F64]);
        let y = b.ins(Opcode::Fadd, Type::F64, &[x, x]);
        let z = b.ins(second, Type::F64, &[x, x]);
        b.ret(&[y, z]);
        b.finish()
    };
    let mut m = model(4);
    m.interval[CostClass::Fp64.index()] = 8;
    m.interval[CostClass::Fp64Div.index()] = 8;
    let args = || vec![varying(32, |_| 0)];
    // Issued at 0 and 8, the return at 12.
    let t = timed(&func(Opcode::Fmul), 32, args(), m);
    assert_eq!((t.cycles, t.state(WarpState::Throughput)), (16, 7));
    let shared = timed(&func(Opcode::Fdiv), 32, args(), m);
    assert_eq!(shared.cycles, 16);
    // Another scheduler has pipes of its own.
    let two = TimingModel { schedulers: 2, ..m };
    let t = timed(&func(Opcode::Fmul), 64, vec![varying(64, |_| 0)], two);
    assert_eq!(t.cycles, 16);
    let one = timed(&func(Opcode::Fmul), 64, vec![varying(64, |_| 0)], m);
    assert_eq!(one.cycles, 24 + 4 + 4, "0, 8, 16, 24");
}

/// Warp 0 takes a long way to the barrier, warp 1 a short one; warp 2 ends
/// before it.
#[test]
fn barriers_wait_for_the_last_warp() {
    let mut b = FunctionBuilder::new("barrier");
    let long = b.param(PRED, true);
    let out = b.param(PRED, true);
    let x = b.param(I32, true);
    let [arm, join] = [b.block(), b.block()];
    exit_if(&mut b, out, false);
    b.br(long, arm, join);
    b.switch_to(arm);
    let y = fill(&mut b, Opcode::Iadd, 10, x);
    let _ = y;
    b.jump(join, &[]);
    b.switch_to(join);
    plain(&mut b, Opcode::Barrier);
    b.ret(&[]);
    let func = b.finish();
    let args = vec![
        pred(96, |t| t < 32),
        pred(96, |t| t >= 64),
        varying(96, |t| t as i64),
    ];
    let m = TimingModel {
        schedulers: 3,
        ..model(4)
    };
    let t = timed(&func, 96, args, m);
    // Warp 0: exit 0, branch 4, ten operations 8 to 44, jump 45, barrier 49,
    // complete at 53; both return then and end at 57. Warp 1 waits at the
    // barrier from 9 to 53.
    assert_eq!(t.cycles, 57);
    assert_eq!(t.state(WarpState::Barrier), (53 - 9) + (53 - 50));
    assert_eq!(t.no_warp, 57 - 4, "the scheduler of warp 2");
}

/// The last warp to be missing at a barrier ends instead of coming.
#[test]
fn the_end_of_a_warp_completes_a_barrier() {
    let mut b = FunctionBuilder::new("gone");
    let away = b.param(PRED, true);
    let x = b.param(I32, true);
    b.returns(&[I32]);
    let [long, wait] = [b.block(), b.block()];
    b.br(away, long, wait);
    b.switch_to(long);
    let y = fill(&mut b, Opcode::Iadd, 10, x);
    b.ret(&[y]);
    b.switch_to(wait);
    plain(&mut b, Opcode::Barrier);
    b.ret(&[x]);
    let m = TimingModel {
        schedulers: 2,
        ..model(4)
    };
    let args = vec![pred(64, |t| t < 32), lanes(64)];
    let t = timed(&b.finish(), 64, args, m);
    // Warp 0: branch 0, ten operations 4 to 40, return 44, ends at 48. Warp 1:
    // branch 0, barrier 4, return 48.
    assert_eq!(t.cycles, 52);
    assert_eq!(t.state(WarpState::Barrier), 48 - 5);
}

#[test]
fn blocks_are_placed_as_room_appears() {
    let func = chain(10);
    let cycles = |blocks: u32, threads: u32, room: u32| {
        let total = u64::from(blocks) * u64::from(threads);
        let launch = Launch::linear(blocks, threads).with_args(vec![lanes(total)]);
        let m = TimingModel {
            resident_warps: room,
            ..model(4)
        };
        timed_launch(&func, &launch, m)
    };
    let t = cycles(1, 32, 4).unwrap();
    assert_eq!((t.cycles, t.resident_blocks), (40, 1));
    // Four at once in a cycle each; then one more.
    let t = cycles(4, 32, 4).unwrap();
    assert_eq!((t.cycles, t.resident_blocks), (43, 4));
    let t = cycles(5, 32, 4).unwrap();
    assert_eq!((t.cycles, t.resident_blocks), (80, 4));
    // Blocks of three warps: one at a time, whoever ends first.
    let t = cycles(2, 96, 4).unwrap();
    assert_eq!((t.cycles, t.resident_blocks), (84, 1));
    assert_eq!(t.occupancy().map(f64::round), Some(73.0));
    let e = cycles(1, 160, 4).unwrap_err();
    let not_resident = LaunchError::NotResident { warps: 5, room: 4 };
    assert_eq!(e, ExecError::Launch(not_resident));
}

#[test]
fn schedulers_share_the_warps() {
    let func = chain(10);
    for (schedulers, warps, expected) in [(1, 8, 83), (2, 8, 43), (4, 8, 41), (4, 1, 40)] {
        let m = TimingModel {
            schedulers,
            ..model(4)
        };
        let args = vec![lanes(32 * u64::from(warps))];
        let t = timed(&func, 32 * warps, args, m);
        assert_eq!(t.cycles, expected, "{schedulers} schedulers, {warps} warps");
    }
}

/// Two per cycle: pairs of independent operations, not of dependent ones.
#[test]
fn several_issues_per_cycle() {
    let two = TimingModel {
        issue_per_cycle: 2,
        ..model(4)
    };
    let t = timed(&chain(10), 32, vec![lanes(32)], two);
    assert_eq!((t.cycles, t.issue_active), (40, 10));
    let mut b = FunctionBuilder::new("pairs");
    let x = b.param(I32, true);
    for _ in 0..5 {
        b.ins(Opcode::Iadd, I32, &[x, x]);
    }
    b.ret(&[]);
    let func = b.finish();
    // Three pairs, the last with the return.
    let t = timed(&func, 32, vec![lanes(32)], two);
    assert_eq!((t.cycles, t.issue_active, t.issued), (2 + 4, 3, 6));
    let t = timed(&func, 32, vec![lanes(32)], model(4));
    assert_eq!((t.cycles, t.issue_active), (5 + 4, 6));
}

/// Lanes that trap in the middle of a block issue nothing behind it.
#[test]
fn what_a_trap_cuts_off_takes_no_time() {
    let mut b = FunctionBuilder::new("trap");
    let x = b.param(I32, true);
    let y = b.param(I32, true);
    b.returns(&[I32]);
    let z = b.ins(Opcode::Udiv, I32, &[x, y]);
    let w = fill(&mut b, Opcode::Iadd, 20, z);
    b.ret(&[w]);
    let func = b.finish();
    let run = |zeros: u64| {
        let args = vec![lanes(64), varying(64, |t| i64::from(t >= zeros))];
        timed(&func, 64, args, model(4))
    };
    assert_eq!(run(0).issued, 44);
    assert_eq!(run(16).issued, 44, "some of a warp go on");
    let t = run(32);
    assert_eq!((t.issued, t.cycles), (1 + 22, 1 + 22 * 4));
    assert_eq!(run(64).issued, 2);
    let _ = TrapCode::IntegerDivisionByZero;
}

/// A loop of 10 rounds takes two stretches and an edge a round; two blocks of
/// one warp are resident.
#[test]
fn long_ways_are_refused() {
    let func = counted_loop(1);
    let run = |max_steps| {
        let m = TimingModel {
            max_steps,
            resident_warps: 2,
            ..model(4)
        };
        let launch = Launch::linear(5, 32).with_args(vec![varying(160, |_| 10), lanes(160)]);
        timed_launch(&func, &launch, m)
    };
    let one_warp = (1 + 11 + 10 + 1) + (1 + 10);
    assert!(run(2 * one_warp).is_ok(), "{:?}", run(2 * one_warp).err());
    let limit = 2 * one_warp - 1;
    assert_eq!(run(limit), Err(ExecError::TimingLimit { limit }));
}

#[test]
fn machines_order_the_same_launch() {
    let func = ifz(40, 60, 5);
    let cycles = |name: &str, level| {
        let machine = Machine::builtin(name).unwrap();
        let m = TimingModel::new(&machine, level).unwrap();
        let args = vec![pred(64, |t| t % 2 == 0), lanes(64)];
        let t = timed(&func, 64, args, m);
        (t.cycles, t.assumed)
    };
    let (pascal, assumed) = cycles("pascal", LoadLevel::L1);
    let (hopper, _) = cycles("hopper", LoadLevel::L1);
    // 109 issues, each waiting for the one before, but for the jumps of the two
    // arms: they issue a cycle after the last operation, on Pascal with it.
    assert_eq!((pascal, hopper), (109 * 6 - 2 * 6, 109 * 4 - 2 * 3));
    assert_eq!(
        assumed,
        [CostClass::Branch, CostClass::Jump, CostClass::Ctl]
    );
}

/// A kernel in text, in ITS mode.
fn independently(text: &str, launch: &Launch) -> Timing {
    let m = parse_module(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    warpfold_ir::verify_module(&m).unwrap();
    let options = ExecOptions {
        mode: Mode::Its,
        timing: Some(model(4)),
        ..ExecOptions::default()
    };
    let o = run_module(&m, &m.functions[0].name, launch, &options).unwrap();
    let t = o.timing.unwrap();
    assert_eq!(t.issued, o.counters.inst_executed);
    t
}

/// A lock that two lanes want: what the groups of a warp do follows in one order, and a
/// yield is an issue that the warp waits for like a branch.
#[test]
fn groups_of_a_warp_take_turns() {
    let mut memory = Memory::new();
    let lock = memory.add(vec![0; 8], false);
    let launch = Launch {
        memory,
        ..Launch::linear(1, 2).with_args(vec![Arg::Uniform(lock.into())])
    };
    let t = independently(
        "
function %lock(i64) {
block0(v0: i64):
    v1 = const.i32 0
    v2 = const.i32 1
    jump block1

block1:
    v3 = atomic_cas.i32 v1, v2, v0
    v4 = icmp.i32 ne v3, v1
    br v4, block1, block2

block2:
    v5 = atomic_add.i32 v2, v0+4
    v6 = atomic_xchg.i32 v1, v0
    ret
}",
        &launch,
    );
    // The jump at 0, the swap at 4, the comparison at 204, the branch at 208, the yield
    // of lane 1 at 212. Lane 0 then: 216, 217 and its end at 218. Lane 1 again: the swap
    // at 222, 422, 426, and 430 to 432; it is over at 436.
    assert_eq!(t.cycles, 436);
    assert_eq!(t.issue_active, 1 + 3 + 1 + 3 + 3 + 3);
    assert_eq!(t.state(WarpState::Memory), 2 * 199);
    // After the comparisons; the jump, branches, yield and ends.
    assert_eq!(t.state(WarpState::Dependency), 2 * 3);
    assert_eq!(t.state(WarpState::Control), 6 * 3);
}

/// Each side of a branch comes to a barrier of its own; the warp waits when both have.
#[test]
fn a_warp_waits_at_a_barrier_when_its_last_group_does() {
    let text = "
function %k(pred varying) {
block0(v0: pred):
    br v0, block1, block2

block1:
    barrier
    jump block3

block2:
    barrier
    jump block3

block3:
    ret
}";
    let half = |n: u64| vec![pred(n, |t| t % 2 == 0)];
    let t = independently(text, &Launch::linear(1, 32).with_args(half(32)));
    // The branch at 0, barriers at 4 and 5, complete at 9; jumps at 9 and 13, the
    // return at 17.
    assert_eq!(t.cycles, 21);
    assert_eq!(t.state(WarpState::Barrier), 3);
    // Two warps: branches at 0 and 1, barriers at 4 and 5 of the one and the other by
    // turns up to 7, complete at 11.
    let t = independently(text, &Launch::linear(1, 64).with_args(half(64)));
    assert_eq!(t.cycles, 11 + 12 + 1);
    assert_eq!(t.state(WarpState::Barrier), 4 + 3);
}
