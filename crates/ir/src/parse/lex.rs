//! Tokens of the text form.
//!
//! Line ends are tokens, because a line is one instruction; all other white
//! space and comments (`;` to the end of the line) only separate. The lexer
//! never looks further ahead than the token it reads and keeps byte offsets;
//! [`locate`] turns one into a line and a column when there is an error to
//! report.

use std::borrow::Cow;
use std::fmt;

use super::ParseError;

/// One token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Token<'a> {
    /// A word: mnemonic with suffix, type, entity, keyword.
    Word(&'a str),
    /// A number as it stands, with its sign if one touches it.
    Number(&'a str),
    /// A function name, without the `%`, quotes and escapes resolved.
    Name(Cow<'a, str>),
    /// A single punctuation character.
    Punct(char),
    /// `->`
    Arrow,
    /// The end of a line.
    LineEnd,
    /// The end of the text.
    End,
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(s) | Self::Number(s) => write!(f, "`{}`", clipped(s)),
            Self::Name(s) => write!(f, "`%{}`", clipped(s)),
            Self::Punct(c) => write!(f, "`{c}`"),
            Self::Arrow => f.write_str("`->`"),
            Self::LineEnd => f.write_str("the end of the line"),
            Self::End => f.write_str("the end of the text"),
        }
    }
}

/// At most the first characters of `s`, so that a message stays a message.
pub(super) fn clipped(s: &str) -> Cow<'_, str> {
    const LIMIT: usize = 40;
    match s.char_indices().nth(LIMIT) {
        Some((end, _)) => Cow::Owned(format!("{}…", &s[..end])),
        None => Cow::Borrowed(s),
    }
}

/// The error `message` at byte `at` of `text`.
pub(super) fn locate(text: &str, at: usize, message: String) -> ParseError {
    let before = text.get(..at).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |i| i + 1);
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX).saturating_add(1);
    ParseError {
        line: count(before.bytes().filter(|&b| b == b'\n').count()),
        column: count(before[line_start..].chars().count()),
        message,
    }
}

/// Reads tokens off the front of a text.
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_while(&mut self, keep: impl Fn(u8) -> bool) {
        while self.peek().is_some_and(&keep) {
            self.at += 1;
        }
    }

    /// The next token and the byte it starts at.
    pub(super) fn next(&mut self) -> Result<(Token<'a>, usize), ParseError> {
        self.skip_while(|b| matches!(b, b' ' | b'\t' | b'\r'));
        if self.peek() == Some(b';') {
            self.skip_while(|b| b != b'\n');
        }
        let start = self.at;
        let Some(first) = self.peek() else {
            return Ok((Token::End, start));
        };
        self.at += 1;
        let token = match first {
            b'\n' => Token::LineEnd,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                self.skip_while(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.');
                Token::Word(&self.text[start..self.at])
            }
            b'-' if self.peek() == Some(b'>') => {
                self.at += 1;
                Token::Arrow
            }
            b'0'..=b'9' => self.number(start),
            b'+' | b'-' if self.peek().is_some_and(|b| b.is_ascii_digit()) => self.number(start),
            b'%' => self.name(start)?,
            b'(' | b')' | b'{' | b'}' | b'[' | b']' | b',' | b':' | b'=' | b'!' | b'@' | b'+'
            | b'-' => Token::Punct(char::from(first)),
            _ => {
                let c = self.text[start..].chars().next().unwrap_or('\u{fffd}');
                let message = format!("unexpected character `{}`", c.escape_debug());
                return Err(locate(self.text, start, message));
            }
        };
        Ok((token, start))
    }

    /// The rest of a number; a sign directly after a decimal exponent's `e`
    /// belongs to it.
    fn number(&mut self, start: usize) -> Token<'a> {
        let digits = start + usize::from(!self.text.as_bytes()[start].is_ascii_digit());
        let hex = self.text[digits..].starts_with("0x");
        loop {
            self.skip_while(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.');
            let bytes = self.text.as_bytes();
            let exponent = !hex
                && matches!(bytes[self.at - 1], b'e' | b'E')
                && matches!(self.peek(), Some(b'+' | b'-'));
            if !exponent {
                return Token::Number(&self.text[start..self.at]);
            }
            self.at += 1;
        }
    }

    fn name(&mut self, start: usize) -> Result<Token<'a>, ParseError> {
        if self.peek() == Some(b'"') {
            self.at += 1;
            return self.quoted_name(start);
        }
        let from = self.at;
        self.skip_while(is_plain);
        if from == self.at {
            return Err(locate(
                self.text,
                start,
                "expected a name after `%`".to_owned(),
            ));
        }
        Ok(Token::Name(Cow::Borrowed(&self.text[from..self.at])))
    }

    fn quoted_name(&mut self, start: usize) -> Result<Token<'a>, ParseError> {
        let mut name = String::new();
        let mut chars = self.text[self.at..].chars();
        loop {
            let here = self.text.len() - chars.as_str().len();
            let c = match chars.next() {
                Some('"') => {
                    self.at = here + 1;
                    return Ok(Token::Name(Cow::Owned(name)));
                }
                Some('\n') | None => {
                    return Err(locate(
                        self.text,
                        start,
                        "expected a closing `\"` on the line of this name".to_owned(),
                    ));
                }
                Some('\\') => match unescape(&mut chars) {
                    Some(c) => c,
                    None => {
                        return Err(locate(
                            self.text,
                            here,
                            "expected an escape: `\\n`, `\\r`, `\\t`, `\\\\`, `\\\"`, `\\'` or `\\u{…}`"
                                .to_owned(),
                        ));
                    }
                },
                Some(c) => c,
            };
            name.push(c);
        }
    }
}

/// Whether a byte of a function's name needs no quotes.
fn is_plain(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'$' | b':')
}

/// Whether a function's name is printed and read without quotes.
pub(crate) fn is_plain_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(is_plain)
}

/// The character an escape stands for; `chars` is behind its backslash.
fn unescape(chars: &mut std::str::Chars<'_>) -> Option<char> {
    Some(match chars.next()? {
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        c @ ('\\' | '"' | '\'') => c,
        'u' => {
            let (digits, rest) = chars.as_str().strip_prefix('{')?.split_once('}')?;
            let c = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
            *chars = rest.chars();
            c
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<Token<'_>> {
        let mut lexer = Lexer::new(text);
        let mut out = Vec::new();
        loop {
            match lexer.next().expect("tokens").0 {
                Token::End => return out,
                token => out.push(token),
            }
        }
    }

    #[test]
    fn signs_join_the_number_they_touch() {
        assert_eq!(
            tokens("v3+8 -1.5e-7 0x1e+2 -> - inf"),
            [
                Token::Word("v3"),
                Token::Number("+8"),
                Token::Number("-1.5e-7"),
                Token::Number("0x1e"),
                Token::Number("+2"),
                Token::Arrow,
                Token::Punct('-'),
                Token::Word("inf"),
            ]
        );
    }

    #[test]
    fn comments_reach_to_the_line_end() {
        assert_eq!(tokens("a ; b\r\n ; c"), [Token::Word("a"), Token::LineEnd]);
    }

    #[test]
    fn quoted_names_resolve_escapes() {
        assert_eq!(
            tokens(r#"%"a \"b\"\u{e9}" %u0:3"#),
            [Token::Name("a \"b\"é".into()), Token::Name("u0:3".into())]
        );
        for bad in [r#"%"a"#, "%\"a\n\"", r#"%"\q""#, r#"%"\u{110000}""#, "% a"] {
            assert!(Lexer::new(bad).next().is_err(), "{bad}");
        }
    }

    #[test]
    fn columns_count_characters() {
        let e = locate("é;é\né?", 8, String::new());
        assert_eq!((e.line, e.column), (2, 2));
    }
}
