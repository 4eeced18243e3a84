//! Where a peer disagrees or has no answer, and who is right.

use super::peers::End;

/// Who is asked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Peer {
    /// cranelift-interpreter.
    Interpreter,
    /// Code from cranelift-jit.
    Native,
}

/// Whether a disagreement is of the recorded kind: input, ours, theirs.
pub type Holds = fn(&[u128], &End, &End) -> bool;

/// What the peer says.
pub enum Says {
    /// It does not have the operation for these types.
    Nothing,
    /// It has no answer for some inputs.
    NothingSometimes,
    /// Something else, on inputs for which this holds.
    Otherwise(Holds),
}

impl Says {
    /// The same for records that can explain the same.
    pub fn kind(&self) -> u8 {
        match self {
            Self::Nothing => 0,
            Self::NothingSometimes => 1,
            Self::Otherwise(_) => 2,
        }
    }
}

/// A recorded disagreement.
pub struct Record {
    pub peer: Peer,
    pub ops: &'static [&'static str],
    /// Labels of cases; a `*` stands for anything.
    pub types: &'static [&'static str],
    pub says: Says,
    /// Words of the point of `docs/clif.md` that tells what it says and what
    /// is right.
    pub book: &'static str,
}

impl Record {
    /// Whether all of these are of the recorded kind.
    pub fn holds(&self, differs: &[(Vec<u128>, End, End)]) -> bool {
        match self.says {
            Says::Otherwise(holds) => differs.iter().all(|(i, a, b)| holds(i, a, b)),
            _ => true,
        }
    }
}

/// Whether the records of [`Peer::Native`] were made for this machine.
pub const NATIVE_KNOWN: bool = cfg!(target_arch = "x86_64");

/// Whether a pattern with at most one `*` matches a label.
pub fn matches(pattern: &str, label: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == label,
        Some((before, after)) => {
            label.len() >= before.len() + after.len()
                && label.starts_with(before)
                && label.ends_with(after)
        }
    }
}

const EVERY_INT: &[&str] = &["i8", "i16", "i32", "i64", "i128"];

const MAX: u128 = u128::MAX >> 1;
const MIN: u128 = 1 << 127;

fn is_trap(end: &End, code: &str) -> bool {
    matches!(end, End::Trap(c) if c == code)
}

fn is_value(end: &End, value: u128) -> bool {
    matches!(end, End::Values(v) if v[..] == [value])
}

/// An overflow that the carry takes back is reported.
fn carry_taken_back(_: &[u128], ours: &End, theirs: &End) -> bool {
    matches!((ours, theirs), (End::Values(a), End::Values(b))
        if a[0] == b[0] && (a[1], b[1]) == (0, 1))
}

/// From 2^127 on, where `fcvt_to_uint` to `i128` has a value or traps.
fn unsigned_by_signed(_: &[u128], ours: &End, theirs: &End) -> bool {
    let beyond = match ours {
        End::Values(v) => v[0] > MAX,
        _ => is_trap(ours, "int_ovf"),
    };
    beyond && is_value(theirs, MAX)
}

/// A number that does not fit becomes the nearest that does.
fn saturates(_: &[u128], ours: &End, theirs: &End) -> bool {
    is_trap(ours, "int_ovf") && (is_value(theirs, MAX) || is_value(theirs, MIN))
}

/// `srem` by -1.
fn remainder_overflows(_: &[u128], ours: &End, theirs: &End) -> bool {
    is_value(ours, 0) && is_trap(theirs, "int_ovf")
}

/// The whole number in place of either half.
fn no_halves(input: &[u128], ours: &End, theirs: &End) -> bool {
    let (low, high) = (input[0] & 0xffff_ffff, input[0] >> 32);
    *ours == End::Values(vec![low, high]) && *theirs == End::Values(vec![input[0]; 2])
}

/// Only alignment is at issue.
fn misaligned(_: &[u128], ours: &End, theirs: &End) -> bool {
    is_trap(ours, "heap_misaligned") && matches!(theirs, End::Values(_))
}

/// The other of the two truth values.
fn other_truth(_: &[u128], ours: &End, theirs: &End) -> bool {
    matches!((ours, theirs), (End::Values(a), End::Values(b)) if a[0] + b[0] == 1)
}

/// Everything that is known. CLIF's documentation is on the executor's side in
/// all of it, or leaves the matter open.
pub const RECORDED: &[Record] = &[
    Record {
        peer: Peer::Interpreter,
        ops: &["sadd_overflow_cin", "ssub_overflow_bin"],
        types: EVERY_INT,
        says: Says::Otherwise(carry_taken_back),
        book: "an overflow that the carry takes back",
    },
    Record {
        peer: Peer::Interpreter,
        ops: &["fcvt_to_uint", "fcvt_to_uint_sat"],
        types: &["f32 to i128", "f64 to i128"],
        says: Says::Otherwise(unsigned_by_signed),
        book: "from 2^127 on it saturates there",
    },
    Record {
        peer: Peer::Interpreter,
        ops: &["fcvt_to_sint"],
        types: &["f32 to i128", "f64 to i128"],
        says: Says::Otherwise(saturates),
        book: "the interpreter saturates",
    },
    Record {
        peer: Peer::Interpreter,
        ops: &["srem"],
        types: EVERY_INT,
        says: Says::Otherwise(remainder_overflows),
        book: "the interpreter traps with `int_ovf`",
    },
    Record {
        peer: Peer::Interpreter,
        ops: &["isplit"],
        types: &["i64"],
        says: Says::Otherwise(no_halves),
        book: "the whole number for both halves",
    },
    Record {
        peer: Peer::Interpreter,
        ops: &["atomic_load", "atomic_store", "atomic_cas"],
        types: &["i16+1", "i32+1", "i64+1", "i128+1"],
        says: Says::Otherwise(misaligned),
        book: "demands alignment to its width",
    },
    Record {
        peer: Peer::Interpreter,
        ops: &["atomic_rmw"],
        types: &["* i16+1", "* i32+1", "* i64+1", "* i128+1"],
        says: Says::Otherwise(misaligned),
        book: "demands alignment to its width",
    },
    Record {
        peer: Peer::Interpreter,
        ops: &["fcmp"],
        types: &[
            "eq f16", "one f16", "ueq f16", "lt f16", "le f16", "gt f16", "ge f16",
        ],
        says: Says::Otherwise(other_truth),
        book: "the interpreter orders them wrongly",
    },
    Record {
        peer: Peer::Interpreter,
        ops: &["fcmp"],
        types: &["ne f16", "ueq f16"],
        says: Says::NothingSometimes,
        book: "the interpreter orders them wrongly",
    },
    Record {
        peer: Peer::Interpreter,
        ops: &["fcmp"],
        types: &["uge f16", "ugt f16", "ule f16", "ult f16", "uno f16"],
        says: Says::Nothing,
        book: "Neither the interpreter nor the code for x86-64 has arithmetic on `f16`",
    },
    Record {
        peer: Peer::Interpreter,
        ops: &[
            "ceil",
            "fabs",
            "fadd",
            "fcopysign",
            "fdiv",
            "floor",
            "fma",
            "fmax",
            "fmin",
            "fmul",
            "fneg",
            "fsub",
            "nearest",
            "sqrt",
            "trunc",
            "band",
            "bitselect",
            "bor",
            "bnot",
            "bxor",
        ],
        types: &["f16"],
        says: Says::Nothing,
        book: "Neither the interpreter nor the code for x86-64 has arithmetic on `f16`",
    },
    Record {
        peer: Peer::Native,
        ops: &[
            "ceil",
            "fabs",
            "fadd",
            "fcopysign",
            "fdiv",
            "floor",
            "fma",
            "fmax",
            "fmin",
            "fmul",
            "fneg",
            "fsub",
            "nearest",
            "sqrt",
            "trunc",
            "band",
            "bitselect",
            "bor",
        ],
        types: &["f16"],
        says: Says::Nothing,
        book: "Neither the interpreter nor the code for x86-64 has arithmetic on `f16`",
    },
    Record {
        peer: Peer::Native,
        ops: &["fcmp"],
        types: &["* f16"],
        says: Says::Nothing,
        book: "Neither the interpreter nor the code for x86-64 has arithmetic on `f16`",
    },
    Record {
        peer: Peer::Interpreter,
        ops: &["fcvt_from_sint", "fcvt_from_uint"],
        types: &[
            "i8 to f16",
            "i16 to f16",
            "i32 to f16",
            "i64 to f16",
            "i128 to f16",
        ],
        says: Says::Nothing,
        book: "Neither the interpreter nor the code for x86-64 has arithmetic on `f16`",
    },
    Record {
        peer: Peer::Interpreter,
        ops: &[
            "fcvt_to_sint",
            "fcvt_to_sint_sat",
            "fcvt_to_uint",
            "fcvt_to_uint_sat",
        ],
        types: &[
            "f16 to i8",
            "f16 to i16",
            "f16 to i32",
            "f16 to i64",
            "f16 to i128",
        ],
        says: Says::Nothing,
        book: "Neither the interpreter nor the code for x86-64 has arithmetic on `f16`",
    },
    Record {
        peer: Peer::Interpreter,
        ops: &["fdemote"],
        types: &["f32 to f16", "f64 to f16"],
        says: Says::Nothing,
        book: "Neither the interpreter nor the code for x86-64 has arithmetic on `f16`",
    },
    Record {
        peer: Peer::Interpreter,
        ops: &["fpromote"],
        types: &["f16 to f32", "f16 to f64"],
        says: Says::Nothing,
        book: "Neither the interpreter nor the code for x86-64 has arithmetic on `f16`",
    },
    Record {
        peer: Peer::Native,
        ops: &["fcvt_from_sint", "fcvt_from_uint"],
        types: &[
            "i8 to f16",
            "i16 to f16",
            "i32 to f16",
            "i64 to f16",
            "i128 to f16",
        ],
        says: Says::Nothing,
        book: "Neither the interpreter nor the code for x86-64 has arithmetic on `f16`",
    },
    Record {
        peer: Peer::Native,
        ops: &[
            "fcvt_to_sint",
            "fcvt_to_sint_sat",
            "fcvt_to_uint",
            "fcvt_to_uint_sat",
        ],
        types: &[
            "f16 to i8",
            "f16 to i16",
            "f16 to i32",
            "f16 to i64",
            "f16 to i128",
        ],
        says: Says::Nothing,
        book: "Neither the interpreter nor the code for x86-64 has arithmetic on `f16`",
    },
    Record {
        peer: Peer::Native,
        ops: &["fdemote"],
        types: &["f32 to f16", "f64 to f16"],
        says: Says::Nothing,
        book: "Neither the interpreter nor the code for x86-64 has arithmetic on `f16`",
    },
    Record {
        peer: Peer::Native,
        ops: &["fpromote"],
        types: &["f16 to f32", "f16 to f64"],
        says: Says::Nothing,
        book: "Neither the interpreter nor the code for x86-64 has arithmetic on `f16`",
    },
    Record {
        peer: Peer::Interpreter,
        ops: &["umulhi", "smulhi"],
        types: &["i128"],
        says: Says::Nothing,
        book: "The interpreter has no `umulhi` and `smulhi` of `i128`",
    },
    Record {
        peer: Peer::Interpreter,
        ops: &["iconcat"],
        types: &["i8", "i16", "i32"],
        says: Says::Nothing,
        book: "The interpreter has no `umulhi` and `smulhi` of `i128`",
    },
    Record {
        peer: Peer::Interpreter,
        ops: &["isplit"],
        types: &["i16", "i32"],
        says: Says::Nothing,
        book: "The interpreter has no `umulhi` and `smulhi` of `i128`",
    },
    Record {
        peer: Peer::Native,
        ops: &["iconcat"],
        types: &["i8", "i16", "i32"],
        says: Says::Nothing,
        book: "The code for x86-64 lacks",
    },
    Record {
        peer: Peer::Native,
        ops: &["isplit"],
        types: &["i16", "i32", "i64"],
        says: Says::Nothing,
        book: "The code for x86-64 lacks",
    },
    Record {
        peer: Peer::Native,
        ops: &[
            "sadd_overflow_cin",
            "ssub_overflow_bin",
            "uadd_overflow_cin",
            "usub_overflow_bin",
        ],
        types: EVERY_INT,
        says: Says::Nothing,
        book: "The code for x86-64 lacks",
    },
    Record {
        peer: Peer::Native,
        ops: &[
            "sdiv", "smax", "smin", "smulhi", "srem", "udiv", "umax", "umin", "umulhi", "urem",
        ],
        types: &["i128"],
        says: Says::Nothing,
        book: "The code for x86-64 lacks",
    },
    Record {
        peer: Peer::Native,
        ops: &["fcvt_from_sint", "fcvt_from_uint"],
        types: &["i128 to f32", "i128 to f64"],
        says: Says::Nothing,
        book: "The code for x86-64 lacks",
    },
    Record {
        peer: Peer::Native,
        ops: &[
            "fcvt_to_sint",
            "fcvt_to_sint_sat",
            "fcvt_to_uint",
            "fcvt_to_uint_sat",
        ],
        types: &[
            "f32 to i8",
            "f32 to i16",
            "f32 to i128",
            "f64 to i8",
            "f64 to i16",
            "f64 to i128",
        ],
        says: Says::Nothing,
        book: "The code for x86-64 lacks",
    },
    Record {
        peer: Peer::Native,
        ops: &[
            "load", "store", "istore8", "istore16", "istore32", "uload8", "uload16", "uload32",
            "sload8", "sload16", "sload32",
        ],
        types: &["* big+0", "* big+3"],
        says: Says::Nothing,
        book: "The code for x86-64 lacks",
    },
];
