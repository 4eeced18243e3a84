//! The state of lowering one function, and the two forms of its values.
//!
//! A CLIF value has a form made where it is defined, a number or a predicate.
//! The other form is made on demand, once in each block that asks for it, or
//! where the block of the definition itself asks, once for everything after.

use cranelift_codegen::entity::packed_option::PackedOption;
use cranelift_codegen::entity::{EntityRef, EntitySet, SecondaryMap};
use cranelift_codegen::ir as clif;
use cranelift_codegen::ir::entities::AnyEntity;
use hashbrown::HashMap;
use warpfold_ir::{
    Block, Function, Imm, Inst, InstData, IntCC, Opcode, Origin, Param, Slot, Terminator, TrapCode,
    Type, Value,
};

use super::callees::Declared;
use super::slots;
use super::source::Source;
use super::truth::Truths;
use crate::error::ClifError;
use crate::opmap;

/// Which form of a truth value an instruction made.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Form {
    Number,
    Pred,
}

/// The lowering of one function.
pub(super) struct Lowering<'a> {
    pub source: &'a Source<'a>,
    pub truths: Truths,
    pub out: Function,
    layout: Vec<Block>,
    /// Each slot with the byte in it at which CLIF's begins.
    pub slots: SecondaryMap<clif::StackSlot, Option<(Slot, u32)>>,
    /// The values made where their CLIF values are defined.
    pub numbers: SecondaryMap<clif::Value, PackedOption<Value>>,
    pub preds: SecondaryMap<clif::Value, PackedOption<Value>>,
    /// The other forms, made on demand; good for the current block.
    local: HashMap<(clif::Value, Form), Value>,
    constants: HashMap<(Type, u128), Value>,
    pub(super) declared: Declared,
    /// Functions that stand for routines of Cranelift's library.
    pub(super) helpers: Vec<Function>,
    /// Instructions to remove again if nothing uses them.
    pub optional: Vec<Value>,
    at: clif::Block,
    pub block: Block,
    pub origin: Origin,
}

impl<'a> Lowering<'a> {
    pub fn new(source: &'a Source<'a>, blocks: &[clif::Block]) -> Result<Self, Vec<ClifError>> {
        let func = source.func;
        let entry = blocks.first().copied().unwrap_or(clif::Block::from_u32(0));
        let mut lowering = Self {
            source,
            truths: Truths::new(func, blocks),
            out: Function::new(source.name.clone()),
            layout: blocks.iter().map(|b| Block::new(b.index())).collect(),
            slots: SecondaryMap::new(),
            numbers: SecondaryMap::new(),
            preds: SecondaryMap::new(),
            local: HashMap::new(),
            constants: HashMap::new(),
            declared: Declared::default(),
            helpers: Vec::new(),
            optional: Vec::new(),
            at: entry,
            block: Block::new(entry.index()),
            origin: Origin::NONE,
        };
        let values = func.dfg.num_values();
        lowering.out.reserve(values, func.dfg.num_insts());
        lowering.numbers.resize(values);
        lowering.preds.resize(values);
        for param in &func.signature.params {
            let ty = lowering.lane_type(param.value_type)?;
            lowering.out.params.push(Param { ty, varying: false });
        }
        for result in &func.signature.returns {
            let ty = lowering.lane_type(result.value_type)?;
            lowering.out.results.push(ty);
        }
        for (slot, place) in slots::lay_out(func, blocks, &mut lowering.out.slots) {
            lowering.slots[slot] = Some(place);
        }
        let numbers = blocks.iter().map(|b| b.index() + 1).max().unwrap_or(0);
        for _ in 0..numbers {
            let b = lowering.out.add_block();
            // Numbers that no reachable block has stand for complete blocks
            // too, though they are laid out nowhere.
            let filler = Terminator::Trap(TrapCode::User(1));
            lowering.out.set_term(b, filler, Origin::NONE);
        }
        Ok(lowering)
    }

    fn lane_type(&self, ty: clif::Type) -> Result<Type, Vec<ClifError>> {
        opmap::lane_type(ty)
            .map_err(|why| vec![self.source.error(AnyEntity::Function, None, why.into())])
    }

    pub fn block(&mut self, b: clif::Block) -> Result<(), Vec<ClifError>> {
        self.at = b;
        self.block = Block::new(b.index());
        self.local.clear();
        self.constants.clear();
        self.params(b)
            .map_err(|message| vec![self.source.error(b.into(), None, message)])?;
        for inst in self.source.func.layout.block_insts(b) {
            self.origin = self.source.origin(inst);
            self.inst(inst)
                .map_err(|message| vec![self.source.inst_error(inst, message)])?;
        }
        Ok(())
    }

    fn params(&mut self, b: clif::Block) -> Result<(), String> {
        for &param in self.source.func.dfg.block_params(b) {
            if self.truths.is_pred(param) {
                self.preds[param] = self.out.add_param(self.block, Type::Pred).into();
            } else {
                let ty = self.type_of(param)?;
                self.numbers[param] = self.out.add_param(self.block, ty).into();
            }
        }
        Ok(())
    }

    pub fn emit(&mut self, op: Opcode, ty: Type, args: &[Value], imm: Imm) -> Option<Value> {
        let data = InstData::new(op, ty, args, imm).at(self.origin);
        self.out.push_inst(self.block, data)
    }

    /// Emits an instruction with a result.
    pub fn value(
        &mut self,
        op: Opcode,
        ty: Type,
        args: &[Value],
        imm: Imm,
    ) -> Result<Value, String> {
        self.emit(op, ty, args, imm)
            .ok_or_else(|| format!("`{op}` yields no value"))
    }

    /// A constant, once in a block.
    pub fn constant(&mut self, ty: Type, bits: u128) -> Result<Value, String> {
        let bits = bits & ty.mask();
        if let Some(&v) = self.constants.get(&(ty, bits)) {
            return Ok(v);
        }
        let v = self.value(Opcode::Const, ty, &[], Imm::Bits(bits))?;
        self.constants.insert((ty, bits), v);
        Ok(v)
    }

    pub fn type_of(&self, v: clif::Value) -> Result<Type, String> {
        opmap::lane_type(self.source.func.dfg.value_type(v)).map_err(str::to_string)
    }

    /// `v` as a number of its own type. Of a value that lives as a predicate,
    /// the integer is made here, once in the block; where that is the block of
    /// the definition it serves everything after it.
    pub fn number(&mut self, v: clif::Value) -> Result<Value, String> {
        // An alias has none of its own.
        if let Some(number) = self.numbers[v].expand() {
            return Ok(number);
        }
        self.other_number(self.source.func.dfg.resolve_aliases(v))
    }

    fn other_number(&mut self, v: clif::Value) -> Result<Value, String> {
        if let Some(number) = self.numbers[v].expand() {
            return Ok(number);
        }
        if let Some(&number) = self.local.get(&(v, Form::Number)) {
            return Ok(number);
        }
        let pred = self.preds[v].expand();
        let pred = pred.ok_or_else(|| format!("{v} has no definition before its use"))?;
        let number = self.value(Opcode::Bint, self.type_of(v)?, &[pred], Imm::None)?;
        if self.source.func.dfg.value_def(v).block(self.source.func) == Some(self.at) {
            self.numbers[v] = number.into();
        } else {
            self.local.insert((v, Form::Number), number);
        }
        Ok(number)
    }

    /// Whether `v` is not 0, as a predicate.
    pub fn pred(&mut self, v: clif::Value) -> Result<Value, String> {
        let v = self.source.func.dfg.resolve_aliases(v);
        if let Some(pred) = self.preds[v].expand() {
            return Ok(pred);
        }
        if let Some(&pred) = self.local.get(&(v, Form::Pred)) {
            return Ok(pred);
        }
        let pred = match self.truths.constant(v) {
            Some(truth) => self.constant(Type::Pred, truth.into())?,
            None => {
                let (ty, number) = (self.type_of(v)?, self.number(v)?);
                let zero = self.constant(ty, 0)?;
                let ne = Imm::Icc(IntCC::Ne);
                self.value(Opcode::Icmp, ty, &[number, zero], ne)?
            }
        };
        self.local.insert((v, Form::Pred), pred);
        Ok(pred)
    }

    /// Takes out what was made for uses that did not come.
    pub fn finish(mut self) -> Function {
        self.out.layout = self.layout;
        if self.optional.is_empty() {
            return self.out;
        }
        let mut unused: SecondaryMap<Value, bool> = SecondaryMap::new();
        unused.resize(self.out.num_values());
        for &v in &self.optional {
            unused[v] = true;
        }
        for &b in &self.out.layout {
            let block = self.out.block(b);
            for &i in &block.insts {
                let inst = self.out.inst(i);
                inst.args.iter().for_each(|&v| unused[v] = false);
                if inst.guard.is_some() {
                    inst.uses().for_each(|v| unused[v] = false);
                }
            }
            for v in block.term.iter().flat_map(Terminator::uses) {
                unused[v] = false;
            }
        }
        let values = self.optional.iter().filter(|v| unused[**v]);
        let insts: Vec<Inst> = values.filter_map(|&v| self.out.def_inst(v)).collect();
        let mut unused: EntitySet<Inst> = EntitySet::new();
        unused.extend(insts);
        if unused.is_empty() {
            return self.out;
        }
        for i in 0..self.out.layout.len() {
            let b = self.out.layout[i];
            self.out.block_mut(b).insts.retain(|i| !unused.contains(*i));
        }
        self.out
    }
}

/// The block a value is defined in.
trait DefBlock {
    fn block(self, func: &clif::Function) -> Option<clif::Block>;
}

impl DefBlock for clif::ValueDef {
    fn block(self, func: &clif::Function) -> Option<clif::Block> {
        match self {
            Self::Result(inst, _) => func.layout.inst_block(inst),
            Self::Param(block, _) => Some(block),
            Self::Union(..) => None,
        }
    }
}
