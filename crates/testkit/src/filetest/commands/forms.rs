//! `test forms`: the kernel does the same in every form.

use std::collections::BTreeMap;

use warpfold::ir::{Function, MemFlags, Terminator};
use warpfold::machine::{MACHINES, Machine};
use warpfold::opt::policy::POLICIES;
use warpfold::opt::report::Force;
use warpfold::{Settings, policy};

use crate::checks::generated::FORCES;
use crate::checks::regret::{Compared, check_regret};
use crate::checks::{Subject, check_settings, settings};
use crate::filetest::{FileTest, Language, Options, Output, TestFile};

/// Most assignments of forms that are run.
const ASSIGNMENTS: usize = 256;

/// `test forms`: converts the kernel for every machine, by cost and with each form
/// forced, by each policy, and by every legal assignment of forms where there are at
/// most 256; runs each version under the file's launch, in both modes and with the checks
/// for poison and uniformity, beside the kernel as it was written and, if it is CLIF that
/// the interpreter can run, beside that. What a version does otherwise fails; so does a cost
/// that is not as predicted. Facts: `forms`, the knobs under which something became
/// straight (`cost` for none), `-` for nothing; `assignments`, how many there are, `-` for
/// too many; `traps`, how many lanes trap as it was written; and what the converted
/// functions hold, the least and the most of all: `least.branches` and `most.branches`
/// that a rewrite has not made, `…volatile` accesses, and `…OPCODE` for each opcode in them.
/// Options: `machine=NAME` for one alone; `merge=accesses` does it all once more, with equal
/// loads and stores of both sides made once; other facts than the last are without that.
#[derive(Clone, Copy, Debug)]
pub struct Forms;

impl FileTest for Forms {
    fn name(&self) -> &str {
        "forms"
    }

    fn options(&self) -> &[&str] {
        &["machine", "merge"]
    }

    fn run(&self, file: &TestFile, options: &Options) -> Result<Output, String> {
        let names: Vec<&str> = match options.get("machine") {
            Some(name) => vec![name],
            None => MACHINES.iter().map(|m| m.name).collect(),
        };
        let machines: Result<Vec<Machine>, _> =
            names.iter().map(|name| Machine::builtin(name)).collect();
        let machines = machines.map_err(|e| e.to_string())?;
        let merge: &[bool] = match options.get("merge") {
            None => &[false],
            Some("accesses") => &[true, false],
            Some(other) => return Err(format!("`merge={other}`: expected `accesses`")),
        };
        let mut held = Held::default();
        let mut last = None;
        for &merge_accesses in merge {
            last = Some(forms(file, &machines, merge_accesses, &mut held)?);
        }
        let Some(Found {
            traps,
            straight,
            assignments,
        }) = last
        else {
            return Err("there is nothing to do".to_owned());
        };
        let mut out = Output::default();
        let names: Vec<&str> = straight.into_values().collect();
        out.fact(
            "forms",
            if names.is_empty() {
                "-".to_owned()
            } else {
                names.join(",")
            },
        );
        match assignments {
            Some(found) => out.fact("assignments", found.assignments),
            None => out.fact("assignments", "-"),
        }
        out.fact("traps", traps);
        for (what, (least, most)) in held.found {
            out.fact(format!("least.{what}"), least);
            out.fact(format!("most.{what}"), most);
        }
        Ok(out)
    }
}

/// What came of all versions.
struct Found {
    traps: usize,
    /// The knobs under which something became straight, in order.
    straight: BTreeMap<usize, &'static str>,
    assignments: Option<Compared>,
}

fn forms(
    file: &TestFile,
    machines: &[Machine],
    merge_accesses: bool,
    held: &mut Held,
) -> Result<Found, String> {
    let road = warpfold::Options {
        merge_accesses,
        ..warpfold::Options::default()
    };
    let name = file.path.display().to_string();
    let subject = Subject::read_by(&file.code, &name, file.folder(), road);
    let subject = subject.map_err(|e| e.to_string())?;
    let expected = match file.language {
        Language::Clif => subject.expected().map_err(|e| e.to_string())?,
        Language::Ir => None,
    };
    let mut straight = BTreeMap::<usize, &str>::new();
    let mut check = |settings: &Settings| -> Result<u64, String> {
        let tally = check_settings(&subject, settings, expected.as_ref(), true);
        let tally = tally.map_err(|e| e.to_string())?;
        for cleanup in [false, true] {
            let settings = Settings {
                cleanup,
                ..settings.clone()
            };
            let optimized = subject.canonical().clone().convert(&settings);
            held.add(optimized.map_err(|e| e.to_string())?.func());
        }
        Ok(tally.converted)
    };
    for machine in machines {
        for (i, force) in FORCES.into_iter().enumerate() {
            if check(&settings(machine, force, true))? > 0 {
                straight.insert(i, force.map_or("cost", Force::name));
            }
        }
    }
    // Who decides only chooses among the forms: one machine is enough.
    for row in POLICIES.iter().filter(|row| row.name != "cost") {
        let Some(machine) = machines.last() else {
            break;
        };
        check(&Settings {
            policy: policy(row.name)?,
            ..Settings::new(machine.clone())
        })?;
    }
    let assignments = check_regret(&subject, ASSIGNMENTS).map_err(|e| e.to_string())?;
    Ok(Found {
        traps: subject.traps(),
        straight,
        assignments,
    })
}

/// What functions hold, the least and the most of each thing.
#[derive(Default)]
struct Held {
    found: BTreeMap<String, (usize, usize)>,
    functions: usize,
}

impl Held {
    fn add(&mut self, func: &Function) {
        let mut counts = BTreeMap::<String, usize>::new();
        let mut count = |what: &str| *counts.entry(what.to_owned()).or_default() += 1;
        for (_, inst) in func.laid_out_insts() {
            let data = func.inst(inst);
            count(data.op.mnemonic());
            if data
                .mem()
                .is_some_and(|(f, _)| f.contains(MemFlags::VOLATILE))
            {
                count("volatile");
            }
        }
        for &b in &func.layout {
            let term = func.term(b);
            let made = term.mark().is_some_and(|m| m.decided);
            if matches!(term, Terminator::Br { .. } | Terminator::Switch { .. }) && !made {
                count("branches");
            }
        }
        let first = self.functions == 0;
        self.functions += 1;
        for (what, n) in &counts {
            // What no function before had was there zero times.
            let least = if first { *n } else { 0 };
            let (low, high) = self.found.entry(what.clone()).or_insert((least, *n));
            (*low, *high) = ((*low).min(*n), (*high).max(*n));
        }
        for (what, (low, _)) in &mut self.found {
            if !counts.contains_key(what) {
                *low = 0;
            }
        }
    }
}
