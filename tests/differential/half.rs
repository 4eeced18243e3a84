//! What an operation on `f16` must yield, by way of types that the interpreter
//! has.
//!
//! No peer has arithmetic on `f16`. But every `f16` is an `f64`, and sums,
//! products, quotients and roots that are rounded to 53 bits and then to 11 are
//! rounded correctly, since 53 ≥ 2·11 + 2 (Figueroa, *When is double rounding
//! innocuous?*, 1995). So the interpreter computes on `f64`, and the result is
//! rounded here, with nothing but `f64` itself. For `fma` the inner rounding is
//! to odd. Bitwise logic is that of `i16`.

use cranelift_codegen::ir::Opcode;

use super::cases::Case;
use super::hand::to_wide;
use super::peers::{End, interpreted};

/// What the function must yield. `None` if it is none of `f16`'s.
pub fn expected(case: &Case, input: &[u128]) -> Option<End> {
    let value = |bits: u64| End::Values(vec![bits.into()]);
    let wide = |i: usize| match case.params[i] {
        "f16" => widen(input[i] as u16),
        "f32" => f64::from(f32::from_bits(input[i] as u32)),
        _ => f64::from_bits(input[i] as u64),
    };
    Some(match case.op {
        Opcode::Band | Opcode::Bor | Opcode::Bitselect => {
            let case = case.with_type("f16", "i16");
            interpreted(&case, &case.function()?, input)
        }
        Opcode::Fdemote => value(round(wide(0)).into()),
        Opcode::Fpromote if case.results[0] == "f64" => value(wide(0).to_bits()),
        Opcode::Fpromote => value((wide(0) as f32).to_bits().into()),
        Opcode::Fma => value(round(multiply_add(wide(0), wide(1), wide(2))).into()),
        // Where the interpreter would mistake infinities.
        _ if case.results == ["i128"] => to_wide(case.op, wide(0)),
        _ => {
            let stand_in = case.with_type("f16", "f64");
            let input: Vec<u128> = (0..input.len())
                .map(|i| match case.params[i] {
                    "f16" => wide(i).to_bits().into(),
                    _ => input[i],
                })
                .collect();
            match interpreted(&stand_in, &stand_in.function()?, &input) {
                End::Values(v) if case.results == ["f16"] => {
                    value(round(f64::from_bits(v[0] as u64)).into())
                }
                end => end,
            }
        }
    })
}

const SIGN: u16 = 0x8000;

/// The number as an `f64`; a NaN keeps its payload.
fn widen(bits: u16) -> f64 {
    let (exponent, mantissa) = (bits >> 10 & 31, u64::from(bits & 0x3ff));
    let magnitude = match exponent {
        31 => f64::from_bits(0x7ff << 52 | mantissa << 42),
        0 => mantissa as f64 / (1 << 24) as f64,
        _ => f64::from_bits((u64::from(exponent) + 1023 - 15) << 52 | mantissa << 42),
    };
    f64::from_bits(magnitude.to_bits() | u64::from(bits & SIGN) << 48)
}

/// The nearest `f16`, ties to even; a NaN keeps the upper bits of
/// its payload, and stays one.
fn round(x: f64) -> u16 {
    let sign = (x.to_bits() >> 48) as u16 & SIGN;
    let magnitude = x.abs();
    if x.is_nan() {
        let payload = (x.to_bits() >> 42) as u16 & 0x3ff;
        return sign | 0x7c00 | if payload == 0 { 0x200 } else { payload };
    }
    if magnitude >= 65520.0 {
        return sign | 0x7c00;
    }
    // The exponent of the last place.
    let exponent = (magnitude.to_bits() >> 52) as i32 - 1023;
    let place = (exponent - 10).max(-24);
    let units = (magnitude * 2f64.powi(-place)).round_ties_even() as u16;
    // An implicit bit, or a carry into it, adds one to the exponent.
    sign | ((place + 24) as u16 * 1024 + units)
}

/// `a * b + c` of numbers whose product is exact, rounded to odd.
fn multiply_add(a: f64, b: f64, c: f64) -> f64 {
    let product = a * b;
    let sum = product + c;
    let part = sum - product;
    let error = (product - (sum - part)) + (c - part);
    if !sum.is_finite() || error == 0.0 || sum.to_bits() & 1 == 1 {
        return sum;
    }
    let away = (error > 0.0) == (sum > 0.0);
    f64::from_bits(if away {
        sum.to_bits() + 1
    } else {
        sum.to_bits() - 1
    })
}

#[test]
fn numbers_of_half_precision_come_back() {
    for bits in 0..=u16::MAX {
        assert_eq!(round(widen(bits)), bits);
    }
    let halfway = |low: u16| f64::midpoint(widen(low), widen(low + 1));
    for (low, nearest) in [
        (0, 0),
        (1, 2),
        (0x3ff, 0x400),
        (0x3c00, 0x3c00),
        (0x3fff, 0x4000),
    ] {
        assert_eq!(round(halfway(low)), nearest);
        assert_eq!(round(-halfway(low)), nearest | SIGN);
    }
    assert_eq!([round(65519.9), round(65520.0)], [0x7bff, 0x7c00]);
}
