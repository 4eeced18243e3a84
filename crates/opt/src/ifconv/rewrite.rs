//! Emits plans. No decision is taken here: what a plan says is emitted, in its
//! order, and nothing else.

use warpfold_ir::entity::SecondaryMap;
use warpfold_ir::{
    Block, BlockCall, Function, Guard, Imm, Inst, InstData, MemFlags, Opcode, Origin, Terminator,
    Type, Value,
};

use super::plan::{Plan, PlanGuard, Val, What};
use crate::edit::Merger;

/// What emitting made.
#[derive(Clone, Debug, Default)]
pub struct Emitted {
    /// The block that each canonical block's code and terminator is now in,
    /// where that changed.
    pub moved: SecondaryMap<Block, Option<Block>>,
    /// The instructions each plan emitted, in the order of its items.
    pub insts: Vec<Vec<Inst>>,
}

impl Emitted {
    /// Where the code of `b` is now.
    pub fn place(&self, b: Block) -> Block {
        self.moved[b].unwrap_or(b)
    }
}

/// Rewrites `func` by disjoint plans.
pub fn rewrite(func: &mut Function, plans: &[&Plan]) -> Emitted {
    let mut emitted = Emitted::default();
    let mut merged = Merger::default();
    for plan in plans {
        emitted.insts.push(emit(func, plan, &mut merged));
    }
    for plan in plans.iter().filter(|p| !p.keeps_jump) {
        emitted.moved[plan.join] = Some(merged.place(plan.join));
    }
    merged.finish(func);
    func.remove_unreachable();
    emitted
}

fn emit(func: &mut Function, plan: &Plan, merged: &mut Merger) -> Vec<Inst> {
    let into = merged.place(plan.head);
    let origin = func.block(into).origin;
    // The result of each item, for items that have one.
    let mut results: Vec<Option<Value>> = Vec::with_capacity(plan.items.len());
    let mut insts = Vec::with_capacity(plan.items.len());
    for item in &plan.items {
        let at = |v: Val| match v {
            Val::Old(v) => Some(v),
            Val::Item(i) => results.get(i).copied().flatten(),
        };
        let value = |v: Val| {
            at(v)
                .map(|v| merged.renames.get(v))
                .expect("items precede their uses")
        };
        let guard = |g: PlanGuard| Guard {
            pred: value(g.pred.val),
            negated: g.pred.negated,
            otherwise: g.otherwise.map(value),
        };
        let inst = match item.what {
            What::Inst(inst, g) => {
                let new_guard = g.map(guard);
                let data = func.inst_mut(inst);
                data.guard = new_guard;
                if new_guard.is_none()
                    && let Imm::Mem { flags, .. } = &mut data.imm
                {
                    // What held behind the branch need not hold in front of it.
                    *flags = flags.without(MemFlags::NOTRAP);
                }
                inst
            }
            What::Pred(op, a, b) => {
                let data = InstData::new(op, Type::Pred, &[value(a), value(b)], Imm::None);
                func.make_inst(data.at(origin))
            }
            What::Select(c, a, b) => {
                let args = [value(c), value(a), value(b)];
                let ty = func.ty(args[1]);
                let data = InstData::new(Opcode::Select, ty, &args, Imm::None);
                func.make_inst(data.at(origin))
            }
            What::Leave(block, lanes) => {
                let (op, imm) = match *func.term(block) {
                    Terminator::Trap(code) => (Opcode::TrapIf, Imm::Trap(code)),
                    _ => (Opcode::Exit, Imm::None),
                };
                let guard = Guard {
                    pred: value(lanes.val),
                    negated: lanes.negated,
                    otherwise: None,
                };
                let place = func.block(block).origin;
                let data = InstData::new(op, Type::I32, &[], imm).guarded(guard);
                func.make_inst(data.at(place))
            }
        };
        func.block_mut(into).insts.push(inst);
        results.push(func.result(inst));
        insts.push(inst);
    }
    let at = |v: Val| match v {
        Val::Old(v) => v,
        Val::Item(i) => results[i].expect("a named item has a result"),
    };
    for &(param, val) in &plan.names {
        let value = merged.renames.get(at(val));
        merged.renames.set(param, value);
    }
    let join_args = plan.join_args.iter();
    let args: Vec<Value> = join_args.map(|&v| merged.renames.get(at(v))).collect();
    let call = BlockCall::new(plan.join, &args);
    if plan.keeps_jump {
        func.set_term(into, Terminator::Jump(call), Origin::NONE);
    } else {
        merged.append(func, into, &call);
    }
    insts
}
