//! What is refused: opcodes, types, memory flags, calls. Collected over the
//! whole function before anything is lowered, so that all of it is reported.

use cranelift_codegen::ir as clif;
use cranelift_codegen::ir::entities::AnyEntity;
use cranelift_codegen::ir::{ArgumentPurpose, InstructionData, Opcode};
use hashbrown::HashSet;

use super::callees::{callee_name, same_types};
use super::source::refusal;
use super::{ReadOptions, Source};
use crate::error::ClifError;
use crate::intrinsics::{Intrinsic, near};
use crate::kind::ErrorKind;
use crate::libcalls::{self, Routine, routine};
use crate::opmap::lane_type;

/// The most bytes of stack slots: 16 MiB, for which the executor has room.
/// (A lane of a GPU has 512 KiB: CUDA C++ Programming Guide, "Technical
/// Specifications per Compute Capability". Cranelift's own tests take more.)
pub const MAX_LOCAL: u64 = 1 << 24;

/// Everything in the reachable `blocks` that cannot be lowered.
pub fn check(
    source: &Source<'_>,
    blocks: &[clif::Block],
    pointer: clif::Type,
    opts: &ReadOptions,
) -> Vec<ClifError> {
    let mut check = Check {
        source,
        pointer,
        opts,
        reported: HashSet::new(),
        errors: Vec::new(),
    };
    check.signature();
    check.local_memory();
    for &b in blocks {
        for &param in source.func.dfg.block_params(b) {
            let ty = source.func.dfg.value_type(param);
            if let Err(why) = lane_type(ty) {
                let message = format!("the parameter {param} of {b} has type {ty}: {why}");
                check.errors.push(ClifError {
                    kind: ErrorKind::of_type(ty).unwrap_or(ErrorKind::Other),
                    ..source.error(b.into(), None, message)
                });
            }
        }
        for inst in source.func.layout.block_insts(b) {
            if let Err(refusal) = check.inst(inst) {
                let error = source.inst_error(inst, refusal.message);
                check.errors.push(ClifError {
                    kind: refusal.kind.unwrap_or(error.kind),
                    ..error
                });
            }
        }
    }
    check.errors
}

/// The declarations of intrinsics and of functions of the file whose types are
/// not those of what they name. Takes no verified function: the wrong types
/// make the verifier, or the reader, complain of the calls and their results.
pub fn declarations(source: &Source<'_>, pointer: clif::Type) -> Vec<ClifError> {
    let callees = source.func.dfg.ext_funcs.keys();
    let wrong = callees.filter_map(|callee| {
        let message = mismatch(source, pointer, callee)?;
        Some(source.error(callee.into(), None, message))
    });
    wrong.collect()
}

/// What is wrong with the types of a declaration, if what it names is known.
fn mismatch(source: &Source<'_>, pointer: clif::Type, callee: clif::FuncRef) -> Option<String> {
    let dfg = &source.func.dfg;
    let name = callee_name(source.func, callee)?;
    let signature = dfg.signatures.get(dfg.ext_funcs[callee].signature)?;
    let shown = shown_name(source.func, callee);
    let intrinsic = shown.strip_prefix('%').and_then(Intrinsic::find);
    let routine = libcalls::declared(source.func, callee).and_then(libcalls::signature);
    let expected = match (intrinsic, source.known.get(&name)) {
        _ if let Some(routine) = &routine => match same_types(signature, routine) {
            true => return None,
            false => types_of(routine),
        },
        (Some(intrinsic), None) if !intrinsic.accepts(signature, pointer) => {
            intrinsic.signature(pointer)
        }
        (None, Some(own)) if !same_types(signature, own) => types_of(own),
        _ => return None,
    };
    Some(format!(
        "{shown} is declared as {}; its signature is {expected}",
        types_of(signature)
    ))
}

/// A callee's name as it is written.
fn shown_name(func: &clif::Function, callee: clif::FuncRef) -> String {
    match &func.dfg.ext_funcs[callee].name {
        clif::ExternalName::TestCase(name) => format!("%{}", String::from_utf8_lossy(name.raw())),
        other => other.display(Some(&func.params)).to_string(),
    }
}

/// Why an instruction is refused.
struct Refusal {
    message: String,
    /// What it is about, if not what refusals of its opcode are about.
    kind: Option<ErrorKind>,
}

impl Refusal {
    fn new(kind: ErrorKind, message: String) -> Self {
        Self {
            message,
            kind: Some(kind),
        }
    }
}

impl From<String> for Refusal {
    fn from(message: String) -> Self {
        Self {
            message,
            kind: None,
        }
    }
}

struct Check<'a> {
    source: &'a Source<'a>,
    pointer: clif::Type,
    opts: &'a ReadOptions,
    /// Imported functions whose declaration has been reported.
    reported: HashSet<clif::FuncRef>,
    errors: Vec<ClifError>,
}

impl Check<'_> {
    fn at_function(&mut self, kind: ErrorKind, message: String) {
        self.errors.push(ClifError {
            kind,
            ..self.source.error(AnyEntity::Function, None, message)
        });
    }

    fn signature(&mut self) {
        let signature = &self.source.func.signature;
        let params = signature.params.iter().map(|p| ("parameter", p));
        let returns = signature.returns.iter().map(|p| ("result", p));
        for (what, param) in params.chain(returns) {
            if let Err(why) = lane_type(param.value_type) {
                self.at_function(
                    ErrorKind::of_type(param.value_type).unwrap_or(ErrorKind::Other),
                    format!("a {what} has type {}: {why}", param.value_type),
                );
            }
            if let Err(why) = plain(param) {
                self.at_function(ErrorKind::CallConv, format!("a {what} is marked {why}"));
            }
        }
    }

    fn local_memory(&mut self) {
        let slots = self.source.func.sized_stack_slots.values();
        let total: u64 = slots.map(|s| u64::from(s.size)).sum();
        if total > MAX_LOCAL {
            self.at_function(
                ErrorKind::Other,
                format!("the stack slots take {total} bytes; a lane has at most {MAX_LOCAL}"),
            );
        }
    }

    fn inst(&mut self, inst: clif::Inst) -> Result<(), Refusal> {
        let dfg = &self.source.func.dfg;
        let op = dfg.insts[inst].opcode();
        refusal(op)?;
        for values in [dfg.inst_results(inst), dfg.inst_args(inst)] {
            for &v in values {
                let ty = dfg.value_type(v);
                if let Err(why) = lane_type(ty) {
                    return Err(format!("`{op}` of {ty} is not supported: {why}").into());
                }
            }
        }
        let addressed = match dfg.insts[inst] {
            InstructionData::Load { arg, .. } => self.address(arg),
            InstructionData::LoadNoOffset { arg, .. } if op == Opcode::AtomicLoad => {
                self.address(arg)
            }
            InstructionData::Store { args, .. } | InstructionData::StoreNoOffset { args, .. } => {
                self.address(args[1])
            }
            InstructionData::AtomicRmw { args, .. } => self.address(args[0]),
            InstructionData::AtomicCas { args, .. } => self.address(args[0]),
            InstructionData::StackAddr { stack_slot, .. } => {
                let data = &self.source.func.sized_stack_slots[stack_slot];
                if data.size == 0 {
                    return Err(format!("{stack_slot} is empty and has no address").into());
                }
                if 1u32.checked_shl(data.align_shift.into()).is_none() {
                    return Err(format!("the alignment of {stack_slot} is out of range").into());
                }
                let ty = dfg.value_type(dfg.first_result(inst));
                self.pointer_type("the result", ty)
            }
            InstructionData::Call { func_ref, .. } | InstructionData::TryCall { func_ref, .. } => {
                return self.call(op, func_ref);
            }
            InstructionData::CallIndirect { sig_ref, .. } => self.indirect(inst, sig_ref),
            InstructionData::TryCallIndirect { exception, .. } => {
                self.indirect(inst, dfg.exception_tables[exception].signature())
            }
            InstructionData::FuncAddr { func_ref, .. } => {
                let ty = dfg.value_type(dfg.first_result(inst));
                self.pointer_type("the result", ty)?;
                return self.call(op, func_ref);
            }
            _ => Ok(()),
        };
        Ok(addressed?)
    }

    /// A call through an address.
    fn indirect(&self, inst: clif::Inst, sig: clif::SigRef) -> Result<(), String> {
        let dfg = &self.source.func.dfg;
        if let Some(&address) = dfg.inst_args(inst).first() {
            self.pointer_type("the callee", dfg.value_type(address))?;
        }
        self.passed(dfg.insts[inst].opcode(), sig)
    }

    /// What a call passes and gets back.
    fn passed(&self, op: Opcode, sig: clif::SigRef) -> Result<(), String> {
        let signature = &self.source.func.dfg.signatures[sig];
        for param in signature.params.iter().chain(&signature.returns) {
            let ty = param.value_type;
            lane_type(ty).map_err(|why| format!("`{op}` of {ty} is not supported: {why}"))?;
            plain(param).map_err(|why| format!("`{op}` passes a value marked {why}"))?;
        }
        Ok(())
    }

    fn address(&self, address: clif::Value) -> Result<(), String> {
        self.pointer_type("the address", self.source.func.dfg.value_type(address))
    }

    /// Addresses are as wide as pointers; where these have 32 bits an address
    /// of 64 will do too, all memory being below 4 GiB there.
    fn pointer_type(&self, what: &str, ty: clif::Type) -> Result<(), String> {
        if ty == self.pointer || ty == clif::types::I64 {
            return Ok(());
        }
        Err(format!(
            "{what} is {ty}, but pointers are {} on {}",
            self.pointer, self.opts.triple
        ))
    }

    /// The types that a callee is declared with, said once.
    fn declaration(&mut self, callee: clif::FuncRef) -> Result<(), Refusal> {
        match mismatch(self.source, self.pointer, callee) {
            Some(message) if self.reported.insert(callee) => {
                Err(Refusal::new(ErrorKind::Name, message))
            }
            _ => Ok(()),
        }
    }

    /// A callee of `op`, which calls it or takes its address.
    fn call(&mut self, op: Opcode, callee: clif::FuncRef) -> Result<(), Refusal> {
        let func = self.source.func;
        let shown = shown_name(func, callee);
        let own = callee_name(func, callee).and_then(|name| self.source.known.get(&name));
        if let Some(call) = libcalls::declared(func, callee) {
            return match (routine(call), own) {
                (Routine::Refused(why), _) => Err(Refusal::new(
                    ErrorKind::Libcall,
                    format!("`{op}` of the libcall {shown} is not supported: {why}"),
                )),
                (_, Some(_)) => Err(two_meanings(op, &shown, "a libcall")),
                _ => self.declaration(callee),
            };
        }
        let intrinsic = shown.strip_prefix('%').and_then(Intrinsic::find);
        match (intrinsic, own) {
            (Some(_), Some(_)) => Err(two_meanings(op, &shown, "an intrinsic")),
            (Some(_), None) if op != Opcode::Call => {
                Err(format!("`{op}` of {shown}: an intrinsic is only called").into())
            }
            (Some(_), None) | (None, Some(_)) => {
                self.declaration(callee)?;
                Ok(self.passed(op, func.dfg.ext_funcs[callee].signature)?)
            }
            (None, None) => {
                let names: Vec<_> = match shown.strip_prefix('%') {
                    Some(name) if op == Opcode::Call => {
                        near(name).iter().map(|n| format!("%{n}")).collect()
                    }
                    _ => Vec::new(),
                };
                let hint = match names.as_slice() {
                    [] => "the file has no such function".to_string(),
                    [one] => {
                        format!("the file has no such function; did you mean the intrinsic {one}?")
                    }
                    more => format!(
                        "the file has no such function; near are the intrinsics {}",
                        more.join(", ")
                    ),
                };
                Err(format!("`{op}` of {shown}: {hint}").into())
            }
        }
    }
}

/// A function of the file is called by a name that `what` has too.
fn two_meanings(op: Opcode, shown: &str, what: &str) -> Refusal {
    Refusal::new(
        ErrorKind::Name,
        format!("`{op}` of {shown}: {what} has that name too; call the function otherwise"),
    )
}

/// Whether a parameter or result is passed like any other value. A `vmctx` or
/// `sret` is a pointer that the caller passes; to copy a struct is an ABI's
/// business.
fn plain(param: &clif::AbiParam) -> Result<(), String> {
    match param.purpose {
        ArgumentPurpose::Normal | ArgumentPurpose::VMContext | ArgumentPurpose::StructReturn => {
            Ok(())
        }
        ArgumentPurpose::StructArgument(_) => Err(format!(
            "`{}`: a call copies no structs; pass the address",
            param.purpose
        )),
    }
}

/// The bytes a memory access moves.
pub fn access_bytes(func: &clif::Function, inst: clif::Inst) -> u32 {
    let dfg = &func.dfg;
    match dfg.insts[inst].opcode() {
        Opcode::Uload8 | Opcode::Sload8 | Opcode::Istore8 => 1,
        Opcode::Uload16 | Opcode::Sload16 | Opcode::Istore16 => 2,
        Opcode::Uload32 | Opcode::Sload32 | Opcode::Istore32 => 4,
        _ => {
            let value = dfg
                .inst_results(inst)
                .first()
                .or(dfg.inst_args(inst).first());
            value.map_or(0, |&v| dfg.value_type(v).bytes())
        }
    }
}

/// A signature's types, without what only an ABI looks at.
fn types_of(signature: &clif::Signature) -> String {
    let list = |params: &[clif::AbiParam]| {
        let types: Vec<_> = params.iter().map(|p| p.value_type.to_string()).collect();
        types.join(", ")
    };
    match signature.returns.as_slice() {
        [] => format!("({})", list(&signature.params)),
        returns => format!("({}) -> {}", list(&signature.params), list(returns)),
    }
}
