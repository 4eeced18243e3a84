//! Declarations that inlining leaves without a use.

use warpfold_ir::entity::SecondaryMap;
use warpfold_ir::{CallTarget, FuncRef, Function, Imm, SigRef, Terminator, Value};

/// Takes the declarations out that nothing uses any more.
pub(super) fn drop_unused(func: &mut Function) {
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
