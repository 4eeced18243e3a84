//! The [`Opcode`] enum and what the table says of each opcode.

mod class;
mod shape;

use std::fmt;

use hashbrown::HashMap;

use crate::types::Type;
pub use class::{CostClass, CounterClass};
pub use shape::{Effects, ImmKind, Operand, ResultType, Shape, TypeSet};

/// One row of the opcode table.
#[derive(Clone, Copy, Debug)]
pub struct OpInfo {
    /// The name in text.
    pub mnemonic: &'static str,
    /// Operand and result types, immediate and effects.
    pub shape: Shape,
    /// The base cost class; see [`Opcode::cost_class`] for the effect of types.
    pub class: CostClass,
    /// What it computes, one sentence.
    pub doc: &'static str,
}

macro_rules! define_opcodes {
    ([] $($v:ident $mnemonic:literal $shape:ident $class:ident $doc:literal, $sem:expr;)*) => {
        /// An operation.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Opcode { $(#[doc = $doc] $v,)* }

        impl Opcode {
            /// Every opcode, in table order.
            pub const ALL: &'static [Self] = &[$(Self::$v),*];

            const INFO: &'static [OpInfo] = &[$(OpInfo {
                mnemonic: $mnemonic,
                shape: Shape::$shape,
                class: CostClass::$class,
                doc: $doc,
            }),*];
        }
    };
}
crate::for_each_opcode!(define_opcodes);

impl Opcode {
    /// By opcode: what it may do, read off its shape once.
    const EFFECTS: [Effects; Self::ALL.len()] = {
        let mut all = [Shape::Const.effects(); Self::ALL.len()];
        let mut i = 0;
        while i < all.len() {
            all[i] = Self::ALL[i].shape().effects();
            i += 1;
        }
        all
    };

    /// By opcode: the types that it [accepts](Self::accepts), one bit each.
    const ACCEPTED: [u16; Self::ALL.len()] = {
        let mut all = [0; Self::ALL.len()];
        let mut i = 0;
        while i < all.len() {
            let mut ty = 0;
            while ty < Type::ALL.len() {
                if Self::ALL[i].fits(Type::ALL[ty]) {
                    all[i] |= 1 << Type::ALL[ty] as u16;
                }
                ty += 1;
            }
            i += 1;
        }
        all
    };

    /// The opcode's row of the table.
    #[inline]
    pub const fn info(self) -> &'static OpInfo {
        &Self::INFO[self as usize]
    }

    /// The name in text.
    pub const fn mnemonic(self) -> &'static str {
        self.info().mnemonic
    }

    /// Operand and result types, immediate and effects.
    #[inline]
    pub const fn shape(self) -> Shape {
        self.info().shape
    }

    /// What it may do beside yielding its result, whatever its operands.
    #[inline]
    pub const fn effects(self) -> Effects {
        Self::EFFECTS[self as usize]
    }

    /// Whether the instruction's own type may be `ty`: what its shape allows,
    /// without conversions that convert nothing and memory accesses that
    /// extend to no wider integer.
    #[inline]
    pub const fn accepts(self, ty: Type) -> bool {
        Self::ACCEPTED[self as usize] >> ty as u16 & 1 != 0
    }

    const fn fits(self, ty: Type) -> bool {
        let narrow = match self.access(Type::I128) {
            Some((bytes, _)) => bytes < Type::I128.bytes(),
            None => false,
        };
        self.shape().types().contains(ty)
            && match (self, self.access(ty)) {
                (Self::Fpromote, _) => matches!(ty, Type::F32 | Type::F64),
                (Self::Fdemote, _) => matches!(ty, Type::F16 | Type::F32),
                (_, Some((bytes, _))) if narrow => ty.is_int() && bytes < ty.bytes(),
                _ => true,
            }
    }

    /// What an issue costs when the instruction's type is `ty`.
    #[inline]
    pub const fn cost_class(self, ty: Type) -> CostClass {
        match (self.info().class, ty) {
            (CostClass::Fp, Type::F64) => CostClass::Fp64,
            (CostClass::FpDiv, Type::F64) => CostClass::Fp64Div,
            (CostClass::Math, Type::F64) => CostClass::Math64,
            (class, _) => class,
        }
    }

    /// Whether it may carry a guard. Constants never execute, and what
    /// synchronises must be reached by all; a call's lanes are those that come
    /// to it.
    #[inline]
    pub const fn may_be_guarded(self) -> bool {
        let effects = self.effects();
        !matches!(self.info().class, CostClass::Const) && !effects.syncs && !effects.calls
    }

    /// Whether its guard is part of what it is (`exit if`, `trap if`).
    #[inline]
    pub const fn must_be_guarded(self) -> bool {
        self.effects().retires
    }

    /// Whether a block's segment ends behind it: lanes may have left, and what
    /// follows is counted anew.
    #[inline]
    pub const fn ends_segment(self) -> bool {
        self.effects().retires || self.effects().calls
    }

    /// Whether the result is the same with the two operands swapped, bit for
    /// bit. Sums and products of floats are not listed: which NaN comes out of
    /// two may depend on their order.
    pub const fn commutes(self) -> bool {
        matches!(
            self,
            Self::Iadd
                | Self::Imul
                | Self::Umulhi
                | Self::Smulhi
                | Self::Umin
                | Self::Umax
                | Self::Smin
                | Self::Smax
                | Self::Band
                | Self::Bor
                | Self::Bxor
                | Self::And
                | Self::Or
                | Self::Xor
        )
    }

    /// Looks a mnemonic up.
    pub fn from_mnemonic(name: &str) -> Option<Self> {
        use std::sync::LazyLock;
        static BY_NAME: LazyLock<HashMap<&'static str, Opcode>> =
            LazyLock::new(|| Opcode::ALL.iter().map(|&o| (o.mnemonic(), o)).collect());
        BY_NAME.get(name).copied()
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.mnemonic())
    }
}

macro_rules! define_access {
    ([] $($v:ident $mnemonic:literal $shape:ident $class:ident $doc:literal, $sem:expr;)*) => {
        impl Opcode {
            /// Of a load, store or atomic access: the bytes it moves and whether it
            /// sign-extends, for the value type `ty`. `None` for the rest.
            pub const fn access(self, ty: Type) -> Option<(u32, bool)> {
                let (bytes, signed): (u32, bool) = match self {
                    $(Self::$v => define_access!(@ $shape $sem),)*
                };
                Some((if bytes == 0 { ty.bytes() } else { bytes }, signed))
            }
        }
    };
    (@ Load $sem:expr) => { $sem };
    (@ Store $sem:expr) => { $sem };
    (@ AtomicLoad $sem:expr) => { (0, false) };
    (@ AtomicStore $sem:expr) => { (0, false) };
    (@ AtomicRmw $sem:expr) => { (0, false) };
    (@ AtomicCas $sem:expr) => { (0, false) };
    (@ $other:ident $sem:expr) => { return None };
}
crate::for_each_opcode!(define_access);
