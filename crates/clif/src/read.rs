//! From text to lowered functions.
//!
//! [`scan`](crate::scan) cuts the text into functions; each goes through
//! Cranelift's reader, its verifier, and [`lower`](crate::lower). Every
//! function's errors are collected, so one reading shows them all (of the
//! reader's, the first in each function: it stops there).

use cranelift_codegen::ir as clif;
use cranelift_codegen::ir::entities::AnyEntity;
use cranelift_reader::{ParseOptions, SourceMap, parse_test};
use hashbrown::HashMap;
use target_lexicon::Triple;

use crate::error::ClifError;
use crate::kind::ErrorKind;
use crate::lex::{Lexer, Place, Token};
use crate::lower::{self, Known, Lines, Lowered, ReadOptions};
use crate::scan::{Chunk, Scan, scan};

/// The target of a 64-bit machine with no system around it, for
/// [`ReadOptions::default`].
pub(crate) fn default_triple() -> Triple {
    Triple {
        architecture: target_lexicon::Architecture::Nvptx64,
        ..Triple::unknown()
    }
}

/// A byte order mark, with which some editors begin a file. It is no part of
/// the text and takes no column.
const BOM: &str = "\u{feff}";

/// Checks that `bytes` are text.
///
/// # Errors
/// The place of the first byte that is not UTF-8.
pub fn text_of(bytes: &[u8]) -> Result<&str, ClifError> {
    std::str::from_utf8(bytes).map_err(|e| {
        let good = &bytes[..e.valid_up_to()];
        let good = good.strip_prefix(BOM.as_bytes()).unwrap_or(good);
        let line_start = good.iter().rposition(|&b| b == b'\n').map_or(0, |i| i + 1);
        let characters = String::from_utf8_lossy(&good[line_start..]).chars().count();
        let lines = good.iter().filter(|&&b| b == b'\n').count();
        ClifError {
            line: clamp(lines + 1),
            column: clamp(characters + 1),
            function: String::new(),
            kind: ErrorKind::Text,
            message: "the input is no UTF-8 text".into(),
        }
    })
}

/// Reads and lowers every function of `text`.
///
/// Lines before the first function may be comments and the `test`, `set`,
/// `target` and `feature` lines of Cranelift's filetests; these are not looked
/// at, and neither is a byte order mark. Function names must be distinct; the
/// functions may call each other.
///
/// # Errors
/// Everything that is wrong with the text, in order of place.
pub fn read(text: &str, opts: &ReadOptions) -> Result<Vec<Lowered>, Vec<ClifError>> {
    let text = text.strip_prefix(BOM).unwrap_or(text);
    let scanned = scan(text);
    let mut errors = Vec::new();
    if let Some((place, message)) = &scanned.error {
        errors.push(located(*place, "", message.clone()));
    }
    let mut lowered: Vec<Lowered> = Vec::new();
    let mut names: HashMap<String, u32> = HashMap::new();
    for (unit, chunk) in units(text, &scanned, opts).into_iter().zip(&scanned.chunks) {
        match unit.lowered {
            Ok(l) => {
                if let Some(first) = names.insert(l.func.name.clone(), l.line) {
                    let message = format!("the name is taken by the function on line {first}");
                    errors.push(located(chunk.at, &l.func.name, message));
                }
                lowered.push(l);
            }
            Err(more) => errors.extend(more),
        }
    }
    if errors.is_empty() {
        Ok(lowered)
    } else {
        errors.sort_by_key(|e| (e.line, e.column));
        Err(errors)
    }
}

/// One function of a text, read by itself.
#[derive(Clone, Debug)]
pub struct Unit {
    /// Its name in the text, without the `%`.
    pub name: String,
    /// The line of its `function`.
    pub line: u32,
    /// The function as Cranelift's reader has it, unless it could not be read.
    pub source: Option<clif::Function>,
    /// The function lowered, or everything that is wrong with it.
    pub lowered: Result<Lowered, Vec<ClifError>>,
}

/// Reads the functions of `text` one by one, so that those which are not
/// supported do not keep the others from being used. Otherwise as [`read`];
/// that names are distinct is not checked.
///
/// # Errors
/// Where the text has no functions, or something else before the first.
pub fn read_each(text: &str, opts: &ReadOptions) -> Result<Vec<Unit>, ClifError> {
    let text = text.strip_prefix(BOM).unwrap_or(text);
    let scanned = scan(text);
    match &scanned.error {
        Some((place, message)) => Err(located(*place, "", message.clone())),
        None => Ok(units(text, &scanned, opts)),
    }
}

fn units(text: &str, scanned: &Scan<'_>, opts: &ReadOptions) -> Vec<Unit> {
    let lines: Vec<&str> = text.lines().collect();
    let chunks = scanned.chunks.iter();
    let parsed: Vec<_> = chunks
        .map(|chunk| (chunk, parse_chunk(chunk, &lines)))
        .collect();
    let functions = parsed.iter().filter_map(|(_, p)| p.as_ref().ok());
    let known = Known::new(functions.map(|(func, _)| func));
    let mut units = Vec::with_capacity(parsed.len());
    for (chunk, parsed) in parsed {
        let places = TextPlaces {
            first: chunk.at,
            lines: &lines,
        };
        let (source, lowered) = match parsed {
            Ok((func, map)) => {
                let places = TextLines { places, map: &map };
                let lowered = lower::lower_at(&func, opts, &places, &known);
                (Some(func), lowered)
            }
            Err(error) => {
                let mut all = vec![error];
                if let Some((func, map)) = parse_preamble(chunk) {
                    let places = TextLines { places, map: &map };
                    all.extend(lower::check_declarations(&func, opts, &places, &known));
                }
                (None, Err(all))
            }
        };
        units.push(Unit {
            name: chunk.name.to_owned(),
            line: chunk.at.line,
            source,
            lowered,
        });
    }
    units
}

fn parse_chunk(
    chunk: &Chunk<'_>,
    lines: &[&str],
) -> Result<(clif::Function, SourceMap), ClifError> {
    if let Some((place, message)) = &chunk.error {
        return Err(ClifError {
            kind: chunk.kind,
            ..located(*place, chunk.name, message.clone())
        });
    }
    let places = TextPlaces {
        first: chunk.at,
        lines,
    };
    let file = parse_test(chunk.text, ParseOptions::default()).map_err(|e| {
        let place = places.of_line(e.location.line_number, None);
        located(place, chunk.name, e.message)
    })?;
    // The chunk begins with `function`, so the reader finds one or fails.
    let first = file.functions.into_iter().next();
    let (func, details) =
        first.ok_or_else(|| located(chunk.at, chunk.name, "no function".into()))?;
    Ok((func, details.map))
}

/// What stands before a function's first block, for what it declares. A call
/// whose results are not those declared is an error of the reader, which would
/// hide a wrong declaration.
fn parse_preamble(chunk: &Chunk<'_>) -> Option<(clif::Function, SourceMap)> {
    if chunk.error.is_some() {
        return None;
    }
    let mut lexer = Lexer::new(chunk.text);
    let end = loop {
        match lexer.next()? {
            (Token::Word(word), _, start) if word.starts_with("block") => break start,
            _ => {}
        }
    };
    let text = format!("{}}}", &chunk.text[..end]);
    let file = parse_test(&text, ParseOptions::default()).ok()?;
    let (func, details) = file.functions.into_iter().next()?;
    Some((func, details.map))
}

fn located(place: Place, function: &str, message: String) -> ClifError {
    ClifError {
        line: place.line,
        column: place.column,
        function: function.to_string(),
        kind: ErrorKind::Text,
        message,
    }
}

fn clamp(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Turns the reader's line numbers, which count from the chunk's first line,
/// into places of the whole text.
struct TextPlaces<'a> {
    first: Place,
    lines: &'a [&'a str],
}

impl TextPlaces<'_> {
    /// The place of `word` on the chunk's line number `line` (from 1), or of
    /// the line's first word.
    fn of_line(&self, line: usize, word: Option<&str>) -> Place {
        let line = line.max(1) - 1 + self.first.line as usize;
        let text = self.lines.get(line - 1).copied().unwrap_or_default();
        let start = if line == self.first.line as usize {
            byte_of_column(text, self.first.column)
        } else {
            text.len() - text.trim_start().len()
        };
        let at = word
            .and_then(|w| find_word(&text[start..], w))
            .map_or(start, |i| start + i);
        Place {
            line: clamp(line),
            column: clamp(text[..at].chars().count() + 1),
        }
    }
}

fn byte_of_column(text: &str, column: u32) -> usize {
    text.char_indices()
        .nth(column.max(1) as usize - 1)
        .map_or(text.len(), |(i, _)| i)
}

/// The first place in `text` where `word` stands by itself.
fn find_word(text: &str, word: &str) -> Option<usize> {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '%';
    text.match_indices(word)
        .map(|(i, _)| i)
        .find(|&i| !text[..i].ends_with(part) && !text[i + word.len()..].starts_with(part))
}

/// The places of a parsed function's entities.
struct TextLines<'a> {
    places: TextPlaces<'a>,
    map: &'a SourceMap,
}

impl TextLines<'_> {
    /// Where an imported function is declared. The reader notes the place of
    /// the token after the declaration, often some lines further.
    fn declaration(&self, callee: clif::FuncRef) -> Place {
        let Some(location) = self.map.location(callee.into()) else {
            return self.places.first;
        };
        let word = callee.to_string();
        let declares = |&line: &usize| {
            let line = line - 1 + self.places.first.line as usize;
            let text = self.places.lines.get(line - 1).copied().unwrap_or_default();
            find_word(text.split(';').next().unwrap_or_default(), &word).is_some()
        };
        let line = (1..=location.line_number).rev().find(declares);
        self.places
            .of_line(line.unwrap_or(location.line_number), Some(&word))
    }
}

impl Lines for TextLines<'_> {
    fn place(&self, entity: AnyEntity, word: Option<&str>) -> (u32, u32) {
        let place = match entity {
            AnyEntity::Function => self.places.first,
            AnyEntity::FuncRef(callee) => self.declaration(callee),
            _ => match self.map.location(entity) {
                Some(location) => self.places.of_line(location.line_number, word),
                None => self.places.first,
            },
        };
        (place.line, place.column)
    }

    fn line(&self, inst: clif::Inst) -> u32 {
        let first = self.places.first.line;
        self.map.location(inst.into()).map_or(first, |l| {
            first.saturating_add(clamp(l.line_number.saturating_sub(1)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_text() {
        assert_eq!(text_of(b"a\n").expect("text"), "a\n");
        let e = text_of("é\nxé\u{fffd}".as_bytes().split_last().expect("bytes").1)
            .expect_err("truncated");
        assert_eq!(e.to_string(), "2:3: the input is no UTF-8 text");
        assert_eq!(
            text_of(b"\xff").expect_err("no text").to_string(),
            "1:1: the input is no UTF-8 text"
        );
    }

    #[test]
    fn words() {
        assert_eq!(find_word("v1 = iadd_x iadd v2", "iadd"), Some(12));
        assert_eq!(find_word("v1 = iadd.i32", "iadd"), Some(5));
        assert_eq!(find_word("%iadd", "iadd"), None);
    }
}
