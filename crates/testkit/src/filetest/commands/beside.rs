//! Comparing the comments at the ends of a file's lines with those that an
//! analysis puts there.
//!
//! The analysis gives a function as it is printed, with a comment at the end of
//! each line of which it has something to say. The file must hold the same
//! lines in the same order; blank lines and those that are comments altogether
//! may stand anywhere between them.

use crate::filetest::{Case, Output, Verdict};

/// Where comments are put when lines are rewritten, unless all are shorter.
const MOST: usize = 48;

/// A file's functions, compared one after the other.
pub(super) struct Beside<'a> {
    /// The lines of each function that are not blank nor comments, 1-based.
    functions: std::vec::IntoIter<Vec<(usize, &'a str)>>,
    out: Output,
}

impl<'a> Beside<'a> {
    /// Takes the functions of `text` apart: each begins with a line that says
    /// `function` and ends with one that is a brace.
    pub(super) fn new(text: &'a str) -> Self {
        let mut functions: Vec<Vec<(usize, &str)>> = Vec::new();
        let mut inside = false;
        for (i, line) in text.lines().enumerate() {
            let trimmed = line.trim();
            if !inside && trimmed.starts_with("function ") {
                functions.push(Vec::new());
                inside = true;
            }
            if !inside || trimmed.is_empty() || trimmed.starts_with(';') {
                continue;
            }
            inside = trimmed != "}";
            if let Some(lines) = functions.last_mut() {
                lines.push((i + 1, line));
            }
        }
        Self {
            functions: functions.into_iter(),
            out: Output::default(),
        }
    }

    /// Compares the next function with its annotated text. A function that
    /// says the same is a case that passed; every line that does not is one
    /// that failed.
    ///
    /// # Errors
    /// The file's lines are no more or fewer than those printed.
    pub(super) fn compare(&mut self, annotated: &str) -> Result<(), String> {
        let lines = self.functions.next().unwrap_or_default();
        let printed: Vec<&str> = annotated.lines().filter(|l| !l.trim().is_empty()).collect();
        if lines.len() != printed.len() {
            let at = lines.first().map_or(1, |l| l.0);
            return Err(format!(
                "the function at line {at} has {} lines, and {} when it is printed:\n{annotated}",
                lines.len(),
                printed.len()
            ));
        }
        let widths = printed.iter().map(|l| split(l)).filter(|l| l.1.is_some());
        let wide = widths
            .map(|l| l.0.chars().count())
            .max()
            .unwrap_or(0)
            .min(MOST);
        let mut failed = false;
        let mut rewrites = Vec::new();
        for (&(line, old), new) in lines.iter().zip(&printed) {
            let ((old_code, old_note), (code, note)) = (split(old), split(new));
            let rewritten = match note {
                Some(note) => format!("{code:wide$} ; {note}"),
                None => code.to_owned(),
            };
            if rewritten != old {
                rewrites.push((line, rewritten));
            }
            let wrong = match (old_note, note) {
                _ if old_code.trim() != code.trim() => {
                    format!("not as it is printed: `{}`", code.trim())
                }
                (old, new) if old == new => continue,
                (None, Some(new)) => format!("no annotation, but claimed is `{new}`"),
                (Some(old), None) => format!("annotated `{old}`, but nothing is claimed here"),
                (old, new) => format!(
                    "annotated `{}`, but claimed is `{}`",
                    old.unwrap_or_default(),
                    new.unwrap_or_default()
                ),
            };
            failed = true;
            self.case(line, Verdict::Failed(wrong));
        }
        if failed {
            // The whole function, so that its comments stay in one column.
            self.out.rewrites.extend(rewrites);
        }
        if let (false, Some(&(line, _))) = (failed, lines.first()) {
            self.case(line, Verdict::Passed);
        }
        Ok(())
    }

    fn case(&mut self, line: usize, verdict: Verdict) {
        self.out.cases.push(Case {
            line,
            verdict,
            variants: Vec::new(),
            opcodes: [].into(),
            printed: None,
        });
    }

    /// What came of it.
    pub(super) fn finish(self) -> Output {
        self.out
    }
}

/// A line's code and the comment behind it.
fn split(line: &str) -> (&str, Option<&str>) {
    match line.split_once(';') {
        Some((code, note)) => (code.trim_end(), Some(note.trim())),
        None => (line.trim_end(), None),
    }
}
