//! One-instruction functions for the rows of the opcode map.
//!
//! A template is tried with every type, or every pair of types, and kept where
//! Cranelift's verifier accepts it; so the types of a row are CLIF's own and no
//! list here can miss one.

use std::fmt::Write;

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::immediates::{Ieee16, Ieee32, Ieee64};
use cranelift_codegen::ir::{AtomicRmwOp, Function, Opcode};
use cranelift_codegen::{settings, verify_function};

use super::inputs::boundary;

/// Every scalar type.
pub const TYPES: [&str; 8] = ["i8", "i16", "i32", "i64", "i128", "f16", "f32", "f64"];

/// A function of one instruction, with what it takes around it.
#[derive(Clone, Debug)]
pub struct Case {
    /// The row of the map.
    pub op: Opcode,
    /// The types and whatever else tells the cases of a row apart.
    pub label: String,
    /// What its parameters `v0`, `v1`... take.
    pub params: Vec<&'static str>,
    /// The types of its results `v90`, `v91`...
    pub results: Vec<&'static str>,
    /// The lines between parameters and return.
    body: String,
    /// Whether NaNs keep their bits.
    pub exact: bool,
}

impl Case {
    fn new(op: Opcode, label: String, params: &[&'static str], results: &[&'static str]) -> Self {
        Self {
            op,
            label,
            params: params.to_vec(),
            results: results.to_vec(),
            body: String::new(),
            exact: false,
        }
    }

    fn line(mut self, text: impl AsRef<str>) -> Self {
        self.body += "    ";
        self.body += text.as_ref();
        self.body.push('\n');
        self
    }

    fn exact(self) -> Self {
        Self {
            exact: true,
            ..self
        }
    }

    /// The function, as CLIF text: parameters in, results out.
    pub fn text(&self) -> String {
        let types = &self.params;
        let params: Vec<String> = (types.iter().enumerate())
            .map(|(i, ty)| format!("v{i}: {ty}"))
            .collect();
        let values: Vec<String> = (0..self.results.len())
            .map(|i| format!("v{}", 90 + i))
            .collect();
        let params = match params.is_empty() {
            true => String::new(),
            false => format!("({})", params.join(", ")),
        };
        format!(
            "function %f({}) -> {} {{\n    ss0 = explicit_slot 64, align = 16\nblock0{params}:\n{}    \
             return {}\n}}\n",
            types.join(", "),
            self.results.join(", "),
            self.body,
            values.join(", "),
        )
    }

    /// The same between two arrays of 16-byte cells: arguments are loaded from
    /// the first and results stored to the second.
    pub fn trampoline(&self) -> String {
        let mut text = String::from(
            "function %f(i64, i64) {\n    ss0 = explicit_slot 64, align = 16\n\
             block0(v70: i64, v71: i64):\n",
        );
        // Writing to a String cannot fail.
        for (i, param) in self.params.iter().enumerate() {
            let _ = writeln!(text, "    v{i} = load.{} v70+{}", param, 16 * i);
        }
        text += &self.body;
        for i in 0..self.results.len() {
            let _ = writeln!(text, "    store v{}, v71+{}", 90 + i, 16 * i);
        }
        text + "    return\n}\n"
    }

    /// The same with one type in the place of another.
    pub fn with_type(&self, from: &'static str, to: &'static str) -> Self {
        let swap = |types: &[&'static str]| -> Vec<_> {
            types
                .iter()
                .map(|&t| if t == from { to } else { t })
                .collect()
        };
        Self {
            params: swap(&self.params),
            results: swap(&self.results),
            body: self.body.replace(from, to),
            ..self.clone()
        }
    }

    /// The function, if it is valid.
    pub fn function(&self) -> Option<Function> {
        let func = parse(&self.text())?;
        let flags = settings::Flags::new(settings::builder());
        verify_function(&func, &flags).is_ok().then_some(func)
    }
}

/// The one function of a text.
pub fn parse(text: &str) -> Option<Function> {
    cranelift_reader::parse_functions(text).ok()?.pop()
}

/// Why there is nothing to compare in a row, of those where there is not.
pub fn exempt(op: Opcode) -> Option<&'static str> {
    Some(match op {
        Opcode::Jump | Opcode::Return => "control flow; in every case's or in `brif`'s",
        Opcode::Trap => "ends the function; `trapz` and `trapnz` are its conditional forms",
        Opcode::Call
        | Opcode::CallIndirect
        | Opcode::ReturnCall
        | Opcode::ReturnCallIndirect
        | Opcode::TryCall
        | Opcode::TryCallIndirect
        | Opcode::FuncAddr => "calls; no value of their own, the filetests run them",
        Opcode::StackAddr => "its value is an address, which every machine lays out for itself",
        Opcode::Nop | Opcode::SequencePoint | Opcode::Fence => "no value and no effect on one lane",
        _ => return None,
    })
}

/// The valid cases of a row.
pub fn cases(op: Opcode) -> Vec<Case> {
    let mut all = templates(op);
    all.retain(|case| case.function().is_some());
    all
}

fn templates(op: Opcode) -> Vec<Case> {
    use Opcode::*;
    let same = |n: usize| each(|t| Case::new(op, t.into(), &vec![t; n], &[t]));
    match op {
        Ineg | Iabs | Bnot | Bitrev | Clz | Cls | Ctz | Bswap | Popcnt | Sqrt | Ceil | Floor
        | Trunc | Nearest => all(same(1), |c| c.line(format!("v90 = {op} v0"))),
        Fneg | Fabs => all(same(1), |c| c.line(format!("v90 = {op} v0")).exact()),
        Iadd | Isub | Imul | Umulhi | Smulhi | Udiv | Sdiv | Urem | Srem | Smin | Umin | Smax
        | Umax | Fadd | Fsub | Fmul | Fdiv | Fmin | Fmax => {
            all(same(2), |c| c.line(format!("v90 = {op} v0, v1")))
        }
        Band | Bor | Bxor | Fcopysign => {
            all(same(2), |c| c.line(format!("v90 = {op} v0, v1")).exact())
        }
        Fma => all(same(3), |c| c.line(format!("v90 = {op} v0, v1, v2"))),
        Bitselect => all(same(3), |c| {
            c.line(format!("v90 = {op} v0, v1, v2")).exact()
        }),
        UaddOverflowTrap => all(same(2), |c| c.line(format!("v90 = {op} v0, v1, user9"))),
        Rotl | Rotr | Ishl | Ushr | Sshr => pairs(|t, by| {
            Case::new(op, format!("{t} by {by}"), &[t, by], &[t]).line(format!("v90 = {op} v0, v1"))
        }),
        Uextend | Sextend | Ireduce | Fpromote | Fdemote | FcvtToUint | FcvtToSint
        | FcvtToUintSat | FcvtToSintSat | FcvtFromUint | FcvtFromSint | Bmask => {
            pairs(|from, to| {
                Case::new(op, format!("{from} to {to}"), &[from], &[to])
                    .line(format!("v90 = {op}.{to} v0"))
            })
        }
        Bitcast => pairs(|from, to| {
            Case::new(op, format!("{from} to {to}"), &[from], &[to])
                .line(format!("v90 = {op}.{to} v0"))
                .exact()
        }),
        UaddOverflow | SaddOverflow | UsubOverflow | SsubOverflow | UmulOverflow | SmulOverflow => {
            each(|t| {
                Case::new(op, t.into(), &[t, t], &[t, "i8"]).line(format!("v90, v91 = {op} v0, v1"))
            })
        }
        UaddOverflowCin | SaddOverflowCin | UsubOverflowBin | SsubOverflowBin => each(|t| {
            Case::new(op, t.into(), &[t, t, "i8"], &[t, "i8"])
                .line(format!("v90, v91 = {op} v0, v1, v2"))
        }),
        Icmp => product(IntCC::all(), |cc, t| {
            Case::new(op, format!("{cc} {t}"), &[t, t], &["i8"])
                .line(format!("v90 = icmp {cc} v0, v1"))
        }),
        Fcmp => product(FloatCC::all(), |cc, t| {
            Case::new(op, format!("{cc} {t}"), &[t, t], &["i8"])
                .line(format!("v90 = fcmp {cc} v0, v1"))
        }),
        Select | SelectSpectreGuard => pairs(|c, t| {
            Case::new(op, format!("{t} if {c}"), &[c, t, t], &[t])
                .line(format!("v90 = {op} v0, v1, v2"))
                .exact()
        }),
        Isplit => pairs(|t, half| {
            Case::new(op, t.into(), &[t], &[half, half]).line("v90, v91 = isplit v0")
        }),
        Iconcat => pairs(|half, t| {
            Case::new(op, half.into(), &[half, half], &[t]).line("v90 = iconcat v0, v1")
        }),
        Iconst | F16const | F32const | F64const => each(|t| constants(op, t)),
        Trapz | Trapnz => each(|t| {
            Case::new(op, t.into(), &[t], &["i8"])
                .line(format!("{op} v0, user7"))
                .line("v90 = iconst.i8 1")
        }),
        Brif => each(|t| {
            Case::new(op, t.into(), &[t, "i32", "i32"], &["i32"])
                .line("brif v0, block1(v1), block1(v2)")
                .line("block1(v90: i32):")
        }),
        BrTable => each(|t| {
            Case::new(op, t.into(), &[t, "i32", "i32"], &["i32"])
                .line("v80 = iconst.i32 77")
                .line("br_table v0, block1(v80), [block1(v1), block1(v2)]")
                .line("block1(v90: i32):")
        }),
        Load | Uload8 | Sload8 | Uload16 | Sload16 | Uload32 | Sload32 | Store | Istore8
        | Istore16 | Istore32 => accesses(op),
        AtomicLoad | AtomicStore | AtomicRmw | AtomicCas => atomics(op),
        _ => Vec::new(),
    }
}

/// All boundary values of a type, as the results of one function.
fn constants(op: Opcode, ty: &'static str) -> Case {
    let values = boundary(ty);
    let results = vec![ty; values.len().min(64)];
    let mut case = Case::new(op, ty.into(), &[], &results).exact();
    for (i, bits) in values.into_iter().take(64).enumerate() {
        let number = match (op, ty) {
            (Opcode::F16const, "f16") => Ieee16::with_bits(bits as u16).to_string(),
            (Opcode::F32const, "f32") => Ieee32::with_bits(bits as u32).to_string(),
            (Opcode::F64const, "f64") => Ieee64::with_bits(bits as u64).to_string(),
            (Opcode::Iconst, "i8") => (bits as i8).to_string(),
            (Opcode::Iconst, "i16") => (bits as i16).to_string(),
            (Opcode::Iconst, "i32") => (bits as i32).to_string(),
            _ => (bits as i64).to_string(),
        };
        let suffix = match op {
            Opcode::Iconst => format!(".{ty}"),
            _ => String::new(),
        };
        case = case.line(format!("v{} = {op}{suffix} {number}", 90 + i));
    }
    case
}

/// Loads and stores in a stack slot whose bytes are parameters, at offsets that
/// are aligned and that are not, in both byte orders.
fn accesses(op: Opcode) -> Vec<Case> {
    let mut cases = Vec::new();
    for order in ["", " little", " big"] {
        for offset in [0, 3] {
            for t in TYPES {
                let label = format!("{t}{order}+{offset}");
                let stores = matches!(
                    op,
                    Opcode::Store | Opcode::Istore8 | Opcode::Istore16 | Opcode::Istore32
                );
                let mut params = vec!["i128", "i128"];
                let results: &[_] = if stores {
                    params.push(t);
                    &["i128", "i128"]
                } else {
                    &[t]
                };
                let mut case = Case::new(op, label, &params, results)
                    .line("v80 = stack_addr.i64 ss0")
                    .line("store v0, v80")
                    .line("store v1, v80+16");
                case = match stores {
                    true => case
                        .line(format!("{op}{order} v2, v80+{offset}"))
                        .line("v90 = load.i128 v80")
                        .line("v91 = load.i128 v80+16"),
                    false => case.line(format!("v90 = {op}.{t}{order} v80+{offset}")),
                };
                cases.push(case.exact());
            }
        }
    }
    cases
}

/// Atomic accesses to a stack slot, at its start and at an odd address.
fn atomics(op: Opcode) -> Vec<Case> {
    let at = |offset: u32| {
        let start = move |t: &'static str, label: String, n: usize| {
            Case::new(op, format!("{label}+{offset}"), &vec![t; n], &[t, t])
                .exact()
                .line("v80 = stack_addr.i64 ss0")
                .line(format!("v81 = stack_addr.i64 ss0+{offset}"))
                .line(format!("store v0, v80+{offset}"))
        };
        let end = move |case: Case, t| case.line(format!("v91 = load.{t} v80+{offset}"));
        match op {
            Opcode::AtomicLoad => each(|t| {
                let case = start(t, t.into(), 1).line(format!("v90 = atomic_load.{t} v81"));
                end(case, t)
            }),
            Opcode::AtomicStore => each(|t| {
                let case = start(t, t.into(), 2)
                    .line(format!("v90 = load.{t} v80+{offset}"))
                    .line("atomic_store v1, v81");
                end(case, t)
            }),
            Opcode::AtomicCas => each(|t| {
                let case = start(t, t.into(), 3).line("v90 = atomic_cas v81, v1, v2");
                end(case, t)
            }),
            _ => product(AtomicRmwOp::all(), |rmw, t| {
                let case = start(t, format!("{rmw} {t}"), 2)
                    .line(format!("v90 = atomic_rmw.{t} {rmw} v81, v1"));
                end(case, t)
            }),
        }
    };
    [at(0), at(1)].concat()
}

fn all(cases: Vec<Case>, then: impl Fn(Case) -> Case) -> Vec<Case> {
    cases.into_iter().map(then).collect()
}

fn each(case: impl Fn(&'static str) -> Case) -> Vec<Case> {
    TYPES.into_iter().map(case).collect()
}

fn pairs(case: impl Fn(&'static str, &'static str) -> Case) -> Vec<Case> {
    product(&TYPES, case)
}

fn product<T: Copy>(some: &[T], case: impl Fn(T, &'static str) -> Case) -> Vec<Case> {
    let pairs = some.iter().flat_map(|&a| TYPES.map(|t| (a, t)));
    pairs.map(|(a, t)| case(a, t)).collect()
}
