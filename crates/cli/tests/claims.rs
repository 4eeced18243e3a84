//! `warpfold claims` as a user runs it.

mod support;

use serde_json::Value;
use support::warpfold;

#[test]
fn a_table_of_what_is_expected_and_measured() {
    let text = warpfold(&["claims", "C-07", "c-65", "C-40"]).ok();
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
    assert_eq!(head, ["expected", "measured"]);
    let ids: Vec<&str> = text
        .lines()
        .filter(|l| l.starts_with("C-"))
        .map(|l| &l[..4])
        .collect();
    assert_eq!(ids, ["C-07", "C-40", "C-65"]);
    let row = text.lines().find(|l| l.starts_with("  n 31 ")).unwrap();
    let cells: Vec<&str> = row
        .split("  ")
        .map(str::trim)
        .filter(|c| !c.is_empty())
        .collect();
    let shown = "issued=104 avg=13.423 divergent=1";
    assert_eq!(cells, ["n 31", &format!("{shown} +16"), shown, "ok"]);
    // Where the source is wrong.
    assert!(text.contains("\n  The source says that unrolling cuts divergent tests."));
    let last = text.lines().last().unwrap();
    assert_eq!(
        last,
        "3 of 3 claims hold, by 18 measurements; the list has 85"
    );
}

#[test]
fn all_facts_as_json() {
    let text = warpfold(&["claims", "--format", "json", "C-31", "C-38"]).ok();
    let doc: Value = serde_json::from_str(&text).unwrap();
    for (key, want) in [("version", 1), ("listed", 85), ("checked", 2), ("held", 2)] {
        assert_eq!(doc[key], want, "{key}");
    }
    let row = &doc["claims"][0]["rows"][0];
    assert_eq!(row["measured"]["alu"], "160");
    assert_eq!(row["measured"], row["expected"]);
    assert_eq!(row["measured"].as_object().unwrap().len(), 22);
    let row = &doc["claims"][1]["rows"][0];
    assert_eq!(
        (&row["expected"], &row["measured"]),
        (&"31".into(), &"31".into())
    );
    assert_eq!(row["holds"], true);
}

#[test]
fn an_unknown_claim_is_bad_usage() {
    let message = warpfold(&["claims", "C-1"]).error(2);
    let want = "there is no claim `C-1`; there are C-01 to C-84, and EXT";
    assert_eq!(message, format!("claims: {want}"));
}
