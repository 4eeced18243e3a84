//! Equal work of both sides, done once above the branch.
//!
//! What both sides of a two-way branch compute on every path before any lane
//! can leave is computed by every lane of the branch either way. Operations
//! without effect qualify, and loads that `can_move` from memory that is
//! `readonly`. The first blocks of the two sides are compared by value
//! numbers, so chains of equal work go up together; nests do so level by level
//! as the passes are repeated.

use hashbrown::{HashMap, HashSet};
use smallvec::SmallVec;
use warpfold_analysis::JoinRule;
use warpfold_ir::{
    Block, Function, Imm, Inst, InstData, MemFlags, Opcode, Shape, Terminator, Type, Value,
};

use crate::clean::Renames;
use crate::edit::count_edges;
use crate::log::Log;

/// Runs the pass; true if anything changed.
pub fn run(func: &mut Function, _joins: JoinRule, log: &mut Log) -> bool {
    let edges = count_edges(func);
    let mut renames = Renames::default();
    let mut changed = false;
    for head in func.layout.clone().into_iter().rev() {
        let Terminator::Br {
            then, otherwise, ..
        } = func.term(head)
        else {
            continue;
        };
        let (then, otherwise) = (then.block, otherwise.block);
        let alone = |b: Block| edges[b.as_u32() as usize] == 1 && b != head;
        if !(alone(then) && alone(otherwise)) {
            continue;
        }
        let pairs = equal_work(func, then, otherwise, &renames);
        if pairs.is_empty() {
            continue;
        }
        changed = true;
        let origin = func.block(head).origin;
        let mut moved: HashSet<Inst> = HashSet::new();
        for &(up, gone) in &pairs {
            moved.extend([up, gone]);
            if let (Some(kept), Some(old)) = (func.result(up), func.result(gone)) {
                renames.set(old, kept);
            }
            if !origin.is_none() {
                log.hoisted.push((up, origin));
            }
        }
        for side in [then, otherwise] {
            func.block_mut(side).insts.retain(|i| !moved.contains(i));
        }
        let ups = pairs.iter().map(|&(up, _)| up);
        func.block_mut(head).insts.extend(ups);
    }
    renames.apply(func);
    changed
}

/// A value as both sides see it: a computation's number, or just itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Number {
    Itself(Value),
    Computed(usize),
}

type Key = (Opcode, Type, SmallVec<[Number; 3]>, Imm, Option<Type>);

/// Instructions of `then` with their equals of `otherwise`, in order.
fn equal_work(
    func: &Function,
    then: Block,
    otherwise: Block,
    renames: &Renames,
) -> Vec<(Inst, Inst)> {
    let mut keys: HashMap<Key, usize> = HashMap::new();
    let mut side = |b: Block| {
        let mut numbers: HashMap<Value, Number> = HashMap::new();
        let mut found: Vec<(usize, Inst)> = Vec::new();
        let mut taken: HashSet<usize> = HashSet::new();
        for &i in &func.block(b).insts {
            let data = func.inst(i);
            if data.op.ends_segment() || data.op.effects().syncs {
                break;
            }
            if hoistable(data) {
                let args = data
                    .args
                    .iter()
                    .map(|&a| {
                        let a = renames.get(a);
                        numbers.get(&a).copied().unwrap_or(Number::Itself(a))
                    })
                    .collect();
                let from = data.args.first().map(|&a| func.ty(a));
                let next = keys.len();
                let n = *keys
                    .entry((data.op, data.ty, args, data.imm, from))
                    .or_insert(next);
                // A repetition within the side stays where it is, so nothing
                // that goes up may use it; like all else it is its own number.
                if taken.insert(n) {
                    found.push((n, i));
                    numbers.extend(func.result(i).map(|r| (r, Number::Computed(n))));
                }
            }
        }
        found
    };
    let (a, b) = (side(then), side(otherwise));
    let mut of_b: HashMap<usize, Inst> = HashMap::new();
    for (n, i) in b {
        of_b.entry(n).or_insert(i);
    }
    let mut seen = Vec::new();
    for (n, i) in a {
        if let Some(j) = of_b.remove(&n) {
            seen.push((i, j));
        }
    }
    seen
}

fn hoistable(data: &InstData) -> bool {
    if data.guard.is_some() {
        return false;
    }
    if data.op.effects().is_pure() {
        return true;
    }
    data.op.shape() == Shape::Load
        && data.mem().is_some_and(|(flags, _)| {
            flags.contains(MemFlags::CAN_MOVE | MemFlags::READONLY)
                && !flags.contains(MemFlags::VOLATILE)
        })
}
