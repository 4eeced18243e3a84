//! How often a warp executes each branch and block: what every price is a sum
//! over.
//!
//! A branch is seen as the warp sees it: in how many executions any lane went
//! this way, that way, both. A lane's probability is never used as a warp's.
//! Sources, best first: a profile of the whole launch; the known mask of the
//! condition; uniformity; a tail guard; a stated [prior](crate::prior). Without
//! a profile the counts are for [`SCALE`] executions of the outermost region's
//! branch, so prices are integers there as well.
//!
//! Of these executions, as many as in a block of the launch are by its last
//! warp, which has fewer lanes where the block's size is no multiple of 32; a
//! known mask and a prior see only the lanes that exist. A prior that is stated
//! for one branch goes before its tail guard, which is a guess, too, and says
//! how likely a uniform one is to be true.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use smallvec::SmallVec;
use warpfold_analysis::regions::{RegionId, Regions};
use warpfold_analysis::uniformity::{LaunchShape, Uniformity};
use warpfold_analysis::{BranchCounts, Cfg, DomTree, Flow, Joins, Profile};
use warpfold_ir::entity::SecondaryMap;
use warpfold_ir::{Block, CostClass, Function, Origin, Terminator};
use warpfold_machine::{Cost, Machine};

use super::plan::Gate;
use crate::prior::{Prior, Probability};
use crate::report::CountSource;

/// Executions of an outermost region's branch that counts without a profile
/// are stated for.
pub const SCALE: u64 = 1 << 16;

/// What counts without a profile rest on beside the analysis.
#[derive(Clone, Copy, Debug)]
pub struct Assumed<'a> {
    /// Of conditions that nothing is known of.
    pub prior: Prior,
    /// Of the conditions of these branches.
    pub priors: &'a BTreeMap<Origin, Prior>,
    /// The launch, as far as it is known.
    pub shape: LaunchShape,
}

impl Default for Assumed<'_> {
    /// The default prior for all, and nothing known of the launch.
    fn default() -> Self {
        static NONE: BTreeMap<Origin, Prior> = BTreeMap::new();
        Self {
            prior: Prior::default(),
            priors: &NONE,
            shape: LaunchShape::unknown(),
        }
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
        flow: &Flow,
        regions: &Regions,
        uniformity: &Uniformity,
        assumed: &Assumed<'_>,
    ) -> Self {
        let blocks = func.num_blocks();
        let mut state = SecondaryMap::new();
        state.resize(blocks);
        let mut source = SecondaryMap::new();
        source.resize(blocks);
        let mut walk = Expectation {
            func,
            cfg: &flow.cfg,
            joins: &flow.joins,
            dom: &flow.dominators,
            regions,
            uniformity,
            assumed,
            state,
            outlooks: [None; 33],
            out: Self {
                profile: Profile::with_blocks(blocks),
                source,
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
    pub fn branch(&self, b: Block) -> &BranchCounts {
        static NEVER: LazyLock<BranchCounts> = LazyLock::new(BranchCounts::default);
        self.profile.branch(b).unwrap_or_else(|| &NEVER)
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

/// What is expected of a block in one kind of warps.
#[derive(Clone, Copy, Default, Debug)]
struct Part {
    passes: u64,
    /// Lanes in a pass.
    lanes: u32,
    /// The lanes that can be there, where the masks of the conditions above
    /// are known.
    mask: Option<u32>,
}

impl Part {
    /// Lanes, summed over the passes.
    fn lane_passes(&self) -> u64 {
        self.passes.saturating_mul(self.lanes.into())
    }
}

/// What is expected of a block: in full warps, and in the warps that are the
/// last of their block and not full.
type State = [Part; 2];

fn passes(state: &State) -> u64 {
    state.iter().map(|part| part.passes).sum()
}

/// The state where a region begins.
fn begin(shape: LaunchShape) -> State {
    let sizes = shape.block();
    let threads = sizes
        .iter()
        .try_fold(1u64, |n, d| n.checked_mul(u64::from((*d)?)));
    let last = threads.map_or(0, |n| (n % 32) as u32);
    let of_last = match threads {
        Some(n) if last > 0 => SCALE / n.div_ceil(32),
        _ => 0,
    };
    let part = |passes, lanes: u32| Part {
        passes,
        lanes,
        mask: Some(u32::MAX >> (32 - lanes)),
    };
    [part(SCALE - of_last, 32), part(of_last, last.max(1))]
}

struct Expectation<'a> {
    func: &'a Function,
    cfg: &'a Cfg,
    joins: &'a Joins,
    dom: &'a DomTree,
    regions: &'a Regions,
    uniformity: &'a Uniformity,
    assumed: &'a Assumed<'a>,
    state: SecondaryMap<Block, State>,
    /// Of the prior that most conditions have, by the lanes at the branch.
    outlooks: [Option<Outlook>; 33],
    out: Frequencies,
}

/// What a prior says of a warp with some number of lanes at the branch: of the
/// true side and of the false one.
#[derive(Clone, Copy, Debug)]
struct Outlook {
    /// That any lane is there.
    any: [Probability; 2],
    /// How many are when any is.
    lanes: [u32; 2],
}

impl Outlook {
    fn new(prior: Prior, m: u32) -> Self {
        Self {
            any: [prior.any_true(m), prior.any_false(m)],
            lanes: [true, false].map(|side| prior.lanes(side, m)),
        }
    }
}

impl Expectation<'_> {
    fn region(&mut self, root: RegionId) {
        let head = self.regions[root].head;
        self.state[head] = begin(self.assumed.shape);
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
                    .add_passes(b, segment, passes(&self.state[b]));
            }
            if self.func.term(b).is_conditional() {
                self.branch(b);
            }
        }
    }

    /// The state of a block inside `root` from those before it: a join of its
    /// immediate dominator gets all its lanes back at once, any other block
    /// every edge's lanes in turn.
    fn arrive(&mut self, b: Block, root: RegionId) -> State {
        let cfg = self.cfg;
        let preds = cfg.preds(b);
        if preds.len() > 1
            && let Some(d) = self.dom.idom(b)
            && self.joins.of(d) == Some(b)
        {
            return self.state[d];
        }
        let mut sum = State::default().map(|part| Part {
            mask: Some(0),
            ..part
        });
        for &edge in preds {
            let inside =
                edge.from == self.regions[root].head || self.regions.contains(root, edge.from);
            if !inside {
                continue;
            }
            let from = if self.func.term(edge.from).is_conditional() {
                self.along(edge.from, edge.index)
            } else {
                self.state[edge.from]
            };
            for (sum, part) in sum.iter_mut().zip(from) {
                sum.passes = sum.passes.saturating_add(part.passes);
                sum.lanes = (sum.lanes + part.lanes).min(32);
                sum.mask = sum.mask.zip(part.mask).map(|(a, b)| a | b);
            }
        }
        sum.map(|part| Part {
            lanes: part.lanes.max(1),
            ..part
        })
    }

    /// The state at the end of a branch's edge.
    fn along(&mut self, from: Block, index: u32) -> State {
        let known = self.uniformity.known_mask(from);
        let uniform = self.uniformity.is_uniform_branch(from);
        let is_br = matches!(self.func.term(from), Terminator::Br { .. });
        self.state[from].map(|at| {
            let mask = match (at.mask, known) {
                (Some(lanes), Some(m)) if is_br => Some(lanes & if index == 0 { m } else { !m }),
                _ => None,
            };
            let lanes = match mask {
                Some(m) => m.count_ones(),
                None if uniform => at.lanes,
                None if is_br => self.outlook(from, at.lanes).lanes[usize::from(index != 0)],
                None => at.lanes.div_ceil(self.cfg.succs(from).len().max(1) as u32),
            };
            let passes = match is_br {
                true => {
                    let [t, f] = self.sides(from, at).0;
                    [t, f][index.min(1) as usize]
                }
                false => self.entry(from, at.passes),
            };
            Part {
                passes,
                lanes: lanes.max(1),
                mask,
            }
        })
    }

    /// What is assumed of the branch of `b` with `m` lanes at it.
    fn outlook(&mut self, b: Block, m: u32) -> Outlook {
        let prior = self.prior(b);
        match self.outlooks.get_mut(m as usize) {
            Some(known) if prior == self.assumed.prior => {
                *known.get_or_insert_with(|| Outlook::new(prior, m))
            }
            _ => Outlook::new(prior, m),
        }
    }

    fn prior(&self, b: Block) -> Prior {
        let own = self.assumed.priors.get(&self.func.block(b).origin);
        own.copied().unwrap_or(self.assumed.prior)
    }

    /// Of the executions of a two-way branch by one kind of warps: those with
    /// any lane true and with any false, and how that is known.
    fn sides(&mut self, b: Block, at: Part) -> ([u64; 2], CountSource) {
        let n = at.passes;
        let own = self.assumed.priors.get(&self.func.block(b).origin);
        if let (Some(lanes), Some(mask)) = (at.mask, self.uniformity.known_mask(b)) {
            let any = |m: u32| if lanes & m != 0 { n } else { 0 };
            ([any(mask), any(!mask)], CountSource::Mask)
        } else if self.uniformity.is_uniform_branch(b) {
            let t = own.map_or(n / 2, |prior| prior.lane_true.of(n));
            ([t, n - t], CountSource::Uniform)
        } else if self.uniformity.tail_guard(b) && own.is_none() {
            // One warp of a block of 1,024 threads.
            ([n, n / 32], CountSource::TailGuard)
        } else {
            let [t, f] = self.outlook(b, at.lanes).any.map(|any| any.of(n));
            // At least one way is taken.
            ([t, f.max(n - t)], CountSource::Prior)
        }
    }

    /// Lanes that are true in the executions by one kind of warps.
    fn lanes_true(&self, b: Block, at: Part, sides: ([u64; 2], CountSource)) -> u64 {
        let all = at.lane_passes();
        match (sides, at.mask, self.uniformity.known_mask(b)) {
            ((_, CountSource::Mask), Some(lanes), Some(mask)) => {
                at.passes.saturating_mul((lanes & mask).count_ones().into())
            }
            (([t, _], CountSource::Uniform), ..) => t.saturating_mul(at.lanes.into()),
            // Of the warp that splits, half the lanes.
            (([_, f], CountSource::TailGuard), ..) => {
                all.saturating_sub(f.saturating_mul(at.lanes.into()) / 2)
            }
            _ => self.prior(b).lane_true.of(all),
        }
    }

    fn branch(&mut self, b: Block) {
        let at = self.state[b];
        let (mut counts, source) = if matches!(self.func.term(b), Terminator::Br { .. }) {
            let sides @ [full, last] = at.map(|part| self.sides(b, part));
            let [t, f] = [0, 1].map(|side| full.0[side] + last.0[side]);
            let mut counts = two_way(passes(&at), t, f);
            let lanes = [0, 1].map(|i| self.lanes_true(b, at[i], sides[i]));
            let all: u64 = at.iter().map(Part::lane_passes).sum();
            let on: u64 = lanes.iter().sum();
            counts.lanes = SmallVec::from_buf([on, all.saturating_sub(on)]);
            (counts, full.1)
        } else {
            self.switch(b, passes(&at))
        };
        if !self.cfg.branches(b) {
            counts.splits = 0;
        }
        self.out.profile.set_branch(b, counts);
        self.out.source[b] = Some(source);
    }

    /// Of `n` executions of a switch, those with a lane on one edge: a divergent
    /// one goes everywhere, a uniform one to each target equally often.
    fn entry(&self, b: Block, n: u64) -> u64 {
        match self.uniformity.is_uniform_branch(b) {
            true => n / (self.cfg.succs(b).len() as u64).max(1),
            false => n,
        }
    }

    fn switch(&self, b: Block, n: u64) -> (BranchCounts, CountSource) {
        let uniform = self.uniformity.is_uniform_branch(b);
        let targets = self.cfg.succs(b).len();
        let counts = BranchCounts {
            executions: n,
            taken: (0..targets).map(|_| self.entry(b, n)).collect(),
            splits: if uniform { 0 } else { n },
            ..BranchCounts::default()
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
        taken: SmallVec::from_buf([any_true, any_false]),
        splits: (any_true + any_false).saturating_sub(n),
        ..BranchCounts::default()
    }
}
