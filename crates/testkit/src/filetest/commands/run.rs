//! `test run` and `test interpret`: Cranelift's own run tests, as they are.
//!
//! A function is followed by comments that say what it returns:
//!
//! | comment | meaning |
//! |---|---|
//! | `; run: %f(1, 2) == 3` | it returns these bits; several results stand in brackets |
//! | `; run: %f(1, 2) != 4` | it returns something else |
//! | `; run` | it takes nothing and returns something that is not zero |
//! | `; print: %f(1, 2)` | it returns; what is printed |
//! | `; trap: %f(1, 0) == int_divz` | it traps with this code (not in Cranelift) |
//!
//! All lines about one function are the lanes of one launch: packed 32 to a
//! warp, so that they diverge where the function branches on its arguments
//! (lanes that are left over run lines again), and again alone, each a warp
//! of its own. Both are done with the function as written, and with what
//! conversion makes of it: left to its own, and with each form forced. Every lane of every
//! launch must do what its line says.
//!
//! A function that uses what is not supported is refused by the lowering, and
//! the lines about it are skipped with the refusal's kind as the reason. Lines
//! that CLIF's documentation contradicts ([`contradicted`]) are run against that.
//! `set` and `feature` lines say how Cranelift is to compile, and mean nothing
//! here; `target` lines tell how wide pointers are.

mod contradicted;
mod lanes;
mod lines;
mod versions;

use std::collections::BTreeMap;
use std::sync::Arc;

use warpfold::clif::{self, Lowered, PointerWidth, ReadOptions, Triple, Unit};
use warpfold::exec::ExecOptions;
use warpfold::ir::Function;

use crate::filetest::{Case, FileTest, Language, Options, Output, Reason, TestFile, Verdict};

use lines::Line;

/// `test run`, and `test interpret`, which is the same here. Options: `steps=N`,
/// `depth=N`.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    name: &'static str,
}

impl Run {
    /// `test run`.
    pub const RUN: Self = Self { name: "run" };
    /// `test interpret`; a file that asks for `test run` too has its lines
    /// run once.
    pub const INTERPRET: Self = Self { name: "interpret" };
}

impl FileTest for Run {
    fn name(&self) -> &str {
        self.name
    }

    fn options(&self) -> &[&str] {
        &["steps", "depth"]
    }

    /// Other tools' comments pass, unless they look like a line that is to be
    /// run.
    fn reads(&self, word: &str, rest: &str) -> bool {
        lines::WORDS.contains(&word) || !rest.trim_start().starts_with('%')
    }

    fn run(&self, file: &TestFile, options: &Options) -> Result<Output, String> {
        let mut out = Output::default();
        if self.name != Self::RUN.name && file.tests.iter().any(|t| t.name == Self::RUN.name) {
            out.repeats = true;
            return Ok(out);
        }
        if file.language != Language::Clif {
            return Err("only CLIF has lines to run".to_owned());
        }
        let mut how = ExecOptions::default();
        super::limits(options, &mut how)?;
        let units = clif::read_each(&file.code, &read_options(&file.code))
            .map_err(|error| error.to_string())?;
        let mut lines: BTreeMap<usize, Vec<Line>> = BTreeMap::new();
        let mut programs: BTreeMap<usize, Result<Vec<Function>, Verdict>> = BTreeMap::new();
        for found in lines::find(&file.text, &units) {
            let unit = &units[found.unit];
            let program = programs
                .entry(found.unit)
                .or_insert_with(|| program(&units, found.unit));
            let verdict = match (program, found.parse(&units)) {
                (Err(verdict), _) => verdict.clone(),
                (Ok(_), Ok(line)) => {
                    lines.entry(found.unit).or_default().push(line);
                    continue;
                }
                (Ok(_), Err(message)) => Verdict::Failed(message),
            };
            out.cases.push(Case {
                line: found.line,
                verdict,
                variants: Vec::new(),
                opcodes: opcodes(unit),
                printed: None,
            });
        }
        for (unit, lines) in lines {
            if let Some(Ok(functions)) = programs.remove(&unit) {
                out.cases
                    .extend(run_all(&units[unit], functions, &lines, &how));
            }
        }
        out.cases.sort_by_key(|case| case.line);
        Ok(out)
    }
}

/// The function of a unit, and behind it those that its calls reach, or what
/// becomes of its lines where one of them was not lowered.
fn program(units: &[Unit], unit: usize) -> Result<Vec<Function>, Verdict> {
    let mut found: Vec<&Function> = Vec::new();
    let mut next = Some(unit);
    while let Some(unit) = next {
        let lowered = lowered(&units[unit])?;
        found.push(&lowered.func);
        for helper in &lowered.helpers {
            if found.iter().all(|f| f.name != helper.name) {
                found.push(helper);
            }
        }
        // Callees that the file does not have are the verifier's to complain of.
        let callees = found.iter().flat_map(|f| f.callees.values());
        let missing = callees.filter(|c| found.iter().all(|f| f.name != c.name));
        next = missing
            .filter_map(|c| units.iter().position(|u| named(u, &c.name)))
            .next();
    }
    Ok(found.into_iter().cloned().collect())
}

/// Whether a unit's function has this name in the IR.
fn named(unit: &Unit, name: &str) -> bool {
    match &unit.lowered {
        Ok(lowered) => lowered.func.name == name,
        Err(errors) => errors.iter().any(|e| e.function == name),
    }
}

/// Pointers are 32 bits wide if the file is for such targets only, and 64
/// otherwise.
fn read_options(code: &str) -> ReadOptions {
    let targets = code
        .lines()
        .filter_map(|line| line.strip_prefix("target "))
        .filter_map(|rest| rest.split_whitespace().next()?.parse::<Triple>().ok());
    let mut narrow = None;
    for triple in targets {
        match triple.pointer_width() {
            Ok(PointerWidth::U32) => narrow = narrow.or(Some(triple)),
            _ => return ReadOptions::default(),
        }
    }
    narrow.map_or_else(ReadOptions::default, |triple| ReadOptions { triple })
}

/// A unit's function, or what becomes of lines about it.
fn lowered(unit: &Unit) -> Result<&Lowered, Verdict> {
    let errors = match &unit.lowered {
        Ok(lowered) => return Ok(lowered),
        Err(errors) => errors,
    };
    let kind = errors.iter().map(|e| e.kind).min().unwrap_or_default();
    if let Some(first) = errors.iter().find(|e| e.kind == kind)
        && kind.is_unsupported()
    {
        let reason = Reason {
            name: kind.name().to_owned(),
            doc: kind.doc().to_owned(),
        };
        return Err(Verdict::Skipped(reason, first.to_string()));
    }
    let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
    Err(Verdict::Failed(lines.join("\n")))
}

/// The names of the opcodes that occur in a function, sorted.
fn opcodes(unit: &Unit) -> Arc<[String]> {
    let Some(func) = &unit.source else {
        return Arc::default();
    };
    let blocks = func.layout.blocks();
    let insts = blocks.flat_map(|b| func.layout.block_insts(b));
    let mut all: Vec<String> = insts
        .map(|i| func.dfg.insts[i].opcode().to_string())
        .collect();
    all.sort_unstable();
    all.dedup();
    all.into()
}

/// Runs lines about one function in every variant; it is the first of
/// `functions`, which holds all that it calls.
fn run_all(unit: &Unit, functions: Vec<Function>, lines: &[Line], how: &ExecOptions) -> Vec<Case> {
    let opcodes = opcodes(unit);
    let mut cases: Vec<Case> = lines
        .iter()
        .map(|line| Case {
            line: line.line,
            verdict: Verdict::Passed,
            variants: Vec::with_capacity(versions::NAMES.len()),
            opcodes: Arc::clone(&opcodes),
            printed: None,
        })
        .collect();
    let mut first_values = vec![None; lines.len()];
    let versions = versions::of(functions);
    // The results of each version's launches.
    let mut results: Vec<[Vec<Result<(), String>>; 2]> = Vec::new();
    for (i, version) in versions.iter().enumerate() {
        let result = match &version.program {
            // The same code runs the same way; its results hold for both.
            Ok(_) if version.same_as.is_some_and(|j| j < i) => {
                results[version.same_as.unwrap_or(0)].clone()
            }
            Ok(program) => [lanes::packed(lines.len()), lanes::alone(lines.len())]
                .map(|shape| lanes::run(program, lines, shape, how, &mut first_values)),
            Err(message) => {
                let failed = vec![Err(message.clone()); lines.len()];
                [failed.clone(), failed]
            }
        };
        results.push(result);
    }
    for (names, result) in versions::NAMES.iter().zip(&results) {
        for (&name, checks) in names.iter().zip(result) {
            for (case, check) in cases.iter_mut().zip(checks) {
                case.variants.push((name, check.is_ok()));
                let Err(message) = check else { continue };
                if let Verdict::Passed = case.verdict {
                    case.verdict = Verdict::Failed(format!("{name}: {message}"));
                }
            }
        }
    }
    for (case, (line, values)) in cases.iter_mut().zip(lines.iter().zip(first_values)) {
        case.printed = line.printed(values.as_deref());
        if let (Verdict::Passed, Some(message)) = (&case.verdict, line.contradiction()) {
            case.verdict = Verdict::Contradicted(message);
            // What passed is none of the variants' lines.
            case.variants.clear();
        }
    }
    cases
}
