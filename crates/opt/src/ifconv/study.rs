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

use smallvec::SmallVec;
use warpfold_analysis::regions::RegionId;
use warpfold_ir::entity::EntityRef;
use warpfold_ir::{Inst, Value};
use warpfold_machine::Cost;

use self::meld::Meld;
use super::idiom::Idiom;
use super::logic::{Literal, Ops};
use super::outline::Source;
use super::plan::Gate;
use super::scratch::{Small, Table};

pub use self::walk::{Room, study};

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
    pub steps: SmallVec<[Step; 1]>,
}

/// What is known of a body.
#[derive(Clone, Debug, Default)]
pub struct BodyStudy {
    /// Whether something in it needs its full predicate.
    pub guarded: bool,
    /// Cost per issue of its own items, by gate.
    pub units: SmallVec<[(u32, Cost); 1]>,
    /// Cost per issue of what stands in front of it.
    pub in_front: Cost,
    /// Whether it may be skipped.
    pub skippable: bool,
    /// Regions inside.
    pub nested: SmallVec<[RegionId; 2]>,
    /// How many items it has.
    pub items: u32,
    /// The gates in front of it and behind it.
    pub gate: u32,
    /// See there.
    pub end: u32,
    /// The body that may be skipped and that it is in, itself perhaps.
    scope: usize,
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
    pub merges: SmallVec<[Merge; 1]>,
    /// The bodies.
    pub bodies: SmallVec<[BodyStudy; 2]>,
    /// The gate at its end.
    pub end: u32,
    /// Cost per issue of what stands at its end.
    pub at_end: Cost,
    /// The operations that are needed in any case.
    pub computed: Ops,
    /// How many items it has.
    pub items: u32,
    /// What both sides are where neither is skipped, if that merges anything.
    pub meld: Option<Box<Meld>>,
    /// The steps that stand at the end of own blocks: block, merge and step, in
    /// the order of the blocks.
    pub after: SmallVec<[(usize, u32, u32); 2]>,
    /// When each own block is over, and behind which gate.
    ends: SmallVec<[(u32, u32); 4]>,
}

impl RegionStudy {
    /// The steps that stand at the end of an own block: merge and step.
    pub fn after(&self, own: usize) -> impl Iterator<Item = (u32, u32)> + '_ {
        let from = self.after.partition_point(|&(o, ..)| o < own);
        let here = self.after[from..].iter().take_while(move |a| a.0 == own);
        here.map(|&(_, m, n)| (m, n))
    }

    /// The merges in front of a body.
    pub fn meeting(&self, body: usize) -> std::ops::Range<usize> {
        let place = |at| self.merges.partition_point(|m| m.at < at);
        place(body)..place(body + 1)
    }
}

/// What is known of a root and each region inside. These have the numbers behind
/// the root's.
#[derive(Clone, Debug)]
pub struct Inside<V> {
    root: RegionId,
    slots: Vec<Option<V>>,
}

impl<V> Default for Inside<V> {
    fn default() -> Self {
        Self {
            root: RegionId::new(0),
            slots: Vec::new(),
        }
    }
}

impl<V> Inside<V> {
    pub(super) fn begin(&mut self, root: RegionId) {
        self.root = root;
        self.slots.clear();
    }

    fn at(&self, id: RegionId) -> usize {
        id.index().wrapping_sub(self.root.index())
    }

    /// Of a region; `None` if it is not inside.
    pub fn get(&self, id: RegionId) -> Option<&V> {
        self.slots.get(self.at(id))?.as_ref()
    }

    fn get_mut(&mut self, id: RegionId) -> Option<&mut V> {
        let at = self.at(id);
        self.slots.get_mut(at)?.as_mut()
    }

    fn take(&mut self, id: RegionId) -> Option<V> {
        let at = self.at(id);
        self.slots.get_mut(at)?.take()
    }

    pub(super) fn set(&mut self, id: RegionId, value: V) {
        let at = self.at(id);
        if self.slots.len() <= at {
            self.slots.resize_with(at + 1, || None);
        }
        self.slots[at] = Some(value);
    }
}

/// A map from symbols.
#[derive(Clone, Debug)]
pub struct Symbols<V> {
    values: Table<Value, V>,
    made: Small<Sym, V>,
}

impl<V> Default for Symbols<V> {
    fn default() -> Self {
        Self {
            values: Table::default(),
            made: Small::default(),
        }
    }
}

impl<V> Symbols<V> {
    /// Takes everything out.
    pub fn clear(&mut self) {
        self.values.clear();
        self.made.clear();
    }

    /// What a symbol stands for.
    #[inline]
    pub fn get(&self, sym: &Sym) -> Option<&V> {
        match sym {
            Sym::Value(v) => self.values.get(v),
            _ => self.made.get(sym),
        }
    }

    /// Sets what a symbol stands for.
    #[inline]
    pub fn insert(&mut self, sym: Sym, value: V) {
        match sym {
            Sym::Value(v) => self.values.insert(v, value),
            _ => self.made.insert(sym, value),
        }
    }
}

/// The study of a root.
#[derive(Clone, Debug)]
pub struct Study {
    /// The region that becomes straight.
    pub root: RegionId,
    /// It and the regions inside.
    pub regions: Inside<RegionStudy>,
    /// Guards other than an instruction's own.
    pub shields: Table<Inst, Shield>,
    /// The `else` values that definitions take.
    pub otherwise: Table<Inst, Sym>,
    /// Parameters that are just names.
    pub names: Symbols<Sym>,
    /// Parameters with uses outside.
    pub escaping: Vec<Value>,
    /// The gates by number.
    pub gates: Vec<Gate>,
}

impl Default for Study {
    /// Of no region.
    fn default() -> Self {
        Self {
            root: RegionId::new(0),
            regions: Inside::default(),
            shields: Table::default(),
            otherwise: Table::default(),
            names: Symbols::default(),
            escaping: Vec::new(),
            gates: Vec::new(),
        }
    }
}

impl Study {
    fn begin(&mut self, root: RegionId) {
        self.root = root;
        self.regions.begin(root);
        self.shields.clear();
        self.otherwise.clear();
        self.names.clear();
        self.escaping.clear();
        self.gates.clear();
    }

    /// What a symbol stands for, names resolved.
    #[inline]
    pub fn resolve(&self, sym: Sym) -> Sym {
        resolve(&self.names, sym)
    }

    /// A region that is inside.
    pub fn region(&self, id: RegionId) -> &RegionStudy {
        self.regions
            .get(id)
            .expect("every region inside is studied")
    }
}

#[inline]
fn resolve(names: &Symbols<Sym>, mut sym: Sym) -> Sym {
    while let Some(&next) = names.get(&sym) {
        sym = next;
    }
    sym
}
