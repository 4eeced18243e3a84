//! Functions damaged at random.

use cranelift_entity::EntityRef;
use proptest::prelude::*;

use super::parse;
use crate::codes::TrapCode;
use crate::entities::{Block, Inst, Slot, Value};
use crate::function::{BlockCall, Function, Guard, Imm, InstData, SlotData, Terminator};
use crate::opcode::Opcode;
use crate::types::Type;
use crate::verify::verify;

/// Numbers in range, just out of it, and far out.
fn number() -> impl Strategy<Value = u32> {
    prop_oneof![6 => 0u32..12, 2 => 12u32..40, 1 => Just(u32::MAX - 1), 1 => any::<u32>()]
        .prop_map(|n| n.min(u32::MAX - 1))
}

/// One act of destruction, as `(kind, where, what, what else)`.
fn damage(f: &mut Function, (kind, at, n, m): (u8, u32, u32, u32)) {
    let b = Block::new(at as usize % f.num_blocks());
    let i = Inst::new(at as usize % f.num_insts());
    let (v, other) = (Value::from_u32(n), Block::from_u32(n));
    match kind {
        0 => f.layout.push(other),
        1 => drop(f.layout.swap_remove(at as usize % f.layout.len())),
        2 => f.block_mut(b).params.push(v),
        3 => f.block_mut(b).insts.push(Inst::from_u32(n)),
        4 => f.block_mut(b).term = None,
        5 => f.block_mut(b).term = Some(Terminator::ret(&[v, Value::from_u32(m)])),
        6 => {
            let call = BlockCall::new(other, &[v, Value::from_u32(m)]);
            f.block_mut(b).term = Some(Terminator::br(Value::from_u32(m), call, b));
        }
        7 => {
            f.block_mut(b).term = Some(Terminator::Switch {
                index: v,
                table: vec![other.into(), b.into()],
                default: Block::from_u32(m).into(),
                mark: Default::default(),
            });
        }
        8 => f.inst_mut(i).args.push(v),
        9 => f.inst_mut(i).args.iter_mut().for_each(|a| *a = v),
        10 => f.inst_mut(i).results.push(v),
        11 => f.inst_mut(i).op = Opcode::ALL[n as usize % Opcode::ALL.len()],
        12 => f.inst_mut(i).ty = Type::ALL[n as usize % Type::ALL.len()],
        13 => {
            let otherwise = (m % 2 == 0).then(|| Value::from_u32(m));
            let negated = m % 3 == 0;
            f.inst_mut(i).guard = Some(Guard {
                pred: v,
                negated,
                otherwise,
            });
        }
        14 => {
            f.inst_mut(i).imm = match m % 4 {
                0 => Imm::Bits(u128::from(n) << (m % 128)),
                1 => Imm::Slot {
                    slot: Slot::from_u32(n),
                    offset: m as i32,
                },
                2 => Imm::Trap(TrapCode::User(n as u8)),
                _ => Imm::None,
            };
        }
        15 => drop(f.params.pop()),
        16 => f.results.push(Type::I8),
        17 => drop(f.slots.push(SlotData { size: n, align: m })),
        18 => drop(f.insert_inst(
            b,
            0,
            InstData::new(Opcode::Copy, Type::I32, &[v], Imm::None),
        )),
        _ => drop(f.inst_mut(i).results.pop()),
    }
}

const VICTIM: &str = "\
function %f(i32, pred) -> i32 {
    ss0 = slot 8, align 8
block0(v0: i32, v1: pred):
    v2 = const.i32 7
    v3 = iadd.i32 v0, v2 if v1 else v0
    exit if v1
    br v1, block1(v3), block2
block1(v4: i32):
    v5 = stack_addr.i64 ss0+4
    store.i32 v4, v5
    jump block2
block2:
    ret v2
}";

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Verifying and printing survive anything; what is accepted after all can
    /// be read back.
    #[test]
    fn broken_functions_never_panic(
        hits in prop::collection::vec((0u8..20, any::<u32>(), number(), number()), 1..5)
    ) {
        let mut f = parse(VICTIM);
        for hit in hits {
            if f.layout.is_empty() {
                break;
            }
            damage(&mut f, hit);
        }
        match verify(&f) {
            Ok(()) => {
                let text = f.to_string();
                prop_assert_eq!(parse(&text).to_string(), text);
            }
            Err(e) => {
                let text = e.to_string();
                prop_assert_eq!(text.matches("; error: ").count(), e.errors.len());
                // Each stands under a line; none is left for the end.
                let end = text.rfind("\n}\n").map_or(0, |i| i + 3);
                prop_assert_eq!(text[end..].lines().count(), 1, "{}", text);
            }
        }
    }
}
