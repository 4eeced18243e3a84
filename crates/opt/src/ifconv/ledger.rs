//! Who pays for what: every issue and branch overhead of the canonical
//! function under an assignment of forms, booked to the CLIF branch it belongs
//! to.
//!
//! An issue belongs to the innermost branch whose side it came from, hoisted
//! work to the branch it was hoisted to, and a region's selects, predicates
//! and guards to its head. A branch instruction and its overhead belong to
//! itself, or to the head of the region that decides for it.
//!
//! All sums are integers: issues times cost, over the counts of
//! [`Frequencies`]. With measured counts the total is the predicted cost of
//! the launch.

use hashbrown::HashMap;
use warpfold_analysis::regions::Regions;
use warpfold_analysis::segments;
use warpfold_ir::entity::SecondaryMap;
use warpfold_ir::{Block, CostClass, Function, Inst, InstData, Origin, Terminator};
use warpfold_machine::{Cost, Machine};

use super::counts::Frequencies;
use super::plan::{Gate, Item, Plan, What};
use crate::log::Log;
use crate::report::Charge;

/// The CLIF branch that pays; `None` for what belongs to no branch.
pub type Payer = Option<Origin>;

/// Who owns instructions and terminators of the canonical function.
#[derive(Clone, Debug)]
pub struct Ownership {
    blocks: SecondaryMap<Block, Payer>,
    /// Hoisted work, and guarded exits that took a branch's place.
    insts: HashMap<Inst, Origin>,
    branches: SecondaryMap<Block, Payer>,
}

impl Ownership {
    /// Reads it off the regions and the record of the passes.
    pub fn new(func: &Function, regions: &Regions, log: &Log) -> Self {
        let origin = |b: Block| Some(func.block(b).origin).filter(|o| !o.is_none());
        let (mut blocks, mut branches) = (SecondaryMap::new(), SecondaryMap::new());
        blocks.resize(func.num_blocks());
        branches.resize(func.num_blocks());
        for &b in &func.layout {
            let around = regions.smallest_containing(b).map(|r| regions[r].head);
            blocks[b] = around.and_then(origin);
            if func.term(b).is_conditional() {
                branches[b] = match (regions.headed_by(b), around) {
                    (Err(_), Some(head)) => origin(head),
                    _ => origin(b),
                };
            }
        }
        let hoisted = log.hoisted.iter().copied();
        let exits = log.exits.iter().map(|e| (e.inst, e.origin));
        Self {
            blocks,
            insts: hoisted.chain(exits).filter(|(_, o)| !o.is_none()).collect(),
            branches,
        }
    }

    /// Who pays for an instruction that stands in `b`.
    pub fn inst(&self, b: Block, i: Inst) -> Payer {
        self.insts.get(&i).copied().or(self.blocks[b])
    }

    /// Whether an instruction that stands in `b` may have somebody to pay for it.
    pub fn any_in(&self, b: Block) -> bool {
        self.blocks[b].is_some() || !self.insts.is_empty()
    }

    /// Who pays for an item of a plan.
    pub fn item(&self, item: &Item) -> Payer {
        match &item.what {
            What::Inst { inst, .. } => self.insts.get(inst).copied().or(self.branches[item.owner]),
            _ => self.branches[item.owner],
        }
    }

    /// Who pays for the terminator of `b`.
    pub fn term(&self, b: Block) -> Payer {
        self.branches[b].or(self.blocks[b])
    }
}

/// What an issue of an instruction costs, guard included. As the executor
/// counts, an exit or trap is guarded like any other instruction.
pub fn issue_cost(machine: &Machine, data: &InstData, guarded: bool) -> Cost {
    let guard = if guarded { machine.guard } else { Cost::ZERO };
    machine.issue_cost(data.cost_class()) + guard
}

/// One entry of a ledger.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Who pays.
    pub payer: Payer,
    /// The instruction, if it is one of the canonical function.
    pub inst: Option<Inst>,
    /// What for.
    pub name: &'static str,
    /// What exactly.
    pub charge: Charge,
    /// What that costs each time.
    pub unit: Cost,
    /// Issues; executions for overhead.
    pub issues: u64,
    /// In all.
    pub cost: Cost,
}

/// Books costs under fixed counts.
#[derive(Clone, Copy, Debug)]
pub struct Ledger<'a> {
    /// The canonical function.
    pub func: &'a Function,
    /// The machine.
    pub machine: &'a Machine,
    /// The counts.
    pub counts: &'a Frequencies,
    /// Who owns what.
    pub owners: &'a Ownership,
}

impl Ledger<'_> {
    /// The instructions and terminator of `b` as they stand, branch overhead
    /// included.
    pub fn block(&self, b: Block, out: &mut (impl FnMut(Entry) + ?Sized)) {
        self.insts(b, out);
        self.terminator(b, out);
    }

    /// The instructions of `b` as they stand.
    pub fn insts(&self, b: Block, out: &mut (impl FnMut(Entry) + ?Sized)) {
        for (segment, insts) in segments(self.func, b).enumerate() {
            let passes = self.counts.passes(b, segment as u32);
            for &i in insts {
                let data = self.func.inst(i);
                if data.cost_class() == CostClass::Const {
                    continue;
                }
                let guarded = data.guard.is_some();
                let unit = issue_cost(self.machine, data, guarded);
                out(Entry {
                    payer: self.owners.inst(b, i),
                    inst: Some(i),
                    name: "instructions",
                    charge: Charge::Issue {
                        class: data.cost_class(),
                        guarded,
                    },
                    unit,
                    issues: passes,
                    cost: unit * passes,
                });
            }
        }
    }

    /// The terminator of `b` as it stands.
    pub fn terminator(&self, b: Block, out: &mut (impl FnMut(Entry) + ?Sized)) {
        let term = self.func.term(b);
        let payer = self.owners.term(b);
        let counts = self.counts.branch(b);
        let passes = if term.is_conditional() {
            counts.executions
        } else {
            let last = segments(self.func, b).count().saturating_sub(1);
            self.counts.passes(b, last as u32)
        };
        let name = match term {
            Terminator::Br { .. } => "br",
            Terminator::Switch { .. } => "switch",
            Terminator::Jump(_) => "jump",
            Terminator::Ret(_) | Terminator::Trap(_) | Terminator::TailCall(_) => "instructions",
        };
        let unit = self.machine.issue_cost(term.cost_class());
        out(Entry {
            payer,
            inst: None,
            name,
            charge: Charge::issue(term.cost_class()),
            unit,
            issues: passes,
            cost: unit * passes,
        });
        let Some(mark) = term.mark() else { return };
        let mut overhead = |charge, split, executions| {
            let unit = self.machine.branch_overhead(mark.proven, split);
            out(Entry {
                payer,
                inst: None,
                name: "overhead",
                charge,
                unit,
                issues: executions,
                cost: unit * executions,
            });
        };
        if mark.proven {
            overhead(Charge::Proven, false, counts.executions);
        } else {
            overhead(Charge::Agree, false, counts.agreed());
            overhead(Charge::Split, true, counts.splits);
        }
    }

    /// What stands in place of the branch at a plan's head.
    pub fn plan(&self, plan: &Plan, out: &mut (impl FnMut(Entry) + ?Sized)) {
        let issue = |class| self.machine.issue_cost(class);
        // Items behind one gate stand together.
        let mut last = None;
        for item in &plan.items {
            let payer = self.owners.item(item);
            let mut book = |name, inst, charge, unit: Cost| {
                let issues = match last {
                    Some((gate, issues)) if gate == item.gate => issues,
                    _ => self.counts.behind(plan.head, item.gate),
                };
                last = Some((item.gate, issues));
                out(Entry {
                    payer,
                    inst,
                    name,
                    charge,
                    unit,
                    issues,
                    cost: unit * issues,
                });
            };
            let bare = |class| (Charge::issue(class), issue(class));
            match &item.what {
                What::Inst { inst, guard, .. } => {
                    let data = self.func.inst(*inst);
                    let class = data.cost_class();
                    if class != CostClass::Const {
                        let guarded = guard.is_some();
                        let unit = issue_cost(self.machine, data, guarded);
                        let charge = Charge::Issue { class, guarded };
                        book("instructions", Some(*inst), charge, unit);
                    }
                }
                What::Merged {
                    insts: [inst, _],
                    guard,
                    ..
                } => {
                    let data = self.func.inst(*inst);
                    let (class, guarded) = (data.cost_class(), guard.is_some());
                    let unit = issue_cost(self.machine, data, guarded);
                    book("merged", None, Charge::Issue { class, guarded }, unit);
                }
                What::Const(..) | What::Poison(_) | What::Carry { .. } => {}
                What::Compare(..) | What::Pred(..) => {
                    let (charge, unit) = bare(CostClass::Pred);
                    book("predicates", None, charge, unit);
                }
                What::Select(..) => {
                    let (charge, unit) = bare(CostClass::Select);
                    book("selects", None, charge, unit);
                }
                What::Idiom(op, ty, _) => {
                    let (charge, unit) = bare(op.cost_class(*ty));
                    book("selects", None, charge, unit);
                }
                What::Leave(..) => {
                    let class = CostClass::Ctl;
                    let charge = Charge::Issue {
                        class,
                        guarded: true,
                    };
                    book(
                        "instructions",
                        None,
                        charge,
                        issue(class) + self.machine.guard,
                    );
                }
                What::Open { vote, .. } => {
                    if *vote {
                        let (charge, unit) = bare(CostClass::Cross);
                        book("votes", None, charge, unit);
                    }
                    let (charge, unit) = bare(CostClass::Branch);
                    book("br", None, charge, unit);
                    let b = self.machine.branch_overhead(true, false);
                    book("overhead", None, Charge::Proven, b);
                }
                What::Close => {
                    let (charge, unit) = bare(CostClass::Jump);
                    book("jump", None, charge, unit);
                }
            }
        }
        if plan.keeps_jump {
            let passes = self.counts.behind(plan.head, plan.end);
            out(Entry {
                payer: self.owners.term(plan.head),
                inst: None,
                name: "jump",
                charge: Charge::issue(CostClass::Jump),
                unit: issue(CostClass::Jump),
                issues: passes,
                cost: issue(CostClass::Jump) * passes,
            });
        }
    }
}

impl Ledger<'_> {
    /// What a jump costs that stands behind a gate of straight code in place of the
    /// branch of `head`.
    pub fn jump(&self, head: Block, end: Gate) -> Cost {
        self.machine.issue_cost(CostClass::Jump) * self.counts.behind(head, end)
    }
}

#[cfg(test)]
mod tests {
    use warpfold_ir::{FunctionBuilder, Guard, Imm, Opcode, Type};

    use super::*;

    /// Prediction and execution charge alike only if both take a guarded exit
    /// for guarded.
    #[test]
    fn every_guard_costs_an_exits_too() {
        let mut machine = Machine::builtin("unit").expect("it is shipped").clone();
        machine.guard = Cost(300);
        let mut b = FunctionBuilder::new("f");
        let pred = b.param(Type::Pred, true);
        let guard = Guard {
            pred,
            negated: false,
            otherwise: None,
        };
        for op in [Opcode::Exit, Opcode::TidX] {
            let data = InstData::new(op, Type::I32, &[], Imm::None).guarded(guard);
            assert_eq!(issue_cost(&machine, &data, true), Cost(1300), "{op}");
            assert_eq!(issue_cost(&machine, &data, false), Cost(1000), "{op}");
        }
    }
}
