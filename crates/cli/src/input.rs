//! Reading kernels and machines.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use warpfold::clif::Triple;
use warpfold::machine::{MACHINES, Machine};
use warpfold::{Diagnostic, Source, Syntax};

use crate::failure::Failure;
use crate::options::InputArgs;

/// The most bytes a file may have; more is surely no kernel.
const MAX_BYTES: u64 = 64 << 20;

/// The name that messages give to standard input.
const STDIN: &str = "<stdin>";

/// Reads the kernel file named on the command line, for a target.
pub fn source(args: &InputArgs, triple: &Triple) -> Result<Source, Failure> {
    let name = display_name(&args.file);
    let text = text(&args.file)?;
    let syntax = args.which.syntax.unwrap_or_else(|| Syntax::of_file(name));
    let read = |syntax| Source::parse_for(&text, name, syntax, triple);
    read(syntax).or_else(|errors| {
        // No name tells what comes through a pipe, `opt`'s output among it.
        let piped = args.file == "-" && args.which.syntax.is_none();
        let as_ir = piped.then(|| read(Syntax::Wf).ok()).flatten();
        as_ir.ok_or(errors.into())
    })
}

/// What messages call `file`.
pub fn display_name(file: &str) -> &str {
    if file == "-" { STDIN } else { file }
}

/// The directory that files named by a kernel file are relative to.
pub fn directory(file: &str) -> &Path {
    match Path::new(file).parent() {
        Some(dir) if file != "-" => dir,
        _ => Path::new(""),
    }
}

/// The text of `file`, `-` for standard input.
pub fn text(file: &str) -> Result<String, Failure> {
    let name = display_name(file);
    let mut bytes = Vec::new();
    let result = if file == "-" {
        std::io::stdin()
            .lock()
            .take(MAX_BYTES + 1)
            .read_to_end(&mut bytes)
    } else {
        File::open(file).and_then(|f| f.take(MAX_BYTES + 1).read_to_end(&mut bytes))
    };
    result.map_err(|e| Failure::about(name, format!("cannot read: {e}")))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Failure::about(
            name,
            format!("larger than {} MiB", MAX_BYTES >> 20),
        ));
    }
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(&e.as_bytes()[..at]);
        let line = 1 + before.matches('\n').count();
        let column = 1 + before.chars().rev().take_while(|&c| c != '\n').count();
        Diagnostic::new(name, format!("not UTF-8 text: invalid at byte {at}"))
            .at(line as u32, column as u32)
            .into()
    })
}

/// The machine called `name`: a shipped one, or a TOML file when it looks
/// like a path.
pub fn machine(name: &str) -> Result<Machine, Failure> {
    let toml = machine_text(name)?;
    Machine::from_toml(&toml).map_err(|e| warpfold::machine_diagnostic(name, &e).into())
}

/// The file that `name` stands for, where it is no shipped machine's.
pub fn machine_file(name: &str) -> Option<&str> {
    let path = name.contains(['/', '\\']) || name.ends_with(".toml");
    path.then_some(name)
}

/// The TOML of the machine called `name`; a file's is checked.
pub fn machine_text(name: &str) -> Result<String, Failure> {
    if let Some(file) = machine_file(name) {
        let toml = text(file)?;
        return match Machine::from_toml(&toml) {
            Ok(_) => Ok(toml),
            Err(e) => Err(warpfold::machine_diagnostic(name, &e).into()),
        };
    }
    match MACHINES.iter().find(|m| m.name == name) {
        Some(row) => Ok(row.toml.to_owned()),
        None => {
            let names: Vec<&str> = MACHINES.iter().map(|m| m.name).collect();
            Err(Failure::about(
                "--machine",
                format!(
                    "no machine is named `{name}`; there are {}, and paths contain `/` or end in `.toml`",
                    names.join(", ")
                ),
            ))
        }
    }
}
