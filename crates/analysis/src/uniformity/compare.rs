//! Integer comparisons: when do all lanes get the same answer?
//!
//! Split both operands at bit `k` into a high part whose bits are uniform and
//! a low part of which the range is known. If the high parts differ, they
//! decide, for all lanes alike. If they are equal, the low parts decide: alike
//! in all lanes when their ranges do not overlap. So the answer is uniform,
//! though not known, if the low ranges at some `k` are disjoint; and known if
//! they are disjoint at the full width. The same holds signed, since the sign
//! is in the high part (below the full width). `tid < 32` is `k = 5`: the low
//! part of `tid` is in 0..=31 and that of 32 is 0.

use warpfold_ir::{IntCC, Type};

use super::bits::low_mask;
use super::domain::Shape;

/// The comparison `a cc b`; `same` if both are one value.
pub(crate) fn icmp(cc: IntCC, same: bool, a: Shape, b: Shape) -> Shape {
    let truth = |x: bool| Shape::constant(Type::Pred, u128::from(x));
    if same {
        return truth(matches!(
            cc,
            IntCC::Eq | IntCC::Sge | IntCC::Sle | IntCC::Uge | IntCC::Ule
        ));
    }
    if let Some(answer) = known(cc, &a, &b) {
        return truth(answer);
    }
    let scope = a.base_scope().max(b.base_scope());
    let alike = a.is_uniform() && b.is_uniform()
        || match cc {
            // The difference is one number.
            IntCC::Eq | IntCC::Ne => a.stride().is_some() && a.stride() == b.stride(),
            IntCC::Ult | IntCC::Slt | IntCC::Uge | IntCC::Sge => decided_above(cc, &a, &b),
            IntCC::Ugt | IntCC::Sgt | IntCC::Ule | IntCC::Sle => {
                decided_above(cc.swap_args(), &b, &a)
            }
        };
    if alike {
        Shape::uniform(Type::Pred, scope)
    } else {
        Shape::varying(Type::Pred)
    }
}

/// The answer, if it is the same for all numbers that the operands may be.
fn known(cc: IntCC, a: &Shape, b: &Shape) -> Option<bool> {
    if a.width() > 64 {
        return None;
    }
    match cc {
        IntCC::Eq => unequal(a, b).then_some(false),
        IntCC::Ne => unequal(a, b).then_some(true),
        IntCC::Ult => below(range(a, false), range(b, false)),
        IntCC::Slt => below(range(a, true), range(b, true)),
        IntCC::Uge | IntCC::Sge => known(cc.inverse(), a, b).map(|x| !x),
        IntCC::Ugt | IntCC::Sgt | IntCC::Ule | IntCC::Sle => known(cc.swap_args(), b, a),
    }
}

/// Whether `a < b` for all numbers of the ranges, or for none.
fn below(a: (u64, u64), b: (u64, u64)) -> Option<bool> {
    if a.1 < b.0 {
        Some(true)
    } else if a.0 >= b.1 {
        Some(false)
    } else {
        None
    }
}

/// The least and greatest number, with the sign bit turned over if `signed`,
/// so that unsigned order is the wanted one.
fn range(a: &Shape, signed: bool) -> (u64, u64) {
    if !signed {
        return a.low_range(a.width());
    }
    let sign = a.mask() & !(a.mask() >> 1);
    let (low, high) = a.low_range(a.width() - 1);
    let bits = a.bits();
    let from = if bits.one & sign != 0 || bits.zero & sign == 0 {
        0
    } else {
        sign
    };
    let to = if bits.zero & sign != 0 || bits.one & sign == 0 {
        sign
    } else {
        0
    };
    match (bits.zero | bits.one) & sign {
        // A negative number has the flipped sign bit 0.
        0 => (low, sign | high),
        _ => (from | low, to | high),
    }
}

/// Whether no lane's numbers are equal.
fn unequal(a: &Shape, b: &Shape) -> bool {
    let low_parts_disjoint = (1..=a.width()).any(|k| {
        let (p, q) = (a.low_range(k), b.low_range(k));
        p.1 < q.0 || q.1 < p.0
    });
    a.bits().differ(b.bits()) || low_parts_disjoint || between_lanes(a, b) || between_lanes(b, a)
}

/// Whether `b`'s low bits are one number that `a`'s, stepping from lane to
/// lane, never reach.
fn between_lanes(a: &Shape, b: &Shape) -> bool {
    let (Some((window, low, _)), Some(stride)) = (a.window(), a.signed_stride()) else {
        return false;
    };
    let step = stride.unsigned_abs();
    let mask = low_mask(window);
    if step == 0 || mask & !b.bits().known() != 0 {
        return false;
    }
    let at = b.bits().one & mask;
    at < low || !(at - low).is_multiple_of(step) || (at - low) / step > 31
}

/// Whether `a < b` (signed or not) has one answer for all lanes, because the
/// uniform high parts decide or, where they are equal, the low parts do alike.
fn decided_above(cc: IntCC, a: &Shape, b: &Shape) -> bool {
    if a.width() > 64 {
        return false;
    }
    let signed = matches!(cc, IntCC::Slt | IntCC::Sge);
    let shared = a.uniform_bits() & b.uniform_bits();
    let first = a.width() - (shared << (64 - a.width())).leading_ones().min(a.width());
    let last = a.width() - u32::from(signed);
    (first..=last).any(|k| below(a.low_range(k), b.low_range(k)).is_some())
}
