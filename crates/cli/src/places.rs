//! Where results go: each to a place of its own, and none over an input.

use std::io::{ErrorKind, Write};
use std::path::Path;

use crate::failure::Failure;

/// The name of standard output.
const STDOUT: &str = "-";

/// Files that a command reads and writes, as the command line names them.
#[derive(Default)]
pub struct Places<'a> {
    inputs: Vec<&'a str>,
    outputs: Vec<(&'static str, &'a str)>,
}

impl<'a> Places<'a> {
    /// Of a command whose report goes to `output`, standard output if that is none.
    pub fn new(output: Option<&'a str>) -> Self {
        Self {
            outputs: vec![("--output", output.unwrap_or(STDOUT))],
            ..Self::default()
        }
    }

    /// It reads these; what is no file yet, a machine's name say, is as good.
    #[must_use]
    pub fn reads(mut self, files: impl IntoIterator<Item = &'a str>) -> Self {
        self.inputs.extend(files);
        self
    }

    /// It writes to `file` too, where that is given with `option`.
    #[must_use]
    pub fn writes(mut self, option: &'static str, file: Option<&'a str>) -> Self {
        self.outputs.extend(file.map(|file| (option, file)));
        self
    }

    /// Refuses what would be lost: two outputs in one place, an output in the
    /// place of an input.
    pub fn check(&self) -> Result<(), Failure> {
        for (i, &(option, file)) in self.outputs.iter().enumerate() {
            let same = |(_, other): &&(_, &str)| is_same(Path::new(file), Path::new(other));
            if let Some((other, _)) = self.outputs[..i].iter().find(same) {
                let message = match file == STDOUT {
                    true => format!("standard output is that of `{other}` already"),
                    false => format!("`{file}` is where `{other}` goes already"),
                };
                return Err(Failure::about(option, message));
            }
        }
        self.inputs
            .iter()
            .filter(|&&input| input != STDOUT)
            .try_for_each(|input| self.spare(Path::new(input)))
    }

    /// Refuses an output in the place of `input`.
    pub fn spare(&self, input: &Path) -> Result<(), Failure> {
        let files = self.outputs.iter().filter(|(_, file)| *file != STDOUT);
        for &(option, file) in files {
            if is_same(Path::new(file), input) {
                let message = format!("`{file}` is read; it is not written over");
                return Err(Failure::about(option, message));
            }
        }
        Ok(())
    }
}

/// Whether both name one file: by another way or name (a link), or, where it is not there
/// yet, in one folder.
fn is_same(a: &Path, b: &Path) -> bool {
    if let Ok(same) = same_file::is_same_file(a, b) {
        return same;
    }
    let folder = |p: &Path| {
        let parent = p.parent().filter(|p| !p.as_os_str().is_empty());
        parent.unwrap_or(Path::new(".")).canonicalize().ok()
    };
    a == b || a.file_name() == b.file_name() && folder(a).is_some() && folder(a) == folder(b)
}

/// Writes `text` to `file`, `-` for standard output.
pub fn write(file: &str, text: &str) -> Result<(), Failure> {
    if file != STDOUT {
        return std::fs::write(file, text)
            .map_err(|e| Failure::about(file, format!("cannot write: {e}")));
    }
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|e| match e.kind() {
            ErrorKind::BrokenPipe => Failure::PipeClosed,
            _ => Failure::about("<stdout>", format!("cannot write: {e}")),
        })
}
