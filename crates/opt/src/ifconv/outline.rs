//! What straight code made of a region consists of, whatever form the region
//! and those inside it take.
//!
//! A region's *own* blocks are those in no nested region; a nested region hangs
//! at its head, an own block, and reads like a jump from there to its join. The
//! own graph's *tests* are the region's branch and the branches inside that head
//! no region. Every own block has a guard over these tests: the disjunction,
//! over the ways it is reached, of the guard of where they come from and the
//! edge taken. Blocks with one guard are control equivalent.
//!
//! In straight order own segments and nested regions come in *bodies*: runs with
//! one guard that are issued together or, in the form `skip`, jumped over
//! together. A body ends where the guard changes, where ways meet, behind a
//! test, and where lanes may leave, so that whoever enters it stays to its end.
//! A nested region in which lanes may leave is a body of its own, never skipped
//! as a whole.

mod draft;

use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;
use warpfold_analysis::regions::{RegionId, Regions};
use warpfold_ir::{Block, Function, Inst, Value};

use self::draft::{Draft, Room};
use super::guards::GuardId;
use super::hints::Hints;
use super::legality::Blocker;
use super::logic::{Logic, Truth};
use crate::edit::has_calls;
use crate::report::Force;

/// Where lanes come from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Source {
    /// The region's own branch.
    Head,
    /// The end of an own block.
    Own(usize),
    /// The region that an own block heads.
    Nested(usize),
}

/// What they bring along.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Brought {
    /// These arguments.
    Args(SmallVec<[Value; 4]>),
    /// What the region brings to its join.
    Joined(RegionId),
}

/// One way to reach a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// Where it comes from.
    pub from: Source,
    /// Which lanes of the region's head take it.
    pub guard: GuardId,
    /// What they bring along.
    pub brought: Brought,
    /// What tells these lanes from the others that come to the same block.
    pub chosen: Truth,
    /// Whether `chosen` does so among all of the head's lanes.
    pub exact: bool,
    /// Whether all lanes of the block they come from that come at all come
    /// this way.
    pub whole: bool,
    /// Whether `chosen` is known before the body that they come from.
    pub early: bool,
}

impl Arrival {
    /// An arrival before it is known who else arrives.
    fn new(from: Source, guard: GuardId, brought: Brought) -> Self {
        Self {
            from,
            guard,
            brought,
            chosen: Truth::Known(true),
            exact: true,
            whole: true,
            early: false,
        }
    }
}

/// The ways to reach a block.
pub type Arrivals = SmallVec<[Arrival; 1]>;

/// One own block.
#[derive(Clone, Debug)]
pub struct Own {
    /// The block.
    pub block: Block,
    /// Which lanes of the region's head come here.
    pub guard: GuardId,
    /// How.
    pub arrivals: Arrivals,
    /// Whether they come together. Lanes that come on two ways pass twice.
    pub together: bool,
    /// Whether all of the head's lanes come or none, as is proven.
    pub uniform: bool,
    /// The region that it heads.
    pub nested: Option<RegionId>,
    /// The body that it ends in.
    pub body: usize,
}

/// A part of a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Piece {
    /// A segment of an own block.
    Segment {
        /// Which block.
        own: usize,
        /// Which segment of it.
        segment: u32,
        /// Where its instructions begin and end in the block.
        insts: (u32, u32),
        /// Whether the block ends with it.
        last: bool,
    },
    /// The region that an own block heads.
    Nested {
        /// Which block.
        own: usize,
        /// Which region.
        region: RegionId,
    },
}

/// A run with one guard.
#[derive(Clone, Debug)]
pub struct Body {
    /// Its guard.
    pub guard: GuardId,
    /// How that is computed.
    pub truth: Truth,
    /// The first body with this guard; in front of it the full predicate is
    /// computed.
    pub first_of_guard: usize,
    /// What is in it, in order.
    pub pieces: SmallVec<[Piece; 1]>,
    /// Where it begins.
    pub first: (Block, u32),
    /// The own block in front of which ways meet, if it begins with one.
    pub meets: Option<usize>,
    /// Whether a jump over it makes sense: not all lanes come, and whoever
    /// does stays.
    pub skippable: bool,
    /// Whether all of the head's lanes come or none, as is proven.
    pub uniform: bool,
}

/// The outline of one region.
#[derive(Clone, Debug)]
pub struct Outline {
    /// The region.
    pub region: RegionId,
    /// Its branch.
    pub head: Block,
    /// Where its lanes meet again.
    pub join: Block,
    /// The tests, the head's first.
    pub tests: SmallVec<[Block; 2]>,
    /// The own blocks, in order.
    pub blocks: Vec<Own>,
    /// How lanes reach the join.
    pub arrivals: Arrivals,
    /// The bodies, in order.
    pub bodies: Vec<Body>,
    /// What computes them.
    pub logic: Logic,
    /// Whether lanes may leave for good inside.
    pub leaves: bool,
    /// Something inside that depends on which lanes execute it together.
    pub convergent: Option<Inst>,
}

/// The outlines of all regions, or what forbids straight code.
#[derive(Clone, Debug, Default)]
pub struct Outlines {
    of: SecondaryMap<RegionId, Option<Result<Outline, Blocker>>>,
    own: SecondaryMap<Block, u32>,
}

impl Outlines {
    /// Outlines all regions of a function.
    pub fn new(func: &Function, regions: &Regions, force: Option<Force>, hints: &Hints) -> Self {
        let mut this = Self::default();
        this.of.resize(regions.len());
        this.own.resize(func.num_blocks());
        let calls = has_calls(func);
        let mut room = Room::default();
        for region in regions.ids().rev() {
            let drafting = Draft {
                func,
                regions,
                force,
                hints,
                calls,
                all: &mut this,
                room: &mut room,
            };
            let outline = drafting.outline(region);
            this.of[region] = Some(outline);
        }
        this
    }

    /// The outline of a region.
    ///
    /// # Errors
    /// What forbids straight code there.
    pub fn get(&self, region: RegionId) -> Result<&Outline, Blocker> {
        match &self.of[region] {
            Some(Ok(outline)) => Ok(outline),
            Some(Err(blocker)) => Err(*blocker),
            // Every region is outlined; one of another function is not.
            None => Err(Blocker::Depth {
                block: Block::from_u32(0),
            }),
        }
    }

    /// The outline of a region inside one that has an outline, which has one
    /// as well.
    pub(crate) fn legal(&self, region: RegionId) -> &Outline {
        let outline = self.of[region].as_ref().and_then(|o| o.as_ref().ok());
        outline.expect("what is inside a legal region is legal")
    }
}
