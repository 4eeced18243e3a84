//! Why a command failed, and the exit status that says so.

use std::io::Write;
use std::process::ExitCode;

use warpfold::{Diagnostic, Errors, Fault};

/// A command that did not succeed.
#[derive(Debug)]
pub enum Failure {
    /// What went wrong; the status follows from what is at fault.
    Errors(Errors),
    /// Something failed, and the output has said so: status 1.
    Said,
    /// Whoever read our output has stopped reading: status 0, nothing to say.
    PipeClosed,
}

impl From<Errors> for Failure {
    fn from(errors: Errors) -> Self {
        Self::Errors(errors)
    }
}

impl From<Diagnostic> for Failure {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Errors(diagnostic.into())
    }
}

impl Failure {
    /// Bad input: something about `file` as a whole.
    pub fn about(file: &str, message: impl Into<String>) -> Self {
        Diagnostic::new(file, message).into()
    }

    /// Says what went wrong on standard error; gives the exit status.
    pub fn report(self) -> ExitCode {
        let errors = match self {
            Self::Said => return ExitCode::from(1),
            Self::PipeClosed => return ExitCode::SUCCESS,
            Self::Errors(errors) => errors,
        };
        let status = match errors.fault() {
            Fault::Run => 1,
            Fault::Input => 2,
        };
        let mut stderr = std::io::stderr().lock();
        for d in errors.as_slice() {
            // When standard error is closed too, the status still speaks.
            let _ = writeln!(stderr, "error: {d}");
        }
        ExitCode::from(status)
    }
}
