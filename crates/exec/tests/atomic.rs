//! Atomics: lane order, guards, alignment, spaces, byte order, events, counters.

mod support;
use support::*;
use warpfold_exec::{EventKind, GLOBAL_BASE, Launch, Memory, Outcome, SHARED_BASE, events_of};
use warpfold_ir::{
    CounterClass, Function, FunctionBuilder, Guard, Imm, InstData, MemFlags, Opcode, SlotData,
    TrapCode, Type,
};

const INTS: [Type; 5] = [Type::I8, Type::I16, I32, I64, Type::I128];

/// `op` on varying operands `x`, `y`, at a varying address; in the lanes where
/// a varying predicate holds.
fn kernel(op: Opcode, ty: Type, flags: MemFlags, address: Type) -> Function {
    let mut f = FunctionBuilder::new("atomic");
    let on = f.param(Type::Pred, true);
    let mut data = InstData::new(op, ty, &[], Imm::Mem { flags, offset: 16 });
    for _ in 1..op.shape().operands().len() {
        data.args.push(f.param(ty, true));
    }
    data.args.push(f.param(address, true));
    let old = data.result_type().map(|ty| f.param(ty, true));
    data.guard = Some(Guard {
        pred: on,
        negated: false,
        otherwise: old,
    });
    f.returns(&data.result_type().into_iter().collect::<Vec<_>>());
    let result = f.push(data);
    f.ret(&result.into_iter().collect::<Vec<_>>());
    f.finish()
}

fn with_memory(
    threads: u32,
    bytes: Vec<u8>,
    readonly: bool,
    args: Vec<warpfold_exec::Arg>,
) -> Launch {
    let mut memory = Memory::new();
    memory.add(bytes, readonly);
    Launch {
        memory,
        ..Launch::linear(1, threads).with_args(args)
    }
}

fn word(o: &Outcome, at: usize, n: usize) -> u128 {
    let mut le = [0; 16];
    le[..n].copy_from_slice(&o.memory.bytes(0)[at..at + n]);
    u128::from_le_bytes(le)
}

/// All lanes on one word: each sees what the lanes before it left; lanes whose
/// guard is false have no part in it.
#[test]
fn lanes_go_in_order() {
    for (address, ty) in [(I64, I32), (I32, I64), (I64, Type::I128), (I64, Type::I8)] {
        let f = kernel(Opcode::AtomicAdd, ty, MemFlags::NONE, address);
        let on = |t: u64| t % 3 != 1;
        let args = vec![
            varying(32, |t| on(t).into()),
            varying(32, |t| t as i64 + 1),
            varying(32, |_| GLOBAL_BASE as i64),
            varying(32, |t| 100 + t as i64),
        ];
        let o = run_launch(&f, &with_memory(32, vec![0; 64], false, args)).unwrap();
        let mut sum = 0u128;
        for t in 0..32 {
            let want = if on(t) { sum } else { u128::from(100 + t) };
            assert_eq!(
                o.returns.get(t as usize).unwrap()[0],
                want & ty.mask(),
                "{ty} {t}"
            );
            sum += if on(t) { u128::from(t + 1) } else { 0 };
        }
        assert_eq!(word(&o, 16, ty.bytes() as usize), sum & ty.mask());
        assert_eq!(o.counters.counter_class(CounterClass::Atomic), 1);
        assert_eq!(o.counters.global.atomics.requests, 1);
        assert_eq!(o.counters.global.atomics.sectors, 1);
        assert_eq!(o.counters.global.loads.requests, 0);
        assert_eq!(o.counters.global.stores.requests, 0);
    }
}

/// Every opcode at every width, lane by lane on words of its own, against the
/// scalar meaning; in both byte orders.
#[test]
fn every_opcode_and_width() {
    let atomics = Opcode::ALL.iter().filter(|o| o.shape().is_atomic());
    for &op in atomics {
        for ty in INTS {
            for flags in [MemFlags::NONE, MemFlags::BIG] {
                let n = ty.bytes() as usize;
                let number = |t: u64, k: u64| {
                    let x = u128::from(t.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> k);
                    match t % 4 {
                        0 => x & ty.mask(),
                        1 => 1 << (ty.bits() - 1),
                        2 => ty.mask(),
                        _ => u128::from(t / 4 % 2),
                    }
                };
                let mut bytes = vec![0; 16];
                for t in 0..32 {
                    let mut b = number(t, 3).to_le_bytes()[..n].to_vec();
                    if flags.contains(MemFlags::BIG) {
                        b.reverse();
                    }
                    bytes.extend(b);
                }
                let operands = op.shape().operands().len() as u64 - 1;
                let mut args = vec![varying(32, |_| 1)];
                for k in 0..operands {
                    let values = (0..32).map(|t| number(t + k, 3 - k)).collect();
                    args.push(warpfold_exec::Arg::Varying(values));
                }
                args.push(varying(32, |t| (GLOBAL_BASE + t * n as u64) as i64));
                let yields = op.effects().reads;
                if yields {
                    args.push(varying(32, |_| 0));
                }
                let f = kernel(op, ty, flags, I64);
                let o = run_launch(&f, &with_memory(32, bytes, false, args)).unwrap();
                for t in 0..32u64 {
                    let old = number(t, 3);
                    let values: Vec<_> = (0..operands).map(|k| number(t + k, 3 - k)).collect();
                    let new = warpfold_ir::eval::atomic(op, ty, old, &values).unwrap_or(old);
                    let mut b = word(&o, 16 + t as usize * n, n).to_le_bytes();
                    if flags.contains(MemFlags::BIG) {
                        b[..n].reverse();
                    }
                    let name = format!("{op}.{ty} lane {t}");
                    assert_eq!(u128::from_le_bytes(b), new, "{name}");
                    if yields {
                        assert_eq!(o.returns.get(t as usize).unwrap()[0], old, "{name}");
                    }
                }
            }
        }
    }
}

#[test]
fn compare_and_swap_succeeds_once() {
    // All lanes try to put their number where 0 is: the first that is on does.
    let f = kernel(Opcode::AtomicCas, I32, MemFlags::NONE, I64);
    let args = vec![
        varying(32, |t| (t >= 5).into()),
        varying(32, |_| 0),
        varying(32, |t| t as i64),
        varying(32, |_| GLOBAL_BASE as i64),
        varying(32, |_| -1),
    ];
    let o = run_launch(&f, &with_memory(32, vec![0; 32], false, args)).unwrap();
    assert_eq!(word(&o, 16, 4), 5);
    let seen: Vec<_> = (4..8)
        .map(|t| o.returns.get(t).unwrap()[0] as u32 as i32)
        .collect();
    assert_eq!(seen, [-1, 0, 5, 5]);
}

/// Misaligned, outside, and read-only: the lane traps and moves nothing; the
/// others go on. Only what writes needs memory that can be written.
#[test]
fn failing_lanes_trap() {
    for op in [
        Opcode::AtomicLoad,
        Opcode::AtomicStore,
        Opcode::AtomicXor,
        Opcode::AtomicCas,
    ] {
        for (flags, oob) in [
            (MemFlags::NONE, TrapCode::HeapOutOfBounds),
            (
                MemFlags::NONE.with_code(TrapCode::User(9)),
                TrapCode::User(9),
            ),
        ] {
            for readonly in [false, true] {
                let f = kernel(op, I32, flags, I64);
                let mut args = vec![varying(4, |_| 1)];
                for _ in 1..op.shape().operands().len() {
                    args.push(varying(4, |_| 0));
                }
                let base = GLOBAL_BASE as i64;
                args.push(varying(4, |t| {
                    [base, base + 2, base + 16, base - 20][t as usize]
                }));
                if op.effects().reads {
                    args.push(varying(4, |_| 0));
                }
                let o = run_launch(&f, &with_memory(4, vec![7; 32], readonly, args)).unwrap();
                let traps: Vec<_> = o.traps.iter().map(|t| (t.thread, t.code)).collect();
                let mut want = vec![(1, TrapCode::HeapMisaligned), (2, oob), (3, oob)];
                if readonly && op.effects().writes {
                    want.insert(0, (0, oob));
                }
                assert_eq!(traps, want, "{op} readonly {readonly}");
                assert_eq!(word(&o, 20, 4), 0x0707_0707);
            }
        }
    }
}

/// Misaligned by one byte at each width; bytes cannot be.
#[test]
fn every_width_demands_its_alignment() {
    for ty in INTS {
        let f = kernel(Opcode::AtomicOr, ty, MemFlags::NONE, I64);
        let args = vec![
            varying(1, |_| 1),
            varying(1, |_| -1),
            varying(1, |_| GLOBAL_BASE as i64 + i64::from(ty.bytes()) / 2),
            varying(1, |_| 0),
        ];
        let o = run_launch(&f, &with_memory(1, vec![0; 64], false, args)).unwrap();
        assert_eq!(o.traps.is_empty(), ty == Type::I8, "{ty}");
    }
}

#[test]
fn shared_and_local_memory() {
    let mut f = FunctionBuilder::new("spaces");
    let slot = f.func_mut().slots.push(SlotData { size: 8, align: 8 });
    f.returns(&[I32, I32]);
    let imm = Imm::Mem {
        flags: MemFlags::NONE,
        offset: 0,
    };
    let lane = f.ins(Opcode::LaneId, I32, &[]);
    let shared = f.ins(Opcode::SharedBase, I64, &[]);
    let local = f
        .push(InstData::new(
            Opcode::StackAddr,
            I64,
            &[],
            Imm::Slot { slot, offset: 4 },
        ))
        .unwrap();
    f.push(InstData::new(Opcode::AtomicSmax, I32, &[lane, shared], imm));
    f.push(InstData::new(Opcode::AtomicAdd, I32, &[lane, local], imm));
    f.push(InstData::new(Opcode::Fence, I32, &[], Imm::None));
    let a = f
        .push(InstData::new(Opcode::AtomicLoad, I32, &[shared], imm))
        .unwrap();
    let b = f
        .push(InstData::new(Opcode::AtomicLoad, I32, &[local], imm))
        .unwrap();
    f.ret(&[a, b]);
    let launch = Launch {
        shared: 4,
        ..Launch::linear(1, 32)
    };
    let o = run_launch(&f.finish(), &launch).unwrap();
    for t in 0..32u128 {
        assert_eq!(o.returns.get(t as usize).unwrap(), &[31, t]);
    }
    let c = &o.counters;
    assert_eq!(
        (c.shared.atomics.requests, c.local.atomics.requests),
        (2, 2)
    );
    assert_eq!(c.shared.atomics.conflicts, 0);
    assert_eq!(c.counter_class(CounterClass::Atomic), 4);
    assert_eq!(c.counter_class(CounterClass::Mem), 1, "the fence");
    assert_eq!(SHARED_BASE % 4, 0);
}

/// The log has the operand of an update, not what it found.
#[test]
fn events() {
    let mut f = FunctionBuilder::new("events");
    let a = f.param(I64, false);
    let x = f.param(I32, true);
    let zero = f.iconst(I32, 0);
    let imm = Imm::Mem {
        flags: MemFlags::CAN_MOVE,
        offset: 0,
    };
    f.push(InstData::new(Opcode::AtomicAdd, I32, &[x, a], imm));
    f.push(InstData::new(Opcode::AtomicLoad, I32, &[a], imm));
    f.push(InstData::new(Opcode::AtomicCas, I32, &[zero, x, a], imm));
    f.push(InstData::new(Opcode::AtomicStore, I32, &[x, a], imm));
    f.ret(&[]);
    let args = vec![
        warpfold_exec::Arg::Uniform(GLOBAL_BASE.into()),
        varying(2, |t| 10 + t as i64),
    ];
    let o = run_launch(&f.finish(), &with_memory(2, vec![0; 4], false, args)).unwrap();
    let log = o.events.as_ref().unwrap();
    for t in 0..2 {
        let of: Vec<_> = events_of(log, t)
            .iter()
            .map(|e| (e.kind, e.value))
            .collect();
        let x = u128::from(10 + t);
        assert_eq!(
            of,
            [
                (EventKind::AtomicUpdate, x),
                (EventKind::AtomicLoad, 21),
                (EventKind::AtomicUpdate, x),
                (EventKind::AtomicStore, x),
            ]
        );
    }
}

/// Plain accesses in the other byte order: whole and narrow, sign-extended,
/// floats, neighbours in lane order or not.
#[test]
fn big_endian_loads_and_stores() {
    for (load, store, ty, n, signed) in [
        (Opcode::Load, Opcode::Store, I32, 4, false),
        (Opcode::Load, Opcode::Store, Type::F16, 2, false),
        (Opcode::Load, Opcode::Store, Type::F64, 8, false),
        (Opcode::Load, Opcode::Store, Type::I128, 16, false),
        (Opcode::Sload16, Opcode::Istore16, I64, 2, true),
        (Opcode::Uload32, Opcode::Istore32, I64, 4, false),
    ] {
        for pad in [0, 3] {
            let mut f = FunctionBuilder::new("big");
            let a = f.param(I64, true);
            let b = f.param(I64, true);
            f.returns(&[ty]);
            let imm = Imm::Mem {
                flags: MemFlags::BIG,
                offset: 0,
            };
            let v = f.push(InstData::new(load, ty, &[a], imm)).unwrap();
            f.push(InstData::new(store, ty, &[v, b], imm));
            f.ret(&[v]);
            let bytes: Vec<u8> = (0..1300u32).map(|i| (i * 29 + 0x81) as u8).collect();
            let at = |t: u64, from: u64| (from + t * (n as u64 + pad)) as i64;
            let args = vec![
                varying(32, |t| at(t, GLOBAL_BASE)),
                varying(32, |t| at(t, GLOBAL_BASE + 650)),
            ];
            let o = run_launch(&f.finish(), &with_memory(32, bytes.clone(), false, args)).unwrap();
            for t in 0..32u64 {
                let from = (t * (n as u64 + pad)) as usize;
                let raw = &bytes[from..from + n];
                let mut be = if signed && raw[0] >> 7 == 1 {
                    [0xff; 16]
                } else {
                    [0; 16]
                };
                be[16 - n..].copy_from_slice(raw);
                let want = u128::from_be_bytes(be) & ty.mask();
                assert_eq!(o.returns.get(t as usize).unwrap()[0], want, "{load}.{ty}");
                assert_eq!(&o.memory.bytes(0)[650 + from..650 + from + n], raw);
            }
        }
    }
}
