//! Rules on the layout, block headers, terminators and slots.

use std::fmt::Display;

use cranelift_entity::SecondaryMap;

use super::{LAST, Place, Site, Verifier, position};
use crate::dominators::{Dominators, Graph};
use crate::entities::{Block, Value};
use crate::function::{BlockCall, CallTarget, Function, TailCall, Terminator, ValueDef};
use crate::opcode::Operand;
use crate::types::Type;

/// The most local memory a lane may declare, alignment included.
const MAX_LOCAL: u64 = i32::MAX as u64;

impl<'a> Verifier<'a> {
    /// Finds out where everything stands; reports nothing yet.
    pub(super) fn new(func: &'a Function) -> Self {
        let mut verifier = Self {
            func,
            errors: Vec::new(),
            layout: SecondaryMap::new(),
            placed: SecondaryMap::new(),
            dominators: None,
        };
        verifier.layout.resize(func.num_blocks());
        verifier.placed.resize(func.num_insts());
        for (i, &b) in func.layout.iter().enumerate() {
            if !func.has_block(b) || verifier.is_laid_out(b) {
                continue;
            }
            verifier.layout[b] = Some(i);
            for (k, &inst) in func.block(b).insts.iter().enumerate() {
                if func.has_inst(inst) && verifier.placed[inst].is_none() {
                    verifier.placed[inst] = Some(Site {
                        block: b,
                        position: position(k),
                    });
                }
            }
        }
        if let Some(entry) = func.entry().filter(|&b| func.has_block(b)) {
            let edges: Vec<_> = func
                .layout
                .iter()
                .filter(|&&b| func.has_block(b))
                .flat_map(|&b| {
                    let targets = func.block(b).term.iter().flat_map(Terminator::targets);
                    targets.map(move |t| (b, t.block))
                })
                .filter(|&(_, to)| func.has_block(to))
                .map(|(from, to)| (from.as_u32(), to.as_u32()))
                .collect();
            let graph = Graph::new(func.num_blocks(), &edges);
            verifier.dominators = Some(Dominators::new(&graph, entry.as_u32()));
        }
        verifier
    }

    /// Checks everything.
    pub(super) fn function(&mut self) {
        let func = self.func;
        if func.layout.is_empty() {
            self.report(Place::Function, "there is no entry block");
        }
        self.slots();
        for (i, &b) in func.layout.iter().enumerate() {
            if !func.has_block(b) {
                self.report(Place::Block(b), format!("{b} does not exist"));
            } else if self.layout[b] != Some(i) {
                self.report(Place::Block(b), format!("{b} is laid out twice"));
            } else {
                self.block(b);
            }
        }
    }

    fn slots(&mut self) {
        let mut total = 0u64;
        for (slot, data) in self.func.slots.iter() {
            if !data.align.is_power_of_two() {
                let message = format!("{slot}: the alignment {} is no power of two", data.align);
                self.report(Place::Function, message);
                continue;
            }
            let aligned = total.checked_next_multiple_of(u64::from(data.align));
            total = aligned
                .and_then(|t| t.checked_add(u64::from(data.size)))
                .unwrap_or(u64::MAX);
        }
        if total > MAX_LOCAL {
            let message = format!("the stack slots take {total} bytes, more than {MAX_LOCAL}");
            self.report(Place::Function, message);
        }
    }

    fn block(&mut self, b: Block) {
        let func = self.func;
        let data = func.block(b);
        for (i, &v) in data.params.iter().enumerate() {
            if !func.has_value(v) {
                self.report(Place::Block(b), format!("parameter {v} does not exist"));
            } else if func.def(v) != ValueDef::Param(b, i as u32) {
                let message = format!("parameter {v} is defined elsewhere");
                self.report(Place::Block(b), message);
            }
        }
        if func.entry() == Some(b) {
            self.entry(b);
        }
        if data.term.is_none() {
            self.report(Place::Block(b), format!("{b} has no terminator"));
        }
        for (k, &inst) in data.insts.iter().enumerate() {
            let at = Site {
                block: b,
                position: position(k),
            };
            if !func.has_inst(inst) {
                self.report(Place::Inst(inst), format!("{inst} does not exist"));
            } else if self.placed[inst] != Some(at) {
                self.report(
                    Place::Inst(inst),
                    format!("{inst} stands in more than one place"),
                );
            } else {
                self.inst(inst, at);
            }
        }
        if let Some(term) = &data.term {
            self.terminator(b, term);
        }
    }

    /// The entry's parameters repeat the signature.
    fn entry(&mut self, b: Block) {
        let func = self.func;
        let params = &func.block(b).params;
        if params.len() != func.params.len() {
            let message = format!(
                "the entry block takes {}, the function {}",
                count(params.len(), "parameter"),
                func.params.len()
            );
            self.report(Place::Block(b), message);
        }
        for (&v, param) in params.iter().zip(&func.params) {
            if func.has_value(v) && func.ty(v) != param.ty {
                let message = format!(
                    "parameter {v} is {}, the function's is {}",
                    func.ty(v),
                    param.ty
                );
                self.report(Place::Block(b), message);
            }
        }
    }

    fn terminator(&mut self, b: Block, term: &Terminator) {
        let func = self.func;
        let place = Place::Term(b);
        let at = Site {
            block: b,
            position: LAST,
        };
        match *term {
            Terminator::Br { cond, .. } => {
                if self.check_use(place, at, &"condition", cond) && func.ty(cond) != Type::Pred {
                    let message = format!("condition: expected pred, {cond} is {}", func.ty(cond));
                    self.report(place, message);
                }
            }
            Terminator::Switch { index, .. } => {
                if self.check_use(place, at, &"index", index) {
                    let ty = func.ty(index);
                    if !ty.is_int() || ty.bits() > 64 {
                        let message = format!(
                            "index: expected an integer of at most 64 bits, {index} is {ty}"
                        );
                        self.report(place, message);
                    }
                }
            }
            Terminator::Ret(ref values) => {
                self.count_values(place, values.len(), func.results.len(), "the function");
                let ty = |i: usize| func.results.get(i).copied();
                self.typed_uses(place, at, &"returned value", values, ty);
            }
            Terminator::TailCall(ref call) => self.tail_call(place, at, call),
            Terminator::Jump(_) | Terminator::Trap(_) => {}
        }
        for target in term.targets() {
            self.target(place, at, target);
        }
    }

    fn tail_call(&mut self, place: Place, at: Site, call: &TailCall) {
        let func = self.func;
        match call.target {
            CallTarget::Direct(callee) => {
                if !func.callees.is_valid(callee) {
                    self.report(place, format!("{callee} is not declared"));
                }
            }
            CallTarget::Indirect { sig, address } => {
                if !func.signatures.is_valid(sig) {
                    self.report(place, format!("{sig} is not declared"));
                }
                if self.check_use(place, at, &"address", address)
                    && !Operand::Addr.accepts(Type::I64, func.ty(address))
                {
                    let message = format!(
                        "address: expected {}, {address} is {}",
                        Operand::Addr.expectation(Type::I64),
                        func.ty(address)
                    );
                    self.report(place, message);
                }
            }
        }
        self.arguments(place, at, call.target, &call.args);
        if let Some(signature) = func.signature_of(call.target)
            && signature.results != func.results
        {
            let own = func.signature();
            let message = format!(
                "the callee's results are those of {signature}, the function's those of {own}"
            );
            self.report(place, message);
        }
    }

    /// The arguments of a call, by the signature of its callee.
    pub(super) fn arguments(&mut self, place: Place, at: Site, target: CallTarget, args: &[Value]) {
        let signature = self.func.signature_of(target);
        if let Some(signature) = signature {
            self.count_values(place, args.len(), signature.params.len(), "the callee");
        }
        let ty = |i: usize| signature.and_then(|s| s.params.get(i).copied());
        self.typed_uses(place, at, &"argument", args, ty);
    }

    fn target(&mut self, place: Place, at: Site, target: &BlockCall) {
        let func = self.func;
        let b = target.block;
        if !func.has_block(b) {
            self.report(place, format!("target {b} does not exist"));
            // The arguments are still uses.
            for &v in &target.args {
                self.check_use(place, at, &format_args!("argument of {b}"), v);
            }
            return;
        }
        if !self.is_laid_out(b) {
            self.report(place, format!("target {b} is not laid out"));
        }
        if func.entry() == Some(b) {
            self.report(
                place,
                format!("{b} is the entry block, which nothing may jump to"),
            );
        }
        let params = &func.block(b).params;
        // A parameter that does not exist is reported at its block.
        let ty = |i: usize| {
            params
                .get(i)
                .filter(|&&v| func.has_value(v))
                .map(|&v| func.ty(v))
        };
        self.count_values(place, target.args.len(), params.len(), b);
        self.typed_uses(
            place,
            at,
            &format_args!("argument of {b}"),
            &target.args,
            ty,
        );
    }

    fn count_values(&mut self, place: Place, given: usize, expected: usize, by: impl Display) {
        if given != expected {
            let message = format!("{} given, {by} expects {expected}", count(given, "value"));
            self.report(place, message);
        }
    }

    /// Uses of values, the types of which go by position.
    fn typed_uses(
        &mut self,
        place: Place,
        at: Site,
        what: &dyn Display,
        values: &[Value],
        ty: impl Fn(usize) -> Option<Type>,
    ) {
        let func = self.func;
        for (i, &v) in values.iter().enumerate() {
            let exists = self.is_reached(at, v) || self.check_use(place, at, what, v);
            match ty(i) {
                Some(ty) if exists && func.ty(v) != ty => {
                    let message = format!("{what}: expected {ty}, {v} is {}", func.ty(v));
                    self.report(place, message);
                }
                _ => {}
            }
        }
    }
}

/// `1 value`, `2 values`
pub(super) fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
