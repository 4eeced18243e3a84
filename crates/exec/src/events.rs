//! The event log: what a thread does that others can see, in its order.
//!
//! Two versions of a kernel are the same when every thread has the same
//! sequence of stores, volatile and atomic accesses, loads that may not move, and
//! traps (besides the same results and final memory). Loads with `can_move` are
//! left out: a rewrite may add or drop them. What a read-modify-write found in
//! memory is left out too: it depends on what other lanes do meanwhile.

use warpfold_ir::{Origin, TrapCode};

/// The kind of an event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum EventKind {
    /// A store.
    Store,
    /// A volatile store.
    VolatileStore,
    /// A load that may not move.
    Load,
    /// A volatile load.
    VolatileLoad,
    /// An atomic load.
    AtomicLoad,
    /// An atomic store.
    AtomicStore,
    /// An atomic read-modify-write, successful or not.
    AtomicUpdate,
    /// The thread's end by a trap.
    Trap(TrapCode),
}

/// One event of one thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// Thread of the grid.
    pub thread: u64,
    /// What happened.
    pub kind: EventKind,
    /// The address, also of a trapped access; 0 where there is none.
    pub address: u64,
    /// Bytes moved; 0 for a trap.
    pub bytes: u32,
    /// What was stored or loaded, as it stands in memory; of an atomic update
    /// the operand (of `atomic_cas` the number to store); 0 for a trap.
    pub value: u128,
    /// Where in the source.
    pub origin: Origin,
}

/// The events of one thread, from a log that is ordered by thread.
pub fn events_of(log: &[Event], thread: u64) -> &[Event] {
    let start = log.partition_point(|e| e.thread < thread);
    let len = log[start..].partition_point(|e| e.thread == thread);
    &log[start..start + len]
}
