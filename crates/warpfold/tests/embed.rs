//! The embedding example works, and does what it says.

#[path = "../examples/embed.rs"]
#[expect(dead_code, reason = "only a part of the example is called here")]
mod embed;

use warpfold::ir::{Opcode, Terminator};
use warpfold::opt::report::Form;

#[test]
fn the_example_converts_its_kernel() {
    let outcome = embed::outcome().unwrap();
    assert!(outcome.all_same(), "{}", outcome.sameness());
    let optimized = outcome.optimized();
    let [decision] = optimized.report().decisions.as_slice() else {
        panic!(
            "one branch, {} decisions",
            optimized.report().decisions.len()
        );
    };
    assert_eq!(decision.form(), Some(Form::Straight));
    let func = optimized.func();
    // The two results meet in a select, or in a guard with an `else`.
    let meets = func
        .laid_out_insts()
        .map(|(_, i)| func.inst(i))
        .filter(|data| data.op == Opcode::Select || data.guard.is_some())
        .count();
    assert_eq!(meets, 1);
    let branches = func
        .layout
        .iter()
        .filter(|&&b| matches!(func.term(b), Terminator::Br { .. }))
        .count();
    assert_eq!(branches, 0);
    // Lanes 21 and up, in both warps of each block: 20 − x, else x.
    let returns = &outcome.after().unwrap().returns;
    for x in 0..128u32 {
        let want = if x > 20 { 20u32.wrapping_sub(x) } else { x };
        assert_eq!(returns.get(x as usize), Some(&[u128::from(want)][..]));
    }
}

#[test]
fn the_example_is_short() {
    let text = include_str!("../examples/embed.rs");
    assert!(text.lines().count() < 60);
}
