//! Canonicalisation: what is cheaper whatever the branch costs. What it leaves
//! is what if-conversion prices, and, run with all branches kept, the *kept*
//! of every comparison.

pub mod accesses;
pub mod exits;
pub mod hoist;
