//! Which addresses may lie in local memory, where one address names another
//! cell for every lane.
//!
//! Only `stack_addr` makes such an address; to a called function it may come from
//! its caller. What is computed from one is
//! suspect; and if one is ever stored, so is all that is loaded. A function
//! without slots has no local memory. Arithmetic that leaves one piece of
//! memory for another is not followed, as in any analysis of provenance.

use cranelift_entity::EntitySet;
use warpfold_ir::{Function, Opcode, Shape as Form, Value};

/// The values that may hold addresses in local memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct LocalMemory {
    suspects: EntitySet<Value>,
    /// Every address may be one of a caller's.
    all: bool,
}

impl LocalMemory {
    /// `called` says that other functions call this one and may hand it
    /// addresses of their slots.
    pub fn new(func: &Function, called: bool) -> Self {
        let mut suspects = EntitySet::new();
        if called || func.slots.is_empty() {
            return Self {
                suspects,
                all: called,
            };
        }
        let mut escaped = false;
        let mut grown = true;
        while grown {
            grown = false;
            for &b in &func.layout {
                for &i in &func.block(b).insts {
                    let inst = func.inst(i);
                    let used = inst.uses().any(|v| suspects.contains(v));
                    let suspect = match inst.op.shape() {
                        Form::StackAddr => true,
                        Form::Load | Form::AtomicLoad => escaped,
                        Form::Store | Form::AtomicStore | Form::AtomicRmw | Form::AtomicCas => {
                            let mut operands = inst.args.split_last().into_iter();
                            let stored = operands
                                .any(|(_, values)| values.iter().any(|&v| suspects.contains(v)));
                            grown |= stored && !escaped;
                            escaped |= stored;
                            escaped && inst.op.effects().reads
                        }
                        // A callee may store what it gets, and give back what
                        // it or another one has stored.
                        Form::Call | Form::CallIndirect => {
                            grown |= used && !escaped;
                            escaped |= used;
                            escaped
                        }
                        _ => used && inst.op != Opcode::Icmp,
                    };
                    if suspect {
                        for &r in &inst.results {
                            grown |= suspects.insert(r);
                        }
                    }
                }
                for target in func.block(b).term.iter().flat_map(|t| t.targets()) {
                    let params = &func.block(target.block).params;
                    for (&arg, &param) in target.args.iter().zip(params) {
                        if suspects.contains(arg) {
                            grown |= suspects.insert(param);
                        }
                    }
                }
            }
        }
        Self {
            suspects,
            all: false,
        }
    }

    pub fn may_be_local(&self, address: Value) -> bool {
        self.all || self.suspects.contains(address)
    }
}
