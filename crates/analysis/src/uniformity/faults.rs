//! Mistakes to plant.
//!
//! A check that has never caught anything proves little. Each of these is a
//! mistake that an analysis of this kind has really had; a test plants it and
//! asserts that the executor's checks report a false claim. Where the analysis would
//! go wrong it asks for the fault by name, so reading past these places reads the
//! analysis as it is.

use warpfold_ir::{InstData, Opcode};

use super::launch::LaunchShape;

/// A mistake.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Fault {
    /// What a branch in a loop separates is not followed out of the loop.
    ExitLabels,
    /// Values keep their shape behind a loop that lanes leave one by one.
    Temporal,
    /// Edges from one block to another count as one.
    BlockLabels,
    /// What depends on which lanes execute it counts as the same in each round.
    Convergent,
    /// `tid_x` follows the lanes in blocks of any shape.
    Alignment,
    /// Signed division and remainder by a power of two are a shift and a mask.
    SignedShift,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::ExitLabels,
        Self::Temporal,
        Self::BlockLabels,
        Self::Convergent,
        Self::Alignment,
        Self::SignedShift,
    ];

    /// The launch that `inst` is taken to read.
    pub(super) fn launch(self, inst: &InstData, truth: LaunchShape) -> LaunchShape {
        match (self, inst.op) {
            (Self::Alignment, Opcode::TidX) => LaunchShape::one_dimensional(),
            _ => truth,
        }
    }

    /// The instruction that `inst` is taken for.
    pub(super) fn instead_of(self, inst: &InstData) -> Option<InstData> {
        let op = match (self, inst.op) {
            (Self::SignedShift, Opcode::Sdiv) => Opcode::Udiv,
            (Self::SignedShift, Opcode::Srem) => Opcode::Urem,
            _ => return None,
        };
        Some(InstData { op, ..inst.clone() })
    }
}
