//! The page of the book that lists the shipped machines.
//!
//! It is made from the documents themselves, so that no number is written
//! twice; a test compares it with `docs/machines.md`.

use std::collections::BTreeMap;
use std::fmt::Write;

use warpfold_ir::CostClass;

use crate::machine::Machine;
use crate::shipped::MACHINES;

/// The page `docs/machines.md`, in Markdown.
pub fn machines_page() -> String {
    let machines: Vec<Machine> = MACHINES.iter().map(|m| m.machine()).collect();
    let mut page = String::from(INTRO);

    page.push_str("\n## Costs\n\nIn issues.\n\n");
    table(&mut page, &machines, &costs());

    page.push_str("\n## Beside the costs\n\n");
    page.push_str(
        "Instructions that hardware issues for a branch (then / else path), cycles, and what a \
         multiprocessor holds.\n\n",
    );
    table(&mut page, &machines, &beside());

    page.push_str("\n## Sources\n");
    for m in &machines {
        let _ = write!(page, "\n### {}\n\n{}\n\n", m.name, m.description);
        let _ = writeln!(page, "Target `{}`.\n", m.triple);
        for (source, numbers) in by_source(m) {
            let _ = writeln!(page, "- {numbers}: {source}");
        }
    }
    page
}

const INTRO: &str = "\
# Machines

A machine is a set of facts: what an issue of each class of instruction costs, and what executing a
branch costs on top. It decides nothing. Cost models predict with its numbers, and the executor's
counters are weighed by the same numbers, so that a prediction can stand beside a measurement.

A machine is a TOML document. `--machine NAME` takes one of those below, `--machine FILE.toml` any
other; the files under `crates/machine/machines` are the examples to start from. Every number states
its source. Costs are fixed-point: at most three decimals, never negative. A warp has 32 lanes.

This page is generated from these files (`BLESS=1 cargo test -p warpfold-machine`).
";

type Row = (String, Box<dyn Fn(&Machine) -> String>);

fn row(name: impl Into<String>, cell: impl Fn(&Machine) -> String + 'static) -> Row {
    (name.into(), Box::new(cell))
}

fn costs() -> Vec<Row> {
    let mut rows: Vec<Row> = CostClass::ALL
        .iter()
        .filter(|&&class| class != CostClass::Const)
        .map(|&class| {
            row(format!("`{class}`"), move |m| {
                m.issue_cost(class).to_string()
            })
        })
        .collect();
    rows.push(row("guard, added", |m| m.guard.to_string()));
    rows.push(row("b, proven uniform", |m| m.b_proven.to_string()));
    rows.push(row("b, warp agrees", |m| m.b_agree.to_string()));
    rows.push(row("b, warp splits", |m| m.b_split.to_string()));
    rows
}

fn beside() -> Vec<Row> {
    let mut rows = Vec::new();
    let mut fact = |name: &str| {
        let key = name.to_string();
        rows.push(row(format!("`{name}`"), move |m| {
            m.source(&key).map_or("–".into(), |s| s.value.clone())
        }));
    };
    fact("issued_overhead.proven");
    fact("issued_overhead.divergent");
    for section in ["latency", "interval"] {
        for class in CostClass::ALL {
            let name = format!("{section}.{class}");
            if MACHINES.iter().any(|m| m.machine().source(&name).is_some()) {
                fact(&name);
            }
        }
    }
    for level in ["shared", "l1", "l2", "dram"] {
        fact(&format!("memory.{level}"));
    }
    for number in ["schedulers", "issue_per_cycle", "resident_warps"] {
        fact(&format!("timing.{number}"));
    }
    rows
}

fn table(page: &mut String, machines: &[Machine], rows: &[Row]) {
    let mut line = |first: &str, cells: Vec<String>| {
        let _ = writeln!(page, "| {first} | {} |", cells.join(" | "));
    };
    line("", machines.iter().map(|m| m.name.clone()).collect());
    line("---", machines.iter().map(|_| "---:".into()).collect());
    for (name, cell) in rows {
        line(name, machines.iter().map(cell).collect());
    }
}

/// Names of numbers that share a source, and the source, in the order in which
/// sources first occur.
fn by_source(machine: &Machine) -> Vec<(&str, String)> {
    let mut order: Vec<&str> = Vec::new();
    let mut names: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for s in &machine.sources {
        let list = names.entry(&s.source).or_insert_with(|| {
            order.push(&s.source);
            Vec::new()
        });
        list.push(format!("`{}`", s.name));
    }
    order
        .into_iter()
        .map(|source| (source, names[source].join(", ")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_book_has_this_page() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/machines.md");
        let page = machines_page();
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(path, &page).expect("docs/machines.md can be written");
        }
        let kept = std::fs::read_to_string(path).expect("docs/machines.md is there");
        assert_eq!(
            kept, page,
            "docs/machines.md is out of date; BLESS=1 rewrites it"
        );
    }

    #[test]
    fn every_machine_and_number_is_on_it() {
        let page = machines_page();
        for m in MACHINES {
            assert!(page.contains(&format!("\n### {}\n", m.name)));
            for s in &m.machine().sources {
                assert!(page.contains(&s.source), "{}: {}", m.name, s.name);
            }
        }
        assert!(page.contains("| b, warp agrees | 0 | 5 | 5 | 5.5 | 5.5 | 6.5 |"));
        assert!(page.contains("| `fp64` | 1 | 1 | 8 | 4 | 2 | 2 |"));
    }
}
