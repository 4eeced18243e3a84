//! The opcode page of the book, rendered from the opcode table.

use std::fmt::Write;

use crate::opcode::{CostClass, Effects, ImmKind, Opcode, Operand, ResultType, TypeSet};
use crate::types::Type;

/// The page `docs/opcodes.md`: every opcode with its operands and result,
/// cost class, effects and meaning, as Markdown.
pub fn opcode_page() -> String {
    let mut page = String::from(INTRO);
    for class in CostClass::ALL {
        let rows = Opcode::ALL.iter().filter(|op| op.info().class == *class);
        let mut rows = rows.peekable();
        if rows.peek().is_none() {
            continue;
        }
        // Writing to a String cannot fail.
        let _ = write!(page, "\n## `{class}`\n\n{TABLE_HEAD}");
        for &op in rows {
            row(&mut page, op);
        }
    }
    page
}

const INTRO: &str = "\
# Opcodes

This page is rendered from the opcode table in `crates/ir/src/table.rs`; after a change there,
`BLESS=1 cargo test -p warpfold-ir` writes it anew.

The type `T` of an instruction is the suffix of its mnemonic (`iadd.i32`). Where only one type is
possible there is no suffix. An operand with `?` may be left out. *int* is any of i8, i16, i32, i64, i128; *float* f16, f32 or f64; *num* any type
but `pred`; *addr* i32 or i64. Loads and stores that name a width (`uload8`, `istore32`) take integers
wider than it.

The sections are the cost classes of the table. Instructions of the classes `fp`, `fp_div` and `math` on
f64 cost what the classes `fp64`, `fp64_div` and `math64` say.

Half precision (f16) is computed in wider formats such that each operation is rounded once; the functions
of the class `math` come from the `libm` crate, with the same bits on every platform (also of
a NaN, which is always the quiet one without sign and payload), those of f16 as the f32 result rounded.

An atomic access demands alignment to its width, with or without the flag `aligned`, else the lane traps
with `heap_misaligned`; lanes go in order, each seeing what those before it left. `big` means that the
number stands in memory with its highest byte first. A trap code among the flags takes the place of
`heap_oob`.

Effects: *traps* the lane may trap; *reads*, *writes* memory; *convergent* the outcome depends on which
lanes execute it together; *syncs* orders or synchronises, so it is never guarded, moved, merged or
duplicated; *retires* lanes may leave the kernel here, and the guard is a part of the instruction;
*calls* runs a function, whose parameters and results are further operands and results, and is never
guarded, moved, merged or duplicated. All instructions but constants, calls and those that synchronise
may be guarded: `if v1`, `if !v1`, `if v1 else v2`.
";

const TABLE_HEAD: &str = "\
| opcode | T | operands → result | effects | meaning |
|---|---|---|---|---|
";

fn row(page: &mut String, op: Opcode) {
    let shape = op.shape();
    let mut form: Vec<String> = leading(shape.imm())
        .into_iter()
        .map(str::to_owned)
        .collect();
    let required = shape.operands().len() - shape.optional();
    form.extend(shape.operands().iter().enumerate().map(|(i, &o)| {
        let optional = if i < required { "" } else { "?" };
        operand(op, o) + optional
    }));
    let mut form = form.join(", ");
    if shape.imm() == ImmKind::Mem {
        form.push_str(" + offset");
    }
    if op.must_be_guarded() {
        form.push_str("if pred");
    }
    if shape.imm() == ImmKind::Trap {
        form.push_str(", code");
    }
    match shape.result() {
        ResultType::None if op.effects().calls => form.push_str("(any, …) → any, …"),
        ResultType::None => {}
        ResultType::Same => form.push_str(&format!(" → {}", own(op))),
        ResultType::Pred => form.push_str(" → pred"),
    }
    let _ = writeln!(
        page,
        "| `{op}` | {} | {} | {} | {} |",
        types(op),
        form.trim(),
        effects(op.effects()),
        op.info().doc.replace('|', "\\|"),
    );
}

/// Which types `T` may be; empty where it is fixed.
fn types(op: Opcode) -> String {
    let set = op.shape().types();
    if set.only().is_some() {
        return String::new();
    }
    let accepted: Vec<Type> = Type::ALL.into_iter().filter(|&t| op.accepts(t)).collect();
    let all = Type::ALL.into_iter().filter(|&t| set.contains(t)).count();
    if accepted.len() < all {
        let names: Vec<_> = accepted.iter().map(|t| t.name()).collect();
        return names.join(", ");
    }
    match set {
        TypeSet::Any => "any",
        TypeSet::Int => "int",
        TypeSet::Float => "float",
        TypeSet::Num => "num",
        TypeSet::Addr => "addr",
        TypeSet::Pred | TypeSet::I32 => "",
    }
    .to_owned()
}

/// How `T` is called in a row.
fn own(op: Opcode) -> String {
    match op.shape().types().only() {
        Some(ty) => ty.to_string(),
        None => "T".to_owned(),
    }
}

fn operand(op: Opcode, operand: Operand) -> String {
    match operand {
        Operand::Same => own(op),
        Operand::Pred => "pred".to_owned(),
        Operand::I32 => "i32".to_owned(),
        Operand::Addr => "addr".to_owned(),
        Operand::AnyInt => "int".to_owned(),
        Operand::NarrowerInt => "narrower int".to_owned(),
        Operand::WiderInt => "wider int".to_owned(),
        Operand::AnyFloat => "float".to_owned(),
        Operand::NarrowerFloat => "narrower float".to_owned(),
        Operand::WiderFloat => "wider float".to_owned(),
        Operand::SameWidth => "other type of T's width".to_owned(),
    }
}

/// The immediate that stands before the operands.
fn leading(imm: ImmKind) -> Option<&'static str> {
    match imm {
        ImmKind::None | ImmKind::Trap => None,
        ImmKind::Bits => Some("number"),
        ImmKind::Icc => Some("intcc"),
        ImmKind::Fcc => Some("floatcc"),
        ImmKind::Mem => Some("flags"),
        ImmKind::Slot => Some("slot + offset"),
        ImmKind::Func => Some("function"),
        ImmKind::Sig => Some("signature"),
    }
}

fn effects(effects: Effects) -> String {
    let named = [
        (effects.traps, "traps"),
        (effects.reads, "reads"),
        (effects.writes, "writes"),
        (effects.convergent, "convergent"),
        (effects.syncs, "syncs"),
        (effects.retires, "retires"),
        (effects.calls, "calls"),
    ];
    let names: Vec<_> = named.iter().filter(|e| e.0).map(|e| e.1).collect();
    names.join(", ")
}
