//! The instructions of a callee under names of the caller.

use warpfold_ir::entity::SecondaryMap;
use warpfold_ir::{Block, CallTarget, FuncRef, Function, Imm, SigRef, Slot, Terminator, Value};

use super::copy::call_of;
use super::site::Site;

/// What the names of a callee become.
pub(super) struct Body {
    values: SecondaryMap<Value, Option<Value>>,
    slots: Vec<Slot>,
    callees: Vec<FuncRef>,
    signatures: Vec<SigRef>,
}

impl Body {
    pub(super) fn new(func: &mut Function, callee: &Function) -> Self {
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
    pub(super) fn blocks(
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
    pub(super) fn code(
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
