//! Text output, in CLIF's look. [`parse`](crate::parse) reads it back.
//!
//! Functions that the verifier refuses are printed as well, entities that do
//! not exist included: what is wrong with them is shown under their text.

use std::fmt::{self, Write};

use crate::entities::{Block, Inst, Value};
use crate::function::{
    BlockCall, BranchMark, CallTarget, Function, Guard, Imm, InstData, Module, Terminator,
};
use crate::opcode::Opcode;
use crate::types::Type;

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, func) in self.functions.iter().enumerate() {
            if i > 0 {
                f.write_char('\n')?;
            }
            write!(f, "{func}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_function(f, self, &mut |_, _| Ok(()))
    }
}

/// A line of a function's text, for annotation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Line {
    /// The signature.
    Signature,
    /// The header of a block.
    Header(Block),
    /// An instruction.
    Inst(Inst),
    /// The terminator of a block.
    Term(Block),
}

/// Writes `func`, calling `note` at the end of each line's text so that it can
/// add a comment (beginning with ` ;`) or further lines.
///
/// # Errors
/// Those of the writer and of `note`.
pub fn write_function<W: Write + ?Sized>(
    w: &mut W,
    func: &Function,
    note: &mut dyn FnMut(&mut W, Line) -> fmt::Result,
) -> fmt::Result {
    w.write_str("function %")?;
    write_name(w, &func.name)?;
    w.write_char('(')?;
    for (i, p) in func.params.iter().enumerate() {
        let sep = if i > 0 { ", " } else { "" };
        let varying = if p.varying { " varying" } else { "" };
        write!(w, "{sep}{}{varying}", p.ty)?;
    }
    w.write_char(')')?;
    for (i, ty) in func.results.iter().enumerate() {
        write!(w, "{}{ty}", if i > 0 { ", " } else { " -> " })?;
    }
    w.write_str(" {")?;
    note(w, Line::Signature)?;
    w.write_char('\n')?;
    for (slot, data) in func.slots.iter() {
        writeln!(w, "    {slot} = slot {}, align {}", data.size, data.align)?;
    }
    for (sig, signature) in func.signatures.iter() {
        writeln!(w, "    {sig} = {signature}")?;
    }
    for (callee, data) in func.callees.iter() {
        write!(w, "    {callee} = %")?;
        write_name(w, &data.name)?;
        writeln!(w, "{}", data.signature)?;
    }
    let preamble =
        !(func.slots.is_empty() && func.signatures.is_empty() && func.callees.is_empty());
    for (i, &b) in func.layout.iter().enumerate() {
        if i > 0 || preamble {
            w.write_char('\n')?;
        }
        write_header(w, func, b)?;
        note(w, Line::Header(b))?;
        w.write_char('\n')?;
        if !func.has_block(b) {
            continue;
        }
        for &inst in &func.block(b).insts {
            w.write_str("    ")?;
            match func.has_inst(inst) {
                true => write_inst(w, func.inst(inst))?,
                false => write!(w, "{inst}")?,
            }
            note(w, Line::Inst(inst))?;
            w.write_char('\n')?;
        }
        if let Some(term) = &func.block(b).term {
            w.write_str("    ")?;
            write_term(w, term)?;
            if !func.block(b).origin.is_none() {
                write!(w, " @{}", func.block(b).origin)?;
            }
            note(w, Line::Term(b))?;
            w.write_char('\n')?;
        }
    }
    w.write_str("}\n")
}

/// A function's name, quoted unless it is a plain word.
fn write_name<W: Write + ?Sized>(w: &mut W, name: &str) -> fmt::Result {
    match crate::parse::is_plain_name(name) {
        true => w.write_str(name),
        false => write!(w, "\"{}\"", name.escape_default()),
    }
}

fn write_header<W: Write + ?Sized>(w: &mut W, func: &Function, b: Block) -> fmt::Result {
    write!(w, "{b}")?;
    if !func.has_block(b) {
        return w.write_char(':');
    }
    let params = &func.block(b).params;
    for (i, &v) in params.iter().enumerate() {
        write!(w, "{}{v}: ", if i > 0 { ", " } else { "(" })?;
        match func.has_value(v) {
            true => write!(w, "{}", func.ty(v))?,
            false => w.write_char('?')?,
        }
    }
    w.write_str(if params.is_empty() { ":" } else { "):" })
}

/// Writes one instruction without indentation or line end.
///
/// # Errors
/// Those of the writer.
pub fn write_inst<W: Write + ?Sized>(w: &mut W, data: &InstData) -> fmt::Result {
    for (i, v) in data.results.iter().enumerate() {
        write!(w, "{}{v}", if i > 0 { ", " } else { "" })?;
    }
    if !data.results.is_empty() {
        w.write_str(" = ")?;
    }
    w.write_str(data.op.mnemonic())?;
    if data.op.shape().types().only().is_none() {
        write!(w, ".{}", data.ty)?;
    }
    match data.imm {
        Imm::Bits(bits) => write!(w, " {}", Literal(data.ty, bits))?,
        Imm::Icc(cc) => write!(w, " {cc}")?,
        Imm::Fcc(cc) => write!(w, " {cc}")?,
        Imm::Mem { flags, .. } => {
            for (flag, name) in crate::codes::MemFlags::NAMED {
                if flags.contains(flag) {
                    write!(w, " {name}")?;
                }
            }
            if let Some(code) = flags.code() {
                write!(w, " {code}")?;
            }
        }
        Imm::Slot { slot, offset } => {
            write!(w, " {slot}")?;
            write_offset(w, offset)?;
        }
        Imm::Func(func) => write!(w, " {func}")?,
        Imm::Sig(sig) => write!(w, " {sig}")?,
        Imm::Trap(_) | Imm::None => {}
    }
    if data.op.effects().calls {
        write_call_args(w, data.op.shape().operands().len(), &data.args)?;
    } else {
        for (i, arg) in data.args.iter().enumerate() {
            write!(w, "{}{arg}", if i > 0 { ", " } else { " " })?;
        }
    }
    if let Imm::Mem { offset, .. } = data.imm {
        write_offset(w, offset)?;
    }
    if let Some(guard) = data.guard {
        write!(w, " {guard}")?;
    }
    if let Imm::Trap(code) = data.imm {
        write!(w, ", {code}")?;
    }
    if !data.origin.is_none() {
        write!(w, " @{}", data.origin)?;
    }
    Ok(())
}

/// `(v1, v2)`, and before it the `fixed` operands that are no arguments.
fn write_call_args<W: Write + ?Sized>(w: &mut W, fixed: usize, values: &[Value]) -> fmt::Result {
    let (fixed, args) = values.split_at(fixed.min(values.len()));
    for v in fixed {
        write!(w, ", {v}")?;
    }
    w.write_char('(')?;
    for (i, v) in args.iter().enumerate() {
        write!(w, "{}{v}", if i > 0 { ", " } else { "" })?;
    }
    w.write_char(')')
}

fn write_offset<W: Write + ?Sized>(w: &mut W, offset: i32) -> fmt::Result {
    match offset {
        0 => Ok(()),
        _ => write!(w, "{offset:+}"),
    }
}

impl fmt::Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "if {}{}", if self.negated { "!" } else { "" }, self.pred)?;
        match self.otherwise {
            Some(v) => write!(f, " else {v}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for BlockCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.block)?;
        write_values(f, &self.args)
    }
}

fn write_values<W: Write + ?Sized>(w: &mut W, values: &[Value]) -> fmt::Result {
    for (i, v) in values.iter().enumerate() {
        write!(w, "{}{v}", if i > 0 { ", " } else { "(" })?;
    }
    w.write_str(if values.is_empty() { "" } else { ")" })
}

impl fmt::Display for BranchMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.proven { " uniform" } else { "" })?;
        f.write_str(if self.decided { " decided" } else { "" })?;
        match self.hint {
            Some(hint) => write!(f, " {}", hint.name()),
            None => Ok(()),
        }
    }
}

/// Writes one terminator without indentation, origin or line end.
///
/// # Errors
/// Those of the writer.
pub fn write_term<W: Write + ?Sized>(w: &mut W, term: &Terminator) -> fmt::Result {
    match term {
        Terminator::Jump(to) => write!(w, "jump {to}"),
        Terminator::Br {
            cond,
            then,
            otherwise,
            mark,
        } => write!(w, "br{mark} {cond}, {then}, {otherwise}"),
        Terminator::Switch {
            index,
            table,
            default,
            mark,
        } => {
            write!(w, "switch{mark} {index}, [")?;
            for (i, t) in table.iter().enumerate() {
                write!(w, "{}{t}", if i > 0 { ", " } else { "" })?;
            }
            write!(w, "], {default}")
        }
        Terminator::Ret(values) => {
            w.write_str("ret")?;
            for (i, v) in values.iter().enumerate() {
                write!(w, "{}{v}", if i > 0 { ", " } else { " " })?;
            }
            Ok(())
        }
        Terminator::Trap(code) => write!(w, "trap {code}"),
        Terminator::TailCall(call) => {
            match call.target {
                CallTarget::Direct(func) => write!(w, "return_call {func}")?,
                CallTarget::Indirect { sig, address } => {
                    write!(w, "return_call_indirect {sig}, {address}")?;
                }
            }
            write_call_args(w, 0, &call.args)
        }
    }
}

/// A constant of a type in its text form: integers signed decimal, floats so
/// that the same bits are read back, predicates as words.
#[derive(Clone, Copy, Debug)]
pub struct Literal(pub Type, pub u128);

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(ty, bits) = *self;
        match ty {
            Type::Pred => write!(f, "{}", bits & 1 == 1),
            Type::F16 => {
                let x = half::f16::from_bits(bits as u16);
                if x.is_nan() {
                    write!(f, "nan:{bits:#x}")
                } else {
                    write!(f, "{:?}", x.to_f32())
                }
            }
            Type::F32 => {
                let x = f32::from_bits(bits as u32);
                if x.is_nan() {
                    write!(f, "nan:{bits:#x}")
                } else {
                    write!(f, "{x:?}")
                }
            }
            Type::F64 => {
                let x = f64::from_bits(bits as u64);
                if x.is_nan() {
                    write!(f, "nan:{bits:#x}")
                } else {
                    write!(f, "{x:?}")
                }
            }
            _ => {
                let unused = 128 - ty.bits();
                write!(f, "{}", ((bits << unused) as i128) >> unused)
            }
        }
    }
}

/// One instruction's text, for messages.
pub fn inst_text(func: &Function, inst: Inst) -> String {
    let mut s = String::new();
    if func.has_inst(inst) {
        // Writing to a String cannot fail.
        let _ = write_inst(&mut s, func.inst(inst));
    }
    s
}

/// One terminator's text, for messages.
pub fn term_text(func: &Function, b: Block) -> String {
    let mut s = String::new();
    if func.has_block(b)
        && let Some(term) = &func.block(b).term
    {
        let _ = write_term(&mut s, term);
    }
    s
}

/// Whether an opcode's text carries a type suffix.
pub fn has_type_suffix(op: Opcode) -> bool {
    op.shape().types().only().is_none()
}
