//! The register files of one warp.
//!
//! A register is a vector over the 32 lanes. There is one file per lane width,
//! so that an instruction's loop runs over arrays of one Rust number and
//! vectorises; floats share the file of their width as bit patterns; a
//! predicate is one 32-bit mask.
//!
//! Invariant: an instruction changes a register in the lanes of its [`On`]
//! mask only. Where that mask holds every live lane of the warp, the lanes
//! outside are gone or never existed, nobody can see them, and the write need
//! not be masked: that is the fast path ([`On::all`]).

use warpfold_ir::lane::Int;
use warpfold_ir::{TrapCode, Type};

/// Lanes of a warp.
pub(crate) const LANES: usize = 32;

/// The lanes an instruction acts in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct On {
    /// Active, and the guard holds.
    pub mask: u32,
    /// Whether no live lane is outside the mask.
    pub all: bool,
}

/// One register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(align(64))]
pub(crate) struct Lanes<T>(pub [T; LANES]);

/// The register file of a type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Kind {
    W8,
    W16,
    W32,
    W64,
    W128,
    Pred,
}

impl Kind {
    pub(crate) const COUNT: usize = 6;

    pub(crate) fn of(ty: Type) -> Self {
        match ty {
            Type::I8 => Self::W8,
            Type::I16 | Type::F16 => Self::W16,
            Type::I32 | Type::F32 => Self::W32,
            Type::I64 | Type::F64 => Self::W64,
            Type::I128 => Self::W128,
            Type::Pred => Self::Pred,
        }
    }

    pub(crate) fn index(self) -> usize {
        self as usize
    }

    /// Bytes of one register.
    pub(crate) fn register_bytes(self) -> u64 {
        match self {
            Self::W8 | Self::W16 => 64,
            Self::W32 => 128,
            Self::W64 => 256,
            Self::W128 => 512,
            Self::Pred => 4,
        }
    }
}

/// A name of a register: the file comes from the type where it is used.
pub(crate) type Reg = u16;

/// A register with its file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Place {
    pub kind: Kind,
    pub reg: Reg,
}

/// All registers of a warp.
#[derive(Clone, Debug)]
pub(crate) struct Registers {
    r8: Vec<Lanes<u8>>,
    r16: Vec<Lanes<u16>>,
    r32: Vec<Lanes<u32>>,
    r64: Vec<Lanes<u64>>,
    r128: Vec<Lanes<u128>>,
    pub(crate) pred: Vec<u32>,
    /// Why lanes of the last instruction trapped, where they did.
    pub(crate) fault: [TrapCode; LANES],
}

/// A Rust number that a register holds 32 of.
pub(crate) trait Lane: Int + Default {
    fn file(r: &Registers) -> &[Lanes<Self>];
    fn file_mut(r: &mut Registers) -> &mut [Lanes<Self>];
    /// All bits or none.
    fn ones_if(set: bool) -> Self;
    /// `new` where `m` has its bits set, else `old`.
    fn choose(m: Self, new: Self, old: Self) -> Self;
    /// The number that the little-endian `bytes` (1, 2, 4, 8 or 16 of them)
    /// hold, extended to this width.
    fn read(bytes: &[u8], signed: bool) -> Self;
    /// Writes the low bytes, as many as `bytes` has (1, 2, 4, 8 or 16); says
    /// whether that changed them.
    fn write(self, bytes: &mut [u8]) -> bool;
}

macro_rules! impl_lane {
    ($($t:ty, $file:ident;)*) => {$(
        impl Lane for $t {
            #[inline(always)]
            fn file(r: &Registers) -> &[Lanes<Self>] { &r.$file }
            #[inline(always)]
            fn file_mut(r: &mut Registers) -> &mut [Lanes<Self>] { &mut r.$file }
            #[inline(always)]
            fn ones_if(set: bool) -> Self { if set { Self::MAX } else { 0 } }
            #[inline(always)]
            fn choose(m: Self, new: Self, old: Self) -> Self { (new & m) | (old & !m) }
            #[inline(always)]
            fn read(bytes: &[u8], signed: bool) -> Self {
                macro_rules! from {
                    ($u:ty, $s:ty) => {{
                        let mut b = [0; size_of::<$u>()];
                        b.copy_from_slice(bytes);
                        let x = <$u>::from_le_bytes(b);
                        if signed { x as $s as Self } else { x as Self }
                    }};
                }
                match bytes.len() {
                    1 => from!(u8, i8),
                    2 => from!(u16, i16),
                    4 => from!(u32, i32),
                    8 => from!(u64, i64),
                    _ => from!(u128, i128),
                }
            }
            #[inline(always)]
            fn write(self, bytes: &mut [u8]) -> bool {
                macro_rules! to {
                    ($u:ty) => {{
                        let new = (self as $u).to_le_bytes();
                        let changed = bytes != new;
                        bytes.copy_from_slice(&new);
                        changed
                    }};
                }
                match bytes.len() {
                    1 => to!(u8),
                    2 => to!(u16),
                    4 => to!(u32),
                    8 => to!(u64),
                    _ => to!(u128),
                }
            }
        }
    )*};
}
impl_lane! { u8, r8; u16, r16; u32, r32; u64, r64; u128, r128; }

/// `f` for the number type of a file; `pred` when it is the predicates'.
macro_rules! by_kind {
    ($kind:expr, $T:ident => $body:expr, pred => $pred:expr) => {
        match $kind {
            Kind::W8 => {
                type $T = u8;
                $body
            }
            Kind::W16 => {
                type $T = u16;
                $body
            }
            Kind::W32 => {
                type $T = u32;
                $body
            }
            Kind::W64 => {
                type $T = u64;
                $body
            }
            Kind::W128 => {
                type $T = u128;
                $body
            }
            Kind::Pred => $pred,
        }
    };
}
pub(crate) use by_kind;

/// Iterates over the lanes of a mask, lowest first.
#[inline(always)]
pub(crate) fn lanes_of(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let lane = mask.trailing_zeros() as usize;
            mask &= mask - 1;
            lane
        })
    })
}

/// A mask as a table in memory: all bits in the lanes of `mask`, none in the
/// others. Choosing by it stays a vector operation.
#[inline(always)]
pub(crate) fn spread<T: Lane>(mask: u32) -> [T; LANES] {
    let mut m = [T::default(); LANES];
    for (i, x) in m.iter_mut().enumerate() {
        *x = T::ones_if(mask & (1 << i) != 0);
    }
    m
}

/// Puts `new` into a register, in the lanes that are on.
#[inline(always)]
pub(crate) fn put<T: Lane>(dst: &mut Lanes<T>, new: [T; LANES], on: On) {
    if on.all {
        dst.0 = new;
        return;
    }
    let m = spread::<T>(on.mask);
    let old = dst.0;
    for i in 0..LANES {
        dst.0[i] = T::choose(m[i], new[i], old[i]);
    }
}

impl Registers {
    /// Zeroed files of these sizes, by [`Kind::index`].
    pub(crate) fn new(sizes: &[usize; Kind::COUNT]) -> Self {
        Self {
            r8: vec![Lanes([0; LANES]); sizes[0]],
            r16: vec![Lanes([0; LANES]); sizes[1]],
            r32: vec![Lanes([0; LANES]); sizes[2]],
            r64: vec![Lanes([0; LANES]); sizes[3]],
            r128: vec![Lanes([0; LANES]); sizes[4]],
            pred: vec![0; sizes[5]],
            fault: [TrapCode::StackOverflow; LANES],
        }
    }

    /// The same bits in every lane.
    pub(crate) fn splat(&mut self, at: Place, bits: u128) {
        let reg = usize::from(at.reg);
        by_kind!(at.kind,
            T => T::file_mut(self)[reg].0 = [<T as Int>::wrap(bits); LANES],
            pred => self.pred[reg] = if bits & 1 == 1 { u32::MAX } else { 0 });
    }

    /// One lane's bits, zero above the width.
    pub(crate) fn get(&self, at: Place, lane: usize) -> u128 {
        let reg = usize::from(at.reg);
        by_kind!(at.kind,
            T => T::file(self)[reg].0[lane].zext(),
            pred => u128::from(self.pred[reg] >> lane & 1))
    }

    /// Sets one lane's bits, cut to the width.
    pub(crate) fn set(&mut self, at: Place, lane: usize, bits: u128) {
        let reg = usize::from(at.reg);
        by_kind!(at.kind,
        T => T::file_mut(self)[reg].0[lane] = <T as Int>::wrap(bits),
        pred => {
            let p = &mut self.pred[reg];
            *p = (*p & !(1 << lane)) | (((bits & 1) as u32) << lane);
        });
    }

    /// Copies a register to another of its file, in the lanes that are on.
    #[inline]
    pub(crate) fn copy(&mut self, kind: Kind, dst: Reg, src: Reg, on: On) {
        let (dst, src) = (usize::from(dst), usize::from(src));
        by_kind!(kind,
            T => {
                let file = T::file_mut(self);
                let new = file[src].0;
                put(&mut file[dst], new, on);
            },
            pred => self.put_pred(dst as Reg, self.pred[src], on.mask));
    }

    /// Copies a register from another set of registers, in the lanes that are
    /// on; both are of one file.
    pub(crate) fn take(&mut self, dst: Place, from: &Self, src: Place, on: On) {
        let (to, of) = (usize::from(dst.reg), usize::from(src.reg));
        by_kind!(dst.kind,
            T => put(&mut T::file_mut(self)[to], T::file(from)[of].0, on),
            pred => self.put_pred(dst.reg, from.pred[of], on.mask));
    }

    /// Puts a predicate, in the lanes of `mask`.
    #[inline(always)]
    pub(crate) fn put_pred(&mut self, dst: Reg, new: u32, mask: u32) {
        let p = &mut self.pred[usize::from(dst)];
        *p = (*p & !mask) | (new & mask);
    }

    /// Whether a register holds in the lanes of `live` what it held in `old`.
    pub(crate) fn same(&self, old: &Self, at: Place, live: u32) -> bool {
        let reg = usize::from(at.reg);
        by_kind!(at.kind,
            T => {
                let (a, b) = (&T::file(self)[reg].0, &T::file(old)[reg].0);
                lanes_of(live).all(|i| a[i] == b[i])
            },
            pred => (self.pred[reg] ^ old.pred[reg]) & live == 0)
    }

    /// Whether there is such a register.
    pub(crate) fn has(&self, at: Place) -> bool {
        let reg = usize::from(at.reg);
        by_kind!(at.kind,
            T => reg < T::file(self).len(),
            pred => reg < self.pred.len())
    }

    /// Every register.
    pub(crate) fn places(&self) -> impl Iterator<Item = Place> + use<> {
        let sizes = [
            (Kind::W8, self.r8.len()),
            (Kind::W16, self.r16.len()),
            (Kind::W32, self.r32.len()),
            (Kind::W64, self.r64.len()),
            (Kind::W128, self.r128.len()),
            (Kind::Pred, self.pred.len()),
        ];
        sizes.into_iter().flat_map(|(kind, n)| {
            (0..n).map(move |r| Place {
                kind,
                reg: r as Reg,
            })
        })
    }
}
