//! Value numbers, and where all lanes take part.

use super::*;
use Scope::*;

/// A divergent diamond whose arms bring v8 and v9 to v10; v0 is uniform, v1
/// varies, v2 an address. Gives the scope of v10.
fn joined(then: &str, otherwise: &str) -> Scope {
    let f = parse(&format!(
        "function %f(i32, i32 varying, i64) {{\nblock0(v0: i32, v1: i32, v2: i64):\n    v3 = const.i32 7\n    \
         v4 = icmp.i32 eq v1, v3\n    v5 = icmp.i32 ult v0, v3\n    v6 = const.i32 1\n    \
         v7 = iadd.i32 v0, v6\n    store.i32 v1, v2+64\n    br v4, block1, block2\n\
         block1:\n    v8 = {then}\n    jump block3(v8)\nblock2:\n    v9 = {otherwise}\n    jump block3(v9)\n\
         block3(v10: i32):\n    ret\n}}\n"
    ));
    analyse(&f).scope_at(v(10), b(3))
}

#[test]
fn equal_work_in_both_arms_is_one_number() {
    let same = |x: &str| joined(x, x);
    assert_eq!(same("iadd.i32 v0, v3"), Grid);
    assert_eq!(joined("iadd.i32 v0, v3", "iadd.i32 v3, v0"), Grid);
    assert_eq!(joined("iadd.i32 v0, v6", "copy.i32 v7"), Grid);
    assert_eq!(joined("isub.i32 v0, v3", "isub.i32 v3, v0"), Lane);
    assert_eq!(joined("iadd.i32 v0, v3", "iadd.i32 v0, v6"), Lane);
    assert_eq!(joined("iadd.i32 v0, v3", "isub.i32 v0, v3"), Lane);
    assert_eq!(same("udiv.i32 v3, v0"), Grid);
    assert_eq!(same("ctaid_x"), Block);
    assert_eq!(same("warp_id"), Warp);
    // Equal in each lane, but lanes differ.
    assert_eq!(same("iadd.i32 v1, v3"), Lane);
}

#[test]
fn what_more_than_operands_decide_is_not_numbered() {
    for op in [
        "ballot v5",
        "read_first.i32 v1",
        "active_mask",
        "shfl_idx.i32 v1, v6",
        "atomic_add.i32 v0, v2",
        "load.i32 v2",
        "load.i32 readonly volatile v2",
    ] {
        assert_eq!(joined(op, op), Lane, "{op}");
    }
    // One after the other they may differ, and the lanes with them.
    for op in [
        "ballot v3",
        "read_first.i32 v0",
        "load.i32 v2",
        "atomic_load.i32 v2",
    ] {
        let f = parse(&format!(
            "function %f(i32 varying, i32, i64) {{\nblock0(v0: i32, v1: i32, v2: i64):\n    \
             v3 = icmp.i32 eq v0, v1\n    v4 = {op}\n    exit if v3\n    store.i32 v0, v2\n    \
             v5 = {op}\n    v6 = isub.i32 v4, v5\n    ret\n}}\n"
        ));
        assert_eq!(analyse(&f).shape(v(6)).as_constant(), None, "{op}");
    }
    // Nobody writes what these read.
    assert_eq!(joined("load.i32 readonly v2", "load.i32 readonly v2"), Grid);
    assert_eq!(
        joined("load.i32 readonly v2", "load.i32 readonly v2+4"),
        Lane
    );
}

#[test]
fn guards_are_part_of_the_operation() {
    let plain = "iadd.i32 v0, v6";
    let guarded = |g: &str| format!("iadd.i32 v0, v6 if {g}");
    // A uniform guard of both.
    assert_eq!(joined(&guarded("v5 else v0"), &guarded("v5 else v0")), Grid);
    assert_eq!(
        joined(&guarded("v5 else v0"), &guarded("!v5 else v0")),
        Lane
    );
    assert_eq!(joined(&guarded("v5 else v0"), &guarded("v5 else v3")), Lane);
    assert_eq!(joined(&guarded("v5 else v0"), plain), Lane);
    // The lanes left out hold the same.
    assert_eq!(joined(&guarded("v4 else v7"), plain), Grid);
    assert_eq!(joined(&guarded("!v4 else v7"), "copy.i32 v7"), Grid);
}

#[test]
fn selects_comparisons_and_differences_of_equal_work() {
    let u = straight(
        "i32, i32 varying",
        "(v0: i32, v1: i32)",
        "    v2 = const.i32 3\n    v3 = icmp.i32 ult v1, v2\n    v4 = iadd.i32 v0, v2\n    \
         v5 = iadd.i32 v2, v0\n    v6 = select.i32 v3, v4, v5\n    v7 = iadd.i32 v1, v2\n    \
         v8 = iadd.i32 v1, v2\n    v9 = isub.i32 v7, v8\n    v10 = icmp.i32 ule v7, v8\n    \
         v11 = bxor.i32 v7, v8\n    v12 = umax.i32 v4, v5\n    v13 = select.i32 v3, v4, v0\n    \
         v14 = imul.i32 v7, v2\n    v15 = imul.i32 v8, v2\n    v16 = iadd.i32 v14, v0\n    \
         v17 = isub.i32 v16, v15",
        LaunchShape::one_dimensional(),
    );
    let scope = |n| u.shape(v(n)).scope();
    assert_eq!([6, 12, 17].map(scope), [Grid, Grid, Grid]);
    assert_eq!([9, 11].map(|n| u.shape(v(n)).as_constant()), [Some(0); 2]);
    assert_eq!(u.shape(v(10)).as_constant(), Some(1));
    assert_eq!(scope(13), Lane, "unequal arms");
}

#[test]
fn what_varies_in_the_region_is_not_one_number() {
    // Both exits bring the count plus one, computed apart: equal in each lane,
    // but lanes leave with different counts.
    let f = |value: &str| {
        let f = parse(&format!(
            "function %f(i32, i32 varying) {{\nblock0(v0: i32, v1: i32):\n    v2 = const.i32 0\n    \
             v3 = const.i32 1\n    jump block1(v2)\n\
             block1(v4: i32):\n    v5 = iadd.i32 {value}, v3\n    v6 = icmp.i32 ult v4, v1\n    \
             br v6, block2, block3(v5)\n\
             block2:\n    v7 = iadd.i32 v3, {value}\n    v8 = iadd.i32 v4, v3\n    v9 = icmp.i32 ult v4, v0\n    \
             br v9, block1(v8), block3(v7)\nblock3(v10: i32):\n    ret\n}}\n"
        ));
        analyse(&f).scope_at(v(10), b(3))
    };
    assert_eq!(f("v4"), Lane);
    assert_eq!(f("v0"), Grid);
    // Only what comes by the second edge varies: the vote of fewer lanes. It
    // has no equal, whatever its operand.
    let text = "function %f(i32 varying, i32) {\nblock0(v0: i32, v1: i32):\n    v2 = const.i32 5\n    \
                v3 = icmp.i32 ult v0, v2\n    jump block1\nblock1:\n    v4 = ballot v3\n    \
                br v3, block2, block3(v4)\nblock2:\n    v5 = copy.i32 v4\n    v6 = icmp.i32 ult v1, v2\n    \
                br v6, block1, block3(v5)\nblock3(v7: i32):\n    ret\n}\n";
    assert_eq!(analyse(&parse(text)).scope_at(v(7), b(3)), Lane);
}

#[test]
fn parameters_that_edges_give_one_number() {
    // v9 is the sum whichever way, and so is what is computed from it.
    let f = parse(
        "function %f(i32, i32 varying) {\nblock0(v0: i32, v1: i32):\n    v2 = const.i32 4\n    \
         v3 = icmp.i32 eq v1, v2\n    br v3, block1, block2\n\
         block1:\n    v4 = iadd.i32 v1, v2\n    jump block3(v4)\n\
         block2:\n    v5 = iadd.i32 v1, v2\n    jump block3(v5)\n\
         block3(v6: i32):\n    v7 = iadd.i32 v1, v2\n    v8 = isub.i32 v6, v7\n    ret\n}\n",
    );
    assert_eq!(analyse(&f).shape_at(v(8), b(3)).as_constant(), Some(0));
    // A loop's counter is no number of its start.
    let f = parse(
        "function %f(i32) {\nblock0(v0: i32):\n    v1 = const.i32 0\n    v2 = const.i32 1\n    \
         jump block1(v1)\nblock1(v3: i32):\n    v4 = iadd.i32 v3, v2\n    v5 = isub.i32 v3, v1\n    \
         v6 = icmp.i32 ult v4, v0\n    br v6, block1(v4), block2\nblock2:\n    ret\n}\n",
    );
    assert_eq!(analyse(&f).shape_at(v(5), b(1)).as_constant(), None);
}

/// The scope of v9, `shfl_idx v0, v4`, in a kernel with this text around it.
fn shuffled(before: &str, after: &str, index: &str, launch: LaunchShape) -> Scope {
    let f = parse(&format!(
        "function %f(i32 varying, i32, i64) {{\nblock0(v0: i32, v1: i32, v2: i64):\n    v3 = const.i32 3\n    \
         v4 = {index}\n    v5 = icmp.i32 eq v0, v3\n    v6 = icmp.i32 eq v1, v3\n{before}    \
         v9 = shfl_idx.i32 v0, v4\n{after}}}\n"
    ));
    under(&f, launch).shape(v(9)).scope()
}

#[test]
fn a_shuffle_from_a_lane_that_is_there() {
    let linear = LaunchShape::one_dimensional();
    let block = |n| LaunchShape::new([1; 3], [n, 1, 1]);
    let from = |index: &str, launch| shuffled("", "    ret\n", index, launch);
    // Lane 0 is in any warp, others only where the last warp has them.
    assert_eq!(from("const.i32 0", linear), Warp);
    assert_eq!(from("const.i32 0", LaunchShape::unknown()), Warp);
    assert_eq!(from("const.i32 32", linear), Warp, "lane 0 again");
    assert_eq!(from("const.i32 5", linear), Lane);
    assert_eq!(from("const.i32 5", block(64)), Warp);
    assert_eq!(from("const.i32 5", block(38)), Warp);
    assert_eq!(from("const.i32 6", block(38)), Lane);
    assert_eq!(from("const.i32 31", block(40)), Lane);
    // A lane that all name, though not known.
    assert_eq!(from("iadd.i32 v1, v3", block(64)), Warp);
    assert_eq!(from("iadd.i32 v1, v3", block(40)), Lane);
    assert_eq!(from("iadd.i32 v0, v3", block(64)), Lane);
    // Up and down every lane has another neighbour.
    let f = "function %f(i32 varying) {\nblock0(v0: i32):\n    v1 = const.i32 0\n    v2 = shfl_down.i32 v0, v1\n    ret\n}\n";
    assert_eq!(under(&parse(f), block(64)).shape(v(2)).scope(), Lane);
}

#[test]
fn a_shuffle_that_lanes_may_miss() {
    let launch = LaunchShape::new([1; 3], [64, 1, 1]);
    let index = "const.i32 0";
    let scope = |before: &str, after: &str| shuffled(before, after, index, launch);
    let ret = "    ret\n";
    // Lanes that separated have met again.
    let diamond = "    br v5, block1, block2\nblock1:\n    jump block2\nblock2:\n";
    assert_eq!(scope(diamond, ret), Warp);
    let counted = "    jump block1(v0)\nblock1(v7: i32):\n    v8 = iadd.i32 v7, v3\n    \
                   br v5, block1(v8), block2\nblock2:\n";
    assert_eq!(scope(counted, ret), Warp);
    // In one arm, in a loop that lanes leave, and where part has returned.
    assert_eq!(
        scope(
            "    br v5, block1, block2\nblock1:\n",
            "    jump block2\nblock2:\n    ret\n"
        ),
        Lane
    );
    assert_eq!(
        scope(
            "    jump block1\nblock1:\n",
            "    br v5, block1, block2\nblock2:\n    ret\n"
        ),
        Lane
    );
    assert_eq!(
        scope(
            "    br v5, block1, block2\nblock1:\n    ret\nblock2:\n",
            ret
        ),
        Lane
    );
    // Lanes may return in a round of the loop that others go on in.
    let round = "    br v5, block3, block2\nblock3:\n    br v6, block1, block2\nblock2:\n    ret\n";
    assert_eq!(scope("    jump block1\nblock1:\n", round), Lane);
    // Exits, traps and faults before it; not after it.
    for leave in [
        "    exit if v5\n",
        "    trap if v5, user1\n",
        "    v7 = load.i32 v2\n    v8 = copy.i32 v7\n",
        "    v7 = udiv.i32 v3, v0\n    v8 = copy.i32 v7\n",
        "    exit if v5\n    jump block1\nblock1:\n",
    ] {
        assert_eq!(scope(leave, ret), Lane, "{leave}");
    }
    assert_eq!(
        scope("    v7 = load.i32 notrap v2\n    v8 = copy.i32 v7\n", ret),
        Warp
    );
    assert_eq!(scope("", "    exit if v5\n    ret\n"), Warp);
    // A callee's lanes may be away before it starts.
    let f = parse(
        "function %f(i32) {\nblock0(v0: i32):\n    v1 = const.i32 0\n    v2 = shfl_idx.i32 v0, v1\n    ret\n}\n",
    );
    let options = UniformityOptions {
        called: true,
        shape: launch,
        ..UniformityOptions::default()
    };
    assert_eq!(Uniformity::new(&f, &options).shape(v(2)).scope(), Lane);
    // Nor does a guarded one read what others do not offer.
    let f = parse(
        "function %f(i32 varying) {\nblock0(v0: i32):\n    v1 = const.i32 0\n    v2 = icmp.i32 eq v0, v1\n    \
         v3 = shfl_idx.i32 v0, v1 if v2\n    ret\n}\n",
    );
    assert_eq!(under(&f, launch).shape(v(3)).scope(), Lane);
}
