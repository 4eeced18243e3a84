//! Math functions: their edges, and bits that must not depend on the platform.

use warpfold_ir::eval::eval;
use warpfold_ir::lane::f16;
use warpfold_ir::{CostClass, Imm, InstData, Opcode, Type, Value};

fn bits(op: Opcode, ty: Type, args: &[u128]) -> u128 {
    let values: Vec<_> = (0..args.len() as u32).map(Value::from_u32).collect();
    eval(
        &InstData::new(op, ty, &values, Imm::None),
        &vec![ty; args.len()],
        args,
    )
    .expect("lane-wise")
    .expect("no trap")
}

fn f64s(op: Opcode, args: &[f64]) -> f64 {
    let args: Vec<_> = args.iter().map(|x| u128::from(x.to_bits())).collect();
    f64::from_bits(bits(op, Type::F64, &args) as u64)
}

fn f32s(op: Opcode, args: &[f32]) -> f32 {
    let args: Vec<_> = args.iter().map(|x| u128::from(x.to_bits())).collect();
    f32::from_bits(bits(op, Type::F32, &args) as u32)
}

fn f16s(op: Opcode, args: &[f32]) -> f32 {
    let half = |x: &f32| u128::from(f16::from_f32(*x).to_bits());
    let args: Vec<_> = args.iter().map(half).collect();
    f16::from_bits(bits(op, Type::F16, &args) as u16).to_f32()
}

const ROWS: [(Opcode, usize); 11] = [
    (Opcode::Sin, 1),
    (Opcode::Cos, 1),
    (Opcode::Tan, 1),
    (Opcode::Exp, 1),
    (Opcode::Exp2, 1),
    (Opcode::Log, 1),
    (Opcode::Log2, 1),
    (Opcode::Pow, 2),
    (Opcode::Rsqrt, 1),
    (Opcode::Atan2, 2),
    (Opcode::Tanh, 1),
];

#[test]
fn edges() {
    use std::f64::consts::{FRAC_PI_2, PI};
    const INF: f64 = f64::INFINITY;
    for (op, args, want) in [
        (Opcode::Sin, &[0.0][..], 0.0),
        (Opcode::Sin, &[-0.0], -0.0),
        (Opcode::Cos, &[-0.0], 1.0),
        (Opcode::Tan, &[-0.0], -0.0),
        (Opcode::Exp, &[0.0], 1.0),
        (Opcode::Exp, &[-INF], 0.0),
        (Opcode::Exp, &[1e9], INF),
        (Opcode::Exp2, &[10.0], 1024.0),
        (Opcode::Exp2, &[-1.0], 0.5),
        (Opcode::Log, &[1.0], 0.0),
        (Opcode::Log, &[-0.0], -INF),
        (Opcode::Log2, &[8.0], 3.0),
        (Opcode::Log2, &[INF], INF),
        (Opcode::Pow, &[f64::NAN, 0.0], 1.0),
        (Opcode::Pow, &[1.0, f64::NAN], 1.0),
        (Opcode::Pow, &[0.0, -1.0], INF),
        (Opcode::Pow, &[-0.0, -1.0], -INF),
        (Opcode::Pow, &[-2.0, 3.0], -8.0),
        (Opcode::Rsqrt, &[0.0], INF),
        (Opcode::Rsqrt, &[-0.0], -INF),
        (Opcode::Rsqrt, &[4.0], 0.5),
        (Opcode::Rsqrt, &[INF], 0.0),
        (Opcode::Atan2, &[0.0, 1.0], 0.0),
        (Opcode::Atan2, &[-0.0, 1.0], -0.0),
        (Opcode::Atan2, &[0.0, -0.0], PI),
        (Opcode::Atan2, &[-0.0, -1.0], -PI),
        (Opcode::Atan2, &[1.0, 0.0], FRAC_PI_2),
        (Opcode::Tanh, &[INF], 1.0),
        (Opcode::Tanh, &[-0.0], -0.0),
    ] {
        let name = format!("{op} {args:?}");
        assert_eq!(f64s(op, args).to_bits(), want.to_bits(), "{name}");
        let single: Vec<f32> = args.iter().map(|&x| x as f32).collect();
        let want = want as f32;
        assert_eq!(f32s(op, &single).to_bits(), want.to_bits(), "{name}");
        let want = f16::from_f32(want).to_f32();
        assert_eq!(f16s(op, &single).to_bits(), want.to_bits(), "{name}");
    }
    for (op, x) in [
        (Opcode::Sin, INF),
        (Opcode::Cos, -INF),
        (Opcode::Tan, INF),
        (Opcode::Log, -1.0),
        (Opcode::Log2, -INF),
        (Opcode::Rsqrt, -1.0),
    ] {
        assert!(f64s(op, &[x]).is_nan(), "{op}");
        assert!(f32s(op, &[x as f32]).is_nan(), "{op}");
        assert!(f16s(op, &[x as f32]).is_nan(), "{op}");
    }
    assert!(f64s(Opcode::Pow, &[-1.0, 0.5]).is_nan());
    // One NaN for all, whatever the operands' sign and payload.
    for (op, n) in ROWS {
        for (ty, nan, quiet) in [
            (Type::F16, 0xfe01, 0x7e00),
            (Type::F32, 0xff80_0001, 0x7fc0_0000),
            (Type::F64, 0xfff8_0000_0000_0007, 0x7ff8_0000_0000_0000),
        ] {
            assert_eq!(bits(op, ty, &vec![nan; n]), quiet, "{op}.{ty}");
        }
    }
    let infinite = [
        (Type::F16, 0x7c00),
        (Type::F32, 0x7f80_0000),
        (Type::F64, 0x7ff << 52),
    ];
    for (ty, x) in infinite {
        let quiet = bits(Opcode::Log, ty, &[ty.mask()]);
        assert_eq!(bits(Opcode::Sin, ty, &[x]), quiet);
        assert_eq!(bits(Opcode::Rsqrt, ty, &[x | 1 << (ty.bits() - 1)]), quiet);
    }
}

/// Recorded once; the same everywhere.
#[test]
fn bits_of_the_library() {
    let mut text = String::new();
    for (op, n) in ROWS {
        let x = [1.2345678f64, 0.7];
        let y = x.map(|x| x as f32);
        let d = f64s(op, &x[..n]).to_bits();
        let s = f32s(op, &y[..n]).to_bits();
        let h = f16::from_f32(f16s(op, &y[..n])).to_bits();
        text.push_str(&format!("{op} {d:#x} {s:#x} {h:#x}\n"));
    }
    assert_eq!(text, GOLDEN);
}

const GOLDEN: &str = "\
sin 0x3fee354b6e9323c9 0x3f71aa5b 0x3b8d
cos 0x3fd51d8f2c85302b 0x3ea8ec7b 0x3548
tan 0x4006e3d086bb94fe 0x40371e82 0x41b8
exp 0x400b7ec1a3962be9 0x405bf60c 0x42df
exp2 0x4002d32a830dcc73 0x40169954 0x40b5
log 0x3fcaf8e770f246d8 0x3e57c73a 0x32bd
log2 0x3fd374d5de980be1 0x3e9ba6ad 0x34dc
pow 0x3ff28b034beac2f1 0x3f94581a 0x3ca3
rsqrt 0x3feccccce09c4c35 0x3f666667 0x3b33
atan2 0x3ff0e14271e0e157 0x3f870a14 0x3c38
tanh 0x3feb0138d6bc8229 0x3f5809c6 0x3ac0
";

#[test]
fn their_own_cost_class() {
    for (op, n) in ROWS {
        assert_eq!(op.cost_class(Type::F16), CostClass::Math);
        assert_eq!(op.cost_class(Type::F32), CostClass::Math);
        assert_eq!(op.cost_class(Type::F64), CostClass::Math64);
        assert!(op.effects().is_pure(), "{op}");
        assert_eq!(op.shape().operands().len(), n);
    }
    let math = Opcode::ALL
        .iter()
        .filter(|o| o.info().class == CostClass::Math);
    assert_eq!(math.count(), ROWS.len());
}
