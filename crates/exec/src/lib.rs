//! A 32-lane masked executor for the Warpfold IR, with counters.
