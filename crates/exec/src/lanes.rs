//! The lane loops: what a lane-wise instruction does to 32 lanes at once.
//!
//! One `match` over `(opcode, type)` in one number, made from the rows of
//! [`for_each_opcode!`](warpfold_ir::for_each_opcode). A row's shape picks the
//! loop of [`loops`](crate::loops), its closure says what one lane does; the
//! loop's signature gives the closure its type. Rows whose semantics is `()` are
//! not lane-wise functions and are [`Step::Special`]: the warp executes them.

use warpfold_ir::lane::{Float, Int};
use warpfold_ir::{Opcode, Type};

use crate::loops::{
    Step, convert, fcmp, float1, float2, float3, from_pred, icmp, map1, map2, pred1, pred2, select,
    shift, to_float, to_int_sat, try_to_int, try2,
};
use crate::program::Op;
use crate::registers::{On, Registers};

/// Numbers that an opcode takes, one for each type.
pub(crate) const TYPES: u16 = Type::ALL.len() as u16;

/// Opcode and type as one number.
pub(crate) const fn code(op: Opcode, ty: Type) -> u16 {
    op as u16 * TYPES + ty as u16
}

/// The numbers as constants, for patterns: `codes::Iadd::I32`.
#[allow(non_snake_case)]
mod codes {
    macro_rules! define {
        ([] $($v:ident $mnemonic:literal $shape:ident $class:ident $doc:literal, $sem:expr;)*) => {$(
            pub(super) mod $v {
                use super::super::{Opcode, Type, code};
                pub(in super::super) const I8: u16 = code(Opcode::$v, Type::I8);
                pub(in super::super) const I16: u16 = code(Opcode::$v, Type::I16);
                pub(in super::super) const I32: u16 = code(Opcode::$v, Type::I32);
                pub(in super::super) const I64: u16 = code(Opcode::$v, Type::I64);
                pub(in super::super) const I128: u16 = code(Opcode::$v, Type::I128);
                pub(in super::super) const F16: u16 = code(Opcode::$v, Type::F16);
                pub(in super::super) const F32: u16 = code(Opcode::$v, Type::F32);
                pub(in super::super) const F64: u16 = code(Opcode::$v, Type::F64);
                pub(in super::super) const PRED: u16 = code(Opcode::$v, Type::Pred);
            }
        )*};
    }
    warpfold_ir::for_each_opcode!(define);
}

/// `$body` with `$T` the integer of the type, else special.
macro_rules! int {
    (I8, $T:ident => $body:expr) => {{
        type $T = u8;
        $body
    }};
    (I16, $T:ident => $body:expr) => {{
        type $T = u16;
        $body
    }};
    (I32, $T:ident => $body:expr) => {{
        type $T = u32;
        $body
    }};
    (I64, $T:ident => $body:expr) => {{
        type $T = u64;
        $body
    }};
    (I128, $T:ident => $body:expr) => {{
        type $T = u128;
        $body
    }};
    ($other:ident, $T:ident => $body:expr) => {
        Step::Special
    };
}

/// `$body` with `$T` the float of the type, else special.
macro_rules! flt {
    (F16, $T:ident => $body:expr) => {{
        type $T = warpfold_ir::lane::f16;
        $body
    }};
    (F32, $T:ident => $body:expr) => {{
        type $T = f32;
        $body
    }};
    (F64, $T:ident => $body:expr) => {{
        type $T = f64;
        $body
    }};
    ($other:ident, $T:ident => $body:expr) => {
        Step::Special
    };
}

/// `$body` with `$T` the number that holds the type's bits.
macro_rules! any {
    (F16, $T:ident => $body:expr, $pred:expr) => {{ type $T = u16; $body }};
    (F32, $T:ident => $body:expr, $pred:expr) => {{ type $T = u32; $body }};
    (F64, $T:ident => $body:expr, $pred:expr) => {{ type $T = u64; $body }};
    (PRED, $T:ident => $body:expr, $pred:expr) => { $pred };
    ($ty:ident, $T:ident => $body:expr, $pred:expr) => { int!($ty, $T => $body) };
}

/// `$body` with `$S` the integer of the operand's type in `op.c`.
macro_rules! from_int {
    ($op:ident, $S:ident => $body:expr) => {
        match Type::ALL[usize::from($op.c)] {
            Type::I8 => {
                type $S = u8;
                $body
            }
            Type::I16 => {
                type $S = u16;
                $body
            }
            Type::I32 => {
                type $S = u32;
                $body
            }
            Type::I64 => {
                type $S = u64;
                $body
            }
            _ => {
                type $S = u128;
                $body
            }
        }
    };
}

/// `$body` with `$S` the float of the operand's type in `op.c`.
macro_rules! from_float {
    ($op:ident, $S:ident => $body:expr) => {
        match Type::ALL[usize::from($op.c)] {
            Type::F16 => {
                type $S = warpfold_ir::lane::f16;
                $body
            }
            Type::F32 => {
                type $S = f32;
                $body
            }
            _ => {
                type $S = f64;
                $body
            }
        }
    };
}

macro_rules! pred_only {
    (PRED, $body:expr) => {
        $body
    };
    ($other:ident, $body:expr) => {
        Step::Special
    };
}

macro_rules! done {
    ($e:expr) => {{
        $e;
        Step::Done
    }};
}

macro_rules! row {
    (@ Copy, $f:expr, $ty:ident, $r:ident, $op:ident, $on:ident) => {
        any!($ty, T => done!(map1::<T, T>($r, $op, $on, |a| a)), done!(pred1($r, $op, $on, |a| a)))
    };
    (@ Bitcast, $f:expr, $ty:ident, $r:ident, $op:ident, $on:ident) => {
        any!($ty, T => done!(map1::<T, T>($r, $op, $on, |a| a)), Step::Special)
    };
    (@ Int1, $f:expr, $ty:ident, $r:ident, $op:ident, $on:ident) => {
        int!($ty, T => done!(map1::<T, T>($r, $op, $on, $f)))
    };
    (@ Int2, $f:expr, $ty:ident, $r:ident, $op:ident, $on:ident) => {
        int!($ty, T => done!(map2::<T>($r, $op, $on, $f)))
    };
    (@ Shift, $f:expr, $ty:ident, $r:ident, $op:ident, $on:ident) => {
        int!($ty, T => done!(shift::<T>($r, $op, $on, $f)))
    };
    (@ IntDiv, $f:expr, $ty:ident, $r:ident, $op:ident, $on:ident) => {
        int!($ty, T => try2::<T>($r, $op, $on, $f))
    };
    (@ Extend, $f:expr, $ty:ident, $r:ident, $op:ident, $on:ident) => {
        int!($ty, T => from_int!($op, S => done!(map1::<S, T>($r, $op, $on, $f))))
    };
    (@ Reduce, $f:expr, $ty:ident, $r:ident, $op:ident, $on:ident) => {
        int!($ty, T => from_int!($op, S => done!(map1::<S, T>($r, $op, $on, $f))))
    };
    (@ PredToInt, $f:expr, $ty:ident, $r:ident, $op:ident, $on:ident) => {
        int!($ty, T => done!(from_pred::<T>($r, $op, $on)))
    };
    (@ Select, $f:expr, $ty:ident, $r:ident, $op:ident, $on:ident) => {
        any!($ty, T => done!(select::<T>($r, $op, $on)), {
            let c = $r.pred[usize::from($op.a)];
            let (a, b) = ($r.pred[usize::from($op.b)], $r.pred[usize::from($op.c)]);
            done!($r.put_pred($op.dst, (c & a) | (!c & b), $on.mask))
        })
    };
    (@ Float1, $f:expr, $ty:ident, $r:ident, $op:ident, $on:ident) => {
        flt!($ty, F => done!(float1::<F>($r, $op, $on, $f)))
    };
    (@ Float2, $f:expr, $ty:ident, $r:ident, $op:ident, $on:ident) => {
        flt!($ty, F => done!(float2::<F>($r, $op, $on, $f)))
    };
    (@ Float3, $f:expr, $ty:ident, $r:ident, $op:ident, $on:ident) => {
        flt!($ty, F => done!(float3::<F>($r, $op, $on, $f)))
    };
    (@ Promote, $f:expr, $ty:ident, $r:ident, $op:ident, $on:ident) => {
        flt!($ty, F => from_float!($op, S => done!(convert::<S, F>($r, $op, $on, $f))))
    };
    (@ Demote, $f:expr, $ty:ident, $r:ident, $op:ident, $on:ident) => {
        flt!($ty, F => from_float!($op, S => done!(convert::<S, F>($r, $op, $on, $f))))
    };
    (@ IntToFloat, $f:expr, $ty:ident, $r:ident, $op:ident, $on:ident) => {
        flt!($ty, F => from_int!($op, S => done!(to_float::<S, F>($r, $op, $on, $f))))
    };
    (@ FloatToInt, $f:expr, $ty:ident, $r:ident, $op:ident, $on:ident) => {
        int!($ty, T => from_float!($op, S => try_to_int::<S, T>($r, $op, $on, $f)))
    };
    (@ FloatToIntSat, $f:expr, $ty:ident, $r:ident, $op:ident, $on:ident) => {
        int!($ty, T => from_float!($op, S => done!(to_int_sat::<S, T>($r, $op, $on, $f))))
    };
    (@ Icmp, $f:expr, $ty:ident, $r:ident, $op:ident, $on:ident) => {
        int!($ty, T => done!(icmp::<T>($r, $op, $on, $f)))
    };
    (@ Fcmp, $f:expr, $ty:ident, $r:ident, $op:ident, $on:ident) => {
        flt!($ty, F => done!(fcmp::<F>($r, $op, $on, $f)))
    };
    (@ Pred1, $f:expr, $ty:ident, $r:ident, $op:ident, $on:ident) => {
        pred_only!($ty, done!(pred1($r, $op, $on, $f)))
    };
    (@ Pred2, $f:expr, $ty:ident, $r:ident, $op:ident, $on:ident) => {
        pred_only!($ty, done!(pred2($r, $op, $on, $f)))
    };
    (@ $other:ident, $f:expr, $ty:ident, $r:ident, $op:ident, $on:ident) => { Step::Special };
}

macro_rules! define_execute {
    ([] $($v:ident $mnemonic:literal $shape:ident $class:ident $doc:literal, $sem:expr;)*) => {
        /// Executes a lane-wise instruction in the lanes that are on.
        #[inline(always)]
        pub(crate) fn execute(r: &mut Registers, op: &Op, on: On) -> Step {
            match op.code {
                $(
                    codes::$v::I8 => row!(@ $shape, $sem, I8, r, op, on),
                    codes::$v::I16 => row!(@ $shape, $sem, I16, r, op, on),
                    codes::$v::I32 => row!(@ $shape, $sem, I32, r, op, on),
                    codes::$v::I64 => row!(@ $shape, $sem, I64, r, op, on),
                    codes::$v::I128 => row!(@ $shape, $sem, I128, r, op, on),
                    codes::$v::F16 => row!(@ $shape, $sem, F16, r, op, on),
                    codes::$v::F32 => row!(@ $shape, $sem, F32, r, op, on),
                    codes::$v::F64 => row!(@ $shape, $sem, F64, r, op, on),
                    codes::$v::PRED => row!(@ $shape, $sem, PRED, r, op, on),
                )*
                _ => Step::Special,
            }
        }
    };
}
warpfold_ir::for_each_opcode!(define_execute);
