//! Filetests: a piece of code, what to do with it, and what comes out, in one
//! file.
//!
//! A file is CLIF (`.clif`) or Warpfold's own IR (`.wf`). Before the code
//! stand the tests to run on it, one a line:
//!
//! ```text
//! test exec joins=cfg
//! ```
//!
//! and in comments, anywhere, what each test must give:
//!
//! | comment | meaning |
//! |---|---|
//! | `; > TEXT` | one line of the test's text; all such lines together are the whole text |
//! | `; expect: KEY=VALUE …` | these facts, among those the test finds out |
//! | `; error: TEXT` | the test must refuse the file, and say `TEXT` among other things |
//!
//! Where a file runs several tests, each comment names its own: `; lower>
//! TEXT`, `; expect exec: …`, `; error verify: …`. Without a name the first
//! test is meant. A key may be a counter: `others=0` says that every counter
//! which the file does not name is zero. A value `LO..HI` is a range, both
//! ends included.
//!
//! A comment that begins with one lower-case word and a colon is taken for an
//! expectation, and one that is unknown is an error; so is a test or option
//! that does not exist, a key that the test does not yield, and a test of
//! which nothing is expected. Nothing passes by being misspelt.
//!
//! A test may compare lines of the code itself, as `test uniformity
//! notes=beside` does with the comments at their ends.
//!
//! With blessing on, text expectations (`; >`) and such lines are rewritten to what the test
//! gives, and added at the end of the file where nothing is expected yet;
//! facts and errors are never rewritten.
//!
//! Anyone's tests run the same way: implement [`FileTest`], put it into a
//! [`Registry`], and hand that to a [`Runner`].
//!
//! ```
//! use warpfold_testkit::filetest::{FileTest, Options, Output, Registry, Runner, TestFile};
//!
//! struct CountBlocks;
//! impl FileTest for CountBlocks {
//!     fn name(&self) -> &str {
//!         "count-blocks"
//!     }
//!     fn run(&self, file: &TestFile, _: &Options) -> Result<Output, String> {
//!         let mut out = Output::default();
//!         for func in file.functions()? {
//!             out.fact(&func.name, func.layout.len());
//!         }
//!         Ok(out)
//!     }
//! }
//!
//! let mut registry = Registry::builtin();
//! registry.register(CountBlocks);
//! let text = "test count-blocks\nfunction %f() {\nblock0:\n    ret\n}\n; expect: f=1\n";
//! Runner::new(registry).run_text("f.wf".as_ref(), text).unwrap();
//! ```

mod case;
pub mod commands;
mod diff;
mod expect;
mod file;
mod folder;
mod runner;
mod summary;

use std::fmt;

pub use case::{Case, Counts, Reason, Tally, Verdict};
pub use file::{Language, Options, TestFile, TestLine};
pub use folder::test_files;
pub use runner::{Compared, Failure, FileReport, Progress, Report, Runner};
pub use summary::Summary;

/// A test that a file can ask for.
pub trait FileTest: Send + Sync {
    /// The word after `test`.
    fn name(&self) -> &str;

    /// The options it knows; any other in a file is an error.
    fn options(&self) -> &[&str] {
        &[]
    }

    /// Whether comments that begin with this word and a colon are the test's own
    /// or no concern of anyone's; `rest` is what follows. Words that no test of
    /// the file takes are errors.
    fn reads(&self, word: &str, rest: &str) -> bool {
        let _ = (word, rest);
        false
    }

    /// Does it.
    ///
    /// # Errors
    /// Why the file's code was refused, for `; error:` to match.
    fn run(&self, file: &TestFile, options: &Options) -> Result<Output, String>;
}

/// What a test found out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Text for `; >` lines; empty if the test yields facts only.
    pub text: String,
    /// Facts for `; expect:`.
    pub facts: Vec<Fact>,
    /// What the test made of lines that it reads itself, in order; whoever
    /// has some need not be expected anything of.
    pub cases: Vec<Case>,
    /// Another test of the file does the same and has found out all there is.
    pub repeats: bool,
    /// Lines of the file, 1-based, as this test would have them: what blessing
    /// makes of those that fail.
    pub rewrites: Vec<(usize, String)>,
}

/// One thing that a test found out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Its name: no white space, no `=`.
    pub key: String,
    /// Its value: no white space.
    pub value: String,
    /// What an expectation has to say of it.
    pub kind: FactKind,
}

/// How a [`Fact`] takes part in expectations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactKind {
    /// May be expected.
    Plain,
    /// A count, which `others=0` covers where the file does not name it.
    Counter,
    /// Must be expected: a file that is silent about it fails.
    Alarm,
}

impl Output {
    /// Adds a plain fact.
    pub fn fact(&mut self, key: impl Into<String>, value: impl fmt::Display) {
        self.push(key, value, FactKind::Plain);
    }

    /// Adds a count.
    pub fn counter(&mut self, key: impl Into<String>, value: u64) {
        self.push(key, value, FactKind::Counter);
    }

    /// Adds something that must not go unnoticed.
    pub fn alarm(&mut self, key: impl Into<String>, value: impl fmt::Display) {
        self.push(key, value, FactKind::Alarm);
    }

    fn push(&mut self, key: impl Into<String>, value: impl fmt::Display, kind: FactKind) {
        self.facts.push(Fact {
            key: key.into(),
            value: value.to_string(),
            kind,
        });
    }

    /// The value of a fact.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.facts
            .iter()
            .find(|f| f.key == key)
            .map(|f| f.value.as_str())
    }
}

/// The tests that files may ask for, by name.
#[derive(Default)]
pub struct Registry {
    tests: Vec<Box<dyn FileTest>>,
}

impl Registry {
    /// No tests.
    pub fn new() -> Self {
        Self::default()
    }

    /// The tests that ship with Warpfold.
    pub fn builtin() -> Self {
        let mut registry = Self::new();
        registry.register(commands::Print);
        registry.register(commands::Verify);
        registry.register(commands::Lower);
        registry.register(commands::Uniformity);
        registry.register(commands::Inline);
        registry.register(commands::Convert);
        registry.register(commands::Forms);
        registry.register(commands::Exec);
        registry.register(commands::Run::RUN);
        registry.register(commands::Run::INTERPRET);
        registry
    }

    /// Adds a test; one of the same name is replaced.
    pub fn register(&mut self, test: impl FileTest + 'static) {
        self.tests.retain(|t| t.name() != test.name());
        self.tests.push(Box::new(test));
    }

    /// The test called `name`.
    pub fn get(&self, name: &str) -> Option<&dyn FileTest> {
        self.tests.iter().find(|t| t.name() == name).map(|t| &**t)
    }

    /// The names of all tests, in order of registration.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tests.iter().map(|t| t.name())
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
