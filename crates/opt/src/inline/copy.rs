//! A callee's code in the place of a call: where the caller is cut, how the
//! copy returns, where its blocks stand.

use smallvec::SmallVec;
use warpfold_ir::entity::SecondaryMap;
use warpfold_ir::{
    Block, BlockCall, CallTarget, Function, Imm, Inst, InstData, Opcode, TailCall, Terminator,
    Type, Value,
};

use super::body::Body;
use super::site::Site;
use crate::clean::Renames;

/// A callee's code in the function.
pub(super) struct Copy {
    /// Where each block of the callee went; the entry to the block that called.
    pub(super) blocks: SecondaryMap<Block, Option<Block>>,
    /// The block that called.
    pub(super) head: Block,
    /// The block that has what stood behind the call; `None` if the callee
    /// never comes back.
    pub(super) behind: Option<Block>,
    /// Whether that block begins there: the callee comes back in several places.
    pub(super) separate: bool,
    /// Blocks that end with a copied branch.
    pub(super) conditional: Vec<Block>,
    /// Copied calls.
    pub(super) calls: Vec<Site>,
}

impl Copy {
    /// Puts the callee's code in the place of a call.
    pub(super) fn new(func: &mut Function, callee: &Function, site: Site) -> Self {
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
}

pub(super) fn block_of(func: &Function, inst: Inst) -> Block {
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
pub(super) fn call_of(call: &TailCall) -> InstData {
    let uses: SmallVec<[Value; 4]> = call.uses().collect();
    let (op, imm) = match call.target {
        CallTarget::Direct(callee) => (Opcode::Call, Imm::Func(callee)),
        CallTarget::Indirect { sig, .. } => (Opcode::CallIndirect, Imm::Sig(sig)),
    };
    InstData::new(op, Type::I32, &uses, imm)
}
