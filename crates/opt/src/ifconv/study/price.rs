//! What an issue of every part costs: of a body's own instructions and selects by
//! gate, of what stands in front of it, and of what stands at a region's end.

use smallvec::SmallVec;
use warpfold_analysis::regions::RegionId;
use warpfold_ir::{CostClass, Hint, InstData};
use warpfold_machine::{Cost, Machine};

use super::walk::Walk;
use super::{How, Place, Shield, Sym};
use crate::ifconv::idiom::Idiom;
use crate::ifconv::ledger::issue_cost;
use crate::ifconv::logic::Truth;

impl Walk<'_> {
    /// Adds up what an issue of every part costs.
    pub(super) fn price(&mut self) {
        let machine = self.cx.machine;
        for &(inst, region, body, gate) in self.placed.iter() {
            let data = self.cx.func.inst(inst);
            let shield = self.out.shields.get(&inst);
            let unit = inst_cost(machine, data, shield.copied());
            let study = self.out.regions.get_mut(region);
            if let Some(b) = study.map(|s| &mut s.bodies[body]) {
                charge(&mut b.units, gate, unit);
                b.items += 1;
            }
        }
        let select = machine.issue_cost(CostClass::Select);
        for &id in self.order.iter().rev() {
            let outline = self.outlines.legal(id);
            let mut study = self.out.regions.take(id).unwrap_or_default();
            let mut items = 0;
            for (m, merge) in (0..).zip(&study.merges) {
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
                            study.after.push((o, m, n));
                            let body = &mut study.bodies[outline.blocks[o].body];
                            charge(&mut body.units, study.ends[o].1, select);
                            body.items += 1;
                        }
                        Place::Meeting if merge.at < study.bodies.len() => {
                            study.bodies[merge.at].in_front += select;
                        }
                        Place::Meeting => study.at_end += select,
                    }
                }
            }
            // Those of one block stay in order.
            study.after.sort_by_key(|a| a.0);
            let flat = self.cx.hints.of(id) == Some(Hint::Flatten);
            for (k, body) in study.bodies.iter_mut().enumerate() {
                let inside = |r: &RegionId| self.out.region(*r).items;
                body.items += body.nested.iter().map(inside).sum::<u32>();
                body.skippable &= body.items > 0 && !self.kept.contains(&(id, k)) && !flat;
                items += body.items;
            }
            study.items = items;
            self.out.regions.set(id, study);
        }
    }
}

/// What an issue of an instruction costs under a guard.
pub(super) fn inst_cost(machine: &Machine, data: &InstData, shield: Option<Shield>) -> Cost {
    let guarded = shield.is_some() || data.guard.is_some();
    let both = match shield {
        Some(Shield::Both) => machine.issue_cost(CostClass::Pred),
        _ => Cost::ZERO,
    };
    issue_cost(machine, data, guarded) + both
}

/// Adds to what is behind a gate.
pub(super) fn charge(units: &mut SmallVec<[(u32, Cost); 1]>, gate: u32, unit: Cost) {
    match units.last_mut() {
        Some((last, sum)) if *last == gate => *sum += unit,
        _ => units.push((gate, unit)),
    }
}
