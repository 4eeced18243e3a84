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

use hashbrown::{HashMap, HashSet};
use warpfold_analysis::regions::Regions;
use warpfold_analysis::{Cfg, segments};
use warpfold_ir::entity::SecondaryMap;
use warpfold_ir::{
    Block, BlockCall, CostClass, Function, Guard, Inst, InstData, Opcode, Shape, Terminator, Value,
};
use warpfold_machine::Machine;

use super::legality::{Blocker, MAX_DEPTH};
use crate::edit::has_calls;
use crate::report::{Force, StraightShape};
use crate::safety::speculation;

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
    fn finish(self, head: Block, join: Block, args: Vec<Val>, keeps_jump: bool) -> Plan {
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

    fn resolve(&self, v: Value) -> Val {
        self.names.get(&v).copied().unwrap_or(Val::Old(v))
    }

    fn name(&mut self, param: Value, val: Val) {
        self.names.insert(param, val);
        self.order.push(param);
    }

    fn bind(&mut self, block: Block, args: &[Val]) {
        for (i, &arg) in args.iter().enumerate() {
            let param = self.cx.func.block(block).params[i];
            self.name(param, arg);
        }
    }

    fn is_tainted(&self, v: Val) -> bool {
        self.tainted.contains(&v)
    }

    fn push(&mut self, what: What, owner: Block) -> Val {
        self.items.push((what, owner, self.gates.len() - 1));
        Val::Item(self.items.len() - 1)
    }

    /// A segment begins. Gates matter once a lane may have left.
    fn begin(&mut self, block: Block, segment: u32) {
        if let [_, .., last] = self.gates.as_mut_slice() {
            match last {
                None => *last = Some((block, segment)),
                Some(_) => self.gates.push(Some((block, segment))),
            }
        }
    }

    /// What follows is behind a gate that the next segment will name.
    fn open_gate(&mut self) {
        if self.gates.len() == 1 || self.gates.last().is_some_and(Option::is_some) {
            self.gates.push(None);
        }
    }

    /// What follows stands behind a block; a gate only if one is open at all.
    fn end_of_block(&mut self) {
        if self.gates.len() > 1 {
            self.open_gate();
        }
    }

    /// Plans the region at `head`, whose own lanes are `class`.
    fn region(
        &mut self,
        head: Block,
        join: Block,
        class: Option<ClassId>,
        depth: u32,
    ) -> Result<Merged, Blocker> {
        if depth > MAX_DEPTH {
            return Err(Blocker::Depth { block: head });
        }
        let Terminator::Br {
            cond,
            then,
            otherwise,
            ..
        } = self.cx.func.term(head)
        else {
            return Err(Blocker::Switch { block: head });
        };
        let cond = self.resolve(*cond);
        // An edge to the join has nothing to emit; its place does not matter.
        let places = self.cx.places;
        let swap = places[otherwise.block] < places[then.block];
        let mut calls = [(then, false), (otherwise, true)];
        if swap {
            calls.reverse();
        }
        let [first, second] = calls;
        let first = self.side(head, first.0, join, (cond, first.1), class, depth)?;
        let second = self.side(head, second.0, join, (cond, second.1), class, depth)?;
        let edges = first.edges + second.edges;
        let args = match (&first.args, &second.args) {
            (Some(a), Some(b)) => (0..a.len())
                .map(|i| self.merge(head, cond, [(a[i], &first), (b[i], &second)], swap))
                .collect(),
            (Some(args), None) | (None, Some(args)) => args.clone(),
            (None, None) => Vec::new(),
        };
        Ok(Merged { args, edges })
    }

    fn side(
        &mut self,
        head: Block,
        call: &BlockCall,
        join: Block,
        (cond, negated): (Val, bool),
        parent: Option<ClassId>,
        depth: u32,
    ) -> Result<Side, Blocker> {
        let cx = self.cx;
        let start = self.items.len();
        let class = self.classes.len();
        self.classes.push(Class {
            parent,
            cond: Signed { val: cond, negated },
            pred: None,
            head,
        });
        let mut args: Vec<Val> = call.args.iter().map(|&a| self.resolve(a)).collect();
        let mut block = call.block;
        // Edges that lead to `block` from where the walk has been.
        let mut edges = 1;
        while block != join {
            if cx.cfg.preds(block).len() != edges {
                return Err(Blocker::Shape { block });
            }
            self.bind(block, &args);
            for (segment, insts) in segments(cx.func, block).enumerate() {
                self.begin(block, segment as u32);
                for &inst in insts {
                    self.inst(inst, class)?;
                }
            }
            let term = cx.func.term(block);
            // A return or trap still belongs to the block's last segment.
            if !term.is_end() {
                self.end_of_block();
            }
            match term {
                Terminator::Jump(to) => {
                    args = to.args.iter().map(|&a| self.resolve(a)).collect();
                    block = to.block;
                    edges = 1;
                }
                Terminator::Br { .. } => {
                    let Ok(inner) = cx.regions.headed_by(block) else {
                        return Err(Blocker::Shape { block });
                    };
                    let inner_join = cx.regions[inner].join;
                    let merged = self.region(block, inner_join, Some(class), depth + 1)?;
                    (args, edges) = (merged.args, merged.edges);
                    block = inner_join;
                }
                Terminator::Switch { .. } => return Err(Blocker::Switch { block }),
                Terminator::Ret(values) if !values.is_empty() || has_calls(cx.func) => {
                    return Err(Blocker::EarlyEnd { block });
                }
                Terminator::TailCall(_) => return Err(Blocker::EarlyEnd { block }),
                Terminator::Ret(_) | Terminator::Trap(_) => {
                    if cx.force == Some(Force::Select) {
                        return Err(Blocker::EarlyEnd { block });
                    }
                    let lanes = self.predicate(class);
                    self.push(What::Leave(block, lanes), head);
                    self.open_gate();
                    return Ok(Side {
                        args: None,
                        edges: 0,
                        class,
                        range: start..self.items.len(),
                    });
                }
            }
        }
        Ok(Side {
            args: Some(args),
            edges,
            class,
            range: start..self.items.len(),
        })
    }

    fn inst(&mut self, inst: Inst, class: ClassId) -> Result<(), Blocker> {
        let cx = self.cx;
        let data = cx.func.inst(inst);
        let owner = self.classes[class].head;
        if data.cost_class() == CostClass::Const {
            self.consts.push(Item {
                what: What::Inst(inst, None),
                owner,
                gate: Gate::Open,
            });
            return Ok(());
        }
        if data.op.effects().syncs {
            return Err(Blocker::Sync { inst });
        }
        if data.op.effects().calls {
            return Err(Blocker::Call { inst });
        }
        let safe = speculation(cx.func, data);
        if let (Some(Force::Select), Err(why)) = (cx.force, safe) {
            return Err(Blocker::Unsafe { inst, why });
        }
        let guard = self.guard_for(data, class, safe.is_ok());
        if data.op.shape() == Shape::Load && safe.is_ok() {
            self.is_address(self.resolve(data.args[0]));
        }
        let poisoned = match guard {
            // Off the side it is the `else` value, if there is one.
            Some(g) => g.otherwise.is_none_or(|v| self.is_tainted(v)),
            None => false,
        } || data.args.iter().any(|&a| self.is_tainted(self.resolve(a)));
        let at = self.items.len();
        self.push(What::Inst(inst, guard), owner);
        if data.op.effects().retires {
            self.open_gate();
        }
        if let Some(result) = cx.func.result(inst) {
            self.home.insert(result, (at, class));
            if poisoned {
                self.tainted.insert(Val::Old(result));
            }
        }
        Ok(())
    }

    /// The guard that an instruction of `class` gets: its own, the predicate
    /// of its class, both, or none.
    fn guard_for(&mut self, data: &InstData, class: ClassId, safe: bool) -> Option<PlanGuard> {
        let own = data.guard.map(|g: Guard| PlanGuard {
            pred: Signed {
                val: self.resolve(g.pred),
                negated: g.negated,
            },
            otherwise: g.otherwise.map(|v| self.resolve(v)),
        });
        let tainted_address =
            data.op.shape() == Shape::Load && self.is_tainted(self.resolve(data.args[0]));
        let tainted_guard = own.is_some_and(|g| self.is_tainted(g.pred.val));
        let bare =
            safe && !tainted_address && !tainted_guard && self.cx.force != Some(Force::Predicate);
        if bare {
            return own;
        }
        let lanes = self.predicate(class);
        Some(match own {
            None => PlanGuard {
                pred: lanes,
                otherwise: None,
            },
            Some(g) => PlanGuard {
                pred: self.both(lanes, g.pred, self.classes[class].head),
                otherwise: g.otherwise,
            },
        })
    }

    /// The full predicate of a class, computed at its first use.
    fn predicate(&mut self, class: ClassId) -> Signed {
        if let Some(p) = self.classes[class].pred {
            return p;
        }
        let (cond, head) = (self.classes[class].cond, self.classes[class].head);
        let p = match self.classes[class].parent {
            None => cond,
            Some(parent) => {
                let outer = self.predicate(parent);
                self.both(outer, cond, head)
            }
        };
        self.classes[class].pred = Some(p);
        p
    }

    /// The conjunction of two signed predicates, in one operation.
    fn both(&mut self, a: Signed, b: Signed, owner: Block) -> Signed {
        let (op, x, y, negated) = match (a.negated, b.negated) {
            (false, false) => (Opcode::And, a.val, b.val, false),
            (false, true) => (Opcode::Andn, a.val, b.val, false),
            (true, false) => (Opcode::Andn, b.val, a.val, false),
            (true, true) => (Opcode::Or, a.val, b.val, true),
        };
        let val = self.push(What::Pred(op, x, y), owner);
        Signed { val, negated }
    }

    /// What a parameter of the join receives, from what the two sides pass;
    /// `swap` says that the first to be emitted is the else side.
    fn merge(
        &mut self,
        head: Block,
        cond: Val,
        [(a, first), (b, second)]: [(Val, &Side); 2],
        swap: bool,
    ) -> Val {
        if a == b || self.equal_constants(a, b) {
            return a;
        }
        // The first side's values are at hand in the second; the other way
        // round only what both sides started with.
        let early = !self.in_items(b, second);
        if self.use_as_else(b, second, a) {
            return b;
        }
        if early && self.use_as_else(a, first, b) {
            return a;
        }
        if self.guard_is_cheaper() {
            if self.guard_bare(b, second, a) {
                return b;
            }
            if early && self.guard_bare(a, first, b) {
                return a;
            }
        }
        let (then, otherwise) = if swap { (b, a) } else { (a, b) };
        let val = self.push(What::Select(cond, then, otherwise), head);
        if [cond, a, b].iter().any(|&v| self.is_tainted(v)) {
            self.tainted.insert(val);
        }
        val
    }

    fn equal_constants(&self, a: Val, b: Val) -> bool {
        let func = self.cx.func;
        let (Val::Old(a), Val::Old(b)) = (a, b) else {
            return false;
        };
        func.ty(a) == func.ty(b)
            && func
                .as_const(a)
                .is_some_and(|x| func.as_const(b) == Some(x))
    }

    /// Whether `v` comes from an item of the side. (Constants go first.)
    fn in_items(&self, v: Val, side: &Side) -> bool {
        match v {
            Val::Old(v) => self
                .home
                .get(&v)
                .is_some_and(|(at, _)| side.range.contains(at)),
            Val::Item(at) => side.range.contains(&at),
        }
    }

    /// The item that defines `v` in the side's own class, if an `else` can
    /// still be given to it.
    fn definition(&self, v: Val, side: &Side) -> Option<(usize, Inst, Option<PlanGuard>)> {
        let Val::Old(old) = v else { return None };
        let &(at, class) = self.home.get(&old)?;
        match self.items[at].0 {
            What::Inst(inst, guard)
                if class == side.class && self.cx.func.inst(inst).guard.is_none() =>
            {
                Some((at, inst, guard))
            }
            _ => None,
        }
    }

    /// Gives a definition that is guarded anyway the value `other` off its side.
    fn use_as_else(&mut self, v: Val, side: &Side, other: Val) -> bool {
        let Some((at, inst, Some(guard))) = self.definition(v, side) else {
            return false;
        };
        // A side's own predicate: where it does not hold, the other side runs
        // or nothing is wanted. Its `else` may be the wanted one already.
        let own = self.classes[side.class].pred == Some(guard.pred);
        if !own || guard.otherwise.is_some_and(|v| v != other) {
            return false;
        }
        self.items[at].0 = What::Inst(
            inst,
            Some(PlanGuard {
                otherwise: Some(other),
                ..guard
            }),
        );
        true
    }

    fn guard_is_cheaper(&self) -> bool {
        self.cx.force != Some(Force::Select)
            && self.cx.machine.guard < self.cx.machine.issue_cost(CostClass::Select)
    }

    /// Marks everything in the plan that `v` is computed from.
    fn is_address(&mut self, v: Val) {
        let mut stack = vec![v];
        while let Some(v) = stack.pop() {
            let at = match v {
                Val::Item(at) => at,
                Val::Old(old) => match self.home.get(&old) {
                    Some(&(at, _)) => at,
                    None => continue,
                },
            };
            if !self.addressing.insert(v) {
                continue;
            }
            match self.items[at].0 {
                What::Inst(inst, guard) => {
                    let args = self.cx.func.inst(inst).args.iter();
                    stack.extend(args.map(|&a| self.resolve(a)));
                    stack.extend(guard.map(|g| g.pred.val));
                    stack.extend(guard.and_then(|g| g.otherwise));
                }
                What::Pred(_, a, b) => stack.extend([a, b]),
                What::Select(c, a, b) => stack.extend([c, a, b]),
                What::Leave(..) => {}
            }
        }
    }

    /// Guards a bare definition by the condition of its branch, with the value
    /// `other` elsewhere. The condition alone will do: off the branch's own
    /// lanes a safe instruction may compute anything, unless a speculated load
    /// needs what it computes.
    fn guard_bare(&mut self, v: Val, side: &Side, other: Val) -> bool {
        let Class { cond, parent, .. } = self.classes[side.class];
        let Some((at, inst, None)) = self.definition(v, side) else {
            return false;
        };
        // The other side's value is good in the other side's lanes. In a
        // nested region there are more lanes, and what already uses the
        // definition relies on it not being poison there.
        if self.is_tainted(cond.val) || (parent.is_some() && self.is_tainted(other)) {
            return false;
        }
        if self.addressing.contains(&v) {
            return false;
        }
        self.items[at].0 = What::Inst(
            inst,
            Some(PlanGuard {
                pred: cond,
                otherwise: Some(other),
            }),
        );
        true
    }
}
