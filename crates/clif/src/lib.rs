//! Cranelift IR in, Warpfold IR out.
//!
//! [`read()`] takes the text of a CLIF file, [`lower()`] a function built in
//! memory. Either way the function is first checked by Cranelift's own
//! verifier, so that the lowering deals with valid input only; then every
//! branch and instruction becomes its counterpart in the SIMT IR and keeps its
//! CLIF instruction number and line as its origin. What is not supported is
//! refused with the place, the opcode and the reason, all of it at once.
//!
//! ```
//! let lowered = warpfold_clif::read(
//!     "function %clamp(i32) -> i32 {
//!      block0(v0: i32):
//!          v1 = iconst.i32 100
//!          v2 = icmp sgt v0, v1
//!          brif v2, block1(v1), block1(v0)
//!      block1(v3: i32):
//!          return v3
//!      }",
//!     &warpfold_clif::ReadOptions::default(),
//! )
//! .expect("valid CLIF");
//! assert_eq!(lowered[0].branches[0].condition, "v2 = icmp.i32 sgt v0, v1");
//! assert_eq!(lowered[0].branches[0].origin.line, 5);
//! ```
//!
//! Functions of a file call each other by name or address. CLIF has no opcodes for warps; they
//! are calls to the imported functions of [`INTRINSICS`]. Of Cranelift's own
//! library calls those that compute what an opcode does are that opcode ([`routine`]).

mod error;
mod intrinsics;
mod kind;
mod lex;
mod libcalls;
mod lower;
mod opmap;
mod page;
mod read;
mod scan;

pub use cranelift_codegen;
pub use error::ClifError;
pub use intrinsics::{INTRINSICS, Intrinsic, Slot, intrinsics_page};
pub use kind::ErrorKind;
pub use libcalls::{Routine, routine};
pub use lower::{Lowered, ReadOptions, SourceBranch, lower, lower_all, with_helpers};
pub use opmap::{Rule, rule};
pub use page::coverage_page;
pub use read::{Unit, read, read_each, text_of};
pub use target_lexicon::{PointerWidth, Triple};
