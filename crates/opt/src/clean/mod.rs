//! Clean-up: constants, dead code, common subexpressions. What it leaves is
//! the *before* of every comparison.

pub mod cse;
pub mod dce;
pub mod fold;
pub mod params;

use hashbrown::HashMap;
use warpfold_ir::{Function, Value};

/// Pending replacements of values, resolved through chains.
#[derive(Debug, Default)]
pub(crate) struct Renames(HashMap<Value, Value>);

impl Renames {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// From now on `from` reads as `to`. Must not close a cycle.
    pub(crate) fn set(&mut self, from: Value, to: Value) {
        debug_assert_ne!(self.get(to), from);
        self.0.insert(from, to);
    }

    pub(crate) fn get(&self, mut v: Value) -> Value {
        while let Some(&next) = self.0.get(&v) {
            v = next;
        }
        v
    }

    /// Rewrites every use in the function.
    pub(crate) fn apply(&self, func: &mut Function) {
        if !self.is_empty() {
            func.map_uses(|v| self.get(v));
        }
    }
}
