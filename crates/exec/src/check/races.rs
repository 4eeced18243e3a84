//! Data races.
//!
//! Two accesses *race* if they touch one byte, are of different threads, at least one
//! writes, they are not both atomic, and nothing orders them. A `barrier` orders what
//! the threads of its block did before it and do after it, a `warp_sync` the same
//! for its warp. Nothing orders threads of different blocks, and fences only
//! order one thread's own accesses. That lanes of a warp happen to go in lockstep orders
//! nothing either: a rewrite, or another way of scheduling lanes, may run them in
//! another order, and what a kernel means must not hang on it.
//!
//! Stores of equal bytes do not race with each other: memory is the same in
//! whatever order they come. That goes for lanes of one instruction as for any
//! others; lanes that store *different* values to one address in one instruction
//! race, although the higher lane always wins here.
//!
//! **How.** For each byte, the accesses since the last barrier are kept, as
//! many as are needed to notice a race with any later access: of a kind,
//! at most two (two of different warps, or two lanes of one warp since its last
//! `warp_sync`, race with whatever any of them races with). Between blocks the
//! same is kept for the whole launch, a block in place of a thread.
//! Stack slots are a lane's own, and nobody writes read-only buffers.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::error::{RacingAccess, RacingKind, Where};
use super::{CheckError, Checked, MOST_KEPT};
use crate::outcome::Site;
use crate::program::Program;

/// One access to one byte.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub kind: RacingKind,
    /// What a store leaves there.
    pub byte: u8,
    pub lane: u8,
    /// How many `warp_sync`s the warp has passed.
    pub epoch: u32,
    /// Warp of the block.
    pub warp: u32,
    pub grid_block: u64,
    pub thread: u64,
    pub function: usize,
    pub site: Site,
}

type Cell = SmallVec<[Access; 2]>;

/// Whom accesses are told apart by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Level {
    /// Threads of one block, in one barrier interval.
    Threads,
    /// Blocks.
    Blocks,
}

impl Level {
    /// Whether two accesses are of one agent: its own order holds.
    fn same_agent(self, a: &Access, b: &Access) -> bool {
        match self {
            Self::Threads => a.thread == b.thread,
            Self::Blocks => a.grid_block == b.grid_block,
        }
    }

    /// Whether a `warp_sync` stands between an access and a later one.
    fn ordered(self, earlier: &Access, later: &Access) -> bool {
        self == Self::Threads && earlier.warp == later.warp && earlier.epoch < later.epoch
    }
}

/// Whether accesses of different agents that nothing orders race.
fn conflict(a: &Access, b: &Access) -> bool {
    use RacingKind::{AtomicRead, AtomicWrite, Read, Write};
    match (a.kind, b.kind) {
        (Write, Write) => a.byte != b.byte,
        (Write, _) | (_, Write) => true,
        (Read, AtomicWrite) | (AtomicWrite, Read) => true,
        (Read | AtomicRead, Read | AtomicRead) => false,
        (AtomicRead | AtomicWrite, AtomicRead | AtomicWrite) => false,
    }
}

/// The accesses seen.
#[derive(Clone, Debug)]
pub(crate) struct Races {
    /// In the barrier interval of the block that runs.
    near: HashMap<u64, Cell>,
    /// In the launch, of global memory, if there are several blocks.
    far: Option<HashMap<u64, Cell>>,
    /// Passed `warp_sync`s, by warp.
    epochs: Vec<u32>,
}

impl Races {
    pub(crate) fn new(several_blocks: bool) -> Self {
        Self {
            near: HashMap::new(),
            far: several_blocks.then(HashMap::new),
            epochs: Vec::new(),
        }
    }

    /// A block begins, or all its threads have passed a barrier.
    pub(crate) fn start_interval(&mut self) {
        self.near.clear();
        self.epochs.clear();
    }

    /// A warp passes a `warp_sync`.
    pub(crate) fn warp_sync(&mut self, warp: u32) {
        let at = warp as usize;
        if self.epochs.len() <= at {
            self.epochs.resize(at + 1, 0);
        }
        self.epochs[at] += 1;
    }

    pub(crate) fn epoch(&self, warp: u32) -> u32 {
        self.epochs.get(warp as usize).copied().unwrap_or(0)
    }

    /// A thread accesses a byte; `global` memory other blocks see too.
    pub(crate) fn access(
        &mut self,
        address: u64,
        global: bool,
        access: Access,
        checked: &mut Checked,
    ) -> Result<(), Access> {
        checked.bytes += 1;
        note(&mut self.near, Level::Threads, address, access, checked)?;
        match &mut self.far {
            Some(far) if global => note(far, Level::Blocks, address, access, checked),
            _ => Ok(()),
        }
    }
}

/// Compares an access with those kept, and keeps it if it tells more.
fn note(
    cells: &mut HashMap<u64, Cell>,
    level: Level,
    address: u64,
    access: Access,
    checked: &mut Checked,
) -> Result<(), Access> {
    if cells.len() >= MOST_KEPT && !cells.contains_key(&address) {
        checked.unrecorded += 1;
        return Ok(());
    }
    let cell = cells.entry(address).or_default();
    let races = |earlier: &&Access| {
        !level.same_agent(earlier, &access)
            && !level.ordered(earlier, &access)
            && conflict(earlier, &access)
    };
    if let Some(&earlier) = cell.iter().find(races) {
        return Err(earlier);
    }
    // The newer one of two of one agent, or that a `warp_sync` orders, races
    // with all that the older one does from here on.
    cell.retain(|old| {
        old.kind != access.kind || !level.same_agent(old, &access) && !level.ordered(old, &access)
    });
    let apart = |a: &Access, b: &Access| level == Level::Blocks || a.warp != b.warp;
    let mut same = (0..cell.len()).filter(|&i| cell[i].kind == access.kind);
    match (same.next(), same.next()) {
        (Some(i), Some(j)) => {
            if !apart(&cell[i], &cell[j]) && apart(&cell[i], &access) {
                cell[i] = access;
            }
        }
        _ => cell.push(access),
    }
    Ok(())
}

/// The error for two accesses.
pub(crate) fn race(
    programs: &[Option<Program<'_>>],
    address: u64,
    pair: [Access; 2],
) -> CheckError {
    let [first, second] = pair.map(|a| {
        let program = programs.get(a.function).and_then(Option::as_ref);
        RacingAccess {
            at: Where {
                site: a.site,
                origin: program.map_or_else(Default::default, |p| p.origin(a.site)),
                function: a.function,
                grid_block: a.grid_block,
                warp: a.warp,
                lanes: 1 << a.lane,
            },
            thread: a.thread,
            kind: a.kind,
        }
    });
    CheckError::Race {
        address,
        first,
        second,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpfold_ir::{Block, entity::EntityRef};

    const KINDS: [RacingKind; 3] = [RacingKind::Read, RacingKind::Write, RacingKind::AtomicWrite];

    fn access(kind: RacingKind, thread: u64, epoch: u32, byte: u8) -> Access {
        Access {
            kind,
            byte,
            lane: (thread % 2) as u8,
            epoch,
            // Two lanes to a warp, two warps to a block.
            warp: (thread / 2 % 2) as u32,
            grid_block: thread / 4,
            thread,
            function: 0,
            site: Site::Term(Block::new(0)),
        }
    }

    /// What is kept of the past is enough: a race is found exactly where some
    /// pair of accesses races.
    #[test]
    fn every_short_sequence_is_judged_as_its_pairs_are() {
        let mut state = 1u64;
        let mut random = |n: usize| {
            state = super::super::instance::mix(state, 7);
            (state >> 33) as usize % n
        };
        let mut found = 0;
        for level in [Level::Threads, Level::Blocks] {
            for _ in 0..40_000 {
                let mut cells = HashMap::new();
                let mut epochs = [0; 2];
                let mut past: Vec<Access> = Vec::new();
                for _ in 0..7 {
                    let thread = random(if level == Level::Threads { 4 } else { 12 }) as u64;
                    let warp = (thread / 2 % 2) as usize;
                    epochs[warp] += u32::from(random(3) == 0);
                    // Stores of different threads store different bytes.
                    let now = access(KINDS[random(3)], thread, epochs[warp], thread as u8);
                    let races = past.iter().any(|old| {
                        !level.same_agent(old, &now)
                            && !level.ordered(old, &now)
                            && conflict(old, &now)
                    });
                    let judged = note(&mut cells, level, 0, now, &mut Checked::default());
                    assert_eq!(judged.is_err(), races, "{past:?} {now:?}");
                    if races {
                        found += 1;
                        break;
                    }
                    past.push(now);
                }
            }
        }
        assert!(found > 40_000, "{found}");
    }
}
