//! Functions: arenas of values, instructions and blocks, and the edits that
//! keep them consistent.
//!
//! Invariants the edits keep: an instruction stands in at most one block; a
//! value's definition names it back; block arguments pair with parameters by
//! position. What no edit can promise (dominance, types) the verifier checks.

mod callee;
mod inst;
mod terminator;

use std::collections::BTreeMap;

use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap};
use smallvec::SmallVec;

use crate::codes::TrapCode;
use crate::entities::{Block, FuncRef, Inst, Origin, SigRef, Slot, Value};
use crate::opcode::Opcode;
use crate::types::Type;
pub use callee::{CallTarget, Callee, Signature, TailCall};
pub use inst::{Guard, Imm, InstData};
pub use terminator::{BlockCall, BranchMark, Hint, Terminator};

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

    /// The position of the function called `name` (without the `%`).
    pub fn position(&self, name: &str) -> Option<usize> {
        self.functions.iter().position(|f| f.name == name)
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
    /// Signatures for indirect calls.
    pub signatures: PrimaryMap<SigRef, Signature>,
    /// Functions that it calls or takes the address of.
    pub callees: PrimaryMap<FuncRef, Callee>,
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

impl BlockData {
    /// A block with nothing in it yet.
    pub(crate) fn new() -> Self {
        Self {
            params: SmallVec::new(),
            insts: Vec::new(),
            term: None,
            origin: Origin::NONE,
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
            signatures: PrimaryMap::new(),
            callees: PrimaryMap::new(),
            layout: Vec::new(),
            blocks: PrimaryMap::new(),
            insts: PrimaryMap::new(),
            values: PrimaryMap::new(),
        }
    }

    /// Makes room for so many more values and instructions.
    pub fn reserve(&mut self, values: usize, insts: usize) {
        self.values.reserve(values);
        self.insts.reserve(insts);
    }

    /// What it takes and gives.
    pub fn signature(&self) -> Signature {
        Signature {
            params: self.params.iter().map(|p| p.ty).collect(),
            results: self.results.clone(),
        }
    }

    /// The signature that an instruction or terminator with this target calls
    /// by; `None` if it is not declared.
    pub fn signature_of(&self, target: CallTarget) -> Option<&Signature> {
        match target {
            CallTarget::Direct(func) => self.callees.get(func).map(|c| &c.signature),
            CallTarget::Indirect { sig, .. } => self.signatures.get(sig),
        }
    }

    /// Whom a call calls, and its arguments; `None` of any other instruction.
    pub fn call<'a>(&self, data: &'a InstData) -> Option<(CallTarget, &'a [Value])> {
        match (data.op, data.imm, data.args.as_slice()) {
            (Opcode::Call, Imm::Func(func), args) => Some((CallTarget::Direct(func), args)),
            (Opcode::CallIndirect, Imm::Sig(sig), &[address, ref args @ ..]) => {
                Some((CallTarget::Indirect { sig, address }, args))
            }
            _ => None,
        }
    }

    /// The types of an instruction's results; of a call whose callee is not
    /// declared, none.
    #[inline]
    pub fn result_types(&self, data: &InstData) -> SmallVec<[Type; 2]> {
        if !data.op.effects().calls {
            let one = |ty| SmallVec::from_buf_and_len([ty; 2], 1);
            return data.result_type().map_or_else(SmallVec::new, one);
        }
        match self.call(data) {
            Some((target, _)) => match self.signature_of(target) {
                Some(signature) => SmallVec::from_slice(&signature.results),
                None => SmallVec::new(),
            },
            None => SmallVec::new(),
        }
    }

    /// The entry block, of a function that has one.
    #[inline]
    pub fn entry(&self) -> Option<Block> {
        self.layout.first().copied()
    }

    /// The block `b`.
    #[inline]
    pub fn block(&self, b: Block) -> &BlockData {
        &self.blocks[b]
    }

    /// The block `b`, to change it.
    #[inline]
    pub fn block_mut(&mut self, b: Block) -> &mut BlockData {
        &mut self.blocks[b]
    }

    /// The instruction `i`.
    #[inline]
    pub fn inst(&self, i: Inst) -> &InstData {
        &self.insts[i]
    }

    /// The instruction `i`, to change it.
    #[inline]
    pub fn inst_mut(&mut self, i: Inst) -> &mut InstData {
        &mut self.insts[i]
    }

    /// The type of `v`.
    #[inline]
    pub fn ty(&self, v: Value) -> Type {
        self.values[v].ty
    }

    /// Where `v` is defined.
    #[inline]
    pub fn def(&self, v: Value) -> ValueDef {
        self.values[v].def
    }

    /// The instruction that defines `v`, unless it is a block parameter.
    #[inline]
    pub fn def_inst(&self, v: Value) -> Option<Inst> {
        match self.def(v) {
            ValueDef::Result(inst, _) => Some(inst),
            ValueDef::Param(..) => None,
        }
    }

    /// The bits of `v` if it is a constant.
    #[inline]
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
    #[inline]
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
    #[inline]
    pub fn has_block(&self, b: Block) -> bool {
        self.blocks.is_valid(b)
    }

    /// Whether `i` names an instruction of this function, in a block or not.
    #[inline]
    pub fn has_inst(&self, i: Inst) -> bool {
        self.insts.is_valid(i)
    }

    /// Whether `v` names a value of this function.
    #[inline]
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
        let b = self.blocks.push(BlockData::new());
        self.layout.push(b);
        b
    }

    /// Adds an instruction whose results are named already, outside every
    /// block. The values it names come with [`adopt_numbered`](Self::adopt_numbered).
    pub(crate) fn push_numbered(&mut self, data: InstData) -> Inst {
        self.insts.push(data)
    }

    /// Takes blocks and values under the numbers they have in a text; the
    /// function has none yet. Numbers that are left out go to blocks and
    /// values outside the layout: blocks that trap, results of an instruction
    /// that stands nowhere.
    pub(crate) fn adopt_numbered(
        &mut self,
        blocks: BTreeMap<Block, BlockData>,
        values: BTreeMap<Value, (Type, ValueDef)>,
    ) {
        for (b, data) in blocks {
            while self.blocks.next_key() < b {
                self.blocks.push(BlockData {
                    term: Some(Terminator::Trap(TrapCode::User(0))),
                    ..BlockData::new()
                });
            }
            self.blocks.push(data);
        }
        let filler = self.insts.next_key();
        let mut unused = InstData::new(Opcode::Poison, Type::I32, &[], Imm::None);
        for (v, (ty, def)) in values {
            while self.values.next_key() < v {
                let index = unused.results.len() as u32;
                let def = ValueDef::Result(filler, index);
                let ty = Type::I32;
                unused.results.push(self.values.push(ValueData { ty, def }));
            }
            self.values.push(ValueData { ty, def });
        }
        if !unused.results.is_empty() {
            self.insts.push(unused);
        }
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
    #[inline]
    pub fn make_inst(&mut self, mut data: InstData) -> Inst {
        let inst = self.insts.next_key();
        data.results.clear();
        if data.op.effects().calls {
            for (i, ty) in self.result_types(&data).into_iter().enumerate() {
                let def = ValueDef::Result(inst, i as u32);
                data.results.push(self.values.push(ValueData { ty, def }));
            }
        } else if let Some(ty) = data.result_type() {
            let def = ValueDef::Result(inst, 0);
            data.results.push(self.values.push(ValueData { ty, def }));
        }
        self.insts.push(data)
    }

    /// Appends an instruction to a block and returns its result, if any.
    #[inline]
    pub fn push_inst(&mut self, b: Block, data: InstData) -> Option<Value> {
        let inst = self.make_inst(data);
        self.blocks[b].insts.push(inst);
        self.result(inst)
    }

    /// Inserts an instruction at position `at` of a block.
    pub fn insert_inst(&mut self, b: Block, at: usize, data: InstData) -> Inst {
        let inst = self.make_inst(data);
        self.blocks[b].insts.insert(at, inst);
        inst
    }

    /// The first result of `i`.
    #[inline]
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
        self.retain_params_of(&[b], |_, i| keep(i));
    }

    /// The same for several blocks in one walk over the function; `keep` is
    /// asked by block and position.
    pub fn retain_params_of(&mut self, blocks: &[Block], keep: impl Fn(Block, usize) -> bool) {
        let mut shrinks: SecondaryMap<Block, bool> = SecondaryMap::new();
        for &b in blocks {
            if std::mem::replace(&mut shrinks[b], true) {
                continue;
            }
            let old = std::mem::take(&mut self.blocks[b].params);
            for (i, v) in old.into_iter().enumerate() {
                if keep(b, i) {
                    let index = self.blocks[b].params.len() as u32;
                    self.values[v].def = ValueDef::Param(b, index);
                    self.blocks[b].params.push(v);
                }
            }
        }
        for from in self.layout.clone() {
            let Some(term) = &mut self.blocks[from].term else {
                continue;
            };
            for target in term.targets_mut() {
                if shrinks[target.block] {
                    let mut i = 0;
                    target.args.retain(|_| {
                        i += 1;
                        keep(target.block, i - 1)
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
