//! Are two versions of a kernel the same?
//!
//! Two runs of one launch are the same when each thread
//!
//! - returned the same bits (or left without returning in both),
//! - had the same sequence of stores, volatile accesses, loads without
//!   `can_move` and traps: for memory accesses kind, address, size and value,
//!   for traps kind and place in the source,
//!
//! and the buffers hold the same bytes at the end. Loads with `can_move` are
//! no events: speculating them is what the flag is for. Floats compare by
//! their bits, since both versions execute the same operations.
//!
//! Threads are compared each for itself, so the order *between* threads may
//! differ. What two threads make of a race is therefore compared by its effect
//! on memory only.

use std::fmt;

use warpfold_exec::{Event, EventKind, Memory, Outcome, Returns, events_of};
use warpfold_ir::Origin;

/// The answer.
#[derive(Clone, PartialEq, Debug)]
pub enum Sameness {
    /// No difference.
    Same {
        /// Threads compared.
        threads: u64,
        /// Events compared; `None` when they were not recorded, so that only
        /// results, traps and memory were compared.
        events: Option<u64>,
    },
    /// The first difference: lowest thread, then its results, then its
    /// earliest event; memory last.
    Different(Difference),
    /// The other version did not finish, for this reason.
    Unfinished(String),
}

impl Sameness {
    /// Whether it is [`Sameness::Same`].
    pub fn is_same(&self) -> bool {
        matches!(self, Self::Same { .. })
    }

    /// The line of the source that a difference is about, 0 if unknown.
    pub fn line(&self) -> u32 {
        match self {
            Self::Different(d) => d.origin().map_or(0, |o| o.line),
            _ => 0,
        }
    }

    /// `same`, `different` or `unfinished`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Same { .. } => "same",
            Self::Different(_) => "different",
            Self::Unfinished(_) => "unfinished",
        }
    }
}

impl fmt::Display for Sameness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Same {
                threads,
                events: Some(events),
            } => write!(
                f,
                "results, memory, traps and {} of {}",
                Count(*events, "access", "accesses"),
                Count(*threads, "thread", "threads")
            ),
            Self::Same {
                threads,
                events: None,
            } => write!(
                f,
                "results, memory and traps of {}; too many accesses to compare each",
                Count(*threads, "thread", "threads")
            ),
            Self::Different(d) => write!(f, "{d}"),
            Self::Unfinished(why) => f.write_str(why),
        }
    }
}

/// A difference.
#[derive(Clone, PartialEq, Debug)]
pub enum Difference {
    /// A thread's results.
    Result {
        /// Thread of the grid.
        thread: u64,
        /// What it returned before; `None` when it did not return.
        before: Option<Vec<u128>>,
        /// What it returned after.
        after: Option<Vec<u128>>,
    },
    /// A thread's events.
    Event {
        /// Thread of the grid.
        thread: u64,
        /// Position in the thread's sequence, from 0.
        index: usize,
        /// What it did there before; `None` when the sequence had ended.
        before: Option<Event>,
        /// What it did there after.
        after: Option<Event>,
    },
    /// A buffer's contents.
    Memory {
        /// Which buffer.
        buffer: usize,
        /// Byte in it.
        offset: usize,
        /// The byte before; `None` past its end.
        before: Option<u8>,
        /// The byte after.
        after: Option<u8>,
    },
}

impl Difference {
    /// The thread it is about, if it is about one.
    pub fn thread(&self) -> Option<u64> {
        match *self {
            Self::Result { thread, .. } | Self::Event { thread, .. } => Some(thread),
            Self::Memory { .. } => None,
        }
    }

    /// Where in the source the differing event of the first version stands,
    /// or that of the other one where the first has none.
    pub fn origin(&self) -> Option<Origin> {
        match self {
            Self::Event { before, after, .. } => {
                before.or(*after).map(|e| e.origin).filter(|o| !o.is_none())
            }
            _ => None,
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Result {
                thread,
                before,
                after,
            } => write!(
                f,
                "thread {thread} returned {} before, {} after",
                Bits(before.as_deref()),
                Bits(after.as_deref())
            ),
            Self::Event {
                thread,
                index,
                before,
                after,
            } => {
                write!(f, "event {index} of thread {thread}: ")?;
                write_event(f, before.as_ref())?;
                f.write_str(" before, ")?;
                write_event(f, after.as_ref())?;
                f.write_str(" after")
            }
            Self::Memory {
                buffer,
                offset,
                before,
                after,
            } => {
                let byte = |b: &Option<u8>| b.map_or("nothing".to_owned(), |b| format!("{b:#04x}"));
                write!(
                    f,
                    "byte {offset} of buffer {buffer} is {} before, {} after",
                    byte(before),
                    byte(after)
                )
            }
        }
    }
}

/// A number with what it counts, in singular and plural.
struct Count(u64, &'static str, &'static str);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(n, one, many) = self;
        write!(f, "{n} {}", if *n == 1 { one } else { many })
    }
}

struct Bits<'a>(Option<&'a [u128]>);

impl fmt::Display for Bits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(values) = self.0 else {
            return f.write_str("nothing");
        };
        for (i, bits) in values.iter().enumerate() {
            write!(f, "{}{bits:#x}", if i > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

fn write_event(f: &mut fmt::Formatter<'_>, event: Option<&Event>) -> fmt::Result {
    let Some(e) = event else {
        return f.write_str("none");
    };
    match e.kind {
        EventKind::Trap(code) => write!(f, "trap {code}")?,
        EventKind::Store | EventKind::VolatileStore => {
            write!(f, "store of {:#x} at {:#x}", e.value, e.address)?;
        }
        EventKind::Load | EventKind::VolatileLoad => {
            write!(f, "load of {:#x} at {:#x}", e.value, e.address)?;
        }
        EventKind::AtomicLoad => {
            write!(f, "atomic load of {:#x} at {:#x}", e.value, e.address)?;
        }
        EventKind::AtomicStore => {
            write!(f, "atomic store of {:#x} at {:#x}", e.value, e.address)?;
        }
        EventKind::AtomicUpdate => {
            write!(f, "atomic update with {:#x} at {:#x}", e.value, e.address)?;
        }
    }
    if e.origin.line != 0 {
        write!(f, " (line {})", e.origin.line)?;
    }
    Ok(())
}

/// Compares two runs of one launch. Both should have recorded their events; if
/// either has not, accesses are not compared, traps are.
pub fn compare(before: &Outcome, after: &Outcome, threads: u64) -> Sameness {
    let both = before.events.as_deref().zip(after.events.as_deref());
    let traps = (trap_events(before), trap_events(after));
    let (a, b) = both.unwrap_or((&traps.0, &traps.1));
    let difference = in_results(&before.returns, &after.returns)
        .into_iter()
        .chain(in_events(a, b))
        // The lower thread first; a thread's results before its events.
        .min_by_key(|d| d.thread())
        .or_else(|| in_memory(&before.memory, &after.memory));
    match difference {
        Some(d) => Sameness::Different(d),
        None => Sameness::Same {
            threads,
            events: both.map(|(a, _)| a.len() as u64),
        },
    }
}

/// The traps of a run as events, by thread.
fn trap_events(run: &Outcome) -> Vec<Event> {
    let mut events: Vec<Event> = run
        .traps
        .iter()
        .map(|t| Event {
            thread: t.thread,
            kind: EventKind::Trap(t.code),
            address: t.address.unwrap_or(0),
            bytes: 0,
            value: 0,
            origin: t.origin,
        })
        .collect();
    events.sort_by_key(|e| e.thread);
    events
}

fn in_results(before: &Returns, after: &Returns) -> Option<Difference> {
    let threads = before.threads().max(after.threads());
    (0..threads)
        .find(|&t| before.get(t) != after.get(t))
        .map(|t| Difference::Result {
            thread: t as u64,
            before: before.get(t).map(<[u128]>::to_vec),
            after: after.get(t).map(<[u128]>::to_vec),
        })
}

fn in_events(before: &[Event], after: &[Event]) -> Option<Difference> {
    // Both logs are ordered by thread and within it by time, so the first
    // place where the logs disagree belongs to the lowest thread that differs.
    let at = before
        .iter()
        .zip(after)
        .position(|(a, b)| !same_event(a, b))
        .unwrap_or(before.len().min(after.len()));
    let (a, b) = (before.get(at), after.get(at));
    let thread = a.into_iter().chain(b).map(|e| e.thread).min()?;
    let of_thread = |log: &[Event], e: Option<&Event>| {
        let start = at - events_of(&log[..at], thread).len();
        (at - start, e.filter(|e| e.thread == thread).copied())
    };
    let (index, before_event) = of_thread(before, a);
    let (_, after_event) = of_thread(after, b);
    Some(Difference::Event {
        thread,
        index,
        before: before_event,
        after: after_event,
    })
}

fn same_event(a: &Event, b: &Event) -> bool {
    let place = match a.kind {
        // The place of a trap is part of what the program does; a store may
        // stand for equal stores of both sides.
        EventKind::Trap(_) => a.origin == b.origin,
        _ => true,
    };
    place
        && (a.thread, a.kind, a.address, a.bytes, a.value)
            == (b.thread, b.kind, b.address, b.bytes, b.value)
}

fn in_memory(before: &Memory, after: &Memory) -> Option<Difference> {
    (0..before.len().max(after.len())).find_map(|buffer| {
        let bytes = |m: &Memory| match buffer < m.len() {
            true => m.bytes(buffer).to_vec(),
            false => Vec::new(),
        };
        if buffer < before.len().min(after.len()) && before.bytes(buffer) == after.bytes(buffer) {
            return None;
        }
        let (a, b) = (bytes(before), bytes(after));
        (0..a.len().max(b.len()))
            .find(|&i| a.get(i) != b.get(i))
            .map(|offset| Difference::Memory {
                buffer,
                offset,
                before: a.get(offset).copied(),
                after: b.get(offset).copied(),
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpfold_ir::TrapCode;

    fn store(thread: u64, address: u64, value: u128) -> Event {
        Event {
            thread,
            kind: EventKind::Store,
            address,
            bytes: 4,
            value,
            origin: Origin::new(3, 9),
        }
    }

    fn trap(thread: u64, line: u32) -> Event {
        Event {
            thread,
            kind: EventKind::Trap(TrapCode::User(1)),
            address: 0,
            bytes: 0,
            value: 0,
            origin: Origin::new(5, line),
        }
    }

    #[test]
    fn equal_logs_do_not_differ() {
        let log = [store(0, 16, 1), trap(0, 4), store(2, 20, 2)];
        assert_eq!(in_events(&log, &log), None);
        let mut moved = log;
        moved[0].origin = Origin::new(8, 8);
        assert_eq!(in_events(&log, &moved), None, "a store's place is free");
        assert_eq!(in_events(&[], &[]), None);
    }

    #[test]
    fn the_first_difference_of_the_lowest_thread_is_named() {
        let before = [store(0, 16, 1), store(1, 16, 1), store(1, 20, 7)];
        let after = [store(0, 16, 1), store(1, 16, 1), store(1, 20, 8)];
        let d = in_events(&before, &after).unwrap();
        assert_eq!(
            d.to_string(),
            "event 1 of thread 1: store of 0x7 at 0x14 (line 9) before, \
             store of 0x8 at 0x14 (line 9) after"
        );
        assert_eq!(d.origin(), Some(Origin::new(3, 9)));
        // A thread that stops early: the next thread's event is not its own.
        let shorter = [store(0, 16, 1), store(2, 16, 1)];
        let longer = [store(0, 16, 1), store(0, 20, 1), store(2, 16, 1)];
        for (a, b, text) in [
            (
                &shorter[..],
                &longer[..],
                "event 1 of thread 0: none before, store of 0x1 at 0x14 (line 9) after",
            ),
            (
                &longer[..],
                &shorter[..],
                "event 1 of thread 0: store of 0x1 at 0x14 (line 9) before, none after",
            ),
        ] {
            assert_eq!(in_events(a, b).unwrap().to_string(), text);
        }
    }

    #[test]
    fn the_place_of_a_trap_counts() {
        let d = in_events(&[trap(3, 4)], &[trap(3, 6)]).unwrap();
        assert_eq!(
            d.to_string(),
            "event 0 of thread 3: trap user1 (line 4) before, trap user1 (line 6) after"
        );
    }

    #[test]
    fn memory_differs_at_a_byte() {
        let memory = |bytes: &[u8]| {
            let mut m = Memory::new();
            m.add(vec![0; 8], false);
            m.add(bytes.to_vec(), false);
            m
        };
        let (a, b) = (memory(&[1, 2, 3]), memory(&[1, 2, 4]));
        assert_eq!(in_memory(&a, &a), None);
        assert_eq!(
            in_memory(&a, &b).unwrap().to_string(),
            "byte 2 of buffer 1 is 0x03 before, 0x04 after"
        );
        assert_eq!(
            in_memory(&a, &memory(&[1, 2])).unwrap().to_string(),
            "byte 2 of buffer 1 is 0x03 before, nothing after"
        );
    }
}
