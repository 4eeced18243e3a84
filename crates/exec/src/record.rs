//! Writing the timeline and the event log while a launch runs. Without them
//! every function here returns at once.

use warpfold_ir::{Block, MemFlags, Opcode};

use crate::access::Request;
use crate::engine::Engine;
use crate::events::{Event, EventKind};
use crate::launch::Mode;
use crate::outcome::{Site, TrapRecord};
use crate::program::{Access, Issues, Op};
use crate::registers::{Place, lanes_of};
#[cfg(test)]
use crate::stack::LOOKS;
use crate::stack::Stack;
use crate::timeline::{Issue, Pass, StackEntry};
use crate::warp::{Cursor, Warp};

/// Of which callers' stacks the timeline's deepest has the entries, as they are still:
/// a caller's change only where it goes on or lanes leave. So a recursion is noted a
/// frame at a time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Noted {
    /// Block of the grid and warp.
    warp: (u64, u32),
    /// By frame, the kernel's first: where its entries end.
    ends: Vec<usize>,
}

impl Noted {
    /// Only the first `callers` frames are as they were.
    pub(crate) fn keep(&mut self, callers: usize) {
        self.ends.truncate(callers);
    }

    /// Puts the stacks of a warp into `deepest`.
    fn note(&mut self, deepest: &mut Vec<StackEntry>, w: &Warp) {
        let warp = (w.grid_block, w.number);
        if self.warp != warp {
            self.warp = warp;
            self.ends.clear();
        }
        deepest.truncate(self.ends.last().copied().unwrap_or(0));
        let mut add = |function: usize, stack: &Stack| {
            #[cfg(test)]
            LOOKS.set(LOOKS.get() + 1);
            deepest.extend(stack.entries().iter().map(|e| StackEntry {
                function,
                pc: e.pc,
                join: e.join,
                mask: e.mask,
            }));
            deepest.len()
        };
        for frame in &w.callers[self.ends.len()..] {
            self.ends.push(add(frame.state.function, &frame.stack));
        }
        add(w.state.function, &w.stack);
    }
}

impl Engine<'_> {
    /// Whether `n` more records are allowed. When not, the launch ends at the
    /// next segment.
    fn spend_records(&mut self, n: u64) -> bool {
        match self.records_left.checked_sub(n) {
            Some(left) => self.records_left = left,
            None => self.too_many_records = true,
        }
        !self.too_many_records
    }

    /// A group of lanes enters a block. Returns the number of the pass.
    #[inline(always)]
    pub(crate) fn record_pass(&mut self, w: &Warp, block: Block, mask: u32) -> u32 {
        if self.timeline.is_none() || !self.spend_records(1) {
            return 0;
        }
        let warps = u64::from(self.dims.warps);
        let Some(t) = &mut self.timeline else {
            return 0;
        };
        t.passes.push(Pass {
            warp: w.grid_block * warps + u64::from(w.number),
            function: w.state.function,
            block,
            mask,
            depth: match self.options.mode {
                Mode::Stack => w.stack_depth() as u32,
                Mode::Its => w.its.nesting(mask) as u32,
            },
        });
        t.passes.len() as u32 - 1
    }

    /// A segment of a pass begins. Returns the record of its first issue.
    #[inline(always)]
    pub(crate) fn record_segment(&mut self, segment: usize, mask: u32, pass: u32) -> usize {
        match self.timeline {
            Some(_) => {
                let code = &self.program.segments[segment];
                self.record_issues(code.first as usize, segment, mask, pass)
            }
            None => 0,
        }
    }

    /// What is left of a segment is taken up. Returns the record that the segment's
    /// first issue would have.
    pub(crate) fn record_rest(&mut self, at: Cursor, mask: u32) -> usize {
        if self.timeline.is_none() {
            return 0;
        }
        let done = at.op - self.program.segments[at.segment].first as usize;
        // At least that many records were made before.
        self.record_issues(at.op, at.segment, mask, at.pass)
            .saturating_sub(done)
    }

    /// Records the issues of a segment from an op on. Returns the first record.
    fn record_issues(&mut self, op: usize, segment: usize, mask: u32, pass: u32) -> usize {
        let code = self.program.segments[segment];
        let all = self.program.issues(op as u32, code.end, code.last).all;
        if !self.spend_records(all) {
            return 0;
        }
        let Some(t) = &mut self.timeline else {
            return 0;
        };
        let first = t.issues.len();
        let issue = |site| Issue {
            pass,
            site,
            mask,
            on: mask,
        };
        let ops = op..code.end as usize;
        let insts = self.program.insts[ops].iter();
        t.issues.extend(insts.map(|&i| issue(Site::Inst(i))));
        if code.last {
            t.issues.push(issue(Site::Term(code.block)));
        }
        first
    }

    /// The guard of a recorded issue holds in the lanes `on`.
    #[inline(always)]
    pub(crate) fn record_guard(&mut self, record: usize, on: u32) {
        if let Some(t) = &mut self.timeline
            && let Some(issue) = t.issues.get_mut(record)
        {
            issue.on = on;
        }
    }

    /// Lanes give way behind the terminator of the pass at the cursor.
    pub(crate) fn record_yield(&mut self, at: Cursor, mask: u32) {
        if self.timeline.is_none() || !self.spend_records(1) {
            return;
        }
        if let Some(t) = &mut self.timeline {
            t.issues.push(Issue {
                pass: at.pass,
                site: Site::Yield(at.block),
                mask,
                on: mask,
            });
        }
    }

    /// Only the lanes `left` go on to what is left of a segment from the cursor on.
    /// With none left the records are void and go at the end.
    pub(crate) fn correct_records(&mut self, at: Cursor, rest: Issues, left: u32) {
        let Some(t) = &mut self.timeline else { return };
        let first = self.program.segments[at.segment].first as usize;
        let record = at.record + (at.op - first);
        for issue in t.issues.iter_mut().skip(record).take(rest.all as usize) {
            issue.mask = left;
            issue.on = left;
        }
    }

    /// Takes the void records out.
    pub(crate) fn finish_timeline(&mut self) {
        if let Some(t) = &mut self.timeline {
            t.issues.retain(|i| i.mask != 0);
        }
    }

    /// Keeps the stack when it is deeper than ever.
    pub(crate) fn note_depth(&mut self, w: &Warp) {
        if self.options.mode != Mode::Stack {
            return;
        }
        let depth = w.stack_depth() as u64;
        if depth <= self.tally.counters.max_depth {
            return;
        }
        self.tally.counters.max_depth = depth;
        if let Some(t) = &mut self.timeline {
            self.noted.note(&mut t.deepest, w);
        }
    }

    /// Lanes went through a memory access at op `i`.
    #[inline(always)]
    pub(crate) fn record_access(
        &mut self,
        w: &Warp,
        i: usize,
        access: &Access,
        request: &Request,
        opcode: Opcode,
    ) {
        if self.events.is_some() {
            self.log_access(w, i, access, request, opcode);
        }
    }

    #[cold]
    fn log_access(
        &mut self,
        w: &Warp,
        i: usize,
        access: &Access,
        request: &Request,
        opcode: Opcode,
    ) {
        let volatile = access.flags.contains(MemFlags::VOLATILE);
        let effects = opcode.effects();
        let kind = match (effects.writes, volatile) {
            _ if access.atomic => match (effects.reads, effects.writes) {
                (true, false) => EventKind::AtomicLoad,
                (false, _) => EventKind::AtomicStore,
                (true, true) => EventKind::AtomicUpdate,
            },
            (true, true) => EventKind::VolatileStore,
            (true, false) => EventKind::Store,
            (false, true) => EventKind::VolatileLoad,
            (false, false) if access.flags.contains(MemFlags::CAN_MOVE) => return,
            (false, false) => EventKind::Load,
        };
        let done = request.done();
        if !self.spend_records(u64::from(done.count_ones())) {
            return;
        }
        let Op { a, b, dst, .. } = self.program.ops[i];
        let value = Place {
            kind: access.kind,
            reg: match opcode {
                Opcode::AtomicCas => b,
                _ if effects.writes => a,
                _ => dst,
            },
        };
        let (_, origin) = self.program.site(i);
        let bits = u128::MAX >> (128 - 8 * access.bytes.clamp(1, 16));
        let Some(log) = &mut self.events else { return };
        log.extend(lanes_of(done).map(|lane| Event {
            thread: w.first_thread + lane as u64,
            kind,
            address: request.address[lane],
            bytes: access.bytes,
            value: w.registers.get(value, lane) & bits,
            origin,
        }));
    }

    /// A lane trapped.
    pub(crate) fn record_trap(&mut self, trap: &TrapRecord) {
        if self.events.is_none() || !self.spend_records(1) {
            return;
        }
        if let Some(log) = &mut self.events {
            log.push(Event {
                thread: trap.thread,
                kind: EventKind::Trap(trap.code),
                address: trap.address.unwrap_or(0),
                bytes: 0,
                value: 0,
                origin: trap.origin,
            });
        }
    }
}
