//! What straight code of a region is made of, as far as it does not depend on
//! what is skipped in it: which instructions are guarded, what becomes of block
//! parameters, and what every part costs per issue.
//!
//! **Guards.** An instruction of a side stays *bare* where it is safe to
//! speculate, and is guarded by the full predicate of its body otherwise. In
//! lanes that are not its own a guarded result is poison, and so may be whatever
//! a skipped body would have computed. Bare instructions pass poison on; but it
//! must not become an address or a guard. A value is *clean* where it cannot be
//! poison in any lane that executes: it was defined outside; or it is the result
//! of a bare instruction with clean operands, in a body that is executed whenever
//! its use is; or a parameter that clean values and clean predicates make. Loads
//! at addresses that are not clean are guarded. Whether bodies are skipped does
//! not matter for that, so each form has the same guards.
//!
//! **Parameters.** Where ways meet, one way's value comes first and each further
//! one takes its place in the lanes that come that way (see [`How`]): a definition
//! that is guarded anyway has what came before as its `else`; a bare one is
//! guarded for the purpose where the machine's guard is cheaper than its select;
//! otherwise it takes a select. A way whose value is the first one needs nothing.
//! Values that are there before the region come first. A step stands at the end
//! of its way's body if its predicate is known by then, else where ways meet.
//!
//! What an address or a condition is computed from never becomes guarded for a
//! select's sake: it is good as computed, and only so.

use hashbrown::{HashMap, HashSet};
use warpfold_analysis::regions::RegionId;
use warpfold_ir::{Block, CostClass, Hint, Inst, InstData, Shape, Terminator, Type, Value};
use warpfold_machine::{Cost, Machine};

use super::idiom::{Idiom, find};
use super::ledger::issue_cost;
use super::logic::{Literal, OpId, OpKind, Truth};
use super::outline::{Arrival, Brought, Outline, Outlines, Piece, Source};
use super::plan::{Gate, Inputs};
use crate::report::Force;
use crate::safety::speculation;

/// A value before it is known which instruction makes it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Sym {
    /// A value of the canonical function.
    Value(Value),
    /// What a region brings to a parameter of its join.
    Joined(RegionId, u32),
    /// What is there after a step of a merge.
    Step(RegionId, u32, u32),
}

/// The guard that an instruction gets, where it is not its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shield {
    /// Its body's.
    Full,
    /// Its body's and its own.
    Both,
    /// What takes the place of a select.
    Choice(Literal),
}

/// How one way's value takes its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    /// By a select.
    Select,
    /// By an instruction that does the same.
    Idiom(Idiom),
    /// Its definition has the other value as its `else`.
    Otherwise(Inst),
}

/// Where a step stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Place {
    /// At the end of an own block, the region that it heads included.
    After(usize),
    /// In front of the body where the ways meet.
    Meeting,
}

/// One further value of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// The value.
    pub value: Sym,
    /// Where it takes its place.
    pub chosen: Literal,
    /// How.
    pub how: How,
    /// Where.
    pub place: Place,
    exact: bool,
    whole: bool,
    from: Source,
}

/// What becomes of one parameter where ways meet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Merge {
    /// The body in front of which ways meet; the number of bodies for the
    /// join.
    pub at: usize,
    /// What is made.
    pub target: Sym,
    /// The first value.
    pub first: Sym,
    /// The others.
    pub steps: Vec<Step>,
}

/// What is known of a body.
#[derive(Clone, Debug, Default)]
pub struct BodyStudy {
    /// Whether something in it needs its full predicate.
    pub guarded: bool,
    /// Cost per issue of its own items, by gate.
    pub units: Vec<(u32, Cost)>,
    /// Cost per issue of what stands in front of it.
    pub in_front: Cost,
    /// Whether it may be skipped.
    pub skippable: bool,
    /// Regions inside.
    pub nested: Vec<RegionId>,
    /// How many items it has.
    pub items: u32,
    /// The gates in front of it and behind it.
    pub gate: u32,
    /// See there.
    pub end: u32,
}

/// What is known of a region inside the root.
#[derive(Clone, Debug, Default)]
pub struct RegionStudy {
    /// Whether the lanes of its head are all that are there.
    pub all: bool,
    /// Whether they are all or none, as is proven.
    pub uniform: bool,
    /// The region around it and the body there.
    pub parent: Option<(RegionId, usize)>,
    /// The parameters where ways meet.
    pub merges: Vec<Merge>,
    /// The bodies.
    pub bodies: Vec<BodyStudy>,
    /// The gate at its end.
    pub end: u32,
    /// Cost per issue of what stands at its end.
    pub at_end: Cost,
    /// The operations that are needed in any case.
    pub computed: Vec<bool>,
    /// How many items it has.
    pub items: u32,
    /// The steps that stand at the end of each own block: merge and step.
    pub after: HashMap<usize, Vec<(u32, u32)>>,
    /// The merges in front of each body.
    pub meeting: HashMap<usize, Vec<u32>>,
}

/// The study of a root.
#[derive(Clone, Debug)]
pub struct Study {
    /// The region that becomes straight.
    pub root: RegionId,
    /// It and the regions inside.
    pub regions: HashMap<RegionId, RegionStudy>,
    /// Guards other than an instruction's own.
    pub shields: HashMap<Inst, Shield>,
    /// The `else` values that definitions take.
    pub otherwise: HashMap<Inst, Sym>,
    /// Parameters that are just names.
    pub names: HashMap<Sym, Sym>,
    /// Parameters with uses outside.
    pub escaping: Vec<Value>,
    /// The gates by number.
    pub gates: Vec<Gate>,
}

impl Study {
    /// What a symbol stands for, names resolved.
    pub fn resolve(&self, sym: Sym) -> Sym {
        resolve(&self.names, sym)
    }

    /// A region that is inside.
    pub fn region(&self, id: RegionId) -> &RegionStudy {
        &self.regions[&id]
    }
}

fn resolve(names: &HashMap<Sym, Sym>, mut sym: Sym) -> Sym {
    while let Some(&next) = names.get(&sym) {
        sym = next;
    }
    sym
}

/// Studies the region `root`, whose straight form is legal.
pub fn study(cx: &Inputs<'_>, outlines: &Outlines, root: RegionId) -> Study {
    let mut walk = Walk {
        cx,
        outlines,
        root,
        may_skip: matches!(cx.force, None | Some(Force::Skip)),
        out: Study {
            root,
            regions: HashMap::new(),
            shields: HashMap::new(),
            otherwise: HashMap::new(),
            names: HashMap::new(),
            escaping: Vec::new(),
            gates: Vec::new(),
        },
        defs: HashMap::new(),
        order: Vec::new(),
        ends: HashMap::new(),
        end_gates: HashMap::new(),
        placed: Vec::new(),
        around: Vec::new(),
        kept: HashSet::new(),
        body_scopes: HashMap::new(),
        scopes: vec![None],
        scope: 0,
        clock: 1,
        gates: vec![Some(Gate::Open)],
        pins: Vec::new(),
        pinned: HashSet::new(),
    };
    walk.region(root, None, true, true);
    walk.pin();
    walk.choose();
    walk.price();
    let join = cx.regions[root].join;
    let gates = walk.gates.iter();
    walk.out.gates = gates.map(|g| g.unwrap_or(Gate::At(join, 0))).collect();
    walk.out
}

#[derive(Clone, Copy, Debug)]
struct Def {
    region: RegionId,
    body: usize,
    scope: usize,
    clock: u32,
    clean: bool,
    /// The instruction, and whether it has a guard of its own.
    inst: Option<(Inst, bool)>,
}

struct Walk<'a> {
    cx: &'a Inputs<'a>,
    outlines: &'a Outlines,
    root: RegionId,
    may_skip: bool,
    out: Study,
    /// What is defined inside; constants are not listed.
    defs: HashMap<Sym, Def>,
    /// The regions, outer ones first.
    order: Vec<RegionId>,
    /// When an own block is over, and behind which gate.
    ends: HashMap<(RegionId, usize), u32>,
    end_gates: HashMap<(RegionId, usize), u32>,
    /// Where instructions stand: region, body, gate.
    placed: Vec<(Inst, RegionId, usize, u32)>,
    /// The bodies around the region that is walked.
    around: Vec<(RegionId, usize)>,
    /// Bodies that must not be skipped.
    kept: HashSet<(RegionId, usize)>,
    body_scopes: HashMap<(RegionId, usize), usize>,
    /// Bodies that may be skipped, each with the one around it.
    scopes: Vec<Option<usize>>,
    scope: usize,
    clock: u32,
    gates: Vec<Option<Gate>>,
    /// What must stay as it is computed.
    pins: Vec<Sym>,
    pinned: HashSet<Sym>,
}

impl Walk<'_> {
    fn gate(&self) -> u32 {
        self.gates.len() as u32 - 1
    }

    /// Lanes may have left.
    fn leave(&mut self) {
        self.gates.push(None);
    }

    fn begin(&mut self, block: Block, segment: u32) {
        if let Some(last @ None) = self.gates.last_mut() {
            *last = Some(Gate::At(block, segment));
        }
    }

    fn resolve(&self, v: Value) -> Sym {
        resolve(&self.out.names, Sym::Value(v))
    }

    fn is_inside(&self, outer: usize, mut scope: usize) -> bool {
        loop {
            if scope == outer {
                return true;
            }
            match self.scopes[scope] {
                Some(around) => scope = around,
                None => return false,
            }
        }
    }

    /// Whether a value is no poison in any lane that executes in `scope`.
    fn clean_in(&self, sym: Sym, scope: usize) -> bool {
        match self.defs.get(&resolve(&self.out.names, sym)) {
            None => true,
            Some(d) => d.clean && self.is_inside(d.scope, scope),
        }
    }

    fn clean(&self, sym: Sym) -> bool {
        self.clean_in(sym, self.scope)
    }

    fn escapes(&self, v: Value) -> bool {
        let places = self.cx.regions.places(self.root);
        self.cx.uses[v].is_some_and(|(first, last)| first < places.start || last >= places.end)
    }

    fn region(
        &mut self,
        id: RegionId,
        parent: Option<(RegionId, usize)>,
        all: bool,
        uniform: bool,
    ) {
        let outline = self.outlines.legal(id);
        self.order.push(id);
        let start = self.clock;
        let mut study = RegionStudy {
            all,
            uniform,
            parent,
            bodies: vec![BodyStudy::default(); outline.bodies.len()],
            computed: vec![false; outline.logic.len()],
            ..RegionStudy::default()
        };
        for &test in &outline.tests {
            let condition = self.cx.func.term(test).condition();
            self.pins.extend(condition.map(Sym::Value));
        }
        for (k, body) in outline.bodies.iter().enumerate() {
            study.bodies[k].gate = self.gate();
            if let Some(own) = body.meets {
                let own = &outline.blocks[own];
                let params = &self.cx.func.block(own.block).params;
                for (i, &param) in params.iter().enumerate() {
                    let target = Sym::Value(param);
                    let merge = self.merge(outline, &own.arrivals, i, k, target, start);
                    study.merges.extend(merge);
                    if self.escapes(param) {
                        self.out.escaping.push(param);
                    }
                }
            }
            let outer = self.scope;
            study.bodies[k].skippable = body.skippable && self.may_skip;
            if study.bodies[k].skippable {
                self.scopes.push(Some(outer));
                self.scope = self.scopes.len() - 1;
            }
            self.body_scopes.insert((id, k), self.scope);
            for &piece in &body.pieces {
                match piece {
                    Piece::Segment { .. } => self.segment(outline, &mut study, k, piece),
                    Piece::Nested { own, region } => {
                        let no_guard = body.truth == Truth::Known(true);
                        study.bodies[k].nested.push(region);
                        let all = all && no_guard;
                        self.around.push((id, k));
                        self.region(region, Some((id, k)), all, uniform && body.uniform);
                        self.around.pop();
                        self.end(id, own);
                    }
                }
            }
            self.scope = outer;
            study.bodies[k].end = self.gate();
        }
        study.end = self.gate();
        let params = self.cx.func.block(outline.join).params.len();
        for i in 0..params {
            let target = Sym::Joined(id, i as u32);
            let at = outline.bodies.len();
            let merge = self.merge(outline, &outline.arrivals, i, at, target, start);
            study.merges.extend(merge);
        }
        self.out.regions.insert(id, study);
    }

    fn segment(&mut self, outline: &Outline, study: &mut RegionStudy, k: usize, piece: Piece) {
        let Piece::Segment {
            own,
            segment,
            insts,
            last,
        } = piece
        else {
            return;
        };
        let func = self.cx.func;
        let block = outline.blocks[own].block;
        self.begin(block, segment);
        if segment == 0 && outline.blocks[own].arrivals.len() == 1 {
            let arrival = &outline.blocks[own].arrivals[0];
            for (i, &param) in func.block(block).params.iter().enumerate() {
                let sym = brought(arrival, i);
                self.out.names.insert(Sym::Value(param), sym);
                if self.escapes(param) {
                    self.out.escaping.push(param);
                }
            }
        }
        let everywhere = study.all && outline.bodies[k].truth == Truth::Known(true);
        let all_insts = &func.block(block).insts;
        for &inst in &all_insts[insts.0 as usize..insts.1 as usize] {
            self.inst(outline.region, study, k, inst, everywhere);
        }
        if last {
            self.end(outline.region, own);
            let term = func.term(block);
            if matches!(term, Terminator::Ret(_) | Terminator::Trap(_)) {
                let unit = self.cx.machine.issue_cost(CostClass::Ctl) + self.cx.machine.guard;
                self.charge(study, k, unit);
                study.bodies[k].items += 1;
                study.bodies[k].guarded = true;
                self.leave();
            }
        }
    }

    fn end(&mut self, region: RegionId, own: usize) {
        self.ends.insert((region, own), self.clock);
        self.end_gates.insert((region, own), self.gate());
        self.clock += 1;
    }

    fn charge(&self, study: &mut RegionStudy, k: usize, unit: Cost) {
        charge(&mut study.bodies[k].units, self.gate(), unit);
    }

    fn inst(
        &mut self,
        region: RegionId,
        study: &mut RegionStudy,
        k: usize,
        inst: Inst,
        everywhere: bool,
    ) {
        let data = self.cx.func.inst(inst);
        if data.cost_class() == CostClass::Const {
            return;
        }
        let safe = speculation(self.cx.func, data).is_ok();
        let is_load = data.op.shape() == Shape::Load;
        let mut shielded = false;
        if !everywhere {
            let address = is_load && !self.clean(self.resolve(data.args[0]));
            let guard = data
                .guard
                .is_some_and(|g| !self.clean(self.resolve(g.pred)));
            shielded = !safe || address || guard || self.cx.force == Some(Force::Predicate);
        }
        if shielded {
            let shield = match data.guard {
                None => Shield::Full,
                Some(_) => Shield::Both,
            };
            self.out.shields.insert(inst, shield);
            study.bodies[k].guarded = true;
        } else {
            if is_load {
                self.pins.push(Sym::Value(data.args[0]));
            }
            self.pins.extend(data.guard.map(|g| Sym::Value(g.pred)));
        }
        let own = data.guard;
        let clean = !shielded
            && own.is_none_or(|g| g.otherwise.is_some())
            && data.uses().all(|v| self.clean(Sym::Value(v)));
        if let Some(result) = self.cx.func.result(inst) {
            let def = Def {
                region,
                body: k,
                scope: self.scope,
                clock: self.clock,
                clean,
                inst: Some((inst, own.is_some())),
            };
            self.defs.insert(Sym::Value(result), def);
            if self.escapes(result) {
                // What is used outside under its own name cannot be skipped.
                self.kept.extend(self.around.iter().copied());
                self.kept.insert((region, k));
            }
        }
        self.clock += 1;
        self.placed.push((inst, region, k, self.gate()));
        if data.op.effects().retires {
            self.leave();
        }
    }

    /// What becomes of parameter `i` where `arrivals` meet, in front of body
    /// `at`; `None` where it is just a name.
    fn merge(
        &mut self,
        outline: &Outline,
        arrivals: &[Arrival],
        i: usize,
        at: usize,
        target: Sym,
        start: u32,
    ) -> Option<Merge> {
        let mut values: Vec<(Sym, &Arrival)> = arrivals
            .iter()
            .map(|a| (resolve(&self.out.names, brought(a, i)), a))
            .collect();
        let &(first, _) = values.first()?;
        if values.iter().all(|&(v, _)| self.equal(v, first)) {
            self.out.names.insert(target, first);
            return None;
        }
        // What is there already comes first, equal values together.
        let early = |v: Sym| self.defs.get(&v).is_none_or(|d| d.clock < start);
        let place = |v: Sym| values.iter().position(|&(w, _)| self.equal(v, w));
        let keys: Vec<(bool, Option<usize>)> = values
            .iter()
            .map(|&(v, _)| match early(v) {
                true => (false, place(v)),
                false => (true, None),
            })
            .collect();
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by_key(|&n| keys[n]);
        values = order.iter().map(|&n| values[n]).collect();
        let first = values[0].0;
        let mut steps: Vec<Step> = Vec::new();
        for &(value, a) in &values[1..] {
            let Truth::Literal(chosen) = a.chosen else {
                continue;
            };
            if self.equal(value, first) {
                continue;
            }
            let place = match a.from {
                Source::Own(o) | Source::Nested(o) if a.early => Place::After(o),
                _ => Place::Meeting,
            };
            steps.push(Step {
                value,
                chosen,
                how: How::Select,
                place,
                exact: a.exact,
                whole: a.whole,
                from: a.from,
            });
        }
        steps.sort_by_key(|s| s.place);
        let clean_step = |s: &Step| {
            let scope = match s.place {
                Place::After(o) => self.body_scopes[&(outline.region, outline.blocks[o].body)],
                Place::Meeting => self.scope,
            };
            self.clean_in(s.value, scope)
                && self.conditions_are_clean(outline, s.chosen, self.scope)
        };
        let clean = self.clean(first) && steps.iter().all(clean_step);
        let def = Def {
            region: outline.region,
            body: at,
            scope: self.scope,
            clock: self.clock,
            clean,
            inst: None,
        };
        self.defs.insert(target, def);
        self.clock += 1;
        Some(Merge {
            at,
            target,
            first,
            steps,
        })
    }

    /// Whether all conditions that a literal is computed from are no poison in
    /// `scope`.
    fn conditions_are_clean(&self, outline: &Outline, literal: Literal, scope: usize) -> bool {
        let mut needed = Vec::new();
        outline.logic.close(Truth::Literal(literal), &mut needed);
        let used = (0..)
            .zip(&needed)
            .filter(|(_, n)| **n)
            .map(|(op, _)| OpId(op));
        used.into_iter().all(|op| match outline.logic.op(op).kind {
            OpKind::Condition { test } | OpKind::Takes { test, .. } => {
                let term = self.cx.func.term(outline.tests[test as usize]);
                term.condition()
                    .is_none_or(|c| self.clean_in(Sym::Value(c), scope))
            }
            OpKind::And(..) => true,
        })
    }

    /// Whether two values are one, or equal constants.
    fn equal(&self, a: Sym, b: Sym) -> bool {
        if a == b {
            return true;
        }
        let func = self.cx.func;
        match (a, b) {
            (Sym::Value(a), Sym::Value(b)) => {
                let bits = func.as_const(a);
                bits.is_some() && bits == func.as_const(b) && func.ty(a) == func.ty(b)
            }
            _ => false,
        }
    }

    /// Everything inside that addresses and conditions are computed from.
    fn pin(&mut self) {
        let mut merges: HashMap<Sym, Vec<Sym>> = HashMap::new();
        for study in self.out.regions.values() {
            for merge in &study.merges {
                let values = merge.steps.iter().map(|s| s.value).chain([merge.first]);
                merges.insert(merge.target, values.collect());
            }
        }
        let mut work = std::mem::take(&mut self.pins);
        while let Some(sym) = work.pop() {
            let sym = resolve(&self.out.names, sym);
            let Some(def) = self.defs.get(&sym) else {
                continue;
            };
            if !self.pinned.insert(sym) {
                continue;
            }
            match def.inst {
                Some((inst, _)) => {
                    work.extend(self.cx.func.inst(inst).uses().map(Sym::Value));
                }
                None => work.extend(merges.get(&sym).into_iter().flatten().copied()),
            }
        }
    }

    /// Chooses how each value takes its place.
    fn choose(&mut self) {
        let cheaper = self.cx.force != Some(Force::Select)
            && self.cx.machine.guard < self.cx.machine.issue_cost(CostClass::Select);
        for id in self.order.clone() {
            let outline = self.outlines.legal(id);
            let mut study = self.out.regions.remove(&id).unwrap_or_default();
            for (m, merge) in study.merges.iter_mut().enumerate() {
                let mut last = merge.first;
                let mut clock = self.defs.get(&last).map_or(0, |d| d.clock);
                for (n, step) in merge.steps.iter_mut().enumerate() {
                    let def = self.defs.get(&step.value).copied();
                    let own = def.and_then(|d| self.definition(outline, step, d, last, clock));
                    let shield =
                        own.map(|(inst, d)| (inst, d, self.out.shields.get(&inst).copied()));
                    match shield {
                        Some((inst, d, Some(Shield::Full))) => {
                            self.out.otherwise.insert(inst, last);
                            step.how = How::Otherwise(inst);
                            (last, clock) = (step.value, d.clock);
                        }
                        Some((inst, d, None))
                            if cheaper && self.may_be_guarded(outline, study.all, step, d) =>
                        {
                            self.out.shields.insert(inst, Shield::Choice(step.chosen));
                            self.out.otherwise.insert(inst, last);
                            step.how = How::Otherwise(inst);
                            (last, clock) = (step.value, d.clock);
                        }
                        _ => {
                            if let Some(idiom) = self.idiom(outline, step, last) {
                                step.how = How::Idiom(idiom);
                            }
                            last = Sym::Step(id, m as u32, n as u32);
                            clock = match step.place {
                                Place::After(o) => self.ends[&(id, o)],
                                Place::Meeting => u32::MAX,
                            };
                        }
                    }
                }
            }
            self.out.regions.insert(id, study);
        }
    }

    /// The definition of a step's value, if it may take `last`, which is there
    /// at `clock`, as its `else`.
    fn definition(
        &self,
        outline: &Outline,
        step: &Step,
        def: Def,
        last: Sym,
        clock: u32,
    ) -> Option<(Inst, Def)> {
        let (inst, false) = def.inst? else {
            return None;
        };
        let (Source::Own(o) | Source::Nested(o)) = step.from else {
            return None;
        };
        let taken = self.out.otherwise.get(&inst);
        let fits = def.region == outline.region
            && step.whole
            && outline.bodies[def.body].guard == outline.blocks[o].guard
            && clock < def.clock
            && taken.is_none_or(|&t| self.equal(t, last));
        fits.then_some((inst, def))
    }

    /// What does the same as a step's select, if it is not dearer.
    fn idiom(&self, outline: &Outline, step: &Step, last: Sym) -> Option<Idiom> {
        let names = &self.out.names;
        let (Sym::Value(value), Sym::Value(last)) = (step.value, resolve(names, last)) else {
            return None;
        };
        let (then, otherwise) = match step.chosen.negated {
            false => (value, last),
            true => (last, value),
        };
        let func = self.cx.func;
        let cond = match outline.logic.op(step.chosen.op).kind {
            OpKind::Condition { test } => {
                let cond = func.term(outline.tests[test as usize]).condition();
                cond.map(Sym::Value).map(|c| resolve(names, c))
            }
            _ => None,
        };
        let cond = match cond {
            Some(Sym::Value(cond)) => Some(cond),
            _ => None,
        };
        let resolved = |v: Value| resolve(names, Sym::Value(v));
        let same = |a: Value, b: Value| self.equal(resolved(a), resolved(b));
        let idiom = find(func, cond, then, otherwise, &same)?;
        let machine = self.cx.machine;
        let cost = machine.issue_cost(idiom.op().cost_class(func.ty(value)));
        (cost <= machine.issue_cost(CostClass::Select)).then_some(idiom)
    }

    /// Whether a bare definition may be guarded for a select's sake.
    fn may_be_guarded(&self, outline: &Outline, all: bool, step: &Step, def: Def) -> bool {
        let ty = match step.value {
            Sym::Value(v) => self.cx.func.ty(v),
            _ => return false,
        };
        ty != Type::Pred
            && !self.pinned.contains(&step.value)
            && outline.logic.op(step.chosen.op).point as usize <= def.body
            && (all && step.exact || self.conditions_are_clean(outline, step.chosen, def.scope))
    }

    /// Adds up what an issue of every part costs.
    fn price(&mut self) {
        let machine = self.cx.machine;
        for &(inst, region, body, gate) in &self.placed {
            let data = self.cx.func.inst(inst);
            let shield = self.out.shields.get(&inst);
            let unit = inst_cost(machine, data, shield.copied());
            let study = self.out.regions.get_mut(&region);
            if let Some(b) = study.map(|s| &mut s.bodies[body]) {
                charge(&mut b.units, gate, unit);
                b.items += 1;
            }
        }
        let select = machine.issue_cost(CostClass::Select);
        for &id in self.order.iter().rev() {
            let outline = self.outlines.legal(id);
            let mut study = self.out.regions.remove(&id).unwrap_or_default();
            let mut items = 0;
            for (m, merge) in (0..).zip(&study.merges) {
                study.meeting.entry(merge.at).or_default().push(m);
                for (n, step) in (0..).zip(&merge.steps) {
                    if let How::Otherwise(inst) = step.how {
                        if let Some(Shield::Choice(l)) = self.out.shields.get(&inst) {
                            let l = Truth::Literal(*l);
                            outline.logic.close(l, &mut study.computed);
                        }
                        continue;
                    }
                    if matches!(step.how, How::Select | How::Idiom(Idiom::Condition(_))) {
                        let chosen = Truth::Literal(step.chosen);
                        outline.logic.close(chosen, &mut study.computed);
                    }
                    let select = match (step.how, step.value) {
                        (How::Idiom(idiom), Sym::Value(v)) => {
                            machine.issue_cost(idiom.op().cost_class(self.cx.func.ty(v)))
                        }
                        _ => select,
                    };
                    items += 1;
                    match step.place {
                        Place::After(o) => {
                            study.after.entry(o).or_default().push((m, n));
                            let body = &mut study.bodies[outline.blocks[o].body];
                            charge(&mut body.units, self.end_gates[&(id, o)], select);
                            body.items += 1;
                        }
                        Place::Meeting if merge.at < study.bodies.len() => {
                            study.bodies[merge.at].in_front += select;
                        }
                        Place::Meeting => study.at_end += select,
                    }
                }
            }
            let flat = self.cx.hints.of(id) == Some(Hint::Flatten);
            for (k, body) in study.bodies.iter_mut().enumerate() {
                let inside = |r: &RegionId| self.out.regions[r].items;
                body.items += body.nested.iter().map(inside).sum::<u32>();
                body.skippable &= body.items > 0 && !self.kept.contains(&(id, k)) && !flat;
                items += body.items;
            }
            study.items = items;
            self.out.regions.insert(id, study);
        }
    }
}

/// What an issue of an instruction costs under a guard.
fn inst_cost(machine: &Machine, data: &InstData, shield: Option<Shield>) -> Cost {
    let guarded = shield.is_some() || data.guard.is_some();
    let both = match shield {
        Some(Shield::Both) => machine.issue_cost(CostClass::Pred),
        _ => Cost::ZERO,
    };
    issue_cost(machine, data, guarded) + both
}

/// What an arrival brings to parameter `i`.
fn brought(arrival: &Arrival, i: usize) -> Sym {
    match &arrival.brought {
        Brought::Args(args) => Sym::Value(args[i]),
        Brought::Joined(region) => Sym::Joined(*region, i as u32),
    }
}

fn charge(units: &mut Vec<(u32, Cost)>, gate: u32, unit: Cost) {
    match units.last_mut() {
        Some((last, sum)) if *last == gate => *sum += unit,
        _ => units.push((gate, unit)),
    }
}
