//! The README tells the truth: its report is what its first command prints,
//! its kernel is the file's, its paths exist. `BLESS=1` rewrites the report.

mod support;

use std::fs;

use support::{CLAMP, root, warpfold};

/// The inside of the first code block of `language` in `text`, as a range.
fn block(text: &str, language: &str) -> std::ops::Range<usize> {
    let open = format!("\n```{language}\n");
    let start = text.find(&open).expect("the block") + open.len();
    // An empty block closes where its inside would begin.
    let end = start + text[start - 1..].find("\n```\n").expect("its end");
    start..end
}

#[test]
fn the_report_is_what_the_first_command_prints() {
    let path = root().join("README.md");
    let readme = fs::read_to_string(&path).unwrap();
    let commands = &readme[block(&readme, "sh")];
    let first = commands.lines().next().unwrap();
    let args = first
        .strip_prefix("cargo run --release -p warpfold-cli -- ")
        .expect("the command that this test stands in for");
    let args: Vec<&str> = args.split(' ').collect();
    assert_eq!(args, ["run", CLAMP]);
    let report = warpfold(&args).ok();
    let range = block(&readme, "text");
    if readme[range.clone()] == report {
        return;
    }
    if std::env::var_os("BLESS").is_some() {
        let (before, after) = (&readme[..range.start], &readme[range.end..]);
        fs::write(&path, format!("{before}{report}{after}")).unwrap();
        return;
    }
    panic!(
        "README.md shows\n{}\nbut `warpfold run` prints\n{report}\nBLESS=1 rewrites it",
        &readme[range]
    );
}

#[test]
fn the_kernel_is_the_files() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let kernel = fs::read_to_string(root().join(CLAMP)).unwrap();
    let excerpt = &readme[block(&readme, "clif")];
    assert!(!excerpt.is_empty());
    assert!(kernel.contains(excerpt), "{excerpt}");
}

/// The sentences under the report quote its numbers.
#[test]
fn the_explanation_quotes_the_report() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let report = &readme[block(&readme, "text")];
    let row: Vec<&str> = report
        .lines()
        .find(|l| l.starts_with("37: brif"))
        .expect("the branch on line 37")
        .split_whitespace()
        .collect();
    let [
        _,
        _,
        _,
        _,
        all,
        _,
        _,
        split,
        branch,
        straight,
        // The skip, and the margin.
        _,
        _,
        form,
        predicted,
        measured,
    ] = row[..]
    else {
        panic!("{row:?}");
    };
    assert_eq!((all, split), ("4", "4"));
    assert_eq!(form, "straight");
    assert_eq!(predicted, measured);
    let text = readme.replace('\n', " ");
    for quote in [
        format!("would cost {branch} issues, straight-line code {straight},"),
        format!("predicted to cost {predicted} and did"),
    ] {
        assert!(text.contains(&quote), "{quote}");
    }
}

#[test]
fn links_lead_somewhere() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let targets: Vec<&str> = readme
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .filter(|t| !t.contains("://"))
        .collect();
    assert!(targets.len() > 10);
    for target in targets {
        assert!(root().join(target).exists(), "{target}");
    }
}
