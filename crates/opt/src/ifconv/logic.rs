//! What guards are computed by: conditions, equality tests on switch indices,
//! and one predicate operation for every conjunction of two signed predicates.
//!
//! A literal is a predicate with a sign. As `and`, `or` and `andn` cost the
//! same, every conjunction and disjunction of two literals is one `And`
//! operation with signs; equal operations have one number, so a guard and its
//! opposite share their operations. A guard is computed as its diagram reads:
//! `x and rest`, `x or rest` where one way is constant, otherwise a sum of
//! products. Tests come in order, each in front of what is only meaningful
//! where it allows it, so that in Kleene's logic a condition that was never
//! computed is hidden.

use smallvec::SmallVec;

use super::guards::{GuardId, Guards, Ways};
use super::scratch::Small;

/// An operation of one region's logic.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct OpId(pub u32);

/// The result of an operation, or its opposite.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Literal {
    /// The operation.
    pub op: OpId,
    /// Whether its opposite is meant.
    pub negated: bool,
}

impl std::ops::Not for Literal {
    type Output = Self;

    fn not(self) -> Self {
        Self {
            negated: !self.negated,
            ..self
        }
    }
}

/// A predicate that is computed, or needs not be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Truth {
    /// The same in every lane.
    Known(bool),
    /// Computed.
    Literal(Literal),
}

impl std::ops::Not for Truth {
    type Output = Self;

    fn not(self) -> Self {
        match self {
            Self::Known(b) => Self::Known(!b),
            Self::Literal(l) => Self::Literal(!l),
        }
    }
}

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum OpKind {
    /// The condition of a test; there already.
    Condition {
        /// Which test.
        test: u32,
    },
    /// Whether a switch takes an edge: a comparison of its index.
    Takes {
        /// Which test.
        test: u32,
        /// Which edge.
        edge: u32,
    },
    /// Both hold.
    And(Literal, Literal),
}

/// One operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Op {
    /// What it does.
    pub kind: OpKind,
    /// The first of the region's bodies in front of which it can be computed.
    pub ready: u32,
    /// The body in front of which it is computed, if it is: the first that may
    /// have a use for it.
    pub point: u32,
    /// Whether what is emitted is its opposite: of two opposites both hold where
    /// their `or` does not.
    pub flipped: bool,
}

/// A test of a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TestShape {
    /// Its edges.
    pub edges: u32,
    /// Whether it is a switch.
    pub is_switch: bool,
    /// The first body in front of which its outcome is known.
    pub ready: u32,
}

/// A set of operations of one region.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ops(SmallVec<[u64; 2]>);

impl Ops {
    /// Whether an operation is in it.
    pub fn has(&self, op: OpId) -> bool {
        let word = self.0.get(op.0 as usize / 64);
        word.is_some_and(|w| w >> (op.0 % 64) & 1 == 1)
    }

    /// Puts an operation in; whether it was not there.
    pub fn insert(&mut self, op: OpId) -> bool {
        let (word, bit) = (op.0 as usize / 64, 1 << (op.0 % 64));
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        let fresh = self.0[word] & bit == 0;
        self.0[word] |= bit;
        fresh
    }

    /// The operations in it, in order.
    pub fn iter(&self) -> impl Iterator<Item = OpId> + '_ {
        (0..).zip(&self.0).flat_map(|(word, &bits)| {
            let mut bits = bits;
            std::iter::from_fn(move || {
                let bit = (bits != 0).then(|| bits.trailing_zeros())?;
                bits &= bits - 1;
                Some(OpId(word * 64 + bit))
            })
        })
    }
}

/// The operations of one region.
#[derive(Clone, Debug, Default)]
pub struct Logic {
    ops: SmallVec<[Op; 2]>,
}

/// Finds out by which operations guards are computed, one region after the
/// other.
#[derive(Clone, Debug, Default)]
pub struct Names {
    names: Small<OpKind, OpId>,
    /// By guard.
    of: Vec<Option<Truth>>,
    tests: Vec<TestShape>,
}

impl Names {
    /// Forgets all, and begins with the tests of another region.
    pub fn begin(&mut self, tests: impl Iterator<Item = TestShape>) {
        self.names.clear();
        self.of.clear();
        self.tests.clear();
        self.tests.extend(tests);
    }
}

impl Logic {
    /// An operation.
    pub fn op(&self, id: OpId) -> Op {
        self.ops[id.0 as usize]
    }

    /// Whether the predicate that is emitted for a literal is its opposite.
    pub fn emits_opposite(&self, l: Literal) -> bool {
        self.op(l.op).flipped != l.negated
    }

    /// Number of operations.
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// Puts into `needed` all that a predicate is computed by, conditions
    /// included.
    pub fn close(&self, truth: Truth, needed: &mut Ops) {
        let mut work: SmallVec<[OpId; 8]> = SmallVec::new();
        if let Truth::Literal(l) = truth {
            work.push(l.op);
        }
        while let Some(op) = work.pop() {
            if needed.insert(op)
                && let OpKind::And(a, b) = self.op(op).kind
            {
                work.extend([a.op, b.op]);
            }
        }
    }

    /// Notes that a predicate may be of use in front of body `k` or in it.
    pub fn place(&mut self, truth: Truth, k: u32) {
        let mut used = Ops::default();
        self.close(truth, &mut used);
        for op in used.iter() {
            let op = &mut self.ops[op.0 as usize];
            op.point = op.point.min(k);
        }
    }

    /// How a guard is computed.
    pub fn compute(&mut self, names: &mut Names, guards: &mut Guards, g: GuardId) -> Truth {
        match g {
            GuardId::NEVER => return Truth::Known(false),
            GuardId::ALWAYS => return Truth::Known(true),
            _ => {}
        }
        if let Some(&Some(known)) = names.of.get(g.index()) {
            return known;
        }
        let opposite = guards.not(g);
        // Of a guard and its opposite one is computed.
        let truth = if opposite < g {
            !self.compute(names, guards, opposite)
        } else {
            match guards.test(g) {
                Some((test, ways)) => {
                    let ways = ways.clone();
                    self.decide(names, guards, test, &ways)
                }
                None => Truth::Known(false),
            }
        };
        if names.of.len() <= g.index() {
            names.of.resize(g.index() + 1, None);
        }
        names.of[g.index()] = Some(truth);
        truth
    }

    fn decide(&mut self, names: &mut Names, guards: &mut Guards, test: u32, ways: &Ways) -> Truth {
        // Edges by what is behind them.
        let mut groups: SmallVec<[(GuardId, SmallVec<[u32; 4]>); 2]> = SmallVec::new();
        for (edge, &way) in ways.iter().enumerate() {
            match groups.iter_mut().find(|(g, _)| *g == way) {
                Some((_, edges)) => edges.push(edge as u32),
                None => groups.push((way, SmallVec::from_slice(&[edge as u32]))),
            }
        }
        if let [(a, edges), (b, _)] = groups.as_slice() {
            let x = self.takes_any(names, test, edges);
            let (a, b) = (
                self.compute(names, guards, *a),
                self.compute(names, guards, *b),
            );
            return match (a, b) {
                (Truth::Known(true), b) => self.or(names, x, b),
                (Truth::Known(false), b) => self.and(names, !x, b),
                (a, Truth::Known(true)) => self.or(names, !x, a),
                (a, Truth::Known(false)) => self.and(names, x, a),
                (a, b) => {
                    let (a, b) = (self.and(names, x, a), self.and(names, !x, b));
                    self.or(names, a, b)
                }
            };
        }
        let mut sum = Truth::Known(false);
        for (way, edges) in &groups {
            if *way != GuardId::NEVER {
                let x = self.takes_any(names, test, edges);
                let rest = self.compute(names, guards, *way);
                let product = self.and(names, x, rest);
                sum = self.or(names, sum, product);
            }
        }
        sum
    }

    /// Whether a test takes any of these edges.
    fn takes_any(&mut self, names: &mut Names, test: u32, edges: &[u32]) -> Truth {
        let shape = names.tests[test as usize];
        if !shape.is_switch {
            let op = self.name(names, OpKind::Condition { test });
            let holds = edges.contains(&0);
            return Truth::Literal(Literal {
                op,
                negated: !holds,
            });
        }
        let rest: SmallVec<[u32; 8]> = (0..shape.edges).filter(|e| !edges.contains(e)).collect();
        let (listed, negated) = match rest.len() < edges.len() {
            true => (rest.as_slice(), true),
            false => (edges, false),
        };
        let mut any = Truth::Known(false);
        for &edge in listed {
            let op = self.name(names, OpKind::Takes { test, edge });
            any = self.or(names, any, Truth::Literal(Literal { op, negated: false }));
        }
        if negated { !any } else { any }
    }

    fn and(&mut self, names: &mut Names, a: Truth, b: Truth) -> Truth {
        let (a, b) = match (a, b) {
            (Truth::Known(true), x) | (x, Truth::Known(true)) => return x,
            (Truth::Known(false), _) | (_, Truth::Known(false)) => return Truth::Known(false),
            (Truth::Literal(a), Truth::Literal(b)) => (a, b),
        };
        if a == b {
            return Truth::Literal(a);
        }
        if a == !b {
            return Truth::Known(false);
        }
        let op = self.name(names, OpKind::And(a.min(b), a.max(b)));
        Truth::Literal(Literal { op, negated: false })
    }

    fn or(&mut self, names: &mut Names, a: Truth, b: Truth) -> Truth {
        !self.and(names, !a, !b)
    }

    fn name(&mut self, names: &mut Names, kind: OpKind) -> OpId {
        if let Some(&known) = names.names.get(&kind) {
            return known;
        }
        let ready = match kind {
            OpKind::Condition { test } | OpKind::Takes { test, .. } => {
                names.tests[test as usize].ready
            }
            OpKind::And(a, b) => self.op(a.op).ready.max(self.op(b.op).ready),
        };
        let flipped = match kind {
            OpKind::Condition { .. } | OpKind::Takes { .. } => false,
            OpKind::And(a, b) => self.emits_opposite(a) && self.emits_opposite(b),
        };
        let id = OpId(self.ops.len() as u32);
        self.ops.push(Op {
            kind,
            ready,
            point: u32::MAX,
            flipped,
        });
        names.names.insert(kind, id);
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_way(ready: u32) -> TestShape {
        TestShape {
            edges: 2,
            is_switch: false,
            ready,
        }
    }

    #[test]
    fn a_guard_and_its_opposite_share_one_operation() {
        let mut g = Guards::default();
        let (mut logic, mut names) = (Logic::default(), Names::default());
        names.begin([two_way(0), two_way(1)].into_iter());
        let (p, q) = (g.edge(0, 0, 2), g.edge(1, 0, 2));
        let pq = g.and(p, q);
        let other = g.not(pq);
        let (a, b) = (
            logic.compute(&mut names, &mut g, pq),
            logic.compute(&mut names, &mut g, other),
        );
        assert_eq!(a, !b);
        // Two conditions and one conjunction.
        assert_eq!(logic.len(), 3);
        let Truth::Literal(l) = a else {
            panic!("it is computed")
        };
        assert_eq!(logic.op(l.op).ready, 1);
        let mut needed = Ops::default();
        logic.close(a, &mut needed);
        assert_eq!(needed.iter().collect::<Vec<_>>(), [0, 1, 2].map(OpId));
    }

    #[test]
    fn most_entries_of_a_switch_are_all_but_the_rest() {
        let mut g = Guards::default();
        let shape = TestShape {
            edges: 5,
            is_switch: true,
            ready: 0,
        };
        let (mut logic, mut names) = (Logic::default(), Names::default());
        names.begin([shape].into_iter());
        let entries: Vec<GuardId> = (0..5).map(|e| g.edge(0, e, 5)).collect();
        let four = entries[..4].iter().fold(GuardId::NEVER, |a, &b| g.or(a, b));
        let truth = logic.compute(&mut names, &mut g, four);
        assert_eq!(logic.len(), 1, "{logic:?}");
        let default = logic.compute(&mut names, &mut g, entries[4]);
        assert_eq!(truth, !default);
    }
}
