//! Cranelift IR in, Warpfold IR out.
