//! Functions that several tests look at.
#![allow(dead_code)]

use warpfold_ir::{
    FloatCC, Function, FunctionBuilder, Guard, Imm, ImmKind, InstData, IntCC, MemFlags, Opcode,
    Operand, Origin, SlotData, TrapCode, Type, Value,
};

/// A text with every construct of the language, exactly as it is printed.
pub const SAMPLE: &str = "\
function %sample(i64, i32 varying, pred varying) -> i32, pred {
    ss0 = slot 16, align 4
    ss1 = slot 0, align 1

block0(v0: i64, v1: i32, v2: pred):
    v3 = const.i32 -5
    v4 = const.f32 -0.0
    v5 = const.f64 nan:0x7ff8000000000001
    v6 = const.pred true
    v7 = poison.i128
    v8 = stack_addr.i64 ss0+8 @4294967294:0
    v9 = lane_id
    v10 = load.i32 notrap aligned can_move readonly volatile v0+8 if v2 else v3 @3:14
    v11 = icmp.i32 slt v1, v10
    v12 = fcmp.f32 uno v4, v4 if !v11
    store.i32 v10, v8-8 if !v2
    v13 = and v11, v2 if v6 else v2
    exit if v13 @7:21
    trap if !v13, heap_oob
    v14 = const.f64 -inf
    v15 = const.f32 1e-45
    v16 = const.f16 nan:0xfe01
    v17 = load.f16 notrap big user3 v0
    v18 = atomic_cas.i32 big stk_ovf v1, v3, v0-4 if v2 else v3
    atomic_store.i32 v18, v8
    fence
    barrier
    v19 = const.i64 -9223372036854775808
    br uniform decided v11, block2(v3, v6), block7 @8:22

block7:
    switch v9, [block2(v1, v2), block3, block2(v3, v2)], block3 @9:23

block3:
    trap user255

block2(v20: i32, v21: pred):
    jump block5(v20)

block5(v22: i32):
    v23 = vote_any v21
    v24 = shfl_bfly.i32 v22, v9
    br v23, block5(v24), block6

block6:
    switch decided v22, [], block8

block8:
    ret v22, v21 @10:30
}

function %calls(i64, i32 varying) -> i32, f64 {
    ss0 = slot 4, align 4
    sig0 = (i32, pred) -> i32, f64
    sig1 = ()
    fn0 = %callee(i32) -> i32, pred
    fn1 = %\"an odd name\"()
    fn2 = %other(i32, f64) -> i32, f64

block0(v0: i64, v1: i32):
    v2 = func_addr.i64 fn0 @1:2
    v3, v4 = call fn0(v1) @2:3
    call fn1()
    v5, v6 = call_indirect sig0, v0(v3, v4) @3:4
    call_indirect sig1, v2()
    br v4, block1, block2

block1:
    return_call fn2(v5, v6) @4:5

block2:
    return_call_indirect sig0, v2(v5, v4)
}

function %\"a name\\twith \\\"odd\\\" letters \\u{e9}\"() {
block0:
    ret
}
";

/// Values of every type, in the order of [`Type::ALL`], as parameters.
fn builder(name: &str) -> (FunctionBuilder, Vec<Value>) {
    let mut b = FunctionBuilder::new(name);
    let values = Type::ALL.iter().map(|&ty| b.param(ty, true)).collect();
    (b, values)
}

fn value_of(values: &[Value], ty: Type) -> Value {
    let at = Type::ALL.iter().position(|&t| t == ty).expect("a type");
    values[at]
}

/// The immediates of an opcode worth trying.
fn immediates(op: Opcode, ty: Type) -> Vec<Imm> {
    match op.shape().imm() {
        ImmKind::None => vec![Imm::None],
        ImmKind::Bits => {
            let mut bits = vec![0, 1, ty.mask(), ty.mask() >> 1, (ty.mask() >> 1) + 1];
            match ty {
                Type::F16 => bits.extend([0x3e00, 0x0001, 0x7bff, 0x7c00, 0xfc00, 0x8000, 0xfc01]),
                Type::F32 => {
                    let xs = [
                        1.5f32,
                        0.1,
                        1e-45,
                        f32::MAX,
                        f32::INFINITY,
                        -f32::INFINITY,
                        -0.0,
                    ];
                    bits.extend(xs.map(|x| u128::from(x.to_bits())));
                    bits.push(0x7fc0_0000);
                }
                Type::F64 => {
                    let xs = [
                        1.5f64,
                        0.1,
                        5e-324,
                        f64::MAX,
                        f64::INFINITY,
                        -f64::INFINITY,
                        -0.0,
                    ];
                    bits.extend(xs.map(|x| u128::from(x.to_bits())));
                    bits.push(0xfff0_0000_0000_0001);
                }
                _ => {}
            }
            bits.into_iter().map(|b| Imm::Bits(b & ty.mask())).collect()
        }
        ImmKind::Icc => IntCC::ALL.iter().map(|&cc| Imm::Icc(cc)).collect(),
        ImmKind::Fcc => FloatCC::ALL.iter().map(|&cc| Imm::Fcc(cc)).collect(),
        ImmKind::Mem => [0, 8, -8, i32::MAX, i32::MIN]
            .into_iter()
            .enumerate()
            .map(|(i, offset)| {
                let mut flags = MemFlags::NONE;
                for (k, (flag, _)) in MemFlags::NAMED.into_iter().enumerate() {
                    if k <= i && i != 4 {
                        flags = flags | flag;
                    }
                }
                if i == 1 {
                    flags = flags.with_code(TrapCode::User(7));
                }
                Imm::Mem { flags, offset }
            })
            .collect(),
        ImmKind::Slot => [0, 1, 16]
            .into_iter()
            .map(|offset| Imm::Slot {
                slot: warpfold_ir::Slot::from_u32(0),
                offset,
            })
            .collect(),
        ImmKind::Func => vec![Imm::Func(warpfold_ir::FuncRef::from_u32(0))],
        ImmKind::Sig => vec![Imm::Sig(warpfold_ir::SigRef::from_u32(0))],
        ImmKind::Trap => {
            use TrapCode::*;
            [
                StackOverflow,
                HeapOutOfBounds,
                HeapMisaligned,
                IntegerOverflow,
                IntegerDivisionByZero,
                BadConversionToInteger,
                User(0),
                User(255),
            ]
            .map(Imm::Trap)
            .to_vec()
        }
    }
}

/// Every way to fill the operands of `op` at type `ty`.
fn operand_lists(op: Opcode, ty: Type, values: &[Value]) -> Vec<Vec<Value>> {
    let mut lists = vec![Vec::new()];
    let operands = op.shape().operands();
    for operand in operands {
        let choices: Vec<_> = Type::ALL
            .into_iter()
            .filter(|&t| operand.accepts(ty, t))
            .collect();
        lists = lists
            .into_iter()
            .flat_map(|list| {
                choices.iter().map(move |&t| {
                    let mut longer = list.clone();
                    longer.push(value_of(values, t));
                    longer
                })
            })
            .collect();
    }
    match op.shape().optional() {
        0 => {}
        n => lists.push(values_of(&operands[..operands.len() - n], ty, values)),
    }
    lists
}

/// The first way to fill these operands.
fn values_of(operands: &[Operand], ty: Type, values: &[Value]) -> Vec<Value> {
    let accepted = |o: &Operand| Type::ALL.into_iter().find(|&t| o.accepts(ty, t));
    let types = operands.iter().filter_map(accepted);
    types.map(|t| value_of(values, t)).collect()
}

/// A verified function with an opcode in every form it has: each type, operand
/// types, immediate and kind of guard.
pub fn every_form_of(op: Opcode) -> Function {
    let (mut b, values) = builder(op.mnemonic());
    b.func_mut().slots.push(SlotData { size: 16, align: 8 });
    b.callee("helper", &[], &[Type::I32, Type::Pred]);
    b.signature(&[], &[Type::F64]);
    let pred = value_of(&values, Type::Pred);
    let mut number = 0;
    for ty in Type::ALL.into_iter().filter(|&t| op.accepts(t)) {
        for args in operand_lists(op, ty, &values) {
            for imm in immediates(op, ty) {
                let plain = InstData::new(op, ty, &args, imm);
                let mut guards = Vec::new();
                if !op.must_be_guarded() {
                    guards.push(None);
                }
                if op.may_be_guarded() {
                    let otherwise = plain.result_type().map(|t| value_of(&values, t));
                    for (negated, otherwise) in [(false, None), (true, None), (true, otherwise)] {
                        guards.push(Some(Guard {
                            pred,
                            negated,
                            otherwise,
                        }));
                    }
                }
                for guard in guards {
                    number += 1;
                    let mut data = plain.clone().at(Origin::new(number, number * 2));
                    data.guard = guard;
                    if number % 3 == 0 {
                        data.origin = Origin::NONE;
                    }
                    b.push(data);
                }
            }
        }
    }
    assert!(number > 0, "{op} has no valid form");
    b.ret(&[]);
    b.finish()
}
