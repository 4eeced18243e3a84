//! Dead code: instructions without effect whose results nothing needs, and
//! block parameters that nothing needs.

use hashbrown::HashMap;
use warpfold_analysis::JoinRule;
use warpfold_ir::{Block, Function, InstData, Value, ValueDef};

use crate::log::Log;
use crate::safety::speculation;

/// Runs the pass; true if anything changed.
pub fn run(func: &mut Function, _joins: JoinRule, _log: &mut Log) -> bool {
    let live = live_values(func);
    let is_live = |v: Value| live[v.as_u32() as usize];
    let mut changed = false;
    for b in func.layout.clone() {
        let before = func.block(b).insts.len();
        let mut insts = std::mem::take(&mut func.block_mut(b).insts);
        insts.retain(|&i| {
            let data = func.inst(i);
            has_effect(func, data) || data.results.iter().any(|&r| is_live(r))
        });
        changed |= insts.len() != before;
        func.block_mut(b).insts = insts;
    }
    let mut shrunk = Vec::new();
    // Per block and parameter: whether it stays.
    let mut stays: Vec<Vec<bool>> = vec![Vec::new(); func.num_blocks()];
    for &b in func.layout.iter().skip(1) {
        let keep: Vec<bool> = func.block(b).params.iter().map(|&p| is_live(p)).collect();
        if keep.contains(&false) {
            shrunk.push(b);
            stays[b.as_u32() as usize] = keep;
        }
    }
    changed |= !shrunk.is_empty();
    func.retain_params_of(&shrunk, |b, i| stays[b.as_u32() as usize][i]);
    changed
}

/// Whether removing an unused instruction could be noticed. Removing a vote
/// or shuffle cannot: it has no effect on other lanes.
fn has_effect(func: &Function, data: &InstData) -> bool {
    let e = data.op.effects();
    if e.syncs || e.writes || e.retires {
        return true;
    }
    (e.traps || e.reads) && speculation(func, data).is_err()
}

fn live_values(func: &Function) -> Vec<bool> {
    let mut live = vec![false; func.num_values()];
    let mut work: Vec<Value> = Vec::new();
    let mut incoming: HashMap<Block, Vec<&[Value]>> = HashMap::new();
    for &b in &func.layout {
        for &i in &func.block(b).insts {
            let data = func.inst(i);
            if has_effect(func, data) {
                work.extend(data.uses());
            }
        }
        let term = func.term(b);
        for target in term.targets() {
            incoming.entry(target.block).or_default().push(&target.args);
        }
        work.extend(term.condition());
        if term.is_end() {
            work.extend(term.uses());
        }
    }
    while let Some(v) = work.pop() {
        if std::mem::replace(&mut live[v.as_u32() as usize], true) {
            continue;
        }
        match func.def(v) {
            ValueDef::Result(i, _) => work.extend(func.inst(i).uses()),
            ValueDef::Param(b, index) => {
                for args in incoming.get(&b).into_iter().flatten() {
                    work.extend(args.get(index as usize));
                }
            }
        }
    }
    live
}
