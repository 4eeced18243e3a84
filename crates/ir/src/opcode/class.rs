//! Cost and counter classes: how coarsely issues are told apart.

use std::fmt;

use crate::codes::named_enum;

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
        /// Single- and half-precision arithmetic.
        Fp = "fp",
        /// Single- and half-precision division and square root.
        FpDiv = "fp_div",
        /// Double-precision arithmetic.
        Fp64 = "fp64",
        /// Double-precision division and square root.
        Fp64Div = "fp64_div",
        /// Sines, exponentials and their like, single and half precision: the
        /// special-function unit.
        Math = "math",
        /// The same in double precision: a routine of many instructions.
        Math64 = "math64",
        /// Choice between two values by a predicate.
        Select = "select",
        /// Compares and logic on predicates.
        Pred = "pred",
        /// Loads and fences.
        Load = "load",
        /// Stores.
        Store = "store",
        /// Atomic loads, stores and read-modify-writes.
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
        /// Calls, those in tail position too.
        Call = "call",
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
        /// Atomic loads, stores and read-modify-writes.
        Atomic = "atomic",
        /// Votes, ballots, shuffles.
        Cross = "cross",
        /// Terminators, guarded exits and traps, calls.
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
            | Self::Math
            | Self::Math64
            | Self::Select => CounterClass::Alu,
            Self::Pred => CounterClass::Pred,
            Self::Load | Self::Store => CounterClass::Mem,
            Self::Atomic => CounterClass::Atomic,
            Self::Cross => CounterClass::Cross,
            Self::Branch | Self::Jump | Self::Ctl | Self::Call => CounterClass::Ctl,
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
