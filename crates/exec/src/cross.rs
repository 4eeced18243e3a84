//! Instructions that see other lanes: ballots, votes, shuffles, broadcasts.
//!
//! Only the lanes that are on take part: active, and the guard holds. A
//! shuffle from a lane that does not take part, or that there is none of,
//! gives a lane its own value.

use warpfold_ir::{Opcode, Type};

use crate::program::Op;
use crate::registers::{Kind, LANES, Lane, On, Registers, by_kind, put};

/// Executes a cross-lane instruction; `false` if `opcode` is none.
pub(crate) fn execute(r: &mut Registers, opcode: Opcode, ty: Type, op: &Op, on: On) -> bool {
    let mask = on.mask;
    match opcode {
        Opcode::Ballot => {
            let x = r.pred[usize::from(op.a)] & mask;
            put(&mut u32::file_mut(r)[usize::from(op.dst)], [x; LANES], on);
        }
        Opcode::ActiveMask => {
            put(
                &mut u32::file_mut(r)[usize::from(op.dst)],
                [mask; LANES],
                on,
            );
        }
        Opcode::VoteAny => {
            let any = r.pred[usize::from(op.a)] & mask != 0;
            r.put_pred(op.dst, if any { u32::MAX } else { 0 }, mask);
        }
        Opcode::VoteAll => {
            let all = !r.pred[usize::from(op.a)] & mask == 0;
            r.put_pred(op.dst, if all { u32::MAX } else { 0 }, mask);
        }
        Opcode::ReadFirst => {
            let first = mask.trailing_zeros() as usize;
            by_kind!(Kind::of(ty),
                T => gather::<T>(r, op, on, [first as u32; LANES]),
                pred => {});
        }
        Opcode::ShflIdx | Opcode::ShflUp | Opcode::ShflDown | Opcode::ShflBfly => {
            let n = u32::file(r)[usize::from(op.b)].0;
            let from = std::array::from_fn(|i| source(opcode, i as u32, n[i]));
            by_kind!(Kind::of(ty), T => gather::<T>(r, op, on, from), pred => {});
        }
        _ => return false,
    }
    true
}

/// The lane that lane `i` reads; 32 or more where there is none.
fn source(opcode: Opcode, i: u32, n: u32) -> u32 {
    match opcode {
        Opcode::ShflIdx => n % 32,
        Opcode::ShflUp => i.checked_sub(n).unwrap_or(u32::MAX),
        Opcode::ShflDown => i.saturating_add(n),
        _ => i ^ n,
    }
}

/// Puts the value of lane `from[i]` into lane `i`, its own where that lane
/// does not take part.
#[inline(never)]
fn gather<T: Lane>(r: &mut Registers, op: &Op, on: On, from: [u32; LANES]) {
    let file = T::file_mut(r);
    let a = file[usize::from(op.a)].0;
    let mut out = a;
    for (i, x) in out.iter_mut().enumerate() {
        let lane = from[i];
        if lane < 32 && on.mask >> lane & 1 == 1 {
            *x = a[lane as usize];
        }
    }
    put(&mut file[usize::from(op.dst)], out, on);
}
