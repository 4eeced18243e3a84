//! Claims about independent thread scheduling: that it changes nothing, but for
//! lanes that wait for each other.

use super::FILES;
use super::sheet::{Sheet, count};
use crate::filetest::Output;

type Done = Result<(), String>;

/// Facts that one of the modes does not have.
const OF_ONE_MODE: &[&str] = &[
    "pushes",
    "depth",
    "depths",
    "deepest",
    "joins_on_time",
    "joins_deferred",
    "joins_early",
    "barrier_depth",
];

/// How deep convergence barriers nest in a run without yields.
fn nesting(name: &str, divergent: u64) -> u64 {
    match name {
        "c24-orthogonal" | "c27-d-2" | "c28-d-2" => 2,
        "c77-return-in-an-arm-default" | "c81-mixed" => 2,
        "c27-d-3" => 3,
        "c27-d-4" => 4,
        "c27-d-5" => 5,
        // No branch has a join.
        "c77-return-in-an-arm-cfg" => 0,
        _ => divergent.min(1),
    }
}

fn common(output: &Output) -> Vec<(&str, &str)> {
    let facts = output.facts.iter();
    let both = facts.filter(|f| !OF_ONE_MODE.contains(&f.key.as_str()));
    both.map(|f| (f.key.as_str(), f.value.as_str())).collect()
}

/// Every file without a mode, in both.
fn both_modes(s: &mut Sheet<'_>) -> Done {
    let mut compared = 0;
    let (mut differ, mut other_nesting, mut with_stack) = (Vec::new(), Vec::new(), Vec::new());
    for file in FILES {
        let of_mode = file.name.ends_with("-its") || file.name.ends_with("-stack");
        if of_mode || !file.text.starts_with("test exec") {
            continue;
        }
        let its = s.its(file)?;
        let stack = s.output(file.name)?;
        compared += 1;
        if common(&its) != common(stack) {
            differ.push(file.name);
        }
        if stack.get("error").is_some() {
            continue;
        }
        let divergent = count(stack, "divergent")?;
        if count(&its, "barrier_depth")? != nesting(file.name, divergent) {
            other_nesting.push(file.name);
        }
        // Each side entry is pushed for a barrier; nobody yields.
        let none = ["pushes", "depth", "joins_early", "yields"];
        for key in none {
            if count(&its, key)? != 0 {
                with_stack.push(file.name);
            }
        }
    }
    s.equal("runs in both modes, at least 120", compared >= 120, true);
    s.equal(
        &format!("of {compared} runs, those that differ"),
        differ,
        Vec::new(),
    );
    s.equal(
        "those that nest barriers otherwise",
        other_nesting,
        Vec::new(),
    );
    s.equal("those with a stack or a yield", with_stack, Vec::new());
    Ok(())
}

pub(super) fn c74(s: &mut Sheet<'_>) -> Done {
    // Both barriers of an early return are released before the textbook's join.
    for (name, want) in [
        ("c77-return-in-an-arm-default", (0, 2)),
        ("c43-guard", (0, 1)),
        ("c27-d-3", (7, 0)),
        ("c31-1-32", (1, 0)),
    ] {
        let its = s.its(Sheet::file(name)?)?;
        let got = (
            count(&its, "joins_on_time")?,
            count(&its, "joins_deferred")?,
        );
        s.equal(
            &format!("{}: on time, deferred", Sheet::file(name)?.case()),
            got,
            want,
        );
    }
    let name = "c77-return-before-a-barrier-default-its";
    let got = (
        s.num(name, "joins_on_time")?,
        s.num(name, "joins_deferred")?,
    );
    s.equal(
        &format!("{}: on time, deferred", Sheet::file(name)?.case()),
        got,
        (0, 1),
    );
    let early = s.num("c79-spin-lock-its", "joins_early")?;
    s.equal("c79-spin-lock-its: early releases", early, 31);
    Ok(())
}

pub(super) fn c75(s: &mut Sheet<'_>) -> Done {
    for depth in [3, 4] {
        let its = s.its(Sheet::file(&format!("c27-d-{depth}"))?)?;
        let got = count(&its, "barrier_depth")?;
        s.equal(
            &format!("{depth} branches inside each other: barriers nested"),
            got,
            depth,
        );
    }
    Ok(())
}

pub(super) fn c77(s: &mut Sheet<'_>) -> Done {
    both_modes(s)?;
    let name = |joins: &str, mode: &str| format!("c77-return-before-a-barrier-{joins}-{mode}");
    let mut issued = Vec::new();
    for (joins, mode) in [("default", "stack"), ("default", "its"), ("cfg", "its")] {
        issued.push(s.num(&name(joins, mode), "issued")?);
    }
    s.equal(
        "issued: stack, its, its with joins=cfg",
        issued,
        vec![9, 9, 12],
    );
    let arrived = s.text(&name("cfg", "stack"), "arrived")?;
    s.equal(
        "stack with joins=cfg: arrived",
        arrived.as_str(),
        "0x000000FF",
    );
    // Two groups come to the one barrier.
    let cfg = name("cfg", "its");
    let got = (s.num(&cfg, "bar")?, s.num(&cfg, "barriers")?);
    s.equal("its with joins=cfg: issues, barriers", got, (2, 1));
    Ok(())
}

/// There is one class of barriers. Whether they are kept as such or as entries
/// of a stack, what is counted beside them is the same.
pub(super) fn c78(s: &mut Sheet<'_>) -> Done {
    let mut other = Vec::new();
    for name in ["c27-d-3", "c31-1-32", "c03-mixed"] {
        let its = s.its(Sheet::file(name)?)?;
        let stack = s.output(name)?;
        if common(&its) != common(stack) {
            other.push(name);
        }
    }
    s.equal("runs that count barriers otherwise", other, Vec::new());
    Ok(())
}

pub(super) fn c79(s: &mut Sheet<'_>) -> Done {
    for (name, key, want) in [
        ("c79-spin-lock-stack", "error", "NoProgress"),
        ("c79-spin-lock-stack", "mask", "0xFFFFFFFE"),
        ("c79-spin-lock-its", "mem.data", "0,32"),
        ("c79-bounded-stack", "mem.data", "0,1"),
        ("c79-bounded-its", "mem.data", "0,3"),
    ] {
        let got = s.text(name, key)?;
        s.equal(&format!("{name}: {key}"), got.as_str(), want);
    }
    Ok(())
}

pub(super) fn c82(s: &mut Sheet<'_>) -> Done {
    let error = s.text("c82-consumer-first-stack", "error")?;
    s.equal("consumer first, by stack", error.as_str(), "NoProgress");
    let its = "c82-consumer-first-its";
    let got = (s.num(its, "issued")?, s.num(its, "yields")?);
    s.equal("consumer first, by its: issued, yields", got, (16, 1));
    // The producer on the side that runs first: either mode will do.
    let name = "c82-producer-first";
    let its = count(&s.its(Sheet::file(name)?)?, "issued")?;
    let got = [s.num(name, "issued")?, its];
    s.equal("producer first: issued by stack, its", got, [11, 11]);
    Ok(())
}
