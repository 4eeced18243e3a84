//! What the parser says about text that is wrong, and that it survives any.

mod common;

use common::SAMPLE;
use proptest::prelude::*;
use warpfold_ir::{parse_module, verify};

/// Puts `line` on line 3 of a function whose entry has `v0: i32, v1: pred`.
fn in_function(line: &str) -> String {
    format!("function %f(i32, pred) {{\nblock0(v0: i32, v1: pred):\n{line}\n    ret\n}}\n")
}

#[track_caller]
fn error(text: &str, expected: &str) {
    let error = parse_module(text).expect_err("this is wrong").to_string();
    assert_eq!(error, expected, "for:\n{text}");
}

#[test]
fn instructions() {
    for (line, expected) in [
        ("v2 = foo v0", "3:6: there is no opcode `foo`"),
        (
            "v2 = iadd v0, v0",
            "3:6: expected a type behind `iadd`, as in `iadd.i32`",
        ),
        (
            "v2 = iadd.i33 v0, v0",
            "3:6: `i33` is no type; expected one as in `iadd.i32`",
        ),
        ("v2 = lane_id.i64", "3:6: `lane_id` is always of type i32"),
        (
            "v2 = iadd.i32 v0",
            "3:17: expected `,`, found the end of the line",
        ),
        (
            "v2 = iadd.i32 v0, v0, v0",
            "3:21: expected the end of the line, found `,`",
        ),
        ("v2 = iadd.i32 v0, 5", "3:19: expected a value, found `5`"),
        (
            "iadd.i32 v0, v0",
            "3:1: `iadd` yields one result, 0 are named",
        ),
        (
            "v2, v3 = iadd.i32 v0, v0",
            "3:1: `iadd` yields one result, 2 are named",
        ),
        ("v2 = store.i32 v0, v0", "3:1: `store` yields no result"),
        ("v0 = lane_id", "3:1: v0 is already defined"),
        ("v2 = copy.i32 v9", "3:15: v9 is not defined"),
        (
            "v2 = copy.i32 v4294967295",
            "3:15: a value's number must be below 4294967295",
        ),
        (
            "v99999999999 = lane_id",
            "3:1: a value's number must be below 4294967295",
        ),
        (
            "v4294967294 = lane_id",
            "3:1: the numbering leaves out too many numbers",
        ),
        (
            "v2 = const.i8 256",
            "3:15: expected an integer that fits i8, found `256`",
        ),
        (
            "v2 = const.i32 1.0",
            "3:16: expected an integer that fits i32, found `1.0`",
        ),
        (
            "v2 = const.pred 1",
            "3:17: expected `true` or `false`, found `1`",
        ),
        (
            "v2 = const.f32 1e39",
            "3:16: expected a number that fits f32, `inf`, `-inf` or `nan:0x…`, found `1e39`",
        ),
        (
            "v2 = const.f32 nan:0x7f800000",
            "3:20: expected the bits of a NaN of type f32, found `0x7f800000`",
        ),
        (
            "v2 = const.f64 -nan",
            "3:17: expected `inf` or a number, found `nan`",
        ),
        (
            "v2 = icmp.i32 lt v0, v0",
            "3:15: expected an integer condition, as in `slt`, found `lt`",
        ),
        (
            "v2 = fcmp.f32 slt v0, v0",
            "3:15: expected a float condition, as in `lt`, found `slt`",
        ),
        (
            "v2 = load.i32 fast v0",
            "3:15: expected a value, found `fast`",
        ),
        (
            "v2 = load.i32 v0+2147483648",
            "3:17: expected an offset that fits 32 bits, found `+2147483648`",
        ),
        (
            "v2 = stack_addr.i64 ss0",
            "3:21: there is no stack slot ss0",
        ),
        (
            "v2 = copy.i32 v0 if",
            "3:20: expected a value, found the end of the line",
        ),
        (
            "v2 = copy.i32 v0 if v1 else",
            "3:28: expected a value, found the end of the line",
        ),
        (
            "v2 = copy.i32 v0 unless v1",
            "3:18: expected the end of the line, found `unless`",
        ),
        (
            "trap if v1",
            "3:11: expected `,`, found the end of the line",
        ),
        (
            "trap if v1, oops",
            "3:13: expected a trap code, as in `heap_oob` or `user1`, found `oops`",
        ),
        (
            "trap if v1, user256",
            "3:13: expected a trap code, as in `heap_oob` or `user1`, found `user256`",
        ),
        (
            "v2 = lane_id @1",
            "3:16: expected `:`, found the end of the line",
        ),
        (
            "v2 = lane_id @-1:2",
            "3:15: expected a CLIF instruction number, found `-1`",
        ),
        (
            "v2 = lane_id @1:4294967296",
            "3:17: expected a line number, found `4294967296`",
        ),
        (
            "ss0 = slot 4, align 4",
            "3:1: stack slots are declared before the first block",
        ),
        ("§", "3:1: unexpected character `§`"),
        ("\0", "3:1: unexpected character `\\0`"),
        ("é = lane_id", "3:1: unexpected character `é`"),
    ] {
        error(&in_function(line), expected);
    }
}

#[test]
fn terminators() {
    for (line, expected) in [
        ("jump block1\nblock9:", "3:6: there is no block1"),
        ("jump v0", "3:6: expected a block, found `v0`"),
        ("jump block0(v0", "4:5: expected `,` or `)`, found `ret`"),
        (
            "br v1, block0",
            "3:14: expected `,`, found the end of the line",
        ),
        (
            "br likely v1, block0, block0",
            "3:4: expected a value, found `likely`",
        ),
        (
            "switch v0, block0, block0",
            "3:12: expected `[`, found `block0`",
        ),
        (
            "switch v0, [block0,], block0",
            "3:20: expected a block, found `]`",
        ),
        ("ret 5", "3:5: expected the end of the line, found `5`"),
        (
            "trap",
            "3:5: expected a trap code, as in `heap_oob` or `user1`, found the end of the line",
        ),
        ("ret", "4:5: expected a block, as in `block0:`, found `ret`"),
        (
            "block1:\n    ret",
            "3:1: expected a terminator (jump, br, switch, ret, trap or return_call) of block0",
        ),
    ] {
        error(&in_function(line), expected);
    }
}

#[test]
fn functions() {
    for (text, expected) in [
        ("func", "1:1: expected `function`, found `func`"),
        (
            "function f() {}",
            "1:10: expected a function name, as in `%kernel`, found `f`",
        ),
        ("function % () {}", "1:10: expected a name after `%`"),
        (
            "function %\"x() {}",
            "1:10: expected a closing `\"` on the line of this name",
        ),
        (
            "function %\"\\x\"() {}",
            "1:12: expected an escape: `\\n`, `\\r`, `\\t`, `\\\\`, `\\\"`, `\\'` or `\\u{…}`",
        ),
        (
            "function %f(i33) {}",
            "1:13: expected a type (i8, i16, i32, i64, i128, f16, f32, f64 or pred), found `i33`",
        ),
        (
            "function %f(i32 i32) {}",
            "1:17: expected `,` or `)`, found `i32`",
        ),
        (
            "function %f() -> {}",
            "1:18: expected a type (i8, i16, i32, i64, i128, f16, f32, f64 or pred), found `{`",
        ),
        (
            "function %f()",
            "1:14: expected `{`, found the end of the text",
        ),
        (
            "function %f() {",
            "1:16: expected a block, an instruction or `}`, found the end of the text",
        ),
        (
            "function %f() {} 5",
            "1:18: expected the end of the line, found `5`",
        ),
        (
            "function %f() {}\nfunction %f() {}",
            "2:10: there is already a function `%f`",
        ),
        (
            "function %f() {\nret\n}",
            "2:1: expected a block, as in `block0:`, found `ret`",
        ),
        (
            "function %f() {\nblock0:\n}",
            "3:1: expected a terminator (jump, br, switch, ret, trap or return_call) of block0",
        ),
        (
            "function %f() {\nblock0:\nret\nblock0:\nret\n}",
            "4:1: block0 is already defined",
        ),
        (
            "function %f() {\nblock0(v1: i32, v1: i32):\nret\n}",
            "2:17: v1 is already defined",
        ),
        (
            "function %f() {\nblock3000000000:\nret\n}",
            "2:1: the numbering leaves out too many numbers",
        ),
        (
            "function %f() {\nss0 = slot -1, align 4\n}",
            "2:12: expected a size in bytes, found `-1`",
        ),
        (
            "function %f() {\nss0 = slot 4, align 4\nss0 = slot 4, align 4\n}",
            "3:1: ss0 is already declared",
        ),
        (
            "function %f() {\nblock0: ret\n}",
            "2:9: expected the end of the line, found `ret`",
        ),
    ] {
        error(text, expected);
    }
}

/// The errors of uses come in the order of the text, whatever they name.
#[test]
fn the_first_undefined_name_is_reported() {
    error(
        "function %f() {\nblock0:\n  jump block9(v8)\nblock1:\n  jump block1(v7)\n}",
        "3:8: there is no block9",
    );
    error(
        "function %f() {\nblock0:\n  ret v7\nblock1:\n  jump block9\n}",
        "3:7: v7 is not defined",
    );
}

#[test]
fn left_out_numbers_are_limited_over_the_whole_file() {
    let one = |i: usize| format!("function %f{i}() {{\nblock0:\nv400000 = lane_id\nret\n}}\n");
    assert!(parse_module(&one(0)).is_ok());
    let many: String = (0..20).map(one).collect();
    let error = parse_module(&many).expect_err("too many");
    assert_eq!(error.message, "the numbering leaves out too many numbers");
}

#[test]
fn long_input_is_read_in_time() {
    let n = 1_000_000;
    for text in [
        "(".repeat(n),
        format!("function %f({}", "i32,".repeat(n)),
        format!("function %{}", "x".repeat(n)),
        format!("function %f() {{\nblock0:\n  v1 = {}", "x".repeat(n)),
        in_function(&format!("v2 = const.i128 {}", "9".repeat(n))),
        in_function(&format!("v2 = const.f64 1e{}", "9".repeat(n))),
        in_function(&format!("v2 = copy.i32 v0 {}", "if v1 ".repeat(n / 10))),
        in_function(&format!("v2 = const.f32 {}", "-".repeat(n))),
        "\n".repeat(n) + "}",
        "é".repeat(n),
    ] {
        let error = parse_module(&text).expect_err("all of these are wrong");
        assert!(
            error.message.chars().count() < 200,
            "{}",
            error.message.len()
        );
    }
    let table = "block0(v0),".repeat(n / 10);
    let wide = in_function(&format!("switch v0, [{table} block0], block0\nblock1:"));
    let module = parse_module(&wide).expect("a wide switch");
    assert!(verify(&module.functions[0]).is_err());
}

/// Whatever text there is: no panic, errors within it, and what is accepted
/// prints to a fixed point and can be verified.
fn survives(text: &str) {
    match parse_module(text) {
        Err(e) => {
            let line = text.split('\n').nth(e.line as usize - 1);
            let line = line.unwrap_or_else(|| panic!("{e} is outside {text:?}"));
            assert!(
                e.column as usize <= line.chars().count() + 1,
                "{e} is outside {text:?}"
            );
            assert!(!e.message.is_empty());
        }
        Ok(module) => {
            let printed = module.to_string();
            let again = parse_module(&printed).unwrap_or_else(|e| panic!("{e}\n{printed}"));
            assert_eq!(again.to_string(), printed);
            for func in &module.functions {
                if let Err(e) = verify(func) {
                    assert!(e.to_string().contains("; error: "));
                }
            }
        }
    }
}

#[test]
fn every_truncation_of_a_valid_file() {
    for (at, _) in SAMPLE.char_indices() {
        survives(&SAMPLE[..at]);
    }
    // Within a function a truncation never goes unnoticed.
    let end = SAMPLE.find("\n}\n").expect("the end of the first function");
    for at in 1..=end {
        assert!(parse_module(&SAMPLE[..at]).is_err(), "cut at {at}");
    }
}

/// The words of the sample, for putting them elsewhere.
fn words() -> Vec<&'static str> {
    SAMPLE.split_inclusive([' ', ',', '\n', '(', ')']).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_in_a_valid_file(
        edits in prop::collection::vec((0..SAMPLE.len(), 0u8..4, any::<u8>()), 1..6)
    ) {
        let mut bytes = SAMPLE.as_bytes().to_vec();
        for (at, kind, byte) in edits {
            let at = at % bytes.len();
            match kind {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                2 => { bytes.remove(at); }
                // Printable: more of these get past the lexer.
                _ => bytes[at] = b' ' + byte % 95,
            }
        }
        survives(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn words_of_a_valid_file_out_of_place(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..4)
    ) {
        let mut text = words();
        for (from, to) in edits {
            let word = *from.get(&words());
            let at = to.index(text.len());
            text[at] = word;
        }
        survives(&text.concat());
    }
}
