//! Calls: what the parser and the verifiers of functions and modules say.

use warpfold_ir::{
    CallTarget, FunctionBuilder, Module, Terminator, Type, parse_module, verify, verify_module,
};

const PAIR: &str = "\
function %main(i32 varying) -> i32 {
    sig0 = (i32) -> i32
    fn0 = %helper(i32) -> i32, pred

block0(v0: i32):
    v1, v2 = call fn0(v0)
    br v2, block1, block2

block1:
    ret v1

block2:
    v3 = func_addr.i64 fn0
    v4 = call_indirect sig0, v3(v1)
    ret v4
}

function %helper(i32) -> i32, pred {
block0(v0: i32):
    v1 = const.pred true
    ret v0, v1
}
";

fn module(text: &str) -> Module {
    parse_module(text).expect("it parses")
}

#[test]
fn a_module_whose_calls_fit() {
    let m = module(PAIR);
    assert_eq!(verify_module(&m), Ok(()));
    assert_eq!(m.to_string(), PAIR);
    assert_eq!(m.position("helper"), Some(1));
    assert_eq!(m.position("nobody"), None);
    let f = &m.functions[0];
    let (_, call) = f.laid_out_insts().next().expect("the call");
    let types = f.result_types(f.inst(call));
    assert_eq!(types.as_slice(), [Type::I32, Type::Pred]);
}

#[test]
fn what_is_built_is_what_is_read() {
    let mut b = FunctionBuilder::new("f");
    let x = b.param(Type::I32, true);
    b.returns(&[Type::I32, Type::F64]);
    let pair = b.callee("pair", &[Type::I32], &[Type::I32, Type::F64]);
    let sig = b.signature(&[], &[Type::Pred]);
    let both = b.call(pair, &[x]);
    assert_eq!(both.len(), 2);
    let address = b.func_addr(Type::I64, pair);
    assert_eq!(b.call_indirect(sig, address, &[]).len(), 1);
    b.return_call(pair, &[both[0]]);
    let f = b.finish();
    assert_eq!(verify(&f), Ok(()));
    let read = module(&f.to_string()).functions.remove(0);
    assert_eq!(read.to_string(), f.to_string());
    let Terminator::TailCall(call) = read.term(read.layout[0]) else {
        panic!("a tail call");
    };
    assert_eq!(call.target, CallTarget::Direct(pair));
}

/// The text with `from` replaced must be refused with `message`.
#[track_caller]
fn refused(from: &str, to: &str, message: &str) {
    let text = PAIR.replacen(from, to, 1);
    assert_ne!(text, PAIR, "{from} is not there");
    let errors = verify_module(&module(&text)).expect_err(message);
    let text = errors.to_string();
    assert!(text.contains(message), "no `{message}` in:\n{text}");
}

#[test]
fn calls_fit_their_signatures() {
    for (from, to, message) in [
        (
            "call fn0(v0)",
            "call fn0()",
            "0 values given, the callee expects 1",
        ),
        (
            "call_indirect sig0, v3(v1)",
            "call_indirect sig0, v3(v2)",
            "argument: expected i32, v2 is pred",
        ),
        (
            "call_indirect sig0, v3(v1)",
            "call_indirect sig0, v2(v1)",
            "operand 1: expected an address (i64 or i32), v2 is pred",
        ),
        (
            "    ret v4",
            "    return_call fn0(v1)",
            "the callee's results are those of (i32) -> i32, pred, the function's those of (i32) -> i32",
        ),
        (
            "    ret v4",
            "    return_call_indirect sig0, v2(v1)",
            "address: expected an address (i64 or i32), v2 is pred",
        ),
    ] {
        refused(from, to, message);
    }
    let guarded = PAIR.replacen(
        "call_indirect sig0, v3(v1)",
        "call_indirect sig0, v3(v1) if v2",
        1,
    );
    let errors = verify(&module(&guarded).functions[0]).expect_err("guarded");
    assert!(
        errors
            .to_string()
            .contains("`call_indirect` may not be guarded")
    );
}

#[test]
fn callees_are_in_the_module() {
    refused(
        "%helper(i32) -> i32, pred\n",
        "%nobody(i32) -> i32, pred\n",
        "fn0: there is no function `%nobody`",
    );
    refused(
        "function %helper(i32)",
        "function %helper(i64)",
        "fn0 is declared as (i32) -> i32, pred, but `%helper` is (i64) -> i32, pred",
    );
    let mut twice = module(PAIR);
    let again = twice.functions[1].clone();
    twice.functions.push(again);
    let errors = verify_module(&twice).expect_err("twice the name");
    assert_eq!(errors.functions.len(), 1);
    assert_eq!(errors.functions[0].0, 2);
    assert!(
        errors
            .to_string()
            .contains("there is another function `%helper`")
    );
}

#[test]
fn only_kernels_exit() {
    refused(
        "    ret v0, v1",
        "    exit if v1\n    ret v0, v1",
        "`exit` stands in kernels only",
    );
    let kernel = PAIR.replacen("    ret v1\n", "    exit if v2\n    ret v1\n", 1);
    assert_eq!(verify_module(&module(&kernel)), Ok(()));
}

#[test]
fn errors_of_the_parser() {
    let inside = |line: &str| {
        format!(
            "function %f(i32) {{\n    fn0 = %g(i32) -> i32\nblock0(v0: i32):\n{line}\n    ret\n}}\n"
        )
    };
    for (line, message) in [
        ("v1 = call fn1(v0)", "4:11: fn1 is not declared"),
        (
            "call fn0(v0)",
            "4:1: this `call` yields one result, 0 are named",
        ),
        (
            "v1, v2 = call fn0(v0)",
            "4:1: this `call` yields one result, 2 are named",
        ),
        ("v1 = call fn0 v0", "4:15: expected `(`, found `v0`"),
        (
            "v1 = call_indirect sig0, v0()",
            "4:20: sig0 is not declared",
        ),
        (
            "fn1 = %h()",
            "4:1: functions are declared before the first block",
        ),
        (
            "sig0 = ()",
            "4:1: signatures are declared before the first block",
        ),
        (
            "return_call v0",
            "4:13: expected a declared function, as in `fn0`, found `v0`",
        ),
    ] {
        let error = parse_module(&inside(line)).expect_err(line).to_string();
        assert_eq!(error, message, "{line}");
    }
    let twice = "function %f() {\n fn0 = %g()\n fn0 = %h()\nblock0:\n ret\n}\n";
    let error = parse_module(twice).expect_err("twice").to_string();
    assert_eq!(error, "3:2: fn0 is already declared");
}
