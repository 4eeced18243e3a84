//! Independent thread scheduling: which lanes run a block together.
//!
//! A loop that [yields](crate::yields) lets lanes past its join one after another, and
//! so may a callee that waits in one. From there on any lane may be away: no block that
//! follows runs with all lanes of any scope. Nor does the join of a branch between
//! which and the join lanes may wait, even where none that waits ever comes to it: of a
//! side that returns early the others are ahead as soon as it yields.
//!
//! What the lanes of a group hold is another matter, and stays as it was. Groups merge
//! only at the join of a branch that they came to together. What they executed apart
//! between the two counts as separated there already, whether the branch itself
//! separated them or one behind it whose join let some of them pass early.

use cranelift_entity::{EntitySet, SecondaryMap};
use warpfold_ir::{Block, Function};

use super::{Graph, Reason, Scope, Uniformity};
use crate::yields::{Yields, writes_memory};

impl Uniformity {
    /// Takes back what is said of blocks that lanes may come to one after another.
    pub(super) fn find_yields(&mut self, func: &Function, graph: &Graph<'_>, called: bool) {
        let insts = func.laid_out_insts();
        let calls = insts.filter(|&(_, i)| func.inst(i).op.effects().calls);
        let mut starts: Vec<Block> = calls.map(|(b, _)| b).collect();
        let written = called || !starts.is_empty() || writes_memory(func);
        let yields = Yields::new(func, graph.cfg, &graph.loops, written);
        for &l in yields.loops() {
            starts.extend(graph.loops.blocks(l));
        }
        let ahead = joins_ahead(graph, &starts);
        let mut seen: EntitySet<Block> = EntitySet::new();
        let mut work: Vec<(Block, Block)> = starts.into_iter().map(|b| (b, b)).collect();
        work.extend(ahead);
        while let Some((at, b)) = work.pop() {
            if seen.insert(b) {
                self.live[b] = Some(Scope::Lane);
                self.exec[b] = Some(Scope::Lane);
                self.partial[b].get_or_insert(Reason::Waited { at });
                // Each group that comes may split.
                self.tails[b] = false;
                work.extend(graph.cfg.succs(b).iter().map(|&to| (at, to)));
            }
        }
    }
}

/// Each join of a branch from which lanes may come to one of the blocks `starts`
/// without passing it, with that block.
fn joins_ahead(graph: &Graph<'_>, starts: &[Block]) -> Vec<(Block, Block)> {
    let cfg = graph.cfg;
    let mut waits: EntitySet<Block> = EntitySet::new();
    for &b in starts {
        waits.insert(b);
    }
    // Branches that lead to no such block need no search.
    let mut leads: EntitySet<Block> = EntitySet::new();
    let mut back: Vec<Block> = starts.to_vec();
    while let Some(b) = back.pop() {
        if leads.insert(b) {
            back.extend(cfg.preds(b).iter().map(|edge| edge.from));
        }
    }
    let mut found = Vec::new();
    let mut passed: SecondaryMap<Block, u32> = SecondaryMap::new();
    for (search, &branch) in (1..).zip(cfg.rpo()) {
        let Some(join) = graph.joins.of(branch).filter(|_| leads.contains(branch)) else {
            continue;
        };
        passed[join] = search;
        let mut work: Vec<Block> = vec![branch];
        while let Some(b) = work.pop() {
            if waits.contains(b) {
                found.push((b, join));
                break;
            }
            for &to in cfg.succs(b) {
                if leads.contains(to) && passed[to] != search {
                    passed[to] = search;
                    work.push(to);
                }
            }
        }
    }
    found
}
