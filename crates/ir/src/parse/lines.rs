//! Where the parts of a parsed function stand in its text.

use std::collections::BTreeMap;

use crate::entities::{Block, Inst};
use crate::verify::Place;

/// The lines of one function, for messages about what the parser accepts and
/// the verifier does not.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lines {
    /// Of `function`.
    pub(super) function: u32,
    /// Of instructions, by number.
    pub(super) insts: Vec<u32>,
    /// Of headers and terminators.
    pub(super) headers: BTreeMap<Block, u32>,
    pub(super) terms: BTreeMap<Block, u32>,
}

impl Lines {
    /// The 1-based line of `place`; `None` for what the text does not have.
    pub fn of(&self, place: Place) -> Option<u32> {
        let inst = |i: Inst| self.insts.get(i.as_u32() as usize).copied();
        match place {
            Place::Function => Some(self.function),
            Place::Block(b) => self.headers.get(&b).copied(),
            Place::Inst(i) => inst(i),
            Place::Term(b) => self.terms.get(&b).copied(),
        }
    }
}
