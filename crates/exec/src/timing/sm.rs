//! The multiprocessor: schedulers, resident warps, scoreboards.
//!
//! Time goes from event to event: in a cycle in which no scheduler issues, the
//! state of every warp stays the same until the first of them is done waiting,
//! so the cycles between are counted at once. Everything follows from the order
//! of warps and places; nothing is drawn.

use std::ops::Range;

use crate::error::{ExecError, LaunchError};
use crate::timing::code::{Code, IssueCode, Kind};
use crate::timing::model::TimingModel;
use crate::timing::record::Step;
use crate::timing::result::{Timing, WarpState};
use warpfold_ir::CostClass;

/// Pipes that issue intervals hold.
const PIPES: usize = CostClass::ALL.len();

/// The pipe of a class. Divisions, square roots and special functions share
/// the special-function pipe; those of double precision are routines of
/// double-precision arithmetic and share its pipe.
fn pipe(class: CostClass) -> usize {
    match class {
        CostClass::Div | CostClass::FpDiv => CostClass::Math,
        CostClass::Fp64Div | CostClass::Math64 => CostClass::Fp64,
        other => other,
    }
    .index()
}

/// When a value is ready, and whether it comes from memory.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Ready {
    at: u64,
    memory: bool,
}

/// A resident warp.
#[derive(Debug)]
struct Resident {
    /// Its block, among the resident ones.
    block: usize,
    way: Vec<Step>,
    /// The next step.
    next: usize,
    /// The next issue, and the first not to issue any more, in [`Code::issues`].
    issue: u32,
    end: u32,
    /// The first step of the segment's accesses that has not been met.
    access: usize,
    scoreboard: Vec<Ready>,
    /// Nothing issues before this, and why.
    held: u64,
    why_held: WarpState,
    /// When the next issue has all it needs, and which operand comes last.
    earliest: u64,
    why: WarpState,
    /// When what it has issued of barriers has arrived.
    arrived: u64,
    /// All is issued; it ends at `held`.
    issued_all: bool,
    /// It has arrived at a barrier that is not complete.
    at_barrier: bool,
    ended: bool,
}

/// A resident block.
#[derive(Debug)]
struct BlockState {
    /// Places of its warps; empty when it has ended.
    places: Vec<usize>,
    /// Warps that have not ended, and those that wait at the barrier.
    live: u32,
    waiting: u32,
    /// When the last one arrived.
    arrived: u64,
}

/// A scheduler.
#[derive(Debug)]
struct Scheduler {
    /// The place it issued for last.
    last: usize,
    /// When each pipe is free.
    free: [u64; PIPES],
}

/// The multiprocessor.
#[derive(Debug)]
pub(crate) struct Multiprocessor {
    model: TimingModel,
    /// Warps of a block.
    warps: u32,
    now: u64,
    schedulers: Vec<Scheduler>,
    /// By place.
    places: Vec<Option<Resident>>,
    blocks: Vec<BlockState>,
    /// Scoreboards of warps that have ended.
    pool: Vec<Vec<Ready>>,
    steps: u64,
    timing: Timing,
    issued_class: [bool; PIPES],
    moved: Vec<Ready>,
}

impl Multiprocessor {
    pub(crate) fn new(model: &TimingModel, warps: u32) -> Result<Self, ExecError> {
        if warps > model.resident_warps {
            return Err(LaunchError::NotResident {
                warps,
                room: model.resident_warps,
            }
            .into());
        }
        let schedulers = model.schedulers.max(1);
        Ok(Self {
            model: *model,
            warps,
            now: 0,
            schedulers: (0..schedulers)
                .map(|s| Scheduler {
                    // So that its first place is the first in turn.
                    last: (model.resident_warps + s) as usize,
                    free: [0; PIPES],
                })
                .collect(),
            places: (0..model.resident_warps).map(|_| None).collect(),
            blocks: Vec::new(),
            pool: Vec::new(),
            steps: 0,
            timing: Timing {
                launch: model.launch,
                schedulers,
                resident_warps: model.resident_warps,
                ..Timing::default()
            },
            issued_class: [false; PIPES],
            moved: Vec::new(),
        })
    }

    /// Steps that are kept.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    /// Places a block, for which there is room, and goes on until there is room
    /// for another.
    pub(crate) fn add_block(&mut self, code: &Code, ways: Vec<Vec<Step>>) {
        let id = match self.blocks.iter().position(|b| b.live == 0) {
            Some(id) => id,
            None => {
                self.blocks.push(BlockState {
                    places: Vec::new(),
                    live: 0,
                    waiting: 0,
                    arrived: 0,
                });
                self.blocks.len() - 1
            }
        };
        let free = self.places.iter().enumerate();
        let free = free.filter(|(_, w)| w.is_none()).map(|(p, _)| p);
        let places: Vec<usize> = free.take(ways.len()).collect();
        self.blocks[id] = BlockState {
            live: places.len() as u32,
            places: places.clone(),
            waiting: 0,
            arrived: 0,
        };
        for (place, way) in places.into_iter().zip(ways) {
            self.steps += way.len() as u64;
            let mut scoreboard = self.pool.pop().unwrap_or_default();
            scoreboard.clear();
            scoreboard.resize(code.size, Ready::default());
            let mut w = Resident {
                block: id,
                way,
                next: 0,
                issue: 0,
                end: 0,
                access: 0,
                scoreboard,
                held: self.now,
                why_held: WarpState::Control,
                earliest: self.now,
                why: WarpState::Dependency,
                arrived: self.now,
                issued_all: false,
                at_barrier: false,
                ended: false,
            };
            w.advance(code, &mut self.moved);
            self.places[place] = Some(w);
        }
        let resident = self.blocks.iter().filter(|b| b.live > 0).count() as u32;
        let most = &mut self.timing.resident_blocks;
        *most = (*most).max(resident);
        while !self.room() {
            self.cycle(code);
        }
    }

    /// Whether another block fits.
    fn room(&self) -> bool {
        self.places.iter().filter(|w| w.is_none()).count() >= self.warps as usize
    }

    /// Runs what is resident to its end.
    pub(crate) fn finish(&mut self, code: &Code) -> Timing {
        while self.places.iter().any(Option::is_some) {
            self.cycle(code);
        }
        let assumed = CostClass::ALL
            .iter()
            .copied()
            .filter(|c| self.issued_class[c.index()] && self.model.assumed[c.index()]);
        Timing {
            cycles: self.model.launch.saturating_add(self.now),
            assumed: assumed.collect(),
            ..self.timing.clone()
        }
    }

    /// One cycle, or all up to the next event.
    fn cycle(&mut self, code: &Code) {
        self.end_warps(code);
        if self.places.iter().all(Option::is_none) {
            return;
        }
        let mut issued = false;
        let mut next = u64::MAX;
        let mut states = [0; WarpState::ALL.len()];
        let count = self.schedulers.len();
        let mut idle = [0u64; 2];
        for s in 0..count {
            let mut chosen = None;
            let mut there = false;
            for place in self.turn(s) {
                let Some(w) = &self.places[place] else {
                    continue;
                };
                if w.ended {
                    continue;
                }
                there = true;
                let state = if w.at_barrier {
                    WarpState::Barrier
                } else if w.held > self.now {
                    next = next.min(w.held);
                    w.why_held
                } else if w.earliest > self.now {
                    next = next.min(w.earliest);
                    w.why
                } else {
                    let class = code.issues[w.issue as usize].class;
                    let free = self.schedulers[s].free[pipe(class)];
                    if free > self.now && self.model.interval[class.index()] > 0 {
                        next = next.min(free);
                        WarpState::Throughput
                    } else if chosen.is_none() {
                        chosen = Some(place);
                        WarpState::Selected
                    } else {
                        WarpState::NotSelected
                    }
                };
                states[state as usize] += 1;
            }
            match chosen {
                Some(place) => {
                    issued = true;
                    self.timing.issue_active += 1;
                    self.issue_for(code, s, place);
                }
                None => idle[usize::from(!there)] += 1,
            }
        }
        let cycles = match issued {
            true => 1,
            false if next < u64::MAX => next - self.now,
            // Only if all wait at barriers, and the run, which has ended, shows
            // that none waits for ever.
            false => {
                self.places.fill_with(|| None);
                return;
            }
        };
        self.timing.no_eligible += idle[0] * cycles;
        self.timing.no_warp += idle[1] * cycles;
        for (sum, n) in self.timing.states.iter_mut().zip(states) {
            *sum += n * cycles;
        }
        self.now += cycles;
        self.end_warps(code);
    }

    /// The places of a scheduler, that after its last one first.
    fn turn(&self, s: usize) -> impl Iterator<Item = usize> + use<> {
        let step = self.schedulers.len();
        let (all, last) = (self.places.len(), self.schedulers[s].last);
        let after = (s..all).step_by(step).filter(move |&p| p > last);
        let before = (s..all).step_by(step).filter(move |&p| p <= last);
        after.chain(before)
    }

    /// Issues for the warp at a place.
    fn issue_for(&mut self, code: &Code, s: usize, place: usize) {
        self.schedulers[s].last = place;
        for slot in 0..self.model.issue_per_cycle.max(1) {
            let Some(w) = &mut self.places[place] else {
                return;
            };
            if w.issued_all || w.at_barrier {
                return;
            }
            let issue = &code.issues[w.issue as usize];
            let class = issue.class.index();
            let free = &mut self.schedulers[s].free[pipe(issue.class)];
            let interval = u64::from(self.model.interval[class]);
            // The first has been found fit to issue.
            if slot > 0 && (w.earliest > self.now || (*free > self.now && interval > 0)) {
                return;
            }
            *free = (*free).max(self.now + interval);
            self.timing.issued += 1;
            let (latency, by_class) = w.issue(code, issue, &self.model, self.now);
            let matters = issue.kind != Kind::Plain && issue.kind != Kind::Memory;
            self.issued_class[class] |= by_class && (matters || !issue.defs.is_empty());
            if issue.kind == Kind::Barrier {
                w.arrived = self.now + latency;
            }
            w.advance(code, &mut self.moved);
            if w.at_barrier {
                let (block, arrived) = (w.block, w.arrived.max(w.held));
                let state = &mut self.blocks[block];
                state.waiting += 1;
                state.arrived = state.arrived.max(arrived);
                self.complete_barrier(code, block);
            }
        }
    }

    /// Lets the warps of a block go on if all that have not ended wait.
    fn complete_barrier(&mut self, code: &Code, block: usize) {
        let state = &mut self.blocks[block];
        if state.waiting == 0 || state.waiting < state.live {
            return;
        }
        let at = state.arrived;
        state.waiting = 0;
        state.arrived = 0;
        for &place in &self.blocks[block].places {
            let Some(w) = &mut self.places[place] else {
                continue;
            };
            if w.at_barrier {
                w.at_barrier = false;
                w.hold(at, WarpState::Barrier);
                w.advance(code, &mut self.moved);
            }
        }
    }

    /// Warps whose last instruction is resolved end; a block without any
    /// leaves.
    fn end_warps(&mut self, code: &Code) {
        for place in 0..self.places.len() {
            let Some(w) = &mut self.places[place] else {
                continue;
            };
            if !w.issued_all || w.ended || w.earliest > self.now {
                continue;
            }
            w.ended = true;
            let id = w.block;
            let block = &mut self.blocks[id];
            block.live -= 1;
            block.arrived = block.arrived.max(self.now);
            if block.live > 0 {
                self.complete_barrier(code, id);
                continue;
            }
            for place in std::mem::take(&mut block.places) {
                if let Some(w) = self.places[place].take() {
                    self.steps -= w.way.len() as u64;
                    self.pool.push(w.scoreboard);
                }
            }
        }
    }
}

impl Resident {
    /// Nothing issues before `at`.
    fn hold(&mut self, at: u64, why: WarpState) {
        if at >= self.held {
            (self.held, self.why_held) = (at, why);
        }
    }

    /// Issues at `now`. Returns the latency, and whether it is that of the class.
    fn issue(
        &mut self,
        code: &Code,
        issue: &IssueCode,
        model: &TimingModel,
        now: u64,
    ) -> (u64, bool) {
        let reached = match self.way.get(self.access) {
            Some(&Step::Access { issue, shared }) if issue == self.issue => {
                self.access += 1;
                Some(shared)
            }
            _ => None,
        };
        let memory = issue.kind == Kind::Memory && reached.is_some();
        let latency = u64::from(match reached {
            Some(true) if memory => model.shared_load,
            Some(false) if memory && issue.class == CostClass::Atomic => model.atomic,
            Some(false) if memory => model.load,
            _ => model.latency[issue.class.index()],
        });
        let ready = Ready {
            at: now + latency,
            memory,
        };
        for &slot in &code.slots[issue.defs.start as usize..issue.defs.end as usize] {
            let slot = &mut self.scoreboard[slot as usize];
            *slot = ready.max(*slot);
        }
        if issue.kind == Kind::Control {
            self.hold(ready.at, WarpState::Control);
        }
        self.issue += 1;
        (latency, !memory)
    }

    /// Finds the next issue, and when it has all it needs.
    fn advance(&mut self, code: &Code, moved: &mut Vec<Ready>) {
        while self.issue == self.end {
            self.next = self.next.max(self.access);
            let Some(&step) = self.way.get(self.next) else {
                self.issued_all = true;
                break;
            };
            self.next += 1;
            match step {
                Step::Segment(segment) => self.enter(&code.segments[segment as usize]),
                Step::Rest(issue) => self.enter(&(issue..code.segment_of(issue).end)),
                Step::Yield => self.enter(&(code.yields..code.yields + 1)),
                Step::Edge(edge) => self.take(code, edge, moved),
                Step::Barrier => {
                    // Behind it, the warp issues before it waits again.
                    self.at_barrier = true;
                    return;
                }
                Step::Access { .. } | Step::Cut(_) => {}
            }
        }
        self.earliest = self.held;
        if self.issued_all {
            return;
        }
        let uses = &code.issues[self.issue as usize].uses;
        for &slot in &code.slots[uses.start as usize..uses.end as usize] {
            let ready = self.scoreboard[slot as usize];
            if ready.at > self.earliest {
                self.earliest = ready.at;
                self.why = match ready.memory {
                    true => WarpState::Memory,
                    false => WarpState::Dependency,
                };
            }
        }
    }

    /// Begins these issues of a segment.
    fn enter(&mut self, issues: &Range<u32>) {
        (self.issue, self.end) = (issues.start, issues.end);
        self.access = self.next;
        let inside = self.way[self.next..].iter();
        let cut = inside
            .take_while(|s| matches!(s, Step::Access { .. } | Step::Cut(_)))
            .find_map(|s| match s {
                Step::Cut(n) => Some(*n),
                _ => None,
            });
        self.end -= cut.unwrap_or(0).min(self.end - self.issue);
    }

    /// The parameters of a block are ready when their arguments are, and not
    /// before what was on its way to them: other lanes may have it. All are read
    /// before any is written.
    fn take(&mut self, code: &Code, edge: u32, moved: &mut Vec<Ready>) {
        let range = &code.edges[edge as usize];
        let moves = &code.moves[range.start as usize..range.end as usize];
        moved.clear();
        moved.extend(moves.iter().map(|&(_, a)| self.scoreboard[a as usize]));
        for (&(param, _), &ready) in moves.iter().zip(&*moved) {
            let slot = &mut self.scoreboard[param as usize];
            *slot = ready.max(*slot);
        }
    }
}
