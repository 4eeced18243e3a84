//! The straight form of a region, as a list of what will be emitted.
//!
//! A plan is made once, priced, and emitted as it is; the rewrite adds nothing
//! and decides nothing. It follows from the [study](super::study) of its region
//! and from which bodies are skipped:
//!
//! - blocks in straight order, each instruction as the study has it;
//! - a predicate where its last condition is known, if a guard, a vote, a select
//!   or another predicate needs it, and once. The full predicate of a body inside
//!   is the conjunction of the full predicate around its region and its guard;
//! - where neither side of a diamond is skipped, equal instructions of both once,
//!   if that is [cheaper](super::study::meld);
//! - a skipped body behind a vote on its full predicate and a uniform jump,
//!   without the vote if the predicate is warp-uniform. Values that are used
//!   behind it become parameters of the block there: over the jump comes what a
//!   step of a merge would have replaced, and poison for anything else.
//!
//! Each item names the *gate* it is behind. Behind a guarded exit straight code
//! issues only while some lane is left, and what is in a skipped body only when
//! some lane comes there.

mod build;
mod carry;

use smallvec::SmallVec;
use warpfold_analysis::regions::{RegionId, Regions};
use warpfold_analysis::uniformity::Uniformity;
use warpfold_analysis::{Cfg, Loops};
use warpfold_ir::entity::SecondaryMap;
use warpfold_ir::{Block, CostClass, Function, Inst, IntCC, Opcode, Type, Value};
use warpfold_machine::Machine;

use super::hints::Hints;
use crate::report::{Force, StraightShape};

pub use build::{Room, build};

/// A value in a plan.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Val {
    /// A value of the canonical function.
    Old(Value),
    /// The result of the item at this position.
    Item(u32),
}

/// A predicate or its opposite.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Signed<V = Val> {
    /// The predicate.
    pub val: V,
    /// Whether its opposite is meant.
    pub negated: bool,
}

/// The guard of an emitted instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlanGuard<V = Val> {
    /// Where it holds.
    pub pred: Signed<V>,
    /// The result elsewhere.
    pub otherwise: Option<V>,
}

/// What an item emits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What<V = Val> {
    /// An instruction of the canonical function, with these operands and this
    /// guard.
    Inst {
        /// Which.
        inst: Inst,
        /// Its operands.
        args: SmallVec<[V; 3]>,
        /// Its guard.
        guard: Option<PlanGuard<V>>,
    },
    /// An instruction of each side of a region at once. It has the first's name.
    Merged {
        /// The first side's and the second's.
        insts: [Inst; 2],
        /// Its operands.
        args: SmallVec<[V; 3]>,
        /// Its guard.
        guard: Option<PlanGuard<V>>,
    },
    /// A constant.
    Const(Type, u128),
    /// What is in a value that was skipped.
    Poison(Type),
    /// A comparison of a switch's index.
    Compare(IntCC, V, V),
    /// A predicate operation: `and`, `andn` or `or`.
    Pred(Opcode, V, V),
    /// An operation that does the same as a select; it has the type of what the
    /// select would choose from.
    Idiom(Opcode, Type, SmallVec<[V; 2]>),
    /// A select: condition, value where it holds, value elsewhere.
    Select(V, V, V),
    /// The end of a block that returns or traps: a guarded exit or trap.
    Leave(Block, Signed<V>),
    /// A body begins that is skipped where its predicate holds in no lane.
    Open {
        /// The predicate.
        body: Signed<V>,
        /// Whether lanes must vote.
        vote: bool,
    },
    /// The body ends.
    Close,
    /// Behind a body: a value from inside, and what takes its place over the
    /// jump.
    Carry {
        /// The value.
        inside: V,
        /// What takes its place.
        outside: V,
    },
}

/// Where lanes must be for an item to issue.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Gate {
    /// No lane can have left since the head.
    Open,
    /// A lane alive at the start of this segment of this block in straight
    /// order; of the join, at the end of the region.
    At(Block, u32),
    /// A lane that reaches this segment of this block.
    Reached(Block, u32),
    /// The end of a body in which lanes may leave: one that some lane reached,
    /// while a lane is left. Where none reached it as many are left as before.
    Survived {
        /// Where the body begins.
        first: (Block, u32),
        /// The gate in front of it, [`At`](Self::At) a place; `None` if it is
        /// [`Open`](Self::Open).
        before: Option<(Block, u32)>,
        /// The place behind it.
        after: (Block, u32),
    },
}

impl Gate {
    /// The gate at the end of a body that begins at `first`, between these
    /// gates.
    pub(crate) fn end_of_body(first: (Block, u32), before: Self, after: Self) -> Self {
        match (before, after) {
            (Self::Open, Self::At(b, s)) => Self::Survived {
                first,
                before: None,
                after: (b, s),
            },
            (Self::At(block, segment), Self::At(b, s)) if before != after => Self::Survived {
                first,
                before: Some((block, segment)),
                after: (b, s),
            },
            _ => Self::Reached(first.0, first.1),
        }
    }
}

/// One emitted instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Item<V = Val> {
    /// What is emitted.
    pub what: What<V>,
    /// The head of the region that pays for it.
    pub owner: Block,
    /// What it is behind.
    pub gate: Gate,
}

/// The straight form of a region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// The head of the region; its branch goes away.
    pub head: Block,
    /// Where the region ends.
    pub join: Block,
    /// What is emitted in place of the branch, in order.
    pub items: Vec<Item>,
    /// Block parameters inside the region that are used outside, and what they
    /// stand for.
    pub names: Vec<(Value, Val)>,
    /// What the parameters of the join receive.
    pub join_args: SmallVec<[Val; 2]>,
    /// Whether a jump to the join remains; otherwise the join is appended.
    pub keeps_jump: bool,
    /// What comes behind the items.
    pub end: Gate,
}

impl Plan {
    /// How many instructions of each kind it emits.
    pub fn shape(&self, func: &Function) -> StraightShape {
        let mut s = StraightShape::default();
        for item in &self.items {
            match &item.what {
                What::Inst { inst, guard, .. }
                    if func.inst(*inst).cost_class() != CostClass::Const =>
                {
                    s.instructions += 1;
                    s.guarded += u32::from(guard.is_some());
                }
                What::Merged { guard, .. } => {
                    s.instructions += 1;
                    s.merged += 1;
                    s.guarded += u32::from(guard.is_some());
                }
                What::Compare(..) | What::Pred(..) => s.predicates += 1,
                What::Select(..) | What::Idiom(..) => s.selects += 1,
                What::Leave(..) => s.exits += 1,
                What::Open { .. } => s.skips += 1,
                What::Inst { .. }
                | What::Const(..)
                | What::Poison(_)
                | What::Close
                | What::Carry { .. } => {}
            }
        }
        s
    }
}

/// Where in straight order a value is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Used {
    first: u32,
    last: u32,
}

impl Default for Used {
    /// Nowhere.
    fn default() -> Self {
        Self {
            first: u32::MAX,
            last: 0,
        }
    }
}

impl Used {
    /// Whether it is used outside of these places.
    pub fn outside(self, places: &std::ops::Range<u32>) -> bool {
        self.first <= self.last && (self.first < places.start || self.last >= places.end)
    }
}

/// Where every value is used.
pub type Uses = SecondaryMap<Value, Used>;

/// Finds the uses of all values. What no path reaches counts as everywhere.
pub fn uses(func: &Function, regions: &Regions) -> Uses {
    let mut uses = Uses::new();
    if regions.is_empty() {
        return uses;
    }
    uses.resize(func.num_values());
    for &b in &func.layout {
        let (first, last) = match regions.place(b) {
            Some(place) => (place, place),
            None => (0, u32::MAX),
        };
        let mut note = |v: Value| {
            let all = &mut uses[v];
            all.first = all.first.min(first);
            all.last = all.last.max(last);
        };
        for &i in &func.block(b).insts {
            let data = func.inst(i);
            data.args.iter().copied().for_each(&mut note);
            if let Some(guard) = data.guard {
                note(guard.pred);
                guard.otherwise.into_iter().for_each(&mut note);
            }
        }
        func.term(b).uses().for_each(&mut note);
    }
    uses
}

/// Whether a jump to the join of a region remains behind its straight code:
/// whether the join has other predecessors.
pub(super) fn keeps_jump(cx: &Inputs<'_>, region: RegionId) -> bool {
    let (head, join) = (cx.regions[region].head, cx.regions[region].join);
    let inside = |b: Block| b == head || cx.regions.contains(region, b);
    cx.cfg.preds(join).iter().any(|e| !inside(e.from))
}

/// What a plan is made from.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// The canonical function.
    pub func: &'a Function,
    /// Its graph.
    pub cfg: &'a Cfg,
    /// Its regions.
    pub regions: &'a Regions,
    /// The machine, for the price of guards and selects.
    pub machine: &'a Machine,
    /// What is uniform.
    pub uniformity: &'a Uniformity,
    /// What authors ask for.
    pub hints: &'a Hints,
    /// Its loops.
    pub loops: &'a Loops,
    /// Where values are used.
    pub uses: &'a Uses,
    /// The branches that are reported.
    pub reported: &'a SecondaryMap<Block, bool>,
    /// The knob, if one is set.
    pub force: Option<Force>,
    /// Whether equal instructions of both sides are merged.
    pub merge: bool,
}
