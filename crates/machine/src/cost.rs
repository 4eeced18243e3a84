//! Fixed-point costs.
//!
//! A decision compares sums of products of counts and machine numbers. Floats
//! would make its outcome depend on the order of additions, so a cost is an
//! integer number of thousandths of an issue. Sums saturate instead of
//! wrapping: a cost that large is only ever compared.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// A cost in thousandths of an issue.
///
/// Arithmetic saturates at [`Cost::MIN`] and [`Cost::MAX`]. Costs of machines
/// are never negative; differences of costs (margins, break-even values) are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Cost(pub i64);

/// Why a text is no cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CostError {
    /// Not a decimal number.
    #[error("not a decimal number of issues")]
    Malformed,
    /// More than three decimals.
    #[error("more than three decimals; costs are kept in thousandths of an issue")]
    TooFine,
    /// Beyond what a cost can hold.
    #[error("too large")]
    TooLarge,
}

impl Cost {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// One issue.
    pub const ONE: Self = Self(Self::SCALE);
    /// The most a cost can be.
    pub const MAX: Self = Self(i64::MAX);
    /// The least a cost can be.
    pub const MIN: Self = Self(i64::MIN);
    /// Thousandths in an issue.
    pub const SCALE: i64 = 1000;

    /// `n` issues.
    pub const fn issues(n: u64) -> Self {
        // Beyond i64::MAX / SCALE it saturates; the cast is then in range.
        if n > (i64::MAX / Self::SCALE) as u64 {
            Self::MAX
        } else {
            Self(n as i64 * Self::SCALE)
        }
    }

    /// The number of thousandths of an issue.
    pub const fn thousandths(self) -> i64 {
        self.0
    }

    /// The sum, unless it is out of range.
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(sum) => Some(Self(sum)),
            None => None,
        }
    }

    /// The difference, unless it is out of range.
    pub const fn checked_sub(self, other: Self) -> Option<Self> {
        match self.0.checked_sub(other.0) {
            Some(difference) => Some(Self(difference)),
            None => None,
        }
    }

    /// The product, unless it is out of range.
    pub fn checked_mul(self, n: u64) -> Option<Self> {
        let product = i128::from(self.0) * i128::from(n);
        i64::try_from(product).ok().map(Self)
    }

    /// `self · numerator / denominator`, rounded to the nearest thousandth,
    /// halves away from zero; `None` for a zero denominator. The product is
    /// formed exactly.
    pub fn scaled(self, numerator: u64, denominator: u64) -> Option<Self> {
        if denominator == 0 {
            return None;
        }
        let den = i128::from(denominator);
        let product = i128::from(self.0) * i128::from(numerator);
        let half = if product < 0 { -(den / 2) } else { den / 2 };
        Some(Self::clamped((product + half) / den))
    }

    fn clamped(x: i128) -> Self {
        Self(x.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64)
    }
}

impl Add for Cost {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Cost {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl SubAssign for Cost {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Mul<u64> for Cost {
    type Output = Self;
    fn mul(self, n: u64) -> Self {
        Self::clamped(i128::from(self.0) * i128::from(n))
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(costs: I) -> Self {
        costs.fold(Self::ZERO, Add::add)
    }
}

impl<'a> Sum<&'a Cost> for Cost {
    fn sum<I: Iterator<Item = &'a Self>>(costs: I) -> Self {
        costs.copied().sum()
    }
}

/// Issues with up to three decimals, trailing zeros trimmed: `12`, `3.5`,
/// `-0.125`. Width and alignment are honoured.
impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let magnitude = self.0.unsigned_abs();
        let scale = Self::SCALE.unsigned_abs();
        let (whole, fraction) = (magnitude / scale, magnitude % scale);
        let mut text = whole.to_string();
        if fraction != 0 {
            let digits = format!("{fraction:03}");
            text.push('.');
            text.push_str(digits.trim_end_matches('0'));
        }
        f.pad_integral(self.0 >= 0, "", &text)
    }
}

impl FromStr for Cost {
    type Err = CostError;

    fn from_str(text: &str) -> Result<Self, CostError> {
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
        let decimal = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        if !decimal(whole) || !decimal(fraction) {
            return Err(CostError::Malformed);
        }
        let fraction = fraction.trim_end_matches('0');
        if fraction.len() > 3 {
            return Err(CostError::TooFine);
        }
        let thousandths = format!("{fraction:0<3}")
            .parse::<i64>()
            .map_err(|_| CostError::Malformed)?;
        let magnitude = whole
            .parse::<i64>()
            .ok()
            .and_then(|w| w.checked_mul(Self::SCALE))
            .and_then(|w| w.checked_add(thousandths))
            .ok_or(CostError::TooLarge)?;
        Ok(Self(if negative { -magnitude } else { magnitude }))
    }
}

/// A JSON number of issues: an integer where it is whole.
impl Serialize for Cost {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0 % Self::SCALE == 0 {
            serializer.serialize_i64(self.0 / Self::SCALE)
        } else {
            // Correctly rounded, so it prints with the decimals it has.
            serializer.serialize_f64(self.0 as f64 / Self::SCALE as f64)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_is_exact_in_thousandths() {
        let b = Cost(3500);
        assert_eq!(b + Cost(125), Cost(3625));
        assert_eq!(b - Cost::issues(5), Cost(-1500));
        assert_eq!(b * 3, Cost(10_500));
        assert_eq!([Cost(1), Cost(2), Cost(3)].iter().sum::<Cost>(), Cost(6));
        let mut sum = Cost::ZERO;
        sum += b;
        sum -= Cost(500);
        assert_eq!(sum, Cost::issues(3));
        // One tenth, ten times: what floats get wrong.
        assert_eq!((0..10).map(|_| Cost(100)).sum::<Cost>(), Cost::ONE);
    }

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(Cost::MAX + Cost::ONE, Cost::MAX);
        assert_eq!(Cost::MIN - Cost::ONE, Cost::MIN);
        assert_eq!(Cost(2) * u64::MAX, Cost::MAX);
        assert_eq!(Cost(-2) * u64::MAX, Cost::MIN);
        assert_eq!(Cost::MAX * u64::from(false), Cost::ZERO);
        assert_eq!(Cost::issues(u64::MAX), Cost::MAX);
        assert_eq!(
            Cost::issues(9_223_372_036_854_775),
            Cost(9_223_372_036_854_775_000)
        );
        assert_eq!([Cost::MAX; 3].iter().sum::<Cost>(), Cost::MAX);
        assert_eq!(Cost::MAX.checked_add(Cost(1)), None);
        assert_eq!(Cost::MIN.checked_sub(Cost(1)), None);
        assert_eq!(Cost(2).checked_mul(u64::MAX), None);
        assert_eq!(Cost(7).checked_mul(6), Some(Cost(42)));
    }

    #[test]
    fn scaling_rounds_to_nearest() {
        assert_eq!(Cost(1000).scaled(1, 3), Some(Cost(333)));
        assert_eq!(Cost(1000).scaled(2, 3), Some(Cost(667)));
        assert_eq!(Cost(1).scaled(1, 2), Some(Cost(1)));
        assert_eq!(Cost(-1).scaled(1, 2), Some(Cost(-1)));
        assert_eq!(Cost(5).scaled(1, 0), None);
        assert_eq!(Cost::MAX.scaled(u64::MAX, 1), Some(Cost::MAX));
        assert_eq!(Cost::MIN.scaled(u64::MAX, 1), Some(Cost::MIN));
        assert_eq!(
            Cost::MAX.scaled(u64::MAX, u64::MAX),
            Some(Cost::MAX),
            "the intermediate product does not overflow"
        );
    }

    #[test]
    fn text_trims_zeros_and_reads_back() {
        for (cost, text) in [
            (Cost(0), "0"),
            (Cost(12_000), "12"),
            (Cost(12_500), "12.5"),
            (Cost(-125), "-0.125"),
            (Cost(1), "0.001"),
            (Cost(1010), "1.01"),
            (Cost::MAX, "9223372036854775.807"),
        ] {
            assert_eq!(cost.to_string(), text);
            assert_eq!(text.parse(), Ok(cost));
        }
        assert_eq!(Cost::MIN.to_string(), "-9223372036854775.808");
        assert_eq!(format!("[{:>6}]", Cost(3500)), "[   3.5]");
        assert_eq!("3.5000".parse(), Ok(Cost(3500)));
    }

    #[test]
    fn bad_text_is_refused() {
        for text in [
            "", "-", ".", "1.", ".5", "1e3", "nan", "+1", " 1", "1,5", "--1",
        ] {
            assert_eq!(text.parse::<Cost>(), Err(CostError::Malformed), "{text:?}");
        }
        assert_eq!("0.0001".parse::<Cost>(), Err(CostError::TooFine));
        assert_eq!(
            "9223372036854775.808".parse::<Cost>(),
            Err(CostError::TooLarge)
        );
        assert_eq!(
            "99999999999999999999".parse::<Cost>(),
            Err(CostError::TooLarge)
        );
    }
}
