//! Numbers as reports give them: each knows how it is written.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use warpfold_machine::Cost;

/// A number of a report.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Figure {
    /// A count.
    Count(u64),
    /// A cost.
    Cost(Cost),
    /// A quotient of counts, and the decimals it is given with.
    Quotient(f64, u32),
    /// A quotient with nothing to divide by.
    Undefined,
}

impl Figure {
    /// `100 · part / whole`, with two decimals.
    pub fn percent(part: u64, whole: u64) -> Self {
        Self::quotient(100.0 * part as f64, whole, 2)
    }

    /// `part / whole`, with three decimals.
    pub fn average(part: u64, whole: u64) -> Self {
        Self::quotient(part as f64, whole, 3)
    }

    fn quotient(part: f64, whole: u64, decimals: u32) -> Self {
        match whole {
            0 => Self::Undefined,
            n => Self::Quotient(part / n as f64, decimals),
        }
    }

    /// Whether it is nothing: a zero, or no number.
    pub fn is_nothing(self) -> bool {
        match self {
            Self::Count(n) => n == 0,
            Self::Cost(c) => c == Cost::ZERO,
            Self::Quotient(..) => false,
            Self::Undefined => true,
        }
    }

    /// As a float, for ratios.
    pub fn to_f64(self) -> Option<f64> {
        match self {
            Self::Count(n) => Some(n as f64),
            Self::Cost(c) => Some(c.thousandths() as f64),
            Self::Quotient(x, _) => Some(x),
            Self::Undefined => None,
        }
    }
}

impl std::fmt::Display for Figure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Self::Count(n) => write!(f, "{n}"),
            Self::Cost(c) => write!(f, "{c}"),
            Self::Quotient(x, decimals) => write!(f, "{x:.*}", decimals as usize),
            Self::Undefined => f.write_str("–"),
        }
    }
}

impl Serialize for Figure {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::Count(n) => s.serialize_u64(n),
            Self::Cost(c) => c.serialize(s),
            Self::Quotient(x, decimals) => {
                let scale = 10f64.powi(decimals as i32);
                s.serialize_f64((x * scale).round() / scale)
            }
            Self::Undefined => s.serialize_none(),
        }
    }
}

/// Figures by name, in order.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Named(pub Vec<(String, Figure)>);

impl Named {
    /// Adds a figure.
    pub fn push(&mut self, name: impl Into<String>, figure: Figure) {
        self.0.push((name.into(), figure));
    }

    /// The figure called `name`.
    pub fn get(&self, name: &str) -> Option<Figure> {
        self.0.iter().find(|(n, _)| n == name).map(|&(_, f)| f)
    }
}

impl Serialize for Named {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut map = s.serialize_map(Some(self.0.len()))?;
        for (name, figure) in &self.0 {
            map.serialize_entry(name, figure)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_in_text_and_json() {
        for (figure, text, json) in [
            (Figure::Count(104), "104", "104"),
            (Figure::Cost(Cost(3500)), "3.5", "3.5"),
            (Figure::percent(1696, 32 * 104), "50.96", "50.96"),
            (Figure::average(1696, 104), "16.308", "16.308"),
            (Figure::percent(1, 0), "–", "null"),
        ] {
            assert_eq!(figure.to_string(), text);
            assert_eq!(serde_json::to_string(&figure).unwrap(), json);
        }
    }

    #[test]
    fn named_figures_keep_their_order() {
        let mut named = Named::default();
        named.push("z", Figure::Count(1));
        named.push("a", Figure::Count(0));
        assert_eq!(serde_json::to_string(&named).unwrap(), r#"{"z":1,"a":0}"#);
        assert_eq!(named.get("a"), Some(Figure::Count(0)));
        assert_eq!(named.get("b"), None);
    }
}
