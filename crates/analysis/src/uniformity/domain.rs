//! The value domain: what the lanes of a warp hold, as a reduced product.
//!
//! A [`Shape`] speaks of the values that the lanes executing one instruction
//! together get from it (or hold in one value at the start of a block). It
//! claims, for every lane `l` among them:
//!
//! - **affine**: with `stride = Some(s)`, the value is `base + s·l` modulo
//!   2^width for one `base` common to the lanes, of which some bits are known;
//!   `Some(0)` is *uniform*;
//! - **bits**: some bits are known, the same in every lane;
//! - **uniform bits**: some bits, known or not, are equal in all lanes;
//! - **scope**: the base (and each uniform bit) is common not only to the
//!   warp but to the whole block or grid.
//!
//! Arithmetic is modulo 2^width throughout, so affine claims need no side
//! condition on overflow. Values wider than 64 bits carry no bit facts, only
//! stride 0 or none.
//!
//! The components refine each other ([`Shape::reduced`]): an affine value
//! whose base has its low `a` bits known, such that `base mod 2^a + s·l` stays
//! within `0..2^a` for all 32 lanes, has uniform bits from `a` up; uniform bits
//! all over make a value uniform.

use warpfold_ir::Type;

use super::bits::{KnownBits, Tracked, low_mask};
use super::scope::Scope;

/// What is claimed of the lanes' values; affine claims, bits,
/// uniform bits, and the scope that the common part has. All of it holds of
/// the lanes that execute one instruction together, modulo 2^width.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    width: u8,
    /// How common the base and the uniform bits are; never `Lane`.
    common: Scope,
    /// Whether the base of one warp follows from the last one's: the value is
    /// `b + stride·i` for a `b` common to the block, `i` the thread's index
    /// in its row.
    row: bool,
    stride: Option<u64>,
    base: KnownBits,
    bits: KnownBits,
    uniform: u64,
}

impl Shape {
    /// Nothing claimed of a value of type `ty`.
    #[inline]
    pub const fn varying(ty: Type) -> Self {
        Self {
            width: ty.bits() as u8,
            common: Scope::Const,
            row: false,
            stride: None,
            base: KnownBits::NONE,
            bits: KnownBits::NONE,
            uniform: 0,
        }
    }

    /// The constant with these bits.
    pub fn constant(ty: Type, bits: u128) -> Self {
        if ty.bits() <= 64 {
            let mask = low_mask(ty.bits());
            let bits = KnownBits::constant(bits as u64, mask);
            return Self {
                stride: Some(0),
                base: bits,
                bits,
                uniform: mask,
                ..Self::varying(ty)
            };
        }
        Self::known_uniform(ty, Scope::Const, KnownBits::constant(bits as u64, u64::MAX))
    }

    /// One number at `scope`, of which nothing else is known. `Lane` gives a
    /// value of which nothing is claimed.
    pub fn uniform(ty: Type, scope: Scope) -> Self {
        if scope == Scope::Lane {
            return Self::varying(ty);
        }
        Self::known_uniform(ty, scope, KnownBits::NONE)
    }

    /// One number at `scope`, at most `Warp`, of which `bits` are known.
    pub fn known_uniform(ty: Type, scope: Scope, bits: KnownBits) -> Self {
        Self::affine(ty, scope, 0, bits)
    }

    /// `base + stride·lane` with a base common at `scope`, at most `Warp`.
    pub fn affine(ty: Type, scope: Scope, stride: u64, base: KnownBits) -> Self {
        let mut shape = Self::varying(ty);
        shape.common = scope.min(Scope::Warp);
        shape.stride = Some(stride);
        shape.base = base;
        shape.reduced()
    }

    /// Differs from lane to lane, apart from `bits` that are known and
    /// `uniform` bits that the lanes of a warp share.
    pub fn with_bits(ty: Type, bits: KnownBits, uniform: u64) -> Self {
        let mut shape = Self::varying(ty);
        shape.common = Scope::Warp;
        shape.bits = bits;
        shape.uniform = uniform;
        shape.reduced()
    }

    /// As claimed of bits that are common at `common`.
    pub(crate) fn tracked(ty: Type, common: Scope, t: Tracked) -> Self {
        let mut shape = Self::varying(ty);
        shape.common = common;
        shape.bits = t.bits;
        shape.uniform = t.uniform;
        shape.reduced()
    }

    pub(crate) fn with_row(mut self, row: bool) -> Self {
        self.row = row;
        self.reduced()
    }

    /// Narrowed by what is known beside: `bits` of every lane's value, and
    /// `uniform` bits.
    #[must_use]
    pub(crate) fn refined(mut self, t: Tracked) -> Self {
        self.bits = self.bits.both(t.bits);
        self.uniform |= t.uniform;
        self.reduced()
    }

    /// The bits that facts are kept of.
    pub(crate) const fn mask(&self) -> u64 {
        if self.width > 64 {
            0
        } else {
            low_mask(self.width as u32)
        }
    }

    pub(crate) const fn width(&self) -> u32 {
        self.width as u32
    }

    /// The scope at which the value is one number.
    pub fn scope(&self) -> Scope {
        if self.stride == Some(0) {
            self.common
        } else {
            Scope::Lane
        }
    }

    /// Whether the lanes of a warp hold one number.
    #[inline]
    pub fn is_uniform(&self) -> bool {
        self.stride == Some(0)
    }

    /// The difference from one lane to the next, modulo 2^width.
    pub fn stride(&self) -> Option<u64> {
        self.stride
    }

    /// The stride as a signed number.
    pub fn signed_stride(&self) -> Option<i64> {
        let unused = 64 - u32::from(self.width).min(64);
        self.stride.map(|s| ((s << unused) as i64) >> unused)
    }

    /// The scope at which the base and the uniform bits are common.
    pub fn base_scope(&self) -> Scope {
        self.common
    }

    /// What is known of an affine value's base, the value of lane 0.
    pub fn base(&self) -> KnownBits {
        self.base
    }

    /// Bits known in every lane.
    pub fn bits(&self) -> KnownBits {
        self.bits
    }

    /// Bits equal in all lanes of a warp; the known ones are among them.
    pub fn uniform_bits(&self) -> u64 {
        self.uniform
    }

    /// Whether an affine value goes on from warp to warp along a row of
    /// threads.
    pub fn is_row(&self) -> bool {
        self.row
    }

    /// The number, if it is a constant of at most 64 bits.
    pub fn as_constant(&self) -> Option<u64> {
        (self.is_uniform() && self.width <= 64 && self.base.known() == self.mask())
            .then_some(self.base.one)
    }

    /// Whether each lane's number follows from its index alone.
    fn is_fixed(&self) -> bool {
        self.stride.is_some() && (self.common == Scope::Const)
    }

    pub(crate) const fn tracked_bits(&self) -> Tracked {
        Tracked {
            bits: self.bits,
            uniform: self.uniform,
        }
    }

    /// For an affine value: the least `a` such that the low `a` bits of the
    /// base are known and adding the lanes' offsets to them never leaves
    /// `0..2^a`; and the least and greatest that the low `a` bits get. The
    /// bits from `a` up are then the base's in every lane.
    pub(crate) fn window(&self) -> Option<(u32, u64, u64)> {
        let stride = i128::from(self.signed_stride()?);
        if self.width > 64 {
            return None;
        }
        let reach = 31 * stride;
        let least = 128 - reach.unsigned_abs().leading_zeros();
        let known = self.base.trailing().min(self.width());
        (least..=known).find_map(|a| {
            let start = i128::from(self.base.one & low_mask(a));
            let end = start + reach;
            (end >= 0 && end < 1 << a).then(|| (a, start.min(end) as u64, start.max(end) as u64))
        })
    }

    /// The least and greatest of the lanes' low `k` bits, read unsigned.
    pub(crate) fn low_range(&self, k: u32) -> (u64, u64) {
        let mask = low_mask(k) & self.mask();
        let by_bits = (self.bits.one & mask, !self.bits.zero & mask);
        match self.window() {
            Some((a, low, high)) if a <= k && self.stride != Some(0) => {
                let rest = mask & !low_mask(a);
                let by_lanes = (
                    (self.base.one & rest) + low,
                    (!self.base.zero & rest) + high,
                );
                (by_bits.0.max(by_lanes.0), by_bits.1.min(by_lanes.1))
            }
            _ => by_bits,
        }
    }

    /// Every component as strong as the others make it.
    #[must_use]
    pub(crate) fn reduced(mut self) -> Self {
        let mask = self.mask();
        self.bits = self.bits.keep(mask);
        self.base = self.base.keep(mask);
        self.uniform = (self.uniform & mask) | self.bits.known();
        if self.width < 64 {
            self.stride = self.stride.map(|s| s & mask);
        }
        if self.width > 64 {
            if self.stride != Some(0) {
                self.stride = None;
                self.common = Scope::Const;
            }
            self.row = false;
            return self;
        }
        if let Some(s) = self.stride {
            // Bits below the stride's lowest are the base's.
            let still = low_mask(s.trailing_zeros()) & mask;
            self.base = self.base.both(self.bits.keep(still));
            let mut fixed = still;
            if fixed != mask
                && let Some((a, ..)) = self.window()
            {
                fixed |= mask & !low_mask(a);
            }
            self.uniform |= fixed;
            self.bits = self.bits.both(self.base.keep(fixed));
        }
        if self.uniform == mask && self.stride != Some(0) {
            self.stride = Some(0);
            self.base = self.bits;
        }
        if self.stride.is_none() {
            self.base = KnownBits::NONE;
        }
        let known = match self.stride {
            Some(_) => self.base.known() == mask,
            None => self.uniform == self.bits.known(),
        };
        self.common = match (known, self.common) {
            (true, _) => Scope::Const,
            (false, Scope::Const) => Scope::Grid,
            (false, common) => common.min(Scope::Warp),
        };
        self.row &= !matches!(self.stride, None | Some(0));
        self
    }

    /// What holds of a value that is the one or the other, the same one in
    /// all lanes that execute together.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        if self == other && self.width <= 64 {
            return self;
        }
        debug_assert_eq!(self.width, other.width);
        let mut out = self;
        out.common = self.common.max(other.common);
        if self.width > 64 && out.common == Scope::Const {
            // Two wide constants may differ; their bits are not kept.
            out.common = Scope::Grid;
        }
        out.row = self.row && other.row;
        if self.stride == other.stride {
            out.base = self.base.common(other.base);
        } else {
            out.stride = None;
            out.base = KnownBits::NONE;
        }
        out.bits = self.bits.common(other.bits);
        out.uniform = self.uniform & other.uniform;
        out.reduced()
    }

    /// What is left where groups meet that each got the value on its own,
    /// when only lanes of one `scope` are sure to have got it together. What
    /// follows from the lane's index alone stays.
    #[must_use]
    pub fn separated(mut self, scope: Scope) -> Self {
        if self.is_fixed() {
            return self;
        }
        if scope == Scope::Lane {
            self.stride = None;
            self.base = KnownBits::NONE;
            self.uniform = self.bits.known();
            self.common = Scope::Const;
        } else {
            self.common = self.common.max(scope);
            self.row &= scope < Scope::Warp;
        }
        self.reduced()
    }

    /// What holds where lanes may take either value, choosing by a condition
    /// that is uniform at `scope`.
    #[must_use]
    pub fn mixed(self, other: Self, scope: Scope) -> Self {
        self.join(other).separated(scope)
    }

    /// Gives up, from the first bit that changed since `old` upwards, all
    /// that is claimed of bits. Repeated growth then ends.
    pub(crate) fn widened(mut self, old: Self) -> Self {
        let changed = (self.base.known() ^ old.base.known())
            | (self.bits.known() ^ old.bits.known())
            | (self.uniform ^ old.uniform);
        if changed != 0 {
            let keep = low_mask(changed.trailing_zeros());
            self.base = self.base.keep(keep);
            self.bits = self.bits.keep(keep);
            if !self.is_uniform() {
                self.uniform &= keep;
            }
        }
        self.reduced()
    }
}
