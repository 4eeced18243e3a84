//! What each command does, on a real kernel.

mod support;

use serde_json::Value;
use support::{CLAMP, scratch, warpfold, warpfold_on};

fn json(args: &[&str]) -> Value {
    let text = warpfold(args).ok();
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["version"], 1, "{args:?}");
    value
}

#[test]
fn run_reports_decisions_and_counters() {
    let text = warpfold(&["run", CLAMP]).ok();
    let mut lines = text.lines();
    let title = lines.next().unwrap();
    assert!(
        title.starts_with("clamp on ampere (b 3.5 proven, 5.5 agreed, 6 split)"),
        "{title}"
    );
    assert!(
        title.ends_with(": 2 blocks of 64 threads, 4 warps"),
        "{title}"
    );
    let verdict = lines.next().unwrap();
    assert!(verdict.starts_with("same before and after: "), "{verdict}");
    for row in [
        "37: brif",
        "46: brif",
        "inst_executed ",
        "divergent_branch ",
        "cost ",
    ] {
        assert!(text.lines().any(|l| l.starts_with(row)), "{row}");
    }
    assert!(text.contains("\ncost on ampere: predicted "), "{text}");
}

#[test]
fn run_json_joins_predictions_and_measurements() {
    let doc = json(&["run", "--no-cleanup", "--format", "json", CLAMP]);
    assert_eq!(doc["command"], "run");
    assert_eq!(doc["file"], CLAMP);
    assert_eq!(doc["function"], "clamp");
    assert_eq!(doc["sameness"]["verdict"], "same");
    let branches = doc["branches"].as_array().unwrap();
    assert_eq!(branches.len(), 2);
    let mut sum = doc["cost"]["outside"].as_f64().unwrap();
    for b in branches {
        assert_eq!(b["predicted"], b["measured"], "{b}");
        sum += b["measured"].as_f64().unwrap();
    }
    assert_eq!(doc["cost"]["predicted"], doc["cost"]["after"]);
    assert_eq!(doc["cost"]["predicted_kept"], doc["cost"]["kept"]);
    assert_eq!(doc["cost"]["after"].as_f64().unwrap(), sum);
    let versions: Vec<_> = doc["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| &r["version"])
        .collect();
    assert_eq!(versions, ["before", "kept", "after"]);
    // 32 lanes an issue, each on or lost to one of four things.
    for run in doc["runs"].as_array().unwrap() {
        let n = |name: &str| run["counters"][name].as_u64().unwrap();
        let lost = ["partial", "exited", "diverged", "predicated"].map(|l| n(&format!("lost_{l}")));
        assert_eq!(
            32 * n("inst_executed"),
            n("thread_inst_executed_pred_on") + lost.iter().sum::<u64>()
        );
        assert_eq!(
            run["counters"]["cost"],
            doc["cost"][run["version"].as_str().unwrap()]
        );
    }
}

#[test]
fn forced_forms_are_obeyed_and_said() {
    for (form, outcome) in [
        ("branch", "branch"),
        ("straight", "straight"),
        ("predicate", "straight"),
    ] {
        let doc = json(&["run", "--force", form, "--format", "json", CLAMP]);
        let head = &doc["branches"][0];
        assert_eq!(head["outcome"], outcome, "{form}");
        assert_eq!(doc["settings"]["force"], form);
        assert_eq!(doc["sameness"]["verdict"], "same");
    }
    let text = warpfold(&["run", "--force", "branch", CLAMP]).ok();
    assert!(text.contains("forced: branch"));
}

#[test]
fn machines_change_decisions_costs_and_nothing_else() {
    let on = |machine: &str| {
        json(&[
            "run",
            "--force",
            "branch",
            "--machine",
            machine,
            "--format",
            "json",
            CLAMP,
        ])
    };
    let (unit, textbook) = (on("unit"), on("textbook"));
    assert_eq!(unit["machine"]["name"], "unit");
    let counter = |doc: &Value, name: &str| doc["runs"][0]["counters"][name].as_u64().unwrap();
    assert_eq!(
        counter(&unit, "inst_executed"),
        counter(&textbook, "inst_executed")
    );
    assert_eq!(
        unit["cost"]["before"],
        unit["runs"][0]["counters"]["inst_executed"]
    );
    // textbook: branches and jumps cost nothing, b is 5.
    let free = counter(&textbook, "issue_branch") + counter(&textbook, "issue_jump");
    let want = counter(&textbook, "inst_executed") - free + 5 * counter(&textbook, "branch");
    assert_eq!(textbook["cost"]["before"].as_u64().unwrap(), want);
}

#[test]
fn a_machine_of_ones_own() {
    let path = scratch("mine.toml");
    let toml = warpfold(&["machines", "hopper"]).ok();
    std::fs::write(&path, toml.replace("name = \"hopper\"", "name = \"mine\"")).unwrap();
    let doc = json(&["explain", "--machine", &path, "--format", "json", CLAMP]);
    assert_eq!(doc["machine"]["name"], "mine");
    assert_eq!(
        warpfold(&["machines", &path]).ok(),
        std::fs::read_to_string(&path).unwrap()
    );
}

#[test]
fn machines_are_listed_with_b_and_its_source() {
    let text = warpfold(&["machines"]).ok();
    for name in [
        "unit",
        "textbook",
        "pascal",
        "ampere",
        "hopper",
        "blackwell",
    ] {
        assert!(text.lines().any(|l| l.starts_with(name)), "{name}");
        assert!(text.contains(&format!("{name} branch.proven = ")), "{name}");
    }
}

#[test]
fn explain_gives_reasons_without_running() {
    // No argument is needed: nothing runs.
    let text = "function %f(i64, i32) {\nblock0(v0: i64, v1: i32):\n    brif v1, block1, block2\nblock1:\n    store v1, v0\n    jump block2\nblock2:\n    store v1, v0+4\n    return\n}\n";
    let out = warpfold_on(&["explain", "-"], text.as_bytes()).ok();
    assert!(out.starts_with("f on ampere"), "{out}");
    for line in [
        "3: brif, a triangle that ends at block2",
        "  uniform    across the grid",
        "  branch     ",
        "  straight   ",
        "  decision   ",
    ] {
        assert!(out.lines().any(|l| l.starts_with(line)), "{line}\n{out}");
    }
    let profiled = warpfold(&["explain", "--measure", CLAMP]).ok();
    assert!(profiled.contains("(from profile)"), "{profiled}");
}

#[test]
fn a_file_without_branches_says_so() {
    let text = "function %f() {\nblock0:\n    return\n}\n";
    for command in ["run", "explain"] {
        let out = warpfold_on(&[command, "-"], text.as_bytes()).ok();
        assert!(
            out.contains("The kernel has no conditional branch."),
            "{out}"
        );
    }
}

/// The branches of a callee that stays are not the kernel's.
#[test]
fn branches_of_callees_are_not_the_kernels() {
    let text = "function %main(i32) -> i32 {
    fn0 = %down(i32) -> i32
block0(v0: i32):
    v1 = call fn0(v0)
    return v1
}
function %down(i32) -> i32 {
    fn0 = %down(i32) -> i32
block0(v0: i32):
    brif v0, block1, block2
block1:
    v1 = iconst.i32 1
    v2 = isub v0, v1
    v3 = call fn0(v2)
    return v3
block2:
    return v0
}
";
    let out = warpfold_on(&["explain", "-"], text.as_bytes()).ok();
    let want = "no conditional branch of its own; the one of a function that it calls stays.";
    assert!(out.contains(want), "{out}");
    let out = warpfold_on(&["explain", "--format", "json", "-"], text.as_bytes()).ok();
    let doc: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(doc["branches_called"], 1);
}

#[test]
fn opt_as_json_has_the_code_and_how_it_came_about() {
    let text = warpfold(&["opt", "--measure", CLAMP]).ok();
    let doc = json(&["opt", "--measure", "--format", "json", CLAMP]);
    assert_eq!(doc["version"], 1);
    assert_eq!(doc["command"], "opt");
    assert_eq!(doc["code"], text);
    let explained = json(&["explain", "--measure", "--format", "json", CLAMP]);
    for part in ["branches", "cost", "settings", "machine"] {
        assert!(!doc[part].is_null(), "{part}");
        assert_eq!(doc[part], explained[part], "{part}");
    }
    let stages = doc["stages"].as_array().unwrap();
    let column = |key: &str| stages.iter().map(|s| s[key].clone()).collect::<Vec<_>>();
    assert_eq!(
        column("name"),
        ["written", "before", "canonical", "converted"]
    );
    assert_eq!(column("branches"), [2, 2, 2, 0]);
    assert_eq!(stages[0]["passes"], Value::Array(Vec::new()));
    assert_eq!(stages[2]["passes"][0], "hoist");
    assert_eq!(stages[3]["passes"][0], "ifconv");
    let blocks = text.matches("\nblock").count();
    assert_eq!(stages[3]["blocks"], blocks);
    let raw = json(&["opt", "--no-cleanup", "--format", "json", CLAMP]);
    assert_eq!(raw["stages"][3]["passes"].as_array().unwrap().len(), 1);
    assert!(raw["stages"][3]["instructions"].as_u64() >= stages[3]["instructions"].as_u64());
}

#[test]
fn opt_prints_ir_that_every_command_reads() {
    let path = scratch("clamp.wf");
    assert_eq!(warpfold(&["opt", "--measure", "-o", &path, CLAMP]).ok(), "");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("function %clamp(i64, i64) {"), "{text}");
    assert!(!text.contains(" br "), "{text}");
    // It carries its launch, and does what the report says it does.
    let exec = json(&["exec", "--format", "json", &path]);
    let run = json(&["run", "--format", "json", CLAMP]);
    assert_eq!(exec["runs"][0]["counters"], run["runs"][2]["counters"]);
    // Nothing is left to convert, and printing it again changes nothing.
    assert_eq!(warpfold(&["opt", "--measure", &path]).ok(), text);
    assert!(
        warpfold(&["run", &path])
            .ok()
            .contains("same before and after")
    );
    assert!(warpfold(&["uniformity", &path]).ok().contains("stride"));
}

#[test]
fn exec_runs_the_kernel_as_written() {
    let doc = json(&["exec", "--format", "json", CLAMP]);
    let run = &doc["runs"][0];
    assert_eq!(run["version"], "exec");
    assert_eq!(run["ending"], "finished");
    let branches = run["branches"].as_array().unwrap();
    assert_eq!(branches.len(), 2);
    assert_eq!(branches[0]["origin"]["line"], 37);
    assert_eq!(branches[0]["executions"], 4);
    assert_eq!(run["counters"]["branch"], 8);
    let before = json(&["exec", "--stage", "before", "--format", "json", CLAMP]);
    let full = json(&["run", "--format", "json", CLAMP]);
    assert_eq!(before["runs"][0]["counters"], full["runs"][0]["counters"]);
}

#[test]
fn a_launch_from_the_command_line() {
    let text = "function %f(i32, i64) -> i32 {\nblock0(v0: i32, v1: i64):\n    v2 = load.i32 v1\n    v3 = iadd v0, v2\n    return v3\n}\n";
    let args = [
        "exec",
        "--grid",
        "3",
        "--block",
        "8,5",
        "--arg",
        "lane",
        "--arg",
        "buf:i32:1:7",
        "--format",
        "json",
        "-",
    ];
    let doc: Value = serde_json::from_str(&warpfold_on(&args, text.as_bytes()).ok()).unwrap();
    assert_eq!(doc["launch"]["grid"], serde_json::json!([3, 1, 1]));
    assert_eq!(doc["launch"]["block"], serde_json::json!([8, 5, 1]));
    let counters = &doc["runs"][0]["counters"];
    // Three blocks of two warps, the second with 8 lanes; load, add, ret.
    assert_eq!(counters["inst_executed"], 18);
    assert_eq!(counters["thread_inst_executed"], 3 * 40 * 3);
    assert_eq!(counters["lost_partial"], 3 * 24 * 3);
}

#[test]
fn traps_are_counted_and_placed() {
    let text = ";! block = 32\n;! [[arg]]\n;! varying = \"lane % 4\"\nfunction %f(i32) -> i32 {\nblock0(v0: i32):\n    v1 = iconst.i32 12\n    v2 = udiv v1, v0\n    return v2\n}\n";
    for command in ["run", "exec"] {
        let out = warpfold_on(&[command, "-"], text.as_bytes()).ok();
        let row = out
            .lines()
            .find(|l| l.starts_with("int_divz"))
            .expect("the trap");
        let words: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(
            words[..6],
            ["int_divz", "line", "7", "8", "block", "0"],
            "{row}"
        );
    }
}

#[test]
fn timelines_show_lanes() {
    let text = ";! [[arg]]\n;! varying = \"lane < 4\"\nfunction %f(i32) {\nblock0(v0: i32):\n    brif v0, block1, block2\nblock1:\n    jump block2\nblock2:\n    return\n}\n";
    let out = warpfold_on(&["exec", "--timeline", "-", "-"], text.as_bytes()).ok();
    let rows: Vec<&str> = out.lines().filter(|l| l.starts_with("    block")).collect();
    assert_eq!(rows.len(), 3, "{out}");
    assert!(
        rows[1].contains(&format!("████{}  ", "·".repeat(28))),
        "{out}"
    );
    assert!(rows[1].ends_with(" 4 lanes  1 issue"), "{out}");
    assert!(rows[2].contains(&"█".repeat(32)), "{out}");
    let doc = json(&["run", "--timeline", "-", "--format", "json", CLAMP]);
    let first = &doc["runs"][0]["timeline"][0];
    assert_eq!(first["block"], "block0");
    assert_eq!(first["mask"], "0xffffffff");
}

#[test]
fn uniformity_annotates_values_and_branches() {
    let text = warpfold(&["uniformity", CLAMP]).ok();
    assert!(text.starts_with("function %clamp(i64, i64) {"), "{text}");
    let branch = text
        .lines()
        .find(|l| l.trim_start().starts_with("br "))
        .unwrap();
    assert!(branch.contains("; divergent"), "{branch}");
    let doc = json(&["uniformity", "--format", "json", CLAMP]);
    let entry = &doc["blocks"][0];
    assert_eq!(entry["branch"]["line"], 37);
    assert_eq!(entry["branch"]["splits"], true);
    assert!(entry["branch"]["reason"].is_string());
    assert!(doc["blocks"][0]["values"].as_array().unwrap().len() > 10);
    let differs = entry["values"].as_array().unwrap().iter();
    let differs = differs.filter(|v| v["scope"] == "lane");
    for v in differs {
        assert_eq!(v["cause"]["subject"], v["value"], "{v}");
        assert!(
            v["cause"]["kind"].is_string() && v["reason"].is_string(),
            "{v}"
        );
    }
}

/// The last round's count of a loop that lanes leave one by one.
const LEFT: &str = "\
;! block = 64
function %left(i32) {
block0(v0: i32):
    v1 = const.i32 1
    v2 = tid_x
    jump block1(v1)

block1(v3: i32):
    v4 = iadd.i32 v3, v1
    v5 = icmp.i32 ult v4, v2
    br v5, block1(v4), block2

block2:
    v6 = iadd.i32 v4, v0
    exit if v5
    jump block3

block3:
    ret
}
";

fn left(name: &str) -> String {
    let path = scratch(name);
    std::fs::write(&path, LEFT).unwrap();
    path
}

#[test]
fn why_follows_the_chain() {
    let path = left("why.wf");
    let why = |what: &str| warpfold(&["uniformity", "--why", what, &path]).ok();
    let branch = "  the branch of block1 depends on v5\n  v5 depends on v2\n  \
                  v2 is tid_x, which differs between lanes\n";
    assert_eq!(
        why("v6"),
        format!(
            "v6: lane\n  v6 depends on v4, which varies in the loop at block1 that lanes leave \
             one by one at block1\n{branch}"
        )
    );
    assert_eq!(
        why("v4"),
        "v4: uniform(grid)\n  the lanes of a warp agree\n"
    );
    assert_eq!(
        why("v4@block2"),
        format!(
            "v4 at block2: lane\n  v4 depends on v4, which varies in the loop at block1 that lanes \
             leave one by one at block1\n{branch}"
        )
    );
    assert_eq!(
        why("block1"),
        format!("block1: runs per lane, its branch is lane\n{branch}")
    );
    assert_eq!(
        why("block3"),
        "block3: runs per lane\n  block3 runs without lanes that may have left in block2\n"
    );
    assert_eq!(
        why("block0"),
        "block0: runs per grid\n  the lanes of a warp agree\n"
    );

    let doc = json(&["uniformity", "--why", "v6", "--format", "json", &path]);
    assert_eq!(doc["version"], 1);
    assert_eq!(doc["subject"], "v6");
    assert_eq!(doc["claim"], "lane");
    let chain = doc["chain"].as_array().unwrap();
    let kinds: Vec<&str> = chain.iter().map(|s| s["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["temporal", "operand", "operand", "source"]);
    assert_eq!(chain[0]["next"], "block1");
    assert_eq!(chain[2]["next"], "v2");
    assert!(chain[3]["next"].is_null());

    let doc = json(&["uniformity", "--format", "json", &path]);
    let block2 = &doc["blocks"][2];
    assert_eq!(block2["here"][0]["value"], "v4");
    assert_eq!(block2["here"][0]["cause"]["kind"], "temporal");
    assert_eq!(doc["blocks"][3]["live_scope"], "grid");
    assert_eq!(doc["blocks"][3]["cause"]["kind"], "left");
    assert_eq!(doc["blocks"][0]["values"][2]["stride"], 1);
}

#[test]
fn why_refuses_what_is_not_there() {
    let path = left("why-not.wf");
    for (what, want) in [
        (
            "v7",
            "there is no `v7` in %left; its values are v0, v1, v2, v3, v4, v5, v6",
        ),
        (
            "block9",
            "there is no `block9` in %left; its blocks are block0, block1, block2, block3",
        ),
        ("v4@block9", "there is no `block9`"),
        ("v4@v3", "`v3` is neither a value"),
        (
            "x",
            "`x` is neither a value like `v3`, `v3@block1`, nor a block like `block1`",
        ),
        ("v", "`v` is neither"),
        ("v01", "`v01` is neither"),
        ("block", "`block` is neither"),
        ("v99999999999", "`v99999999999` is neither"),
        ("", "`` is neither"),
    ] {
        let error = warpfold(&["uniformity", "--why", what, &path]).error(2);
        assert!(error.contains(want), "{error}");
    }
}

#[test]
fn twice_the_same_bytes() {
    for args in [
        &["run", "--timeline", "-", CLAMP][..],
        &[
            "run",
            "--timeline",
            "-",
            "--timing",
            "--format",
            "json",
            CLAMP,
        ],
        &["explain", "--format", "json", CLAMP],
        &["opt", CLAMP],
        &["uniformity", "--format", "json", CLAMP],
        &["exec", "--format", "json", "tests/kernels/collatz.clif"],
    ] {
        assert_eq!(warpfold(args).ok(), warpfold(args).ok(), "{args:?}");
    }
}

#[test]
fn colour_only_where_asked_for() {
    for args in [
        &["run", CLAMP][..],
        &["explain", CLAMP],
        &["uniformity", CLAMP],
        &["machines"],
    ] {
        let plain = warpfold(args).ok();
        assert!(!plain.contains('\u{1b}'), "{args:?}");
        let mut always = vec!["--color", "always"];
        always.splice(0..0, args.iter().copied());
        let colored = warpfold(&always).ok();
        assert!(colored.contains("\u{1b}["), "{args:?}");
        let mut stripped = String::new();
        let mut rest = colored.as_str();
        while let Some((before, after)) = rest.split_once('\u{1b}') {
            stripped.push_str(before);
            rest = after.split_once('m').unwrap().1;
        }
        stripped.push_str(rest);
        assert_eq!(stripped, plain, "{args:?}");
    }
}

#[test]
fn output_goes_to_a_file() {
    let path = scratch("report.txt");
    assert_eq!(warpfold(&["run", "-o", &path, CLAMP]).ok(), "");
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        warpfold(&["run", CLAMP]).ok()
    );
}

/// Every kernel of the repository goes all the way, on every machine.
#[test]
fn every_kernel_runs_the_same() {
    let mut kernels: Vec<String> = std::fs::read_dir(support::root().join("tests/kernels"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .filter(|n| n.ends_with(".clif"))
        .collect();
    kernels.sort();
    assert!(kernels.len() >= 14, "{kernels:?}");
    for (i, kernel) in kernels.iter().enumerate() {
        let machine = [
            "unit",
            "textbook",
            "pascal",
            "ampere",
            "hopper",
            "blackwell",
        ][i % 6];
        let path = format!("tests/kernels/{kernel}");
        let doc = json(&[
            "run",
            "--machine",
            machine,
            "--no-cleanup",
            "--format",
            "json",
            &path,
        ]);
        assert_eq!(doc["sameness"]["verdict"], "same", "{kernel}");
        assert_eq!(
            doc["cost"]["predicted"], doc["cost"]["after"],
            "{kernel} on {machine}"
        );
        for b in doc["branches"].as_array().unwrap() {
            assert_eq!(
                b["predicted"].as_f64().unwrap_or(0.0),
                b["measured"].as_f64().unwrap(),
                "{kernel} on {machine}: {b}"
            );
        }
    }
}

/// What `opt` prints is read from a pipe without being told what it is.
#[test]
fn converted_code_goes_through_a_pipe() {
    let converted = warpfold(&["opt", CLAMP]).ok();
    let piped = warpfold_on(&["exec", "-"], converted.as_bytes()).ok();
    let told = warpfold_on(&["exec", "--syntax", "wf", "-"], converted.as_bytes()).ok();
    assert_eq!(piped, told);
    // Told otherwise, it is taken for that.
    let ran = warpfold_on(&["exec", "--syntax", "clif", "-"], converted.as_bytes());
    assert_eq!(ran.status, 2, "{}", ran.stderr);
}

#[test]
fn seeds_decide_what_is_drawn() {
    let run = |seed: &str| {
        let arg = "0=buf:i32:128:random(-100, 200):ro";
        warpfold(&["exec", "--seed", seed, "--arg", arg, CLAMP]).ok()
    };
    assert_eq!(run("1"), run("1"));
    assert_ne!(run("1"), run("2"));
}

/// Counts that are assumed make prices of another size than a launch's.
#[test]
fn assumed_prices_do_not_stand_beside_measured_ones() {
    let text = warpfold(&["run", "--no-profile", CLAMP]).ok();
    assert!(text.contains("measured is the launch\n"), "{text}");
    let row = text.lines().find(|l| l.starts_with("37: brif")).unwrap();
    let [.., predicted, measured] = row.split_whitespace().collect::<Vec<_>>()[..] else {
        panic!("{row}");
    };
    assert_eq!((predicted, measured), ("·", "8"));
}

#[test]
fn a_branch_priced_with_another_shows_no_cost_of_its_own() {
    let kernel = "tests/kernels/short_circuit.clif";
    let text = warpfold(&["run", "--force", "straight", kernel]).ok();
    let row = text.lines().find(|l| l.starts_with("49: brif")).unwrap();
    assert!(row.ends_with('·') && !row.contains(" 0 "), "{row}");
    let why = "straight, decided with line 44";
    assert!(text.contains(&format!("\n49: brif  {why}\n")), "{text}");
}

/// Straight code that is cheaper at any overhead has no break-even.
#[test]
fn a_break_even_that_cannot_be_is_null() {
    let doc = json(&["explain", "--format", "json", CLAMP]);
    assert_eq!(doc["branches"][0]["break_even_b"], Value::Null);
    let text = warpfold(&["explain", CLAMP]).ok();
    assert!(text.contains("\n  break-even none: "), "{text}");
    let parity = "tests/kernels/parity_warp.clif";
    let doc = json(&["explain", "--format", "json", parity]);
    assert_eq!(doc["branches"][0]["break_even_b"], 48);
}

#[test]
fn machines_as_json() {
    let all = json(&["machines", "--format", "json"]);
    let list = all["machines"].as_array().unwrap();
    assert!(list.len() >= 6, "{}", list.len());
    let one = json(&["machines", "--format", "json", "ampere"]);
    let [ampere] = one["machines"].as_array().unwrap().as_slice() else {
        panic!("{one}");
    };
    assert!(list.contains(ampere));
    assert_eq!(ampere["name"], "ampere");
    assert_eq!(ampere["b_split"], 6);
    let mut sources = ampere["sources"].as_array().unwrap().iter();
    let split = sources.find(|s| s["name"] == "branch.split").unwrap();
    assert_eq!(split["value"], "6");
    assert!(!split["source"].as_str().unwrap().is_empty());
}

#[test]
fn one_lane_and_many_times() {
    let text = warpfold(&[
        "exec",
        "--timeline",
        "-",
        "--grid",
        "1",
        "--block",
        "1",
        CLAMP,
    ])
    .ok();
    assert!(text.contains("   1 lane   1 issue\n"), "{text}");
    let text = warpfold(&["explain", CLAMP]).ok();
    assert!(text.contains("overhead 393216 (65536 times) + "), "{text}");
    let none = "tests/kernels/clamp_branchless.clif";
    let text = warpfold(&["explain", "--force", "straight", none]).ok();
    let what = "`straight` had no effect: no branch had a choice";
    assert!(text.contains(what), "{text}");
}
