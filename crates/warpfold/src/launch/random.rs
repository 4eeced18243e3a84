//! Seeded pseudo-random numbers: splitmix64 (Steele, Lea, Flood, "Fast
//! splittable pseudorandom number generators", OOPSLA 2014).

use super::expr::Number;

/// Numbers drawn evenly from a closed range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Random {
    /// The least.
    pub min: Number,
    /// The greatest.
    pub max: Number,
    /// Seed; `None` for the launch's, mixed with the argument's position.
    pub seed: Option<u64>,
}

impl Random {
    /// The stream of the argument at `position` in a launch with `seed`.
    pub(super) fn stream(self, seed: u64, position: usize) -> Stream {
        let state = match self.seed {
            Some(seed) => seed,
            None => SplitMix(seed ^ (position as u64).wrapping_mul(GAMMA)).next(),
        };
        Stream {
            bits: SplitMix(state),
            range: self,
        }
    }
}

const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GAMMA);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

/// A [`Random`] being drawn from.
pub(super) struct Stream {
    bits: SplitMix,
    range: Random,
}

impl Stream {
    /// The next integer, where both bounds are integers.
    pub(super) fn int(&mut self) -> Option<i128> {
        let (Number::Int(min), Number::Int(max)) = (self.range.min, self.range.max) else {
            return None;
        };
        let span = max.wrapping_sub(min) as u128;
        let raw = u128::from(self.bits.next()) << 64 | u128::from(self.bits.next());
        // 128 random bits modulo a range that is far smaller: no bias to see.
        let offset = match span.checked_add(1) {
            Some(count) => raw % count,
            None => raw,
        };
        Some(min.wrapping_add(offset as i128))
    }

    /// The next float.
    pub(super) fn float(&mut self) -> f64 {
        let unit = (self.bits.next() >> 11) as f64 / (1u64 << 53) as f64;
        let (min, max) = (self.range.min.to_f64(), self.range.max.to_f64());
        min + (max - min) * unit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix_gives_the_published_first_outputs() {
        // Reference outputs for seed 1234567 of the public-domain C version.
        let mut s = SplitMix(1_234_567);
        let got: Vec<u64> = (0..3).map(|_| s.next()).collect();
        assert_eq!(
            got,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    #[test]
    fn ranges_are_closed_and_reached() {
        let r = Random {
            min: Number::Int(-2),
            max: Number::Int(1),
            seed: Some(3),
        };
        let mut s = r.stream(1, 0);
        let drawn: std::collections::BTreeSet<i128> = (0..200).filter_map(|_| s.int()).collect();
        assert_eq!(drawn.into_iter().collect::<Vec<_>>(), [-2, -1, 0, 1]);
        let f = Random {
            min: Number::Float(0.5),
            max: Number::Int(2),
            seed: None,
        };
        let mut s = f.stream(1, 0);
        assert!((0..200).all(|_| (0.5..=2.0).contains(&s.float())));
        assert!(s.int().is_none());
    }

    #[test]
    fn arguments_without_a_seed_draw_different_numbers() {
        let r = Random {
            min: Number::Int(0),
            max: Number::Int(1 << 60),
            seed: None,
        };
        let draw = |seed, position| r.stream(seed, position).int();
        assert_ne!(draw(1, 0), draw(1, 1));
        assert_ne!(draw(1, 0), draw(2, 0));
        assert_eq!(draw(1, 1), draw(1, 1));
    }
}
