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

use hashbrown::{HashMap, HashSet};
use warpfold_analysis::regions::RegionId;
use warpfold_ir::{Block, CostClass, Inst, Shape, Terminator, Value};
use warpfold_machine::Cost;

use super::merge::brought;
use super::price::charge;
use super::{BodyStudy, RegionStudy, Shield, Study, Sym, resolve};
use crate::ifconv::logic::Truth;
use crate::ifconv::outline::{Outline, Outlines, Piece};
use crate::ifconv::plan::{Gate, Inputs};
use crate::report::Force;
use crate::safety::speculation;

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
    walk.meld();
    let join = cx.regions[root].join;
    let gates = walk.gates.iter();
    walk.out.gates = gates.map(|g| g.unwrap_or(Gate::At(join, 0))).collect();
    walk.out
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
    pub(super) out: Study,
    /// What is defined inside; constants are not listed.
    pub(super) defs: HashMap<Sym, Def>,
    /// The regions, outer ones first.
    pub(super) order: Vec<RegionId>,
    /// When an own block is over, and behind which gate.
    pub(super) ends: HashMap<(RegionId, usize), u32>,
    pub(super) end_gates: HashMap<(RegionId, usize), u32>,
    /// Where instructions stand: region, body, gate.
    pub(super) placed: Vec<(Inst, RegionId, usize, u32)>,
    /// The bodies around the region that is walked.
    pub(super) around: Vec<(RegionId, usize)>,
    /// Bodies that must not be skipped.
    pub(super) kept: HashSet<(RegionId, usize)>,
    pub(super) body_scopes: HashMap<(RegionId, usize), usize>,
    /// Bodies that may be skipped, each with the one around it.
    pub(super) scopes: Vec<Option<usize>>,
    pub(super) scope: usize,
    pub(super) clock: u32,
    pub(super) gates: Vec<Option<Gate>>,
    /// What must stay as it is computed.
    pub(super) pins: Vec<Sym>,
    pub(super) pinned: HashSet<Sym>,
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
}
