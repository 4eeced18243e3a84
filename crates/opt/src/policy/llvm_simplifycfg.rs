//! LLVM's SimplifyCFG: a block of one instruction, or a join of two edges.
//!
//! Numbers (`SimplifyCFG.cpp`):
//!
//! - `SpeculativelyExecuteBB`, for a triangle: at most 1 instruction; its cost
//!   and that of the selects at most `phi-node-folding-threshold` = 2 basic
//!   costs each;
//! - `FoldTwoEntryPHINode`, for triangles and diamonds: the instructions of both
//!   arms together cost at most `two-entry-phi-node-folding-threshold` = 4; at
//!   most 3 values are joined.
//!
//! Everything must be safe to speculate. A basic cost is 1, divisions, square
//! roots and special functions are expensive: 4.

use warpfold_ir::{CostClass, InstData};

use super::{Facts, PolicyRow};
use crate::ifconv::policy::{Policy, Question};
use crate::report::Form;

const TRIANGLE_INSTRUCTIONS: usize = 1;
const TRIANGLE_BUDGET: u64 = 2;
const JOIN_BUDGET: u64 = 4;
const JOIN_VALUES: usize = 3;

/// See the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct SimplifyCfg;

/// Its row.
pub const ROW: PolicyRow = PolicyRow {
    name: "llvm-simplifycfg",
    rule: "A two-entry join: both arms together cost at most 4, at most 3 joined values; a triangle: one instruction, budget 2.",
    source: "LLVM, SimplifyCFG.cpp",
    policy: &SimplifyCfg,
};

/// LLVM's `TCC_Basic` or `TCC_Expensive`.
pub(super) fn cost(data: &InstData) -> u64 {
    match data.cost_class() {
        CostClass::Div
        | CostClass::FpDiv
        | CostClass::Fp64Div
        | CostClass::Math
        | CostClass::Math64 => 4,
        _ => 1,
    }
}

impl Policy for SimplifyCfg {
    fn name(&self) -> &str {
        ROW.name
    }

    fn choose(&self, question: &Question<'_>) -> Form {
        let f = Facts::new(question);
        let safe = f.sides.iter().all(|s| s.is_safe(question.func));
        if !f.flat() || !safe {
            return Form::Branch;
        }
        let costs: Vec<u64> = f.sides.iter().map(|s| s.sum(1, cost)).collect();
        let one_side = f.sides.iter().filter(|s| !s.is_empty()).count() <= 1;
        let instructions: usize = f.sides.iter().map(|s| s.len()).sum();
        let triangle = one_side
            && instructions <= TRIANGLE_INSTRUCTIONS
            && costs.iter().sum::<u64>() <= TRIANGLE_BUDGET
            && f.joined as u64 <= TRIANGLE_BUDGET;
        let join = costs.iter().sum::<u64>() <= JOIN_BUDGET && f.joined <= JOIN_VALUES;
        f.straight_if(triangle || join)
    }
}
