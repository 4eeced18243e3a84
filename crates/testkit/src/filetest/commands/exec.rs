//! `test exec`: runs the launch that the file's header states.
//!
//! Facts, besides the counters (whose names are short forms of the
//! executor's): `calls` and `call_depth`; `avg` and `avg_pred_on` (lanes per issue), `wee` (percent of
//! 32 lanes), `branch_efficiency`; `blockN=PASSES@LANES`,
//! and `NAME.blockN` of callees;
//! `warpN=ISSUES/LANES`; `timeline`, each pass with its mask; `depths`, stack
//! entries at each pass; `deepest`, the stack when it was deepest;
//! `lanes.blockN`, lanes of successive passes; `passes.blockN`, passes by
//! number of lanes; with `timing`, `cycles` and what they went by; `out` (or `out0`, `out1`, …), what each thread returned;
//! `mem.NAME`, a buffer afterwards. A run that ends badly has `error` and its
//! details instead, and must be expected; so must lanes that trap.

use std::collections::BTreeMap;
use std::fmt::Display;

use warpfold::analysis::LaunchShape;
use warpfold::exec::timing::{LoadLevel, Timing, TimingModel, WarpState};
use warpfold::exec::{Counters, ExecError, ExecOptions, Outcome};
use warpfold::ir::print::Literal;
use warpfold::ir::{Block, CostClass, CounterClass, Function, Type};
use warpfold::launch::ArgKind;
use warpfold::machine::Machine;

use super::{Kernel, mask};
use crate::checks::claimed::run_under_claims;
use crate::filetest::{FileTest, Options, Output, TestFile};

/// `test exec`: runs the launch that the file's header states. Options:
/// `joins=default|cfg`, `mode=stack|its`, `steps=N`, `depth=N`, `timing=MACHINE`.
#[derive(Clone, Copy, Debug)]
pub struct Exec;

impl FileTest for Exec {
    fn name(&self) -> &str {
        "exec"
    }

    fn options(&self) -> &[&str] {
        &["joins", "mode", "steps", "depth", "timing"]
    }

    fn run(&self, file: &TestFile, options: &Options) -> Result<Output, String> {
        let mut how = ExecOptions {
            timeline: true,
            ..ExecOptions::default()
        };
        how.joins = super::joins(options)?;
        how.mode = super::mode(options)?;
        super::limits(options, &mut how)?;
        how.timing = timing(options)?;
        let kernel = super::kernel(file)?;
        let launch = kernel
            .spec
            .build(kernel.func(), file.folder())
            .map_err(|e| e.to_string())?;
        let functions: Vec<&Function> = kernel.functions.iter().collect();
        // Under what is claimed where the launch is known, and poison.
        let shape = LaunchShape::new(launch.grid, launch.block);
        match run_under_claims(&functions, kernel.index, &launch, shape, &how, false) {
            Ok(outcome) if !outcome.counters.lanes_add_up() => {
                Err("the lanes of all issues do not add up to 32 each".to_owned())
            }
            Ok(outcome) => Ok(facts(&kernel, &outcome)),
            Err(e) => ending(e),
        }
    }
}

/// The model of time of the machine that the options name.
fn timing(options: &Options) -> Result<Option<TimingModel>, String> {
    let Some(name) = options.get("timing") else {
        return Ok(None);
    };
    let machine = Machine::builtin(name).map_err(|e| e.to_string())?;
    let model = TimingModel::new(&machine, LoadLevel::L1);
    model.map(Some).map_err(|e| e.to_string())
}

fn times(out: &mut Output, t: &Timing) {
    out.fact("cycles", t.cycles);
    out.fact("issue_active", t.issue_active);
    out.fact("no_eligible", t.no_eligible);
    out.fact("no_warp", t.no_warp);
    for state in WarpState::ALL {
        out.fact(format!("time.{}", state.name()), t.state(state));
    }
}

fn list<T: Display>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|x| x.to_string()).collect();
    items.join(",")
}

/// The facts of a run that ended badly.
fn ending(error: ExecError) -> Result<Output, String> {
    let mut out = Output::default();
    match error {
        ExecError::BarrierDivergence {
            arrived,
            missing,
            warp,
            ..
        } => {
            out.alarm("error", "BarrierDivergence");
            out.fact("arrived", mask(arrived));
            out.fact("missing", mask(missing));
            out.fact("warp", warp);
        }
        ExecError::OutsideMask {
            lanes,
            mask: named,
            warp,
            ..
        } => {
            out.alarm("error", "OutsideMask");
            out.fact("lanes", mask(lanes));
            out.fact("mask", mask(named));
            out.fact("warp", warp);
        }
        ExecError::NoProgress {
            block,
            mask: lanes,
            warp,
            ..
        } => {
            out.alarm("error", "NoProgress");
            out.fact("at", block);
            out.fact("mask", mask(lanes));
            out.fact("warp", warp);
        }
        ExecError::StepLimit {
            block, mask: lanes, ..
        } => {
            out.alarm("error", "StepLimit");
            out.fact("at", block);
            out.fact("mask", mask(lanes));
        }
        other => return Err(other.to_string()),
    }
    Ok(out)
}

fn facts(kernel: &Kernel, outcome: &Outcome) -> Output {
    let (func, spec) = (kernel.func(), &kernel.spec);
    let mut out = Output::default();
    counters(&mut out, &outcome.counters);
    if outcome.traps.is_empty() {
        out.counter("traps", 0);
    } else {
        let traps = outcome
            .traps
            .iter()
            .map(|t| format!("{}:{}", t.thread, t.code));
        out.alarm("traps", list(traps));
    }
    for b in outcome.blocks.iter().filter(|b| b.passes > 0) {
        out.fact(b.block.to_string(), format!("{}@{}", b.passes, b.lanes));
    }
    for callee in &outcome.callees {
        for b in callee.blocks.iter().filter(|b| b.passes > 0) {
            let key = format!("{}.{}", callee.name, b.block);
            out.fact(key, format!("{}@{}", b.passes, b.lanes));
        }
    }
    for (i, w) in outcome.warps.iter().enumerate() {
        out.fact(
            format!("warp{i}"),
            format!("{}/{}", w.issued, w.thread_inst),
        );
    }
    passes(&mut out, kernel, outcome);
    if let Some(t) = &outcome.timing {
        times(&mut out, t);
    }
    for (i, &ty) in func.results.iter().enumerate() {
        let key = match func.results.len() {
            1 => "out".to_owned(),
            _ => format!("out{i}"),
        };
        let values = outcome.returns.iter().map(|r| match r {
            Some(values) => Literal(ty, values[i]).to_string(),
            None => "-".to_owned(),
        });
        out.fact(key, list(values));
    }
    for (i, arg) in spec.buffers().enumerate() {
        let ArgKind::Buffer { elem, .. } = &arg.kind else {
            continue;
        };
        let name = arg.name.clone().unwrap_or_else(|| i.to_string());
        let text = list(elements(*elem, outcome.memory.bytes(i)));
        if !text.is_empty() {
            out.fact(format!("mem.{name}"), text);
        }
    }
    out
}

fn elements(ty: Type, bytes: &[u8]) -> impl Iterator<Item = Literal> + '_ {
    bytes.chunks(ty.bytes().max(1) as usize).map(move |chunk| {
        let mut le = [0; 16];
        le[..chunk.len()].copy_from_slice(chunk);
        Literal(ty, u128::from_le_bytes(le))
    })
}

fn counters(out: &mut Output, c: &Counters) {
    let three = |x: Option<f64>| x.map(|x| format!("{x:.3}"));
    let two = |x: Option<f64>| x.map(|x| format!("{x:.2}"));
    out.counter("issued", c.inst_executed);
    out.counter("ti", c.thread_inst_executed);
    out.counter("pred_on", c.thread_inst_executed_pred_on);
    for (key, value) in [
        ("avg", three(c.thread_inst_executed_per_inst_executed())),
        ("avg_pred_on", three(c.pred_on_per_inst_executed())),
        ("wee", two(c.warp_execution_efficiency())),
        ("branch_efficiency", two(c.branch_efficiency())),
    ] {
        if let Some(value) = value {
            out.fact(key, value);
        }
    }
    for &class in CounterClass::ALL {
        out.counter(class.name(), c.counter_class(class));
    }
    for (key, value) in [
        ("branches", c.branches.total()),
        ("divergent", c.divergent_branch),
        ("extra_targets", c.extra_targets),
        ("pushes", c.pushes),
        ("depth", c.max_depth),
        ("lost_partial", c.lost.partial),
        ("lost_exited", c.lost.exited),
        ("lost_diverged", c.lost.diverged),
        ("lost_predicated", c.lost.predicated),
        ("barriers", c.barriers),
        ("yields", c.yields),
        ("joins_on_time", c.joins_on_time),
        ("joins_deferred", c.joins_deferred),
        ("joins_early", c.joins_early),
        ("barrier_depth", c.max_barrier_depth),
        (
            "sh_requests",
            c.shared.loads.requests + c.shared.stores.requests + c.shared.atomics.requests,
        ),
        (
            "sh_wavefronts",
            c.shared.loads.wavefronts + c.shared.stores.wavefronts + c.shared.atomics.wavefronts,
        ),
        (
            "sh_conflicts",
            c.shared.loads.conflicts + c.shared.stores.conflicts + c.shared.atomics.conflicts,
        ),
    ] {
        out.counter(key, value);
    }
    for (name, t) in [
        ("gld", c.global.loads),
        ("gst", c.global.stores),
        ("lld", c.local.loads),
        ("lst", c.local.stores),
        ("gatom", c.global.atomics),
        ("latom", c.local.atomics),
    ] {
        out.counter(format!("{name}_requests"), t.requests);
        out.counter(format!("{name}_sectors"), t.sectors);
        out.counter(format!("{name}_lines"), t.lines);
    }
    // Parts of other counts, which `others` does not cover.
    let spaces = [
        ("gld", c.global.loads.ideal),
        ("gst", c.global.stores.ideal),
        ("lld", c.local.loads.ideal),
        ("lst", c.local.stores.ideal),
        ("gatom", c.global.atomics.ideal),
        ("latom", c.local.atomics.ideal),
        (
            "sh",
            c.shared.loads.ideal + c.shared.stores.ideal + c.shared.atomics.ideal,
        ),
    ];
    for (name, ideal) in spaces {
        out.fact(format!("{name}_ideal"), ideal);
    }
    out.fact("guarded", c.guarded);
    out.fact("proven", c.branches.proven);
    out.fact("agree", c.branches.agree);
    out.fact("split", c.branches.split);
    out.fact("calls", c.class(CostClass::Call));
    out.fact("call_depth", c.max_call_depth);
}

fn passes(out: &mut Output, kernel: &Kernel, outcome: &Outcome) {
    // Blocks of callees carry their function's name.
    let name = |function: usize, block: Block| match kernel.functions.get(function) {
        Some(func) if function != kernel.index => format!("{}.{block}", func.name),
        _ => format!("{block}"),
    };
    let Some(timeline) = &outcome.timeline else {
        return;
    };
    let passes = &timeline.passes;
    let shown = passes
        .iter()
        .map(|p| format!("{}:{}", name(p.function, p.block), mask(p.mask)));
    out.fact("timeline", list(shown));
    out.fact("depths", list(passes.iter().map(|p| p.depth)));
    let deepest = timeline
        .deepest
        .iter()
        .map(|e| format!("{}:{}", name(e.function, e.pc), mask(e.mask)));
    out.fact("deepest", list(deepest));
    for b in outcome.blocks.iter().filter(|b| b.passes > 0) {
        let lanes: Vec<u32> = passes
            .iter()
            .filter(|p| p.function == kernel.index && p.block == b.block)
            .map(|p| p.mask.count_ones())
            .collect();
        let mut by_lanes = BTreeMap::new();
        for &n in &lanes {
            *by_lanes.entry(n).or_insert(0u64) += 1;
        }
        out.fact(format!("lanes.{}", b.block), list(lanes));
        let by_lanes = by_lanes.iter().map(|(n, count)| format!("{n}:{count}"));
        out.fact(format!("passes.{}", b.block), list(by_lanes));
    }
}
