//! One thread at work.

use warpfold::exec::{Arg, FUNCTION_BASE, LOCAL_BASE, SHARED_BASE, Site};
use warpfold::ir::{
    Block, BlockCall, CallTarget, Function, Imm, Inst, InstData, MemFlags, Opcode, Terminator,
    TrapCode, Type, Value, eval,
};

use super::memory::{Access, Slots, read, write};
use super::{End, ScalarError, World};

/// Why a thread stops running.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pause {
    Ended,
    Barrier,
    /// At a `warp_sync` with this mask.
    WarpSync(u32),
}

/// A thread.
pub(super) struct Thread {
    frames: Vec<Frame>,
    /// Indices and sizes by opcode.
    place: Place,
    pub end: Option<End>,
}

/// A function at work.
struct Frame {
    function: usize,
    block: Block,
    /// Instructions of the block done.
    done: usize,
    values: Vec<u128>,
    slots: Slots,
    /// The call below that its results go to.
    results: Option<Inst>,
}

/// Where a thread is in the grid.
#[derive(Clone, Copy)]
struct Place {
    thread: u64,
    tid: [u32; 3],
    ctaid: [u32; 3],
}

/// What an instruction did.
enum Step {
    Next,
    Pause(Pause),
    End(End),
    /// A frame more, or another one.
    Moved,
}

/// What a value is that a guard left undefined.
const UNDEFINED: u128 = 0x5a5a_a5a5_dead_0bad_c0de_5a5a_a5a5_1bad;

fn incomplete<T>(x: Option<T>) -> Result<T, ScalarError> {
    x.ok_or(ScalarError::Incomplete)
}

impl Thread {
    pub(super) fn new(
        world: &World<'_>,
        kernel: usize,
        block: u64,
        thread: u64,
    ) -> Result<Self, ScalarError> {
        let func = *incomplete(world.functions.get(kernel))?;
        let launch = world.launch;
        let per_block = launch.block.iter().map(|&n| u64::from(n)).product::<u64>();
        let number = (block * per_block + thread) as usize;
        let args = launch.args.iter().map(|arg| match arg {
            Arg::Uniform(n) => Some(*n),
            Arg::Varying(all) => all.get(number).copied(),
        });
        let args = incomplete(args.collect::<Option<Vec<u128>>>())?;
        let slots = incomplete(Slots::above(func, LOCAL_BASE))?;
        let at = |n: u64, [x, y, _]: [u32; 3]| {
            let (x, y) = (u64::from(x), u64::from(y));
            [n % x, n / x % y, n / x / y].map(|n| n as u32)
        };
        Ok(Self {
            frames: vec![Frame::new(func, kernel, &args, slots, None)?],
            place: Place {
                thread,
                tid: at(thread, launch.block),
                ctaid: at(block, launch.grid),
            },
            end: None,
        })
    }
}

impl Frame {
    fn new(
        func: &Function,
        function: usize,
        args: &[u128],
        slots: Slots,
        results: Option<Inst>,
    ) -> Result<Self, ScalarError> {
        let entry = incomplete(func.entry())?;
        let mut frame = Self {
            function,
            block: entry,
            done: 0,
            values: vec![UNDEFINED; func.num_values()],
            slots,
            results,
        };
        for (&param, &arg) in func.block(entry).params.iter().zip(args) {
            frame.set(func, param, arg);
        }
        Ok(frame)
    }

    fn get(&self, v: Value) -> u128 {
        self.values[v.as_u32() as usize]
    }

    fn set(&mut self, func: &Function, v: Value, bits: u128) {
        self.values[v.as_u32() as usize] = bits & func.ty(v).mask();
    }

    fn all(&self, values: &[Value]) -> Vec<u128> {
        values.iter().map(|&v| self.get(v)).collect()
    }

    fn go(&mut self, func: &Function, to: &BlockCall) {
        let args = self.all(&to.args);
        for (&param, arg) in func.block(to.block).params.iter().zip(args) {
            self.set(func, param, arg);
        }
        self.block = to.block;
        self.done = 0;
    }
}

impl World<'_> {
    /// Runs a thread to its next barrier or its end.
    pub(super) fn run(&mut self, thread: &mut Thread) -> Result<Pause, ScalarError> {
        loop {
            let step = self.step(thread)?;
            match step {
                Step::Next | Step::Moved => {}
                Step::Pause(why) => return Ok(why),
                Step::End(end) => {
                    thread.end = Some(end);
                    return Ok(Pause::Ended);
                }
            }
        }
    }

    fn step(&mut self, thread: &mut Thread) -> Result<Step, ScalarError> {
        let frame = incomplete(thread.frames.last_mut())?;
        let func = self.functions[frame.function];
        let Some(&inst) = func.block(frame.block).insts.get(frame.done) else {
            self.spend()?;
            return self.terminate(thread, func);
        };
        frame.done += 1;
        let data = func.inst(inst);
        self.spend()?;
        let on = data
            .guard
            .map(|g| (frame.get(g.pred) & 1 == 1) != g.negated);
        if on == Some(false) {
            let otherwise = data.guard.and_then(|g| g.otherwise);
            let bits = otherwise.map_or(UNDEFINED, |v| frame.get(v));
            for &r in &data.results {
                frame.set(func, r, bits);
            }
            return Ok(Step::Next);
        }
        let site = Site::Inst(inst);
        let trapped = |code, function| {
            Step::End(End::Trapped {
                code,
                function,
                site,
            })
        };
        let function = frame.function;
        match data.op {
            Opcode::Barrier => return Ok(Step::Pause(Pause::Barrier)),
            Opcode::WarpSync => {
                let mask = data.args.first().map_or(u32::MAX, |&v| frame.get(v) as u32);
                return Ok(Step::Pause(Pause::WarpSync(mask)));
            }
            Opcode::Exit => return Ok(Step::End(End::Exited)),
            Opcode::TrapIf => {
                let Imm::Trap(code) = data.imm else {
                    return Err(ScalarError::Incomplete);
                };
                return Ok(trapped(code, function));
            }
            Opcode::Call | Opcode::CallIndirect => {
                let (target, args) = incomplete(func.call(data))?;
                let args = frame.all(args);
                return self.call(thread, func, target, &args, Some(inst), site);
            }
            _ => {}
        }
        match self.result(thread, func, data)? {
            Err(code) => Ok(trapped(code, function)),
            Ok(bits) => {
                let frame = incomplete(thread.frames.last_mut())?;
                for &r in &data.results {
                    frame.set(func, r, bits);
                }
                Ok(Step::Next)
            }
        }
    }

    fn spend(&mut self) -> Result<(), ScalarError> {
        self.left =
            incomplete(self.left.checked_sub(1)).map_err(|_| ScalarError::StepLimit(self.limit))?;
        Ok(())
    }

    /// What an instruction yields that does not move the thread.
    fn result(
        &mut self,
        thread: &mut Thread,
        func: &Function,
        data: &InstData,
    ) -> Result<Result<u128, TrapCode>, ScalarError> {
        let frame = incomplete(thread.frames.last())?;
        if data.op.access(data.ty).is_some() {
            return Ok(self.access(thread, data));
        }
        let types: Vec<Type> = data.args.iter().map(|&v| func.ty(v)).collect();
        if let Some(result) = eval::eval(data, &types, &frame.all(&data.args)) {
            return Ok(result);
        }
        let place = &thread.place;
        let launch = self.launch;
        let bits = match (data.op, data.imm) {
            (Opcode::Poison, _) => UNDEFINED,
            (Opcode::StackAddr, Imm::Slot { slot, offset }) => {
                let range = incomplete(frame.slots.ranges.get(slot.as_u32() as usize))?;
                u128::from(range.base.wrapping_add_signed(offset.into()))
            }
            (Opcode::FuncAddr, Imm::Func(callee)) => {
                let at = self.position(&func.callees[callee].name)?;
                u128::from(FUNCTION_BASE + 16 * at as u64)
            }
            (Opcode::SharedBase, _) => SHARED_BASE.into(),
            (Opcode::Fence, _) => 0,
            (Opcode::LaneId, _) => (place.thread % 32).into(),
            (Opcode::WarpId, _) => (place.thread / 32).into(),
            (Opcode::TidX, _) => place.tid[0].into(),
            (Opcode::TidY, _) => place.tid[1].into(),
            (Opcode::TidZ, _) => place.tid[2].into(),
            (Opcode::CtaidX, _) => place.ctaid[0].into(),
            (Opcode::CtaidY, _) => place.ctaid[1].into(),
            (Opcode::CtaidZ, _) => place.ctaid[2].into(),
            (Opcode::NtidX, _) => launch.block[0].into(),
            (Opcode::NtidY, _) => launch.block[1].into(),
            (Opcode::NtidZ, _) => launch.block[2].into(),
            (Opcode::NctaidX, _) => launch.grid[0].into(),
            (Opcode::NctaidY, _) => launch.grid[1].into(),
            (Opcode::NctaidZ, _) => launch.grid[2].into(),
            (op, _) => return Err(ScalarError::Unsupported(op)),
        };
        Ok(Ok(bits))
    }

    /// A load, store or atomic access.
    fn access(&mut self, thread: &mut Thread, data: &InstData) -> Result<u128, TrapCode> {
        let none = TrapCode::HeapOutOfBounds;
        let (len, signed) = data.op.access(data.ty).ok_or(none)?;
        let (mut flags, offset) = data.mem().ok_or(none)?;
        let atomic = data.op.shape().is_atomic();
        if atomic {
            flags = flags | MemFlags::ALIGNED;
        }
        let frame = thread.frames.last().ok_or(none)?;
        let args = frame.all(&data.args);
        let (&address, operands) = args.split_last().ok_or(none)?;
        let effects = data.op.effects();
        let access = Access {
            address: (address as u64).wrapping_add_signed(offset.into()),
            len: len as usize,
            flags,
            writes: effects.writes,
        };
        let slots = thread.frames.iter_mut().map(|f| &mut f.slots);
        let bytes = self.memory.bytes(slots, access)?;
        let old = read(bytes, flags);
        let new = match (atomic, operands) {
            (true, _) => eval::atomic(data.op, data.ty, old, operands),
            (false, &[x]) => Some(x),
            _ => None,
        };
        if let (true, Some(new)) = (effects.writes, new) {
            write(new, bytes, flags);
        }
        let negative = signed && old >> (8 * len - 1) & 1 == 1;
        Ok(match negative {
            true => old | u128::MAX << (8 * len),
            false => old,
        })
    }

    fn position(&self, name: &str) -> Result<usize, ScalarError> {
        incomplete(self.functions.iter().position(|f| f.name == name))
    }

    /// Goes into a function; with `inst` the results go there, else to the caller's
    /// caller.
    fn call(
        &mut self,
        thread: &mut Thread,
        func: &Function,
        target: CallTarget,
        args: &[u128],
        inst: Option<Inst>,
        site: Site,
    ) -> Result<Step, ScalarError> {
        let frame = incomplete(thread.frames.last())?;
        let caller = frame.function;
        let trap = |code| {
            Ok(Step::End(End::Trapped {
                code,
                function: caller,
                site,
            }))
        };
        let callee = match target {
            CallTarget::Direct(callee) => self.position(&func.callees[callee].name)?,
            CallTarget::Indirect { sig, address } => {
                let offset = (frame.get(address) as u64).wrapping_sub(FUNCTION_BASE);
                let at = self.functions.get((offset / 16) as usize);
                match at {
                    Some(f)
                        if offset.is_multiple_of(16) && f.signature() == func.signatures[sig] =>
                    {
                        (offset / 16) as usize
                    }
                    _ => return trap(TrapCode::HeapOutOfBounds),
                }
            }
        };
        let mut results = inst;
        if inst.is_none() {
            results = thread.frames.pop().and_then(|f| f.results);
        }
        let below = thread.frames.last().map_or(LOCAL_BASE, |f| f.slots.end);
        let callee_func = self.functions[callee];
        let room = thread.frames.len() < self.call_depth.max(1);
        match Slots::above(callee_func, below).filter(|_| room) {
            None => trap(TrapCode::StackOverflow),
            Some(slots) => {
                let frame = Frame::new(callee_func, callee, args, slots, results)?;
                thread.frames.push(frame);
                Ok(Step::Moved)
            }
        }
    }

    fn terminate(&mut self, thread: &mut Thread, func: &Function) -> Result<Step, ScalarError> {
        let frame = incomplete(thread.frames.last_mut())?;
        let site = Site::Term(frame.block);
        match func.term(frame.block) {
            Terminator::Jump(to) => frame.go(func, to),
            Terminator::Br {
                cond,
                then,
                otherwise,
                ..
            } => {
                let to = match frame.get(*cond) & 1 {
                    1 => then,
                    _ => otherwise,
                };
                frame.go(func, to);
            }
            Terminator::Switch {
                index,
                table,
                default,
                ..
            } => {
                let index = usize::try_from(frame.get(*index)).ok();
                let to = index.and_then(|i| table.get(i)).unwrap_or(default);
                frame.go(func, to);
            }
            Terminator::Trap(code) => {
                return Ok(Step::End(End::Trapped {
                    code: *code,
                    function: frame.function,
                    site,
                }));
            }
            Terminator::Ret(values) => {
                let values = frame.all(values);
                let results = thread.frames.pop().and_then(|f| f.results);
                let (Some(inst), Some(caller)) = (results, thread.frames.last_mut()) else {
                    return Ok(Step::End(End::Returned(values)));
                };
                let func = self.functions[caller.function];
                for (&r, bits) in func.inst(inst).results.iter().zip(values) {
                    caller.set(func, r, bits);
                }
            }
            Terminator::TailCall(call) => {
                let args = frame.all(&call.args);
                return self.call(thread, func, call.target, &args, None, site);
            }
        }
        Ok(Step::Moved)
    }
}
