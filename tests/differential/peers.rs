//! One function on many inputs: by the executor, and by Cranelift's interpreter.

use std::panic::{AssertUnwindSafe, catch_unwind};

use cranelift_codegen::data_value::DataValue;
use cranelift_codegen::ir::Function;
use cranelift_codegen::ir::immediates::{Ieee16, Ieee32, Ieee64};
use cranelift_interpreter::environment::{FuncIndex, FunctionStore};
use cranelift_interpreter::interpreter::{Interpreter, InterpreterState};
use cranelift_interpreter::step::{ControlFlow, CraneliftTrap};
use warpfold_clif::ReadOptions;
use warpfold_exec::{Arg, ExecOptions, Launch};
use warpfold_ir::TrapCode;

use super::cases::Case;

/// What became of one input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// The results, as bits.
    Values(Vec<u128>),
    /// A trap, by its code.
    Trap(String),
    /// The peer could not say.
    Failed,
}

/// All inputs at once, as the lanes of warps.
pub fn ours(case: &Case, func: &Function, inputs: &[Vec<u128>]) -> Vec<End> {
    let what = format!("{} {}", case.op, case.label);
    let mut lowered = match warpfold_clif::lower(func, &ReadOptions::default()) {
        Ok(lowered) => lowered.func,
        Err(errors) => panic!("{what} is valid but not lowered: {errors:?}"),
    };
    for param in &mut lowered.params {
        param.varying = true;
    }
    let args = (0..case.params.len())
        .map(|i| Arg::Varying(inputs.iter().map(|row| row[i]).collect()))
        .collect();
    let threads = inputs.len().try_into().expect("a few hundred inputs");
    let launch = Launch::linear(1, threads).with_args(args);
    let outcome = match warpfold_exec::run(&lowered, &launch, &ExecOptions::default()) {
        Ok(outcome) => outcome,
        Err(error) => panic!("{what}: {error}"),
    };
    let mut ends: Vec<End> = (0..inputs.len())
        .map(|i| match outcome.returns.get(i) {
            Some(values) => End::Values(values.to_vec()),
            None => End::Failed,
        })
        .collect();
    for trap in &outcome.traps {
        let end = &mut ends[trap.thread as usize];
        assert_eq!(*end, End::Failed, "{what}: a lane returned and trapped");
        *end = End::Trap(trap.code.to_string());
    }
    assert!(!ends.contains(&End::Failed), "{what}: a lane is lost");
    ends
}

/// One input, by the interpreter. It panics on what it does not have.
pub fn interpreted(case: &Case, func: &Function, input: &[u128]) -> End {
    let args: Vec<DataValue> = case
        .params
        .iter()
        .zip(input)
        .map(|(ty, &bits)| data(ty, bits))
        .collect();
    let run = || {
        let mut functions = FunctionStore::default();
        functions.add("f".to_owned(), func);
        let state = InterpreterState::default().with_function_store(functions);
        Interpreter::new(state).call_by_index(FuncIndex::from_u32(0), &args)
    };
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(ControlFlow::Return(values))) => values
            .iter()
            .map(bits)
            .collect::<Option<_>>()
            .map_or(End::Failed, End::Values),
        Ok(Ok(ControlFlow::Trap(CraneliftTrap::User(code)))) => End::Trap(code.to_string()),
        Ok(Ok(ControlFlow::Trap(CraneliftTrap::HeapMisaligned))) => {
            End::Trap(TrapCode::HeapMisaligned.to_string())
        }
        _ => End::Failed,
    }
}

fn data(ty: &str, bits: u128) -> DataValue {
    match ty {
        "i8" => DataValue::I8(bits as i8),
        "i16" => DataValue::I16(bits as i16),
        "i32" => DataValue::I32(bits as i32),
        "i64" => DataValue::I64(bits as i64),
        "i128" => DataValue::I128(bits as i128),
        "f16" => DataValue::F16(Ieee16::with_bits(bits as u16)),
        "f32" => DataValue::F32(Ieee32::with_bits(bits as u32)),
        _ => DataValue::F64(Ieee64::with_bits(bits as u64)),
    }
}

fn bits(value: &DataValue) -> Option<u128> {
    Some(match value {
        DataValue::I8(n) => n.cast_unsigned().into(),
        DataValue::I16(n) => n.cast_unsigned().into(),
        DataValue::I32(n) => n.cast_unsigned().into(),
        DataValue::I64(n) => n.cast_unsigned().into(),
        DataValue::I128(n) => n.cast_unsigned(),
        DataValue::F16(x) => x.bits().into(),
        DataValue::F32(x) => x.bits().into(),
        DataValue::F64(x) => x.bits().into(),
        _ => return None,
    })
}
