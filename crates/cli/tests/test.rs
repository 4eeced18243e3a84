//! `warpfold test`: its report, its exit status.

mod support;

use std::fs;

use serde_json::Value;
use support::{scratch, warpfold};

const RUN: &str = "tests/filetests/run";

/// A file of this test's own.
fn file(name: &str, text: &str) -> String {
    let path = scratch(name);
    fs::write(&path, text).unwrap();
    path
}

const DOUBLE: &str = "\
test run
function %double(i32) -> i32 {
block0(v0: i32):
    v1 = iadd v0, v0
    return v1
}
; run: %double(2) == 4
; print: %double(-3)
";

const VECTOR: &str = "\
function %splat(i32) -> i32x4 {
block0(v0: i32):
    v1 = splat.i32x4 v0
    return v1
}
; run: %splat(1) == [1 1 1 1]
";

#[test]
fn all_that_passes_is_counted_at_the_end() {
    let text = warpfold(&["test", RUN]).ok();
    let last = text.lines().last().unwrap();
    let passed = last.strip_suffix(" passed, 0 failed, 0 skipped");
    let passed: u64 = passed.expect(last).parse().unwrap();
    assert!(passed >= 50, "{last}");
    // Every version ran every line.
    for version in [
        "written",
        "converted",
        "branch",
        "straight",
        "select",
        "predicate",
    ] {
        for lanes in ["packed", "alone"] {
            let row = text
                .lines()
                .find(|l| l.starts_with(&format!("{version}, {lanes} ")))
                .expect(version);
            let numbers: Vec<u64> = row
                .split_whitespace()
                .filter_map(|w| w.parse().ok())
                .collect();
            assert_eq!(numbers, [passed, 0], "{row}");
        }
    }
    assert!(
        text.contains("branches.clif:77: %always() -> 7\n"),
        "{text}"
    );
}

#[test]
fn other_tests_run_too() {
    let text = warpfold(&["test", "tests/filetests/print", "tests/filetests/verify"]).ok();
    assert!(text.ends_with(" passed, 0 failed, 0 skipped\n"), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
}

#[test]
fn failures_have_places_and_status_1() {
    let path = file("fails.clif", &DOUBLE.replace("== 4", "== 5"));
    let ran = warpfold(&["test", &path]);
    assert_eq!((ran.status, ran.stderr.as_str()), (1, ""));
    let want = format!("{path}:7: written, packed: %double(2): expected 5, found 4\n");
    assert!(ran.stdout.contains(&want), "{}", ran.stdout);
    assert!(ran.stdout.ends_with("\n\n1 passed, 1 failed, 0 skipped\n"));
}

#[test]
fn json_says_the_same() {
    let path = file("skips.clif", &format!("{DOUBLE}{VECTOR}"));
    let out = scratch("skips.json");
    let args = ["test", "--by-opcode", "--format", "json", "-o", &out, &path];
    assert_eq!(warpfold(&args).ok(), "");
    let doc: Value = serde_json::from_str(&fs::read_to_string(&out).unwrap()).unwrap();
    assert_eq!(doc["version"], 1);
    assert_eq!(doc["command"], "test");
    assert_eq!(doc["files"], 1);
    for (key, want) in [("passed", 2), ("failed", 0), ("skipped", 1)] {
        assert_eq!(doc[key], want, "{key}");
    }
    assert_eq!(doc["skips"][0]["reason"], "vector");
    assert_eq!(doc["skips"][0]["cases"], 1);
    let skipped = &doc["skipped_cases"][0];
    assert_eq!(skipped["line"], 14);
    assert!(skipped["message"].as_str().unwrap().contains("i32x4"));
    assert_eq!(doc["printed"][0]["message"], "%double(-3) -> -6");
    assert_eq!(doc["failures"], Value::Array(Vec::new()));
    let variants = doc["variants"].as_array().unwrap();
    assert_eq!(variants.len(), 14);
    assert!(variants.iter().all(|v| v["passed"] == 2), "{variants:?}");
    let opcodes = doc["opcodes"].as_array().unwrap();
    let of = |name: &str| opcodes.iter().find(|o| o["name"] == name).unwrap();
    assert_eq!(of("iadd")["passed"], 2);
    assert_eq!(of("splat")["skipped"], 1);
    assert_eq!(of("return")["passed"], 2);
    assert_eq!(of("return")["skipped"], 1);

    let text = warpfold(&["test", "--skipped", "--by-opcode", &path]).ok();
    assert!(
        text.contains(&format!(
            "{path}:14: skipped: 9:1: %splat: a result has type i32x4"
        )),
        "{text}"
    );
    let row = |name: &str| {
        let line = text.lines().find(|l| l.starts_with(&format!("{name} ")));
        let words = line.expect(name).split_whitespace().skip(1);
        words.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(row("vector"), "1 SIMD vectors");
    assert_eq!(row("splat"), "0 0 1");
    assert_eq!(row("iadd"), "2 0 0");
}

/// Lines that CLIF's documentation contradicts are counted and told at the end.
#[test]
fn contradicted_lines_are_told_with_both_values() {
    let text = "\
test interpret
function %f(f32) -> i128 {
block0(v0: f32):
    v1 = fcvt_to_sint.i128 v0
    return v1
}
; run: %f(0x1.0) == 1
; run: %f(0x1.fffffep127) == 170141183460469231731687303715884105727
";
    let path = file("contradicted.clif", text);
    let said = "%f(0x1.fffffep127): asks for 170141183460469231731687303715884105727, defined is \
                the trap int_ovf: the number, 2^128 - 2^104, does not fit";
    let out = warpfold(&["test", &path]).ok();
    let end = format!(
        "\n\ncontradicted by CLIF's documentation, which is followed:\n{path}:8: {said}\n\n\
         1 passed, 0 failed, 0 skipped, 1 contradicted\n"
    );
    assert!(out.ends_with(&end), "{out}");
    let out = warpfold(&["test", "--format", "json", &path]).ok();
    let doc: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (&doc["skipped"], &doc["contradicted"]),
        (&0.into(), &1.into())
    );
    assert_eq!(doc["contradicted_cases"][0]["line"], 8);
    assert_eq!(doc["contradicted_cases"][0]["message"], said);
}

/// A link to a folder above repeats nothing.
#[cfg(unix)]
#[test]
fn links_to_folders_are_not_followed() {
    let folder = scratch("links");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    fs::write(format!("{folder}/double.clif"), DOUBLE).unwrap();
    std::os::unix::fs::symlink(&folder, format!("{folder}/again")).unwrap();
    let out = warpfold(&["test", &folder]).ok();
    assert!(out.ends_with("\n2 passed, 0 failed, 0 skipped\n"), "{out}");
}

#[test]
fn the_output_does_not_depend_on_jobs() {
    let with = |jobs: &str| warpfold(&["test", "--by-opcode", "-j", jobs, RUN]).ok();
    assert_eq!(with("1"), with("7"));
}

#[test]
fn blessing_rewrites_text() {
    let wf = "test print\n; > old\nfunction %f() {\nblock0:\n    ret\n}\n";
    let path = file("bless.wf", wf);
    assert_eq!(warpfold(&["test", &path]).status, 1);
    assert_eq!(fs::read_to_string(&path).unwrap(), wf);
    let text = warpfold(&["test", "--bless", &path]).ok();
    assert_eq!(
        text,
        format!("{path}: blessed\n\n1 passed, 0 failed, 0 skipped\n")
    );
    assert!(
        fs::read_to_string(&path)
            .unwrap()
            .contains("; > function %f() {")
    );
    assert_eq!(
        warpfold(&["test", &path]).ok(),
        "1 passed, 0 failed, 0 skipped\n"
    );
}

#[test]
fn what_is_no_test_is_bad_input() {
    for (path, want) in [
        ("tests/nowhere", "tests/nowhere: cannot read"),
        ("README.md", "README.md: a test file is called .clif or .wf"),
        ("docs", "docs: holds no test files"),
    ] {
        let message = warpfold(&["test", path]).error(2);
        assert!(message.starts_with(want), "{message}");
    }
}

#[test]
fn hostile_files_fail_and_no_more() {
    for (name, text) in [
        ("empty.clif", ""),
        ("binary.clif", "\u{7f}ELF\0\0"),
        (
            "huge.clif",
            "test run\nfunction %f() {\nblock0:\n v4294967294 = iconst.i32 1\n return\n}\n; run: %f() == 1\n",
        ),
        (
            "half.clif",
            "test run\nfunction %f(i32) -> i32 {\nblock0(v0: i32):\n; run: %f(1) == 1\n",
        ),
        (
            "loop.clif",
            "test run steps=1000\nfunction %f() -> i32 {\nblock0:\n jump block1\nblock1:\n jump block1\n}\n; run: %f() == 1\n",
        ),
        (
            "lines.clif",
            "; run: %f() == 1\ntest run\nfunction %f(i32) {\nblock0(v0: i32):\n return\n}\n; run: %f(99999999999999999999) == \n; run: %f(\n; run: ==\n",
        ),
    ] {
        let path = file(name, text);
        let ran = warpfold(&["test", &path]);
        assert_eq!(
            (ran.status, ran.stderr.as_str()),
            (1, ""),
            "{name}: {}",
            ran.stdout
        );
        let last = ran.stdout.lines().last().unwrap();
        assert!(last.starts_with("0 passed, "), "{name}: {}", ran.stdout);
    }
}
