//! Located errors.

use std::fmt;

use crate::kind::ErrorKind;

/// One reason why a CLIF input cannot be used, with its place.
///
/// Printed as `line:column: %function: message`; parts that are unknown are
/// left out, so a function built in memory (which has no lines) prints as
/// `%function: message`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClifError {
    /// 1-based line of the text, 0 when there was no text.
    pub line: u32,
    /// 1-based column in characters, 0 if unknown. Cranelift's reader knows
    /// lines only; the column is then that of the line's first word, or of the
    /// opcode the error is about.
    pub column: u32,
    /// The function the error is in, without the `%`; empty outside of any.
    pub function: String,
    /// What the error is about.
    pub kind: ErrorKind,
    /// What is wrong, and for what is not supported: why.
    pub message: String,
}

impl fmt::Display for ClifError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.column) {
            (0, _) => {}
            (line, 0) => write!(f, "{line}: ")?,
            (line, column) => write!(f, "{line}:{column}: ")?,
        }
        if !self.function.is_empty() {
            write!(f, "%{}: ", self.function)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for ClifError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_parts_are_left_out() {
        let mut e = ClifError {
            line: 3,
            column: 5,
            function: "f".into(),
            kind: ErrorKind::Text,
            message: "no".into(),
        };
        assert_eq!(e.to_string(), "3:5: %f: no");
        e.column = 0;
        assert_eq!(e.to_string(), "3: %f: no");
        e.line = 0;
        assert_eq!(e.to_string(), "%f: no");
        e.function.clear();
        assert_eq!(e.to_string(), "no");
    }
}
