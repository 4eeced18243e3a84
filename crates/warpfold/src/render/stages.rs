//! The report of `opt`: the converted code, and how the kernel came to it.

use warpfold_ir::Function;
use warpfold_opt::pass;

use super::build;
use super::model::{Document, StageDoc};
use crate::road::Optimized;

/// The converted kernel with the functions that it still calls, as IR text under
/// `header`, the lines that state its launch (may be empty).
pub fn code(optimized: &Optimized, header: &str) -> String {
    let gap = if header.is_empty() { "" } else { "\n" };
    format!("{header}{gap}{}", optimized.module())
}

/// The decisions, the kernel's size at each stage of the road with the passes
/// that led there, and the [`code`].
pub fn opt(optimized: &Optimized, header: &str) -> Document {
    Document {
        stages: stages(optimized),
        code: Some(code(optimized, header)),
        command: "opt",
        ..build::explain(optimized)
    }
}

fn stages(optimized: &Optimized) -> Vec<StageDoc> {
    let names =
        |rows: &[pass::PassRow]| -> Vec<&'static str> { rows.iter().map(|row| row.name).collect() };
    let clean = names(pass::CLEAN);
    let inline = pass::MODULE.iter().map(|row| row.name).collect();
    let tidy = match optimized.settings().cleanup {
        true => names(pass::TIDY),
        false => Vec::new(),
    };
    [
        ("written", Vec::new(), optimized.lowered().func()),
        (
            "before",
            [clean.clone(), inline, clean.clone()].concat(),
            optimized.before().func(),
        ),
        (
            "canonical",
            [names(pass::CANONICAL), clean].concat(),
            optimized.canonical().func(),
        ),
        (
            "converted",
            [vec!["ifconv"], tidy].concat(),
            optimized.func(),
        ),
    ]
    .map(|(name, passes, func)| stage(name, passes, func))
    .into()
}

fn stage(name: &'static str, passes: Vec<&'static str>, func: &Function) -> StageDoc {
    let insts = func.laid_out_insts().count() + func.layout.len();
    let conditional = func
        .layout
        .iter()
        .filter(|&&b| func.term(b).is_conditional());
    StageDoc {
        name,
        passes,
        blocks: func.layout.len() as u64,
        instructions: insts as u64,
        branches: conditional.count() as u64,
    }
}
