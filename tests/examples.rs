//! The worked examples of the book: every legal assignment of forms of two kernels, with
//! the arithmetic of what it costs. Each is run; what it cost is what was predicted, and
//! what the book adds up. `BLESS=1` rewrites the arithmetic.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use warpfold::exec::Outcome;
use warpfold::ir::{CostClass, Function};
use warpfold::machine::{Cost, Machine};
use warpfold::{RunOptions, Settings};
use warpfold_testkit::checks::{Subject, settings};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What a run cost, block by block and overhead by overhead: lines, and their sum.
fn arithmetic(func: &Function, run: &Outcome, machine: &Machine) -> (String, Cost) {
    let (mut text, mut sum) = (String::new(), Cost::ZERO);
    let mut line = |what: String, times: u64, each: Cost| {
        sum += each * times;
        let (times, total) = (times.to_string(), (each * times).to_string());
        writeln!(text, "    {what:<34}{times:>4} x {each:>3} = {total:>4}")
            .expect("text can be written to");
    };
    for &b in &func.layout {
        let mut each = machine.issue_cost(func.term(b).cost_class());
        let passes = run.term_issues[b.as_u32() as usize];
        let mut n = 0;
        for &i in &func.block(b).insts {
            let data = func.inst(i);
            if data.cost_class() == CostClass::Const {
                continue;
            }
            assert_eq!(run.issues[i.as_u32() as usize], passes, "{b}");
            each += machine.issue_cost(data.cost_class());
            each += if data.guard.is_some() {
                machine.guard
            } else {
                Cost::ZERO
            };
            n += 1;
        }
        if n > 0 || each > Cost::ZERO {
            line(
                format!("{b}: {n} instruction{}", if n == 1 { "" } else { "s" }),
                passes,
                each,
            );
        }
    }
    let kinds = run.counters.branches;
    for (what, times, each) in [
        (
            "b, branches proven uniform",
            kinds.proven,
            machine.branch_overhead(true, false),
        ),
        (
            "b, branches that agree",
            kinds.agree,
            machine.branch_overhead(false, false),
        ),
        (
            "b, branches that split",
            kinds.split,
            machine.branch_overhead(false, true),
        ),
    ] {
        if times > 0 {
            line(what.to_owned(), times, each);
        }
    }
    (text, sum)
}

/// All legal assignments of a kernel on `textbook`, each with its arithmetic.
fn assignments(name: &str) -> String {
    let file = format!("{name}.clif");
    let folder = root().join("tests/kernels");
    let text = fs::read_to_string(folder.join(&file)).expect("the kernel is there");
    let subject = Subject::read(&text, &file, &folder).unwrap_or_else(|e| panic!("{e}"));
    let machine = Machine::builtin("textbook").expect("it is shipped");
    let by_cost = settings(&machine, None, false);
    let canonical = subject.canonical();
    let chosen = canonical.clone().convert(&by_cost).expect("it converts");
    let choices = canonical.choices(&by_cost, 64).expect("there are few");
    let mut out = String::new();
    let mut found = 0;
    for choice in choices {
        let settings = Settings {
            choice: Some(choice.clone()),
            ..by_cost.clone()
        };
        let optimized = canonical.clone().convert(&settings).expect("it converts");
        let func = optimized.func();
        let lowered = canonical.before().lowered();
        let run = lowered.execute(func, subject.launch(), &RunOptions::default());
        let run = run.expect("it runs");
        let (lines, sum) = arithmetic(func, &run, &machine);
        let report = optimized.report();
        assert_eq!(Some(sum), report.predicted, "{name}: {choice:?}\n{func}");
        assert_eq!(sum, run.counters.cost(&machine), "{name}: {choice:?}");
        let forms: Vec<String> = report
            .decisions
            .iter()
            .map(|d| format!("line {} {}", d.origin.line, d.outcome()))
            .collect();
        let mut head = forms.join(", ");
        let mut skipped: Vec<String> = Vec::new();
        for (&at, bodies) in &choice.straight {
            let line = canonical.func().block(at).origin.line;
            let bodies = bodies.iter().enumerate().filter(|(_, skipped)| **skipped);
            skipped.extend(bodies.map(|(i, _)| format!("body {} of line {line}", i + 1)));
        }
        if !skipped.is_empty() {
            head += &format!(" ({})", skipped.join(", "));
        }
        let best = func.to_string() == chosen.func().to_string();
        found += u32::from(best);
        let mark = if best { "  <-- chosen" } else { "" };
        out += &format!("{head}: {sum}{mark}\n{lines}\n");
        assert!(best || sum >= chosen.report().predicted.expect("it is predicted"));
    }
    assert_eq!(found, 1, "{out}");
    out.truncate(out.trim_end().len());
    format!("```text\n{out}\n```\n")
}

#[test]
fn arithmetic_is_what_runs_cost() {
    let path = root().join("docs/examples.md");
    let mut page = fs::read_to_string(&path).expect("the page is there");
    let bless = std::env::var_os("BLESS").is_some_and(|v| v == "1");
    for name in ["rare_work", "two_ways"] {
        let begin = format!("<!-- begin: {name} -->\n");
        let end = format!("<!-- end: {name} -->");
        let from = page.find(&begin).expect("the place is there") + begin.len();
        let to = from + page[from..].find(&end).expect("the place has an end");
        let text = assignments(name);
        if bless {
            page.replace_range(from..to, &text);
        }
        let told = &page[from..][..page[from..].find(&end).expect("as before")];
        assert_eq!(told, text, "{name}; BLESS=1 rewrites it");
    }
    if bless {
        fs::write(&path, &page).expect("it can be written");
    }
}
