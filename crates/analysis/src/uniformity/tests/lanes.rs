//! Two lanes under the parked contract, by its definition.
//!
//! **Definition.** A hierarchy of cycles (`hierarchy.rs`) gives every pass of a block a
//! name: the block and, for each cycle around it, how often the lane has passed the
//! header since it came into the cycle. Two lanes make a pass together if both make
//! one of that name (LLVM, "Convergence and Uniformity", maximal convergence; the
//! reducible case is Rosemann, Moll and Hack, POPL 2021, after Karrenberg and Hack). A
//! value is uniform at a block if no two lanes that make a pass of it together hold
//! different numbers in it.
//!
//! **Method.** All pairs of paths that can be: lanes that pass a branch together and
//! agree on its condition take one edge, otherwise any two. Numbers are terms: what
//! lanes read together is one number that nothing else is, what each lane has for
//! itself is a number of its own, and an instruction makes of equal terms equal ones.
//! The lane that is behind, by the order of names, goes on first, so that lanes whose
//! paths share a pass make it at one time. Only who is ahead is kept of the counts,
//! and of the numbers which are equal; so there are finitely many states, but for
//! terms that grow, which are cut off.
//!
//! What is found to differ does; what is not found to differ is uniform if nothing
//! was [cut](Found::cut).

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashSet};

use super::hierarchy::{Hierarchy, Makes, Place, Program};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Base {
    Given(usize),
    Atom(u32),
}

/// A number: the instructions applied to something, one after the other.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Term(Base, Vec<usize>);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Lane {
    at: usize,
    counts: Vec<u8>,
    /// What is visible at the start of the block.
    holds: Vec<Option<Term>>,
}

impl Lane {
    fn place(&self) -> Place<'_> {
        (self.at, &self.counts)
    }
}

/// What two lanes can do.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// The value and the block where lanes that are there together differ.
    pub differs: BTreeSet<(usize, usize)>,
    /// The blocks that one lane passes without the other, which waits elsewhere.
    pub waits: BTreeSet<usize>,
    /// The blocks that one lane passes without the other, which waits or has left.
    pub apart: BTreeSet<usize>,
    /// The blocks that lanes come to.
    pub passed: BTreeSet<usize>,
    /// Whether not everything was looked at.
    pub cut: bool,
}

/// Instructions applied to one number.
const LONGEST: usize = 4;

struct Pair<'a> {
    program: &'a Program,
    hierarchy: &'a Hierarchy,
    /// By block: the values that its passes may use, without its own instructions'.
    visible: Vec<Vec<usize>>,
    found: Found,
}

/// Follows two lanes along all pairs of paths, through `most` states.
pub(super) fn follow(program: &Program, hierarchy: &Hierarchy, most: usize) -> Found {
    let visible = (0..program.blocks.len())
        .map(|b| {
            let strictly =
                |v: &usize| program.def[*v] != b && program.dominates(program.def[*v], b);
            let above = (0..program.def.len()).filter(strictly);
            let given = (0..=program.given).filter(|_| b == 0);
            above
                .chain(given)
                .chain(program.blocks[b].params.iter().copied())
                .collect()
        })
        .collect();
    let mut pair = Pair {
        program,
        hierarchy,
        visible,
        found: Found::default(),
    };
    let lane = |n: u32| {
        let mut holds = vec![None; program.def.len()];
        for (v, held) in holds.iter_mut().enumerate().take(program.given) {
            *held = Some(Term(Base::Given(v), Vec::new()));
        }
        holds[program.given] = Some(Term(Base::Atom(n), Vec::new()));
        Some(Lane {
            at: 0,
            counts: Vec::new(),
            holds,
        })
    };
    let start = [lane(0), lane(1)];
    let mut seen = HashSet::from([start.clone()]);
    let mut work = vec![start];
    while let Some(state) = work.pop() {
        for next in pair.step(state) {
            if seen.len() >= most {
                pair.found.cut = true;
                break;
            }
            if seen.insert(next.clone()) {
                work.push(next);
            }
        }
    }
    pair.found
}

type State = [Option<Lane>; 2];

impl Pair<'_> {
    fn step(&mut self, state: State) -> Vec<State> {
        let [a, b] = state;
        match (a, b) {
            (None, None) => Vec::new(),
            (Some(lane), None) | (None, Some(lane)) => {
                self.found.apart.extend(self.program.reach(lane.at, None));
                Vec::new()
            }
            (Some(a), Some(b)) => match self.hierarchy.compare(a.place(), b.place()).0 {
                Ordering::Equal => self.together(a, b),
                Ordering::Less => self.alone(a, &b, |a, b| [a, b]),
                Ordering::Greater => self.alone(b, &a, |b, a| [a, b]),
            },
        }
    }

    /// One lane passes its block, and the other waits.
    fn alone(
        &mut self,
        mut lane: Lane,
        other: &Lane,
        order: fn(Option<Lane>, Option<Lane>) -> State,
    ) -> Vec<State> {
        self.found.waits.insert(lane.at);
        self.found.apart.insert(lane.at);
        self.found.passed.insert(lane.at);
        let mut fresh = self.fresh(&[&lane, other]);
        for &(v, makes) in &self.program.blocks[lane.at].insts {
            lane.holds[v] = match makes {
                Makes::Shared | Makes::Own => {
                    fresh += 1;
                    Some(Term(Base::Atom(fresh), Vec::new()))
                }
                Makes::Of(x) => self.apply(v, &lane, x),
            };
        }
        let edges = self.program.blocks[lane.at].edges.len();
        let ways: Vec<_> = match edges {
            0 => vec![None],
            _ => (0..edges).map(|e| Some(self.go(&lane, e))).collect(),
        };
        let states = ways.into_iter().map(|way| order(way, Some(other.clone())));
        states.filter_map(|s| self.canonical(s)).collect()
    }

    fn together(&mut self, mut a: Lane, mut b: Lane) -> Vec<State> {
        let at = a.at;
        let block = &self.program.blocks[at];
        self.found.passed.insert(at);
        let mut fresh = self.fresh(&[&a, &b]);
        let mut next = || {
            fresh += 1;
            Some(Term(Base::Atom(fresh), Vec::new()))
        };
        for &(v, makes) in &block.insts {
            match makes {
                Makes::Shared => {
                    a.holds[v] = next();
                    b.holds[v] = a.holds[v].clone();
                }
                Makes::Own => {
                    a.holds[v] = next();
                    b.holds[v] = next();
                }
                Makes::Of(x) => {
                    a.holds[v] = self.apply(v, &a, x);
                    b.holds[v] = self.apply(v, &b, x);
                }
            }
        }
        let own = block.insts.iter().map(|i| i.0);
        for v in self.visible[at].iter().copied().chain(own) {
            if a.holds[v] != b.holds[v] {
                self.found.differs.insert((v, at));
            }
        }
        let edges = 0..block.edges.len();
        let agree = block.cond.is_none_or(|c| a.holds[c] == b.holds[c]);
        let mut states = Vec::new();
        for x in edges.clone() {
            for y in edges.clone().filter(|&y| x == y || !agree) {
                let state = [Some(self.go(&a, x)), Some(self.go(&b, y))];
                states.extend(self.canonical(state));
            }
        }
        states
    }

    fn apply(&self, v: usize, lane: &Lane, x: usize) -> Option<Term> {
        let mut term = lane.holds[x].clone().expect("a visible operand");
        term.1.push(v);
        Some(term)
    }

    fn fresh(&self, lanes: &[&Lane]) -> u32 {
        let terms = lanes.iter().flat_map(|l| l.holds.iter().flatten());
        let atoms = terms.filter_map(|t| match t.0 {
            Base::Atom(n) => Some(n),
            Base::Given(_) => None,
        });
        atoms.max().unwrap_or(0)
    }

    /// The lane past edge `e` of its block.
    fn go(&self, lane: &Lane, e: usize) -> Lane {
        let (to, args) = &self.program.blocks[lane.at].edges[e];
        let mut holds = vec![None; lane.holds.len()];
        for &v in &self.visible[*to] {
            holds[v] = lane.holds[v].clone();
        }
        for (&p, &arg) in self.program.blocks[*to].params.iter().zip(args) {
            holds[p] = lane.holds[arg].clone();
        }
        Lane {
            at: *to,
            counts: self.hierarchy.counts(lane.at, &lane.counts, *to),
            holds,
        }
    }

    /// The state with as little in it as matters; nothing if a term grew too long.
    fn canonical(&mut self, mut state: State) -> Option<State> {
        let mut names: Vec<u32> = Vec::new();
        for term in state
            .iter_mut()
            .flatten()
            .flat_map(|l| l.holds.iter_mut().flatten())
        {
            if term.1.len() > LONGEST {
                self.found.cut = true;
                return None;
            }
            if let Base::Atom(n) = &mut term.0 {
                let known = names.iter().position(|m| m == n);
                *n = known.unwrap_or_else(|| {
                    names.push(*n);
                    names.len() - 1
                }) as u32;
            }
        }
        if let [Some(a), Some(b)] = &mut state {
            let (order, depth) = self.hierarchy.compare(a.place(), b.place());
            let (behind, ahead) = match order {
                Ordering::Greater => (b, a),
                _ => (a, b),
            };
            // Counts tell who is ahead in the cycles that both are in; the one behind
            // comes to no other that the one ahead is in but from outside.
            for (i, count) in behind.counts.iter_mut().enumerate() {
                match ahead.counts.get_mut(i) {
                    Some(other) if i < depth => {
                        let lead = *other - *count;
                        (*count, *other) = (0, lead);
                    }
                    _ => *count = 0,
                }
            }
        }
        Some(state)
    }
}
