//! Calls in tail position.

use super::*;

#[test]
fn tail_calls_do_not_grow() {
    let m = module(SUM);
    let sum = |n: u128| n * (n + 1) / 2;
    let o = launch(&m, 32, vec![varying(32, |t| t as i64)]);
    assert_eq!(results(&o, 32), (0..32).map(sum).collect::<Vec<_>>());
    assert_eq!(o.counters.max_call_depth, 2);
    let o = launch(&m, 2, vec![varying(2, |t| 100_000 - t as i64)]);
    assert_eq!(results(&o, 2), [sum(100_000), sum(99_999)]);
    assert_eq!(o.counters.max_call_depth, 2);
    // The other side first: lanes that return later keep their frame.
    let last = SUM.replace("block1:\n    ret v1\n", "") + "\nblock1:\n    ret v1\n}";
    let last = last.replacen("return_call fn0(v10, v8)\n}", "return_call fn0(v10, v8)", 1);
    let last = last
        .replace("icmp.i32 eq v0, v2", "icmp.i32 ne v0, v2")
        .replace("br v3, block1, block2", "br v3, block2, block1");
    let m = module(&last);
    let o = launch(&m, 32, vec![varying(32, |t| 1_000 * t as i64)]);
    let expected: Vec<u128> = (0..32).map(|t| sum(1_000 * t)).collect();
    assert_eq!(results(&o, 32), expected);
    assert_eq!(o.counters.max_call_depth, 2 + 31);
}

#[test]
fn a_kernel_that_ends_in_a_tail_call() {
    let m = module(
        "function %main(i32 varying) -> i32 {
             fn0 = %twice(i32) -> i32
         block0(v0: i32):
             return_call fn0(v0)
         }
         function %twice(i32) -> i32 {
         block0(v0: i32):
             v1 = iadd.i32 v0, v0
             ret v1
         }",
    );
    let o = launch(&m, 40, vec![varying(40, |t| t as i64)]);
    assert_eq!(results(&o, 40), (0..40).map(|t| 2 * t).collect::<Vec<_>>());
    assert_eq!(o.counters.max_call_depth, 1);
    assert_eq!(o.counters.inst_executed, 2 * 3);
}

/// Terminators that the text has none of are not forgotten by anyone.
#[test]
fn a_tail_call_is_an_end() {
    let m = module(SUM);
    let func: &Function = &m.functions[1];
    let ends = func.layout.iter().filter(|&&b| func.term(b).is_end());
    assert_eq!(ends.count(), 2);
    let tail = func
        .layout
        .iter()
        .any(|&b| matches!(func.term(b), Terminator::TailCall(_)));
    assert!(tail);
}
