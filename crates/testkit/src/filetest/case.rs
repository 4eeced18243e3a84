//! What tests count: cases, one by one and summed up.
//!
//! A *case* is what passes or fails by itself. A test that reads lines of its
//! own (`test run`) has a case for each; any other test of a file is one case.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

/// One case of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// 1-based line of the file.
    pub line: usize,
    /// What came of it.
    pub verdict: Verdict,
    /// The ways in which it was tried, and in which of them it passed.
    pub variants: Vec<(&'static str, bool)>,
    /// The opcodes of the code that it is about.
    pub opcodes: Arc<[String]>,
    /// What it prints, one line.
    pub printed: Option<String>,
}

/// What came of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All is as expected.
    Passed,
    /// Something is not: what, possibly over several lines.
    Failed(String),
    /// It was not tried: what stood in the way, as a kind and in words.
    Skipped(Reason, String),
    /// It asks for what the definition rules out, and the definition is kept to:
    /// what it asks for and what is defined.
    Contradicted(String),
}

/// Why cases are skipped.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Reason {
    /// A name for programs.
    pub name: String,
    /// A few words.
    pub doc: String,
}

/// How many passed, failed, were skipped and are contradicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Passed.
    pub passed: u64,
    /// Failed.
    pub failed: u64,
    /// Skipped.
    pub skipped: u64,
    /// Contradicted.
    pub contradicted: u64,
}

impl Counts {
    fn count(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Passed => self.passed += 1,
            Verdict::Failed(_) => self.failed += 1,
            Verdict::Skipped(..) => self.skipped += 1,
            Verdict::Contradicted(_) => self.contradicted += 1,
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.contradicted += other.contradicted;
    }
}

/// Cases summed up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// All cases.
    pub total: Counts,
    /// Those skipped, by reason.
    pub skipped: BTreeMap<Reason, u64>,
    /// Cases that have variants, by variant, in order of first appearance.
    /// Such a case passes if all its variants do.
    pub variants: Vec<(&'static str, Counts)>,
    /// Cases by opcode that occurs in their code.
    pub opcodes: BTreeMap<String, Counts>,
}

impl Tally {
    /// Adds a case.
    pub fn count(&mut self, case: &Case) {
        self.total.count(&case.verdict);
        if let Verdict::Skipped(reason, _) = &case.verdict {
            *self.skipped.entry(reason.clone()).or_default() += 1;
        }
        for &(variant, passed) in &case.variants {
            self.variant(variant).count(&match passed {
                true => Verdict::Passed,
                false => Verdict::Failed(String::new()),
            });
        }
        for opcode in case.opcodes.iter() {
            match self.opcodes.get_mut(opcode) {
                Some(counts) => counts.count(&case.verdict),
                None => {
                    let mut counts = Counts::default();
                    counts.count(&case.verdict);
                    self.opcodes.insert(opcode.clone(), counts);
                }
            }
        }
    }

    /// Adds a test that is one case.
    pub(super) fn count_test(&mut self, passed: bool) {
        match passed {
            true => self.total.passed += 1,
            false => self.total.failed += 1,
        }
    }

    /// Adds all of another tally.
    pub fn add(&mut self, other: &Self) {
        self.total.add(other.total);
        for (reason, n) in &other.skipped {
            *self.skipped.entry(reason.clone()).or_default() += n;
        }
        for &(variant, counts) in &other.variants {
            self.variant(variant).add(counts);
        }
        for (opcode, counts) in &other.opcodes {
            self.opcodes.entry(opcode.clone()).or_default().add(*counts);
        }
    }

    fn variant(&mut self, name: &'static str) -> &mut Counts {
        let at = self.variants.iter().position(|(n, _)| *n == name);
        let at = at.unwrap_or_else(|| {
            self.variants.push((name, Counts::default()));
            self.variants.len() - 1
        });
        &mut self.variants[at].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(verdict: Verdict, variants: &[(&'static str, bool)], opcodes: &[&str]) -> Case {
        Case {
            line: 1,
            verdict,
            variants: variants.to_vec(),
            opcodes: opcodes.iter().map(|o| (*o).to_owned()).collect(),
            printed: None,
        }
    }

    fn counts(passed: u64, failed: u64, skipped: u64) -> Counts {
        Counts {
            passed,
            failed,
            skipped,
            contradicted: 0,
        }
    }

    #[test]
    fn cases_add_up() {
        let reason = Reason {
            name: "vector".into(),
            doc: "SIMD vectors".into(),
        };
        let mut a = Tally::default();
        a.count(&case(
            Verdict::Passed,
            &[("x", true), ("y", true)],
            &["iadd"],
        ));
        a.count(&case(
            Verdict::Failed("no".into()),
            &[("x", true), ("y", false)],
            &["iadd", "isub"],
        ));
        let mut b = Tally::default();
        b.count(&case(
            Verdict::Skipped(reason.clone(), "here".into()),
            &[],
            &["isub"],
        ));
        b.count_test(true);
        b.count(&case(
            Verdict::Contradicted("by whom".into()),
            &[],
            &["ineg"],
        ));
        a.add(&b);
        let contradicted = |counts| Counts {
            contradicted: 1,
            ..counts
        };
        assert_eq!(a.total, contradicted(counts(2, 1, 1)));
        assert_eq!(a.opcodes["ineg"], contradicted(counts(0, 0, 0)));
        assert_eq!(a.skipped, BTreeMap::from([(reason, 1)]));
        assert_eq!(a.variants, [("x", counts(2, 0, 0)), ("y", counts(1, 1, 0))]);
        assert_eq!(a.opcodes["iadd"], counts(1, 1, 0));
        assert_eq!(a.opcodes["isub"], counts(0, 1, 1));
    }
}
