//! Run lines of Cranelift's suite that ask for what CLIF's documentation rules
//! out. They are run against what it says instead, and counted apart.
//!
//! The three are of `i128-conversion.clif`, which Cranelift runs on its
//! interpreter alone ("not currently supported by any backend"). Their number,
//! `0x1.fffffep127`, is 2^128 - 2^104: it fits `u128` and not `i128`. They ask for
//! 2^127 - 1 each time, because the interpreter converts by way of a Rust cast
//! to `i128`, which saturates, before it looks whether the number fits.
//!
//! - `fcvt_to_uint`: "If `x` is NaN or if the unsigned integral value cannot be
//!   represented in the result type, this instruction traps." The value can be
//!   represented, and is not 2^127 - 1.
//! - `fcvt_to_uint_sat`: "as fcvt_to_uint does, but saturates the input instead of
//!   trapping." That one does not trap here, so nothing saturates.
//! - `fcvt_to_sint`: "If `x` is NaN or if the unsigned integral value cannot be
//!   represented in the result type, this instruction traps", where "unsigned" is
//!   a slip; taken by the letter the result would be the bits of 2^128 - 2^104, and
//!   in no reading 2^127 - 1. `fcvt_to_sint_sat` is documented to saturate
//!   "instead of trapping", and the same file has it saturate this very number, so
//!   here it traps. (So does the interpreter, with `int_ovf`, for every narrower
//!   type.)

use cranelift_codegen::ir::Opcode;
use warpfold::clif::Unit;
use warpfold::ir::TrapCode;

use super::lines::End;

const BOUND: &str = "(0x1.fffffep127) == 170141183460469231731687303715884105727";

/// 2^128 - 2^104.
const FITS: u128 = u128::MAX << 104;

/// How a lane ends according to the documentation where it is told to run the
/// line with this text about a function, and why, if that is not what the line says.
pub(super) fn documented(text: &str, unit: &Unit) -> Option<(End, &'static str)> {
    let func = unit.source.as_ref()?;
    if !text.trim_end().ends_with(BOUND) {
        return None;
    }
    let blocks = func.layout.blocks();
    let mut insts = blocks.flat_map(|b| func.layout.block_insts(b));
    insts.find_map(|i| match func.dfg.insts[i].opcode() {
        Opcode::FcvtToUint | Opcode::FcvtToUintSat => {
            Some((End::Returned(vec![FITS]), "the number, 2^128 - 2^104, fits"))
        }
        Opcode::FcvtToSint => Some((
            End::Trapped(TrapCode::IntegerOverflow),
            "the number, 2^128 - 2^104, does not fit",
        )),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use warpfold::clif::{ReadOptions, read_each};

    use super::*;

    #[test]
    fn only_the_three_lines_are_contradicted() {
        let of = |op: &str, line: &str| {
            let text = format!(
                "function %f(f32) -> i128 {{\nblock0(v0: f32):\n    v1 = {op}.i128 v0\n    return v1\n}}\n"
            );
            let units = read_each(&text, &ReadOptions::default()).expect("it is read");
            documented(line, &units[0])
        };
        let line = format!("; run: %f{BOUND}");
        for op in ["fcvt_to_uint", "fcvt_to_sint", "fcvt_to_uint_sat"] {
            assert!(of(op, &line).is_some(), "{op}");
            assert_eq!(of(op, "; run: %f(0x0.0) == 0"), None, "{op}");
        }
        // Here the line is right: the conversion saturates.
        assert_eq!(of("fcvt_to_sint_sat", &line), None);
        assert_eq!(f64::from(f32::MAX) as u128, FITS);
    }
}
