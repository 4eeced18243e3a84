//! Where lanes give way: which loops may wait for memory.

use warpfold_analysis::yields::writes_memory;
use warpfold_analysis::{Cfg, Loops, Scope, Uniformity, UniformityOptions, Yields};
use warpfold_ir::{Block, parse_module, verify};

/// The back edges that yield in the kernel with this body; `v0` is an address, `v1` a
/// number of the lane, `v2` zero.
fn edges(body: &str) -> Vec<(u32, u32)> {
    edges_where(body, true)
}

fn edges_where(body: &str, written: bool) -> Vec<(u32, u32)> {
    let text = format!(
        "function %k(i64, i32 varying) {{
    ss0 = slot 16, align 8
block0(v0: i64, v1: i32):
    v2 = const.i32 0
{body}
}}"
    );
    let module = parse_module(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let func = &module.functions[0];
    verify(func).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let cfg = Cfg::new(func);
    let loops = Loops::new(&cfg);
    let yields = Yields::new(func, &cfg, &loops, written);
    let mut found = Vec::new();
    for &from in &func.layout {
        for &to in cfg.succs(from) {
            if yields.at(from, to) {
                found.push((from.as_u32(), to.as_u32()));
            }
        }
    }
    let back = |&(from, to): &(u32, u32)| {
        let [from, to] = [from, to].map(Block::from_u32);
        loops.headed_by(to).is_some_and(|l| loops.contains(l, from))
    };
    assert!(found.iter().all(back), "only back edges yield");
    assert_eq!(yields.loops().is_empty(), found.is_empty());
    found
}

/// A loop that goes on while `v9` holds, which `body` computes.
fn until(body: &str) -> String {
    format!(
        "    jump block1
block1:
{body}
    br v9, block1, block2
block2:
    ret"
    )
}

#[test]
fn an_atomic_or_a_load_decides() {
    let lock = until("    v3 = atomic_cas.i32 v2, v1, v0\n    v9 = icmp.i32 ne v3, v2");
    assert_eq!(edges(&lock), [(1, 1)]);
    assert_eq!(edges_where(&lock, false), [(1, 1)]);
    let flag = until("    v3 = load.i32 v0\n    v9 = icmp.i32 eq v3, v2");
    assert_eq!(edges(&flag), [(1, 1)]);
    assert_eq!(edges_where(&flag, false), [], "nobody writes it");
    let constant = until("    v3 = load.i32 readonly v0\n    v9 = icmp.i32 eq v3, v2");
    assert_eq!(edges(&constant), []);
    let guarded = until(
        "    v4 = icmp.i32 ult v1, v2
    v3 = load.i32 v0 if v4 else v2
    v9 = icmp.i32 eq v3, v2",
    );
    assert_eq!(edges(&guarded), [(1, 1)]);
}

#[test]
fn what_the_loop_does_not_change_is_no_wait() {
    // The bound was loaded before.
    let counted = "    v3 = load.i32 v0
    v4 = const.i32 1
    jump block1(v2)
block1(v5: i32):
    v6 = iadd.i32 v5, v4
    v7 = atomic_add.i32 v4, v0
    v9 = icmp.i32 ult v6, v3
    br v9, block1(v6), block2
block2:
    ret";
    assert_eq!(edges(counted), []);
    // The lane's own slot.
    let own = until(
        "    v3 = stack_addr.i64 ss0
    v4 = const.i64 8
    v5 = iadd.i64 v3, v4
    v6 = load.i32 v5
    v9 = icmp.i32 eq v6, v2",
    );
    assert_eq!(edges(&own), []);
    // Of two loops, one in the other, only the inner one waits.
    let nested = "    v4 = const.i32 1
    jump block1(v2)
block1(v5: i32):
    jump block2
block2:
    v3 = load.i32 v0
    v6 = icmp.i32 eq v3, v2
    br v6, block2, block3
block3:
    v7 = iadd.i32 v5, v4
    v9 = icmp.i32 ult v7, v1
    br v9, block1(v7), block4
block4:
    ret";
    assert_eq!(edges(nested), [(2, 2)]);
}

#[test]
fn dependence_goes_through_parameters_and_control() {
    // The number that decides was loaded a round before.
    let carried = "    jump block1(v2)
block1(v5: i32):
    v9 = icmp.i32 eq v5, v2
    br v9, block2, block3
block2:
    v3 = load.i32 v0
    jump block1(v3)
block3:
    ret";
    assert_eq!(edges(carried), [(2, 1)]);
    // Whether a lock was free says which constant comes.
    let control = "    v4 = const.i32 1
    jump block1
block1:
    v3 = atomic_cas.i32 v2, v4, v0
    v5 = icmp.i32 eq v3, v2
    br v5, block2, block3(v2)
block2:
    v6 = atomic_xchg.i32 v2, v0
    jump block3(v4)
block3(v7: i32):
    v9 = icmp.i32 eq v7, v2
    br v9, block1, block4
block4:
    ret";
    assert_eq!(edges(control), [(3, 1)]);
    // A branch on memory that decides nothing about leaving.
    let beside = "    v4 = const.i32 1
    jump block1(v2)
block1(v5: i32):
    v3 = load.i32 v0
    v6 = icmp.i32 eq v3, v2
    br v6, block2, block3
block2:
    store.i32 v1, v0+4
    jump block3
block3:
    v7 = iadd.i32 v5, v4
    v9 = icmp.i32 ult v7, v1
    br v9, block1(v7), block4
block4:
    ret";
    assert_eq!(edges(beside), []);
    // Memory decides whether the round comes to where it may end.
    let bypass = "    v4 = const.i32 1
    jump block1(v2)
block1(v5: i32):
    v3 = load.i32 v0
    v6 = icmp.i32 eq v3, v2
    v7 = iadd.i32 v5, v4
    br v6, block1(v7), block2
block2:
    v9 = icmp.i32 ult v7, v1
    br v9, block1(v7), block3
block3:
    ret";
    assert_eq!(edges(bypass), [(1, 1), (2, 1)]);
}

#[test]
fn guarded_exits_leave_a_loop_as_well() {
    let exit = "    jump block1
block1:
    v3 = load.i32 v0
    v9 = icmp.i32 ne v3, v2
    exit if v9
    jump block1";
    assert_eq!(edges(exit), [(1, 1)]);
}

#[test]
fn stores_to_own_slots_are_no_writes() {
    let writes = |line: &str| {
        let text = format!(
            "function %k(i64, i32 varying) {{
    ss0 = slot 16, align 8
block0(v0: i64, v1: i32):
    v2 = stack_addr.i64 ss0+4
    {line}
    ret
}}"
        );
        writes_memory(&parse_module(&text).unwrap().functions[0])
    };
    assert!(!writes("store.i32 v1, v2"));
    assert!(writes("store.i32 v1, v0"));
    assert!(writes("v3 = atomic_add.i32 v1, v0"));
    assert!(!writes("v3 = load.i32 v0"));
    assert!(!writes("barrier"));
}

/// Behind a loop that yields lanes may be anywhere; what a group holds stays the same.
#[test]
fn scheduled_independently_lanes_may_be_away_behind_a_wait() {
    let text = "function %k(i64, i32) {
block0(v0: i64, v1: i32):
    v2 = const.i32 0
    jump block1

block1:
    v3 = atomic_cas.i32 v2, v1, v0
    v4 = icmp.i32 ne v3, v2
    br v4, block1, block2

block2:
    v5 = iadd.i32 v1, v1
    v6 = atomic_xchg.i32 v2, v0
    ret
}";
    let func = &parse_module(text).unwrap().functions[0];
    let [first, _, last] = func.layout[..] else {
        panic!("three blocks");
    };
    let sum = func.result(func.block(last).insts[0]).unwrap();
    for independent in [false, true] {
        let options = UniformityOptions {
            independent,
            ..UniformityOptions::default()
        };
        let found = Uniformity::new(func, &options);
        let behind = if independent {
            Scope::Lane
        } else {
            Scope::Grid
        };
        assert_eq!(found.live_scope(last), behind);
        assert_eq!(found.live_scope(first), Scope::Grid);
        assert_eq!(found.scope_at(sum, last), Scope::Grid);
    }
}

/// A side that returns early and yields: the join of the branch, to which none of it
/// comes, is released when it yields.
#[test]
fn scheduled_independently_a_join_is_ahead_of_a_side_that_waits() {
    let text = "function %k(i64, i32 varying) {
block0(v0: i64, v1: i32):
    v2 = const.i32 0
    v3 = icmp.i32 ne v1, v2
    br v3, block3, block1

block1:
    v4 = load.i32 v0
    v5 = icmp.i32 ne v4, v2
    br v5, block1, block2

block2:
    ret

block3:
    store.i32 v1, v0
    ret
}";
    let func = &parse_module(text).unwrap().functions[0];
    for (independent, behind) in [(false, Scope::Grid), (true, Scope::Lane)] {
        let options = UniformityOptions {
            independent,
            ..UniformityOptions::default()
        };
        let found = Uniformity::new(func, &options);
        assert_eq!(found.live_scope(func.layout[3]), behind);
        assert_eq!(found.live_scope(func.layout[0]), Scope::Grid);
    }
}
