//! Every transfer rule against the evaluator: operands with random claims,
//! numbers drawn that obey them in two warps of a block, each lane computed,
//! and the result's claims tested.

use warpfold_ir::eval::eval;
use warpfold_ir::{FloatCC, Imm, InstData, IntCC, Type};

use super::super::transfer::{Env, last_two_same, transfer};
use super::*;

struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() >> 33) as usize % n
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// A number with few, many, or only high or low bits.
    fn number(&mut self) -> u64 {
        let x = self.next();
        match self.below(6) {
            0 => x & self.next() & self.next(),
            1 => x | self.next(),
            2 => x >> self.below(64),
            3 => x << self.below(64),
            4 => x & 0xFF,
            _ => x,
        }
    }

    fn known(&mut self) -> KnownBits {
        let known = match self.below(5) {
            0 => u64::MAX,
            1 => 0,
            2 => (1 << self.below(12)) - 1,
            3 => !((1u64 << self.below(40)) - 1),
            _ => self.number(),
        };
        let bits = match self.below(3) {
            0 => 0,
            _ => self.number(),
        };
        KnownBits::constant(bits, known)
    }

    fn shape(&mut self, ty: Type) -> Shape {
        use Scope::*;
        let scope = self.pick(&[Const, Grid, Block, Warp]);
        match self.below(6) {
            0 => Shape::constant(ty, u128::from(self.number()) & ty.mask()),
            1 => Shape::uniform(ty, scope),
            2 => Shape::known_uniform(ty, scope, self.known()),
            3 | 4 => {
                let stride = self.pick(&[1, 1, 2, 4, 8, 3, u64::MAX, 32, 1 << 30, 0xF8]);
                Shape::affine(ty, scope, stride, self.known())
            }
            _ => {
                let known = self.known();
                let uniform = self.number();
                Shape::with_bits(ty, known, uniform)
            }
        }
    }

    fn fill(&mut self, known: KnownBits) -> u64 {
        (self.number() & !known.zero) | known.one
    }

    /// The numbers of two warps' lanes that obey `shape`.
    fn lanes(&mut self, shape: &Shape, ty: Type) -> [Vec<u128>; 2] {
        let shared = self.fill(shape.base());
        let shared_bits = self.fill(shape.bits());
        let wide = u128::from(self.next()) << 64;
        [(); 2].map(|()| {
            let per_block = shape.base_scope() <= Scope::Block;
            let base = if per_block {
                shared
            } else {
                self.fill(shape.base())
            };
            let common = if per_block {
                shared_bits
            } else {
                self.fill(shape.bits())
            };
            (0..32u64)
                .map(|lane| match shape.stride() {
                    Some(s) => {
                        let low = base.wrapping_add(s.wrapping_mul(lane));
                        let high = if ty.bits() > 64 { wide } else { 0 };
                        (u128::from(low) | high) & ty.mask()
                    }
                    None => {
                        let own = self.fill(shape.bits());
                        let uniform = shape.uniform_bits();
                        u128::from((own & !uniform) | (common & uniform)) & ty.mask()
                    }
                })
                .collect()
        })
    }
}

fn operand_type(rng: &mut Rng, operand: warpfold_ir::Operand, own: Type) -> Option<Type> {
    let fitting: Vec<Type> = Type::ALL
        .into_iter()
        .filter(|&t| operand.accepts(own, t))
        .collect();
    (!fitting.is_empty()).then(|| rng.pick(&fitting))
}

/// Draws a case of `op`; gives the result's shape.
fn case(rng: &mut Rng, op: Opcode, launch: &LaunchShape) -> Option<Shape> {
    let form = op.shape();
    let own: Vec<Type> = Type::ALL
        .into_iter()
        .filter(|&t| form.types().contains(t))
        .collect();
    // Small types meet more corner cases.
    let ty = if own.contains(&Type::I8) && rng.below(3) == 0 {
        Type::I8
    } else {
        rng.pick(&own)
    };
    let imm = match form.imm() {
        warpfold_ir::ImmKind::Icc => Imm::Icc(rng.pick(IntCC::ALL)),
        warpfold_ir::ImmKind::Fcc => Imm::Fcc(rng.pick(FloatCC::ALL)),
        _ => Imm::None,
    };
    let mut types = Vec::new();
    for &operand in form.operands() {
        types.push(operand_type(rng, operand, ty)?);
    }
    let n = types.len();
    // Sometimes the last two operands are one value.
    let alias = n >= 2 && types[n - 1] == types[n - 2] && rng.below(8) == 0;
    let mut args: Vec<Value> = (0..n as u32).map(v).collect();
    let mut shapes: Vec<Shape> = types.iter().map(|&t| rng.shape(t)).collect();
    let mut lanes: Vec<_> = (0..n).map(|i| rng.lanes(&shapes[i], types[i])).collect();
    if alias {
        args[n - 1] = args[n - 2];
        shapes[n - 1] = shapes[n - 2];
        lanes[n - 1] = lanes[n - 2].clone();
    }
    for i in 0..n {
        for warp in &lanes[i] {
            let held: Vec<_> = warp
                .iter()
                .enumerate()
                .map(|(l, &x)| (l as u32, x))
                .collect();
            assert_eq!(
                shapes[i].check(&held),
                Ok(()),
                "drawn against {:?}",
                shapes[i]
            );
        }
    }
    let inst = InstData::new(op, ty, &args, imm);
    let env = Env {
        launch,
        local: false,
        fixed: false,
        same: last_two_same(&inst, |x, y| x == y),
        all_present: false,
    };
    let result = transfer(&inst, || types[..].into(), &shapes, env)?;
    let mut firsts: Vec<u128> = Vec::new();
    for warp in 0..2 {
        let mut out: Vec<(u32, u128)> = Vec::new();
        for lane in 0..32 {
            let numbers: Vec<u128> = lanes.iter().map(|l| l[warp][lane]).collect();
            if let Ok(bits) = eval(&inst, &types, &numbers)? {
                out.push((lane as u32, bits));
            }
        }
        if let Err(e) = result.check(&out) {
            panic!("{inst:?}\non {shapes:?}\nlanes {lanes:?}\n{e}; claimed {result:?}");
        }
        if let Some(&(lane, bits)) = out.first() {
            let offset = result.stride().unwrap_or(0).wrapping_mul(u64::from(lane));
            firsts.push(bits.wrapping_sub(u128::from(offset)) & ty_mask(&inst));
        }
    }
    // The base is common to the block's warps if it says so.
    if result.stride().is_some() && result.base_scope() <= Scope::Block && firsts.len() == 2 {
        let mask = if ty_mask(&inst) > u128::from(u64::MAX) {
            u128::MAX
        } else {
            u64::MAX.into()
        };
        assert_eq!(
            firsts[0] & mask,
            firsts[1] & mask,
            "{inst:?} on {shapes:?}: {result:?}"
        );
    }
    Some(result)
}

fn ty_mask(inst: &InstData) -> u128 {
    inst.result_type().map_or(0, Type::mask)
}

fn is_lane_wise(op: Opcode) -> bool {
    use warpfold_ir::Shape::{FloatToInt, IntDiv};
    op.effects().is_pure() && !op.shape().operands().is_empty()
        || matches!(op.shape(), IntDiv | FloatToInt)
}

fn cases(per_opcode: usize, seed: u64) {
    let mut rng = Rng(seed);
    let launch = LaunchShape::unknown();
    for &op in Opcode::ALL {
        if !is_lane_wise(op) {
            continue;
        }
        let (mut uniform, mut varying) = (0, 0);
        for _ in 0..per_opcode {
            match case(&mut rng, op, &launch) {
                Some(shape) if shape.is_uniform() => uniform += 1,
                Some(_) => varying += 1,
                None => {}
            }
        }
        assert!(
            uniform > 0 && varying > 0,
            "{op}: {uniform} uniform, {varying} varying"
        );
    }
}

#[test]
fn every_lane_wise_rule_holds() {
    cases(400, 0x1234_5678_9ABC_DEF1);
}

#[test]
#[ignore = "minutes; run by hand after changes to the rules"]
fn every_lane_wise_rule_holds_at_length() {
    let seed = std::env::var("SEED").ok().and_then(|s| s.parse().ok());
    cases(200_000, seed.unwrap_or(1));
}

/// Draws a case of an operation across lanes, of which some or all take part,
/// against what the language says it gives; the result's shape.
fn cross_case(rng: &mut Rng, op: Opcode) -> Option<Shape> {
    let (own, ty) = match op {
        Opcode::Ballot => (Type::I32, Type::Pred),
        Opcode::ActiveMask => (Type::I32, Type::I32),
        Opcode::VoteAny | Opcode::VoteAll => (Type::Pred, Type::Pred),
        _ => {
            let ty = rng.pick(&[Type::I8, Type::I32, Type::I64]);
            (ty, ty)
        }
    };
    let shapes = [rng.shape(ty), rng.shape(Type::I32)];
    let lanes = [rng.lanes(&shapes[0], ty), rng.lanes(&shapes[1], Type::I32)];
    let all_present = rng.below(2) == 0;
    let mask = match all_present {
        true => u32::MAX,
        false => rng.next() as u32 | 1 << rng.below(32),
    };
    let launch = LaunchShape::new([1; 3], [64, 1, 1]);
    let env = Env {
        launch: &launch,
        local: false,
        fixed: false,
        same: false,
        all_present,
    };
    let n = op.shape().operands().len();
    let inst = InstData::new(op, own, &[v(0), v(1)][..n], Imm::None);
    let types = || [ty, Type::I32][..n].into();
    let result = transfer(&inst, types, &shapes[..n], env)?;
    for warp in 0..2 {
        let on = |l: usize| mask >> l & 1 == 1;
        let held = |l: usize| lanes[0][warp][l];
        let ballot = (0..32).filter(|&l| on(l) && held(l) == 1);
        let ballot = ballot.fold(0u32, |m, l| m | 1 << l);
        let out: Vec<(u32, u128)> = (0..32)
            .filter(|&l| on(l))
            .map(|l| {
                let with = lanes[1][warp][l] as usize;
                let from = match op {
                    Opcode::ShflIdx => Some(with & 31),
                    Opcode::ShflUp => l.checked_sub(with),
                    Opcode::ShflDown => l.checked_add(with),
                    _ => Some(l ^ with),
                };
                let bits = match op {
                    Opcode::Ballot => u128::from(ballot),
                    Opcode::ActiveMask => u128::from(mask),
                    Opcode::VoteAny => u128::from(ballot != 0),
                    Opcode::VoteAll => u128::from(ballot == mask),
                    Opcode::ReadFirst => held(mask.trailing_zeros() as usize),
                    _ => held(from.filter(|&f| f < 32 && on(f)).unwrap_or(l)),
                };
                (l as u32, bits)
            })
            .collect();
        if let Err(e) = result.check(&out) {
            panic!("{op} on {shapes:?}, {mask:#x}\n{lanes:?}\n{e}; claimed {result:?}");
        }
    }
    Some(result)
}

/// Also: every opcode that has a result is tried by one of these tests.
#[test]
fn every_rule_across_lanes_holds() {
    use warpfold_ir::Shape as Form;
    let mut rng = Rng(0x0DDB_1A5E_5BAD_5EED);
    for &op in Opcode::ALL {
        let crosses = match op.shape() {
            Form::Ballot | Form::Vote | Form::Shuffle | Form::ReadFirst | Form::ActiveMask => true,
            // Constants and addresses: uniform as such.
            Form::Const | Form::Poison | Form::StackAddr | Form::SharedBase | Form::FuncAddr => {
                false
            }
            // `launch.rs` tries them in blocks of many shapes.
            Form::Id => false,
            // The table of patterns; memory is what may differ, not the rule.
            Form::Load | Form::AtomicLoad | Form::AtomicRmw | Form::AtomicCas => false,
            // Nothing results, or nothing is known.
            Form::Store
            | Form::AtomicStore
            | Form::Sync
            | Form::WarpSync
            | Form::Exit
            | Form::TrapIf => false,
            Form::Call | Form::CallIndirect => false,
            _ => {
                assert!(is_lane_wise(op), "{op} is tried by no test");
                false
            }
        };
        let results: Vec<Shape> = (0..if crosses { 600 } else { 0 })
            .filter_map(|_| cross_case(&mut rng, op))
            .collect();
        let uniform = results.iter().filter(|s| s.is_uniform()).count();
        assert!(!crosses || uniform > 0, "{op}");
    }
}

/// Comparisons of a stepping value with a constant at 8 bits, for every base
/// that fits what is known of it.
#[test]
fn comparisons_of_stepping_bytes_hold_for_every_base() {
    let mut uniform = 0;
    for stride in [1u64, 2, 4, 3, 0xFF, 0xFE] {
        for low in [0u32, 3, 5, 6, 7] {
            for residue in [0u64, 1, 31, 33] {
                let known = KnownBits::constant(residue, (1 << low) - 1);
                let shape = Shape::affine(Type::I8, Scope::Warp, stride, known);
                for c in (0..256).step_by(5).chain([31, 32, 63, 64, 96, 127, 128]) {
                    let constant = Shape::constant(Type::I8, c);
                    for &cc in IntCC::ALL {
                        let claim = compare::icmp(cc, false, shape, constant);
                        if !claim.is_uniform() {
                            continue;
                        }
                        uniform += 1;
                        let inst =
                            InstData::new(Opcode::Icmp, Type::I8, &[v(0), v(1)], Imm::Icc(cc));
                        for base in (0..256u64).filter(|b| (b ^ residue) & ((1 << low) - 1) == 0) {
                            let lanes: Vec<(u32, u128)> = (0..32)
                                .map(|l| {
                                    let x = base.wrapping_add(stride * u64::from(l)) & 0xFF;
                                    let args = [u128::from(x), c];
                                    let types = [Type::I8; 2];
                                    (l, eval(&inst, &types, &args).unwrap().unwrap())
                                })
                                .collect();
                            assert_eq!(claim.check(&lanes), Ok(()), "{shape:?} {cc} {c} {base}");
                        }
                    }
                }
            }
        }
    }
    assert!(uniform > 1000, "{uniform}");
}

#[test]
fn check_refuses_what_is_not_claimed() {
    let shape = Shape::affine(Type::I32, Scope::Warp, 4, KnownBits::constant(0, 127));
    let lanes = |f: &dyn Fn(u32) -> u128| (0..32).map(|l| (l, f(l))).collect::<Vec<_>>();
    assert_eq!(shape.check(&lanes(&|l| 256 + 4 * u128::from(l))), Ok(()));
    let wrong: [&dyn Fn(u32) -> u128; 3] = [
        &|l| 256 + 8 * u128::from(l),
        &|l| 257 + 4 * u128::from(l),
        &|l| 256 + 4 * u128::from(l) + u128::from(l == 7) * 128,
    ];
    for f in wrong {
        assert!(shape.check(&lanes(f)).is_err());
    }
    let uniform = Shape::uniform(Type::I128, Scope::Warp);
    assert_eq!(uniform.check(&lanes(&|_| 1 << 100)), Ok(()));
    assert!(
        uniform
            .check(&lanes(&|l| u128::from(l == 3) << 100))
            .is_err()
    );
    assert_eq!(uniform.check(&[]), Ok(()));
    let bits = Shape::with_bits(Type::I8, KnownBits::constant(0, 0x80), 0x40);
    assert!(bits.check(&[(0, 0x80)]).is_err(), "a known bit");
    assert!(bits.check(&[(0, 0x40), (1, 0)]).is_err(), "a uniform bit");
    assert!(bits.check(&[(0, 0x41), (1, 0x42)]).is_ok());
}
