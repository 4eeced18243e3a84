use std::path::Path;

use warpfold_exec::{Arg, Launch};
use warpfold_ir::{Function, FunctionBuilder, Type};

use super::{LaunchSpec, Overrides};

fn kernel(types: &[Type]) -> Function {
    let mut b = FunctionBuilder::new("k");
    for &ty in types {
        b.param(ty, false);
    }
    b.ret(&[]);
    b.finish()
}

fn build(header: &str, types: &[Type]) -> Result<Launch, String> {
    let spec = LaunchSpec::from_source(header).map_err(|e| e.to_string())?;
    spec.build(&kernel(types), Path::new("/nonexistent"))
        .map_err(|e| e.to_string())
}

fn uniform(arg: &Arg) -> u128 {
    match arg {
        Arg::Uniform(bits) => *bits,
        Arg::Varying(_) => panic!("varying"),
    }
}

fn varying(arg: &Arg) -> &[u128] {
    match arg {
        Arg::Varying(lanes) => lanes,
        Arg::Uniform(_) => panic!("uniform"),
    }
}

#[test]
fn a_whole_header() {
    let text = "\
; a comment
;! function = \"k\"
;! grid = 2
;! block = [4, 2]
;! shared = 64
;! [[arg]]
;! buffer = \"i16\"
;! len = 3
;! init = \"iota\"
;! name = \"in\"
code in between
;! [[arg]]
;! varying = { base = \"in\", values = \"2 * tid - 8\" }
;! [[arg]]
;! scalar = -1
;! [[arg]]
;! varying = { values = [1, 0, 2] }
;! [[arg]]
;! varying = \"0.5 * block\"
";
    let types = [Type::I64, Type::I64, Type::I8, Type::Pred, Type::F32];
    let launch = build(text, &types).unwrap();
    assert_eq!(launch.grid, [2, 1, 1]);
    assert_eq!(launch.block, [4, 2, 1]);
    assert_eq!(launch.shared, 64);
    assert_eq!(launch.memory.bytes(0), [0, 0, 1, 0, 2, 0]);
    let base = uniform(&launch.args[0]);
    assert_eq!(
        varying(&launch.args[1])[..3],
        [base - 8, base - 6, base - 4]
    );
    assert_eq!(varying(&launch.args[1])[8], base - 8);
    assert_eq!(uniform(&launch.args[2]), 0xFF);
    assert_eq!(varying(&launch.args[3])[..4], [1, 0, 1, 1]);
    let halves: Vec<f32> = varying(&launch.args[4])
        .iter()
        .map(|&b| f32::from_bits(b as u32))
        .collect();
    assert_eq!(halves, [vec![0.0; 8], vec![0.5; 8]].concat());

    let spec = LaunchSpec::from_source(text).unwrap();
    let mut func = kernel(&types);
    spec.mark_varying(&mut func);
    let marks: Vec<bool> = func.params.iter().map(|p| p.varying).collect();
    assert_eq!(marks, [false, true, false, true, true]);
}

#[test]
fn the_same_seed_draws_the_same() {
    let text = ";! seed = 9\n;! [[arg]]\n;! varying = { random = { min = 0, max = 1000000 } }\n";
    let a = build(text, &[Type::I32]).unwrap();
    let b = build(text, &[Type::I32]).unwrap();
    let c = build(&text.replace('9', "8"), &[Type::I32]).unwrap();
    assert_eq!(varying(&a.args[0]), varying(&b.args[0]));
    assert_ne!(varying(&a.args[0]), varying(&c.args[0]));
}

#[test]
fn numbers_in_all_notations() {
    let scalar = |text: &str, ty| {
        let launch = build(&format!(";! [[arg]]\n;! scalar = {text}"), &[ty]).unwrap();
        uniform(&launch.args[0])
    };
    assert_eq!(scalar("0x1F", Type::I32), 31);
    assert_eq!(scalar("0b101", Type::I32), 5);
    assert_eq!(scalar("1_000", Type::I32), 1000);
    assert_eq!(scalar("-1", Type::I64), u64::MAX.into());
    assert_eq!(scalar("18446744073709551615", Type::I64), u64::MAX.into());
    assert_eq!(scalar("true", Type::Pred), 1);
    assert_eq!(scalar("2", Type::Pred), 1);
    assert_eq!(scalar("1_0.5", Type::F32), 10.5f32.to_bits().into());
    assert_eq!(
        scalar("-inf", Type::F64),
        f64::NEG_INFINITY.to_bits().into()
    );
    assert_eq!(scalar("3", Type::F64), 3f64.to_bits().into());
}

#[test]
fn overrides_win() {
    let mut spec = LaunchSpec::from_source(";! block = 64\n;! [[arg]]\n;! scalar = 1\n").unwrap();
    let overrides = Overrides {
        grid: Some("3".parse().unwrap()),
        args: vec!["1=lane".parse().unwrap(), "0=7".parse().unwrap()],
        ..Overrides::default()
    };
    spec.apply(&overrides).unwrap();
    let launch = spec
        .build(&kernel(&[Type::I32, Type::I32]), Path::new("."))
        .unwrap();
    assert_eq!((launch.grid, launch.block), ([3, 1, 1], [64, 1, 1]));
    assert_eq!(uniform(&launch.args[0]), 7);
    assert_eq!(varying(&launch.args[1]).len(), 192);
    let gap = Overrides {
        args: vec!["5=1".parse().unwrap()],
        ..Overrides::default()
    };
    let e = spec.apply(&gap).unwrap_err();
    assert_eq!(e.to_string(), "argument 5 is given, but argument 2 is not");
}

#[test]
fn kernels_are_found_by_name() {
    let spec = LaunchSpec::from_source("\n  ;! function = \"b\"\n").unwrap();
    assert_eq!(spec.kernel(["a", "b"]), Ok(1));
    assert_eq!(
        spec.kernel(["a"]).unwrap_err().to_string(),
        "2:17: there is no function %b; the file holds %a"
    );
    assert_eq!(LaunchSpec::default().kernel(["a"]), Ok(0));
    assert!(LaunchSpec::default().kernel([]).is_err());
}

#[test]
fn errors_name_line_and_column() {
    for (text, types, want) in [
        (
            ";! grid = -1",
            &[][..],
            "1:11: `grid` is -1, which is negative",
        ),
        (";! grid = 0", &[], "1:11: `grid` must not be 0"),
        (";! block = [1, 0]", &[], "1:12: `block` must not be 0"),
        (";! block = [1, 1, 1, 1]", &[], "`block` must be"),
        (
            ";! block = 1025",
            &[],
            "a block of 1025 threads; at most 1024",
        ),
        (";! grid = 4294967295", &[], "137438953440 threads"),
        (
            ";! grid = 99999999999",
            &[],
            "1:11: `grid` is 99999999999, which is too large",
        ),
        (";! shared = 4294967295", &[], "bytes of shared memory"),
        (";! grid = \"x\"", &[], "1:11: `grid` must be a number"),
        (
            "\n;! gird = 1",
            &[],
            "2:4: unknown key `gird` in the launch header; is `grid` meant? known here: function",
        ),
        (
            ";! nonsense = 1",
            &[],
            "1:4: unknown key `nonsense` in the launch header; known here",
        ),
        (
            ";! [[arg]]\n;! buffer = \"i32\"\n;! lenght = 3",
            &[],
            "3:4: unknown key `lenght` in an argument; is `len` meant?",
        ),
        (
            ";! [[arg]]\n;! buffer = \"i32\"\n;! len = 1\n;! init = { constent = 3 }",
            &[],
            "4:13: unknown key `constent` in init; is `constant` meant?",
        ),
        (
            ";! [arg]\n;! scalar = 1\n;! [arg]\n;! scalar = 2",
            &[],
            "write `[[arg]]` for each argument",
        ),
        (
            ";! [arg]\n;! scalar = 1",
            &[],
            "write `[[arg]]` for each argument",
        ),
        (
            ";! [[arg]]\n;! buffer = i32\n;! len = 1",
            &[],
            "; write `buffer = \"i32\"`",
        ),
        (";! grid = ", &[], "1:"),
        (
            ";! [[arg]]\n;! scalar = 1\n;! len = 3",
            &[],
            "3:4: `len` means nothing in an argument without `buffer`",
        ),
        (
            ";! [[arg]]",
            &[],
            "exactly one of `buffer`, `scalar`, `varying`",
        ),
        (
            ";! [[arg]]\n;! buffer = \"i32\"",
            &[],
            "2:13: the buffer lacks `len`",
        ),
        (
            ";! [[arg]]\n;! buffer = \"v4\"\n;! len = 1",
            &[],
            "2:13: `buffer` must be an element type",
        ),
        (
            ";! [[arg]]\n;! varying = \"lane +\"",
            &[],
            "2:21: expected a number",
        ),
        (
            ";! grid = 1",
            &[Type::I32],
            "1:1: no arguments are given, but %k(i32) takes 1",
        ),
        (
            ";! [[arg]]\n;! scalar = 1\n;! [[arg]]\n;! scalar = 2",
            &[Type::I32],
            "3:4: 2 arguments are given, but %k(i32) takes 1",
        ),
        (
            ";! [[arg]]\n;! scalar = 1.5",
            &[Type::I32],
            "argument 0: 1.5 is a float, but the type is i32",
        ),
        (
            ";! [[arg]]\n;! scalar = 300",
            &[Type::I8],
            "argument 0: 300 does not fit i8",
        ),
        (
            ";! [[arg]]\n;! buffer = \"i8\"\n;! len = 1\n",
            &[Type::F32],
            "an address needs i64 or i32",
        ),
        (
            ";! [[arg]]\n;! buffer = \"i8\"\n;! len = 999999999999\n",
            &[Type::I64],
            "take more than",
        ),
        (
            ";! [[arg]]\n;! buffer = \"i8\"\n;! init = { file = \"no.bin\" }\n",
            &[Type::I64],
            "no.bin",
        ),
        (
            ";! [[arg]]\n;! varying = { base = \"b\", values = [1] }",
            &[Type::I64],
            "no buffer argument is called `b`",
        ),
        (
            ";! [[arg]]\n;! varying = { random = { min = 2, max = 1 } }",
            &[Type::I64],
            "`min` is greater",
        ),
        (
            ";! [[arg]]\n;! varying = { random = { min = 0.5, max = 1 } }",
            &[Type::I64],
            "bounds of `random` are floats",
        ),
        (
            ";! [[arg]]\n;! varying = { values = [] }",
            &[Type::I64],
            "`values` is empty",
        ),
        (
            ";! [[arg]]\n;! varying = \"1 / lane\"",
            &[Type::I64],
            "divides by zero",
        ),
    ] {
        let got = build(text, types).unwrap_err();
        assert!(got.contains(want), "{text:?}\n  got  {got}\n  want {want}");
    }
}

#[test]
fn files_fill_buffers_of_their_size() {
    let dir = std::env::temp_dir().join(format!("warpfold-launch-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("x.bin"), [1u8, 2, 3, 4]).unwrap();
    let text = ";! [[arg]]\n;! buffer = \"i16\"\n;! init = { file = \"x.bin\" }\n";
    let func = kernel(&[Type::I64]);
    let good = LaunchSpec::from_source(text).unwrap().build(&func, &dir);
    let bad = LaunchSpec::from_source(&format!("{text};! len = 3\n"))
        .unwrap()
        .build(&func, &dir);
    std::fs::remove_dir_all(&dir).unwrap();
    assert_eq!(good.unwrap().memory.bytes(0), [1, 2, 3, 4]);
    let message = bad.unwrap_err().to_string();
    assert!(message.contains("has 4 bytes, not 3 × 2 = 6"), "{message}");
}
