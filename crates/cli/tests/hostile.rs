//! Bad input: one clear error each, with a place, and the right status; no
//! panic and no endless run.

mod support;

use std::process::{Command, Stdio};

use support::{CLAMP, scratch, warpfold, warpfold_on};

/// The commands that read a kernel.
const COMMANDS: [&str; 5] = ["run", "explain", "opt", "uniformity", "exec"];

/// Feeds `text` to every command; all refuse it with the same line, which
/// begins with `place` and contains `what`.
#[track_caller]
fn refused(text: &[u8], place: &str, what: &str) {
    for command in COMMANDS {
        let message = warpfold_on(&[command, "-"], text).error(2);
        assert!(
            message.starts_with(&format!("<stdin>:{place}: ")),
            "{command}: {message}"
        );
        assert!(message.contains(what), "{command}: {message}");
    }
}

/// The same for what only matters when the kernel is launched.
#[track_caller]
fn not_launched(text: &str, place: &str, what: &str) {
    for command in ["run", "exec"] {
        let message = warpfold_on(&[command, "-"], text.as_bytes()).error(2);
        assert!(
            message.starts_with(&format!("<stdin>{place}: ")),
            "{command}: {message}"
        );
        assert!(message.contains(what), "{command}: {message}");
    }
}

#[test]
fn empty_file() {
    refused(b"", "1:1", "the input is empty");
    refused(b"; only a comment\n", "1:1", "no function");
}

#[test]
fn truncated_clif() {
    let whole = std::fs::read_to_string(support::root().join(CLAMP)).unwrap();
    let cut = whole.find("brif").unwrap() + 2;
    let line = whole[..cut].lines().count();
    for command in COMMANDS {
        let message = warpfold_on(&[command, "-"], &whole.as_bytes()[..cut]).error(2);
        let place = message.strip_prefix("<stdin>:").unwrap();
        let at: usize = place.split(':').next().unwrap().parse().unwrap();
        // Either where the function begins or where the text ends.
        assert!(at <= line && at > 1, "{command}: {message}");
    }
}

#[test]
fn unknown_intrinsic() {
    let text = "function %f() {\n    fn0 = %warp_speed() -> i32\nblock0:\n    v0 = call fn0()\n    return\n}\n";
    for command in COMMANDS {
        let message = warpfold_on(&[command, "-"], text.as_bytes()).error(2);
        assert!(message.contains("warp_speed"), "{message}");
        assert!(
            message.starts_with("<stdin>:2:") || message.starts_with("<stdin>:4:"),
            "{message}"
        );
    }
}

#[test]
fn wrong_signature() {
    let text =
        "function %f() {\n    fn0 = %tid_x() -> i64\nblock0:\n    v0 = call fn0()\n    return\n}\n";
    for command in COMMANDS {
        let message = warpfold_on(&[command, "-"], text.as_bytes()).error(2);
        assert!(message.contains("tid_x"), "{message}");
        assert!(message.contains("i32"), "{message}");
        assert!(
            message.starts_with("<stdin>:2:") || message.starts_with("<stdin>:4:"),
            "{message}"
        );
    }
}

#[test]
fn vector_types() {
    let text = "function %f(i64) {\nblock0(v0: i64):\n    v1 = load.i32x4 v0\n    return\n}\n";
    refused(text.as_bytes(), "3:10", "i32x4");
    // As a parameter: of the function and of the block.
    let text = "function %f(i32x4) {\nblock0(v0: i32x4):\n    return\n}\n";
    for command in COMMANDS {
        let ran = warpfold_on(&[command, "-"], text.as_bytes());
        assert_eq!(ran.status, 2);
        for (line, at) in ran.stderr.lines().zip(1..) {
            assert!(
                line.starts_with(&format!("error: <stdin>:{at}:1: ")),
                "{line}"
            );
            assert!(line.contains("i32x4"), "{line}");
        }
        assert_eq!(ran.stderr.lines().count(), 2);
    }
}

#[test]
fn every_unsupported_instruction_is_named() {
    let text = "function %f(i64) {\nblock0(v0: i64):\n    v1 = get_stack_pointer.i64\n    debugtrap\n    return\n}\n";
    let ran = warpfold_on(&["run", "-"], text.as_bytes());
    assert_eq!(ran.status, 2);
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{}", ran.stderr);
    assert!(lines[0].starts_with("error: <stdin>:3:"), "{}", lines[0]);
    assert!(lines[1].starts_with("error: <stdin>:4:"), "{}", lines[1]);
}

#[test]
fn missing_buffer() {
    let text = "function %f(i64) {\nblock0(v0: i64):\n    v1 = load.i32 v0\n    return\n}\n";
    not_launched(text, "", "no arguments are given, but %f(i64) takes 1");
    let with_header =
        format!(";! block = 64\n;! [[arg]]\n;! scalar = 1\n;! [[arg]]\n;! scalar = 2\n{text}");
    not_launched(
        &with_header,
        ":4:4",
        "2 arguments are given, but %f(i64) takes 1",
    );
    let with_file =
        format!(";! [[arg]]\n;! buffer = \"i32\"\n;! init = {{ file = \"no-such-file\" }}\n{text}");
    not_launched(&with_file, ":1:4", "no-such-file");
}

#[test]
fn bad_sizes() {
    let kernel = "function %f() {\nblock0:\n    return\n}\n";
    refused(format!("\n;! grid = -1\n{kernel}").as_bytes(), "2:11", "-1");
    refused(
        format!(";! block = 0\n{kernel}").as_bytes(),
        "1:12",
        "must not be 0",
    );
    refused(
        format!(";! block = [8, 0]\n{kernel}").as_bytes(),
        "1:12",
        "must not be 0",
    );
    not_launched(
        &format!(";! block = 4096\n{kernel}"),
        ":1:1",
        "4096 threads",
    );
    for (option, value, what) in [
        ("--grid", "-1", "negative"),
        ("--block", "0", "must not be 0"),
        ("--block", "8,8,8,8", "more than three"),
        ("--grid", "99999999999", "too large"),
        ("--shared", "-4", "-4"),
    ] {
        let ran = warpfold(&["run", option, value, CLAMP]);
        assert_eq!(ran.status, 2, "{option} {value}");
        assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
        assert!(ran.stderr.contains(option), "{}", ran.stderr);
        assert!(ran.stderr.contains(what), "{}", ran.stderr);
    }
}

#[test]
fn a_file_that_is_no_text() {
    refused(
        b"function %f() {\n\xff\xfe}",
        "2:1",
        "not UTF-8 text: invalid at byte 16",
    );
    refused(&[0; 64], "1:1", "");
}

#[test]
fn no_such_file() {
    for command in COMMANDS {
        let message = warpfold(&[command, "no/such/file.clif"]).error(2);
        assert!(
            message.starts_with("no/such/file.clif: cannot read: "),
            "{message}"
        );
    }
    let message = warpfold(&["run", "."]).error(2);
    assert!(message.starts_with(".: cannot read: "), "{message}");
    let message = warpfold(&["opt", "-o", "no/such/dir/x.wf", CLAMP]).error(2);
    assert!(
        message.starts_with("no/such/dir/x.wf: cannot write: "),
        "{message}"
    );
}

#[test]
fn no_such_function() {
    let message = warpfold(&["run", "--function", "clump", CLAMP]).error(2);
    assert_eq!(
        message,
        format!("{CLAMP}: there is no function %clump; the file holds %clamp")
    );
}

#[test]
fn no_such_machine() {
    let message = warpfold(&["run", "--machine", "gtx", CLAMP]).error(2);
    assert!(
        message.contains("no machine is named `gtx`; there are unit, textbook"),
        "{message}"
    );
    let bad = scratch("bad.toml");
    std::fs::write(&bad, "name = \"bad\"\nwarp = 64\n").unwrap();
    let message = warpfold(&["explain", "--machine", &bad, CLAMP]).error(2);
    assert!(message.starts_with(&format!("{bad}:")), "{message}");
}

#[test]
fn bad_ir_text() {
    let bad = scratch("bad.wf");
    std::fs::write(
        &bad,
        "function %f() {\nblock0:\n    v1 = frobnicate v0\n    ret\n}\n",
    )
    .unwrap();
    let message = warpfold(&["exec", &bad]).error(2);
    assert!(message.starts_with(&format!("{bad}:3:")), "{message}");
    // Parsed, but not valid: `v1` does not dominate its use.
    std::fs::write(
        &bad,
        "function %f(pred) {\nblock0(v0: pred):\n    br v0, block1, block2\nblock1:\n    v1 = const.i32 1\n    jump block2\nblock2:\n    v2 = iadd.i32 v1, v1\n    ret\n}\n",
    )
    .unwrap();
    let ran = warpfold(&["exec", &bad]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("v1"), "{}", ran.stderr);
}

#[test]
fn a_loop_without_progress() {
    let text = "function %f() {\nblock0:\n    jump block1\nblock1:\n    jump block1\n}\n";
    for command in ["run", "exec"] {
        let message = warpfold_on(&[command, "-"], text.as_bytes()).error(1);
        assert!(message.starts_with("<stdin>:"), "{message}");
        assert!(message.contains("no progress in block"), "{message}");
    }
}

#[test]
fn a_loop_that_takes_too_long() {
    let text = "function %f() {\nblock0:\n    v0 = iconst.i64 0\n    jump block1(v0)\nblock1(v1: i64):\n    v2 = iconst.i64 1\n    v3 = iadd v1, v2\n    v4 = iconst.i64 -1\n    v5 = icmp eq v3, v4\n    brif v5, block2, block1(v3)\nblock2:\n    return\n}\n";
    for command in ["run", "exec"] {
        let args = [command, "--step-limit", "1000", "-"];
        let message = warpfold_on(&args, text.as_bytes()).error(1);
        assert!(message.starts_with("<stdin>:10: "), "{message}");
        assert!(
            message.contains("step limit of 1000 issues reached"),
            "{message}"
        );
    }
    // What does not run ends all the same.
    for command in ["explain", "opt", "uniformity"] {
        warpfold_on(&[command, "-"], text.as_bytes()).ok();
    }
}

#[test]
fn a_barrier_that_lanes_miss() {
    let text = ";! [[arg]]\n;! varying = \"lane < 7\"\nfunction %f(i32) {\n    fn0 = %barrier()\nblock0(v0: i32):\n    brif v0, block1, block2\nblock1:\n    call fn0()\n    jump block2\nblock2:\n    return\n}\n";
    let message = warpfold_on(&["exec", "-"], text.as_bytes()).error(1);
    assert!(message.starts_with("<stdin>:8: "), "{message}");
    assert!(
        message.contains("arrived 0x0000007f, missing 0xffffff80"),
        "{message}"
    );
}

/// Lanes that read what another lane writes, through a load whose flags deny
/// it: hoisting the load is allowed then, and what comes of it is told.
#[test]
fn a_load_that_lies_about_its_memory() {
    let text = ";! [[arg]]\n;! buffer = \"i32\"\n;! len = 1\n;! [[arg]]\n;! varying = \"lane < 16\"\nfunction %f(i64, i32) -> i32 {\nblock0(v0: i64, v1: i32):\n    brif v1, block1, block2\nblock1:\n    v2 = load.i32 notrap aligned readonly can_move v0\n    v3 = iconst.i32 7\n    store v3, v0\n    jump block3(v2)\nblock2:\n    v4 = load.i32 notrap aligned readonly can_move v0\n    jump block3(v4)\nblock3(v5: i32):\n    return v5\n}\n";
    let ran = warpfold_on(&["run", "-"], text.as_bytes());
    assert_eq!(ran.status, 1);
    let what = "thread 16 returned 0x7 before, 0x0 after";
    assert_eq!(
        ran.stderr,
        format!("error: <stdin>: the converted kernel differs: {what}\n")
    );
    // The report comes all the same.
    assert!(
        ran.stdout
            .contains(&format!("\nNOT the same before and after: {what}\n"))
    );
    assert!(ran.stdout.contains("\n8: brif "));
}

/// Thousands of branches, nested and in a row.
#[test]
fn large_kernels() {
    let mut nested = "function %f(i32) {\nblock0(v0: i32):\n".to_owned();
    let depth = 1000;
    for i in 0..depth {
        nested += &format!(
            "    brif v0, block{}, block{}\nblock{}:\n",
            i + 1,
            2 * depth,
            i + 1
        );
    }
    nested += &format!("    jump block{0}\nblock{0}:\n    return\n}}\n", 2 * depth);
    let mut row = "function %f(i32, i64) {\nblock0(v0: i32, v1: i64):\n".to_owned();
    for i in 0..2000 {
        let (a, b) = (2 * i + 1, 2 * i + 2);
        row += &format!(
            "    brif v0, block{a}, block{b}\nblock{a}:\n    store v0, v1+{}\n    jump block{b}\nblock{b}:\n",
            4 * i
        );
    }
    row += "    return\n}\n";
    for text in [nested, row] {
        let out = warpfold_on(&["explain", "-"], text.as_bytes()).ok();
        assert!(out.lines().filter(|l| l.contains(": brif")).count() >= 1000);
    }
}

/// Every prefix and many one-byte changes of a kernel: an answer, no panic.
#[test]
fn damaged_kernels() {
    let whole = std::fs::read(support::root().join(CLAMP)).unwrap();
    let mut inputs: Vec<Vec<u8>> = (0..whole.len())
        .step_by(97)
        .map(|n| whole[..n].to_vec())
        .collect();
    for (i, at) in (0..whole.len()).step_by(61).enumerate() {
        let mut bytes = whole.clone();
        bytes[at] = [b'0', b'(', b'\n', b';', 0x80, b'9'][i % 6];
        inputs.push(bytes);
    }
    for input in inputs {
        let ran = warpfold_on(&["run", "--step-limit", "100000", "-"], &input);
        assert!((0..=2).contains(&ran.status), "{}", ran.stderr);
        assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
        for line in ran.stderr.lines() {
            assert!(line.starts_with("error: <stdin>"), "{line}");
        }
    }
}

#[test]
fn nobody_reads_the_output() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_warpfold"))
        .args(["run", "--format", "json", CLAMP])
        .current_dir(support::root())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
