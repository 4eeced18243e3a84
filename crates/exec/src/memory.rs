//! Memory: the one generic address space that a launch sees.
//!
//! ```text
//! 0                unmapped
//! FUNCTION_BASE    unmapped: addresses of functions, 16 apart
//! SHARED_BASE      shared memory of the block, fresh and zero in each block
//! LOCAL_BASE       stack slots: the same addresses in every lane, each lane
//!                  has bytes of its own behind them; slots lie apart, those
//!                  of a callee above its caller's
//! GLOBAL_BASE      the launch's buffers, in the order they were added
//! ```
//!
//! Every buffer starts at a multiple of 4096 (so also of a 128-byte line), the
//! first exactly at [`GLOBAL_BASE`], and at least 4096 unmapped bytes follow
//! each; addresses depend only on the sizes of the buffers before. As long as
//! the buffers take less than 3.75 GiB everything lies below 4 GiB and 32-bit
//! pointers, which zero-extend, reach it.
//!
//! An access must lie in one mapped range as a whole, else the lane traps with
//! `heap_oob`; so does a store to a read-only buffer, whose bytes are for
//! writing as good as unmapped. Numbers are little-endian.

/// Where the addresses of functions begin. Nothing is mapped there.
pub const FUNCTION_BASE: u64 = 0x0010_0000;
/// Where the block's shared memory begins.
pub const SHARED_BASE: u64 = 0x0100_0000;
/// Where each lane's stack slots begin.
pub const LOCAL_BASE: u64 = 0x0400_0000;
/// Where the first buffer begins.
pub const GLOBAL_BASE: u64 = 0x1000_0000;

/// Most bytes of shared memory that a launch may ask for.
pub const MAX_SHARED: u32 = 1 << 24;
/// Most bytes of stack slots, padding included, that a lane may have; of all
/// its frames together.
pub const MAX_LOCAL: u64 = 1 << 24;

/// Buffers start at multiples of this, and at least so many unmapped bytes
/// separate them.
const GAP: u64 = 4096;

/// The buffers of a launch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Memory {
    buffers: Vec<Buffer>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Buffer {
    base: u64,
    bytes: Vec<u8>,
    readonly: bool,
}

impl Buffer {
    fn end(&self) -> u64 {
        self.base + self.bytes.len() as u64
    }
}

/// A mapped place: buffer number and offset in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Location {
    pub buffer: usize,
    pub offset: usize,
}

impl Memory {
    /// No buffers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a buffer with these contents and returns its address, a multiple
    /// of 4096; the first buffer's is [`GLOBAL_BASE`].
    pub fn add(&mut self, bytes: Vec<u8>, readonly: bool) -> u64 {
        let base = match self.buffers.last() {
            None => GLOBAL_BASE,
            Some(last) => (last.end() + GAP).next_multiple_of(GAP),
        };
        self.buffers.push(Buffer {
            base,
            bytes,
            readonly,
        });
        base
    }

    /// Number of buffers.
    pub fn len(&self) -> usize {
        self.buffers.len()
    }

    /// Whether there are no buffers.
    pub fn is_empty(&self) -> bool {
        self.buffers.is_empty()
    }

    /// The contents of buffer `i`, in the order of [`Memory::add`].
    ///
    /// # Panics
    /// If there is no such buffer.
    pub fn bytes(&self, i: usize) -> &[u8] {
        &self.buffers[i].bytes
    }

    /// The address of buffer `i`.
    ///
    /// # Panics
    /// If there is no such buffer.
    pub fn address(&self, i: usize) -> u64 {
        self.buffers[i].base
    }

    /// Whether the byte at `address` is in a read-only buffer.
    pub(crate) fn is_readonly_at(&self, address: u64) -> bool {
        self.locate(address, 1)
            .is_some_and(|at| self.buffers[at.buffer].readonly)
    }

    /// Whether buffer `i` is read-only.
    ///
    /// # Panics
    /// If there is no such buffer.
    pub fn is_readonly(&self, i: usize) -> bool {
        self.buffers[i].readonly
    }

    /// The first address past the last buffer.
    pub fn end(&self) -> u64 {
        self.buffers.last().map_or(GLOBAL_BASE, Buffer::end)
    }

    /// The bytes of an address range, when one buffer holds all of it.
    pub fn read(&self, address: u64, len: usize) -> Option<&[u8]> {
        let at = self.locate(address, len)?;
        Some(self.slice(at, len))
    }

    /// Finds the buffer that holds `len` bytes at `address`.
    pub(crate) fn locate(&self, address: u64, len: usize) -> Option<Location> {
        let buffer = self
            .buffers
            .partition_point(|b| b.base <= address)
            .checked_sub(1)?;
        self.locate_in(buffer, address, len)
    }

    /// The same where the buffer is most likely `buffer`.
    #[inline(always)]
    pub(crate) fn locate_in(&self, buffer: usize, address: u64, len: usize) -> Option<Location> {
        let b = self.buffers.get(buffer)?;
        let offset = address.checked_sub(b.base)?;
        let room = b.bytes.len() as u64;
        (offset <= room && len as u64 <= room - offset).then_some(Location {
            buffer,
            offset: offset as usize,
        })
    }

    #[inline(always)]
    pub(crate) fn slice(&self, at: Location, len: usize) -> &[u8] {
        &self.buffers[at.buffer].bytes[at.offset..at.offset + len]
    }

    /// The bytes to write to, unless the buffer is read-only.
    #[inline(always)]
    pub(crate) fn slice_mut(&mut self, at: Location, len: usize) -> Option<&mut [u8]> {
        let b = &mut self.buffers[at.buffer];
        (!b.readonly).then(|| &mut b.bytes[at.offset..at.offset + len])
    }
}

/// Where a stack slot lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SlotPlace {
    /// Address as the lane sees it.
    pub address: u64,
    /// Bytes.
    pub size: u64,
}

/// Lays stack slots out, aligned and with unmapped bytes between them, so
/// that running off one slot does not reach the next. Also returns the bytes
/// of a lane. `None` when they are more than [`MAX_LOCAL`].
pub(crate) fn place_slots(
    slots: impl Iterator<Item = (u32, u32)>,
) -> Option<(Vec<SlotPlace>, u64)> {
    const SLOT_GAP: u64 = 16;
    let mut next = LOCAL_BASE;
    let mut places = Vec::new();
    for (size, align) in slots {
        let address = next.next_multiple_of(u64::from(align.max(1)).max(SLOT_GAP));
        let size = u64::from(size);
        places.push(SlotPlace { address, size });
        next = address + size + SLOT_GAP;
        if next - LOCAL_BASE > MAX_LOCAL {
            return None;
        }
    }
    Some((places, next - LOCAL_BASE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_lie_apart_and_aligned() {
        let mut m = Memory::new();
        let a = m.add(vec![0; 10], false);
        let b = m.add(vec![1; 4096], true);
        let c = m.add(vec![], false);
        assert_eq!(a, GLOBAL_BASE);
        assert_eq!(b, GLOBAL_BASE + 8192, "10 bytes, a gap of at least 4096");
        assert_eq!(c, b + 8192);
        assert_eq!([a % 4096, b % 4096, c % 4096], [0, 0, 0]);
        assert_eq!(m.bytes(1), &[1; 4096][..]);
        assert!(m.is_readonly(1) && !m.is_readonly(0));
        assert_eq!(m.end(), c);
    }

    #[test]
    fn accesses_must_lie_inside_one_buffer() {
        let mut m = Memory::new();
        let a = m.add((0..10).collect(), false);
        assert_eq!(m.read(a + 6, 4), Some(&[6u8, 7, 8, 9][..]));
        assert_eq!(m.read(a + 7, 4), None);
        assert_eq!(m.read(a - 1, 1), None);
        assert_eq!(m.read(u64::MAX - 1, 4), None);
        assert_eq!(m.read(a + 10, 0), Some(&[][..]));
        assert_eq!(Memory::new().read(0, 0), None);
    }

    #[test]
    fn read_only_buffers_give_no_place_to_write() {
        let mut m = Memory::new();
        let a = m.add(vec![0; 4], true);
        let at = m.locate(a, 4).unwrap();
        assert_eq!(m.slice_mut(at, 4), None);
    }

    #[test]
    fn slots_are_aligned_and_apart() {
        let (slots, bytes) = place_slots([(4, 4), (1, 64), (8, 8)].into_iter()).unwrap();
        assert_eq!(slots[0].address, LOCAL_BASE);
        assert_eq!(slots[1].address, LOCAL_BASE + 64);
        assert_eq!(slots[2].address, LOCAL_BASE + 96);
        assert_eq!(bytes, 96 + 8 + 16);
        assert_eq!(place_slots([(u32::MAX, 1)].into_iter()), None);
    }
}
