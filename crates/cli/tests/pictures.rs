//! Pictures and the timing model on the command line.

mod support;

use serde_json::Value;
use support::{CLAMP, scratch, warpfold};

#[test]
fn pictures_are_written_beside_the_report() {
    let (lanes, text, graph) = (scratch("p.svg"), scratch("p.txt"), scratch("g.svg"));
    let report = warpfold(&["run", CLAMP]).ok();
    let drawn = warpfold(&["run", "--timeline", &lanes, "--cfg", &graph, CLAMP]).ok();
    assert_eq!(drawn, report, "pictures do not change the report");
    for file in [&lanes, &graph] {
        let svg = std::fs::read_to_string(file).unwrap();
        assert!(svg.starts_with("<svg "), "{file}");
        for part in [">before", ">after", "%clamp: 2 blocks of 64 threads"] {
            assert!(svg.contains(part), "{file}: {part}");
        }
    }
    warpfold(&["exec", "--timeline", &text, CLAMP]).ok();
    let raster = std::fs::read_to_string(&text).unwrap();
    assert!(raster.starts_with("timeline %clamp: 2 blocks of 64 threads\n"));
    assert!(raster.contains("\nexec: 21 issues\n"), "{raster}");
}

#[test]
fn what_is_no_place_for_a_picture_is_refused_before_anything_runs() {
    for (args, message) in [
        (
            &["run", "--timeline", "lanes.clif", CLAMP][..],
            "error: --timeline: `lanes.clif` is no place for a timeline: \
             expected `FILE.svg`, `FILE.txt` or `-`",
        ),
        (
            &["exec", "--cfg", "graph.png", CLAMP],
            "error: --cfg: `graph.png` is no place for a graph: expected `FILE.svg`",
        ),
        (
            &["run", "--cfg", "-", CLAMP],
            "error: --cfg: `-` is no place for a graph: expected `FILE.svg`",
        ),
    ] {
        let out = warpfold(args);
        assert_eq!(out.status, 2, "{args:?}");
        assert_eq!(out.stderr.trim_end(), message);
        assert_eq!(out.stdout, "");
    }
    let out = warpfold(&["run", "--timeline", "no/such/folder/x.svg", CLAMP]);
    assert_eq!(out.status, 2);
    let start = "error: no/such/folder/x.svg: cannot write: ";
    assert!(out.stderr.starts_with(start), "{}", out.stderr);
}

#[test]
fn times_stand_beside_counters() {
    let args = ["run", "--timing", "--machine", "hopper", "--format", "json"];
    let doc: Value = serde_json::from_str(&warpfold(&[&args[..], &[CLAMP]].concat()).ok()).unwrap();
    for run in doc["runs"].as_array().unwrap() {
        let time = |name: &str| run["timing"][name].as_u64().unwrap();
        assert_eq!(time("issued"), run["counters"]["inst_executed"]);
        let slots = time("issue_active") + time("no_eligible") + time("no_warp");
        assert_eq!(time("schedulers") * time("cycles"), slots);
    }
    let text = warpfold(&["exec", "--timing", "--launch-overhead", "500", CLAMP]).ok();
    let head = "timing model: 4 schedulers, room for 64 warps, launch overhead 500 cycles\n";
    assert!(text.contains(head), "{text}");
    let cycles = |args: &[&str]| -> u64 {
        let text = warpfold(&[&["exec", "--timing"], args, &[CLAMP]].concat()).ok();
        let line = text.lines().find(|l| l.starts_with("cycles ")).unwrap();
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    let plain = cycles(&[]);
    assert_eq!(cycles(&["--launch-overhead", "500"]), plain + 500);
    assert!(cycles(&["--loads-from", "dram"]) > plain + 200);
    assert!(
        cycles(&["--resident-warps", "2"]) > plain,
        "one block at a time"
    );
}

#[test]
fn a_model_that_cannot_be_is_refused() {
    for (args, status, message) in [
        (
            &["exec", "--timing", "--machine", "unit"][..],
            2,
            "error: --timing: machine `unit` does not state `timing`, which the timing model needs",
        ),
        (
            &["exec", "--timing", "--resident-warps", "1"],
            2,
            "error: tests/kernels/clamp.clif: %clamp: launch: a block of 2 warps; the timing \
             model has room for 1",
        ),
    ] {
        let out = warpfold(&[args, &[CLAMP]].concat());
        assert_eq!(out.status, status, "{args:?} {}", out.stderr);
        assert_eq!(out.stderr.trim_end(), message);
    }
    let out = warpfold(&["exec", "--launch-overhead", "5", CLAMP]);
    assert_eq!(out.status, 2);
    assert!(out.stderr.contains("--timing"), "{}", out.stderr);
}
