//! Poison: which lanes of a result hold it, and where it must not be.
//!
//! | instruction | its result is poison in lanes that are on where |
//! |---|---|
//! | lane-wise | an operand is |
//! | `select` | the condition is, or the operand that it chooses |
//! | `and`, `or`, `andn` on `pred` | an operand is, and the other one does not decide alone |
//! | `poison` | always |
//! | what uses an operand as it must not be | any lane's operand is: only seen where poison is followed and not refused |
//! | everything else | never |
//!
//! Where a guard is false the result is the `else` value, poison if that is,
//! and poison where there is none. Copies to block parameters and arguments of
//! calls hand poison on.

use smallvec::SmallVec;
use warpfold_ir::{Function, InstData, Opcode, Shape as Form, Value};

use super::PoisonUse;

/// A lane-wise view of the operands.
pub(crate) struct Operands<'a> {
    pub func: &'a Function,
    /// Lanes in which a value is poison.
    pub poison: &'a dyn Fn(Value) -> u32,
    /// Lanes in which a predicate holds.
    pub truth: &'a dyn Fn(Value) -> u32,
}

/// The uses of `inst`, its guard apart, that must not be poison where it is on.
pub(crate) fn strict_uses(func: &Function, inst: &InstData) -> SmallVec<[(Value, PoisonUse); 2]> {
    let mut uses = SmallVec::new();
    match inst.op.shape() {
        Form::Load
        | Form::Store
        | Form::AtomicLoad
        | Form::AtomicStore
        | Form::AtomicRmw
        | Form::AtomicCas => {
            if let Some((&address, values)) = inst.args.split_last() {
                uses.extend(values.iter().map(|&v| (v, PoisonUse::Stored)));
                uses.push((address, PoisonUse::Address));
            }
        }
        Form::Ballot | Form::Vote | Form::ReadFirst | Form::Shuffle | Form::WarpSync => {
            uses.extend(inst.args.iter().map(|&v| (v, PoisonUse::CrossLane)));
        }
        Form::CallIndirect => {
            if let Some((warpfold_ir::CallTarget::Indirect { address, .. }, _)) = func.call(inst) {
                uses.push((address, PoisonUse::Address));
            }
        }
        _ => {}
    }
    uses
}

impl Operands<'_> {
    /// The lanes of `on`, in which the guard holds, where the result is poison.
    pub(crate) fn result(&self, inst: &InstData, on: u32) -> u32 {
        let poison = self.poison;
        let any = || inst.args.iter().fold(0, |m, &v| m | poison(v));
        let strict = strict_uses(self.func, inst);
        let found = match inst.op {
            Opcode::Poison => u32::MAX,
            Opcode::Select => {
                let (c, a, b) = (inst.args[0], inst.args[1], inst.args[2]);
                let truth = (self.truth)(c);
                poison(c) | truth & poison(a) | !truth & poison(b)
            }
            Opcode::And | Opcode::Or | Opcode::Andn => {
                let (a, b) = (inst.args[0], inst.args[1]);
                // What each operand says for certain: true, false.
                let sure = |v: Value| {
                    let (p, t) = (poison(v), (self.truth)(v));
                    (t & !p, !t & !p)
                };
                let decides = match inst.op {
                    Opcode::And => sure(a).1 | sure(b).1,
                    Opcode::Or => sure(a).0 | sure(b).0,
                    _ => sure(a).1 | sure(b).0,
                };
                any() & !decides
            }
            _ if !strict.is_empty() => {
                let used = strict.iter().fold(0, |m, &(v, _)| m | poison(v) & on);
                // Other lanes see it.
                if used != 0 { u32::MAX } else { 0 }
            }
            _ if inst.op.effects().calls => 0,
            _ => any(),
        };
        found & on
    }
}
