//! The function being read: its names, places and branches, and errors about
//! them.

use cranelift_codegen::dominator_tree::DominatorTree;
use cranelift_codegen::ir as clif;
use cranelift_codegen::ir::entities::AnyEntity;
use cranelift_codegen::verifier::VerifierError;
use warpfold_ir::Origin;

use super::{Known, SourceBranch};
use crate::error::ClifError;
use crate::kind::ErrorKind;
use crate::opmap::{Rule, rule};

/// Where the parts of a function stand in the text.
pub(crate) trait Lines {
    /// Line and column of an entity, or of `word` on the entity's line.
    fn place(&self, entity: AnyEntity, word: Option<&str>) -> (u32, u32);
    /// The line of an instruction.
    fn line(&self, inst: clif::Inst) -> u32;
}

/// A function that has no text.
pub(super) struct NoText;

impl Lines for NoText {
    fn place(&self, _: AnyEntity, _: Option<&str>) -> (u32, u32) {
        (0, 0)
    }
    fn line(&self, _: clif::Inst) -> u32 {
        0
    }
}

/// The function being read, for messages and origins.
pub(super) struct Source<'a> {
    pub func: &'a clif::Function,
    /// Who can be called.
    pub known: &'a Known,
    lines: &'a dyn Lines,
    pub name: String,
}

impl<'a> Source<'a> {
    pub fn new(func: &'a clif::Function, lines: &'a dyn Lines, known: &'a Known) -> Self {
        Self {
            func,
            known,
            lines,
            name: name_of(&func.name),
        }
    }

    pub fn error(&self, at: AnyEntity, word: Option<&str>, message: String) -> ClifError {
        let (line, column) = self.lines.place(at, word);
        ClifError {
            line,
            column,
            function: self.name.clone(),
            kind: ErrorKind::Other,
            message,
        }
    }

    fn invalid(&self, at: AnyEntity, word: Option<&str>, message: String) -> ClifError {
        ClifError {
            kind: ErrorKind::Invalid,
            ..self.error(at, word, message)
        }
    }

    /// Checks what Cranelift's verifier takes for granted.
    pub fn whole(&self) -> Result<(), ClifError> {
        let Some(entry) = self.func.layout.entry_block() else {
            let message = "the function has no blocks".to_string();
            return Err(self.invalid(AnyEntity::Function, None, message));
        };
        let params = self.func.dfg.num_block_params(entry);
        let expected = self.func.signature.params.len();
        if params != expected {
            let message =
                format!("{entry} has {params} parameters, but the function's signature {expected}");
            return Err(self.invalid(entry.into(), None, message));
        }
        let dfg = &self.func.dfg;
        for b in self.func.layout.blocks() {
            for inst in self.func.layout.block_insts(b) {
                let Some(table) = dfg.insts[inst].exception_table() else {
                    continue;
                };
                let table = dfg.exception_tables.get(table);
                if !table.is_some_and(|t| dfg.signatures.is_valid(t.signature())) {
                    let message = "the call's signature is not declared".to_string();
                    return Err(self.invalid(inst.into(), None, message));
                }
            }
        }
        for (gv, data) in self.func.global_values.iter() {
            let base = match *data {
                clif::GlobalValueData::Load { base, .. }
                | clif::GlobalValueData::IAddImm { base, .. } => base,
                _ => continue,
            };
            if !self.func.global_values.is_valid(base) {
                let message = format!("{gv} is based on {base}, which is not declared");
                return Err(self.invalid(gv.into(), None, message));
            }
        }
        Ok(())
    }

    /// An error about an instruction, at its opcode. Without text the
    /// instruction itself is shown.
    pub fn inst_error(&self, inst: clif::Inst, message: String) -> ClifError {
        let opcode = self.func.dfg.insts[inst].opcode().to_string();
        let mut error = self.error(inst.into(), Some(&opcode), message);
        error.kind = ErrorKind::of_inst(self.func, inst);
        if error.line == 0 {
            error.message = format!("{}: {}", self.text(inst), error.message);
        }
        error
    }

    pub fn verifier_errors(&self, errors: &[VerifierError]) -> Vec<ClifError> {
        let mut all: Vec<ClifError> = errors
            .iter()
            .map(|e| {
                // Some opcodes it refuses for want of a target, which would not help.
                if let AnyEntity::Inst(inst) = e.location
                    && self.func.dfg.inst_is_valid(inst)
                    && let Err(message) = refusal(self.func.dfg.insts[inst].opcode())
                {
                    return self.inst_error(inst, message);
                }
                let why = without_type_set(&e.message);
                let message = match (&e.context, e.location) {
                    (Some(context), _) => format!("{}: {why}", without_comment(context)),
                    (None, AnyEntity::Function) => why,
                    (None, AnyEntity::Inst(inst)) => format!("{}: {why}", self.text(inst)),
                    (None, place) => format!("{place}: {why}"),
                };
                ClifError {
                    kind: ErrorKind::Invalid,
                    ..self.error(e.location, None, message)
                }
            })
            .collect();
        all.dedup();
        all
    }

    pub fn origin(&self, inst: clif::Inst) -> Origin {
        Origin::new(inst.as_u32(), self.lines.line(inst))
    }

    /// The instruction as text, without the comments that CLIF's printer adds.
    pub fn text(&self, inst: clif::Inst) -> String {
        without_comment(&self.func.dfg.display_inst(inst).to_string()).to_string()
    }

    pub fn branches(&self, domtree: &DominatorTree) -> Vec<SourceBranch> {
        let dfg = &self.func.dfg;
        let mut branches = Vec::new();
        for b in self.func.layout.blocks() {
            let Some(inst) = self.func.layout.last_inst(b) else {
                continue;
            };
            let opcode = match dfg.insts[inst].opcode() {
                clif::Opcode::Brif => "brif",
                clif::Opcode::BrTable => "br_table",
                _ => continue,
            };
            let Some(&condition) = dfg.inst_args(inst).first() else {
                continue;
            };
            let condition = dfg.resolve_aliases(condition);
            branches.push(SourceBranch {
                origin: self.origin(inst),
                opcode,
                block: b.as_u32(),
                condition: match dfg.value_def(condition) {
                    clif::ValueDef::Result(inst, _) => self.text(inst),
                    clif::ValueDef::Param(block, _) => format!("{condition} of {block}"),
                    clif::ValueDef::Union(..) => condition.to_string(),
                },
                unreachable: !domtree.is_reachable(b),
            });
        }
        branches
    }
}

/// Why an opcode is refused, if it is.
pub fn refusal(op: clif::Opcode) -> Result<(), String> {
    match rule(op) {
        Rule::Refused(why) => Err(format!("`{op}` is not supported: {why}")),
        _ => Ok(()),
    }
}

/// An instruction's text without the values of constants that CLIF's printer
/// adds to it.
fn without_comment(text: &str) -> &str {
    let end = text.find(';').unwrap_or(text.len());
    text[..end].trim_end()
}

/// A message of Cranelift's verifier without the dump of a type set, a page of
/// bit sets, that ends some of them.
fn without_type_set(message: &str) -> String {
    if let Some((arg, _)) = message.split_once(" failed to satisfy type set") {
        let arg = arg.replacen(" with type ", " has type ", 1);
        format!("{arg}, which the instruction does not take")
    } else if let Some((what, _)) = message.split_once(" (allowed set is") {
        format!("{what}, which it does not take")
    } else {
        message.to_string()
    }
}

/// The function's name as an IR name.
pub(super) fn name_of(name: &clif::UserFuncName) -> String {
    ir_name(&match name {
        clif::UserFuncName::User(user) => user.to_string(),
        clif::UserFuncName::Testcase(name) => String::from_utf8_lossy(name.raw()).into_owned(),
    })
}

/// A name as an IR name: letters, digits and `_`.
pub(super) fn ir_name(text: &str) -> String {
    let name: String = text
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    if name.is_empty() { "_".into() } else { name }
}

#[cfg(test)]
mod tests {
    use super::without_type_set;

    /// The reader refuses such types itself, so only a function built in memory
    /// gets the second message.
    #[test]
    fn type_sets_are_left_out() {
        let set = "ValueTypeSet { lanes: ScalarBitSet(1), ints: ScalarBitSet(248) }";
        let cut = |head: &str, tail: &str| without_type_set(&format!("{head} {set}{tail}"));
        assert_eq!(
            cut("arg 1 (v7) with type f32 failed to satisfy type set", ""),
            "arg 1 (v7) has type f32, which the instruction does not take"
        );
        assert_eq!(
            cut("has an invalid controlling type f32 (allowed set is", ")"),
            "has an invalid controlling type f32, which it does not take"
        );
        assert_eq!(without_type_set("uses itself"), "uses itself");
    }
}
