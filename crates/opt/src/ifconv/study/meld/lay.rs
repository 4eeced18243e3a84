//! What sides cost with a set of pairs, exactly as it will be emitted.

use hashbrown::{HashMap, HashSet};
use smallvec::SmallVec;
use warpfold_ir::Inst;
use warpfold_machine::Cost;

use super::{Definition, Operand, Sides};
use crate::ifconv::study::{How, Merge, Place, Shield, Step, Sym, resolve};

/// How a set of pairs comes out.
pub(super) struct Laid {
    pub unit: Cost,
    pub args: Vec<SmallVec<[Operand; 3]>>,
    pub merges: SmallVec<[Merge; 1]>,
    pub definitions: HashMap<Inst, Definition>,
}

impl Sides<'_, '_> {
    /// What a step costs, the guard of a definition that has it only for that
    /// included.
    pub(super) fn step_cost(&self, step: &Step) -> Cost {
        let machine = self.walk.cx.machine;
        match (step.how, step.value) {
            (How::Otherwise(inst), _) => match self.walk.shield(inst) {
                Some(_) => Cost::ZERO,
                None => machine.guard,
            },
            (How::Idiom(idiom), Sym::Value(v)) => {
                machine.issue_cost(idiom.op().cost_class(self.func().ty(v)))
            }
            _ => self.select,
        }
    }

    /// Both sides by themselves.
    pub(super) fn apart(&self) -> Cost {
        let mut seen: HashSet<Inst> = HashSet::new();
        let mut sum = self.bare;
        for step in self.study.merges.iter().flat_map(|m| &m.steps) {
            // One definition may be that of two parameters.
            match step.how {
                How::Otherwise(inst) if !seen.insert(inst) => {}
                _ => sum += self.step_cost(step),
            }
        }
        sum
    }

    /// Where an element stands among pairs: comparable with others.
    fn rank(&self, pairs: &[(usize, usize)], side: usize, at: usize) -> (usize, usize, usize) {
        let place = |&(i, j): &(usize, usize)| {
            let n = if side == 0 { i } else { j };
            self.sides[side].candidates[n].at
        };
        let group = pairs.partition_point(|p| place(p) < at);
        match pairs.get(group).map(place) == Some(at) {
            true => (group, 2, 0),
            false => (group, self.sides[side].body, at),
        }
    }

    /// How these pairs come out.
    pub(super) fn lay(&self, pairs: &[(usize, usize)]) -> Laid {
        let walk = self.walk;
        let mut one: HashMap<Sym, Sym> = HashMap::new();
        let mut unit = self.bare;
        for &(i, j) in pairs {
            unit = unit - self.sides[0].candidates[i].unit - self.sides[1].candidates[j].unit;
            one.extend(self.result(0, i).zip(self.result(1, j)));
        }
        let same = |x: Sym, y: Sym| walk.equal(x, y) || one.get(&x) == Some(&y);
        let mut selects: HashSet<(Sym, Sym)> = HashSet::new();
        let mut args = Vec::with_capacity(pairs.len());
        for &(i, j) in pairs {
            let guarded = self.guarded(i, j) == Some(true);
            unit += self.merged(i, guarded);
            let operands = self.matched(i, j, &same).into_iter().map(|(x, y)| {
                if same(x, y) {
                    return Operand::One(x);
                }
                if selects.insert((x, y)) {
                    unit += self.select;
                }
                match self.sides[0].body {
                    0 => Operand::Two(x, y),
                    _ => Operand::Two(y, x),
                }
            });
            args.push(operands.collect());
        }
        let mut laid = Laid {
            unit,
            args,
            merges: self.study.merges.clone(),
            definitions: HashMap::new(),
        };
        // No definition is what it was for a parameter's sake.
        for step in self.study.merges.iter().flat_map(|m| &m.steps) {
            if let How::Otherwise(inst) = step.how {
                let definition = Definition {
                    shield: walk.shield(inst),
                    otherwise: None,
                };
                laid.definitions.insert(inst, definition);
            }
        }
        for merge in &mut laid.merges {
            let Some(step) = merge.steps.first_mut() else {
                continue;
            };
            step.place = Place::Meeting;
            merge.first = resolve(&walk.out.names, merge.first);
            if same(merge.first, step.value) || same(step.value, merge.first) {
                merge.steps.clear();
                continue;
            }
            if let Some((inst, later, other)) = self.definition(pairs, merge.first, step) {
                let taken = laid.definitions.get(&inst).and_then(|d| d.otherwise);
                if taken.is_none_or(|taken| taken == other) {
                    // One definition may be that of two parameters.
                    if taken.is_none() {
                        laid.unit += self.step_cost(&later);
                    }
                    let choice = Shield::Choice(later.chosen);
                    let definition = Definition {
                        shield: Some(walk.shield(inst).unwrap_or(choice)),
                        otherwise: Some(other),
                    };
                    laid.definitions.insert(inst, definition);
                    (merge.first, *step) = (other, later);
                    continue;
                }
            }
            if let How::Otherwise(_) = step.how {
                step.how = How::Select;
            }
            laid.unit += self.step_cost(step);
        }
        laid
    }

    /// Of the two values of a parameter the later one's definition, itself as a step,
    /// and the other one, if the definition may take that as its `else`.
    fn definition(
        &self,
        pairs: &[(usize, usize)],
        first: Sym,
        step: &Step,
    ) -> Option<(Inst, Step, Sym)> {
        let walk = self.walk;
        let rank = |sym: Sym| {
            let made = self.made.get(&sym);
            made.map(|&(side, at)| self.rank(pairs, side, at))
        };
        let other = self.outline.arrivals.iter().find(|a| a.from != step.from)?;
        let (later, other) = match rank(first) > rank(step.value) {
            false => (*step, first),
            true => (
                Step {
                    value: first,
                    chosen: !step.chosen,
                    exact: other.exact,
                    whole: other.whole,
                    from: other.from,
                    ..*step
                },
                step.value,
            ),
        };
        // A pair is a definition on both sides.
        if rank(later.value).is_none_or(|(_, side, _)| side == 2) {
            return None;
        }
        let def = *walk.defs.get(&later.value)?;
        let (inst, _) = walk.may_take(self.outline, &later, def)?;
        if walk.shield(inst).is_none() && !walk.choice(self.outline, self.study.all, &later, def) {
            return None;
        }
        let how = How::Otherwise(inst);
        Some((inst, Step { how, ..later }, other))
    }
}
