//! The kernels of the claims, part of the program so that they are there
//! wherever it is.
//!
//! Each is a filetest: kernel, launch and every counter that matters. It
//! belongs to the claim that its name begins with.

/// A file of a claim.
#[derive(Clone, Copy, Debug)]
pub struct File {
    /// Its name without `.wf`: the claim's number, then the case.
    pub name: &'static str,
    /// What is in it.
    pub text: &'static str,
}

impl File {
    /// Whether it belongs to the claim called `id`, as `C-07`.
    pub fn is_of(&self, id: &str) -> bool {
        let stem = id.replace('-', "").to_lowercase();
        self.name.split('-').next() == Some(&stem)
    }

    /// The case, for people.
    pub fn case(&self) -> String {
        let case = self.name.split_once('-').map_or("", |(_, case)| case);
        case.replace('-', " ")
    }
}

macro_rules! files {
    ($($name:literal)*) => {
        /// All files, by name.
        pub const FILES: &[File] = &[$(File {
            name: $name,
            text: include_str!(concat!("../../claims/", $name, ".wf")),
        }),*];
    };
}

files! {
    "c01-all-false"
    "c01-all-true"
    "c02-grouped"
    "c03-mixed"
    "c05-tid-lt-4"
    "c06-31-1"
    "c07-n-0"
    "c07-n-1"
    "c07-n-16"
    "c07-n-31"
    "c07-n-32"
    "c08-30-2"
    "c10-all"
    "c10-half"
    "c10-none"
    "c13-half"
    "c14-tid-lt-16"
    "c14-tid-lt-32"
    "c15-block-0"
    "c15-block-id"
    "c15-warp-id"
    "c17-tid-lt-64"
    "c17-tid-lt-80"
    "c18-all-positive"
    "c18-half-negative"
    "c18-loaded"
    "c20-half"
    "c21-4-ways"
    "c21-unanimous"
    "c22-3-tests-plus-else"
    "c22-4-tests"
    "c24-orthogonal"
    "c24-unanimous"
    "c25-inner-uniform"
    "c26-two-ifs"
    "c27-d-0"
    "c27-d-1"
    "c27-d-2"
    "c27-d-3"
    "c27-d-4"
    "c27-d-5"
    "c28-d-2"
    "c29-32-ways"
    "c29-unanimous"
    "c31-1-32"
    "c32-outlier"
    "c33-none"
    "c34-all-8"
    "c35-one-late"
    "c36-3-and-40"
    "c37-bound-8-for-all"
    "c37-uniform-bound"
    "c37-varying-bound"
    "c39-guarded"
    "c40-u-1"
    "c40-u-4"
    "c42-guard"
    "c43-exit"
    "c43-guard"
    "c43-predicated"
    "c45-20-threads"
    "c46-44-threads"
    "c47-all-four"
    "c48-guarded"
    "c49-branch"
    "c49-guarded"
    "c50-0-plus-100"
    "c50-1-plus-1"
    "c50-1-plus-10"
    "c50-10-plus-1"
    "c50-10-plus-10"
    "c50-100-plus-0"
    "c50-40-plus-60"
    "c53-bitwise-all-low"
    "c53-bitwise-in-range"
    "c53-bitwise-mix"
    "c53-bitwise-one-high"
    "c53-branchless-all-low"
    "c53-branchless-in-range"
    "c53-branchless-mix"
    "c53-branchless-one-high"
    "c53-short-circuit-all-low"
    "c53-short-circuit-in-range"
    "c53-short-circuit-mix"
    "c53-short-circuit-one-high"
    "c54-p-and-q"
    "c54-p-andand-q"
    "c55-branch"
    "c55-select"
    "c56-barrier-in-arm-half"
    "c56-barrier-in-arm-uniform"
    "c56-long-arm"
    "c58-guarded-mov"
    "c59-bad-address-off"
    "c60-eager"
    "c60-guarded"
    "c61-lane-lt-16"
    "c62-converged"
    "c62-odd-even"
    "c63-even"
    "c63-lane-lt-16"
    "c63-lane-lt-8"
    "c63-none"
    "c64-address-select"
    "c64-branch"
    "c65-broadcast"
    "c65-reversed"
    "c65-stride-1"
    "c65-stride-1-plus-4-bytes"
    "c65-stride-2"
    "c65-stride-32"
    "c65-stride-8"
    "c66-broadcast"
    "c66-stride-1"
    "c66-stride-2"
    "c66-stride-32"
    "c66-stride-32-16-lanes-on"
    "c66-stride-33"
    "c66-stride-4"
    "c66-two-words-of-one-bank"
    "c77-return-before-a-barrier-cfg-its"
    "c77-return-before-a-barrier-cfg-stack"
    "c77-return-before-a-barrier-default-its"
    "c77-return-before-a-barrier-default-stack"
    "c77-return-in-an-arm-cfg"
    "c77-return-in-an-arm-default"
    "c77-shared-block"
    "c79-bounded-its"
    "c79-bounded-stack"
    "c79-spin-lock-its"
    "c79-spin-lock-stack"
    "c80-mini"
    "c81-all-negative"
    "c81-all-positive"
    "c81-mixed"
    "c82-consumer-first-its"
    "c82-consumer-first-stack"
    "c82-producer-first"
    "ext-interleaved-branch"
    "ext-interleaved-guarded"
    "ext-sequential-branch"
    "ext-sequential-guarded"
}
