//! A side of a two-way branch that only returns or only traps becomes
//! `exit if p` or `trap if p`.
//!
//! The other side must have no other predecessor: it is appended to the
//! branch's block, so that no jump appears and the result is never dearer. An
//! edge to a block holding only `ret` (perhaps through blocks that only jump)
//! counts however many predecessors that block has. A function that returns
//! values keeps its returns, and so does one that makes calls: it may be called
//! by whom it calls, and then lanes that return do not leave. Where the function has anything that depends on
//! which lanes execute together, a conversion that would move the join of
//! another branch is not made.

use warpfold_analysis::{Cfg, JoinRule, Joins};
use warpfold_ir::{
    Block, BlockCall, CostClass, Function, Guard, Imm, InstData, Opcode, Origin, Terminator,
    TrapCode, Type,
};

use crate::clean::Renames;
use crate::edit::{append_block, count_edges, has_calls};
use crate::log::{ExitMade, Log};

/// Runs the pass; true if anything changed.
pub fn run(func: &mut Function, joins: JoinRule, log: &mut Log) -> bool {
    let convergent = func
        .laid_out_insts()
        .any(|(_, i)| func.inst(i).op.effects().convergent);
    let returns = !has_calls(func);
    let mut edges = count_edges(func);
    let mut renames = Renames::default();
    let mut changed = false;
    for head in func.layout.clone() {
        // Appending may bring the next candidate into the same block.
        while let Some(found) = candidate(func, head, &edges, returns) {
            if convergent && moves_a_join(func, head, &found, joins) {
                break;
            }
            let made = convert(func, head, &found, &mut renames);
            edges[found.side.as_u32() as usize] -= 1;
            log.exits.push(made);
            changed = true;
        }
    }
    renames.apply(func);
    func.remove_unreachable();
    changed
}

#[derive(Clone, Debug)]
struct Candidate {
    /// The target of the edge that goes away.
    side: Block,
    /// Where the other lanes go on.
    rest: BlockCall,
    /// Whether lanes leave where the condition does not hold.
    negated: bool,
    /// The trap's code and place; a return without.
    trap: Option<(TrapCode, Origin)>,
}

fn candidate(func: &Function, head: Block, edges: &[u32], returns: bool) -> Option<Candidate> {
    // Blocks appended earlier in this run have no terminator any more.
    let Some(Terminator::Br {
        then, otherwise, ..
    }) = &func.block(head).term
    else {
        return None;
    };
    if then.block == otherwise.block {
        return None;
    }
    let pick = |side: &BlockCall, rest: &BlockCall, negated| {
        let alone = edges[rest.block.as_u32() as usize] == 1;
        if !alone || rest.block == head || func.entry() == Some(rest.block) {
            return None;
        }
        let trap = only_leaves(func, side.block)?;
        if trap.is_none() && !returns {
            return None;
        }
        Some(Candidate {
            side: side.block,
            rest: rest.clone(),
            negated,
            trap,
        })
    };
    pick(then, otherwise, false).or_else(|| pick(otherwise, then, true))
}

/// Whether all that happens from `b` on is a return without values
/// (`Some(None)`) or a trap.
fn only_leaves(func: &Function, mut b: Block) -> Option<Option<(TrapCode, Origin)>> {
    // A chain of jumps may close a loop; no useful chain is longer.
    for _ in 0..8 {
        let free = |&i: &warpfold_ir::Inst| func.inst(i).cost_class() == CostClass::Const;
        if !func.block(b).insts.iter().all(free) {
            return None;
        }
        match func.block(b).term.as_ref()? {
            Terminator::Ret(values) if values.is_empty() => return Some(None),
            Terminator::Trap(code) => return Some(Some((*code, func.block(b).origin))),
            Terminator::Jump(to) => b = to.block,
            _ => return None,
        }
    }
    None
}

fn convert(func: &mut Function, head: Block, found: &Candidate, renames: &mut Renames) -> ExitMade {
    let origin = func.block(head).origin;
    let pred = renames.get(
        func.term(head)
            .condition()
            .expect("a candidate ends in a branch"),
    );
    let (op, imm, place, kind) = match found.trap {
        Some((code, place)) => (Opcode::TrapIf, Imm::Trap(code), place, "trap"),
        None => (Opcode::Exit, Imm::None, origin, "exit"),
    };
    let data = InstData::new(op, Type::I32, &[], imm)
        .guarded(Guard {
            pred,
            negated: found.negated,
            otherwise: None,
        })
        .at(place);
    let at = func.block(head).insts.len();
    let inst = func.insert_inst(head, at, data);
    append_block(func, head, &found.rest, renames);
    ExitMade { origin, inst, kind }
}

/// Tries the conversion on a copy and compares the joins of all other
/// branches.
fn moves_a_join(func: &Function, head: Block, found: &Candidate, rule: JoinRule) -> bool {
    let before = Joins::new(func, &Cfg::new(func), rule);
    let mut after_func = func.clone();
    let mut renames = Renames::default();
    convert(&mut after_func, head, found, &mut renames);
    after_func.remove_unreachable();
    let after = Joins::new(&after_func, &Cfg::new(&after_func), rule);
    let moved = |b: Block| if b == found.rest.block { head } else { b };
    func.layout.iter().any(|&b| {
        b != head
            && func.term(b).is_conditional()
            && after_func.layout.contains(&moved(b))
            && before.of(b).map(moved) != after.of(moved(b))
    })
}
