//! What straight code of a region is made of, as far as it does not depend on
//! what is skipped in it: which instructions are guarded, what becomes of block
//! parameters, and what every part costs per issue.
//!
//! Three passes over a root, one file each: `walk` goes over its blocks in
//! straight order and finds what must be guarded, with `merge` wherever ways
//! meet; `choose` settles how each value takes its place; `price` adds up. Where
//! neither side of a diamond is skipped, [`meld`] then merges what they have in
//! common.
//! But for that it does not matter whether bodies are skipped, so each form has
//! the same guards. What is skipped, `solve` decides; what is emitted then,
//! `plan` says.

mod align;
mod choose;
pub mod meld;
mod merge;
mod price;
mod walk;

use hashbrown::HashMap;
use warpfold_analysis::regions::RegionId;
use warpfold_ir::{Inst, Value};
use warpfold_machine::Cost;

use self::meld::Meld;
use super::idiom::Idiom;
use super::logic::Literal;
use super::outline::Source;
use super::plan::Gate;

pub use self::walk::study;

/// A value before it is known which instruction makes it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Sym {
    /// A value of the canonical function.
    Value(Value),
    /// What a region brings to a parameter of its join.
    Joined(RegionId, u32),
    /// What is there after a step of a merge.
    Step(RegionId, u32, u32),
}

/// The guard that an instruction gets, where it is not its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shield {
    /// Its body's.
    Full,
    /// Its body's and its own.
    Both,
    /// What takes the place of a select.
    Choice(Literal),
}

/// How one way's value takes its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    /// By a select.
    Select,
    /// By an instruction that does the same.
    Idiom(Idiom),
    /// Its definition has the other value as its `else`.
    Otherwise(Inst),
}

/// Where a step stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Place {
    /// At the end of an own block, the region that it heads included.
    After(usize),
    /// In front of the body where the ways meet.
    Meeting,
}

/// One further value of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// The value.
    pub value: Sym,
    /// Where it takes its place.
    pub chosen: Literal,
    /// How.
    pub how: How,
    /// Where.
    pub place: Place,
    exact: bool,
    whole: bool,
    from: Source,
}

/// What becomes of one parameter where ways meet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Merge {
    /// The body in front of which ways meet; the number of bodies for the
    /// join.
    pub at: usize,
    /// What is made.
    pub target: Sym,
    /// The first value.
    pub first: Sym,
    /// The others.
    pub steps: Vec<Step>,
}

/// What is known of a body.
#[derive(Clone, Debug, Default)]
pub struct BodyStudy {
    /// Whether something in it needs its full predicate.
    pub guarded: bool,
    /// Cost per issue of its own items, by gate.
    pub units: Vec<(u32, Cost)>,
    /// Cost per issue of what stands in front of it.
    pub in_front: Cost,
    /// Whether it may be skipped.
    pub skippable: bool,
    /// Regions inside.
    pub nested: Vec<RegionId>,
    /// How many items it has.
    pub items: u32,
    /// The gates in front of it and behind it.
    pub gate: u32,
    /// See there.
    pub end: u32,
}

/// What is known of a region inside the root.
#[derive(Clone, Debug, Default)]
pub struct RegionStudy {
    /// Whether the lanes of its head are all that are there.
    pub all: bool,
    /// Whether they are all or none, as is proven.
    pub uniform: bool,
    /// The region around it and the body there.
    pub parent: Option<(RegionId, usize)>,
    /// The parameters where ways meet.
    pub merges: Vec<Merge>,
    /// The bodies.
    pub bodies: Vec<BodyStudy>,
    /// The gate at its end.
    pub end: u32,
    /// Cost per issue of what stands at its end.
    pub at_end: Cost,
    /// The operations that are needed in any case.
    pub computed: Vec<bool>,
    /// How many items it has.
    pub items: u32,
    /// The steps that stand at the end of each own block: merge and step.
    pub after: HashMap<usize, Vec<(u32, u32)>>,
    /// The merges in front of each body.
    pub meeting: HashMap<usize, Vec<u32>>,
    /// What both sides are where neither is skipped, if that merges anything.
    pub meld: Option<Box<Meld>>,
}

/// The study of a root.
#[derive(Clone, Debug)]
pub struct Study {
    /// The region that becomes straight.
    pub root: RegionId,
    /// It and the regions inside.
    pub regions: HashMap<RegionId, RegionStudy>,
    /// Guards other than an instruction's own.
    pub shields: HashMap<Inst, Shield>,
    /// The `else` values that definitions take.
    pub otherwise: HashMap<Inst, Sym>,
    /// Parameters that are just names.
    pub names: HashMap<Sym, Sym>,
    /// Parameters with uses outside.
    pub escaping: Vec<Value>,
    /// The gates by number.
    pub gates: Vec<Gate>,
}

impl Study {
    /// What a symbol stands for, names resolved.
    pub fn resolve(&self, sym: Sym) -> Sym {
        resolve(&self.names, sym)
    }

    /// A region that is inside.
    pub fn region(&self, id: RegionId) -> &RegionStudy {
        &self.regions[&id]
    }
}

fn resolve(names: &HashMap<Sym, Sym>, mut sym: Sym) -> Sym {
    while let Some(&next) = names.get(&sym) {
        sym = next;
    }
    sym
}
