//! Making a plan from a study and the bodies that are skipped.
//!
//! First it is seen which full predicates are needed, inner regions first. Then
//! one walk over the bodies appends items. In the end values are carried out of
//! the bodies that may be jumped over, and constants go to the front: they are
//! free, and then always at hand.

mod meld;

use hashbrown::HashMap;
use smallvec::SmallVec;
use warpfold_analysis::regions::RegionId;
use warpfold_ir::{
    Block, CostClass, Function, Guard, Inst, InstData, IntCC, Opcode, Terminator, Type, Value,
};

use super::carry::{self, Carrying};
use super::{Gate, Inputs, Item, Plan, PlanGuard, Signed, Val as V, What};
use crate::ifconv::guards::GuardId;
use crate::ifconv::idiom::Idiom;
use crate::ifconv::logic::{Literal, OpId, OpKind, Truth};
use crate::ifconv::outline::{Outline, Outlines, Piece};
use crate::ifconv::scratch::Small;
use crate::ifconv::solve::Flags;
use crate::ifconv::study::meld::Definition;
use crate::ifconv::study::{How, Inside, Merge, Place, RegionStudy, Shield, Study, Sym, Symbols};

/// While a plan is made, constants at the front are items with numbers from here
/// on: how many others come behind them is not known yet.
pub(super) const FRONT: u32 = u32::MAX / 2;

/// The types of what items make.
#[derive(Clone, Debug, Default)]
pub(super) struct Types(Vec<Option<Type>>);

impl Types {
    /// The type of a value that is no constant at the front.
    pub(super) fn of(&self, func: &Function, v: V) -> Type {
        match v {
            V::Old(v) => func.ty(v),
            V::Item(i) => self
                .0
                .get(i as usize)
                .copied()
                .flatten()
                .unwrap_or(Type::Pred),
        }
    }
}

/// A plan before its items have their final numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Made {
    /// Constants.
    pub front: Vec<Item>,
    pub items: Vec<Item>,
    pub types: Types,
    /// What a value replaces, by item.
    pub fallback: Vec<Option<V>>,
    pub join_args: SmallVec<[V; 2]>,
    pub names: Vec<(Value, V)>,
}

/// What is needed while a plan is made; kept from one to the next.
#[derive(Clone, Debug, Default)]
pub struct Room {
    needs: Inside<Flags>,
    constants: Small<(Type, u128), V>,
    made: Made,
    vals: Symbols<V>,
    ops: Small<(RegionId, OpId), Signed>,
    fulls: Small<(RegionId, GuardId), Signed>,
    bodies: Vec<Gate>,
    carrying: Carrying,
}

/// What is computed in front of bodies: body and operation, body and the first
/// body that has the full predicate; by body.
struct Points {
    ops: SmallVec<[(usize, OpId); 4]>,
    fulls: SmallVec<[(usize, usize); 4]>,
}

/// What stands at `at` in a list that is in order.
fn here<T: Copy>(list: &[(usize, T)], at: usize) -> impl Iterator<Item = T> + '_ {
    let from = list.partition_point(|&(place, _)| place < at);
    let here = list[from..].iter().take_while(move |l| l.0 == at);
    here.map(|&(_, what)| what)
}

/// The join of a region is reached, so its lanes do not all leave or stay out.
const SOME_STAY: &str = "a body that needs a predicate is not everybody's";

/// An operation stands in front of the first body that may use it.
const IN_ORDER: &str = "operations are computed before they are used";

/// Plans the straight form of the study's root, with the bodies for which
/// `skipped` holds behind jumps.
pub fn build(
    cx: &Inputs<'_>,
    outlines: &Outlines,
    study: &Study,
    skipped: &dyn Fn(RegionId, usize) -> bool,
    room: &mut Room,
) -> Plan {
    room.needs.begin(study.root);
    room.constants.clear();
    room.vals.clear();
    room.ops.clear();
    room.fulls.clear();
    let made = &mut room.made;
    made.front.clear();
    made.items.clear();
    made.types.0.clear();
    made.fallback.clear();
    made.names.clear();
    made.join_args.clear();
    let mut builder = Builder {
        cx,
        outlines,
        study,
        skipped,
        needs: &mut room.needs,
        constants: &mut room.constants,
        made,
        vals: &mut room.vals,
        ops: &mut room.ops,
        fulls: &mut room.fulls,
        bodies: &mut room.bodies,
        gate: 0,
        definitions: HashMap::new(),
    };
    builder.need(study.root);
    builder.region(study.root);
    builder.finish(&mut room.carrying)
}

struct Builder<'a> {
    cx: &'a Inputs<'a>,
    outlines: &'a Outlines,
    study: &'a Study,
    skipped: &'a dyn Fn(RegionId, usize) -> bool,
    /// The bodies whose full predicate is needed.
    needs: &'a mut Inside<Flags>,
    constants: &'a mut Small<(Type, u128), V>,
    made: &'a mut Made,
    vals: &'a mut Symbols<V>,
    ops: &'a mut Small<(RegionId, OpId), Signed>,
    /// Full predicates, by region and guard.
    fulls: &'a mut Small<(RegionId, GuardId), Signed>,
    /// The gates of the skipped bodies around.
    bodies: &'a mut Vec<Gate>,
    /// Number of places passed where lanes may have left.
    gate: usize,
    /// Definitions that have another guard or `else` where sides are merged.
    definitions: HashMap<Inst, Definition>,
}

impl Builder<'_> {
    /// Sees which full predicates a region needs; whether it needs the one
    /// around it.
    fn need(&mut self, id: RegionId) -> bool {
        let study = self.study.region(id);
        let meld = self.melded(id);
        let mut needs = Flags::from_elem(false, study.bodies.len());
        for (k, body) in study.bodies.iter().enumerate() {
            let guarded = meld.map_or(body.guarded, |m| m.guarded[k]);
            let mut needed = guarded || (self.skipped)(id, k);
            for &inner in &body.nested {
                needed |= self.need(inner);
            }
            needs[k] = needed;
        }
        let any = !study.all && needs.contains(&true) || meld.is_some_and(|m| m.around);
        self.needs.set(id, needs);
        any
    }

    fn push(&mut self, what: What, owner: Block, ty: Option<Type>) -> V {
        let gate = match self.bodies.last() {
            Some(&gate) => gate,
            None => self.study.gates[self.gate],
        };
        self.made.items.push(Item { what, owner, gate });
        self.made.types.0.push(ty);
        self.made.fallback.push(None);
        V::Item(self.made.items.len() as u32 - 1)
    }

    fn at_front(&mut self, what: What, owner: Block) -> V {
        self.made.front.push(Item {
            what,
            owner,
            gate: Gate::Open,
        });
        V::Item(FRONT + self.made.front.len() as u32 - 1)
    }

    #[inline]
    fn get(&self, sym: Sym) -> V {
        let sym = self.study.resolve(sym);
        match (self.vals.get(&sym), sym) {
            (Some(&v), _) => v,
            (None, Sym::Value(v)) => V::Old(v),
            (None, _) => unreachable!("what a region brings is made before it is used"),
        }
    }

    fn value(&self, v: Value) -> V {
        self.get(Sym::Value(v))
    }

    fn region(&mut self, id: RegionId) {
        let outline = self.outlines.legal(id);
        let study = self.study.region(id);
        let points = self.points(outline, study);
        if let Some(meld) = self.melded(id) {
            return self.meld(outline, study, meld, &points);
        }
        for (k, body) in outline.bodies.iter().enumerate() {
            self.point(outline, study, &points, k);
            let skipped = (self.skipped)(id, k);
            if skipped {
                let vote = !(study.uniform && body.uniform);
                let body_pred = self.full(id, k);
                let open = What::Open {
                    body: body_pred.expect(SOME_STAY),
                    vote,
                };
                self.push(open, outline.head, None);
                self.bodies.push(Gate::Reached(body.first.0, body.first.1));
            }
            for &piece in &body.pieces {
                match piece {
                    Piece::Segment {
                        own, insts, last, ..
                    } => {
                        self.segment(outline, k, own, insts);
                        if last {
                            self.end_of_block(outline, study, k, own);
                        }
                    }
                    Piece::Nested { own, region } => {
                        self.region(region);
                        self.steps_after(outline, study, own);
                    }
                }
            }
            if skipped {
                let own = &study.bodies[k];
                let [before, after] = [own.gate, own.end].map(|g| self.study.gates[g as usize]);
                self.bodies.pop();
                self.bodies
                    .push(Gate::end_of_body(body.first, before, after));
                self.push(What::Close, outline.head, None);
                self.bodies.pop();
            }
        }
        self.point(outline, study, &points, outline.bodies.len());
    }

    /// What is computed in front of each body: the operations and the full
    /// predicates that are needed.
    fn points(&self, outline: &Outline, study: &RegionStudy) -> Points {
        let needs = self
            .needs
            .get(outline.region)
            .expect("they were seen first");
        let mut needed = study.computed.clone();
        if self.melded(outline.region).is_some() {
            outline.logic.close(outline.bodies[0].truth, &mut needed);
        }
        let mut points = Points {
            ops: SmallVec::new(),
            fulls: SmallVec::new(),
        };
        let mut seen = Flags::from_elem(false, outline.bodies.len());
        for (k, body) in outline.bodies.iter().enumerate() {
            if !needs[k] {
                continue;
            }
            outline.logic.close(body.truth, &mut needed);
            let point = body.first_of_guard;
            if matches!(body.truth, Truth::Literal(_))
                && !study.all
                && !std::mem::replace(&mut seen[point], true)
            {
                points.fulls.push((point, k));
            }
        }
        let point = |op| outline.logic.op(op).point as usize;
        points.ops.extend(needed.iter().map(|op| (point(op), op)));
        // Those in front of one body stay in order.
        points.ops.sort_by_key(|&(point, _)| point);
        points.fulls.sort_by_key(|&(point, _)| point);
        points
    }

    /// What stands in front of body `k`: predicates that are known by now, and
    /// the steps of merges where ways meet.
    fn point(&mut self, outline: &Outline, study: &RegionStudy, points: &Points, k: usize) {
        self.predicates(outline, study, points, k);
        for m in study.meeting(k) {
            self.meet(outline, m as u32, &study.merges[m]);
        }
    }

    fn predicates(&mut self, outline: &Outline, study: &RegionStudy, points: &Points, k: usize) {
        let id = outline.region;
        for op in here(&points.ops, k) {
            self.op(outline, op);
        }
        for j in here(&points.fulls, k) {
            let body = &outline.bodies[j];
            let outer = study.parent.and_then(|(around, b)| self.full(around, b));
            if let (Some(outer), Truth::Literal(l)) = (outer, body.truth) {
                let both = self.both(outer, self.literal(id, l), outline.head);
                self.fulls.insert((id, body.guard), both);
            }
        }
    }

    /// What becomes of a parameter where ways meet.
    fn meet(&mut self, outline: &Outline, m: u32, merge: &Merge) {
        for n in 0..merge.steps.len() {
            if merge.steps[n].place == Place::Meeting {
                self.step(outline, merge, m, n as u32);
            }
        }
        let made = self.get(last(outline.region, m, merge, merge.steps.len()));
        self.vals.insert(merge.target, made);
    }

    fn op(&mut self, outline: &Outline, op: OpId) {
        let id = outline.region;
        let func = self.cx.func;
        let condition = |test: u32| func.term(outline.tests[test as usize]).condition();
        let pred = match outline.logic.op(op).kind {
            OpKind::Condition { test } => {
                let cond = condition(test).expect("a test has a condition");
                Signed {
                    val: self.value(cond),
                    negated: false,
                }
            }
            OpKind::Takes { test, edge } => {
                let index = condition(test).expect("a test has a condition");
                let edges = func.term(outline.tests[test as usize]).targets().len();
                let cc = match edge as usize + 1 == edges {
                    true => IntCC::Uge,
                    false => IntCC::Eq,
                };
                let number = self.constant(func.ty(index), edge.into(), outline.head);
                let compare = What::Compare(cc, self.value(index), number);
                Signed {
                    val: self.push(compare, outline.head, Some(Type::Pred)),
                    negated: false,
                }
            }
            OpKind::And(a, b) => {
                let (a, b) = (self.literal(id, a), self.literal(id, b));
                self.both(a, b, outline.head)
            }
        };
        self.ops.insert((id, op), pred);
    }

    fn constant(&mut self, ty: Type, bits: u128, owner: Block) -> V {
        if let Some(&v) = self.constants.get(&(ty, bits)) {
            return v;
        }
        let v = self.at_front(What::Const(ty, bits), owner);
        self.constants.insert((ty, bits), v);
        v
    }

    fn literal(&self, id: RegionId, l: Literal) -> Signed {
        let made = self.ops.get(&(id, l.op)).expect(IN_ORDER);
        Signed {
            val: made.val,
            negated: made.negated != l.negated,
        }
    }

    /// The full predicate of a body; `None` if it holds in every lane.
    fn full(&self, mut id: RegionId, mut k: usize) -> Option<Signed> {
        loop {
            let study = self.study.region(id);
            let body = &self.outlines.legal(id).bodies[k];
            match (body.truth, study.parent) {
                (Truth::Literal(l), _) if study.all => return Some(self.literal(id, l)),
                (Truth::Literal(_), _) => return self.fulls.get(&(id, body.guard)).copied(),
                (Truth::Known(_), Some(around)) if !study.all => (id, k) = around,
                (Truth::Known(_), _) => return None,
            }
        }
    }

    /// The conjunction of two signed predicates, in one operation.
    fn both(&mut self, a: Signed, b: Signed, owner: Block) -> Signed {
        let (op, x, y, negated) = match (a.negated, b.negated) {
            (false, false) => (Opcode::And, a.val, b.val, false),
            (false, true) => (Opcode::Andn, a.val, b.val, false),
            (true, false) => (Opcode::Andn, b.val, a.val, false),
            (true, true) => (Opcode::Or, a.val, b.val, true),
        };
        let val = self.push(What::Pred(op, x, y), owner, Some(Type::Pred));
        Signed { val, negated }
    }

    /// The select of a step; the others are definitions.
    fn step(&mut self, outline: &Outline, merge: &Merge, m: u32, n: u32) {
        let id = outline.region;
        let step = &merge.steps[n as usize];
        if matches!(step.how, How::Otherwise(_)) {
            return;
        }
        let before = self.get(last(id, m, merge, n as usize));
        let value = self.get(step.value);
        let select = |builder: &Self| {
            let chosen = builder.literal(id, step.chosen);
            let (a, b) = match chosen.negated {
                false => (value, before),
                true => (before, value),
            };
            What::Select(chosen.val, a, b)
        };
        let ty = match self.study.resolve(step.value) {
            Sym::Value(v) => self.cx.func.ty(v),
            _ => self.made.types.of(self.cx.func, value),
        };
        let what = match step.how {
            How::Idiom(Idiom::Both(op)) => What::Idiom(op, ty, [value, before].into()),
            How::Idiom(Idiom::One(op, v)) => What::Idiom(op, ty, [self.value(v)][..].into()),
            How::Idiom(Idiom::Condition(op)) => {
                let chosen = self.literal(id, step.chosen);
                What::Idiom(op, ty, [chosen.val][..].into())
            }
            How::Select | How::Otherwise(_) => select(self),
        };
        let made = self.push(what, outline.head, Some(ty));
        if let V::Item(at) = made {
            self.made.fallback[at as usize] = Some(before);
        }
        self.vals.insert(Sym::Step(id, m, n), made);
    }

    fn steps_after(&mut self, outline: &Outline, study: &RegionStudy, own: usize) {
        for (m, n) in study.after(own) {
            self.step(outline, &study.merges[m as usize], m, n);
        }
    }

    fn segment(&mut self, outline: &Outline, k: usize, own: usize, insts: (u32, u32)) {
        let all = &self.cx.func.block(outline.blocks[own].block).insts;
        for &inst in &all[insts.0 as usize..insts.1 as usize] {
            self.inst(outline, k, inst);
        }
    }

    fn inst(&mut self, outline: &Outline, k: usize, inst: Inst) {
        let data = self.cx.func.inst(inst);
        if data.cost_class() == CostClass::Const {
            let what = What::Inst {
                inst,
                args: SmallVec::new(),
                guard: None,
            };
            self.at_front(what, outline.head);
            return;
        }
        let guard = self.guard(outline, k, inst, data);
        let mut args = SmallVec::new();
        for &v in &data.args {
            args.push(self.value(v));
        }
        let what = What::Inst { inst, args, guard };
        let made = self.push(what, outline.head, None);
        if let (V::Item(at), Some(otherwise)) = (made, self.definition(inst).otherwise) {
            self.made.fallback[at as usize] = Some(self.get(otherwise));
        }
        if data.op.effects().retires {
            self.gate += 1;
        }
    }

    /// The guard and the `else` that the study gives a definition.
    fn definition(&self, inst: Inst) -> Definition {
        let known = self.definitions.get(&inst).copied();
        known.unwrap_or_else(|| Definition {
            shield: self.study.shields.get(&inst).copied(),
            otherwise: self.study.otherwise.get(&inst).copied(),
        })
    }

    fn end_of_block(&mut self, outline: &Outline, study: &RegionStudy, k: usize, own: usize) {
        let block = outline.blocks[own].block;
        let term = self.cx.func.term(block);
        if matches!(term, Terminator::Ret(_) | Terminator::Trap(_)) {
            let lanes = self.full(outline.region, k).expect(SOME_STAY);
            self.push(What::Leave(block, lanes), outline.head, None);
            self.gate += 1;
        }
        if outline.blocks[own].nested.is_none() {
            self.steps_after(outline, study, own);
        }
    }

    fn guard(
        &mut self,
        outline: &Outline,
        k: usize,
        inst: Inst,
        data: &InstData,
    ) -> Option<PlanGuard> {
        let own = data.guard.map(|g: Guard| PlanGuard {
            pred: Signed {
                val: self.value(g.pred),
                negated: g.negated,
            },
            otherwise: g.otherwise.map(|v| self.value(v)),
        });
        let definition = self.definition(inst);
        let Some(shield) = definition.shield else {
            return own;
        };
        let otherwise = definition.otherwise.map(|s| self.get(s));
        let pred = match (shield, own) {
            (Shield::Choice(l), _) => self.literal(outline.region, l),
            (Shield::Full, _) | (Shield::Both, None) => {
                self.full(outline.region, k).expect(SOME_STAY)
            }
            (Shield::Both, Some(own)) => {
                let full = self.full(outline.region, k).expect(SOME_STAY);
                self.both(full, own.pred, outline.head)
            }
        };
        Some(PlanGuard {
            pred,
            otherwise: otherwise.or(own.and_then(|g| g.otherwise)),
        })
    }

    fn finish(self, carrying: &mut Carrying) -> Plan {
        let cx = self.cx;
        let root = self.study.root;
        let outline = self.outlines.legal(root);
        let (head, join) = (outline.head, outline.join);
        for i in 0..cx.func.block(join).params.len() {
            let joined = self.get(Sym::Joined(root, i as u32));
            self.made.join_args.push(joined);
        }
        for &v in &self.study.escaping {
            let value = self.value(v);
            self.made.names.push((v, value));
        }
        let keeps_jump = super::keeps_jump(cx, root);
        let end = self.study.gates[self.gate];
        let plan = Plan {
            head,
            join,
            items: Vec::new(),
            names: self.made.names.clone(),
            join_args: self.made.join_args.clone(),
            keeps_jump,
            end,
        };
        carry::finish(cx.func, self.made, carrying, plan)
    }
}

/// What is there after the first `n` steps of a merge.
fn last(id: RegionId, m: u32, merge: &Merge, n: usize) -> Sym {
    match n.checked_sub(1).map(|i| (i, &merge.steps[i])) {
        None => merge.first,
        Some((_, step)) if matches!(step.how, How::Otherwise(_)) => step.value,
        Some((i, _)) => Sym::Step(id, m, i as u32),
    }
}
