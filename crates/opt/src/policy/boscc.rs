//! The Region Vectorizer's "branch on superword condition codes" (Shin 2007):
//! straight-line code, with a test around sides that are large and rare.
//!
//! Numbers (its BOSCC estimate, until it was removed in 2023): a side is skipped
//! when its score is at least 100 (`BOSCC_LIMIT`) and its ratio below 0.40
//! (`BOSCC_T`). The score is the number of the side's instructions, the ratio the
//! probability that a lane executes it. A uniform branch stays one.

use warpfold_ir::Block;

use super::{Facts, PolicyRow, Side};
use crate::ifconv::policy::{Policy, Question};
use crate::report::Form;

const MIN_SCORE: usize = 100;
/// 0.40, as a fraction.
const MAX_RATIO: (u128, u128) = (2, 5);

/// See the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Boscc;

/// Its row.
pub const ROW: PolicyRow = PolicyRow {
    name: "rv-boscc",
    rule: "Varying: straight-line code; a side is skipped when it has at least 100 instructions and a lane's probability is below 0.40. Uniform: a branch.",
    source: "Region Vectorizer, BOSCC estimate (removed 2023)",
    policy: &Boscc,
};

impl Policy for Boscc {
    fn name(&self) -> &str {
        ROW.name
    }

    fn choose(&self, question: &Question<'_>) -> Form {
        let f = Facts::new(question);
        match f.uniform {
            true => Form::Branch,
            false => f.skip_unless(|i, side| !skipped(&f, i, side)),
        }
    }

    fn skips(&self, question: &Question<'_>, first: Block) -> Option<bool> {
        let f = Facts::new(question);
        Some(f.skips(first, |i, side| !skipped(&f, i, side)))
    }
}

/// Whether a side is large and rare.
fn skipped(f: &Facts<'_>, i: usize, side: &Side<'_>) -> bool {
    let (lanes, all) = f.lane_share(i);
    let (part, whole) = MAX_RATIO;
    let rare = u128::from(lanes) * whole < u128::from(all) * part;
    side.len() >= MIN_SCORE && rare
}
