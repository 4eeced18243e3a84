//! Run lines of Cranelift's suite that ask for what CLIF's documentation rules
//! out. They are counted apart instead of as failures; everything else that is
//! not as a line says is one.
//!
//! The three are of a file that Cranelift runs on its interpreter alone ("not
//! currently supported by any backend"). The interpreter converts to unsigned
//! 128-bit integers by way of signed ones and saturates where the definition
//! traps. `0x1.fffffep127` is 2^128 - 2^104: it fits `u128` and not `i128`.

use cranelift_codegen::ir::Opcode;
use warpfold::clif::Unit;

use crate::filetest::{Reason, Verdict};

const BOUND: &str = "(0x1.fffffep127) == 170141183460469231731687303715884105727";

const LINES: [(Opcode, &str); 3] = [
    (Opcode::FcvtToUint, "the number fits and is 2^128 - 2^104"),
    (Opcode::FcvtToSint, "the number does not fit, so this traps"),
    (
        Opcode::FcvtToUintSat,
        "the number fits and is 2^128 - 2^104",
    ),
];

/// What becomes of the line with this text about a function, if it is one of
/// the list.
pub(super) fn verdict(text: &str, unit: &Unit) -> Option<Verdict> {
    let func = unit.source.as_ref()?;
    if !text.trim_end().ends_with(BOUND) {
        return None;
    }
    let insts = func
        .layout
        .blocks()
        .flat_map(|b| func.layout.block_insts(b));
    let opcodes: Vec<Opcode> = insts.map(|i| func.dfg.insts[i].opcode()).collect();
    let (_, why) = LINES.iter().find(|(op, _)| opcodes.contains(op))?;
    let reason = Reason {
        name: String::from("contradicted"),
        doc: String::from("lines that CLIF's documentation contradicts"),
    };
    Some(Verdict::Skipped(reason, (*why).to_owned()))
}

#[cfg(test)]
mod tests {
    use warpfold::clif::{ReadOptions, read_each};

    use super::*;

    #[test]
    fn only_the_three_lines_are_contradicted() {
        let verdict_of = |op: &str, line: &str| {
            let text = format!(
                "function %f(f32) -> i128 {{\nblock0(v0: f32):\n    v1 = {op}.i128 v0\n    return v1\n}}\n"
            );
            let units = read_each(&text, &ReadOptions::default()).expect("it is read");
            verdict(line, &units[0])
        };
        let line = format!("; run: %f{BOUND}");
        for op in ["fcvt_to_uint", "fcvt_to_sint", "fcvt_to_uint_sat"] {
            assert!(
                matches!(verdict_of(op, &line), Some(Verdict::Skipped(..))),
                "{op}"
            );
            assert_eq!(verdict_of(op, "; run: %f(0x0.0) == 0"), None, "{op}");
        }
        // Here the line is right: the conversion saturates.
        assert_eq!(verdict_of("fcvt_to_sint_sat", &line), None);
    }
}
