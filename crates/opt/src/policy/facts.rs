//! What the rules read of a region.
//!
//! A *side* is what an edge of the head leads to before the join. Its
//! instructions are those that issue; constants are no instructions. Where
//! nested regions have become straight (or skipped), their joined values count
//! as selects of the side and their branches are gone.

use hashbrown::HashSet;
use warpfold_analysis::regions::{RegionId, RegionShape};
use warpfold_ir::{Block, CostClass, Function, InstData, Terminator, Value};
use warpfold_machine::Cost;

use crate::ifconv::policy::Question;
use crate::report::Form;
use crate::safety::speculation;

/// One side of a region.
#[derive(Clone, Debug, Default)]
pub struct Side<'a> {
    /// Its instructions that issue, in topological order of the blocks.
    pub insts: Vec<&'a InstData>,
    /// Its blocks.
    pub blocks: Vec<Block>,
    /// Selects that nested regions have become.
    pub selects: usize,
    /// Whether a branch is left inside.
    pub branches: bool,
    /// Whether a path through it returns or traps.
    pub leaves: bool,
}

impl<'a> Side<'a> {
    /// Instructions, selects of nested regions among them.
    pub fn len(&self) -> usize {
        self.insts.len() + self.selects
    }

    /// Whether nothing issues on it but perhaps a jump.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether an instruction is of a class that `of` names.
    pub fn has(&self, of: impl Fn(CostClass) -> bool) -> bool {
        self.insts.iter().any(|data| of(data.cost_class()))
    }

    /// Whether all of it is safe to speculate.
    pub fn is_safe(&self, func: &Function) -> bool {
        let mut insts = self.insts.iter();
        !self.leaves && insts.all(|data| speculation(func, data).is_ok())
    }

    /// The sum over its instructions; selects weigh `select`.
    pub fn sum(&self, select: u64, of: impl Fn(&'a InstData) -> u64) -> u64 {
        let insts = self.insts.iter().map(|data| of(data));
        insts.fold(
            select.saturating_mul(self.selects as u64),
            u64::saturating_add,
        )
    }
}

/// What is known of a region that a rule decides about.
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    /// The question asked.
    pub question: Question<'a>,
    /// Its shape.
    pub shape: RegionShape,
    /// By edge of the head.
    pub sides: Vec<Side<'a>>,
    /// Values that differ by side where the lanes meet again.
    pub joined: usize,
    /// Whether the condition is provably uniform.
    pub uniform: bool,
}

impl<'a> Facts<'a> {
    /// Gathers them.
    pub fn new(question: &Question<'a>) -> Self {
        let q = *question;
        let region = &q.regions[q.region];
        let targets = q.func.term(region.head).targets();
        Self {
            question: q,
            shape: region.shape,
            sides: targets.iter().map(|to| side(&q, to.block)).collect(),
            joined: joined(&q, q.region),
            uniform: q.uniformity.is_uniform_branch(region.head),
        }
    }

    /// Whether it is a triangle or a diamond (mirrored and degenerate ones
    /// included) without a branch left inside: what converts from the inside
    /// out.
    pub fn flat(&self) -> bool {
        let shapes = [
            RegionShape::Degenerate,
            RegionShape::Triangle,
            RegionShape::Diamond,
        ];
        shapes.contains(&self.shape) && !self.sides.iter().any(|s| s.branches)
    }

    /// Whether straight-line code is legal.
    pub fn may_be_straight(&self) -> bool {
        self.question.price(Form::Straight).is_some()
    }

    /// Straight-line code if `yes`, else the branch.
    pub fn straight_if(&self, yes: bool) -> Form {
        if yes { Form::Straight } else { Form::Branch }
    }

    /// Straight-line code where no side needs its skip, else a skip.
    pub fn skip_unless(&self, unneeded: impl Fn(usize, &Side<'a>) -> bool) -> Form {
        let mut sides = self.sides.iter().enumerate();
        match sides.all(|(i, side)| side.is_empty() || unneeded(i, side)) {
            true => Form::Straight,
            false => Form::Skip,
        }
    }

    /// Whether a body that begins with `first` is on a side that keeps its
    /// skip.
    pub fn skips(&self, first: Block, unneeded: impl Fn(usize, &Side<'a>) -> bool) -> bool {
        let mut sides = self.sides.iter().enumerate();
        sides
            .any(|(i, side)| side.blocks.contains(&first) && !side.is_empty() && !unneeded(i, side))
    }

    /// The lanes that go along edge `index`, of how many; even odds where it is
    /// not known.
    pub fn lane_share(&self, index: usize) -> (u64, u64) {
        let head = self.question.regions[self.question.region].head;
        let counts = self.question.counts.branch(head);
        counts.lane_share(index as u32).unwrap_or((1, 2))
    }

    /// Issues of all sides together cost this on the machine.
    pub fn issue_cost(&self, side: &Side<'_>) -> Cost {
        let machine = self.question.machine;
        let insts: Cost = side
            .insts
            .iter()
            .map(|data| machine.issue_cost(data.cost_class()))
            .sum();
        insts + machine.issue_cost(CostClass::Select) * side.selects as u64
    }

    /// What executing a branch costs on the machine in all, when the warp
    /// agrees.
    pub fn branch_cost(&self) -> Cost {
        let machine = self.question.machine;
        machine.issue_cost(CostClass::Branch) + machine.branch_overhead(false, false)
    }
}

fn side<'a>(q: &Question<'a>, to: Block) -> Side<'a> {
    let mut side = Side::default();
    let inside = |b: Block| q.regions.contains(q.region, b);
    let mut reached = HashSet::new();
    let mut work = vec![to];
    while let Some(b) = work.pop() {
        if inside(b) && reached.insert(b) {
            work.extend(q.func.term(b).targets().iter().map(|call| call.block));
        }
    }
    side.blocks = q.regions.blocks(q.region).to_vec();
    side.blocks.retain(|b| reached.contains(b));
    for &b in &side.blocks {
        let insts = q.func.block(b).insts.iter().map(|&i| q.func.inst(i));
        let issue = insts.filter(|data| data.cost_class() != CostClass::Const);
        side.insts.extend(issue);
        match q.func.term(b) {
            Terminator::Ret(_) | Terminator::Trap(_) | Terminator::TailCall(_) => {
                side.leaves = true;
            }
            Terminator::Jump(_) => {}
            Terminator::Br { .. } | Terminator::Switch { .. } => {
                let nested = q.regions.headed_by(b).ok();
                match nested.filter(|&r| q.answered(r) != Form::Branch) {
                    Some(r) => side.selects += joined(q, r),
                    // A test that heads no region goes with the one around it.
                    None => side.branches |= nested.is_some() || owner(q, b) == q.region,
                }
            }
        }
    }
    side
}

/// The region that decides for a branch that heads none.
fn owner(q: &Question<'_>, b: Block) -> RegionId {
    q.regions.smallest_containing(b).unwrap_or(q.region)
}

/// How many parameters of the join of `region` get different values from its
/// edges.
fn joined(q: &Question<'_>, region: RegionId) -> usize {
    let r = &q.regions[region];
    let edges = std::iter::once(r.head).chain(q.regions.blocks(region).iter().copied());
    let mut first: Option<Vec<Value>> = None;
    let mut differs = vec![false; q.func.block(r.join).params.len()];
    for b in edges {
        for call in q.func.term(b).targets() {
            if call.block != r.join {
                continue;
            }
            match &first {
                None => first = Some(call.args.to_vec()),
                Some(args) => {
                    for (i, (a, b)) in args.iter().zip(&call.args).enumerate() {
                        differs[i] |= a != b;
                    }
                }
            }
        }
    }
    differs.iter().filter(|&&d| d).count()
}
