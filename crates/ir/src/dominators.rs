//! Immediate dominators of a rooted graph: the iterative algorithm of Cooper,
//! Harvey and Kennedy ("A Simple, Fast Dominance Algorithm", 2001) over
//! reverse postorder numbers.
//!
//! Nodes are plain numbers, so the same code serves dominators, and
//! post-dominators of a graph with a virtual exit added and the edges turned
//! round.

/// A graph on nodes `0..n` in compressed form.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    start: Vec<u32>,
    edges: Vec<u32>,
}

impl Graph {
    /// The graph on `n` nodes with these directed edges, each node's kept in
    /// the order given.
    pub fn new(n: usize, edges: &[(u32, u32)]) -> Self {
        let mut start = vec![0u32; n + 1];
        for &(from, _) in edges {
            start[from as usize + 1] += 1;
        }
        for i in 0..n {
            start[i + 1] += start[i];
        }
        let mut next = start.clone();
        let mut targets = vec![0u32; edges.len()];
        for &(from, to) in edges {
            let slot = &mut next[from as usize];
            targets[*slot as usize] = to;
            *slot += 1;
        }
        Self {
            start,
            edges: targets,
        }
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.start.len().saturating_sub(1)
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The targets of `node`'s edges.
    pub fn successors(&self, node: u32) -> &[u32] {
        let node = node as usize;
        &self.edges[self.start[node] as usize..self.start[node + 1] as usize]
    }

    /// The graph with every edge turned round.
    pub fn reversed(&self) -> Self {
        let edges: Vec<_> = (0..self.len() as u32)
            .flat_map(|from| self.successors(from).iter().map(move |&to| (to, from)))
            .collect();
        Self::new(self.len(), &edges)
    }

    /// The nodes reachable from `root`, in reverse postorder of a depth-first
    /// walk that takes edges in order.
    pub fn reverse_postorder(&self, root: u32) -> Vec<u32> {
        let mut seen = vec![false; self.len()];
        let mut order = Vec::new();
        let mut stack = vec![(root, 0usize)];
        seen[root as usize] = true;
        while let Some((node, next)) = stack.last_mut() {
            match self.successors(*node).get(*next) {
                Some(&to) => {
                    *next += 1;
                    if !seen[to as usize] {
                        seen[to as usize] = true;
                        stack.push((to, 0));
                    }
                }
                None => {
                    order.push(*node);
                    stack.pop();
                }
            }
        }
        order.reverse();
        order
    }
}

/// The dominator tree of the nodes reachable from a root.
#[derive(Clone, Debug)]
pub struct Dominators {
    root: u32,
    /// Immediate dominator; the root's and unreachable nodes' is the node itself.
    idom: Vec<u32>,
    /// Preorder and last-descendant numbers of the tree; 0 when unreachable.
    pre: Vec<u32>,
    last: Vec<u32>,
}

impl Dominators {
    /// Computes them for the nodes that `root` reaches.
    pub fn new(graph: &Graph, root: u32) -> Self {
        const UNSET: u32 = u32::MAX;
        let n = graph.len();
        let rpo = graph.reverse_postorder(root);
        let mut number = vec![UNSET; n];
        for (i, &node) in rpo.iter().enumerate() {
            number[node as usize] = i as u32;
        }
        let preds = graph.reversed();
        // In reverse postorder numbers throughout.
        let mut idom = vec![UNSET; rpo.len()];
        idom[0] = 0;
        let mut changed = true;
        while changed {
            changed = false;
            for (i, &node) in rpo.iter().enumerate().skip(1) {
                let mut new = UNSET;
                for &p in preds.successors(node) {
                    let p = number[p as usize];
                    if p == UNSET || idom[p as usize] == UNSET {
                        continue;
                    }
                    new = if new == UNSET {
                        p
                    } else {
                        intersect(&idom, new, p)
                    };
                }
                if idom[i] != new {
                    idom[i] = new;
                    changed = true;
                }
            }
        }
        let mut by_node: Vec<u32> = (0..n as u32).collect();
        for (i, &node) in rpo.iter().enumerate() {
            by_node[node as usize] = rpo[idom[i] as usize];
        }
        let (pre, last) = tree_numbers(n, root, &rpo, &by_node);
        Self {
            root,
            idom: by_node,
            pre,
            last,
        }
    }

    /// The immediate dominator of a reachable node other than the root.
    pub fn idom(&self, node: u32) -> Option<u32> {
        let d = self.idom[node as usize];
        (self.is_reachable(node) && node != self.root).then_some(d)
    }

    /// Whether the root reaches `node`.
    pub fn is_reachable(&self, node: u32) -> bool {
        self.pre[node as usize] != 0
    }

    /// Whether every path from the root to `b` passes `a`. Nodes dominate
    /// themselves; unreachable nodes nothing else.
    pub fn dominates(&self, a: u32, b: u32) -> bool {
        let (a, b) = (a as usize, b as usize);
        a == b
            || (self.pre[a] != 0
                && self.pre[b] != 0
                && self.pre[a] <= self.pre[b]
                && self.pre[b] <= self.last[a])
    }
}

fn intersect(idom: &[u32], mut a: u32, mut b: u32) -> u32 {
    while a != b {
        while a > b {
            a = idom[a as usize];
        }
        while b > a {
            b = idom[b as usize];
        }
    }
    a
}

fn tree_numbers(n: usize, root: u32, rpo: &[u32], idom: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let edges: Vec<_> = rpo
        .iter()
        .filter(|&&v| v != root)
        .map(|&v| (idom[v as usize], v))
        .collect();
    let tree = Graph::new(n, &edges);
    let (mut pre, mut last) = (vec![0; n], vec![0; n]);
    let mut next = 1;
    let mut stack = vec![(root, 0usize)];
    while let Some((node, child)) = stack.last_mut() {
        let at = *node as usize;
        if *child == 0 {
            pre[at] = next;
            next += 1;
        }
        match tree.successors(*node).get(*child) {
            Some(&c) => {
                *child += 1;
                stack.push((c, 0));
            }
            None => {
                last[at] = next - 1;
                stack.pop();
            }
        }
    }
    (pre, last)
}
