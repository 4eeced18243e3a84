//! The reconvergence stack of a warp.
//!
//! An entry is a group of lanes with the block they go on at and the block at
//! which they join the entry below. The top entry is the one that runs.
//!
//! When lanes of the top go to several blocks, the top becomes the *join
//! entry*: all of them, at the join of the branch. On it go the sides, the
//! first successor on top. A side that goes straight to the join waits there
//! already and is not pushed; and where the top's own join is the branch's join,
//! an entry below waits there for all of them already and the top just goes, so
//! loops do not grow the stack.
//!
//! Invariant: where an entry has a join, the nearest entry below that has its
//! lanes stands at that join; where it has none, no entry below has its lanes.
//! A branch whose lanes never meet again has no join of its own, so its sides
//! keep the top's.

use smallvec::SmallVec;
use warpfold_ir::Block;

/// A group of lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    pub pc: Block,
    pub join: Option<Block>,
    pub mask: u32,
}

#[cfg(test)]
thread_local! {
    /// How often this thread looked at a stack to see how deep it is, to take lanes
    /// out, or to note it.
    pub(crate) static LOOKS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// The lanes that a branch sends to each target block, in table order.
pub(crate) type Groups = SmallVec<[(Block, u32); 4]>;

/// The stack.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Stack {
    entries: Vec<Entry>,
}

impl Stack {
    /// All lanes at the entry.
    pub(crate) fn new(pc: Block, mask: u32) -> Self {
        Self {
            entries: vec![Entry {
                pc,
                join: None,
                mask,
            }],
        }
    }

    /// The same again.
    pub(crate) fn reset(&mut self, pc: Block, mask: u32) {
        self.entries.clear();
        self.entries.push(Entry {
            pc,
            join: None,
            mask,
        });
    }

    pub(crate) fn top(&self) -> Option<&Entry> {
        self.entries.last()
    }

    pub(crate) fn depth(&self) -> usize {
        #[cfg(test)]
        LOOKS.set(LOOKS.get() + 1);
        self.entries.len()
    }

    /// Bottom first.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// All lanes of the top go on at `target`.
    #[inline(always)]
    pub(crate) fn go(&mut self, target: Block) {
        if let Some(top) = self.entries.last_mut() {
            if top.join == Some(target) {
                self.entries.pop();
            } else {
                top.pc = target;
            }
        }
    }

    /// The lanes of the top go to several blocks. Returns the side entries
    /// pushed.
    pub(crate) fn split(&mut self, groups: &Groups, join: Option<Block>) -> u64 {
        let Some(top) = self.entries.last_mut() else {
            return 0;
        };
        let join = join.or(top.join);
        match join {
            Some(at) if top.join != join => top.pc = at,
            // Those that wait below are waited for already; or nobody waits.
            _ => {
                self.entries.pop();
            }
        }
        let mut pushes = 0;
        for &(pc, mask) in groups.iter().rev() {
            if Some(pc) != join {
                self.entries.push(Entry { pc, join, mask });
                pushes += 1;
            }
        }
        pushes
    }

    /// Lanes leave for good, and entries that nobody is left in with them.
    pub(crate) fn retire(&mut self, lanes: u32) {
        #[cfg(test)]
        LOOKS.set(LOOKS.get() + 1);
        for entry in &mut self.entries {
            entry.mask &= !lanes;
        }
        while self.entries.last().is_some_and(|e| e.mask == 0) {
            self.entries.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpfold_ir::entity::EntityRef;

    fn b(i: usize) -> Block {
        Block::new(i)
    }

    fn shape(s: &Stack) -> Vec<(usize, u32)> {
        s.entries().iter().map(|e| (e.pc.index(), e.mask)).collect()
    }

    #[test]
    fn a_diamond_runs_first_successor_then_second_then_join() {
        let mut s = Stack::new(b(0), 0xFF);
        let pushes = s.split(
            &Groups::from_slice(&[(b(1), 0x0F), (b(2), 0xF0)]),
            Some(b(3)),
        );
        assert_eq!(pushes, 2);
        assert_eq!(shape(&s), [(3, 0xFF), (2, 0xF0), (1, 0x0F)]);
        s.go(b(3));
        assert_eq!(shape(&s), [(3, 0xFF), (2, 0xF0)]);
        s.go(b(3));
        assert_eq!(shape(&s), [(3, 0xFF)]);
    }

    #[test]
    fn loops_do_not_grow_the_stack() {
        let mut s = Stack::new(b(1), 0xF);
        for lanes in [0x7, 0x3, 0x1] {
            let left = s.top().unwrap().mask & !lanes;
            let pushes = s.split(
                &Groups::from_slice(&[(b(2), lanes), (b(9), left)]),
                Some(b(9)),
            );
            assert_eq!(pushes, 1, "the side at the join is not pushed");
            assert_eq!(shape(&s), [(9, 0xF), (2, lanes)]);
            s.go(b(1));
        }
        s.go(b(9));
        assert_eq!(shape(&s), [(9, 0xF)]);
    }

    #[test]
    fn without_a_join_sides_stand_alone() {
        let mut s = Stack::new(b(0), 0xF);
        s.split(&Groups::from_slice(&[(b(1), 1), (b(2), 0xE)]), None);
        assert_eq!(shape(&s), [(2, 0xE), (1, 1)]);
        assert_eq!(s.top().unwrap().join, None);
        s.retire(1);
        assert_eq!(shape(&s), [(2, 0xE)]);
    }

    #[test]
    fn sides_without_a_join_keep_that_of_the_top() {
        let mut s = Stack::new(b(0), 0xF);
        s.split(&Groups::from_slice(&[(b(1), 3), (b(2), 0xC)]), Some(b(3)));
        s.split(&Groups::from_slice(&[(b(4), 1), (b(5), 2)]), None);
        assert_eq!(shape(&s), [(3, 0xF), (2, 0xC), (5, 2), (4, 1)]);
        s.go(b(3));
        assert_eq!(shape(&s), [(3, 0xF), (2, 0xC), (5, 2)]);
    }

    #[test]
    fn retired_lanes_leave_every_entry() {
        let mut s = Stack::new(b(0), 0xF);
        s.split(&Groups::from_slice(&[(b(1), 3), (b(2), 0xC)]), Some(b(3)));
        s.retire(3);
        assert_eq!(shape(&s), [(3, 0xC), (2, 0xC)]);
        s.retire(0xC);
        assert_eq!(s.top(), None);
    }
}
