//! Edits that several passes share.

use warpfold_ir::{Block, BlockCall, Function, Terminator};

use crate::clean::Renames;

/// Appends block `from`, entered only through `call`, to `into`, whose
/// terminator it replaces. The parameters of `from` become the arguments of
/// the call; `renames` must be applied by the caller in the end.
///
/// Layout order ranks the ends of a function, so the merged block takes the
/// later block's place when that is an end. (An entry block that ends so has
/// no other blocks left behind it.)
pub(crate) fn append_block(
    func: &mut Function,
    into: Block,
    call: &BlockCall,
    renames: &mut Renames,
) {
    let from = call.block;
    let params = std::mem::take(&mut func.block_mut(from).params);
    for (&param, &arg) in params.iter().zip(&call.args) {
        renames.set(param, renames.get(arg));
    }
    let insts = std::mem::take(&mut func.block_mut(from).insts);
    let term = func.block_mut(from).term.take();
    let origin = func.block(from).origin;
    let is_end = term.as_ref().is_some_and(Terminator::is_end);
    let block = func.block_mut(into);
    block.insts.extend(insts);
    block.term = term;
    block.origin = origin;
    let entry = func.entry();
    if is_end && entry != Some(into) {
        func.layout.retain(|&b| b != into);
        for b in &mut func.layout {
            if *b == from {
                *b = into;
            }
        }
    } else {
        func.layout.retain(|&b| b != from);
    }
}

/// Whether the function calls anything. Only then may it be called itself while
/// it runs, and its lanes not leave for good when they return.
pub(crate) fn has_calls(func: &Function) -> bool {
    let tail = |b: &Block| matches!(func.term(*b), Terminator::TailCall(_));
    func.laid_out_insts()
        .any(|(_, i)| func.inst(i).op.effects().calls)
        || func.layout.iter().any(tail)
}

/// Edges into each block, by block number.
pub(crate) fn count_edges(func: &Function) -> Vec<u32> {
    let mut n = vec![0; func.num_blocks()];
    for &b in &func.layout {
        for t in func.term(b).targets() {
            n[t.block.as_u32() as usize] += 1;
        }
    }
    n
}
