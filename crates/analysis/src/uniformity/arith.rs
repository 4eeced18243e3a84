//! The rules of integer and bitwise arithmetic.
//!
//! Each gives the affine part (all modulo 2^width, so sums, differences and
//! products with constants need no side condition) and the bits, and lets the
//! shape reduce them to each other. Shifts right and widenings keep a stride
//! only where the lanes' offsets stay within the low bits of a
//! [window](Shape::window): beyond it a carry could decide what comes in.

use warpfold_ir::{Opcode, Type};

use super::bits::{KnownBits, Tracked, low_mask};
use super::domain::Shape;
use super::scope::Scope;

/// Any function of the lane's operands.
pub(super) fn opaque(ty: Type, args: &[Shape]) -> Shape {
    if args.iter().all(Shape::is_uniform) {
        let scope = args.iter().map(Shape::base_scope).max();
        Shape::uniform(ty, scope.unwrap_or(Scope::Const))
    } else {
        Shape::varying(ty)
    }
}

pub(super) fn common(a: &Shape, b: &Shape) -> Scope {
    a.base_scope().max(b.base_scope())
}

pub(super) fn sign_bit(a: &Shape) -> u64 {
    a.mask() & !(a.mask() >> 1)
}

/// Zeros from bit `n` up.
pub(super) fn zero_above(n: u32) -> Tracked {
    Tracked::of(KnownBits::constant(0, !low_mask(n)))
}

/// Whether a sum or difference of the two goes on along a row of threads.
pub(super) fn rows(a: &Shape, b: &Shape) -> bool {
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

pub(super) fn mul(ty: Type, a: Shape, b: Shape) -> Shape {
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

pub(super) fn not(ty: Type, a: Shape) -> Shape {
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
pub(super) fn bitwise(
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
        if let (Some(s), Some((window, ..)), true) = (x.stride(), x.window(), u.is_uniform())
            && !through(u.bits()) & low_mask(window) == 0
        {
            return Shape::affine(ty, scope, s, f(x.base(), u.base())).refined(t);
        }
    }
    Shape::tracked(ty, scope, t)
}

pub(super) fn and(ty: Type, a: Shape, b: Shape) -> Shape {
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

pub(super) fn or(ty: Type, a: Shape, b: Shape) -> Shape {
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

pub(super) fn xor(ty: Type, a: Shape, b: Shape) -> Shape {
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
pub(super) fn shift_amount(a: Shape, amount: Shape) -> Option<u32> {
    let low = u64::from(a.width() - 1);
    let known = amount.mask() & low & !amount.bits().known() == 0 && amount.width() <= 64;
    (a.width() <= 64 && known).then_some((amount.bits().one & low) as u32)
}

pub(super) fn shift(op: Opcode, ty: Type, a: Shape, n: u32) -> Shape {
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
                uniform: if filled {
                    (uniform >> n) | top
                } else {
                    uniform >> n
                },
            };
            if a.is_uniform() {
                return Shape::known_uniform(ty, scope, right(a.base()));
            }
            // The offsets shift along where they are multiples of 2^n and
            // carry nothing into the bits that decide what comes in.
            let limit = a.width() - u32::from(signed);
            match (a.signed_stride(), a.window()) {
                (Some(s), Some((window, ..))) if s.trailing_zeros() >= n && window <= limit => {
                    Shape::affine(ty, scope, (s >> n) as u64, right(a.base())).refined(t)
                }
                _ => Shape::tracked(ty, scope, t),
            }
        }
        _ => {
            let width = a.width();
            let left = if op == Opcode::Rotl {
                n
            } else {
                (width - n) % width
            };
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
pub(super) fn permuted(ty: Type, a: Shape, f: impl Fn(u64) -> u64) -> Shape {
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

pub(super) fn extend(ty: Type, a: Shape, signed: bool) -> Shape {
    let (from, scope) = (a.mask(), a.base_scope());
    if ty.bits() > 64 {
        return opaque(ty, &[a]);
    }
    let high = low_mask(ty.bits()) & !from;
    let sign = sign_bit(&a);
    let wider = |k: KnownBits| KnownBits {
        zero: k.zero
            | if !signed || k.zero & sign != 0 {
                high
            } else {
                0
            },
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
    // A row may wrap around between two warps, unless it stays in one half of
    // the narrower numbers.
    let half = a.bits().zero | if signed { a.bits().one } else { 0 };
    let row = a.is_row() && half & sign != 0;
    match (a.signed_stride(), a.window()) {
        (Some(s), Some((window, ..))) if window <= limit => {
            Shape::affine(ty, scope, s as u64, wider(a.base()))
                .with_row(row)
                .refined(t)
        }
        _ => Shape::tracked(ty, scope, t),
    }
}

pub(super) fn unsigned_division(op: Opcode, ty: Type, args: &[Shape]) -> Shape {
    let [a, b] = [args[0], args[1]];
    let quotient = op == Opcode::Udiv;
    if let Some(divisor) = b.as_constant()
        && divisor.is_power_of_two()
    {
        let n = divisor.trailing_zeros();
        return if quotient {
            shift(Opcode::Ushr, ty, a, n)
        } else {
            and(ty, a, Shape::constant(ty, u128::from(divisor - 1)))
        };
    }
    // The quotient is at most the dividend, the remainder less than the
    // divisor and at most the dividend.
    let most = match quotient {
        true => a.bits().max(a.mask()) / b.bits().min().max(1),
        false => a
            .bits()
            .max(a.mask())
            .min(b.bits().max(b.mask()).saturating_sub(1)),
    };
    opaque(ty, args).refined(zero_above(64 - most.leading_zeros()))
}
