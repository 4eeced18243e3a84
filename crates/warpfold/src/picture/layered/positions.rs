//! Where items stand in their layers.

use super::{GAP, Item, Kind, LINE_GAP, Layered, SETTLE, SWEEPS};

impl Layered<'_> {
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

    pub(super) fn positions(&mut self) {
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
}
