//! The cheapest legal assignment of forms to regions.
//!
//! Bottom up over the region tree: a region kept as a branch pays for its own
//! code and for its nested regions at their best; as straight code it pays for its
//! plan, in which everything nested is straight or skipped as is cheapest there
//! (see [`solve`](super::solve)). Ties are broken in the order of
//! [`Options::estimates`]: branch, skip, straight. A knob overrides cost, never
//! legality. Any assignment can be spelled out as a [`Choice`] instead, and
//! [`choices`] lists all that are legal.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use warpfold_analysis::regions::{RegionId, Regions};
use warpfold_ir::entity::SecondaryMap;
use warpfold_ir::{Block, Hint};
use warpfold_machine::Cost;

use super::ledger::{Entry, Ledger};
use super::legality::Blocker;
use super::outline::Outlines;
use super::plan::{self, Inputs, Plan};
use super::policy::{Policy, Question};
use super::solve::{Skips, solve};
use super::study::{Study, study};
use crate::report::{Charge, Component, Estimate, Force, Form, Line};

/// What is known of a region when it is decided.
#[derive(Clone, Debug)]
pub struct Options {
    /// Its straight form at its best with nothing of its own skipped, if anybody
    /// asked for it, or what forbids straight code.
    pub plan: Result<Option<Plan>, Blocker>,
    /// The same at its best with something skipped; `None` if nothing can be.
    pub skip: Option<Plan>,
    /// The price of each legal form, nested regions at their best: branch, skip,
    /// straight.
    pub estimates: Vec<Estimate>,
    /// The form chosen if nothing around it becomes straight.
    pub choice: Form,
    /// The price of that form.
    pub best: Cost,
}

impl Options {
    /// The plan of a form; `None` for a branch, and for what is not legal.
    pub fn plan_of(&self, form: Form) -> Option<&Plan> {
        match form {
            Form::Straight => self.plan.as_ref().ok()?.as_ref(),
            Form::Skip => self.skip.as_ref(),
            Form::Branch | Form::Exit => None,
        }
    }
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
        let options = self.option(region)?;
        options.plan_of(options.choice)
    }
}

/// An assignment spelled out: for the head of each region that is straight code
/// or inside of it, which of its bodies are skipped, in the order of
/// [`Outline::bodies`](super::outline::Outline::bodies). All others are branches.
/// Parts that cannot be carried out are left out; [`misfits`](super::misfits) lists
/// them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Choice {
    /// By head.
    pub straight: BTreeMap<Block, Vec<bool>>,
}

/// Decides for every region as `policy` answers, or as `choice` says.
pub fn decide(
    cx: &Inputs<'_>,
    outlines: &Outlines,
    ledger: &Ledger<'_>,
    policy: &dyn Policy,
    choice: Option<&Choice>,
) -> Assignment {
    let regions = cx.regions;
    let mut out = Assignment::default();
    // What the policy wants skipped.
    let mut spelled = Choice::default();
    for id in regions.ids().rev() {
        let mut options = Options {
            plan: outlines.get(id).map(|_| None),
            skip: None,
            estimates: vec![branch_estimate(cx.regions, ledger, id, &out)],
            choice: Form::Branch,
            best: Cost::ZERO,
        };
        if choice.is_none() {
            price(cx, outlines, ledger, id, &mut options);
        }
        let hint = cx.hints.of(id);
        let asked = match (choice, cx.force) {
            _ if hint == Some(Hint::Keep) => Form::Branch,
            (Some(choice), _) => spelled_out(cx, outlines, ledger, choice, id, &mut options),
            (None, Some(Force::Branch)) => Form::Branch,
            (None, Some(Force::Skip)) => match options.skip {
                Some(_) => Form::Skip,
                None => Form::Straight,
            },
            (None, Some(_)) => Form::Straight,
            (None, None) => {
                let question = Question {
                    func: cx.func,
                    regions,
                    region: id,
                    machine: cx.machine,
                    uniformity: cx.uniformity,
                    counts: ledger.counts,
                    loops: cx.loops,
                    options: &options,
                    decided: &out,
                };
                let flatten = hint == Some(Hint::Flatten) && options.plan.is_ok();
                let form = match flatten {
                    true => Form::Straight,
                    false => policy.choose(&question),
                };
                match skips_of(outlines, policy, &question, form) {
                    None => form,
                    Some(skips) => {
                        spelled.straight.insert(regions[id].head, skips);
                        match form {
                            Form::Branch | Form::Exit => form,
                            _ => spelled_out(cx, outlines, ledger, &spelled, id, &mut options),
                        }
                    }
                }
            }
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
        if matches!(chosen, Form::Straight | Form::Skip) {
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

/// Which bodies a policy that has answered with `form` wants jumped over; `None`
/// where it is for cost to say, and where nothing may be.
fn skips_of(
    outlines: &Outlines,
    policy: &dyn Policy,
    question: &Question<'_>,
    form: Form,
) -> Option<Vec<bool>> {
    let outline = outlines.get(question.region).ok()?;
    if outline.bodies.is_empty() {
        return None;
    }
    let answers = outline.bodies.iter().map(|body| {
        let wanted = policy.skips(question, body.first.0)?;
        Some(match form {
            Form::Straight => false,
            Form::Skip => wanted,
            // It counts only inside straight code, which has no branch.
            Form::Branch | Form::Exit => true,
        })
    });
    answers.collect()
}

/// Makes the plans of a region's forms where they are legal, and prices them;
/// nothing is chosen yet.
fn price(
    cx: &Inputs<'_>,
    outlines: &Outlines,
    ledger: &Ledger<'_>,
    id: RegionId,
    options: &mut Options,
) {
    if outlines.get(id).is_err() {
        return;
    }
    let study = study(cx, outlines, id);
    let make = |skips: &Skips| {
        let skipped = |region, body| skips.has(region, body);
        plan::build(cx, outlines, &study, &skipped)
    };
    // What was solved for, for each of the plans.
    let mut solved = [None, None];
    let (straight, skip) = match cx.force {
        None => {
            let best = solve(outlines, &study, ledger);
            solved = [best.skip.as_ref().map(|b| b.0), Some(best.straight.0)];
            (best.straight.1, best.skip.map(|(_, skips)| skips))
        }
        Some(Force::Skip) => {
            let all = everything(cx.regions, &study, id);
            let any = all.any_of(id);
            let mut own_straight = all.clone();
            own_straight.set(id, Vec::new());
            (own_straight, any.then_some(all))
        }
        Some(_) => (Skips::none(), None),
    };
    options.skip = skip.map(|skips| make(&skips));
    let straight = make(&straight);
    if let Some(plan) = &options.skip {
        let skip = estimate(Form::Skip, |sink| ledger.plan(plan, sink));
        options.estimates.push(skip);
    }
    let e = estimate(Form::Straight, |sink| ledger.plan(&straight, sink));
    options.estimates.push(e);
    if cfg!(debug_assertions) {
        let made = [options.skip.as_ref(), Some(&straight)];
        for (plan, solved) in made.into_iter().zip(solved) {
            let priced = plan.map(|plan| {
                let mut sum = Cost::ZERO;
                let all = Plan {
                    keeps_jump: false,
                    ..plan.clone()
                };
                ledger.plan(&all, &mut |entry| sum += entry.cost);
                sum
            });
            debug_assert!(
                solved.is_none() || solved == priced,
                "{solved:?} {priced:?}"
            );
        }
    }
    options.plan = Ok(Some(straight));
}

/// Every body that may be skipped.
fn everything(regions: &Regions, study: &Study, root: RegionId) -> Skips {
    let mut all = Skips::default();
    let mut work = vec![root];
    while let Some(id) = work.pop() {
        let bodies = &study.region(id).bodies;
        all.set(id, bodies.iter().map(|b| b.skippable).collect());
        work.extend(&regions[id].children);
    }
    all
}

/// Takes a region's form from a choice; if it is the outermost straight one, its
/// plan too.
fn spelled_out(
    cx: &Inputs<'_>,
    outlines: &Outlines,
    ledger: &Ledger<'_>,
    choice: &Choice,
    id: RegionId,
    options: &mut Options,
) -> Form {
    let named = |id: RegionId| choice.straight.get(&cx.regions[id].head);
    let Some(own) = named(id).filter(|_| options.plan.is_ok()) else {
        return Form::Branch;
    };
    let study = study(cx, outlines, id);
    let mut skips = Skips::default();
    let mut work = vec![id];
    while let Some(region) = work.pop() {
        let wanted = named(region).map_or(&[] as &[bool], Vec::as_slice);
        let bodies = &study.region(region).bodies;
        let wanted = |k: usize| wanted.get(k).copied().unwrap_or(false);
        let legal = (0..).zip(bodies).map(|(k, b)| b.skippable && wanted(k));
        skips.set(region, legal.collect());
        work.extend(&cx.regions[region].children);
    }
    let skipped = |region, body| skips.has(region, body);
    let plan = plan::build(cx, outlines, &study, &skipped);
    let form = match own.contains(&true) && skips.any_of(id) {
        true => Form::Skip,
        false => Form::Straight,
    };
    options.estimates.retain(|e| e.form != form);
    options
        .estimates
        .push(estimate(form, |sink| ledger.plan(&plan, sink)));
    options.estimates.sort_by_key(|e| e.form);
    match form {
        Form::Skip => options.skip = Some(plan),
        _ => options.plan = Ok(Some(plan)),
    }
    form
}

/// All legal assignments, if there are at most `limit`: the first has branches
/// only.
pub fn choices(cx: &Inputs<'_>, outlines: &Outlines, limit: usize) -> Option<Vec<Choice>> {
    let regions = cx.regions;
    // Inner regions come last: what is to be chosen around them is a product.
    let mut branches: SecondaryMap<RegionId, Vec<Choice>> = SecondaryMap::new();
    for id in regions.ids().rev() {
        let inner = regions[id].children.iter().map(|&c| &branches[c]);
        let mut all = product(inner, limit)?;
        if outlines.get(id).is_ok() && cx.hints.of(id) != Some(Hint::Keep) {
            let study = study(cx, outlines, id);
            all.extend(straight_choices(regions, &study, id, limit)?);
        }
        if all.len() > limit {
            return None;
        }
        branches[id] = all;
    }
    product(regions.roots().iter().map(|&r| &branches[r]), limit)
}

/// Every way to skip in straight code.
fn straight_choices(
    regions: &Regions,
    study: &Study,
    root: RegionId,
    limit: usize,
) -> Option<Vec<Choice>> {
    let mut factors: Vec<Vec<Choice>> = Vec::new();
    let mut work = vec![root];
    while let Some(id) = work.pop() {
        let bodies = &study.region(id).bodies;
        let mut ways: Vec<Vec<bool>> = vec![vec![false; bodies.len()]];
        for (k, _) in bodies.iter().enumerate().filter(|(_, b)| b.skippable) {
            for mut way in ways.clone() {
                way[k] = true;
                ways.push(way);
            }
            if ways.len() > limit {
                return None;
            }
        }
        let head = regions[id].head;
        let choice = |way: Vec<bool>| Choice {
            straight: BTreeMap::from([(head, way)]),
        };
        factors.push(ways.into_iter().map(choice).collect());
        work.extend(&regions[id].children);
    }
    product(factors.iter(), limit)
}

fn product<'a>(
    factors: impl Iterator<Item = &'a Vec<Choice>>,
    limit: usize,
) -> Option<Vec<Choice>> {
    let mut all = vec![Choice::default()];
    for factor in factors {
        if all.len().saturating_mul(factor.len()) > limit {
            return None;
        }
        let mut next = Vec::with_capacity(all.len() * factor.len());
        for base in &all {
            for more in factor {
                let mut choice = base.clone();
                choice
                    .straight
                    .extend(more.straight.iter().map(|(b, w)| (*b, w.clone())));
                next.push(choice);
            }
        }
        all = next;
    }
    Some(all)
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
                block: regions[c].head,
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
