//! The CUDA programming guide: how many instructions the compiler predicates.
//!
//! Numbers: the branch condition controls at most 7 instructions if the
//! compiler finds it likely to produce many divergent warps, else at most 4.
//! Likely is here: not proven uniform, as a compiler knows it.

use super::{Facts, PolicyRow};
use crate::ifconv::policy::{Policy, Question};
use crate::report::Form;

/// See the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct CudaGuide;

/// Its row.
pub const ROW: PolicyRow = PolicyRow {
    name: "cuda-guide",
    rule: "The condition controls at most 7 instructions where it may diverge, at most 4 where it is uniform.",
    source: "CUDA C++ programming guide, control flow instructions",
    policy: &CudaGuide,
};

impl Policy for CudaGuide {
    fn name(&self) -> &str {
        ROW.name
    }

    fn choose(&self, question: &Question<'_>) -> Form {
        let f = Facts::new(question);
        let limit = if f.uniform { 4 } else { 7 };
        let controlled: usize = f.sides.iter().map(|s| s.len()).sum();
        f.straight_if(f.flat() && controlled <= limit)
    }
}
