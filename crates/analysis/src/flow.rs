//! What a function's graph says, kept together.
//!
//! Graph, loops, joins and dominators follow from blocks, edges and ends alone, and
//! most of what looks at a function needs all four. Whoever has them hands them
//! on; whoever gets them with a function that may have changed since asks whether
//! they are [still of it](Flow::is_of), which costs a small part of finding
//! them again.

use std::sync::Arc;

use warpfold_ir::Function;

use crate::cfg::Cfg;
use crate::domtree::DomTree;
use crate::ends::Ends;
use crate::joins::{JoinRule, Joins};
use crate::loops::Loops;

/// The graph of a function with what follows from it. Copies share it.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Blocks and edges.
    pub cfg: Arc<Cfg>,
    /// Its loops.
    pub loops: Arc<Loops>,
    /// Where lanes join.
    pub joins: Arc<Joins>,
    /// Its dominators.
    pub dominators: Arc<DomTree>,
}

impl Flow {
    /// Finds it all out.
    pub fn new(func: &Function, rule: JoinRule) -> Self {
        let cfg = Cfg::new(func);
        let loops = Loops::new(&cfg);
        Self {
            joins: Arc::new(Joins::with_loops(func, &cfg, &loops, rule)),
            dominators: Arc::new(DomTree::dominators(&cfg)),
            loops: Arc::new(loops),
            cfg: Arc::new(cfg),
        }
    }

    /// Whether it is what [`new`](Self::new) would find.
    pub fn is_of(&self, func: &Function, rule: JoinRule) -> bool {
        self.joins.rule() == rule
            && self.cfg.is_of(func)
            && *self.joins.ends() == Ends::new(func, &self.cfg, &self.loops)
    }
}

#[cfg(test)]
mod tests {
    use warpfold_ir::{FunctionBuilder, Opcode, Terminator, TrapCode, Type};

    use super::*;

    /// A branch to two returns.
    fn function() -> Function {
        let mut b = FunctionBuilder::new("f");
        let p = b.param(Type::Pred, true);
        let sides = [b.block(), b.block()];
        b.br(p, sides[0], sides[1]);
        for side in sides {
            b.switch_to(side);
            b.ret(&[]);
        }
        b.finish()
    }

    #[test]
    fn a_change_of_edges_layout_ends_or_barriers_is_seen() {
        let func = function();
        let flow = Flow::new(&func, JoinRule::Default);
        assert!(flow.is_of(&func, JoinRule::Default));
        assert!(!flow.is_of(&func, JoinRule::Cfg));
        let changes: [fn(&mut Function); 5] = [
            |f| {
                let last = f.layout[2];
                let first = f.layout[1];
                f.set_term(first, Terminator::jump(last), warpfold_ir::Origin::NONE);
            },
            |f| f.layout.swap(1, 2),
            |f| {
                let last = f.layout[2];
                let trap = Terminator::Trap(TrapCode::HeapOutOfBounds);
                f.set_term(last, trap, warpfold_ir::Origin::NONE);
            },
            |f| {
                let data = warpfold_ir::InstData::new(
                    Opcode::Barrier,
                    Type::I32,
                    &[],
                    warpfold_ir::Imm::None,
                );
                let barrier = f.make_inst(data);
                let first = f.layout[1];
                f.block_mut(first).insts.push(barrier);
            },
            |f| {
                f.add_block();
            },
        ];
        for (i, change) in changes.into_iter().enumerate() {
            let mut changed = func.clone();
            change(&mut changed);
            assert!(!flow.is_of(&changed, JoinRule::Default), "change {i}");
        }
    }
}
