mod control;
mod dynamic;
mod hierarchy;
mod lanes;
mod limits;
mod numbers;
mod parked;
mod programs;
mod rules;
mod table;

use warpfold_ir::{Block, Function, Opcode, Value, parse_module, verify};

use super::*;

/// Parses and verifies one function.
pub(super) fn parse(text: &str) -> Function {
    let module = parse_module(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let func = module.functions.into_iter().next().expect("a function");
    verify(&func).unwrap_or_else(|e| panic!("{e}"));
    func
}

/// Analyses under a launch shape.
pub(super) fn under(func: &Function, shape: LaunchShape) -> Uniformity {
    let options = UniformityOptions {
        shape,
        ..UniformityOptions::default()
    };
    Uniformity::new(func, &options)
}

/// Analyses as if in one dimension of unknown size.
pub(super) fn analyse(func: &Function) -> Uniformity {
    under(func, LaunchShape::one_dimensional())
}

pub(super) fn v(n: u32) -> Value {
    Value::from_u32(n)
}

pub(super) fn b(n: u32) -> Block {
    Block::from_u32(n)
}

/// A kernel of one block with these instructions, analysed.
pub(super) fn straight(params: &str, header: &str, body: &str, shape: LaunchShape) -> Uniformity {
    let text = format!("function %f({params}) {{\nblock0{header}:\n{body}\n    ret\n}}\n");
    under(&parse(&text), shape)
}
