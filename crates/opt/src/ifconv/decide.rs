//! The cheapest legal assignment of forms to regions.
//!
//! Bottom up over the region tree: a region kept as a branch pays for its own
//! code and for its nested regions at their best; a straight region pays for
//! its plan, which holds everything nested. Ties keep the branch. A knob
//! overrides cost, never legality.

use hashbrown::HashMap;
use warpfold_analysis::regions::{RegionId, Regions};
use warpfold_ir::entity::SecondaryMap;
use warpfold_ir::{Block, Hint};
use warpfold_machine::Cost;

use super::ledger::{Entry, Ledger};
use super::legality::Blocker;
use super::plan::{self, Inputs, Plan};
use super::policy::{Policy, Question};
use crate::report::{Charge, Component, Estimate, Force, Form, Line};

/// What is known of a region when it is decided.
#[derive(Clone, Debug)]
pub struct Options {
    /// Its straight form, or what forbids it.
    pub plan: Result<Plan, Blocker>,
    /// The price of each legal form, nested regions at their best.
    pub estimates: Vec<Estimate>,
    /// The form chosen if nothing around it becomes straight.
    pub choice: Form,
    /// The price of that form.
    pub best: Cost,
}

/// The decisions of a function.
#[derive(Clone, Debug, Default)]
pub struct Assignment {
    /// By region.
    pub options: SecondaryMap<RegionId, Option<Options>>,
    /// For every block inside straight code: the head of the outermost
    /// straight region around it.
    pub swallowed: SecondaryMap<Block, Option<Block>>,
    /// The outermost straight regions.
    pub straight: Vec<RegionId>,
}

impl Assignment {
    /// What is known of a region.
    pub fn option(&self, region: RegionId) -> Option<&Options> {
        self.options[region].as_ref()
    }

    /// The plan of an outermost straight region.
    pub fn plan(&self, region: RegionId) -> Option<&Plan> {
        self.option(region)?.plan.as_ref().ok()
    }
}

/// Decides for every region as `policy` answers.
pub fn decide(cx: &Inputs<'_>, ledger: &Ledger<'_>, policy: &dyn Policy) -> Assignment {
    let regions = cx.regions;
    let mut out = Assignment::default();
    for id in regions.ids().rev() {
        let region = &regions[id];
        let plan = cx
            .hints
            .allow(id)
            .and_then(|()| plan::plan(cx, region.head, region.join));
        let mut estimates = vec![branch_estimate(regions, ledger, id, &out)];
        if let Ok(plan) = &plan {
            estimates.push(estimate(Form::Straight, |sink| ledger.plan(plan, sink)));
        }
        let mut options = Options {
            plan,
            estimates,
            choice: Form::Branch,
            best: Cost::ZERO,
        };
        let flatten = cx.hints.of(id) == Some(Hint::Flatten) && options.plan.is_ok();
        let asked = match cx.force {
            _ if cx.hints.of(id) == Some(Hint::Keep) => Form::Branch,
            Some(Force::Branch) => Form::Branch,
            Some(_) => Form::Straight,
            None if flatten => Form::Straight,
            None => policy.choose(&Question {
                func: cx.func,
                regions,
                region: id,
                machine: cx.machine,
                uniformity: cx.uniformity,
                counts: ledger.counts,
                loops: cx.loops,
                options: &options,
                decided: &out,
            }),
        };
        // The branch is always legal and comes first.
        let legal = options.estimates.iter().find(|e| e.form == asked);
        if let Some(e) = legal.or(options.estimates.first()) {
            (options.choice, options.best) = (e.form, e.total);
        }
        out.options[id] = Some(options);
    }
    let mut stack: Vec<RegionId> = regions.roots().iter().rev().copied().collect();
    while let Some(id) = stack.pop() {
        let chosen = out.option(id).map_or(Form::Branch, |o| o.choice);
        if chosen == Form::Straight {
            let head = regions[id].head;
            out.straight.push(id);
            for &b in regions.blocks(id) {
                out.swallowed[b] = Some(head);
            }
        } else {
            stack.extend(regions[id].children.iter().rev());
        }
    }
    out
}

fn branch_estimate(
    regions: &Regions,
    ledger: &Ledger<'_>,
    id: RegionId,
    decided: &Assignment,
) -> Estimate {
    let region = &regions[id];
    let mut e = estimate(Form::Branch, |sink| {
        ledger.terminator(region.head, sink);
        for b in regions.own_blocks(id) {
            ledger.insts(b, sink);
            // The branch of a nested region is part of that region's price.
            if regions.headed_by(b).is_err() {
                ledger.terminator(b, sink);
            }
        }
    });
    let nested = region.children.iter().filter_map(|&c| {
        let options = decided.option(c)?;
        Some(Line {
            charge: Charge::Region {
                head: ledger.func.block(regions[c].head).origin,
                form: options.choice,
            },
            count: 1,
            times: 1,
            unit: options.best,
            cost: options.best,
        })
    });
    let lines: Vec<Line> = nested.collect();
    if !lines.is_empty() {
        let nested: Cost = lines.iter().map(|line| line.cost).sum();
        e.components.push(Component {
            name: "nested",
            issues: 0,
            cost: nested,
            lines,
        });
        e.total += nested;
    }
    e
}

/// Sums what `fill` books, by name in order of first appearance.
fn estimate(form: Form, fill: impl FnOnce(&mut dyn FnMut(Entry))) -> Estimate {
    let mut components: Vec<Component> = Vec::new();
    let mut total = Cost::ZERO;
    // Where each line of the arithmetic stands.
    let mut places = HashMap::new();
    fill(&mut |entry: Entry| {
        total += entry.cost;
        let at = components.iter().position(|c| c.name == entry.name);
        let at = at.unwrap_or_else(|| {
            components.push(Component {
                name: entry.name,
                issues: 0,
                cost: Cost::ZERO,
                lines: Vec::new(),
            });
            components.len() - 1
        });
        let component = &mut components[at];
        component.issues += entry.issues;
        component.cost += entry.cost;
        let fresh = component.lines.len();
        let key = (at, entry.charge, entry.issues, entry.unit);
        let line = *places.entry(key).or_insert(fresh);
        if line == fresh {
            component.lines.push(Line {
                charge: entry.charge,
                count: 0,
                times: entry.issues,
                unit: entry.unit,
                cost: Cost::ZERO,
            });
        }
        component.lines[line].count += 1;
        component.lines[line].cost += entry.cost;
    });
    Estimate {
        form,
        components,
        total,
    }
}
