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

use crate::intrinsics::{Intrinsic, Slot};

/// How a candidate gets its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Kind {
    /// Not met: no value of a block that can be reached, or not yet.
    #[default]
    Unmet,
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

impl Kind {
    fn is_truth(self) -> bool {
        !matches!(self, Self::Unmet | Self::Other)
    }

    /// Whether it has sources.
    fn is_derived(self) -> bool {
        matches!(self, Self::Logic | Self::Choice | Self::Param)
    }
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
        self.kind[v].is_truth()
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

/// That a candidate is made from a value. The edges of one value are lists, each
/// naming the next one by its position, counted from 1.
#[derive(Clone, Copy, Debug)]
struct Edge {
    source: Value,
    derived: Value,
    /// The next edge of the same source.
    next_derived: u32,
    /// The next edge to the same candidate.
    next_source: u32,
}

struct Analysis<'a> {
    func: &'a Function,
    blocks: &'a [Block],
    kind: SecondaryMap<Value, Kind>,
    /// What candidates are made from, as far as that may be truths.
    edges: Vec<Edge>,
    /// By source: its first edge.
    derived: SecondaryMap<Value, u32>,
    /// By candidate: its first edge.
    sources: SecondaryMap<Value, u32>,
    /// Values that are born as predicates.
    born: Vec<Value>,
    /// What something asks of whether it is 0.
    tested: Vec<Value>,
    /// What is compared for (in)equality, which is logic if both are truths.
    compared: Vec<[Value; 2]>,
    pred: SecondaryMap<Value, bool>,
}

impl<'a> Analysis<'a> {
    fn new(func: &'a Function, blocks: &'a [Block]) -> Self {
        let mut this = Self {
            func,
            blocks,
            kind: SecondaryMap::new(),
            edges: Vec::new(),
            derived: SecondaryMap::new(),
            sources: SecondaryMap::new(),
            born: Vec::new(),
            tested: Vec::new(),
            compared: Vec::new(),
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
            for &param in dfg.block_params(b) {
                let candidate = i > 0 && dfg.value_type(param).is_int();
                self.kind[param] = if candidate { Kind::Param } else { Kind::Other };
            }
            for inst in self.func.layout.block_insts(b) {
                self.candidate(inst);
                self.test(inst);
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
        let results = dfg.inst_results(inst);
        let Some(&result) = results.first() else {
            return;
        };
        for &r in results {
            self.kind[r] = Kind::Other;
        }
        let scalar = || dfg.value_type(result).is_int();
        match dfg.insts[inst].opcode() {
            Opcode::Icmp | Opcode::Fcmp if scalar() => self.is_born(result),
            Opcode::Iconst if scalar() => {
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
                if scalar() =>
            {
                self.kind[result] = Kind::Logic;
                let args = dfg.inst_args(inst);
                args.iter().for_each(|&arg| self.depends(result, arg));
            }
            Opcode::Select | Opcode::SelectSpectreGuard if scalar() => {
                self.kind[result] = Kind::Choice;
                let args = &dfg.inst_args(inst)[1..];
                args.iter().for_each(|&arg| self.depends(result, arg));
            }
            Opcode::Call
                if intrinsic(self.func, inst).is_some_and(|i| i.result == Some(Slot::Truth)) =>
            {
                self.is_born(result);
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
                if let Some(&flag) = results.get(1) {
                    self.is_born(flag);
                }
            }
            _ => {}
        }
    }

    fn is_born(&mut self, v: Value) {
        self.kind[v] = Kind::Born;
        self.born.push(v);
    }

    /// Notes that candidate `v` is made from `source`; strikes it at once if that is
    /// known to be none.
    fn depends(&mut self, v: Value, source: Value) {
        if self.kind[v] == Kind::Other {
            return;
        }
        let source = self.resolved(source);
        if self.kind[source] == Kind::Other {
            self.kind[v] = Kind::Other;
            return;
        }
        let place = self.edges.len() as u32 + 1;
        self.edges.push(Edge {
            source,
            derived: v,
            next_derived: std::mem::replace(&mut self.derived[source], place),
            next_source: std::mem::replace(&mut self.sources[v], place),
        });
    }

    /// The edge at a position, and none at 0.
    fn edge(&self, place: u32) -> Option<Edge> {
        let at = (place as usize).checked_sub(1)?;
        self.edges.get(at).copied()
    }

    /// Strikes candidates that have a source which is none.
    fn fall(&mut self) {
        let mut work: Vec<Value> = self
            .edges
            .iter()
            .map(|e| e.source)
            .filter(|&v| !self.kind[v].is_truth())
            .collect();
        while let Some(v) = work.pop() {
            let mut next = self.derived[v];
            while let Some(edge) = self.edge(next) {
                if self.kind[edge.derived].is_truth() {
                    self.kind[edge.derived] = Kind::Other;
                    work.push(edge.derived);
                }
                next = edge.next_derived;
            }
        }
    }

    /// Finds the truths that live as predicates.
    fn spread(&mut self) {
        let mut work = Vec::new();
        for v in std::mem::take(&mut self.born) {
            self.mark(v, &mut work);
        }
        for v in std::mem::take(&mut self.tested) {
            self.mark(v, &mut work);
        }
        for pair in std::mem::take(&mut self.compared) {
            if pair.iter().all(|&v| self.kind[v].is_truth()) {
                pair.iter().for_each(|&v| self.mark(v, &mut work));
            }
        }
        while let Some(v) = work.pop() {
            if self.kind[v].is_derived() {
                let mut next = self.sources[v];
                while let Some(edge) = self.edge(next) {
                    self.mark(edge.source, &mut work);
                    next = edge.next_source;
                }
            }
            let mut next = self.derived[v];
            while let Some(edge) = self.edge(next) {
                if self.kind[edge.derived] == Kind::Logic {
                    self.mark(edge.derived, &mut work);
                }
                next = edge.next_derived;
            }
        }
    }

    fn mark(&mut self, v: Value, work: &mut Vec<Value>) {
        let kind = self.kind[v];
        let lives = kind == Kind::Born || kind.is_derived();
        if lives && !self.pred[v] {
            self.pred[v] = true;
            work.push(v);
        }
    }

    /// Notes the operands that `inst` asks only whether they are 0.
    fn test(&mut self, inst: Inst) {
        let dfg = &self.func.dfg;
        let args = || dfg.inst_args(inst);
        match dfg.insts[inst].opcode() {
            Opcode::Brif
            | Opcode::Trapz
            | Opcode::Trapnz
            | Opcode::Select
            | Opcode::SelectSpectreGuard
            | Opcode::Bmask => self.tested.push(self.resolved(args()[0])),
            Opcode::UaddOverflowCin
            | Opcode::UsubOverflowBin
            | Opcode::SaddOverflowCin
            | Opcode::SsubOverflowBin => self.tested.push(self.resolved(args()[2])),
            Opcode::Call => {
                let Some(i) = intrinsic(self.func, inst) else {
                    return;
                };
                for (slot, &v) in i.params.iter().zip(args()) {
                    if *slot == Slot::Truth {
                        self.tested.push(self.resolved(v));
                    }
                }
            }
            Opcode::Icmp => self
                .compared
                .extend(equality(self.func, inst).map(|of| of.0)),
            _ => {}
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
