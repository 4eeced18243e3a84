//! What the book's page on timing lists is what reports say.

use std::path::Path;

use warpfold::exec::timing::{LoadLevel, MAX_STEPS, TimingModel};
use warpfold::launch::Overrides;
use warpfold::machine::{MACHINES, Machine};
use warpfold::{Options, RunOptions, Source, Syntax, render};

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/timing.md");
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn figures_are_those_of_reports() {
    let text = ";! block = 64\n;! grid = 3\nfunction %f() {\nblock0:\n    return\n}";
    let kernel = Source::parse(text, "f.clif", Syntax::Clif)
        .and_then(|s| s.kernel(&Overrides::default(), &Options::default()))
        .unwrap();
    let launch = kernel.launch(Path::new(".")).unwrap();
    let machine = Machine::builtin("hopper").unwrap();
    let run = RunOptions {
        timing: Some(TimingModel::new(&machine, LoadLevel::L1).unwrap()),
        ..RunOptions::default()
    };
    let func = kernel.lowered.func();
    let outcome = kernel.lowered.execute(func, &launch, &run).unwrap();
    let shape = (launch.grid, launch.block);
    let doc = render::executed(&kernel.lowered, func, &outcome, shape, &machine);
    let timing = doc.runs[0].timing.as_ref().unwrap();
    let names: Vec<&str> = timing.figures.0.iter().map(|(n, _)| n.as_str()).collect();
    let page = page();
    let rows = page.lines().filter_map(|l| l.strip_prefix("| `"));
    let told: Vec<&str> = rows.filter_map(|r| r.split('`').next()).collect();
    assert_eq!(told, names);
    // Six warps of one return, on four schedulers: one or two each.
    let figure = |name| timing.figures.get(name).unwrap().to_string();
    assert_eq!(figure("cycles"), "5");
    assert_eq!(figure("issued"), "6");
    assert_eq!(figure("ipc"), "1.200");
    assert_eq!(figure("issue_utilization"), "30.00");
    assert_eq!(figure("warp_not_selected"), "2");
    assert_eq!(timing.resident_blocks, 3);
    assert_eq!(timing.assumed, ["ctl"]);
}

#[test]
fn machines_and_limits_are_the_codes() {
    let page = page();
    for row in MACHINES {
        let timed = TimingModel::new(&row.machine(), LoadLevel::Dram).is_ok();
        assert_eq!(
            timed,
            page.contains(&format!("`{}`", row.name)),
            "{}",
            row.name
        );
    }
    assert_eq!(MAX_STEPS, 33_554_432);
    assert!(page.contains("33,554,432"));
}
