//! Conditions of which more is known before anything runs: the mask of lanes
//! where they hold, and tail guards.
//!
//! **Known mask.** The condition's expression is evaluated lane by lane on
//! known bits: leaves give the bits that follow from the lane's index and a
//! known base, and each operation is the [transfer rule](super::transfer) on
//! operands of a single lane. What is known per lane holds in every execution,
//! so control flow plays no part.
//!
//! **Tail guard.** In `i < n` with `i` going on by one from thread to thread
//! of a row and `n` common to the block, at most one warp of the row splits
//! (as long as `i` does not wrap around).

use hashbrown::HashMap;
use smallvec::SmallVec;
use warpfold_ir::{Block, Effects, Function, IntCC, Opcode, Terminator, Type, Value};

use super::KnownBits;
use super::domain::Shape;
use super::launch::LaunchShape;
use super::scope::Scope;
use super::state::State;
use super::transfer::{Env, last_two_same, transfer};

/// Operations that are looked through for one condition.
const STEPS: u32 = 64;
const DEPTH: u32 = 16;

/// The lane that is looked at first.
const FIRST: u32 = 21;

pub(crate) struct Masks<'a> {
    pub func: &'a Function,
    pub state: &'a State,
    pub launch: &'a LaunchShape,
}

impl Masks<'_> {
    /// The lanes of a full warp where the condition of the two-way branch at
    /// `b` holds, if they are known.
    pub fn known_mask(&self, b: Block) -> Option<u32> {
        let &Terminator::Br { cond, .. } = self.func.term(b) else {
            return None;
        };
        let shape = self.state.at(cond, b)?;
        if let Some(all) = shape.as_constant() {
            return Some(if all == 1 { u32::MAX } else { 0 });
        }
        if shape.is_uniform() {
            return None;
        }
        // Most conditions are unknown in every lane, so most are done after
        // one. In lanes 0 and 31 products and masks know more than elsewhere.
        let mut mask = 0;
        for lane in (0..32).map(|i| (i + FIRST) % 32) {
            let known = self.lane(cond, lane, DEPTH, &mut { STEPS }, &mut HashMap::new())?;
            if known.known() & 1 == 0 {
                return None;
            }
            mask |= (known.one as u32 & 1) << lane;
        }
        Some(mask)
    }

    /// What `v` is known to be in one lane.
    fn lane(
        &self,
        v: Value,
        lane: u32,
        depth: u32,
        steps: &mut u32,
        memo: &mut HashMap<Value, Option<KnownBits>>,
    ) -> Option<KnownBits> {
        if let Some(&known) = memo.get(&v) {
            return known;
        }
        let known = self.evaluate(v, lane, depth, steps, memo);
        memo.insert(v, known);
        known
    }

    fn evaluate(
        &self,
        v: Value,
        lane: u32,
        depth: u32,
        steps: &mut u32,
        memo: &mut HashMap<Value, Option<KnownBits>>,
    ) -> Option<KnownBits> {
        let shape = self.state.shapes[v]?;
        let ty = self.func.ty(v);
        if ty.bits() > 64 {
            return None;
        }
        let mask = ty.mask() as u64;
        let by_lane = shape.stride().map_or(KnownBits::NONE, |s| {
            let offset = s.wrapping_mul(u64::from(lane)) & mask;
            shape.base().add(KnownBits::constant(offset, mask), mask)
        });
        let known = shape.bits().both(by_lane);
        let Some(inst) = self.func.def_inst(v).map(|i| self.func.inst(i)) else {
            return Some(known);
        };
        if let Some(fixed) = self.launch.per_lane(inst.op) {
            return Some(known.both(fixed[lane as usize]));
        }
        // A lane that traps is not there to ask.
        let effects = Effects {
            traps: false,
            ..inst.op.effects()
        };
        let pure = effects.is_pure() && !inst.args.is_empty();
        let done = known.known() == mask;
        if done || !pure || inst.guard.is_some() || depth == 0 || *steps == 0 {
            return Some(known);
        }
        *steps -= 1;
        let mut args: SmallVec<[Shape; 3]> = SmallVec::new();
        for &arg in &inst.args {
            let ty = self.func.ty(arg);
            let number = self.lane(arg, lane, depth - 1, steps, memo);
            let number = number.unwrap_or(KnownBits::NONE);
            args.push(Shape::known_uniform(ty, Scope::Warp, number));
        }
        let env = Env {
            launch: self.launch,
            local: false,
            fixed: false,
            same: last_two_same(inst, |x, y| x == y),
            all_present: false,
        };
        let types = || inst.args.iter().map(|&v| self.func.ty(v)).collect();
        let result = transfer(inst, types, &args, env);
        Some(result.map_or(known, |result| known.both(result.bits())))
    }

    /// Whether the branch at `b` is a tail guard.
    pub fn tail_guard(&self, b: Block) -> bool {
        let &Terminator::Br { cond, .. } = self.func.term(b) else {
            return false;
        };
        let through = |mut v: Value, ops: &[Opcode]| {
            for _ in 0..DEPTH {
                match self.func.def_inst(v).map(|i| self.func.inst(i)) {
                    Some(d) if ops.contains(&d.op) && d.guard.is_none() => v = d.args[0],
                    _ => break,
                }
            }
            v
        };
        let cond = through(cond, &[Opcode::Not, Opcode::Copy]);
        let Some(inst) = self.func.def_inst(cond).map(|i| self.func.inst(i)) else {
            return false;
        };
        let ordering = match inst.imm {
            warpfold_ir::Imm::Icc(cc) => !matches!(cc, IntCC::Eq | IntCC::Ne),
            _ => false,
        };
        if inst.op != Opcode::Icmp || !ordering || inst.guard.is_some() {
            return false;
        }
        let def = self.state.def_block[cond].unwrap_or(b);
        let at = |v: Value| self.state.at(v, def);
        let extends = [Opcode::Uextend, Opcode::Sextend, Opcode::Copy];
        // A narrow index would wrap around several times in a long row.
        let once = |s: &Shape| 1 << s.width().min(63) >= u64::from(LaunchShape::MAX_THREADS);
        let index = |v: Value| {
            at(through(v, &extends)).is_some_and(|s| {
                once(&s) && s.is_row() && s.signed_stride().is_some_and(|s| s.unsigned_abs() == 1)
            })
        };
        let bound = |v: Value| at(v).is_some_and(|s| s.scope() <= Scope::Block);
        let [x, y] = [inst.args[0], inst.args[1]];
        let diverges = self.state.branch_scope[b] == Some(Scope::Lane);
        diverges && self.func.ty(x) != Type::I128 && (index(x) && bound(y) || bound(x) && index(y))
    }
}
