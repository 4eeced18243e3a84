//! ispc: flatten what is cheap and safe with all lanes off, else test the mask
//! around each side.
//!
//! Numbers (`ispc.h`, `stmt.cpp`, `expr.cpp`): `cost(then) + cost(else) < 6`
//! (`PREDICATE_SAFE_IF_STATEMENT_COST`); a short circuit `&&` or `||` is
//! evaluated without a branch up to a cost of 6
//! (`PREDICATE_SAFE_SHORT_CIRC_LOGICAL_COST`). An arithmetic operation costs 1,
//! a complex one (divisions, roots, special functions) 4, a load 2, a gather 8,
//! a select 4, a call 4. Stores are as loads, scatters as gathers.
//!
//! A uniform `if` is a branch. A varying one that is not flattened runs each
//! side only if any lane is on: our *skip*. A gather or scatter is an access
//! whose address neither is uniform nor goes on by the access's width from lane
//! to lane.

use warpfold_analysis::regions::RegionShape;
use warpfold_ir::{CostClass, InstData};

use super::{Facts, PolicyRow};
use crate::ifconv::policy::{Policy, Question};
use crate::report::Form;

const IF_STATEMENT: u64 = 6;
const SHORT_CIRCUIT: u64 = 6;
const SELECT: u64 = 4;

/// See the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Ispc;

/// Its row.
pub const ROW: PolicyRow = PolicyRow {
    name: "ispc",
    rule: "Varying: flattened when both sides cost less than 6 together (arithmetic 1, complex 4, load 2, gather 8, select 4, call 4) and are safe, short circuits up to 6; else each side skipped when its mask is empty. Uniform: a branch.",
    source: "ispc, ispc.h and stmt.cpp",
    policy: &Ispc,
};

fn cost(question: &Question<'_>, data: &InstData) -> u64 {
    match data.cost_class() {
        CostClass::Div
        | CostClass::FpDiv
        | CostClass::Fp64Div
        | CostClass::Math
        | CostClass::Math64
        | CostClass::Call => 4,
        CostClass::Select => SELECT,
        CostClass::Load | CostClass::Store | CostClass::Atomic => {
            let address = data.args.last().map(|&v| question.uniformity.shape(v));
            let stride = address.and_then(|shape| shape.stride());
            let width = u64::from(data.ty.bits() / 8);
            match stride {
                Some(stride) if stride == 0 || stride == width => 2,
                _ => 8,
            }
        }
        _ => 1,
    }
}

impl Policy for Ispc {
    fn name(&self) -> &str {
        ROW.name
    }

    fn choose(&self, question: &Question<'_>) -> Form {
        let f = Facts::new(question);
        if f.uniform {
            return Form::Branch;
        }
        let total: u64 = f
            .sides
            .iter()
            .map(|s| s.sum(SELECT, |data| cost(question, data)))
            .sum();
        let cheap = match f.shape {
            RegionShape::Chain => total <= SHORT_CIRCUIT,
            _ => f.flat() && total < IF_STATEMENT,
        };
        let safe = f.sides.iter().all(|s| s.is_safe(question.func));
        match cheap && safe {
            true => Form::Straight,
            false => Form::Skip,
        }
    }
}
