//! Passes over the Warpfold IR; if-conversion by an explicit cost model.
