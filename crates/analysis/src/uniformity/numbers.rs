//! Value numbers: values that hold the same in every lane, whatever it is.
//!
//! Two arms that compute `x + 1` apart bring one number to their join; a
//! `select` between equal sums chooses nothing. Values get the same number if
//! they are the same operation on operands of the same numbers, or a block
//! parameter whose edges all bring one number.
//!
//! **What a number means.** It stands for an expression over *leaves*: values
//! defined by anything else, each a class of its own. In SSA a value's operands
//! hold, wherever it may be used, what it was computed from (were a leaf
//! executed again on the way, so would the value be, since its definition is
//! dominated by the leaf's). So wherever two values of one number may be used,
//! each lane holds in both the expression's value on its own current leaves.
//! That says nothing of *different* lanes; that is the solver's to find.
//!
//! An operation takes part if its operands alone decide its result: no load of
//! memory that may be written, no atomic, nothing that depends on which lanes
//! take part. Guards are part of the operation.
//!
//! **How.** One pass in reverse postorder with a hash table: pessimistic, as in
//! Alpern, Wegman and Zadeck's "Detecting Equality of Variables in Programs"
//! (1988) only for graphs without cycles. A parameter whose edges bring what is
//! not numbered yet, as those of loops mostly do, is a leaf. Linear.

use cranelift_entity::SecondaryMap;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use warpfold_ir::{Block, Function, Imm, Inst, InstData, Opcode, Type, Value};

use super::control::{carried, depends_on_more_than_operands};
use super::memory::Memory;
use crate::Cfg;

/// The most operands of an instruction that is no call.
pub(super) const OPERANDS: usize = 3;

/// An operation on numbered operands: what its results are numbered by.
#[derive(Clone, PartialEq, Eq)]
struct Key {
    op: Opcode,
    ty: Type,
    imm: Imm,
    /// 0 behind the last.
    args: [u32; OPERANDS],
    /// The guard's predicate, whether it is negated, and what holds elsewhere.
    guard: Option<(u32, bool, Option<u32>)>,
}

/// The numbers of a function's values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers {
    /// 0 stands for none: the value is not reached, or not yet.
    of: SecondaryMap<Value, u32>,
    last: u32,
}

impl Numbers {
    /// Numbers the values of all blocks that are reached.
    pub fn new(func: &Function, cfg: &Cfg, memory: &Memory) -> Self {
        let mut numbers = Self::default();
        numbers.of.resize(func.num_values());
        let mut table = Table(HashTable::with_capacity(func.num_insts()));
        for &b in cfg.rpo() {
            for (k, &p) in func.block(b).params.iter().enumerate() {
                let brought = match func.entry() == Some(b) {
                    true => None,
                    false => numbers.brought(func, cfg, b, k, p),
                };
                let number = brought.unwrap_or_else(|| numbers.fresh());
                numbers.of[p] = number;
            }
            for &i in &func.block(b).insts {
                let inst = func.inst(i);
                let number = match inst.results.len() {
                    1 if inst.args.len() <= OPERANDS
                        && !depends_on_more_than_operands(inst, memory) =>
                    {
                        Some(numbers.operation(func, i, &mut table))
                    }
                    _ => None,
                };
                for &r in &inst.results {
                    let number = number.unwrap_or_else(|| numbers.fresh());
                    numbers.of[r] = number;
                }
            }
        }
        numbers
    }

    /// Whether each lane holds the same in both, wherever both may be used.
    pub fn same(&self, a: Value, b: Value) -> bool {
        a == b || (self.of[a] != 0 && self.of[a] == self.of[b])
    }

    fn fresh(&mut self) -> u32 {
        self.last += 1;
        self.last
    }

    /// The one number that every edge to `b` brings for its parameter `p`,
    /// apart from `p` itself.
    fn brought(&self, func: &Function, cfg: &Cfg, b: Block, k: usize, p: Value) -> Option<u32> {
        let edges = cfg.preds(b).iter();
        let args = edges.filter_map(|&e| carried(func, e, k));
        let mut numbers = args.filter(|&a| a != p).map(|a| self.of[a]);
        let first = numbers.next().filter(|&n| n != 0)?;
        numbers.all(|n| n == first).then_some(first)
    }

    fn operation(&mut self, func: &Function, i: Inst, table: &mut Table) -> u32 {
        let inst = func.inst(i);
        let key = self.bare(inst);
        // An unreached operand cannot be: definitions dominate their uses.
        if key.args[..inst.args.len()].contains(&0) {
            return self.fresh();
        }
        let copied = match (inst.op, key.args) {
            (Opcode::Copy, [a, ..]) => Some(a),
            (Opcode::Select, [_, a, b]) if a == b => Some(a),
            _ => None,
        };
        let Some(guard) = inst.guard else {
            return copied.unwrap_or_else(|| self.entry(func, i, &key, table));
        };
        let otherwise = guard.otherwise.map(|v| self.of[v]);
        // Where the other lanes hold the same anyway, the guard is no matter.
        let bare = copied.or_else(|| table.find(self, func, &key));
        match (bare, otherwise) {
            (Some(bare), Some(otherwise)) if bare == otherwise => bare,
            _ => {
                let key = self.key(inst);
                self.entry(func, i, &key, table)
            }
        }
    }

    fn entry(&mut self, func: &Function, i: Inst, key: &Key, table: &mut Table) -> u32 {
        match table.entry(self, func, key) {
            Entry::Occupied(first) => {
                let first = func.result(*first.get());
                first.map_or(0, |v| self.of[v])
            }
            Entry::Vacant(place) => {
                place.insert(i);
                self.fresh()
            }
        }
    }

    /// What `inst` is numbered by, its guard apart.
    fn bare(&self, inst: &InstData) -> Key {
        let mut key = Key {
            op: inst.op,
            ty: inst.ty,
            imm: inst.imm,
            args: [0; OPERANDS],
            guard: None,
        };
        for (number, &a) in key.args.iter_mut().zip(&inst.args) {
            *number = self.of[a];
        }
        key.order();
        key
    }

    /// What `inst` is numbered by.
    fn key(&self, inst: &InstData) -> Key {
        let guard = inst.guard.map(|g| {
            let otherwise = g.otherwise.map(|v| self.of[v]);
            (self.of[g.pred], g.negated, otherwise)
        });
        Key {
            guard,
            ..self.bare(inst)
        }
    }
}

/// The first instruction of each key; the keys themselves are made again when
/// they are looked at, which takes less time than to keep them.
struct Table(HashTable<Inst>);

impl Table {
    fn find(&self, numbers: &Numbers, func: &Function, key: &Key) -> Option<u32> {
        let same = |&i: &Inst| numbers.key(func.inst(i)) == *key;
        let i = *self.0.find(key.hash(), same)?;
        func.result(i).map(|v| numbers.of[v])
    }

    fn entry<'a>(&'a mut self, numbers: &Numbers, func: &Function, key: &Key) -> Entry<'a, Inst> {
        let same = |&i: &Inst| numbers.key(func.inst(i)) == *key;
        let hash = |&i: &Inst| numbers.key(func.inst(i)).hash();
        self.0.entry(key.hash(), same, hash)
    }
}

impl Key {
    /// A hash that leaves out what rarely makes the difference.
    fn hash(&self) -> u64 {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let imm = match self.imm {
            Imm::Bits(bits) => bits as u64 ^ (bits >> 64) as u64,
            Imm::Icc(cc) => cc as u64,
            Imm::Fcc(cc) => cc as u64,
            Imm::Mem { offset, .. } => offset as u64,
            _ => 0,
        };
        let [a, b, c] = self.args.map(u64::from);
        let op = (self.op as u64) << 8 | self.ty as u64;
        let words = [op, imm, a | b << 32, c];
        let step = |h: u64, word: u64| (h.rotate_left(23) ^ word).wrapping_mul(ODD);
        words.into_iter().fold(0, step)
    }

    /// Puts the operands in the order of their numbers where order is no
    /// matter, or another condition makes up for it.
    fn order(&mut self) {
        let [a, b, 0] = self.args else { return };
        if a <= b || b == 0 {
            return;
        }
        match self.imm {
            Imm::Icc(cc) => self.imm = Imm::Icc(cc.swap_args()),
            _ if self.op.commutes() => {}
            _ => return,
        }
        self.args.swap(0, 1);
    }
}
