//! Machine descriptions for Warpfold: issue costs and branch overheads with their sources.
