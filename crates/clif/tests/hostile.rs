//! Input that is no good CLIF: an error with a place, never a panic.

mod common;

use warpfold_clif::{ClifError, ReadOptions, read, text_of};

const KERNEL: &str = "test run
set opt_level=none
; A kernel with a bit of everything.
function %kernel(i64, i32) -> i32 {
    ss0 = explicit_slot 8, align = 4
    fn0 = %lane_id() -> i32
    fn1 = %ballot(i8) -> i32
    region0 = 1 \"heap\"

block0(v0: i64, v1: i32):
    v2 = call fn0()
    v3 = icmp ult v2, v1
    brif v3, block1(v2), block2 ; in range

block1(v4: i32) cold:
    v5 = f32const -0x1.8p3
@00c7 v6 = load.f32 notrap aligned region0 v0-4
    v7 = fcmp lt v5, v6
    v8 = call fn1(v7)
    br_table v8, block2, [block3, block2]

block2:
    v9 -> v1
    return v9

block3:
    trap user1
}
";

fn checked(text: &str) -> Result<(), Vec<ClifError>> {
    let result = read(text, &ReadOptions::default());
    if let Err(errors) = &result {
        assert!(!errors.is_empty());
        for e in errors {
            assert!(
                e.line > 0 && e.column > 0 && !e.message.is_empty(),
                "{e:?}\n{text}"
            );
            let lines = text.lines().count().max(1);
            assert!(e.line as usize <= lines, "{e}\n{text}");
        }
    }
    result.map(|_| ())
}

#[test]
fn the_kernel_is_good() {
    common::good(KERNEL);
}

/// Every prefix is refused, but those that lack only the last line end.
#[test]
fn truncated_anywhere() {
    let whole = KERNEL.trim_end().len();
    for end in 0..whole {
        assert!(checked(&KERNEL[..end]).is_err(), "{}", &KERNEL[..end]);
    }
    assert!(checked(&KERNEL[..whole]).is_ok());
}

/// Every character in turn left out, doubled or replaced.
#[test]
fn one_character_off() {
    for (at, c) in KERNEL.char_indices() {
        let (before, after) = (&KERNEL[..at], &KERNEL[at + c.len_utf8()..]);
        for middle in ["", "\0", "9", "v", "%", "\"", ";", "{", "é"] {
            let _ = checked(&format!("{before}{middle}{after}"));
        }
        let _ = checked(&format!("{before}{c}{c}{after}"));
    }
}

#[test]
fn nothing_or_no_text() {
    let one = |text| {
        let errors = read(text, &ReadOptions::default()).expect_err("no CLIF");
        assert_eq!(errors.len(), 1);
        errors[0].to_string()
    };
    assert_eq!(one(""), "1:1: the input is empty");
    assert_eq!(one("\n\n"), "1:1: the input is empty");
    assert_eq!(one("; run\n"), "1:1: the input holds no function");
    assert_eq!(one("test run\n"), "1:1: the input holds no function");
    assert_eq!(one("fn main() {}"), "1:1: expected 'function', found 'fn'");
    assert_eq!(
        one("\u{7f}ELF\u{2}\u{1}\0\0"),
        "1:1: expected 'function', found the character U+007F"
    );
    assert_eq!(one("function"), "1:1: expected external name");
    assert_eq!(
        one("function %f() {\nblock0:\n    return\u{a0}\n}"),
        "3:11: %f: the character U+00A0 is no part of CLIF"
    );
    assert_eq!(
        one("function %f() {}"),
        "1:1: %f: the function has no blocks"
    );
    assert_eq!(
        text_of(b"function %f() {\n  \xc3(")
            .expect_err("no text")
            .to_string(),
        "2:3: the input is no UTF-8 text"
    );
}

/// Pseudo-random bytes and shuffled tokens (a fixed xorshift sequence).
#[test]
fn noise() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % n as u64) as usize
    };
    let tokens: Vec<&str> = KERNEL
        .split_inclusive(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .collect();
    for _ in 0..2_000 {
        let bytes: Vec<u8> = (0..next(80)).map(|_| next(256) as u8).collect();
        let _ = checked(&String::from_utf8_lossy(&bytes));
        let mut text = String::from("function %f(i64, i32) {\nblock0(v0: i64, v1: i32):\n");
        for _ in 0..next(40) {
            text += tokens[next(tokens.len())];
        }
        let _ = checked(&text);
        let mut lines: Vec<&str> = KERNEL.lines().collect();
        for _ in 0..1 + next(3) {
            let (from, to) = (next(lines.len()), next(lines.len()));
            lines.swap(from, to);
        }
        let _ = checked(&lines.join("\n"));
    }
}

/// Inputs on which Cranelift's reader or verifier would fail an assertion or
/// allocate without bound.
#[test]
fn what_cranelift_does_not_survive() {
    let body =
        |line: &str| format!("function %f(i64) {{\nblock0(v0: i64):\n    {line}\n    return\n}}");
    let preamble = |line: &str| format!("function %f() {{\n    {line}\nblock0:\n    return\n}}");
    for text in [
        body("v4294967294 = iconst.i32 0"),
        body("jump block4294967294"),
        body("v1 = splat.dt0 v0"),
        body("v1 = extract_vector v0, 0"),
        body("try_call fn0(), sig9, block0, []"),
        body("try_call_indirect v0(), sig9, block0, [context v9]"),
        preamble("sig9 = () tail").replace("return", "try_call fn7(), sig9, block0, []"),
        preamble("sig9 = ()").replace("return", "try_call_indirect v0(), sig9, block7(ret0), []"),
        body(&format!("v1 = iadd v0, v{}", "9".repeat(30))),
        preamble("ss4294967294 = explicit_slot 8"),
        preamble("gv4000000000 = vmctx"),
        preamble("gv0 = dyn_scale_target_const.i32"),
        preamble("gv0 = load.i64 notrap aligned gv7"),
        preamble("gv0 = iadd_imm.i64 gv0, 1"),
        preamble("dt0 = i32*gv0"),
        "function %f(i64 vmctx) {\n    gv0 = vmctx\n}".into(),
        "function %f(i64 vmctx) {\n    gv0 = vmctx\nblock0:\n    return\n}".into(),
        body("v1 = vconst.i8x2 0xffffffffffffffff"),
        preamble("const0 = i8x2 0xffffffffffffffff"),
        body(&format!("v1 = shuffle v0, v0, 0x{}", "0".repeat(99))),
        format!(
            "function %f() {{\nblock0:\n    jump block1({})\nblock1({}):\n    return\n}}",
            "v0, ".repeat(70_000),
            "v0: i32, ".repeat(70_000)
        ),
    ] {
        let shown = &text[..text.len().min(200)];
        assert!(checked(&text).is_err(), "{shown}");
    }
}

/// A byte order mark is skipped, and the first line's columns do not count it.
#[test]
fn byte_order_mark() {
    common::good(&format!("\u{feff}{KERNEL}"));
    assert_eq!(
        common::bad("\u{feff}fn main() {}"),
        common::bad("fn main() {}")
    );
    assert_eq!(common::bad("\u{feff}"), ["1:1: the input is empty"]);
    let text = "function %f() { block0: v0 = debugtrap }";
    assert_eq!(common::bad(&format!("\u{feff}{text}")), common::bad(text));
    assert_eq!(
        text_of(b"\xef\xbb\xbfab\xff").expect_err("no text").column,
        3
    );
    let inside = "function %f() {\nblock0:\n    \u{feff}return\n}";
    assert_eq!(
        common::bad(inside),
        ["3:5: %f: the character U+FEFF is no part of CLIF"]
    );
}

/// The commas of all instructions together are no list.
#[test]
fn a_long_block() {
    let mut text = String::from("function %f(i32) -> i32 {\nblock0(v0: i32):\n");
    for i in 0..70_000 {
        text += &format!("    v{} = iadd v{i}, v0\n", i + 1);
    }
    text += "    return v70000\n}\n";
    let lowered = common::good(&text);
    assert_eq!(lowered[0].func.laid_out_insts().count(), 70_000);
}

/// Large inputs take linear time: a chain of blocks laid out backwards, each
/// passing a truth value on to the one before it.
#[test]
fn long_functions() {
    let n = 20_000;
    let mut text = format!(
        "function %f(i32) {{\nblock0(v0: i32):\n    v1 = iconst.i8 1\n    jump block{n}(v1)\n"
    );
    for i in 1..=n {
        text += &format!("block{i}(v{}: i8):\n", i + 1);
        match i {
            1 => text += "    brif v2, block20001, block20001\n",
            _ => text += &format!("    jump block{}(v{})\n", i - 1, i + 1),
        }
    }
    text += "block20001:\n    return\n}\n";
    let lowered = common::good(&text);
    assert_eq!(lowered[0].func.layout.len(), n + 2);
    assert!(lowered[0].func.to_string().contains("block7(v"));
    assert!(!lowered[0].func.to_string().contains(": i8)"));
}
