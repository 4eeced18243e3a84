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
