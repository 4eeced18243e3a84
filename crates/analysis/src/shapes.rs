//! Names for what regions look like; see [`RegionShape`].

use warpfold_ir::{Block, Function, Terminator};

use crate::cfg::Cfg;
use crate::regions::{RegionId, RegionShape, Regions};

/// How a side of a region ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    /// At the region's join.
    Joins,
    /// In a return or trap.
    Ends,
    /// It is no sequence of blocks and nested regions.
    Tangled,
}

/// The shape of a region whose nested regions and blocks are known.
pub(crate) fn classify(func: &Function, cfg: &Cfg, regions: &Regions, id: RegionId) -> RegionShape {
    let region = &regions[id];
    if regions.blocks(id).is_empty() {
        return RegionShape::Degenerate;
    }
    if let Some(Terminator::Switch { .. }) = func.block(region.head).term {
        return RegionShape::Switch;
    }
    let mut sides = cfg
        .succs(region.head)
        .iter()
        .filter(|&&to| to != region.join)
        .map(|&to| side(cfg, regions, id, to));
    match (sides.next(), sides.next()) {
        (Some(Side::Joins), None) => RegionShape::Triangle,
        (Some(Side::Ends), None) => RegionShape::Guard,
        (Some(Side::Joins), Some(Side::Joins)) => RegionShape::Diamond,
        _ if is_chain(cfg, regions, id) => RegionShape::Chain,
        _ => RegionShape::Acyclic,
    }
}

/// Follows a side from its first block.
fn side(cfg: &Cfg, regions: &Regions, id: RegionId, first: Block) -> Side {
    let mut b = first;
    while b != regions[id].join {
        b = match (regions.headed_by(b), cfg.succs(b)) {
            (Ok(nested), _) => regions[nested].join,
            (Err(_), []) => return Side::Ends,
            (Err(_), &[next]) => next,
            (Err(_), _) => return Side::Tangled,
        };
    }
    Side::Joins
}

/// Whether the head and the branches inside that head no region of their own
/// lead to each other and, beside that, to at most two places, each the join
/// or the start of a side.
fn is_chain(cfg: &Cfg, regions: &Regions, id: RegionId) -> bool {
    let is_test = |b: Block| {
        b == regions[id].head || (cfg.succs(b).len() > 1 && regions.headed_by(b).is_err())
    };
    let tests = regions.own_blocks(id).filter(|&b| is_test(b));
    let mut places: Vec<Block> = Vec::new();
    for test in std::iter::once(regions[id].head).chain(tests) {
        for &to in cfg.succs(test) {
            if !is_test(to) && !places.contains(&to) {
                places.push(to);
                if places.len() > 2 {
                    return false;
                }
            }
        }
    }
    places
        .iter()
        .all(|&to| side(cfg, regions, id, to) != Side::Tangled)
}
