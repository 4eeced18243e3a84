//! LLVM's AMDGPU backend, the newer rule for the branch around a divergent
//! side: a weighted one.
//!
//! `SIPreEmitPeephole.cpp` drops the branch when
//! `(1−P)·Then ≤ (1−P)·Taken + P·NotTaken`, where P is the branch weight of
//! executing the side, Then its latency, Taken that of a branch and NotTaken 1.
//! The weight is of *lanes*, where whether the warp executes the side is what
//! matters: of 32 independent lanes with P = 1/16 some lane is there 87% of the
//! time.
//!
//! Then is the issue cost of the side's instructions on the machine, Taken the
//! issue and overhead of a branch on which the warp agrees. A uniform
//! conditional keeps its branch.

use warpfold_ir::Block;
use warpfold_machine::Cost;

use super::{Facts, PolicyRow, Side};
use crate::ifconv::policy::{Policy, Question};
use crate::report::Form;

/// See the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct SkipP;

/// Its row.
pub const ROW: PolicyRow = PolicyRow {
    name: "amdgpu-skip-p",
    rule: "Divergent: straight-line code; the skip of a side is dropped when (1−P)·Then ≤ (1−P)·Taken + P, with P a lane's probability. Uniform: a branch.",
    source: "LLVM, SIPreEmitPeephole.cpp",
    policy: &SkipP,
};

impl Policy for SkipP {
    fn name(&self) -> &str {
        ROW.name
    }

    fn choose(&self, question: &Question<'_>) -> Form {
        let f = Facts::new(question);
        match f.uniform {
            true => Form::Branch,
            false => f.skip_unless(|i, side| dropped(&f, i, side)),
        }
    }

    fn skips(&self, question: &Question<'_>, first: Block) -> Option<bool> {
        let f = Facts::new(question);
        Some(f.skips(first, |i, side| dropped(&f, i, side)))
    }
}

/// Whether the branch around a side is dropped.
fn dropped(f: &Facts<'_>, i: usize, side: &Side<'_>) -> bool {
    let taken = i128::from(f.branch_cost().thousandths());
    let not_taken = i128::from(Cost::ONE.thousandths());
    let (lanes, all) = f.lane_share(i);
    let (p, rest) = (i128::from(lanes), i128::from(all.saturating_sub(lanes)));
    let then = i128::from(f.issue_cost(side).thousandths());
    rest * then <= rest * taken + p * not_taken
}
