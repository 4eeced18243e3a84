//! Noticing that a warp repeats itself: Brent's cycle finding.
//!
//! A warp whose registers and stack are what they were at an earlier back
//! edge, with no byte of memory changed since and no other warp that could
//! change one, will go round for ever. One snapshot is kept and compared at
//! every back edge; it is taken anew when the number of back edges is a power
//! of two, so a cycle of any length is found after at most about three times
//! as many back edges as it took to get into it and round it once (R. P. Brent,
//! "An improved Monte Carlo factorization algorithm", 1980).
//!
//! Most loops are left after a few rounds, so the first snapshot waits until
//! [`FIRST`]. Most snapshots differ in the loop counter: the register that
//! differed last time is compared first.
//!
//! Only lanes that live count. Where another warp took part in a barrier
//! since, the snapshot is void: the warp may have waited for it.

use crate::registers::{Kind, Place, Registers};
use crate::stack::Stack;

/// Back edges before the first snapshot, a power of two.
const FIRST: u64 = 64;

#[derive(Clone, Debug)]
struct Snapshot {
    registers: Registers,
    stack: Stack,
    /// Number of stores that had changed a byte.
    changes: u64,
}

/// What is known of a warp's progress.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    back_edges: u64,
    snapshot: Option<Box<Snapshot>>,
    /// A register that differed.
    witness: Place,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self {
            back_edges: 0,
            snapshot: None,
            witness: Place {
                kind: Kind::Pred,
                reg: 0,
            },
        }
    }

    /// Others may have acted: what was seen so far proves nothing.
    pub(crate) fn forget(&mut self) {
        self.snapshot = None;
    }

    /// At a back edge, after the lanes have moved: whether the warp has been
    /// in this state before. `alone` says that no other warp can run.
    pub(crate) fn repeats(
        &mut self,
        registers: &Registers,
        stack: &Stack,
        live: u32,
        changes: u64,
        alone: bool,
    ) -> bool {
        self.back_edges += 1;
        if self.back_edges < FIRST {
            return false;
        }
        if let Some(old) = &self.snapshot
            && alone
            && old.changes == changes
            && old.stack == *stack
        {
            let differs = |at: Place| !registers.same(&old.registers, at, live);
            if registers.has(self.witness) && differs(self.witness) {
                // The usual case.
            } else {
                match registers.places().find(|&at| differs(at)) {
                    Some(at) => self.witness = at,
                    None => return true,
                }
            }
        }
        if self.back_edges.is_power_of_two() {
            self.snapshot = Some(Box::new(Snapshot {
                registers: registers.clone(),
                stack: stack.clone(),
                changes,
            }));
        }
        false
    }
}
