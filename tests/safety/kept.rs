//! Rules about what must be in the converted code, or must not: accesses that stay
//! what they are, selects that never become branches, and flags that are true of an
//! instruction only where it was.
//!
//! That lanes do the same as before is checked here too; but an access that has lost
//! its flag, or kept one that is no longer true, may well do the same by accident.

use std::path::Path;

use warpfold::ir::{Function, InstData, MemFlags, Opcode, Terminator};
use warpfold::machine::Machine;
use warpfold_testkit::checks::generated::FORCES;
use warpfold_testkit::checks::regret::check_regret;
use warpfold_testkit::checks::{Subject, check, settings};

/// A buffer of 257 numbers to write, one of eight to read with nothing behind it, and
/// numbers from -2 to 2.
const LAUNCH: &str = ";! grid = 1
;! block = 64
;! [[arg]]
;! buffer = \"i64\"
;! len = 257
;! [[arg]]
;! buffer = \"i64\"
;! len = 8
;! readonly = true
;! [[arg]]
;! varying = { values = [1, -2, 0, 2, -1, 0, 1] }

";

fn insts(func: &Function) -> impl Iterator<Item = &InstData> {
    func.laid_out_insts().map(|(_, i)| func.inst(i))
}

fn flags(data: &InstData) -> Option<MemFlags> {
    data.mem().map(|(flags, _)| flags)
}

/// Whether the function still has its three volatile accesses, the two of the side
/// guarded or behind a branch.
fn volatile_accesses_stay(func: &Function) -> bool {
    let volatile = |d: &&InstData| flags(d).is_some_and(|f| f.contains(MemFlags::VOLATILE));
    let branches = func.layout.iter().any(|&b| func.term(b).is_conditional());
    let guarded = insts(func)
        .filter(volatile)
        .filter(|d| d.guard.is_some())
        .count();
    insts(func).filter(volatile).count() == 3 && (branches || guarded == 2)
}

/// Whether there are two selects and no branch more than the one written.
fn selects_stay(func: &Function) -> bool {
    let branch = |b: &&warpfold::ir::Block| {
        let mark = func.term(**b).mark();
        matches!(func.term(**b), Terminator::Br { .. }) && !mark.is_some_and(|m| m.decided)
    };
    insts(func).filter(|d| d.op == Opcode::Select).count() >= 2
        && func.layout.iter().filter(branch).count() <= 1
}

/// Whether every load that is issued for all lanes alike, in the entry and without a
/// guard, has lost the promise that it does not trap.
fn promises_die(func: &Function) -> bool {
    let entry = func.layout.first().into_iter();
    let mut bare = entry
        .flat_map(|&b| &func.block(b).insts)
        .map(|&i| func.inst(i))
        .filter(|d| d.op == Opcode::Load && d.guard.is_none());
    bare.all(|d| flags(d).is_some_and(|f| !f.contains(MemFlags::NOTRAP)))
}

/// The rule, what must hold of the converted code, the file's name and the kernel.
type Rule = (
    &'static str,
    fn(&Function) -> bool,
    &'static str,
    &'static str,
);

const RULES: &[Rule] = &[
    (
        "volatile accesses stay what they are, in order, and are never speculated",
        volatile_accesses_stay,
        "volatile.wf",
        "function %volatile(i64, i64, i32 varying) {
block0(v0: i64, v1: i64, v2: i32):
    v3 = tid_x
    v4 = uextend.i64 v3
    v5 = const.i64 5
    v6 = ishl.i64 v4, v5
    v7 = iadd.i64 v0, v6
    v8 = const.i32 0
    v9 = icmp.i32 sgt v2, v8
    store.i32 notrap aligned v3, v7
    br v9, block1, block2(v8)

block1:
    v10 = load.i32 notrap aligned can_move volatile v7
    store.i32 notrap aligned volatile v2, v7
    v13 = iadd.i32 v10, v3
    jump block2(v13)

block2(v11: i32):
    v12 = load.i32 notrap aligned volatile v7
    store.i32 notrap aligned v11, v7+8
    store.i32 notrap aligned v12, v7+16
    ret
}
",
    ),
    (
        "a select that guards against speculation never becomes a branch",
        selects_stay,
        "spectre.clif",
        "function %spectre(i64, i64, i32) {
    fn0 = %tid_x() -> i32

block0(v0: i64, v1: i64, v2: i32):
    v3 = call fn0()
    v4 = uextend.i64 v3
    v5 = iconst.i64 5
    v6 = ishl v4, v5
    v7 = iadd v0, v6
    v8 = iconst.i32 0
    v9 = icmp sgt v2, v8
    v10 = icmp ult v3, v2
    v11 = select_spectre_guard v10, v3, v2
    brif v9, block1, block2(v11)
block1:
    v12 = select_spectre_guard v10, v11, v8
    v13 = imul v12, v3
    jump block2(v13)
block2(v14: i32):
    store notrap aligned v14, v7
    return
}
",
    ),
    (
        "what is promised of a load behind a test is not promised before it",
        promises_die,
        "promise.clif",
        "function %promise(i64, i64, i32) {
    fn0 = %tid_x() -> i32

block0(v0: i64, v1: i64, v2: i32):
    v3 = call fn0()
    v4 = uextend.i64 v3
    v5 = iconst.i64 5
    v6 = ishl v4, v5
    v7 = iadd v0, v6
    v8 = iconst.i64 56
    v9 = band v6, v8
    v10 = iadd v1, v9
    v11 = iconst.i32 8
    v12 = icmp ult v3, v11
    brif v12, block1, block2(v6)
block1:
    v13 = load.i64 notrap aligned readonly can_move v10
    v14 = iadd v13, v4
    jump block2(v14)
block2(v15: i64):
    store notrap aligned v15, v7
    return
}
",
    ),
];

#[test]
fn what_must_stay_stays_and_what_must_die_dies() {
    for &(rule, holds, file, kernel) in RULES {
        let text = format!("{LAUNCH}{kernel}");
        let subject =
            Subject::read(&text, file, Path::new(".")).unwrap_or_else(|e| panic!("{rule}: {e}"));
        let mut converted = 0;
        for machine in ["unit", "ampere"] {
            let machine = Machine::builtin(machine).unwrap();
            for force in FORCES {
                let tally = check(&subject, &machine, force, None);
                converted += tally.unwrap_or_else(|e| panic!("{rule}: {e}")).converted;
                for cleanup in [false, true] {
                    let settings = settings(&machine, force, cleanup);
                    let optimized = subject.canonical().clone().convert(&settings).unwrap();
                    let func = optimized.func();
                    assert!(holds(func), "{rule}, {force:?}:\n{func}");
                }
            }
        }
        assert!(converted >= 4, "{rule}: {converted}");
        let found = check_regret(&subject, 256).unwrap_or_else(|e| panic!("{rule}: {e}"));
        assert!(found.is_some_and(|c| c.assignments >= 2), "{rule}");
    }
}
