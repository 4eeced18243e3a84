//! Generated kernels under drawn conditions: one string of bytes is a program, hints on
//! its branches, a machine, and a knob or a policy.

use std::path::Path;

use warpfold::machine::Machine;
use warpfold::opt::policy::{POLICIES, PolicyRow};
use warpfold::opt::report::Force;
use warpfold::{Settings, policy};

use super::between::check_settled;
use super::decided::{hinted, without_hints};
use super::regret::{Compared, check_regret};
use super::{Failure, SHIPPED, Subject, Tally, check_settings, check_with, fail};
use crate::generate::{Coverage, Options, Program, generate};

/// Every knob, and none.
pub const FORCES: [Option<Force>; 6] = [
    None,
    Some(Force::Straight),
    Some(Force::Predicate),
    Some(Force::Select),
    Some(Force::Branch),
    Some(Force::Skip),
];

/// A generated kernel and what it is to be checked under.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The kernel.
    pub program: Program,
    /// The machine.
    pub machine: Machine,
    /// The knob.
    pub force: Option<Force>,
    /// Who decides, where no knob does.
    pub policy: &'static PolicyRow,
    /// Whether to convert what came out once more, by cost: one in eight.
    pub again: bool,
    /// Whether to ask the interpreter too, which is slow: one in four.
    pub oracle: bool,
    /// Whether equal loads and stores of both sides are merged.
    pub accesses: bool,
}

/// What the checks of one drawn kernel saw.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Seen {
    /// What was generated.
    pub coverage: Coverage,
    /// What became of it.
    pub tally: Tally,
}

impl Drawn {
    /// The first four bytes draw the machine, the knob, and options with the
    /// interpreter, each from bits of its own, so that they meet in all ways;
    /// the others are the program.
    pub fn new(bytes: &[u8]) -> Self {
        let (draw, program) = bytes.split_at(bytes.len().min(4));
        let byte = |i: usize| draw.get(i).copied().unwrap_or(0);
        let options = Options {
            traps: byte(2) & 3 == 3,
            cross_lane: byte(2) & 12 == 12,
            shared: byte(2) & 12 == 12 || byte(2) & 16 != 0,
            waits: byte(2) & 12 != 12 && byte(2) & 32 != 0,
            choices: byte(3) & 3 == 3,
            calls: byte(3) & 28 == 28,
            ..Options::default()
        };
        let mut program = generate(program, &options);
        if byte(3) >> 5 == 7 {
            program.text = hinted(&program.text, byte(1) ^ byte(2));
        }
        // A knob by the low bits; who decides where there is none, by the others: in one
        // case of three by cost.
        let knob = usize::from(byte(1)) & 7;
        let row = (usize::from(byte(1)) >> 3).saturating_sub(10);
        Self {
            program,
            machine: SHIPPED[usize::from(byte(0)) % SHIPPED.len()].clone(),
            force: FORCES.get(knob).copied().flatten(),
            policy: &POLICIES[row % POLICIES.len()],
            again: byte(3) & 28 == 0,
            oracle: byte(2) >> 6 == 0,
            accesses: byte(0) & 128 != 0,
        }
    }

    /// Makes all checks; with `oracle` also against the interpreter and with threads
    /// run one at a time, where that can be.
    ///
    /// # Errors
    /// The first check that fails.
    pub fn check(&self, oracle: bool) -> Result<Seen, Failure> {
        let subject = self.subject()?;
        let expected = match oracle && !self.program.crosses_lanes {
            true => subject.expected()?,
            false => None,
        };
        let settings = self.settings()?;
        let mut tally = check_settings(&subject, &settings, expected.as_ref(), oracle)?;
        if self.again {
            let second = check_settled(&subject, &self.machine)?;
            for (blocker, n) in &second.blockers {
                *tally.blockers.entry(blocker.clone()).or_default() += n;
            }
        }
        Ok(Seen {
            coverage: self.program.coverage.clone(),
            tally,
        })
    }

    /// The machine with the knob or the policy.
    ///
    /// # Errors
    /// None; every policy of the table can be had by its name.
    pub fn settings(&self) -> Result<Settings, Failure> {
        Ok(Settings {
            force: self.force,
            ..by(&self.machine, self.policy)?
        })
    }

    /// What decides: the knob, or `by` the policy.
    pub fn decider(&self) -> String {
        match self.force {
            Some(force) => force.name().to_owned(),
            None => format!("by {}", self.policy.name),
        }
    }

    /// The same under every machine, knob and policy.
    ///
    /// # Errors
    /// The first check that fails.
    pub fn check_full(&self) -> Result<Seen, Failure> {
        let subject = self.subject()?;
        let expected = match self.program.crosses_lanes {
            true => None,
            false => subject.expected()?,
        };
        let mut seen = Seen {
            coverage: self.program.coverage.clone(),
            tally: Tally::default(),
        };
        for machine in &*SHIPPED {
            for force in FORCES {
                let tally = check_with(&subject, machine, force, expected.as_ref(), true)?;
                seen.tally.add(&tally);
            }
            for row in POLICIES.iter().filter(|row| row.name != "cost") {
                let settings = by(machine, row)?;
                let tally = check_settings(&subject, &settings, expected.as_ref(), true)?;
                seen.tally.add(&tally);
            }
        }
        Ok(seen)
    }

    /// Compares all legal assignments, if there are at most `limit`. Hints are left out:
    /// they say that something dearer is wanted.
    ///
    /// # Errors
    /// The first check that fails.
    pub fn check_regret(&self, limit: usize) -> Result<Option<Compared>, Failure> {
        let text = without_hints(&self.program.text);
        check_regret(&subject(&text, self.accesses)?, limit)
    }

    fn subject(&self) -> Result<Subject, Failure> {
        subject(&self.program.text, self.accesses)
    }
}

fn subject(text: &str, merge_accesses: bool) -> Result<Subject, Failure> {
    let options = warpfold::Options {
        merge_accesses,
        ..warpfold::Options::default()
    };
    Subject::read_by(text, "generated.clif", Path::new("."), options)
}

/// Decided by a policy.
fn by(machine: &Machine, row: &PolicyRow) -> Result<Settings, Failure> {
    let policy = policy(row.name).map_err(|e| fail("policy", machine.name.clone(), e))?;
    Ok(Settings {
        policy,
        ..Settings::new(machine.clone())
    })
}

/// Makes `bytes` smaller while `fails` holds of it: cuts pieces out, then
/// lowers single bytes.
pub fn shrink(mut bytes: Vec<u8>, fails: &mut dyn FnMut(&[u8]) -> bool) -> Vec<u8> {
    let mut tries = 2_000;
    let mut attempt = |candidate: &[u8]| {
        tries -= 1;
        (tries >= 0).then(|| fails(candidate))
    };
    loop {
        let before = bytes.clone();
        let mut piece = bytes.len() / 2;
        while piece > 0 {
            let mut at = 0;
            while at < bytes.len() {
                let end = (at + piece).min(bytes.len());
                let candidate = [&bytes[..at], &bytes[end..]].concat();
                match attempt(&candidate) {
                    Some(true) => bytes = candidate,
                    Some(false) => at += piece,
                    None => return bytes,
                }
            }
            piece /= 2;
        }
        for i in 0..bytes.len() {
            for lower in [0, bytes[i] / 2, bytes[i].saturating_sub(1)] {
                if lower >= bytes[i] {
                    continue;
                }
                let mut candidate = bytes.clone();
                candidate[i] = lower;
                match attempt(&candidate) {
                    Some(true) => {
                        bytes = candidate;
                        break;
                    }
                    Some(false) => {}
                    None => return bytes,
                }
            }
        }
        if bytes == before {
            return bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpfold::machine::MACHINES;

    #[test]
    fn shrinking_keeps_what_fails() {
        let noisy = vec![9, 200, 3, 77, 41, 8, 200, 1];
        let small = shrink(noisy, &mut |b| b.iter().filter(|&&x| x >= 40).count() >= 2);
        assert_eq!(small, [40, 40]);
    }

    #[test]
    fn the_first_bytes_draw_the_conditions() {
        let drawn = Drawn::new(&[1, 2, 0, 0]);
        assert_eq!(drawn.machine.name, MACHINES[1].name);
        assert_eq!(drawn.force, Some(Force::Predicate));
        assert_eq!(drawn.program, generate(&[], &Options::default()));
        assert!(drawn.oracle);
        assert!(!Drawn::new(&[1, 2, 64]).oracle);
        assert_eq!(Drawn::new(&[]).force, None);
    }
}
