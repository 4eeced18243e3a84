//! What the book's pages on counters and on the execution model say in tables
//! is the code's: generated tables, and three examples that are run.
//! `BLESS=1` rewrites them.

use std::path::{Path, PathBuf};

use warpfold_analysis::{Cfg, JoinRule, Joins};
use warpfold_exec::{
    Arg, ExecError, ExecOptions, Launch, LaunchError, Memory, Mode, Outcome, Site, Timeline, docs,
    run,
};
use warpfold_ir::{Block, Function, parse_function, verify};

const MODEL: &str = "execution-model.md";

fn path(page: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(page)
}

fn read(page: &str) -> String {
    std::fs::read_to_string(path(page)).expect("the page is there")
}

/// Where the text of a marked place stands in a page.
fn place(page: &str, name: &str) -> std::ops::Range<usize> {
    let begin = format!("<!-- begin: {name} -->\n");
    let end = format!("<!-- end: {name} -->");
    let from = page.find(&begin).expect("the place is there") + begin.len();
    from..from + page[from..].find(&end).expect("the place has an end")
}

/// Compares the marked places of a page with what belongs there.
fn check(page: &str, texts: &[(&str, String)]) {
    let old = read(page);
    let mut want = old.clone();
    for (name, text) in texts {
        let at = place(&want, name);
        want.replace_range(at, text);
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path(page), &want).expect("the page can be written");
    } else {
        assert!(
            old == want,
            "docs/{page} differs from the code; run with BLESS=1 to rewrite it"
        );
    }
}

/// The kernel in a marked place.
fn kernel(name: &str) -> Function {
    let page = read(MODEL);
    let text = &page[place(&page, name)];
    let text = text.replace("```text\n", "").replace("```\n", "");
    let func = parse_function(&text).expect("the example is IR");
    verify(&func).expect("the example is valid");
    func
}

/// Runs a kernel on eight lanes, each with its number.
fn eight(func: &Function, joins: JoinRule) -> Result<Outcome, ExecError> {
    let launch = Launch::linear(1, 8).with_args(vec![Arg::Varying((0..8).collect())]);
    let options = ExecOptions {
        joins,
        timeline: true,
        ..ExecOptions::default()
    };
    run(func, &launch, &options)
}

fn lanes(mask: u32) -> String {
    (0..8)
        .map(|i| if mask >> i & 1 == 1 { 'x' } else { '.' })
        .collect()
}

fn passes(t: &Timeline) -> String {
    let mut text =
        "| pass | block | lanes | stack entries | issues |\n|---|---|---|---|---|\n".to_owned();
    for (i, p) in t.passes.iter().enumerate() {
        let issues = t.issues.iter().filter(|x| x.pass as usize == i).count();
        text += &format!(
            "| {} | `{}` | `{}` | {} | {issues} |\n",
            i + 1,
            p.block,
            lanes(p.mask),
            p.depth
        );
    }
    text
}

fn deepest(t: &Timeline) -> String {
    let mut text = "| goes on at | join | lanes |\n|---|---|---|\n".to_owned();
    for e in t.deepest.iter().rev() {
        let join = e.join.map_or("–".to_owned(), |b| format!("`{b}`"));
        text += &format!("| `{}` | {join} | `{}` |\n", e.pc, lanes(e.mask));
    }
    text
}

/// Three lanes want a lock.
fn lock(mode: Mode) -> Result<Outcome, ExecError> {
    let mut memory = Memory::new();
    let address = memory.add(vec![0; 8], false);
    let launch = Launch {
        memory,
        ..Launch::linear(1, 3).with_args(vec![Arg::Uniform(address.into())])
    };
    let options = ExecOptions {
        mode,
        timeline: true,
        ..ExecOptions::default()
    };
    run(&kernel("lock kernel"), &launch, &options)
}

fn lock_on_the_stack() -> String {
    match lock(Mode::Stack) {
        Err(ExecError::NoProgress { block, mask, .. }) => format!(
            "| the run |\n|---|\n| `NoProgress` in `{block}`: lanes `{}` |\n",
            &lanes(mask)[..3]
        ),
        other => panic!("{other:?}"),
    }
}

fn lock_passes(t: &Timeline) -> String {
    let mut text =
        "| pass | block | lanes | issues | of these yields |\n|---|---|---|---|---|\n".to_owned();
    for (i, p) in t.passes.iter().enumerate() {
        let own = t.issues.iter().filter(|x| x.pass as usize == i);
        let yields = own.clone().filter(|x| matches!(x.site, Site::Yield(_)));
        text += &format!(
            "| {} | `{}` | `{}` | {} | {} |\n",
            i + 1,
            p.block,
            &lanes(p.mask)[..3],
            own.count(),
            yields.count()
        );
    }
    text
}

fn lock_counters(o: &Outcome) -> String {
    let mut text = "| counter | value |\n|---|---|\n".to_owned();
    let shown = ["inst_executed", "divergent_branch", "joins_early", "yields"];
    for (name, n) in o.counters.rows() {
        if shown.contains(&&*name) {
            text += &format!("| `{name}` | {n} |\n");
        }
    }
    let counter = u32::from_le_bytes(o.memory.bytes(0)[4..].try_into().expect("four bytes"));
    text + &format!("| behind the lock | {counter} |\n")
}

fn early_joins(func: &Function) -> String {
    let cfg = Cfg::new(func);
    let mut text = "| `--joins` | join of `block0` | the run |\n|---|---|---|\n".to_owned();
    for (name, rule) in [("default", JoinRule::Default), ("cfg", JoinRule::Cfg)] {
        let join = Joins::new(func, &cfg, rule).of(Block::from_u32(0));
        let join = join.map_or("never".to_owned(), |b| format!("`{b}`"));
        let end = match eight(func, rule) {
            Ok(o) => format!("ends after {} issues", o.counters.inst_executed),
            Err(ExecError::BarrierDivergence {
                arrived, missing, ..
            }) => format!(
                "`BarrierDivergence`: `{}` arrived, `{}` missing",
                lanes(arrived),
                lanes(missing)
            ),
            Err(e) => panic!("{e}"),
        };
        text += &format!("| `{name}` | {join} | {end} |\n");
    }
    text
}

#[test]
fn counters_page() {
    let tables = docs::tables();
    let own = tables.iter().filter(|t| t.page == "counters.md");
    let own: Vec<(&str, String)> = own.map(|t| (t.name, t.text.clone())).collect();
    assert_eq!(own.len(), 3);
    check("counters.md", &own);
}

#[test]
fn execution_model_page() {
    let tables = docs::tables();
    let own = tables.iter().filter(|t| t.page == MODEL);
    let mut own: Vec<(&str, String)> = own.map(|t| (t.name, t.text.clone())).collect();
    assert_eq!(own.len(), 4);
    let outcome = eight(&kernel("kernel"), JoinRule::Default).expect("the example ends");
    let timeline = outcome.timeline.as_ref().expect("it was asked for");
    own.push(("timeline", passes(timeline)));
    own.push(("deepest", deepest(timeline)));
    let its = lock(Mode::Its).expect("no lane waits for ever");
    own.push(("lock on the stack", lock_on_the_stack()));
    let timeline = its.timeline.as_ref().expect("it was asked for");
    own.push(("lock passes", lock_passes(timeline)));
    own.push(("lock counters", lock_counters(&its)));
    own.push(("early joins", early_joins(&kernel("early kernel"))));
    check(MODEL, &own);

    // Numbers that the page states in a sentence.
    let page = read(MODEL).replace('\n', " ");
    let returns = LaunchError::ReturnsTooLarge { bytes: 0 }.to_string();
    assert!(returns.contains("1 GiB"), "{returns}");
    assert!(page.contains("returned values may take 1 GiB"));
    let warps = LaunchError::WarpsTooLarge { bytes: 0 }.to_string();
    assert!(warps.contains("2 GiB"), "{warps}");
    assert!(page.contains("block's warps 2 GiB"));
}
