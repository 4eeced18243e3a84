//! `warp_sync`: lanes of a warp wait for those that a mask names.
//!
//! The rule is that of CUDA's `__syncwarp(mask)` and PTX's `bar.warp.sync`: a lane
//! waits until every lane that its mask names has come to a `warp_sync` with the same
//! mask. Which instruction that is does not matter. Lanes that have left, or never
//! were, are not waited for; without an operand the mask names all 32 lanes.
//!
//! Where a lane's mask does not name itself CUDA leaves the behaviour undefined; here
//! the run ends with [`OutsideMask`](ExecError::OutsideMask). Lanes that execute one
//! `warp_sync` together may bring different masks, each of which must become complete;
//! they go on together when all have.
//!
//! With a reconvergence stack a named lane that does not execute the same instruction
//! together with the one that names it waits below it, so it can never come: that is
//! [`BarrierDivergence`](ExecError::BarrierDivergence) at once, as before Volta all
//! lanes of a mask had to be converged. With independent scheduling groups
//! wait, and [`its`](crate::its) keeps who came with which mask.

use smallvec::SmallVec;
use warpfold_ir::Opcode;

use crate::engine::Engine;
use crate::error::ExecError;
use crate::its::State;
use crate::launch::Mode;
use crate::registers::{Lane, lanes_of};
use crate::special::Special;
use crate::warp::Warp;

/// Masks with the lanes that bring them, by lowest lane.
pub(crate) type Masks = SmallVec<[(u32, u32); 2]>;

/// Lanes that a mask names and that must still come.
pub(crate) fn missing(mask: u32, arrived: u32, live: u32) -> u32 {
    mask & live & !arrived
}

impl Engine<'_> {
    /// The masks that lanes bring to the `warp_sync` that is op `i`.
    pub(crate) fn sync_masks(&self, w: &Warp, i: usize, lanes: u32) -> Masks {
        let op = &self.program.ops[i];
        let mut masks = Masks::new();
        if op.c == 0 {
            masks.push((u32::MAX, lanes));
            return masks;
        }
        let held = &u32::file(&w.registers)[usize::from(op.a)].0;
        for lane in lanes_of(lanes) {
            match masks.iter_mut().find(|m| m.0 == held[lane]) {
                Some(m) => m.1 |= 1 << lane,
                None => masks.push((held[lane], 1 << lane)),
            }
        }
        masks
    }

    /// Executes the `warp_sync` that is op `i`.
    pub(crate) fn warp_sync(
        &mut self,
        w: &mut Warp,
        i: usize,
        lanes: u32,
    ) -> Result<Special, ExecError> {
        let masks = self.sync_masks(w, i, lanes);
        let outside = masks.iter().fold(0, |all, (mask, with)| all | with & !mask);
        if outside != 0 {
            let lowest = outside & outside.wrapping_neg();
            let mask = masks.iter().find(|m| m.1 & lowest != 0);
            let (site, origin) = self.program.site(i);
            return Err(ExecError::OutsideMask {
                lanes: outside,
                mask: mask.map_or(0, |m| m.0),
                site,
                origin,
                function: w.state.function,
                grid_block: w.grid_block,
                warp: w.number,
            });
        }
        let incomplete = |&&(mask, with): &&(u32, u32)| missing(mask, with, w.live) != 0;
        match (masks.iter().find(incomplete), self.options.mode) {
            (None, _) => {
                self.synced(w, &masks);
                Ok(Special::Next)
            }
            (Some(&(mask, with)), Mode::Stack) => {
                Err(self.barrier_divergence(w, i, with, missing(mask, with, w.live)))
            }
            (Some(_), Mode::Its) => Ok(Special::Wait(State::WarpSync)),
        }
    }

    /// All lanes of these masks have come.
    pub(crate) fn synced(&mut self, w: &Warp, masks: &[(u32, u32)]) {
        if let Some(checker) = &mut self.checker {
            for &(mask, _) in masks {
                checker.warp_sync(w.number, mask);
            }
        }
    }
}

/// Whether a `warp_sync` of these functions names lanes, so that some lanes of a warp
/// may be ordered and others not.
pub(crate) fn names_lanes<'a>(
    mut functions: impl Iterator<Item = &'a warpfold_ir::Function>,
) -> bool {
    functions.any(|f| {
        let mut insts = f.laid_out_insts();
        insts.any(|(_, i)| f.inst(i).op == Opcode::WarpSync && !f.inst(i).args.is_empty())
    })
}
