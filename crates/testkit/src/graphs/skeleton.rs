//! The graph: successors of numbered blocks, any of them.

use warpfold::ir::dominators::{Dominators, Graph};

use crate::generate::Bytes;

/// A graph of blocks; 0 is the entry, and nothing leads there.
pub(super) struct Skeleton {
    /// Targets of each block, in order, repeated ones among them.
    pub succs: Vec<Vec<usize>>,
    /// The blocks that the entry reaches, in reverse postorder.
    pub order: Vec<usize>,
    /// Immediate dominators.
    pub above: Vec<Option<usize>>,
    /// A loop that counts, from header to latch, if there is one.
    pub counted: Option<(usize, usize)>,
}

pub(super) fn draw(bytes: &mut Bytes<'_>) -> Skeleton {
    let n = 3 + bytes.below(9);
    let mut succs: Vec<Vec<usize>> = Vec::new();
    for i in 0..n {
        let count = bytes.pick(&[1, 2, 2, 2, 1, 2, 3, 2, 0, 2, 0, 4]);
        let last = i + 1 == n;
        let count = match count {
            0 | 1 if i == 0 => 2,
            0 if bytes.chance(128) => 1,
            _ if last && bytes.chance(200) => 0,
            _ if last && bytes.byte() == 0 => 0,
            count => count,
        };
        let mut to: Vec<usize> = Vec::new();
        for edge in 0..count {
            let on = i + 1 < n;
            let target = match bytes.below(4) {
                0 | 1 if edge == 0 && on => i + 1,
                0 if on => i + 1 + bytes.below(n - 1 - i),
                1 if edge > 1 => to[0],
                _ => 1 + bytes.below(n - 1),
            };
            to.push(target);
        }
        succs.push(to);
    }
    // Most graphs get a loop whose body hangs together and whose latch
    // counts, whatever else may happen on the way.
    let counted = bytes.chance(180).then(|| {
        let head = 1 + bytes.below(n - 2);
        (head, head + bytes.below(n - 1 - head))
    });
    if let Some((head, latch)) = counted {
        for (i, to) in succs.iter_mut().enumerate().take(latch).skip(head - 1) {
            match to.first_mut() {
                Some(first) => *first = i + 1,
                None => to.push(i + 1),
            }
        }
        succs[latch] = vec![head, latch + 1];
    }
    let edges: Vec<(u32, u32)> = succs
        .iter()
        .enumerate()
        .flat_map(|(i, s)| s.iter().map(move |&t| (i as u32, t as u32)))
        .collect();
    let graph = Graph::new(n, &edges);
    let dominators = Dominators::new(&graph, 0);
    let above = (0..n as u32)
        .map(|b| dominators.idom(b).map(|d| d as usize))
        .collect();
    let order = graph.reverse_postorder(0).into_iter().map(|b| b as usize);
    Skeleton {
        order: order.collect(),
        above,
        counted,
        succs,
    }
}
