//! Colour, asked for by meaning.
//!
//! Texts are made plain or coloured by the same code; what a meaning looks
//! like is said here only. Whether the reader has a terminal is not this
//! crate's to find out: callers pass it in.

use std::fmt;

use anstyle::{AnsiColor, Style};

/// What a piece of text means to the reader.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Tone {
    /// Nothing special.
    #[default]
    Plain,
    /// A heading.
    Head,
    /// Less important than its neighbours.
    Dim,
    /// As it should be, or better than before.
    Good,
    /// Wrong, or refused.
    Bad,
    /// Worth a look.
    Warn,
    /// The name of what was chosen.
    Choice,
}

impl Tone {
    const fn style(self) -> Style {
        let style = Style::new();
        match self {
            Self::Plain => style,
            Self::Head => style.bold(),
            Self::Dim => style.dimmed(),
            Self::Good => AnsiColor::Green.on_default(),
            Self::Bad => AnsiColor::Red.on_default().bold(),
            Self::Warn => AnsiColor::Yellow.on_default(),
            Self::Choice => AnsiColor::Cyan.on_default(),
        }
    }
}

/// Whether to colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Paint {
    /// Emit ANSI escapes.
    pub color: bool,
}

impl Paint {
    /// No escapes.
    pub const PLAIN: Self = Self { color: false };

    /// `text` in `tone`.
    pub fn tone(self, tone: Tone, text: impl fmt::Display) -> String {
        if !self.color || tone == Tone::Plain {
            return text.to_string();
        }
        let style = tone.style();
        format!("{}{text}{}", style.render(), style.render_reset())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_only_when_asked_for() {
        assert_eq!(Paint::PLAIN.tone(Tone::Bad, "x"), "x");
        let painted = Paint { color: true }.tone(Tone::Good, "x");
        assert_eq!(painted, "\u{1b}[32mx\u{1b}[0m");
        assert_eq!(Paint { color: true }.tone(Tone::Plain, "x"), "x");
    }
}
