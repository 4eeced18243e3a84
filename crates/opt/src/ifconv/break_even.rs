//! Where a decision would turn: the values of b, of a side's length and of a
//! lane's probability at which the branch and straight code cost the same.
//!
//! All else stays as it is. With n executions of the branch, of which t and f
//! have a lane on either side, the branch costs
//! `n·br + t·L_t + f·L_f + overhead` and straight code a sum S that is the same
//! whatever lanes do, so
//!
//! - *b*: `(S − branch without overhead) / n`;
//! - *L* of a side: one more issue on it costs the branch t and straight code n,
//!   so it is `L_t + (branch − S) / (n − t)`; if every execution has a lane there
//!   no length makes a difference;
//! - *p*: with P(any) of the [prior](crate::prior) in place of the counts, for a
//!   full warp and the prior's correlation, the least p at which the cheaper form
//!   changes.
//!
//! The latter two are for *single* regions: no other inside, each side at most
//! one block, nothing that leaves.

use warpfold_analysis::regions::{RegionId, Regions};
use warpfold_ir::{CostClass, Function, Terminator};
use warpfold_machine::Cost;

use super::ledger::{Ledger, issue_cost};
use crate::prior::{Prior, Probability};
use crate::report::{BreakEven, Estimate, Form};

/// How fine the search for the dearest p is.
const STEPS: u64 = 1024;
/// Lanes of the warp that p is about.
const LANES: u32 = 32;

/// Of a region with these estimates.
pub(super) fn of(
    ledger: &Ledger<'_>,
    regions: &Regions,
    region: RegionId,
    estimates: &[Estimate],
    prior: Prior,
) -> BreakEven {
    let find = |form| estimates.iter().find(|e| e.form == form);
    let (Some(branch), Some(straight)) = (find(Form::Branch), find(Form::Straight)) else {
        return BreakEven::default();
    };
    let counts = ledger.counts.branch(regions[region].head);
    let n = counts.executions;
    let overhead: Cost = branch
        .components
        .iter()
        .filter(|c| c.name == "overhead")
        .map(|c| c.cost)
        .sum();
    let b = per(straight.total - (branch.total - overhead), n);
    let Some(single) = Single::new(ledger, regions, region) else {
        return BreakEven {
            b,
            ..BreakEven::default()
        };
    };
    let gap = branch.total - straight.total;
    let length = |side: usize| {
        let rest = n.saturating_sub(counts.taken(side as u32));
        let length = single.sides[side]? + per(gap, rest)?;
        (length >= Cost::ZERO).then_some(length)
    };
    BreakEven {
        b,
        then_length: length(0),
        else_length: length(1),
        lengths: single.sides,
        lane_true: per(straight.total, n).and_then(|s| single.turn(s, prior)),
    }
}

fn per(cost: Cost, n: u64) -> Option<Cost> {
    let n = i64::try_from(n).ok().filter(|&n| n > 0)?;
    Some(Cost(cost.0 / n))
}

/// A region without another inside.
struct Single {
    /// The branch instruction.
    br: Cost,
    /// What a pass of each side costs, its jump included; `None` for a side
    /// that is not there.
    sides: [Option<Cost>; 2],
    /// Overhead where the warp agrees, and where it splits.
    overhead: [Cost; 2],
}

impl Single {
    fn new(ledger: &Ledger<'_>, regions: &Regions, id: RegionId) -> Option<Self> {
        let (func, region) = (ledger.func, &regions[id]);
        let Terminator::Br {
            then,
            otherwise,
            mark,
            ..
        } = func.term(region.head)
        else {
            return None;
        };
        let blocks = regions.blocks(id);
        let targets = [then.block, otherwise.block];
        let simple = blocks.iter().all(|&b| {
            targets.contains(&b)
                && matches!(func.term(b), Terminator::Jump(_))
                && segments_of(func, b) == 1
        });
        if !simple || targets[0] == targets[1] {
            return None;
        }
        let machine = ledger.machine;
        let side = |b| {
            blocks.contains(&b).then(|| {
                let insts = func.block(b).insts.iter().map(|&i| func.inst(i));
                let issue = insts.filter(|data| data.cost_class() != CostClass::Const);
                let body: Cost = issue
                    .map(|data| issue_cost(machine, data, data.guard.is_some()))
                    .sum();
                body + machine.issue_cost(CostClass::Jump)
            })
        };
        let overhead = |split| machine.branch_overhead(mark.proven, split);
        Some(Self {
            br: machine.issue_cost(CostClass::Branch),
            sides: targets.map(side),
            overhead: [overhead(false), overhead(true)],
        })
    }

    /// What an execution of the branch is expected to cost, in 2⁻³²nds of a
    /// thousandth.
    fn branch(&self, prior: Prior) -> i128 {
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

    /// The least p at which the cheaper form is another than at p = 0.
    ///
    /// The expected cost is a sum of concave functions of p with weights that are
    /// not negative (a split costs no less than agreement), so it is above
    /// `straight` in one interval: from 0 on, up to 1, or around its peak.
    fn turn(&self, straight: Cost, prior: Prior) -> Option<Probability> {
        let one = Probability::ONE.bits();
        let straight = i128::from(one) * i128::from(straight.thousandths());
        let at = |bits: u64| Probability::ratio(bits, one).unwrap_or(Probability::ONE);
        let cost = |bits: u64| {
            let lane_true = at(bits);
            self.branch(Prior { lane_true, ..prior })
        };
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

fn segments_of(func: &Function, b: warpfold_ir::Block) -> usize {
    warpfold_analysis::segments(func, b).count()
}
