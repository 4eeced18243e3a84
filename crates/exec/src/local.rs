//! Stack slots of a warp: one piece of memory for each frame that has slots.
//!
//! Lanes see the slots of all frames at once, each frame's at addresses of its
//! own above its caller's, so that a callee reaches a slot that it is handed
//! the address of. Each lane has bytes of its own behind an address. A frame's
//! bytes are zero when it begins, and unmapped when it is gone.

use std::rc::Rc;

use crate::memory::{LOCAL_BASE, MAX_LOCAL, SlotPlace};
use crate::registers::LANES;

/// The slots of one frame.
#[derive(Clone, Debug)]
struct Piece {
    /// Address of the first byte.
    base: u64,
    /// Bytes of a lane.
    bytes: u64,
    /// Where the lanes' bytes begin, lane by lane.
    start: usize,
    /// Addresses are those of a frame at [`LOCAL_BASE`].
    slots: Rc<[SlotPlace]>,
}

/// The slots of a warp's frames.
#[derive(Clone, Debug, Default)]
pub(crate) struct LocalStack {
    bytes: Vec<u8>,
    pieces: Vec<Piece>,
}

/// How many frames with slots lie below a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LocalMark(usize);

impl LocalStack {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.pieces.clear();
    }

    pub(crate) fn mark(&self) -> LocalMark {
        LocalMark(self.pieces.len())
    }

    /// Removes the slots of the frame that `mark` was taken before, and those
    /// above.
    pub(crate) fn release(&mut self, mark: LocalMark) {
        if let Some(piece) = self.pieces.get(mark.0) {
            self.bytes.truncate(piece.start);
            self.pieces.truncate(mark.0);
        }
    }

    /// Makes room for the slots of a frame, `bytes` of each lane. Returns by
    /// how much their addresses are above those that `slots` says; `None`
    /// where a lane would have too many bytes.
    pub(crate) fn push(&mut self, slots: &Rc<[SlotPlace]>, bytes: u64, align: u64) -> Option<u64> {
        if slots.is_empty() {
            return Some(0);
        }
        let top = self.pieces.last().map_or(LOCAL_BASE, |p| p.base + p.bytes);
        let base = top.checked_next_multiple_of(align)?;
        if base + bytes > LOCAL_BASE + MAX_LOCAL {
            return None;
        }
        let start = self.bytes.len();
        self.bytes.resize(start + LANES * bytes as usize, 0);
        self.pieces.push(Piece {
            base,
            bytes,
            start,
            slots: slots.clone(),
        });
        Some(base - LOCAL_BASE)
    }

    /// Where lane `lane` has the `len` bytes at `address`, if one slot holds
    /// all of them.
    #[inline(always)]
    pub(crate) fn find(&self, lane: usize, address: u64, len: usize) -> Option<usize> {
        let at = match self.pieces.as_slice() {
            [_] => 0,
            all => all.partition_point(|p| p.base <= address).checked_sub(1)?,
        };
        let piece = self.pieces.get(at)?;
        let offset = address.checked_sub(piece.base)?;
        let (from, end) = (LOCAL_BASE + offset, LOCAL_BASE + offset + len as u64);
        piece
            .slots
            .iter()
            .any(|s| s.address <= from && end <= s.address + s.size)
            .then(|| piece.start + lane * piece.bytes as usize + offset as usize)
    }

    #[inline(always)]
    pub(crate) fn slice(&self, at: usize, len: usize) -> &[u8] {
        &self.bytes[at..at + len]
    }

    #[inline(always)]
    pub(crate) fn slice_mut(&mut self, at: usize, len: usize) -> &mut [u8] {
        &mut self.bytes[at..at + len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::place_slots;

    #[test]
    fn frames_have_slots_of_their_own() {
        let (slots, bytes) = place_slots([(8, 8)].into_iter()).unwrap();
        let slots: Rc<[SlotPlace]> = slots.into();
        let mut local = LocalStack::default();
        let first = local.mark();
        assert_eq!(local.push(&slots, bytes, 64), Some(0));
        let second = local.mark();
        assert_eq!(local.push(&slots, bytes, 64), Some(64));
        let (a, b) = (LOCAL_BASE, LOCAL_BASE + 64);
        let at = local.find(3, a, 8).unwrap();
        local.slice_mut(at, 8).fill(7);
        let above = local.find(3, b, 8).unwrap();
        assert_eq!(local.slice(above, 8), [0; 8]);
        assert_ne!(local.find(2, a, 8), Some(at), "lanes lie apart");
        assert_eq!(local.find(3, a + 1, 8), None, "past the slot");
        local.release(second);
        assert_eq!(local.find(3, b, 8), None);
        assert_eq!(local.push(&slots, bytes, 64), Some(64));
        assert_eq!(local.slice(local.find(3, b, 8).unwrap(), 8), [0; 8]);
        local.release(first);
        assert_eq!(local.find(3, a, 8), None);
    }

    #[test]
    fn a_lane_has_so_many_bytes_and_no_more() {
        let (slots, bytes) = place_slots([(1 << 20, 16)].into_iter()).unwrap();
        let slots: Rc<[SlotPlace]> = slots.into();
        let mut local = LocalStack::default();
        let frames = (0..64)
            .take_while(|_| local.push(&slots, bytes, 16).is_some())
            .count();
        assert_eq!(frames as u64, MAX_LOCAL / bytes);
        let none: Rc<[SlotPlace]> = Rc::new([]);
        assert_eq!(local.push(&none, 0, 1), Some(0), "no slots, no room");
    }
}
