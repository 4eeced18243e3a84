//! The probability of a lane at which branch and straight code cost the same.
//!
//! What an execution of a branch is expected to cost is a function of the
//! probability p that a lane's condition is true, with everything else as it is;
//! what straight code costs does not depend on p. Where one becomes cheaper than
//! the other is found by bisection, each step of which evaluates the
//! [prior](crate::prior) for a full warp. That is many times the work of deciding
//! the branch, so a report holds the numbers and searches on request.

use warpfold_machine::Cost;

use crate::prior::{Prior, Probability};

/// How fine the search for the dearest p is.
const STEPS: u64 = 1024;
/// Lanes of the warp that p is about.
const LANES: u32 = 32;

/// What an execution of a branch without another inside costs, by its parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Turn {
    /// The branch instruction.
    pub br: Cost,
    /// What a pass of each side costs, its jump included; `None` for a side
    /// that is not there.
    pub sides: [Option<Cost>; 2],
    /// Overhead where the warp agrees, and where it splits.
    pub overhead: [Cost; 2],
    /// What straight code costs in its place.
    pub straight: Cost,
    /// Whose correlation the lanes have.
    pub prior: Prior,
}

impl Turn {
    /// What an execution of the branch is expected to cost, in 2⁻³²nds of a
    /// thousandth.
    fn branch(&self, lane_true: Probability) -> i128 {
        let prior = Prior {
            lane_true,
            ..self.prior
        };
        let (t, f) = (prior.any_true(LANES).bits(), prior.any_false(LANES).bits());
        let one = Probability::ONE.bits();
        let split = (t + f).saturating_sub(one);
        let part = |p: u64, cost: Cost| i128::from(p) * i128::from(cost.thousandths());
        let [then, other] = self.sides.map(Option::unwrap_or_default);
        part(one, self.br)
            + part(t, then)
            + part(f, other)
            + part(one - split, self.overhead[0])
            + part(split, self.overhead[1])
    }

    /// The least p at which the cheaper form is another than at p = 0; `None` if it
    /// is the same for all.
    ///
    /// The expected cost is a sum of concave functions of p with weights that are
    /// not negative (a split costs no less than agreement), so it is above
    /// `straight` in one interval: from 0 on, up to 1, or around its peak.
    pub fn lane_true(&self) -> Option<Probability> {
        let one = Probability::ONE.bits();
        let straight = i128::from(one) * i128::from(self.straight.thousandths());
        let at = |bits: u64| Probability::ratio(bits, one).unwrap_or(Probability::ONE);
        let cost = |bits: u64| self.branch(at(bits));
        let keeps = |bits: u64| cost(bits) <= straight;
        let first = keeps(0);
        let high = match (first, keeps(one)) {
            (false, false) => return None,
            (true, true) => {
                let step = one / STEPS;
                let rises = |k: u64| cost(step * (k + 1)) > cost(step * k);
                let peak = step * first_not(0, STEPS, rises);
                (!keeps(peak)).then_some(peak)?
            }
            _ => one,
        };
        Some(at(first_not(0, high, |bits| keeps(bits) == first)))
    }
}

/// The first of `low..high` for which `holds` does not, or `high`; it must not
/// hold again behind that.
fn first_not(mut low: u64, mut high: u64, holds: impl Fn(u64) -> bool) -> u64 {
    while low < high {
        let middle = low + (high - low) / 2;
        match holds(middle) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}
