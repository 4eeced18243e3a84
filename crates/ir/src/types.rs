//! Value types: every type is 32 lanes of one Rust number, except `pred`,
//! which is one bit per lane.

use std::fmt;
use std::str::FromStr;

/// The type of a [`Value`](crate::Value), one lane's worth of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Type {
    /// 8-bit integer.
    I8,
    /// 16-bit integer.
    I16,
    /// 32-bit integer.
    I32,
    /// 64-bit integer.
    I64,
    /// 128-bit integer.
    I128,
    /// IEEE 754 binary16.
    F16,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
    /// One truth value per lane; a 32-bit mask for the warp.
    Pred,
}

impl Type {
    /// All types, in declaration order.
    pub const ALL: [Self; 9] = [
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::I128,
        Self::F16,
        Self::F32,
        Self::F64,
        Self::Pred,
    ];

    /// The name used in text.
    pub const fn name(self) -> &'static str {
        match self {
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::I128 => "i128",
            Self::F16 => "f16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::Pred => "pred",
        }
    }

    /// Bits in one lane; 1 for `pred`.
    #[inline]
    pub const fn bits(self) -> u32 {
        match self {
            Self::I8 => 8,
            Self::I16 | Self::F16 => 16,
            Self::I32 | Self::F32 => 32,
            Self::I64 | Self::F64 => 64,
            Self::I128 => 128,
            Self::Pred => 1,
        }
    }

    /// Bytes one lane takes in memory; 0 for `pred`, which has no memory form.
    #[inline]
    pub const fn bytes(self) -> u32 {
        self.bits() / 8
    }

    /// All bits of one lane set.
    #[inline]
    pub const fn mask(self) -> u128 {
        u128::MAX >> (128 - self.bits())
    }

    /// Whether this is one of the integer types.
    #[inline]
    pub const fn is_int(self) -> bool {
        matches!(
            self,
            Self::I8 | Self::I16 | Self::I32 | Self::I64 | Self::I128
        )
    }

    /// Whether this is one of the float types.
    #[inline]
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Type {
    type Err = ();

    fn from_str(s: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|t| t.name() == s).ok_or(())
    }
}
