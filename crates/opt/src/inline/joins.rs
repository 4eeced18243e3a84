//! Whether lanes meet after inlining where they met before.

use hashbrown::HashSet;
use smallvec::SmallVec;
use warpfold_analysis::{Cfg, Edge, JoinRule, Joins, Loops};
use warpfold_ir::{Block, Function};

use super::copy::{Copy, block_of};
use super::site::Site;

impl Copy {
    /// Whether lanes meet in `made`, the function with the copy, where they
    /// met in `func` and in `callee`.
    pub(super) fn keeps(
        &self,
        func: &Function,
        made: &Function,
        callee: &Function,
        site: Site,
        rule: JoinRule,
    ) -> bool {
        let cfg = Cfg::new(func);
        let before = Joins::new(func, &cfg, rule);
        if !callee.slots.is_empty() {
            let head = match site {
                Site::Inst(i) => block_of(func, i),
                Site::Tail(b) => b,
            };
            if Loops::new(&cfg).loop_of(head).is_some() {
                return false;
            }
        }
        let after = Joins::new(made, &Cfg::new(made), rule);
        let laid_out: HashSet<Block> = made.layout.iter().copied().collect();
        let kept = func.layout.iter().all(|&b| {
            let now = match b == self.head {
                true => self.behind,
                false => Some(b),
            };
            match now.filter(|now| laid_out.contains(now)) {
                Some(now) => !func.term(b).is_conditional() || before.of(b) == after.of(now),
                None => true,
            }
        });
        let callee_cfg = Cfg::new(callee);
        let inside = Joins::new(callee, &callee_cfg, rule);
        kept && callee.layout.iter().all(|&b| {
            let Some(now) = self.blocks[b].filter(|now| laid_out.contains(now)) else {
                return true;
            };
            if !callee.term(b).is_conditional() {
                return true;
            }
            let (was, is) = (inside.of(b), after.of(now));
            if was.is_some_and(|j| self.blocks[j] == is) {
                return true;
            }
            // All that did not return early go one way, or all return.
            let mut late: SmallVec<[Block; 2]> = SmallVec::new();
            for (index, target) in callee.term(b).targets().iter().enumerate() {
                let edge = Edge {
                    from: b,
                    index: index as u32,
                };
                if !inside.is_early_return(&callee_cfg, edge) && !late.contains(&target.block) {
                    late.push(target.block);
                }
            }
            let end = self.behind.filter(|_| self.separate);
            match (was, is) {
                (None, None) => !self.separate,
                (None, Some(_)) => is == end,
                (Some(_), Some(_)) => rule == JoinRule::Default && is == end && late.len() <= 1,
                (Some(_), None) => false,
            }
        })
    }
}
