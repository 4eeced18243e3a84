//! What the book's page on filetests lists is what the tests know: the tests
//! and their options, their facts, and the counters behind these.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use warpfold::analysis::JoinRule;
use warpfold::exec::{self, ExecOptions};
use warpfold::launch::LaunchSpec;
use warpfold_testkit::filetest::commands::{Exec, Uniformity};
use warpfold_testkit::filetest::{FileTest, Options, Output, Registry, Runner, TestFile};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The text of a marked place in the page.
fn place(name: &str) -> String {
    let page = fs::read_to_string(root().join("docs/filetests.md")).expect("the page is there");
    let (begin, end) = (
        format!("<!-- begin: {name} -->\n"),
        format!("<!-- end: {name} -->"),
    );
    let (_, rest) = page.split_once(&begin).expect("the place is there");
    let (text, _) = rest.split_once(&end).expect("the place has an end");
    text.to_owned()
}

/// The cells of a marked table, without its head.
fn table(name: &str) -> Vec<Vec<String>> {
    let cells = |row: &str| -> Vec<String> {
        let inner = row.trim_start_matches('|').trim_end_matches('|');
        inner.split('|').map(|c| c.trim().to_owned()).collect()
    };
    place(name).lines().skip(2).map(cells).collect()
}

/// The pieces of code in a cell.
fn codes(cell: &str) -> Vec<String> {
    let words = cell.split('`').skip(1).step_by(2);
    words.map(str::to_owned).collect()
}

#[test]
fn the_example_passes() {
    let text = place("example");
    let text = text.replace("```text\n", "").replace("```\n", "");
    let result = Runner::new(Registry::builtin()).run_text("less.wf".as_ref(), &text);
    assert_eq!(result, Ok(None));
}

#[test]
fn tests_and_options_are_the_registrys() {
    let registry = Registry::builtin();
    let known: Vec<(String, Vec<String>)> = registry
        .names()
        .map(|name| {
            let test = registry.get(name).expect("it is named");
            let options = test.options().iter().map(|o| (*o).to_owned());
            (name.to_owned(), options.collect())
        })
        .collect();
    let told: Vec<(String, Vec<String>)> = table("tests")
        .iter()
        .map(|row| (codes(&row[0]).concat(), codes(&row[1])))
        .collect();
    assert_eq!(told, known);
}

/// A test that notes the facts which another finds out, and compares counts
/// with the executor's counters of the names that the page gives.
struct Noting<T> {
    inner: T,
    seen: Arc<Mutex<BTreeSet<String>>>,
    counts: Vec<(String, Vec<String>)>,
}

impl<T: FileTest> FileTest for Noting<T> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn options(&self) -> &[&str] {
        self.inner.options()
    }

    fn run(&self, file: &TestFile, options: &Options) -> Result<Output, String> {
        let out = self.inner.run(file, options)?;
        let keys = out.facts.iter().map(|f| family(&f.key));
        self.seen.lock().unwrap().extend(keys);
        if !self.counts.is_empty() && out.get("error").is_none() {
            let rows = counters(file, options)?;
            for (fact, names) in &self.counts {
                let sum: u64 = names
                    .iter()
                    .map(|n| rows.iter().find(|r| r.0 == *n).expect(n).1)
                    .sum();
                assert_eq!(out.get(fact), Some(&*sum.to_string()), "{fact}");
            }
        }
        Ok(out)
    }
}

/// The counters of the run that a file asks for.
fn counters(file: &TestFile, options: &Options) -> Result<Vec<(String, u64)>, String> {
    let spec = LaunchSpec::from_source(&file.text).map_err(|e| e.to_string())?;
    let mut functions = file.functions()?;
    let index = spec
        .kernel(functions.iter().map(|f| f.name.as_str()))
        .map_err(|e| e.to_string())?;
    spec.mark_varying(&mut functions[index]);
    let launch = spec
        .build(&functions[index], file.folder())
        .map_err(|e| e.to_string())?;
    let how = ExecOptions {
        joins: match options.get("joins") {
            Some("cfg") => JoinRule::Cfg,
            _ => JoinRule::Default,
        },
        mode: options.get("mode").map_or(exec::Mode::Stack, |m| {
            exec::Mode::from_name(m).expect("a mode")
        }),
        call_depth: match options.get("depth") {
            Some(depth) => depth.parse().expect("a depth"),
            None => ExecOptions::default().call_depth,
        },
        ..ExecOptions::default()
    };
    let functions: Vec<_> = functions.iter().collect();
    let outcome =
        exec::run_functions(&functions, index, &launch, &how).map_err(|e| e.to_string())?;
    Ok(outcome.counters.rows())
}

/// A fact's name with `N` for its number and `NAME` for a buffer's.
fn family(key: &str) -> String {
    if key.starts_with("mem.") {
        return "mem.NAME".to_owned();
    }
    if let Some((function, block)) = key.split_once(".block")
        && !["lanes", "passes", "mask", "tail"].contains(&function)
        && block.bytes().all(|b| b.is_ascii_digit())
    {
        return "NAME.blockN".to_owned();
    }
    let stem = key.trim_end_matches(|c: char| c.is_ascii_digit());
    let numbered = ["block", "warp", "out"]
        .iter()
        .any(|s| stem.ends_with(s) && stem.len() < key.len());
    if numbered {
        format!("{stem}N")
    } else {
        key.to_owned()
    }
}

/// The facts that all our filetests together bring out of `test`.
fn seen<T: FileTest + 'static>(test: T, counts: Vec<(String, Vec<String>)>) -> BTreeSet<String> {
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let mut registry = Registry::builtin();
    registry.register(Noting {
        inner: test,
        seen: Arc::clone(&seen),
        counts,
    });
    let runner = Runner::new(registry);
    for folder in ["tests/filetests", "crates/testkit/claims"] {
        let report = runner.run_folder(&root().join(folder)).unwrap();
        assert!(report.passed(), "{report}");
    }
    // What no file of ours happens to bring out.
    let more = "\
test uniformity
test exec
;! block = 64
;! grid = 2
;! [[arg]]
;! scalar = 100
function %f(i32) -> i32, i32 {
block0(v0: i32):
    v1 = tid_x
    v2 = const.i32 1
    v3 = band.i32 v1, v2
    v4 = icmp.i32 eq v3, v2
    br v4, block1, block2

block1:
    jump block2

block2:
    v5 = ctaid_x
    v6 = ntid_x
    v7 = imul.i32 v5, v6
    v8 = iadd.i32 v7, v1
    v9 = icmp.i32 ult v8, v0
    br v9, block3, block4

block3:
    jump block4

block4:
    ret v1, v2
}
; expect: divergent=2
; expect exec: divergent=5
";
    let result = runner.run_text("more.wf".as_ref(), more);
    assert_eq!(result, Ok(None));
    seen.lock().unwrap().clone()
}

fn first_cells(name: &str) -> BTreeSet<String> {
    let rows = table(name);
    rows.iter().flat_map(|row| codes(&row[0])).collect()
}

#[test]
fn facts_of_uniformity_are_listed() {
    let told = first_cells("uniformity facts");
    assert_eq!(seen(Uniformity, Vec::new()), told);
}

#[test]
fn facts_of_exec_are_listed_and_counts_are_the_counters() {
    let counts: Vec<(String, Vec<String>)> = table("exec counts")
        .iter()
        .map(|row| (codes(&row[0]).concat(), codes(&row[1])))
        .collect();
    let mut told = first_cells("exec facts");
    told.extend(counts.iter().map(|c| c.0.clone()));
    assert_eq!(seen(Exec, counts), told);
}

/// The lines in the table pass, on functions that they fit.
#[test]
fn run_lines_are_run() {
    let lines: Vec<String> = table("run lines")
        .iter()
        .map(|row| codes(&row[0]).concat())
        .collect();
    let (whole, others): (Vec<&str>, Vec<&str>) = lines
        .iter()
        .map(String::as_str)
        .partition(|l| !l.contains(':'));
    let text = format!(
        "test run
function %f(i32, i32) -> i32 {{
block0(v0: i32, v1: i32):
    v2 = udiv v0, v1
    v3 = iadd v0, v1
    v4 = iadd v2, v3
    return v4
}}
{}
function %g() -> i32 {{
block0:
    v0 = iconst.i32 1
    return v0
}}
{}
",
        others.join("\n"),
        whole.join("\n")
    );
    let report = Runner::new(Registry::builtin()).report_text("f.clif".as_ref(), &text);
    assert_eq!(report.failures, []);
    assert_eq!(report.tally.total.passed, lines.len() as u64);
    let words: BTreeSet<&str> = lines
        .iter()
        .map(|l| {
            l.trim_start_matches("; ")
                .split(':')
                .next()
                .expect("a word")
        })
        .collect();
    assert_eq!(words.len(), 3, "{words:?}");
}
