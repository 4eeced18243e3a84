//! Every row of the CLIF opcode map has run lines of ours.
//!
//! `warpfold_clif::rule` says of every CLIF opcode whether it lowers. One that
//! does must occur under `tests/filetests/run` in a function with lines that
//! pass, and so must every condition code, every atomic operation and every
//! type a value can have. There are no exemptions: an opcode that a newer
//! Cranelift adds, or that the map no longer refuses, fails here until a file
//! has lines for it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{AtomicRmwOp, Function, InstructionData, Opcode};
use warpfold::clif::{Rule, rule};
use warpfold_testkit::filetest::{Counts, Registry, Runner};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests/run")
}

/// The functions of all files.
fn functions() -> Vec<Function> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let mut all = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        match cranelift_reader::parse_functions(&text) {
            Ok(functions) => all.extend(functions),
            Err(error) => panic!("{}: {error}", path.display()),
        }
    }
    all
}

/// What `pick` finds in the instructions of all files.
fn seen(pick: impl Fn(&InstructionData) -> Option<String>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for func in functions() {
        for block in func.layout.blocks() {
            let insts = func.layout.block_insts(block);
            found.extend(insts.filter_map(|inst| pick(&func.dfg.insts[inst])));
        }
    }
    found
}

fn names<T: ToString>(all: impl IntoIterator<Item = T>) -> BTreeSet<String> {
    all.into_iter().map(|item| item.to_string()).collect()
}

#[test]
fn every_opcode_that_lowers_has_lines_that_pass() {
    let report = Runner::new(Registry::builtin())
        .run_folder(&folder())
        .unwrap();
    let (mut lowered, mut missing) = (0, Vec::new());
    for &op in Opcode::all() {
        if matches!(rule(op), Rule::Refused(_)) {
            continue;
        }
        lowered += 1;
        let counts = report.tally.opcodes.get(&op.to_string());
        match counts {
            Some(Counts {
                passed: 1..,
                failed: 0,
                skipped: 0,
                contradicted: 0,
            }) => (),
            other => missing.push(format!("{op}: {other:?}")),
        }
    }
    assert_eq!(missing, [""; 0], "rows without lines that pass");
    assert!(lowered > 100, "{lowered}");
}

#[test]
fn every_condition_code_and_atomic_operation_occurs() {
    let int = seen(|data| match data {
        InstructionData::IntCompare { cond, .. } => Some(cond.to_string()),
        _ => None,
    });
    assert_eq!(int, names(IntCC::all()));
    let float = seen(|data| match data {
        InstructionData::FloatCompare { cond, .. } => Some(cond.to_string()),
        _ => None,
    });
    assert_eq!(float, names(FloatCC::all()));
    let update = seen(|data| match data {
        InstructionData::AtomicRmw { op, .. } => Some(op.to_string()),
        _ => None,
    });
    assert_eq!(update, names(AtomicRmwOp::all()));
}

/// Each of these takes or yields values of each of its types.
#[test]
fn the_opcodes_occur_at_every_width() {
    let ints = ["i8", "i16", "i32", "i64", "i128"];
    let floats = ["f16", "f32", "f64"];
    let all: Vec<&str> = ints.iter().chain(&floats).copied().collect();
    let mut found = BTreeSet::new();
    for func in functions() {
        for block in func.layout.blocks() {
            for inst in func.layout.block_insts(block) {
                let op = func.dfg.insts[inst].opcode();
                let results = func.dfg.inst_results(inst);
                for &value in func.dfg.inst_args(inst).iter().chain(results) {
                    found.insert(format!("{op} {}", func.dfg.value_type(value)));
                }
            }
        }
    }
    let rows: [(&str, &[&str]); 3] = [
        (
            "iadd isub imul umulhi smulhi ineg iabs udiv sdiv urem srem smin umin smax umax band \
             bor bxor bnot rotl rotr ishl ushr sshr bitrev clz ctz cls popcnt icmp bitselect bmask \
             uadd_overflow usub_overflow sadd_overflow ssub_overflow uadd_overflow_cin \
             usub_overflow_bin sadd_overflow_cin ssub_overflow_bin iconcat isplit uextend sextend \
             ireduce atomic_load atomic_store atomic_rmw atomic_cas fcvt_to_uint fcvt_to_sint \
             fcvt_to_uint_sat fcvt_to_sint_sat fcvt_from_uint fcvt_from_sint trapz trapnz brif",
            &ints,
        ),
        (
            "fadd fsub fmul fdiv sqrt fma fneg fabs fcopysign fmin fmax ceil floor trunc nearest \
             fcmp fpromote fdemote fcvt_to_uint fcvt_to_sint fcvt_to_uint_sat fcvt_to_sint_sat \
             fcvt_from_uint fcvt_from_sint bitcast",
            &floats,
        ),
        ("load store select select_spectre_guard", &all),
    ];
    for (ops, types) in rows {
        for op in ops.split(' ') {
            for ty in types {
                assert!(found.contains(&format!("{op} {ty}")), "{op} {ty}");
            }
        }
    }
}
