//! The straight form of a region, as a list of what will be emitted.
//!
//! A plan is made once, priced, and emitted as it is; the rewrite adds nothing
//! and decides nothing. A region and the regions nested in it are walked in
//! program order, the side that is first in layout first, and each instruction is
//! appended: *bare* when it is safe to speculate, *guarded* by the predicate
//! of its side otherwise. A side that returns or traps at its end does so by a
//! guarded exit or trap. Block parameters become plain names for what the only
//! edge passes; parameters of a join are *merged*:
//!
//! - the sides pass one value: that value;
//! - a side's definition is guarded anyway, and the other side's value is at
//!   hand before it: that value becomes the definition's `else`;
//! - a side's definition is bare and a guard is cheaper than a select: it is
//!   guarded by the branch's condition, with the other value as its `else`;
//! - otherwise a select on the branch's condition.
//!
//! The predicate of a side is computed at its first use, once, so sides that
//! need no guard pay for none. Predicates are signed: `and`, `or` and `andn`
//! express every conjunction of two signed predicates in one operation.
//!
//! In the lanes that a side does not belong to, a guarded definition without
//! `else` holds poison. Bare instructions pass it on harmlessly, except where
//! it would become an address or a guard in an active lane: values that may be
//! poison there are *tainted*, loads at tainted addresses are guarded, and
//! tainted predicates are used only below the predicate of their own side
//! (where `and` with it hides the poison).
//!
//! Behind a guarded exit or trap straight code issues only while some lane is
//! left, so each item names the *gate* it is behind: the segment, in the order
//! of [`Regions::blocks`], where lanes must still be alive. The walk keeps that
//! order.

mod merge;
mod walk;

use hashbrown::{HashMap, HashSet};
use warpfold_analysis::regions::Regions;
use warpfold_analysis::uniformity::Uniformity;
use warpfold_analysis::{Cfg, Loops};
use warpfold_ir::entity::SecondaryMap;
use warpfold_ir::{Block, CostClass, Function, Inst, Opcode, Value};
use warpfold_machine::Machine;

use super::hints::Hints;
use super::legality::Blocker;
use crate::report::{Force, StraightShape};

/// A value in a plan.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Val {
    /// A value of the canonical function.
    Old(Value),
    /// The result of the item at this position.
    Item(usize),
}

/// A predicate or its opposite.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Signed {
    /// The predicate.
    pub val: Val,
    /// Whether its opposite is meant.
    pub negated: bool,
}

/// The guard of an emitted instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlanGuard {
    /// Where it holds.
    pub pred: Signed,
    /// The result elsewhere.
    pub otherwise: Option<Val>,
}

/// What an item emits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// An instruction of the canonical function, with this guard.
    Inst(Inst, Option<PlanGuard>),
    /// A predicate operation: `and`, `andn` or `or`.
    Pred(Opcode, Val, Val),
    /// A select: condition, value where it holds, value elsewhere.
    Select(Val, Val, Val),
    /// The end of a side that ends in this block: a guarded exit or trap.
    Leave(Block, Signed),
}

/// Where lanes must be alive for an item to issue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gate {
    /// No lane can have left since the head.
    Open,
    /// At the start of this segment of this block in straight order; of the
    /// join, at the end of the region.
    At(Block, u32),
}

/// One emitted instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Item {
    /// What is emitted.
    pub what: What,
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
    /// Block parameters inside the region, and what they stand for.
    pub names: Vec<(Value, Val)>,
    /// What the parameters of the join receive.
    pub join_args: Vec<Val>,
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
            match item.what {
                What::Inst(i, guard) if func.inst(i).cost_class() != CostClass::Const => {
                    s.instructions += 1;
                    s.guarded += u32::from(guard.is_some());
                }
                What::Inst(..) => {}
                What::Pred(..) => s.predicates += 1,
                What::Select(..) => s.selects += 1,
                What::Leave(..) => s.exits += 1,
            }
        }
        s
    }
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
    /// Each block's place in a topological order that does not depend on the
    /// order of edges.
    pub places: &'a SecondaryMap<Block, u32>,
    /// The knob, if one is set.
    pub force: Option<Force>,
}

/// Plans the straight form of the region headed by `head`.
///
/// # Errors
/// What forbids it.
pub fn plan(cx: &Inputs<'_>, head: Block, join: Block) -> Result<Plan, Blocker> {
    let mut planner = Planner {
        cx,
        consts: Vec::new(),
        items: Vec::new(),
        names: HashMap::new(),
        order: Vec::new(),
        home: HashMap::new(),
        tainted: HashSet::new(),
        addressing: HashSet::new(),
        classes: Vec::new(),
        gates: vec![None],
    };
    let merged = planner.region(head, join, None, 1)?;
    let outside = cx.cfg.preds(join).len() > merged.edges;
    Ok(planner.finish(head, join, merged.args, outside))
}

type ClassId = usize;

/// The lanes of one side of one branch.
#[derive(Clone, Copy)]
struct Class {
    /// The class that the branch belongs to; `None` is the root's head.
    parent: Option<ClassId>,
    /// The branch's condition, turned for this side.
    cond: Signed,
    /// The full predicate, once something needed it.
    pred: Option<Signed>,
    /// The head of the branch.
    head: Block,
}

struct Merged {
    args: Vec<Val>,
    /// Edges of the region into the join.
    edges: usize,
}

struct Side {
    /// What it passes to the join; `None` if it never gets there.
    args: Option<Vec<Val>>,
    edges: usize,
    class: ClassId,
    /// Its items.
    range: std::ops::Range<usize>,
}

struct Planner<'a> {
    cx: &'a Inputs<'a>,
    /// Constants go first: they are free, and then always at hand.
    consts: Vec<Item>,
    items: Vec<(What, Block, usize)>,
    names: HashMap<Value, Val>,
    order: Vec<Value>,
    /// Where a value is defined: item and class.
    home: HashMap<Value, (usize, ClassId)>,
    tainted: HashSet<Val>,
    /// What goes into the addresses of speculated loads. They are valid in
    /// every lane as computed, and only so.
    addressing: HashSet<Val>,
    classes: Vec<Class>,
    /// The gates opened so far; `None` is the first, and the last while the
    /// segment that follows is not known yet. Items name them by position
    /// until the plan is finished.
    gates: Vec<Option<(Block, u32)>>,
}

impl Planner<'_> {
    pub(super) fn finish(self, head: Block, join: Block, args: Vec<Val>, keeps_jump: bool) -> Plan {
        // Putting the constants in front moves every other item back.
        let by = self.consts.len();
        let shift = |v: Val| match v {
            Val::Item(i) => Val::Item(i + by),
            old => old,
        };
        let shift_signed = |p: Signed| Signed {
            val: shift(p.val),
            ..p
        };
        let shift_guard = |g: PlanGuard| PlanGuard {
            pred: shift_signed(g.pred),
            otherwise: g.otherwise.map(shift),
        };
        let gate = |i: usize| match (i, self.gates[i]) {
            (0, _) => Gate::Open,
            (_, Some((b, segment))) => Gate::At(b, segment),
            (_, None) => Gate::At(join, 0),
        };
        let items = self.items.iter().map(|&(what, owner, at)| Item {
            what: match what {
                What::Inst(i, g) => What::Inst(i, g.map(shift_guard)),
                What::Pred(op, a, b) => What::Pred(op, shift(a), shift(b)),
                What::Select(c, a, b) => What::Select(shift(c), shift(a), shift(b)),
                What::Leave(b, p) => What::Leave(b, shift_signed(p)),
            },
            owner,
            gate: gate(at),
        });
        Plan {
            head,
            join,
            items: self.consts.iter().copied().chain(items).collect(),
            names: self
                .order
                .iter()
                .map(|&v| (v, shift(self.names[&v])))
                .collect(),
            join_args: args.into_iter().map(shift).collect(),
            keeps_jump,
            end: if self.gates.len() == 1 {
                Gate::Open
            } else {
                Gate::At(join, 0)
            },
        }
    }

    pub(super) fn resolve(&self, v: Value) -> Val {
        self.names.get(&v).copied().unwrap_or(Val::Old(v))
    }

    pub(super) fn name(&mut self, param: Value, val: Val) {
        self.names.insert(param, val);
        self.order.push(param);
    }

    pub(super) fn bind(&mut self, block: Block, args: &[Val]) {
        for (i, &arg) in args.iter().enumerate() {
            let param = self.cx.func.block(block).params[i];
            self.name(param, arg);
        }
    }

    pub(super) fn is_tainted(&self, v: Val) -> bool {
        self.tainted.contains(&v)
    }

    pub(super) fn push(&mut self, what: What, owner: Block) -> Val {
        self.items.push((what, owner, self.gates.len() - 1));
        Val::Item(self.items.len() - 1)
    }

    /// A segment begins. Gates matter once a lane may have left.
    pub(super) fn begin(&mut self, block: Block, segment: u32) {
        if let [_, .., last] = self.gates.as_mut_slice() {
            match last {
                None => *last = Some((block, segment)),
                Some(_) => self.gates.push(Some((block, segment))),
            }
        }
    }

    /// What follows is behind a gate that the next segment will name.
    pub(super) fn open_gate(&mut self) {
        if self.gates.len() == 1 || self.gates.last().is_some_and(Option::is_some) {
            self.gates.push(None);
        }
    }

    /// What follows stands behind a block; a gate only if one is open at all.
    pub(super) fn end_of_block(&mut self) {
        if self.gates.len() > 1 {
            self.open_gate();
        }
    }
}
