//! What becomes of block parameters where ways meet.
//!
//! One way's value comes first and each further one takes its place in the lanes
//! that come that way. A way whose value is the first one needs nothing. Values
//! that are there before the region come first. A step stands at the end of its
//! way's body if its predicate is known by then, else where ways meet.

use smallvec::SmallVec;

use super::walk::{Def, Walk};
use super::{How, Merge, Place, RegionStudy, Step, Sym, resolve};
use crate::ifconv::logic::{Literal, OpKind, Ops, Truth};
use crate::ifconv::outline::{Arrival, Brought, Outline, Source};

impl Walk<'_> {
    /// Finds out what becomes of parameter `i` where `arrivals` meet, in front of
    /// body `at` of the region that is studied: it may be just a name.
    #[expect(clippy::too_many_arguments, reason = "a place and what comes there")]
    pub(super) fn merge(
        &mut self,
        outline: &Outline,
        study: &mut RegionStudy,
        arrivals: &[Arrival],
        i: usize,
        at: usize,
        target: Sym,
        start: u32,
    ) {
        let mut values: SmallVec<[(Sym, &Arrival); 4]> = SmallVec::new();
        for a in arrivals {
            values.push((resolve(&self.out.names, brought(a, i)), a));
        }
        let Some(&(first, _)) = values.first() else {
            return;
        };
        if values.iter().all(|&(v, _)| self.equal(v, first)) {
            self.out.names.insert(target, first);
            return;
        }
        // What is there already comes first, equal values together and older ones
        // first: by which way a value comes, and so in which layout, is no matter.
        let early = |v: Sym| self.defs.get(&v).is_none_or(|d| d.clock < start);
        if values.iter().any(|&(v, _)| early(v)) {
            let place = |v: Sym| {
                let equals = values.iter().filter(|&&(w, _)| self.equal(v, w));
                equals.map(|&(w, _)| w).min()
            };
            let keys: SmallVec<[(bool, Option<Sym>); 4]> = values
                .iter()
                .map(|&(v, _)| match early(v) {
                    true => (false, place(v)),
                    false => (true, None),
                })
                .collect();
            let mut order: SmallVec<[usize; 4]> = (0..values.len()).collect();
            order.sort_by_key(|&n| keys[n]);
            values = order.iter().map(|&n| values[n]).collect();
        }
        let first = values[0].0;
        let mut steps: SmallVec<[Step; 1]> = SmallVec::new();
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
                Place::After(o) => study.bodies[outline.blocks[o].body].scope,
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
        let number = study.merges.len() as u32;
        self.targets.insert(target, (outline.region, number));
        study.merges.push(Merge {
            at,
            target,
            first,
            steps,
        });
    }

    /// Whether all conditions that a literal is computed from are no poison in
    /// `scope`.
    pub(super) fn conditions_are_clean(
        &self,
        outline: &Outline,
        literal: Literal,
        scope: usize,
    ) -> bool {
        let mut needed = Ops::default();
        outline.logic.close(Truth::Literal(literal), &mut needed);
        needed.iter().all(|op| match outline.logic.op(op).kind {
            OpKind::Condition { test } | OpKind::Takes { test, .. } => {
                let term = self.cx.func.term(outline.tests[test as usize]);
                term.condition()
                    .is_none_or(|c| self.clean_in(Sym::Value(c), scope))
            }
            OpKind::And(..) => true,
        })
    }

    /// Whether two values are one, or equal constants.
    pub(super) fn equal(&self, a: Sym, b: Sym) -> bool {
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
}

/// What an arrival brings to parameter `i`.
pub(super) fn brought(arrival: &Arrival, i: usize) -> Sym {
    match &arrival.brought {
        Brought::Args(args) => Sym::Value(args[i]),
        Brought::Joined(region) => Sym::Joined(*region, i as u32),
    }
}
