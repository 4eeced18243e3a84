//! The report of a conversion: one decision per branch of the source.

use hashbrown::HashMap;
use warpfold_analysis::regions::{NoRegion, RegionId, Regions};
use warpfold_ir::{Block, Function, Origin, Terminator};
use warpfold_machine::Cost;

use super::decide::{Assignment, Options};
use super::ledger::{Ledger, Payer};
use super::{Context, SourceBranch, book_all};
use crate::report::{Counts, Decision, Estimate, Form, Priced, Report, Verdict};

pub(super) fn report(
    func: &Function,
    cx: &Context<'_>,
    regions: &Regions,
    ledger: &Ledger<'_>,
    assignment: &Assignment,
) -> Report {
    let mut predicted: HashMap<Payer, Cost> = HashMap::new();
    let mut total = Cost::ZERO;
    book_all(ledger, assignment, &mut |e| {
        total += e.cost;
        let sum = predicted.entry(e.payer).or_insert(Cost::ZERO);
        *sum += e.cost;
    });
    let mut kept = Cost::ZERO;
    book_all(ledger, &Assignment::default(), &mut |e| kept += e.cost);
    // What callees cost is the same in every assignment.
    let called = ledger.counts.callees(ledger.machine);
    (total, kept) = (total + called, kept + called);
    *predicted.entry(None).or_insert(Cost::ZERO) += called;
    let writer = Writer {
        func,
        cx,
        regions,
        ledger,
        assignment,
        blocks: func
            .layout
            .iter()
            .filter(|&&b| func.term(b).is_conditional())
            .map(|&b| (func.block(b).origin, b))
            .collect(),
        folded: cx
            .log
            .folded
            .iter()
            .map(|(o, why)| (*o, why.as_str()))
            .collect(),
        predicted,
    };
    let measured = ledger.counts.is_measured();
    Report {
        function: func.name.clone(),
        machine: cx.machine.name.clone(),
        decisions: cx.branches.iter().map(|b| writer.decision(b)).collect(),
        predicted: measured.then_some(total),
        predicted_kept: measured.then_some(kept),
        removed: Vec::new(),
    }
}

struct Writer<'a> {
    func: &'a Function,
    cx: &'a Context<'a>,
    regions: &'a Regions,
    ledger: &'a Ledger<'a>,
    assignment: &'a Assignment,
    blocks: HashMap<Origin, Block>,
    folded: HashMap<Origin, &'a str>,
    predicted: HashMap<Payer, Cost>,
}

impl Writer<'_> {
    fn decision(&self, source: &SourceBranch) -> Decision {
        let block = self.blocks.get(&source.origin).copied();
        let verdict = match block {
            Some(b) => self.verdict(b),
            None => self.gone(source.origin),
        };
        let priced = matches!(verdict, Verdict::Priced { .. });
        let diverges = block.filter(|&b| !self.cx.uniformity.is_uniform_branch(b));
        let ran = self.ledger.counts.is_measured();
        Decision {
            origin: source.origin,
            opcode: source.opcode,
            path: self
                .cx
                .log
                .inlined
                .iter()
                .find(|copy| copy.origin == source.origin)
                .map_or(Vec::new(), |copy| copy.path.clone()),
            block,
            scope: block.map(|b| self.cx.uniformity.branch_scope(b)),
            divergence: diverges.map(|b| self.cx.uniformity.branch_chain(b).to_string()),
            counts: block.and_then(|b| self.counts(b)),
            predicted: match &verdict {
                Verdict::Folded(_) => None,
                _ if ran || priced => Some(
                    self.predicted
                        .get(&Some(source.origin))
                        .copied()
                        .unwrap_or(Cost::ZERO),
                ),
                _ => None,
            },
            forced: self.cx.force.filter(|_| priced),
            verdict,
        }
    }

    fn gone(&self, origin: Origin) -> Verdict {
        if let Some(exit) = self.cx.log.exits.iter().find(|e| e.origin == origin) {
            return Verdict::Exit {
                inst: exit.inst,
                kind: exit.kind,
            };
        }
        let why = self.folded.get(&origin).copied();
        Verdict::Folded(why.unwrap_or("no path reaches it").to_string())
    }

    fn verdict(&self, b: Block) -> Verdict {
        let origin = |b: Block| self.func.block(b).origin;
        if let Some(root) = self.assignment.swallowed[b] {
            let region = self.regions.headed_by(root).ok();
            let options = region.and_then(|r| self.assignment.option(r));
            return Verdict::WithRegion {
                head: origin(root),
                form: options.map_or(Form::Straight, |o| o.choice),
            };
        }
        match self.regions.headed_by(b) {
            Ok(id) => match self.assignment.option(id) {
                Some(options) => self.priced(id, options),
                None => Verdict::NoRegion(String::from("it was not priced")),
            },
            Err(NoRegion::InsideOther { region, .. }) => Verdict::WithRegion {
                head: origin(*region),
                form: Form::Branch,
            },
            Err(why) => Verdict::NoRegion(why.to_string()),
        }
    }

    fn priced(&self, id: RegionId, options: &Options) -> Verdict {
        let region = &self.regions[id];
        let of = |form| options.estimates.iter().find(|e| e.form == form);
        let (branch, straight) = (of(Form::Branch), of(Form::Straight));
        let others = options
            .estimates
            .iter()
            .filter(|e| e.form != options.choice);
        let rejected = others.min_by_key(|e| e.total);
        let executions = self.ledger.counts.branch(region.head).executions;
        Verdict::Priced {
            form: options.choice,
            details: Box::new(Priced {
                shape: region.shape.name(),
                join: region.join,
                straight: options.plan.as_ref().map(|_| ()).map_err(|b| *b),
                estimates: options.estimates.clone(),
                margin: rejected.map(|e| e.total - options.best),
                break_even_b: branch
                    .zip(straight)
                    .and_then(|(b, s)| break_even(b, s, executions)),
                straight_shape: options
                    .plan_of(options.choice)
                    .or(options.plan_of(Form::Straight))
                    .map(|p| p.shape(self.func)),
            }),
        }
    }

    fn counts(&self, b: Block) -> Option<Counts> {
        let known = self.ledger.counts.is_measured()
            || self.regions.headed_by(b).is_ok()
            || self.regions.smallest_containing(b).is_some();
        let counts = self.ledger.counts.branch(b);
        let (any_true, any_false) = match self.func.term(b) {
            Terminator::Switch { table, .. } => {
                let default = table.len() as u32;
                let most = (0..default).map(|i| counts.taken(i)).max();
                (most.unwrap_or(0), counts.taken(default))
            }
            _ => (counts.taken(0), counts.taken(1)),
        };
        known.then_some(Counts {
            executions: counts.executions,
            any_true,
            any_false,
            splits: counts.splits,
            source: self.ledger.counts.source(b),
        })
    }
}

/// The overhead per execution at which branch and straight code cost the same.
fn break_even(branch: &Estimate, straight: &Estimate, executions: u64) -> Option<Cost> {
    let overhead: Cost = branch
        .components
        .iter()
        .filter(|c| c.name == "overhead")
        .map(|c| c.cost)
        .sum();
    let gap = straight.total - (branch.total - overhead);
    let per = i64::try_from(executions).ok().filter(|&n| n > 0)?;
    Some(Cost(gap.0 / per))
}
