//! Generated kernels do the same before and after, cost what was predicted,
//! and do what Cranelift's interpreter does.
#![no_main]

use warpfold_testkit::checks::generated::Drawn;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let drawn = Drawn::new(bytes);
    if let Err(failure) = drawn.check(true) {
        panic!("{failure}\n{}", drawn.program.text);
    }
});
