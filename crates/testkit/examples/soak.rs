//! Checks generated kernels until the number asked for is reached, and says
//! what was in them and what became of them.
//!
//! ```text
//! cargo run --release -p warpfold-testkit --example soak -- --programs 20000 --seed 7
//! ```
//!
//! `--product drawn` (default) checks each program under one drawn machine and
//! knob, `--product full` under all of them; `--product assignments` runs every
//! legal assignment of forms where there are at most 256, and weighs it by every
//! machine. A failing program is made smaller
//! and printed as a kernel file. The exit status is 0 if all hold, 1 if any
//! fails, 2 if the arguments make no sense.

use std::process::ExitCode;

use warpfold_testkit::checks::Failure;
use warpfold_testkit::checks::generated::{Drawn, Seen, shrink};
use warpfold_testkit::checks::regret::Compared;

const USAGE: &str = "usage: soak [--programs N] [--seed S] [--product drawn|full|assignments]";

/// Most assignments of a program that is looked at.
const ASSIGNMENTS: usize = 256;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Product {
    Drawn,
    Full,
    Assignments,
}

struct Arguments {
    programs: u64,
    seed: u64,
    product: Product,
}

fn arguments() -> Option<Arguments> {
    let mut parsed = Arguments {
        programs: 2_000,
        seed: 1,
        product: Product::Drawn,
    };
    let mut args = std::env::args().skip(1);
    while let Some(name) = args.next() {
        let value = args.next()?;
        match (name.as_str(), value.as_str()) {
            ("--programs", n) => parsed.programs = n.parse().ok()?,
            ("--seed", n) => parsed.seed = n.parse().ok()?,
            ("--product", "drawn") => parsed.product = Product::Drawn,
            ("--product", "full") => parsed.product = Product::Full,
            ("--product", "assignments") => parsed.product = Product::Assignments,
            _ => return None,
        }
    }
    Some(parsed)
}

/// splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", 2014).
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn check(bytes: &[u8], product: Product, compared: &mut Compared) -> Result<Seen, Failure> {
    let drawn = Drawn::new(bytes);
    match product {
        Product::Full => drawn.check_full(),
        Product::Drawn => drawn.check(true),
        Product::Assignments => {
            let found = drawn.check_regret(ASSIGNMENTS)?;
            compared.add(found.unwrap_or_default());
            Ok(Seen {
                coverage: drawn.program.coverage,
                ..Seen::default()
            })
        }
    }
}

fn main() -> ExitCode {
    let Some(args) = arguments() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let mut total = Seen::default();
    let mut compared = Compared::default();
    let mut failures = 0u64;
    for program in 0..args.programs {
        let mut state = args.seed.wrapping_mul(0x1000_0000).wrapping_add(program);
        let len = 20 + random(&mut state) % 400;
        let bytes: Vec<u8> = (0..len).map(|_| (random(&mut state) >> 56) as u8).collect();
        let failure = match check(&bytes, args.product, &mut compared) {
            Ok(seen) => {
                total.coverage.add(&seen.coverage);
                total.tally.add(&seen.tally);
                continue;
            }
            Err(failure) => failure,
        };
        failures += 1;
        if failures > 5 {
            break;
        }
        let kind = failure.check;
        let again = |b: &[u8]| check(b, args.product, &mut Compared::default());
        let small = shrink(bytes, &mut |b| again(b).is_err_and(|f| f.check == kind));
        let failure = again(&small).map_or_else(|f| f, |_| failure);
        println!("program {program}: {failure}\nbytes {small:?}");
        println!("{}", Drawn::new(&small).program.text);
    }
    println!("{}\n{}", total.tally, total.coverage);
    if args.product == Product::Assignments {
        println!("{compared:?}");
    }
    println!("{} programs, {failures} failures", args.programs);
    ExitCode::from(u8::from(failures > 0))
}
