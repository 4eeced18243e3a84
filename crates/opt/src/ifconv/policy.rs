//! Who decides: the seam between what is known of a region and what becomes
//! of it.
//!
//! A [`Policy`] is asked once for every region of a function, inner regions
//! first, and answers with a form. It sees what is known: the function, the
//! region with its shape, how often things run, what is uniform, and for each
//! legal form its plan and its price ([`Options`]). An answer that is not legal
//! means the branch. What is straight around a region takes it along, whatever
//! was answered for it; as there is no branch in straight code, what was to stay
//! one is jumped over when no lane is in it. Which bodies of a skip are jumped
//! over, the policy says as well; only the decision by cost leaves that to cost.
//!
//! [`Cheapest`] is the decision by cost. Rules of other compilers are policies
//! like any other; no policy is asked while a knob overrides cost.

use std::fmt;

use warpfold_analysis::Loops;
use warpfold_analysis::regions::{RegionId, Regions};
use warpfold_analysis::uniformity::Uniformity;
use warpfold_ir::{Block, Function};
use warpfold_machine::{Cost, Machine};

use super::counts::Frequencies;
use super::decide::{Assignment, Options};
use crate::report::Form;

/// What is known of a region that a policy is asked about.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The canonical function.
    pub func: &'a Function,
    /// Its regions.
    pub regions: &'a Regions,
    /// The region in question.
    pub region: RegionId,
    /// The machine.
    pub machine: &'a Machine,
    /// What is uniform.
    pub uniformity: &'a Uniformity,
    /// How often things run.
    pub counts: &'a Frequencies,
    /// Its loops.
    pub loops: &'a Loops,
    /// What is legal, each legal form's price, and what it would emit.
    pub options: &'a Options,
    /// The regions that have been asked about.
    pub decided: &'a Assignment,
}

impl Question<'_> {
    /// The price of a form, nested regions at their best; `None` where it is
    /// not legal.
    pub fn price(&self, form: Form) -> Option<Cost> {
        let mut estimates = self.options.estimates.iter();
        estimates.find(|e| e.form == form).map(|e| e.total)
    }

    /// What was answered for a region inside this one.
    pub fn answered(&self, region: RegionId) -> Form {
        let options = self.decided.option(region);
        options.map_or(Form::Branch, |o| o.choice)
    }
}

/// A rule that decides.
pub trait Policy: fmt::Debug {
    /// Its name, as given to `--policy`.
    fn name(&self) -> &str;

    /// Whether it looks at what forms cost in all, and at nothing else that is known
    /// of them. Then [`Options`] have plans and the lines of estimates only of
    /// branches that are reported.
    fn by_totals(&self) -> bool {
        false
    }

    /// The form that a region is to have.
    fn choose(&self, question: &Question<'_>) -> Form;

    /// Of a region that is to be a skip: whether to jump over a body when no
    /// lane is in it. `first` is the block that the body begins with. `None`
    /// leaves it to cost what is skipped in straight code, in regions inside as
    /// well.
    fn skips(&self, question: &Question<'_>, first: Block) -> Option<bool> {
        let _ = (question, first);
        Some(true)
    }
}

impl<P: Policy + ?Sized> Policy for &P {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn by_totals(&self) -> bool {
        (**self).by_totals()
    }

    fn choose(&self, question: &Question<'_>) -> Form {
        (**self).choose(question)
    }

    fn skips(&self, question: &Question<'_>, first: Block) -> Option<bool> {
        (**self).skips(question, first)
    }
}

/// The cheapest form; on a tie the one that comes first in
/// [`Options::estimates`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cheapest;

impl Policy for Cheapest {
    fn name(&self) -> &str {
        "cost"
    }

    fn by_totals(&self) -> bool {
        true
    }

    fn choose(&self, question: &Question<'_>) -> Form {
        let estimates = question.options.estimates.iter();
        estimates
            .min_by_key(|e| e.total)
            .map_or(Form::Branch, |e| e.form)
    }

    fn skips(&self, _: &Question<'_>, _: Block) -> Option<bool> {
        None
    }
}
