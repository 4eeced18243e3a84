//! NVIDIA's ptxas, as read off what it emits for sm_50 to sm_120.
//!
//! Numbers: each side has at most 8 instructions where the condition may
//! diverge, at most 6 where it is provably uniform; the jump that closes the
//! then side of a diamond counts. With four or more joined values, or with a
//! global load that can be batched, a triangle may have 20 instructions and a
//! diamond 19 in both sides together. Never with a division, square root,
//! atomic, shuffle, fence or loop inside. A side that only returns is always a
//! guarded exit.
//!
//! Where only the then side of a diamond fits, ptxas predicates it and branches
//! around the other: a skip of which only the else side is jumped over.
//!
//! A load that can be batched is one whose address does not depend on the side.

use hashbrown::HashSet;
use warpfold_analysis::regions::RegionShape;
use warpfold_ir::{Block, CostClass, Shape, Value};

use super::{Facts, PolicyRow, Side};
use crate::ifconv::policy::{Policy, Question};
use crate::report::Form;

const DIVERGENT: usize = 8;
const UNIFORM: usize = 6;
const MANY_JOINED: usize = 4;
const WIDE: usize = 20;

/// See the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Ptxas;

/// Its row.
pub const ROW: PolicyRow = PolicyRow {
    name: "ptxas",
    rule: "Each side at most 8 instructions where divergent, 6 where uniform (a diamond's closing jump counts); 20 in a triangle and 19 in a diamond with four joined values or a batchable load; the then side of a diamond alone if only it fits; no division, root, atomic, shuffle.",
    source: "measured on its output, sm_50 to sm_120",
    policy: &Ptxas,
};

fn never(class: CostClass) -> bool {
    use CostClass::{Atomic, Bar, Call, Cross, Div, Fp64Div, FpDiv};
    matches!(class, Div | FpDiv | Fp64Div | Atomic | Cross | Bar | Call)
}

fn batchable(side: &Side<'_>) -> bool {
    let inside: HashSet<Value> = side.insts.iter().flat_map(|d| d.results.clone()).collect();
    let mut loads = side.insts.iter().filter(|d| d.op.shape() == Shape::Load);
    loads.any(|d| !d.args.iter().any(|v| inside.contains(v)))
}

impl Policy for Ptxas {
    fn name(&self) -> &str {
        ROW.name
    }

    fn choose(&self, question: &Question<'_>) -> Form {
        let f = Facts::new(question);
        if f.shape == RegionShape::Guard && f.sides.iter().all(Side::is_empty) {
            return Form::Straight;
        }
        let refused = f.sides.iter().any(|s| s.has(never));
        if !f.flat() || refused {
            return Form::Branch;
        }
        match limits(&f) {
            [true, true] => Form::Straight,
            [true, false] => Form::Skip,
            _ => Form::Branch,
        }
    }

    fn skips(&self, question: &Question<'_>, first: Block) -> Option<bool> {
        // It is asked where the then side alone fits.
        let f = Facts::new(question);
        Some(
            f.sides
                .get(1)
                .is_some_and(|side| side.blocks.contains(&first)),
        )
    }
}

/// Which of the two sides fit.
fn limits(f: &Facts<'_>) -> [bool; 2] {
    let [then, other] = &f.sides[..] else {
        return [false; 2];
    };
    let diamond = !then.blocks.is_empty() && !other.blocks.is_empty();
    let closing = usize::from(diamond);
    let wide = f.joined >= MANY_JOINED || f.sides.iter().any(batchable);
    if wide && then.len() + other.len() + closing <= WIDE {
        return [true; 2];
    }
    let limit = if f.uniform { UNIFORM } else { DIVERGENT };
    let fits = [then.len() + closing <= limit, other.len() <= limit];
    // Of a triangle there is one side.
    match diamond {
        true => fits,
        false => [fits[0] && fits[1]; 2],
    }
}
