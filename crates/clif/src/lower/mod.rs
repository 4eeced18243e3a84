//! From a verified CLIF function to the SIMT IR.
//!
//! **Problem.** The two are close: SSA with block parameters, mostly the same
//! opcodes. They differ in truth values (CLIF: 8-bit integers; here: `pred`,
//! see [`truth`]), in numbering, and in what CLIF can say that a lane cannot
//! do ([`check`] refuses it).
//!
//! **Method.** Verify with Cranelift's verifier; collect refusals over all
//! reachable instructions; then lower block by block. A block is lowered after
//! its immediate dominator, so every definition is met before its uses; among
//! the blocks that are ready the first in layout goes first, so values are
//! numbered in layout order wherever that order respects dominance.
//!
//! **Invariants.** Blocks keep their numbers and their relative layout order
//! (which decides where lanes join). Each instruction carries the CLIF
//! instruction it came from; a terminator likewise. `select_spectre_guard`
//! becomes a select and no branch is ever made of it.
//!
//! It does not optimise: what folds away (`not` into a branch, equal targets)
//! is left to the clean-up, except that integer forms of truth values and 0/1
//! constants that nothing uses are not left standing.

mod callees;
mod check;
mod handlers;
mod inst;
mod slots;
mod source;
mod term;
mod truth;
mod values;
mod wide;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use cranelift_codegen::dominator_tree::DominatorTree;
use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::flowgraph::ControlFlowGraph;
use cranelift_codegen::ir as clif;
use cranelift_codegen::ir::entities::AnyEntity;
use cranelift_codegen::isa::{CallConv, TargetFrontendConfig};
use cranelift_codegen::settings;
use cranelift_codegen::verify_function;
use target_lexicon::{PointerWidth, Triple};
use warpfold_ir::{Function, Origin};

use crate::error::ClifError;
pub(crate) use callees::Known;
pub(crate) use source::Lines;
use source::{NoText, Source};
use values::Lowering;

/// What reading and lowering depend on beside the input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadOptions {
    /// The target, which fixes the width of pointers: 32 or 64 bits.
    pub triple: Triple,
}

impl Default for ReadOptions {
    /// 64-bit pointers.
    fn default() -> Self {
        Self {
            triple: crate::read::default_triple(),
        }
    }
}

impl ReadOptions {
    /// What cranelift-frontend asks about the target when a function is
    /// finished (`FunctionBuilder::finalize`).
    pub fn frontend_config(&self) -> TargetFrontendConfig {
        TargetFrontendConfig {
            default_call_conv: CallConv::Fast,
            pointer_width: self.triple.pointer_width().unwrap_or(PointerWidth::U64),
            page_size_align_log2: 12,
        }
    }

    /// The type of an address, or why there is none.
    fn pointer(&self) -> Result<clif::Type, String> {
        match self.triple.pointer_width() {
            Ok(PointerWidth::U32) => Ok(clif::types::I32),
            Ok(PointerWidth::U64) => Ok(clif::types::I64),
            _ => Err(format!(
                "the target {} has neither 32-bit nor 64-bit pointers",
                self.triple
            )),
        }
    }
}

/// A conditional branch of the CLIF function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceBranch {
    /// Its instruction number and line; the lowered terminator has the same.
    pub origin: Origin,
    /// `brif` or `br_table`.
    pub opcode: &'static str,
    /// The number of the CLIF block that it ends, which is the IR block's.
    pub block: u32,
    /// The definition of the value it decides on, as CLIF text; of a block
    /// parameter its name and block.
    pub condition: String,
    /// Whether no path from the entry leads to it. The lowered function has no
    /// such branch.
    pub unreachable: bool,
}

/// A lowered function.
#[derive(Clone, PartialEq, Debug)]
pub struct Lowered {
    /// The function; its parameters are uniform until the launch says
    /// otherwise.
    pub func: Function,
    /// Every `brif` and `br_table` of the CLIF function, in layout order.
    pub branches: Vec<SourceBranch>,
    /// The line of the function's `function`, 0 when there was no text.
    pub line: u32,
    /// Functions that the text does not have and that the function needs beside
    /// those it names: one for each routine of Cranelift's library of which it
    /// takes the address. They call nobody. Two functions that need the same
    /// routine have equal helpers, of which a module takes one.
    pub helpers: Vec<Function>,
}

/// Verifies and lowers a function that was built in memory and calls nobody but
/// itself and intrinsics. Origins have line 0 and CLIF's instruction numbers.
///
/// # Errors
/// What Cranelift's verifier finds, else every place that is not supported.
pub fn lower(func: &clif::Function, opts: &ReadOptions) -> Result<Lowered, Vec<ClifError>> {
    lower_at(func, opts, &NoText, &Known::new([func]))
}

/// The same of functions that call each other; the results are in their order.
/// Their names, as far as letters, digits and `_` go, must be distinct.
///
/// # Errors
/// Those of all functions.
pub fn lower_all(
    functions: &[&clif::Function],
    opts: &ReadOptions,
) -> Result<Vec<Lowered>, Vec<ClifError>> {
    let known = Known::new(functions.iter().copied());
    let mut all = Vec::new();
    let mut errors = Vec::new();
    for func in functions {
        match lower_at(func, opts, &NoText, &known) {
            Ok(lowered) => all.push(lowered),
            Err(more) => errors.extend(more),
        }
    }
    match errors.is_empty() {
        true => Ok(all),
        false => Err(errors),
    }
}

/// The functions of a module with their conditional branches: those that were
/// lowered, in order, and behind them their [helpers](Lowered::helpers), each once.
pub fn with_helpers(lowered: Vec<Lowered>) -> impl Iterator<Item = (Function, Vec<SourceBranch>)> {
    let mut helpers: Vec<Function> = Vec::new();
    let mut all = Vec::with_capacity(lowered.len());
    for l in lowered {
        all.push((l.func, l.branches));
        for helper in l.helpers {
            if helpers.iter().all(|h| h.name != helper.name) {
                helpers.push(helper);
            }
        }
    }
    let helpers = helpers.into_iter().map(|h| (h, Vec::new()));
    all.into_iter().chain(helpers)
}

/// What is wrong with the declarations of a function of which no more than
/// these could be read.
pub(crate) fn check_declarations(
    func: &clif::Function,
    opts: &ReadOptions,
    lines: &dyn Lines,
    known: &Known,
) -> Vec<ClifError> {
    let source = Source::new(func, lines, known);
    opts.pointer()
        .map_or(Vec::new(), |pointer| check::declarations(&source, pointer))
}

pub(crate) fn lower_at(
    func: &clif::Function,
    opts: &ReadOptions,
    lines: &dyn Lines,
    known: &Known,
) -> Result<Lowered, Vec<ClifError>> {
    let source = Source::new(func, lines, known);
    let pointer = opts
        .pointer()
        .map_err(|message| vec![source.error(AnyEntity::Function, None, message)])?;
    source.whole().map_err(|error| vec![error])?;
    let flags = settings::Flags::new(settings::builder());
    verify_function(func, &flags).map_err(|errors| {
        let mut all = check::declarations(&source, pointer);
        all.extend(source.verifier_errors(&errors.0));
        all
    })?;
    let unhandled = handlers::without(func);
    let func: &clif::Function = &unhandled;
    let source = Source::new(func, lines, known);
    let cfg = ControlFlowGraph::with_function(func);
    let domtree = DominatorTree::with_function(func, &cfg);
    let blocks: Vec<clif::Block> = func
        .layout
        .blocks()
        .filter(|&b| domtree.is_reachable(b))
        .collect();
    let errors = check::check(&source, &blocks, pointer, opts);
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut lowering = Lowering::new(&source, &blocks)?;
    for b in dominance_order(&blocks, &domtree) {
        lowering.block(b)?;
    }
    let helpers = std::mem::take(&mut lowering.helpers);
    Ok(Lowered {
        func: lowering.finish(),
        helpers,
        branches: source.branches(&domtree),
        line: lines.place(AnyEntity::Function, None).0,
    })
}

/// `blocks`, each after its immediate dominator, by layout where that leaves
/// a choice.
fn dominance_order(blocks: &[clif::Block], domtree: &DominatorTree) -> Vec<clif::Block> {
    let mut children: SecondaryMap<clif::Block, Vec<usize>> = SecondaryMap::new();
    let mut ready = BinaryHeap::new();
    for (position, &b) in blocks.iter().enumerate() {
        match domtree.idom(b) {
            Some(parent) => children[parent].push(position),
            None => ready.push(Reverse(position)),
        }
    }
    let mut order = Vec::with_capacity(blocks.len());
    while let Some(Reverse(position)) = ready.pop() {
        let b = blocks[position];
        order.push(b);
        ready.extend(children[b].iter().copied().map(Reverse));
    }
    order
}
