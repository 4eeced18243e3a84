//! Drawing the outline of a region: its own blocks with their arrivals in
//! topological order, whatever forbids straight code on the way, then the bodies,
//! and how guards are computed.

use hashbrown::HashMap;
use warpfold_analysis::regions::{RegionId, Regions};
use warpfold_analysis::segments;
use warpfold_ir::{Block, Function, Inst, Opcode, Terminator};

use super::{Arrival, Body, Brought, Outline, Outlines, Own, Piece, Source};
use crate::ifconv::guards::{GuardId, Guards};
use crate::ifconv::hints::Hints;
use crate::ifconv::legality::{Blocker, MAX_DEPTH, MAX_EDGES};
use crate::ifconv::logic::{Logic, TestShape, Truth};
use crate::report::Force;
use crate::safety::speculation;

/// What an outline is made with. Nested regions have theirs already.
pub(super) struct Draft<'a> {
    pub(super) func: &'a Function,
    pub(super) regions: &'a Regions,
    pub(super) force: Option<Force>,
    pub(super) hints: &'a Hints,
    pub(super) calls: bool,
    pub(super) all: &'a mut Outlines,
}

impl Draft<'_> {
    pub(super) fn outline(self, id: RegionId) -> Result<Outline, Blocker> {
        let region = &self.regions[id];
        let (head, join) = (region.head, region.join);
        self.hints.allow(id)?;
        if self.func.term(head).mark().is_some_and(|m| m.decided) {
            return Err(Blocker::Decided { block: head });
        }
        if region.height > MAX_DEPTH {
            return Err(self.too_deep(id));
        }
        let own: Vec<Block> = self.regions.own_blocks(id).collect();
        for (i, &b) in own.iter().enumerate() {
            self.all.own[b] = i as u32;
        }
        self.few_edges(head, &own)?;
        let mut out = Outline {
            region: id,
            head,
            join,
            tests: vec![head],
            blocks: Vec::with_capacity(own.len()),
            arrivals: Vec::new(),
            bodies: Vec::new(),
            guards: Guards::default(),
            logic: Logic::default(),
            leaves: false,
            convergent: None,
        };
        let mut waiting: Vec<Vec<Arrival>> = vec![Vec::new(); own.len()];
        self.edges(
            &mut out,
            &mut waiting,
            head,
            Source::Head,
            GuardId::ALWAYS,
            0,
        );
        for (i, &b) in own.iter().enumerate() {
            let arrivals = std::mem::take(&mut waiting[i]);
            self.own_block(&mut out, &mut waiting, i, b, arrivals)?;
        }
        self.bodies(&mut out);
        let tests = out.tests.iter().map(|&b| TestShape {
            edges: self.func.term(b).targets().len() as u32,
            is_switch: matches!(self.func.term(b), Terminator::Switch { .. }),
            ready: match b == head {
                true => 0,
                false => out.blocks[self.all.own[b] as usize].body as u32 + 1,
            },
        });
        out.logic = Logic::new(tests.collect());
        compute(&mut out);
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
        &self,
        out: &mut Outline,
        waiting: &mut [Vec<Arrival>],
        i: usize,
        b: Block,
        arrivals: Vec<Arrival>,
    ) -> Result<(), Blocker> {
        let mut guard = GuardId::NEVER;
        for a in &arrivals {
            guard = out.guards.or(guard, a.guard);
        }
        let origin = |f: Source| match f {
            Source::Head => None,
            Source::Own(i) | Source::Nested(i) => Some(i),
        };
        let first = arrivals.first().map(|a| a.from);
        let from = first.and_then(origin);
        let one = arrivals.iter().all(|a| origin(a.from) == from);
        let proven = |b: Block| self.func.term(b).mark().is_none_or(|m| m.proven);
        let (together, uniform) = match (from, first) {
            (None, _) => (one, one && proven(out.head)),
            (Some(f), Some(Source::Own(_))) => (
                one && out.blocks[f].together,
                one && out.blocks[f].uniform && proven(out.blocks[f].block),
            ),
            (Some(f), _) => (one && out.blocks[f].together, one && out.blocks[f].uniform),
        };
        let nested = self.regions.headed_by(b).ok();
        let convergent = self.instructions(out, b)?;
        let mut convergent = convergent;
        let term = self.func.term(b);
        if let Some(region) = nested {
            let inner = self.all.get(region)?;
            out.leaves |= inner.leaves;
            convergent = convergent.or(inner.convergent);
            if !inner.arrivals.is_empty() {
                let arrival = Arrival::new(Source::Nested(i), guard, Brought::Joined(region));
                self.arrive(out, waiting, inner.join, arrival);
            }
        } else {
            match term {
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
                    self.arrive(out, waiting, to.block, arrival);
                }
                Terminator::Br { mark, .. } | Terminator::Switch { mark, .. } => {
                    if mark.decided {
                        return Err(Blocker::Decided { block: b });
                    }
                    let test = out.tests.len() as u32;
                    out.tests.push(b);
                    self.edges(out, waiting, b, Source::Own(i), guard, test);
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
    fn edges(
        &self,
        out: &mut Outline,
        waiting: &mut [Vec<Arrival>],
        b: Block,
        from: Source,
        guard: GuardId,
        test: u32,
    ) {
        let targets = self.func.term(b).targets();
        let edges = targets.len() as u32;
        let mut ways: Vec<(Block, Arrival)> = Vec::new();
        for (edge, to) in targets.iter().enumerate() {
            let taken = out.guards.edge(test, edge as u32, edges);
            let guard = out.guards.and(guard, taken);
            let brought = Brought::Args(to.args.clone());
            let same =
                |(block, a): &&mut (Block, Arrival)| *block == to.block && a.brought == brought;
            match ways.iter_mut().find(same) {
                Some((_, a)) => a.guard = out.guards.or(a.guard, guard),
                None => ways.push((to.block, Arrival::new(from, guard, brought))),
            }
        }
        for (to, arrival) in ways {
            self.arrive(out, waiting, to, arrival);
        }
    }

    fn arrive(&self, out: &mut Outline, waiting: &mut [Vec<Arrival>], to: Block, arrival: Arrival) {
        match to == out.join {
            true => out.arrivals.push(arrival),
            false => waiting[self.all.own[to] as usize].push(arrival),
        }
    }

    fn bodies(&self, out: &mut Outline) {
        let mut bodies: Vec<Body> = Vec::new();
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
                pieces: Vec::new(),
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
fn compute(out: &mut Outline) {
    let Outline {
        blocks,
        arrivals,
        bodies,
        guards,
        logic,
        ..
    } = out;
    let mut firsts: HashMap<GuardId, usize> = HashMap::new();
    for (k, body) in bodies.iter_mut().enumerate() {
        body.truth = logic.compute(guards, body.guard);
        body.first_of_guard = *firsts.entry(body.guard).or_insert(k);
        logic.place(body.truth, k as u32);
    }
    let of_block: Vec<(GuardId, usize)> = blocks.iter().map(|b| (b.guard, b.body)).collect();
    let end = bodies.len();
    let meetings = bodies.iter().enumerate();
    let meetings: Vec<(usize, usize)> = meetings
        .filter_map(|(k, b)| b.meets.map(|own| (own, k)))
        .collect();
    let mut meet = |arrivals: &mut [Arrival], at: usize| {
        let all = arrivals
            .iter()
            .fold(GuardId::NEVER, |any, a| guards.or(any, a.guard));
        for a in arrivals {
            let lanes = guards.restrict(a.guard, all);
            a.chosen = logic.compute(guards, lanes);
            a.exact = lanes == a.guard;
            let mut point = at;
            if let Source::Own(i) | Source::Nested(i) = a.from {
                let (guard, body) = of_block[i];
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
    for (own, k) in meetings {
        meet(&mut blocks[own].arrivals, k);
    }
    if arrivals.len() > 1 {
        meet(arrivals, end);
    }
}
