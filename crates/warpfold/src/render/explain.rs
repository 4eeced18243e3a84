//! One branch's decision, in full.

use std::fmt::Write;

use warpfold_machine::Cost;

use super::model::{
    BranchDoc, BreakEvenDoc, CallStepDoc, ComponentDoc, CountsDoc, EstimateDoc, Figure, LegalityDoc,
};
use super::style::{Paint, Tone};
use super::table::{Cell, Table};
use super::text::{WIDTH, branch_name, elsewhere, hint, no_effect, place, wrapped};

/// Width of the labels on the left.
const LABEL: usize = 11;

/// Everything that was found out about `b`, one aspect a line; `policy` decided
/// where no one else did.
pub(super) fn branch(b: &BranchDoc, policy: &str, paint: Paint) -> String {
    let mut out = paint.tone(Tone::Head, branch_name(b.origin, b.opcode));
    if let (Some(shape), Some(join)) = (&b.shape, &b.join) {
        let _ = write!(out, ", a {shape} that ends at {join}");
    }
    out.push('\n');
    let mut line = |label: &str, text: String| {
        let label = format!("{label:LABEL$}");
        let _ = writeln!(out, "  {}{text}", paint.tone(Tone::Dim, label));
    };
    if !b.calls.is_empty() {
        let steps: Vec<String> = b.calls.iter().map(call_step).collect();
        line("inlined", steps.join(", then "));
    }
    if let Some(scope) = &b.scope {
        line("uniform", scope_text(scope, b.divergence.as_deref()));
    }
    if let Some(c) = &b.counts {
        line("executions", counts_text(c));
    }
    for e in &b.estimates {
        line(e.form, estimate_text(e, b));
    }
    if let Some(blocker) = &b.blocker {
        // Under force it is the forced form that is forbidden, straight code perhaps not.
        let of_forced = |l: &&LegalityDoc| l.why == b.blocker && Some(l.form) == b.forced;
        let form = b.legality.iter().find(of_forced);
        let form = form.map_or("straight", |l| l.form);
        line(form, format!("illegal: {blocker}"));
    }
    for l in b.legality.iter().filter(|l| l.why != b.blocker) {
        if let Some(why) = &l.why {
            line(l.form, format!("illegal: {why}"));
        }
    }
    line("decision", decision(b, policy, paint));
    if let Some(h) = &b.hint {
        line("hint", hint(h, paint));
    }
    if let Some(even) = b.break_even_b {
        line("break-even", break_even(even));
    }
    if let Some(text) = b.break_even.as_ref().and_then(turns) {
        line("", text);
    }
    if let Some(predicted) = b.predicted.filter(|_| !elsewhere(b)) {
        line("predicted", format!("{predicted} for what belongs to it"));
    }
    out
}

fn call_step(step: &CallStepDoc) -> String {
    match step.line {
        Some(line) => format!("%{}, called at line {line}", step.function),
        None => format!("%{}", step.function),
    }
}

fn scope_text(scope: &str, divergence: Option<&str>) -> String {
    let what = match scope {
        "const" => "a constant",
        "grid" => "across the grid",
        "block" => "across a block",
        "warp" => "across a warp",
        "lane" => "no, lanes differ",
        other => other,
    };
    match divergence {
        Some(why) => {
            let lines = wrapped(&format!("{what}: {why}"), "; ", WIDTH - LABEL);
            lines.join(&format!("\n{:1$}", "", LABEL + 2))
        }
        None => what.to_owned(),
    }
}

fn counts_text(c: &CountsDoc) -> String {
    let CountsDoc {
        executions,
        any_true,
        any_false,
        splits,
        lanes_true,
        lanes,
        source,
    } = c;
    let mut text = format!(
        "{executions}: any lane true in {any_true}, false in {any_false}, split in {splits} (from {source})"
    );
    if let (Some(took), Some(all)) = (lanes_true, lanes) {
        let share = Figure::percent(*took, *all);
        let _ = write!(text, "\n  {:LABEL$}of the lanes, {share}% are true", "");
    }
    text
}

fn estimate_text(e: &EstimateDoc, b: &BranchDoc) -> String {
    let parts: Vec<String> = e.components.iter().map(component).collect();
    let mut text = format!("{} = {}", e.total, parts.join(" + "));
    let skips = b.straight.is_some_and(|s| s.skips > 0);
    if e.form
        == (if b.outcome == "skip" {
            "skip"
        } else {
            "straight"
        })
        && let Some(s) = b.straight
    {
        let _ = write!(
            text,
            "\n  {:LABEL$}instructions of the sides {}, guarded {}, guarded exits {}; \
             selects {}, predicate operations {}",
            "", s.instructions, s.guarded, s.exits, s.selects, s.predicates
        );
        if skips {
            let _ = write!(text, "; parts skipped when empty {}", s.skips);
        }
    }
    text
}

/// What is paid for and what it costs; how often, where that is another
/// number.
fn component(c: &ComponentDoc) -> String {
    if c.issues == 0 || c.cost == Cost::issues(c.issues) {
        format!("{} {}", c.name, c.cost)
    } else {
        let times = if c.issues == 1 {
            "once"
        } else {
            &format!("{} times", c.issues)
        };
        format!("{} {} ({times})", c.name, c.cost)
    }
}

/// The branch overhead at which the decision would turn.
fn break_even(b: Cost) -> String {
    if b < Cost::ZERO {
        "none: straight code is cheaper whatever a branch costs on top".to_owned()
    } else {
        format!("at a branch overhead b of {b} per execution")
    }
}

/// The other values at which the decision would turn.
fn turns(even: &BreakEvenDoc) -> Option<String> {
    let mut parts = Vec::new();
    for (side, cost, turn) in [
        ("then", even.then_cost, even.then_even),
        ("else", even.else_cost, even.else_even),
    ] {
        if let (Some(cost), Some(turn)) = (cost, turn) {
            parts.push(format!(
                "at a cost of the {side} side of {turn} (it is {cost})"
            ));
        }
    }
    if let Some(p) = &even.lane_true_text {
        parts.push(format!("at a lane probability of {p}"));
    }
    (!parts.is_empty()).then(|| parts.join(format!(",\n  {:LABEL$}", "").as_str()))
}

/// The prices of `b`'s forms line by line.
pub(super) fn arithmetic(b: &BranchDoc, paint: Paint) -> String {
    let mut out = String::new();
    for e in &b.estimates {
        let mut table = Table::new()
            .words(e.form)
            .words("what")
            .numbers("count")
            .numbers("× times")
            .numbers("× unit")
            .numbers("= cost");
        for c in &e.components {
            let mut name = c.name;
            for line in &c.lines {
                table.row([
                    Cell::plain(name),
                    Cell::plain(&line.what),
                    Cell::plain(line.count),
                    Cell::plain(line.times),
                    Cell::plain(line.unit),
                    Cell::plain(line.cost),
                ]);
                name = "";
            }
        }
        let mut sum = vec![Cell::new(Tone::Head, "sum")];
        sum.resize_with(5, Cell::default);
        sum.push(Cell::new(Tone::Head, e.total));
        table.row(sum);
        let _ = write!(out, "\n{}", table.render(paint, 2));
    }
    out
}

fn decision(b: &BranchDoc, policy: &str, paint: Paint) -> String {
    let mut text = paint.tone(Tone::Choice, &b.outcome);
    if let Some(head) = b.head {
        let _ = write!(text, ", with the region of the branch at {}", place(head));
    }
    if let Some(reason) = &b.reason {
        let _ = write!(text, ": {reason}");
    }
    if let Some(why) = no_effect(b) {
        let _ = write!(text, "; {why}");
        return text;
    }
    if b.by == "policy" && policy != "cost" {
        let _ = write!(text, ", by the policy `{policy}`");
    }
    if b.by == "hint" {
        text.push_str(", by its hint");
    }
    match (b.forced, b.margin) {
        (Some(force), Some(m)) => {
            let _ = write!(text, ", forced by `{force}`; margin {m}");
        }
        (Some(force), None) => {
            let _ = write!(text, ", forced by `{force}`");
        }
        (None, Some(m)) if m < Cost::ZERO => {
            let _ = write!(text, ", though dearer by {}", Cost::ZERO - m);
        }
        (None, Some(m)) => {
            let _ = write!(text, ", cheaper by {m}");
        }
        (None, None) if b.estimates.len() == 1 => text.push_str(", the only legal form"),
        (None, None) => {}
    }
    text
}
