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

    /// Whether an item is inside the loop that an edge closes, or leaves it: the
    /// edge stands to the right of both.
    fn inside(&self, item: usize, members: &[usize]) -> bool {
        let has = |n: usize| members.binary_search(&n).is_ok();
        match self.items[item].kind {
            Kind::Node(n) => has(n),
            Kind::Forward(e) => has(self.input.edges[e].from),
            Kind::Back(e) => {
                let edge = &self.input.edges[e];
                has(edge.from) && has(edge.to)
            }
        }
    }

    /// Finds the order in each layer.
    fn order(&mut self) {
        self.sides();
        let mut best = (self.crossings(), self.layers.clone());
        for sweep in 0..SWEEPS {
            let down = sweep % 2 == 0;
            let layers: Vec<usize> = match down {
                true => (0..self.layers.len()).collect(),
                false => (0..self.layers.len()).rev().collect(),
            };
            for layer in layers {
                self.sort(layer, down);
            }
            self.sides();
            let crossings = self.crossings();
            if crossings < best.0 {
                best = (crossings, self.layers.clone());
            }
        }
        self.layers = best.1;
        for layer in 0..self.layers.len() {
            self.number(layer);
        }
    }

    fn number(&mut self, layer: usize) {
        for (place, &item) in self.layers[layer].iter().enumerate() {
            self.items[item].place = place;
        }
    }

    fn sort(&mut self, layer: usize, down: bool) {
        let key = |&i: &usize| {
            let item = &self.items[i];
            let near = if down { &item.up } else { &item.down };
            match near.len() {
                0 => item.place as f64,
                n => {
                    near.iter()
                        .map(|&j| self.items[j].place as f64)
                        .sum::<f64>()
                        / n as f64
                }
            }
        };
        let mut keyed: Vec<(f64, usize)> =
            self.layers[layer].iter().map(|i| (key(i), *i)).collect();
        keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
        self.layers[layer] = keyed.into_iter().map(|(_, i)| i).collect();
        self.number(layer);
    }

    /// Puts edges that lead back to the right of their loops, those of inner
    /// loops first.
    fn sides(&mut self) {
        let mut back: Vec<(usize, usize)> = Vec::new();
        for (e, edge) in self.input.edges.iter().enumerate() {
            if let Some(members) = &edge.back {
                back.push((members.len(), e));
            }
        }
        back.sort_unstable();
        for (_, e) in back {
            let members = self.input.edges[e].back.clone().unwrap_or_default();
            for item in self.chains[e].clone() {
                let layer = self.items[item].layer;
                let mut row = std::mem::take(&mut self.layers[layer]);
                row.retain(|&i| i != item);
                let last = row.iter().rposition(|&i| self.inside(i, &members));
                row.insert(last.map_or(row.len(), |p| p + 1), item);
                self.layers[layer] = row;
                self.number(layer);
            }
        }
    }

    /// Pairs of edges between neighbouring layers that cross.
    fn crossings(&self) -> usize {
        let mut all = 0;
        for layer in &self.layers {
            // Places below, in the order of those above: count inversions.
            let mut tree = vec![0usize; self.items.len() + 2];
            let mut seen = 0;
            for &item in layer {
                let mut below: Vec<usize> = self.items[item]
                    .down
                    .iter()
                    .map(|&j| self.items[j].place)
                    .collect();
                below.sort_unstable();
                for &place in &below {
                    let mut i = place + 1;
                    let mut before = 0;
                    while i > 0 {
                        before += tree[i];
                        i &= i - 1;
                    }
                    all += seen - before;
                }
                for place in below {
                    seen += 1;
                    let mut i = place + 1;
                    while i < tree.len() {
                        tree[i] += 1;
                        i += i & i.wrapping_neg();
                    }
                }
            }
        }
        all
    }

    /// Least distance of the middles of neighbours.
    fn distance(&self, a: usize, b: usize) -> f64 {
        let (a, b) = (&self.items[a], &self.items[b]);
        let gap = if a.w > 0.0 && b.w > 0.0 {
            GAP
        } else {
            LINE_GAP
        };
        (a.w + b.w) / 2.0 + gap
    }

    fn positions(&mut self) {
        for layer in 0..self.layers.len() {
            let mut x = 0.0;
            for p in 0..self.layers[layer].len() {
                let item = self.layers[layer][p];
                if p > 0 {
                    x += self.distance(self.layers[layer][p - 1], item);
                }
                self.items[item].x = x;
            }
        }
        for sweep in 0..SWEEPS + SETTLE {
            let count = self.layers.len();
            for i in 0..count {
                let layer = if sweep % 2 == 0 { i } else { count - 1 - i };
                let look = match (sweep >= SWEEPS, sweep % 2) {
                    (true, _) => (true, true),
                    (_, 0) => (true, false),
                    _ => (false, true),
                };
                self.place(layer, look);
            }
        }
        for _ in 0..3 {
            for e in 0..self.chains.len() {
                self.straighten(e);
            }
        }
        let left = |i: &Item| i.x - i.w / 2.0;
        let least = self.items.iter().map(left).fold(f64::INFINITY, f64::min);
        for item in &mut self.items {
            item.x -= least;
        }
    }

    /// Where an item would like to be, and how much.
    fn wish(&self, item: usize, (up, down): (bool, bool)) -> (f64, f64) {
        let i = &self.items[item];
        let mut sum = 0.0;
        let mut weight = 0.0;
        let near =
            i.up.iter()
                .filter(|_| up)
                .chain(i.down.iter().filter(|_| down));
        for &j in near {
            let other = &self.items[j];
            // Long edges are to be straight.
            let w = match (i.kind, other.kind) {
                // Ends of edges are always items of their own.
                (Kind::Node(_), Kind::Node(_)) => 1.0,
                (Kind::Node(_), Kind::Forward(e) | Kind::Back(e))
                | (Kind::Forward(e) | Kind::Back(e), Kind::Node(_)) => {
                    2.0 * self.input.edges[e].pull
                }
                _ => 8.0,
            };
            sum += w * other.x;
            weight += w;
        }
        // An edge that leads back keeps close to its ends.
        if let Kind::Back(e) = i.kind {
            let edge = &self.input.edges[e];
            for end in [edge.from, edge.to] {
                let node = &self.items[end];
                if node.layer == i.layer {
                    sum += node.x + (node.w + i.w) / 2.0 + GAP;
                    weight += 1.0;
                }
            }
        }
        match weight > 0.0 {
            true => (sum / weight, weight),
            false => (i.x, 0.1),
        }
    }

    /// Places a layer: weighted least squares under least distances.
    fn place(&mut self, layer: usize, look: (bool, bool)) {
        let row = &self.layers[layer];
        // With the least distances taken off, positions must not fall.
        let mut offset = 0.0;
        let mut offsets = Vec::with_capacity(row.len());
        // Mean, weight and number of items of each pool.
        let mut pools: Vec<(f64, f64, usize)> = Vec::new();
        for (p, &item) in row.iter().enumerate() {
            if p > 0 {
                offset += self.distance(row[p - 1], item);
            }
            offsets.push(offset);
            let (x, weight) = self.wish(item, look);
            pools.push((x - offset, weight, 1));
            while let [.., a, b] = pools[..]
                && a.0 > b.0
            {
                let weight = a.1 + b.1;
                pools.pop();
                pools.pop();
                pools.push(((a.0 * a.1 + b.0 * b.1) / weight, weight, a.2 + b.2));
            }
        }
        let means = pools
            .into_iter()
            .flat_map(|(mean, _, n)| std::iter::repeat_n(mean, n));
        for ((&item, offset), mean) in self.layers[layer].iter().zip(offsets).zip(means) {
            self.items[item].x = mean + offset;
        }
    }

    /// How far left and right an item may go.
    fn freedom(&self, item: usize) -> (f64, f64) {
        let i = &self.items[item];
        let row = &self.layers[i.layer];
        let before = i.place.checked_sub(1).map(|p| row[p]);
        let after = row.get(i.place + 1).copied();
        (
            before.map_or(f64::NEG_INFINITY, |b| {
                self.items[b].x + self.distance(b, item)
            }),
            after.map_or(f64::INFINITY, |a| self.items[a].x - self.distance(item, a)),
        )
    }

    /// Puts stretches of an edge that may stand one below the other there, each
    /// as long as can be.
    fn straighten(&mut self, e: usize) {
        let chain = self.chains[e].clone();
        let mut at = 0;
        while at < chain.len() {
            let (mut least, mut most) = self.freedom(chain[at]);
            let mut end = at + 1;
            while let Some(&next) = chain.get(end) {
                let (l, m) = self.freedom(next);
                if l.max(least) > m.min(most) {
                    break;
                }
                (least, most) = (l.max(least), m.min(most));
                end += 1;
            }
            let run = &chain[at..end];
            let sum: f64 = run.iter().map(|&i| self.items[i].x).sum();
            let x = (sum / run.len() as f64).max(least).min(most);
            for &i in run {
                self.items[i].x = x;
            }
            at = end;
        }
    }

    /// Heights, ports and routes.
    fn finish(self) -> Layout {
        let edges = &self.input.edges;
        let back = |e: &&EdgeIn| e.back.is_some();
        let layer_of = |n: usize| self.items[n].layer;
        // Tracks of edges that lead back, below their sources and above their
        // targets.
        let mut tracks = vec![[0usize; 2]; self.layers.len()];
        let mut own = vec![[0usize; 2]; edges.len()];
        for (e, edge) in edges.iter().enumerate().filter(|(_, e)| back(e)) {
            for (side, node) in [(0, edge.to), (1, edge.from)] {
                let n = &mut tracks[layer_of(node)][side];
                own[e][side] = *n;
                *n += 1;
            }
        }
        // Top and bottom of each layer.
        let mut spans = Vec::new();
        let mut y = 0.0;
        for (layer, row) in self.layers.iter().enumerate() {
            let nodes = layer % 2 == 0;
            if nodes {
                y += tracks[layer][0] as f64 * TRACK + if layer > 0 { ABOVE } else { 2.0 };
            }
            let high = row.iter().map(|&i| self.items[i].h).fold(0.0, f64::max);
            let high = if nodes { high } else { high.max(BETWEEN) };
            spans.push((y, y + high));
            y += high;
            if nodes {
                y += BELOW + tracks[layer][1] as f64 * TRACK;
            }
        }
        let height = y;
        let bounds = |i: usize| {
            let item = &self.items[i];
            let (top, bottom) = spans[item.layer];
            // Nodes stand at the top of their layer, labels in the middle.
            let y = match item.kind {
                Kind::Node(_) => top,
                _ => (top + bottom - item.h) / 2.0,
            };
            Bounds {
                x: item.x - item.w / 2.0,
                y,
                w: item.w,
                h: item.h,
            }
        };
        let nodes: Vec<Bounds> = (0..self.input.nodes.len()).map(bounds).collect();
        let (outs, ins) = self.ports(&nodes);
        let mut routes = Vec::new();
        let mut labels = Vec::new();
        for (e, edge) in edges.iter().enumerate() {
            let chain = &self.chains[e];
            let (from, to) = (&nodes[edge.from], &nodes[edge.to]);
            let start = (outs[e], from.y + from.h);
            let end = (ins[e], to.y);
            let labelled = if edge.back.is_some() {
                chain.last()
            } else {
                chain.first()
            };
            labels.push(
                labelled
                    .filter(|_| edge.label.is_some())
                    .map(|&i| bounds(i)),
            );
            if edge.back.is_some() {
                let x = chain.last().map_or(start.0, |&i| self.items[i].x);
                let (_, bottom) = spans[layer_of(edge.from)];
                let (top, _) = spans[layer_of(edge.to)];
                let low = bottom + 5.0 + own[e][1] as f64 * TRACK;
                let high = top - ABOVE + 5.0 - own[e][0] as f64 * TRACK;
                let mut points = vec![start, (start.0, low), (x, low)];
                // The way up, through the middles of its items.
                for &i in chain.iter().rev() {
                    let (top, bottom) = spans[self.items[i].layer];
                    points.extend([(self.items[i].x, bottom), (self.items[i].x, top)]);
                }
                let x = chain.first().map_or(x, |&i| self.items[i].x);
                points.extend([(x, high), (end.0, high), end]);
                routes.push(orthogonal(&points));
                continue;
            }
            let mut pen = Pen::new(start);
            for (k, &i) in chain.iter().enumerate() {
                let item = &self.items[i];
                let (top, bottom) = spans[item.layer];
                let next = chain.get(k + 1).map_or(end, |&j| {
                    let item = &self.items[j];
                    (item.x, spans[item.layer].0)
                });
                // Between layers of nodes an edge that goes on to one side does
                // so aslant, as far as its label, or the distance to others,
                // leaves room.
                let before = (item.x - pen.at.0) / (top - pen.at.1).max(1.0);
                let after = (next.0 - item.x) / (next.1 - bottom).max(1.0);
                let room = if item.layer % 2 == 1 { LINE_GAP } else { 0.0 };
                let most = 0.8 * (item.w / 2.0).max(room) / (bottom - top);
                let slope = match before * after > 0.0 {
                    true => before.abs().min(after.abs()).min(most).copysign(after),
                    false => 0.0,
                };
                let half = slope * (bottom - top) / 2.0;
                pen.curve((item.x - half, top), slope);
                pen.line((item.x + half, bottom));
            }
            pen.curve(end, 0.0);
            routes.push(pen.steps);
        }
        let right = |i: &Item| i.x + i.w / 2.0;
        Layout {
            width: self.items.iter().map(right).fold(0.0, f64::max),
            height,
            nodes,
            routes,
            labels,
        }
    }

    /// Where each edge leaves its source and enters its target: spread over
    /// the node's width, in the order of where they go and come from.
    fn ports(&self, nodes: &[Bounds]) -> (Vec<f64>, Vec<f64>) {
        let edges = &self.input.edges;
        let mut outs = vec![0.0; edges.len()];
        let mut ins = vec![0.0; edges.len()];
        for (n, bounds) in nodes.iter().enumerate() {
            for (out, ports) in [(true, &mut outs), (false, &mut ins)] {
                let end = |e: &EdgeIn| if out { e.from } else { e.to };
                let mut here: Vec<(f64, usize)> = Vec::new();
                for (e, edge) in edges.iter().enumerate() {
                    if end(edge) == n {
                        let chain = &self.chains[e];
                        let near = if out != edge.back.is_some() {
                            chain.first()
                        } else {
                            chain.last()
                        };
                        let x = near.map_or(0.0, |&i| self.items[i].x);
                        here.push((x, e));
                    }
                }
                here.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                let count = here.len() as f64;
                let room = (bounds.w - 16.0).max(0.0).min(count * 26.0);
                for (k, (_, e)) in here.into_iter().enumerate() {
                    let share = (k as f64 + 0.5) / count - 0.5;
                    ports[e] = bounds.x + bounds.w / 2.0 + share * room;
                }
            }
        }
        (outs, ins)
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

/// Draws a line downwards.
struct Pen {
    steps: Vec<Step>,
    at: (f64, f64),
    /// How far it goes right per pixel down.
    slope: f64,
}

impl Pen {
    fn new(at: (f64, f64)) -> Self {
        Self {
            steps: vec![Step::Move(at.0, at.1)],
            at,
            slope: 0.0,
        }
    }

    fn line(&mut self, to: (f64, f64)) {
        self.steps.push(Step::Line(to.0, to.1));
        self.at = to;
    }

    /// To a point, and with a slope there.
    fn curve(&mut self, to: (f64, f64), slope: f64) {
        let half = (to.1 - self.at.1) / 2.0;
        let (x, y) = self.at;
        if (x - to.0).abs() < 0.5 && slope == 0.0 && self.slope == 0.0 {
            self.line(to);
        } else {
            self.steps.push(Step::Curve([
                x + self.slope * half,
                y + half,
                to.0 - slope * half,
                to.1 - half,
                to.0,
                to.1,
            ]));
        }
        (self.at, self.slope) = (to, slope);
    }
}

/// Straight lines with round corners; slanted stretches become curves.
fn orthogonal(points: &[(f64, f64)]) -> Vec<Step> {
    const ROUND: f64 = 5.0;
    let mut steps = Vec::new();
    for (i, &(x, y)) in points.iter().enumerate() {
        if i == 0 {
            steps.push(Step::Move(x, y));
            continue;
        }
        let (px, py) = points[i - 1];
        if (px - x).abs() > 0.5 && (py - y).abs() > 0.5 {
            let half = (py + y) / 2.0;
            steps.push(Step::Curve([px, half, x, half, x, y]));
            continue;
        }
        let Some(&(nx, ny)) = points.get(i + 1) else {
            steps.push(Step::Line(x, y));
            continue;
        };
        let before = (px - x).abs() + (py - y).abs();
        let after = (nx - x).abs() + (ny - y).abs();
        let turns = ((px - x).abs() > 0.5) != ((nx - x).abs() > 0.5);
        let slanted = (nx - x).abs() > 0.5 && (ny - y).abs() > 0.5;
        let r = ROUND.min(before / 2.0).min(after / 2.0);
        if !turns || slanted || r < 0.5 {
            steps.push(Step::Line(x, y));
            continue;
        }
        let toward = |to: f64, from: f64| {
            (to - from).signum() * if (to - from).abs() > 0.5 { r } else { 0.0 }
        };
        let a = (x + toward(px, x), y + toward(py, y));
        let b = (x + toward(nx, x), y + toward(ny, y));
        steps.push(Step::Line(a.0, a.1));
        steps.push(Step::Curve([x, y, x, y, b.0, b.1]));
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: usize, to: usize) -> EdgeIn {
        EdgeIn {
            from,
            to,
            back: None,
            label: None,
            pull: 1.0,
        }
    }

    fn node() -> (f64, f64) {
        (60.0, 30.0)
    }

    #[test]
    fn a_diamond_is_symmetric() {
        let input = Input {
            nodes: vec![node(); 4],
            edges: vec![edge(0, 1), edge(0, 2), edge(1, 3), edge(2, 3)],
            above: Vec::new(),
        };
        let l = layout(&input);
        let middle = |n: usize| l.nodes[n].x + 30.0;
        assert!((middle(0) - middle(3)).abs() < 0.1, "{:?}", l.nodes);
        assert!((middle(1) + middle(2) - 2.0 * middle(0)).abs() < 0.1);
        assert_eq!(l.nodes[1].y, l.nodes[2].y);
        assert!((middle(2) - middle(1) - 76.0).abs() < 0.1);
    }

    #[test]
    fn labels_and_nodes_keep_apart() {
        let labelled = |from, to| EdgeIn {
            label: Some((50.0, 12.0)),
            ..edge(from, to)
        };
        let input = Input {
            nodes: vec![node(); 6],
            edges: vec![
                labelled(0, 1),
                labelled(0, 4),
                edge(1, 2),
                labelled(2, 3),
                EdgeIn {
                    back: Some(vec![1, 2, 3]),
                    ..labelled(3, 1)
                },
                labelled(2, 5),
                edge(4, 5),
                edge(3, 5),
            ],
            above: vec![(3, 5)],
        };
        let l = layout(&input);
        let boxes: Vec<Bounds> = l
            .nodes
            .iter()
            .chain(l.labels.iter().flatten())
            .copied()
            .collect();
        assert_eq!(boxes.len(), 11);
        for (i, a) in boxes.iter().enumerate() {
            for b in &boxes[..i] {
                assert!(!a.overlaps(b), "{a:?} {b:?}");
            }
        }
        assert!(l.nodes[5].y > l.nodes[3].y, "below the loop");
        // The edge back stands to the right of its loop.
        let label = l.labels[4].unwrap();
        assert!(label.x > l.nodes[3].x + l.nodes[3].w);
    }

    #[test]
    fn crossings_are_avoided() {
        // 1 and 2 lead to 4 and 3.
        let input = Input {
            nodes: vec![node(); 6],
            edges: vec![
                edge(0, 1),
                edge(0, 2),
                edge(1, 4),
                edge(2, 3),
                edge(3, 5),
                edge(4, 5),
            ],
            above: Vec::new(),
        };
        let mut l = Layered::new(&input);
        assert_eq!(l.crossings(), 1);
        l.order();
        assert_eq!(l.crossings(), 0);
    }

    /// Graphs of up to 30 nodes, any edges forward and back, labels of any size.
    #[test]
    fn no_boxes_overlap_in_any_graph() {
        let mut state = 1u64;
        let mut draw = |n: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % n
        };
        for round in 0..200 {
            let n = 1 + draw(30) as usize;
            let mut input = Input::default();
            for _ in 0..n {
                input
                    .nodes
                    .push((30.0 + draw(90) as f64, 20.0 + draw(50) as f64));
            }
            for _ in 0..draw(2 * n as u64 + 1) {
                let (from, to) = (draw(n as u64) as usize, draw(n as u64) as usize);
                let members = || (to..=from).collect();
                let size = (10.0 + draw(80) as f64, 12.0);
                input.edges.push(EdgeIn {
                    back: (to <= from).then(members),
                    label: (draw(2) == 0).then_some(size),
                    ..edge(from, to)
                });
            }
            // Also such as cannot be.
            input
                .above
                .push((draw(n as u64) as usize, draw(n as u64) as usize));
            let l = layout(&input);
            let labels = l.labels.iter().flatten();
            let boxes: Vec<Bounds> = l.nodes.iter().chain(labels).copied().collect();
            let page = Bounds {
                x: -0.01,
                y: 0.0,
                w: l.width + 0.02,
                h: l.height,
            };
            for (i, a) in boxes.iter().enumerate() {
                assert!(a.within(&page), "{round}: {a:?} {page:?}");
                // Distances are kept but for rounding.
                let inner = Bounds {
                    x: a.x + 0.01,
                    w: a.w - 0.02,
                    ..*a
                };
                for b in &boxes[..i] {
                    assert!(!inner.overlaps(b), "{round}: {a:?} {b:?}");
                }
            }
            for (edge, route) in input.edges.iter().zip(&l.routes) {
                let (from, to) = (&l.nodes[edge.from], &l.nodes[edge.to]);
                let Step::Move(x, y) = route[0] else {
                    panic!("{route:?}")
                };
                assert!(x >= from.x && x <= from.x + from.w && y == from.y + from.h);
                let Some(Step::Line(x, y) | Step::Curve([.., x, y])) = route.last() else {
                    panic!("{route:?}")
                };
                assert!(*x >= to.x && *x <= to.x + to.w && *y == to.y);
            }
        }
    }
}
