//! What a kernel of our own IR must do, one thread at a time, without masks.
//!
//! The [executor](warpfold::exec) runs 32 lanes together under masks. Here the same
//! function is run for one thread after the other, the way its text reads: a guard
//! is an `if`, a branch a jump, a call a call. For kernels whose lanes do not see
//! each other except across barriers, and do not race between these, both must
//! leave the same results, traps and memory. So this checks everything that masks,
//! joins, schedulers and fast paths could get wrong, in kernels that CLIF cannot
//! say (with guards, say) as in others.
//!
//! The threads of a block run in turns: each to its next barrier, `warp_sync` or end,
//! then the next. When all that are left are at one they go on; those at a `warp_sync`
//! earlier, as soon as all that their mask names are at one with the same mask. Of a lane-wise opcode [`warpfold::ir::eval`] says what one lane does; all
//! else, memory included, is done here and shares no code with the executor. What a
//! guard leaves undefined is a number that nothing else has.
//!
//! Not run are cross-lane operations: [`unsupported`] says so beforehand.

mod compare;
mod memory;
mod thread;

use warpfold::exec::Launch;
use warpfold::ir::{Function, Opcode, TrapCode};

pub use compare::compare;

use memory::Memory;
use thread::{Pause, Thread};

/// How one thread ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// It returned these values, as bits.
    Returned(Vec<u128>),
    /// It left by an `exit`.
    Exited,
    /// It trapped.
    Trapped {
        /// Why.
        code: TrapCode,
        /// In the function at this position.
        function: usize,
        /// At this place.
        site: warpfold::exec::Site,
    },
}

/// What a launch must leave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expected {
    /// By thread of the grid.
    pub threads: Vec<End>,
    /// The buffers' contents.
    pub memory: Vec<Vec<u8>>,
    /// Instructions executed, terminators included.
    pub steps: u64,
}

/// Why there is no answer.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ScalarError {
    /// It cannot be run thread by thread.
    #[error("`{0}` depends on other lanes")]
    Unsupported(Opcode),
    /// The function was not verified, or the launch does not fit it.
    #[error("the function or its launch is not complete")]
    Incomplete,
    /// Threads wait for ever, for others at a barrier or a `warp_sync`.
    #[error("threads wait for ever at barriers")]
    Deadlock,
    /// More steps than allowed.
    #[error("more than {0} steps")]
    StepLimit(u64),
}

/// The first instruction that cannot be run thread by thread, if there is one.
pub fn unsupported(functions: &[&Function]) -> Option<Opcode> {
    let all = functions.iter().flat_map(|f| {
        let insts = f.laid_out_insts();
        insts.map(|(_, i)| f.inst(i).op)
    });
    let mut lanes = all.filter(|op| {
        let effects = op.effects();
        effects.convergent && !effects.calls && !effects.syncs
    });
    lanes.next()
}

/// Runs the function at position `kernel` for every thread of the grid; calls find
/// the others by name. `limit` is on the steps of all threads together. Lanes that
/// have as many frames as `call_depth` says cannot call.
///
/// # Errors
/// If lanes see each other, or after `limit` steps.
pub fn run(
    functions: &[&Function],
    kernel: usize,
    launch: &Launch,
    call_depth: usize,
    limit: u64,
) -> Result<Expected, ScalarError> {
    if let Some(op) = unsupported(functions) {
        return Err(ScalarError::Unsupported(op));
    }
    let volume = |n: [u32; 3]| n.iter().map(|&n| u64::from(n)).product::<u64>();
    let (blocks, threads) = (volume(launch.grid), volume(launch.block));
    let mut world = World {
        functions,
        launch,
        call_depth,
        memory: Memory::new(launch),
        left: limit,
        limit,
    };
    let mut ends = Vec::new();
    for block in 0..blocks {
        world.memory.new_block();
        let mut running: Vec<Thread> = (0..threads)
            .map(|thread| Thread::new(&world, kernel, block, thread))
            .collect::<Result<_, _>>()?;
        world.run_block(&mut running)?;
        for thread in running {
            ends.push(thread.end.ok_or(ScalarError::Incomplete)?);
        }
    }
    Ok(Expected {
        threads: ends,
        memory: world.memory.into_buffers(),
        steps: limit - world.left,
    })
}

/// What all threads share.
struct World<'a> {
    functions: &'a [&'a Function],
    launch: &'a Launch,
    call_depth: usize,
    memory: Memory,
    left: u64,
    limit: u64,
}

impl World<'_> {
    /// Runs the threads of a block to their ends.
    fn run_block(&mut self, threads: &mut [Thread]) -> Result<(), ScalarError> {
        // Why each one stopped; `None` of those that can run.
        let mut stopped: Vec<Option<Pause>> = vec![None; threads.len()];
        loop {
            let mut ran = false;
            for (thread, stopped) in threads.iter_mut().zip(&mut stopped) {
                if stopped.is_none() {
                    *stopped = Some(self.run(thread)?);
                    ran = true;
                }
            }
            let open = |p: &Option<Pause>| *p != Some(Pause::Ended);
            if !stopped.iter().any(open) {
                return Ok(());
            }
            if stopped
                .iter()
                .filter(|p| open(p))
                .all(|p| *p == Some(Pause::Barrier))
            {
                stopped
                    .iter_mut()
                    .filter(|p| open(p))
                    .for_each(|p| *p = None);
                continue;
            }
            for warp in stopped.chunks_mut(32) {
                let now = warp.to_vec();
                for (lane, thread) in warp.iter_mut().enumerate() {
                    let Some(Pause::WarpSync(mask)) = now[lane] else {
                        continue;
                    };
                    let come = |(l, p): (usize, &Option<Pause>)| {
                        mask >> l & 1 == 0
                            || matches!(p, Some(Pause::Ended))
                            || *p == Some(Pause::WarpSync(mask))
                    };
                    if mask >> lane & 1 == 1 && now.iter().enumerate().all(come) {
                        *thread = None;
                    }
                }
            }
            if !ran && stopped.iter().all(Option::is_some) {
                return Err(ScalarError::Deadlock);
            }
        }
    }
}
