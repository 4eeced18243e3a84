//! Control that is no nest of sides: blocks that are entered from several
//! others, switches with many entries, and what both sides do to one place.

use super::Generator;
use super::writer::{Blk, Ty, Val};

impl Generator<'_> {
    /// Up to five blocks without a cycle, each of which ends in a test of where
    /// to go on: the next block, a later one, or the join.
    pub(super) fn tangle(&mut self) {
        self.w.coverage.shape("tangle");
        let types: Vec<Ty> = (0..self.bytes.below(3)).map(|_| self.any_type()).collect();
        let blocks: Vec<Blk> = (0..2 + self.bytes.below(4))
            .map(|_| self.w.block(&[]))
            .collect();
        let join = self.w.block(&types);
        let scope = self.w.pool.len();
        let early: Vec<Val> = types.iter().map(|&ty| self.value(ty)).collect();
        for at in 0..=blocks.len() {
            if at > 0 {
                self.w.open(blocks[at - 1]);
                self.depth += 1;
                self.statements(0..=2);
                self.depth -= 1;
            }
            let values: Vec<Val> = types.iter().map(|&ty| self.value(ty)).collect();
            if at == blocks.len() {
                self.w.jump(join, &values);
            } else {
                let later = at + 1 + self.bytes.below(blocks.len() - at);
                let other: (Blk, &[Val]) = match blocks.get(later) {
                    Some(&block) => (block, &[]),
                    None if self.bytes.chance(128) => (join, &values),
                    None => (join, &early),
                };
                let cond = self.condition();
                match self.bytes.chance(128) {
                    true => self.w.brif(cond, other, (blocks[at], &[])),
                    false => self.w.brif(cond, (blocks[at], &[]), other),
                }
            }
            // What a block defines reaches no other: ways lead around it.
            self.w.pool.truncate(scope);
        }
        self.w.open(join);
    }

    /// A `br_table` with more entries than anyone would make straight.
    pub(super) fn wide_switch(&mut self) {
        self.w.coverage.shape("switch-wide");
        let index = self.small();
        let ty = self.any_type();
        let (side, join) = (self.w.block(&[]), self.w.block(&[ty]));
        let straight = [self.value(ty)];
        let mut table = vec![(join, straight.to_vec()); 66];
        for _ in 0..1 + self.bytes.below(4) {
            let entry = self.bytes.below(16);
            table[entry] = (side, Vec::new());
        }
        self.w.br_table(index, (join, &straight), &table);
        let scope = self.w.pool.len();
        self.w.open(side);
        self.depth += 1;
        self.statements(1..=2);
        self.depth -= 1;
        let v = self.value(ty);
        self.w.jump(join, &[v]);
        self.w.pool.truncate(scope);
        self.w.open(join);
    }

    /// Both sides store to one of the lane's own places, or add to it.
    pub(super) fn both_store(&mut self) {
        let atomic = self.bytes.chance(100);
        self.w.coverage.shape(match atomic {
            true => "atomic-both",
            false => "store-both",
        });
        let cond = self.condition();
        let sides = [self.w.block(&[]), self.w.block(&[])];
        let join = self.w.block(&[]);
        self.w.brif(cond, (sides[0], &[]), (sides[1], &[]));
        let offset = 8 * self.bytes.below(4);
        for side in sides {
            let scope = self.w.pool.len();
            self.w.open(side);
            self.depth += 1;
            self.statements(0..=1);
            self.depth -= 1;
            let v = self.value(Ty::I64);
            let at = self.out;
            if atomic {
                let by = self.int(Ty::I64, offset as i64);
                let at = self.w.ins(Ty::I64, "iadd", &[at, by]);
                let rest = format!("notrap aligned add v{}, v{}", at.id, v.id);
                self.w.def(Ty::I64, "atomic_rmw", true, &rest);
            } else {
                let rest = format!("notrap aligned v{}, v{}+{offset}", v.id, at.id);
                self.w.act("store", &rest);
            }
            self.w.jump(join, &[]);
            self.w.pool.truncate(scope);
        }
        self.w.open(join);
    }
}
