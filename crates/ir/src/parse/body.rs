//! What stands between the braces of a function: declarations, block headers, the
//! ends of lines, and the check that every name used is defined.

use std::collections::BTreeMap;

use hashbrown::HashMap;

use super::literal::unsigned;
use super::{ParseError, Parser, Token};
use crate::entities::{Block, FuncRef, Origin, SigRef, Slot, Value};
use crate::function::{
    BlockData, Callee, Function, InstData, Signature, SlotData, Terminator, ValueDef,
};
use crate::types::Type;

/// A function being read.
pub(super) struct Body {
    pub(super) func: Function,
    blocks: BTreeMap<Block, BlockData>,
    values: BTreeMap<Value, (Type, ValueDef)>,
    /// Slots by their number in the text.
    slots: HashMap<u32, Slot>,
    /// Callees and signatures likewise.
    callees: HashMap<u32, FuncRef>,
    signatures: HashMap<u32, SigRef>,
    value_uses: Vec<(Value, usize)>,
    block_uses: Vec<(Block, usize)>,
    /// The block being filled and the byte its header starts at.
    current: Option<(Block, BlockData, usize)>,
    /// The highest numbers and the bytes they are defined at.
    last_block: (u32, usize),
    last_value: (u32, usize),
}

impl Body {
    pub(super) fn new(func: Function) -> Self {
        Self {
            func,
            blocks: BTreeMap::new(),
            values: BTreeMap::new(),
            slots: HashMap::new(),
            callees: HashMap::new(),
            signatures: HashMap::new(),
            value_uses: Vec::new(),
            block_uses: Vec::new(),
            current: None,
            last_block: (0, 0),
            last_value: (0, 0),
        }
    }

    /// Puts an instruction at the end of the current block.
    pub(super) fn push(&mut self, data: InstData) {
        let inst = self.func.push_numbered(data);
        if let Some((_, block, _)) = &mut self.current {
            block.insts.push(inst);
        }
    }

    /// Whether a block is open.
    pub(super) fn in_block(&self) -> bool {
        self.current.is_some()
    }

    /// Ends the current block.
    pub(super) fn terminate(&mut self, term: Terminator, origin: Origin) {
        if let Some((b, mut block, _)) = self.current.take() {
            block.term = Some(term);
            block.origin = origin;
            self.blocks.insert(b, block);
        }
    }
}

/// The number of an entity's name, `prefix` and decimal digits: `None` if the
/// word is no such name, `Err` if its number is out of range.
pub(super) fn entity_number(word: &str, prefix: &str) -> Option<Result<u32, ()>> {
    let digits = word.strip_prefix(prefix)?;
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    // The largest number is reserved by the arenas.
    Some(match digits.parse() {
        Ok(u32::MAX) | Err(_) => Err(()),
        Ok(n) => Ok(n),
    })
}

impl Parser<'_> {
    /// An entity's number, with the byte that its name starts at.
    fn entity(&mut self, prefix: &str, what: &str) -> Result<(u32, usize), ParseError> {
        let at = self.at;
        let Token::Word(word) = self.token else {
            return self.expected(what);
        };
        match entity_number(word, prefix) {
            None => self.expected(what),
            Some(Err(())) => self.error(at, format!("{what}'s number must be below {}", u32::MAX)),
            Some(Ok(n)) => {
                self.bump()?;
                Ok((n, at))
            }
        }
    }

    fn value(&mut self) -> Result<(Value, usize), ParseError> {
        let (n, at) = self.entity("v", "a value")?;
        Ok((Value::from_u32(n), at))
    }

    /// A value that is used.
    pub(super) fn value_use(&mut self, body: &mut Body) -> Result<Value, ParseError> {
        let (v, at) = self.value()?;
        body.value_uses.push((v, at));
        Ok(v)
    }

    /// A block that is jumped to.
    pub(super) fn block_use(&mut self, body: &mut Body) -> Result<Block, ParseError> {
        let (n, at) = self.entity("block", "a block")?;
        let b = Block::from_u32(n);
        body.block_uses.push((b, at));
        Ok(b)
    }

    /// A slot that is used; slots are declared first.
    pub(super) fn slot_use(&mut self, body: &Body) -> Result<Slot, ParseError> {
        let (n, at) = self.entity("ss", "a stack slot")?;
        match body.slots.get(&n) {
            Some(&slot) => Ok(slot),
            None => self.error(at, format!("there is no stack slot ss{n}")),
        }
    }

    /// A callee that is used; callees are declared first.
    pub(super) fn callee_use(&mut self, body: &Body) -> Result<FuncRef, ParseError> {
        let (n, at) = self.entity("fn", "a declared function, as in `fn0`")?;
        match body.callees.get(&n) {
            Some(&callee) => Ok(callee),
            None => self.error(at, format!("fn{n} is not declared")),
        }
    }

    /// A signature that is used; signatures are declared first.
    pub(super) fn signature_use(&mut self, body: &Body) -> Result<SigRef, ParseError> {
        let (n, at) = self.entity("sig", "a declared signature, as in `sig0`")?;
        match body.signatures.get(&n) {
            Some(&sig) => Ok(sig),
            None => self.error(at, format!("sig{n} is not declared")),
        }
    }

    /// Defines a value.
    pub(super) fn define(
        &mut self,
        body: &mut Body,
        (v, at): (Value, usize),
        ty: Type,
        def: ValueDef,
    ) -> Result<(), ParseError> {
        if body.values.insert(v, (ty, def)).is_some() {
            return self.error(at, format!("{v} is already defined"));
        }
        if v.as_u32() >= body.last_value.0 {
            body.last_value = (v.as_u32(), at);
        }
        Ok(())
    }

    /// The values before a `=`.
    pub(super) fn results(&mut self) -> Result<Vec<(Value, usize)>, ParseError> {
        let mut results = vec![self.value()?];
        while self.eat(',')? {
            results.push(self.value()?);
        }
        self.expect('=')?;
        Ok(results)
    }

    /// Everything up to the closing brace.
    pub(super) fn body(&mut self, mut body: Body) -> Result<Function, ParseError> {
        loop {
            self.skip_line_ends()?;
            match self.token {
                Token::Punct('}') => break,
                Token::Word(word) if entity_number(word, "ss").is_some() => {
                    self.slot(&mut body)?;
                }
                Token::Word(word) if entity_number(word, "fn").is_some() => {
                    self.callee(&mut body)?;
                }
                Token::Word(word) if entity_number(word, "sig").is_some() => {
                    self.signature_line(&mut body)?;
                }
                Token::Word(word) if entity_number(word, "block").is_some() => {
                    self.header(&mut body)?;
                }
                Token::Word(_) => self.instruction_line(&mut body)?,
                _ => return self.expected("a block, an instruction or `}`"),
            }
            match self.token {
                Token::LineEnd => {}
                Token::Punct('}') => break,
                _ => return self.expected("the end of the line"),
            }
        }
        self.close(&body)?;
        self.bump()?;
        self.check_uses(&body)?;
        self.check_numbers(&body)?;
        let Body {
            mut func,
            blocks,
            values,
            ..
        } = body;
        func.adopt_numbered(blocks, values);
        Ok(func)
    }

    /// `ss0 = slot 16, align 4`
    fn slot(&mut self, body: &mut Body) -> Result<(), ParseError> {
        let (n, at) = self.entity("ss", "a stack slot")?;
        if !body.func.layout.is_empty() {
            return self.error(at, "stack slots are declared before the first block");
        }
        self.expect('=')?;
        if !self.eat_word("slot")? {
            return self.expected("`slot`");
        }
        let size = self.number("a size in bytes", unsigned)?;
        self.expect(',')?;
        if !self.eat_word("align")? {
            return self.expected("`align`");
        }
        let align = self.number("an alignment in bytes", unsigned)?;
        let slot = body.func.slots.push(SlotData { size, align });
        match body.slots.insert(n, slot) {
            Some(_) => self.error(at, format!("ss{n} is already declared")),
            None => Ok(()),
        }
    }

    /// `fn0 = %name(i32, i64) -> i32`
    fn callee(&mut self, body: &mut Body) -> Result<(), ParseError> {
        let (n, at) = self.entity("fn", "a function")?;
        if !body.func.layout.is_empty() {
            return self.error(at, "functions are declared before the first block");
        }
        self.expect('=')?;
        let Token::Name(name) = &self.token else {
            return self.expected("a function name, as in `%helper`");
        };
        let name = name.clone().into_owned();
        self.bump()?;
        let signature = self.signature()?;
        let callee = body.func.callees.push(Callee { name, signature });
        match body.callees.insert(n, callee) {
            Some(_) => self.error(at, format!("fn{n} is already declared")),
            None => Ok(()),
        }
    }

    /// `sig0 = (i32, i64) -> i32`
    fn signature_line(&mut self, body: &mut Body) -> Result<(), ParseError> {
        let (n, at) = self.entity("sig", "a signature")?;
        if !body.func.layout.is_empty() {
            return self.error(at, "signatures are declared before the first block");
        }
        self.expect('=')?;
        let signature = self.signature()?;
        let sig = body.func.signatures.push(signature);
        match body.signatures.insert(n, sig) {
            Some(_) => self.error(at, format!("sig{n} is already declared")),
            None => Ok(()),
        }
    }

    /// `(i32, i64) -> i32`
    fn signature(&mut self) -> Result<Signature, ParseError> {
        let mut signature = Signature::default();
        self.expect('(')?;
        self.list(')', |p| {
            signature.params.push(p.ty()?);
            Ok(())
        })?;
        if self.token == Token::Arrow {
            self.bump()?;
            signature.results.push(self.ty()?);
            while self.eat(',')? {
                signature.results.push(self.ty()?);
            }
        }
        Ok(signature)
    }

    /// `block1(v2: i32, v3: pred):`
    fn header(&mut self, body: &mut Body) -> Result<(), ParseError> {
        self.close(body)?;
        let (n, at) = self.entity("block", "a block")?;
        let b = Block::from_u32(n);
        if body.blocks.contains_key(&b) {
            return self.error(at, format!("{b} is already defined"));
        }
        if n >= body.last_block.0 {
            body.last_block = (n, at);
        }
        let mut block = BlockData::new();
        if self.eat('(')? {
            self.list(')', |p| {
                let v = p.value()?;
                p.expect(':')?;
                let ty = p.ty()?;
                let index = block.params.len() as u32;
                p.define(body, v, ty, ValueDef::Param(b, index))?;
                block.params.push(v.0);
                Ok(())
            })?;
        }
        self.expect(':')?;
        body.func.layout.push(b);
        body.current = Some((b, block, at));
        Ok(())
    }

    /// Checks that no block is open.
    fn close(&self, body: &Body) -> Result<(), ParseError> {
        match &body.current {
            Some((b, ..)) => self.error(
                self.at,
                format!(
                    "expected a terminator (jump, br, switch, ret, trap or return_call) of {b}"
                ),
            ),
            None => Ok(()),
        }
    }

    /// Reports the first use in the text of something undefined.
    fn check_uses(&self, body: &Body) -> Result<(), ParseError> {
        let value = body
            .value_uses
            .iter()
            .find(|(v, _)| !body.values.contains_key(v))
            .map(|&(v, at)| (at, format!("{v} is not defined")));
        let block = body
            .block_uses
            .iter()
            .find(|(b, _)| !body.blocks.contains_key(b))
            .map(|&(b, at)| (at, format!("there is no {b}")));
        match value.into_iter().chain(block).min() {
            Some((at, message)) => self.error(at, message),
            None => Ok(()),
        }
    }

    /// Charges the numbers that are left out. A block takes a lot more room
    /// than a value.
    fn check_numbers(&mut self, body: &Body) -> Result<(), ParseError> {
        let gap = |(last, at): (u32, usize), defined: usize, room: usize| {
            let missing = (last as usize + 1).saturating_sub(defined);
            (missing.saturating_mul(room), at)
        };
        for (needed, at) in [
            gap(body.last_value, body.values.len(), 1),
            gap(body.last_block, body.blocks.len(), 32),
        ] {
            match self.spare.checked_sub(needed) {
                Some(rest) => self.spare = rest,
                None => return self.error(at, "the numbering leaves out too many numbers"),
            }
        }
        Ok(())
    }
}
