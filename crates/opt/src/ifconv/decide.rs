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
use super::scratch::clear;
use super::solve::{Flags, Skips, solve};
use super::study::{self, Study, study};
use crate::report::{Charge, Component, Estimate, Force, Form, Line};

/// What is known of a region when it is decided.
#[derive(Clone, Debug)]
pub struct Options {
    /// Its straight form at its best with nothing of its own skipped, if anybody
    /// asked for it, or what forbids straight code.
    pub plan: Result<Option<Plan>, Blocker>,
    /// The same at its best with something skipped; `None` if nothing can be, or
    /// nobody asked.
    pub skip: Option<Plan>,
    /// The price of each legal form, nested regions at their best: branch, skip,
    /// straight. Where nobody asked the totals have no components.
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

/// What the rooms need for a region at work, kept from one to the next.
#[derive(Clone, Debug, Default)]
struct Rooms {
    study: study::Room,
    plan: plan::Room,
    tally: Tally,
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
    out.options.resize(regions.len());
    out.swallowed.resize(cx.func.num_blocks());
    let mut rooms = Rooms::default();
    // What the policy wants skipped.
    let mut spelled = Choice::default();
    for id in regions.ids().rev() {
        let mut options = Options {
            plan: outlines.get(id).map(|_| None),
            skip: None,
            estimates: Vec::with_capacity(3),
            choice: Form::Branch,
            best: Cost::ZERO,
        };
        // What is reported, or read by whoever decides, is written out.
        rooms.tally.written = !policy.by_totals() || cx.reported[regions[id].head];
        let branch = branch_estimate(cx.regions, ledger, id, &out, &mut rooms.tally);
        options.estimates.push(branch);
        let mut skips = None;
        if choice.is_none() {
            skips = price(cx, outlines, ledger, id, &mut rooms, &mut options);
        }
        let hint = cx.hints.of(id);
        let asked = match (choice, cx.force) {
            _ if hint == Some(Hint::Keep) => Form::Branch,
            (Some(choice), _) => {
                spelled_out(cx, outlines, ledger, choice, id, &mut rooms, &mut options)
            }
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
                            _ => spelled_out(
                                cx,
                                outlines,
                                ledger,
                                &spelled,
                                id,
                                &mut rooms,
                                &mut options,
                            ),
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
        match (options.choice, skips) {
            (Form::Straight, Some((skips, _))) => {
                options.plan = Ok(Some(make(cx, outlines, &mut rooms, &skips)));
            }
            (Form::Skip, Some((_, Some(skips)))) => {
                options.skip = Some(make(cx, outlines, &mut rooms, &skips));
            }
            _ => {}
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

/// What is skipped in a region's straight form, and in its skip if there is one.
type Skipped = (Skips, Option<Skips>);

/// Prices a region's forms where they are legal; nothing is chosen yet. Where
/// totals do, they are what was solved for, and what to skip is returned for the
/// plan that will be made; otherwise plans are made and priced line by line.
fn price(
    cx: &Inputs<'_>,
    outlines: &Outlines,
    ledger: &Ledger<'_>,
    id: RegionId,
    rooms: &mut Rooms,
    options: &mut Options,
) -> Option<Skipped> {
    if outlines.get(id).is_err() {
        return None;
    }
    let study = study(cx, outlines, id, &mut rooms.study);
    // What was solved for, for the skip and for the straight form.
    let mut solved = [None, None];
    let (straight, skip) = match cx.force {
        None => {
            let best = solve(outlines, study, ledger);
            // It ends where the join is appended.
            let jump = match (plan::keeps_jump(cx, id), study.gates.last()) {
                (true, Some(&end)) => ledger.jump(cx.regions[id].head, end),
                _ => Cost::ZERO,
            };
            let (cost, straight) = best.straight;
            solved[1] = Some(cost + jump);
            let skip = best.skip.map(|(cost, skips)| {
                solved[0] = Some(cost + jump);
                skips
            });
            (straight, skip)
        }
        Some(Force::Skip) => {
            let all = everything(cx.regions, study, id);
            let any = all.any_of(id);
            let mut own_straight = all.clone();
            own_straight.set(id, Flags::new());
            (own_straight, any.then_some(all))
        }
        Some(_) => (Skips::none(id), None),
    };
    let priced = |cost: &Option<Cost>| cost.is_some();
    if !rooms.tally.written && solved.iter().any(priced) {
        for (form, total) in [Form::Skip, Form::Straight].into_iter().zip(solved) {
            options.estimates.extend(total.map(|total| Estimate {
                form,
                components: Vec::new(),
                total,
            }));
        }
        if cfg!(debug_assertions) {
            check(cx, outlines, ledger, rooms, &straight, solved[1]);
            if let Some(skip) = &skip {
                check(cx, outlines, ledger, rooms, skip, solved[0]);
            }
        }
        return Some((straight, skip));
    }
    let forms = [(Form::Skip, skip), (Form::Straight, Some(straight))];
    for ((form, skips), solved) in forms.into_iter().zip(solved) {
        let Some(skips) = skips else { continue };
        let plan = make(cx, outlines, rooms, &skips);
        ledger.plan(&plan, &mut |entry| rooms.tally.add(entry));
        let estimate = rooms.tally.finish(form, 0);
        debug_assert!(solved.is_none_or(|cost| cost == estimate.total));
        options.estimates.push(estimate);
        match form {
            Form::Skip => options.skip = Some(plan),
            _ => options.plan = Ok(Some(plan)),
        }
    }
    None
}

/// Makes a plan of the region that was studied last.
fn make(cx: &Inputs<'_>, outlines: &Outlines, rooms: &mut Rooms, skips: &Skips) -> Plan {
    let skipped = |region, body| skips.has(region, body);
    let study = rooms.study.study();
    plan::build(cx, outlines, study, &skipped, &mut rooms.plan)
}

/// Whether a plan costs what was solved for.
fn check(
    cx: &Inputs<'_>,
    outlines: &Outlines,
    ledger: &Ledger<'_>,
    rooms: &mut Rooms,
    skips: &Skips,
    solved: Option<Cost>,
) {
    let plan = make(cx, outlines, rooms, skips);
    let mut sum = Cost::ZERO;
    ledger.plan(&plan, &mut |entry| sum += entry.cost);
    debug_assert_eq!(solved, Some(sum));
}

/// Every body that may be skipped.
fn everything(regions: &Regions, study: &Study, root: RegionId) -> Skips {
    let mut all = Skips::none(root);
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
    rooms: &mut Rooms,
    options: &mut Options,
) -> Form {
    let named = |id: RegionId| choice.straight.get(&cx.regions[id].head);
    let Some(own) = named(id).filter(|_| options.plan.is_ok()) else {
        return Form::Branch;
    };
    let study = study(cx, outlines, id, &mut rooms.study);
    let mut skips = Skips::none(id);
    let mut work = vec![id];
    while let Some(region) = work.pop() {
        let wanted = named(region).map_or(&[] as &[bool], Vec::as_slice);
        let bodies = &study.region(region).bodies;
        let wanted = |k: usize| wanted.get(k).copied().unwrap_or(false);
        let legal = (0..).zip(bodies).map(|(k, b)| b.skippable && wanted(k));
        skips.set(region, legal.collect());
        work.extend(&cx.regions[region].children);
    }
    let plan = make(cx, outlines, rooms, &skips);
    let form = match own.contains(&true) && skips.any_of(id) {
        true => Form::Skip,
        false => Form::Straight,
    };
    options.estimates.retain(|e| e.form != form);
    ledger.plan(&plan, &mut |entry| rooms.tally.add(entry));
    options.estimates.push(rooms.tally.finish(form, 0));
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
    let mut room = study::Room::default();
    // Inner regions come last: what is to be chosen around them is a product.
    let mut branches: SecondaryMap<RegionId, Vec<Choice>> = SecondaryMap::new();
    for id in regions.ids().rev() {
        let inner = regions[id].children.iter().map(|&c| &branches[c]);
        let mut all = product(inner, limit)?;
        if outlines.get(id).is_ok() && cx.hints.of(id) != Some(Hint::Keep) {
            let study = study(cx, outlines, id, &mut room);
            all.extend(straight_choices(regions, study, id, limit)?);
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
    tally: &mut Tally,
) -> Estimate {
    let region = &regions[id];
    let sink = &mut |entry| tally.add(entry);
    ledger.terminator(region.head, sink);
    for b in regions.own_blocks(id) {
        ledger.insts(b, sink);
        // The branch of a nested region is part of that region's price.
        if regions.headed_by(b).is_err() {
            ledger.terminator(b, sink);
        }
    }
    let mut e = tally.finish(Form::Branch, usize::from(!region.children.is_empty()));
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
    if !tally.written {
        e.total += nested.map(|line| line.cost).sum();
        return e;
    }
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

/// A sum that is being made: what becomes an [`Estimate`].
#[derive(Clone, Debug, Default)]
struct Tally {
    /// Name, issues and cost of each component.
    sums: Vec<(&'static str, u64, Cost)>,
    /// The lines, each with its component.
    lines: Vec<(usize, Line)>,
    /// Where lines beyond the first few stand.
    places: HashMap<(usize, Charge, u64, Cost), usize>,
    total: Cost,
    /// Whether more than the total is wanted.
    written: bool,
}

impl Tally {
    /// Most estimates have no more lines.
    const FEW: usize = 24;

    #[inline]
    fn add(&mut self, entry: Entry) {
        self.total += entry.cost;
        if self.written {
            self.line(entry);
        }
    }

    fn line(&mut self, entry: Entry) {
        let component = self.sums.iter().position(|c| c.0 == entry.name);
        let component = component.unwrap_or_else(|| {
            self.sums.push((entry.name, 0, Cost::ZERO));
            self.sums.len() - 1
        });
        let (_, issues, cost) = &mut self.sums[component];
        *issues += entry.issues;
        *cost += entry.cost;
        let fresh = self.lines.len();
        let found = self.lines.iter().take(Self::FEW).position(|(c, line)| {
            *c == component
                && line.times == entry.issues
                && line.unit == entry.unit
                && line.charge == entry.charge
        });
        let at = match found {
            Some(at) => at,
            None if fresh < Self::FEW => fresh,
            None => {
                let key = (component, entry.charge, entry.issues, entry.unit);
                *self.places.entry(key).or_insert(fresh)
            }
        };
        if at == fresh {
            let line = Line {
                charge: entry.charge,
                count: 0,
                times: entry.issues,
                unit: entry.unit,
                cost: Cost::ZERO,
            };
            self.lines.push((component, line));
        }
        let (_, line) = &mut self.lines[at];
        line.count += 1;
        line.cost += entry.cost;
    }

    /// The estimate; `extra` components may follow. Nothing is left behind.
    fn finish(&mut self, form: Form, extra: usize) -> Estimate {
        let mut components: Vec<Component> = Vec::with_capacity(self.sums.len() + extra);
        for (at, &(name, issues, cost)) in self.sums.iter().enumerate() {
            let own = || self.lines.iter().filter(move |(c, _)| *c == at);
            let mut lines = Vec::with_capacity(own().count());
            lines.extend(own().map(|(_, line)| *line));
            components.push(Component {
                name,
                issues,
                cost,
                lines,
            });
        }
        self.sums.clear();
        self.lines.clear();
        clear(&mut self.places);
        Estimate {
            form,
            components,
            total: std::mem::take(&mut self.total),
        }
    }
}
