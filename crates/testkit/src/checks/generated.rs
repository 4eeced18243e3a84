//! Generated kernels under drawn conditions: one string of bytes is a program,
//! a machine and a knob.

use std::path::Path;

use warpfold::machine::Machine;
use warpfold::opt::report::Force;

use super::regret::{Compared, check_regret};
use super::{Failure, SHIPPED, Subject, Tally, check_with};
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
    /// The first three bytes draw the machine, the knob, and options with the
    /// interpreter, each from bits of its own, so that they meet in all ways;
    /// the others are the program.
    pub fn new(bytes: &[u8]) -> Self {
        let (draw, program) = bytes.split_at(bytes.len().min(3));
        let byte = |i: usize| draw.get(i).copied().unwrap_or(0);
        let options = Options {
            traps: byte(2) & 3 == 3,
            cross_lane: byte(2) & 12 == 12,
            shared: byte(2) & 12 == 12 || byte(2) & 16 != 0,
            waits: byte(2) & 12 != 12 && byte(2) & 32 != 0,
            ..Options::default()
        };
        Self {
            program: generate(program, &options),
            machine: SHIPPED[usize::from(byte(0)) % SHIPPED.len()].clone(),
            force: FORCES[usize::from(byte(1)) % FORCES.len()],
            oracle: byte(2) >> 6 == 0,
            accesses: byte(1) & 128 != 0,
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
        let tally = check_with(
            &subject,
            &self.machine,
            self.force,
            expected.as_ref(),
            oracle,
        )?;
        Ok(Seen {
            coverage: self.program.coverage.clone(),
            tally,
        })
    }

    /// The same under every machine and knob.
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
        }
        Ok(seen)
    }

    /// Compares all legal assignments, if there are at most `limit`.
    ///
    /// # Errors
    /// The first check that fails.
    pub fn check_regret(&self, limit: usize) -> Result<Option<Compared>, Failure> {
        check_regret(&self.subject()?, limit)
    }

    fn subject(&self) -> Result<Subject, Failure> {
        let options = warpfold::Options {
            merge_accesses: self.accesses,
            ..warpfold::Options::default()
        };
        let text = &self.program.text;
        Subject::read_by(text, "generated.clif", Path::new("."), options)
    }
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
        let drawn = Drawn::new(&[1, 2, 0]);
        assert_eq!(drawn.machine.name, MACHINES[1].name);
        assert_eq!(drawn.force, Some(Force::Predicate));
        assert_eq!(drawn.program, generate(&[], &Options::default()));
        assert!(drawn.oracle);
        assert!(!Drawn::new(&[1, 2, 64]).oracle);
        assert_eq!(Drawn::new(&[]).force, None);
    }
}
