//! What is said at the end of a run, to people and to programs.

use std::fmt::Write;
use std::path::PathBuf;

use serde::Serialize;

use super::case::Counts;
use super::runner::Report;

/// The version of the JSON form; it grows when a field changes its meaning.
const VERSION: u32 = 1;

/// A report, to be said.
#[derive(Clone, Copy, Debug)]
pub struct Summary<'a> {
    /// What came of the files.
    pub report: &'a Report,
    /// Whether to list the cases by opcode.
    pub by_opcode: bool,
    /// Whether to list each skipped case in the text; JSON always has them.
    pub skipped: bool,
}

#[derive(Serialize)]
struct Json<'a> {
    version: u32,
    command: &'static str,
    files: usize,
    passed: u64,
    failed: u64,
    skipped: u64,
    contradicted: u64,
    skips: Vec<Skip<'a>>,
    variants: Vec<Row<'a>>,
    failures: Vec<Located<'a>>,
    printed: Vec<Located<'a>>,
    skipped_cases: Vec<Located<'a>>,
    contradicted_cases: Vec<Located<'a>>,
    blessed: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    opcodes: Option<Vec<Row<'a>>>,
}

#[derive(Serialize)]
struct Skip<'a> {
    reason: &'a str,
    doc: &'a str,
    cases: u64,
}

#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    #[serde(flatten)]
    counts: Counts,
}

#[derive(Serialize)]
struct Located<'a> {
    file: String,
    line: usize,
    message: &'a str,
}

impl Summary<'_> {
    /// The closing line.
    pub fn closing(&self) -> String {
        let Counts {
            passed,
            failed,
            skipped,
            contradicted,
        } = self.report.tally.total;
        let mut line = format!("{passed} passed, {failed} failed, {skipped} skipped");
        if contradicted > 0 {
            let _ = write!(line, ", {contradicted} contradicted");
        }
        line
    }

    /// For people: what was printed and what failed, each with its place; the
    /// tables; the closing line.
    pub fn text(&self) -> String {
        let Report {
            failures,
            blessed,
            tally,
            printed,
            skipped,
            contradicted,
            ..
        } = self.report;
        let mut out = String::new();
        for (path, line, text) in printed {
            let _ = writeln!(out, "{}:{line}: {text}", path.display());
        }
        for failure in failures {
            let _ = writeln!(out, "{failure}");
        }
        for path in blessed {
            let _ = writeln!(out, "{}: blessed", path.display());
        }
        if self.skipped {
            for (path, line, text) in skipped {
                let _ = writeln!(out, "{}:{line}: skipped: {text}", path.display());
            }
        }
        if !tally.variants.is_empty() {
            rows(&mut out, "variant", &tally.variants);
        }
        if self.by_opcode && !tally.opcodes.is_empty() {
            let opcodes: Vec<(&str, Counts)> =
                tally.opcodes.iter().map(|(o, c)| (&**o, *c)).collect();
            rows(&mut out, "opcode", &opcodes);
        }
        if !tally.skipped.is_empty() {
            space(&mut out);
            let mut reasons: Vec<_> = tally.skipped.iter().collect();
            reasons.sort_by_key(|(_, n)| std::cmp::Reverse(**n));
            let width = reasons.iter().map(|(r, _)| r.name.len()).max().unwrap_or(0);
            let width = width.max("skipped for".len());
            let _ = writeln!(out, "{:width$}  {:>6}", "skipped for", "cases");
            for (reason, n) in reasons {
                let _ = writeln!(out, "{:width$}  {n:>6}  {}", reason.name, reason.doc);
            }
        }
        if !contradicted.is_empty() {
            space(&mut out);
            out.push_str("contradicted by CLIF's documentation, which is followed:\n");
            for (path, line, text) in contradicted {
                let _ = writeln!(out, "{}:{line}: {text}", path.display());
            }
        }
        space(&mut out);
        out.push_str(&self.closing());
        out.push('\n');
        out
    }

    /// For programs.
    pub fn json(&self) -> String {
        let Report {
            files,
            failures,
            blessed,
            tally,
            printed,
            skipped,
            contradicted,
        } = self.report;
        let row = |(name, counts)| Row { name, counts };
        let json = Json {
            version: VERSION,
            command: "test",
            files: files.len(),
            passed: tally.total.passed,
            failed: tally.total.failed,
            skipped: tally.total.skipped,
            contradicted: tally.total.contradicted,
            skips: tally
                .skipped
                .iter()
                .map(|(reason, &cases)| Skip {
                    reason: &reason.name,
                    doc: &reason.doc,
                    cases,
                })
                .collect(),
            variants: tally.variants.iter().copied().map(row).collect(),
            failures: failures
                .iter()
                .map(|f| Located {
                    file: f.path.display().to_string(),
                    line: f.line,
                    message: &f.message,
                })
                .collect(),
            printed: located(printed),
            skipped_cases: located(skipped),
            contradicted_cases: located(contradicted),
            blessed: blessed.iter().map(|p| p.display().to_string()).collect(),
            opcodes: self.by_opcode.then(|| {
                let opcodes = tally.opcodes.iter();
                opcodes.map(|(o, &c)| row((&**o, c))).collect()
            }),
        };
        // Strings and numbers can always be written.
        let mut text = serde_json::to_string_pretty(&json).unwrap_or_default();
        text.push('\n');
        text
    }
}

fn located(list: &[(PathBuf, usize, String)]) -> Vec<Located<'_>> {
    list.iter()
        .map(|(path, line, text)| Located {
            file: path.display().to_string(),
            line: *line,
            message: text,
        })
        .collect()
}

/// An empty line, unless nothing has been said yet.
fn space(out: &mut String) {
    if !out.is_empty() {
        out.push('\n');
    }
}

fn rows(out: &mut String, head: &str, rows: &[(&str, Counts)]) {
    space(out);
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let width = width.max(head.len());
    let skips = rows.iter().any(|(_, c)| c.skipped > 0);
    let _ = write!(out, "{head:width$}  {:>6}  {:>6}", "passed", "failed");
    out.push_str(if skips { "  skipped\n" } else { "\n" });
    for (name, c) in rows {
        let _ = write!(out, "{name:width$}  {:>6}  {:>6}", c.passed, c.failed);
        if skips {
            let _ = write!(out, "  {:>7}", c.skipped);
        }
        out.push('\n');
    }
}
