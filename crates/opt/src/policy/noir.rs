//! Noir's Brillig: both arms together cost less than their average and the
//! jumps.
//!
//! Numbers (`basic_conditional.rs`): `T + F < (T + F)/2 + 10`, halves rounded
//! down, where 10 stands for the jumps less the merge. Only conditionals without
//! another inside. An addition, subtraction, multiplication or cast costs 3, an
//! equality, `and`, `or`, `xor` or `not` 1, an order 5, a truncation 7, a choice
//! 1. Divisions, shifts and all that touches memory are never flattened.
//!
//! Floating-point operations, which Noir does not have, count as additions.

use warpfold_ir::{CostClass, Imm, InstData, IntCC, Opcode, Shape};

use super::{Facts, PolicyRow};
use crate::ifconv::policy::{Policy, Question};
use crate::report::Form;

const JUMPS: u64 = 10;

/// See the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Noir;

/// Its row.
pub const ROW: PolicyRow = PolicyRow {
    name: "noir",
    rule: "T + F < (T + F)/2 + 10, with additions, multiplications and casts 3, equalities and bitwise logic 1, orders 5, truncations 7; no divisions, shifts or memory.",
    source: "Noir, basic_conditional.rs",
    policy: &Noir,
};

/// `None` for what is never flattened.
fn cost(data: &InstData) -> Option<u64> {
    match (data.op, data.op.shape(), data.imm, data.cost_class()) {
        (_, Shape::Shift | Shape::IntDiv, ..) => None,
        (.., CostClass::FpDiv | CostClass::Fp64Div | CostClass::Math | CostClass::Math64) => None,
        (Opcode::Band | Opcode::Bor | Opcode::Bxor | Opcode::Bnot | Opcode::Select, ..) => Some(1),
        (_, _, Imm::Icc(IntCC::Eq | IntCC::Ne), _) => Some(1),
        (_, _, Imm::Icc(_) | Imm::Fcc(_), _) => Some(5),
        (_, Shape::Reduce, ..) => Some(7),
        (.., CostClass::Pred) => Some(1),
        _ if data.op.effects().is_pure() => Some(3),
        _ => None,
    }
}

impl Policy for Noir {
    fn name(&self) -> &str {
        ROW.name
    }

    fn choose(&self, question: &Question<'_>) -> Form {
        let f = Facts::new(question);
        let nested = !question.regions[question.region].children.is_empty();
        let insts = f.sides.iter().flat_map(|s| &s.insts);
        let total = insts.map(|data| cost(data)).sum::<Option<u64>>();
        let leaves = f.sides.iter().any(|s| s.leaves);
        let pays = total.is_some_and(|cost| cost < cost / 2 + JUMPS);
        f.straight_if(f.flat() && !nested && !leaves && pays)
    }
}
