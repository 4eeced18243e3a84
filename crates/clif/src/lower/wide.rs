//! CLIF instructions that become several, or have several results.

use cranelift_codegen::ir as clif;
use cranelift_codegen::ir::InstructionData;
use warpfold_ir::{Guard, Imm, IntCC, Opcode, Type, Value};

use super::Lowering;
use super::inst::integer_of;

impl Lowering<'_> {
    pub(super) fn wide(&mut self, inst: clif::Inst, op: clif::Opcode) -> Result<(), String> {
        match op {
            clif::Opcode::Bitselect => self.bitselect(inst),
            clif::Opcode::Bmask => {
                let [x] = self.args(inst)?;
                let [result] = self.results(inst)?;
                let ty = self.type_of(result)?;
                let cond = self.pred(x)?;
                let args = [cond, self.constant(ty, u128::MAX)?, self.constant(ty, 0)?];
                let v = self.value(Opcode::Select, ty, &args, Imm::None)?;
                self.define(inst, v)
            }
            clif::Opcode::Isplit => self.isplit(inst),
            clif::Opcode::Iconcat => self.iconcat(inst),
            clif::Opcode::UaddOverflowTrap => {
                let InstructionData::IntAddTrap { args, code, .. } =
                    self.source.func.dfg.insts[inst]
                else {
                    return Err("expected a trap code".into());
                };
                let ty = self.type_of(args[0])?;
                let (a, b) = (self.number(args[0])?, self.number(args[1])?);
                let sum = self.two(Opcode::Iadd, ty, a, b)?;
                let carry = self.icmp(IntCC::Ult, ty, sum, a)?;
                let guard = Guard {
                    pred: carry,
                    negated: false,
                    otherwise: None,
                };
                self.trap_if(guard, code);
                self.define(inst, sum)
            }
            _ => self.overflow(inst, op),
        }
    }

    fn two(&mut self, op: Opcode, ty: Type, a: Value, b: Value) -> Result<Value, String> {
        self.value(op, ty, &[a, b], Imm::None)
    }

    fn icmp(&mut self, cc: IntCC, ty: Type, a: Value, b: Value) -> Result<Value, String> {
        self.value(Opcode::Icmp, ty, &[a, b], Imm::Icc(cc))
    }

    /// `(x & c) | (y & !c)`.
    fn bitselect(&mut self, inst: clif::Inst) -> Result<(), String> {
        let args: [clif::Value; 3] = self.args(inst)?;
        let ty = self.type_of(args[0])?;
        let int = integer_of(ty);
        let mut ints = [None; 3];
        for (int_form, &arg) in ints.iter_mut().zip(&args) {
            let v = self.number(arg)?;
            *int_form = Some(match int == ty {
                true => v,
                false => self.value(Opcode::Bitcast, int, &[v], Imm::None)?,
            });
        }
        let [Some(c), Some(x), Some(y)] = ints else {
            return Err("expected three operands".into());
        };
        let chosen = self.two(Opcode::Band, int, x, c)?;
        let rest = self.two(Opcode::BandNot, int, y, c)?;
        let mut v = self.two(Opcode::Bor, int, chosen, rest)?;
        if int != ty {
            v = self.value(Opcode::Bitcast, ty, &[v], Imm::None)?;
        }
        self.define(inst, v)
    }

    fn isplit(&mut self, inst: clif::Inst) -> Result<(), String> {
        let [x] = self.args(inst)?;
        let [low, high] = self.results(inst)?;
        let (ty, half) = (self.type_of(x)?, self.type_of(low)?);
        let v = self.number(x)?;
        let amount = self.constant(ty, half.bits().into())?;
        let shifted = self.two(Opcode::Ushr, ty, v, amount)?;
        self.numbers[low] = self.value(Opcode::Ireduce, half, &[v], Imm::None)?.into();
        let high_half = self.value(Opcode::Ireduce, half, &[shifted], Imm::None)?;
        self.numbers[high] = high_half.into();
        Ok(())
    }

    fn iconcat(&mut self, inst: clif::Inst) -> Result<(), String> {
        let [low, high] = self.args(inst)?;
        let [result] = self.results(inst)?;
        let (half, ty) = (self.type_of(low)?, self.type_of(result)?);
        let (low, high) = (self.number(low)?, self.number(high)?);
        let low = self.value(Opcode::Uextend, ty, &[low], Imm::None)?;
        let high = self.value(Opcode::Uextend, ty, &[high], Imm::None)?;
        let amount = self.constant(ty, half.bits().into())?;
        let high = self.two(Opcode::Ishl, ty, high, amount)?;
        let v = self.two(Opcode::Bor, ty, low, high)?;
        self.define(inst, v)
    }

    /// Arithmetic with a carry or overflow flag (Hacker's Delight, 2-13).
    fn overflow(&mut self, inst: clif::Inst, op: clif::Opcode) -> Result<(), String> {
        let [result, flag] = self.results(inst)?;
        let args = self.source.func.dfg.inst_args(inst);
        let (&[x, y], carry) = match args {
            [x, y] => (&[*x, *y], None),
            [x, y, c] => (&[*x, *y], Some(*c)),
            _ => return Err("expected two or three operands".into()),
        };
        let ty = self.type_of(x)?;
        let (a, b) = (self.number(x)?, self.number(y)?);
        let (value, pred) = match op {
            clif::Opcode::UaddOverflow | clif::Opcode::UaddOverflowCin => {
                let sum = self.two(Opcode::Iadd, ty, a, b)?;
                let over = self.icmp(IntCC::Ult, ty, sum, a)?;
                match carry {
                    None => (sum, over),
                    Some(carry) => {
                        let carry = self.carry(ty, carry)?;
                        let total = self.two(Opcode::Iadd, ty, sum, carry)?;
                        let again = self.icmp(IntCC::Ult, ty, total, sum)?;
                        (total, self.two(Opcode::Or, Type::Pred, over, again)?)
                    }
                }
            }
            clif::Opcode::UsubOverflow | clif::Opcode::UsubOverflowBin => {
                let difference = self.two(Opcode::Isub, ty, a, b)?;
                let under = self.icmp(IntCC::Ult, ty, a, b)?;
                match carry {
                    None => (difference, under),
                    Some(borrow) => {
                        let borrow = self.carry(ty, borrow)?;
                        let total = self.two(Opcode::Isub, ty, difference, borrow)?;
                        let again = self.icmp(IntCC::Ult, ty, difference, borrow)?;
                        (total, self.two(Opcode::Or, Type::Pred, under, again)?)
                    }
                }
            }
            clif::Opcode::SaddOverflow
            | clif::Opcode::SsubOverflow
            | clif::Opcode::SaddOverflowCin
            | clif::Opcode::SsubOverflowBin => {
                let add = matches!(
                    op,
                    clif::Opcode::SaddOverflow | clif::Opcode::SaddOverflowCin
                );
                let ir = if add { Opcode::Iadd } else { Opcode::Isub };
                let mut v = self.two(ir, ty, a, b)?;
                if let Some(carry) = carry {
                    let carry = self.carry(ty, carry)?;
                    v = self.two(ir, ty, v, carry)?;
                }
                // The sum's sign is wrong where it differs from both operands'
                // signs; a difference's where those differ and it follows `b`. A
                // carry changes nothing about that: only sums of two numbers of
                // one sign can leave the range, and they cannot come back to it.
                let left = self.two(Opcode::Bxor, ty, a, v)?;
                let right = self.two(
                    Opcode::Bxor,
                    ty,
                    if add { b } else { a },
                    if add { v } else { b },
                )?;
                let both = self.two(Opcode::Band, ty, left, right)?;
                let zero = self.constant(ty, 0)?;
                (v, self.icmp(IntCC::Slt, ty, both, zero)?)
            }
            clif::Opcode::UmulOverflow => {
                let v = self.two(Opcode::Imul, ty, a, b)?;
                let high = self.two(Opcode::Umulhi, ty, a, b)?;
                let zero = self.constant(ty, 0)?;
                (v, self.icmp(IntCC::Ne, ty, high, zero)?)
            }
            clif::Opcode::SmulOverflow => {
                let v = self.two(Opcode::Imul, ty, a, b)?;
                let high = self.two(Opcode::Smulhi, ty, a, b)?;
                let amount = self.constant(ty, u128::from(ty.bits() - 1))?;
                let sign = self.two(Opcode::Sshr, ty, v, amount)?;
                (v, self.icmp(IntCC::Ne, ty, high, sign)?)
            }
            _ => return Err(format!("`{op}` has no lowering")),
        };
        self.numbers[result] = value.into();
        self.preds[flag] = pred.into();
        Ok(())
    }

    /// A carry as 0 or 1 of type `ty`.
    fn carry(&mut self, ty: Type, v: clif::Value) -> Result<Value, String> {
        let pred = self.pred(v)?;
        self.value(Opcode::Bint, ty, &[pred], Imm::None)
    }
}
