//! Measured counts of one function's branches and block passes.
//!
//! A profile is what a launch did, over all its warps, in whole numbers. What
//! decides between a branch and straight-line code is the *warp's* view of a
//! branch: in how many executions any lane took an edge, and in how many the
//! lanes went different ways. How many lanes went where is kept beside it, for
//! rules that decide by lanes; no price rests on it.
//!
//! Counts of straight-line code are per *segment*: the piece of a block between
//! guarded exits, guarded traps and calls, behind which lanes may be gone. Each
//! of these belongs to the segment it ends, the terminator to the last; segments
//! count from 0.
//!
//! Counts saturate, and so do the prices that are made of them, at about 2^53 issues
//! for the whole function. A profile names blocks of the function it was taken on.

use std::collections::BTreeMap;

use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;
use warpfold_ir::{Block, Function, Inst};

/// What a branch or switch did.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct BranchCounts {
    /// Times a warp issued it.
    pub executions: u64,
    /// By edge number: executions in which at least one lane took the edge.
    /// An edge beyond the end of the list was never taken.
    pub taken: SmallVec<[u64; 2]>,
    /// Executions in which lanes went to at least two different *blocks*: the
    /// splits. Two edges to one block never split a warp.
    pub splits: u64,
    /// By edge number: lanes that took it, summed over executions. Empty where
    /// nobody counted.
    pub lanes: SmallVec<[u64; 2]>,
}

impl BranchCounts {
    /// Counts of a two-way branch: executions with any lane true, with any
    /// lane false, and with both, the edges leading to different blocks. At
    /// least one lane executes a branch, so executions follow.
    pub fn two_way(any_true: u64, any_false: u64, both: u64) -> Self {
        Self {
            executions: any_true.saturating_add(any_false).saturating_sub(both),
            taken: SmallVec::from_slice(&[any_true, any_false]),
            splits: both,
            lanes: SmallVec::new(),
        }
    }

    /// Executions in which any lane took edge `index`.
    pub fn taken(&self, index: u32) -> u64 {
        self.taken.get(index as usize).copied().unwrap_or(0)
    }

    /// Lanes that took edge `index` and all that executed the branch; `None`
    /// where nobody counted, or no lane came by.
    pub fn lane_share(&self, index: u32) -> Option<(u64, u64)> {
        let all = self
            .lanes
            .iter()
            .fold(0u64, |sum, &n| sum.saturating_add(n));
        let took = self.lanes.get(index as usize).copied().unwrap_or(0);
        (all > 0).then_some((took, all))
    }

    /// Executions in which all lanes went to one block.
    pub fn agreed(&self) -> u64 {
        self.executions.saturating_sub(self.splits)
    }

    /// Adds one execution: `taken` lists the edges that any lane took.
    pub fn record(&mut self, taken: impl IntoIterator<Item = u32>, split: bool) {
        self.executions = self.executions.saturating_add(1);
        self.splits = self.splits.saturating_add(u64::from(split));
        for index in taken {
            let slot = slot(&mut self.taken, index as usize);
            *slot = slot.saturating_add(1);
        }
    }

    /// Adds the counts of another run.
    pub fn merge(&mut self, other: &Self) {
        self.executions = self.executions.saturating_add(other.executions);
        self.splits = self.splits.saturating_add(other.splits);
        for (list, more) in [
            (&mut self.taken, &other.taken),
            (&mut self.lanes, &other.lanes),
        ] {
            for (index, &n) in more.iter().enumerate() {
                let slot = slot(list, index);
                *slot = slot.saturating_add(n);
            }
        }
    }
}

/// What the executions of a region's head meant for one segment inside.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct SegmentCounts {
    /// Executions of the head after which some lane reached the segment.
    pub reached: u64,
    /// Executions of the head after which some of its lanes was still alive
    /// where the segment would start in straight-line order, that is, not all
    /// of them had left at the exits, returns and traps before it.
    pub alive: u64,
}

/// What the functions that were called did, all together. No rewrite of the
/// caller changes it, since calls never move, merge or multiply.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct CalleeCounts {
    /// Issues by [`CostClass::index`](warpfold_ir::CostClass::index).
    pub classes: [u64; warpfold_ir::CostClass::ALL.len()],
    /// Issues of guarded instructions.
    pub guarded: u64,
    /// Executions of branches: proven uniform, agreeing, splitting. Indirect
    /// calls that split count with the latter, wherever they stand.
    pub branches: [u64; 3],
}

impl CalleeCounts {
    /// Adds the counts of another run.
    pub fn merge(&mut self, other: &Self) {
        for (n, more) in self.classes.iter_mut().zip(&other.classes) {
            *n = n.saturating_add(*more);
        }
        for (n, more) in self.branches.iter_mut().zip(&other.branches) {
            *n = n.saturating_add(*more);
        }
        self.guarded = self.guarded.saturating_add(other.guarded);
    }
}

/// Counts over one or more launches of one function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Profile {
    branches: SecondaryMap<Block, Option<BranchCounts>>,
    passes: SecondaryMap<Block, SmallVec<[u64; 1]>>,
    /// By head of the region, block, segment.
    inside: BTreeMap<(Block, Block, u32), SegmentCounts>,
    callees: CalleeCounts,
}

impl Profile {
    /// A profile without counts.
    pub fn new() -> Self {
        Self::default()
    }

    /// A profile without counts, with room for those of so many blocks.
    pub fn with_blocks(blocks: usize) -> Self {
        let mut this = Self::default();
        this.branches.resize(blocks);
        this.passes.resize(blocks);
        this
    }

    /// The counts of the branch that ends `b`; `None` when nothing is known,
    /// which is not the same as never executed.
    pub fn branch(&self, b: Block) -> Option<&BranchCounts> {
        self.branches[b].as_ref()
    }

    /// Sets the counts of the branch that ends `b`.
    pub fn set_branch(&mut self, b: Block, counts: BranchCounts) {
        self.branches[b] = Some(counts);
    }

    /// The counts of the branch that ends `b`, to add to; zeros at first.
    pub fn branch_mut(&mut self, b: Block) -> &mut BranchCounts {
        self.branches[b].get_or_insert_default()
    }

    /// Passes of a segment of `b`: how often a group of lanes entered it.
    pub fn passes(&self, b: Block, segment: u32) -> u64 {
        let passes = &self.passes[b];
        passes.get(segment as usize).copied().unwrap_or(0)
    }

    /// Adds to the passes of a segment.
    pub fn add_passes(&mut self, b: Block, segment: u32, passes: u64) {
        let slot = slot(&mut self.passes[b], segment as usize);
        *slot = slot.saturating_add(passes);
    }

    /// What the executions of the region headed by `head` meant for a
    /// segment inside the region; `None` when that was not counted.
    pub fn inside(&self, head: Block, b: Block, segment: u32) -> Option<SegmentCounts> {
        self.inside.get(&(head, b, segment)).copied()
    }

    /// The same, to add to; zeros at first.
    pub fn inside_mut(&mut self, head: Block, b: Block, segment: u32) -> &mut SegmentCounts {
        self.inside.entry((head, b, segment)).or_default()
    }

    /// All that is known of insides: head, block, segment and counts, in order.
    pub fn insides(&self) -> impl Iterator<Item = ((Block, Block, u32), SegmentCounts)> + '_ {
        self.inside.iter().map(|(&key, &counts)| (key, counts))
    }

    /// What the functions did that were called.
    pub fn callees(&self) -> &CalleeCounts {
        &self.callees
    }

    /// The same, to add to; zeros at first.
    pub fn callees_mut(&mut self) -> &mut CalleeCounts {
        &mut self.callees
    }

    /// Blocks whose branch has counts, in order of their names.
    pub fn branches(&self) -> impl Iterator<Item = (Block, &BranchCounts)> {
        self.branches
            .iter()
            .filter_map(|(b, counts)| counts.as_ref().map(|c| (b, c)))
    }

    /// Adds the counts of another run of the same function.
    pub fn merge(&mut self, other: &Self) {
        for (b, counts) in other.branches() {
            self.branch_mut(b).merge(counts);
        }
        for (b, passes) in other.passes.iter() {
            for (segment, &n) in passes.iter().enumerate() {
                self.add_passes(b, segment as u32, n);
            }
        }
        for (&(head, b, segment), counts) in &other.inside {
            let slot = self.inside_mut(head, b, segment);
            slot.reached = slot.reached.saturating_add(counts.reached);
            slot.alive = slot.alive.saturating_add(counts.alive);
        }
        self.callees.merge(&other.callees);
    }
}

/// The segments of a block, in order: each one's instructions. There is at
/// least one; the terminator belongs to the last.
pub fn segments(func: &Function, b: Block) -> impl Iterator<Item = &[Inst]> {
    let insts = &func.block(b).insts;
    let ends_segment = |&i: &Inst| func.inst(i).op.ends_segment();
    let mut rest = Some(insts.as_slice());
    std::iter::from_fn(move || {
        let insts = rest?;
        match insts.iter().position(ends_segment) {
            Some(at) => {
                let (segment, after) = insts.split_at(at + 1);
                rest = Some(after);
                Some(segment)
            }
            None => {
                rest = None;
                Some(insts)
            }
        }
    })
}

fn slot<const N: usize>(list: &mut SmallVec<[u64; N]>, index: usize) -> &mut u64 {
    if list.len() <= index {
        list.resize(index + 1, 0);
    }
    &mut list[index]
}

#[cfg(test)]
mod tests {
    use warpfold_ir::{FunctionBuilder, Guard, Imm, InstData, Opcode, TrapCode, Type};

    use super::*;

    fn block(n: u32) -> Block {
        Block::from_u32(n)
    }

    #[test]
    fn two_way_counts_give_the_executions() {
        let counts = BranchCounts::two_way(7, 5, 2);
        assert_eq!(counts.executions, 10);
        assert_eq!(counts.lane_share(0), None);
        assert_eq!(
            (counts.taken(0), counts.taken(1), counts.taken(2)),
            (7, 5, 0)
        );
        assert_eq!(counts.agreed(), 8);
    }

    #[test]
    fn recording_executions_one_by_one_is_the_same() {
        let mut counts = BranchCounts::default();
        for _ in 0..5 {
            counts.record([0], false);
        }
        for _ in 0..3 {
            counts.record([1], false);
        }
        for _ in 0..2 {
            counts.record([0, 1], true);
        }
        assert_eq!(counts, BranchCounts::two_way(7, 5, 2));
    }

    #[test]
    fn merged_profiles_add_up() {
        let mut a = Profile::new();
        a.set_branch(block(0), BranchCounts::two_way(1, 1, 1));
        a.add_passes(block(1), 2, 3);
        a.inside_mut(block(0), block(1), 0).reached = 4;
        let mut b = Profile::new();
        b.set_branch(block(0), BranchCounts::two_way(2, 0, 0));
        b.branch_mut(block(5)).record([2], false);
        b.add_passes(block(1), 0, 10);
        b.add_passes(block(1), 2, u64::MAX);
        b.inside_mut(block(0), block(1), 0).alive = 6;
        let mut ab = a.clone();
        ab.merge(&b);
        assert_eq!(ab.branch(block(0)), Some(&BranchCounts::two_way(3, 1, 1)));
        assert_eq!(ab.branch(block(5)).map(|c| c.taken(2)), Some(1));
        assert_eq!(ab.branch(block(1)), None);
        let passes = [0, 1, 2, 3].map(|segment| ab.passes(block(1), segment));
        assert_eq!(passes, [10, 0, u64::MAX, 0]);
        let inside = SegmentCounts {
            reached: 4,
            alive: 6,
        };
        assert_eq!(ab.inside(block(0), block(1), 0), Some(inside));
        assert_eq!(ab.inside(block(1), block(1), 0), None);
        let mut ba = b;
        ba.merge(&a);
        assert_eq!(ab, ba);
    }

    #[test]
    fn guarded_exits_and_traps_end_segments() {
        let mut b = FunctionBuilder::new("f");
        let p = b.param(Type::Pred, true);
        let x = b.param(Type::I32, true);
        let guard = Guard {
            pred: p,
            negated: false,
            otherwise: None,
        };
        let exit = InstData::new(Opcode::Exit, Type::I32, &[], Imm::None).guarded(guard);
        let code = Imm::Trap(TrapCode::User(1));
        let trap = InstData::new(Opcode::TrapIf, Type::I32, &[], code).guarded(guard);
        b.ins(Opcode::Iadd, Type::I32, &[x, x]);
        b.push(exit.clone());
        b.push(trap);
        b.ins(Opcode::Iadd, Type::I32, &[x, x]);
        b.ins(Opcode::Iadd, Type::I32, &[x, x]);
        let last = b.block();
        b.jump(last, &[]);
        b.switch_to(last);
        b.push(exit);
        b.ret(&[]);
        let f = b.finish();
        let lengths = |i: usize| {
            segments(&f, f.layout[i])
                .map(<[Inst]>::len)
                .collect::<Vec<_>>()
        };
        assert_eq!(lengths(0), [2, 1, 2]);
        // The return after an exit is a segment of its own.
        assert_eq!(lengths(1), [1, 0]);
    }
}
