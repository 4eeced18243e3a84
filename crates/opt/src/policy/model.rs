//! Cost models other than the machine's: what each line of the arithmetic costs
//! is for somebody else to say.
//!
//! A [`CostModel`] is one method, from what is paid for to its price each time.
//! [`ByModel`] is the policy that takes the cheapest form by such a model, nested
//! regions as they were decided. What the forms consist of and how often each
//! thing is paid for stays as it is, and so does what is jumped over in straight
//! code: that is best by the machine.
//!
//! The report's estimates remain those of the machine, and so does what is
//! measured: the model decides, the executor judges.

use warpfold_machine::{Cost, Machine};

use crate::ifconv::policy::{Policy, Question};
use crate::report::{Charge, Estimate, Form};
use warpfold_ir::Block;

/// What things cost.
pub trait CostModel: std::fmt::Debug {
    /// Its name in reports.
    fn name(&self) -> &str;

    /// What `charge` costs each time it is paid for. Of nested regions, which
    /// are sums themselves, it is not asked.
    fn unit(&self, charge: Charge) -> Cost;
}

/// The machine's own prices.
impl CostModel for Machine {
    fn name(&self) -> &str {
        &self.name
    }

    fn unit(&self, charge: Charge) -> Cost {
        match charge {
            Charge::Issue {
                class,
                guarded: false,
            } => self.issue_cost(class),
            Charge::Issue {
                class,
                guarded: true,
            } => self.issue_cost(class) + self.guard,
            Charge::Proven => self.b_proven,
            Charge::Agree => self.b_agree,
            Charge::Split => self.b_split,
            Charge::Region { .. } => Cost::ZERO,
        }
    }
}

/// Decides by the prices of a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ByModel<M>(pub M);

impl<M: CostModel> ByModel<M> {
    /// The price of a form by the model; `None` where it is not legal.
    pub fn price(&self, question: &Question<'_>, form: Form) -> Option<Cost> {
        let mut estimates = question.options.estimates.iter();
        let estimate = estimates.find(|e| e.form == form)?;
        Some(self.total(question, estimate))
    }

    fn total(&self, question: &Question<'_>, estimate: &Estimate) -> Cost {
        // Regions nest no deeper than branches; a list instead of recursion.
        let mut work = vec![estimate];
        let mut total = Cost::ZERO;
        while let Some(estimate) = work.pop() {
            for line in estimate.components.iter().flat_map(|c| &c.lines) {
                match line.charge {
                    Charge::Region { block, form, .. } => {
                        let nested = question.regions.headed_by(block).ok();
                        let options = nested.and_then(|r| question.decided.option(r));
                        let estimates = options.map_or(&[][..], |o| &o.estimates);
                        work.extend(estimates.iter().find(|e| e.form == form));
                    }
                    charge => {
                        total += self.0.unit(charge) * u64::from(line.count) * line.times;
                    }
                }
            }
        }
        total
    }
}

impl<M: CostModel> Policy for ByModel<M> {
    fn name(&self) -> &str {
        self.0.name()
    }

    /// The cheapest; on a tie the first of branch, skip and straight.
    fn choose(&self, question: &Question<'_>) -> Form {
        let estimates = question.options.estimates.iter();
        estimates
            .min_by_key(|e| self.total(question, e))
            .map_or(Form::Branch, |e| e.form)
    }

    fn skips(&self, _: &Question<'_>, _: Block) -> Option<bool> {
        None
    }
}
