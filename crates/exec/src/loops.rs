//! Loops over the 32 lanes, one for each form of instruction.
//!
//! They are generic over the lane's number and over what one lane does; each
//! instance is a function of its own, small enough to vectorise. They write to a
//! local array first and put it into the register by mask afterwards: a loop
//! that wrote to the register it reads, under a mask, would become scalar. What
//! may trap goes lane by lane, and only where on.

use warpfold_ir::lane::{Float, Int, f16};
use warpfold_ir::{FloatCC, IntCC, TrapCode, Type};

use crate::program::Op;
use crate::registers::{LANES, Lane, On, Registers, lanes_of, put, spread};

/// What became of an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// Done.
    Done,
    /// These lanes trapped, by `Registers::fault`; the others are done.
    Fault(u32),
    /// No lane-wise instruction: nothing done yet.
    Special,
}

/// A float lane and the integer that holds its bits.
pub(crate) trait FloatLane: Float {
    type Bits: Lane;
}
impl FloatLane for f16 {
    type Bits = u16;
}
impl FloatLane for f32 {
    type Bits = u32;
}
impl FloatLane for f64 {
    type Bits = u64;
}

#[inline(always)]
pub(crate) fn float<F: FloatLane>(bits: F::Bits) -> F {
    F::from_bits128(bits.zext())
}

#[inline(always)]
pub(crate) fn bits<F: FloatLane>(x: F) -> F::Bits {
    <F::Bits as Int>::wrap(x.to_bits128())
}

/// Eight truth values of one byte each, 0 or 1, to eight bits.
#[inline(always)]
pub(crate) fn pack8(bytes: [u8; 8]) -> u32 {
    (u64::from_le_bytes(bytes).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32
}

/// 32 truth values of one byte each to a mask. Shifting bits in one by one
/// would keep the loop before it from vectorising.
#[inline(always)]
pub(crate) fn pack(bools: [u8; LANES]) -> u32 {
    let mut mask = 0;
    for (i, chunk) in bools.as_chunks::<8>().0.iter().enumerate() {
        mask |= pack8(*chunk) << (8 * i);
    }
    mask
}

#[inline(never)]
pub(crate) fn map1<S: Lane, T: Lane>(r: &mut Registers, op: &Op, on: On, f: impl Fn(S) -> T) {
    let a = S::file(r)[usize::from(op.a)].0;
    let mut out = [T::default(); LANES];
    for i in 0..LANES {
        out[i] = f(a[i]);
    }
    put(&mut T::file_mut(r)[usize::from(op.dst)], out, on);
}

#[inline(never)]
pub(crate) fn map2<T: Lane>(r: &mut Registers, op: &Op, on: On, f: impl Fn(T, T) -> T) {
    let file = T::file_mut(r);
    let (a, b) = (&file[usize::from(op.a)].0, &file[usize::from(op.b)].0);
    let mut out = [T::default(); LANES];
    for i in 0..LANES {
        out[i] = f(a[i], b[i]);
    }
    put(&mut file[usize::from(op.dst)], out, on);
}

#[inline(never)]
pub(crate) fn map3<T: Lane>(r: &mut Registers, op: &Op, on: On, f: impl Fn(T, T, T) -> T) {
    let file = T::file_mut(r);
    let (a, b, c) = (
        &file[usize::from(op.a)].0,
        &file[usize::from(op.b)].0,
        &file[usize::from(op.c)].0,
    );
    let mut out = [T::default(); LANES];
    for i in 0..LANES {
        out[i] = f(a[i], b[i], c[i]);
    }
    put(&mut file[usize::from(op.dst)], out, on);
}

/// Shift amounts, modulo the width of what is shifted. `op.c` is their type.
#[inline(never)]
pub(crate) fn amounts(r: &Registers, op: &Op, width: u32) -> [u32; LANES] {
    let mut out = [0; LANES];
    let reg = usize::from(op.b);
    macro_rules! fill {
        ($t:ty) => {
            for (n, &x) in out.iter_mut().zip(&<$t as Lane>::file(r)[reg].0) {
                *n = x as u32 & (width - 1);
            }
        };
    }
    match Type::ALL[usize::from(op.c)] {
        Type::I8 => fill!(u8),
        Type::I16 => fill!(u16),
        Type::I64 => fill!(u64),
        Type::I128 => fill!(u128),
        _ => fill!(u32),
    }
    out
}

#[inline(never)]
pub(crate) fn shift<T: Lane>(r: &mut Registers, op: &Op, on: On, f: impl Fn(T, u32) -> T) {
    let n = amounts(r, op, T::BITS);
    let file = T::file_mut(r);
    let a = &file[usize::from(op.a)].0;
    let mut out = [T::default(); LANES];
    for i in 0..LANES {
        out[i] = f(a[i], n[i]);
    }
    put(&mut file[usize::from(op.dst)], out, on);
}

/// Lane by lane, only where on: these may trap, and are slow anyway.
#[inline(never)]
pub(crate) fn try2<T: Lane>(
    r: &mut Registers,
    op: &Op,
    on: On,
    f: impl Fn(T, T) -> Result<T, TrapCode>,
) -> Step {
    let file = T::file_mut(r);
    let (a, b) = (file[usize::from(op.a)].0, file[usize::from(op.b)].0);
    let dst = &mut file[usize::from(op.dst)].0;
    let mut faults = 0;
    let mut codes = [TrapCode::IntegerOverflow; LANES];
    for i in lanes_of(on.mask) {
        match f(a[i], b[i]) {
            Ok(x) => dst[i] = x,
            Err(code) => {
                faults |= 1 << i;
                codes[i] = code;
            }
        }
    }
    report(r, faults, codes)
}

#[inline(never)]
pub(crate) fn try_to_int<F: FloatLane, T: Lane>(
    r: &mut Registers,
    op: &Op,
    on: On,
    f: impl Fn(F, u32) -> Result<u128, TrapCode>,
) -> Step {
    let a = <F::Bits as Lane>::file(r)[usize::from(op.a)].0;
    let dst = &mut T::file_mut(r)[usize::from(op.dst)].0;
    let mut faults = 0;
    let mut codes = [TrapCode::IntegerOverflow; LANES];
    for i in lanes_of(on.mask) {
        match f(float::<F>(a[i]), T::BITS) {
            Ok(x) => dst[i] = T::wrap(x),
            Err(code) => {
                faults |= 1 << i;
                codes[i] = code;
            }
        }
    }
    report(r, faults, codes)
}

#[inline(always)]
pub(crate) fn report(r: &mut Registers, faults: u32, codes: [TrapCode; LANES]) -> Step {
    if faults == 0 {
        return Step::Done;
    }
    r.fault = codes;
    Step::Fault(faults)
}

#[inline(never)]
pub(crate) fn compare<T: Lane>(r: &mut Registers, op: &Op, on: On, f: impl Fn(T, T) -> bool) {
    let file = T::file(r);
    let (a, b) = (&file[usize::from(op.a)].0, &file[usize::from(op.b)].0);
    let mut out = [0u8; LANES];
    for i in 0..LANES {
        out[i] = u8::from(f(a[i], b[i]));
    }
    r.put_pred(op.dst, pack(out), on.mask);
}

pub(crate) fn icmp<T: Lane>(
    r: &mut Registers,
    op: &Op,
    on: On,
    f: impl Fn(IntCC, T, T) -> bool + Copy,
) {
    macro_rules! each {
        ($($cc:ident)*) => {
            match IntCC::ALL[usize::from(op.c)] {
                $(IntCC::$cc => compare::<T>(r, op, on, move |a, b| f(IntCC::$cc, a, b)),)*
            }
        };
    }
    each!(Eq Ne Slt Sge Sgt Sle Ult Uge Ugt Ule);
}

pub(crate) fn fcmp<F: FloatLane>(
    r: &mut Registers,
    op: &Op,
    on: On,
    f: impl Fn(FloatCC, F, F) -> bool + Copy,
) {
    macro_rules! each {
        ($($cc:ident)*) => {
            match FloatCC::ALL[usize::from(op.c)] {
                $(FloatCC::$cc => compare::<F::Bits>(
                    r, op, on, move |a, b| f(FloatCC::$cc, float(a), float(b))),)*
            }
        };
    }
    each!(Ord Uno Eq Ne One Ueq Lt Le Gt Ge Ult Ule Ugt Uge);
}

#[inline(never)]
pub(crate) fn select<T: Lane>(r: &mut Registers, op: &Op, on: On) {
    let cond = r.pred[usize::from(op.a)];
    let file = T::file_mut(r);
    let (a, b) = (&file[usize::from(op.b)].0, &file[usize::from(op.c)].0);
    let m = spread::<T>(cond);
    let mut out = [T::default(); LANES];
    for i in 0..LANES {
        out[i] = T::choose(m[i], a[i], b[i]);
    }
    put(&mut file[usize::from(op.dst)], out, on);
}

#[inline(never)]
pub(crate) fn from_pred<T: Lane>(r: &mut Registers, op: &Op, on: On) {
    let p = r.pred[usize::from(op.a)];
    let mut out = [T::default(); LANES];
    for (i, x) in out.iter_mut().enumerate() {
        *x = T::wrap(u128::from(p >> i & 1));
    }
    put(&mut T::file_mut(r)[usize::from(op.dst)], out, on);
}

pub(crate) fn pred1(r: &mut Registers, op: &Op, on: On, f: impl Fn(u32) -> u32) {
    let x = f(r.pred[usize::from(op.a)]);
    r.put_pred(op.dst, x, on.mask);
}

pub(crate) fn pred2(r: &mut Registers, op: &Op, on: On, f: impl Fn(u32, u32) -> u32) {
    let x = f(r.pred[usize::from(op.a)], r.pred[usize::from(op.b)]);
    r.put_pred(op.dst, x, on.mask);
}

// These fix the closure's types before its body is checked, and turn a
// function on floats into one on their bits.
pub(crate) fn float1<F: FloatLane>(r: &mut Registers, op: &Op, on: On, f: impl Fn(F) -> F) {
    map1::<F::Bits, F::Bits>(r, op, on, |a| bits(f(float(a))));
}
pub(crate) fn float2<F: FloatLane>(r: &mut Registers, op: &Op, on: On, f: impl Fn(F, F) -> F) {
    map2::<F::Bits>(r, op, on, |a, b| bits(f(float(a), float(b))));
}
pub(crate) fn float3<F: FloatLane>(r: &mut Registers, op: &Op, on: On, f: impl Fn(F, F, F) -> F) {
    map3::<F::Bits>(r, op, on, |a, b, c| bits(f(float(a), float(b), float(c))));
}
pub(crate) fn convert<S: FloatLane, F: FloatLane>(
    r: &mut Registers,
    op: &Op,
    on: On,
    f: impl Fn(S) -> F,
) {
    map1::<S::Bits, F::Bits>(r, op, on, |a| bits(f(float(a))));
}
pub(crate) fn to_float<S: Lane, F: FloatLane>(
    r: &mut Registers,
    op: &Op,
    on: On,
    f: impl Fn(S) -> F,
) {
    map1::<S, F::Bits>(r, op, on, |a| bits(f(a)));
}
pub(crate) fn to_int_sat<S: FloatLane, T: Lane>(
    r: &mut Registers,
    op: &Op,
    on: On,
    f: impl Fn(S, u32) -> u128,
) {
    map1::<S::Bits, T>(r, op, on, |a| T::wrap(f(float(a), T::BITS)));
}
