//! What to run: the grid, the arguments, the memory, and what to record.

use warpfold_analysis::JoinRule;
use warpfold_ir::Function;

use crate::error::{ExecError, LaunchError};
use crate::memory::{MAX_SHARED, Memory};
use crate::timing::TimingModel;

/// Most threads of a block.
pub const MAX_BLOCK_THREADS: u64 = 1024;
/// Most threads of a launch.
pub const MAX_THREADS: u64 = 1 << 27;
/// Most warps of a launch.
pub const MAX_WARPS: u64 = 1 << 22;
/// Most bytes of returned values that are kept.
const MAX_RETURN_BYTES: u64 = 1 << 30;

/// One launch of a kernel.
#[derive(Clone, PartialEq, Debug)]
pub struct Launch {
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Bytes of shared memory of a block.
    pub shared: u32,
    /// One argument for each parameter.
    pub args: Vec<Arg>,
    /// The buffers; the run works on a copy.
    pub memory: Memory,
}

/// The argument for one parameter, as bits; cut to the parameter's width. A
/// `pred` is 0 or 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Arg {
    /// The same in every thread.
    Uniform(u128),
    /// One value per thread of the grid, at
    /// `block_linear * threads_per_block + thread_linear`. Only for a parameter
    /// declared varying, unless all are equal.
    Varying(Vec<u128>),
}

/// How the lanes of a warp are scheduled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Mode {
    /// By a reconvergence stack: lanes that split run side by side, and each side
    /// waits at the join until all have come.
    #[default]
    Stack,
    /// Independent thread scheduling: each lane has a place of its own, waits at
    /// convergence barriers, and gives way where it may wait for another.
    Its,
}

impl Mode {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Stack, Self::Its];

    /// Its name: `stack` or `its`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stack => "stack",
            Self::Its => "its",
        }
    }

    /// The mode of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|m| m.name() == name)
    }
}

impl std::fmt::Display for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// How to run and what to record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExecOptions {
    /// How lanes are scheduled.
    pub mode: Mode,
    /// Where lanes join.
    pub joins: JoinRule,
    /// Most issues of the whole launch; more is
    /// [`ExecError::StepLimit`](crate::ExecError::StepLimit). A stretch of a
    /// block up to the next guarded exit, or to its end, begins only if all of
    /// it fits.
    pub step_limit: u64,
    /// Most frames of a warp, the kernel's included; a lane that calls when
    /// there are so many traps with `stk_ovf`.
    pub call_depth: u32,
    /// Record a [`Timeline`](crate::Timeline).
    pub timeline: bool,
    /// Schedule what runs by this [model of time](crate::timing).
    pub timing: Option<TimingModel>,
    /// Make a [`Profile`](warpfold_analysis::Profile).
    pub profile: bool,
    /// Record every [`Event`](crate::Event) of every thread.
    pub events: bool,
    /// Most timeline records and events together; more is
    /// [`ExecError::RecordLimit`](crate::ExecError::RecordLimit).
    pub record_limit: u64,
}

impl Default for ExecOptions {
    /// Stack mode, default joins, 100 million issues, 1,024 frames, nothing recorded, 16
    /// million records.
    fn default() -> Self {
        Self {
            mode: Mode::Stack,
            joins: JoinRule::Default,
            step_limit: 100_000_000,
            call_depth: 1024,
            timeline: false,
            timing: None,
            profile: false,
            events: false,
            record_limit: 1 << 24,
        }
    }
}

/// The sizes of a launch, checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Dimensions {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Blocks in all.
    pub blocks: u64,
    /// Threads of a block.
    pub threads: u32,
    /// Warps of a block.
    pub warps: u32,
}

impl Launch {
    /// A one-dimensional launch without arguments, shared memory or buffers.
    pub fn linear(blocks: u32, threads: u32) -> Self {
        Self {
            grid: [blocks, 1, 1],
            block: [threads, 1, 1],
            shared: 0,
            args: Vec::new(),
            memory: Memory::new(),
        }
    }

    /// The same with these arguments.
    #[must_use]
    pub fn with_args(mut self, args: Vec<Arg>) -> Self {
        self.args = args;
        self
    }

    /// Threads of the whole grid, if their number is in range.
    pub fn total_threads(&self) -> Option<u64> {
        self.grid
            .iter()
            .chain(&self.block)
            .try_fold(1u64, |n, &d| n.checked_mul(u64::from(d)))
    }

    /// Checks the sizes.
    pub(crate) fn dimensions(&self) -> Result<Dimensions, LaunchError> {
        for (name, dims) in [("grid", self.grid), ("block", self.block)] {
            if let Some(axis) = dims.iter().position(|&d| d == 0) {
                let axis = ["x", "y", "z"][axis];
                return Err(LaunchError::ZeroSize { name, axis });
            }
        }
        let product = |dims: [u32; 3]| {
            dims.iter()
                .fold(1u64, |n, &d| n.saturating_mul(u64::from(d)))
        };
        let threads = product(self.block);
        if threads > MAX_BLOCK_THREADS {
            return Err(LaunchError::BlockTooLarge { threads });
        }
        let blocks = product(self.grid);
        let warps = threads.div_ceil(32);
        let total = blocks.saturating_mul(threads);
        if total > MAX_THREADS || blocks.saturating_mul(warps) > MAX_WARPS {
            return Err(LaunchError::GridTooLarge { threads: total });
        }
        if self.shared > MAX_SHARED {
            return Err(LaunchError::SharedTooLarge { bytes: self.shared });
        }
        Ok(Dimensions {
            grid: self.grid,
            block: self.block,
            blocks,
            threads: threads as u32,
            warps: warps as u32,
        })
    }

    /// Checks everything that can be wrong before the kernel runs.
    pub(crate) fn check(&self, func: &Function) -> Result<Dimensions, ExecError> {
        let dims = self.dimensions()?;
        let total = dims.blocks * u64::from(dims.threads);
        if self.args.len() != func.params.len() {
            return Err(LaunchError::ArgCount {
                expected: func.params.len(),
                got: self.args.len(),
            }
            .into());
        }
        for (index, (arg, param)) in self.args.iter().zip(&func.params).enumerate() {
            let Arg::Varying(values) = arg else { continue };
            if values.len() as u64 != total {
                return Err(LaunchError::ArgLength {
                    index,
                    expected: total,
                    got: values.len() as u64,
                }
                .into());
            }
            let first = values[0] & param.ty.mask();
            if !param.varying && values.iter().any(|x| x & param.ty.mask() != first) {
                return Err(LaunchError::ArgNotUniform { index }.into());
            }
        }
        let kept = total.saturating_mul(func.results.len() as u64 * 16 + 1);
        if !func.results.is_empty() && kept > MAX_RETURN_BYTES {
            return Err(LaunchError::ReturnsTooLarge { bytes: kept }.into());
        }
        Ok(dims)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpfold_ir::{FunctionBuilder, Type};

    fn dims(grid: [u32; 3], block: [u32; 3]) -> Result<(u64, u32, u32), LaunchError> {
        let launch = Launch {
            grid,
            block,
            ..Launch::linear(1, 1)
        };
        launch.dimensions().map(|d| (d.blocks, d.threads, d.warps))
    }

    #[test]
    fn sizes_are_bounded() {
        assert_eq!(dims([2, 3, 1], [8, 5, 1]), Ok((6, 40, 2)));
        assert_eq!(
            dims([1, 0, 1], [1, 1, 1]),
            Err(LaunchError::ZeroSize {
                name: "grid",
                axis: "y"
            })
        );
        assert_eq!(
            dims([1, 1, 1], [32, 32, 2]),
            Err(LaunchError::BlockTooLarge { threads: 2048 })
        );
        assert_eq!(
            dims([1, 1, 1], [u32::MAX; 3]),
            Err(LaunchError::BlockTooLarge { threads: u64::MAX })
        );
        assert_eq!(
            dims([u32::MAX; 3], [1, 1, 1]),
            Err(LaunchError::GridTooLarge { threads: u64::MAX })
        );
        assert_eq!(
            dims([1 << 23, 1, 1], [1, 1, 1]),
            Err(LaunchError::GridTooLarge { threads: 1 << 23 }),
            "too many warps of one thread"
        );
    }

    #[test]
    fn arguments_must_fit_the_parameters() {
        let mut b = FunctionBuilder::new("f");
        b.param(Type::I8, false);
        b.param(Type::I32, true);
        b.ret(&[]);
        let f = b.finish();
        let check = |args: Vec<Arg>| Launch::linear(2, 2).with_args(args).check(&f).err();
        let good = Arg::Varying(vec![1, 2, 3, 4]);
        assert_eq!(check(vec![Arg::Uniform(7), good.clone()]), None);
        assert_eq!(
            check(vec![]),
            Some(
                LaunchError::ArgCount {
                    expected: 2,
                    got: 0
                }
                .into()
            )
        );
        assert_eq!(
            check(vec![Arg::Uniform(1), Arg::Varying(vec![1, 2])]),
            Some(
                LaunchError::ArgLength {
                    index: 1,
                    expected: 4,
                    got: 2
                }
                .into()
            )
        );
        assert_eq!(
            check(vec![good.clone(), good.clone()]),
            Some(LaunchError::ArgNotUniform { index: 0 }.into())
        );
        let same_low_byte = Arg::Varying(vec![0x107, 7, 0x207, 7]);
        assert_eq!(check(vec![same_low_byte, good]), None);
    }
}
