//! With which lanes blocks run: all that were launched, or a part; and why.
//!
//! A block in the region of a branch that separates lanes at some scope runs
//! with a part of them. Where lanes leave while others go on, so do the blocks
//! behind. Regions of branches that are [`Span::Ahead`] are not listed anywhere:
//! each edge into one is noted with the depth of the join, and noted depths
//! are handed up the tree of joins, in reverse postorder; a block above whose
//! depth one is left over is in a region, and hands it on to its own region.

use cranelift_entity::{EntitySet, SecondaryMap};
use warpfold_ir::{Block, Function};

use super::reason::Reason;
use super::scope::Scope;
use super::spans::Span;
use super::{Graph, Uniformity};
use crate::LoopId;

/// The scopes at which lanes can be missing.
const PARTIAL: [Scope; 3] = [Scope::Block, Scope::Warp, Scope::Lane];

/// How far up the region of a branch goes that a block is in.
#[derive(Clone, Copy)]
struct Reach {
    /// The depth of the join, which is in it no more.
    limit: u32,
    branch: Block,
}

/// On the way up from a block: how many blocks lanes leave in, themselves or in
/// their regions, and the first of them.
#[derive(Clone, Copy, Default)]
struct Leaves {
    count: u32,
    first: Option<Block>,
}

/// Lanes that leave in `at`, fewer than all at `scope`, are missing from `from` on.
struct Gone {
    scope: Scope,
    at: Block,
    from: Block,
}

impl Uniformity {
    /// Fills in `live` and `exec`, and the reasons.
    pub(super) fn find_exec_scopes(&mut self, func: &Function, graph: &Graph<'_>, called: bool) {
        let cfg = graph.cfg;
        let coarse = match called {
            true => Scope::Lane,
            false => self.state.is_coarse().unwrap_or(Scope::Grid),
        };
        for &b in cfg.rpo() {
            self.live[b] = Some(coarse.max(Scope::Grid));
            self.partial[b] = called.then_some(Reason::Called);
        }
        self.mark_ahead(graph);
        self.mark_loops(graph);
        for s in 0..self.state.splits.len() {
            let (scope, branch) = (self.state.splits[s].scope, self.state.splits[s].branch);
            for i in 0..self.state.splits[s].region.len() {
                self.mark(self.state.splits[s].region[i], scope, branch);
            }
        }
        // Where lanes leave while others go on, and where these go on.
        let mut leaving: SecondaryMap<Block, Option<Scope>> = SecondaryMap::new();
        let mut gone: Vec<Gone> = Vec::new();
        for &at in cfg.rpo() {
            leaving[at] = self.leaving_scope(func, at);
            if let Some(scope) = leaving[at] {
                gone.extend(cfg.succs(at).iter().map(|&from| Gone { scope, at, from }));
            }
        }
        for split in self.state.splits.iter().filter(|s| s.scope > Scope::Grid) {
            let leave = split.region.iter().filter_map(|&b| Some((leaving[b]?, b)));
            let widest = leave.max_by_key(|l| l.0).zip(split.join);
            gone.extend(widest.map(|((scope, at), from)| Gone { scope, at, from }));
        }
        self.gone_ahead(graph, &leaving, &mut gone);
        self.exec = self.live.clone();
        for scope in PARTIAL {
            let mut seen: EntitySet<Block> = EntitySet::new();
            let from = gone.iter().filter(|gone| gone.scope == scope);
            let mut work: Vec<(Block, Block)> = from.map(|gone| (gone.at, gone.from)).collect();
            while let Some((at, b)) = work.pop() {
                if seen.insert(b) {
                    self.exec[b] = self.exec[b].max(Some(scope));
                    if scope == Scope::Lane && self.partial[b].is_none() {
                        self.partial[b] = Some(Reason::Left { at });
                    }
                    work.extend(cfg.succs(b).iter().map(|&to| (at, to)));
                }
            }
        }
    }

    /// Notes that `b` runs with the lanes that `branch` lets through.
    fn mark(&mut self, b: Block, scope: Scope, branch: Block) {
        if scope > Scope::Grid {
            self.live[b] = self.live[b].max(Some(scope));
            if scope == Scope::Lane && self.partial[b].is_none() {
                self.partial[b] = Some(Reason::Separated { branch });
            }
        }
    }

    /// The scope at which the branch of `b`, which is ahead, separates lanes.
    fn split_ahead(&self, b: Block) -> Option<Scope> {
        let scope = self.state.branch_scope[b].filter(|&s| s > Scope::Grid)?;
        (self.state.spans.span(b) == Span::Ahead).then_some(scope)
    }

    fn mark_ahead(&mut self, graph: &Graph<'_>) {
        let cfg = graph.cfg;
        let mut reaches: SecondaryMap<Block, [Option<Reach>; 3]> = SecondaryMap::new();
        for &b in cfg.rpo() {
            let own = self.split_ahead(b);
            let depth = self.state.spans.depth(b);
            let up = self.state.spans.above(graph, b);
            let join = graph.joins.of(b);
            for (i, scope) in PARTIAL.into_iter().enumerate() {
                let around = reaches[b][i].filter(|r| r.limit < depth);
                if let Some(reach) = around {
                    self.mark(b, scope, reach.branch);
                    if let Some(up) = up {
                        further(&mut reaches[up][i], reach);
                    }
                }
                let branch = match own == Some(scope) {
                    true => Some(b),
                    false => around.map(|r| r.branch),
                };
                let Some(branch) = branch.filter(|_| cfg.branches(b)) else {
                    continue;
                };
                for &to in cfg.succs(b).iter().filter(|&&to| Some(to) != join) {
                    let limit = self.state.spans.limit(graph, b, to);
                    further(&mut reaches[to][i], Reach { limit, branch });
                }
            }
        }
    }

    /// Adds the joins of branches ahead in whose regions lanes leave.
    fn gone_ahead(
        &self,
        graph: &Graph<'_>,
        leaving: &SecondaryMap<Block, Option<Scope>>,
        gone: &mut Vec<Gone>,
    ) {
        let (cfg, spans) = (graph.cfg, &self.state.spans);
        let mut leaves: SecondaryMap<Block, [Leaves; 3]> = SecondaryMap::new();
        for &b in cfg.rpo().iter().rev() {
            let above = spans.above(graph, b);
            let mut here = above.map_or_else(Default::default, |up| leaves[up]);
            let join = graph.joins.of(b);
            for (i, scope) in PARTIAL.into_iter().enumerate() {
                let inside = |&to: &Block| {
                    let limit = spans.limit(graph, b, to);
                    let until = join.filter(|_| limit > 0);
                    let until = until.map_or(0, |j| leaves[j][i].count);
                    let there = leaves[to][i];
                    let some = Some(to) != join && there.count > until;
                    there.first.filter(|_| some)
                };
                let ahead = spans.span(b) == Span::Ahead;
                let inside = cfg.succs(b).iter().filter(|_| ahead).find_map(inside);
                if let (Some(at), Some(_), Some(from)) = (inside, self.split_ahead(b), join) {
                    gone.push(Gone { scope, at, from });
                }
                let own = (leaving[b] == Some(scope)).then_some(b);
                if let Some(first) = own.or(inside) {
                    here[i] = Leaves {
                        count: here[i].count + 1,
                        first: Some(first),
                    };
                }
            }
            leaves[b] = here;
        }
    }

    /// Marks the loops that lanes leave one by one. Who leaves the function in one is
    /// missing behind it, as behind any block.
    fn mark_loops(&mut self, graph: &Graph<'_>) {
        let loops = &graph.loops;
        let mut widest: SecondaryMap<LoopId, Option<(Scope, Block)>> = SecondaryMap::new();
        for l in loops.ids() {
            let own = self.state.loop_splits[l];
            let around = loops.parent(l).and_then(|p| widest[p]);
            widest[l] = wider(around, own);
        }
        for &b in graph.cfg.rpo() {
            if let Some((scope, branch)) = loops.loop_of(b).and_then(|l| widest[l]) {
                self.mark(b, scope, branch);
            }
        }
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

/// Keeps the reach that goes further up.
fn further(old: &mut Option<Reach>, new: Reach) {
    if old.is_none_or(|old| new.limit < old.limit) {
        *old = Some(new);
    }
}

/// The one of wider scope.
fn wider(a: Option<(Scope, Block)>, b: Option<(Scope, Block)>) -> Option<(Scope, Block)> {
    a.into_iter().chain(b).max_by_key(|of| of.0)
}
