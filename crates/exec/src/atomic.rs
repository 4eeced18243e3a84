//! Atomic accesses: lane after lane, each seeing what those before it left.
//!
//! What a read-modify-write leaves in memory is a row's closure in the opcode
//! table, by way of [`warpfold_ir::eval::atomic`]. An access demands alignment to
//! its width. A compare-and-swap that fails writes nothing, but demands memory
//! that can be written all the same.

use warpfold_ir::{Opcode, TrapCode, Type, eval};

use crate::access::{Found, Request, Spaces, addresses, misaligned, read, write};
use crate::program::{Access, Op};
use crate::registers::{Kind, LANES, Lane, On, Registers, by_kind, lanes_of};

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
    let address = addresses(r, access);
    let mut request = Request::new(address);
    let mut codes = [access.flags.trap_code(); LANES];
    let writes = opcode.effects().writes;
    let yields = opcode.effects().reads;
    // Of the operands before the address there may be none; what these
    // registers hold then is not looked at.
    let operand = |r: &Registers, reg: u16, i: usize| {
        let file = T::file(r);
        file.get(usize::from(reg)).map_or(0, |x| x.0[i].zext())
    };
    let mut buffer = 0;
    for i in lanes_of(on.mask) {
        if misaligned(access, address[i]) {
            request.fault(&mut codes, i, TrapCode::HeapMisaligned);
            continue;
        }
        let Some(found) = spaces.find(i, address[i], n, &mut buffer) else {
            request.fault(&mut codes, i, access.flags.trap_code());
            continue;
        };
        let old = match found {
            Found::Global(at) => read::<T>(spaces.memory.slice(at, n), access),
            Found::Shared(at) => read(&spaces.shared[at..at + n], access),
            Found::Local(at) => read(spaces.local.slice(at, n), access),
        };
        if writes {
            let bytes = match found {
                Found::Global(at) => match spaces.memory.slice_mut(at, n) {
                    Some(bytes) => bytes,
                    None => {
                        request.fault(&mut codes, i, access.flags.trap_code());
                        continue;
                    }
                },
                Found::Shared(at) => &mut spaces.shared[at..at + n],
                Found::Local(at) => spaces.local.slice_mut(at, n),
            };
            let args = [operand(r, op.a, i), operand(r, op.b, i)];
            if let Some(new) = eval::atomic(opcode, ty, old.zext(), &args) {
                request.changed |= write(T::wrap(new), bytes, access);
            }
        }
        if yields {
            T::file_mut(r)[usize::from(op.dst)].0[i] = old;
        }
        request.through(i, &found);
    }
    if request.faults != 0 {
        r.fault = codes;
    }
    request
}
