//! Stretches that repeat, drawn once.
//!
//! A sequence of tokens becomes a sequence of nodes, where a stretch that
//! stands three times or more in a row becomes one node with a count. Inner
//! repetitions are found first; then their nodes are tokens for the outer ones,
//! until nothing more repeats.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// The longest stretch, in nodes, that is looked for.
const LONGEST: usize = 48;
/// How often a stretch must stand to be drawn once.
const OFTEN: usize = 3;

/// A part of a sequence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Node {
    /// One place; with more than one position, that place in each repetition.
    One(Vec<u32>),
    /// A stretch, and how often it stands there: least and most.
    Repeat(Vec<Node>, RangeInclusive<u64>),
}

impl Node {
    /// Adds the positions of another repetition of the same.
    fn absorb(&mut self, other: Self) {
        match (self, other) {
            (Self::One(mine), Self::One(theirs)) => mine.extend(theirs),
            (Self::Repeat(mine, count), Self::Repeat(theirs, more)) => {
                *count = *count.start().min(more.start())..=*count.end().max(more.end());
                for (a, b) in mine.iter_mut().zip(theirs) {
                    a.absorb(b);
                }
            }
            // Equal tokens stand for nodes of one form.
            _ => {}
        }
    }

    /// How many places are drawn.
    pub(super) fn weight(&self, of: &impl Fn(u32) -> u64) -> u64 {
        match self {
            Self::One(at) => at.first().map_or(0, |&i| of(i)),
            Self::Repeat(body, _) => body.iter().map(|n| n.weight(of)).sum(),
        }
    }
}

/// Collapses a sequence of tokens. Where counts matter, stretches that repeat
/// unequally often are not the same.
pub(super) fn collapse(tokens: &[u32], counts: bool) -> Vec<Node> {
    let mut row = Row {
        nodes: (0..tokens.len() as u32)
            .map(|i| Node::One(vec![i]))
            .collect(),
        tokens: tokens.to_vec(),
        names: BTreeMap::new(),
        fresh: tokens.iter().max().map_or(0, |m| m + 1),
        counts,
    };
    let mut period = 1;
    while period <= LONGEST.min(row.tokens.len() / OFTEN) {
        period = if row.fold(period) { 1 } else { period + 1 };
    }
    row.nodes
}

/// A sequence on its way.
struct Row {
    nodes: Vec<Node>,
    tokens: Vec<u32>,
    /// Tokens of stretches that repeat.
    names: BTreeMap<(Vec<u32>, u64), u32>,
    fresh: u32,
    counts: bool,
}

impl Row {
    /// Makes one node of each stretch of this length that repeats. Returns
    /// whether there was any.
    fn fold(&mut self, period: usize) -> bool {
        let tokens = std::mem::take(&mut self.tokens);
        let mut rest = std::mem::take(&mut self.nodes).into_iter();
        let mut found = false;
        let mut i = 0;
        while i < tokens.len() {
            let body = &tokens[i..tokens.len().min(i + period)];
            let again = tokens[i..].chunks_exact(period);
            let times = again.take_while(|c| *c == body).count();
            if times < OFTEN {
                self.nodes.extend(rest.next());
                self.tokens.push(tokens[i]);
                i += 1;
                continue;
            }
            found = true;
            let mut nodes: Vec<Node> = rest.by_ref().take(period).collect();
            for _ in 1..times {
                for (node, again) in nodes.iter_mut().zip(rest.by_ref().take(period)) {
                    node.absorb(again);
                }
            }
            i += period * times;
            let times = times as u64;
            let key = (body.to_vec(), if self.counts { times } else { 0 });
            let name = *self.names.entry(key).or_insert(self.fresh);
            self.fresh = self.fresh.max(name + 1);
            self.tokens.push(name);
            self.nodes.push(Node::Repeat(nodes, times..=times));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(nodes: &[Node], tokens: &[u32]) -> String {
        let one = |n: &Node| match n {
            Node::One(at) => {
                let t = tokens[at[0] as usize];
                assert!(at.iter().all(|&i| tokens[i as usize] == t), "one token");
                char::from_digit(t, 36).unwrap().to_string()
            }
            Node::Repeat(body, times) => {
                let times = match times.start() == times.end() {
                    true => times.start().to_string(),
                    false => format!("{}-{}", times.start(), times.end()),
                };
                format!("({}){times}", shape(body, tokens))
            }
        };
        nodes.iter().map(one).collect()
    }

    fn of(text: &str, counts: bool) -> String {
        let tokens: Vec<u32> = text.chars().map(|c| c.to_digit(36).unwrap()).collect();
        shape(&collapse(&tokens, counts), &tokens)
    }

    #[test]
    fn repetitions_are_found() {
        assert_eq!(of("abcd", true), "abcd");
        assert_eq!(of("aab", true), "aab", "twice is not often");
        assert_eq!(of("xababababy", true), "x(ab)4y");
        assert_eq!(of("aaaa", true), "(a)4");
        assert_eq!(of("", true), "");
    }

    #[test]
    fn nested_repetitions_are_found() {
        assert_eq!(of("haaathaaathaaat", true), "(h(a)3t)3");
        assert_eq!(of("haaathaaaathaaat", true), "h(a)3th(a)4th(a)3t");
        assert_eq!(of("haaathaaaathaaat", false), "(h(a)3-4t)3");
    }

    #[test]
    fn positions_of_all_repetitions_are_kept() {
        let tokens = [5, 1, 2, 1, 2, 1, 2];
        let nodes = collapse(&tokens, true);
        let Node::Repeat(body, _) = &nodes[1] else {
            panic!("{nodes:?}")
        };
        assert_eq!(*body, [Node::One(vec![1, 3, 5]), Node::One(vec![2, 4, 6])]);
        assert_eq!(nodes.iter().map(|n| n.weight(&|_| 10)).sum::<u64>(), 30);
    }
}
