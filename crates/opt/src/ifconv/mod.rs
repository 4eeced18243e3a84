//! If-conversion: for each conditional region, a branch or straight-line code.
//!
//! One room each: [`legality`] (what may not be converted), [`outline`] (what a
//! region's straight code consists of), [`hints`] (what authors ask for), [`study`] (guards and parameters), [`plan`]
//! (what will be emitted), [`counts`] (how often things run), [`ledger`]
//! (what that costs, and which branch pays), [`solve`] and [`decide`]
//! (the cheapest legal assignment), [`policy`] (whoever else may decide), [`rewrite`] (emits the plans). What the regions are,
//! `warpfold_analysis::regions` says. [`convert`] walks through them.

mod break_even;
pub mod closure;
pub mod counts;
pub mod decide;
pub mod guards;
pub mod hints;
pub mod idiom;
pub mod ledger;
pub mod legality;
pub mod logic;
mod misfit;
pub mod outline;
pub mod plan;
pub mod policy;
pub mod rewrite;
pub mod scratch;
pub mod solve;
pub mod study;
mod write_up;

use std::borrow::Cow;

use hashbrown::{HashMap, HashSet};
use warpfold_analysis::regions::Regions;
use warpfold_analysis::uniformity::Uniformity;
use warpfold_analysis::{Flow, JoinRule, Profile};
use warpfold_ir::entity::SecondaryMap;
use warpfold_ir::{Block, CostClass, Function, Hint, Inst, Origin, Terminator, print};
use warpfold_machine::{Cost, Machine};

use self::decide::{Assignment, Choice};
use self::hints::Hints;
use self::ledger::{Entry, Ledger, Ownership, Payer};
use self::outline::Outlines;
use self::plan::{Plan, Uses};
use self::policy::Policy;
use self::rewrite::Emitted;
use crate::edit::laid_out;
use crate::log::Log;
use crate::pass;
use crate::report::{Force, Removed, Report};

pub use self::counts::{Assumed, Frequencies};
pub use self::misfit::{Misfit, misfits};

/// A branch of the function that was lowered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SourceBranch {
    /// Its place.
    pub origin: Origin,
    /// `brif` or `br_table`.
    pub opcode: &'static str,
    /// What its author asks for.
    pub hint: Option<Hint>,
}

/// What a conversion is decided by.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// Every branch of the function that was lowered, for the report.
    pub branches: &'a [SourceBranch],
    /// What earlier passes did to them.
    pub log: &'a Log,
    /// The uniformity of the canonical function.
    pub uniformity: &'a Uniformity,
    /// The machine.
    pub machine: &'a Machine,
    /// Where lanes join when the function runs.
    pub joins: JoinRule,
    /// Counts of a launch with all branches kept, if there are any.
    pub profile: Option<&'a Profile>,
    /// Who decides.
    pub policy: &'a dyn Policy,
    /// A knob that overrides whoever decides.
    pub force: Option<Force>,
    /// An assignment spelled out, instead of all that decides.
    pub choice: Option<&'a Choice>,
    /// What counts rest on without a profile.
    pub assumed: Assumed<'a>,
    /// Whether equal instructions of both sides of a diamond are merged in
    /// straight code, where that is cheaper.
    pub merge: bool,
    /// Whether to clean up after rewriting. Without it, what is emitted is
    /// exactly what was priced.
    pub cleanup: bool,
}

/// A converted function with its report.
#[derive(Clone, Debug)]
pub struct Conversion {
    /// The function.
    pub func: Function,
    /// What was decided and why.
    pub report: Report,
    /// Which branch each issue of the function belongs to.
    pub owners: Owners,
}

/// Which CLIF branch each instruction and terminator belongs to: the innermost
/// whose side it came from, the one it was hoisted to, or the head of the
/// region whose predicate, select or guard it is.
#[derive(Clone, Debug, Default)]
pub struct Owners {
    insts: SecondaryMap<Inst, Payer>,
    terms: SecondaryMap<Block, Payer>,
}

impl Owners {
    /// The branch that an instruction belongs to.
    pub fn inst(&self, i: Inst) -> Option<Origin> {
        self.insts[i]
    }

    /// The branch that the terminator of a block belongs to.
    pub fn term(&self, b: Block) -> Option<Origin> {
        self.terms[b]
    }
}

/// What is found out about a function before anything is decided.
struct Known {
    flow: Flow,
    regions: Regions,
    hints: Hints,
    counts: Frequencies,
    uses: Uses,
    reported: SecondaryMap<Block, bool>,
    outlines: Outlines,
}

impl Known {
    fn new(canonical: &Function, cx: &Context<'_>) -> Self {
        let known = cx.uniformity.flow();
        let flow = match known.is_of(canonical, cx.joins) {
            true => known.clone(),
            false => Flow::new(canonical, cx.joins),
        };
        let regions = Regions::of(canonical, &flow);
        let counts = match cx.profile {
            Some(profile) => Frequencies::measured(profile),
            None => {
                let (uniformity, assumed) = (cx.uniformity, &cx.assumed);
                Frequencies::expected(canonical, &flow, &regions, uniformity, assumed)
            }
        };
        let hints = Hints::new(canonical, &regions);
        Self {
            uses: plan::uses(canonical, &regions),
            reported: reported(canonical, cx.branches),
            outlines: Outlines::new(canonical, &regions, cx.force, &hints),
            flow,
            regions,
            hints,
            counts,
        }
    }

    fn inputs<'a>(&'a self, canonical: &'a Function, cx: &Context<'a>) -> plan::Inputs<'a> {
        plan::Inputs {
            func: canonical,
            cfg: &self.flow.cfg,
            regions: &self.regions,
            machine: cx.machine,
            uniformity: cx.uniformity,
            hints: &self.hints,
            loops: &self.flow.loops,
            uses: &self.uses,
            reported: &self.reported,
            force: cx.force,
            merge: cx.merge,
        }
    }
}

/// The blocks whose branch is one of those that are reported.
fn reported(func: &Function, branches: &[SourceBranch]) -> SecondaryMap<Block, bool> {
    let mut reported = SecondaryMap::new();
    if branches.is_empty() {
        return reported;
    }
    let origins: HashSet<Origin> = branches.iter().map(|b| b.origin).collect();
    for &b in &func.layout {
        if func.term(b).is_conditional() {
            reported[b] = origins.contains(&func.block(b).origin);
        }
    }
    reported
}

/// All legal assignments of a function, if there are at most `limit`; the first
/// keeps every branch. Only what is legal is looked at, never what it costs.
pub fn choices(canonical: &Function, cx: &Context<'_>, limit: usize) -> Option<Vec<Choice>> {
    let known = Known::new(canonical, cx);
    decide::choices(&known.inputs(canonical, cx), &known.outlines, limit)
}

/// Decides, rewrites and reports.
pub fn convert(canonical: &Function, cx: &Context<'_>) -> Conversion {
    converted(Cow::Borrowed(canonical), cx)
}

/// The same where the function is not needed any more: one of which nothing changes
/// is not copied.
pub fn convert_owned(canonical: Function, cx: &Context<'_>) -> Conversion {
    converted(Cow::Owned(canonical), cx)
}

fn converted(function: Cow<'_, Function>, cx: &Context<'_>) -> Conversion {
    let canonical: &Function = &function;
    let known = Known::new(canonical, cx);
    let inputs = known.inputs(canonical, cx);
    let (regions, outlines) = (&known.regions, &known.outlines);
    let ownership = Ownership::new(canonical, regions, cx.log);
    let ledger = Ledger {
        func: canonical,
        machine: cx.machine,
        counts: &known.counts,
        owners: &ownership,
    };
    let assignment = decide::decide(&inputs, outlines, &ledger, cx.policy, cx.choice);
    let plans: Vec<&Plan> = assignment
        .straight
        .iter()
        .filter_map(|&id| assignment.plan(id))
        .collect();

    // Rewriting takes out what no path reaches, too.
    let all_reached = known.flow.cfg.rpo().len() == canonical.layout.len();
    let unchanged = assignment.straight.is_empty() && all_reached && !cx.cleanup;
    let mut rewritten = (!unchanged).then(|| canonical.clone());
    let emitted = match &mut rewritten {
        Some(func) => {
            let emitted = rewrite::rewrite(func, &plans);
            settle(func, regions, &assignment, &emitted);
            emitted
        }
        None => Emitted::default(),
    };
    let func = rewritten.as_ref().unwrap_or(canonical);
    let owners = final_owners(canonical, func, &ownership, &assignment, &plans, &emitted);
    let mut report = write_up::report(canonical, cx, regions, &ledger, &assignment);
    if let (true, Some(func)) = (cx.cleanup, &mut rewritten) {
        report.removed = clean_up(func, &ledger, &assignment, &plans, &emitted);
    }
    Conversion {
        func: rewritten.unwrap_or_else(|| function.into_owned()),
        report,
        owners,
    }
}

/// Books the whole function under an assignment.
pub(crate) fn book_all(ledger: &Ledger<'_>, assignment: &Assignment, out: &mut dyn FnMut(Entry)) {
    let mut at: SecondaryMap<Block, Option<&Plan>> = SecondaryMap::new();
    for &id in &assignment.straight {
        if let Some(plan) = assignment.plan(id) {
            at[plan.head] = Some(plan);
        }
    }
    for &b in &ledger.func.layout {
        if assignment.swallowed[b].is_some() {
            continue;
        }
        // What never runs, or is outside of all that is expected to, costs nothing.
        if ledger.counts.passes(b, 0) > 0 {
            ledger.insts(b, out);
        }
        match at[b] {
            Some(plan) => ledger.plan(plan, out),
            None => ledger.terminator(b, out),
        }
    }
}

/// Marks the branches as decided that were kept around straight code. What is inside
/// of them is other code now than what their forms were priced with: a definition
/// that may be guarded in place of a select, or fewer regions in each other than are
/// too many.
fn settle(func: &mut Function, regions: &Regions, assignment: &Assignment, emitted: &Emitted) {
    for &id in &assignment.straight {
        let mut around = regions[id].parent;
        while let Some(kept) = around {
            let at = emitted.place(regions[kept].head);
            let term = func.block_mut(at).term.as_mut();
            if let Some(mark) = term.and_then(Terminator::mark_mut) {
                if mark.decided {
                    break;
                }
                mark.decided = true;
            }
            around = regions[kept].parent;
        }
    }
}

fn final_owners(
    canonical: &Function,
    func: &Function,
    ownership: &Ownership,
    assignment: &Assignment,
    plans: &[&Plan],
    emitted: &Emitted,
) -> Owners {
    let mut owners = Owners::default();
    owners.insts.resize(func.num_insts());
    owners.terms.resize(func.num_blocks());
    let mut is_head: SecondaryMap<Block, bool> = SecondaryMap::new();
    is_head.resize(canonical.num_blocks());
    let laid_out = laid_out(func);
    for (plan, made) in plans.iter().zip(&emitted.plans) {
        for &(at, i) in &made.insts {
            owners.insts[i] = ownership.item(&plan.items[at]);
        }
        for &(at, b) in &made.terms {
            owners.terms[b] = ownership.item(&plan.items[at]);
        }
        if plan.keeps_jump {
            owners.terms[made.end] = ownership.term(plan.head);
        }
        is_head[plan.head] = true;
    }
    for &b in &canonical.layout {
        if assignment.swallowed[b].is_some() {
            continue;
        }
        if ownership.any_in(b) {
            for &i in &canonical.block(b).insts {
                owners.insts[i] = ownership.inst(b, i);
            }
        }
        // Where heads end their plans say.
        let place = emitted.place(b);
        if !is_head[b] && laid_out[place] {
            owners.terms[place] = ownership.term(b);
        }
    }
    owners
}

/// Cleans up and lists what that removed of what was priced.
fn clean_up(
    func: &mut Function,
    ledger: &Ledger<'_>,
    assignment: &Assignment,
    plans: &[&Plan],
    emitted: &Emitted,
) -> Vec<Removed> {
    let mut priced: HashMap<Inst, Cost> = HashMap::new();
    book_all(ledger, assignment, &mut |e| {
        if let Some(i) = e.inst {
            priced.insert(i, e.cost);
        }
    });
    for (plan, made) in plans.iter().zip(&emitted.plans) {
        for &(at, i) in &made.insts {
            let item = &plan.items[at];
            if !matches!(item.what, plan::What::Inst { .. }) {
                let passes = ledger.counts.behind(plan.head, item.gate);
                let data = func.inst(i);
                let issue = ledger::issue_cost(ledger.machine, data, data.guard.is_some());
                priced.insert(i, issue * passes);
            }
        }
    }
    let issues = |func: &Function| -> Vec<Inst> {
        let issue = |i: &Inst| func.inst(*i).cost_class() != CostClass::Const;
        func.laid_out_insts()
            .map(|(_, i)| i)
            .filter(issue)
            .collect()
    };
    let texts: HashMap<Inst, String> = issues(func)
        .into_iter()
        .map(|i| (i, print::inst_text(func, i)))
        .collect();
    // None of these passes looks at joins.
    let joins = JoinRule::default();
    pass::to_fixpoint(pass::TIDY, func, joins, &mut Log::default());
    let mut left: SecondaryMap<Inst, bool> = SecondaryMap::new();
    for i in issues(func) {
        left[i] = true;
    }
    let mut removed: Vec<Removed> = texts
        .into_iter()
        .filter(|(i, _)| !left[*i])
        .map(|(inst, text)| Removed {
            inst,
            text,
            predicted: priced.get(&inst).copied().unwrap_or(Cost::ZERO),
        })
        .collect();
    removed.sort_by_key(|r| r.inst);
    removed
}
