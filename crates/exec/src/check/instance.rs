//! Which passes of two warps are the same *dynamic instance*.
//!
//! A claim at block or grid scope is about all warps as if they were one wide
//! warp, so it compares a pass of one warp with that pass of another which the
//! wide warp would make together with it. Two lanes are together where they
//! have gone the same way since the start, what happened between a branch and
//! its join set aside. That needs nothing of the other lane: each group of
//! lanes carries a hash of its way, in levels. A branch opens a level that its
//! join closes again, as the reconvergence stack would if the branch had split;
//! entering a block adds to the level on top. A branch with the join of the level
//! on top, and one that has none, opens no level: their lanes meet where that
//! level ends. Neither does a branch that all lanes of the wide warp take the same way
//! by claim: it would not push anything, and lanes may come to the join of a branch
//! around without having passed its own. As that depends on how wide the warp is, there are
//! instances of the block and instances of the grid. Two passes of one block with equal
//! hashes are one instance.
//!
//! Groups of one warp that meet must agree; where they do not, which would
//! contradict the above, the group is given a hash that no other has, and is
//! compared with nobody.

use smallvec::SmallVec;
use warpfold_analysis::Scope;
use warpfold_ir::Block;
use warpfold_ir::entity::EntityRef;

/// Mixes a number into a hash (the finaliser of splitmix64).
pub(crate) fn mix(hash: u64, x: u64) -> u64 {
    let mut z = (hash ^ x.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Level {
    join: Option<Block>,
    hash: u64,
}

type Levels = SmallVec<[Level; 2]>;

/// The scopes that warps are compared at.
pub(crate) const SCOPES: [Scope; 2] = [Scope::Block, Scope::Grid];

/// One instance at each of the [`SCOPES`].
pub(crate) type Instance = [u64; SCOPES.len()];

/// The ways that groups of lanes of one frame have come, at each of the [`SCOPES`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Instances([Ways; SCOPES.len()]);

impl Instances {
    /// For a frame that lanes with this way come into, by a call of this number.
    pub(crate) fn called_from(ways: Instance, call: u64) -> Self {
        Self(ways.map(|way| Ways {
            seed: mix(way, call),
            ..Ways::default()
        }))
    }

    /// The lanes of `mask` enter `b`. Returns the instance.
    pub(crate) fn enter(&mut self, b: Block, mask: u32) -> Instance {
        self.0.each_mut().map(|ways| ways.enter(b, mask))
    }

    /// The lanes of `mask` execute a branch with this join, whose condition is claimed
    /// to be uniform at `scope`.
    pub(crate) fn branch(&mut self, mask: u32, join: Option<Block>, scope: Scope) {
        for (ways, wide) in self.0.iter_mut().zip(SCOPES) {
            if scope > wide {
                ways.branch(mask, join);
            }
        }
    }

    /// The instance of the pass that these lanes are in.
    pub(crate) fn current(&self, mask: u32) -> Instance {
        self.0.each_ref().map(|ways| ways.current(mask))
    }
}

/// The ways that groups of lanes of one frame have come, at one scope.
#[derive(Clone, Debug, Default)]
struct Ways {
    groups: SmallVec<[(u32, Levels); 1]>,
    /// The way on which the frame was called.
    seed: u64,
    /// Groups that did not agree.
    apart: u64,
}

impl Ways {
    /// The lanes of `mask` enter `b`. Returns the instance.
    fn enter(&mut self, b: Block, mask: u32) -> u64 {
        let mut way: Option<Levels> = None;
        let mut agree = true;
        let mut missing = mask;
        self.groups.retain(|(lanes, levels)| {
            if *lanes & mask == 0 {
                return true;
            }
            missing &= !*lanes;
            let mut levels = levels.clone();
            while levels.len() > 1 && levels.last().and_then(|l| l.join) == Some(b) {
                levels.pop();
            }
            match &way {
                None => way = Some(levels),
                Some(first) => agree &= *first == levels,
            }
            *lanes &= !mask;
            *lanes != 0
        });
        let start = |hash| -> Levels { smallvec::smallvec![Level { join: None, hash }] };
        let mut way = match way {
            Some(levels) if agree && missing == 0 => levels,
            None => start(self.seed),
            Some(_) => {
                self.apart += 1;
                start(mix(self.seed ^ u64::from(mask), self.apart))
            }
        };
        let mut hash = 0;
        if let Some(top) = way.last_mut() {
            top.hash = mix(top.hash, b.index() as u64 + 1);
            hash = top.hash;
        }
        self.groups.push((mask, way));
        hash
    }

    /// The lanes of `mask` execute a branch with this join.
    fn branch(&mut self, mask: u32, join: Option<Block>) {
        if join.is_none() {
            return;
        }
        for (lanes, levels) in &mut self.groups {
            if *lanes & mask != 0
                && let Some(&top) = levels.last()
                && top.join != join
            {
                let hash = mix(top.hash, 0);
                levels.push(Level { join, hash });
            }
        }
    }

    /// The instance of the pass that these lanes are in.
    fn current(&self, mask: u32) -> u64 {
        let group = self.groups.iter().find(|(lanes, _)| lanes & mask != 0);
        group.map_or(self.seed, |(_, levels)| levels.last().map_or(0, |l| l.hash))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn b(i: usize) -> Block {
        Block::new(i)
    }

    /// What instances lanes see that go through these blocks one by one, with
    /// the branches and joins given.
    fn way(blocks: &[usize], joins: &[(usize, usize)]) -> Vec<u64> {
        let mut instances = Ways::default();
        blocks
            .iter()
            .map(|&i| {
                let hash = instances.enter(b(i), 1);
                if let Some(&(_, join)) = joins.iter().find(|j| j.0 == i) {
                    instances.branch(1, Some(b(join)));
                }
                hash
            })
            .collect()
    }

    #[test]
    fn sides_differ_and_joins_agree() {
        let joins = [(0, 3)];
        let (left, right) = (way(&[0, 1, 3, 4], &joins), way(&[0, 2, 3, 4], &joins));
        assert_eq!(left[0], right[0]);
        assert_ne!(left[1], right[1]);
        assert_eq!(left[2..], right[2..]);
    }

    #[test]
    fn rounds_differ_and_their_number_does_not_matter_behind_the_loop() {
        let joins = [(1, 2)];
        let (two, three) = (way(&[0, 1, 1, 2], &joins), way(&[0, 1, 1, 1, 2], &joins));
        assert_eq!(two[..3], three[..3]);
        assert_ne!(three[1], three[2]);
        assert_ne!(three[2], three[3]);
        assert_eq!(two[3], three[4]);
        // A loop that only guarded exits leave has no branch at all.
        let bare = way(&[0, 1, 1, 1], &[]);
        assert!(bare[1] != bare[2] && bare[2] != bare[3]);
    }

    /// Where the whole grid goes one way, lanes that come to the join of a branch around
    /// are where others wait.
    #[test]
    fn a_branch_that_cannot_split_opens_no_level() {
        let mut i = Instances::default();
        i.enter(b(0), 3);
        i.branch(3, Some(b(2)), Scope::Lane);
        i.enter(b(1), 1);
        i.branch(1, Some(b(3)), Scope::Grid);
        i.enter(b(4), 2);
        i.enter(b(2), 3);
        assert!(i.0.iter().all(|ways| ways.apart == 0));
        // In a warp as wide as the grid what is common to blocks can split.
        i.branch(3, Some(b(6)), Scope::Lane);
        i.enter(b(5), 1);
        i.branch(1, Some(b(7)), Scope::Block);
        i.enter(b(6), 3);
        assert_eq!(i.0.each_ref().map(|ways| ways.apart), [0, 1]);
    }

    #[test]
    fn groups_meet_as_one() {
        let mut i = Ways::default();
        i.enter(b(0), 3);
        i.branch(3, Some(b(2)));
        let side = i.enter(b(1), 1);
        assert_eq!(i.current(1), side);
        let join = i.enter(b(2), 3);
        assert_eq!(i.current(2), join);
        assert_eq!((i.groups.len(), i.apart), (1, 0));
        // Without a common way they are compared with nobody.
        i.branch(3, Some(b(5)));
        i.enter(b(3), 1);
        i.enter(b(4), 3);
        assert_eq!(i.apart, 1);
    }
}
