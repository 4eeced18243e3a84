//! Numbers and constants in text: the inverse of [`Literal`](crate::print::Literal).

use half::f16;

use crate::lane::Float;
use crate::types::Type;

/// An integer: decimal or `0x`, with an optional sign and `_` between digits.
/// `None` when it is none or does not fit.
pub(super) fn integer(text: &str) -> Option<(bool, u128)> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (radix, digits) = match digits.strip_prefix("0x") {
        Some(hex) => (16, hex),
        None => (10, digits),
    };
    if digits.starts_with('_') || digits.ends_with('_') {
        return None;
    }
    let mut value = None;
    for c in digits.chars().filter(|&c| c != '_') {
        let digit = u128::from(c.to_digit(radix)?);
        value = Some(match value {
            None => digit,
            Some(v) => u128::checked_mul(v, u128::from(radix))?.checked_add(digit)?,
        });
    }
    Some((negative, value?))
}

/// An unsigned number without a sign.
pub(super) fn unsigned(text: &str) -> Option<u32> {
    if !text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (_, value) = integer(text)?;
    u32::try_from(value).ok()
}

/// A signed 32-bit number.
pub(super) fn signed(text: &str) -> Option<i32> {
    let (negative, value) = integer(text)?;
    let value = i64::try_from(value).ok()?;
    i32::try_from(if negative { -value } else { value }).ok()
}

/// The bits of an integer constant. Both the signed and the unsigned range of
/// the type are taken.
pub(super) fn integer_bits(ty: Type, text: &str) -> Option<u128> {
    let (negative, value) = integer(text)?;
    if !negative {
        return (value <= ty.mask()).then_some(value);
    }
    let lowest = 1 << (ty.bits() - 1);
    (value <= lowest).then_some(value.wrapping_neg() & ty.mask())
}

/// The bits of a float written as a decimal number. A number that rounds to
/// an infinity is refused: `inf` says that.
pub(super) fn float_bits(ty: Type, text: &str) -> Option<u128> {
    let plain = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-');
    if !text.chars().all(plain) {
        return None;
    }
    match ty {
        Type::F16 => half_bits(text),
        Type::F32 => {
            let x: f32 = text.parse().ok()?;
            x.is_finite().then(|| u128::from(x.to_bits()))
        }
        Type::F64 => {
            let x: f64 = text.parse().ok()?;
            x.is_finite().then(|| u128::from(x.to_bits()))
        }
        _ => None,
    }
}

/// The bits of a half-precision number written in decimal: read as a double,
/// then rounded. (Only a text within a double's rounding of the middle between
/// two neighbours can end up at the other one.)
fn half_bits(text: &str) -> Option<u128> {
    let x = f16::narrow(text.parse().ok()?);
    x.is_finite().then(|| x.to_bits128())
}

/// The bits of an infinity.
pub(super) fn infinity_bits(ty: Type, negative: bool) -> u128 {
    let sign = if negative { -1.0 } else { 1.0 };
    match ty {
        Type::F16 => u128::from(f16::from_f32(f32::INFINITY * sign).to_bits()),
        Type::F32 => u128::from((f32::INFINITY * sign).to_bits()),
        _ => u128::from((f64::INFINITY * f64::from(sign)).to_bits()),
    }
}

/// The bits of a NaN, given in full.
pub(super) fn nan_bits(ty: Type, text: &str) -> Option<u128> {
    let (negative, bits) = integer(text)?;
    let is_nan = match ty {
        Type::F16 => f16::from_bits(u16::try_from(bits).ok()?).is_nan(),
        Type::F32 => f32::from_bits(u32::try_from(bits).ok()?).is_nan(),
        _ => f64::from_bits(u64::try_from(bits).ok()?).is_nan(),
    };
    (!negative && is_nan).then_some(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_stop_at_the_edges_of_their_range() {
        assert_eq!(integer_bits(Type::I8, "255"), Some(255));
        assert_eq!(integer_bits(Type::I8, "256"), None);
        assert_eq!(integer_bits(Type::I8, "-128"), Some(0x80));
        assert_eq!(integer_bits(Type::I8, "-129"), None);
        assert_eq!(integer_bits(Type::I8, "-0"), Some(0));
        assert_eq!(integer_bits(Type::I32, "0xffff_ffff"), Some(0xffff_ffff));
        assert_eq!(
            integer_bits(Type::I128, "-170141183460469231731687303715884105728"),
            Some(1 << 127)
        );
        assert_eq!(
            integer_bits(Type::I128, "340282366920938463463374607431768211455"),
            Some(u128::MAX)
        );
        assert_eq!(
            integer_bits(Type::I128, "340282366920938463463374607431768211456"),
            None
        );
    }

    #[test]
    fn what_is_no_integer_is_refused() {
        for bad in [
            "", "-", "0x", "0x-1", "1_", "_1", "1e3", "1.0", "0xg", "--1", "é",
        ] {
            assert_eq!(integer(bad), None, "{bad}");
        }
        assert_eq!(unsigned("4294967295"), Some(u32::MAX));
        assert_eq!(unsigned("4294967296"), None);
        assert_eq!(unsigned("+1"), None);
        assert_eq!(signed("-2147483648"), Some(i32::MIN));
        assert_eq!(signed("+2147483648"), None);
    }

    #[test]
    fn floats_read_back_their_bits() {
        for x in [
            0.0,
            -0.0,
            1.0,
            f64::MIN_POSITIVE,
            5e-324,
            f64::MAX,
            1e16,
            0.1,
        ] {
            assert_eq!(
                float_bits(Type::F64, &format!("{x:?}")),
                Some(u128::from(f64::to_bits(x)))
            );
        }
        assert_eq!(float_bits(Type::F32, "1e39"), None);
        assert_eq!(float_bits(Type::F64, "0x1"), None);
        assert_eq!(infinity_bits(Type::F32, true), 0xff80_0000);
        assert_eq!(nan_bits(Type::F32, "0x7f800001"), Some(0x7f80_0001));
        assert_eq!(nan_bits(Type::F32, "0x7f800000"), None);
        assert_eq!(
            nan_bits(Type::F64, "0x7ff8000000000000"),
            Some(0x7ff8 << 48)
        );
        assert_eq!(nan_bits(Type::F32, "0x7ff8000000000000"), None);
    }
}
