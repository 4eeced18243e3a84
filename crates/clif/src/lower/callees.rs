//! Functions that call each other: who is there to be called, and the calls.
//!
//! A direct call names its callee; it must be a function of the same file, by
//! its name in the IR, with the parameter and result types that the caller
//! declares. Intrinsics come first: see [`intrinsics`](crate::intrinsics). So do
//! routines of Cranelift's library ([`libcalls`]); where a function must stand for
//! one it is made here. A lane has no linker, so nothing else can be called.
//!
//! `try_call` is a call, and a jump to where it returns ([`handlers`](super::handlers)).

use cranelift_codegen::entity::EntityRef;
use cranelift_codegen::ir as clif;
use cranelift_codegen::ir::{ExternalName, InstructionData};
use hashbrown::HashMap;
use smallvec::SmallVec;
use warpfold_ir::{
    CallTarget, Callee, FuncRef, Imm, InstData, Opcode, SigRef, Signature, TailCall, Terminator,
    Type, Value,
};

use super::Lowering;
use super::source::{ir_name, name_of};
use crate::libcalls;
use crate::opmap::lane_type;

/// The functions of a file, by their names in the IR.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    functions: HashMap<String, clif::Signature>,
}

impl Known {
    /// Those that can be called from each other.
    pub fn new<'a>(functions: impl IntoIterator<Item = &'a clif::Function>) -> Self {
        Self {
            functions: functions
                .into_iter()
                .map(|f| (name_of(&f.name), f.signature.clone()))
                .collect(),
        }
    }

    /// The signature of the function of this name.
    pub fn get(&self, name: &str) -> Option<&clif::Signature> {
        self.functions.get(name)
    }
}

/// The IR name of what a declaration names; `None` of what no function of a
/// file can be called.
pub(super) fn callee_name(func: &clif::Function, callee: clif::FuncRef) -> Option<String> {
    match &func.dfg.ext_funcs[callee].name {
        ExternalName::TestCase(name) => Some(ir_name(&String::from_utf8_lossy(name.raw()))),
        ExternalName::User(name) => {
            let name = func.params.user_named_funcs().get(*name)?;
            Some(ir_name(&format!("u{}:{}", name.namespace, name.index)))
        }
        ExternalName::LibCall(call) => libcalls::signature(*call).map(|_| call.to_string()),
        _ => None,
    }
}

/// Whether two signatures are the same but for what only an ABI looks at.
pub(super) fn same_types(a: &clif::Signature, b: &clif::Signature) -> bool {
    let types = |params: &[clif::AbiParam]| -> Vec<clif::Type> {
        params.iter().map(|p| p.value_type).collect()
    };
    types(&a.params) == types(&b.params) && types(&a.returns) == types(&b.returns)
}

fn signature_of(signature: &clif::Signature) -> Result<Signature, String> {
    let types = |params: &[clif::AbiParam]| -> Result<Vec<Type>, String> {
        let types = params.iter().map(|p| lane_type(p.value_type));
        types.collect::<Result<_, _>>().map_err(str::to_string)
    };
    Ok(Signature {
        params: types(&signature.params)?,
        results: types(&signature.returns)?,
    })
}

/// Declarations of the function that is made, by those of CLIF.
#[derive(Clone, Debug, Default)]
pub(super) struct Declared {
    functions: HashMap<usize, FuncRef>,
    signatures: HashMap<usize, SigRef>,
}

impl Lowering<'_> {
    /// Declares a callee at its first use.
    fn callee(&mut self, callee: clif::FuncRef) -> Result<FuncRef, String> {
        if let Some(&known) = self.declared.functions.get(&callee.index()) {
            return Ok(known);
        }
        let func = self.source.func;
        let name = callee_name(func, callee).ok_or("the callee has no name of a function")?;
        let signature = &func.dfg.signatures[func.dfg.ext_funcs[callee].signature];
        let signature = signature_of(signature)?;
        let made = self.out.callees.push(Callee { name, signature });
        let routine = libcalls::declared(func, callee);
        if let Some(function) = routine.and_then(libcalls::function)
            && self.helpers.iter().all(|h| h.name != function.name)
        {
            self.helpers.push(function);
        }
        self.declared.functions.insert(callee.index(), made);
        Ok(made)
    }

    fn signature(&mut self, sig: clif::SigRef) -> Result<SigRef, String> {
        if let Some(&known) = self.declared.signatures.get(&sig.index()) {
            return Ok(known);
        }
        let signature = signature_of(&self.source.func.dfg.signatures[sig])?;
        let made = self.out.signatures.push(signature);
        self.declared.signatures.insert(sig.index(), made);
        Ok(made)
    }

    /// Whom a call calls, and with what.
    fn call_parts(&mut self, inst: clif::Inst) -> Result<TailCall, String> {
        let dfg = &self.source.func.dfg;
        let (target, args) = match (&dfg.insts[inst], dfg.inst_args(inst)) {
            (&InstructionData::Call { func_ref, .. }, args) => {
                (CallTarget::Direct(self.callee(func_ref)?), args)
            }
            (&InstructionData::TryCall { func_ref, .. }, args) => {
                (CallTarget::Direct(self.callee(func_ref)?), args)
            }
            (&InstructionData::CallIndirect { sig_ref, .. }, [address, args @ ..]) => {
                (self.indirect(sig_ref, *address)?, args)
            }
            (&InstructionData::TryCallIndirect { exception, .. }, [address, args @ ..]) => {
                let sig_ref = dfg.exception_tables[exception].signature();
                (self.indirect(sig_ref, *address)?, args)
            }
            _ => return Err("expected a call".into()),
        };
        let args = args.iter().map(|&v| self.number(v));
        Ok(TailCall {
            target,
            args: args.collect::<Result<_, _>>()?,
        })
    }

    fn indirect(&mut self, sig: clif::SigRef, address: clif::Value) -> Result<CallTarget, String> {
        Ok(CallTarget::Indirect {
            sig: self.signature(sig)?,
            address: self.number(address)?,
        })
    }

    /// A call of a function. Returns its results.
    pub(super) fn call_function(&mut self, inst: clif::Inst) -> Result<Vec<Value>, String> {
        let call = self.call_parts(inst)?;
        let uses: SmallVec<[_; 4]> = call.uses().collect();
        let (op, imm) = match call.target {
            CallTarget::Direct(callee) => (Opcode::Call, Imm::Func(callee)),
            CallTarget::Indirect { sig, .. } => (Opcode::CallIndirect, Imm::Sig(sig)),
        };
        let data = InstData::new(op, Type::I32, &uses, imm).at(self.origin);
        let made = self.out.make_inst(data);
        self.out.block_mut(self.block).insts.push(made);
        let results = self.source.func.dfg.inst_results(inst);
        for (&result, &v) in results.iter().zip(&self.out.inst(made).results) {
            self.numbers[result] = v.into();
        }
        Ok(self.out.inst(made).results.to_vec())
    }

    /// A call of a routine of Cranelift's library that is an opcode.
    pub(super) fn call_routine(
        &mut self,
        inst: clif::Inst,
        op: Opcode,
        ty: Type,
    ) -> Result<(), String> {
        let mut args = SmallVec::<[Value; 3]>::new();
        for &v in self.source.func.dfg.inst_args(inst) {
            args.push(self.number(v)?);
        }
        let v = self.value(op, ty, &args, Imm::None)?;
        self.define(inst, v)
    }

    /// A call in tail position.
    pub(super) fn tail_call(&mut self, inst: clif::Inst) -> Result<Terminator, String> {
        Ok(Terminator::TailCall(self.call_parts(inst)?))
    }

    /// The address of a function.
    pub(super) fn func_addr(
        &mut self,
        inst: clif::Inst,
        callee: clif::FuncRef,
    ) -> Result<(), String> {
        let [result] = self.results(inst)?;
        let callee = self.callee(callee)?;
        let ty = self.type_of(result)?;
        let v = self.value(Opcode::FuncAddr, ty, &[], Imm::Func(callee))?;
        self.define(inst, v)
    }
}
