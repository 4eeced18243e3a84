//! Lowering of single instructions: every direct row of the table, and each
//! arm.

mod common;

use common::{check, good, plain};
use warpfold_clif::cranelift_codegen::ir::Opcode;
use warpfold_clif::cranelift_codegen::ir::instructions::InstructionFormat;
use warpfold_clif::cranelift_codegen::ir::types::I32;
use warpfold_clif::{ReadOptions, Rule, Triple, read, rule};

/// Each direct row, in a type or types that it takes: one instruction of the
/// same name on the same operands, its type the result's.
#[test]
fn direct_rows() {
    let mut seen = 0;
    for &op in Opcode::all() {
        let Rule::Direct(ir) = rule(op) else {
            continue;
        };
        seen += 1;
        let name = op.to_string();
        let (from, to): (&str, &str) = match op {
            Opcode::Uextend | Opcode::Sextend => ("i16", "i64"),
            Opcode::Ireduce => ("i64", "i8"),
            Opcode::Fpromote => ("f32", "f64"),
            Opcode::Fdemote => ("f64", "f32"),
            Opcode::Bitcast => ("i64", "f64"),
            Opcode::FcvtFromSint | Opcode::FcvtFromUint => ("i32", "f64"),
            Opcode::FcvtToSint | Opcode::FcvtToUint => ("f64", "i32"),
            Opcode::FcvtToSintSat | Opcode::FcvtToUintSat => ("f32", "i64"),
            Opcode::StackAddr => continue,
            _ if op.can_load() => ("i64", "i64"),
            _ if op.can_store() => ("i32", "i32"),
            _ => match op.constraints().ctrl_typeset() {
                Some(set) if set.contains(I32) => ("i32", "i32"),
                _ => ("f32", "f32"),
            },
        };
        let (types, operands) = match op.format() {
            InstructionFormat::Unary | InstructionFormat::LoadNoOffset => (from.into(), "v0"),
            InstructionFormat::Binary => (format!("{from} {from}"), "v0, v1"),
            InstructionFormat::Ternary => (format!("{from} {from} {from}"), "v0, v1, v2"),
            InstructionFormat::Load => ("i64".into(), "v0-8"),
            InstructionFormat::Store => (format!("{from} i64"), "v0, v1+12"),
            InstructionFormat::StoreNoOffset => (format!("{from} i64"), "v0, v1"),
            other => panic!("{name} has format {other:?}"),
        };
        let n = types.split_whitespace().count();
        if op.can_store() && !matches!(op, Opcode::Store | Opcode::AtomicStore) {
            // The narrow stores take wider integers only.
            check(
                "i64 i64",
                &format!("{name} {operands}"),
                &format!("{ir}.i64 {operands}"),
            );
        } else if op.can_store() {
            check(
                &types,
                &format!("{name} {operands}"),
                &format!("{ir}.{from} {operands}"),
            );
        } else {
            check(
                &types,
                &format!("v9 = {name}.{to} {operands}"),
                &format!("v{n} = {ir}.{to} {operands}"),
            );
        }
    }
    assert_eq!(seen, 71);
}

#[test]
fn types() {
    for ty in ["i8", "i16", "i32", "i64", "i128"] {
        check(
            &format!("{ty} {ty}"),
            "v2 = iadd v0, v1; v3 = sdiv v2, v1",
            &format!("v2 = iadd.{ty} v0, v1; v3 = sdiv.{ty} v2, v1"),
        );
    }
    check("i128 i8", "v2 = ishl v0, v1", "v2 = ishl.i128 v0, v1");
    check("f64 f64", "v2 = fmin v0, v1", "v2 = fmin.f64 v0, v1");
    check(
        "f32",
        "v1 = fcvt_to_sint_sat.i8 v0",
        "v1 = fcvt_to_sint_sat.i8 v0",
    );
    check(
        "i32",
        "v1 = bitcast.i32 v0; v2 = iadd v1, v0",
        "v1 = iadd.i32 v0, v0",
    );
}

#[test]
fn constants() {
    check("", "v0 = iconst.i8 -1", "v0 = const.i8 -1");
    check(
        "",
        "v0 = iconst.i64 0x8000_0000_0000_0000",
        "v0 = const.i64 -9223372036854775808",
    );
    check("", "v0 = f32const -0x1.8p1", "v0 = const.f32 -3.0");
    check(
        "",
        "v0 = f64const +NaN:0x7",
        "v0 = const.f64 nan:0x7ff8000000000007",
    );
    check(
        "",
        "v0 = f16const 0x1.8p1; v1 = f16const -NaN:0x7; v2 = f16const -Inf",
        "v0 = const.f16 3.0; v1 = const.f16 nan:0xfe07; v2 = const.f16 -inf",
    );
    // 0 and 1 might be truth values; unused ones are not kept.
    check(
        "",
        "v0 = iconst.i32 1; v1 = iconst.i32 2",
        "v1 = const.i32 2",
    );
    check(
        "i32",
        "v1 = iconst.i32 1; v2 = iadd v0, v1",
        "v1 = const.i32 1; v2 = iadd.i32 v0, v1",
    );
}

#[test]
fn memory() {
    check(
        "i64",
        "v1 = load.f32 notrap aligned v0+4; v2 = load.i16 readonly can_move v0-2; v3 = uload8.i32 little v0",
        "v1 = load.f32 notrap aligned v0+4; v2 = load.i16 can_move readonly v0-2; v3 = uload8.i32 v0",
    );
    check(
        "i64 i128",
        "store aligned v1, v0",
        "store.i128 aligned v1, v0",
    );
    // One byte has no byte order.
    check(
        "i64",
        "v1 = load.i8 big v0; v2 = sload8.i64 big v0",
        "v1 = load.i8 v0; v2 = sload8.i64 v0",
    );
    // Byte order and trap codes stay with the access.
    check(
        "i64 f64",
        "v2 = load.i32 big v0; v3 = uload16.i64 big user3 v0; store notrap big v1, v0; v4 = load.i8 int_ovf v0",
        "v2 = load.i32 big v0; v3 = uload16.i64 big user3 v0; store.f64 notrap big v1, v0; v4 = load.i8 int_ovf v0",
    );
    check("i64", "v1 = load.i8 heap_oob v0", "v1 = load.i8 v0");
    let lines = common::ir(
        "function %f() -> i64 {
    ss1 = explicit_slot 16, align = 4
    ss3 = explicit_slot 1
block0:
    v0 = stack_addr.i64 ss3
    v1 = stack_addr.i64 ss1+8
    store v0, v1
    return v1
}",
    );
    assert_eq!(
        lines,
        [
            "ss0 = slot 16, align 4",
            "ss1 = slot 1, align 1",
            "block0:",
            "v0 = stack_addr.i64 ss1",
            "v1 = stack_addr.i64 ss0+8",
            "store.i64 v0, v1",
            "ret v1",
        ]
    );
}

#[test]
fn atomics() {
    for (op, ir) in [
        ("add", "add"),
        ("sub", "sub"),
        ("and", "and"),
        ("nand", "nand"),
        ("or", "or"),
        ("xor", "xor"),
        ("xchg", "xchg"),
        ("umin", "umin"),
        ("umax", "umax"),
        ("smin", "smin"),
        ("smax", "smax"),
    ] {
        for ty in ["i8", "i16", "i32", "i64", "i128"] {
            check(
                &format!("i64 {ty}"),
                &format!("v2 = atomic_rmw.{ty} {op} v0, v1"),
                &format!("v2 = atomic_{ir}.{ty} v1, v0"),
            );
        }
    }
    check(
        "i64 i16 i16",
        "v3 = atomic_cas big v0, v1, v2; v4 = atomic_load.i16 notrap v0; atomic_store v4, v0; fence",
        "v3 = atomic_cas.i16 big v1, v2, v0; v4 = atomic_load.i16 notrap v0; atomic_store.i16 v4, v0; fence",
    );
    // A truth value is a number in memory.
    check(
        "i64 i32",
        "v2 = icmp eq v1, v1; v3 = atomic_rmw.i8 or v0, v2",
        "v2 = icmp.i32 eq v1, v1; v3 = bint.i8 v2; v4 = atomic_or.i8 v3, v0",
    );
}

#[test]
fn half_precision() {
    check(
        "f16 f32 f64 i16",
        "v4 = fpromote.f64 v0; v5 = fdemote.f16 v2; v6 = fma v0, v5, v0; v7 = bitcast.f16 v3; \
         v8 = fcmp lt v6, v7; v9 = select v8, v6, v7; v10 = fcvt_to_sint.i128 v9; \
         v11 = fcvt_from_uint.f16 v3",
        "v4 = fpromote.f64 v0; v5 = fdemote.f16 v2; v6 = fma.f16 v0, v5, v0; v7 = bitcast.f16 v3; \
         v8 = fcmp.f16 lt v6, v7; v9 = select.f16 v8, v6, v7; v10 = fcvt_to_sint.i128 v9; \
         v11 = fcvt_from_uint.f16 v3",
    );
    check(
        "f16 f16",
        "v2 = bxor v0, v1",
        "v2 = bitcast.i16 v0; v3 = bitcast.i16 v1; v4 = bxor.i16 v2, v3; v5 = bitcast.f16 v4",
    );
}

#[test]
fn math_functions() {
    let rows = "sin cos tan exp exp2 log log2 pow rsqrt atan2 tanh";
    for name in rows.split(' ') {
        for (suffix, ty) in [("", "f64"), ("f", "f32"), ("f16", "f16")] {
            let (params, args) = match name {
                "pow" | "atan2" => (format!("{ty}, {ty}"), "v0, v0"),
                _ => (ty.to_string(), "v0"),
            };
            let lines = common::ir(&format!(
                "function %f({ty}) -> {ty} {{\n    fn0 = %{name}{suffix}({params}) -> {ty}\n\
                 block0(v0: {ty}):\n    v1 = call fn0({args})\n    return v1\n}}"
            ));
            assert_eq!(lines[1], format!("v1 = {name}.{ty} {args}"));
        }
    }
}

#[test]
fn pointers_of_32_bits() {
    let text = common::straight("i32", "v1 = load.i32 v0; store v1, v0");
    let opts = ReadOptions {
        triple: "wasm32-unknown-unknown"
            .parse::<Triple>()
            .expect("a triple"),
    };
    let lowered = read(&text, &opts).expect("32-bit addresses");
    assert_eq!(
        plain(&lowered[0]),
        [
            "block0(v0: i32):",
            "v1 = load.i32 v0",
            "store.i32 v1, v0",
            "ret"
        ]
    );
    let errors = read(&text, &ReadOptions::default()).expect_err("64-bit pointers");
    assert_eq!(errors.len(), 2);
}

#[test]
fn several_instructions() {
    check(
        "i32 i32 i32",
        "v3 = bitselect v0, v1, v2",
        "v3 = band.i32 v1, v0; v4 = band_not.i32 v2, v0; v5 = bor.i32 v3, v4",
    );
    check(
        "f32 f32 f32",
        "v3 = bitselect v0, v1, v2",
        "v3 = bitcast.i32 v0; v4 = bitcast.i32 v1; v5 = bitcast.i32 v2; v6 = band.i32 v4, v3; \
         v7 = band_not.i32 v5, v3; v8 = bor.i32 v6, v7; v9 = bitcast.f32 v8",
    );
    check(
        "i16",
        "v1 = bmask.i32 v0",
        "v1 = const.i16 0; v2 = icmp.i16 ne v0, v1; v3 = const.i32 -1; v4 = const.i32 0; \
         v5 = select.i32 v2, v3, v4",
    );
    check(
        "i64",
        "v1, v2 = isplit v0; v3 = iconcat v2, v1",
        "v1 = const.i64 32; v2 = ushr.i64 v0, v1; v3 = ireduce.i32 v0; v4 = ireduce.i32 v2; \
         v5 = uextend.i64 v4; v6 = uextend.i64 v3; v7 = ishl.i64 v6, v1; v8 = bor.i64 v5, v7",
    );
    check(
        "i64 i64",
        "v2 = iconcat v0, v1; v3 = popcnt v2",
        "v2 = uextend.i128 v0; v3 = uextend.i128 v1; v4 = const.i128 64; v5 = ishl.i128 v3, v4; v6 = bor.i128 v2, v5; v7 = popcnt.i128 v6",
    );
    check("", "nop; sequence_point", "");
}

#[test]
fn bitwise_logic_on_floats() {
    check(
        "f32 f32",
        "v2 = bxor v0, v1; v3 = bnot v2",
        "v2 = bitcast.i32 v0; v3 = bitcast.i32 v1; v4 = bxor.i32 v2, v3; v5 = bitcast.f32 v4; \
         v6 = bitcast.i32 v5; v7 = bnot.i32 v6; v8 = bitcast.f32 v7",
    );
    check(
        "f64 f64",
        "v2 = band v0, v1; v3 = bor v2, v0",
        "v2 = bitcast.i64 v0; v3 = bitcast.i64 v1; v4 = band.i64 v2, v3; v5 = bitcast.f64 v4; \
         v6 = bitcast.i64 v5; v7 = bitcast.i64 v0; v8 = bor.i64 v6, v7; v9 = bitcast.f64 v8",
    );
}

#[test]
fn carries() {
    check(
        "i32 i32",
        "v2, v3 = uadd_overflow v0, v1; trapnz v3, user1",
        "v2 = iadd.i32 v0, v1; v3 = icmp.i32 ult v2, v0; trap if v3, user1",
    );
    check(
        "i32 i32 i8",
        "v3, v4 = uadd_overflow_cin v0, v1, v2",
        "v3 = iadd.i32 v0, v1; v4 = icmp.i32 ult v3, v0; v5 = const.i8 0; v6 = icmp.i8 ne v2, v5; \
         v7 = bint.i32 v6; v8 = iadd.i32 v3, v7; v9 = icmp.i32 ult v8, v3; v10 = or v4, v9",
    );
    check(
        "i32 i32",
        "v2, v3 = usub_overflow v0, v1; v4, v5 = usub_overflow_bin v0, v1, v3",
        "v2 = isub.i32 v0, v1; v3 = icmp.i32 ult v0, v1; v4 = isub.i32 v0, v1; v5 = icmp.i32 ult v0, v1; \
         v6 = bint.i32 v3; v7 = isub.i32 v4, v6; v8 = icmp.i32 ult v4, v6; v9 = or v5, v8",
    );
    check(
        "i8 i8",
        "v2, v3 = sadd_overflow v0, v1",
        "v2 = iadd.i8 v0, v1; v3 = bxor.i8 v0, v2; v4 = bxor.i8 v1, v2; v5 = band.i8 v3, v4; \
         v6 = const.i8 0; v7 = icmp.i8 slt v5, v6",
    );
    check(
        "i8 i8",
        "v2, v3 = ssub_overflow v0, v1",
        "v2 = isub.i8 v0, v1; v3 = bxor.i8 v0, v2; v4 = bxor.i8 v0, v1; v5 = band.i8 v3, v4; \
         v6 = const.i8 0; v7 = icmp.i8 slt v5, v6",
    );
    check(
        "i8 i8",
        "v2, v3 = sadd_overflow v0, v1; v4, v5 = sadd_overflow_cin v0, v1, v3",
        "v2 = iadd.i8 v0, v1; v3 = bxor.i8 v0, v2; v4 = bxor.i8 v1, v2; v5 = band.i8 v3, v4; \
         v6 = const.i8 0; v7 = icmp.i8 slt v5, v6; v8 = iadd.i8 v0, v1; v9 = bint.i8 v7; \
         v10 = iadd.i8 v8, v9; v11 = bxor.i8 v0, v10; v12 = bxor.i8 v1, v10; \
         v13 = band.i8 v11, v12; v14 = icmp.i8 slt v13, v6",
    );
    check(
        "i64 i64",
        "v2, v3 = umul_overflow v0, v1; v4, v5 = smul_overflow v0, v1",
        "v2 = imul.i64 v0, v1; v3 = umulhi.i64 v0, v1; v4 = const.i64 0; v5 = icmp.i64 ne v3, v4; \
         v6 = imul.i64 v0, v1; v7 = smulhi.i64 v0, v1; v8 = const.i64 63; v9 = sshr.i64 v6, v8; \
         v10 = icmp.i64 ne v7, v9",
    );
    check(
        "i64 i64",
        "v2 = uadd_overflow_trap v0, v1, user9",
        "v2 = iadd.i64 v0, v1; v3 = icmp.i64 ult v2, v0; trap if v3, user9",
    );
}

/// The expansions compute what they should, over all pairs of bytes and both
/// carries.
#[test]
fn carries_compute() {
    use warpfold_ir::eval::eval;
    // The exact result; and whether it is taken as signed.
    type Reference = fn(i32, i32, i32) -> i32;
    let cases: [(&str, bool, Reference); 10] = [
        ("uadd_overflow", false, |a, b, _| a + b),
        ("usub_overflow", false, |a, b, _| a - b),
        ("umul_overflow", false, |a, b, _| a * b),
        ("sadd_overflow", true, |a, b, _| a + b),
        ("ssub_overflow", true, |a, b, _| a - b),
        ("smul_overflow", true, |a, b, _| a * b),
        ("uadd_overflow_cin", false, |a, b, c| a + b + c),
        ("usub_overflow_bin", false, |a, b, c| a - b - c),
        ("sadd_overflow_cin", true, |a, b, c| a + b + c),
        ("ssub_overflow_bin", true, |a, b, c| a - b - c),
    ];
    for (op, signed, exact) in cases {
        let carries = op.ends_with("in");
        let text = format!(
            "function %f(i8, i8, i8) -> i8, i8 {{\nblock0(v0: i8, v1: i8, v2: i8):\n\
             v3, v4 = {op} v0, v1{}\nreturn v3, v4\n}}",
            if carries { ", v2" } else { "" }
        );
        let lowered = good(&text);
        let func = &lowered[0].func;
        let block = func.layout[0];
        let warpfold_ir::Terminator::Ret(returned) = func.term(block) else {
            panic!("no return");
        };
        // Any carry but 0 counts as 1.
        let carry_in: &[u8] = if carries { &[0, 1, 0x80] } else { &[0] };
        for (a, b, c) in (0..=255u8)
            .flat_map(|a| (0..=255u8).map(move |b| (a, b)))
            .flat_map(|(a, b)| carry_in.iter().map(move |&c| (a, b, c)))
        {
            let mut values = vec![0u128; func.num_values()];
            let at = |v: warpfold_ir::Value| v.as_u32() as usize;
            for (&p, x) in func.block(block).params.iter().zip([a, b, c]) {
                values[at(p)] = x.into();
            }
            for &i in &func.block(block).insts {
                let data = func.inst(i);
                let types: Vec<_> = data.args.iter().map(|&v| func.ty(v)).collect();
                let args: Vec<_> = data.args.iter().map(|&v| values[at(v)]).collect();
                let result = eval(data, &types, &args)
                    .expect("lane-wise")
                    .expect("no trap");
                values[at(data.results[0])] = result;
            }
            let got = (values[at(returned[0])] as u8, values[at(returned[1])] == 1);
            let wide = |x: u8| if signed { i32::from(x as i8) } else { x.into() };
            let result = exact(wide(a), wide(b), i32::from(c != 0));
            let expected = (result as u8, wide(result as u8) != result);
            assert_eq!(got, expected, "{op} {a} {b} {c}");
        }
    }
}

#[test]
fn origins() {
    let lowered = good(&common::straight(
        "i32",
        "v1 = iadd v0, v0; v2 = isub v1, v0",
    ));
    assert_eq!(
        lowered[0].func.to_string(),
        "function %f(i32) {\n\
         block0(v0: i32):\n    \
             v1 = iadd.i32 v0, v0 @0:3\n    \
             v2 = isub.i32 v1, v0 @1:4\n    \
             ret @2:5\n\
         }\n"
    );
}
