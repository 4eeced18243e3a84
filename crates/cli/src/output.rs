//! Writing results.

use std::io::{ErrorKind, IsTerminal, Write};

use warpfold::render::{self, Document, Paint};

use crate::failure::Failure;
use crate::options::{Format, OutputArgs, ReportArgs, When};

impl OutputArgs {
    /// Whether texts are coloured.
    pub fn paint(&self) -> Paint {
        let color = match self.color {
            When::Always => true,
            When::Never => false,
            When::Auto => {
                self.output.is_none()
                    && std::io::stdout().is_terminal()
                    && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
            }
        };
        Paint { color }
    }

    /// Writes a command's whole result.
    pub fn write(&self, text: &str) -> Result<(), Failure> {
        match &self.output {
            Some(path) => std::fs::write(path, text)
                .map_err(|e| Failure::about(path, format!("cannot write: {e}"))),
            None => {
                let mut out = std::io::stdout().lock();
                out.write_all(text.as_bytes())
                    .and_then(|()| out.flush())
                    .map_err(|e| match e.kind() {
                        ErrorKind::BrokenPipe => Failure::PipeClosed,
                        _ => Failure::about("<stdout>", format!("cannot write: {e}")),
                    })
            }
        }
    }
}

impl ReportArgs {
    /// Writes a report in the format asked for.
    pub fn write(&self, doc: &Document) -> Result<(), Failure> {
        let text = match self.format {
            Format::Text => render::text(doc, self.output.paint()),
            Format::Json => render::json(doc),
        };
        self.output.write(&text)
    }
}
