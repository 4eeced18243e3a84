//! The timing model's block of a report: as data, and as text.

use std::fmt::Write;

use warpfold_exec::timing::{Timing, WarpState};

use super::figure::{Figure, Named};
use super::model::{RunDoc, TimingDoc};
use super::style::{Paint, Tone};
use super::table::{Cell, Table};
use super::text::{WIDTH, wrapped};

/// What a report says of a launch's time.
pub(super) fn doc(t: &Timing) -> TimingDoc {
    let quotient = |x: Option<f64>, decimals| match x {
        Some(x) => Figure::Quotient(x, decimals),
        None => Figure::Undefined,
    };
    let mut figures = Named::default();
    figures.push("cycles", Figure::Count(t.cycles));
    figures.push("issued", Figure::Count(t.issued));
    figures.push("ipc", quotient(t.ipc(), 3));
    figures.push("issue_utilization", quotient(t.issue_utilization(), 2));
    figures.push("eligible_warps", quotient(t.eligible_warps(), 3));
    figures.push("active_warps", quotient(t.active_warps(), 3));
    figures.push("occupancy", quotient(t.occupancy(), 2));
    figures.push("issue_active", Figure::Count(t.issue_active));
    figures.push("no_eligible", Figure::Count(t.no_eligible));
    figures.push("no_warp", Figure::Count(t.no_warp));
    for state in WarpState::ALL {
        let name = format!("warp_{}", state.name());
        figures.push(name, Figure::Count(t.state(state)));
    }
    TimingDoc {
        schedulers: t.schedulers,
        resident_warps: t.resident_warps,
        resident_blocks: t.resident_blocks,
        launch: t.launch,
        figures,
        assumed: t.assumed.iter().map(|c| c.name()).collect(),
    }
}

/// The times of all versions side by side.
pub(super) fn text(runs: &[RunDoc], paint: Paint) -> String {
    let timed: Vec<(&'static str, &TimingDoc)> = runs
        .iter()
        .filter_map(|r| Some((r.version, r.timing.as_ref()?)))
        .collect();
    let Some(&(_, first)) = timed.first() else {
        return String::new();
    };
    let mut out = format!("{}: ", paint.tone(Tone::Head, "timing model"));
    let _ = writeln!(
        out,
        "{} scheduler{}, room for {} warps, launch overhead {} cycles",
        first.schedulers,
        if first.schedulers == 1 { "" } else { "s" },
        first.resident_warps,
        first.launch
    );
    let mut table = timed
        .iter()
        .fold(Table::new().words("timing"), |t, (v, _)| t.numbers(*v));
    for (name, _) in &first.figures.0 {
        let figures: Vec<Option<Figure>> = timed.iter().map(|(_, t)| t.figures.get(name)).collect();
        let cells = figures.iter().map(|f| Cell::maybe(*f));
        table.row(
            std::iter::once(Cell::plain(name))
                .chain(cells)
                .collect::<Vec<_>>(),
        );
    }
    out.push_str(&table.render(paint, 0));
    let mut assumed: Vec<&str> = Vec::new();
    for class in timed.iter().flat_map(|(_, t)| &t.assumed) {
        if !assumed.contains(class) {
            assumed.push(class);
        }
    }
    if !assumed.is_empty() {
        let line = format!("latency assumed: {}", assumed.join(", "));
        let lines = wrapped(&line, ", ", WIDTH);
        let _ = writeln!(out, "{}", paint.tone(Tone::Dim, lines.join("\n  ")));
    }
    out
}
