//! Merging equal instructions of both sides: text in, text and numbers out.

use warpfold_analysis::JoinRule;
use warpfold_analysis::uniformity::{Uniformity, UniformityOptions};
use warpfold_ir::{Function, parse_module, verify};
use warpfold_machine::{Cost, Machine};
use warpfold_opt::ifconv::policy::Cheapest;
use warpfold_opt::report::{Estimate, Force, Form, Priced, Verdict};
use warpfold_opt::{Assumed, Context, Conversion, Log, SourceBranch, convert, mark_proven};

fn machine(name: &str) -> Machine {
    Machine::builtin(name).expect("a shipped machine").clone()
}

fn parsed(text: &str) -> Function {
    let module = parse_module(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    module.functions.into_iter().next().expect("one function")
}

fn converted(text: &str, machine: &Machine, force: Force, merge: bool) -> Conversion {
    converted_function(parsed(text), machine, force, merge)
}

fn converted_function(
    mut func: Function,
    machine: &Machine,
    force: Force,
    merge: bool,
) -> Conversion {
    verify(&func).unwrap_or_else(|e| panic!("{e}"));
    let uniformity = Uniformity::new(&func, &UniformityOptions::default());
    mark_proven(&mut func, &uniformity);
    let branches: Vec<SourceBranch> = func
        .layout
        .iter()
        .filter(|&&b| func.term(b).is_conditional())
        .map(|&b| SourceBranch {
            origin: func.block(b).origin,
            opcode: "brif",
            hint: func.term(b).mark().and_then(|m| m.hint),
        })
        .collect();
    let conversion = convert(
        &func,
        &Context {
            branches: &branches,
            log: &Log::default(),
            uniformity: &uniformity,
            machine,
            joins: JoinRule::Default,
            profile: None,
            policy: &Cheapest,
            force: Some(force),
            assumed: Assumed::default(),
            choice: None,
            merge,
            cleanup: false,
        },
    );
    verify(&conversion.func).unwrap_or_else(|e| panic!("{e}\n{}", conversion.func));
    conversion
}

fn straight(text: &str) -> Vec<String> {
    lines(&converted(text, &machine("unit"), Force::Straight, true).func)
}

fn lines(f: &Function) -> Vec<String> {
    f.to_string()
        .lines()
        .filter(|l| l.starts_with("    "))
        .map(|l| l.trim().to_string())
        .collect()
}

fn priced(c: &Conversion) -> &Priced {
    match &c.report.decisions[0].verdict {
        Verdict::Priced { details, .. } => details,
        other => panic!("not priced: {other:?}"),
    }
}

fn estimate(p: &Priced, form: Form) -> &Estimate {
    let found = p.estimates.iter().find(|e| e.form == form);
    found.expect("the form is legal")
}

/// A diamond with these sides; `v0` is the condition, `v1` to `v3` are numbers, `v4`
/// an address.
fn diamond(a: &str, b: &str, joined: (&str, &str)) -> String {
    let side = |text: &str| -> String {
        let insts = text.split("; ").filter(|i| !i.is_empty());
        insts.map(|i| format!("    {i}\n")).collect()
    };
    format!(
        "function %f(pred varying, i32 varying, i32 varying, i32 varying, i64 varying) -> i32 {{
block0(v0: pred, v1: i32, v2: i32, v3: i32, v4: i64):
    br v0, block1, block2 @1:1

block1:
{}    jump block3({})

block2:
{}    jump block3({})

block3(v9: i32):
    ret v9
}}
",
        side(a),
        joined.0,
        side(b),
        joined.1
    )
}

const CHAIN: [&str; 2] = [
    "v10 = imul.i32 v1, v2; v11 = iadd.i32 v10, v1",
    "v20 = imul.i32 v1, v3; v21 = iadd.i32 v20, v1",
];

/// One select on the operand that differs; the operand that is a pair itself needs
/// none, nor does the parameter of the join.
#[test]
fn a_chain_of_equal_instructions_is_emitted_once() {
    let text = diamond(CHAIN[0], CHAIN[1], ("v11", "v21"));
    let expected = [
        "v22 = select.i32 v0, v2, v3 @1:1",
        "v10 = imul.i32 v1, v22",
        "v11 = iadd.i32 v10, v1",
        "ret v11",
    ];
    assert_eq!(straight(&text), expected);
    let c = converted(&text, &machine("textbook"), Force::Straight, true);
    let p = priced(&c);
    let e = estimate(p, Form::Straight);
    let parts: Vec<(&str, u64)> = e.components.iter().map(|c| (c.name, c.issues)).collect();
    let n = e.components[0].lines[0].times;
    assert_eq!(parts, [("selects", n), ("merged", 2 * n)]);
    assert_eq!(e.total, Cost::issues(3 * n));
    let shape = p.straight_shape.expect("it is legal");
    let counts = [
        shape.instructions,
        shape.merged,
        shape.selects,
        shape.guarded,
    ];
    assert_eq!(counts, [2, 2, 1, 0]);
    // Everything belongs to the branch at whose head it is done.
    let origin = c.report.decisions[0].origin;
    for (_, i) in c.func.laid_out_insts() {
        assert_eq!(c.owners.inst(i), Some(origin));
    }
    // With the sides swapped it is the same with the select's operands swapped.
    let mirrored = text.replace("br v0, block1, block2", "br v0, block2, block1");
    assert_eq!(
        straight(&mirrored)[..2],
        ["v22 = select.i32 v0, v3, v2 @1:1", "v10 = imul.i32 v1, v22"]
    );
}

/// Which side stands first in layout makes no difference but to names.
#[test]
fn the_order_of_the_sides_is_no_matter() {
    let mut func = parsed(&diamond(CHAIN[0], CHAIN[1], ("v11", "v21")));
    func.layout.swap(1, 2);
    let c = converted_function(func, &machine("unit"), Force::Straight, true);
    assert_eq!(
        lines(&c.func),
        [
            "v22 = select.i32 v0, v2, v3 @1:1",
            "v20 = imul.i32 v1, v22",
            "v21 = iadd.i32 v20, v1",
            "ret v21"
        ]
    );
}

/// None under the knob that guards everything, none where it is turned off, and none
/// where a side is skipped.
#[test]
fn sides_are_merged_only_where_both_are_straight() {
    let text = diamond(CHAIN[0], CHAIN[1], ("v11", "v21"));
    for (force, merge, merged) in [
        (Force::Straight, false, 0),
        (Force::Straight, true, 2),
        (Force::Select, true, 2),
        (Force::Predicate, true, 0),
        (Force::Skip, true, 0),
    ] {
        let c = converted(&text, &machine("unit"), force, merge);
        let shape = priced(&c).straight_shape.expect("it is legal");
        assert_eq!(shape.merged, merged, "{force:?}");
    }
}

/// What is merged depends on what a select costs, beside what it saves.
#[test]
fn a_pair_must_pay_for_its_selects() {
    // Two multiplications, one with the other's value as its `else`, against a
    // select and one: as dear.
    let one = diamond(
        "v10 = imul.i32 v1, v2",
        "v20 = imul.i32 v1, v3",
        ("v10", "v20"),
    );
    assert_eq!(
        straight(&one),
        [
            "v10 = imul.i32 v1, v2",
            "v20 = imul.i32 v1, v3 if !v0 else v10",
            "ret v20"
        ]
    );
    let mut dear = machine("unit");
    dear.guard = Cost::issues(5);
    // Without a guard for it the parameter takes a select, which is saved.
    let c = converted(&one, &dear, Force::Straight, true);
    assert_eq!(
        lines(&c.func),
        [
            "v21 = select.i32 v0, v2, v3 @1:1",
            "v10 = imul.i32 v1, v21",
            "ret v10"
        ]
    );
    // Both operands differ: nothing is saved by a single one.
    let two = one.replace("v20 = imul.i32 v1, v3", "v20 = imul.i32 v3, v2");
    let both = two.replace("v10 = imul.i32 v1, v2", "v10 = imul.i32 v1, v1");
    let c = converted(&both, &dear, Force::Straight, true);
    let p = priced(&c).straight_shape.expect("it is legal");
    assert_eq!((p.merged, p.selects), (0, 1));
}

/// Operands of what commutes are swapped where that needs fewer selects.
#[test]
fn operands_are_swapped_where_order_is_no_matter() {
    let text = |op: &str| {
        diamond(
            &format!("v10 = {op}.i32 v1, v2; v11 = imul.i32 v10, v10; v12 = bxor.i32 v11, v1"),
            &format!("v20 = {op}.i32 v3, v1; v21 = imul.i32 v20, v20; v22 = bxor.i32 v1, v21"),
            ("v12", "v22"),
        )
    };
    assert_eq!(
        straight(&text("iadd")),
        [
            "v23 = select.i32 v0, v2, v3 @1:1",
            "v10 = iadd.i32 v1, v23",
            "v11 = imul.i32 v10, v10",
            "v12 = bxor.i32 v11, v1",
            "ret v12"
        ]
    );
    // A difference is another one the other way round: as dear as two of them and a
    // select behind.
    assert_eq!(
        straight(&text("isub"))[..3],
        [
            "v10 = isub.i32 v1, v2",
            "v20 = isub.i32 v3, v1",
            "v23 = select.i32 v0, v10, v20 @1:1"
        ]
    );
}

/// The same operation on another type, with another condition or another width is
/// another one; so is one that has a guard of its own.
#[test]
fn only_the_same_operation_is_merged() {
    for (a, b, merged) in [
        ("icmp.i32 slt v1, v2", "icmp.i32 slt v1, v3", true),
        ("icmp.i32 slt v1, v2", "icmp.i32 sle v1, v2", false),
        ("icmp.i32 slt v1, v1", "icmp.i64 slt v4, v4", false),
        ("fcmp.f32 lt v5, v5", "fcmp.f32 gt v5, v5", false),
    ] {
        let text = diamond(
            &format!(
                "v5 = fcvt_from_sint.f32 v1; v10 = {a}; v11 = bint.i32 v10; v12 = iadd.i32 v11, v1"
            ),
            &format!(
                "v6 = fcvt_from_uint.f32 v1; v20 = {}; v21 = bint.i32 v20; v22 = iadd.i32 v21, v1",
                b.replace("v5", "v6")
            ),
            ("v12", "v22"),
        );
        let all = straight(&text);
        let compares = all.iter().filter(|l| l.contains("cmp.")).count();
        assert_eq!(compares, if merged { 1 } else { 2 }, "{all:?}");
        // The numbers of both are one number of what is chosen.
        assert_eq!(
            all.iter().filter(|l| l.contains("bint")).count(),
            1,
            "{all:?}"
        );
    }
    // What is extended has another width.
    let extended = |narrow: &str| {
        diamond(
            "v10 = ireduce.i16 v1; v11 = uextend.i32 v10; v12 = bnot.i32 v11",
            &format!("v20 = ireduce.{narrow} v2; v21 = uextend.i32 v20; v22 = bnot.i32 v21"),
            ("v12", "v22"),
        )
    };
    for (narrow, extensions) in [("i16", 1), ("i8", 2)] {
        let all = straight(&extended(narrow));
        let count = all.iter().filter(|l| l.contains("uextend")).count();
        assert_eq!(count, extensions, "{all:?}");
    }
    let guarded = diamond(
        "v10 = imul.i32 v1, v2 if v0 else v1; v11 = iadd.i32 v10, v1; v12 = bxor.i32 v11, v1",
        "v20 = imul.i32 v1, v3 if v0 else v1; v21 = iadd.i32 v20, v1; v22 = bxor.i32 v21, v1",
        ("v12", "v22"),
    );
    let all = straight(&guarded);
    assert_eq!(all[0], "v10 = imul.i32 v1, v2 if v0 else v1");
    assert_eq!(all[1], "v20 = imul.i32 v1, v3 if v0 else v1");
    assert_eq!(all[2], "v23 = select.i32 v0, v10, v20 @1:1");
    assert_eq!(all[3], "v11 = iadd.i32 v23, v1");
}

/// A division that both sides guard is bare at the head, where its lanes are all that
/// there are; under another branch's side it has that side's guard.
#[test]
fn a_merged_division_has_the_guard_around_the_region() {
    let sides = [
        "v10 = udiv.i32 v1, v2; v11 = iadd.i32 v10, v1",
        "v20 = udiv.i32 v1, v3; v21 = iadd.i32 v20, v1",
    ];
    let text = diamond(sides[0], sides[1], ("v11", "v21"));
    assert_eq!(
        straight(&text),
        [
            "v22 = select.i32 v0, v2, v3 @1:1",
            "v10 = udiv.i32 v1, v22",
            "v11 = iadd.i32 v10, v1",
            "ret v11"
        ]
    );
    let nested = text
        .replace("-> i32 {\nblock0(", "-> i32 {\nblock5(v30: pred, ")
        .replace("function %f(", "function %f(pred varying, ")
        .replace(
            "v4: i64):\n    br",
            "v4: i64):\n    br v30, block0, block4(v1) @2:2\n\nblock0:\n    br",
        )
        .replace(
            "    ret v9\n",
            "    jump block4(v9)\n\nblock4(v31: i32):\n    ret v31\n",
        );
    assert_eq!(
        straight(&nested),
        [
            "v32 = select.i32 v0, v2, v3 @2:2",
            "v10 = udiv.i32 v1, v32 if v30",
            "v11 = iadd.i32 v10, v1",
            "v33 = select.i32 v30, v11, v1 @2:2",
            "ret v33"
        ]
    );
    // Two branches around: their conjunction is there for its sake alone.
    let deeper = nested
        .replace("block5(v30: pred, ", "block6(v40: pred, v30: pred, ")
        .replace("function %f(", "function %f(pred varying, ")
        .replace(
            "    br v30,",
            "    br v40, block5, block7(v1) @5:5\n\nblock5:\n    br v30,",
        )
        .replace(
            "    ret v31\n",
            "    jump block7(v31)\n\nblock7(v41: i32):\n    ret v41\n",
        );
    let all = straight(&deeper);
    assert!(
        all[0].contains("= and v30, v40") || all[0].contains("= and v40, v30"),
        "{all:?}"
    );
    assert!(
        all.iter()
            .any(|l| l.starts_with("v10 = udiv") && l.contains(" if v42")),
        "{all:?}"
    );
    // The place of a trap is part of what a program does.
    let places = text
        .replace("v1, v2\n", "v1, v2 @3:3\n")
        .replace("v1, v3\n", "v1, v3 @4:4\n");
    let all = straight(&places);
    assert_eq!(all[0], "v10 = udiv.i32 v1, v2 if v0 @3:3");
    assert_eq!(all[2], "v20 = udiv.i32 v1, v3 if !v0 @4:4");
    // What cannot trap has no place to lose.
    let safe = text
        .replace(
            "udiv.i32 v1, v2\n",
            "const.i32 7\n    v12 = udiv.i32 v1, v10 @3:3\n",
        )
        .replace(
            "udiv.i32 v1, v3\n",
            "const.i32 9\n    v23 = udiv.i32 v1, v20 @4:4\n",
        )
        .replace("iadd.i32 v10", "iadd.i32 v12")
        .replace("iadd.i32 v20", "iadd.i32 v23");
    let all = straight(&safe);
    assert_eq!(all[2], "v24 = select.i32 v0, v10, v20 @1:1");
    assert_eq!(all[3], "v12 = udiv.i32 v1, v24 @3:3");
}

/// Loads, stores, atomics and votes stay two.
#[test]
fn what_has_an_effect_is_not_merged() {
    for inst in [
        "load.i32 can_move v4",
        "load.i32 volatile v4",
        "atomic_add.i32 v1, v4",
        "atomic_load.i32 v4",
        "ballot v0",
    ] {
        let side = |n: u32| {
            let [a, b] = [10 * n, 10 * n + 1];
            format!(
                "v{a} = {inst}; v{b} = iadd.i32 v{a}, v1; v{0} = imul.i32 v{b}, v1",
                b + 1
            )
        };
        let text = diamond(&side(1), &side(2), ("v12", "v22"));
        let all = straight(&text);
        let mnemonic = inst.split([' ', '.']).next().unwrap();
        let same = all.iter().filter(|l| l.contains(mnemonic)).count();
        assert_eq!(same, 2, "{all:?}");
        // What follows is merged all the same.
        assert_eq!(
            all.iter().filter(|l| l.contains("imul")).count(),
            1,
            "{all:?}"
        );
    }
    // Every lane keeps its order: what is stored in front of a pair stays there, what
    // is stored behind it as well.
    let crossed = diamond(
        "v10 = iadd.i32 v1, v2; v11 = imul.i32 v10, v1; store.i32 v11, v4",
        "store.i32 v3, v4; v20 = iadd.i32 v1, v3; v21 = imul.i32 v20, v1",
        ("v11", "v21"),
    );
    assert_eq!(
        straight(&crossed),
        [
            "store.i32 v3, v4 if !v0",
            "v22 = select.i32 v0, v2, v3 @1:1",
            "v10 = iadd.i32 v1, v22",
            "v11 = imul.i32 v10, v1",
            "store.i32 v11, v4 if v0",
            "ret v11"
        ]
    );
}

/// Only the sides' own instructions: what stands in a region inside is not merged
/// with what stands outside of it, nor with what stands in another one.
#[test]
fn regions_inside_stay_whole_and_in_place() {
    let text = "function %f(pred varying, pred varying, i32 varying, i32 varying) -> i32 {
block0(v0: pred, v1: pred, v2: i32, v3: i32):
    br v0, block1, block4 @1:1

block1:
    v10 = iadd.i32 v2, v3
    v11 = bxor.i32 v10, v2
    br v1, block2, block3(v11) @2:2

block2:
    v12 = imul.i32 v11, v2
    jump block3(v12)

block3(v13: i32):
    v14 = bor.i32 v13, v3
    v15 = iadd.i32 v14, v2
    jump block7(v15)

block4:
    v20 = iadd.i32 v2, v2
    v21 = bxor.i32 v20, v2
    br v1, block5, block6(v21) @3:3

block5:
    v22 = imul.i32 v21, v3
    jump block6(v22)

block6(v23: i32):
    v24 = bor.i32 v23, v3
    v25 = iadd.i32 v24, v2
    jump block7(v25)

block7(v30: i32):
    ret v30
}
";
    assert_eq!(
        straight(text),
        [
            "v31 = select.i32 v0, v3, v2 @1:1",
            "v10 = iadd.i32 v2, v31",
            "v11 = bxor.i32 v10, v2",
            "v12 = imul.i32 v11, v2 if v1 else v11",
            "v22 = imul.i32 v11, v3 if v1 else v11",
            "v32 = select.i32 v0, v12, v22 @1:1",
            "v14 = bor.i32 v32, v3",
            "v15 = iadd.i32 v14, v2",
            "ret v15"
        ]
    );
}

/// The address of a load that is not guarded must be no poison in any lane: the
/// condition of the inner branch is one off the outer side, so what chooses by it
/// cannot be an address.
#[test]
fn addresses_stay_clean() {
    let text = |condition: &str| {
        format!(
            "function %f(pred varying, i64 varying, i64 varying, i32 varying) -> i32 {{
block0(v0: pred, v1: i64, v2: i64, v3: i32):
    br v0, block1, block5(v3) @1:1

block1:
    v4 = {condition}
    v5 = icmp.i32 slt v4, v3
    br v5, block2, block3 @2:2

block2:
    v10 = iadd.i64 v1, v2
    v11 = bxor.i64 v10, v2
    v12 = load.i32 notrap can_move v11
    jump block4(v12)

block3:
    v20 = iadd.i64 v1, v1
    v21 = bxor.i64 v20, v2
    v22 = load.i32 notrap can_move v21
    jump block4(v22)

block4(v30: i32):
    jump block5(v30)

block5(v31: i32):
    ret v31
}}
"
        )
    };
    let count = |all: &[String], what: &str| all.iter().filter(|l| l.contains(what)).count();
    let clean = straight(&text("imul.i32 v3, v3"));
    assert_eq!(count(&clean, "bxor.i64"), 1, "{clean:?}");
    let poison = straight(&text("load.i32 v1"));
    assert_eq!(count(&poison, "bxor.i64"), 2, "{poison:?}");
    assert_eq!(count(&poison, "can_move"), 2, "{poison:?}");
}

/// A definition has the other side's value as its `else` only behind it. The load has
/// that of the other side, until merging puts it in front; then the other one's
/// definition has the load's.
#[test]
fn the_later_definition_takes_the_earlier_value_as_its_else() {
    let text = diamond(
        "v10 = iadd.i32 v1, v2; v11 = imul.i32 v10, v10; v12 = bxor.i32 v11, v10; v13 = bnot.i32 v12",
        "v24 = load.i32 v4; v20 = iadd.i32 v1, v3; v21 = imul.i32 v20, v20; v22 = bxor.i32 v21, v20; store.i32 v22, v4",
        ("v13", "v24"),
    );
    assert_eq!(
        straight(&text),
        [
            "v24 = load.i32 v4 if !v0",
            "v25 = select.i32 v0, v2, v3 @1:1",
            "v10 = iadd.i32 v1, v25",
            "v11 = imul.i32 v10, v10",
            "v12 = bxor.i32 v11, v10",
            "v13 = bnot.i32 v12 if v0 else v24",
            "store.i32 v12, v4 if !v0",
            "ret v13"
        ]
    );
}

/// As many candidates as fit into the window are merged, whatever the length of the
/// sides.
#[test]
fn the_window_bounds_what_is_merged() {
    let side = |first: u32, operand: &str| {
        let mut text = format!("v{first} = iadd.i32 v1, {operand}");
        for i in first + 1..first + 100 {
            text += &format!("; v{i} = iadd.i32 v{}, v1", i - 1);
        }
        text
    };
    let text = diamond(&side(100, "v2"), &side(300, "v3"), ("v199", "v399"));
    let c = converted(&text, &machine("unit"), Force::Straight, true);
    let shape = priced(&c).straight_shape.expect("it is legal");
    let window = warpfold_opt::ifconv::study::meld::WINDOW as u32;
    assert_eq!((shape.merged, shape.instructions), (window, 200 - window));
}

/// The predicates of a switch are operations, which nobody would have to pay for
/// where its two sides are one: it is left alone.
#[test]
fn sides_of_a_switch_are_not_merged() {
    let text = "\
function %f(i32 varying, i32 varying, pred varying) -> i32 {
block0(v0: i32, v1: i32, v5: pred):
    br v5, block1, block2(v0) @1:1

block1:
    switch v0, [block3, block3, block3], block4 @2:2

block3:
    v2 = imul.i32 v1, v1
    jump block5(v2)

block4:
    v3 = imul.i32 v1, v1
    jump block5(v3)

block5(v4: i32):
    jump block2(v4)

block2(v6: i32):
    ret v6
}
";
    let c = converted(text, &machine("unit"), Force::Straight, true);
    let products = lines(&c.func).iter().filter(|l| l.contains("imul")).count();
    assert_eq!(products, 2, "{}", c.func);
}
