//! Calls of functions at addresses.

use super::*;

pub(super) const INDIRECT: &str = "\
function %main(i32 varying) -> i32 {
    sig0 = (i32) -> i32
    fn0 = %up(i32) -> i32
    fn1 = %down(i32) -> i32
    fn2 = %odd_one(i32)
block0(v0: i32):
    v1 = func_addr.i64 fn0
    v2 = func_addr.i64 fn1
    v3 = const.i32 3
    v4 = urem.i32 v0, v3
    v5 = const.i32 1
    v6 = icmp.i32 eq v4, v5
    v7 = select.i64 v6, v1, v2
    v8 = call_indirect sig0, v7(v0)
    ret v8
}
function %up(i32) -> i32 {
block0(v0: i32):
    v1 = const.i32 100
    v2 = iadd.i32 v0, v1
    ret v2
}
function %down(i32) -> i32 {
block0(v0: i32):
    v1 = const.i32 100
    v2 = isub.i32 v0, v1
    ret v2
}
function %odd_one(i32) {
block0(v0: i32):
    ret
}";

#[test]
fn indirect_calls_group_lanes_by_callee() {
    let m = module(INDIRECT);
    let o = launch(&m, 32, vec![varying(32, |t| t as i64)]);
    let expected: Vec<u128> = (0..32i64)
        .map(|t| if t % 3 == 1 { t + 100 } else { t - 100 })
        .map(|x| u128::from(x as u32))
        .collect();
    assert_eq!(results(&o, 32), expected);
    let c = &o.counters;
    assert_eq!(
        (c.divergent_branch, c.extra_targets, c.branches.split),
        (1, 1, 1)
    );
    assert_eq!(c.branches.total(), 1);
    // Lane 0 calls `down`, so that runs first.
    let functions: Vec<usize> = o
        .timeline
        .as_ref()
        .unwrap()
        .passes
        .iter()
        .map(|p| p.function)
        .collect();
    assert_eq!(functions, [0, 2, 1]);
    assert_eq!(c.max_call_depth, 2, "one after the other");
    // All lanes to one callee: no branch at all.
    let o = launch(&m, 32, vec![varying(32, |_| 1)]);
    assert_eq!(o.counters.branches.total(), 0);
    // In tail position.
    let tail = INDIRECT
        .replace("    v8 = call_indirect", "    return_call_indirect")
        .replace("\n    ret v8", "");
    let o = launch(&module(&tail), 32, vec![varying(32, |t| t as i64)]);
    assert_eq!(results(&o, 32), expected);
    assert_eq!(
        o.counters.max_call_depth, 2,
        "the first goes upon the frame"
    );
}

#[test]
fn an_indirect_call_of_nothing_traps() {
    for callee in ["v9", "v10"] {
        // An address that is none, and a function of another signature.
        let text = INDIRECT
            .replace(
                "call_indirect sig0, v7(v0)",
                &format!("call_indirect sig0, {callee}(v0)"),
            )
            .replace(
                "v7 = select.i64 v6, v1, v2",
                "v7 = const.i64 7\n v9 = select.i64 v6, v1, v7\n v11 = func_addr.i64 fn2\n \
                 v10 = select.i64 v6, v1, v11",
            );
        let o = launch(&module(&text), 3, vec![varying(3, |t| t as i64)]);
        assert_eq!(o.end, Ending::Trapped);
        let threads: Vec<u64> = o.traps.iter().map(|t| t.thread).collect();
        assert_eq!(threads, [0, 2]);
        assert!(o.traps.iter().all(|t| t.code == TrapCode::HeapOutOfBounds));
        assert_eq!(o.returns.get(1), Some(&[101][..]));
    }
}
