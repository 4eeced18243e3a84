//! Reads an expression: precedence climbing over the text, without tokens.

use super::{ExprError, Node, Number, Vars};

/// Bounds the tree, and with it the recursion of everything that walks it.
const MAX_NODES: usize = 400;

/// Binary operators with their strengths, longer ones before their prefixes.
const OPERATORS: &[(&str, u8)] = &[
    ("||", 1),
    ("&&", 2),
    ("==", 3),
    ("!=", 3),
    ("<<", 7),
    (">>", 7),
    ("<=", 3),
    (">=", 3),
    ("<", 3),
    (">", 3),
    ("|", 4),
    ("^", 5),
    ("&", 6),
    ("+", 8),
    ("-", 8),
    ("*", 9),
    ("/", 9),
    ("%", 9),
];

/// Reads all of `text` as one expression over `vars`.
pub(super) fn parse(text: &str, vars: Vars) -> Result<Node, ExprError> {
    let mut p = Parser {
        text,
        at: 0,
        vars,
        nodes: 0,
    };
    let root = p.cond()?;
    p.skip();
    match p.at < text.len() {
        true => Err(p.error("expected an operator or the end")),
        false => Ok(root),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    vars: Vars,
    nodes: usize,
}

impl<'a> Parser<'a> {
    fn error(&self, message: impl Into<String>) -> ExprError {
        ExprError {
            at: self.at,
            message: message.into(),
        }
    }

    fn skip(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn rest(&mut self) -> &'a str {
        self.skip();
        &self.text[self.at..]
    }

    fn eat(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn expect(&mut self, token: &str) -> Result<(), ExprError> {
        match self.eat(token) {
            true => Ok(()),
            false => Err(self.error(format!("expected `{token}`"))),
        }
    }

    /// Counts a node that is about to be parsed.
    fn count(&mut self) -> Result<(), ExprError> {
        self.nodes += 1;
        match self.nodes > MAX_NODES {
            true => Err(self.error("the expression is too long")),
            false => Ok(()),
        }
    }

    fn cond(&mut self) -> Result<Node, ExprError> {
        let c = self.binary(1)?;
        if !self.eat("?") {
            return Ok(c);
        }
        self.count()?;
        let a = self.cond()?;
        self.expect(":")?;
        let b = self.cond()?;
        Ok(Node::Cond(Box::new([c, a, b])))
    }

    fn binary(&mut self, least: u8) -> Result<Node, ExprError> {
        let mut left = self.unary()?;
        loop {
            let rest = self.rest();
            let Some(&(op, strength)) = OPERATORS.iter().find(|(op, _)| rest.starts_with(op))
            else {
                return Ok(left);
            };
            if strength < least {
                return Ok(left);
            }
            self.at += op.len();
            self.count()?;
            let right = self.binary(strength + 1)?;
            left = Node::Binary(op, Box::new([left, right]));
        }
    }

    fn unary(&mut self) -> Result<Node, ExprError> {
        self.count()?;
        let rest = self.rest();
        let Some(first) = rest.chars().next() else {
            return Err(self.error("expected a number, a name or `(`"));
        };
        if matches!(first, '-' | '!' | '~') {
            self.at += 1;
            return Ok(Node::Unary(first, Box::new(self.unary()?)));
        }
        if self.eat("(") {
            let inner = self.cond()?;
            self.expect(")")?;
            return Ok(inner);
        }
        let word: &str = {
            let mut after_e = false;
            let end = rest
                .find(|c: char| {
                    let exponent_sign = after_e && matches!(c, '-' | '+');
                    after_e =
                        first.is_ascii_digit() && matches!(c, 'e' | 'E') && !rest.starts_with("0x");
                    !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.') || exponent_sign)
                })
                .unwrap_or(rest.len());
            &rest[..end]
        };
        if let Some(n) = Number::parse(word) {
            self.at += word.len();
            return Ok(Node::Num(n));
        }
        if let Some((_, var)) = self.vars.names().iter().find(|(n, _)| *n == word) {
            self.at += word.len();
            return Ok(Node::Var(*var));
        }
        let op = match word {
            "min" => "min",
            "max" => "max",
            "" => return Err(self.error("expected a number, a name or `(`")),
            _ => {
                let names: Vec<&str> = self.vars.names().iter().map(|(n, _)| *n).collect();
                return Err(self.error(format!(
                    "unknown name `{word}`; known here: {}, min, max",
                    names.join(", ")
                )));
            }
        };
        self.at += word.len();
        self.expect("(")?;
        let a = self.cond()?;
        self.expect(",")?;
        let b = self.cond()?;
        self.expect(")")?;
        Ok(Node::Binary(op, Box::new([a, b])))
    }
}
