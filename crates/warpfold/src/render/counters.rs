//! Counters in text: of one run as a list, of several side by side.

use std::fmt::Write;

use super::model::RunDoc;
use super::style::{Paint, Tone};
use super::table::{Cell, Table};
use super::text::{WIDTH, wrapped};

/// Whether text shows a counter. The histogram of active lanes, the issues of
/// each cost class (their sums by counter class are shown) and the 128-byte
/// lines of memory requests are left to JSON.
fn shown(name: &str) -> bool {
    !(name.starts_with("active_lanes_") || name.starts_with("issue_") || name.ends_with("_lines"))
}

/// The counters of one run.
pub(super) fn of_one(run: &RunDoc, paint: Paint) -> String {
    let mut table = Table::new().words("counter").numbers("value");
    for (name, figure) in &run.counters.0 {
        if shown(name) && !figure.is_nothing() {
            table.row([Cell::plain(name), Cell::plain(figure)]);
        }
    }
    table.render(paint, 0)
}

/// The counters that differ between versions, side by side; below them those
/// that do not.
pub(super) fn side_by_side(runs: &[RunDoc], paint: Paint) -> String {
    let versions: Vec<&'static str> = runs.iter().map(|r| r.version).collect();
    let mut table = versions
        .iter()
        .fold(Table::new().words("counter"), |t, &v| t.numbers(v))
        .group("ratio to before", versions.get(1..).unwrap_or_default());
    let Some(first) = runs.first() else {
        return String::new();
    };
    let mut unchanged = Vec::new();
    for (name, base) in &first.counters.0 {
        let figures: Vec<_> = runs.iter().map(|r| r.counters.get(name)).collect();
        if !shown(name) || figures.iter().flatten().all(|f| f.is_nothing()) {
            continue;
        }
        if figures.iter().all(|f| *f == Some(*base)) {
            unchanged.push(format!("{name} {base}"));
            continue;
        }
        let ratios = figures.iter().skip(1).map(|f| {
            let (Some(x), Some(base)) = (f.and_then(|f| f.to_f64()), base.to_f64()) else {
                return Cell::maybe(None::<u32>);
            };
            if base == 0.0 {
                return Cell::maybe(None::<u32>);
            }
            let tone = if x == base { Tone::Dim } else { Tone::Plain };
            Cell::new(tone, format!("{:.2}", x / base))
        });
        let row: Vec<Cell> = std::iter::once(Cell::plain(name))
            .chain(figures.iter().map(|f| Cell::maybe(*f)))
            .chain(ratios)
            .collect();
        table.row(row);
    }
    let mut out = String::new();
    if !table.is_empty() {
        out.push_str(&table.render(paint, 0));
    }
    if !unchanged.is_empty() {
        let line = format!("unchanged: {}", unchanged.join(", "));
        let lines = wrapped(&line, ", ", WIDTH);
        let _ = writeln!(out, "{}", paint.tone(Tone::Dim, lines.join("\n  ")));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_that_json_alone_has() {
        assert!(shown("inst_executed_alu"));
        assert!(shown("lost_diverged"));
        for name in ["active_lanes_7", "issue_alu", "global_load_lines"] {
            assert!(!shown(name), "{name}");
        }
    }
}
