//! The numbers of a machine's document, and their sources.
//!
//! They are checked while they are read, because only then does the parser
//! know where they stand: what is wrong with one is reported at its place.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::cost::{Cost, CostError};
use crate::machine::Cycles;

/// More issues than any cost of a machine may be; sums of such costs over a
/// long launch stay far from saturating.
const MOST: Cost = Cost::issues(1_000_000);

/// A text that says something, on one line.
#[derive(Deserialize, Clone)]
#[serde(try_from = "String")]
pub(crate) struct Text(pub String);

impl TryFrom<String> for Text {
    type Error = &'static str;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if text.is_empty() {
            return Err("must not be empty");
        }
        Ok(Self(text))
    }
}

/// A number as a document gives it: alone or with its source.
pub(crate) struct Given<T> {
    /// The number.
    pub value: T,
    /// Its own source; without one its section's holds.
    pub source: Option<Text>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound = "T: Number")]
struct WithSource<T> {
    value: Bare<T>,
    source: Text,
}

/// A number that is given alone.
struct Bare<T>(T);

/// What the numbers of a document are.
pub(crate) trait Number: Sized {
    /// What is expected, for messages.
    const WHAT: &'static str;

    /// From a whole number.
    fn whole(n: i64) -> Result<Self, String>;

    /// From a decimal number.
    fn float(_: f64) -> Result<Self, String> {
        Err(format!("expected {}, not a decimal number", Self::WHAT))
    }

    /// From a range.
    fn range(_: i64, _: i64) -> Result<Self, String> {
        Err(format!("expected {}, not an array", Self::WHAT))
    }
}

impl Number for Cost {
    const WHAT: &'static str = "a cost in issues";

    fn whole(n: i64) -> Result<Self, String> {
        let n = u64::try_from(n).map_err(|_| "a cost must not be negative".to_string())?;
        in_range(Self::issues(n))
    }

    fn float(x: f64) -> Result<Self, String> {
        if !x.is_finite() {
            return Err("a cost must be finite".into());
        }
        if x < 0.0 {
            return Err("a cost must not be negative".into());
        }
        let scale = Self::SCALE as f64;
        let thousandths = (x * scale).round();
        // Both sides are the float nearest to a decimal number; they are the
        // same float exactly when the decimals are.
        if thousandths / scale != x {
            return Err(CostError::TooFine.to_string());
        }
        // The cast saturates, and what saturates is out of range.
        in_range(Self(thousandths as i64))
    }
}

fn in_range(cost: Cost) -> Result<Cost, String> {
    if cost > MOST {
        return Err(format!("a cost must not be more than {MOST} issues"));
    }
    Ok(cost)
}

impl Number for Cycles {
    const WHAT: &'static str = "cycles, a whole number or [low, high]";

    fn whole(n: i64) -> Result<Self, String> {
        Self::range(n, n)
    }

    fn range(low: i64, high: i64) -> Result<Self, String> {
        let cycles = |n| {
            u32::try_from(n)
                .ok()
                .filter(|&n| (1..=1_000_000).contains(&n))
                .ok_or_else(|| "cycles must be from 1 to 1000000".to_string())
        };
        let (low, high) = (cycles(low)?, cycles(high)?);
        if low > high {
            return Err("the low end of a range must not be above its high end".into());
        }
        Ok(Self { low, high })
    }
}

/// A number of things, at least one.
pub(crate) struct Positive(pub u32);

impl fmt::Display for Positive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Number for Positive {
    const WHAT: &'static str = "a whole number";

    fn whole(n: i64) -> Result<Self, String> {
        u32::try_from(n)
            .ok()
            .filter(|&n| (1..=1_000_000).contains(&n))
            .map(Self)
            .ok_or_else(|| "must be from 1 to 1000000".into())
    }
}

/// Visits a bare number, and where `TABLE` holds also one with its source.
struct NumberVisitor<T, const TABLE: bool>(PhantomData<T>);

impl<'de, T: Number, const TABLE: bool> Visitor<'de> for NumberVisitor<T, TABLE> {
    type Value = Given<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::WHAT)?;
        if TABLE {
            f.write_str(", alone or as { value, source }")?;
        }
        Ok(())
    }

    fn visit_i64<E: de::Error>(self, n: i64) -> Result<Given<T>, E> {
        bare(T::whole(n))
    }

    fn visit_u64<E: de::Error>(self, n: u64) -> Result<Given<T>, E> {
        bare(T::whole(i64::try_from(n).unwrap_or(i64::MAX)))
    }

    fn visit_f64<E: de::Error>(self, x: f64) -> Result<Given<T>, E> {
        bare(T::float(x))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Given<T>, A::Error> {
        let mut ends = Vec::new();
        while let Some(n) = seq.next_element::<i64>()? {
            ends.push(n);
        }
        match ends[..] {
            [low, high] => bare(T::range(low, high)),
            _ => Err(de::Error::custom("a range is [low, high]")),
        }
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Given<T>, M::Error> {
        if !TABLE {
            return Err(de::Error::invalid_type(de::Unexpected::Map, &self));
        }
        let with = WithSource::<T>::deserialize(de::value::MapAccessDeserializer::new(map))?;
        Ok(Given {
            value: with.value.0,
            source: Some(with.source),
        })
    }
}

fn bare<T, E: de::Error>(value: Result<T, String>) -> Result<Given<T>, E> {
    value
        .map(|value| Given {
            value,
            source: None,
        })
        .map_err(E::custom)
}

impl<'de, T: Number> Deserialize<'de> for Given<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(NumberVisitor::<T, true>(PhantomData))
    }
}

impl<'de, T: Number> Deserialize<'de> for Bare<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(NumberVisitor::<T, false>(PhantomData))
            .map(|given| Bare(given.value))
    }
}
