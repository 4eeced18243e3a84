//! Immediate dominators of a rooted graph: the algorithm of Lengauer and
//! Tarjan ("A Fast Algorithm for Finding Dominators in a Flowgraph", 1979) with
//! path compression, in O(m log n). The iterative algorithm of Cooper, Harvey
//! and Kennedy is shorter, but quadratic on a mere chain of guard clauses with
//! one shared exit.
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
    #[inline]
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
        let n = graph.len();
        let walk = Walk::new(graph, root);
        let idom = walk.immediate_dominators(&graph.reversed());
        let mut by_node: Vec<u32> = (0..n as u32).collect();
        for (i, &node) in walk.order.iter().enumerate() {
            by_node[node as usize] = walk.order[idom[i] as usize];
        }
        let (pre, last) = tree_numbers(n, root, &walk.order, &by_node);
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
    #[inline]
    pub fn is_reachable(&self, node: u32) -> bool {
        self.pre[node as usize] != 0
    }

    /// Whether every path from the root to `b` passes `a`. Nodes dominate
    /// themselves; unreachable nodes nothing else.
    #[inline]
    pub fn dominates(&self, a: u32, b: u32) -> bool {
        let (a, b) = (a as usize, b as usize);
        a == b
            || (self.pre[a] != 0
                && self.pre[b] != 0
                && self.pre[a] <= self.pre[b]
                && self.pre[b] <= self.last[a])
    }
}

/// Stands for no node.
const NONE: u32 = u32::MAX;

/// A depth-first walk: nodes in preorder, which also numbers them.
struct Walk {
    order: Vec<u32>,
    /// Each node's number, or [`NONE`] if it was not reached.
    number: Vec<u32>,
    /// By number: the number of the node that each was first reached from.
    parent: Vec<u32>,
}

impl Walk {
    fn new(graph: &Graph, root: u32) -> Self {
        let mut walk = Self {
            order: vec![root],
            number: vec![NONE; graph.len()],
            parent: vec![0],
        };
        walk.number[root as usize] = 0;
        let mut stack = vec![(root, 0usize)];
        while let Some((node, next)) = stack.last_mut() {
            let from = *node;
            let Some(&to) = graph.successors(from).get(*next) else {
                stack.pop();
                continue;
            };
            *next += 1;
            if walk.number[to as usize] == NONE {
                walk.number[to as usize] = walk.order.len() as u32;
                walk.parent.push(walk.number[from as usize]);
                walk.order.push(to);
                stack.push((to, 0));
            }
        }
        walk
    }

    /// The immediate dominator of each node reached, all by number; the
    /// root's is the root.
    fn immediate_dominators(&self, preds: &Graph) -> Vec<u32> {
        let n = self.order.len();
        let mut forest = Forest::new(n);
        let mut idom = vec![0; n];
        // The nodes with one semidominator, as linked lists.
        let (mut bucket, mut next_in_bucket) = (vec![NONE; n], vec![NONE; n]);
        for w in (1..n).rev() {
            for &p in preds.successors(self.order[w]) {
                let p = self.number[p as usize];
                if p != NONE {
                    let best = forest.best(p);
                    forest.semi[w] = forest.semi[w].min(forest.semi[best as usize]);
                }
            }
            let semi = forest.semi[w] as usize;
            next_in_bucket[w] = std::mem::replace(&mut bucket[semi], w as u32);
            let parent = self.parent[w];
            forest.ancestor[w] = parent;
            let mut v = std::mem::replace(&mut bucket[parent as usize], NONE);
            while v != NONE {
                let best = forest.best(v);
                let deeper = forest.semi[best as usize] < forest.semi[v as usize];
                idom[v as usize] = if deeper { best } else { parent };
                v = next_in_bucket[v as usize];
            }
        }
        for w in 1..n {
            if idom[w] != forest.semi[w] {
                idom[w] = idom[idom[w] as usize];
            }
        }
        idom
    }
}

/// The part of the depth-first tree whose nodes are done, with paths to its
/// roots compressed as they are asked for.
struct Forest {
    semi: Vec<u32>,
    ancestor: Vec<u32>,
    /// The node of lowest semidominator on the compressed part of the path.
    label: Vec<u32>,
    path: Vec<u32>,
}

impl Forest {
    fn new(n: usize) -> Self {
        let own: Vec<u32> = (0..n as u32).collect();
        Self {
            semi: own.clone(),
            ancestor: vec![NONE; n],
            label: own,
            path: Vec::new(),
        }
    }

    /// The node of lowest semidominator from `v` up to its tree's root,
    /// which does not count unless it is `v`.
    fn best(&mut self, v: u32) -> u32 {
        let mut at = v;
        while self.ancestor[at as usize] != NONE {
            self.path.push(at);
            at = self.ancestor[at as usize];
        }
        // The topmost hangs on the root already.
        self.path.pop();
        while let Some(x) = self.path.pop() {
            let x = x as usize;
            let above = self.ancestor[x] as usize;
            if self.semi[self.label[above] as usize] < self.semi[self.label[x] as usize] {
                self.label[x] = self.label[above];
            }
            self.ancestor[x] = self.ancestor[above];
        }
        self.label[v as usize]
    }
}

fn tree_numbers(n: usize, root: u32, order: &[u32], idom: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let edges: Vec<_> = order
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
