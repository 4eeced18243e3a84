//! Lowering of branches, ends, intrinsics; names, origins and layout.

mod common;

use common::{good, ir, plain};
use warpfold_clif::cranelift_codegen::ir as clif;
use warpfold_clif::{ReadOptions, SourceBranch, lower};
use warpfold_ir::Origin;

#[test]
fn branches_and_tables() {
    let lowered = good(
        "; a comment
function %f(i32) -> i32 {
block5(v0: i32):
    v1 = iconst.i32 3
    br_table v0, block9(v1), [block2, block9(v0), block2]

block9(v2: i32):
    return v2

block2:
    v3 = icmp_of_nothing
}"
        .replace(
            "v3 = icmp_of_nothing",
            "brif v0, block9(v0), block9(v1)\n\nblock1:\n    brif v0, block1, block2",
        )
        .as_str(),
    );
    assert_eq!(
        plain(&lowered[0]),
        [
            "block5(v0: i32):",
            "v1 = const.i32 3",
            "switch v0, [block2, block9(v0), block2], block9(v1)",
            "block9(v2: i32):",
            "ret v2",
            "block2:",
            "v3 = const.i32 0",
            "v4 = icmp.i32 ne v0, v3",
            "br v4, block9(v0), block9(v1)",
        ]
    );
    let branch = |inst, line, opcode, block, unreachable| SourceBranch {
        origin: Origin::new(inst, line),
        opcode,
        block,
        condition: "v0 of block5".into(),
        unreachable,
    };
    assert_eq!(
        lowered[0].branches,
        [
            branch(1, 5, "br_table", 5, false),
            branch(3, 11, "brif", 2, false),
            branch(4, 14, "brif", 1, true),
        ]
    );
    assert_eq!(lowered[0].line, 2);
    let func = &lowered[0].func;
    assert_eq!(func.block(func.layout[2]).origin, Origin::new(3, 11));
}

/// Blocks laid out before what dominates them: order and numbers stay.
#[test]
fn layout_against_dominance() {
    let lines = ir("function %f(i32) -> i32 {
block0(v0: i32):
    jump block2
block1:
    return v1
block2:
    v1 = iadd v0, v0
    jump block1
}");
    assert_eq!(
        lines,
        [
            "block0(v0: i32):",
            "jump block2",
            "block1:",
            "ret v1",
            "block2:",
            "v1 = iadd.i32 v0, v0",
            "jump block1",
        ]
    );
}

#[test]
fn ends() {
    let lines = ir("function %f(i64, f32) -> i64, f32 {
block0(v0: i64, v1: f32):
    brif v0, block1, block2
block1:
    return v0, v1
block2:
    trap bad_toint
}");
    assert_eq!(
        lines[3..],
        [
            "br v3, block1, block2",
            "block1:",
            "ret v0, v1",
            "block2:",
            "trap bad_toint"
        ]
    );
}

#[test]
fn intrinsics() {
    let mut ids = String::from("function %f() {\n");
    let names = [
        "lane_id",
        "warp_id",
        "tid_x",
        "tid_y",
        "tid_z",
        "ctaid_x",
        "ctaid_y",
        "ctaid_z",
        "ntid_x",
        "ntid_y",
        "ntid_z",
        "nctaid_x",
        "nctaid_y",
        "nctaid_z",
        "active_mask",
    ];
    for (i, name) in names.iter().enumerate() {
        ids += &format!("    fn{i} = %{name}() -> i32\n");
    }
    ids += "block0:\n";
    for i in 0..names.len() {
        ids += &format!("    v{i} = call fn{i}()\n");
    }
    ids += "    return\n}\n";
    let lines = ir(&ids);
    for (i, name) in names.iter().enumerate() {
        assert_eq!(lines[i + 1], format!("v{i} = {name}"));
    }

    let lines = ir("function %g(i64, i32, f32, i8) {
    sig0 = (i8) -> i8 system_v
    fn0 = %ballot(i8) -> i32
    fn1 = %vote_any sig0
    fn2 = %vote_all(i8 uext) -> i8 uext
    fn3 = %shfl_idx(i64, i32) -> i64
    fn4 = %shfl_up(f32, i32) -> f32
    fn5 = colocated %shfl_down(i8, i32) -> i8
    fn6 = %shfl_bfly(i32, i32) -> i32
    fn7 = %shfl_bfly(f32, i32) -> f32
    fn8 = %read_first(i64) -> i64
    fn9 = %barrier()
    fn10 = %warp_sync()
    fn11 = %shared_base() -> i64
    fn12 = %warp_sync(i32)
block0(v0: i64, v1: i32, v2: f32, v3: i8):
    v4 = call fn0(v3)
    v5 = call fn1(v3)
    v6 = call fn2(v5)
    v7 = call fn3(v0, v1)
    v8 = call fn4(v2, v1)
    v9 = call fn5(v6, v1)
    v10 = call fn6(v4, v1)
    v11 = call fn7(v2, v1)
    v12 = call fn8(v0)
    call fn9()
    call fn10()
    call fn12(v1)
    v13 = call fn11()
    return
}");
    assert_eq!(
        lines[1..],
        [
            "v4 = const.i8 0",
            "v5 = icmp.i8 ne v3, v4",
            "v6 = ballot v5",
            "v7 = vote_any v5",
            "v8 = vote_all v7",
            "v9 = shfl_idx.i64 v0, v1",
            "v10 = shfl_up.f32 v2, v1",
            "v11 = bint.i8 v8",
            "v12 = shfl_down.i8 v11, v1",
            "v13 = shfl_bfly.i32 v6, v1",
            "v14 = shfl_bfly.f32 v2, v1",
            "v15 = read_first.i64 v0",
            "barrier",
            "warp_sync",
            "warp_sync v1",
            "v16 = shared_base.i64",
            "ret",
        ]
    );
}

#[test]
fn aliases_and_names() {
    let lowered = good(
        "function u3:14(i32) -> i32 system_v {
block0(v0: i32):
    v5 -> v0
    v1 = iadd v5, v0
    v6 -> v1
    return v6
}
function %b_2(i32) {
block0(v0: i32):
    return
}",
    );
    assert_eq!(lowered[0].func.name, "u3_14");
    assert_eq!(
        plain(&lowered[0]),
        ["block0(v0: i32):", "v1 = iadd.i32 v0, v0", "ret v1"]
    );
    assert_eq!((lowered[1].func.name.as_str(), lowered[1].line), ("b_2", 8));
}

/// Headers of Cranelift's filetests are passed over, whatever they name.
#[test]
fn headers() {
    let lowered = good(
        "test run\ntest compile precise-output\nset opt_level=none no_such_setting=1\n\
         target nonsense-triple has_avx\nfeature \"x\"\n\n; comment\nfunction %f() {\nblock0:\n  return\n}\n; run: %f()\n",
    );
    assert_eq!(lowered[0].line, 8);
}

/// A function built in memory: instruction numbers, line 0.
#[test]
fn built_in_memory() {
    use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
    use warpfold_clif::cranelift_codegen::ir::{AbiParam, InstBuilder, types};
    use warpfold_clif::cranelift_codegen::isa::CallConv;

    let mut signature = clif::Signature::new(CallConv::Fast);
    signature.params.push(AbiParam::new(types::I32));
    let name = clif::UserFuncName::testcase("built");
    let mut func = clif::Function::with_name_signature(name, signature);
    let mut context = FunctionBuilderContext::new();
    let mut b = FunctionBuilder::new(&mut func, &mut context);
    let (entry, left, right) = (b.create_block(), b.create_block(), b.create_block());
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    let x = b.block_params(entry)[0];
    b.ins().brif(x, left, &[], right, &[]);
    for block in [left, right] {
        b.switch_to_block(block);
        b.ins().return_(&[]);
    }
    b.seal_all_blocks();
    b.finalize(ReadOptions::default().frontend_config());

    let lowered = lower(&func, &ReadOptions::default()).expect("valid");
    assert_eq!(lowered.branches[0].origin, Origin::new(0, 0));
    assert_eq!(lowered.line, 0);
    assert!(
        lowered
            .func
            .to_string()
            .contains("br v2, block1, block2 @0:0")
    );

    // An invalid one.
    func.signature.params.clear();
    let errors = lower(&func, &ReadOptions::default()).expect_err("parameters differ");
    assert_eq!(
        errors[0].to_string(),
        "%built: block0 has 1 parameters, but the function's signature 0"
    );
}
