//! Hints and policies never change results: generated kernels with drawn hints
//! under drawn policies do the same before and after, and cost what was
//! predicted.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use warpfold::ir::Hint;
use warpfold::opt::policy::POLICIES;
use warpfold_testkit::checks::decided::Decided;

const CASES: u32 = 400;

#[test]
fn hints_and_policies_never_change_results() {
    let config = Config {
        cases: CASES,
        failure_persistence: None,
        max_shrink_iters: 3_000,
        ..Config::default()
    };
    // The same programs in every run.
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let policies = RefCell::new(BTreeSet::new());
    // By hint and whether it was followed: how often; and the blockers.
    let hints = RefCell::new(BTreeMap::<(Hint, bool), u32>::new());
    let blockers = RefCell::new(BTreeSet::new());
    let result = TestRunner::new_with_rng(config, rng).run(&vec(any::<u8>(), 0..300), |bytes| {
        let drawn = Decided::new(&bytes);
        match drawn.check() {
            Ok(decisions) => {
                policies.borrow_mut().insert(drawn.policy.name);
                for h in decisions.iter().filter_map(|d| d.hint.as_ref()) {
                    let key = (h.hint, h.refused.is_none());
                    *hints.borrow_mut().entry(key).or_default() += 1;
                    let blocker = h.refused.as_ref().and_then(|r| r.blocker);
                    blockers.borrow_mut().extend(blocker.map(|b| b.name()));
                }
                Ok(())
            }
            Err(failure) => {
                let text = &drawn.program.text;
                Err(TestCaseError::fail(format!("{failure}\n{text}")))
            }
        }
    });
    if let Err(e) = result {
        panic!("{e}");
    }
    let (policies, hints, blockers) = (
        policies.into_inner(),
        hints.into_inner(),
        blockers.into_inner(),
    );
    println!("{policies:?}\n{hints:?}\n{blockers:?}");
    assert_eq!(policies, POLICIES.iter().map(|row| row.name).collect());
    for (hint, followed) in [
        (Hint::Flatten, true),
        (Hint::Flatten, false),
        (Hint::Keep, true),
    ] {
        let n = hints.get(&(hint, followed)).copied().unwrap_or(0);
        assert!(n > 20, "{hint:?} followed {followed}: {n}");
    }
    assert!(blockers.contains("keep"), "{blockers:?}");
}
