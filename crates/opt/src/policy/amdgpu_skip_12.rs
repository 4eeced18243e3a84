//! LLVM's AMDGPU backend, the older rule for the branch around a divergent
//! side.
//!
//! Code of a divergent conditional is straight-line under an execution mask;
//! the branch over it, taken when the mask is empty (our *skip*), stays from
//! `amdgpu-skip-threshold` = 12 instructions on (`SIInsertSkips.cpp`, later
//! `SIPreEmitPeephole.cpp`). A uniform conditional keeps its branch.

use warpfold_ir::Block;

use super::{Facts, PolicyRow};
use crate::ifconv::policy::{Policy, Question};
use crate::report::Form;

const THRESHOLD: usize = 12;

/// See the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Skip12;

/// Its row.
pub const ROW: PolicyRow = PolicyRow {
    name: "amdgpu-skip-12",
    rule: "Divergent: straight-line code; a side is skipped from 12 instructions on. Uniform: a branch.",
    source: "LLVM, SIInsertSkips.cpp",
    policy: &Skip12,
};

impl Policy for Skip12 {
    fn name(&self) -> &str {
        ROW.name
    }

    fn choose(&self, question: &Question<'_>) -> Form {
        let f = Facts::new(question);
        match f.uniform {
            true => Form::Branch,
            false => f.skip_unless(|_, side| side.len() < THRESHOLD),
        }
    }

    fn skips(&self, question: &Question<'_>, first: Block) -> Option<bool> {
        let f = Facts::new(question);
        Some(f.skips(first, |_, side| side.len() < THRESHOLD))
    }
}
