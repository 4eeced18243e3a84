//! Checks on request: what the lanes do, against what is promised of it.
//!
//! - **Claims** ([`claims`]): whatever a [`Uniformity`] says of values, branches
//!   and blocks is compared with what lanes hold and where they go. A claim
//!   is about a value *at a block*, so a value that is used in a block is
//!   compared when lanes enter it, and a result when it has been computed.
//! - **Poison** ([`poison`]): a shadow mask for each value says in which lanes it is
//!   poison; a use that the IR forbids ends the run. Claims leave out lanes that
//!   hold poison, so the masks are kept for them as well.
//! - **Races** ([`races`]): the accesses to each byte since the last barrier are
//!   kept, and two that are not ordered end the run.
//!
//! The first thing that is wrong ends the run with
//! [`ExecError::Check`](crate::ExecError::Check). Nothing of this changes a
//! result, a counter or a record. A run without checks executes none of it: the
//! loop over instructions is compiled twice, with and without.
//!
//! What is kept for comparison is bounded ([`MOST_KEPT`]); [`Checked`] says how
//! much was compared and how much was not.

pub(crate) mod claims;
mod error;
pub(crate) mod frame;
mod hooks;
pub(crate) mod instance;
pub(crate) mod poison;
pub(crate) mod races;

use warpfold_analysis::Uniformity;

pub use error::{CheckError, PoisonUse, RacingAccess, RacingKind, Where};

use crate::linked::Linked;
use crate::warp_sync::names_lanes;
use claims::{FunctionClaims, Wide};
use races::Races;

/// Most entries of each table of things seen.
pub(crate) const MOST_KEPT: usize = 1 << 20;

/// What to check while a launch runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Checks<'a> {
    /// What is claimed of the functions, by their positions; nothing of those
    /// that are left out. Made for the launch's block sizes, the run's join rule
    /// and [`Convergence::Ipdom`](warpfold_analysis::Convergence::Ipdom), and with
    /// `called` for functions that are called.
    pub claims: &'a [Option<&'a Uniformity>],
    /// Whether poison is used as it must not be.
    pub poison: bool,
    /// Whether lanes race.
    pub races: bool,
}

impl Checks<'_> {
    /// No check at all.
    pub const NONE: Self = Self {
        claims: &[],
        poison: false,
        races: false,
    };

    /// Whether there is anything to check.
    pub fn any(&self) -> bool {
        self.poison || self.races || self.claims.iter().any(Option::is_some)
    }
}

/// How much was checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Checked {
    /// Claims compared with the lanes of a warp.
    pub claims: u64,
    /// Of these, compared with another warp at the same dynamic instance too.
    pub wide: u64,
    /// Claims about blocks and branches that were compared.
    pub control: u64,
    /// Uses looked at for poison.
    pub poison: u64,
    /// Bytes accessed that were compared with earlier accesses.
    pub bytes: u64,
    /// What was not compared because too much was kept already.
    pub unrecorded: u64,
}

impl Checked {
    /// Adds another run's.
    pub fn add(&mut self, other: &Self) {
        self.claims += other.claims;
        self.wide += other.wide;
        self.control += other.control;
        self.poison += other.poison;
        self.bytes += other.bytes;
        self.unrecorded += other.unrecorded;
    }
}

/// The state of all checks of a launch.
#[derive(Debug)]
pub(crate) struct Checker {
    /// By position of the function.
    claims: Vec<FunctionClaims>,
    wide: Wide,
    poison: bool,
    races: Option<Races>,
    checked: Checked,
}

impl Checker {
    pub(crate) fn new(linked: &Linked<'_>, checks: &Checks<'_>, blocks: u64) -> Option<Box<Self>> {
        if !checks.any() {
            return None;
        }
        let claims = linked.programs.iter().enumerate().map(|(i, program)| {
            let claimed = checks.claims.get(i).copied().flatten();
            match program {
                Some(program) => FunctionClaims::new(program, claimed),
                None => FunctionClaims::default(),
            }
        });
        let functions = linked.programs.iter().flatten().map(|p| p.func);
        let lanes_named = names_lanes(functions);
        Some(Box::new(Self {
            claims: claims.collect(),
            wide: Wide::default(),
            poison: checks.poison,
            races: checks.races.then(|| Races::new(blocks > 1, lanes_named)),
            checked: Checked::default(),
        }))
    }

    pub(crate) fn checked(&self) -> Checked {
        self.checked
    }
}
