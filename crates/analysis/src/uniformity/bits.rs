//! Known bits of a number of up to 64 bits, and arithmetic on them.
//!
//! A bit is known zero, known one, or unknown. The operations return bits
//! that are right for *every* choice of the operands' unknown bits; they are
//! exact bit by bit for the logic operations and for sums. Wider numbers are
//! not tracked: their `mask` is 0 and nothing is ever known of them.

/// Which bits are known, and what they are. Bits at and above the width are
/// in neither set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct KnownBits {
    /// Bits known to be 0.
    pub zero: u64,
    /// Bits known to be 1.
    pub one: u64,
}

/// The low `n` bits set; all of them from 64 on.
pub(crate) const fn low_mask(n: u32) -> u64 {
    if n >= 64 { u64::MAX } else { (1 << n) - 1 }
}

impl KnownBits {
    /// Nothing known.
    pub const NONE: Self = Self { zero: 0, one: 0 };

    /// Every bit under `mask` known to be as in `bits`.
    pub const fn constant(bits: u64, mask: u64) -> Self {
        Self {
            zero: !bits & mask,
            one: bits & mask,
        }
    }

    /// The set of known bits.
    pub const fn known(self) -> u64 {
        self.zero | self.one
    }

    /// How many of the lowest bits are known without a gap.
    pub const fn trailing(self) -> u32 {
        self.known().trailing_ones()
    }

    /// The least number with these bits.
    pub const fn min(self) -> u64 {
        self.one
    }

    /// The greatest number with these bits.
    pub const fn max(self, mask: u64) -> u64 {
        !self.zero & mask
    }

    /// Only the bits under `mask`.
    #[must_use]
    pub const fn keep(self, mask: u64) -> Self {
        Self {
            zero: self.zero & mask,
            one: self.one & mask,
        }
    }

    /// What holds of either number.
    #[must_use]
    pub const fn common(self, other: Self) -> Self {
        Self {
            zero: self.zero & other.zero,
            one: self.one & other.one,
        }
    }

    /// What holds of a number of which both are known. Bits on which they
    /// contradict each other (no such number exists) are dropped.
    #[must_use]
    pub const fn both(self, other: Self) -> Self {
        let (zero, one) = (self.zero | other.zero, self.one | other.one);
        let clash = zero & one;
        Self {
            zero: zero & !clash,
            one: one & !clash,
        }
    }

    /// Whether the two numbers differ in a known bit.
    pub const fn differ(self, other: Self) -> bool {
        (self.zero & other.one) | (self.one & other.zero) != 0
    }

    /// Bitwise not.
    #[must_use]
    pub const fn not(self) -> Self {
        Self {
            zero: self.one,
            one: self.zero,
        }
    }

    /// Bitwise and.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            zero: self.zero | other.zero,
            one: self.one & other.one,
        }
    }

    /// Bitwise or.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        self.not().and(other.not()).not()
    }

    /// Bitwise exclusive or.
    #[must_use]
    pub const fn xor(self, other: Self) -> Self {
        Self {
            zero: (self.zero & other.zero) | (self.one & other.one),
            one: (self.zero & other.one) | (self.one & other.zero),
        }
    }

    /// Shifted left by `n` below the width, within `mask`.
    #[must_use]
    pub const fn shl(self, n: u32, mask: u64) -> Self {
        Self {
            zero: ((self.zero << n) | low_mask(n)) & mask,
            one: (self.one << n) & mask,
        }
    }

    /// Shifted right by `n` below the width, zeros coming in.
    #[must_use]
    pub const fn lshr(self, n: u32, mask: u64) -> Self {
        Self {
            zero: (self.zero >> n) | (mask & !(mask >> n)),
            one: self.one >> n,
        }
    }

    /// Shifted right by `n` below the width, the sign coming in.
    #[must_use]
    pub const fn ashr(self, n: u32, mask: u64) -> Self {
        let top = mask & !(mask >> n);
        let sign = mask & !(mask >> 1);
        Self {
            zero: (self.zero >> n) | if self.zero & sign != 0 { top } else { 0 },
            one: (self.one >> n) | if self.one & sign != 0 { top } else { 0 },
        }
    }

    /// Sum within `mask`.
    #[must_use]
    pub fn add(self, other: Self, mask: u64) -> Self {
        Tracked::of(self).add(Tracked::of(other), false, mask).bits
    }

    /// Difference within `mask`.
    #[must_use]
    pub fn sub(self, other: Self, mask: u64) -> Self {
        let other = Tracked::of(other.not());
        Tracked::of(self).add(other, true, mask).bits
    }

    /// Product within `mask`: its low bits depend on the operands' low bits
    /// only, trailing zeros add up, and a product that cannot reach a bit
    /// leaves it zero.
    #[must_use]
    pub fn mul(self, other: Self, mask: u64) -> Self {
        let exact = low_mask(self.trailing().min(other.trailing())) & mask;
        let low = Self::constant(self.one.wrapping_mul(other.one), exact);
        let zeros = self.zero.trailing_ones() + other.zero.trailing_ones();
        let trailing = Self::constant(0, low_mask(zeros) & mask);
        let most = u128::from(self.max(mask)) * u128::from(other.max(mask));
        let leading = if most <= u128::from(mask) {
            mask & !low_mask(128 - most.leading_zeros())
        } else {
            0
        };
        low.both(trailing).both(Self::constant(0, leading))
    }
}

/// Known bits together with the bits that are equal in all lanes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tracked {
    pub bits: KnownBits,
    pub uniform: u64,
}

impl Tracked {
    /// Nothing equal in all lanes but what is known.
    pub const fn of(bits: KnownBits) -> Self {
        Self {
            bits,
            uniform: bits.known(),
        }
    }

    pub const fn not(self) -> Self {
        Self {
            bits: self.bits.not(),
            uniform: self.uniform,
        }
    }

    /// Sum with an incoming carry, within `mask`.
    ///
    /// A carry is known zero if the operands' greatest numbers give none
    /// there, and known one if their least do (as in LLVM's `KnownBits`). It is
    /// equal in all lanes if it is known, or if the bits and the carry below are:
    /// a chain like that of carries themselves, so a sum finds all its links.
    pub fn add(self, other: Self, carry: bool, mask: u64) -> Self {
        let (a, b) = (self.bits, other.bits);
        let sum = |x: u64, y: u64| x.wrapping_add(y).wrapping_add(carry.into());
        let (high_a, high_b) = (a.max(mask), b.max(mask));
        let carries_at_most = sum(high_a, high_b) ^ high_a ^ high_b;
        let carries_at_least = sum(a.one, b.one) ^ a.one ^ b.one;
        let carry_known = !carries_at_most | carries_at_least;
        let known = a.known() & b.known() & carry_known & mask;
        let bits = KnownBits::constant(a.one ^ b.one ^ carries_at_least, known);
        let both = (self.uniform | a.known()) & (other.uniform | b.known());
        let starts = carry_known >> 1;
        let goes_on = both | starts;
        let chain = goes_on.wrapping_add(starts).wrapping_add(1) ^ goes_on ^ starts;
        Self {
            bits,
            uniform: both & chain & mask,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every number of 4 bits that agrees with `k`.
    fn numbers(k: KnownBits) -> impl Iterator<Item = u64> {
        (0..16).filter(move |x| x & k.zero == 0 && x & k.one == k.one)
    }

    fn all() -> impl Iterator<Item = KnownBits> {
        (0..256u64)
            .map(|x| KnownBits {
                zero: x >> 4,
                one: x & 15,
            })
            .filter(|k| k.zero & k.one == 0)
    }

    #[test]
    fn arithmetic_holds_for_every_pair_of_numbers() {
        let mut exact_sums = 0;
        for a in all() {
            for b in all() {
                let claims = [
                    a.add(b, 15),
                    a.sub(b, 15),
                    a.mul(b, 15),
                    a.and(b),
                    a.or(b),
                    a.xor(b),
                ];
                let mut seen = [KnownBits { zero: 15, one: 15 }; 6];
                for x in numbers(a) {
                    for y in numbers(b) {
                        let results = [
                            x.wrapping_add(y),
                            x.wrapping_sub(y),
                            x.wrapping_mul(y),
                            x & y,
                            x | y,
                            x ^ y,
                        ];
                        for (i, r) in results.into_iter().enumerate() {
                            let r = r & 15;
                            assert_eq!(claims[i].zero & r, 0, "{a:?} {b:?} {i} {r}");
                            assert_eq!(claims[i].one & !r, 0, "{a:?} {b:?} {i} {r}");
                            seen[i] = seen[i].common(KnownBits::constant(r, 15));
                        }
                    }
                }
                for exact in [3, 4, 5] {
                    assert_eq!(claims[exact], seen[exact], "{a:?} {b:?}");
                }
                exact_sums += u32::from(claims[0] == seen[0]);
            }
        }
        assert_eq!(exact_sums, 81 * 81, "the sum loses nothing");
    }

    /// The sum by its definition, carry by carry.
    fn walked(a: Tracked, b: Tracked, carry: bool, mask: u64) -> Tracked {
        let mut out = Tracked::of(KnownBits::NONE);
        let mut carry = (Some(carry), true);
        for bit in (0..64).map(|i| 1u64 << i).take_while(|bit| bit & mask != 0) {
            let at = |t: Tracked| {
                let value = (t.bits.known() & bit != 0).then_some(t.bits.one & bit != 0);
                (value, value.is_some() || t.uniform & bit != 0)
            };
            let (a, b) = (at(a), at(b));
            let equal = a.1 && b.1 && carry.1;
            out.uniform |= if equal { bit } else { 0 };
            if let (Some(x), Some(y), Some(z)) = (a.0, b.0, carry.0) {
                let sum = if x ^ y ^ z { bit } else { 0 };
                out.bits = out.bits.both(KnownBits::constant(sum, bit));
            }
            let agreed = |x: Option<bool>, y: Option<bool>| if x == y { x } else { None };
            let known = agreed(a.0, b.0)
                .or(agreed(a.0, carry.0))
                .or(agreed(b.0, carry.0));
            carry = (known, known.is_some() || equal);
        }
        out
    }

    #[test]
    fn sums_are_those_of_a_walk_over_the_carries() {
        for a in all() {
            for b in all() {
                for uniform in 0..256u64 {
                    let (ua, ub) = (uniform & 15, uniform >> 4);
                    let tracked = |bits: KnownBits, more: u64| Tracked {
                        bits,
                        uniform: bits.known() | more,
                    };
                    let (a, b) = (tracked(a, ua), tracked(b, ub));
                    for carry in [false, true] {
                        let (x, y) = (a.add(b, carry, 15), walked(a, b, carry, 15));
                        assert_eq!((x.bits, x.uniform), (y.bits, y.uniform), "{a:?} {b:?}");
                    }
                    // At the top of 64 bits nothing is lost.
                    let up = |t: Tracked| Tracked {
                        bits: t.bits.shl(60, u64::MAX),
                        uniform: t.uniform << 60 | low_mask(60),
                    };
                    let (a, b) = (up(a), up(b));
                    let (x, y) = (a.add(b, false, u64::MAX), walked(a, b, false, u64::MAX));
                    assert_eq!((x.bits, x.uniform), (y.bits, y.uniform), "{a:?} {b:?}");
                }
            }
        }
    }

    #[test]
    fn shifts_hold_for_every_number() {
        for a in all() {
            for n in 0..4 {
                for x in numbers(a) {
                    let signed = ((x << 60) as i64 >> 60 >> n) as u64 & 15;
                    for (k, r) in [
                        (a.shl(n, 15), (x << n) & 15),
                        (a.lshr(n, 15), x >> n),
                        (a.ashr(n, 15), signed),
                    ] {
                        assert!(k.zero & r == 0 && k.one & !r == 0, "{a:?} {n} {x}");
                        assert_eq!(k.known() & !15, 0);
                    }
                }
            }
        }
    }
}
