//! Running one warp: the loop over block passes and their ops.
//!
//! The top of the stack says which lanes run which block. A pass runs the
//! block's segments in order; a guarded exit may leave fewer lanes, or none, to
//! the next one. At the end the terminator moves the lanes on. A barrier
//! interrupts a pass: the warp then waits, and goes on behind it. So does a call,
//! see [`calls`](crate::calls).

use warpfold_ir::Block;

use crate::calls::{Behind, CallSite, Frame, FrameState, Resume};
use crate::census::Open;
use crate::counters::WarpCounters;
use crate::engine::Engine;
use crate::error::ExecError;
use crate::lanes::execute;
use crate::local::LocalStack;
use crate::loops::Step;
use crate::program::{NO_GUARD, Op};
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
    /// Whether no other warp of the block can run.
    pub alone: bool,
    /// Executions of region heads whose lanes are inside.
    pub open: Vec<Open>,
}

/// How a pass goes on.
enum Flow {
    /// At the terminator.
    End,
    /// All its lanes have left.
    Gone,
    Barrier,
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
        self.switch_to(w.state.function);
        loop {
            if !w.state.pending.is_empty() {
                self.dispatch(w);
                continue;
            }
            let cursor = match w.state.resume.take() {
                Some(Resume::Barrier(cursor)) => cursor,
                Some(Resume::Call(behind)) => match self.go_on(w, behind)? {
                    Some(cursor) => cursor,
                    None => continue,
                },
                None => match self.enter(w)? {
                    Some(cursor) => cursor,
                    None if w.callers.is_empty() => return Ok(Pause::Finished),
                    None => {
                        self.leave_frame(w);
                        continue;
                    }
                },
            };
            let flow = match self.checker.is_some() {
                false => self.run_pass::<false>(w, cursor)?,
                true => self.run_pass::<true>(w, cursor)?,
            };
            match flow {
                Flow::End => self.terminate(w, cursor.block)?,
                Flow::Gone | Flow::Call => {}
                Flow::Barrier => return Ok(Pause::Barrier),
            }
        }
    }

    /// Begins a pass of the block at the top of the stack.
    fn enter(&mut self, w: &mut Warp) -> Result<Option<Cursor>, ExecError> {
        let Some(&top) = w.stack.top() else {
            return Ok(None);
        };
        let code = self.program.blocks[top.pc]
            .as_ref()
            .expect("targets of a verified function are laid out");
        let segment = code.segments.start as usize;
        self.tally.enter_block(top.pc, top.mask);
        if let Some(census) = &mut self.census
            && w.state.function == self.linked.entry
        {
            census.enter(&mut w.open, top.pc, top.mask);
        }
        if let Some(checker) = &mut self.checker {
            checker.enter(self.program, w, top.pc, top.mask)?;
        }
        let pass = self.record_pass(w, top.pc, top.mask);
        let record = self.begin_segment(w, segment, top.mask, pass)?;
        Ok(Some(Cursor {
            block: top.pc,
            segment,
            op: self.program.segments[segment].first as usize,
            pass,
            record,
        }))
    }

    /// Counts a segment. Returns the timeline record of its first issue.
    pub(crate) fn begin_segment(
        &mut self,
        w: &mut Warp,
        segment: usize,
        mask: u32,
        pass: u32,
    ) -> Result<usize, ExecError> {
        if self.too_many_records {
            return Err(self.record_limit());
        }
        let code = &self.program.segments[segment];
        match self.steps_left.checked_sub(code.issues.all) {
            Some(left) => self.steps_left = left,
            None => {
                return Err(ExecError::StepLimit {
                    limit: self.options.step_limit,
                    block: code.block,
                    function: w.state.function,
                    mask,
                    grid_block: w.grid_block,
                    warp: w.number,
                });
            }
        }
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

    /// Runs the ops from the cursor to the end of the block. A function of its own
    /// where something is checked, so that the checks cost nothing elsewhere.
    fn run_pass<const CHECKED: bool>(
        &mut self,
        w: &mut Warp,
        mut at: Cursor,
    ) -> Result<Flow, ExecError> {
        let program = self.program;
        let mut mask = w.stack.top().map_or(0, |e| e.mask);
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
                        Special::Barrier => {
                            w.state.resume = Some(Resume::Barrier(Cursor { op: i + 1, ..at }));
                            return Ok(Flow::Barrier);
                        }
                        Special::Call(call) => {
                            // The last op of its segment, too.
                            let lost = self.call(w, call, mask, CallSite::Op(i));
                            self.retire(w, at.segment, lost);
                            w.state.resume = Some(Resume::Call(Behind {
                                block: at.block,
                                segment: at.segment + 1,
                                pass: at.pass,
                                mask: mask & !lost,
                            }));
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
                return Ok(Flow::End);
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
        if left != 0 {
            let after = w.lanes(left);
            self.tally.add(rest, after, &mut w.counters);
        } else {
            self.steps_left += rest.all;
            self.time_cut(w, rest.all);
            let term = code.last.then_some(code.block);
            self.tally.abandon(i + 1..code.end as usize, term);
        }
        let record = at.record + (i + 1 - code.first as usize);
        self.correct_records(record, rest.all as usize, left);
        left
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
