//! `--check`: what is wrong with a kernel as it runs is said with its line, and
//! only where that was asked for.

mod support;

use support::{Ran, warpfold_on};

/// Lanes store to what their neighbours load.
const KERNEL: &str = "\
;! block = 32
;! [[arg]]
;! buffer = \"i32\"
;! len = 64
function %f(i64) {
block0(v0: i64):
    v1 = tid_x
    v2 = const.i32 2
    v3 = ishl.i32 v1, v2
    v4 = uextend.i64 v3
    v5 = iadd.i64 v0, v4
    store.i32 v1, v5 @1:12
    v6 = load.i32 v5+4 @2:13
    ret
}
";

fn exec(check: &[&str]) -> Ran {
    let args = [&["exec", "--syntax", "wf", "-"], check].concat();
    warpfold_on(&args, KERNEL.as_bytes())
}

#[test]
fn checks_run_where_they_are_asked_for() {
    for quiet in [&[][..], &["--check", "uniformity,poison"]] {
        assert!(!exec(quiet).ok().is_empty(), "{quiet:?}");
    }
    for loud in ["races", "all", "poison,races"] {
        let error = exec(&["--check", loud]).error(1);
        assert!(error.contains("race at address 0x10000004"), "{error}");
        assert!(error.contains("store of thread 1"), "{error}");
        assert!(error.contains("load of thread 0"), "{error}");
        assert!(
            error.contains(":13: "),
            "the line of the second access: {error}"
        );
    }
    // What was compared is said in one line.
    let ends_with = |check: &[&str]| {
        let text = exec(check).ok();
        text.lines().last().unwrap_or_default().to_owned()
    };
    assert_eq!(
        ends_with(&["--check", "poison"]),
        "checked: 3 uses of what may be poison; nothing is wrong"
    );
    assert!(!ends_with(&[]).contains("checked"));
    let error = exec(&["--check", "speed"]);
    assert_eq!(error.status, 2);
}

#[test]
fn lanes_that_miss_a_warp_sync_are_told_what_they_missed() {
    let text = ";! block = 32\n;! [[arg]]\n;! varying = \"lane % 2\"\nfunction %k(i32) {\n    \
                fn0 = %warp_sync()\nblock0(v0: i32):\n    brif v0, block1, block2\nblock1:\n    \
                call fn0()\n    jump block2\nblock2:\n    return\n}\n";
    let message = warpfold_on(&["exec", "-"], text.as_bytes()).error(1);
    let want = "arrived 0xaaaaaaaa, missing 0x55555555; at a `warp_sync` lanes wait for those that \
                their mask names";
    assert!(message.ends_with(want), "{message}");
}
