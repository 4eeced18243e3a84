//! Every row of CLIF's opcode map against Cranelift's interpreter and against
//! its native code.
//!
//! For each opcode that is lowered, and each type or pair of types that
//! Cranelift's verifier lets it have, a function of that one instruction is fed
//! boundary values in all pairs (up to a bound) and seeded random ones. The
//! executor runs them as the lanes of warps; the interpreter and the code that
//! cranelift-jit makes run them one by one. Results must be the same bits, but
//! that any NaN of arithmetic is as good as any other; traps must have the same
//! code. The native code is not run on inputs that trap.
//!
//! Where a peer says otherwise or cannot do it stands in [`recorded`], with who
//! is right by CLIF's documentation; a record that nothing needs any more is an
//! error like a disagreement that is not recorded. What
//! neither peer confirms is computed here, [`f16`](half) by way of wider types
//! and the rest [by hand](hand); so no result goes unchecked.

#[path = "differential/cases.rs"]
mod cases;
#[path = "differential/half.rs"]
mod half;
#[path = "differential/hand.rs"]
mod hand;
#[path = "differential/inputs.rs"]
mod inputs;
#[path = "differential/native.rs"]
mod native;
#[path = "differential/peers.rs"]
mod peers;
#[path = "differential/recorded.rs"]
mod recorded;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

use cranelift_codegen::ir::{Function, Opcode};
use warpfold_clif::{Rule, rule};

use cases::Case;
use native::{Compiled, Native};
use peers::End;
use recorded::{Peer, RECORDED, Says};

/// One case with what is made of it beforehand.
struct Prepared {
    case: Case,
    func: Function,
    compiled: Option<Compiled>,
    inputs: Vec<Vec<u128>>,
}

/// What a peer did in a case, where it did not simply agree.
#[derive(Default)]
struct Found {
    /// Inputs on which it was asked.
    asked: usize,
    /// Those on which it had no answer.
    failed: usize,
    /// Of each input, whether it said the same.
    agreed: Vec<bool>,
    /// Of each input, whether it trapped.
    trapped: Vec<bool>,
    /// Those on which it said something else: input, ours, theirs.
    differs: Vec<(Vec<u128>, End, End)>,
}

/// The rows that are lowered.
fn rows() -> impl Iterator<Item = Opcode> {
    let all = Opcode::all().iter().copied();
    all.filter(|&op| !matches!(rule(op), Rule::Refused(_)))
}

#[test]
fn every_row_has_cases_or_a_reason() {
    for op in rows() {
        assert_eq!(
            cases::exempt(op).is_none(),
            !cases::cases(op).is_empty(),
            "`{op}` needs a case, or a reason to have none"
        );
    }
}

#[test]
fn every_row_agrees_with_its_peers() {
    quiet_peers();
    let mut native = Native::new();
    if native.is_none() {
        println!("no native code on this machine: the interpreter is the only peer");
    }
    let mut prepared: Vec<Prepared> = rows()
        .filter(|&op| cases::exempt(op).is_none())
        .flat_map(cases::cases)
        .map(|case| Prepared {
            func: case.function().expect("only valid cases are kept"),
            compiled: native.as_mut().and_then(|n| compile(n, &case)),
            inputs: Vec::new(),
            case,
        })
        .collect();
    if let Some(native) = &mut native {
        native.finish();
    }
    let mut found: BTreeMap<(Peer, String, String), Found> = BTreeMap::new();
    let mut comparisons = [0u64; 2];
    let mut alone = 0;
    let mut problems = String::new();
    for (seed, p) in prepared.iter_mut().enumerate() {
        p.inputs = inputs::inputs(&p.case.params, seed as u64);
        let ours = peers::ours(&p.case, &p.func, &p.inputs);
        let mut agreed = vec![false; ours.len()];
        let mut trapped = Vec::new();
        for peer in [Peer::Interpreter, Peer::Native] {
            if peer == Peer::Native && native.is_none() {
                continue;
            }
            let key = (peer, p.case.op.to_string(), p.case.label.clone());
            let seen = ask(p, &ours, peer, native.as_ref(), &trapped);
            if peer == Peer::Interpreter {
                trapped.clone_from(&seen.trapped);
            }
            comparisons[peer as usize] += (seen.asked - seen.failed) as u64;
            for (all, here) in agreed.iter_mut().zip(&seen.agreed) {
                *all |= here;
            }
            found.insert(key, seen);
        }
        match arbitrate(p, &ours, &agreed) {
            Ok(count) => alone += count,
            Err(problem) => problems += &problem,
        }
    }
    println!(
        "{} rows, {} cases of row and types; {} comparisons with the interpreter, \
         {} with native code, {alone} with neither",
        rows().filter(|&op| cases::exempt(op).is_none()).count(),
        prepared.len(),
        comparisons[0],
        comparisons[1],
    );
    problems += &judge(&found, native.is_some());
    assert!(problems.is_empty(), "{problems}");
}

fn compile(native: &mut Native, case: &Case) -> Option<Compiled> {
    let func = cases::parse(&case.trampoline())?;
    let (params, results) = (case.params.len(), case.results.len());
    let define = || native.define(func, params, results);
    catch_unwind(AssertUnwindSafe(define)).ok()?.ok()
}

/// Checks what no peer has confirmed by other means, and counts it: so every
/// result of the executor is somebody else's too.
///
/// # Errors
/// The first that is not.
fn arbitrate(p: &Prepared, ours: &[End], agreed: &[bool]) -> Result<u64, String> {
    let mut count = 0;
    let half = p.case.params.contains(&"f16") || p.case.results.contains(&"f16");
    for (i, input) in p.inputs.iter().enumerate().filter(|&(i, _)| !agreed[i]) {
        let what = format!(
            "{} {}: {input:x?} gives {:x?}",
            p.case.op, p.case.label, ours[i]
        );
        let expected = match hand::expected(&p.case, input) {
            None if half => half::expected(&p.case, input),
            other => other,
        };
        match expected {
            Some(expected) if same(&p.case, &ours[i], &expected) => count += 1,
            Some(expected) => return Err(format!("{what}, not {expected:x?}\n")),
            None => return Err(format!("{what}, and nobody else says so\n")),
        }
    }
    Ok(count)
}

/// Asks one peer about every input of a case that the executor has run. The
/// native code is not asked where the executor or the interpreter `trapped`,
/// but for `srem`, where the interpreter traps too much.
fn ask(p: &Prepared, ours: &[End], peer: Peer, native: Option<&Native>, trapped: &[bool]) -> Found {
    let mut found = Found::default();
    for (i, (input, ours)) in p.inputs.iter().zip(ours).enumerate() {
        let theirs = match (peer, native, p.compiled) {
            (Peer::Interpreter, ..) => peers::interpreted(&p.case, &p.func, input),
            (Peer::Native, Some(native), Some(code)) => match ours {
                End::Values(_) if !trapped[i] || p.case.op == Opcode::Srem => {
                    End::Values(native.call(code, input))
                }
                _ => {
                    found.agreed.push(false);
                    continue;
                }
            },
            (Peer::Native, ..) => End::Failed,
        };
        found.asked += 1;
        found.agreed.push(same(&p.case, ours, &theirs));
        found.trapped.push(matches!(theirs, End::Trap(_)));
        if theirs == End::Failed {
            found.failed += 1;
        } else if !same(&p.case, ours, &theirs) {
            found.differs.push((input.clone(), ours.clone(), theirs));
        }
    }
    found
}

fn same(case: &Case, ours: &End, theirs: &End) -> bool {
    let (End::Values(a), End::Values(b)) = (ours, theirs) else {
        return ours == theirs;
    };
    a.len() == b.len()
        && case
            .results
            .iter()
            .zip(a.iter().zip(b))
            .all(|(ty, (&a, &b))| {
                let nans = !case.exact && inputs::is_nan(ty, a) && inputs::is_nan(ty, b);
                a == b || nans
            })
}

/// What is found but not recorded, and what is recorded but not found.
fn judge(found: &BTreeMap<(Peer, String, String), Found>, native: bool) -> String {
    let mut problems = String::new();
    let mut needed = BTreeSet::new();
    for ((peer, op, label), seen) in found {
        if *peer == Peer::Native && !recorded::NATIVE_KNOWN && seen.differs.is_empty() {
            // What other machines' code lacks is not recorded.
            continue;
        }
        let lacks = seen.asked > 0 && seen.failed == seen.asked;
        let mut explained = |says: &Says, unexplained: &dyn Fn() -> String| {
            let by = RECORDED.iter().enumerate().find_map(|(at, r)| {
                let fits = r.peer == *peer
                    && r.ops.contains(&op.as_str())
                    && r.says.kind() == says.kind()
                    && r.holds(&seen.differs);
                let ty = r.types.iter().find(|t| recorded::matches(t, label));
                ty.filter(|_| fits).map(|&ty| (at, ty))
            });
            match by {
                Some((at, ty)) => {
                    needed.insert((at, op.clone()));
                    needed.insert((at, ty.to_owned()));
                }
                None => problems += &unexplained(),
            }
        };
        if lacks {
            explained(&Says::Nothing, &|| format!("{peer:?} lacks {op} {label}\n"));
        } else if seen.failed > 0 {
            explained(&Says::NothingSometimes, &|| {
                format!(
                    "{peer:?} fails {} of {} in {op} {label}\n",
                    seen.failed, seen.asked
                )
            });
        }
        if let Some((input, ours, theirs)) = seen.differs.first() {
            explained(&Says::Otherwise(|_, _, _| true), &|| {
                format!(
                    "{peer:?} differs in {} of {} in {op} {label}: {input:x?} ours {ours:x?} \
                     theirs {theirs:x?}\n",
                    seen.differs.len(),
                    seen.asked
                )
            });
        }
    }
    for (at, record) in RECORDED.iter().enumerate() {
        let asked = record.peer == Peer::Interpreter || (native && recorded::NATIVE_KNOWN);
        for &what in record.ops.iter().chain(record.types) {
            if asked && !needed.contains(&(at, what.to_owned())) {
                let _ = writeln!(
                    problems,
                    "{:?}: {what} is no longer so, of {:?} {:?}",
                    record.peer, record.ops, record.types
                );
            }
        }
    }
    problems
}

/// What of `f16` no peer has.
#[test]
fn half_precision_is_double_precision_rounded() {
    quiet_peers();
    let lacking: BTreeSet<String> = RECORDED
        .iter()
        .filter(|r| r.peer == Peer::Native && matches!(r.says, Says::Nothing))
        .filter(|r| {
            r.types
                .iter()
                .any(|t| t.ends_with("f16") || t.starts_with("f16 to"))
        })
        .flat_map(|r| r.ops.iter().map(|&op| op.to_owned()))
        .collect();
    let (mut tested, mut comparisons) = (BTreeSet::new(), 0);
    for (seed, case) in rows().flat_map(cases::cases).enumerate() {
        let op = case.op.to_string();
        let half = case.params.contains(&"f16") || case.results.contains(&"f16");
        if !half || !lacking.contains(&op) {
            continue;
        }
        let func = case.function().expect("only valid cases are kept");
        let rows = inputs::inputs(&case.params, seed as u64);
        for (input, ours) in rows.iter().zip(peers::ours(&case, &func, &rows)) {
            let expected = half::expected(&case, input).expect("it is of f16");
            assert!(
                same(&case, &ours, &expected),
                "{op} {}: {input:x?} is {ours:x?}, not {expected:x?}",
                case.label
            );
            comparisons += 1;
        }
        tested.insert(op);
    }
    println!(
        "{} rows of f16, {comparisons} comparisons with f64",
        tested.len()
    );
    assert_eq!(tested, lacking);
}

/// The book's list of disagreements and the records are about the same.
#[test]
fn the_book_tells_what_is_recorded() {
    let page = include_str!("../docs/clif.md");
    let (_, from) = page.split_once("**Where Cranelift").expect("the list");
    let (list, _) = from.split_once("**Functions**").expect("what follows it");
    let points: Vec<String> = list
        .split("\n- ")
        .skip(1)
        .map(|point| point.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    for record in RECORDED {
        assert!(
            points.iter().any(|p| p.contains(record.book)),
            "docs/clif.md has no point that says {:?}",
            record.book
        );
    }
    for point in &points {
        assert!(
            RECORDED.iter().any(|r| point.contains(r.book)),
            "nothing recorded shows: {point}"
        );
    }
}

/// Panics inside Cranelift are answers here, and not worth a message.
fn quiet_peers() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let inside = info
            .location()
            .is_some_and(|l| l.file().contains("cranelift-"));
        if !inside {
            usual(info);
        }
    }));
}
