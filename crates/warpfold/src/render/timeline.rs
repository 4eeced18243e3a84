//! What each warp did, pass by pass: one line a pass, one column a lane.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::model::PassDoc;
use super::style::{Paint, Tone};

/// The most passes of a warp that are drawn.
const MOST: usize = 256;

/// The passes as a raster; lane 0 stands on the left. Warps of a block take
/// turns at barriers, so each gets its own picture.
pub(super) fn render(version: &str, passes: &[PassDoc], paint: Paint) -> String {
    let mut warps: BTreeMap<(u64, u32), Vec<&PassDoc>> = BTreeMap::new();
    for p in passes {
        warps.entry((p.grid_block, p.warp)).or_default().push(p);
    }
    let wide = passes.iter().map(|p| p.block.len()).max().unwrap_or(0);
    let mut out = format!(
        "{}\n",
        paint.tone(Tone::Head, format!("timeline {version}"))
    );
    for ((block, warp), passes) in &warps {
        let _ = writeln!(out, "  block {block} warp {warp}");
        for p in passes.iter().take(MOST) {
            let lanes: String = (0..32)
                .map(|lane| if p.bits >> lane & 1 == 1 { '█' } else { '·' })
                .collect();
            let _ = writeln!(
                out,
                "    {:wide$}  {lanes}  {:>2} {:5}  {} issue{}",
                p.block,
                p.bits.count_ones(),
                if p.bits.count_ones() == 1 {
                    "lane"
                } else {
                    "lanes"
                },
                p.issues,
                if p.issues == 1 { "" } else { "s" }
            );
        }
        if passes.len() > MOST {
            let _ = writeln!(out, "    … and {} passes more", passes.len() - MOST);
        }
    }
    out
}
