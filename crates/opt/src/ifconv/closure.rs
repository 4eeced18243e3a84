//! Choosing what is worth its shared costs.
//!
//! Each of several things has a gain and needs some operations, which cost
//! something and are paid for once however many things need them. The best choice
//! is a maximum closure, found as a minimum cut (Picard, "Maximal Closure of a
//! Graph and Applications to Combinatorial Problems", 1976); augmenting paths are
//! found breadth first (Edmonds and Karp, 1972). Among the best choices it is the
//! smallest. The graphs have a few dozen nodes.

use std::collections::VecDeque;

use smallvec::SmallVec;

/// Something to choose.
#[derive(Clone, Debug)]
pub struct Project {
    /// What it gains, above zero.
    pub gain: i64,
    /// The operations it needs.
    pub needs: SmallVec<[usize; 4]>,
}

struct Network {
    /// Edges out of each node, as positions in `edges`.
    out: Vec<Vec<usize>>,
    /// Target and what is left of the capacity; each edge is followed by its
    /// opposite.
    edges: Vec<(usize, i64)>,
}

impl Network {
    fn edge(&mut self, from: usize, to: usize, capacity: i64) {
        self.out[from].push(self.edges.len());
        self.edges.push((to, capacity));
        self.out[to].push(self.edges.len());
        self.edges.push((from, 0));
    }

    /// By which edge each node is reached from `source` first; `None` where it
    /// is not.
    fn reach(&self, source: usize) -> Vec<Option<usize>> {
        let mut by = vec![None; self.out.len()];
        let mut seen = vec![false; self.out.len()];
        seen[source] = true;
        let mut work = VecDeque::from([source]);
        while let Some(at) = work.pop_front() {
            for &e in &self.out[at] {
                let (to, left) = self.edges[e];
                if left > 0 && !seen[to] {
                    seen[to] = true;
                    by[to] = Some(e);
                    work.push_back(to);
                }
            }
        }
        by
    }
}

/// Which projects to choose, for the greatest sum of gains less the costs of
/// all operations needed.
pub fn choose(projects: &[Project], costs: &[i64]) -> SmallVec<[bool; 4]> {
    // Where nothing is shared each is worth it or not by itself.
    let mut shared: SmallVec<[bool; 8]> = SmallVec::from_elem(false, costs.len());
    let mut needs = projects.iter().flat_map(|p| &p.needs);
    if !needs.any(|&op| std::mem::replace(&mut shared[op], true)) {
        let cost = |p: &Project| -> i64 { p.needs.iter().map(|&op| costs[op]).sum() };
        return projects.iter().map(|p| p.gain > cost(p)).collect();
    }
    let (source, sink) = (0, 1);
    let op = |i: usize| 2 + i;
    let project = |i: usize| 2 + costs.len() + i;
    let mut network = Network {
        out: vec![Vec::new(); 2 + costs.len() + projects.len()],
        edges: Vec::new(),
    };
    for (i, &cost) in costs.iter().enumerate() {
        network.edge(op(i), sink, cost);
    }
    for (i, p) in projects.iter().enumerate() {
        network.edge(source, project(i), p.gain);
        for &need in &p.needs {
            network.edge(project(i), op(need), i64::MAX);
        }
    }
    loop {
        let by = network.reach(source);
        let mut path = Vec::new();
        let mut at = sink;
        while let Some(e) = by[at] {
            path.push(e);
            at = network.edges[e ^ 1].0;
        }
        let Some(flow) = path.iter().map(|&e| network.edges[e].1).min() else {
            // What is still reached is chosen.
            return (0..projects.len())
                .map(|i| by[project(i)].is_some())
                .collect();
        };
        for e in path {
            network.edges[e].1 -= flow;
            let back = &mut network.edges[e ^ 1].1;
            *back = back.saturating_add(flow);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against all choices, on small drawn problems.
    #[test]
    fn no_other_choice_is_better() {
        let mut state = 7u64;
        let mut draw = |n: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % n
        };
        for _ in 0..300 {
            let ops = 1 + draw(5) as usize;
            let costs: Vec<i64> = (0..ops).map(|_| draw(8) as i64).collect();
            let projects: Vec<Project> = (0..1 + draw(6))
                .map(|_| Project {
                    gain: 1 + draw(9) as i64,
                    needs: (0..ops).filter(|_| draw(2) == 0).collect(),
                })
                .collect();
            let value = |chosen: &dyn Fn(usize) -> bool| {
                let mut paid = vec![false; ops];
                let mut sum = 0;
                for (i, p) in projects.iter().enumerate().filter(|(i, _)| chosen(*i)) {
                    let _ = i;
                    sum += p.gain;
                    p.needs.iter().for_each(|&n| paid[n] = true);
                }
                let paid = paid.iter().zip(&costs).filter(|(p, _)| **p);
                sum - paid.map(|(_, c)| c).sum::<i64>()
            };
            let chosen = choose(&projects, &costs);
            let best = (0..1u32 << projects.len())
                .map(|set| value(&|i| set >> i & 1 == 1))
                .max();
            assert_eq!(Some(value(&|i| chosen[i])), best, "{projects:?} {costs:?}");
        }
    }

    #[test]
    fn a_tie_is_not_chosen() {
        let project = Project {
            gain: 3,
            needs: SmallVec::from_slice(&[0]),
        };
        assert_eq!(choose(&[project], &[3]).as_slice(), [false]);
    }
}
