//! Which instructions may execute in lanes that the program does not send
//! through them.
//!
//! An instruction is *safe to speculate* when executing it with arbitrary
//! operands has no effect but its result. `notrap` on a load is a promise
//! about the place where it stands and gives no such permission; only
//! `can_move` does, and not for atomic accesses. A division is safe when its divisor is a constant that
//! cannot trap.

use warpfold_ir::{Function, InstData, MemFlags, Opcode, Shape};

/// Why an instruction must not be speculated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unsafe {
    /// It may trap.
    Traps,
    /// It reads memory that other lanes may write, or at an address that only
    /// the guarded code has checked.
    Reads,
    /// It writes memory.
    Writes,
    /// It depends on which lanes execute it.
    Convergent,
    /// It retires lanes.
    Retires,
    /// It runs a function.
    Calls,
}

impl std::fmt::Display for Unsafe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Traps => "may trap",
            Self::Reads => "reads memory",
            Self::Writes => "writes memory",
            Self::Convergent => "depends on the participating lanes",
            Self::Retires => "retires lanes",
            Self::Calls => "runs a function",
        })
    }
}

/// Whether `data` is safe to speculate; the reason where it is not.
pub fn speculation(func: &Function, data: &InstData) -> Result<(), Unsafe> {
    let effects = data.op.effects();
    if effects.is_pure() {
        return Ok(());
    }
    match data.op.shape() {
        Shape::IntDiv if divides_safely(func, data) => Ok(()),
        Shape::Load => match data.mem() {
            Some((flags, _))
                if flags.contains(MemFlags::CAN_MOVE) && !flags.contains(MemFlags::VOLATILE) =>
            {
                Ok(())
            }
            _ => Err(Unsafe::Reads),
        },
        _ => Err(if effects.calls {
            Unsafe::Calls
        } else if effects.retires {
            Unsafe::Retires
        } else if effects.writes {
            Unsafe::Writes
        } else if effects.convergent {
            Unsafe::Convergent
        } else if effects.reads {
            Unsafe::Reads
        } else {
            Unsafe::Traps
        }),
    }
}

/// Whether an integer division cannot trap, by its divisor: a constant other
/// than 0, and other than -1 where the quotient may overflow.
fn divides_safely(func: &Function, data: &InstData) -> bool {
    match func.as_const(data.args[1]) {
        Some(0) | None => false,
        Some(d) => data.op != Opcode::Sdiv || d != data.ty.mask(),
    }
}
