//! The `;!` lines of a kernel file, read as one TOML document.
//!
//! The document handed to the TOML parser has as many lines as the file:
//! other lines are blank in it and the `;!` is blanked out, so that line and
//! column of an error are those of the file. The tree is walked by hand
//! rather than by serde, because fields take several shapes (`grid` a number
//! or a list, `init` a word or a table) and every error should stand at the
//! value that is wrong and name what was expected.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use warpfold_ir::Type;

use super::expr::{Expr, Number, Vars};
use super::random::Random;
use super::{ArgKind, ArgSpec, Init, LaunchError, LaunchSpec, Place, Source, Varying};

const MARK: &str = ";!";

pub(super) fn parse(source: &str) -> Result<LaunchSpec, LaunchError> {
    let mut text = String::with_capacity(source.len());
    let mut start = None;
    for (i, line) in source.lines().enumerate() {
        let indent = line.len() - line.trim_start().len();
        if let Some(rest) = line[indent..].strip_prefix(MARK) {
            let place = Place {
                line: i as u32 + 1,
                column: indent as u32 + 1,
            };
            start.get_or_insert(place);
            text.extend(std::iter::repeat_n(' ', indent + MARK.len()));
            text.push_str(rest);
        }
        text.push('\n');
    }
    let doc = Doc { text: &text };
    let root = DeTable::parse(&text).map_err(|e| {
        let place = e.span().map(|s| doc.place(s.start)).or(start);
        LaunchError::new(place, e.message())
    })?;
    let mut fields = Fields::new(doc, root.get_ref(), start, "the launch header");
    let function = fields.take("function");
    let mut spec = LaunchSpec {
        grid: fields.read("grid", |v| doc.dims(v, "grid"))?,
        block: fields.read("block", |v| doc.dims(v, "block"))?,
        shared: fields
            .read("shared", |v| doc.unsigned(v, "shared"))?
            .unwrap_or(0),
        seed: fields.read("seed", |v| doc.unsigned(v, "seed"))?,
        function_at: function.map(|v| doc.place(v.span().start)),
        function: function
            .map(|v| doc.string(v, "function").map(str::to_owned))
            .transpose()?,
        args: Vec::new(),
        start,
    };
    if let Some(list) = fields.take("arg") {
        for arg in doc.array(list, "arg")? {
            spec.args.push(doc.arg(arg)?);
        }
    }
    fields.finish()?;
    Ok(spec)
}

type Node<'a> = &'a Spanned<DeValue<'a>>;

/// The blanked text, to turn spans into places.
#[derive(Clone, Copy)]
struct Doc<'a> {
    text: &'a str,
}

/// The fields of one table, to be taken one by one; what is left is an error.
struct Fields<'a> {
    doc: Doc<'a>,
    left: BTreeMap<&'a str, (usize, Node<'a>)>,
    known: Vec<&'static str>,
    place: Option<Place>,
    what: &'static str,
}

impl<'a> Fields<'a> {
    fn new(doc: Doc<'a>, table: &'a DeTable<'a>, place: Option<Place>, what: &'static str) -> Self {
        let left = table
            .iter()
            .map(|(k, v)| (k.get_ref().as_ref(), (k.span().start, v)))
            .collect();
        Self {
            doc,
            left,
            known: Vec::new(),
            place,
            what,
        }
    }

    fn take(&mut self, key: &'static str) -> Option<Node<'a>> {
        self.known.push(key);
        self.left.remove(key).map(|(_, v)| v)
    }

    fn read<T>(
        &mut self,
        key: &'static str,
        f: impl FnOnce(Node<'a>) -> Result<T, LaunchError>,
    ) -> Result<Option<T>, LaunchError> {
        self.take(key).map(f).transpose()
    }

    fn need(&mut self, key: &'static str) -> Result<Node<'a>, LaunchError> {
        let (place, what) = (self.place, self.what);
        self.take(key)
            .ok_or_else(|| LaunchError::new(place, format!("{what} lacks `{key}`")))
    }

    fn finish(self) -> Result<(), LaunchError> {
        match self.left.first_key_value() {
            None => Ok(()),
            Some((key, &(at, _))) => Err(LaunchError::new(
                Some(self.doc.place(at)),
                format!(
                    "unknown key `{key}` in {}; known here: {}",
                    self.what,
                    self.known.join(", ")
                ),
            )),
        }
    }
}

impl<'a> Doc<'a> {
    fn place(self, offset: usize) -> Place {
        let before = &self.text.as_bytes()[..offset.min(self.text.len())];
        let line = before.iter().filter(|&&b| b == b'\n').count();
        let column = before.iter().rev().take_while(|&&b| b != b'\n').count();
        Place {
            line: line as u32 + 1,
            column: column as u32 + 1,
        }
    }

    fn error<T>(self, v: Node<'_>, message: impl Into<String>) -> Result<T, LaunchError> {
        Err(LaunchError::new(Some(self.place(v.span().start)), message))
    }

    fn wrong<T>(self, v: Node<'_>, key: &str, wanted: &str) -> Result<T, LaunchError> {
        let found = v.get_ref().type_str();
        self.error(v, format!("`{key}` must be {wanted}, not {found}"))
    }

    fn string(self, v: Node<'a>, key: &str) -> Result<&'a str, LaunchError> {
        match v.get_ref().as_str() {
            Some(s) => Ok(s),
            None => self.wrong(v, key, "a string"),
        }
    }

    fn array(
        self,
        v: Node<'a>,
        key: &str,
    ) -> Result<impl Iterator<Item = Node<'a>> + use<'a>, LaunchError> {
        match v.get_ref().as_array() {
            Some(list) => Ok(list.iter()),
            None => self.wrong(v, key, "a list"),
        }
    }

    fn table(self, v: Node<'a>, what: &'static str) -> Result<Fields<'a>, LaunchError> {
        match v.get_ref().as_table() {
            Some(table) => Ok(Fields::new(
                self,
                table,
                Some(self.place(v.span().start)),
                what,
            )),
            None => self.wrong(v, what, "a table"),
        }
    }

    fn flag(self, v: Node<'_>, key: &str) -> Result<bool, LaunchError> {
        match v.get_ref().as_bool() {
            Some(b) => Ok(b),
            None => self.wrong(v, key, "true or false"),
        }
    }

    fn int(self, v: Node<'_>, key: &str) -> Result<i128, LaunchError> {
        match v.get_ref().as_integer() {
            Some(n) => i128::from_str_radix(&n.as_str().replace('_', ""), n.radix())
                .or_else(|_| self.error(v, format!("`{key}` does not fit 128 bits"))),
            None => self.wrong(v, key, "an integer"),
        }
    }

    fn unsigned<T: TryFrom<i128>>(self, v: Node<'_>, key: &str) -> Result<T, LaunchError> {
        let n = self.int(v, key)?;
        T::try_from(n).or_else(|_| {
            let why = if n < 0 { "negative" } else { "too large" };
            self.error(v, format!("`{key}` is {n}, which is {why}"))
        })
    }

    fn number(self, v: Node<'_>, key: &str) -> Result<Number, LaunchError> {
        match v.get_ref() {
            DeValue::Integer(_) => self.int(v, key).map(Number::Int),
            DeValue::Boolean(b) => Ok(Number::Int((*b).into())),
            DeValue::Float(x) => match x.as_str().replace('_', "").parse() {
                Ok(x) => Ok(Number::Float(x)),
                Err(_) => self.error(v, format!("`{key}` is no float that is known")),
            },
            _ => self.wrong(v, key, "a number"),
        }
    }

    fn numbers(self, v: Node<'a>, key: &str) -> Result<Vec<Number>, LaunchError> {
        let list: Vec<Number> = self
            .array(v, key)?
            .map(|x| self.number(x, key))
            .collect::<Result<_, _>>()?;
        match list.is_empty() {
            true => self.error(v, format!("`{key}` is empty")),
            false => Ok(list),
        }
    }

    fn dims(self, v: Node<'a>, key: &str) -> Result<[u32; 3], LaunchError> {
        let mut dims = [1; 3];
        match v.get_ref() {
            DeValue::Array(list) if (1..=3).contains(&list.len()) => {
                for (d, x) in dims.iter_mut().zip(list.iter()) {
                    *d = self.unsigned(x, key)?;
                }
            }
            DeValue::Integer(_) => dims[0] = self.unsigned(v, key)?,
            _ => return self.wrong(v, key, "a number or a list of up to three"),
        }
        match dims.contains(&0) {
            true => self.error(v, format!("`{key}` must not be 0")),
            false => Ok(dims),
        }
    }

    fn expr(self, v: Node<'a>, key: &str, vars: Vars) -> Result<Expr, LaunchError> {
        let text = self.string(v, key)?;
        Expr::parse(text, vars).map_err(|e| {
            let mut place = self.place(v.span().start);
            // One more for the quote.
            place.column += e.at as u32 + 1;
            LaunchError::new(Some(place), e.message)
        })
    }

    fn random(self, v: Node<'a>) -> Result<Random, LaunchError> {
        let mut fields = self.table(v, "random")?;
        let min = fields.need("min")?;
        let max = fields.need("max")?;
        let random = Random {
            min: self.number(min, "min")?,
            max: self.number(max, "max")?,
            seed: fields.read("seed", |v| self.unsigned(v, "seed"))?,
        };
        fields.finish()?;
        if random.min.to_f64() > random.max.to_f64() {
            return self.error(v, "`min` is greater than `max`");
        }
        Ok(random)
    }

    fn arg(self, v: Node<'a>) -> Result<ArgSpec, LaunchError> {
        let mut fields = self.table(v, "an argument")?;
        let place = fields.place;
        let name = fields.read("name", |v| self.string(v, "name").map(str::to_owned))?;
        let buffer = fields.take("buffer");
        let scalar = fields.take("scalar");
        let varying = fields.take("varying");
        let kind = match (buffer, scalar, varying) {
            (Some(elem), None, None) => self.buffer(elem, &mut fields)?,
            (None, Some(n), None) => ArgKind::Scalar(self.number(n, "scalar")?),
            (None, None, Some(v)) => ArgKind::Varying(self.varying(v)?),
            _ => {
                return self.error(
                    v,
                    "an argument needs exactly one of `buffer`, `scalar`, `varying`",
                );
            }
        };
        fields.finish()?;
        Ok(ArgSpec { kind, name, place })
    }

    fn buffer(self, elem: Node<'a>, fields: &mut Fields<'a>) -> Result<ArgKind, LaunchError> {
        let elem_type = match self.string(elem, "buffer")?.parse() {
            Ok(ty) if ty != Type::Pred => ty,
            _ => {
                return self.error(
                    elem,
                    "`buffer` must be an element type: i8, i16, i32, i64, i128, f16, f32 or f64",
                );
            }
        };
        let len: Option<u64> = fields.read("len", |v| self.unsigned(v, "len"))?;
        let init = fields.take("init");
        let init = match init.map(|v| (v, v.get_ref())) {
            None => Init::Zero,
            Some((v, DeValue::String(s))) => match s.as_ref() {
                "zero" => Init::Zero,
                "iota" => Init::Expr(self.expr_iota(v)?),
                _ => Init::Expr(self.expr(v, "init", Vars::Element)?),
            },
            Some((v, _)) => self.init(v)?,
        };
        if len.is_none() && !matches!(init, Init::Values(_) | Init::File(_)) {
            return self.error(elem, "the buffer lacks `len`");
        }
        let readonly = fields.read("readonly", |v| self.flag(v, "readonly"))?;
        Ok(ArgKind::Buffer {
            elem: elem_type,
            len,
            init,
            readonly: readonly.unwrap_or(false),
        })
    }

    fn expr_iota(self, v: Node<'a>) -> Result<Expr, LaunchError> {
        Expr::parse("i", Vars::Element).or_else(|e| self.error(v, e.message))
    }

    fn init(self, v: Node<'a>) -> Result<Init, LaunchError> {
        let mut fields = self.table(v, "init")?;
        let constant = fields.take("constant");
        let values = fields.take("values");
        let random = fields.take("random");
        let file = fields.take("file");
        let init = match (constant, values, random, file) {
            (Some(v), None, None, None) => Init::Constant(self.number(v, "constant")?),
            (None, Some(v), None, None) => Init::Values(self.numbers(v, "values")?),
            (None, None, Some(v), None) => Init::Random(self.random(v)?),
            (None, None, None, Some(v)) => Init::File(self.string(v, "file")?.to_owned()),
            _ => {
                return self.error(
                    v,
                    "`init` needs exactly one of `constant`, `values`, `random`, `file`",
                );
            }
        };
        fields.finish()?;
        Ok(init)
    }

    fn varying(self, v: Node<'a>) -> Result<Varying, LaunchError> {
        if v.get_ref().is_str() {
            return Ok(Varying {
                base: None,
                source: Source::Expr(self.expr(v, "varying", Vars::Thread)?),
            });
        }
        let mut fields = self.table(v, "varying")?;
        let base = fields.read("base", |v| self.string(v, "base").map(str::to_owned))?;
        let values = fields.take("values");
        let random = fields.take("random");
        let source = match (values, random) {
            (Some(v), None) if v.get_ref().is_str() => {
                Source::Expr(self.expr(v, "values", Vars::Thread)?)
            }
            (Some(v), None) => Source::Values(self.numbers(v, "values")?),
            (None, Some(v)) => Source::Random(self.random(v)?),
            _ => return self.error(v, "`varying` needs one of `values`, `random`"),
        };
        fields.finish()?;
        Ok(Varying { base, source })
    }
}
