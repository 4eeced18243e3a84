//! LLVM's if-converter for ARM: predicated code against the expected path and
//! a part of the mispredict penalty.
//!
//! Numbers (`ARMBaseInstrInfo.cpp`, `isProfitableToIfCvt`):
//! `T + F + extra ≤ p·T + (1−p)·F + 1 + penalty/10`, where p is the probability
//! of the then side, and a block that takes no cycle is not converted.
//!
//! T and F are issue costs of the sides on the machine, extra what guards cost on
//! it, the penalty its overhead of a branch that splits the warp, and p that of a
//! lane.

use warpfold_machine::Cost;

use super::{Facts, PolicyRow};
use crate::ifconv::policy::{Policy, Question};
use crate::report::Form;

const PENALTY_PART: i128 = 10;

/// See the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct ArmIfcvt;

/// Its row.
pub const ROW: PolicyRow = PolicyRow {
    name: "arm-ifcvt",
    rule: "T + F + extra ≤ p·T + (1−p)·F + 1 + penalty/10, with p a lane's probability and the machine's costs.",
    source: "LLVM, ARMBaseInstrInfo.cpp",
    policy: &ArmIfcvt,
};

impl Policy for ArmIfcvt {
    fn name(&self) -> &str {
        ROW.name
    }

    fn choose(&self, question: &Question<'_>) -> Form {
        let f = Facts::new(question);
        let [t, e] = &f.sides[..] else {
            return Form::Branch;
        };
        if !f.flat() || (t.is_empty() && e.is_empty()) {
            return Form::Branch;
        }
        let thousandths = |cost: Cost| i128::from(cost.thousandths());
        let (then, other) = (thousandths(f.issue_cost(t)), thousandths(f.issue_cost(e)));
        let guards = question.machine.guard * (t.len() + e.len()) as u64;
        let (p, all) = f.lane_share(0);
        let (p, all) = (i128::from(p), i128::from(all));
        // Times the lanes and ten.
        let predicated = (then + other + thousandths(guards)) * all * PENALTY_PART;
        let fixed = thousandths(Cost::ONE) * PENALTY_PART + thousandths(question.machine.b_split);
        let expected = (p * then + (all - p) * other) * PENALTY_PART + fixed * all;
        f.straight_if(predicated <= expected)
    }
}
