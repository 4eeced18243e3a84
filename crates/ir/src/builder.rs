//! A cursor that appends to a function.

use crate::codes::{IntCC, TrapCode};
use smallvec::SmallVec;

use crate::entities::{Block, FuncRef, Origin, SigRef, Value};
use crate::function::{
    BlockCall, CallTarget, Callee, Function, Guard, Imm, InstData, Param, Signature, TailCall,
    Terminator,
};
use crate::opcode::Opcode;
use crate::types::Type;

/// Builds a [`Function`] block by block.
///
/// ```
/// use warpfold_ir::{FunctionBuilder, IntCC, Opcode, Type};
///
/// let mut b = FunctionBuilder::new("relu");
/// let x = b.param(Type::I32, true);
/// b.returns(&[Type::I32]);
/// let zero = b.iconst(Type::I32, 0);
/// let y = b.ins(Opcode::Smax, Type::I32, &[x, zero]);
/// b.ret(&[y]);
/// let f = b.finish();
/// assert!(f.to_string().contains("smax.i32 v0, v1"));
/// ```
#[derive(Debug)]
pub struct FunctionBuilder {
    func: Function,
    current: Block,
    guard: Option<Guard>,
    origin: Origin,
}

impl FunctionBuilder {
    /// Starts a function; the cursor is in its entry block.
    pub fn new(name: impl Into<String>) -> Self {
        let mut func = Function::new(name);
        let current = func.add_block();
        Self {
            func,
            current,
            guard: None,
            origin: Origin::NONE,
        }
    }

    /// Adds a parameter of the function.
    pub fn param(&mut self, ty: Type, varying: bool) -> Value {
        self.func.params.push(Param { ty, varying });
        let entry = self.func.layout[0];
        self.func.add_param(entry, ty)
    }

    /// Declares the result types.
    pub fn returns(&mut self, types: &[Type]) {
        self.func.results = types.to_vec();
    }

    /// Makes a block, laid out after those that exist.
    pub fn block(&mut self) -> Block {
        self.func.add_block()
    }

    /// Adds a parameter to a block.
    pub fn block_param(&mut self, b: Block, ty: Type) -> Value {
        self.func.add_param(b, ty)
    }

    /// Moves the cursor to the end of `b`.
    pub fn switch_to(&mut self, b: Block) {
        self.current = b;
    }

    /// The block the cursor is in.
    pub fn current(&self) -> Block {
        self.current
    }

    /// The guard for the instructions that follow, until it is set again.
    pub fn set_guard(&mut self, guard: Option<Guard>) {
        self.guard = guard;
    }

    /// The origin of what follows, until it is set again.
    pub fn set_origin(&mut self, origin: Origin) {
        self.origin = origin;
    }

    /// Appends any instruction; guard and origin are the builder's unless the
    /// instruction brings its own.
    pub fn push(&mut self, mut data: InstData) -> Option<Value> {
        if data.guard.is_none() && data.op.may_be_guarded() {
            data.guard = self.guard;
        }
        if data.origin.is_none() {
            data.origin = self.origin;
        }
        self.func.push_inst(self.current, data)
    }

    /// Appends an instruction with a result and no immediate.
    ///
    /// # Panics
    /// If the opcode yields no result.
    pub fn ins(&mut self, op: Opcode, ty: Type, args: &[Value]) -> Value {
        self.push(InstData::new(op, ty, args, Imm::None))
            .expect("the opcode yields a result")
    }

    /// An integer constant, cut to the width of `ty`.
    pub fn iconst(&mut self, ty: Type, x: i128) -> Value {
        let imm = Imm::Bits(x as u128 & ty.mask());
        self.func
            .push_inst(
                self.current,
                InstData::new(Opcode::Const, ty, &[], imm).at(self.origin),
            )
            .expect("a constant yields a result")
    }

    /// An integer comparison.
    pub fn icmp(&mut self, cc: IntCC, a: Value, b: Value) -> Value {
        let ty = self.func.ty(a);
        self.push(InstData::new(Opcode::Icmp, ty, &[a, b], Imm::Icc(cc)))
            .expect("a compare yields a result")
    }

    /// Declares a function to call.
    pub fn callee(
        &mut self,
        name: impl Into<String>,
        params: &[Type],
        results: &[Type],
    ) -> FuncRef {
        let signature = Signature {
            params: params.to_vec(),
            results: results.to_vec(),
        };
        let name = name.into();
        self.func.callees.push(Callee { name, signature })
    }

    /// Declares a signature for indirect calls.
    pub fn signature(&mut self, params: &[Type], results: &[Type]) -> SigRef {
        self.func.signatures.push(Signature {
            params: params.to_vec(),
            results: results.to_vec(),
        })
    }

    /// Calls a declared function; its results.
    pub fn call(&mut self, func: FuncRef, args: &[Value]) -> SmallVec<[Value; 2]> {
        self.push_call(InstData::new(
            Opcode::Call,
            Type::I32,
            args,
            Imm::Func(func),
        ))
    }

    /// Calls the function at an address; its results.
    pub fn call_indirect(
        &mut self,
        sig: SigRef,
        address: Value,
        args: &[Value],
    ) -> SmallVec<[Value; 2]> {
        let mut all = vec![address];
        all.extend_from_slice(args);
        self.push_call(InstData::new(
            Opcode::CallIndirect,
            Type::I32,
            &all,
            Imm::Sig(sig),
        ))
    }

    fn push_call(&mut self, data: InstData) -> SmallVec<[Value; 2]> {
        let inst = self.func.make_inst(data.at(self.origin));
        self.func.block_mut(self.current).insts.push(inst);
        SmallVec::from_slice(&self.func.inst(inst).results)
    }

    /// The address of a declared function.
    pub fn func_addr(&mut self, ty: Type, func: FuncRef) -> Value {
        let data = InstData::new(Opcode::FuncAddr, ty, &[], Imm::Func(func));
        self.push(data).expect("an address is a value")
    }

    /// Ends the block with a tail call.
    pub fn return_call(&mut self, func: FuncRef, args: &[Value]) {
        self.terminate(Terminator::TailCall(TailCall {
            target: CallTarget::Direct(func),
            args: SmallVec::from_slice(args),
        }));
    }

    /// Ends the block with any terminator.
    pub fn terminate(&mut self, term: Terminator) {
        self.func.set_term(self.current, term, self.origin);
    }

    /// Ends the block with a jump.
    pub fn jump(&mut self, to: Block, args: &[Value]) {
        self.terminate(Terminator::Jump(BlockCall::new(to, args)));
    }

    /// Ends the block with a two-way branch.
    pub fn br(&mut self, cond: Value, then: impl Into<BlockCall>, otherwise: impl Into<BlockCall>) {
        self.terminate(Terminator::br(cond, then, otherwise));
    }

    /// Ends the block with a return.
    pub fn ret(&mut self, values: &[Value]) {
        self.terminate(Terminator::ret(values));
    }

    /// Ends the block with a trap.
    pub fn trap(&mut self, code: TrapCode) {
        self.terminate(Terminator::Trap(code));
    }

    /// The function so far.
    pub fn func(&self) -> &Function {
        &self.func
    }

    /// The function so far, to change it.
    pub fn func_mut(&mut self) -> &mut Function {
        &mut self.func
    }

    /// The finished function. It is not verified yet.
    pub fn finish(self) -> Function {
        self.func
    }
}
