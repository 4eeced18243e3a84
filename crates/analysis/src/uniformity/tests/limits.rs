//! Where rules end: what a rule a little wider than ours would claim.

use super::*;

/// The entry of a kernel with a uniform i32, i64 and predicate, v0 to v2, and the index
/// of the thread in the grid, v6, a constant 2, v7, and a varying predicate, v8.
fn entry(body: &str) -> Uniformity {
    analyse(&parse(&format!(
        "function %f(i32, i64, pred, pred varying) {{\nblock0(v0: i32, v1: i64, v2: pred, v8: pred):\n    \
         v3 = ctaid_x\n    v4 = ntid_x\n    v5 = tid_x\n    v10 = imul.i32 v3, v4\n    \
         v6 = iadd.i32 v10, v5\n    v7 = const.i32 2\n{body}    br v9, block1, block2\n\
         block1:\n    jump block2\nblock2:\n    ret\n}}\n"
    )))
}

#[test]
fn no_tail_guards() {
    let tail = |body: &str| {
        let u = entry(body);
        assert_eq!(u.branch_scope(b(0)), Scope::Lane, "{body}");
        u.tail_guard(b(0))
    };
    assert!(tail("    v9 = icmp.i32 ult v6, v0\n"));
    // Steps so large that the index comes round.
    assert!(!tail(
        "    v11 = const.i32 13\n    v12 = ishl.i32 v6, v11\n    v9 = icmp.i32 ult v12, v0\n"
    ));
    // An index so narrow that it does.
    assert!(!tail(
        "    v11 = ireduce.i16 v6\n    v12 = ireduce.i16 v0\n    v9 = icmp.i16 ult v11, v12\n"
    ));
    // Elsewhere another predicate holds.
    assert!(!tail("    v9 = icmp.i32 ult v6, v0 if v2 else v8\n"));
    // The narrower index may come round between two warps.
    let sum = |start: &str| {
        tail(&format!(
            "    v11 = const.i32 {start}\n    v12 = band.i32 v0, v11\n    v13 = iadd.i32 v5, v12\n    \
             v14 = uextend.i64 v13\n    v15 = const.i64 7\n    v16 = iadd.i64 v14, v15\n    \
             v9 = icmp.i64 ult v16, v1\n"
        ))
    };
    assert!(!sum("-32"));
    assert!(sum("1073741792"), "in one half it does not");
}

#[test]
fn no_known_masks() {
    let mask = |guard: &str| {
        entry(&format!(
            "    v11 = lane_id\n    v9 = icmp.i32 ult v11, v7{guard}\n"
        ))
        .known_mask(b(0))
    };
    assert_eq!(mask(""), Some(3));
    assert_eq!(mask(" if v2 else v8"), None);
}

#[test]
fn signed_shifts_carry_no_stride_across_the_sign() {
    let stride = |op: &str, start: i32| {
        let u = straight(
            "",
            "",
            &format!(
                "    v0 = lane_id\n    v1 = const.i32 2\n    v2 = ishl.i32 v0, v1\n    \
                 v3 = const.i32 {start}\n    v4 = iadd.i32 v2, v3\n    v5 = {op}.i32 v4, v1"
            ),
            LaunchShape::one_dimensional(),
        );
        u.shape(v(5)).stride()
    };
    // Lane 12 is the first negative one.
    assert_eq!(stride("sshr", i32::MAX - 47), None);
    assert_eq!(stride("ushr", i32::MAX - 47), Some(1));
    assert_eq!(stride("sshr", i32::MAX - 4095), Some(1));
}

#[test]
fn what_lanes_hand_on_is_the_warps() {
    let u = straight(
        "",
        "",
        "    v0 = tid_x\n    v1 = const.i32 1\n    v2 = shfl_bfly.i32 v0, v1\n    v3 = const.i32 5\n    \
         v4 = ushr.i32 v2, v3",
        LaunchShape::one_dimensional(),
    );
    assert_eq!(u.shape(v(4)).scope(), Scope::Warp);
}

#[test]
fn a_guard_that_is_known_chooses() {
    let scope = |guard: &str| {
        let u = entry(&format!(
            "    v11 = icmp.i32 eq v7, v7\n    v12 = iadd.i32 v6, v7 if {guard} else v0\n    \
             v13 = iadd.i32 v0, v7 if {guard} else v6\n    v9 = icmp.i32 eq v6, v0\n"
        ));
        [12, 13].map(|n| u.shape(v(n)).scope())
    };
    assert_eq!(scope("v11"), [Scope::Lane, Scope::Grid]);
    assert_eq!(scope("!v11"), [Scope::Grid, Scope::Lane]);
}

#[test]
fn threads_are_numbered_by_rows_of_the_blocks_length() {
    let stride = |length: u32| {
        let u = straight(
            "",
            "",
            &format!(
                "    v0 = tid_x\n    v1 = tid_y\n    v2 = const.i32 {length}\n    \
                 v3 = imul.i32 v1, v2\n    v4 = iadd.i32 v3, v0"
            ),
            LaunchShape::new([1; 3], [48, 2, 1]),
        );
        u.shape(v(4)).stride()
    };
    assert_eq!([stride(48), stride(32), stride(64)], [Some(1), None, None]);
}

#[test]
fn addresses_of_slots_are_followed() {
    // Through a parameter of a block.
    let f = parse(
        "function %f(i64) {\n    ss0 = slot 8, align 8\nblock0(v0: i64):\n    v1 = stack_addr.i64 ss0\n    \
         jump block1(v1, v0)\nblock1(v2: i64, v3: i64):\n    v4 = load.i32 v2\n    v5 = load.i32 v3\n    \
         store.i32 v4, v0\n    ret\n}\n",
    );
    let u = analyse(&f);
    assert_eq!(u.scope_at(v(4), b(1)), Scope::Lane);
    assert_eq!(u.scope_at(v(5), b(1)), Scope::Warp);
    // Through memory, by a callee that gets one.
    let called = |arg: &str| {
        let f = parse(&format!(
            "function %f(i64) {{\n    ss0 = slot 8, align 8\n    fn0 = %g(i64)\nblock0(v0: i64):\n    \
             v1 = stack_addr.i64 ss0\n    call fn0({arg})\n    v2 = load.i64 v0\n    \
             v3 = load.i32 v2\n    ret\n}}\n"
        ));
        analyse(&f).shape(v(3)).scope()
    };
    assert_eq!([called("v1"), called("v0")], [Scope::Lane, Scope::Warp]);
}

#[test]
fn a_loop_around_is_left_apart() {
    // Lanes leave the inner loop together and the outer one by one.
    let f = parse(
        "function %f(i32, i32 varying, i64) {\nblock0(v0: i32, v1: i32, v2: i64):\n    \
         v3 = const.i32 0\n    store.i32 v0, v2\n    jump block1\nblock1:\n    jump block2\n\
         block2:\n    v4 = load.i32 v2\n    v5 = icmp.i32 eq v4, v3\n    br v5, block2, block3\n\
         block3:\n    v6 = icmp.i32 slt v1, v4\n    br v6, block1, block4\nblock4:\n    ret\n}\n",
    );
    let u = analyse(&f);
    assert_eq!(u.scope_at(v(4), b(3)), Scope::Warp);
    assert_eq!(u.scope_at(v(4), b(4)), Scope::Lane);
}

#[test]
fn lanes_that_wait_are_away() {
    let under = |independent: bool, text: &str| {
        let options = UniformityOptions {
            shape: LaunchShape::one_dimensional(),
            independent,
            ..UniformityOptions::default()
        };
        Uniformity::new(&parse(text), &options)
    };
    let whole = |text: &str, at: u32| {
        [false, true].map(|independent| under(independent, text).live_scope(b(at)))
    };
    // A lock, and what is behind it; a call that may be one.
    let lock = "function %f(i32, i64) {\nblock0(v0: i32, v1: i64):\n    v2 = const.i32 0\n    \
                jump block1\nblock1:\n    v3 = atomic_xchg.i32 v0, v1\n    v4 = icmp.i32 eq v3, v2\n    \
                br v4, block2, block1\nblock2:\n    v5 = tid_x\n    v6 = icmp.i32 ult v5, v0\n    \
                br v6, block3, block4\nblock3:\n    jump block4\nblock4:\n    ret\n}\n";
    assert_eq!(whole(lock, 2), [Scope::Grid, Scope::Lane]);
    let tails = [false, true].map(|its| under(its, lock).tail_guard(b(2)));
    assert_eq!(tails, [true, false], "each group that comes may split");
    let call = "function %f(i32) {\n    fn0 = %g(i32)\nblock0(v0: i32):\n    call fn0(v0)\n    \
                jump block1\nblock1:\n    ret\n}\n";
    assert_eq!(whole(call, 1), [Scope::Grid, Scope::Lane]);
    // Lanes that return after a wait let the others pass the join before.
    let early = "function %f(i32 varying, i64) {\nblock0(v0: i32, v1: i64):\n    v2 = const.i32 0\n    \
                 v3 = icmp.i32 slt v0, v2\n    br v3, block1, block3\nblock1:\n    \
                 v4 = atomic_xchg.i32 v0, v1\n    v5 = icmp.i32 eq v4, v2\n    br v5, block2, block1\n\
                 block2:\n    ret\nblock3:\n    ret\n}\n";
    assert_eq!(whole(early, 3), [Scope::Grid, Scope::Lane]);
}

#[test]
fn a_row_ends_where_warps_part() {
    let tail = |id: &str| {
        let f = parse(&format!(
            "function %f(i32) {{\nblock0(v0: i32):\n    v1 = tid_x\n    v2 = const.i32 64\n    \
             v3 = iadd.i32 v1, v2\n    v4 = {id}\n    v5 = icmp.i32 eq v4, v2\n    \
             br v5, block1, block2\nblock1:\n    jump block3(v1)\nblock2:\n    jump block3(v3)\n\
             block3(v6: i32):\n    v7 = icmp.i32 ult v6, v0\n    br v7, block4, block5\n\
             block4:\n    jump block5\nblock5:\n    ret\n}}\n"
        ));
        let u = analyse(&f);
        assert_eq!(u.shape(v(6)).stride(), Some(1));
        u.tail_guard(b(3))
    };
    assert!(tail("ctaid_x"));
    assert!(!tail("warp_id"));
}

#[test]
fn a_counter_is_not_the_number_it_starts_from() {
    // The way round comes first in the text.
    let f = parse(
        "function %f(i32) {\nblock0(v0: i32):\n    v1 = const.i32 1\n    jump block3\nblock1:\n    \
         v3 = iadd.i32 v2, v1\n    jump block2(v3)\nblock2(v2: i32):\n    v4 = isub.i32 v2, v0\n    \
         v5 = icmp.i32 ult v4, v0\n    br v5, block1, block4\nblock3:\n    jump block2(v0)\n\
         block4:\n    ret\n}\n",
    );
    assert_eq!(analyse(&f).shape(v(4)).as_constant(), None);
}
