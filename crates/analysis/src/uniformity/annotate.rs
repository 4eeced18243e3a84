//! The function's text with what is known beside each line.

use std::fmt::Write as _;

use cranelift_entity::EntitySet;
use warpfold_ir::print::{Line, write_function};
use warpfold_ir::{Block, Function, Value};

use super::{Reason, Scope, Uniformity};

/// Prints `func` with a comment per line: block headers get the scope at which
/// the block runs and what is known of its parameters, instructions what is
/// known of their result, branches their scope, known mask and, where lanes
/// may part, the chain of reasons. Where less is known of an operand than of
/// what its definition gave, that is said as well.
pub fn annotate(func: &Function, uniformity: &Uniformity) -> String {
    let notes = Notes {
        func,
        uniformity,
        reasons: true,
    };
    notes.write()
}

/// The same for comparison with what is expected: every block with its scopes,
/// also where all lanes run it, and no reasons.
pub fn claims(func: &Function, uniformity: &Uniformity) -> String {
    let notes = Notes {
        func,
        uniformity,
        reasons: false,
    };
    notes.write()
}

struct Notes<'a> {
    func: &'a Function,
    uniformity: &'a Uniformity,
    /// Whether to say why, and to leave out what goes without saying.
    reasons: bool,
}

impl Notes<'_> {
    fn write(&self) -> String {
        let mut out = String::new();
        // The block that the lines are in.
        let mut here = None;
        let mut note = |w: &mut String, line: Line| {
            let notes = match line {
                Line::Signature => Vec::new(),
                Line::Header(b) => {
                    here = Some(b);
                    self.header(b)
                }
                Line::Inst(i) => {
                    let inst = self.func.inst(i);
                    let mut notes: Vec<String> = match inst.results[..] {
                        [v] => vec![self.value(v)],
                        ref all => all.iter().map(|&v| self.named(v)).collect(),
                    };
                    notes.extend(
                        here.map(|b| self.uses(b, inst.uses()))
                            .into_iter()
                            .flatten(),
                    );
                    notes
                }
                Line::Term(b) => self.term(b),
            };
            match notes.is_empty() {
                true => Ok(()),
                false => write!(w, " ; {}", notes.join(", ")),
            }
        };
        // Writing to a String cannot fail.
        let _ = write_function(&mut out, self.func, &mut note);
        out
    }

    fn header(&self, b: Block) -> Vec<String> {
        let (exec, live) = (self.uniformity.exec_scope(b), self.uniformity.live_scope(b));
        let mut notes = Vec::new();
        if exec > Scope::Grid || !self.reasons {
            notes.push(match live < exec {
                true => format!("runs per {exec}, of lanes left per {live}"),
                false => format!("runs per {exec}"),
            });
        }
        notes.extend(self.func.block(b).params.iter().map(|&p| self.named(p)));
        notes
    }

    fn term(&self, b: Block) -> Vec<String> {
        let term = self.func.term(b);
        let mut notes = Vec::new();
        if term.is_conditional() {
            let scope = self.uniformity.branch_scope(b);
            notes.push(match scope.is_uniform() {
                true => format!("uniform({scope})"),
                false => "divergent".to_owned(),
            });
            if !scope.is_uniform() && self.uniformity.is_uniform_branch(b) {
                notes.push("one target".to_owned());
            }
            if let Some(mask) = self.uniformity.known_mask(b) {
                notes.push(format!("mask {mask:#010x}"));
            }
            if self.uniformity.tail_guard(b) {
                notes.push("tail guard".to_owned());
            }
        }
        notes.extend(self.uses(b, term.uses()));
        if self.reasons
            && let (Some(last), Some(_)) = (notes.last_mut(), self.uniformity.branch_reason(b))
        {
            let _ = write!(last, ": {}", self.uniformity.branch_chain(b));
        }
        notes
    }

    fn named(&self, v: Value) -> String {
        format!("{v}: {}", self.value(v))
    }

    fn value(&self, v: Value) -> String {
        let shape = self.uniformity.shape(v);
        match self.uniformity.reason(v).filter(|_| self.reasons) {
            Some(reason) if !matches!(reason, Reason::Operand(_) | Reason::Source(_)) => {
                format!("{shape} ({reason})")
            }
            _ => shape.to_string(),
        }
    }

    /// What operands are at `b`, where that is not what they were.
    fn uses(&self, b: Block, uses: impl Iterator<Item = Value>) -> Vec<String> {
        let mut seen: EntitySet<Value> = EntitySet::new();
        let mut notes = Vec::new();
        for v in uses.filter(|&v| seen.insert(v)) {
            let shape = self.uniformity.shape_at(v, b);
            if shape != self.uniformity.shape(v) {
                notes.push(format!("{v} here: {shape}"));
            }
        }
        notes
    }
}
