//! What one lane's number can do: the vocabulary in which the opcode table
//! states its semantics.
//!
//! [`Int`] is implemented by the unsigned Rust integers, [`Float`] by `f32`
//! and `f64`. The scalar evaluator and the executor's 32-lane loops
//! instantiate the same table row with these traits, so an opcode means one
//! thing everywhere. Float rules are CLIF's: `fmin`/`fmax` propagate NaN and
//! order `-0.0` below `0.0`; `nearest` rounds ties to even.

use crate::codes::{FloatCC, IntCC, TrapCode};

/// An integer lane, stored unsigned.
pub trait Int: Copy + Eq + Ord + Send + Sync + 'static {
    /// Width in bits.
    const BITS: u32;
    /// The low bits of `x`.
    fn wrap(x: u128) -> Self;
    /// Zero-extended.
    fn zext(self) -> u128;
    /// Sign-extended.
    fn sext(self) -> i128;
    /// High half of the unsigned product.
    fn umulhi(self, b: Self) -> Self;
    /// High half of the signed product.
    fn smulhi(self, b: Self) -> Self;
    /// Wrapping negation.
    fn neg(self) -> Self;
    /// Wrapping absolute value.
    fn abs(self) -> Self;
    /// Arithmetic shift right by `n` modulo the width.
    fn sshr(self, n: u32) -> Self;
    /// Leading sign bits, not counting the sign itself.
    fn cls(self) -> Self;
    /// Unsigned quotient.
    fn udiv(self, b: Self) -> Result<Self, TrapCode>;
    /// Unsigned remainder.
    fn urem(self, b: Self) -> Result<Self, TrapCode>;
    /// Signed quotient; `MIN / -1` overflows.
    fn sdiv(self, b: Self) -> Result<Self, TrapCode>;
    /// Signed remainder; `MIN % -1` is 0.
    fn srem(self, b: Self) -> Result<Self, TrapCode>;
    /// Signed minimum.
    fn smin(self, b: Self) -> Self;
    /// Signed maximum.
    fn smax(self, b: Self) -> Self;
    /// The comparison `cc`.
    fn compare(self, cc: IntCC, b: Self) -> bool;
}

macro_rules! impl_int {
    ($($u:ty, $s:ty, $wide:expr;)*) => {$(
        impl Int for $u {
            const BITS: u32 = <$u>::BITS;
            #[inline(always)]
            fn wrap(x: u128) -> Self { x as $u }
            #[inline(always)]
            fn zext(self) -> u128 { u128::from(self) }
            #[inline(always)]
            fn sext(self) -> i128 { i128::from(self as $s) }
            #[inline(always)]
            fn umulhi(self, b: Self) -> Self {
                let f: fn($u, $u) -> $u = $wide.0;
                f(self, b)
            }
            #[inline(always)]
            fn smulhi(self, b: Self) -> Self {
                let f: fn($u, $u) -> $u = $wide.1;
                f(self, b)
            }
            #[inline(always)]
            fn neg(self) -> Self { self.wrapping_neg() }
            #[inline(always)]
            fn abs(self) -> Self { (self as $s).wrapping_abs() as $u }
            #[inline(always)]
            fn sshr(self, n: u32) -> Self { (self as $s).wrapping_shr(n) as $u }
            #[inline(always)]
            fn cls(self) -> Self {
                let s = self as $s;
                let folded = (if s < 0 { !s } else { s }) as $u;
                (folded.leading_zeros() - 1) as $u
            }
            #[inline(always)]
            fn udiv(self, b: Self) -> Result<Self, TrapCode> {
                self.checked_div(b).ok_or(TrapCode::IntegerDivisionByZero)
            }
            #[inline(always)]
            fn urem(self, b: Self) -> Result<Self, TrapCode> {
                self.checked_rem(b).ok_or(TrapCode::IntegerDivisionByZero)
            }
            #[inline(always)]
            fn sdiv(self, b: Self) -> Result<Self, TrapCode> {
                if b == 0 {
                    return Err(TrapCode::IntegerDivisionByZero);
                }
                (self as $s)
                    .checked_div(b as $s)
                    .map(|q| q as $u)
                    .ok_or(TrapCode::IntegerOverflow)
            }
            #[inline(always)]
            fn srem(self, b: Self) -> Result<Self, TrapCode> {
                if b == 0 {
                    return Err(TrapCode::IntegerDivisionByZero);
                }
                Ok((self as $s).wrapping_rem(b as $s) as $u)
            }
            #[inline(always)]
            fn smin(self, b: Self) -> Self { (self as $s).min(b as $s) as $u }
            #[inline(always)]
            fn smax(self, b: Self) -> Self { (self as $s).max(b as $s) as $u }
            #[inline(always)]
            fn compare(self, cc: IntCC, b: Self) -> bool {
                match cc {
                    IntCC::Eq => self == b,
                    IntCC::Ne => self != b,
                    IntCC::Slt => (self as $s) < (b as $s),
                    IntCC::Sge => (self as $s) >= (b as $s),
                    IntCC::Sgt => (self as $s) > (b as $s),
                    IntCC::Sle => (self as $s) <= (b as $s),
                    IntCC::Ult => self < b,
                    IntCC::Uge => self >= b,
                    IntCC::Ugt => self > b,
                    IntCC::Ule => self <= b,
                }
            }
        }
    )*};
}

macro_rules! narrow_mulhi {
    ($u:ty, $s:ty) => {
        (
            |a: $u, b: $u| ((u128::from(a) * u128::from(b)) >> <$u>::BITS) as $u,
            |a: $u, b: $u| ((i128::from(a as $s) * i128::from(b as $s)) >> <$u>::BITS) as $u,
        )
    };
}

impl_int! {
    u8, i8, narrow_mulhi!(u8, i8);
    u16, i16, narrow_mulhi!(u16, i16);
    u32, i32, narrow_mulhi!(u32, i32);
    u64, i64, narrow_mulhi!(u64, i64);
    u128, i128, (umulhi128, smulhi128);
}

/// High 128 bits of an unsigned 256-bit product, by 64-bit halves.
fn umulhi128(a: u128, b: u128) -> u128 {
    const LOW: u128 = u64::MAX as u128;
    let (al, ah, bl, bh) = (a & LOW, a >> 64, b & LOW, b >> 64);
    let low = al * bl;
    let mid = ah * bl + (low >> 64);
    let mid2 = al * bh + (mid & LOW);
    ah * bh + (mid >> 64) + (mid2 >> 64)
}

fn smulhi128(a: u128, b: u128) -> u128 {
    let mut hi = umulhi128(a, b);
    if (a as i128) < 0 {
        hi = hi.wrapping_sub(b);
    }
    if (b as i128) < 0 {
        hi = hi.wrapping_sub(a);
    }
    hi
}

/// A float lane.
pub trait Float: Copy + Send + Sync + 'static {
    /// From the bit pattern in the low bits of `x`.
    fn from_bits128(x: u128) -> Self;
    /// The bit pattern.
    fn to_bits128(self) -> u128;
    /// Sign bit flipped, NaN included.
    fn negate(self) -> Self;
    /// Sign bit cleared, NaN included.
    fn absolute(self) -> Self;
    /// The magnitude of `self` with the sign of `b`.
    fn with_sign_of(self, b: Self) -> Self;
    /// CLIF `fmin`.
    fn least(self, b: Self) -> Self;
    /// CLIF `fmax`.
    fn greatest(self, b: Self) -> Self;
    /// Square root.
    fn root(self) -> Self;
    /// Rounded up.
    fn round_up(self) -> Self;
    /// Rounded down.
    fn round_down(self) -> Self;
    /// Rounded toward zero.
    fn round_zero(self) -> Self;
    /// Rounded to nearest, ties to even.
    fn round_even(self) -> Self;
    /// `self * b + c`, rounded once.
    fn fused(self, b: Self, c: Self) -> Self;
    /// Rounded from an unsigned integer.
    fn from_unsigned(x: u128) -> Self;
    /// Rounded from a signed integer.
    fn from_signed(x: i128) -> Self;
    /// Widened or rounded to the other float type.
    fn widen(self) -> f64;
    /// Rounded from `f64`.
    fn narrow(x: f64) -> Self;
    /// The comparison `cc`.
    fn compare(self, cc: FloatCC, b: Self) -> bool;
}

macro_rules! impl_float {
    ($($f:ty, $u:ty;)*) => {$(
        impl Float for $f {
            #[inline(always)]
            fn from_bits128(x: u128) -> Self { Self::from_bits(x as $u) }
            #[inline(always)]
            fn to_bits128(self) -> u128 { u128::from(self.to_bits()) }
            #[inline(always)]
            fn negate(self) -> Self { Self::from_bits(self.to_bits() ^ (1 << (<$u>::BITS - 1))) }
            #[inline(always)]
            fn absolute(self) -> Self { Self::from_bits(self.to_bits() & (<$u>::MAX >> 1)) }
            #[inline(always)]
            fn with_sign_of(self, b: Self) -> Self {
                let sign = 1 << (<$u>::BITS - 1);
                Self::from_bits((self.to_bits() & !sign) | (b.to_bits() & sign))
            }
            #[inline(always)]
            fn least(self, b: Self) -> Self {
                if self.is_nan() || b.is_nan() {
                    self + b
                } else if self == b {
                    Self::from_bits(self.to_bits() | b.to_bits())
                } else if self < b { self } else { b }
            }
            #[inline(always)]
            fn greatest(self, b: Self) -> Self {
                if self.is_nan() || b.is_nan() {
                    self + b
                } else if self == b {
                    Self::from_bits(self.to_bits() & b.to_bits())
                } else if self > b { self } else { b }
            }
            #[inline(always)]
            fn root(self) -> Self { self.sqrt() }
            #[inline(always)]
            fn round_up(self) -> Self { self.ceil() }
            #[inline(always)]
            fn round_down(self) -> Self { self.floor() }
            #[inline(always)]
            fn round_zero(self) -> Self { self.trunc() }
            #[inline(always)]
            fn round_even(self) -> Self { self.round_ties_even() }
            #[inline(always)]
            fn fused(self, b: Self, c: Self) -> Self { self.mul_add(b, c) }
            #[inline(always)]
            fn from_unsigned(x: u128) -> Self { x as $f }
            #[inline(always)]
            fn from_signed(x: i128) -> Self { x as $f }
            #[inline(always)]
            fn widen(self) -> f64 { f64::from(self) }
            #[inline(always)]
            fn narrow(x: f64) -> Self { x as $f }
            // Negated comparisons are how the unordered conditions are meant.
            #[allow(clippy::neg_cmp_op_on_partial_ord, clippy::double_comparisons)]
            #[inline(always)]
            fn compare(self, cc: FloatCC, b: Self) -> bool {
                match cc {
                    FloatCC::Ord => !self.is_nan() && !b.is_nan(),
                    FloatCC::Uno => self.is_nan() || b.is_nan(),
                    FloatCC::Eq => self == b,
                    FloatCC::Ne => self != b,
                    FloatCC::One => self < b || self > b,
                    FloatCC::Ueq => !(self < b || self > b),
                    FloatCC::Lt => self < b,
                    FloatCC::Le => self <= b,
                    FloatCC::Gt => self > b,
                    FloatCC::Ge => self >= b,
                    FloatCC::Ult => !(self >= b),
                    FloatCC::Ule => !(self > b),
                    FloatCC::Ugt => !(self <= b),
                    FloatCC::Uge => !(self < b),
                }
            }
        }
    )*};
}
impl_float! { f32, u32; f64, u64; }

/// The smallest and one past the largest integer of a width, as floats.
fn range(bits: u32, signed: bool) -> (f64, f64) {
    let top = f64::from(2).powi(bits as i32 - i32::from(signed));
    (if signed { -top } else { 0.0 }, top)
}

/// Float to integer, toward zero; a NaN is a bad conversion and a value that
/// does not fit an overflow.
pub fn to_int<F: Float>(x: F, bits: u32, signed: bool) -> Result<u128, TrapCode> {
    let x = x.widen();
    if x.is_nan() {
        return Err(TrapCode::BadConversionToInteger);
    }
    let (low, high) = range(bits, signed);
    let t = x.trunc();
    if t < low || t >= high {
        return Err(TrapCode::IntegerOverflow);
    }
    Ok(if signed { t as i128 as u128 } else { t as u128 })
}

/// Float to integer, toward zero; a NaN becomes 0 and the rest saturates.
pub fn to_int_sat<F: Float>(x: F, bits: u32, signed: bool) -> u128 {
    let x = x.widen();
    let mask = u128::MAX >> (128 - bits);
    let (low, high) = range(bits, signed);
    if x.is_nan() {
        0
    } else if x <= low {
        if signed { 1 << (bits - 1) } else { 0 }
    } else if x >= high {
        if signed { mask >> 1 } else { mask }
    } else if signed {
        x.trunc() as i128 as u128
    } else {
        x.trunc() as u128
    }
}
