//! What becomes of block parameters where ways meet.
//!
//! One way's value comes first and each further one takes its place in the lanes
//! that come that way. A way whose value is the first one needs nothing. Values
//! that are there before the region come first. A step stands at the end of its
//! way's body if its predicate is known by then, else where ways meet.

use super::walk::{Def, Walk};
use super::{How, Merge, Place, Step, Sym, resolve};
use crate::ifconv::logic::{Literal, OpId, OpKind, Truth};
use crate::ifconv::outline::{Arrival, Brought, Outline, Source};

impl Walk<'_> {
    /// What becomes of parameter `i` where `arrivals` meet, in front of body
    /// `at`; `None` where it is just a name.
    pub(super) fn merge(
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
    pub(super) fn conditions_are_clean(
        &self,
        outline: &Outline,
        literal: Literal,
        scope: usize,
    ) -> bool {
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
