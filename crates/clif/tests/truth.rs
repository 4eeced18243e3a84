//! Lowering of truth values: predicates where they are tested, integers where
//! they are used as such.

mod common;

use common::{check, ir};

#[test]
fn compares_are_predicates() {
    // Nothing uses the integer, so there is none.
    check(
        "i32 i32",
        "v2 = icmp ult v0, v1; trapz v2, user1",
        "v2 = icmp.i32 ult v0, v1; trap if !v2, user1",
    );
    check(
        "f64 f64",
        "v2 = fcmp ueq v0, v1; trapnz v2, int_ovf",
        "v2 = fcmp.f64 ueq v0, v1; trap if v2, int_ovf",
    );
    // Here it is used, twice, and made once.
    check(
        "i32 i32 i64",
        "v3 = icmp eq v0, v1; store v3, v2; store v3, v2+1; v4 = select v3, v0, v1",
        "v3 = icmp.i32 eq v0, v1; v4 = bint.i8 v3; store.i8 v4, v2; store.i8 v4, v2+1; \
         v5 = select.i32 v3, v0, v1",
    );
    // An extension is the integer form in its own width.
    check(
        "i32 i32",
        "v2 = icmp eq v0, v1; v3 = uextend.i32 v2; v4 = iadd v3, v0; trapnz v3, user1",
        "v2 = icmp.i32 eq v0, v1; v3 = bint.i32 v2; v4 = iadd.i32 v3, v0; trap if v2, user1",
    );
}

#[test]
fn logic_on_truths() {
    let both = "v2 = icmp slt v0, v1; v3 = icmp ne v0, v1";
    let pre = "v2 = icmp.i32 slt v0, v1; v3 = icmp.i32 ne v0, v1";
    for (op, ir) in [("band", "and"), ("bor", "or"), ("bxor", "xor")] {
        check(
            "i32 i32",
            &format!("{both}; v4 = {op} v2, v3; trapnz v4, user1"),
            &format!("{pre}; v4 = {ir} v2, v3; trap if v4, user1"),
        );
    }
    let one = "v2 = icmp slt v0, v1; v3 = iconst.i8";
    let not = "v2 = icmp.i32 slt v0, v1; v4 = not v2; trap if v4, user1";
    let same = "v2 = icmp.i32 slt v0, v1; trap if v2, user1";
    for (line, expected) in [
        ("1; v4 = bxor v2, v3", not),
        ("1; v4 = bxor v3, v2", not),
        ("0; v4 = icmp eq v2, v3", not),
        ("0; v4 = icmp eq v3, v2", not),
        ("0; v4 = icmp ne v2, v3", same),
        ("1; v4 = icmp eq v2, v3", same),
        ("1; v4 = icmp ne v2, v3", not),
        ("1; v4 = band v2, v3", same),
        ("0; v4 = bor v2, v3", same),
        ("0; v4 = bxor v2, v3", same),
    ] {
        let lines = ir(&common::straight(
            "i32 i32",
            &format!("{one} {line}; trapnz v4, user1"),
        ));
        let inner = lines[1..lines.len() - 1].join("; ");
        assert_eq!(inner, expected, "{line}");
    }
    check(
        "i32 i32",
        &format!("{both}; v4 = icmp eq v2, v3; trapnz v4, user1"),
        &format!("{pre}; v4 = xor v2, v3; v5 = not v4; trap if v5, user1"),
    );
}

/// `bnot` of a truth is 254 or 255: never 0, so no negation.
#[test]
fn bnot_is_no_negation() {
    check(
        "i32",
        "v1 = icmp eq v0, v0; v2 = bnot v1; trapnz v2, user1",
        "v1 = icmp.i32 eq v0, v0; v2 = bint.i8 v1; v3 = bnot.i8 v2; v4 = const.i8 0; \
         v5 = icmp.i8 ne v3, v4; trap if v5, user1",
    );
}

#[test]
fn integers_as_conditions() {
    // Tested once in a block, however often it is asked.
    check(
        "i16 f32 f32",
        "v3 = select v0, v1, v2; v4 = select_spectre_guard v0, v2, v1; trapz v0, user1",
        "v3 = const.i16 0; v4 = icmp.i16 ne v0, v3; v5 = select.f32 v4, v1, v2; \
         v6 = select.f32 v4, v2, v1; trap if !v4, user1",
    );
}

#[test]
fn selects_of_truths() {
    check(
        "i32 i32",
        "v2 = icmp slt v0, v1; v3 = icmp eq v0, v1; v4 = iconst.i8 0; v5 = select v2, v3, v4; \
         trapnz v5, user1",
        "v2 = icmp.i32 slt v0, v1; v3 = icmp.i32 eq v0, v1; v5 = const.pred false; \
         v6 = select.pred v2, v3, v5; trap if v6, user1",
    );
    // Nobody tests it: a number between numbers.
    check(
        "i32 i32 i64",
        "v3 = icmp slt v0, v1; v4 = iconst.i32 0; v5 = iconst.i32 1; v6 = select v3, v4, v5; store v6, v2",
        "v3 = icmp.i32 slt v0, v1; v4 = const.i32 0; v5 = const.i32 1; v6 = select.i32 v3, v4, v5; \
         store.i32 v6, v2",
    );
}

const SHORT_CIRCUIT: &str = "function %and(i32, i32) -> i32 {
block0(v0: i32, v1: i32):
    v2 = iconst.i32 10
    v3 = iconst.i8 0
    v4 = icmp slt v0, v2
    brif v4, block1, block2(v3)

block1:
    v5 = icmp slt v1, v2
    jump block2(v5)

block2(v6: i8):
    brif v6, block3, block4

block3:
    return v0

block4:
    v7 = uextend.i32 v6
    return v7
}
";

#[test]
fn truths_through_block_parameters() {
    assert_eq!(
        ir(SHORT_CIRCUIT),
        [
            "block0(v0: i32, v1: i32):",
            "v2 = const.i32 10",
            "v4 = icmp.i32 slt v0, v2",
            "v5 = const.pred false",
            "br v4, block1, block2(v5)",
            "block1:",
            "v6 = icmp.i32 slt v1, v2",
            "jump block2(v6)",
            "block2(v7: pred):",
            "br v7, block3, block4",
            "block3:",
            "ret v0",
            "block4:",
            "v8 = bint.i32 v7",
            "ret v8",
        ]
    );
}

/// A parameter that receives anything else stays an integer, and so does one
/// that is never tested.
#[test]
fn parameters_that_stay_integers() {
    let other = SHORT_CIRCUIT.replace("v3 = iconst.i8 0", "v3 = iconst.i8 2");
    let lines = ir(&other).join("\n");
    assert!(
        lines.contains("v5 = icmp.i32 slt v1, v2\nv6 = bint.i8 v5\njump block2(v6)"),
        "{lines}"
    );
    assert!(
        lines.contains("block2(v7: i8):\nv8 = const.i8 0\nv9 = icmp.i8 ne v7, v8\nbr v9"),
        "{lines}"
    );
    let untested = SHORT_CIRCUIT.replace("brif v6, block3, block4", "jump block4");
    let untested = untested.replace(
        "v7 = uextend.i32 v6\n    return v7",
        "store v6, v8\n    return v0",
    );
    let untested = untested
        .replace("(i32, i32)", "(i32, i32, i64)")
        .replace("v1: i32)", "v1: i32, v8: i64)");
    let lines = ir(&untested).join("\n");
    assert!(lines.contains("block2(v8: i8):\njump block4"), "{lines}");
}

#[test]
fn truths_around_a_loop() {
    let lines = ir("function %f(i32) {
block0(v0: i32):
    v1 = iconst.i8 1
    jump block1(v1, v0)
block1(v2: i8, v3: i32):
    v4 = icmp_imm_is_gone v3
    return
}"
    .replace("v4 = icmp_imm_is_gone v3\n    return", "brif v2, block2, block3\nblock2:\n    v5 = icmp sgt v3, v0\n    v6 = bxor v5, v2\n    jump block1(v6, v3)\nblock3:\n    return")
    .as_str());
    assert_eq!(
        lines,
        [
            "block0(v0: i32):",
            "v2 = const.pred true",
            "jump block1(v2, v0)",
            "block1(v3: pred, v4: i32):",
            "br v3, block2, block3",
            "block2:",
            "v5 = icmp.i32 sgt v4, v0",
            "v6 = xor v5, v3",
            "jump block1(v6, v4)",
            "block3:",
            "ret",
        ]
    );
}

/// The integer form is made in the blocks that use it, or serves all from the
/// definition's block if that uses it first.
#[test]
fn integer_forms_where_used() {
    let text = "function %f(i32, i64) {
block0(v0: i32, v1: i64):
    v2 = icmp eq v0, v0
    brif v2, block1, block2
block1:
    store v2, v1
    jump block2
block2:
    store v2, v1
    return
}";
    let lines = ir(text);
    assert_eq!(lines.iter().filter(|l| l.contains("bint")).count(), 2);
    let early = text.replace("    brif v2", "    store v2, v1\n    brif v2");
    let lines = ir(&early);
    assert_eq!(lines.iter().filter(|l| l.contains("bint")).count(), 1);
}
