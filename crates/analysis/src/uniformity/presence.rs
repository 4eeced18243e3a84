//! Where every lane of a warp that was launched is sure to take part.
//!
//! A shuffle that reads one lane gives all lanes its number only if that lane
//! executes the shuffle too. It surely does in a block that every path from the
//! entry passes, once: whatever branches separated before has met there. So the
//! blocks in question are those on the entry's chain of immediate
//! post-dominators that lie in no cycle, up to the first instruction, there or
//! in a block before, at which a lane may leave: an exit, a trap, a fault, a
//! call. What the solver finds of branches plays no part.
//!
//! Linear: a walk along the chain, and one over the graph.

use cranelift_entity::EntitySet;
use warpfold_ir::{Block, Function, Inst, InstData, MemFlags, Shape as Form};

use super::Graph;
use crate::JoinRule;

/// The instructions that a warp's lanes execute all together or not at all.
#[derive(Clone, Debug, Default)]
pub(crate) struct Presence {
    whole: EntitySet<Inst>,
}

impl Presence {
    /// Finds the shuffles that all lanes of a warp execute. In a function that
    /// others call there are none: lanes may be away already.
    pub fn new(func: &Function, graph: &Graph<'_>, called: bool) -> Self {
        let mut whole = EntitySet::new();
        let shuffles = |i: Inst| func.inst(i).op.shape() == Form::Shuffle;
        let mut insts = func.layout.iter().flat_map(|&b| &func.block(b).insts);
        if called || !insts.any(|&i| shuffles(i)) {
            return Self { whole };
        }
        let left_before = left_before(func, graph);
        for b in passed_once(func, graph) {
            if left_before.contains(b) {
                continue;
            }
            for &i in &func.block(b).insts {
                let inst = func.inst(i);
                if may_leave(inst) {
                    break;
                }
                if shuffles(i) && inst.guard.is_none() {
                    whole.insert(i);
                }
            }
        }
        Self { whole }
    }

    /// Whether all lanes of the warp execute the shuffle `i`.
    pub fn is_whole(&self, i: Inst) -> bool {
        self.whole.contains(i)
    }
}

/// The blocks that every lane passes, unless it leaves before, and once.
fn passed_once(func: &Function, graph: &Graph<'_>) -> Vec<Block> {
    let mut seen = EntitySet::new();
    let mut at = func.entry();
    let mut chain = Vec::new();
    while let Some(b) = at.filter(|&b| seen.insert(b)) {
        if graph.loops.loop_of(b).is_none() {
            chain.push(b);
        }
        at = graph.joins.under(JoinRule::Cfg, b);
    }
    chain
}

/// The blocks that lanes may come to when others have left.
fn left_before(func: &Function, graph: &Graph<'_>) -> EntitySet<Block> {
    let mut found = EntitySet::new();
    let leaving = |b: &Block| {
        func.block(*b)
            .insts
            .iter()
            .any(|&i| may_leave(func.inst(i)))
    };
    let blocks = graph.cfg.rpo().iter().copied().filter(leaving);
    let mut work: Vec<Block> = blocks.flat_map(|b| graph.cfg.succs(b)).copied().collect();
    while let Some(b) = work.pop() {
        if found.insert(b) {
            work.extend(graph.cfg.succs(b));
        }
    }
    found
}

/// Whether some of the lanes that execute `inst` may not get past it.
fn may_leave(inst: &InstData) -> bool {
    let effects = inst.op.effects();
    let sound = inst
        .mem()
        .is_some_and(|(flags, _)| flags.contains(MemFlags::NOTRAP));
    effects.retires || effects.calls || (effects.traps && !sound)
}
