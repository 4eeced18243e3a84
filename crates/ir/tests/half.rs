//! Half precision against exact arithmetic on integers, and at its edges.

use proptest::prelude::*;
use warpfold_ir::eval::eval;
use warpfold_ir::lane::{Float, f16};
use warpfold_ir::{
    FloatCC, Imm, InstData, Opcode, TrapCode, Type, Value, parse_function, print::Literal,
};

type Outcome = Result<u128, TrapCode>;

const INF: u16 = 0x7c00;
const NAN: u16 = 0x7e00;
const MAX: u16 = 0x7bff;

fn run(op: Opcode, ty: Type, imm: Imm, args: &[(Type, u128)]) -> Outcome {
    let values: Vec<_> = (0..args.len() as u32).map(Value::from_u32).collect();
    let types: Vec<_> = args.iter().map(|a| a.0).collect();
    let bits: Vec<_> = args.iter().map(|a| a.1).collect();
    eval(&InstData::new(op, ty, &values, imm), &types, &bits).expect("lane-wise")
}

/// An operation on half-precision numbers, as bits.
fn halves(op: Opcode, args: &[u16]) -> u16 {
    let args: Vec<_> = args.iter().map(|&a| (Type::F16, a.into())).collect();
    run(op, Type::F16, Imm::None, &args).expect("no trap") as u16
}

/// A finite number as a multiple of 2^-24.
fn exact(bits: u16) -> i128 {
    let (exponent, fraction) = (bits >> 10 & 31, i128::from(bits & 0x3ff));
    let magnitude = match exponent {
        0 => fraction,
        e => (fraction | 0x400) << (e - 1),
    };
    if bits >> 15 == 1 {
        -magnitude
    } else {
        magnitude
    }
}

/// The number nearest to a multiple of 2^-48, ties to even, by its bits.
fn nearest(x: i128) -> u16 {
    let magnitude = x.unsigned_abs();
    let top = 127 - (magnitude | 1).leading_zeros();
    // Bits below the last that the result has.
    let below = (top.max(10) - 10).max(24);
    let (mut kept, rest) = (magnitude >> below, magnitude & ((1 << below) - 1));
    let half = 1u128 << (below - 1);
    if rest > half || rest == half && kept & 1 == 1 {
        kept += 1;
    }
    // A carry into the next binade only adds to the exponent.
    let bits = (u128::from(below - 24) << 10) + kept;
    let sign = if x < 0 { 0x8000 } else { 0 };
    sign | bits.min(INF.into()) as u16
}

fn finite() -> impl Strategy<Value = u16> {
    prop_oneof![
        (any::<bool>(), 0..INF).prop_map(|(s, x)| u16::from(s) << 15 | x),
        // Near in exponent, so that products and sums meet.
        (any::<bool>(), 0x3000u16..0x4400).prop_map(|(s, x)| u16::from(s) << 15 | x),
        (any::<bool>(), 0u16..0x0900).prop_map(|(s, x)| u16::from(s) << 15 | x),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_operation_rounds_once(a in finite(), b in finite(), c in finite()) {
        let (x, y, z) = (exact(a), exact(b), exact(c) << 24);
        for (op, args, sum) in [
            (Opcode::Fma, &[a, b, c][..], x * y + z),
            (Opcode::Fmul, &[a, b][..], x * y),
            (Opcode::Fadd, &[a, b][..], (x + y) << 24),
            (Opcode::Fsub, &[a, b][..], (x - y) << 24),
        ] {
            let (got, want) = (halves(op, args), nearest(sum));
            // The sign of a zero has rules of its own.
            let mask = if want == 0 { 0x7fff } else { 0xffff };
            prop_assert_eq!(got & mask, want, "{} {:x?}", op, args);
        }
    }

    #[test]
    fn quotients_and_roots_are_nearest(a in finite(), b in finite()) {
        prop_assume!(exact(b) != 0);
        let q = f64::from(f16::from_bits(a)) / f64::from(f16::from_bits(b));
        // A quotient of 11-bit numbers is no tie that a double would hide.
        prop_assert_eq!(halves(Opcode::Fdiv, &[a, b]), f16::narrow(q).to_bits());
        let r = f64::from(f16::from_bits(a & 0x7fff)).sqrt();
        prop_assert_eq!(halves(Opcode::Sqrt, &[a & 0x7fff]), f16::narrow(r).to_bits());
    }
}

/// Between any two neighbours: the middle goes to the even one, anything
/// beside it to the nearer.
#[test]
fn a_double_is_rounded_once() {
    for low in 0..INF {
        let value = |bits| match bits {
            // Where the next binade would begin.
            INF => 65536.0,
            bits => f64::from(f16::from_bits(bits)),
        };
        let middle = (value(low) + value(low + 1)) / 2.0;
        let even = low + (low & 1);
        for (sign, bit) in [(1.0, 0), (-1.0, 0x8000)] {
            let narrow = |x: f64| f16::narrow(sign * x).to_bits();
            assert_eq!(narrow(value(low)), bit | low);
            assert_eq!(narrow(middle), bit | even, "{middle:e}");
            assert_eq!(narrow(middle.next_down()), bit | low, "{middle:e}");
            assert_eq!(narrow(middle.next_up()), bit | (low + 1), "{middle:e}");
        }
    }
    assert_eq!(f16::narrow(f64::MAX).to_bits(), INF);
    assert_eq!(f16::narrow(-5e-324).to_bits(), 0x8000);
    assert!(f16::narrow(f64::NAN).is_nan());
}

#[test]
fn fused_multiplication_at_the_edges() {
    let tiny = 0x0001;
    // 16 is half of an ulp of 32768: a tie, which goes to the even one, and which
    // anything more decides. A product far below does not move 32768 itself.
    assert_eq!(halves(Opcode::Fma, &[0x4c00, 0x3c00, 0x7800]), 0x7800);
    assert_eq!(halves(Opcode::Fma, &[0x4c00, 0x3c01, 0x7800]), 0x7801);
    assert_eq!(halves(Opcode::Fma, &[tiny, tiny, 0x7800]), 0x7800);
    assert_eq!(halves(Opcode::Fma, &[tiny, 0x8000 | tiny, 0x7800]), 0x7800);
    // 2^-24 · 2^-1 is half of the smallest number: a tie to zero, and above
    // it with any more.
    assert_eq!(halves(Opcode::Fma, &[tiny, 0x3800, 0]), 0);
    assert_eq!(halves(Opcode::Fma, &[tiny, 0x3801, 0]), 1);
    assert_eq!(halves(Opcode::Fma, &[tiny, 0x3800, 1]), 2);
    // (1 + 2^-10)² - (1 + 2^-9) = 2^-20.
    assert_eq!(halves(Opcode::Fma, &[0x3c01, 0x3c01, 0xbc02]), 0x0010);
    // The product alone is beyond the largest number, the sum is not.
    assert_eq!(halves(Opcode::Fma, &[MAX, 0x4000, 0x8000 | MAX]), MAX);
    assert_eq!(halves(Opcode::Fma, &[MAX, 0x4000, 0]), INF);
    assert_eq!(halves(Opcode::Fma, &[INF, 0x3c00, 0xbc00]), INF);
    assert!(f16::from_bits(halves(Opcode::Fma, &[INF, 0, 0x3c00])).is_nan());
    assert!(f16::from_bits(halves(Opcode::Fma, &[INF, 0x3c00, 0xfc00])).is_nan());
    assert_eq!(halves(Opcode::Fma, &[0x8000, 0x3c00, 0x8000]), 0x8000);
    assert_eq!(halves(Opcode::Fma, &[0x8000, 0x3c00, 0]), 0);
}

#[test]
fn zeros_infinities_and_nans() {
    assert_eq!(halves(Opcode::Fmin, &[0, 0x8000]), 0x8000);
    assert_eq!(halves(Opcode::Fmin, &[0x8000, 0]), 0x8000);
    assert_eq!(halves(Opcode::Fmax, &[0, 0x8000]), 0);
    assert_eq!(halves(Opcode::Fmax, &[0xfc00, 0xbc00]), 0xbc00);
    for op in [Opcode::Fmin, Opcode::Fmax, Opcode::Fadd] {
        assert!(f16::from_bits(halves(op, &[NAN, 0x3c00])).is_nan());
        assert!(f16::from_bits(halves(op, &[0x3c00, NAN])).is_nan());
    }
    // Signs are bits: payloads stay, a signalling NaN stays one.
    assert_eq!(halves(Opcode::Fneg, &[0x7d23]), 0xfd23);
    assert_eq!(halves(Opcode::Fabs, &[0xfc01]), 0x7c01);
    assert_eq!(halves(Opcode::Fcopysign, &[0x7c01, 0x8000]), 0xfc01);
    assert_eq!(halves(Opcode::Fdiv, &[0x3c00, 0x8000]), 0xfc00);
    assert_eq!(halves(Opcode::Sqrt, &[0x8000]), 0x8000);
    assert_eq!(halves(Opcode::Fadd, &[MAX, MAX]), INF);
    assert_eq!(halves(Opcode::Fsub, &[1, 1]), 0);
}

#[test]
fn rounding_to_whole_numbers() {
    for (x, [ceil, floor, trunc, near]) in [
        (0x3800, [0x3c00, 0, 0, 0]),
        (0xb800, [0x8000, 0xbc00, 0x8000, 0x8000]),
        (0x3e00, [0x4000, 0x3c00, 0x3c00, 0x4000]),
        (0x4100, [0x4200, 0x4000, 0x4000, 0x4000]),
        (0x0001, [0x3c00, 0, 0, 0]),
        (MAX, [MAX; 4]),
        (INF, [INF; 4]),
        (0x8000, [0x8000; 4]),
    ] {
        assert_eq!(halves(Opcode::Ceil, &[x]), ceil, "{x:x}");
        assert_eq!(halves(Opcode::Floor, &[x]), floor, "{x:x}");
        assert_eq!(halves(Opcode::Trunc, &[x]), trunc, "{x:x}");
        assert_eq!(halves(Opcode::Nearest, &[x]), near, "{x:x}");
    }
}

#[test]
fn comparisons() {
    let holds = |cc, a: u16, b: u16| {
        let args = [(Type::F16, a.into()), (Type::F16, b.into())];
        run(Opcode::Fcmp, Type::F16, Imm::Fcc(cc), &args) == Ok(1)
    };
    assert!(holds(FloatCC::Eq, 0, 0x8000));
    assert!(holds(FloatCC::Lt, 0xfc00, 0x8001));
    assert!(holds(FloatCC::Uno, NAN, NAN));
    assert!(holds(FloatCC::Ne, NAN, NAN));
    assert!(!holds(FloatCC::Eq, NAN, NAN));
    assert!(!holds(FloatCC::Ge, NAN, 0));
    assert!(holds(FloatCC::Ult, NAN, 0));
    assert!(holds(FloatCC::Gt, 2, 1));
}

fn convert(op: Opcode, to: Type, from: Type, bits: u128) -> Outcome {
    run(op, to, Imm::None, &[(from, bits)])
}

#[test]
fn between_the_float_types() {
    let demote = |from, bits| convert(Opcode::Fdemote, Type::F16, from, bits);
    let double = |x: f64| demote(Type::F64, u128::from(x.to_bits()));
    // By way of f32 this would be a tie and go down.
    let above = 1.0 + 2f64.powi(-11) + 2f64.powi(-40);
    assert_eq!(double(above), Ok(0x3c01));
    assert_eq!(double(1.0 + 2f64.powi(-11)), Ok(0x3c00));
    assert_eq!(double(65519.99999999999), Ok(MAX.into()));
    assert_eq!(double(65520.0), Ok(INF.into()));
    assert_eq!(double(-2f64.powi(-25)), Ok(0x8000));
    assert_eq!(double((2f64.powi(-25)).next_up()), Ok(1));
    let single = |x: f32| demote(Type::F32, u128::from(x.to_bits()));
    assert_eq!(single(65519.996), Ok(MAX.into()));
    assert_eq!(single(f32::MIN_POSITIVE), Ok(0));
    assert_eq!(single(-f32::INFINITY), Ok(0xfc00));
    for bits in 0..=u16::MAX {
        let x = f16::from_bits(bits);
        if x.is_nan() {
            continue;
        }
        for ty in [Type::F32, Type::F64] {
            let wide = convert(Opcode::Fpromote, ty, Type::F16, bits.into()).expect("no trap");
            assert_eq!(demote(ty, wide), Ok(bits.into()), "{bits:x} by {ty}");
        }
    }
    let one = convert(Opcode::Fpromote, Type::F32, Type::F16, 0x3c00);
    assert_eq!(one, Ok(u128::from(1f32.to_bits())));
}

#[test]
fn from_integers() {
    let from = |op, ty: Type, x: i128| convert(op, Type::F16, ty, x as u128 & ty.mask());
    let (u, s) = (Opcode::FcvtFromUint, Opcode::FcvtFromSint);
    assert_eq!(from(u, Type::I8, 255), Ok(0x5bf8));
    assert_eq!(from(s, Type::I8, -1), Ok(0xbc00));
    assert_eq!(from(s, Type::I8, -128), Ok(0xd800));
    assert_eq!(from(u, Type::I16, 2049), Ok(0x6800), "a tie to even");
    assert_eq!(from(u, Type::I16, 2051), Ok(0x6802), "a tie to even");
    assert_eq!(from(u, Type::I16, 65519), Ok(MAX.into()));
    assert_eq!(from(u, Type::I32, 65520), Ok(INF.into()));
    assert_eq!(from(s, Type::I32, i32::MIN.into()), Ok(0xfc00));
    assert_eq!(from(u, Type::I64, -1), Ok(INF.into()));
    assert_eq!(from(u, Type::I128, -1), Ok(INF.into()));
    assert_eq!(from(s, Type::I128, i128::MIN), Ok(0xfc00));
    assert_eq!(from(s, Type::I128, -2), Ok(0xc000));
    assert_eq!(from(u, Type::I128, 0), Ok(0));
}

#[test]
fn to_integers() {
    let trapping = |op, ty: Type, x: u16| convert(op, ty, Type::F16, x.into());
    let (u, s) = (Opcode::FcvtToUint, Opcode::FcvtToSint);
    let overflow = Err(TrapCode::IntegerOverflow);
    assert_eq!(trapping(u, Type::I16, MAX), Ok(65504));
    assert_eq!(trapping(s, Type::I16, MAX), overflow);
    assert_eq!(trapping(u, Type::I8, 0x5bff), Ok(255), "255.875");
    assert_eq!(trapping(u, Type::I8, 0x5c00), overflow);
    assert_eq!(trapping(u, Type::I8, 0xbbff), Ok(0), "just above -1");
    assert_eq!(trapping(u, Type::I8, 0xbc00), overflow);
    assert_eq!(trapping(s, Type::I8, 0xd807), Ok(0x80), "-128.875");
    assert_eq!(trapping(s, Type::I8, 0xd808), overflow);
    assert_eq!(trapping(s, Type::I128, INF), overflow);
    assert_eq!(
        trapping(u, Type::I64, NAN),
        Err(TrapCode::BadConversionToInteger)
    );
    let (u, s) = (Opcode::FcvtToUintSat, Opcode::FcvtToSintSat);
    assert_eq!(trapping(u, Type::I8, INF), Ok(255));
    assert_eq!(trapping(s, Type::I16, 0xfc00), Ok(0x8000));
    assert_eq!(trapping(u, Type::I128, INF), Ok(u128::MAX));
    assert_eq!(trapping(s, Type::I128, INF), Ok(u128::MAX >> 1));
    assert_eq!(trapping(s, Type::I32, NAN), Ok(0));
    assert_eq!(trapping(u, Type::I32, 0xc500), Ok(0));
}

/// Every bit pattern is printed so that it is read back.
#[test]
fn constants_round_trip() {
    let mut text = String::from("function %f() {\nblock0:\n");
    for bits in 0..=u16::MAX {
        let literal = Literal(Type::F16, bits.into());
        text.push_str(&format!("    v{bits} = const.f16 {literal}\n"));
    }
    text.push_str("    ret\n}\n");
    let func = parse_function(&text).unwrap_or_else(|e| panic!("{e}"));
    for (n, (_, i)) in func.laid_out_insts().enumerate() {
        assert_eq!(func.inst(i).imm, Imm::Bits(n as u128));
    }
    assert_eq!(func.to_string(), text);
    let literal = |bits| Literal(Type::F16, bits).to_string();
    assert_eq!(literal(0x3c00), "1.0");
    assert_eq!(literal(0x8000), "-0.0");
    assert_eq!(literal(0xfc00), "-inf");
    assert_eq!(literal(0x7e01), "nan:0x7e01");
    assert_eq!(literal(0x7bff), "65504.0");
}

#[test]
fn constants_that_are_none() {
    for (literal, found) in [
        (
            "65520",
            "a number that fits f16, `inf`, `-inf` or `nan:0x…`",
        ),
        ("nan:0x7c00", "the bits of a NaN of type f16"),
        ("nan:0x17e00", "the bits of a NaN of type f16"),
    ] {
        let text =
            format!("function %f() {{\nblock0:\n    v0 = const.f16 {literal}\n    ret\n}}\n");
        let error = parse_function(&text).expect_err(literal).to_string();
        assert!(error.contains(&format!("expected {found}")), "{error}");
    }
}
