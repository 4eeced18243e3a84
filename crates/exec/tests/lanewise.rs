//! Every lane-wise opcode, at every type, under every kind of mask, against
//! the scalar evaluator of the IR.

use proptest::prelude::*;
use warpfold_exec::{Arg, ExecOptions, Launch, Outcome, run};
use warpfold_ir::{
    BlockCall, CostClass, FloatCC, Function, FunctionBuilder, Guard, Imm, ImmKind, InstData, IntCC,
    Opcode, Operand, Shape, TrapCode, Type, eval::eval,
};

/// One instruction to try: opcode, type, operand types, immediate.
#[derive(Clone, Debug)]
struct Case {
    op: Opcode,
    ty: Type,
    operands: Vec<Type>,
    imm: Imm,
}

fn operand_types(operand: Operand, ty: Type) -> Vec<Type> {
    let fits = |t: &Type| match operand {
        Operand::Same => *t == ty,
        Operand::Pred => *t == Type::Pred,
        Operand::I32 => *t == Type::I32,
        Operand::Addr => matches!(t, Type::I32 | Type::I64),
        Operand::AnyInt => t.is_int(),
        Operand::NarrowerInt => t.is_int() && t.bits() < ty.bits(),
        Operand::WiderInt => t.is_int() && t.bits() > ty.bits(),
        Operand::AnyFloat => t.is_float(),
        Operand::NarrowerFloat => t.is_float() && t.bits() < ty.bits(),
        Operand::WiderFloat => t.is_float() && t.bits() > ty.bits(),
        Operand::SameWidth => *t != ty && t.bits() == ty.bits(),
    };
    Type::ALL.into_iter().filter(fits).collect()
}

fn cases() -> Vec<Case> {
    let mut out = Vec::new();
    for &op in Opcode::ALL {
        let shape = op.shape();
        let e = op.effects();
        let sees_more = e.reads || e.writes || e.convergent || e.retires;
        let constant = op.cost_class(Type::I32) == CostClass::Const;
        if sees_more || constant || shape == Shape::Id {
            continue;
        }
        for ty in Type::ALL {
            if !shape.types().contains(ty) {
                continue;
            }
            // At most one operand has a choice of types.
            let choices: Vec<Vec<Type>> = shape
                .operands()
                .iter()
                .map(|&o| operand_types(o, ty))
                .collect();
            let most = choices.iter().map(Vec::len).max().unwrap_or(0);
            let imms: Vec<Imm> = match shape.imm() {
                ImmKind::Icc => IntCC::ALL.iter().map(|&c| Imm::Icc(c)).collect(),
                ImmKind::Fcc => FloatCC::ALL.iter().map(|&c| Imm::Fcc(c)).collect(),
                _ => vec![Imm::None],
            };
            for k in 0..most {
                let pick = |c: &Vec<Type>| c.get(k).or(c.first()).copied();
                let Some(operands) = choices.iter().map(pick).collect::<Option<Vec<_>>>() else {
                    continue;
                };
                for &imm in &imms {
                    out.push(Case {
                        op,
                        ty,
                        operands: operands.clone(),
                        imm,
                    });
                }
            }
        }
    }
    out
}

/// The instruction under a guard with `else`, or in the arm of a branch.
fn kernel(case: &Case, guarded: bool) -> Function {
    let mut f = FunctionBuilder::new("case");
    let p = f.param(Type::Pred, true);
    let mut data = InstData::new(case.op, case.ty, &[], case.imm);
    for &t in &case.operands {
        data.args.push(f.param(t, true));
    }
    let result = data.result_type().unwrap();
    let old = f.param(result, true);
    f.returns(&[result]);
    if guarded {
        let guard = Guard {
            pred: p,
            negated: false,
            otherwise: Some(old),
        };
        let r = f.push(data.guarded(guard)).unwrap();
        f.ret(&[r]);
    } else {
        let (a, j) = (f.block(), f.block());
        let y = f.block_param(j, result);
        f.br(p, a, BlockCall::new(j, &[old]));
        f.switch_to(a);
        let r = f.push(data).unwrap();
        f.jump(j, &[r]);
        f.switch_to(j);
        f.ret(&[y]);
    }
    f.finish()
}

/// Numbers in which the edges of every type are common.
fn number(state: &mut u64, ty: Type) -> u128 {
    let mut next = || {
        *state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        *state >> 33
    };
    let kind = next() % 8;
    let word = u128::from(next()) << 93
        | u128::from(next()) << 62
        | u128::from(next()) << 31
        | u128::from(next());
    let bits = match (ty, kind) {
        (Type::F16, 0) => {
            u128::from(warpfold_ir::lane::f16::from_f32(word as i8 as f32 / 8.0).to_bits())
        }
        (Type::F16, 1) => word & 0x83ff,
        (Type::F16, 2) => [0, 0x8000, 0x7e00, 0x7c00, 0xfc00][(word % 5) as usize],
        (Type::F32, 0) => u128::from((word as i8 as f32).to_bits()),
        (Type::F32, 1) => u128::from((word as i64 as f32 / 3.0).to_bits()),
        (Type::F64, 0) => u128::from((word as i8 as f64 / 4.0).to_bits()),
        (Type::F64, 1) => u128::from((word as i64 as f64).to_bits()),
        (Type::F32, 2) => u128::from(
            [0.0f32, -0.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY][(word % 5) as usize]
                .to_bits(),
        ),
        (Type::F64, 2) => u128::from(
            [0.0f64, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY][(word % 5) as usize]
                .to_bits(),
        ),
        (_, 3) => 0,
        (_, 4) => u128::MAX,
        (_, 5) => 1 << (ty.bits() - 1),
        (_, 6) => word % 70,
        _ => word,
    };
    bits & ty.mask()
}

/// NaN payloads of arithmetic may depend on the operand order that the
/// compiler chose.
fn canonical(ty: Type, bits: u128) -> u128 {
    match ty {
        Type::F16 if bits & 0x7fff > 0x7c00 => 0x7e00,
        Type::F32 if f32::from_bits(bits as u32).is_nan() => u128::from(f32::NAN.to_bits()),
        Type::F64 if f64::from_bits(bits as u64).is_nan() => u128::from(f64::NAN.to_bits()),
        _ => bits,
    }
}

fn check(case: &Case, mask: u32, threads: usize, seed: u64) {
    let mut state = seed ^ ((case.op as u64) << 32);
    let result = InstData::new(case.op, case.ty, &[], case.imm)
        .result_type()
        .unwrap();
    let operands: Vec<Vec<u128>> = case
        .operands
        .iter()
        .map(|&t| (0..threads).map(|_| number(&mut state, t)).collect())
        .collect();
    let old: Vec<u128> = (0..threads).map(|_| number(&mut state, result)).collect();
    let on = |t: usize| mask >> t & 1 == 1;
    let mut args = vec![Arg::Varying(
        (0..threads).map(|t| u128::from(on(t))).collect(),
    )];
    args.extend(operands.iter().cloned().map(Arg::Varying));
    args.push(Arg::Varying(old.clone()));
    let launch = Launch::linear(1, threads as u32).with_args(args);
    let scalar = InstData::new(case.op, case.ty, &[], case.imm);
    let expected: Vec<Result<u128, TrapCode>> = (0..threads)
        .map(|t| {
            if !on(t) {
                return Ok(old[t]);
            }
            let args: Vec<u128> = operands.iter().map(|o| o[t]).collect();
            eval(&scalar, &case.operands, &args).expect("a lane-wise opcode")
        })
        .collect();
    for guarded in [true, false] {
        let outcome = run(&kernel(case, guarded), &launch, &ExecOptions::default()).unwrap();
        compare(case, result, &expected, &outcome, guarded);
    }
}

fn compare(
    case: &Case,
    result: Type,
    expected: &[Result<u128, TrapCode>],
    outcome: &Outcome,
    guarded: bool,
) {
    let name = |t| format!("{case:?} guarded {guarded} thread {t}");
    assert!(outcome.counters.lanes_add_up());
    for (t, expected) in expected.iter().enumerate() {
        let got = outcome.returns.get(t).map(|r| r[0]);
        match *expected {
            Ok(bits) => {
                let got = got.unwrap_or_else(|| panic!("{} trapped", name(t)));
                let (want, got) = (canonical(result, bits), canonical(result, got));
                assert_eq!(got, want, "{}: {got:#x} for {want:#x}", name(t));
            }
            Err(code) => {
                assert_eq!(got, None, "{}", name(t));
                let trap = outcome.traps.iter().find(|r| r.thread == t as u64).unwrap();
                assert_eq!(trap.code, code, "{}", name(t));
            }
        }
    }
    let traps = expected.iter().filter(|e| e.is_err()).count();
    assert_eq!(outcome.traps.len(), traps);
}

#[test]
fn the_cases_cover_every_lane_wise_opcode() {
    let cases = cases();
    let mut ops: Vec<Opcode> = cases.iter().map(|c| c.op).collect();
    ops.dedup();
    assert_eq!(ops.first(), Some(&Opcode::Copy));
    assert_eq!(ops.last(), Some(&Opcode::Not));
    assert!(ops.len() >= 70, "{} opcodes", ops.len());
    assert!(cases.len() > 450, "{} cases", cases.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn lanes_agree_with_the_scalar_evaluator(
        seed: u64,
        mask in prop_oneof![Just(u32::MAX), Just(0), Just(1 << 31), any::<u32>()],
        threads in prop_oneof![Just(32usize), 1usize..=32],
    ) {
        for case in cases() {
            check(&case, mask, threads, seed);
        }
    }
}
