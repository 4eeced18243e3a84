//! The table of passes. A pass is a function from a function to a changed
//! function; the pipeline of the facade is a sequence of rows.

use warpfold_analysis::JoinRule;
use warpfold_ir::Function;

use crate::log::Log;
use crate::{canonical, clean, inline};

/// One row of [`passes`].
#[derive(Clone, Copy, Debug)]
pub struct PassRow {
    /// The name, as in filetests.
    pub name: &'static str,
    /// What it does, one sentence.
    pub doc: &'static str,
    /// Runs it on a function whose lanes will join by this rule; true if
    /// anything changed.
    pub run: fn(&mut Function, JoinRule, &mut Log) -> bool,
}

/// One row of [`MODULE`]: a pass that looks at other functions of the module.
#[derive(Clone, Copy, Debug)]
pub struct ModulePassRow {
    /// The name, as in filetests.
    pub name: &'static str,
    /// What it does, one sentence.
    pub doc: &'static str,
    /// Runs it on a function of a module with these functions, whose lanes
    /// will join by this rule; true if anything changed.
    pub run: fn(&mut Function, &[&Function], JoinRule, &mut Log) -> bool,
}

/// The passes of [`inline`](crate::inline()).
pub const MODULE: &[ModulePassRow] = &[ModulePassRow {
    name: "inline",
    doc: "Replaces direct calls of functions that do not call themselves by their code.",
    run: inline::run,
}];

/// The passes of [`clean`](crate::clean()), in order.
pub const CLEAN: &[PassRow] = &[
    PassRow {
        name: "fold",
        doc: "Computes constants, resolves copies, and turns branches on constants into jumps.",
        run: clean::fold::run,
    },
    PassRow {
        name: "params",
        doc: "Replaces block parameters that only ever hold one value.",
        run: clean::params::run,
    },
    PassRow {
        name: "cse",
        doc: "Replaces a computation by an equal one that dominates it.",
        run: clean::cse::run,
    },
    PassRow {
        name: "dce",
        doc: "Removes computations and block parameters that nothing uses.",
        run: clean::dce::run,
    },
];

/// What cleans up after a conversion, in order: instructions go away and
/// nothing else changes, so that what it saves is what it removes.
pub const TIDY: &[PassRow] = &[
    PassRow {
        name: "fold-values",
        doc: "Computes constants and resolves copies; no branch changes.",
        run: clean::fold::values,
    },
    CLEAN[1],
    CLEAN[2],
    CLEAN[3],
];

/// The passes of [`canonicalise`](crate::canonicalise()), in order.
pub const CANONICAL: &[PassRow] = &[
    PassRow {
        name: "hoist",
        doc: "Moves equal safe work of both sides above their branch.",
        run: canonical::hoist::run,
    },
    PassRow {
        name: "exits",
        doc: "Turns sides that only return or only trap into guarded exits and traps.",
        run: canonical::exits::run,
    },
];

/// The passes that run only where they are asked for.
pub const OPTIONAL: &[PassRow] = &[PassRow {
    name: "accesses",
    doc: "Makes equal loads and stores of both sides once; off unless asked for.",
    run: canonical::accesses::run,
}];

/// Every pass that stands on its own, for filetests and documentation.
pub fn passes() -> impl Iterator<Item = &'static PassRow> {
    let all = CLEAN.iter().chain(CANONICAL).chain(&TIDY[..1]);
    all.chain(OPTIONAL)
}

/// Runs `rows` in order, again and again until none changes anything. The
/// passes only remove or move work forward in a fixed order, so this ends;
/// the bound keeps a mistake in a pass from becoming a hang.
pub(crate) fn to_fixpoint(rows: &[PassRow], func: &mut Function, joins: JoinRule, log: &mut Log) {
    const ROUNDS: usize = 64;
    for _ in 0..ROUNDS {
        let mut changed = false;
        for row in rows {
            changed |= (row.run)(func, joins, log);
        }
        if !changed {
            return;
        }
    }
}
