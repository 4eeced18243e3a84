//! Where results go: nothing is written over that is read, or twice.

mod support;

use std::fs;

use support::{CLAMP, root, scratch, warpfold};

/// A copy of the README's kernel that a test may lose.
fn kernel(name: &str) -> (String, String) {
    let text = fs::read_to_string(root().join(CLAMP)).unwrap();
    let path = scratch(name);
    fs::write(&path, &text).unwrap();
    (path, text)
}

#[test]
fn an_input_is_not_written_over() {
    let (path, text) = kernel("over.clif");
    let (folder, name) = path.rsplit_once('/').unwrap();
    let around = format!("{folder}/../{}/{name}", folder.rsplit_once('/').unwrap().1);
    for command in ["run", "explain", "opt", "exec", "uniformity", "policies"] {
        for to in [&path, &around] {
            let message = warpfold(&[command, &path, "-o", to]).error(2);
            assert_eq!(
                message,
                format!("--output: `{to}` is read; it is not written over")
            );
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "{command}");
    }
    let machine = scratch("over.toml");
    fs::write(&machine, warpfold(&["machines", "unit"]).ok()).unwrap();
    for args in [
        &["opt", CLAMP, "--machine", &machine, "-o", &machine] as &[&str],
        &["machines", &machine, "-o", &machine],
    ] {
        assert!(
            warpfold(args).error(2).starts_with("--output: "),
            "{args:?}"
        );
    }
    let profile = scratch("over.json");
    warpfold(&["exec", CLAMP, "--profile-out", &profile]).ok();
    let message = warpfold(&["run", CLAMP, "--profile", &profile, "-o", &profile]).error(2);
    assert!(message.starts_with("--output: "), "{message}");
}

/// Those of buffers as well, whether the file of the kernel names them or an option, and
/// by another name of the same file.
#[test]
fn no_name_of_an_input_is_written_over() {
    let data = scratch("over.bin");
    fs::write(&data, [7; 128]).unwrap();
    let text = ";! block = 32\n;! [[arg]]\n;! buffer = \"i32\"\n;! init = { file = \"over.bin\" }\n\
                function %f(i64) {\nblock0(v0: i64):\n    return\n}\n";
    let named = scratch("buffer-of-a-file.clif");
    fs::write(&named, text).unwrap();
    for args in [
        &["run", &named, "-o", &data] as &[&str],
        &["exec", &named, "--profile-out", &data],
        &["opt", &named, "-o", &data],
        &[
            "run",
            CLAMP,
            "--arg",
            &format!("0=buf:i32:32:@{data}"),
            "-o",
            &data,
        ],
    ] {
        let message = warpfold(args).error(2);
        assert!(
            message.ends_with("is read; it is not written over"),
            "{message}"
        );
        assert_eq!(fs::read(&data).unwrap(), [7; 128], "{args:?}");
    }
    let (path, _) = kernel("linked.clif");
    let link = scratch("link.clif");
    let _ = fs::remove_file(&link);
    fs::hard_link(&path, &link).unwrap();
    let message = warpfold(&["opt", &path, "-o", &link]).error(2);
    assert!(message.starts_with("--output: "), "{message}");
}

#[test]
fn two_results_do_not_share_a_file() {
    let path = scratch("shared.svg");
    let _ = fs::remove_file(&path);
    let cases: [(&[&str], &str); 4] = [
        (&["run", CLAMP, "-o", &path, "--cfg", &path], "--cfg: "),
        (
            &["run", CLAMP, "--timeline", &path, "--cfg", &path],
            "--cfg: ",
        ),
        (
            &["exec", CLAMP, "-o", &path, "--timeline", &path],
            "--timeline: ",
        ),
        (
            &["exec", CLAMP, "-o", &path, "--profile-out", &path],
            "--profile-out: ",
        ),
    ];
    for (args, option) in cases {
        let message = warpfold(args).error(2);
        assert!(message.starts_with(option), "{message}");
        assert!(!fs::exists(&path).unwrap(), "{args:?}");
    }
}

#[test]
fn a_dash_is_standard_output() {
    let plain = warpfold(&["opt", CLAMP]).ok();
    assert_eq!(warpfold(&["opt", CLAMP, "-o", "-"]).ok(), plain);
    let message = warpfold(&["exec", CLAMP, "--profile-out", "-"]).error(2);
    let want = "--profile-out: standard output is that of `--output` already";
    assert_eq!(message, want);
    let (report, profile) = (scratch("dash.txt"), scratch("dash.json"));
    let counts = warpfold(&["exec", CLAMP, "-o", &report, "--profile-out", "-"]).ok();
    warpfold(&["exec", CLAMP, "-o", &report, "--profile-out", &profile]).ok();
    assert_eq!(counts, fs::read_to_string(&profile).unwrap());
}

#[test]
fn a_machine_by_name_is_no_file() {
    let (path, _) = kernel("ampere");
    let text = warpfold(&["opt", CLAMP, "--machine", "ampere", "-o", &path]);
    assert_eq!(text.ok(), "");
}

#[test]
fn files_of_tests_run_as_kernels() {
    let path = scratch("headed.wf");
    let text = "test exec\n\n;! block = 32\nfunction %f() {\nblock0:\n    ret\n}\n";
    fs::write(&path, text).unwrap();
    let report = warpfold(&["exec", &path]).ok();
    assert!(report.contains("inst_executed"), "{report}");
}
