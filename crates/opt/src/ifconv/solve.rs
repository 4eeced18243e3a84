//! What is best skipped in straight code: dynamic programming over the regions
//! inside a root.
//!
//! Values are kept per region and *owner*: what issues its code, the root or the
//! innermost skipped body around it, which fixes how often everything in the
//! region issues. Each value is kept twice: with the full predicate around the
//! region at hand, and without, when nothing inside may need it. Given both, the
//! bodies of a region are independent of each other but for the operations that
//! their predicates share, so what remains is to choose the bodies' guards that
//! are worth computing: a [closure](super::closure).
//!
//! Where neither side of a diamond is skipped, both are what they are
//! [merged](super::study::meld), which has a table of its own: the best is that,
//! or the best with one side skipped at least.
//!
//! Ties are broken in a fixed order: what is skipped before what is not, a guard
//! that is not needed before one that is.

use hashbrown::HashMap;
use smallvec::SmallVec;
use warpfold_analysis::regions::RegionId;
use warpfold_ir::CostClass;
use warpfold_ir::entity::EntityRef;
use warpfold_machine::Cost;

use super::closure::{Project, choose};
use super::guards::GuardId;
use super::ledger::Ledger;
use super::logic::{OpId, OpKind, Ops, Truth};
use super::outline::{Outline, Outlines};
use super::plan::Gate;
use super::study::meld::Meld;
use super::study::{RegionStudy, Study};

/// What issues a region's code: the root, or a body.
type Owner = Option<(RegionId, usize)>;

/// Something that is so or not of each body of a region.
pub type Flags = SmallVec<[bool; 8]>;

/// The skipped bodies of a root and the regions inside, which have the numbers
/// behind the root's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Skips {
    root: RegionId,
    bodies: SmallVec<[Flags; 1]>,
}

impl Skips {
    /// Nothing is skipped of `root`.
    pub fn none(root: RegionId) -> Self {
        Self {
            root,
            bodies: SmallVec::new(),
        }
    }

    fn at(&self, region: RegionId) -> usize {
        region.index().wrapping_sub(self.root.index())
    }

    /// Sets what is skipped of a region's bodies.
    pub fn set(&mut self, region: RegionId, bodies: Flags) {
        let at = self.at(region);
        if self.bodies.len() <= at {
            self.bodies.resize(at, Flags::new());
            self.bodies.push(bodies);
        } else {
            self.bodies[at] = bodies;
        }
    }

    /// Whether a body is skipped.
    pub fn has(&self, region: RegionId, body: usize) -> bool {
        let bodies = self.bodies.get(self.at(region));
        bodies.is_some_and(|b| b.get(body).copied().unwrap_or(false))
    }

    /// Whether any body of the region itself is.
    pub fn any_of(&self, region: RegionId) -> bool {
        let bodies = self.bodies.get(self.at(region));
        bodies.is_some_and(|b| b.contains(&true))
    }
}

/// The best of a root: with nothing of its own skipped, and with something.
#[derive(Clone, Debug)]
pub struct Best {
    /// The former, with what is skipped inside.
    pub straight: (Cost, Skips),
    /// The latter; `None` if nothing can be.
    pub skip: Option<(Cost, Skips)>,
}

/// Finds the best of a root.
pub fn solve(outlines: &Outlines, study: &Study, ledger: &Ledger<'_>) -> Best {
    let mut solver = Solver {
        outlines,
        study,
        ledger,
        solved: HashMap::new(),
    };
    let root = study.root;
    let tables = solver.tables(root, None);
    let straight = solver.with(root, &tables, Limit::NothingSkipped);
    let skip = solver.skipping(root, &tables);
    let result = |solver: &mut Solver<'_>, found: &Found| {
        let mut skips = Skips::none(root);
        solver.collect(root, None, found, &mut skips);
        (found.cost, skips)
    };
    Best {
        straight: result(&mut solver, &straight),
        skip: skip.map(|found| result(&mut solver, &found)),
    }
}

/// What may be skipped of a region's own bodies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Limit {
    Anything,
    NothingSkipped,
    /// This one must be.
    Skipped(usize),
}

/// A choice for a region.
#[derive(Clone, Debug)]
struct Found {
    cost: Cost,
    /// By body: whether its full predicate is at hand, and whether it is
    /// skipped.
    needed: Flags,
    skipped: Flags,
}

/// What a region costs for an owner.
#[derive(Clone, Debug)]
struct Solved {
    /// Without the predicate around it; `None` if something needs that.
    without: Option<Found>,
    with: Found,
}

/// What a body costs without its predicate, with it, and skipped.
type BodyCosts = (Option<Cost>, Cost, Option<Cost>);

/// What the bodies with one guard cost without it, if they can be, and with.
type ClassCosts = (Option<Cost>, Cost);

/// What the bodies of a region cost for an owner.
struct Table {
    bodies: SmallVec<[BodyCosts; 2]>,
    /// What is there in any case.
    fixed: Cost,
    /// Whether that needs the predicate around the region.
    around: bool,
}

/// The table of a region, and that of its sides merged.
struct Tables {
    plain: Table,
    melded: Option<Table>,
}

struct Solver<'a> {
    outlines: &'a Outlines,
    study: &'a Study,
    ledger: &'a Ledger<'a>,
    solved: HashMap<(RegionId, Owner), Solved>,
}

impl Solver<'_> {
    /// How often an owner issues what is behind a gate.
    fn count(&self, owner: Owner, gate: u32) -> u64 {
        let head = self.outlines.legal(self.study.root).head;
        let gate_of = match owner {
            None => self.study.gates[gate as usize],
            Some((region, body)) => {
                let (b, segment) = self.outlines.legal(region).bodies[body].first;
                Gate::Reached(b, segment)
            }
        };
        self.ledger.counts.behind(head, gate_of)
    }

    fn solve(&mut self, region: RegionId, owner: Owner) -> Solved {
        if let Some(known) = self.solved.get(&(region, owner)) {
            return known.clone();
        }
        let tables = self.tables(region, owner);
        let straight = tables.melded.as_ref().unwrap_or(&tables.plain);
        let solved = Solved {
            without: self.without(region, straight),
            with: self.best(region, owner, &tables, Limit::Anything),
        };
        self.solved.insert((region, owner), solved.clone());
        solved
    }

    fn tables(&mut self, id: RegionId, owner: Owner) -> Tables {
        let study = self.study;
        let meld = study.region(id).meld.as_deref();
        Tables {
            plain: self.table(id, owner),
            melded: meld.map(|meld| self.melded(id, owner, meld)),
        }
    }

    /// What the bodies of a region cost when neither is skipped, all but the
    /// regions inside counted as fixed.
    fn melded(&mut self, id: RegionId, owner: Owner, meld: &Meld) -> Table {
        let study = self.study;
        let region = study.region(id);
        let mut bodies = SmallVec::new();
        for (body, guarded) in region.bodies.iter().zip(meld.guarded) {
            let (mut without, mut with) = ((!guarded).then_some(Cost::ZERO), Cost::ZERO);
            for &inner in &body.nested {
                let inner = self.solve(inner, owner);
                without = without.zip(inner.without).map(|(a, b)| a + b.cost);
                with += inner.with.cost;
            }
            bodies.push((without, with, None));
        }
        Table {
            bodies,
            fixed: meld.unit * self.count(owner, region.end),
            around: meld.around,
        }
    }

    fn table(&mut self, id: RegionId, owner: Owner) -> Table {
        let (outlines, study) = (self.outlines, self.study);
        let outline = outlines.legal(id);
        let region = study.region(id);
        let mut fixed = region.at_end * self.count(owner, region.end);
        for op in region.computed.iter() {
            fixed += self.op_cost(outline, region, owner, op);
        }
        let mut bodies = SmallVec::with_capacity(region.bodies.len());
        let machine = self.ledger.machine;
        for (k, body) in region.bodies.iter().enumerate() {
            let here = self.count(owner, body.gate);
            fixed += body.in_front * here;
            let mut own = Cost::ZERO;
            for &(gate, unit) in &body.units {
                own += unit * self.count(owner, gate);
            }
            let no_guard = outline.bodies[k].truth == Truth::Known(true);
            let mut without = (!body.guarded || no_guard && region.all).then_some(own);
            let mut with = own;
            for &inner in &body.nested {
                let inner = self.solve(inner, owner);
                without = without.zip(inner.without).map(|(a, b)| a + b.cost);
                with += inner.with.cost;
            }
            let skipped = body.skippable.then(|| {
                let inside = Some((id, k));
                let entered = self.count(inside, 0);
                let mut jump = machine.issue_cost(CostClass::Branch) + machine.b_proven;
                if !(region.uniform && outline.bodies[k].uniform) {
                    jump += machine.issue_cost(CostClass::Cross);
                }
                let unit: Cost = body.units.iter().map(|&(_, unit)| unit).sum();
                let mut cost = jump * here + unit * entered;
                let first = outline.bodies[k].first;
                let [before, after] = [body.gate, body.end].map(|g| study.gates[g as usize]);
                let end = Gate::end_of_body(first, before, after);
                let head = outlines.legal(study.root).head;
                let left = self.ledger.counts.behind(head, end);
                cost += machine.issue_cost(CostClass::Jump) * left;
                for &inner in &body.nested {
                    cost += self.solve(inner, inside).with.cost;
                }
                cost
            });
            bodies.push((without, with, skipped));
        }
        Table {
            bodies,
            fixed,
            around: false,
        }
    }

    fn op_cost(&self, outline: &Outline, region: &RegionStudy, owner: Owner, op: OpId) -> Cost {
        match outline.logic.op(op).kind {
            OpKind::Condition { .. } => Cost::ZERO,
            OpKind::Takes { .. } | OpKind::And(..) => {
                let point = outline.logic.op(op).point;
                self.predicate_cost(region, owner, point as usize)
            }
        }
    }

    /// The cost of a predicate operation in front of a body.
    fn predicate_cost(&self, region: &RegionStudy, owner: Owner, point: usize) -> Cost {
        let gate = region.bodies.get(point);
        let gate = gate.map_or(region.end, |b| b.gate);
        let unit = self.ledger.machine.issue_cost(CostClass::Pred);
        unit * self.count(owner, gate)
    }

    /// Nothing skipped, and no predicate of this region needed.
    fn without(&self, region: RegionId, table: &Table) -> Option<Found> {
        if self.study.region(region).all || table.around {
            return None;
        }
        let mut cost = table.fixed;
        for &(without, ..) in &table.bodies {
            cost += without?;
        }
        Some(Found {
            cost,
            needed: Flags::from_elem(false, table.bodies.len()),
            skipped: Flags::from_elem(false, table.bodies.len()),
        })
    }

    fn with(&mut self, region: RegionId, tables: &Tables, limit: Limit) -> Found {
        self.best(region, None, tables, limit)
    }

    /// The best choice, with the predicate around the region at hand.
    fn best(&mut self, id: RegionId, owner: Owner, tables: &Tables, limit: Limit) -> Found {
        let plain = &tables.plain;
        let Some(melded) = &tables.melded else {
            return self.choose(id, owner, plain, limit);
        };
        match limit {
            Limit::Skipped(_) => self.choose(id, owner, plain, limit),
            Limit::NothingSkipped => self.choose(id, owner, melded, limit),
            Limit::Anything => {
                let mut best = self.choose(id, owner, melded, limit);
                for k in (0..plain.bodies.len()).rev() {
                    if plain.bodies[k].2.is_some() {
                        let found = self.choose(id, owner, plain, Limit::Skipped(k));
                        if found.cost <= best.cost {
                            best = found;
                        }
                    }
                }
                best
            }
        }
    }

    /// The best choice with a body of the root skipped.
    fn skipping(&mut self, root: RegionId, tables: &Tables) -> Option<Found> {
        let table = &tables.plain;
        // Otherwise nothing is skipped that need not be.
        let pays = |&(_, with, skipped): &BodyCosts| skipped.is_some_and(|s| s <= with);
        if tables.melded.is_some() || table.bodies.iter().any(pays) {
            let free = self.with(root, tables, Limit::Anything);
            if free.skipped.contains(&true) {
                return Some(free);
            }
        }
        // Of the bodies with one guard the one that loses least.
        let outline = self.outlines.legal(root);
        let mut least: SmallVec<[(GuardId, Cost, usize); 4]> = SmallVec::new();
        for (k, &(_, with, skipped)) in table.bodies.iter().enumerate() {
            let Some(skipped) = skipped else { continue };
            let loss = skipped - with.min(skipped);
            let guard = outline.bodies[k].guard;
            match least.iter_mut().find(|(g, ..)| *g == guard) {
                Some((_, best, _)) if *best <= loss => {}
                Some(slot) => *slot = (guard, loss, k),
                None => least.push((guard, loss, k)),
            }
        }
        let candidates = least
            .into_iter()
            .map(|(.., k)| self.with(root, tables, Limit::Skipped(k)));
        candidates.min_by_key(|found| found.cost)
    }

    fn choose(&mut self, id: RegionId, owner: Owner, table: &Table, limit: Limit) -> Found {
        let (outlines, study) = (self.outlines, self.study);
        let outline = outlines.legal(id);
        let region = study.region(id);
        let n = table.bodies.len();
        let skips = |k: usize| -> bool {
            let (_, with, skipped) = table.bodies[k];
            match limit {
                Limit::NothingSkipped => false,
                Limit::Skipped(must) if must == k => true,
                _ => skipped.is_some_and(|s| s <= with),
            }
        };
        // Bodies by guard, at the first of each: what they cost without it, if they
        // can, and with.
        let mut classes: SmallVec<[Option<ClassCosts>; 4]> = SmallVec::new();
        for (k, &(without, with, skipped)) in table.bodies.iter().enumerate() {
            let first = outline.bodies[k].first_of_guard;
            let (bare, guarded) = match classes.get(first).copied().flatten() {
                Some(class) => class,
                None => (Some(Cost::ZERO), Cost::ZERO),
            };
            let without = without.filter(|_| limit != Limit::Skipped(k));
            let with = match skipped {
                Some(skipped) if skips(k) => skipped,
                _ => with,
            };
            let class = (bare.zip(without).map(|(a, b)| a + b), guarded + with);
            classes.push(None);
            classes[first] = Some(class);
        }
        let classes = || {
            let classes = classes.iter().enumerate();
            classes.filter_map(|(first, class)| class.map(|(bare, guarded)| (first, bare, guarded)))
        };
        let mut found = Found {
            cost: table.fixed,
            needed: Flags::from_elem(false, n),
            skipped: Flags::from_elem(false, n),
        };
        // Without gain there is nothing to choose.
        if classes().all(|(_, bare, guarded)| bare.is_some_and(|bare| bare <= guarded)) {
            found.cost += classes().filter_map(|(_, bare, _)| bare).sum();
            return found;
        }
        // What each class needs. Operations that are there anyway cost nothing.
        let mut paid = region.computed.clone();
        let mut chosen = Flags::from_elem(false, n);
        for (first, bare, _) in classes() {
            if bare.is_none() {
                chosen[first] = true;
                let mut more = paid.clone();
                outline.logic.close(outline.bodies[first].truth, &mut more);
                for op in more.iter().filter(|&op| !paid.has(op)) {
                    found.cost += self.op_cost(outline, region, owner, op);
                }
                paid = more;
                // Those of classes that must have it are not among the prices below.
                let full = self.full_cost(outline, region, owner, first);
                found.cost += full.unwrap_or(Cost::ZERO);
            }
        }
        let mut prices: SmallVec<[i64; 8]> = SmallVec::new();
        // The price of each operation, by operation.
        let mut number: SmallVec<[Option<usize>; 8]> = SmallVec::new();
        let mut worthy: SmallVec<[usize; 4]> = SmallVec::new();
        let mut projects: SmallVec<[Project; 4]> = SmallVec::new();
        for (first, bare, guarded) in classes() {
            let Some(bare) = bare.filter(|bare| guarded < *bare) else {
                continue;
            };
            let mut needed = Ops::default();
            outline
                .logic
                .close(outline.bodies[first].truth, &mut needed);
            let mut needs = SmallVec::new();
            for op in needed.iter().filter(|&op| !paid.has(op)) {
                // What is free makes no difference.
                let price = self.op_cost(outline, region, owner, op);
                if price == Cost::ZERO {
                    continue;
                }
                let n = op.0 as usize;
                if number.len() <= n {
                    number.resize(n + 1, None);
                }
                let at = *number[n].get_or_insert_with(|| {
                    prices.push(price.0);
                    prices.len() - 1
                });
                needs.push(at);
            }
            if let Some(full) = self.full_cost(outline, region, owner, first) {
                needs.push(prices.len());
                prices.push(full.0);
            }
            let gain = (bare - guarded).0;
            worthy.push(first);
            projects.push(Project { gain, needs });
        }
        if !projects.is_empty() {
            let worth = choose(&projects, &prices);
            let mut bought = Flags::from_elem(false, prices.len());
            let all = worthy.iter().zip(&projects).zip(&worth);
            for ((&first, project), _) in all.filter(|(_, w)| **w) {
                chosen[first] = true;
                project.needs.iter().for_each(|&op| bought[op] = true);
            }
            for (price, _) in prices.iter().zip(&bought).filter(|(_, b)| **b) {
                found.cost += Cost(*price);
            }
        }
        for (first, bare, guarded) in classes() {
            found.cost += bare.filter(|_| !chosen[first]).unwrap_or(guarded);
        }
        for (k, body) in outline.bodies.iter().enumerate() {
            if chosen[body.first_of_guard] {
                found.needed[k] = true;
                found.skipped[k] = skips(k);
            }
        }
        found
    }

    /// The cost of the conjunction with the predicate around the region, where
    /// there are both.
    fn full_cost(
        &self,
        outline: &Outline,
        region: &RegionStudy,
        owner: Owner,
        body: usize,
    ) -> Option<Cost> {
        match outline.bodies[body].truth {
            Truth::Literal(_) if !region.all => {
                let point = outline.bodies[body].first_of_guard;
                Some(self.predicate_cost(region, owner, point))
            }
            _ => None,
        }
    }

    /// Lists what is skipped under a choice, in the regions inside as well.
    fn collect(&mut self, id: RegionId, owner: Owner, found: &Found, skips: &mut Skips) {
        let study = self.study;
        for (k, body) in study.region(id).bodies.iter().enumerate() {
            let inner_owner = match found.skipped[k] {
                true => Some((id, k)),
                false => owner,
            };
            for &inner in &body.nested {
                let solved = self.solve(inner, inner_owner);
                let inner_found = match solved.without {
                    Some(without) if !found.needed[k] => without,
                    _ => solved.with,
                };
                self.collect(inner, inner_owner, &inner_found, skips);
            }
        }
        skips.set(id, found.skipped.clone());
    }
}
