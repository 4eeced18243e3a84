//! Functions that a function calls: their names and signatures, and calls in
//! tail position.
//!
//! As in CLIF, a function declares in its preamble whom it calls: a name with
//! a signature for each direct callee, a bare signature for each kind of
//! indirect call. Who stands behind a name is the [`Module`](super::Module)'s
//! to say.

use std::fmt;

use smallvec::SmallVec;

use crate::entities::{FuncRef, SigRef, Value};
use crate::types::Type;

/// What a function takes and gives.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Signature {
    /// Types of the parameters.
    pub params: Vec<Type>,
    /// Types of the results.
    pub results: Vec<Type>,
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (i, ty) in self.params.iter().enumerate() {
            write!(f, "{}{ty}", if i > 0 { ", " } else { "" })?;
        }
        f.write_str(")")?;
        for (i, ty) in self.results.iter().enumerate() {
            write!(f, "{}{ty}", if i > 0 { ", " } else { " -> " })?;
        }
        Ok(())
    }
}

/// A function that another one calls or takes the address of.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Callee {
    /// Its name, without the `%`.
    pub name: String,
    /// What it takes and gives.
    pub signature: Signature,
}

/// Who is called.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CallTarget {
    /// A declared function.
    Direct(FuncRef),
    /// Whatever function lies at an address.
    Indirect {
        /// The signature that it must have.
        sig: SigRef,
        /// The address, per lane.
        address: Value,
    },
}

/// A call whose results the function returns: its frame is gone when the
/// callee begins.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TailCall {
    /// Who is called.
    pub target: CallTarget,
    /// One argument for each parameter.
    pub args: SmallVec<[Value; 4]>,
}

impl TailCall {
    /// The address of an indirect call, then the arguments.
    pub fn uses(&self) -> impl Iterator<Item = Value> + '_ {
        let address = match self.target {
            CallTarget::Direct(_) => None,
            CallTarget::Indirect { address, .. } => Some(address),
        };
        address.into_iter().chain(self.args.iter().copied())
    }

    /// Replaces every used value by `f` of it.
    pub fn map_uses(&mut self, mut f: impl FnMut(Value) -> Value) {
        if let CallTarget::Indirect { address, .. } = &mut self.target {
            *address = f(*address);
        }
        self.args.iter_mut().for_each(|v| *v = f(*v));
    }
}
