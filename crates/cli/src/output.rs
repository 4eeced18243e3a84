//! Writing results.

use std::io::IsTerminal;

use warpfold::render::{self, Document, Paint};

use crate::failure::Failure;
use crate::options::{Format, OutputArgs, ReportArgs, When};
use crate::places::{self, Places};

impl OutputArgs {
    /// Whether texts are coloured.
    pub fn paint(&self) -> Paint {
        let color = match self.color {
            When::Always => true,
            When::Never => false,
            When::Auto => {
                self.output.as_deref().is_none_or(|file| file == "-")
                    && std::io::stdout().is_terminal()
                    && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
            }
        };
        Paint { color }
    }

    /// Writes a command's whole result.
    pub fn write(&self, text: &str) -> Result<(), Failure> {
        places::write(self.output.as_deref().unwrap_or("-"), text)
    }

    /// The places of a command that writes here.
    pub fn places(&self) -> Places<'_> {
        Places::new(self.output.as_deref())
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
