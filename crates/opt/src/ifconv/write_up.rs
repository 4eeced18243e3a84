//! The report of a conversion: one decision per branch of the source.

use hashbrown::HashMap;
use warpfold_analysis::regions::{NoRegion, RegionId, Regions};
use warpfold_ir::entity::SecondaryMap;
use warpfold_ir::{Block, Function, Hint, Origin, Terminator};
use warpfold_machine::Cost;

use super::decide::{Assignment, Options};
use super::ledger::{Ledger, Payer};
use super::legality::Blocker;
use super::plan::{Item, What};
use super::{Context, SourceBranch, book_all, break_even};
use crate::log::Inlined;
use crate::report::{
    By, Counts, Decision, Force, Form, Hinted, Legality, Priced, Refusal, Report, Verdict,
};
use crate::safety::speculation;

pub(super) fn report(
    func: &Function,
    cx: &Context<'_>,
    regions: &Regions,
    ledger: &Ledger<'_>,
    assignment: &Assignment,
) -> Report {
    let mut predicted: HashMap<Payer, Cost> = HashMap::new();
    let [mut total, mut kept] = [Cost::ZERO; 2];
    let measured = ledger.counts.is_measured();
    if measured || !cx.branches.is_empty() {
        book_all(ledger, assignment, &mut |e| {
            total += e.cost;
            let sum = predicted.entry(e.payer).or_insert(Cost::ZERO);
            *sum += e.cost;
        });
    }
    // Totals are of measured launches only.
    if measured {
        book_all(ledger, &Assignment::default(), &mut |e| kept += e.cost);
        // What callees cost is the same in every assignment.
        let called = ledger.counts.callees(ledger.machine);
        (total, kept) = (total + called, kept + called);
        *predicted.entry(None).or_insert(Cost::ZERO) += called;
    }
    let mut skipped = SecondaryMap::new();
    let plans = assignment.straight.iter();
    for plan in plans.filter_map(|&id| assignment.plan(id)) {
        let opened = |item: &&Item| matches!(item.what, What::Open { .. });
        for item in plan.items.iter().filter(opened) {
            skipped[item.owner] = true;
        }
    }
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
        // No two have one origin.
        inlined: cx.log.inlined.iter().map(|i| (i.origin, i)).collect(),
        predicted,
        skipped,
    };
    Report {
        function: func.name.clone(),
        machine: cx.machine.name.clone(),
        policy: cx.policy.name().to_owned(),
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
    inlined: HashMap<Origin, &'a Inlined>,
    predicted: HashMap<Payer, Cost>,
    /// Heads of regions of which something is jumped over in straight code.
    skipped: SecondaryMap<Block, bool>,
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
                .inlined
                .get(&source.origin)
                .map_or(Vec::new(), |copy| copy.path.clone()),
            block,
            scope: block.map(|b| self.cx.uniformity.branch_scope(b)),
            divergence: diverges.map(|b| self.cx.uniformity.branch_chain(b).trail()),
            counts: block.and_then(|b| self.counts(b)),
            predicted: match &verdict {
                Verdict::Folded(_) => None,
                _ if ran || priced || matches!(verdict, Verdict::WithRegion { .. }) => Some(
                    self.predicted
                        .get(&Some(source.origin))
                        .copied()
                        .unwrap_or(Cost::ZERO),
                ),
                _ => None,
            },
            by: self.by(source.hint, &verdict),
            forced: self
                .cx
                .force
                .filter(|_| priced && source.hint != Some(Hint::Keep)),
            hint: source.hint.map(|hint| Hinted {
                hint,
                refused: self.refused(hint, &verdict, block),
            }),
            verdict,
        }
    }

    /// Who had the last word on a branch.
    fn by(&self, hint: Option<Hint>, verdict: &Verdict) -> By {
        let Verdict::Priced { details, form } = verdict else {
            return By::Nobody;
        };
        match (hint, self.cx.force) {
            (Some(Hint::Keep), _) => By::Hint,
            _ if details.estimates.len() < 2 => By::Nobody,
            (_, Some(_)) => By::Force,
            (Some(Hint::Flatten), None) if *form == Form::Straight => By::Hint,
            _ => By::Policy,
        }
    }

    /// Every form and knob that a region can have: legal, or what forbids it.
    fn legality(&self, id: RegionId, options: &Options) -> Vec<Legality> {
        let refusal = |blocker: Blocker| Refusal {
            blocker: Some(blocker),
            why: blocker.describe(self.func),
        };
        let straight = options.plan.as_ref().map(|_| ()).map_err(|b| *b);
        let select = straight.and_then(|()| self.all_bare(id));
        // Under other knobs nobody has looked.
        let looked = matches!(self.cx.force, None | Some(Force::Skip));
        let skip = match straight {
            Ok(()) if looked && options.skip.is_none() => Some(Refusal {
                blocker: None,
                why: String::from("nothing in it can be jumped over"),
            }),
            _ => straight.err().map(refusal),
        };
        let straight = straight.err().map(refusal);
        [
            (Form::Branch.name(), None),
            (Form::Skip.name(), skip),
            (Form::Straight.name(), straight.clone()),
            (Force::Select.name(), select.err().map(refusal)),
            (Force::Predicate.name(), straight),
        ]
        .map(|(form, refused)| Legality { form, refused })
        .into()
    }

    /// Whether everything in a region may be bare.
    fn all_bare(&self, id: RegionId) -> Result<(), Blocker> {
        for &block in self.regions.blocks(id) {
            for &inst in &self.func.block(block).insts {
                speculation(self.func, self.func.inst(inst))
                    .map_err(|why| Blocker::Unsafe { inst, why })?;
            }
            if self.func.term(block).targets().is_empty() {
                return Err(Blocker::EarlyEnd { block });
            }
        }
        Ok(())
    }

    /// Why a hint was not followed; `None` if it was.
    fn refused(&self, hint: Hint, verdict: &Verdict, block: Option<Block>) -> Option<Refusal> {
        let refusal = |why: String| Refusal { blocker: None, why };
        // What decided for the branch: its region, or the one around it.
        let region = block.and_then(|b| {
            let headed = self.regions.headed_by(b).ok();
            headed.or_else(|| self.regions.smallest_containing(b))
        });
        let blocker = region
            .and_then(|r| self.assignment.option(r))
            .and_then(|options| options.plan.as_ref().err().copied());
        match (hint, verdict) {
            (Hint::Keep, Verdict::Folded(why)) => Some(refusal(why.clone())),
            (Hint::Flatten, Verdict::NoRegion(why)) => Some(refusal(why.clone())),
            (
                Hint::Flatten,
                Verdict::Priced {
                    form: Form::Branch, ..
                }
                | Verdict::WithRegion {
                    form: Form::Branch, ..
                },
            ) => Some(match (blocker, self.cx.force) {
                (Some(blocker), _) => Refusal {
                    blocker: Some(blocker),
                    why: blocker.describe(self.func),
                },
                (None, Some(force)) => refusal(format!("overridden by `{force}`")),
                (None, None) => refusal(String::from("a hint to keep goes first")),
            }),
            _ => None,
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
            // A branch that heads no region goes with the one around it.
            let around = || self.regions.smallest_containing(b);
            let region = self.regions.headed_by(b).ok().or_else(around);
            let own = region.map_or(root, |r| self.regions[r].head);
            return Verdict::WithRegion {
                head: origin(root),
                form: match self.skipped[own] {
                    true => Form::Skip,
                    false => Form::Straight,
                },
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
        let others = options
            .estimates
            .iter()
            .filter(|e| e.form != options.choice);
        let rejected = others.min_by_key(|e| e.total);
        Verdict::Priced {
            form: options.choice,
            details: Box::new(Priced {
                shape: region.shape.name(),
                join: region.join,
                straight: options.plan.as_ref().map(|_| ()).map_err(|b| *b),
                estimates: options.estimates.clone(),
                margin: rejected.map(|e| e.total - options.best),
                break_even: break_even::of(
                    self.ledger,
                    self.regions,
                    id,
                    &options.estimates,
                    self.cx.assumed.prior,
                ),
                legality: self.legality(id, options),
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
            lanes: counts.lane_share(0),
            source: self.ledger.counts.source(b),
        })
    }
}
