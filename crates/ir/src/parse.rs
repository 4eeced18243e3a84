//! stub
use crate::function::Module;
/// A located parse error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct ParseError {
    /// 1-based line.
    pub line: u32,
    /// 1-based column, in characters.
    pub column: u32,
    /// What is wrong.
    pub message: String,
}
/// Reads the text of one or more functions.
pub fn parse_module(_text: &str) -> Result<Module, ParseError> {
    todo!()
}
