//! Noticing that a warp repeats itself, with independent thread scheduling.
//!
//! As in stack mode ([`progress`](crate::progress)), by Brent's method at back
//! edges. Groups take turns in whatever frames they are, so a snapshot holds all of
//! the warp: groups, convergence barriers and the registers of every frame. That of
//! local memory it holds as the number of stores that changed a byte and of frames
//! whose slots began anew.

use warpfold_ir::Block;

use super::syncs::Syncs;
use super::{At, Convergence, Group};
use crate::engine::Engine;
use crate::progress::BackEdges;
use crate::registers::Registers;
use crate::warp::Warp;

#[derive(Clone, Debug)]
struct Snapshot {
    current: Option<Group>,
    groups: Vec<Group>,
    barriers: Vec<Convergence>,
    syncs: Syncs,
    running: usize,
    /// Of the frame that ran, then those of the others with their numbers.
    registers: Registers,
    others: Vec<(usize, Registers)>,
    changes: u64,
    age: u64,
    made: u64,
}

/// What is known of a warp's progress.
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress {
    back_edges: BackEdges,
    snapshot: Option<Box<Snapshot>>,
}

impl Snapshot {
    fn take(w: &Warp, changes: u64) -> Self {
        let its = &w.its;
        let others = its.frames.all_waiting();
        Self {
            current: its.current,
            groups: its.groups.clone(),
            barriers: its.barriers.clone(),
            syncs: its.syncs.clone(),
            running: its.frames.running,
            registers: w.registers.clone(),
            others: others.map(|(i, _, f)| (i, f.registers.clone())).collect(),
            changes,
            age: w.age,
            made: its.frames.made,
        }
    }

    fn is(&self, w: &Warp, changes: u64) -> bool {
        let its = &w.its;
        let same =
            |a: &Registers, b: &Registers, lanes: u32| a.places().all(|at| a.same(b, at, lanes));
        (self.changes, self.age) == (changes, w.age)
            && (self.made, self.running) == (its.frames.made, its.frames.running)
            && self.current == its.current
            && self.groups == its.groups
            && self.barriers == its.barriers
            && self.syncs == its.syncs
            && same(&w.registers, &self.registers, its.frames.running_lanes())
            && its.frames.all_waiting().count() == self.others.len()
            && (its.frames.all_waiting().zip(&self.others))
                .all(|((i, lanes, now), (j, then))| i == *j && same(&now.registers, then, lanes))
    }
}

impl Engine<'_> {
    /// At a back edge, after the lanes have moved: where the warp goes round for
    /// ever, and the lanes that took the edge, if it does.
    pub(crate) fn its_round(&mut self, w: &mut Warp, lanes: u32) -> Option<(Block, u32)> {
        if !w.its.progress.back_edges.pass() {
            return None;
        }
        if w.alone
            && let Some(old) = &w.its.progress.snapshot
            && old.is(w, self.changes)
        {
            let moved = w.its.current.iter().chain(w.its.waiting());
            return moved
                .filter(|g| g.mask & lanes != 0)
                .find_map(|g| match g.at {
                    At::Block(b) => Some((b, g.mask)),
                    _ => None,
                });
        }
        if w.its.progress.back_edges.snapshot_is_due() {
            let snapshot = Snapshot::take(w, self.changes);
            w.its.progress.snapshot = Some(Box::new(snapshot));
        }
        None
    }
}
