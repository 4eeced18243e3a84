//! Where the nodes, labels and edges of a graph go: a layered layout after
//! Sugiyama, Tagawa and Toda ("Methods for Visual Understanding of Hierarchical
//! System Structures", 1981).
//!
//! 1. *Layers* by longest path over the forward edges; what leaves a loop stands
//!    below all of it.
//! 2. Between two layers of nodes is a layer for the labels of edges. An edge
//!    passes every layer between its ends through an *item* of its own, so that
//!    nothing is drawn across a node or a label; its first item holds its label.
//!    An edge that leads back passes through the layers from its target to its
//!    source; the item at its source holds its label.
//! 3. *Order* in a layer by barycentres, sweeping down and up; the order with
//!    the fewest crossings is kept. Edges that lead back stand to the right of
//!    their loop.
//! 4. *Positions* by least squares: each item is drawn to the mean of its
//!    neighbours in the layer above or below, and keeps its distance from those
//!    beside it. That is an isotonic regression, solved exactly by pooling
//!    adjacent violators.
//!
//! Labels are items, and items of a layer keep apart, and layers do not overlap:
//! so no two boxes ever do. Everything is deterministic; ties keep the order of
//! the input.

mod order;
mod positions;
mod routes;

use super::scene::{Bounds, Step};

/// Between items of nodes or labels.
const GAP: f64 = 16.0;
/// Between anything and a mere line.
const LINE_GAP: f64 = 9.0;
/// From a node to what is below it, and to what is above it.
const BELOW: f64 = 16.0;
const ABOVE: f64 = 22.0;
/// Height of a horizontal stretch of an edge that leads back.
const TRACK: f64 = 8.0;
/// Least height of a layer of labels.
const BETWEEN: f64 = 8.0;
/// Sweeps for the order, and for positions: those that look one way, then those
/// that look both ways.
const SWEEPS: usize = 24;
const SETTLE: usize = 120;

/// An edge to be laid out.
#[derive(Clone, Debug)]
pub(super) struct EdgeIn {
    pub from: usize,
    pub to: usize,
    /// It leads up or stays in its layer. The nodes of its loop.
    pub back: Option<Vec<usize>>,
    /// Size of its label.
    pub label: Option<(f64, f64)>,
    /// How much it draws its ends together.
    pub pull: f64,
}

/// A graph to be laid out.
#[derive(Clone, Debug, Default)]
pub(super) struct Input {
    /// Sizes of the nodes, in an order in which forward edges lead forward.
    pub nodes: Vec<(f64, f64)>,
    pub edges: Vec<EdgeIn>,
    /// The first node is to stand above the second one.
    pub above: Vec<(usize, usize)>,
}

/// Where everything goes.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    pub width: f64,
    pub height: f64,
    pub nodes: Vec<Bounds>,
    /// By edge.
    pub routes: Vec<Vec<Step>>,
    /// By edge.
    pub labels: Vec<Option<Bounds>>,
}

/// Something that takes room in a layer.
#[derive(Clone, Debug)]
struct Item {
    layer: usize,
    w: f64,
    h: f64,
    x: f64,
    /// Its position in its layer.
    place: usize,
    /// Neighbours above and below.
    up: Vec<usize>,
    down: Vec<usize>,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Node(usize),
    /// Part of an edge.
    Forward(usize),
    Back(usize),
}

/// Lays a graph out.
pub(super) fn layout(input: &Input) -> Layout {
    let mut l = Layered::new(input);
    l.order();
    l.positions();
    l.finish()
}

struct Layered<'a> {
    input: &'a Input,
    /// Those of nodes first, by node.
    items: Vec<Item>,
    /// By layer, from left to right.
    layers: Vec<Vec<usize>>,
    /// By edge, from top to bottom.
    chains: Vec<Vec<usize>>,
}

impl<'a> Layered<'a> {
    fn new(input: &'a Input) -> Self {
        let levels = levels(input);
        let mut l = Self {
            input,
            items: Vec::new(),
            layers: vec![Vec::new(); levels.iter().max().map_or(0, |m| 2 * m + 1)],
            chains: Vec::new(),
        };
        for (n, &(w, h)) in input.nodes.iter().enumerate() {
            l.add(2 * levels[n], (w, h), Kind::Node(n));
        }
        for (e, edge) in input.edges.iter().enumerate() {
            let (from, to) = (2 * levels[edge.from], 2 * levels[edge.to]);
            let back = edge.back.is_some();
            let (first, last) = match back {
                true => (to.min(from), from.max(to)),
                // A forward edge leads to a later level.
                false => (from + 1, to.saturating_sub(1)),
            };
            let labelled = if back { last } else { first };
            let mut chain = Vec::new();
            for layer in first..=last {
                let size = match edge.label {
                    Some(size) if layer == labelled => size,
                    _ => (0.0, 0.0),
                };
                let kind = if back {
                    Kind::Back(e)
                } else {
                    Kind::Forward(e)
                };
                let item = l.add(layer, size, kind);
                if let Some(&above) = chain.last() {
                    l.link(above, item);
                }
                chain.push(item);
            }
            if let (false, Some(&a), Some(&b)) = (back, chain.first(), chain.last()) {
                l.link(edge.from, a);
                l.link(b, edge.to);
            }
            l.chains.push(chain);
        }
        l
    }

    fn add(&mut self, layer: usize, (w, h): (f64, f64), kind: Kind) -> usize {
        let id = self.items.len();
        let place = self.layers[layer].len();
        self.items.push(Item {
            layer,
            w,
            h,
            x: 0.0,
            place,
            up: Vec::new(),
            down: Vec::new(),
            kind,
        });
        self.layers[layer].push(id);
        id
    }

    fn link(&mut self, above: usize, below: usize) {
        self.items[above].down.push(below);
        self.items[below].up.push(above);
    }
}

/// The level of each node: the longest way to it.
fn levels(input: &Input) -> Vec<usize> {
    let forward = input.edges.iter().filter(|e| e.back.is_none());
    let forward: Vec<(usize, usize)> = forward.map(|e| (e.from, e.to)).collect();
    let all = [&forward[..], &input.above].concat();
    // Forward edges alone are never at odds.
    longest(input.nodes.len(), all)
        .or_else(|| longest(input.nodes.len(), forward))
        .unwrap_or_else(|| vec![0; input.nodes.len()])
}

/// The longest way to each node by these edges; `None` if they go round.
fn longest(nodes: usize, mut pairs: Vec<(usize, usize)>) -> Option<Vec<usize>> {
    let mut levels = vec![0; nodes];
    pairs.sort_unstable();
    // One round is enough but for what leads to something earlier.
    for _ in 0..=nodes {
        let mut changed = false;
        for &(a, b) in &pairs {
            if levels[b] <= levels[a] {
                levels[b] = levels[a] + 1;
                changed = true;
            }
        }
        if !changed {
            return Some(levels);
        }
    }
    None
}

#[cfg(test)]
mod tests;
