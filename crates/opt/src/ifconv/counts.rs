//! How often a warp executes each branch and block: what every price is a sum
//! over.
//!
//! A branch is seen as the warp sees it: in how many executions any lane went
//! this way, that way, both. A lane's probability is never used as a warp's.
//! Sources, best first: a profile of the whole launch; the known mask of the
//! condition; uniformity; a tail guard; a stated prior. Without a profile the
//! counts are for [`SCALE`] executions of the outermost region's branch, so
//! prices are integers there as well.

use warpfold_analysis::regions::{RegionId, Regions};
use warpfold_analysis::uniformity::Uniformity;
use warpfold_analysis::{BranchCounts, Cfg, DomTree, Joins, Profile};
use warpfold_ir::entity::SecondaryMap;
use warpfold_ir::{Block, CostClass, Function, Terminator};
use warpfold_machine::{Cost, Machine};

use super::plan::Gate;
use crate::report::CountSource;

/// Executions of an outermost region's branch that counts without a profile
/// are stated for.
pub const SCALE: u64 = 1 << 16;

/// What is assumed of a condition that nothing is known of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Prior {
    /// Probability p that a lane's condition is true, in 65,536ths.
    pub lane_true: u32,
    /// Correlation ρ of the lanes of a warp, in 65,536ths: with ρ they all
    /// agree, otherwise they are independent.
    pub correlation: u32,
}

impl Default for Prior {
    /// Even odds, independent lanes.
    fn default() -> Self {
        Self {
            lane_true: 1 << 15,
            correlation: 0,
        }
    }
}

impl Prior {
    /// P(any true) and P(any false) of a branch where `m` lanes are expected,
    /// in 65,536ths:
    /// ρ·p + (1−ρ)·(1−(1−p)^m) and ρ·(1−p) + (1−ρ)·(1−p^m).
    fn any(self, m: u32) -> (u64, u64) {
        const ONE: u64 = SCALE;
        let p = u64::from(self.lane_true).min(ONE);
        let rho = u64::from(self.correlation).min(ONE);
        let some = |p: u64| {
            let mut none = ONE << 16;
            for _ in 0..m {
                none = none * (ONE - p) / ONE;
            }
            ONE - (none >> 16)
        };
        let mix = |p: u64| (rho * p + (ONE - rho) * some(p)) / ONE;
        (mix(p), mix(ONE - p))
    }
}

/// The counts of a function.
#[derive(Clone, Debug)]
pub struct Frequencies {
    profile: Profile,
    source: SecondaryMap<Block, Option<CountSource>>,
    measured: bool,
}

impl Frequencies {
    /// Measured counts.
    pub fn measured(profile: &Profile) -> Self {
        Self {
            profile: profile.clone(),
            source: SecondaryMap::new(),
            measured: true,
        }
    }

    /// Expected counts for the branches of all regions.
    pub fn expected(
        func: &Function,
        cfg: &Cfg,
        joins: &Joins,
        regions: &Regions,
        uniformity: &Uniformity,
        prior: Prior,
    ) -> Self {
        let mut walk = Expectation {
            func,
            cfg,
            joins,
            dom: DomTree::dominators(cfg),
            regions,
            uniformity,
            prior,
            state: SecondaryMap::new(),
            out: Self {
                profile: Profile::new(),
                source: SecondaryMap::new(),
                measured: false,
            },
        };
        for &root in regions.roots() {
            walk.region(root);
        }
        walk.out
    }

    /// Whether the counts are a launch's, and totals over the function mean
    /// something.
    pub fn is_measured(&self) -> bool {
        self.measured
    }

    /// The counts of the branch of `b`; all zero if it never ran.
    pub fn branch(&self, b: Block) -> BranchCounts {
        self.profile.branch(b).cloned().unwrap_or_default()
    }

    /// Where they came from.
    pub fn source(&self, b: Block) -> CountSource {
        if self.measured {
            CountSource::Profile
        } else {
            self.source[b].unwrap_or(CountSource::Prior)
        }
    }

    /// Issues of straight code behind a gate, in place of the branch of `head`:
    /// executions of the branch in which a lane was still alive there, or came
    /// there. Without a profile no lane is expected to have left.
    pub fn behind(&self, head: Block, gate: Gate) -> u64 {
        let executions = || self.profile.branch(head).map_or(0, |c| c.executions);
        match gate {
            Gate::At(b, segment) if self.measured => self
                .profile
                .inside(head, b, segment)
                .map_or_else(executions, |counts| counts.alive),
            Gate::Open | Gate::At(..) => executions(),
            Gate::Reached(b, segment) => match self.profile.inside(head, b, segment) {
                Some(counts) => counts.reached,
                None => self.passes(b, segment).min(executions()),
            },
            Gate::Survived {
                first,
                before,
                after,
            } => {
                let before = before.map_or(Gate::Open, |(b, s)| Gate::At(b, s));
                let [reached, before, after] = [
                    Gate::Reached(first.0, first.1),
                    before,
                    Gate::At(after.0, after.1),
                ]
                .map(|gate| self.behind(head, gate));
                (reached + after).saturating_sub(before)
            }
        }
    }

    /// What the measured launch paid in functions that were called, and for
    /// indirect calls that split.
    pub fn callees(&self, machine: &Machine) -> Cost {
        let counts = self.profile.callees();
        let classes = CostClass::ALL.iter();
        let issues: Cost = classes
            .map(|&c| machine.issue_cost(c) * counts.classes[c.index()])
            .sum();
        let [proven, agree, split] = counts.branches;
        issues
            + machine.guard * counts.guarded
            + machine.branch_overhead(true, false) * proven
            + machine.branch_overhead(false, false) * agree
            + machine.branch_overhead(false, true) * split
    }

    /// Passes of a segment of a block.
    pub fn passes(&self, b: Block, segment: u32) -> u64 {
        self.profile.passes(b, segment)
    }
}

/// What is expected of a block.
#[derive(Clone, Copy, Default, Debug)]
struct State {
    passes: u64,
    /// Lanes in a pass.
    lanes: u32,
    /// The lanes that can be there, where the masks of the conditions above
    /// are known.
    mask: Option<u32>,
}

struct Expectation<'a> {
    func: &'a Function,
    cfg: &'a Cfg,
    joins: &'a Joins,
    dom: DomTree,
    regions: &'a Regions,
    uniformity: &'a Uniformity,
    prior: Prior,
    state: SecondaryMap<Block, State>,
    out: Frequencies,
}

impl Expectation<'_> {
    fn region(&mut self, root: RegionId) {
        let head = self.regions[root].head;
        self.state[head] = State {
            passes: SCALE,
            lanes: 32,
            mask: Some(u32::MAX),
        };
        self.branch(head);
        let regions = self.regions;
        for &b in regions.blocks(root) {
            self.state[b] = self.arrive(b, root);
            let last = self
                .func
                .block(b)
                .insts
                .iter()
                .filter(|&&i| self.func.inst(i).op.ends_segment())
                .count();
            for segment in 0..=last as u32 {
                self.out
                    .profile
                    .add_passes(b, segment, self.state[b].passes);
            }
            if self.func.term(b).is_conditional() {
                self.branch(b);
            }
        }
    }

    /// The state of a block inside `root` from those before it: a join of its
    /// immediate dominator gets all its lanes back at once, any other block
    /// every edge's lanes in turn.
    fn arrive(&self, b: Block, root: RegionId) -> State {
        let preds = self.cfg.preds(b);
        if let Some(d) = self.dom.idom(b)
            && preds.len() > 1
            && self.joins.of(d) == Some(b)
        {
            return self.state[d];
        }
        let mut sum = State {
            passes: 0,
            lanes: 0,
            mask: Some(0),
        };
        for &edge in preds {
            let from = self.state[edge.from];
            let inside =
                edge.from == self.regions[root].head || self.regions.contains(root, edge.from);
            if !inside {
                continue;
            }
            let s = if self.func.term(edge.from).is_conditional() {
                self.along(edge.from, edge.index)
            } else {
                from
            };
            sum.passes = sum.passes.saturating_add(s.passes);
            sum.lanes = (sum.lanes + s.lanes).min(32);
            sum.mask = sum.mask.zip(s.mask).map(|(a, b)| a | b);
        }
        sum.lanes = sum.lanes.max(1);
        sum
    }

    /// The state at the end of a branch's edge.
    fn along(&self, from: Block, index: u32) -> State {
        let at = self.state[from];
        let known = self.uniformity.known_mask(from);
        let is_br = matches!(self.func.term(from), Terminator::Br { .. });
        let mask = match (at.mask, known) {
            (Some(lanes), Some(m)) if is_br => Some(lanes & if index == 0 { m } else { !m }),
            _ => None,
        };
        let lanes = match mask {
            Some(m) => m.count_ones(),
            None if self.uniformity.is_uniform_branch(from) => at.lanes,
            None => at.lanes.div_ceil(self.cfg.succs(from).len().max(1) as u32),
        };
        State {
            passes: self.out.branch(from).taken(index),
            lanes: lanes.max(1),
            mask,
        }
    }

    fn branch(&mut self, b: Block) {
        let at = self.state[b];
        let n = at.passes;
        let targets = self.cfg.succs(b).len() as u64;
        let (counts, source) = if !matches!(self.func.term(b), Terminator::Br { .. }) {
            self.switch(b, n, targets)
        } else if let (Some(lanes), Some(mask)) = (at.mask, self.uniformity.known_mask(b)) {
            let any = |m: u32| if lanes & m != 0 { n } else { 0 };
            let (t, f) = (any(mask), any(!mask));
            (two_way(n, t, f), CountSource::Mask)
        } else if self.uniformity.is_uniform_branch(b) {
            let t = n / 2;
            (two_way(n, t, n - t), CountSource::Uniform)
        } else if self.uniformity.tail_guard(b) {
            // One warp of a block of 1,024 threads.
            (two_way(n, n, n / 32), CountSource::TailGuard)
        } else {
            let (t, f) = self.prior.any(at.lanes);
            let of = |p: u64| (u128::from(n) * u128::from(p) / u128::from(SCALE)) as u64;
            let t = of(t);
            // At least one way is taken.
            (two_way(n, t, of(f).max(n - t)), CountSource::Prior)
        };
        let mut counts = counts;
        if !self.cfg.branches(b) {
            counts.splits = 0;
        }
        self.out.profile.set_branch(b, counts);
        self.out.source[b] = Some(source);
    }

    /// A switch on something divergent goes everywhere, one on something
    /// uniform to each target equally often.
    fn switch(&self, b: Block, n: u64, targets: u64) -> (BranchCounts, CountSource) {
        let uniform = self.uniformity.is_uniform_branch(b);
        let each = if uniform { n / targets.max(1) } else { n };
        let counts = BranchCounts {
            executions: n,
            taken: (0..targets).map(|_| each).collect(),
            splits: if uniform { 0 } else { n },
        };
        let source = if uniform {
            CountSource::Uniform
        } else {
            CountSource::Prior
        };
        (counts, source)
    }
}

fn two_way(n: u64, any_true: u64, any_false: u64) -> BranchCounts {
    BranchCounts {
        executions: n,
        taken: [any_true, any_false].into_iter().collect(),
        splits: (any_true + any_false).saturating_sub(n),
    }
}
