//! Which CLIF integers are truth values, and which of those live as `pred`.
//!
//! **Problem.** CLIF's compares yield an `i8` that is 0 or 1; programs combine
//! these with integer logic, pass them through block parameters, and branch on
//! them. On a GPU they belong into predicate registers.
//!
//! **Definition.** A value is a *truth* when it can only be 0 or 1: a scalar
//! `icmp`, `fcmp`, vote or carry flag; the constants 0 and 1; `band`, `bor`,
//! `bxor`, extensions and reductions of truths; a `select` between truths; a
//! block parameter that only ever receives truths. This is a greatest
//! fixpoint: all candidates start out true, and a value falls when one of its
//! sources has.
//!
//! A truth *lives as a predicate* when it is born one (compares, votes,
//! flags), when a condition asks for it, when a logic operation or conversion
//! has an operand that does, or when it flows into a value that does. That is
//! a least fixpoint. Its integer form is then made where one is used. A truth
//! that nobody tests stays the integer it was.
//!
//! Both are computed with worklists in time linear in the function.

use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, Function, Inst, InstructionData, Opcode, Value};
use smallvec::SmallVec;

use crate::intrinsics::{Intrinsic, Slot};

/// How a candidate gets its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// No candidate.
    Other,
    /// Born as a predicate.
    Born,
    /// The constant 0 or 1.
    Constant(bool),
    /// A logic operation or conversion; its sources are its operands.
    Logic,
    /// A `select`; its sources are the two choices.
    Choice,
    /// A block parameter; its sources are the arguments it receives.
    Param,
}

/// The result of the analysis.
#[derive(Debug)]
pub struct Truths {
    kind: SecondaryMap<Value, Kind>,
    pred: SecondaryMap<Value, bool>,
}

impl Truths {
    /// Analyses the `blocks` of `func`, which are those that can be reached.
    pub fn new(func: &Function, blocks: &[Block]) -> Self {
        Analysis::new(func, blocks).run()
    }

    /// Whether `v` (no alias) is 0 or 1.
    pub fn is_truth(&self, v: Value) -> bool {
        self.kind[v] != Kind::Other
    }

    /// Whether `v` (no alias) lives as a predicate.
    pub fn is_pred(&self, v: Value) -> bool {
        self.pred[v]
    }

    /// The value of a truth that is a constant.
    pub fn constant(&self, v: Value) -> Option<bool> {
        match self.kind[v] {
            Kind::Constant(truth) => Some(truth),
            _ => None,
        }
    }

    /// Whether `inst` is a comparison for (in)equality of two truths, which is
    /// then logic on predicates: the operands and whether it is equality.
    pub fn comparison(&self, func: &Function, inst: Inst) -> Option<([Value; 2], bool)> {
        let (args, equal) = equality(func, inst)?;
        let all = args.iter().all(|&v| self.is_truth(v));
        let any = args.iter().any(|&v| self.constant(v).is_none());
        (all && any).then_some((args, equal))
    }
}

fn equality(func: &Function, inst: Inst) -> Option<([Value; 2], bool)> {
    match func.dfg.insts[inst] {
        InstructionData::IntCompare { args, cond, .. } => {
            let equal = match cond {
                IntCC::Equal => true,
                IntCC::NotEqual => false,
                _ => return None,
            };
            Some((args.map(|v| func.dfg.resolve_aliases(v)), equal))
        }
        _ => None,
    }
}

struct Analysis<'a> {
    func: &'a Function,
    blocks: &'a [Block],
    kind: SecondaryMap<Value, Kind>,
    /// What a derived candidate is made from.
    sources: SecondaryMap<Value, SmallVec<[Value; 2]>>,
    /// The candidates made from a value.
    derived: SecondaryMap<Value, SmallVec<[Value; 2]>>,
    pred: SecondaryMap<Value, bool>,
}

impl<'a> Analysis<'a> {
    fn new(func: &'a Function, blocks: &'a [Block]) -> Self {
        let mut this = Self {
            func,
            blocks,
            kind: SecondaryMap::with_default(Kind::Other),
            sources: SecondaryMap::new(),
            derived: SecondaryMap::new(),
            pred: SecondaryMap::new(),
        };
        let values = func.dfg.num_values();
        this.kind.resize(values);
        this.pred.resize(values);
        this
    }

    fn run(mut self) -> Truths {
        self.collect();
        self.fall();
        self.spread();
        Truths {
            kind: self.kind,
            pred: self.pred,
        }
    }

    fn resolved(&self, v: Value) -> Value {
        self.func.dfg.resolve_aliases(v)
    }

    /// Finds the candidates and how they depend on each other.
    fn collect(&mut self) {
        let dfg = &self.func.dfg;
        for (i, &b) in self.blocks.iter().enumerate() {
            if i > 0 {
                for &param in dfg.block_params(b) {
                    if dfg.value_type(param).is_int() {
                        self.kind[param] = Kind::Param;
                    }
                }
            }
            for inst in self.func.layout.block_insts(b) {
                self.candidate(inst);
            }
        }
        for &b in self.blocks {
            let Some(inst) = self.func.layout.last_inst(b) else {
                continue;
            };
            let calls = dfg.insts[inst].branch_destination(&dfg.jump_tables, &dfg.exception_tables);
            for call in calls {
                let params = dfg.block_params(call.block(&dfg.value_lists));
                for (&param, arg) in params.iter().zip(call.args(&dfg.value_lists)) {
                    match arg {
                        BlockArg::Value(v) => self.depends(param, v),
                        _ => self.kind[param] = Kind::Other,
                    }
                }
            }
        }
    }

    fn candidate(&mut self, inst: Inst) {
        let dfg = &self.func.dfg;
        let Some(&result) = dfg.inst_results(inst).first() else {
            return;
        };
        let args = dfg.inst_args(inst);
        let scalar = dfg.value_type(result).is_int();
        match dfg.insts[inst].opcode() {
            Opcode::Icmp | Opcode::Fcmp if scalar => self.kind[result] = Kind::Born,
            Opcode::Iconst if scalar => {
                if let InstructionData::UnaryImm { imm, .. } = dfg.insts[inst] {
                    self.kind[result] = match imm.bits() {
                        0 => Kind::Constant(false),
                        1 => Kind::Constant(true),
                        _ => Kind::Other,
                    };
                }
            }
            Opcode::Band
            | Opcode::Bor
            | Opcode::Bxor
            | Opcode::Uextend
            | Opcode::Sextend
            | Opcode::Ireduce
                if scalar =>
            {
                self.kind[result] = Kind::Logic;
                args.iter().for_each(|&arg| self.depends(result, arg));
            }
            Opcode::Select | Opcode::SelectSpectreGuard if scalar => {
                self.kind[result] = Kind::Choice;
                args[1..].iter().for_each(|&arg| self.depends(result, arg));
            }
            Opcode::Call
                if intrinsic(self.func, inst).is_some_and(|i| i.result == Some(Slot::Truth)) =>
            {
                self.kind[result] = Kind::Born;
            }
            Opcode::UaddOverflow
            | Opcode::UaddOverflowCin
            | Opcode::UsubOverflow
            | Opcode::UsubOverflowBin
            | Opcode::SaddOverflow
            | Opcode::SaddOverflowCin
            | Opcode::SsubOverflow
            | Opcode::SsubOverflowBin
            | Opcode::UmulOverflow
            | Opcode::SmulOverflow => {
                if let Some(&flag) = dfg.inst_results(inst).get(1) {
                    self.kind[flag] = Kind::Born;
                }
            }
            _ => {}
        }
    }

    fn depends(&mut self, v: Value, source: Value) {
        let source = self.resolved(source);
        self.sources[v].push(source);
        self.derived[source].push(v);
    }

    /// Strikes candidates that have a source which is none.
    fn fall(&mut self) {
        let mut work: Vec<Value> = self
            .func
            .dfg
            .values()
            .filter(|&v| self.kind[v] == Kind::Other && !self.derived[v].is_empty())
            .collect();
        while let Some(v) = work.pop() {
            for i in 0..self.derived[v].len() {
                let d = self.derived[v][i];
                if self.kind[d] != Kind::Other {
                    self.kind[d] = Kind::Other;
                    work.push(d);
                }
            }
        }
    }

    /// Finds the truths that live as predicates.
    fn spread(&mut self) {
        let mut work = Vec::new();
        for &b in self.blocks {
            for inst in self.func.layout.block_insts(b) {
                for &result in self.func.dfg.inst_results(inst) {
                    if self.kind[result] == Kind::Born {
                        self.mark(result, &mut work);
                    }
                }
                for v in self.tested(inst) {
                    let v = self.resolved(v);
                    self.mark(v, &mut work);
                }
            }
        }
        while let Some(v) = work.pop() {
            if matches!(self.kind[v], Kind::Logic | Kind::Choice | Kind::Param) {
                for i in 0..self.sources[v].len() {
                    let source = self.sources[v][i];
                    self.mark(source, &mut work);
                }
            }
            for i in 0..self.derived[v].len() {
                let d = self.derived[v][i];
                if self.kind[d] == Kind::Logic {
                    self.mark(d, &mut work);
                }
            }
        }
    }

    fn mark(&mut self, v: Value, work: &mut Vec<Value>) {
        let lives = !matches!(self.kind[v], Kind::Other | Kind::Constant(_));
        if lives && !self.pred[v] {
            self.pred[v] = true;
            work.push(v);
        }
    }

    /// The operands that `inst` asks only whether they are 0.
    fn tested(&self, inst: Inst) -> SmallVec<[Value; 2]> {
        let dfg = &self.func.dfg;
        let args = dfg.inst_args(inst);
        match dfg.insts[inst].opcode() {
            Opcode::Brif
            | Opcode::Trapz
            | Opcode::Trapnz
            | Opcode::Select
            | Opcode::SelectSpectreGuard
            | Opcode::Bmask => SmallVec::from_slice(&args[..1]),
            Opcode::UaddOverflowCin
            | Opcode::UsubOverflowBin
            | Opcode::SaddOverflowCin
            | Opcode::SsubOverflowBin => SmallVec::from_slice(&args[2..3]),
            Opcode::Call => match intrinsic(self.func, inst) {
                Some(i) => i
                    .params
                    .iter()
                    .zip(args)
                    .filter(|(slot, _)| **slot == Slot::Truth)
                    .map(|(_, &v)| v)
                    .collect(),
                None => SmallVec::new(),
            },
            _ => match equality(self.func, inst) {
                Some((args, _)) if args.iter().all(|&v| self.kind[v] != Kind::Other) => {
                    SmallVec::from_slice(&args)
                }
                _ => SmallVec::new(),
            },
        }
    }
}

/// The intrinsic that a direct call calls.
pub fn intrinsic(func: &Function, inst: Inst) -> Option<&'static Intrinsic> {
    match func.dfg.insts[inst] {
        InstructionData::Call { func_ref, .. } => match &func.dfg.ext_funcs[func_ref].name {
            cranelift_codegen::ir::ExternalName::TestCase(name) => {
                Intrinsic::find(std::str::from_utf8(name.raw()).ok()?)
            }
            _ => None,
        },
        _ => None,
    }
}
