//! Clean-up: constants, dead code, common subexpressions. What it leaves is
//! the *before* of every comparison.

pub mod cse;
pub mod dce;
pub mod fold;
pub mod params;

use std::cell::RefCell;

use warpfold_ir::entity::SecondaryMap;
use warpfold_ir::entity::packed_option::PackedOption;
use warpfold_ir::{Function, Value};

/// Pending replacements of values, resolved through chains. Every look-up
/// shortens the chain it follows, so that long ones cost little in all.
#[derive(Debug, Default)]
pub(crate) struct Renames {
    to: RefCell<SecondaryMap<Value, PackedOption<Value>>>,
    any: bool,
}

impl Renames {
    pub(crate) fn is_empty(&self) -> bool {
        !self.any
    }

    /// From now on `from` reads as `to`. Must not close a cycle.
    pub(crate) fn set(&mut self, from: Value, to: Value) {
        debug_assert_ne!(self.get(to), from);
        self.to.get_mut()[from] = to.into();
        self.any = true;
    }

    pub(crate) fn get(&self, v: Value) -> Value {
        let mut map = self.to.borrow_mut();
        let Some(mut last) = map[v].expand() else {
            return v;
        };
        while let Some(next) = map[last].expand() {
            last = next;
        }
        let mut at = v;
        while let Some(next) = map[at].expand().filter(|&next| next != last) {
            map[at] = last.into();
            at = next;
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
