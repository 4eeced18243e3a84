//! Policies, profiles from files, priors and hints on the command line.

mod support;

use serde_json::Value;
use support::{root, warpfold, warpfold_on};

const CLAMP: &str = "tests/kernels/clamp.clif";

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&warpfold(args).ok()).expect("it is JSON")
}

fn scratch(name: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    path.to_str().expect("a path of text").to_owned()
}

#[test]
fn policies_are_listed_with_rule_and_source() {
    let text = warpfold(&["policies"]).ok();
    let doc = json(&["policies", "--format", "json"]);
    let all = doc["policies"].as_array().unwrap();
    assert!(all.len() > 15);
    for policy in all {
        let name = policy["name"].as_str().unwrap();
        let source = policy["source"].as_str().unwrap();
        assert!(text.contains(source), "{source}");
        assert_eq!(
            text.lines()
                .filter(|l| l.starts_with(&format!("{name} ")))
                .count(),
            2
        );
    }
}

#[test]
fn a_comparison_holds_what_runs_give() {
    let doc = json(&[
        "policies",
        "--machine",
        "textbook",
        "--format",
        "json",
        CLAMP,
    ]);
    let all = doc["policies"].as_array().unwrap();
    assert_eq!(
        all.len(),
        warpfold(&["policies"])
            .ok()
            .split("\n\n")
            .next()
            .unwrap()
            .lines()
            .count()
            - 2
    );
    for name in ["cost", "always-branch", "ptxas"] {
        let run = json(&[
            "run",
            "--machine",
            "textbook",
            "--policy",
            name,
            "--format",
            "json",
            CLAMP,
        ]);
        assert_eq!(run["settings"]["policy"], name);
        let of = all.iter().find(|p| p["policy"] == name).unwrap();
        assert_eq!(of["executed"], run["cost"]["after"], "{name}");
        let forms: Vec<_> = run["branches"]
            .as_array()
            .unwrap()
            .iter()
            .map(|b| &b["outcome"])
            .collect();
        assert_eq!(
            of["forms"].as_array().unwrap().iter().collect::<Vec<_>>(),
            forms
        );
    }
    let least = all
        .iter()
        .map(|p| p["executed"].as_f64().unwrap())
        .fold(f64::MAX, f64::min);
    assert_eq!(all[0]["policy"], "cost");
    assert_eq!(all[0]["executed"].as_f64(), Some(least));
    // One policy is compared with cost.
    let text = warpfold(&["policies", "--policy", "nak-4", CLAMP]).ok();
    let rows: Vec<&str> = text.lines().skip(5).collect();
    assert!(
        rows[0].starts_with("cost ") && rows[1].starts_with("nak-4 ") && rows.len() == 2,
        "{text}"
    );
}

#[test]
fn an_unknown_policy_is_bad_usage() {
    let result = warpfold(&["run", "--policy", "nir-9", CLAMP]);
    assert_eq!(result.status, 2);
    assert!(
        result
            .stderr
            .contains("no policy is named `nir-9`; there are cost, always-branch,"),
        "{}",
        result.stderr
    );
}

#[test]
fn a_profile_file_stands_for_the_run_it_was_taken_of() {
    let (a, b) = (scratch("a.json"), scratch("b.json"));
    warpfold(&["exec", "--profile-out", &a, CLAMP]).ok();
    let measured = warpfold(&["explain", "--measure", CLAMP]).ok();
    assert_eq!(
        warpfold(&["explain", "--profile", &a, CLAMP]).ok(),
        measured
    );
    assert_eq!(
        warpfold(&["run", "--profile", &a, CLAMP]).ok(),
        warpfold(&["run", CLAMP]).ok()
    );
    assert_eq!(
        warpfold(&["opt", "--profile", &a, CLAMP]).ok(),
        warpfold(&["opt", "--measure", CLAMP]).ok()
    );
    // Another launch's counts add up.
    warpfold(&["exec", "--block", "32", "--profile-out", &b, CLAMP]).ok();
    let executions = |files: &[&str]| {
        let mut args = vec!["explain", "--format", "json"];
        for file in files {
            args.extend(["--profile", file]);
        }
        args.push(CLAMP);
        json(&args)["branches"][0]["counts"]["executions"]
            .as_u64()
            .unwrap()
    };
    let (x, y) = (executions(&[&a]), executions(&[&b]));
    assert!(x > y && y > 0);
    assert_eq!(executions(&[&a, &b]), x + y);
    let other = warpfold(&["run", "--profile", &b, CLAMP]).ok();
    assert!(
        other.contains(", the prediction being for the launches of the profile\n"),
        "{other}"
    );
    let wrong = warpfold(&["run", "--profile", &a, "tests/kernels/quadratic.clif"]);
    assert_eq!(wrong.status, 2);
    let said = "error: FILE: the profile does not fit: of %clamp, the kernel is %quadratic\n";
    assert_eq!(wrong.stderr, said.replace("FILE", &a));
    assert!(root().join(CLAMP).exists());
}

const DIVERGES: &str = "\
;! block = 64
;! [[arg]]
;! varying = \"lane % 7 * 3\"
;! [[arg]]
;! buffer = \"i32\"
;! len = 8
function %f(i32, i64) {
block0(v0: i32, v1: i64):
    brif v0, block1, block2
block1:
    store v0, v1
    jump block2
block2:
    store v0, v1+4
    return
}
";

#[test]
fn a_prior_is_stated_and_shown() {
    let explain = |args: &[&str]| {
        let args = [&["explain"][..], args, &["-"]].concat();
        warpfold_on(&args, DIVERGES.as_bytes()).ok()
    };
    let usual = explain(&[]);
    assert!(!usual.contains("prior p="), "{usual}");
    let rare = explain(&["--prior", "p=1/1024,rho=0"]);
    assert!(rare.contains("prior p=0.000977, rho=0"), "{rare}");
    assert!(
        rare.contains("any lane true in 2017, false in 65536"),
        "{rare}"
    );
    let refused = warpfold_on(&["explain", "--prior", "p=3", "-"], DIVERGES.as_bytes());
    assert_eq!(refused.status, 2);
    assert!(
        refused
            .stderr
            .contains("`3` is no probability; write 1/16, 0.0625 or 6.25%")
    );
}

#[test]
fn a_hint_in_the_file_is_followed_or_refused_with_its_place() {
    let hinted = DIVERGES.replace("block1, block2\n", "block1, block2 ; warpfold: keep\n");
    let out = warpfold_on(&["run", "-"], hinted.as_bytes()).ok();
    assert!(out.contains("hint `keep` followed"), "{out}");
    let bad = warpfold_on(&["run", "-"], hinted.replace("keep", "kept").as_bytes());
    assert_eq!(bad.status, 2);
    assert_eq!(
        bad.stderr,
        "error: <stdin>:9:31: `kept` is no hint; there are flatten, keep, p=… and rho=…\n"
    );
}

#[test]
fn explain_region_shows_the_arithmetic_of_one_branch() {
    let text = warpfold(&["explain", "--machine", "textbook", "--region", "37", CLAMP]).ok();
    assert!(
        text.contains("\n37: brif, ") && !text.contains("\n46: brif"),
        "{text}"
    );
    let line = |start: &str| {
        let found = text.lines().find(|l| l.trim_start().starts_with(start));
        found.unwrap_or_else(|| panic!("{start}\n{text}"))
    };
    let words: Vec<&str> = line("b where the warp splits").split_whitespace().collect();
    assert_eq!(words[5..], ["1", "65536", "5", "327680"]);
    assert!(line("nested").contains("the region of line 46 as straight"));
    let doc = json(&["explain", "--region", "37", "--format", "json", CLAMP]);
    assert_eq!(doc["branches"].as_array().unwrap().len(), 1);
    let inst = format!("inst{}", doc["branches"][0]["origin"]["inst"]);
    let again = warpfold(&["explain", "--machine", "textbook", "--region", &inst, CLAMP]).ok();
    assert_eq!(again, text);
    let wrong = warpfold(&["explain", "--region", "38", CLAMP]);
    let said = format!("error: {CLAMP}: there is no conditional branch on line 38\n");
    assert_eq!((wrong.status, wrong.stderr), (2, said));
}
