//! A kernel built in memory, converted, measured and walked.

use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use warpfold::clif::ReadOptions;
use warpfold::clif::cranelift_codegen::ir::condcodes::IntCC;
use warpfold::clif::cranelift_codegen::ir::{AbiParam, Function, InstBuilder, types};
use warpfold::exec::{Arg, Launch};
use warpfold::{Lowered, Options, Outcome, RunOptions, Settings, render};

/// `if x > 20 { 20 - x } else { x }`
fn kernel() -> Function {
    let mut func = Function::new();
    func.signature.params.push(AbiParam::new(types::I32));
    func.signature.returns.push(AbiParam::new(types::I32));
    let mut context = FunctionBuilderContext::new();
    let mut b = FunctionBuilder::new(&mut func, &mut context);
    let [entry, above, join] = [b.create_block(), b.create_block(), b.create_block()];
    b.append_block_params_for_function_params(entry);
    let result = b.append_block_param(join, types::I32);
    b.switch_to_block(entry);
    let x = b.block_params(entry)[0];
    let limit = b.ins().iconst(types::I32, 20);
    let test = b.ins().icmp(IntCC::SignedGreaterThan, x, limit);
    b.ins().brif(test, above, &[], join, &[x.into()]);
    b.switch_to_block(above);
    let excess = b.ins().isub(limit, x);
    b.ins().jump(join, &[excess.into()]);
    b.switch_to_block(join);
    b.ins().return_(&[result]);
    b.seal_all_blocks();
    b.finalize(ReadOptions::default().frontend_config());
    func
}

/// The road, from the function to the verdict; parameter 0 varies by lane.
pub fn outcome() -> Result<Outcome, warpfold::Errors> {
    let launch = Launch::linear(2, 64).with_args(vec![Arg::Varying((0..128).collect())]);
    let machine = warpfold::machine::Machine::builtin("hopper").expect("it ships");
    Lowered::from_clif(&kernel(), &[0], Options::default())?
        .clean()?
        .canonicalise()?
        .profile(&launch, &RunOptions::default())?
        .convert(&Settings::new(machine))?
        .measure(&launch, &RunOptions::default())
}

fn main() -> Result<(), warpfold::Errors> {
    let outcome = outcome()?;
    let func = outcome.optimized().func();
    for (block, inst) in func.laid_out_insts() {
        let data = func.inst(inst);
        println!("{block}: {} ({} uses)", data.op, data.uses().count());
    }
    print!(
        "{}",
        render::text(&render::run(&outcome), render::Paint::PLAIN)
    );
    Ok(())
}
