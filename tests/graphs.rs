//! Kernels on odd graphs under the executor's checks: no claim of the uniformity
//! analysis is false, and each mistake planted in it is found.

use warpfold::analysis::uniformity::Fault;
use warpfold_testkit::checks::claimed::{Seen, check_graph};
use warpfold_testkit::checks::generated::shrink;
use warpfold_testkit::generate::random_bytes;
use warpfold_testkit::graphs::{FEATURES, LENGTHS, generate};

const KERNELS: u64 = 2_000;

#[test]
fn no_claim_is_false() {
    let mut total = Seen::default();
    for n in 0..KERNELS {
        let bytes = random_bytes(n, LENGTHS);
        match check_graph(&generate(&bytes), None) {
            Ok(seen) => total.add(&seen),
            Err(failure) => {
                let same = |b: &[u8]| {
                    let again = check_graph(&generate(b), None);
                    again.is_err_and(|f| f.check == failure.check)
                };
                let small = generate(&shrink(bytes, &mut { same }));
                let failure = check_graph(&small, None).map_or_else(|f| f, |_| failure);
                panic!("kernel {n}: {failure}\n{small}");
            }
        }
    }
    let Seen {
        features, checked, ..
    } = total;
    println!("{checked:?}\n{features}");
    assert_eq!(features.missing(), [""; 0]);
    assert!(FEATURES.iter().all(|(_, doc)| !doc.is_empty()));
    // Nothing is there by one accident.
    let rarest = features.counts.iter().min_by_key(|f| f.1);
    assert!(rarest.is_some_and(|f| *f.1 >= 10), "{rarest:?}");
    assert!(checked.claims > 100 * KERNELS, "{checked:?}");
    assert!(checked.wide > 10 * KERNELS, "{checked:?}");
    assert!(checked.control > 10 * KERNELS, "{checked:?}");
    assert!(checked.poison > 10 * KERNELS, "{checked:?}");
    assert_eq!(checked.unrecorded, 0);
}

/// Nobody made these kernels for a certain mistake, and each is found all the
/// same; the rarest by one kernel in some hundreds.
#[test]
fn every_planted_mistake_is_found() {
    for fault in Fault::ALL {
        let found = (0..4 * KERNELS).find_map(|n| {
            let kernel = generate(&random_bytes(n, LENGTHS));
            Some((n, check_graph(&kernel, Some(fault)).err()?))
        });
        let (n, failure) = found.unwrap_or_else(|| panic!("{fault:?} goes unnoticed"));
        println!("{fault:?}: kernel {n}: {failure}");
        assert_eq!(failure.check, "claims");
    }
}
