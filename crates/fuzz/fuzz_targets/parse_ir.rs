//! Any text is IR or an error with a place; what is read prints and reads back
//! as itself.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Err(failure) = warpfold_testkit::checks::check_ir_text(text) {
        panic!("{failure}");
    }
});
