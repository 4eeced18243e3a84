//! The order in each layer, with few crossings.

use super::{Kind, Layered, SWEEPS};

impl Layered<'_> {
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
    pub(super) fn order(&mut self) {
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
    pub(super) fn crossings(&self) -> usize {
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
}
