//! Why something is refused, as a category that programs can tell apart.
//!
//! The message of an error is for people; whoever counts refusals, or runs
//! what can be run of a foreign file, asks for the kind.

use std::fmt;

use cranelift_codegen::ir::{self as clif, Opcode, types};

/// What an error is about.
///
/// Of several errors of one function the least kind says most: what is no
/// CLIF at all comes first, then what will never run on a lane.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum ErrorKind {
    /// The text is no CLIF, or names what is not there.
    #[default]
    Text,
    /// Cranelift's verifier rejects the function.
    Invalid,
    /// A SIMD vector, of fixed or dynamic size.
    Vector,
    /// Quadruple precision.
    Quad,
    /// A machine register or stack, or an opcode of one machine.
    Machine,
    /// A parameter or result that only a calling convention gives a meaning.
    CallConv,
    /// Exceptions.
    Unwind,
    /// The address of a symbol.
    Symbol,
    /// A call or the address of a function that is not there.
    Call,
    /// A call by a name that an intrinsic or a routine of Cranelift's library has
    /// too, or with other types than the function of that name has.
    Name,
    /// A routine of Cranelift's library that no opcode stands for.
    Libcall,
    /// Something else that is not supported.
    Other,
}

impl ErrorKind {
    /// All kinds, in order.
    pub const ALL: [Self; 12] = [
        Self::Text,
        Self::Invalid,
        Self::Vector,
        Self::Quad,
        Self::Machine,
        Self::CallConv,
        Self::Unwind,
        Self::Symbol,
        Self::Call,
        Self::Name,
        Self::Libcall,
        Self::Other,
    ];

    /// The name that programs see: lower case, no spaces.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Invalid => "invalid",
            Self::Vector => "vector",
            Self::Quad => "f128",
            Self::Machine => "machine",
            Self::CallConv => "callconv",
            Self::Unwind => "unwind",
            Self::Symbol => "symbol",
            Self::Call => "call",
            Self::Name => "name",
            Self::Libcall => "libcall",
            Self::Other => "other",
        }
    }

    /// What it is, a few words.
    pub const fn doc(self) -> &'static str {
        match self {
            Self::Text => "no CLIF",
            Self::Invalid => "rejected by Cranelift's verifier",
            Self::Vector => "SIMD vectors",
            Self::Quad => "quadruple precision",
            Self::Machine => "machine registers, stacks and opcodes",
            Self::CallConv => "parameters of a calling convention",
            Self::Unwind => "exceptions",
            Self::Symbol => "addresses of symbols",
            Self::Call => "calls of functions that are not there",
            Self::Name => "calls by a name that means something else",
            Self::Libcall => "calls of Cranelift's library that are no math",
            Self::Other => "otherwise not supported",
        }
    }

    /// Whether the input is good CLIF, and only not supported here.
    pub const fn is_unsupported(self) -> bool {
        !matches!(self, Self::Text | Self::Invalid)
    }

    /// What is wrong with a value of type `ty`, if its type is.
    pub(crate) fn of_type(ty: clif::Type) -> Option<Self> {
        match ty {
            types::F128 => Some(Self::Quad),
            _ if ty.is_vector() || ty.is_dynamic_vector() => Some(Self::Vector),
            _ => None,
        }
    }

    /// What a refusal of `inst` is about: the type of a value if that is not
    /// supported, else the opcode.
    pub(crate) fn of_inst(func: &clif::Function, inst: clif::Inst) -> Self {
        let dfg = &func.dfg;
        let values = dfg.inst_results(inst).iter().chain(dfg.inst_args(inst));
        let types = values.map(|&v| dfg.value_type(v));
        types
            .filter_map(Self::of_type)
            .min()
            .unwrap_or_else(|| Self::of_opcode(dfg.insts[inst].opcode()))
    }

    fn of_opcode(op: Opcode) -> Self {
        match op {
            Opcode::F128const => Self::Quad,
            Opcode::DynamicStackAddr => Self::Vector,
            Opcode::GetPinnedReg
            | Opcode::SetPinnedReg
            | Opcode::GetFramePointer
            | Opcode::GetStackPointer
            | Opcode::GetReturnAddress
            | Opcode::StackSwitch
            | Opcode::Blendv
            | Opcode::Debugtrap => Self::Machine,
            Opcode::GetExceptionHandlerAddress => Self::Unwind,
            Opcode::SymbolValue | Opcode::TlsValue => Self::Symbol,
            Opcode::Call
            | Opcode::CallIndirect
            | Opcode::ReturnCall
            | Opcode::ReturnCallIndirect
            | Opcode::TryCall
            | Opcode::TryCallIndirect
            | Opcode::FuncAddr => Self::Call,
            _ => Self::Other,
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReadOptions, Unit, read_each};

    #[test]
    fn all_kinds_are_listed_in_order() {
        assert!(ErrorKind::ALL.is_sorted_by(|a, b| a < b));
        let mut names = ErrorKind::ALL.map(ErrorKind::name);
        names.sort_unstable();
        assert!(names.windows(2).all(|w| w[0] != w[1]));
    }

    #[test]
    fn refusals_have_kinds() {
        let unit = |signature: &str, body: &str| {
            let text = format!("function %f{signature} {{\n{body}\n}}\n");
            read_each(&text, &ReadOptions::default()).expect("one function")
        };
        let kind = |units: &[Unit]| {
            let errors = units[0].lowered.as_ref().expect_err("refused");
            errors.iter().map(|e| e.kind).min()
        };
        for (signature, body, want) in [
            ("()", "block0:\n v0 = nonsense\n return", ErrorKind::Text),
            ("() -> i32", "block0:\n return", ErrorKind::Invalid),
            (
                "(i32x4) -> i32x4",
                "block0(v0: i32x4):\n return v0",
                ErrorKind::Vector,
            ),
            (
                "() -> i32",
                "gv0 = dyn_scale_target_const.i32x4\nblock0:\n v0 = iconst.i32 0\n return v0",
                ErrorKind::Vector,
            ),
            (
                "(i32)",
                "block0(v0: i32):\n v1 = splat.i32x4 v0\n return",
                ErrorKind::Vector,
            ),
            (
                "(f128) -> f128",
                "block0(v0: f128):\n return v0",
                ErrorKind::Quad,
            ),
            (
                "() -> i64",
                "block0:\n v0 = get_frame_pointer.i64\n return v0",
                ErrorKind::Machine,
            ),
            (
                "(i64 sarg(64))",
                "block0(v0: i64):\n return",
                ErrorKind::CallConv,
            ),
            (
                "() -> i64",
                "gv0 = symbol %x\nblock0:\n v0 = symbol_value.i64 gv0\n return v0",
                ErrorKind::Symbol,
            ),
            (
                "()",
                "fn0 = %g()\nblock0:\n call fn0()\n return",
                ErrorKind::Call,
            ),
            (
                "()",
                "sig0 = () tail\nfn0 = %g() tail\nblock0:\n try_call fn0(), sig0, block1, []\nblock1:\n return",
                ErrorKind::Call,
            ),
            (
                "() -> i64",
                "fn0 = %f() -> i32\nblock0:\n v0 = func_addr.i64 fn0\n return v0",
                ErrorKind::Name,
            ),
            (
                "(i64)",
                "fn0 = %Memset(i64, i32, i64) -> i64\nblock0(v0: i64):\n v1 = func_addr.i64 fn0\n return",
                ErrorKind::Libcall,
            ),
            (
                "() -> i64",
                "block0:\n v0 = get_exception_handler_address.i64 block0, 0\n return v0",
                ErrorKind::Unwind,
            ),
        ] {
            assert_eq!(kind(&unit(signature, body)), Some(want), "{body}");
        }
    }
    /// It is there; what is wrong is its name, and the reason must say so.
    #[test]
    fn a_name_with_two_meanings() {
        for name in ["tanhf", "CeilF32"] {
            let text = format!(
                "function %main(f32) -> f32 {{\n    fn0 = %{name}(f32) -> f32\nblock0(v0: f32):\n    v1 = call fn0(v0)\n    return v1\n}}\n\
                 function %{name}(f32) -> f32 {{\nblock0(v0: f32):\n    return v0\n}}\n"
            );
            let units = read_each(&text, &ReadOptions::default()).expect("two functions");
            let errors = units[0].lowered.as_ref().expect_err("two meanings");
            assert_eq!(errors[0].kind, ErrorKind::Name);
            assert!(errors[0].message.contains("has that name too"), "{name}");
            assert!(units[1].lowered.is_ok(), "it can be run by itself");
        }
    }
}
