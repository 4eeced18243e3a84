//! Checks generated kernels until the number asked for is reached, and says
//! what was in them and what became of them.
//!
//! ```text
//! cargo run --release -p warpfold-testkit --example soak -- --programs 20000 --seed 7
//! cargo run --release -p warpfold-testkit --example soak -- --programs 20000 --product graphs
//! ```
//!
//! `--product drawn` (default) checks each program, some with hints, under one drawn
//! machine and knob or policy, `--product full` under all of them; `--product assignments` runs every
//! legal assignment of forms where there are at most 256, and weighs it by every
//! machine; `--product graphs` runs kernels on
//! odd graphs under the executor's checks of all that the uniformity analysis
//! claims, and then says how many of them notice each mistake planted there. A
//! failing program is made smaller and printed with its number; `--from NUMBER
//! --programs 1` with the same seed checks it again. The exit status is 0 if all
//! hold, 1 if any fails, 2 if the arguments make no sense.

use std::process::ExitCode;

use warpfold::analysis::uniformity::Fault;
use warpfold_testkit::checks::Failure;
use warpfold_testkit::checks::claimed::{self, check_graph};
use warpfold_testkit::checks::generated::{Drawn, Seen, shrink};
use warpfold_testkit::checks::regret::Compared;
use warpfold_testkit::generate::random_bytes;
use warpfold_testkit::graphs::{self, LENGTHS};

const USAGE: &str =
    "usage: soak [--programs N] [--from N] [--seed S] [--product drawn|full|assignments|graphs]";

/// Most assignments of a program that is looked at.
const ASSIGNMENTS: usize = 256;

/// Programs that a planted mistake is tried on.
const PLANTED: u64 = 4_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Product {
    Drawn,
    Full,
    Assignments,
    Graphs,
}

struct Arguments {
    programs: u64,
    /// The number of the first program.
    from: u64,
    seed: u64,
    product: Product,
}

fn arguments() -> Option<Arguments> {
    let mut parsed = Arguments {
        programs: 2_000,
        from: 0,
        seed: 1,
        product: Product::Drawn,
    };
    let mut args = std::env::args().skip(1);
    while let Some(name) = args.next() {
        let value = args.next()?;
        match (name.as_str(), value.as_str()) {
            ("--programs", n) => parsed.programs = n.parse().ok()?,
            ("--from", n) => parsed.from = n.parse().ok()?,
            ("--seed", n) => parsed.seed = n.parse().ok()?,
            ("--product", "drawn") => parsed.product = Product::Drawn,
            ("--product", "full") => parsed.product = Product::Full,
            ("--product", "assignments") => parsed.product = Product::Assignments,
            ("--product", "graphs") => parsed.product = Product::Graphs,
            _ => return None,
        }
    }
    Some(parsed)
}

impl Arguments {
    fn bytes(&self, program: u64, lengths: std::ops::Range<usize>) -> Vec<u8> {
        let seed = self.seed.wrapping_mul(0x1000_0000).wrapping_add(program);
        random_bytes(seed, lengths)
    }
}

fn check(bytes: &[u8], product: Product) -> Result<(Seen, Compared), Failure> {
    let drawn = Drawn::new(bytes);
    let mut compared = Compared::default();
    let seen = match product {
        Product::Full => drawn.check_full()?,
        Product::Assignments => {
            let found = drawn.check_regret(ASSIGNMENTS)?;
            compared.add(found.unwrap_or_default());
            Seen {
                coverage: drawn.program.coverage,
                ..Seen::default()
            }
        }
        Product::Drawn | Product::Graphs => drawn.check(true)?,
    };
    Ok((seen, compared))
}

/// Checks programs one by one with `one`; returns how many failed. `text`
/// prints one.
fn soak<T>(
    args: &Arguments,
    lengths: std::ops::Range<usize>,
    one: impl Fn(&[u8]) -> Result<T, Failure>,
    mut note: impl FnMut(T),
    text: impl Fn(&[u8]) -> String,
) -> u64 {
    let mut failures = 0;
    for program in (args.from..).take(args.programs as usize) {
        let bytes = args.bytes(program, lengths.clone());
        let failure = match one(&bytes) {
            Ok(seen) => {
                note(seen);
                continue;
            }
            Err(failure) => failure,
        };
        failures += 1;
        if failures > 5 {
            break;
        }
        let kind = failure.check;
        let small = shrink(bytes, &mut |b| one(b).is_err_and(|f| f.check == kind));
        let failure = one(&small).map_or_else(|f| f, |_| failure);
        println!(
            "program {program}: {failure}\nbytes {small:?}\n{}",
            text(&small)
        );
    }
    println!("{} programs, {failures} failures", args.programs);
    failures
}

fn soak_graphs(args: &Arguments) -> u64 {
    let mut total = claimed::Seen::default();
    let one = |bytes: &[u8]| check_graph(&graphs::generate(bytes), None);
    let text = |bytes: &[u8]| graphs::generate(bytes).to_string();
    let failures = soak(args, LENGTHS, one, |seen| total.add(&seen), text);
    println!("{:?}\n{}", total.checked, total.features);
    println!("features missing: {:?}", total.features.missing());
    let planted = args.programs.min(PLANTED);
    for fault in Fault::ALL {
        let found = (0..planted).filter(|&n| {
            let kernel = graphs::generate(&args.bytes(n, LENGTHS));
            check_graph(&kernel, Some(fault)).is_err()
        });
        println!("{fault:?}: found by {} of {planted}", found.count());
    }
    failures
}

fn main() -> ExitCode {
    let Some(args) = arguments() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let failures = match args.product {
        Product::Graphs => soak_graphs(&args),
        product => {
            let mut total = Seen::default();
            let mut compared = Compared::default();
            let note = |(seen, more): (Seen, Compared)| {
                compared.add(more);
                total.coverage.add(&seen.coverage);
                total.tally.add(&seen.tally);
            };
            let text = |bytes: &[u8]| Drawn::new(bytes).program.text;
            let failures = soak(&args, 20..420, |b| check(b, product), note, text);
            println!("{}\n{}", total.tally, total.coverage);
            if product == Product::Assignments {
                println!("{compared:?}");
            }
            failures
        }
    };
    ExitCode::from(u8::from(failures > 0))
}
