//! Instructions: operation, operands, immediate, guard, results, origin.

use smallvec::SmallVec;

use crate::codes::{FloatCC, IntCC, MemFlags, TrapCode};
use crate::entities::{FuncRef, Origin, SigRef, Slot, Value};
use crate::opcode::{CostClass, Opcode, ResultType};
use crate::types::Type;

/// A guard: outside the lanes where it holds the instruction does nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Guard {
    /// The predicate.
    pub pred: Value,
    /// Whether the guard holds where the predicate does *not*.
    pub negated: bool,
    /// The result in the other lanes; without it they hold poison.
    pub otherwise: Option<Value>,
}

/// The immediate of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Imm {
    /// None.
    None,
    /// A constant's bits, zero above the type's width.
    Bits(u128),
    /// An integer condition.
    Icc(IntCC),
    /// A float condition.
    Fcc(FloatCC),
    /// A memory access.
    Mem {
        /// Promises and demands.
        flags: MemFlags,
        /// Bytes added to the address.
        offset: i32,
    },
    /// A place in a stack slot.
    Slot {
        /// Which slot.
        slot: Slot,
        /// Bytes from its start.
        offset: i32,
    },
    /// A trap code.
    Trap(TrapCode),
    /// A declared function.
    Func(FuncRef),
    /// A declared signature.
    Sig(SigRef),
}

/// An instruction.
#[derive(Debug, PartialEq)]
pub struct InstData {
    /// The operation.
    pub op: Opcode,
    /// The type that operands and result are stated relative to; see
    /// [`Shape`](crate::Shape).
    pub ty: Type,
    /// Operands.
    pub args: SmallVec<[Value; 3]>,
    /// Immediate.
    pub imm: Imm,
    /// Guard, if any.
    pub guard: Option<Guard>,
    /// Results: one or none; of a call, the callee's.
    pub results: SmallVec<[Value; 1]>,
    /// Where it came from.
    pub origin: Origin,
}

impl Clone for InstData {
    /// The derived one would copy the lists element by element.
    #[inline]
    fn clone(&self) -> Self {
        Self {
            args: operands(&self.args),
            results: match self.results[..] {
                [] => SmallVec::new(),
                [one] => SmallVec::from_buf([one]),
                ref more => SmallVec::from_slice(more),
            },
            ..*self
        }
    }
}

/// A list of operands, by way of a copy of known size where it is short.
#[inline]
fn operands(args: &[Value]) -> SmallVec<[Value; 3]> {
    match *args {
        [] => SmallVec::new(),
        [a] => SmallVec::from_buf_and_len([a; 3], 1),
        [a, b] => SmallVec::from_buf_and_len([a, b, b], 2),
        [a, b, c] => SmallVec::from_buf([a, b, c]),
        ref more => SmallVec::from_slice(more),
    }
}

impl InstData {
    /// An unguarded instruction without origin; results are made when it is
    /// put into a function.
    #[inline]
    pub fn new(op: Opcode, ty: Type, args: &[Value], imm: Imm) -> Self {
        Self {
            op,
            ty,
            args: operands(args),
            imm,
            guard: None,
            results: SmallVec::new(),
            origin: Origin::NONE,
        }
    }

    /// The same under a guard.
    #[must_use]
    pub fn guarded(mut self, guard: Guard) -> Self {
        self.guard = Some(guard);
        self
    }

    /// The same from `origin`.
    #[must_use]
    #[inline]
    pub fn at(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
    }

    /// The type of its result, if it has one. A call's results are its
    /// callee's: see [`Function::result_types`](crate::Function::result_types).
    #[inline]
    pub fn result_type(&self) -> Option<Type> {
        match self.op.shape().result() {
            ResultType::None => None,
            ResultType::Same => Some(self.ty),
            ResultType::Pred => Some(Type::Pred),
        }
    }

    /// What an issue of it costs.
    #[inline]
    pub fn cost_class(&self) -> CostClass {
        self.op.cost_class(self.ty)
    }

    /// Operands, guard predicate and `else` value, in this order.
    #[inline]
    pub fn uses(&self) -> impl Iterator<Item = Value> + '_ {
        let guard = self.guard.into_iter();
        self.args
            .iter()
            .copied()
            .chain(guard.flat_map(|g| std::iter::once(g.pred).chain(g.otherwise)))
    }

    /// Replaces every used value by `f` of it.
    pub fn map_uses(&mut self, mut f: impl FnMut(Value) -> Value) {
        for arg in &mut self.args {
            *arg = f(*arg);
        }
        if let Some(g) = &mut self.guard {
            g.pred = f(g.pred);
            g.otherwise = g.otherwise.map(&mut f);
        }
    }

    /// Flags and offset of a memory access.
    #[inline]
    pub fn mem(&self) -> Option<(MemFlags, i32)> {
        match self.imm {
            Imm::Mem { flags, offset } => Some((flags, offset)),
            _ => None,
        }
    }
}
