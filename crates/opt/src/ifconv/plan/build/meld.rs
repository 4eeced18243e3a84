//! Emitting two sides at once, as their [meld](crate::ifconv::study::meld) says.

use hashbrown::HashMap;
use smallvec::SmallVec;
use warpfold_analysis::regions::RegionId;
use warpfold_ir::Inst;

use super::{Builder, Points, SOME_STAY, V};
use crate::ifconv::logic::Truth;
use crate::ifconv::outline::Outline;
use crate::ifconv::plan::{PlanGuard, What};
use crate::ifconv::study::meld::{Meld, Operand, Slot};
use crate::ifconv::study::{RegionStudy, Sym};

impl<'a> Builder<'a> {
    /// How the sides of a region are merged, if they are: neither is skipped.
    pub(super) fn melded(&self, id: RegionId) -> Option<&'a Meld> {
        let meld = self.study.region(id).meld.as_deref();
        meld.filter(|_| !(0..2).any(|body| (self.skipped)(id, body)))
    }

    pub(super) fn meld(
        &mut self,
        outline: &Outline,
        study: &RegionStudy,
        meld: &Meld,
        points: &Points,
    ) {
        let end = outline.bodies.len();
        for k in 0..=end {
            self.predicates(outline, study, points, k);
        }
        self.definitions.extend(&meld.definitions);
        let mut chosen: HashMap<(Sym, Sym), V> = HashMap::new();
        for slot in &meld.slots {
            match slot {
                Slot::Inst { body, inst } => self.inst(outline, *body, *inst),
                Slot::Nested(region) => self.region(*region),
                Slot::Pair {
                    insts,
                    args,
                    guarded,
                } => {
                    let args = (0..).zip(args);
                    let args = args
                        .map(|(n, &operand)| match operand {
                            Operand::One(sym) => self.get(sym),
                            Operand::Two(x, y) => match chosen.get(&(x, y)) {
                                Some(&made) => made,
                                None => {
                                    let made = self.choose(outline, insts[0], n, x, y);
                                    chosen.insert((x, y), made);
                                    made
                                }
                            },
                        })
                        .collect();
                    let guard = guarded.then(|| {
                        let around = study.parent.and_then(|(id, k)| self.full(id, k));
                        PlanGuard {
                            pred: around.expect(SOME_STAY),
                            otherwise: None,
                        }
                    });
                    self.pair(outline, *insts, args, guard);
                }
            }
        }
        for (m, merge) in (0..).zip(&meld.merges) {
            self.meet(outline, m, merge);
        }
    }

    /// The select for an operand: what it is on the first side and on the second.
    fn choose(&mut self, outline: &Outline, inst: Inst, operand: usize, x: Sym, y: Sym) -> V {
        let Truth::Literal(first) = outline.bodies[0].truth else {
            unreachable!("a side of a branch has its condition for predicate");
        };
        let first = self.literal(outline.region, first);
        let (x, y) = (self.get(x), self.get(y));
        let (a, b) = match first.negated {
            false => (x, y),
            true => (y, x),
        };
        let func = self.cx.func;
        let ty = func.ty(func.inst(inst).args[operand]);
        self.push(What::Select(first.val, a, b), outline.head, Some(ty))
    }

    fn pair(
        &mut self,
        outline: &Outline,
        insts: [Inst; 2],
        args: SmallVec<[V; 3]>,
        guard: Option<PlanGuard<V>>,
    ) {
        let what = What::Merged { insts, args, guard };
        self.push(what, outline.head, None);
        let [a, b] = insts.map(|i| self.cx.func.result(i));
        if let (Some(a), Some(b)) = (a, b) {
            self.vals.insert(Sym::Value(b), V::Old(a));
        }
    }
}
