//! stub
use crate::entities::{Block, Inst};
use crate::function::Function;
/// Where an error stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The function as a whole.
    Function,
    /// A block's header.
    Block(Block),
    /// An instruction.
    Inst(Inst),
    /// A block's terminator.
    Term(Block),
}
/// One broken rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyError {
    /// Where.
    pub place: Place,
    /// What is wrong.
    pub message: String,
}
/// All broken rules of a function, printed under its code.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("{}", .errors.len())]
pub struct VerifyErrors {
    /// The errors, in order of place.
    pub errors: Vec<VerifyError>,
}
/// Checks every structural, SSA, type and guard rule.
pub fn verify(_func: &Function) -> Result<(), VerifyErrors> {
    todo!()
}
