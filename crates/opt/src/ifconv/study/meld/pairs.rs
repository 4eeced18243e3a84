//! Which instructions of two sides may be one, and what that is worth.

use smallvec::SmallVec;
use warpfold_ir::InstData;
use warpfold_machine::Cost;

use super::{Sides, alike};
use crate::ifconv::ledger::issue_cost;
use crate::ifconv::logic::Truth;
use crate::ifconv::study::Sym;

impl Sides<'_, '_> {
    /// Whether two candidates are the same operation and may be one; if so,
    /// whether that needs the guard around the region.
    pub(super) fn guarded(&self, i: usize, j: usize) -> Option<bool> {
        let (a, b) = (self.data(0, i), self.data(1, j));
        let [x, y] = [&self.sides[0].candidates[i], &self.sides[1].candidates[j]];
        let types = |d: &InstData| -> SmallVec<[_; 3]> {
            d.args.iter().map(|&v| self.func().ty(v)).collect()
        };
        if !alike(a, b) || types(a) != types(b) {
            return None;
        }
        let safe = x.safe && y.safe;
        if !safe && a.origin != b.origin {
            return None;
        }
        if !self.stays_clean(i, j) {
            return None;
        }
        // A divisor that is chosen may be poison where the condition is.
        let chosen = a.args.len() == 2
            && !self
                .walk
                .equal(Sym::Value(a.args[1]), Sym::Value(b.args[1]));
        Some(!safe || !a.op.effects().is_pure() && chosen)
    }

    /// Whether what must be no poison, if one of two is that, is none when they
    /// are one.
    fn stays_clean(&self, i: usize, j: usize) -> bool {
        let walk = self.walk;
        let must = |s: usize, n: usize| {
            self.result(s, n).is_some_and(|r| {
                walk.pinned.get(&r).is_some() && walk.defs.get(&r).is_some_and(|d| d.clean)
            })
        };
        if !must(0, i) && !must(1, j) {
            return true;
        }
        let clean = |s: usize, n: usize| {
            let scope = self.study.bodies[self.sides[s].body].scope;
            let mut operands = self.operands(s, n).into_iter();
            operands.all(|v| walk.clean_in(v, scope))
        };
        let Truth::Literal(l) = self.outline.bodies[0].truth else {
            return false;
        };
        let scope = self.study.bodies[0].scope;
        clean(0, i) && clean(1, j) && walk.conditions_are_clean(self.outline, l, scope)
    }

    /// What a merged instruction costs.
    pub(super) fn merged(&self, i: usize, guarded: bool) -> Cost {
        let guarded = guarded && !self.study.all;
        issue_cost(self.walk.cx.machine, self.data(0, i), guarded)
    }

    /// Which operands go together, for the fewest that are not `same`: those of
    /// the first as they are, those of the second perhaps swapped.
    pub(super) fn matched(
        &self,
        i: usize,
        j: usize,
        same: &dyn Fn(Sym, Sym) -> bool,
    ) -> SmallVec<[(Sym, Sym); 3]> {
        let (x, y) = (self.operands(0, i), self.operands(1, j));
        let differ = |y: &[Sym]| x.iter().zip(y).filter(|(a, b)| !same(**a, **b)).count();
        let swapped: SmallVec<[Sym; 3]> = y.iter().rev().copied().collect();
        let swap = self.data(0, i).op.commutes() && differ(&swapped) < differ(&y);
        let y = if swap { swapped } else { y };
        x.into_iter().zip(y).collect()
    }

    /// What a pair is worth if all goes well with those that it builds upon.
    pub(super) fn score(&self, i: usize, j: usize) -> Option<i64> {
        if !self.alike(i, j) {
            return None;
        }
        let guarded = self.guarded(i, j)?;
        let [a, b] = [&self.sides[0].candidates[i], &self.sides[1].candidates[j]];
        let mut worth = a.unit + b.unit - self.merged(i, guarded);
        let same = |x: Sym, y: Sym| {
            let both = self.candidate.get(&x).zip(self.candidate.get(&y));
            // A value of one side is never one of the other.
            let pair = both.is_some_and(|(&k, &l)| k < i && l < j && self.alike(k, l));
            pair || self.walk.equal(x, y)
        };
        for (x, y) in self.matched(i, j, &same) {
            if !same(x, y) {
                worth -= self.select;
            }
        }
        let (a, b) = (self.result(0, i)?, self.result(1, j)?);
        if self.is_operand.contains(&a) && self.is_operand.contains(&b) {
            worth += self.select;
        }
        for merge in &self.study.merges {
            let [step] = merge.steps.as_slice() else {
                continue;
            };
            let ends = [(merge.first, step.value), (step.value, merge.first)];
            if ends.contains(&(a, b)) {
                worth += self.step_cost(step);
            }
        }
        Some(worth.0)
    }

    fn alike(&self, k: usize, l: usize) -> bool {
        alike(self.data(0, k), self.data(1, l))
    }
}
