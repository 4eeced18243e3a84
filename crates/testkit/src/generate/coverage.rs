//! What generated programs contain.

use std::collections::BTreeMap;
use std::fmt;

/// How often each thing was written: control shapes and idioms by the names
/// in [`SHAPES`], and CLIF opcodes by theirs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Coverage {
    /// By name from [`SHAPES`].
    pub shapes: BTreeMap<&'static str, u64>,
    /// By mnemonic.
    pub ops: BTreeMap<&'static str, u64>,
}

/// Every shape and idiom that the generator can write, with what it is.
pub const SHAPES: &[(&str, &str)] = &[
    ("triangle", "one side, the other edge goes to the join"),
    ("diamond", "two sides"),
    (
        "degenerate",
        "both edges to one block, with different arguments",
    ),
    ("mirrored", "a triangle whose side is on the false edge"),
    ("nested", "a branch in a side of another"),
    ("and-chain", "two tests in a row that share the false side"),
    ("or-chain", "two tests in a row that share the true side"),
    ("switch", "a `br_table` with sides of its own"),
    (
        "switch-shared",
        "a `br_table` several of whose entries go to one side",
    ),
    ("switch-wide", "a `br_table` with 66 entries"),
    (
        "tangle",
        "blocks without a cycle that are entered from several others",
    ),
    (
        "twins",
        "both sides do the same operations on different operands",
    ),
    ("store-both", "both sides store to one place"),
    ("atomic-both", "both sides add to one place, atomically"),
    ("loop-lane", "a loop with the lane's own trip count"),
    ("loop-uniform", "a loop with a uniform trip count"),
    ("loop-bottom", "a loop that tests at its end"),
    (
        "loop-memory",
        "a loop that goes on by what lies in memory that the kernel writes",
    ),
    ("loop-break", "a loop with a second exit"),
    ("irreducible", "a loop with two entries"),
    (
        "loop-swap",
        "a back edge that passes a loop's parameters crosswise",
    ),
    ("early-return", "a side that only returns"),
    (
        "shared-return",
        "the same, in a block that several branches share",
    ),
    ("return-tail", "a side that works, stores, and then returns"),
    (
        "late-block",
        "a side that stands at the end of the function",
    ),
    ("trap-side", "a side that only traps"),
    ("trap-check", "`trapz` or `trapnz`"),
    ("div-checked", "a division behind a test of its divisor"),
    ("div-constant", "a division by a constant"),
    (
        "div-bare",
        "a division whose divisor is never 0, which nothing proves",
    ),
    (
        "load-checked",
        "a load behind a test of its index, which must not move above it",
    ),
    ("load-free", "a load with `can_move`"),
    ("load-chased", "a load whose address was loaded"),
    ("load-own", "a load of what the lane itself may have stored"),
    ("store-arm", "a store inside a side"),
    ("stack", "loads and stores of the lane's stack slot"),
    (
        "shared-own",
        "loads and stores of the lane's own shared memory",
    ),
    ("params", "a join with parameters"),
    (
        "idiom-number",
        "a choice between constants: 0 and 1, 0 and -1, two equal ones",
    ),
    (
        "idiom-extreme",
        "a choice between two integers by a comparison of them",
    ),
    ("idiom-clamp", "a number held between two constants"),
    (
        "idiom-absolute",
        "a choice between a number and its negative by its sign",
    ),
    (
        "idiom-float",
        "a choice between two floats by a comparison of them",
    ),
    ("idiom-truth", "a choice between truth values"),
    (
        "idiom-chain",
        "one of these behind `&&`, `||` or a mix of them",
    ),
    (
        "idiom-cross",
        "the same where a failing test goes to what a holding one chooses",
    ),
    ("cross-lane", "a vote, ballot or shuffle"),
    ("cross-lane-arm", "the same inside a side"),
    (
        "barrier",
        "an exchange through shared memory between barriers",
    ),
    (
        "barrier-arm",
        "such an exchange in a side that all lanes take or none",
    ),
    ("call", "a call of a function that calls itself"),
    ("call-arm", "such a call inside a side"),
    ("call-inlined", "a call of a function that does not"),
    ("deep", "nine triangles, each inside the one before"),
    ("fires", "a trap that some lane is meant to take"),
];

impl Coverage {
    /// Counts one of `shape`.
    pub(crate) fn shape(&mut self, shape: &'static str) {
        debug_assert!(SHAPES.iter().any(|(name, _)| *name == shape), "{shape}");
        *self.shapes.entry(shape).or_default() += 1;
    }

    /// Counts one of an opcode.
    pub(crate) fn op(&mut self, op: &'static str) {
        *self.ops.entry(op).or_default() += 1;
    }

    /// Adds another program's.
    pub fn add(&mut self, other: &Self) {
        for (&name, n) in &other.shapes {
            *self.shapes.entry(name).or_default() += n;
        }
        for (&name, n) in &other.ops {
            *self.ops.entry(name).or_default() += n;
        }
    }

    /// The shapes that do not occur, other than those named.
    pub fn missing(&self, except: &[&str]) -> Vec<&'static str> {
        SHAPES
            .iter()
            .map(|&(name, _)| name)
            .filter(|name| !self.shapes.contains_key(name) && !except.contains(name))
            .collect()
    }
}

/// One line for the shapes, one for the opcodes.
impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, map) in [&self.shapes, &self.ops].into_iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            for (j, (name, n)) in map.iter().enumerate() {
                write!(f, "{}{name} {n}", if j > 0 { ", " } else { "" })?;
            }
        }
        Ok(())
    }
}
