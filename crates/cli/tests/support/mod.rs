//! Running the command as a user does: from the root of the repository.

#![allow(dead_code, reason = "each test uses a part")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The kernel of the README.
pub const CLAMP: &str = "tests/kernels/clamp.clif";

/// What a run of the command left.
pub struct Ran {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// Standard output, of a run that must have succeeded quietly.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!(self.status, 0, "{}", self.stderr);
        assert_eq!(self.stderr, "");
        self.stdout
    }

    /// The one error line of a run that must have failed with `status`.
    #[track_caller]
    pub fn error(self, status: i32) -> String {
        assert_eq!(self.status, status, "{}{}", self.stdout, self.stderr);
        let lines: Vec<&str> = self.stderr.lines().collect();
        let [line] = lines.as_slice() else {
            panic!("one line of error expected:\n{}", self.stderr);
        };
        let message = line.strip_prefix("error: ");
        message.expect("a line beginning with `error: `").to_owned()
    }
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs the command.
pub fn warpfold(args: &[&str]) -> Ran {
    warpfold_on(args, b"")
}

/// Runs the command with `stdin`.
pub fn warpfold_on(args: &[&str], stdin: &[u8]) -> Ran {
    let mut child = Command::new(env!("CARGO_BIN_EXE_warpfold"))
        .args(args)
        .current_dir(root())
        .env_remove("NO_COLOR")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that fails early does not read it all.
    let _ = child.stdin.take().unwrap().write_all(stdin);
    let output = child.wait_with_output().unwrap();
    Ran {
        status: output.status.code().expect("the command was not killed"),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A file for this test only.
pub fn scratch(name: &str) -> String {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::create_dir_all(dir).unwrap();
    dir.join(name).to_str().unwrap().to_owned()
}
