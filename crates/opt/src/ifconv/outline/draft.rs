//! Drawing the outline of a region: its own blocks with their arrivals in
//! topological order, whatever forbids straight code on the way, then the bodies,
//! and how guards are computed.

use smallvec::SmallVec;
use warpfold_analysis::regions::{RegionId, Regions};
use warpfold_analysis::segments;
use warpfold_ir::{Block, Function, Inst, Opcode, Terminator};

use super::{Arrival, Arrivals, Body, Brought, Outline, Outlines, Own, Piece, Source};
use crate::ifconv::guards::{GuardId, Guards};
use crate::ifconv::hints::Hints;
use crate::ifconv::legality::{Blocker, MAX_DEPTH, MAX_EDGES};
use crate::ifconv::logic::{Logic, Names, TestShape, Truth};
use crate::report::Force;
use crate::safety::speculation;

/// What is needed while an outline is drawn; kept from one region to the next.
#[derive(Clone, Debug, Default)]
pub(super) struct Room {
    guards: Guards,
    names: Names,
    /// The own blocks.
    own: Vec<Block>,
    /// By own block that is not drawn yet: how lanes come to it.
    waiting: Vec<Arrivals>,
    /// By guard: the first body that has it.
    firsts: Vec<Option<usize>>,
}

/// What an outline is made with. Nested regions have theirs already.
pub(super) struct Draft<'a> {
    pub(super) func: &'a Function,
    pub(super) regions: &'a Regions,
    pub(super) force: Option<Force>,
    pub(super) hints: &'a Hints,
    pub(super) calls: bool,
    pub(super) all: &'a mut Outlines,
    pub(super) room: &'a mut Room,
}

impl Draft<'_> {
    pub(super) fn outline(mut self, id: RegionId) -> Result<Outline, Blocker> {
        let region = &self.regions[id];
        let head = region.head;
        self.hints.allow(id)?;
        if self.func.term(head).mark().is_some_and(|m| m.decided) {
            return Err(Blocker::Decided { block: head });
        }
        if region.height > MAX_DEPTH {
            return Err(self.too_deep(id));
        }
        let mut own = std::mem::take(&mut self.room.own);
        own.clear();
        own.extend(self.regions.own_blocks(id));
        let drawn = self.drawn(id, &own);
        self.room.own = own;
        drawn
    }

    fn drawn(&mut self, id: RegionId, own: &[Block]) -> Result<Outline, Blocker> {
        let region = &self.regions[id];
        let (head, join) = (region.head, region.join);
        for (i, &b) in own.iter().enumerate() {
            self.all.own[b] = i as u32;
        }
        self.few_edges(head, own)?;
        let mut out = Outline {
            region: id,
            head,
            join,
            tests: SmallVec::from_slice(&[head]),
            blocks: Vec::with_capacity(own.len()),
            arrivals: Arrivals::new(),
            bodies: Vec::new(),
            logic: Logic::default(),
            leaves: false,
            convergent: None,
        };
        self.room.guards.clear();
        self.room.waiting.clear();
        self.room.waiting.resize_with(own.len(), Arrivals::new);
        self.edges(&mut out, head, Source::Head, GuardId::ALWAYS, 0);
        for (i, &b) in own.iter().enumerate() {
            let arrivals = std::mem::take(&mut self.room.waiting[i]);
            self.own_block(&mut out, i, b, arrivals)?;
        }
        self.bodies(&mut out);
        let (func, own_of) = (self.func, &self.all.own);
        let tests = out.tests.iter().map(|&b| TestShape {
            edges: func.term(b).targets().len() as u32,
            is_switch: matches!(func.term(b), Terminator::Switch { .. }),
            ready: match b == head {
                true => 0,
                false => out.blocks[own_of[b] as usize].body as u32 + 1,
            },
        });
        self.room.names.begin(tests);
        compute(&mut out, self.room);
        Ok(out)
    }

    fn too_deep(&self, id: RegionId) -> Blocker {
        let mut at = id;
        for _ in 0..MAX_DEPTH {
            let children = self.regions[at].children.iter().copied();
            match children.max_by_key(|&c| (self.regions[c].height, std::cmp::Reverse(c))) {
                Some(child) => at = child,
                None => break,
            }
        }
        Blocker::Depth {
            block: self.regions[at].head,
        }
    }

    fn is_test(&self, b: Block) -> bool {
        self.func.term(b).is_conditional() && self.regions.headed_by(b).is_err()
    }

    fn few_edges(&self, head: Block, own: &[Block]) -> Result<(), Blocker> {
        let mut edges = 0;
        for &b in std::iter::once(&head).chain(own) {
            if b == head || self.is_test(b) {
                edges += self.func.term(b).targets().len();
                if edges > MAX_EDGES {
                    return Err(Blocker::Edges { block: b });
                }
            }
        }
        Ok(())
    }

    fn own_block(
        &mut self,
        out: &mut Outline,
        i: usize,
        b: Block,
        arrivals: Arrivals,
    ) -> Result<(), Blocker> {
        let mut guard = GuardId::NEVER;
        for a in &arrivals {
            guard = self.room.guards.or(guard, a.guard);
        }
        let func = self.func;
        let origin = |f: Source| match f {
            Source::Head => None,
            Source::Own(i) | Source::Nested(i) => Some(i),
        };
        let first = arrivals.first().map(|a| a.from);
        let from = first.and_then(origin);
        let one = arrivals.iter().all(|a| origin(a.from) == from);
        let proven = |b: Block| func.term(b).mark().is_none_or(|m| m.proven);
        let (together, uniform) = match (from, first) {
            (None, _) => (one, one && proven(out.head)),
            (Some(f), Some(Source::Own(_))) => (
                one && out.blocks[f].together,
                one && out.blocks[f].uniform && proven(out.blocks[f].block),
            ),
            (Some(f), _) => (one && out.blocks[f].together, one && out.blocks[f].uniform),
        };
        let nested = self.regions.headed_by(b).ok();
        let mut convergent = self.instructions(out, b)?;
        if let Some(region) = nested {
            let inner = self.all.get(region)?;
            out.leaves |= inner.leaves;
            convergent = convergent.or(inner.convergent);
            let join = (!inner.arrivals.is_empty()).then_some(inner.join);
            if let Some(join) = join {
                let arrival = Arrival::new(Source::Nested(i), guard, Brought::Joined(region));
                self.arrive(out, join, arrival);
            }
        } else {
            match func.term(b) {
                Terminator::Ret(values) => {
                    let values = !values.is_empty() || self.calls;
                    if values || self.force == Some(Force::Select) {
                        return Err(Blocker::EarlyEnd { block: b });
                    }
                    out.leaves = true;
                }
                Terminator::Trap(_) if self.force == Some(Force::Select) => {
                    return Err(Blocker::EarlyEnd { block: b });
                }
                Terminator::TailCall(_) => return Err(Blocker::EarlyEnd { block: b }),
                Terminator::Trap(_) => {}
                Terminator::Jump(to) => {
                    let arrival =
                        Arrival::new(Source::Own(i), guard, Brought::Args(to.args.clone()));
                    self.arrive(out, to.block, arrival);
                }
                Terminator::Br { mark, .. } | Terminator::Switch { mark, .. } => {
                    if mark.decided {
                        return Err(Blocker::Decided { block: b });
                    }
                    let test = out.tests.len() as u32;
                    out.tests.push(b);
                    self.edges(out, b, Source::Own(i), guard, test);
                }
            }
        }
        if !together && let Some(inst) = convergent {
            return Err(Blocker::Convergent { inst });
        }
        out.convergent = out.convergent.or(convergent);
        out.blocks.push(Own {
            block: b,
            guard,
            arrivals,
            together,
            uniform,
            nested,
            body: 0,
        });
        Ok(())
    }

    /// The first instruction that depends on who executes it together.
    fn instructions(&self, out: &mut Outline, b: Block) -> Result<Option<Inst>, Blocker> {
        let mut convergent = None;
        for &inst in &self.func.block(b).insts {
            let data = self.func.inst(inst);
            let effects = data.op.effects();
            if effects.syncs {
                return Err(Blocker::Sync { inst });
            }
            if effects.calls {
                return Err(Blocker::Call { inst });
            }
            if self.force == Some(Force::Select)
                && let Err(why) = speculation(self.func, data)
            {
                return Err(Blocker::Unsafe { inst, why });
            }
            if effects.convergent && convergent.is_none() {
                convergent = Some(inst);
            }
            out.leaves |= data.op == Opcode::Exit;
        }
        Ok(convergent)
    }

    /// The ways out of a test, those to one block with the same arguments
    /// together.
    fn edges(&mut self, out: &mut Outline, b: Block, from: Source, guard: GuardId, test: u32) {
        let guards = &mut self.room.guards;
        let targets = self.func.term(b).targets();
        let edges = targets.len() as u32;
        let mut ways: SmallVec<[(Block, Arrival); 2]> = SmallVec::new();
        for (edge, to) in targets.iter().enumerate() {
            let taken = guards.edge(test, edge as u32, edges);
            let guard = guards.and(guard, taken);
            let brought = Brought::Args(to.args.clone());
            let same =
                |(block, a): &&mut (Block, Arrival)| *block == to.block && a.brought == brought;
            match ways.iter_mut().find(same) {
                Some((_, a)) => a.guard = guards.or(a.guard, guard),
                None => ways.push((to.block, Arrival::new(from, guard, brought))),
            }
        }
        for (to, arrival) in ways {
            self.arrive(out, to, arrival);
        }
    }

    fn arrive(&mut self, out: &mut Outline, to: Block, arrival: Arrival) {
        match to == out.join {
            true => out.arrivals.push(arrival),
            false => self.room.waiting[self.all.own[to] as usize].push(arrival),
        }
    }

    fn bodies(&self, out: &mut Outline) {
        let mut bodies: Vec<Body> = Vec::with_capacity(out.blocks.len());
        // Whether the next piece begins a body.
        let mut cut = true;
        for i in 0..out.blocks.len() {
            let own = &out.blocks[i];
            let (block, guard, uniform) = (own.block, own.guard, own.uniform);
            let meets = own.arrivals.len() > 1;
            cut |= meets || bodies.last().is_some_and(|b| b.guard != guard);
            let begin = |first, skippable| Body {
                guard,
                truth: Truth::Known(true),
                first_of_guard: 0,
                pieces: SmallVec::new(),
                first,
                meets: None,
                skippable: skippable && guard != GuardId::ALWAYS,
                uniform,
            };
            let count = segments(self.func, block).count() as u32;
            let mut start = 0;
            for (segment, insts) in (0..).zip(segments(self.func, block)) {
                let end = start + insts.len() as u32;
                if cut {
                    bodies.push(begin((block, segment), true));
                    if segment == 0 && meets {
                        bodies.last_mut().expect("pushed").meets = Some(i);
                    }
                }
                let body = bodies.last_mut().expect("a body has begun");
                body.pieces.push(Piece::Segment {
                    own: i,
                    segment,
                    insts: (start, end),
                    last: segment + 1 == count,
                });
                start = end;
                let last = insts.last();
                cut = last.is_some_and(|&i| self.func.inst(i).op == Opcode::Exit);
            }
            if let Some(region) = own.nested {
                let leaves = self.all.legal(region).leaves;
                if leaves || cut {
                    bodies.push(begin((block, count - 1), !leaves));
                }
                let body = bodies.last_mut().expect("a body has begun");
                body.pieces.push(Piece::Nested { own: i, region });
                cut = leaves;
            } else {
                let term = self.func.term(block);
                cut |= term.is_conditional() || matches!(term, Terminator::Ret(_));
            }
            out.blocks[i].body = bodies.len() - 1;
        }
        out.bodies = bodies;
    }
}

/// Finds out how the guards of bodies are computed and where, and what tells the
/// ways apart where they meet.
fn compute(out: &mut Outline, room: &mut Room) {
    let Outline {
        blocks,
        arrivals,
        bodies,
        logic,
        ..
    } = out;
    let Room {
        guards,
        names,
        firsts,
        ..
    } = room;
    firsts.clear();
    for (k, body) in bodies.iter_mut().enumerate() {
        body.truth = logic.compute(names, guards, body.guard);
        let guard = body.guard.index();
        if firsts.len() <= guard {
            firsts.resize(guard + 1, None);
        }
        body.first_of_guard = *firsts[guard].get_or_insert(k);
        logic.place(body.truth, k as u32);
    }
    let mut meet = |blocks: &[Own], arrivals: &mut [Arrival], at: usize| {
        let all = arrivals
            .iter()
            .fold(GuardId::NEVER, |any, a| guards.or(any, a.guard));
        for a in arrivals {
            let lanes = guards.restrict(a.guard, all);
            a.chosen = logic.compute(names, guards, lanes);
            a.exact = lanes == a.guard;
            let mut point = at;
            if let Source::Own(i) | Source::Nested(i) = a.from {
                let (guard, body) = (blocks[i].guard, blocks[i].body);
                a.whole = guards.restrict(guard, all) == lanes;
                a.early = match a.chosen {
                    Truth::Literal(l) => logic.op(l.op).ready as usize <= body,
                    Truth::Known(_) => false,
                };
                if a.early {
                    point = body;
                }
            }
            logic.place(a.chosen, point as u32);
        }
    };
    for (k, body) in bodies.iter().enumerate() {
        if let Some(own) = body.meets {
            let mut arrivals = std::mem::take(&mut blocks[own].arrivals);
            meet(blocks, &mut arrivals, k);
            blocks[own].arrivals = arrivals;
        }
    }
    if arrivals.len() > 1 {
        meet(blocks, arrivals, bodies.len());
    }
}
