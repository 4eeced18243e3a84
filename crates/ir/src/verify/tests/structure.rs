//! Rules on layout, headers, terminators, slots and dominance.

use cranelift_entity::EntityRef;
use smallvec::smallvec;

use super::{LOOP, block, errors, first, only, parse, value, with_lines};
use crate::entities::{Block, Inst};
use crate::function::{BlockCall, Function, SlotData, Terminator};
use crate::verify::{Place, verify};

#[test]
fn a_sound_function_passes() {
    assert_eq!(verify(&parse(LOOP)), Ok(()));
}

#[test]
fn there_is_an_entry_block() {
    only(
        &Function::new("f"),
        Place::Function,
        "there is no entry block",
    );
}

#[test]
fn slots_are_aligned_and_fit() {
    let mut f = parse(LOOP);
    for align in [0, 3] {
        f.slots.push(SlotData { size: 8, align });
    }
    f.slots.push(SlotData {
        size: u32::MAX,
        align: 1 << 31,
    });
    assert_eq!(
        errors(&f),
        [
            (
                Place::Function,
                "ss0: the alignment 0 is no power of two".to_owned()
            ),
            (
                Place::Function,
                "ss1: the alignment 3 is no power of two".to_owned()
            ),
            (
                Place::Function,
                "the stack slots take 4294967295 bytes, more than 2147483647".to_owned()
            ),
        ]
    );
}

#[test]
fn the_layout_lists_blocks_that_exist_once() {
    let mut f = parse(LOOP);
    f.layout.push(block(1));
    f.layout.push(block(9));
    assert_eq!(
        errors(&f),
        [
            (
                Place::Block(block(1)),
                "block1 is laid out twice".to_owned()
            ),
            (Place::Block(block(9)), "block9 does not exist".to_owned()),
        ]
    );
}

#[test]
fn blocks_end_in_a_terminator() {
    let mut f = parse(LOOP);
    f.block_mut(block(2)).term = None;
    only(&f, Place::Block(block(2)), "block2 has no terminator");
}

#[test]
fn the_entry_repeats_the_signature() {
    let f = parse("function %f(i32) {\nblock0(v0: i64, v1: i32):\n    ret\n}");
    assert_eq!(
        errors(&f),
        [
            (
                Place::Block(block(0)),
                "the entry block takes 2 parameters, the function 1".to_owned()
            ),
            (
                Place::Block(block(0)),
                "parameter v0 is i64, the function's is i32".to_owned()
            ),
        ]
    );
}

#[test]
fn parameters_are_values_of_their_own() {
    let mut f = parse(LOOP);
    f.block_mut(block(1)).params = smallvec![value(0)];
    assert_eq!(
        errors(&f)[0],
        (
            Place::Block(block(1)),
            "parameter v0 is defined elsewhere".to_owned()
        )
    );
    f.block_mut(block(1)).params = smallvec![value(70)];
    assert_eq!(
        errors(&f)[0],
        (
            Place::Block(block(1)),
            "parameter v70 does not exist".to_owned()
        )
    );
}

#[test]
fn blocks_list_instructions_that_exist_once() {
    let mut f = parse(LOOP);
    f.block_mut(block(2)).insts = vec![Inst::new(0), Inst::new(44)];
    assert_eq!(
        errors(&f),
        [
            (
                Place::Inst(Inst::new(0)),
                "inst0 stands in more than one place".to_owned()
            ),
            (
                Place::Inst(Inst::new(44)),
                "inst44 does not exist".to_owned()
            ),
        ]
    );
}

#[test]
fn terminators_have_the_right_condition() {
    let term = Place::Term(block(0));
    let mut f = with_lines("br v2, block1, block1\nblock1:");
    only(&f, term, "condition: expected pred, v2 is i32");
    for (n, ty) in [(4, "i128"), (5, "f32"), (7, "pred")] {
        f = with_lines(&format!("switch v{n}, [], block1\nblock1:"));
        let message = format!("index: expected an integer of at most 64 bits, v{n} is {ty}");
        only(&f, term, &message);
    }
    for n in [0, 1, 2, 3] {
        f = with_lines(&format!("switch v{n}, [], block1\nblock1:"));
        assert_eq!(verify(&f), Ok(()));
    }
}

#[test]
fn returns_match_the_signature() {
    let term = Place::Term(block(0));
    let f = parse("function %f(i32) -> i32, i64 {\nblock0(v0: i32):\n    ret v0\n}");
    only(&f, term, "1 value given, the function expects 2");
    let f = parse("function %f(i32) -> i64 {\nblock0(v0: i32):\n    ret v0\n}");
    only(&f, term, "returned value: expected i64, v0 is i32");
}

#[test]
fn targets_exist_and_are_laid_out() {
    let term = Place::Term(block(1));
    let mut f = parse(LOOP);
    f.layout.pop();
    only(&f, term, "target block2 is not laid out");
    let mut f = parse(LOOP);
    for target in f
        .block_mut(block(1))
        .term
        .as_mut()
        .expect("ended")
        .targets_mut()
    {
        target.block = Block::new(1 << 30);
    }
    let message = "target block1073741824 does not exist".to_owned();
    assert_eq!(errors(&f), [(term, message.clone()), (term, message)]);
}

#[test]
fn arguments_match_parameters() {
    let term = Place::Term(block(0));
    let mut f = parse(LOOP);
    f.block_mut(block(0)).term = Some(Terminator::jump(block(1)));
    only(&f, term, "0 values given, block1 expects 1");
    f.block_mut(block(0)).term = Some(Terminator::jump(BlockCall::new(block(1), &[value(1)])));
    only(&f, term, "argument of block1: expected i32, v1 is pred");
}

#[test]
fn nothing_jumps_to_the_entry() {
    let f = parse("function %f() {\nblock0:\n    jump block0\n}");
    only(
        &f,
        Place::Term(block(0)),
        "block0 is the entry block, which nothing may jump to",
    );
}

#[test]
fn uses_are_defined_in_the_layout() {
    let mut f = with_lines("v8 = copy.i32 v2\nv9 = copy.i32 v8");
    f.block_mut(block(0)).insts.remove(0);
    only(
        &f,
        Place::Inst(Inst::new(1)),
        "operand 1: v8 is defined outside the layout",
    );
    f.inst_mut(Inst::new(1)).args[0] = value(99);
    only(
        &f,
        Place::Inst(Inst::new(1)),
        "operand 1: v99 does not exist",
    );
    f.inst_mut(Inst::new(1)).args[0] = value(8);
    f.inst_mut(Inst::new(0)).results.clear();
    only(
        &f,
        Place::Inst(Inst::new(1)),
        "operand 1: v8 is not what its definition yields",
    );
}

#[test]
fn definitions_come_before_uses_in_a_block() {
    let f = with_lines("v8 = copy.i32 v9\nv9 = copy.i32 v2");
    only(&f, first(), "operand 1: v9 is used before its definition");
    let f = with_lines("v8 = copy.i32 v8");
    only(&f, first(), "operand 1: v8 is used before its definition");
    let f = with_lines("v8 = copy.i32 v2 if v7 else v9\nv9 = copy.i32 v2");
    only(&f, first(), "else value: v9 is used before its definition");
    let f = with_lines("v8 = copy.i32 v2 if v9\nv9 = copy.pred v7");
    only(&f, first(), "guard: v9 is used before its definition");
}

#[test]
fn definitions_dominate_uses() {
    let f = parse(
        "function %f(pred) -> i32 {
block0(v0: pred):
    br v0, block1, block2
block1:
    v1 = const.i32 1
    jump block2
block2:
    ret v1
}",
    );
    only(
        &f,
        Place::Term(block(2)),
        "returned value: v1 is defined in block1, which does not dominate this use",
    );
}

#[test]
fn a_value_of_a_loop_is_visible_behind_it() {
    // But not on the way in.
    let text = LOOP.replace("jump block1(v0)", "jump block1(v3)");
    only(
        &parse(&text),
        Place::Term(block(0)),
        "argument of block1: v3 is defined in block1, which does not dominate this use",
    );
}

#[test]
fn unreachable_blocks_are_exempt_from_dominance_only() {
    let text = |use_: &str| {
        parse(&format!(
            "function %f(pred) {{
block0(v0: pred):
    ret
block1:
    v1 = copy.i32 v2
    jump block2
block2:
    v2 = const.i32 1
    v3 = copy.i32 {use_}
    ret
}}"
        ))
    };
    assert_eq!(verify(&text("v1")), Ok(()));
    only(
        &text("v0"),
        Place::Inst(Inst::new(2)),
        "operand 1: expected i32, v0 is pred",
    );
}

#[test]
fn unreachable_definitions_do_not_reach_reachable_uses() {
    let f = parse(
        "function %f() -> i32 {
block0:
    jump block2
block1:
    v0 = const.i32 1
    jump block2
block2:
    ret v0
}",
    );
    only(
        &f,
        Place::Term(block(2)),
        "returned value: v0 is defined in block1, which does not dominate this use",
    );
}
