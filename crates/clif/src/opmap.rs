//! The one table from CLIF's opcodes and types to the IR's.
//!
//! [`rule`] says for every CLIF opcode whether it is one IR instruction of the
//! same operands, needs an arm of its own in [`lower`](crate::lower), or is
//! refused and why. The match has no wildcard, so an opcode that a newer
//! Cranelift adds is a compile error here and nowhere else.

use cranelift_codegen::ir::{self as clif, Opcode as Clif, condcodes, types};
use warpfold_ir::{FloatCC, IntCC, MemFlags, Opcode, TrapCode, Type};

/// What becomes of a CLIF opcode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// One instruction with the same operands in the same order, its type that
    /// of the result (of a store: of the stored value).
    Direct(Opcode),
    /// An arm of its own in the lowering; the text says what it yields.
    Arm(&'static str),
    /// Not supported; the text says why.
    Refused(&'static str),
}

const VECTOR: &str = "a lane holds scalars only; the vector is the warp";
const MACHINE: &str = "a lane has no machine registers or stack frame to look at";
const SYMBOL: &str =
    "there is no linker that would give a symbol an address; pass the address as a parameter";
const UNWIND: &str = "there is no unwinding in a warp";
const F128: &str = "quadruple precision is not supported";

/// What becomes of `op`, as far as the types of its operands allow.
pub fn rule(op: Clif) -> Rule {
    use Rule::{Arm, Direct, Refused};
    match op {
        Clif::Jump => Arm("`jump`"),
        Clif::Brif => Arm("`br`; an integer condition is first compared with 0"),
        Clif::BrTable => Arm("`switch`"),
        Clif::Return => Arm("`ret`"),
        Clif::Trap => Arm("`trap`, ending the block"),
        Clif::Trapz => Arm("`trap if !p`"),
        Clif::Trapnz => Arm("`trap if p`"),
        Clif::Call => {
            Arm("the instruction of the called [intrinsic](intrinsics.md) or libcall, else `call`")
        }
        Clif::CallIndirect => Arm("`call_indirect`"),
        Clif::ReturnCall => Arm("`return_call`, ending the block"),
        Clif::ReturnCallIndirect => Arm("`return_call_indirect`, ending the block"),
        Clif::TryCall => Arm("`call`, and `jump` to where it returns"),
        Clif::TryCallIndirect => Arm("`call_indirect`, and `jump` to where it returns"),
        Clif::FuncAddr => Arm("`func_addr`"),
        Clif::Nop => Arm("nothing"),
        Clif::SequencePoint => Arm("nothing: it carries debug tags only"),

        Clif::Iconst | Clif::F16const | Clif::F32const | Clif::F64const => Arm("`const`"),
        Clif::Icmp => Arm("`icmp`, a `pred`"),
        Clif::Fcmp => Arm("`fcmp`, a `pred`"),
        Clif::Select => Arm("`select`"),
        Clif::SelectSpectreGuard => Arm("`select`; it never becomes a branch"),
        Clif::Bitselect => Arm("`band`, `band_not`, `bor`, with `bitcast`s around for floats"),
        Clif::Bmask => Arm("`select` between -1 and 0"),

        Clif::Load => Direct(Opcode::Load),
        Clif::Uload8 => Direct(Opcode::Uload8),
        Clif::Sload8 => Direct(Opcode::Sload8),
        Clif::Uload16 => Direct(Opcode::Uload16),
        Clif::Sload16 => Direct(Opcode::Sload16),
        Clif::Uload32 => Direct(Opcode::Uload32),
        Clif::Sload32 => Direct(Opcode::Sload32),
        Clif::Store => Direct(Opcode::Store),
        Clif::Istore8 => Direct(Opcode::Istore8),
        Clif::Istore16 => Direct(Opcode::Istore16),
        Clif::Istore32 => Direct(Opcode::Istore32),
        Clif::StackAddr => Direct(Opcode::StackAddr),
        Clif::AtomicLoad => Direct(Opcode::AtomicLoad),
        Clif::AtomicStore => Direct(Opcode::AtomicStore),
        Clif::AtomicRmw => Arm("`atomic_add` and so on, by its operation; the address comes last"),
        Clif::AtomicCas => Arm("`atomic_cas`; the address comes last"),
        Clif::Fence => Arm("`fence`"),

        Clif::Iadd => Direct(Opcode::Iadd),
        Clif::Isub => Direct(Opcode::Isub),
        Clif::Ineg => Direct(Opcode::Ineg),
        Clif::Iabs => Direct(Opcode::Iabs),
        Clif::Imul => Direct(Opcode::Imul),
        Clif::Umulhi => Direct(Opcode::Umulhi),
        Clif::Smulhi => Direct(Opcode::Smulhi),
        Clif::Udiv => Direct(Opcode::Udiv),
        Clif::Sdiv => Direct(Opcode::Sdiv),
        Clif::Urem => Direct(Opcode::Urem),
        Clif::Srem => Direct(Opcode::Srem),
        Clif::Smin => Direct(Opcode::Smin),
        Clif::Umin => Direct(Opcode::Umin),
        Clif::Smax => Direct(Opcode::Smax),
        Clif::Umax => Direct(Opcode::Umax),
        Clif::Band => Direct(Opcode::Band),
        Clif::Bor => Direct(Opcode::Bor),
        Clif::Bxor => Direct(Opcode::Bxor),
        Clif::Bnot => Direct(Opcode::Bnot),
        Clif::Rotl => Direct(Opcode::Rotl),
        Clif::Rotr => Direct(Opcode::Rotr),
        Clif::Ishl => Direct(Opcode::Ishl),
        Clif::Ushr => Direct(Opcode::Ushr),
        Clif::Sshr => Direct(Opcode::Sshr),
        Clif::Bitrev => Direct(Opcode::Bitrev),
        Clif::Clz => Direct(Opcode::Clz),
        Clif::Cls => Direct(Opcode::Cls),
        Clif::Ctz => Direct(Opcode::Ctz),
        Clif::Bswap => Direct(Opcode::Bswap),
        Clif::Popcnt => Direct(Opcode::Popcnt),
        Clif::UaddOverflow | Clif::UaddOverflowCin => Arm("`iadd`, and `icmp ult` for the carry"),
        Clif::UsubOverflow | Clif::UsubOverflowBin => Arm("`isub`, and `icmp ult` for the borrow"),
        Clif::SaddOverflow | Clif::SsubOverflow | Clif::SaddOverflowCin | Clif::SsubOverflowBin => {
            Arm("`iadd`/`isub`, and the signs compared for the overflow")
        }
        Clif::UmulOverflow | Clif::SmulOverflow => {
            Arm("`imul`, and `umulhi`/`smulhi` compared for the overflow")
        }
        Clif::UaddOverflowTrap => Arm("`iadd`, `icmp ult`, `trap if p`"),
        Clif::Isplit => Arm("`ireduce`, `ushr`, `ireduce`"),
        Clif::Iconcat => Arm("`uextend`s, `ishl`, `bor`"),

        Clif::Uextend => Direct(Opcode::Uextend),
        Clif::Sextend => Direct(Opcode::Sextend),
        Clif::Ireduce => Direct(Opcode::Ireduce),
        Clif::Bitcast => Direct(Opcode::Bitcast),
        Clif::Fpromote => Direct(Opcode::Fpromote),
        Clif::Fdemote => Direct(Opcode::Fdemote),
        Clif::FcvtToUint => Direct(Opcode::FcvtToUint),
        Clif::FcvtToSint => Direct(Opcode::FcvtToSint),
        Clif::FcvtToUintSat => Direct(Opcode::FcvtToUintSat),
        Clif::FcvtToSintSat => Direct(Opcode::FcvtToSintSat),
        Clif::FcvtFromUint => Direct(Opcode::FcvtFromUint),
        Clif::FcvtFromSint => Direct(Opcode::FcvtFromSint),

        Clif::Fadd => Direct(Opcode::Fadd),
        Clif::Fsub => Direct(Opcode::Fsub),
        Clif::Fmul => Direct(Opcode::Fmul),
        Clif::Fdiv => Direct(Opcode::Fdiv),
        Clif::Sqrt => Direct(Opcode::Sqrt),
        Clif::Fma => Direct(Opcode::Fma),
        Clif::Fneg => Direct(Opcode::Fneg),
        Clif::Fabs => Direct(Opcode::Fabs),
        Clif::Fcopysign => Direct(Opcode::Fcopysign),
        Clif::Fmin => Direct(Opcode::Fmin),
        Clif::Fmax => Direct(Opcode::Fmax),
        Clif::Ceil => Direct(Opcode::Ceil),
        Clif::Floor => Direct(Opcode::Floor),
        Clif::Trunc => Direct(Opcode::Trunc),
        Clif::Nearest => Direct(Opcode::Nearest),

        Clif::F128const => Refused(F128),
        Clif::GetExceptionHandlerAddress => Refused(UNWIND),
        Clif::StackSwitch => Refused("a lane has one stack"),
        Clif::Debugtrap => Refused("there is no debugger to trap into; use `trap`"),
        Clif::SymbolValue | Clif::TlsValue => Refused(SYMBOL),
        Clif::GetPinnedReg
        | Clif::SetPinnedReg
        | Clif::GetFramePointer
        | Clif::GetStackPointer
        | Clif::GetReturnAddress => Refused(MACHINE),
        Clif::Blendv => {
            Refused("it is defined by x86 vector registers; use `bitselect` or `select`")
        }
        Clif::DynamicStackAddr
        | Clif::ExtractVector
        | Clif::Splat
        | Clif::Swizzle
        | Clif::X86Pshufb
        | Clif::Insertlane
        | Clif::Extractlane
        | Clif::AvgRound
        | Clif::UaddSat
        | Clif::SaddSat
        | Clif::UsubSat
        | Clif::SsubSat
        | Clif::Uload8x8
        | Clif::Sload8x8
        | Clif::Uload16x4
        | Clif::Sload16x4
        | Clif::Uload32x2
        | Clif::Sload32x2
        | Clif::Vconst
        | Clif::Shuffle
        | Clif::VanyTrue
        | Clif::VallTrue
        | Clif::VhighBits
        | Clif::SqmulRoundSat
        | Clif::X86Pmulhrsw
        | Clif::ScalarToVector
        | Clif::Snarrow
        | Clif::Unarrow
        | Clif::Uunarrow
        | Clif::SwidenLow
        | Clif::SwidenHigh
        | Clif::UwidenLow
        | Clif::UwidenHigh
        | Clif::IaddPairwise
        | Clif::X86Pmaddubsw
        | Clif::Fvdemote
        | Clif::FvpromoteLow
        | Clif::X86Cvtt2dq => Refused(VECTOR),
    }
}

/// The IR's type for a CLIF type, or why there is none.
pub fn lane_type(ty: clif::Type) -> Result<Type, &'static str> {
    Ok(match ty {
        types::I8 => Type::I8,
        types::I16 => Type::I16,
        types::I32 => Type::I32,
        types::I64 => Type::I64,
        types::I128 => Type::I128,
        types::F16 => Type::F16,
        types::F32 => Type::F32,
        types::F64 => Type::F64,
        types::F128 => return Err(F128),
        _ if ty.is_vector() || ty.is_dynamic_vector() => return Err(VECTOR),
        _ => return Err("it has no form in a lane"),
    })
}

/// The IR's integer condition.
pub fn int_cc(cc: condcodes::IntCC) -> IntCC {
    match cc {
        condcodes::IntCC::Equal => IntCC::Eq,
        condcodes::IntCC::NotEqual => IntCC::Ne,
        condcodes::IntCC::SignedLessThan => IntCC::Slt,
        condcodes::IntCC::SignedGreaterThanOrEqual => IntCC::Sge,
        condcodes::IntCC::SignedGreaterThan => IntCC::Sgt,
        condcodes::IntCC::SignedLessThanOrEqual => IntCC::Sle,
        condcodes::IntCC::UnsignedLessThan => IntCC::Ult,
        condcodes::IntCC::UnsignedGreaterThanOrEqual => IntCC::Uge,
        condcodes::IntCC::UnsignedGreaterThan => IntCC::Ugt,
        condcodes::IntCC::UnsignedLessThanOrEqual => IntCC::Ule,
    }
}

/// The IR's float condition.
pub fn float_cc(cc: condcodes::FloatCC) -> FloatCC {
    match cc {
        condcodes::FloatCC::Ordered => FloatCC::Ord,
        condcodes::FloatCC::Unordered => FloatCC::Uno,
        condcodes::FloatCC::Equal => FloatCC::Eq,
        condcodes::FloatCC::NotEqual => FloatCC::Ne,
        condcodes::FloatCC::OrderedNotEqual => FloatCC::One,
        condcodes::FloatCC::UnorderedOrEqual => FloatCC::Ueq,
        condcodes::FloatCC::LessThan => FloatCC::Lt,
        condcodes::FloatCC::LessThanOrEqual => FloatCC::Le,
        condcodes::FloatCC::GreaterThan => FloatCC::Gt,
        condcodes::FloatCC::GreaterThanOrEqual => FloatCC::Ge,
        condcodes::FloatCC::UnorderedOrLessThan => FloatCC::Ult,
        condcodes::FloatCC::UnorderedOrLessThanOrEqual => FloatCC::Ule,
        condcodes::FloatCC::UnorderedOrGreaterThan => FloatCC::Ugt,
        condcodes::FloatCC::UnorderedOrGreaterThanOrEqual => FloatCC::Uge,
    }
}

/// The IR's trap code.
pub fn trap_code(code: clif::TrapCode) -> TrapCode {
    match code {
        clif::TrapCode::STACK_OVERFLOW => TrapCode::StackOverflow,
        clif::TrapCode::HEAP_OUT_OF_BOUNDS => TrapCode::HeapOutOfBounds,
        clif::TrapCode::INTEGER_OVERFLOW => TrapCode::IntegerOverflow,
        clif::TrapCode::INTEGER_DIVISION_BY_ZERO => TrapCode::IntegerDivisionByZero,
        clif::TrapCode::BAD_CONVERSION_TO_INTEGER => TrapCode::BadConversionToInteger,
        user => TrapCode::User(user.as_raw().get()),
    }
}

/// The instruction of a read-modify-write.
pub fn update(op: clif::AtomicRmwOp) -> Opcode {
    use clif::AtomicRmwOp::*;
    match op {
        Add => Opcode::AtomicAdd,
        Sub => Opcode::AtomicSub,
        And => Opcode::AtomicAnd,
        Nand => Opcode::AtomicNand,
        Or => Opcode::AtomicOr,
        Xor => Opcode::AtomicXor,
        Xchg => Opcode::AtomicXchg,
        Umin => Opcode::AtomicUmin,
        Umax => Opcode::AtomicUmax,
        Smin => Opcode::AtomicSmin,
        Smax => Opcode::AtomicSmax,
    }
}

/// The IR's flags for an access of `bytes` bytes. Alias regions are dropped:
/// they only permit what the IR does not do.
pub fn mem_flags(flags: clif::MemFlagsData, bytes: u32) -> MemFlags {
    let big = bytes > 1 && flags.explicit_endianness() == Some(clif::Endianness::Big);
    let set = [
        (big, MemFlags::BIG),
        (flags.notrap(), MemFlags::NOTRAP),
        (flags.aligned(), MemFlags::ALIGNED),
        (flags.can_move(), MemFlags::CAN_MOVE),
        (flags.readonly(), MemFlags::READONLY),
    ];
    let named = set
        .into_iter()
        .filter(|&(on, _)| on)
        .fold(MemFlags::NONE, |all, (_, flag)| all | flag);
    match flags.trap_code() {
        Some(code) => named.with_code(trap_code(code)),
        None => named,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A direct row keeps name and meaning.
    #[test]
    fn direct_rows_keep_their_names() {
        for &op in Clif::all() {
            if let Rule::Direct(ir) = rule(op) {
                assert_eq!(ir.mnemonic(), op.to_string());
            }
        }
    }

    #[test]
    fn condition_codes_keep_their_names() {
        for &cc in condcodes::IntCC::all() {
            assert_eq!(int_cc(cc).to_string(), cc.to_string());
        }
        for &cc in condcodes::FloatCC::all() {
            assert_eq!(float_cc(cc).to_string(), cc.to_string());
        }
    }

    #[test]
    fn trap_codes_keep_their_names() {
        let user = clif::TrapCode::unwrap_user(7);
        for code in clif::TrapCode::non_user_traps().iter().chain([&user]) {
            assert_eq!(trap_code(*code).to_string(), code.to_string());
        }
    }
}
