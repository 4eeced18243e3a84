//! The walk over a region that makes its plan: which instructions are emitted,
//! in which order, under which guards.

use warpfold_analysis::segments;
use warpfold_ir::{Block, BlockCall, CostClass, Guard, Inst, InstData, Opcode, Shape, Terminator};

use super::{Class, ClassId, Gate, Item, Merged, PlanGuard, Planner, Side, Signed, Val, What};
use crate::edit::has_calls;
use crate::ifconv::legality::{Blocker, MAX_DEPTH};
use crate::report::Force;
use crate::safety::speculation;

impl Planner<'_> {
    /// Plans the region at `head`, whose own lanes are `class`.
    pub(super) fn region(
        &mut self,
        head: Block,
        join: Block,
        class: Option<ClassId>,
        depth: u32,
    ) -> Result<Merged, Blocker> {
        if depth > MAX_DEPTH {
            return Err(Blocker::Depth { block: head });
        }
        let Terminator::Br {
            cond,
            then,
            otherwise,
            ..
        } = self.cx.func.term(head)
        else {
            return Err(Blocker::Switch { block: head });
        };
        let cond = self.resolve(*cond);
        // An edge to the join has nothing to emit; its place does not matter.
        let places = self.cx.places;
        let swap = places[otherwise.block] < places[then.block];
        let mut calls = [(then, false), (otherwise, true)];
        if swap {
            calls.reverse();
        }
        let [first, second] = calls;
        let first = self.side(head, first.0, join, (cond, first.1), class, depth)?;
        let second = self.side(head, second.0, join, (cond, second.1), class, depth)?;
        let edges = first.edges + second.edges;
        let args = match (&first.args, &second.args) {
            (Some(a), Some(b)) => (0..a.len())
                .map(|i| self.merge(head, cond, [(a[i], &first), (b[i], &second)], swap))
                .collect(),
            (Some(args), None) | (None, Some(args)) => args.clone(),
            (None, None) => Vec::new(),
        };
        Ok(Merged { args, edges })
    }

    pub(super) fn side(
        &mut self,
        head: Block,
        call: &BlockCall,
        join: Block,
        (cond, negated): (Val, bool),
        parent: Option<ClassId>,
        depth: u32,
    ) -> Result<Side, Blocker> {
        let cx = self.cx;
        let start = self.items.len();
        let class = self.classes.len();
        self.classes.push(Class {
            parent,
            cond: Signed { val: cond, negated },
            pred: None,
            head,
        });
        let mut args: Vec<Val> = call.args.iter().map(|&a| self.resolve(a)).collect();
        let mut block = call.block;
        // Edges that lead to `block` from where the walk has been.
        let mut edges = 1;
        while block != join {
            if cx.cfg.preds(block).len() != edges {
                return Err(Blocker::Shape { block });
            }
            self.bind(block, &args);
            for (segment, insts) in segments(cx.func, block).enumerate() {
                self.begin(block, segment as u32);
                for &inst in insts {
                    self.inst(inst, class)?;
                }
            }
            let term = cx.func.term(block);
            // A return or trap still belongs to the block's last segment.
            if !term.is_end() {
                self.end_of_block();
            }
            match term {
                Terminator::Jump(to) => {
                    args = to.args.iter().map(|&a| self.resolve(a)).collect();
                    block = to.block;
                    edges = 1;
                }
                Terminator::Br { .. } => {
                    let Ok(inner) = cx.regions.headed_by(block) else {
                        return Err(Blocker::Shape { block });
                    };
                    let inner_join = cx.regions[inner].join;
                    let merged = self.region(block, inner_join, Some(class), depth + 1)?;
                    (args, edges) = (merged.args, merged.edges);
                    block = inner_join;
                }
                Terminator::Switch { .. } => return Err(Blocker::Switch { block }),
                Terminator::Ret(values) if !values.is_empty() || has_calls(cx.func) => {
                    return Err(Blocker::EarlyEnd { block });
                }
                Terminator::TailCall(_) => return Err(Blocker::EarlyEnd { block }),
                Terminator::Ret(_) | Terminator::Trap(_) => {
                    if cx.force == Some(Force::Select) {
                        return Err(Blocker::EarlyEnd { block });
                    }
                    let lanes = self.predicate(class);
                    self.push(What::Leave(block, lanes), head);
                    self.open_gate();
                    return Ok(Side {
                        args: None,
                        edges: 0,
                        class,
                        range: start..self.items.len(),
                    });
                }
            }
        }
        Ok(Side {
            args: Some(args),
            edges,
            class,
            range: start..self.items.len(),
        })
    }

    pub(super) fn inst(&mut self, inst: Inst, class: ClassId) -> Result<(), Blocker> {
        let cx = self.cx;
        let data = cx.func.inst(inst);
        let owner = self.classes[class].head;
        if data.cost_class() == CostClass::Const {
            self.consts.push(Item {
                what: What::Inst(inst, None),
                owner,
                gate: Gate::Open,
            });
            return Ok(());
        }
        if data.op.effects().syncs {
            return Err(Blocker::Sync { inst });
        }
        if data.op.effects().calls {
            return Err(Blocker::Call { inst });
        }
        let safe = speculation(cx.func, data);
        if let (Some(Force::Select), Err(why)) = (cx.force, safe) {
            return Err(Blocker::Unsafe { inst, why });
        }
        let guard = self.guard_for(data, class, safe.is_ok());
        if data.op.shape() == Shape::Load && safe.is_ok() {
            self.is_address(self.resolve(data.args[0]));
        }
        let poisoned = match guard {
            // Off the side it is the `else` value, if there is one.
            Some(g) => g.otherwise.is_none_or(|v| self.is_tainted(v)),
            None => false,
        } || data.args.iter().any(|&a| self.is_tainted(self.resolve(a)));
        let at = self.items.len();
        self.push(What::Inst(inst, guard), owner);
        if data.op.effects().retires {
            self.open_gate();
        }
        if let Some(result) = cx.func.result(inst) {
            self.home.insert(result, (at, class));
            if poisoned {
                self.tainted.insert(Val::Old(result));
            }
        }
        Ok(())
    }

    /// The guard that an instruction of `class` gets: its own, the predicate
    /// of its class, both, or none.
    pub(super) fn guard_for(
        &mut self,
        data: &InstData,
        class: ClassId,
        safe: bool,
    ) -> Option<PlanGuard> {
        let own = data.guard.map(|g: Guard| PlanGuard {
            pred: Signed {
                val: self.resolve(g.pred),
                negated: g.negated,
            },
            otherwise: g.otherwise.map(|v| self.resolve(v)),
        });
        let tainted_address =
            data.op.shape() == Shape::Load && self.is_tainted(self.resolve(data.args[0]));
        let tainted_guard = own.is_some_and(|g| self.is_tainted(g.pred.val));
        let bare =
            safe && !tainted_address && !tainted_guard && self.cx.force != Some(Force::Predicate);
        if bare {
            return own;
        }
        let lanes = self.predicate(class);
        Some(match own {
            None => PlanGuard {
                pred: lanes,
                otherwise: None,
            },
            Some(g) => PlanGuard {
                pred: self.both(lanes, g.pred, self.classes[class].head),
                otherwise: g.otherwise,
            },
        })
    }

    /// The full predicate of a class, computed at its first use.
    pub(super) fn predicate(&mut self, class: ClassId) -> Signed {
        if let Some(p) = self.classes[class].pred {
            return p;
        }
        let (cond, head) = (self.classes[class].cond, self.classes[class].head);
        let p = match self.classes[class].parent {
            None => cond,
            Some(parent) => {
                let outer = self.predicate(parent);
                self.both(outer, cond, head)
            }
        };
        self.classes[class].pred = Some(p);
        p
    }

    /// The conjunction of two signed predicates, in one operation.
    pub(super) fn both(&mut self, a: Signed, b: Signed, owner: Block) -> Signed {
        let (op, x, y, negated) = match (a.negated, b.negated) {
            (false, false) => (Opcode::And, a.val, b.val, false),
            (false, true) => (Opcode::Andn, a.val, b.val, false),
            (true, false) => (Opcode::Andn, b.val, a.val, false),
            (true, true) => (Opcode::Or, a.val, b.val, true),
        };
        let val = self.push(What::Pred(op, x, y), owner);
        Signed { val, negated }
    }
}
