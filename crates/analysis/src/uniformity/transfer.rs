//! What an instruction's result looks like, given its operands.
//!
//! The rules are pure functions of the operands' [`Shape`]s. Which rule an
//! instruction takes is decided by its [form](warpfold_ir::Shape) and, within
//! the lane-wise forms, by its opcode, both exhaustively: a new form or opcode
//! without a rule does not compile. The rule that holds for *any* function of one
//! lane's operands, uniform if they all are, is at hand for those of which
//! nothing more is to be said.
//!
//! Guards are not seen here; see the [solver](super::solve).

use smallvec::SmallVec;
use warpfold_ir::eval::eval;
use warpfold_ir::{Imm, InstData, IntCC, Opcode, Shape as Form, Type, Value};

use super::arith::*;
use super::bits::{KnownBits, low_mask};
use super::compare;
use super::domain::Shape;
use super::launch::LaunchShape;
use super::scope::Scope;

/// What a rule may need beside the operands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Env<'a> {
    pub launch: &'a LaunchShape,
    /// Of a load: whether its address may lie in local memory.
    pub local: bool,
    /// Of a load: whether it reads what was there at the launch.
    pub fixed: bool,
    /// Whether each lane's last two operands are one number.
    pub same: bool,
    /// Whether every lane of the warp that was launched takes part, whenever
    /// the instruction is executed.
    pub all_present: bool,
}

/// Whether `same` holds of the last two operands, those of a `select`'s choice
/// or of a binary operation.
pub(crate) fn last_two_same(inst: &InstData, same: impl Fn(Value, Value) -> bool) -> bool {
    match inst.args[..] {
        [.., a, b] => same(a, b),
        _ => false,
    }
}

/// The types of an instruction's operands.
pub(crate) type Types = SmallVec<[Type; 3]>;

/// The shape of the result of `inst`, guard apart, over the lanes that execute
/// it; `None` if it has no result. The operands' `types` are asked for only if all
/// are constants.
pub(crate) fn transfer(
    inst: &InstData,
    types: impl FnOnce() -> Types,
    args: &[Shape],
    env: Env<'_>,
) -> Option<Shape> {
    let ty = inst.result_type()?;
    Some(match inst.op.shape() {
        Form::Const => match inst.imm {
            Imm::Bits(bits) => Shape::constant(ty, bits),
            _ => Shape::varying(ty),
        },
        // Address layout is the launch's, and one address stands for every
        // lane's own slot; poison is no lane's business.
        Form::Poison | Form::StackAddr | Form::SharedBase | Form::FuncAddr => {
            Shape::uniform(ty, Scope::Grid)
        }
        Form::Copy => args[0],
        Form::Int1
        | Form::Int2
        | Form::Shift
        | Form::IntDiv
        | Form::Extend
        | Form::Reduce
        | Form::PredToInt
        | Form::Bitcast
        | Form::Select
        | Form::Float1
        | Form::Float2
        | Form::Float3
        | Form::Promote
        | Form::Demote
        | Form::IntToFloat
        | Form::FloatToInt
        | Form::FloatToIntSat
        | Form::Icmp
        | Form::Fcmp
        | Form::Pred1
        | Form::Pred2 => {
            fold(inst, ty, types, args).unwrap_or_else(|| lane_wise(inst, ty, args, env.same))
        }
        Form::Id => env.launch.id(inst.op),
        Form::Load => load(inst, ty, args[0], env),
        // Lanes take turns, so each may find something else; and what another warp
        // writes may come between an atomic load's lanes.
        Form::AtomicLoad | Form::AtomicRmw | Form::AtomicCas => Shape::varying(ty),
        Form::Ballot => match args[0].as_constant() {
            Some(0) => Shape::constant(ty, 0),
            _ => Shape::uniform(ty, Scope::Warp),
        },
        Form::ActiveMask => Shape::uniform(ty, Scope::Warp),
        Form::Vote | Form::ReadFirst if args[0].is_uniform() => args[0],
        Form::Vote | Form::ReadFirst => Shape::known_uniform(ty, Scope::Warp, args[0].bits()),
        // A lane gets its own number or that of another lane that executes
        // this; one lane's if they all ask for one that does.
        Form::Shuffle if args[0].is_uniform() => args[0],
        Form::Shuffle if inst.op == Opcode::ShflIdx && one_source(args[1], env) => {
            Shape::known_uniform(ty, Scope::Warp, args[0].bits())
        }
        Form::Shuffle => Shape::tracked(ty, args[0].base_scope(), args[0].tracked_bits()),
        Form::Store
        | Form::AtomicStore
        | Form::Sync
        | Form::WarpSync
        | Form::Exit
        | Form::TrapIf => return None,
        // The solver's: they may have several.
        Form::Call | Form::CallIndirect => return None,
    })
}

/// The value of a lane-wise instruction on constants. A NaN is left alone:
/// its payload is not the language's to promise.
fn fold(inst: &InstData, ty: Type, types: impl FnOnce() -> Types, args: &[Shape]) -> Option<Shape> {
    let mut numbers = [0u128; 3];
    for (number, arg) in numbers.iter_mut().zip(args) {
        *number = u128::from(arg.as_constant()?);
    }
    let bits = eval(inst, &types(), &numbers[..args.len()])?.ok()?;
    let nan = match ty {
        Type::F16 => bits & 0x7fff > 0x7c00,
        Type::F32 => f32::from_bits(bits as u32).is_nan(),
        Type::F64 => f64::from_bits(bits as u64).is_nan(),
        _ => false,
    };
    (!nan).then(|| Shape::constant(ty, bits))
}

fn lane_wise(inst: &InstData, ty: Type, args: &[Shape], same: bool) -> Shape {
    match inst.op {
        Opcode::Isub | Opcode::Bxor | Opcode::BandNot | Opcode::Xor | Opcode::Andn if same => {
            Shape::constant(ty, 0)
        }
        Opcode::Iadd => add(ty, args[0], args[1]),
        Opcode::Isub => sub(ty, args[0], args[1]),
        Opcode::Imul => mul(ty, args[0], args[1]),
        Opcode::Ineg => sub(ty, Shape::constant(ty, 0), args[0]),
        Opcode::Iabs => {
            let sign = sign_bit(&args[0]);
            if args[0].bits().zero & sign != 0 {
                args[0]
            } else if args[0].bits().one & sign != 0 {
                sub(ty, Shape::constant(ty, 0), args[0])
            } else {
                opaque(ty, args)
            }
        }
        Opcode::Band | Opcode::And => and(ty, args[0], args[1]),
        Opcode::Bor | Opcode::Or => or(ty, args[0], args[1]),
        Opcode::Bxor | Opcode::Xor => xor(ty, args[0], args[1]),
        Opcode::BandNot | Opcode::Andn => and(ty, args[0], not(ty, args[1])),
        Opcode::BorNot => or(ty, args[0], not(ty, args[1])),
        Opcode::BxorNot => xor(ty, args[0], not(ty, args[1])),
        Opcode::Bnot | Opcode::Not => not(ty, args[0]),
        Opcode::Umin => choose(IntCC::Ult, same, ty, args),
        Opcode::Umax => choose(IntCC::Ugt, same, ty, args),
        Opcode::Smin => choose(IntCC::Slt, same, ty, args),
        Opcode::Smax => choose(IntCC::Sgt, same, ty, args),
        Opcode::Ishl | Opcode::Ushr | Opcode::Sshr | Opcode::Rotl | Opcode::Rotr => {
            match shift_amount(args[0], args[1]) {
                Some(n) => shift(inst.op, ty, args[0], n),
                None => opaque(ty, args),
            }
        }
        Opcode::Clz | Opcode::Ctz | Opcode::Cls | Opcode::Popcnt => {
            let bits = 32 - ty.bits().leading_zeros();
            opaque(ty, args).refined(zero_above(bits))
        }
        Opcode::Bitrev => permuted(ty, args[0], |x| {
            x.reverse_bits() >> (64 - ty.bits().min(64))
        }),
        Opcode::Bswap => permuted(ty, args[0], |x| x.swap_bytes() >> (64 - ty.bits().min(64))),
        Opcode::Udiv | Opcode::Urem => unsigned_division(inst.op, ty, args),
        // A signed quotient is a shift only where no operand is negative.
        Opcode::Sdiv | Opcode::Srem => {
            let sign = sign_bit(&args[0]);
            if args[0].bits().zero & args[1].bits().zero & sign != 0 {
                let op = match inst.op {
                    Opcode::Sdiv => Opcode::Udiv,
                    _ => Opcode::Urem,
                };
                unsigned_division(op, ty, args)
            } else {
                opaque(ty, args)
            }
        }
        Opcode::Uextend | Opcode::Bint => extend(ty, args[0], false),
        Opcode::Sextend => extend(ty, args[0], true),
        Opcode::Ireduce if args[0].width() > 64 => opaque(ty, args),
        Opcode::Ireduce => match args[0].stride() {
            Some(s) => Shape::affine(ty, args[0].base_scope(), s, args[0].base())
                .with_row(args[0].is_row())
                .refined(args[0].tracked_bits()),
            None => Shape::tracked(ty, args[0].base_scope(), args[0].tracked_bits()),
        },
        // The type's meaning changes, its bits do not.
        Opcode::Bitcast => permuted(ty, args[0], |x| x),
        Opcode::Select if same => args[1],
        Opcode::Select => select(args[0], args[1], args[2]),
        Opcode::Fneg => xor(ty, args[0], Shape::constant(ty, 1 << (ty.bits() - 1))),
        Opcode::Fabs => and(ty, args[0], Shape::constant(ty, ty.mask() >> 1)),
        Opcode::Icmp => match inst.imm {
            Imm::Icc(cc) => compare::icmp(cc, same, args[0], args[1]),
            _ => opaque(ty, args),
        },
        // Of these nothing is said but that each lane's operands decide.
        Opcode::Umulhi
        | Opcode::Smulhi
        | Opcode::Fadd
        | Opcode::Fsub
        | Opcode::Fmul
        | Opcode::Fdiv
        | Opcode::Fma
        | Opcode::Fcopysign
        | Opcode::Fmin
        | Opcode::Fmax
        | Opcode::Sqrt
        | Opcode::Ceil
        | Opcode::Floor
        | Opcode::Trunc
        | Opcode::Nearest
        | Opcode::Fpromote
        | Opcode::Fdemote
        | Opcode::FcvtFromUint
        | Opcode::FcvtFromSint
        | Opcode::FcvtToUint
        | Opcode::FcvtToSint
        | Opcode::FcvtToUintSat
        | Opcode::FcvtToSintSat
        | Opcode::Sin
        | Opcode::Cos
        | Opcode::Tan
        | Opcode::Exp
        | Opcode::Exp2
        | Opcode::Log
        | Opcode::Log2
        | Opcode::Pow
        | Opcode::Rsqrt
        | Opcode::Atan2
        | Opcode::Tanh
        | Opcode::Fcmp => opaque(ty, args),
        // Not lane-wise: ruled by their form.
        Opcode::Const
        | Opcode::Poison
        | Opcode::StackAddr
        | Opcode::SharedBase
        | Opcode::FuncAddr
        | Opcode::Copy
        | Opcode::LaneId
        | Opcode::WarpId
        | Opcode::TidX
        | Opcode::TidY
        | Opcode::TidZ
        | Opcode::CtaidX
        | Opcode::CtaidY
        | Opcode::CtaidZ
        | Opcode::NtidX
        | Opcode::NtidY
        | Opcode::NtidZ
        | Opcode::NctaidX
        | Opcode::NctaidY
        | Opcode::NctaidZ
        | Opcode::Load
        | Opcode::Uload8
        | Opcode::Sload8
        | Opcode::Uload16
        | Opcode::Sload16
        | Opcode::Uload32
        | Opcode::Sload32
        | Opcode::Store
        | Opcode::Istore8
        | Opcode::Istore16
        | Opcode::Istore32
        | Opcode::AtomicLoad
        | Opcode::AtomicStore
        | Opcode::AtomicAdd
        | Opcode::AtomicSub
        | Opcode::AtomicAnd
        | Opcode::AtomicNand
        | Opcode::AtomicOr
        | Opcode::AtomicXor
        | Opcode::AtomicXchg
        | Opcode::AtomicUmin
        | Opcode::AtomicUmax
        | Opcode::AtomicSmin
        | Opcode::AtomicSmax
        | Opcode::AtomicCas
        | Opcode::Ballot
        | Opcode::VoteAny
        | Opcode::VoteAll
        | Opcode::ShflIdx
        | Opcode::ShflUp
        | Opcode::ShflDown
        | Opcode::ShflBfly
        | Opcode::ReadFirst
        | Opcode::ActiveMask
        | Opcode::Barrier
        | Opcode::WarpSync
        | Opcode::Fence
        | Opcode::Exit
        | Opcode::TrapIf
        | Opcode::Call
        | Opcode::CallIndirect => Shape::varying(ty),
    }
}

/// A minimum or maximum, as a choice by the comparison `cc` of the operands.
fn choose(cc: IntCC, same: bool, ty: Type, args: &[Shape]) -> Shape {
    if same {
        return args[0];
    }
    let cond = compare::icmp(cc, false, args[0], args[1]);
    let chosen = select(cond, args[0], args[1]);
    if chosen.is_uniform() {
        chosen
    } else {
        opaque_or(ty, args, chosen)
    }
}

/// `chosen`, or uniform if all operands are.
fn opaque_or(ty: Type, args: &[Shape], chosen: Shape) -> Shape {
    let any = opaque(ty, args);
    if any.is_uniform() {
        any.refined(chosen.tracked_bits())
    } else {
        chosen
    }
}

/// `a` in the lanes where `cond` holds, `b` in the others.
pub(crate) fn select(cond: Shape, a: Shape, b: Shape) -> Shape {
    match cond.as_constant() {
        Some(0) => b,
        Some(_) => a,
        None => a.mixed(b, cond.scope()),
    }
}

/// Whether all lanes that execute a `shfl_idx` get the number of one of them:
/// they name one lane, and it is there. Lane 0 of a warp always is, others in
/// the last warp only if the block has as many threads.
fn one_source(index: Shape, env: Env<'_>) -> bool {
    let low = index.bits().keep(31);
    let lane = (low.known() == 31).then_some(low.one as u32);
    env.all_present
        && index.uniform_bits() & 31 == 31
        && lane.map_or(env.launch.fills_warps(), |l| env.launch.has_lane(l))
}

fn load(inst: &InstData, ty: Type, address: Shape, env: Env<'_>) -> Shape {
    let bits = match inst.op.access(inst.ty) {
        Some((bytes, false)) if bytes * 8 < ty.bits() => {
            KnownBits::constant(0, !low_mask(bytes * 8))
        }
        _ => KnownBits::NONE,
    };
    if env.local || !address.is_uniform() {
        return Shape::with_bits(ty, bits, 0);
    }
    // Nothing writes read-only memory. Other memory may change between two
    // warps' reads, but one instruction reads one address once for the warp.
    let scope = match env.fixed {
        true => address.base_scope().max(Scope::Grid),
        false => Scope::Warp,
    };
    Shape::known_uniform(ty, scope, bits)
}
