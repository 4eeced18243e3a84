//! Rules on single instructions.

use cranelift_entity::EntityRef;
use smallvec::smallvec;

use super::{errors, first, only, value, with_lines};
use crate::codes::IntCC;
use crate::entities::{Inst, Slot};
use crate::function::Imm;
use crate::opcode::Opcode;
use crate::verify::{Place, verify};

#[test]
fn results_are_values_of_their_own() {
    let mut f = with_lines("v8 = copy.i32 v2\nv9 = copy.i32 v2");
    f.inst_mut(Inst::new(1)).results = smallvec![value(8)];
    only(
        &f,
        Place::Inst(Inst::new(1)),
        "result v8 is defined elsewhere",
    );
    f.inst_mut(Inst::new(1)).results = smallvec![value(80)];
    only(&f, Place::Inst(Inst::new(1)), "result v80 does not exist");
    f.inst_mut(Inst::new(1)).results = smallvec![];
    only(
        &f,
        Place::Inst(Inst::new(1)),
        "`copy` yields 1 result, 0 named",
    );
    f.inst_mut(Inst::new(1)).results = smallvec![value(9)];
    f.inst_mut(Inst::new(1)).op = Opcode::Bnot;
    assert_eq!(verify(&f), Ok(()));
    f.inst_mut(Inst::new(1)).op = Opcode::Icmp;
    f.inst_mut(Inst::new(1)).imm = Imm::Icc(IntCC::Eq);
    f.inst_mut(Inst::new(1)).args = smallvec![value(2), value(2)];
    only(
        &f,
        Place::Inst(Inst::new(1)),
        "result v9 is i32, `icmp` yields pred",
    );
}

#[test]
fn opcodes_take_the_types_of_the_table() {
    for (line, message) in [
        ("v8 = iadd.f32 v5, v5", "`iadd` has no form for f32"),
        ("v8 = load.pred v3", "`load` has no form for pred"),
        ("v8 = uload32.i32 v3", "`uload32` has no form for i32"),
        ("v8 = sload8.f64 v3", "`sload8` has no form for f64"),
        ("istore16.i16 v1, v3", "`istore16` has no form for i16"),
        (
            "v8 = atomic_load.f32 v3",
            "`atomic_load` has no form for f32",
        ),
        ("v8 = sin.i32 v2", "`sin` has no form for i32"),
        ("v8 = shared_base.i16", "`shared_base` has no form for i16"),
    ] {
        only(&with_lines(line), first(), message);
    }
}

#[test]
fn conversions_between_floats_change_the_width() {
    for (line, form, operand) in [
        (
            "v8 = fpromote.f16 v6",
            "`fpromote` has no form for f16",
            "operand 1: expected a float narrower than f16, v6 is f64",
        ),
        (
            "v8 = fdemote.f64 v5",
            "`fdemote` has no form for f64",
            "operand 1: expected a float wider than f64, v5 is f32",
        ),
    ] {
        let expected = [form, operand].map(|m| (first(), m.to_owned()));
        assert_eq!(errors(&with_lines(line)), expected);
    }
}

#[test]
fn operands_have_the_types_of_the_table() {
    for (line, message) in [
        ("v8 = iadd.i32 v2, v3", "operand 2: expected i32, v3 is i64"),
        (
            "v8 = select.i32 v2, v2, v2",
            "operand 1: expected pred, v2 is i32",
        ),
        (
            "v8 = shfl_idx.i64 v3, v3",
            "operand 2: expected i32, v3 is i64",
        ),
        (
            "v8 = load.i32 v1",
            "operand 1: expected an address (i64 or i32), v1 is i16",
        ),
        (
            "v8 = ishl.i32 v2, v5",
            "operand 2: expected an integer, v5 is f32",
        ),
        (
            "v8 = uextend.i32 v3",
            "operand 1: expected an integer narrower than i32, v3 is i64",
        ),
        (
            "v8 = uextend.i32 v2",
            "operand 1: expected an integer narrower than i32, v2 is i32",
        ),
        (
            "v8 = ireduce.i32 v2",
            "operand 1: expected an integer wider than i32, v2 is i32",
        ),
        (
            "v8 = fcvt_to_sint.i32 v2",
            "operand 1: expected a float, v2 is i32",
        ),
        (
            "v8 = fdemote.f32 v5",
            "operand 1: expected a float wider than f32, v5 is f32",
        ),
        (
            "v8 = bitcast.i32 v6",
            "operand 1: expected another type of 32 bits, v6 is f64",
        ),
        (
            "v8 = fpromote.f32 v6",
            "operand 1: expected a float narrower than f32, v6 is f64",
        ),
        (
            "v8 = atomic_add.i32 v3, v3",
            "operand 1: expected i32, v3 is i64",
        ),
        (
            "v8 = atomic_cas.i8 v0, v0, v1",
            "operand 3: expected an address (i64 or i32), v1 is i16",
        ),
        ("v8 = not v2", "operand 1: expected pred, v2 is i32"),
        ("warp_sync v3", "operand 1: expected i32, v3 is i64"),
    ] {
        only(&with_lines(line), first(), message);
    }
    let mut f = with_lines("v8 = iadd.i32 v2, v2");
    f.inst_mut(Inst::new(0)).args.pop();
    only(&f, first(), "`iadd` takes 2 operands, 1 given");
    // The mask may be left out.
    let mut f = with_lines("warp_sync v2");
    let mask = f.inst(Inst::new(0)).args[0];
    f.inst_mut(Inst::new(0)).args.push(mask);
    only(&f, first(), "`warp_sync` takes 0 or 1 operand, 2 given");
    f.inst_mut(Inst::new(0)).args.clear();
    assert_eq!(verify(&f), Ok(()));
}

#[test]
fn immediates_are_those_of_the_table() {
    let mut f = with_lines("v8 = const.i8 1");
    f.inst_mut(Inst::new(0)).imm = Imm::Bits(0x100);
    only(&f, first(), "the constant 0x100 does not fit i8");
    f.inst_mut(Inst::new(0)).imm = Imm::None;
    only(&f, first(), "`const` needs a constant");
    for (line, imm, message) in [
        ("v8 = lane_id", Imm::Bits(1), "`lane_id` needs no immediate"),
        (
            "v8 = icmp.i32 eq v2, v2",
            Imm::None,
            "`icmp` needs an integer condition",
        ),
        (
            "v8 = fcmp.f32 eq v5, v5",
            Imm::Icc(IntCC::Eq),
            "`fcmp` needs a float condition",
        ),
        (
            "v8 = load.i32 v3",
            Imm::None,
            "`load` needs memory flags and an offset",
        ),
        (
            "v8 = stack_addr.i64 ss0",
            Imm::None,
            "`stack_addr` needs a stack slot",
        ),
        ("trap if v7, user1", Imm::None, "`trap` needs a trap code"),
    ] {
        let mut f = with_lines(line);
        f.inst_mut(Inst::new(0)).imm = imm;
        only(&f, first(), message);
    }
}

#[test]
fn slot_addresses_stay_in_their_slot() {
    assert_eq!(verify(&with_lines("v8 = stack_addr.i64 ss0+16")), Ok(()));
    for offset in ["+17", "-1"] {
        let f = with_lines(&format!("v8 = stack_addr.i64 ss0{offset}"));
        let offset = offset.trim_start_matches('+');
        let message = format!("offset {offset} is outside ss0, which has 16 bytes");
        only(&f, first(), &message);
    }
    let mut f = with_lines("v8 = stack_addr.i64 ss0");
    f.inst_mut(Inst::new(0)).imm = Imm::Slot {
        slot: Slot::new(5),
        offset: 0,
    };
    only(&f, first(), "ss5 does not exist");
}

#[test]
fn guards_follow_their_rules() {
    for (line, message) in [
        ("v8 = copy.i32 v2 if v2", "guard: expected pred, v2 is i32"),
        (
            "v8 = copy.i32 v2 if v7 else v3",
            "else value: expected i32, v3 is i64",
        ),
        (
            "v8 = icmp.i32 eq v2, v2 if v7 else v2",
            "else value: expected pred, v2 is i32",
        ),
        (
            "store.i32 v2, v3 if v7 else v2",
            "`store` yields no result, so it takes no `else`",
        ),
        (
            "exit if v7 else v7",
            "`exit` yields no result, so it takes no `else`",
        ),
        (
            "trap if v7 else v7, user0",
            "`trap` yields no result, so it takes no `else`",
        ),
        ("exit", "`exit` needs a guard"),
        ("v8 = const.i32 1 if v7", "`const` may not be guarded"),
        (
            "v8 = poison.i32 if v7 else v2",
            "`poison` may not be guarded",
        ),
        ("barrier if v7", "`barrier` may not be guarded"),
        ("warp_sync if v7", "`warp_sync` may not be guarded"),
        ("warp_sync v2 if v7", "`warp_sync` may not be guarded"),
        ("fence if !v7", "`fence` may not be guarded"),
    ] {
        only(&with_lines(line), first(), message);
    }
    let mut f = with_lines("trap if v7, user0");
    f.inst_mut(Inst::new(0)).guard = None;
    only(&f, first(), "`trap` needs a guard");
}
