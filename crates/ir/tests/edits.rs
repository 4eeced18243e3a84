//! Edits keep a function sound.

use warpfold_ir::entity::EntityRef;
use warpfold_ir::{
    Block, Function, Imm, Inst, InstData, Opcode, Type, Value, ValueDef, parse_function, verify,
};

const LOOP: &str = "\
function %f(i32, pred) -> i32 {
block0(v0: i32, v1: pred):
    jump block1(v0, v0, v0)

block1(v2: i32, v3: i32, v4: i32):
    v5 = iadd.i32 v2, v4
    br v1, block1(v2, v3, v5), block2

block2:
    ret v4

block3:
    jump block1(v0, v0, v0)
}
";

fn sample() -> Function {
    parse_function(LOOP).expect("sound text")
}

#[test]
fn parameters_go_with_their_arguments() {
    let mut f = sample();
    f.retain_params(Block::new(1), |i| i != 1);
    verify(&f).expect("still sound");
    let text = f.to_string();
    assert!(text.contains("block1(v2: i32, v4: i32):"), "{text}");
    assert!(text.contains("br v1, block1(v2, v5), block2"), "{text}");
    assert_eq!(text.matches("jump block1(v0, v0)\n").count(), 2, "{text}");
    assert_eq!(f.def(Value::new(4)), ValueDef::Param(Block::new(1), 1));
}

#[test]
fn unreachable_blocks_leave_the_layout() {
    let mut f = sample();
    assert_eq!(f.remove_unreachable(), [Block::new(3)]);
    assert_eq!(f.layout, [0, 1, 2].map(Block::new));
    verify(&f).expect("still sound");
    assert_eq!(f.remove_unreachable(), []);
}

#[test]
fn uses_are_renamed_everywhere() {
    let mut f = sample();
    f.map_uses(|v| if v == Value::new(4) { Value::new(3) } else { v });
    verify(&f).expect("still sound");
    let text = f.to_string();
    assert_eq!(
        text.matches("v4").count(),
        1,
        "only its definition is left: {text}"
    );
    assert!(text.contains("v5 = iadd.i32 v2, v3"), "{text}");
    assert!(text.contains("ret v3"), "{text}");
}

#[test]
fn instructions_go_where_they_are_put() {
    let mut f = sample();
    let constant = InstData::new(Opcode::Const, Type::I32, &[], Imm::Bits(9));
    let inst = f.insert_inst(Block::new(1), 0, constant);
    assert_eq!(f.block(Block::new(1)).insts, [inst, Inst::new(0)]);
    let v = f.result(inst).expect("a constant has a result");
    assert_eq!(f.as_const(v), Some(9));
    assert_eq!(f.def_inst(v), Some(inst));
    verify(&f).expect("still sound");
}

#[test]
fn a_target_that_is_not_there_is_none() {
    let f = warpfold_ir::parse_module(
        "function %f(i32, pred) {\nblock0(v0: i32, v1: pred):\n    \
         switch v0, [block1(v0), block2], block1(v0)\nblock1(v2: i32):\n    br v1, block2, block3\n\
         block2:\n    jump block3\nblock3:\n    ret\n}\n",
    )
    .expect("a module")
    .functions
    .remove(0);
    for (b, count) in f.layout.iter().zip([3, 2, 1, 0]) {
        let term = f.term(*b);
        assert_eq!(term.targets().len(), count);
        for edge in 0..5u32 {
            let target = term.targets().get(edge as usize).copied();
            assert_eq!(term.target(edge), target, "{b} edge {edge}");
        }
        assert_eq!(term.target(u32::MAX), None);
    }
}
