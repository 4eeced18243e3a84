//! Dominators against their definition: `a` dominates `b` if the root reaches
//! `b`, and no longer does when `a` is taken away.

use proptest::prelude::*;
use warpfold_ir::dominators::{Dominators, Graph};

/// The nodes that `root` reaches without passing `without`.
fn reachable(n: usize, edges: &[(u32, u32)], root: u32, without: Option<u32>) -> Vec<bool> {
    let mut seen = vec![false; n];
    if without == Some(root) {
        return seen;
    }
    seen[root as usize] = true;
    let mut changed = true;
    while changed {
        changed = false;
        for &(from, to) in edges {
            if seen[from as usize] && !seen[to as usize] && without != Some(to) {
                seen[to as usize] = true;
                changed = true;
            }
        }
    }
    seen
}

fn check(n: usize, edges: &[(u32, u32)], root: u32) {
    let dominators = Dominators::new(&Graph::new(n, edges), root);
    let reached = reachable(n, edges, root, None);
    // strict[b][a]: `a` is another node and dominates `b`.
    let mut strict = vec![vec![false; n]; n];
    for a in 0..n as u32 {
        let left = reachable(n, edges, root, Some(a));
        for b in 0..n as u32 {
            let (i, j) = (a as usize, b as usize);
            let expected = a == b || (reached[j] && !left[j] && reached[i]);
            assert_eq!(
                dominators.dominates(a, b),
                expected,
                "{a} over {b} in {edges:?}"
            );
            strict[j][i] = expected && a != b;
        }
    }
    for b in 0..n as u32 {
        let j = b as usize;
        assert_eq!(dominators.is_reachable(b), reached[j]);
        // The immediate one is the strict dominator that all others dominate.
        let expected = (0..n)
            .find(|&a| strict[j][a] && (0..n).all(|c| !strict[j][c] || c == a || strict[a][c]))
            .map(|a| a as u32);
        assert_eq!(dominators.idom(b), expected, "idom of {b} in {edges:?}");
    }
}

fn graphs() -> impl Strategy<Value = (usize, Vec<(u32, u32)>, u32)> {
    (1usize..14).prop_flat_map(|n| {
        let node = 0..n as u32;
        let edges = prop::collection::vec((node.clone(), node.clone()), 0..3 * n);
        (Just(n), edges, node)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn equal_the_definition((n, edges, root) in graphs()) {
        check(n, &edges, root);
    }
}

/// The graph on which semidominators differ from dominators (figure 1 of
/// Lengauer and Tarjan's paper), with its published tree.
#[test]
fn the_example_of_the_paper() {
    let names = "RABCDEFGHIJKL";
    let index = |c: char| names.find(c).expect("a node") as u32;
    let edges: Vec<_> = "RA RB RC AD BA BD BE CF CG DL EH FI GI GJ HE HK IK JI KI KR LH"
        .split(' ')
        .map(|e| {
            let mut ends = e.chars().map(index);
            (ends.next().expect("from"), ends.next().expect("to"))
        })
        .collect();
    let dominators = Dominators::new(&Graph::new(names.len(), &edges), 0);
    let idoms: String = names
        .chars()
        .skip(1)
        .map(|c| {
            let d = dominators.idom(index(c)).expect("reachable");
            names.chars().nth(d as usize).expect("a node")
        })
        .collect();
    assert_eq!(idoms, "RRRRRCCRRGRD");
    check(names.len(), &edges, 0);
}

/// A long chain of early exits to one node, and a deep loop nest: both must
/// take next to no time.
#[test]
fn large_graphs_are_fast() {
    let n = 200_000u32;
    let mut edges: Vec<_> = (0..n - 2).flat_map(|i| [(i, n - 1), (i, i + 1)]).collect();
    edges.extend((1..n - 2).rev().map(|i| (n - 2, i)));
    let start = std::time::Instant::now();
    let dominators = Dominators::new(&Graph::new(n as usize, &edges), 0);
    assert_eq!(dominators.idom(n - 1), Some(0));
    assert_eq!(dominators.idom(n - 2), Some(n - 3));
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}
