//! The book lists the keys of what `claims` and `test` give as JSON: those that
//! occur and no others.

mod support;

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;
use support::{root, scratch, warpfold};

/// The keys in the first column of the table under `marker` on `page`.
fn listed(page: &str, marker: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("docs").join(page)).unwrap();
    let (_, rest) = text
        .split_once(&format!("<!-- begin: {marker} -->\n"))
        .unwrap();
    let (table, _) = rest.split_once("<!-- end").unwrap();
    let keys = table
        .lines()
        .filter_map(|l| l.strip_prefix("| `")?.split('`').next());
    keys.map(str::to_owned).collect()
}

/// Every key of `value` with its path. Names below `free` keys are anybody's.
fn keys(value: &Value, prefix: &str, free: &[&str], all: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let list = if value.is_array() { "[]" } else { "" };
                let path = format!("{prefix}{name}{list}");
                if !free.contains(&path.as_str()) {
                    keys(value, &format!("{path}."), free, all);
                }
                all.insert(path);
            }
        }
        Value::Array(items) => {
            for item in items {
                keys(item, prefix, free, all);
            }
        }
        _ => {}
    }
}

fn keys_of(texts: &[String], free: &[&str]) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for text in texts {
        let value = serde_json::from_str(text).expect("it is JSON");
        keys(&value, "", free, &mut all);
    }
    all
}

#[test]
fn keys_of_claims() {
    let text = warpfold(&["claims", "--format", "json", "C-03", "C-31"]).ok();
    let mut found = keys_of(
        &[text],
        &["claims[].rows[].expected", "claims[].rows[].measured"],
    );
    // Of what differs, which nothing does.
    assert!(found.insert("claims[].rows[].failures[]".to_owned()));
    assert_eq!(found, listed("claims.md", "claims json"));
}

#[test]
fn keys_of_tests() {
    let cases = [
        (
            "good",
            "test run\nfunction %f(i32) -> i32 {\nblock0(v0: i32):\n    return v0\n}\n; run: %f(1) == 1\n; print: %f(2)\n; run: %f(1) == 2\n",
        ),
        (
            "skipped",
            "test run\nfunction %f(i32) -> i32x4 {\nblock0(v0: i32):\n    v1 = splat.i32x4 v0\n    return v1\n}\n; run: %f(1) == [1 1 1 1]\n",
        ),
    ];
    let texts = cases.map(|(name, text)| {
        let path = scratch(&format!("keys-{name}.clif"));
        fs::write(&path, text).unwrap();
        warpfold(&["test", "--by-opcode", "--format", "json", &path]).stdout
    });
    let mut found = keys_of(&texts, &[]);
    // Of Cranelift's own files only.
    for key in ["file", "line", "message"] {
        assert!(found.insert(format!("contradicted_cases[].{key}")));
    }
    assert_eq!(found, listed("filetests.md", "test json"));
}
