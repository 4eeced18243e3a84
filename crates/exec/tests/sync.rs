//! What lanes see of each other: barriers, shared memory, votes, shuffles.

mod support;
use support::*;
use warpfold_exec::{Arg, ExecError, Launch, Memory, SHARED_BASE, Site};
use warpfold_ir::{
    BlockCall, Function, FunctionBuilder, Guard, Imm, InstData, IntCC, Opcode, Value,
};

fn shared_base(f: &mut FunctionBuilder) -> Value {
    f.push(InstData::new(Opcode::SharedBase, I64, &[], Imm::None))
        .unwrap()
}

/// `BARARM`: `e: br c, a, j | a: 1 alu, bar, 1 alu, jump j | j: ret`.
fn barrier_in_arm(op: Opcode) -> Function {
    let mut f = FunctionBuilder::new("bararm");
    let c = f.param(PRED, true);
    let x = f.param(I32, true);
    f.returns(&[I32]);
    let (a, j) = (f.block(), f.block());
    let y = f.block_param(j, I32);
    f.br(c, a, BlockCall::new(j, &[x]));
    f.switch_to(a);
    let v = fill(&mut f, Opcode::Iadd, 1, x);
    plain(&mut f, op);
    let v = fill(&mut f, Opcode::Iadd, 1, v);
    f.jump(j, &[v]);
    f.switch_to(j);
    f.ret(&[y]);
    f.finish()
}

#[test]
fn a_barrier_needs_every_live_lane_of_the_warp() {
    let f = barrier_in_arm(Opcode::Barrier);
    let o = run_block(&f, 32, vec![pred(32, |_| true), varying(32, |_| 0)]).unwrap();
    assert_eq!(row(&o), [2, 0, 3, 6, 192]);
    assert_eq!(o.counters.barriers, 1);
    for op in [Opcode::Barrier, Opcode::WarpSync] {
        let f = barrier_in_arm(op);
        let args = vec![pred(32, |t| t < 16), varying(32, |_| 0)];
        let Err(ExecError::BarrierDivergence {
            arrived,
            missing,
            site: Site::Inst(at),
            ..
        }) = run_block(&f, 32, args)
        else {
            panic!("no divergence at {op}");
        };
        assert_eq!((arrived, missing), (0x0000_FFFF, 0xFFFF_0000));
        assert_eq!(f.inst(at).op, op);
    }
}

/// Lanes that left are not missing, and whole warps that ended neither.
#[test]
fn lanes_that_left_are_not_missing() {
    let mut f = FunctionBuilder::new("left");
    let gone = f.param(PRED, true);
    exit_if(&mut f, gone, false);
    plain(&mut f, Opcode::Barrier);
    f.ret(&[]);
    let o = run_block(&f.finish(), 96, vec![pred(96, |t| t < 40)]).unwrap();
    assert_eq!(o.counters.barriers, 1);
    assert_eq!(warps(&o), [(1, 32), (3, 32 + 2 * 24), (3, 96)]);
    assert_eq!(lost(&o)[1], 2 * 8);
}

/// Any barrier matches any other of the block.
#[test]
fn different_barriers_match() {
    let mut f = FunctionBuilder::new("any");
    let c = f.param(PRED, true);
    let (a, b, j) = (f.block(), f.block(), f.block());
    f.br(c, a, b);
    for side in [a, b] {
        f.switch_to(side);
        plain(&mut f, Opcode::Barrier);
        f.jump(j, &[]);
    }
    f.switch_to(j);
    f.ret(&[]);
    let o = run_block(&f.finish(), 64, vec![pred(64, |t| t < 32)]).unwrap();
    assert_eq!(o.counters.barriers, 1);
    assert_eq!(row(&o)[3], 8);
}

/// The sum of 256 numbers by halving, in shared memory.
fn reduction() -> Function {
    let mut f = FunctionBuilder::new("reduce");
    let input = f.param(I64, false);
    let output = f.param(I64, false);
    let [h, body, add, next, last, out, end] = std::array::from_fn(|_| f.block());
    let stride = f.block_param(h, I32);
    let base = shared_base(&mut f);
    let tid = f.ins(Opcode::TidX, I32, &[]);
    let block = f.ins(Opcode::CtaidX, I32, &[]);
    let n = f.ins(Opcode::NtidX, I32, &[]);
    let start = f.ins(Opcode::Imul, I32, &[block, n]);
    let index = f.ins(Opcode::Iadd, I32, &[start, tid]);
    let four = f.iconst(I64, 4);
    let at = |f: &mut FunctionBuilder, base: Value, i: Value| {
        let wide = f.ins(Opcode::Uextend, I64, &[i]);
        let offset = f.ins(Opcode::Imul, I64, &[wide, four]);
        f.ins(Opcode::Iadd, I64, &[base, offset])
    };
    let from = at(&mut f, input, index);
    let x = load(&mut f, I32, from, 0);
    let mine = at(&mut f, base, tid);
    store(&mut f, I32, x, mine, 0);
    let one = f.iconst(I32, 1);
    let half = f.ins(Opcode::Ushr, I32, &[n, one]);
    f.jump(h, &[half]);
    f.switch_to(h);
    plain(&mut f, Opcode::Barrier);
    let zero = f.iconst(I32, 0);
    let more = f.icmp(IntCC::Ne, stride, zero);
    f.br(more, body, last);
    f.switch_to(body);
    let busy = f.icmp(IntCC::Ult, tid, stride);
    f.br(busy, add, next);
    f.switch_to(add);
    let far = f.ins(Opcode::Iadd, I32, &[tid, stride]);
    let other = at(&mut f, base, far);
    let a = load(&mut f, I32, mine, 0);
    let b = load(&mut f, I32, other, 0);
    let sum = f.ins(Opcode::Iadd, I32, &[a, b]);
    store(&mut f, I32, sum, mine, 0);
    f.jump(next, &[]);
    f.switch_to(next);
    let halved = f.ins(Opcode::Ushr, I32, &[stride, one]);
    f.jump(h, &[halved]);
    f.switch_to(last);
    let first = f.icmp(IntCC::Eq, tid, zero);
    f.br(first, out, end);
    f.switch_to(out);
    let total = load(&mut f, I32, base, 0);
    let to = at(&mut f, output, block);
    store(&mut f, I32, total, to, 0);
    f.jump(end, &[]);
    f.switch_to(end);
    f.ret(&[]);
    f.finish()
}

#[test]
fn a_reduction_over_shared_memory() {
    let numbers: Vec<i32> = (0..512).map(|i| i * i - 7 * i).collect();
    let mut memory = Memory::new();
    let bytes = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
    let input = memory.add(bytes, true);
    let output = memory.add(vec![0; 8], false);
    let args = vec![
        Arg::Uniform(u128::from(input)),
        Arg::Uniform(u128::from(output)),
    ];
    let launch = Launch {
        shared: 1024,
        memory,
        ..Launch::linear(2, 256).with_args(args)
    };
    let o = run_launch(&reduction(), &launch).unwrap();
    let sums: Vec<i32> = o
        .memory
        .bytes(1)
        .chunks(4)
        .map(|b| i32::from_le_bytes(b.try_into().unwrap()))
        .collect();
    assert_eq!(
        sums,
        [
            numbers[..256].iter().sum::<i32>(),
            numbers[256..].iter().sum()
        ]
    );
    assert_eq!(o.counters.barriers, 2 * 9);
    // 8 warps × 2 blocks; strides 16, 8, 4, 2, 1 split warp 0, and `tid == 0`.
    assert_eq!(o.counters.divergent_branch, 2 * 6);
    assert_eq!(o.counters.global.loads.sectors, 2 * 256 * 4 / 32);
    assert_eq!(o.counters.global.stores.requests, 2);
    assert_eq!(o.counters.shared.stores.requests, 2 * (8 + 4 + 2 + 1 + 5));
    assert_eq!(o.counters.shared.loads.conflicts, 0);
    // Without shared memory every thread traps at its first store there.
    let o = run_launch(
        &reduction(),
        &Launch {
            shared: 0,
            ..launch
        },
    )
    .unwrap();
    assert_eq!(o.traps.len(), 512);
    assert_eq!(o.traps[0].address, Some(SHARED_BASE));
}

/// Shared memory is fresh in each block.
#[test]
fn shared_memory_starts_at_zero_in_every_block() {
    let mut f = FunctionBuilder::new("fresh");
    f.returns(&[I32]);
    let base = shared_base(&mut f);
    let x = load(&mut f, I32, base, 0);
    let one = f.iconst(I32, 1);
    store(&mut f, I32, one, base, 0);
    f.ret(&[x]);
    let launch = Launch {
        shared: 4,
        ..Launch::linear(3, 1)
    };
    let o = run_launch(&f.finish(), &launch).unwrap();
    assert_eq!(returned(&o), [Some(0); 3]);
}

/// One cross-lane instruction under a guard with `else -1`, in an arm.
fn cross(op: Opcode, ty: warpfold_ir::Type, operands: usize) -> Function {
    let mut f = FunctionBuilder::new("cross");
    let c = f.param(PRED, true);
    let g = f.param(PRED, true);
    let p = f.param(PRED, true);
    let x = f.param(I32, true);
    let n = f.param(I32, true);
    f.returns(&[I32]);
    let (a, j) = (f.block(), f.block());
    let y = f.block_param(j, I32);
    let none = f.iconst(I32, -2);
    f.br(c, a, BlockCall::new(j, &[none]));
    f.switch_to(a);
    let (args, otherwise): (Vec<Value>, Value) = match ty {
        PRED => (vec![p], p),
        _ if op == Opcode::Ballot => (vec![p], f.iconst(I32, -1)),
        _ => (vec![x, n][..operands].to_vec(), f.iconst(I32, -1)),
    };
    let guard = Guard {
        pred: g,
        negated: false,
        otherwise: Some(otherwise),
    };
    let r = f
        .push(InstData::new(op, ty, &args, Imm::None).guarded(guard))
        .unwrap();
    let r = match ty {
        PRED => f.ins(Opcode::Bint, I32, &[r]),
        _ => r,
    };
    f.jump(j, &[r]);
    f.switch_to(j);
    f.ret(&[y]);
    f.finish()
}

/// Lanes 0 to 19 are active, of which those divisible by 3 are off; the value
/// is 100 + lane; the predicate holds where bit 1 of the lane is set.
fn cross_run(op: Opcode, ty: warpfold_ir::Type, operands: usize, n: fn(u64) -> i64) -> Vec<i32> {
    let args = vec![
        pred(32, |t| t < 20),
        pred(32, |t| t % 3 != 0),
        pred(32, |t| t & 2 != 0),
        varying(32, |t| 100 + t as i64),
        varying(32, n),
    ];
    let o = run_block(&cross(op, ty, operands), 32, args).unwrap();
    returned(&o).into_iter().map(Option::unwrap).collect()
}

fn expect(on: impl Fn(i32) -> i32, off: impl Fn(i32) -> i32) -> Vec<i32> {
    (0..32)
        .map(|t| match t {
            20.. => -2,
            t if t % 3 == 0 => off(t),
            t => on(t),
        })
        .collect()
}

#[test]
fn only_lanes_that_are_on_take_part() {
    let takes_part = |t: i32| (0..20).contains(&t) && t % 3 != 0;
    let mask: i32 = (0..20).filter(|&t| takes_part(t)).map(|t| 1 << t).sum();
    let votes: i32 = (0..20)
        .filter(|&t| takes_part(t) && t & 2 != 0)
        .map(|t| 1 << t)
        .sum();
    let none = |_| 0;
    let minus = |_| -1;
    assert_eq!(
        cross_run(Opcode::ActiveMask, I32, 0, none),
        expect(|_| mask, minus)
    );
    assert_eq!(
        cross_run(Opcode::Ballot, I32, 1, none),
        expect(|_| votes, minus)
    );
    let own = |t: i32| i32::from(t & 2 != 0);
    assert_eq!(
        cross_run(Opcode::VoteAny, PRED, 1, none),
        expect(|_| 1, own)
    );
    assert_eq!(
        cross_run(Opcode::VoteAll, PRED, 1, none),
        expect(|_| 0, own)
    );
    assert_eq!(
        cross_run(Opcode::ReadFirst, I32, 1, none),
        expect(|_| 101, minus)
    );

    let from = |lane: i32, t: i32| 100 + if takes_part(lane) { lane } else { t };
    let idx = cross_run(Opcode::ShflIdx, I32, 2, |t| 32 + (t as i64 + 5) % 32);
    assert_eq!(idx, expect(|t| from((t + 5) % 32, t), minus));
    assert_eq!(
        cross_run(Opcode::ShflUp, I32, 2, |_| 1),
        expect(|t| from(t - 1, t), minus)
    );
    assert_eq!(
        cross_run(Opcode::ShflDown, I32, 2, |_| 1),
        expect(|t| from(t + 1, t), minus)
    );
    assert_eq!(
        cross_run(Opcode::ShflBfly, I32, 2, |_| 3),
        expect(|t| from(t ^ 3, t), minus)
    );
    for op in [Opcode::ShflUp, Opcode::ShflDown, Opcode::ShflBfly] {
        let far = cross_run(op, I32, 2, |_| -1);
        assert_eq!(far, expect(|t| 100 + t, minus), "{op} by 2³² - 1: its own");
    }
}

#[test]
fn votes_over_agreeing_lanes() {
    let args = |p: fn(u64) -> bool| {
        vec![
            pred(32, |t| t < 20),
            pred(32, |_| true),
            pred(32, p),
            varying(32, |_| 0),
            varying(32, |_| 0),
        ]
    };
    let vote = |op, p| returned(&run_block(&cross(op, PRED, 1), 32, args(p)).unwrap())[7];
    assert_eq!(
        vote(Opcode::VoteAll, |t| t < 20),
        Some(1),
        "others do not count"
    );
    assert_eq!(vote(Opcode::VoteAll, |t| t != 19), Some(0));
    assert_eq!(vote(Opcode::VoteAny, |t| t >= 20), Some(0));
    assert_eq!(vote(Opcode::VoteAny, |t| t == 19), Some(1));
}

#[test]
fn ids_of_a_three_dimensional_launch() {
    use Opcode::*;
    let ids = [
        LaneId, WarpId, TidX, TidY, TidZ, CtaidX, CtaidY, CtaidZ, NtidX, NtidY, NtidZ, NctaidX,
        NctaidY, NctaidZ,
    ];
    let mut f = FunctionBuilder::new("ids");
    f.returns(&[I32; 14]);
    let values: Vec<Value> = ids.iter().map(|&op| f.ins(op, I32, &[])).collect();
    f.ret(&values);
    let launch = Launch {
        grid: [2, 3, 2],
        block: [5, 4, 2],
        ..Launch::linear(1, 1)
    };
    let o = run_launch(&f.finish(), &launch).unwrap();
    let mut thread = 0;
    for block in 0..12u128 {
        for t in 0..40u128 {
            let expected = [
                t % 32,
                t / 32,
                t % 5,
                t / 5 % 4,
                t / 20,
                block % 2,
                block / 2 % 3,
                block / 6,
                5,
                4,
                2,
                2,
                3,
                2,
            ];
            assert_eq!(o.returns.get(thread), Some(&expected[..]));
            thread += 1;
        }
    }
    assert_eq!(o.warps.len(), 24);
    assert_eq!(o.counters.lost.partial, 12 * 15 * 24);
}
