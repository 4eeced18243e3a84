//! Uniformity: what the 32 lanes of a warp hold in each value, and why.
//!
//! # What is claimed
//!
//! Lanes that run one block together, after all separations and meetings of
//! the executor, are a *group*. [`Uniformity::shape_at`] says of a value and a
//! block what the lanes of a group that executes the block hold: the scope at
//! which it is one number, a stride, known bits, uniform bits; see [`Shape`].
//! Scopes wider than the warp claim the same of the lanes of a block or of the
//! grid, taken together as if they were one wide warp. Lanes that were never
//! launched or have left do not count; nor do lanes in which a value is poison,
//! in particular those that a guard without `else` switched off.
//!
//! The query is always *value at block*: what was uniform inside a loop may be
//! divergent behind it (see `control.rs`). Values made after the analysis read
//! as divergent.
//!
//! # How
//!
//! An optimistic sparse fixpoint (`solve.rs`) of the value domain ([`Shape`]) over
//! the transfer rules, the id registers' [launch shape](LaunchShape) and
//! the effects of branches that it finds to diverge on the way. It
//! follows LLVM's uniformity analysis in kind (Karrenberg and Hack, "Improving
//! Performance of OpenCL on CPUs", 2012; Rosemann, Moll and Hack, "An Abstract
//! Interpretation for SPMD Divergence on Reducible Control Flow Graphs", 2021),
//! with the strides of Moll's Region Vectorizer and known bits beside them; but
//! the control part is stated in terms of the executor's joins, and so needs
//! no reducibility.
//!
//! # What it does not do
//!
//! It does not see that a branch is never taken, follows memory only by the
//! promises of load flags, and does not follow which lanes a shuffle reads.
//!
//! Cost: near-linear, however deep branches and loops nest; regions that cannot
//! be described without a walk (`spans.rs`) are walked within a budget, and the
//! coarser fallback is sound. [`Uniformity::steps`] counts.

mod annotate;
mod arith;
mod bits;
mod check;
mod compare;
mod control;
mod domain;
mod exec_scope;
mod faults;
mod independent;
mod launch;
mod linear;
mod masks;
mod memory;
mod numbers;
mod parked;
mod presence;
mod reason;
mod scope;
mod solve;
mod spans;
mod state;
mod transfer;
mod worklist;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use cranelift_entity::SecondaryMap;
use warpfold_ir::{Block, Function, Value};

pub use annotate::{annotate, claims};
pub use bits::KnownBits;
pub use domain::Shape;
#[doc(hidden)]
pub use faults::Fault;
pub use launch::LaunchShape;
pub use reason::{Chain, Reason, Step, Subject, Trail};
pub use scope::Scope;

use crate::{Cfg, DomTree, Flow, JoinRule, Joins, Loops};
use masks::Masks;
use memory::Memory;
use numbers::Numbers;
use reason::Subject as Of;
use state::State;

/// When lanes that a branch separated run together again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Convergence {
    /// At the branch's join, as the executor has it.
    #[default]
    Ipdom,
    /// As soon as they reach one block in the same iterations of all loops
    /// around it; loop headers wait for all lanes of the loop. What papers and
    /// LLVM assume.
    Parked,
}

/// What the analysis takes for granted.
#[derive(Clone, Copy, Debug, Default)]
pub struct UniformityOptions {
    /// What is known of the launch.
    pub shape: LaunchShape,
    /// When lanes meet again.
    pub convergence: Convergence,
    /// The executor's join rule.
    pub joins: JoinRule,
    /// Edges that may be walked to find what branches separate; `None` for an
    /// amount in proportion to the function. Less means coarser results.
    pub budget: Option<u64>,
    /// Other functions of the module, or the function itself, call this one:
    /// its parameters vary, any of its lanes may be away, and addresses may be
    /// those of a caller's stack slots.
    pub called: bool,
    /// Lanes are scheduled independently: where they may wait for each other, those
    /// that a branch separated need not meet at its join.
    pub independent: bool,
    /// A mistake to make, for tests of what catches it.
    #[doc(hidden)]
    pub fault: Option<Fault>,
}

/// The graph's analyses that this one needs.
pub(crate) struct Graph<'a> {
    pub cfg: &'a Cfg,
    pub joins: &'a Joins,
    pub dominators: Arc<DomTree>,
    pub loops: Arc<Loops>,
    pub memory: Memory,
    pub numbers: Numbers,
    /// Planted.
    pub fault: Option<Fault>,
}

/// The result of the analysis for one function.
#[derive(Clone, Debug)]
pub struct Uniformity {
    state: State,
    types: Vec<warpfold_ir::Type>,
    flow: Flow,
    conditional: SecondaryMap<Block, bool>,
    splits_lanes: SecondaryMap<Block, bool>,
    exec: SecondaryMap<Block, Option<Scope>>,
    live: SecondaryMap<Block, Option<Scope>>,
    /// Why a block runs with a part of the lanes of a warp.
    partial: SecondaryMap<Block, Option<Reason>>,
    masks: SecondaryMap<Block, Option<u32>>,
    tails: SecondaryMap<Block, bool>,
}

impl Uniformity {
    /// Analyses `func`, which the verifier accepts.
    pub fn new(func: &Function, options: &UniformityOptions) -> Self {
        let flow = Flow::new(func, options.joins);
        Self::solved(solve::solve, func, flow, options)
    }

    /// The same with the graph and its joins at hand; `joins` replaces the
    /// options' join rule.
    pub fn with_graph(
        func: &Function,
        cfg: &Cfg,
        joins: &Joins,
        options: &UniformityOptions,
    ) -> Self {
        Self::solved_by(solve::solve, func, cfg, joins, options)
    }

    fn solved_by(
        solve: impl Fn(&Function, &Graph<'_>, &UniformityOptions) -> State,
        func: &Function,
        cfg: &Cfg,
        joins: &Joins,
        options: &UniformityOptions,
    ) -> Self {
        let flow = Flow {
            dominators: Arc::new(DomTree::dominators(cfg)),
            loops: Arc::new(Loops::new(cfg)),
            cfg: Arc::new(cfg.clone()),
            joins: Arc::new(joins.clone()),
        };
        Self::solved(solve, func, flow, options)
    }

    fn solved(
        solve: impl Fn(&Function, &Graph<'_>, &UniformityOptions) -> State,
        func: &Function,
        flow: Flow,
        options: &UniformityOptions,
    ) -> Self {
        let memory = Memory::new(func, options.called);
        let cfg = &*flow.cfg;
        let graph = Graph {
            cfg,
            joins: &flow.joins,
            dominators: Arc::clone(&flow.dominators),
            loops: Arc::clone(&flow.loops),
            numbers: Numbers::new(func, cfg, &memory),
            memory,
            fault: options.fault,
        };
        let state = solve(func, &graph, options);
        let mut result = Self {
            types: func.values().map(|v| func.ty(v)).collect(),
            flow: flow.clone(),
            conditional: SecondaryMap::new(),
            splits_lanes: SecondaryMap::new(),
            exec: SecondaryMap::new(),
            live: SecondaryMap::new(),
            partial: SecondaryMap::new(),
            masks: SecondaryMap::new(),
            tails: SecondaryMap::new(),
            state,
        };
        for &b in cfg.rpo() {
            result.conditional[b] = func.term(b).is_conditional();
            result.splits_lanes[b] = cfg.branches(b);
            let masks = Masks {
                func,
                state: &result.state,
                launch: &options.shape,
            };
            result.masks[b] = masks.known_mask(b);
            result.tails[b] = masks.tail_guard(b);
        }
        result.find_exec_scopes(func, &graph, options.called);
        if options.independent {
            result.find_yields(func, &graph, options.called);
        }
        result
    }

    /// What lanes that execute `b` together hold in `v`.
    pub fn shape_at(&self, v: Value, b: Block) -> Shape {
        let Some(&ty) = self.types.get(v.as_u32() as usize) else {
            return Shape::varying(warpfold_ir::Type::I128);
        };
        let dominates =
            self.state.def_block[v].is_some_and(|d| self.flow.dominators.dominates(d, b));
        match self.state.at(v, b) {
            Some(shape) if dominates => shape,
            _ => Shape::varying(ty),
        }
    }

    /// The scope at which `v` is one number among lanes that execute `b`
    /// together.
    pub fn scope_at(&self, v: Value, b: Block) -> Scope {
        self.shape_at(v, b).scope()
    }

    /// What lanes get from one execution of `v`'s definition: its shape at the
    /// block that defines it.
    pub fn shape(&self, v: Value) -> Shape {
        match self.state.def_block.get(v).copied().flatten() {
            Some(b) => self.shape_at(v, b),
            None => self.shape_at(v, Block::from_u32(0)),
        }
    }

    /// The scope of the condition of the terminator of `b`; a terminator that
    /// decides nothing is `Const`.
    pub fn branch_scope(&self, b: Block) -> Scope {
        match self.state.branch_scope[b] {
            Some(scope) => scope,
            None if self.conditional[b] => Scope::Lane,
            None => Scope::Const,
        }
    }

    /// Whether the terminator of `b` never separates the lanes of a warp: its
    /// condition is uniform, or it has one target block.
    pub fn is_uniform_branch(&self, b: Block) -> bool {
        self.branch_scope(b).is_uniform() || !self.splits_lanes[b]
    }

    /// The scope at which `b` runs with all lanes that were launched: with
    /// `Warp`, whenever a warp runs it, all its lanes do; with `Grid`, it is
    /// also run by all warps the same number of times. Lanes that left before,
    /// by `ret`, `exit`, `trap`, count as missing; lanes that a faulting
    /// instruction retired are not looked at.
    pub fn exec_scope(&self, b: Block) -> Scope {
        self.exec[b].unwrap_or(Scope::Lane)
    }

    /// The same among lanes that have not left: what a barrier needs.
    pub fn live_scope(&self, b: Block) -> Scope {
        self.live[b].unwrap_or(Scope::Lane)
    }

    /// The lanes of a full warp for which the two-way branch at the end of `b`
    /// takes its first edge, if they are known before anything runs.
    pub fn known_mask(&self, b: Block) -> Option<u32> {
        self.masks[b]
    }

    /// Whether the branch at the end of `b` compares an index that goes on by
    /// one from thread to thread with a bound common to the block: at most one
    /// warp of a row of threads splits.
    pub fn tail_guard(&self, b: Block) -> bool {
        self.tails[b]
    }

    /// Why lanes get different results from the definition of `v`; `None` if
    /// they do not.
    pub fn reason(&self, v: Value) -> Option<Reason> {
        if self.types.len() <= v.as_u32() as usize || self.state.shapes[v].is_none() {
            return Some(Reason::Unknown);
        }
        self.state.reasons[v]
    }

    /// Why lanes that execute `b` together hold different numbers in `v`;
    /// `None` if they do not.
    pub fn reason_at(&self, v: Value, b: Block) -> Option<Reason> {
        match self.reason(v) {
            None => self.state.cause_at(v, b),
            reason => reason,
        }
    }

    /// Why the branch at the end of `b` separates lanes; `None` if it does
    /// not.
    pub fn branch_reason(&self, b: Block) -> Option<Reason> {
        self.state.branch_reasons[b]
    }

    /// The steps from `v` at `b` down to what differs by nature; empty if `v`
    /// is uniform there.
    pub fn chain(&self, v: Value, b: Block) -> Chain<'_> {
        let subject = Of::Value(v);
        let first = self.reason_at(v, b).map(|reason| Step { subject, reason });
        Chain::new(self, first)
    }

    /// The steps from the branch at the end of `b` down to what differs by
    /// nature; empty if it is uniform.
    pub fn branch_chain(&self, b: Block) -> Chain<'_> {
        let subject = Of::Branch(b);
        let first = self.branch_reason(b).map(|reason| Step { subject, reason });
        Chain::new(self, first)
    }
    /// The graph of the function that was analysed.
    pub fn flow(&self) -> &Flow {
        &self.flow
    }

    /// What the analysis has done, counted: evaluations, operands and uses looked
    /// at, edges walked. It grows in proportion to the function.
    pub fn steps(&self) -> u64 {
        self.state.steps
    }

    /// The block that defines `v`, if the analysis has come to it.
    pub fn def_block(&self, v: Value) -> Option<Block> {
        self.state.def_block.get(v).copied().flatten()
    }

    /// Why only a part of a warp's lanes may run `b`; `None` if all do that
    /// were launched, or none.
    pub fn block_reason(&self, b: Block) -> Option<Reason> {
        match self.exec[b] {
            Some(Scope::Lane) => self.partial[b].or(Some(Reason::Budget)),
            Some(_) => None,
            None => Some(Reason::Unknown),
        }
    }

    /// The steps from `b` that only a part of a warp's lanes may run down to
    /// what differs by nature; empty if all do.
    pub fn block_chain(&self, b: Block) -> Chain<'_> {
        let subject = Of::Block(b);
        let first = self.block_reason(b).map(|reason| Step { subject, reason });
        Chain::new(self, first)
    }

    /// Whether the budget ran out and the results are coarse.
    pub fn is_coarse(&self) -> bool {
        self.state.is_coarse().is_some()
    }
}
