//! Shapes: what an instruction's operands, result, immediate and effects are,
//! relative to its own type `T`.

use crate::types::Type;

/// What one operand must be, relative to the instruction's type `T`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operand {
    /// `T` itself.
    Same,
    /// `pred`.
    Pred,
    /// `i32`.
    I32,
    /// An address: `i64` or `i32`.
    Addr,
    /// Any integer type.
    AnyInt,
    /// An integer narrower than `T`.
    NarrowerInt,
    /// An integer wider than `T`.
    WiderInt,
    /// Any float type.
    AnyFloat,
    /// A float narrower than `T`.
    NarrowerFloat,
    /// A float wider than `T`.
    WiderFloat,
    /// Any type of the width of `T`, and not `T`.
    SameWidth,
}

/// What an instruction yields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResultType {
    /// Nothing.
    None,
    /// `T`.
    Same,
    /// `pred`.
    Pred,
}

/// Which types the instruction's own type `T` may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TypeSet {
    /// Every type.
    Any,
    /// Integers.
    Int,
    /// Floats.
    Float,
    /// Everything but `pred`.
    Num,
    /// `pred` only; not written in text.
    Pred,
    /// `i32` only; not written in text.
    I32,
    /// `i32` or `i64`.
    Addr,
}

impl TypeSet {
    /// Whether `ty` is in the set.
    #[inline]
    pub const fn contains(self, ty: Type) -> bool {
        match self {
            Self::Any => true,
            Self::Int => ty.is_int(),
            Self::Float => ty.is_float(),
            Self::Num => !matches!(ty, Type::Pred),
            Self::Pred => matches!(ty, Type::Pred),
            Self::I32 => matches!(ty, Type::I32),
            Self::Addr => matches!(ty, Type::I32 | Type::I64),
        }
    }

    /// The one type of the set, if there is only one; text then omits it.
    pub const fn only(self) -> Option<Type> {
        match self {
            Self::Pred => Some(Type::Pred),
            Self::I32 => Some(Type::I32),
            _ => None,
        }
    }
}

/// Which immediate an instruction carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImmKind {
    /// None.
    None,
    /// The bits of a constant.
    Bits,
    /// An integer condition.
    Icc,
    /// A float condition.
    Fcc,
    /// Memory flags and a byte offset.
    Mem,
    /// A stack slot and a byte offset.
    Slot,
    /// A trap code.
    Trap,
    /// A declared function.
    Func,
    /// A declared signature.
    Sig,
}

impl ImmKind {
    /// The immediate in words, with its article.
    pub const fn expectation(self) -> &'static str {
        match self {
            Self::None => "no immediate",
            Self::Bits => "a constant",
            Self::Icc => "an integer condition",
            Self::Fcc => "a float condition",
            Self::Mem => "memory flags and an offset",
            Self::Slot => "a stack slot",
            Self::Trap => "a trap code",
            Self::Func => "a declared function",
            Self::Sig => "a declared signature",
        }
    }
}

/// What executing an instruction may do beside yielding its result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Effects {
    /// May trap.
    pub traps: bool,
    /// Reads memory.
    pub reads: bool,
    /// Writes memory.
    pub writes: bool,
    /// Its result or effect depends on which lanes execute it together.
    pub convergent: bool,
    /// Orders or synchronises: never guarded, moved, merged or duplicated.
    pub syncs: bool,
    /// Lanes may leave the kernel here.
    pub retires: bool,
    /// Runs a function, so operands and results beside those of the shape are
    /// the callee's: never guarded, moved, merged or duplicated.
    pub calls: bool,
}

impl Effects {
    const NONE: Self = Self {
        traps: false,
        reads: false,
        writes: false,
        convergent: false,
        syncs: false,
        retires: false,
        calls: false,
    };

    /// Whether the instruction does nothing but yield its result.
    pub const fn is_pure(self) -> bool {
        !(self.traps
            || self.reads
            || self.writes
            || self.convergent
            || self.syncs
            || self.retires
            || self.calls)
    }
}

impl Shape {
    /// How many of the operands, the last ones, may be left out together.
    #[inline]
    pub const fn optional(self) -> usize {
        match self {
            Self::WarpSync => 1,
            _ => 0,
        }
    }

    /// Whether an instruction may have `n` operands; of a call, the fixed ones.
    #[inline]
    pub const fn takes(self, n: usize) -> bool {
        let all = self.operands().len();
        n == all || n + self.optional() == all
    }

    /// Whether this is an atomic access to memory.
    pub const fn is_atomic(self) -> bool {
        matches!(
            self,
            Self::AtomicLoad | Self::AtomicStore | Self::AtomicRmw | Self::AtomicCas
        )
    }
}

impl Operand {
    /// Whether an operand may be of type `ty` where the instruction's own type
    /// is `own`.
    #[inline]
    pub const fn accepts(self, own: Type, ty: Type) -> bool {
        match self {
            Self::Same => ty as u8 == own as u8,
            Self::Pred => matches!(ty, Type::Pred),
            Self::I32 => matches!(ty, Type::I32),
            Self::Addr => matches!(ty, Type::I32 | Type::I64),
            Self::AnyInt => ty.is_int(),
            Self::NarrowerInt => ty.is_int() && ty.bits() < own.bits(),
            Self::WiderInt => ty.is_int() && ty.bits() > own.bits(),
            Self::AnyFloat => ty.is_float(),
            Self::NarrowerFloat => ty.is_float() && ty.bits() < own.bits(),
            Self::WiderFloat => ty.is_float() && ty.bits() > own.bits(),
            Self::SameWidth => ty.bits() == own.bits() && ty as u8 != own as u8,
        }
    }

    /// What the operand must be, in words, where the instruction's own type
    /// is `own`.
    pub fn expectation(self, own: Type) -> String {
        match self {
            Self::Same => own.to_string(),
            Self::Pred => "pred".to_owned(),
            Self::I32 => "i32".to_owned(),
            Self::Addr => "an address (i64 or i32)".to_owned(),
            Self::AnyInt => "an integer".to_owned(),
            Self::NarrowerInt => format!("an integer narrower than {own}"),
            Self::WiderInt => format!("an integer wider than {own}"),
            Self::AnyFloat => "a float".to_owned(),
            Self::NarrowerFloat => format!("a float narrower than {own}"),
            Self::WiderFloat => format!("a float wider than {own}"),
            Self::SameWidth => format!("another type of {} bits", own.bits()),
        }
    }
}

macro_rules! shapes {
    ($($(#[$m:meta])* $name:ident: $set:ident [$($op:ident),*] -> $res:ident, $imm:ident $(, $eff:ident)*;)*) => {
        /// The form of an instruction: its operand and result types,
        /// immediate and effects.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Shape { $($(#[$m])* $name,)* }

        impl Shape {
            /// The types that the instruction's own type may be.
            #[inline]
            pub const fn types(self) -> TypeSet {
                match self { $(Self::$name => TypeSet::$set),* }
            }

            /// What the operands must be.
            #[inline]
            pub const fn operands(self) -> &'static [Operand] {
                match self { $(Self::$name => &[$(Operand::$op),*]),* }
            }

            /// What the instruction yields.
            #[inline]
            pub const fn result(self) -> ResultType {
                match self { $(Self::$name => ResultType::$res),* }
            }

            /// The immediate it carries.
            #[inline]
            pub const fn imm(self) -> ImmKind {
                match self { $(Self::$name => ImmKind::$imm),* }
            }

            /// What it may do beside yielding its result.
            #[allow(clippy::needless_update)]
            #[inline]
            pub const fn effects(self) -> Effects {
                match self { $(Self::$name => Effects { $($eff: true,)* ..Effects::NONE }),* }
            }
        }
    };
}

shapes! {
    /// A constant.
    Const: Any [] -> Same, Bits;
    /// The poison constant.
    Poison: Any [] -> Same, None;
    /// A stack slot's address.
    StackAddr: Addr [] -> Same, Slot;
    /// The shared memory's address.
    SharedBase: Addr [] -> Same, None;
    /// A move.
    Copy: Any [Same] -> Same, None;
    /// One integer to the same type.
    Int1: Int [Same] -> Same, None;
    /// Two integers to the same type.
    Int2: Int [Same, Same] -> Same, None;
    /// An integer and an amount of any integer type.
    Shift: Int [Same, AnyInt] -> Same, None;
    /// Integer division.
    IntDiv: Int [Same, Same] -> Same, None, traps;
    /// To a wider integer.
    Extend: Int [NarrowerInt] -> Same, None;
    /// To a narrower integer.
    Reduce: Int [WiderInt] -> Same, None;
    /// From a predicate to an integer.
    PredToInt: Int [Pred] -> Same, None;
    /// Bits reinterpreted.
    Bitcast: Num [SameWidth] -> Same, None;
    /// A choice.
    Select: Any [Pred, Same, Same] -> Same, None;
    /// One float to the same type.
    Float1: Float [Same] -> Same, None;
    /// Two floats to the same type.
    Float2: Float [Same, Same] -> Same, None;
    /// Three floats to the same type.
    Float3: Float [Same, Same, Same] -> Same, None;
    /// To a wider float.
    Promote: Float [NarrowerFloat] -> Same, None;
    /// To a narrower float.
    Demote: Float [WiderFloat] -> Same, None;
    /// Integer to float.
    IntToFloat: Float [AnyInt] -> Same, None;
    /// Float to integer, trapping.
    FloatToInt: Int [AnyFloat] -> Same, None, traps;
    /// Float to integer, saturating.
    FloatToIntSat: Int [AnyFloat] -> Same, None;
    /// Integer comparison.
    Icmp: Int [Same, Same] -> Pred, Icc;
    /// Float comparison.
    Fcmp: Float [Same, Same] -> Pred, Fcc;
    /// Logic on one predicate.
    Pred1: Pred [Same] -> Same, None;
    /// Logic on two predicates.
    Pred2: Pred [Same, Same] -> Same, None;
    /// A special register.
    Id: I32 [] -> Same, None;
    /// A memory read.
    Load: Num [Addr] -> Same, Mem, traps, reads;
    /// A memory write.
    Store: Num [Same, Addr] -> None, Mem, traps, writes;
    /// An atomic memory read.
    AtomicLoad: Int [Addr] -> Same, Mem, traps, reads;
    /// An atomic memory write.
    AtomicStore: Int [Same, Addr] -> None, Mem, traps, writes;
    /// An atomic read-modify-write of an operand; yields what was there.
    AtomicRmw: Int [Same, Addr] -> Same, Mem, traps, reads, writes;
    /// An atomic write of the second operand where the first was there; yields
    /// what was there.
    AtomicCas: Int [Same, Same, Addr] -> Same, Mem, traps, reads, writes;
    /// Predicate to lane mask.
    Ballot: I32 [Pred] -> Same, None, convergent;
    /// Predicate to predicate over the warp.
    Vote: Pred [Same] -> Same, None, convergent;
    /// Data exchange between lanes.
    Shuffle: Num [Same, I32] -> Same, None, convergent;
    /// Broadcast of the first lane.
    ReadFirst: Num [Same] -> Same, None, convergent;
    /// The mask of participating lanes.
    ActiveMask: I32 [] -> Same, None, convergent;
    /// Synchronisation and ordering.
    Sync: I32 [] -> None, None, reads, writes, convergent, syncs;
    /// Synchronisation among the lanes of a mask, all of them where none is given.
    WarpSync: I32 [I32] -> None, None, reads, writes, convergent, syncs;
    /// Guarded exit.
    Exit: I32 [] -> None, None, retires;
    /// Guarded trap.
    TrapIf: I32 [] -> None, Trap, traps, retires;
    /// A function's address.
    FuncAddr: Addr [] -> Same, Func;
    /// A call of a declared function.
    Call: I32 [] -> None, Func, traps, reads, writes, convergent, calls;
    /// A call of the function at an address.
    CallIndirect: I32 [Addr] -> None, Sig, traps, reads, writes, convergent, calls;
}
