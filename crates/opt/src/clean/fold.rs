//! Constant folding, copies, guards and branches on constants.
//!
//! A way that is never taken may lead to an end of the function all the same,
//! and ends decide where lanes join. Where the function has anything that
//! depends on which lanes execute together, a branch is not folded if that
//! would move the join of another.

use warpfold_analysis::JoinRule;
use warpfold_ir::eval::eval;
use warpfold_ir::{
    Block, BlockCall, CostClass, Function, Imm, InstData, IntCC, Opcode, Origin, Terminator, Type,
    Value,
};

use super::Renames;
use crate::edit::{Merger, where_joins_stay};
use crate::log::Log;

/// Runs the pass once over the function; true if anything changed.
pub fn run(func: &mut Function, joins: JoinRule, log: &mut Log) -> bool {
    let changed = fold(func, true);
    let gone = drop_unreachable(func);
    let heads: Vec<Block> = func
        .layout
        .iter()
        .copied()
        .filter(|&b| only_target(func, func.term(b)).is_some())
        .collect();
    let folded = where_joins_stay(func, &heads, joins, false, fold_branches);
    let changed = changed || !gone.is_empty() || !folded.is_empty();
    for (origin, why) in gone.into_iter().chain(folded) {
        log.fold(origin, why);
    }
    changed
}

/// The same for values only: instructions go away or become constants, and
/// everything else stays what it is. Branches stay too: without one, lanes may
/// join elsewhere, and other code then runs more or less often.
pub fn values(func: &mut Function, _joins: JoinRule, _log: &mut Log) -> bool {
    fold(func, false)
}

/// Folds values. With `anew` an instruction may become a different one,
/// otherwise only a constant.
fn fold(func: &mut Function, anew: bool) -> bool {
    let mut renames = Renames::default();
    let mut changed = false;
    for b in func.layout.clone() {
        let mut kept = Vec::with_capacity(func.block(b).insts.len());
        for inst in std::mem::take(&mut func.block_mut(b).insts) {
            func.inst_mut(inst).map_uses(|v| renames.get(v));
            match simplify(func, func.inst(inst)) {
                None => kept.push(inst),
                Some(Simpler::Inst(data)) if !anew && data.cost_class() != CostClass::Const => {
                    kept.push(inst);
                }
                Some(Simpler::Nothing) => changed = true,
                Some(Simpler::Value(v)) => {
                    changed = true;
                    if let Some(r) = func.result(inst) {
                        renames.set(r, v);
                    }
                }
                Some(Simpler::Inst(data)) => {
                    changed = true;
                    let old = func.inst_mut(inst);
                    let (results, origin) = (std::mem::take(&mut old.results), old.origin);
                    *old = InstData {
                        results,
                        origin,
                        ..data
                    };
                    kept.push(inst);
                }
            }
        }
        func.block_mut(b).insts = kept;
    }
    renames.apply(func);
    changed
}

/// Turns the branches of `heads` that go only one way into jumps. Returns
/// each branch that went away, with the reason.
fn fold_branches(
    func: &mut Function,
    heads: &[Block],
    _limit: usize,
) -> (Vec<(Origin, String)>, Merger) {
    let mut folded = Vec::new();
    for &b in heads {
        if let Some((to, why)) = only_target(func, func.term(b)) {
            folded.push((func.block(b).origin, why));
            func.block_mut(b).term = Some(Terminator::Jump(to));
        }
    }
    folded.extend(drop_unreachable(func));
    (folded, Merger::default())
}

/// Removes what no path reaches. Returns the branches there.
fn drop_unreachable(func: &mut Function) -> Vec<(Origin, String)> {
    let gone = func.remove_unreachable();
    gone.into_iter()
        .filter(|&b| func.term(b).is_conditional())
        .map(|b| (func.block(b).origin, String::from("no path reaches it")))
        .collect()
}

enum Simpler {
    /// It does nothing.
    Nothing,
    /// Its result is this value.
    Value(Value),
    /// It computes the same as this.
    Inst(InstData),
}

fn constant(ty: Type, bits: u128) -> Simpler {
    Simpler::Inst(InstData::new(
        Opcode::Const,
        ty,
        &[],
        Imm::Bits(bits & ty.mask()),
    ))
}

fn simplify(func: &Function, data: &InstData) -> Option<Simpler> {
    if let Some(guard) = data.guard {
        let holds = (func.as_const(guard.pred)? & 1 == 1) != guard.negated;
        return match (holds, data.op.must_be_guarded()) {
            (true, true) => None,
            (true, false) => {
                let mut bare = data.clone();
                bare.guard = None;
                Some(Simpler::Inst(bare))
            }
            (false, _) => Some(match (guard.otherwise, data.result_type()) {
                (Some(v), _) => Simpler::Value(v),
                (None, None) => Simpler::Nothing,
                (None, Some(ty)) => {
                    Simpler::Inst(InstData::new(Opcode::Poison, ty, &[], Imm::None))
                }
            }),
        };
    }
    if data.op == Opcode::Const {
        return None;
    }
    if data.op == Opcode::Copy {
        return Some(Simpler::Value(data.args[0]));
    }
    if data.op == Opcode::Select {
        let (cond, a, b) = (data.args[0], data.args[1], data.args[2]);
        if a == b {
            return Some(Simpler::Value(a));
        }
        if let Some(c) = func.as_const(cond) {
            return Some(Simpler::Value(if c & 1 == 1 { a } else { b }));
        }
    }
    if let Some(p) = test_of_bint(func, data) {
        return Some(p);
    }
    let effects = data.op.effects();
    if data.args.is_empty() || effects.calls || !effects.is_pure() && !effects.traps {
        return None;
    }
    let mut bits = [0u128; 3];
    let mut types = [Type::Pred; 3];
    for (i, &arg) in data.args.iter().enumerate() {
        bits[i] = func.as_const(arg)?;
        types[i] = func.ty(arg);
    }
    let n = data.args.len();
    match eval(data, &types[..n], &bits[..n]) {
        // A lane that traps must go on trapping where it stands.
        None | Some(Err(_)) => None,
        Some(Ok(result)) => Some(constant(data.result_type()?, result)),
    }
}

/// `icmp ne (bint p), 0` is `p`, and with `eq` it is `not p`.
fn test_of_bint(func: &Function, data: &InstData) -> Option<Simpler> {
    let Imm::Icc(cc @ (IntCC::Ne | IntCC::Eq)) = data.imm else {
        return None;
    };
    if func.as_const(data.args[1])? != 0 {
        return None;
    }
    let source = func.inst(func.def_inst(data.args[0])?);
    if source.op != Opcode::Bint || source.guard.is_some() {
        return None;
    }
    let p = source.args[0];
    Some(if cc == IntCC::Ne {
        Simpler::Value(p)
    } else {
        Simpler::Inst(InstData::new(Opcode::Not, Type::Pred, &[p], Imm::None))
    })
}

/// The only way a branch can go, and why.
fn only_target(func: &Function, term: &Terminator) -> Option<(BlockCall, String)> {
    let cond = term.condition()?;
    let targets = term.targets();
    let (taken, why) = match (func.as_const(cond), term) {
        (Some(bits), Terminator::Br { .. }) if bits & 1 == 1 => {
            (0, String::from("its condition is always true"))
        }
        (Some(_), Terminator::Br { .. }) => (1, String::from("its condition is always false")),
        (Some(bits), _) => {
            let index = usize::try_from(bits).unwrap_or(usize::MAX);
            let why = format!("its index is always {bits}");
            (index.min(targets.len() - 1), why)
        }
        (None, _) if targets.iter().all(|t| *t == targets[0]) => (
            0,
            String::from("every edge goes to one block with the same arguments"),
        ),
        _ => return None,
    };
    Some((targets[taken].clone(), why))
}
