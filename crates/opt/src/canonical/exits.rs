//! A side of a two-way branch that only returns or only traps becomes
//! `exit if p` or `trap if p`.
//!
//! The other side must have no other predecessor: it is appended to the
//! branch's block, so that no jump appears and the result is never dearer. An
//! edge to a block holding only `ret` (perhaps through blocks that only jump)
//! counts however many predecessors that block has. A function that returns
//! values keeps its returns, and so does one that makes calls: it may be called
//! by whom it calls, and then lanes that return do not leave. A branch whose author
//! keeps it (`Hint::Keep`) stays.
//!
//! A conversion that would move the join of another branch is not made where
//! the function has anything that depends on which lanes execute together. By
//! the default rule of joins it is not made at all: when the best of a
//! function's ends goes, another becomes the home of what is left, and lanes
//! may join later than before. (By the textbook rule joins only come nearer
//! when an edge goes.)

use warpfold_analysis::JoinRule;
use warpfold_ir::{
    Block, BlockCall, CostClass, Function, Guard, Hint, Imm, InstData, Opcode, Origin, Terminator,
    TrapCode, Type,
};

use crate::edit::{Merger, count_edges, has_calls, where_joins_stay};
use crate::log::{ExitMade, Log};

/// Runs the pass; true if anything changed.
pub fn run(func: &mut Function, joins: JoinRule, log: &mut Log) -> bool {
    let heads: Vec<Block> = func
        .layout
        .iter()
        .copied()
        .filter(|&b| func.term(b).is_conditional())
        .collect();
    let for_cost = joins == JoinRule::Default;
    let made = where_joins_stay(func, &heads, joins, for_cost, convert_all);
    let changed = !made.is_empty();
    log.exits.extend(made);
    changed
}

/// Converts the branches of `heads`, and of blocks appended to them, of each
/// head at most `limit`.
fn convert_all(func: &mut Function, heads: &[Block], limit: usize) -> (Vec<ExitMade>, Merger) {
    let returns = !has_calls(func);
    let mut edges = count_edges(func);
    let mut merged = Merger::default();
    let mut made = Vec::new();
    for &head in heads {
        // Appending may bring the next candidate into the same block.
        for _ in 0..limit {
            let Some(found) = candidate(func, head, &edges, returns) else {
                break;
            };
            made.push(convert(func, head, &found, &mut merged));
            edges[found.side.as_u32() as usize] -= 1;
        }
    }
    merged.finish(func);
    func.remove_unreachable();
    (made, merged)
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
        then,
        otherwise,
        mark,
        ..
    }) = &func.block(head).term
    else {
        return None;
    };
    if then.block == otherwise.block || mark.hint == Some(Hint::Keep) {
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

fn convert(func: &mut Function, head: Block, found: &Candidate, merged: &mut Merger) -> ExitMade {
    let origin = func.block(head).origin;
    let pred = merged.renames.get(
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
    merged.append(func, head, &found.rest);
    ExitMade { origin, inst, kind }
}
