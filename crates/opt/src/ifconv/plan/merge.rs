//! Where two sides meet: what each parameter of the join receives, by the order
//! of preference that the [parent module](super) states.

use warpfold_ir::{Block, CostClass, Inst};

use super::{Class, PlanGuard, Planner, Side, Val, What};
use crate::report::Force;

impl Planner<'_> {
    /// What a parameter of the join receives, from what the two sides pass;
    /// `swap` says that the first to be emitted is the else side.
    pub(super) fn merge(
        &mut self,
        head: Block,
        cond: Val,
        [(a, first), (b, second)]: [(Val, &Side); 2],
        swap: bool,
    ) -> Val {
        if a == b || self.equal_constants(a, b) {
            return a;
        }
        // The first side's values are at hand in the second; the other way
        // round only what both sides started with.
        let early = !self.in_items(b, second);
        if self.use_as_else(b, second, a) {
            return b;
        }
        if early && self.use_as_else(a, first, b) {
            return a;
        }
        if self.guard_is_cheaper() {
            if self.guard_bare(b, second, a) {
                return b;
            }
            if early && self.guard_bare(a, first, b) {
                return a;
            }
        }
        let (then, otherwise) = if swap { (b, a) } else { (a, b) };
        let val = self.push(What::Select(cond, then, otherwise), head);
        if [cond, a, b].iter().any(|&v| self.is_tainted(v)) {
            self.tainted.insert(val);
        }
        val
    }

    pub(super) fn equal_constants(&self, a: Val, b: Val) -> bool {
        let func = self.cx.func;
        let (Val::Old(a), Val::Old(b)) = (a, b) else {
            return false;
        };
        func.ty(a) == func.ty(b)
            && func
                .as_const(a)
                .is_some_and(|x| func.as_const(b) == Some(x))
    }

    /// Whether `v` comes from an item of the side. (Constants go first.)
    pub(super) fn in_items(&self, v: Val, side: &Side) -> bool {
        match v {
            Val::Old(v) => self
                .home
                .get(&v)
                .is_some_and(|(at, _)| side.range.contains(at)),
            Val::Item(at) => side.range.contains(&at),
        }
    }

    /// The item that defines `v` in the side's own class, if an `else` can
    /// still be given to it.
    pub(super) fn definition(
        &self,
        v: Val,
        side: &Side,
    ) -> Option<(usize, Inst, Option<PlanGuard>)> {
        let Val::Old(old) = v else { return None };
        let &(at, class) = self.home.get(&old)?;
        match self.items[at].0 {
            What::Inst(inst, guard)
                if class == side.class && self.cx.func.inst(inst).guard.is_none() =>
            {
                Some((at, inst, guard))
            }
            _ => None,
        }
    }

    /// Gives a definition that is guarded anyway the value `other` off its side.
    pub(super) fn use_as_else(&mut self, v: Val, side: &Side, other: Val) -> bool {
        let Some((at, inst, Some(guard))) = self.definition(v, side) else {
            return false;
        };
        // A side's own predicate: where it does not hold, the other side runs
        // or nothing is wanted. Its `else` may be the wanted one already.
        let own = self.classes[side.class].pred == Some(guard.pred);
        if !own || guard.otherwise.is_some_and(|v| v != other) {
            return false;
        }
        self.items[at].0 = What::Inst(
            inst,
            Some(PlanGuard {
                otherwise: Some(other),
                ..guard
            }),
        );
        true
    }

    pub(super) fn guard_is_cheaper(&self) -> bool {
        self.cx.force != Some(Force::Select)
            && self.cx.machine.guard < self.cx.machine.issue_cost(CostClass::Select)
    }

    /// Marks everything in the plan that `v` is computed from.
    pub(super) fn is_address(&mut self, v: Val) {
        let mut stack = vec![v];
        while let Some(v) = stack.pop() {
            let at = match v {
                Val::Item(at) => at,
                Val::Old(old) => match self.home.get(&old) {
                    Some(&(at, _)) => at,
                    None => continue,
                },
            };
            if !self.addressing.insert(v) {
                continue;
            }
            match self.items[at].0 {
                What::Inst(inst, guard) => {
                    let args = self.cx.func.inst(inst).args.iter();
                    stack.extend(args.map(|&a| self.resolve(a)));
                    stack.extend(guard.map(|g| g.pred.val));
                    stack.extend(guard.and_then(|g| g.otherwise));
                }
                What::Pred(_, a, b) => stack.extend([a, b]),
                What::Select(c, a, b) => stack.extend([c, a, b]),
                What::Leave(..) => {}
            }
        }
    }

    /// Guards a bare definition by the condition of its branch, with the value
    /// `other` elsewhere. The condition alone will do: off the branch's own
    /// lanes a safe instruction may compute anything, unless a speculated load
    /// needs what it computes.
    pub(super) fn guard_bare(&mut self, v: Val, side: &Side, other: Val) -> bool {
        let Class { cond, parent, .. } = self.classes[side.class];
        let Some((at, inst, None)) = self.definition(v, side) else {
            return false;
        };
        // The other side's value is good in the other side's lanes. In a
        // nested region there are more lanes, and what already uses the
        // definition relies on it not being poison there.
        if self.is_tainted(cond.val) || (parent.is_some() && self.is_tainted(other)) {
            return false;
        }
        if self.addressing.contains(&v) {
            return false;
        }
        self.items[at].0 = What::Inst(
            inst,
            Some(PlanGuard {
                pred: cond,
                otherwise: Some(other),
            }),
        );
        true
    }
}
