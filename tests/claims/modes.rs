//! What the literature says of independent thread scheduling: that it changes
//! nothing, but for lanes that wait for each other.

use std::path::Path;

use warpfold_testkit::filetest::{Output, Registry, Runner, test_files};

use crate::{folder, num, text};

/// Facts that one of the modes does not have.
const OF_ONE_MODE: &[&str] = &[
    "pushes",
    "depth",
    "depths",
    "deepest",
    "joins_on_time",
    "joins_deferred",
    "joins_early",
    "barrier_depth",
];

/// Files that state their mode, and those that a mode makes differ.
fn has_a_mode(name: &str) -> bool {
    name.ends_with("-its") || name.ends_with("-stack")
}

/// The facts of a file's launch in the other mode.
fn its(path: &Path) -> Output {
    let text = std::fs::read_to_string(path).unwrap();
    let first = text.lines().next().unwrap();
    assert!(first.starts_with("test exec"), "{first}");
    let changed = text.replacen(first, &format!("{first} mode=its"), 1);
    let name = path.file_name().unwrap();
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&copy, changed).unwrap();
    Runner::new(Registry::builtin()).output(&copy).unwrap()
}

/// C-75: how deep convergence barriers nest in a run without yields.
fn nesting(name: &str, divergent: u64) -> u64 {
    match name {
        "c24-orthogonal" | "c27-d-2" | "c28-d-2" => 2,
        "c77-return-in-an-arm-default" | "c81-mixed" => 2,
        "c27-d-3" => 3,
        "c27-d-4" => 4,
        "c27-d-5" => 5,
        // No branch has a join.
        "c77-return-in-an-arm-cfg" => 0,
        _ => divergent.min(1),
    }
}

#[test]
fn c75_c77_c78_modes_agree_where_no_lane_waits_for_another() {
    let mut compared = 0;
    for path in test_files(&folder()).unwrap() {
        let name = path.file_stem().unwrap().to_str().unwrap();
        if has_a_mode(name) {
            continue;
        }
        let stack = Runner::new(Registry::builtin()).output(&path).unwrap();
        let its = its(&path);
        let common = |output: &Output| -> Vec<(String, String)> {
            let facts = output.facts.iter();
            let both = facts.filter(|f| !OF_ONE_MODE.contains(&f.key.as_str()));
            both.map(|f| (f.key.clone(), f.value.clone())).collect()
        };
        assert_eq!(common(&its), common(&stack), "{name}");
        compared += 1;
        if stack.get("error").is_some() {
            continue;
        }
        let count =
            |output: &Output, key: &str| -> u64 { output.get(key).unwrap().parse().unwrap() };
        let divergent = count(&stack, "divergent");
        assert_eq!(
            count(&its, "barrier_depth"),
            nesting(name, divergent),
            "{name}"
        );
        // Each side entry is pushed for a barrier; nobody yields.
        assert_eq!(count(&its, "pushes") + count(&its, "depth"), 0, "{name}");
        assert_eq!(
            count(&its, "joins_early") + count(&its, "yields"),
            0,
            "{name}"
        );
    }
    assert!(compared >= 120, "{compared}");
}

#[test]
fn c74_releases_at_the_join_deferred_and_early() {
    // Both barriers of an early return are released before the textbook's join.
    let deferred = |name: &str| -> (u64, u64) {
        let its = its(&folder().join(format!("{name}.wf")));
        let count = |key: &str| its.get(key).unwrap().parse().unwrap();
        (count("joins_on_time"), count("joins_deferred"))
    };
    assert_eq!(deferred("c77-return-in-an-arm-default"), (0, 2));
    assert_eq!(deferred("c43-guard"), (0, 1));
    assert_eq!(deferred("c27-d-3"), (7, 0));
    assert_eq!(deferred("c31-1-32"), (1, 0));
    let its = "c77-return-before-a-barrier-default-its";
    assert_eq!(
        (num(its, "joins_on_time"), num(its, "joins_deferred")),
        (0, 1)
    );
    assert_eq!(num("c79-spin-lock-its", "joins_early"), 31);
}

#[test]
fn c77_a_barrier_after_an_early_return() {
    let [default, cfg] = ["default", "cfg"].map(|j| format!("c77-return-before-a-barrier-{j}-its"));
    assert_eq!(
        num(&default, "issued"),
        num("c77-return-before-a-barrier-default-stack", "issued")
    );
    assert_eq!((num(&default, "issued"), num(&cfg, "issued")), (9, 12));
    assert_eq!(
        text("c77-return-before-a-barrier-cfg-stack", "arrived"),
        "0x000000FF"
    );
    // Two groups come to the one barrier.
    assert_eq!((num(&cfg, "bar"), num(&cfg, "barriers")), (2, 1));
}

#[test]
fn c79_only_an_unbounded_wait_for_the_own_warp_needs_its() {
    assert_eq!(text("c79-spin-lock-stack", "error"), "NoProgress");
    assert_eq!(text("c79-spin-lock-stack", "mask"), "0xFFFFFFFE");
    assert_eq!(text("c79-spin-lock-its", "mem.data"), "0,32");
    assert_eq!(text("c79-bounded-stack", "mem.data"), "0,1");
    assert_eq!(text("c79-bounded-its", "mem.data"), "0,3");
}

#[test]
fn c82_the_consumer_first_needs_its() {
    assert_eq!(text("c82-consumer-first-stack", "error"), "NoProgress");
    assert_eq!(num("c82-consumer-first-its", "issued"), 16);
    assert_eq!(num("c82-consumer-first-its", "yields"), 1);
    // The producer on the side that runs first: either mode will do.
    assert_eq!(num("c82-producer-first", "issued"), 11);
    let its = its(&folder().join("c82-producer-first.wf"));
    assert_eq!(its.get("issued"), Some("11"));
}
