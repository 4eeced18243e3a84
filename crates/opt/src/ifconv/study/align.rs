//! Aligning two sequences: which elements of one go with which of the other,
//! in order on both, for the greatest sum of scores.
//!
//! Global alignment without a price for gaps (Needleman and Wunsch, "A General
//! Method Applicable to the Search for Similarities in the Amino Acid Sequence
//! of Two Proteins", 1970), by dynamic programming over pairs of suffixes. Time and
//! space are the product of the lengths, so whoever calls bounds these. Among
//! alignments with one sum it is the one that pairs what comes first, and where
//! that leaves a choice the one that leaves elements of the first sequence out.

/// The best alignment of `rows` elements with `columns` elements: pairs of
/// positions, increasing on both sides. Only pairs with a score above zero are
/// made; `None` is a pair that must not be.
pub(super) fn align(
    rows: usize,
    columns: usize,
    score: impl Fn(usize, usize) -> Option<i64>,
) -> Vec<(usize, usize)> {
    let width = columns + 1;
    // By pair of suffixes, what the best alignment of them is worth and the
    // score of the pair that they begin with.
    let mut best = vec![0i64; (rows + 1) * width];
    let mut scores = vec![0i64; rows * columns];
    for i in (0..rows).rev() {
        for j in (0..columns).rev() {
            let worth = score(i, j).unwrap_or(0).max(0);
            scores[i * columns + j] = worth;
            let without = best[(i + 1) * width + j].max(best[i * width + j + 1]);
            let with = worth + best[(i + 1) * width + j + 1];
            best[i * width + j] = without.max(with);
        }
    }
    let mut pairs = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < rows && j < columns {
        let here = best[i * width + j];
        let worth = scores[i * columns + j];
        if worth > 0 && here == worth + best[(i + 1) * width + j + 1] {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if here == best[(i + 1) * width + j] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters(a: &str, b: &str) -> Vec<(usize, usize)> {
        let (a, b) = (a.as_bytes(), b.as_bytes());
        // A capital is worth three small letters.
        let worth = |c: u8| if c.is_ascii_uppercase() { 3 } else { 1 };
        let score = |i: usize, j: usize| (a[i] == b[j]).then(|| worth(a[i]));
        align(a.len(), b.len(), score)
    }

    #[test]
    fn the_greatest_sum_wins_and_order_is_kept() {
        assert_eq!(letters("abc", "abc"), [(0, 0), (1, 1), (2, 2)]);
        assert_eq!(letters("abc", "bca"), [(1, 0), (2, 1)]);
        // One that is worth more than two before it.
        assert_eq!(letters("abC", "Cab"), [(2, 0)]);
        assert_eq!(letters("abc", "xyz"), []);
        assert_eq!(letters("", "abc"), []);
    }

    #[test]
    fn ties_pair_what_comes_first() {
        assert_eq!(letters("a", "aa"), [(0, 0)]);
        assert_eq!(letters("aa", "a"), [(0, 0)]);
        // Either letter, not both: the first sequence's first is left out.
        assert_eq!(letters("ab", "ba"), [(1, 0)]);
    }

    /// Against all alignments, on small drawn scores with forbidden pairs.
    #[test]
    fn no_other_alignment_is_worth_more() {
        fn greatest(s: &[Vec<Option<i64>>], i: usize, j: usize) -> i64 {
            if i == s.len() || j == s[0].len() {
                return 0;
            }
            let without = greatest(s, i + 1, j).max(greatest(s, i, j + 1));
            let pair = s[i][j].map(|w| w + greatest(s, i + 1, j + 1));
            without.max(pair.unwrap_or(0))
        }
        let mut state = 5u64;
        let mut draw = |n: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % n
        };
        for _ in 0..200 {
            let (rows, columns) = (1 + draw(5) as usize, 1 + draw(5) as usize);
            let mut one = || (draw(4) != 0).then(|| draw(7) as i64 - 2);
            let scores: Vec<Vec<Option<i64>>> = (0..rows)
                .map(|_| (0..columns).map(|_| one()).collect())
                .collect();
            let pairs = align(rows, columns, |i, j| scores[i][j]);
            let sum: i64 = pairs.iter().map(|&(i, j)| scores[i][j].unwrap()).sum();
            assert_eq!(sum, greatest(&scores, 0, 0), "{scores:?} {pairs:?}");
            assert!(pairs.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 < w[1].1));
        }
    }
}
