//! How each value takes its place (see [`How`]).
//!
//! A definition that is guarded anyway has what came before as its `else`; a bare
//! one is guarded for the purpose where the machine's guard is cheaper than its
//! select; otherwise it takes a select, or what does the same and is not dearer.
//!
//! What an address or a condition is computed from never becomes guarded for a
//! select's sake: it is good as computed, and only so.

use warpfold_ir::{CostClass, Inst, Type, Value};

use super::walk::{Def, Walk};
use super::{How, Place, Shield, Step, Sym, resolve};
use crate::ifconv::idiom::{Idiom, find};
use crate::ifconv::logic::OpKind;
use crate::ifconv::outline::{Outline, Source};
use crate::report::Force;

impl Walk<'_> {
    /// Everything inside that addresses and conditions are computed from.
    pub(super) fn pin(&mut self) {
        while let Some(sym) = self.pins.pop() {
            let sym = resolve(&self.out.names, sym);
            let Some(def) = self.defs.get(&sym) else {
                continue;
            };
            if self.pinned.get(&sym).is_some() {
                continue;
            }
            self.pinned.insert(sym, ());
            if let Some((inst, _)) = def.inst {
                self.pins
                    .extend(self.cx.func.inst(inst).uses().map(Sym::Value));
            } else if let Some(&(region, number)) = self.targets.get(&sym) {
                let merge = &self.out.region(region).merges[number as usize];
                self.pins.extend(merge.steps.iter().map(|s| s.value));
                self.pins.push(merge.first);
            }
        }
    }

    /// Chooses how each value takes its place.
    pub(super) fn choose(&mut self) {
        for at in 0..self.order.len() {
            let id = self.order[at];
            let outline = self.outlines.legal(id);
            let mut study = self.out.regions.take(id).unwrap_or_default();
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
                        Some((inst, d, None)) if self.choice(outline, study.all, step, d) => {
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
                                Place::After(o) => study.ends[o].0,
                                Place::Meeting => u32::MAX,
                            };
                        }
                    }
                }
            }
            self.out.regions.set(id, study);
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
        let (inst, def) = self.may_take(outline, step, def)?;
        let taken = self.out.otherwise.get(&inst);
        let fits = clock < def.clock && taken.is_none_or(|&t| self.equal(t, last));
        fits.then_some((inst, def))
    }

    /// The same for any value that is there by then.
    pub(super) fn may_take(&self, outline: &Outline, step: &Step, def: Def) -> Option<(Inst, Def)> {
        let (inst, false) = def.inst? else {
            return None;
        };
        let (Source::Own(o) | Source::Nested(o)) = step.from else {
            return None;
        };
        let fits = def.region == outline.region
            && step.whole
            && outline.bodies[def.body].guard == outline.blocks[o].guard;
        fits.then_some((inst, def))
    }

    /// What does the same as a step's select, if it is not dearer.
    fn idiom(&self, outline: &Outline, step: &Step, last: Sym) -> Option<Idiom> {
        let names = &self.out.names;
        let (Sym::Value(value), Sym::Value(last)) = (step.value, resolve(names, last)) else {
            return None;
        };
        let (then, otherwise) = match outline.logic.emits_opposite(step.chosen) {
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

    /// Whether a bare definition is guarded for a select's sake: where it may be,
    /// and that is cheaper.
    pub(super) fn choice(&self, outline: &Outline, all: bool, step: &Step, def: Def) -> bool {
        let machine = self.cx.machine;
        let cheaper = self.cx.force != Some(Force::Select)
            && machine.guard < machine.issue_cost(CostClass::Select);
        let ty = match step.value {
            Sym::Value(v) => self.cx.func.ty(v),
            _ => return false,
        };
        cheaper
            && ty != Type::Pred
            && self.pinned.get(&step.value).is_none()
            && outline.logic.op(step.chosen.op).point as usize <= def.body
            && (all && step.exact || self.conditions_are_clean(outline, step.chosen, def.scope))
    }
}
