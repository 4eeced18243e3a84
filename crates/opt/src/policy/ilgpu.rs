//! ILGPU: small arms of about the same size, without side effects.
//!
//! Numbers (`IfConversion.cs`): a block has at most 8 instructions, the arms
//! differ by at most 4, and nothing in them has a side effect; reading memory
//! counts as one.

use super::{Facts, PolicyRow};
use crate::ifconv::policy::{Policy, Question};
use crate::report::Form;

const MAX_BLOCK: usize = 8;
const MAX_DIFFERENCE: usize = 4;

/// See the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Ilgpu;

/// Its row.
pub const ROW: PolicyRow = PolicyRow {
    name: "ilgpu",
    rule: "Each arm at most 8 instructions, their difference at most 4, no side effects.",
    source: "ILGPU, IfConversion.cs",
    policy: &Ilgpu,
};

impl Policy for Ilgpu {
    fn name(&self) -> &str {
        ROW.name
    }

    fn choose(&self, question: &Question<'_>) -> Form {
        let f = Facts::new(question);
        let lengths: Vec<usize> = f.sides.iter().map(|s| s.len()).collect();
        let most = lengths.iter().copied().max().unwrap_or(0);
        let least = lengths.iter().copied().min().unwrap_or(0);
        let quiet = f.sides.iter().all(|s| {
            s.is_safe(question.func) && s.insts.iter().all(|data| !data.op.effects().reads)
        });
        f.straight_if(f.flat() && quiet && most <= MAX_BLOCK && most - least <= MAX_DIFFERENCE)
    }
}
