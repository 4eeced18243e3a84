//! What was checked while the versions of a kernel ran: as data, and as one line of text.

use warpfold_exec::Checked;

use super::model::{CheckedDoc, RunDoc};
use super::style::{Paint, Tone};
use super::text::{WIDTH, wrapped};

/// What a report says of a run's checks.
pub(super) fn doc(c: &Checked) -> CheckedDoc {
    CheckedDoc {
        claims: c.claims,
        among_warps: c.wide,
        control: c.control,
        poison: c.poison,
        bytes: c.bytes,
        unrecorded: c.unrecorded,
    }
}

/// What was checked in all runs together, nothing of which was wrong.
pub(super) fn text(runs: &[RunDoc], paint: Paint) -> String {
    let all: Vec<&CheckedDoc> = runs.iter().filter_map(|r| r.checked.as_ref()).collect();
    if all.is_empty() {
        return String::new();
    }
    let sum = |of: fn(&CheckedDoc) -> u64| all.iter().map(|c| of(c)).sum::<u64>();
    let counts = [
        (sum(|c| c.claims), "claims about values"),
        (sum(|c| c.among_warps), "comparisons of them among warps"),
        (sum(|c| c.control), "about branches and blocks"),
        (sum(|c| c.poison), "uses of what may be poison"),
        (sum(|c| c.bytes), "bytes accessed, for races"),
        (sum(|c| c.unrecorded), "left out, too many being kept"),
    ];
    let said = counts.iter().filter(|(n, _)| *n > 0);
    let mut parts: Vec<String> = said.map(|(n, what)| format!("{n} {what}")).collect();
    if parts.is_empty() {
        parts.push("there was nothing to compare".to_owned());
    }
    let line = format!(
        "{}: {}; nothing is wrong",
        paint.tone(Tone::Head, "checked"),
        parts.join(", ")
    );
    wrapped(&line, ", ", WIDTH).join("\n  ") + "\n"
}
