//! Calls as places in a function.

use hashbrown::{HashMap, HashSet};
use warpfold_ir::{Block, CallTarget, Function, Inst, Origin, Terminator};

/// A call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Site {
    Inst(Inst),
    /// In tail position of a block.
    Tail(Block),
}

impl Site {
    pub(super) fn origin(self, func: &Function) -> Origin {
        match self {
            Self::Inst(i) => func.inst(i).origin,
            Self::Tail(b) => func.block(b).origin,
        }
    }
}

/// The first call in layout that may be inlined.
pub(super) fn next<'a>(
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
