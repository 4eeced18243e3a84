//! Independent thread scheduling: waits, yields, releases, and that kernels without
//! waits cost what they cost on the stack.

use warpfold_exec::{Arg, ExecError, ExecOptions, Launch, Memory, Mode, Outcome, run_module};
use warpfold_ir::{CounterClass, Module, parse_module, verify_module};

fn module(text: &str) -> Module {
    let module = parse_module(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    verify_module(&module).unwrap_or_else(|e| panic!("{e}"));
    module
}

fn run(m: &Module, launch: &Launch, mode: Mode) -> Result<Outcome, ExecError> {
    let options = ExecOptions {
        mode,
        step_limit: 1_000_000,
        ..ExecOptions::default()
    };
    let plain = run_module(m, &m.functions[0].name, launch, &options);
    let recorded = ExecOptions {
        timeline: true,
        profile: true,
        events: true,
        ..options
    };
    let full = run_module(m, &m.functions[0].name, launch, &recorded);
    match (&plain, &full) {
        (Ok(plain), Ok(full)) => {
            assert_eq!(plain.counters, full.counters, "records change nothing");
            let timeline = full.timeline.as_ref().unwrap();
            assert_eq!(timeline.issues.len() as u64, full.counters.inst_executed);
            let lanes: u64 = (timeline.issues.iter())
                .map(|i| u64::from(i.mask.count_ones()))
                .sum();
            assert_eq!(lanes, full.counters.thread_inst_executed);
        }
        (a, b) => assert_eq!(a.as_ref().err(), b.as_ref().err()),
    }
    full
}

/// Buffers, each of which is an argument.
fn buffers(sizes: &[usize], args: Vec<Arg>, blocks: u32, threads: u32) -> Launch {
    let mut memory = Memory::new();
    let mut all: Vec<Arg> = (sizes.iter())
        .map(|&n| Arg::Uniform(memory.add(vec![0; n], false).into()))
        .collect();
    all.extend(args);
    Launch {
        memory,
        ..Launch::linear(blocks, threads).with_args(all)
    }
}

fn words(o: &Outcome, buffer: usize) -> Vec<u32> {
    let bytes = o.memory.bytes(buffer).chunks(4);
    bytes
        .map(|b| u32::from_le_bytes(b.try_into().unwrap()))
        .collect()
}

/// A lock in front of a counter.
const LOCK: &str = "
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
}";

#[test]
fn a_spin_lock_within_a_warp_needs_yields() {
    let m = module(LOCK);
    let launch = buffers(&[8], vec![], 1, 32);
    let Err(ExecError::NoProgress { block, mask, .. }) = run(&m, &launch, Mode::Stack) else {
        panic!("the lanes without the lock spin for ever");
    };
    assert_eq!((block, mask), (m.functions[0].layout[1], 0xFFFF_FFFE));

    let o = run(&m, &launch, Mode::Its).unwrap();
    assert_eq!(words(&o, 0), [0, 32], "free, and counted to 32");
    let c = &o.counters;
    assert_eq!((c.yields, c.joins_early, c.joins_on_time), (31, 31, 0));
    assert_eq!((c.inst_executed, c.thread_inst_executed), (224, 2208));
    assert_eq!(c.counter_class(CounterClass::Ctl), 96);
    assert_eq!((c.lost.exited, c.lost.diverged), (3441, 1519));
    assert_eq!(c.max_barrier_depth, 1);
}

/// A lock that a callee takes, and another one gives back.
const LOCK_BY_CALLS: &str = "
function %main(i64) {
    fn0 = %try(i64) -> i32
    fn1 = %add(i64)
block0(v0: i64):
    v1 = const.i32 0
    jump block1

block1:
    v2 = call fn0(v0)
    v3 = icmp.i32 ne v2, v1
    br v3, block1, block2

block2:
    call fn1(v0)
    ret
}
function %try(i64) -> i32 {
block0(v0: i64):
    v1 = const.i32 0
    v2 = const.i32 1
    v3 = atomic_cas.i32 v1, v2, v0
    ret v3
}
function %add(i64) {
block0(v0: i64):
    v1 = const.i32 0
    v2 = const.i32 1
    v3 = atomic_add.i32 v2, v0+4
    v4 = atomic_xchg.i32 v1, v0
    ret
}";

/// The same with the loop in the callee, so that lanes yield in its frame, and with
/// slots in both frames.
const LOCK_IN_A_CALLEE: &str = "
function %main(i64, i32 varying) -> i32 {
    ss0 = slot 8, align 8
    fn0 = %locked(i64, i64) -> i32
block0(v0: i64, v1: i32):
    v2 = stack_addr.i64 ss0
    store.i32 v1, v2
    v3 = call fn0(v0, v2)
    v4 = load.i32 v2
    v5 = iadd.i32 v3, v4
    ret v5
}
function %locked(i64, i64) -> i32 {
    ss0 = slot 8, align 8
    fn0 = %twice(i64) -> i32
block0(v0: i64, v1: i64):
    v2 = const.i32 0
    v3 = const.i32 1
    v4 = load.i32 v1
    v5 = stack_addr.i64 ss0
    store.i32 v4, v5
    jump block1

block1:
    v6 = atomic_cas.i32 v2, v3, v0
    v7 = icmp.i32 ne v6, v2
    br v7, block1, block2

block2:
    v8 = atomic_add.i32 v3, v0+4
    v9 = call fn0(v5)
    v10 = atomic_xchg.i32 v2, v0
    store.i32 v9, v1
    v11 = load.i32 v5
    ret v11
}
function %twice(i64) -> i32 {
    ss0 = slot 8, align 8
block0(v0: i64):
    v1 = load.i32 v0
    v2 = stack_addr.i64 ss0
    store.i32 v1, v2
    v3 = load.i32 v2
    v4 = iadd.i32 v3, v1
    ret v4
}";

#[test]
fn locks_across_calls() {
    let m = module(LOCK_BY_CALLS);
    let launch = buffers(&[8], vec![], 1, 32);
    assert!(matches!(
        run(&m, &launch, Mode::Stack),
        Err(ExecError::NoProgress {
            mask: 0xFFFF_FFFE,
            ..
        })
    ));
    let o = run(&m, &launch, Mode::Its).unwrap();
    assert_eq!(words(&o, 0), [0, 32]);
    assert_eq!((o.counters.yields, o.counters.joins_early), (31, 31));
    // Every call is a join: 32 rounds of %try, 32 calls of %add.
    assert_eq!(o.counters.joins_on_time, 32 + 32);

    let m = module(LOCK_IN_A_CALLEE);
    let lanes: Vec<u128> = (0..64).map(|t| 3 * t + 1).collect();
    let launch = buffers(&[8], vec![Arg::Varying(lanes.clone())], 1, 64);
    let o = run(&m, &launch, Mode::Its).unwrap();
    assert_eq!(words(&o, 0), [0, 64]);
    // Its own slot of %locked, and twice that in the slot of %main.
    for (t, n) in lanes.iter().enumerate() {
        assert_eq!(o.returns.get(t), Some(&[3 * n][..]), "thread {t}");
    }
    // In each warp the first lane comes back from %locked early, and from then on
    // nobody is waited for there.
    assert_eq!(o.counters.joins_early, 2 * (31 + 1));
    assert_eq!(o.counters.joins_on_time, 2 * 32);
    assert_eq!(o.counters.max_call_depth, 3);
}

const BARRIER_IN_ARM: &str = "
function %k(pred varying) {
block0(v0: pred):
    br v0, block1, block2

block1:
    barrier
    jump block2

block2:
    ret
}";

fn even_lanes(t: u128) -> u128 {
    u128::from(t.is_multiple_of(2))
}

#[test]
fn a_barrier_in_one_side_is_reported_in_both_modes() {
    for op in ["barrier", "warp_sync"] {
        let m = module(&BARRIER_IN_ARM.replace("barrier", op));
        let args = vec![Arg::Varying((0..64).map(even_lanes).collect())];
        let launch = Launch::linear(1, 64).with_args(args);
        for mode in Mode::ALL {
            let Err(ExecError::BarrierDivergence {
                arrived,
                missing,
                site,
                warp,
                ..
            }) = run(&m, &launch, mode)
            else {
                panic!("no divergence at {op}, {mode} mode");
            };
            assert_eq!((arrived, missing), (0x5555_5555, 0xAAAA_AAAA));
            assert_eq!(warp, 0);
            let func = &m.functions[0];
            let at = func.block(func.layout[1]).insts[0];
            assert_eq!(site, warpfold_exec::Site::Inst(at));
        }
    }
}

/// Barriers in both sides: each is reached by half of the lanes.
#[test]
fn lanes_arrive_at_a_barrier_one_group_after_another() {
    let text = "
function %k(i64, pred varying, i32 varying) {
block0(v0: i64, v1: pred, v2: i32):
    v3 = const.i32 0
    br v1, block1, block2

block1:
    v4 = const.i32 1
    v5 = atomic_add.i32 v4, v0
    OP
    jump block3

block2:
    v6 = const.i32 256
    v7 = atomic_add.i32 v6, v0
    OP
    jump block3

block3:
    v8 = load.i32 v0
    v9 = const.i64 4
    v10 = uextend.i64 v2
    v11 = imul.i64 v10, v9
    v12 = iadd.i64 v11, v0
    store.i32 v8, v12+4
    ret
}";
    for (op, threads) in [("barrier", 96), ("warp_sync", 32)] {
        let m = module(&text.replace("OP", op));
        let n = threads as usize;
        let even = Arg::Varying((0..threads.into()).map(even_lanes).collect());
        let tid = Arg::Varying((0..threads.into()).collect());
        let launch = buffers(&[4 + 4 * n], vec![even, tid], 1, threads);
        assert!(matches!(
            run(&m, &launch, Mode::Stack),
            Err(ExecError::BarrierDivergence {
                arrived: 0x5555_5555,
                ..
            })
        ));
        let o = run(&m, &launch, Mode::Its).unwrap();
        let half = threads / 2;
        assert!(words(&o, 0).iter().all(|&w| w == half + 256 * half), "{op}");
        let warps = u64::from(threads / 32);
        let c = &o.counters;
        assert_eq!(c.barriers, u64::from(op == "barrier"));
        assert_eq!((c.joins_on_time, c.yields), (warps, 0));
        // Access, barrier and jump of each side.
        assert_eq!(c.lost.diverged, warps * 2 * 16 * 3);
    }
}

/// One warp waits for another: the yielding one lets it run.
#[test]
fn warps_give_way_to_each_other() {
    let text = "
function %k(i64) {
block0(v0: i64):
    v1 = warp_id.i32
    v2 = const.i32 0
    v3 = icmp.i32 eq v1, v2
    br v3, block1, block2

block1:
    v4 = load.i32 v0
    v5 = icmp.i32 eq v4, v2
    br v5, block1, block3

block2:
    v6 = const.i32 7
    store.i32 v6, v0
    jump block3

block3:
    ret
}";
    let m = module(text);
    let launch = buffers(&[4], vec![], 1, 64);
    // On the stack a warp runs until it ends.
    assert!(matches!(
        run(&m, &launch, Mode::Stack),
        Err(ExecError::StepLimit { warp: 0, .. })
    ));
    let o = run(&m, &launch, Mode::Its).unwrap();
    assert_eq!(o.counters.yields, 1);
    // Alone it waits in vain.
    let launch = buffers(&[4], vec![], 1, 32);
    assert!(matches!(
        run(&m, &launch, Mode::Its),
        Err(ExecError::NoProgress { mask: u32::MAX, .. })
    ));
}

/// A wait that nobody ends is noticed, whatever the lanes are doing.
#[test]
fn waits_in_vain_end() {
    let text = "
function %k(i64, pred varying) {
    fn0 = %wait(i64)
block0(v0: i64, v1: pred):
    v2 = const.i32 1
    store.i32 v2, v0+4
    br v1, block1, block2

block1:
    call fn0(v0)
    jump block3

block2:
    v3 = load.i32 v0
    v4 = const.i32 5
    v5 = icmp.i32 ne v3, v4
    br v5, block2, block3

block3:
    ret
}
function %wait(i64) {
block0(v0: i64):
    jump block1

block1:
    v1 = load.i32 v0
    v2 = const.i32 5
    v3 = icmp.i32 ne v1, v2
    br v3, block1, block2

block2:
    ret
}";
    let m = module(text);
    let args = vec![Arg::Varying((0..32).map(even_lanes).collect())];
    let launch = buffers(&[8], args, 1, 32);
    let Err(ExecError::NoProgress { mask, .. }) = run(&m, &launch, Mode::Its) else {
        panic!("both groups spin for ever");
    };
    assert!(mask == 0x5555_5555 || mask == 0xAAAA_AAAA);
}

/// Lanes that were dropped from a join go on alone, and meet the others at the next one.
#[test]
fn dropped_lanes_meet_again_further_out() {
    let text = "
function %k(i64, i32 varying) -> i32 {
block0(v0: i64, v1: i32):
    v2 = const.i32 0
    v3 = const.i32 1
    v4 = const.i32 16
    v5 = icmp.i32 ult v1, v4
    br v5, block1, block5(v2)

block1:
    v6 = atomic_cas.i32 v2, v3, v0
    v7 = icmp.i32 ne v6, v2
    br v7, block1, block2

block2:
    v8 = atomic_add.i32 v3, v0+4
    v9 = atomic_xchg.i32 v2, v0
    v10 = active_mask.i32
    jump block5(v10)

block5(v11: i32):
    ret v11
}";
    let m = module(text);
    let lanes = Arg::Varying((0..32).collect());
    let o = run(&m, &buffers(&[8], vec![lanes], 1, 32), Mode::Its).unwrap();
    assert_eq!(words(&o, 0), [0, 16]);
    for t in 0..32 {
        let alone = if t < 16 { 1 << t } else { 0 };
        assert_eq!(o.returns.get(t), Some(&[alone][..]));
    }
    let c = &o.counters;
    // In each of 15 rounds one lane leaves the loop's join and, but for the last, the
    // join of the outer branch too.
    assert_eq!((c.yields, c.max_barrier_depth), (15, 2));
    assert_eq!(c.joins_early, 15 + 1);
    assert_eq!(c.joins_on_time, 0);
}
