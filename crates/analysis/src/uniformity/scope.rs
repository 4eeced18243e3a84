//! The groups of lanes in which a value may be one number.

use std::fmt;

/// The largest group of lanes in which a value is one number, ordered from
/// the most to the least uniform.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Scope {
    /// One number, known here.
    Const,
    /// One number for all lanes of the launch.
    Grid,
    /// One number per block of threads.
    Block,
    /// One number per warp.
    Warp,
    /// Lanes of one warp may differ.
    Lane,
}

impl Scope {
    /// The name used in text.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Const => "const",
            Self::Grid => "grid",
            Self::Block => "block",
            Self::Warp => "warp",
            Self::Lane => "lane",
        }
    }

    /// Whether the lanes of a warp agree.
    pub fn is_uniform(self) -> bool {
        self <= Self::Warp
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
