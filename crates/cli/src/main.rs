//! The warpfold command.
fn main() {}
