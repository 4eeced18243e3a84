//! `test inline`: the kernel with the functions that it calls inlined.

use warpfold::ir::{Function, Terminator};
use warpfold::opt::{self, Log};

use crate::filetest::{FileTest, Options, Output, TestFile};

/// `test inline`: cleans the functions up, inlines those that the kernel calls
/// and that do not call themselves, cleans up. Facts: `calls` that are left,
/// and `copies` of branches. Option: `joins=default|cfg`.
#[derive(Clone, Copy, Debug)]
pub struct Inline;

impl FileTest for Inline {
    fn name(&self) -> &str {
        "inline"
    }

    fn options(&self) -> &[&str] {
        &["joins"]
    }

    fn run(&self, file: &TestFile, options: &Options) -> Result<Output, String> {
        let mut kernel = super::kernel(file)?;
        let joins = super::joins(options)?;
        let mut log = Log::default();
        for func in &mut kernel.functions {
            opt::clean(func, joins, &mut log);
        }
        let mut func = kernel.func().clone();
        let others: Vec<&Function> = kernel.functions.iter().collect();
        let mut log = Log::default();
        opt::inline(&mut func, &others, joins, &mut log);
        opt::clean(&mut func, joins, &mut log);
        let mut out = Output {
            text: func.to_string(),
            ..Output::default()
        };
        let insts = func.laid_out_insts();
        let calls = insts.filter(|&(_, i)| func.inst(i).op.effects().calls);
        let tails = func.layout.iter();
        let tails = tails.filter(|&&b| matches!(func.term(b), Terminator::TailCall(_)));
        out.fact("calls", calls.count() + tails.count());
        out.fact("copies", log.inlined.len());
        Ok(out)
    }
}
