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

use hashbrown::{HashMap, HashSet};
use smallvec::SmallVec;
use warpfold_analysis::{Cfg, Edge, JoinRule, Joins, Loops};
use warpfold_ir::dominators::Graph;
use warpfold_ir::entity::SecondaryMap;
use warpfold_ir::{
    Block, BlockCall, CallTarget, FuncRef, Function, Imm, Inst, InstData, Opcode, Origin, SigRef,
    Slot, TailCall, Terminator, Type, Value,
};

use crate::clean::Renames;
use crate::log::{CallStep, Inlined, Log};

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

/// Takes the declarations out that nothing uses any more.
fn drop_unused(func: &mut Function) {
    let mut callees: SecondaryMap<FuncRef, bool> = SecondaryMap::new();
    let mut signatures: SecondaryMap<SigRef, bool> = SecondaryMap::new();
    let mut note = |target: CallTarget| match target {
        CallTarget::Direct(callee) => callees[callee] = true,
        CallTarget::Indirect { sig, .. } => signatures[sig] = true,
    };
    for (_, i) in func.laid_out_insts() {
        match func.inst(i).imm {
            Imm::Func(callee) => note(CallTarget::Direct(callee)),
            Imm::Sig(sig) => note(CallTarget::Indirect {
                sig,
                address: Value::from_u32(0),
            }),
            _ => {}
        }
    }
    for &b in &func.layout {
        if let Terminator::TailCall(call) = func.term(b) {
            note(call.target);
        }
    }
    let mut new_callees: SecondaryMap<FuncRef, Option<FuncRef>> = SecondaryMap::new();
    for (callee, data) in std::mem::take(&mut func.callees) {
        new_callees[callee] = callees[callee].then(|| func.callees.push(data));
    }
    let mut new_signatures: SecondaryMap<SigRef, Option<SigRef>> = SecondaryMap::new();
    for (sig, data) in std::mem::take(&mut func.signatures) {
        new_signatures[sig] = signatures[sig].then(|| func.signatures.push(data));
    }
    for b in func.layout.clone() {
        for i in func.block(b).insts.clone() {
            match &mut func.inst_mut(i).imm {
                Imm::Func(callee) => *callee = new_callees[*callee].unwrap_or(*callee),
                Imm::Sig(sig) => *sig = new_signatures[*sig].unwrap_or(*sig),
                _ => {}
            }
        }
        if let Some(Terminator::TailCall(call)) = &mut func.block_mut(b).term {
            match &mut call.target {
                CallTarget::Direct(callee) => *callee = new_callees[*callee].unwrap_or(*callee),
                CallTarget::Indirect { sig, .. } => *sig = new_signatures[*sig].unwrap_or(*sig),
            }
        }
    }
}

/// A call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Site {
    Inst(Inst),
    /// In tail position of a block.
    Tail(Block),
}

impl Site {
    fn origin(self, func: &Function) -> Origin {
        match self {
            Self::Inst(i) => func.inst(i).origin,
            Self::Tail(b) => func.block(b).origin,
        }
    }
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

/// The functions that a function calls directly.
fn direct_callees(func: &Function) -> impl Iterator<Item = FuncRef> + '_ {
    let calls = func
        .laid_out_insts()
        .filter_map(|(_, i)| func.call(func.inst(i)).map(|(target, _)| target));
    let tails = func.layout.iter().filter_map(|&b| match func.term(b) {
        Terminator::TailCall(call) => Some(call.target),
        _ => None,
    });
    calls.chain(tails).filter_map(|target| match target {
        CallTarget::Direct(callee) => Some(callee),
        CallTarget::Indirect { .. } => None,
    })
}

/// Which functions reach themselves by direct calls: the strongly connected
/// components of the call graph, by Kosaraju's two walks.
fn recursive(functions: &[&Function]) -> Vec<bool> {
    let numbers: HashMap<&str, u32> = (0..).zip(functions).map(|(i, f)| (&*f.name, i)).collect();
    let root = functions.len() as u32;
    let mut edges: Vec<(u32, u32)> = (0..root).map(|i| (root, i)).collect();
    let mut recursive = vec![false; functions.len()];
    for (from, func) in (0..).zip(functions) {
        for callee in direct_callees(func) {
            let name = func.callees[callee].name.as_str();
            if let Some(&to) = numbers.get(name) {
                edges.push((from, to));
                recursive[from as usize] |= from == to;
            }
        }
    }
    let graph = Graph::new(functions.len() + 1, &edges);
    let back = graph.reversed();
    let mut seen = vec![false; functions.len() + 1];
    seen[root as usize] = true;
    for first in graph.reverse_postorder(root) {
        let mut component = Vec::new();
        let mut work = vec![first];
        while let Some(f) = work.pop() {
            if !std::mem::replace(&mut seen[f as usize], true) {
                component.push(f);
                work.extend(back.successors(f));
            }
        }
        if component.len() > 1 {
            for f in component {
                recursive[f as usize] = true;
            }
        }
    }
    recursive
}

/// The first call in layout that may be inlined.
fn next<'a>(
    func: &Function,
    callees: &HashMap<&str, &'a Function>,
    kept: &HashSet<Site>,
) -> Option<(Site, &'a Function)> {
    let find = |target: CallTarget| match target {
        CallTarget::Direct(callee) => callees.get(func.callees[callee].name.as_str()).copied(),
        CallTarget::Indirect { .. } => None,
    };
    for &b in &func.layout {
        for &i in &func.block(b).insts {
            if let Some((target, _)) = func.call(func.inst(i))
                && !kept.contains(&Site::Inst(i))
                && let Some(callee) = find(target)
            {
                return Some((Site::Inst(i), callee));
            }
        }
        if let Terminator::TailCall(call) = func.term(b)
            && !kept.contains(&Site::Tail(b))
            && let Some(callee) = find(call.target)
        {
            return Some((Site::Tail(b), callee));
        }
    }
    None
}

/// A callee's code in the function.
struct Copy {
    /// Where each block of the callee went; the entry to the block that called.
    blocks: SecondaryMap<Block, Option<Block>>,
    /// The block that called.
    head: Block,
    /// The block that has what stood behind the call; `None` if the callee
    /// never comes back.
    behind: Option<Block>,
    /// Whether that block begins there: the callee comes back in several places.
    separate: bool,
    /// Blocks that end with a copied branch.
    conditional: Vec<Block>,
    /// Copied calls.
    calls: Vec<Site>,
}

impl Copy {
    /// Puts the callee's code in the place of a call.
    fn new(func: &mut Function, callee: &Function, site: Site) -> Self {
        let (head, inst) = match site {
            Site::Inst(i) => (block_of(func, i), i),
            Site::Tail(b) => (b, as_call(func, b)),
        };
        let args: Vec<Value> = func.inst(inst).args.to_vec();
        let results: Vec<Value> = func.inst(inst).results.to_vec();
        let at = position(func, head, inst);
        let rest = func.block_mut(head).insts.split_off(at + 1);
        func.block_mut(head).insts.pop();
        let (term, origin) = (func.block_mut(head).term.take(), func.block(head).origin);

        let mut body = Body::new(func, callee);
        let blocks = body.blocks(func, callee, head, &args);
        let tail = matches!(site, Site::Tail(_));
        let (rets, calls) = body.code(func, callee, &blocks, tail);
        let mut renames = Renames::default();
        let single = rets.len() == 1;
        let mut behind = None;
        if let [(b, values)] = rets.as_slice() {
            for (&result, &v) in results.iter().zip(values) {
                renames.set(result, v);
            }
            behind = Some(*b);
        } else if !rets.is_empty() {
            let b = func.add_block();
            func.layout.pop();
            for &result in &results {
                let param = func.add_param(b, func.ty(result));
                renames.set(result, param);
            }
            for (from, values) in &rets {
                let origin = func.block(*from).origin;
                func.set_term(*from, Terminator::Jump(BlockCall::new(b, values)), origin);
            }
            behind = Some(b);
        }
        if let Some(b) = behind {
            let block = func.block_mut(b);
            block.insts.extend(rest);
            block.term = term;
            block.origin = origin;
        }
        // The copy stands where the call did, and what followed the call
        // behind it, so the ends of the function keep their order.
        let copied = callee.layout.iter().skip(1).filter_map(|&b| blocks[b]);
        let mut group: Vec<Block> = copied.collect();
        group.extend(behind.filter(|_| !single));
        let place = func.layout.iter().position(|&b| b == head).unwrap_or(0) + 1;
        func.layout.splice(place..place, group);
        renames.apply(func);
        let conditional = callee
            .layout
            .iter()
            .filter(|&&b| callee.term(b).is_conditional())
            .filter_map(|&b| blocks[b])
            .collect();
        func.remove_unreachable();
        Self {
            blocks,
            head,
            behind,
            separate: !single,
            conditional,
            calls,
        }
    }

    /// Whether lanes meet in `made`, the function with the copy, where they
    /// met in `func` and in `callee`.
    fn keeps(
        &self,
        func: &Function,
        made: &Function,
        callee: &Function,
        site: Site,
        rule: JoinRule,
    ) -> bool {
        let cfg = Cfg::new(func);
        let before = Joins::new(func, &cfg, rule);
        if !callee.slots.is_empty() {
            let head = match site {
                Site::Inst(i) => block_of(func, i),
                Site::Tail(b) => b,
            };
            if Loops::new(&cfg).loop_of(head).is_some() {
                return false;
            }
        }
        let after = Joins::new(made, &Cfg::new(made), rule);
        let laid_out: HashSet<Block> = made.layout.iter().copied().collect();
        let kept = func.layout.iter().all(|&b| {
            let now = match b == self.head {
                true => self.behind,
                false => Some(b),
            };
            match now.filter(|now| laid_out.contains(now)) {
                Some(now) => !func.term(b).is_conditional() || before.of(b) == after.of(now),
                None => true,
            }
        });
        let callee_cfg = Cfg::new(callee);
        let inside = Joins::new(callee, &callee_cfg, rule);
        kept && callee.layout.iter().all(|&b| {
            let Some(now) = self.blocks[b].filter(|now| laid_out.contains(now)) else {
                return true;
            };
            if !callee.term(b).is_conditional() {
                return true;
            }
            let (was, is) = (inside.of(b), after.of(now));
            if was.is_some_and(|j| self.blocks[j] == is) {
                return true;
            }
            // All that did not return early go one way, or all return.
            let mut late: SmallVec<[Block; 2]> = SmallVec::new();
            for (index, target) in callee.term(b).targets().iter().enumerate() {
                let edge = Edge {
                    from: b,
                    index: index as u32,
                };
                if !inside.is_early_return(&callee_cfg, edge) && !late.contains(&target.block) {
                    late.push(target.block);
                }
            }
            let end = self.behind.filter(|_| self.separate);
            match (was, is) {
                (None, None) => !self.separate,
                (None, Some(_)) => is == end,
                (Some(_), Some(_)) => rule == JoinRule::Default && is == end && late.len() <= 1,
                (Some(_), None) => false,
            }
        })
    }
}

fn block_of(func: &Function, inst: Inst) -> Block {
    let found = func.laid_out_insts().find(|&(_, i)| i == inst);
    found.map_or(func.layout[0], |(b, _)| b)
}

fn position(func: &Function, b: Block, inst: Inst) -> usize {
    let insts = &func.block(b).insts;
    insts.iter().position(|&i| i == inst).unwrap_or(insts.len())
}

/// Makes a tail call a call and a return.
fn as_call(func: &mut Function, b: Block) -> Inst {
    let origin = func.block(b).origin;
    let call = match func.block_mut(b).term.take() {
        Some(Terminator::TailCall(call)) => call,
        other => {
            func.block_mut(b).term = other;
            return Inst::from_u32(0);
        }
    };
    let inst = func.make_inst(call_of(&call).at(origin));
    func.block_mut(b).insts.push(inst);
    let results = func.inst(inst).results.clone();
    func.set_term(b, Terminator::ret(&results), origin);
    inst
}

/// The instruction that calls as a tail call does.
fn call_of(call: &TailCall) -> InstData {
    let uses: SmallVec<[Value; 4]> = call.uses().collect();
    let (op, imm) = match call.target {
        CallTarget::Direct(callee) => (Opcode::Call, Imm::Func(callee)),
        CallTarget::Indirect { sig, .. } => (Opcode::CallIndirect, Imm::Sig(sig)),
    };
    InstData::new(op, Type::I32, &uses, imm)
}

/// What the names of a callee become.
struct Body {
    values: SecondaryMap<Value, Option<Value>>,
    slots: Vec<Slot>,
    callees: Vec<FuncRef>,
    signatures: Vec<SigRef>,
}

impl Body {
    fn new(func: &mut Function, callee: &Function) -> Self {
        let slots = callee.slots.values().map(|&s| func.slots.push(s)).collect();
        let callees = callee
            .callees
            .values()
            .map(|c| {
                let known = func.callees.iter().find(|(_, known)| *known == c);
                let known = known.map(|(callee, _)| callee);
                known.unwrap_or_else(|| func.callees.push(c.clone()))
            })
            .collect();
        let signatures = callee
            .signatures
            .values()
            .map(|s| {
                let known = func.signatures.iter().find(|(_, known)| *known == s);
                let known = known.map(|(sig, _)| sig);
                known.unwrap_or_else(|| func.signatures.push(s.clone()))
            })
            .collect();
        Self {
            values: SecondaryMap::new(),
            slots,
            callees,
            signatures,
        }
    }

    fn value(&self, v: Value) -> Value {
        self.values[v].unwrap_or(v)
    }

    fn target(&self, target: CallTarget) -> CallTarget {
        match target {
            CallTarget::Direct(callee) => {
                CallTarget::Direct(self.callees[callee.as_u32() as usize])
            }
            CallTarget::Indirect { sig, address } => CallTarget::Indirect {
                sig: self.signatures[sig.as_u32() as usize],
                address,
            },
        }
    }

    /// Makes the callee's blocks, outside the layout.
    fn blocks(
        &mut self,
        func: &mut Function,
        callee: &Function,
        head: Block,
        args: &[Value],
    ) -> SecondaryMap<Block, Option<Block>> {
        let mut blocks = SecondaryMap::new();
        for (i, &b) in callee.layout.iter().enumerate() {
            if i == 0 {
                blocks[b] = Some(head);
                for (&param, &arg) in callee.block(b).params.iter().zip(args) {
                    self.values[param] = Some(arg);
                }
                continue;
            }
            let copy = func.add_block();
            func.layout.pop();
            blocks[b] = Some(copy);
            for &param in &callee.block(b).params {
                self.values[param] = Some(func.add_param(copy, callee.ty(param)));
            }
        }
        blocks
    }

    /// Copies instructions and terminators; tail calls stay such if `tail` is
    /// set. Returns the blocks that return, with what they return, and the calls.
    #[allow(clippy::type_complexity)]
    fn code(
        &mut self,
        func: &mut Function,
        callee: &Function,
        blocks: &SecondaryMap<Block, Option<Block>>,
        tail: bool,
    ) -> (Vec<(Block, Vec<Value>)>, Vec<Site>) {
        let mut copies = Vec::new();
        let mut calls = Vec::new();
        for &b in &callee.layout {
            let Some(to) = blocks[b] else { continue };
            for &i in &callee.block(b).insts {
                let mut data = callee.inst(i).clone();
                match &mut data.imm {
                    Imm::Slot { slot, .. } => *slot = self.slots[slot.as_u32() as usize],
                    Imm::Func(callee) => *callee = self.callees[callee.as_u32() as usize],
                    Imm::Sig(sig) => *sig = self.signatures[sig.as_u32() as usize],
                    _ => {}
                }
                let copy = func.make_inst(data);
                for (&old, &new) in callee.inst(i).results.iter().zip(&func.inst(copy).results) {
                    self.values[old] = Some(new);
                }
                if func.inst(copy).op.effects().calls {
                    calls.push(Site::Inst(copy));
                }
                func.block_mut(to).insts.push(copy);
                copies.push(copy);
            }
        }
        for copy in copies {
            func.inst_mut(copy).map_uses(|v| self.value(v));
        }
        let mut rets = Vec::new();
        for &b in &callee.layout {
            let Some(to) = blocks[b] else { continue };
            let origin = callee.block(b).origin;
            let mut term = callee.term(b).clone();
            term.map_uses(|v| self.value(v));
            for target in term.targets_mut() {
                target.block = blocks[target.block].unwrap_or(target.block);
            }
            func.block_mut(to).origin = origin;
            match term {
                Terminator::Ret(values) => rets.push((to, values.to_vec())),
                Terminator::TailCall(mut call) => {
                    call.target = self.target(call.target);
                    if tail {
                        func.block_mut(to).term = Some(Terminator::TailCall(call));
                        calls.push(Site::Tail(to));
                        continue;
                    }
                    let inst = func.make_inst(call_of(&call).at(origin));
                    func.block_mut(to).insts.push(inst);
                    calls.push(Site::Inst(inst));
                    rets.push((to, func.inst(inst).results.to_vec()));
                }
                other => func.block_mut(to).term = Some(other),
            }
        }
        (rets, calls)
    }
}
