//! Loads and stores: bounds, alignment, spaces, order of lanes, events.

mod support;
use support::*;
use warpfold_exec::{
    Event, EventKind, GLOBAL_BASE, LOCAL_BASE, Launch, Memory, Outcome, SHARED_BASE, events_of,
};
use warpfold_ir::{
    Function, FunctionBuilder, Imm, InstData, MemFlags, Opcode, Origin, SlotData, TrapCode, Type,
};

fn access(op: Opcode, ty: Type, flags: MemFlags, address: Type) -> Function {
    let mut f = FunctionBuilder::new("access");
    let a = f.param(address, true);
    let imm = Imm::Mem { flags, offset: 4 };
    f.set_origin(Origin::new(3, 9));
    if op.effects().writes {
        let x = f.param(ty, true);
        f.push(InstData::new(op, ty, &[x, a], imm));
        f.ret(&[]);
    } else {
        f.returns(&[ty]);
        let v = f.push(InstData::new(op, ty, &[a], imm)).unwrap();
        f.ret(&[v]);
    }
    f.finish()
}

fn with_memory(threads: u32, memory: Memory, args: Vec<warpfold_exec::Arg>) -> Launch {
    Launch {
        memory,
        ..Launch::linear(1, threads).with_args(args)
    }
}

fn traps(o: &Outcome) -> Vec<(u64, TrapCode, Option<u64>)> {
    o.traps
        .iter()
        .map(|t| (t.thread, t.code, t.address))
        .collect()
}

/// Loads of every width and extension, from 32-bit and 64-bit addresses.
#[test]
fn loads_extend() {
    use Opcode::*;
    let bytes: Vec<u8> = (0..200u32).map(|i| (i * 37 + 128) as u8).collect();
    for address in [Type::I32, I64] {
        for (op, ty, n, signed) in [
            (Load, Type::I8, 1, false),
            (Load, Type::I16, 2, false),
            (Load, I32, 4, false),
            (Load, I64, 8, false),
            (Load, Type::I128, 16, false),
            (Load, Type::F64, 8, false),
            (Uload8, I32, 1, false),
            (Sload8, I64, 1, true),
            (Uload16, I64, 2, false),
            (Sload16, I32, 2, true),
            (Uload32, I64, 4, false),
            (Sload32, I64, 4, true),
        ] {
            // Neighbours in lane order, and not.
            for stride in [n as u64, n as u64 + 1] {
                let mut memory = Memory::new();
                let base = memory.add(bytes.repeat(4), true);
                let a = varying(32, |t| (base + t * stride) as i64);
                let f = access(op, ty, MemFlags::NONE, address);
                let o = run_launch(&f, &with_memory(32, memory, vec![a])).unwrap();
                for t in 0..32u64 {
                    let at = (4 + t * stride) as usize;
                    let mut x = [0; 16];
                    let all = bytes.repeat(4);
                    x[..n].copy_from_slice(&all[at..at + n]);
                    if signed && x[n - 1] & 0x80 != 0 {
                        x[n..].fill(0xFF);
                    }
                    let expected = u128::from_le_bytes(x) & ty.mask();
                    let got = o.returns.get(t as usize);
                    assert_eq!(got, Some(&[expected][..]), "{op} {ty} lane {t}");
                }
            }
        }
    }
}

#[test]
fn stores_write_their_low_bytes() {
    use Opcode::*;
    for (op, ty, n) in [
        (Store, Type::I8, 1),
        (Store, Type::F32, 4),
        (Store, Type::I128, 16),
        (Istore8, I64, 1),
        (Istore16, I32, 2),
        (Istore32, I64, 4),
    ] {
        for threads in [32, 31] {
            let mut memory = Memory::new();
            let base = memory.add(vec![0xEE; 4 + 32 * 16 + 4], false);
            let value = |t: u64| 0x0102_0304_0506_0708u64.wrapping_mul(t + 3) as i64;
            let args = vec![
                varying(threads, |t| (base + t * n as u64) as i64),
                varying(threads, value),
            ];
            let f = access(op, ty, MemFlags::NONE, I64);
            let o = run_launch(&f, &with_memory(threads as u32, memory, args)).unwrap();
            let mut expected = vec![0xEE; 4 + 32 * 16 + 4];
            for t in 0..threads {
                let at = 4 + t as usize * n;
                let bytes = (value(t) as i128).to_le_bytes();
                expected[at..at + n].copy_from_slice(&bytes[..n]);
            }
            assert_eq!(o.memory.bytes(0), expected, "{op} {ty}, {threads} threads");
            assert_eq!(o.counters.global.stores.requests, 1);
        }
    }
}

#[test]
fn lanes_out_of_bounds_trap_and_the_others_go_on() {
    let mut memory = Memory::new();
    let base = memory.add(vec![7; 64], false);
    let f = access(Opcode::Load, I32, MemFlags::NONE, I64);
    // Lane t reads bytes 4 + 4t ..; the last that fits is lane 14. Lane 3 is
    // in front of the buffer, lane 4 wraps around the address space.
    let address = |t: u64| match t {
        3 => base as i64 - 8,
        4 => -6,
        t => (base + 4 * t) as i64,
    };
    let o = run_launch(&f, &with_memory(16, memory, vec![varying(16, address)])).unwrap();
    let oob = TrapCode::HeapOutOfBounds;
    assert_eq!(
        traps(&o),
        [
            (3, oob, Some(base - 4)),
            (4, oob, Some(u64::MAX - 1)),
            (15, oob, Some(base + 64)),
        ]
    );
    assert_eq!(returned(&o)[2..5], [Some(0x0707_0707), None, None]);
    assert_eq!(o.traps[0].origin, Origin::new(3, 9));
    assert_eq!(o.counters.global.loads.sectors, 2);
    assert_eq!(warps(&o), [(2, 16 + 13)]);
}

#[test]
fn every_lane_may_trap() {
    let f = access(Opcode::Load, I32, MemFlags::NONE, I64);
    let o = run_block(&f, 32, vec![varying(32, |t| t as i64)]).unwrap();
    assert_eq!(o.traps.len(), 32);
    assert_eq!(warps(&o), [(1, 32)]);
    assert_eq!(o.counters.global.loads.requests, 0);
}

#[test]
fn alignment_matters_where_it_is_demanded() {
    let run = |flags| {
        let mut memory = Memory::new();
        let base = memory.add(vec![0; 64], false);
        let f = access(Opcode::Load, I32, flags, I64);
        let a = varying(4, |t| (base + t) as i64);
        traps(&run_launch(&f, &with_memory(4, memory, vec![a])).unwrap())
    };
    assert_eq!(run(MemFlags::NONE), []);
    let bad = TrapCode::HeapMisaligned;
    let at = |t| Some(GLOBAL_BASE + 4 + t);
    assert_eq!(
        run(MemFlags::ALIGNED),
        [(1, bad, at(1)), (2, bad, at(2)), (3, bad, at(3))]
    );
    // Neighbours of a full warp, but all off by one.
    let mut memory = Memory::new();
    let base = memory.add(vec![0; 256], false);
    let f = access(Opcode::Load, I32, MemFlags::ALIGNED, I64);
    let a = varying(32, |t| (base + 4 * t + 1) as i64);
    let o = run_launch(&f, &with_memory(32, memory, vec![a])).unwrap();
    assert_eq!(o.traps.len(), 32);
}

#[test]
fn read_only_buffers_are_not_stored_to() {
    for threads in [32u64, 5] {
        let mut memory = Memory::new();
        let base = memory.add(vec![1; 256], true);
        let args = vec![
            varying(threads, |t| (base + 4 * t) as i64),
            varying(threads, |t| t as i64),
        ];
        let f = access(Opcode::Store, I32, MemFlags::NONE, I64);
        let o = run_launch(&f, &with_memory(threads as u32, memory, args)).unwrap();
        assert_eq!(o.traps.len() as u64, threads);
        assert_eq!(o.traps[0].code, TrapCode::HeapOutOfBounds);
        assert_eq!(o.memory.bytes(0), [1; 256]);
    }
}

#[test]
fn the_highest_lane_wins() {
    let mut memory = Memory::new();
    let base = memory.add(vec![0; 8], false);
    let args = vec![varying(32, |_| base as i64), varying(32, |t| t as i64 + 50)];
    let f = access(Opcode::Store, I32, MemFlags::NONE, I64);
    let o = run_launch(&f, &with_memory(32, memory, args)).unwrap();
    assert_eq!(o.memory.bytes(0), [0, 0, 0, 0, 81, 0, 0, 0]);
    assert_eq!(o.counters.global.stores.sectors, 1);
}

/// Each lane has slots of its own at the same addresses, apart from each other.
#[test]
fn stack_slots_are_per_lane() {
    let mut f = FunctionBuilder::new("slots");
    let x = f.param(I32, true);
    let over = f.param(I64, true);
    f.returns(&[I32, I64]);
    let slot = f.func_mut().slots.push(SlotData { size: 8, align: 8 });
    f.func_mut().slots.push(SlotData { size: 4, align: 4 });
    let imm = Imm::Slot { slot, offset: 4 };
    let a = f
        .push(InstData::new(Opcode::StackAddr, I64, &[], imm))
        .unwrap();
    store(&mut f, I32, x, a, 0);
    let y = load(&mut f, I32, a, 0);
    let b = f.ins(Opcode::Iadd, I64, &[a, over]);
    let z = load(&mut f, I32, b, -4);
    let sum = f.ins(Opcode::Iadd, I32, &[y, z]);
    f.ret(&[sum, a]);
    let args = vec![
        varying(40, |t| 3 * t as i64),
        varying(40, |t| if t == 9 { 8 } else { 0 }),
    ];
    let o = run_block(&f.finish(), 40, args).unwrap();
    for t in (0..40).filter(|&t| t != 9) {
        let expected = [3 * t as u128, u128::from(LOCAL_BASE + 4)];
        assert_eq!(o.returns.get(t), Some(&expected[..]));
    }
    assert_eq!(
        traps(&o),
        [(9, TrapCode::HeapOutOfBounds, Some(LOCAL_BASE + 8))]
    );
    let local = o.counters.local;
    assert_eq!(
        [
            local.stores.requests,
            local.stores.sectors,
            local.stores.lines
        ],
        [2, 5, 2]
    );
    assert_eq!(local.loads.requests, 4);
    assert_eq!(o.counters.global.loads.requests, 0);
}

#[test]
fn events_of_each_thread_in_order() {
    let mut f = FunctionBuilder::new("events");
    let a = f.param(I64, true);
    let x = f.param(I32, true);
    let at = |f: &mut FunctionBuilder, n: u32, op, flags, args: &[_]| {
        f.set_origin(Origin::new(n, 0));
        f.push(InstData::new(op, I32, args, Imm::Mem { flags, offset: 0 }))
    };
    at(&mut f, 1, Opcode::Load, MemFlags::CAN_MOVE, &[a]);
    let y = at(&mut f, 2, Opcode::Load, MemFlags::NONE, &[a]).unwrap();
    at(&mut f, 3, Opcode::Istore16, MemFlags::NONE, &[x, a]);
    at(&mut f, 4, Opcode::Load, MemFlags::VOLATILE, &[a]);
    f.set_origin(Origin::new(5, 0));
    let q = f.ins(Opcode::Udiv, I32, &[x, y]);
    at(&mut f, 6, Opcode::Store, MemFlags::VOLATILE, &[q, a]);
    f.ret(&[]);
    let mut memory = Memory::new();
    let base = memory.add(
        [2u32, 0].iter().flat_map(|x| x.to_le_bytes()).collect(),
        false,
    );
    let args = vec![
        varying(2, |t| (base + 4 * t) as i64),
        varying(2, |_| 0x0001_0010),
    ];
    let o = run_launch(&f.finish(), &with_memory(2, memory, args)).unwrap();
    let log = o.events.as_ref().unwrap();
    let of = |thread| -> Vec<(EventKind, u64, u32, u128, u32)> {
        let row = |e: &Event| (e.kind, e.address, e.bytes, e.value, e.origin.inst);
        events_of(log, thread).iter().map(row).collect()
    };
    use EventKind::*;
    assert_eq!(
        of(0),
        [
            (Load, base, 4, 2, 2),
            (Store, base, 2, 0x10, 3),
            (VolatileLoad, base, 4, 0x10, 4),
            (VolatileStore, base, 4, 0x8008, 6),
        ]
    );
    assert_eq!(
        of(1),
        [
            (Load, base + 4, 4, 0, 2),
            (Store, base + 4, 2, 0x10, 3),
            (VolatileLoad, base + 4, 4, 0x10, 4),
            (Trap(TrapCode::IntegerDivisionByZero), 0, 0, 0, 5),
        ]
    );
    assert_eq!(of(2), []);
}

/// A load or store of lanes that `on` switches, 4 bytes from the address each.
fn guarded_access(op: Opcode) -> Function {
    let mut f = FunctionBuilder::new("pattern");
    let a = f.param(I64, true);
    let on = f.param(PRED, true);
    let x = f.param(I32, true);
    f.set_guard(Some(warpfold_ir::Guard {
        pred: on,
        negated: false,
        otherwise: None,
    }));
    match op {
        Opcode::Store => store(&mut f, I32, x, a, 0),
        _ => {
            load(&mut f, I32, a, 0);
        }
    }
    f.set_guard(None);
    f.ret(&[]);
    f.finish()
}

/// Sectors or wavefronts, and how few it could be, by pattern and space.
#[test]
fn what_requests_take_and_what_they_could() {
    type Of = fn(u64) -> u64;
    let all = u32::MAX;
    // The pattern, the lanes; sectors and their ideal; wavefronts and theirs.
    let patterns: [(Of, u32, [u64; 4]); 8] = [
        (|t| 4 * t, all, [4, 4, 1, 1]),
        // Misaligned.
        (|t| 4 * t + 4, all, [5, 4, 1, 1]),
        // Strided.
        (|t| 8 * t, all, [8, 4, 2, 1]),
        (|t| 128 * t, all, [32, 4, 32, 1]),
        // Broadcast.
        (|_| 64, all, [1, 1, 1, 1]),
        (|t| 4 * (31 - t), all, [4, 4, 1, 1]),
        // Some lanes only.
        (|t| 4 * t, 0x0001_0001, [2, 1, 1, 1]),
        (|t| 32 * t, 0x3FF, [10, 2, 3, 1]),
    ];
    for (offset, lanes, [sectors, ideal, wavefronts, ideal_wavefronts]) in patterns {
        for op in [Opcode::Load, Opcode::Store] {
            let run = |base: Option<u64>| {
                let mut memory = Memory::new();
                let global = memory.add(vec![0; 8192], false);
                let base = base.unwrap_or(global);
                let args = vec![
                    varying(32, |t| (base + offset(t)) as i64),
                    pred(32, |t| lanes >> t & 1 == 1),
                    varying(32, |_| 0),
                ];
                let mut launch = with_memory(32, memory, args);
                launch.shared = 8192;
                run_launch(&guarded_access(op), &launch).unwrap().counters
            };
            let c = run(None);
            let (mine, other) = match op {
                Opcode::Store => (c.global.stores, c.global.loads),
                _ => (c.global.loads, c.global.stores),
            };
            assert_eq!(
                (mine.requests, mine.sectors, mine.ideal),
                (1, sectors, ideal)
            );
            assert_eq!(other, warpfold_exec::Transactions::default());
            let c = run(Some(SHARED_BASE));
            let mine = match op {
                Opcode::Store => c.shared.stores,
                _ => c.shared.loads,
            };
            let expected = (1, wavefronts, ideal_wavefronts);
            assert_eq!((mine.requests, mine.wavefronts, mine.ideal), expected);
        }
    }
}
