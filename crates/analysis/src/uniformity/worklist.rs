//! A set of small numbers that gives the least first.
//!
//! It starts full, so a number that was never given is in it; of those it keeps no
//! more than the least. Of the others, one bit a number, and above each 64 bits one
//! that says whether any of them is set; so both operations touch one word a level,
//! four levels for sixteen million numbers.

/// The set.
#[derive(Clone, Debug)]
pub(crate) struct Worklist {
    /// Numbers from here up to `end` are in it.
    fresh: u32,
    end: u32,
    /// Numbers below `fresh`, in the first level; the last level is one word.
    levels: Vec<Vec<u64>>,
}

impl Worklist {
    /// All of `0..n`; numbers from `n` on can never be in it.
    pub fn full(n: usize) -> Self {
        let mut levels = Vec::new();
        let mut bits = n;
        loop {
            bits = bits.div_ceil(64).max(1);
            levels.push(vec![0; bits]);
            if bits == 1 {
                return Self {
                    fresh: 0,
                    end: n as u32,
                    levels,
                };
            }
        }
    }

    /// Puts `i` in.
    #[inline]
    pub fn insert(&mut self, i: u32) {
        if i < self.fresh {
            self.put_back(i);
        }
    }

    fn put_back(&mut self, i: u32) {
        let mut at = i as usize;
        for level in &mut self.levels {
            let word = &mut level[at / 64];
            let known = *word != 0;
            *word |= 1 << (at % 64);
            if known {
                return;
            }
            at /= 64;
        }
    }

    /// Takes out the least.
    pub fn pop_first(&mut self) -> Option<u32> {
        let mut at = 0;
        for level in self.levels.iter().rev() {
            let word = level[at];
            if word == 0 {
                let least = self.fresh;
                self.fresh += u32::from(least < self.end);
                return (least < self.end).then_some(least);
            }
            at = at * 64 + word.trailing_zeros() as usize;
        }
        let least = at as u32;
        for level in &mut self.levels {
            let word = &mut level[at / 64];
            *word &= !(1 << (at % 64));
            if *word != 0 {
                break;
            }
            at /= 64;
        }
        Some(least)
    }
}

impl Extend<u32> for Worklist {
    fn extend<T: IntoIterator<Item = u32>>(&mut self, all: T) {
        for i in all {
            self.insert(i);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Worklist;

    #[test]
    fn full_sets_give_everything_in_order() {
        for n in [0, 1, 63, 64, 65, 4096, 4097, 262_145] {
            let mut all = Worklist::full(n);
            let popped: Vec<u32> = std::iter::from_fn(|| all.pop_first()).collect();
            assert_eq!(popped, (0..n as u32).collect::<Vec<_>>());
        }
    }

    #[test]
    fn numbers_come_back_in_order_whenever_they_go_in() {
        let mut set = Worklist::full(300_000);
        while set.pop_first().is_some() {}
        set.extend([299_999, 5, 64, 5]);
        assert_eq!(set.pop_first(), Some(5));
        set.insert(3);
        set.insert(70_000);
        let rest: Vec<u32> = std::iter::from_fn(|| set.pop_first()).collect();
        assert_eq!(rest, [3, 64, 70_000, 299_999]);
    }
}
