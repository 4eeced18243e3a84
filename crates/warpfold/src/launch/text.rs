//! Launch parts as short texts, for a command line.
//!
//! | text | argument |
//! |---|---|
//! | `5`, `-1.5`, `0x10`, `true`, `inf` | a scalar |
//! | `lane`, `tid % 2 == 0` | varying, an expression as in the file |
//! | `[1, 0, 1]` | varying, one number per thread, repeated |
//! | `random(-10, 10)`, `random(0, 1.0, 7)` | varying, drawn (third number: seed) |
//! | `at:NAME:4 * lane` | varying, byte offsets from buffer `NAME` or `shared` |
//! | `buf:i32:128` | a buffer of zeros |
//! | `buf:i32:128:INIT` | a buffer; `INIT` is `zero`, `iota`, a number, `[1, 2]`, `random(..)`, `@FILE` or an expression over `i` |
//! | `buf:i32:128:INIT:ro` | the same, read-only |

use std::str::FromStr;

use warpfold_ir::Type;

use super::expr::{Expr, Number, Vars};
use super::random::Random;
use super::{ArgKind, ArgSpec, Init, Source, Varying};

/// What a command line replaces in a launch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    /// The kernel's name.
    pub function: Option<String>,
    /// Blocks.
    pub grid: Option<Dims>,
    /// Threads of a block.
    pub block: Option<Dims>,
    /// Bytes of shared memory.
    pub shared: Option<u32>,
    /// Seed of every random without one of its own.
    pub seed: Option<u64>,
    /// Arguments.
    pub args: Vec<ArgOverride>,
}

/// Sizes in x, y and z, written `64`, `8,8` or `8x8x1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dims(pub [u32; 3]);

impl FromStr for Dims {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let parts: Vec<&str> = s.split([',', 'x']).collect();
        if parts.len() > 3 {
            return Err("more than three sizes".to_owned());
        }
        let mut dims = [1; 3];
        for (d, part) in dims.iter_mut().zip(parts) {
            let n: i64 = part
                .trim()
                .parse()
                .map_err(|_| format!("`{}` is no number", part.trim()))?;
            *d = match u32::try_from(n) {
                Ok(0) => return Err("a size must not be 0".to_owned()),
                Ok(n) => n,
                Err(_) if n < 0 => return Err(format!("{n} is negative")),
                Err(_) => return Err(format!("{n} is too large")),
            };
        }
        Ok(Self(dims))
    }
}

/// One argument, for a position or for the next one; written `SPEC` or
/// `INDEX=SPEC` with a `SPEC` of the table above.
#[derive(Clone, Debug, PartialEq)]
pub struct ArgOverride {
    /// Position of the parameter from 0; `None` for the one after the
    /// override before.
    pub index: Option<usize>,
    /// The argument.
    pub arg: ArgSpec,
}

impl FromStr for ArgOverride {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        // `5=lane` names a position, `5 == lane` compares.
        let (index, spec) = match s.split_once('=') {
            Some((n, spec)) if !spec.starts_with('=') && !n.is_empty() => {
                match n.trim().parse::<u16>() {
                    Ok(n) => (Some(usize::from(n)), spec),
                    Err(_) => (None, s),
                }
            }
            _ => (None, s),
        };
        Ok(Self {
            index,
            arg: spec.parse()?,
        })
    }
}

impl FromStr for ArgSpec {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let s = s.trim();
        let kind = if let Some(n) = Number::parse(s) {
            ArgKind::Scalar(n)
        } else if let Some(rest) = s.strip_prefix("buf:") {
            buffer(rest)?
        } else if let Some(rest) = s.strip_prefix("at:") {
            let (base, source) = rest.split_once(':').ok_or("expected `at:NAME:OFFSETS`")?;
            ArgKind::Varying(Varying {
                base: Some(base.to_owned()),
                source: source_of(source)?,
            })
        } else {
            ArgKind::Varying(Varying {
                base: None,
                source: source_of(s)?,
            })
        };
        Ok(Self {
            kind,
            name: None,
            place: None,
        })
    }
}

fn buffer(text: &str) -> Result<ArgKind, String> {
    let (text, readonly) = match text.strip_suffix(":ro") {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    let mut parts = text.splitn(3, ':');
    let elem = match parts.next().unwrap_or_default().parse() {
        Ok(ty) if ty != Type::Pred => ty,
        _ => return Err("expected `buf:TYPE:LEN[:INIT][:ro]`, TYPE one of i8 … f64".to_owned()),
    };
    let len = parts
        .next()
        .and_then(|n| n.parse().ok())
        .ok_or("expected a length after `buf:TYPE:`")?;
    let init = match parts.next() {
        None | Some("zero") => Init::Zero,
        Some("iota") => Init::Expr(expr("i", Vars::Element)?),
        Some(text) => {
            if let Some(file) = text.strip_prefix('@') {
                Init::File(file.to_owned())
            } else if let Some(n) = Number::parse(text) {
                Init::Constant(n)
            } else if let Some(list) = list(text)? {
                Init::Values(list)
            } else if let Some(random) = random(text)? {
                Init::Random(random)
            } else {
                Init::Expr(expr(text, Vars::Element)?)
            }
        }
    };
    Ok(ArgKind::Buffer {
        elem,
        len: Some(len),
        init,
        readonly,
    })
}

fn source_of(text: &str) -> Result<Source, String> {
    Ok(if let Some(list) = list(text)? {
        Source::Values(list)
    } else if let Some(random) = random(text)? {
        Source::Random(random)
    } else {
        Source::Expr(expr(text, Vars::Thread)?)
    })
}

fn expr(text: &str, vars: Vars) -> Result<Expr, String> {
    Expr::parse(text, vars).map_err(|e| format!("column {} of `{text}`: {}", e.at + 1, e.message))
}

fn numbers(inner: &str) -> Result<Vec<Number>, String> {
    inner
        .split(',')
        .map(|n| Number::parse(n.trim()).ok_or_else(|| format!("`{}` is no number", n.trim())))
        .collect()
}

fn list(text: &str) -> Result<Option<Vec<Number>>, String> {
    match text.strip_prefix('[').map(|rest| rest.strip_suffix(']')) {
        None => Ok(None),
        Some(None) => Err("expected `]` at the end".to_owned()),
        Some(Some(inner)) => numbers(inner).map(Some),
    }
}

fn random(text: &str) -> Result<Option<Random>, String> {
    let Some(rest) = text.strip_prefix("random(") else {
        return Ok(None);
    };
    let inner = rest.strip_suffix(')').ok_or("expected `)` at the end")?;
    let (min, max, seed) = match numbers(inner)?[..] {
        [min, max] => (min, max, None),
        [min, max, Number::Int(seed)] => (min, max, Some(seed as u64)),
        _ => return Err("expected `random(MIN, MAX)` or `random(MIN, MAX, SEED)`".to_owned()),
    };
    if min.to_f64() > max.to_f64() {
        return Err("the least number of `random` exceeds the greatest".to_owned());
    }
    Ok(Some(Random { min, max, seed }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(s: &str) -> ArgKind {
        s.parse::<ArgSpec>().unwrap().kind
    }

    #[test]
    fn forms() {
        assert_eq!(kind("5"), ArgKind::Scalar(Number::Int(5)));
        assert_eq!(kind("-1.5"), ArgKind::Scalar(Number::Float(-1.5)));
        assert!(matches!(
            kind("buf:i32:128:iota"),
            ArgKind::Buffer {
                elem: Type::I32,
                len: Some(128),
                init: Init::Expr(_),
                readonly: false
            }
        ));
        assert!(matches!(
            kind("buf:f32:4:[1, 2.5]:ro"),
            ArgKind::Buffer { init: Init::Values(v), readonly: true, .. } if v.len() == 2
        ));
        assert!(matches!(
            kind("buf:i8:4:@a:b.bin"),
            ArgKind::Buffer { init: Init::File(f), .. } if f == "a:b.bin"
        ));
        assert!(matches!(
            kind("at:in:4 * lane"),
            ArgKind::Varying(Varying { base: Some(b), .. }) if b == "in"
        ));
        assert!(matches!(
            kind("random(0, 9, 7)"),
            ArgKind::Varying(Varying { source: Source::Random(r), .. }) if r.seed == Some(7)
        ));
        let over: ArgOverride = "2=lane".parse().unwrap();
        assert_eq!(over.index, Some(2));
        let over: ArgOverride = "2 == lane".parse().unwrap();
        assert_eq!(over.index, None);
        assert_eq!("8x4".parse(), Ok(Dims([8, 4, 1])));
    }

    #[test]
    fn errors() {
        for (s, want) in [
            ("buf:i33:4", "TYPE one of"),
            ("buf:i32", "expected a length"),
            ("buf:i32:-4", "expected a length"),
            ("[1, x]", "`x` is no number"),
            ("[1", "expected `]`"),
            ("random(9, 1)", "exceeds"),
            ("lan", "column 1 of `lan`: unknown name `lan`"),
            ("", "expected a number"),
        ] {
            let got = s.parse::<ArgOverride>().unwrap_err();
            assert!(got.contains(want), "{s}: {got}");
        }
        for (s, want) in [
            ("0", "must not be 0"),
            ("-1", "negative"),
            ("1,2,3,4", "more than"),
        ] {
            let got = s.parse::<Dims>().unwrap_err();
            assert!(got.contains(want), "{s}: {got}");
        }
    }
}
