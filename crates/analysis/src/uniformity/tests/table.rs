//! The patterns of the precision table, and the claims about static scopes.

use super::*;

const T: &str = "    v0 = tid_x\n";

fn linear(body: &str) -> Uniformity {
    straight(
        "",
        "",
        &format!("{T}{body}"),
        LaunchShape::one_dimensional(),
    )
}

/// The scope of the last value.
fn last(u: &Uniformity) -> Scope {
    u.shape(v(u.types.len() as u32 - 1)).scope()
}

#[track_caller]
fn scope_of(body: &str, expected: Scope) {
    let u = linear(body);
    assert_eq!(
        last(&u),
        expected,
        "{body}: {:?}",
        u.shape(v(u.types.len() as u32 - 1))
    );
}

fn with_constant(c: i64, op: &str) -> String {
    format!("    v1 = const.i32 {c}\n    v2 = {op} v0, v1")
}

#[test]
fn shifts_and_masks_of_the_thread_index() {
    for n in [5, 6, 10] {
        scope_of(&with_constant(n, "ushr.i32"), Scope::Warp);
        scope_of(&with_constant(n, "sshr.i32"), Scope::Warp);
    }
    scope_of(&with_constant(4, "ushr.i32"), Scope::Lane);
    for mask in [32, 64, 320, !31, 96] {
        scope_of(&with_constant(mask, "band.i32"), Scope::Warp);
    }
    for mask in [31, 63, 65, 16, 1] {
        scope_of(&with_constant(mask, "band.i32"), Scope::Lane);
    }
    for mask in [31, 63, 127] {
        scope_of(&with_constant(mask, "bor.i32"), Scope::Warp);
    }
    for mask in [32, 64, 65, 15] {
        scope_of(&with_constant(mask, "bor.i32"), Scope::Lane);
    }
    for divisor in [32, 64] {
        scope_of(&with_constant(divisor, "udiv.i32"), Scope::Warp);
        // The index has no sign.
        scope_of(&with_constant(divisor, "sdiv.i32"), Scope::Warp);
    }
    scope_of(&with_constant(16, "udiv.i32"), Scope::Lane);
    scope_of(&with_constant(33, "udiv.i32"), Scope::Lane);
}

/// Lanes take turns at an atomic access, so each may find something else.
#[test]
fn atomics_are_each_lanes_own() {
    let address = "    v1 = shared_base.i64\n    v2 = const.i32 1\n    store.i32 v2, v1\n";
    for op in [
        "load.i32 v1",
        "atomic_load.i32 v1",
        "atomic_load.i32 readonly v1",
        "atomic_add.i32 v2, v1",
        "atomic_xchg.i32 v2, v1",
        "atomic_cas.i32 v2, v2, v1",
    ] {
        let expected = match op.starts_with("load") {
            true => Scope::Warp,
            false => Scope::Lane,
        };
        scope_of(&format!("{address}    v3 = {op}"), expected);
    }
    let u = linear(&format!("{address}    v3 = atomic_add.i32 v2, v1"));
    assert_eq!(u.reason(v(3)), Some(Reason::Source(Opcode::AtomicAdd)));
}

/// Functions of one lane's operands, whatever they compute; a NaN is no
/// constant.
#[test]
fn floats_are_functions_of_their_operands() {
    let half = "    v1 = const.f16 2.0\n";
    scope_of(&format!("{half}    v2 = fadd.f16 v1, v1"), Scope::Const);
    scope_of(&format!("{half}    v2 = exp2.f16 v1"), Scope::Const);
    let nan = linear("    v1 = const.f16 -1.0\n    v2 = log.f16 v1");
    assert_eq!(nan.shape(v(2)).as_constant(), None);
    scope_of(
        "    v1 = fcvt_from_uint.f32 v0\n    v2 = sin.f32 v1",
        Scope::Lane,
    );
    scope_of(
        "    v1 = ctaid_x\n    v2 = fcvt_from_uint.f64 v1\n    v3 = pow.f64 v2, v2",
        Scope::Block,
    );
}

#[test]
fn a_signed_quotient_is_no_shift() {
    // tid - 7 may be negative: -7 / 32 and 24 / 32 are both 0, but the shift
    // gives -1 and 0.
    let body = "    v1 = const.i32 7\n    v2 = isub.i32 v0, v1\n    v3 = const.i32 32\n";
    scope_of(&format!("{body}    v4 = sdiv.i32 v2, v3"), Scope::Lane);
    scope_of(&format!("{body}    v4 = srem.i32 v2, v3"), Scope::Lane);
}

#[test]
fn comparisons_at_warp_bounds() {
    for (cc, c, expected) in [
        ("ult", 32, Scope::Warp),
        ("ule", 31, Scope::Warp),
        ("slt", 32, Scope::Warp),
        ("sle", 31, Scope::Warp),
        ("ugt", 31, Scope::Warp),
        ("uge", 32, Scope::Warp),
        ("sge", 64, Scope::Warp),
        ("ult", 16, Scope::Lane),
        ("ult", 31, Scope::Lane),
        ("ule", 32, Scope::Lane),
        ("eq", 5, Scope::Lane),
        ("eq", -1, Scope::Const),
        ("slt", -1, Scope::Const),
        ("ult", 0, Scope::Const),
    ] {
        scope_of(&with_constant(c, &format!("icmp.i32 {cc}")), expected);
        let inverse: warpfold_ir::IntCC = cc.parse().unwrap();
        scope_of(
            &with_constant(c, &format!("icmp.i32 {}", inverse.inverse())),
            expected,
        );
        let swapped = format!(
            "    v1 = const.i32 {c}\n    v2 = icmp.i32 {} v1, v0",
            inverse.swap_args()
        );
        scope_of(&swapped, expected);
    }
}

#[test]
fn warp_parity() {
    let body = "    v1 = const.i32 32\n    v2 = udiv.i32 v0, v1\n    v3 = const.i32 2\n    \
                v4 = urem.i32 v2, v3\n    v5 = const.i32 0\n    v6 = icmp.i32 eq v4, v5";
    scope_of(body, Scope::Warp);
    let lane_parity = "    v1 = const.i32 2\n    v2 = urem.i32 v0, v1\n    v3 = const.i32 0\n    \
                       v4 = icmp.i32 eq v2, v3";
    scope_of(lane_parity, Scope::Lane);
}

#[test]
fn global_index_is_aligned_only_if_the_block_is() {
    let body = "    v0 = ctaid_x\n    v1 = ntid_x\n    v2 = imul.i32 v0, v1\n    v3 = tid_x\n    \
                v4 = iadd.i32 v2, v3\n    v5 = const.i32 5\n    v6 = ushr.i32 v4, v5\n    \
                v7 = uextend.i64 v4";
    let u = straight("", "", body, LaunchShape::new([4, 1, 1], [64, 1, 1]));
    assert_eq!(u.shape(v(4)).stride(), Some(1));
    assert_eq!(u.shape(v(4)).base().trailing(), 5);
    assert_eq!(u.shape(v(6)).scope(), Scope::Warp);
    assert_eq!(
        u.shape(v(7)).stride(),
        Some(1),
        "no wrap: still affine when widened"
    );
    for shape in [
        LaunchShape::new([4, 1, 1], [65, 1, 1]),
        LaunchShape::one_dimensional(),
    ] {
        let u = straight("", "", body, shape);
        assert_eq!(u.shape(v(4)).stride(), Some(1));
        assert_eq!(u.shape(v(4)).base().trailing(), 0);
        assert_eq!(u.shape(v(6)).scope(), Scope::Lane);
        assert_eq!(u.shape(v(7)).stride(), None);
    }
}

#[test]
fn two_dimensional_blocks() {
    let body = "    v0 = tid_x\n    v1 = const.i32 5\n    v2 = ushr.i32 v0, v1\n    v3 = tid_y\n    \
                v4 = ntid_x\n    v5 = imul.i32 v3, v4\n    v6 = iadd.i32 v5, v0\n    \
                v7 = ushr.i32 v6, v1";
    let scopes = |block| {
        let u = straight("", "", body, LaunchShape::new([1; 3], block));
        [2, 3, 7].map(|n| u.shape(v(n)).scope())
    };
    assert_eq!(scopes([65, 2, 1]), [Scope::Lane, Scope::Lane, Scope::Warp]);
    assert_eq!(scopes([64, 2, 1]), [Scope::Warp, Scope::Warp, Scope::Warp]);
    // Along z the plane's number starts anew in the middle of a warp.
    assert_eq!(scopes([5, 5, 2])[2], Scope::Lane);
    let unknown = straight("", "", body, LaunchShape::unknown());
    assert_eq!(unknown.shape(v(2)).scope(), Scope::Lane);
    assert_eq!(unknown.shape(v(7)).scope(), Scope::Lane);
}

#[test]
fn differences() {
    scope_of("    v1 = isub.i32 v0, v0", Scope::Const);
    scope_of(
        "    v1 = const.i32 5\n    v2 = iadd.i32 v0, v1\n    v3 = isub.i32 v2, v0",
        Scope::Const,
    );
    // (a + 4t) - 4t is a, at a's scope.
    let text = "function %f(i32) {\nblock0(v0: i32):\n    v1 = tid_x\n    v2 = const.i32 4\n    \
                v3 = imul.i32 v1, v2\n    v4 = iadd.i32 v0, v3\n    v5 = const.i32 2\n    \
                v6 = ishl.i32 v1, v5\n    v7 = isub.i32 v4, v6\n    ret\n}\n";
    assert_eq!(analyse(&parse(text)).shape(v(7)).scope(), Scope::Grid);
    // Equal strides: equality is uniform, order is not.
    let both = "    v1 = ctaid_x\n    v2 = iadd.i32 v0, v1\n    v3 = warp_id\n    \
                v4 = iadd.i32 v0, v3\n";
    scope_of(&format!("{both}    v5 = icmp.i32 eq v2, v4"), Scope::Warp);
    scope_of(&format!("{both}    v5 = icmp.i32 ult v2, v4"), Scope::Lane);
}

#[test]
fn loads() {
    let load = |flags: &str, address: &str| {
        let text = format!(
            "function %f(i64, i64 varying) {{\n    ss0 = slot 8, align 8\nblock0(v0: i64, v1: i64):\n    \
             v2 = stack_addr.i64 ss0\n    v3 = warp_id\n    v4 = uextend.i64 v3\n    \
             v5 = iadd.i64 v0, v4\n    v6 = load.i32{flags} {address}\n    \
             store.i32 v6, v0\n    ret\n}}\n"
        );
        analyse(&parse(&text)).shape(v(6)).scope()
    };
    assert_eq!(load(" readonly", "v0"), Scope::Grid);
    assert_eq!(load(" readonly", "v5"), Scope::Warp);
    assert_eq!(load(" readonly", "v1"), Scope::Lane);
    assert_eq!(load("", "v0"), Scope::Warp);
    assert_eq!(load(" readonly volatile", "v0"), Scope::Warp);
    assert_eq!(load("", "v1"), Scope::Lane);
    // One address, a cell per lane.
    assert_eq!(load("", "v2"), Scope::Lane);
    assert_eq!(load(" readonly", "v2"), Scope::Lane);
}

#[test]
fn memory_that_nothing_writes_is_read_only() {
    let scopes = |also: &str| {
        let text = format!(
            "function %f(i64, i32 varying) {{\n    ss0 = slot 8, align 8\nblock0(v0: i64, v1: i32):\n    \
             v2 = stack_addr.i64 ss0\n    v3 = const.i64 4\n    v4 = iadd.i64 v2, v3\n    v5 = load.i32 v0\n    \
             v6 = load.i32 volatile v0\n    v7 = load.i32 v2\n{also}    ret\n}}\n"
        );
        let u = analyse(&parse(&text));
        [5, 6, 7].map(|n| u.shape(v(n)).scope())
    };
    use Scope::*;
    assert_eq!(scopes(""), [Grid, Warp, Lane]);
    // The lane's own memory is no other's.
    assert_eq!(scopes("    store.i32 v1, v2\n"), [Grid, Warp, Lane]);
    assert_eq!(scopes("    store.i32 v1, v4+4\n"), [Grid, Warp, Lane]);
    assert_eq!(scopes("    barrier\n"), [Grid, Warp, Lane]);
    // Whatever else is written may be what is read.
    for store in [
        "    store.i32 v1, v0+64\n",
        "    v8 = atomic_add.i32 v1, v0\n",
        "    atomic_store.i32 v1, v0\n",
        "    v8 = shared_base.i64\n    store.i32 v1, v8\n",
        "    v8 = iadd.i64 v2, v4\n    store.i32 v1, v8\n",
    ] {
        assert_eq!(scopes(store), [Warp, Warp, Lane], "{store}");
    }
}

#[test]
fn local_addresses_are_followed_through_memory() {
    let text = "function %f(i64) {\n    ss0 = slot 8, align 8\nblock0(v0: i64):\n    \
                v1 = stack_addr.i64 ss0\n    store.i64 v1, v0\n    v2 = load.i64 v0\n    \
                v3 = load.i32 v2\n    ret\n}\n";
    assert_eq!(analyse(&parse(text)).shape(v(3)).scope(), Scope::Lane);
    let without = text.replace("store.i64 v1", "store.i64 v0");
    assert_eq!(analyse(&parse(&without)).shape(v(3)).scope(), Scope::Warp);
}

#[test]
fn cross_lane_results() {
    let body = "    v1 = const.i32 3\n    v2 = icmp.i32 ult v0, v1\n";
    scope_of(&format!("{body}    v3 = ballot v2"), Scope::Warp);
    scope_of(&format!("{body}    v3 = vote_any v2"), Scope::Warp);
    scope_of(&format!("{body}    v3 = vote_all v2"), Scope::Warp);
    scope_of(&format!("{body}    v3 = read_first.i32 v0"), Scope::Warp);
    scope_of(&format!("{body}    v3 = active_mask"), Scope::Warp);
    // The source lane may not take part.
    scope_of(&format!("{body}    v3 = shfl_idx.i32 v0, v1"), Scope::Lane);
    // "Adds no divergence" is not "always uniform".
    scope_of(&format!("{body}    v3 = shfl_idx.i32 v1, v0"), Scope::Const);
}

#[test]
fn a_mask_pattern_does_not_hide_a_divergent_mask() {
    let text = "function %f(i32 varying) {\nblock0(v0: i32):\n    v1 = tid_x\n    \
                v2 = band.i32 v1, v0\n    v3 = const.i32 -32\n    v4 = bor.i32 v0, v3\n    \
                v5 = band.i32 v4, v1\n    ret\n}\n";
    let u = analyse(&parse(text));
    assert_eq!(u.shape(v(2)).scope(), Scope::Lane);
    assert_eq!(u.shape(v(5)).scope(), Scope::Lane);
    assert_eq!(u.shape(v(5)).uniform_bits() & 0xFFFF_FFFF, 0xFFFF_FFE0);
}

#[test]
fn selects() {
    let text = "function %f(i32, i32, pred, i32 varying) {\nblock0(v0: i32, v1: i32, v2: pred, v3: i32):\n    \
                v4 = const.i32 1\n    v5 = icmp.i32 eq v3, v4\n    v6 = select.i32 v2, v0, v1\n    \
                v7 = select.i32 v5, v0, v1\n    v8 = select.i32 v5, v0, v0\n    v9 = const.i32 8\n    \
                v10 = const.i32 24\n    v11 = select.i32 v5, v9, v10\n    v12 = const.i32 15\n    \
                v13 = band.i32 v11, v12\n    ret\n}\n";
    let u = analyse(&parse(text));
    let scope = |n| u.shape(v(n)).scope();
    assert_eq!(scope(6), Scope::Grid);
    assert_eq!(scope(7), Scope::Lane);
    assert_eq!(scope(8), Scope::Grid);
    assert_eq!(scope(11), Scope::Lane);
    // What both arms share as known stays known: alignment survives a select
    // only where it is known of both.
    assert_eq!(u.shape(v(13)).as_constant(), Some(8));
}

#[test]
fn guards() {
    let text = "function %f(i32, i32 varying) {\nblock0(v0: i32, v1: i32):\n    v2 = const.i32 1\n    \
                v3 = icmp.i32 eq v1, v2\n    v4 = iadd.i32 v0, v2 if v3\n    \
                v5 = iadd.i32 v0, v2 if v3 else v0\n    v6 = iadd.i32 v0, v2 if !v3 else v2\n    \
                v7 = icmp.i32 eq v0, v2\n    v8 = iadd.i32 v0, v2 if v7 else v0\n    \
                v9 = ballot v3 if v3\n    v10 = ballot v3 if v3 else v0\n    ret\n}\n";
    let u = analyse(&parse(text));
    let scopes: Vec<_> = (4..=10).map(|n| u.shape(v(n)).scope()).collect();
    use Scope::*;
    assert_eq!(scopes, [Grid, Lane, Lane, Grid, Grid, Warp, Lane]);
}

#[test]
fn ids_parameters_and_addresses() {
    let text = "function %f(i32, i32 varying) {\n    ss0 = slot 8, align 8\nblock0(v0: i32, v1: i32):\n    \
                v2 = lane_id\n    v3 = warp_id\n    v4 = ctaid_x\n    v5 = ntid_x\n    v6 = nctaid_x\n    \
                v7 = stack_addr.i64 ss0\n    v8 = shared_base.i64\n    ret\n}\n";
    let u = analyse(&parse(text));
    let scopes: Vec<_> = (0..=8).map(|n| u.shape(v(n)).scope()).collect();
    use Scope::*;
    assert_eq!(
        scopes,
        [Grid, Lane, Lane, Warp, Block, Grid, Grid, Grid, Grid]
    );
    assert_eq!(u.shape(v(2)).stride(), Some(1));
    assert_eq!(u.reason(v(1)), Some(Reason::Parameter(1)));
    assert_eq!(u.reason(v(2)), Some(Reason::Source(Opcode::LaneId)));
    assert_eq!(u.reason(v(3)), None);
}

fn branch_on(body: &str) -> String {
    format!("function %f(i32, i64) {{\nblock0(v0: i32, v1: i64):\n{body}}}\n")
}

#[test]
fn known_masks() {
    let mask = |cond: &str| {
        let text = branch_on(&format!(
            "    v2 = lane_id\n    v3 = tid_x\n{cond}    br v9, block1, block2\nblock1:\n    jump block2\nblock2:\n    ret\n"
        ));
        let func = parse(&text);
        analyse(&func).known_mask(b(0))
    };
    let and_eq = |of: &str, m: u32, cc: &str, c: u32| {
        format!(
            "    v4 = const.i32 {m}\n    v5 = band.i32 {of}, v4\n    v6 = const.i32 {c}\n    v9 = icmp.i32 {cc} v5, v6\n"
        )
    };
    assert_eq!(mask(&and_eq("v2", 1, "eq", 1)), Some(0xAAAA_AAAA));
    assert_eq!(mask(&and_eq("v3", 1, "ne", 0)), Some(0xAAAA_AAAA));
    assert_eq!(mask(&and_eq("v3", 3, "eq", 0)), Some(0x1111_1111));
    // Bit 5 of the index is the warp's, not the lane's.
    assert_eq!(mask(&and_eq("v3", 33, "eq", 1)), None);
    let below =
        |of: &str, c: u32| format!("    v4 = const.i32 {c}\n    v9 = icmp.i32 ult {of}, v4\n");
    assert_eq!(mask(&below("v2", 16)), Some(0xFFFF));
    assert_eq!(mask(&below("v2", 32)), Some(0xFFFF_FFFF));
    assert_eq!(mask(&below("v3", 16)), None);
    assert_eq!(mask("    v9 = icmp.i32 ult v2, v0\n"), None);
    let unknown = parse(&branch_on(
        "    v2 = tid_x\n    v3 = const.i32 1\n    v4 = band.i32 v2, v3\n    v5 = icmp.i32 eq v4, v3\n    br v5, block1, block2\nblock1:\n    jump block2\nblock2:\n    ret\n",
    ));
    assert_eq!(
        under(&unknown, LaunchShape::unknown()).known_mask(b(0)),
        None
    );
    let narrow = under(&unknown, LaunchShape::new([1; 3], [4, 4, 4]));
    assert_eq!(
        narrow.known_mask(b(0)),
        Some(0xAAAA_AAAA),
        "rows of 4 repeat in the warp"
    );
    let rows = parse(&unknown.to_string().replace("tid_x", "tid_y"));
    let mask = |block| under(&rows, LaunchShape::new([1; 3], block)).known_mask(b(0));
    assert_eq!(mask([4, 4, 4]), Some(0xF0F0_F0F0));
    assert_eq!(mask([8, 4, 1]), Some(0xFF00_FF00));
    assert_eq!(mask([4, 6, 1]), Some(0xF0F0_F0F0));
    assert_eq!(mask([4, 16, 2]), Some(0xF0F0_F0F0), "bit 3 is the warp's");
    assert_eq!(mask([4, 6, 2]), None, "the second plane starts anew");
    assert_eq!(mask([6, 4, 1]), None);
    let planes = parse(&unknown.to_string().replace("tid_x", "tid_z"));
    let mask = |block| under(&planes, LaunchShape::new([1; 3], block)).known_mask(b(0));
    assert_eq!(mask([4, 4, 3]), Some(0xFFFF_0000));
    assert_eq!(mask([2, 4, 5]), Some(0xFF00_FF00));
    assert_eq!(mask([3, 4, 5]), None);
}

#[test]
fn tail_guards() {
    let tail = |cond: &str| {
        let text = branch_on(&format!(
            "    v2 = tid_x\n    v3 = ctaid_x\n    v4 = ntid_x\n    v5 = imul.i32 v3, v4\n    v6 = iadd.i32 v5, v2\n{cond}    br v9, block1, block2\nblock1:\n    jump block2\nblock2:\n    ret\n"
        ));
        let u = analyse(&parse(&text));
        (u.branch_scope(b(0)), u.tail_guard(b(0)))
    };
    assert_eq!(tail("    v9 = icmp.i32 ult v6, v0\n"), (Scope::Lane, true));
    assert_eq!(tail("    v9 = icmp.i32 sge v6, v0\n"), (Scope::Lane, true));
    assert_eq!(
        tail("    v8 = isub.i32 v0, v6\n    v7 = const.i32 0\n    v9 = icmp.i32 sgt v8, v7\n"),
        (Scope::Lane, true)
    );
    assert_eq!(
        tail("    v8 = uextend.i64 v6\n    v9 = icmp.i64 ult v8, v1\n"),
        (Scope::Lane, true)
    );
    assert_eq!(tail("    v9 = icmp.i32 eq v6, v0\n"), (Scope::Lane, false));
    // Every warp splits here.
    assert_eq!(
        tail("    v8 = lane_id\n    v9 = icmp.i32 ult v8, v0\n"),
        (Scope::Lane, false)
    );
    assert_eq!(
        tail("    v8 = warp_id\n    v9 = icmp.i32 ult v6, v8\n"),
        (Scope::Lane, false)
    );
    assert_eq!(
        tail("    v9 = icmp.i32 ult v5, v0\n"),
        (Scope::Block, false)
    );
}

#[test]
fn block_and_warp_conditions() {
    // C-15 and C-76.
    let scope = |id: &str| {
        let text = branch_on(&format!(
            "    v2 = {id}\n    v3 = const.i32 0\n    v4 = icmp.i32 eq v2, v3\n    br v4, block1, block2\nblock1:\n    jump block2\nblock2:\n    ret\n"
        ));
        let u = analyse(&parse(&text));
        (u.branch_scope(b(0)), u.is_uniform_branch(b(0)))
    };
    assert_eq!(scope("ctaid_x"), (Scope::Block, true));
    assert_eq!(scope("warp_id"), (Scope::Warp, true));
    assert_eq!(scope("lane_id"), (Scope::Lane, false));
}

#[test]
fn data_dependent_branch() {
    // C-18: divergent for any data.
    let text = branch_on(
        "    v2 = lane_id\n    v3 = const.i32 2\n    v4 = ishl.i32 v2, v3\n    v5 = uextend.i64 v4\n    v6 = iadd.i64 v1, v5\n    v7 = load.i32 readonly v6\n    v8 = const.i32 0\n    v9 = icmp.i32 slt v7, v8\n    br v9, block1, block2\nblock1:\n    jump block3\nblock2:\n    jump block3\nblock3:\n    ret\n",
    );
    let u = analyse(&parse(&text));
    assert_eq!(u.branch_scope(b(0)), Scope::Lane);
    assert_eq!(u.known_mask(b(0)), None);
    assert_eq!(
        u.branch_chain(b(0)).to_string(),
        "the branch of block0 depends on v9; v9 depends on v7; v7 depends on v6; \
         v6 depends on v5; v5 depends on v4; v4 depends on v2; \
         v2 is lane_id, which differs between lanes"
    );
}

#[test]
fn uniform_trip_count() {
    // C-37.
    let text = |varying: &str| {
        format!(
            "function %f(i32{varying}) {{\nblock0(v0: i32):\n    v1 = const.i32 0\n    jump block1(v1)\n\
             block1(v2: i32):\n    v3 = icmp.i32 ult v2, v0\n    br v3, block2, block3\n\
             block2:\n    v4 = const.i32 1\n    v5 = iadd.i32 v2, v4\n    jump block1(v5)\n\
             block3:\n    ret\n}}\n"
        )
    };
    let u = analyse(&parse(&text("")));
    assert_eq!(u.branch_scope(b(1)), Scope::Grid);
    assert_eq!(u.shape(v(2)).scope(), Scope::Grid);
    assert_eq!(u.exec_scope(b(2)), Scope::Grid);
    let u = analyse(&parse(&text(" varying")));
    assert_eq!(u.branch_scope(b(1)), Scope::Lane);
    // Inside, all lanes that still go round count alike; behind, not.
    assert_eq!(u.scope_at(v(2), b(2)), Scope::Grid);
    assert_eq!(u.scope_at(v(2), b(3)), Scope::Lane);
    assert_eq!(u.exec_scope(b(2)), Scope::Lane);
    assert_eq!(u.exec_scope(b(3)), Scope::Grid);
}

#[test]
fn annotation() {
    let func = parse(
        "function %f(i32) {\nblock0(v0: i32):\n    v1 = tid_x\n    v2 = icmp.i32 ult v1, v0\n    br v2, block1, block2\nblock1:\n    v3 = const.i32 32\n    v4 = udiv.i32 v1, v3\n    jump block2\nblock2:\n    ret\n}\n",
    );
    let text = annotate(&func, &analyse(&func));
    for line in [
        "block0(v0: i32): ; v0: uniform(grid)",
        "    v1 = tid_x ; stride 1, base warp = 0x0 mod 0x20",
        "    br v2, block1, block2 ; divergent, tail guard: the branch of block0 depends on v2",
        "block1: ; runs per lane",
        "    v3 = const.i32 32 ; const 0x20",
        "    v4 = udiv.i32 v1, v3 ; uniform(warp)",
    ] {
        assert!(text.lines().any(|l| l.starts_with(line)), "{line}\n{text}");
    }
}

#[test]
fn values_made_later_are_divergent() {
    let mut func = parse("function %f() {\nblock0:\n    v0 = const.i32 1\n    ret\n}\n");
    let u = analyse(&func);
    let entry = func.layout[0];
    let data = func.inst(func.block(entry).insts[0]).clone();
    let new = func.push_inst(entry, data).expect("a result");
    assert_eq!(u.scope_at(v(0), entry), Scope::Const);
    assert_eq!(u.scope_at(new, entry), Scope::Lane);
    assert_eq!(u.reason(new), Some(Reason::Unknown));
}
