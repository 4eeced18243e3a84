//! Running one file, or all files under a folder.

use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::case::{Case, Counts, Tally, Verdict};
use super::expect::check;
use super::file::{Foreign, LineError, TestFile};
use super::folder::test_files;
use super::{FileTest, Output, Registry};

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

/// What a file's first test found out, and what was expected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// What it found out.
    pub output: Output,
    /// The facts that the file expects, in its order.
    pub expected: Vec<(String, String)>,
    /// What is not as expected, by line.
    pub failures: Vec<Failure>,
}

/// What came of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileReport {
    /// What failed, by line.
    pub failures: Vec<Failure>,
    /// The new text where blessing changed it.
    pub blessed: Option<String>,
    /// The cases, counted.
    pub tally: Tally,
    /// What cases print, by line.
    pub printed: Vec<(usize, String)>,
    /// Lines of skipped cases, with what stands in their way.
    pub skipped: Vec<(usize, String)>,
    /// Lines of contradicted cases, with what contradicts them.
    pub contradicted: Vec<(usize, String)>,
}

/// What came of several files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The files that ran, sorted.
    pub files: Vec<PathBuf>,
    /// What failed, in order of file and line.
    pub failures: Vec<Failure>,
    /// The files that blessing rewrote.
    pub blessed: Vec<PathBuf>,
    /// The cases of all files, counted.
    pub tally: Tally,
    /// What cases print: file, line, text.
    pub printed: Vec<(PathBuf, usize, String)>,
    /// Skipped cases: file, line, what stands in their way.
    pub skipped: Vec<(PathBuf, usize, String)>,
    /// Contradicted cases: file, line, what contradicts them.
    pub contradicted: Vec<(PathBuf, usize, String)>,
}

/// How far a run of several files is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Files done.
    pub done: usize,
    /// All files.
    pub files: usize,
    /// Cases of the files done.
    pub counts: Counts,
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
        let report = self.report_text(path, text);
        match report.failures.is_empty() {
            true => Ok(report.blessed),
            false => Err(report.failures),
        }
    }

    /// Runs a file's tests on its text; the whole of what came of it.
    pub fn report_text(&self, path: &Path, text: &str) -> FileReport {
        let mut report = FileReport::default();
        let failures = self.run_tests(path, text, &mut report);
        report.failures = failures
            .into_iter()
            .map(|(line, message)| Failure {
                path: path.to_owned(),
                line,
                message,
            })
            .collect();
        report.failures.sort_by_key(|f| f.line);
        report
    }

    /// Runs all tests; what failed, in no order.
    fn run_tests(&self, path: &Path, text: &str, report: &mut FileReport) -> Vec<LineError> {
        let mut file = match TestFile::parse(path, text) {
            Ok(file) => file,
            Err(error) => {
                report.tally.count_test(false);
                return vec![error];
            }
        };
        let mut failures = self.unknown_words(&file);
        if !failures.is_empty() {
            report.tally.count_test(false);
        }
        for i in 0..file.tests.len() {
            let result = match self.run_test(&file, i) {
                Ok(result) => result,
                Err(e) => {
                    report.tally.count_test(false);
                    failures.push(e);
                    continue;
                }
            };
            let (cases, repeats) = match &result {
                Ok(output) => (&output.cases[..], output.repeats),
                Err(_) => (&[][..], false),
            };
            for case in cases {
                let rewritten = |o: &Output| o.rewrites.iter().any(|r| r.0 == case.line);
                match self.bless && result.as_ref().is_ok_and(rewritten) {
                    true => report.tally.count_test(true),
                    false => report.tally.count(case),
                }
                if let Some(text) = &case.printed {
                    report.printed.push((case.line, text.clone()));
                }
                match &case.verdict {
                    Verdict::Skipped(_, message) => {
                        report.skipped.push((case.line, message.clone()));
                    }
                    Verdict::Contradicted(message) => {
                        report.contradicted.push((case.line, message.clone()));
                    }
                    Verdict::Passed | Verdict::Failed(_) => {}
                }
            }
            let failed = |c: &&Case| matches!(c.verdict, Verdict::Failed(_));
            let failed = cases.iter().filter(failed).count();
            let own = repeats || !cases.is_empty();
            match check(
                &file,
                i,
                result.as_ref().map_err(String::as_str),
                self.bless,
            ) {
                Ok(new) => {
                    if !own {
                        report.tally.count_test(true);
                    }
                    if let Some(text) = new {
                        // Line numbers moved; read it again.
                        match TestFile::parse(path, &text) {
                            Ok(again) => file = again,
                            Err(error) => {
                                failures.push(error);
                                return failures;
                            }
                        }
                        report.blessed = Some(text);
                    }
                }
                Err(more) => {
                    if more.len() > failed {
                        report.tally.count_test(false);
                    }
                    failures.extend(more);
                }
            }
        }
        if !failures.is_empty() {
            report.blessed = None;
        }
        failures
    }

    /// Comments that no test of the file takes.
    fn unknown_words(&self, file: &TestFile) -> Vec<LineError> {
        let tests: Vec<&dyn FileTest> = file
            .tests
            .iter()
            .filter_map(|t| self.registry.get(&t.name))
            .collect();
        let taken = |c: &&Foreign| !tests.iter().any(|t| t.reads(&c.word, &c.rest));
        let unknown = file.foreign.iter().filter(taken);
        unknown
            .map(|c| {
                let message = format!(
                    "unknown directive `{}:`; known: expect, error, and `; >` lines",
                    c.word
                );
                (c.line, message)
            })
            .collect()
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

    /// What the first test of a file finds out, beside what the file expects of
    /// it, for tests that relate several files and for reports.
    ///
    /// # Errors
    /// Where and why there is nothing to compare: the file is refused.
    pub fn compared(&self, path: &Path, text: &str) -> Result<Compared, String> {
        let located = |(line, message): LineError| format!("{}:{line}: {message}", path.display());
        let file = TestFile::parse(path, text).map_err(located)?;
        let line = file.tests[0].line;
        let output = self
            .run_test(&file, 0)
            .map_err(located)?
            .map_err(|e| located((line, e)))?;
        let failures = check(&file, 0, Ok(&output), false)
            .err()
            .unwrap_or_default();
        let failures = failures.into_iter().map(|(line, message)| Failure {
            path: path.to_owned(),
            line,
            message,
        });
        Ok(Compared {
            expected: file.facts_of(0),
            failures: failures.collect(),
            output,
        })
    }

    /// Runs all `.clif` and `.wf` files under a folder, at any depth.
    ///
    /// # Errors
    /// When the folder cannot be read; what is wrong with a file is in the
    /// report.
    pub fn run_folder(&self, folder: &Path) -> io::Result<Report> {
        self.run_files(&test_files(folder)?, 1, &|_| {})
    }

    /// Runs these files, several at a time on as many threads as `jobs` says.
    /// `progress` is told after each file, from any thread. The report does not
    /// depend on `jobs`.
    ///
    /// # Errors
    /// When a blessed file cannot be written; what is wrong with a file is in
    /// the report.
    pub fn run_files(
        &self,
        files: &[PathBuf],
        jobs: usize,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> io::Result<Report> {
        let next = AtomicUsize::new(0);
        let counts = Mutex::new((0, Counts::default()));
        let work = || {
            let mut done = Vec::new();
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                let Some(path) = files.get(i) else {
                    return done;
                };
                let report = self.report_file(path);
                // Nothing panics while the lock is held.
                let mut sum = counts.lock().unwrap_or_else(PoisonError::into_inner);
                sum.0 += 1;
                sum.1.add(report.tally.total);
                progress(Progress {
                    done: sum.0,
                    files: files.len(),
                    counts: sum.1,
                });
                drop(sum);
                done.push((i, report));
            }
        };
        let jobs = jobs.clamp(1, files.len().max(1));
        let mut reports = match jobs {
            1 => work(),
            _ => thread::scope(|scope| {
                let threads: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
                let done = threads.into_iter().map(|t| t.join());
                done.flat_map(|d| d.unwrap_or_else(|panic| resume_unwind(panic)))
                    .collect()
            }),
        };
        reports.sort_by_key(|(i, _)| *i);
        let mut all = Report {
            files: files.to_vec(),
            ..Report::default()
        };
        for (i, report) in reports {
            let path = &files[i];
            if let Some(text) = report.blessed {
                std::fs::write(path, text)?;
                all.blessed.push(path.clone());
            }
            all.failures.extend(report.failures);
            all.tally.add(&report.tally);
            let here = |(line, text)| (path.clone(), line, text);
            all.printed.extend(report.printed.into_iter().map(here));
            all.skipped.extend(report.skipped.into_iter().map(here));
            let contradicted = report.contradicted.into_iter();
            all.contradicted.extend(contradicted.map(here));
        }
        Ok(all)
    }

    fn report_file(&self, path: &Path) -> FileReport {
        match std::fs::read_to_string(path) {
            Ok(text) => self.report_text(path, &text),
            Err(e) => {
                let mut report = FileReport::default();
                report.tally.count_test(false);
                report.failures.push(Failure {
                    path: path.to_owned(),
                    line: 1,
                    message: e.to_string(),
                });
                report
            }
        }
    }
}
