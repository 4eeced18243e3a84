//! Heights of layers, where edges leave and enter, and the lines they take.

use super::{ABOVE, BELOW, BETWEEN, EdgeIn, Item, Kind, LINE_GAP, Layered, Layout, TRACK};
use crate::picture::scene::{Bounds, Step};

impl Layered<'_> {
    /// Heights, ports and routes.
    pub(super) fn finish(self) -> Layout {
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
