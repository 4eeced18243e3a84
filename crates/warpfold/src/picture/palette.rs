//! Colours. Those of blocks are Okabe and Ito's, which people with any common
//! colour blindness tell apart (M. Okabe and K. Ito, "Color Universal Design",
//! 2008), then those of Paul Tol's ("Colour Schemes", SRON/EPS/TN/09-002, 2021) that
//! are furthest from all before them and from the greys. Lanes that are lost are grey.

use super::scene::Color;

/// Without black, which is for lines and text. Neighbours differ in lightness,
/// too.
const BLOCKS: [Color; 21] = [
    Color(0x00, 0x72, 0xB2),
    Color(0xE6, 0x9F, 0x00),
    Color(0x00, 0x9E, 0x73),
    Color(0xCC, 0x79, 0xA7),
    Color(0x56, 0xB4, 0xE9),
    Color(0xD5, 0x5E, 0x00),
    Color(0xF0, 0xE4, 0x42),
    Color(0x22, 0x88, 0x33),
    Color(0xEE, 0x88, 0x66),
    Color(0xAA, 0x44, 0x99),
    Color(0x22, 0x55, 0x22),
    Color(0x66, 0x33, 0x33),
    Color(0xEE, 0x33, 0x77),
    Color(0x22, 0x22, 0x55),
    Color(0xFF, 0xAA, 0xBB),
    Color(0x99, 0x99, 0x33),
    Color(0x22, 0x55, 0x55),
    Color(0x88, 0x22, 0x55),
    Color(0xEE, 0xDD, 0x88),
    Color(0x33, 0x22, 0x88),
    Color(0x66, 0x66, 0x33),
];

/// The colour of the block that was met `n`-th.
pub(super) fn block(n: usize) -> Color {
    BLOCKS[n % BLOCKS.len()]
}

/// Background.
pub(super) const WHITE: Color = Color(0xFF, 0xFF, 0xFF);
/// Lines and text.
pub(super) const INK: Color = Color(0x22, 0x22, 0x22);
/// Text that matters less, axes.
pub(super) const DIM: Color = Color(0x66, 0x66, 0x66);
/// Lines of a grid.
pub(super) const FAINT: Color = Color(0xDD, 0xDD, 0xDD);
/// Ways to a join.
pub(super) const JOIN: Color = Color(0xAA, 0x33, 0x77);

/// How full a warp is, from none of its lanes to all: white to blue, lighter
/// than text at the full end.
pub(super) fn efficiency(share: f64) -> Color {
    WHITE.mix(Color(0x56, 0xA8, 0xE0), share.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CIE L*a*b* of an sRGB colour, white point D65.
    fn lab(Color(r, g, b): Color) -> [f64; 3] {
        let linear = |c: u8| {
            let c = f64::from(c) / 255.0;
            match c > 0.040_45 {
                true => ((c + 0.055) / 1.055).powf(2.4),
                false => c / 12.92,
            }
        };
        let [r, g, b] = [r, g, b].map(linear);
        let f = |t: f64| match t > 0.008_856 {
            true => t.cbrt(),
            false => 7.787 * t + 16.0 / 116.0,
        };
        let x = f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047);
        let y = f(0.2126 * r + 0.7152 * g + 0.0722 * b);
        let z = f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883);
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    /// The CIE76 difference; 2.3 is just noticeable side by side.
    fn difference(a: Color, b: Color) -> f64 {
        let parts = lab(a).into_iter().zip(lab(b));
        parts.map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt()
    }

    #[test]
    fn blocks_are_told_apart_and_are_not_grey() {
        let greys = [0x80, 0xB4, 0xD6, 0xEE, 0xFF].map(|c| Color(c, c, c));
        for (i, &a) in BLOCKS.iter().enumerate() {
            for &b in BLOCKS[..i].iter().chain(&greys) {
                assert!(difference(a, b) > 22.0, "{a:?} {b:?}: {}", difference(a, b));
            }
            let next = block(i + 1);
            assert!(difference(a, next) > 40.0, "{a:?} {next:?}");
        }
    }
}
