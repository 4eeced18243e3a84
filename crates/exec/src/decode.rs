//! Decodes a function once to the compact form that the warps run.
//!
//! - Every value gets a register of its file. Constants, addresses of slots and
//!   functions and the shared base get theirs filled before the function starts, equal ones
//!   share one; so each [`Op`] left is one issue.
//! - A block is a run of *segments*: stretches between guarded exits, guarded
//!   traps and calls.
//!   All that is counted per issue is counted when a segment begins, for as
//!   many issues as it has; only a lane that traps in the middle makes
//!   corrections necessary.
//! - Block arguments become ordered register copies of their edge.
//!
//! Registers are named by 16 bits within their file, so a function may have
//! about 65 thousand values of one width.

use std::collections::BTreeMap;
use std::ops::Range;

use cranelift_entity::{EntityRef, SecondaryMap};
use warpfold_analysis::{Cfg, JoinRule, Joins, Yields};
use warpfold_ir::{
    Block, BlockCall, CallTarget, CostClass, FuncRef, Function, Imm, InstData, MemFlags, Opcode,
    Terminator, Type, Value,
};

use crate::error::LaunchError;
use crate::lanes::code;
use crate::linked::{Linker, address_of};
use crate::memory::{SHARED_BASE, place_slots};
use crate::moves::in_order;
use crate::program::{
    Access, BlockCode, BranchCode, CallCode, CallKind, Cond, EdgeCode, GuardCode, NO_GUARD, Op,
    Program, Segment, Term,
};
use crate::registers::{Kind, Place, Reg};

impl<'a> Program<'a> {
    pub(crate) fn new(
        func: &'a Function,
        rule: JoinRule,
        linker: &mut Linker<'_, '_>,
    ) -> Result<Self, LaunchError> {
        let entry = func.entry().ok_or(LaunchError::Incomplete)?;
        if func.layout.iter().any(|&b| func.block(b).term.is_none()) {
            return Err(LaunchError::Incomplete);
        }
        let cfg = Cfg::new(func);
        let joins = Joins::new(func, &cfg, rule);
        let slots = func.slots.values().map(|s| (s.size, s.align));
        let (slots, local) = place_slots(slots).ok_or(LaunchError::LocalTooLarge)?;
        let local_align = func.slots.values().map(|s| u64::from(s.align)).max();
        let mut callees = SecondaryMap::new();
        for (callee, data) in func.callees.iter() {
            callees[callee] = linker.find(&data.name, &data.signature);
        }
        let mut decoder = Decoder {
            places: SecondaryMap::new(),
            constants: BTreeMap::new(),
            slot_addresses: BTreeMap::new(),
            callees,
            signatures: func.signatures.values().map(|s| linker.number(s)).collect(),
            spares: [None; Kind::COUNT],
            program: Self {
                func,
                ops: Vec::new(),
                insts: Vec::new(),
                segments: Vec::new(),
                blocks: SecondaryMap::new(),
                branches: Vec::new(),
                edges: Vec::new(),
                moves: Vec::new(),
                guards: Vec::new(),
                accesses: Vec::new(),
                calls: Vec::new(),
                call_places: Vec::new(),
                signature: linker.number(&func.signature()),
                slot_addresses: Vec::new(),
                constants: Vec::new(),
                params: Vec::new(),
                returned: Vec::new(),
                places: SecondaryMap::new(),
                entry,
                sizes: [0; Kind::COUNT],
                slots: slots.into(),
                local,
                local_align: local_align.unwrap_or(1).max(16),
                narrow_pointers: false,
                yields: Yields::default(),
            },
        };
        decoder.place_values()?;
        for &b in &func.layout {
            decoder.block(b, &cfg, &joins)?;
        }
        decoder.program.places = decoder.places;
        Ok(decoder.program)
    }
}

struct Decoder<'a> {
    program: Program<'a>,
    places: SecondaryMap<Value, Option<Place>>,
    /// Registers of constants, by file and bits.
    constants: BTreeMap<(Kind, u128), Place>,
    /// The same of slot addresses, which depend on the frame.
    slot_addresses: BTreeMap<(Kind, u64), Place>,
    /// Positions of the functions that are called.
    callees: SecondaryMap<FuncRef, Option<usize>>,
    /// Numbers of the signatures of indirect calls.
    signatures: Vec<u32>,
    /// Registers to break cycles of block arguments with.
    spares: [Option<Reg>; Kind::COUNT],
}

fn number(n: usize, what: &'static str) -> Result<u16, LaunchError> {
    match u16::try_from(n) {
        // The largest number is taken: it is `NO_GUARD`.
        Ok(n) if n != u16::MAX => Ok(n),
        _ => Err(LaunchError::FunctionTooLarge {
            what,
            limit: u64::from(u16::MAX),
        }),
    }
}

impl Decoder<'_> {
    fn new_place(&mut self, kind: Kind) -> Result<Place, LaunchError> {
        let size = &mut self.program.sizes[kind.index()];
        let reg = number(*size, "values of one width")?;
        *size += 1;
        Ok(Place { kind, reg })
    }

    fn place_values(&mut self) -> Result<(), LaunchError> {
        let func = self.program.func;
        for &b in &func.layout {
            for &v in &func.block(b).params {
                let place = self.new_place(Kind::of(func.ty(v)))?;
                self.places[v] = Some(place);
                if b == self.program.entry {
                    self.program.params.push(place);
                }
            }
            for &i in &func.block(b).insts {
                let data = func.inst(i);
                let constant = self.constant(data)?;
                let slot = self.slot_address(data);
                for &v in &data.results {
                    let kind = Kind::of(func.ty(v));
                    self.places[v] = Some(match (slot, constant) {
                        (Some(address), _) => self.slot_place(kind, address)?,
                        (None, Some(bits)) => self.constant_place(kind, bits)?,
                        (None, None) => self.new_place(kind)?,
                    });
                }
            }
        }
        Ok(())
    }

    /// The address of a stack slot, in a frame whose slots begin where local
    /// memory does.
    fn slot_address(&self, data: &InstData) -> Option<u64> {
        match (data.op, data.imm) {
            (Opcode::StackAddr, Imm::Slot { slot, offset }) => {
                let address = self.program.slots[slot.index()].address;
                Some(address.wrapping_add_signed(i64::from(offset)))
            }
            _ => None,
        }
    }

    fn slot_place(&mut self, kind: Kind, address: u64) -> Result<Place, LaunchError> {
        if let Some(&place) = self.slot_addresses.get(&(kind, address)) {
            return Ok(place);
        }
        let place = self.new_place(kind)?;
        self.slot_addresses.insert((kind, address), place);
        self.program.slot_addresses.push((place, address));
        Ok(place)
    }

    /// The bits of what never issues, but for slot addresses. Poison may hold
    /// anything.
    fn constant(&self, data: &InstData) -> Result<Option<u128>, LaunchError> {
        let bits = match (data.op, data.imm) {
            (Opcode::Const, Imm::Bits(bits)) => bits,
            (Opcode::Poison, _) => 0,
            (Opcode::SharedBase, _) => u128::from(SHARED_BASE),
            (Opcode::FuncAddr, Imm::Func(callee)) => u128::from(address_of(self.callee(callee)?)),
            _ => return Ok(None),
        };
        Ok(Some(bits & data.ty.mask()))
    }

    fn callee(&self, callee: FuncRef) -> Result<usize, LaunchError> {
        self.callees[callee].ok_or(LaunchError::Unlinked { callee })
    }

    /// Makes a call, in tail position where it has no results of its own.
    fn call(
        &mut self,
        target: CallTarget,
        args: &[Value],
        results: &[Value],
    ) -> Result<u16, LaunchError> {
        let target = match target {
            CallTarget::Direct(callee) => CallKind::Direct(self.callee(callee)?),
            CallTarget::Indirect { sig, address } => {
                let address = self.place(address)?;
                self.program.narrow_pointers |= address.kind == Kind::W32;
                CallKind::Indirect {
                    address,
                    signature: *self
                        .signatures
                        .get(sig.index())
                        .ok_or(LaunchError::Incomplete)?,
                }
            }
        };
        let mut places = |values: &[Value]| -> Result<Range<u32>, LaunchError> {
            let first = self.program.call_places.len() as u32;
            for &v in values {
                let place = self.place(v)?;
                self.program.call_places.push(place);
            }
            Ok(first..self.program.call_places.len() as u32)
        };
        let code = CallCode {
            target,
            args: places(args)?,
            results: places(results)?,
        };
        let index = number(self.program.calls.len(), "calls")?;
        self.program.calls.push(code);
        Ok(index)
    }

    fn constant_place(&mut self, kind: Kind, bits: u128) -> Result<Place, LaunchError> {
        if let Some(&place) = self.constants.get(&(kind, bits)) {
            return Ok(place);
        }
        let place = self.new_place(kind)?;
        self.constants.insert((kind, bits), place);
        self.program.constants.push((place, bits));
        Ok(place)
    }

    /// The register of a value that a verified function uses: its definition
    /// is laid out, so it has one.
    fn place(&self, v: Value) -> Result<Place, LaunchError> {
        self.places[v].ok_or(LaunchError::Incomplete)
    }

    fn block(&mut self, b: Block, cfg: &Cfg, joins: &Joins) -> Result<(), LaunchError> {
        let func = self.program.func;
        let first_segment = self.program.segments.len() as u32;
        let mut first = self.program.ops.len() as u32;
        for &i in &func.block(b).insts {
            let data = func.inst(i);
            if data.cost_class() == CostClass::Const {
                continue;
            }
            let op = self.op(data)?;
            self.program.ops.push(op);
            self.program.insts.push(i);
            if data.op.ends_segment() {
                self.end_segment(&mut first, false, b);
            }
        }
        self.end_segment(&mut first, true, b);
        let term = self.term(b, cfg, joins)?;
        self.program.blocks[b] = Some(BlockCode {
            segments: first_segment..self.program.segments.len() as u32,
            term,
        });
        Ok(())
    }

    fn end_segment(&mut self, first: &mut u32, last: bool, block: Block) {
        let end = self.program.ops.len() as u32;
        self.program.segments.push(Segment {
            first: *first,
            end,
            issues: self.program.issues(*first, end, last),
            last,
            block,
        });
        *first = end;
    }

    fn op(&mut self, data: &InstData) -> Result<Op, LaunchError> {
        let func = self.program.func;
        let mut operands = [0; 3];
        for (slot, &v) in operands.iter_mut().zip(&data.args) {
            *slot = self.place(v)?.reg;
        }
        let [a, b, mut c] = operands;
        let operand_type = |i: usize| data.args.get(i).map_or(Type::I32, |&v| func.ty(v));
        use warpfold_ir::Shape::*;
        match (data.op.shape(), data.imm) {
            (Shift, _) => c = operand_type(1) as u16,
            (Extend | Reduce | Promote | Demote | IntToFloat | FloatToInt | FloatToIntSat, _) => {
                c = operand_type(0) as u16;
            }
            (WarpSync, _) => c = data.args.len() as u16,
            (_, Imm::Icc(cc)) => c = cc as u16,
            (_, Imm::Fcc(cc)) => c = cc as u16,
            (_, Imm::Mem { flags, offset }) => {
                // The address is the last operand.
                let last = data.args.len().saturating_sub(1);
                let address = operand_type(last);
                let atomic = data.op.shape().is_atomic();
                let flags = match atomic {
                    true => flags | MemFlags::ALIGNED,
                    false => flags,
                };
                self.program.narrow_pointers |= address == Type::I32;
                let (bytes, signed) = data.op.access(data.ty).unwrap_or((0, false));
                let at = [a, b, c][last];
                c = number(self.program.accesses.len(), "memory accesses")?;
                self.program.accesses.push(Access {
                    bytes,
                    signed,
                    kind: Kind::of(data.ty),
                    address: Kind::of(address),
                    at,
                    atomic,
                    offset: i64::from(offset),
                    flags,
                });
            }
            _ => {}
        }
        if let Some((target, args)) = func.call(data) {
            c = self.call(target, args, &data.results)?;
        }
        let dst = match data.results.first() {
            Some(&v) => Some(self.place(v)?),
            None => None,
        };
        Ok(Op {
            code: code(data.op, data.ty),
            dst: dst.map_or(0, |p| p.reg),
            a,
            b,
            c,
            guard: self.guard(data, dst)?,
        })
    }

    fn guard(&mut self, data: &InstData, dst: Option<Place>) -> Result<u16, LaunchError> {
        let Some(guard) = data.guard else {
            return Ok(NO_GUARD);
        };
        let otherwise = match (dst, guard.otherwise) {
            (Some(dst), Some(v)) => Some((dst, self.place(v)?.reg)),
            _ => None,
        };
        let code = GuardCode {
            pred: self.place(guard.pred)?.reg,
            flip: if guard.negated { u32::MAX } else { 0 },
            otherwise,
        };
        let index = number(self.program.guards.len(), "guards")?;
        self.program.guards.push(code);
        Ok(index)
    }

    fn term(&mut self, b: Block, cfg: &Cfg, joins: &Joins) -> Result<Term, LaunchError> {
        let term = self.program.func.term(b);
        Ok(match term {
            Terminator::Jump(to) => Term::Jump(self.edge(b, to, cfg)?),
            Terminator::Br { mark, .. } | Terminator::Switch { mark, .. } => {
                let cond = match *term {
                    Terminator::Br { cond, .. } => Cond::Pred(self.place(cond)?.reg),
                    Terminator::Switch { index, .. } => Cond::Index(self.place(index)?),
                    _ => return Err(LaunchError::Incomplete),
                };
                let targets = term.targets();
                let first = self.program.edges.len() as u32;
                for to in &targets {
                    self.edge(b, to, cfg)?;
                }
                let single = targets.iter().all(|t| t.block == targets[0].block);
                self.program.branches.push(BranchCode {
                    block: b,
                    cond,
                    join: joins.of(b),
                    deferred: joins.deferred(b),
                    proven: mark.proven || single,
                    edges: first..self.program.edges.len() as u32,
                });
                Term::Branch(self.program.branches.len() as u32 - 1)
            }
            Terminator::Ret(values) => {
                let first = self.program.returned.len() as u32;
                for &v in values {
                    let place = self.place(v)?;
                    self.program.returned.push(place);
                }
                Term::Ret(first..self.program.returned.len() as u32)
            }
            Terminator::Trap(code) => Term::Trap(*code),
            Terminator::TailCall(call) => {
                Term::Call(u32::from(self.call(call.target, &call.args, &[])?))
            }
        })
    }

    fn edge(&mut self, from: Block, to: &BlockCall, cfg: &Cfg) -> Result<u32, LaunchError> {
        let func = self.program.func;
        let mut copies = Vec::with_capacity(to.args.len());
        for (&param, &arg) in func.block(to.block).params.iter().zip(&to.args) {
            copies.push((self.place(param)?, self.place(arg)?));
        }
        // Spare registers are made before the copies are ordered, which must
        // not fail; a file without block arguments needs none.
        for &(dst, _) in &copies {
            if self.spares[dst.kind.index()].is_none() {
                self.spares[dst.kind.index()] = Some(self.new_place(dst.kind)?.reg);
            }
        }
        let first = self.program.moves.len() as u32;
        let spares = self.spares;
        in_order(
            &copies,
            |kind| spares[kind.index()].unwrap_or_default(),
            &mut self.program.moves,
        );
        let back = match (cfg.rpo_index(from), cfg.rpo_index(to.block)) {
            (Some(from), Some(to)) => to <= from,
            _ => false,
        };
        self.program.edges.push(EdgeCode {
            target: to.block,
            moves: first..self.program.moves.len() as u32,
            back,
        });
        Ok(self.program.edges.len() as u32 - 1)
    }
}
