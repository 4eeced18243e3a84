//! Running one file, or all files under a folder.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use super::expect::check;
use super::file::{Language, LineError, TestFile};
use super::{Output, Registry};

/// Runs test files.
#[derive(Debug)]
pub struct Runner {
    registry: Registry,
    bless: bool,
}

/// A line of a file that fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The file.
    pub path: PathBuf,
    /// 1-based line.
    pub line: usize,
    /// What is wrong, possibly over several lines.
    pub message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path.display(), self.line, self.message)
    }
}

/// What came of all files under a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The files that ran, sorted.
    pub files: Vec<PathBuf>,
    /// What failed, in order of file and line.
    pub failures: Vec<Failure>,
    /// The files that blessing rewrote.
    pub blessed: Vec<PathBuf>,
}

impl Report {
    /// Whether something ran and nothing failed.
    pub fn passed(&self) -> bool {
        !self.files.is_empty() && self.failures.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for failure in &self.failures {
            writeln!(f, "{failure}")?;
        }
        for path in &self.blessed {
            writeln!(f, "{}: blessed", path.display())?;
        }
        let mut bad: Vec<&PathBuf> = self.failures.iter().map(|x| &x.path).collect();
        bad.dedup();
        write!(f, "{} files, {} failed", self.files.len(), bad.len())
    }
}

impl Runner {
    /// A runner of these tests that rewrites nothing.
    pub fn new(registry: Registry) -> Self {
        Self {
            registry,
            bless: false,
        }
    }

    /// Whether text expectations are rewritten to what the tests give.
    #[must_use]
    pub fn bless(mut self, bless: bool) -> Self {
        self.bless = bless;
        self
    }

    /// Runs a file's tests on its text. `Ok` holds the new text where
    /// blessing changed it.
    ///
    /// # Errors
    /// Everything that failed, by line.
    pub fn run_text(&self, path: &Path, text: &str) -> Result<Option<String>, Vec<Failure>> {
        let fail = |errors: Vec<LineError>| -> Vec<Failure> {
            errors
                .into_iter()
                .map(|(line, message)| Failure {
                    path: path.to_owned(),
                    line,
                    message,
                })
                .collect()
        };
        let mut file = TestFile::parse(path, text).map_err(|e| fail(vec![e]))?;
        let mut failures = Vec::new();
        let mut blessed = None;
        for i in 0..file.tests.len() {
            let result = match self.run_test(&file, i) {
                Ok(result) => result,
                Err(e) => {
                    failures.push(e);
                    continue;
                }
            };
            match check(&file, i, result, self.bless) {
                Ok(None) => {}
                Ok(Some(text)) => {
                    // Line numbers moved; read it again.
                    file = TestFile::parse(path, &text).map_err(|e| fail(vec![e]))?;
                    blessed = Some(text);
                }
                Err(more) => failures.extend(more),
            }
        }
        match failures.is_empty() {
            true => Ok(blessed),
            false => {
                failures.sort_by_key(|f| f.0);
                Err(fail(failures))
            }
        }
    }

    /// What test number `index` of `file` gives, before anything is compared.
    ///
    /// # Errors
    /// The line and reason where the test does not exist, does not know an
    /// option, or panics.
    fn run_test(&self, file: &TestFile, index: usize) -> Result<Result<Output, String>, LineError> {
        let line = &file.tests[index];
        let Some(test) = self.registry.get(&line.name) else {
            let known: Vec<&str> = self.registry.names().collect();
            let message = format!("unknown test `{}`; known: {}", line.name, known.join(", "));
            return Err((line.line, message));
        };
        for key in line.options.0.keys() {
            if !test.options().contains(&key.as_str()) {
                let message = format!(
                    "`test {}` has no option `{key}`; known: {}",
                    line.name,
                    test.options().join(", ")
                );
                return Err((line.line, message));
            }
        }
        catch_unwind(AssertUnwindSafe(|| test.run(file, &line.options))).map_err(|panic| {
            let text = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or(panic.downcast_ref::<&str>().copied())
                .unwrap_or("no message");
            (line.line, format!("panicked: {text}"))
        })
    }

    /// Reads a file and gives what its first test finds out, for tests that
    /// relate several files. Its expectations are not looked at.
    ///
    /// # Errors
    /// Why there is no output.
    pub fn output(&self, path: &Path) -> Result<Output, String> {
        let located = |(line, message): LineError| format!("{}:{line}: {message}", path.display());
        let text = std::fs::read_to_string(path).map_err(|e| located((1, e.to_string())))?;
        let file = TestFile::parse(path, &text).map_err(located)?;
        let line = file.tests[0].line;
        self.run_test(&file, 0)
            .map_err(located)?
            .map_err(|e| located((line, e)))
    }

    /// Runs all `.clif` and `.wf` files under a folder, at any depth.
    ///
    /// # Errors
    /// When the folder cannot be read; what is wrong with a file is in the
    /// report.
    pub fn run_folder(&self, folder: &Path) -> std::io::Result<Report> {
        let mut report = Report::default();
        collect(folder, &mut report.files)?;
        report.files.sort();
        for path in &report.files {
            let result = match std::fs::read_to_string(path) {
                Ok(text) => self.run_text(path, &text),
                Err(e) => Err(vec![Failure {
                    path: path.clone(),
                    line: 1,
                    message: e.to_string(),
                }]),
            };
            match result {
                Ok(None) => {}
                Ok(Some(text)) => {
                    std::fs::write(path, text)?;
                    report.blessed.push(path.clone());
                }
                Err(failures) => report.failures.extend(failures),
            }
        }
        Ok(report)
    }
}

fn collect(folder: &Path, into: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, into)?;
        } else if Language::of(&path).is_some() {
            into.push(path);
        }
    }
    Ok(())
}
