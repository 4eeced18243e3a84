//! Where lanes give way to others: loops that wait for memory.
//!
//! A lane that goes round a loop until another lane has done something, say
//! until a lock is free, must let the other lane run. Independent thread
//! scheduling does so where a loop may be such a wait, and only there: every
//! back edge of a loop *yields* whose exit depends on an atomic access, on a
//! load from memory that the kernel may write, or on a call, where anything is
//! written: it may make one of these. The access must be in the loop, because only then can another round
//! see something new.
//!
//! **Depends.** A backward slice within the loop, from the conditions of the
//! branches that leave it and the guards of `exit if` and `trap if`:
//!
//! - through operands and guards to what an instruction uses;
//! - through a block parameter to the arguments of all edges of the loop, and,
//!   if these differ, to the conditions that decide by which edge lanes come:
//!   those between the immediate dominator and the block;
//! - from a branch that leaves the loop but is not passed in every round, to the
//!   conditions between the header and it.
//!
//! What a value outside the loop depends on does not change in the loop and is
//! not followed.
//!
//! **Memory.** A load counts unless it is `readonly`, or its address is computed
//! from a stack slot's, which no other lane can mean. Whether anything writes at
//! all is for the caller to say, who knows which functions run together.
//!
//! The slice is linear in the loop, but for the walks between a parameter's block
//! and its dominator, which are as long together as branches nest. Loops inside
//! each other are each looked at as a whole.

use cranelift_entity::{EntitySet, SecondaryMap};
use hashbrown::HashSet;
use warpfold_ir::{Block, Function, Inst, InstData, MemFlags, Opcode, Shape, Value, ValueDef};

use crate::cfg::{Cfg, Edge};
use crate::domtree::DomTree;
use crate::loops::{LoopId, Loops};

/// The back edges of a function that yield.
#[derive(Clone, Debug, Default)]
pub struct Yields {
    loops: Vec<LoopId>,
    edges: HashSet<(Block, Block)>,
}

impl Yields {
    /// Finds them. `written` says whether any function that runs together with
    /// this one writes memory that others can see; see [`writes_memory`].
    pub fn new(func: &Function, cfg: &Cfg, loops: &Loops, written: bool) -> Self {
        let mut yields = Self::default();
        if loops.is_empty() || !func.layout.iter().any(|&b| may_watch(func, b, written)) {
            return yields;
        }
        let slots = slot_addresses(func, cfg);
        let dominators = DomTree::dominators(cfg);
        let mut homes = SecondaryMap::with_capacity(func.num_insts());
        for (b, i) in func.laid_out_insts() {
            homes[i] = Some(b);
        }
        for l in loops.ids() {
            let slice = Slice {
                func,
                cfg,
                loops,
                dominators: &dominators,
                slots: &slots,
                homes: &homes,
                written,
                l,
                values: EntitySet::new(),
                decided: EntitySet::new(),
                work: Vec::new(),
            };
            if slice.watches_memory() {
                yields.loops.push(l);
                let edges = loops.back_edges(l).iter();
                yields.edges.extend(edges.map(|&e| (e.from, cfg.target(e))));
            }
        }
        yields
    }

    /// Whether lanes that go from the end of `from` to `to` give way.
    pub fn at(&self, from: Block, to: Block) -> bool {
        self.edges.contains(&(from, to))
    }

    /// The loops whose back edges yield, outer before inner.
    pub fn loops(&self) -> &[LoopId] {
        &self.loops
    }
}

/// Whether a function writes memory that other lanes can see.
pub fn writes_memory(func: &Function) -> bool {
    let cfg = Cfg::new(func);
    let slots = slot_addresses(func, &cfg);
    let mut insts = func.layout.iter().flat_map(|&b| &func.block(b).insts);
    insts.any(|&i| {
        let inst = func.inst(i);
        let effects = inst.op.effects();
        effects.writes
            && !effects.syncs
            && !effects.calls
            && !inst.args.last().is_some_and(|&a| slots.contains(a))
    })
}

/// Whether a block holds anything that a wait could depend on.
fn may_watch(func: &Function, b: Block, written: bool) -> bool {
    func.block(b)
        .insts
        .iter()
        .any(|&i| may_change(func.inst(i), written))
}

/// Whether another lane may decide what an instruction yields.
fn may_change(inst: &InstData, written: bool) -> bool {
    match inst.op.shape() {
        Shape::AtomicLoad | Shape::AtomicRmw | Shape::AtomicCas => true,
        Shape::Call | Shape::CallIndirect => written,
        Shape::Load => {
            let flags = inst.mem().map_or(MemFlags::NONE, |(flags, _)| flags);
            written && !flags.contains(MemFlags::READONLY)
        }
        _ => false,
    }
}

/// The values that are addresses of stack slots for sure: `stack_addr` and sums
/// with one.
fn slot_addresses(func: &Function, cfg: &Cfg) -> EntitySet<Value> {
    let mut slots = EntitySet::new();
    if func.slots.is_empty() {
        return slots;
    }
    for &b in cfg.rpo() {
        for &i in &func.block(b).insts {
            let inst = func.inst(i);
            let is = match inst.op {
                Opcode::StackAddr => true,
                Opcode::Iadd => inst.args.iter().any(|&a| slots.contains(a)),
                Opcode::Isub => inst.args.first().is_some_and(|&a| slots.contains(a)),
                _ => false,
            };
            if let (true, Some(&v)) = (is && inst.guard.is_none(), inst.results.first()) {
                slots.insert(v);
            }
        }
    }
    slots
}

/// The search for what one loop's exits depend on.
struct Slice<'a> {
    func: &'a Function,
    cfg: &'a Cfg,
    loops: &'a Loops,
    dominators: &'a DomTree,
    slots: &'a EntitySet<Value>,
    /// The block of each instruction.
    homes: &'a SecondaryMap<Inst, Option<Block>>,
    written: bool,
    l: LoopId,
    /// Values met.
    values: EntitySet<Value>,
    /// Blocks whose conditions have been added.
    decided: EntitySet<Block>,
    work: Vec<Value>,
}

impl Slice<'_> {
    /// Whether an access that another lane may decide is in the slice.
    fn watches_memory(mut self) -> bool {
        self.add_exits();
        while let Some(v) = self.work.pop() {
            match self.func.def(v) {
                ValueDef::Param(b, k) => self.add_param(b, k),
                ValueDef::Result(i, _) => {
                    let inst = self.func.inst(i);
                    let address = inst.args.last();
                    let own = inst.op.shape() == Shape::Load
                        && address.is_some_and(|&a| self.slots.contains(a));
                    if may_change(inst, self.written) && !own {
                        return true;
                    }
                    for v in inst.uses() {
                        self.add(v);
                    }
                }
            }
        }
        false
    }

    fn contains(&self, b: Block) -> bool {
        self.loops.contains(self.l, b)
    }

    /// Adds a value that is defined in the loop.
    fn add(&mut self, v: Value) {
        let home = match self.func.def(v) {
            ValueDef::Param(b, _) => Some(b),
            ValueDef::Result(i, _) => self.homes[i],
        };
        if home.is_some_and(|b| self.contains(b)) && self.values.insert(v) {
            self.work.push(v);
        }
    }

    /// Adds what the branch at the end of `b` decides by.
    fn add_condition(&mut self, b: Block) {
        if let (true, Some(v)) = (self.decided.insert(b), self.func.term(b).condition()) {
            self.add(v);
        }
    }

    fn add_exits(&mut self) {
        let blocks = self.loops.blocks(self.l).to_vec();
        for &b in &blocks {
            for &i in &self.func.block(b).insts {
                let inst = self.func.inst(i);
                if let (true, Some(guard)) = (inst.op.effects().retires, inst.guard) {
                    self.add(guard.pred);
                    self.add_way_to(b);
                }
            }
            let leaves = self.cfg.succs(b).iter().any(|&to| !self.contains(to));
            if leaves {
                self.add_condition(b);
                self.add_way_to(b);
            }
        }
    }

    /// Adds what decides whether a round passes `b`.
    fn add_way_to(&mut self, b: Block) {
        let back = self.loops.back_edges(self.l);
        let always = back.iter().all(|e| self.dominators.dominates(b, e.from));
        if !always {
            self.add_between(self.loops.header(self.l), b);
        }
    }

    /// Adds the conditions between a block and one it dominates.
    fn add_between(&mut self, top: Block, b: Block) {
        let mut seen = EntitySet::new();
        seen.insert(b);
        let mut work = vec![b];
        while let Some(b) = work.pop() {
            if b == top {
                continue;
            }
            for e in self.cfg.preds(b) {
                if self.contains(e.from) {
                    self.add_condition(e.from);
                    if seen.insert(e.from) {
                        work.push(e.from);
                    }
                }
            }
        }
    }

    fn add_param(&mut self, b: Block, k: u32) {
        let inside: Vec<Edge> = (self.cfg.preds(b).iter().copied())
            .filter(|e| self.contains(e.from))
            .collect();
        let arg = |e: &Edge| self.func.term(e.from).targets()[e.index as usize].args[k as usize];
        let args: Vec<Value> = inside.iter().map(arg).collect();
        if args.iter().any(|a| *a != args[0])
            && let Some(top) = self.dominators.idom(b)
        {
            // A round of the loop begins at its header.
            let top = if self.contains(top) { top } else { b };
            for e in &inside {
                self.add_condition(e.from);
                self.add_between(top, e.from);
            }
        }
        for a in args {
            self.add(a);
        }
    }
}
