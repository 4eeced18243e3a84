//! A function's text with what is uniform in it, and why the rest is not.

use std::fmt::Write;

use serde::Serialize;
use warpfold_analysis::uniformity::{self, KnownBits, Reason, Shape, Step, Subject, Uniformity};
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

/// What a chain of reasons is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Question {
    /// Why a value differs between the lanes that execute a block together;
    /// without a block, the one that defines it.
    Value(Value, Option<Block>),
    /// Why the branch at the end of a block splits a warp; of a block that
    /// does not branch, why only a part of the lanes runs it.
    Block(Block),
}

impl Question {
    /// Reads `v12`, `v12@block3`, or `block3`, entities of `func`.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn parse(text: &str, func: &Function) -> Result<Self, String> {
        let number = |text: &str, prefix: &str| {
            let digits = text.strip_prefix(prefix)?;
            let canonical = digits == "0" || !digits.starts_with(['0', '+']);
            digits.parse::<u32>().ok().filter(|_| canonical)
        };
        let block = |text: &str| {
            let b = number(text, "block").map(Block::from_u32)?;
            Some((b, func.layout.contains(&b)))
        };
        let known = |found: Option<(Block, bool)>, text: &str| match found {
            Some((b, true)) => Ok(b),
            Some((_, false)) => Err(format!(
                "there is no `{text}` in %{}; its blocks are {}",
                func.name,
                some_of(func.layout.iter().map(ToString::to_string).collect())
            )),
            None => Err(format!(
                "`{text}` is neither a value like `v3`, `v3@block1`, nor a block like `block1`"
            )),
        };
        if text.starts_with("block") {
            return Ok(Self::Block(known(block(text), text)?));
        }
        let (name, at) = match text.split_once('@') {
            Some((name, at)) => (name, Some(known(block(at), at)?)),
            None => (text, None),
        };
        match number(name, "v").map(Value::from_u32) {
            Some(v) if func.has_value(v) => Ok(Self::Value(v, at)),
            Some(_) => Err(format!(
                "there is no `{name}` in %{}; its values are {}",
                func.name,
                some_of(func.values().map(|v| v.to_string()).collect())
            )),
            None => known(None, text).map(Self::Block),
        }
    }

    fn subject(self, uniformity: &Uniformity) -> Subject {
        match self {
            Self::Value(v, _) => Subject::Value(v),
            Self::Block(b) if uniformity.branch_reason(b).is_some() => Subject::Branch(b),
            Self::Block(b) => Subject::Block(b),
        }
    }

    fn chain(self, uniformity: &Uniformity) -> Vec<Step> {
        match (self, self.subject(uniformity)) {
            (Self::Value(v, Some(b)), _) => uniformity.chain(v, b).collect(),
            (Self::Value(v, None), _) => match uniformity.def_block(v) {
                Some(b) => uniformity.chain(v, b).collect(),
                None => Vec::new(),
            },
            (_, Subject::Branch(b)) => uniformity.branch_chain(b).collect(),
            (Self::Block(b), _) => uniformity.block_chain(b).collect(),
        }
    }

    /// What is claimed of it, in a few words.
    fn claim(self, func: &Function, uniformity: &Uniformity) -> String {
        match self {
            Self::Value(v, Some(b)) => uniformity.shape_at(v, b).to_string(),
            Self::Value(v, None) => uniformity.shape(v).to_string(),
            Self::Block(b) => {
                let runs = format!("runs per {}", uniformity.exec_scope(b));
                match func.term(b).is_conditional() {
                    true => format!("{runs}, its branch is {}", uniformity.branch_scope(b)),
                    false => runs,
                }
            }
        }
    }
}

impl std::fmt::Display for Question {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Value(v, None) => write!(f, "{v}"),
            Self::Value(v, Some(b)) => write!(f, "{v} at {b}"),
            Self::Block(b) => write!(f, "{b}"),
        }
    }
}

/// A list, or its ends if it is long.
fn some_of(names: Vec<String>) -> String {
    match &names[..] {
        [] => "none".to_owned(),
        [first, .., last] if names.len() > 8 => format!("{first} to {last}"),
        all => all.join(", "),
    }
}

/// Why lanes differ or part: what is claimed, and a line per step from the
/// effect to its cause.
pub fn why(func: &Function, uniformity: &Uniformity, of: Question, paint: Paint) -> String {
    let chain = of.chain(uniformity);
    let mut out = format!("{of}: {}\n", of.claim(func, uniformity));
    if chain.is_empty() {
        out.push_str("  the lanes of a warp agree\n");
    }
    for (i, step) in chain.iter().enumerate() {
        let tone = match i + 1 == chain.len() {
            true => Tone::Warn,
            false => Tone::Plain,
        };
        let _ = writeln!(out, "  {}", paint.tone(tone, step));
    }
    out
}

/// What JSON says of a function.
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

/// What JSON says of one question.
#[derive(Serialize)]
struct WhyDoc<'a> {
    /// The version of the format.
    version: u32,
    /// `uniformity`.
    command: &'static str,
    /// The input, as the caller named it.
    file: &'a str,
    /// The kernel.
    function: &'a str,
    /// What was asked about: a value or a block.
    subject: String,
    /// What is claimed of it, in a few words.
    claim: String,
    /// Why lanes differ or part, a step each, the cause last.
    chain: Vec<StepDoc>,
}

#[derive(Serialize)]
struct UniformBlockDoc {
    /// Its name.
    block: String,
    /// The scope at which lanes agree on whether they are here.
    scope: &'static str,
    /// The same among lanes that have not left.
    live_scope: &'static str,
    /// Why they do not, the first step.
    cause: Option<StepDoc>,
    /// Its parameters and results, in order.
    values: Vec<ValueDoc>,
    /// Operands of which less is known here than where they were made.
    here: Vec<ValueDoc>,
    /// The branch that ends it, if one does.
    branch: Option<UniformBranchDoc>,
}

#[derive(Serialize)]
struct ValueDoc {
    /// Its name.
    value: String,
    /// The scope at which it is uniform.
    scope: &'static str,
    /// What is known of it, as text.
    shape: String,
    /// The same by its parts.
    #[serde(flatten)]
    claims: ClaimsDoc,
    /// Why lanes differ, where they do.
    reason: Option<String>,
    /// The first step of it.
    cause: Option<StepDoc>,
}

/// A shape by its parts; sets of bits are in hexadecimal.
#[derive(Serialize)]
struct ClaimsDoc {
    /// What it goes on by from lane to lane.
    stride: Option<i64>,
    /// The scope at which its base is uniform.
    base_scope: &'static str,
    /// Bits of the base that are known to be 0.
    base_zero_bits: String,
    /// Bits of the base that are known to be 1.
    base_one_bits: String,
    /// Bits that are 0 in all lanes.
    zero_bits: String,
    /// Bits that are 1 in all lanes.
    one_bits: String,
    /// Bits that are the same in all lanes of a warp.
    uniform_bits: String,
}

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
    /// The first step of it.
    cause: Option<StepDoc>,
    /// The lanes that take its first edge, where they are known beforehand.
    known_mask: Option<u32>,
    /// Whether at most one warp of a row can split.
    tail_guard: bool,
}

/// One step from effect to cause.
#[derive(Serialize)]
struct StepDoc {
    /// What the step is about: a value or a block.
    subject: String,
    /// `parameter`, `source`, `memory`, `operand`, `join`, `temporal`, `separated`, `left`, `waited`, `called`, `budget` or `unknown`.
    kind: &'static str,
    /// What it goes on with.
    next: Option<String>,
    /// The step in words.
    text: String,
}

impl StepDoc {
    fn new(step: Step) -> Self {
        let (kind, next) = match step.reason {
            Reason::Parameter(_) => ("parameter", None),
            Reason::Source(_) => ("source", None),
            Reason::Memory(_) => ("memory", None),
            Reason::Operand(v) => ("operand", Some(v.to_string())),
            Reason::Join { branch } => ("join", Some(branch.to_string())),
            Reason::Temporal { branch, .. } => ("temporal", Some(branch.to_string())),
            Reason::Separated { branch } => ("separated", Some(branch.to_string())),
            Reason::Left { .. } => ("left", None),
            Reason::Waited { .. } => ("waited", None),
            Reason::Called => ("called", None),
            Reason::Budget => ("budget", None),
            Reason::Unknown => ("unknown", None),
        };
        Self {
            subject: match step.subject {
                Subject::Value(v) => v.to_string(),
                Subject::Branch(b) | Subject::Block(b) => b.to_string(),
            },
            kind,
            next,
            text: step.to_string(),
        }
    }

    fn first(mut chain: impl Iterator<Item = Step>) -> Option<Self> {
        chain.next().map(Self::new)
    }
}

/// The same as JSON; `file` is what the caller calls the input.
pub fn json_uniformity(file: &str, func: &Function, uniformity: &Uniformity) -> String {
    let blocks = func.layout.iter().map(|&b| block(func, uniformity, b));
    super::to_json(&UniformityDoc {
        version: VERSION,
        command: "uniformity",
        file,
        function: &func.name,
        blocks: blocks.collect(),
    })
}

/// What [`why`] says as JSON.
pub fn json_why(file: &str, func: &Function, uniformity: &Uniformity, of: Question) -> String {
    super::to_json(&WhyDoc {
        version: VERSION,
        command: "uniformity",
        file,
        function: &func.name,
        subject: of.to_string(),
        claim: of.claim(func, uniformity),
        chain: of.chain(uniformity).into_iter().map(StepDoc::new).collect(),
    })
}

fn block(func: &Function, uniformity: &Uniformity, b: Block) -> UniformBlockDoc {
    let block = func.block(b);
    let branch = func.term(b).is_conditional().then(|| {
        let splits = !uniformity.is_uniform_branch(b);
        UniformBranchDoc {
            line: (block.origin.line != 0).then_some(block.origin.line),
            scope: uniformity.branch_scope(b).name(),
            splits,
            reason: splits.then(|| uniformity.branch_chain(b).to_string()),
            cause: StepDoc::first(uniformity.branch_chain(b)),
            known_mask: uniformity.known_mask(b),
            tail_guard: uniformity.tail_guard(b),
        }
    });
    let insts = || block.insts.iter().map(|&i| func.inst(i));
    let own = insts().flat_map(|i| i.results.iter().copied());
    let own = block.params.iter().copied().chain(own);
    let uses = insts().flat_map(|i| i.uses()).chain(func.term(b).uses());
    let mut weaker: Vec<Value> = uses
        .filter(|&v| uniformity.shape_at(v, b) != uniformity.shape(v))
        .collect();
    weaker.sort_unstable();
    weaker.dedup();
    UniformBlockDoc {
        block: b.to_string(),
        scope: uniformity.exec_scope(b).name(),
        live_scope: uniformity.live_scope(b).name(),
        cause: StepDoc::first(uniformity.block_chain(b)),
        values: own.map(|v| value(uniformity, v, b)).collect(),
        here: weaker
            .into_iter()
            .map(|v| value(uniformity, v, b))
            .collect(),
        branch,
    }
}

fn value(uniformity: &Uniformity, v: Value, b: Block) -> ValueDoc {
    let shape = uniformity.shape_at(v, b);
    let differs = !shape.is_uniform();
    ValueDoc {
        value: v.to_string(),
        scope: shape.scope().name(),
        shape: shape.to_string(),
        claims: claims(shape),
        reason: differs.then(|| uniformity.chain(v, b).to_string()),
        cause: StepDoc::first(uniformity.chain(v, b)),
    }
}

fn claims(shape: Shape) -> ClaimsDoc {
    let hex = |bits: u64| format!("{bits:#x}");
    let KnownBits { zero, one } = shape.base();
    ClaimsDoc {
        stride: shape.signed_stride(),
        base_scope: shape.base_scope().name(),
        base_zero_bits: hex(zero),
        base_one_bits: hex(one),
        zero_bits: hex(shape.bits().zero),
        one_bits: hex(shape.bits().one),
        uniform_bits: hex(shape.uniform_bits()),
    }
}
