//! The list of claims.

mod branches;
mod costs;

use super::{Check, Claim};

const fn claim(
    id: &'static str,
    source: &'static str,
    title: &'static str,
    holds: &'static str,
) -> Claim {
    Claim {
        id,
        source,
        title,
        holds,
        remark: "",
        checks: [None, None],
    }
}

impl Claim {
    /// The same, checked by one more; two at most.
    const fn by(mut self, check: Check) -> Self {
        let free = self.checks[0].is_some() as usize;
        self.checks[free] = Some(check);
        self
    }

    const fn but(mut self, remark: &'static str) -> Self {
        self.remark = remark;
        self
    }
}

/// All claims, in their order; `EXT` comes last.
pub fn claims() -> Vec<Claim> {
    [branches::ROWS, costs::ROWS].concat()
}
