//! How many memory transactions one request of a warp makes.
//!
//! A *request* is one memory instruction in which at least one lane goes
//! through. Global memory moves in 32-byte *sectors* of 128-byte *lines*: the
//! request costs the distinct ones its lanes touch. *Ideal* is the fewest sectors that
//! the bytes asked for could lie in, a byte that several lanes ask for counted once, so
//! it is never more. (Nsight Compute's `memory_l2_theoretical_sectors_global_ideal` is
//! "the number that would be needed, given each not predicated-off thread performed the
//! operation of the given width", Profiling Guide, Source Metrics: the same where no two
//! lanes ask for one byte.) Shared memory has 32 banks
//! of 4-byte words: in one *wavefront* every bank serves one word (to any
//! number of lanes), so the wavefronts are the most distinct words that fall
//! to one bank, and the wavefronts beyond the first are *bank conflicts*; ideally one
//! serves 128 bytes.
//! Local memory is interleaved, word `w` of lane `l` at `4 * (32 * w + l)`, so
//! that lanes using the same slot use neighbouring words; its sectors are those
//! of the interleaved addresses.

use smallvec::SmallVec;

use crate::memory::{LOCAL_BASE, SHARED_BASE};
use crate::registers::{LANES, lanes_of};

/// log2 of a sector's bytes.
const SECTOR: u32 = 5;
/// log2 of a line's bytes.
const LINE: u32 = 7;
/// Bytes that all banks of shared memory serve at once.
const WAVEFRONT: u64 = 128;

/// What a request touches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Extent {
    /// Distinct sectors.
    pub sectors: u64,
    /// Distinct lines.
    pub lines: u64,
    /// Distinct bytes.
    pub bytes: u64,
}

impl Extent {
    /// The extent of accesses of `bytes` bytes at the addresses of these lanes.
    pub(crate) fn of(address: &[u64; LANES], lanes: u32, bytes: u64) -> Self {
        // Addresses mostly rise with the lane; then no sorting is needed.
        let starts = || lanes_of(lanes).map(|i| address[i]);
        match Self::of_rising(starts(), bytes) {
            Some(extent) => extent,
            None => Self::of_sorted(starts(), bytes),
        }
    }

    /// The extent of so many bytes, at least one, at an address.
    pub(crate) fn of_stretch(start: u64, bytes: u64) -> Self {
        let last = start + (bytes - 1);
        let count = |shift: u32| (last >> shift) - (start >> shift) + 1;
        Self {
            sectors: count(SECTOR),
            lines: count(LINE),
            bytes,
        }
    }

    /// `None` where a start lies before the one before it.
    #[inline(always)]
    fn of_rising(mut starts: impl Iterator<Item = u64>, bytes: u64) -> Option<Self> {
        let Some(mut last_start) = starts.next() else {
            return Some(Self::default());
        };
        let mut last = last_start + (bytes - 1);
        let mut extent = Self::of_stretch(last_start, bytes);
        for start in starts {
            if start < last_start {
                return None;
            }
            last_start = start;
            let end = start + (bytes - 1);
            // Of the units up to the last one so far none is new.
            let new = |shift: u32| (end >> shift) + 1 - (start >> shift).max((last >> shift) + 1);
            extent.sectors += new(SECTOR);
            extent.lines += new(LINE);
            extent.bytes += new(0);
            last = end;
        }
        Some(extent)
    }

    #[cold]
    fn of_sorted(starts: impl Iterator<Item = u64>, bytes: u64) -> Self {
        let mut starts: SmallVec<[u64; LANES]> = starts.collect();
        starts.sort_unstable();
        Self::of_rising(starts.into_iter(), bytes).unwrap_or_default()
    }

    /// The fewest sectors that the bytes could lie in.
    pub(crate) fn ideal_sectors(self) -> u64 {
        self.bytes.div_ceil(1 << SECTOR)
    }

    /// The fewest wavefronts that the bytes could take.
    pub(crate) fn ideal_wavefronts(self) -> u64 {
        self.bytes.div_ceil(WAVEFRONT)
    }
}

fn distinct(units: impl Iterator<Item = u64>) -> SmallVec<[u64; 64]> {
    let mut all: SmallVec<[u64; 64]> = units.collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Wavefronts of a shared-memory request.
pub(crate) fn wavefronts(address: &[u64; LANES], lanes: u32, bytes: u64) -> u64 {
    let words = distinct(lanes_of(lanes).flat_map(|i| {
        let at = address[i] - SHARED_BASE;
        at / 4..=(at + (bytes - 1)) / 4
    }));
    let mut banks = [0u64; 32];
    for word in words {
        banks[(word % 32) as usize] += 1;
    }
    banks.into_iter().max().unwrap_or(0)
}

/// The extent of a local-memory request. Lanes have no byte in common.
pub(crate) fn local(address: &[u64; LANES], lanes: u32, bytes: u64) -> Extent {
    let interleaved = |shift: u32| {
        distinct(lanes_of(lanes).flat_map(|i| {
            let at = address[i] - LOCAL_BASE;
            let words = at / 4..=(at + (bytes - 1)) / 4;
            words.map(move |w| (4 * (32 * w + i as u64)) >> shift)
        }))
        .len() as u64
    };
    Extent {
        sectors: interleaved(SECTOR),
        lines: interleaved(LINE),
        bytes: bytes * u64::from(lanes.count_ones()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(f: impl Fn(u64) -> u64) -> [u64; LANES] {
        std::array::from_fn(|i| f(i as u64))
    }

    fn global(f: impl Fn(u64) -> u64, lanes: u32, bytes: u64) -> (u64, u64) {
        let extent = Extent::of(&at(f), lanes, bytes);
        (extent.sectors, extent.lines)
    }

    /// By the definition: every byte that some lane asks for, once.
    fn naive(address: &[u64; LANES], lanes: u32, bytes: u64) -> Extent {
        let all = distinct(lanes_of(lanes).flat_map(|i| address[i]..address[i] + bytes));
        let units = |shift: u32| distinct(all.iter().map(|b| b >> shift)).len() as u64;
        Extent {
            sectors: units(SECTOR),
            lines: units(LINE),
            bytes: all.len() as u64,
        }
    }

    #[test]
    fn sectors_and_lines_of_the_usual_patterns() {
        let all = u32::MAX;
        assert_eq!(global(|i| 4 * i, all, 4), (4, 1));
        assert_eq!(global(|i| 4 * i + 4, all, 4), (5, 2));
        assert_eq!(global(|i| 8 * i, all, 4), (8, 2));
        assert_eq!(global(|i| 32 * i, all, 4), (32, 8));
        assert_eq!(global(|i| 128 * i, all, 4), (32, 32));
        assert_eq!(global(|_| 0, all, 4), (1, 1));
        assert_eq!(global(|i| 4 * (31 - i), all, 4), (4, 1), "falling");
        assert_eq!(global(|i| 4 * i, 0xFF, 4), (1, 1));
        assert_eq!(global(|i| 4 * i, 0, 4), (0, 0));
    }

    #[test]
    fn an_access_across_a_border_touches_both_sides() {
        assert_eq!(global(|_| 30, 1, 4), (2, 1));
        assert_eq!(global(|_| 126, u32::MAX, 4), (2, 2));
        assert_eq!(global(|i| 16 * i + 8, u32::MAX, 16), (17, 5));
    }

    /// Rising, falling and mixed, apart and overlapping, at any alignment.
    #[test]
    fn extents_are_those_of_the_definition() {
        for bytes in [1, 2, 4, 8, 16] {
            for stride in [0, 1, 3, 4, 8, 12, 31, 32, 100] {
                for lanes in [u32::MAX, 0xFF, 0x5555_5555, 0x8000_0001, 0x10, 0] {
                    for order in [|i: u64| i, |i| 31 - i, |i| i * 5 % 32, |i| i / 2, |i| i % 3] {
                        for start in [0, 4, 30, 126] {
                            let a = at(|i| start + stride * order(i));
                            let row = at(|i| start + bytes * i);
                            let stretch = Extent::of_stretch(start, 32 * bytes);
                            assert_eq!(stretch, naive(&row, u32::MAX, bytes));
                            let extent = Extent::of(&a, lanes, bytes);
                            assert_eq!(extent, naive(&a, lanes, bytes), "{a:?} {lanes:#x}");
                            assert!(extent.ideal_sectors() <= extent.sectors);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn ideal_is_what_the_bytes_could_lie_in() {
        let ideal = |f: fn(u64) -> u64, lanes, bytes| {
            let extent = Extent::of(&at(f), lanes, bytes);
            (extent.sectors, extent.ideal_sectors())
        };
        let all = u32::MAX;
        assert_eq!(ideal(|i| 4 * i, all, 4), (4, 4), "coalesced");
        assert_eq!(ideal(|i| 4 * i + 4, all, 4), (5, 4), "misaligned");
        assert_eq!(ideal(|i| 128 * i, all, 4), (32, 4), "strided");
        assert_eq!(ideal(|_| 8, all, 4), (1, 1), "broadcast");
        assert_eq!(ideal(|i| 4 * (i / 2), all, 4), (2, 2), "in pairs");
        assert_eq!(ideal(|i| 32 * i, 0x3FF, 4), (10, 2), "ten lanes");
        assert_eq!(ideal(|i| i, all, 4), (2, 2), "overlapping: 35 bytes");
        assert_eq!(ideal(|i| 8 * i, all, 8), (8, 8));
        assert_eq!(ideal(|i| i, all, 1), (1, 1));
        assert_eq!(ideal(|_| 0, 0, 4), (0, 0));
    }

    #[test]
    fn wavefronts_are_the_fullest_bank() {
        let shared =
            |f: fn(u64) -> u64, lanes, bytes| wavefronts(&at(|i| SHARED_BASE + f(i)), lanes, bytes);
        let all = u32::MAX;
        assert_eq!(shared(|i| 4 * i, all, 4), 1);
        assert_eq!(shared(|i| 8 * i, all, 4), 2);
        assert_eq!(shared(|i| 16 * i, all, 4), 4);
        assert_eq!(shared(|i| 128 * i, all, 4), 32);
        assert_eq!(shared(|i| 132 * i, all, 4), 1);
        assert_eq!(shared(|_| 0, all, 4), 1);
        assert_eq!(shared(|i| 128 * i, 0xFFFF, 4), 16);
        assert_eq!(shared(|i| 128 * (i & 1), all, 4), 2);
        assert_eq!(shared(|i| 8 * i, all, 8), 2, "64 words, two a bank");
        assert_eq!(shared(|i| i, all, 1), 1);
    }

    #[test]
    fn local_memory_is_interleaved() {
        let of = |a: &[u64; LANES], lanes, bytes| {
            let e = local(a, lanes, bytes);
            (e.sectors, e.lines, e.ideal_sectors())
        };
        let same_slot = at(|_| LOCAL_BASE + 8);
        assert_eq!(of(&same_slot, u32::MAX, 4), (4, 1, 4));
        assert_eq!(of(&same_slot, u32::MAX, 8), (8, 2, 8));
        assert_eq!(of(&same_slot, 0x1, 4), (1, 1, 1));
        assert_eq!(
            of(&same_slot, u32::MAX, 1),
            (4, 1, 1),
            "a byte of each word"
        );
        let apart = at(|i| LOCAL_BASE + 4 * i);
        assert_eq!(of(&apart, u32::MAX, 4), (32, 32, 4));
    }
}
