//! The functions of a launch, decoded, with their calls resolved.
//!
//! What the entry function reaches by calls and by `func_addr` is decoded. A
//! function's address is [`FUNCTION_BASE`] plus 16 times its position in the
//! module; nothing is mapped there.

use std::collections::HashMap;

use warpfold_analysis::yields::writes_memory;
use warpfold_analysis::{Cfg, Loops, Yields};
use warpfold_ir::{Function, Signature};

use crate::error::LaunchError;
use crate::launch::{ExecOptions, Mode};
use crate::memory::FUNCTION_BASE;
use crate::program::Program;

/// Bytes from one function's address to the next one's.
const FUNCTION_BYTES: u64 = 16;

/// The functions of a launch.
#[derive(Debug)]
pub(crate) struct Linked<'a> {
    /// By position in the module; `None` for what is never reached.
    pub programs: Vec<Option<Program<'a>>>,
    /// The function that is launched.
    pub entry: usize,
    /// Whether an address of any of them is 32 bits wide.
    pub narrow_pointers: bool,
}

/// What decoding a function needs to know of the others.
pub(crate) struct Linker<'a, 'b> {
    functions: &'b [&'a Function],
    by_name: HashMap<&'b str, usize>,
    signatures: HashMap<Signature, u32>,
    /// Positions met and not yet decoded.
    work: Vec<usize>,
}

impl Linker<'_, '_> {
    /// The position of the function of this name, if it has this signature.
    pub(crate) fn find(&mut self, name: &str, signature: &Signature) -> Option<usize> {
        let &at = self.by_name.get(name)?;
        if self.functions[at].signature() != *signature {
            return None;
        }
        self.work.push(at);
        Some(at)
    }

    /// A number for each signature.
    pub(crate) fn number(&mut self, signature: &Signature) -> u32 {
        let next = self.signatures.len() as u32;
        match self.signatures.get(signature) {
            Some(&n) => n,
            None => {
                self.signatures.insert(signature.clone(), next);
                next
            }
        }
    }
}

/// The address of the function at a position.
pub(crate) fn address_of(function: usize) -> u64 {
    FUNCTION_BASE + FUNCTION_BYTES * function as u64
}

impl<'a> Linked<'a> {
    pub(crate) fn new(
        functions: &[&'a Function],
        entry: usize,
        options: &ExecOptions,
    ) -> Result<Self, LaunchError> {
        let mut by_name = HashMap::new();
        for (i, func) in functions.iter().enumerate() {
            by_name.entry(func.name.as_str()).or_insert(i);
        }
        let mut linker = Linker {
            functions,
            by_name,
            signatures: HashMap::new(),
            work: vec![entry],
        };
        let mut programs: Vec<Option<Program<'a>>> = Vec::new();
        programs.resize_with(functions.len(), || None);
        while let Some(at) = linker.work.pop() {
            if programs.get(at).is_none_or(Option::is_some) {
                continue;
            }
            programs[at] = Some(Program::new(functions[at], options.joins, &mut linker)?);
        }
        if options.mode == Mode::Its {
            let written = programs.iter().flatten().any(|p| writes_memory(p.func));
            for program in programs.iter_mut().flatten() {
                let cfg = Cfg::new(program.func);
                program.yields = Yields::new(program.func, &cfg, &Loops::new(&cfg), written);
            }
        }
        Ok(Self {
            narrow_pointers: programs.iter().flatten().any(|p| p.narrow_pointers),
            programs,
            entry,
        })
    }

    /// A function that is reached.
    pub(crate) fn program(&self, function: usize) -> Option<&Program<'a>> {
        self.programs.get(function)?.as_ref()
    }

    /// The function at an address, if it has the signature of this number.
    pub(crate) fn at_address(&self, address: u64, signature: u32) -> Option<usize> {
        let offset = address.checked_sub(FUNCTION_BASE)?;
        let function = usize::try_from(offset / FUNCTION_BYTES).ok()?;
        let program = self.program(function)?;
        (offset % FUNCTION_BYTES == 0 && program.signature == signature).then_some(function)
    }
}
