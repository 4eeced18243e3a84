//! A timeline as text: a row a lane, a character an issue; neighbouring lanes that
//! did the same share a row.
//!
//! A letter is a lane that takes part, in the block that the legend names; the
//! four ways to be lost have signs. Where a stretch stands for several, a lane
//! has the letter if it takes part in any of them.

use std::fmt::Write;

use super::strips::{LANES, Lane, Repeat, Slab, Strip, Timeline};

/// The sign of a lane that is lost.
fn sign(lane: Option<Lane>) -> char {
    match lane {
        Some(Lane::Predicated) => '-',
        Some(Lane::Diverged) => '.',
        Some(Lane::Exited) => 'x',
        Some(Lane::Partial) => '#',
        Some(Lane::On) | None => ' ',
    }
}

/// The letter of a block: a to z, A to Z, then again.
fn letter(block: usize) -> char {
    let n = (block % 52) as u8;
    char::from(if n < 26 { b'a' + n } else { b'A' + n - 26 })
}

impl Timeline {
    /// As text.
    pub fn to_text(&self) -> String {
        let mut out = format!("timeline {}\n", self.title);
        for kind in &self.kinds {
            let (block, warp) = kind.first;
            let _ = write!(out, "\nblock {block} warp {warp}");
            if kind.warps > 1 {
                let _ = write!(out, " and {} more", kind.warps - 1);
            }
            out.push('\n');
            for strip in &kind.strips {
                strip_text(&mut out, strip, self.depth.name());
            }
        }
        if let Some(text) = self.not_shown() {
            let _ = writeln!(out, "\n{text}");
        }
        out.push('\n');
        for (n, name) in self.blocks.iter().enumerate() {
            let _ = writeln!(out, "{} {name}", letter(n));
        }
        out.push_str("- predicated off, . diverged, x exited, # partial warp\n");
        out
    }
}

fn strip_text(out: &mut String, strip: &Strip, depth_of: &str) {
    let s = if strip.issues == 1 { "" } else { "s" };
    let _ = writeln!(out, "{}: {} issue{s}", strip.version, strip.issues);
    let high = strip.repeats.iter().map(|r| r.height).max();
    for height in (0..=high.unwrap_or(0)).rev() {
        let row = repeat_row(strip, height);
        if !row.is_empty() {
            let _ = writeln!(out, "           {row}");
        }
    }
    let rows: Vec<String> = (0..LANES).map(|lane| lane_row(strip, lane)).collect();
    let mut lane = 0;
    // Neighbours that did the same share a row.
    for same in rows.chunk_by(|a, b| a == b) {
        let last = lane + same.len() - 1;
        let name = match same.len() {
            1 => format!("{lane:>2}"),
            _ => format!("{lane:>2}-{last}"),
        };
        let _ = writeln!(out, "lane {name:<5} {}", same[0]);
        lane = last + 1;
    }
    let depth = |slab: &Slab| {
        let digit = char::from_digit(slab.depth.min(35), 36).unwrap_or('+');
        std::iter::repeat_n(digit, slab.issues as usize)
    };
    let depths: String = strip.slabs.iter().flat_map(depth).collect();
    let cut = if strip.cut { "…" } else { "" };
    let _ = writeln!(out, "{depth_of:<10} {depths}{cut}");
}

fn lane_row(strip: &Strip, lane: usize) -> String {
    let cells = strip.slabs.iter().flat_map(|slab| {
        let c = match slab.share_on(lane) > 0.0 {
            true => letter(slab.block),
            false => sign(slab.lost(lane)),
        };
        std::iter::repeat_n(c, slab.issues as usize)
    });
    cells.collect()
}

/// The stretches of a height: `<` and `>` at their ends, how often between.
fn repeat_row(strip: &Strip, height: u32) -> String {
    let mut row = String::new();
    let mut at = 0;
    for r in strip.repeats.iter().filter(|r| r.height == height) {
        let Repeat { from, to, .. } = *r;
        let text = r.text();
        let gap = from.saturating_sub(at) as usize;
        row.extend(std::iter::repeat_n(' ', gap));
        let room = (to - from) as usize;
        let text = format!("<{text}");
        let width = text.chars().count();
        row.push_str(&text);
        row.extend(std::iter::repeat_n('=', room.saturating_sub(width + 1)));
        if room > width {
            row.push('>');
        }
        at = from.max(at) + width.max(room) as u64;
    }
    row
}
