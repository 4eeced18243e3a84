//! Inlining: a direct call of a function that does not call itself, however
//! indirectly, becomes the function's code, so that if-conversion sees through
//! small helpers.
//!
//! **What changes.** The block that calls is cut behind the call. Its first part
//! goes on as the callee's entry; each `ret` of the copy jumps to the second
//! part, whose parameters are the results. Where the callee returns in one place
//! only there is no jump: the second part follows directly. Calls in the copy
//! are then calls of this function and are looked at in turn. Those in tail
//! position stay there if the call that was replaced was in tail position too,
//! so that a loop of tail calls still needs no room; otherwise they become calls
//! and returns. Copied branches get origins of their own, so that each copy is
//! decided by itself; the [`Log`] says whose copies they are and by which calls
//! they came in.
//!
//! **What does not.** Lanes run together behind a call; so they must meet where
//! the call was, and inside the copy where they met before. Where the copy would
//! move a [join](warpfold_analysis::Joins) so that it matters, the call stays.
//! (It does not matter where a branch of the callee has but one side that does
//! not return early: the lanes that did not return early are together either
//! way.) A callee with stack slots is not inlined into a loop, since its slots
//! would no longer begin as zeros.
//!
//! **How much.** Callees of up to [`MAX_CALLEE`] instructions, until the
//! function has [`MAX_FUNCTION`]. Whether it is cheaper is not asked: a call and
//! a return always cost more than the jump that is left.

mod body;
mod copy;
mod joins;
mod recursion;
mod site;
mod unused;

use hashbrown::{HashMap, HashSet};
use warpfold_analysis::JoinRule;
use warpfold_ir::{Function, Origin, Terminator};

use crate::log::{CallStep, Inlined, Log};
use copy::Copy;
use recursion::recursive;
use site::{Site, next};
use unused::drop_unused;

/// Most instructions, terminators included, of a function that is inlined.
pub const MAX_CALLEE: usize = 1_000;
/// Most instructions, terminators included, that a function grows to.
pub const MAX_FUNCTION: usize = 20_000;
/// Most instructions that are copied or looked at on the way, so that thousands of
/// calls in one function take no time worth speaking of.
const MAX_WORK: usize = 1 << 20;

/// Runs the pass on `func`, a function of the module that `others` are the
/// functions of; true if anything changed. Lanes join by `rule`.
pub fn run(func: &mut Function, others: &[&Function], rule: JoinRule, log: &mut Log) -> bool {
    let recursive = recursive(others);
    let callees: HashMap<&str, &Function> = others
        .iter()
        .zip(&recursive)
        .filter(|&(f, &recursive)| !recursive && f.name != func.name && size(f) <= MAX_CALLEE)
        .map(|(&f, _)| (f.name.as_str(), f))
        .collect();
    let mut fresh = first_free_origin(func);
    let mut total = size(func);
    let mut kept: HashSet<Site> = HashSet::new();
    let mut paths: HashMap<Site, Vec<CallStep>> = HashMap::new();
    let mut changed = false;
    let mut work = 0;
    while let Some((site, callee)) = next(func, &callees, &kept) {
        // A callee of one block moves no join.
        let simple = callee.layout.len() == 1 && callee.slots.is_empty();
        work += if simple { total / 8 } else { total };
        if work > MAX_WORK {
            break;
        }
        if total + size(callee) > MAX_FUNCTION {
            kept.insert(site);
            continue;
        }
        let mut path = paths.get(&site).cloned().unwrap_or_default();
        path.push(CallStep {
            callee: callee.name.clone(),
            site: site.origin(func),
        });
        let copy = if simple {
            Copy::new(func, callee, site)
        } else {
            let mut made = func.clone();
            let copy = Copy::new(&mut made, callee, site);
            if !copy.keeps(func, &made, callee, site, rule) {
                kept.insert(site);
                continue;
            }
            *func = made;
            copy
        };
        for &b in &copy.conditional {
            let source = func.block(b).origin;
            let origin = Origin::new(fresh, source.line);
            fresh = fresh.saturating_add(1);
            func.block_mut(b).origin = origin;
            log.inlined.push(Inlined {
                origin,
                source,
                opcode: match func.term(b) {
                    Terminator::Switch { .. } => "switch",
                    _ => "br",
                },
                path: path.clone(),
            });
        }
        for &call in &copy.calls {
            paths.insert(call, path.clone());
        }
        total += size(callee);
        changed = true;
    }
    if changed {
        drop_unused(func);
    }
    changed
}

/// Instructions and terminators.
fn size(func: &Function) -> usize {
    func.laid_out_insts().count() + func.layout.len()
}

/// A number that no origin of the function has.
fn first_free_origin(func: &Function) -> u32 {
    let terms = func.layout.iter().map(|&b| func.block(b).origin);
    let insts = func.laid_out_insts().map(|(_, i)| func.inst(i).origin);
    let used = terms.chain(insts).filter(|o| !o.is_none());
    used.map(|o| o.inst.saturating_add(1)).max().unwrap_or(0)
}
