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
//!   changes: a search among numbers that the report has, made where it is asked
//!   for ([`Turn`]).
//!
//! The latter two are for *single* regions: no other inside, each side at most
//! one block, nothing that leaves.

use warpfold_analysis::regions::{RegionId, Regions};
use warpfold_ir::{CostClass, Function, Terminator};
use warpfold_machine::Cost;

use super::ledger::{Ledger, issue_cost};
use crate::prior::Prior;
use crate::report::{BreakEven, Estimate, Form, Turn};

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
    let Some(single) = single(ledger, regions, region, prior) else {
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
        turn: per(straight.total, n).map(|straight| Turn {
            straight,
            prior,
            ..single
        }),
    }
}

fn per(cost: Cost, n: u64) -> Option<Cost> {
    let n = i64::try_from(n).ok().filter(|&n| n > 0)?;
    Some(Cost(cost.0 / n))
}

/// What is known of a region without another inside; `None` for others.
fn single(ledger: &Ledger<'_>, regions: &Regions, id: RegionId, prior: Prior) -> Option<Turn> {
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
    Some(Turn {
        br: machine.issue_cost(CostClass::Branch),
        sides: targets.map(side),
        overhead: [overhead(false), overhead(true)],
        straight: Cost::ZERO,
        prior,
    })
}

fn segments_of(func: &Function, b: warpfold_ir::Block) -> usize {
    warpfold_analysis::segments(func, b).count()
}
