//! Counting while a launch runs.
//!
//! What is counted per issue is counted for a whole segment when it begins,
//! because the active lanes stay the same until its end. A lane that traps in
//! the middle changes them; then the issues after it are taken back and, if
//! lanes are left, counted again with the new masks. Counts by class and
//! instruction follow at the end from the passes of the segments.

use cranelift_entity::{EntityRef, SecondaryMap};
use warpfold_analysis::Profile;
use warpfold_ir::{Block, CostClass};

use crate::counters::{
    BlockCounters, BranchCounters, BranchKinds, Counters, LostLanes, WarpCounters,
};
use crate::linked::Linked;
use crate::outcome::FunctionOutcome;
use crate::program::{Issues, Program};

/// The lanes of a warp at an issue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WarpLanes {
    /// Lanes that have a thread.
    pub exist: u32,
    /// Those that have not left.
    pub live: u32,
    /// Those that are active.
    pub active: u32,
}

impl WarpLanes {
    fn partial(self) -> u64 {
        u64::from(self.exist.count_zeros())
    }
    fn exited(self) -> u64 {
        u64::from((self.exist & !self.live).count_ones())
    }
    fn diverged(self) -> u64 {
        u64::from((self.live & !self.active).count_ones())
    }
    fn active(self) -> u64 {
        u64::from(self.active.count_ones())
    }
}

/// Counts of one branch.
#[derive(Clone, Debug)]
pub(crate) struct BranchTally {
    pub executions: u64,
    pub taken: Vec<u64>,
    /// By edge: lanes that took it.
    pub taken_lanes: Vec<u64>,
    pub divergent: u64,
    pub extra_targets: u64,
    lanes: u64,
    lost: LostLanes,
}

impl BranchTally {
    pub(crate) fn execute(&mut self, lanes: WarpLanes) {
        self.executions += 1;
        self.lanes += lanes.active();
        self.lost.partial += lanes.partial();
        self.lost.exited += lanes.exited();
        self.lost.diverged += lanes.diverged();
    }
}

/// Counts of a launch.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    pub counters: Counters,
    /// By position of the function.
    functions: Vec<FunctionTally>,
    /// The function that runs.
    pub at: usize,
    pub warps: Vec<WarpCounters>,
}

/// Counts of one function.
#[derive(Clone, Debug)]
struct FunctionTally {
    /// By segment.
    passes: Vec<u64>,
    /// By op: issues counted with a segment that did not happen.
    abandoned: Vec<u64>,
    /// By block: the same for terminators.
    abandoned_terms: SecondaryMap<Block, u64>,
    /// Passes and lanes.
    blocks: SecondaryMap<Block, (u64, u64)>,
    branches: Vec<BranchTally>,
}

/// The counts in their published form.
pub(crate) struct Summary {
    pub counters: Counters,
    /// Those that are reached, by position.
    pub functions: Vec<FunctionOutcome>,
}

impl Summary {
    /// Whether the lanes of all issues add up, in total and at each branch, no
    /// issue had none, and the issues of all classes are all issues.
    pub(crate) fn adds_up(&self) -> bool {
        let c = &self.counters;
        let mut branches = self.functions.iter().flat_map(|f| &f.branches);
        let by_lanes = c.active_lanes.iter().zip(0..);
        c.lanes_add_up()
            && c.active_lanes[0] == 0
            && c.active_lanes.iter().sum::<u64>() == c.inst_executed
            && by_lanes.map(|(n, lanes)| n * lanes).sum::<u64>() == c.thread_inst_executed
            && c.classes.iter().sum::<u64>() == c.inst_executed
            && branches.all(|b| 32 * b.executions == b.lanes + b.lost.total())
    }
}

impl Tally {
    pub(crate) fn new(linked: &Linked<'_>) -> Self {
        Self {
            counters: Counters {
                max_call_depth: 1,
                ..Counters::default()
            },
            functions: linked
                .programs
                .iter()
                .map(|p| FunctionTally::new(p.as_ref()))
                .collect(),
            at: linked.entry,
            warps: Vec::new(),
        }
    }

    /// The counts of a branch of the function that runs.
    #[inline(always)]
    pub(crate) fn branch(&mut self, index: usize) -> &mut BranchTally {
        &mut self.functions[self.at].branches[index]
    }

    #[inline(always)]
    pub(crate) fn enter_block(&mut self, b: Block, mask: u32) {
        let (passes, lanes) = &mut self.functions[self.at].blocks[b];
        *passes += 1;
        *lanes += u64::from(mask.count_ones());
    }

    #[inline(always)]
    pub(crate) fn begin_segment(
        &mut self,
        segment: usize,
        issues: Issues,
        lanes: WarpLanes,
        warp: &mut WarpCounters,
    ) {
        self.functions[self.at].passes[segment] += 1;
        self.add(issues, lanes, warp);
    }

    /// Counts issues under these masks.
    #[inline(always)]
    pub(crate) fn add(&mut self, issues: Issues, lanes: WarpLanes, warp: &mut WarpCounters) {
        let (n, active) = (issues.all, lanes.active());
        let c = &mut self.counters;
        warp.issued += n;
        warp.thread_inst += n * active;
        c.thread_inst_executed_pred_on += issues.bare * active;
        c.lost.partial += n * lanes.partial();
        c.lost.exited += n * lanes.exited();
        c.lost.diverged += n * lanes.diverged();
        c.active_lanes[active as usize] += n;
    }

    /// Takes issues back that were counted under these masks.
    pub(crate) fn take_back(&mut self, issues: Issues, lanes: WarpLanes, warp: &mut WarpCounters) {
        let (n, active) = (issues.all, lanes.active());
        let c = &mut self.counters;
        warp.issued -= n;
        warp.thread_inst -= n * active;
        c.thread_inst_executed_pred_on -= issues.bare * active;
        c.lost.partial -= n * lanes.partial();
        c.lost.exited -= n * lanes.exited();
        c.lost.diverged -= n * lanes.diverged();
        c.active_lanes[active as usize] -= n;
    }

    /// Notes that these ops, and the terminator if `term`, did not issue in
    /// this pass.
    pub(crate) fn abandon(&mut self, ops: std::ops::Range<usize>, term: Option<Block>) {
        for n in &mut self.functions[self.at].abandoned[ops] {
            *n += 1;
        }
        if let Some(b) = term {
            self.functions[self.at].abandoned_terms[b] += 1;
        }
    }

    /// Notes that these ops, and the terminator if `term`, issue after all.
    pub(crate) fn take_up(&mut self, ops: std::ops::Range<usize>, term: Option<Block>) {
        for n in &mut self.functions[self.at].abandoned[ops] {
            *n -= 1;
        }
        if let Some(b) = term {
            self.functions[self.at].abandoned_terms[b] -= 1;
        }
    }

    #[inline(always)]
    pub(crate) fn guarded(&mut self, active: u32, on: u32) {
        self.counters.thread_inst_executed_pred_on += u64::from(on.count_ones());
        self.counters.lost.predicated += u64::from((active & !on).count_ones());
    }

    /// Makes counters of it all.
    pub(crate) fn summary(&self, linked: &Linked<'_>) -> Summary {
        let mut c = self.counters.clone();
        for warp in &self.warps {
            c.inst_executed += warp.issued;
            c.thread_inst_executed += warp.thread_inst;
        }
        let mut functions = Vec::new();
        for (function, (program, tally)) in linked.programs.iter().zip(&self.functions).enumerate()
        {
            if let Some(program) = program {
                functions.push(tally.summary(function, program, &mut c));
            }
        }
        Summary {
            counters: c,
            functions,
        }
    }

    /// The counts of branches and segments of a function as a profile.
    pub(crate) fn profile(&self, linked: &Linked<'_>, program: &Program<'_>) -> Profile {
        let mut profile = self.functions[linked.entry].profile(program);
        let mut c = Counters::default();
        for (i, (program, tally)) in linked.programs.iter().zip(&self.functions).enumerate() {
            if let Some(program) = program
                && i != linked.entry
            {
                tally.summary(i, program, &mut c);
            }
        }
        let callees = profile.callees_mut();
        callees.classes = c.classes;
        callees.guarded = c.guarded;
        // Of indirect calls only those that split are counted so far.
        let split = c.branches.split + self.counters.branches.split;
        callees.branches = [c.branches.proven, c.branches.agree, split];
        profile
    }
}

impl FunctionTally {
    /// Of a function that is never reached there is nothing to count.
    fn new(program: Option<&Program<'_>>) -> Self {
        let branch = |edges: usize| BranchTally {
            executions: 0,
            taken: vec![0; edges],
            taken_lanes: vec![0; edges],
            divergent: 0,
            extra_targets: 0,
            lanes: 0,
            lost: LostLanes::default(),
        };
        let (segments, ops) = program.map_or((0, 0), |p| (p.segments.len(), p.ops.len()));
        Self {
            passes: vec![0; segments],
            abandoned: vec![0; ops],
            abandoned_terms: SecondaryMap::new(),
            blocks: SecondaryMap::new(),
            branches: program
                .iter()
                .flat_map(|p| &p.branches)
                .map(|b| branch(b.edges.len()))
                .collect(),
        }
    }

    /// Its counters; adds what is summed over functions to `c`.
    fn summary(&self, function: usize, program: &Program<'_>, c: &mut Counters) -> FunctionOutcome {
        let func = program.func;
        let mut issues = vec![0; func.num_insts()];
        let mut term_issues = vec![0; func.num_blocks()];
        let mut class = |class: CostClass, n: u64| c.classes[class.index()] += n;
        for (segment, &passes) in program.segments.iter().zip(&self.passes) {
            for op in segment.first as usize..segment.end as usize {
                let inst = program.insts[op];
                let n = passes - self.abandoned[op];
                issues[inst.index()] += n;
                class(func.inst(inst).cost_class(), n);
            }
            if segment.last {
                let n = passes - self.abandoned_terms[segment.block];
                term_issues[segment.block.index()] += n;
                class(func.term(segment.block).cost_class(), n);
            }
        }
        c.guarded += program
            .insts
            .iter()
            .filter(|&&i| func.inst(i).guard.is_some())
            .map(|&i| issues[i.index()])
            .sum::<u64>();
        let branches: Vec<BranchCounters> = program
            .branches
            .iter()
            .zip(&self.branches)
            .map(|(code, t)| BranchCounters {
                block: code.block,
                origin: func.block(code.block).origin,
                proven: code.proven,
                executions: t.executions,
                taken: t.taken.clone(),
                divergent: t.divergent,
                extra_targets: t.extra_targets,
                lanes: t.lanes,
                lost: t.lost,
            })
            .collect();
        for b in &branches {
            let BranchKinds {
                proven,
                agree,
                split,
            } = b.kinds();
            c.branches.proven += proven;
            c.branches.agree += agree;
            c.branches.split += split;
            c.divergent_branch += b.divergent;
            c.extra_targets += b.extra_targets;
        }
        let blocks = func
            .layout
            .iter()
            .map(|&block| BlockCounters {
                block,
                passes: self.blocks[block].0,
                lanes: self.blocks[block].1,
                segments: self.segments_of(program, block).to_vec(),
            })
            .collect();
        FunctionOutcome {
            function,
            name: func.name.clone(),
            branches,
            blocks,
            issues,
            term_issues,
        }
    }

    fn segments_of(&self, program: &Program<'_>, b: Block) -> &[u64] {
        match &program.blocks[b] {
            Some(code) => &self.passes[code.segments.start as usize..code.segments.end as usize],
            None => &[],
        }
    }

    /// The counts of branches and segments as a profile.
    fn profile(&self, program: &Program<'_>) -> Profile {
        let mut profile = Profile::new();
        for (code, t) in program.branches.iter().zip(&self.branches) {
            let counts = profile.branch_mut(code.block);
            counts.executions = t.executions;
            counts.taken.extend(t.taken.iter().copied());
            counts.splits = t.divergent;
            counts.lanes.extend(t.taken_lanes.iter().copied());
        }
        for &b in &program.func.layout {
            for (k, &n) in self.segments_of(program, b).iter().enumerate() {
                profile.add_passes(b, k as u32, n);
            }
        }
        profile
    }
}
