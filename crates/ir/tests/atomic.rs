//! What atomic accesses leave in memory, at the edges of every width.

use warpfold_ir::eval::atomic;
use warpfold_ir::{Opcode, Type};

const INTS: [Type; 5] = [Type::I8, Type::I16, Type::I32, Type::I64, Type::I128];

#[test]
fn updates() {
    for ty in INTS {
        let (low, all) = (1u128 << (ty.bits() - 1), ty.mask());
        for (op, old, x, new) in [
            (Opcode::AtomicAdd, all, 1, 0),
            (Opcode::AtomicAdd, all >> 1, 1, low),
            (Opcode::AtomicSub, 0, 1, all),
            (Opcode::AtomicSub, low, 1, all >> 1),
            (Opcode::AtomicAnd, all, low, low),
            (Opcode::AtomicNand, all, low, low - 1),
            (Opcode::AtomicNand, 0, all, all),
            (Opcode::AtomicOr, low, 1, low | 1),
            (Opcode::AtomicXor, all, all, 0),
            (Opcode::AtomicXchg, all, low, low),
            (Opcode::AtomicUmin, low, 1, 1),
            (Opcode::AtomicUmax, low, 1, low),
            (Opcode::AtomicSmin, low, 1, low),
            (Opcode::AtomicSmax, low, 1, 1),
            (Opcode::AtomicSmin, 0, all, all),
            (Opcode::AtomicSmax, all, 0, 0),
        ] {
            assert_eq!(atomic(op, ty, old, &[x, 0]), Some(new), "{op}.{ty}");
        }
        assert_eq!(atomic(Opcode::AtomicStore, ty, low, &[7, 0]), Some(7));
        let cas = |old, expected| atomic(Opcode::AtomicCas, ty, old, &[expected, low, 0]);
        assert_eq!(cas(all, all), Some(low));
        assert_eq!(cas(all, all - 1), None);
        assert_eq!(atomic(Opcode::AtomicLoad, ty, all, &[0]), None);
        assert_eq!(atomic(Opcode::Iadd, ty, all, &[1, 1]), None);
    }
}

/// Every opcode with an atomic form has a meaning here, and no other.
#[test]
fn the_table_is_covered() {
    for &op in Opcode::ALL {
        let writes = op.effects().writes && op.shape().is_atomic();
        let new = atomic(op, Type::I32, 1, &[1, 2]);
        assert_eq!(new.is_some(), writes, "{op}");
        if op.shape().is_atomic() {
            assert_eq!(op.access(Type::I64), Some((8, false)), "{op}");
            assert!(op.may_be_guarded() && op.effects().traps, "{op}");
        }
    }
}
