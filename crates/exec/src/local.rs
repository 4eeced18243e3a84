//! Stack slots of a warp: one piece of memory for each frame that has slots.
//!
//! Lanes see the slots of all frames at once, each frame's at addresses of its
//! own above its caller's, so that a callee reaches a slot that it is handed
//! the address of. Each lane has bytes of its own behind an address. A frame's
//! bytes are zero when it begins, and unmapped when it is gone.
//!
//! Where lanes are scheduled on their own their frames are a tree and come and go
//! in any order; then a lane sees the pieces of its own frames only, and the bytes
//! of a piece that is gone are used for the next one of the same size.

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
    /// Lanes that see it.
    lanes: u32,
    /// Whether its frame is gone.
    free: bool,
}

/// The slots of a warp's frames.
#[derive(Clone, Debug, Default)]
pub(crate) struct LocalStack {
    bytes: Vec<u8>,
    pieces: Vec<Piece>,
    /// Whether lanes see different pieces.
    tree: bool,
}

/// Where a frame's slots lie that has been placed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed {
    /// How far their addresses are above those of a frame at [`LOCAL_BASE`].
    pub offset: u64,
    /// The piece; none of a frame without slots.
    pub mark: Option<LocalMark>,
    /// The first address above it.
    pub end: u64,
}

/// How many frames with slots lie below a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LocalMark(usize);

impl LocalStack {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.pieces.clear();
        self.tree = false;
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
            lanes: u32::MAX,
            free: false,
        });
        Some(base - LOCAL_BASE)
    }

    /// Where the slots lie of the frame that `mark` was taken before, which is the
    /// last one.
    pub(crate) fn placed(&self, mark: LocalMark) -> Placed {
        let piece = self.pieces.get(mark.0);
        Placed {
            offset: piece.map_or(0, |p| p.base - LOCAL_BASE),
            mark: piece.map(|_| mark),
            end: piece.map_or(LOCAL_BASE, |p| p.base + p.bytes),
        }
    }

    /// The same for a frame of some lanes only, above what they have up to `top`.
    /// Frames of other lanes may have the same addresses.
    pub(crate) fn place(
        &mut self,
        slots: &Rc<[SlotPlace]>,
        (bytes, align): (u64, u64),
        top: u64,
        lanes: u32,
    ) -> Option<Placed> {
        if slots.is_empty() {
            return Some(Placed {
                offset: 0,
                mark: None,
                end: top,
            });
        }
        let base = top.checked_next_multiple_of(align)?;
        if base + bytes > LOCAL_BASE + MAX_LOCAL {
            return None;
        }
        self.tree = true;
        let free = (self.pieces.iter()).position(|p| p.free && p.bytes == bytes);
        let size = LANES * bytes as usize;
        let start = free.map_or(self.bytes.len(), |i| self.pieces[i].start);
        self.bytes.resize(self.bytes.len().max(start + size), 0);
        self.bytes[start..start + size].fill(0);
        let piece = Piece {
            base,
            bytes,
            start,
            slots: slots.clone(),
            lanes,
            free: false,
        };
        let mark = match free {
            Some(i) => {
                self.pieces[i] = piece;
                i
            }
            None => {
                self.pieces.push(piece);
                self.pieces.len() - 1
            }
        };
        Some(Placed {
            offset: base - LOCAL_BASE,
            mark: Some(LocalMark(mark)),
            end: base + bytes,
        })
    }

    /// Lanes see a piece no longer.
    pub(crate) fn hide(&mut self, mark: LocalMark, lanes: u32) {
        if let Some(piece) = self.pieces.get_mut(mark.0) {
            piece.lanes &= !lanes;
            self.tree = true;
        }
    }

    /// Nobody sees a piece any longer.
    pub(crate) fn free(&mut self, mark: LocalMark) {
        self.hide(mark, u32::MAX);
        if let Some(piece) = self.pieces.get_mut(mark.0) {
            piece.free = true;
        }
        while let Some(piece) = self.pieces.pop_if(|p| p.free) {
            self.bytes.truncate(piece.start);
        }
    }

    /// Where lane `lane` has the `len` bytes at `address`, if one slot holds
    /// all of them.
    #[inline(always)]
    pub(crate) fn find(&self, lane: usize, address: u64, len: usize) -> Option<usize> {
        let at = match self.pieces.as_slice() {
            all if self.tree => {
                let sees = |p: &Piece| p.base <= address && address < p.base + p.bytes;
                all.iter()
                    .rposition(|p| p.lanes >> lane & 1 == 1 && sees(p))?
            }
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
