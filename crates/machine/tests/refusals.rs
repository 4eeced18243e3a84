//! What is no machine, and where the error points.

use warpfold_machine::{Cost, Cycles, Machine};

/// A document that uses every section.
const GOOD: &str = r#"name = "toy-1"
description = "A machine for tests."
triple = "nvptx64-nvidia-cuda"
warp = 32

[issue]
source = "made up"
default = 1
fp64 = { value = 2.125, source = "also made up" }

[guard]
source = "made up"
cost = 0.5

[branch]
source = "made up"
proven = 1
agree = 2.5
split = 3

[issued_overhead]
source = "made up"
proven = [2, 1]
divergent = [4, 3]

[latency]
source = "made up"
alu = 4
load = [30, 40]

[interval]
source = "made up"
fp64 = 2

[memory]
source = "made up"
dram = [290, 466]

[timing]
source = "made up"
schedulers = 4
issue_per_cycle = 1
resident_warps = 64
"#;

/// The document with `old` replaced, which must occur once.
fn with(old: &str, new: &str) -> String {
    assert_eq!(GOOD.matches(old).count(), 1, "{old:?}");
    GOOD.replace(old, new)
}

fn refused(document: &str) -> String {
    match Machine::from_toml(document) {
        Ok(m) => panic!("{} is accepted:\n{document}", m.name),
        Err(e) => e.to_string(),
    }
}

#[test]
fn the_good_document_is_a_machine() {
    use warpfold_ir::CostClass;
    let m = Machine::from_toml(GOOD).expect("it is good");
    assert_eq!(m.name, "toy-1");
    assert_eq!(m.issue_cost(CostClass::Fp64), Cost(2125));
    assert_eq!(m.issue_cost(CostClass::Bar), Cost::ONE);
    assert_eq!(m.guard, Cost(500));
    assert_eq!(m.branch_overhead(true, false), Cost::ONE);
    assert_eq!(m.branch_overhead(false, false), Cost(2500));
    assert_eq!(m.branch_overhead(false, true), Cost::issues(3));
    assert_eq!(
        m.dependent_latency(CostClass::Load),
        Some(Cycles { low: 30, high: 40 })
    );
    assert_eq!(m.dependent_latency(CostClass::Store), None);
    assert_eq!(
        m.memory.dram,
        Some(Cycles {
            low: 290,
            high: 466
        })
    );
    let source = |name| {
        m.source(name)
            .map(|s| (s.value.as_str(), s.source.as_str()))
    };
    assert_eq!(source("issue.fp64"), Some(("2.125", "also made up")));
    assert_eq!(source("issue.default"), Some(("1", "made up")));
    assert_eq!(source("latency.load"), Some(("30–40", "made up")));
    assert_eq!(
        source("issued_overhead.divergent"),
        Some(("4 / 3", "made up"))
    );
    assert_eq!(source("memory.l1"), None);
    assert_eq!(m.sources.len(), 15);
}

#[test]
fn pointer_width_follows_the_triple() {
    let narrow = with("nvptx64-nvidia-cuda", "wasm32-unknown-unknown");
    let m = Machine::from_toml(&narrow).expect("32-bit addresses are supported");
    assert_eq!(m.pointer_bits(), 32);
    assert_eq!(Machine::from_toml(GOOD).expect("good").pointer_bits(), 64);
}

#[test]
fn only_the_head_and_three_sections_are_needed() {
    let end = GOOD.find("[issued_overhead]").expect("it is there");
    let m = Machine::from_toml(&GOOD[..end]).expect("the rest is optional");
    assert_eq!(m.issued_overhead, None);
    assert_eq!(m.timing, None);
    for section in ["[issue]", "[guard]", "[branch]"] {
        let at = GOOD.find(section).expect("it is there");
        let next = GOOD[at..].find("\n\n").expect("others follow");
        let without = format!("{}{}", &GOOD[..at], &GOOD[at + next..]);
        let name = section.trim_matches(['[', ']']);
        assert!(
            refused(&without).ends_with(&format!("missing field `{name}`")),
            "{section}"
        );
    }
}

#[test]
fn unknown_keys_are_refused_where_they_stand() {
    assert_eq!(
        refused(&with("warp = 32", "warp = 32\nwarps = 4")),
        "5:1: unknown field `warps`, expected one of `name`, `description`, `triple`, `warp`, \
         `issue`, `guard`, `branch`, `issued_overhead`, `latency`, `interval`, `memory`, `timing`"
    );
    assert_eq!(
        refused(&with("default = 1", "default = 1\nfp46 = 2")),
        "9:1: unknown cost class `fp46`; there are alu, mul, div, fp, fp_div, fp64, fp64_div, \
         math, math64, select, pred, load, store, atomic, cross, branch, jump, ctl, bar, call"
    );
    assert_eq!(
        refused(&with("alu = 4", "const = 4")),
        "28:1: constants never issue; class `const` has no numbers"
    );
    assert_eq!(
        refused(&with("split = 3", "split = 3\nsplits = 3")),
        "20:1: unknown field `splits`, expected one of `source`, `proven`, `agree`, `split`"
    );
    assert_eq!(
        refused(&with("source = \"also", "sauce = \"also")),
        "9:25: unknown field `sauce`, expected `value` or `source`"
    );
}

#[test]
fn numbers_out_of_range_are_refused_where_they_stand() {
    for (old, new, error) in [
        (
            "agree = 2.5",
            "agree = -2.5",
            "18:9: a cost must not be negative",
        ),
        (
            "agree = 2.5",
            "agree = -2",
            "18:9: a cost must not be negative",
        ),
        ("agree = 2.5", "agree = nan", "18:9: a cost must be finite"),
        ("agree = 2.5", "agree = inf", "18:9: a cost must be finite"),
        (
            "agree = 2.5",
            "agree = 2.0001",
            "18:9: more than three decimals; costs are kept in thousandths of an issue",
        ),
        (
            "agree = 2.5",
            "agree = 1000000.001",
            "18:9: a cost must not be more than 1000000 issues",
        ),
        (
            "agree = 2.5",
            "agree = 9223372036854775807",
            "18:9: a cost must not be more than 1000000 issues",
        ),
        (
            "agree = 2.5",
            "agree = 1e300",
            "18:9: a cost must not be more than 1000000 issues",
        ),
        (
            "value = 2.125",
            "value = -2.125",
            "9:18: a cost must not be negative",
        ),
        (
            "agree = 2.5",
            "agree = [1, 2]",
            "18:9: expected a cost in issues, not an array",
        ),
        (
            "agree = 2.5",
            "agree = \"2.5\"",
            "18:9: invalid type: string \"2.5\", expected a cost in issues, alone or as { value, source }",
        ),
        (
            "alu = 4",
            "alu = 0",
            "28:7: cycles must be from 1 to 1000000",
        ),
        (
            "alu = 4",
            "alu = 4.5",
            "28:7: expected cycles, a whole number or [low, high], not a decimal number",
        ),
        (
            "[30, 40]",
            "[40, 30]",
            "29:8: the low end of a range must not be above its high end",
        ),
        ("[30, 40]", "[30]", "29:8: a range is [low, high]"),
        (
            "schedulers = 4",
            "schedulers = 0",
            "41:14: must be from 1 to 1000000",
        ),
        (
            "alu = 4",
            "default = 4",
            "26:1: no `default` here: a class without a number is unknown",
        ),
    ] {
        assert_eq!(refused(&with(old, new)), error, "{new}");
    }
}

/// What is given in decimals arrives exactly, also where floats are coarse.
/// Steps of 7 thousandths meet every last digit.
#[test]
fn costs_of_three_decimals_are_exact() {
    for thousandths in (0..5000).chain(999_999_000..=1_000_000_000).step_by(7) {
        let cost = Cost(thousandths);
        let text = with("agree = 2.5", &format!("agree = {cost}"));
        let m = Machine::from_toml(&text).unwrap_or_else(|e| panic!("{cost}: {e}"));
        assert_eq!(m.b_agree, cost);
    }
}

#[test]
fn a_source_is_never_missing_or_empty() {
    assert_eq!(
        refused(&with("source = \"made up\"\ncost = 0.5", "cost = 0.5")),
        "11:1: missing field `source`"
    );
    assert!(refused(&with(", source = \"also made up\"", "")).contains("missing field `source`"));
    assert_eq!(
        refused(&with("\"also made up\"", "\"  \"")),
        "9:34: must not be empty"
    );
    assert!(refused(&with("default = 1\n", "")).ends_with("missing field `default`"));
}

#[test]
fn the_head_is_checked() {
    for lanes in ["64", "0", "-32"] {
        assert_eq!(
            refused(&with("warp = 32", &format!("warp = {lanes}"))),
            format!("4:8: a warp has 32 lanes; {lanes} are not supported")
        );
    }
    assert!(refused(&with("warp = 32\n", "")).ends_with("missing field `warp`"));
    assert!(
        refused(&with("nvptx64-nvidia-cuda", "gpu"))
            .starts_with("3:10: `gpu` is no target triple: ")
    );
    assert_eq!(
        refused(&with("nvptx64-nvidia-cuda", "avr-unknown-unknown")),
        "3:10: `avr-unknown-unknown` has neither 32-bit nor 64-bit pointers"
    );
    assert_eq!(
        refused(&with("toy-1", "Toy 1")),
        "1:8: a name is made of lower-case letters, digits, `-` and `_`"
    );
}

#[test]
fn what_is_no_toml_is_refused_with_a_place() {
    assert!(refused("").ends_with("missing field `name`"));
    assert!(refused("name = ").starts_with("1:"));
    assert!(refused(&with("warp = 32", "warp = 32\nwarp = 32")).starts_with("5:1: duplicate key"));
    // Columns count characters, not bytes.
    assert!(refused("name = \"é\" x").starts_with("1:12: "));
    // Every prefix and every document with one byte taken out is a machine or
    // an error, and no panic.
    for end in 0..GOOD.len() {
        let _ = Machine::from_toml(&GOOD[..end]);
        let _ = Machine::from_toml(&format!("{}{}", &GOOD[..end], &GOOD[end + 1..]));
    }
}
