//! The two extremes: no branch is converted; every branch is that may be.

use super::PolicyRow;
use crate::ifconv::policy::{Policy, Question};
use crate::report::Form;

/// See the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Always {
    name: &'static str,
    form: Form,
}

impl Policy for Always {
    fn name(&self) -> &str {
        self.name
    }

    fn choose(&self, _: &Question<'_>) -> Form {
        self.form
    }
}

/// Its row.
pub const ALWAYS_BRANCH: PolicyRow = PolicyRow {
    name: "always-branch",
    rule: "Every branch stays.",
    source: "an extreme to compare with",
    policy: &Always {
        name: "always-branch",
        form: Form::Branch,
    },
};

/// Its row.
pub const ALWAYS_STRAIGHT: PolicyRow = PolicyRow {
    name: "always-straight",
    rule: "Straight-line code wherever it is legal.",
    source: "an extreme to compare with",
    policy: &Always {
        name: "always-straight",
        form: Form::Straight,
    },
};
