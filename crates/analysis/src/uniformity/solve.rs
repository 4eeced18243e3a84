//! The fixpoint: sparse, optimistic, nothing pinned.
//!
//! Every value starts at bottom (no lane holds anything) and is only ever
//! lowered, when an operand or the scope of a branch that bears on it has
//! been. What a value was found to be is joined with what it was before, so
//! the end is a post-fixpoint even where the rules are not monotone. Bit facts
//! that keep changing are widened away after a few rounds, and a value that
//! still changes gives up all claims; so the number of steps is linear in the
//! number of uses. What most branches separate is known without a walk (see
//! `spans.rs`); the regions of the others are walked within a budget in
//! proportion to the function; beyond it the solver turns *coarse*: values that
//! could vary anywhere are separated outside their own block, and parameters
//! that are no copies everywhere.

use std::sync::Arc;

use cranelift_entity::{EntityRef, EntitySet, SecondaryMap};
use smallvec::SmallVec;
use warpfold_ir::{Block, Function, Inst, InstData, Opcode, Shape as Form, Type, Value, ValueDef};

use super::arith::{add, scale};
use super::control::Split;
use super::domain::Shape;
use super::launch::LaunchShape;
use super::linear::Linear;
use super::numbers::OPERANDS;
use super::presence::Presence;
use super::reason::Reason;
use super::scope::Scope;
use super::spans::{Span, Spans};
use super::state::{Coarse, State};
use super::transfer::{Env, last_two_same, select, transfer};
use super::worklist::Worklist;
use super::{Graph, UniformityOptions};
use crate::LoopId;

/// At which change of a value, what it was found to be first not counted, its bit facts
/// are widened.
const WIDEN_AT: u16 = 5;
/// At which change of a value, counted likewise, it claims nothing any more.
const GIVE_UP_AT: u16 = 40;
/// Edges that region walks may take, per edge of the function.
const WALKS_PER_EDGE: u64 = 64;

#[derive(Clone, Copy, Debug)]
enum Item {
    Param(Block, u32),
    Inst(Block, Inst),
    /// The same with the position of what is special about it.
    Special(Block, Inst, u32),
    Term(Block),
}

/// That an item uses a value: the item, and the next use of the same value by its
/// position, counted from 1.
#[derive(Clone, Copy, Debug)]
struct Use {
    item: u32,
    next: u32,
}

/// How a result is found beside the opcode's own rule.
#[derive(Clone, Debug)]
enum Special {
    /// It is a sum of other values.
    Sum(Linear),
    /// It is the number of the thread in its block.
    ThreadNumber,
}

/// By parameter of a block: the scope of a branch, and the branch.
type Mixed = SmallVec<[Option<(Scope, Block)>; 2]>;

struct Solver<'a> {
    func: &'a Function,
    graph: &'a Graph<'a>,
    options: &'a UniformityOptions,
    presence: Presence,
    state: State,
    split_of: SecondaryMap<Block, Option<u32>>,
    meets: SecondaryMap<Block, SmallVec<[u32; 2]>>,
    opaque: SecondaryMap<Block, SmallVec<[u32; 2]>>,
    /// By block and parameter: the branch of widest scope that joins there and
    /// brings different arguments, where no walk was needed to tell.
    mixed: SecondaryMap<Block, Mixed>,
    budget: u64,
    items: Vec<Item>,
    special: Vec<Special>,
    /// By value: the position of its first use in `uses`, counted from 1.
    first_use: Vec<u32>,
    uses: Vec<Use>,
    /// The items of a block's parameters: the first, and how many.
    params: SecondaryMap<Block, (u32, u32)>,
    /// The items behind each loop that use values defined in it.
    behind: SecondaryMap<LoopId, Vec<u32>>,
    /// By item: how many loops its operands are looked at from outside of. Empty where
    /// there are no loops.
    looks: Vec<u32>,
    work: Worklist,
    changes: Vec<u16>,
}

/// Runs the analysis to its end.
pub(crate) fn solve(func: &Function, graph: &Graph<'_>, options: &UniformityOptions) -> State {
    let spans = Spans::new(func, graph, options.convergence);
    solve_with(func, graph, options, spans)
}

/// The same, every region walked.
#[cfg(test)]
pub(crate) fn solve_by_walks(
    func: &Function,
    graph: &Graph<'_>,
    options: &UniformityOptions,
) -> State {
    solve_with(func, graph, options, Spans::default())
}

fn solve_with(
    func: &Function,
    graph: &Graph<'_>,
    options: &UniformityOptions,
    spans: Spans,
) -> State {
    let edges: usize = graph
        .cfg
        .rpo()
        .iter()
        .map(|&b| 1 + graph.cfg.succs(b).len())
        .sum();
    let mut solver = Solver {
        func,
        graph,
        options,
        presence: Presence::new(func, graph, options.called),
        state: State {
            steps: spans.steps(),
            spans,
            loops: Arc::clone(&graph.loops),
            ..State::default()
        },
        split_of: SecondaryMap::new(),
        meets: SecondaryMap::new(),
        opaque: SecondaryMap::new(),
        mixed: SecondaryMap::new(),
        budget: options
            .budget
            .unwrap_or(edges as u64 * WALKS_PER_EDGE + 4096),
        items: Vec::new(),
        special: Vec::new(),
        first_use: vec![0; func.num_values()],
        uses: Vec::with_capacity(2 * func.num_insts()),
        params: SecondaryMap::new(),
        behind: SecondaryMap::new(),
        looks: Vec::new(),
        work: Worklist::full(0),
        changes: vec![0; func.num_values()],
    };
    solver.state.def_block.resize(func.num_values());
    solver.number_items();
    let values = func.num_values();
    solver.state.shapes.resize(values);
    solver.state.reasons.resize(values);
    while let Some(item) = solver.work.pop_first() {
        solver.step(item);
    }
    solver.state
}

impl Solver<'_> {
    /// Lists what is to be evaluated, in reverse postorder, and who uses what.
    fn number_items(&mut self) {
        let func = self.func;
        self.items.reserve(func.num_insts() + 2 * func.num_blocks());
        for &b in self.graph.cfg.rpo() {
            let first = self.items.len() as u32;
            let params = &func.block(b).params;
            self.params[b] = (first, params.len() as u32);
            for (k, &p) in params.iter().enumerate() {
                self.state.def_block[p] = Some(b);
                self.items.push(Item::Param(b, k as u32));
            }
            for &i in &func.block(b).insts {
                for &r in &func.inst(i).results {
                    self.state.def_block[r] = Some(b);
                }
                self.items.push(match self.special(i) {
                    None => Item::Inst(b, i),
                    Some(special) => {
                        self.special.push(special);
                        Item::Special(b, i, self.special.len() as u32 - 1)
                    }
                });
            }
            self.items.push(Item::Term(b));
        }
        if !self.graph.loops.is_empty() {
            self.looks = vec![0; self.items.len()];
        }
        for index in 0..self.items.len() as u32 {
            match self.items[index as usize] {
                // A parameter is evaluated when an argument of an edge to it
                // changes; registered with the terminators below. A copy is
                // judged at its own block, from the same argument.
                Item::Param(..) => {}
                Item::Inst(b, i) => self.register_all(func.inst(i), b, index),
                Item::Special(b, i, special) => {
                    self.register_all(func.inst(i), b, index);
                    if let Special::Sum(sum) = self.special[special as usize].clone() {
                        for &(v, _) in &sum.terms {
                            self.register(v, b, index);
                        }
                    }
                }
                Item::Term(b) => {
                    let term = func.term(b);
                    if let Some(cond) = term.condition() {
                        self.register(cond, b, index);
                    }
                    for target in term.targets() {
                        let (first, _) = self.params[target.block];
                        for (k, &arg) in target.args.iter().enumerate() {
                            self.register(arg, b, first + k as u32);
                        }
                    }
                }
            }
        }
        self.work = Worklist::full(self.items.len());
    }

    /// Notes the uses of an instruction.
    fn register_all(&mut self, inst: &InstData, b: Block, item: u32) {
        for &v in &inst.args {
            self.register(v, b, item);
        }
        if inst.guard.is_some() {
            for v in inst.uses().skip(inst.args.len()) {
                self.register(v, b, item);
            }
        }
    }

    /// Notes that `item` uses `v` at `b`.
    fn register(&mut self, v: Value, b: Block, item: u32) {
        let next = &mut self.first_use[v.index()];
        self.uses.push(Use { item, next: *next });
        *next = self.uses.len() as u32;
        let loops = &self.graph.loops;
        if loops.is_empty() {
            return;
        }
        let mut around = self.state.def_block[v].and_then(|def| loops.loop_of(def));
        while let Some(l) = around.filter(|&l| !loops.contains(l, b)) {
            self.behind[l].push(item);
            self.looks[item as usize] += 1;
            around = loops.parent(l);
        }
    }

    fn special(&self, i: Inst) -> Option<Special> {
        let inst = self.func.inst(i);
        match (inst.op, inst.ty) {
            (Opcode::Isub, _) => {
                let sum = Linear::difference(self.func, &self.graph.numbers, inst);
                return sum.map(Special::Sum);
            }
            (Opcode::Iadd, Type::I32) => {}
            _ => return None,
        }
        // tid_y * nx + tid_x numbers the threads of a plane.
        let plane = self.options.shape.block()[2] == Some(1);
        let of = |v: Value| {
            let inst = self.func.inst(self.func.def_inst(v)?);
            inst.guard.is_none().then_some(inst)
        };
        let is = |v: Value, op| of(v).is_some_and(|d| d.op == op);
        let is_row_length = |v: Value| {
            let nx = self.options.shape.block()[0];
            is(v, Opcode::NtidX) || nx.is_some() && self.func.as_const(v) == nx.map(u128::from)
        };
        let is_row_start = |v: Value| {
            of(v).is_some_and(|d| {
                d.op == Opcode::Imul
                    && (is(d.args[0], Opcode::TidY) && is_row_length(d.args[1])
                        || is(d.args[1], Opcode::TidY) && is_row_length(d.args[0]))
            })
        };
        if plane {
            let [a, b] = [inst.args[0], inst.args[1]];
            if is(a, Opcode::TidX) && is_row_start(b) || is(b, Opcode::TidX) && is_row_start(a) {
                return Some(Special::ThreadNumber);
            }
        }
        None
    }

    fn step(&mut self, index: u32) {
        let looks = self.looks.get(index as usize).copied();
        self.state.steps += 1 + u64::from(looks.unwrap_or(0));
        match self.items[index as usize] {
            Item::Param(b, k) => {
                let rounds = 1 + self.meets[b].len() + self.opaque[b].len();
                self.state.steps += (rounds * self.graph.cfg.preds(b).len()) as u64;
                if let Some(shape) = self.param(b, k) {
                    self.set(self.func.block(b).params[k as usize], shape);
                }
            }
            Item::Inst(b, i) => self.results(b, i, None),
            Item::Special(b, i, special) => self.results(b, i, Some(special)),
            Item::Term(b) => self.term(b),
        }
    }

    /// Finds the results of an instruction.
    fn results(&mut self, b: Block, i: Inst, special: Option<u32>) {
        let func = self.func;
        let inst = func.inst(i);
        // Nothing is known of what a callee gives.
        if inst.op.effects().calls {
            for &r in &inst.results {
                self.set(r, Shape::uniform(func.ty(r), Scope::Lane));
            }
            return;
        }
        let Some(&result) = inst.results.first() else {
            return;
        };
        if let Some(shape) = self.inst(b, i, special) {
            self.set(result, shape);
            // Carry and overflow flags share the operands' scope; the
            // rules speak of the first result.
            for &r in &inst.results[1..] {
                self.set(r, Shape::uniform(func.ty(r), shape.scope()));
            }
        }
    }

    /// The arguments of the edges to `b` for parameter `k`, with the blocks
    /// they come from.
    fn args(&self, b: Block, k: u32) -> impl Iterator<Item = (Block, Value)> + '_ {
        let args = self.graph.args(self.func, b, k);
        args.map(|(e, v)| (e.from, v))
    }

    /// The same, as labels tell them apart.
    fn labelled(&self, b: Block, k: u32) -> impl Iterator<Item = (Block, Value)> + '_ {
        let labelled = self.graph.labelled(self.func, b, k);
        labelled.map(|(e, v)| (e.from, v))
    }

    fn param(&self, b: Block, k: u32) -> Option<Shape> {
        let p = self.func.block(b).params[k as usize];
        let ty = self.func.ty(p);
        if let Some(v) = self.graph.copied(self.func, p) {
            return self.state.at(v, b);
        }
        let mut shape = None;
        if self.func.entry() == Some(b) {
            let varying =
                self.options.called || self.func.params.get(k as usize).is_none_or(|p| p.varying);
            let scope = if varying { Scope::Lane } else { Scope::Grid };
            shape = Some(Shape::uniform(ty, scope));
        }
        for (from, arg) in self.args(b, k) {
            if let Some(s) = self.state.at(arg, from) {
                shape = Some(shape.map_or(s, |old: Shape| old.join(s)));
            }
        }
        let shape = shape?;
        Some(match self.mixed_by(b, k).map(|(scope, _)| scope) {
            Some(scope) => shape.separated(scope),
            None => shape,
        })
    }

    /// The widest scope at which lanes that come to `b` together bring
    /// different arguments for parameter `k`, and the branch that lets them.
    fn mixed_by(&self, b: Block, k: u32) -> Option<(Scope, Option<Block>)> {
        let mut mixed: Option<(Scope, Option<Block>)> = None;
        let mut note = |scope: Scope, branch| {
            if scope > Scope::Grid && mixed.is_none_or(|(s, _)| s < scope) {
                mixed = Some((scope, branch));
            }
        };
        for &s in &self.meets[b] {
            let split = &self.state.splits[s as usize];
            if split.scope > Scope::Grid && split.mixes(self.func, self.graph, b, k) {
                note(split.scope, Some(split.branch));
            }
        }
        for &s in &self.opaque[b] {
            let split = &self.state.splits[s as usize];
            note(split.scope, Some(split.branch));
        }
        if let Some(&Some((scope, branch))) = self.mixed[b].get(k as usize) {
            note(scope, Some(branch));
        }
        // One branch may bring several arguments over edges of its own, which
        // stand together.
        let same = |x, y| self.graph.numbers.same(x, y);
        let mut first: Option<(Block, Value)> = None;
        for (from, arg) in self.labelled(b, k) {
            match (first, self.state.branch_scope[from]) {
                (Some((f, a)), Some(scope)) if f == from && !same(a, arg) => {
                    note(scope, Some(from));
                }
                (Some((f, _)), _) if f == from => {}
                _ => first = Some((from, arg)),
            }
        }
        if let (Some(scope), false) = (self.state.is_coarse(), self.graph.cfg.preds(b).is_empty()) {
            note(scope, None);
        }
        mixed
    }

    fn inst(&self, b: Block, i: Inst, special: Option<u32>) -> Option<Shape> {
        let inst = self.func.inst(i);
        let launch = &self.options.shape;
        if let Some(fault) = self.graph.fault {
            let planted = fault.instead_of(inst);
            let inst = planted.as_ref().unwrap_or(inst);
            let launch = fault.launch(inst, *launch);
            return self.guarded(b, i, inst, &launch, special);
        }
        match inst.guard {
            None => self.bare(b, i, inst, launch, special),
            Some(_) => self.guarded(b, i, inst, launch, special),
        }
    }

    /// What the lanes that execute `inst` get, guard apart.
    #[inline]
    fn bare(
        &self,
        b: Block,
        i: Inst,
        inst: &InstData,
        launch: &LaunchShape,
        special: Option<u32>,
    ) -> Option<Shape> {
        let mut shapes = [Shape::varying(Type::I8); OPERANDS];
        for (shape, &v) in shapes.iter_mut().zip(&inst.args) {
            *shape = self.state.at(v, b)?;
        }
        let args = &shapes[..inst.args.len().min(OPERANDS)];
        let loads = inst.op.shape() == Form::Load;
        let memory = &self.graph.memory;
        let env = Env {
            launch,
            local: loads && memory.may_be_local(inst.args[0]),
            fixed: loads && memory.is_fixed(inst),
            same: last_two_same(inst, |x, y| self.graph.numbers.same(x, y)),
            all_present: self.presence.is_whole(i),
        };
        match special.map(|special| &self.special[special as usize]) {
            Some(Special::ThreadNumber) => Some(self.options.shape.linear_id()),
            Some(Special::Sum(sum)) => {
                let mut shape = Shape::constant(inst.ty, u128::from(sum.constant));
                for &(v, factor) in &sum.terms {
                    let term = scale(inst.ty, self.state.at(v, b)?, factor);
                    shape = add(inst.ty, shape, term);
                }
                Some(shape)
            }
            None => {
                let types = || inst.args.iter().map(|&v| self.func.ty(v)).collect();
                transfer(inst, types, args, env)
            }
        }
    }

    /// The same with the guard looked at.
    fn guarded(
        &self,
        b: Block,
        i: Inst,
        inst: &InstData,
        launch: &LaunchShape,
        special: Option<u32>,
    ) -> Option<Shape> {
        let shape = self.bare(b, i, inst, launch, special)?;
        // Without an `else` the claim is about the lanes where the guard
        // holds; the others hold poison.
        let Some((guard, otherwise)) = inst.guard.and_then(|g| Some((g, g.otherwise?))) else {
            return Some(shape);
        };
        if inst
            .results
            .first()
            .is_some_and(|&r| self.graph.numbers.same(r, otherwise))
        {
            return self.state.at(otherwise, b);
        }
        let cond = self.state.at(guard.pred, b)?;
        let otherwise = self.state.at(otherwise, b)?;
        Some(match guard.negated {
            false => select(cond, shape, otherwise),
            true => select(cond, otherwise, shape),
        })
    }

    fn term(&mut self, b: Block) {
        let Some(cond) = self.func.term(b).condition() else {
            return;
        };
        let Some(shape) = self.state.at(cond, b) else {
            return;
        };
        let scope = shape.scope();
        if self.state.branch_scope[b].is_some_and(|old| old >= scope) {
            return;
        }
        self.state.branch_scope[b] = Some(scope);
        if scope == Scope::Lane {
            self.state.branch_reasons[b] = self.state.cause_at(cond, b);
        }
        if scope <= Scope::Grid {
            return;
        }
        for i in 0..self.graph.cfg.succs(b).len() {
            self.queue_params(self.graph.cfg.succs(b)[i]);
        }
        if !self.graph.cfg.branches(b) {
            return;
        }
        match self.state.spans.span(b) {
            Span::Ahead => self.mix(b, scope),
            Span::Loop(l) => {
                self.mix(b, scope);
                self.leave(l, b, scope);
            }
            Span::Walk => match self.split_of(b) {
                Some(s) => self.apply(s, scope),
                None => self.turn_coarse(scope),
            },
        }
    }

    /// Mixes what the branch of `b` brings to its join.
    fn mix(&mut self, b: Block, scope: Scope) {
        let Some(join) = self.graph.joins.of(b) else {
            return;
        };
        let mixes = self.state.spans.mixes(b);
        let mixed = &mut self.mixed[join];
        mixed.resize(mixes.len().max(mixed.len()), None);
        let (first, _) = self.params[join];
        for (k, slot) in mixed.iter_mut().enumerate() {
            let wider = slot.is_none_or(|(old, _)| old < scope);
            if mixes.get(k) == Some(&true) && wider {
                *slot = Some((scope, b));
                self.work.insert(first + k as u32);
            }
        }
    }

    /// Lanes leave loop `l` one by one, by the branch of `b`.
    fn leave(&mut self, l: LoopId, b: Block, scope: Scope) {
        let split = &mut self.state.loop_splits[l];
        if split.is_none_or(|(old, _)| old < scope) {
            *split = Some((scope, b));
            self.state.steps += self.behind[l].len() as u64;
            self.work.extend(self.behind[l].iter().copied());
        }
    }

    fn split_of(&mut self, b: Block) -> Option<u32> {
        if let Some(s) = self.split_of[b] {
            return Some(s);
        }
        let budget = self.budget;
        let split = Split::new(
            self.func,
            self.graph,
            self.options.convergence,
            b,
            &mut self.budget,
        );
        self.state.steps += budget - self.budget;
        let Some(split) = split else {
            self.budget = 0;
            return None;
        };
        let insts = split.region.iter().map(|&b| self.func.block(b).insts.len());
        self.state.steps += insts.sum::<usize>() as u64;
        let s = self.state.splits.len() as u32;
        self.split_of[b] = Some(s);
        for &at in &split.meets {
            if !self.meets[at].contains(&s) {
                self.meets[at].push(s);
            }
        }
        for &at in &split.opaque {
            self.opaque[at].push(s);
        }
        for (r, round) in split.rounds.iter().enumerate() {
            for &d in &round.defs {
                self.state.rounds[d].push((s, r as u32));
            }
        }
        self.state.splits.push(split);
        Some(s)
    }

    fn apply(&mut self, s: u32, scope: Scope) {
        let split = &mut self.state.splits[s as usize];
        split.scope = scope;
        let blocks: Vec<Block> = split.meets.iter().chain(&split.opaque).copied().collect();
        let defs: Vec<Block> = split
            .rounds
            .iter()
            .flat_map(|r| r.defs.iter().copied())
            .collect();
        for b in blocks {
            self.queue_params(b);
        }
        for d in defs {
            let data = self.func.block(d);
            let results = data.insts.iter().flat_map(|&i| &self.func.inst(i).results);
            for &v in data.params.iter().chain(results) {
                if self.state.splits[s as usize].varies(v) {
                    self.queue_uses(v);
                }
            }
        }
    }

    fn turn_coarse(&mut self, scope: Scope) {
        match &mut self.state.coarse {
            Some(coarse) if coarse.scope >= scope => return,
            Some(coarse) => coarse.scope = scope,
            None => {
                let varying = self.varying_anywhere();
                self.state.coarse = Some(Coarse { scope, varying });
            }
        }
        self.work.extend(0..self.items.len() as u32);
    }

    fn varying_anywhere(&self) -> EntitySet<Value> {
        let mut varying = EntitySet::new();
        for &b in self.graph.cfg.rpo() {
            for &p in &self.func.block(b).params {
                let function_param =
                    self.func.entry() == Some(b) && self.graph.cfg.preds(b).is_empty();
                let varies = !function_param
                    && self
                        .graph
                        .param_varies(self.func, p, |v| varying.contains(v));
                if varies {
                    varying.insert(p);
                }
            }
            for &i in &self.func.block(b).insts {
                let inst = self.func.inst(i);
                if self.graph.differs_again(inst) || inst.uses().any(|v| varying.contains(v)) {
                    for &r in &inst.results {
                        varying.insert(r);
                    }
                }
            }
        }
        varying
    }

    fn queue_params(&mut self, b: Block) {
        let (first, count) = self.params[b];
        self.state.steps += u64::from(count);
        self.work.extend(first..first + count);
    }

    fn queue_uses(&mut self, v: Value) {
        let mut next = self.first_use[v.index()];
        while let Some(at) = next.checked_sub(1) {
            let used = self.uses[at as usize];
            self.state.steps += 1;
            self.work.insert(used.item);
            next = used.next;
        }
    }

    fn set(&mut self, v: Value, new: Shape) {
        let mut shape = new;
        if let Some(old) = self.state.shapes[v] {
            shape = old.join(new);
            if shape == old {
                return;
            }
            let changes = &mut self.changes[v.index()];
            *changes = changes.saturating_add(1);
            if *changes >= WIDEN_AT {
                shape = shape.widened(old);
            }
            if *changes >= GIVE_UP_AT {
                shape = Shape::varying(self.func.ty(v));
            }
            if shape == old {
                return;
            }
        }
        self.state.shapes[v] = Some(shape);
        if !shape.is_uniform() && self.state.reasons[v].is_none() {
            self.state.reasons[v] = Some(self.reason(v));
        }
        self.queue_uses(v);
    }

    /// Why `v` has just been found to differ between lanes.
    fn reason(&self, v: Value) -> Reason {
        match self.func.def(v) {
            ValueDef::Param(b, k) => {
                if let Some(source) = self.graph.copied(self.func, v) {
                    return self.state.cause_at(source, b).unwrap_or(Reason::Budget);
                }
                let by_arg = self
                    .args(b, k)
                    .filter(|&(_, arg)| arg != v)
                    .find_map(|(from, arg)| self.state.cause_at(arg, from));
                if let Some(reason) = by_arg {
                    return reason;
                }
                match self.mixed_by(b, k) {
                    Some((Scope::Lane, Some(branch))) => Reason::Join { branch },
                    Some((Scope::Lane, None)) => Reason::Budget,
                    _ if self.func.entry() == Some(b) => Reason::Parameter(k),
                    // Uniform arguments of which nothing common is left.
                    _ => Reason::Budget,
                }
            }
            ValueDef::Result(i, _) => {
                let Some(b) = self.state.def_block[v] else {
                    return Reason::Budget;
                };
                let inst = self.func.inst(i);
                let guard = || inst.uses().skip(inst.args.len());
                let cause = |u: Value| self.state.cause_at(u, b);
                let by_operand = inst.args.iter().copied().find_map(cause);
                let by_operand = by_operand.or_else(|| guard().find_map(cause));
                match by_operand {
                    Some(reason) => reason,
                    None if inst.op.shape() == Form::Load => Reason::Memory(inst.op),
                    None => Reason::Source(inst.op),
                }
            }
        }
    }
}
