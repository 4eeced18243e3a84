//! Groups of lanes at `warp_sync`s.
//!
//! Each lane waits with the mask that it brought, until every live lane that the mask
//! names waits with the same one; see [`warp_sync`](crate::warp_sync). A group goes on
//! when that has happened for all its lanes. This is looked at after each arrival and
//! each exit.

use super::{Its, State};
use crate::engine::Engine;
use crate::registers::{LANES, lanes_of};
use crate::warp::Warp;
use crate::warp_sync::{Masks, missing};

/// Lanes at `warp_sync`s, and what they wait for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Syncs {
    /// Lanes whose mask is not complete.
    waiting: u32,
    /// Lanes whose mask is, while others of their group wait.
    done: u32,
    /// Masks of those that wait.
    masks: [u32; LANES],
}

impl Syncs {
    /// Lanes that wait with this mask.
    fn with(&self, mask: u32) -> u32 {
        let same = lanes_of(self.waiting).filter(|&l| self.masks[l] == mask);
        same.fold(0, |lanes, l| lanes | 1 << l)
    }

    /// Lanes come with masks.
    fn come(&mut self, masks: &Masks) {
        for &(mask, lanes) in masks {
            self.waiting |= lanes;
            for lane in lanes_of(lanes) {
                self.masks[lane] = mask;
            }
        }
    }

    /// The masks that are complete, which nobody waits with any more.
    fn complete(&mut self, live: u32) -> Masks {
        let mut complete = Masks::new();
        for lane in lanes_of(self.waiting) {
            let mask = self.masks[lane];
            let lanes = self.with(mask);
            // The first lane with this mask stands for all.
            let first = lanes.trailing_zeros() as usize == lane;
            if first && missing(mask, lanes, live) == 0 {
                complete.push((mask, lanes));
            }
        }
        for (_, lanes) in &complete {
            self.waiting &= !lanes;
            self.done |= lanes;
        }
        complete
    }

    /// Of the lanes of a group: those that wait with the mask of the lowest one that
    /// waits, wherever they are, and those that it names and that have not come.
    pub(crate) fn in_vain(&self, group: u32, live: u32) -> Option<(u32, u32)> {
        let lane = lanes_of(group & self.waiting).next()?;
        let mask = self.masks[lane];
        let arrived = self.with(mask);
        Some((arrived, missing(mask, arrived, live)))
    }
}

impl Its {
    /// Groups whose lanes need to wait no longer can go on.
    fn wake_synced(&mut self) {
        for group in &mut self.groups {
            if group.state == State::WarpSync && group.mask & !self.syncs.done == 0 {
                group.state = State::Ready;
                self.syncs.done &= !group.mask;
            }
        }
    }

    /// Who waits in vain; see [`Syncs::in_vain`].
    pub(crate) fn synced_in_vain(&self, group: u32, live: u32) -> Option<(u32, u32)> {
        self.syncs.in_vain(group, live)
    }
}

impl Engine<'_> {
    /// A group has come to the `warp_sync` that is op `i` of the function that runs.
    pub(crate) fn come_to_sync(&mut self, w: &mut Warp, i: usize, lanes: u32) {
        let masks = self.sync_masks(w, i, lanes);
        w.its.syncs.come(&masks);
        self.release_syncs(w);
    }

    /// Lets go on whose masks are complete.
    pub(crate) fn release_syncs(&mut self, w: &mut Warp) {
        if w.its.syncs.waiting == 0 {
            return;
        }
        let complete = w.its.syncs.complete(w.live);
        if !complete.is_empty() {
            self.synced(w, &complete);
            w.its.wake_synced();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masks(all: &[(u32, u32)]) -> Masks {
        Masks::from_slice(all)
    }

    #[test]
    fn lanes_with_equal_masks_pair() {
        let mut s = Syncs::default();
        s.come(&masks(&[(0x3, 0x1), (0xC, 0x4)]));
        assert_eq!(s.complete(0xF), masks(&[]));
        assert_eq!(s.in_vain(0x5, 0xF), Some((0x1, 0x2)));
        s.come(&masks(&[(0xF, 0x2), (0xC, 0x8)]));
        // Lane 1 came with another mask than lane 0.
        assert_eq!(s.complete(0xF), masks(&[(0xC, 0xC)]));
        assert_eq!((s.waiting, s.done), (0x3, 0xC));
        assert_eq!(s.in_vain(0xC, 0xF), None);
        assert_eq!(s.in_vain(0x2, 0xF), Some((0x2, 0xD)));
    }

    #[test]
    fn lanes_that_left_are_not_waited_for() {
        let mut s = Syncs::default();
        s.come(&masks(&[(0x7, 0x1)]));
        assert_eq!(s.complete(0x7), masks(&[]));
        assert_eq!(s.complete(0x1), masks(&[(0x7, 0x1)]));
    }
}
