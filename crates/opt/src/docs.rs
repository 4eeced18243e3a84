//! The tables of the book's pages on if-conversion and policies, from the
//! code's own.

use crate::ifconv::legality::RULES;
use crate::pass::{MODULE, passes};
use crate::policy::POLICIES;
use crate::report::Force;

/// The generated tables by the name of their place in the page.
pub fn tables() -> Vec<(&'static str, String)> {
    let table = |head: [&str; 2], rows: Vec<(String, String)>| {
        let mut text = format!("| {} | {} |\n|---|---|\n", head[0], head[1]);
        for (name, doc) in rows {
            text += &format!("| `{name}` | {doc} |\n");
        }
        text
    };
    let own = |name: &str, doc: &str| (name.to_string(), doc.to_string());
    vec![
        (
            "passes",
            table(
                ["pass", "what it does"],
                MODULE
                    .iter()
                    .map(|p| own(p.name, p.doc))
                    .chain(passes().map(|p| own(p.name, p.doc)))
                    .collect(),
            ),
        ),
        (
            "forces",
            table(
                ["knob", "meaning"],
                Force::ALL.iter().map(|f| own(f.name(), f.doc())).collect(),
            ),
        ),
        (
            "blockers",
            table(
                ["blocker", "rule"],
                RULES.iter().map(|(name, doc)| own(name, doc)).collect(),
            ),
        ),
    ]
}

/// The table of the page on policies.
pub fn policies() -> String {
    let mut text = String::from("| policy | rule | source |\n|---|---|---|\n");
    for row in POLICIES {
        text += &format!("| `{}` | {} | {} |\n", row.name, row.rule, row.source);
    }
    text
}
