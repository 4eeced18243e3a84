//! What one lane's number can do: the vocabulary in which the opcode table
//! states its semantics.
//!
//! [`Int`] is implemented by the unsigned Rust integers, [`Float`] by `f32`,
//! `f64` and, for half precision, [`half::f16`]. The scalar evaluator and the executor's 32-lane loops
//! instantiate the same table row with these traits, so an opcode means one
//! thing everywhere. Float rules are CLIF's: `fmin`/`fmax` propagate NaN and
//! order `-0.0` below `0.0`; `nearest` rounds ties to even.
//!
//! Half precision is computed in single or double precision and rounded once
//! more at the end. For sums, products, quotients and square roots that gives
//! the correctly rounded result, since 24 ≥ 2·11 + 2 (Figueroa, *When is double
//! rounding innocuous?*, 1995). Where it would not (conversions from `f64`), the
//! first rounding is to odd (Boldo and Melquiond, *Emulation of FMA and correctly
//! rounded sums: proved algorithms using rounding to odd*, 2008).
//! Sines and their like come from the `libm` crate, which is plain Rust: the same
//! bits on every platform, though not always the nearest ones; a NaN that they
//! yield is always [`Float::QUIET_NAN`]. Those of half precision are the
//! single-precision ones, rounded.

pub use half::f16;

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
    /// The bits of the quiet NaN without sign and payload.
    const QUIET_NAN: u128;
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
    /// Widened to `f64`.
    fn widen(self) -> f64;
    /// Rounded from `f64`, once.
    fn narrow(x: f64) -> Self;
    /// Sine.
    fn sine(self) -> Self;
    /// Cosine.
    fn cosine(self) -> Self;
    /// Tangent.
    fn tangent(self) -> Self;
    /// `e` to the power of it.
    fn exponential(self) -> Self;
    /// 2 to the power of it.
    fn exponential2(self) -> Self;
    /// Natural logarithm.
    fn logarithm(self) -> Self;
    /// Logarithm to base 2.
    fn logarithm2(self) -> Self;
    /// To the power of `b`.
    fn power(self, b: Self) -> Self;
    /// 1 divided by the square root.
    fn reciprocal_root(self) -> Self;
    /// The angle of the point (`x`, `self`).
    fn angle(self, x: Self) -> Self;
    /// Hyperbolic tangent.
    fn hyperbolic_tangent(self) -> Self;
    /// The comparison `cc`.
    fn compare(self, cc: FloatCC, b: Self) -> bool;
}

/// What the formats share: bits, signs and order, of bits in `$u`.
macro_rules! common {
    ($u:ty) => {
        #[inline(always)]
        fn from_bits128(x: u128) -> Self {
            Self::from_bits(x as $u)
        }
        #[inline(always)]
        fn to_bits128(self) -> u128 {
            u128::from(self.to_bits())
        }
        #[inline(always)]
        fn negate(self) -> Self {
            Self::from_bits(self.to_bits() ^ (1 << (<$u>::BITS - 1)))
        }
        #[inline(always)]
        fn absolute(self) -> Self {
            Self::from_bits(self.to_bits() & (<$u>::MAX >> 1))
        }
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
            } else if self < b {
                self
            } else {
                b
            }
        }
        #[inline(always)]
        fn greatest(self, b: Self) -> Self {
            if self.is_nan() || b.is_nan() {
                self + b
            } else if self == b {
                Self::from_bits(self.to_bits() & b.to_bits())
            } else if self > b {
                self
            } else {
                b
            }
        }
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
    };
}

macro_rules! impl_float {
    ($($f:ident, $u:ty, $nan:literal, $sin:ident $cos:ident $tan:ident $exp:ident $exp2:ident $log:ident $log2:ident
        $pow:ident $atan2:ident $tanh:ident;)*) => {$(
        impl Float for $f {
            common!($u);
            const QUIET_NAN: u128 = $nan;
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
            #[inline(always)]
            fn sine(self) -> Self { canonical(libm::$sin(self)) }
            #[inline(always)]
            fn cosine(self) -> Self { canonical(libm::$cos(self)) }
            #[inline(always)]
            fn tangent(self) -> Self { canonical(libm::$tan(self)) }
            #[inline(always)]
            fn exponential(self) -> Self { canonical(libm::$exp(self)) }
            #[inline(always)]
            fn exponential2(self) -> Self { canonical(libm::$exp2(self)) }
            #[inline(always)]
            fn logarithm(self) -> Self { canonical(libm::$log(self)) }
            #[inline(always)]
            fn logarithm2(self) -> Self { canonical(libm::$log2(self)) }
            #[inline(always)]
            fn power(self, b: Self) -> Self { canonical(libm::$pow(self, b)) }
            #[inline(always)]
            fn reciprocal_root(self) -> Self { canonical(1.0 / self.sqrt()) }
            #[inline(always)]
            fn angle(self, x: Self) -> Self { canonical(libm::$atan2(self, x)) }
            #[inline(always)]
            fn hyperbolic_tangent(self) -> Self { canonical(libm::$tanh(self)) }
        }
    )*};
}
impl_float! {
    f32, u32, 0x7fc0_0000, sinf cosf tanf expf exp2f logf log2f powf atan2f tanhf;
    f64, u64, 0x7ff8_0000_0000_0000, sin cos tan exp exp2 log log2 pow atan2 tanh;
}

/// The same number; of NaNs one for all, whichever the platform prefers.
#[inline(always)]
fn canonical<F: Float>(x: F) -> F {
    match x.compare(FloatCC::Uno, x) {
        true => F::from_bits128(F::QUIET_NAN),
        false => x,
    }
}

/// Half-precision functions that are the single-precision ones, rounded.
macro_rules! by_f32 {
    ($($name:ident = $f:expr;)*) => {$(
        #[inline]
        fn $name(self) -> Self {
            let f: fn(f32) -> f32 = $f;
            Self::from_f32(f(self.to_f32()))
        }
    )*};
}

impl Float for f16 {
    common!(u16);
    const QUIET_NAN: u128 = 0x7e00;
    by_f32! {
        root = f32::sqrt;
        round_up = f32::ceil;
        round_down = f32::floor;
        round_zero = f32::trunc;
        round_even = f32::round_ties_even;
        sine = Float::sine;
        cosine = Float::cosine;
        tangent = Float::tangent;
        exponential = Float::exponential;
        exponential2 = Float::exponential2;
        logarithm = Float::logarithm;
        logarithm2 = Float::logarithm2;
        reciprocal_root = Float::reciprocal_root;
        hyperbolic_tangent = Float::hyperbolic_tangent;
    }
    #[inline]
    fn power(self, b: Self) -> Self {
        Self::from_f32(self.to_f32().power(b.to_f32()))
    }
    #[inline]
    fn angle(self, x: Self) -> Self {
        Self::from_f32(self.to_f32().angle(x.to_f32()))
    }
    #[inline]
    fn fused(self, b: Self, c: Self) -> Self {
        // The product has 22 bits and is exact. The sum is exact as well, unless
        // one term is 2^30 times the other or more. If that is the product, it
        // is out of range; if it is `c`, it is far from the middle between two
        // neighbours, and where the double lies beside it does not matter.
        Self::narrow(self.to_f64() * b.to_f64() + c.to_f64())
    }
    // A number that an `f64` does not hold exactly is too large for an `f16`.
    #[inline]
    fn from_unsigned(x: u128) -> Self {
        Self::narrow(x as f64)
    }
    #[inline]
    fn from_signed(x: i128) -> Self {
        Self::narrow(x as f64)
    }
    #[inline]
    fn widen(self) -> f64 {
        self.to_f64()
    }
    #[inline]
    fn narrow(x: f64) -> Self {
        // To `f32`, rounding to odd.
        let y = x as f32;
        let back = f64::from(y);
        let odd = if back == x || y.is_nan() || y.to_bits() & 1 == 1 {
            y
        } else {
            let up = back.abs() < x.abs();
            f32::from_bits(y.to_bits().wrapping_add_signed(if up { 1 } else { -1 }))
        };
        Self::from_f32(odd)
    }
}

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
