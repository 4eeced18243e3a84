//! What is known of the launch: sizes of block and grid, and what follows for
//! the id registers.
//!
//! Threads of a block are numbered `x + nx·(y + ny·z)`; lane = number mod 32,
//! warp = number div 32. So `tid_x` is `32·k + lane` only when the block has
//! one dimension or its x size is a multiple of 32:
//!
//! | known of the block | tid_x | tid_y | tid_z |
//! |---|---|---|---|
//! | ny = nz = 1, any nx | stride 1, base a multiple of 32 | 0 | 0 |
//! | nx a multiple of 32 | the same | warp | warp |
//! | nx = 2^k < 32 | bits from k up 0 | bits from 5−k up uniform (if ny is a power of two or nz = 1) | warp if nx·ny is a multiple of 32 |
//! | nx·ny = 2^k < 32 | as above | as above | bits from 5−k up uniform |
//! | else | lane | lane | lane (warp if nx·ny is a multiple of 32) |
//!
//! A last warp that is not full changes none of this.

use warpfold_ir::{Opcode, Type};

use super::bits::{KnownBits, low_mask};
use super::domain::Shape;
use super::scope::Scope;

/// What is known of block and grid sizes, per dimension x, y, z.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct LaunchShape {
    grid: [Option<u32>; 3],
    block: [Option<u32>; 3],
}

impl LaunchShape {
    /// No block has more threads than this (nor, then, more along any
    /// dimension), whatever else is unknown. Thread indices have zeros above.
    pub const MAX_THREADS: u32 = 1 << 20;

    /// Nothing known.
    pub const fn unknown() -> Self {
        Self {
            grid: [None; 3],
            block: [None; 3],
        }
    }

    /// Everything known: blocks in the grid, threads in a block.
    pub const fn new(grid: [u32; 3], block: [u32; 3]) -> Self {
        Self {
            grid: [Some(grid[0]), Some(grid[1]), Some(grid[2])],
            block: [Some(block[0]), Some(block[1]), Some(block[2])],
        }
    }

    /// Grid and block have one dimension, of unknown size.
    pub const fn one_dimensional() -> Self {
        Self {
            grid: [None, Some(1), Some(1)],
            block: [None, Some(1), Some(1)],
        }
    }

    /// The same with the block size known in some dimensions.
    #[must_use]
    pub const fn with_block(mut self, block: [Option<u32>; 3]) -> Self {
        self.block = block;
        self
    }

    /// The same with the grid size known in some dimensions.
    #[must_use]
    pub const fn with_grid(mut self, grid: [Option<u32>; 3]) -> Self {
        self.grid = grid;
        self
    }

    /// Threads in a block per dimension, where known.
    pub const fn block(&self) -> [Option<u32>; 3] {
        self.block
    }

    /// Blocks in the grid per dimension, where known.
    pub const fn grid(&self) -> [Option<u32>; 3] {
        self.grid
    }

    fn is_linear(&self) -> bool {
        self.block[1] == Some(1) && self.block[2] == Some(1)
    }

    /// Threads in a block, if all sizes are known.
    fn threads(&self) -> Option<u64> {
        self.product(3)
    }

    fn product(&self, dims: usize) -> Option<u64> {
        self.block[..dims]
            .iter()
            .try_fold(1u64, |n, d| n.checked_mul(u64::from((*d)?)))
    }

    /// Bits that no index along block dimension `d` has.
    fn index_bits(&self, d: usize) -> KnownBits {
        let size = self.block[d].unwrap_or(Self::MAX_THREADS);
        let most = size.saturating_sub(1).min(Self::MAX_THREADS - 1);
        KnownBits::constant(0, !low_mask(32 - most.leading_zeros()))
    }

    /// Whether every warp of a block has a lane `lane`.
    pub(crate) fn has_lane(&self, lane: u32) -> bool {
        let last = self.threads().map(|n| n % 32);
        lane == 0 || last.is_some_and(|n| n == 0 || u64::from(lane) < n)
    }

    /// Whether every warp of a block has all its lanes.
    pub(crate) fn fills_warps(&self) -> bool {
        self.has_lane(31)
    }

    /// Whether `nx` threads along x fill whole warps, so that `tid_x` goes up
    /// by one from lane to lane.
    fn x_follows_lanes(&self) -> bool {
        self.is_linear() || self.block[0].is_some_and(|nx| nx % 32 == 0 && nx > 0)
    }

    /// The number of a thread in its block: `32·warp + lane`.
    pub(crate) fn linear_id(&self) -> Shape {
        let threads = self
            .threads()
            .unwrap_or(u64::from(Self::MAX_THREADS))
            .clamp(1, u64::from(Self::MAX_THREADS));
        along_lanes(threads)
    }

    fn tid(&self, d: usize) -> Shape {
        let lane = |uniform| Shape::with_bits(Type::I32, self.index_bits(d), uniform);
        let warp = || Shape::known_uniform(Type::I32, Scope::Warp, self.index_bits(d));
        if self.block[d] == Some(1) {
            return Shape::constant(Type::I32, 0);
        }
        let [nx, ny, nz] = self.block;
        let narrow = nx.filter(|nx| nx.is_power_of_two() && *nx < 32);
        match d {
            0 if self.x_follows_lanes() => along_lanes(u64::from(nx.unwrap_or(Self::MAX_THREADS))),
            1 | 2 if self.x_follows_lanes() => warp(),
            1 => match narrow {
                Some(nx) if nz == Some(1) || ny.is_some_and(u32::is_power_of_two) => {
                    lane(!low_mask(5 - nx.trailing_zeros()))
                }
                _ => lane(0),
            },
            2 => match self.product(2) {
                Some(n) if n > 0 && n % 32 == 0 => warp(),
                Some(n) if n.is_power_of_two() && n < 32 => lane(!low_mask(5 - n.trailing_zeros())),
                _ => lane(0),
            },
            _ => lane(0),
        }
    }

    fn size(known: Option<u32>) -> Shape {
        match known {
            Some(n) => Shape::constant(Type::I32, u128::from(n)),
            None => Shape::uniform(Type::I32, Scope::Grid),
        }
    }

    fn ctaid(&self, d: usize) -> Shape {
        let bits = self.grid[d].map_or(KnownBits::NONE, |n| {
            let most = n.saturating_sub(1);
            KnownBits::constant(0, !low_mask(32 - most.leading_zeros()))
        });
        Shape::known_uniform(Type::I32, Scope::Block, bits)
    }

    /// The shape of a special register; nothing for other opcodes.
    pub fn id(&self, op: Opcode) -> Shape {
        match op {
            Opcode::LaneId => {
                Shape::affine(Type::I32, Scope::Const, 1, KnownBits::constant(0, u64::MAX))
            }
            Opcode::WarpId => {
                let threads = self.threads().unwrap_or(u64::from(Self::MAX_THREADS));
                let most = (threads.saturating_sub(1) / 32) as u32;
                let zero = !low_mask(32 - most.leading_zeros());
                Shape::known_uniform(Type::I32, Scope::Warp, KnownBits::constant(0, zero))
            }
            Opcode::TidX => self.tid(0),
            Opcode::TidY => self.tid(1),
            Opcode::TidZ => self.tid(2),
            Opcode::CtaidX => self.ctaid(0),
            Opcode::CtaidY => self.ctaid(1),
            Opcode::CtaidZ => self.ctaid(2),
            Opcode::NtidX => Self::size(self.block[0]),
            Opcode::NtidY => Self::size(self.block[1]),
            Opcode::NtidZ => Self::size(self.block[2]),
            Opcode::NctaidX => Self::size(self.grid[0]),
            Opcode::NctaidY => Self::size(self.grid[1]),
            Opcode::NctaidZ => Self::size(self.grid[2]),
            _ => Shape::varying(Type::I32),
        }
    }

    /// Which bits of a register each lane of any warp knows, if its index alone
    /// decides them and the register's shape does not say so: `tid_x` in a block
    /// narrower than a warp repeats, and so do the low bits of `tid_y`, and of
    /// `tid_z` where planes are smaller than a warp.
    pub(crate) fn per_lane(&self, op: Opcode) -> Option<[KnownBits; 32]> {
        let small = |dims: usize| {
            self.product(dims)
                .filter(|n| n.is_power_of_two() && *n < 32)
        };
        let [_, ny, nz] = self.block;
        // The index goes up every `from` lanes, modulo `size` (a power of two,
        // or more than a warp sees).
        let (from, size) = match op {
            Opcode::TidX => (1, small(1)?),
            Opcode::TidY if nz == Some(1) => (small(1)?, 32),
            Opcode::TidY => (small(1)?, ny.filter(|ny| ny.is_power_of_two())?.into()),
            Opcode::TidZ => (small(2)?, 32),
            _ => return None,
        };
        let known = (32 / from).min(size) - 1;
        Some(std::array::from_fn(|lane| {
            KnownBits::constant(lane as u64 / from, known)
        }))
    }
}

/// `32·k + lane`, for numbers below `count`.
fn along_lanes(count: u64) -> Shape {
    let most = count.saturating_sub(1).min(u64::from(u32::MAX)) as u32;
    let zero = !low_mask(32 - most.leading_zeros()) | 31;
    Shape::affine(Type::I32, Scope::Warp, 1, KnownBits::constant(0, zero)).with_row(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What thread `t` of a block reads.
    fn read(op: Opcode, block: [u32; 3], t: u32) -> u32 {
        match op {
            Opcode::LaneId => t % 32,
            Opcode::WarpId => t / 32,
            Opcode::TidX => t % block[0],
            Opcode::TidY => t / block[0] % block[1],
            Opcode::TidZ => t / block[0] / block[1],
            _ => unreachable!(),
        }
    }

    const IDS: [Opcode; 5] = [
        Opcode::LaneId,
        Opcode::WarpId,
        Opcode::TidX,
        Opcode::TidY,
        Opcode::TidZ,
    ];

    #[test]
    fn every_claim_holds_for_every_warp_of_many_blocks() {
        let sizes = [1, 2, 3, 8, 16, 32, 48, 65];
        for nx in sizes {
            for ny in sizes {
                for nz in [1, 2, 4] {
                    let block = [nx, ny, nz];
                    let threads = nx * ny * nz;
                    let full = LaunchShape::new([1, 1, 1], block);
                    let mut partial = vec![full, LaunchShape::unknown()];
                    partial.extend((0..8u32).map(|known| {
                        let some = |d: usize| (known >> d & 1 == 1).then_some(block[d]);
                        LaunchShape::unknown().with_block([some(0), some(1), some(2)])
                    }));
                    for launch in partial {
                        for op in IDS {
                            let shape = launch.id(op);
                            for warp in 0..threads.div_ceil(32) {
                                let last = (warp * 32 + 32).min(threads);
                                let lanes: Vec<_> = (warp * 32..last)
                                    .map(|t| (t % 32, u128::from(read(op, block, t))))
                                    .collect();
                                assert_eq!(shape.check(&lanes), Ok(()), "{launch:?} {op}");
                                if let Some(all) = launch.per_lane(op) {
                                    for &(lane, v) in &lanes {
                                        let KnownBits { zero, one } = all[lane as usize];
                                        assert_eq!(v as u64 & (zero | one), one, "{launch:?} {op}");
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    fn scope(block: [u32; 3], op: Opcode) -> Scope {
        LaunchShape::new([4, 1, 1], block).id(op).scope()
    }

    #[test]
    fn the_table_is_reached() {
        let linear = LaunchShape::one_dimensional();
        assert_eq!(linear.id(Opcode::TidX).stride(), Some(1));
        assert_eq!(linear.id(Opcode::TidX).base().trailing(), 5);
        assert_eq!(linear.id(Opcode::TidY).as_constant(), Some(0));
        assert_eq!(scope([64, 2, 2], Opcode::TidX), Scope::Lane);
        assert_eq!(
            LaunchShape::new([1; 3], [64, 2, 2])
                .id(Opcode::TidX)
                .stride(),
            Some(1)
        );
        assert_eq!(scope([64, 2, 2], Opcode::TidY), Scope::Warp);
        assert_eq!(scope([64, 2, 2], Opcode::TidZ), Scope::Warp);
        // 65 x 2: the second row's lanes are off by one.
        assert_eq!(scope([65, 2, 1], Opcode::TidX), Scope::Lane);
        assert_eq!(
            LaunchShape::new([1; 3], [65, 2, 1])
                .id(Opcode::TidX)
                .stride(),
            None
        );
        assert_eq!(scope([65, 2, 1], Opcode::TidY), Scope::Lane);
        assert_eq!(scope([8, 4, 2], Opcode::TidZ), Scope::Warp);
        assert_eq!(scope([16, 4, 2], Opcode::TidZ), Scope::Warp);
        assert_eq!(scope([5, 4, 2], Opcode::TidZ), Scope::Lane);
        let narrow = LaunchShape::new([1; 3], [8, 16, 1]).id(Opcode::TidY);
        assert_eq!(narrow.scope(), Scope::Lane);
        assert_eq!(narrow.uniform_bits() & 0xF, 0b1100);
        assert_eq!(LaunchShape::unknown().id(Opcode::TidX).stride(), None);
        assert_eq!(
            LaunchShape::unknown().id(Opcode::NtidX).scope(),
            Scope::Grid
        );
        assert_eq!(
            LaunchShape::unknown().id(Opcode::CtaidX).scope(),
            Scope::Block
        );
        assert_eq!(
            LaunchShape::new([1; 3], [32, 1, 1])
                .id(Opcode::CtaidX)
                .as_constant(),
            Some(0)
        );
        assert_eq!(
            LaunchShape::new([1; 3], [64, 1, 1])
                .id(Opcode::NtidX)
                .as_constant(),
            Some(64)
        );
        assert_eq!(
            LaunchShape::new([1; 3], [32, 1, 1])
                .id(Opcode::WarpId)
                .as_constant(),
            Some(0)
        );
    }
}
