//! The functions of a launch as the model of time sees them: issues with the
//! values they wait for and the values they make.
//!
//! Values of all functions are numbered through as *slots* of a scoreboard;
//! segments, edges and issues likewise. Constants and arguments of the launch
//! have slots that nothing ever makes wait.

use std::ops::Range;

use cranelift_entity::EntityRef;
use warpfold_ir::{BlockCall, CostClass, Function, Opcode, Terminator, Value};

use crate::linked::Linked;
use crate::program::{Program, Term};

/// What is special about an issue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Nothing: its result is ready after its class's latency.
    Plain,
    /// Load or atomic: the latency is that of the memory it reaches.
    Memory,
    /// A barrier: how long it takes to have arrived.
    Barrier,
    /// Nothing of the warp issues until it is resolved.
    Control,
}

/// One issue.
#[derive(Clone, Debug)]
pub(crate) struct IssueCode {
    pub class: CostClass,
    pub kind: Kind,
    /// In [`Code::slots`].
    pub uses: Range<u32>,
    /// Likewise.
    pub defs: Range<u32>,
}

/// All functions of a launch.
#[derive(Debug)]
pub(crate) struct Code {
    pub issues: Vec<IssueCode>,
    /// Issues of each segment.
    pub segments: Vec<Range<u32>>,
    /// What each edge moves, in `moves`.
    pub edges: Vec<Range<u32>>,
    /// Parameter and argument.
    pub moves: Vec<(u32, u32)>,
    pub slots: Vec<u32>,
    /// Slots of a warp's scoreboard.
    pub size: usize,
    /// By function: the number of its first segment, edge and op.
    pub first: Vec<First>,
    /// The issue that each op is.
    pub issue_of_op: Vec<u32>,
    /// The issue with which lanes give way.
    pub yields: u32,
}

/// Where the numbers of a function begin.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct First {
    pub segment: u32,
    pub edge: u32,
    pub op: u32,
}

impl Code {
    pub(crate) fn new(linked: &Linked<'_>) -> Self {
        let mut code = Self {
            issues: Vec::new(),
            segments: Vec::new(),
            edges: Vec::new(),
            moves: Vec::new(),
            slots: Vec::new(),
            size: 0,
            first: Vec::new(),
            issue_of_op: Vec::new(),
            yields: 0,
        };
        for program in &linked.programs {
            code.first.push(First {
                segment: code.segments.len() as u32,
                edge: code.edges.len() as u32,
                op: code.issue_of_op.len() as u32,
            });
            if let Some(program) = program {
                code.function(program);
            }
        }
        code.yields = code.issues.len() as u32;
        let none = || std::iter::empty();
        code.issue(CostClass::Ctl, Kind::Control, none(), none());
        code
    }

    /// The segment that an issue is part of.
    pub(crate) fn segment_of(&self, issue: u32) -> &Range<u32> {
        // Segments have issues, in order, and issues but for the yield segments.
        let behind = self.segments.partition_point(|s| s.start <= issue);
        &self.segments[behind.saturating_sub(1)]
    }

    fn function(&mut self, program: &Program<'_>) {
        let func = program.func;
        let base = self.size as u32;
        self.size += func.num_values();
        let slot = |v: Value| base + v.index() as u32;
        for segment in &program.segments {
            let first = self.issues.len() as u32;
            for &inst in &program.insts[segment.first as usize..segment.end as usize] {
                let data = func.inst(inst);
                self.issue_of_op.push(self.issues.len() as u32);
                let kind = match data.cost_class() {
                    CostClass::Load | CostClass::Atomic if data.mem().is_some() => Kind::Memory,
                    CostClass::Bar if data.op == Opcode::Barrier => Kind::Barrier,
                    CostClass::Ctl | CostClass::Call => Kind::Control,
                    _ => Kind::Plain,
                };
                // What a call gives back is there when the caller goes on.
                let defs = match data.cost_class() {
                    CostClass::Call => &[][..],
                    _ => &data.results,
                };
                self.issue(
                    data.cost_class(),
                    kind,
                    data.uses().map(slot),
                    defs.iter().map(|&v| slot(v)),
                );
            }
            if segment.last {
                let term = func.term(segment.block);
                // The arguments of blocks are moved, not waited for.
                let waits = match term {
                    Terminator::Br { .. } | Terminator::Switch { .. } => 1,
                    Terminator::Jump(_) => 0,
                    Terminator::Ret(_) | Terminator::Trap(_) | Terminator::TailCall(_) => {
                        usize::MAX
                    }
                };
                let uses = term.uses().take(waits).map(slot);
                self.issue(term.cost_class(), Kind::Control, uses, [].into_iter());
            }
            self.segments.push(first..self.issues.len() as u32);
        }
        let first = self.edges.len();
        self.edges.resize(first + program.edges.len(), 0..0);
        for &b in &func.layout {
            let Some(block) = &program.blocks[b] else {
                continue;
            };
            let edges = match block.term {
                Term::Jump(edge) => edge..edge + 1,
                Term::Branch(branch) => program.branches[branch as usize].edges.clone(),
                _ => continue,
            };
            for (edge, target) in edges.zip(func.term(b).targets()) {
                self.edges[first + edge as usize] = self.moved(func, target, base);
            }
        }
    }

    /// The moves of an edge.
    fn moved(&mut self, func: &Function, target: &BlockCall, base: u32) -> Range<u32> {
        let first = self.moves.len() as u32;
        let params = &func.block(target.block).params;
        let pairs = params.iter().zip(&target.args);
        self.moves
            .extend(pairs.map(|(p, a)| (base + p.index() as u32, base + a.index() as u32)));
        first..self.moves.len() as u32
    }

    fn issue(
        &mut self,
        class: CostClass,
        kind: Kind,
        uses: impl Iterator<Item = u32>,
        defs: impl Iterator<Item = u32>,
    ) {
        let mut list = |values: &mut dyn Iterator<Item = u32>| {
            let first = self.slots.len() as u32;
            self.slots.extend(values);
            first..self.slots.len() as u32
        };
        let uses = list(&mut { uses });
        let defs = list(&mut { defs });
        self.issues.push(IssueCode {
            class,
            kind,
            uses,
            defs,
        });
    }
}
