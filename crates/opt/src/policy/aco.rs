//! Mesa's ACO: when the branch around a divergent side is dropped.
//!
//! ACO makes straight-line code under an execution mask of every divergent
//! conditional, with a branch over each side that is taken when the mask is
//! empty: our *skip*. Numbers (`aco_lower_branches.cpp`): the branch is dropped
//! when the side takes at most 16 cycles, estimated as 2 for a scalar and 1 for
//! a vector instruction on GFX10 and later; never over exports, scalar loads,
//! barriers or loops. A uniform conditional keeps its branch.
//!
//! Scalar is an instruction whose result is the same in the whole warp.

use warpfold_ir::{Block, CostClass, InstData};

use super::{Facts, PolicyRow, Side};
use crate::ifconv::policy::{Policy, Question};
use crate::report::Form;

const MAX_CYCLES: u64 = 16;

/// See the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Aco;

/// Its row.
pub const ROW: PolicyRow = PolicyRow {
    name: "aco-16",
    rule: "Divergent: straight-line code; the skip of a side is dropped at no more than 16 cycles (scalar 2, vector 1) unless it has a scalar load. Uniform: a branch.",
    source: "Mesa, aco_lower_branches.cpp",
    policy: &Aco,
};

impl Policy for Aco {
    fn name(&self) -> &str {
        ROW.name
    }

    fn choose(&self, question: &Question<'_>) -> Form {
        let f = Facts::new(question);
        match f.uniform {
            true => Form::Branch,
            false => f.skip_unless(|_, side| dropped(question, side)),
        }
    }

    fn skips(&self, question: &Question<'_>, first: Block) -> Option<bool> {
        let f = Facts::new(question);
        Some(f.skips(first, |_, side| dropped(question, side)))
    }
}

/// Whether the branch around a side is dropped.
fn dropped(question: &Question<'_>, side: &Side<'_>) -> bool {
    let scalar = |data: &InstData| {
        let mut results = data.results.iter();
        !data.results.is_empty() && results.all(|&v| question.uniformity.shape(v).is_uniform())
    };
    let cycles = side.sum(1, |data| 1 + u64::from(scalar(data)));
    let mut insts = side.insts.iter();
    let scalar_load = insts.any(|data| data.cost_class() == CostClass::Load && scalar(data));
    cycles <= MAX_CYCLES && !scalar_load
}
