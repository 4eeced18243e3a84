//! Canonicalisation: text in, text out.

use warpfold_analysis::JoinRule;
use warpfold_ir::{Function, Origin, parse_module};
use warpfold_opt::{Log, canonicalise};

fn canonical(text: &str) -> (Function, Log) {
    canonical_by(JoinRule::Default, text)
}

fn canonical_by(joins: JoinRule, text: &str) -> (Function, Log) {
    let module = parse_module(text).expect("the test parses");
    let mut f = module.functions.into_iter().next().expect("one function");
    let mut log = Log::default();
    canonicalise(&mut f, joins, &mut log);
    warpfold_ir::verify(&f).expect("canonicalise keeps a function valid");
    (f, log)
}

fn lines(f: &Function) -> Vec<String> {
    f.to_string()
        .lines()
        .filter(|l| !l.is_empty() && !l.starts_with("function") && *l != "}")
        .map(|l| l.trim().to_string())
        .collect()
}

#[test]
fn a_bounds_check_becomes_a_guarded_exit() {
    let (f, log) = canonical(
        "function %f(pred varying, i64 varying, i32) {
block0(v0: pred, v1: i64, v2: i32):
    br v0, block1, block2 @5:3

block1:
    ret

block2:
    store.i32 v2, v1
    ret
}",
    );
    assert_eq!(
        lines(&f),
        [
            "block0(v0: pred, v1: i64, v2: i32):",
            "exit if v0 @5:3",
            "store.i32 v2, v1",
            "ret"
        ]
    );
    assert_eq!(log.exits.len(), 1);
    assert_eq!(
        (log.exits[0].origin, log.exits[0].kind),
        (Origin::new(5, 3), "exit")
    );
}

#[test]
fn the_mirrored_check_is_negated_and_a_shared_return_counts() {
    let (f, log) = canonical(
        "function %f(pred varying, pred varying, i64 varying, i32) {
block0(v0: pred, v1: pred, v2: i64, v3: i32):
    br v0, block1, block3 @1:1

block1:
    br v1, block2, block3 @2:2

block2:
    store.i32 v3, v2
    ret

block3:
    ret
}",
    );
    assert_eq!(
        lines(&f)[1..],
        [
            "exit if !v0 @1:1",
            "exit if !v1 @2:2",
            "store.i32 v3, v2",
            "ret"
        ]
    );
    assert_eq!(log.exits.len(), 2);
}

#[test]
fn a_trap_keeps_its_own_place() {
    let (f, log) = canonical(
        "function %f(pred varying, i64 varying, i32) {
block0(v0: pred, v1: i64, v2: i32):
    br v0, block2, block1 @1:1

block1:
    trap user3 @9:9

block2:
    store.i32 v2, v1
    ret
}",
    );
    assert_eq!(
        lines(&f)[1..],
        ["trap if !v0, user3 @9:9", "store.i32 v2, v1", "ret"]
    );
    assert_eq!(log.exits[0].kind, "trap");
    assert_eq!(log.exits[0].origin, Origin::new(1, 1));
}

#[test]
fn returned_values_and_shared_sides_keep_the_branch() {
    let values = "function %f(pred varying, i32) -> i32 {
block0(v0: pred, v1: i32):
    br v0, block1, block2 @1:1

block1:
    ret v1

block2:
    v2 = iadd.i32 v1, v1
    ret v2
}";
    let (f, log) = canonical(values);
    assert!(log.exits.is_empty());
    assert!(f.to_string().contains("br v0, block1, block2"));

    // The other side has a second predecessor: an exit would leave a jump.
    let shared = "function %f(pred varying, pred varying, i64 varying, i32) {
block0(v0: pred, v1: pred, v2: i64, v3: i32):
    br v0, block1, block3 @1:1

block1:
    store.i32 v3, v2
    br v1, block2, block3 @2:2

block2:
    ret

block3:
    store.i32 v3, v2+4
    ret
}";
    let (f, log) = canonical(shared);
    assert!(log.exits.is_empty());
    assert!(f.to_string().contains("br v1, block2, block3"));
}

#[test]
fn an_exit_that_would_move_a_join_past_a_ballot_is_not_made() {
    // block2's return is the later end, so it is home to block0 and block1, and
    // the lanes of block3 meet nobody. As `exit if`, block0 would join at block4.
    let text = "function %f(pred varying, pred varying, i64 varying, i32 varying) {
block0(v0: pred, v1: pred, v2: i64, v3: i32):
    br v0, block1, block3 @1:1

block1:
    br v1, block5, block2 @2:2

block2:
    store.i32 v3, v2+8
    jump block4

block3:
    store.i32 v3, v2
    jump block4

block4:
    VOTE
    ret

block5:
    ret
}";
    let vote = "v4 = active_mask\n    store.i32 v4, v2+4";
    for rule in [JoinRule::Default, JoinRule::Cfg] {
        let (f, log) = canonical_by(rule, &text.replace("VOTE", vote));
        assert!(log.exits.is_empty(), "{f}");
    }
    // Without the vote only cost depends on joins. By the default rule they
    // may come later when an end goes, by the textbook rule only nearer.
    let plain = text.replace("VOTE", "store.i32 v3, v2+4");
    let (f, log) = canonical(&plain);
    assert!(log.exits.is_empty(), "{f}");
    let (f, log) = canonical_by(JoinRule::Cfg, &plain);
    assert_eq!(log.exits.len(), 1, "{f}");
}

#[test]
fn equal_work_goes_up_in_chains_and_through_nests() {
    let (f, log) = canonical(
        "function %f(pred varying, pred varying, i32 varying) -> i32 {
block0(v0: pred, v1: pred, v2: i32):
    br v0, block1, block2 @1:1

block1:
    v3 = const.i32 3
    v4 = iadd.i32 v2, v3
    v5 = imul.i32 v4, v2
    jump block6(v5)

block2:
    br v1, block3, block4 @2:2

block3:
    v6 = const.i32 3
    v7 = iadd.i32 v2, v6
    v8 = imul.i32 v7, v7
    jump block5(v8)

block4:
    v9 = const.i32 3
    v10 = iadd.i32 v2, v9
    v11 = isub.i32 v10, v2
    jump block5(v11)

block5(v12: i32):
    jump block6(v12)

block6(v13: i32):
    ret v13
}",
    );
    let text = f.to_string();
    let entry: Vec<_> = lines(&f);
    assert_eq!(entry[1], "v3 = const.i32 3");
    assert_eq!(entry[2], "v4 = iadd.i32 v2, v3");
    assert_eq!(text.matches("iadd").count(), 1, "{text}");
    assert!(text.contains("imul.i32 v4, v4"), "{text}");
    let hoisted: Vec<_> = log.hoisted.iter().map(|(_, o)| *o).collect();
    assert!(hoisted.contains(&Origin::new(2, 2)) && hoisted.contains(&Origin::new(1, 1)));
}

#[test]
fn what_may_trap_or_change_or_vote_stays_in_its_side() {
    let (f, _) = canonical(
        "function %f(pred varying, i64 varying, i32 varying, i32 varying) -> i32 {
block0(v0: pred, v1: i64, v2: i32, v3: i32):
    br v0, block1, block2 @1:1

block1:
    v4 = udiv.i32 v2, v3
    v5 = load.i32 can_move v1
    v6 = active_mask
    v7 = iadd.i32 v4, v5
    v8 = iadd.i32 v6, v7
    v20 = load.i32 can_move readonly v1+8
    v33 = atomic_load.i32 can_move readonly v1+8
    v34 = atomic_add.i32 v2, v1
    v21 = iadd.i32 v8, v20
    jump block3(v21)

block2:
    v9 = udiv.i32 v2, v3
    v10 = load.i32 can_move v1
    v11 = active_mask
    v12 = iadd.i32 v9, v10
    v13 = iadd.i32 v11, v12
    v22 = load.i32 can_move readonly v1+8
    v31 = atomic_load.i32 can_move readonly v1+8
    v32 = atomic_add.i32 v2, v1
    v23 = isub.i32 v13, v22
    jump block3(v23)

block3(v14: i32):
    ret v14
}",
    );
    let text = f.to_string();
    assert_eq!(text.matches("udiv").count(), 2);
    assert_eq!(text.matches("active_mask").count(), 2);
    assert_eq!(text.matches("load.i32 can_move v1").count(), 2);
    // Only the load from memory that nothing writes goes up.
    assert_eq!(
        text.matches(" load.i32 can_move readonly").count(),
        1,
        "{text}"
    );
    assert_eq!(text.matches("atomic").count(), 4, "{text}");
}

#[test]
fn nothing_is_hoisted_past_a_guarded_exit() {
    let (f, _) = canonical(
        "function %f(pred varying, pred varying, i64 varying, i32 varying) {
block0(v0: pred, v1: pred, v2: i64, v3: i32):
    br v0, block1, block2 @1:1

block1:
    exit if v1
    v4 = iadd.i32 v3, v3
    store.i32 v4, v2
    jump block3

block2:
    v5 = iadd.i32 v3, v3
    store.i32 v5, v2+4
    jump block3

block3:
    ret
}",
    );
    assert_eq!(f.to_string().matches("iadd").count(), 2, "{f}");
}

/// Many guard clauses in a function with a vote: which of them may become exits
/// is found out without a look at every join for each.
#[test]
fn ten_thousand_guard_clauses_before_a_vote_become_exits() {
    use std::fmt::Write;
    const N: usize = 10_000;
    let mut text = String::from("function %f(i32 varying, i64 varying) {\n");
    for i in 0..N {
        let head = if i == 0 {
            String::from("block0(v0: i32, v1: i64):")
        } else {
            format!("block{i}:")
        };
        let (k, p, next, out) = (2 * i + 2, 2 * i + 3, i + 1, N + 1);
        let _ = write!(
            text,
            "{head}\n    v{k} = const.i32 {i}\n    v{p} = icmp.i32 eq v0, v{k}\n    \
             br v{p}, block{out}, block{next} @{next}:1\n\n"
        );
    }
    let (v, out) = (2 * N + 2, N + 1);
    let _ = write!(
        text,
        "block{N}:\n    v{v} = active_mask\n    store.i32 v{v}, v1\n    ret\n\n\
         block{out}:\n    ret\n}}"
    );
    let (f, log) = canonical(&text);
    assert_eq!(log.exits.len(), N);
    assert_eq!(f.layout.len(), 1);
}
