//! Rules of if-conversion that people have got wrong before: for each a kernel
//! that a wrong conversion does something else with, under every form, by cost, and
//! under every legal assignment.
//!
//! Lanes differ in all kernels: half a warp's lanes or fewer go either way, off
//! their side divisors are zero and addresses point nowhere. What is stored, read,
//! added and trapped by each lane must be the same before and after.

#[path = "safety/kept.rs"]
mod kept;

use std::path::Path;

use warpfold::Options;
use warpfold::machine::Machine;
use warpfold_testkit::checks::generated::FORCES;
use warpfold_testkit::checks::regret::check_regret;
use warpfold_testkit::checks::{Subject, Tally, check};

/// `v0` is the output, `v1` a table of eight numbers with nothing behind it, each
/// 4096 more than the offset of one of them, `v2`
/// lane numbers modulo 5, `v3` numbers from -2 to 2, `v13` the lane's own 32
/// bytes of the output, `v14` the own number's address in the table (out of bounds
/// for most lanes), `v15` whether the lane is odd, `v16` whether `v3` is above 0.
const FRAME: &str = ";! grid = 1
;! block = 64
;! [[arg]]
;! buffer = \"i64\"
;! len = 257
;! [[arg]]
;! buffer = \"i64\"
;! len = 8
;! readonly = true
;! init = { values = [4104, 4096, 4152, 4120, 4128, 4112, 4144, 4136] }
;! [[arg]]
;! varying = \"lane % 5\"
;! [[arg]]
;! varying = { values = [1, -2, 0, 2, -1, 0, 1] }

function %safety(i64, i64, i32, i32) {
    fn0 = %tid_x() -> i32
    fn1 = %ballot(i8) -> i32
    fn2 = %barrier()
    fn3 = %ntid_x() -> i32

block0(v0: i64, v1: i64, v2: i32, v3: i32):
    v4 = call fn0()
    v5 = uextend.i64 v4
    v6 = iconst.i64 5
    v7 = ishl v5, v6
    v13 = iadd v0, v7
    v8 = iconst.i64 3
    v9 = ishl v5, v8
    v14 = iadd v1, v9
    v10 = iconst.i32 1
    v15 = band v4, v10
    v11 = iconst.i32 0
    v16 = icmp sgt v3, v11
    v12 = iconst.i32 8
    v17 = icmp ult v4, v12
";

/// The rule, what follows the frame, and whether any form but the branch is legal
/// for the first branch.
const RULES: &[(&str, bool, &str)] = &[
    (
        "ballots in an arm see the arm's lanes only",
        true,
        "    brif v15, block1, block2(v11)
block1:
    v20 = call fn1(v16)
    jump block2(v20)
block2(v21: i32):
    store notrap aligned v21, v13
    return
",
    ),
    (
        "a ballot to which two ways lead is not taken by both at once",
        false,
        "    brif v15, block1, block3
block1:
    brif v16, block2, block3
block2:
    jump block4(v11)
block3:
    v20 = call fn1(v17)
    jump block4(v20)
block4(v21: i32):
    store notrap aligned v21, v13
    return
",
    ),
    (
        "a load behind a test of its index is not speculated, `notrap` or not",
        true,
        "    v20 = iconst.i64 7
    brif v17, block1, block2(v20)
block1:
    v21 = load.i64 notrap aligned readonly v14
    jump block2(v21)
block2(v22: i64):
    store notrap aligned v22, v13
    return
",
    ),
    (
        "a division behind a test of its divisor does not trap",
        true,
        "    brif v3, block1, block2(v11)
block1:
    v20 = sdiv v2, v3
    v21 = srem v4, v3
    v22 = iadd v20, v21
    jump block2(v22)
block2(v23: i32):
    store notrap aligned v23, v13
    return
",
    ),
    (
        "a division by an active zero still traps",
        true,
        "    brif v15, block1, block2(v11)
block1:
    store notrap aligned v4, v13+8
    v20 = sdiv v2, v3
    store notrap aligned v20, v13+16
    jump block2(v20)
block2(v21: i32):
    store notrap aligned v21, v13
    return
",
    ),
    (
        "traps in an arm keep their order with its stores",
        true,
        "    brif v15, block1, block2
block1:
    store notrap aligned v2, v13
    trapz v3, user7
    store notrap aligned v3, v13+8
    trapnz v16, user8
    store notrap aligned v4, v13+16
    jump block2
block2:
    store notrap aligned v4, v13+24
    return
",
    ),
    (
        "a conditional store touches nothing in other lanes",
        true,
        "    v20 = select.i64 v15, v13, v1
    brif v15, block1, block2
block1:
    store aligned v4, v20
    jump block2
block2:
    store notrap aligned v3, v13+8
    return
",
    ),
    (
        "stores of both sides to one place, and what is read between",
        true,
        "    brif v16, block1, block2
block1:
    store notrap aligned v2, v13
    v20 = load.i32 notrap aligned v13
    jump block3(v20)
block2:
    store notrap aligned v4, v13
    store notrap aligned v3, v13
    v21 = load.i32 notrap aligned v13
    jump block3(v21)
block3(v22: i32):
    store notrap aligned v22, v13+8
    return
",
    ),
    (
        "atomics of both sides stay what they are",
        true,
        "    v20 = iconst.i64 2048
    v21 = iadd v0, v20
    brif v16, block1, block2
block1:
    v22 = atomic_rmw.i64 notrap aligned add v21, v5
    jump block3
block2:
    v23 = atomic_rmw.i64 notrap aligned add v21, v8
    v24 = atomic_rmw.i64 notrap aligned sub v21, v5
    jump block3
block3:
    return
",
    ),
    (
        "minimum and maximum of floats are selects where NaN and zeros differ",
        true,
        "    v20 = fcvt_from_sint.f32 v3
    v21 = fcvt_from_sint.f32 v2
    v22 = f32const 0.0
    v23 = fdiv v20, v22
    v24 = fneg v22
    v25 = fcmp lt v23, v21
    brif v25, block1, block2(v21)
block1:
    jump block2(v23)
block2(v26: f32):
    v27 = fcmp lt v22, v24
    v28 = fcmp gt v26, v24
    brif v28, block3(v26), block3(v24)
block3(v29: f32):
    v30 = bitcast.i32 v29
    v31 = fcmp uno v26, v26
    v32 = select v31, v11, v30
    store notrap aligned v32, v13
    return
",
    ),
    (
        "both edges to one block, with each other's arguments",
        true,
        "    brif v15, block1(v2, v3), block1(v3, v2)
block1(v20: i32, v21: i32):
    brif v16, block2(v21, v20), block2(v20, v20)
block2(v22: i32, v23: i32):
    store notrap aligned v22, v13
    store notrap aligned v23, v13+8
    return
",
    ),
    (
        "a way that is reached twice is taken once, and by its lanes only",
        true,
        "    brif v15, block1, block2(v2)
block1:
    v20 = iadd v3, v4
    brif v16, block2(v20), block3(v20)
block2(v21: i32):
    store notrap aligned v21, v13
    v22 = imul v21, v21
    jump block3(v22)
block3(v23: i32):
    store notrap aligned v23, v13+8
    return
",
    ),
    (
        "entries of a switch and its default exclude each other",
        true,
        "    br_table v2, block3(v4), [block1, block2(v2), block1, block2(v3)]
block1:
    store notrap aligned v4, v13
    v20 = iadd v4, v2
    jump block3(v20)
block2(v21: i32):
    v22 = isub v21, v4
    store notrap aligned v22, v13
    jump block3(v22)
block3(v23: i32):
    store notrap aligned v23, v13+8
    return
",
    ),
    (
        "lanes that return early are gone, the others are not",
        true,
        "    brif v15, block1, block4
block1:
    store notrap aligned v2, v13
    brif v16, block2, block3
block2:
    store notrap aligned v3, v13+8
    return
block3:
    store notrap aligned v4, v13+8
    jump block4
block4:
    store notrap aligned v4, v13+16
    return
",
    ),
    (
        "an address that a skipped or guarded load gives is not used elsewhere",
        true,
        "    v20 = iconst.i64 0
    brif v17, block1, block2(v20)
block1:
    v21 = load.i64 notrap aligned readonly v14
    v22 = iconst.i64 -4096
    v23 = iadd v1, v22
    v25 = iadd v23, v21
    v26 = load.i64 notrap aligned readonly can_move v25
    brif v16, block3, block2(v26)
block3:
    v29 = iadd v23, v26
    v30 = load.i64 notrap aligned readonly can_move v29
    jump block2(v30)
block2(v31: i64):
    store notrap aligned v31, v13
    return
",
    ),
    (
        "a load of either side traps in its own place, and in front of what follows",
        true,
        "    brif v15, block1, block2
block1:
    v20 = load.i64 v14
    store notrap aligned v20, v13
    jump block3
block2:
    v30 = load.i64 v14+8
    v31 = load.i64 v14
    store notrap aligned v31, v13
    jump block3
block3:
    return
",
    ),
    (
        "loads in front of a store of their side read what was there before it",
        true,
        "    store notrap aligned v3, v13
    brif v16, block1, block2
block1:
    v20 = load.i32 notrap aligned v13
    store notrap aligned v2, v13
    v21 = load.i32 notrap aligned v13
    v22 = iadd v20, v21
    store notrap aligned v22, v13+8
    jump block3
block2:
    store notrap aligned v4, v13
    v30 = load.i32 notrap aligned v13
    v31 = isub v30, v3
    store notrap aligned v31, v13+8
    jump block3
block3:
    v40 = load.i32 notrap aligned v13
    store notrap aligned v40, v13+16
    return
",
    ),
    (
        "what both sides compute has the operands of the lane's own side",
        true,
        "    brif v15, block1, block2
block1:
    v20 = isub v2, v3
    v21 = imul v20, v4
    v22 = bxor v21, v2
    store notrap aligned v20, v13+8
    jump block3(v22, v20)
block2:
    v30 = isub v3, v4
    v31 = imul v30, v4
    v32 = bxor v31, v2
    v33 = iadd v32, v32
    jump block3(v32, v33)
block3(v40: i32, v41: i32):
    store notrap aligned v40, v13
    store notrap aligned v41, v13+16
    return
",
    ),
    (
        "in regions inside as well, each with its own side's",
        true,
        "    brif v15, block1, block4(v2)
block1:
    v20 = isub v2, v4
    brif v16, block2, block3
block2:
    v21 = isub v3, v20
    v22 = imul v21, v20
    v23 = bxor v22, v2
    jump block4(v23)
block3:
    v24 = isub v4, v20
    v25 = imul v20, v24
    v26 = bxor v25, v2
    jump block4(v26)
block4(v27: i32):
    store notrap aligned v27, v13
    return
",
    ),
    (
        "an address of both sides is not chosen by what only the outer side has loaded",
        true,
        "    v20 = iconst.i64 8
    v21 = iconst.i64 16
    v22 = iconst.i64 0
    v23 = iconst.i64 4120
    v26 = iconst.i64 56
    v27 = band v9, v26
    brif v17, block1, block4(v22)
block1:
    v24 = load.i64 notrap aligned readonly v14
    v25 = icmp ugt v24, v23
    brif v25, block2, block3
block2:
    v30 = bxor v27, v20
    v31 = iadd v1, v30
    v32 = load.i64 notrap aligned readonly can_move v31
    jump block4(v32)
block3:
    v40 = bxor v27, v21
    v41 = iadd v1, v40
    v42 = load.i64 notrap aligned readonly can_move v41
    jump block4(v42)
block4(v43: i64):
    store notrap aligned v43, v13
    return
",
    ),
    (
        "a division of either side traps in its own place",
        true,
        "    brif v15, block1, block2
block1:
    v20 = sdiv v2, v3
    v21 = iadd v20, v4
    v22 = imul v21, v21
    jump block3(v22)
block2:
    v30 = sdiv v4, v3
    v31 = iadd v30, v4
    v32 = imul v31, v31
    jump block3(v32)
block3(v40: i32):
    store notrap aligned v40, v13
    return
",
    ),
    (
        "a division by either of two constants is one by a constant nowhere else",
        true,
        "    v20 = iconst.i32 3
    v21 = iconst.i32 -1
    v22 = iconst.i32 7
    brif v3, block1, block4(v11)
block1:
    v23 = srem v4, v3
    brif v23, block2, block3
block2:
    v24 = imul v2, v4
    v25 = udiv v24, v20
    v26 = iadd v25, v4
    jump block4(v26)
block3:
    v34 = imul v3, v4
    v35 = udiv v34, v22
    v36 = iadd v35, v4
    jump block4(v36)
block4(v40: i32):
    store notrap aligned v40, v13
    return
",
    ),
    (
        "barriers never move into straight code",
        false,
        "    v20 = call fn3()
    brif v20, block2, block3
block2:
    call fn2()
    jump block3
block3:
    store notrap aligned v4, v13
    return
",
    ),
];

#[test]
fn no_rule_is_broken_under_any_form() {
    let mut compared = 0;
    let both = |rule| [false, true].map(|accesses| (rule, accesses));
    for (&(rule, legal, rest), merge_accesses) in RULES.iter().flat_map(both) {
        let text = format!("{FRAME}{rest}}}\n");
        let options = Options {
            merge_accesses,
            ..Options::default()
        };
        let subject = Subject::read_by(&text, "safety.clif", Path::new("."), options)
            .unwrap_or_else(|e| panic!("{rule}: {e}"));
        let expected = subject.expected().unwrap_or_else(|e| panic!("{rule}: {e}"));
        let mut converted = 0;
        for machine in ["unit", "ampere"] {
            let machine = Machine::builtin(machine).unwrap();
            for force in FORCES {
                let tally: Tally = check(&subject, &machine, force, expected.as_ref())
                    .unwrap_or_else(|e| panic!("{rule}: {e}"));
                converted += tally.converted;
            }
        }
        assert_eq!(converted > 0, legal, "{rule}");
        let found = check_regret(&subject, 256).unwrap_or_else(|e| panic!("{rule}: {e}"));
        compared += found.map_or(0, |c| c.assignments);
    }
    assert!(compared >= 120, "{compared}");
}
