//! Colours. Those of blocks are Okabe and Ito's, which people with any common
//! colour blindness tell apart (M. Okabe and K. Ito, "Color Universal Design",
//! 2008), then lighter and darker ones of the same hues. Lanes that are lost are
//! grey.

use super::scene::Color;

/// Without black, which is for lines and text. Neighbours differ in lightness,
/// too.
const HUES: [Color; 7] = [
    Color(0x00, 0x72, 0xB2),
    Color(0xE6, 0x9F, 0x00),
    Color(0x00, 0x9E, 0x73),
    Color(0xCC, 0x79, 0xA7),
    Color(0x56, 0xB4, 0xE9),
    Color(0xD5, 0x5E, 0x00),
    Color(0xF0, 0xE4, 0x42),
];

/// The colour of the block that was met `n`-th.
pub(super) fn block(n: usize) -> Color {
    let hue = HUES[n % HUES.len()];
    match n / HUES.len() % 3 {
        0 => hue,
        1 => hue.mix(WHITE, 0.5),
        _ => hue.mix(INK, 0.4),
    }
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
