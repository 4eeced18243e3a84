//! What the literature says of warp divergence holds, and the list of it is
//! whole.
//!
//! The claims themselves are `warpfold_testkit::claims`, which the command runs
//! too.

use std::collections::BTreeSet;
use std::path::Path;

use warpfold_testkit::claims::{self, FILES, SOURCES, claims};

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn all_hold() {
    let report = claims::run(&[]).unwrap();
    let bad: Vec<_> = report.claims.iter().filter(|c| !c.holds()).collect();
    assert!(report.holds(), "{bad:#?}");
    assert_eq!((report.held(), report.of), (85, 85));
    let rows: usize = report.claims.iter().map(|c| c.rows.len()).sum();
    assert!(rows > 350, "{rows}");
}

#[test]
fn the_list_is_whole_and_each_claim_is_checked() {
    let list = claims();
    let ids: Vec<&str> = list.iter().map(|c| c.id).collect();
    let mut want: Vec<String> = (1..=84).map(|i| format!("C-{i:02}")).collect();
    want.push("EXT".to_owned());
    assert_eq!(ids, want);
    for c in &list {
        assert_ne!(c.how(), "", "{}", c.id);
        assert!(!c.title.is_empty() && !c.holds.is_empty(), "{}", c.id);
        let known = SOURCES.iter().any(|s| c.source.starts_with(s.name));
        assert!(known, "{}: {}", c.id, c.source);
    }
    for f in FILES {
        assert!(list.iter().any(|c| f.is_of(c.id)), "{}", f.name);
    }
}

#[test]
fn all_files_of_the_folder_are_in_the_program() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("claims");
    let names = std::fs::read_dir(folder).unwrap().map(|e| {
        let name = e.unwrap().file_name().into_string().unwrap();
        name.strip_suffix(".wf").expect("a .wf file").to_owned()
    });
    let names: BTreeSet<String> = names.collect();
    let listed: Vec<&str> = FILES.iter().map(|f| f.name).collect();
    assert_eq!(listed, names.iter().collect::<Vec<_>>());
}

#[test]
fn claims_are_chosen_by_id() {
    let report = claims::run(&["c-65", "C-07"]).unwrap();
    let ids: Vec<&str> = report.claims.iter().map(|c| c.claim.id).collect();
    assert_eq!(ids, ["C-07", "C-65"]);
    let message = claims::run(&["C-01", "C-85"]).unwrap_err();
    let want = "there is no claim `C-85`; there are C-01 to C-84, and EXT";
    assert_eq!(message, want);
}

/// `BLESS=1` writes it anew.
#[test]
fn the_books_page_lists_the_claims() {
    let path = root().join("docs/claims.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = ("<!-- begin: claims -->\n", "<!-- end: claims -->");
    let (head, rest) = text.split_once(begin).expect("it begins");
    let (old, tail) = rest.split_once(end).expect("it ends");
    let new = claims::page();
    if std::env::var_os("BLESS").is_some_and(|v| v == "1") {
        std::fs::write(&path, format!("{head}{begin}{new}{end}{tail}")).unwrap();
    } else {
        assert_eq!(old, new, "BLESS=1 rewrites it");
    }
}
