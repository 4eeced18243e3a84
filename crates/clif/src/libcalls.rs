//! Calls of Cranelift's runtime library, by name: `%CeilF32` and its like.
//!
//! A `LibCall` stands for a routine that Cranelift's code calls where a machine
//! lacks an instruction, and that the embedder must supply. Those that compute
//! what an opcode of the IR computes are that opcode where they are called. Who
//! takes the address of one, or calls it in another way than by `call`, needs
//! a function: one is made, of that name, with the opcode as its body, and comes
//! along with the caller ([`Lowered::helpers`](crate::Lowered::helpers)). The others
//! work on what a lane does not have, and are refused.

use std::fmt::Write;

use cranelift_codegen::ir::{AbiParam, types};
use cranelift_codegen::ir::{ExternalName, FuncRef, Function as ClifFunction, LibCall, Signature};
use cranelift_codegen::isa::CallConv;
use warpfold_ir::{Function, FunctionBuilder, Opcode, Type};

/// What becomes of a routine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Routine {
    /// This opcode of this type.
    Math(Opcode, Type),
    /// Not supported; the text says why.
    Refused(&'static str),
}

const MEMORY: &str = "there is no library that works on memory; write the loop";
const SYMBOL: &str = "there is no linker and no thread-local storage";

/// What becomes of `call`. The match has no wildcard, so a routine that a newer
/// Cranelift adds is a compile error here.
pub fn routine(call: LibCall) -> Routine {
    use Routine::{Math, Refused};
    match call {
        LibCall::CeilF32 => Math(Opcode::Ceil, Type::F32),
        LibCall::CeilF64 => Math(Opcode::Ceil, Type::F64),
        LibCall::FloorF32 => Math(Opcode::Floor, Type::F32),
        LibCall::FloorF64 => Math(Opcode::Floor, Type::F64),
        LibCall::TruncF32 => Math(Opcode::Trunc, Type::F32),
        LibCall::TruncF64 => Math(Opcode::Trunc, Type::F64),
        LibCall::NearestF32 => Math(Opcode::Nearest, Type::F32),
        LibCall::NearestF64 => Math(Opcode::Nearest, Type::F64),
        LibCall::FmaF32 => Math(Opcode::Fma, Type::F32),
        LibCall::FmaF64 => Math(Opcode::Fma, Type::F64),
        LibCall::Memcpy | LibCall::Memset | LibCall::Memmove | LibCall::Memcmp => Refused(MEMORY),
        LibCall::Probestack => Refused("the executor checks a lane's stack by itself"),
        LibCall::ElfTlsGetAddr | LibCall::ElfTlsGetOffset => Refused(SYMBOL),
        LibCall::X86Pshufb => Refused("a lane holds scalars only; the vector is the warp"),
    }
}

/// The routine that a declaration names, if it names one.
pub(crate) fn declared(func: &ClifFunction, callee: FuncRef) -> Option<LibCall> {
    match func.dfg.ext_funcs[callee].name {
        ExternalName::LibCall(call) => Some(call),
        _ => None,
    }
}

/// The signature of a routine that is not refused.
pub(crate) fn signature(call: LibCall) -> Option<Signature> {
    let Routine::Math(op, ty) = routine(call) else {
        return None;
    };
    let ty = match ty {
        Type::F32 => types::F32,
        _ => types::F64,
    };
    let mut signature = Signature::new(CallConv::Fast);
    let params = op.shape().operands().iter().map(|_| AbiParam::new(ty));
    signature.params.extend(params);
    signature.returns.push(AbiParam::new(ty));
    Some(signature)
}

/// The function that stands for a routine where one is needed.
pub(crate) fn function(call: LibCall) -> Option<Function> {
    let Routine::Math(op, ty) = routine(call) else {
        return None;
    };
    let mut b = FunctionBuilder::new(call.to_string());
    let operands = op.shape().operands().iter();
    let args: Vec<_> = operands.map(|_| b.param(ty, false)).collect();
    b.returns(&[ty]);
    let result = b.ins(op, ty, &args);
    b.ret(&[result]);
    Some(b.finish())
}

/// The table of the book: every routine and what becomes of it.
pub(crate) fn table() -> String {
    let mut table = String::from("| libcall | becomes |\n|---|---|\n");
    for &call in LibCall::all_libcalls() {
        // Writing to a String cannot fail.
        let _ = match routine(call) {
            Routine::Math(op, ty) => writeln!(table, "| `%{call}` | `{op}.{ty}` |"),
            Routine::Refused(why) => writeln!(table, "| `%{call}` | *refused*: {why} |"),
        };
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cranelift says itself what each routine takes and returns, and its names
    /// say what it computes.
    #[test]
    fn routines_are_those_of_cranelift() {
        let mut math = 0;
        for &call in LibCall::all_libcalls() {
            let Routine::Math(op, ty) = routine(call) else {
                assert!(signature(call).is_none() && function(call).is_none());
                continue;
            };
            math += 1;
            assert_eq!(
                call.to_string().to_lowercase(),
                format!("{op}{ty}"),
                "the opcode that it is named after"
            );
            let theirs = call.signature(CallConv::Fast, types::I64);
            assert_eq!(signature(call), Some(theirs), "{call}");
            let made = function(call).expect("a function");
            warpfold_ir::verify(&made).expect("valid");
            assert_eq!(made.name, call.to_string());
        }
        assert_eq!(math, 10);
    }
}
