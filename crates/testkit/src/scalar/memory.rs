//! Memory as one thread sees it: buffers, its block's shared memory, its own slots.

use warpfold::exec::{LOCAL_BASE, Launch, MAX_LOCAL, SHARED_BASE};
use warpfold::ir::{Function, MemFlags, TrapCode};

/// A mapped range of addresses.
#[derive(Clone, Debug)]
pub(super) struct Range {
    pub base: u64,
    pub bytes: Vec<u8>,
    readonly: bool,
}

impl Range {
    fn find(&self, address: u64, len: usize) -> Option<usize> {
        let at = usize::try_from(address.checked_sub(self.base)?).ok()?;
        (at.checked_add(len)? <= self.bytes.len()).then_some(at)
    }
}

/// The stack slots of a frame.
#[derive(Clone, Debug, Default)]
pub(super) struct Slots {
    pub ranges: Vec<Range>,
    /// Where those of the next frame may begin.
    pub end: u64,
}

impl Slots {
    /// The slots of a function above what its caller has; `None` where a thread
    /// would have too many bytes.
    pub(super) fn above(func: &Function, below: u64) -> Option<Self> {
        if func.slots.is_empty() {
            return Some(Self {
                ranges: Vec::new(),
                end: below,
            });
        }
        // Apart and aligned, as the executor's.
        let widest = func.slots.values().map(|s| s.align).max().unwrap_or(1);
        let base = below.next_multiple_of(u64::from(widest.max(16)));
        let mut next = base;
        let mut ranges = Vec::new();
        for slot in func.slots.values() {
            let at = next.next_multiple_of(u64::from(slot.align.max(16)));
            ranges.push(Range {
                base: at,
                bytes: vec![0; slot.size as usize],
                readonly: false,
            });
            next = at + u64::from(slot.size) + 16;
        }
        (next <= LOCAL_BASE + MAX_LOCAL).then_some(Self { ranges, end: next })
    }
}

/// What all threads reach.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    buffers: Vec<Range>,
    shared: Range,
}

/// An access.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub address: u64,
    pub len: usize,
    pub flags: MemFlags,
    pub writes: bool,
}

impl Memory {
    pub(super) fn new(launch: &Launch) -> Self {
        let memory = &launch.memory;
        let buffer = |i| Range {
            base: memory.address(i),
            bytes: memory.bytes(i).to_vec(),
            readonly: memory.is_readonly(i),
        };
        Self {
            buffers: (0..memory.len()).map(buffer).collect(),
            shared: Range {
                base: SHARED_BASE,
                bytes: vec![0; launch.shared as usize],
                readonly: false,
            },
        }
    }

    /// Shared memory is fresh in each block.
    pub(super) fn new_block(&mut self) {
        self.shared.bytes.fill(0);
    }

    pub(super) fn into_buffers(self) -> Vec<Vec<u8>> {
        self.buffers.into_iter().map(|b| b.bytes).collect()
    }

    /// The bytes that an access goes to, if it may.
    pub(super) fn bytes<'a>(
        &'a mut self,
        slots: impl Iterator<Item = &'a mut Slots>,
        access: Access,
    ) -> Result<&'a mut [u8], TrapCode> {
        let Access { address, len, .. } = access;
        let aligned = access.flags.contains(MemFlags::ALIGNED);
        if aligned && !address.is_multiple_of(len.max(1) as u64) {
            return Err(TrapCode::HeapMisaligned);
        }
        let own = slots.flat_map(|s| &mut s.ranges);
        let all = (self.buffers.iter_mut())
            .chain([&mut self.shared])
            .chain(own);
        for range in all {
            if let Some(at) = range.find(address, len)
                && !(access.writes && range.readonly)
            {
                return Ok(&mut range.bytes[at..at + len]);
            }
        }
        Err(access.flags.trap_code())
    }
}

/// The number that some bytes hold.
pub(super) fn read(bytes: &[u8], flags: MemFlags) -> u128 {
    let step = |n: u128, &b: &u8| n << 8 | u128::from(b);
    match flags.contains(MemFlags::BIG) {
        true => bytes.iter().fold(0, step),
        false => bytes.iter().rev().fold(0, step),
    }
}

/// Puts a number's low bytes there.
pub(super) fn write(n: u128, bytes: &mut [u8], flags: MemFlags) {
    let len = bytes.len();
    bytes.copy_from_slice(&n.to_le_bytes()[..len]);
    if flags.contains(MemFlags::BIG) {
        bytes.reverse();
    }
}
