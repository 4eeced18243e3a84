//! What authors ask of their branches, by region.
//!
//! *Keep* beats everything: the branch stays, a knob or not, and since straight
//! code holds no branch, no region around it becomes straight either
//! ([`Blocker::Keep`]). *Flatten* beats whoever decides, but neither a knob nor
//! legality. A hint on a branch that heads no region is about the smallest region
//! around it, which decides for it.

use warpfold_analysis::regions::{RegionId, Regions};
use warpfold_ir::entity::SecondaryMap;
use warpfold_ir::{Block, Function, Hint};

use super::legality::Blocker;

/// The hints of a function.
#[derive(Clone, Debug, Default)]
pub struct Hints {
    asked: SecondaryMap<RegionId, Option<Hint>>,
    /// A kept branch inside.
    kept: SecondaryMap<RegionId, Option<Block>>,
}

impl Hints {
    /// Reads them off the branches.
    pub fn new(func: &Function, regions: &Regions) -> Self {
        let mut hints = Self::default();
        for &b in &func.layout {
            let Some(hint) = func.term(b).mark().and_then(|mark| mark.hint) else {
                continue;
            };
            let around = regions.smallest_containing(b);
            let headed = regions.headed_by(b).ok();
            if hint == Hint::Keep {
                let mut outer = around;
                while let Some(region) = outer
                    && hints.kept[region].is_none()
                {
                    hints.kept[region] = Some(b);
                    outer = regions[region].parent;
                }
                if let Some(region) = headed {
                    hints.asked[region] = Some(hint);
                }
            } else if let Some(region) = headed.or(around)
                && hints.asked[region].is_none()
            {
                hints.asked[region] = Some(hint);
            }
        }
        hints
    }

    /// What is asked of a region.
    pub fn of(&self, region: RegionId) -> Option<Hint> {
        self.asked[region]
    }

    /// What forbids straight code around a kept branch.
    ///
    /// # Errors
    /// The branch.
    pub fn allow(&self, region: RegionId) -> Result<(), Blocker> {
        match self.kept[region] {
            Some(block) => Err(Blocker::Keep { block }),
            None => Ok(()),
        }
    }
}
