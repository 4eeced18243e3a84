//! The [`Opcode`] enum and what the table says of each opcode.

use std::fmt;

use hashbrown::HashMap;

use crate::codes::named_enum;
use crate::types::Type;

named_enum! {
    /// What an issue of an instruction costs, as far as machines tell apart.
    CostClass {
        /// Constants: no issue at all.
        Const = "const",
        /// Integer arithmetic, logic, moves, conversions, special registers.
        Alu = "alu",
        /// Integer multiplication.
        Mul = "mul",
        /// Integer division and remainder.
        Div = "div",
        /// Single-precision arithmetic.
        Fp = "fp",
        /// Single-precision division and square root.
        FpDiv = "fp_div",
        /// Double-precision arithmetic.
        Fp64 = "fp64",
        /// Double-precision division and square root.
        Fp64Div = "fp64_div",
        /// Choice between two values by a predicate.
        Select = "select",
        /// Compares and logic on predicates.
        Pred = "pred",
        /// Loads and fences.
        Load = "load",
        /// Stores.
        Store = "store",
        /// Read-modify-write.
        Atomic = "atomic",
        /// Votes, ballots, shuffles.
        Cross = "cross",
        /// Conditional branches and switches.
        Branch = "branch",
        /// Unconditional jumps.
        Jump = "jump",
        /// Returns, traps, guarded exits.
        Ctl = "ctl",
        /// Block barriers.
        Bar = "bar",
    }
}

named_enum! {
    /// The coarse classes that counters are kept in.
    CounterClass {
        /// Lane-wise arithmetic, selects, moves.
        Alu = "alu",
        /// Compares and logic on predicates.
        Pred = "pred",
        /// Loads, stores and fences.
        Mem = "mem",
        /// Read-modify-write.
        Atomic = "atomic",
        /// Votes, ballots, shuffles.
        Cross = "cross",
        /// Terminators and guarded exits and traps.
        Ctl = "ctl",
        /// Block barriers.
        Bar = "bar",
    }
}

impl CostClass {
    /// The counter class, or `None` for constants, which never issue.
    pub const fn counter(self) -> Option<CounterClass> {
        Some(match self {
            Self::Const => return None,
            Self::Alu
            | Self::Mul
            | Self::Div
            | Self::Fp
            | Self::FpDiv
            | Self::Fp64
            | Self::Fp64Div
            | Self::Select => CounterClass::Alu,
            Self::Pred => CounterClass::Pred,
            Self::Load | Self::Store => CounterClass::Mem,
            Self::Atomic => CounterClass::Atomic,
            Self::Cross => CounterClass::Cross,
            Self::Branch | Self::Jump | Self::Ctl => CounterClass::Ctl,
            Self::Bar => CounterClass::Bar,
        })
    }

    /// Position in [`CostClass::ALL`], for counters kept in arrays.
    pub const fn index(self) -> usize {
        self as usize
    }
}

impl CounterClass {
    /// Position in [`CounterClass::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }
}

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
    /// The float type that `T` is not.
    OtherFloat,
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
}

impl Effects {
    const NONE: Self = Self {
        traps: false,
        reads: false,
        writes: false,
        convergent: false,
        syncs: false,
        retires: false,
    };

    /// Whether the instruction does nothing but yield its result.
    pub const fn is_pure(self) -> bool {
        !(self.traps
            || self.reads
            || self.writes
            || self.convergent
            || self.syncs
            || self.retires)
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
            pub const fn types(self) -> TypeSet {
                match self { $(Self::$name => TypeSet::$set),* }
            }

            /// What the operands must be.
            pub const fn operands(self) -> &'static [Operand] {
                match self { $(Self::$name => &[$(Operand::$op),*]),* }
            }

            /// What the instruction yields.
            pub const fn result(self) -> ResultType {
                match self { $(Self::$name => ResultType::$res),* }
            }

            /// The immediate it carries.
            pub const fn imm(self) -> ImmKind {
                match self { $(Self::$name => ImmKind::$imm),* }
            }

            /// What it may do beside yielding its result.
            #[allow(clippy::needless_update)]
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
    /// Between the float types.
    FloatToFloat: Float [OtherFloat] -> Same, None;
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
    /// Guarded exit.
    Exit: I32 [] -> None, None, retires;
    /// Guarded trap.
    TrapIf: I32 [] -> None, Trap, traps, retires;
}

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
    /// The opcode's row of the table.
    pub const fn info(self) -> &'static OpInfo {
        &Self::INFO[self as usize]
    }

    /// The name in text.
    pub const fn mnemonic(self) -> &'static str {
        self.info().mnemonic
    }

    /// Operand and result types, immediate and effects.
    pub const fn shape(self) -> Shape {
        self.info().shape
    }

    /// What it may do beside yielding its result, whatever its operands.
    pub const fn effects(self) -> Effects {
        self.info().shape.effects()
    }

    /// What an issue costs when the instruction's type is `ty`.
    pub const fn cost_class(self, ty: Type) -> CostClass {
        match (self.info().class, ty) {
            (CostClass::Fp, Type::F64) => CostClass::Fp64,
            (CostClass::FpDiv, Type::F64) => CostClass::Fp64Div,
            (class, _) => class,
        }
    }

    /// Whether it may carry a guard. Constants never execute, and what
    /// synchronises must be reached by all.
    pub const fn may_be_guarded(self) -> bool {
        !matches!(self.info().class, CostClass::Const) && !self.effects().syncs
    }

    /// Whether its guard is part of what it is (`exit if`, `trap if`).
    pub const fn must_be_guarded(self) -> bool {
        self.effects().retires
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
            /// Of a load or store: the bytes it moves and whether it
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
    (@ $other:ident $sem:expr) => { return None };
}
crate::for_each_opcode!(define_access);
