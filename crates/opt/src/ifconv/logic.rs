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

use hashbrown::HashMap;
use smallvec::SmallVec;

use super::guards::{GuardId, Guards, Ways};

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

/// The operations of one region.
#[derive(Clone, Debug, Default)]
pub struct Logic {
    ops: Vec<Op>,
    names: HashMap<OpKind, OpId>,
    of: HashMap<GuardId, Truth>,
    tests: Vec<TestShape>,
}

impl Logic {
    /// No operations yet, for guards over these tests.
    pub fn new(tests: Vec<TestShape>) -> Self {
        Self {
            tests,
            ..Self::default()
        }
    }

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

    /// Marks in `needed` all that a predicate is computed by, conditions
    /// included.
    pub fn close(&self, truth: Truth, needed: &mut Vec<bool>) {
        needed.resize(self.ops.len(), false);
        let mut work: SmallVec<[OpId; 8]> = SmallVec::new();
        if let Truth::Literal(l) = truth {
            work.push(l.op);
        }
        while let Some(op) = work.pop() {
            if std::mem::replace(&mut needed[op.0 as usize], true) {
                continue;
            }
            if let OpKind::And(a, b) = self.op(op).kind {
                work.extend([a.op, b.op]);
            }
        }
    }

    /// Notes that a predicate may be of use in front of body `k` or in it.
    pub fn place(&mut self, truth: Truth, k: u32) {
        let mut used = Vec::new();
        self.close(truth, &mut used);
        for (op, _) in self.ops.iter_mut().zip(&used).filter(|(_, u)| **u) {
            op.point = op.point.min(k);
        }
    }

    /// How a guard is computed.
    pub fn compute(&mut self, guards: &mut Guards, g: GuardId) -> Truth {
        match g {
            GuardId::NEVER => return Truth::Known(false),
            GuardId::ALWAYS => return Truth::Known(true),
            _ => {}
        }
        if let Some(&known) = self.of.get(&g) {
            return known;
        }
        let opposite = guards.not(g);
        // Of a guard and its opposite one is computed.
        let truth = if opposite < g {
            !self.compute(guards, opposite)
        } else {
            match guards.test(g) {
                Some((test, ways)) => {
                    let ways = ways.clone();
                    self.decide(guards, test, &ways)
                }
                None => Truth::Known(false),
            }
        };
        self.of.insert(g, truth);
        truth
    }

    fn decide(&mut self, guards: &mut Guards, test: u32, ways: &Ways) -> Truth {
        // Edges by what is behind them.
        let mut groups: SmallVec<[(GuardId, SmallVec<[u32; 4]>); 2]> = SmallVec::new();
        for (edge, &way) in ways.iter().enumerate() {
            match groups.iter_mut().find(|(g, _)| *g == way) {
                Some((_, edges)) => edges.push(edge as u32),
                None => groups.push((way, SmallVec::from_slice(&[edge as u32]))),
            }
        }
        if let [(a, edges), (b, _)] = groups.as_slice() {
            let x = self.takes_any(test, edges);
            let (a, b) = (self.compute(guards, *a), self.compute(guards, *b));
            return match (a, b) {
                (Truth::Known(true), b) => self.or(x, b),
                (Truth::Known(false), b) => self.and(!x, b),
                (a, Truth::Known(true)) => self.or(!x, a),
                (a, Truth::Known(false)) => self.and(x, a),
                (a, b) => {
                    let (a, b) = (self.and(x, a), self.and(!x, b));
                    self.or(a, b)
                }
            };
        }
        let mut sum = Truth::Known(false);
        for (way, edges) in &groups {
            if *way != GuardId::NEVER {
                let x = self.takes_any(test, edges);
                let rest = self.compute(guards, *way);
                let product = self.and(x, rest);
                sum = self.or(sum, product);
            }
        }
        sum
    }

    /// Whether a test takes any of these edges.
    fn takes_any(&mut self, test: u32, edges: &[u32]) -> Truth {
        let shape = self.tests[test as usize];
        if !shape.is_switch {
            let op = self.name(OpKind::Condition { test });
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
            let op = self.name(OpKind::Takes { test, edge });
            any = self.or(any, Truth::Literal(Literal { op, negated: false }));
        }
        if negated { !any } else { any }
    }

    fn and(&mut self, a: Truth, b: Truth) -> Truth {
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
        let op = self.name(OpKind::And(a.min(b), a.max(b)));
        Truth::Literal(Literal { op, negated: false })
    }

    fn or(&mut self, a: Truth, b: Truth) -> Truth {
        !self.and(!a, !b)
    }

    fn name(&mut self, kind: OpKind) -> OpId {
        if let Some(&known) = self.names.get(&kind) {
            return known;
        }
        let ready = match kind {
            OpKind::Condition { test } | OpKind::Takes { test, .. } => {
                self.tests[test as usize].ready
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
        self.names.insert(kind, id);
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
        let mut logic = Logic::new(vec![two_way(0), two_way(1)]);
        let (p, q) = (g.edge(0, 0, 2), g.edge(1, 0, 2));
        let pq = g.and(p, q);
        let other = g.not(pq);
        let (a, b) = (logic.compute(&mut g, pq), logic.compute(&mut g, other));
        assert_eq!(a, !b);
        // Two conditions and one conjunction.
        assert_eq!(logic.len(), 3);
        let Truth::Literal(l) = a else {
            panic!("it is computed")
        };
        assert_eq!(logic.op(l.op).ready, 1);
        let mut needed = Vec::new();
        logic.close(a, &mut needed);
        assert_eq!(needed, [true; 3]);
    }

    #[test]
    fn most_entries_of_a_switch_are_all_but_the_rest() {
        let mut g = Guards::default();
        let shape = TestShape {
            edges: 5,
            is_switch: true,
            ready: 0,
        };
        let mut logic = Logic::new(vec![shape]);
        let entries: Vec<GuardId> = (0..5).map(|e| g.edge(0, e, 5)).collect();
        let four = entries[..4].iter().fold(GuardId::NEVER, |a, &b| g.or(a, b));
        let truth = logic.compute(&mut g, four);
        assert_eq!(logic.len(), 1, "{logic:?}");
        let default = logic.compute(&mut g, entries[4]);
        assert_eq!(truth, !default);
    }
}
