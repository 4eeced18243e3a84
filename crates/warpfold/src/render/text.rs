//! Reports to be read: a [`Document`] as text.
//!
//! Sections come in the order in which questions arise: what ran, is the
//! result right, what was decided for each branch and did the price come
//! true, what did it do to the counters. A section without content is left
//! out.

use std::fmt::Write;

use super::figure::Figure;
use super::model::{
    BranchDoc, CostDoc, Document, EstimateDoc, HintDoc, LaunchDoc, OriginDoc, RunDoc, TrapDoc,
};
use super::style::{Paint, Tone};
use super::table::{Cell, Table};
use super::{checked, counters, timeline, timing};
use warpfold_machine::Cost;

/// What is said of a kernel without conditional branches that calls functions
/// with so many of them.
fn no_branch(called: u64) -> String {
    let none = "The kernel has no conditional branch";
    match called {
        0 => format!("{none}.\n"),
        1 => format!("{none} of its own; the one of a function that it calls stays.\n"),
        n => format!("{none} of its own; the {n} of functions that it calls stay.\n"),
    }
}

/// `doc` as text; its command decides the layout.
pub fn render(doc: &Document, paint: Paint) -> String {
    let mut out = String::new();
    title(&mut out, doc, paint);
    verdict(&mut out, doc, paint);
    let detailed = doc.command == "explain";
    if let Some(branches) = &doc.branches {
        match branches.as_slice() {
            [] => section(&mut out, &no_branch(doc.branches_called)),
            all if detailed => {
                let policy = doc.settings.as_ref().map_or("cost", |s| &s.policy);
                for b in all {
                    section(&mut out, &super::explain::branch(b, policy, paint));
                    if doc.arithmetic {
                        out.push_str(&super::explain::arithmetic(b, paint));
                    }
                }
            }
            all => {
                section(&mut out, &branch_table(all, doc, paint));
                let notes: String = all.iter().filter_map(|b| note(b, paint)).collect();
                if !notes.is_empty() {
                    section(&mut out, &notes);
                }
            }
        }
    }
    if let Some(cost) = &doc.cost {
        section(&mut out, &cost_text(cost, doc, paint));
    }
    match doc.runs.as_slice() {
        [] => {}
        [one] => {
            section(&mut out, &executed_table(one, paint));
            section(&mut out, &counters::of_one(one, paint));
        }
        all => section(&mut out, &counters::side_by_side(all, paint)),
    }
    section(&mut out, &timing::text(&doc.runs, paint));
    section(&mut out, &checked::text(&doc.runs, paint));
    for run in &doc.runs {
        if !run.traps.is_empty() {
            section(&mut out, &traps(run, paint));
        }
    }
    for run in &doc.runs {
        if let Some(passes) = &run.timeline {
            section(&mut out, &timeline::render(run.version, passes, paint));
        }
    }
    out
}

fn section(out: &mut String, text: &str) {
    if !text.is_empty() {
        out.push('\n');
        out.push_str(text);
    }
}

/// `17: brif`, or by instruction number where there was no text.
pub(super) fn branch_name(origin: OriginDoc, opcode: &str) -> String {
    match origin.line {
        Some(line) => format!("{line}: {opcode}"),
        None => format!("inst{}: {opcode}", origin.inst),
    }
}

fn title(out: &mut String, doc: &Document, paint: Paint) {
    out.push_str(&paint.tone(Tone::Head, &doc.function));
    if let Some(m) = &doc.machine {
        let _ = write!(out, " on {}", paint.tone(Tone::Head, &m.name));
        let b = if m.b_proven == m.b_split && m.b_agree == m.b_split {
            format!(" (b {})", m.b_split)
        } else {
            format!(
                " (b {} proven, {} agreed, {} split)",
                m.b_proven, m.b_agree, m.b_split
            )
        };
        out.push_str(&paint.tone(Tone::Dim, b));
    }
    if doc.mode != "stack" {
        let _ = write!(out, ", {} mode", doc.mode);
    }
    if let Some(launch) = &doc.launch
        && let Some(text) = launch_text(launch)
    {
        let _ = write!(out, ": {text}");
    }
    out.push('\n');
    if let Some(s) = &doc.settings {
        let mut knobs = Vec::new();
        if s.policy != "cost" {
            knobs.push(format!("policy: {}", s.policy));
        }
        if let Some(force) = s.force {
            // Of a branch inside another's region that other had the choice.
            let mut branches = doc.branches.iter().flatten();
            let followed = branches.any(|b| b.forced.is_some() || b.head.is_some());
            knobs.push(match followed {
                true => format!("forced: {force}"),
                false => format!("`{force}` had no effect: no branch had a choice"),
            });
        }
        if s.joins != "default" {
            knobs.push(format!("joins: {}", s.joins));
        }
        if !s.merge {
            knobs.push("no merging".to_owned());
        }
        if s.merge_accesses {
            knobs.push("loads and stores of both sides merged".to_owned());
        }
        if !s.cleanup {
            knobs.push("no clean-up".to_owned());
        }
        if !s.profile {
            // Only what ran has a cost of the launch.
            let costs = if doc.runs.is_empty() {
                "costs are for that many executions"
            } else {
                "estimates are for that many executions, measured is the launch"
            };
            knobs.push(format!("no profile: counts are assumed, {costs}"));
            if let Some(prior) = s.prior.as_ref().filter(|p| p.text != "p=0.5, rho=0") {
                knobs.push(format!("prior {}", prior.text));
            }
        }
        if !knobs.is_empty() {
            out.push_str(&paint.tone(Tone::Dim, knobs.join("; ")));
            out.push('\n');
        }
    }
}

fn launch_text(launch: &LaunchDoc) -> Option<String> {
    let dims = |d: [u32; 3]| match d {
        [x, 1, 1] => x.to_string(),
        [x, y, 1] => format!("{x}×{y}"),
        [x, y, z] => format!("{x}×{y}×{z}"),
    };
    let count = |n: u64, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    match (launch.grid, launch.block) {
        (Some(grid), Some(block)) => {
            let blocks = match grid {
                [1, 1, 1] => "1 block".to_owned(),
                g => format!("{} blocks", dims(g)),
            };
            Some(format!(
                "{blocks} of {} thread{}, {}",
                dims(block),
                if block == [1; 3] { "" } else { "s" },
                count(launch.warps()?, "warp")
            ))
        }
        (None, Some(block)) => Some(format!("blocks of {} threads", dims(block))),
        _ => None,
    }
}

fn verdict(out: &mut String, doc: &Document, paint: Paint) {
    let Some(s) = &doc.sameness else {
        return;
    };
    let (tone, head) = match s.verdict {
        "same" => (Tone::Good, "same before and after"),
        "different" => (Tone::Bad, "NOT the same before and after"),
        _ => (Tone::Warn, "unfinished"),
    };
    let _ = writeln!(out, "{}: {}", paint.tone(tone, head), s.detail);
}

fn branch_table(branches: &[BranchDoc], doc: &Document, paint: Paint) -> String {
    let measured = !doc.runs.is_empty();
    let mut table = Table::new()
        .words("branch")
        .words("shape")
        .words("scope")
        .group("executions", &["all", "true", "false", "split"])
        .group("estimated cost", &["branch", "straight", "skip", "margin"])
        .words("form")
        .group(
            "cost",
            if measured {
                &["predicted", "measured"]
            } else {
                &["predicted"]
            },
        );
    // A price for assumed executions does not belong beside what a launch cost.
    let alike = !measured || doc.settings.as_ref().is_none_or(|s| s.profile);
    for b in branches {
        let c = b.counts.as_ref();
        let predicted = b.predicted.filter(|_| alike && !elsewhere(b));
        let measured = b.measured.filter(|_| !elsewhere(b));
        table.row([
            Cell::plain(branch_name(b.origin, b.opcode)),
            Cell::maybe(b.shape.as_deref()),
            Cell::maybe(b.scope.as_deref()),
            Cell::maybe(c.map(|c| c.executions)),
            Cell::maybe(c.map(|c| c.any_true)),
            Cell::maybe(c.map(|c| c.any_false)),
            match c {
                Some(c) if c.splits > 0 => Cell::new(Tone::Warn, c.splits),
                c => Cell::maybe(c.map(|c| c.splits)),
            },
            estimate(b, "branch"),
            estimate(b, "straight"),
            estimate(b, "skip"),
            Cell::maybe(b.margin),
            Cell::new(Tone::Choice, &b.outcome),
            Cell::maybe(predicted),
            match (predicted, measured) {
                (Some(p), Some(m)) if p == m => Cell::new(Tone::Good, m),
                (_, m) => Cell::maybe(m),
            },
        ]);
    }
    table.render(paint, 0)
}

/// Whether another branch's region accounts for all that this one costs.
pub(super) fn elsewhere(b: &BranchDoc) -> bool {
    let nothing = |c: Option<Cost>| c.is_none_or(|c| c == Cost::ZERO);
    b.head.is_some() && nothing(b.predicted) && nothing(b.measured)
}

/// Why the knob changed nothing; `None` if it decided, or there is none.
pub(super) fn no_effect(b: &BranchDoc) -> Option<String> {
    let force = b.forced?;
    let why = match &b.blocker {
        Some(_) if force == "branch" => "it was the only legal form",
        Some(why) => why.as_str(),
        None if force != "branch" && b.outcome == "branch" => "no such form is legal",
        None => return None,
    };
    Some(format!("`{force}` had no effect: {why}"))
}

fn estimate(b: &BranchDoc, form: &str) -> Cell {
    let found = b.estimates.iter().find(|e: &&EstimateDoc| e.form == form);
    match found {
        Some(e) => Cell::plain(e.total),
        // Two dots more than nothing: it exists, but may not be.
        None if form == "straight" && b.blocker.is_some() => Cell::new(Tone::Dim, "illegal"),
        None => Cell::maybe(None::<u32>),
    }
}

/// A line below the table for what its columns cannot say.
fn note(b: &BranchDoc, paint: Paint) -> Option<String> {
    let mut parts = Vec::new();
    if let Some(reason) = &b.reason {
        parts.push(format!("{}: {reason}", b.outcome));
    }
    if let Some(head) = b.head {
        parts.push(format!("{}, decided with {}", b.outcome, place(head)));
    }
    let no_effect = no_effect(b);
    if let Some(blocker) = &b.blocker
        && no_effect
            .as_ref()
            .is_none_or(|text| !text.ends_with(blocker))
    {
        parts.push(format!("cannot be straight: {blocker}"));
    }
    match (no_effect, b.forced) {
        (Some(text), _) => parts.push(text),
        (None, Some(force)) => parts.push(format!("forced: {force}")),
        (None, None) => {}
    }
    parts.extend(b.hint.as_ref().map(|h| format!("hint {}", hint(h, paint))));
    if parts.is_empty() {
        return None;
    }
    let name = branch_name(b.origin, b.opcode);
    Some(format!(
        "{}  {}\n",
        paint.tone(Tone::Dim, name),
        parts.join("; ")
    ))
}

/// What became of a hint.
pub(super) fn hint(h: &HintDoc, paint: Paint) -> String {
    match &h.why {
        None => format!("`{}` followed", h.hint),
        Some(why) => {
            let refused = paint.tone(Tone::Warn, format!("`{}` refused", h.hint));
            format!("{refused}: {why}")
        }
    }
}

/// `line 17`, or `inst12`.
pub(super) fn place(origin: OriginDoc) -> String {
    match origin.line {
        Some(line) => format!("line {line}"),
        None => format!("inst{}", origin.inst),
    }
}

fn cost_text(cost: &CostDoc, doc: &Document, paint: Paint) -> String {
    let mut out = String::new();
    let name = doc.machine.as_ref().map_or("", |m| m.name.as_str());
    if let (Some(predicted), Some(after)) = (cost.predicted, cost.after) {
        let foreign = doc.settings.as_ref().is_some_and(|s| s.foreign_profile);
        let head = paint.tone(Tone::Head, format!("cost on {name}"));
        let _ = write!(out, "{head}: predicted {predicted}, measured {after}");
        let removed = cost.removed.iter().map(|r| r.predicted).sum::<Cost>();
        if predicted == after {
            let _ = writeln!(out, ", {}", paint.tone(Tone::Good, "exact"));
        } else if predicted - after == removed {
            let _ = writeln!(
                out,
                ", {}",
                paint.tone(Tone::Good, "exact but for what clean-up removed:")
            );
        } else if foreign {
            out.push_str(", the prediction being for the launches of the profile\n");
        } else {
            let off = predicted - after;
            let _ = write!(out, ", {}", paint.tone(Tone::Warn, format!("off by {off}")));
            let after = doc.runs.iter().find(|r| r.version == "after");
            match after.and_then(|r| r.counters.get("yields")) {
                Some(Figure::Count(n)) if n > 0 => {
                    let s = if n == 1 { "" } else { "s" };
                    let _ = writeln!(out, "; it has {n} yield{s}, which are not predicted");
                }
                _ => out.push('\n'),
            }
        }
    } else if let Some(predicted) = cost.predicted {
        let _ = write!(out, "predicted cost on {name}: {predicted}");
        if let Some(kept) = cost.predicted_kept {
            let _ = write!(out, ", {kept} with every branch kept");
        }
        out.push('\n');
    }
    for r in &cost.removed {
        let _ = writeln!(out, "  {}  {}", r.predicted, r.text);
    }
    if let Some(outside) = cost.outside {
        let _ = writeln!(
            out,
            "{}",
            paint.tone(
                Tone::Dim,
                format!("of the measured cost, {outside} belongs to no branch")
            )
        );
    }
    out
}

fn executed_table(run: &RunDoc, paint: Paint) -> String {
    if run.branches.is_empty() {
        return String::new();
    }
    let mut table = Table::new()
        .words("branch")
        .words("in")
        .group("executions", &["all", "split"])
        .words("by edge");
    for b in &run.branches {
        let taken: Vec<String> = b.taken.iter().map(u64::to_string).collect();
        table.row([
            Cell::maybe(b.origin.map(place)),
            Cell::plain(&b.block),
            Cell::plain(b.executions),
            Cell::new(
                if b.splits > 0 {
                    Tone::Warn
                } else {
                    Tone::Plain
                },
                b.splits,
            ),
            Cell::plain(taken.join(" ")),
        ]);
    }
    table.render(paint, 0)
}

/// Width that running text is broken at.
pub(super) const WIDTH: usize = 100;

/// `text` in lines of at most `width` characters, broken after `separator`; a
/// longer part stands alone.
pub fn wrapped(text: &str, separator: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in text.split_inclusive(separator) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + part.trim_end().chars().count() <= width => {
                line.push_str(part);
            }
            Some(line) => {
                line.truncate(line.trim_end().len());
                lines.push(part.to_owned());
            }
            None => lines.push(part.to_owned()),
        }
    }
    lines
}

fn traps(run: &RunDoc, paint: Paint) -> String {
    let lanes: u64 = run.traps.iter().map(|t| t.lanes).sum();
    let mut out = paint.tone(Tone::Head, format!("traps {}", run.version));
    let _ = writeln!(out, ": {lanes} lane{}", if lanes == 1 { "" } else { "s" });
    let mut table = Table::new()
        .words("trap")
        .words("at")
        .numbers("lanes")
        .words("first")
        .words("instruction");
    for t in &run.traps {
        table.row(trap_row(t));
    }
    out.push_str(&table.render(paint, 0));
    out
}

fn trap_row(t: &TrapDoc) -> [Cell; 5] {
    [
        Cell::plain(&t.kind),
        Cell::maybe(t.line.map(|l| format!("line {l}"))),
        Cell::plain(t.lanes),
        Cell::plain(format!("block {} thread {}", t.first[0], t.first[1])),
        Cell::plain(&t.place),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_break_after_separators() {
        assert_eq!(
            wrapped("same: a 1, b 22, c 333, d 4", ", ", 15),
            ["same: a 1,", "b 22, c 333,", "d 4"]
        );
        assert_eq!(wrapped("short", "; ", 10), ["short"]);
        assert_eq!(wrapped("quite long; x", "; ", 4), ["quite long;", "x"]);
    }
}
