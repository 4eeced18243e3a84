//! What a kernel must do, by an implementation that knows nothing of warps:
//! Cranelift's own interpreter, one lane after the other.
//!
//! For a kernel whose lanes do not see each other, running the lanes one at a
//! time, each to its end, means the same as running them together. So the CLIF
//! function, as it was read and before anything of ours has touched it, is
//! interpreted once per thread of the grid, in the order of the threads, on one
//! flat memory laid out as the executor lays it out. What every lane returned,
//! how it trapped and the final memory must agree with [the executor](warpfold::exec)
//! for every version of the kernel.
//!
//! The steps are cranelift-interpreter's. Three things are done here: memory
//! (its own has no buffers), calls of intrinsics (answered by the lane's place
//! in the grid), and `srem` of the least number by -1, which is 0 by CLIF's
//! definition but an overflow in the interpreter.
//!
//! It cannot do cross-lane operations and barriers, nor the few opcodes that
//! the interpreter does not have: [`unsupported`] says so beforehand.

mod compare;
mod memory;

use cranelift_codegen::data_value::DataValue;
use cranelift_codegen::ir::immediates::{Ieee16, Ieee32, Ieee64};
use cranelift_codegen::ir::{self as clif, ExternalName, InstructionData, Opcode, types};
use cranelift_interpreter::instruction::DfgInstructionContext;
use cranelift_interpreter::state::State;
use cranelift_interpreter::step::{ControlFlow, CraneliftTrap, step};
use warpfold::exec::{Arg, Launch, SHARED_BASE};
use warpfold::ir::TrapCode;

pub use compare::{Mismatch, compare};

use memory::LaneState;

/// How one lane ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LaneEnd {
    /// It returned these values, as bits.
    Returned(Vec<u128>),
    /// It trapped.
    Trapped {
        /// Why.
        code: TrapCode,
        /// At which CLIF instruction, by number.
        inst: u32,
    },
}

/// What a launch must leave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expected {
    /// By thread of the grid.
    pub lanes: Vec<LaneEnd>,
    /// The buffers' contents.
    pub memory: Vec<Vec<u8>>,
    /// CLIF instructions interpreted.
    pub steps: u64,
}

/// Why there is no answer.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OracleError {
    /// The text is no CLIF, or has no such function.
    #[error("{0}")]
    Clif(String),
    /// The interpreter cannot run it, or not lane by lane.
    #[error("{0}")]
    Unsupported(String),
    /// More steps than allowed.
    #[error("more than {0} steps")]
    StepLimit(u64),
    /// The interpreter gave up.
    #[error("the interpreter failed at `{inst}`: {message}")]
    Failed {
        /// The instruction.
        inst: String,
        /// Its words.
        message: String,
    },
}

/// The function called `name` of a CLIF text.
///
/// # Errors
/// If the text is no CLIF or has no such function.
pub fn function(text: &str, name: &str) -> Result<clif::Function, OracleError> {
    let functions =
        cranelift_reader::parse_functions(text).map_err(|e| OracleError::Clif(e.to_string()))?;
    functions
        .into_iter()
        .find(|f| f.name.to_string() == format!("%{name}"))
        .ok_or_else(|| OracleError::Clif(format!("there is no function %{name}")))
}

/// What of `func` the oracle cannot run, if anything.
pub fn unsupported(func: &clif::Function) -> Option<String> {
    let dfg = &func.dfg;
    let blocks = func.layout.blocks();
    blocks
        .flat_map(|b| func.layout.block_insts(b))
        .find_map(|inst| {
            let op = dfg.insts[inst].opcode();
            let wide = || dfg.ctrl_typevar(inst) == types::I128;
            let mut values = dfg.inst_args(inst).iter().chain(dfg.inst_results(inst));
            match op {
                _ if values.any(|&v| dfg.value_type(v) == types::F16) => {
                    Some(format!("{op} of f16"))
                }
                Opcode::Call => match intrinsic(func, inst) {
                    Some(name) if place(name, Place::default()).is_none() => {
                        Some(format!("%{name} depends on other lanes"))
                    }
                    Some(_) => None,
                    None => Some("a call".to_owned()),
                },
                Opcode::Umulhi | Opcode::Smulhi if wide() => Some(format!("{op} of i128")),
                Opcode::FcvtToSint
                | Opcode::FcvtToUint
                | Opcode::FcvtToSintSat
                | Opcode::FcvtToUintSat
                    if wide() =>
                {
                    Some(format!("{op} to i128"))
                }
                Opcode::Iconcat | Opcode::Isplit
                    if !dfg
                        .inst_args(inst)
                        .iter()
                        .all(|&v| [types::I64, types::I128].contains(&dfg.value_type(v))) =>
                {
                    Some(format!("{op} of less than 128 bits"))
                }
                _ => None,
            }
        })
}

/// Runs every thread of the grid, each to its end, in order.
///
/// # Errors
/// If the function is not supported, or after `limit` steps in all. The
/// function must be valid, and the launch fit it.
pub fn run(func: &clif::Function, launch: &Launch, limit: u64) -> Result<Expected, OracleError> {
    if let Some(what) = unsupported(func) {
        return Err(OracleError::Unsupported(what));
    }
    let threads =
        u64::from(launch.block[0]) * u64::from(launch.block[1]) * u64::from(launch.block[2]);
    let total = launch.total_threads().unwrap_or(0);
    let mut state = LaneState::new(func, launch);
    let mut lanes = Vec::new();
    let mut left = limit;
    for thread in 0..total {
        if thread % threads == 0 {
            state.new_block();
        }
        let place = Place::new(launch, thread / threads, thread % threads);
        let args = arguments(func, launch, thread);
        lanes.push(lane(func, &mut state, &args, place, &mut left, limit)?);
    }
    Ok(Expected {
        lanes,
        memory: state.into_buffers(),
        steps: limit - left,
    })
}

fn lane<'a>(
    func: &'a clif::Function,
    state: &mut LaneState<'a>,
    args: &[DataValue],
    place: Place,
    left: &mut u64,
    limit: u64,
) -> Result<LaneEnd, OracleError> {
    state.new_lane();
    let layout = &func.layout;
    let Some(entry) = layout.entry_block() else {
        return Err(OracleError::Unsupported("a function without a body".into()));
    };
    let params = func.dfg.block_params(entry);
    state.current_frame_mut().set_all(params, args.to_vec());
    let mut next = layout.first_inst(entry);
    loop {
        let Some(inst) = next else {
            return Err(OracleError::Unsupported("a block without an end".into()));
        };
        *left = left.checked_sub(1).ok_or(OracleError::StepLimit(limit))?;
        next = layout.next_inst(inst);
        if let Some(value) = answered_here(func, state, inst, place) {
            let result = func.dfg.first_result(inst);
            state.current_frame_mut().set(result, value);
            continue;
        }
        if func.dfg.insts[inst].opcode() == Opcode::SequencePoint {
            continue;
        }
        let flow = step(state, DfgInstructionContext::new(inst, &func.dfg)).map_err(|e| {
            OracleError::Failed {
                inst: func.dfg.display_inst(inst).to_string(),
                message: format!("{e}: {e:?}"),
            }
        })?;
        match flow {
            ControlFlow::Assign(values) => {
                let results = func.dfg.inst_results(inst);
                state.current_frame_mut().set_all(results, values.to_vec());
            }
            ControlFlow::Continue => {}
            ControlFlow::ContinueAt(block, values) => {
                let params = func.dfg.block_params(block);
                state.current_frame_mut().set_all(params, values.to_vec());
                next = layout.first_inst(block);
            }
            ControlFlow::Return(values) => {
                return Ok(LaneEnd::Returned(values.iter().map(bits).collect()));
            }
            ControlFlow::Trap(trap) => {
                let inst = inst.as_u32();
                return match trap_code(&trap) {
                    Some(code) => Ok(LaneEnd::Trapped { code, inst }),
                    None => Err(OracleError::Unsupported(trap.to_string())),
                };
            }
            ControlFlow::Call(..) | ControlFlow::ReturnCall(..) => {
                return Err(OracleError::Unsupported("a call".into()));
            }
        }
    }
}

/// The result of what is not left to the interpreter.
fn answered_here(
    func: &clif::Function,
    state: &LaneState<'_>,
    inst: clif::Inst,
    at: Place,
) -> Option<DataValue> {
    let dfg = &func.dfg;
    match dfg.insts[inst].opcode() {
        Opcode::Call => {
            let n = place(intrinsic(func, inst)?, at)?;
            let ty = dfg.value_type(dfg.first_result(inst));
            data(n.into(), ty)
        }
        Opcode::Srem => {
            let [a, b] = [0, 1].map(|i| state.current_frame().get(dfg.inst_args(inst)[i]));
            let ty = a.ty();
            let all = u128::MAX >> (128 - ty.bits());
            let least = bits(a) == 1 << (ty.bits() - 1);
            (least && bits(b) == all).then(|| data(0, ty)).flatten()
        }
        _ => None,
    }
}

/// The name of the function that an instruction calls.
fn intrinsic(func: &clif::Function, inst: clif::Inst) -> Option<&str> {
    let InstructionData::Call { func_ref, .. } = func.dfg.insts[inst] else {
        return None;
    };
    match &func.dfg.ext_funcs[func_ref].name {
        ExternalName::TestCase(name) => std::str::from_utf8(name.raw()).ok(),
        _ => None,
    }
}

/// Where a lane is.
#[derive(Clone, Copy, Default, Debug)]
struct Place {
    thread: u64,
    tid: [u32; 3],
    ntid: [u32; 3],
    ctaid: [u32; 3],
    nctaid: [u32; 3],
}

impl Place {
    fn new(launch: &Launch, block: u64, thread: u64) -> Self {
        let split = |n: u64, [x, y, _]: [u32; 3]| {
            let (x, y) = (u64::from(x), u64::from(y));
            [n % x, n / x % y, n / x / y].map(|n| n as u32)
        };
        Self {
            thread,
            tid: split(thread, launch.block),
            ntid: launch.block,
            ctaid: split(block, launch.grid),
            nctaid: launch.grid,
        }
    }
}

/// What an intrinsic yields that depends on nothing but the place.
fn place(intrinsic: &str, at: Place) -> Option<u32> {
    Some(match intrinsic {
        "lane_id" => (at.thread % 32) as u32,
        "warp_id" => (at.thread / 32) as u32,
        "tid_x" => at.tid[0],
        "tid_y" => at.tid[1],
        "tid_z" => at.tid[2],
        "ntid_x" => at.ntid[0],
        "ntid_y" => at.ntid[1],
        "ntid_z" => at.ntid[2],
        "ctaid_x" => at.ctaid[0],
        "ctaid_y" => at.ctaid[1],
        "ctaid_z" => at.ctaid[2],
        "nctaid_x" => at.nctaid[0],
        "nctaid_y" => at.nctaid[1],
        "nctaid_z" => at.nctaid[2],
        "shared_base" => SHARED_BASE as u32,
        _ => return None,
    })
}

fn arguments(func: &clif::Function, launch: &Launch, thread: u64) -> Vec<DataValue> {
    let params = func.signature.params.iter().zip(&launch.args);
    params
        .filter_map(|(param, arg)| {
            let n = match arg {
                Arg::Uniform(n) => *n,
                Arg::Varying(all) => all.get(thread as usize).copied().unwrap_or(0),
            };
            data(n, param.value_type)
        })
        .collect()
}

/// The value of type `ty` with these bits.
pub(crate) fn data(bits: u128, ty: clif::Type) -> Option<DataValue> {
    Some(match ty {
        types::I8 => DataValue::I8(bits as i8),
        types::I16 => DataValue::I16(bits as i16),
        types::I32 => DataValue::I32(bits as i32),
        types::I64 => DataValue::I64(bits as i64),
        types::I128 => DataValue::I128(bits as i128),
        types::F16 => DataValue::F16(Ieee16::with_bits(bits as u16)),
        types::F32 => DataValue::F32(Ieee32::with_bits(bits as u32)),
        types::F64 => DataValue::F64(Ieee64::with_bits(bits as u64)),
        _ => return None,
    })
}

pub(crate) fn bits(v: &DataValue) -> u128 {
    match v {
        DataValue::I8(n) => n.cast_unsigned().into(),
        DataValue::I16(n) => n.cast_unsigned().into(),
        DataValue::I32(n) => n.cast_unsigned().into(),
        DataValue::I64(n) => n.cast_unsigned().into(),
        DataValue::I128(n) => n.cast_unsigned(),
        DataValue::F16(x) => x.bits().into(),
        DataValue::F32(x) => x.bits().into(),
        DataValue::F64(x) => x.bits().into(),
        // No kernel has values of other types.
        _ => 0,
    }
}

fn trap_code(trap: &CraneliftTrap) -> Option<TrapCode> {
    match trap {
        // Both sides print codes alike.
        CraneliftTrap::User(code) => code.to_string().parse().ok(),
        CraneliftTrap::HeapMisaligned => Some(TrapCode::HeapMisaligned),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
