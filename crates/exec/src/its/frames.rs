//! Frames of a warp whose lanes run on their own: a tree.
//!
//! Lanes that make a call together get a frame. While they are in it other lanes
//! may make the same call, or any other, from the frame below, so the frames are a
//! tree: a path of it is what the stack of one lane holds. The frame that runs is
//! in the [`Warp`] itself; it is swapped with another where another group's turn
//! comes. A frame goes when no lane is in it or above it.

use smallvec::SmallVec;
use warpfold_ir::Block;

use super::{At, Group, State};
use crate::calls::{Behind, Callees, Frame, FrameState};
use crate::engine::Engine;
use crate::local::{LocalMark, LocalStack, Placed};
use crate::memory::LOCAL_BASE;
use crate::warp::Warp;

/// A frame's place in the tree.
#[derive(Clone, Debug)]
struct Slot {
    /// `None` of the frame that runs, and where there is no frame.
    frame: Option<Frame>,
    /// Lanes in it or above it.
    lanes: u32,
    /// The frame below, and where lanes come back to. `None` of a kernel's frame
    /// and one in its place.
    parent: Option<(usize, Behind)>,
    /// Frames from the kernel's to this one.
    depth: u32,
    /// Its stack slots.
    local: Option<LocalMark>,
    /// Where local memory goes on above it.
    local_end: u64,
}

/// The frames of a warp.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frames {
    slots: Vec<Slot>,
    free: Vec<usize>,
    /// The frame that runs.
    pub running: usize,
    /// Whether a frame may have lost its last lane.
    emptied: bool,
    /// Frames with stack slots made so far: their memory begins anew.
    pub made: u64,
}

impl Frames {
    /// The number of the kernel's frame.
    pub(crate) const KERNEL: usize = 0;

    /// Only the kernel's frame, which runs.
    pub(crate) fn start(&mut self, lanes: u32, local: Placed) {
        self.slots.clear();
        self.free.clear();
        self.running = Self::KERNEL;
        self.slots.push(Slot {
            frame: None,
            lanes,
            parent: None,
            depth: 1,
            local: local.mark,
            local_end: local.end,
        });
    }

    /// The frame below, and where lanes come back to.
    pub(crate) fn parent(&self, frame: usize) -> Option<(usize, Behind)> {
        self.slots[frame].parent
    }

    /// Whether the frame that runs is the kernel's, or one in its place; so it is on
    /// the stack as well, where nothing is kept here.
    pub(crate) fn is_kernel(&self) -> bool {
        self.slots.get(self.running).is_none_or(|s| s.depth == 1)
    }

    /// A frame that does not run.
    pub(crate) fn waiting(&mut self, frame: usize) -> Option<&mut Frame> {
        self.slots[frame].frame.as_mut()
    }

    /// Frames that do not run, with their numbers and lanes.
    pub(crate) fn all_waiting(&self) -> impl Iterator<Item = (usize, u32, &Frame)> {
        let slots = self.slots.iter().enumerate();
        slots.filter_map(|(i, s)| Some((i, s.lanes, s.frame.as_ref()?)))
    }

    /// Lanes in the frame that runs, or above it.
    pub(crate) fn running_lanes(&self) -> u32 {
        self.slots[self.running].lanes
    }

    /// Lanes leave the frame that runs, alive.
    pub(crate) fn leave(&mut self, lanes: u32, local: &mut LocalStack) {
        let slot = &mut self.slots[self.running];
        slot.lanes &= !lanes;
        self.emptied |= slot.lanes == 0;
        if let Some(mark) = slot.local {
            local.hide(mark, lanes);
        }
    }

    /// Lanes leave for good.
    pub(crate) fn retire(&mut self, lanes: u32) {
        for slot in &mut self.slots {
            slot.lanes &= !lanes;
            self.emptied |= slot.lanes == 0;
        }
    }

    /// Each frame that waits for a call of some of these lanes, with what is behind
    /// the call, and which they are.
    pub(crate) fn each_call(&mut self, lanes: u32, mut f: impl FnMut(&mut Frame, Behind, u32)) {
        for i in 0..self.slots.len() {
            let lanes = lanes & self.slots[i].lanes;
            let parent = self.slots[i].parent;
            if let (Some((below, behind)), true) = (parent, lanes != 0)
                && let Some(frame) = &mut self.slots[below].frame
            {
                f(frame, behind, lanes);
            }
        }
    }
}

impl Warp {
    /// The function of a frame.
    pub(crate) fn frame_function(&self, frame: usize) -> usize {
        match &self.its.frames.slots[frame].frame {
            Some(frame) => frame.state.function,
            None => self.state.function,
        }
    }
}

impl Engine<'_> {
    /// Makes a frame the one that runs, and frees those without lanes.
    pub(crate) fn switch_frame(&mut self, w: &mut Warp, frame: usize) {
        let frames = &mut w.its.frames;
        if frame != frames.running
            && let Some(next) = frames.slots[frame].frame.take()
        {
            let old = w.swap(next);
            let frames = &mut w.its.frames;
            frames.slots[frames.running].frame = Some(old);
            frames.running = frame;
            self.switch_to(w.state.function);
        }
        if w.its.frames.emptied {
            self.free_frames(w);
        }
    }

    fn free_frames(&mut self, w: &mut Warp) {
        let frames = &mut w.its.frames;
        frames.emptied = false;
        for i in Frames::KERNEL + 1..frames.slots.len() {
            let slot = &mut frames.slots[i];
            if slot.lanes == 0
                && let Some(frame) = slot.frame.take()
            {
                if let Some(mark) = slot.local.take() {
                    w.local.free(mark);
                }
                frames.free.push(i);
                self.recycle(frame);
            }
        }
    }

    /// Lanes that ran go into the functions they call; `behind` is where they come
    /// back to, or `None` of a call in tail position.
    pub(crate) fn its_call(
        &mut self,
        w: &mut Warp,
        callees: &Callees,
        behind: Option<Behind>,
        segment: usize,
    ) {
        let caller = w.its.frames.running;
        let mask = callees.lanes();
        w.its.current = None;
        let (home, parent) = match behind {
            Some(behind) => {
                let counters = &mut self.tally.counters;
                w.its.arm(mask, caller, At::Behind(behind), false, counters);
                (Some((caller, callees.call)), Some((caller, behind)))
            }
            // What the callee returns goes where this frame's results would.
            None => (w.state.home, w.its.frames.parent(caller)),
        };
        let mut groups: SmallVec<[Group; 1]> = SmallVec::new();
        for &(function, lanes) in &callees.groups {
            match self.make_frame(w, callees, function, lanes, home, parent) {
                Some((frame, entry)) => groups.push(Group {
                    mask: lanes,
                    frame,
                    at: At::Block(entry),
                    state: State::Ready,
                }),
                None => {
                    self.overflow(w, callees.site, lanes);
                    self.retire(w, segment, lanes);
                }
            }
        }
        if behind.is_none() {
            w.its.leave(mask & w.live, &mut w.local);
            w.its.release(&mut self.tally.counters);
        }
        let mut groups = groups.into_iter();
        w.its.current = groups.next();
        groups.for_each(|group| w.its.put(group));
    }

    /// A frame for lanes in a function, and its entry; `None` where there is no
    /// room.
    fn make_frame(
        &mut self,
        w: &mut Warp,
        callees: &Callees,
        function: usize,
        lanes: u32,
        home: Option<(usize, u32)>,
        parent: Option<(usize, Behind)>,
    ) -> Option<(usize, Block)> {
        let callee = self.linked.program(function)?;
        let below = parent.map(|(frame, _)| &w.its.frames.slots[frame]);
        let (depth, top) = below.map_or((1, LOCAL_BASE), |s| (s.depth + 1, s.local_end));
        if !self.has_room(callee, u64::from(depth)) {
            return None;
        }
        let size = (callee.local, callee.local_align);
        let place = w.local.place(&callee.slots, size, top, lanes)?;
        let state = FrameState::new(function, home, w.local.mark());
        let frame = self.callee_frame(w, (callees.call, callees.site), lanes, place.offset, state);
        let slot = Slot {
            frame: Some(frame),
            lanes,
            parent,
            depth,
            local: place.mark,
            local_end: place.end,
        };
        let frames = &mut w.its.frames;
        frames.made += u64::from(place.mark.is_some());
        let most = &mut self.tally.counters.max_call_depth;
        *most = u64::from(depth).max(*most);
        let number = match frames.free.pop() {
            Some(i) => {
                frames.slots[i] = slot;
                i
            }
            None => {
                frames.slots.push(slot);
                frames.slots.len() - 1
            }
        };
        Some((number, callee.entry))
    }
}
