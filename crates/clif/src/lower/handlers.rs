//! Calls that may throw, in a world where nothing does.
//!
//! **Problem.** `try_call` goes to its normal destination where the callee
//! returns, and to a handler where it throws. CLIF has no opcode that throws:
//! that is the embedder's unwinder, which looks at machine registers and frames.
//! A warp has neither, so no handler is ever reached.
//!
//! **Method.** The handlers are taken out of the function before anything is
//! derived from it. Its control flow graph then has no edges to them, and blocks
//! that only they reach are not lowered, as other unreachable blocks are not.
//! The verifier has seen the function with them.

use std::borrow::Cow;

use cranelift_codegen::ir::{ExceptionTableData, Function};

/// The function without its exception handlers. Entities keep their numbers.
pub(super) fn without(func: &Function) -> Cow<'_, Function> {
    let mut func = Cow::Borrowed(func);
    let tables: Vec<_> = func.dfg.exception_tables.keys().collect();
    for table in tables {
        let data = &func.dfg.exception_tables[table];
        if data.items().next().is_some() {
            let normal = ExceptionTableData::new(data.signature(), *data.normal_return(), []);
            func.to_mut().dfg.exception_tables[table] = normal;
        }
    }
    func
}
