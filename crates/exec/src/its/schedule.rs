//! Running a warp group by group.

use std::cmp::Ordering;

use smallvec::SmallVec;
use warpfold_ir::{Block, CostClass};

use super::frames::Frames;
use super::{At, Group, State};
use crate::calls::Behind;
use crate::engine::Engine;
use crate::error::ExecError;
use crate::program::Issues;
use crate::registers::Place;
use crate::stack::Groups;
use crate::warp::{Cursor, Flow, Pause, Warp};

/// A yield: one issue.
const YIELD: Issues = Issues { all: 1, bare: 1 };

impl Engine<'_> {
    /// Runs a warp until it ends, waits for the block, or has only lanes left
    /// that give way to other warps.
    pub(crate) fn run_its(&mut self, w: &mut Warp) -> Result<Pause, ExecError> {
        self.switch_to(w.state.function);
        if w.its.current.is_none() {
            w.its.resume();
        }
        loop {
            let Some(group) = self.next_group(w) else {
                match self.nothing_ready(w)? {
                    Some(pause) => return Ok(pause),
                    None => continue,
                }
            };
            w.its.current = Some(group);
            self.switch_frame(w, group.frame);
            let cursor = match group.at {
                At::Block(b) => self.enter(w, b, group.mask)?,
                At::Behind(behind) => self.go_on(w, behind, group.mask)?,
                At::Sync(cursor) => self.take_up(w, cursor, group.mask)?,
            };
            match self.run_pass(w, cursor, group.mask)? {
                Flow::End(mask) => self.terminate(w, cursor, mask)?,
                Flow::Gone => w.its.current = None,
                Flow::Wait { at, state } => {
                    if let Some(group) = w.its.current.take() {
                        self.put_off(w, at, group.mask);
                        let mask = group.mask;
                        let at_sync = At::Sync(at);
                        w.its.put(Group {
                            at: at_sync,
                            state,
                            ..group
                        });
                        if state == State::WarpSync {
                            self.come_to_sync(w, at.op - 1, mask);
                        }
                    }
                }
                Flow::Call => {}
            }
        }
    }

    /// The group that runs on; or else the ready one with the least place.
    fn next_group(&self, w: &mut Warp) -> Option<Group> {
        if let Some(group) = w.its.current {
            return Some(group);
        }
        let groups = w.its.waiting().iter().enumerate();
        let ready = groups.filter(|(_, g)| g.state == State::Ready);
        let (least, _) = ready.min_by(|(_, a), (_, b)| self.compare(w, a, b))?;
        Some(w.its.take(least))
    }

    /// What becomes of a warp without a ready group: it pauses, or some are made
    /// ready.
    fn nothing_ready(&mut self, w: &mut Warp) -> Result<Option<Pause>, ExecError> {
        let its = &mut w.its;
        if its.lanes(State::Yielded) != 0 {
            if !w.alone {
                return Ok(Some(Pause::Yield));
            }
            its.wake(State::Yielded);
            return Ok(None);
        }
        if w.live == 0 {
            self.switch_frame(w, Frames::KERNEL);
            return Ok(Some(Pause::Finished));
        }
        if its.lanes(State::Barrier) == w.live {
            return Ok(Some(Pause::Barrier));
        }
        Err(self.divergent_barrier(w))
    }

    /// Some lanes wait at a barrier that others cannot come to: these wait for the
    /// former, at a join or at the other kind of barrier.
    fn divergent_barrier(&mut self, w: &mut Warp) -> ExecError {
        let groups = w.its.waiting().iter();
        let first = groups.min_by(|a, b| self.compare(w, a, b)).copied();
        // Lanes at convergence barriers wait for lanes in groups in the end, so
        // there is a group.
        let Some(group) = first else {
            return self.record_limit();
        };
        self.switch_frame(w, group.frame);
        let at_barrier = w.its.lanes(State::Barrier);
        let op = match group.at {
            At::Sync(at) => at.op - 1,
            _ => 0,
        };
        let (arrived, missing) = match w.its.synced_in_vain(group.mask, w.live) {
            Some(found) if group.state == State::WarpSync => found,
            _ => (at_barrier, w.live & !at_barrier),
        };
        self.barrier_divergence(w, op, arrived, missing)
    }

    /// The order of two groups' places, then of their lowest lanes.
    fn compare(&self, w: &Warp, a: &Group, b: &Group) -> Ordering {
        let places = match a.frame == b.frame {
            true => {
                let here = |g: &Group| self.position(w, g.frame, &g.at);
                here(a).cmp(&here(b))
            }
            false => self.path(w, a).cmp(&self.path(w, b)),
        };
        places.then(a.mask.trailing_zeros().cmp(&b.mask.trailing_zeros()))
    }

    /// The functions and positions of the frames that a group is in, outermost
    /// first.
    fn path(&self, w: &Warp, group: &Group) -> SmallVec<[(usize, usize, usize); 8]> {
        let mut path = SmallVec::new();
        let mut add = |frame: usize, (segment, op): (usize, usize)| {
            path.push((w.frame_function(frame), segment, op));
        };
        add(group.frame, self.position(w, group.frame, &group.at));
        let mut frame = group.frame;
        while let Some((parent, behind)) = w.its.frames.parent(frame) {
            // At the call, before what is behind it.
            add(parent, (behind.segment - 1, usize::MAX));
            frame = parent;
        }
        path.reverse();
        path
    }

    /// Segment and op of a place; both are numbered in layout order.
    fn position(&self, w: &Warp, frame: usize, at: &At) -> (usize, usize) {
        let segment = match at {
            At::Block(b) => {
                let program = self.linked.program(w.frame_function(frame));
                let code = program.and_then(|p| p.blocks[*b].as_ref());
                code.map_or(0, |code| code.segments.start as usize)
            }
            At::Behind(behind) => behind.segment,
            At::Sync(cursor) => return (cursor.segment, cursor.op),
        };
        (segment, 0)
    }

    /// The lanes that ran go on at these blocks, in the order of the branch.
    pub(crate) fn its_go(
        &mut self,
        w: &mut Warp,
        groups: &Groups,
        at: Cursor,
    ) -> Result<(), ExecError> {
        let frame = w.its.frames.running;
        w.its.current = None;
        for (i, &(target, mask)) in groups.iter().enumerate() {
            let yields = self.program.yields.at(at.block, target);
            let group = w.its.come(mask, frame, At::Block(target));
            if yields {
                self.issue_yield(w, at, mask)?;
            }
            match group {
                None => {}
                Some(group) if yields => w.its.put(Group {
                    state: State::Yielded,
                    ..group
                }),
                Some(group) if i == 0 => w.its.current = Some(group),
                Some(group) => w.its.put(group),
            }
        }
        w.its.release(&mut self.tally.counters);
        Ok(())
    }

    /// The lanes that ran split at a branch.
    pub(crate) fn its_split(
        &mut self,
        w: &mut Warp,
        groups: &Groups,
        join: Option<Block>,
        deferred: bool,
        at: Cursor,
    ) -> Result<(), ExecError> {
        if let Some(join) = join {
            let mask = groups.iter().fold(0, |mask, g| mask | g.1);
            let frame = w.its.frames.running;
            let counters = &mut self.tally.counters;
            w.its.arm(mask, frame, At::Block(join), deferred, counters);
        }
        self.its_go(w, groups, at)
    }

    /// Lanes that take a back edge give way.
    fn issue_yield(&mut self, w: &mut Warp, at: Cursor, mask: u32) -> Result<(), ExecError> {
        self.spend_steps(w, YIELD.all, at.block, mask)?;
        let lanes = w.lanes(mask);
        self.tally.add(YIELD, lanes, &mut w.counters);
        let c = &mut self.tally.counters;
        c.classes[CostClass::Ctl.index()] += 1;
        c.yields += 1;
        self.time_yield(w);
        self.record_yield(at, mask);
        Ok(())
    }

    /// Lanes come back from the frame that runs, with the values in these
    /// registers, to the one below, where they wait for each other.
    pub(crate) fn its_return(
        &mut self,
        w: &mut Warp,
        (home, call): (usize, u32),
        mask: u32,
        values: &[Place],
    ) {
        let callee = w.its.frames.running;
        let parent = w.its.frames.parent(callee);
        if let Some(frame) = w.its.frames.waiting(home) {
            self.hand_back(frame, call, &w.registers, mask, values);
        }
        w.its.leave(mask, &mut w.local);
        if let Some((frame, behind)) = parent {
            w.its.current = w.its.come(mask, frame, At::Behind(behind));
        }
        w.its.release(&mut self.tally.counters);
    }

    /// Lanes leave for good.
    pub(crate) fn its_retire(&mut self, w: &mut Warp, lanes: u32) {
        if let Some(census) = &mut self.census {
            let entry = self.linked.entry;
            w.its
                .frames
                .each_call(lanes, |caller, behind: Behind, lanes| {
                    if caller.state.function == entry {
                        census.leave(&mut caller.open, behind.segment - 1, lanes);
                    }
                });
        }
        w.its.retire(lanes);
        w.its.release(&mut self.tally.counters);
        self.release_syncs(w);
    }
}
