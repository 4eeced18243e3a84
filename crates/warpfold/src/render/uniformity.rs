//! A function's text with what is uniform in it, and why the rest is not.

use std::fmt::Write;

use serde::Serialize;
use warpfold_analysis::uniformity::{self, Uniformity};
use warpfold_ir::{Block, Function, Value};

use super::model::VERSION;
use super::style::{Paint, Tone};

/// The widest code that comments are aligned behind.
const MOST: usize = 56;

/// The text of `func` with a comment per line on what lanes hold and where
/// they part, in one column; what parts lanes is coloured.
pub fn annotated(func: &Function, uniformity: &Uniformity, paint: Paint) -> String {
    let text = uniformity::annotate(func, uniformity);
    let lines: Vec<(&str, Option<&str>)> = text
        .lines()
        .map(|l| match l.split_once(" ; ") {
            Some((code, note)) => (code, Some(note)),
            None => (l, None),
        })
        .collect();
    let width = |code: &str| code.chars().count();
    let noted = lines.iter().filter(|(_, note)| note.is_some());
    let wide = noted.map(|(code, _)| width(code)).max().unwrap_or(0);
    let wide = wide.min(MOST);
    let mut out = String::new();
    for (code, note) in lines {
        out.push_str(code);
        if let Some(note) = note {
            let tone = match note.starts_with("divergent") {
                true => Tone::Warn,
                false => Tone::Dim,
            };
            let pad = wide.saturating_sub(width(code));
            let note = paint.tone(tone, format!("; {note}"));
            let _ = write!(out, "{}  {note}", " ".repeat(pad));
        }
        out.push('\n');
    }
    out
}

/// What JSON says.
#[derive(Serialize)]
struct UniformityDoc<'a> {
    /// The version of the format.
    version: u32,
    /// `uniformity`.
    command: &'static str,
    /// The input, as the caller named it.
    file: &'a str,
    /// The kernel.
    function: &'a str,
    /// Its blocks, in layout order.
    blocks: Vec<UniformBlockDoc>,
}

/// A block.
#[derive(Serialize)]
struct UniformBlockDoc {
    /// Its name.
    block: String,
    /// The scope at which lanes agree on whether they are here.
    scope: &'static str,
    /// Its parameters and results, in order.
    values: Vec<ValueDoc>,
    /// The branch that ends it, if one does.
    branch: Option<UniformBranchDoc>,
}

/// A value.
#[derive(Serialize)]
struct ValueDoc {
    /// Its name.
    value: String,
    /// The scope at which it is uniform.
    scope: &'static str,
    /// What is known of it: stride, base, bits.
    shape: String,
    /// Why lanes differ, where they do.
    reason: Option<String>,
}

/// A branch.
#[derive(Serialize)]
struct UniformBranchDoc {
    /// Its line, where there is text.
    line: Option<u32>,
    /// The scope at which its condition is uniform.
    scope: &'static str,
    /// Whether it may split a warp.
    splits: bool,
    /// Why it may.
    reason: Option<String>,
    /// The lanes that take its first edge, where they are known beforehand.
    known_mask: Option<u32>,
    /// Whether at most one warp of a row can split.
    tail_guard: bool,
}

/// The same as JSON; `file` is what the caller calls the input.
pub fn json_uniformity(file: &str, func: &Function, uniformity: &Uniformity) -> String {
    let blocks = func.layout.iter().map(|&b| {
        let block = func.block(b);
        let results = block.insts.iter().filter_map(|&i| func.result(i));
        let branch = func.term(b).is_conditional().then(|| {
            let splits = !uniformity.is_uniform_branch(b);
            UniformBranchDoc {
                line: (block.origin.line != 0).then_some(block.origin.line),
                scope: uniformity.branch_scope(b).name(),
                splits,
                reason: splits.then(|| uniformity.branch_chain(b).to_string()),
                known_mask: uniformity.known_mask(b),
                tail_guard: uniformity.tail_guard(b),
            }
        });
        UniformBlockDoc {
            block: b.to_string(),
            scope: uniformity.exec_scope(b).name(),
            values: block
                .params
                .iter()
                .copied()
                .chain(results)
                .map(|v| value(uniformity, v, b))
                .collect(),
            branch,
        }
    });
    super::to_json(&UniformityDoc {
        version: VERSION,
        command: "uniformity",
        file,
        function: &func.name,
        blocks: blocks.collect(),
    })
}

fn value(uniformity: &Uniformity, v: Value, b: Block) -> ValueDoc {
    let shape = uniformity.shape_at(v, b);
    ValueDoc {
        value: v.to_string(),
        scope: shape.scope().name(),
        shape: shape.to_string(),
        reason: (!shape.is_uniform()).then(|| uniformity.chain(v, b).to_string()),
    }
}
