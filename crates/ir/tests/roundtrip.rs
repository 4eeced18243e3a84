//! Text that is read back is the same function, and prints as the same text.

mod common;

use common::{SAMPLE, every_form_of};
use warpfold_ir::entity::EntityRef;
use warpfold_ir::{
    Block, FunctionBuilder, Module, Opcode, Origin, TrapCode, Type, Value, parse_function,
    parse_module, verify,
};

/// Parses `text`, checks that printing gives it back and that a second reading
/// is the same module.
fn fixed_point(text: &str) -> Module {
    let module = parse_module(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(module.to_string(), text);
    assert_eq!(parse_module(&module.to_string()).as_ref(), Ok(&module));
    module
}

#[test]
fn every_form_of_every_opcode() {
    for &op in Opcode::ALL {
        let func = every_form_of(op);
        verify(&func).unwrap_or_else(|e| panic!("{e}"));
        let read = parse_function(&func.to_string()).unwrap_or_else(|e| panic!("{e}\n{func}"));
        assert!(read == func, "read back differently:\n{func}\n{read}");
    }
}

#[test]
fn every_opcode_is_covered_with_and_without_guard() {
    for &op in Opcode::ALL {
        let func = every_form_of(op);
        let guarded = |want: bool| {
            func.laid_out_insts()
                .any(|(_, i)| func.inst(i).guard.is_some() == want)
        };
        assert_eq!(guarded(true), op.may_be_guarded(), "{op}");
        assert_eq!(guarded(false), !op.must_be_guarded(), "{op}");
    }
}

#[test]
fn the_sample_prints_as_it_stands() {
    let module = fixed_point(SAMPLE);
    assert_eq!(module.functions.len(), 3);
    for func in &module.functions {
        verify(func).unwrap_or_else(|e| panic!("{e}"));
    }
    let func = module.function("sample").expect("the function");
    let layout: Vec<_> = func.layout.iter().map(|b| b.index()).collect();
    assert_eq!(layout, [0, 7, 3, 2, 5, 6, 8]);
    assert_eq!(func.ty(Value::new(24)), Type::I32);
    assert_eq!(func.block(Block::new(7)).origin, Origin::new(9, 23));
    // The numbers left out name something, too.
    for v in func.values() {
        if let Some(inst) = func.def_inst(v) {
            assert!(func.inst(inst).results.contains(&v));
        }
    }
    assert_eq!(module.functions[2].name, "a name\twith \"odd\" letters é");
}

#[test]
fn liberties_are_printed_in_the_standard_form() {
    let text = "\
; a comment
function %f(
    i32, ; the first
    i64 varying
) {\r
  ; slots
  ss7 = slot 0x10 , align 4

  block3 ( v100 : i32, v5: i64 ) : ; entry
\tv9=iadd.i32 v100,v100   ; no spaces
v1 = lane_id.i32
    v2 = const.i8 255
    v3 = const.i8 0xff
    v6 = const.f64 1
    v4 = stack_addr.i64 ss7
    br v8, block1, block1 ; forward
  block1:
    v8 = icmp.i32 eq v9, v1
    switch v1, [
        block1,
        block1(v9)
    ], block1
}";
    let expected = "\
function %f(i32, i64 varying) {
    ss0 = slot 16, align 4

block3(v100: i32, v5: i64):
    v9 = iadd.i32 v100, v100
    v1 = lane_id
    v2 = const.i8 -1
    v3 = const.i8 -1
    v6 = const.f64 1.0
    v4 = stack_addr.i64 ss0
    br v8, block1, block1

block1:
    v8 = icmp.i32 eq v9, v1
    switch v1, [block1, block1(v9)], block1
}
";
    let module = parse_module(text).expect("liberal text");
    assert_eq!(module.to_string(), expected);
    fixed_point(expected);
}

#[test]
fn empty_files_and_functions_are_read() {
    assert_eq!(fixed_point("").functions.len(), 0);
    fixed_point("function %f() {\n}\n");
    fixed_point("function %f() -> f32, f64, pred {\n    ss0 = slot 4, align 4\n}\n");
    assert_eq!(parse_module("\n\n ; nothing\n"), Ok(Module::default()));
}

#[test]
fn functions_with_removed_parts_keep_their_numbers() {
    let mut b = FunctionBuilder::new("gaps");
    let x = b.param(Type::I32, true);
    let unused = b.iconst(Type::I32, 7);
    let (dead, last) = (b.block(), b.block());
    let sum = b.ins(Opcode::Iadd, Type::I32, &[x, x]);
    b.jump(last, &[]);
    b.switch_to(dead);
    b.trap(TrapCode::User(3));
    b.switch_to(last);
    b.returns(&[Type::I32]);
    b.ret(&[sum]);
    let mut func = b.finish();
    let entry = func.layout[0];
    let gone = func.def_inst(unused).expect("a constant");
    func.block_mut(entry).insts.retain(|&i| i != gone);
    assert_eq!(func.remove_unreachable(), [dead]);
    verify(&func).expect("still a function");
    let read = fixed_point(&func.to_string());
    verify(&read.functions[0]).expect("still a function");
    assert_eq!(read.functions[0].num_values(), 3);
    assert_eq!(read.functions[0].num_blocks(), 3);
}

#[test]
fn one_function_means_one() {
    let two = "function %f() {\n}\nfunction %g() {\n}\n";
    assert_eq!(parse_function(two).expect_err("two").line, 3);
    assert_eq!(parse_function("").expect_err("none").line, 1);
    assert_eq!(parse_module(two).expect("a module").functions.len(), 2);
}
