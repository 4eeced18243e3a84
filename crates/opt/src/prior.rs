//! What is assumed of a condition that nothing is known of.
//!
//! A prior states two probabilities: p, that a lane's condition is true, and
//! the correlation ρ of the lanes. With ρ all lanes of the warp see one draw,
//! otherwise each has its own. What a decision needs is the *warp's* view, for
//! the m lanes that are expected at the branch:
//!
//! ```text
//! P(any true)  = ρ·p     + (1−ρ)·(1 − (1−p)^m)
//! P(any false) = ρ·(1−p) + (1−ρ)·(1 − p^m)
//! P(split)     = P(any true) + P(any false) − 1
//! ```
//!
//! So a branch that one lane in 16 takes is executed by 87% of the warps if the
//! lanes are independent, and by 6% if they agree.
//!
//! Everything is fixed point: a [`Probability`] is a number of 2⁻³²nds, powers
//! are kept to 2⁻⁶⁴. Hence `P(any true)` never falls when p or m grows, for
//! m = 1 and for ρ = 1 it is p exactly, and the two never sum to less than 1.

use std::fmt;
use std::str::FromStr;

/// A probability, as a number of 2⁻³²nds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Probability(u64);

impl Probability {
    /// Never.
    pub const ZERO: Self = Self(0);
    /// Even odds.
    pub const HALF: Self = Self(1 << 31);
    /// Always.
    pub const ONE: Self = Self(1 << 32);

    /// `part / whole`, to the nearest 2⁻³²; `None` unless `part ≤ whole` and
    /// `whole > 0`.
    pub fn ratio(part: u64, whole: u64) -> Option<Self> {
        (whole > 0 && part <= whole).then(|| {
            let (part, whole) = (u128::from(part), u128::from(whole));
            Self((((part << 32) + whole / 2) / whole) as u64)
        })
    }

    /// The number of 2⁻³²nds.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// That it does not happen.
    #[must_use]
    pub const fn complement(self) -> Self {
        Self(Self::ONE.0 - self.0)
    }

    /// How often it is expected in `n` trials, to the nearest whole number.
    pub fn of(self, n: u64) -> u64 {
        ((u128::from(n) * u128::from(self.0) + (1 << 31)) >> 32) as u64
    }

    /// That it happens in at least one of `n` independent trials.
    #[must_use]
    pub fn in_any_of(self, n: u32) -> Self {
        let miss = u128::from(self.complement().0);
        // In 2⁻⁶⁴ths, rounded down.
        let mut all_miss: u128 = 1 << 64;
        for _ in 0..n {
            all_miss = (all_miss * miss) >> 32;
        }
        Self((((1 << 64) - all_miss + (1 << 31)) >> 32) as u64)
    }

    /// `self·a + (1−self)·b`.
    fn mix(self, a: Self, b: Self) -> Self {
        let sum = u128::from(self.0) * u128::from(a.0)
            + u128::from(self.complement().0) * u128::from(b.0);
        Self(((sum + (1 << 31)) >> 32) as u64)
    }
}

/// Up to six decimals.
impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millionths = self.of(1_000_000);
        let text = format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// Why a text is no prior or probability.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PriorError {
    /// Not a number between 0 and 1.
    #[error("`{0}` is no probability; write 1/16, 0.0625 or 6.25%")]
    Probability(String),
    /// Neither `p` nor `rho`.
    #[error("`{0}` is no part of a prior; write p=1/16,rho=0")]
    Part(String),
    /// The same part again.
    #[error("`{0}` is given twice")]
    Twice(&'static str),
}

/// `1/16`, `0.0625` or `6.25%`.
impl FromStr for Probability {
    type Err = PriorError;

    fn from_str(text: &str) -> Result<Self, PriorError> {
        let parsed = match (text.split_once('/'), text.strip_suffix('%')) {
            (Some((part, whole)), _) => number(part)
                .zip(number(whole))
                .and_then(|(part, whole)| Self::ratio(part, whole)),
            (None, Some(percent)) => decimal(percent, 100),
            (None, None) => decimal(text, 1),
        };
        parsed.ok_or_else(|| PriorError::Probability(text.to_owned()))
    }
}

fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// A decimal number, divided by `by`.
fn decimal(text: &str, by: u64) -> Option<Probability> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let fraction = fraction.trim_end_matches('0');
    // More decimals than that are beyond the last bit.
    if fraction.len() > 15 {
        return None;
    }
    let unit = 10u64.checked_pow(fraction.len() as u32)?;
    let fraction = if fraction.is_empty() {
        0
    } else {
        number(fraction)?
    };
    let part = number(whole)?.checked_mul(unit)?.checked_add(fraction)?;
    Probability::ratio(part, unit.checked_mul(by)?)
}

/// What is assumed of a condition that nothing is known of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Prior {
    /// p: that a lane's condition is true.
    pub lane_true: Probability,
    /// ρ: that all lanes of a warp agree, as opposed to being independent.
    pub correlation: Probability,
}

impl Default for Prior {
    /// Even odds, independent lanes.
    fn default() -> Self {
        Self {
            lane_true: Probability::HALF,
            correlation: Probability::ZERO,
        }
    }
}

impl Prior {
    /// The probability that any of `m` lanes is true.
    pub fn any_true(self, m: u32) -> Probability {
        self.any(self.lane_true, m)
    }

    /// The probability that any of `m` lanes is false.
    pub fn any_false(self, m: u32) -> Probability {
        self.any(self.lane_true.complement(), m)
    }

    fn any(self, p: Probability, m: u32) -> Probability {
        self.correlation.mix(p, p.in_any_of(m))
    }

    /// How many of `m` lanes are expected on a side when any is there: on the
    /// true side m·p / P(any true). At least 1, at most `m`.
    pub fn lanes(self, side: bool, m: u32) -> u32 {
        let (p, any) = match side {
            true => (self.lane_true, self.any_true(m)),
            false => (self.lane_true.complement(), self.any_false(m)),
        };
        if any == Probability::ZERO {
            return 1;
        }
        let lanes = (u128::from(m) * u128::from(p.0) + u128::from(any.0) / 2) / u128::from(any.0);
        lanes.clamp(1, u128::from(m.max(1))) as u32
    }

    /// The prior of the opposite condition.
    #[must_use]
    pub fn negated(self) -> Self {
        Self {
            lane_true: self.lane_true.complement(),
            ..self
        }
    }
}

/// `p=0.0625, rho=0`
impl fmt::Display for Prior {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p={}, rho={}", self.lane_true, self.correlation)
    }
}

/// `p=1/16`, `rho=0.5` or both, separated by a comma or blanks; what is left
/// out is that of the default.
impl FromStr for Prior {
    type Err = PriorError;

    fn from_str(text: &str) -> Result<Self, PriorError> {
        let (mut p, mut rho) = (None, None);
        let parts = text.split([',', ' ', '\t']).filter(|part| !part.is_empty());
        for part in parts {
            let (name, slot, value) = match part.split_once('=') {
                Some(("p", value)) => ("p", &mut p, value),
                Some(("rho" | "ρ", value)) => ("rho", &mut rho, value),
                _ => return Err(PriorError::Part(part.to_owned())),
            };
            if slot.replace(value.parse()?).is_some() {
                return Err(PriorError::Twice(name));
            }
        }
        if p.is_none() && rho.is_none() {
            return Err(PriorError::Part(text.to_owned()));
        }
        let default = Self::default();
        Ok(Self {
            lane_true: p.unwrap_or(default.lane_true),
            correlation: rho.unwrap_or(default.correlation),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn prior(text: &str) -> Prior {
        text.parse().unwrap()
    }

    #[test]
    fn the_warps_view_is_not_the_lanes() {
        for (text, m, any_true, any_false, split) in [
            // 1 − (15/16)^32 = 0.8732 and 1 − (1023/1024)^32 = 0.0308.
            ("p=1/16", 32, "0.873211", "1", "0.873211"),
            ("p=1/1024", 32, "0.030782", "1", "0.030782"),
            ("p=1/16,rho=1", 32, "0.0625", "0.9375", "0"),
            ("p=1/2", 32, "1", "1", "1"),
            ("p=1/2", 2, "0.75", "0.75", "0.5"),
            ("p=1/2,rho=1/2", 2, "0.625", "0.625", "0.25"),
            ("p=1/4", 1, "0.25", "0.75", "0"),
            ("p=0", 32, "0", "1", "0"),
            ("p=1", 32, "1", "0", "0"),
            ("p=1,rho=1/3", 32, "1", "0", "0"),
        ] {
            let p = prior(text);
            let (t, f) = (p.any_true(m), p.any_false(m));
            assert_eq!(t.to_string(), any_true, "{text}, {m} lanes");
            assert_eq!(f.to_string(), any_false, "{text}, {m} lanes");
            let both = t.bits() + f.bits() - Probability::ONE.bits();
            assert_eq!(Probability(both).to_string(), split, "{text}, {m} lanes");
        }
    }

    #[test]
    fn expected_lanes_of_a_side_that_is_reached() {
        // 32/16 lanes in all, by 0.873 of the warps; with one draw for all, all.
        assert_eq!(prior("p=1/16").lanes(true, 32), 2);
        assert_eq!(prior("p=1/16").lanes(false, 32), 30);
        assert_eq!(prior("p=1/16,rho=1").lanes(true, 32), 32);
        assert_eq!(prior("p=1/2").lanes(true, 32), 16);
        assert_eq!(prior("p=1/2").lanes(true, 1), 1);
        assert_eq!(prior("p=0").lanes(true, 32), 1);
        assert_eq!(prior("p=0").lanes(false, 32), 32);
    }

    #[test]
    fn texts_read_back_and_bad_ones_are_refused() {
        for (text, want) in [
            ("p=1/16,rho=0", "p=0.0625, rho=0"),
            ("p=6.25% rho=0.5", "p=0.0625, rho=0.5"),
            ("rho=1", "p=0.5, rho=1"),
            ("ρ=1/3", "p=0.5, rho=0.333333"),
            ("p=0.000001", "p=0.000001, rho=0"),
        ] {
            let p = prior(text);
            assert_eq!(p.to_string(), want);
            let again = prior(want);
            assert_eq!(again.to_string(), want);
        }
        for (text, complaint) in [
            ("", "`` is no part of a prior; write p=1/16,rho=0"),
            ("p", "`p` is no part of a prior; write p=1/16,rho=0"),
            ("q=1", "`q=1` is no part of a prior; write p=1/16,rho=0"),
            ("p=0,p=1", "`p` is given twice"),
            ("p=2", "`2` is no probability; write 1/16, 0.0625 or 6.25%"),
            (
                "p=-1",
                "`-1` is no probability; write 1/16, 0.0625 or 6.25%",
            ),
            (
                "p=1/0",
                "`1/0` is no probability; write 1/16, 0.0625 or 6.25%",
            ),
            (
                "p=17/16",
                "`17/16` is no probability; write 1/16, 0.0625 or 6.25%",
            ),
            (
                "p=101%",
                "`101%` is no probability; write 1/16, 0.0625 or 6.25%",
            ),
            (
                "p=nan",
                "`nan` is no probability; write 1/16, 0.0625 or 6.25%",
            ),
            (
                "p=.5",
                "`.5` is no probability; write 1/16, 0.0625 or 6.25%",
            ),
            (
                "p=+1",
                "`+1` is no probability; write 1/16, 0.0625 or 6.25%",
            ),
        ] {
            let error = text.parse::<Prior>().unwrap_err();
            assert_eq!(error.to_string(), complaint, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn more_probability_or_lanes_never_mean_less(
            a in 0..=1u64 << 32, b in 0..=1u64 << 32, rho in 0..=1u64 << 32, m in 1..=32u32,
        ) {
            let with = |p| Prior { lane_true: Probability(p), correlation: Probability(rho) };
            let (low, high) = (with(a.min(b)), with(a.max(b)));
            prop_assert!(low.any_true(m) <= high.any_true(m));
            prop_assert!(low.any_false(m) >= high.any_false(m));
            prop_assert!(m == 1 || low.any_true(m - 1) <= low.any_true(m));
            prop_assert_eq!(low.any_true(m), low.negated().any_false(m));
        }

        /// Some lane is always somewhere; and floats agree.
        #[test]
        fn the_sides_make_up_the_whole(
            p in 0..=1u64 << 32, rho in 0..=1u64 << 32, m in 1..=32u32,
        ) {
            let prior = Prior { lane_true: Probability(p), correlation: Probability(rho) };
            let (t, f) = (prior.any_true(m).bits(), prior.any_false(m).bits());
            let one = 1u64 << 32;
            prop_assert!(t <= one && f <= one && t + f >= one);
            prop_assert!(m > 1 || t + f == one);
            let x = |n: u64| n as f64 / one as f64;
            let want = x(rho) * x(p) + (1.0 - x(rho)) * (1.0 - (1.0 - x(p)).powi(m as i32));
            prop_assert!((x(t) - want).abs() < 2e-9, "{} {}", x(t), want);
        }
    }
}
