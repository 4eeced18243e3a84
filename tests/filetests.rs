//! Runs every filetest, and tests the runner on files that must fail.
//!
//! `BLESS=1 cargo test -p warpfold-testkit --test filetests` accepts the text
//! that the tests give now; look at the difference before you commit it.

use std::fs;
use std::path::{Path, PathBuf};

use warpfold_testkit::filetest::{Counts, FileReport, Registry, Runner, test_files};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests")
}

/// Every file below a folder, found without the runner's help.
fn listing(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => open.push(path),
                false => found.push(path),
            }
        }
    }
    found.sort();
    found
}

#[test]
fn all_files() {
    let bless = std::env::var_os("BLESS").is_some_and(|v| v == "1");
    let runner = Runner::new(Registry::builtin()).bless(bless);
    // The claims' files are part of the crate.
    let claims = Path::new(env!("CARGO_MANIFEST_DIR")).join("claims");
    let report = runner.run_folder(&claims).unwrap();
    assert_eq!(report.files, listing(&claims));
    assert!(report.passed(), "\n{report}");
    let mut passed = report.tally.total.passed;
    let report = runner.run_folder(&folder()).unwrap();
    println!("{report}");
    // A file of another name would be passed over in silence.
    assert_eq!(report.files, listing(&folder()));
    assert!(report.passed(), "\n{report}");
    // Our files ask for nothing that is not supported.
    assert_eq!(report.skipped, []);
    passed += report.tally.total.passed;
    assert!(passed > 200, "{passed}");
    assert_eq!(report.tally.variants.len(), 14);
    for (variant, counts) in &report.tally.variants {
        assert!(counts.passed > 50 && counts.failed == 0, "{variant}");
    }
}

const KERNEL: &str = "\
;! [[arg]]
;! varying = \"lane < 8\"
function %k(pred varying) {
block0(v0: pred):
    br v0, block1, block1

block1:
    ret
}
";

/// Runs a file; the failures as `line: message`.
fn failures(text: &str) -> Vec<String> {
    match Runner::new(Registry::builtin()).run_text("x.wf".as_ref(), text) {
        Ok(_) => Vec::new(),
        Err(list) => list
            .iter()
            .map(|f| format!("{}: {}", f.line, f.message))
            .collect(),
    }
}

#[test]
fn a_right_expectation_passes() {
    let text = format!(
        "test exec\n{KERNEL}; expect: issued=2 ctl=2 ti=64 avg=31.5..32.5\n; expect: \
         branches=1 proven=1 pred_on=64 depth=1 others=0\n"
    );
    assert_eq!(failures(&text), [""; 0]);
}

#[test]
fn files_that_are_wrong_fail_with_their_line() {
    let with = |header: &str, end: &str| format!("{header}\n{KERNEL}{end}\n");
    for (text, want) in [
        (
            with("test exce", "; expect: issued=2"),
            "1: unknown test `exce`; known: print",
        ),
        (
            with("", "; expect: issued=2"),
            "1: the file asks for no test",
        ),
        (with("test", "; expect: issued=2"), "1: `test` needs a name"),
        (
            with("test exec join=cfg", "; expect: issued=2"),
            "1: `test exec` has no option `join`",
        ),
        (
            with("test exec joins", "; expect: issued=2"),
            "1: expected OPTION=VALUE",
        ),
        (
            with("test exec joins=x", "; expect: issued=2"),
            "`joins` is default or cfg",
        ),
        (
            with("test exec", ""),
            "1: the file expects nothing of `test exec`",
        ),
        (
            with("test exec\ntest print", "; expect: issued=2"),
            "2: the file expects nothing of `test print`",
        ),
        (
            with("test exec", "; expects: issued=2"),
            "11: unknown directive `expects:`",
        ),
        (
            with("test exec", "; expect issued=2"),
            "11: expected `expect:`",
        ),
        (
            with("test exec", "; expect:"),
            "11: nothing is expected here",
        ),
        (
            with("test exec", "; expect: issued"),
            "11: expected KEY=VALUE",
        ),
        (
            with("test exec", "; expect print: issued=2"),
            "11: the file has no `test print`",
        ),
        (
            with("test exec", "; expect: issued=3"),
            "11: issued: expected 3, found 2",
        ),
        (
            with("test exec", "; expect: isued=2"),
            "11: there is no `isued` here",
        ),
        (
            with("test exec", "; expect: issued=2\n; expect: issued=2"),
            "12: `issued` is expected on line 11",
        ),
        (
            with("test exec", "; expect: issued=2 others=0"),
            "11: ti: expected 0 (by `others`), found 64",
        ),
        (
            with("test exec", "; error: no"),
            "11: accepted, but must be refused",
        ),
        (with("test print", "; > nonsense"), "11: the text differs"),
        (
            with("test exec", "; expect: issued=2").replace("br v0", "br v9"),
            "1: refused:",
        ),
        (
            with("test exec", "; expect: issued=2").replace("lane < 8", "lanes"),
            "unknown name `lanes`",
        ),
        (
            with("test exec", "; error: nonsense").replace("br v0", "br v9"),
            "11: the message lacks `nonsense`",
        ),
    ] {
        let got = failures(&text);
        assert!(
            got.iter().any(|f| f.contains(want)),
            "{text}\n  got  {got:#?}\n  want {want}"
        );
    }
}

#[test]
fn what_goes_wrong_must_be_expected() {
    let text = "\
test exec
;! block = 2
;! [[arg]]
;! varying = \"8 * lane\"
function %k(i64 varying) -> i32 {
block0(v0: i64):
    v1 = load.i32 v0
    ret v1
}
; expect: issued=1
";
    let got = failures(text);
    assert_eq!(got.len(), 1, "{got:?}");
    assert!(
        got[0].starts_with("1: traps=0:heap_oob,1:heap_oob, of which the file says nothing"),
        "{got:?}"
    );
}

#[test]
fn blessing_rewrites_text_in_place_and_nothing_else() {
    let folder = std::env::temp_dir().join(format!("warpfold-bless-{}", std::process::id()));
    fs::create_dir_all(folder.join("sub")).unwrap();
    let path = folder.join("sub/x.wf");
    let before = format!("test print\n; > old\n; > lines\n{KERNEL}; a comment\n");
    fs::write(&path, &before).unwrap();
    let plain = Runner::new(Registry::builtin());
    let blessing = Runner::new(Registry::builtin()).bless(true);

    let report = plain.run_folder(&folder).unwrap();
    assert_eq!((report.files.len(), report.passed()), (1, false));
    assert!(report.to_string().contains("- old"), "{report}");
    assert_eq!(fs::read_to_string(&path).unwrap(), before);

    let report = blessing.run_folder(&folder).unwrap();
    assert_eq!(report.blessed.len(), 1);
    let after = fs::read_to_string(&path).unwrap();
    assert!(
        after.starts_with("test print\n; > function %k(pred varying) {\n; > block0(v0: pred):\n"),
        "{after}"
    );
    assert!(after.ends_with("}\n; a comment\n"), "{after}");
    assert!(!after.contains("old"));

    assert!(plain.run_folder(&folder).unwrap().passed());
    assert!(blessing.run_folder(&folder).unwrap().blessed.is_empty());

    // A new file gets its text at the end; facts stay as they are.
    fs::write(&path, format!("test print\n{KERNEL}")).unwrap();
    assert_eq!(blessing.run_folder(&folder).unwrap().blessed.len(), 1);
    let after = fs::read_to_string(&path).unwrap();
    assert!(after.ends_with("; > }\n"), "{after}");
    let wrong = format!("test exec\n{KERNEL}; expect: issued=77\n");
    fs::write(&path, &wrong).unwrap();
    assert!(!blessing.run_folder(&folder).unwrap().passed());
    assert_eq!(fs::read_to_string(&path).unwrap(), wrong);
    fs::remove_dir_all(&folder).unwrap();
}

const NOTED: &str = "\
test uniformity notes=beside block=?,1,1

; A comment.
function %f(i32) {
block0(v0: i32): ; runs per grid, v0: uniform(grid)
    v1 = tid_x   ; stride 1, base warp = 0x0 mod 0x20, zero bits 0xfff00000
    ; Another.
    v2 = icmp.i32 ult v1, v0 ; lane
    br v2, block1, block2 ; divergent, tail guard

block1: ; runs per lane
    jump block2

block2: ; runs per grid
    ret
}

function %g() {
block0: ; runs per grid
    ret
}
";

#[test]
fn notes_beside_the_code_are_complete_and_exact() {
    assert_eq!(failures(NOTED), [""; 0]);
    for (old, new, want) in [
        (" ; lane", "", "8: no annotation, but claimed is `lane`"),
        (
            "base warp",
            "base block",
            "6: annotated `stride 1, base block = 0x0 mod 0x20, zero bits 0xfff00000`, but claimed",
        ),
        // Less than is known fails as well.
        (
            "v0: uniform(grid)",
            "v0: lane",
            "5: annotated `runs per grid, v0: lane`, but claimed is `runs per grid, v0: uniform(grid)`",
        ),
        (
            "ret\n",
            "ret ; lane\n",
            "15: annotated `lane`, but nothing is claimed here",
        ),
        (
            "v2 = icmp.i32 ult v1, v0",
            "v2 = icmp.i32  ult v1, v0",
            "8: not as it is printed: `v2 = icmp.i32 ult v1, v0`",
        ),
        // The other function of the file counts, too.
        (
            "{\nblock0: ; runs per grid",
            "{\nblock0:",
            "19: no annotation",
        ),
        ("block=?,1,1", "block=?,?,?", "6: annotated"),
        (
            "block=?,1,1",
            "block=0,1,1",
            "1: refused:\n    `block` is three sizes",
        ),
        (
            "block=?,1,1",
            "block=1,1",
            "1: refused:\n    `block` is three sizes",
        ),
        (
            "beside",
            "above",
            "1: refused:\n    `notes` can only be beside",
        ),
    ] {
        let text = NOTED.replacen(old, new, 1);
        assert_ne!(text, NOTED);
        let got = failures(&text);
        assert!(got.iter().any(|f| f.starts_with(want)), "{want}\n{got:#?}");
    }
    let report = Runner::new(Registry::builtin()).report_text("x.wf".as_ref(), NOTED);
    assert_eq!(report.tally.total.passed, 2, "a case for each function");
}

#[test]
fn blessing_rewrites_the_notes_of_functions_that_fail() {
    let stale = NOTED
        .replace(" ; lane", "")
        .replace("; runs per lane", "; x");
    let bless = Runner::new(Registry::builtin()).bless(true);
    let report = bless.report_text("x.wf".as_ref(), &stale);
    assert_eq!((report.failures.len(), report.tally.total.failed), (0, 0));
    let text = report.blessed.expect("rewritten");
    assert!(text.contains("; A comment.\n"), "{text}");
    assert!(
        text.contains("    v2 = icmp.i32 ult v1, v0 ; lane\n"),
        "{text}"
    );
    // One column.
    assert!(
        text.contains("block1:                      ; runs per lane\n"),
        "{text}"
    );
    assert!(
        text.ends_with("block0: ; runs per grid\n    ret\n}\n"),
        "{text}"
    );
    assert_eq!(failures(&text), [""; 0]);
}

#[test]
fn an_empty_folder_does_not_pass() {
    let folder = std::env::temp_dir().join(format!("warpfold-empty-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let report = Runner::new(Registry::builtin())
        .run_folder(&folder)
        .unwrap();
    fs::remove_dir_all(&folder).unwrap();
    assert!(!report.passed());
}

const DIVIDE: &str = "\
test run
function %divide(i32, i32) -> i32 {
block0(v0: i32, v1: i32):
    v2 = udiv v0, v1
    return v2
}
";

/// What came of a file with these lines after a division.
fn divided(lines: &str) -> FileReport {
    let text = format!("{DIVIDE}{lines}");
    Runner::new(Registry::builtin()).report_text("x.clif".as_ref(), &text)
}

#[test]
fn run_lines_that_are_wrong_fail() {
    for (line, want) in [
        (
            "; run: %divide(7, 2) == 4",
            "written, packed: %divide(7, 2): expected 4, found 3",
        ),
        (
            "; run: %divide(7, 2) != 3",
            "written, packed: %divide(7, 2): expected anything but 3, found 3",
        ),
        (
            "; run: %divide(7, 0) == 3",
            "written, packed: %divide(7, 0): expected 3, found the trap int_divz",
        ),
        (
            "; run: %divide(7, 0) != 3",
            "written, packed: %divide(7, 0): expected anything but 3, found the trap int_divz",
        ),
        (
            "; print: %divide(7, 0)",
            "written, packed: %divide(7, 0): expected a return, found the trap int_divz",
        ),
        (
            "; trap: %divide(7, 2) == int_divz",
            "written, packed: %divide(7, 2): expected the trap int_divz, found 3",
        ),
        (
            "; trap: %divide(7, 0) == int_ovf",
            "written, packed: %divide(7, 0): expected the trap int_ovf, found the trap int_divz",
        ),
        (
            "; trap: %divide(7, 0) == nothing",
            "unknown trap code `nothing`",
        ),
        (
            "; trap: %divide(7, 0)",
            "expected `trap: %NAME(ARGS) == CODE`",
        ),
        ("; run: %nope(7, 2) == 3", "the file has no function %nope"),
        ("; run: %divide(7) == 3", "`run: %divide(7) == 3`: "),
        ("; run: %divide(7, 2)", "`run: %divide(7, 2)`: "),
        ("; run", "`run`: unable to parse the run command"),
    ] {
        // One of several lanes: the others pass.
        let report = divided(&format!("; run: %divide(6, 2) == 3\n{line}\n"));
        let [failure] = report.failures.as_slice() else {
            panic!("{line}: {:?}", report.failures);
        };
        assert_eq!(failure.line, 8, "{line}");
        assert!(failure.message.starts_with(want), "{}", failure.message);
        let total = report.tally.total;
        assert_eq!((total.passed, total.failed, total.skipped), (1, 1, 0));
    }
}

#[test]
fn a_run_test_without_lines_or_with_strange_ones_fails() {
    let message = |lines: &str| {
        let report = divided(lines);
        assert_eq!(report.tally.total.failed, 1, "{lines}");
        report.failures[0].message.clone()
    };
    assert_eq!(message(""), "the file expects nothing of `test run`");
    let strange = "; run: %divide(6, 2) == 3\n; rnu: %divide(6, 2) == 4\n";
    assert!(message(strange).starts_with("unknown directive `rnu:`"));
    // Words that look like no line are Cranelift's or anybody's.
    let prose = "; run: %divide(6, 2) == 3\n; check: nothing\n; note: see %divide\n";
    assert_eq!(divided(prose).failures, []);
}

#[test]
fn what_is_printed_is_told() {
    let report = divided("; print: %divide(100, 7)\n;; run: %divide(0, 1) == 0\n");
    assert_eq!(report.failures, []);
    assert_eq!(report.printed, [(7, "%divide(100, 7) -> 14".to_owned())]);
}

#[test]
fn both_of_cranelifts_tests_run_lines_once() {
    let text = format!("test interpret\n{DIVIDE}; run: %divide(6, 2) == 3\n");
    let report = Runner::new(Registry::builtin()).report_text("x.clif".as_ref(), &text);
    assert_eq!(report.failures, []);
    assert_eq!(report.tally.total.passed, 1);
}

#[test]
fn what_is_not_supported_is_skipped_and_the_rest_runs() {
    let vector = "\
function %lanes(i32x4) -> i32x4 {
block0(v0: i32x4):
    v1 = iadd v0, v0
    return v1
}
; run: %lanes([1 2 3 4]) == [2 4 6 8]
; run: %lanes([0 0 0 0]) == [0 0 0 0]
";
    let report = divided(&format!("; run: %divide(6, 2) == 3\n{vector}"));
    assert_eq!(report.failures, []);
    let want = Counts {
        passed: 1,
        failed: 0,
        skipped: 2,
        contradicted: 0,
    };
    assert_eq!(report.tally.total, want);
    let (reason, n) = report.tally.skipped.first_key_value().unwrap();
    assert_eq!((reason.name.as_str(), *n), ("vector", 2));
    let (line, message) = &report.skipped[0];
    assert_eq!(*line, 13);
    assert!(message.starts_with("8:1: %lanes: a parameter has type i32x4"));
    assert_eq!(report.tally.opcodes["iadd"].skipped, 2);
    assert_eq!(report.tally.opcodes["udiv"].passed, 1);

    // What is no CLIF is no reason to skip.
    let broken = vector.replace("iadd", "nonsense");
    let report = divided(&broken);
    assert_eq!(report.tally.total.failed, 2);
}

/// Whichever function of the file a line names, it is about the one it stands
/// after, as in Cranelift; and of a name that cannot be written any will do.
#[test]
fn lines_go_by_where_they_stand() {
    let text = "\
test run
function %one() -> i32 {
block0:
    v0 = iconst.i32 1
    return v0
}
function %two() -> i32 {
block0:
    v0 = iconst.i32 2
    return v0
}
; run: %one() == 2
function u0:3() -> i32 {
block0:
    v0 = iconst.i32 3
    return v0
}
; run: %three() == 3
";
    let report = Runner::new(Registry::builtin()).report_text("x.clif".as_ref(), text);
    assert_eq!(report.failures, []);
    assert_eq!(report.tally.total.passed, 2);
}

/// They are run all the same, and must give what is documented.
#[test]
fn lines_that_the_documentation_contradicts_are_told_apart() {
    let line = "; run: %f(0x1.fffffep127) == 170141183460469231731687303715884105727\n";
    let of = |op: &str| {
        let text = format!(
            "test run\nfunction %f(f32) -> i128 {{\nblock0(v0: f32):\n    v1 = {op}.i128 v0\n    return v1\n}}\n{line}"
        );
        Runner::new(Registry::builtin()).report_text("x.clif".as_ref(), &text)
    };
    for (op, want) in [
        (
            "fcvt_to_uint",
            "defined is -20282409603651670423947251286016: the number, 2^128 - 2^104, fits",
        ),
        (
            "fcvt_to_sint",
            "defined is the trap int_ovf: the number, 2^128 - 2^104, does not fit",
        ),
    ] {
        let report = of(op);
        assert_eq!(report.failures, [], "{op}");
        let want =
            format!("%f(0x1.fffffep127): asks for 170141183460469231731687303715884105727, {want}");
        assert_eq!(report.contradicted, [(7, want)]);
        let total = report.tally.total;
        assert_eq!((total.passed, total.skipped, total.contradicted), (0, 0, 1));
        assert_eq!(report.tally.variants, []);
    }
    // Not by what the documentation says: a failure.
    let broken = "fcvt_to_sint_sat.i128 v0\n    v2 = fcvt_to_uint";
    let report = of(broken);
    assert_eq!(report.tally.total.failed, 1, "{report:?}");
    assert_eq!(of("fcvt_to_sint_sat").tally.total.passed, 1);
}

#[test]
fn jobs_do_not_change_the_report() {
    let mut files = test_files(&folder().join("run")).unwrap();
    // Enough of different length; `all_files` runs the rest.
    files.truncate(8);
    let runner = Runner::new(Registry::builtin());
    let one = runner.run_files(&files, 1, &|_| {}).unwrap();
    let seen = std::sync::Mutex::new(Vec::new());
    let four = runner
        .run_files(&files, 4, &|p| seen.lock().unwrap().push(p.done))
        .unwrap();
    assert_eq!(one, four);
    assert_eq!(
        seen.into_inner().unwrap(),
        (1..=files.len()).collect::<Vec<_>>()
    );
}
