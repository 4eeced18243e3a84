//! The reports as plain data: what JSON holds and what texts are made of.
//!
//! Field names and meanings are stable within one [`VERSION`]; fields may be
//! added. Costs are JSON numbers of issues. Nothing is computed here but
//! ratios: these structures state what was decided and counted.

use serde::Serialize;
use warpfold_machine::{Cost, Machine, Sourced};

pub use super::figure::{Figure, Named};

/// The version of the JSON format.
pub const VERSION: u32 = 1;

/// A report: what it is about, and the parts that its command has.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Document {
    /// The version of the format.
    pub version: u32,
    /// The command: `run`, `explain`, `opt`, `exec` or `uniformity`.
    pub command: &'static str,
    /// The input, as the caller named it.
    pub file: String,
    /// The kernel.
    pub function: String,
    /// How lanes are scheduled: `stack` or `its`.
    pub mode: &'static str,
    /// The machine that costs are for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineDoc>,
    /// The launch; for what does not execute, what is known of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub launch: Option<LaunchDoc>,
    /// What was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings: Option<SettingsDoc>,
    /// Whether the versions of the kernel do the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sameness: Option<SamenessDoc>,
    /// One entry per CLIF branch, in the order of the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branches: Option<Vec<BranchDoc>>,
    /// Whether the text shows the arithmetic behind each price.
    #[serde(skip)]
    pub arithmetic: bool,
    /// Conditional branches of functions that the converted kernel calls. They
    /// stay as they are: what is converted is the kernel.
    #[serde(skip_serializing_if = "is_zero")]
    pub branches_called: u64,
    /// Predicted and measured totals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<CostDoc>,
    /// Counters of each version that ran.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<RunDoc>,
    /// The kernel at each stage of the road, the last one converted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageDoc>,
    /// The converted code: IR text under the lines that state its launch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// The kernel at one stage of the road.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct StageDoc {
    /// `written`, `before`, `canonical` or `converted`.
    pub name: &'static str,
    /// The passes that led here from the stage before, in order; a group that
    /// still changes something runs again.
    pub passes: Vec<&'static str>,
    /// Blocks.
    pub blocks: u64,
    /// Instructions, constants and terminators included.
    pub instructions: u64,
    /// Conditional branches.
    pub branches: u64,
}

impl Document {
    /// Leaves only the branches on `line`, or of the instruction number `inst`,
    /// and shows the arithmetic behind their prices. True if there are any.
    pub fn only(&mut self, line: Option<u32>, inst: Option<u32>) -> bool {
        let Some(branches) = &mut self.branches else {
            return false;
        };
        branches.retain(|b| line.is_some() && b.origin.line == line || inst == Some(b.origin.inst));
        self.arithmetic = true;
        !branches.is_empty()
    }
}

/// A machine's part in a report.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct MachineDoc {
    /// Name.
    pub name: String,
    /// Overhead of a branch that is proven uniform.
    pub b_proven: Cost,
    /// Overhead of any other branch when the warp agrees.
    pub b_agree: Cost,
    /// Overhead of a branch that splits the warp.
    pub b_split: Cost,
}

/// What `machines` lists.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct MachinesDoc {
    /// The version of the format.
    pub version: u32,
    /// `machines`.
    pub command: &'static str,
    /// In the order of the list.
    pub machines: Vec<ListedMachineDoc>,
}

/// A machine of the list.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ListedMachineDoc {
    /// What reports say of it.
    #[serde(flatten)]
    pub machine: MachineDoc,
    /// One sentence about it.
    pub description: String,
    /// The target.
    pub triple: String,
    /// Added to the issue of a guarded instruction.
    pub guard: Cost,
    /// All its numbers.
    pub sources: Vec<SourceDoc>,
}

/// A number with its source.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SourceDoc {
    /// Its place in the machine's TOML.
    pub name: String,
    /// The number as text.
    pub value: String,
    /// Where it comes from.
    pub source: String,
}

impl MachinesDoc {
    pub(super) fn new<'a>(machines: impl IntoIterator<Item = &'a Machine>) -> Self {
        let listed = |m: &Machine| ListedMachineDoc {
            machine: super::build::machine_doc(m),
            description: m.description.clone(),
            triple: m.triple.to_string(),
            guard: m.guard,
            sources: m.sources.iter().map(source).collect(),
        };
        Self {
            version: VERSION,
            command: "machines",
            machines: machines.into_iter().map(listed).collect(),
        }
    }
}

fn source(s: &Sourced) -> SourceDoc {
    SourceDoc {
        name: s.name.clone(),
        value: s.value.clone(),
        source: s.source.clone(),
    }
}

/// A launch's part in a report.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LaunchDoc {
    /// Blocks in x, y and z, where known.
    pub grid: Option<[u32; 3]>,
    /// Threads of a block in x, y and z, where known.
    pub block: Option<[u32; 3]>,
}

impl LaunchDoc {
    /// Threads of the grid, where known.
    pub fn threads(&self) -> Option<u64> {
        Some(volume(self.grid?) * volume(self.block?))
    }

    /// Warps of the grid, where known.
    pub fn warps(&self) -> Option<u64> {
        Some(volume(self.grid?) * volume(self.block?).div_ceil(32))
    }
}

fn volume(sizes: [u32; 3]) -> u64 {
    sizes
        .iter()
        .fold(1, |p: u64, &n| p.saturating_mul(n.into()))
}

/// What was asked for.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SettingsDoc {
    /// `default` or `cfg`.
    pub joins: &'static str,
    /// Who decided.
    pub policy: String,
    /// The form that overrode it.
    pub force: Option<&'static str>,
    /// Whether equal instructions of both sides could be merged.
    pub merge: bool,
    /// Whether equal loads and stores of both sides were made once before.
    pub merge_accesses: bool,
    /// Whether clean-up followed conversion.
    pub cleanup: bool,
    /// Whether decisions rest on counts of a run.
    pub profile: bool,
    /// Whether these counts come from elsewhere, of other launches perhaps.
    pub foreign_profile: bool,
    /// What was assumed of conditions that nothing is known of, where counts
    /// are no run's.
    pub prior: Option<PriorDoc>,
}

/// A prior.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PriorDoc {
    /// The probability that a lane is true.
    pub p: f64,
    /// The correlation of the lanes of a warp.
    pub rho: f64,
    /// Both as text.
    #[serde(skip)]
    pub text: String,
}

/// The verdict on before and after.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SamenessDoc {
    /// `same`, `different` or `unfinished`.
    pub verdict: &'static str,
    /// What was compared, or why it could not be, or the first difference.
    pub detail: String,
}

/// A place in the source.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct OriginDoc {
    /// CLIF instruction number.
    pub inst: u32,
    /// Line, where there is text.
    pub line: Option<u32>,
}

/// A call on the way to inlined code.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct CallStepDoc {
    /// The function called.
    pub function: String,
    /// The line of the call, where there is text.
    pub line: Option<u32>,
}

/// One branch.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct BranchDoc {
    /// Where it stands.
    pub origin: OriginDoc,
    /// `brif` or `br_table`.
    pub opcode: &'static str,
    /// Of a branch that came in with a callee: the calls that led to it, the
    /// outermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallStepDoc>,
    /// Its block in the canonical function.
    pub block: Option<String>,
    /// What it became: `folded`, `exit`, `trap`, `branch`, `select`,
    /// `straight`, `skip`.
    pub outcome: String,
    /// Why, where no price says so.
    pub reason: Option<String>,
    /// The branch with whose region it was decided.
    pub head: Option<OriginDoc>,
    /// Its region's shape.
    pub shape: Option<String>,
    /// Where its region ends.
    pub join: Option<String>,
    /// The scope at which its condition is uniform.
    pub scope: Option<String>,
    /// Why it is not uniform.
    pub divergence: Option<String>,
    /// The warp's view of it.
    pub counts: Option<CountsDoc>,
    /// What forbids straight code.
    pub blocker: Option<String>,
    /// Every form and knob: legal, or what forbids it.
    pub legality: Vec<LegalityDoc>,
    /// Prices of the legal forms.
    pub estimates: Vec<EstimateDoc>,
    /// What straight code would consist of.
    pub straight: Option<StraightDoc>,
    /// How much dearer the best rejected form is.
    pub margin: Option<Cost>,
    /// The overhead per execution at which branch and straight cost the same;
    /// negative, and null in JSON, where straight is cheaper at any.
    #[serde(serialize_with = "overhead")]
    pub break_even_b: Option<Cost>,
    /// Of single regions: the other values at which the decision would turn.
    pub break_even: Option<BreakEvenDoc>,
    /// Who had the last word: `policy`, `force`, `hint`, or `nobody` where there
    /// was no choice.
    pub by: &'static str,
    /// The form that overrode whoever decided.
    pub forced: Option<&'static str>,
    /// What its author asked for.
    pub hint: Option<HintDoc>,
    /// Predicted cost of what belongs to it.
    pub predicted: Option<Cost>,
    /// The same, measured.
    pub measured: Option<Cost>,
}

/// Whether a form or knob is legal.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LegalityDoc {
    /// Its name.
    pub form: &'static str,
    /// Whether it is.
    pub legal: bool,
    /// The rule that forbids it.
    pub blocker: Option<&'static str>,
    /// The same in words, with the instruction or block.
    pub why: Option<String>,
}

/// Where the decision on a single region would turn.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct BreakEvenDoc {
    /// What a pass of the then side costs, its jump included.
    pub then_cost: Option<Cost>,
    /// What it would have to cost.
    pub then_even: Option<Cost>,
    /// The same of the else side.
    pub else_cost: Option<Cost>,
    /// What it would have to cost.
    pub else_even: Option<Cost>,
    /// The least probability of a lane at which the decision is another than at
    /// 0, for a full warp with the prior's correlation.
    pub lane_true: Option<f64>,
    /// The same as text.
    #[serde(skip)]
    pub lane_true_text: Option<String>,
}

/// A hint and what became of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct HintDoc {
    /// `flatten` or `keep`.
    pub hint: &'static str,
    /// Whether it was followed.
    pub honoured: bool,
    /// The rule that forbids it, if one does.
    pub blocker: Option<&'static str>,
    /// Why it was not.
    pub why: Option<String>,
}

/// `None` for what no overhead can be.
fn overhead<S: serde::Serializer>(b: &Option<Cost>, s: S) -> Result<S::Ok, S::Error> {
    b.filter(|b| *b >= Cost::ZERO).serialize(s)
}

/// Counts of a branch.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CountsDoc {
    /// Executions by a warp.
    pub executions: u64,
    /// With any lane true.
    pub any_true: u64,
    /// With any lane false.
    pub any_false: u64,
    /// With lanes going to different blocks.
    pub splits: u64,
    /// Lanes that took the first edge, of those that executed it, in all
    /// executions; null where nobody counted.
    pub lanes_true: Option<u64>,
    /// Lanes that executed it, in all executions.
    pub lanes: Option<u64>,
    /// Where the numbers come from.
    pub source: String,
}

/// The price of a form.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct EstimateDoc {
    /// The form.
    pub form: &'static str,
    /// Its price.
    pub total: Cost,
    /// What the price is made of.
    pub components: Vec<ComponentDoc>,
}

/// A part of a price.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ComponentDoc {
    /// What it pays for.
    pub name: &'static str,
    /// Issues paid for.
    pub issues: u64,
    /// Their cost.
    pub cost: Cost,
    /// What that is the sum of.
    pub lines: Vec<LineDoc>,
}

/// A line of the arithmetic: `count · times · unit = cost`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LineDoc {
    /// What is paid for.
    pub what: String,
    /// How many of them stand in the code.
    pub count: u32,
    /// How often each is paid for.
    pub times: u64,
    /// What it costs each time.
    pub unit: Cost,
    /// The product.
    pub cost: Cost,
}

/// What straight code consists of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct StraightDoc {
    /// Instructions of the sides.
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

/// Predicted and measured totals.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CostDoc {
    /// Predicted for the converted function.
    pub predicted: Option<Cost>,
    /// Predicted with every branch kept.
    pub predicted_kept: Option<Cost>,
    /// Measured, of the converted function.
    pub after: Option<Cost>,
    /// Measured, of the canonical function.
    pub kept: Option<Cost>,
    /// Measured, of the function as written.
    pub before: Option<Cost>,
    /// Measured in the converted function, of what belongs to no branch.
    pub outside: Option<Cost>,
    /// What clean-up took away after it was priced.
    pub removed: Vec<RemovedDoc>,
}

/// An instruction that clean-up took away.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RemovedDoc {
    /// Its name.
    pub inst: String,
    /// Its text.
    pub text: String,
    /// What the prediction charged for it.
    pub predicted: Cost,
}

/// One version's execution.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RunDoc {
    /// `before`, `kept`, `after`, or `exec` where there is only one.
    pub version: &'static str,
    /// How it ended.
    pub ending: String,
    /// Lanes that trapped, by kind and place.
    pub traps: Vec<TrapDoc>,
    /// Counters by name, in a fixed order.
    pub counters: Named,
    /// Per conditional branch of this version.
    pub branches: Vec<BranchCountersDoc>,
    /// Cycles by the timing model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timing: Option<TimingDoc>,
    /// How much was checked while it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked: Option<CheckedDoc>,
    /// Lanes × issues, by pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Vec<PassDoc>>,
}

/// How much was checked while a version ran; nothing of it was wrong.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CheckedDoc {
    /// Claims about values, each time they were compared with the lanes of a warp.
    pub claims: u64,
    /// Comparisons of what these have in common among warps.
    pub among_warps: u64,
    /// Claims about branches and blocks.
    pub control: u64,
    /// Uses that must not be poison.
    pub poison: u64,
    /// Bytes accessed that were compared with earlier accesses.
    pub bytes: u64,
    /// What was not compared because too much was kept already.
    pub unrecorded: u64,
}

/// What the timing model says of a run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TimingDoc {
    /// Schedulers of the multiprocessor.
    pub schedulers: u32,
    /// Warps it has room for.
    pub resident_warps: u32,
    /// Most blocks that were resident at once.
    pub resident_blocks: u32,
    /// Cycles before the first issue.
    pub launch: u64,
    /// Cycles and what was made of them, by name, in a fixed order.
    #[serde(flatten)]
    pub figures: Named,
    /// Cost classes that issued and whose latency the machine does not state.
    pub assumed: Vec<&'static str>,
}

/// Lanes that trapped alike.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct TrapDoc {
    /// CLIF's name of the trap code.
    pub kind: String,
    /// Line, where there is text.
    pub line: Option<u32>,
    /// The instruction or terminator.
    pub place: String,
    /// How many lanes.
    pub lanes: u64,
    /// The first of them: linear block and thread.
    pub first: [u64; 2],
}

/// Counters of one branch of one version.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct BranchCountersDoc {
    /// Where it came from.
    pub origin: Option<OriginDoc>,
    /// The block that it ends.
    pub block: String,
    /// Executions.
    pub executions: u64,
    /// By edge: executions in which any lane took it.
    pub taken: Vec<u64>,
    /// Executions in which lanes went to different blocks.
    pub splits: u64,
}

/// A group of lanes going through a block.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct PassDoc {
    /// Linear block of the grid.
    pub grid_block: u64,
    /// Warp in its block.
    pub warp: u32,
    /// The block.
    pub block: String,
    /// The lanes, as a hexadecimal mask.
    pub mask: String,
    /// The mask as a number.
    #[serde(skip)]
    pub bits: u32,
    /// Issues.
    pub issues: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warps_count_partial_ones() {
        let launch = LaunchDoc {
            grid: Some([2, 1, 1]),
            block: Some([33, 2, 1]),
        };
        assert_eq!(launch.threads(), Some(132));
        assert_eq!(launch.warps(), Some(6));
    }
}
