//! Tests of reading, checking and printing.

use warpfold::clif;
use warpfold::ir;

use crate::filetest::{FileTest, Language, Options, Output, TestFile};

fn text_of(functions: &[ir::Function]) -> String {
    let texts: Vec<String> = functions.iter().map(ToString::to_string).collect();
    texts.join("\n")
}

/// `test print`: reads and prints.
#[derive(Clone, Copy, Debug)]
pub struct Print;

impl FileTest for Print {
    fn name(&self) -> &str {
        "print"
    }

    fn run(&self, file: &TestFile, _: &Options) -> Result<Output, String> {
        Ok(Output {
            text: text_of(&file.unverified()?),
            ..Output::default()
        })
    }
}

/// `test verify`: reads and checks, and prints what is wrong.
#[derive(Clone, Copy, Debug)]
pub struct Verify;

impl FileTest for Verify {
    fn name(&self) -> &str {
        "verify"
    }

    fn run(&self, file: &TestFile, _: &Options) -> Result<Output, String> {
        let mut out = Output::default();
        let mut errors = 0;
        let functions = file.unverified()?;
        let module = ir::Module { functions };
        let all = ir::verify_module(&module).err();
        let all = all.map_or(Vec::new(), |e| e.functions);
        for (i, func) in module.functions.iter().enumerate() {
            match all.iter().find(|(at, _)| *at == i) {
                None => out.text += &format!("%{}: ok\n", func.name),
                Some((_, found)) => {
                    errors += found.errors.len();
                    out.text += found.to_string().trim_end();
                    out.text.push('\n');
                }
            }
        }
        out.fact("errors", errors);
        Ok(out)
    }
}

/// `test lower`: CLIF to IR.
#[derive(Clone, Copy, Debug)]
pub struct Lower;

impl FileTest for Lower {
    fn name(&self) -> &str {
        "lower"
    }

    fn run(&self, file: &TestFile, _: &Options) -> Result<Output, String> {
        if file.language != Language::Clif {
            return Err("only CLIF can be lowered".to_owned());
        }
        let lowered = clif::read(&file.code, &clif::ReadOptions::default()).map_err(|errors| {
            let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
            lines.join("\n")
        })?;
        let mut out = Output::default();
        out.fact("functions", lowered.len());
        let branches: usize = lowered.iter().map(|l| l.branches.len()).sum();
        out.fact("branches", branches);
        let functions = clif::with_helpers(lowered).map(|(func, _)| func);
        let module = ir::Module {
            functions: functions.collect(),
        };
        ir::verify_module(&module).map_err(|e| e.to_string())?;
        out.text = text_of(&module.functions);
        Ok(out)
    }
}
