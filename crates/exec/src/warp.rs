//! Running one block pass of a warp: the loop over its ops.
//!
//! Which lanes run which block is for the mode to say: the
//! [reconvergence stack](crate::stacked), or each [group](crate::its) by itself. A
//! pass runs the block's segments in order; a guarded exit may leave fewer lanes,
//! or none, to the next one. At the end the terminator moves the lanes on. A barrier
//! interrupts a pass: the lanes then wait, and go on behind it. So does a call,
//! see [`calls`](crate::calls).

use warpfold_ir::Block;

use crate::calls::{Behind, CallSite, Frame, FrameState, Pending, Resume};
use crate::census::Open;
use crate::counters::WarpCounters;
use crate::engine::Engine;
use crate::error::ExecError;
use crate::its::{Its, State};
use crate::lanes::execute;
use crate::launch::Mode;
use crate::local::LocalStack;
use crate::loops::Step;
use crate::program::{Issues, NO_GUARD, Op};
use crate::progress::Progress;
use crate::registers::{LANES, On, Registers};
use crate::special::Special;
use crate::stack::Stack;
use crate::tally::WarpLanes;

/// Where in a block a warp is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor {
    pub block: Block,
    pub segment: usize,
    pub op: usize,
    /// The timeline's number of the pass, and of the segment's first issue.
    pub pass: u32,
    pub record: usize,
}

/// Why a warp stops running.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pause {
    /// All lanes have left.
    Finished,
    /// It waits at a barrier.
    Barrier,
    /// What lanes it has left give way to other warps.
    Yield,
}

/// A warp.
#[derive(Clone, Debug)]
pub(crate) struct Warp {
    pub registers: Registers,
    pub stack: Stack,
    /// What else there is of the frame that runs.
    pub state: FrameState,
    /// The frames below it, that of the kernel first.
    pub callers: Vec<Frame>,
    /// Entries on their stacks, kept up to date: a call must not have to look at
    /// every frame.
    pub below: usize,
    /// Lanes that have a thread.
    pub exist: u32,
    /// Lanes that have not left.
    pub live: u32,
    /// Stack slots of all frames.
    pub local: LocalStack,
    /// Number in the block.
    pub number: u32,
    pub grid_block: u64,
    /// Thread of the grid that is lane 0.
    pub first_thread: u64,
    /// Thread indices in the block: x, y, z.
    pub tid: [[u32; LANES]; 3],
    pub counters: WarpCounters,
    pub progress: Progress,
    /// How often other warps might have acted while it waited at a barrier.
    pub age: u64,
    /// Whether no other warp of the block can run.
    pub alone: bool,
    /// Executions of region heads whose lanes are inside.
    pub open: Vec<Open>,
    /// Where the lanes are, with independent thread scheduling.
    pub its: Its,
}

/// How a pass goes on.
pub(crate) enum Flow {
    /// At the terminator, with these lanes.
    End(u32),
    /// All its lanes have left.
    Gone,
    /// Its lanes wait for others, and go on there.
    Wait { at: Cursor, state: State },
    /// Its lanes go into other functions.
    Call,
}

impl Warp {
    pub(crate) fn lanes(&self, active: u32) -> WarpLanes {
        WarpLanes {
            exist: self.exist,
            live: self.live,
            active,
        }
    }

    pub(crate) fn on(&self, mask: u32) -> On {
        On {
            mask,
            all: self.live & !mask == 0,
        }
    }
}

impl Engine<'_> {
    /// Runs a warp until it ends or waits.
    pub(crate) fn run_warp(&mut self, w: &mut Warp) -> Result<Pause, ExecError> {
        match self.options.mode {
            Mode::Stack => self.run_stacked(w),
            Mode::Its => self.run_its(w),
        }
    }

    /// Lanes enter a block.
    pub(crate) fn enter(
        &mut self,
        w: &mut Warp,
        block: Block,
        mask: u32,
    ) -> Result<Cursor, ExecError> {
        let code = self.program.blocks[block]
            .as_ref()
            .expect("targets of a verified function are laid out");
        let segment = code.segments.start as usize;
        self.tally.enter_block(block, mask);
        if let Some(census) = &mut self.census
            && w.state.function == self.linked.entry
        {
            census.enter(&mut w.open, block, mask);
        }
        if let Some(checker) = &mut self.checker {
            checker.enter(self.program, w, block, mask)?;
        }
        let pass = self.record_pass(w, block, mask);
        let record = self.begin_segment(w, segment, mask, pass)?;
        Ok(Cursor {
            block,
            segment,
            op: self.program.segments[segment].first as usize,
            pass,
            record,
        })
    }

    /// Counts a segment. Returns the timeline record of its first issue.
    pub(crate) fn begin_segment(
        &mut self,
        w: &mut Warp,
        segment: usize,
        mask: u32,
        pass: u32,
    ) -> Result<usize, ExecError> {
        debug_assert!(mask != 0, "nothing issues without an active lane");
        if self.too_many_records {
            return Err(self.record_limit());
        }
        let code = &self.program.segments[segment];
        self.spend_steps(w, code.issues.all, code.block, mask)?;
        let lanes = w.lanes(mask);
        self.tally
            .begin_segment(segment, code.issues, lanes, &mut w.counters);
        if let Some(census) = &self.census
            && w.state.function == self.linked.entry
        {
            census.segment(&mut w.open, segment, mask);
        }
        self.time_segment(w, segment);
        Ok(self.record_segment(segment, mask, pass))
    }

    /// Takes issues that are about to happen off the limit.
    #[inline(always)]
    pub(crate) fn spend_steps(
        &mut self,
        w: &Warp,
        issues: u64,
        block: Block,
        mask: u32,
    ) -> Result<(), ExecError> {
        match self.steps_left.checked_sub(issues) {
            Some(left) => {
                self.steps_left = left;
                Ok(())
            }
            None => Err(ExecError::StepLimit {
                limit: self.options.step_limit,
                block,
                function: w.state.function,
                mask,
                grid_block: w.grid_block,
                warp: w.number,
            }),
        }
    }

    /// Runs the ops from the cursor to the end of the block, for the lanes `mask`.
    pub(crate) fn run_pass(
        &mut self,
        w: &mut Warp,
        at: Cursor,
        mask: u32,
    ) -> Result<Flow, ExecError> {
        match self.checker.is_some() {
            false => self.run_ops::<false>(w, at, mask),
            true => self.run_ops::<true>(w, at, mask),
        }
    }

    /// A function of its own where something is checked, so that the checks cost
    /// nothing elsewhere.
    fn run_ops<const CHECKED: bool>(
        &mut self,
        w: &mut Warp,
        mut at: Cursor,
        mut mask: u32,
    ) -> Result<Flow, ExecError> {
        let program = self.program;
        loop {
            let segment = &program.segments[at.segment];
            let mut all = w.on(mask);
            let first = segment.first as usize;
            for i in at.op..segment.end as usize {
                let op = &program.ops[i];
                if CHECKED && let Some(checker) = &mut self.checker {
                    checker.before(program, w, i, mask)?;
                }
                let on = if op.guard == NO_GUARD {
                    all
                } else {
                    self.guard(w, op, mask, at.record + (i - first))
                };
                if on.mask == 0 {
                    if CHECKED {
                        self.check_result(w, at.block, i, mask)?;
                    }
                    continue;
                }
                let left = match execute(&mut w.registers, op, on) {
                    Step::Done => {
                        if CHECKED {
                            self.check_result(w, at.block, i, mask)?;
                        }
                        continue;
                    }
                    Step::Fault(lanes) => {
                        self.trap_lanes(w, i, lanes, None);
                        lanes
                    }
                    Step::Special => match self.special(w, i, on)? {
                        Special::Next => {
                            if CHECKED {
                                self.check_result(w, at.block, i, mask)?;
                            }
                            continue;
                        }
                        Special::Fault(lanes) => lanes,
                        Special::Exit(lanes) => {
                            // The last op of its segment: nothing to correct.
                            self.retire(w, at.segment, lanes);
                            mask &= !lanes;
                            continue;
                        }
                        Special::Wait(state) => {
                            let at = Cursor { op: i + 1, ..at };
                            return Ok(Flow::Wait { at, state });
                        }
                        Special::Call(call) => {
                            // The last op of its segment, too.
                            let (callees, lost) = self.callees(w, call, mask, CallSite::Op(i));
                            self.retire(w, at.segment, lost);
                            let behind = Behind {
                                block: at.block,
                                segment: at.segment + 1,
                                pass: at.pass,
                            };
                            match self.options.mode {
                                Mode::Stack => {
                                    w.state.pending = Pending::new(callees, false);
                                    w.state.resume = Some(Resume::Call(behind, mask & !lost));
                                }
                                Mode::Its => self.its_call(w, &callees, Some(behind), at.segment),
                            }
                            return Ok(Flow::Call);
                        }
                    },
                };
                if CHECKED && let Some(checker) = &mut self.checker {
                    checker.fault(program, w, i, left)?;
                }
                mask = self.lose_lanes(w, at, i, mask, left);
                all = w.on(mask);
                if CHECKED && mask != 0 {
                    self.check_result(w, at.block, i, mask)?;
                }
                if mask == 0 {
                    return Ok(Flow::Gone);
                }
            }
            if segment.last {
                return Ok(Flow::End(mask));
            }
            if mask == 0 {
                return Ok(Flow::Gone);
            }
            at.segment += 1;
            at.op = program.segments[at.segment].first as usize;
            at.record = self.begin_segment(w, at.segment, mask, at.pass)?;
        }
    }

    /// Lanes leave in the middle of a segment, at op `i`. Corrects what was
    /// counted for the issues after it; returns the lanes that go on.
    #[cold]
    fn lose_lanes(&mut self, w: &mut Warp, at: Cursor, i: usize, mask: u32, lanes: u32) -> u32 {
        let code = &self.program.segments[at.segment];
        let rest = self.program.issues(i as u32 + 1, code.end, code.last);
        let before = w.lanes(mask);
        self.tally.take_back(rest, before, &mut w.counters);
        self.retire(w, at.segment, lanes);
        let left = mask & !lanes;
        let next = Cursor { op: i + 1, ..at };
        if left != 0 {
            let after = w.lanes(left);
            self.tally.add(rest, after, &mut w.counters);
            self.correct_records(next, rest, left);
        } else {
            self.abandon(w, next, rest);
        }
        left
    }

    /// What was counted of a segment from the cursor on does not happen. Its lanes
    /// are taken back elsewhere.
    fn abandon(&mut self, w: &Warp, at: Cursor, rest: Issues) {
        let code = &self.program.segments[at.segment];
        self.steps_left += rest.all;
        self.time_cut(w, rest.all);
        let term = code.last.then_some(code.block);
        self.tally.abandon(at.op..code.end as usize, term);
        self.correct_records(at, rest, 0);
    }

    /// What is left of a segment behind the cursor.
    pub(crate) fn rest(&self, at: Cursor) -> Issues {
        let code = &self.program.segments[at.segment];
        self.program.issues(at.op as u32, code.end, code.last)
    }

    /// Lanes stop at the cursor: what is left of the segment is counted when they
    /// [take it up](Self::take_up), since other lanes run before.
    #[cold]
    pub(crate) fn put_off(&mut self, w: &mut Warp, at: Cursor, mask: u32) {
        let rest = self.rest(at);
        let lanes = w.lanes(mask);
        self.tally.take_back(rest, lanes, &mut w.counters);
        self.abandon(w, at, rest);
    }

    /// Lanes go on at the cursor, where they stopped.
    pub(crate) fn take_up(
        &mut self,
        w: &mut Warp,
        at: Cursor,
        mask: u32,
    ) -> Result<Cursor, ExecError> {
        if self.too_many_records {
            return Err(self.record_limit());
        }
        let code = &self.program.segments[at.segment];
        let rest = self.rest(at);
        self.spend_steps(w, rest.all, at.block, mask)?;
        let lanes = w.lanes(mask);
        self.tally.add(rest, lanes, &mut w.counters);
        let term = code.last.then_some(code.block);
        self.tally.take_up(at.op..code.end as usize, term);
        self.time_rest(w, at);
        let record = self.record_rest(at, mask);
        Ok(Cursor { record, ..at })
    }

    /// Evaluates a guard: puts the `else` value where it is false, and returns
    /// the lanes where it is true.
    fn guard(&mut self, w: &mut Warp, op: &Op, mask: u32, record: usize) -> On {
        let guard = &self.program.guards[usize::from(op.guard)];
        let on = mask & (w.registers.pred[usize::from(guard.pred)] ^ guard.flip);
        self.tally.guarded(mask, on);
        if let Some((dst, otherwise)) = guard.otherwise {
            let off = w.on(mask & !on);
            if off.mask != 0 {
                w.registers.copy(dst.kind, dst.reg, otherwise, off);
            }
        }
        self.record_guard(record, on);
        w.on(on)
    }
}
