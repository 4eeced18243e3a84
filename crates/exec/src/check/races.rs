//! Data races.
//!
//! Two accesses *race* if they touch one byte, are of different threads, at least one
//! writes, they are not both atomic, and nothing orders them. A `barrier` orders what
//! the threads of its block did before it and do after it, a `warp_sync` the same
//! for the lanes of its warp that its mask names, left ones too. What is ordered
//! before one of two accesses in order is ordered before the other. Nothing orders threads of different blocks, and fences only
//! order one thread's own accesses. That lanes of a warp happen to go in lockstep orders
//! nothing either: a rewrite, or another way of scheduling lanes, may run them in
//! another order, and what a kernel means must not hang on it.
//!
//! Stores of equal bytes do not race with each other: memory is the same in
//! whatever order they come. That goes for lanes of one instruction as for any
//! others; lanes that store *different* values to one address in one instruction
//! race, although the higher lane always wins here.
//!
//! **How.** Each lane has a clock that its `warp_sync`s advance, and knows how far
//! those of the other lanes of its warp had come when they last had it for company,
//! directly or by way of others (vector clocks: Mattern, "Virtual Time and Global
//! States of Distributed Systems", 1989). Of two accesses the earlier one is ordered
//! before the later one if the later lane knows of its time.
//!
//! For each byte, the accesses since the last barrier are kept, as
//! many as are needed to notice a race with any later access. Of a kind that is two
//! of different warps; or else those of one warp, no two in order, of which two are
//! enough where every `warp_sync` is for all lanes, since whatever any of them races
//! with races with one of the two. Between blocks the
//! same is kept for the whole launch, a block in place of a thread.
//! Stack slots are a lane's own, and nobody writes read-only buffers.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::error::{RacingAccess, RacingKind, Where};
use super::{CheckError, Checked, MOST_KEPT};
use crate::outcome::Site;
use crate::program::Program;
use crate::registers::{LANES, lanes_of};

/// One access to one byte.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub kind: RacingKind,
    /// What a store leaves there.
    pub byte: u8,
    pub lane: u8,
    /// The lane's clock.
    pub time: u64,
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

    /// Whether `warp_sync`s order an access before a later one of a lane that knows
    /// of these times.
    fn ordered(self, earlier: &Access, later: &Access, known: &Times) -> bool {
        self == Self::Threads
            && earlier.warp == later.warp
            && earlier.time <= known[usize::from(earlier.lane)]
    }
}

/// By lane of a warp: the time up to which all is known.
type Times = [u64; LANES];

/// What the lanes of a warp know of each other, by lane. Each knows its own time.
#[derive(Clone, Debug)]
struct Clocks(Box<[Times; LANES]>);

impl Clocks {
    /// What a lane knows at first.
    fn start(lane: usize) -> Times {
        std::array::from_fn(|other| u64::from(other == lane))
    }

    /// The lanes of `mask` wait for each other.
    fn sync(&mut self, mask: u32) {
        let mut all = [0; LANES];
        for lane in lanes_of(mask) {
            for (time, &known) in all.iter_mut().zip(&self.0[lane]) {
                *time = known.max(*time);
            }
        }
        for lane in lanes_of(mask) {
            self.0[lane] = all;
            self.0[lane][lane] += 1;
        }
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
    /// By warp, once it has passed a `warp_sync`.
    clocks: Vec<Option<Clocks>>,
    /// Most accesses of one kind and warp to a byte that are kept.
    most: usize,
}

impl Races {
    /// `lanes_named` says whether a `warp_sync` may be for some lanes only.
    pub(crate) fn new(several_blocks: bool, lanes_named: bool) -> Self {
        Self {
            near: HashMap::new(),
            far: several_blocks.then(HashMap::new),
            clocks: Vec::new(),
            most: if lanes_named { LANES } else { 2 },
        }
    }

    /// A block begins, or all its threads have passed a barrier.
    pub(crate) fn start_interval(&mut self) {
        self.near.clear();
        self.clocks.clear();
    }

    /// Lanes of a warp have waited for each other at `warp_sync`s.
    pub(crate) fn warp_sync(&mut self, warp: u32, mask: u32) {
        let at = warp as usize;
        if self.clocks.len() <= at {
            self.clocks.resize(at + 1, None);
        }
        let start = || Clocks(Box::new(std::array::from_fn(Clocks::start)));
        self.clocks[at].get_or_insert_with(start).sync(mask);
    }

    /// What a lane knows of those of its warp, itself included.
    pub(crate) fn known(&self, warp: u32, lane: usize) -> Times {
        match self.clocks.get(warp as usize) {
            Some(Some(clocks)) => clocks.0[lane],
            _ => Clocks::start(lane),
        }
    }

    /// A thread that [knows](Self::known) these times accesses a byte; `global`
    /// memory other blocks see too.
    pub(crate) fn access(
        &mut self,
        address: u64,
        global: bool,
        (access, known): (Access, &Times),
        checked: &mut Checked,
    ) -> Result<(), Access> {
        checked.bytes += 1;
        let most = self.most;
        let how = |level| How { level, known, most };
        note(
            &mut self.near,
            how(Level::Threads),
            address,
            access,
            checked,
        )?;
        match &mut self.far {
            Some(far) if global => note(far, how(Level::Blocks), address, access, checked),
            _ => Ok(()),
        }
    }
}

/// How an access is compared.
#[derive(Clone, Copy)]
struct How<'a> {
    level: Level,
    /// What its lane knows.
    known: &'a Times,
    most: usize,
}

/// Compares an access with those kept, and keeps it if it tells more.
fn note(
    cells: &mut HashMap<u64, Cell>,
    How { level, known, most }: How<'_>,
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
            && !level.ordered(earlier, &access, known)
            && conflict(earlier, &access)
    };
    if let Some(&earlier) = cell.iter().find(races) {
        return Err(earlier);
    }
    // The newer one of two of one agent, or that a `warp_sync` orders, races
    // with all that the older one does from here on: but for stores, which race with
    // those of other bytes. Of these one more is kept, as no byte equals both.
    let before = |old: &Access| {
        old.kind == access.kind
            && (level.same_agent(old, &access) || level.ordered(old, &access, known))
    };
    let differs =
        |old: &Access| old.kind == RacingKind::Write && old.byte != access.byte && before(old);
    let other = cell.iter().rposition(differs);
    let mut at = 0..;
    cell.retain(|old| {
        let kept = at.next() == other;
        !before(old) || kept
    });
    let apart = |a: &Access, b: &Access| level == Level::Blocks || a.warp != b.warp;
    let same: SmallVec<[usize; 2]> = (0..cell.len())
        .filter(|&i| cell[i].kind == access.kind)
        .collect();
    match same[..] {
        [i, j] if apart(&cell[i], &cell[j]) => {}
        [i, ..] if apart(&cell[i], &access) => {
            // One of each warp is enough.
            let kept = cell[i];
            cell.retain(|old| old.kind != access.kind);
            cell.extend([kept, access]);
        }
        _ if same.len() < most => cell.push(access),
        _ => {}
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
    /// Lanes of a warp, and warps of a block.
    const SHAPE: [u64; 2] = [4, 2];

    fn access(kind: RacingKind, thread: u64, time: u64, byte: u8) -> Access {
        Access {
            kind,
            byte,
            lane: (thread % SHAPE[0]) as u8,
            time,
            warp: (thread / SHAPE[0] % SHAPE[1]) as u32,
            grid_block: thread / (SHAPE[0] * SHAPE[1]),
            thread,
            function: 0,
            site: Site::Term(Block::new(0)),
        }
    }

    /// What is kept of the past is enough: a race is found exactly where some
    /// pair of accesses races. The pairs are judged by what is ordered by definition:
    /// what a `warp_sync` has before it and behind it, and what that orders in turn.
    #[test]
    fn every_short_sequence_is_judged_as_its_pairs_are() {
        let mut state = 1u64;
        let mut random = |n: u64| {
            state = super::super::instance::mix(state, 7);
            (state >> 33) % n
        };
        let mut found = 0;
        for (level, named) in [
            (Level::Threads, false),
            (Level::Threads, true),
            (Level::Blocks, false),
        ] {
            for _ in 0..40_000 {
                let mut races = Races::new(true, named);
                let mut cells = HashMap::new();
                // Accesses, and the lanes that a sync makes wait, in order.
                let mut past: Vec<Result<Access, (u32, u32)>> = Vec::new();
                for _ in 0..9 {
                    let threads = if level == Level::Threads { 8 } else { 24 };
                    let thread = random(threads);
                    let warp = (thread / SHAPE[0] % SHAPE[1]) as u32;
                    if random(3) == 0 {
                        let mask = if named { random(16) as u32 } else { u32::MAX };
                        races.warp_sync(warp, mask);
                        past.push(Err((warp, mask)));
                        continue;
                    }
                    let lane = (thread % SHAPE[0]) as usize;
                    let known = races.known(warp, lane);
                    // Stores of different threads store different bytes.
                    let kind = KINDS[random(3) as usize];
                    let now = access(kind, thread, known[lane], thread as u8);
                    let how = How {
                        level,
                        known: &known,
                        most: races.most,
                    };
                    let judged = note(&mut cells, how, 0, now, &mut Checked::default());
                    let racing = (0..past.len()).any(|i| {
                        past[i].is_ok_and(|old| {
                            !level.same_agent(&old, &now)
                                && conflict(&old, &now)
                                && !(level == Level::Threads && reaches(&past[i..], &now))
                        })
                    });
                    assert_eq!(judged.is_err(), racing, "{past:?} {now:?}");
                    if racing {
                        found += 1;
                        break;
                    }
                    past.push(Ok(now));
                }
            }
        }
        assert!(found > 60_000, "{found}");
    }

    /// Whether the first of these is ordered before `now` by the syncs behind it.
    fn reaches(after: &[Result<Access, (u32, u32)>], now: &Access) -> bool {
        let Some(Ok(first)) = after.first() else {
            return false;
        };
        let mut lanes = 1u32 << first.lane;
        for sync in after {
            if let &Err((warp, mask)) = sync
                && warp == first.warp
                && mask & lanes != 0
            {
                lanes |= mask;
            }
        }
        first.warp == now.warp && lanes >> now.lane & 1 == 1
    }
}
