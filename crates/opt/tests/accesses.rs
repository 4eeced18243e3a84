//! Merging equal loads and stores of both sides: text in, text out.

use warpfold_analysis::uniformity::UniformityOptions;
use warpfold_ir::{Origin, parse_module};
use warpfold_opt::{Log, merge_accesses};

/// The instructions and blocks that come out, and the log.
fn merged(text: &str) -> (Vec<String>, Log) {
    let module = parse_module(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut f = module.functions.into_iter().next().expect("one function");
    let mut log = Log::default();
    merge_accesses(&mut f, &UniformityOptions::default(), &mut log);
    warpfold_ir::verify(&f).unwrap_or_else(|e| panic!("{e}\n{f}"));
    let text = f.to_string();
    let lines = text.lines().filter(|l| l.starts_with("    "));
    (lines.map(|l| l.trim().to_owned()).collect(), log)
}

/// A diamond with these sides. `v0` is the condition, `v1` to `v3` are addresses of
/// which nothing is known, `v4` and `v5` numbers, `v6` to `v8` addresses 8, 4 and 2
/// bytes from lane to lane.
fn diamond(a: &str, b: &str) -> String {
    let side = |text: &str| -> String {
        let insts = text.split("; ").filter(|i| !i.is_empty());
        insts.map(|i| format!("    {i}\n")).collect()
    };
    format!(
        "function %f(pred varying, i64 varying, i64 varying, i64, i32 varying, i32 varying) {{
    ss0 = slot 16, align 4

block0(v0: pred, v1: i64, v2: i64, v3: i64, v4: i32, v5: i32):
    v90 = lane_id
    v91 = uextend.i64 v90
    v92 = const.i64 3
    v93 = ishl.i64 v91, v92
    v94 = const.i64 2
    v95 = ishl.i64 v91, v94
    v96 = iadd.i64 v91, v91
    v6 = iadd.i64 v3, v93
    v7 = iadd.i64 v3, v95
    v8 = iadd.i64 v3, v96
    store.i32 v4, v6+64
    store.i32 v4, v7+64
    store.i32 v4, v8+64
    br v0, block1, block2 @5:3

block1:
{}    jump block3

block2:
{}    jump block3

block3:
    ret
}}
",
        side(a),
        side(b)
    )
}

/// How often a mnemonic is there, but for what the frame has.
fn count(lines: &[String], what: &str) -> usize {
    let of_frame = if what == "store" { 3 } else { 0 };
    let named = |l: &&String| l.split([' ', '.']).any(|w| w == what);
    lines.iter().filter(named).count() - of_frame
}

/// Above the branch, of the address that its condition chooses; its branch pays.
#[test]
fn equal_loads_are_one_above_the_branch() {
    let text = diamond(
        "v10 = load.i32 notrap v1+4; v11 = iadd.i32 v10, v4; store.i32 v11, v1",
        "v20 = load.i32 notrap v2+4; v21 = isub.i32 v4, v20; store.i32 v21, v2",
    );
    let (lines, log) = merged(&text);
    let at = lines.iter().position(|l| l.contains("br v0")).unwrap();
    assert_eq!(
        lines[at - 2..],
        [
            "v97 = select.i64 v0, v1, v2 @5:3",
            "v10 = load.i32 notrap v97+4",
            "br v0, block1, block2 @5:3",
            "v11 = iadd.i32 v10, v4",
            "store.i32 v11, v1",
            "jump block3",
            "v21 = isub.i32 v4, v10",
            "store.i32 v21, v2",
            "jump block3",
            "ret"
        ]
    );
    assert!(log.hoisted.iter().all(|h| h.1 == Origin::new(5, 3)));
    assert_eq!(log.hoisted.len(), 2);
    // One address needs no select.
    let (lines, _) = merged(&text.replace("notrap v2+4", "notrap v1+4"));
    assert_eq!((count(&lines, "load"), count(&lines, "select")), (1, 0));
}

/// At the join, of what each side brings.
#[test]
fn equal_stores_are_one_at_the_join() {
    let (lines, log) = merged(&diamond(
        "v10 = iadd.i32 v4, v5; store.i32 notrap v10, v7",
        "store.i32 notrap v5, v7; v20 = isub.i32 v4, v5",
    ));
    let at = lines.iter().position(|l| l.contains("br v0")).unwrap();
    assert_eq!(
        lines[at + 1..],
        [
            "v10 = iadd.i32 v4, v5",
            "jump block3(v10)",
            "jump block3(v5)",
            "store.i32 notrap v97, v7",
            "ret"
        ]
    );
    assert_eq!(log.hoisted.len(), 1);
}

/// Several stay in their order.
#[test]
fn accesses_stay_in_order() {
    let (lines, _) = merged(&diamond(
        "v10 = load.i32 notrap v1; v11 = load.i32 notrap v1+8; store.i32 notrap v10, v6; store.i32 notrap v11, v6+4",
        "v20 = load.i32 notrap v2; v21 = load.i32 notrap v2+8; store.i32 notrap v20, v6; store.i32 notrap v21, v6+4",
    ));
    let accesses: Vec<&String> = lines
        .iter()
        .filter(|l| l.contains("load") || l.contains("store.i32 notrap"))
        .collect();
    let [a, b, c, d] = accesses[..] else {
        panic!("{lines:?}")
    };
    assert!(
        a.starts_with("v10 =") && b.starts_with("v11 ="),
        "{lines:?}"
    );
    assert!(
        c.ends_with("v10, v6") && d.ends_with("v11, v6+4"),
        "{lines:?}"
    );
}

/// What keeps loads apart.
#[test]
fn loads_that_stay_two() {
    let load = "v10 = load.i32 notrap v1; store.i32 v10, v1";
    for (why, a, b) in [
        (
            "another offset",
            load,
            "v20 = load.i32 notrap v2+4; store.i32 v20, v2",
        ),
        (
            "another type",
            load,
            "v20 = load.i64 notrap v2; store.i64 v20, v2",
        ),
        (
            "another promise",
            load,
            "v20 = load.i32 notrap can_move v2; store.i32 v20, v2",
        ),
        (
            "behind a store",
            load,
            "store.i32 v5, v2; v20 = load.i32 notrap v2; store.i32 v20, v2",
        ),
        (
            "behind a trap",
            load,
            "trap if v0, user1; v20 = load.i32 notrap v2; store.i32 v20, v2",
        ),
        (
            "behind a load that is none of the other side",
            load,
            "v21 = load.i64 notrap v2; v20 = load.i32 notrap v2; store.i32 v20, v2",
        ),
        (
            "of an address of its side",
            load,
            "v21 = iadd.i64 v2, v3; v20 = load.i32 notrap v21; store.i32 v20, v2",
        ),
        (
            "volatile",
            "v10 = load.i32 notrap volatile v1; store.i32 v10, v1",
            "v20 = load.i32 notrap volatile v2; store.i32 v20, v2",
        ),
        (
            "atomic",
            "v10 = atomic_load.i32 notrap v1; store.i32 v10, v1",
            "v20 = atomic_load.i32 notrap v2; store.i32 v20, v2",
        ),
        (
            "guarded",
            "v10 = load.i32 notrap v1 if v0 else v4; store.i32 v10, v1",
            "v20 = load.i32 notrap v2 if v0 else v4; store.i32 v20, v2",
        ),
        (
            "in another place, where it may trap",
            "v10 = load.i32 v1 @7:7; store.i32 v10, v1",
            "v20 = load.i32 v2 @8:8; store.i32 v20, v2",
        ),
    ] {
        let (lines, _) = merged(&diamond(a, b));
        let above = lines.iter().take_while(|l| !l.starts_with("br v0"));
        assert_eq!(
            above.filter(|l| l.contains("load")).count(),
            0,
            "{why}: {lines:?}"
        );
    }
}

/// What keeps stores apart; and what does not.
#[test]
fn stores_that_stay_two() {
    for (why, stores, a, b) in [
        (
            "each lane's own",
            1,
            "store.i32 notrap v4, v6",
            "store.i32 notrap v5, v6",
        ),
        (
            "four bytes of four",
            1,
            "store.i32 notrap v4, v7",
            "store.i32 notrap v5, v7",
        ),
        (
            "the lane's own memory",
            1,
            "v10 = stack_addr.i64 ss0; store.i32 notrap v4, v10",
            "v20 = stack_addr.i64 ss0+8; store.i32 notrap v5, v20",
        ),
        (
            "two of each lane's own",
            2,
            "store.i32 notrap v4, v6; store.i32 notrap v5, v6+4",
            "store.i32 notrap v5, v6; store.i32 notrap v4, v6+4",
        ),
        (
            "of two the second in the next lane's bytes",
            4,
            "store.i32 notrap v4, v7; store.i32 notrap v5, v7+4",
            "store.i32 notrap v5, v7; store.i32 notrap v4, v7+4",
        ),
        (
            "of two the first at an address apart, which may be another lane's",
            4,
            "store.i32 notrap v4, v7; store.i32 notrap v5, v6",
            "store.i32 notrap v5, v7; store.i32 notrap v4, v6",
        ),
        (
            "in front of what the second side stores",
            3,
            "store.i32 notrap v5, v6",
            "store.i32 notrap v4, v1; store.i32 notrap v4, v6",
        ),
        (
            "behind what the first side stores",
            2,
            "store.i32 notrap v5, v1; store.i32 notrap v4, v6",
            "store.i32 notrap v4, v6",
        ),
        (
            "four bytes of two",
            2,
            "store.i32 notrap v4, v8",
            "store.i32 notrap v5, v8",
        ),
        (
            "one for all lanes",
            2,
            "store.i32 notrap v4, v3",
            "store.i32 notrap v5, v3",
        ),
        (
            "an address that may be another lane's",
            2,
            "store.i32 notrap v4, v1",
            "store.i32 notrap v5, v1",
        ),
        (
            "two addresses, each lane's own",
            2,
            "store.i32 notrap v4, v6",
            "store.i32 notrap v5, v7",
        ),
        (
            "another width",
            2,
            "store.i32 notrap v4, v6",
            "istore8.i32 notrap v5, v6",
        ),
        (
            "another offset",
            2,
            "store.i32 notrap v4, v6",
            "store.i32 notrap v5, v6+4",
        ),
        (
            "volatile",
            2,
            "store.i32 notrap volatile v4, v6",
            "store.i32 notrap volatile v5, v6",
        ),
        (
            "atomic",
            2,
            "atomic_store.i32 notrap v4, v6",
            "atomic_store.i32 notrap v5, v6",
        ),
        (
            "in front of a load",
            2,
            "store.i32 notrap v4, v6; v10 = load.i32 v6",
            "store.i32 notrap v5, v6",
        ),
        (
            "in front of a trap",
            2,
            "store.i32 notrap v4, v6; trap if v0, user1",
            "store.i32 notrap v5, v6",
        ),
        (
            "in another place, where it may trap",
            2,
            "store.i32 v4, v6 @7:7",
            "store.i32 v5, v6 @8:8",
        ),
    ] {
        let (lines, _) = merged(&diamond(a, b));
        let stores_left =
            count(&lines, "store") + count(&lines, "istore8") + count(&lines, "atomic_store");
        assert_eq!(stores_left, stores, "{why}: {lines:?}");
    }
    // A third way to the join would store, too.
    let text = diamond("store.i32 notrap v4, v6", "store.i32 notrap v5, v6").replace(
        "    br v0, block1, block2 @5:3\n",
        "    br v0, block4, block3 @4:4\n\nblock4:\n    br v0, block1, block2 @5:3\n",
    );
    let (lines, _) = merged(&text);
    assert_eq!(count(&lines, "store"), 2, "{lines:?}");
}
