//! Functions: arenas of values, instructions and blocks, and the edits that
//! keep them consistent.
//!
//! Invariants the edits keep: an instruction stands in at most one block; a
//! value's definition names it back; block arguments pair with parameters by
//! position. What no edit can promise (dominance, types) the verifier checks.

use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap};
use smallvec::{SmallVec, smallvec};

use crate::codes::{FloatCC, IntCC, MemFlags, TrapCode};
use crate::entities::{Block, Inst, Origin, Slot, Value};
use crate::opcode::{CostClass, Opcode, ResultType};
use crate::types::Type;

/// Several functions that one file holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Module {
    /// The functions, in file order; their names are distinct.
    pub functions: Vec<Function>,
}

impl Module {
    /// The function called `name` (without the `%`).
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|f| f.name == name)
    }
}

/// A parameter of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Param {
    /// Its type.
    pub ty: Type,
    /// Whether its value differs from lane to lane. Otherwise every lane of
    /// the grid gets the same.
    pub varying: bool,
}

/// A declared piece of local memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotData {
    /// Size in bytes.
    pub size: u32,
    /// Alignment in bytes, a power of two.
    pub align: u32,
}

/// A function of the SIMT IR.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Name, without the `%` of its text form.
    pub name: String,
    /// Parameters; the entry block's parameters repeat their types.
    pub params: Vec<Param>,
    /// Types of the values that `ret` gives each lane.
    pub results: Vec<Type>,
    /// Local memory.
    pub slots: PrimaryMap<Slot, SlotData>,
    /// Blocks in layout order; the first is the entry. Layout order ranks a
    /// function's ends and so decides where lanes join.
    pub layout: Vec<Block>,
    blocks: PrimaryMap<Block, BlockData>,
    insts: PrimaryMap<Inst, InstData>,
    values: PrimaryMap<Value, ValueData>,
}

/// A basic block.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockData {
    /// Parameters.
    pub params: SmallVec<[Value; 4]>,
    /// Instructions, in order.
    pub insts: Vec<Inst>,
    /// How it ends; `None` only while it is being built.
    pub term: Option<Terminator>,
    /// Where the terminator came from.
    pub origin: Origin,
}

/// A guard: outside the lanes where it holds the instruction does nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Guard {
    /// The predicate.
    pub pred: Value,
    /// Whether the guard holds where the predicate does *not*.
    pub negated: bool,
    /// The result in the other lanes; without it they hold poison.
    pub otherwise: Option<Value>,
}

/// The immediate of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Imm {
    /// None.
    None,
    /// A constant's bits, zero above the type's width.
    Bits(u128),
    /// An integer condition.
    Icc(IntCC),
    /// A float condition.
    Fcc(FloatCC),
    /// A memory access.
    Mem {
        /// Promises and demands.
        flags: MemFlags,
        /// Bytes added to the address.
        offset: i32,
    },
    /// A place in a stack slot.
    Slot {
        /// Which slot.
        slot: Slot,
        /// Bytes from its start.
        offset: i32,
    },
    /// A trap code.
    Trap(TrapCode),
}

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct InstData {
    /// The operation.
    pub op: Opcode,
    /// The type that operands and result are stated relative to; see
    /// [`Shape`](crate::Shape).
    pub ty: Type,
    /// Operands.
    pub args: SmallVec<[Value; 3]>,
    /// Immediate.
    pub imm: Imm,
    /// Guard, if any.
    pub guard: Option<Guard>,
    /// Results: one or none.
    pub results: SmallVec<[Value; 1]>,
    /// Where it came from.
    pub origin: Origin,
}

impl InstData {
    /// An unguarded instruction without origin; results are made when it is
    /// put into a function.
    pub fn new(op: Opcode, ty: Type, args: &[Value], imm: Imm) -> Self {
        Self {
            op,
            ty,
            args: SmallVec::from_slice(args),
            imm,
            guard: None,
            results: SmallVec::new(),
            origin: Origin::NONE,
        }
    }

    /// The same under a guard.
    #[must_use]
    pub fn guarded(mut self, guard: Guard) -> Self {
        self.guard = Some(guard);
        self
    }

    /// The same from `origin`.
    #[must_use]
    pub fn at(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
    }

    /// The type of its result, if it has one.
    pub fn result_type(&self) -> Option<Type> {
        match self.op.shape().result() {
            ResultType::None => None,
            ResultType::Same => Some(self.ty),
            ResultType::Pred => Some(Type::Pred),
        }
    }

    /// What an issue of it costs.
    pub fn cost_class(&self) -> CostClass {
        self.op.cost_class(self.ty)
    }

    /// Operands, guard predicate and `else` value, in this order.
    pub fn uses(&self) -> impl Iterator<Item = Value> + '_ {
        let guard = self.guard.into_iter();
        self.args
            .iter()
            .copied()
            .chain(guard.flat_map(|g| std::iter::once(g.pred).chain(g.otherwise)))
    }

    /// Replaces every used value by `f` of it.
    pub fn map_uses(&mut self, mut f: impl FnMut(Value) -> Value) {
        for arg in &mut self.args {
            *arg = f(*arg);
        }
        if let Some(g) = &mut self.guard {
            g.pred = f(g.pred);
            g.otherwise = g.otherwise.map(&mut f);
        }
    }

    /// Flags and offset of a memory access.
    pub fn mem(&self) -> Option<(MemFlags, i32)> {
        match self.imm {
            Imm::Mem { flags, offset } => Some((flags, offset)),
            _ => None,
        }
    }
}

/// A jump target with its arguments.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct BlockCall {
    /// Target.
    pub block: Block,
    /// One argument per parameter of the target.
    pub args: SmallVec<[Value; 4]>,
}

impl BlockCall {
    /// A target with arguments.
    pub fn new(block: Block, args: &[Value]) -> Self {
        Self {
            block,
            args: SmallVec::from_slice(args),
        }
    }
}

impl From<Block> for BlockCall {
    fn from(block: Block) -> Self {
        Self::new(block, &[])
    }
}

/// What earlier stages found out about a conditional branch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct BranchMark {
    /// Proven never to split a warp; prediction and measurement both charge
    /// `b_proven` for it.
    pub proven: bool,
    /// Made or settled by a rewrite; not to be decided again.
    pub decided: bool,
}

/// How a block ends.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Terminator {
    /// Goes on at one block.
    Jump(BlockCall),
    /// Goes on at one of two blocks.
    Br {
        /// Decides, a `pred`.
        cond: Value,
        /// Taken where it holds.
        then: BlockCall,
        /// Taken where it does not.
        otherwise: BlockCall,
        /// What is known of it.
        mark: BranchMark,
    },
    /// Goes on at the block that the index selects.
    Switch {
        /// Selects, an integer taken unsigned.
        index: Value,
        /// Targets from index 0 on.
        table: Vec<BlockCall>,
        /// Target of every other index.
        default: BlockCall,
        /// What is known of it.
        mark: BranchMark,
    },
    /// The lanes return.
    Ret(SmallVec<[Value; 2]>),
    /// The lanes trap.
    Trap(TrapCode),
}

impl Terminator {
    /// An unmarked two-way branch.
    pub fn br(cond: Value, then: impl Into<BlockCall>, otherwise: impl Into<BlockCall>) -> Self {
        Self::Br {
            cond,
            then: then.into(),
            otherwise: otherwise.into(),
            mark: BranchMark::default(),
        }
    }

    /// A jump.
    pub fn jump(to: impl Into<BlockCall>) -> Self {
        Self::Jump(to.into())
    }

    /// A return.
    pub fn ret(values: &[Value]) -> Self {
        Self::Ret(SmallVec::from_slice(values))
    }

    /// Targets in table order, a switch's default last; repeated targets are
    /// repeated. The position of a target is its edge's number.
    pub fn targets(&self) -> SmallVec<[&BlockCall; 2]> {
        match self {
            Self::Jump(to) => smallvec![to],
            Self::Br {
                then, otherwise, ..
            } => smallvec![then, otherwise],
            Self::Switch { table, default, .. } => table.iter().chain([default]).collect(),
            Self::Ret(_) | Self::Trap(_) => smallvec![],
        }
    }

    /// The same, to change them.
    pub fn targets_mut(&mut self) -> SmallVec<[&mut BlockCall; 2]> {
        match self {
            Self::Jump(to) => smallvec![to],
            Self::Br {
                then, otherwise, ..
            } => smallvec![then, otherwise],
            Self::Switch { table, default, .. } => table.iter_mut().chain([default]).collect(),
            Self::Ret(_) | Self::Trap(_) => smallvec![],
        }
    }

    /// The value that decides, of a branch or switch.
    pub fn condition(&self) -> Option<Value> {
        match *self {
            Self::Br { cond, .. } => Some(cond),
            Self::Switch { index, .. } => Some(index),
            _ => None,
        }
    }

    /// The mark of a branch or switch.
    pub fn mark(&self) -> Option<BranchMark> {
        match *self {
            Self::Br { mark, .. } | Self::Switch { mark, .. } => Some(mark),
            _ => None,
        }
    }

    /// The same, to change it.
    pub fn mark_mut(&mut self) -> Option<&mut BranchMark> {
        match self {
            Self::Br { mark, .. } | Self::Switch { mark, .. } => Some(mark),
            _ => None,
        }
    }

    /// Whether it chooses between targets.
    pub fn is_conditional(&self) -> bool {
        self.condition().is_some()
    }

    /// What an issue of it costs.
    pub fn cost_class(&self) -> CostClass {
        match self {
            Self::Jump(_) => CostClass::Jump,
            Self::Br { .. } | Self::Switch { .. } => CostClass::Branch,
            Self::Ret(_) | Self::Trap(_) => CostClass::Ctl,
        }
    }

    /// Condition, block arguments and returned values.
    pub fn uses(&self) -> impl Iterator<Item = Value> + '_ {
        let returned: &[Value] = match self {
            Self::Ret(values) => values,
            _ => &[],
        };
        self.condition()
            .into_iter()
            .chain(
                self.targets()
                    .into_iter()
                    .flat_map(|t| t.args.iter().copied()),
            )
            .chain(returned.iter().copied())
    }

    /// Replaces every used value by `f` of it.
    pub fn map_uses(&mut self, mut f: impl FnMut(Value) -> Value) {
        match self {
            Self::Br { cond, .. } => *cond = f(*cond),
            Self::Switch { index, .. } => *index = f(*index),
            Self::Ret(values) => values.iter_mut().for_each(|v| *v = f(*v)),
            _ => {}
        }
        for target in self.targets_mut() {
            target.args.iter_mut().for_each(|v| *v = f(*v));
        }
    }
}

/// Where a value comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ValueDef {
    /// Result number `.1` of an instruction.
    Result(Inst, u32),
    /// Parameter number `.1` of a block.
    Param(Block, u32),
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct ValueData {
    ty: Type,
    def: ValueDef,
}

impl Function {
    /// An empty function.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            params: Vec::new(),
            results: Vec::new(),
            slots: PrimaryMap::new(),
            layout: Vec::new(),
            blocks: PrimaryMap::new(),
            insts: PrimaryMap::new(),
            values: PrimaryMap::new(),
        }
    }

    /// The entry block, of a function that has one.
    pub fn entry(&self) -> Option<Block> {
        self.layout.first().copied()
    }

    /// The block `b`.
    pub fn block(&self, b: Block) -> &BlockData {
        &self.blocks[b]
    }

    /// The block `b`, to change it.
    pub fn block_mut(&mut self, b: Block) -> &mut BlockData {
        &mut self.blocks[b]
    }

    /// The instruction `i`.
    pub fn inst(&self, i: Inst) -> &InstData {
        &self.insts[i]
    }

    /// The instruction `i`, to change it.
    pub fn inst_mut(&mut self, i: Inst) -> &mut InstData {
        &mut self.insts[i]
    }

    /// The type of `v`.
    pub fn ty(&self, v: Value) -> Type {
        self.values[v].ty
    }

    /// Where `v` is defined.
    pub fn def(&self, v: Value) -> ValueDef {
        self.values[v].def
    }

    /// The instruction that defines `v`, unless it is a block parameter.
    pub fn def_inst(&self, v: Value) -> Option<Inst> {
        match self.def(v) {
            ValueDef::Result(inst, _) => Some(inst),
            ValueDef::Param(..) => None,
        }
    }

    /// The bits of `v` if it is a constant.
    pub fn as_const(&self, v: Value) -> Option<u128> {
        match self.def_inst(v).map(|i| &self.insts[i]) {
            Some(InstData {
                op: Opcode::Const,
                imm: Imm::Bits(bits),
                ..
            }) => Some(*bits),
            _ => None,
        }
    }

    /// The terminator of `b`.
    ///
    /// # Panics
    /// If the block is still being built; verified functions have none such.
    pub fn term(&self, b: Block) -> &Terminator {
        self.blocks[b]
            .term
            .as_ref()
            .expect("a verified block has a terminator")
    }

    /// Number of blocks ever made, for tables indexed by block.
    pub fn num_blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Number of instructions ever made.
    pub fn num_insts(&self) -> usize {
        self.insts.len()
    }

    /// Number of values ever made.
    pub fn num_values(&self) -> usize {
        self.values.len()
    }

    /// Every value ever made, also of removed instructions.
    pub fn values(&self) -> impl Iterator<Item = Value> + use<> {
        (0..self.values.len()).map(Value::new)
    }

    /// Whether `b` names a block of this function, laid out or not.
    pub fn has_block(&self, b: Block) -> bool {
        self.blocks.is_valid(b)
    }

    /// Whether `v` names a value of this function.
    pub fn has_value(&self, v: Value) -> bool {
        self.values.is_valid(v)
    }

    /// The instructions that stand in laid-out blocks, in layout order.
    pub fn laid_out_insts(&self) -> impl Iterator<Item = (Block, Inst)> + '_ {
        self.layout
            .iter()
            .flat_map(move |&b| self.blocks[b].insts.iter().map(move |&i| (b, i)))
    }

    /// Makes a block and lays it out last.
    pub fn add_block(&mut self) -> Block {
        let b = self.blocks.push(BlockData {
            params: SmallVec::new(),
            insts: Vec::new(),
            term: None,
            origin: Origin::NONE,
        });
        self.layout.push(b);
        b
    }

    /// Adds a parameter to a block.
    pub fn add_param(&mut self, b: Block, ty: Type) -> Value {
        let index = self.blocks[b].params.len() as u32;
        let v = self.values.push(ValueData {
            ty,
            def: ValueDef::Param(b, index),
        });
        self.blocks[b].params.push(v);
        v
    }

    /// Makes an instruction with fresh results, in no block yet.
    pub fn make_inst(&mut self, mut data: InstData) -> Inst {
        let inst = self.insts.next_key();
        data.results.clear();
        if let Some(ty) = data.result_type() {
            data.results.push(self.values.push(ValueData {
                ty,
                def: ValueDef::Result(inst, 0),
            }));
        }
        self.insts.push(data)
    }

    /// Appends an instruction to a block and returns its result, if any.
    pub fn push_inst(&mut self, b: Block, data: InstData) -> Option<Value> {
        let inst = self.make_inst(data);
        self.blocks[b].insts.push(inst);
        self.insts[inst].results.first().copied()
    }

    /// Inserts an instruction at position `at` of a block.
    pub fn insert_inst(&mut self, b: Block, at: usize, data: InstData) -> Inst {
        let inst = self.make_inst(data);
        self.blocks[b].insts.insert(at, inst);
        inst
    }

    /// The first result of `i`.
    pub fn result(&self, i: Inst) -> Option<Value> {
        self.insts[i].results.first().copied()
    }

    /// Ends a block.
    pub fn set_term(&mut self, b: Block, term: Terminator, origin: Origin) {
        self.blocks[b].term = Some(term);
        self.blocks[b].origin = origin;
    }

    /// Replaces used values all over the function by `f` of them.
    pub fn map_uses(&mut self, mut f: impl FnMut(Value) -> Value) {
        for &b in &self.layout {
            let block = &mut self.blocks[b];
            for &i in &block.insts {
                self.insts[i].map_uses(&mut f);
            }
            if let Some(term) = &mut block.term {
                term.map_uses(&mut f);
            }
        }
    }

    /// Removes the parameters of `b` for which `keep` is false, together with
    /// the arguments of every edge to it. They must have no uses left.
    pub fn retain_params(&mut self, b: Block, keep: impl Fn(usize) -> bool) {
        let old = std::mem::take(&mut self.blocks[b].params);
        for (i, v) in old.into_iter().enumerate() {
            if keep(i) {
                let index = self.blocks[b].params.len() as u32;
                self.values[v].def = ValueDef::Param(b, index);
                self.blocks[b].params.push(v);
            }
        }
        for from in self.layout.clone() {
            let Some(term) = &mut self.blocks[from].term else {
                continue;
            };
            for target in term.targets_mut() {
                if target.block == b {
                    let mut i = 0;
                    target.args.retain(|_| {
                        i += 1;
                        keep(i - 1)
                    });
                }
            }
        }
    }

    /// Takes the blocks that no path from the entry reaches out of the layout.
    /// Returns them in their former order.
    pub fn remove_unreachable(&mut self) -> Vec<Block> {
        let mut seen: SecondaryMap<Block, bool> = SecondaryMap::new();
        let mut work: Vec<Block> = self.entry().into_iter().collect();
        for &b in &work {
            seen[b] = true;
        }
        while let Some(b) = work.pop() {
            for target in self.term(b).targets() {
                if !seen[target.block] {
                    seen[target.block] = true;
                    work.push(target.block);
                }
            }
        }
        let (keep, gone) = self.layout.iter().partition(|&&b| seen[b]);
        self.layout = keep;
        gone
    }
}
