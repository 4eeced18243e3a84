//! Calls: frames of a warp, and how its lanes come into them and out again.
//!
//! A call pushes a frame for the active lanes: registers, a reconvergence
//! stack and stack slots of its own. The caller waits behind the call; what its
//! other entries wait for does not change meanwhile. In the callee `ret` puts
//! the results into the caller's registers, lane by lane. When the callee's
//! stack is empty the frame goes, and the caller goes on with those lanes of
//! the call that live.
//!
//! Lanes of an indirect call are grouped by callee, in the order of each
//! group's lowest lane; the groups run one after another. A tail call is a
//! return to the caller's caller by way of the callee: the lanes leave the
//! frame at once, and it goes when nobody is left in it. Frames of lanes that
//! are called from one frame at different times are stacked upon it, so a frame
//! that stays has lanes that no frame above has: a warp has at most 32 times as
//! many frames as the lane with the deepest calls.
//!
//! A lane for which there is no more room traps with `stk_ovf`.

use smallvec::SmallVec;
use warpfold_ir::{Block, TrapCode};

use crate::census::Open;
use crate::check::frame::Shadow;
use crate::engine::Engine;
use crate::error::ExecError;
use crate::launch::Mode;
use crate::local::LocalMark;
use crate::outcome::Site;
use crate::program::{CallKind, Program};
use crate::progress::Progress;
use crate::registers::{LANES, On, Place, Registers, lanes_of};
use crate::stack::Stack;
use crate::warp::{Cursor, Warp};

/// Unused frames of a function that are kept for the next call.
const POOLED: usize = 32;

/// Where a frame goes on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Resume {
    /// Behind a barrier.
    Barrier(Cursor),
    /// Behind a call, with the lanes that made it.
    Call(Behind, u32),
}

/// The place behind a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Behind {
    pub block: Block,
    /// The segment that begins there.
    pub segment: usize,
    pub pass: u32,
}

/// Lanes to send into functions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Callees {
    /// Function and lanes, in the order of the lowest lanes.
    pub groups: SmallVec<[(usize, u32); 1]>,
    /// The call in the program.
    pub call: u32,
    /// Where the call stands.
    pub site: Option<Site>,
}

impl Callees {
    /// All of them.
    pub(crate) fn lanes(&self) -> u32 {
        self.groups.iter().fold(0, |mask, g| mask | g.1)
    }
}

/// Lanes that wait to be sent into functions, one group after another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pending {
    /// The next group last.
    callees: Callees,
    /// Whether the lanes have left the frame.
    tail: bool,
}

impl Pending {
    /// All of them; with `tail` they have left the frame.
    pub(crate) fn new(mut callees: Callees, tail: bool) -> Self {
        callees.groups.reverse();
        Self { callees, tail }
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.callees.groups.is_empty()
    }
}

/// What a frame has beside registers and stack.
#[derive(Clone, Debug)]
pub(crate) struct FrameState {
    /// The function.
    pub function: usize,
    /// Where results go: the frame, by its depth or number, and the call in its
    /// program. `None` for those of the thread.
    pub home: Option<(usize, u32)>,
    /// Before its slots were made.
    slots: LocalMark,
    pub pending: Pending,
    pub resume: Option<Resume>,
    /// What checks keep.
    pub shadow: Shadow,
}

impl FrameState {
    /// A frame at its beginning.
    pub(crate) fn new(function: usize, home: Option<(usize, u32)>, slots: LocalMark) -> Self {
        Self {
            function,
            home,
            slots,
            pending: Pending::default(),
            resume: None,
            shadow: Shadow::default(),
        }
    }
}

/// A frame that waits for its callees.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub registers: Registers,
    pub stack: Stack,
    pub open: Vec<Open>,
    pub progress: Progress,
    pub state: FrameState,
}

impl Warp {
    /// Makes `frame` the one that runs; returns the one that ran.
    pub(crate) fn swap(&mut self, frame: Frame) -> Frame {
        Frame {
            registers: std::mem::replace(&mut self.registers, frame.registers),
            stack: std::mem::replace(&mut self.stack, frame.stack),
            open: std::mem::replace(&mut self.open, frame.open),
            progress: std::mem::replace(&mut self.progress, frame.progress),
            state: std::mem::replace(&mut self.state, frame.state),
        }
    }

    /// Whether the frame that runs is the kernel's, or one in its place.
    pub(crate) fn runs_kernel(&self) -> bool {
        self.callers.is_empty() && self.its.frames.is_kernel()
    }

    /// Entries on the stacks of all frames.
    pub(crate) fn stack_depth(&self) -> usize {
        self.below + self.stack.depth()
    }
}

impl<'a> Engine<'a> {
    /// Goes on in another function.
    pub(crate) fn switch_to(&mut self, function: usize) {
        if let Some(program) = self.linked.program(function) {
            self.program = program;
            self.tally.at = function;
        }
    }

    /// Whom the lanes `mask` call that come to call number `call`, which is op `i`
    /// or, in tail position, the terminator of `block`; and those that trap because
    /// they call nobody.
    pub(crate) fn callees(
        &mut self,
        w: &mut Warp,
        call: u32,
        mask: u32,
        at: CallSite,
    ) -> (Callees, u32) {
        let program = self.program;
        let code = &program.calls[call as usize];
        let mut groups: SmallVec<[(usize, u32); 1]> = SmallVec::new();
        let mut lost = 0;
        match code.target {
            CallKind::Direct(function) => groups.push((function, mask)),
            CallKind::Indirect { address, signature } => {
                let mut addresses = [0; LANES];
                for lane in lanes_of(mask) {
                    let address = w.registers.get(address, lane) as u64;
                    addresses[lane] = address;
                    match self.linked.at_address(address, signature) {
                        None => lost |= 1 << lane,
                        Some(function) => match groups.iter_mut().find(|g| g.0 == function) {
                            Some(group) => group.1 |= 1 << lane,
                            None => groups.push((function, 1 << lane)),
                        },
                    }
                }
                if groups.len() > 1 {
                    let c = &mut self.tally.counters;
                    c.divergent_branch += 1;
                    c.branches.split += 1;
                    c.extra_targets += groups.len() as u64 - 1;
                }
                let (site, origin) = at.place(program);
                for lane in lanes_of(lost) {
                    let address = Some(addresses[lane]);
                    self.trap(w, lane, site, origin, TrapCode::HeapOutOfBounds, address);
                }
            }
        }
        let site = Some(at.place(program).0);
        (Callees { groups, call, site }, lost)
    }

    /// Sends the next group of lanes into its function.
    pub(crate) fn dispatch(&mut self, w: &mut Warp) {
        let Some((function, lanes)) = w.state.pending.callees.groups.pop() else {
            return;
        };
        let lanes = lanes & w.live;
        let (Some(callee), true) = (self.linked.program(function), lanes != 0) else {
            return;
        };
        let (call, tail) = (w.state.pending.callees.call, w.state.pending.tail);
        // Of a tail call's frame nothing is needed but its registers.
        let replaces = tail && w.state.pending.is_empty() && w.stack.top().is_none();
        let home = match tail {
            true => w.state.home,
            false => Some((w.callers.len(), call)),
        };
        let slots = match replaces {
            true => w.state.slots,
            false => w.local.mark(),
        };
        if replaces {
            w.local.release(slots);
        }
        let frames = w.callers.len() as u64 + 1 + u64::from(!replaces);
        let base = match self.has_room(callee, frames) {
            true => w
                .local
                .push(&callee.slots, callee.local, callee.local_align),
            false => None,
        };
        let Some(base) = base else {
            let site = w.state.pending.callees.site;
            self.overflow(w, site, lanes);
            let segment = self.segment_of_call(w);
            self.retire(w, segment, lanes);
            return;
        };
        let state = FrameState::new(function, home, slots);
        let site = w.state.pending.callees.site;
        let frame = self.callee_frame(w, (call, site), lanes, base, state);
        let caller = w.swap(frame);
        if replaces {
            self.recycle(caller);
        } else {
            w.below += caller.stack.depth();
            w.callers.push(caller);
            let depth = w.callers.len() as u64 + 1;
            let most = &mut self.tally.counters.max_call_depth;
            *most = (*most).max(depth);
        }
        self.switch_to(function);
        self.note_depth(w);
    }

    /// Whether a warp with `frames` frames may have one of this function for the
    /// last.
    pub(crate) fn has_room(&self, callee: &Program<'_>, frames: u64) -> bool {
        frames <= u64::from(self.options.call_depth.max(1))
            && self.frame_bytes + callee.warp_bytes() <= self.frame_limit
    }

    /// A frame for lanes that call from the frame that runs, with their arguments.
    /// Its slots are `base` above where a kernel's would be.
    pub(crate) fn callee_frame(
        &mut self,
        w: &Warp,
        (call, site): (u32, Option<Site>),
        lanes: u32,
        base: u64,
        state: FrameState,
    ) -> Frame {
        let callee = self
            .linked
            .program(state.function)
            .expect("functions that are called were decoded");
        let mut frame = self.pool[state.function].pop().unwrap_or_else(|| Frame {
            registers: self.template(callee),
            stack: Stack::new(callee.entry, 0),
            open: Vec::new(),
            progress: Progress::new(),
            state: state.clone(),
        });
        for &(place, offset) in &callee.slot_addresses {
            let bits = u128::from(offset.wrapping_add(base));
            frame.registers.splat(place, bits);
        }
        let program = self.program;
        let args = program.calls[call as usize].args.clone();
        let args = &program.call_places[args.start as usize..args.end as usize];
        let on = On {
            mask: lanes,
            all: w.live & !lanes == 0,
        };
        for (&param, &arg) in callee.params.iter().zip(args) {
            frame.registers.take(param, &w.registers, arg, on);
        }
        frame.stack.reset(callee.entry, lanes);
        frame.open.clear();
        frame.progress = Progress::new();
        let shadow = match (&self.checker, site) {
            (Some(checker), Some(site)) => checker.call(program, callee, w, site, lanes),
            _ => Shadow::default(),
        };
        frame.state = FrameState { shadow, ..state };
        self.frame_bytes += callee.warp_bytes();
        frame
    }

    /// The lanes have no room for their callee's frame: they trap.
    #[cold]
    pub(crate) fn overflow(&mut self, w: &mut Warp, site: Option<Site>, lanes: u32) {
        if let Some(site) = site {
            let origin = self.program.origin(site);
            for lane in lanes_of(lanes) {
                self.trap(w, lane, site, origin, TrapCode::StackOverflow, None);
            }
        }
    }

    /// The segment that a frame's lanes make their call in.
    fn segment_of_call(&self, w: &Warp) -> usize {
        match w.state.resume {
            Some(Resume::Call(behind, _)) => behind.segment - 1,
            // Of a tail call's lanes nobody is inside of anything.
            _ => 0,
        }
    }

    /// Goes back to the caller, the frame that ran having no lanes left.
    pub(crate) fn leave_frame(&mut self, w: &mut Warp) {
        let Some(caller) = w.callers.pop() else {
            return;
        };
        w.below -= caller.stack.depth();
        self.noted.keep(w.callers.len());
        w.local.release(w.state.slots);
        let frame = w.swap(caller);
        self.recycle(frame);
        self.switch_to(w.state.function);
    }

    pub(crate) fn recycle(&mut self, frame: Frame) {
        let function = frame.state.function;
        if let Some(program) = self.linked.program(function) {
            self.frame_bytes -= program.warp_bytes().min(self.frame_bytes);
        }
        if self.pool[function].len() < POOLED {
            self.pool[function].push(frame);
        }
    }

    /// Registers with the function's constants.
    pub(crate) fn template(&self, program: &Program<'_>) -> Registers {
        let mut template = Registers::new(&program.sizes);
        for &(place, bits) in &program.constants {
            template.splat(place, bits);
        }
        template
    }

    /// Goes on behind a call, with lanes that have come back.
    pub(crate) fn go_on(
        &mut self,
        w: &mut Warp,
        behind: Behind,
        mask: u32,
    ) -> Result<Cursor, ExecError> {
        if let Some(checker) = &mut self.checker {
            let call = self.program.segments[behind.segment].first as usize - 1;
            checker.after(self.program, w, behind.block, call, mask)?;
        }
        let record = self.begin_segment(w, behind.segment, mask, behind.pass)?;
        Ok(Cursor {
            block: behind.block,
            segment: behind.segment,
            op: self.program.segments[behind.segment].first as usize,
            pass: behind.pass,
            record,
        })
    }

    /// The lanes `mask` return the values in these registers.
    pub(crate) fn give_back(&mut self, w: &mut Warp, mask: u32, segment: usize, term: &[Place]) {
        let Some((home, call)) = w.state.home else {
            for (k, &place) in term.iter().enumerate() {
                for i in lanes_of(mask) {
                    let bits = w.registers.get(place, i);
                    self.returns.set(w.first_thread + i as u64, k, bits);
                }
            }
            // The frame of a kernel, or one in its place: nobody waits.
            self.retire(w, segment, mask);
            return;
        };
        self.leave_function(w, segment, mask);
        match self.options.mode {
            Mode::Stack => {
                let frame = &mut w.callers[home];
                self.hand_back(frame, call, &w.registers, mask, term);
            }
            Mode::Its => self.its_return(w, (home, call), mask, term),
        }
    }

    /// Puts returned values into the registers of a frame that made a call.
    pub(crate) fn hand_back(
        &self,
        frame: &mut Frame,
        call: u32,
        from: &Registers,
        mask: u32,
        values: &[Place],
    ) {
        if let Some(caller) = self.linked.program(frame.state.function) {
            let results = caller.calls[call as usize].results.clone();
            let results = &caller.call_places[results.start as usize..results.end as usize];
            let on = On { mask, all: false };
            for (&result, &value) in results.iter().zip(values) {
                frame.registers.take(result, from, value, on);
            }
        }
    }

    /// Lanes leave the function that runs, and stay alive.
    pub(crate) fn leave_function(&mut self, w: &mut Warp, segment: usize, lanes: u32) {
        w.stack.retire(lanes);
        if w.state.function == self.linked.entry
            && let Some(census) = &mut self.census
        {
            census.leave(&mut w.open, segment, lanes);
        }
    }

    /// Lanes leave for good, in a segment of the function that runs.
    pub(crate) fn retire(&mut self, w: &mut Warp, segment: usize, lanes: u32) {
        // The usual case; and with it a warp looks at all its frames at most 32
        // times, however often it calls.
        if lanes == 0 {
            return;
        }
        w.live &= !lanes;
        self.leave_function(w, segment, lanes);
        match self.options.mode {
            Mode::Stack => self.retire_from_callers(w, lanes),
            Mode::Its => self.its_retire(w, lanes),
        }
    }

    fn retire_from_callers(&mut self, w: &mut Warp, lanes: u32) {
        self.noted.keep(0);
        for frame in &mut w.callers {
            let depth = frame.stack.depth();
            frame.stack.retire(lanes);
            w.below -= depth - frame.stack.depth();
            if frame.state.function == self.linked.entry
                && let Some(census) = &mut self.census
                && let Some(Resume::Call(behind, _)) = frame.state.resume
            {
                census.leave(&mut frame.open, behind.segment - 1, lanes);
            }
        }
    }
}

/// Where a call stands.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CallSite {
    /// Op number.
    Op(usize),
    /// In tail position of a block.
    Tail(Block),
}

impl CallSite {
    fn place(self, program: &Program<'_>) -> (Site, warpfold_ir::Origin) {
        match self {
            Self::Op(i) => program.site(i),
            Self::Tail(b) => program.term_site(b),
        }
    }
}

#[cfg(test)]
mod tests {
    use warpfold_ir::{Block, parse_module};

    use crate::stack::LOOKS;
    use crate::{Arg, ExecOptions, Launch, StackEntry, run_functions};

    const DOWN: &str = "\
function %main(i32 varying) -> i32 {
    fn0 = %down(i32) -> i32
block0(v0: i32):
    v1 = call fn0(v0)
    ret v1
}

function %down(i32) -> i32 {
    fn0 = %down(i32) -> i32
block0(v0: i32):
    v1 = const.i32 0
    v2 = icmp.i32 ne v0, v1
    br v2, block1, block2

block1:
    v3 = const.i32 1
    v4 = isub.i32 v0, v3
    v5 = call fn0(v4)
    v6 = iadd.i32 v5, v3
    ret v6

block2:
    v7 = udiv.i32 v3, v0
    ret v7
}
";

    /// A call looks at so many frames, however deep it is: also where lanes
    /// part on the way, and where they trap at the bottom.
    #[test]
    fn a_call_does_not_look_at_all_frames() {
        for (traps, end) in [(0, "ret v0"), (32, "v7 = udiv.i32 v1, v0\n    ret v7")] {
            let text = DOWN.replace("v7 = udiv.i32 v3, v0\n    ret v7", end);
            let module = parse_module(&text).expect("valid text");
            let functions: Vec<_> = module.functions.iter().collect();
            let looks = |depth: u128, timeline: bool| {
                LOOKS.set(0);
                let args = (0..32).map(|lane| depth + 3 * lane).collect();
                let launch = Launch::linear(1, 32).with_args(vec![Arg::Varying(args)]);
                let options = ExecOptions {
                    call_depth: 10_000,
                    timeline,
                    ..ExecOptions::default()
                };
                let run = run_functions(&functions, 0, &launch, &options).expect("it ends");
                assert_eq!(run.traps.len(), traps);
                assert!(u128::from(run.counters.max_call_depth) > depth);
                if let Some(t) = run.timeline {
                    assert_eq!(t.deepest, at_the_bottom(depth as u32));
                }
                LOOKS.get()
            };
            for timeline in [false, true] {
                let (once, twice) = (looks(1_000, timeline), looks(2_000, timeline));
                assert!(twice < 3 * once, "{once} looks, then {twice}");
            }
        }
    }

    /// A lane that traps far down is gone from what was noted of all frames above, and a
    /// frame that was left is noted anew.
    #[test]
    fn what_is_noted_of_callers_is_as_they_are() {
        let text = DOWN.replace(
            "    v1 = const.i32 0\n    v2 = icmp",
            "    v1 = const.i32 0
    v8 = const.i32 1000020
    v9 = icmp.i32 eq v0, v8
    trap if v9, user7
    v2 = icmp",
        );
        let main = "    v1 = call fn0(v0)\n    ret v1";
        let text = text.replace(
            main,
            "    v2 = const.i32 9
    v3 = call fn0(v2)
    jump block1

block1:
    v1 = call fn0(v0)
    ret v1",
        );
        let text = text.replace("v7 = udiv.i32 v3, v0\n    ret v7", "ret v0");
        let module = parse_module(&text).expect("valid text");
        let functions: Vec<_> = module.functions.iter().collect();
        for (other, traps, left) in [(1_000_040, 1, 1), (40, 0, 3)] {
            let args = Arg::Varying(vec![40, other]);
            let launch = Launch::linear(1, 2).with_args(vec![args]);
            let options = ExecOptions {
                timeline: true,
                ..ExecOptions::default()
            };
            let run = run_functions(&functions, 0, &launch, &options).expect("it ends");
            assert_eq!(run.traps.len(), traps);
            let deepest = run.timeline.expect("it was asked for").deepest;
            assert_eq!(deepest.len(), 1 + 40 + 1);
            assert!(deepest.iter().all(|e| e.mask == left), "{deepest:?}");
            assert!(deepest[..41].iter().all(|e| e.pc == Block::from_u32(1)));
        }
    }

    /// The stacks when the last lane of 32 is at the bottom, 3 frames below the one
    /// before it and so on, the first one `depth` calls deep.
    fn at_the_bottom(depth: u32) -> Vec<StackEntry> {
        let entry = |function, pc: u32, join: Option<u32>, mask| StackEntry {
            function,
            pc: Block::from_u32(pc),
            join: join.map(Block::from_u32),
            mask,
        };
        let mut all = vec![entry(0, 0, None, u32::MAX)];
        let mut lanes = u32::MAX;
        for level in 0..depth + 3 * 31 {
            let beyond = level.checked_sub(depth);
            match beyond.is_some_and(|n| n % 3 == 0) {
                // The lowest lane waits at the join.
                true => {
                    all.push(entry(1, 2, None, lanes));
                    lanes &= lanes - 1;
                    all.push(entry(1, 1, Some(2), lanes));
                }
                false => all.push(entry(1, 1, None, lanes)),
            }
        }
        all.push(entry(1, 0, None, lanes));
        all
    }
}
