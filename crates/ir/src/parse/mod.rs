//! Text input: reads what [`print`](crate::print) writes.
//!
//! One pass over the tokens, a line at a time, without recursion. Names may
//! be used before they are defined; that each of them is defined somewhere is
//! checked at the end of its function.
//!
//! Beyond what the printer writes, the parser takes comments (`;` to the end
//! of the line), blank lines, line breaks inside parentheses and brackets,
//! hexadecimal and unsigned integers, and any numbering. Values and blocks
//! keep their numbers, so that printing a parsed function gives the text
//! again; numbers that are left out are taken by values and blocks outside the
//! layout. How many may be left out is limited in proportion to the text, so
//! that no short text asks for much memory. Slots, callees and
//! signatures are numbered as they come.
//!
//! The parser checks form: names, operand counts, immediates that fit, every
//! block ended. What it returns is *not* verified; types, dominance and the
//! other rules are the [verifier](mod@crate::verify)'s.

mod body;
mod lex;
mod line;
mod literal;

use hashbrown::HashSet;

use crate::function::{Function, Module, Param};
use crate::types::Type;
use body::Body;
pub(crate) use lex::is_plain_name;
use lex::{Lexer, Token, clipped, locate};

/// A located parse error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct ParseError {
    /// 1-based line.
    pub line: u32,
    /// 1-based column, in characters.
    pub column: u32,
    /// What is wrong and what was expected.
    pub message: String,
}

/// Reads the text of any number of functions.
///
/// ```
/// let text = "\
/// function %half(i32 varying) -> i32 {
/// block0(v0: i32):
///     v1 = const.i32 1
///     v2 = ushr.i32 v0, v1
///     ret v2
/// }
/// ";
/// let module = warpfold_ir::parse_module(text)?;
/// assert_eq!(module.to_string(), text);
/// # Ok::<(), warpfold_ir::ParseError>(())
/// ```
///
/// # Errors
/// The first place where the text is not of the form that the printer writes.
pub fn parse_module(text: &str) -> Result<Module, ParseError> {
    let mut parser = Parser::new(text)?;
    let mut module = Module::default();
    let mut names = HashSet::new();
    loop {
        parser.skip_line_ends()?;
        if parser.token == Token::End {
            return Ok(module);
        }
        let func = parser.function(&mut names)?;
        module.functions.push(func);
    }
}

/// Reads the text of exactly one function.
///
/// # Errors
/// As for [`parse_module`], and when there is no function or a second one.
pub fn parse_function(text: &str) -> Result<Function, ParseError> {
    let mut parser = Parser::new(text)?;
    parser.skip_line_ends()?;
    let func = parser.function(&mut HashSet::new())?;
    parser.skip_line_ends()?;
    match parser.token {
        Token::End => Ok(func),
        _ => parser.expected("the end of the text"),
    }
}

/// The state of a parse: one token of lookahead.
struct Parser<'a> {
    text: &'a str,
    lexer: Lexer<'a>,
    token: Token<'a>,
    /// The byte `token` starts at.
    at: usize,
    /// How many more numbers may be left out.
    spare: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Result<Self, ParseError> {
        let mut lexer = Lexer::new(text);
        let (token, at) = lexer.next()?;
        Ok(Self {
            text,
            lexer,
            token,
            at,
            spare: (1 << 20) + 8 * text.len(),
        })
    }

    fn error<T>(&self, at: usize, message: impl Into<String>) -> Result<T, ParseError> {
        Err(locate(self.text, at, message.into()))
    }

    /// The error that the current token is not `what`.
    fn expected<T>(&self, what: impl std::fmt::Display) -> Result<T, ParseError> {
        self.error(self.at, format!("expected {what}, found {}", self.token))
    }

    fn bump(&mut self) -> Result<(), ParseError> {
        (self.token, self.at) = self.lexer.next()?;
        Ok(())
    }

    fn skip_line_ends(&mut self) -> Result<(), ParseError> {
        while self.token == Token::LineEnd {
            self.bump()?;
        }
        Ok(())
    }

    /// Takes the punctuation `c` if it comes next.
    fn eat(&mut self, c: char) -> Result<bool, ParseError> {
        let found = self.token == Token::Punct(c);
        if found {
            self.bump()?;
        }
        Ok(found)
    }

    fn expect(&mut self, c: char) -> Result<(), ParseError> {
        if self.eat(c)? {
            return Ok(());
        }
        self.expected(format_args!("`{c}`"))
    }

    /// Takes the word `word` if it comes next.
    fn eat_word(&mut self, word: &str) -> Result<bool, ParseError> {
        let found = self.token == Token::Word(word);
        if found {
            self.bump()?;
        }
        Ok(found)
    }

    /// Takes a number for which `read` gives something.
    fn number<T>(&mut self, what: &str, read: impl Fn(&str) -> Option<T>) -> Result<T, ParseError> {
        let Token::Number(text) = self.token else {
            return self.expected(what);
        };
        let Some(x) = read(text) else {
            return self.expected(what);
        };
        self.bump()?;
        Ok(x)
    }

    /// Takes a word for which `read` gives something.
    fn word<T>(&mut self, what: &str, read: impl Fn(&str) -> Option<T>) -> Result<T, ParseError> {
        let Token::Word(text) = self.token else {
            return self.expected(what);
        };
        let Some(x) = read(text) else {
            return self.expected(what);
        };
        self.bump()?;
        Ok(x)
    }

    fn ty(&mut self) -> Result<Type, ParseError> {
        self.word(
            "a type (i8, i16, i32, i64, i128, f16, f32, f64 or pred)",
            |s| s.parse().ok(),
        )
    }

    /// Items up to `close`, with commas between them; line ends do not count.
    /// The opening bracket has been taken.
    fn list(
        &mut self,
        close: char,
        mut item: impl FnMut(&mut Self) -> Result<(), ParseError>,
    ) -> Result<(), ParseError> {
        self.skip_line_ends()?;
        if self.eat(close)? {
            return Ok(());
        }
        loop {
            item(self)?;
            self.skip_line_ends()?;
            if self.eat(close)? {
                return Ok(());
            }
            if !self.eat(',')? {
                return self.expected(format_args!("`,` or `{close}`"));
            }
            self.skip_line_ends()?;
        }
    }

    /// `function %name(…) -> … {` to `}`.
    fn function(&mut self, names: &mut HashSet<String>) -> Result<Function, ParseError> {
        if !self.eat_word("function")? {
            return self.expected("`function`");
        }
        let Token::Name(name) = &self.token else {
            return self.expected("a function name, as in `%kernel`");
        };
        let name = name.clone().into_owned();
        if !names.insert(name.clone()) {
            let message = format!("there is already a function `%{}`", clipped(&name));
            return self.error(self.at, message);
        }
        self.bump()?;
        let mut func = Function::new(name);
        self.expect('(')?;
        self.list(')', |p| {
            let ty = p.ty()?;
            let varying = p.eat_word("varying")?;
            func.params.push(Param { ty, varying });
            Ok(())
        })?;
        if self.token == Token::Arrow {
            self.bump()?;
            func.results.push(self.ty()?);
            while self.eat(',')? {
                func.results.push(self.ty()?);
            }
        }
        self.expect('{')?;
        let func = self.body(Body::new(func))?;
        match self.token {
            Token::LineEnd | Token::End => Ok(func),
            _ => self.expected("the end of the line"),
        }
    }
}
