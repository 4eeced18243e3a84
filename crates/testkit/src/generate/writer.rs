//! The program as it is written: blocks of text, and the values in scope.
//!
//! Blocks are numbered in order of creation and stand in order of opening;
//! those opened while [`Writer::late`] is set stand at the end of the
//! function. Values are numbered in order of definition. A value is in scope
//! where [`Writer::pool`] holds it; whoever leaves a side cuts the pool back to
//! what it was, so that every use is dominated by its definition.

use super::coverage::Coverage;

/// A type of values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Ty {
    I8,
    I16,
    I32,
    I64,
    I128,
    F32,
    F64,
}

impl Ty {
    /// In the order of choice: the smallest is the likeliest.
    pub const ALL: [Self; 7] = [
        Self::I32,
        Self::I64,
        Self::I8,
        Self::F32,
        Self::I16,
        Self::F64,
        Self::I128,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::I128 => "i128",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    pub fn bits(self) -> u32 {
        match self {
            Self::I8 => 8,
            Self::I16 => 16,
            Self::I32 | Self::F32 => 32,
            Self::I64 | Self::F64 => 64,
            Self::I128 => 128,
        }
    }

    pub fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }
}

/// A defined value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Val {
    pub id: u32,
    pub ty: Ty,
    /// Whether it may be a NaN that arithmetic made. Which NaN that is, is
    /// left open by the language, so its bits must not be looked at.
    pub nan: bool,
}

/// A block, by number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Blk(pub usize);

#[derive(Default)]
struct Text {
    params: Vec<Val>,
    lines: Vec<String>,
}

/// The function being written.
#[derive(Default)]
pub(super) struct Writer {
    blocks: Vec<Text>,
    layout: Vec<Blk>,
    at_end: Vec<Blk>,
    current: usize,
    values: u32,
    imports: Vec<(&'static str, String)>,
    /// Values in scope.
    pub pool: Vec<Val>,
    /// Whether opened blocks go to the end.
    pub late: bool,
    pub coverage: Coverage,
}

impl Writer {
    /// A new block with parameters of these types; they come into scope when
    /// it is opened.
    pub fn block(&mut self, params: &[Ty]) -> Blk {
        let params = params
            .iter()
            .map(|&ty| Val {
                nan: ty.is_float(),
                ..self.fresh(ty)
            })
            .collect();
        self.blocks.push(Text {
            params,
            lines: Vec::new(),
        });
        Blk(self.blocks.len() - 1)
    }

    /// Puts the block in place; what follows is written into it.
    pub fn open(&mut self, block: Blk) {
        match self.late {
            true => self.at_end.push(block),
            false => self.layout.push(block),
        }
        self.current = block.0;
        let params = self.blocks[block.0].params.clone();
        self.pool.extend(params);
    }

    /// The block being written.
    pub fn here(&self) -> Blk {
        Blk(self.current)
    }

    /// Goes on writing a block that was left.
    pub fn resume(&mut self, block: Blk) {
        self.current = block.0;
    }

    pub fn params(&self, block: Blk) -> &[Val] {
        &self.blocks[block.0].params
    }

    fn fresh(&mut self, ty: Ty) -> Val {
        self.values += 1;
        Val {
            id: self.values - 1,
            ty,
            nan: false,
        }
    }

    fn line(&mut self, line: String) {
        self.blocks[self.current].lines.push(line);
    }

    /// `vN = OP.T REST`, or without the type.
    pub fn def(&mut self, ty: Ty, op: &'static str, typed: bool, rest: &str) -> Val {
        self.coverage.op(op);
        let v = self.fresh(ty);
        let suffix = match typed {
            true => format!(".{}", ty.name()),
            false => String::new(),
        };
        self.line(format!("v{} = {op}{suffix} {rest}", v.id));
        self.pool.push(v);
        v
    }

    /// `vN = OP vA, vB`.
    pub fn ins(&mut self, ty: Ty, op: &'static str, args: &[Val]) -> Val {
        self.def(ty, op, false, &list(args))
    }

    /// `vN = OP.T vA`.
    pub fn cast(&mut self, ty: Ty, op: &'static str, arg: Val) -> Val {
        self.def(ty, op, true, &list(&[arg]))
    }

    /// An instruction with two results.
    pub fn two(&mut self, types: [Ty; 2], op: &'static str, args: &[Val]) -> [Val; 2] {
        self.coverage.op(op);
        let results = types.map(|ty| self.fresh(ty));
        self.line(format!("{} = {op} {}", list(&results), list(args)));
        self.pool.extend(results);
        results
    }

    /// An instruction without a result.
    pub fn act(&mut self, op: &'static str, rest: &str) {
        self.coverage.op(op);
        self.line(format!("{op} {rest}"));
    }

    /// A call of an intrinsic, declared on the way.
    pub fn call(&mut self, name: &'static str, args: &[Val], result: Option<Ty>) -> Option<Val> {
        self.coverage.op("call");
        let params: Vec<&str> = args.iter().map(|a| a.ty.name()).collect();
        let mut signature = format!("({})", params.join(", "));
        if let Some(ty) = result {
            signature += &format!(" -> {}", ty.name());
        }
        let declared = self
            .imports
            .iter()
            .position(|(n, s)| *n == name && *s == signature);
        let index = declared.unwrap_or_else(|| {
            self.imports.push((name, signature));
            self.imports.len() - 1
        });
        let call = format!("call fn{index}({})", list(args));
        let Some(ty) = result else {
            self.line(call);
            return None;
        };
        let v = self.fresh(ty);
        self.line(format!("v{} = {call}", v.id));
        self.pool.push(v);
        Some(v)
    }

    pub fn jump(&mut self, to: Blk, args: &[Val]) {
        self.act("jump", &target(to, args));
    }

    pub fn brif(&mut self, cond: Val, then: (Blk, &[Val]), otherwise: (Blk, &[Val])) {
        let then = target(then.0, then.1);
        let otherwise = target(otherwise.0, otherwise.1);
        self.act("brif", &format!("v{}, {then}, {otherwise}", cond.id));
    }

    pub fn br_table(&mut self, index: Val, default: (Blk, &[Val]), table: &[(Blk, Vec<Val>)]) {
        let entries: Vec<String> = table.iter().map(|(b, args)| target(*b, args)).collect();
        let default = target(default.0, default.1);
        let rest = format!("v{}, {default}, [{}]", index.id, entries.join(", "));
        self.act("br_table", &rest);
    }

    /// The function's text; `slots` are the sizes of its stack slots.
    pub fn finish(self, name: &str, params: &[Ty], results: &[Ty], slots: &[u32]) -> String {
        let names = |types: &[Ty]| {
            let names: Vec<&str> = types.iter().map(|t| t.name()).collect();
            names.join(", ")
        };
        let mut text = format!("function %{name}({})", names(params));
        if !results.is_empty() {
            text += &format!(" -> {}", names(results));
        }
        text += " {\n";
        for (i, size) in slots.iter().enumerate() {
            text += &format!("    ss{i} = explicit_slot {size}, align = 16\n");
        }
        for (i, (name, signature)) in self.imports.iter().enumerate() {
            text += &format!("    fn{i} = %{name}{signature}\n");
        }
        for &Blk(b) in self.layout.iter().chain(&self.at_end) {
            let block = &self.blocks[b];
            let params: Vec<String> = block
                .params
                .iter()
                .map(|v| format!("v{}: {}", v.id, v.ty.name()))
                .collect();
            text += &match params.is_empty() {
                true => format!("\nblock{b}:\n"),
                false => format!("\nblock{b}({}):\n", params.join(", ")),
            };
            for line in &block.lines {
                text += &format!("    {line}\n");
            }
        }
        text + "}\n"
    }
}

pub(super) fn list(values: &[Val]) -> String {
    let names: Vec<String> = values.iter().map(|v| format!("v{}", v.id)).collect();
    names.join(", ")
}

fn target(to: Blk, args: &[Val]) -> String {
    match args.is_empty() {
        true => format!("block{}", to.0),
        false => format!("block{}({})", to.0, list(args)),
    }
}
