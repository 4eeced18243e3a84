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
//! With independent thread scheduling the whole warp is compared, see
//! [`its::progress`](crate::its::progress).
//!
//! Only lanes that live count. Where another warp took part in a barrier
//! since, the snapshot is void: the warp may have waited for it. So each snapshot
//! has the warp's *age*, the number of such barriers.

use crate::registers::{Kind, Place, Registers};
use crate::stack::Stack;

/// Back edges before the first snapshot, a power of two.
const FIRST: u64 = 64;

/// Counts back edges: when to compare with the snapshot, and when to take a new
/// one.
#[derive(Clone, Debug, Default)]
pub(crate) struct BackEdges(u64);

impl BackEdges {
    /// One more. Whether it is time to look.
    pub(crate) fn pass(&mut self) -> bool {
        self.0 += 1;
        self.0 >= FIRST
    }

    /// Whether to take a snapshot now.
    pub(crate) fn snapshot_is_due(&self) -> bool {
        self.0.is_power_of_two()
    }
}

#[derive(Clone, Debug)]
struct Snapshot {
    registers: Registers,
    stack: Stack,
    /// Number of stores that had changed a byte.
    changes: u64,
    /// How often others might have acted.
    age: u64,
}

/// What is known of a warp's progress.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    back_edges: BackEdges,
    snapshot: Option<Box<Snapshot>>,
    /// A register that differed.
    witness: Place,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self {
            back_edges: BackEdges::default(),
            snapshot: None,
            witness: Place {
                kind: Kind::Pred,
                reg: 0,
            },
        }
    }

    /// At a back edge, after the lanes have moved: whether the warp has been
    /// in this state before. `alone` says that no other warp can run, `age` how often
    /// others might have acted: what was seen before that proves nothing.
    pub(crate) fn repeats(
        &mut self,
        registers: &Registers,
        stack: &Stack,
        live: u32,
        (changes, age): (u64, u64),
        alone: bool,
    ) -> bool {
        if !self.back_edges.pass() {
            return false;
        }
        if let Some(old) = &self.snapshot
            && alone
            && (old.changes, old.age) == (changes, age)
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
        if self.back_edges.snapshot_is_due() {
            self.snapshot = Some(Box::new(Snapshot {
                registers: registers.clone(),
                stack: stack.clone(),
                changes,
                age,
            }));
        }
        false
    }
}
