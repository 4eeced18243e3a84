//! With which lanes blocks run: all that were launched, or a part.
//!
//! A block in the region of a branch that separates lanes at some scope runs
//! with a part of them. Where lanes leave while others go on, so do the blocks
//! behind. Regions of branches that are [`Span::Ahead`] are not listed anywhere:
//! each edge into one is noted with the depth of the join, and noted depths
//! are handed up the tree of joins, in reverse postorder; a block above whose
//! depth one is left over is in a region, and hands it on to its own region.

use cranelift_entity::{EntitySet, SecondaryMap};
use warpfold_ir::{Block, Function};

use super::scope::Scope;
use super::spans::Span;
use super::{Graph, Uniformity};
use crate::LoopId;

/// The scopes at which lanes can be missing.
const PARTIAL: [Scope; 3] = [Scope::Block, Scope::Warp, Scope::Lane];

/// One for each of [`PARTIAL`].
type Each = [u32; 3];

impl Uniformity {
    /// Fills in `live` and `exec`.
    pub(super) fn find_exec_scopes(&mut self, func: &Function, graph: &Graph<'_>, called: bool) {
        let cfg = graph.cfg;
        let coarse = match called {
            true => Scope::Lane,
            false => self.state.is_coarse().unwrap_or(Scope::Grid),
        };
        for &b in cfg.rpo() {
            self.live[b] = Some(coarse.max(Scope::Grid));
        }
        self.mark_ahead(graph);
        let split_by_loops = self.mark_loops(graph);
        let splits = &self.state.splits;
        for split in splits.iter().filter(|s| s.scope > Scope::Grid) {
            for &b in &split.region {
                self.live[b] = self.live[b].max(Some(split.scope));
            }
        }
        // Where lanes leave while others go on, and where these go on.
        let mut leaving: SecondaryMap<Block, Option<Scope>> = SecondaryMap::new();
        let mut gone: Vec<(Scope, Block)> = Vec::new();
        for &b in cfg.rpo() {
            leaving[b] = self.leaving_scope(func, b);
            if let Some(scope) = leaving[b] {
                gone.extend(cfg.succs(b).iter().map(|&to| (scope, to)));
            }
        }
        for split in splits.iter().filter(|s| s.scope > Scope::Grid) {
            let widest = split.region.iter().filter_map(|&b| leaving[b]).max();
            gone.extend(widest.zip(split.join));
        }
        self.gone_ahead(graph, &leaving, &mut gone);
        self.gone_from_loops(graph, &leaving, &split_by_loops, &mut gone);
        self.exec = self.live.clone();
        for scope in PARTIAL {
            let mut seen: EntitySet<Block> = EntitySet::new();
            let from = gone.iter().filter(|&&(s, _)| s == scope);
            let mut work: Vec<Block> = from.map(|&(_, b)| b).collect();
            while let Some(b) = work.pop() {
                if seen.insert(b) {
                    self.exec[b] = self.exec[b].max(Some(scope));
                    work.extend(cfg.succs(b));
                }
            }
        }
    }

    /// The scope at which the branch of `b`, which is ahead, separates lanes.
    fn split_ahead(&self, b: Block) -> Option<Scope> {
        let scope = self.state.branch_scope[b].filter(|&s| s > Scope::Grid)?;
        (self.state.spans.span(b) == Span::Ahead).then_some(scope)
    }

    fn mark_ahead(&mut self, graph: &Graph<'_>) {
        const NONE: Each = [u32::MAX; 3];
        let (cfg, spans) = (graph.cfg, &self.state.spans);
        let mut limits: SecondaryMap<Block, Each> = SecondaryMap::with_default(NONE);
        for &b in cfg.rpo() {
            let here = limits[b];
            let own = self.split_ahead(b);
            let up = spans.above(graph, b);
            let join = graph.joins.of(b);
            for (i, scope) in PARTIAL.into_iter().enumerate() {
                let marked = here[i] < spans.depth(b);
                if marked {
                    self.live[b] = self.live[b].max(Some(scope));
                    if let Some(up) = up {
                        limits[up][i] = limits[up][i].min(here[i]);
                    }
                }
                if (marked || own == Some(scope)) && cfg.branches(b) {
                    for &to in cfg.succs(b).iter().filter(|&&to| Some(to) != join) {
                        limits[to][i] = limits[to][i].min(spans.limit(graph, b, to));
                    }
                }
            }
        }
    }

    /// Adds the joins of branches ahead in whose regions lanes leave.
    fn gone_ahead(
        &self,
        graph: &Graph<'_>,
        leaving: &SecondaryMap<Block, Option<Scope>>,
        gone: &mut Vec<(Scope, Block)>,
    ) {
        let (cfg, spans) = (graph.cfg, &self.state.spans);
        // By scope: the blocks from here to the root that lanes leave in, or in
        // whose regions they do.
        let mut leave: SecondaryMap<Block, Each> = SecondaryMap::new();
        for &b in cfg.rpo().iter().rev() {
            let up = spans.above(graph, b);
            let mut here = up.map_or([0; 3], |up| leave[up]);
            let join = graph.joins.of(b);
            for (i, scope) in PARTIAL.into_iter().enumerate() {
                let inside = spans.span(b) == Span::Ahead
                    && cfg.succs(b).iter().any(|&to| {
                        let limit = spans.limit(graph, b, to);
                        let until = join.filter(|_| limit > 0).map_or(0, |j| leave[j][i]);
                        Some(to) != join && leave[to][i] > until
                    });
                if let (true, Some(_), Some(join)) = (inside, self.split_ahead(b), join) {
                    gone.push((scope, join));
                }
                here[i] += u32::from(inside || leaving[b] == Some(scope));
            }
            leave[b] = here;
        }
    }

    /// Marks the loops that lanes leave one by one; gives those with the block
    /// behind them.
    fn mark_loops(&mut self, graph: &Graph<'_>) -> Vec<(LoopId, Block)> {
        let loops = &graph.loops;
        let mut split_by: Vec<(LoopId, Block)> = Vec::new();
        let mut scopes: SecondaryMap<LoopId, Option<Scope>> = SecondaryMap::new();
        for l in loops.ids() {
            let own = self.state.loop_splits[l].map(|(scope, branch)| {
                split_by.extend(graph.joins.of(branch).map(|join| (l, join)));
                scope
            });
            let around = loops.parent(l).and_then(|p| scopes[p]);
            scopes[l] = own.max(around);
        }
        for &b in graph.cfg.rpo() {
            let scope = loops.loop_of(b).and_then(|l| scopes[l]);
            self.live[b] = self.live[b].max(scope);
        }
        split_by
    }

    /// Adds the blocks behind these loops if lanes leave the function in them.
    fn gone_from_loops(
        &self,
        graph: &Graph<'_>,
        leaving: &SecondaryMap<Block, Option<Scope>>,
        split_by: &[(LoopId, Block)],
        gone: &mut Vec<(Scope, Block)>,
    ) {
        let loops = &graph.loops;
        let mut widest: SecondaryMap<LoopId, Option<Scope>> = SecondaryMap::new();
        for &b in graph.cfg.rpo() {
            if let Some(l) = loops.loop_of(b) {
                widest[l] = widest[l].max(leaving[b]);
            }
        }
        // Inner loops have the higher numbers.
        for l in loops.ids().rev() {
            if let Some(around) = loops.parent(l) {
                widest[around] = widest[around].max(widest[l]);
            }
        }
        gone.extend(
            split_by
                .iter()
                .filter_map(|&(l, join)| Some((widest[l]?, join))),
        );
    }

    /// How far the lanes that leave in `b`, if any can, are fewer than all.
    /// In a callee lanes may trap.
    fn leaving_scope(&self, func: &Function, b: Block) -> Option<Scope> {
        let live = self.live[b].unwrap_or(Scope::Lane);
        let by_end = func.term(b).is_end();
        let by_guards = func.block(b).insts.iter().filter_map(|&i| {
            let inst = func.inst(i);
            let guard = inst.guard.map_or(Scope::Lane, |g| self.scope_at(g.pred, b));
            inst.op.ends_segment().then_some(guard.max(live))
        });
        by_guards.chain(by_end.then_some(live)).max()
    }
}
