//! Programs as graphs, and the ways to take their cycles apart.
//!
//! A hierarchy of cycles takes a graph apart: of each maximal strongly connected set
//! one entry is the header, and the sets that are left without it are taken apart
//! likewise, their entries counted from within the set around. A depth-first walk
//! finds one (see `loops.rs`); here are all. A reducible graph has one only.

use std::cmp::Ordering;
use std::collections::BTreeSet;

/// A program: its blocks, the first the entry. Values are numbered.
#[derive(Clone, Debug, Default)]
pub(super) struct Program {
    pub blocks: Vec<Node>,
    /// The block of each value's definition.
    pub def: Vec<usize>,
    /// Values that lanes have from the start: uniform ones, and one that differs.
    pub given: usize,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    pub params: Vec<usize>,
    pub insts: Vec<(usize, Makes)>,
    /// What decides among several edges.
    pub cond: Option<usize>,
    pub edges: Vec<(usize, Vec<usize>)>,
}

/// What an instruction gives.
#[derive(Clone, Copy, Debug)]
pub(super) enum Makes {
    /// Another number each time, the same for all lanes that are there.
    Shared,
    /// Another number each time for each lane.
    Own,
    /// The same whenever the operand is the same.
    Of(usize),
}

impl Program {
    /// Blocks reachable from `from`, itself included, not through `without`.
    pub fn reach(&self, from: usize, without: Option<usize>) -> BTreeSet<usize> {
        let mut seen = BTreeSet::new();
        let mut work = vec![from];
        while let Some(b) = work.pop() {
            if Some(b) != without && seen.insert(b) {
                work.extend(self.blocks[b].edges.iter().map(|e| e.0));
            }
        }
        seen
    }

    /// Whether every path from the entry to `b` passes `a`.
    pub fn dominates(&self, a: usize, b: usize) -> bool {
        !self.reach(0, Some(a)).contains(&b)
    }
}

/// A block, and how often the headers of the cycles around it were passed.
pub(super) type Place<'a> = (usize, &'a [u8]);

/// A hierarchy of cycles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Hierarchy {
    /// By block: the cycles around it, outermost first.
    cycles: Vec<Vec<usize>>,
    /// By block: the position among what is left of each of those, and of the graph
    /// before.
    ranks: Vec<Vec<usize>>,
    headers: Vec<usize>,
    /// Whether some cycle has several entries.
    pub irreducible: bool,
}

impl Hierarchy {
    /// Every hierarchy of a program, but no more than `most`.
    pub fn all(program: &Program, most: usize) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        let mut choices: Vec<(usize, usize)> = Vec::new();
        while all.len() < most {
            let mut h = Self {
                cycles: vec![Vec::new(); program.blocks.len()],
                ranks: vec![Vec::new(); program.blocks.len()],
                ..Self::default()
            };
            let mut made = 0;
            let blocks = program.reach(0, None);
            h.take_apart(program, &blocks, &blocks, &mut |of| {
                if made == choices.len() {
                    choices.push((0, of));
                }
                made += 1;
                choices[made - 1].0
            });
            all.push(h);
            choices.truncate(made);
            while choices.last().is_some_and(|&(c, of)| c + 1 == of) {
                choices.pop();
            }
            match choices.last_mut() {
                Some(last) => last.0 += 1,
                None => break,
            }
        }
        all
    }

    /// Ranks the parts of `blocks`, a cycle without its header or everything, in
    /// topological order, and takes apart those that are cycles. Entries are counted
    /// from within `around`.
    fn take_apart(
        &mut self,
        program: &Program,
        around: &BTreeSet<usize>,
        blocks: &BTreeSet<usize>,
        choose: &mut dyn FnMut(usize) -> usize,
    ) {
        let reach = |from: usize| {
            let mut seen = BTreeSet::new();
            let mut work = vec![from];
            while let Some(b) = work.pop() {
                for &(to, _) in &program.blocks[b].edges {
                    if blocks.contains(&to) && seen.insert(to) {
                        work.push(to);
                    }
                }
            }
            seen
        };
        let mut left = blocks.clone();
        let mut rank = 0;
        while !left.is_empty() {
            // A part that nothing left leads to but itself.
            let leads = |a: usize, b: usize| reach(a).contains(&b);
            let first = |&b: &usize| left.iter().all(|&a| !leads(a, b) || leads(b, a));
            let b = left.iter().copied().find(first).expect("a first part");
            let part: BTreeSet<usize> = (left.iter().copied())
                .filter(|&a| a == b || leads(a, b) && leads(b, a))
                .collect();
            left.retain(|a| !part.contains(a));
            rank += 1;
            for &a in &part {
                self.ranks[a].push(rank);
            }
            if !leads(b, b) {
                continue;
            }
            let from = |outside: &dyn Fn(usize) -> bool, to: usize| {
                let into = |&a: &usize| program.blocks[a].edges.iter().any(|e| e.0 == to);
                (0..program.blocks.len()).filter(into).any(outside)
            };
            let live = program.reach(0, None);
            let enters = |&b: &usize| from(&|a| live.contains(&a) && !part.contains(&a), b);
            self.irreducible |= part.iter().filter(|b| enters(b)).count() > 1;
            let inward = |&b: &usize| from(&|a| around.contains(&a) && !part.contains(&a), b);
            let headers: Vec<usize> = part.iter().copied().filter(inward).collect();
            let header = headers[choose(headers.len())];
            let cycle = self.headers.len();
            self.headers.push(header);
            for &a in &part {
                self.cycles[a].push(cycle);
            }
            self.ranks[header].push(0);
            let body = part.iter().copied().filter(|&a| a != header).collect();
            self.take_apart(program, &part, &body, choose);
        }
    }

    /// How often a lane that goes from `a` to `b` has passed the headers of the cycles
    /// around `b`.
    pub fn counts(&self, a: usize, counts: &[u8], b: usize) -> Vec<u8> {
        let around = self.cycles[b].iter().enumerate();
        let stays = |i: usize, cycle: usize| self.cycles[a].get(i) == Some(&cycle);
        around
            .map(|(i, &cycle)| {
                let before = if stays(i, cycle) { counts[i] } else { 0 };
                before + u8::from(self.headers[cycle] == b)
            })
            .collect()
    }

    /// Which place is behind, and at which depth of cycles they differ.
    pub fn compare(&self, a: Place<'_>, b: Place<'_>) -> (Ordering, usize) {
        let (x, y) = (&self.ranks[a.0], &self.ranks[b.0]);
        for depth in 0..x.len().min(y.len()) {
            let by_rank = x[depth].cmp(&y[depth]);
            if by_rank.is_ne() {
                return (by_rank, depth);
            }
            if let (Some(m), Some(n)) = (a.1.get(depth), b.1.get(depth))
                && m != n
            {
                return (m.cmp(n), depth + 1);
            }
        }
        (Ordering::Equal, x.len())
    }
}
