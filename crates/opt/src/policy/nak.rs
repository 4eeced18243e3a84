//! Mesa's NAK, for NVIDIA hardware: an exact diamond of small arms.
//!
//! Number: both arms have at most 4 instructions, their terminators included.
//! An exact diamond has one block on each side.

use warpfold_analysis::regions::RegionShape;

use super::{Facts, PolicyRow};
use crate::ifconv::policy::{Policy, Question};
use crate::report::Form;

const LIMIT: usize = 4;

/// See the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Nak;

/// Its row.
pub const ROW: PolicyRow = PolicyRow {
    name: "nak-4",
    rule: "An exact diamond, both arms at most 4 instructions including the jump.",
    source: "Mesa, NAK",
    policy: &Nak,
};

impl Policy for Nak {
    fn name(&self) -> &str {
        ROW.name
    }

    fn choose(&self, question: &Question<'_>) -> Form {
        let f = Facts::new(question);
        let exact = f.shape == RegionShape::Diamond && f.sides.iter().all(|s| s.blocks.len() == 1);
        let small = f.sides.iter().all(|s| s.len() < LIMIT && !s.leaves);
        f.straight_if(exact && small)
    }
}
