//! Equal instructions of both sides, emitted once.
//!
//! Where both sides of a diamond are straight code in a row, every lane issues
//! both. An instruction of one side and an equal one of the other, on different
//! operands, are then one instruction whose operands are chosen by the branch's
//! condition: one issue less, and one more for every select. This is the branch
//! fusion of Coutinho, Sampaio, Pereira and Meira ("Divergence Analysis and
//! Optimizations", 2011) and the melding of Saumya, Sundararajah and Kulkarni
//! ("DARM: Control-Flow Melding for SIMT Thread Divergence Reduction", 2022), for
//! straight code and under a machine's exact prices.
//!
//! **What is merged.** Instructions of the two sides' own bodies, never those of
//! regions inside: one and the same operation, type and immediate, without a
//! guard of their own and without an effect, or none but a trap. As the place
//! of a trap is part of what a program does, what may trap is merged only with
//! its equal from the same place of the source. It has the guard that both sides
//! have in common, the region's own: none where that is everybody. So has a
//! division that is safe by its divisors, where these differ.
//!
//! **How.** The sides' candidates, in order, are [aligned](super::align), each
//! pair scored by the issues that it saves less the selects that it needs;
//! operands that may be a pair themselves count as equal, and selects that a pair
//! saves behind it, at the join or for a pair that builds upon it, count as saved. Then the price is
//! computed as it will be emitted, and pairs that do not pay for themselves are
//! dropped, the first first. What remains is used if it is cheaper than both
//! sides by themselves, for the prices per issue; predicates that nobody
//! needs any more come on top.
//!
//! **Order.** Each side keeps its order, since an alignment does, and so does each
//! lane, which is on one side only: between two pairs comes what is left of the
//! first side, then of the second. Of the two values of a parameter the later
//! one's definition may take the other as its `else`, as [elsewhere](super::choose).
//! Which side comes first in layout makes no difference to what is merged.
//!
//! **Poison.** A select passes on what it chooses. What an address or a condition
//! is computed from must be no poison even in lanes outside of the region, so
//! there a pair's operands and condition must be clean on both sides.
//!
//! **Bounds.** The first [`WINDOW`] candidates of each side are looked at; all
//! others stay as they are. Regions in which lanes may leave, and those with
//! further tests, more than two bodies or other ways to the join than the ends of
//! both, are not merged.

use hashbrown::{HashMap, HashSet};
use smallvec::SmallVec;
use warpfold_analysis::regions::RegionId;
use warpfold_ir::{CostClass, Function, Inst, InstData};
use warpfold_machine::Cost;

use super::align::align;
use super::price::inst_cost;
use super::walk::Walk;
use super::{How, Merge, Place, RegionStudy, Shield, Step, Sym, resolve};
use crate::ifconv::ledger::issue_cost;
use crate::ifconv::logic::Truth;
use crate::ifconv::outline::{Outline, Piece};
use crate::report::Force;
use crate::safety::speculation;

/// How many candidates of each side are aligned.
pub const WINDOW: usize = 64;

/// How often all pairs are looked at again, to drop what does not pay for itself.
const SWEEPS: usize = 2;

/// An operand of a merged instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operand {
    /// The same on both sides, by either's name.
    One(Sym),
    /// Chosen: what it is on the first side, and on the second.
    Two(Sym, Sym),
}

/// What is emitted in place of two bodies, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Slot {
    /// An instruction of one of them.
    Inst {
        /// Which body.
        body: usize,
        /// The instruction.
        inst: Inst,
    },
    /// A region inside.
    Nested(RegionId),
    /// An instruction of each at once.
    Pair {
        /// The first body's and the second's.
        insts: [Inst; 2],
        /// Operands.
        args: SmallVec<[Operand; 3]>,
        /// Whether it has the guard that is around the region.
        guarded: bool,
    },
}

/// The straight code of a region with equal instructions of its two sides
/// merged, for where neither is skipped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Meld {
    /// In order.
    pub slots: Vec<Slot>,
    /// The parameters of the join.
    pub merges: SmallVec<[Merge; 1]>,
    /// Cost per issue of all but regions inside.
    pub unit: Cost,
    /// By body: whether something in it still needs its full predicate.
    pub guarded: [bool; 2],
    /// Whether something needs the predicate around the region.
    pub around: bool,
    /// The guards and `else` values of definitions that have others than in the
    /// sides by themselves.
    pub definitions: HashMap<Inst, Definition>,
}

/// What becomes of a definition for its parameter's sake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Definition {
    /// Its guard, if it is not its own.
    pub shield: Option<Shield>,
    /// The result elsewhere.
    pub otherwise: Option<Sym>,
}

/// A part of a side.
#[derive(Clone, Copy, Debug)]
enum Element {
    Inst(Inst),
    Nested(RegionId),
}

/// An instruction that may be merged.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    inst: Inst,
    /// Where it stands in its side.
    at: usize,
    /// What it costs by itself.
    unit: Cost,
    safe: bool,
}

#[derive(Debug, Default)]
struct Side {
    /// Which body it is.
    body: usize,
    elements: Vec<Element>,
    candidates: Vec<Candidate>,
}

/// The sides of one region, the one whose first candidate is the older one first.
struct Sides<'w, 'a> {
    walk: &'w Walk<'a>,
    outline: &'w Outline,
    study: &'w RegionStudy,
    sides: [Side; 2],
    /// Where values are made: side and element.
    made: HashMap<Sym, (usize, usize)>,
    /// By value, its position among the candidates of its side.
    candidate: HashMap<Sym, usize>,
    /// What candidates use.
    is_operand: HashSet<Sym>,
    select: Cost,
    /// Of both sides' instructions, none guarded for a select's sake.
    bare: Cost,
}

/// How a set of pairs comes out.
struct Laid {
    unit: Cost,
    args: Vec<SmallVec<[Operand; 3]>>,
    merges: SmallVec<[Merge; 1]>,
    definitions: HashMap<Inst, Definition>,
}

impl Walk<'_> {
    /// Merges what both sides of each region have in common.
    pub(super) fn meld(&mut self) {
        if !self.cx.merge || self.cx.force == Some(Force::Predicate) {
            return;
        }
        for n in 0..self.order.len() {
            let id = self.order[n];
            let melded = self.sides(id).and_then(|sides| sides.meld());
            if let Some(study) = self.out.regions.get_mut(id) {
                study.meld = melded.map(Box::new);
            }
        }
    }

    /// The sides of a region, if it has two that may be merged.
    fn sides(&self, id: RegionId) -> Option<Sides<'_, '_>> {
        let outline = self.outlines.legal(id);
        let study = self.out.region(id);
        let ([a, b], [_]) = (outline.bodies.as_slice(), outline.tests.as_slice()) else {
            return None;
        };
        let one_test = outline.logic.len() == 1 && outline.arrivals.len() == 2;
        let ends = |guard| outline.arrivals.iter().any(|a| a.guard == guard);
        let opposite = matches!(a.truth, Truth::Literal(_)) && a.truth == !b.truth;
        let simple = one_test && opposite && ends(a.guard) && ends(b.guard);
        let stays = study.bodies[0].gate == study.end;
        let joins = |m: &Merge| m.at == 2 && m.steps.len() < 2;
        if !simple || !stays || !study.merges.iter().all(joins) {
            return None;
        }
        let mut sides = [Side::default(), Side::default()];
        for (n, (side, body)) in sides.iter_mut().zip([a, b]).enumerate() {
            side.body = n;
            for &piece in &body.pieces {
                self.elements(side, outline, piece);
            }
            if side.candidates.is_empty() {
                return None;
            }
        }
        sides.sort_by_key(|side| side.candidates.first().map(|c| c.inst));
        let mut this = Sides {
            walk: self,
            outline,
            study,
            sides,
            made: HashMap::new(),
            candidate: HashMap::new(),
            is_operand: HashSet::new(),
            select: self.cx.machine.issue_cost(CostClass::Select),
            bare: Cost::ZERO,
        };
        this.index();
        Some(this)
    }

    /// The guard of an instruction that it has not only for a select's sake.
    fn shield(&self, inst: Inst) -> Option<Shield> {
        let shield = self.out.shields.get(&inst).copied();
        shield.filter(|s| !matches!(s, Shield::Choice(_)))
    }

    fn elements(&self, side: &mut Side, outline: &Outline, piece: Piece) {
        let func = self.cx.func;
        match piece {
            Piece::Nested { region, .. } => side.elements.push(Element::Nested(region)),
            Piece::Segment { own, insts, .. } => {
                let all = &func.block(outline.blocks[own].block).insts;
                for &inst in &all[insts.0 as usize..insts.1 as usize] {
                    let data = func.inst(inst);
                    if side.candidates.len() < WINDOW && may_be_merged(data) {
                        side.candidates.push(Candidate {
                            inst,
                            at: side.elements.len(),
                            unit: inst_cost(self.cx.machine, data, self.shield(inst)),
                            safe: speculation(func, data).is_ok(),
                        });
                    }
                    side.elements.push(Element::Inst(inst));
                }
            }
        }
    }
}

/// Whether an instruction may be merged with its equal.
fn may_be_merged(data: &InstData) -> bool {
    let effects = data.op.effects();
    let plain = !(effects.reads
        || effects.writes
        || effects.convergent
        || effects.syncs
        || effects.retires
        || effects.calls);
    plain
        && data.guard.is_none()
        && data.results.len() == 1
        && data.cost_class() != CostClass::Const
}

impl Sides<'_, '_> {
    fn index(&mut self) {
        let func = self.walk.cx.func;
        for (s, side) in self.sides.iter().enumerate() {
            for (at, element) in side.elements.iter().enumerate() {
                match *element {
                    Element::Inst(inst) => {
                        let data = func.inst(inst);
                        if data.cost_class() != CostClass::Const {
                            let shield = self.walk.shield(inst);
                            self.bare += inst_cost(self.walk.cx.machine, data, shield);
                        }
                        let result = func.result(inst).map(Sym::Value);
                        self.made.extend(result.map(|r| (r, (s, at))));
                    }
                    Element::Nested(region) => {
                        let join = self.walk.outlines.legal(region).join;
                        for i in 0..func.block(join).params.len() {
                            self.made.insert(Sym::Joined(region, i as u32), (s, at));
                        }
                    }
                }
            }
            for (n, c) in side.candidates.iter().enumerate() {
                let result = func.result(c.inst).map(Sym::Value);
                self.candidate.extend(result.map(|r| (r, n)));
                let used = func.inst(c.inst).args.iter();
                self.is_operand.extend(used.map(|&v| Sym::Value(v)));
            }
        }
    }

    fn func(&self) -> &Function {
        self.walk.cx.func
    }

    fn data(&self, side: usize, candidate: usize) -> &InstData {
        self.func()
            .inst(self.sides[side].candidates[candidate].inst)
    }

    fn result(&self, side: usize, candidate: usize) -> Option<Sym> {
        let inst = self.sides[side].candidates[candidate].inst;
        self.func().result(inst).map(Sym::Value)
    }

    /// The operands, names resolved.
    fn operands(&self, side: usize, candidate: usize) -> SmallVec<[Sym; 3]> {
        let args = self.data(side, candidate).args.iter();
        args.map(|&v| resolve(&self.walk.out.names, Sym::Value(v)))
            .collect()
    }

    /// Whether two candidates are the same operation and may be one; if so,
    /// whether that needs the guard around the region.
    fn guarded(&self, i: usize, j: usize) -> Option<bool> {
        let (a, b) = (self.data(0, i), self.data(1, j));
        let [x, y] = [&self.sides[0].candidates[i], &self.sides[1].candidates[j]];
        let types = |d: &InstData| -> SmallVec<[_; 3]> {
            d.args.iter().map(|&v| self.func().ty(v)).collect()
        };
        if (a.op, a.ty, a.imm) != (b.op, b.ty, b.imm) || types(a) != types(b) {
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
    fn merged(&self, i: usize, guarded: bool) -> Cost {
        let guarded = guarded && !self.study.all;
        issue_cost(self.walk.cx.machine, self.data(0, i), guarded)
    }

    /// Which operands go together, for the fewest that are not `same`: those of
    /// the first as they are, those of the second perhaps swapped.
    fn matched(
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
    fn score(&self, i: usize, j: usize) -> Option<i64> {
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
        let (a, b) = (self.data(0, k), self.data(1, l));
        (a.op, a.ty, a.imm) == (b.op, b.ty, b.imm)
    }

    /// What a step costs, the guard of a definition that has it only for that
    /// included.
    fn step_cost(&self, step: &Step) -> Cost {
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
    fn apart(&self) -> Cost {
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
    fn lay(&self, pairs: &[(usize, usize)]) -> Laid {
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
            if let Some((later, other)) = self.definition(pairs, merge.first, step)
                && let How::Otherwise(inst) = later.how
                && laid
                    .definitions
                    .get(&inst)
                    .is_none_or(|d| d.otherwise.is_none_or(|o| o == other))
            {
                let shield = walk.shield(inst);
                if !laid
                    .definitions
                    .get(&inst)
                    .is_some_and(|d| d.otherwise.is_some())
                {
                    laid.unit += self.step_cost(&later);
                }
                let definition = Definition {
                    shield: shield.or(Some(Shield::Choice(later.chosen))),
                    otherwise: Some(other),
                };
                laid.definitions.insert(inst, definition);
                (merge.first, *step) = (other, later);
                continue;
            }
            if let How::Otherwise(_) = step.how {
                step.how = How::Select;
            }
            laid.unit += self.step_cost(step);
        }
        laid
    }

    /// Of the two values of a parameter the later one as a step, and the other, if
    /// the later one's definition may take the other as its `else`.
    fn definition(&self, pairs: &[(usize, usize)], first: Sym, step: &Step) -> Option<(Step, Sym)> {
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
        Some((Step { how, ..later }, other))
    }

    /// The best that was found, if it is cheaper than both sides by themselves.
    fn meld(&self) -> Option<Meld> {
        let [rows, columns] = [0, 1].map(|s| self.sides[s].candidates.len());
        let mut pairs = align(rows, columns, |i, j| self.score(i, j));
        if pairs.is_empty() {
            return None;
        }
        let mut laid = self.lay(&pairs);
        for _ in 0..SWEEPS {
            let mut at = 0;
            while at < pairs.len() {
                let mut fewer = pairs.clone();
                fewer.remove(at);
                let other = self.lay(&fewer);
                if other.unit <= laid.unit {
                    (pairs, laid) = (fewer, other);
                } else {
                    at += 1;
                }
            }
        }
        (laid.unit < self.apart()).then(|| self.finish(&pairs, laid))
    }

    /// The sides as they stand in straight order.
    fn in_order(&self) -> [usize; 2] {
        match self.sides[0].body {
            0 => [0, 1],
            _ => [1, 0],
        }
    }

    fn finish(&self, pairs: &[(usize, usize)], laid: Laid) -> Meld {
        let mut slots = Vec::new();
        let mut guarded = [false; 2];
        let mut around = false;
        let mut next = [0; 2];
        let mut args = laid.args.into_iter();
        for n in 0..=pairs.len() {
            let pair = pairs.get(n).map(|&(i, j)| [i, j]);
            for s in self.in_order() {
                let side = &self.sides[s];
                let end = pair.map_or(side.elements.len(), |p| side.candidates[p[s]].at);
                for element in &side.elements[next[s]..end] {
                    slots.push(match *element {
                        Element::Nested(region) => Slot::Nested(region),
                        Element::Inst(inst) => {
                            guarded[side.body] |= self.walk.shield(inst).is_some();
                            Slot::Inst {
                                body: side.body,
                                inst,
                            }
                        }
                    });
                }
                next[s] = end + 1;
            }
            if let Some(([i, j], args)) = pair.zip(args.next()) {
                let guarded = self.guarded(i, j) == Some(true) && !self.study.all;
                around |= guarded;
                let chosen = [i, j];
                slots.push(Slot::Pair {
                    insts: self
                        .in_order()
                        .map(|s| self.sides[s].candidates[chosen[s]].inst),
                    args,
                    guarded,
                });
            }
        }
        Meld {
            slots,
            merges: laid.merges,
            unit: laid.unit,
            guarded,
            around,
            definitions: laid.definitions,
        }
    }
}
