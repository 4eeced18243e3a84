//! The compact form of a function that the warps run; see
//! [`decode`](crate::decode) for how it comes about.

use std::ops::Range;
use std::rc::Rc;

use cranelift_entity::SecondaryMap;
use warpfold_analysis::Yields;
use warpfold_ir::{Block, Function, Inst, MemFlags, Origin, TrapCode, Value};

use crate::memory::SlotPlace;
use crate::moves::Move;
use crate::outcome::Site;
use crate::registers::{Kind, Place, Reg};

/// An instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    /// Opcode and type; see [`code`].
    pub code: u16,
    /// Result register.
    pub dst: Reg,
    /// First operand.
    pub a: Reg,
    /// Second operand.
    pub b: Reg,
    /// Third operand; or the number of a condition code, of an operand's type
    /// or of an [`Access`]; or how many operands a `warp_sync` has.
    pub c: u16,
    /// Number of a [`GuardCode`], or [`NO_GUARD`].
    pub guard: u16,
}

/// The guard of an unguarded instruction.
pub(crate) const NO_GUARD: u16 = u16::MAX;

/// A guard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GuardCode {
    pub pred: Reg,
    /// XORed to the predicate: all ones for a negated guard.
    pub flip: u32,
    /// Result register and `else` value.
    pub otherwise: Option<(Place, Reg)>,
}

/// A memory access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    /// Bytes moved.
    pub bytes: u32,
    pub signed: bool,
    /// File of the value loaded or stored.
    pub kind: Kind,
    /// File of the address.
    pub address: Kind,
    /// Register of the address.
    pub at: Reg,
    pub atomic: bool,
    pub offset: i64,
    pub flags: MemFlags,
}

/// How many issues some stretch has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Issues {
    pub all: u64,
    /// Those without a guard.
    pub bare: u64,
}

/// A stretch of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub first: u32,
    pub end: u32,
    /// Issues, with the terminator's in the last segment.
    pub issues: Issues,
    /// Whether the block's terminator follows.
    pub last: bool,
    pub block: Block,
}

/// How a block ends.
#[derive(Clone, Debug)]
pub(crate) enum Term {
    Jump(u32),
    Branch(u32),
    Ret(Range<u32>),
    Trap(TrapCode),
    /// A call in tail position.
    Call(u32),
}

/// Whom a call calls.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CallKind {
    /// The function at this position.
    Direct(usize),
    /// The function at an address, if it has the signature of this number.
    Indirect { address: Place, signature: u32 },
}

/// A call.
#[derive(Clone, Debug)]
pub(crate) struct CallCode {
    pub target: CallKind,
    /// In [`Program::call_places`].
    pub args: Range<u32>,
    /// Likewise; none of a call in tail position.
    pub results: Range<u32>,
}

/// A block.
#[derive(Clone, Debug)]
pub(crate) struct BlockCode {
    pub segments: Range<u32>,
    pub term: Term,
}

/// What decides a branch.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cond {
    Pred(Reg),
    Index(Place),
}

/// A `br` or `switch`.
#[derive(Clone, Debug)]
pub(crate) struct BranchCode {
    pub block: Block,
    pub cond: Cond,
    pub join: Option<Block>,
    /// Whether the textbook's join is later.
    pub deferred: bool,
    /// Charged as proven: marked so, or with a single target block.
    pub proven: bool,
    pub edges: Range<u32>,
}

/// An edge.
#[derive(Clone, Debug)]
pub(crate) struct EdgeCode {
    pub target: Block,
    pub moves: Range<u32>,
    /// Whether it leads back in reverse postorder. Every cycle has such an edge.
    pub back: bool,
}

/// A decoded function.
#[derive(Clone, Debug)]
pub(crate) struct Program<'a> {
    pub func: &'a Function,
    pub ops: Vec<Op>,
    /// The instruction of each op.
    pub insts: Vec<Inst>,
    pub segments: Vec<Segment>,
    /// By block; those not laid out have no segments.
    pub blocks: SecondaryMap<Block, Option<BlockCode>>,
    pub branches: Vec<BranchCode>,
    pub edges: Vec<EdgeCode>,
    pub moves: Vec<Move>,
    pub guards: Vec<GuardCode>,
    pub accesses: Vec<Access>,
    pub calls: Vec<CallCode>,
    /// Registers of arguments and results of calls.
    pub call_places: Vec<Place>,
    /// Number of the function's signature.
    pub signature: u32,
    /// Registers to fill before a warp starts.
    pub constants: Vec<(Place, u128)>,
    /// Registers of slot addresses, and what they hold in a frame whose slots
    /// begin where local memory does.
    pub slot_addresses: Vec<(Place, u64)>,
    /// Registers of the parameters.
    pub params: Vec<Place>,
    /// Registers of returned values, `ret` by `ret`.
    pub returned: Vec<Place>,
    /// Registers of all values.
    pub places: SecondaryMap<Value, Option<Place>>,
    pub entry: Block,
    /// Registers of each file.
    pub sizes: [usize; Kind::COUNT],
    pub slots: Rc<[SlotPlace]>,
    /// Local bytes of a lane.
    pub local: u64,
    /// Alignment of local memory.
    pub local_align: u64,
    /// Whether an address is 32 bits wide.
    pub narrow_pointers: bool,
    /// Back edges on which lanes give way; none in stack mode.
    pub yields: Yields,
}

impl Program<'_> {
    /// The issues of some ops, with the terminator's if `last`.
    pub(crate) fn issues(&self, first: u32, end: u32, last: bool) -> Issues {
        let ops = &self.ops[first as usize..end as usize];
        let guarded = ops.iter().filter(|op| op.guard != NO_GUARD).count() as u64;
        let all = ops.len() as u64 + u64::from(last);
        Issues {
            all,
            bare: all - guarded,
        }
    }

    /// Where op `i` stands in the function.
    pub(crate) fn site(&self, op: usize) -> (Site, Origin) {
        let inst = self.insts[op];
        (Site::Inst(inst), self.func.inst(inst).origin)
    }

    /// Where the instruction or terminator at a place came from.
    pub(crate) fn origin(&self, site: Site) -> Origin {
        match site {
            Site::Inst(inst) => self.func.inst(inst).origin,
            Site::Term(b) | Site::Yield(b) => self.func.block(b).origin,
        }
    }

    /// Where a block ends.
    pub(crate) fn term_site(&self, b: Block) -> (Site, Origin) {
        (Site::Term(b), self.func.block(b).origin)
    }

    /// Bytes that a warp's registers and slots take.
    pub(crate) fn warp_bytes(&self) -> u64 {
        let kinds = [
            Kind::W8,
            Kind::W16,
            Kind::W32,
            Kind::W64,
            Kind::W128,
            Kind::Pred,
        ];
        let registers: u64 = kinds
            .iter()
            .map(|&k| self.sizes[k.index()] as u64 * k.register_bytes())
            .sum();
        registers + 32 * self.local
    }
}
