//! Mesa's NIR: both sides together have at most N instructions.
//!
//! Numbers (`nir_opt_peephole_select.c` and its callers): N is 8 for Intel and
//! RADV-like drivers, 16 for ir3, 64 for Bifrost. Moves, negations and absolute
//! values are free. The flags that allow expensive ALU (divisions, roots,
//! special functions) and indirect loads are off here; a load by address is
//! indirect. What is joined becomes `bcsel` and is not counted, except those of
//! nested conditionals that went before.

use warpfold_ir::{CostClass, InstData, Opcode};

use super::{Facts, PolicyRow};
use crate::ifconv::policy::{Policy, Question};
use crate::report::Form;

/// See the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct PeepholeSelect {
    name: &'static str,
    limit: u64,
}

const fn row(name: &'static str, policy: &'static PeepholeSelect, rule: &'static str) -> PolicyRow {
    PolicyRow {
        name,
        rule,
        source: "Mesa, nir_opt_peephole_select.c",
        policy,
    }
}

/// Its rows.
pub const ROWS: [PolicyRow; 3] = [
    row(
        "nir-8",
        &PeepholeSelect {
            name: "nir-8",
            limit: 8,
        },
        "Both sides together have at most 8 instructions; moves, negations and absolute values are free; no loads, nothing expensive (Intel).",
    ),
    row(
        "nir-16",
        &PeepholeSelect {
            name: "nir-16",
            limit: 16,
        },
        "The same with 16 (ir3).",
    ),
    row(
        "nir-64",
        &PeepholeSelect {
            name: "nir-64",
            limit: 64,
        },
        "The same with 64 (Bifrost).",
    ),
];

fn count(data: &InstData) -> u64 {
    let free = matches!(
        data.op,
        Opcode::Copy | Opcode::Ineg | Opcode::Fneg | Opcode::Fabs | Opcode::Iabs
    );
    u64::from(!free)
}

fn is_expensive(class: CostClass) -> bool {
    use CostClass::{Div, Fp64Div, FpDiv, Load, Math, Math64};
    matches!(class, Div | FpDiv | Fp64Div | Math | Math64 | Load)
}

impl Policy for PeepholeSelect {
    fn name(&self) -> &str {
        self.name
    }

    fn choose(&self, question: &Question<'_>) -> Form {
        let f = Facts::new(question);
        let fits = f
            .sides
            .iter()
            .all(|s| s.is_safe(question.func) && !s.has(is_expensive));
        let total: u64 = f.sides.iter().map(|s| s.sum(1, count)).sum();
        f.straight_if(f.flat() && fits && total <= self.limit)
    }
}
