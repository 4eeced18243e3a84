//! Common subexpressions: an unguarded computation without effect is replaced
//! by an equal one in a dominating place.
//!
//! A walk over the dominator tree with a scoped table. Computations that may
//! trap take part (the dominating one has trapped already, or will not), what
//! reads memory or depends on the participating lanes does not.

use hashbrown::HashMap;
use smallvec::SmallVec;
use warpfold_analysis::{Cfg, DomTree, JoinRule};
use warpfold_ir::{Block, Function, Imm, InstData, Opcode, Type, Value};

use super::Renames;
use crate::log::Log;

type Key = (Opcode, Type, SmallVec<[Value; 3]>, Imm, Option<Type>);

/// Runs the pass; true if anything changed.
pub fn run(func: &mut Function, _joins: JoinRule, _log: &mut Log) -> bool {
    let cfg = Cfg::new(func);
    let dom = DomTree::dominators(&cfg);
    let mut children: Vec<Vec<Block>> = vec![Vec::new(); func.num_blocks()];
    for &b in cfg.rpo() {
        if let Some(d) = dom.idom(b) {
            children[d.as_u32() as usize].push(b);
        }
    }
    let Some(entry) = func.entry() else {
        return false;
    };
    let mut table: HashMap<Key, Value> = HashMap::new();
    let mut renames = Renames::default();
    enum Step {
        Enter(Block),
        Leave(Vec<Key>),
    }
    let mut work = vec![Step::Enter(entry)];
    while let Some(step) = work.pop() {
        match step {
            Step::Leave(keys) => {
                for key in keys {
                    table.remove(&key);
                }
            }
            Step::Enter(b) => {
                let keys = visit(func, b, &mut table, &mut renames);
                work.push(Step::Leave(keys));
                let below = &children[b.as_u32() as usize];
                work.extend(below.iter().rev().map(|&c| Step::Enter(c)));
            }
        }
    }
    renames.apply(func);
    !renames.is_empty()
}

/// Replaces what the table has, adds what it has not; returns what was added.
fn visit(
    func: &mut Function,
    b: Block,
    table: &mut HashMap<Key, Value>,
    renames: &mut Renames,
) -> Vec<Key> {
    let mut added = Vec::new();
    let mut kept = Vec::new();
    for inst in std::mem::take(&mut func.block_mut(b).insts) {
        func.inst_mut(inst).map_uses(|v| renames.get(v));
        let data = func.inst(inst);
        if let (true, Some(&result)) = (takes_part(data), data.results.first()) {
            // The operand's type matters where only the result's is spelled out.
            let from = data.args.first().map(|&a| func.ty(a));
            let key = (data.op, data.ty, data.args.clone(), data.imm, from);
            if let Some(&earlier) = table.get(&key) {
                renames.set(result, earlier);
                continue;
            }
            table.insert(key.clone(), result);
            added.push(key);
        }
        kept.push(inst);
    }
    func.block_mut(b).insts = kept;
    added
}

fn takes_part(data: &InstData) -> bool {
    let e = data.op.effects();
    data.guard.is_none() && !(e.reads || e.writes || e.convergent || e.syncs || e.retires)
}
