//! What came of the claims, as text and as JSON.

use serde::Serialize;
use warpfold::render::{Cell, Paint, Table, Tone, wrapped};

use super::Claim;

/// The version of the JSON.
const VERSION: u32 = 1;
/// Facts of a file that the text shows where all are as they should be.
const SHOWN: [&str; 7] = [
    "issued",
    "avg",
    "divergent",
    "error",
    "arrived",
    "mask",
    "uniform",
];
/// Characters of a figure that the text shows.
const WIDEST: usize = 44;

/// One thing that was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What it is.
    pub what: String,
    /// What it should be: names and values; a single value has no name.
    pub expected: Vec<(String, String)>,
    /// What it is, under the same names.
    pub measured: Vec<(String, String)>,
    /// Why this is not as it should be; empty if it is.
    pub failures: Vec<String>,
}

impl Row {
    /// Nothing could be measured.
    pub(super) fn failed(what: String, message: String) -> Self {
        Self {
            what,
            expected: Vec::new(),
            measured: Vec::new(),
            failures: vec![message],
        }
    }

    /// Whether it is as it should be.
    pub fn holds(&self) -> bool {
        self.failures.is_empty()
    }

    /// The names that the text shows: of many the chief ones, and those that
    /// differ.
    fn shown(&self) -> Vec<&str> {
        let few = self.expected.len() <= 3;
        let differs = |key: &str| value(&self.measured, key) != value(&self.expected, key);
        let keys = self.expected.iter().map(|(key, _)| key.as_str());
        keys.filter(|key| few || SHOWN.contains(key) || differs(key))
            .collect()
    }

    fn cell(&self, facts: &[(String, String)], more: bool) -> String {
        let shown = self.shown();
        let mut words: Vec<String> = Vec::new();
        for key in &shown {
            let value = value(facts, key).unwrap_or("nothing");
            words.push(match key.is_empty() {
                true => short(value),
                false => format!("{key}={}", short(value)),
            });
        }
        let rest = facts.len().saturating_sub(shown.len());
        if more && rest > 0 {
            words.push(format!("+{rest}"));
        }
        words.join(" ")
    }
}

fn value<'a>(facts: &'a [(String, String)], key: &str) -> Option<&'a str> {
    facts
        .iter()
        .find(|f| f.0 == key)
        .map(|(_, value)| value.as_str())
}

fn short(value: &str) -> String {
    match value.chars().count() > WIDEST {
        true => value.chars().take(WIDEST - 1).chain(['…']).collect(),
        false => value.to_owned(),
    }
}

/// What came of one claim.
#[derive(Clone, Debug)]
pub struct ClaimReport {
    /// The claim.
    pub claim: Claim,
    /// What was measured: of its files, then by its checks.
    pub rows: Vec<Row>,
}

impl ClaimReport {
    /// Whether something was measured, and all as it should be.
    pub fn holds(&self) -> bool {
        !self.rows.is_empty() && self.rows.iter().all(Row::holds)
    }
}

/// What came of several claims.
#[derive(Clone, Debug)]
pub struct Report {
    /// Those that were checked, in the list's order.
    pub claims: Vec<ClaimReport>,
    /// How many the list has.
    pub of: usize,
}

#[derive(Serialize)]
struct Doc<'a> {
    version: u32,
    command: &'static str,
    listed: usize,
    checked: usize,
    held: usize,
    claims: Vec<ClaimDoc<'a>>,
}

#[derive(Serialize)]
struct ClaimDoc<'a> {
    claim: &'a str,
    source: &'a str,
    title: &'a str,
    holds: bool,
    #[serde(skip_serializing_if = "str::is_empty")]
    remark: &'a str,
    rows: Vec<RowDoc<'a>>,
}

#[derive(Serialize)]
struct RowDoc<'a> {
    what: &'a str,
    expected: Facts<'a>,
    measured: Facts<'a>,
    holds: bool,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    failures: &'a [String],
}

/// One value, or several by name.
struct Facts<'a>(&'a [(String, String)]);

impl Serialize for Facts<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            [(name, value)] if name.is_empty() => serializer.serialize_str(value),
            facts => serializer.collect_map(facts.iter().map(|(k, v)| (k, v))),
        }
    }
}

impl Report {
    /// How many claims hold.
    pub fn held(&self) -> usize {
        self.claims.iter().filter(|c| c.holds()).count()
    }

    /// Whether all hold that were checked, and some were.
    pub fn holds(&self) -> bool {
        !self.claims.is_empty() && self.held() == self.claims.len()
    }

    /// The last line of the text.
    pub fn summary(&self) -> String {
        let rows: usize = self.claims.iter().map(|c| c.rows.len()).sum();
        let (held, of) = (self.held(), self.claims.len());
        let claims = if of == 1 {
            "claim holds"
        } else {
            "claims hold"
        };
        let measurements = if rows == 1 {
            "measurement"
        } else {
            "measurements"
        };
        format!(
            "{held} of {of} {claims}, by {rows} {measurements}; the list has {}",
            self.of
        )
    }

    /// A table: what, expected, measured, under each claim.
    pub fn text(&self, paint: Paint) -> String {
        let mut table = Table::new()
            .words("")
            .words("expected")
            .words("measured")
            .words("");
        for row in self.claims.iter().flat_map(|c| &c.rows) {
            let (tone, word) = match row.holds() {
                true => (Tone::Good, "ok"),
                false => (Tone::Bad, "DIFFERS"),
            };
            table.row([
                Cell::plain(&row.what),
                Cell::plain(row.cell(&row.expected, true)),
                Cell::new(tone, row.cell(&row.measured, false)),
                Cell::new(tone, word),
            ]);
        }
        let body = table.render(paint, 2);
        let mut lines = body.lines();
        // Names of the columns, and the rule under them.
        let mut text: String = lines.by_ref().take(2).map(|l| format!("{l}\n")).collect();
        for claim in &self.claims {
            let c = claim.claim;
            let id = paint.tone(Tone::Choice, c.id);
            text += &format!("{id}  {} ({})\n", c.title, c.source);
            for row in &claim.rows {
                text += lines.next().unwrap_or_default();
                text.push('\n');
                for failure in &row.failures {
                    for line in wrapped(failure, " ", 100) {
                        text += &format!("      {}\n", paint.tone(Tone::Bad, line));
                    }
                }
            }
            if claim.rows.is_empty() {
                text += &format!("  {}\n", paint.tone(Tone::Bad, "nothing checks it"));
            }
            for line in wrapped(c.remark, " ", 100) {
                text += &format!("  {}\n", paint.tone(Tone::Dim, line));
            }
        }
        format!("{text}\n{}\n", self.summary())
    }

    /// All of it, with every fact.
    pub fn json(&self) -> String {
        let claims = self.claims.iter().map(|c| ClaimDoc {
            claim: c.claim.id,
            source: c.claim.source,
            title: c.claim.title,
            holds: c.holds(),
            remark: c.claim.remark,
            rows: c.rows.iter().map(row).collect(),
        });
        let doc = Doc {
            version: VERSION,
            command: "claims",
            listed: self.of,
            checked: self.claims.len(),
            held: self.held(),
            claims: claims.collect(),
        };
        let mut text = serde_json::to_string_pretty(&doc).expect("maps with text for keys");
        text.push('\n');
        text
    }
}

fn row(row: &Row) -> RowDoc<'_> {
    RowDoc {
        what: &row.what,
        expected: Facts(&row.expected),
        measured: Facts(&row.measured),
        holds: row.holds(),
        failures: &row.failures,
    }
}

#[cfg(test)]
mod tests {
    use super::super::claims;
    use super::*;

    #[test]
    fn a_claim_holds_if_all_was_measured_and_nothing_differs() {
        let claim = claims()[0];
        let fact = |value: &str| vec![(String::new(), value.to_owned())];
        let good = Row {
            what: "right".to_owned(),
            expected: fact("1"),
            measured: fact("1"),
            failures: Vec::new(),
        };
        let bad = Row {
            measured: fact("2"),
            failures: vec!["differs".to_owned()],
            ..good.clone()
        };
        let report = |rows: Vec<Row>| Report {
            claims: vec![ClaimReport { claim, rows }],
            of: 85,
        };
        assert!(report(vec![good.clone()]).holds());
        assert!(!report(Vec::new()).holds());
        let report = report(vec![good, bad]);
        assert!(!report.holds());
        let text = report.text(Paint::default());
        assert!(text.contains("DIFFERS\n      differs\n"), "{text}");
        assert!(text.ends_with("\n0 of 1 claim holds, by 2 measurements; the list has 85\n"));
        assert!(report.json().contains("\"held\": 0"));
    }
}
