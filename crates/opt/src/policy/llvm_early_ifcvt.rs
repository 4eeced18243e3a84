//! LLVM's EarlyIfConversion: the critical path may grow by half of what a
//! mispredicted branch costs.
//!
//! Numbers (`EarlyIfConversion.cpp`): at most `early-ifcvt-limit` = 30
//! instructions a block; the critical path with selects may be at most half the
//! mispredict penalty longer than the shorter of the two paths was; loads and
//! whatever else is not safe are never speculated.
//!
//! The path is that through head, side and join, by the latencies of the
//! machine (its lowest; 1 cycle where none is known). For the penalty stands
//! the machine's overhead of a branch that splits the warp, in cycles of one
//! issue.

use hashbrown::HashMap;
use warpfold_ir::{Block, CostClass, InstData, Value};

use super::{Facts, PolicyRow};
use crate::ifconv::policy::{Policy, Question};
use crate::report::Form;

const BLOCK_LIMIT: usize = 30;

/// See the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct EarlyIfConversion;

/// Its row.
pub const ROW: PolicyRow = PolicyRow {
    name: "llvm-early-ifcvt",
    rule: "At most 30 instructions a block, no loads, and the critical path grows by at most half the penalty of a branch.",
    source: "LLVM, EarlyIfConversion.cpp",
    policy: &EarlyIfConversion,
};

/// Cycles until values are there, counted from the head's beginning.
struct Path<'a> {
    question: &'a Question<'a>,
    ready: HashMap<Value, u64>,
    end: u64,
}

impl Path<'_> {
    fn latency(&self, class: CostClass) -> u64 {
        let known = self.question.machine.latency[class.index()];
        known.map_or(1, |cycles| u64::from(cycles.low))
    }

    fn at(&self, v: Value) -> u64 {
        self.ready.get(&v).copied().unwrap_or(0)
    }

    fn step(&mut self, data: &InstData) {
        let start = data.uses().map(|v| self.at(v)).max().unwrap_or(0);
        let done = match data.cost_class() {
            CostClass::Const => 0,
            class => start + self.latency(class),
        };
        self.end = self.end.max(done);
        for &result in &data.results {
            self.ready.insert(result, done);
        }
    }

    fn block(&mut self, b: Block) {
        let insts = &self.question.func.block(b).insts;
        for &i in insts {
            self.step(self.question.func.inst(i));
        }
    }

    /// The parameters of the target of `b`'s jump become its arguments.
    fn enter(&mut self, b: Block, to: Block) {
        let params = self.question.func.block(to).params.clone();
        for call in self.question.func.term(b).targets() {
            if call.block == to {
                for (&param, &arg) in params.iter().zip(&call.args) {
                    let ready = self.at(arg).max(self.at(param));
                    self.ready.insert(param, ready);
                }
            }
        }
    }
}

/// The length of the critical path through the head, `sides` and the join; with
/// selects behind the condition where there are several.
fn critical(f: &Facts<'_>, sides: &[usize]) -> u64 {
    let q = &f.question;
    let region = &q.regions[q.region];
    let mut path = Path {
        question: q,
        ready: HashMap::new(),
        end: 0,
    };
    path.block(region.head);
    for &i in sides {
        let blocks = &f.sides[i].blocks;
        for (k, &b) in blocks.iter().enumerate() {
            let before = if k == 0 { region.head } else { blocks[k - 1] };
            path.enter(before, b);
            path.block(b);
        }
        path.enter(blocks.last().copied().unwrap_or(region.head), region.join);
    }
    if sides.len() > 1 {
        let cond = q.func.term(region.head).condition();
        let decided = cond.map_or(0, |c| path.at(c));
        let select = path.latency(CostClass::Select);
        for &param in &q.func.block(region.join).params {
            let ready = path.at(param).max(decided) + select;
            path.ready.insert(param, ready);
            path.end = path.end.max(ready);
        }
    }
    path.block(region.join);
    path.end
}

impl Policy for EarlyIfConversion {
    fn name(&self) -> &str {
        ROW.name
    }

    fn choose(&self, question: &Question<'_>) -> Form {
        let f = Facts::new(question);
        let small = f.sides.iter().all(|s| s.len() <= BLOCK_LIMIT);
        let safe = f
            .sides
            .iter()
            .all(|s| s.is_safe(question.func) && !s.has(|class| class == CostClass::Load));
        if !f.flat() || !small || !safe || f.sides.len() != 2 {
            return Form::Branch;
        }
        let before = critical(&f, &[0]).min(critical(&f, &[1]));
        let after = critical(&f, &[0, 1]);
        // In thousandths of a cycle; half of b.
        let slack = question.machine.b_split.thousandths() / 2;
        let grown = i64::try_from(after.saturating_sub(before)).unwrap_or(i64::MAX);
        f.straight_if(grown.saturating_mul(1000) <= slack)
    }
}
