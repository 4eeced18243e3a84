//! Terminators.

use cranelift_codegen::entity::EntityRef;
use cranelift_codegen::ir as clif;
use cranelift_codegen::ir::InstructionData;
use smallvec::SmallVec;
use warpfold_ir::{Block, BlockCall, BranchMark, Terminator, Value};

use super::Lowering;
use crate::opmap::trap_code;

impl Lowering<'_> {
    /// Lowers a terminator; false if `inst` is none.
    pub(super) fn terminator(&mut self, inst: clif::Inst) -> Result<bool, String> {
        let dfg = &self.source.func.dfg;
        let term = match dfg.insts[inst] {
            InstructionData::Jump { destination, .. } => Terminator::Jump(self.call(destination)?),
            InstructionData::Brif { arg, blocks, .. } => Terminator::Br {
                cond: self.pred(arg)?,
                then: self.call(blocks[0])?,
                otherwise: self.call(blocks[1])?,
                mark: BranchMark::default(),
            },
            InstructionData::BranchTable { arg, table, .. } => {
                let table = &dfg.jump_tables[table];
                let index = self.number(arg)?;
                let entries = table.as_slice().iter().map(|&to| self.call(to));
                let entries = entries.collect::<Result<_, _>>()?;
                Terminator::Switch {
                    index,
                    table: entries,
                    default: self.call(table.default_block())?,
                    mark: BranchMark::default(),
                }
            }
            InstructionData::MultiAry {
                opcode: clif::Opcode::Return,
                ..
            } => {
                let values = dfg.inst_args(inst).iter().map(|&v| self.number(v));
                Terminator::Ret(values.collect::<Result<SmallVec<_>, _>>()?)
            }
            InstructionData::Trap {
                opcode: clif::Opcode::Trap,
                code,
            } => Terminator::Trap(trap_code(code)),
            InstructionData::Call {
                opcode: clif::Opcode::ReturnCall,
                ..
            }
            | InstructionData::CallIndirect {
                opcode: clif::Opcode::ReturnCallIndirect,
                ..
            } => self.tail_call(inst)?,
            InstructionData::TryCall { exception, .. }
            | InstructionData::TryCallIndirect { exception, .. } => {
                let results = self.call_function(inst)?;
                let to = *dfg.exception_tables[exception].normal_return();
                Terminator::Jump(self.call_with(to, &results)?)
            }
            _ => return Ok(false),
        };
        self.out.set_term(self.block, term, self.origin);
        Ok(true)
    }

    /// A target with its arguments in the forms that its parameters have.
    fn call(&mut self, to: clif::BlockCall) -> Result<BlockCall, String> {
        self.call_with(to, &[])
    }

    /// The same behind a call, whose `results` are arguments too.
    fn call_with(&mut self, to: clif::BlockCall, results: &[Value]) -> Result<BlockCall, String> {
        let dfg = &self.source.func.dfg;
        let block = to.block(&dfg.value_lists);
        let mut args = SmallVec::new();
        for (&param, arg) in dfg
            .block_params(block)
            .iter()
            .zip(to.args(&dfg.value_lists))
        {
            args.push(match arg {
                clif::BlockArg::Value(arg) if self.truths.is_pred(param) => self.pred(arg)?,
                clif::BlockArg::Value(arg) => self.number(arg)?,
                clif::BlockArg::TryCallRet(i) => {
                    let result = results.get(i as usize);
                    *result.ok_or("the call has no such result")?
                }
                clif::BlockArg::TryCallExn(_) => return Err("nothing is thrown".into()),
            });
        }
        Ok(BlockCall {
            block: Block::new(block.index()),
            args,
        })
    }
}
