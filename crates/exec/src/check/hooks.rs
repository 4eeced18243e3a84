//! Where the engine meets the checks. Each function is called only while
//! something is checked.

use smallvec::SmallVec;
use warpfold_analysis::Scope;
use warpfold_ir::{Block, CallTarget, Opcode, Terminator, Value};

use super::claims::{Claim, Taken};
use super::error::{PoisonUse, RacingKind, Where};
use super::frame::{Shadow, Source};
use super::instance::Instances;
use super::poison::{Operands, strict_uses};
use super::races::{Access as Touch, race};
use super::{CheckError, Checker};
use crate::access::Request;
use crate::engine::Engine;
use crate::error::ExecError;
use crate::outcome::Site;
use crate::program::{Access, Program, Term};
use crate::registers::{Kind, LANES, Place, lanes_of};
use crate::warp::Warp;

type Result = std::result::Result<(), ExecError>;

fn found(error: CheckError) -> ExecError {
    ExecError::Check(Box::new(error))
}

fn place_of(program: &Program<'_>, w: &Warp, site: Site, lanes: u32) -> Where {
    Where {
        site,
        origin: program.origin(site),
        function: w.state.function,
        grid_block: w.grid_block,
        warp: w.number,
        lanes,
    }
}

/// The lanes in which a predicate holds.
fn truth(program: &Program<'_>, w: &Warp, v: Value) -> u32 {
    match program.places[v] {
        Some(Place {
            kind: Kind::Pred,
            reg,
        }) => w.registers.pred[usize::from(reg)],
        _ => 0,
    }
}

/// The edges that lanes take at the end of a block, in order.
fn edges(program: &Program<'_>, w: &Warp, b: Block, mask: u32) -> SmallVec<[(usize, u32); 2]> {
    let mut edges: SmallVec<[(usize, u32); 2]> = SmallVec::new();
    match program.func.term(b) {
        Terminator::Jump(_) => edges.push((0, mask)),
        Terminator::Br { cond, .. } => {
            let yes = mask & truth(program, w, *cond);
            edges.extend(
                [(0, yes), (1, mask & !yes)]
                    .into_iter()
                    .filter(|e| e.1 != 0),
            );
        }
        Terminator::Switch { index, table, .. } => {
            let Some(at) = program.places[*index] else {
                return edges;
            };
            for lane in lanes_of(mask) {
                let x = w.registers.get(at, lane).min(table.len() as u128) as usize;
                match edges.iter_mut().find(|e| e.0 == x) {
                    Some(e) => e.1 |= 1 << lane,
                    None => edges.push((x, 1 << lane)),
                }
            }
            edges.sort_unstable();
        }
        _ => {}
    }
    edges
}

impl Checker {
    /// A block of the grid begins.
    pub(crate) fn start_block(&mut self, warps: usize) {
        self.wide.start_block(warps);
        if let Some(races) = &mut self.races {
            races.start_interval();
        }
    }

    /// All threads of the block have passed a barrier.
    pub(crate) fn pass_barrier(&mut self) {
        if let Some(races) = &mut self.races {
            races.start_interval();
        }
    }

    /// Lanes of a warp have waited for each other.
    pub(crate) fn warp_sync(&mut self, warp: u32, mask: u32) {
        if let Some(races) = &mut self.races {
            races.warp_sync(warp, mask);
        }
    }

    /// A block of the grid has ended.
    pub(crate) fn finish_block(&mut self, program: &Program<'_>, w: &Warp) -> Result {
        self.wide.finish_block().map_err(|(block, warp, scope)| {
            let at = Where {
                warp,
                ..place_of(program, w, Site::Term(block), w.exist)
            };
            found(CheckError::Claim {
                at,
                value: None,
                block,
                claim: format!("runs with all lanes of the {scope}"),
                found: "but this warp passed it less often than another".into(),
            })
        })
    }

    /// Compares claims about values in `b`.
    fn compare(
        &mut self,
        program: &Program<'_>,
        w: &Warp,
        b: Block,
        mask: u32,
        which: impl Fn(&Self) -> &[Claim],
    ) -> Result {
        let instance = w.state.shadow.instances.current(mask);
        for k in 0..which(self).len() {
            let claim = which(self)[k].clone();
            let lanes = mask & !w.state.shadow.poison(claim.value);
            let result = self
                .wide
                .compare(&claim, w, b, lanes, instance, &mut self.checked);
            result.map_err(|message| {
                found(CheckError::Claim {
                    at: place_of(program, w, claim.site, lanes),
                    value: Some(claim.value),
                    block: b,
                    claim: claim.shape.to_string(),
                    found: message,
                })
            })?;
        }
        Ok(())
    }

    /// Lanes enter `b`.
    pub(crate) fn enter(
        &mut self,
        program: &Program<'_>,
        w: &mut Warp,
        b: Block,
        mask: u32,
    ) -> Result {
        let function = w.state.function;
        let shadow = &mut w.state.shadow;
        if !shadow.started {
            shadow.started = true;
            for &(v, inst) in &self.claims[function].poison_constants {
                shadow.set(v, u32::MAX, u32::MAX);
                shadow.set_source(v, u32::MAX, |_| Some(Source { function, inst }));
            }
        }
        let instance = shadow.instances.enter(b, mask);
        let claims = &self.claims[function].blocks[b];
        if w.runs_kernel() {
            let checked = &mut self.checked;
            let wide = &mut self.wide;
            let faulted = wide.faulted.get(w.number as usize).copied().unwrap_or(0);
            let missing = [
                (claims.live, w.live, "live lanes"),
                (claims.exec, w.exist & !faulted, "lanes"),
            ]
            .into_iter()
            .find(|&(claimed, lanes, _)| claimed.is_uniform() && mask != lanes);
            let result = match missing {
                Some((scope, lanes, what)) => Err(format!(
                    "runs with all {what} of the {scope}, but {:#010x} are missing",
                    lanes & !mask
                )),
                None => wide.enter(claims, w.number, instance, b, checked),
            };
            result.map_err(|message| {
                found(CheckError::Claim {
                    at: place_of(program, w, Site::Term(b), mask),
                    value: None,
                    block: b,
                    claim: format!("exec {}, live {}", claims.exec, claims.live),
                    found: message,
                })
            })?;
        }
        self.compare(program, w, b, mask, |c| {
            &c.claims[function].blocks[b].inputs
        })
    }

    /// Refuses poison that is used as it must not be.
    fn use_of(
        &mut self,
        program: &Program<'_>,
        w: &Warp,
        site: Site,
        (v, used): (Value, PoisonUse),
        lanes: u32,
    ) -> Result {
        if !self.poison {
            return Ok(());
        }
        self.checked.poison += 1;
        let poison = w.state.shadow.poison(v) & lanes;
        if poison == 0 {
            return Ok(());
        }
        let source = w.state.shadow.source(v, poison.trailing_zeros() as usize);
        let at = place_of(program, w, site, poison);
        let made = source.map(|s| {
            let site = Site::Inst(s.inst);
            // Of another function only the place is known here.
            let own = s.function == at.function;
            (
                site,
                if own {
                    program.origin(site)
                } else {
                    Default::default()
                },
            )
        });
        Err(found(CheckError::Poison {
            at,
            value: v,
            used,
            made,
        }))
    }

    /// Before op `i`: guards and operands, and which lanes of the result will
    /// be poison.
    pub(crate) fn before(
        &mut self,
        program: &Program<'_>,
        w: &mut Warp,
        i: usize,
        mask: u32,
    ) -> Result {
        let inst = program.insts[i];
        let data = program.func.inst(inst);
        let site = Site::Inst(inst);
        let mut on = mask;
        if let Some(guard) = data.guard {
            self.use_of(program, w, site, (guard.pred, PoisonUse::Guard), mask)?;
            let holds = truth(program, w, guard.pred);
            on &= if guard.negated { !holds } else { holds };
        }
        for used in strict_uses(program.func, data) {
            self.use_of(program, w, site, used, on)?;
        }
        if data.results.is_empty() || data.op.effects().calls {
            return Ok(());
        }
        let function = w.state.function;
        let off = mask & !on;
        let otherwise = data.guard.and_then(|g| g.otherwise);
        let computed = Operands {
            func: program.func,
            poison: &|v| w.state.shadow.poison(v),
            truth: &|v| truth(program, w, v),
        }
        .result(data, on);
        let skipped = match otherwise {
            Some(v) => w.state.shadow.poison(v) & off,
            None => off,
        };
        let shadow = &mut w.state.shadow;
        if computed | skipped != 0 {
            let from: SmallVec<[Value; 4]> = data.uses().collect();
            let sources: [Option<Source>; LANES] = std::array::from_fn(|lane| {
                let made_here = otherwise.is_none() && off >> lane & 1 == 1;
                let handed = || {
                    from.iter().find_map(|&v| {
                        (shadow.poison(v) >> lane & 1 == 1).then(|| shadow.source(v, lane))
                    })
                };
                match made_here {
                    true => Some(Source { function, inst }),
                    false => handed().flatten(),
                }
            });
            for &r in &data.results {
                shadow.set_source(r, computed | skipped, |lane| sources[lane]);
            }
        }
        for &r in &data.results {
            shadow.set(r, mask, computed | skipped);
        }
        Ok(())
    }

    /// Lanes trapped at op `i`, by what their operands hold.
    pub(crate) fn fault(
        &mut self,
        program: &Program<'_>,
        w: &Warp,
        i: usize,
        lanes: u32,
    ) -> Result {
        self.wide.fault(w.number, lanes);
        let inst = program.insts[i];
        for &v in &program.func.inst(inst).args {
            let used = (v, PoisonUse::Trapping);
            self.use_of(program, w, Site::Inst(inst), used, lanes)?;
        }
        Ok(())
    }

    /// After op `i`, whose results `mask` now has.
    pub(crate) fn after(
        &mut self,
        program: &Program<'_>,
        w: &mut Warp,
        b: Block,
        i: usize,
        mask: u32,
    ) -> Result {
        let inst = program.insts[i];
        let data = program.func.inst(inst);
        if data.op.effects().calls {
            for &r in &data.results {
                w.state.shadow.set(r, mask, 0);
            }
        }
        let function = w.state.function;
        self.compare(program, w, b, mask, |c| &c.claims[function].results[inst])
    }

    /// Before the terminator of `b`.
    pub(crate) fn terminate(
        &mut self,
        program: &Program<'_>,
        w: &mut Warp,
        b: Block,
        mask: u32,
    ) -> Result {
        let site = Site::Term(b);
        let term = program.func.term(b);
        match term {
            Terminator::Ret(values) => {
                for &v in values {
                    self.use_of(program, w, site, (v, PoisonUse::Returned), mask)?;
                }
            }
            Terminator::TailCall(call) => {
                if let CallTarget::Indirect { address, .. } = call.target {
                    self.use_of(program, w, site, (address, PoisonUse::Address), mask)?;
                }
            }
            _ => {}
        }
        if let Some(cond) = term.condition() {
            self.use_of(program, w, site, (cond, PoisonUse::Condition), mask)?;
        }
        let edges = edges(program, w, b, mask);
        let targets = term.targets();
        let mut blocks: SmallVec<[Block; 2]> = SmallVec::new();
        for &(edge, lanes) in &edges {
            let Some(target) = targets.get(edge) else {
                continue;
            };
            if !blocks.contains(&target.block) {
                blocks.push(target.block);
            }
            let shadow = &mut w.state.shadow;
            let moved: SmallVec<[(Value, Value, u32); 4]> =
                (program.func.block(target.block).params)
                    .iter()
                    .zip(&target.args)
                    .map(|(&param, &arg)| (param, arg, shadow.poison(arg) & lanes))
                    .collect();
            let sources: SmallVec<[[Option<Source>; LANES]; 1]> = moved
                .iter()
                .filter(|m| m.2 != 0)
                .map(|&(_, arg, _)| std::array::from_fn(|lane| shadow.source(arg, lane)))
                .collect();
            let mut sources = sources.iter();
            for &(param, _, poison) in &moved {
                shadow.set(param, lanes, poison);
                if poison != 0
                    && let Some(from) = sources.next()
                {
                    shadow.set_source(param, poison, |lane| from[lane]);
                }
            }
        }
        if let Some(claim) = self.claims[w.state.function].blocks[b].branch
            && term
                .condition()
                .is_none_or(|c| w.state.shadow.poison(c) & mask == 0)
        {
            let instance = w.state.shadow.instances.current(mask);
            let checked = &mut self.checked;
            let taken = Taken {
                edges,
                targets: blocks.len(),
            };
            let result = self.wide.branch(&claim, w, b, &taken, instance, checked);
            result.map_err(|(claim, message)| {
                found(CheckError::Claim {
                    at: place_of(program, w, site, mask),
                    value: None,
                    block: b,
                    claim: format!("branch {claim}"),
                    found: message,
                })
            })?;
        }
        let several = targets.iter().any(|t| t.block != targets[0].block);
        if let Some(Term::Branch(branch)) = program.blocks[b].as_ref().map(|code| &code.term)
            && several
        {
            let join = program.branches[*branch as usize].join;
            let claim = self.claims[w.state.function].blocks[b].branch;
            let scope = claim.map_or(Scope::Lane, |c| c.scope);
            w.state.shadow.instances.branch(mask, join, scope);
        }
        Ok(())
    }

    /// The shadow of a frame for `callee`, which lanes come into from `site`
    /// of the frame that runs.
    pub(crate) fn call(
        &self,
        program: &Program<'_>,
        callee: &Program<'_>,
        w: &Warp,
        site: Site,
        lanes: u32,
    ) -> Shadow {
        let args: &[Value] = match site {
            Site::Inst(i) => program
                .func
                .call(program.func.inst(i))
                .map_or(&[], |call| call.1),
            Site::Term(b) | Site::Yield(b) => match program.func.term(b) {
                Terminator::TailCall(call) => &call.args,
                _ => &[],
            },
        };
        let number = match site {
            Site::Inst(i) => u64::from(i.as_u32()) << 1,
            Site::Term(b) | Site::Yield(b) => u64::from(b.as_u32()) << 1 | 1,
        };
        let way = w.state.shadow.instances.current(lanes);
        let mut shadow = Shadow::default();
        shadow.instances = Instances::called_from(way, number);
        let params = &callee.func.block(callee.entry).params;
        for (&param, &arg) in params.iter().zip(args) {
            let poison = w.state.shadow.poison(arg) & lanes;
            shadow.set(param, lanes, poison);
            shadow.set_source(param, poison, |lane| w.state.shadow.source(arg, lane));
        }
        shadow
    }
}

impl Engine<'_> {
    /// Lanes have got the result of op `i`.
    #[cold]
    pub(crate) fn check_result(&mut self, w: &mut Warp, b: Block, i: usize, mask: u32) -> Result {
        match &mut self.checker {
            Some(checker) => checker.after(self.program, w, b, i, mask),
            None => Ok(()),
        }
    }

    /// Lanes went through a memory access at op `i`, executed by `w`.
    #[cold]
    pub(crate) fn check_access(
        &mut self,
        w: &Warp,
        i: usize,
        access: &Access,
        request: &Request,
        opcode: Opcode,
    ) -> Result {
        let program = self.program;
        let Some(checker) = &mut self.checker else {
            return Ok(());
        };
        let Some(races) = &mut checker.races else {
            return Ok(());
        };
        let effects = opcode.effects();
        let kind = match (access.atomic, effects.writes) {
            (false, false) => RacingKind::Read,
            (false, true) => RacingKind::Write,
            (true, false) => RacingKind::AtomicRead,
            (true, true) => RacingKind::AtomicWrite,
        };
        let stored = Place {
            kind: access.kind,
            reg: program.ops[i].a,
        };
        let bytes = access.bytes as usize;
        for lane in lanes_of(request.global | request.shared) {
            let known = races.known(w.number, lane);
            let address = request.address[lane];
            let global = request.global >> lane & 1 == 1;
            if global && self.memory.is_readonly_at(address) {
                continue;
            }
            let mut value = [0; 16];
            if kind == RacingKind::Write {
                value = w.registers.get(stored, lane).to_le_bytes();
                if access.flags.contains(warpfold_ir::MemFlags::BIG) {
                    value[..bytes.min(16)].reverse();
                }
            }
            for (k, &byte) in value.iter().enumerate().take(bytes) {
                let touch = Touch {
                    kind,
                    byte,
                    lane: lane as u8,
                    time: known[lane],
                    warp: w.number,
                    grid_block: w.grid_block,
                    thread: w.first_thread + lane as u64,
                    function: w.state.function,
                    site: Site::Inst(program.insts[i]),
                };
                let address = address.wrapping_add(k as u64);
                let result = races.access(address, global, (touch, &known), &mut checker.checked);
                if let Err(earlier) = result {
                    let programs = &self.linked.programs;
                    return Err(found(race(programs, address, [earlier, touch])));
                }
            }
        }
        Ok(())
    }
}
