//! Rules on a single instruction.

use super::function::count;
use super::{Place, Site, Verifier};
use crate::entities::Inst;
use crate::function::{Guard, Imm, InstData, ValueDef};
use crate::opcode::ImmKind;
use crate::types::Type;

impl Verifier<'_> {
    pub(super) fn inst(&mut self, inst: Inst, at: Site) {
        let func = self.func;
        let data = func.inst(inst);
        let place = Place::Inst(inst);
        if !data.op.accepts(data.ty) {
            self.report(place, format!("`{}` has no form for {}", data.op, data.ty));
        }
        self.operands(place, at, data);
        self.immediate(place, data);
        self.guard(place, at, data);
        self.results(inst, data);
    }

    fn operands(&mut self, place: Place, at: Site, data: &InstData) {
        let func = self.func;
        let operands = data.op.shape().operands();
        if data.op.effects().calls {
            if data.args.len() < operands.len() {
                self.report(place, format!("`{}` needs an address", data.op));
            }
            for (i, (operand, &v)) in operands.iter().zip(&data.args).enumerate() {
                let exists = self.check_use(place, at, &"address", v);
                if exists && !operand.accepts(data.ty, func.ty(v)) {
                    let message = format!(
                        "operand {}: expected {}, {v} is {}",
                        i + 1,
                        operand.expectation(data.ty),
                        func.ty(v)
                    );
                    self.report(place, message);
                }
            }
            let Some((target, args)) = func.call(data) else {
                return;
            };
            self.arguments(place, at, target, args);
            return;
        }
        let shape = data.op.shape();
        if !shape.takes(data.args.len()) {
            let or_less = match shape.optional() {
                0 => String::new(),
                n => format!("{} or ", operands.len() - n),
            };
            let message = format!(
                "`{}` takes {or_less}{}, {} given",
                data.op,
                count(operands.len(), "operand"),
                data.args.len()
            );
            self.report(place, message);
        }
        for (i, &v) in data.args.iter().enumerate() {
            let exists = self.is_reached(at, v)
                || self.check_use(place, at, &format_args!("operand {}", i + 1), v);
            let Some(operand) = operands.get(i).filter(|_| exists) else {
                continue;
            };
            if !operand.accepts(data.ty, func.ty(v)) {
                let message = format!(
                    "operand {}: expected {}, {v} is {}",
                    i + 1,
                    operand.expectation(data.ty),
                    func.ty(v)
                );
                self.report(place, message);
            }
        }
    }

    fn immediate(&mut self, place: Place, data: &InstData) {
        match (data.op.shape().imm(), data.imm) {
            (ImmKind::Bits, Imm::Bits(bits)) => {
                if bits & !data.ty.mask() != 0 {
                    let message = format!("the constant {bits:#x} does not fit {}", data.ty);
                    self.report(place, message);
                }
            }
            (ImmKind::Slot, Imm::Slot { slot, offset }) => match self.func.slots.get(slot) {
                None => self.report(place, format!("{slot} does not exist")),
                Some(s) if !(0..=i64::from(s.size)).contains(&i64::from(offset)) => {
                    let message = format!(
                        "offset {offset} is outside {slot}, which has {} bytes",
                        s.size
                    );
                    self.report(place, message);
                }
                Some(_) => {}
            },
            (ImmKind::None, Imm::None)
            | (ImmKind::Icc, Imm::Icc(_))
            | (ImmKind::Fcc, Imm::Fcc(_))
            | (ImmKind::Mem, Imm::Mem { .. })
            | (ImmKind::Trap, Imm::Trap(_)) => {}
            (ImmKind::Func, Imm::Func(callee)) => {
                if !self.func.callees.is_valid(callee) {
                    self.report(place, format!("{callee} is not declared"));
                }
            }
            (ImmKind::Sig, Imm::Sig(sig)) => {
                if !self.func.signatures.is_valid(sig) {
                    self.report(place, format!("{sig} is not declared"));
                }
            }
            (kind, _) => {
                let message = format!("`{}` needs {}", data.op, kind.expectation());
                self.report(place, message);
            }
        }
    }

    fn guard(&mut self, place: Place, at: Site, data: &InstData) {
        let func = self.func;
        let op = data.op;
        let Some(Guard {
            pred, otherwise, ..
        }) = data.guard
        else {
            if op.must_be_guarded() {
                self.report(place, format!("`{op}` needs a guard"));
            }
            return;
        };
        if !op.may_be_guarded() {
            self.report(place, format!("`{op}` may not be guarded"));
        }
        if self.check_use(place, at, &"guard", pred) && func.ty(pred) != Type::Pred {
            let message = format!("guard: expected pred, {pred} is {}", func.ty(pred));
            self.report(place, message);
        }
        let Some(v) = otherwise else { return };
        let exists = self.check_use(place, at, &"else value", v);
        match data.result_type() {
            None => {
                let message = format!("`{op}` yields no result, so it takes no `else`");
                self.report(place, message);
            }
            Some(ty) if exists && func.ty(v) != ty => {
                let message = format!("else value: expected {ty}, {v} is {}", func.ty(v));
                self.report(place, message);
            }
            Some(_) => {}
        }
    }

    fn results(&mut self, inst: Inst, data: &InstData) {
        let func = self.func;
        let place = Place::Inst(inst);
        if !data.op.effects().calls
            && let (Some(ty), &[v]) = (data.result_type(), &data.results[..])
            && func.has_value(v)
            && func.ty(v) == ty
            && func.def(v) == ValueDef::Result(inst, 0)
        {
            return;
        }
        let types = func.result_types(data);
        let expected = types.len();
        if data.results.len() != expected {
            let message = format!(
                "`{}` yields {}, {} named",
                data.op,
                count(expected, "result"),
                data.results.len()
            );
            self.report(place, message);
        }
        for (k, &v) in data.results.iter().enumerate() {
            if !func.has_value(v) {
                self.report(place, format!("result {v} does not exist"));
            } else if func.def(v) != ValueDef::Result(inst, k as u32) {
                self.report(place, format!("result {v} is defined elsewhere"));
            } else if let Some(&ty) = types.get(k)
                && func.ty(v) != ty
            {
                let message = format!("result {v} is {}, `{}` yields {ty}", func.ty(v), data.op);
                self.report(place, message);
            }
        }
    }
}
