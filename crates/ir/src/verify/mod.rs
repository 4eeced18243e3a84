//! The verifier: every structural, SSA, type and guard rule of the IR, in one
//! walk over the layout.
//!
//! All broken rules are reported, each at its place, and printed under the
//! line of code they are about. What the verifier accepts is safe to analyse,
//! rewrite, print and run: no code downstream panics on it. It assumes nothing
//! itself: entities in any field may be out of range, blocks unfinished, lists
//! repeated.
//!
//! The rules, beside those on types that follow from the opcode table:
//!
//! - there is an entry block; nothing jumps to it, and its parameters have the
//!   types of the function's;
//! - the layout lists a block once, blocks list an instruction once, and each
//!   laid-out block has a terminator;
//! - parameters and results name their values and are named back by them;
//! - a use is dominated by its definition, except in unreachable blocks (their
//!   uses must be defined in the layout all the same);
//! - a guard is a `pred`; `else` stands only where there is a result, with its
//!   type; constants and what synchronises carry no guard, `exit` and the
//!   mid-block `trap` always do;
//! - slots are aligned to powers of two and fit 31 bits of local memory
//!   together; a slot's address lies in the slot or one past its end.
//!
//! - calls fit the declared signatures, and a tail call's callee gives what the
//!   function gives.
//!
//! Of a module [`verify_module`] checks besides that every callee is in it, with
//! the signature declared, and that `exit` stands in kernels only.
//!
//! It does not check what depends on more than that: poison that
//! escapes, barriers that diverge, memory flags that lie.

mod function;
mod inst;
mod module;

use std::fmt;

use cranelift_entity::SecondaryMap;

use crate::entities::{Block, Inst, Value};
use crate::function::{Function, ValueDef};
use crate::print::{Line, write_function};
pub use module::{ModuleErrors, verify_module};

/// Where an error stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The function as a whole.
    Function,
    /// A block's header.
    Block(Block),
    /// An instruction.
    Inst(Inst),
    /// A block's terminator.
    Term(Block),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Function => f.write_str("function"),
            Self::Block(b) => write!(f, "{b}"),
            Self::Inst(i) => write!(f, "{i}"),
            Self::Term(b) => write!(f, "terminator of {b}"),
        }
    }
}

/// One broken rule.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{place}: {message}")]
pub struct VerifyError {
    /// Where.
    pub place: Place,
    /// What is wrong.
    pub message: String,
}

/// All broken rules of a function. Displays as its code with each error under
/// the line it is about.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("{text}")]
pub struct VerifyErrors {
    /// The errors: those of the function, then in layout order.
    pub errors: Vec<VerifyError>,
    text: String,
}

/// Checks every structural, SSA, type and guard rule.
///
/// # Errors
/// All rules that are broken; never just the first.
pub fn verify(func: &Function) -> Result<(), VerifyErrors> {
    let mut verifier = Verifier::new(func);
    verifier.function();
    verifier.finish()
}

/// The text of `func` with each error under its line, as comments.
fn annotate(func: &Function, errors: &[VerifyError]) -> String {
    let mut left: Vec<Option<&VerifyError>> = errors.iter().map(Some).collect();
    // Errors come in the order of the lines, so the search goes on where it
    // last ended; a line printed twice finds nothing the second time.
    let mut next = 0;
    let mut text = String::new();
    let _ = write_function(&mut text, func, &mut |w: &mut String, line| {
        let place = match line {
            Line::Signature => Place::Function,
            Line::Header(b) => Place::Block(b),
            Line::Inst(i) => Place::Inst(i),
            Line::Term(b) => Place::Term(b),
        };
        let mut first = true;
        while let Some(error) = errors.get(next).filter(|e| e.place == place) {
            if first {
                underline(w);
                first = false;
            }
            left[next] = None;
            next += 1;
            w.push_str("\n; error: ");
            w.push_str(&error.message);
        }
        Ok(())
    });
    for error in left.into_iter().flatten() {
        text.push_str(&format!("; error: {error}\n"));
    }
    let s = if errors.len() == 1 { "" } else { "s" };
    text.push_str(&format!("; {} error{s}\n", errors.len()));
    text
}

/// Starts a comment line that underlines the last line of `text`.
fn underline(text: &mut String) {
    let line = &text[text.rfind('\n').map_or(0, |i| i + 1)..];
    let indent = line.len() - line.trim_start().len();
    let width = line.trim_start().chars().count();
    text.push_str("\n;");
    text.extend(std::iter::repeat_n(' ', indent.saturating_sub(1)));
    // The comment sign takes the first column.
    let width = if indent == 0 {
        width.saturating_sub(1)
    } else {
        width
    };
    text.push('^');
    text.extend(std::iter::repeat_n('~', width.saturating_sub(1)));
}

/// Where in the layout something stands: parameters at 0, instructions from 1
/// on, terminators last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Site {
    block: Block,
    position: u32,
}

/// The position of terminators.
const LAST: u32 = u32::MAX;

/// The position of instruction number `k` of a block.
fn position(k: usize) -> u32 {
    u32::try_from(k + 1).unwrap_or(LAST - 1)
}

struct Verifier<'a> {
    func: &'a Function,
    errors: Vec<VerifyError>,
    /// Each laid-out block's first place in the layout.
    layout: SecondaryMap<Block, Option<usize>>,
    /// Each instruction's first place in a laid-out block.
    placed: SecondaryMap<Inst, Option<Site>>,
    dominators: Option<crate::dominators::Dominators>,
}

impl Verifier<'_> {
    /// The errors with the code that they are about.
    fn finish(self) -> Result<(), VerifyErrors> {
        if self.errors.is_empty() {
            return Ok(());
        }
        let text = annotate(self.func, &self.errors);
        Err(VerifyErrors {
            errors: self.errors,
            text,
        })
    }

    fn report(&mut self, place: Place, message: impl Into<String>) {
        self.errors.push(VerifyError {
            place,
            message: message.into(),
        });
    }

    /// Whether `b` exists and is laid out.
    fn is_laid_out(&self, b: Block) -> bool {
        self.layout[b].is_some()
    }

    /// Where `v` is defined, or what is wrong with its definition.
    fn definition(&self, v: Value) -> Result<Site, String> {
        let func = self.func;
        if !func.has_value(v) {
            return Err(format!("{v} does not exist"));
        }
        let (site, back) = match func.def(v) {
            ValueDef::Param(block, index) => {
                let params = func.has_block(block).then(|| &func.block(block).params);
                let site = self
                    .is_laid_out(block)
                    .then_some(Site { block, position: 0 });
                (site, params.and_then(|p| p.get(index as usize)))
            }
            ValueDef::Result(inst, index) => {
                let results = func.has_inst(inst).then(|| &func.inst(inst).results);
                (
                    self.placed[inst],
                    results.and_then(|r| r.get(index as usize)),
                )
            }
        };
        if back != Some(&v) {
            return Err(format!("{v} is not what its definition yields"));
        }
        site.ok_or_else(|| format!("{v} is defined outside the layout"))
    }

    /// Whether all is well with a use of `v`: what [`check_use`](Self::check_use)
    /// finds nothing wrong with, told without a message at hand.
    #[inline]
    fn is_reached(&self, at: Site, v: Value) -> bool {
        let func = self.func;
        if !func.has_value(v) {
            return false;
        }
        match func.def(v) {
            ValueDef::Result(inst, index) => self.placed[inst].is_some_and(|def| {
                func.inst(inst).results.get(index as usize) == Some(&v) && self.reaches(def, at)
            }),
            ValueDef::Param(block, index) => {
                self.is_laid_out(block)
                    && func.block(block).params.get(index as usize) == Some(&v)
                    && self.reaches(Site { block, position: 0 }, at)
            }
        }
    }

    /// Reports a use of `v` that its definition does not reach. Whether the
    /// value exists, so that its type can be looked at.
    fn check_use(&mut self, place: Place, at: Site, what: &dyn fmt::Display, v: Value) -> bool {
        match self.definition(v) {
            Err(message) => self.report(place, format!("{what}: {message}")),
            Ok(def) if !self.reaches(def, at) => {
                let message = format!(
                    "{what}: {v} is defined in {}, which does not dominate this use",
                    def.block
                );
                let message = match def.block == at.block {
                    true => format!("{what}: {v} is used before its definition"),
                    false => message,
                };
                self.report(place, message);
            }
            Ok(_) => {}
        }
        self.func.has_value(v)
    }

    /// Whether a definition dominates a use; uses in unreachable blocks are
    /// exempt.
    #[inline]
    fn reaches(&self, def: Site, at: Site) -> bool {
        if def.block == at.block && def.position < at.position {
            return true;
        }
        let Some(dominators) = &self.dominators else {
            return true;
        };
        let (from, to) = (def.block.as_u32(), at.block.as_u32());
        if !dominators.is_reachable(to) {
            return true;
        }
        def.block != at.block && dominators.dominates(from, to)
    }
}

#[cfg(test)]
mod tests;
