//! Why a launch does not end as it should.

use warpfold_ir::{Block, FuncRef, Origin, TrapCode};

use crate::check::CheckError;
use crate::outcome::Site;

/// What is wrong with a launch before it runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LaunchError {
    /// A dimension is zero.
    #[error("{name} size {axis} is 0")]
    ZeroSize {
        /// `grid` or `block`.
        name: &'static str,
        /// `x`, `y` or `z`.
        axis: &'static str,
    },
    /// A block has too many threads.
    #[error(
        "a block of {threads} threads; at most {} are possible",
        crate::MAX_BLOCK_THREADS
    )]
    BlockTooLarge {
        /// Threads asked for; saturated.
        threads: u64,
    },
    /// The grid has too many threads or warps.
    #[error(
        "a launch of {threads} threads; at most {} in at most {} warps are possible",
        crate::MAX_THREADS,
        crate::MAX_WARPS
    )]
    GridTooLarge {
        /// Threads asked for; saturated.
        threads: u64,
    },
    /// Too much shared memory.
    #[error(
        "{bytes} bytes of shared memory; at most {} are possible",
        crate::MAX_SHARED
    )]
    SharedTooLarge {
        /// Bytes asked for.
        bytes: u32,
    },
    /// Wrong number of arguments.
    #[error("the kernel has {expected} parameters, the launch {got} arguments")]
    ArgCount {
        /// Parameters.
        expected: usize,
        /// Arguments.
        got: usize,
    },
    /// A varying argument has the wrong number of values.
    #[error("argument {index} has {got} values; the launch has {expected} threads")]
    ArgLength {
        /// Which argument.
        index: usize,
        /// Threads.
        expected: u64,
        /// Values.
        got: u64,
    },
    /// Different values for a parameter that is declared uniform.
    #[error("argument {index} varies, but the parameter is not declared varying")]
    ArgNotUniform {
        /// Which argument.
        index: usize,
    },
    /// Stack slots too large.
    #[error("the stack slots take more than {} bytes a lane", crate::MAX_LOCAL)]
    LocalTooLarge,
    /// Returned values too many to keep.
    #[error("the returned values would take {bytes} bytes; at most 1 GiB is kept")]
    ReturnsTooLarge {
        /// Bytes; saturated.
        bytes: u64,
    },
    /// A block is too large for the multiprocessor of the model of time.
    #[error("a block of {warps} warps; the timing model has room for {room}")]
    NotResident {
        /// Warps of a block.
        warps: u32,
        /// Warps that are resident at once.
        room: u32,
    },
    /// Registers and stack slots of a block's warps too large.
    #[error(
        "registers and stack slots of a block would take {bytes} bytes; at most 2 GiB are possible"
    )]
    WarpsTooLarge {
        /// Bytes.
        bytes: u64,
    },
    /// A 32-bit pointer cannot reach all buffers.
    #[error("the buffers end at {end:#x}, out of reach of the kernel's 32-bit pointers")]
    AddressSpace {
        /// First address past the buffers.
        end: u64,
    },
    /// The function has too much of something for the executor's compact form.
    #[error("the function has more than {limit} {what}")]
    FunctionTooLarge {
        /// Of what.
        what: &'static str,
        /// How many are possible.
        limit: u64,
    },
    /// A callee is not there, or has another signature.
    #[error("{callee} stands for no function of the launch with the signature declared")]
    Unlinked {
        /// The callee, as the calling function declares it.
        callee: FuncRef,
    },
    /// The function was not verified: it has no entry, or a block without a
    /// terminator.
    #[error("the function is not complete")]
    Incomplete,
}

/// How a run ends without an outcome.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ExecError {
    /// The launch is not possible.
    #[error("launch: {0}")]
    Launch(#[from] LaunchError),
    /// Lanes wait at a barrier that others of their warp cannot reach before
    /// the waiting ones go on.
    #[error(
        "barrier divergence at {site} ({origin}): block {grid_block}, warp {warp}: \
         arrived {arrived:#010x}, missing {missing:#010x}"
    )]
    BarrierDivergence {
        /// Lanes at the barrier; at a `warp_sync` those with the same mask.
        arrived: u32,
        /// Live lanes of the warp elsewhere; at a `warp_sync` those that the mask
        /// names.
        missing: u32,
        /// Where.
        site: Site,
        /// Where in the source.
        origin: Origin,
        /// The function, by its position in the module.
        function: usize,
        /// Linear block number in the grid.
        grid_block: u64,
        /// Warp in the block.
        warp: u32,
    },
    /// Lanes execute a `warp_sync` whose mask does not name them.
    #[error(
        "warp_sync at {site} ({origin}): block {grid_block}, warp {warp}: \
         lanes {lanes:#010x} are not in their own mask, {mask:#010x}"
    )]
    OutsideMask {
        /// Lanes that their masks do not name.
        lanes: u32,
        /// The mask of the lowest of them.
        mask: u32,
        /// Where.
        site: Site,
        /// Where in the source.
        origin: Origin,
        /// The function, by its position in the module.
        function: usize,
        /// Linear block number in the grid.
        grid_block: u64,
        /// Warp in the block.
        warp: u32,
    },
    /// The warp repeats a state it has been in, and nothing can change that.
    #[error("no progress in {block}: block {grid_block}, warp {warp}, lanes {mask:#010x}")]
    NoProgress {
        /// The block they are about to enter.
        block: Block,
        /// Its function, by its position in the module.
        function: usize,
        /// The lanes that go round.
        mask: u32,
        /// Linear block number in the grid.
        grid_block: u64,
        /// Warp in the block.
        warp: u32,
    },
    /// The launch takes too many issues.
    #[error(
        "step limit of {limit} issues reached in {block}: block {grid_block}, warp {warp}, \
         lanes {mask:#010x}"
    )]
    StepLimit {
        /// The limit.
        limit: u64,
        /// Where.
        block: Block,
        /// Its function, by its position in the module.
        function: usize,
        /// Active lanes.
        mask: u32,
        /// Linear block number in the grid.
        grid_block: u64,
        /// Warp in the block.
        warp: u32,
    },
    /// A check that was asked for found something wrong.
    #[error("{0}")]
    Check(Box<CheckError>),
    /// Timeline and events have too many records.
    #[error("more than {limit} timeline records and events")]
    RecordLimit {
        /// The limit.
        limit: u64,
    },
    /// The warps that are resident at once have too long a way for the model
    /// of time.
    #[error("more than {limit} steps of resident warps for the timing model")]
    TimingLimit {
        /// The limit.
        limit: u64,
    },
}

/// The text of a trap code for people.
pub(crate) fn describe(code: TrapCode) -> &'static str {
    match code {
        TrapCode::StackOverflow => "stack overflow",
        TrapCode::HeapOutOfBounds => "access out of bounds",
        TrapCode::HeapMisaligned => "misaligned access",
        TrapCode::IntegerOverflow => "integer overflow",
        TrapCode::IntegerDivisionByZero => "integer division by zero",
        TrapCode::BadConversionToInteger => "bad conversion to integer",
        TrapCode::User(_) => "explicit trap",
    }
}
