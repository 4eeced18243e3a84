//! Statements, and every shape that a branch can have.
//!
//! A *side* is a sequence of statements in blocks of its own, which ends by
//! passing values of given types to a join. A side may instead leave, but
//! never the last way to a join.

use super::Generator;
use super::writer::{Blk, Ty, Val};

/// How a side ended.
enum End {
    /// In this block, to pass these on.
    Goes(Blk, Vec<Val>),
    /// It left.
    Left,
}

impl Generator<'_> {
    /// So many statements, unless the budget or the bytes end before.
    pub(super) fn statements(&mut self, range: std::ops::RangeInclusive<usize>) {
        let (least, most) = (*range.start(), *range.end());
        for _ in 0..least + self.bytes.below(most - least + 1) {
            if self.budget == 0 || self.bytes.is_empty() {
                return;
            }
            self.budget -= 1;
            self.statement();
        }
    }

    fn statement(&mut self) {
        let deep = self.depth >= self.options.depth;
        if self.options.choices && self.bytes.chance(128) {
            return self.idiom();
        }
        if self.may_exchange() && self.bytes.chance(36) {
            return self.uniform_exchange();
        }
        match self.bytes.below(32) {
            0..=5 => self.operation(),
            6..=8 => self.access(),
            9 => self.division(),
            10 if self.options.cross_lane => self.cross_lane(),
            11 => self.trap_check(),
            12 => self.leave(),
            13 if !deep => self.checked_division(),
            14 if !deep => self.checked_load(),
            15 if !deep => self.chain(),
            16 if !deep => self.switch(),
            17 if !deep && self.loops < 2 => match self.bytes.chance(40) {
                true => self.two_entries(),
                false => self.repeat(),
            },
            18 => self.degenerate(),
            19 if !deep && self.bytes.chance(30) => self.deep(),
            21 if !deep => self.twins(),
            25 | 26 if !deep => self.tangle(),
            27 if !deep => self.both_store(),
            28 if !deep && self.bytes.chance(60) => self.wide_switch(),
            20 if self.options.calls => self.call(),
            29..=31 => self.idiom(),
            _ if !deep => self.if_else(),
            _ => self.operation(),
        }
    }

    /// Types for the parameters of a join.
    fn join_types(&mut self) -> Vec<Ty> {
        let types: Vec<Ty> = (0..self.bytes.pick(&[1, 0, 2, 1, 3]))
            .map(|_| self.any_type())
            .collect();
        if !types.is_empty() {
            self.w.coverage.shape("params");
        }
        types
    }

    pub(super) fn values(&mut self, types: &[Ty]) -> Vec<Val> {
        types.iter().map(|&ty| self.value(ty)).collect()
    }

    /// Writes a side, beginning with `block`.
    fn side(&mut self, block: Blk, types: &[Ty], may_leave: bool) -> End {
        let scope = self.w.pool.len();
        self.depth += 1;
        if self.depth > 1 {
            self.w.coverage.shape("nested");
        }
        let leaves = may_leave && self.bytes.chance(30);
        let was_late = self.w.late;
        // What leaves is often laid out behind everything else.
        if leaves && self.bytes.chance(128) {
            self.w.late = true;
            self.w.coverage.shape("late-block");
        }
        self.w.open(block);
        self.statements(0..=4);
        let end = if leaves {
            self.w.coverage.shape("return-tail");
            self.note_return();
            self.finish_lane();
            End::Left
        } else {
            let values = self.values(types);
            End::Goes(self.w.here(), values)
        };
        self.w.late = was_late;
        self.depth -= 1;
        self.w.pool.truncate(scope);
        end
    }

    /// Ends a side that was written before.
    fn pass_on(&mut self, end: End, join: Blk) {
        if let End::Goes(block, values) = end {
            self.w.resume(block);
            self.w.jump(join, &values);
        }
    }

    fn if_else(&mut self) {
        let cond = self.condition();
        let types = self.join_types();
        match self.bytes.below(4) {
            0 | 1 => {
                self.w.coverage.shape("triangle");
                let straight = self.values(&types);
                let side = self.w.block(&[]);
                let join = self.w.block(&types);
                let mirrored = self.bytes.chance(100);
                if mirrored {
                    self.w.coverage.shape("mirrored");
                    self.w.brif(cond, (join, &straight), (side, &[]));
                } else {
                    self.w.brif(cond, (side, &[]), (join, &straight));
                }
                let end = self.side(side, &types, true);
                self.pass_on(end, join);
                self.w.open(join);
            }
            _ => {
                self.w.coverage.shape("diamond");
                let sides = [self.w.block(&[]), self.w.block(&[])];
                let join = self.w.block(&types);
                self.w.brif(cond, (sides[0], &[]), (sides[1], &[]));
                // Either may be laid out first; at most one leaves.
                let first = usize::from(self.bytes.chance(80));
                let a = self.side(sides[first], &types, true);
                let left = matches!(a, End::Left);
                let b = self.side(sides[1 - first], &types, !left);
                self.pass_on(a, join);
                self.pass_on(b, join);
                self.w.open(join);
            }
        }
    }

    /// Triangles inside triangles, deeper than anyone would flatten.
    fn deep(&mut self) {
        self.w.coverage.shape("deep");
        let ty = self.any_type();
        let scope = self.w.pool.len();
        let mut joins = Vec::new();
        for _ in 0..9 {
            let small = self.small();
            let n = self.bytes.below(8) as i64;
            let cond = self.icmp_with("uge", small, n);
            let otherwise = self.value(ty);
            let (side, join) = (self.w.block(&[]), self.w.block(&[ty]));
            self.w.brif(cond, (side, &[]), (join, &[otherwise]));
            self.w.open(side);
            self.depth += 1;
            joins.push(join);
        }
        self.operation();
        let mut v = self.value(ty);
        while let Some(join) = joins.pop() {
            self.w.jump(join, &[v]);
            self.w.pool.truncate(scope);
            self.w.open(join);
            self.depth -= 1;
            v = self.w.params(join)[0];
        }
    }

    /// Whether all live lanes come to this place, and will wherever a barrier is.
    fn may_exchange(&self) -> bool {
        self.options.cross_lane && self.shared && self.depth == 0 && !self.left_behind
    }

    /// An exchange between the lanes, perhaps in a side that all of them take
    /// or none.
    fn uniform_exchange(&mut self) {
        if !self.bytes.chance(100) {
            return self.exchange();
        }
        self.w.coverage.shape("barrier-arm");
        let scalar = self.scalar;
        let n = self.bytes.below(10) as i64;
        let cond = self.icmp_with("sle", scalar, n);
        let otherwise = self.value(Ty::I32);
        let (side, join) = (self.w.block(&[]), self.w.block(&[Ty::I32]));
        self.w.brif(cond, (side, &[]), (join, &[otherwise]));
        let scope = self.w.pool.len();
        self.w.open(side);
        self.exchange();
        let v = self.value(Ty::I32);
        self.w.jump(join, &[v]);
        self.w.pool.truncate(scope);
        self.w.open(join);
    }

    /// Both edges to one block, perhaps with each other's arguments.
    fn degenerate(&mut self) {
        self.w.coverage.shape("degenerate");
        let cond = self.condition();
        let ty = self.any_type();
        let (a, b) = (self.value(ty), self.value(ty));
        let join = self.w.block(&[ty, ty]);
        self.w.brif(cond, (join, &[a, b]), (join, &[b, a]));
        self.w.open(join);
    }

    /// `if (a && b) side`, or `||`, perhaps with an else side.
    fn chain(&mut self) {
        let types = self.join_types();
        let and = !self.bytes.chance(100);
        self.w
            .coverage
            .shape(if and { "and-chain" } else { "or-chain" });
        let tests = 2 + self.bytes.below(2);
        let side = self.w.block(&[]);
        let join = self.w.block(&types);
        // What a failing test goes to: an else side, or the join.
        let other = self.bytes.chance(100).then(|| self.w.block(&[]));
        let scope = self.w.pool.len();
        let straight = self.values(&types);
        for i in 0..tests {
            let cond = self.condition();
            let last = i + 1 == tests;
            let next = if last { None } else { Some(self.w.block(&[])) };
            let fail: (Blk, &[Val]) = match other {
                Some(block) => (block, &[]),
                None => (join, &straight),
            };
            match next {
                Some(next) if and => self.w.brif(cond, (next, &[]), fail),
                Some(next) => self.w.brif(cond, (side, &[]), (next, &[])),
                None => self.w.brif(cond, (side, &[]), fail),
            }
            if let Some(next) = next {
                self.w.open(next);
                self.depth += 1;
                if self.bytes.chance(80) {
                    self.operation();
                }
                self.depth -= 1;
            }
        }
        // Later tests' values do not reach the shared sides.
        self.w.pool.truncate(scope);
        let end = self.side(side, &types, true);
        let left = matches!(end, End::Left);
        self.pass_on(end, join);
        if let Some(other) = other {
            let end = self.side(other, &types, !left);
            self.pass_on(end, join);
        }
        self.w.open(join);
    }

    fn switch(&mut self) {
        self.w.coverage.shape("switch");
        let small = self.small();
        let index = match self.bytes.below(3) {
            0 => small,
            1 => {
                let three = self.int(Ty::I32, 3);
                let tid = self.tid;
                self.w.ins(Ty::I32, "band", &[tid, three])
            }
            _ => self.scalar,
        };
        let types = self.join_types();
        let straight = self.values(&types);
        let sides: Vec<Blk> = (0..1 + self.bytes.below(4))
            .map(|_| self.w.block(&[]))
            .collect();
        let join = self.w.block(&types);
        let entries = 1 + self.bytes.below(6);
        let mut used = Vec::new();
        let table: Vec<(Blk, Vec<Val>)> = (0..entries)
            .map(|_| match self.bytes.below(sides.len() + 1) {
                i if i < sides.len() => {
                    used.push(i);
                    (sides[i], Vec::new())
                }
                _ => (join, straight.clone()),
            })
            .collect();
        let default = match self.bytes.below(sides.len() + 1) {
            i if i < sides.len() => {
                used.push(i);
                (sides[i], &[] as &[Val])
            }
            _ => (join, &straight[..]),
        };
        used.sort_unstable();
        if used.windows(2).any(|pair| pair[0] == pair[1]) {
            self.w.coverage.shape("switch-shared");
        }
        used.dedup();
        self.w.br_table(index, default, &table);
        // One way must go on.
        let mut may_leave = table.iter().any(|(b, _)| *b == join) || default.0 == join;
        for (i, &side) in sides.iter().enumerate() {
            if used.contains(&i) {
                let last = used.last() == Some(&i);
                let end = self.side(side, &types, may_leave || !last);
                may_leave |= matches!(end, End::Goes(..));
                self.pass_on(end, join);
            }
        }
        self.w.open(join);
    }

    /// Ends a lane: stores some of what it knows, and returns what the function
    /// returns.
    pub(super) fn finish_lane(&mut self) {
        for i in 0..self.bytes.below(3) {
            let ty = self.any_type();
            let v = self.value(ty);
            self.keep(v, i);
        }
        let types = self.results.clone();
        let values: Vec<Val> = types
            .iter()
            .map(|&ty| {
                let v = self.value(ty);
                self.settled(v)
            })
            .collect();
        self.w.act("return", &super::writer::list(&values));
    }
}
