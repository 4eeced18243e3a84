//! The scalar meaning of opcodes at the edges of their domain.

mod common;

use proptest::prelude::*;
use warpfold_ir::eval::eval;
use warpfold_ir::{FloatCC, Imm, InstData, IntCC, Opcode, TrapCode, Type, Value};

type Outcome = Result<u128, TrapCode>;

const ZERO_DIVISOR: Outcome = Err(TrapCode::IntegerDivisionByZero);
const OVERFLOW: Outcome = Err(TrapCode::IntegerOverflow);
const BAD: Outcome = Err(TrapCode::BadConversionToInteger);

const INTS: [Type; 5] = [Type::I8, Type::I16, Type::I32, Type::I64, Type::I128];

fn run_imm(op: Opcode, ty: Type, imm: Imm, args: &[(Type, u128)]) -> Outcome {
    let values: Vec<_> = (0..args.len() as u32).map(Value::from_u32).collect();
    let types: Vec<_> = args.iter().map(|a| a.0).collect();
    let bits: Vec<_> = args.iter().map(|a| a.1).collect();
    let out = eval(&InstData::new(op, ty, &values, imm), &types, &bits).expect("lane-wise");
    if let Ok(bits) = out {
        let result = InstData::new(op, ty, &[], imm)
            .result_type()
            .expect("a result");
        assert_eq!(
            bits & !result.mask(),
            0,
            "{op}.{ty} leaves bits above its type"
        );
    }
    out
}

fn run(op: Opcode, ty: Type, args: &[(Type, u128)]) -> Outcome {
    run_imm(op, ty, Imm::None, args)
}

/// Operands of the instruction's own type.
fn same(op: Opcode, ty: Type, args: &[u128]) -> Outcome {
    let args: Vec<_> = args.iter().map(|&a| (ty, a & ty.mask())).collect();
    run(op, ty, &args)
}

/// The lowest signed number of a type.
fn lowest(ty: Type) -> u128 {
    1 << (ty.bits() - 1)
}

#[test]
fn division_traps_on_zero_and_overflow() {
    for ty in INTS {
        let (low, minus_one) = (lowest(ty), ty.mask());
        for op in [Opcode::Udiv, Opcode::Sdiv, Opcode::Urem, Opcode::Srem] {
            assert_eq!(same(op, ty, &[low, 0]), ZERO_DIVISOR, "{op}.{ty}");
            assert_eq!(same(op, ty, &[0, 0]), ZERO_DIVISOR, "{op}.{ty}");
        }
        assert_eq!(same(Opcode::Sdiv, ty, &[low, minus_one]), OVERFLOW);
        assert_eq!(same(Opcode::Srem, ty, &[low, minus_one]), Ok(0));
        assert_eq!(same(Opcode::Sdiv, ty, &[low, 1]), Ok(low));
        assert_eq!(same(Opcode::Udiv, ty, &[low, minus_one]), Ok(0));
        assert_eq!(same(Opcode::Urem, ty, &[low, minus_one]), Ok(low));
        // Toward zero; the remainder has the dividend's sign.
        let minus_seven = 7u128.wrapping_neg();
        assert_eq!(
            same(Opcode::Sdiv, ty, &[minus_seven, 2]),
            Ok(3u128.wrapping_neg() & ty.mask())
        );
        assert_eq!(same(Opcode::Srem, ty, &[minus_seven, 2]), Ok(minus_one));
        assert_eq!(same(Opcode::Srem, ty, &[7, 2u128.wrapping_neg()]), Ok(1));
    }
}

#[test]
fn arithmetic_wraps_at_the_width() {
    for ty in INTS {
        let (low, all) = (lowest(ty), ty.mask());
        assert_eq!(same(Opcode::Iadd, ty, &[all, 1]), Ok(0));
        assert_eq!(same(Opcode::Isub, ty, &[0, 1]), Ok(all));
        assert_eq!(same(Opcode::Imul, ty, &[all, all]), Ok(1));
        assert_eq!(same(Opcode::Ineg, ty, &[low]), Ok(low));
        assert_eq!(same(Opcode::Iabs, ty, &[low]), Ok(low));
        assert_eq!(same(Opcode::Iabs, ty, &[all]), Ok(1));
        assert_eq!(same(Opcode::Smin, ty, &[low, 1]), Ok(low));
        assert_eq!(same(Opcode::Smax, ty, &[all, 0]), Ok(0));
        assert_eq!(same(Opcode::Umin, ty, &[low, 1]), Ok(1));
        assert_eq!(same(Opcode::Umax, ty, &[all, 0]), Ok(all));
        assert_eq!(same(Opcode::BandNot, ty, &[all, low]), Ok(low - 1));
        assert_eq!(same(Opcode::BorNot, ty, &[0, low]), Ok(low - 1));
        assert_eq!(same(Opcode::BxorNot, ty, &[low, low]), Ok(all));
    }
}

#[test]
fn shift_amounts_are_modulo_the_width() {
    for ty in INTS {
        let width = u128::from(ty.bits());
        let (low, all) = (lowest(ty), ty.mask());
        // The amount may be of any integer type; its high bits do not count.
        for amount in INTS {
            let by = |n: u128| (amount, n & amount.mask());
            let shift = |op, x, n| run(op, ty, &[(ty, x), by(n)]);
            assert_eq!(
                shift(Opcode::Ishl, 1, width - 1),
                Ok(low),
                "{ty} by {amount}"
            );
            assert_eq!(shift(Opcode::Ishl, 1, width), Ok(1), "{ty} by {amount}");
            assert_eq!(shift(Opcode::Ushr, low, width - 1), Ok(1));
            assert_eq!(shift(Opcode::Ushr, low, width + 1), Ok(low >> 1));
            assert_eq!(shift(Opcode::Sshr, low, width - 1), Ok(all));
            assert_eq!(shift(Opcode::Sshr, low, width), Ok(low));
            assert_eq!(shift(Opcode::Rotl, low, 1), Ok(1));
            assert_eq!(shift(Opcode::Rotl, low | 2, width), Ok(low | 2));
            assert_eq!(shift(Opcode::Rotr, 1, width + 1), Ok(low));
        }
        assert_eq!(
            run(Opcode::Ishl, ty, &[(ty, 1), (Type::I128, 1 << 100)]),
            Ok(1)
        );
    }
}

#[test]
fn bits_are_counted_within_the_width() {
    for ty in INTS {
        let width = u128::from(ty.bits());
        let (low, all) = (lowest(ty), ty.mask());
        for (x, clz, ctz, cls, popcnt) in [
            (0, width, width, width - 1, 0),
            (1, width - 1, 0, width - 2, 1),
            (low, 0, width - 1, 0, 1),
            (all, 0, 0, width - 1, width),
            (low - 1, 1, 0, 0, width - 1),
            (low | (low >> 1), 0, width - 2, 1, 2),
        ] {
            assert_eq!(same(Opcode::Clz, ty, &[x]), Ok(clz), "clz.{ty} {x:#x}");
            assert_eq!(same(Opcode::Ctz, ty, &[x]), Ok(ctz), "ctz.{ty} {x:#x}");
            assert_eq!(same(Opcode::Cls, ty, &[x]), Ok(cls), "cls.{ty} {x:#x}");
            assert_eq!(
                same(Opcode::Popcnt, ty, &[x]),
                Ok(popcnt),
                "popcnt.{ty} {x:#x}"
            );
        }
        assert_eq!(same(Opcode::Bitrev, ty, &[1]), Ok(low));
        assert_eq!(same(Opcode::Bnot, ty, &[low]), Ok(low - 1));
        assert_eq!(same(Opcode::Bswap, ty, &[0x5a]), Ok(0x5a << (width - 8)));
    }
}

#[test]
fn integers_change_width() {
    assert_eq!(
        run(Opcode::Sextend, Type::I128, &[(Type::I8, 0x80)]),
        Ok(u128::MAX << 7)
    );
    assert_eq!(
        run(Opcode::Sextend, Type::I16, &[(Type::I8, 0x80)]),
        Ok(0xff80)
    );
    assert_eq!(
        run(Opcode::Uextend, Type::I64, &[(Type::I32, 0xffff_fffe)]),
        Ok(0xffff_fffe)
    );
    assert_eq!(
        run(Opcode::Ireduce, Type::I8, &[(Type::I128, u128::MAX << 4)]),
        Ok(0xf0)
    );
    assert_eq!(run(Opcode::Bint, Type::I64, &[(Type::Pred, 1)]), Ok(1));
    assert_eq!(
        run(Opcode::Bitcast, Type::I32, &[(Type::F32, 0x7fc0_0001)]),
        Ok(0x7fc0_0001)
    );
}

#[test]
fn comparisons_take_the_sign_into_account() {
    for ty in INTS {
        let cmp = |cc, a, b| run_imm(Opcode::Icmp, ty, Imm::Icc(cc), &[(ty, a), (ty, b)]);
        let (low, all) = (lowest(ty), ty.mask());
        for (a, b, signed_less, unsigned_less) in [
            (low, 0, true, false),
            (0, all, false, true),
            (all, 0, true, false),
            (low, low - 1, true, false),
        ] {
            assert_eq!(cmp(IntCC::Slt, a, b), Ok(u128::from(signed_less)));
            assert_eq!(cmp(IntCC::Ult, a, b), Ok(u128::from(unsigned_less)));
        }
        for &cc in IntCC::ALL {
            for (a, b) in [(low, 1), (1, low), (all, all), (0, low - 1)] {
                let holds = cmp(cc, a, b);
                assert_eq!(cmp(cc.inverse(), a, b), holds.map(|x| 1 - x), "{cc}");
                assert_eq!(cmp(cc.swap_args(), b, a), holds, "{cc}");
            }
        }
    }
}

#[test]
fn predicates_are_one_bit() {
    for (op, table) in [
        (Opcode::And, [0, 0, 0, 1]),
        (Opcode::Or, [0, 1, 1, 1]),
        (Opcode::Xor, [0, 1, 1, 0]),
        (Opcode::Andn, [0, 0, 1, 0]),
    ] {
        for (i, expected) in table.into_iter().enumerate() {
            let args = [i as u128 >> 1, i as u128 & 1];
            assert_eq!(same(op, Type::Pred, &args), Ok(expected), "{op} {args:?}");
        }
    }
    assert_eq!(same(Opcode::Not, Type::Pred, &[0]), Ok(1));
    assert_eq!(same(Opcode::Not, Type::Pred, &[1]), Ok(0));
    for (p, expected) in [(1, 5), (0, 6)] {
        let args = [(Type::Pred, p), (Type::I8, 5), (Type::I8, 6)];
        assert_eq!(run(Opcode::Select, Type::I8, &args), Ok(expected));
    }
}

fn f32s(op: Opcode, args: &[f32]) -> f32 {
    let args: Vec<_> = args.iter().map(|a| u128::from(a.to_bits())).collect();
    f32::from_bits(same(op, Type::F32, &args).expect("no trap") as u32)
}

fn f64s(op: Opcode, args: &[f64]) -> f64 {
    let args: Vec<_> = args.iter().map(|a| u128::from(a.to_bits())).collect();
    f64::from_bits(same(op, Type::F64, &args).expect("no trap") as u64)
}

#[test]
fn minimum_and_maximum_spread_nan_and_order_zeros() {
    for (a, b) in [(0.0, -0.0), (-0.0, 0.0)] {
        assert!(f64s(Opcode::Fmin, &[a, b]).is_sign_negative());
        assert!(f64s(Opcode::Fmax, &[a, b]).is_sign_positive());
        assert!(f32s(Opcode::Fmin, &[a as f32, b as f32]).is_sign_negative());
        assert!(f32s(Opcode::Fmax, &[a as f32, b as f32]).is_sign_positive());
    }
    for op in [Opcode::Fmin, Opcode::Fmax] {
        assert!(f64s(op, &[f64::NAN, 1.0]).is_nan());
        assert!(f64s(op, &[1.0, f64::NAN]).is_nan());
        assert!(f32s(op, &[f32::NAN, f32::INFINITY]).is_nan());
    }
    assert_eq!(
        f64s(Opcode::Fmin, &[-1.0, f64::NEG_INFINITY]),
        f64::NEG_INFINITY
    );
    assert_eq!(f64s(Opcode::Fmax, &[-1.0, -2.0]), -1.0);
    assert_eq!(
        f32s(Opcode::Fmin, &[-0.0, -0.0]).to_bits(),
        (-0.0f32).to_bits()
    );
    assert_eq!(f32s(Opcode::Fmax, &[0.0, 0.0]).to_bits(), 0);
}

#[test]
fn rounding_keeps_signs_and_ties_to_even() {
    for (x, nearest) in [
        (0.5, 0.0),
        (1.5, 2.0),
        (2.5, 2.0),
        (-0.5, -0.0),
        (-1.5, -2.0),
        (0.49999999999999994, 0.0),
        (4503599627370495.5, 4503599627370496.0),
        (f64::INFINITY, f64::INFINITY),
    ] {
        let out = f64s(Opcode::Nearest, &[x]);
        assert_eq!(out.to_bits(), f64::to_bits(nearest), "nearest {x}");
    }
    assert_eq!(f32s(Opcode::Nearest, &[8388607.5]), 8388608.0);
    assert_eq!(f64s(Opcode::Ceil, &[-0.5]).to_bits(), (-0.0f64).to_bits());
    assert_eq!(f64s(Opcode::Floor, &[-0.5]), -1.0);
    assert_eq!(f64s(Opcode::Trunc, &[-1.9]), -1.0);
    assert_eq!(f64s(Opcode::Trunc, &[-0.9]).to_bits(), (-0.0f64).to_bits());
    assert!(f64s(Opcode::Nearest, &[f64::NAN]).is_nan());
}

#[test]
fn sign_operations_work_on_bits() {
    let nan = 0x7fc0_1234;
    assert_eq!(same(Opcode::Fneg, Type::F32, &[nan]), Ok(0xffc0_1234));
    assert_eq!(same(Opcode::Fabs, Type::F32, &[0xffc0_1234]), Ok(nan));
    assert_eq!(
        same(Opcode::Fcopysign, Type::F32, &[nan, 0x8000_0000]),
        Ok(0xffc0_1234)
    );
    assert_eq!(same(Opcode::Fneg, Type::F64, &[0]), Ok(1 << 63));
    assert_eq!(same(Opcode::Fcopysign, Type::F64, &[1 << 63, 0]), Ok(0));
}

#[test]
fn fused_multiplication_rounds_once() {
    let x = 1.0 + f64::EPSILON;
    assert_eq!(
        f64s(Opcode::Fma, &[x, x, -(1.0 + 2.0 * f64::EPSILON)]),
        f64::EPSILON * f64::EPSILON
    );
    assert_eq!(f32s(Opcode::Fma, &[3.0, 4.0, 5.0]), 17.0);
    assert!(f64s(Opcode::Fma, &[f64::INFINITY, 0.0, 1.0]).is_nan());
}

#[test]
fn float_arithmetic_is_ieee() {
    assert_eq!(f64s(Opcode::Fdiv, &[1.0, -0.0]), f64::NEG_INFINITY);
    assert!(f64s(Opcode::Fdiv, &[0.0, 0.0]).is_nan());
    assert!(f64s(Opcode::Sqrt, &[-1.0]).is_nan());
    assert_eq!(f64s(Opcode::Sqrt, &[-0.0]).to_bits(), 1 << 63);
    assert_eq!(f32s(Opcode::Fadd, &[16777216.0, 1.0]), 16777216.0);
    assert_eq!(f32s(Opcode::Fmul, &[1e-38, 1e-7]), 1e-45);
    assert_eq!(f64s(Opcode::Fsub, &[1.0, 1.0]).to_bits(), 0);
    let half_way = f64::from(1.0f32) + f64::from(f32::EPSILON) / 2.0;
    let demote = |x: f64| {
        run(
            Opcode::Fdemote,
            Type::F32,
            &[(Type::F64, u128::from(x.to_bits()))],
        )
    };
    assert_eq!(demote(half_way), Ok(0x3f80_0000));
    assert_eq!(demote(1e39), Ok(0x7f80_0000));
    assert_eq!(demote(-1e-60), Ok(0x8000_0000));
    assert_eq!(
        run(Opcode::Fpromote, Type::F64, &[(Type::F32, 1)]),
        Ok(u128::from(f64::from(f32::from_bits(1)).to_bits()))
    );
}

#[test]
fn float_comparisons_tell_unordered_apart() {
    let cases = [(1.0, 2.0), (2.0, 1.0), (0.0, -0.0), (1.0, f64::NAN)];
    // In the order less, greater, equal, unordered.
    for (cc, table) in [
        (FloatCC::Ord, [1, 1, 1, 0]),
        (FloatCC::Uno, [0, 0, 0, 1]),
        (FloatCC::Eq, [0, 0, 1, 0]),
        (FloatCC::Ne, [1, 1, 0, 1]),
        (FloatCC::One, [1, 1, 0, 0]),
        (FloatCC::Ueq, [0, 0, 1, 1]),
        (FloatCC::Lt, [1, 0, 0, 0]),
        (FloatCC::Le, [1, 0, 1, 0]),
        (FloatCC::Gt, [0, 1, 0, 0]),
        (FloatCC::Ge, [0, 1, 1, 0]),
        (FloatCC::Ult, [1, 0, 0, 1]),
        (FloatCC::Ule, [1, 0, 1, 1]),
        (FloatCC::Ugt, [0, 1, 0, 1]),
        (FloatCC::Uge, [0, 1, 1, 1]),
    ] {
        for ((a, b), expected) in cases.into_iter().zip(table) {
            let f64_args = [a, b].map(|x| (Type::F64, u128::from(f64::to_bits(x))));
            let f32_args = [a, b].map(|x| (Type::F32, u128::from((x as f32).to_bits())));
            assert_eq!(
                run_imm(Opcode::Fcmp, Type::F64, Imm::Fcc(cc), &f64_args),
                Ok(expected)
            );
            assert_eq!(
                run_imm(Opcode::Fcmp, Type::F32, Imm::Fcc(cc), &f32_args),
                Ok(expected)
            );
        }
    }
}

/// The largest float below `x`, for positive `x`.
fn below(x: f64) -> f64 {
    f64::from_bits(x.to_bits() - 1)
}

#[test]
fn float_to_integer_traps_outside_its_range() {
    let signed = |ty, x: f64| {
        run(
            Opcode::FcvtToSint,
            ty,
            &[(Type::F64, u128::from(x.to_bits()))],
        )
    };
    let unsigned = |ty, x: f64| {
        run(
            Opcode::FcvtToUint,
            ty,
            &[(Type::F64, u128::from(x.to_bits()))],
        )
    };
    for ty in INTS {
        let half = 2f64.powi(ty.bits() as i32 - 1);
        assert_eq!(signed(ty, f64::NAN), BAD);
        assert_eq!(unsigned(ty, f64::NAN), BAD);
        for x in [f64::INFINITY, f64::NEG_INFINITY, half, half * 2.0] {
            assert_eq!(signed(ty, x), OVERFLOW, "{ty} {x}");
        }
        assert_eq!(signed(ty, -half), Ok(lowest(ty)));
        // One beyond the range, or the next float where that is further.
        let beyond = (-half - 1.0).min(-f64::from_bits(half.to_bits() + 1));
        let beyond = if ty.bits() < 53 { -half - 1.0 } else { beyond };
        assert_eq!(signed(ty, beyond), OVERFLOW, "{ty} {beyond}");
        assert_eq!(unsigned(ty, half), Ok(lowest(ty)));
        assert_eq!(unsigned(ty, half * 2.0), OVERFLOW);
        assert_eq!(unsigned(ty, -1.0), OVERFLOW);
        assert_eq!(unsigned(ty, -0.9), Ok(0));
        assert_eq!(signed(ty, -1.9), Ok(ty.mask()));
        assert_eq!(signed(ty, 1.9), Ok(1));
        if ty.bits() < 53 {
            // What is cut off may lie outside.
            assert_eq!(signed(ty, half - 0.5), Ok(lowest(ty) - 1));
            assert_eq!(signed(ty, -half - 0.5), Ok(lowest(ty)));
            assert_eq!(unsigned(ty, 2.0 * half - 0.5), Ok(ty.mask()));
        }
    }
    // -2^63-1 is -2^63 as a float, and fits.
    assert_eq!(signed(Type::I64, -9223372036854775809.0), Ok(1 << 63));
    assert_eq!(
        signed(Type::I64, below(9223372036854775808.0)),
        Ok((1 << 63) - 1024)
    );
    assert_eq!(signed(Type::I64, 9223372036854775807.0), OVERFLOW);
    assert_eq!(
        unsigned(Type::I64, below(18446744073709551616.0)),
        Ok((1 << 64) - 2048)
    );
    let from_f32 = |op, ty, x: f32| run(op, ty, &[(Type::F32, u128::from(x.to_bits()))]);
    assert_eq!(
        from_f32(Opcode::FcvtToSint, Type::I32, 2147483648.0),
        OVERFLOW
    );
    assert_eq!(
        from_f32(Opcode::FcvtToSint, Type::I32, 2147483520.0),
        Ok(2147483520)
    );
    assert_eq!(
        from_f32(Opcode::FcvtToUint, Type::I128, f32::MAX),
        Ok(0xffff_ff00 << 96)
    );
    assert_eq!(from_f32(Opcode::FcvtToSint, Type::I128, f32::MAX), OVERFLOW);
}

#[test]
fn float_to_integer_saturates_where_asked() {
    let sat = |op, ty, x: f64| run(op, ty, &[(Type::F64, u128::from(x.to_bits()))]);
    for ty in INTS {
        let (low, all) = (lowest(ty), ty.mask());
        for (x, signed, unsigned) in [
            (f64::NAN, 0, 0),
            (f64::INFINITY, low - 1, all),
            (f64::NEG_INFINITY, low, 0),
            (1e300, low - 1, all),
            (-1e300, low, 0),
            (-1.9, all, 0),
            (-0.0, 0, 0),
            (1.9, 1, 1),
            (100.9, 100, 100),
            (2f64.powi(ty.bits() as i32 - 1), low - 1, low),
            (-(2f64.powi(ty.bits() as i32 - 1)), low, 0),
            (-(2f64.powi(ty.bits() as i32 - 1)) - 1.0, low, 0),
            (2f64.powi(ty.bits() as i32), low - 1, all),
        ] {
            assert_eq!(sat(Opcode::FcvtToSintSat, ty, x), Ok(signed), "{ty} {x}");
            assert_eq!(sat(Opcode::FcvtToUintSat, ty, x), Ok(unsigned), "{ty} {x}");
        }
    }
}

#[test]
fn integer_to_float_rounds_to_even() {
    let from = |op, to, ty, x: u128| run(op, to, &[(ty, x)]);
    let f32_bits = |x: f32| Ok(u128::from(x.to_bits()));
    let f64_bits = |x: f64| Ok(u128::from(x.to_bits()));
    let (u, s) = (Opcode::FcvtFromUint, Opcode::FcvtFromSint);
    assert_eq!(
        from(u, Type::F32, Type::I32, 16777217),
        f32_bits(16777216.0)
    );
    assert_eq!(
        from(u, Type::F32, Type::I32, 16777219),
        f32_bits(16777220.0)
    );
    assert_eq!(from(u, Type::F32, Type::I8, 255), f32_bits(255.0));
    assert_eq!(from(s, Type::F32, Type::I8, 255), f32_bits(-1.0));
    assert_eq!(
        from(u, Type::F64, Type::I64, u64::MAX.into()),
        f64_bits(18446744073709551616.0)
    );
    assert_eq!(
        from(s, Type::F64, Type::I64, 1 << 63),
        f64_bits(-9223372036854775808.0)
    );
    assert_eq!(
        from(s, Type::F64, Type::I128, 1 << 127),
        f64_bits(-(2f64.powi(127)))
    );
    assert_eq!(
        from(u, Type::F32, Type::I128, u128::MAX),
        f32_bits(f32::INFINITY)
    );
    // Once, not by way of f64.
    assert_eq!(
        from(u, Type::F32, Type::I64, (1 << 54) + (1 << 30) + 1),
        f32_bits(18014400656965632.0)
    );
}

#[test]
fn what_is_not_lane_wise_has_no_scalar_meaning() {
    for op in [
        Opcode::LaneId,
        Opcode::Ballot,
        Opcode::Load,
        Opcode::Poison,
        Opcode::Barrier,
    ] {
        assert_eq!(
            eval(&InstData::new(op, Type::I32, &[], Imm::None), &[], &[]),
            None,
            "{op}"
        );
    }
    let constant = InstData::new(Opcode::Const, Type::I8, &[], Imm::Bits(7));
    assert_eq!(eval(&constant, &[], &[]), Some(Ok(7)));
}

/// On every form of every opcode that verifies: no panic, nothing above the
/// width of the result, traps only where the table says so, and a meaning for
/// either all operands or none.
#[test]
fn every_form_can_be_evaluated() {
    let mut lane_wise = 0;
    for &op in Opcode::ALL {
        let func = common::every_form_of(op);
        let mut meanings = [0, 0];
        for (_, i) in func.laid_out_insts() {
            let inst = func.inst(i);
            let types: Vec<_> = inst.args.iter().map(|&v| func.ty(v)).collect();
            let edges = |ty: Type| [0, 1, ty.mask() >> 1, (ty.mask() >> 1) + 1, ty.mask()];
            for seed in 0..25 {
                let pick =
                    |k: usize, ty: Type| edges(ty)[(seed / (1 + 4 * (k % 2))) % 5] & ty.mask();
                let args: Vec<_> = types.iter().enumerate().map(|(k, &t)| pick(k, t)).collect();
                let out = eval(inst, &types, &args);
                meanings[usize::from(out.is_some())] += 1;
                match out {
                    Some(Ok(bits)) => {
                        let ty = inst.result_type().expect("a result");
                        assert_eq!(bits & !ty.mask(), 0, "{op}.{} {args:x?}", inst.ty);
                    }
                    Some(Err(code)) => assert!(op.effects().traps, "{op} {args:x?}: {code}"),
                    None => {}
                }
            }
        }
        assert!(meanings.contains(&0), "{op}");
        lane_wise += usize::from(meanings[1] > 0);
        if meanings[1] > 0 {
            let effects = op.effects();
            assert!(
                !effects.reads && !effects.writes && !effects.convergent,
                "{op}"
            );
        }
    }
    assert!(lane_wise > 60, "{lane_wise}");
}

/// The high half of an unsigned product of 128 bits, bit by bit.
fn slow_umulhi(a: u128, b: u128) -> u128 {
    let (mut high, mut low) = (0u128, 0u128);
    for i in (0..128).rev() {
        high = (high << 1) | (low >> 127);
        low <<= 1;
        if b >> i & 1 == 1 {
            let (sum, carry) = low.overflowing_add(a);
            low = sum;
            high += u128::from(carry);
        }
    }
    high
}

/// The same of a signed product, by way of magnitudes.
fn slow_smulhi(a: u128, b: u128) -> u128 {
    let (x, y) = ((a as i128).unsigned_abs(), (b as i128).unsigned_abs());
    let (high, low) = (slow_umulhi(x, y), x.wrapping_mul(y));
    if ((a as i128) < 0) == ((b as i128) < 0) {
        high
    } else {
        // Two's complement over both halves.
        (!high).wrapping_add(u128::from(low == 0))
    }
}

fn interesting() -> impl Strategy<Value = u128> {
    let edges = [
        0,
        1,
        u128::MAX,
        1 << 127,
        (1 << 127) - 1,
        1 << 64,
        (1 << 64) - 1,
        u128::MAX << 64,
    ];
    prop_oneof![prop::sample::select(edges.to_vec()), any::<u128>()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn high_halves_of_products(a in interesting(), b in interesting()) {
        prop_assert_eq!(same(Opcode::Umulhi, Type::I128, &[a, b]), Ok(slow_umulhi(a, b)));
        prop_assert_eq!(same(Opcode::Smulhi, Type::I128, &[a, b]), Ok(slow_smulhi(a, b)));
        for ty in [Type::I8, Type::I16, Type::I32, Type::I64] {
            let unused = 128 - ty.bits();
            let (x, y) = (a & ty.mask(), b & ty.mask());
            let unsigned = (x * y) >> ty.bits();
            let sign = |x: u128| ((x << unused) as i128) >> unused;
            let signed = ((sign(x) * sign(y)) >> ty.bits()) as u128 & ty.mask();
            prop_assert_eq!(same(Opcode::Umulhi, ty, &[a, b]), Ok(unsigned));
            prop_assert_eq!(same(Opcode::Smulhi, ty, &[a, b]), Ok(signed));
        }
    }

    /// Quotient and remainder belong together.
    #[test]
    fn division_with_remainder(a in interesting(), b in interesting()) {
        for ty in INTS {
            let (x, y) = (a & ty.mask(), b & ty.mask());
            for (div, rem) in [(Opcode::Udiv, Opcode::Urem), (Opcode::Sdiv, Opcode::Srem)] {
                if let (Ok(q), Ok(r)) = (same(div, ty, &[x, y]), same(rem, ty, &[x, y])) {
                    prop_assert_eq!(q.wrapping_mul(y).wrapping_add(r) & ty.mask(), x);
                } else {
                    prop_assert!(y == 0 || (x == lowest(ty) && y == ty.mask()));
                }
            }
        }
    }
}
