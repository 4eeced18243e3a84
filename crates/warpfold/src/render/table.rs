//! Tables in text: aligned columns, a rule under the header, and above it
//! names for groups of columns.
//!
//! Widths are counted in characters; escapes are added after padding, so that
//! coloured and plain tables align alike. No line ends in blanks.

use std::borrow::Cow;

use super::style::{Paint, Tone};

/// Blanks between two columns.
const GAP: usize = 2;

/// Where a column's text stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// One cell.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    /// A cell of some tone.
    pub fn new(tone: Tone, text: impl ToString) -> Self {
        Self {
            text: text.to_string(),
            tone,
        }
    }

    /// A cell without anything special about it.
    pub fn plain(text: impl ToString) -> Self {
        Self::new(Tone::Plain, text)
    }

    /// The text of `value`, or a dim dot where there is none.
    pub fn maybe(value: Option<impl ToString>) -> Self {
        match value {
            Some(v) => Self::plain(v),
            None => Self::new(Tone::Dim, "·"),
        }
    }
}

#[derive(Clone, Debug)]
struct Column {
    name: Cow<'static, str>,
    align: Align,
}

/// A table being filled.
#[derive(Clone, Debug, Default)]
pub struct Table {
    columns: Vec<Column>,
    /// First column, number of columns, name.
    groups: Vec<(usize, usize, &'static str)>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table without columns.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a column of words.
    #[must_use]
    pub fn words(self, name: impl Into<Cow<'static, str>>) -> Self {
        self.column(name.into(), Align::Left)
    }

    /// Adds a column of numbers.
    #[must_use]
    pub fn numbers(self, name: impl Into<Cow<'static, str>>) -> Self {
        self.column(name.into(), Align::Right)
    }

    /// Adds columns of numbers under a common name.
    #[must_use]
    pub fn group(mut self, name: &'static str, columns: &[&'static str]) -> Self {
        self.groups.push((self.columns.len(), columns.len(), name));
        columns.iter().fold(self, |t, &c| t.numbers(c))
    }

    fn column(mut self, name: Cow<'static, str>, align: Align) -> Self {
        self.columns.push(Column { name, align });
        self
    }

    /// Adds a row; missing cells are empty, cells beyond the columns dropped.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let mut row: Vec<Cell> = cells.into_iter().collect();
        row.resize(self.columns.len(), Cell::default());
        self.rows.push(row);
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table's text, each line indented by `indent` blanks.
    pub fn render(&self, paint: Paint, indent: usize) -> String {
        let mut widths: Vec<usize> = self.columns.iter().map(|c| width(&c.name)).collect();
        for row in &self.rows {
            for (w, cell) in widths.iter_mut().zip(row) {
                *w = (*w).max(width(&cell.text));
            }
        }
        let mut out = String::new();
        if !self.groups.is_empty() {
            self.render_groups(&mut out, &mut widths, paint, indent);
        }
        let head: Vec<Cell> = self
            .columns
            .iter()
            .map(|c| Cell::new(Tone::Head, &c.name))
            .collect();
        self.line(&mut out, &head, &widths, paint, indent);
        let total = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
        out.push_str(&" ".repeat(indent));
        out.push_str(&paint.tone(Tone::Dim, "─".repeat(total)));
        out.push('\n');
        for row in &self.rows {
            self.line(&mut out, row, &widths, paint, indent);
        }
        out
    }

    /// The line of group names, each centred over a rule that spans its
    /// columns; widens a group's first column where the name needs it.
    fn render_groups(&self, out: &mut String, widths: &mut [usize], paint: Paint, indent: usize) {
        let mut line = " ".repeat(indent);
        let mut at = 0;
        for &(first, count, name) in &self.groups {
            let columns = first..first + count;
            let span = |ws: &[usize]| ws.iter().sum::<usize>() + GAP * (count.max(1) - 1);
            // A dash and a blank on each side of the name.
            let need = width(name) + 4;
            let have = span(&widths[columns.clone()]);
            if let Some(w) = widths.get_mut(first) {
                *w += need.saturating_sub(have);
            }
            let start: usize = widths[..first].iter().map(|w| w + GAP).sum();
            let span = span(&widths[columns]);
            line.push_str(&" ".repeat(start - at));
            let dashes = span - width(name) - 2;
            let left = dashes / 2;
            let text = format!("{} {name} {}", "─".repeat(left), "─".repeat(dashes - left));
            line.push_str(&paint.tone(Tone::Dim, text));
            at = start + span;
        }
        out.push_str(&line);
        out.push('\n');
    }

    fn line(
        &self,
        out: &mut String,
        cells: &[Cell],
        widths: &[usize],
        paint: Paint,
        indent: usize,
    ) {
        // Blanks are written only once something follows them.
        let mut blanks = indent;
        for ((cell, &w), column) in cells.iter().zip(widths).zip(&self.columns) {
            let pad = w - width(&cell.text);
            let (before, after) = match column.align {
                Align::Left => (0, pad),
                Align::Right => (pad, 0),
            };
            blanks += before;
            if !cell.text.is_empty() {
                out.push_str(&" ".repeat(blanks));
                blanks = 0;
                out.push_str(&paint.tone(cell.tone, &cell.text));
            }
            blanks += after + GAP + if cell.text.is_empty() { w - pad } else { 0 };
        }
        out.push('\n');
    }
}

fn width(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut t = Table::new()
            .words("branch")
            .group("cost", &["predicted", "measured"])
            .words("note");
        t.row([
            Cell::plain("7: brif"),
            Cell::plain(12),
            Cell::new(Tone::Good, 12),
        ]);
        t.row([
            Cell::plain("11: br_table"),
            Cell::maybe(None::<u32>),
            Cell::plain("104.5"),
            Cell::plain("kept"),
        ]);
        t
    }

    #[test]
    fn columns_align_and_lines_end_without_blanks() {
        let want = [
            "               ────── cost ───────",
            " branch        predicted  measured  note",
            " ───────────────────────────────────────",
            " 7: brif              12        12",
            " 11: br_table          ·     104.5  kept",
            "",
        ]
        .join("\n");
        assert_eq!(sample().render(Paint::PLAIN, 1), want);
    }

    #[test]
    fn colour_changes_no_width() {
        let coloured = sample().render(Paint { color: true }, 1);
        let mut plain = String::new();
        let mut rest = coloured.as_str();
        while let Some((before, after)) = rest.split_once('\u{1b}') {
            plain.push_str(before);
            rest = after.split_once('m').unwrap().1;
        }
        plain.push_str(rest);
        assert_ne!(plain, coloured);
        assert_eq!(plain, sample().render(Paint::PLAIN, 1));
    }

    #[test]
    fn a_long_group_name_widens_its_columns() {
        let mut t = Table::new().group("a long name", &["x", "y"]).words("z");
        t.row([Cell::plain(1), Cell::plain(2), Cell::plain(3)]);
        let want = [
            "─ a long name ─",
            "           x  y  z",
            "──────────────────",
            "           1  2  3",
            "",
        ]
        .join("\n");
        assert_eq!(t.render(Paint::PLAIN, 0), want);
    }
}
