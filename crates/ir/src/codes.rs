//! Small closed vocabularies: condition codes, trap codes, memory flags.

use std::fmt;
use std::str::FromStr;

macro_rules! named_enum {
    ($(#[$m:meta])* $name:ident { $($(#[$vm:meta])* $v:ident = $s:literal,)* }) => {
        $(#[$m])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum $name { $($(#[$vm])* $v,)* }

        impl $name {
            /// Every member, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$v),*];

            /// The name used in text.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$v => $s),* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $name {
            type Err = ();
            fn from_str(s: &str) -> Result<Self, ()> {
                Self::ALL.iter().copied().find(|c| c.name() == s).ok_or(())
            }
        }
    };
}
pub(crate) use named_enum;

named_enum! {
    /// Integer comparison conditions, as in CLIF.
    IntCC {
        /// `==`
        Eq = "eq",
        /// `!=`
        Ne = "ne",
        /// signed `<`
        Slt = "slt",
        /// signed `>=`
        Sge = "sge",
        /// signed `>`
        Sgt = "sgt",
        /// signed `<=`
        Sle = "sle",
        /// unsigned `<`
        Ult = "ult",
        /// unsigned `>=`
        Uge = "uge",
        /// unsigned `>`
        Ugt = "ugt",
        /// unsigned `<=`
        Ule = "ule",
    }
}

impl IntCC {
    /// The condition that holds exactly when this one does not.
    pub const fn inverse(self) -> Self {
        use IntCC::*;
        match self {
            Eq => Ne,
            Ne => Eq,
            Slt => Sge,
            Sge => Slt,
            Sgt => Sle,
            Sle => Sgt,
            Ult => Uge,
            Uge => Ult,
            Ugt => Ule,
            Ule => Ugt,
        }
    }

    /// The condition with the operands exchanged.
    pub const fn swap_args(self) -> Self {
        use IntCC::*;
        match self {
            Eq => Eq,
            Ne => Ne,
            Slt => Sgt,
            Sge => Sle,
            Sgt => Slt,
            Sle => Sge,
            Ult => Ugt,
            Uge => Ule,
            Ugt => Ult,
            Ule => Uge,
        }
    }
}

named_enum! {
    /// Float comparison conditions, as in CLIF.
    FloatCC {
        /// ordered: neither is NaN
        Ord = "ord",
        /// unordered: at least one is NaN
        Uno = "uno",
        /// equal (and ordered)
        Eq = "eq",
        /// not equal or unordered
        Ne = "ne",
        /// ordered and not equal
        One = "one",
        /// unordered or equal
        Ueq = "ueq",
        /// ordered `<`
        Lt = "lt",
        /// ordered `<=`
        Le = "le",
        /// ordered `>`
        Gt = "gt",
        /// ordered `>=`
        Ge = "ge",
        /// unordered or `<`
        Ult = "ult",
        /// unordered or `<=`
        Ule = "ule",
        /// unordered or `>`
        Ugt = "ugt",
        /// unordered or `>=`
        Uge = "uge",
    }
}

/// Why a lane trapped. Names are CLIF's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum TrapCode {
    /// Local memory or call depth exhausted.
    StackOverflow,
    /// An access outside every mapped range.
    HeapOutOfBounds,
    /// A misaligned access that demands alignment.
    HeapMisaligned,
    /// A quotient or conversion that does not fit.
    IntegerOverflow,
    /// Integer division by zero.
    IntegerDivisionByZero,
    /// A NaN converted to an integer.
    BadConversionToInteger,
    /// The program's own code.
    User(u8),
}

impl TrapCode {
    const NAMED: [(Self, &'static str); 6] = [
        (Self::StackOverflow, "stk_ovf"),
        (Self::HeapOutOfBounds, "heap_oob"),
        (Self::HeapMisaligned, "heap_misaligned"),
        (Self::IntegerOverflow, "int_ovf"),
        (Self::IntegerDivisionByZero, "int_divz"),
        (Self::BadConversionToInteger, "bad_toint"),
    ];
}

impl fmt::Display for TrapCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::User(n) => write!(f, "user{n}"),
            code => match Self::NAMED.iter().find(|(c, _)| *c == code) {
                Some((_, name)) => f.write_str(name),
                None => Ok(()),
            },
        }
    }
}

impl FromStr for TrapCode {
    type Err = ();

    fn from_str(s: &str) -> Result<Self, ()> {
        if let Some(n) = s.strip_prefix("user") {
            return n.parse().map(Self::User).map_err(|_| ());
        }
        Self::NAMED
            .iter()
            .find(|(_, name)| *name == s)
            .map(|(c, _)| *c)
            .ok_or(())
    }
}

/// What an access promises or demands, and the trap code where it fails.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct MemFlags {
    bits: u8,
    code: Option<TrapCode>,
}

impl MemFlags {
    /// No promise and no demand; a failing access traps with `heap_oob`.
    pub const NONE: Self = Self::flag(0);
    /// The access does not trap *where it stands*. That alone does not permit
    /// moving it above the check that made it so.
    pub const NOTRAP: Self = Self::flag(1);
    /// The address is a multiple of the access size, or the access traps.
    /// Atomic accesses demand it in any case.
    pub const ALIGNED: Self = Self::flag(2);
    /// The access may execute in lanes and places the program does not reach.
    pub const CAN_MOVE: Self = Self::flag(4);
    /// Nothing writes the memory read while the kernel runs.
    pub const READONLY: Self = Self::flag(8);
    /// The access is an event of its own: neither dropped, added nor reordered.
    pub const VOLATILE: Self = Self::flag(16);
    /// The number stands in memory with its highest byte first.
    pub const BIG: Self = Self::flag(32);

    /// Each flag with its name in text, in printing order.
    pub const NAMED: [(Self, &'static str); 6] = [
        (Self::NOTRAP, "notrap"),
        (Self::ALIGNED, "aligned"),
        (Self::CAN_MOVE, "can_move"),
        (Self::READONLY, "readonly"),
        (Self::VOLATILE, "volatile"),
        (Self::BIG, "big"),
    ];

    const fn flag(bits: u8) -> Self {
        Self { bits, code: None }
    }

    /// Whether all of `other`'s flags are set.
    pub const fn contains(self, other: Self) -> bool {
        self.bits & other.bits == other.bits
    }

    /// The flags of both, and `other`'s trap code if it has one.
    pub const fn union(self, other: Self) -> Self {
        Self {
            bits: self.bits | other.bits,
            code: match other.code {
                Some(_) => other.code,
                None => self.code,
            },
        }
    }

    /// These flags without `other`'s.
    pub const fn without(self, other: Self) -> Self {
        Self {
            bits: self.bits & !other.bits,
            code: self.code,
        }
    }

    /// The trap code that stands with the flags, if any.
    pub const fn code(self) -> Option<TrapCode> {
        self.code
    }

    /// The same with the trap code of an access outside of all memory;
    /// `heap_oob`, which is the default, is left out.
    #[must_use]
    pub const fn with_code(self, code: TrapCode) -> Self {
        Self {
            bits: self.bits,
            code: match code {
                TrapCode::HeapOutOfBounds => None,
                _ => Some(code),
            },
        }
    }

    /// How an access outside of all memory traps.
    pub const fn trap_code(self) -> TrapCode {
        match self.code {
            Some(code) => code,
            None => TrapCode::HeapOutOfBounds,
        }
    }
}

impl std::ops::BitOr for MemFlags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        self.union(other)
    }
}
