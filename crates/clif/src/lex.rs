//! The lexical form of CLIF, as far as the [scan](crate::scan) needs it.

/// A place in the text, both 1-based; columns count characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Line.
    pub line: u32,
    /// Column.
    pub column: u32,
}

/// A piece of the text, as far as it matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Token<'a> {
    /// Letters, digits and `_`, beginning with a letter.
    Word(&'a str),
    /// The same after a `%`, which is left out.
    Name(&'a str),
    /// `(` or `[`.
    Open,
    /// `)` or `]`.
    Close,
    /// `,`
    Comma,
    /// The end of a line.
    NewLine,
    /// A number, a string, other punctuation.
    Other,
    /// No token begins with it.
    Bad(char),
    /// A string that the text ends in.
    OpenString,
}

/// Cuts text into tokens.
pub struct Lexer<'a> {
    text: &'a str,
    pos: usize,
    place: Place,
}

impl<'a> Lexer<'a> {
    /// At the beginning of `text`.
    pub fn new(text: &'a str) -> Self {
        Self {
            text,
            pos: 0,
            place: Place { line: 1, column: 1 },
        }
    }

    fn peek(&self) -> Option<char> {
        self.text[self.pos..].chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.pos += c.len_utf8();
        if c == '\n' {
            self.place.line = self.place.line.saturating_add(1);
            self.place.column = 1;
        } else {
            self.place.column = self.place.column.saturating_add(1);
        }
        Some(c)
    }

    fn bump_while(&mut self, f: impl Fn(char) -> bool) -> &'a str {
        let start = self.pos;
        while self.peek().is_some_and(&f) {
            self.bump();
        }
        &self.text[start..self.pos]
    }

    /// The next token with its place and byte position.
    pub fn next(&mut self) -> Option<(Token<'a>, Place, usize)> {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        self.bump_while(|c| c != '\n' && c.is_ascii_whitespace() || c == '\x0b');
        let (place, start) = (self.place, self.pos);
        let token = match self.peek()? {
            '\n' => {
                self.bump();
                Token::NewLine
            }
            ';' => {
                self.bump_while(|c| c != '\n');
                // What follows is a line end or the end of the text, so this
                // does not recurse further.
                return self.next();
            }
            c if c.is_ascii_alphabetic() => Token::Word(self.bump_while(word)),
            '%' => {
                self.bump();
                Token::Name(self.bump_while(word))
            }
            '"' => {
                self.bump();
                self.bump_while(|c| c != '"');
                match self.bump() {
                    Some(_) => Token::Other,
                    None => Token::OpenString,
                }
            }
            c => {
                self.bump();
                match c {
                    '(' | '[' => Token::Open,
                    ')' | ']' => Token::Close,
                    ',' => Token::Comma,
                    '0'..='9' => {
                        // A number runs on over letters: `0x1f`, `1.0e5`.
                        self.bump_while(|c| word(c) || c == '.');
                        Token::Other
                    }
                    '{' | '}' | '+' | '-' | '.' | '<' | '>' | ':' | '=' | '!' | '*' | '#' | '@' => {
                        Token::Other
                    }
                    c => Token::Bad(c),
                }
            }
        };
        Some((token, place, start))
    }
}
