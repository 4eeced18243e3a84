//! Any text is CLIF with a launch, which the road takes to its end, or an
//! error with a place.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Err(failure) = warpfold_testkit::checks::check_clif_text(text) {
        panic!("{failure}");
    }
});
