//! Where results go: each to a place of its own, and none over an input.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

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
        let refuse = |option, message| Err(Failure::about(option, message));
        for (i, &(option, file)) in self.outputs.iter().enumerate() {
            let place = place(file);
            let same = |other: &str| place == self::place(other);
            if let Some((other, _)) = self.outputs[..i].iter().find(|(_, f)| same(f)) {
                let message = match file == STDOUT {
                    true => format!("standard output is that of `{other}` already"),
                    false => format!("`{file}` is where `{other}` goes already"),
                };
                return refuse(option, message);
            }
            if file != STDOUT && self.inputs.iter().any(|f| same(f)) {
                return refuse(option, format!("`{file}` is read; it is not written over"));
            }
        }
        Ok(())
    }
}

/// One name for all that name the same file, whether or not it is there.
fn place(file: &str) -> PathBuf {
    let path = Path::new(file);
    if file == STDOUT {
        return path.to_owned();
    }
    if let Ok(place) = path.canonicalize() {
        return place;
    }
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).canonicalize();
    match (folder, path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
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
