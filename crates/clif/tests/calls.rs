//! Functions that call each other.

mod common;

use common::{bad, good, plain};
use warpfold_clif::with_helpers;
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

/// A context and a struct's place are pointers that the caller passes.
#[test]
fn parameters_with_a_purpose_are_plain() {
    let lowered = good(
        "function %f(i64 vmctx, i32, i64 sret) -> i64 sret {
    gv0 = vmctx
    stack_limit = gv0
    fn0 = %g(i64 sret, i64 vmctx)
block0(v0: i64, v1: i32, v2: i64):
    call fn0(v2, v0)
    return v2
}
function %g(i64 sret, i64 vmctx) {
block0(v0: i64, v1: i64):
    store v1, v0
    return
}",
    );
    assert_eq!(
        plain(&lowered[0]),
        [
            "fn0 = %g(i64, i64)",
            "block0(v0: i64, v1: i32, v2: i64):",
            "call fn0(v2, v0)",
            "ret v2",
        ]
    );
}

/// Where it returns, with its results; handlers and what only they reach are
/// not lowered, whatever is in them.
#[test]
fn calls_that_may_throw_return() {
    let lowered = good(
        "function %f(i32) -> i32, i8 {
    sig0 = (i32) -> i64, i8 tail
    fn0 = %g(i32) -> i64, i8 tail
block0(v0: i32):
    try_call fn0(v0), sig0, block1(v0, ret1, ret0), [ tag0: block2(exn0, exn1), context v0, default: block3(v0) ]
block1(v1: i32, v2: i8, v3: i64):
    v4 = func_addr.i64 fn0
    try_call_indirect v4(v1), sig0, block3(v0), [ default: block4 ]
block2(v5: i64, v6: i64):
    v7 = get_stack_pointer.i64
    trap user7
block3(v8: i32):
    v9 = icmp eq v8, v8
    return v8, v9
block4:
    jump block3(v1)
}
function %g(i32) -> i64, i8 tail {
block0(v0: i32):
    v1 = uextend.i64 v0
    v2 = icmp eq v1, v1
    return v1, v2
}",
    );
    assert_eq!(
        plain(&lowered[0]),
        [
            "sig0 = (i32) -> i64, i8",
            "fn0 = %g(i32) -> i64, i8",
            "block0(v0: i32):",
            "v1, v2 = call fn0(v0)",
            "jump block1(v0, v2, v1)",
            "block1(v3: i32, v4: i8, v5: i64):",
            "v6 = func_addr.i64 fn0",
            "v7, v8 = call_indirect sig0, v6(v3)",
            "jump block3(v0)",
            "block3(v9: i32):",
            "v10 = icmp.i32 eq v9, v9",
            "v11 = bint.i8 v10",
            "ret v9, v11",
        ]
    );
    let functions = lowered.into_iter().map(|l| l.func).collect();
    verify_module(&Module { functions }).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn calls_that_may_throw_are_checked() {
    assert_eq!(
        bad("function %f(i64) {
    sig0 = () -> i32x4 tail
    sig1 = () tail
    fn0 = %g() tail
    fn1 = %barrier() tail
block0(v0: i64):
    try_call fn0(), sig1, block1, []
block1:
    try_call_indirect v0(), sig0, block2, []
block2:
    try_call fn1(), sig1, block3, []
block3:
    return
}"),
        [
            "7:5: %f: `try_call` of %g: the file has no such function",
            "9:5: %f: `try_call_indirect` of i32x4 is not supported: a lane holds scalars only; the vector is the warp",
            "11:5: %f: `try_call` of %barrier: an intrinsic is only called",
        ]
    );
}

/// A call is the opcode; who needs a function gets one.
#[test]
fn libcalls() {
    let lowered = good(
        "function %f(f32, f64) -> f32, f64, i64, i64 {
    fn0 = %CeilF32(f32) -> f32
    fn1 = %FmaF64(f64, f64, f64) -> f64
    fn2 = colocated %NearestF64(f64) -> f64
block0(v0: f32, v1: f64):
    v2 = call fn0(v0)
    v3 = call fn1(v1, v1, v1)
    v4 = call fn2(v3)
    v5 = func_addr.i64 fn0
    v6 = func_addr.i64 fn0
    return v2, v4, v5, v6
}
function %g(f32, f32, f32) -> f32 tail {
    fn0 = %FmaF32(f32, f32, f32) -> f32 tail
block0(v0: f32, v1: f32, v2: f32):
    return_call fn0(v0, v2, v1)
}",
    );
    assert_eq!(
        plain(&lowered[0]),
        [
            "fn0 = %CeilF32(f32) -> f32",
            "block0(v0: f32, v1: f64):",
            "v2 = ceil.f32 v0",
            "v3 = fma.f64 v1, v1, v1",
            "v4 = nearest.f64 v3",
            "v5 = func_addr.i64 fn0",
            "v6 = func_addr.i64 fn0",
            "ret v2, v4, v5, v6",
        ]
    );
    let names = |i: usize| -> Vec<&str> {
        let helpers: &[warpfold_ir::Function] = &lowered[i].helpers;
        helpers.iter().map(|h| h.name.as_str()).collect()
    };
    assert_eq!((names(0), names(1)), (vec!["CeilF32"], vec!["FmaF32"]));
    assert!(
        lowered[1].helpers[0]
            .to_string()
            .contains("fma.f32 v0, v1, v2")
    );
    let twice = lowered.iter().chain(&lowered[..1]).cloned().collect();
    let functions: Vec<_> = with_helpers(twice).map(|(func, _)| func).collect();
    let names: Vec<&str> = functions.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["f", "g", "f", "CeilF32", "FmaF32"]);
    let module = Module {
        functions: functions.into_iter().skip(1).collect(),
    };
    verify_module(&module).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn libcalls_that_are_refused() {
    assert_eq!(
        bad("function %f(i64, f32) {
    fn0 = %Memcpy(i64, i64, i64) -> i64
    fn1 = %ElfTlsGetAddr()
    fn2 = %FloorF32(f64) -> f64
    fn3 = %TruncF32(f32) -> f32
block0(v0: i64, v1: f32):
    v2 = call fn0(v0, v0, v0)
    v3 = func_addr.i64 fn1
    v4 = func_addr.i64 fn2
    v5 = call fn3(v1)
    return
}
function %TruncF32(f32) -> f32 {
block0(v0: f32):
    return v0
}"),
        [
            "7:10: %f: `call` of the libcall %Memcpy is not supported: there is no library that works on memory; write the loop",
            "8:10: %f: `func_addr` of the libcall %ElfTlsGetAddr is not supported: there is no linker and no thread-local storage",
            "9:10: %f: %FloorF32 is declared as (f64) -> f64; its signature is (f32) -> f32",
            "10:10: %f: `call` of %TruncF32: a libcall has that name too; call the function otherwise",
        ]
    );
}
