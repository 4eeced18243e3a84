//! If-regions: a conditional branch, its join, and what lies between.
//!
//! The *interior* of a branch are the blocks it leads to without passing its
//! join, early-return tails included. Branch and join span a region when the
//! interior is entered only through the branch, contains no cycle and does not
//! come back to the branch. Then every path from the interior leads to the
//! join or ends inside. Regions nest: two of them are disjoint or one lies in
//! the other's interior. A branch that heads none, such as the inner test of
//! `a && b` with an `else`, takes the decision of the smallest region whose
//! interior it is in.
//!
//! Regions are found without looking at any block once per region around it
//! (see the notes in `interiors.rs`), so they take linear space and near-linear
//! time together, however deep they nest. Among topological orders of a region's
//! blocks the origins of their terminators decide, and layout where there are none.
//! Edge numbers never do: a branch with its condition negated and its targets swapped
//! has the same region with the same blocks in the same order.

use std::fmt;

use cranelift_entity::{PrimaryMap, SecondaryMap, entity_impl};
use smallvec::SmallVec;
use warpfold_ir::{Block, Function, Terminator};

use crate::cfg::Cfg;
use crate::domtree::DomTree;
use crate::flow::Flow;
use crate::interiors::Tree;
use crate::joins::Joins;
use crate::loops::Loops;
use crate::shapes;

/// A region of a [`Regions`] forest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegionId(u32);
entity_impl!(RegionId, "region");

/// What a region looks like: a name for reports, nothing that legality or
/// cost may depend on.
///
/// A *side* is a sequence of blocks and nested regions, one after the other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RegionShape {
    /// Nothing between branch and join: every edge goes to the join.
    Degenerate,
    /// One side; the other edge goes to the join.
    Triangle,
    /// As a triangle, but the side only returns or traps.
    Guard,
    /// Two sides.
    Diamond,
    /// Several tests that decide together (`a && b`, `a || b`), with at most
    /// two places to go.
    Chain,
    /// Headed by a switch.
    Switch,
    /// Anything else without a cycle.
    Acyclic,
}

impl RegionShape {
    /// Every shape.
    pub const ALL: [Self; 7] = [
        Self::Degenerate,
        Self::Triangle,
        Self::Guard,
        Self::Diamond,
        Self::Chain,
        Self::Switch,
        Self::Acyclic,
    ];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Degenerate => "degenerate",
            Self::Triangle => "triangle",
            Self::Guard => "guard",
            Self::Diamond => "diamond",
            Self::Chain => "chain",
            Self::Switch => "switch",
            Self::Acyclic => "acyclic",
        }
    }
}

impl fmt::Display for RegionShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a block heads no region.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NoRegion {
    /// It does not end in a branch or switch.
    NotABranch,
    /// No path from the entry leads to it.
    Unreachable,
    /// Its lanes never meet again.
    NoJoin,
    /// Between branch and join there is a cycle through `block`, or a way
    /// back to the branch through `block`. The branch of a loop's exit is the
    /// usual case; `block` is then the loop's header.
    Cycle {
        /// A block on the cycle.
        block: Block,
    },
    /// `block`, between branch and join, is also entered from `from`, on a
    /// path that does not pass the branch or has passed the join.
    SideEntry {
        /// The block inside.
        block: Block,
        /// Where the other way comes from.
        from: Block,
    },
    /// As `SideEntry`, where `block` belongs to an early way out: it has
    /// another home than the branch, which shares the way with `from`.
    LeavesElsewhere {
        /// The shared block.
        block: Block,
        /// Where the other way comes from.
        from: Block,
    },
    /// Inside a larger region, whose decision it takes.
    InsideOther {
        /// The head of the smallest region whose interior it is in.
        region: Block,
        /// The block after it that is also entered from elsewhere.
        shared: Block,
    },
}

impl fmt::Display for NoRegion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotABranch => write!(f, "no branch"),
            Self::Unreachable => write!(f, "unreachable"),
            Self::NoJoin => write!(f, "its lanes never meet again"),
            Self::Cycle { block } => write!(f, "a cycle through {block}"),
            Self::SideEntry { block, from } => write!(f, "{block} is also entered from {from}"),
            Self::LeavesElsewhere { block, from } => {
                write!(f, "the way out through {block} is shared with {from}")
            }
            Self::InsideOther { region, shared } => {
                write!(f, "part of the region of {region}, which shares {shared}")
            }
        }
    }
}

/// One if-region. Its blocks are asked of [`Regions`].
#[derive(Clone, Debug)]
pub struct Region {
    /// The block whose branch or switch decides.
    pub head: Block,
    /// Where the lanes meet again. Not part of the region; a nested region's
    /// join may be the outer one's.
    pub join: Block,
    /// Its shape.
    pub shape: RegionShape,
    /// Numbers of the head's edges that go straight to the join.
    pub direct: SmallVec<[u32; 2]>,
    /// Whether some block inside returns or traps.
    pub has_early_end: bool,
    /// The smallest region whose interior the head is in.
    pub parent: Option<RegionId>,
    /// The regions whose parent this is, in topological order of their heads.
    pub children: Vec<RegionId>,
    /// How many regions deep it is: 1 where nothing is nested in it.
    pub height: u32,
    start: u32,
    end: u32,
}

/// The if-regions of a function.
#[derive(Clone, Debug)]
pub struct Regions {
    regions: PrimaryMap<RegionId, Region>,
    roots: Vec<RegionId>,
    headed: SecondaryMap<Block, Option<Result<RegionId, NoRegion>>>,
    containing: SecondaryMap<Block, Option<RegionId>>,
    order: Vec<Block>,
    place: SecondaryMap<Block, u32>,
    /// Where there is a next block without successors, by place.
    next_end: Vec<u32>,
}

/// How many regions deep straight-line code may span. Of higher regions a
/// profile keeps no counts of the inside: nothing asks for them, and of a deep
/// nest they would be quadratic.
pub const MAX_STRAIGHT_HEIGHT: u32 = 8;

const NOT_A_BRANCH: NoRegion = NoRegion::NotABranch;

impl Regions {
    /// Finds the regions. Interiors are meant under the rule of `joins`.
    pub fn new(func: &Function, cfg: &Cfg, joins: &Joins, loops: &Loops) -> Self {
        Self::with_dominators(func, cfg, joins, loops, &DomTree::dominators(cfg))
    }

    /// The same with all of the graph at hand.
    pub fn of(func: &Function, flow: &Flow) -> Self {
        let Flow {
            cfg,
            joins,
            loops,
            dominators,
        } = flow;
        Self::with_dominators(func, cfg, joins, loops, dominators)
    }

    fn with_dominators(
        func: &Function,
        cfg: &Cfg,
        joins: &Joins,
        loops: &Loops,
        dom: &DomTree,
    ) -> Self {
        let tree = Tree::new(cfg, joins, dom, |b| func.block(b).term.as_ref());
        let next_loop_entry = next_place(&tree.order, |b| loops.is_entry(b));
        let mut this = Self {
            regions: PrimaryMap::new(),
            roots: Vec::new(),
            headed: SecondaryMap::new(),
            containing: SecondaryMap::new(),
            next_end: next_place(&tree.order, |b| cfg.succs(b).is_empty()),
            order: tree.order.clone(),
            place: SecondaryMap::new(),
        };
        this.headed.resize(cfg.num_blocks());
        this.containing.resize(cfg.num_blocks());
        this.place.resize(cfg.num_blocks());
        for (place, &b) in tree.order.iter().enumerate() {
            this.place[b] = place as u32;
        }
        let conditional = |b: Block| {
            func.block(b)
                .term
                .as_ref()
                .is_some_and(Terminator::is_conditional)
        };
        let mut open: Vec<RegionId> = Vec::new();
        for (place, &head) in tree.order.iter().enumerate() {
            while open
                .last()
                .is_some_and(|&r| this.regions[r].end as usize <= place)
            {
                open.pop();
            }
            let parent = open.last().copied();
            this.containing[head] = parent;
            if !conditional(head) {
                continue;
            }
            let result = match tree.interior(cfg, joins, loops, &next_loop_entry, head) {
                Ok((join, start, end)) => {
                    let region = this.add(cfg, head, join, start, end, parent);
                    if start < end {
                        open.push(region);
                    }
                    Ok(region)
                }
                Err(why) => Err(this.inside_other(parent, why)),
            };
            this.headed[head] = Some(result);
        }
        for &b in &func.layout {
            if !cfg.is_reachable(b) && conditional(b) {
                this.headed[b] = Some(Err(NoRegion::Unreachable));
            }
        }
        this.roots
            .sort_by_key(|&r| cfg.layout_index(this.regions[r].head));
        for id in this.regions.keys() {
            this.regions[id].shape = shapes::classify(func, cfg, &this, id);
        }
        // Inner regions come after those around them.
        for id in this.regions.keys().rev() {
            if let Some(parent) = this.regions[id].parent {
                let height = this.regions[id].height + 1;
                let parent = &mut this.regions[parent];
                parent.height = parent.height.max(height);
            }
        }
        this
    }

    fn add(
        &mut self,
        cfg: &Cfg,
        head: Block,
        join: Block,
        start: u32,
        end: u32,
        parent: Option<RegionId>,
    ) -> RegionId {
        let id = self.regions.next_key();
        match parent {
            Some(p) => self.regions[p].children.push(id),
            None => self.roots.push(id),
        }
        let targets = cfg.succs(head).iter().enumerate();
        self.regions.push(Region {
            head,
            join,
            shape: RegionShape::Acyclic,
            direct: targets
                .filter(|&(_, &to)| to == join)
                .map(|(i, _)| i as u32)
                .collect(),
            has_early_end: self.next_end[start as usize] < end,
            parent,
            children: Vec::new(),
            height: 1,
            start,
            end,
        })
    }

    fn inside_other(&self, parent: Option<RegionId>, why: NoRegion) -> NoRegion {
        match (parent, why) {
            (
                Some(region),
                NoRegion::SideEntry { block, .. } | NoRegion::LeavesElsewhere { block, .. },
            ) => NoRegion::InsideOther {
                region: self.regions[region].head,
                shared: block,
            },
            (_, why) => why,
        }
    }

    /// Number of regions.
    pub fn len(&self) -> usize {
        self.regions.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.regions.is_empty()
    }

    /// All regions; outer ones come before those inside them.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = RegionId> + use<> {
        self.regions.keys()
    }

    /// The regions inside no other, in layout order of their heads.
    pub fn roots(&self) -> &[RegionId] {
        &self.roots
    }

    /// The region that the branch of `b` heads, or why there is none.
    pub fn headed_by(&self, b: Block) -> Result<RegionId, &NoRegion> {
        match &self.headed[b] {
            Some(Ok(region)) => Ok(*region),
            Some(Err(why)) => Err(why),
            None => Err(&NOT_A_BRANCH),
        }
    }

    /// The smallest region whose interior `b` is in.
    pub fn smallest_containing(&self, b: Block) -> Option<RegionId> {
        self.containing[b]
    }

    /// The blocks strictly between head and join, in topological order;
    /// those of nested regions included.
    pub fn blocks(&self, region: RegionId) -> &[Block] {
        let data = &self.regions[region];
        &self.order[data.start as usize..data.end as usize]
    }

    /// The blocks strictly between head and join that are in no nested
    /// region's interior, in topological order. Heads and joins of nested
    /// regions are among them, except for a join that is this region's, too.
    pub fn own_blocks(&self, region: RegionId) -> impl Iterator<Item = Block> + '_ {
        let data = &self.regions[region];
        let mut children = data.children.iter();
        let mut at = data.start;
        let mut skip = children.next();
        std::iter::from_fn(move || {
            while let Some(&child) = skip {
                let child = &self.regions[child];
                if at < child.start {
                    break;
                }
                at = at.max(child.end);
                skip = children.next();
            }
            (at < data.end).then(|| {
                at += 1;
                self.order[at as usize - 1]
            })
        })
    }

    /// The blocks inside that return or trap, in topological order.
    pub fn early_ends(&self, region: RegionId) -> impl Iterator<Item = Block> + '_ {
        let data = &self.regions[region];
        let mut at = data.start;
        std::iter::from_fn(move || {
            let end = self.next_end[at as usize];
            (end < data.end).then(|| {
                at = end + 1;
                self.order[end as usize]
            })
        })
    }

    /// Where `b` stands in the one order of all blocks that has the blocks of
    /// every region in a row; `None` for what no path reaches.
    pub fn place(&self, b: Block) -> Option<u32> {
        let place = self.place[b];
        let there = self.order.get(place as usize);
        (there == Some(&b)).then_some(place)
    }

    /// The places of the blocks of a region.
    pub fn places(&self, region: RegionId) -> std::ops::Range<u32> {
        let data = &self.regions[region];
        data.start..data.end
    }

    /// Whether `b` is strictly between head and join of `region`.
    pub fn contains(&self, region: RegionId, b: Block) -> bool {
        let data = &self.regions[region];
        let place = self.place[b];
        (data.start..data.end).contains(&place) && self.order[place as usize] == b
    }
}

impl std::ops::Index<RegionId> for Regions {
    type Output = Region;

    fn index(&self, region: RegionId) -> &Region {
        &self.regions[region]
    }
}

/// For every place and the one past the last: the first place from there on
/// whose block is `wanted`; the number of places if none is.
fn next_place(order: &[Block], wanted: impl Fn(Block) -> bool) -> Vec<u32> {
    let mut next = vec![order.len() as u32; order.len() + 1];
    for (place, &b) in order.iter().enumerate().rev() {
        next[place] = if wanted(b) {
            place as u32
        } else {
            next[place + 1]
        };
    }
    next
}
