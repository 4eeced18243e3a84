//! Clean-up passes: text in, text out.

use warpfold_analysis::JoinRule;
use warpfold_ir::{Function, Origin, parse_module};
use warpfold_opt::{Log, clean};

fn function(text: &str) -> Function {
    let module = parse_module(text).expect("the test parses");
    module.functions.into_iter().next().expect("one function")
}

fn cleaned(text: &str) -> (String, Log) {
    let mut f = function(text);
    let mut log = Log::default();
    clean(&mut f, JoinRule::Default, &mut log);
    warpfold_ir::verify(&f).expect("clean keeps a function valid");
    (f.to_string(), log)
}

/// The instructions' and terminators' text, one a line, without indentation.
fn body(text: &str) -> Vec<String> {
    text.lines()
        .filter(|l| l.starts_with("    "))
        .map(|l| l.trim().to_string())
        .collect()
}

#[test]
fn constants_fold_and_dead_code_goes() {
    let (text, _) = cleaned(
        "function %f(i32) -> i32 {
block0(v0: i32):
    v1 = const.i32 6
    v2 = const.i32 7
    v3 = imul.i32 v1, v2
    v4 = iadd.i32 v0, v3
    v5 = isub.i32 v0, v1
    ret v4
}",
    );
    assert_eq!(
        body(&text),
        ["v3 = const.i32 42", "v4 = iadd.i32 v0, v3", "ret v4"]
    );
}

#[test]
fn a_lane_that_would_trap_goes_on_trapping() {
    let (text, _) = cleaned(
        "function %f() {
block0:
    v1 = const.i32 6
    v2 = const.i32 0
    v3 = udiv.i32 v1, v2
    v4 = const.i32 3
    v5 = udiv.i32 v1, v4
    v6 = const.i32 -2147483648
    v7 = const.i32 -1
    v8 = sdiv.i32 v6, v7
    ret
}",
    );
    // Unused, but a trap is an effect; the division by 3 has none.
    assert_eq!(
        body(&text),
        [
            "v1 = const.i32 6",
            "v2 = const.i32 0",
            "v3 = udiv.i32 v1, v2",
            "v6 = const.i32 -2147483648",
            "v7 = const.i32 -1",
            "v8 = sdiv.i32 v6, v7",
            "ret"
        ]
    );
}

#[test]
fn branches_on_constants_fold_and_the_dead_side_is_logged() {
    let (text, log) = cleaned(
        "function %f(pred varying) -> i32 {
block0(v0: pred):
    v1 = const.pred true
    v2 = and v1, v1
    br v2, block1, block2 @3:7

block1:
    v3 = const.i32 1
    jump block3(v3)

block2:
    v4 = const.i32 2
    br v0, block3(v4), block3(v3x) @4:9

block3(v5: i32):
    ret v5
}"
        .replace("v3x", "v4")
        .as_str(),
    );
    assert_eq!(
        body(&text),
        [
            "jump block1 @3:7",
            "v3 = const.i32 1",
            "jump block3",
            "ret v3"
        ]
    );
    let folded: Vec<_> = log.folded.iter().map(|(o, w)| (*o, w.as_str())).collect();
    assert!(folded.contains(&(Origin::new(3, 7), "its condition is always true")));
    assert!(folded.iter().any(|(o, _)| *o == Origin::new(4, 9)));
}

#[test]
fn a_branch_that_cannot_matter_folds_but_not_one_that_chooses_arguments() {
    let text = "function %f(pred varying, i32) -> i32 {
block0(v0: pred, v1: i32):
    v2 = const.i32 2
    br v0, block1(v1), block1(ARG) @1:1

block1(v3: i32):
    ret v3
}";
    let (same, log) = cleaned(&text.replace("ARG", "v1"));
    assert_eq!(body(&same), ["jump block1 @1:1", "ret v1"]);
    assert_eq!(log.folded.len(), 1);
    let (differ, log) = cleaned(&text.replace("ARG", "v2"));
    assert_eq!(
        body(&differ),
        [
            "v2 = const.i32 2",
            "br v0, block1(v1), block1(v2) @1:1",
            "ret v3"
        ]
    );
    assert!(log.folded.is_empty());
}

#[test]
fn guards_on_constants_are_resolved() {
    let (text, _) = cleaned(
        "function %f(i32, i64) -> i32, i32 {
block0(v0: i32, v1: i64):
    v2 = const.pred true
    v3 = iadd.i32 v0, v0 if v2 else v0
    v4 = imul.i32 v0, v0 if !v2 else v3
    store.i32 v0, v1 if !v2
    exit if !v2
    ret v3, v4
}",
    );
    assert_eq!(body(&text), ["v3 = iadd.i32 v0, v0", "ret v3, v3"]);
}

#[test]
fn equal_computations_merge_only_downwards() {
    let (text, _) = cleaned(
        "function %f(pred varying, i32) -> i32, i32 {
block0(v0: pred, v1: i32):
    v2 = iadd.i32 v1, v1
    br v0, block1, block2

block1:
    v3 = iadd.i32 v1, v1
    v4 = imul.i32 v3, v1
    jump block3(v4)

block2:
    v5 = imul.i32 v2, v1
    jump block3(v5)

block3(v6: i32):
    v7 = imul.i32 v2, v1
    ret v6, v7
}",
    );
    // v3 goes; the products on different sides and behind the join stay.
    assert!(!text.contains("v3 = "));
    for kept in [
        "v4 = imul.i32 v2, v1",
        "v5 = imul.i32 v2, v1",
        "v7 = imul.i32 v2, v1",
    ] {
        assert!(text.contains(kept), "{kept} in\n{text}");
    }
}

/// Atomic accesses and fences stay, whether or not their results are used and
/// however equal they are; math functions are computations like others.
#[test]
fn atomics_are_left_alone() {
    let text = "function %f(i64, i32) -> f32 {
block0(v0: i64, v1: i32):
    v2 = atomic_load.i32 v0
    v3 = atomic_load.i32 can_move readonly v0
    v4 = atomic_add.i32 v1, v0
    v5 = atomic_add.i32 v1, v0
    fence
    v6 = atomic_cas.i32 v1, v1, v0
    atomic_store.i32 v1, v0
    atomic_store.i32 v1, v0
    v7 = bitcast.f32 v1
    v8 = sin.f32 v7
    v9 = sin.f32 v7
    v10 = tanh.f32 v7
    v11 = const.f32 0.0
    v12 = cos.f32 v11
    v13 = fadd.f32 v8, v9
    v14 = fadd.f32 v13, v12
    ret v14
}";
    let (cleaned, _) = cleaned(text);
    let kept = |t: &str| -> Vec<String> {
        let lines = body(t).into_iter();
        lines
            .filter(|l| l.contains("atomic") || l.contains("fence"))
            .collect()
    };
    assert_eq!(kept(&cleaned), kept(text));
    let math: Vec<_> = body(&cleaned).split_off(8);
    assert_eq!(
        math,
        [
            "v7 = bitcast.f32 v1",
            "v8 = sin.f32 v7",
            "v12 = const.f32 1.0",
            "v13 = fadd.f32 v8, v8",
            "v14 = fadd.f32 v13, v12",
            "ret v14"
        ]
    );
}

#[test]
fn votes_and_loads_are_not_merged() {
    let (text, _) = cleaned(
        "function %f(pred varying, i64) -> i32, i32, i32, i32 {
block0(v0: pred, v1: i64):
    v2 = ballot v0
    v3 = load.i32 v1
    exit if v0
    v4 = ballot v0
    v5 = load.i32 v1
    ret v2, v3, v4, v5
}",
    );
    assert_eq!(text.matches("ballot").count(), 2);
    assert_eq!(text.matches("load").count(), 2);
}

#[test]
fn parameters_with_one_value_go_and_cycles_of_them_do_not_confuse() {
    let (text, _) = cleaned(
        "function %f(i32, i32) -> i32, i32 {
block0(v0: i32, v1: i32):
    v9 = const.i32 0
    jump block1(v0, v1, v9)

block1(v2: i32, v3: i32, v4: i32):
    v5 = const.i32 1
    v6 = iadd.i32 v4, v5
    v7 = icmp.i32 ult v6, v1
    br v7, block1(v2, v2, v6), block2

block2:
    ret v2, v3
}",
    );
    assert!(text.contains("ret v0, v3"), "{text}");
    assert!(text.contains("block1(v3: i32, v4: i32)"), "{text}");
}

#[test]
fn a_load_without_can_move_is_an_effect() {
    let (text, _) = cleaned(
        "function %f(i64) {
block0(v0: i64):
    v1 = load.i32 notrap v0
    v2 = load.i32 can_move v0+4
    ret
}",
    );
    assert_eq!(body(&text), ["v1 = load.i32 notrap v0", "ret"]);
}

/// The never taken way to `block4` ranks before the return of `block5`, so all
/// lanes that can go there wait for each other only there.
#[test]
fn a_dead_way_out_stays_where_it_decides_who_executes_a_vote() {
    let text = "function %f(pred varying, i64 varying) {
block0(v0: pred, v1: i64):
    br v0, block1, block2 @1:1

block5:
    store.i32 v4, v1
    ret

block4:
    ret

block1:
    v2 = const.pred false
    br v2, block4, block2 @2:2

block2:
    v4 = MASK
    jump block5
}";
    // Nothing depends on joins: the branch goes.
    let (_, log) = cleaned(&text.replace("MASK", "lane_id"));
    assert_eq!(log.folded.len(), 1);
    assert_eq!(log.folded[0].0, Origin::new(2, 2));
    // The lanes of block0 would come to the mask together.
    let (f, log) = cleaned(&text.replace("MASK", "active_mask"));
    assert_eq!(log.folded, []);
    assert!(f.contains("br v2, block4, block2"), "{f}");
}

#[test]
fn a_dead_way_out_goes_where_lanes_join_as_before() {
    let text = "function %f(pred varying, i64 varying) {
block0(v0: pred, v1: i64):
    br v0, block1, block2 @1:1

block1:
    v2 = const.pred false
    br v2, block3, block2 @2:2

block3:
    barrier
    jump block2

block2:
    v4 = active_mask
    store.i32 v4, v1
    ret
}";
    let (_, log) = cleaned(text);
    let gone: Vec<Origin> = log.folded.iter().map(|f| f.0).collect();
    assert_eq!(gone, [Origin::new(2, 2)]);
}
