//! Which branches head an if-region, and its interior.
//!
//! The interior of a region is a piece of the dominator tree: what the branch
//! *h* dominates, less what the join *j* dominates if *h* dominates *j*; then
//! *h* is the immediate dominator of *j*, because a block between them would
//! post-dominate *h* earlier. So *h* heads a region iff of this piece
//!
//! 1. every edge out of it goes to *j* (not back to *h*, not elsewhere);
//! 2. no edge from below *j* leads back into it;
//! 3. no loop is entered in it. A cycle inside would be in a loop; take the
//!    innermost that holds all of it: either *h* is not in that loop, and an
//!    entry of it is in the piece; or *h* is, and the cycle avoids its header.
//!
//! For 1 every subtree hands up, of the blocks that edges lead to from inside
//! and that it does not properly dominate, the two with the shallowest
//! immediate dominators: if any but *j* is left at *h*, one of the two is. 2 is
//! one comparison per edge; 3 is a range query. Blocks are kept in preorder of
//! the dominator tree, children in topological order and the join last, which is
//! a topological order of every region's interior and makes each interior a
//! range. So all regions together take linear space and near-linear time,
//! however deep they nest.

use cranelift_entity::SecondaryMap;
use warpfold_ir::{Block, Terminator};

use crate::cfg::Cfg;
use crate::domtree::DomTree;
use crate::joins::Joins;
use crate::loops::Loops;
use crate::regions::NoRegion;

/// An edge by the topological numbers of its ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Way {
    /// Depth of the target's immediate dominator; the entry has depth 1.
    depth: u32,
    to: u32,
    from: u32,
}

/// The two least ways with different targets.
#[derive(Clone, Copy, Default)]
struct LeastTwo([Option<Way>; 2]);

impl LeastTwo {
    fn add(&mut self, way: Way) {
        let [first, second] = &mut self.0;
        match first {
            None => *first = Some(way),
            Some(f) if f.to == way.to => *f = way.min(*f),
            Some(f) if way < *f => *second = first.replace(way),
            Some(_) => match second {
                Some(s) if *s <= way => {}
                _ => *second = Some(way),
            },
        }
    }
}

/// The dominator tree with what is asked of it. Blocks go by their numbers in
/// topological order.
pub(crate) struct Tree {
    topo: Vec<Block>,
    number: SecondaryMap<Block, u32>,
    /// Blocks in preorder, joins last among their siblings.
    pub(crate) order: Vec<Block>,
    /// Place in `order`, by number.
    place: Vec<u32>,
    /// Blocks dominated, by number.
    size: Vec<u32>,
    idom: Vec<u32>,
    /// By head: the edges out of what it dominates before its join.
    leaving: Vec<LeastTwo>,
    /// By head whose join it dominates: an edge from behind the join to a
    /// block before it.
    returning: Vec<Option<Way>>,
}

const NONE: u32 = u32::MAX;

impl Tree {
    pub(crate) fn new<'f>(
        cfg: &Cfg,
        joins: &Joins,
        dom: &DomTree,
        term: impl Fn(Block) -> Option<&'f Terminator>,
    ) -> Self {
        let topo = cfg.topological();
        let n = topo.len();
        let mut number = SecondaryMap::with_default(NONE);
        for (i, &b) in topo.iter().enumerate() {
            number[b] = i as u32;
        }
        let idom: Vec<u32> = topo
            .iter()
            .map(|&b| dom.idom(b).map_or(NONE, |d| number[d]))
            .collect();
        let mut size = vec![1u32; n];
        let mut depth = vec![1u32; n];
        for i in (1..n).rev() {
            size[idom[i] as usize] += size[i];
        }
        for i in 1..n {
            depth[i] = depth[idom[i] as usize] + 1;
        }
        let mut child_join = vec![NONE; n];
        for (i, &b) in topo.iter().enumerate() {
            if term(b).is_some_and(Terminator::is_conditional)
                && let Some(join) = joins.of(b).map(|j| number[j])
                && idom[join as usize] == i as u32
            {
                child_join[i] = join;
            }
        }

        let plain = places(&idom, &size, &vec![NONE; n]);
        let below = |a: u32, b: u32| {
            let first = plain[a as usize];
            (first..first + size[a as usize]).contains(&plain[b as usize])
        };
        let mut leaving = vec![LeastTwo::default(); n];
        let mut behind = vec![LeastTwo::default(); n];
        let mut returning: Vec<Option<Way>> = vec![None; n];
        for i in (0..n).rev() {
            let from = i as u32;
            for to in cfg.succs(topo[i]).iter().map(|&s| number[s]) {
                let d = idom[to as usize];
                let way = Way {
                    depth: if d == NONE { 0 } else { depth[d as usize] },
                    to,
                    from,
                };
                if way.depth < depth[i] {
                    leaving[i].add(way);
                }
                if d != NONE
                    && child_join[d as usize] != NONE
                    && child_join[d as usize] != to
                    && below(child_join[d as usize], from)
                {
                    let slot = &mut returning[d as usize];
                    *slot = Some(slot.map_or(way, |w| w.min(way)));
                }
            }
            // Everything below `i` has been handed up already.
            let p = idom[i];
            if p == NONE {
                continue;
            }
            let up = [leaving[i], behind[i]];
            let into = if child_join[p as usize] == from {
                &mut behind[p as usize]
            } else {
                &mut leaving[p as usize]
            };
            for way in up.iter().flat_map(|l| l.0).flatten() {
                if way.depth < depth[p as usize] {
                    into.add(way);
                }
            }
        }

        // Putting a join last keeps the order topological only if nothing
        // behind it leads to a sibling.
        for (d, back) in returning.iter().enumerate() {
            if back.is_some() {
                child_join[d] = NONE;
            }
        }
        let place = places(&idom, &size, &child_join);
        let mut order = topo.clone();
        for (i, &b) in topo.iter().enumerate() {
            order[place[i] as usize] = b;
        }
        Self {
            topo,
            number,
            order,
            place,
            size,
            idom,
            leaving,
            returning,
        }
    }

    /// Join and interior (a range of places) of the region that `head` heads.
    pub(crate) fn interior(
        &self,
        cfg: &Cfg,
        joins: &Joins,
        loops: &Loops,
        next_loop_entry: &[u32],
        head: Block,
    ) -> Result<(Block, u32, u32), NoRegion> {
        let Some(join) = joins.of(head) else {
            return Err(NoRegion::NoJoin);
        };
        if join == head {
            return Err(NoRegion::Cycle { block: head });
        }
        let ends = joins.ends();
        let entered = |block, from| {
            if ends.home(block) == ends.home(head) {
                NoRegion::SideEntry { block, from }
            } else {
                NoRegion::LeavesElsewhere { block, from }
            }
        };
        let (h, j) = (self.number[head], self.number[join]);
        let out = self.leaving[h as usize].0.into_iter().flatten();
        if let Some(way) = out.into_iter().find(|w| w.to != j) {
            let block = self.topo[way.to as usize];
            // If the join dominates the branch, the way round passes it.
            let round = self.dominates(way.to, h) && !self.dominates(j, h);
            if way.to == h || round {
                return Err(NoRegion::Cycle { block });
            }
            let mut preds = cfg.preds(block).iter().map(|e| e.from);
            let from = preds
                .find(|&p| !self.dominates(h, self.number[p]))
                .unwrap_or(self.topo[way.from as usize]);
            return Err(entered(block, from));
        }
        let start = self.place[h as usize] + 1;
        let mut end = start - 1 + self.size[h as usize];
        if self.idom[j as usize] == h {
            if let Some(way) = self.returning[h as usize] {
                let block = self.topo[way.to as usize];
                let from = self.topo[way.from as usize];
                return Err(entered(block, from));
            }
            end = self.place[j as usize];
        }
        let entry = next_loop_entry[start as usize];
        if entry < end {
            let block = self.order[entry as usize];
            let inner = loops.loop_of(block);
            return Err(NoRegion::Cycle {
                block: inner.map_or(block, |l| loops.header(l)),
            });
        }
        Ok((join, start, end))
    }

    fn dominates(&self, a: u32, b: u32) -> bool {
        let first = self.place[a as usize];
        (first..first + self.size[a as usize]).contains(&self.place[b as usize])
    }
}

/// Preorder places of the dominator tree, children in topological order but
/// the one named by `last` at the end.
fn places(idom: &[u32], size: &[u32], last: &[u32]) -> Vec<u32> {
    let mut place = vec![0; idom.len()];
    let mut next = vec![1; idom.len()];
    for i in 1..idom.len() {
        let p = idom[i] as usize;
        if last[p] == i as u32 {
            place[i] = place[p] + size[p] - size[i];
        } else {
            place[i] = next[p];
            next[p] += size[i];
        }
        next[i] = place[i] + 1;
    }
    place
}
