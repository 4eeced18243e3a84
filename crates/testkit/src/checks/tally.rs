//! What checks have seen.

use std::collections::BTreeMap;
use std::fmt;

use super::Compared;
use warpfold::ir::{Function, Opcode};
use warpfold::machine::Cost;
use warpfold::opt::report::{Form, Report, Verdict};

/// What may take the place of a select.
pub const IDIOMS: [Opcode; 8] = [
    Opcode::Bint,
    Opcode::Smin,
    Opcode::Smax,
    Opcode::Umin,
    Opcode::Umax,
    Opcode::Iabs,
    Opcode::Fmin,
    Opcode::Fmax,
];

/// Counts over the decisions of reports, and of the checks made.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Branches by what became of them: `branch`, `exit`, `trap`, `select`,
    /// `straight`, `skip`, `folded`.
    pub outcomes: BTreeMap<String, u64>,
    /// Regions priced, by shape.
    pub shapes: BTreeMap<String, u64>,
    /// Regions that cannot be straight, by rule.
    pub blockers: BTreeMap<String, u64>,
    /// Regions priced, by shape and the form that they got.
    pub pairs: BTreeMap<String, u64>,
    /// Branches that head no region, by the reason's first words.
    pub no_region: BTreeMap<String, u64>,
    /// Instructions that took the place of a select, by opcode: those that the converted
    /// function has more than the one that was priced.
    pub idioms: BTreeMap<String, u64>,
    /// Instructions that stand for one of each side.
    pub merged: u64,
    /// Branches that became straight code, with the regions nested in it.
    pub converted: u64,
    /// Kernels with at least one of these.
    pub kernels_converted: u64,
    /// Checks of a kernel under one machine and knob.
    pub checked: u64,
    /// Of these, with exact predictions (the rest trapped).
    pub exact: u64,
    /// Of these, against the interpreter.
    pub oracle: u64,
    /// What was compared between modes, and with threads run one at a time.
    pub compared: Compared,
    /// Cost executed where predictions were exact.
    pub executed: Cost,
}

impl Tally {
    /// What a report says.
    pub fn of(report: &Report) -> Self {
        let mut tally = Self::default();
        let count = |map: &mut BTreeMap<String, u64>, key: &str| {
            *map.entry(key.to_owned()).or_default() += 1;
        };
        for d in &report.decisions {
            count(&mut tally.outcomes, d.outcome());
            tally.converted += u64::from(matches!(d.form(), Some(Form::Straight | Form::Skip)));
            match &d.verdict {
                Verdict::Priced { details, form } => {
                    count(&mut tally.shapes, details.shape);
                    count(&mut tally.pairs, &format!("{} {form}", details.shape));
                    if *form != Form::Branch {
                        let merged = details.straight_shape.map_or(0, |s| s.merged);
                        tally.merged += u64::from(merged);
                    }
                    if let Err(blocker) = details.straight {
                        count(&mut tally.blockers, blocker.name());
                    }
                }
                Verdict::NoRegion(why) => {
                    // The reason names blocks; what comes before them is its kind.
                    let kind: Vec<&str> = why
                        .split_whitespace()
                        .filter(|word| !word.starts_with("block"))
                        .collect();
                    count(&mut tally.no_region, &kind.join(" "));
                }
                _ => {}
            }
        }
        tally.kernels_converted = u64::from(tally.converted > 0);
        tally
    }

    /// Counts what took the place of selects.
    pub fn count_idioms(&mut self, canonical: &Function, converted: &Function) {
        let count = |func: &Function, op: Opcode| {
            let insts = func.laid_out_insts();
            insts.filter(|&(_, i)| func.inst(i).op == op).count() as u64
        };
        for op in IDIOMS {
            let more = count(converted, op).saturating_sub(count(canonical, op));
            if more > 0 {
                *self.idioms.entry(op.mnemonic().to_owned()).or_default() += more;
            }
        }
    }

    /// Adds another.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in [
            (&mut self.outcomes, &other.outcomes),
            (&mut self.shapes, &other.shapes),
            (&mut self.blockers, &other.blockers),
            (&mut self.pairs, &other.pairs),
            (&mut self.no_region, &other.no_region),
            (&mut self.idioms, &other.idioms),
        ] {
            for (key, n) in theirs {
                *mine.entry(key.clone()).or_default() += n;
            }
        }
        self.merged += other.merged;
        self.converted += other.converted;
        self.kernels_converted += other.kernels_converted;
        self.checked += other.checked;
        self.exact += other.exact;
        self.oracle += other.oracle;
        self.compared.add(&other.compared);
        self.executed += other.executed;
    }

    /// Branches with this outcome.
    pub fn outcome(&self, name: &str) -> u64 {
        self.outcomes.get(name).copied().unwrap_or(0)
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "checked {}, exact {} (cost {}), against the interpreter {}, kernels converted {}, \
             branches converted {}, instructions merged {}",
            self.checked,
            self.exact,
            self.executed,
            self.oracle,
            self.kernels_converted,
            self.converted,
            self.merged
        )?;
        let Compared {
            modes,
            yielding,
            scalar,
        } = self.compared;
        writeln!(
            f,
            "versions run in both modes {modes}, giving way in {yielding}; run thread by thread \
             {scalar}"
        )?;
        for (name, map) in [
            ("outcomes", &self.outcomes),
            ("shapes", &self.shapes),
            ("blockers", &self.blockers),
            ("shape and form", &self.pairs),
            ("no region", &self.no_region),
            ("in place of selects", &self.idioms),
        ] {
            let list: Vec<String> = map.iter().map(|(k, n)| format!("{k} {n}")).collect();
            writeln!(f, "{name}: {}", list.join(", "))?;
        }
        Ok(())
    }
}
