//! Filetests, program generator and oracles for Warpfold passes and for yours.

pub mod checks;
pub mod claims;
pub mod families;
pub mod filetest;
pub mod generate;
pub mod graphs;
pub mod oracle;
pub mod scalar;
