//! What the literature says of warp divergence, checked by counters.
//!
//! Each claim has a number. What one run shows is a file of
//! `tests/filetests/claims`, named `cNN-CASE.wf`, with the kernel, its launch
//! and every counter that matters. Here stands what holds between several of
//! these runs, and the claims whose kernels are too long to write out.

#[path = "claims/kernels.rs"]
mod kernels;
#[path = "claims/modes.rs"]
mod modes;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kernels::{branchy, chain, checked, divsweep, guarded, warp};
use warpfold::exec::timing::{LoadLevel, Timing, TimingModel};
use warpfold::exec::{self, Arg, ExecOptions, Launch, Outcome};
use warpfold::ir::{self, CostClass, CounterClass, Function};
use warpfold::machine::{MACHINES, Machine};
use warpfold_testkit::filetest::{Output, Registry, Runner};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests/claims")
}

fn path(name: &str) -> PathBuf {
    folder().join(format!("{name}.wf"))
}

/// The facts of a claims file.
fn run(name: &str) -> Output {
    Runner::new(Registry::builtin())
        .output(&path(name))
        .unwrap()
}

fn text(name: &str, key: &str) -> String {
    run(name)
        .get(key)
        .unwrap_or_else(|| panic!("{name}: {key}"))
        .to_owned()
}

fn num(name: &str, key: &str) -> u64 {
    text(name, key).parse().unwrap()
}

fn float(name: &str, key: &str) -> f64 {
    text(name, key).parse().unwrap()
}

fn alu(outcome: &Outcome) -> u64 {
    outcome.counters.counter_class(CounterClass::Alu)
}

fn round(x: f64, places: i32) -> f64 {
    let scale = 10f64.powi(places);
    (x * scale).round() / scale
}

#[test]
fn c04_mixed_costs_twice_grouped() {
    assert_eq!(num("c03-mixed", "alu"), 2 * num("c02-grouped", "alu"));
    assert_eq!(num("c03-mixed", "alu"), 200);
}

/// Every counter that the claims name, where `n` of the 32 lanes go to an arm
/// of `a` operations and the others to one of `b`.
fn check_branchy(outcome: &Outcome, a: u64, b: u64, n: u64) {
    let c = &outcome.counters;
    let split = u64::from(0 < n && n < 32);
    let alu = if n > 0 { a } else { 0 } + if n < 32 { b } else { 0 };
    // The branch and the return, and a jump at the end of each arm.
    let ctl = 3 + split;
    let issued = alu + ctl;
    let ti = 2 * 32 + n * (a + 1) + (32 - n) * (b + 1);
    let got = [
        ("issued", c.inst_executed, issued),
        ("alu", c.counter_class(CounterClass::Alu), alu),
        ("pred", c.counter_class(CounterClass::Pred), 0),
        ("ctl", c.counter_class(CounterClass::Ctl), ctl),
        ("ti", c.thread_inst_executed, ti),
        ("pred_on", c.thread_inst_executed_pred_on, ti),
        ("branches", c.branches.total(), 1),
        ("divergent", c.divergent_branch, split),
        ("extra_targets", c.extra_targets, split),
        ("pushes", c.pushes, 2 * split),
        ("depth", c.max_depth, 1 + 2 * split),
        ("lost_partial", c.lost.partial, 0),
        ("lost_exited", c.lost.exited, 0),
        ("lost_diverged", c.lost.diverged, 32 * issued - ti),
        ("lost_predicated", c.lost.predicated, 0),
    ];
    for (name, got, want) in got {
        assert_eq!(got, want, "{name}, n = {n}");
    }
    let avg = ti as f64 / issued as f64;
    for (name, got, want) in [
        ("avg", c.thread_inst_executed_per_inst_executed(), avg),
        ("avg_pred_on", c.pred_on_per_inst_executed(), avg),
        ("wee", c.warp_execution_efficiency(), 100.0 * avg / 32.0),
        (
            "branch_efficiency",
            c.branch_efficiency(),
            if split == 0 { 100.0 } else { 0.0 },
        ),
    ] {
        assert_eq!(round(got.unwrap(), 9), round(want, 9), "{name}, n = {n}");
    }
    let blocks: Vec<_> = outcome.blocks.iter().map(|b| (b.passes, b.lanes)).collect();
    let arm = |lanes: u64| (u64::from(lanes > 0), lanes);
    assert_eq!(
        blocks,
        [(1, 32), arm(n), arm(32 - n), (1, 32)],
        "blocks, n = {n}"
    );
}

#[test]
fn c07_cost_is_independent_of_the_split() {
    let func = branchy(40, 60);
    for n in 0..=32 {
        let outcome = warp(&func, |lane| (lane < n).into());
        check_branchy(&outcome, 40, 60, n as u64);
        let c = &outcome.counters;
        let (issued, ti) = match n as u64 {
            0 => (63, 2016),
            32 => (43, 1376),
            n => (104, 2016 - 20 * n),
        };
        assert_eq!((c.inst_executed, c.thread_inst_executed), (issued, ti));
    }
}

#[test]
fn c09_one_lane_in_a_long_arm() {
    let outcome = warp(&branchy(1000, 1), |lane| (lane == 9).into());
    check_branchy(&outcome, 1000, 1, 1);
    let c = &outcome.counters;
    assert_eq!((c.inst_executed, c.thread_inst_executed), (1005, 1127));
    assert_eq!((alu(&outcome), c.lost.diverged), (1001, 31033));
    let avg = c.thread_inst_executed_per_inst_executed().unwrap();
    assert_eq!(round(avg, 3), 1.121);
    assert_eq!(round(c.warp_execution_efficiency().unwrap(), 2), 3.5);
}

#[test]
fn c11_alternating_lanes_always_split_warps_never() {
    assert_eq!(
        (num("c03-mixed", "divergent"), num("c03-mixed", "branches")),
        (2, 2)
    );
    assert_eq!(num("c02-grouped", "divergent"), 0);
}

#[test]
fn c12_half_the_lanes_cost_twice_the_issues() {
    assert_eq!(text("c03-mixed", "avg"), "16.308");
    assert_eq!(num("c03-mixed", "alu"), 2 * num("c02-grouped", "alu"));
}

#[test]
fn c15_block_conditions_do_not_diverge() {
    assert_eq!(num("c15-block-0", "divergent"), 0);
}

#[test]
fn c16_equal_splits_waste_equally() {
    assert_eq!(text("c03-mixed", "warp0"), "104/1696");
    assert_eq!(text("c03-mixed", "warp1"), "104/1696");
    assert_eq!(text("c03-mixed", "wee"), "50.96");
}

#[test]
fn c19_uniform_branches_push_nothing() {
    for name in ["c01-all-true", "c01-all-false"] {
        assert_eq!((num(name, "pushes"), num(name, "depth")), (0, 1), "{name}");
    }
}

#[test]
fn c23_path_efficiency_is_not_lane_efficiency() {
    assert_eq!(40.0 / num("c21-4-ways", "alu") as f64, 0.4);
    assert_eq!(text("c21-4-ways", "wee"), "26.42");
}

#[test]
fn c29_switch_by_lane_serialises() {
    assert_eq!(num("c29-32-ways", "alu"), 32 * num("c29-unanimous", "alu"));
}

#[test]
fn c30_two_way_split_has_two_targets() {
    assert_eq!(num("c13-half", "divergent"), 1);
    assert_eq!(num("c13-half", "extra_targets"), 1);
}

#[test]
fn c38_loops_diverge_only_where_some_lanes_leave() {
    assert_eq!(num("c31-1-32", "divergent"), 31);
    assert_eq!(num("c32-outlier", "divergent"), 1);
}

#[test]
fn c41_a_loops_mask_shrinks_and_its_join_is_whole() {
    let lanes: Vec<u32> = text("c31-1-32", "lanes.block1")
        .split(',')
        .map(|n| n.parse().unwrap())
        .collect();
    assert_eq!(lanes.len(), 33);
    assert!(lanes.windows(2).all(|w| w[0] >= w[1]));
    assert_eq!(text("c31-1-32", "lanes.block3"), "32");
}

#[test]
fn c44_lanes_out_of_bounds_issue_once() {
    assert_eq!(text("c43-guard", "passes.block1"), "24:1,32:1");
}

#[test]
fn c50_a_split_costs_at_most_twice_the_longer_arm() {
    for (a, b) in [
        (1, 1),
        (1, 10),
        (10, 1),
        (10, 10),
        (40, 60),
        (100, 0),
        (0, 100),
    ] {
        let cost = num(&format!("c50-{a}-plus-{b}"), "alu");
        assert_eq!(cost, a + b);
        assert!(cost <= 2 * a.max(b));
    }
}

#[test]
fn c52_a_split_is_both_arms_and_four_terminators() {
    assert_eq!(text("c03-mixed", "warp0"), format!("{}/1696", 40 + 60 + 4));
}

#[test]
fn c57_no_divergence_does_not_mean_full_lanes() {
    assert_eq!(num("c48-guarded", "branches"), 0);
    assert_eq!(text("c48-guarded", "avg"), "32.000");
    assert_eq!(text("c48-guarded", "avg_pred_on"), "16.158");
    assert_eq!(float("c32-outlier", "branch_efficiency"), 99.90);
    assert_eq!(float("c32-outlier", "wee"), 3.27);
}

#[test]
fn c67_active_lanes_of_the_sweep() {
    for (k, alu_want, issued, ti, avg, divergent) in [
        (1, 245, 250, 8000, 32.0, 0),
        (2, 486, 494, 8048, 16.291, 1),
        (4, 968, 982, 8144, 8.293, 3),
        (8, 1932, 1958, 8336, 4.257, 7),
        (16, 3860, 3910, 8720, 2.230, 15),
        (32, 7716, 7814, 9488, 1.214, 31),
    ] {
        let outcome = warp(&divsweep(240, 2, 4, k), |lane| lane * k as u128 / 32);
        let c = &outcome.counters;
        assert_eq!(alu(&outcome), alu_want, "k = {k}");
        assert_eq!(c.counter_class(CounterClass::Pred), k as u64);
        assert_eq!(c.counter_class(CounterClass::Ctl), 2 * k as u64 + 2);
        assert_eq!((c.inst_executed, c.thread_inst_executed), (issued, ti));
        let got = c.thread_inst_executed_per_inst_executed().unwrap();
        assert_eq!(round(got, 3), avg);
        assert_eq!(
            (c.divergent_branch, c.branches.total()),
            (divergent, k as u64)
        );
    }
}

#[test]
fn c68_c69_cost_of_the_sweep_is_linear() {
    let mut issued = BTreeMap::new();
    for (n, d, ks) in [
        (240, 2, &[1, 2, 4, 8, 16, 32][..]),
        (240, 1, &[1, 2, 4, 8, 16, 32]),
        (1000, 1, &[1, 32]),
        (4000, 1, &[1, 32]),
    ] {
        for &k in ks {
            let outcome = warp(&divsweep(n, d, 4, k), |lane| lane * k as u128 / 32);
            let got = outcome.counters.inst_executed;
            assert_eq!(got, ((n + d + 2) * k + 6) as u64, "n {n} d {d} k {k}");
            let later: u64 = (0..k)
                .map(|i| (0..32).filter(|lane| lane * k / 32 >= i).count() as u64)
                .sum();
            let ti = 32 * 6 + (d as u64 + 1) * later + 32 * (n as u64 + 1);
            assert_eq!(outcome.counters.thread_inst_executed, ti);
            issued.insert((n, d, k), got as f64);
        }
    }
    let ratio = |n, d| round(issued[&(n, d, 32)] / issued[&(n, d, 1)], 2);
    assert_eq!(ratio(240, 2), 31.26);
    assert_eq!(ratio(240, 1), 31.25);
    assert_eq!(ratio(1000, 1), 31.82);
    assert_eq!(ratio(4000, 1), 31.95);
    let overhead = |r: f64| round((32.0 - r) / (r - 1.0), 4);
    assert_eq!([31.9, 31.8, 31.7].map(overhead), [0.0032, 0.0065, 0.0098]);
}

/// The machines that are generations of hardware, in their order.
fn generations() -> Vec<Machine> {
    let machines: Vec<Machine> = MACHINES
        .iter()
        .map(|row| row.machine())
        .filter(|m| m.timing.is_some())
        .collect();
    let names: Vec<&str> = machines.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(names, ["pascal", "ampere", "hopper", "blackwell"]);
    machines
}

/// One scheduler, as the claims have it, and every latency `latency`.
fn scheduler(latency: u32, launch: u64) -> TimingModel {
    let machine = Machine::builtin("hopper").unwrap();
    TimingModel {
        schedulers: 1,
        launch,
        latency: [latency; CostClass::ALL.len()],
        ..TimingModel::new(&machine, LoadLevel::L1).unwrap()
    }
}

/// `warps` warps, each with the cases of the sweep over its lanes.
fn timed(func: &Function, k: usize, warps: u32, model: TimingModel) -> Timing {
    let threads = 32 * u128::from(warps);
    let mut args = vec![Arg::Varying((0..threads).collect()); func.params.len()];
    args[0] = Arg::Varying((0..threads).map(|t| t % 32 * k as u128 / 32).collect());
    let options = ExecOptions {
        timing: Some(model),
        ..ExecOptions::default()
    };
    let launch = Launch::linear(1, 32 * warps).with_args(args);
    let outcome = exec::run(func, &launch, &options).unwrap();
    outcome.timing.unwrap()
}

/// Cycles of warps of `n` instructions that each wait for the one before.
fn formula(warps: u64, n: u64, latency: u64, launch: u64) -> u64 {
    match warps <= latency {
        true => launch + n * latency + warps - 1,
        false => launch + n * warps + latency - 1,
    }
}

#[test]
fn c68_cycles_of_the_sweep_are_linear_too() {
    for machine in generations() {
        let model = TimingModel::new(&machine, LoadLevel::L1).unwrap();
        let alu = u64::from(model.latency[CostClass::Alu.index()]);
        // Where the machine issues two at once, a jump goes with the last
        // operation of a body; elsewhere a cycle later. It waits for neither.
        let saved = if model.issue_per_cycle > 1 {
            alu
        } else {
            alu - 1
        };
        for k in [1, 2, 4, 8, 16, 32u64] {
            let t = timed(&divsweep(240, 1, 4, k as usize), k as usize, 1, model);
            assert_eq!(t.issued, 243 * k + 6);
            // One body a case, and the prologue.
            let expected = alu * (243 * k + 6) - saved * (k + 1);
            assert_eq!(t.cycles, expected, "{} k = {k}", machine.name);
        }
    }
}

#[test]
fn c70_slopes_are_dependent_latencies() {
    // 11,525 dependent instructions a case, at the cycles that each generation
    // takes for one, give the slopes of the source, in thousands of cycles.
    let measured = [6.08, 4.69, 5.04, 4.00];
    let slopes = measured.map(|per| round(11525.0 * per / 1000.0, 1));
    assert_eq!(slopes, [70.1, 54.1, 58.1, 46.1]);
    let ratios = [31.9, 31.7, 31.8, 31.9];
    let constants: Vec<f64> = slopes
        .iter()
        .zip(ratios)
        .map(|(s, r)| round((32.0 - r) / (r - 1.0) * s * 1000.0, 0))
        .collect();
    assert_eq!(constants, [227.0, 529.0, 377.0, 149.0]);
    // The machines have the published latencies, which are whole cycles; the
    // measured ones lie at most 26% above.
    for (machine, measured) in generations().iter().zip(measured) {
        let model = TimingModel {
            issue_per_cycle: 1,
            ..TimingModel::new(machine, LoadLevel::L1).unwrap()
        };
        let [short, long] = [1000, 2000].map(|n| timed(&chain(n), 1, 1, model).cycles);
        let per = (long - short) as f64 / 1000.0;
        let low = measured / per;
        assert!((1.0..=1.27).contains(&low), "{}: {per}", machine.name);
    }
}

#[test]
fn c71_a_shorter_latency_is_a_smaller_slope_and_the_same_multiple() {
    let mut times = Vec::new();
    for latency in [4, 5, 6] {
        let [one, all] = [249, 7782].map(|n| {
            let t = timed(&chain(n), 1, 1, scheduler(latency, 0)).cycles;
            assert_eq!(t, formula(1, n as u64, latency.into(), 0));
            t
        });
        assert_eq!(all * 249, one * 7782);
        times.push(all);
    }
    assert!(times[0] < times[2]);
    // Of the machines: Blackwell's slope is the smaller one.
    let per_case = |name: &str| {
        let machine = Machine::builtin(name).unwrap();
        let model = TimingModel::new(&machine, LoadLevel::L1).unwrap();
        let cycles = |k| timed(&divsweep(240, 1, 4, k), k, 1, model).cycles;
        (cycles(32) - cycles(1)) as f64 / 31.0
    };
    assert!(per_case("blackwell") < per_case("pascal"));
}

#[test]
fn c73_occupancy_does_not_change_the_ratio() {
    let rows: [(u32, u64, [f64; 5]); 4] = [
        (6, 60, [30.08, 30.07, 30.03, 30.30, 30.77]),
        (4, 60, [29.53, 29.51, 29.45, 30.33, 30.78]),
        (6, 0, [31.25, 31.23, 31.19, 31.18, 31.22]),
        (4, 0, [31.25, 31.22, 31.16, 31.21, 31.23]),
    ];
    for (latency, launch, ratios) in rows {
        for (warps, ratio) in [1, 2, 4, 8, 16].into_iter().zip(ratios) {
            let [all, one] = [7782, 249].map(|n| {
                let t = timed(&chain(n), 1, warps, scheduler(latency, launch)).cycles;
                let closed = formula(warps.into(), n as u64, latency.into(), launch);
                assert_eq!(t, closed, "n {n}, W {warps}, L {latency}");
                t as f64
            });
            assert_eq!(round(all / one, 2), ratio, "W {warps}, L {latency}");
        }
    }
    // The kernel itself, on each generation as it is: 28 to 31 times, Pascal
    // 29.9 to 30.9 up to what its jumps save.
    for machine in generations() {
        for warps in [1, 2, 4, 8, 16, 32] {
            let model = TimingModel {
                launch: 60,
                ..TimingModel::new(&machine, LoadLevel::L1).unwrap()
            };
            let [all, one] = [32, 1].map(|k| {
                let t = timed(&divsweep(240, 1, 4, k), k, warps, model);
                t.cycles as f64
            });
            let ratio = all / one;
            assert!(
                (28.0..31.3).contains(&ratio),
                "{} {warps}: {ratio}",
                machine.name
            );
            if machine.name == "pascal" {
                assert!((29.9..31.0).contains(&ratio), "{warps}: {ratio}");
            }
        }
    }
}

#[test]
fn c72_penalty_is_a_ratio_of_two_inputs_of_one_binary() {
    let (branch, guards) = (branchy(1000, 1000), guarded(1000, 1000));
    let uniform = |_: u128| 1;
    let mixed = |lane: u128| lane & 1;
    let b_uniform = warp(&branch, uniform);
    let b_mixed = warp(&branch, mixed);
    let g_uniform = warp(&guards, uniform);
    let g_mixed = warp(&guards, mixed);
    let of = |o: &Outcome| {
        (
            alu(o),
            o.counters.inst_executed,
            o.counters.thread_inst_executed,
        )
    };
    assert_eq!(of(&b_uniform), (1000, 1003, 32096));
    assert_eq!(of(&b_mixed), (2000, 2004, 32096));
    for guards in [&g_uniform, &g_mixed] {
        assert_eq!(of(guards), (2000, 2001, 64032));
        let c = &guards.counters;
        assert_eq!(c.thread_inst_executed_pred_on, 32032);
        assert_eq!((c.lost.predicated, c.lost.total()), (32000, 32000));
        assert_eq!((c.branches.total(), c.pushes, c.max_depth), (0, 0, 1));
    }
    assert_eq!(b_mixed.counters.lost.diverged, 32032);
    let issued = |o: &Outcome| o.counters.inst_executed as f64;
    assert_eq!(round(issued(&b_mixed) / issued(&b_uniform), 3), 1.998);
    assert_eq!(issued(&g_mixed) / issued(&g_uniform), 1.0);
    assert_eq!(round(issued(&g_mixed) / issued(&b_uniform), 3), 1.995);
    // Same results, whichever way.
    assert_eq!(b_mixed.returns, g_mixed.returns);
    assert_eq!(b_uniform.returns, g_uniform.returns);
}

#[test]
fn c77_the_join_of_an_early_return_decides() {
    assert_eq!(num("c77-return-in-an-arm-default", "issued"), 16);
    assert_eq!(num("c77-return-in-an-arm-cfg", "issued"), 22);
    assert_eq!(text("c77-shared-block", "block2"), "2@24");
}

#[test]
fn c81_mixed_signs_cost_twice_as_many_issues() {
    let [mixed, positive, negative] =
        ["mixed", "all-positive", "all-negative"].map(|c| num(&format!("c81-{c}"), "issued"));
    assert_eq!((mixed, positive, negative), (26, 13, 17));
    assert_eq!(mixed, 2 * positive);
    // Percent of the eight lanes there are.
    let busy = |case: &str| {
        let name = format!("c81-{case}");
        round(
            100.0 * num(&name, "ti") as f64 / (8 * num(&name, "issued")) as f64,
            2,
        )
    };
    assert_eq!(
        ["mixed", "all-positive", "all-negative"].map(busy),
        [48.08, 100.0, 70.59]
    );
}

#[test]
fn c84_divergence_between_warps_is_free() {
    assert_eq!(num("c02-grouped", "divergent"), 0);
    assert_eq!(text("c02-grouped", "wee"), "100.00");
}

#[test]
fn c74_where_branches_join() {
    use warpfold::analysis::{Cfg, JoinRule, Joins};

    // Block with the branch, its join, its join in the whole graph, deferred.
    type Row = (
        &'static str,
        Option<&'static str>,
        Option<&'static str>,
        bool,
    );
    let files: [(&str, &[Row]); 5] = [
        (
            "c77-return-in-an-arm-default",
            &[
                ("block0", Some("block5"), None, true),
                ("block1", Some("block3"), None, true),
            ],
        ),
        (
            "c77-return-before-a-barrier-default-stack",
            &[
                ("block0", Some("block4"), None, true),
                ("block1", Some("block4"), None, true),
            ],
        ),
        ("c43-guard", &[("block0", Some("block2"), None, true)]),
        (
            "c27-d-2",
            &[
                ("block0", Some("block9"), Some("block9"), false),
                ("block1", Some("block4"), Some("block4"), false),
                ("block5", Some("block8"), Some("block8"), false),
            ],
        ),
        (
            "c31-1-32",
            &[("block1", Some("block3"), Some("block3"), false)],
        ),
    ];
    for (name, rows) in files {
        let text = std::fs::read_to_string(path(name)).unwrap();
        // Without its `test` line a file is plain IR.
        let code = text.lines().skip(1).collect::<Vec<_>>().join("\n");
        let module = ir::parse_module(&code).unwrap();
        let func = &module.functions[0];
        let cfg = Cfg::new(func);
        let joins = Joins::new(func, &cfg, JoinRule::Default);
        let whole = Joins::new(func, &cfg, JoinRule::Cfg);
        let name_of = |b: Option<ir::Block>| b.map(|b| b.to_string());
        let got: Vec<_> = func
            .layout
            .iter()
            .filter(|&&b| cfg.branches(b))
            .map(|&b| {
                (
                    b.to_string(),
                    name_of(joins.of(b)),
                    name_of(whole.of(b)),
                    joins.deferred(b),
                )
            })
            .collect();
        let want: Vec<_> = rows
            .iter()
            .map(|&(b, join, cfg, deferred)| {
                let owned = |b: Option<&str>| b.map(str::to_owned);
                (b.to_owned(), owned(join), owned(cfg), deferred)
            })
            .collect();
        assert_eq!(got, want, "{name}");
    }
}

#[test]
fn c83_every_issue_has_one_mask() {
    let options = ExecOptions {
        timeline: true,
        ..ExecOptions::default()
    };
    let func = divsweep(3, 2, 1, 8);
    let mut args = vec![Arg::Varying((0..64).collect()); 3];
    args[0] = Arg::Varying((0..64).map(|t| t % 8).collect());
    let launch = Launch::linear(1, 64).with_args(args);
    let outcome = checked(&func, &launch, &options);
    let timeline = outcome.timeline.unwrap();
    let c = &outcome.counters;
    // A slot for each issue, and in each one a mask that is not empty.
    assert_eq!(timeline.issues.len() as u64, c.inst_executed);
    let lanes: u64 = timeline
        .issues
        .iter()
        .map(|i| u64::from(i.mask.count_ones()))
        .sum();
    assert_eq!(lanes, c.thread_inst_executed);
    for issue in &timeline.issues {
        let pass = timeline.passes[issue.pass as usize];
        assert_ne!(issue.mask, 0);
        assert_eq!(issue.mask & !pass.mask, 0, "lanes from outside the pass");
    }
}
