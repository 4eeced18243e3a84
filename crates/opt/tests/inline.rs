//! Inlining: what the code becomes, what stays, and where lanes meet.

use warpfold_analysis::JoinRule;
use warpfold_ir::{Function, Module, Origin, parse_module, verify_module};
use warpfold_opt::{Log, clean, inline};

fn module(text: &str) -> Module {
    let module = parse_module(text).unwrap_or_else(|e| panic!("{e}"));
    verify_module(&module).unwrap_or_else(|e| panic!("{e}"));
    module
}

/// The first function, with callees inlined, and what was logged.
fn inlined(text: &str) -> (Function, Log) {
    let mut m = module(text);
    let mut log = Log::default();
    let others: Vec<&Function> = m.functions.iter().collect();
    let mut func = m.functions[0].clone();
    inline(&mut func, &others, JoinRule::Default, &mut log);
    m.functions[0] = func.clone();
    verify_module(&m).unwrap_or_else(|e| panic!("{e}"));
    (func, log)
}

/// Block headers, instructions and terminators, without origins.
fn lines(func: &Function) -> Vec<String> {
    let text = func.to_string();
    let lines = text.lines().skip(1).filter(|l| !l.is_empty() && *l != "}");
    lines
        .map(|l| l.split(" @").next().unwrap_or_default().trim().to_owned())
        .collect()
}

fn calls(func: &Function) -> usize {
    lines(func).iter().filter(|l| l.contains("call")).count()
}

#[test]
fn a_callee_of_one_block_leaves_no_jump() {
    let (f, log) = inlined(
        "function %f(i32 varying) -> i32 {
             fn0 = %sq(i32) -> i32
         block0(v0: i32):
             v1 = call fn0(v0)
             v2 = call fn0(v1)
             ret v2
         }
         function %sq(i32) -> i32 {
         block0(v0: i32):
             v1 = imul.i32 v0, v0
             ret v1
         }",
    );
    assert_eq!(
        lines(&f),
        [
            "block0(v0: i32):",
            "v3 = imul.i32 v0, v0",
            "v4 = imul.i32 v3, v3",
            "ret v4",
        ]
    );
    assert!(log.inlined.is_empty(), "no branches came in");
}

const CLAMP: &str = "\
function %f(i32 varying, i32 varying) -> i32 {
    fn0 = %clamp(i32) -> i32
block0(v0: i32, v1: i32):
    v2 = call fn0(v0) @1:4
    v3 = call fn0(v1) @2:5
    v4 = iadd.i32 v2, v3
    ret v4
}
function %clamp(i32) -> i32 {
block0(v0: i32):
    v1 = const.i32 0
    v2 = icmp.i32 slt v0, v1
    br v2, block1, block2 @7:12
block1:
    ret v1
block2:
    ret v0
}";

#[test]
fn each_copy_of_a_branch_has_an_origin_and_a_path() {
    let (f, log) = inlined(CLAMP);
    assert_eq!(calls(&f), 0);
    assert_eq!(log.inlined.len(), 2);
    let copies: Vec<_> = log
        .inlined
        .iter()
        .map(|c| (c.origin, c.path[0].site))
        .collect();
    assert_eq!(
        copies,
        [
            (Origin::new(3, 12), Origin::new(1, 4)),
            (Origin::new(4, 12), Origin::new(2, 5))
        ]
    );
    for copy in &log.inlined {
        assert_eq!(copy.source, Origin::new(7, 12));
        assert_eq!(copy.path[0].callee, "clamp");
        let held = f.layout.iter().any(|&b| f.block(b).origin == copy.origin);
        assert!(held, "{copy:?}");
    }
    assert!(lines(&f).contains(&"jump block3(v0)".to_owned()), "{f}");
}

#[test]
fn calls_in_a_copy_are_looked_at_in_turn() {
    let (f, log) = inlined(
        "function %f(i32 varying) -> i32 {
             fn0 = %outer(i32) -> i32
         block0(v0: i32):
             return_call fn0(v0) @1:3
         }
         function %outer(i32) -> i32 {
             fn0 = %inner(i32) -> i32
         block0(v0: i32):
             v1 = iadd.i32 v0, v0
             return_call fn0(v1) @2:8
         }
         function %inner(i32) -> i32 {
         block0(v0: i32):
             v1 = const.i32 5
             v2 = icmp.i32 ult v0, v1
             br v2, block1(v1), block1(v0) @3:14
         block1(v3: i32):
             ret v3
         }",
    );
    assert_eq!(calls(&f), 0, "{f}");
    let path: Vec<_> = log.inlined[0]
        .path
        .iter()
        .map(|s| (&*s.callee, s.site.line))
        .collect();
    assert_eq!(path, [("outer", 3), ("inner", 8)]);
}

#[test]
fn recursion_stays() {
    let text = "\
function %f(i32 varying) -> i32 {
    fn0 = %a(i32) -> i32
block0(v0: i32):
    v1 = call fn0(v0)
    ret v1
}
function %a(i32) -> i32 {
    fn0 = %b(i32) -> i32
block0(v0: i32):
    v1 = call fn0(v0)
    ret v1
}
function %b(i32) -> i32 {
    fn0 = %a(i32) -> i32
    fn1 = %c(i32) -> i32
block0(v0: i32):
    v1 = call fn1(v0)
    v2 = icmp.i32 ult v1, v0
    br v2, block1, block2
block1:
    v3 = call fn0(v1)
    ret v3
block2:
    ret v1
}
function %c(i32) -> i32 {
block0(v0: i32):
    v1 = iadd.i32 v0, v0
    ret v1
}";
    let (f, _) = inlined(text);
    assert_eq!(f, module(text).functions[0]);
    // What recursive functions call is inlined into them.
    let mut m = module(text);
    let others: Vec<&Function> = m.functions.iter().collect();
    let mut b = m.functions[2].clone();
    inline(&mut b, &others, JoinRule::Default, &mut Log::default());
    assert!(
        lines(&b).contains(&"v4 = iadd.i32 v0, v0".to_owned()),
        "{b}"
    );
    m.functions[2] = b;
    assert_eq!(verify_module(&m), Ok(()));
}

#[test]
fn a_call_stays_where_lanes_would_meet_elsewhere() {
    // Lanes of `block1` that do not return early meet those of `block0` in
    // `block2` before they come back, and vote together there.
    let text = "\
function %f(i32 varying) -> pred {
    fn0 = %vote(i32) -> pred
block0(v0: i32):
    v1 = call fn0(v0)
    ret v1
}
function %vote(i32) -> pred {
block0(v0: i32):
    v1 = const.i32 8
    v2 = icmp.i32 ult v0, v1
    br v2, block1, block3
block1:
    v3 = const.i32 4
    v4 = icmp.i32 ult v0, v3
    br v4, block2, block3
block2:
    ret v2
block3:
    v5 = vote_any v2
    ret v5
}";
    let (f, _) = inlined(text);
    assert_eq!(f, module(text).functions[0]);
    // Without the second way to `block3` nobody is missed there.
    let straight = text
        .replace("br v4, block2, block3", "br v4, block2, block4")
        .replace("block3:", "block4:\n    ret v4\nblock3:");
    let (f, _) = inlined(&straight);
    assert_eq!(calls(&f), 0, "{f}");
}

#[test]
fn slots_are_not_inlined_into_loops() {
    let text = "\
function %f(i32 varying) -> i32 {
    fn0 = %slot(i32) -> i32
block0(v0: i32):
    v1 = call fn0(v0)
    jump block1(v1)
block1(v2: i32):
    v3 = call fn0(v2)
    v4 = icmp.i32 ult v3, v0
    br v4, block1(v3), block2
block2:
    ret v3
}
function %slot(i32) -> i32 {
    ss0 = slot 4, align 4
block0(v0: i32):
    v1 = stack_addr.i64 ss0
    v2 = load.i32 v1
    store.i32 v0, v1
    ret v2
}";
    let (f, _) = inlined(text);
    assert_eq!(f.slots.len(), 1);
    assert_eq!(calls(&f), 1, "the one in the loop: {f}");
}

#[test]
fn a_callee_that_never_comes_back() {
    let (mut f, mut log) = inlined(
        "function %f(i32 varying) -> i32 {
             fn0 = %no(i32) -> i32
         block0(v0: i32):
             v1 = call fn0(v0)
             jump block1
         block1:
             ret v1
         }
         function %no(i32) -> i32 {
         block0(v0: i32):
             trap user3
         }",
    );
    clean(&mut f, JoinRule::Default, &mut log);
    assert_eq!(lines(&f), ["block0(v0: i32):", "trap user3"]);
}

#[test]
fn large_callees_stay() {
    let mut body = String::new();
    for i in 1..=1_000 {
        body += &format!("    v{i} = iadd.i32 v{}, v0\n", i - 1);
    }
    let text = format!(
        "function %f(i32) -> i32 {{\n    fn0 = %g(i32) -> i32\nblock0(v0: i32):\n    \
         v1 = call fn0(v0)\n    ret v1\n}}\nfunction %g(i32) -> i32 {{\nblock0(v0: i32):\n\
         {body}    ret v1000\n}}\n"
    );
    let (f, _) = inlined(&text);
    assert_eq!(calls(&f), 1);
    let small = text
        .replacen("    v1 = iadd.i32 v0, v0\n", "", 1)
        .replace("v1,", "v0,");
    let (f, _) = inlined(&small);
    assert_eq!(calls(&f), 0);
}

#[test]
fn thousands_of_calls_end() {
    for helper in [
        "    v1 = iadd.i32 v0, v0\n    ret v1\n",
        "    v1 = icmp.i32 eq v0, v0\n    br v1, block1(v0), block1(v0)\nblock1(v2: i32):\n    ret v2\n",
    ] {
        let mut body = String::new();
        for i in 1..=2_000 {
            body += &format!("    v{i} = call fn0(v{})\n", i - 1);
        }
        let text = format!(
            "function %f(i32) -> i32 {{\n    fn0 = %g(i32) -> i32\nblock0(v0: i32):\n{body}    \
             ret v2000\n}}\nfunction %g(i32) -> i32 {{\nblock0(v0: i32):\n{helper}}}\n"
        );
        let (f, _) = inlined(&text);
        assert!(calls(&f) < 2_000);
    }
}

/// A tail call that comes in by a tail call must need no frame of its own, or
/// a loop of tail calls would run out of them.
#[test]
fn tail_calls_of_a_tail_callee_stay_tail_calls() {
    let text = "function %f(i64, i64) -> i64 {
             fn0 = %g(i64, i64) -> i64
         block0(v0: i64, v1: i64):
             v2 = iadd.i64 v0, v0
             return_call fn0(v2, v1) @4:4
         }
         function %g(i64, i64) -> i64 {
             sig0 = (i64) -> i64
         block0(v0: i64, v1: i64):
             return_call_indirect sig0, v1(v0) @5:5
         }";
    let (f, _) = inlined(text);
    assert_eq!(
        lines(&f)[1..],
        [
            "block0(v0: i64, v1: i64):",
            "v2 = iadd.i64 v0, v0",
            "return_call_indirect sig0, v1(v0)",
        ]
        .map(|l| l.replace("v1(v0)", "v1(v2)"))
    );

    // The copy is looked at in turn, and by way of its path.
    let more = "function %h(i64, i64) -> i64 {
             fn0 = %f(i64, i64) -> i64
         block0(v0: i64, v1: i64):
             return_call fn0(v0, v1) @6:6
         }";
    let (h, _) = inlined(&format!("{more}\n{text}"));
    assert_eq!(
        lines(&h).last().map(String::as_str),
        Some("return_call_indirect sig0, v1(v3)")
    );

    // In the place of an ordinary call it is an ordinary call.
    let ordinary = text.replace(
        "return_call fn0(v2, v1) @4:4",
        "v3 = call fn0(v2, v1)\n ret v3",
    );
    let (f, _) = inlined(&ordinary);
    let lines = lines(&f);
    assert!(
        lines.iter().any(|l| l.contains("= call_indirect sig0")),
        "{lines:?}"
    );
    assert!(lines.last().is_some_and(|l| l.starts_with("ret ")));
}
