//! Analyses of the Warpfold IR: graph, dominators, joins, loops, regions, uniformity.
//!
//! Every analysis is a pure function of the IR and gives a snapshot: after an
//! edit it is computed anew. All are deterministic and near-linear.

pub mod cfg;
pub mod domtree;
pub mod ends;
pub mod flow;
mod interiors;
pub mod joins;
pub mod loops;
pub mod profile;
pub mod regions;
mod shapes;
pub mod uniformity;
pub mod yields;

pub use cfg::{Cfg, Edge};
pub use domtree::DomTree;
pub use ends::{End, EndKind, Ends};
pub use flow::Flow;
pub use joins::{JoinRule, Joins};
pub use loops::{LoopId, Loops};
pub use profile::{BranchCounts, CalleeCounts, Profile, SegmentCounts, segments};
pub use regions::{MAX_STRAIGHT_HEIGHT, NoRegion, Region, RegionId, RegionShape, Regions};
pub use uniformity::{
    Convergence, KnownBits, LaunchShape, Reason, Scope, Shape, Uniformity, UniformityOptions,
};
pub use yields::Yields;
