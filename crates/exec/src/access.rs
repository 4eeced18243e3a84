//! Loads and stores: 32 addresses, each checked, through the address space.
//!
//! A lane whose access is misaligned where the access demands alignment, or
//! not mapped as a whole, traps and moves nothing; the others go through. Lanes
//! go in order, so where two store to one address the higher lane's value
//! stays. A full warp that reads or writes neighbouring elements of one buffer
//! takes a path of its own with a single check.

use std::ops::Deref;

use warpfold_ir::{MemFlags, TrapCode};

use crate::counters::{Counters, Side};
use crate::local::LocalStack;
use crate::memory::{GLOBAL_BASE, LOCAL_BASE, Location, Memory, SHARED_BASE};
use crate::program::{Access, Op};
use crate::registers::{Kind, LANES, Lane, On, Registers, by_kind, lanes_of, put};
use crate::transactions::{Extent, local, wavefronts};

/// All memory that a warp reaches.
pub(crate) struct Spaces<'a> {
    pub memory: &'a mut Memory,
    pub shared: &'a mut [u8],
    /// The slots of the warp's frames.
    pub local: &'a mut LocalStack,
}

/// What became of an access, as masks of lanes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub address: [u64; LANES],
    /// Lanes that went through, by space.
    pub global: u32,
    pub shared: u32,
    pub local: u32,
    /// Lanes that trapped, by `Registers::fault`.
    pub faults: u32,
    /// Whether a store changed a byte.
    pub changed: bool,
    /// Whether all lanes together cover one stretch of global memory, in lane order.
    row: bool,
}

/// A mapped place of one lane.
pub(crate) enum Found {
    Global(Location),
    Shared(usize),
    Local(usize),
}

impl Spaces<'_> {
    /// Finds `len` bytes at `address` as lane `lane` sees it. `buffer` is a
    /// guess, and then what was found.
    #[inline(always)]
    fn find(&self, lane: usize, address: u64, len: usize, buffer: &mut usize) -> Option<Found> {
        if address >= GLOBAL_BASE {
            let at = match self.memory.locate_in(*buffer, address, len) {
                Some(at) => at,
                None => self.memory.locate(address, len)?,
            };
            *buffer = at.buffer;
            Some(Found::Global(at))
        } else if address >= LOCAL_BASE {
            self.local.find(lane, address, len).map(Found::Local)
        } else {
            let offset = address.checked_sub(SHARED_BASE)? as usize;
            (offset + len <= self.shared.len()).then_some(Found::Shared(offset))
        }
    }

    /// Bytes that were found.
    #[inline(always)]
    pub(crate) fn slice(&self, found: &Found, len: usize) -> &[u8] {
        match *found {
            Found::Global(at) => self.memory.slice(at, len),
            Found::Shared(at) => &self.shared[at..at + len],
            Found::Local(at) => self.local.slice(at, len),
        }
    }

    /// The same to write them, if they can be written.
    #[inline(always)]
    pub(crate) fn slice_mut(&mut self, found: &Found, len: usize) -> Option<&mut [u8]> {
        match *found {
            Found::Global(at) => self.memory.slice_mut(at, len),
            Found::Shared(at) => Some(&mut self.shared[at..at + len]),
            Found::Local(at) => Some(self.local.slice_mut(at, len)),
        }
    }

    /// The buffer part that all lanes of a full warp together cover, if their
    /// accesses are neighbours in lane order.
    fn row(&self, access: &Access, address: &[u64; LANES], on: On) -> Option<Location> {
        let n = u64::from(access.bytes);
        let first = address[0];
        let mut apart = 0;
        for (i, &a) in address.iter().enumerate() {
            apart |= a ^ first.wrapping_add(i as u64 * n);
        }
        let fits = on.mask == u32::MAX
            && apart == 0
            && first >= GLOBAL_BASE
            && !misaligned(access, first)
            && !access.flags.contains(MemFlags::BIG);
        if !fits {
            return None;
        }
        self.memory.locate(first, LANES * access.bytes as usize)
    }
}

impl Request {
    pub(crate) fn new(address: [u64; LANES]) -> Self {
        Self {
            address,
            global: 0,
            shared: 0,
            local: 0,
            faults: 0,
            changed: false,
            row: false,
        }
    }

    /// Lanes that went through.
    pub(crate) fn done(&self) -> u32 {
        self.global | self.shared | self.local
    }

    /// Counts the transactions.
    pub(crate) fn count(&self, counters: &mut Counters, access: &Access, side: Side) {
        let (address, bytes) = (&self.address, u64::from(access.bytes));
        if self.global != 0 {
            let t = counters.global.side(side);
            t.requests += 1;
            let extent = match self.row {
                true => Extent::of_stretch(address[0], LANES as u64 * bytes),
                false => Extent::of(address, self.global, bytes),
            };
            t.sectors += extent.sectors;
            t.ideal += extent.ideal_sectors();
            t.lines += extent.lines;
        }
        if self.shared != 0 {
            let t = counters.shared.side(side);
            let w = wavefronts(address, self.shared, bytes);
            t.requests += 1;
            t.wavefronts += w;
            t.ideal += Extent::of(address, self.shared, bytes).ideal_wavefronts();
            t.conflicts += w - 1;
        }
        if self.local != 0 {
            let t = counters.local.side(side);
            let extent = local(address, self.local, bytes);
            t.requests += 1;
            t.sectors += extent.sectors;
            t.ideal += extent.ideal_sectors();
            t.lines += extent.lines;
        }
    }

    #[inline(always)]
    fn fault(&mut self, codes: &mut [TrapCode; LANES], lane: usize, code: TrapCode) {
        self.faults |= 1 << lane;
        codes[lane] = code;
    }

    #[inline(always)]
    fn through(&mut self, lane: usize, found: &Found) {
        match found {
            Found::Global(_) => self.global |= 1 << lane,
            Found::Shared(_) => self.shared |= 1 << lane,
            Found::Local(_) => self.local |= 1 << lane,
        }
    }
}

/// Addresses of all lanes; those of 32 bits zero-extend.
#[inline(always)]
pub(crate) fn addresses(r: &Registers, access: &Access) -> [u64; LANES] {
    let mut out = [0; LANES];
    let (reg, offset) = (usize::from(access.at), access.offset);
    match access.address {
        Kind::W64 => {
            for (to, &a) in out.iter_mut().zip(&u64::file(r)[reg].0) {
                *to = a.wrapping_add_signed(offset);
            }
        }
        _ => {
            for (to, &a) in out.iter_mut().zip(&u32::file(r)[reg].0) {
                *to = u64::from(a).wrapping_add_signed(offset);
            }
        }
    }
    out
}

fn misaligned(access: &Access, address: u64) -> bool {
    access.flags.contains(MemFlags::ALIGNED)
        && !address.is_multiple_of(u64::from(access.bytes.max(1)))
}

/// The number that some bytes in memory hold.
#[inline(always)]
pub(crate) fn read<T: Lane>(bytes: &[u8], access: &Access) -> T {
    if !access.flags.contains(MemFlags::BIG) {
        return T::read(bytes, access.signed);
    }
    let mut turned = [0; 16];
    let turned = &mut turned[..bytes.len()];
    turned.copy_from_slice(bytes);
    turned.reverse();
    T::read(turned, access.signed)
}

/// Puts a number into memory; says whether that changed the bytes there.
#[inline(always)]
pub(crate) fn write<T: Lane>(x: T, bytes: &mut [u8], access: &Access) -> bool {
    if !access.flags.contains(MemFlags::BIG) {
        return x.write(bytes);
    }
    bytes.reverse();
    let changed = x.write(bytes);
    bytes.reverse();
    changed
}

/// Goes through the lanes that are on, in order. `go` accesses what a lane found and
/// says whether that changed it; `None` where it cannot be written. Lanes that get
/// nowhere fault.
#[inline(always)]
pub(crate) fn each_lane<'a, S: Deref<Target = Spaces<'a>>>(
    r: &mut Registers,
    mut spaces: S,
    access: &Access,
    on: On,
    request: &mut Request,
    mut go: impl FnMut(&mut Registers, &mut S, usize, &Found) -> Option<bool>,
) {
    let mut codes = [access.flags.trap_code(); LANES];
    let mut buffer = 0;
    for i in lanes_of(on.mask) {
        let address = request.address[i];
        if misaligned(access, address) {
            request.fault(&mut codes, i, TrapCode::HeapMisaligned);
            continue;
        }
        let found = spaces.find(i, address, access.bytes as usize, &mut buffer);
        let changed = match &found {
            Some(found) => go(r, &mut spaces, i, found),
            None => None,
        };
        match (found, changed) {
            (Some(found), Some(changed)) => {
                request.changed |= changed;
                request.through(i, &found);
            }
            _ => request.fault(&mut codes, i, access.flags.trap_code()),
        }
    }
    if request.faults != 0 {
        r.fault = codes;
    }
}

/// Executes a load in the lanes that are on.
pub(crate) fn load(
    r: &mut Registers,
    spaces: &Spaces<'_>,
    op: &Op,
    access: &Access,
    on: On,
) -> Request {
    let address = addresses(r, access);
    by_kind!(access.kind,
        T => load_as::<T>(r, spaces, op, access, on, address),
        pred => Request::new(address))
}

#[inline(never)]
fn load_as<T: Lane>(
    r: &mut Registers,
    spaces: &Spaces<'_>,
    op: &Op,
    access: &Access,
    on: On,
    address: [u64; LANES],
) -> Request {
    let n = access.bytes as usize;
    let mut request = Request::new(address);
    let mut new = [T::default(); LANES];
    if let Some(at) = spaces.row(access, &address, on) {
        let bytes = spaces.memory.slice(at, LANES * n);
        for (x, chunk) in new.iter_mut().zip(bytes.chunks_exact(n)) {
            *x = T::read(chunk, access.signed);
        }
        request.global = u32::MAX;
        request.row = true;
    } else {
        each_lane(
            r,
            spaces,
            access,
            on,
            &mut request,
            |_, spaces, i, found| {
                new[i] = read(spaces.slice(found, n), access);
                Some(false)
            },
        );
    }
    let on = On {
        mask: request.done(),
        all: on.all && request.faults == 0,
    };
    put(&mut T::file_mut(r)[usize::from(op.dst)], new, on);
    request
}

/// Executes a store in the lanes that are on.
pub(crate) fn store(
    r: &mut Registers,
    spaces: &mut Spaces<'_>,
    op: &Op,
    access: &Access,
    on: On,
) -> Request {
    let address = addresses(r, access);
    by_kind!(access.kind,
        T => store_as::<T>(r, spaces, op, access, on, address),
        pred => Request::new(address))
}

#[inline(never)]
fn store_as<T: Lane>(
    r: &mut Registers,
    spaces: &mut Spaces<'_>,
    op: &Op,
    access: &Access,
    on: On,
    address: [u64; LANES],
) -> Request {
    let n = access.bytes as usize;
    let mut request = Request::new(address);
    let values = T::file(r)[usize::from(op.a)].0;
    if let Some(at) = spaces.row(access, &address, on)
        && let Some(bytes) = spaces.memory.slice_mut(at, LANES * n)
    {
        for (x, chunk) in values.iter().zip(bytes.chunks_exact_mut(n)) {
            request.changed |= x.write(chunk);
        }
        request.global = u32::MAX;
        request.row = true;
        return request;
    }
    each_lane(
        r,
        spaces,
        access,
        on,
        &mut request,
        |_, spaces, i, found| {
            let bytes = spaces.slice_mut(found, n)?;
            Some(write(values[i], bytes, access))
        },
    );
    request
}
