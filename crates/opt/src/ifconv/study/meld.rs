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
//! **How.** The sides' candidates, in order, are aligned (`align`), each
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
//! one's definition may take the other as its `else`, as elsewhere (`choose`).
//! Which side comes first in layout makes no difference to what is merged.
//!
//! **Poison.** A select passes on what it chooses. What an address or a condition
//! is computed from must be no poison even in lanes outside of the region, so
//! there a pair's operands and condition must be clean on both sides.
//!
//! **Bounds.** The first [`WINDOW`] candidates of each side are looked at; all
//! others stay as they are. Regions in which lanes may leave, and those with
//! further tests or a switch, more than two bodies or other ways to the join than the ends of
//! both, are not merged.

mod lay;
mod pairs;

use hashbrown::{HashMap, HashSet};
use smallvec::SmallVec;
use warpfold_analysis::regions::RegionId;
use warpfold_ir::{CostClass, Function, Inst, InstData};
use warpfold_machine::Cost;

use self::lay::Laid;
use super::align::align;
use super::price::inst_cost;
use super::walk::Walk;
use super::{Merge, RegionStudy, Shield, Sym, resolve};
use crate::ifconv::logic::{OpId, OpKind, Truth};
use crate::ifconv::outline::{Body, Outline, Piece};
use crate::report::Force;
use crate::safety::speculation;

/// How many candidates of each side are aligned.
pub const WINDOW: usize = 64;

/// How often pairs are looked at again, to drop what does not pay for itself.
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
        // A switch's predicates are operations of their own.
        let is_branch = |op| matches!(outline.logic.op(op).kind, OpKind::Condition { .. });
        let one_test =
            outline.logic.len() == 1 && is_branch(OpId(0)) && outline.arrivals.len() == 2;
        let ends = |guard| outline.arrivals.iter().any(|a| a.guard == guard);
        let opposite = matches!(a.truth, Truth::Literal(_)) && a.truth == !b.truth;
        let simple = one_test && opposite && ends(a.guard) && ends(b.guard);
        let stays = study.bodies[0].gate == study.end;
        let joins = |m: &Merge| m.at == 2 && m.steps.len() < 2;
        if !simple || !stays || !study.merges.iter().all(joins) {
            return None;
        }
        // Most regions have nothing in common, and more is made only for the others.
        let [x, y] = [a, b].map(|body| self.candidates(outline, body));
        if !x.iter().any(|x| y.iter().any(|y| alike(x, y))) {
            return None;
        }
        let mut sides = [Side::default(), Side::default()];
        for (n, (side, body)) in sides.iter_mut().zip([a, b]).enumerate() {
            side.body = n;
            for &piece in &body.pieces {
                self.elements(side, outline, piece);
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

    /// What may be merged of a body.
    fn candidates(&self, outline: &Outline, body: &Body) -> SmallVec<[&InstData; 16]> {
        let func = self.cx.func;
        let mut found = SmallVec::new();
        for &piece in &body.pieces {
            let Piece::Segment { own, insts, .. } = piece else {
                continue;
            };
            let all = &func.block(outline.blocks[own].block).insts;
            for &inst in &all[insts.0 as usize..insts.1 as usize] {
                let data = func.inst(inst);
                if found.len() < WINDOW && may_be_merged(data) {
                    found.push(data);
                }
            }
        }
        found
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

/// Whether two instructions are one and the same operation.
fn alike(a: &InstData, b: &InstData) -> bool {
    (a.op, a.ty, a.imm) == (b.op, b.ty, b.imm)
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

    /// The best that was found, if it is cheaper than both sides by themselves.
    fn meld(&self) -> Option<Meld> {
        let [rows, columns] = [0, 1].map(|s| self.sides[s].candidates.len());
        let mut pairs = align(rows, columns, |i, j| self.score(i, j));
        if pairs.is_empty() {
            return None;
        }
        let mut laid = self.lay(&pairs);
        for _ in 0..SWEEPS {
            let before = pairs.len();
            let mut at = 0;
            while at < pairs.len() {
                let chosen = |o: &Operand| matches!(o, Operand::Two(..));
                // Without a select a pair is an issue less.
                if laid.args[at].iter().any(chosen) {
                    let mut fewer = pairs.clone();
                    fewer.remove(at);
                    let other = self.lay(&fewer);
                    if other.unit <= laid.unit {
                        (pairs, laid) = (fewer, other);
                        continue;
                    }
                }
                at += 1;
            }
            if pairs.len() == before {
                break;
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
