//! Independent thread scheduling: what the lanes of a warp do, group by group.
//!
//! Every lane has its own place (a frame, and a block or what follows an
//! instruction) and is in one of four states:
//!
//! | state | meaning |
//! |---|---|
//! | READY | can run |
//! | BLOCKED | waits at a convergence barrier, a `barrier` or a `warp_sync` |
//! | YIELDED | gives way until nothing else can run |
//! | EXITED | has left for good |
//!
//! Lanes that split off or were released together are a *group*; a group has one
//! place and one state, so lanes are kept as groups. Groups merge at a convergence
//! barrier and nowhere else, also if they happen to stand at one place.
//!
//! # Convergence barriers
//!
//! A split arms a barrier at the join of the branch, with the lanes of the group as
//! its *participants*; a call arms one behind the call. Barriers nest: the
//! innermost one that a lane participates in is the last one armed. Lanes that come
//! to the place of their innermost barrier wait there. A split whose join is the
//! place of the innermost barrier already arms none, so loops do not nest, and a
//! branch without a join arms none either. This is what the stack of
//! [`stack`](crate::stack) does with join entries, and without yields every block
//! is passed by the same lanes in both modes.
//!
//! A barrier is released when a lane waits and every other participant waits, has
//! left or has yielded; that is looked at after each arrival, exit and yield. The
//! waiting lanes go on as one group. A participant that has yielded is not waited
//! for: the release is *early*, and the barrier is gone for that lane too.
//!
//! # Who runs
//!
//! A group runs until it waits, leaves or yields; after a split its first part runs
//! on. Then the ready group with the least place runs: that of the outermost frame
//! in which the places differ, in layout order; of several in one place that with
//! the lowest lane. With no group ready, those that yielded go on, once no other
//! warp of the block can run either.
//!
//! This file holds the state and its rules; [`schedule`] runs a warp by them,
//! [`frames`] makes calls, [`progress`] notices that nothing changes any more.

pub(crate) mod frames;
pub(crate) mod progress;
pub(crate) mod schedule;
mod syncs;

use warpfold_ir::Block;

use crate::calls::Behind;
use crate::counters::Counters;
use crate::local::{LocalStack, Placed};
use crate::warp::Cursor;
use frames::Frames;
use progress::Progress;
use syncs::Syncs;

/// Where a group goes on, in its frame.
#[derive(Clone, Copy, Debug)]
pub(crate) enum At {
    /// It enters a block.
    Block(Block),
    /// Behind a call.
    Behind(Behind),
    /// Behind a `barrier` or `warp_sync`.
    Sync(Cursor),
}

impl At {
    /// What two groups at one place have in common: neither lanes nor records.
    fn place(&self) -> (u8, u32, usize) {
        match self {
            Self::Block(b) => (0, b.as_u32(), 0),
            Self::Behind(at) => (1, 0, at.segment),
            Self::Sync(at) => (2, at.segment as u32, at.op),
        }
    }
}

/// What a group does. Lanes at a convergence barrier are in no group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Ready,
    /// At a `barrier` of the block.
    Barrier,
    /// At a `warp_sync`.
    WarpSync,
    Yielded,
}

/// Lanes with one place and state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub mask: u32,
    pub frame: usize,
    pub at: At,
    pub state: State,
}

impl PartialEq for Group {
    fn eq(&self, other: &Self) -> bool {
        let key = |g: &Self| (g.mask, g.frame, g.at.place(), g.state);
        key(self) == key(other)
    }
}

/// A convergence barrier.
#[derive(Clone, Copy, Debug)]
struct Convergence {
    frame: usize,
    at: At,
    /// Participants that have not left.
    mask: u32,
    /// Those that wait.
    arrived: u32,
    /// Whether the textbook's join of the branch is later.
    deferred: bool,
}

impl PartialEq for Convergence {
    fn eq(&self, other: &Self) -> bool {
        let key = |c: &Self| (c.frame, c.at.place(), c.mask, c.arrived, c.deferred);
        key(self) == key(other)
    }
}

/// The lanes of a warp.
#[derive(Clone, Debug, Default)]
pub(crate) struct Its {
    /// The group that runs.
    pub current: Option<Group>,
    /// The others.
    groups: Vec<Group>,
    /// In the order they were armed.
    barriers: Vec<Convergence>,
    pub frames: Frames,
    /// Who waits at a `warp_sync`.
    syncs: Syncs,
    progress: Progress,
}

impl Its {
    /// All lanes at the entry of the kernel.
    pub(crate) fn start(&mut self, entry: Block, mask: u32, local: Placed) {
        self.groups.clear();
        self.barriers.clear();
        self.syncs = Syncs::default();
        self.progress = Progress::default();
        self.frames.start(mask, local);
        self.current = Some(Group {
            mask,
            frame: Frames::KERNEL,
            at: At::Block(entry),
            state: State::Ready,
        });
    }

    /// Lanes of all groups in a state.
    pub(crate) fn lanes(&self, state: State) -> u32 {
        let mine = self.groups.iter().filter(|g| g.state == state);
        mine.fold(0, |mask, g| mask | g.mask)
    }

    /// The groups that do not run.
    pub(crate) fn waiting(&self) -> &[Group] {
        &self.groups
    }

    /// Barriers that these lanes, all of one group, participate in.
    pub(crate) fn nesting(&self, mask: u32) -> u64 {
        self.barriers.iter().filter(|c| c.mask & mask != 0).count() as u64
    }

    /// The innermost barrier of these lanes, if it is at this place.
    fn innermost_at(&mut self, mask: u32, frame: usize, at: &At) -> Option<&mut Convergence> {
        let innermost = self.barriers.iter_mut().rfind(|c| c.mask & mask != 0)?;
        (innermost.frame == frame && innermost.at.place() == at.place()).then_some(innermost)
    }

    /// Lanes of a group will wait for each other at a place, unless they do so
    /// there already.
    pub(crate) fn arm(
        &mut self,
        mask: u32,
        frame: usize,
        at: At,
        deferred: bool,
        counters: &mut Counters,
    ) {
        if self.innermost_at(mask, frame, &at).is_some() {
            return;
        }
        self.barriers.push(Convergence {
            frame,
            at,
            mask,
            arrived: 0,
            deferred,
        });
        let most = &mut counters.max_barrier_depth;
        *most = self.nesting(mask).max(*most);
    }

    /// Lanes that ran come to a place: they wait there, or are a group to go on.
    pub(crate) fn come(&mut self, mask: u32, frame: usize, at: At) -> Option<Group> {
        if let Some(barrier) = self.innermost_at(mask, frame, &at) {
            barrier.arrived |= mask;
            return None;
        }
        Some(Group {
            mask,
            frame,
            at,
            state: State::Ready,
        })
    }

    /// Takes the group of this number out of those that do not run.
    pub(crate) fn take(&mut self, number: usize) -> Group {
        self.groups.remove(number)
    }

    /// Puts a group among those that do not run.
    pub(crate) fn put(&mut self, group: Group) {
        self.groups.push(group);
    }

    /// Lanes leave for good.
    pub(crate) fn retire(&mut self, lanes: u32) {
        for c in &mut self.barriers {
            c.mask &= !lanes;
            c.arrived &= !lanes;
        }
        self.barriers.retain(|c| c.mask != 0);
        self.drop_lanes(lanes);
        self.frames.retire(lanes);
    }

    /// Lanes leave the frame that runs, alive: those that wait for them there wait
    /// no longer.
    pub(crate) fn leave(&mut self, lanes: u32, local: &mut LocalStack) {
        let frame = self.frames.running;
        for c in self.barriers.iter_mut().filter(|c| c.frame == frame) {
            c.mask &= !lanes;
            c.arrived &= !lanes;
        }
        self.barriers.retain(|c| c.mask != 0);
        self.drop_lanes(lanes);
        self.frames.leave(lanes, local);
    }

    /// Lanes leave the group that runs.
    fn drop_lanes(&mut self, lanes: u32) {
        if let Some(group) = &mut self.current {
            group.mask &= !lanes;
            if group.mask == 0 {
                self.current = None;
            }
        }
    }

    /// Releases every barrier whose participants have arrived, but for those that
    /// yielded. Releasing one changes nothing for another.
    pub(crate) fn release(&mut self, counters: &mut Counters) {
        if self.barriers.iter().all(|c| c.arrived == 0) {
            return;
        }
        let yielded = self.lanes(State::Yielded);
        let groups = &mut self.groups;
        self.barriers.retain(|c| {
            let missing = c.mask & !c.arrived;
            if c.arrived == 0 || missing & !yielded != 0 {
                return true;
            }
            match (missing != 0, c.deferred) {
                (true, _) => counters.joins_early += 1,
                (false, true) => counters.joins_deferred += 1,
                (false, false) => counters.joins_on_time += 1,
            }
            groups.push(Group {
                mask: c.arrived,
                frame: c.frame,
                at: c.at,
                state: State::Ready,
            });
            false
        });
    }

    /// Lets groups in a state go on.
    pub(crate) fn wake(&mut self, state: State) {
        for group in &mut self.groups {
            if group.state == state {
                group.state = State::Ready;
            }
        }
    }

    /// Lets go on who waited while others ran: those that yielded, or else those
    /// at the barrier, which is complete.
    pub(crate) fn resume(&mut self) {
        match self.lanes(State::Yielded) {
            0 => self.wake(State::Barrier),
            _ => self.wake(State::Yielded),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpfold_ir::entity::EntityRef;

    const F: usize = Frames::KERNEL;
    const NOWHERE: Placed = Placed {
        offset: 0,
        mark: None,
        end: 0,
    };

    fn at(b: usize) -> At {
        At::Block(Block::new(b))
    }

    fn ready(its: &Its) -> Vec<u32> {
        let groups = its.groups.iter().filter(|g| g.state == State::Ready);
        groups.map(|g| g.mask).collect()
    }

    #[test]
    fn a_barrier_waits_for_every_participant() {
        let (mut its, mut c) = (Its::default(), Counters::default());
        its.start(Block::new(0), 0xF, NOWHERE);
        its.arm(0xF, F, at(3), false, &mut c);
        assert_eq!(its.come(0x3, F, at(3)), None);
        its.release(&mut c);
        assert_eq!((ready(&its), c.joins_on_time), (vec![], 0));
        assert!(its.come(0xC, F, at(2)).is_some(), "another place");
        assert_eq!(its.come(0xC, F, at(3)), None);
        its.release(&mut c);
        assert_eq!((ready(&its), c.joins_on_time), (vec![0xF], 1));
        assert_eq!(its.nesting(0xF), 0);
    }

    #[test]
    fn lanes_that_left_are_not_waited_for() {
        let (mut its, mut c) = (Its::default(), Counters::default());
        its.start(Block::new(0), 0xF, NOWHERE);
        its.arm(0xF, F, at(3), true, &mut c);
        its.come(0x1, F, at(3));
        its.retire(0xC);
        its.release(&mut c);
        assert_eq!(ready(&its), []);
        its.retire(0x2);
        its.release(&mut c);
        assert_eq!((ready(&its), c.joins_deferred), (vec![0x1], 1));
    }

    #[test]
    fn a_lane_that_yields_is_dropped() {
        let (mut its, mut c) = (Its::default(), Counters::default());
        its.start(Block::new(0), 0xF, NOWHERE);
        its.arm(0xF, F, at(9), false, &mut c);
        its.arm(0x3, F, at(3), false, &mut c);
        assert_eq!(c.max_barrier_depth, 2);
        its.come(0x1, F, at(3));
        its.put(Group {
            mask: 0x2,
            frame: F,
            at: at(1),
            state: State::Yielded,
        });
        its.release(&mut c);
        assert_eq!((ready(&its), c.joins_early), (vec![0x1], 1));
        // The outer barrier still has it.
        assert_eq!((its.nesting(0x1), its.nesting(0x2)), (1, 1));
        assert!(its.come(0x2, F, at(3)).is_some());
        its.wake(State::Yielded);
        assert_eq!(ready(&its), [0x2, 0x1]);
    }

    #[test]
    fn loops_do_not_nest() {
        let (mut its, mut c) = (Its::default(), Counters::default());
        its.start(Block::new(0), 0xF, NOWHERE);
        for lanes in [0x8, 0x4] {
            its.arm(0xF, F, at(9), false, &mut c);
            its.come(lanes, F, at(9));
        }
        assert_eq!((its.nesting(0xF), c.max_barrier_depth), (1, 1));
        // The same block in another frame is another place.
        its.arm(0x3, F + 1, at(9), false, &mut c);
        assert_eq!(c.max_barrier_depth, 2);
    }
}
