//! What the executions of a region's head meant inside the region, for the
//! profile.
//!
//! The price of straight-line code depends on more than how often each block
//! ran: a block that two paths reach passes twice as a branch and once as
//! straight code, and after a guarded exit straight code goes on only while a
//! lane is left. So for every execution of a region's head, and every segment
//! inside, it is counted whether a lane *reached* the segment, and whether a
//! lane of the head was still *alive* where the segment would start in
//! straight-line order, which is [`Regions::blocks`]'s. For the first segment of
//! the join both are the executions after which a lane goes on there.
//!
//! An execution of a head is *open* until each of its lanes has come to the
//! join or left. Open executions nest as regions do; each warp has its own.
//! Regions higher than straight-line code may span are not counted.
//! The interiors of regions are contiguous in one order of all blocks, so a
//! region is a range of segment numbers.

use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;
use warpfold_analysis::{Cfg, JoinRule, Joins, Loops, MAX_STRAIGHT_HEIGHT, Profile, Regions};
use warpfold_ir::Block;

use crate::program::Program;

/// A region as a range of ordered segments.
#[derive(Clone, Debug)]
struct Range {
    head: Block,
    join: Block,
    first: u32,
    /// Finished executions of the head.
    executions: u64,
    /// By place in the range: executions in which a lane reached the segment.
    reached: Vec<u64>,
    /// By place in the range: executions in which the last lane left in the
    /// segment before.
    dead: Vec<u64>,
}

/// An execution of a head whose lanes are inside.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    range: u32,
    /// Lanes that are inside.
    lanes: u32,
    /// All lanes of the head.
    all: u32,
    /// Places reached, as bits.
    reached: SmallVec<[u64; 1]>,
    /// Where lanes left.
    left: SmallVec<[(u32, u32); 2]>,
}

/// The counts of all regions.
#[derive(Clone, Debug)]
pub(crate) struct Census {
    ranges: Vec<Range>,
    /// By head.
    headed: SecondaryMap<Block, Option<u32>>,
    /// By segment of the program: its number in the order.
    number: Vec<Option<u32>>,
    /// Segments of the program in order.
    order: Vec<u32>,
}

impl Census {
    pub(crate) fn new(program: &Program<'_>, rule: JoinRule) -> Self {
        let func = program.func;
        let cfg = Cfg::new(func);
        let joins = Joins::new(func, &cfg, rule);
        let regions = Regions::new(func, &cfg, &joins, &Loops::new(&cfg));
        let segments_of = |b: Block| {
            program.blocks[b]
                .as_ref()
                .map_or(0..0, |code| code.segments.clone())
        };
        let mut census = Self {
            ranges: Vec::new(),
            headed: SecondaryMap::new(),
            number: vec![None; program.segments.len()],
            order: Vec::new(),
        };
        for &root in regions.roots() {
            for &b in regions.blocks(root) {
                for segment in segments_of(b) {
                    census.number[segment as usize] = Some(census.order.len() as u32);
                    census.order.push(segment);
                }
            }
        }
        for id in regions.ids() {
            let region = &regions[id];
            if region.height > MAX_STRAIGHT_HEIGHT {
                continue;
            }
            let blocks = regions.blocks(id);
            let count: usize = blocks.iter().map(|&b| segments_of(b).len()).sum();
            let first = blocks
                .first()
                .and_then(|&b| census.number[segments_of(b).start as usize]);
            let Some(first) = first else { continue };
            census.headed[region.head] = Some(census.ranges.len() as u32);
            census.ranges.push(Range {
                head: region.head,
                join: region.join,
                first,
                executions: 0,
                reached: vec![0; count],
                dead: vec![0; count + 1],
            });
        }
        census
    }

    /// Lanes execute the branch of `b`.
    pub(crate) fn branch(&self, open: &mut Vec<Open>, b: Block, mask: u32) {
        if let Some(range) = self.headed[b] {
            let places = self.ranges[range as usize].reached.len();
            open.push(Open {
                range,
                lanes: mask,
                all: mask,
                reached: SmallVec::from_elem(0, places.div_ceil(64)),
                left: SmallVec::new(),
            });
        }
    }

    /// Lanes enter `b`: those for which it is the join are inside no more.
    pub(crate) fn enter(&mut self, open: &mut Vec<Open>, b: Block, mask: u32) {
        if open.is_empty() {
            return;
        }
        for e in open.iter_mut() {
            if self.ranges[e.range as usize].join == b {
                e.lanes &= !mask;
            }
        }
        self.close(open);
    }

    /// Lanes begin a segment.
    pub(crate) fn segment(&self, open: &mut [Open], segment: usize, mask: u32) {
        let Some(number) = self.number[segment] else {
            return;
        };
        for e in open.iter_mut().filter(|e| e.lanes & mask != 0) {
            if let Some(place) = self.ranges[e.range as usize].place(number) {
                e.reached[place / 64] |= 1 << (place % 64);
            }
        }
    }

    /// Lanes leave for good in a segment.
    pub(crate) fn leave(&mut self, open: &mut Vec<Open>, segment: usize, mask: u32) {
        if open.is_empty() {
            return;
        }
        for e in open.iter_mut() {
            let lanes = e.lanes & mask;
            let place = self.number[segment].and_then(|n| self.ranges[e.range as usize].place(n));
            if let Some(place) = place
                && lanes != 0
            {
                e.left.push((place as u32, lanes));
            }
            e.lanes &= !mask;
        }
        self.close(open);
    }

    /// Counts the executions that nobody is inside of any more.
    fn close(&mut self, open: &mut Vec<Open>) {
        open.retain_mut(|e| {
            if e.lanes != 0 {
                return true;
            }
            let range = &mut self.ranges[e.range as usize];
            range.executions += 1;
            for (place, n) in range.reached.iter_mut().enumerate() {
                *n += e.reached[place / 64] >> (place % 64) & 1;
            }
            e.left.sort_unstable();
            let mut alive = e.all;
            for &(place, lanes) in &e.left {
                alive &= !lanes;
                if alive == 0 {
                    range.dead[place as usize + 1] += 1;
                    break;
                }
            }
            false
        });
    }

    /// Adds the counts to a profile.
    pub(crate) fn publish(&self, program: &Program<'_>, profile: &mut Profile) {
        for range in &self.ranges {
            let mut alive = range.executions;
            for (place, &reached) in range.reached.iter().enumerate() {
                alive -= range.dead[place];
                let segment = self.order[range.first as usize + place];
                let block = program.segments[segment as usize].block;
                let first = program.blocks[block]
                    .as_ref()
                    .map_or(segment, |code| code.segments.start);
                let counts = profile.inside_mut(range.head, block, segment - first);
                counts.reached += reached;
                counts.alive += alive;
            }
            // Of the join: executions after which a lane goes on there.
            alive -= range.dead[range.reached.len()];
            let counts = profile.inside_mut(range.head, range.join, 0);
            counts.reached += alive;
            counts.alive += alive;
        }
    }
}

impl Range {
    /// The place of a segment in the range.
    fn place(&self, number: u32) -> Option<usize> {
        let place = number.checked_sub(self.first)? as usize;
        (place < self.reached.len()).then_some(place)
    }
}
