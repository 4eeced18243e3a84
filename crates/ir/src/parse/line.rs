//! Instructions and terminators, one a line.

use smallvec::SmallVec;

use super::body::{Body, entity_number};
use super::literal::{float_bits, infinity_bits, integer_bits, nan_bits, signed, unsigned};
use super::{ParseError, Parser, Token, clipped};
use crate::codes::{MemFlags, TrapCode};
use crate::entities::{Inst, Origin, Value};
use crate::function::{
    BlockCall, BranchMark, CallTarget, Guard, Hint, Imm, InstData, TailCall, Terminator, ValueDef,
};
use crate::opcode::{ImmKind, Opcode};
use crate::types::Type;

impl<'a> Parser<'a> {
    /// One instruction or terminator with its origin.
    pub(super) fn instruction_line(&mut self, body: &mut Body) -> Result<(), ParseError> {
        let (at, line) = (self.at, self.line());
        let Token::Word(first) = self.token else {
            return self.expected("an instruction");
        };
        if !body.in_block() {
            return self.expected("a block, as in `block0:`");
        }
        if entity_number(first, "v").is_some() {
            let results = self.results()?;
            let Token::Word(mnemonic) = self.token else {
                return self.expected("an opcode");
            };
            return self.instruction(body, mnemonic, results, line);
        }
        let term = match first {
            "jump" => {
                self.bump()?;
                Terminator::Jump(self.block_call(body)?)
            }
            "br" => self.br(body)?,
            "switch" => self.switch(body)?,
            "ret" => {
                self.bump()?;
                let mut values = SmallVec::new();
                if matches!(self.token, Token::Word(_)) {
                    values.push(self.value_use(body)?);
                    while self.eat(',')? {
                        values.push(self.value_use(body)?);
                    }
                }
                Terminator::Ret(values)
            }
            "trap" => {
                self.bump()?;
                if self.token == Token::Word("if") {
                    return self.rest_of_instruction(
                        body,
                        Opcode::TrapIf,
                        None,
                        (at, line),
                        Vec::new(),
                    );
                }
                Terminator::Trap(self.trap_code()?)
            }
            "return_call" => {
                self.bump()?;
                let target = CallTarget::Direct(self.callee_use(body)?);
                self.tail_call(body, target)?
            }
            "return_call_indirect" => {
                self.bump()?;
                let sig = self.signature_use(body)?;
                self.expect(',')?;
                let address = self.value_use(body)?;
                self.tail_call(body, CallTarget::Indirect { sig, address })?
            }
            _ => return self.instruction(body, first, Vec::new(), line),
        };
        let origin = self.origin()?;
        body.terminate(term, origin, line);
        Ok(())
    }

    /// From the mnemonic on, which is the current token; `line` is where the
    /// instruction begins.
    fn instruction(
        &mut self,
        body: &mut Body,
        mnemonic: &str,
        results: Vec<(Value, usize)>,
        line: u32,
    ) -> Result<(), ParseError> {
        let at = self.at;
        let (name, suffix) = match mnemonic.split_once('.') {
            Some((name, suffix)) => (name, Some(suffix)),
            None => (mnemonic, None),
        };
        let Some(op) = Opcode::from_mnemonic(name) else {
            return self.error(at, format!("there is no opcode `{}`", clipped(name)));
        };
        self.bump()?;
        self.rest_of_instruction(body, op, suffix, (at, line), results)
    }

    /// From behind the mnemonic, which started at byte `at`, in an instruction
    /// that began on `line`.
    fn rest_of_instruction(
        &mut self,
        body: &mut Body,
        op: Opcode,
        suffix: Option<&str>,
        (at, line): (usize, u32),
        results: Vec<(Value, usize)>,
    ) -> Result<(), ParseError> {
        let ty = self.own_type(op, suffix, at)?;
        let calls = op.effects().calls;
        let mut data = InstData::new(op, ty, &[], Imm::None);
        if !calls {
            let expected = usize::from(data.result_type().is_some());
            self.count_results(op, expected, at, &results)?;
        }
        data.imm = self.leading_imm(body, op, ty)?;
        let shape = op.shape();
        for i in 0..shape.operands().len() {
            if shape.takes(i) && !self.goes_on(i) {
                break;
            }
            if i > 0 || calls {
                self.expect(',')?;
            }
            let v = self.value_use(body)?;
            data.args.push(v);
        }
        if calls {
            self.expect('(')?;
            self.list(')', |p| {
                data.args.push(p.value_use(body)?);
                Ok(())
            })?;
        }
        if let Imm::Mem { offset, .. } = &mut data.imm {
            *offset = self.offset()?;
        }
        if self.eat_word("if")? {
            data.guard = Some(self.guard(body)?);
        }
        if op.shape().imm() == ImmKind::Trap {
            self.expect(',')?;
            data.imm = Imm::Trap(self.trap_code()?);
        }
        data.origin = self.origin()?;
        let types = body.func.result_types(&data);
        self.count_results(op, types.len(), at, &results)?;
        let inst = Inst::from_u32(body.func.num_insts() as u32);
        for (i, (result, ty)) in results.into_iter().zip(types).enumerate() {
            self.define(body, result, ty, ValueDef::Result(inst, i as u32))?;
            data.results.push(result.0);
        }
        body.push(data, line);
        Ok(())
    }

    /// Whether another operand follows the first `n`.
    fn goes_on(&self, n: usize) -> bool {
        match &self.token {
            Token::Word(word) => n == 0 && *word != "if",
            token => n > 0 && *token == Token::Punct(','),
        }
    }

    /// Checks that an instruction at byte `at` names as many results as it has.
    fn count_results(
        &self,
        op: Opcode,
        expected: usize,
        at: usize,
        results: &[(Value, usize)],
    ) -> Result<(), ParseError> {
        if results.len() == expected {
            return Ok(());
        }
        let message = match (expected, op.effects().calls) {
            (0, false) => format!("`{op}` yields no result"),
            (0, true) => format!("this `{op}` yields no result"),
            (1, false) => format!("`{op}` yields one result, {} are named", results.len()),
            (1, true) => format!("this `{op}` yields one result, {} are named", results.len()),
            _ => format!(
                "this `{op}` yields {expected} results, {} are named",
                results.len()
            ),
        };
        self.error(results.first().map_or(at, |r| r.1), message)
    }

    /// From the arguments of a tail call on.
    fn tail_call(&mut self, body: &mut Body, target: CallTarget) -> Result<Terminator, ParseError> {
        let mut args = SmallVec::new();
        self.expect('(')?;
        self.list(')', |p| {
            args.push(p.value_use(body)?);
            Ok(())
        })?;
        Ok(Terminator::TailCall(TailCall { target, args }))
    }

    /// The instruction's own type, from its suffix unless the opcode fixes it.
    fn own_type(&self, op: Opcode, suffix: Option<&str>, at: usize) -> Result<Type, ParseError> {
        let only = op.shape().types().only();
        match (suffix, only) {
            (None, Some(ty)) => Ok(ty),
            (None, None) => self.error(
                at,
                format!("expected a type behind `{op}`, as in `{op}.i32`"),
            ),
            (Some(suffix), _) => match (suffix.parse(), only) {
                (Ok(ty), None) => Ok(ty),
                (Ok(ty), Some(only)) if ty == only => Ok(ty),
                (Ok(_), Some(only)) => self.error(at, format!("`{op}` is always of type {only}")),
                (Err(()), _) => self.error(
                    at,
                    format!(
                        "`{}` is no type; expected one as in `{op}.i32`",
                        clipped(suffix)
                    ),
                ),
            },
        }
    }

    /// The part of the immediate that stands before the operands.
    fn leading_imm(&mut self, body: &Body, op: Opcode, ty: Type) -> Result<Imm, ParseError> {
        Ok(match op.shape().imm() {
            ImmKind::None | ImmKind::Trap => Imm::None,
            ImmKind::Bits => Imm::Bits(self.literal(ty)?),
            ImmKind::Icc => {
                Imm::Icc(self.word("an integer condition, as in `slt`", |s| s.parse().ok())?)
            }
            ImmKind::Fcc => {
                Imm::Fcc(self.word("a float condition, as in `lt`", |s| s.parse().ok())?)
            }
            ImmKind::Mem => Imm::Mem {
                flags: self.flags()?,
                offset: 0,
            },
            ImmKind::Slot => Imm::Slot {
                slot: self.slot_use(body)?,
                offset: self.offset()?,
            },
            ImmKind::Func => Imm::Func(self.callee_use(body)?),
            ImmKind::Sig => Imm::Sig(self.signature_use(body)?),
        })
    }

    fn literal(&mut self, ty: Type) -> Result<u128, ParseError> {
        if ty == Type::Pred {
            return self.word("`true` or `false`", |s| match s {
                "true" => Some(1),
                "false" => Some(0),
                _ => None,
            });
        }
        if !ty.is_float() {
            let what = format!("an integer that fits {ty}");
            return self.number(&what, |s| integer_bits(ty, s));
        }
        if self.eat_word("nan")? {
            self.expect(':')?;
            let what = format!("the bits of a NaN of type {ty}");
            return self.number(&what, |s| nan_bits(ty, s));
        }
        if self.eat_word("inf")? {
            return Ok(infinity_bits(ty, false));
        }
        if self.eat('-')? {
            return match self.eat_word("inf")? {
                true => Ok(infinity_bits(ty, true)),
                false => self.expected("`inf` or a number"),
            };
        }
        let what = format!("a number that fits {ty}, `inf`, `-inf` or `nan:0x…`");
        self.number(&what, |s| float_bits(ty, s))
    }

    fn flags(&mut self) -> Result<MemFlags, ParseError> {
        let mut flags = MemFlags::NONE;
        while let Token::Word(word) = self.token {
            match MemFlags::NAMED.iter().find(|(_, name)| *name == word) {
                Some(&(flag, _)) => flags = flags | flag,
                None => match word.parse() {
                    Ok(code) => flags = flags.with_code(code),
                    Err(()) => break,
                },
            }
            self.bump()?;
        }
        Ok(flags)
    }

    /// `+8`, `-8` or nothing.
    fn offset(&mut self) -> Result<i32, ParseError> {
        match self.token {
            Token::Number(s) if s.starts_with(['+', '-']) => {
                self.number("an offset that fits 32 bits", signed)
            }
            _ => Ok(0),
        }
    }

    /// Behind the `if`.
    fn guard(&mut self, body: &mut Body) -> Result<Guard, ParseError> {
        let negated = self.eat('!')?;
        let pred = self.value_use(body)?;
        let otherwise = match self.eat_word("else")? {
            true => Some(self.value_use(body)?),
            false => None,
        };
        Ok(Guard {
            pred,
            negated,
            otherwise,
        })
    }

    fn trap_code(&mut self) -> Result<TrapCode, ParseError> {
        self.word("a trap code, as in `heap_oob` or `user1`", |s| {
            s.parse().ok()
        })
    }

    /// ` @inst:line` or nothing.
    fn origin(&mut self) -> Result<Origin, ParseError> {
        if !self.eat('@')? {
            return Ok(Origin::NONE);
        }
        let inst = self.number("a CLIF instruction number", unsigned)?;
        self.expect(':')?;
        let line = self.number("a line number", unsigned)?;
        Ok(Origin::new(inst, line))
    }

    fn block_call(&mut self, body: &mut Body) -> Result<BlockCall, ParseError> {
        let mut call = BlockCall::from(self.block_use(body)?);
        if self.eat('(')? {
            self.list(')', |p| {
                call.args.push(p.value_use(body)?);
                Ok(())
            })?;
        }
        Ok(call)
    }

    /// The marks behind a `br` or `switch`, which is the current token.
    fn mark(&mut self) -> Result<BranchMark, ParseError> {
        self.bump()?;
        let mut mark = BranchMark {
            proven: self.eat_word("uniform")?,
            decided: self.eat_word("decided")?,
            hint: None,
        };
        for hint in Hint::ALL {
            if self.eat_word(hint.name())? {
                mark.hint = Some(hint);
                break;
            }
        }
        Ok(mark)
    }

    fn br(&mut self, body: &mut Body) -> Result<Terminator, ParseError> {
        let mark = self.mark()?;
        let cond = self.value_use(body)?;
        self.expect(',')?;
        let then = self.block_call(body)?;
        self.expect(',')?;
        let otherwise = self.block_call(body)?;
        Ok(Terminator::Br {
            cond,
            then,
            otherwise,
            mark,
        })
    }

    fn switch(&mut self, body: &mut Body) -> Result<Terminator, ParseError> {
        let mark = self.mark()?;
        let index = self.value_use(body)?;
        self.expect(',')?;
        self.expect('[')?;
        let mut table = Vec::new();
        self.list(']', |p| {
            table.push(p.block_call(body)?);
            Ok(())
        })?;
        self.expect(',')?;
        let default = self.block_call(body)?;
        Ok(Terminator::Switch {
            index,
            table,
            default,
            mark,
        })
    }
}
