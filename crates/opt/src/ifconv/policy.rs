//! Who decides: the seam between what is known of a region and what becomes
//! of it.
//!
//! A [`Policy`] is asked once for every region of a function, inner regions
//! first, and answers with a form. It sees what is known: the function, the
//! region with its shape, how often things run, what is uniform, and for each
//! legal form its plan and its price ([`Options`]). An answer that is not legal
//! means the branch. What is straight around a region takes it along, whatever
//! was answered for it.
//!
//! [`Cheapest`] is the decision by cost. Rules of other compilers are policies
//! like any other; no policy is asked while a knob overrides cost.

use std::fmt;

use warpfold_analysis::regions::{RegionId, Regions};
use warpfold_analysis::uniformity::Uniformity;
use warpfold_ir::Function;
use warpfold_machine::{Cost, Machine};

use super::counts::Frequencies;
use super::decide::Options;
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
    /// What is legal, each legal form's price, and what it would emit.
    pub options: &'a Options,
}

impl Question<'_> {
    /// The price of a form, nested regions at their best; `None` where it is
    /// not legal.
    pub fn price(&self, form: Form) -> Option<Cost> {
        let mut estimates = self.options.estimates.iter();
        estimates.find(|e| e.form == form).map(|e| e.total)
    }
}

/// A rule that decides.
pub trait Policy: fmt::Debug {
    /// Its name, as given to `--policy`.
    fn name(&self) -> &str;

    /// The form that a region is to have.
    fn choose(&self, question: &Question<'_>) -> Form;
}

/// The cheapest form; on a tie the one that comes first in
/// [`Options::estimates`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cheapest;

impl Policy for Cheapest {
    fn name(&self) -> &str {
        "cost"
    }

    fn choose(&self, question: &Question<'_>) -> Form {
        let estimates = question.options.estimates.iter();
        estimates
            .min_by_key(|e| e.total)
            .map_or(Form::Branch, |e| e.form)
    }
}
