//! Following the run: the way of each warp of the block that runs, handed to
//! the multiprocessor when the block is done.

use crate::access::Request;
use crate::engine::Engine;
use crate::error::ExecError;
use crate::linked::Linked;
use crate::timing::code::{Code, First};
use crate::timing::model::TimingModel;
use crate::timing::result::Timing;
use crate::timing::sm::Multiprocessor;
use crate::warp::{Cursor, Warp};

/// A step of a warp's way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// It issues this segment.
    Segment(u32),
    /// It issues a segment from this issue on.
    Rest(u32),
    /// In that segment: this issue reaches memory, shared or other.
    Access { issue: u32, shared: bool },
    /// Of that segment the last issues, so many, do not happen.
    Cut(u32),
    /// Lanes take this edge.
    Edge(u32),
    /// Lanes give way.
    Yield,
    /// All its lanes that have not left wait for the other warps of the block.
    Barrier,
}

/// The record of the block that runs, and the multiprocessor so far.
#[derive(Debug)]
pub(crate) struct Recorder {
    code: Code,
    /// By warp of the block.
    ways: Vec<Vec<Step>>,
    /// Steps in `ways`, and how many there may be beside those of the blocks
    /// that are resident already.
    steps: u64,
    most: u64,
    limit: u64,
    sm: Multiprocessor,
}

impl Recorder {
    pub(crate) fn new(
        linked: &Linked<'_>,
        model: &TimingModel,
        warps: u32,
    ) -> Result<Self, ExecError> {
        Ok(Self {
            code: Code::new(linked),
            ways: vec![Vec::new(); warps as usize],
            steps: 0,
            most: model.max_steps,
            limit: model.max_steps,
            sm: Multiprocessor::new(model, warps)?,
        })
    }

    #[cold]
    fn push(&mut self, warp: u32, step: impl FnOnce(&Code) -> Option<Step>) {
        if self.steps > self.most {
            return;
        }
        if let Some(step) = step(&self.code) {
            self.ways[warp as usize].push(step);
            self.steps += 1;
        }
    }

    /// The block that ran is done.
    fn end_block(&mut self) -> Result<(), ExecError> {
        self.check()?;
        let ways = self.ways.iter_mut().map(std::mem::take).collect();
        self.steps = 0;
        self.sm.add_block(&self.code, ways);
        self.most = self.limit.saturating_sub(self.sm.steps());
        Ok(())
    }

    fn check(&self) -> Result<(), ExecError> {
        match self.steps > self.most {
            true => Err(ExecError::TimingLimit { limit: self.limit }),
            false => Ok(()),
        }
    }

    /// The launch is done.
    pub(crate) fn finish(mut self) -> Timing {
        self.sm.finish(&self.code)
    }
}

impl Engine<'_> {
    /// A warp begins a segment of the function that runs.
    #[inline(always)]
    pub(crate) fn time_segment(&mut self, w: &Warp, segment: usize) {
        if let Some(t) = &mut self.timing {
            let function = w.state.function;
            t.push(w.number, |code| {
                let First { segment: first, .. } = code.first[function];
                Some(Step::Segment(first + segment as u32))
            });
        }
    }

    /// Lanes of a warp take an edge.
    #[inline(always)]
    pub(crate) fn time_edge(&mut self, w: &Warp, edge: usize) {
        if let Some(t) = &mut self.timing {
            let function = w.state.function;
            t.push(w.number, |code| {
                let edge = code.first[function].edge + edge as u32;
                (!code.edges[edge as usize].is_empty()).then_some(Step::Edge(edge))
            });
        }
    }

    /// Lanes of a warp reach memory at op `i`.
    #[inline(always)]
    pub(crate) fn time_access(&mut self, w: &Warp, i: usize, request: &Request) {
        if let Some(t) = &mut self.timing {
            let function = w.state.function;
            t.push(w.number, |code| {
                let op = code.first[function].op as usize + i;
                let issue = code.issue_of_op[op];
                let shared = request.global | request.local == 0;
                (request.done() != 0).then_some(Step::Access { issue, shared })
            });
        }
    }

    /// The last `n` issues of the segment that a warp is in do not happen.
    pub(crate) fn time_cut(&mut self, w: &Warp, n: u64) {
        if let Some(t) = &mut self.timing {
            t.push(w.number, |_| Some(Step::Cut(n as u32)));
        }
    }

    /// Lanes of a warp go on in a segment, at the op of the cursor.
    pub(crate) fn time_rest(&mut self, w: &Warp, at: Cursor) {
        let done = at.op as u32 - self.program.segments[at.segment].first;
        if let Some(t) = &mut self.timing {
            let function = w.state.function;
            t.push(w.number, |code| {
                let segment = code.first[function].segment as usize + at.segment;
                Some(Step::Rest(code.segments[segment].start + done))
            });
        }
    }

    /// Lanes of a warp give way.
    pub(crate) fn time_yield(&mut self, w: &Warp) {
        if let Some(t) = &mut self.timing {
            t.push(w.number, |_| Some(Step::Yield));
        }
    }

    /// A warp waits at a barrier.
    pub(crate) fn time_barrier(&mut self, w: &Warp) {
        if let Some(t) = &mut self.timing {
            t.push(w.number, |_| Some(Step::Barrier));
        }
    }

    /// All warps of the block have ended.
    pub(crate) fn time_block(&mut self) -> Result<(), ExecError> {
        self.timing.as_mut().map_or(Ok(()), Recorder::end_block)
    }
}
