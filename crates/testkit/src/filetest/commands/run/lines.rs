//! The comments that are to be run.

use cranelift_codegen::data_value::{DataValue, DisplayDataValues};
use cranelift_codegen::ir::{Signature, Type};
use cranelift_reader::{Comparison, Invocation, RunCommand, parse_run_command};
use warpfold::clif::Unit;
use warpfold::clif::cranelift_codegen::ir::UserFuncName;
use warpfold::ir::TrapCode;

use super::contradicted;
use crate::oracle::{bits, data};

/// The words that begin such a comment.
pub(super) const WORDS: [&str; 3] = ["run", "print", "trap"];

/// A comment that is to be run, not read yet.
#[derive(Debug)]
pub(super) struct Found {
    /// 1-based line.
    pub line: usize,
    /// The function it stands in or after.
    pub unit: usize,
    text: String,
}

/// What a line expects.
#[derive(Debug)]
enum Expected {
    /// These bits.
    Equal(Vec<u128>),
    /// Other bits than these.
    Other(Vec<u128>),
    /// A return, whatever the values.
    Anything,
    /// A trap.
    Trap(TrapCode),
}

/// A line to be run.
#[derive(Debug)]
pub(super) struct Line {
    /// 1-based line.
    pub line: usize,
    /// The arguments, as bits.
    pub args: Vec<u128>,
    call: String,
    results: Vec<Type>,
    expected: Expected,
    /// What the line asks for where CLIF's documentation contradicts it, and why; what
    /// is expected is then what that says.
    asks: Option<(String, &'static str)>,
}

/// How one lane ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// It returned these bits.
    Returned(Vec<u128>),
    /// It trapped.
    Trapped(TrapCode),
}

/// All such comments of a file, in order. Those before the first function
/// belong to none, and are not run.
pub(super) fn find(text: &str, units: &[Unit]) -> Vec<Found> {
    let mut found = Vec::new();
    let mut unit = None;
    for (i, line) in text.lines().enumerate() {
        let next = unit.map_or(0, |u: usize| u + 1);
        // Lines of text count from 1; several functions may begin on one.
        let begun = units[next..]
            .iter()
            .take_while(|u| u.line as usize <= i + 1)
            .count();
        if begun > 0 {
            unit = Some(next + begun - 1);
        }
        let comment = line.trim();
        if let Some(unit) = unit
            && comment.starts_with(';')
            && is_line(comment)
        {
            found.push(Found {
                line: i + 1,
                unit,
                text: comment.to_owned(),
            });
        }
    }
    found
}

/// Whether a comment is one of ours: the word, and then a colon or nothing.
fn is_line(comment: &str) -> bool {
    let body = comment.trim_start_matches([' ', ';']);
    WORDS.iter().any(|word| {
        body.strip_prefix(word).is_some_and(|rest| {
            let rest = rest.trim_start();
            rest.starts_with(':') || rest.is_empty() && *word != "trap"
        })
    })
}

impl Found {
    /// Reads the line. It is about the function that it stands after, whichever
    /// function of the file it names: Cranelift's native runs do not look at the
    /// name either, and there are files that rely on it. A name that no function
    /// has is a slip.
    pub(super) fn parse(&self, units: &[Unit]) -> Result<Line, String> {
        let unit = &units[self.unit];
        let source = unit.source.as_ref();
        let signature = &source.ok_or("the function could not be read")?.signature;
        let results: Vec<Type> = signature.returns.iter().map(|r| r.value_type).collect();
        let body = self.text.trim_start_matches([' ', ';']);
        let (invocation, expected) = match body.strip_prefix("trap") {
            Some(rest) => trap(rest, signature)?,
            None => match command(body, signature)? {
                RunCommand::Print(invocation) => (invocation, Expected::Anything),
                // `; run` alone.
                RunCommand::Run(invocation, _, _) if !body.contains(':') => {
                    (invocation, Expected::Other(vec![0]))
                }
                RunCommand::Run(invocation, comparison, values) => {
                    let values = values.iter().map(bits).collect();
                    let expected = match comparison {
                        Comparison::Equals => Expected::Equal(values),
                        Comparison::NotEquals => Expected::Other(values),
                    };
                    (invocation, expected)
                }
            },
        };
        // Only `%names` can be written in a line.
        let nameless = source.is_some_and(|f| matches!(f.name, UserFuncName::User(_)));
        let named = nameless || units.iter().any(|u| u.name == invocation.func);
        if body.contains(':') && !named {
            return Err(format!("the file has no function %{}", invocation.func));
        }
        let mut line = Line {
            line: self.line,
            args: invocation.args.iter().map(bits).collect(),
            call: match body.contains(':') {
                true => invocation.to_string(),
                false => format!("%{}()", unit.name),
            },
            results,
            expected,
            asks: None,
        };
        if let Some((end, why)) = contradicted::documented(&self.text, unit) {
            let documented = match end {
                End::Returned(values) => Expected::Equal(values),
                End::Trapped(code) => Expected::Trap(code),
            };
            line.asks = Some((line.wanted(), why));
            line.expected = documented;
        }
        Ok(line)
    }
}

fn command(text: &str, signature: &Signature) -> Result<RunCommand, String> {
    match parse_run_command(text, signature) {
        Ok(Some(command)) => Ok(command),
        Ok(None) => Err(format!("`{text}` is not to be run")),
        Err(e) => Err(format!("`{text}`: {}", e.message)),
    }
}

/// `: %f(1, 0) == int_divz`.
fn trap(text: &str, signature: &Signature) -> Result<(Invocation, Expected), String> {
    let wrong = || format!("expected `trap: %NAME(ARGS) == CODE`, not `trap{text}`");
    let (call, code) = text.rsplit_once("==").ok_or_else(wrong)?;
    let code = code.trim();
    let code = code
        .parse()
        .map_err(|()| format!("unknown trap code `{code}`"))?;
    match command(&format!("print{call}"), signature)? {
        RunCommand::Print(invocation) => Ok((invocation, Expected::Trap(code))),
        RunCommand::Run(..) => Err(wrong()),
    }
}

impl Line {
    /// Compares how a lane ended with what the line expects. `first` holds
    /// the values of the first lane that ran a line which takes any.
    pub(super) fn check(&self, end: &End, first: &mut Option<Vec<u128>>) -> Result<(), String> {
        let want = match (&self.expected, end) {
            (Expected::Equal(want), End::Returned(got)) if want == got => return Ok(()),
            (Expected::Other(bad), End::Returned(got)) if bad != got => return Ok(()),
            (Expected::Trap(want), End::Trapped(got)) if want == got => return Ok(()),
            (Expected::Anything, End::Returned(got)) => {
                let first = first.get_or_insert_with(|| got.clone());
                if first == got {
                    return Ok(());
                }
                self.show(first)
            }
            _ => self.wanted(),
        };
        let got = match end {
            End::Returned(values) => self.show(values),
            End::Trapped(code) => format!("the trap {code}"),
        };
        Err(format!("{}: expected {want}, found {got}", self.call))
    }

    /// What is expected.
    fn wanted(&self) -> String {
        match &self.expected {
            Expected::Equal(want) => self.show(want),
            Expected::Other(bad) => format!("anything but {}", self.show(bad)),
            Expected::Trap(code) => format!("the trap {code}"),
            Expected::Anything => "a return".to_owned(),
        }
    }

    /// What to say of a line that came out as documented and not as it asks.
    pub(super) fn contradiction(&self) -> Option<String> {
        let (asks, why) = self.asks.as_ref()?;
        let (call, wanted) = (&self.call, self.wanted());
        Some(format!(
            "{call}: asks for {asks}, defined is {wanted}: {why}"
        ))
    }

    /// What the line prints.
    pub(super) fn printed(&self, values: Option<&[u128]>) -> Option<String> {
        match self.expected {
            Expected::Anything => Some(format!("{} -> {}", self.call, self.show(values?))),
            _ => None,
        }
    }

    /// Values as Cranelift writes them.
    fn show(&self, values: &[u128]) -> String {
        let typed = values.iter().zip(&self.results);
        let typed: Vec<DataValue> = typed.filter_map(|(&v, &ty)| data(v, ty)).collect();
        DisplayDataValues(&typed).to_string()
    }
}
