//! The tables of the book's pages on counters and on the execution model, from
//! the code's own.
//!
//! Names of counters and metrics are those of [`Counters::rows`] and
//! [`Counters::metrics`]; a test holds that none is missing here and none is
//! made up. What they mean, and what CUDA calls them, stands here.

mod rows;

use warpfold_ir::{CostClass, CounterClass, TrapCode};

use crate::error::describe;
use crate::launch::{ExecOptions, MAX_BLOCK_THREADS, MAX_THREADS, MAX_WARPS};
use crate::memory::{FUNCTION_BASE, GLOBAL_BASE, LOCAL_BASE, MAX_LOCAL, MAX_SHARED, SHARED_BASE};

use rows::{COUNTERS, FAILURES, METRICS, TRAPS};

#[cfg(doc)]
use crate::Counters;

/// A generated table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// The page it belongs to, a file of `docs/`.
    pub page: &'static str,
    /// The name of its place in the page.
    pub name: &'static str,
    /// Its text, as Markdown.
    pub text: String,
}

/// All tables.
pub fn tables() -> Vec<Table> {
    let table = |page, name, text| Table { page, name, text };
    let (counters, model) = ("counters.md", "execution-model.md");
    vec![
        table(counters, "counters", counter_table()),
        table(counters, "classes", class_table()),
        table(counters, "metrics", metric_table()),
        table(model, "memory", memory_table()),
        table(model, "traps", trap_table()),
        table(model, "failures", failure_table()),
        table(model, "limits", limit_table()),
    ]
}

/// Markdown of a table.
fn markdown<const N: usize>(
    head: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let mut text = format!("| {} |\n|{}\n", head.join(" | "), "---|".repeat(N));
    for row in rows {
        text += &format!("| {} |\n", row.join(" | "));
    }
    text
}

fn code(name: &str) -> String {
    format!("`{name}`")
}

fn codes<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.into_iter().map(code).collect();
    names.join(", ")
}

fn counter_table() -> String {
    let rows = COUNTERS.iter().map(|r| {
        [
            codes(r.names.iter().copied()),
            r.unit.to_owned(),
            r.meaning.to_owned(),
            r.cuda.to_owned(),
        ]
    });
    markdown(["counter", "unit", "meaning", "Nsight Compute"], rows)
}

fn class_table() -> String {
    let rows = CounterClass::ALL.iter().map(|class| {
        let parts = CostClass::ALL.iter();
        let parts = parts.filter(|c| c.counter() == Some(*class));
        [code(class.name()), codes(parts.map(|c| c.name()))]
    });
    markdown(["counter class", "cost classes"], rows)
}

fn metric_table() -> String {
    let rows = METRICS
        .iter()
        .map(|[name, formula, cuda]| [code(name), code(formula), (*cuda).to_owned()]);
    markdown(["metric", "formula", "CUDA"], rows)
}

fn memory_table() -> String {
    let place = |at: u64, what: &str| [format!("`{at:#010x}`"), what.to_owned()];
    markdown(
        ["from", "what"],
        [
            place(0, "Nothing: every access traps."),
            place(
                FUNCTION_BASE,
                "Addresses of functions, 16 apart; nothing is mapped there either.",
            ),
            place(
                SHARED_BASE,
                "Shared memory of the block, zero when the block begins.",
            ),
            place(
                LOCAL_BASE,
                "Stack slots: the same addresses in every lane, each lane with bytes of its own.",
            ),
            place(
                GLOBAL_BASE,
                "The launch's buffers in order, at multiples of 4096, at least 4096 unmapped bytes \
                 behind each.",
            ),
        ],
    )
}

fn trap_table() -> String {
    let rows = TRAPS.iter().map(|&(trap, why)| {
        let name = match trap {
            TrapCode::User(_) => "`userN`".to_owned(),
            named => format!("`{named}`"),
        };
        [name, describe(trap).to_owned(), why.to_owned()]
    });
    markdown(["code", "in reports", "raised by"], rows)
}

fn failure_table() -> String {
    let rows = FAILURES
        .iter()
        .map(|&(name, why)| [code(name), why.to_owned()]);
    markdown(["failure", "when"], rows)
}

fn limit_table() -> String {
    let options = ExecOptions::default();
    let limit = |what: &str, n: u64| [what.to_owned(), grouped(n)];
    markdown(
        ["at most", ""],
        [
            limit("threads of a block", MAX_BLOCK_THREADS),
            limit("threads of a launch", MAX_THREADS),
            limit("warps of a launch", MAX_WARPS),
            limit("bytes of shared memory", MAX_SHARED.into()),
            limit("bytes of stack slots of a lane, all frames", MAX_LOCAL),
            limit(
                "frames of a warp, unless told otherwise",
                options.call_depth.into(),
            ),
            limit(
                "values of one width, calls, memory accesses or guards of a function",
                u16::MAX.into(),
            ),
            limit("issues, unless told otherwise", options.step_limit),
            limit("records, unless told otherwise", options.record_limit),
        ],
    )
}

/// Digits in threes.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{Counters, ExecError};

    /// The counters that a name of the table stands for.
    fn expand(name: &str) -> Vec<String> {
        let each = |prefix: &str, names: Vec<String>| {
            names.iter().map(|n| format!("{prefix}{n}")).collect()
        };
        let issued = CostClass::ALL.iter().filter(|c| c.counter().is_some());
        match name {
            "inst_executed_CLASS" => each(
                "inst_executed_",
                CounterClass::ALL.iter().map(|c| c.to_string()).collect(),
            ),
            "issue_CLASS" => each("issue_", issued.map(|c| c.to_string()).collect()),
            "active_lanes_N" => each("active_lanes_", (1..=32).map(|n| n.to_string()).collect()),
            _ => vec![name.to_owned()],
        }
    }

    #[test]
    fn every_counter_has_its_row_and_no_other() {
        let told: Vec<String> = COUNTERS
            .iter()
            .flat_map(|r| r.names)
            .flat_map(|n| expand(n))
            .collect();
        let counted = Counters::default().rows();
        assert_eq!(told.len(), counted.len());
        let told: BTreeSet<String> = told.into_iter().collect();
        assert_eq!(told, counted.into_iter().map(|(n, _)| n).collect());
    }

    #[test]
    fn every_metric_is_its_formula() {
        // Distinct primes, so that no wrong formula comes out right.
        let mut c = Counters {
            inst_executed: 101,
            thread_inst_executed: 1_009,
            thread_inst_executed_pred_on: 701,
            divergent_branch: 7,
            ..Counters::default()
        };
        c.branches.agree = 53;
        c.global.loads.requests = 11;
        c.global.loads.sectors = 83;
        c.global.loads.ideal = 71;
        c.global.stores.requests = 13;
        c.global.stores.sectors = 97;
        c.global.stores.ideal = 89;
        c.local.loads.requests = 17;
        c.local.loads.sectors = 103;
        c.local.loads.ideal = 73;
        c.local.stores.requests = 19;
        c.local.stores.sectors = 107;
        c.local.stores.ideal = 79;
        let metrics = c.metrics();
        let names: Vec<&str> = metrics.iter().map(|m| m.0).collect();
        assert_eq!(names, METRICS.iter().map(|m| m[0]).collect::<Vec<_>>());
        let rows = c.rows();
        for ((_, got), [name, formula, _]) in metrics.iter().zip(METRICS) {
            let want = evaluate(formula, &rows);
            assert!((got - want).abs() < 1e-9, "{name}: {got} is not {formula}");
        }
    }

    /// A quotient of products, with one difference in brackets at most.
    fn evaluate(formula: &str, rows: &[(String, u64)]) -> f64 {
        let atom = |text: &str| -> f64 {
            let text = text.trim();
            match rows.iter().find(|(n, _)| n == text) {
                Some((_, n)) => *n as f64,
                None => text.parse().expect("a number or a counter"),
            }
        };
        let factor = |text: &str| -> f64 {
            match text.split_once('−') {
                Some((a, b)) => atom(a) - atom(b),
                None => atom(text),
            }
        };
        let product = |text: &str| -> f64 {
            let plain = text.replace(['(', ')'], "");
            plain.split('·').map(factor).product()
        };
        let (over, under) = formula.split_once('/').expect("a quotient");
        product(over) / product(under)
    }

    #[test]
    fn every_failure_has_its_row() {
        let block = warpfold_ir::Block::from_u32(0);
        let (mask, grid_block, warp, limit, function) = (0, 0, 0, 0, 0);
        let all = [
            ExecError::Launch(crate::LaunchError::Incomplete),
            ExecError::BarrierDivergence {
                arrived: 0,
                missing: 0,
                site: crate::Site::Term(block),
                function,
                origin: warpfold_ir::Origin::default(),
                grid_block,
                warp,
            },
            ExecError::OutsideMask {
                lanes: mask,
                mask,
                site: crate::Site::Term(block),
                function,
                origin: warpfold_ir::Origin::default(),
                grid_block,
                warp,
            },
            ExecError::NoProgress {
                block,
                function,
                mask,
                grid_block,
                warp,
            },
            ExecError::StepLimit {
                limit,
                block,
                function,
                mask,
                grid_block,
                warp,
            },
            ExecError::RecordLimit { limit },
            ExecError::TimingLimit { limit },
            ExecError::Check(Box::new(crate::CheckError::Claim {
                at: crate::Where {
                    site: crate::Site::Term(block),
                    origin: warpfold_ir::Origin::default(),
                    function,
                    grid_block,
                    warp,
                    lanes: 0,
                },
                value: None,
                block,
                claim: String::new(),
                found: String::new(),
            })),
        ];
        // A new one does not compile until it is named here.
        let names: Vec<&str> = all
            .iter()
            .map(|e| match e {
                ExecError::Launch(_) => "Launch",
                ExecError::BarrierDivergence { .. } => "BarrierDivergence",
                ExecError::OutsideMask { .. } => "OutsideMask",
                ExecError::NoProgress { .. } => "NoProgress",
                ExecError::StepLimit { .. } => "StepLimit",
                ExecError::RecordLimit { .. } => "RecordLimit",
                ExecError::TimingLimit { .. } => "TimingLimit",
                ExecError::Check(_) => "Check",
            })
            .collect();
        assert_eq!(names, FAILURES.iter().map(|f| f.0).collect::<Vec<_>>());
    }

    #[test]
    fn every_trap_code_has_its_row() {
        // A new one does not compile until it has a number here.
        let mut numbers: Vec<u32> = TRAPS
            .iter()
            .map(|t| match t.0 {
                TrapCode::StackOverflow => 0,
                TrapCode::HeapOutOfBounds => 1,
                TrapCode::HeapMisaligned => 2,
                TrapCode::IntegerOverflow => 3,
                TrapCode::IntegerDivisionByZero => 4,
                TrapCode::BadConversionToInteger => 5,
                TrapCode::User(_) => 6,
            })
            .collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(grouped(7), "7");
        assert_eq!(grouped(1_024), "1,024");
        assert_eq!(grouped(100_000_000), "100,000,000");
    }
}
