//! Emits plans. No decision is taken here: what a plan says is emitted, in its
//! order, and nothing else.

use warpfold_ir::entity::SecondaryMap;
use warpfold_ir::{
    Block, BlockCall, BranchMark, Function, Guard, Imm, Inst, InstData, MemFlags, Opcode, Origin,
    Terminator, Type, Value,
};

use super::plan::{Plan, PlanGuard, Signed, Val, What};
use crate::edit::Merger;

/// What emitting one plan made.
#[derive(Clone, Debug)]
pub struct Made {
    /// Its instructions, each with the item that it was made for.
    pub insts: Vec<(usize, Inst)>,
    /// Blocks that end in a jump of the plan's own, each with the item.
    pub terms: Vec<(usize, Block)>,
    /// Where the plan ends.
    pub end: Block,
}

/// What emitting made.
#[derive(Clone, Debug, Default)]
pub struct Emitted {
    /// The block that each canonical block's code and terminator is now in,
    /// where that changed.
    pub moved: SecondaryMap<Block, Option<Block>>,
    /// By plan.
    pub plans: Vec<Made>,
}

impl Emitted {
    /// Where the code of `b` is now.
    pub fn place(&self, b: Block) -> Block {
        self.moved[b].unwrap_or(b)
    }
}

/// Rewrites `func` by disjoint plans.
pub fn rewrite(func: &mut Function, plans: &[&Plan]) -> Emitted {
    let mut emitted = Emitted::default();
    emitted.plans.reserve_exact(plans.len());
    let mut merged = Merger::of(func);
    emitted.moved.resize(func.num_blocks());
    let mut behind: SecondaryMap<Block, Vec<Block>> = SecondaryMap::new();
    let old = func.layout.len();
    let mut results = Vec::new();
    for plan in plans {
        let into = merged.place(plan.head);
        let mut emitter = Emitter {
            func,
            merged: &mut merged,
            origin: Origin::NONE,
            into,
            results: &mut results,
            open: Vec::new(),
            new: Vec::new(),
            made: Made {
                insts: Vec::with_capacity(plan.items.len()),
                terms: Vec::new(),
                end: into,
            },
        };
        emitter.emit(plan);
        let (new, made) = (emitter.new, emitter.made);
        if !new.is_empty() {
            behind[into].extend(new);
        }
        emitted.plans.push(made);
    }
    lay_out(func, old, &behind);
    for plan in plans.iter().filter(|p| !p.keeps_jump) {
        emitted.moved[plan.join] = Some(merged.place(plan.join));
    }
    merged.finish(func);
    func.remove_unreachable();
    emitted
}

/// Puts the blocks from place `old` on behind those they belong to.
fn lay_out(func: &mut Function, old: usize, behind: &SecondaryMap<Block, Vec<Block>>) {
    if func.layout.len() == old {
        return;
    }
    let mut layout = Vec::with_capacity(func.layout.len());
    let mut stack: Vec<Block> = Vec::new();
    for &b in &func.layout[..old] {
        stack.push(b);
        while let Some(b) = stack.pop() {
            layout.push(b);
            stack.extend(behind[b].iter().rev());
        }
    }
    func.layout = layout;
}

/// A body whose end is not emitted yet.
#[derive(Clone, Copy, Debug)]
struct Opened {
    /// Where the jump over it stands.
    from: Block,
    /// What comes behind it.
    rest: Block,
    /// Whether the jump is its first edge.
    first: bool,
}

struct Emitter<'a> {
    func: &'a mut Function,
    merged: &'a mut Merger,
    origin: Origin,
    into: Block,
    /// The result of each item, for items that have one.
    results: &'a mut Vec<Option<Value>>,
    open: Vec<Opened>,
    new: Vec<Block>,
    made: Made,
}

impl Emitter<'_> {
    fn emit(&mut self, plan: &Plan) {
        self.origin = self.func.block(self.into).origin;
        self.results.clear();
        // The jump over the body that ended last.
        let mut closed: Option<(Block, Opened)> = None;
        for (at, item) in plan.items.iter().enumerate() {
            let result = match &item.what {
                What::Open { body, vote } => {
                    self.open(at, *body, *vote);
                    None
                }
                What::Close => {
                    closed = self.close(at);
                    None
                }
                What::Carry { inside, outside } => {
                    closed.map(|(end, body)| self.carry(end, body, *inside, *outside))
                }
                what => {
                    let inst = self.inst(what);
                    self.func.block_mut(self.into).insts.push(inst);
                    self.made.insts.push((at, inst));
                    self.func.result(inst)
                }
            };
            self.results.push(result);
        }
        for &(param, val) in &plan.names {
            let value = self.value(val);
            self.merged.renames.set(param, value);
        }
        let args: Vec<Value> = plan.join_args.iter().map(|&v| self.value(v)).collect();
        let call = BlockCall::new(plan.join, &args);
        self.made.end = self.into;
        if plan.keeps_jump {
            let jump = Terminator::Jump(call);
            self.func.set_term(self.into, jump, Origin::NONE);
        } else {
            self.merged.append(self.func, self.into, &call);
        }
    }

    fn value(&self, v: Val) -> Value {
        let value = match v {
            Val::Old(v) => Some(v),
            Val::Item(i) => self.results.get(i as usize).copied().flatten(),
        };
        value
            .map(|v| self.merged.renames.get(v))
            .expect("items precede their uses")
    }

    fn guard(&self, g: PlanGuard) -> Guard {
        Guard {
            pred: self.value(g.pred.val),
            negated: g.pred.negated,
            otherwise: g.otherwise.map(|v| self.value(v)),
        }
    }

    fn inst(&mut self, what: &What) -> Inst {
        let new = |op, ty, args: &[Value], imm| InstData::new(op, ty, args, imm).at(self.origin);
        let data = match what {
            What::Inst { inst, args, guard }
            | What::Merged {
                insts: [inst, _],
                args,
                guard,
            } => {
                let guard = guard.map(|g| self.guard(g));
                for (n, &v) in args.iter().enumerate() {
                    let value = self.value(v);
                    self.func.inst_mut(*inst).args[n] = value;
                }
                let data = self.func.inst_mut(*inst);
                data.guard = guard;
                if guard.is_none()
                    && let Imm::Mem { flags, .. } = &mut data.imm
                {
                    // What held behind the branch need not hold in front of it.
                    *flags = flags.without(MemFlags::NOTRAP);
                }
                return *inst;
            }
            What::Const(ty, bits) => new(Opcode::Const, *ty, &[], Imm::Bits(*bits)),
            What::Poison(ty) => new(Opcode::Poison, *ty, &[], Imm::None),
            What::Compare(cc, a, b) => {
                let args = [self.value(*a), self.value(*b)];
                let ty = self.func.ty(args[0]);
                new(Opcode::Icmp, ty, &args, Imm::Icc(*cc))
            }
            What::Pred(op, a, b) => {
                let args = [self.value(*a), self.value(*b)];
                new(*op, Type::Pred, &args, Imm::None)
            }
            What::Select(c, a, b) => {
                let args = [self.value(*c), self.value(*a), self.value(*b)];
                let ty = self.func.ty(args[1]);
                new(Opcode::Select, ty, &args, Imm::None)
            }
            What::Idiom(op, ty, args) => {
                let args: Vec<Value> = args.iter().map(|&v| self.value(v)).collect();
                new(*op, *ty, &args, Imm::None)
            }
            What::Leave(block, lanes) => {
                let (op, imm) = match *self.func.term(*block) {
                    Terminator::Trap(code) => (Opcode::TrapIf, Imm::Trap(code)),
                    _ => (Opcode::Exit, Imm::None),
                };
                let guard = PlanGuard {
                    pred: *lanes,
                    otherwise: None,
                };
                let place = self.func.block(*block).origin;
                let data = InstData::new(op, Type::I32, &[], imm);
                data.guarded(self.guard(guard)).at(place)
            }
            What::Open { .. } | What::Close | What::Carry { .. } => {
                unreachable!("these make no instruction")
            }
        };
        self.func.make_inst(data)
    }

    fn open(&mut self, at: usize, body: Signed, vote: bool) {
        let pred = self.value(body.val);
        // Some lane is in the body: any has the predicate, or not all have its
        // opposite.
        let cond = match vote {
            false => pred,
            true => {
                let op = match body.negated {
                    false => Opcode::VoteAny,
                    true => Opcode::VoteAll,
                };
                let data = InstData::new(op, Type::Pred, &[pred], Imm::None).at(self.origin);
                let inst = self.func.make_inst(data);
                self.func.block_mut(self.into).insts.push(inst);
                self.made.insts.push((at, inst));
                self.func.result(inst).expect("a vote has a result")
            }
        };
        let inside = self.func.add_block();
        let rest = self.func.add_block();
        self.new.extend([inside, rest]);
        let (then, otherwise) = match body.negated {
            false => (inside, rest),
            true => (rest, inside),
        };
        let term = Terminator::Br {
            cond,
            then: then.into(),
            otherwise: otherwise.into(),
            mark: BranchMark {
                proven: true,
                decided: true,
                hint: None,
            },
        };
        self.func.set_term(self.into, term, Origin::NONE);
        self.made.terms.push((at, self.into));
        self.open.push(Opened {
            from: self.into,
            rest,
            first: body.negated,
        });
        self.into = inside;
    }

    /// Ends the body that was opened last, and returns its end with it.
    fn close(&mut self, at: usize) -> Option<(Block, Opened)> {
        let body = self.open.pop()?;
        let end = self.into;
        self.func
            .set_term(end, Terminator::jump(body.rest), Origin::NONE);
        self.made.terms.push((at, end));
        self.into = body.rest;
        Some((end, body))
    }

    fn carry(&mut self, end: Block, body: Opened, inside: Val, outside: Val) -> Value {
        let (inside, outside) = (self.value(inside), self.value(outside));
        let param = self.func.add_param(body.rest, self.func.ty(inside));
        let mut pass = |from: Block, edge: usize, value: Value| {
            if let Some(term) = self.func.block_mut(from).term.as_mut() {
                term.targets_mut()[edge].args.push(value);
            }
        };
        pass(end, 0, inside);
        pass(body.from, usize::from(!body.first), outside);
        param
    }
}
