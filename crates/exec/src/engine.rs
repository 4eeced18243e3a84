//! One launch: blocks one after another, the warps of a block in turns.
//!
//! A warp runs until it ends or waits at a barrier; then the next one runs.
//! When every warp of the block that has not ended waits, the barrier is
//! complete, and they go on in order. So the order of everything is fixed.

use warpfold_ir::{Imm, Origin, TrapCode};

use crate::calls::{Frame, FrameState};
use crate::census::Census;
use crate::check::{Checker, Checks};
use crate::counters::WarpCounters;
use crate::error::{ExecError, LaunchError};
use crate::events::Event;
use crate::its::Its;
use crate::launch::{Arg, Dimensions, ExecOptions, Launch, Mode};
use crate::linked::Linked;
use crate::local::LocalStack;
use crate::memory::{GLOBAL_BASE, Memory};
use crate::outcome::{Ending, Outcome, Returns, Site, TrapRecord};
use crate::program::Program;
use crate::progress::Progress;
use crate::record::Noted;
use crate::registers::{LANES, Registers, lanes_of};
use crate::stack::Stack;
use crate::tally::Tally;
use crate::timeline::Timeline;
use crate::timing::Recorder;
use crate::warp::{Pause, Warp};

/// Most bytes that the registers and slots of a block's warps may take.
const MAX_WARP_BYTES: u64 = 1 << 31;

/// The state of a launch.
pub(crate) struct Engine<'a> {
    pub linked: &'a Linked<'a>,
    /// The function that runs.
    pub program: &'a Program<'a>,
    pub options: &'a ExecOptions,
    pub dims: Dimensions,
    pub memory: Memory,
    /// Shared memory of the running block.
    pub shared: Vec<u8>,
    /// Stores that changed a byte.
    pub changes: u64,
    pub tally: Tally,
    /// For the profile.
    pub census: Option<Census>,
    pub steps_left: u64,
    pub records_left: u64,
    pub too_many_records: bool,
    pub timeline: Option<Timeline>,
    /// What it has of the stacks of callers.
    pub noted: Noted,
    /// For the model of time.
    pub timing: Option<Recorder>,
    pub events: Option<Vec<Event>>,
    pub traps: Vec<TrapRecord>,
    pub returns: Returns,
    /// What is checked, if anything is.
    pub checker: Option<Box<Checker>>,
    /// Unused frames, by function.
    pub pool: Vec<Vec<Frame>>,
    /// Bytes of the frames that are called, and how many there may be.
    pub frame_bytes: u64,
    pub frame_limit: u64,
    args: &'a [Arg],
}

/// What a warp does while others of its block run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Ready,
    Waiting,
    /// Its lanes give way.
    Yielded,
    Ended,
}

impl<'a> Engine<'a> {
    pub(crate) fn new(
        linked: &'a Linked<'a>,
        launch: &'a Launch,
        options: &'a ExecOptions,
        checks: &Checks<'_>,
        dims: Dimensions,
    ) -> Result<Self, ExecError> {
        let program = linked
            .program(linked.entry)
            .ok_or(LaunchError::Incomplete)?;
        let bytes = program
            .warp_bytes()
            .saturating_mul(u64::from(dims.warps) + 1);
        if bytes > MAX_WARP_BYTES {
            return Err(LaunchError::WarpsTooLarge { bytes }.into());
        }
        let end = launch.memory.end();
        if linked.narrow_pointers && end > 1 << 32 && end > GLOBAL_BASE {
            return Err(LaunchError::AddressSpace { end }.into());
        }
        let threads = dims.blocks * u64::from(dims.threads);
        Ok(Self {
            linked,
            program,
            options,
            dims,
            memory: launch.memory.clone(),
            shared: vec![0; launch.shared as usize],
            changes: 0,
            tally: Tally::new(linked),
            census: options.profile.then(|| Census::new(program, options.joins)),
            steps_left: options.step_limit,
            records_left: options.record_limit,
            too_many_records: false,
            timeline: options.timeline.then(|| Timeline {
                mode: options.mode,
                ..Timeline::default()
            }),
            noted: Noted::default(),
            timing: match &options.timing {
                Some(model) => Some(Recorder::new(linked, model, dims.warps)?),
                None => None,
            },
            events: options.events.then(Vec::new),
            traps: Vec::new(),
            returns: Returns::new(program.func.results.len(), threads),
            checker: Checker::new(linked, checks, dims.blocks),
            pool: linked.programs.iter().map(|_| Vec::new()).collect(),
            frame_bytes: 0,
            frame_limit: MAX_WARP_BYTES - bytes,
            args: &launch.args,
        })
    }

    /// Runs everything.
    pub(crate) fn run(mut self) -> Result<Outcome, ExecError> {
        let mut template = self.template(self.program);
        for &(place, address) in &self.program.slot_addresses {
            template.splat(place, u128::from(address));
        }
        for (&place, arg) in self.program.params.iter().zip(self.args) {
            if let Arg::Uniform(bits) = *arg {
                template.splat(place, bits);
            }
        }
        let mut warps = Vec::new();
        for grid_block in 0..self.dims.blocks {
            self.start_block(&mut warps, &template, grid_block);
            self.run_block(&mut warps)?;
            self.time_block()?;
            if let (Some(checker), Some(w)) = (&mut self.checker, warps.first()) {
                let kernel = self.linked.program(self.linked.entry);
                checker.finish_block(kernel.unwrap_or(self.program), w)?;
            }
            let counters = warps.iter().map(|w: &Warp| w.counters);
            self.tally.warps.extend(counters);
        }
        if self.too_many_records {
            return Err(self.record_limit());
        }
        Ok(self.finish())
    }

    pub(crate) fn record_limit(&self) -> ExecError {
        ExecError::RecordLimit {
            limit: self.options.record_limit,
        }
    }

    /// Puts the warps of a block at the entry.
    fn start_block(&mut self, warps: &mut Vec<Warp>, template: &Registers, grid_block: u64) {
        self.shared.fill(0);
        self.frame_bytes = 0;
        self.switch_to(self.linked.entry);
        if let Some(checker) = &mut self.checker {
            checker.start_block(self.dims.warps as usize);
        }
        for number in 0..self.dims.warps {
            let first = number * LANES as u32;
            let count = (self.dims.threads - first).min(LANES as u32);
            let exist = u32::MAX >> (LANES as u32 - count);
            let first_thread = grid_block * u64::from(self.dims.threads) + u64::from(first);
            let stack = Stack::new(self.program.entry, exist);
            if let Some(w) = warps.get_mut(number as usize) {
                w.registers.clone_from(template);
                w.local.clear();
                w.callers.clear();
                w.below = 0;
                w.stack = stack;
                w.live = exist;
                w.grid_block = grid_block;
                w.first_thread = first_thread;
                w.counters = WarpCounters::default();
                w.progress = Progress::new();
                w.age = 0;
                w.open.clear();
            } else {
                warps.push(Warp {
                    registers: template.clone(),
                    stack,
                    exist,
                    live: exist,
                    local: LocalStack::default(),
                    state: FrameState::new(self.linked.entry, None, LocalStack::default().mark()),
                    callers: Vec::new(),
                    below: 0,
                    number,
                    grid_block,
                    first_thread,
                    tid: self.thread_ids(first),
                    counters: WarpCounters::default(),
                    progress: Progress::new(),
                    age: 0,
                    alone: false,
                    open: Vec::new(),
                    its: Its::default(),
                });
            }
            let w = &mut warps[number as usize];
            w.state = FrameState::new(self.linked.entry, None, w.local.mark());
            let program = self.program;
            // That there is room was checked when the function was decoded.
            let slots = w.local.mark();
            w.local
                .push(&program.slots, program.local, program.local_align);
            if self.options.mode == Mode::Its {
                w.its.start(program.entry, exist, w.local.placed(slots));
            }
            for (&place, arg) in self.program.params.iter().zip(self.args) {
                let Arg::Varying(values) = arg else { continue };
                let values = values[first_thread as usize..].iter();
                for (i, &bits) in values.take(count as usize).enumerate() {
                    w.registers.set(place, i, bits);
                }
            }
            self.note_depth(w);
        }
    }

    /// Runs the warps of a block until all have ended.
    fn run_block(&mut self, warps: &mut [Warp]) -> Result<(), ExecError> {
        let mut states = vec![State::Ready; warps.len()];
        loop {
            // Warps that can run, now or when nobody else can.
            let can_run = |s: &&State| matches!(s, State::Ready | State::Yielded);
            let mut able = states.iter().filter(can_run).count();
            for (w, state) in warps.iter_mut().zip(&mut states) {
                if *state != State::Ready {
                    continue;
                }
                w.alone = able == 1;
                *state = match self.run_warp(w)? {
                    Pause::Finished => State::Ended,
                    Pause::Barrier => {
                        self.time_barrier(w);
                        State::Waiting
                    }
                    Pause::Yield => State::Yielded,
                };
                able -= usize::from(*state != State::Yielded);
            }
            if able > 0 {
                for state in &mut states {
                    if *state == State::Yielded {
                        *state = State::Ready;
                    }
                }
                continue;
            }
            let waiting = states.iter().filter(|&&s| s == State::Waiting).count();
            if waiting == 0 {
                return Ok(());
            }
            self.tally.counters.barriers += 1;
            if let Some(checker) = &mut self.checker {
                checker.pass_barrier();
            }
            for (w, state) in warps.iter_mut().zip(&mut states) {
                if *state == State::Waiting {
                    *state = State::Ready;
                    if waiting > 1 {
                        w.age += 1;
                    }
                }
            }
        }
    }

    fn finish(mut self) -> Outcome {
        self.finish_timeline();
        if let Some(events) = &mut self.events {
            // Stable: each thread's events stay in their order.
            events.sort_by_key(|e| e.thread);
        }
        self.tally.counters.traps = self.traps.len() as u64;
        let mut summary = self.tally.summary(self.linked);
        let entry = self.linked.entry;
        let at = summary.functions.iter().position(|f| f.function == entry);
        debug_assert!(
            summary.adds_up(),
            "lanes are lost or made: {:?}",
            summary.counters
        );
        let kernel = summary.functions.remove(at.unwrap_or(0));
        if let Some(program) = self.linked.program(entry) {
            self.program = program;
        }
        Outcome {
            counters: summary.counters,
            branches: kernel.branches,
            blocks: kernel.blocks,
            issues: kernel.issues,
            term_issues: kernel.term_issues,
            callees: summary.functions,
            profile: self.census.map(|census| {
                let mut profile = self.tally.profile(self.linked, self.program);
                census.publish(self.program, &mut profile);
                profile
            }),
            warps: self.tally.warps,
            returns: self.returns,
            end: if self.traps.is_empty() {
                Ending::Finished
            } else {
                Ending::Trapped
            },
            checked: self.checker.map(|c| c.checked()),
            traps: self.traps,
            memory: self.memory,
            timeline: self.timeline,
            timing: self.timing.map(Recorder::finish),
            events: self.events,
        }
    }

    /// Notes that lanes trap at op `i`, by `Registers::fault`.
    #[cold]
    pub(crate) fn trap_lanes(
        &mut self,
        w: &Warp,
        i: usize,
        lanes: u32,
        address: Option<&[u64; LANES]>,
    ) {
        let (site, origin) = self.program.site(i);
        for lane in lanes_of(lanes) {
            let code = w.registers.fault[lane];
            self.trap(w, lane, site, origin, code, address.map(|a| a[lane]));
        }
    }

    /// Notes that lanes trap at the `trap if` that is op `i`.
    pub(crate) fn trap_explicitly(&mut self, w: &Warp, i: usize, lanes: u32) {
        let (site, origin) = self.program.site(i);
        let code = match self.program.func.inst(self.program.insts[i]).imm {
            Imm::Trap(code) => code,
            // No verified function has one without.
            _ => TrapCode::User(0),
        };
        for lane in lanes_of(lanes) {
            self.trap(w, lane, site, origin, code, None);
        }
    }

    /// Notes that a lane traps.
    pub(crate) fn trap(
        &mut self,
        w: &Warp,
        lane: usize,
        site: Site,
        origin: Origin,
        code: TrapCode,
        address: Option<u64>,
    ) {
        let record = TrapRecord {
            thread: w.first_thread + lane as u64,
            grid_block: w.grid_block,
            warp: w.number,
            lane: lane as u32,
            site,
            function: w.state.function,
            origin,
            code,
            address,
        };
        self.traps.push(record);
        self.record_trap(&record);
    }
}
