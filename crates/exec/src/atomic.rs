//! Atomic accesses: lane after lane, each seeing what those before it left.
//!
//! What a read-modify-write leaves in memory is a row's closure in the opcode
//! table, by way of [`warpfold_ir::eval::atomic`]. An access demands alignment to
//! its width. A compare-and-swap that fails writes nothing, but demands memory
//! that can be written all the same.

use warpfold_ir::{Opcode, Type, eval};

use crate::access::{Request, Spaces, addresses, each_lane, read, write};
use crate::program::{Access, Op};
use crate::registers::{Kind, Lane, On, Registers, by_kind};

/// Executes an atomic access in the lanes that are on.
pub(crate) fn access(
    r: &mut Registers,
    spaces: &mut Spaces<'_>,
    op: &Op,
    opcode: Opcode,
    ty: Type,
    access: &Access,
    on: On,
) -> Request {
    by_kind!(access.kind,
        T => access_as::<T>(r, spaces, op, opcode, ty, access, on),
        pred => Request::new(addresses(r, access)))
}

fn access_as<T: Lane>(
    r: &mut Registers,
    spaces: &mut Spaces<'_>,
    op: &Op,
    opcode: Opcode,
    ty: Type,
    access: &Access,
    on: On,
) -> Request {
    let n = access.bytes as usize;
    let mut request = Request::new(addresses(r, access));
    let writes = opcode.effects().writes;
    let yields = opcode.effects().reads;
    // Of the operands before the address there may be none; what these
    // registers hold then is not looked at.
    let operand = |r: &Registers, reg: u16, i: usize| {
        let file = T::file(r);
        file.get(usize::from(reg)).map_or(0, |x| x.0[i].zext())
    };
    each_lane(
        r,
        spaces,
        access,
        on,
        &mut request,
        |r, spaces, i, found| {
            let old: T = read(spaces.slice(found, n), access);
            let mut changed = false;
            if writes {
                let bytes = spaces.slice_mut(found, n)?;
                let args = [operand(r, op.a, i), operand(r, op.b, i)];
                if let Some(new) = eval::atomic(opcode, ty, old.zext(), &args) {
                    changed = write(T::wrap(new), bytes, access);
                }
            }
            if yields {
                T::file_mut(r)[usize::from(op.dst)].0[i] = old;
            }
            Some(changed)
        },
    );
    request
}
