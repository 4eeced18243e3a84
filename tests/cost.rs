//! The work of the uniformity analysis grows in proportion to the function,
//! whatever grows in it.
//!
//! Steps are counted, not timed, so the result is the same on every machine.
//! The slope is that of the line of least squares through logarithms of sizes
//! and steps: 1 is proportional, 2 the square.

use warpfold::analysis::uniformity::Fault;
use warpfold::analysis::{Uniformity, UniformityOptions};
use warpfold_testkit::families::{Family, instructions};

/// The slope, and the least and greatest number of steps an instruction.
fn growth(family: Family, sizes: &[usize], options: &UniformityOptions) -> (f64, f64, f64) {
    let points: Vec<(f64, f64)> = sizes
        .iter()
        .map(|&size| {
            let func = family.build(size);
            let u = Uniformity::new(&func, options);
            assert!(!u.is_coarse(), "{family:?} of {size}");
            (instructions(&func) as f64, u.steps() as f64)
        })
        .collect();
    let each = |f: fn(f64, f64) -> f64| {
        let per = points.iter().map(|&(n, steps)| steps / n);
        per.reduce(f).unwrap_or_default()
    };
    let logs: Vec<(f64, f64)> = points.iter().map(|&(x, y)| (x.ln(), y.ln())).collect();
    let mean = |of: fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / logs.len() as f64;
    let (mx, my) = (mean(|p| p.0), mean(|p| p.1));
    let up: f64 = logs.iter().map(|(x, y)| (x - mx) * (y - my)).sum();
    let across: f64 = logs.iter().map(|(x, _)| (x - mx).powi(2)).sum();
    (up / across, each(f64::min), each(f64::max))
}

fn is_linear(family: Family) {
    let sizes = [1_000, 10_000, 100_000, 1_000_000];
    let (slope, least, most) = growth(family, &sizes, &UniformityOptions::default());
    println!(
        "{}: slope {slope:.4}, {least:.2} to {most:.2} steps an instruction",
        family.name()
    );
    assert!(slope <= 1.05, "{family:?}: {slope}");
    // Every instruction is looked at, and none again and again.
    assert!(least > 1.0 && most < 20.0, "{family:?}: {least} to {most}");
}

macro_rules! families {
    ($($test:ident $family:ident;)*) => {
        $(#[test]
        fn $test() {
            is_linear(Family::$family);
        })*

        #[test]
        fn no_family_is_left_out() {
            assert_eq!(Family::ALL, [$(Family::$family),*]);
        }
    };
}

families! {
    straight Straight;
    diamonds Diamonds;
    short_circuit ShortCircuit;
    nested_ifs NestedIfs;
    loops Loops;
    nested_loops NestedLoops;
    loop_of_diamonds LoopOfDiamonds;
    breaks Breaks;
    switch Switch;
}

/// With a mistake planted (here one that these functions have nothing for) the
/// region of each branch is walked by itself. The counts tell.
#[test]
fn walking_every_region_is_quadratic() {
    let options = UniformityOptions {
        fault: Some(Fault::SignedShift),
        budget: Some(u64::MAX),
        ..UniformityOptions::default()
    };
    for family in [Family::ShortCircuit, Family::NestedIfs, Family::NestedLoops] {
        let (slope, ..) = growth(family, &[500, 1_000, 2_000], &options);
        assert!(slope > 1.3, "{family:?}: {slope}");
    }
}
