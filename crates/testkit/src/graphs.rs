//! A generator of kernels on odd graphs, in the IR itself.
//!
//! Where [`generate`](crate::generate) writes programs as a compiler would see
//! them, this one draws any graph at all: cycles with several entries, loops with
//! several exits and without any, early returns, switches with repeated targets,
//! in any nesting; and fills it with what a uniformity analysis reasons about,
//! and what it could get wrong: indices in one to three dimensions, strides and
//! bit tricks, signed divisions, votes and shuffles in loops, guards with and
//! without `else`, exits, atomics, stack slots. The launch has partial warps and
//! several blocks, and the analysis may be told all of its sizes, some, or none.
//!
//! Like the other one it reads every choice from a string of bytes. By
//! construction each kernel
//!
//! - is valid, and ends: a lane carries *fuel*, gives some for each edge that
//!   does not go on to a later block, and leaves where it has none;
//! - uses poison only where it may;
//! - takes no part in the question whether lanes race: they do.
//!
//! [`FEATURES`] lists what there is in them; [`Kernel::features`] finds it in the
//! finished kernel, by analyses of its own accord, not by what was drawn.

mod code;
mod features;
mod skeleton;

use std::fmt;

use warpfold::analysis::{JoinRule, LaunchShape};
use warpfold::exec::{Arg, Launch, Memory};
use warpfold::ir::Function;

use crate::generate::Bytes;

pub use features::{FEATURES, Features};

/// A kernel, its launch, and what is known of the launch.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The kernel.
    pub func: Function,
    /// Its launch.
    pub launch: Launch,
    /// What the analysis is told of the launch; true of it.
    pub shape: LaunchShape,
    /// Where lanes join.
    pub joins: JoinRule,
    /// The budget of the analysis, where it is not the default.
    pub budget: Option<u64>,
}

/// Sizes of a block.
const BLOCKS: [[u32; 3]; 16] = [
    [32, 1, 1],
    [64, 1, 1],
    [40, 1, 1],
    [7, 1, 1],
    [33, 1, 1],
    [96, 1, 1],
    [8, 8, 1],
    [65, 2, 1],
    [32, 2, 1],
    [16, 3, 1],
    [64, 2, 1],
    [8, 4, 2],
    [5, 3, 3],
    [4, 4, 4],
    [1, 33, 1],
    [2, 2, 9],
];

const GRIDS: [[u32; 3]; 4] = [[1, 1, 1], [2, 1, 1], [3, 1, 1], [2, 2, 1]];

/// Bytes of each buffer: one that nobody writes, and one that all do.
const BUFFER: u64 = 64;

/// Lengths of strings of bytes that give kernels of all sizes.
pub const LENGTHS: std::ops::Range<usize> = 100..700;

/// The function, and its launch in words.
impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Launch {
            grid, block, args, ..
        } = &self.launch;
        writeln!(
            f,
            "; grid {grid:?}, block {block:?}, known {:?}, joins {:?}, budget {:?}",
            self.shape, self.joins, self.budget
        )?;
        for (i, arg) in args.iter().enumerate() {
            match arg {
                Arg::Uniform(x) => writeln!(f, "; argument {i}: {x}")?,
                Arg::Varying(all) => writeln!(f, "; argument {i}: {all:?}")?,
            }
        }
        write!(f, "{}", self.func)
    }
}

/// Generates the kernel that `bytes` stand for.
pub fn generate(bytes: &[u8]) -> Kernel {
    let mut bytes = Bytes::new(bytes);
    let block = bytes.pick(&BLOCKS);
    let grid = bytes.pick(&GRIDS);
    let shape = knowledge(&mut bytes, grid, block);
    let joins = bytes.pick(&[JoinRule::Default, JoinRule::Cfg]);
    let budget = bytes.chance(25).then(|| bytes.below(200) as u64);
    let mut memory = Memory::new();
    let fixed = memory.add((0..BUFFER).map(|i| (i * 37 % 11) as u8).collect(), true);
    let written = memory.add(vec![3; BUFFER as usize], false);
    let args = arguments(&mut bytes, grid, block, fixed, written);
    let mut launch = Launch::linear(1, 1).with_args(args);
    launch.grid = grid;
    launch.block = block;
    launch.memory = memory;
    let skeleton = skeleton::draw(&mut bytes);
    Kernel {
        func: code::fill(&mut bytes, &skeleton),
        launch,
        shape,
        joins,
        budget,
    }
}

/// Something true of the launch.
fn knowledge(bytes: &mut Bytes<'_>, grid: [u32; 3], block: [u32; 3]) -> LaunchShape {
    let all = LaunchShape::new(grid, block);
    let one = grid[1..] == [1, 1] && block[1..] == [1, 1];
    match bytes.below(6) {
        0 | 1 => all,
        2 | 3 if one => LaunchShape::one_dimensional(),
        2 => LaunchShape::unknown().with_block(block.map(Some)),
        3 | 4 => {
            let known = bytes.byte();
            let some = |d: usize| (known >> d & 1 == 1).then_some(block[d]);
            LaunchShape::unknown().with_block([some(0), some(1), some(2)])
        }
        _ => LaunchShape::unknown(),
    }
}

/// For the parameters that [`code::fill`] gives every kernel.
fn arguments(
    bytes: &mut Bytes<'_>,
    grid: [u32; 3],
    block: [u32; 3],
    fixed: u64,
    written: u64,
) -> Vec<Arg> {
    let threads = u64::from(block.iter().product::<u32>());
    let all = threads * u64::from(grid.iter().product::<u32>());
    let scalar = bytes.below(9) as u128;
    let kind = bytes.below(6);
    let varying = (0..all).map(|t| {
        let x = match kind {
            0 => t % 5,
            1 => t * 7 % 5,
            2 => t % threads / 32,
            3 => t / threads,
            4 => t % 32 / 9,
            _ => t * 2_654_435_761 % 97,
        };
        u128::from(x)
    });
    vec![
        Arg::Uniform(scalar),
        Arg::Varying(varying.collect()),
        Arg::Uniform(fixed.into()),
        Arg::Uniform(written.into()),
    ]
}
