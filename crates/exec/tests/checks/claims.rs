//! False claims: planted mistakes of the analysis, and claims about one
//! function held against another with the same names.

use super::*;
use warpfold_exec::Site;

struct Program {
    text: &'static str,
    block: [u32; 3],
    /// Whether the analysis is told the block's sizes.
    told: bool,
    arg: fn(u64) -> i64,
    /// What the false claim is about.
    about: &'static str,
}

impl Program {
    /// With the fault a claim is false; without, all hold.
    fn catches(&self, fault: Fault) {
        let func = function(self.text);
        let threads = u64::from(self.block.iter().product::<u32>());
        let mut launch = Launch::linear(1, 1);
        launch.block = self.block;
        launch.args = func
            .params
            .iter()
            .map(|_| by_thread(threads, self.arg))
            .collect();
        let shape = match self.told {
            true => LaunchShape::new(launch.grid, launch.block),
            false => LaunchShape::one_dimensional(),
        };
        let right = Uniformity::new(&func, &options(shape, None));
        if let Err(e) = check(&func, Some(&right), &launch, false) {
            panic!("without a fault: {e}");
        }
        let wrong = Uniformity::new(&func, &options(shape, Some(fault)));
        match check(&func, Some(&wrong), &launch, false) {
            Err(CheckError::Claim { value, at, .. }) => {
                let about = value.map_or("a block".to_owned(), |v| v.to_string());
                assert_eq!(about, self.about);
                assert_ne!(at.lanes, 0);
            }
            other => panic!("{fault:?} goes unnoticed: {other:?}"),
        }
    }
}

#[test]
fn labels_not_forwarded_to_exits_are_caught() {
    Program {
        text: "function %f(i32 varying) -> i32 {
block0(v0: i32):
    v1 = const.i32 0
    v2 = const.i32 1
    jump block1(v1)

block1(v3: i32):
    v4 = icmp.i32 eq v3, v0
    br v4, block3, block2

block2:
    v5 = iadd.i32 v3, v2
    v6 = const.i32 3
    v7 = icmp.i32 ult v5, v6
    br v7, block1(v5), block4

block3:
    jump block5(v1)

block4:
    jump block5(v2)

block5(v8: i32):
    ret v8
}
",
        block: [32, 1, 1],
        told: false,
        arg: |t| t as i64 % 5,
        // `block3` runs with some lanes only; behind it `v8` is wrong, too.
        about: "a block",
    }
    .catches(Fault::ExitLabels);
}

#[test]
fn a_missing_temporal_rule_is_caught() {
    Program {
        text: "function %f(i32 varying) -> i32 {
block0(v0: i32):
    v1 = const.i32 0
    v2 = const.i32 1
    jump block1(v1)

block1(v3: i32):
    v4 = iadd.i32 v3, v2
    v5 = icmp.i32 ult v4, v0
    br v5, block1(v4), block2

block2:
    v6 = iadd.i32 v4, v2
    ret v6
}
",
        block: [32, 1, 1],
        told: false,
        arg: |t| t as i64 % 5,
        about: "v4",
    }
    .catches(Fault::Temporal);
}

#[test]
fn block_labels_for_edge_labels_are_caught() {
    Program {
        text: "function %f(i32 varying) -> i32 {
block0(v0: i32):
    v1 = const.i32 7
    v2 = const.i32 9
    switch v0, [block1(v1), block1(v2)], block1(v1)

block1(v3: i32):
    ret v3
}
",
        block: [32, 1, 1],
        told: false,
        arg: |t| t as i64 % 3,
        about: "v3",
    }
    .catches(Fault::BlockLabels);
}

#[test]
fn convergent_operations_taken_for_loop_invariant_are_caught() {
    Program {
        text: "function %f(i32 varying) -> i32 {
block0(v0: i32):
    v1 = const.i32 0
    v2 = const.i32 1
    v3 = icmp.i32 eq v1, v1
    jump block1(v1)

block1(v4: i32):
    v5 = ballot v3
    v6 = iadd.i32 v4, v2
    v7 = icmp.i32 ult v6, v0
    br v7, block1(v6), block2

block2:
    v8 = iadd.i32 v5, v2
    ret v8
}
",
        block: [32, 1, 1],
        told: false,
        arg: |t| t as i64 % 5,
        about: "v5",
    }
    .catches(Fault::Convergent);
}

#[test]
fn alignment_assumed_for_two_dimensions_is_caught() {
    Program {
        text: "function %f() -> i32 {
block0:
    v0 = tid_x
    v1 = const.i32 5
    v2 = ushr.i32 v0, v1
    ret v2
}
",
        block: [65, 2, 1],
        told: true,
        arg: |_| 0,
        about: "v0",
    }
    .catches(Fault::Alignment);
}

#[test]
fn a_signed_division_as_a_shift_is_caught() {
    Program {
        text: "function %f() -> i32 {
block0:
    v0 = tid_x
    v1 = const.i32 64
    v2 = isub.i32 v0, v1
    v3 = const.i32 32
    v4 = sdiv.i32 v2, v3
    ret v4
}
",
        block: [64, 1, 1],
        told: true,
        arg: |_| 0,
        about: "v4",
    }
    .catches(Fault::SignedShift);
}

/// An index of 8 bits wraps around between two warps of a row, and more than once in
/// a long one: extended it goes on no more, and its comparison guards no tail.
#[test]
fn narrow_indices_end_a_row() {
    for block in [[65, 2, 1], [1024, 1, 1]] {
        let func = function(
            "function %f() -> i32 {
block0:
    v0 = tid_y
    v1 = ntid_x
    v2 = imul.i32 v0, v1
    v3 = tid_x
    v4 = iadd.i32 v2, v3
    v5 = ireduce.i8 v4
    v6 = sextend.i32 v5
    v7 = uextend.i32 v5
    v8 = const.i8 40
    v9 = icmp.i8 ult v5, v8
    br v9, block1, block2

block1:
    jump block2

block2:
    v10 = iadd.i32 v6, v7
    ret v10
}
",
        );
        let mut launch = Launch::linear(1, 1);
        launch.block = block;
        let shape = LaunchShape::new([1; 3], block);
        let claims = Uniformity::new(&func, &options(shape, None));
        if let Err(e) = check(&func, Some(&claims), &launch, false) {
            panic!("{block:?}: {e}");
        }
    }
}

/// Every fault is one that some test above plants.
#[test]
fn the_list_is_complete() {
    let here = include_str!("claims.rs");
    for fault in Fault::ALL {
        assert!(
            here.contains(&format!("catches(Fault::{fault:?})")),
            "{fault:?}"
        );
    }
}

/// Claims about `of`, a function with the names of `func`, when `func` runs in
/// two blocks of 64 threads.
fn against(func: &str, of: &str, arg: fn(u64) -> i64) -> Result<Checked, CheckError> {
    let of = function(of);
    let shape = LaunchShape::new([2, 1, 1], [64, 1, 1]);
    let claims = Uniformity::new(&of, &options(shape, None));
    let func = function(func);
    let args = func.params.iter().map(|_| by_thread(128, arg)).collect();
    check(
        &func,
        Some(&claims),
        &Launch::linear(2, 64).with_args(args),
        false,
    )
}

#[track_caller]
fn refused(result: Result<Checked, CheckError>, claim: &str, found: &str) {
    match result {
        Err(CheckError::Claim {
            claim: c, found: f, ..
        }) => assert!(c.contains(claim) && f.contains(found), "`{c}`; {f}"),
        other => panic!("{other:?}"),
    }
}

const PARAMETER: [&str; 2] = [
    "function %f(i32 varying) -> i32 {\nblock0(v0: i32):\n    v1 = iadd.i32 v0, v0\n    ret v1\n}\n",
    "function %f(i32) -> i32 {\nblock0(v0: i32):\n    v1 = iadd.i32 v0, v0\n    ret v1\n}\n",
];

#[test]
fn claims_are_compared_at_every_scope() {
    let [func, of] = PARAMETER;
    refused(
        against(func, of, |t| t as i64),
        "uniform(grid)",
        "lane 0 holds 0x0 and lane 1 0x1",
    );
    refused(
        against(func, of, |t| t as i64 / 32),
        "uniform(grid)",
        "thread 32",
    );
    refused(
        against(func, of, |t| t as i64 / 64),
        "uniform(grid)",
        "thread 64",
    );
    let checked = against(func, of, |_| 5).unwrap();
    // Four warps, two values; three warps are not the first, in a block or in
    // the grid: 3 + 2 for each value.
    assert_eq!((checked.claims, checked.wide), (8, 2 * (3 + 2)));
    assert_eq!(checked.unrecorded, 0);
}

/// Inside of a loop a claim at block scope is about one round: warps that go
/// round at different times are not compared.
#[test]
fn wide_claims_are_about_one_instance() {
    let text = "function %f(i32 varying) -> i32 {
block0(v0: i32):
    v1 = const.i32 0
    v2 = const.i32 1
    jump block1(v1)

block1(v3: i32):
    v4 = iadd.i32 v3, v2
    v5 = icmp.i32 ult v4, v0
    br v5, block1(v4), block2

block2:
    ret v2
}
";
    let checked = against(text, text, |t| 1 + t as i64 / 32).unwrap();
    assert!(checked.wide > 10, "{checked:?}");
    // What is uniform in the grid in each round is compared round by round.
    let wrong = text.replace("ult v4, v0", "ult v4, v2");
    refused(
        against(
            &wrong.replace("iadd.i32 v3, v2", "iadd.i32 v3, v0"),
            text,
            |t| 1 + t as i64 / 64,
        ),
        "uniform(grid)",
        "thread 64",
    );
}

/// A branch and its claims, of an `of` that says otherwise.
fn branch(cond: &str, of: &str, arg: fn(u64) -> i64) -> Result<Checked, CheckError> {
    let text = |cond: &str| {
        format!(
            "function %f(i32 varying) -> i32 {{
block0(v0: i32):
    v1 = tid_x
    v2 = const.i32 1
    v3 = band.i32 v1, v2
    v4 = const.i32 40
    v5 = icmp.i32 {cond}
    br v5, block1, block2

block1:
    jump block2

block2:
    ret v3
}}
"
        )
    };
    against(&text(cond), &text(of), arg)
}

#[test]
fn masks_are_compared() {
    assert!(branch("eq v3, v2", "eq v3, v2", |_| 0).is_ok());
    let result = branch("ne v3, v2", "eq v3, v2", |_| 0);
    refused(result.clone(), "mask 0xaaaaaaaa", "0x55555555 take edge 0");
    let error = result.unwrap_err();
    assert!(matches!(error.at().site, Site::Term(_)), "{error}");
}

#[test]
fn tail_guards_are_compared() {
    for bound in ["ult v1, v4", "slt v1, v4", "ugt v4, v1"] {
        assert!(branch(bound, bound, |_| 0).is_ok(), "{bound}");
    }
    refused(
        branch("ult v3, v2", "ult v1, v4", |_| 0),
        "tail guard",
        "changes 31 times",
    );
}

#[test]
fn splits_of_uniform_branches_are_noticed() {
    // Nothing is claimed of what a load or a parameter gives, only of what is
    // done with it; so the condition is claimed uniform, and is compared first.
    refused(
        branch("ult v0, v2", "ult v4, v2", |t| t as i64),
        "const 0",
        "claimed uniform",
    );
}

#[test]
fn block_scopes_are_compared() {
    let text = |guard: &str| {
        format!(
            "function %f(i32 varying) -> i32 {{
block0(v0: i32):
    v1 = const.i32 3
    v2 = icmp.i32 ult v0, v1
    v3 = ctaid_x
    v5 = const.i32 1
    v6 = icmp.i32 ne v3, v5
    exit if {guard}
    jump block1

block1:
    ret v0
}}
"
        )
    };
    let (lanes, blocks) = (text("v2"), text("!v6"));
    assert!(against(&lanes, &lanes, |t| t as i64 % 8).is_ok());
    assert!(against(&blocks, &blocks, |_| 0).is_ok());
    refused(
        against(&lanes, &blocks, |t| t as i64 % 8),
        "exec block",
        "all lanes of the block, but 0x07070707 are missing",
    );
    // The lanes of a whole warp leave: the others pass block1 more often.
    refused(
        against(&lanes, &blocks, |t| t as i64 / 32 * 8),
        "lanes of the block",
        "less often",
    );
}

/// In one block of threads a lane comes into `block2` with those that wait there, in the
/// other it has left: either way all that are left pass it together.
#[test]
fn a_branch_that_no_warp_splits_at_is_no_way_of_its_own() {
    let func = function(
        "function %f(i32 varying) {
block0(v0: i32):
    v1 = const.i32 1
    v2 = const.i32 7
    v3 = icmp.i32 eq v1, v1
    v4 = tid_x
    switch v4, [block1, block4(v2)], block1

block1:
    br v3, block2(v2, v4), block3(v2, v4)

block2(v5: i32, v6: i32):
    v7 = const.i32 0
    jump block3(v5, v7)

block3(v8: i32, v9: i32):
    v10 = const.i32 0
    v11 = icmp.i32 eq v8, v10
    exit if v11
    v12 = isub.i32 v8, v1
    v13 = icmp.i32 ult v9, v0
    br v13, block2(v12, v9), block4(v8)

block4(v14: i32):
    v15 = const.i32 0
    v16 = icmp.i32 eq v14, v15
    exit if v16
    v17 = isub.i32 v14, v1
    br v3, block3(v17, v4), block2(v17, v4)
}
",
    );
    let mut launch = Launch::linear(2, 32);
    launch.args = vec![by_thread(64, |t| t as i64 % 5)];
    let shape = LaunchShape::new(launch.grid, launch.block);
    let claims = Uniformity::new(&func, &options(shape, None));
    let block = func.layout[2];
    assert_eq!(claims.live_scope(block), warpfold_analysis::Scope::Grid);
    if let Err(e) = check(&func, Some(&claims), &launch, false) {
        panic!("{e}");
    }
}

#[test]
fn errors_say_where() {
    let [func, of] = PARAMETER;
    let func = func.replace("iadd.i32 v0, v0", "iadd.i32 v0, v0 @7:12");
    let error = against(&func, of, |t| t as i64).unwrap_err();
    assert_eq!(
        error.to_string(),
        "false claim at inst0 (7:12), block 0, warp 0, lanes 0xffffffff: v0 in block0 is \
         `uniform(grid)`; claimed uniform, but lane 0 holds 0x0 and lane 1 0x1"
    );
}
