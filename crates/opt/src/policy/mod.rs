//! The rules that other compilers decide by, as policies.
//!
//! Each compiler has a number under which it flattens a conditional, and the
//! numbers lie between 0 and 64. Here they stand on equal terms: one file a
//! rule, with its exact numbers and its source, in one table ([`POLICIES`]).
//! A rule is a [`Policy`]; it reads the [`Facts`] of a region and answers with
//! a form. It never overrides legality: an illegal answer means the branch.
//! What a rule gives is judged by running it, never by our own model.
//!
//! Rules are ported to what our IR and machines know. Three things hold for all
//! of them:
//!
//! - they are asked about canonical code, inner regions first; a region that
//!   still has a branch inside is left alone by rules that convert from the
//!   inside out ([`Facts::flat`]);
//! - instructions are ours, constants not counted, and what is joined becomes a
//!   select;
//! - cycles and penalties that a rule takes from its target's description are
//!   facts of the [`Machine`](warpfold_machine::Machine): issue costs, latencies
//!   and the branch overhead b. Each file says which.
//!
//! Beside them stands `cost`, the decision by our own model
//! ([`Cheapest`]).

pub mod aco;
pub mod amdgpu_skip_12;
pub mod amdgpu_skip_p;
pub mod arm_ifcvt;
pub mod boscc;
pub mod cuda_guide;
pub mod dotnet;
pub mod extremes;
pub mod facts;
pub mod ilgpu;
pub mod ispc;
pub mod llvm_early_ifcvt;
pub mod llvm_simplifycfg;
pub mod llvm_speculative;
pub mod model;
pub mod nak;
pub mod nir;
pub mod noir;
pub mod ptxas;

use crate::ifconv::policy::{Cheapest, Policy};

pub use facts::{Facts, Side};
pub use model::{ByModel, CostModel};

/// One row of [`POLICIES`].
#[derive(Clone, Copy, Debug)]
pub struct PolicyRow {
    /// The name, as given to `--policy`.
    pub name: &'static str,
    /// The rule with its numbers, one sentence.
    pub rule: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// The rule.
    pub policy: &'static (dyn Policy + Sync),
}

/// Every policy that ships, the default first.
pub const POLICIES: &[PolicyRow] = &[
    PolicyRow {
        name: "cost",
        rule: "The assignment of forms that is cheapest on the machine, by the warp's counts.",
        source: "this crate",
        policy: &Cheapest,
    },
    extremes::ALWAYS_BRANCH,
    extremes::ALWAYS_STRAIGHT,
    llvm_simplifycfg::ROW,
    llvm_speculative::ROW,
    llvm_early_ifcvt::ROW,
    nir::ROWS[0],
    nir::ROWS[1],
    nir::ROWS[2],
    aco::ROW,
    amdgpu_skip_12::ROW,
    amdgpu_skip_p::ROW,
    nak::ROW,
    cuda_guide::ROW,
    ptxas::ROW,
    ispc::ROW,
    boscc::ROW,
    ilgpu::ROW,
    noir::ROW,
    arm_ifcvt::ROW,
    dotnet::ROW,
];

/// The policy of this name.
pub fn find(name: &str) -> Option<&'static PolicyRow> {
    POLICIES.iter().find(|row| row.name == name)
}
