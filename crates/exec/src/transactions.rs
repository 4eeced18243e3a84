//! How many memory transactions one request of a warp makes.
//!
//! A *request* is one memory instruction in which at least one lane goes
//! through. Global memory moves in 32-byte *sectors* of 128-byte *lines*: the
//! request costs the distinct ones its lanes touch. Shared memory has 32 banks
//! of 4-byte words: in one *wavefront* every bank serves one word (to any
//! number of lanes), so the wavefronts are the most distinct words that fall
//! to one bank, and the wavefronts beyond the first are *bank conflicts*.
//! Local memory is interleaved, word `w` of lane `l` at `4 * (32 * w + l)`, so
//! that lanes using the same slot use neighbouring words; its sectors are those
//! of the interleaved addresses.

use smallvec::SmallVec;

use crate::memory::{LOCAL_BASE, SHARED_BASE};
use crate::registers::{LANES, lanes_of};

/// log2 of a sector's bytes.
pub(crate) const SECTOR: u32 = 5;
/// log2 of a line's bytes.
pub(crate) const LINE: u32 = 7;

/// Distinct `2^shift`-byte units that accesses of `bytes` bytes at the
/// addresses of these lanes touch.
pub(crate) fn units(address: &[u64; LANES], lanes: u32, bytes: u64, shift: u32) -> u64 {
    // Addresses mostly rise with the lane; then no sorting is needed.
    let mut count = 0;
    let mut top: Option<u64> = None;
    for i in lanes_of(lanes) {
        let first = address[i] >> shift;
        let last = (address[i] + (bytes - 1)) >> shift;
        match top {
            None => count += last - first + 1,
            Some(top) if first > top => count += last - first + 1,
            Some(top) if first == top => count += last - top,
            Some(_) => return units_sorted(address, lanes, bytes, shift),
        }
        top = Some(last);
    }
    count
}

#[cold]
fn units_sorted(address: &[u64; LANES], lanes: u32, bytes: u64, shift: u32) -> u64 {
    distinct(lanes_of(lanes).flat_map(|i| {
        let first = address[i] >> shift;
        let last = (address[i] + (bytes - 1)) >> shift;
        first..=last
    }))
    .len() as u64
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

/// Sectors and lines of a local-memory request.
pub(crate) fn local(address: &[u64; LANES], lanes: u32, bytes: u64) -> (u64, u64) {
    let interleaved = |shift: u32| {
        distinct(lanes_of(lanes).flat_map(|i| {
            let at = address[i] - LOCAL_BASE;
            let words = at / 4..=(at + (bytes - 1)) / 4;
            words.map(move |w| (4 * (32 * w + i as u64)) >> shift)
        }))
        .len() as u64
    };
    (interleaved(SECTOR), interleaved(LINE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(f: impl Fn(u64) -> u64) -> [u64; LANES] {
        std::array::from_fn(|i| f(i as u64))
    }

    fn global(f: impl Fn(u64) -> u64, lanes: u32, bytes: u64) -> (u64, u64) {
        let a = at(f);
        (
            units(&a, lanes, bytes, SECTOR),
            units(&a, lanes, bytes, LINE),
        )
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

    #[test]
    fn rising_and_sorted_counts_agree() {
        // A permutation that is not monotone sees the same units.
        let rising = at(|i| 12 * i);
        let mixed = at(|i| 12 * ((i * 5) % 32));
        for shift in [SECTOR, LINE] {
            assert_eq!(
                units(&rising, u32::MAX, 8, shift),
                units(&mixed, u32::MAX, 8, shift)
            );
        }
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
        let same_slot = at(|_| LOCAL_BASE + 8);
        assert_eq!(local(&same_slot, u32::MAX, 4), (4, 1));
        assert_eq!(local(&same_slot, u32::MAX, 8), (8, 2));
        assert_eq!(local(&same_slot, 0x1, 4), (1, 1));
        let apart = at(|i| LOCAL_BASE + 4 * i);
        assert_eq!(local(&apart, u32::MAX, 4), (32, 32));
    }
}
