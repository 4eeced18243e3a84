//! Effects of branches, each a mistake that some compiler has made.

use super::*;

fn scopes(u: &Uniformity, at: u32, values: &[u32]) -> Vec<Scope> {
    values.iter().map(|&n| u.scope_at(v(n), b(at))).collect()
}

/// A kernel with a uniform and a varying parameter, zero, one, and a divergent
/// and a uniform predicate: v0 to v5.
fn kernel(body: &str) -> Function {
    parse(&format!(
        "function %f(i32, i32 varying) {{\nblock0(v0: i32, v1: i32):\n    v2 = const.i32 0\n    \
         v3 = const.i32 1\n    v4 = icmp.i32 eq v1, v2\n    v5 = icmp.i32 eq v0, v2\n{body}}}\n"
    ))
}

fn parked(func: &Function) -> Uniformity {
    let options = UniformityOptions {
        shape: LaunchShape::one_dimensional(),
        convergence: Convergence::Parked,
        ..UniformityOptions::default()
    };
    Uniformity::new(func, &options)
}

use Scope::*;

#[test]
fn parameters_of_joins_take_the_branch_scope() {
    let diamond = |cond: &str, x: &str, y: &str| {
        let f = kernel(&format!(
            "    v6 = ctaid_x\n    v7 = icmp.i32 eq v6, v2\n    v8 = warp_id\n    \
             v9 = icmp.i32 eq v8, v2\n    br {cond}, block1, block2\nblock1:\n    jump block3({x})\n\
             block2:\n    jump block3({y})\nblock3(v10: i32):\n    ret\n"
        ));
        let u = analyse(&f);
        assert_eq!(u.exec_scope(b(1)), u.branch_scope(b(0)));
        assert_eq!(u.exec_scope(b(3)), Grid);
        u.scope_at(v(10), b(3))
    };
    assert_eq!(diamond("v4", "v2", "v3"), Lane);
    assert_eq!(diamond("v9", "v2", "v3"), Warp);
    assert_eq!(diamond("v7", "v2", "v3"), Block);
    assert_eq!(diamond("v5", "v2", "v3"), Grid);
    // One value over all edges is a copy.
    assert_eq!(diamond("v4", "v0", "v0"), Grid);
    assert_eq!(diamond("v4", "v3", "v3"), Const);
}

#[test]
fn arms_that_are_chains_of_blocks() {
    // Stopping at the first block that both labels seem to have passed.
    let f = kernel(
        "    br v4, block1, block4\nblock1:\n    jump block2\nblock2:\n    jump block3\nblock3:\n    \
         jump block6(v2)\nblock4:\n    jump block5\nblock5:\n    jump block6(v3)\n\
         block6(v6: i32):\n    v7 = iadd.i32 v0, v3\n    ret\n",
    );
    let u = analyse(&f);
    assert_eq!(scopes(&u, 6, &[6, 7]), [Lane, Grid]);
    assert_eq!(
        u.chain(v(6), b(6)).to_string(),
        "v6 mixes what the branch of block0 separated; the branch of block0 depends on v4; \
         v4 depends on v1; v1 is parameter 1, declared varying"
    );
}

#[test]
fn a_switch_joins_by_edge() {
    // Two edges of one branch bring different constants to one block.
    let f =
        kernel("    switch v1, [block1(v2), block1(v3)], block1(v0)\nblock1(v6: i32):\n    ret\n");
    let u = analyse(&f);
    assert_eq!(scopes(&u, 1, &[6]), [Lane]);
    assert!(
        u.is_uniform_branch(b(0)),
        "one target block: nothing splits"
    );
    assert_eq!(u.exec_scope(b(1)), Grid);
    // The same where the block is not the join.
    let f = kernel(
        "    switch v1, [block1(v2), block1(v3)], block2\nblock1(v6: i32):\n    v7 = ballot v4\n    \
         jump block2\nblock2:\n    ret\n",
    );
    let u = analyse(&f);
    assert_eq!(scopes(&u, 1, &[6, 7]), [Lane, Warp]);
    let f = kernel("    br v5, block1(v2), block1(v3)\nblock1(v6: i32):\n    ret\n");
    assert_eq!(scopes(&analyse(&f), 1, &[6]), [Grid]);
}

/// A loop that counts in v6 until `exit`; v7 the next count; block2 is behind.
fn counting(exit: &str, behind: &str) -> Function {
    kernel(&format!(
        "    jump block1(v2)\nblock1(v6: i32):\n    v7 = iadd.i32 v6, v3\n    v8 = iadd.i32 v0, v3\n    \
         v9 = ballot v5\n    v10 = icmp.i32 ult v7, {exit}\n    br v10, block1(v7), block2\n\
         block2:\n{behind}    ret\n"
    ))
}

#[test]
fn what_varies_in_a_loop_diverges_behind_it() {
    let f = counting(
        "v1",
        "    v11 = iadd.i32 v7, v3\n    v12 = iadd.i32 v8, v3\n",
    );
    let u = analyse(&f);
    // Inside they are uniform; uses behind need no block parameter.
    assert_eq!(scopes(&u, 1, &[6, 7, 8, 9]), [Grid, Grid, Grid, Warp]);
    assert_eq!(scopes(&u, 2, &[6, 7, 8, 9]), [Lane, Lane, Grid, Lane]);
    assert_eq!(scopes(&u, 2, &[11, 12]), [Lane, Grid]);
    assert_eq!(
        u.chain(v(11), b(2)).to_string(),
        "v11 depends on v7, which varies in the loop at block1 that lanes leave one by one at \
         block1; the branch of block1 depends on v10; v10 depends on v1; \
         v1 is parameter 1, declared varying"
    );
    // With a uniform exit nothing is separated; ballot is still per warp.
    let u = analyse(&counting("v0", ""));
    assert_eq!(scopes(&u, 2, &[6, 7, 8, 9]), [Grid, Grid, Grid, Warp]);
}

#[test]
fn cross_lane_operations_are_not_invariant() {
    // Operands do not change, but fewer lanes vote each time.
    let f = counting(
        "v1",
        "    v11 = icmp.i32 eq v9, v2\n    br v11, block3, block4\nblock3:\n    jump block4\nblock4:\n",
    );
    assert_eq!(analyse(&f).branch_scope(b(2)), Lane);
}

#[test]
fn temporal_divergence_ends_with_the_outer_iteration() {
    // Outer loop block1, inner block2 with a divergent exit, block3 its latch.
    let f = kernel(
        "    jump block1(v2)\nblock1(v6: i32):\n    jump block2(v2)\n\
         block2(v7: i32):\n    v8 = iadd.i32 v7, v3\n    v9 = icmp.i32 ult v8, v1\n    \
         br v9, block2(v8), block3\n\
         block3:\n    v10 = iadd.i32 v6, v3\n    v11 = iadd.i32 v8, v3\n    v12 = icmp.i32 ult v10, v0\n    \
         br v12, block1(v10), block4\nblock4:\n    v13 = iadd.i32 v10, v3\n    ret\n",
    );
    let u = analyse(&f);
    assert_eq!(scopes(&u, 2, &[6, 7, 8]), [Grid, Grid, Grid]);
    assert_eq!(scopes(&u, 3, &[6, 8, 10, 11]), [Grid, Lane, Grid, Lane]);
    assert_eq!(scopes(&u, 4, &[10, 13]), [Grid, Grid]);
    assert_eq!(u.branch_scope(b(3)), Grid);
}

#[test]
fn exit_block_with_a_divergent_and_a_uniform_edge() {
    // Constants over two exits of which one diverges: LLVM once said uniform.
    let f = kernel(
        "    jump block1(v2)\nblock1(v6: i32):\n    v7 = iadd.i32 v6, v3\n    v8 = icmp.i32 ult v7, v1\n    \
         br v8, block2, block3(v2)\nblock2:\n    v9 = icmp.i32 ult v7, v0\n    \
         br v9, block1(v7), block3(v3)\nblock3(v10: i32):\n    ret\n",
    );
    let u = analyse(&f);
    assert_eq!(u.branch_scope(b(2)), Grid);
    assert_eq!(scopes(&u, 3, &[10]), [Lane]);
    // The same constant over both is one number.
    let same = f.to_string().replace("block3(v3)", "block3(v2)");
    assert_eq!(scopes(&analyse(&parse(&same)), 3, &[10]), [Const]);
}

#[test]
fn exit_block_also_reached_from_outside() {
    // One exit edge with an argument, another edge from before the loop.
    let f = |arg: &str| {
        let f = kernel(&format!(
            "    br v5, block1(v2), block2(v0)\nblock1(v6: i32):\n    v7 = iadd.i32 v6, v3\n    \
             v8 = icmp.i32 ult v7, v1\n    br v8, block1(v7), block2({arg})\nblock2(v9: i32):\n    ret\n"
        ));
        analyse(&f).scope_at(v(9), b(2))
    };
    assert_eq!(f("v3"), Grid);
    assert_eq!(
        f("v7"),
        Lane,
        "lanes bring the counts of different iterations"
    );
}

#[test]
fn exits_are_told_apart() {
    // block1 leaves divergently to block3, block2 uniformly to block4.
    let f = kernel(
        "    jump block1(v2)\nblock1(v6: i32):\n    v7 = iadd.i32 v6, v3\n    v8 = icmp.i32 ult v7, v1\n    \
         br v8, block2, block3\nblock2:\n    v9 = icmp.i32 ult v7, v0\n    br v9, block1(v7), block4\n\
         block3:\n    jump block5\nblock4:\n    jump block5\nblock5:\n    ret\n",
    );
    let u = analyse(&f);
    assert_eq!(
        u.scope_at(v(7), b(4)),
        Grid,
        "who leaves here leaves together"
    );
    assert_eq!(u.scope_at(v(7), b(3)), Lane);
    assert_eq!(u.scope_at(v(7), b(5)), Lane);
}

/// A loop whose body goes on early: block2 chooses between the header and
/// block3; `last` ends block3, `first` ends the header block1.
fn going_on_early(first: &str, last: &str) -> Function {
    kernel(&format!(
        "    jump block1(v2)\nblock1(v6: i32):\n    v7 = iadd.i32 v6, v3\n    v8 = iadd.i32 v7, v3\n{first}\
         block2:\n    br v4, block1(v7), block3\nblock3:\n    v9 = icmp.i32 ult v8, v0\n{last}\
         block4:\n    ret\n"
    ))
}

#[test]
fn lanes_that_go_round_while_others_wait() {
    // The loop is left at the header only: all wait there for each other, and
    // bring different arguments.
    let f = going_on_early(
        "    v10 = icmp.i32 ult v6, v0\n    br v10, block2, block4\n",
        "    jump block1(v8)\n",
    );
    let u = analyse(&f);
    assert_eq!(scopes(&u, 1, &[6]), [Lane]);
    // Left at the end only: the join is block3, in the loop, and lanes go round
    // until they come there, with different counts.
    let f = going_on_early("    jump block2\n", "    br v9, block1(v8), block4\n");
    let u = analyse(&f);
    assert_eq!(scopes(&u, 3, &[6, 7, 8]), [Lane, Lane, Lane]);
    assert_eq!(scopes(&u, 1, &[6]), [Lane]);
    // Left at both: the join is behind the loop. While a part goes round, the
    // others wait in block3 with their own counts.
    let f = going_on_early(
        "    v10 = icmp.i32 ult v6, v0\n    br v10, block2, block4\n",
        "    br v9, block1(v8), block4\n",
    );
    let u = analyse(&f);
    assert_eq!(scopes(&u, 3, &[6, 7]), [Lane, Lane]);
    assert_eq!(scopes(&u, 1, &[6]), [Lane]);
    assert_eq!(u.branch_scope(b(1)), Lane);
    // Where headers gather their lanes, the arguments still differ.
    assert_eq!(scopes(&parked(&f), 1, &[6]), [Lane]);
}

#[test]
fn the_join_leads_back_into_the_region() {
    // block3 is the join of block1, and goes round through block2 as the lanes
    // do that never came to it: in block2 lanes may be together that count
    // differently.
    let f = kernel(
        "    jump block1(v2)\nblock1(v6: i32):\n    v7 = iadd.i32 v6, v3\n    \
         br v4, block2, block3\nblock2:\n    v8 = iadd.i32 v6, v3\n    jump block1(v8)\n\
         block3:\n    v9 = icmp.i32 ult v0, v3\n    br v9, block2, block4\nblock4:\n    ret\n",
    );
    let u = analyse(&f);
    assert_eq!(scopes(&u, 2, &[6]), [Lane]);
    assert_eq!(scopes(&u, 1, &[6, 7]), [Lane, Lane]);
}

#[test]
fn the_branch_leads_back_into_the_region() {
    // The last return in layout is home to all but the other one, so lanes that do
    // not take it go round. Of those in block4 some go on to block5, come to the
    // join, block4, a round of the outer loop later, and meet the others there: then
    // all of them come from block4 to the region, with different counts.
    let f = kernel(
        "    jump block1(v2)\nblock1(v6: i32):\n    v7 = icmp.i32 ult v6, v0\n    \
         br v7, block3, block2\nblock2:\n    ret\nblock3:\n    jump block4(v2)\n\
         block4(v8: i32):\n    v9 = icmp.i32 eq v8, v1\n    br v9, block7, block5\n\
         block5:\n    v10 = iadd.i32 v8, v3\n    v11 = icmp.i32 ult v10, v1\n    \
         br v11, block4(v10), block6\nblock6:\n    v12 = iadd.i32 v6, v3\n    \
         jump block1(v12)\nblock7:\n    ret\n",
    );
    let u = analyse(&f);
    assert_eq!(u.scope_at(v(6), b(6)), Lane);
    assert_eq!(u.branch_scope(b(1)), Lane);
}

#[test]
fn contracts_differ_where_part_of_a_warp_goes_round() {
    // block3 passes on what it got; only when lanes run the header apart do
    // they differ there.
    let f = kernel(
        "    jump block1(v2)\nblock1(v6: i32):\n    v7 = iadd.i32 v6, v3\n    v8 = icmp.i32 ult v7, v0\n    \
         br v8, block2, block4\nblock2:\n    br v4, block1(v7), block3\nblock3:\n    \
         br v5, block1(v7), block4\nblock4:\n    ret\n",
    );
    assert_eq!(scopes(&analyse(&f), 1, &[6]), [Lane]);
    // v7 over both back edges is one value of one iteration; but this coarse
    // rule asks for less and may say lane as well.
    assert!(parked(&f).scope_at(v(6), b(1)) >= Grid);
}

#[test]
fn early_returns() {
    let f = kernel(
        "    br v4, block1, block2\nblock1:\n    ret\nblock2:\n    v6 = iadd.i32 v0, v3\n    \
         v7 = ballot v5\n    br v5, block3, block4\nblock3:\n    jump block4\nblock4:\n    ret\n",
    );
    let u = analyse(&f);
    assert_eq!(scopes(&u, 4, &[6, 7]), [Grid, Warp]);
    assert_eq!(u.branch_scope(b(2)), Grid);
    // All that are left run it; but not all that were launched.
    assert_eq!([u.live_scope(b(4)), u.exec_scope(b(4))], [Grid, Lane]);
    let f = kernel("    exit if v4\n    jump block1\nblock1:\n    ret\n");
    let u = analyse(&f);
    assert_eq!([u.live_scope(b(1)), u.exec_scope(b(1))], [Grid, Lane]);
}

#[test]
fn a_block_that_two_groups_reach_apart() {
    // block3 runs twice, for lanes of block1 and of block2; each group agrees
    // on its vote, but what it hands to the join differs.
    let f = kernel(
        "    v6 = icmp.i32 ugt v1, v3\n    br v4, block1, block2\nblock1:\n    br v5, block3, block4(v2)\n\
         block2:\n    br v6, block3, block4(v2)\nblock3:\n    v7 = ballot v5\n    jump block4(v7)\n\
         block4(v8: i32):\n    ret\n",
    );
    let u = analyse(&f);
    assert_eq!(scopes(&u, 3, &[7]), [Warp]);
    assert_eq!(scopes(&u, 4, &[8]), [Lane]);
}

#[test]
fn loops_that_never_end() {
    let f = kernel(
        "    jump block1(v2)\nblock1(v6: i32):\n    v7 = iadd.i32 v6, v3\n    br v4, block2, block3\n\
         block2:\n    jump block1(v7)\nblock3:\n    jump block1(v7)\n",
    );
    let u = analyse(&f);
    assert_eq!(
        scopes(&u, 1, &[6, 7]),
        [Grid, Grid],
        "all meet at the header"
    );
    let f = kernel("    br v4, block1, block2\nblock1:\n    jump block1\nblock2:\n    ret\n");
    assert_eq!(analyse(&f).exec_scope(b(1)), Lane);
}

/// A cycle of block1 and block2 that is entered at both.
fn two_entries(cond: &str, exit: &str) -> Function {
    kernel(&format!(
        "    v6 = icmp.i32 ugt v1, v3\n    br {cond}, block1(v2), block2(v3)\n\
         block1(v7: i32):\n    v8 = iadd.i32 v7, v3\n    jump block2(v8)\n\
         block2(v9: i32):\n    v10 = icmp.i32 ult v9, {exit}\n    br v10, block1(v9), block3\n\
         block3:\n    ret\n"
    ))
}

#[test]
fn cycles_with_several_entries() {
    for analyse in [analyse, parked] {
        let u = analyse(&two_entries("v5", "v0"));
        assert_eq!(scopes(&u, 2, &[9]), [Grid]);
        assert_eq!(scopes(&u, 3, &[9]), [Grid]);
        // Entered apart: what comes to block2 differs.
        let u = analyse(&two_entries("v4", "v0"));
        assert_eq!(scopes(&u, 2, &[9]), [Lane]);
        // Left one by one.
        let u = analyse(&two_entries("v5", "v1"));
        assert_eq!(scopes(&u, 3, &[9]), [Lane]);
    }
    let u = analyse(&two_entries("v5", "v1"));
    assert_eq!(scopes(&u, 2, &[9]), [Grid]);
}

#[test]
fn without_budget_it_is_coarse_but_sound() {
    let f = two_entries("v5", "v1");
    let options = UniformityOptions {
        budget: Some(0),
        shape: LaunchShape::one_dimensional(),
        ..UniformityOptions::default()
    };
    let u = Uniformity::new(&f, &options);
    assert!(u.is_coarse());
    assert_eq!(scopes(&u, 2, &[3, 7, 9]), [Const, Lane, Lane]);
    assert_eq!(scopes(&u, 3, &[0, 9]), [Grid, Lane]);
    assert_eq!(u.exec_scope(b(1)), Lane);
    assert!(!analyse(&f).is_coarse());
    // One way out of a loop with one entry: that takes no walk.
    let f = counting("v1", "");
    assert!(!Uniformity::new(&f, &options).is_coarse());
}

#[test]
fn thousands_of_branches_stay_within_the_budget() {
    use warpfold_ir::{BlockCall, FunctionBuilder, IntCC, Type};
    let mut f = FunctionBuilder::new("long");
    let (n, x) = (f.param(Type::I32, false), f.param(Type::I32, true));
    let one = f.iconst(Type::I32, 1);
    let split = f.icmp(IntCC::Eq, x, one);
    let mut tainted = Vec::new();
    for _ in 0..1500 {
        // A diamond, then a loop with a divergent exit.
        let [a, c, head, next] = [(); 4].map(|()| f.block());
        f.br(split, a, c);
        f.switch_to(a);
        f.jump(head, &[one]);
        f.switch_to(c);
        f.jump(head, &[one]);
        f.switch_to(head);
        let i = f.block_param(head, Type::I32);
        let i1 = f.ins(Opcode::Iadd, Type::I32, &[i, n]);
        let more = f.icmp(IntCC::Ult, i1, x);
        f.br(more, BlockCall::new(head, &[i1]), next);
        f.switch_to(next);
        tainted.push((i1, head, next));
    }
    f.ret(&[]);
    let f = f.finish();
    let start = std::time::Instant::now();
    let u = analyse(&f);
    // Far from what it takes, also where others use the machine.
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
    assert!(!u.is_coarse());
    for (i1, head, next) in tainted {
        assert_eq!(u.scope_at(i1, head), Grid);
        assert_eq!(u.scope_at(i1, next), Lane);
    }
}

/// Two branches lead to block3; lanes of one meet at block6 behind it, those of
/// the other only at block7.
#[test]
fn a_block_in_two_regions_belongs_to_the_wider_as_well() {
    for [near, far] in [["block1", "block2"], ["block2", "block1"]] {
        let u = analyse(&kernel(&format!(
            "    br v5, {near}, {far}\nblock1:\n    br v4, block3, block5\n\
             block2:\n    br v4, block3, block4\nblock3:\n    jump block6\n\
             block5:\n    jump block6\nblock6:\n    jump block7\nblock4:\n    jump block7\n\
             block7:\n    ret\n"
        )));
        for n in [3, 4, 5, 6] {
            assert_eq!(u.live_scope(b(n)), Lane, "block{n}");
        }
        for n in [1, 2, 7] {
            assert_eq!(u.live_scope(b(n)), Grid, "block{n}");
        }
        let far = Some(Reason::Separated { branch: b(2) });
        assert_eq!(u.block_reason(b(6)), far);
    }
}
