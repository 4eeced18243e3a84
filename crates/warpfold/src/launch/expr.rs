//! The small expressions of a launch: numbers per thread or per element.
//!
//! Integers (128 bits) and floats; names; `c ? a : b`, `||`, `&&`, the
//! comparisons, `|`, `^`, `&`, `<< >>`, `+ -`, `* / %`, unary `- ! ~`,
//! `min(a, b)`, `max(a, b)`. Precedence is Rust's: `lane & 1 == 0` compares
//! `lane & 1`. Comparisons and logic yield 1 or 0; division truncates.
//! An operation with one float operand is done in floats. What overflows or
//! divides by zero is an error, not a wrapped number.

mod parse;

use std::fmt;

/// A number of a launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer.
    Int(i128),
    /// A float.
    Float(f64),
}

impl Number {
    pub(super) fn to_f64(self) -> f64 {
        match self {
            Self::Int(n) => n as f64,
            Self::Float(x) => x,
        }
    }

    fn truth(self) -> bool {
        match self {
            Self::Int(n) => n != 0,
            Self::Float(x) => x != 0.0,
        }
    }

    /// Reads one literal: decimal, `0x…`, `0b…`, a float, `inf`, `nan`,
    /// `true` or `false`, each with an optional sign.
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text {
            "true" => return Some(Self::Int(1)),
            "false" => return Some(Self::Int(0)),
            _ => {}
        }
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        // One sign only, and nothing that Rust's parsers take beyond ours.
        if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
            && !matches!(digits, "inf" | "nan")
        {
            return None;
        }
        let clean = digits.replace('_', "");
        let radix = |digits: &str, radix| match digits.starts_with(['+', '-']) {
            true => None,
            false => i128::from_str_radix(digits, radix).ok(),
        };
        let int = if let Some(hex) = clean.strip_prefix("0x") {
            radix(hex, 16)
        } else if let Some(bin) = clean.strip_prefix("0b") {
            radix(bin, 2)
        } else {
            radix(&clean, 10)
        };
        if let Some(n) = int {
            return Some(Self::Int(if negative { -n } else { n }));
        }
        let x: f64 = clean.parse().ok()?;
        Some(Self::Float(if negative { -x } else { x }))
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(n) => write!(f, "{n}"),
            Self::Float(x) => write!(f, "{x:?}"),
        }
    }
}

/// The names that an expression may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vars {
    /// A thread's position: `tid`, `global`, `lane`, `warp`, `block`,
    /// `threads`.
    Thread,
    /// An element's index: `i`.
    Element,
}

impl Vars {
    const fn names(self) -> &'static [(&'static str, Var)] {
        match self {
            Self::Thread => &[
                ("tid", Var::Tid),
                ("global", Var::Global),
                ("lane", Var::Lane),
                ("warp", Var::Warp),
                ("block", Var::Block),
                ("threads", Var::Threads),
            ],
            // An element's index takes the place of the linear thread.
            Self::Element => &[("i", Var::Global)],
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Var {
    Tid,
    Global,
    Lane,
    Warp,
    Block,
    Threads,
}

/// Where an expression is evaluated: a thread of the grid, or an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Env {
    /// Linear thread of the grid, or element index.
    pub global: u64,
    /// Threads of a block.
    pub threads: u64,
}

impl Env {
    fn get(self, var: Var) -> u64 {
        let threads = self.threads.max(1);
        let tid = self.global % threads;
        match var {
            Var::Tid => tid,
            Var::Global => self.global,
            Var::Lane => tid % 32,
            Var::Warp => tid / 32,
            Var::Block => self.global / threads,
            Var::Threads => threads,
        }
    }
}

/// A parsed expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    text: String,
    root: Node,
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Num(Number),
    Var(Var),
    Unary(char, Box<Node>),
    Binary(&'static str, Box<[Node; 2]>),
    Cond(Box<[Node; 3]>),
}

/// What is wrong with an expression, `at` bytes into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ExprError {
    /// Byte offset.
    pub(super) at: usize,
    /// What is wrong.
    pub(super) message: String,
}

impl Expr {
    /// Reads an expression over `vars`.
    pub(super) fn parse(text: &str, vars: Vars) -> Result<Self, ExprError> {
        Ok(Self {
            text: text.trim().to_owned(),
            root: parse::parse(text, vars)?,
        })
    }

    /// Its value at `env`; the message of what went wrong otherwise.
    pub(super) fn eval(&self, env: Env) -> Result<Number, String> {
        eval(&self.root, env).map_err(|what| format!("`{}` {what}", self.text))
    }
}

fn eval(node: &Node, env: Env) -> Result<Number, &'static str> {
    const OVERFLOW: &str = "overflows 128 bits";
    Ok(match node {
        Node::Num(n) => *n,
        Node::Var(v) => Number::Int(env.get(*v).into()),
        Node::Unary(op, a) => match (op, eval(a, env)?) {
            ('-', Number::Int(n)) => Number::Int(n.checked_neg().ok_or(OVERFLOW)?),
            ('-', Number::Float(x)) => Number::Float(-x),
            ('~', Number::Int(n)) => Number::Int(!n),
            ('~', Number::Float(_)) => return Err("takes bits of a float"),
            (_, a) => Number::Int((!a.truth()).into()),
        },
        Node::Cond(parts) => {
            let [c, a, b] = &**parts;
            eval(if eval(c, env)?.truth() { a } else { b }, env)?
        }
        Node::Binary(op, parts) => {
            let [a, b] = &**parts;
            let a = eval(a, env)?;
            match *op {
                "||" => return Ok(Number::Int((a.truth() || eval(b, env)?.truth()).into())),
                "&&" => return Ok(Number::Int((a.truth() && eval(b, env)?.truth()).into())),
                _ => {}
            }
            match (a, eval(b, env)?) {
                (Number::Int(a), Number::Int(b)) => Number::Int(match *op {
                    "+" => a.checked_add(b).ok_or(OVERFLOW)?,
                    "-" => a.checked_sub(b).ok_or(OVERFLOW)?,
                    "*" => a.checked_mul(b).ok_or(OVERFLOW)?,
                    "/" | "%" if b == 0 => return Err("divides by zero"),
                    "/" => a.checked_div(b).ok_or(OVERFLOW)?,
                    "%" => a.checked_rem(b).ok_or(OVERFLOW)?,
                    "&" => a & b,
                    "|" => a | b,
                    "^" => a ^ b,
                    "<<" | ">>" if !(0..128).contains(&b) => return Err("shifts too far"),
                    "<<" if b == 127 && a != 0 => return Err(OVERFLOW),
                    "<<" => a.checked_mul(1 << b).ok_or(OVERFLOW)?,
                    ">>" => a >> b,
                    "min" => a.min(b),
                    "max" => a.max(b),
                    "==" => (a == b).into(),
                    "!=" => (a != b).into(),
                    "<" => (a < b).into(),
                    "<=" => (a <= b).into(),
                    ">" => (a > b).into(),
                    _ => (a >= b).into(),
                }),
                (a, b) => {
                    let (a, b) = (a.to_f64(), b.to_f64());
                    match *op {
                        "+" => Number::Float(a + b),
                        "-" => Number::Float(a - b),
                        "*" => Number::Float(a * b),
                        "/" => Number::Float(a / b),
                        "%" => Number::Float(a % b),
                        "min" => Number::Float(a.min(b)),
                        "max" => Number::Float(a.max(b)),
                        "==" => Number::Int((a == b).into()),
                        "!=" => Number::Int((a != b).into()),
                        "<" => Number::Int((a < b).into()),
                        "<=" => Number::Int((a <= b).into()),
                        ">" => Number::Int((a > b).into()),
                        ">=" => Number::Int((a >= b).into()),
                        _ => return Err("takes bits of a float"),
                    }
                }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, global: u64) -> Result<Number, String> {
        let e = Expr::parse(text, Vars::Thread).map_err(|e| format!("{}: {}", e.at, e.message))?;
        e.eval(Env {
            global,
            threads: 64,
        })
    }

    #[test]
    fn names_and_operators() {
        for (text, want) in [
            ("tid", 37),
            ("global", 101),
            ("lane", 5),
            ("warp", 1),
            ("block", 1),
            ("threads", 64),
            ("lane & 1 == 0", 0),
            ("tid % 2 == 0 ? 7 : -7", -7),
            ("1 + 2 * 3 - 4 / 2", 5),
            ("2 << 3 | 1", 17),
            ("!0 + ~0", 0),
            ("min(lane, 3) + max(1, -2)", 4),
            ("0x10 + 0b11 + 1_000", 1019),
            ("lane < 16 && !(lane == 5) || false", 0),
            ("-7 / 2", -3),
            ("10 - 3 - 2", 5),
        ] {
            assert_eq!(at(text, 101), Ok(Number::Int(want)), "{text}");
        }
        assert_eq!(at("1.5 * lane", 101), Ok(Number::Float(7.5)));
        assert_eq!(at("1e-1 + 0", 0), Ok(Number::Float(0.1)));
    }

    #[test]
    fn literals() {
        use Number::{Float, Int};
        for (text, want) in [
            ("-0x10", Some(Int(-16))),
            ("+7", Some(Int(7))),
            ("-.5", Some(Float(-0.5))),
            ("1e3", Some(Float(1000.0))),
            ("-inf", Some(Float(f64::NEG_INFINITY))),
            ("true", Some(Int(1))),
            ("", None),
            ("-", None),
            ("--1", None),
            ("-0x-80000000000000000000000000000000", None),
            ("0x", None),
            (".", None),
            ("infinity", None),
        ] {
            assert_eq!(Number::parse(text), want, "{text}");
        }
        let huge = Number::parse("170141183460469231731687303715884105728");
        assert_eq!(huge, Some(Float(2f64.powi(127))));
    }

    #[test]
    fn errors_say_where() {
        for (text, want) in [
            ("", "0: expected a number"),
            ("lane +", "6: expected a number"),
            ("foo", "0: unknown name `foo`"),
            ("(1", "2: expected `)`"),
            ("1 2", "2: expected an operator"),
            ("1 ? 2", "5: expected `:`"),
            ("é", "0: expected a number"),
            ("1/0", "`1/0` divides by zero"),
            ("1 << 200", "`1 << 200` shifts too far"),
            ("1 << 127", "overflows"),
            ("1.5 & 1", "takes bits of a float"),
        ] {
            let got = at(text, 0).unwrap_err();
            assert!(got.contains(want), "{text}: {got}");
        }
        let deep = "(".repeat(100_000);
        assert!(at(&deep, 0).unwrap_err().contains("too long"));
        let wide = vec!["1"; 100_000].join("+");
        assert!(at(&wide, 0).unwrap_err().contains("too long"));
    }
}
