//! Profiles as files: what was counted on one launch decides about another, or
//! on another day.
//!
//! A profile file names no block and no instruction of ours. A branch goes by
//! its origin, and a block by how it is reached: from the entry or along an edge
//! of a branch, by so many jumps. It says of which function it is and of what
//! code: a hash of the canonical function, without what a launch or a comment
//! changes (marks, what varies, lines). So a file fits the kernel that it was
//! taken of, launched in any way, and no other.
//!
//! Whatever does not fit is an error that says what: another function, other
//! code, a branch that is not there or of which nothing is said, counts that no
//! launch can give. Files of several launches add up.
//!
//! The format is described in the book's page on reports.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use warpfold_analysis::{BranchCounts, Profile, SegmentCounts, segments};
use warpfold_ir::{Block, CostClass, Function, Origin};

use crate::error::{Diagnostic, Errors};

/// The version of the format.
pub const PROFILE_VERSION: u32 = 1;

/// The largest count that a file may hold. Prices are sums of products of counts in
/// 64 bits, thousandths of an issue; with larger counts they would reach the end of
/// these and no longer compare.
pub const MAX_COUNT: u64 = 1 << 40;

/// What a profile file holds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileFile {
    /// The version of the format.
    pub version: u32,
    /// The kernel's name.
    pub function: String,
    /// A hash of its canonical code.
    pub code: String,
    /// How many launches were counted.
    pub launches: u64,
    /// Every conditional branch.
    pub branches: Vec<BranchProfile>,
    /// Every block.
    pub blocks: Vec<BlockProfile>,
    /// What executions of a region's head meant for the region's segments.
    pub regions: Vec<RegionProfile>,
    /// What functions did that were called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callees: Option<CalleeProfile>,
}

/// A branch by its origin.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BranchKey {
    /// Its instruction number.
    pub inst: u32,
    /// Its line, for whoever reads the file; 0 without text.
    pub line: u32,
}

/// A block by how it is reached.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockKey {
    /// The branch; none for the kernel's entry.
    pub branch: Option<BranchKey>,
    /// The number of its edge.
    pub edge: u32,
    /// How many jumps follow.
    pub jumps: u32,
}

/// Counts of a branch.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BranchProfile {
    /// The branch.
    pub branch: BranchKey,
    /// Executions by a warp.
    pub executions: u64,
    /// By edge: executions in which any lane took it.
    pub taken: Vec<u64>,
    /// Executions in which lanes went to different blocks.
    pub splits: u64,
    /// By edge: lanes that took it; empty where they were not counted.
    pub lanes: Vec<u64>,
}

/// Counts of a block.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockProfile {
    /// The block.
    pub block: BlockKey,
    /// Passes of each of its segments.
    pub passes: Vec<u64>,
}

/// Counts of a region's inside.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegionProfile {
    /// The branch that heads it.
    pub head: BranchKey,
    /// By segment.
    pub segments: Vec<SegmentProfile>,
}

/// Counts of a segment of a region.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SegmentProfile {
    /// The block.
    pub block: BlockKey,
    /// Which of its segments.
    pub segment: u32,
    /// Executions of the head after which a lane reached it.
    pub reached: u64,
    /// Executions of the head after which a lane was alive where it would start.
    pub alive: u64,
}

/// Counts of what was called.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalleeProfile {
    /// Issues by cost class.
    pub issues: BTreeMap<String, u64>,
    /// Issues of guarded instructions.
    pub guarded: u64,
    /// Executions of branches that were proven uniform.
    pub proven: u64,
    /// Of others, where the warp agreed.
    pub agreed: u64,
    /// Of others, where it split.
    pub split: u64,
}

/// Names of the branches and blocks of a function.
struct Names {
    keys: BTreeMap<Block, BlockKey>,
    blocks: BTreeMap<BlockKey, Block>,
    /// By instruction number: the lines are for readers.
    heads: BTreeMap<u32, Block>,
}

impl Names {
    /// # Errors
    /// A branch whose origin another has, too.
    fn new(func: &Function) -> Result<Self, Origin> {
        let mut names = Self {
            keys: BTreeMap::new(),
            blocks: BTreeMap::new(),
            heads: BTreeMap::new(),
        };
        let mut work: Vec<(Option<BranchKey>, u32, Block)> = Vec::new();
        work.extend(func.entry().map(|entry| (None, 0, entry)));
        let mut next = 0;
        while next < work.len() {
            let (branch, edge, mut b) = work[next];
            next += 1;
            for jumps in 0.. {
                let key = BlockKey {
                    branch,
                    edge,
                    jumps,
                };
                if names.keys.contains_key(&b) {
                    break;
                }
                names.keys.insert(b, key);
                let term = func.term(b);
                if term.is_conditional() {
                    let origin = func.block(b).origin;
                    if names.heads.insert(origin.inst, b).is_some() {
                        return Err(origin);
                    }
                    let targets = (0..).zip(term.targets());
                    work.extend(targets.map(|(i, to)| (Some(branch_key(origin)), i, to.block)));
                }
                match term.targets()[..] {
                    [to] if !term.is_conditional() => b = to.block,
                    _ => break,
                }
            }
        }
        names.blocks = names.keys.iter().map(|(&b, &key)| (bare(key), b)).collect();
        Ok(names)
    }

    fn block(&self, key: BlockKey) -> Option<Block> {
        self.blocks.get(&bare(key)).copied()
    }

    fn head(&self, key: BranchKey) -> Option<Block> {
        self.heads.get(&key.inst).copied()
    }
}

fn branch_key(origin: Origin) -> BranchKey {
    BranchKey {
        inst: origin.inst,
        line: origin.line,
    }
}

/// The key without its line.
fn bare(key: BlockKey) -> BlockKey {
    BlockKey {
        branch: key.branch.map(|b| BranchKey { line: 0, ..b }),
        ..key
    }
}

/// A hash (FNV-1a, 64 bits) of the code of a canonical function, without what a
/// launch or a comment changes.
fn code_of(func: &Function) -> String {
    let mut func = func.clone();
    for param in &mut func.params {
        param.varying = false;
    }
    for b in func.layout.clone() {
        let block = func.block_mut(b);
        block.origin.line = 0;
        if let Some(mark) = block.term.as_mut().and_then(|t| t.mark_mut()) {
            *mark = Default::default();
        }
        for i in func.block(b).insts.clone() {
            func.inst_mut(i).origin.line = 0;
        }
    }
    let bytes = func.to_string();
    let hash = bytes.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, byte| {
        (h ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("fnv1a64:{hash:016x}")
}

impl ProfileFile {
    /// The counts of a canonical function, of so many launches.
    ///
    /// # Errors
    /// If two branches have one origin.
    pub(crate) fn new(func: &Function, profile: &Profile, launches: u64) -> Result<Self, String> {
        let names = Names::new(func).map_err(|origin| {
            format!("a profile cannot tell two branches apart that have the origin {origin}")
        })?;
        let head = |b: Block| branch_key(func.block(b).origin);
        let mut regions: BTreeMap<BranchKey, Vec<SegmentProfile>> = BTreeMap::new();
        for ((at, b, segment), SegmentCounts { reached, alive }) in profile.insides() {
            let Some(&block) = names.keys.get(&b) else {
                continue;
            };
            regions.entry(head(at)).or_default().push(SegmentProfile {
                block,
                segment,
                reached,
                alive,
            });
        }
        for list in regions.values_mut() {
            list.sort_by_key(|s| (s.block, s.segment));
        }
        let mut blocks: Vec<BlockProfile> = names
            .keys
            .iter()
            .map(|(&b, &block)| BlockProfile {
                block,
                passes: (0..)
                    .zip(segments(func, b))
                    .map(|(segment, _)| profile.passes(b, segment))
                    .collect(),
            })
            .collect();
        blocks.sort_by_key(|b| b.block);
        let branches = names.heads.values().map(|&b| {
            let counts = profile.branch(b).cloned().unwrap_or_default();
            let edges = func.term(b).targets().len() as u32;
            BranchProfile {
                branch: head(b),
                executions: counts.executions,
                taken: (0..edges).map(|edge| counts.taken(edge)).collect(),
                splits: counts.splits,
                lanes: counts.lanes.to_vec(),
            }
        });
        let callees = profile.callees();
        let issues = CostClass::ALL.iter().filter_map(|&class| {
            let n = callees.classes[class.index()];
            (n > 0).then(|| (class.to_string(), n))
        });
        let [proven, agreed, split] = callees.branches;
        let callees = CalleeProfile {
            issues: issues.collect(),
            guarded: callees.guarded,
            proven,
            agreed,
            split,
        };
        Ok(Self {
            version: PROFILE_VERSION,
            function: func.name.clone(),
            code: code_of(func),
            launches,
            branches: branches.collect(),
            blocks,
            regions: regions
                .into_iter()
                .map(|(head, segments)| RegionProfile { head, segments })
                .collect(),
            callees: (callees != CalleeProfile::default()).then_some(callees),
        })
    }

    /// Reads a file; `name` is its name in messages.
    ///
    /// # Errors
    /// If it is no profile, or one of another version.
    pub fn parse(text: &str, name: &str) -> Result<Self, Errors> {
        /// What every version has.
        #[derive(Deserialize)]
        struct Head {
            version: u32,
        }
        let complain = |e: serde_json::Error| {
            let text = e.to_string();
            // The place is told apart.
            let what = text.split(" at line ").next().unwrap_or_default();
            Diagnostic::new(name, format!("no profile: {what}"))
                .at(e.line() as u32, e.column() as u32)
        };
        let head: Head = serde_json::from_str(text).map_err(complain)?;
        if head.version != PROFILE_VERSION {
            let message = format!(
                "a profile of version {}; this is for version {PROFILE_VERSION}",
                head.version
            );
            return Err(Diagnostic::new(name, message).into());
        }
        Ok(serde_json::from_str(text).map_err(complain)?)
    }

    /// As JSON, indented, with a line end.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self)
            .expect("profiles have string keys and no failing serialisers");
        text.push('\n');
        text
    }

    /// The counts as those of a canonical function.
    ///
    /// # Errors
    /// Everything that does not fit.
    pub(crate) fn resolve(&self, func: &Function) -> Result<Profile, Vec<String>> {
        if self.function != func.name {
            let message = format!("of %{}, the kernel is %{}", self.function, func.name);
            return Err(vec![message]);
        }
        let code = code_of(func);
        if self.code != code {
            return Err(vec![format!(
                "of other code of %{} ({}, the kernel's is {code}); take it again",
                func.name, self.code
            )]);
        }
        let names = Names::new(func)
            .map_err(|origin| vec![format!("two branches have the origin {origin}")])?;
        let mut fit = Fit {
            func,
            names: &names,
            profile: Profile::new(),
            errors: Vec::new(),
        };
        fit.sizes(self);
        fit.branches(&self.branches);
        fit.blocks(&self.blocks);
        fit.regions(&self.regions);
        fit.callees(self.callees.as_ref());
        // Of counts that are wrong by themselves nothing else follows.
        if fit.errors.is_empty() {
            fit.flow();
        }
        match fit.errors.is_empty() {
            true => Ok(fit.profile),
            false => Err(fit.errors),
        }
    }
}

/// Fits the lists of a file to a function.
struct Fit<'a> {
    func: &'a Function,
    names: &'a Names,
    profile: Profile,
    errors: Vec<String>,
}

impl Fit<'_> {
    fn complain(&mut self, of: BranchKey, what: &str) {
        let BranchKey { inst, line } = of;
        let at = if line == 0 {
            format!("inst{inst}")
        } else {
            format!("inst{inst}, line {line}")
        };
        self.errors.push(format!("the branch at {at}: {what}"));
    }

    /// No count is too large to be priced.
    fn sizes(&mut self, file: &ProfileFile) {
        let what = format!("a count of more than {MAX_COUNT}, too large to be priced");
        for b in &file.branches {
            let lists = b.taken.iter().chain(&b.lanes);
            if lists.chain([&b.executions]).any(|&n| n > MAX_COUNT) {
                self.complain(b.branch, &what);
            }
        }
        for b in &file.blocks {
            if b.passes.iter().any(|&n| n > MAX_COUNT) {
                let text = format!("the block {}: {what}", place(b.block));
                self.errors.push(text);
            }
        }
        if let Some(callees) = &file.callees {
            let counts = [
                callees.guarded,
                callees.proven,
                callees.agreed,
                callees.split,
            ];
            if callees
                .issues
                .values()
                .chain(&counts)
                .any(|&n| n > MAX_COUNT)
            {
                self.errors
                    .push(format!("the functions that were called: {what}"));
            }
        }
    }

    fn branches(&mut self, list: &[BranchProfile]) {
        for b in list {
            let Some(head) = self.names.head(b.branch) else {
                self.complain(b.branch, "the kernel has no such branch");
                continue;
            };
            if self.profile.branch(head).is_some() {
                self.complain(b.branch, "it is listed twice");
                continue;
            }
            let targets = self.func.term(head).targets();
            let one_block = targets.iter().all(|t| t.block == targets[0].block);
            let sum = b.taken.iter().fold(0, |s: u64, &n| s.saturating_add(n));
            let excess = sum.saturating_sub(b.executions);
            let what = if b.taken.len() != targets.len() {
                "not as many edges as it has"
            } else if b.taken.iter().any(|&n| n > b.executions) || sum < b.executions {
                "edges taken do not fit the executions"
            } else if one_block && b.splits != 0
                || !one_block && (b.splits > excess || targets.len() == 2 && b.splits != excess)
                || b.splits > b.executions
            {
                "splits do not fit the edges taken"
            } else if !b.lanes.is_empty()
                && (b.lanes.len() != targets.len()
                    || b.lanes
                        .iter()
                        .zip(&b.taken)
                        .any(|(&lanes, &taken)| lanes < taken || lanes > taken.saturating_mul(32)))
            {
                "lanes do not fit the edges taken"
            } else {
                ""
            };
            if !what.is_empty() {
                self.complain(b.branch, what);
            }
            self.profile.set_branch(
                head,
                BranchCounts {
                    executions: b.executions,
                    taken: b.taken.iter().copied().collect(),
                    splits: b.splits,
                    lanes: b.lanes.iter().copied().collect(),
                },
            );
        }
        for &head in self.names.heads.values() {
            if self.profile.branch(head).is_none() {
                let key = branch_key(self.func.block(head).origin);
                self.complain(key, "nothing is said of it");
            }
        }
    }

    fn blocks(&mut self, list: &[BlockProfile]) {
        let mut listed = BTreeMap::new();
        for entry in list {
            let Some(b) = self.names.block(entry.block) else {
                self.errors
                    .push(format!("the kernel has no block {}", place(entry.block)));
                continue;
            };
            let count = segments(self.func, b).count();
            if listed.insert(b, ()).is_some() {
                let text = format!("the block {} is listed twice", place(entry.block));
                self.errors.push(text);
            } else if entry.passes.len() != count
                || entry.passes.windows(2).any(|pair| pair[1] > pair[0])
            {
                let text = format!(
                    "the block {}: passes do not fit its {count} segments",
                    place(entry.block)
                );
                self.errors.push(text);
            } else {
                for (segment, &n) in (0..).zip(&entry.passes) {
                    self.profile.add_passes(b, segment, n);
                }
            }
        }
        for (b, &key) in &self.names.keys {
            if !listed.contains_key(b) {
                let text = format!("nothing is said of the block {}", place(key));
                self.errors.push(text);
            }
        }
    }

    fn regions(&mut self, list: &[RegionProfile]) {
        for region in list {
            let Some(head) = self.names.head(region.head) else {
                self.complain(region.head, "the kernel has no such branch");
                continue;
            };
            let executions = self.profile.branch(head).map_or(0, |c| c.executions);
            for s in &region.segments {
                let block = self.names.block(s.block).filter(|&b| {
                    usize::try_from(s.segment).is_ok_and(|k| k < segments(self.func, b).count())
                });
                let Some(b) = block else {
                    self.complain(region.head, "a segment inside that is not there");
                    continue;
                };
                if self.profile.inside(head, b, s.segment).is_some() {
                    self.complain(region.head, "a segment inside is listed twice");
                } else if s.reached > s.alive || s.alive > executions {
                    self.complain(region.head, "counts inside do not fit its executions");
                }
                *self.profile.inside_mut(head, b, s.segment) = SegmentCounts {
                    reached: s.reached,
                    alive: s.alive,
                };
            }
        }
    }

    fn callees(&mut self, callees: Option<&CalleeProfile>) {
        let Some(callees) = callees else { return };
        for (name, &n) in &callees.issues {
            let class = CostClass::ALL.iter().find(|c| c.to_string() == *name);
            match class {
                Some(class) => self.profile.callees_mut().classes[class.index()] = n,
                None => self.errors.push(format!("there is no cost class `{name}`")),
            }
        }
        let counts = self.profile.callees_mut();
        counts.guarded = callees.guarded;
        counts.branches = [callees.proven, callees.agreed, callees.split];
    }

    /// What leaves a block has entered it.
    fn flow(&mut self) {
        let func = self.func;
        let mut entering: BTreeMap<Block, u64> = BTreeMap::new();
        let mut unfit = Vec::new();
        for &b in self.names.keys.keys() {
            let term = func.term(b);
            let last = segments(func, b).count().saturating_sub(1) as u32;
            let passes = self.profile.passes(b, last);
            let counts = self.profile.branch(b).cloned().unwrap_or_default();
            if term.is_conditional() && counts.executions > passes {
                unfit.push(branch_key(func.block(b).origin));
            }
            for (edge, to) in (0..).zip(term.targets()) {
                let n = match term.is_conditional() {
                    true => counts.taken(edge),
                    false => passes,
                };
                let sum = entering.entry(to.block).or_default();
                *sum = sum.saturating_add(n);
            }
        }
        for key in unfit {
            self.complain(key, "more executions than passes of its block");
        }
        for (&b, &key) in &self.names.keys {
            let n = entering.get(&b).copied().unwrap_or(0);
            if func.entry() != Some(b) && self.profile.passes(b, 0) > n {
                let text = format!("the block {}: more passes than ways in", place(key));
                self.errors.push(text);
            }
        }
    }
}

fn place(key: BlockKey) -> String {
    let jumps = match key.jumps {
        0 => String::new(),
        n => format!(", {n} jumps on"),
    };
    match key.branch {
        None => format!("at the entry{jumps}"),
        Some(b) => format!("behind edge {} of inst{}{jumps}", key.edge, b.inst),
    }
}
