//! Canonical guards: which lanes of a region's head come to a block, as a
//! function of the tests on the way.
//!
//! A guard is a reduced ordered decision diagram (Bryant, "Graph-Based
//! Algorithms for Boolean Function Manipulation", 1986) with one variable per
//! test, in topological order, and as many ways out of a node as the test has
//! edges, so that the entries of a switch exclude and exhaust each other by
//! construction. Equal guards have equal names: `p or !p` is [`ALWAYS`], `(p and
//! q) or (p and !q)` is `p`, and whether one guard implies another, excludes it,
//! or several leave nothing over, is one comparison.
//!
//! The guard of a block is a piece of the graph turned upside down, so it has
//! no more nodes than the region has tests on the way. Recursion goes as deep
//! as there are tests, of which [legality](super::legality) admits few.
//!
//! [`ALWAYS`]: GuardId::ALWAYS

use smallvec::SmallVec;

use super::scratch::Small;

/// The name of a guard; equal guards of one region have equal names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct GuardId(u32);

impl GuardId {
    /// Holds in no lane of the head.
    pub const NEVER: Self = Self(0);
    /// Holds in every lane of the head.
    pub const ALWAYS: Self = Self(1);

    /// Its number among the guards of its region.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The ways out of a node, by edge of its test.
pub type Ways = SmallVec<[GuardId; 2]>;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Node {
    test: u32,
    ways: Ways,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Operation {
    And,
    Restrict,
}

/// The guards of one region.
#[derive(Clone, Debug)]
pub struct Guards {
    nodes: Vec<Node>,
    names: Small<Node, GuardId>,
    done: Small<(Operation, GuardId, GuardId), Option<GuardId>>,
    /// By guard: its opposite, once that was asked for.
    negations: Vec<Option<GuardId>>,
}

impl Default for Guards {
    fn default() -> Self {
        let leaf = |n| Node {
            test: u32::MAX,
            ways: SmallVec::from_slice(&[GuardId(n)]),
        };
        Self {
            nodes: vec![leaf(0), leaf(1)],
            names: Small::default(),
            done: Small::default(),
            negations: vec![Some(GuardId::ALWAYS), Some(GuardId::NEVER)],
        }
    }
}

impl Guards {
    /// Forgets all guards, for another region to begin with.
    pub fn clear(&mut self) {
        self.nodes.truncate(2);
        self.negations.truncate(2);
        self.names.clear();
        self.done.clear();
    }

    /// The test that `g` looks at first, and the guard behind each of its
    /// edges; `None` for guards that look at none.
    pub fn test(&self, g: GuardId) -> Option<(u32, &Ways)> {
        let node = &self.nodes[g.0 as usize];
        (node.test != u32::MAX).then_some((node.test, &node.ways))
    }

    fn node(&mut self, test: u32, ways: Ways) -> GuardId {
        if ways.iter().all(|w| *w == ways[0]) {
            return ways[0];
        }
        let node = Node { test, ways };
        if let Some(&known) = self.names.get(&node) {
            return known;
        }
        let name = GuardId(self.nodes.len() as u32);
        self.nodes.push(node.clone());
        self.negations.push(None);
        self.names.insert(node, name);
        name
    }

    /// Where test number `test`, which has `edges`, takes edge `edge`.
    pub fn edge(&mut self, test: u32, edge: u32, edges: u32) -> GuardId {
        let way = |e| match e == edge {
            true => GuardId::ALWAYS,
            false => GuardId::NEVER,
        };
        let ways = (0..edges).map(way).collect();
        self.node(test, ways)
    }

    /// Where both hold.
    pub fn and(&mut self, a: GuardId, b: GuardId) -> GuardId {
        if a == GuardId::NEVER || b == GuardId::NEVER {
            return GuardId::NEVER;
        }
        if a == GuardId::ALWAYS || a == b {
            return b;
        }
        if b == GuardId::ALWAYS {
            return a;
        }
        let key = (Operation::And, a.min(b), a.max(b));
        if let Some(&Some(known)) = self.done.get(&key) {
            return known;
        }
        let test = self.first_test(a, b);
        let (x, y) = (self.ways(a, test), self.ways(b, test));
        let n = x.len().max(y.len());
        let of = |ways: &Ways, i: usize| *ways.get(i).unwrap_or(&ways[0]);
        let mut ways = Ways::new();
        for i in 0..n {
            ways.push(self.and(of(&x, i), of(&y, i)));
        }
        let result = self.node(test, ways);
        self.done.insert(key, Some(result));
        result
    }

    /// Where `a` does not hold.
    pub fn not(&mut self, a: GuardId) -> GuardId {
        if let Some(known) = self.negations[a.0 as usize] {
            return known;
        }
        let Node { test, ways } = self.nodes[a.0 as usize].clone();
        let ways = ways.iter().map(|&w| self.not(w)).collect();
        let result = self.node(test, ways);
        self.negations[a.0 as usize] = Some(result);
        self.negations[result.0 as usize] = Some(a);
        result
    }

    /// Where either holds.
    pub fn or(&mut self, a: GuardId, b: GuardId) -> GuardId {
        match (a, b) {
            (GuardId::NEVER, x) | (x, GuardId::NEVER) => return x,
            (GuardId::ALWAYS, _) | (_, GuardId::ALWAYS) => return GuardId::ALWAYS,
            _ if a == b => return a,
            _ if self.negations[a.index()] == Some(b) => return GuardId::ALWAYS,
            _ => {}
        }
        let (x, y) = (self.not(a), self.not(b));
        let neither = self.and(x, y);
        self.not(neither)
    }

    /// Whether `b` holds wherever `a` does.
    pub fn implies(&mut self, a: GuardId, b: GuardId) -> bool {
        let not_b = self.not(b);
        self.disjoint(a, not_b)
    }

    /// Whether no lane has both.
    pub fn disjoint(&mut self, a: GuardId, b: GuardId) -> bool {
        self.and(a, b) == GuardId::NEVER
    }

    /// Whether every lane has one of them.
    pub fn exhaustive(&mut self, all: &[GuardId]) -> bool {
        let any = all.iter().fold(GuardId::NEVER, |a, &b| self.or(a, b));
        any == GuardId::ALWAYS
    }

    /// The same as `a` where `care` holds, and elsewhere whatever makes it
    /// small (Coudert and Madre, "A Unified Framework for the Formal
    /// Verification of Sequential Circuits", 1990).
    pub fn restrict(&mut self, a: GuardId, care: GuardId) -> GuardId {
        self.restricted(a, care).unwrap_or(GuardId::NEVER)
    }

    /// `None` where nothing is cared about.
    fn restricted(&mut self, a: GuardId, care: GuardId) -> Option<GuardId> {
        if care == GuardId::NEVER {
            return None;
        }
        if care == GuardId::ALWAYS || self.test(a).is_none() {
            return Some(a);
        }
        let key = (Operation::Restrict, a, care);
        if let Some(&known) = self.done.get(&key) {
            return known;
        }
        let test = self.first_test(a, care);
        let result = if self.test(a).is_some_and(|(t, _)| t != test) {
            // What `a` does not look at must not come in.
            let ways = self.ways(care, test);
            let any = ways.iter().fold(GuardId::NEVER, |x, &w| self.or(x, w));
            self.restricted(a, any)
        } else {
            let (x, y) = (self.ways(a, test), self.ways(care, test));
            let of = |ways: &Ways, i: usize| *ways.get(i).unwrap_or(&ways[0]);
            let ways: SmallVec<[Option<GuardId>; 2]> = (0..x.len())
                .map(|i| self.restricted(x[i], of(&y, i)))
                .collect();
            let free = ways.iter().flatten().next().copied();
            free.map(|free| {
                let ways = ways.iter().map(|w| w.unwrap_or(free)).collect();
                self.node(test, ways)
            })
        };
        self.done.insert(key, result);
        result
    }

    fn first_test(&self, a: GuardId, b: GuardId) -> u32 {
        let of = |g: GuardId| self.nodes[g.0 as usize].test;
        of(a).min(of(b))
    }

    /// The guard behind each edge of a test; one for all if `g` does not look
    /// at it.
    fn ways(&self, g: GuardId, test: u32) -> Ways {
        let node = &self.nodes[g.0 as usize];
        match node.test == test {
            true => node.ways.clone(),
            false => SmallVec::from_slice(&[g]),
        }
    }
}

#[cfg(test)]
mod tests {
    use hashbrown::HashMap;

    use super::*;

    #[test]
    fn equal_guards_have_one_name() {
        let mut g = Guards::default();
        let (p, q) = (g.edge(0, 0, 2), g.edge(1, 0, 2));
        let (not_p, not_q) = (g.not(p), g.not(q));
        assert_eq!(not_p, g.edge(0, 1, 2));
        assert_eq!(g.or(p, not_p), GuardId::ALWAYS);
        assert_eq!(g.and(p, not_p), GuardId::NEVER);
        let (pq, p_not_q) = (g.and(p, q), g.and(p, not_q));
        assert_eq!(g.or(pq, p_not_q), p);
        // The else side of `p && q`.
        let other = g.or(not_p, p_not_q);
        assert_eq!(g.not(other), pq);
        assert!(g.implies(pq, p) && !g.implies(p, pq));
        assert!(g.disjoint(pq, other) && !g.disjoint(p, other));
        assert!(g.exhaustive(&[pq, other]) && !g.exhaustive(&[p, q]));
        // Among the lanes of the else side those of `p && !q` are those of p.
        assert_eq!(g.restrict(p_not_q, other), p);
        assert_eq!(g.restrict(pq, p), q);
        assert_eq!(g.restrict(p, GuardId::NEVER), GuardId::NEVER);
    }

    #[test]
    fn entries_of_a_switch_exclude_and_exhaust_each_other() {
        let mut g = Guards::default();
        let entries: Vec<GuardId> = (0..4).map(|e| g.edge(0, e, 4)).collect();
        assert!(g.disjoint(entries[0], entries[3]));
        assert!(g.exhaustive(&entries) && !g.exhaustive(&entries[..3]));
        let two = g.or(entries[1], entries[2]);
        assert!(g.implies(entries[1], two));
        // Entries that cannot be follow the first that can.
        let not_2 = g.not(entries[2]);
        assert_eq!(g.restrict(entries[1], two), not_2);
    }

    /// Against truth tables: guards of three tests with two, three and two
    /// edges.
    #[test]
    fn operations_are_those_of_sets() {
        let edges = [2u32, 3, 2];
        let mut g = Guards::default();
        let mut all = vec![GuardId::NEVER, GuardId::ALWAYS];
        for (t, &n) in edges.iter().enumerate() {
            all.extend((0..n).map(|e| g.edge(t as u32, e, n)));
        }
        for i in 0..all.len() {
            for j in 0..i {
                let (a, b) = (all[i], all[j]);
                let both = g.and(a, b);
                let either = g.or(a, both);
                let more = g.not(b);
                let last = g.or(more, a);
                all.extend([both, either, last]);
            }
            if all.len() > 150 {
                break;
            }
        }
        let points: Vec<[u32; 3]> = (0..12).map(|i| [i % 2, i / 2 % 3, i / 6]).collect();
        let holds = |g: &Guards, mut a: GuardId, at: &[u32; 3]| {
            while let Some((test, ways)) = g.test(a) {
                a = ways[at[test as usize] as usize];
            }
            a == GuardId::ALWAYS
        };
        let mut names: HashMap<Vec<bool>, GuardId> = HashMap::new();
        for &a in &all {
            let set: Vec<bool> = points.iter().map(|p| holds(&g, a, p)).collect();
            assert_eq!(*names.entry(set).or_insert(a), a, "two names for one set");
        }
        for &a in &all {
            for &b in &all {
                let (and, or, not) = (g.and(a, b), g.or(a, b), g.not(a));
                let restricted = g.restrict(a, b);
                for p in &points {
                    let (x, y) = (holds(&g, a, p), holds(&g, b, p));
                    assert_eq!(holds(&g, and, p), x && y);
                    assert_eq!(holds(&g, or, p), x || y);
                    assert_eq!(holds(&g, not, p), !x);
                    assert!(!y || holds(&g, restricted, p) == x);
                }
            }
        }
    }
}
