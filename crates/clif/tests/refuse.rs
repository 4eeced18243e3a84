//! What is refused: the place, the opcode and the reason, all at once.

mod common;

use common::{bad, straight};

const VECTOR: &str = "a lane holds scalars only; the vector is the warp";

/// The errors of one-block code; the instructions start on line 3.
fn errors(types: &str, body: &str) -> Vec<String> {
    bad(&straight(types, body))
}

#[test]
fn opcodes() {
    assert_eq!(
        errors(
            "i64 i32",
            "debugtrap; v2 = iadd v1, v1; v3 = get_stack_pointer.i64"
        ),
        [
            "3:5: %f: `debugtrap` is not supported: there is no debugger to trap into; use `trap`",
            "5:10: %f: `get_stack_pointer` is not supported: a lane has no machine registers or stack frame to look at",
        ]
    );
    // Cranelift's verifier refuses these for want of a target.
    assert_eq!(
        errors("i64", "set_pinned_reg v0"),
        [
            "3:5: %f: `set_pinned_reg` is not supported: a lane has no machine registers or stack frame to look at"
        ]
    );
    assert_eq!(
        errors("i64", "v1 = get_frame_pointer.i64"),
        [
            "3:10: %f: `get_frame_pointer` is not supported: a lane has no machine registers or stack frame to look at",
        ]
    );
    assert_eq!(
        errors("i64", "v1 = get_stack_pointer.i64"),
        [
            "3:10: %f: `get_stack_pointer` is not supported: a lane has no machine registers or stack frame to look at"
        ]
    );
    let lines = bad("function %f() -> i64 {
    gv0 = symbol %somewhere
    gv1 = symbol tls %there
block0:
    v0 = symbol_value.i64 gv0
    v1 = tls_value.i64 gv1
    return v1
}");
    assert_eq!(lines.len(), 2);
    assert!(lines[0].starts_with("5:10: %f: `symbol_value` is not supported: there is no linker"));
    assert!(lines[1].starts_with("6:10: %f: `tls_value`"));
}

#[test]
fn types() {
    assert_eq!(
        bad("function %f(i32x4, f16) -> f128 {
block0(v0: i32x4, v1: f16):
    v2 = iadd v0, v0
    v3 = fpromote.f128 v1
    return v3
}"),
        [
            format!("1:1: %f: a parameter has type i32x4: {VECTOR}"),
            "1:1: %f: a result has type f128: quadruple precision is not supported".into(),
            format!("2:1: %f: the parameter v0 of block0 has type i32x4: {VECTOR}"),
            format!("3:10: %f: `iadd` of i32x4 is not supported: {VECTOR}"),
            "4:10: %f: `fpromote` of f128 is not supported: quadruple precision is not supported"
                .into(),
            "5:5: %f: `return` of f128 is not supported: quadruple precision is not supported"
                .into(),
        ]
    );
    assert_eq!(
        errors("i16 i64", "v2 = splat.i16x8 v0; v3 = load.i8x16 v1"),
        [
            format!("3:10: %f: `splat` is not supported: {VECTOR}"),
            format!("4:10: %f: `load` of i8x16 is not supported: {VECTOR}"),
        ]
    );
}

#[test]
fn parameters_with_a_purpose() {
    assert_eq!(
        bad("function %f(i64 vmctx, i64 sarg(64)) {
    sig0 = (i64 sarg(16)) tail
    fn0 = %g(i64 sarg(8))
block0(v0: i64, v1: i64):
    call fn0(v0)
    call_indirect sig0, v0(v1)
    try_call_indirect v0(v1), sig0, block1, []
block1:
    return
}
function %g(i64) {
block0(v0: i64):
    return
}"),
        [
            "1:1: %f: a parameter is marked `sarg(64)`: a call copies no structs; pass the address",
            "5:5: %f: `call` passes a value marked `sarg(8)`: a call copies no structs; pass the address",
            "6:5: %f: `call_indirect` passes a value marked `sarg(16)`: a call copies no structs; pass the address",
            "7:5: %f: `try_call_indirect` passes a value marked `sarg(16)`: a call copies no structs; pass the address",
        ]
    );
}

#[test]
fn memory() {
    assert_eq!(
        errors(
            "i64 i32",
            "v2 = load.i32 big v1; v3 = uload8.i32 v1; store v1, v1; v4 = atomic_load.i32 v1; \
             atomic_store v1, v1; v5 = atomic_rmw.i32 add v1, v1; v6 = atomic_cas v1, v1, v1"
        ),
        [
            "3:10: %f: the address is i32, but pointers are i64 on nvptx64-unknown-unknown-unknown",
            "4:10: %f: the address is i32, but pointers are i64 on nvptx64-unknown-unknown-unknown",
            "5:5: %f: the address is i32, but pointers are i64 on nvptx64-unknown-unknown-unknown",
            "6:10: %f: the address is i32, but pointers are i64 on nvptx64-unknown-unknown-unknown",
            "7:5: %f: the address is i32, but pointers are i64 on nvptx64-unknown-unknown-unknown",
            "8:10: %f: the address is i32, but pointers are i64 on nvptx64-unknown-unknown-unknown",
            "9:10: %f: the address is i32, but pointers are i64 on nvptx64-unknown-unknown-unknown",
        ]
    );
    assert_eq!(
        bad("function %f() {
    ss0 = explicit_slot 0
    ss1 = explicit_slot 4294967295
block0:
    v0 = stack_addr.i64 ss0
    v1 = stack_addr.i32 ss1
    return
}"),
        [
            "1:1: %f: the stack slots take 4294967295 bytes; a lane has at most 16777216",
            "5:10: %f: ss0 is empty and has no address",
            "6:10: %f: the result is i32, but pointers are i64 on nvptx64-unknown-unknown-unknown",
        ]
    );
}

#[test]
fn targets() {
    let opts = warpfold_clif::ReadOptions {
        triple: "avr-unknown-unknown".parse().expect("a triple"),
    };
    let errors = warpfold_clif::read("function %f() {\nblock0:\n    return\n}", &opts);
    assert_eq!(
        errors.expect_err("16-bit pointers")[0].to_string(),
        "1:1: %f: the target avr-unknown-unknown has neither 32-bit nor 64-bit pointers"
    );
}

#[test]
fn calls() {
    assert_eq!(
        bad("function %f(i64, i32) {
    sig0 = (i64)
    fn0 = %laneid() -> i32
    fn1 = %shfl(i32, i32) -> i32
    fn2 = %memcpy(i64, i64, i64)
    fn3 = u7:9(i64)
    fn4 = %ballot(i32) -> i32
    fn5 = %shfl_up(i64, i32) -> i32
    fn6 = %barrier() -> i32
    fn7 = %shared_base() -> i32
    fn8 = %read_first(i32x4) -> i32x4
    fn9 = %Probestack(f32) -> f32
    fn10 = %sinf(f64) -> f64
    fn11 = %sinl(f64) -> f64
block0(v0: i64, v1: i32):
    v2 = call fn0()
    v3 = call fn1(v1, v1)
    call fn2(v0, v0, v0)
    call fn3(v0)
    v4 = call fn4(v1)
    v5 = call fn4(v1)
    v6 = call fn5(v0, v1)
    v7 = call fn6()
    v8 = call fn7()
    call_indirect sig0, v0(v0)
    v9 = func_addr.i64 fn0
    v10 = f32const 0.0
    v11 = call fn9(v10)
    v12 = f64const 0.0
    v13 = call fn10(v12)
    v14 = call fn11(v12)
    return
}"),
        [
            "16:10: %f: `call` of %laneid: the file has no such function; did you mean the intrinsic %lane_id?",
            "17:10: %f: `call` of %shfl: the file has no such function; near are the intrinsics %shfl_idx, %shfl_up, %shfl_down",
            "18:5: %f: `call` of %memcpy: the file has no such function",
            "19:5: %f: `call` of u7:9: the file has no such function",
            "20:10: %f: %ballot is declared as (i32) -> i32; its signature is (i8) -> i32",
            "22:10: %f: %shfl_up is declared as (i64, i32) -> i32; its signature is (T, i32) -> T",
            "23:10: %f: %barrier is declared as () -> i32; its signature is ()",
            "24:10: %f: %shared_base is declared as () -> i32; its signature is () -> i64",
            "26:10: %f: `func_addr` of %laneid: the file has no such function",
            "28:11: %f: `call` of the libcall %Probestack is not supported: the executor checks a lane's stack by itself",
            "30:11: %f: %sinf is declared as (f64) -> f64; its signature is (f32) -> f32",
            "31:11: %f: `call` of %sinl: the file has no such function; near are the intrinsics %sin, %sinf",
        ]
    );
}

/// A wrong declaration is named where it stands when Cranelift, which does not
/// know the intrinsics, complains of the types that follow from it.
#[test]
fn declarations_before_their_consequences() {
    let kernel = |declared: &str, call: &str| {
        bad(&format!(
            "function %f(i32) -> i32 {{\n    {declared}\nblock0(v0: i32):\n    {call}\n    \
             v2 = iadd v0, v1\n    return v2\n}}\nfunction %own(i64) -> i32 {{\n\
             block0(v0: i64):\n    v1 = ireduce.i32 v0\n    return v1\n}}"
        ))
    };
    assert_eq!(
        kernel("fn0 = %tid_x() -> i64", "v1 = call fn0()"),
        [
            "2:5: %f: %tid_x is declared as () -> i64; its signature is () -> i32",
            "5:5: %f: v2 = iadd.i32 v0, v1: arg 1 (v1) has type i64, expected i32",
        ]
    );
    assert_eq!(
        kernel("fn0 = %tid_x(i32)", "v1 = call fn0(v0)"),
        [
            "2:5: %f: %tid_x is declared as (i32); its signature is () -> i32",
            "5:5: %f: instruction produces 0 result values, 1 given",
        ]
    );
    assert_eq!(
        kernel("fn0 = %tid_x(i32) -> i32", "v1 = call fn0()"),
        [
            "2:5: %f: %tid_x is declared as (i32) -> i32; its signature is () -> i32",
            "4:5: %f: v1 = call fn0(): mismatched argument count for `v1 = call fn0()`: got 0, expected 1",
        ]
    );
    assert_eq!(
        kernel("fn0 = %own(i32) -> i64", "v1 = call fn0(v0)"),
        [
            "2:5: %f: %own is declared as (i32) -> i64; its signature is (i64) -> i32",
            "5:5: %f: v2 = iadd.i32 v0, v1: arg 1 (v1) has type i64, expected i32",
        ]
    );
    // A good declaration is not named.
    assert_eq!(
        kernel("fn0 = %tid_x() -> i32", "v1 = call fn0(v0)"),
        [
            "4:5: %f: v1 = call fn0(v0): mismatched argument count for `v1 = call fn0(v0)`: got 1, expected 0"
        ]
    );
    let lines = kernel(
        "fn1 = %tid_y()   fn0 = %tid_x() -> i64\n\n ; fn0",
        "v1 = call fn0()",
    );
    assert!(lines[0].starts_with("2:5: %f: %tid_y is declared as ();"));
    assert!(lines[1].starts_with("2:22: %f: %tid_x is declared as () -> i64;"));
}

/// Cranelift's verifier would print its sets of types, 800 characters of them.
#[test]
fn type_errors_are_readable() {
    assert_eq!(
        errors(
            "i64 f32",
            "v2 = uextend.i64 v0; v3 = bnot v1; v4 = fpromote.f64 v0"
        ),
        [
            "3:5: %f: v2 = uextend.i64 v0: arg 0 (v0) has type i64, which the instruction does not take",
            "5:5: %f: v4 = fpromote.f64 v0: arg 0 (v0) has type i64, which the instruction does not take",
        ]
    );
}

/// Blocks that cannot be reached are dropped with what stands in them.
#[test]
fn unreachable_code_is_not_looked_at() {
    let lines = common::ir(
        "function %f() {\nblock0:\n    return\nblock1(v0: i32x4):\n    v1 = iadd v0, v0\n    jump block1(v1)\n}",
    );
    assert_eq!(lines, ["block0:", "ret"]);
}

/// Each function's errors: of the scan, the reader, the verifier and the
/// lowering.
#[test]
fn all_functions_of_a_file() {
    assert_eq!(
        bad("stray
function %a() {
block0:
    v1 = no_such_opcode v0
}
function %b() {
block0:
    v0 = iconst.i32 0
    v1 = iconst.i64 0
    v2 = iadd v0, v1
    return v2
}
  function %c() {
block0:
    debugtrap
    return
}
function %d() {
block4294967294:
    return
}
function %e() {
block0:
    return
}
function %e() {
block0:
    return
}
function %g( {
function %h() { block0: return }"),
        [
            "1:1: expected 'function', found 'stray'",
            "4:5: %a: Unknown opcode: 'no_such_opcode'",
            "10:5: %b: v2 = iadd.i32 v0, v1: arg 1 (v1) has type i64, expected i32",
            "11:5: %b: return v2: arguments of return must match function signature",
            "15:5: %c: `debugtrap` is not supported: there is no debugger to trap into; use `trap`",
            "19:1: %d: 'block4294967294' is out of range: the limit is block99999",
            "26:1: %e: the name is taken by the function on line 22",
            "30:1: %g: expected parameter type",
        ]
    );
}
