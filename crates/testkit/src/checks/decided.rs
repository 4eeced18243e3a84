//! Whoever decides, results are the same and predictions exact: generated
//! kernels under drawn policies, with drawn hints on their branches.

use std::path::Path;

use warpfold::machine::Machine;
use warpfold::opt::policy::{POLICIES, PolicyRow};
use warpfold::opt::report::Decision;
use warpfold::{Settings, policy};

use super::{Failure, SHIPPED, Subject, check_exact, check_same, fail};
use crate::generate::{Options, Program, generate};

/// A generated kernel, what its branches are hinted, and who decides.
#[derive(Clone, Debug)]
pub struct Decided {
    /// The kernel, with hints in its text.
    pub program: Program,
    /// The machine.
    pub machine: Machine,
    /// Who decides.
    pub policy: &'static PolicyRow,
}

impl Decided {
    /// The first four bytes draw policy, machine, options and hints; the others
    /// are the program.
    pub fn new(bytes: &[u8]) -> Self {
        let (draw, program) = bytes.split_at(bytes.len().min(4));
        let byte = |i: usize| usize::from(draw.get(i).copied().unwrap_or(0));
        let options = Options {
            traps: byte(2) & 3 == 3,
            cross_lane: byte(2) & 12 == 12,
            shared: byte(2) & 12 == 12 || byte(2) & 16 != 0,
            calls: byte(2) & 96 == 96,
            ..Options::default()
        };
        let mut program = generate(program, &options);
        program.text = hinted(&program.text, byte(3) as u8);
        Self {
            program,
            machine: SHIPPED[byte(1) % SHIPPED.len()].clone(),
            policy: &POLICIES[byte(0) % POLICIES.len()],
        }
    }

    /// All versions do the same, and cost what was predicted, in total and
    /// branch by branch. Hints are followed or refused with a reason.
    ///
    /// # Errors
    /// The first that does not hold.
    pub fn check(&self) -> Result<Vec<Decision>, Failure> {
        let subject = Subject::read(&self.program.text, "generated.clif", Path::new("."))?;
        let under = || format!("{}, {}", self.machine.name, self.policy.name);
        let settings = |cleanup| -> Result<Settings, Failure> {
            let policy = policy(self.policy.name).map_err(|e| fail("policy", under(), e))?;
            Ok(Settings {
                policy,
                cleanup,
                ..Settings::new(self.machine.clone())
            })
        };
        let plain = subject.outcome(&settings(false)?)?;
        let cleaned = subject.outcome(&settings(true)?)?;
        check_same(&plain)?;
        check_same(&cleaned)?;
        check_exact(&plain, &cleaned)?;
        let decisions = plain.optimized().report().decisions.clone();
        for d in &decisions {
            let Some(h) = &d.hint else { continue };
            // What is asked for and what came of it go together.
            let kept = matches!(d.outcome(), "branch" | "skip");
            let honoured = match h.hint {
                warpfold::ir::Hint::Keep => d.outcome() == "branch",
                warpfold::ir::Hint::Flatten => !kept,
            };
            if honoured != h.refused.is_none() {
                let message = format!("the branch at {}: {h:?}, but {}", d.origin, d.outcome());
                return Err(fail("hint", under(), message));
            }
        }
        Ok(decisions)
    }
}

/// `text` with hints on some of its branches.
pub(super) fn hinted(text: &str, draw: u8) -> String {
    let mut state = u32::from(draw).wrapping_mul(0x9e37_79b9);
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        out.push_str(line);
        let code = line.trim_start();
        if draw != 0 && (code.starts_with("brif ") || code.starts_with("br_table ")) {
            // A linear congruence is random enough here.
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            out.push_str(match state >> 29 {
                0 | 1 => " ; warpfold: flatten",
                2 => " ; warpfold: keep",
                3 => " ; warpfold: p=1/32 rho=1/2",
                _ => "",
            });
        }
        out.push('\n');
    }
    out
}

/// `text` as it was.
pub(super) fn without_hints(text: &str) -> String {
    let code = |line: &str| match line.split_once(" ; warpfold: ") {
        Some((code, _)) => format!("{code}\n"),
        None => format!("{line}\n"),
    };
    text.lines().map(code).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_stand_on_branches_only() {
        let text = "    brif v0, block1, block2\n    jump block1\n    br_table v0, block1, []\n";
        assert_eq!(hinted(text, 0), text);
        let all: String = (1..=255).map(|draw| hinted(text, draw)).collect();
        for hint in ["flatten", "keep", "p=1/32 rho=1/2"] {
            assert!(
                all.contains(&format!("block2 ; warpfold: {hint}\n")),
                "{hint}"
            );
            assert!(all.contains(&format!("[] ; warpfold: {hint}\n")), "{hint}");
        }
        assert!(!all.contains("block1 ;"));
        assert_eq!(without_hints(&hinted(text, 7)), text);
    }
}
