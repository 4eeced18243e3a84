//! Measures what the page on performance states, all in one run, and prints it as
//! the ratios that matter:
//!
//! ```text
//! cargo run --release -p warpfold-testkit --example speed [analysis|compile|convert|execute]
//! ```
//!
//! Figures are medians of the time that this thread was on a processor, where
//! the system tells (Linux does), so other work on the machine disturbs little;
//! elsewhere of time that passed. The benches of the same crate measure the same
//! subjects with criterion.

#[path = "../benches/subjects/mod.rs"]
mod subjects;

use std::time::Instant;

use cranelift_codegen::ir::Function as ClifFunction;
use warpfold::analysis::{
    Cfg, DomTree, JoinRule, Joins, Loops, Regions, Uniformity, UniformityOptions,
};
use warpfold_testkit::families::{Family, clif, instructions};

/// Nanoseconds that this thread has been on a processor.
fn on_processor() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// The time of a run on what `make` makes, in nanoseconds: the median over
/// batches that are long enough for the system's count, which goes on in steps
/// of some milliseconds.
fn median_of<I, T>(mut make: impl FnMut() -> I, mut run: impl FnMut(I) -> T) -> f64 {
    const BATCH: f64 = 80e6;
    let mut one = |count: usize| {
        let inputs: Vec<I> = (0..count).map(|_| make()).collect();
        let (start, since) = (on_processor(), Instant::now());
        let made: Vec<T> = inputs.into_iter().map(&mut run).collect();
        let elapsed = since.elapsed().as_nanos() as f64;
        let spent = start.zip(on_processor()).map(|(a, b)| (b - a) as f64);
        drop(made);
        spent.unwrap_or(elapsed) / count as f64
    };
    let mut count = 1;
    let mut last = one(count);
    while last * (count as f64) < BATCH && count < 1 << 16 {
        count *= 2;
        last = one(count);
    }
    // What takes long is long enough.
    let batches = if last > 1e9 { 0 } else { 6 };
    let mut all: Vec<f64> = (0..batches).map(|_| one(count)).collect();
    all.push(last);
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn median<T>(mut run: impl FnMut() -> T) -> f64 {
    median_of(|| (), |()| run())
}

fn analysis() {
    println!("uniformity, ns per instruction; the ratio is that of the last to the first");
    println!(
        "{:18}{:>10}{:>10}{:>10}{:>8}",
        "family", "10,000", "100,000", "1,000,000", "ratio"
    );
    for family in Family::ALL {
        let row: Vec<f64> = [10_000, 100_000, 1_000_000]
            .iter()
            .map(|&size| {
                let func = family.build(size);
                let run = || Uniformity::new(&func, &UniformityOptions::default());
                median(run) / instructions(&func) as f64
            })
            .collect();
        let [a, b, c] = row[..] else { continue };
        println!("{:18}{a:10.0}{b:10.0}{c:10.0}{:8.2}", family.name(), c / a);
    }
    println!("\nthe rest, ns per instruction at 10,000 and at 1,000,000");
    println!(
        "{:18}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}",
        "family", "verify", "cfg", "dominators", "loops", "joins", "regions"
    );
    for family in Family::ALL {
        let of = |size: usize| {
            let func = family.build(size);
            let cfg = Cfg::new(&func);
            let joins = Joins::new(&func, &cfg, JoinRule::Default);
            let loops = Loops::new(&cfg);
            [
                median(|| warpfold::ir::verify(&func)),
                median(|| Cfg::new(&func)),
                median(|| DomTree::dominators(&cfg)),
                median(|| Loops::new(&cfg)),
                median(|| Joins::new(&func, &cfg, JoinRule::Default)),
                median(|| Regions::new(&func, &cfg, &joins, &loops)),
            ]
            .map(|t| t / instructions(&func) as f64)
        };
        print!("{:18}", family.name());
        for (small, large) in of(10_000).into_iter().zip(of(1_000_000)) {
            print!("{:>12}", format!("{small:.0} {large:.0}"));
        }
        println!();
    }
}

fn compile() {
    println!("ns per CLIF instruction, beside Cranelift's compilation for speed");
    println!(
        "{:10}{:>8}{:>8}{:>8}{:>12}{:>9}{:>7}{:>11}{:>8}",
        "", "size", "lower", "verify", "uniformity", "convert", "all", "cranelift", "ratio"
    );
    let isa = subjects::cranelift();
    type Build = fn(usize) -> ClifFunction;
    for (name, build) in [
        ("straight", clif::straight as Build),
        ("diamonds", clif::diamonds),
    ] {
        for size in [1_000, 10_000, 40_000] {
            let func = build(size);
            let each = |t: f64| t / func.dfg.num_insts() as f64;
            // Theirs first, so that the allocator has settled; and either side frees
            // what it makes within the time.
            let theirs = median_of(|| func.clone(), |func| subjects::compile(func, &isa));
            let theirs = each(theirs);
            let lower = each(median(|| drop(subjects::lower(&func))));
            let mut subject = subjects::lower(&func);
            let verify = each(median(|| subjects::verify(&subject)));
            let analyse = each(median(|| drop(subjects::analyse(&mut subject))));
            let uniformity = subjects::analyse(&mut subject);
            let convert = each(median(|| drop(subjects::convert(&subject, &uniformity))));
            let whole = each(median(|| drop(subjects::whole(&func))));
            println!(
                "{name:10}{size:8}{lower:8.0}{verify:8.0}{analyse:12.0}{convert:9.0}{whole:7.0}\
                 {theirs:11.0}{:7.1}%",
                100.0 * whole / theirs
            );
        }
    }
}

fn convert() {
    println!("deciding and rewriting, beside the uniformity analysis, ns per region");
    println!(
        "{:18}{:>8}{:>12}{:>12}{:>8}",
        "family", "regions", "uniformity", "conversion", "ratio"
    );
    for family in [Family::Diamonds, Family::NestedIfs, Family::ShortCircuit] {
        for regions in [100, 1_000, 10_000] {
            let mut subject = subjects::built(family.build(regions * 10));
            let each = |t: f64| t / regions as f64;
            let analyse = each(median(|| subjects::analyse(&mut subject)));
            let uniformity = subjects::analyse(&mut subject);
            let convert = each(median(|| subjects::convert(&subject, &uniformity)));
            println!(
                "{:18}{regions:8}{analyse:12.0}{convert:12.0}{:8.2}",
                family.name(),
                convert / analyse
            );
        }
    }
}

fn execute() {
    println!(
        "running a kernel, ns per work-item, {} items",
        subjects::kernels::ITEMS
    );
    println!(
        "{:14}{:>10}{:>10}{:>8}{:>14}{:>10}{:>10}",
        "kernel", "warpfold", "issues", "each", "interpreter", "jit", "ours/jit"
    );
    for mut subject in subjects::kernels::subjects() {
        subject.check();
        let each = |t: f64| t / f64::from(subjects::kernels::ITEMS);
        let ours = median(|| subject.on_warps());
        let issues = subject.issues();
        let interpreter = each(median(|| subject.interpreted()));
        let jit = each(median(|| subject.native().len()));
        println!(
            "{:14}{:10.1}{issues:10}{:8.1}{interpreter:14.0}{jit:10.1}{:10.2}",
            subject.name,
            each(ours),
            ours / issues as f64,
            each(ours) / jit
        );
    }
}

fn main() {
    let parts: [(&str, fn()); 4] = [
        ("analysis", analysis),
        ("compile", compile),
        ("convert", convert),
        ("execute", execute),
    ];
    let only = std::env::args().nth(1);
    for (name, part) in parts {
        if only.as_deref().is_none_or(|only| only == name) {
            part();
            println!();
        }
    }
}
