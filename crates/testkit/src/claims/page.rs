//! The book's table of claims.

use std::fmt::Write;

use super::{SOURCES, claims};

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// The list in Markdown: sources, then each claim with what holds of it, what
/// checks it and what is to be said against its source.
pub fn page() -> String {
    let mut text = String::from("| source | |\n|---|---|\n");
    for s in SOURCES {
        let _ = writeln!(text, "| {} | {} |", s.name, s.about);
    }
    text += "\n| claim | source | says | what holds | checked by |\n|---|---|---|---|---|\n";
    for c in claims() {
        let mark = if c.remark.is_empty() { "" } else { " ¹" };
        let _ = writeln!(
            text,
            "| {}{mark} | {} | {} | {} | {} |",
            c.id,
            c.source,
            cell(c.title),
            cell(c.holds),
            c.how()
        );
    }
    text += "\n¹ Where the source is wrong, or leaves something open:\n\n";
    for c in claims().iter().filter(|c| !c.remark.is_empty()) {
        let _ = writeln!(text, "- {}: {}", c.id, c.remark);
    }
    text
}
