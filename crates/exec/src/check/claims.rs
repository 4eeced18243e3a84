//! Claims of the uniformity analysis, compared with what lanes hold.
//!
//! What is compared, at each pass of a block by a warp:
//!
//! | when | what |
//! |---|---|
//! | lanes enter the block | its parameters and every value from elsewhere that it uses, with the claim *at that block*: temporal divergence is judged where the value is used; `exec_scope` and `live_scope` |
//! | an instruction is done | its results, in the lanes that do not hold poison |
//! | the block ends | whether a uniform branch split, the condition's scope, the known mask, the tail guard |
//!
//! Constants never execute; they are compared when a frame begins.
//!
//! **Wider than a warp.** A base, a uniform bit or an edge taken that is common
//! to the block or grid is compared with the first warp that came to the same
//! dynamic instance (see [`instance`](super::instance)). A *row* is compared
//! likewise after its stride along the row is taken off. A block that
//! runs with all live lanes of the block (grid) is passed by all warps
//! in the same sequence until they leave, so each warp's sequence of such passes
//! must be a beginning of the longest; where all *launched* lanes run it, all
//! sequences must be equal in the end.
//!
//! **Tail guards.** The truth of an ordering of `i` and a bound, `i` going up by one
//! along a row, changes at the bound and where `i` wraps around. So among the
//! lanes of a row, taken in order, it changes at most twice, each time between
//! lanes of one warp at most.

use std::collections::HashMap;

use cranelift_entity::{EntityRef, EntitySet, SecondaryMap};
use smallvec::SmallVec;
use warpfold_analysis::{Scope, Shape, Uniformity};
use warpfold_ir::{Block, CostClass, Inst, Opcode, Terminator, Value, ValueDef};

use super::instance::{Instance, SCOPES, mix};
use super::{Checked, MOST_KEPT};
use crate::outcome::Site;
use crate::program::Program;
use crate::registers::{LANES, Place, lanes_of};
use crate::warp::Warp;

/// What is claimed of one value in one block.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub value: Value,
    place: Place,
    pub shape: Shape,
    /// All bits of its type.
    mask: u128,
    /// The definition, or the first use in the block.
    pub site: Site,
}

/// What is claimed of the branch at the end of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BranchClaim {
    pub scope: Scope,
    pub uniform: bool,
    pub mask: Option<u32>,
    pub tail: bool,
}

/// Where the lanes of a pass go at its end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Taken {
    /// Edges in order, with their lanes.
    pub edges: SmallVec<[(usize, u32); 2]>,
    /// Blocks that they lead to.
    pub targets: usize,
}

/// What is claimed of a block and of what is used there.
#[derive(Clone, Debug)]
pub(crate) struct BlockClaims {
    pub inputs: Vec<Claim>,
    pub exec: Scope,
    pub live: Scope,
    pub branch: Option<BranchClaim>,
}

impl Default for BlockClaims {
    fn default() -> Self {
        Self {
            inputs: Vec::new(),
            exec: Scope::Lane,
            live: Scope::Lane,
            branch: None,
        }
    }
}

/// What is claimed of one function.
#[derive(Clone, Debug, Default)]
pub(crate) struct FunctionClaims {
    pub blocks: SecondaryMap<Block, BlockClaims>,
    pub results: SecondaryMap<Inst, SmallVec<[Claim; 1]>>,
    pub poison_constants: Vec<(Value, Inst)>,
}

impl FunctionClaims {
    pub(crate) fn new(program: &Program<'_>, claimed: Option<&Uniformity>) -> Self {
        let func = program.func;
        let mut all = Self::default();
        for (_, i) in func.laid_out_insts() {
            let data = func.inst(i);
            if data.op == Opcode::Poison {
                all.poison_constants
                    .extend(data.results.iter().map(|&v| (v, i)));
            }
        }
        let Some(claimed) = claimed else { return all };
        let claim = |v: Value, b: Block, site: Site| {
            let shape = claimed.shape_at(v, b);
            let place = program.places[v]?;
            let says_something = shape != Shape::varying(func.ty(v));
            says_something.then_some(Claim {
                value: v,
                place,
                shape,
                mask: func.ty(v).mask(),
                site,
            })
        };
        let entry = program.entry;
        for &b in &func.layout {
            let block = func.block(b);
            let mut seen: EntitySet<Value> = EntitySet::new();
            let mut inputs = Vec::new();
            let mut own: EntitySet<Value> = EntitySet::new();
            let mut input = |v: Value, site: Site, own: &EntitySet<Value>| {
                let constant = matches!(func.def(v), ValueDef::Result(i, _)
                    if func.inst(i).cost_class() == CostClass::Const);
                if !constant && !own.contains(v) && seen.insert(v) {
                    inputs.extend(claim(v, b, site));
                }
            };
            let mut constants = Vec::new();
            for &i in &block.insts {
                let data = func.inst(i);
                for v in data.uses() {
                    input(v, Site::Inst(i), &own);
                }
                for &r in &data.results {
                    own.insert(r);
                    let claim = claim(r, b, Site::Inst(i));
                    match data.cost_class() {
                        _ if data.op == Opcode::Poison => {}
                        CostClass::Const => constants.extend(claim),
                        _ => all.results[i].extend(claim),
                    }
                }
            }
            let unused = block.params.iter().copied();
            for v in func.term(b).uses().chain(unused) {
                input(v, Site::Term(b), &own);
            }
            all.blocks[entry].inputs.extend(constants);
            let claims = &mut all.blocks[b];
            claims.inputs.extend(inputs);
            claims.exec = claimed.exec_scope(b);
            claims.live = claimed.live_scope(b);
            claims.branch = func.term(b).is_conditional().then(|| BranchClaim {
                scope: claimed.branch_scope(b),
                uniform: claimed.is_uniform_branch(b),
                mask: match func.term(b) {
                    Terminator::Br { .. } => claimed.known_mask(b),
                    _ => None,
                },
                tail: claimed.tail_guard(b),
            });
        }
        all
    }
}

/// The passes that all warps must make, in order.
#[derive(Clone, Debug, Default)]
struct Chain {
    passes: Vec<(u64, Block)>,
    /// How far each warp of the block has come.
    at: Vec<usize>,
    /// Whether some warp has come to the end of its passes: none may make more.
    ended: bool,
}

impl Chain {
    /// Warp `warp` makes a pass. `Err` with the block it should pass instead.
    fn pass(&mut self, warp: usize, key: u64, b: Block) -> Result<(), Option<Block>> {
        if self.at.len() <= warp {
            self.at.resize(warp + 1, 0);
        }
        let at = &mut self.at[warp];
        match self.passes.get(*at) {
            Some(&(expected, _)) if expected == key => *at += 1,
            Some(&(_, block)) => return Err(Some(block)),
            None if self.ended => return Err(None),
            None if self.passes.len() < MOST_KEPT => {
                self.passes.push((key, b));
                *at += 1;
            }
            None => {}
        }
        Ok(())
    }
}

/// What the warps of a block, and of the grid, have in common.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wide {
    /// What the first warp held, and a thread of it: of the block, of the grid.
    seen: [HashMap<u64, (u128, u64)>; 2],
    /// How often the truth of a tail guard changed along a row.
    tails: HashMap<u64, u32>,
    /// Passes with all live lanes of the block, of the grid.
    live: [Chain; 2],
    /// Passes with all launched lanes of the block, of the grid.
    exec: [Chain; 2],
    /// Lanes of each warp that a faulting instruction has retired.
    pub faulted: Vec<u32>,
    any_fault: bool,
}

/// What is compared between warps, to tell keys apart.
#[derive(Clone, Copy)]
enum Common {
    Base,
    Row,
    Edge,
    Tail,
}

/// The tables that a claim at this scope is kept in.
fn tables(scope: Scope) -> std::ops::Range<usize> {
    match scope {
        Scope::Const | Scope::Grid => 0..2,
        Scope::Block => 0..1,
        Scope::Warp | Scope::Lane => 0..0,
    }
}

impl Wide {
    /// A block of the grid begins.
    pub(crate) fn start_block(&mut self, warps: usize) {
        self.seen[0].clear();
        self.tails.clear();
        for chain in [&mut self.live[0], &mut self.exec[0]] {
            *chain = Chain::default();
        }
        for chain in [&mut self.live[1], &mut self.exec[1]] {
            chain.at.clear();
        }
        for chain in self.live.iter_mut().chain(&mut self.exec) {
            chain.at.resize(warps, 0);
        }
        self.faulted.clear();
        self.faulted.resize(warps, 0);
    }

    pub(crate) fn fault(&mut self, warp: u32, lanes: u32) {
        if let Some(faulted) = self.faulted.get_mut(warp as usize) {
            *faulted |= lanes;
            self.any_fault = true;
        }
    }

    /// A block of the grid has ended. `Err` with a block of the function that
    /// some warp passed less often than another, the warp, and the scope.
    pub(crate) fn finish_block(&mut self) -> Result<(), (Block, u32, Scope)> {
        if self.any_fault {
            return Ok(());
        }
        for (chain, scope) in self.exec.iter_mut().zip(SCOPES) {
            if chain.passes.len() >= MOST_KEPT {
                continue;
            }
            for (warp, &at) in chain.at.iter().enumerate() {
                if let Some(&(_, block)) = chain.passes.get(at) {
                    return Err((block, warp as u32, scope));
                }
            }
            chain.ended = true;
        }
        Ok(())
    }

    /// A warp enters `b`; `instance` is that of its pass.
    pub(crate) fn enter(
        &mut self,
        claims: &BlockClaims,
        warp: u32,
        instance: Instance,
        b: Block,
        checked: &mut Checked,
    ) -> Result<(), String> {
        let any_fault = self.any_fault;
        for (chains, claimed, what) in [
            (
                &mut self.live,
                claims.live,
                "runs with all live lanes of the",
            ),
            (&mut self.exec, claims.exec, "runs with all lanes of the"),
        ] {
            for ((chain, scope), instance) in chains.iter_mut().zip(SCOPES).zip(instance) {
                if claimed > scope {
                    continue;
                }
                checked.control += 1;
                let key = mix(instance, b.index() as u64);
                match chain.pass(warp as usize, key, b) {
                    Ok(()) => {}
                    Err(_) if any_fault => {}
                    Err(Some(other)) => {
                        return Err(format!(
                            "{what} {scope}, but another warp passes {other} in its place"
                        ));
                    }
                    Err(None) => {
                        return Err(format!(
                            "{what} {scope}, but other warps passed it less often"
                        ));
                    }
                }
            }
        }
        Ok(())
    }

    /// Compares what must be common to all warps at one instance.
    fn common(
        &mut self,
        scope: Scope,
        instance: Instance,
        what: u64,
        held: u128,
        thread: u64,
        checked: &mut Checked,
    ) -> Result<(), u64> {
        for table in tables(scope) {
            let seen = &mut self.seen[table];
            let key = mix(instance[table], what);
            match seen.get(&key) {
                Some(&(first, of)) if first != held => return Err(of),
                Some(_) => checked.wide += 1,
                None if seen.len() < MOST_KEPT => {
                    seen.insert(key, (held, thread));
                }
                None => checked.unrecorded += 1,
            }
        }
        Ok(())
    }

    /// Compares a claim with what `lanes` hold.
    pub(crate) fn compare(
        &mut self,
        claim: &Claim,
        w: &Warp,
        b: Block,
        lanes: u32,
        instance: Instance,
        checked: &mut Checked,
    ) -> Result<(), String> {
        let mut held: SmallVec<[(u32, u128); LANES]> = SmallVec::new();
        held.extend(lanes_of(lanes).map(|l| (l as u32, w.registers.get(claim.place, l))));
        let Some(&(lane, value)) = held.first() else {
            return Ok(());
        };
        checked.claims += 1;
        claim.shape.check(&held)?;
        let shape = &claim.shape;
        let thread = w.first_thread + u64::from(lane);
        let mask = claim.mask;
        let what = mix(claim.value.index() as u64, b.index() as u64);
        let common = match shape.stride() {
            _ if shape.as_constant().is_some() => None,
            Some(0) => Some(value),
            Some(s) => {
                Some(u128::from((value as u64).wrapping_sub(s.wrapping_mul(lane.into()))) & mask)
            }
            None if shape.uniform_bits() != 0 => Some(value & u128::from(shape.uniform_bits())),
            None => None,
        };
        if let Some(common) = common {
            let key = mix(what, Common::Base as u64);
            self.common(shape.base_scope(), instance, key, common, thread, checked)
                .map_err(|other| {
                    format!(
                        "what is common to the {} is {common:#x} in thread {thread} and something \
                         else in thread {other}",
                        shape.base_scope()
                    )
                })?;
        }
        if let (true, Some(s)) = (shape.is_row(), shape.stride()) {
            let [x, y, z] = [0, 1, 2].map(|d| u64::from(w.tid[d][lane as usize]));
            let start = u128::from((value as u64).wrapping_sub(s.wrapping_mul(x))) & mask;
            let key = mix(mix(what, Common::Row as u64), y << 32 | z);
            self.common(Scope::Block, instance, key, start, thread, checked)
                .map_err(|other| {
                    format!("the row does not go on from thread {other} to thread {thread}")
                })?;
        }
        Ok(())
    }

    /// Compares what is claimed of a branch with the edges that lanes take.
    pub(crate) fn branch(
        &mut self,
        claim: &BranchClaim,
        w: &Warp,
        b: Block,
        taken: &Taken,
        instance: Instance,
        checked: &mut Checked,
    ) -> Result<(), (String, String)> {
        checked.control += 1;
        let edges = &taken.edges[..];
        let mask = edges.iter().fold(0, |m, e| m | e.1);
        let in_words = || -> String {
            let list: Vec<String> = edges
                .iter()
                .map(|(edge, lanes)| format!("{lanes:#010x} take edge {edge}"))
                .collect();
            list.join(", ")
        };
        if claim.uniform && taken.targets > 1 {
            return Err((
                "uniform".into(),
                format!("but the warp splits: {}", in_words()),
            ));
        }
        if claim.scope.is_uniform() && edges.len() > 1 {
            return Err((
                format!("uniform({})", claim.scope),
                format!("but {}", in_words()),
            ));
        }
        if let Some(known) = claim.mask {
            let first = edges.iter().filter(|e| e.0 == 0).fold(0, |m, e| m | e.1);
            if first != known & mask {
                return Err((format!("mask {known:#010x}"), format!("but {}", in_words())));
            }
        }
        let lane = mask.trailing_zeros() as usize % LANES;
        let thread = w.first_thread + lane as u64;
        let what = b.index() as u64;
        if claim.scope <= Scope::Block
            && let [(edge, _)] = *edges
        {
            let key = mix(what, Common::Edge as u64 + 16);
            self.common(claim.scope, instance, key, edge as u128, thread, checked)
                .map_err(|other| {
                    (
                        format!("uniform({})", claim.scope),
                        format!("but threads {other} and {thread} take different edges"),
                    )
                })?;
        }
        if claim.tail {
            let first = edges.iter().filter(|e| e.0 == 0).fold(0, |m, e| m | e.1);
            let truths: SmallVec<[bool; LANES]> =
                lanes_of(mask).map(|l| first >> l & 1 == 1).collect();
            let changes = truths.windows(2).filter(|t| t[0] != t[1]).count() as u32;
            let [y, z] = [1, 2].map(|d| u64::from(w.tid[d][lane]));
            let key = mix(mix(what, Common::Tail as u64 + 16), y << 32 | z);
            // A row is within a block.
            let key = mix(instance[0], key);
            if changes > 0 && self.tails.len() < MOST_KEPT {
                let all = self.tails.entry(key).or_default();
                *all += changes;
                if *all > 2 {
                    return Err((
                        "tail guard".into(),
                        format!("but its truth changes {all} times along a row"),
                    ));
                }
            }
        }
        Ok(())
    }
}
