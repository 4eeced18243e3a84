//! Equal accesses of both sides, made once: loads above the branch, stores where
//! the sides meet.
//!
//! A load with which one side begins and an equal one with which the other begins
//! are one load in front of the branch, of an address that its condition chooses;
//! equal stores with which both sides end are one store behind it, of what each side
//! brings. Either is an issue of the warp less where it splits, and in straight code
//! two guards less. It is not part of [canonicalisation](crate::canonicalise()),
//! as it costs a select where all branches are kept.
//!
//! Equal accesses have one operation, type, offset and set of flags. These rules keep
//! what each lane does:
//!
//! - Each lane makes the accesses that it made, in its order: between the load and the
//!   branch, and between the store and the join, there are only operations without
//!   effect, and accesses that are merged as well. No load passes a store, whether
//!   they may alias or not.
//! - Volatile and atomic accesses, and those with a guard, stay where they are.
//! - What may trap is merged only if both stand in one place of the source, which is
//!   part of what a program does.
//! - Lanes of both sides now store at once, where those of one side came behind those
//!   of the other. So that no lane's store comes behind another one's that it came in
//!   front of, each lane has bytes of its own for all of them, by the stride that
//!   [uniformity](warpfold_analysis::uniformity) proves of the one address that they all
//!   have, and the second side stores nothing else; or it is the lane's own local memory.
//!
//! Sides are single blocks with no other way in and, for stores, a join that nothing
//! else jumps to.

use hashbrown::HashSet;
use smallvec::SmallVec;
use warpfold_analysis::JoinRule;
use warpfold_analysis::uniformity::{Uniformity, UniformityOptions};
use warpfold_ir::{
    Block, Function, Imm, Inst, InstData, MemFlags, Opcode, Shape, Terminator, Type, Value,
};

use crate::clean::Renames;
use crate::edit::count_edges;
use crate::log::Log;

/// Strides up to this do not reach around the address space within a warp.
const FAR: u64 = 1 << 32;

/// Runs the pass with nothing known of the launch; true if anything changed.
pub fn run(func: &mut Function, joins: JoinRule, log: &mut Log) -> bool {
    let options = UniformityOptions {
        joins,
        ..UniformityOptions::default()
    };
    merge(func, &options, log)
}

/// Runs the pass with what `options` say of the launch; true if anything changed.
pub fn merge(func: &mut Function, options: &UniformityOptions, log: &mut Log) -> bool {
    let edges = count_edges(func);
    let diamonds = diamonds(func, &edges);
    let mut renames = Renames::default();
    let mut changed = false;
    for &Diamond { head, cond, sides } in &diamonds {
        let loads = loads(func, sides, &renames);
        for &pair in &loads {
            load(func, head, cond, pair, &mut renames, log);
        }
        remove(func, sides, &loads);
        changed |= !loads.is_empty();
    }
    renames.apply(func);
    // Of the function as it is now: what stores are moved changes no value.
    let mut known: Option<Uniformity> = None;
    for &Diamond { head, sides, .. } in &diamonds {
        let Some(join) = join_of(func, sides, &edges) else {
            continue;
        };
        let mut stores = stores(func, sides);
        let mut lane = Lane::default();
        let ordered = stores.iter().take_while(|&&pair| {
            is_own(func, pair)
                || lane.holds(func, pair, &mut |v| {
                    let known = known.get_or_insert_with(|| Uniformity::new(func, options));
                    let stride = known.shape_at(v, head).signed_stride();
                    stride.map_or(0, i64::unsigned_abs)
                })
        });
        let ordered = ordered.count();
        stores.truncate(ordered);
        if !stores.iter().all(|&pair| is_own(func, pair)) && writes_else(func, sides[1], &stores) {
            continue;
        }
        for &pair in &stores {
            store(func, head, join, sides, pair, log);
        }
        remove(func, sides, &stores);
        changed |= !stores.is_empty();
    }
    changed
}

/// A branch with two sides that nothing else leads to.
struct Diamond {
    head: Block,
    cond: Value,
    sides: [Block; 2],
}

/// All of them, inner ones first.
fn diamonds(func: &Function, edges: &[u32]) -> Vec<Diamond> {
    let heads = func.layout.iter().rev();
    let found = heads.filter_map(|&head| {
        let Terminator::Br {
            cond,
            then,
            otherwise,
            ..
        } = func.term(head)
        else {
            return None;
        };
        let sides = [then.block, otherwise.block];
        let alone = |&b: &Block| edges[b.as_u32() as usize] == 1 && b != head;
        sides.iter().all(alone).then_some(Diamond {
            head,
            cond: *cond,
            sides,
        })
    });
    found.collect()
}

fn remove(func: &mut Function, sides: [Block; 2], pairs: &[[Inst; 2]]) {
    let gone: HashSet<Inst> = pairs.iter().flatten().copied().collect();
    for side in sides {
        func.block_mut(side).insts.retain(|i| !gone.contains(i));
    }
}

/// What makes two accesses equal.
type Key = (Opcode, Type, Imm);

/// An access of this shape that may be merged at all.
fn access(data: &InstData, shape: Shape) -> Option<Key> {
    let (flags, _) = data.mem()?;
    let plain = data.guard.is_none() && !flags.contains(MemFlags::VOLATILE);
    (plain && data.op.shape() == shape).then_some((data.op, data.ty, data.imm))
}

/// Whether a trap of either is one of the other.
fn traps_alike(a: &InstData, b: &InstData) -> bool {
    let safe = a.mem().is_some_and(|(f, _)| f.contains(MemFlags::NOTRAP));
    safe || a.origin == b.origin
}

/// The accesses in front of anything else that has an effect, in this order.
fn leading(func: &Function, insts: impl Iterator<Item = Inst>, shape: Shape) -> Vec<Inst> {
    let mut found = Vec::new();
    for i in insts {
        let data = func.inst(i);
        if access(data, shape).is_some() {
            found.push(i);
        } else if !data.op.effects().is_pure() {
            break;
        }
    }
    found
}

/// Pairs of equal ones from the start, up to the first that are not.
fn pairs(func: &Function, sides: [Vec<Inst>; 2], shape: Shape) -> Vec<[Inst; 2]> {
    let [a, b] = sides;
    let equal = |&(i, j): &(Inst, Inst)| {
        let (x, y) = (func.inst(i), func.inst(j));
        access(x, shape) == access(y, shape) && traps_alike(x, y)
    };
    let pairs = a.into_iter().zip(b).take_while(equal);
    pairs.map(|(i, j)| [i, j]).collect()
}

/// Loads with which both sides begin and whose addresses are there before.
fn loads(func: &Function, sides: [Block; 2], renames: &Renames) -> Vec<[Inst; 2]> {
    let mut inside: HashSet<Value> = HashSet::new();
    for b in sides {
        let block = func.block(b);
        inside.extend(&block.params);
        inside.extend(block.insts.iter().flat_map(|&i| &func.inst(i).results));
    }
    let there = |&i: &Inst| !inside.contains(&renames.get(func.inst(i).args[0]));
    let first = sides.map(|b| {
        let all = leading(func, func.block(b).insts.iter().copied(), Shape::Load);
        all.into_iter().take_while(there).collect()
    });
    pairs(func, first, Shape::Load)
}

/// Moves one of two loads to the end of `head`, for both.
fn load(
    func: &mut Function,
    head: Block,
    cond: Value,
    [kept, gone]: [Inst; 2],
    renames: &mut Renames,
    log: &mut Log,
) {
    let origin = func.block(head).origin;
    let [a, b] = [kept, gone].map(|i| renames.get(func.inst(i).args[0]));
    if a != b {
        let data = InstData::new(Opcode::Select, func.ty(a), &[cond, a, b], Imm::None).at(origin);
        let choice = func.make_inst(data);
        func.block_mut(head).insts.push(choice);
        note(log, choice, origin);
        if let Some(address) = func.result(choice) {
            func.inst_mut(kept).args[0] = address;
        }
    }
    if let (Some(to), Some(from)) = (func.result(kept), func.result(gone)) {
        renames.set(from, to);
    }
    func.block_mut(head).insts.push(kept);
    note(log, kept, origin);
}

/// Whose branch pays for an instruction.
fn note(log: &mut Log, inst: Inst, origin: warpfold_ir::Origin) {
    if !origin.is_none() {
        log.hoisted.push((inst, origin));
    }
}

/// Where both sides jump to, if nothing else does.
fn join_of(func: &Function, sides: [Block; 2], edges: &[u32]) -> Option<Block> {
    let [a, b] = sides.map(|side| match func.term(side) {
        Terminator::Jump(to) => Some(to.block),
        _ => None,
    });
    let join = a.filter(|_| a == b)?;
    (edges[join.as_u32() as usize] == 2).then_some(join)
}

/// Stores with which both sides end, the last first.
fn stores(func: &Function, sides: [Block; 2]) -> Vec<[Inst; 2]> {
    let last = sides.map(|b| {
        let insts = func.block(b).insts.iter().rev().copied();
        leading(func, insts, Shape::Store)
    });
    pairs(func, last, Shape::Store)
}

/// Whether both store to the lane's own memory.
fn is_own(func: &Function, pair: [Inst; 2]) -> bool {
    pair.iter().all(|&i| is_local(func, func.inst(i).args[1]))
}

/// The bytes around one address that a lane stores to.
#[derive(Default)]
struct Lane {
    address: Option<Value>,
    /// From this offset to that one.
    bytes: (i64, i64),
}

impl Lane {
    /// Takes a pair in, if no other lane stores to these bytes: `stride` is how far
    /// neighbours are apart.
    fn holds(
        &mut self,
        func: &Function,
        [a, b]: [Inst; 2],
        stride: &mut dyn FnMut(Value) -> u64,
    ) -> bool {
        let data = func.inst(a);
        let address = data.args[1];
        let (Some((_, offset)), Some((size, _))) = (data.mem(), data.op.access(data.ty)) else {
            return false;
        };
        if func.inst(b).args[1] != address || self.address.is_some_and(|own| own != address) {
            return false;
        }
        let from = i64::from(offset);
        let to = from + i64::from(size);
        let bytes = match self.address {
            None => (from, to),
            Some(_) => (from.min(self.bytes.0), to.max(self.bytes.1)),
        };
        let span = bytes.0.abs_diff(bytes.1);
        let holds = (span..=FAR).contains(&stride(address));
        if holds {
            (self.address, self.bytes) = (Some(address), bytes);
        }
        holds
    }
}

/// Whether a side writes to memory that other lanes see, but for these stores.
fn writes_else(func: &Function, side: Block, stores: &[[Inst; 2]]) -> bool {
    func.block(side).insts.iter().any(|&i| {
        let data = func.inst(i);
        let own = data.op.shape() == Shape::Store && is_local(func, data.args[1]);
        data.op.effects().writes && !own && !stores.iter().flatten().any(|&s| s == i)
    })
}

/// Whether an address is one of a stack slot, seen at a glance.
fn is_local(func: &Function, v: Value) -> bool {
    let def = func.def_inst(v).map(|i| func.inst(i));
    def.is_some_and(|d| d.op == Opcode::StackAddr && d.guard.is_none())
}

/// Moves one of two stores to the front of `join`, for both.
fn store(
    func: &mut Function,
    head: Block,
    join: Block,
    sides: [Block; 2],
    [kept, gone]: [Inst; 2],
    log: &mut Log,
) {
    let operands = [kept, gone].map(|i| func.inst(i).args.clone());
    let args: SmallVec<[Value; 3]> = (0..operands[0].len())
        .map(|n| {
            let brought = [operands[0][n], operands[1][n]];
            if brought[0] == brought[1] {
                return brought[0];
            }
            let param = func.add_param(join, func.ty(brought[0]));
            for (side, value) in sides.into_iter().zip(brought) {
                if let Some(term) = func.block_mut(side).term.as_mut() {
                    term.targets_mut()[0].args.push(value);
                }
            }
            param
        })
        .collect();
    func.inst_mut(kept).args = args;
    func.block_mut(join).insts.insert(0, kept);
    note(log, kept, func.block(head).origin);
}
