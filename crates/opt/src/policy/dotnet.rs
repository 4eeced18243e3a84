//! .NET's RyuJIT: cheap arms outside of loops.
//!
//! Numbers (`ifconversion.cpp`): each arm costs at most 7, an arm is at most 4
//! blocks in a chain, and nothing in a loop is converted. An operation costs 1, a
//! multiplication 4, a load 3; divisions are dearer than the limit.

use warpfold_ir::{CostClass, InstData};

use super::{Facts, PolicyRow};
use crate::ifconv::policy::{Policy, Question};
use crate::report::Form;

const MAX_COST: u64 = 7;
const MAX_CHAIN: usize = 4;

/// See the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct DotNet;

/// Its row.
pub const ROW: PolicyRow = PolicyRow {
    name: "dotnet",
    rule: "Each arm costs at most 7 (operation 1, load 3, multiplication 4) in at most 4 chained blocks, and not in a loop.",
    source: ".NET, RyuJIT ifconversion.cpp",
    policy: &DotNet,
};

fn cost(data: &InstData) -> u64 {
    match data.cost_class() {
        CostClass::Mul => 4,
        CostClass::Load => 3,
        CostClass::Div
        | CostClass::FpDiv
        | CostClass::Fp64Div
        | CostClass::Math
        | CostClass::Math64 => MAX_COST + 1,
        _ => 1,
    }
}

impl Policy for DotNet {
    fn name(&self) -> &str {
        ROW.name
    }

    fn choose(&self, question: &Question<'_>) -> Form {
        let f = Facts::new(question);
        let head = question.regions[question.region].head;
        let in_loop = question.loops.loop_of(head).is_some();
        let fits = f.sides.iter().all(|s| {
            s.sum(1, cost) <= MAX_COST && s.blocks.len() <= MAX_CHAIN && s.is_safe(question.func)
        });
        f.straight_if(f.flat() && fits && !in_loop)
    }
}
