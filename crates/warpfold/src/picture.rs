//! Pictures of a run: what the lanes of a warp did at each issue, and the
//! control-flow graph with what was counted on it.
//!
//! Both show the versions of a kernel that ran, *before* and *after*, on one
//! scale. What is drawn is found first, as plain data ([`Timeline`] and
//! [`Graph`]), then placed as a [`Scene`] of shapes and labels, and only then
//! written as SVG. A timeline is also written as text, a character a lane and
//! issue, which is what tests compare.
//!
//! A picture depends on nothing but the run: the same run gives the same bytes.

mod cfg;
mod collapse;
mod layered;
mod palette;
mod raster;
mod scene;
mod strips;
mod svg;
mod timeline;

use std::collections::BTreeMap;

use warpfold_analysis::JoinRule;
use warpfold_exec as exec;
use warpfold_ir::{Block, Function};

pub use cfg::{Graph, MAX_BLOCKS, TooLarge};
pub use scene::{Bounds, Color, Label, Scene, Shape};
pub use strips::Timeline;

use crate::measure::Outcome;
use crate::road::Lowered;

/// One version of a kernel and its run.
#[derive(Clone, Debug)]
pub struct Version<'a> {
    /// `before`, `after`, or a name of its own.
    pub name: &'static str,
    /// The functions that ran, by position.
    pub functions: Vec<&'a Function>,
    /// Which of them is the kernel.
    pub kernel: usize,
    /// What it did; with a timeline for pictures of time.
    pub run: &'a exec::Outcome,
}

/// What a picture is of.
#[derive(Clone, Debug)]
pub struct Subject<'a> {
    /// What stands above it.
    pub title: String,
    /// The versions, in order.
    pub versions: Vec<Version<'a>>,
    /// Threads of a block of the grid.
    pub block_threads: u64,
    /// Where lanes join.
    pub joins: JoinRule,
}

impl<'a> Subject<'a> {
    /// The function before and after conversion.
    pub fn of_run(outcome: &'a Outcome) -> Self {
        let optimized = outcome.optimized();
        let lowered = optimized.lowered();
        let version = |name, func: &'a Function, run| Version {
            name,
            functions: lowered.linked(func),
            kernel: lowered.kernel(),
            run,
        };
        let before = version("before", optimized.before().func(), outcome.before());
        let after = outcome
            .after()
            .map(|run| version("after", optimized.func(), run));
        Self {
            title: title(optimized.func(), outcome.shape()),
            versions: std::iter::once(before).chain(after).collect(),
            block_threads: volume(outcome.shape().1),
            joins: lowered.options().joins,
        }
    }

    /// One version, run without conversion on blocks of `shape.1` threads.
    pub fn of_execution(
        lowered: &'a Lowered,
        func: &'a Function,
        run: &'a exec::Outcome,
        shape: ([u32; 3], [u32; 3]),
    ) -> Self {
        Self {
            title: title(func, shape),
            versions: vec![Version {
                name: "exec",
                functions: lowered.linked(func),
                kernel: lowered.kernel(),
                run,
            }],
            block_threads: volume(shape.1),
            joins: lowered.options().joins,
        }
    }
}

fn volume(sizes: [u32; 3]) -> u64 {
    sizes.iter().map(|&n| u64::from(n)).product()
}

fn title(func: &Function, (grid, block): ([u32; 3], [u32; 3])) -> String {
    let (blocks, threads) = (volume(grid), volume(block));
    let plural = |n: u64| if n == 1 { "" } else { "s" };
    // `16×8` where there is more than one dimension.
    let sizes = |n: [u32; 3]| match n {
        [_, 1, 1] => String::new(),
        [x, y, 1] => format!(" ({x}×{y})"),
        [x, y, z] => format!(" ({x}×{y}×{z})"),
    };
    format!(
        "%{}: {blocks} block{}{} of {threads} thread{}{}",
        func.name,
        plural(blocks),
        sizes(grid),
        plural(threads),
        sizes(block)
    )
}

/// A block of some function of a version. Blocks that a conversion keeps have
/// the same key in both versions.
type BlockKey = (usize, Block);

/// Blocks in the order in which they were met, with a name and a colour each.
#[derive(Clone, Debug, Default)]
struct Blocks {
    numbers: BTreeMap<BlockKey, usize>,
    names: Vec<String>,
}

impl Blocks {
    /// The number of a block of a version.
    fn number(&mut self, version: &Version<'_>, key: BlockKey) -> usize {
        let next = self.names.len();
        *self.numbers.entry(key).or_insert_with(|| {
            self.names.push(match version.functions.get(key.0) {
                Some(func) if key.0 != version.kernel => format!("%{} {}", func.name, key.1),
                _ => key.1.to_string(),
            });
            next
        })
    }
}
