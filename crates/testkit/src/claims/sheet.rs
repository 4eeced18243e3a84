//! Where checks get figures from, and where they enter what they find.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::RangeInclusive;
use std::path::Path;

use super::report::Row;
use super::{FILES, File};
use crate::filetest::{Compared, Output, Registry, Runner};

/// The runs of files so far: what several claims look at runs once.
#[derive(Debug)]
pub(super) struct Runs {
    runner: Runner,
    done: BTreeMap<&'static str, Result<Compared, String>>,
}

impl Default for Runs {
    fn default() -> Self {
        Self {
            runner: Runner::new(Registry::builtin()),
            done: BTreeMap::new(),
        }
    }
}

impl Runs {
    fn of(&mut self, file: &'static File) -> Result<&Compared, String> {
        let runner = &self.runner;
        let run = || runner.compared(Path::new(&format!("{}.wf", file.name)), file.text);
        let done = self.done.entry(file.name).or_insert_with(run);
        done.as_ref().map_err(Clone::clone)
    }

    /// A file's row: all that it expects beside what came out.
    pub(super) fn row(&mut self, file: &'static File) -> Row {
        let what = file.case();
        let run = match self.of(file) {
            Ok(run) => run,
            Err(message) => return Row::failed(what, message),
        };
        // `others` stands for all counters that are not named.
        let named = |e: &&(String, String)| e.0 != "others";
        let measured = run.expected.iter().filter(named).map(|(key, _)| {
            let value = run.output.get(key).unwrap_or("nothing");
            (key.clone(), value.to_owned())
        });
        Row {
            what,
            measured: measured.collect(),
            expected: run.expected.iter().filter(named).cloned().collect(),
            failures: run.failures.iter().map(|f| f.message.clone()).collect(),
        }
    }
}

/// What one check finds.
#[derive(Debug)]
pub struct Sheet<'r> {
    runs: &'r mut Runs,
    pub(super) rows: Vec<Row>,
}

impl<'r> Sheet<'r> {
    pub(super) fn new(runs: &'r mut Runs) -> Self {
        let rows = Vec::new();
        Self { runs, rows }
    }

    /// Enters what should equal something.
    pub fn equal<T: PartialEq + Debug>(&mut self, what: &str, measured: T, expected: T) {
        let text = |x: &T| match format!("{x:?}").replace('"', "") {
            empty if empty == "[]" => "none".to_owned(),
            text => text,
        };
        let differs = (measured != expected).then(|| "differs".to_owned());
        self.enter(what, text(&measured), text(&expected), differs);
    }

    /// Enters what should lie between two bounds, both included.
    pub fn within(&mut self, what: &str, measured: f64, bounds: RangeInclusive<f64>) {
        let (low, high) = (bounds.start(), bounds.end());
        let out = (!bounds.contains(&measured)).then(|| "out of bounds".to_owned());
        self.enter(
            what,
            format!("{measured:.2}"),
            format!("{low} to {high}"),
            out,
        );
    }

    fn enter(&mut self, what: &str, measured: String, expected: String, bad: Option<String>) {
        self.rows.push(Row {
            what: what.to_owned(),
            measured: vec![(String::new(), measured)],
            expected: vec![(String::new(), expected)],
            failures: bad.into_iter().collect(),
        });
    }

    /// Enters that the check came to no end.
    pub(super) fn failed(&mut self, message: String) {
        self.rows.push(Row::failed("check".to_owned(), message));
    }

    /// The file of this name.
    ///
    /// # Errors
    /// There is none.
    pub fn file(name: &str) -> Result<&'static File, String> {
        let file = FILES.iter().find(|f| f.name == name);
        file.ok_or_else(|| format!("there is no file `{name}`"))
    }

    /// What came out of a file.
    ///
    /// # Errors
    /// There is no such file, or it does not run.
    pub fn output(&mut self, name: &str) -> Result<&Output, String> {
        Ok(&self.runs.of(Self::file(name)?)?.output)
    }

    /// What comes out of a file in ITS mode.
    ///
    /// # Errors
    /// It is no execution in the default mode, or it does not run.
    pub fn its(&mut self, file: &File) -> Result<Output, String> {
        let first = file.text.lines().next().unwrap_or_default();
        if !first.starts_with("test exec") || first.contains("mode=") {
            return Err(format!("`{}` is no execution in either mode", file.name));
        }
        let text = file.text.replacen(first, &format!("{first} mode=its"), 1);
        let path = format!("{}.wf", file.name);
        let run = self.runs.runner.compared(Path::new(&path), &text)?;
        Ok(run.output)
    }

    /// A fact of a file, as text.
    ///
    /// # Errors
    /// As [`output`](Self::output), or there is no such fact.
    pub fn text(&mut self, name: &str, key: &str) -> Result<String, String> {
        get(self.output(name)?, key).map_err(|e| format!("{name}: {e}"))
    }

    /// A fact that is a count.
    ///
    /// # Errors
    /// As [`text`](Self::text), or it is none.
    pub fn num(&mut self, name: &str, key: &str) -> Result<u64, String> {
        let text = self.text(name, key)?;
        text.parse().map_err(|_| format!("{name}: {key}={text}"))
    }
}

/// A fact.
pub(super) fn get(output: &Output, key: &str) -> Result<String, String> {
    let value = output.get(key).map(str::to_owned);
    value.ok_or_else(|| format!("there is no `{key}`"))
}

/// A fact that is a count.
pub(super) fn count(output: &Output, key: &str) -> Result<u64, String> {
    let text = get(output, key)?;
    text.parse().map_err(|_| format!("{key}={text}"))
}

/// Rounded to so many decimals.
pub(super) fn round(x: f64, places: i32) -> f64 {
    let scale = 10f64.powi(places);
    (x * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file, with another number in it.
    const WRONG: File = File {
        name: "c00-wrong",
        text: "test exec
;! [[arg]]
;! varying = \"lane\"
function %f(i32 varying) -> i32 {
block0(v0: i32):
    v1 = iadd.i32 v0, v0
    ret v1
}
; expect: issued=2 alu=2 others=0
",
    };

    #[test]
    fn what_differs_is_told() {
        static FILE: File = WRONG;
        let mut runs = Runs::default();
        let row = runs.row(&FILE);
        let pairs = |list: [(&str, &str); 2]| list.map(|(k, v)| (k.to_owned(), v.to_owned()));
        assert_eq!(row.expected, pairs([("issued", "2"), ("alu", "2")]));
        assert_eq!(row.measured, pairs([("issued", "2"), ("alu", "1")]));
        let alu = "alu: expected 2, found 1";
        assert!(row.failures.iter().any(|f| f == alu), "{:?}", row.failures);
        // Counters that are not named must be 0.
        let ti = row.failures.iter().any(|f| f.starts_with("ti: expected 0"));
        assert!(ti, "{:?}", row.failures);

        let mut sheet = Sheet::new(&mut runs);
        sheet.equal("right", 1, 1);
        sheet.equal("wrong", "a", "b");
        sheet.within("low", 0.5, 1.0..=2.0);
        sheet.failed(Sheet::file("c00-none").map(|_| ()).unwrap_err());
        let holds: Vec<bool> = sheet.rows.iter().map(Row::holds).collect();
        assert_eq!(holds, [true, false, false, false]);
        assert_eq!(sheet.rows[1].measured[0].1, "a");
        assert_eq!(sheet.rows[1].expected[0].1, "b");
    }
}
