//! Help texts: every command has one, with examples and exit status, and the
//! examples work.

mod support;

use support::{scratch, warpfold, warpfold_on};

const COMMANDS: [&str; 9] = [
    "run",
    "explain",
    "opt",
    "uniformity",
    "exec",
    "test",
    "claims",
    "machines",
    "policies",
];

#[test]
fn each_help_ends_with_examples_and_exit_status() {
    for args in COMMANDS
        .map(|c| vec![c, "--help"])
        .into_iter()
        .chain([vec!["--help"]])
    {
        let help = warpfold(&args).ok();
        let examples = help.find("\nExamples:\n").expect("examples");
        let status = help.find("\nExit status:\n").expect("exit status");
        assert!(examples < status, "{args:?}");
        assert!(status > help.rfind("--help").unwrap(), "{args:?}");
        let last = help.trim_end().lines().last().unwrap();
        assert_eq!(last.trim(), "2  bad usage or bad input", "{args:?}");
    }
}

#[test]
fn all_commands_are_listed() {
    let help = warpfold(&["--help"]).ok();
    for command in COMMANDS {
        assert!(help.contains(&format!("\n  {command} ")), "{command}");
    }
}

/// Runs every example that needs nothing but the repository.
#[test]
fn examples_of_the_helps_work() {
    let out = scratch("example.out");
    let mut ran = 0;
    for command in COMMANDS {
        let help = warpfold(&[command, "--help"]).ok();
        for line in help.lines().filter_map(|l| l.strip_prefix("  warpfold ")) {
            let foreign = ["k.clif", "kernel.wf", "my-gpu.toml"];
            if foreign
                .iter()
                .any(|f| line.split(' ').any(|w| w.ends_with(f)))
                && !line.contains(support::CLAMP)
                || line.contains("./my-gpu.toml")
                || line.contains("--arg")
            {
                continue;
            }
            let line = line
                .replace("clamp.json", &out)
                .replace("results.json", &out)
                .replace("clamp.wf", &out);
            let (line, stdin) = match line.split_once(" < ") {
                Some((line, file)) => (line, std::fs::read(support::root().join(file)).unwrap()),
                None => (line.as_str(), Vec::new()),
            };
            let args: Vec<&str> = line.split_whitespace().collect();
            warpfold_on(&args, &stdin).ok();
            ran += 1;
        }
    }
    assert!(ran >= 8, "{ran}");
}

#[test]
fn bad_usage_has_status_2() {
    for args in [
        &[][..],
        &["run"],
        &["fly"],
        &["run", "--force", "maybe", support::CLAMP],
        &["run", "--joins", "never", support::CLAMP],
        &["exec", "--arg", "buf:i33:1", support::CLAMP],
        &["exec", "--syntax", "c", support::CLAMP],
        &["exec", "--format", "xml", support::CLAMP],
        &["exec", "--seed", "-1", support::CLAMP],
        &["test"],
        &["claims", "C-99"],
        &["test", "--jobs", "0", "tests/filetests"],
    ] {
        let ran = warpfold(args);
        assert_eq!(ran.status, 2, "{args:?}");
        assert_eq!(ran.stdout, "", "{args:?}");
        assert!(!ran.stderr.is_empty(), "{args:?}");
    }
}
