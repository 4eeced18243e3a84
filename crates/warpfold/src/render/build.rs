//! From the stages of the road to [`Document`]s.

use warpfold_analysis::JoinRule;
use warpfold_exec as exec;
use warpfold_exec::Site;
use warpfold_ir::{Function, Origin, print};
use warpfold_machine::Machine;
use warpfold_opt::Prior;
use warpfold_opt::prior::Probability;
use warpfold_opt::report::{
    BreakEven, Counts, Decision, Estimate, Hinted, Line, Priced, Report, Verdict,
};

use super::model::{
    BranchCountersDoc, BranchDoc, BreakEvenDoc, CallStepDoc, ComponentDoc, CostDoc, CountsDoc,
    Document, EstimateDoc, Figure, HintDoc, LaunchDoc, LegalityDoc, LineDoc, MachineDoc, Named,
    OriginDoc, PassDoc, PriorDoc, RemovedDoc, RunDoc, SamenessDoc, SettingsDoc, StraightDoc,
    TrapDoc, VERSION,
};
use super::{checked, timing};
use crate::measure::Outcome;
use crate::road::{Lowered, Optimized};
use crate::same::Sameness;

/// The report of a run: decisions, sameness, counters of all versions.
pub fn run(outcome: &Outcome) -> Document {
    let optimized = outcome.optimized();
    let report = optimized.report();
    let mut branches = branches(optimized);
    for (doc, d) in branches.iter_mut().zip(&report.decisions) {
        doc.measured = outcome.measured(d.origin);
    }
    let [before, kept, after] = outcome.totals();
    let (grid, block) = outcome.shape();
    let per_block = block.iter().map(|&n| u64::from(n)).product();
    let version = |name, func, run: Option<&exec::Outcome>| {
        let lowered = optimized.lowered();
        let functions = (lowered.linked(func), lowered.kernel());
        run.map(|run| {
            version(
                name,
                &functions,
                run,
                &optimized.settings().machine,
                per_block,
            )
        })
    };
    Document {
        launch: Some(LaunchDoc {
            grid: Some(grid),
            block: Some(block),
        }),
        sameness: Some(sameness(outcome)),
        branches: Some(branches),
        cost: Some(CostDoc {
            before,
            kept,
            after,
            outside: outcome.measured_outside(),
            ..cost(report)
        }),
        runs: [
            version("before", optimized.before().func(), Some(outcome.before())),
            version("kept", optimized.canonical().func(), outcome.kept()),
            version("after", optimized.func(), outcome.after()),
        ]
        .into_iter()
        .flatten()
        .collect(),
        ..converted("run", optimized)
    }
}

/// The report of decisions alone.
pub fn explain(optimized: &Optimized) -> Document {
    Document {
        branches: Some(branches(optimized)),
        cost: Some(cost(optimized.report())),
        ..converted("explain", optimized)
    }
}

/// The report of an execution of one version without conversion; `machine`
/// weighs the counters.
pub fn executed(
    lowered: &Lowered,
    func: &Function,
    run: &exec::Outcome,
    (grid, block): ([u32; 3], [u32; 3]),
    machine: &Machine,
) -> Document {
    let per_block = block.iter().map(|&n| u64::from(n)).product();
    let functions = (lowered.linked(func), lowered.kernel());
    let doc = version("exec", &functions, run, machine, per_block);
    Document {
        machine: Some(machine_doc(machine)),
        launch: Some(LaunchDoc {
            grid: Some(grid),
            block: Some(block),
        }),
        runs: vec![doc],
        ..document("exec", lowered, func)
    }
}

fn document(command: &'static str, lowered: &Lowered, func: &Function) -> Document {
    Document {
        version: VERSION,
        command,
        file: lowered.file().to_owned(),
        function: func.name.clone(),
        mode: lowered.options().mode.name(),
        machine: None,
        launch: None,
        settings: None,
        sameness: None,
        branches: None,
        arithmetic: false,
        branches_called: 0,
        cost: None,
        runs: Vec::new(),
        stages: Vec::new(),
        code: None,
    }
}

fn converted(command: &'static str, optimized: &Optimized) -> Document {
    let settings = optimized.settings();
    let lowered = optimized.lowered();
    Document {
        machine: Some(machine_doc(&settings.machine)),
        branches_called: branches_called(optimized),
        settings: Some(SettingsDoc {
            joins: match lowered.options().joins {
                JoinRule::Default => "default",
                JoinRule::Cfg => "cfg",
            },
            policy: optimized.report().policy.clone(),
            force: settings.force.map(|f| f.name()),
            merge: settings.merge,
            merge_accesses: lowered.options().merge_accesses,
            cleanup: settings.cleanup,
            profile: optimized.canonical().counts().is_some(),
            foreign_profile: optimized.canonical().has_foreign_counts(),
            prior: match optimized.canonical().counts() {
                Some(_) => None,
                None => Some(prior(settings.prior)),
            },
        }),
        ..document(command, lowered, optimized.func())
    }
}

fn prior(prior: Prior) -> PriorDoc {
    let millionths = |p: Probability| p.of(1_000_000) as f64 / 1e6;
    PriorDoc {
        p: millionths(prior.lane_true),
        rho: millionths(prior.correlation),
        text: prior.to_string(),
    }
}

/// Conditional branches of functions that the kernel calls.
fn branches_called(optimized: &Optimized) -> u64 {
    let module = optimized.module();
    let called = module.functions.iter().skip(1);
    let branches = called.flat_map(|f| f.layout.iter().map(|&b| f.term(b)));
    branches.filter(|term| term.is_conditional()).count() as u64
}

pub(super) fn machine_doc(machine: &Machine) -> MachineDoc {
    MachineDoc {
        name: machine.name.clone(),
        b_proven: machine.b_proven,
        b_agree: machine.b_agree,
        b_split: machine.b_split,
    }
}

fn sameness(outcome: &Outcome) -> SamenessDoc {
    let (of, prefix) = match (outcome.sameness(), outcome.kept_sameness()) {
        (after, kept) if after.is_same() && !kept.is_same() => (kept, "with branches kept, "),
        (after, _) => (after, ""),
    };
    // A version that does not finish where the other did is a difference.
    let verdict = match of {
        Sameness::Same { .. } => "same",
        Sameness::Different(_) | Sameness::Unfinished(_) => "different",
    };
    SamenessDoc {
        verdict,
        detail: format!("{prefix}{of}"),
    }
}

fn cost(report: &Report) -> CostDoc {
    CostDoc {
        predicted: report.predicted,
        predicted_kept: report.predicted_kept,
        after: None,
        kept: None,
        before: None,
        outside: None,
        removed: report
            .removed
            .iter()
            .map(|r| RemovedDoc {
                inst: r.inst.to_string(),
                text: r.text.clone(),
                predicted: r.predicted,
            })
            .collect(),
    }
}

pub(super) fn origin(o: Origin) -> OriginDoc {
    OriginDoc {
        inst: o.inst,
        line: (o.line != 0).then_some(o.line),
    }
}

fn branches(optimized: &Optimized) -> Vec<BranchDoc> {
    let canonical = optimized.canonical().func();
    let decisions = &optimized.report().decisions;
    decisions.iter().map(|d| branch(d, canonical)).collect()
}

/// One decision; `canonical` is what blocks and instructions refer to.
fn branch(d: &Decision, canonical: &Function) -> BranchDoc {
    let mut doc = BranchDoc {
        origin: origin(d.origin),
        opcode: d.opcode,
        calls: d
            .path
            .iter()
            .map(|step| CallStepDoc {
                function: step.callee.clone(),
                line: (step.site.line != 0).then_some(step.site.line),
            })
            .collect(),
        block: d.block.map(|b| b.to_string()),
        outcome: d.outcome().to_owned(),
        reason: None,
        head: None,
        shape: None,
        join: None,
        scope: d.scope.map(|s| s.to_string()),
        divergence: d.divergence.as_ref().map(ToString::to_string),
        counts: d.counts.as_ref().map(counts),
        blocker: None,
        legality: Vec::new(),
        estimates: Vec::new(),
        straight: None,
        margin: None,
        break_even_b: None,
        break_even: None,
        by: d.by.name(),
        forced: d.forced.map(|f| f.name()),
        hint: d.hint.as_ref().map(hint),
        predicted: d.predicted,
        measured: None,
    };
    match &d.verdict {
        Verdict::Folded(why) | Verdict::NoRegion(why) => doc.reason = Some(why.clone()),
        Verdict::Exit { inst, .. } => {
            let text = print::inst_text(canonical, *inst);
            // Without its origin, which is this branch's.
            let text = text.split(" @").next().unwrap_or_default();
            doc.reason = Some(format!("`{text}`"));
        }
        Verdict::WithRegion { head, .. } => doc.head = Some(origin(*head)),
        Verdict::Priced { details, .. } => priced(&mut doc, details, canonical),
    }
    doc
}

fn hint(h: &Hinted) -> HintDoc {
    let refused = h.refused.as_ref();
    HintDoc {
        hint: h.hint.name(),
        honoured: refused.is_none(),
        blocker: refused.and_then(|r| r.blocker).map(|b| b.name()),
        why: refused.map(|r| r.why.clone()),
    }
}

fn priced(doc: &mut BranchDoc, p: &Priced, canonical: &Function) {
    doc.shape = Some(p.shape.to_owned());
    doc.join = Some(p.join.to_string());
    doc.blocker = p.straight.err().map(|b| b.describe(canonical));
    doc.estimates = p.estimates.iter().map(estimate).collect();
    doc.straight = p.straight_shape.map(|s| StraightDoc {
        instructions: s.instructions,
        guarded: s.guarded,
        merged: s.merged,
        selects: s.selects,
        predicates: s.predicates,
        exits: s.exits,
        skips: s.skips,
    });
    doc.margin = p.margin;
    doc.break_even_b = p.break_even.b;
    doc.break_even = break_even(&p.break_even);
    doc.legality = p
        .legality
        .iter()
        .map(|l| LegalityDoc {
            form: l.form,
            legal: l.refused.is_none(),
            blocker: l.refused.as_ref().and_then(|r| r.blocker).map(|b| b.name()),
            why: l.refused.as_ref().map(|r| r.why.clone()),
        })
        .collect();
}

/// `None` for what is no single region.
fn break_even(b: &BreakEven) -> Option<BreakEvenDoc> {
    let [then_cost, else_cost] = b.lengths;
    then_cost.or(else_cost)?;
    let lane_true = b.lane_true();
    Some(BreakEvenDoc {
        then_cost,
        then_even: b.then_length,
        else_cost,
        else_even: b.else_length,
        lane_true: lane_true.map(|p| p.of(1_000_000) as f64 / 1e6),
        lane_true_text: lane_true.map(|p| p.to_string()),
    })
}

fn counts(c: &Counts) -> CountsDoc {
    CountsDoc {
        executions: c.executions,
        any_true: c.any_true,
        any_false: c.any_false,
        splits: c.splits,
        lanes_true: c.lanes.map(|(took, _)| took),
        lanes: c.lanes.map(|(_, all)| all),
        source: c.source.to_string(),
    }
}

fn estimate(e: &Estimate) -> EstimateDoc {
    EstimateDoc {
        form: e.form.name(),
        total: e.total,
        components: e
            .components
            .iter()
            .map(|c| ComponentDoc {
                name: c.name,
                issues: c.issues,
                cost: c.cost,
                lines: c.lines.iter().map(line).collect(),
            })
            .collect(),
    }
}

fn line(l: &Line) -> LineDoc {
    LineDoc {
        what: l.charge.to_string(),
        count: l.count,
        times: l.times,
        unit: l.unit,
        cost: l.cost,
    }
}

/// Functions that ran, and the position of the kernel.
type Linked<'a> = (Vec<&'a Function>, usize);

/// One version's run.
fn version(
    name: &'static str,
    functions: &Linked<'_>,
    run: &exec::Outcome,
    machine: &Machine,
    per_block: u64,
) -> RunDoc {
    RunDoc {
        version: name,
        ending: match run.end {
            exec::Ending::Finished => "finished".to_owned(),
            exec::Ending::Trapped => "trapped".to_owned(),
        },
        traps: traps(&functions.0, run, per_block),
        counters: counters(&run.counters, machine),
        branches: run
            .branches
            .iter()
            .map(|b| BranchCountersDoc {
                origin: (!b.origin.is_none()).then(|| origin(b.origin)),
                block: b.block.to_string(),
                executions: b.executions,
                taken: b.taken.clone(),
                splits: b.divergent,
            })
            .collect(),
        timing: run.timing.as_ref().map(timing::doc),
        checked: run.checked.as_ref().map(checked::doc),
        timeline: run
            .timeline
            .as_ref()
            .map(|t| passes(t, functions, per_block)),
    }
}

fn counters(c: &exec::Counters, machine: &Machine) -> Named {
    let mut named = Named::default();
    named.push("cost", Figure::Cost(c.cost(machine)));
    for (name, n) in c.rows() {
        named.push(name, Figure::Count(n));
    }
    for (name, x) in c.metrics() {
        // Averages and quotients to three decimals, percentages to two.
        let decimals = if name.ends_with("efficiency") { 2 } else { 3 };
        named.push(name, Figure::Quotient(x, decimals));
    }
    named
}

/// Trapped lanes, gathered by kind and place, in order of the first thread.
fn traps(functions: &[&Function], run: &exec::Outcome, per_block: u64) -> Vec<TrapDoc> {
    let mut all: Vec<(u64, exec::TrapRecord)> = run.traps.iter().map(|t| (t.thread, *t)).collect();
    all.sort_by_key(|&(thread, _)| thread);
    let mut docs: Vec<((usize, Site, String), TrapDoc)> = Vec::new();
    for (thread, t) in all {
        let key = (t.function, t.site, t.code.to_string());
        if let Some((_, doc)) = docs.iter_mut().find(|(k, _)| *k == key) {
            doc.lanes += 1;
            continue;
        }
        let place = match (functions.get(t.function), t.site) {
            (Some(func), Site::Inst(i)) => print::inst_text(func, i),
            (Some(func), Site::Term(b) | Site::Yield(b)) => print::term_text(func, b),
            (None, _) => String::new(),
        };
        let per_block = per_block.max(1);
        let doc = TrapDoc {
            kind: key.2.clone(),
            line: (t.origin.line != 0).then_some(t.origin.line),
            place,
            lanes: 1,
            first: [thread / per_block, thread % per_block],
        };
        docs.push((key, doc));
    }
    docs.into_iter().map(|(_, doc)| doc).collect()
}

fn passes(
    timeline: &exec::Timeline,
    (functions, kernel): &Linked<'_>,
    per_block: u64,
) -> Vec<PassDoc> {
    // Blocks of callees carry their function's name.
    let name = |p: &exec::Pass| match functions.get(p.function) {
        Some(func) if p.function != *kernel => format!("%{} {}", func.name, p.block),
        _ => p.block.to_string(),
    };
    let warps = per_block.div_ceil(32).max(1);
    let mut issues = vec![0; timeline.passes.len()];
    for i in &timeline.issues {
        if let Some(n) = issues.get_mut(i.pass as usize) {
            *n += 1;
        }
    }
    timeline
        .passes
        .iter()
        .zip(issues)
        .map(|(p, issues)| PassDoc {
            grid_block: p.warp / warps,
            warp: (p.warp % warps) as u32,
            block: name(p),
            mask: format!("{:#010x}", p.mask),
            bits: p.mask,
            issues,
        })
        .collect()
}
