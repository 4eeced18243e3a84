//! A run of the executor against what was expected of it.

use std::fmt;

use warpfold::exec::Outcome;

use super::{Expected, LaneEnd};

/// Where a run of the executor differs from what was expected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mismatch {
    /// The thread, where it is about one.
    pub thread: Option<u64>,
    /// What differs.
    pub message: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(thread) = self.thread {
            write!(f, "thread {thread}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Mismatch {}

/// Compares a run with what the interpreter did: the lowest thread that
/// differs in its results or trap, then memory.
///
/// # Errors
/// The first difference.
pub fn compare(expected: &Expected, run: &Outcome) -> Result<(), Mismatch> {
    let mut traps = vec![None; expected.lanes.len()];
    for trap in &run.traps {
        let Some(slot) = traps.get_mut(trap.thread as usize) else {
            return Err(Mismatch {
                thread: Some(trap.thread),
                message: "traps, but is no thread of the grid".into(),
            });
        };
        *slot = Some(trap);
    }
    for (thread, (end, trap)) in expected.lanes.iter().zip(traps).enumerate() {
        let differs = |message: String| Mismatch {
            thread: Some(thread as u64),
            message,
        };
        match (end, trap) {
            (LaneEnd::Trapped { code, inst }, Some(trap)) => {
                if (*code, *inst) != (trap.code, trap.origin.inst) {
                    return Err(differs(format!(
                        "traps with {code} at inst{inst}, but here with {} at inst{}",
                        trap.code, trap.origin.inst
                    )));
                }
            }
            (LaneEnd::Trapped { code, inst }, None) => {
                return Err(differs(format!(
                    "traps with {code} at inst{inst}, but not here"
                )));
            }
            (LaneEnd::Returned(_), Some(trap)) => {
                return Err(differs(format!("returns, but here: {trap}")));
            }
            (LaneEnd::Returned(values), None) => {
                let got = run.returns.get(thread).unwrap_or(&[]);
                if values != got {
                    return Err(differs(format!("returns {values:x?}, but here {got:x?}")));
                }
            }
        }
    }
    for (buffer, bytes) in expected.memory.iter().enumerate() {
        let got = run.memory.bytes(buffer);
        if let Some(at) = (0..bytes.len().max(got.len())).find(|&i| bytes.get(i) != got.get(i)) {
            return Err(Mismatch {
                thread: None,
                message: format!(
                    "byte {at} of buffer {buffer} is {:x?}, but here {:x?}",
                    bytes.get(at),
                    got.get(at)
                ),
            });
        }
    }
    Ok(())
}
