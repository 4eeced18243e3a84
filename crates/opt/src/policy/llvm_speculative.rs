//! LLVM's SpeculativeExecution, which GPU targets run: a side's instructions
//! are hoisted above the branch.
//!
//! Numbers (`SpeculativeExecution.cpp`): the hoisted instructions cost at most
//! `spec-exec-max-speculation-cost` = 7 together, and at most
//! `spec-exec-max-not-hoisted` = 5 stay behind. Only where the target's branches
//! diverge, and only for one side: the other must be empty.
//!
//! Where anything stays behind, its branch does too, and hoisting a part of a
//! side is no form of ours: the answer is the branch then, and the second number
//! never decides. Where nothing does, LLVM's later passes turn what is joined
//! into selects.

use super::llvm_simplifycfg::cost;
use super::{Facts, PolicyRow};
use crate::ifconv::policy::{Policy, Question};
use crate::report::Form;

const MAX_COST: u64 = 7;

/// See the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct SpeculativeExecution;

/// Its row.
pub const ROW: PolicyRow = PolicyRow {
    name: "llvm-speculative-execution",
    rule: "One side hoisted if all of it is safe and costs at most 7 (at most 5 instructions may stay behind, with their branch).",
    source: "LLVM, SpeculativeExecution.cpp",
    policy: &SpeculativeExecution,
};

impl Policy for SpeculativeExecution {
    fn name(&self) -> &str {
        ROW.name
    }

    fn choose(&self, question: &Question<'_>) -> Form {
        let f = Facts::new(question);
        let full = f.sides.iter().filter(|s| !s.is_empty()).count();
        let hoisted = f
            .sides
            .iter()
            .all(|s| s.is_safe(question.func) && s.sum(1, cost) <= MAX_COST);
        f.straight_if(f.flat() && !f.uniform && full <= 1 && hoisted)
    }
}
