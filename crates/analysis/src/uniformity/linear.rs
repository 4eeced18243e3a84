//! Sums that a difference of two values comes down to.
//!
//! `(a + 4·t) − 4·t` is `a` whatever `a` and `t` are, and `(t + 5) − t` is 5,
//! but the value domain forgets which base is whose. Here sums, differences and
//! products with constants are taken apart, a few steps deep, so that equal
//! terms cancel. In SSA a value's operands still hold, at every use, what it
//! was computed from, so the algebra is sound lane by lane.

use smallvec::SmallVec;
use warpfold_ir::{Function, InstData, Opcode, Type, Value};

use super::bits::low_mask;
use super::numbers::Numbers;

/// How many operations are taken apart, over both operands.
const STEPS: u32 = 24;

/// `constant + Σ factor·value`, modulo 2^width, no value twice.
#[derive(Clone, Debug)]
pub(crate) struct Linear {
    pub constant: u64,
    pub terms: SmallVec<[(Value, u64); 4]>,
}

impl Linear {
    /// The difference that `inst` is, if it is an `isub` in which something
    /// cancels.
    pub fn difference(func: &Function, numbers: &Numbers, inst: &InstData) -> Option<Self> {
        if inst.op != Opcode::Isub || inst.ty == Type::I128 {
            return None;
        }
        let mut sum = Self {
            constant: 0,
            terms: SmallVec::new(),
        };
        let mut steps = STEPS;
        let mut work: SmallVec<[(Value, u64); 8]> =
            SmallVec::from_slice(&[(inst.args[0], 1), (inst.args[1], u64::MAX)]);
        let mut leaves = 0;
        while let Some((v, factor)) = work.pop() {
            if let Some(c) = func.as_const(v) {
                let product = (c as u64).wrapping_mul(factor);
                sum.constant = sum.constant.wrapping_add(product);
                continue;
            }
            let def = func.def_inst(v).map(|i| func.inst(i));
            let parts: Option<[(Value, u64); 2]> = match def {
                Some(d) if d.guard.is_none() && steps > 0 => match d.op {
                    Opcode::Iadd => Some([(d.args[0], 1), (d.args[1], 1)]),
                    Opcode::Isub => Some([(d.args[0], 1), (d.args[1], u64::MAX)]),
                    Opcode::Imul => {
                        let by = |i: usize| func.as_const(d.args[i]).map(|c| c as u64);
                        let (other, c) = match (by(0), by(1)) {
                            (_, Some(c)) => (d.args[0], c),
                            (Some(c), None) => (d.args[1], c),
                            (None, None) => (v, 0),
                        };
                        (other != v).then_some([(other, c), (other, 0)])
                    }
                    Opcode::Ishl => func.as_const(d.args[1]).map(|n| {
                        let n = n as u32 & (d.ty.bits() - 1);
                        [(d.args[0], 1 << n), (d.args[0], 0)]
                    }),
                    _ => None,
                },
                _ => None,
            };
            match parts {
                Some(parts) => {
                    steps -= 1;
                    for (part, f) in parts {
                        if f != 0 {
                            work.push((part, factor.wrapping_mul(f)));
                        }
                    }
                }
                None => {
                    leaves += 1;
                    match sum.terms.iter_mut().find(|t| numbers.same(t.0, v)) {
                        Some(term) => term.1 = term.1.wrapping_add(factor),
                        None => sum.terms.push((v, factor)),
                    }
                }
            }
        }
        let mask = low_mask(inst.ty.bits());
        sum.constant &= mask;
        for term in &mut sum.terms {
            term.1 &= mask;
        }
        sum.terms.retain(|t| t.1 != 0);
        (sum.terms.len() < leaves).then_some(sum)
    }
}
