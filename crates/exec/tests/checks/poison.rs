//! Where poison must not be, and where it may.

use super::*;
use warpfold_exec::{GLOBAL_BASE, Memory, PoisonUse};

/// Lines after some on which `v2` is true in odd lanes, `v3` is poison in even
/// lanes, `v4` is a predicate that is, `v5` an address, `v6` a true and `v7` a false
/// predicate.
fn run(lines: &str) -> Result<Checked, CheckError> {
    let func = kernel(&format!(
        "    v0 = tid_x
    v1 = const.i32 1
    v8 = band.i32 v0, v1
    v2 = icmp.i32 eq v8, v1
    v3 = iadd.i32 v0, v1 if v2
    v4 = icmp.i32 eq v3, v3
    v5 = const.i64 {GLOBAL_BASE}
    v6 = icmp.i32 eq v0, v0
    v7 = icmp.i32 ne v0, v0
{lines}"
    ));
    let mut launch = Launch::linear(1, 32);
    launch.memory = Memory::new();
    launch.memory.add(vec![0; 4096], false);
    check(&func, None, &launch, false)
}

/// Uses of poison, in the lanes where it is.
#[test]
fn forbidden_uses_are_found() {
    let cases = [
        ("    v10 = iadd.i32 v0, v1 if v4\n    ret", PoisonUse::Guard),
        ("    exit if v4\n    ret", PoisonUse::Guard),
        (
            "    br v4, block1, block1\n\nblock1:\n    ret",
            PoisonUse::Condition,
        ),
        (
            "    switch v3, [block1], block1\n\nblock1:\n    ret",
            PoisonUse::Condition,
        ),
        (
            "    v10 = uextend.i64 v3\n    v11 = band.i64 v10, v10\n    v12 = iadd.i64 v5, v11\n    \
             v13 = load.i32 v12\n    ret",
            PoisonUse::Address,
        ),
        ("    store.i32 v3, v5\n    ret", PoisonUse::Stored),
        (
            "    v10 = atomic_add.i32 v3, v5\n    ret",
            PoisonUse::Stored,
        ),
        ("    v10 = ballot v4\n    ret", PoisonUse::CrossLane),
        ("    v10 = vote_any v4\n    ret", PoisonUse::CrossLane),
        ("    v10 = read_first.i32 v3\n    ret", PoisonUse::CrossLane),
        (
            "    v10 = shfl_idx.i32 v0, v3\n    ret",
            PoisonUse::CrossLane,
        ),
    ];
    for (lines, expected) in cases {
        match run(lines) {
            Err(CheckError::Poison { used, at, made, .. }) => {
                assert_eq!(used, expected, "{lines}");
                assert_eq!(at.lanes, 0x5555_5555, "{lines}");
                // The guarded sum without `else`.
                let (site, _) = made.expect("known");
                assert_eq!(site.to_string(), "inst4", "{lines}");
            }
            other => panic!("{lines}: {other:?}"),
        }
    }
}

#[test]
fn poison_that_nobody_sees_is_none() {
    for lines in [
        // Lane-wise code may compute on it, and guards may keep it out.
        "    v10 = imul.i32 v3, v3\n    ret",
        "    v10 = read_first.i32 v3 if v2\n    store.i32 v10, v5 if v2\n    ret",
        "    store.i32 v3, v5 if v2\n    ret",
        "    v10 = ballot v4 if v2 else v0\n    v11 = ballot v2\n    store.i32 v11, v5\n    ret",
        // A select hands on what it chooses.
        "    v10 = select.i32 v2, v3, v0\n    v11 = read_first.i32 v10\n    ret",
        // A deciding operand hides it.
        "    v10 = and v4, v7\n    v11 = ballot v10\n    ret",
        "    v10 = and v4, v2\n    v11 = ballot v10\n    ret",
        "    v10 = or v6, v4\n    v11 = ballot v10\n    ret",
        "    v10 = andn v4, v6\n    v11 = ballot v10\n    ret",
        "    v10 = andn v7, v4\n    v11 = ballot v10\n    ret",
        // An `else` takes its place.
        "    v10 = iadd.i32 v3, v1 if v2 else v0\n    v11 = read_first.i32 v10\n    ret",
        // A bare instruction defines it again in each round.
        "    jump block1(v3)\n\nblock1(v10: i32):\n    v11 = ushr.i32 v0, v1\n    \
         v12 = icmp.i32 ugt v11, v10 if v2 else v7\n    br v7, block1(v11), block2\n\nblock2:\n    ret",
    ] {
        let checked = run(lines).unwrap_or_else(|e| panic!("{lines}: {e}"));
        assert_eq!(checked.claims, 0);
    }
}

#[test]
fn poison_is_handed_on_exactly() {
    // In each, poison gets through in some lanes only.
    let cases = [
        (
            "    v10 = select.i32 v2, v0, v3\n    v11 = read_first.i32 v10\n    ret",
            0x5555_5555,
        ),
        (
            "    v10 = select.i32 v4, v0, v0\n    v11 = read_first.i32 v10\n    ret",
            0x5555_5555,
        ),
        (
            "    v10 = and v4, v6\n    v11 = ballot v10\n    ret",
            0x5555_5555,
        ),
        (
            "    v10 = or v4, v2\n    v11 = ballot v10\n    ret",
            0x5555_5555,
        ),
        (
            "    v10 = andn v6, v4\n    v11 = ballot v10\n    ret",
            0x5555_5555,
        ),
        (
            "    v10 = xor v4, v4\n    v11 = ballot v10\n    ret",
            0x5555_5555,
        ),
        (
            "    v10 = iadd.i32 v0, v1 if v2 else v3\n    v11 = read_first.i32 v10\n    ret",
            0x5555_5555,
        ),
        (
            "    v10 = iadd.i32 v3, v1 if !v2 else v0\n    v11 = read_first.i32 v10\n    ret",
            0x5555_5555,
        ),
        (
            "    v10 = poison.i32\n    v11 = read_first.i32 v10\n    ret",
            u32::MAX,
        ),
        (
            "    jump block1(v3, v0)\n\nblock1(v10: i32, v11: i32):\n    jump block2(v11, v10)\n\n\
             block2(v12: i32, v13: i32):\n    v14 = read_first.i32 v12\n    \
             v15 = read_first.i32 v13\n    ret",
            0x5555_5555,
        ),
    ];
    for (lines, lanes) in cases {
        match run(lines) {
            Err(CheckError::Poison { at, .. }) => assert_eq!(at.lanes, lanes, "{lines}"),
            other => panic!("{lines}: {other:?}"),
        }
    }
}

/// A lane that traps by what an operand happens to hold.
#[test]
fn a_trap_by_poison_is_found() {
    let error = run("    v10 = band.i32 v3, v8\n    v11 = udiv.i32 v0, v10\n    ret").unwrap_err();
    let CheckError::Poison { used, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(used, PoisonUse::Trapping);
}

#[test]
fn calls_hand_poison_on_and_returns_must_not() {
    let text = "function %f() {
    fn0 = %g(i32) -> i32

block0:
    v0 = poison.i32
    v1 = call fn0(v0)
    ret
}

function %g(i32) -> i32 {
block0(v0: i32):
    ret v0
}
";
    let module = warpfold_ir::parse_module(text).unwrap();
    warpfold_ir::verify_module(&module).unwrap();
    let functions: Vec<&Function> = module.functions.iter().collect();
    let checks = Checks {
        poison: true,
        ..Checks::NONE
    };
    let launch = Launch::linear(1, 32);
    let how = ExecOptions::default();
    let error = run_checked(&functions, 0, &launch, &how, &checks).unwrap_err();
    let ExecError::Check(error) = error else {
        panic!("{error}");
    };
    assert_eq!(
        error.to_string(),
        "poison at end of block0 (-), block 0, warp 0, lanes 0xffffffff: v0 is used as a \
         returned value; the poison is from inst0 (-)"
    );
}
