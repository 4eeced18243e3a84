//! The end of a block: where its lanes go on.

use smallvec::SmallVec;
use warpfold_ir::Block;

use crate::calls::{CallSite, Pending};
use crate::engine::Engine;
use crate::error::ExecError;
use crate::launch::Mode;
use crate::program::{Cond, Term};
use crate::registers::lanes_of;
use crate::stack::Groups;
use crate::warp::{Cursor, Warp};

impl Engine<'_> {
    /// Executes the terminator of the block at the cursor for the lanes `mask`.
    pub(crate) fn terminate(
        &mut self,
        w: &mut Warp,
        at: Cursor,
        mask: u32,
    ) -> Result<(), ExecError> {
        let program = self.program;
        let b = at.block;
        if let Some(checker) = &mut self.checker {
            checker.terminate(program, w, b, mask)?;
        }
        let code = program.blocks[b]
            .as_ref()
            .expect("the block that runs is laid out");
        let back = match &code.term {
            Term::Jump(edge) => {
                self.take_edge(w, *edge as usize, mask);
                let edge = &program.edges[*edge as usize];
                self.go(w, edge.target, mask, at)?;
                edge.back
            }
            Term::Branch(branch) => self.branch(w, *branch as usize, at, mask)?,
            Term::Ret(values) => {
                let values = &program.returned[values.start as usize..values.end as usize];
                self.give_back(w, mask, code.segments.end as usize - 1, values);
                false
            }
            Term::Call(call) => {
                let segment = code.segments.end as usize - 1;
                let (callees, lost) = self.callees(w, *call, mask, CallSite::Tail(b));
                self.retire(w, segment, lost);
                self.leave_function(w, segment, mask & !lost);
                match self.options.mode {
                    Mode::Stack => w.state.pending = Pending::new(callees, true),
                    Mode::Its => self.its_call(w, &callees, None, segment),
                }
                false
            }
            Term::Trap(trap) => {
                let (site, origin) = program.term_site(b);
                for i in lanes_of(mask) {
                    self.trap(w, i, site, origin, *trap, None);
                }
                self.retire(w, code.segments.end as usize - 1, mask);
                false
            }
        };
        if back {
            return self.check_progress(w, mask);
        }
        Ok(())
    }

    /// Copies the block arguments of an edge.
    #[inline(always)]
    fn take_edge(&mut self, w: &mut Warp, edge: usize, mask: u32) {
        self.time_edge(w, edge);
        let moves = &self.program.edges[edge].moves;
        let on = w.on(mask);
        for m in &self.program.moves[moves.start as usize..moves.end as usize] {
            w.registers.copy(m.kind, m.dst, m.src, on);
        }
    }

    /// All lanes that ran go on at one block.
    #[inline(always)]
    fn go(&mut self, w: &mut Warp, target: Block, mask: u32, at: Cursor) -> Result<(), ExecError> {
        match self.options.mode {
            Mode::Stack => {
                w.stack.go(target);
                Ok(())
            }
            Mode::Its => self.its_go(w, &Groups::from_slice(&[(target, mask)]), at),
        }
    }

    /// Executes a branch or switch. Returns whether a back edge was taken.
    fn branch(
        &mut self,
        w: &mut Warp,
        index: usize,
        at: Cursor,
        mask: u32,
    ) -> Result<bool, ExecError> {
        let program = self.program;
        let code = &program.branches[index];
        let lanes = w.lanes(mask);
        self.tally.branch(index).execute(lanes);
        if let Some(census) = &self.census
            && w.state.function == self.linked.entry
        {
            census.branch(&mut w.open, code.block, mask);
        }
        let first_edge = code.edges.start as usize;
        let mut groups = Groups::new();
        let mut back = false;
        let mut take = |engine: &mut Self, w: &mut Warp, edge: usize, lanes: u32| {
            let tally = engine.tally.branch(index);
            tally.taken[edge] += 1;
            tally.taken_lanes[edge] += u64::from(lanes.count_ones());
            engine.take_edge(w, first_edge + edge, lanes);
            let edge = &program.edges[first_edge + edge];
            back |= edge.back;
            match groups.iter_mut().find(|g| g.0 == edge.target) {
                Some(group) => group.1 |= lanes,
                None => groups.push((edge.target, lanes)),
            }
        };
        match code.cond {
            Cond::Pred(p) => {
                let yes = mask & w.registers.pred[usize::from(p)];
                if yes != 0 {
                    take(self, w, 0, yes);
                }
                if yes != mask {
                    take(self, w, 1, mask & !yes);
                }
            }
            Cond::Index(at) => {
                let default = code.edges.len() - 1;
                let mut edges = SmallVec::<[(usize, u32); 4]>::new();
                for i in lanes_of(mask) {
                    let x = w.registers.get(at, i);
                    let edge = usize::try_from(x).map_or(default, |x| x.min(default));
                    match edges.iter_mut().find(|e| e.0 == edge) {
                        Some(e) => e.1 |= 1 << i,
                        None => edges.push((edge, 1 << i)),
                    }
                }
                edges.sort_unstable();
                for (edge, lanes) in edges {
                    take(self, w, edge, lanes);
                }
            }
        }
        if let [(target, _)] = groups[..] {
            self.go(w, target, mask, at)?;
        } else {
            let tally = &mut self.tally;
            tally.branch(index).divergent += 1;
            tally.branch(index).extra_targets += groups.len() as u64 - 1;
            match self.options.mode {
                Mode::Stack => {
                    tally.counters.pushes += w.stack.split(&groups, code.join);
                    self.note_depth(w);
                }
                Mode::Its => self.its_split(w, &groups, code.join, code.deferred, at)?,
            }
        }
        Ok(back)
    }

    /// Notices a warp that goes round for ever.
    fn check_progress(&mut self, w: &mut Warp, mask: u32) -> Result<(), ExecError> {
        let round = match self.options.mode {
            Mode::Stack => {
                let now = (self.changes, w.age);
                let repeats = w
                    .progress
                    .repeats(&w.registers, &w.stack, w.live, now, w.alone);
                w.stack.top().filter(|_| repeats).map(|e| (e.pc, e.mask))
            }
            Mode::Its => self.its_round(w, mask),
        };
        match round {
            None => Ok(()),
            Some((block, mask)) => Err(ExecError::NoProgress {
                block,
                function: w.state.function,
                mask,
                grid_block: w.grid_block,
                warp: w.number,
            }),
        }
    }
}
