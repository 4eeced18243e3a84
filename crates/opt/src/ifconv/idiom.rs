//! Selects that are one other instruction: minimum, maximum, absolute value, and
//! the number of a predicate.
//!
//! An idiom computes what the select would in every lane whose comparison means
//! anything, so the comparison itself may go if nothing else uses it. Integers
//! always have their minimum and maximum. Floats have them only where neither
//! operand can be a NaN or negative zero: a select gives its second operand for a
//! NaN, and the operand it compares less for zeros, where `fmin` gives a NaN and
//! orders the zeros. What comes from an integer is neither, nor is a constant that
//! is not one of them.

use warpfold_ir::{FloatCC, Function, Imm, IntCC, Opcode, Type, Value};

/// What takes the place of a select.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Idiom {
    /// An operation on both of its values.
    Both(Opcode),
    /// An operation on one value alone.
    One(Opcode, Value),
    /// An operation on its condition.
    Condition(Opcode),
}

impl Idiom {
    /// The operation.
    pub fn op(self) -> Opcode {
        match self {
            Self::Both(op) | Self::One(op, _) | Self::Condition(op) => op,
        }
    }
}

/// What is the same as `then` where `cond` holds and `otherwise` elsewhere.
/// `cond` is a condition as it was computed; `None` for any other predicate.
/// `same` says whether two values are one.
pub fn find(
    func: &Function,
    cond: Option<Value>,
    then: Value,
    otherwise: Value,
    same: &dyn Fn(Value, Value) -> bool,
) -> Option<Idiom> {
    let ty = func.ty(then);
    if ty.is_int() && func.as_const(then) == Some(1) && func.as_const(otherwise) == Some(0) {
        return Some(Idiom::Condition(Opcode::Bint));
    }
    let data = func.inst(func.def_inst(cond?)?);
    if data.guard.is_some() {
        return None;
    }
    let &[a, b] = data.args.as_slice() else {
        return None;
    };
    // The operand that is chosen where the comparison holds is the first.
    let straight = same(a, then) && same(b, otherwise);
    let crossed = same(a, otherwise) && same(b, then);
    match (data.op, data.imm) {
        (Opcode::Icmp, Imm::Icc(cc)) if straight || crossed => {
            let (less, greater) = match cc {
                IntCC::Slt | IntCC::Sle => (Opcode::Smin, Opcode::Smax),
                IntCC::Sgt | IntCC::Sge => (Opcode::Smax, Opcode::Smin),
                IntCC::Ult | IntCC::Ule => (Opcode::Umin, Opcode::Umax),
                IntCC::Ugt | IntCC::Uge => (Opcode::Umax, Opcode::Umin),
                IntCC::Eq | IntCC::Ne => return None,
            };
            Some(Idiom::Both(if straight { less } else { greater }))
        }
        (Opcode::Icmp, Imm::Icc(cc)) if func.as_const(b) == Some(0) => {
            let negative = |v: Value, of: Value| {
                let data = func.def_inst(v).map(|i| func.inst(i));
                data.is_some_and(|d| {
                    d.op == Opcode::Ineg && d.guard.is_none() && same(d.args[0], of)
                })
            };
            let is_abs = match cc {
                IntCC::Slt | IntCC::Sle => negative(then, a) && same(otherwise, a),
                IntCC::Sgt | IntCC::Sge => same(then, a) && negative(otherwise, a),
                _ => false,
            };
            is_abs.then_some(Idiom::One(Opcode::Iabs, a))
        }
        (Opcode::Fcmp, Imm::Fcc(cc)) if straight || crossed => {
            let (less, greater) = match cc {
                FloatCC::Lt | FloatCC::Le => (Opcode::Fmin, Opcode::Fmax),
                FloatCC::Gt | FloatCC::Ge => (Opcode::Fmax, Opcode::Fmin),
                _ => return None,
            };
            let plain = is_plain(func, a) && is_plain(func, b);
            plain.then_some(Idiom::Both(if straight { less } else { greater }))
        }
        _ => None,
    }
}

/// Whether a float is neither a NaN nor negative zero.
fn is_plain(func: &Function, v: Value) -> bool {
    if let Some(bits) = func.as_const(v) {
        let (f, negative_zero) = match func.ty(v) {
            Type::F32 => (f64::from(f32::from_bits(bits as u32)), 1 << 31),
            Type::F64 => (f64::from_bits(bits as u64), 1 << 63),
            _ => return false,
        };
        return !f.is_nan() && bits != negative_zero;
    }
    let data = func.def_inst(v).map(|i| func.inst(i));
    data.is_some_and(|d| {
        matches!(d.op, Opcode::FcvtFromUint | Opcode::FcvtFromSint) && d.guard.is_none()
    })
}
