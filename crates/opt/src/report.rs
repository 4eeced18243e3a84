//! What if-conversion decided and why, as data.
//!
//! One [`Decision`] for every `brif` and `br_table` of the CLIF function,
//! converted or not. The report states what was decided and the numbers it was
//! decided by; rendering it never runs the model again. Costs are totals over
//! the counts they rest on: a whole launch with a profile, and
//! [`Counts::executions`] passes of the branch without one.

use std::fmt;

use warpfold_analysis::uniformity::{Scope, Trail};
use warpfold_ir::{Block, CostClass, Hint, Inst, Origin};
use warpfold_machine::Cost;

use crate::ifconv::legality::Blocker;
use crate::log::CallStep;
use crate::prior::Probability;

pub use crate::turn::Turn;

/// How a region is executed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Form {
    /// The branch stays.
    Branch,
    /// A guarded exit or trap in its place.
    Exit,
    /// Straight-line code, parts of which are jumped over when no lane is in
    /// them.
    Skip,
    /// Straight-line code in its place: each instruction bare where it is safe
    /// to speculate, guarded otherwise.
    Straight,
}

impl Form {
    /// The name used in text.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Branch => "branch",
            Self::Exit => "exit",
            Self::Skip => "skip",
            Self::Straight => "straight",
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A knob that overrides cost, never legality.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Force {
    /// Every branch stays.
    Branch,
    /// Straight wherever legal.
    Straight,
    /// Straight with every instruction bare, where all are safe.
    Select,
    /// Straight with every instruction of the arms guarded.
    Predicate,
    /// Straight with everything behind jumps that can be skipped.
    Skip,
}

impl Force {
    /// All knobs, in the order that help texts list them.
    pub const ALL: [Self; 5] = [
        Self::Branch,
        Self::Straight,
        Self::Select,
        Self::Predicate,
        Self::Skip,
    ];

    /// The name used on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Branch => "branch",
            Self::Straight => "straight",
            Self::Select => "select",
            Self::Predicate => "predicate",
            Self::Skip => "skip",
        }
    }

    /// What it does, one sentence.
    pub const fn doc(self) -> &'static str {
        match self {
            Self::Branch => "Every branch stays.",
            Self::Straight => "Straight wherever legal.",
            Self::Select => "Straight with every instruction bare, where all are safe.",
            Self::Predicate => "Straight with every instruction of the sides guarded.",
            Self::Skip => "Straight with everything behind a jump that can be skipped.",
        }
    }
}

impl fmt::Display for Force {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for Force {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|f| f.name() == s)
            .ok_or_else(|| {
                let names: Vec<_> = Self::ALL.iter().map(|f| f.name()).collect();
                format!("unknown form `{s}`; expected one of {}", names.join(", "))
            })
    }
}

/// Where the counts of a branch came from, best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CountSource {
    /// Measured over the whole launch.
    Profile,
    /// The mask of the condition is known before anything runs.
    Mask,
    /// Uniform: all lanes agree, either way equally likely.
    Uniform,
    /// At most one warp of a row can split.
    TailGuard,
    /// The stated prior.
    Prior,
}

impl fmt::Display for CountSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Profile => "profile",
            Self::Mask => "mask",
            Self::Uniform => "uniform",
            Self::TailGuard => "tail guard",
            Self::Prior => "prior",
        })
    }
}

/// The warp's view of a branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counts {
    /// Times a warp executed it.
    pub executions: u64,
    /// Of these, any lane true (for a switch: on its most taken entry).
    pub any_true: u64,
    /// Of these, any lane false (for a switch: any lane on the default).
    pub any_false: u64,
    /// Of these, lanes went to different blocks.
    pub splits: u64,
    /// Lanes that were true (for a switch: on its first entry), and all that
    /// executed it, summed over executions; where that was counted or assumed.
    pub lanes: Option<(u64, u64)>,
    /// Where the numbers came from.
    pub source: CountSource,
}

/// One part of an estimate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Component {
    /// What it pays for: `br`, `then`, `else`, `overhead`, `nested`,
    /// `selects`, `predicates`, `votes`, `jump`.
    pub name: &'static str,
    /// Issues, where issues are what is paid for.
    pub issues: u64,
    /// Their cost.
    pub cost: Cost,
    /// What that is the sum of.
    pub lines: Vec<Line>,
}

/// A line of the arithmetic behind a price: `count · times · unit = cost`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Line {
    /// What is paid for.
    pub charge: Charge,
    /// How many of them stand in the code.
    pub count: u32,
    /// How often each is paid for.
    pub times: u64,
    /// What it costs each time.
    pub unit: Cost,
    /// The product.
    pub cost: Cost,
}

/// What a line of the arithmetic is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Charge {
    /// The issue of an instruction or terminator.
    Issue {
        /// Its cost class.
        class: CostClass,
        /// Whether it is guarded.
        guarded: bool,
    },
    /// The overhead of a branch that is provably uniform.
    Proven,
    /// Of another, where the warp agrees.
    Agree,
    /// Where the warp splits.
    Split,
    /// A nested region at its best.
    Region {
        /// Its branch.
        head: Origin,
        /// The block that its branch ends.
        block: Block,
        /// Its form.
        form: Form,
    },
}

impl Charge {
    /// An issue without a guard.
    pub const fn issue(class: CostClass) -> Self {
        Self::Issue {
            class,
            guarded: false,
        }
    }
}

/// `alu`, `alu guarded`, `b where the warp splits`.
impl fmt::Display for Charge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Issue { class, guarded } => {
                write!(f, "{class}{}", if *guarded { " guarded" } else { "" })
            }
            Self::Proven => f.write_str("b, provably uniform"),
            Self::Agree => f.write_str("b where the warp agrees"),
            Self::Split => f.write_str("b where the warp splits"),
            Self::Region { head, form, .. } => match head.line {
                0 => write!(f, "the region of inst{} as {form}", head.inst),
                line => write!(f, "the region of line {line} as {form}"),
            },
        }
    }
}

/// The price of one form of a region, its nested regions at their best.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Estimate {
    /// The form.
    pub form: Form,
    /// What it is made of.
    pub components: Vec<Component>,
    /// The sum.
    pub total: Cost,
}

/// Everything about a branch whose region was priced.
#[derive(Clone, PartialEq, Debug)]
pub struct Priced {
    /// The region's shape, e.g. `triangle`.
    pub shape: &'static str,
    /// Where the lanes meet again.
    pub join: Block,
    /// What forbids straight code, if anything.
    pub straight: Result<(), Blocker>,
    /// The price of each legal form.
    pub estimates: Vec<Estimate>,
    /// How much dearer the best rejected form is; negative under a knob that
    /// overrode cost. `None` where only one form is legal.
    pub margin: Option<Cost>,
    /// Where branch and straight code cost the same.
    pub break_even: BreakEven,
    /// Every form and knob: legal, or what forbids it.
    pub legality: Vec<Legality>,
    /// Guards, selects and predicate operations that the chosen form emits; of
    /// a branch, the straight form.
    pub straight_shape: Option<StraightShape>,
}

/// Whether a region may have a form, or be converted under a knob.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Legality {
    /// The form's or knob's name.
    pub form: &'static str,
    /// What forbids it; `None` if it is legal.
    pub refused: Option<Refusal>,
}

/// The values at which branch and straight code cost the same, each with all
/// else as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BreakEven {
    /// The branch overhead per execution, nested regions unchanged; negative
    /// where straight code is cheaper whatever a branch costs on top.
    pub b: Option<Cost>,
    /// What a pass of each side costs, its jump included; of single regions, of
    /// sides that are there.
    pub lengths: [Option<Cost>; 2],
    /// The same of the then side at which the decision would turn; `None` if
    /// no length makes a difference, and for what is no single region.
    pub then_length: Option<Cost>,
    /// Of the else side.
    pub else_length: Option<Cost>,
    /// What the probability of a lane is searched among; `None` for what is no
    /// single region.
    pub turn: Option<Turn>,
}

impl BreakEven {
    /// The least probability of a lane, for a full warp with the prior's
    /// correlation, at which the decision is another than at 0; `None` if it is
    /// the same for all.
    pub fn lane_true(&self) -> Option<Probability> {
        self.turn.as_ref()?.lane_true()
    }
}

/// Who had the last word on a branch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum By {
    /// No other form was legal, or there was nothing to decide.
    Nobody,
    /// The policy, which for `cost` is the model.
    Policy,
    /// A knob.
    Force,
    /// The author's hint.
    Hint,
}

impl By {
    /// The name used in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nobody => "nobody",
            Self::Policy => "policy",
            Self::Force => "force",
            Self::Hint => "hint",
        }
    }
}

/// What a straight plan emits beside the instructions of the sides.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StraightShape {
    /// Instructions of the sides, constants not counted.
    pub instructions: u32,
    /// How many of them are guarded.
    pub guarded: u32,
    /// How many of them stand for an instruction of each side.
    pub merged: u32,
    /// Selects added.
    pub selects: u32,
    /// Predicate operations added.
    pub predicates: u32,
    /// Returns and traps of the sides that became guarded.
    pub exits: u32,
    /// Parts behind a jump that is taken when no lane is in them.
    pub skips: u32,
}

impl StraightShape {
    /// Whether nothing needed a guard.
    pub fn is_select(self) -> bool {
        self.guarded == 0 && self.exits == 0
    }
}

/// What became of a branch.
#[derive(Clone, PartialEq, Debug)]
pub enum Verdict {
    /// It went away before anything was priced, for this reason.
    Folded(String),
    /// A side that only returns or traps became a guarded exit or trap.
    Exit {
        /// The instruction in the canonical function.
        inst: Inst,
        /// `exit` or `trap`.
        kind: &'static str,
    },
    /// Decided together with the region that contains it.
    WithRegion {
        /// The branch that heads that region.
        head: Origin,
        /// What that region became.
        form: Form,
    },
    /// It heads no region and lies in none: the reason.
    NoRegion(String),
    /// Its region was priced and got this form.
    Priced {
        /// The chosen form.
        form: Form,
        /// The numbers.
        details: Box<Priced>,
    },
}

/// What was decided about one branch of the CLIF function.
#[derive(Clone, PartialEq, Debug)]
pub struct Decision {
    /// The CLIF branch; of an inlined copy, the copy's own.
    pub origin: Origin,
    /// `brif` or `br_table`.
    pub opcode: &'static str,
    /// Of a copy: the calls by which it came in, the outermost first.
    pub path: Vec<CallStep>,
    /// Its block in the canonical function, unless it was folded.
    pub block: Option<Block>,
    /// What became of it.
    pub verdict: Verdict,
    /// Scope at which its condition is uniform, unless it was folded.
    pub scope: Option<Scope>,
    /// Why the condition is not uniform, as a chain back to the source.
    pub divergence: Option<Trail>,
    /// The counts it was decided by.
    pub counts: Option<Counts>,
    /// The predicted cost of what belongs to this branch in the chosen
    /// assignment: its own issues and overhead, nested branches not included.
    pub predicted: Option<Cost>,
    /// Who had the last word.
    pub by: By,
    /// The knob that overrode whoever decides, if one did.
    pub forced: Option<Force>,
    /// What its author asked for, and whether that was done.
    pub hint: Option<Hinted>,
}

/// A hint and what became of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hinted {
    /// What was asked for.
    pub hint: Hint,
    /// Why it was not done; `None` if it was.
    pub refused: Option<Refusal>,
}

/// Why a hint was not followed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// What forbids it, if legality does.
    pub blocker: Option<Blocker>,
    /// The reason, one line.
    pub why: String,
}

impl Decision {
    /// The form it ended in; `None` if it was folded away.
    pub fn form(&self) -> Option<Form> {
        match &self.verdict {
            Verdict::Folded(_) => None,
            Verdict::Exit { .. } => Some(Form::Exit),
            Verdict::WithRegion { form, .. } | Verdict::Priced { form, .. } => Some(*form),
            Verdict::NoRegion(_) => Some(Form::Branch),
        }
    }

    /// The name of the outcome: `folded`, `exit`, `trap`, `branch`, `select`
    /// (straight with nothing guarded), `straight` or `skip`.
    pub fn outcome(&self) -> &'static str {
        match &self.verdict {
            Verdict::Folded(_) => "folded",
            Verdict::Exit { kind, .. } => kind,
            Verdict::NoRegion(_) => "branch",
            Verdict::WithRegion { form, .. } => form.name(),
            Verdict::Priced { form, details } => match (form, details.straight_shape) {
                (Form::Straight, Some(s)) if s.is_select() => "select",
                _ => form.name(),
            },
        }
    }
}

/// An instruction that the final clean-up took away after it was priced.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Removed {
    /// Its id in the converted function before clean-up.
    pub inst: Inst,
    /// Its text.
    pub text: String,
    /// What the prediction had charged for it.
    pub predicted: Cost,
}

/// The decisions of one function.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Report {
    /// The function's name.
    pub function: String,
    /// The machine it was decided for.
    pub machine: String,
    /// The name of who decided.
    pub policy: String,
    /// One entry per CLIF branch, in CLIF layout order.
    pub decisions: Vec<Decision>,
    /// Predicted cost of the whole function with the chosen assignment; only
    /// with a profile, whose launch it is for.
    pub predicted: Option<Cost>,
    /// The same with every branch kept.
    pub predicted_kept: Option<Cost>,
    /// What the final clean-up removed.
    pub removed: Vec<Removed>,
}
