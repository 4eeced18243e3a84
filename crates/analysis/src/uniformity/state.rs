//! What the solver has found, and the query for a value at a block.

use std::sync::Arc;

use cranelift_entity::{EntitySet, SecondaryMap};
use smallvec::SmallVec;
use warpfold_ir::{Block, Value};

use super::control::Split;
use super::domain::Shape;
use super::reason::Reason;
use super::scope::Scope;
use super::spans::Spans;
use crate::{LoopId, Loops};

/// What the analysis knows of values and branches.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pub shapes: SecondaryMap<Value, Option<Shape>>,
    pub def_block: SecondaryMap<Value, Option<Block>>,
    pub reasons: SecondaryMap<Value, Option<Reason>>,
    pub branch_scope: SecondaryMap<Block, Option<Scope>>,
    pub branch_reasons: SecondaryMap<Block, Option<Reason>>,
    pub splits: Vec<Split>,
    /// Per block that some lanes may execute again: split and its round.
    pub rounds: SecondaryMap<Block, SmallVec<[(u32, u32); 2]>>,
    pub loops: Arc<Loops>,
    pub spans: Spans,
    /// Per loop that lanes leave one by one: how far they differ, and the branch
    /// that lets them.
    pub loop_splits: SecondaryMap<LoopId, Option<(Scope, Block)>>,
    pub coarse: Option<Coarse>,
    /// Work done so far.
    pub steps: u64,
}

/// The coarse mode's scope, and the values that may vary somewhere.
#[derive(Clone, Debug)]
pub(crate) struct Coarse {
    pub scope: Scope,
    pub varying: EntitySet<Value>,
}

impl State {
    /// The value's shape among lanes that execute `b` together; `None` while
    /// it is bottom.
    #[inline]
    pub fn at(&self, v: Value, b: Block) -> Option<Shape> {
        match self.def_block[v] {
            Some(def) if def == b => self.shapes[v],
            Some(def) => self.elsewhere(v, def, b),
            None => None,
        }
    }

    /// The same behind the block of its definition.
    fn elsewhere(&self, v: Value, def: Block, b: Block) -> Option<Shape> {
        let mut shape = self.shapes[v]?;
        for &(split, round) in &self.rounds[def] {
            if self.is_separated(v, b, split, round) {
                shape = shape.separated(self.splits[split as usize].scope);
            }
        }
        for (_, (scope, _)) in self.left_between(v, def, b) {
            shape = shape.separated(scope);
        }
        if let Some(coarse) = &self.coarse
            && coarse.varying.contains(v)
        {
            shape = shape.separated(coarse.scope);
        }
        Some(shape)
    }

    fn is_separated(&self, v: Value, b: Block, split: u32, round: u32) -> bool {
        let split = &self.splits[split as usize];
        split.scope > Scope::Grid && split.rounds[round as usize].separates_at(b) && split.varies(v)
    }

    /// The loops that `v` varies in and that lanes leave one by one between its
    /// definition in `def` and `b`.
    fn left_between(
        &self,
        v: Value,
        def: Block,
        b: Block,
    ) -> impl Iterator<Item = (LoopId, (Scope, Block))> + '_ {
        let innermost = self
            .loops
            .loop_of(def)
            .and_then(|_| self.spans.varies_in(v));
        std::iter::successors(innermost, |&l| self.loops.parent(l))
            .take_while(move |&l| !self.loops.contains(l, b))
            .filter_map(|l| Some((l, self.loop_splits[l]?)))
    }

    /// Why `v` differs between lanes at `b`.
    pub fn cause_at(&self, v: Value, b: Block) -> Option<Reason> {
        let shape = self.shapes[v]?;
        if !shape.is_uniform() {
            return Some(Reason::Operand(v));
        }
        if self.at(v, b)?.is_uniform() {
            return None;
        }
        let def = self.def_block[v]?;
        let by_round = self.rounds[def].iter().find(|&&(split, round)| {
            self.splits[split as usize].scope == Scope::Lane
                && self.is_separated(v, b, split, round)
        });
        let by_round = by_round.map(|&(split, round)| {
            let split = &self.splits[split as usize];
            (split.rounds[round as usize].header, split.branch)
        });
        let mut loops = self.left_between(v, def, b);
        let by_loop = loops.find(|&(_, (scope, _))| scope == Scope::Lane);
        let by_loop = by_loop.map(|(l, (_, branch))| (self.loops.header(l), branch));
        Some(match by_round.or(by_loop) {
            Some((header, branch)) => Reason::Temporal {
                value: v,
                header,
                branch,
            },
            None => Reason::Budget,
        })
    }

    pub fn is_coarse(&self) -> Option<Scope> {
        self.coarse.as_ref().map(|c| c.scope)
    }
}
