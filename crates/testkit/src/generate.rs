//! A generator of small valid CLIF kernels, each with its launch.
//!
//! Every choice is read from a string of bytes, so the same generator is
//! driven by proptest, libFuzzer or a plain random number generator, and a
//! program shrinks as its bytes do. What comes out is text: a kernel file with
//! its launch in `;!` lines, which the command line runs as it is.
//!
//! By construction each program
//!
//! - is valid CLIF that the road supports, and ends: loops run at most four
//!   times and nest twice;
//! - is free of races: a lane stores only to 32 bytes of the output buffer, of
//!   shared memory and of its stack that are its own, and reads others' only
//!   between two barriers;
//! - does not trap, unless [`Options::traps`] asks for it; but much of it
//!   would if code ran in lanes it was not meant for: divisors are zero behind
//!   their tests, indices out of bounds behind theirs;
//! - never lets the bits of a NaN that arithmetic made reach memory, a result
//!   or an integer, since which NaN arithmetic makes is left open;
//! - depends on which lanes run together only if [`Options::cross_lane`] asks
//!   for that, and reaches barriers with all of its live lanes: once lanes may leave
//!   from behind a barrier to a return that is laid out after the last one, which
//!   thereby becomes where lanes meet, there is no further barrier.
//!
//! What is in it, [`Coverage`] says.
//!
//! ```
//! use warpfold_testkit::generate::{Options, generate};
//!
//! let program = generate(&[3, 1, 4, 1, 5, 9, 2, 6], &Options::default());
//! assert!(program.text.contains("function %generated("));
//! let empty = generate(&[], &Options::default());
//! assert!(empty.text.len() < program.text.len());
//! ```

mod access;
mod bytes;
mod calls;
mod checked;
mod conditions;
mod coverage;
mod cross;
mod idioms;
mod loops;
mod ops;
mod shapes;
mod tangled;
mod twins;
mod writer;

pub use bytes::{Bytes, random_bytes};
pub use coverage::{Coverage, SHAPES};

use writer::{Blk, Ty, Val, Writer};

/// What programs may contain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Traps that fire in some lanes.
    pub traps: bool,
    /// Votes, ballots, shuffles and barriers.
    pub cross_lane: bool,
    /// Shared memory.
    pub shared: bool,
    /// Loops that go on by what lies in memory that the kernel writes: with
    /// independent thread scheduling lanes give way in them, and what lanes see of
    /// each other afterwards depends on the mode.
    pub waits: bool,
    /// Calls of two functions that stand in the file too: one calls itself and stays a
    /// call, the other is inlined.
    pub calls: bool,
    /// Every other statement is a choice between two values that some instruction
    /// makes without a branch.
    pub choices: bool,
    /// How deep branches and loops nest.
    pub depth: u32,
    /// Statements in all, at most.
    pub statements: u32,
}

impl Default for Options {
    /// No traps, nothing that depends on other lanes, five levels, 60
    /// statements.
    fn default() -> Self {
        Self {
            traps: false,
            cross_lane: false,
            shared: false,
            waits: false,
            calls: false,
            choices: false,
            depth: 5,
            statements: 60,
        }
    }
}

/// A generated program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// The kernel file: the launch in `;!` lines, and one CLIF function.
    pub text: String,
    /// What it contains.
    pub coverage: Coverage,
    /// Whether its lanes see each other, so that running them one at a time
    /// means something else.
    pub crosses_lanes: bool,
}

/// Generates the program that `bytes` stand for.
pub fn generate(bytes: &[u8], options: &Options) -> Program {
    Generator::new(bytes, *options).run()
}

/// Addresses of the inputs, parameters of the entry block.
struct Inputs {
    /// 68 numbers from 0 to 15.
    small: Val,
    /// 64 integers, many of them at the edges.
    ints: Val,
    /// 64 floats.
    floats: Val,
    /// 8 integers, with nothing mapped behind them.
    table: Val,
    /// 64 numbers from 1000 to 1015, with nothing mapped around them.
    far: Val,
}

/// The state of the generator.
pub(crate) struct Generator<'a> {
    bytes: Bytes<'a>,
    options: Options,
    w: Writer,
    inputs: Inputs,
    /// Linear thread of the block and of the grid.
    tid: Val,
    global: Val,
    /// A number that is the same in every lane.
    scalar: Val,
    /// A number that is not.
    varying: Val,
    /// The lane's own 32 bytes of the output buffer.
    out: Val,
    /// Values from 0 to 15.
    small: Vec<Val>,
    results: Vec<Ty>,
    /// A block that only ends the lane, for several branches.
    way_out: Option<Blk>,
    grid: u32,
    dims: [u32; 3],
    threads: u32,
    /// Whether there is a stack slot, and shared memory.
    slots: bool,
    shared: bool,
    /// Values of the pool that the entry defines before anything else.
    entry_scope: usize,
    depth: u32,
    loops: u32,
    budget: u32,
    crossed: bool,
    /// Whether a barrier was written; and whether none may follow, because a lane that
    /// is past one may leave to a return behind the last one in layout.
    exchanged: bool,
    left_behind: bool,
}

/// Sizes of a block: powers of two, partial warps, several dimensions.
const BLOCKS: &[[u32; 3]] = &[
    [32, 1, 1],
    [40, 1, 1],
    [8, 4, 1],
    [64, 1, 1],
    [7, 1, 1],
    [5, 3, 3],
    [1, 1, 1],
    [33, 1, 1],
];

const PARAMS: [Ty; 10] = [
    Ty::I64,
    Ty::I64,
    Ty::I64,
    Ty::I64,
    Ty::I64,
    Ty::I64,
    Ty::I32,
    Ty::I32,
    Ty::I64,
    Ty::F32,
];

impl<'a> Generator<'a> {
    fn new(bytes: &'a [u8], options: Options) -> Self {
        let mut bytes = Bytes::new(bytes);
        let dims = bytes.pick(BLOCKS);
        let grid = 1 + bytes.below(2) as u32;
        let count = [0, 0, 1, 2][bytes.below(4)];
        let results = (0..count).map(|_| bytes.pick(&Ty::ALL)).collect();
        let slots = bytes.chance(100);
        let shared = options.shared && bytes.chance(if options.cross_lane { 220 } else { 100 });
        let mut w = Writer::default();
        let entry = w.block(&PARAMS);
        w.open(entry);
        let [small, ints, floats, table, far, out, scalar, _, varying, _] = w.params(entry)[..]
        else {
            unreachable!("the entry was made with these parameters");
        };
        // Addresses are used by name only; what is computed on is in the pool.
        w.pool.drain(..6);
        for v in &mut w.pool {
            v.nan = false;
        }
        Self {
            bytes,
            options,
            w,
            inputs: Inputs {
                small,
                ints,
                floats,
                table,
                far,
            },
            tid: scalar,
            global: scalar,
            scalar,
            varying,
            out,
            small: Vec::new(),
            results,
            way_out: None,
            grid,
            dims,
            threads: dims.iter().product(),
            slots,
            shared,
            entry_scope: 0,
            depth: 0,
            loops: 0,
            budget: options.statements,
            crossed: false,
            exchanged: false,
            left_behind: false,
        }
    }

    fn run(mut self) -> Program {
        self.prologue();
        self.statements(1..=12);
        // What was computed last is what is left of most of the program.
        let last: Vec<Val> = self.w.pool.iter().rev().take(6).copied().collect();
        for (i, &v) in last.iter().enumerate() {
            self.keep(v, i);
        }
        self.finish_lane();
        if let Some(block) = self.way_out {
            // Only what the entry defines is defined on every way here.
            self.w.pool.truncate(self.entry_scope);
            self.w.open(block);
            self.finish_lane();
        }
        let mut text = self.header();
        let slots: &[u32] = if self.slots { &[16] } else { &[] };
        let callees = self.callees();
        let coverage = std::mem::take(&mut self.w.coverage);
        text += &self.w.finish("generated", &PARAMS, &self.results, slots);
        text += &callees;
        Program {
            text,
            coverage,
            crosses_lanes: self.crossed,
        }
    }

    /// Which thread this is, and where its own bytes lie.
    fn prologue(&mut self) {
        let [x, y, z] = self.dims;
        let id = |w: &mut Writer, name| {
            w.call(name, &[], Some(Ty::I32))
                .expect("a call with a result yields one")
        };
        let mut tid = id(&mut self.w, "tid_x");
        for (name, size, needed) in [("tid_y", x, y * z > 1), ("tid_z", x * y, z > 1)] {
            if needed {
                let t = id(&mut self.w, name);
                let size = self.int(Ty::I32, size.into());
                let t = self.w.ins(Ty::I32, "imul", &[t, size]);
                tid = self.w.ins(Ty::I32, "iadd", &[tid, t]);
            }
        }
        self.tid = tid;
        self.global = tid;
        if self.grid > 1 {
            let block = id(&mut self.w, "ctaid_x");
            let size = self.int(Ty::I32, self.threads.into());
            let first = self.w.ins(Ty::I32, "imul", &[block, size]);
            self.global = self.w.ins(Ty::I32, "iadd", &[first, tid]);
        }
        let (base, global) = (self.out, self.global);
        self.out = self.address(base, global, 32);
        if self.slots {
            let base = self.w.def(Ty::I64, "stack_addr", true, "ss0");
            for offset in [0, 8] {
                let v = self.int(Ty::I64, 3 * offset);
                let rest = format!("notrap aligned v{}, v{}+{offset}", v.id, base.id);
                self.w.act("store", &rest);
            }
        }
        // Addresses and sizes make dull operands.
        let keep = [self.tid, self.global];
        self.w
            .pool
            .retain(|v| keep.contains(v) || v.id < PARAMS.len() as u32);
        self.entry_scope = self.w.pool.len();
    }

    /// The launch.
    fn header(&mut self) -> String {
        let [x, y, z] = self.dims;
        let threads = self.grid * self.threads;
        let scalar = self.bytes.below(11);
        let seed = self.bytes.byte();
        let shared = if self.shared { 36 * self.threads } else { 0 };
        let mut text = format!(
            ";! grid = {}\n;! block = [{x}, {y}, {z}]\n;! shared = {shared}\n",
            self.grid
        );
        let out = 4 * threads;
        for arg in [
            format!("buffer = \"i32\"\n;! len = 68\n;! readonly = true\n;! init = {{ random = {{ min = 0, max = 15, seed = {seed} }} }}"),
            "buffer = \"i64\"\n;! len = 64\n;! readonly = true\n;! init = { values = [0, 1, -1, 127, 128, 255, -128, 32767, 65536, 2147483647, -2147483648, 4294967296, 9223372036854775807, -9223372036854775808, 5, -7, 100] }".into(),
            "buffer = \"f32\"\n;! len = 64\n;! readonly = true\n;! init = { values = [0.0, 1.0, -1.5, 1000.25, -0.0, 3e9, 1e-30, -2e20, 0.5, 7.0, 255.5] }".into(),
            "buffer = \"i64\"\n;! len = 8\n;! readonly = true\n;! init = { values = [9, -4, 77, 0, 1000000, -1, 3, 12345] }".into(),
            format!(
                "buffer = \"i32\"\n;! len = 64\n;! readonly = true\n;! init = {{ random = {{ min = 1000, max = 1015, seed = {seed} }} }}"
            ),
            format!("buffer = \"i64\"\n;! len = {out}\n;! init = {{ random = {{ min = -50, max = 50, seed = {seed} }} }}"),
            format!("scalar = {scalar}"),
            format!("varying = {{ random = {{ min = -20, max = 20, seed = {seed} }} }}"),
            "varying = \"global * 1234567 % 1001\"".into(),
            "varying = { values = [0.25, -3.5, 1e10] }".into(),
        ] {
            text += &format!(";! [[arg]]\n;! {arg}\n");
        }
        text + "\n"
    }
}
