//! From a stated launch and a signature to what the executor takes.

use std::path::Path;

use warpfold_exec::{Arg, Launch, MAX_BLOCK_THREADS, MAX_SHARED, Memory, SHARED_BASE};
use warpfold_ir::lane::{Float, f16};
use warpfold_ir::{Function, Type};

use super::expr::{Env, Number};
use super::{ArgKind, ArgSpec, Init, LaunchError, LaunchSpec, MAX_THREADS, Place, Source, Varying};

/// The most bytes that the buffers of a launch may have together.
pub const MAX_BUFFER_BYTES: u64 = 1 << 28;

/// The seed of a launch that states none.
const DEFAULT_SEED: u64 = 1;

/// Turns a number into bits of a type, or says why it cannot.
pub(super) fn encode(n: Number, ty: Type) -> Result<u128, String> {
    match (ty, n) {
        // Rounded as constants of the IR are.
        (Type::F16, n) => Ok(f16::narrow(n.to_f64()).to_bits128()),
        (Type::F32, n) => Ok((n.to_f64() as f32).to_bits().into()),
        (Type::F64, n) => Ok(n.to_f64().to_bits().into()),
        (Type::Pred, Number::Int(n)) => Ok((n != 0).into()),
        (_, Number::Float(x)) => Err(format!("{x:?} is a float, but the type is {ty}")),
        (Type::I128, Number::Int(n)) => Ok(n as u128),
        (_, Number::Int(n)) => {
            let bits = ty.bits();
            match (-(1i128 << (bits - 1))..1i128 << bits).contains(&n) {
                true => Ok(n as u128 & ty.mask()),
                false => Err(format!("{n} does not fit {ty}")),
            }
        }
    }
}

impl LaunchSpec {
    /// Blocks of the grid and threads of a block, 1 and 32 where not stated.
    pub fn shape(&self) -> ([u32; 3], [u32; 3]) {
        (
            self.grid.unwrap_or([1; 3]),
            self.block.unwrap_or([32, 1, 1]),
        )
    }

    /// The launch for `func`; files named in it lie relative to `dir`.
    ///
    /// # Errors
    /// When arguments and signature do not fit each other, a number does not
    /// fit its type, a file cannot be used, or something is too big.
    pub fn build(&self, func: &Function, dir: &Path) -> Result<Launch, LaunchError> {
        let (grid, block) = self.shape();
        let threads = self.check_shape(grid, block)?;
        self.check_count(func)?;
        let mut memory = Memory::new();
        let mut addresses: Vec<(Option<&str>, u64)> = Vec::new();
        let mut room = MAX_BUFFER_BYTES;
        // Buffers first: a varying argument may refer to a later one.
        let mut args: Vec<Option<Arg>> = Vec::with_capacity(self.args.len());
        for (position, (spec, param)) in self.args.iter().zip(&func.params).enumerate() {
            let ArgKind::Buffer { readonly, .. } = &spec.kind else {
                args.push(None);
                continue;
            };
            let bytes = self
                .contents(spec, position, dir, &mut room)
                .map_err(|m| complain(spec, position, &m))?;
            let address = memory.add(bytes, *readonly);
            if let Some(name) = &spec.name
                && addresses.iter().any(|(n, _)| *n == Some(name))
            {
                let message = format!("two buffers are called `{name}`");
                return Err(complain(spec, position, &message));
            }
            addresses.push((spec.name.as_deref(), address));
            let bits = pointer(address, param.ty).map_err(|m| complain(spec, position, &m))?;
            args.push(Some(Arg::Uniform(bits)));
        }
        let find = |base: &str| match base {
            "shared" => Some(SHARED_BASE),
            _ => addresses
                .iter()
                .find(|(name, _)| *name == Some(base))
                .map(|&(_, address)| address),
        };
        for (position, (spec, param)) in self.args.iter().zip(&func.params).enumerate() {
            let arg = match &spec.kind {
                ArgKind::Buffer { .. } => continue,
                ArgKind::Scalar(n) => encode(*n, param.ty).map(Arg::Uniform),
                ArgKind::Varying(v) => self
                    .lanes(v, position, param.ty, &threads, &find)
                    .map(Arg::Varying),
            };
            args[position] = Some(arg.map_err(|m| complain(spec, position, &m))?);
        }
        Ok(Launch {
            grid,
            block,
            shared: self.shared,
            // Every position was filled by one of the two loops.
            args: args.into_iter().flatten().collect(),
            memory,
        })
    }

    fn check_shape(&self, grid: [u32; 3], block: [u32; 3]) -> Result<Threads, LaunchError> {
        let volume = |d: [u32; 3]| d.iter().fold(1u64, |p, &n| p.saturating_mul(n.into()));
        let fail = |message: String| Err(LaunchError::new(self.start, message));
        let (blocks, threads) = (volume(grid), volume(block));
        let total = blocks.saturating_mul(threads);
        if total == 0 {
            return fail("the launch has no threads".to_owned());
        }
        if threads > MAX_BLOCK_THREADS {
            return fail(format!(
                "a block of {threads} threads; at most {MAX_BLOCK_THREADS} are allowed"
            ));
        }
        if total > MAX_THREADS {
            return fail(format!(
                "a grid of {total} threads; at most {MAX_THREADS} are allowed"
            ));
        }
        if self.shared > MAX_SHARED {
            return fail(format!(
                "{} bytes of shared memory; at most {MAX_SHARED} are allowed",
                self.shared
            ));
        }
        Ok(Threads {
            per_block: threads,
            total,
        })
    }

    fn check_count(&self, func: &Function) -> Result<(), LaunchError> {
        let (given, wanted) = (self.args.len(), func.params.len());
        if given == wanted {
            return Ok(());
        }
        let types: Vec<String> = func.params.iter().map(|p| p.ty.to_string()).collect();
        let place: Option<Place> = match self.args.get(wanted) {
            Some(extra) => extra.place,
            None => self.args.last().and_then(|a| a.place).or(self.start),
        };
        let count = match given {
            0 => "no arguments are given".to_owned(),
            1 => "1 argument is given".to_owned(),
            n => format!("{n} arguments are given"),
        };
        Err(LaunchError::new(
            place,
            format!(
                "{count}, but %{}({}) takes {wanted}",
                func.name,
                types.join(", ")
            ),
        ))
    }

    fn seed(&self) -> u64 {
        self.seed.unwrap_or(DEFAULT_SEED)
    }

    /// The bytes of a buffer argument.
    fn contents(
        &self,
        spec: &ArgSpec,
        position: usize,
        dir: &Path,
        room: &mut u64,
    ) -> Result<Vec<u8>, String> {
        let ArgKind::Buffer {
            elem, len, init, ..
        } = &spec.kind
        else {
            return Ok(Vec::new());
        };
        let size = u64::from(elem.bytes());
        let mut take = |len: u64| {
            let bytes = len.saturating_mul(size);
            *room = room.checked_sub(bytes).ok_or_else(|| {
                format!("the buffers take more than {MAX_BUFFER_BYTES} bytes together")
            })?;
            Ok::<usize, String>(bytes as usize)
        };
        if let Init::File(name) = init {
            let path = dir.join(name);
            let found = std::fs::metadata(&path)
                .map_err(|e| format!("{}: {e}", path.display()))?
                .len();
            let wanted = len.map_or(found, |l| l.saturating_mul(size));
            if found != wanted || found % size != 0 {
                let wanted = len.map_or(format!("a multiple of {size}"), |l| {
                    format!("{l} × {size} = {wanted}")
                });
                return Err(format!(
                    "{} has {found} bytes, not {wanted}",
                    path.display()
                ));
            }
            take(found / size)?;
            return std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()));
        }
        let len = match (len, init) {
            (Some(len), _) => *len,
            (None, Init::Values(list)) => list.len() as u64,
            (None, _) => return Err("the buffer lacks a length".to_owned()),
        };
        let bytes = take(len)?;
        if *init == Init::Zero {
            return Ok(vec![0; bytes]);
        }
        let mut out = Vec::with_capacity(bytes);
        let mut stream = match init {
            Init::Random(r) => Some(r.stream(self.seed(), position)),
            _ => None,
        };
        for i in 0..len {
            let n = match (init, &mut stream) {
                (Init::Expr(e), _) => e.eval(Env {
                    global: i,
                    threads: u64::MAX,
                })?,
                (Init::Constant(n), _) => *n,
                (Init::Values(list), _) => list[(i % list.len() as u64) as usize],
                (_, Some(stream)) => draw(stream, *elem)?,
                _ => Number::Int(0),
            };
            let bits = encode(n, *elem)?;
            out.extend_from_slice(&bits.to_le_bytes()[..size as usize]);
        }
        Ok(out)
    }

    /// The numbers of a varying argument, one per thread of the grid.
    fn lanes(
        &self,
        v: &Varying,
        position: usize,
        ty: Type,
        threads: &Threads,
        find: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<Vec<u128>, String> {
        let base = match &v.base {
            None => None,
            Some(name) => {
                let address = find(name).ok_or_else(|| {
                    format!("no buffer argument is called `{name}` (and it is not `shared`)")
                })?;
                // Checks that the parameter can hold an address at all.
                pointer(address, ty)?;
                Some(address)
            }
        };
        let mut stream = match &v.source {
            Source::Random(r) => Some(r.stream(self.seed(), position)),
            _ => None,
        };
        (0..threads.total)
            .map(|global| {
                let n = match (&v.source, &mut stream) {
                    (Source::Expr(e), _) => e.eval(Env {
                        global,
                        threads: threads.per_block,
                    })?,
                    (Source::Values(list), _) => list[(global % list.len() as u64) as usize],
                    (Source::Random(_), Some(stream)) => draw(stream, ty)?,
                    (Source::Random(_), None) => Number::Int(0),
                };
                match (base, n) {
                    (None, n) => encode(n, ty),
                    (Some(base), Number::Int(n)) => {
                        Ok(u128::from(base).wrapping_add(n as u128) & ty.mask())
                    }
                    (Some(_), Number::Float(x)) => Err(format!("{x:?} is no byte offset")),
                }
            })
            .collect()
    }
}

struct Threads {
    per_block: u64,
    total: u64,
}

fn draw(stream: &mut super::random::Stream, ty: Type) -> Result<Number, String> {
    if ty.is_float() {
        return Ok(Number::Float(stream.float()));
    }
    stream
        .int()
        .map(Number::Int)
        .ok_or_else(|| format!("the bounds of `random` are floats, but the type is {ty}"))
}

/// An address as a parameter of type `ty`.
fn pointer(address: u64, ty: Type) -> Result<u128, String> {
    match ty {
        Type::I64 => Ok(address.into()),
        Type::I32 if u32::try_from(address).is_ok() => Ok(address.into()),
        Type::I32 => Err(format!("the address {address:#x} does not fit i32")),
        _ => Err(format!("an address needs i64 or i32, but the type is {ty}")),
    }
}

fn complain(spec: &ArgSpec, position: usize, message: &str) -> LaunchError {
    let name = match &spec.name {
        Some(name) => format!("argument {position} ({name})"),
        None => format!("argument {position}"),
    };
    LaunchError::new(spec.place, format!("{name}: {message}"))
}
