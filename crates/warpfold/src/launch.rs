//! Launches: with what grid, block and arguments a kernel is run.
//!
//! A kernel file states its own launch in comment lines that begin with `;!`;
//! together they are one TOML document. Every part can be overridden from
//! outside (the command line), and [`LaunchSpec::build`] turns what results
//! into an [`exec::Launch`](warpfold_exec::Launch) for one function, whose
//! signature supplies the types.
//!
//! ```text
//! ;! function = "clamp"       # which function is the kernel (default: the first)
//! ;! grid = 2                 # blocks: a number or [x, y, z] (default 1)
//! ;! block = 64               # threads of a block, likewise (default 32)
//! ;! shared = 0               # bytes of shared memory
//! ;! seed = 1                 # for every `random` without a seed of its own
//! ;! [[arg]]                  # one per parameter, in order
//! ;! buffer = "i32"           # the address of a buffer of this element type
//! ;! len = 128                # elements; may be left out beside `values` and `file`
//! ;! init = "iota"            # see below
//! ;! readonly = true
//! ;! name = "input"
//! ;! [[arg]]
//! ;! scalar = 100             # the same number in every lane
//! ;! [[arg]]
//! ;! varying = "tid % 2 == 0" # a number of its own in every lane
//! ```
//!
//! `init` is `"zero"` (default), `"iota"`, an expression over the element's
//! index `i`, or one of `{ constant = 5 }`, `{ values = [1, 2] }` (repeated),
//! `{ random = { min = -10, max = 10, seed = 7 } }`, `{ file = "x.bin" }`
//! (raw little-endian bytes, relative to the kernel file).
//!
//! `varying` is an expression over `tid` (linear thread of the block),
//! `global` (linear thread of the grid), `lane`, `warp`, `block` and
//! `threads`, or `{ values = [..] }` (one per thread of the grid, repeated),
//! or `{ random = {..} }`. With `base = "NAME"` beside `values` (which then
//! may be an expression too) each number is a byte offset from the start of
//! the buffer argument of that name, or of `"shared"` memory: so a kernel can
//! be handed addresses that it does not have to compute.
//!
//! Everything is deterministic: `random` is splitmix64. Errors name the line
//! and column of the file.

mod build;
mod expr;
mod header;
mod random;
mod text;

use std::fmt;

use warpfold_ir::{Function, Type};

pub use build::MAX_BUFFER_BYTES;
pub use expr::{Env, Expr, Number, Vars};
pub use random::Random;
pub use text::{ArgOverride, Dims, Overrides};

/// The most threads that a stated launch may have, fewer than the executor
/// takes, so that a typing error does not ask for gigabytes of arguments.
pub const MAX_THREADS: u64 = 1 << 22;

/// A place in a kernel file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    /// 1-based line.
    pub line: u32,
    /// 1-based column, in bytes.
    pub column: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// What is wrong with a launch, and where the file says so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaunchError {
    /// Where; `None` for what no line of the file states.
    pub place: Option<Place>,
    /// What is wrong.
    pub message: String,
}

impl LaunchError {
    pub(crate) fn new(place: Option<Place>, message: impl Into<String>) -> Self {
        Self {
            place,
            message: message.into(),
        }
    }
}

impl fmt::Display for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = self.place {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for LaunchError {}

/// A launch as stated, before it meets a function's signature.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaunchSpec {
    /// The kernel's name; `None` for the first function of the file.
    pub function: Option<String>,
    /// Blocks of the grid in x, y and z; `None` where not stated.
    pub grid: Option<[u32; 3]>,
    /// Threads of a block in x, y and z; `None` where not stated.
    pub block: Option<[u32; 3]>,
    /// Bytes of shared memory of each block.
    pub shared: u32,
    /// Seed of every random without one of its own; 1 where not stated.
    pub seed: Option<u64>,
    /// Arguments, one per parameter.
    pub args: Vec<ArgSpec>,
    /// The line of the kernel's text, where known.
    pub(crate) function_line: Option<u32>,
    /// Which of `grid`, `block` and `shared` an option replaced.
    replaced: [bool; 3],
    /// Where `function` stands.
    function_at: Option<Place>,
    /// Where the header begins.
    start: Option<Place>,
}

impl LaunchSpec {
    /// The files that buffers are read from, as they are named.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.args.iter().filter_map(|arg| match &arg.kind {
            ArgKind::Buffer {
                init: Init::File(name),
                ..
            } => Some(name.as_str()),
            _ => None,
        })
    }
}

/// One argument.
#[derive(Clone, Debug, PartialEq)]
pub struct ArgSpec {
    /// What is passed.
    pub kind: ArgKind,
    /// A name for reports and for `base`.
    pub name: Option<String>,
    /// Where the file states it.
    pub place: Option<Place>,
}

/// What an argument passes.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgKind {
    /// The address of a new buffer.
    Buffer {
        /// Element type.
        elem: Type,
        /// Elements; `None` for as many as `init` has.
        len: Option<u64>,
        /// Contents.
        init: Init,
        /// Whether a store to it traps.
        readonly: bool,
    },
    /// The same number in every lane.
    Scalar(Number),
    /// A number of its own in every lane.
    Varying(Varying),
}

/// What a buffer holds before the launch.
#[derive(Clone, Debug, PartialEq)]
pub enum Init {
    /// Zeros.
    Zero,
    /// Each element its index, or an expression of it.
    Expr(Expr),
    /// The same number in every element.
    Constant(Number),
    /// These, repeated.
    Values(Vec<Number>),
    /// Pseudo-random numbers.
    Random(Random),
    /// The bytes of a file.
    File(String),
}

/// Numbers that differ from lane to lane.
#[derive(Clone, Debug, PartialEq)]
pub struct Varying {
    /// A buffer argument's name, or `shared`, to whose address the numbers
    /// are added.
    pub base: Option<String>,
    /// The numbers.
    pub source: Source,
}

/// Where per-lane numbers come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// An expression of the thread's position.
    Expr(Expr),
    /// These, one per thread of the grid, repeated.
    Values(Vec<Number>),
    /// Pseudo-random numbers.
    Random(Random),
}

impl LaunchSpec {
    /// Reads the `;!` lines of a kernel file; a file without any gives the
    /// default launch (one block of 32 threads, no arguments).
    ///
    /// # Errors
    /// The first thing wrong, with its place in `source`.
    pub fn from_source(source: &str) -> Result<Self, LaunchError> {
        header::parse(source)
    }

    /// Replaces what `overrides` states.
    ///
    /// # Errors
    /// When an argument is given for a position beyond the next free one.
    pub fn apply(&mut self, overrides: &Overrides) -> Result<(), LaunchError> {
        if let Some(name) = &overrides.function {
            self.function = Some(name.clone());
            self.function_at = None;
        }
        for (was, is) in self.replaced.iter_mut().zip([
            overrides.grid.is_some(),
            overrides.block.is_some(),
            overrides.shared.is_some(),
        ]) {
            *was |= is;
        }
        self.grid = overrides.grid.map(|d| d.0).or(self.grid);
        self.block = overrides.block.map(|d| d.0).or(self.block);
        self.shared = overrides.shared.unwrap_or(self.shared);
        self.seed = overrides.seed.or(self.seed);
        let mut next = 0;
        let mut placed: Vec<(usize, &ArgSpec)> = Vec::new();
        for over in &overrides.args {
            let at = over.index.unwrap_or(next);
            next = at.saturating_add(1);
            placed.push((at, &over.arg));
        }
        // In order of position, so that `--arg 1=… --arg 0=…` works as well.
        placed.sort_by_key(|&(at, _)| at);
        for (at, arg) in placed {
            if at < self.args.len() {
                self.args[at] = arg.clone();
            } else if at == self.args.len() {
                self.args.push(arg.clone());
            } else {
                return Err(LaunchError::new(
                    None,
                    format!(
                        "argument {at} is given, but argument {} is not",
                        self.args.len()
                    ),
                ));
            }
        }
        Ok(())
    }

    /// Which of the functions with these names is the kernel.
    ///
    /// # Errors
    /// When there is no function, or none of the stated name.
    pub fn kernel<'a>(
        &self,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<usize, LaunchError> {
        let names: Vec<&str> = names.into_iter().collect();
        let Some(wanted) = &self.function else {
            return match names.is_empty() {
                true => Err(LaunchError::new(None, "the file holds no function")),
                false => Ok(0),
            };
        };
        let wanted = wanted.strip_prefix('%').unwrap_or(wanted);
        names.iter().position(|&n| n == wanted).ok_or_else(|| {
            let list: Vec<String> = names.iter().map(|n| format!("%{n}")).collect();
            LaunchError::new(
                self.function_at,
                format!(
                    "there is no function %{wanted}; the file holds {}",
                    if list.is_empty() {
                        "none".to_owned()
                    } else {
                        list.join(", ")
                    }
                ),
            )
        })
    }

    /// Marks the parameters of `func` that this launch varies by lane. A
    /// parameter that the function's own text declares varying stays so.
    pub fn mark_varying(&self, func: &mut Function) {
        for (param, arg) in func.params.iter_mut().zip(&self.args) {
            param.varying |= matches!(arg.kind, ArgKind::Varying(_));
        }
    }

    /// The buffer arguments, in the order of the launch's memory.
    pub fn buffers(&self) -> impl Iterator<Item = &ArgSpec> {
        self.args
            .iter()
            .filter(|a| matches!(a.kind, ArgKind::Buffer { .. }))
    }
}

#[cfg(test)]
mod tests;
