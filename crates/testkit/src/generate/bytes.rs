//! The source of every choice: a string of bytes.
//!
//! A generator that reads its choices from bytes can be driven by anything
//! that makes bytes. Past the end everything reads as zero, and zero is always
//! the smallest choice, so cutting bytes off and lowering them both make a
//! program smaller: that is how proptest shrinks one.

/// Bytes to generate from, for a number: the same in every run.
///
/// They are made by splitmix64 (Steele, Lea and Flood, "Fast splittable
/// pseudorandom number generators", 2014).
pub fn random_bytes(mut seed: u64, lengths: std::ops::Range<usize>) -> Vec<u8> {
    let mut next = || {
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let len = lengths.start + next() as usize % lengths.len().max(1);
    (0..len).map(|_| (next() >> 56) as u8).collect()
}

/// Reads choices.
#[derive(Clone, Debug)]
pub struct Bytes<'a> {
    left: &'a [u8],
}

impl<'a> Bytes<'a> {
    /// Reads from the beginning of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { left: bytes }
    }

    /// Whether all bytes have been read.
    pub fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// The next byte; 0 past the end.
    pub fn byte(&mut self) -> u8 {
        match self.left.split_first() {
            Some((&first, rest)) => {
                self.left = rest;
                first
            }
            None => 0,
        }
    }

    /// The next two bytes as a number.
    pub fn word(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    /// A number below `n`; 0 if `n` is 0 or 1, without reading.
    pub fn below(&mut self, n: usize) -> usize {
        if n <= 1 {
            return 0;
        }
        match n <= 256 {
            true => usize::from(self.byte()) % n,
            false => usize::from(self.word()) % n,
        }
    }

    /// True in about `n` of 256 cases, and never past the end.
    pub fn chance(&mut self, n: u8) -> bool {
        // From the top, so that a lowered byte is a refusal.
        self.byte() > 255 - n
    }

    /// One of `items`.
    ///
    /// # Panics
    /// If there are none.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn past_the_end_every_choice_is_the_smallest() {
        let mut b = Bytes::new(&[7, 255]);
        assert_eq!((b.below(5), b.is_empty()), (2, false));
        assert!(b.chance(1));
        assert!(b.is_empty());
        assert_eq!((b.byte(), b.word(), b.below(300), b.below(0)), (0, 0, 0, 0));
        assert!(!b.chance(255));
        assert_eq!(b.pick(&['x', 'y']), 'x');
    }

    #[test]
    fn numbers_make_bytes() {
        let (a, b) = (random_bytes(1, 5..9), random_bytes(2, 5..9));
        assert!((5..9).contains(&a.len()) && a != b);
        assert_eq!(a, random_bytes(1, 5..9));
        assert!(random_bytes(1, 0..0).is_empty());
    }

    #[test]
    fn large_ranges_read_two_bytes() {
        let mut b = Bytes::new(&[1, 1, 9]);
        assert_eq!(b.below(1000), 257);
        assert_eq!(b.byte(), 9);
    }
}
