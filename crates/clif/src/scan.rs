//! A first look at the text, before Cranelift's reader sees it.
//!
//! The reader stops at its first error, knows lines but no columns, and was
//! made for trusted test files: it fails assertions on some inputs and
//! allocates as many entities as the highest number it meets. This pass cuts
//! the text into functions, so that each is read on its own and each can
//! report its error, and refuses what the reader would not survive:
//!
//! - entity numbers above [`MAX_ENTITY`] (`v4294967294` would allocate four
//!   billion values) and blocks above [`MAX_BLOCK`];
//! - dynamic vector types, slots and what works on them, which the reader
//!   makes assertions about, and constants of vectors, whose length it asserts;
//! - calls that may throw with a signature that is not declared, which the
//!   reader does not look up, and what looks at their handlers;
//! - more than [`MAX_LIST`] commas in one pair of parentheses or brackets, or
//!   in a list without any, as results are (more than 65,535 parameters of a
//!   block or results of a call fail an assertion);
//! - more than [`MAX_FLAGS`] kinds of memory flags in a function (the reader
//!   unwraps a 16-bit index).
//!
//! It knows the lexical form only (the reader's `lexer.rs`), no grammar.

use std::collections::BTreeSet;

use crate::kind::ErrorKind;
use crate::lex::{Lexer, Place, Token};

/// The highest number of a value, slot, signature or function.
pub const MAX_ENTITY: u32 = 1_000_000;
/// The highest block number; the reader's own limit.
pub const MAX_BLOCK: u32 = 99_999;
/// The longest list.
pub const MAX_LIST: u32 = 60_000;
/// The most kinds of memory flags in one function.
pub const MAX_FLAGS: usize = 60_000;

/// What can follow a type in a signature's list of results (the reader's
/// `parse_abi_param`).
const TYPE_WORDS: [&str; 6] = ["uext", "sext", "normal", "sarg", "sret", "vmctx"];

/// One function's part of the text.
#[derive(Debug)]
pub struct Chunk<'a> {
    /// From its `function` to the next one's.
    pub text: &'a str,
    /// Where it begins.
    pub at: Place,
    /// Its name as written, without the `%`.
    pub name: &'a str,
    /// What the reader must not see, the first of it.
    pub error: Option<(Place, String)>,
    /// What that is about.
    pub kind: ErrorKind,
}

/// The text's functions, and what stands before them that should not.
#[derive(Debug, Default)]
pub struct Scan<'a> {
    /// The functions in order.
    pub chunks: Vec<Chunk<'a>>,
    /// An error outside of every function.
    pub error: Option<(Place, String)>,
}

/// Cuts `text` into functions and checks each.
pub fn scan(text: &str) -> Scan<'_> {
    let mut lexer = Lexer::new(text);
    let mut result = Scan::default();
    let mut starts = Vec::new();
    let mut checker = Checker::default();
    // Before the first function: whether this line is a header line.
    let mut header = None;
    let mut naming = false;
    while let Some((token, place, start)) = lexer.next() {
        if token == Token::Word("function") {
            starts.push(start);
            result.chunks.push(Chunk {
                text: "",
                at: place,
                name: "",
                error: None,
                kind: ErrorKind::Text,
            });
            checker = Checker::default();
            naming = true;
            continue;
        }
        let Some(chunk) = result.chunks.last_mut() else {
            match (token, header) {
                (Token::NewLine, _) => header = None,
                (_, Some(true)) => {}
                (Token::Word("test" | "set" | "target" | "isa" | "feature"), None) => {
                    header = Some(true);
                }
                _ if result.error.is_none() => {
                    header = Some(true);
                    result.error = Some((place, expected_function(token)));
                }
                _ => {}
            }
            continue;
        };
        if naming {
            naming = false;
            if let Token::Name(name) | Token::Word(name) = token {
                chunk.name = name;
            }
        }
        if chunk.error.is_none() {
            chunk.error = checker.check(token).map(|message| (place, message));
            chunk.kind = checker.kind;
        }
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    for ((chunk, &start), end) in result.chunks.iter_mut().zip(&starts).zip(ends) {
        chunk.text = &text[start..end];
    }
    if result.chunks.is_empty() && result.error.is_none() {
        let what = if text.trim().is_empty() {
            "the input is empty"
        } else {
            "the input holds no function"
        };
        result.error = Some((Place { line: 1, column: 1 }, what.into()));
    }
    result
}

fn expected_function(token: Token<'_>) -> String {
    match token {
        Token::Word(word) => format!("expected 'function', found '{word}'"),
        Token::Bad(c) => format!("expected 'function', found {}", describe(c)),
        _ => "expected 'function'".into(),
    }
}

fn describe(c: char) -> String {
    if !c.is_ascii_graphic() {
        format!("the character U+{:04X}", u32::from(c))
    } else {
        format!("the character '{c}'")
    }
}

/// What has been seen of the current function.
#[derive(Default)]
struct Checker<'a> {
    /// The commas so far of the lists in parentheses and brackets that are open.
    commas: Vec<u32>,
    /// Those of the list outside of them. It goes on in the next line only
    /// around a comma, or with a word that belongs to a type.
    bare: u32,
    after_comma: bool,
    after_line: bool,
    flags: BTreeSet<Vec<&'a str>>,
    /// The signatures that have been named so far. The reader looks them up, but
    /// where the call may throw.
    signatures: BTreeSet<&'a str>,
    /// Whether the next signature is that of such a call.
    throws: bool,
    /// The words after a memory opcode, up to its first value.
    current: Option<Vec<&'a str>>,
    /// Of an error, what it is about.
    kind: ErrorKind,
}

impl<'a> Checker<'a> {
    fn check(&mut self, token: Token<'a>) -> Option<String> {
        if token == Token::NewLine {
            self.after_line = true;
        } else {
            let goes_on = self.after_comma
                || match token {
                    Token::Comma | Token::Open => true,
                    Token::Word(word) => TYPE_WORDS.contains(&word),
                    _ => false,
                };
            if self.after_line && !goes_on && self.commas.is_empty() {
                self.bare = 0;
            }
            self.after_line = false;
            self.after_comma = token == Token::Comma;
        }
        match token {
            Token::Open => self.commas.push(0),
            Token::Close => {
                self.commas.pop();
            }
            Token::Comma => {
                let n = self.commas.last_mut().unwrap_or(&mut self.bare);
                *n += 1;
                if *n >= MAX_LIST {
                    return Some(format!("a list of more than {MAX_LIST} items"));
                }
            }
            Token::Bad(c) => return Some(format!("{} is no part of CLIF", describe(c))),
            Token::OpenString => return Some("a string without an end".into()),
            Token::Word(word) => return self.word(word),
            Token::NewLine => self.current = None,
            Token::Name(_) | Token::Other => {}
        }
        None
    }

    fn word(&mut self, word: &'a str) -> Option<String> {
        if word.contains("load") || word.contains("store") || word.contains("atomic") {
            self.current = Some(Vec::new());
        } else if let Some(flags) = &mut self.current {
            if word.starts_with('v') {
                self.flags.insert(self.current.take().unwrap_or_default());
                if self.flags.len() > MAX_FLAGS {
                    return Some(format!("more than {MAX_FLAGS} kinds of memory flags"));
                }
            } else {
                flags.push(word);
            }
        }
        let head = word.trim_end_matches(|c: char| c.is_ascii_digit());
        let digits = &word[head.len()..];
        if digits.is_empty() {
            return match word {
                "dyn_scale_target_const" | "extract_vector" | "vconst" | "shuffle" => {
                    self.kind = ErrorKind::Vector;
                    Some(vector(word))
                }
                "try_call" | "try_call_indirect" => {
                    self.throws = true;
                    None
                }
                "get_exception_handler_address" => {
                    self.kind = ErrorKind::Unwind;
                    Some(format!(
                        "`{word}` is not supported: there is no unwinding in a warp"
                    ))
                }
                _ => None,
            };
        }
        if head == "sig" {
            if std::mem::take(&mut self.throws) && !self.signatures.contains(digits) {
                return Some(format!("'{word}' is not declared"));
            }
            self.signatures.insert(digits);
        }
        let limit = match head {
            "dt" | "dss" | "const" => {
                self.kind = ErrorKind::Vector;
                return Some(vector(word));
            }
            "block" => MAX_BLOCK,
            "v" | "ss" | "gv" | "mt" | "fn" | "sig" | "u" | "userextname" | "extable" | "tag"
            | "region" | "ret" | "exn" => MAX_ENTITY,
            _ => return None,
        };
        match digits.parse::<u32>() {
            Ok(n) if n <= limit => None,
            // A user name's namespace is a number that nothing is allocated for.
            Ok(_) if head == "u" => None,
            _ => Some(format!(
                "'{word}' is out of range: the limit is {head}{limit}"
            )),
        }
    }
}

fn vector(word: &str) -> String {
    format!("'{word}' is not supported: a lane holds no vectors, of fixed or dynamic size")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> (u32, u32, String) {
        let scan = scan(text);
        let of_chunk = scan.chunks.into_iter().find_map(|c| c.error);
        let (place, message) = scan.error.or(of_chunk).expect("an error");
        (place.line, place.column, message)
    }

    #[test]
    fn cuts_at_functions() {
        let text = "test run\n; function %no\nset x=y \"function %no\"\nfunction %a() {\n}\n\
                    ; run: %a()\n  function u0:7(i32) {\n}";
        let scan = scan(text);
        assert!(scan.error.is_none());
        let chunks: Vec<_> = scan
            .chunks
            .iter()
            .map(|c| (c.name, c.at.line, c.at.column, c.text))
            .collect();
        assert_eq!(
            chunks,
            [
                ("a", 4, 1, "function %a() {\n}\n; run: %a()\n  "),
                ("u0", 7, 3, "function u0:7(i32) {\n}"),
            ]
        );
    }

    #[test]
    fn nothing_to_read() {
        assert_eq!(error(""), (1, 1, "the input is empty".into()));
        assert_eq!(error(" \n\n"), (1, 1, "the input is empty".into()));
        assert_eq!(
            error("; only a comment\n"),
            (1, 1, "the input holds no function".into())
        );
        assert_eq!(
            error("test run\n\n  hello function %f"),
            (3, 3, "expected 'function', found 'hello'".into())
        );
        assert_eq!(
            error("\x7fELF\x02\x01\0\0"),
            (
                1,
                1,
                "expected 'function', found the character U+007F".into()
            )
        );
    }

    #[test]
    fn what_the_reader_would_not_survive() {
        let body = |line: &str| format!("function %f() {{\nblock0:\n    {line}\n    return\n}}\n");
        let at = |line: &str| error(&body(line));
        assert_eq!(
            at("v4294967294 = iconst.i32 1"),
            (
                3,
                5,
                "'v4294967294' is out of range: the limit is v1000000".into()
            )
        );
        assert_eq!(
            at("jump block100000"),
            (
                3,
                10,
                "'block100000' is out of range: the limit is block99999".into()
            )
        );
        assert!(at("v99999999999999999999 = nop").2.contains("out of range"));
        assert!(at("dt0 = i32*gv0").2.starts_with("'dt0' is not supported"));
        assert!(
            at("v1 = splat.dt4 v0")
                .2
                .starts_with("'dt4' is not supported")
        );
        assert!(at("v1 = extract_vector v0, 0").2.contains("vectors"));
        assert!(at("v1 = iadd -v4294967294, v0").2.contains("out of range"));
        assert!(at("v1 = vconst.i8x2 0xffffffff").2.contains("vectors"));
        assert!(at("const0 = i8x2 0xffffffff").2.contains("vectors"));
        assert!(at("gv0 = dyn_scale_target_const.i32").2.contains("dynamic"));
        for text in [
            "try_call fn0(), sig9, block1, []",
            "try_call_indirect v0(),\nsig9, block1, []",
        ] {
            assert_eq!(at(text).2, "'sig9' is not declared");
        }
        let handler = "v1 = get_exception_handler_address.i64 block0, 0";
        assert!(at(handler).2.contains("unwinding"));
        assert_eq!(at("v1 = $").2, "the character '$' is no part of CLIF");
        let many = |item: &str| item.repeat(60_001);
        for list in [
            format!("jump block0({})", many("v0, ")),
            format!("jump block0({})", many("v0,\n")),
            format!("br_table v0, block1, [{}]", many("block1, ")),
            format!("{}v0 = call fn0()", many("v1, ")),
            format!("{}v0 = call fn0()", many("v1\n,")),
            format!("sig0 = () -> {}i32", many("i32\nsext, ")),
            format!("sig0 = () -> {}i32", many("i32\nsarg\n(\n4\n)\n, ")),
            format!("return {}v0", many("v1, ; and so on\n\n")),
        ] {
            let shown = &list[..20];
            assert_eq!(at(&list).2, "a list of more than 60000 items", "{shown}");
        }
    }

    #[test]
    fn ordinary_text_passes() {
        let scan = scan(
            "function %v1234567() {\nblock0: ; $ % é v4294967294\n\
             @00c7 v1 = iconst.i32 0x1234_5678\nv2 = f32const -0x1.8p3 v3 = f32const +NaN:0x1\n\
             v4 = load.i8x16 notrap aligned v1+4294967295\n}",
        );
        assert!(scan.error.is_none());
        assert!(scan.chunks[0].error.is_none(), "{:?}", scan.chunks[0].error);
    }
}
