//! Instructions that are no lane-wise functions of their operands: memory,
//! other lanes, special registers, barriers, guarded exits and traps, calls.

use warpfold_ir::{Opcode, Type};

use crate::counters::Side;
use crate::engine::Engine;
use crate::error::ExecError;
use crate::its::State;
use crate::lanes::TYPES;
use crate::launch::Mode;
use crate::registers::{LANES, Lane, On, put};
use crate::warp::Warp;
use crate::{access, atomic, cross};

/// What an op that is not lane-wise did.
pub(crate) enum Special {
    Next,
    /// These lanes trapped.
    Fault(u32),
    /// These lanes left.
    Exit(u32),
    /// The lanes wait for others.
    Wait(State),
    /// The number of the call.
    Call(u32),
}

impl Engine<'_> {
    /// Executes an op that is no lane-wise function of its operands.
    pub(crate) fn special(&mut self, w: &mut Warp, i: usize, on: On) -> Result<Special, ExecError> {
        let op = &self.program.ops[i];
        let opcode = Opcode::ALL[usize::from(op.code / TYPES)];
        let ty = Type::ALL[usize::from(op.code % TYPES)];
        let effects = opcode.effects();
        if effects.calls {
            return Ok(Special::Call(u32::from(op.c)));
        }
        if (effects.reads || effects.writes) && !effects.syncs {
            let side = match (opcode.shape().is_atomic(), effects.writes) {
                (true, _) => Side::Atomic,
                (false, true) => Side::Store,
                (false, false) => Side::Load,
            };
            return self.access(w, i, on, opcode, ty, side);
        }
        match opcode {
            Opcode::Exit => Ok(Special::Exit(on.mask)),
            Opcode::TrapIf => {
                self.trap_explicitly(w, i, on.mask);
                // Like an exit, it ends its segment.
                Ok(Special::Exit(on.mask))
            }
            Opcode::Barrier => match w.live & !on.mask {
                0 => Ok(Special::Wait(State::Barrier)),
                // These wait until the others are at their join.
                missing if self.options.mode == Mode::Stack => {
                    Err(self.barrier_divergence(w, i, on.mask, missing))
                }
                _ => Ok(Special::Wait(State::Barrier)),
            },
            Opcode::WarpSync => self.warp_sync(w, i, on.mask),
            _ => {
                if !cross::execute(&mut w.registers, opcode, ty, op, on)
                    && let Some(ids) = self.special_register(w, opcode)
                {
                    put(
                        &mut u32::file_mut(&mut w.registers)[usize::from(op.dst)],
                        ids,
                        on,
                    );
                }
                Ok(Special::Next)
            }
        }
    }

    /// Lanes wait at op `i` for others that cannot come.
    pub(crate) fn barrier_divergence(
        &self,
        w: &Warp,
        i: usize,
        arrived: u32,
        missing: u32,
    ) -> ExecError {
        let (site, origin) = self.program.site(i);
        ExecError::BarrierDivergence {
            arrived,
            missing,
            site,
            origin,
            function: w.state.function,
            grid_block: w.grid_block,
            warp: w.number,
        }
    }

    /// The value of a special register; `None` for what is none (a fence,
    /// which has nothing to do where every access is in order).
    fn special_register(&self, w: &Warp, opcode: Opcode) -> Option<[u32; LANES]> {
        let [bx, by, bz] = self.dims.block;
        let [gx, gy, gz] = self.dims.grid;
        let block = w.grid_block;
        let (gx64, gy64) = (u64::from(gx), u64::from(gy));
        let uniform = |x: u32| [x; LANES];
        Some(match opcode {
            Opcode::LaneId => std::array::from_fn(|i| i as u32),
            Opcode::WarpId => uniform(w.number),
            Opcode::TidX => w.tid[0],
            Opcode::TidY => w.tid[1],
            Opcode::TidZ => w.tid[2],
            Opcode::CtaidX => uniform((block % gx64) as u32),
            Opcode::CtaidY => uniform((block / gx64 % gy64) as u32),
            Opcode::CtaidZ => uniform((block / gx64 / gy64) as u32),
            Opcode::NtidX => uniform(bx),
            Opcode::NtidY => uniform(by),
            Opcode::NtidZ => uniform(bz),
            Opcode::NctaidX => uniform(gx),
            Opcode::NctaidY => uniform(gy),
            Opcode::NctaidZ => uniform(gz),
            _ => return None,
        })
    }

    /// Executes a load, store or atomic access.
    fn access(
        &mut self,
        w: &mut Warp,
        i: usize,
        on: On,
        opcode: Opcode,
        ty: Type,
        side: Side,
    ) -> Result<Special, ExecError> {
        let program = self.program;
        let op = &program.ops[i];
        let code = &program.accesses[usize::from(op.c)];
        let mut spaces = access::Spaces {
            memory: &mut self.memory,
            shared: &mut self.shared,
            local: &mut w.local,
        };
        let r = &mut w.registers;
        let request = match side {
            Side::Load => access::load(r, &spaces, op, code, on),
            Side::Store => access::store(r, &mut spaces, op, code, on),
            Side::Atomic => atomic::access(r, &mut spaces, op, opcode, ty, code, on),
        };
        self.changes += u64::from(request.changed);
        request.count(&mut self.tally.counters, code, side);
        self.record_access(w, i, code, &request, opcode);
        self.time_access(w, i, &request);
        if self.checker.is_some() {
            self.check_access(w, i, code, &request, opcode)?;
        }
        if request.faults == 0 {
            return Ok(Special::Next);
        }
        self.trap_lanes(w, i, request.faults, Some(&request.address));
        Ok(Special::Fault(request.faults))
    }

    /// Thread indices of the lanes from thread `first` of a block on.
    pub(crate) fn thread_ids(&self, first: u32) -> [[u32; LANES]; 3] {
        let [x, y, _] = self.dims.block;
        [
            std::array::from_fn(|i| (first + i as u32) % x),
            std::array::from_fn(|i| (first + i as u32) / x % y),
            std::array::from_fn(|i| (first + i as u32) / x / y),
        ]
    }
}
