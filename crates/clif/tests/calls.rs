//! Functions that call each other.

mod common;

use common::{bad, good, plain};
use warpfold_ir::{Module, verify_module};

#[test]
fn every_kind_of_call() {
    let lowered = good(
        "function %main(i32, f64) -> i32, f64 {
    sig0 = (i32) -> i8
    fn0 = %pair(i32, f64) -> f64, i32
    fn1 = colocated u0:7(i32) -> i8
    fn2 = %lane_id() -> i32
block0(v0: i32, v1: f64):
    v2, v3 = call fn0(v0, v1)
    v4 = func_addr.i64 fn1
    v5 = call_indirect sig0, v4(v3)
    v9 = iconst.i32 7
    v6 = icmp eq v0, v9
    v7 = band v5, v6
    v8 = call fn2()
    brif v7, block1, block2
block1:
    return v8, v2
block2:
    return v3, v1
}
function %pair(i32, f64) -> f64, i32 tail {
    sig0 = (i32, f64) -> f64, i32 tail
    fn0 = %pair sig0
block0(v0: i32, v1: f64):
    brif v0, block1, block2
block1:
    return_call fn0(v0, v1)
block2:
    v2 = func_addr.i64 fn0
    return_call_indirect sig0, v2(v0, v1)
}
function u0:7(i32) -> i8 {
block0(v0: i32):
    v2 = iconst.i32 3
    v1 = icmp eq v0, v2
    return v1
}",
    );
    assert_eq!(
        plain(&lowered[0]),
        [
            "sig0 = (i32) -> i8",
            "fn0 = %pair(i32, f64) -> f64, i32",
            "fn1 = %u0_7(i32) -> i8",
            "block0(v0: i32, v1: f64):",
            "v2, v3 = call fn0(v0, v1)",
            "v4 = func_addr.i64 fn1",
            "v5 = call_indirect sig0, v4(v3)",
            "v6 = const.i32 7",
            "v7 = icmp.i32 eq v0, v6",
            "v8 = bint.i8 v7",
            "v9 = band.i8 v5, v8",
            "v10 = lane_id",
            "v11 = const.i8 0",
            "v12 = icmp.i8 ne v9, v11",
            "br v12, block1, block2",
            "block1:",
            "ret v10, v2",
            "block2:",
            "ret v3, v1",
        ]
    );
    let tails: Vec<_> = plain(&lowered[1])
        .into_iter()
        .filter(|l| l.starts_with("return_call"))
        .collect();
    assert_eq!(
        tails,
        [
            "return_call fn0(v0, v1)",
            "return_call_indirect sig0, v4(v0, v1)"
        ]
    );
    let functions = lowered.into_iter().map(|l| l.func).collect();
    verify_module(&Module { functions }).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn callees_that_do_not_fit() {
    assert_eq!(
        bad("function %f(i32) -> i32 {
    fn0 = %g(i64) -> i32
    fn1 = %barrier()
    fn2 = %vote_any(i8) -> i8
block0(v0: i32):
    v1 = func_addr.i64 fn1
    v2 = uextend.i64 v0
    v3 = call fn0(v2)
    v4 = call fn0(v2)
    v5 = func_addr.i32 fn0
    v6 = ireduce.i8 v0
    v7 = call fn2(v6)
    return v0
}
function %g(i32) -> i32 {
block0(v0: i32):
    return v0
}
function %vote_any(i8) -> i8 {
block0(v0: i8):
    return v0
}"),
        [
            "6:10: %f: `func_addr` of %barrier: an intrinsic is only called",
            "8:10: %f: %g is declared as (i64) -> i32; its signature is (i32) -> i32",
            "10:10: %f: the result is i32, but pointers are i64 on nvptx64-unknown-unknown-unknown",
            "12:10: %f: `call` of %vote_any: an intrinsic has that name too; call the function otherwise",
        ]
    );
}
