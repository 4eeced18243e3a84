//! `warp_sync` with masks: who waits for whom, in both modes, and what ends the run.

use warpfold_exec::{
    Arg, CheckError, Checks, ExecError, ExecOptions, Launch, Memory, Mode, Outcome, PoisonUse,
    Site, run_checked,
};
use warpfold_ir::{CostClass, Function, Module, Opcode, parse_module, verify_module};

fn module(text: &str) -> Module {
    let module = parse_module(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    verify_module(&module).unwrap_or_else(|e| panic!("{e}"));
    module
}

/// Runs with every record, and again under the checks of poison and races, which must
/// change nothing.
fn run(m: &Module, launch: &Launch, mode: Mode) -> Result<Outcome, ExecError> {
    let functions: Vec<&Function> = m.functions.iter().collect();
    let options = ExecOptions {
        mode,
        step_limit: 1_000_000,
        timeline: true,
        events: true,
        profile: true,
        ..ExecOptions::default()
    };
    let plain = run_checked(&functions, 0, launch, &options, &Checks::NONE);
    let checks = Checks {
        poison: true,
        races: true,
        ..Checks::NONE
    };
    let mut checked = run_checked(&functions, 0, launch, &options, &checks);
    if let Ok(o) = &mut checked {
        assert!(o.checked.take().is_some());
        assert!(o.counters.lanes_add_up());
        let timeline = o.timeline.as_ref().unwrap();
        assert_eq!(timeline.issues.len() as u64, o.counters.inst_executed);
        let lanes = timeline
            .issues
            .iter()
            .map(|i| u64::from(i.mask.count_ones()));
        assert_eq!(lanes.sum::<u64>(), o.counters.thread_inst_executed);
        assert!(timeline.issues.iter().all(|i| i.mask != 0));
    }
    match (&plain, &checked) {
        (Ok(a), Ok(b)) => assert_eq!(a, b),
        (a, b) => assert_eq!(a.as_ref().err(), b.as_ref().err()),
    }
    plain
}

fn by_thread(threads: u64, f: impl Fn(u64) -> u32) -> Arg {
    Arg::Varying((0..threads).map(|t| f(t).into()).collect())
}

fn launch(threads: u32, args: Vec<Arg>) -> Launch {
    Launch::linear(1, threads).with_args(args)
}

/// One buffer of so many words, the first argument; the others follow.
fn with_buffer(words: usize, threads: u32, args: Vec<Arg>) -> Launch {
    let mut memory = Memory::new();
    let mut all = vec![Arg::Uniform(memory.add(vec![0; 4 * words], false).into())];
    all.extend(args);
    Launch {
        memory,
        ..launch(threads, all)
    }
}

fn words(o: &Outcome) -> Vec<u32> {
    let bytes = o.memory.bytes(0).chunks(4);
    bytes
        .map(|b| u32::from_le_bytes(b.try_into().unwrap()))
        .collect()
}

/// Lanes and masks of a [`BarrierDivergence`](ExecError::BarrierDivergence) at a
/// `warp_sync`.
#[track_caller]
fn divergence(m: &Module, result: Result<Outcome, ExecError>) -> (u32, u32) {
    match result {
        Err(ExecError::BarrierDivergence {
            arrived,
            missing,
            site: Site::Inst(at),
            function,
            origin,
            ..
        }) => {
            let inst = m.functions[function].inst(at);
            assert_eq!(inst.op, Opcode::WarpSync);
            assert_eq!(inst.origin, origin);
            (arrived, missing)
        }
        other => panic!("{other:?}"),
    }
}

/// All lanes come to one `warp_sync`, each with its mask.
const TOGETHER: &str = "
function %k(i32 varying) -> i32 {
block0(v0: i32):
    warp_sync v0 @3:7
    v1 = active_mask
    ret v1
}";

#[test]
fn lanes_that_come_together_need_complete_masks() {
    let m = module(TOGETHER);
    for mode in Mode::ALL {
        let with = |threads: u32, mask: fn(u64) -> u32| {
            run(
                &m,
                &launch(threads, vec![by_thread(threads.into(), mask)]),
                mode,
            )
        };
        // Everybody, tiles of 16, of one, and a partial warp.
        for (threads, mask) in [
            (32, (|_| u32::MAX) as fn(u64) -> u32),
            (32, |t| 0xFFFF << (t & 16)),
            (32, |t| 1 << t),
            (20, |_| u32::MAX),
            (20, |t| 0xFF << (t & 24)),
        ] {
            let o = with(threads, mask).unwrap();
            // They stay together.
            let all = u128::from(u32::MAX >> (32 - threads));
            assert!((0..threads as usize).all(|t| o.returns.get(t) == Some(&[all][..])));
            assert_eq!(o.counters.inst_executed, 3);
            assert_eq!(o.counters.class(CostClass::Cross), 2);
        }
        // Lane 3 brings another mask than lane 2, and names it.
        let result = with(32, |t| match t {
            2 | 4 => 0b11100,
            3 => 0b1111000,
            t => 1 << t,
        });
        assert_eq!(divergence(&m, result), (0b10100, 0b1000));
        // Lanes 8 and 9 are not in their masks.
        let result = with(32, |t| match t {
            8 => 0xFF,
            9 => 0x5_0000,
            t => 1 << t,
        });
        match result {
            Err(ExecError::OutsideMask {
                lanes,
                mask,
                origin,
                ..
            }) => {
                assert_eq!((lanes, mask), (0x300, 0xFF));
                assert_eq!(origin.to_string(), "3:7");
            }
            other => panic!("{other:?}"),
        }
    }
    let result = run(&m, &launch(1, vec![by_thread(1, |_| 2)]), Mode::Stack);
    assert_eq!(
        result.unwrap_err().to_string(),
        "warp_sync at inst0 (3:7): block 0, warp 0: lanes 0x00000001 are not in their own mask, \
         0x00000002"
    );
}

/// A `warp_sync` in one side of a branch that the lower half takes.
#[test]
fn lanes_that_are_not_named_are_not_waited_for() {
    let m = module(
        "
function %k(i32 varying, pred varying) {
block0(v0: i32, v1: pred):
    br v1, block1, block2

block1:
    warp_sync v0
    jump block2

block2:
    ret
}",
    );
    for mode in Mode::ALL {
        let with = |mask: u32| {
            let low = by_thread(32, |t| u32::from(t < 16));
            run(&m, &launch(32, vec![by_thread(32, |_| mask), low]), mode)
        };
        let o = with(0xFFFF).unwrap();
        assert_eq!(
            (o.counters.inst_executed, o.counters.lost.diverged),
            (4, 2 * 16)
        );
        // Lanes 16 and 17 wait at the join for the others.
        assert_eq!(divergence(&m, with(0x3_FFFF)), (0xFFFF, 0x3_0000));
    }
}

/// Each side of a branch has a `warp_sync` of its own, between storing a number and
/// reading that of the neighbour on the other side.
const SIDES: &str = "
function %k(i64, i32 varying, i32 varying, pred varying) -> i32 {
block0(v0: i64, v1: i32, v2: i32, v3: pred):
    v4 = const.i32 2
    v5 = ishl.i32 v1, v4
    v6 = uextend.i64 v5
    v7 = iadd.i64 v0, v6
    v8 = const.i32 4
    v9 = bxor.i32 v5, v8
    v10 = uextend.i64 v9
    v11 = iadd.i64 v0, v10
    v12 = const.i32 100
    v13 = iadd.i32 v1, v12
    br v3, block1, block2

block1:
    store.i32 v13, v7
    warp_sync v2
    v14 = load.i32 v11
    jump block3(v14)

block2:
    store.i32 v13, v7
    warp_sync v2
    v15 = load.i32 v11
    jump block3(v15)

block3(v16: i32):
    ret v16
}";

fn sides(mask: fn(u64) -> u32, threads: u32) -> Launch {
    let n = u64::from(threads);
    with_buffer(
        threads as usize,
        threads,
        vec![
            by_thread(n, |t| t as u32),
            by_thread(n, mask),
            by_thread(n, |t| u32::from(t % 2 == 0)),
        ],
    )
}

#[test]
fn equal_masks_pair_wherever_the_lanes_are() {
    let m = module(SIDES);
    for mask in [
        (|_| u32::MAX) as fn(u64) -> u32,
        |t| 0xFFFF << (t & 16),
        |t| 3 << (t & !1),
    ] {
        let launch = sides(mask, 32);
        let o = run(&m, &launch, Mode::Its).unwrap();
        for t in 0..32u32 {
            assert_eq!(
                o.returns.get(t as usize),
                Some(&[100 + u128::from(t ^ 1)][..])
            );
        }
        assert_eq!(words(&o), (100..132).collect::<Vec<u32>>());
        let c = &o.counters;
        // Seven before the branch, it, two sides of four, the end.
        assert_eq!(
            (c.inst_executed, c.joins_on_time, c.yields),
            (7 + 1 + 2 * 4 + 1, 1, 0)
        );
        // On the stack one side waits below the other.
        let [named, lowest] = [mask(0), 0x5555_5555 & mask(0)];
        assert_eq!(
            divergence(&m, run(&m, &launch, Mode::Stack)),
            (lowest, named & !lowest)
        );
    }
    // Lanes that are not there, or of other warps, are nobody's concern.
    let o = run(&m, &sides(|_| u32::MAX, 36), Mode::Its).unwrap();
    assert_eq!(o.returns.get(35), Some(&[134][..]));
}

#[test]
fn different_masks_do_not_pair() {
    let m = module(SIDES);
    let masks = |t: u64| {
        if t.is_multiple_of(2) {
            0xFFFF_FFFF
        } else {
            0xFFFF_FFFE
        }
    };
    let result = run(&m, &sides(masks, 32), Mode::Its);
    assert_eq!(divergence(&m, result), (0x5555_5555, 0xAAAA_AAAA));
}

/// What the masks order, the check of races knows: the neighbour of another pair has
/// not been waited for.
#[test]
fn a_mask_orders_its_lanes_only() {
    let pairs = by_thread(32, |t| 3 << (t & !1));
    let text = |other: u32| {
        format!(
            "
function %k(i64, i32 varying, i32 varying) {{
block0(v0: i64, v1: i32, v2: i32):
    v4 = const.i32 2
    v5 = ishl.i32 v1, v4
    v6 = uextend.i64 v5
    v7 = iadd.i64 v0, v6
    v8 = const.i32 {other}
    v9 = bxor.i32 v5, v8
    v10 = uextend.i64 v9
    v11 = iadd.i64 v0, v10
    store.i32 v1, v7
    warp_sync v2
    v14 = load.i32 v11
    ret
}}"
        )
    };
    let launch = with_buffer(32, 32, vec![by_thread(32, |t| t as u32), pairs]);
    for mode in Mode::ALL {
        let checked = |text: &str| {
            let m = module(text);
            let checks = Checks {
                races: true,
                ..Checks::NONE
            };
            let options = ExecOptions {
                mode,
                ..ExecOptions::default()
            };
            run_checked(&[&m.functions[0]], 0, &launch, &options, &checks)
        };
        assert!(checked(&text(4)).is_ok(), "lane xor 1 is of the pair");
        match checked(&text(8)) {
            Err(ExecError::Check(e)) => match *e {
                CheckError::Race { first, second, .. } => {
                    assert_eq!([first.thread, second.thread], [2, 0]);
                }
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }
}

/// Lanes 0 and 1 wait for each other and lane 2, which leaves.
#[test]
fn who_leaves_is_not_waited_for() {
    let m = module(
        "
function %k(i32 varying) -> i32 {
block0(v0: i32):
    v1 = const.i32 2
    v2 = icmp.i32 ult v0, v1
    br v2, block1, block2

block1:
    v3 = const.i32 7
    warp_sync v3
    jump block3(v3)

block2:
    v4 = icmp.i32 eq v0, v1
    exit if v4
    jump block3(v0)

block3(v5: i32):
    ret v5
}",
    );
    let lanes = |n: u32| launch(n, vec![by_thread(n.into(), |t| t as u32)]);
    let o = run(&m, &lanes(4), Mode::Its).unwrap();
    let returned: Vec<_> = (0..4).map(|t| o.returns.get(t).map(|r| r[0])).collect();
    assert_eq!(returned, [Some(7), Some(7), None, Some(3)]);
    assert_eq!(divergence(&m, run(&m, &lanes(4), Mode::Stack)), (3, 4));
    // Nobody else is there.
    assert!(run(&m, &lanes(2), Mode::Stack).is_ok());
}

/// Lanes 0 and 1 meet at `warp_sync`s on two sides, while lane 2 spins for what they do
/// behind them: they are let go although it only gives way and never waits.
#[test]
fn masks_are_looked_at_while_others_spin() {
    let m = module(
        "
function %k(i64, i32 varying) {
block0(v0: i64, v1: i32):
    v2 = const.i32 3
    v3 = const.i32 1
    switch v1, [block1, block2], block3

block1:
    warp_sync v2
    v4 = atomic_add.i32 v3, v0
    jump block5

block2:
    warp_sync v2
    v5 = atomic_add.i32 v3, v0
    jump block5

block3:
    v6 = const.i32 2
    jump block4

block4:
    v7 = atomic_load.i32 v0
    v8 = icmp.i32 ne v7, v6
    br v8, block4, block5

block5:
    ret
}",
    );
    let launch = with_buffer(1, 3, vec![by_thread(3, |t| t as u32)]);
    let o = run(&m, &launch, Mode::Its).unwrap();
    assert_eq!(words(&o), [2]);
}

/// A group that brings several masks goes on when all are complete.
#[test]
fn a_group_waits_for_all_its_masks() {
    let m = module(
        "
function %k(i64, i32 varying, i32 varying, pred varying) -> i32 {
block0(v0: i64, v1: i32, v2: i32, v3: pred):
    v4 = const.i32 1
    br v3, block1, block2

block1:
    warp_sync v2
    v5 = active_mask
    jump block3(v5)

block2:
    v6 = atomic_add.i32 v4, v0
    warp_sync v2
    v7 = active_mask
    jump block3(v7)

block3(v8: i32):
    ret v8
}",
    );
    // Lanes 0 and 1 take the first side; 0 names itself only, 1 and 2 each other.
    let masks = by_thread(3, |t| if t == 0 { 1 } else { 6 });
    let args = vec![
        by_thread(3, |t| t as u32),
        masks,
        by_thread(3, |t| u32::from(t < 2)),
    ];
    let o = run(&m, &with_buffer(1, 3, args), Mode::Its).unwrap();
    let returned: Vec<_> = (0..3).map(|t| o.returns.get(t).map(|r| r[0])).collect();
    assert_eq!(returned, [Some(3), Some(3), Some(4)]);
}

/// Lanes in different frames pair too.
#[test]
fn lanes_in_a_callee_and_outside_pair() {
    let m = module(
        "
function %k(pred varying) {
    fn0 = %wait(i32)
block0(v0: pred):
    v1 = const.i32 3
    br v0, block1, block2

block1:
    call fn0(v1)
    jump block3

block2:
    warp_sync v1
    jump block3

block3:
    ret
}
function %wait(i32) {
block0(v0: i32):
    warp_sync v0
    ret
}",
    );
    let args = || vec![by_thread(2, |t| u32::from(t == 0))];
    let o = run(&m, &launch(2, args()), Mode::Its).unwrap();
    assert_eq!(o.counters.class(CostClass::Cross), 2);
    let result = run(&m, &launch(2, args()), Mode::Stack);
    assert_eq!(divergence(&m, result), (1, 2));
}

#[test]
fn a_mask_must_not_be_poison() {
    let m = module("function %k() {\nblock0:\n    v0 = poison.i32\n    warp_sync v0\n    ret\n}");
    let checks = Checks {
        poison: true,
        ..Checks::NONE
    };
    let result = run_checked(
        &[&m.functions[0]],
        0,
        &Launch::linear(1, 32),
        &ExecOptions::default(),
        &checks,
    );
    match result {
        Err(ExecError::Check(e)) => match *e {
            CheckError::Poison { used, .. } => assert_eq!(used, PoisonUse::CrossLane),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}
