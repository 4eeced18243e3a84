//! Claims over kernels of many lengths, which are built, not written out.

use std::collections::BTreeMap;

use warpfold::exec::{Arg, ExecOptions, Launch, Outcome};
use warpfold::ir::CounterClass;

use super::kernels::{branchy, checked, divsweep, guarded, warp};
use super::sheet::{Sheet, round};

type Done = Result<(), String>;

fn alu(outcome: &Outcome) -> u64 {
    outcome.counters.counter_class(CounterClass::Alu)
}

/// What one warp of 32 lanes must count; what is not here follows from it or
/// is 0.
struct Want {
    alu: u64,
    pred: u64,
    ctl: u64,
    ti: u64,
    pred_on: u64,
    branches: u64,
    divergent: u64,
    /// Passes and lanes of each block.
    blocks: Vec<(u64, u64)>,
}

/// Where `n` of the lanes go to an arm of `a` operations and the others to one
/// of `b`.
fn two_arms(a: u64, b: u64, n: u64) -> Want {
    let split = u64::from(0 < n && n < 32);
    let ti = 2 * 32 + n * (a + 1) + (32 - n) * (b + 1);
    let arm = |lanes: u64| (u64::from(lanes > 0), lanes);
    Want {
        alu: if n > 0 { a } else { 0 } + if n < 32 { b } else { 0 },
        pred: 0,
        // The branch and the return, and a jump at the end of each arm.
        ctl: 3 + split,
        ti,
        pred_on: ti,
        branches: 1,
        divergent: split,
        blocks: vec![(1, 32), arm(n), arm(32 - n), (1, 32)],
    }
}

/// The sweep with bodies of `n` operations, `d` issues a test, a prologue of 4,
/// and `k` cases of equally many lanes.
fn cases(n: u64, d: u64, k: u64) -> Want {
    let lanes = 32 / k;
    let mut blocks = vec![(1, 32)];
    for i in 0..k {
        blocks.extend([(1, 32 - i * lanes), (1, lanes)]);
    }
    blocks.push((1, 32));
    let tested: u64 = (0..k).map(|i| 32 - i * lanes).sum();
    let ti = 32 * 6 + (d + 1) * tested + 32 * (n + 1);
    Want {
        alu: 4 + k * (n + d - 1),
        pred: k,
        ctl: 2 * k + 2,
        ti,
        pred_on: ti,
        branches: k,
        // At the last test all lanes that are left agree.
        divergent: k - 1,
        blocks,
    }
}

/// Names of the counters that are not as they must be.
fn off(outcome: &Outcome, want: &Want) -> Vec<&'static str> {
    let c = &outcome.counters;
    let issued = want.alu + want.pred + want.ctl;
    let split = want.divergent.min(1);
    let counts = [
        ("issued", c.inst_executed, issued),
        ("alu", c.counter_class(CounterClass::Alu), want.alu),
        ("pred", c.counter_class(CounterClass::Pred), want.pred),
        ("ctl", c.counter_class(CounterClass::Ctl), want.ctl),
        ("ti", c.thread_inst_executed, want.ti),
        ("pred_on", c.thread_inst_executed_pred_on, want.pred_on),
        ("branches", c.branches.total(), want.branches),
        ("divergent", c.divergent_branch, want.divergent),
        ("extra_targets", c.extra_targets, want.divergent),
        ("pushes", c.pushes, 2 * want.divergent),
        ("depth", c.max_depth, 1 + 2 * split),
        ("lost_partial", c.lost.partial, 0),
        ("lost_exited", c.lost.exited, 0),
        ("lost_diverged", c.lost.diverged, 32 * issued - want.ti),
        ("lost_predicated", c.lost.predicated, want.ti - want.pred_on),
    ];
    let avg = want.ti as f64 / issued as f64;
    let on = want.pred_on as f64 / issued as f64;
    let mut ratios = vec![
        ("avg", c.thread_inst_executed_per_inst_executed(), avg),
        ("avg_pred_on", c.pred_on_per_inst_executed(), on),
        ("wee", c.warp_execution_efficiency(), 100.0 * avg / 32.0),
    ];
    if want.branches > 0 {
        let whole = (want.branches - want.divergent) as f64;
        let percent = 100.0 * whole / want.branches as f64;
        ratios.push(("branch_efficiency", c.branch_efficiency(), percent));
    }
    let near = |got: Option<f64>, want: f64| got.is_some_and(|x| (x - want).abs() < 1e-9);
    let blocks: Vec<_> = outcome.blocks.iter().map(|b| (b.passes, b.lanes)).collect();
    let counts = counts
        .into_iter()
        .map(|(name, got, want)| (name, got == want));
    let ratios = ratios
        .into_iter()
        .map(|(name, got, want)| (name, near(got, want)));
    let all = counts
        .chain(ratios)
        .chain([("blocks", blocks == want.blocks)]);
    all.filter(|(_, right)| !right)
        .map(|(name, _)| name)
        .collect()
}

pub(super) fn c07(s: &mut Sheet<'_>) -> Done {
    let func = branchy(40, 60);
    let (mut wrong, mut split) = (Vec::new(), Vec::new());
    for n in 0..=32 {
        let outcome = warp(&func, |lane| u128::from(lane < n))?;
        for name in off(&outcome, &two_arms(40, 60, n as u64)) {
            wrong.push(format!("{name} at n = {n}"));
        }
        let c = &outcome.counters;
        match n {
            0 => s.equal("issued, n = 0", c.inst_executed, 63),
            32 => s.equal("issued, n = 32", c.inst_executed, 43),
            n => split.push((c.inst_executed, c.thread_inst_executed + 20 * n as u64)),
        }
    }
    split.sort();
    split.dedup();
    s.equal("issued, ti + 20n of n = 1 … 31", split, vec![(104, 2016)]);
    s.equal("counters that differ, of all 33", wrong, Vec::new());
    Ok(())
}

pub(super) fn c09(s: &mut Sheet<'_>) -> Done {
    let outcome = warp(&branchy(1000, 1), |lane| u128::from(lane == 9))?;
    let c = &outcome.counters;
    s.equal(
        "issued, ti",
        (c.inst_executed, c.thread_inst_executed),
        (1005, 1127),
    );
    s.equal(
        "alu, lost_diverged",
        (alu(&outcome), c.lost.diverged),
        (1001, 31033),
    );
    let ratios = [
        c.thread_inst_executed_per_inst_executed(),
        c.warp_execution_efficiency(),
    ];
    let [avg, wee] = ratios.map(Option::unwrap_or_default);
    s.equal("avg, wee", (round(avg, 3), round(wee, 2)), (1.121, 3.5));
    let wrong = off(&outcome, &two_arms(1000, 1, 1));
    s.equal("counters that differ", wrong, Vec::new());
    Ok(())
}

pub(super) fn c67(s: &mut Sheet<'_>) -> Done {
    for (k, alu_want, issued, ti, avg, divergent) in [
        (1, 245, 250, 8000, 32.0, 0),
        (2, 486, 494, 8048, 16.291, 1),
        (4, 968, 982, 8144, 8.293, 3),
        (8, 1932, 1958, 8336, 4.257, 7),
        (16, 3860, 3910, 8720, 2.230, 15),
        (32, 7716, 7814, 9488, 1.214, 31),
    ] {
        let outcome = warp(&divsweep(240, 2, 4, k), |lane| lane * k as u128 / 32)?;
        let c = &outcome.counters;
        let k64 = k as u64;
        let classes = [CounterClass::Pred, CounterClass::Ctl].map(|class| c.counter_class(class));
        s.equal(
            &format!("k = {k}: alu, pred, ctl"),
            (alu(&outcome), classes),
            (alu_want, [k64, 2 * k64 + 2]),
        );
        let got = (c.inst_executed, c.thread_inst_executed);
        s.equal(&format!("k = {k}: issued, ti"), got, (issued, ti));
        let got = c
            .thread_inst_executed_per_inst_executed()
            .unwrap_or_default();
        s.equal(&format!("k = {k}: lanes an issue"), round(got, 3), avg);
        let got = (c.divergent_branch, c.branches.total());
        s.equal(
            &format!("k = {k}: divergent of branches"),
            got,
            (divergent, k64),
        );
        let wrong = off(&outcome, &cases(240, 2, k64));
        s.equal(&format!("k = {k}: counters that differ"), wrong, Vec::new());
    }
    Ok(())
}

/// Issues of the sweep by number of cases; and counters that differ.
fn sweep(n: usize, d: usize, ks: &[usize]) -> Result<(BTreeMap<usize, u64>, Vec<String>), String> {
    let (mut issued, mut wrong) = (BTreeMap::new(), Vec::new());
    for &k in ks {
        let outcome = warp(&divsweep(n, d, 4, k), |lane| lane * k as u128 / 32)?;
        for name in off(&outcome, &cases(n as u64, d as u64, k as u64)) {
            wrong.push(format!("{name} at k = {k}"));
        }
        issued.insert(k, outcome.counters.inst_executed);
    }
    Ok((issued, wrong))
}

pub(super) fn c68(s: &mut Sheet<'_>) -> Done {
    for (d, slope) in [(2, 244i64), (1, 243)] {
        let (issued, wrong) = sweep(240, d, &[1, 2, 4, 8, 16, 32])?;
        let residuals: Vec<i64> = issued
            .iter()
            .map(|(&k, &t)| t as i64 - (slope * k as i64 + 6))
            .collect();
        let what = format!("D = {d}: T(k) − ({slope} k + 6)");
        s.equal(&what, residuals, vec![0; 6]);
        s.equal(&format!("D = {d}: counters that differ"), wrong, Vec::new());
    }
    Ok(())
}

pub(super) fn c69(s: &mut Sheet<'_>) -> Done {
    for (n, d, want) in [
        (240, 2, 31.26),
        (240, 1, 31.25),
        (1000, 1, 31.82),
        (4000, 1, 31.95),
    ] {
        let (issued, wrong) = sweep(n, d, &[1, 32])?;
        let ratio = issued[&32] as f64 / issued[&1] as f64;
        s.equal(
            &format!("N = {n}, D = {d}: T(32) ÷ T(1)"),
            round(ratio, 2),
            want,
        );
        s.equal(
            &format!("N = {n}, D = {d}: counters that differ"),
            wrong,
            Vec::new(),
        );
    }
    let overhead = |r: f64| round((32.0 - r) / (r - 1.0), 4);
    s.equal(
        "c ÷ s for 31.9, 31.8, 31.7 (arithmetic)",
        [31.9, 31.8, 31.7].map(overhead),
        [0.0032, 0.0065, 0.0098],
    );
    Ok(())
}

pub(super) fn c72(s: &mut Sheet<'_>) -> Done {
    let (branch, guards) = (branchy(1000, 1000), guarded(1000, 1000));
    let uniform = |_: u128| 1;
    let mixed = |lane: u128| lane & 1;
    let b = [warp(&branch, uniform)?, warp(&branch, mixed)?];
    let g = [warp(&guards, uniform)?, warp(&guards, mixed)?];
    let of = |o: &Outcome| {
        let c = &o.counters;
        (alu(o), c.inst_executed, c.thread_inst_executed)
    };
    for (what, outcome, want) in [
        ("branch, uniform", &b[0], (1000, 1003, 32096)),
        ("branch, mixed", &b[1], (2000, 2004, 32096)),
        ("guarded, uniform", &g[0], (2000, 2001, 64032)),
        ("guarded, mixed", &g[1], (2000, 2001, 64032)),
    ] {
        s.equal(&format!("{what}: alu, issued, ti"), of(outcome), want);
    }
    let both_arms = || Want {
        alu: 2000,
        pred: 0,
        ctl: 1,
        ti: 64032,
        pred_on: 32032,
        branches: 0,
        divergent: 0,
        blocks: vec![(1, 32)],
    };
    for (what, outcome, want) in [
        ("branch, uniform", &b[0], two_arms(1000, 1000, 32)),
        ("branch, mixed", &b[1], two_arms(1000, 1000, 16)),
        ("guarded, uniform", &g[0], both_arms()),
        ("guarded, mixed", &g[1], both_arms()),
    ] {
        let what = format!("{what}: counters that differ");
        s.equal(&what, off(outcome, &want), Vec::new());
    }
    let issued = |o: &Outcome| o.counters.inst_executed as f64;
    let ratio = |x: &Outcome, y: &Outcome| round(issued(x) / issued(y), 3);
    s.equal("branch: mixed ÷ uniform", ratio(&b[1], &b[0]), 1.998);
    s.equal("guarded: mixed ÷ uniform", ratio(&g[1], &g[0]), 1.0);
    s.equal(
        "guarded, mixed ÷ branch, uniform",
        ratio(&g[1], &b[0]),
        1.995,
    );
    s.equal(
        "c ÷ s for 1.94 (arithmetic)",
        round((2.0 - 1.94) / (1.94 - 1.0), 3),
        0.064,
    );
    let same = [0, 1].map(|i| b[i].returns == g[i].returns);
    s.equal("the results are the same", same, [true, true]);
    Ok(())
}

pub(super) fn c83(s: &mut Sheet<'_>) -> Done {
    let options = ExecOptions {
        timeline: true,
        ..ExecOptions::default()
    };
    let func = divsweep(3, 2, 1, 8);
    let mut args = vec![Arg::Varying((0..64).collect()); 3];
    args[0] = Arg::Varying((0..64).map(|t| t % 8).collect());
    let launch = Launch::linear(1, 64).with_args(args);
    let outcome = checked(&func, &launch, &options)?;
    let timeline = outcome.timeline.ok_or("no timeline was recorded")?;
    let c = &outcome.counters;
    // A slot for each issue, and in each one a mask that is not empty.
    s.equal(
        "slots ÷ issues",
        timeline.issues.len() as f64 / c.inst_executed as f64,
        1.0,
    );
    let lanes: u64 = timeline
        .issues
        .iter()
        .map(|i| u64::from(i.mask.count_ones()))
        .sum();
    s.equal(
        "lanes of the slots − ti",
        lanes as i64 - c.thread_inst_executed as i64,
        0,
    );
    let empty = timeline.issues.iter().filter(|i| i.mask == 0).count();
    s.equal("slots without a lane", empty, 0);
    let strange = timeline
        .issues
        .iter()
        .filter(|i| i.mask & !timeline.passes[i.pass as usize].mask != 0)
        .count();
    s.equal("slots with lanes from outside the pass", strange, 0);
    Ok(())
}
