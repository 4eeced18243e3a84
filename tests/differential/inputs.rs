//! What the functions are fed: the values at which operations change their
//! mind, in all pairs up to a bound, and seeded random ones.

/// Bits of a type.
pub fn width(ty: &str) -> u32 {
    ty[1..]
        .parse()
        .expect("a scalar type is a letter and its width")
}

/// Bits of mantissa and bias of a float type.
fn format(ty: &str) -> Option<(u32, u32)> {
    match ty {
        "f16" => Some((10, 15)),
        "f32" => Some((23, 127)),
        "f64" => Some((52, 1023)),
        _ => None,
    }
}

/// Whether the bits are a NaN of that type.
pub fn is_nan(ty: &str, bits: u128) -> bool {
    format(ty).is_some_and(|(mantissa, bias)| {
        let magnitude = bits & (ones(width(ty)) >> 1);
        magnitude > u128::from(2 * bias + 1) << mantissa
    })
}

fn ones(width: u32) -> u128 {
    u128::MAX >> (128 - width)
}

/// The boundary values of a type, the most telling first.
pub fn boundary(ty: &str) -> Vec<u128> {
    let w = width(ty);
    let mut values: Vec<u128> = Vec::new();
    let mut add = |bits: u128| {
        let bits = bits & ones(w);
        if !values.contains(&bits) {
            values.push(bits);
        }
    };
    match format(ty) {
        None => {
            let least = 1 << (w - 1);
            let n = u128::from(w);
            for bits in [0, 1, u128::MAX, least, least - 1, n, n - 1, n + 1, 2] {
                add(bits);
            }
            for bits in [2 * n, 2 * n + 1, 3, u128::MAX - 1, least + 1, least - 2] {
                add(bits);
            }
            for k in [7, 8, 15, 16, 31, 32, 63, 64, 127] {
                for bits in [1u128 << k, (1 << k) + 1, (1 << k) - 1] {
                    add(bits);
                }
            }
            add(0x5555_5555_5555_5555_5555_5555_5555_5555);
            add(0x0123_4567_89ab_cdef_fedc_ba98_7654_3210);
            add(0xf0e1_d2c3_b4a5_9687_7869_5a4b_3c2d_1e0f);
        }
        Some((m, bias)) => {
            let sign = 1u128 << (w - 1);
            let power = |k: i32| u128::from(k.wrapping_add_unsigned(bias).cast_unsigned()) << m;
            let infinity = power(bias.cast_signed() + 1);
            let quiet = infinity | 1 << (m - 1);
            let half = 1u128 << (m - 1);
            let mut magnitudes = vec![0, power(0), infinity, quiet, infinity | 5, power(-1), 1];
            magnitudes.extend([power(0) | half, power(1) | half >> 1, infinity - 1]);
            magnitudes.extend([quiet | 3, (1 << m) - 1, 1 << m, (1 << m) + 1, half]);
            for k in [
                0,
                1,
                7,
                8,
                15,
                16,
                31,
                32,
                63,
                64,
                127,
                128,
                m.cast_signed(),
            ] {
                if k <= bias.cast_signed() {
                    magnitudes.extend([power(k), power(k) - 1, power(k) + 1]);
                }
            }
            // Ties at the last bits before the point.
            magnitudes.extend([
                power(m.cast_signed() - 1) | 1,
                power(m.cast_signed() - 2) | 3,
            ]);
            for bits in magnitudes {
                add(bits);
                add(bits | sign);
            }
        }
    }
    values
}

/// A sequence of numbers that looks random (splitmix64).
pub struct Random(pub u64);

impl Random {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, n: usize) -> usize {
        (self.word() % n as u64) as usize
    }

    /// Bits of any size for integers, any exponent or one near 1 for floats.
    fn value(&mut self, ty: &str) -> u128 {
        let bits = u128::from(self.word()) << 64 | u128::from(self.word());
        let w = width(ty);
        match format(ty) {
            None => (bits & ones(w)) >> self.below(w as usize),
            Some((m, bias)) if self.below(2) == 0 => {
                let near = u128::from(bias) - 8 + self.below(16) as u128;
                bits & ones(m) | near << m | (bits >> 64 & 1) << (w - 1)
            }
            Some(_) => bits & ones(w),
        }
    }
}

/// How many combinations of boundary values are all taken.
const ALL: usize = 352;

/// How many others are drawn, and how many random inputs beside.
const DRAWN: usize = 128;
const RANDOM: usize = 96;

/// The inputs of a function of these parameters, a multiple of 32.
pub fn inputs(params: &[&str], seed: u64) -> Vec<Vec<u128>> {
    let mut random = Random(seed);
    let values: Vec<Vec<u128>> = params.iter().map(|ty| boundary(ty)).collect();
    let mut rows = match combinations(&values, usize::MAX) {
        Some(rows) => rows,
        None => {
            // The most telling values in all combinations, and some of the rest.
            let core = [18, 7, 4]
                .into_iter()
                .find_map(|n| combinations(&values, n));
            let mut rows = core.unwrap_or_default();
            for _ in 0..DRAWN {
                rows.push(values.iter().map(|v| v[random.below(v.len())]).collect());
            }
            rows
        }
    };
    for _ in 0..RANDOM {
        let mut row: Vec<u128> = params.iter().map(|ty| random.value(ty)).collect();
        // Equal operands would be rare otherwise.
        if let [a, b, ..] = params
            && a == b
            && random.below(4) == 0
        {
            row[1] = row[0];
        }
        rows.push(row);
    }
    while !rows.len().is_multiple_of(32) {
        rows.push(rows[rows.len() / 2].clone());
    }
    rows
}

/// All combinations of the first `core` of each, if they are not too many.
fn combinations(values: &[Vec<u128>], core: usize) -> Option<Vec<Vec<u128>>> {
    let mut rows = vec![Vec::new()];
    for v in values {
        let v = &v[..v.len().min(core)];
        if rows.len() * v.len() > ALL {
            return None;
        }
        rows = rows
            .iter()
            .flat_map(|row| v.iter().map(move |&x| [row.as_slice(), &[x]].concat()))
            .collect();
    }
    Some(rows)
}
