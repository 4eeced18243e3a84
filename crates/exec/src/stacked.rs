//! Stack mode: running a warp by its reconvergence stack.
//!
//! The top entry of the [stack](crate::stack) says which lanes run which block. At
//! the end of a pass the lanes move on, and the stack with them; when it is empty
//! the frame that it belongs to is done. Lanes wait at joins for all others, so a
//! lane that spins for one that waits spins for ever.

use crate::calls::Resume;
use crate::engine::Engine;
use crate::error::ExecError;
use crate::warp::{Flow, Pause, Warp};

impl Engine<'_> {
    /// Runs a warp until it ends or waits.
    pub(crate) fn run_stacked(&mut self, w: &mut Warp) -> Result<Pause, ExecError> {
        self.switch_to(w.state.function);
        loop {
            if !w.state.pending.is_empty() {
                self.dispatch(w);
                continue;
            }
            let top = w.stack.top().copied();
            let (cursor, mask) = match w.state.resume.take() {
                Some(Resume::Barrier(cursor)) => {
                    self.time_rest(w, cursor);
                    (cursor, top.map_or(0, |e| e.mask))
                }
                Some(Resume::Call(behind, mask)) => match mask & w.live {
                    0 => continue,
                    left => (self.go_on(w, behind, left)?, left),
                },
                None => match top {
                    Some(top) => (self.enter(w, top.pc, top.mask)?, top.mask),
                    None if w.callers.is_empty() => return Ok(Pause::Finished),
                    None => {
                        self.leave_frame(w);
                        continue;
                    }
                },
            };
            match self.run_pass(w, cursor, mask)? {
                Flow::End(mask) => self.terminate(w, cursor, mask)?,
                Flow::Gone | Flow::Call => {}
                Flow::Wait { at, .. } => {
                    if self.timing.is_some() {
                        self.time_cut(w, self.rest(at).all);
                    }
                    w.state.resume = Some(Resume::Barrier(at));
                    return Ok(Pause::Barrier);
                }
            }
        }
    }
}
