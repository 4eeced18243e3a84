//! What each warp did, issue by issue: the data of a timeline.
//!
//! A *strip* is a warp of a version: columns, one an issue, each with the state
//! of 32 lanes. Warps that did the same in every version share their strips, and
//! of those that differ a few are shown, the ones that lost most lanes.
//!
//! When a strip is wide, stretches that repeat exactly are drawn once. When it
//! is still wide, those that repeat with other lanes, or unequally often, are,
//! too; a column then holds how often a lane was in each state.
//!
//! A lane has exited when it takes part in no issue any more: a live lane always
//! does, the return at least.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use warpfold_exec as exec;

use super::collapse::{Node, collapse};
use super::{Blocks, Subject, Version};

/// Lanes of a warp.
pub(super) const LANES: usize = 32;
/// Columns up to which nothing is collapsed.
const PLENTY: u64 = 280;
/// Most columns that are drawn.
const MOST: u64 = 1000;
/// Most kinds of warps that are shown.
const KINDS: usize = 2;

/// What a lane does at an issue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Lane {
    /// It takes part.
    On,
    /// The four ways to be lost.
    Predicated,
    Diverged,
    Exited,
    Partial,
}

impl Lane {
    /// All of them; the four that are lost last.
    pub(super) const ALL: [Self; 5] = [
        Self::On,
        Self::Predicated,
        Self::Diverged,
        Self::Exited,
        Self::Partial,
    ];
}

/// Neighbouring columns of one pass with the same lanes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Slab {
    /// Number of the block.
    pub block: usize,
    /// Whether a pass of the block begins here.
    pub begins: bool,
    /// Columns.
    pub issues: u64,
    /// By lane: how often it was in each state, by position in [`Lane::ALL`].
    pub lanes: [[u32; 5]; LANES],
    /// Most of what [`Depth`] says.
    pub depth: u32,
}

impl Slab {
    /// How often a lane is on, of how often there is anything.
    pub(super) fn share_on(&self, lane: usize) -> f64 {
        let all: u32 = self.lanes[lane].iter().sum();
        f64::from(self.lanes[lane][0]) / f64::from(all.max(1))
    }

    /// What a lane mostly is where it is not on.
    pub(super) fn lost(&self, lane: usize) -> Option<Lane> {
        let states = Lane::ALL.into_iter().zip(self.lanes[lane]).skip(1);
        states
            .filter(|&(_, n)| n > 0)
            .max_by_key(|&(_, n)| n)
            .map(|(state, _)| state)
    }
}

/// A stretch that stands for several.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Repeat {
    /// Its columns.
    pub from: u64,
    pub to: u64,
    /// How many stretches are inside it, the deepest.
    pub height: u32,
    /// How often it runs; least and most where it stands in another one.
    pub times: RangeInclusive<u64>,
}

impl Repeat {
    /// `×27`, `×3–7`.
    pub(super) fn text(&self) -> String {
        match (self.times.start(), self.times.end()) {
            (a, b) if a == b => format!("×{a}"),
            (a, b) => format!("×{a}–{b}"),
        }
    }
}

/// A warp of a version.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Strip {
    pub version: &'static str,
    pub slabs: Vec<Slab>,
    pub repeats: Vec<Repeat>,
    /// Columns that are drawn.
    pub columns: u64,
    /// Whether columns are missing at the end.
    pub cut: bool,
    /// Issues of the warp.
    pub issues: u64,
    /// Lanes that were on, of all.
    pub on: u64,
    /// The most of any pass.
    pub depth: u32,
}

/// Warps that did the same.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Kind {
    /// The first of them: block of the grid, warp.
    pub first: (u64, u64),
    /// How many there are.
    pub warps: u64,
    /// By version.
    pub strips: Vec<Strip>,
}

/// What warps did over time, in each version.
#[derive(Clone, Debug)]
pub struct Timeline {
    pub(super) title: String,
    pub(super) kinds: Vec<Kind>,
    /// Warps that are not shown.
    pub(super) hidden: u64,
    pub(super) blocks: Vec<String>,
    /// What the depth of a pass counts.
    pub(super) depth: Depth,
}

/// What the depth of a pass counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Depth {
    /// Entries on the stacks.
    Stack,
    /// Convergence barriers that the lanes are inside of.
    Barriers,
}

impl Depth {
    /// Its name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Stack => "stack",
            Self::Barriers => "barriers",
        }
    }
}

/// A pass of a warp: what makes it the same as another.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Token {
    block: usize,
    depth: u32,
    /// Of each issue: lanes that are active, on, alive, there.
    issues: Vec<[u32; 4]>,
}

impl Timeline {
    /// The timeline of a subject; `None` if a run was not recorded.
    pub fn new(subject: &Subject<'_>) -> Option<Self> {
        let mut runs = subject.versions.iter().map(|v| v.run.timeline.as_ref());
        let depth = match runs.find_map(|t| t.map(|t| t.mode)) {
            Some(exec::Mode::Its) => Depth::Barriers,
            _ => Depth::Stack,
        };
        let mut blocks = Blocks::default();
        let mut versions = Vec::new();
        let mut tokens = Tokens::default();
        for version in &subject.versions {
            let warps = tokens.warps(version, &mut blocks, subject.block_threads)?;
            versions.push(warps);
        }
        // By what they did in each version: the warps.
        let mut kinds: BTreeMap<Vec<&[u32]>, Vec<u64>> = BTreeMap::new();
        let all: BTreeSet<u64> = versions.iter().flat_map(|v| v.keys().copied()).collect();
        for warp in all {
            let did = versions.iter().map(|v| v.get(&warp).map_or(&[][..], |p| p));
            kinds.entry(did.collect()).or_default().push(warp);
        }
        let mut kinds: Vec<_> = kinds.into_iter().collect();
        let lost = |did: &[&[u32]]| -> u64 {
            let passes = did.iter().flat_map(|p| p.iter());
            passes.map(|&t| tokens.lost(t)).sum()
        };
        kinds.sort_by_cached_key(|(did, warps)| (std::cmp::Reverse(lost(did)), warps[0]));
        let rest = kinds.split_off(kinds.len().min(KINDS));
        kinds.sort_by_key(|(_, warps)| warps[0]);
        let per_block = subject.block_threads.div_ceil(LANES as u64).max(1);
        let drawn: Vec<&[u32]> = kinds
            .iter()
            .flat_map(|(did, _)| did.iter().copied())
            .collect();
        let how = tokens.detail(&drawn);
        let names: Vec<&'static str> = subject.versions.iter().map(|v| v.name).collect();
        let kinds = kinds.iter().map(|(did, warps)| Kind {
            first: (warps[0] / per_block, warps[0] % per_block),
            warps: warps.len() as u64,
            strips: did
                .iter()
                .zip(&names)
                .map(|(passes, version)| tokens.strip(version, passes, how))
                .collect(),
        });
        Some(Self {
            title: subject.title.clone(),
            kinds: kinds.collect(),
            hidden: rest.iter().map(|(_, w)| w.len() as u64).sum(),
            blocks: blocks.names,
            depth,
        })
    }

    /// What is said of the warps that are not shown.
    pub(super) fn not_shown(&self) -> Option<String> {
        match self.hidden {
            0 => None,
            1 => Some("1 warp that did otherwise is not shown".to_owned()),
            n => Some(format!("{n} warps that did otherwise are not shown")),
        }
    }

    /// The most columns of any strip.
    pub(super) fn columns(&self) -> u64 {
        let strips = self.kinds.iter().flat_map(|k| &k.strips);
        strips.map(|s| s.columns).max().unwrap_or(0)
    }
}

/// How much is drawn once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Detail {
    /// Nothing.
    All,
    /// What repeats exactly.
    Exact,
    /// What repeats with other lanes.
    Alike,
}

/// All passes, each kind once.
#[derive(Debug, Default)]
struct Tokens {
    numbers: BTreeMap<Token, u32>,
    list: Vec<Token>,
    /// Each one's number among those that differ in lanes only.
    alike: Vec<u32>,
    likes: BTreeMap<(usize, usize), u32>,
}

impl Tokens {
    fn number(&mut self, token: Token) -> u32 {
        if let Some(&n) = self.numbers.get(&token) {
            return n;
        }
        let number = self.list.len() as u32;
        let fresh = self.likes.len() as u32;
        let key = (token.block, token.issues.len());
        self.alike.push(*self.likes.entry(key).or_insert(fresh));
        self.list.push(token.clone());
        self.numbers.insert(token, number);
        number
    }

    /// The passes of each warp of a version.
    fn warps(
        &mut self,
        version: &Version<'_>,
        blocks: &mut Blocks,
        block_threads: u64,
    ) -> Option<BTreeMap<u64, Vec<u32>>> {
        let timeline = version.run.timeline.as_ref()?;
        let mut alive = alive(timeline);
        let per_block = block_threads.div_ceil(LANES as u64).max(1);
        let mut warps: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
        // The pass that each warp is in. What it does behind a call is drawn as
        // a pass of its own.
        let mut open: BTreeMap<u64, (u32, Token)> = BTreeMap::new();
        for issue in &timeline.issues {
            let p = &timeline.passes[issue.pass as usize];
            let first = p.warp % per_block * LANES as u64;
            let there = block_threads.saturating_sub(first).min(LANES as u64) as u32;
            let exist = u32::MAX.checked_shr(LANES as u32 - there).unwrap_or(0);
            let column = [issue.mask, issue.on, alive.next(p.warp), exist];
            if let Some((pass, token)) = open.get_mut(&p.warp)
                && *pass == issue.pass
            {
                token.issues.push(column);
                continue;
            }
            let token = Token {
                block: blocks.number(version, (p.function, p.block)),
                depth: p.depth,
                issues: vec![column],
            };
            if let Some((_, done)) = open.insert(p.warp, (issue.pass, token)) {
                let number = self.number(done);
                warps.entry(p.warp).or_default().push(number);
            }
        }
        for (warp, (_, done)) in open {
            let number = self.number(done);
            warps.entry(warp).or_default().push(number);
        }
        Some(warps)
    }

    /// Lanes with a thread that a pass loses.
    fn lost(&self, token: u32) -> u64 {
        let issues = self.list[token as usize].issues.iter();
        issues.map(|i| u64::from((i[3] & !i[1]).count_ones())).sum()
    }

    fn weight(&self, token: u32) -> u64 {
        self.list[token as usize].issues.len() as u64
    }

    fn nodes(&self, passes: &[u32], detail: Detail) -> Vec<Node> {
        match detail {
            Detail::All => (0..passes.len() as u32)
                .map(|i| Node::One(vec![i]))
                .collect(),
            Detail::Exact => collapse(passes, true),
            Detail::Alike => {
                let alike: Vec<u32> = passes.iter().map(|&t| self.alike[t as usize]).collect();
                collapse(&alike, false)
            }
        }
    }

    /// The most detail that leaves these narrow enough.
    fn detail(&self, drawn: &[&[u32]]) -> Detail {
        let narrow = |detail: Detail| {
            drawn.iter().all(|passes| {
                let nodes = self.nodes(passes, detail);
                let of = |i: u32| self.weight(passes[i as usize]);
                nodes.iter().map(|n| n.weight(&of)).sum::<u64>() <= PLENTY
            })
        };
        let all = [Detail::All, Detail::Exact];
        all.into_iter()
            .find(|&d| narrow(d))
            .unwrap_or(Detail::Alike)
    }

    fn strip(&self, version: &'static str, passes: &[u32], detail: Detail) -> Strip {
        let all = || passes.iter().map(|&t| &self.list[t as usize]);
        let mut strip = Strip {
            version,
            slabs: Vec::new(),
            repeats: Vec::new(),
            columns: 0,
            cut: false,
            issues: all().map(|t| t.issues.len() as u64).sum(),
            on: all()
                .flat_map(|t| &t.issues)
                .map(|i| u64::from(i[1].count_ones()))
                .sum(),
            depth: all().map(|t| t.depth).max().unwrap_or(0),
        };
        let nodes = self.nodes(passes, detail);
        self.draw(&mut strip, &nodes, passes);
        strip
    }

    /// Adds nodes to a strip. Returns how deep repetitions are nested in them.
    fn draw(&self, strip: &mut Strip, nodes: &[Node], passes: &[u32]) -> u32 {
        let mut height = 0;
        for node in nodes {
            match node {
                Node::One(at) => {
                    let same = at.iter().map(|&i| &self.list[passes[i as usize] as usize]);
                    let same: Vec<&Token> = same.collect();
                    add_pass(strip, &same);
                }
                Node::Repeat(body, times) => {
                    let from = strip.columns;
                    let inside = self.draw(strip, body, passes);
                    height = height.max(inside + 1);
                    if strip.columns > from {
                        strip.repeats.push(Repeat {
                            from,
                            to: strip.columns,
                            height: inside,
                            times: times.clone(),
                        });
                    }
                }
            }
        }
        height
    }
}

/// Adds passes, drawn as one.
fn add_pass(strip: &mut Strip, same: &[&Token]) {
    let Some(first) = same.first() else { return };
    let depth = same.iter().map(|t| t.depth).max().unwrap_or(0);
    let mut begins = true;
    for column in 0..first.issues.len() {
        if strip.columns == MOST {
            strip.cut = true;
            return;
        }
        strip.columns += 1;
        let mut lanes = [[0; 5]; LANES];
        for issue in same.iter().filter_map(|t| t.issues.get(column)) {
            for (lane, counts) in lanes.iter_mut().enumerate() {
                counts[state(issue, lane) as usize] += 1;
            }
        }
        match strip.slabs.last_mut() {
            Some(last) if !begins && last.lanes == lanes => last.issues += 1,
            _ => strip.slabs.push(Slab {
                block: first.block,
                begins,
                issues: 1,
                lanes,
                depth,
            }),
        }
        begins = false;
    }
}

fn state(&[mask, on, alive, exist]: &[u32; 4], lane: usize) -> Lane {
    let has = |lanes: u32| lanes >> lane & 1 == 1;
    if has(on) {
        Lane::On
    } else if has(mask) {
        Lane::Predicated
    } else if has(alive) {
        Lane::Diverged
    } else if has(exist) {
        Lane::Exited
    } else {
        Lane::Partial
    }
}

/// The lanes of each warp that are alive at each of its issues, in order.
struct Alive(BTreeMap<u64, std::vec::IntoIter<u32>>);

impl Alive {
    fn next(&mut self, warp: u64) -> u32 {
        let warp = self.0.get_mut(&warp);
        warp.and_then(Iterator::next).unwrap_or(0)
    }
}

/// A lane is alive as long as an issue is to come that it takes part in.
fn alive(timeline: &exec::Timeline) -> Alive {
    let mut warps: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
    for issue in timeline.issues.iter().rev() {
        let warp = timeline.passes[issue.pass as usize].warp;
        let list = warps.entry(warp).or_default();
        let later = list.last().copied().unwrap_or(0);
        list.push(later | issue.mask);
    }
    Alive(
        warps
            .into_iter()
            .map(|(warp, mut list)| {
                list.reverse();
                (warp, list.into_iter())
            })
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::Overrides;
    use crate::{Options, RunOptions, Source, Syntax};

    /// A kernel of the repository, run as written.
    fn totals(name: &str) -> ([u64; 5], [u64; 5]) {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kernels");
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        let kernel = Source::parse(&text, name, Syntax::Clif)
            .and_then(|s| s.kernel(&Overrides::default(), &Options::default()))
            .unwrap();
        let launch = kernel.launch(&folder).unwrap();
        let run = RunOptions {
            timeline: true,
            ..RunOptions::default()
        };
        let func = kernel.lowered.func();
        let outcome = kernel.lowered.execute(func, &launch, &run).unwrap();
        let shape = (launch.grid, launch.block);
        let subject = Subject::of_execution(&kernel.lowered, func, &outcome, shape);
        let mut tokens = Tokens::default();
        let mut blocks = Blocks::default();
        let warps = tokens.warps(&subject.versions[0], &mut blocks, subject.block_threads);
        let mut seen = [0; 5];
        for token in warps.unwrap().values().flatten() {
            for issue in &tokens.list[*token as usize].issues {
                for lane in 0..LANES {
                    seen[state(issue, lane) as usize] += 1;
                }
            }
        }
        let c = &outcome.counters;
        let counted = [
            c.thread_inst_executed_pred_on,
            c.lost.predicated,
            c.lost.diverged,
            c.lost.exited,
            c.lost.partial,
        ];
        (seen, counted)
    }

    #[test]
    fn lanes_are_what_the_counters_say() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kernels");
        let mut ways = [0; 5];
        for file in std::fs::read_dir(folder).unwrap() {
            let name = file.unwrap().file_name().into_string().unwrap();
            if !name.ends_with(".clif") {
                continue;
            }
            let (seen, counted) = totals(&name);
            assert_eq!(seen, counted, "{name}");
            for (sum, n) in ways.iter_mut().zip(seen) {
                *sum += n;
            }
        }
        assert!(ways.iter().all(|&n| n > 0), "every way occurs: {ways:?}");
    }

    #[test]
    fn wide_strips_collapse_first_what_is_equal() {
        let mut tokens = Tokens::default();
        let mut pass = |block, mask: u32, n| {
            tokens.number(Token {
                block,
                depth: 1,
                issues: vec![[mask, mask, u32::MAX, u32::MAX]; n],
            })
        };
        let (all, half, few) = (pass(0, u32::MAX, 100), pass(1, 0xFFFF, 50), pass(1, 1, 50));
        let short = [all, half, few];
        assert_eq!(tokens.detail(&[&short]), Detail::All);
        let equal = [&[all], &[half; 9][..]].concat();
        assert_eq!(tokens.detail(&[&short, &equal]), Detail::Exact);
        let alike = [all, half, few, half, few, few, half, half];
        assert_eq!(tokens.detail(&[&short, &alike]), Detail::Alike);
        let strip = tokens.strip("before", &alike, Detail::Alike);
        assert_eq!((strip.columns, strip.issues), (150, 450));
        assert_eq!(strip.repeats[0].text(), "×7");
        let blend = &strip.slabs[1];
        assert_eq!(
            (blend.lanes[0], blend.lanes[1]),
            ([7, 0, 0, 0, 0], [4, 0, 3, 0, 0])
        );
        assert_eq!(blend.lost(1), Some(Lane::Diverged));
        assert_eq!(blend.lost(0), None);
    }
}
