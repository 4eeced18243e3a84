//! One test per rule, with place and message; and that nothing panics on
//! functions of any brokenness.

mod hostile;
mod insts;
mod structure;

use cranelift_entity::EntityRef;
use smallvec::smallvec;

use super::{Place, verify};
use crate::entities::{Block, Inst, Value};
use crate::function::{Function, SlotData};
use crate::parse::parse_function;

fn parse(text: &str) -> Function {
    parse_function(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// A function whose entry has a value of each type: v0 i8, v1 i16, v2 i32,
/// v3 i64, v4 i128, v5 f32, v6 f64, v7 pred.
fn with_lines(lines: &str) -> Function {
    parse(&format!(
        "function %f(i8, i16, i32, i64, i128, f32, f64, pred) {{
    ss0 = slot 16, align 4
block0(v0: i8, v1: i16, v2: i32, v3: i64, v4: i128, v5: f32, v6: f64, v7: pred):
{lines}
    ret
}}"
    ))
}

#[track_caller]
fn errors(func: &Function) -> Vec<(Place, String)> {
    let errors = verify(func).expect_err("a rule is broken").errors;
    errors.into_iter().map(|e| (e.place, e.message)).collect()
}

#[track_caller]
fn only(func: &Function, place: Place, message: &str) {
    assert_eq!(errors(func), [(place, message.to_owned())]);
}

fn block(n: usize) -> Block {
    Block::new(n)
}

fn value(n: usize) -> Value {
    Value::new(n)
}

fn first() -> Place {
    Place::Inst(Inst::new(0))
}

const LOOP: &str = "\
function %f(i32, pred) -> i32 {
block0(v0: i32, v1: pred):
    jump block1(v0)
block1(v2: i32):
    v3 = iadd.i32 v2, v0
    br v1, block1(v3), block2
block2:
    ret v3
}";

#[test]
fn all_errors_are_reported_under_their_lines() {
    let mut f = parse(
        "function %f(i32, pred) -> i32 {
block0(v0: i32, v1: pred):
    v2 = iadd.i32 v0, v1 @1:2
    barrier if v0
    br v1, block1(v0), block1
block1(v3: i32):
    ret
}",
    );
    f.slots.push(SlotData { size: 4, align: 5 });
    f.params.pop();
    let errors = verify(&f).expect_err("broken");
    assert_eq!(
        errors.to_string(),
        "\
function %f(i32) -> i32 {
;^~~~~~~~~~~~~~~~~~~~~~~~
; error: ss0: the alignment 5 is no power of two
    ss0 = slot 4, align 5

block0(v0: i32, v1: pred):
;^~~~~~~~~~~~~~~~~~~~~~~~~
; error: the entry block takes 2 parameters, the function 1
    v2 = iadd.i32 v0, v1 @1:2
;   ^~~~~~~~~~~~~~~~~~~~~~~~~
; error: operand 2: expected i32, v1 is pred
    barrier if v0
;   ^~~~~~~~~~~~~
; error: `barrier` may not be guarded
; error: guard: expected pred, v0 is i32
    br v1, block1(v0), block1
;   ^~~~~~~~~~~~~~~~~~~~~~~~~
; error: 0 values given, block1 expects 1

block1(v3: i32):
    ret
;   ^~~
; error: 0 values given, the function expects 1
}
; 7 errors
"
    );
    // The errors are comments: what is printed can be read again.
    assert_eq!(parse(&errors.to_string()).to_string(), f.to_string());
    assert_eq!(
        errors.errors[2].to_string(),
        "inst0: operand 2: expected i32, v1 is pred"
    );
}

#[test]
fn what_does_not_exist_is_still_printed() {
    let mut f = parse(LOOP);
    f.block_mut(block(1)).params = smallvec![value(70)];
    f.block_mut(block(2)).insts = vec![Inst::new(44)];
    f.layout.push(block(9));
    let text = verify(&f).expect_err("broken").to_string();
    assert!(text.contains("block1(v70: ?):"), "{text}");
    assert!(
        text.contains("\n    inst44\n;   ^~~~~~\n; error: inst44 does not exist\n"),
        "{text}"
    );
    assert!(
        text.contains("\nblock9:\n;^~~~~~\n; error: block9 does not exist\n"),
        "{text}"
    );
}
