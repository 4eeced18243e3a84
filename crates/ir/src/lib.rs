//! The SIMT IR of Warpfold.
//!
//! SSA with block parameters over entity arenas, in the look of Cranelift's
//! CLIF. A function describes what one *lane* does; 32 lanes run it together
//! as a *warp*. What makes it SIMT: the type [`Type::Pred`] (one bit per
//! lane), instructions that see the warp (ids, votes, shuffles, barriers), and
//! *guards*: an instruction may be switched off lane by lane, which is what
//! if-conversion turns control flow into.
//!
//! # Semantics in short
//!
//! - A guarded instruction does nothing at all in a lane whose guard is false:
//!   no address is formed, no trap taken, no part in a vote. Its result there
//!   is the `else` value, or *poison* without one. It still issues.
//! - Poison passes through lane-wise instructions; `select` passes on only
//!   that of its condition and the chosen operand, and `and`/`or` on
//!   predicates hide it behind an absorbing operand. It must not decide,
//!   address, be stored, returned or communicated in an active lane.
//! - `exit if p` and `trap if p` retire lanes in the middle of a block.
//! - A call runs another function of the [`Module`] in a frame of its own; the
//!   lanes go on together behind it.
//! - Constants cost nothing; every other instruction and every terminator is
//!   one issue for the warp.
//!
//! All opcodes are rows of one table, [`for_each_opcode!`]; printing, parsing,
//! verifying, evaluating and costing derive from it.

pub mod builder;
pub mod codes;
pub mod docs;
pub mod dominators;
pub mod entities;
pub mod eval;
pub mod function;
pub mod lane;
pub mod opcode;
pub mod parse;
pub mod print;
mod table;
pub mod types;
pub mod verify;

pub use builder::FunctionBuilder;
pub use codes::{FloatCC, IntCC, MemFlags, TrapCode};
pub use cranelift_entity as entity;
pub use entities::{Block, FuncRef, Inst, Origin, SigRef, Slot, Value};
pub use function::{
    BlockCall, BlockData, BranchMark, CallTarget, Callee, Function, Guard, Hint, Imm, InstData,
    Module, Param, Signature, SlotData, TailCall, Terminator, ValueDef,
};
pub use opcode::{
    CostClass, CounterClass, Effects, ImmKind, OpInfo, Opcode, Operand, ResultType, Shape, TypeSet,
};
pub use parse::{Lines, ParseError, parse_function, parse_module, parse_module_with_lines};
pub use types::Type;
pub use verify::{ModuleErrors, VerifyError, VerifyErrors, verify, verify_module};
