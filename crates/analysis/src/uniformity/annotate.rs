//! The function's text with what is known beside each line.

use std::fmt::Write as _;

use warpfold_ir::print::{Line, write_function};
use warpfold_ir::{Function, Value};

use super::{Reason, Scope, Uniformity};

/// Prints `func` with a comment per line: block headers get the scope at which
/// the block runs and what is known of its parameters, instructions what is
/// known of their result, branches their scope, known mask and, where lanes
/// may part, the chain of reasons.
pub fn annotate(func: &Function, uniformity: &Uniformity) -> String {
    let mut out = String::new();
    let mut note = |w: &mut String, line: Line| {
        match line {
            Line::Signature => {}
            Line::Header(b) => {
                let scope = uniformity.exec_scope(b);
                let mut notes: Vec<String> = Vec::new();
                if scope > Scope::Grid {
                    notes.push(format!("runs per {scope}"));
                }
                for &p in &func.block(b).params {
                    notes.push(format!("{p}: {}", value_note(uniformity, p)));
                }
                if !notes.is_empty() {
                    write!(w, " ; {}", notes.join(", "))?;
                }
            }
            Line::Inst(i) => {
                if let Some(v) = func.result(i) {
                    write!(w, " ; {}", value_note(uniformity, v))?;
                }
            }
            Line::Term(b) => {
                if func.term(b).is_conditional() {
                    write!(w, " ; {}", branch_note(uniformity, b))?;
                }
            }
        }
        Ok(())
    };
    // Writing to a String cannot fail.
    let _ = write_function(&mut out, func, &mut note);
    out
}

fn value_note(uniformity: &Uniformity, v: Value) -> String {
    let shape = uniformity.shape(v);
    match uniformity.reason(v) {
        Some(reason) if !matches!(reason, Reason::Operand(_) | Reason::Source(_)) => {
            format!("{shape} ({reason})")
        }
        _ => shape.to_string(),
    }
}

fn branch_note(uniformity: &Uniformity, b: warpfold_ir::Block) -> String {
    let scope = uniformity.branch_scope(b);
    let mut note = if scope.is_uniform() {
        format!("uniform({scope})")
    } else {
        "divergent".to_owned()
    };
    if let Some(mask) = uniformity.known_mask(b) {
        let _ = write!(note, ", mask {mask:#010x}");
    }
    if uniformity.tail_guard(b) {
        note.push_str(", tail guard");
    }
    if !scope.is_uniform() {
        let _ = write!(note, ": {}", uniformity.branch_chain(b));
    }
    note
}
