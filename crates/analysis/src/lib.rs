//! Analyses of the Warpfold IR: graph, dominators, joins, loops, regions, uniformity.
