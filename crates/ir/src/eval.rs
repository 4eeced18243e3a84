//! The scalar meaning of lane-wise opcodes: constant folding, and the
//! mask-free reference run of the test kit.

use crate::codes::TrapCode;
use crate::function::{Imm, InstData};
use crate::lane::{Float, Int};
use crate::opcode::Opcode;
use crate::types::Type;

/// The result of one lane of a lane-wise instruction, as bits (zero above the
/// type's width; predicates are 0 or 1).
///
/// `arg_types` and `args` are the operands. `None` for opcodes that are not
/// lane-wise functions of their operands; `Some(Err(_))` where the lane traps.
pub fn eval(inst: &InstData, arg_types: &[Type], args: &[u128]) -> Option<Result<u128, TrapCode>> {
    debug_assert_eq!(arg_types.len(), args.len());
    Some(match inst.op {
        Opcode::Const => match inst.imm {
            Imm::Bits(bits) => Ok(bits),
            _ => return None,
        },
        Opcode::Copy | Opcode::Bitcast | Opcode::Bint => Ok(args[0]),
        Opcode::Select => Ok(if args[0] & 1 == 1 { args[1] } else { args[2] }),
        _ => return eval_row(inst, arg_types, args),
    })
}

macro_rules! by_int {
    ($ty:expr, $t:ident => $body:expr) => {
        match $ty {
            Type::I8 => {
                type $t = u8;
                $body
            }
            Type::I16 => {
                type $t = u16;
                $body
            }
            Type::I32 => {
                type $t = u32;
                $body
            }
            Type::I64 => {
                type $t = u64;
                $body
            }
            Type::I128 => {
                type $t = u128;
                $body
            }
            _ => return None,
        }
    };
}

macro_rules! by_float {
    ($ty:expr, $t:ident => $body:expr) => {
        match $ty {
            Type::F16 => {
                type $t = half::f16;
                $body
            }
            Type::F32 => {
                type $t = f32;
                $body
            }
            Type::F64 => {
                type $t = f64;
                $body
            }
            _ => return None,
        }
    };
}

// These fix the closure's signature before its body is checked.
fn f1<A, R>(f: impl Fn(A) -> R, a: A) -> R {
    f(a)
}
fn f2<A, B, R>(f: impl Fn(A, B) -> R, a: A, b: B) -> R {
    f(a, b)
}
fn f3<A, B, C, R>(f: impl Fn(A, B, C) -> R, a: A, b: B, c: C) -> R {
    f(a, b, c)
}

/// A shift amount modulo the width of the shifted type.
pub fn shift_amount(bits: u128, width: u32) -> u32 {
    (bits as u32) & (width - 1)
}

macro_rules! eval_rows {
    ([] $($v:ident $mnemonic:literal $shape:ident $class:ident $doc:literal, $sem:expr;)*) => {
        fn eval_row(
            inst: &InstData,
            arg_types: &[Type],
            args: &[u128],
        ) -> Option<Result<u128, TrapCode>> {
            match inst.op {
                $(Opcode::$v => eval_rows!(@ $shape, $sem, inst, arg_types, args),)*
            }
        }
    };
    (@ Int1, $f:expr, $i:ident, $ts:ident, $a:ident) => {
        by_int!($i.ty, T => Some(Ok(f1::<T, T>($f, T::wrap($a[0])).zext())))
    };
    (@ Int2, $f:expr, $i:ident, $ts:ident, $a:ident) => {
        by_int!($i.ty, T => Some(Ok(f2::<T, T, T>($f, T::wrap($a[0]), T::wrap($a[1])).zext())))
    };
    (@ Shift, $f:expr, $i:ident, $ts:ident, $a:ident) => {
        by_int!($i.ty, T => Some(Ok(f2::<T, u32, T>(
            $f, T::wrap($a[0]), shift_amount($a[1], T::BITS)).zext())))
    };
    (@ IntDiv, $f:expr, $i:ident, $ts:ident, $a:ident) => {
        by_int!($i.ty, T => Some(f2::<T, T, Result<T, TrapCode>>(
            $f, T::wrap($a[0]), T::wrap($a[1])).map(Int::zext)))
    };
    (@ Extend, $f:expr, $i:ident, $ts:ident, $a:ident) => {
        by_int!($ts[0], S => by_int!($i.ty, T => Some(Ok(f1::<S, T>($f, S::wrap($a[0])).zext()))))
    };
    (@ Reduce, $f:expr, $i:ident, $ts:ident, $a:ident) => {
        by_int!($ts[0], S => by_int!($i.ty, T => Some(Ok(f1::<S, T>($f, S::wrap($a[0])).zext()))))
    };
    (@ Float1, $f:expr, $i:ident, $ts:ident, $a:ident) => {
        by_float!($i.ty, T => Some(Ok(f1::<T, T>($f, T::from_bits128($a[0])).to_bits128())))
    };
    (@ Float2, $f:expr, $i:ident, $ts:ident, $a:ident) => {
        by_float!($i.ty, T => Some(Ok(f2::<T, T, T>(
            $f, T::from_bits128($a[0]), T::from_bits128($a[1])).to_bits128())))
    };
    (@ Float3, $f:expr, $i:ident, $ts:ident, $a:ident) => {
        by_float!($i.ty, T => Some(Ok(f3::<T, T, T, T>(
            $f,
            T::from_bits128($a[0]),
            T::from_bits128($a[1]),
            T::from_bits128($a[2])).to_bits128())))
    };
    (@ Promote, $f:expr, $i:ident, $ts:ident, $a:ident) => {
        by_float!($ts[0], S => by_float!($i.ty, T => Some(Ok(
            f1::<S, T>($f, S::from_bits128($a[0])).to_bits128()))))
    };
    (@ Demote, $f:expr, $i:ident, $ts:ident, $a:ident) => {
        by_float!($ts[0], S => by_float!($i.ty, T => Some(Ok(
            f1::<S, T>($f, S::from_bits128($a[0])).to_bits128()))))
    };
    (@ IntToFloat, $f:expr, $i:ident, $ts:ident, $a:ident) => {
        by_int!($ts[0], S => by_float!($i.ty, T => Some(Ok(
            f1::<S, T>($f, S::wrap($a[0])).to_bits128()))))
    };
    (@ FloatToInt, $f:expr, $i:ident, $ts:ident, $a:ident) => {
        by_float!($ts[0], S => Some(f2::<S, u32, Result<u128, TrapCode>>(
            $f, S::from_bits128($a[0]), $i.ty.bits()).map(|x| x & $i.ty.mask())))
    };
    (@ FloatToIntSat, $f:expr, $i:ident, $ts:ident, $a:ident) => {
        by_float!($ts[0], S => Some(Ok(f2::<S, u32, u128>(
            $f, S::from_bits128($a[0]), $i.ty.bits()) & $i.ty.mask())))
    };
    (@ Icmp, $f:expr, $i:ident, $ts:ident, $a:ident) => {{
        let Imm::Icc(cc) = $i.imm else { return None };
        by_int!($i.ty, T => Some(Ok(u128::from(f3::<_, T, T, bool>(
            $f, cc, T::wrap($a[0]), T::wrap($a[1]))))))
    }};
    (@ Fcmp, $f:expr, $i:ident, $ts:ident, $a:ident) => {{
        let Imm::Fcc(cc) = $i.imm else { return None };
        by_float!($i.ty, T => Some(Ok(u128::from(f3::<_, T, T, bool>(
            $f, cc, T::from_bits128($a[0]), T::from_bits128($a[1]))))))
    }};
    (@ Pred1, $f:expr, $i:ident, $ts:ident, $a:ident) => {
        Some(Ok(f1::<u128, u128>($f, $a[0]) & 1))
    };
    (@ Pred2, $f:expr, $i:ident, $ts:ident, $a:ident) => {
        Some(Ok(f2::<u128, u128, u128>($f, $a[0], $a[1]) & 1))
    };
    (@ $other:ident, $f:expr, $i:ident, $ts:ident, $a:ident) => { None };
}
crate::for_each_opcode!(eval_rows);

/// What an atomic access leaves in memory, as bits: from `old`, which was
/// there, and its operands, the address left out. `None` for what writes nothing
/// or is no atomic access.
pub fn atomic(op: Opcode, ty: Type, old: u128, args: &[u128]) -> Option<u128> {
    match (op, args) {
        (Opcode::AtomicStore, &[x, ..]) => Some(x),
        (Opcode::AtomicCas, &[expected, x, ..]) => (old == expected).then_some(x),
        (_, &[x, ..]) => update_row(op, ty, old, x),
        _ => None,
    }
}

macro_rules! update_rows {
    ([] $($v:ident $mnemonic:literal $shape:ident $class:ident $doc:literal, $sem:expr;)*) => {
        fn update_row(op: Opcode, ty: Type, old: u128, x: u128) -> Option<u128> {
            match op {
                $(Opcode::$v => update_rows!(@ $shape, $sem, ty, old, x),)*
            }
        }
    };
    (@ AtomicRmw, $f:expr, $ty:ident, $old:ident, $x:ident) => {
        by_int!($ty, T => Some(f2::<T, T, T>($f, T::wrap($old), T::wrap($x)).zext()))
    };
    (@ $other:ident, $f:expr, $ty:ident, $old:ident, $x:ident) => { None };
}
crate::for_each_opcode!(update_rows);
