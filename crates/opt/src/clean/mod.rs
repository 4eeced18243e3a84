//! Clean-up: constants, dead code, common subexpressions. What it leaves is
//! the *before* of every comparison.

pub mod cse;
pub mod dce;
pub mod fold;
pub mod params;

use std::cell::RefCell;

use hashbrown::HashMap;
use warpfold_ir::{Function, Value};

/// Pending replacements of values, resolved through chains. Every look-up
/// shortens the chain it follows, so that long ones cost little in all.
#[derive(Debug, Default)]
pub(crate) struct Renames(RefCell<HashMap<Value, Value>>);

impl Renames {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    /// From now on `from` reads as `to`. Must not close a cycle.
    pub(crate) fn set(&mut self, from: Value, to: Value) {
        debug_assert_ne!(self.get(to), from);
        self.0.get_mut().insert(from, to);
    }

    pub(crate) fn get(&self, v: Value) -> Value {
        let mut map = self.0.borrow_mut();
        let mut last = v;
        while let Some(&next) = map.get(&last) {
            last = next;
        }
        let mut at = v;
        while at != last {
            match map.insert(at, last) {
                Some(next) => at = next,
                None => break,
            }
        }
        last
    }

    /// Rewrites every use in the function.
    pub(crate) fn apply(&self, func: &mut Function) {
        if !self.is_empty() {
            func.map_uses(|v| self.get(v));
        }
    }
}
