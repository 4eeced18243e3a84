//! Claims about cycles, by the model of time.

use warpfold::exec::timing::{LoadLevel, Timing, TimingModel};
use warpfold::exec::{self, Arg, ExecOptions, Launch};
use warpfold::ir::{CostClass, Function};
use warpfold::machine::{MACHINES, Machine};

use super::kernels::{chain, divsweep};
use super::sheet::{Sheet, round};

type Done = Result<(), String>;

/// The machines that are generations of hardware, in their order.
fn generations() -> Vec<Machine> {
    MACHINES
        .iter()
        .map(|row| row.machine())
        .filter(|m| m.timing.is_some())
        .collect()
}

fn machine(name: &str) -> Result<Machine, String> {
    Machine::builtin(name).map_err(|e| e.to_string())
}

fn model(machine: &Machine) -> Result<TimingModel, String> {
    TimingModel::new(machine, LoadLevel::L1).map_err(|e| e.to_string())
}

/// One scheduler, as the claims have it, and every latency `latency`.
fn scheduler(latency: u32, launch: u64) -> Result<TimingModel, String> {
    Ok(TimingModel {
        schedulers: 1,
        launch,
        latency: [latency; CostClass::ALL.len()],
        ..model(&machine("hopper")?)?
    })
}

/// `warps` warps, each with the cases of the sweep over its lanes.
fn timed(func: &Function, k: usize, warps: u32, model: TimingModel) -> Result<Timing, String> {
    let threads = 32 * u128::from(warps);
    let mut args = vec![Arg::Varying((0..threads).collect()); func.params.len()];
    args[0] = Arg::Varying((0..threads).map(|t| t % 32 * k as u128 / 32).collect());
    let options = ExecOptions {
        timing: Some(model),
        ..ExecOptions::default()
    };
    let launch = Launch::linear(1, 32 * warps).with_args(args);
    let outcome = exec::run(func, &launch, &options).map_err(|e| e.to_string())?;
    outcome
        .timing
        .ok_or_else(|| "no cycles were counted".to_owned())
}

/// Cycles of warps of `n` instructions that each wait for the one before.
fn formula(warps: u64, n: u64, latency: u64, launch: u64) -> u64 {
    match warps <= latency {
        true => launch + n * latency + warps - 1,
        false => launch + n * warps + latency - 1,
    }
}

pub(super) fn c68(s: &mut Sheet<'_>) -> Done {
    for machine in generations() {
        let model = model(&machine)?;
        let alu = u64::from(model.latency[CostClass::Alu.index()]);
        // Where the machine issues two at once, a jump goes with the last
        // operation of a body; elsewhere a cycle later. It waits for neither.
        let saved = if model.issue_per_cycle > 1 {
            alu
        } else {
            alu - 1
        };
        let mut residuals = Vec::new();
        for k in [1, 2, 4, 8, 16, 32u64] {
            let t = timed(&divsweep(240, 1, 4, k as usize), k as usize, 1, model)?;
            // One body a case, and the prologue.
            let expected = alu * (243 * k + 6) - saved * (k + 1);
            residuals.push(t.cycles as i64 - expected as i64);
        }
        let what = format!(
            "{}: cycles − ({} k + {})",
            machine.name,
            243 * alu - saved,
            6 * alu - saved
        );
        s.equal(&what, residuals, vec![0; 6]);
    }
    Ok(())
}

pub(super) fn c70(s: &mut Sheet<'_>) -> Done {
    // 11,525 dependent instructions a case, at the cycles that each generation
    // takes for one, give the slopes of the source, in thousands of cycles.
    let measured = [6.08, 4.69, 5.04, 4.00];
    let slopes = measured.map(|per| round(11525.0 * per / 1000.0, 1));
    let what = "10³ cycles of 11,525 issues (arithmetic)";
    s.equal(what, slopes, [70.1, 54.1, 58.1, 46.1]);
    let ratios = [31.9, 31.7, 31.8, 31.9];
    let constants: Vec<f64> = slopes
        .iter()
        .zip(ratios)
        .map(|(s, r)| round((32.0 - r) / (r - 1.0) * s * 1000.0, 0))
        .collect();
    let what = "cycles beside the cases (arithmetic)";
    s.equal(what, constants, vec![227.0, 529.0, 377.0, 149.0]);
    let machines = generations();
    let names: Vec<&str> = machines.iter().map(|m| m.name.as_str()).collect();
    let generations = ["pascal", "ampere", "hopper", "blackwell"];
    s.equal("machines", names, generations.to_vec());
    // The machines have the published latencies, which are whole cycles; the
    // measured ones lie at most 26% above.
    for (machine, source) in machines.iter().zip(measured) {
        let model = TimingModel {
            issue_per_cycle: 1,
            ..model(machine)?
        };
        let short = timed(&chain(1000), 1, 1, model)?.cycles;
        let long = timed(&chain(2000), 1, 1, model)?.cycles;
        let per = (long - short) as f64 / 1000.0;
        let what = format!("{}: {source} cycles ÷ the model's {per}", machine.name);
        s.within(&what, source / per, 1.0..=1.27);
    }
    Ok(())
}

pub(super) fn c71(s: &mut Sheet<'_>) -> Done {
    let mut times = Vec::new();
    for latency in [4, 5, 6] {
        let cycles = |n: usize| timed(&chain(n), 1, 1, scheduler(latency, 0)?).map(|t| t.cycles);
        let (one, all) = (cycles(249)?, cycles(7782)?);
        let closed = [249, 7782].map(|n| formula(1, n, latency.into(), 0));
        s.equal(&format!("L = {latency}: T(1), T(32)"), [one, all], closed);
        s.equal(
            &format!("L = {latency}: T(32)·249 = T(1)·7782"),
            all * 249 == one * 7782,
            true,
        );
        times.push(all);
    }
    s.equal(
        "T(32) is smaller at L = 4 than at 6",
        times[0] < times[2],
        true,
    );
    let per_case = |name: &str| {
        let model = model(&machine(name)?)?;
        let cycles = |k| timed(&divsweep(240, 1, 4, k), k, 1, model).map(|t| t.cycles);
        Ok::<f64, String>((cycles(32)? - cycles(1)?) as f64 / 31.0)
    };
    let (old, new) = (per_case("pascal")?, per_case("blackwell")?);
    let what = format!("cycles a case, {new} < {old} of pascal");
    s.equal(&what, new < old, true);
    Ok(())
}

pub(super) fn c73(s: &mut Sheet<'_>) -> Done {
    let rows: [(u32, u64, [f64; 5]); 4] = [
        (6, 60, [30.08, 30.07, 30.03, 30.30, 30.77]),
        (4, 60, [29.53, 29.51, 29.45, 30.33, 30.78]),
        (6, 0, [31.25, 31.23, 31.19, 31.18, 31.22]),
        (4, 0, [31.25, 31.22, 31.16, 31.21, 31.23]),
    ];
    for (latency, launch, want) in rows {
        let mut ratios = Vec::new();
        let mut residuals = Vec::new();
        for warps in [1, 2, 4, 8, 16] {
            let mut times = Vec::new();
            for n in [7782, 249] {
                let t = timed(&chain(n), 1, warps, scheduler(latency, launch)?)?.cycles;
                let closed = formula(warps.into(), n as u64, latency.into(), launch);
                residuals.push(t as i64 - closed as i64);
                times.push(t as f64);
            }
            ratios.push(round(times[0] / times[1], 2));
        }
        let of = format!("L = {latency}, launch {launch}, W = 1 … 16");
        s.equal(&format!("{of}: T(32) ÷ T(1)"), ratios, want.to_vec());
        s.equal(&format!("{of}: cycles − formula"), residuals, vec![0; 10]);
    }
    // The kernel itself, on each generation as it is, in the bands of the source.
    for machine in generations() {
        for warps in [1, 2, 4, 8, 16, 32] {
            let model = TimingModel {
                launch: 60,
                ..model(&machine)?
            };
            let cycles = |k| timed(&divsweep(240, 1, 4, k), k, warps, model).map(|t| t.cycles);
            let ratio = cycles(32)? as f64 / cycles(1)? as f64;
            let bounds = match machine.name.as_str() {
                "pascal" => 29.9..=30.9,
                _ => 28.0..=31.0,
            };
            let what = format!("{}, {warps} warps: T(32) ÷ T(1)", machine.name);
            s.within(&what, ratio, bounds);
        }
    }
    Ok(())
}
