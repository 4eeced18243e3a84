//! One test file: its header, its code and its expectations.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use warpfold::clif;
use warpfold::ir::{self, Function};

/// Options of a `test` line, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options(pub(super) BTreeMap<String, String>);

impl Options {
    /// The value of an option; `None` when it is not given.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

/// A `test` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestLine {
    /// 1-based line.
    pub line: usize,
    /// The test's name.
    pub name: String,
    /// Its options.
    pub options: Options,
}

/// What the code is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Cranelift IR, `.clif`.
    Clif,
    /// Warpfold's IR, `.wf`.
    Ir,
}

impl Language {
    /// The language of files like `path`, by their extension.
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "clif" => Some(Self::Clif),
            "wf" => Some(Self::Ir),
            _ => None,
        }
    }
}

/// A test file, taken apart.
#[derive(Clone, Debug)]
pub struct TestFile {
    /// Where it lies.
    pub path: PathBuf,
    /// What its code is written in.
    pub language: Language,
    /// The whole text.
    pub text: String,
    /// The text with the `test` lines blanked: the same lines at the same
    /// numbers, and nothing but code and comments.
    pub code: String,
    /// The tests it asks for.
    pub tests: Vec<TestLine>,
    pub(super) expectations: Vec<Expectation>,
    /// Comments that begin with a word and a colon which the format does not know.
    pub(super) foreign: Vec<Foreign>,
}

/// A comment that looks like a directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Foreign {
    /// 1-based line.
    pub(super) line: usize,
    /// The word.
    pub(super) word: String,
    /// What follows the colon.
    pub(super) rest: String,
}

/// One expectation comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Expectation {
    /// 1-based line.
    pub(super) line: usize,
    /// Which of the file's tests it is about.
    pub(super) test: usize,
    pub(super) what: Expected,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// A line of text.
    Text(String),
    /// Facts.
    Facts(Vec<(String, String)>),
    /// Part of the reason for a refusal.
    Error(String),
}

/// What is wrong with a line of a file.
pub(super) type LineError = (usize, String);

impl TestFile {
    pub(super) fn parse(path: &Path, text: &str) -> Result<Self, LineError> {
        let language = Language::of(path)
            .ok_or_else(|| (1, "a test file is called .clif or .wf".to_owned()))?;
        let mut file = Self {
            path: path.to_owned(),
            language,
            text: text.to_owned(),
            code: String::with_capacity(text.len()),
            tests: Vec::new(),
            expectations: Vec::new(),
            foreign: Vec::new(),
        };
        let mut in_header = true;
        let mut comments = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let trimmed = line.trim();
            if let Some(comment) = trimmed.strip_prefix(';') {
                comments.push((i + 1, comment));
            } else if in_header && trimmed.split_whitespace().next() == Some("test") {
                file.tests.push(test_line(i + 1, trimmed)?);
                file.code.push('\n');
                continue;
            } else if !trimmed.is_empty() {
                in_header = false;
            }
            file.code.push_str(line);
            file.code.push('\n');
        }
        if file.tests.is_empty() {
            let message = "the file asks for no test; it needs a line `test NAME` before its code";
            return Err((1, message.to_owned()));
        }
        for (line, comment) in comments {
            if let Some(e) = file.expectation(line, comment)? {
                file.expectations.push(e);
            }
        }
        Ok(file)
    }

    /// Reads a comment, without its `;`.
    fn expectation(
        &mut self,
        line: usize,
        comment: &str,
    ) -> Result<Option<Expectation>, LineError> {
        // `;!` lines are the launch header's.
        let body = comment.strip_prefix(' ').unwrap_or(comment);
        if let Some((label, text)) = body.split_once('>')
            && label.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')
        {
            let what = Expected::Text(text.strip_prefix(' ').unwrap_or(text).to_owned());
            let test = self.labelled(line, label)?;
            return Ok(Some(Expectation { line, test, what }));
        }
        let (head, rest) = match body.split_once(':') {
            Some((head, rest)) => (head, Some(rest)),
            None => (body, None),
        };
        let mut words = head.split_whitespace();
        let word = words.next().unwrap_or_default();
        let (label, more) = (words.next(), words.next().is_some());
        let is_key = matches!(word, "expect" | "error");
        let is_word = !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
        let rest = match rest {
            Some(rest) if is_key && !more => rest.trim(),
            None if is_key && label.is_some_and(|l| l.contains('=')) => {
                return Err((line, format!("expected `{word}:`")));
            }
            // One word and a colon, and no space before `;`: see the module.
            Some(rest) if is_word && label.is_none() => {
                self.foreign.push(Foreign {
                    line,
                    word: word.to_owned(),
                    rest: rest.to_owned(),
                });
                return Ok(None);
            }
            _ => return Ok(None),
        };
        let test = self.labelled(line, label.unwrap_or_default())?;
        let what = match word {
            "error" if rest.is_empty() => {
                return Err((line, "`error:` needs a part of the message".to_owned()));
            }
            "error" => Expected::Error(rest.to_owned()),
            _ => Expected::Facts(pairs(line, rest)?),
        };
        Ok(Some(Expectation { line, test, what }))
    }

    /// The facts that are expected of test number `test`, in order.
    pub(super) fn facts_of(&self, test: usize) -> Vec<(String, String)> {
        let own = self.expectations.iter().filter(|e| e.test == test);
        own.filter_map(|e| match &e.what {
            Expected::Facts(list) => Some(list.iter().cloned()),
            _ => None,
        })
        .flatten()
        .collect()
    }

    fn labelled(&self, line: usize, label: &str) -> Result<usize, LineError> {
        if label.is_empty() {
            return Ok(0);
        }
        self.tests
            .iter()
            .position(|t| t.name == label)
            .ok_or_else(|| (line, format!("the file has no `test {label}`")))
    }

    /// The functions of the file, verified; CLIF is lowered.
    ///
    /// # Errors
    /// Where and why the code is refused.
    pub fn functions(&self) -> Result<Vec<Function>, String> {
        let functions = self.unverified()?;
        let module = ir::Module { functions };
        ir::verify_module(&module).map_err(|e| e.to_string())?;
        Ok(module.functions)
    }

    /// The functions of the file as they are read; CLIF is lowered.
    ///
    /// # Errors
    /// Where and why the code cannot be read.
    pub fn unverified(&self) -> Result<Vec<Function>, String> {
        match self.language {
            Language::Ir => ir::parse_module(&self.code)
                .map(|m| m.functions)
                .map_err(|e| e.to_string()),
            Language::Clif => clif::read(&self.code, &clif::ReadOptions::default())
                .map(|list| clif::with_helpers(list).map(|(func, _)| func).collect())
                .map_err(|errors| {
                    let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
                    lines.join("\n")
                }),
        }
    }

    /// The folder that the file lies in.
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }
}

fn pairs(line: usize, text: &str) -> Result<Vec<(String, String)>, LineError> {
    let mut list = Vec::new();
    for word in text.split_whitespace() {
        match word.split_once('=') {
            Some((key, value)) if !key.is_empty() && !value.is_empty() => {
                list.push((key.to_owned(), value.to_owned()));
            }
            _ => return Err((line, format!("expected KEY=VALUE, not `{word}`"))),
        }
    }
    match list.is_empty() {
        true => Err((line, "nothing is expected here".to_owned())),
        false => Ok(list),
    }
}

fn test_line(line: usize, text: &str) -> Result<TestLine, LineError> {
    let mut words = text.split_whitespace().skip(1);
    let name = words
        .next()
        .ok_or_else(|| (line, "`test` needs a name".to_owned()))?;
    let mut options = Options::default();
    for word in words {
        let (key, value) = word
            .split_once('=')
            .ok_or_else(|| (line, format!("expected OPTION=VALUE, not `{word}`")))?;
        if options.0.insert(key.to_owned(), value.to_owned()).is_some() {
            return Err((line, format!("option `{key}` is given twice")));
        }
    }
    Ok(TestLine {
        line,
        name: name.to_owned(),
        options,
    })
}
