//! What an instruction's result looks like, given its operands.
//!
//! The rules are pure functions of the operands' [`Shape`]s. Which rule an
//! instruction takes is decided by its [form](warpfold_ir::Shape), exhaustively:
//! a new form without a rule does not compile. Within a lane-wise form an
//! opcode of which nothing more is said gets the rule that holds for *any*
//! function of one lane's operands: uniform if they all are. So a new row of
//! the opcode table is sound at once and made precise here.
//!
//! Guards are not seen here; see the [solver](super::solve).

use warpfold_ir::eval::eval;
use warpfold_ir::{Imm, InstData, MemFlags, Opcode, Shape as Form, Type};

use super::bits::{KnownBits, Tracked, low_mask};
use super::compare;
use super::domain::{Scope, Shape};
use super::launch::LaunchShape;

/// What a rule may need beside the operands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Env<'a> {
    pub launch: &'a LaunchShape,
    /// Of a load: whether its address may lie in local memory.
    pub local: bool,
}

/// The shape of the result of `inst`, guard apart, over the lanes that execute
/// it; `None` if it has no result.
pub(crate) fn transfer(
    inst: &InstData,
    types: &[Type],
    args: &[Shape],
    env: Env<'_>,
) -> Option<Shape> {
    let ty = inst.result_type()?;
    Some(match inst.op.shape() {
        Form::Const => match inst.imm {
            Imm::Bits(bits) => Shape::constant(ty, bits),
            _ => Shape::varying(ty),
        },
        // Address layout is the launch's, and one address stands for every
        // lane's own slot; poison is no lane's business.
        Form::Poison | Form::StackAddr | Form::SharedBase => Shape::uniform(ty, Scope::Grid),
        Form::Copy => args[0],
        Form::Int1
        | Form::Int2
        | Form::Shift
        | Form::IntDiv
        | Form::Extend
        | Form::Reduce
        | Form::PredToInt
        | Form::Bitcast
        | Form::Select
        | Form::Float1
        | Form::Float2
        | Form::Float3
        | Form::FloatToFloat
        | Form::IntToFloat
        | Form::FloatToInt
        | Form::FloatToIntSat
        | Form::Icmp
        | Form::Fcmp
        | Form::Pred1
        | Form::Pred2 => fold(inst, ty, types, args).unwrap_or_else(|| lane_wise(inst, ty, args)),
        Form::Id => env.launch.id(inst.op),
        Form::Load => load(inst, ty, args[0], env.local),
        Form::Ballot => match args[0].as_constant() {
            Some(0) => Shape::constant(ty, 0),
            _ => Shape::uniform(ty, Scope::Warp),
        },
        Form::ActiveMask => Shape::uniform(ty, Scope::Warp),
        Form::Vote | Form::ReadFirst if args[0].is_uniform() => args[0],
        Form::Vote | Form::ReadFirst => Shape::known_uniform(ty, Scope::Warp, args[0].bits()),
        // A lane gets its own number or that of another lane that executes
        // this. Which one is not followed.
        Form::Shuffle if args[0].is_uniform() => args[0],
        Form::Shuffle => Shape::tracked(ty, args[0].base_scope(), args[0].tracked_bits()),
        Form::Store | Form::Sync | Form::Exit | Form::TrapIf => return None,
    })
}

/// The value of a lane-wise instruction on constants. A NaN is left alone:
/// its payload is not the language's to promise.
fn fold(inst: &InstData, ty: Type, types: &[Type], args: &[Shape]) -> Option<Shape> {
    let mut numbers = [0u128; 3];
    for (number, arg) in numbers.iter_mut().zip(args) {
        *number = u128::from(arg.as_constant()?);
    }
    let bits = eval(inst, types, &numbers[..args.len()])?.ok()?;
    let nan = match ty {
        Type::F32 => f32::from_bits(bits as u32).is_nan(),
        Type::F64 => f64::from_bits(bits as u64).is_nan(),
        _ => false,
    };
    (!nan).then(|| Shape::constant(ty, bits))
}

fn lane_wise(inst: &InstData, ty: Type, args: &[Shape]) -> Shape {
    let same = args.len() == 2 && inst.args[0] == inst.args[1];
    match inst.op {
        Opcode::Isub | Opcode::Bxor | Opcode::BandNot | Opcode::Xor | Opcode::Andn if same => {
            Shape::constant(ty, 0)
        }
        Opcode::Iadd => add(ty, args[0], args[1]),
        Opcode::Isub => sub(ty, args[0], args[1]),
        Opcode::Imul => mul(ty, args[0], args[1]),
        Opcode::Ineg => sub(ty, Shape::constant(ty, 0), args[0]),
        Opcode::Iabs => {
            let sign = sign_bit(&args[0]);
            if args[0].bits().zero & sign != 0 {
                args[0]
            } else if args[0].bits().one & sign != 0 {
                sub(ty, Shape::constant(ty, 0), args[0])
            } else {
                opaque(ty, args)
            }
        }
        Opcode::Band | Opcode::And => and(ty, args[0], args[1]),
        Opcode::Bor | Opcode::Or => or(ty, args[0], args[1]),
        Opcode::Bxor | Opcode::Xor => xor(ty, args[0], args[1]),
        Opcode::BandNot | Opcode::Andn => and(ty, args[0], not(ty, args[1])),
        Opcode::BorNot => or(ty, args[0], not(ty, args[1])),
        Opcode::BxorNot => xor(ty, args[0], not(ty, args[1])),
        Opcode::Bnot | Opcode::Not => not(ty, args[0]),
        Opcode::Umin => choose(inst, warpfold_ir::IntCC::Ult, ty, args),
        Opcode::Umax => choose(inst, warpfold_ir::IntCC::Ugt, ty, args),
        Opcode::Smin => choose(inst, warpfold_ir::IntCC::Slt, ty, args),
        Opcode::Smax => choose(inst, warpfold_ir::IntCC::Sgt, ty, args),
        Opcode::Ishl | Opcode::Ushr | Opcode::Sshr | Opcode::Rotl | Opcode::Rotr => {
            match shift_amount(args[0], args[1]) {
                Some(n) => shift(inst.op, ty, args[0], n),
                None => opaque(ty, args),
            }
        }
        Opcode::Clz | Opcode::Ctz | Opcode::Cls | Opcode::Popcnt => {
            let bits = 32 - ty.bits().leading_zeros();
            opaque(ty, args).refined(zero_above(bits))
        }
        Opcode::Bitrev => permuted(ty, args[0], |x| x.reverse_bits() >> (64 - ty.bits().min(64))),
        Opcode::Bswap => permuted(ty, args[0], |x| x.swap_bytes() >> (64 - ty.bits().min(64))),
        Opcode::Udiv | Opcode::Urem => unsigned_division(inst.op, ty, args),
        // A signed quotient is a shift only where no operand is negative.
        Opcode::Sdiv | Opcode::Srem => {
            let sign = sign_bit(&args[0]);
            if args[0].bits().zero & args[1].bits().zero & sign != 0 {
                let op = match inst.op {
                    Opcode::Sdiv => Opcode::Udiv,
                    _ => Opcode::Urem,
                };
                unsigned_division(op, ty, args)
            } else {
                opaque(ty, args)
            }
        }
        Opcode::Uextend | Opcode::Bint => extend(ty, args[0], false),
        Opcode::Sextend => extend(ty, args[0], true),
        Opcode::Ireduce if args[0].width() > 64 => opaque(ty, args),
        Opcode::Ireduce => match args[0].stride() {
            Some(s) => Shape::affine(ty, args[0].base_scope(), s, args[0].base())
                .with_row(args[0].is_row())
                .refined(args[0].tracked_bits()),
            None => Shape::tracked(ty, args[0].base_scope(), args[0].tracked_bits()),
        },
        // The type's meaning changes, its bits do not.
        Opcode::Bitcast => permuted(ty, args[0], |x| x),
        Opcode::Select if inst.args[1] == inst.args[2] => args[1],
        Opcode::Select => select(args[0], args[1], args[2]),
        Opcode::Fneg => xor(ty, args[0], Shape::constant(ty, 1 << (ty.bits() - 1))),
        Opcode::Fabs => and(ty, args[0], Shape::constant(ty, ty.mask() >> 1)),
        Opcode::Icmp => match inst.imm {
            Imm::Icc(cc) => compare::icmp(cc, inst.args[0] == inst.args[1], args[0], args[1]),
            _ => opaque(ty, args),
        },
        _ => opaque(ty, args),
    }
}

/// Any function of the lane's operands.
fn opaque(ty: Type, args: &[Shape]) -> Shape {
    if args.iter().all(Shape::is_uniform) {
        let scope = args.iter().map(Shape::base_scope).max();
        Shape::uniform(ty, scope.unwrap_or(Scope::Const))
    } else {
        Shape::varying(ty)
    }
}

fn common(a: &Shape, b: &Shape) -> Scope {
    a.base_scope().max(b.base_scope())
}

fn sign_bit(a: &Shape) -> u64 {
    a.mask() & !(a.mask() >> 1)
}

/// Zeros from bit `n` up.
fn zero_above(n: u32) -> Tracked {
    Tracked::of(KnownBits::constant(0, !low_mask(n)))
}

/// Whether a sum or difference of the two goes on along a row of threads.
fn rows(a: &Shape, b: &Shape) -> bool {
    let fits = |x: &Shape| x.is_row() || (x.is_uniform() && x.base_scope() <= Scope::Block);
    fits(a) && fits(b)
}

pub(super) fn add(ty: Type, a: Shape, b: Shape) -> Shape {
    let mask = a.mask();
    let t = a.tracked_bits().add(b.tracked_bits(), false, mask);
    match (a.stride(), b.stride()) {
        (Some(x), Some(y)) => {
            let base = a.base().add(b.base(), mask);
            Shape::affine(ty, common(&a, &b), x.wrapping_add(y), base)
                .with_row(rows(&a, &b))
                .refined(t)
        }
        _ => Shape::tracked(ty, common(&a, &b), t),
    }
}

pub(super) fn sub(ty: Type, a: Shape, b: Shape) -> Shape {
    let mask = a.mask();
    let t = a.tracked_bits().add(b.tracked_bits().not(), true, mask);
    match (a.stride(), b.stride()) {
        (Some(x), Some(y)) => {
            let base = a.base().sub(b.base(), mask);
            Shape::affine(ty, common(&a, &b), x.wrapping_sub(y), base)
                .with_row(rows(&a, &b))
                .refined(t)
        }
        _ => Shape::tracked(ty, common(&a, &b), t),
    }
}

/// `a` times a constant.
pub(super) fn scale(ty: Type, a: Shape, factor: u64) -> Shape {
    let mask = a.mask();
    let factor_bits = KnownBits::constant(factor, mask);
    let bits = Tracked {
        bits: a.bits().mul(factor_bits, mask),
        // Low bits of a product depend on the operands' low bits only.
        uniform: low_mask(a.uniform_bits().trailing_ones() + factor.trailing_zeros().min(63)),
    };
    match a.stride() {
        Some(s) => {
            let base = a.base().mul(factor_bits, mask);
            Shape::affine(ty, a.base_scope(), s.wrapping_mul(factor), base)
                .with_row(a.is_row())
                .refined(bits)
        }
        None => Shape::tracked(ty, a.base_scope(), bits),
    }
}

fn mul(ty: Type, a: Shape, b: Shape) -> Shape {
    if let Some(factor) = b.as_constant() {
        return scale(ty, a, factor);
    }
    if let Some(factor) = a.as_constant() {
        return scale(ty, b, factor);
    }
    let mask = a.mask();
    let bits = a.bits().mul(b.bits(), mask);
    if a.is_uniform() && b.is_uniform() {
        return Shape::known_uniform(ty, common(&a, &b), bits);
    }
    let low = (a.uniform_bits() & b.uniform_bits()).trailing_ones();
    let t = Tracked {
        bits,
        uniform: low_mask(low),
    };
    Shape::tracked(ty, common(&a, &b), t)
}

fn not(ty: Type, a: Shape) -> Shape {
    match a.stride() {
        // Two's complement: `!a` is `-a - 1`.
        Some(s) => Shape::affine(ty, a.base_scope(), s.wrapping_neg(), a.base().not())
            .with_row(a.is_row())
            .refined(a.tracked_bits().not()),
        None => Shape::tracked(ty, a.base_scope(), a.tracked_bits().not()),
    }
}

/// A bitwise operation whose known and uniform bits are in `t`, on a uniform
/// operand that lets the bits under `through` of the other pass. If these
/// cover the window of an affine operand, the lanes' offsets pass unchanged.
fn bitwise(
    ty: Type,
    a: Shape,
    b: Shape,
    t: Tracked,
    through: impl Fn(KnownBits) -> u64,
    f: impl Fn(KnownBits, KnownBits) -> KnownBits,
) -> Shape {
    let scope = common(&a, &b);
    if a.is_uniform() && b.is_uniform() {
        return Shape::known_uniform(ty, scope, f(a.base(), b.base())).refined(t);
    }
    for (x, u) in [(a, b), (b, a)] {
        if let (Some(s), Some((window, ..)), true) = (x.stride(), x.window(), u.is_uniform()) {
            if !through(u.bits()) & low_mask(window) == 0 {
                return Shape::affine(ty, scope, s, f(x.base(), u.base())).refined(t);
            }
        }
    }
    Shape::tracked(ty, scope, t)
}

fn and(ty: Type, a: Shape, b: Shape) -> Shape {
    let mask = a.mask();
    let (p, q) = (a.bits(), b.bits());
    for (x, u) in [(a, b), (b, a)] {
        if mask != 0 && x.bits().zero | u.bits().one == mask {
            return x;
        }
    }
    let t = Tracked {
        bits: p.and(q),
        uniform: (a.uniform_bits() & b.uniform_bits()) | p.zero | q.zero,
    };
    bitwise(ty, a, b, t, |u| u.one, KnownBits::and)
}

fn or(ty: Type, a: Shape, b: Shape) -> Shape {
    let mask = a.mask();
    let (p, q) = (a.bits(), b.bits());
    for (x, u) in [(a, b), (b, a)] {
        if mask != 0 && x.bits().one | u.bits().zero == mask {
            return x;
        }
    }
    if mask != 0 && p.zero | q.zero == mask {
        return add(ty, a, b);
    }
    let t = Tracked {
        bits: p.or(q),
        uniform: (a.uniform_bits() & b.uniform_bits()) | p.one | q.one,
    };
    bitwise(ty, a, b, t, |u| u.zero, KnownBits::or)
}

fn xor(ty: Type, a: Shape, b: Shape) -> Shape {
    let mask = a.mask();
    let (p, q) = (a.bits(), b.bits());
    if mask != 0 {
        for (x, u) in [(a, b), (b, a)] {
            match u.as_constant() {
                Some(0) => return x,
                Some(all) if all == mask => return not(ty, x),
                _ => {}
            }
        }
        if p.zero | q.zero == mask {
            return add(ty, a, b);
        }
    }
    let t = Tracked {
        bits: p.xor(q),
        uniform: a.uniform_bits() & b.uniform_bits(),
    };
    bitwise(ty, a, b, t, |u| u.zero, KnownBits::xor)
}

/// The amount of a shift, modulo the width, if every lane's is known.
fn shift_amount(a: Shape, amount: Shape) -> Option<u32> {
    let low = u64::from(a.width() - 1);
    let known = amount.mask() & low & !amount.bits().known() == 0 && amount.width() <= 64;
    (a.width() <= 64 && known).then_some((amount.bits().one & low) as u32)
}

fn shift(op: Opcode, ty: Type, a: Shape, n: u32) -> Shape {
    let mask = a.mask();
    let scope = a.base_scope();
    let uniform = a.uniform_bits();
    let top = mask & !(mask >> n);
    match op {
        Opcode::Ishl => {
            let t = Tracked {
                bits: a.bits().shl(n, mask),
                uniform: (uniform << n) | low_mask(n),
            };
            match a.stride() {
                Some(s) => Shape::affine(ty, scope, s << n, a.base().shl(n, mask))
                    .with_row(a.is_row())
                    .refined(t),
                None => Shape::tracked(ty, scope, t),
            }
        }
        Opcode::Ushr | Opcode::Sshr => {
            let signed = op == Opcode::Sshr;
            let right = |k: KnownBits| match signed {
                true => k.ashr(n, mask),
                false => k.lshr(n, mask),
            };
            let filled = !signed || uniform & sign_bit(&a) != 0;
            let t = Tracked {
                bits: right(a.bits()),
                uniform: if filled { (uniform >> n) | top } else { uniform >> n },
            };
            if a.is_uniform() {
                return Shape::known_uniform(ty, scope, right(a.base()));
            }
            // The offsets shift along where they are multiples of 2^n and
            // carry nothing into the bits that decide what comes in.
            let limit = a.width() - u32::from(signed);
            match (a.signed_stride(), a.window()) {
                (Some(s), Some((window, ..)))
                    if s.trailing_zeros() >= n && window <= limit =>
                {
                    Shape::affine(ty, scope, (s >> n) as u64, right(a.base())).refined(t)
                }
                _ => Shape::tracked(ty, scope, t),
            }
        }
        _ => {
            let width = a.width();
            let left = if op == Opcode::Rotl { n } else { (width - n) % width };
            permuted(ty, a, |x| {
                if left == 0 {
                    x
                } else {
                    ((x << left) | (x >> (width - left))) & mask
                }
            })
        }
    }
}

/// A rearrangement of the bits.
fn permuted(ty: Type, a: Shape, f: impl Fn(u64) -> u64) -> Shape {
    if a.width() > 64 {
        return opaque(ty, &[a]);
    }
    let move_bits = |k: KnownBits| KnownBits {
        zero: f(k.zero),
        one: f(k.one),
    };
    if a.is_uniform() {
        return Shape::known_uniform(ty, a.base_scope(), move_bits(a.base()));
    }
    let t = Tracked {
        bits: move_bits(a.bits()),
        uniform: f(a.uniform_bits()),
    };
    Shape::tracked(ty, a.base_scope(), t)
}

fn extend(ty: Type, a: Shape, signed: bool) -> Shape {
    let (from, scope) = (a.mask(), a.base_scope());
    if ty.bits() > 64 {
        return opaque(ty, &[a]);
    }
    let high = low_mask(ty.bits()) & !from;
    let sign = sign_bit(&a);
    let wider = |k: KnownBits| KnownBits {
        zero: k.zero | if !signed || k.zero & sign != 0 { high } else { 0 },
        one: k.one | if signed && k.one & sign != 0 { high } else { 0 },
    };
    if a.is_uniform() {
        return Shape::known_uniform(ty, scope, wider(a.base()));
    }
    let filled = !signed || a.uniform_bits() & sign != 0;
    let t = Tracked {
        bits: wider(a.bits()),
        uniform: a.uniform_bits() | if filled { high } else { 0 },
    };
    let limit = a.width() - u32::from(signed);
    match (a.signed_stride(), a.window()) {
        (Some(s), Some((window, ..))) if window <= limit => {
            Shape::affine(ty, scope, s as u64, wider(a.base()))
                .with_row(a.is_row())
                .refined(t)
        }
        _ => Shape::tracked(ty, scope, t),
    }
}

fn unsigned_division(op: Opcode, ty: Type, args: &[Shape]) -> Shape {
    let [a, b] = [args[0], args[1]];
    let quotient = op == Opcode::Udiv;
    if let (Some(divisor), true) = (b.as_constant(), a.width() <= 64) {
        if divisor.is_power_of_two() {
            let n = divisor.trailing_zeros();
            return if quotient {
                shift(Opcode::Ushr, ty, a, n)
            } else {
                and(ty, a, Shape::constant(ty, u128::from(divisor - 1)))
            };
        }
    }
    // The quotient is at most the dividend, the remainder less than the
    // divisor and at most the dividend.
    let most = match quotient {
        true => a.bits().max(a.mask()) / b.bits().min().max(1),
        false => a.bits().max(a.mask()).min(b.bits().max(b.mask()).saturating_sub(1)),
    };
    opaque(ty, args).refined(zero_above(64 - most.leading_zeros()))
}

/// A minimum or maximum, as a choice by the comparison `cc` of the operands.
fn choose(inst: &InstData, cc: warpfold_ir::IntCC, ty: Type, args: &[Shape]) -> Shape {
    if inst.args[0] == inst.args[1] {
        return args[0];
    }
    let cond = compare::icmp(cc, false, args[0], args[1]);
    let chosen = select(cond, args[0], args[1]);
    if chosen.is_uniform() { chosen } else { opaque_or(ty, args, chosen) }
}

/// `chosen`, or uniform if all operands are.
fn opaque_or(ty: Type, args: &[Shape], chosen: Shape) -> Shape {
    let any = opaque(ty, args);
    if any.is_uniform() { any.refined(chosen.tracked_bits()) } else { chosen }
}

/// `a` in the lanes where `cond` holds, `b` in the others.
pub(crate) fn select(cond: Shape, a: Shape, b: Shape) -> Shape {
    match cond.as_constant() {
        Some(0) => b,
        Some(_) => a,
        None => a.mixed(b, cond.scope()),
    }
}

fn load(inst: &InstData, ty: Type, address: Shape, local: bool) -> Shape {
    let flags = inst.mem().map_or(MemFlags::NONE, |(flags, _)| flags);
    let bits = match inst.op.access(inst.ty) {
        Some((bytes, false)) if bytes * 8 < ty.bits() => {
            KnownBits::constant(0, !low_mask(bytes * 8))
        }
        _ => KnownBits::NONE,
    };
    if local || !address.is_uniform() {
        return Shape::with_bits(ty, bits, 0);
    }
    // Nothing writes read-only memory. Other memory may change between two
    // warps' reads, but one instruction reads one address once for the warp.
    let fixed = flags.contains(MemFlags::READONLY) && !flags.contains(MemFlags::VOLATILE);
    let scope = match fixed {
        true => address.base_scope().max(Scope::Grid),
        false => Scope::Warp,
    };
    Shape::known_uniform(ty, scope, bits)
}
