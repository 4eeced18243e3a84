//! Filetests, program generator and oracles for Warpfold passes and for yours.
