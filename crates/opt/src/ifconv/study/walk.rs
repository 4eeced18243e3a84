//! The walk over the blocks of a root in straight order: what is guarded, what
//! is clean, behind which gate everything stands.
//!
//! **Guards.** An instruction of a side stays *bare* where it is safe to
//! speculate, and is guarded by the full predicate of its body otherwise. In
//! lanes that are not its own a guarded result is poison, and so may be whatever
//! a skipped body would have computed. Bare instructions pass poison on; but it
//! must not become an address or a guard. A value is *clean* where it cannot be
//! poison in any lane that executes: it was defined outside; or it is the result
//! of a bare instruction with clean operands, in a body that is executed whenever
//! its use is; or a parameter that clean values and clean predicates make. Loads
//! at addresses that are not clean are guarded.
//!
//! **Clock.** Everything defined inside has a time, so that the later passes know
//! what is there before what. Time passes with every instruction, merge and end
//! of a block.

use hashbrown::HashSet;
use warpfold_analysis::regions::RegionId;
use warpfold_ir::{Block, CostClass, Inst, Shape, Terminator, Value};
use warpfold_machine::Cost;

use super::merge::brought;
use super::price::charge;
use super::{BodyStudy, RegionStudy, Shield, Study, Sym, Symbols, resolve};
use crate::ifconv::logic::Truth;
use crate::ifconv::outline::{Outline, Outlines, Piece};
use crate::ifconv::plan::{Gate, Inputs};
use crate::report::Force;
use crate::safety::speculation;

/// A study, and what is needed to make one; kept from one root to the next.
#[derive(Clone, Debug, Default)]
pub struct Room {
    study: Study,
    defs: Symbols<Def>,
    targets: Symbols<(RegionId, u32)>,
    order: Vec<RegionId>,
    placed: Vec<(Inst, RegionId, usize, u32)>,
    around: Vec<(RegionId, usize)>,
    kept: HashSet<(RegionId, usize)>,
    scopes: Vec<Option<usize>>,
    gates: Vec<Option<Gate>>,
    pins: Vec<Sym>,
    pinned: Symbols<()>,
}

impl Room {
    /// The study that was made last.
    pub fn study(&self) -> &Study {
        &self.study
    }
}

/// Studies the region `root`, whose straight form is legal.
pub fn study<'r>(
    cx: &Inputs<'_>,
    outlines: &Outlines,
    root: RegionId,
    room: &'r mut Room,
) -> &'r Study {
    room.study.begin(root);
    room.defs.clear();
    room.targets.clear();
    room.order.clear();
    room.placed.clear();
    room.kept.clear();
    room.scopes.clear();
    room.scopes.push(None);
    room.gates.clear();
    room.gates.push(Some(Gate::Open));
    room.pins.clear();
    room.pinned.clear();
    let mut walk = Walk {
        cx,
        outlines,
        root,
        may_skip: !matches!(cx.force, Some(Force::Select | Force::Predicate)),
        out: &mut room.study,
        defs: &mut room.defs,
        targets: &mut room.targets,
        order: &mut room.order,
        placed: &mut room.placed,
        around: &mut room.around,
        kept: &mut room.kept,
        scopes: &mut room.scopes,
        scope: 0,
        clock: 1,
        gates: &mut room.gates,
        pins: &mut room.pins,
        pinned: &mut room.pinned,
    };
    walk.region(root, None, true, true);
    walk.pin();
    walk.choose();
    walk.price();
    walk.meld();
    let join = cx.regions[root].join;
    let gates = walk.gates.iter();
    let gates = gates.map(|g| g.unwrap_or(Gate::At(join, 0)));
    walk.out.gates.extend(gates);
    &room.study
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Def {
    pub(super) region: RegionId,
    pub(super) body: usize,
    pub(super) scope: usize,
    pub(super) clock: u32,
    pub(super) clean: bool,
    /// The instruction, and whether it has a guard of its own.
    pub(super) inst: Option<(Inst, bool)>,
}

pub(super) struct Walk<'a> {
    pub(super) cx: &'a Inputs<'a>,
    pub(super) outlines: &'a Outlines,
    pub(super) root: RegionId,
    pub(super) may_skip: bool,
    pub(super) out: &'a mut Study,
    /// What is defined inside; constants are not listed.
    pub(super) defs: &'a mut Symbols<Def>,
    /// The merge that makes a symbol: its region and number there.
    pub(super) targets: &'a mut Symbols<(RegionId, u32)>,
    /// The regions, outer ones first.
    pub(super) order: &'a mut Vec<RegionId>,
    /// Where instructions stand: region, body, gate.
    pub(super) placed: &'a mut Vec<(Inst, RegionId, usize, u32)>,
    /// The bodies around the region that is walked.
    pub(super) around: &'a mut Vec<(RegionId, usize)>,
    /// Bodies that must not be skipped.
    pub(super) kept: &'a mut HashSet<(RegionId, usize)>,
    /// Bodies that may be skipped, each with the one around it.
    pub(super) scopes: &'a mut Vec<Option<usize>>,
    pub(super) scope: usize,
    pub(super) clock: u32,
    pub(super) gates: &'a mut Vec<Option<Gate>>,
    /// What must stay as it is computed.
    pub(super) pins: &'a mut Vec<Sym>,
    pub(super) pinned: &'a mut Symbols<()>,
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
    pub(super) fn clean_in(&self, sym: Sym, scope: usize) -> bool {
        match self.defs.get(&resolve(&self.out.names, sym)) {
            None => true,
            Some(d) => d.clean && self.is_inside(d.scope, scope),
        }
    }

    pub(super) fn clean(&self, sym: Sym) -> bool {
        self.clean_in(sym, self.scope)
    }

    fn escapes(&self, v: Value) -> bool {
        self.cx.uses[v].outside(&self.cx.regions.places(self.root))
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
            ..RegionStudy::default()
        };
        let bodies = outline.bodies.iter().map(|_| BodyStudy::default());
        study.bodies.extend(bodies);
        study.ends.resize(outline.blocks.len(), (0, 0));
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
                    self.merge(outline, &mut study, &own.arrivals, i, k, target, start);
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
            study.bodies[k].scope = self.scope;
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
                        self.end(&mut study, own);
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
            self.merge(outline, &mut study, &outline.arrivals, i, at, target, start);
        }
        self.out.regions.set(id, study);
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
            self.end(study, own);
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

    fn end(&mut self, study: &mut RegionStudy, own: usize) {
        study.ends[own] = (self.clock, self.gate());
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
        let clean = |v: Value| self.clean(Sym::Value(v));
        let clean = !shielded
            && own.is_none_or(|g| g.otherwise.is_some_and(clean) && clean(g.pred))
            && data.args.iter().all(|&v| clean(v));
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
}
