//! Kernels that are too long to write out, and a warp to run them.

use warpfold::analysis::LaunchShape;
use warpfold::exec::{Arg, ExecOptions, Launch, Mode, Outcome};
use warpfold::ir::{
    self, BlockCall, Function, FunctionBuilder, Guard, IntCC, Opcode, Terminator, Type, Value,
};

use crate::checks::claimed::run_under_claims;

/// `count` dependent operations on `x`.
fn filler(b: &mut FunctionBuilder, op: Opcode, count: usize, x: Value, by: Value) -> Value {
    let ty = b.func().ty(x);
    (0..count).fold(x, |x, _| b.ins(op, ty, &[x, by]))
}

/// `if (c) t operations else f operations`, then a return.
pub fn branchy(t: usize, f: usize) -> Function {
    let mut b = FunctionBuilder::new("branchy");
    let c = b.param(Type::Pred, true);
    let x = b.param(Type::I32, true);
    b.returns(&[Type::I32]);
    let [then, other, join] = [b.block(), b.block(), b.block()];
    let y = b.block_param(join, Type::I32);
    b.br(c, then, other);
    for (block, op, count) in [(then, Opcode::Iadd, t), (other, Opcode::Bxor, f)] {
        b.switch_to(block);
        let z = filler(&mut b, op, count, x, x);
        b.jump(join, &[z]);
    }
    b.switch_to(join);
    b.ret(&[y]);
    verified(b)
}

/// The same with every operation guarded.
pub fn guarded(t: usize, f: usize) -> Function {
    let mut b = FunctionBuilder::new("guarded");
    let c = b.param(Type::Pred, true);
    let x = b.param(Type::I32, true);
    b.returns(&[Type::I32]);
    let mut y = x;
    for (negated, op, count) in [(false, Opcode::Iadd, t), (true, Opcode::Bxor, f)] {
        for _ in 0..count {
            b.set_guard(Some(Guard {
                pred: c,
                negated,
                otherwise: Some(y),
            }));
            y = b.ins(op, Type::I32, &[y, x]);
        }
    }
    b.ret(&[y]);
    verified(b)
}

/// `n` instructions, each of which waits for the one before; the last is the
/// return.
pub fn chain(n: usize) -> Function {
    let mut b = FunctionBuilder::new("chain");
    let x = b.param(Type::I32, true);
    b.returns(&[Type::I32]);
    let y = filler(&mut b, Opcode::Iadd, n - 1, x, x);
    b.ret(&[y]);
    verified(b)
}

/// `k` cases tested one after the other with `d` issues a test, bodies of `n`
/// operations, a prologue of `u`. The lane's case is the first parameter. The
/// bodies take turns at two chains of different width, because the executor
/// holds at most 65 thousand values of one width.
pub fn divsweep(n: usize, d: usize, u: usize, k: usize) -> Function {
    const TYPES: [Type; 2] = [Type::I32, Type::I64];
    let mut b = FunctionBuilder::new("divsweep");
    let path = b.param(Type::I32, true);
    let x = TYPES.map(|ty| b.param(ty, true));
    b.returns(&TYPES);
    let tests: Vec<_> = (0..k).map(|_| (b.block(), b.block())).collect();
    let join = b.block();
    let y = TYPES.map(|ty| b.block_param(join, ty));
    let z = [filler(&mut b, Opcode::Iadd, u, x[0], x[0]), x[1]];
    b.jump(tests[0].0, &[]);
    for (i, &(test, case)) in tests.iter().enumerate() {
        b.switch_to(test);
        let case_number = b.iconst(Type::I32, i as i128);
        let q = if d == 2 {
            let zero = b.iconst(Type::I32, 0);
            let distance = b.ins(Opcode::Isub, Type::I32, &[path, case_number]);
            b.icmp(IntCC::Eq, distance, zero)
        } else {
            b.icmp(IntCC::Eq, path, case_number)
        };
        let next = match tests.get(i + 1) {
            Some(&(next, _)) => BlockCall::from(next),
            None => BlockCall::new(join, &z),
        };
        b.terminate(Terminator::br(q, case, next));
        b.switch_to(case);
        let op = [Opcode::Bxor, Opcode::Isub, Opcode::Bor, Opcode::Smax][i % 4];
        let chain = i % 2;
        let mut out = z;
        out[chain] = filler(&mut b, op, n, z[chain], x[chain]);
        b.jump(join, &out);
    }
    b.switch_to(join);
    b.ret(&y);
    verified(b)
}

fn verified(b: FunctionBuilder) -> Function {
    let func = b.finish();
    debug_assert!(ir::verify(&func).is_ok());
    func
}

/// Runs a kernel under every check.
///
/// # Errors
/// How it ends, if not well.
pub fn checked(func: &Function, launch: &Launch, options: &ExecOptions) -> Result<Outcome, String> {
    let shape = LaunchShape::new(launch.grid, launch.block);
    run_under_claims(&[func], 0, launch, shape, options, true).map_err(|e| e.to_string())
}

/// Runs one warp in both modes; the first parameter is `first` of the lane, the
/// others are the lane itself.
///
/// # Errors
/// It does not end well, its lanes do not add up, or the modes differ.
pub fn warp(func: &Function, first: impl Fn(u128) -> u128) -> Result<Outcome, String> {
    let mut args = vec![Arg::Varying((0..32).collect()); func.params.len()];
    args[0] = Arg::Varying((0..32).map(first).collect());
    let launch = Launch::linear(1, 32).with_args(args);
    let run = |mode| {
        let options = ExecOptions {
            mode,
            ..ExecOptions::default()
        };
        let outcome = checked(func, &launch, &options)?;
        match outcome.counters.lanes_add_up() {
            true => Ok(outcome),
            false => Err("the lanes of all issues do not add up to 32 each".to_owned()),
        }
    };
    let (stack, its) = (run(Mode::Stack)?, run(Mode::Its)?);
    // C-77: all is the same, but for what only one of the modes has.
    let common = |o: &Outcome| {
        let rows = o.counters.rows().into_iter();
        let of_one = ["stack_", "joins_", "barrier_max_depth"];
        let both = rows.filter(|(name, _)| !of_one.iter().any(|p| name.starts_with(p)));
        both.collect::<Vec<_>>()
    };
    if common(&stack) != common(&its) {
        return Err("the modes count differently".to_owned());
    }
    let depth = stack.counters.divergent_branch.min(1);
    match its.counters.max_barrier_depth == depth {
        true => Ok(stack),
        false => Err(format!(
            "barriers nest to {}",
            its.counters.max_barrier_depth
        )),
    }
}
