//! Profile files: what comes back is what was counted, and what does not fit
//! says so.

use std::path::{Path, PathBuf};

use warpfold::ir::Block;
use warpfold::launch::{Dims, Overrides};
use warpfold::machine::Machine;
use warpfold::opt::Choice;
use warpfold::profile::{MAX_COUNT, ProfileFile};
use warpfold::{Canonical, Options, RunOptions, Settings, Source, Syntax};

fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kernels")
}

fn counted(text: &str, block: Option<u32>) -> Canonical {
    let overrides = Overrides {
        block: block.map(|n| n.to_string().parse::<Dims>().unwrap()),
        ..Overrides::default()
    };
    let source = Source::parse(text, "f.clif", Syntax::Clif).unwrap();
    let kernel = source.kernel(&overrides, &Options::default()).unwrap();
    let launch = kernel.launch(&kernels()).unwrap();
    let canonical = kernel.lowered.clean().unwrap().canonicalise().unwrap();
    canonical.profile(&launch, &RunOptions::default()).unwrap()
}

fn kernel(name: &str) -> String {
    std::fs::read_to_string(kernels().join(name)).unwrap()
}

#[test]
fn a_file_gives_back_what_was_counted() {
    let mut all = 0;
    let calls = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests/calls");
    for folder in [kernels(), calls] {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|e| e != "clif") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let text: String = text
                .lines()
                .map(|l| {
                    if l.starts_with("test ") {
                        "\n".to_owned()
                    } else {
                        format!("{l}\n")
                    }
                })
                .collect();
            let Ok(source) = Source::parse(&text, "f.clif", Syntax::Clif) else {
                continue;
            };
            let kernel = source
                .kernel(&Overrides::default(), &Options::default())
                .unwrap();
            let Ok(launch) = kernel.launch(path.parent().unwrap()) else {
                continue;
            };
            let canonical = kernel.lowered.clean().unwrap().canonicalise().unwrap();
            let run = RunOptions {
                step_limit: 1_000_000,
                ..RunOptions::default()
            };
            let Ok(canonical) = canonical.profile(&launch, &run) else {
                continue;
            };
            let file = canonical.profile_file(1).unwrap();
            let json = file.to_json();
            let again = ProfileFile::parse(&json, "p.json").unwrap();
            assert_eq!(again, file, "{}", path.display());
            let fresh = canonical.before().clone().canonicalise().unwrap();
            let restored = fresh.with_profile_files([("p.json", &again)]).unwrap();
            assert_eq!(restored.counts(), canonical.counts(), "{}", path.display());
            let settings = Settings::new(Machine::builtin("hopper").unwrap());
            let (a, b) = (canonical.convert(&settings), restored.convert(&settings));
            assert_eq!(
                a.unwrap().report(),
                b.unwrap().report(),
                "{}",
                path.display()
            );
            all += 1;
        }
    }
    assert!(all >= 25, "{all}");
}

/// The file of one launch decides about another; two add up.
#[test]
fn launches_add_up() {
    let text = kernel("clamp.clif");
    let (small, large) = (counted(&text, Some(32)), counted(&text, Some(64)));
    let files = [&small, &large].map(|c| c.profile_file(1).unwrap());
    assert_ne!(files[0], files[1]);
    let fresh = small.before().clone().canonicalise().unwrap();
    let both = fresh
        .with_profile_files([("a.json", &files[0]), ("b.json", &files[1])])
        .unwrap();
    let mut want = small.counts().unwrap().clone();
    want.merge(large.counts().unwrap());
    assert_eq!(both.counts(), Some(&want));
    // A file of both is itself one that fits.
    let merged = both.profile_file(2).unwrap();
    assert_eq!(merged.launches, 2);
    let again = large.with_profile_files([("c.json", &merged)]).unwrap();
    assert_eq!(again.counts(), Some(&want));
}

/// Lines, hints and what the launch decides change nothing; code does.
#[test]
fn a_file_fits_its_code() {
    let text = kernel("clamp.clif");
    let canonical = counted(&text, None);
    let file = canonical.profile_file(1).unwrap();
    let fits = |text: &str| {
        let source = Source::parse(text, "f.clif", Syntax::Clif).unwrap();
        let kernel = source
            .kernel(&Overrides::default(), &Options::default())
            .unwrap();
        let canonical = kernel.lowered.clean().unwrap().canonicalise().unwrap();
        let result = canonical.with_profile_files([("p.json", &file)]);
        result.map(|_| ()).map_err(|e| e.to_string())
    };
    assert_eq!(fits(&text), Ok(()));
    assert_eq!(fits(&format!("; another line\n{text}")), Ok(()));
    let line = text.lines().find(|l| l.contains("brif")).unwrap();
    let hinted = text.replacen(line, &format!("{line} ; warpfold: flatten"), 1);
    assert_eq!(fits(&hinted), Ok(()));
    let renamed = text.replace("%clamp", "%other");
    let complaint = fits(&renamed).unwrap_err();
    assert_eq!(
        complaint,
        "p.json: the profile does not fit: of %clamp, the kernel is %other"
    );
    let changed = text.replacen("sgt", "sge", 1);
    assert_ne!(changed, text);
    let complaint = fits(&changed).unwrap_err();
    assert!(
        complaint
            .starts_with("p.json: the profile does not fit: of other code of %clamp (fnv1a64:"),
        "{complaint}"
    );
}

const LOOP: &str = "\
;! block = 40
;! [[arg]]
;! varying = \"lane\"
;! [[arg]]
;! buffer = \"i32\"
;! len = 64
function %f(i32, i64) {
block0(v0: i32, v1: i64):
    v2 = iconst.i32 5
    v3 = icmp ult v0, v2
    brif v3, block1, block2
block1:
    store v0, v1
    jump block2
block2:
    store v2, v1+128
    return
}
";

#[test]
fn counts_that_cannot_be_are_refused() {
    let canonical = counted(LOOP, None);
    let json = canonical.profile_file(1).unwrap().to_json();
    let fresh = canonical.before().clone().canonicalise().unwrap();
    let compact: String = json.split_whitespace().collect();
    // Two warps, the second of 8 lanes: lanes 0 to 4 of each.
    for part in [
        r#""executions":2,"taken":[2,2],"splits":2,"lanes":[10,30]"#,
        r#"{"block":{"branch":null,"edge":0,"jumps":0},"passes":[2]}"#,
        r#"{"block":{"branch":{"inst":2,"line":11},"edge":0,"jumps":0},"passes":[2]}"#,
        r#""segment":0,"reached":2,"alive":2"#,
    ] {
        assert!(compact.contains(part), "{part}\n{compact}");
    }
    let errors = |from: &str, to: &str| -> Vec<String> {
        assert!(compact.contains(from), "{from}");
        let text = compact.replacen(from, to, 1);
        let file = match ProfileFile::parse(&text, "p.json") {
            Ok(file) => file,
            Err(e) => return vec![e.to_string()],
        };
        match fresh.clone().with_profile_files([("p.json", &file)]) {
            Ok(_) => Vec::new(),
            Err(e) => e
                .as_slice()
                .iter()
                .map(|e| e.message.replace("the profile does not fit: ", ""))
                .collect(),
        }
    };
    let branch = "the branch at inst2, line 11: ";
    for (from, to, complaint) in [
        ("\"executions\":2", "\"executions\":2", ""),
        (
            "\"taken\":[2,2]",
            "\"taken\":[3,2]",
            "edges taken do not fit the executions",
        ),
        (
            "\"taken\":[2,2]",
            "\"taken\":[1,0]",
            "edges taken do not fit the executions",
        ),
        (
            "\"taken\":[2,2]",
            "\"taken\":[2]",
            "not as many edges as it has",
        ),
        (
            "\"splits\":2",
            "\"splits\":1",
            "splits do not fit the edges taken",
        ),
        (
            "\"lanes\":[10,30]",
            "\"lanes\":[1,30]",
            "lanes do not fit the edges taken",
        ),
        (
            "\"lanes\":[10,30]",
            "\"lanes\":[65,30]",
            "lanes do not fit the edges taken",
        ),
        ("\"lanes\":[10,30]", "\"lanes\":[]", ""),
        (
            "\"reached\":2",
            "\"reached\":3",
            "counts inside do not fit its executions",
        ),
        (
            "\"alive\":2",
            "\"alive\":3",
            "counts inside do not fit its executions",
        ),
        (
            "\"segment\":0",
            "\"segment\":7",
            "a segment inside that is not there",
        ),
    ] {
        let got = errors(from, to);
        let want = match complaint {
            "" => vec![],
            text => vec![format!("{branch}{text}")],
        };
        assert_eq!(got, want, "{to}");
    }
    let cut = |from: &str, to: &str| errors(from, to).remove(0);
    assert_eq!(
        cut(
            "\"inst\":2,\"line\":11},\"executions\"",
            "\"inst\":9,\"line\":11},\"executions\""
        ),
        "the branch at inst9, line 11: the kernel has no such branch"
    );
    assert_eq!(
        cut("\"passes\":[2]", "\"passes\":[2,1]"),
        "the block at the entry: passes do not fit its 1 segments"
    );
    assert_eq!(
        cut("\"jumps\":0},\"passes\":[2]", "\"jumps\":4},\"passes\":[2]"),
        "the kernel has no block at the entry, 4 jumps on"
    );
    assert_eq!(
        cut(
            "\"edge\":0,\"jumps\":0},\"passes\":[2]},{\"block\":{\"branch\":{\"inst\":2,\"line\":11},\"edge\":0,\"jumps\":0},\"passes\":[2]}",
            "\"edge\":0,\"jumps\":0},\"passes\":[2]},{\"block\":{\"branch\":{\"inst\":2,\"line\":11},\"edge\":0,\"jumps\":0},\"passes\":[3]}"
        ),
        "the block behind edge 0 of inst2: more passes than ways in"
    );
    assert_eq!(
        cut("\"jumps\":0},\"passes\":[2]", "\"jumps\":0},\"passes\":[1]"),
        format!("{branch}more executions than passes of its block")
    );
    // The largest count passes; of larger ones prices could not be made.
    let entry = "\"jumps\":0},\"passes\":[2]";
    let passes = |n: u64| errors(entry, &entry.replace('2', &n.to_string()));
    assert_eq!(passes(MAX_COUNT), Vec::<String>::new());
    for n in [MAX_COUNT + 1, 1 << 63, u64::MAX] {
        let said = "a count of more than 1099511627776, too large to be priced";
        assert_eq!(passes(n), [format!("the block at the entry: {said}")]);
    }
    let executions = |n: u64| cut("\"executions\":2", &format!("\"executions\":{n}"));
    let said = "a count of more than 1099511627776, too large to be priced";
    assert_eq!(executions(1 << 62), format!("{branch}{said}"));
    assert_eq!(
        cut("\"version\":1", "\"version\":2"),
        "p.json: a profile of version 2; this is for version 1"
    );
    assert_eq!(
        cut("\"launches\":1", "\"launches\":-1"),
        "p.json:1:75: no profile: invalid value: integer `-1`, expected u64"
    );
    assert_eq!(
        cut("\"launches\":1", "\"launches\":1,\"x\":1"),
        "p.json:1:78: no profile: unknown field `x`, expected one of `version`, `function`, `code`, `launches`, `branches`, `blocks`, `regions`, `callees`"
    );
    assert!(
        cut("{\"version\"", "[\"version\"").starts_with("p.json:1:"),
        "not an object"
    );
}

#[test]
fn a_choice_that_cannot_be_is_refused() {
    let canonical = counted(LOOP, None);
    let mut settings = Settings::new(Machine::builtin("unit").unwrap());
    let all = canonical.choices(&settings, 16).unwrap();
    for choice in all {
        settings.choice = Some(choice);
        canonical.clone().convert(&settings).unwrap();
    }
    let mut choice = Choice::default();
    choice
        .straight
        .insert(Block::from_u32(4_000_000_000), vec![true]);
    settings.choice = Some(choice);
    let errors = canonical.convert(&settings).unwrap_err();
    assert_eq!(
        errors.to_string(),
        "f.clif: the choice does not fit: block4000000000 heads no region"
    );
}
