//! Errors that say where.
//!
//! Whatever part of the road refuses an input, what reaches the user is a list
//! of [`Diagnostic`]s, each with the file and, where it is known, line and
//! column. Printed as `FILE:LINE:COL: message`.

use std::collections::BTreeMap;
use std::fmt;

use warpfold_clif::ClifError;
use warpfold_exec::{ExecError, Site};
use warpfold_ir::verify::Place as IrPlace;
use warpfold_ir::{Function, Lines, ModuleErrors, Opcode, ParseError, VerifyErrors};
use warpfold_machine::MachineError;

use crate::launch::LaunchError;

/// What is at fault.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Fault {
    /// The input, or what was asked for.
    #[default]
    Input,
    /// A kernel that was launched and did not finish: it makes no progress,
    /// takes too long, or its lanes wait for each other.
    Run,
}

/// One thing that is wrong, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// The file, as the caller named it.
    pub file: String,
    /// 1-based line, where known.
    pub line: Option<u32>,
    /// 1-based column, where known.
    pub column: Option<u32>,
    /// What is wrong, one line.
    pub message: String,
    /// What is at fault.
    pub fault: Fault,
}

impl Diagnostic {
    /// About `file` as a whole.
    pub fn new(file: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            line: None,
            column: None,
            message: message.into(),
            fault: Fault::Input,
        }
    }

    /// The same at a place; a 0 stands for unknown.
    #[must_use]
    pub fn at(mut self, line: u32, column: u32) -> Self {
        self.line = (line != 0).then_some(line);
        self.column = (line != 0 && column != 0).then_some(column);
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(column) = self.column {
            write!(f, ":{column}")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for Diagnostic {}

/// Everything that is wrong with an input; never empty.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Errors(Vec<Diagnostic>);

impl Errors {
    /// All of them; `None` if there are none.
    pub(crate) fn of(diagnostics: Vec<Diagnostic>) -> Option<Self> {
        (!diagnostics.is_empty()).then_some(Self(diagnostics))
    }

    /// The diagnostics, in order of place.
    pub fn as_slice(&self) -> &[Diagnostic] {
        &self.0
    }

    /// [`Fault::Run`] if any is of that kind.
    pub fn fault(&self) -> Fault {
        let faults = self.0.iter().map(|d| d.fault);
        faults.max().unwrap_or_default()
    }

    /// The same, taken out.
    pub fn into_vec(self) -> Vec<Diagnostic> {
        self.0
    }
}

impl From<Diagnostic> for Errors {
    fn from(diagnostic: Diagnostic) -> Self {
        Self(vec![diagnostic])
    }
}

/// One line per diagnostic.
impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, d) in self.0.iter().enumerate() {
            write!(f, "{}{d}", if i > 0 { "\n" } else { "" })?;
        }
        Ok(())
    }
}

impl std::error::Error for Errors {}

pub(crate) fn clif(file: &str, errors: Vec<ClifError>) -> Errors {
    let mut all: Vec<Diagnostic> = errors
        .into_iter()
        .map(|e| {
            let function = match e.function.as_str() {
                "" => String::new(),
                name => format!("%{name}: "),
            };
            Diagnostic::new(file, one_line(&format!("{function}{}", e.message)))
                .at(e.line, e.column)
        })
        .collect();
    if all.is_empty() {
        all.push(Diagnostic::new(file, "cannot be read"));
    }
    Errors(all)
}

pub(crate) fn parse(file: &str, e: ParseError) -> Errors {
    Diagnostic::new(file, one_line(&e.message))
        .at(e.line, e.column)
        .into()
}

pub(crate) fn launch(file: &str, e: LaunchError) -> Errors {
    let d = Diagnostic::new(file, one_line(&e.message));
    match e.place {
        Some(p) => d.at(p.line, p.column),
        None => d,
    }
    .into()
}

/// Verifier errors of `func`, at its `lines` if it is as it stands in the file,
/// else at those that its instructions came from. `stage` says after what.
pub(crate) fn verify(
    file: &str,
    stage: &str,
    func: &Function,
    errors: VerifyErrors,
    lines: Option<&Lines>,
) -> Errors {
    let mut all: Vec<Diagnostic> = errors
        .errors
        .into_iter()
        .map(|e| {
            let at = lines.and_then(|l| l.of(e.place));
            let (place, origin) = match e.place {
                IrPlace::Function => (String::new(), 0),
                IrPlace::Block(b) => (format!("{b}: "), block_line(func, b)),
                IrPlace::Inst(i) => (
                    format!("`{}`: ", warpfold_ir::print::inst_text(func, i)),
                    func.inst(i).origin.line,
                ),
                IrPlace::Term(b) => (
                    format!("`{}` in {b}: ", warpfold_ir::print::term_text(func, b)),
                    block_line(func, b),
                ),
            };
            Diagnostic::new(
                file,
                one_line(&format!(
                    "%{} is no valid IR {stage}: {place}{}",
                    func.name, e.message
                )),
            )
            .at(at.unwrap_or(origin), 0)
        })
        .collect();
    if all.is_empty() {
        all.push(Diagnostic::new(
            file,
            format!("%{} is no valid IR {stage}", func.name),
        ));
    }
    Errors(all)
}

/// The same of functions that call each other, by position; `lines` by name.
pub(crate) fn verify_module(
    file: &str,
    stage: &str,
    functions: &[Function],
    errors: ModuleErrors,
    lines: &BTreeMap<String, Lines>,
) -> Errors {
    let all = errors.functions.into_iter().flat_map(|(i, errors)| {
        let errors = functions
            .get(i)
            .map(|f| verify(file, stage, f, errors, lines.get(&f.name)));
        errors.map_or(Vec::new(), Errors::into_vec)
    });
    let all: Vec<Diagnostic> = all.collect();
    match all.is_empty() {
        true => Diagnostic::new(file, format!("the functions are no valid IR {stage}")).into(),
        false => Errors(all),
    }
}

/// The line that a block came from: its terminator's, or that of the first
/// instruction that has one; 0 when none has.
pub(crate) fn block_line(func: &Function, b: warpfold_ir::Block) -> u32 {
    if !func.has_block(b) {
        return 0;
    }
    let block = func.block(b);
    std::iter::once(block.origin.line)
        .chain(block.insts.iter().map(|&i| func.inst(i).origin.line))
        .find(|&line| line != 0)
        .unwrap_or(0)
}

/// Why a run of these functions did not finish, at the line where it was;
/// `kernel` is the position of the one that was launched.
pub(crate) fn exec(file: &str, functions: &[&Function], kernel: usize, e: &ExecError) -> Errors {
    let at = match *e {
        ExecError::BarrierDivergence { function, .. }
        | ExecError::OutsideMask { function, .. }
        | ExecError::NoProgress { function, .. }
        | ExecError::StepLimit { function, .. } => function,
        ExecError::Check(ref found) => found.at().function,
        ExecError::Launch(_) | ExecError::RecordLimit { .. } | ExecError::TimingLimit { .. } => {
            kernel
        }
    };
    let Some(func) = functions.get(at) else {
        return Diagnostic::new(file, one_line(&e.to_string())).into();
    };
    let line = match e {
        ExecError::BarrierDivergence { origin, .. } | ExecError::OutsideMask { origin, .. } => {
            origin.line
        }
        ExecError::Check(found) => found.at().origin.line,
        ExecError::NoProgress { block, .. } | ExecError::StepLimit { block, .. } => {
            block_line(func, *block)
        }
        ExecError::Launch(_) | ExecError::RecordLimit { .. } | ExecError::TimingLimit { .. } => 0,
    };
    let hint = match e {
        ExecError::StepLimit { .. } => "; `--step-limit` sets another",
        ExecError::BarrierDivergence {
            site: Site::Inst(i),
            ..
        } if func.inst(*i).op == Opcode::WarpSync => {
            "; at a `warp_sync` lanes wait for those that their mask names"
        }
        ExecError::RecordLimit { .. } | ExecError::TimingLimit { .. } => {
            "; fewer or smaller blocks have fewer"
        }
        _ => "",
    };
    let message = one_line(&format!("%{}: {e}{hint}", func.name));
    let mut d = Diagnostic::new(file, message).at(line, 0);
    if !matches!(e, ExecError::Launch(_)) {
        d.fault = Fault::Run;
    }
    d.into()
}

/// What is wrong with the machine in `file`.
pub fn machine_diagnostic(file: &str, e: &MachineError) -> Diagnostic {
    let clamp = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Diagnostic::new(file, one_line(&e.message)).at(clamp(e.line), clamp(e.column))
}

/// Messages are one line each, so that tools can read them by line.
fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for part in text.lines().map(str::trim).filter(|l| !l.is_empty()) {
        if !out.is_empty() {
            out.push_str("; ");
        }
        out.push_str(part);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_places_are_left_out() {
        let d = Diagnostic::new("k.clif", "no");
        assert_eq!(d.to_string(), "k.clif: no");
        assert_eq!(d.clone().at(3, 0).to_string(), "k.clif:3: no");
        assert_eq!(d.clone().at(3, 7).to_string(), "k.clif:3:7: no");
        assert_eq!(d.at(0, 7).to_string(), "k.clif: no");
    }

    #[test]
    fn messages_take_one_line() {
        assert_eq!(one_line("a\n  b\n\nc\n"), "a; b; c");
        let errors = clif("k", Vec::new());
        assert_eq!(errors.to_string(), "k: cannot be read");
    }
}
