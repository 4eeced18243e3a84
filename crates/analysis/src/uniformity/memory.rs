//! Which addresses may lie in local memory, where one address names another
//! cell for every lane, and which memory is never written.
//!
//! Only `stack_addr` makes such an address; to a called function it may come from
//! its caller. What is computed from one is
//! suspect; and if one is ever stored, so is all that is loaded. A function
//! without slots has no local memory. Arithmetic that leaves one piece of
//! memory for another is not followed, as in any analysis of provenance.
//!
//! Beside that: whether the kernel writes any other memory at all. Where no
//! instruction does, what a load reads stays as it was at the launch, as if the
//! load were `readonly`.

use cranelift_entity::EntitySet;
use warpfold_ir::{Function, InstData, MemFlags, Opcode, Shape as Form, Value};

/// Sums that are taken apart to find that an address is a slot's.
const DEPTH: u32 = 4;

/// The values that may hold addresses in local memory, and whether other
/// memory may be written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    suspects: EntitySet<Value>,
    /// Every address may be one of a caller's.
    all: bool,
    /// Memory that is not local may be written while the kernel runs.
    written: bool,
}

impl Memory {
    /// `called` says that other functions call this one and may hand it
    /// addresses of their slots.
    pub fn new(func: &Function, called: bool) -> Self {
        let mut suspects = EntitySet::new();
        if called || func.slots.is_empty() {
            return Self {
                suspects,
                all: called,
                written: called || writes(func),
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
            written: writes(func),
        }
    }

    pub fn may_be_local(&self, address: Value) -> bool {
        self.all || self.suspects.contains(address)
    }

    /// Whether `load` reads, as often as it is executed, what was there at the
    /// launch, from an address that means the same cell to all lanes.
    pub fn is_fixed(&self, load: &InstData) -> bool {
        let flags = load.mem().map_or(MemFlags::NONE, |(flags, _)| flags);
        let unwritten = !self.written || flags.contains(MemFlags::READONLY);
        unwritten && !flags.contains(MemFlags::VOLATILE) && !self.may_be_local(load.args[0])
    }
}

/// Whether an instruction may write what is no slot of the lane that executes
/// it. Barriers and fences order what others write.
fn writes(func: &Function) -> bool {
    let insts = func.layout.iter().flat_map(|&b| &func.block(b).insts);
    let by_inst = insts.map(|&i| func.inst(i)).any(|inst| {
        let address = inst.args.last();
        let own =
            inst.op.shape() == Form::Store && address.is_some_and(|&a| is_slot(func, a, DEPTH));
        inst.op.effects().writes && !inst.op.effects().syncs && !own
    });
    let calls = |t: &warpfold_ir::Terminator| matches!(t, warpfold_ir::Terminator::TailCall(_));
    by_inst || (func.layout.iter()).any(|&b| func.block(b).term.as_ref().is_some_and(calls))
}

/// Whether `v` is a place in a slot: its address, or a sum with that.
fn is_slot(func: &Function, v: Value, depth: u32) -> bool {
    let Some(inst) = func.def_inst(v).map(|i| func.inst(i)) else {
        return false;
    };
    match inst.op {
        _ if inst.guard.is_some() => false,
        Opcode::StackAddr => true,
        Opcode::Iadd if depth > 0 => {
            let is_slot = |a: usize| is_slot(func, inst.args[a], depth - 1);
            is_slot(0) != is_slot(1)
        }
        _ => false,
    }
}
