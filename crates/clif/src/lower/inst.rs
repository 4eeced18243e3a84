//! Instructions: the table's direct rows, and the arms that stay one
//! instruction but need a closer look.

use cranelift_codegen::ir as clif;
use cranelift_codegen::ir::InstructionData;
use smallvec::SmallVec;
use warpfold_ir::{Guard, Imm, InstData, Opcode, Type, TypeSet, Value};

use super::{Lowering, check, slots, truth};
use crate::intrinsics::Slot;
use crate::libcalls::{self, Routine, routine};
use crate::opmap::{self, Rule, rule};

impl Lowering<'_> {
    /// Lowers one instruction.
    pub(super) fn inst(&mut self, inst: clif::Inst) -> Result<(), String> {
        if self.terminator(inst)? {
            return Ok(());
        }
        let op = self.source.func.dfg.insts[inst].opcode();
        match rule(op) {
            Rule::Direct(ir) => self.direct(inst, ir),
            Rule::Arm(_) => self.arm(inst, op),
            Rule::Refused(why) => Err(format!("`{op}` is not supported: {why}")),
        }
    }

    /// The CLIF values that result from `inst`; `n` of them.
    pub(super) fn results<const N: usize>(
        &self,
        inst: clif::Inst,
    ) -> Result<[clif::Value; N], String> {
        let results = self.source.func.dfg.inst_results(inst);
        results
            .try_into()
            .map_err(|_| format!("expected {N} results, found {}", results.len()))
    }

    pub(super) fn args<const N: usize>(
        &self,
        inst: clif::Inst,
    ) -> Result<[clif::Value; N], String> {
        let dfg = &self.source.func.dfg;
        let args: [clif::Value; N] = dfg
            .inst_args(inst)
            .try_into()
            .map_err(|_| format!("expected {N} operands"))?;
        Ok(args.map(|v| dfg.resolve_aliases(v)))
    }

    /// A CLIF instruction that has one result, as a number.
    pub(super) fn define(&mut self, inst: clif::Inst, v: Value) -> Result<(), String> {
        let [result] = self.results(inst)?;
        self.numbers[result] = v.into();
        Ok(())
    }

    fn direct(&mut self, inst: clif::Inst, op: Opcode) -> Result<(), String> {
        let dfg = &self.source.func.dfg;
        let result = match *dfg.inst_results(inst) {
            [result] if self.truths.is_pred(result) => return self.truth_logic(inst, result),
            [result] => Some(result),
            _ => None,
        };
        let mut args = SmallVec::<[Value; 3]>::new();
        for &v in dfg.inst_args(inst) {
            args.push(self.number(v)?);
        }
        let (imm, typed) = match dfg.insts[inst] {
            InstructionData::Load { flags, offset, .. } => {
                (self.memory(inst, flags, offset.into()), result)
            }
            InstructionData::LoadNoOffset { flags, .. } if op == Opcode::AtomicLoad => {
                (self.memory(inst, flags, 0), result)
            }
            InstructionData::Store {
                flags,
                offset,
                args,
                ..
            } => (self.memory(inst, flags, offset.into()), Some(args[0])),
            InstructionData::StoreNoOffset { flags, args, .. } => {
                (self.memory(inst, flags, 0), Some(args[0]))
            }
            InstructionData::StackAddr {
                stack_slot, offset, ..
            } => {
                let (slot, begin) = self.slots[stack_slot].ok_or("the stack slot is empty")?;
                let offset =
                    slots::offset(begin, offset.into()).ok_or("the offset is out of range")?;
                (Imm::Slot { slot, offset }, result)
            }
            _ => (Imm::None, result),
        };
        let ty = self.type_of(typed.ok_or("expected a result")?)?;
        if op == Opcode::Bitcast && self.out.ty(args[0]) == ty {
            return self.define(inst, args[0]);
        }
        if ty.is_float() && op.shape().types() == TypeSet::Int {
            return self.on_bits(inst, op, ty, &args);
        }
        match (self.emit(op, ty, &args, imm), result) {
            (Some(v), Some(result)) => self.numbers[result] = v.into(),
            (Some(_), None) => return Err("expected a result".into()),
            (None, _) => {}
        }
        Ok(())
    }

    /// The immediate of a memory access.
    fn memory(&self, inst: clif::Inst, flags: clif::MemFlags, offset: i32) -> Imm {
        let func = self.source.func;
        let bytes = check::access_bytes(func, inst);
        Imm::Mem {
            flags: opmap::mem_flags(func.dfg.mem_flags[flags], bytes),
            offset,
        }
    }

    /// A read-modify-write; CLIF has the address first.
    fn update(
        &mut self,
        inst: clif::Inst,
        op: Opcode,
        flags: clif::MemFlags,
        args: &[clif::Value],
    ) -> Result<(), String> {
        let [result] = self.results(inst)?;
        let (&address, operands) = args.split_first().ok_or("expected an address")?;
        let mut values = SmallVec::<[Value; 3]>::new();
        for &v in operands {
            values.push(self.number(v)?);
        }
        values.push(self.number(address)?);
        let imm = self.memory(inst, flags, 0);
        let v = self.value(op, self.type_of(result)?, &values, imm)?;
        self.define(inst, v)
    }

    /// Bitwise logic on floats, by way of integers of the same width.
    fn on_bits(
        &mut self,
        inst: clif::Inst,
        op: Opcode,
        ty: Type,
        args: &[Value],
    ) -> Result<(), String> {
        let int = integer_of(ty);
        let mut bits = SmallVec::<[Value; 3]>::new();
        for &arg in args {
            bits.push(self.value(Opcode::Bitcast, int, &[arg], Imm::None)?);
        }
        let v = self.value(op, int, &bits, Imm::None)?;
        let v = self.value(Opcode::Bitcast, ty, &[v], Imm::None)?;
        self.define(inst, v)
    }

    /// Logic and conversions of truths that live as predicates.
    fn truth_logic(&mut self, inst: clif::Inst, result: clif::Value) -> Result<(), String> {
        let op = self.source.func.dfg.insts[inst].opcode();
        if let [arg] = *self.source.func.dfg.inst_args(inst) {
            // The conversion itself is the integer form, where it stands.
            let pred = self.pred(arg)?;
            let number = self.value(Opcode::Bint, self.type_of(result)?, &[pred], Imm::None)?;
            self.optional.push(number);
            self.preds[result] = pred.into();
            self.numbers[result] = number.into();
            return Ok(());
        }
        let [a, b] = self.args(inst)?;
        let pred = match op {
            clif::Opcode::Band => self.combine(Opcode::And, a, b)?,
            clif::Opcode::Bor => self.combine(Opcode::Or, a, b)?,
            clif::Opcode::Bxor => self.combine(Opcode::Xor, a, b)?,
            _ => return Err(format!("`{op}` has no form on truth values")),
        };
        self.preds[result] = pred.into();
        Ok(())
    }

    /// Logic on two truths, one of which may be a constant.
    fn combine(&mut self, op: Opcode, a: clif::Value, b: clif::Value) -> Result<Value, String> {
        let (a, b) = match self.truths.constant(a) {
            Some(_) => (b, a),
            None => (a, b),
        };
        let p = self.pred(a)?;
        match (op, self.truths.constant(b)) {
            (Opcode::And, Some(true)) | (Opcode::Or | Opcode::Xor, Some(false)) => Ok(p),
            (Opcode::Xor, Some(true)) => self.value(Opcode::Not, Type::Pred, &[p], Imm::None),
            _ => {
                let q = self.pred(b)?;
                self.value(op, Type::Pred, &[p, q], Imm::None)
            }
        }
    }

    fn arm(&mut self, inst: clif::Inst, op: clif::Opcode) -> Result<(), String> {
        match (op, self.source.func.dfg.insts[inst]) {
            (clif::Opcode::Nop | clif::Opcode::SequencePoint, _) => Ok(()),
            (_, InstructionData::UnaryImm { imm, .. }) => self.literal(inst, imm.bits() as u128),
            (_, InstructionData::UnaryIeee16 { imm, .. }) => self.literal(inst, imm.bits().into()),
            (_, InstructionData::UnaryIeee32 { imm, .. }) => self.literal(inst, imm.bits().into()),
            (_, InstructionData::UnaryIeee64 { imm, .. }) => self.literal(inst, imm.bits().into()),
            (clif::Opcode::Icmp, InstructionData::IntCompare { args, cond, .. }) => {
                let [result] = self.results(inst)?;
                let pred = match self.truths.comparison(self.source.func, inst) {
                    Some(([a, b], equal)) => self.truths_differ(a, b, equal)?,
                    None => {
                        let cond = Imm::Icc(opmap::int_cc(cond));
                        self.compare(Opcode::Icmp, args, cond)?
                    }
                };
                self.preds[result] = pred.into();
                Ok(())
            }
            (clif::Opcode::Fcmp, InstructionData::FloatCompare { args, cond, .. }) => {
                let [result] = self.results(inst)?;
                let cond = Imm::Fcc(opmap::float_cc(cond));
                self.preds[result] = self.compare(Opcode::Fcmp, args, cond)?.into();
                Ok(())
            }
            (clif::Opcode::Select | clif::Opcode::SelectSpectreGuard, _) => self.select(inst),
            (_, InstructionData::CondTrap { arg, code, .. }) => {
                let guard = Guard {
                    pred: self.pred(arg)?,
                    negated: op == clif::Opcode::Trapz,
                    otherwise: None,
                };
                self.trap_if(guard, code);
                Ok(())
            }
            (
                _,
                InstructionData::AtomicRmw {
                    flags, op, args, ..
                },
            ) => self.update(inst, opmap::update(op), flags, &args),
            (_, InstructionData::AtomicCas { flags, args, .. }) => {
                self.update(inst, Opcode::AtomicCas, flags, &args)
            }
            (clif::Opcode::Fence, _) => {
                self.emit(Opcode::Fence, Type::I32, &[], Imm::None);
                Ok(())
            }
            (clif::Opcode::Call, _) if truth::intrinsic(self.source.func, inst).is_some() => {
                self.intrinsic(inst)
            }
            (clif::Opcode::Call, InstructionData::Call { func_ref, .. })
                if let Some(call) = libcalls::declared(self.source.func, func_ref)
                    && let Routine::Math(op, ty) = routine(call) =>
            {
                self.call_routine(inst, op, ty)
            }
            (clif::Opcode::Call | clif::Opcode::CallIndirect, _) => {
                self.call_function(inst).map(drop)
            }
            (_, InstructionData::FuncAddr { func_ref, .. }) => self.func_addr(inst, func_ref),
            _ => self.wide(inst, op),
        }
    }

    /// A constant; of 0 and 1 the number is kept only if one is used.
    fn literal(&mut self, inst: clif::Inst, bits: u128) -> Result<(), String> {
        let [result] = self.results(inst)?;
        let ty = self.type_of(result)?;
        let v = self.value(Opcode::Const, ty, &[], Imm::Bits(bits & ty.mask()))?;
        if self.truths.is_truth(result) {
            self.optional.push(v);
        }
        self.define(inst, v)
    }

    fn compare(&mut self, op: Opcode, args: [clif::Value; 2], cond: Imm) -> Result<Value, String> {
        let ty = self.type_of(args[0])?;
        let args = [self.number(args[0])?, self.number(args[1])?];
        self.value(op, ty, &args, cond)
    }

    /// Whether two truths differ, or (`equal`) do not. To equal 1 is the
    /// truth itself, and no double negation.
    fn truths_differ(
        &mut self,
        a: clif::Value,
        b: clif::Value,
        equal: bool,
    ) -> Result<Value, String> {
        if equal {
            match [a, b].map(|v| self.truths.constant(v)) {
                [Some(true), _] => return self.pred(b),
                [_, Some(true)] => return self.pred(a),
                _ => {}
            }
        }
        let differ = self.combine(Opcode::Xor, a, b)?;
        match equal {
            true => self.value(Opcode::Not, Type::Pred, &[differ], Imm::None),
            false => Ok(differ),
        }
    }

    fn select(&mut self, inst: clif::Inst) -> Result<(), String> {
        let [c, x, y] = self.args(inst)?;
        let [result] = self.results(inst)?;
        let cond = self.pred(c)?;
        if self.truths.is_pred(result) {
            let args = [cond, self.pred(x)?, self.pred(y)?];
            let v = self.value(Opcode::Select, Type::Pred, &args, Imm::None)?;
            self.preds[result] = v.into();
            return Ok(());
        }
        let args = [cond, self.number(x)?, self.number(y)?];
        let v = self.value(Opcode::Select, self.type_of(result)?, &args, Imm::None)?;
        self.define(inst, v)
    }

    /// Emits a guarded trap.
    pub(super) fn trap_if(&mut self, guard: Guard, code: clif::TrapCode) {
        let imm = Imm::Trap(opmap::trap_code(code));
        let data = InstData::new(Opcode::TrapIf, Type::I32, &[], imm)
            .guarded(guard)
            .at(self.origin);
        self.out.push_inst(self.block, data);
    }

    fn intrinsic(&mut self, inst: clif::Inst) -> Result<(), String> {
        let func = self.source.func;
        let row = truth::intrinsic(func, inst).ok_or("the callee is no intrinsic")?;
        let results = func.dfg.inst_results(inst);
        let mut args = SmallVec::<[Value; 2]>::new();
        for (slot, &v) in row.params.iter().zip(func.dfg.inst_args(inst)) {
            args.push(match slot {
                Slot::Truth => self.pred(v)?,
                _ => self.number(v)?,
            });
        }
        let ty = match (row.opcode.shape().types().only(), results.first()) {
            (Some(ty), _) => ty,
            (None, Some(&v)) => self.type_of(v)?,
            (None, None) => return Err("expected a result".into()),
        };
        let made = self.emit(row.opcode, ty, &args, Imm::None);
        if let (Some(v), [result]) = (made, results) {
            let map = match row.result {
                Some(Slot::Truth) => &mut self.preds,
                _ => &mut self.numbers,
            };
            map[*result] = v.into();
        }
        Ok(())
    }
}

/// The integer type of the width of `ty`.
pub(super) fn integer_of(ty: Type) -> Type {
    match ty {
        Type::F16 => Type::I16,
        Type::F32 => Type::I32,
        Type::F64 => Type::I64,
        other => other,
    }
}
