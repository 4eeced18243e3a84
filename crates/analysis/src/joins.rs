//! Where the lanes that a branch separates meet again: its *join*.
//!
//! **Default rule.** The [ends](Ends) of a function are ranked and every block
//! has a home, the first end it can reach. An edge to a block with another
//! home is an *early return* and is ignored; on what is left, the join of a
//! branch is its immediate post-dominator, with a virtual exit. So the lanes
//! that go on need not wait for those that leave. Rules that tell early
//! returns by dominance or by single predecessors take loop exits for early
//! returns; this one does not, because what leaves a loop has the loop's home.
//!
//! **Cfg rule.** The textbook's: the immediate post-dominator of the whole
//! graph, no edge ignored.
//!
//! In a loop that never leaves, back edges lead to a virtual node before the
//! header. A branch whose post-dominator is that node joins at the header:
//! whoever goes round comes there.
//!
//! Under the default rule every block keeps an edge to a block with its own
//! home, and a home is one end, so only blocks that end in `ret` or `trap`
//! have no join. Both rules are near-linear: one reachability walk over all
//! ends together, and one dominator tree per rule.

use cranelift_entity::SecondaryMap;
use warpfold_ir::{Block, Function};

use crate::cfg::{Cfg, Edge};
use crate::domtree::{DomTree, Parent};
use crate::ends::Ends;
use crate::loops::Loops;

/// Which edges count when a branch's join is looked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum JoinRule {
    /// Edges to a block with another home are early returns and do not count.
    #[default]
    Default,
    /// Every edge counts.
    Cfg,
}

/// The joins of a function.
#[derive(Clone, Debug)]
pub struct Joins {
    rule: JoinRule,
    default: SecondaryMap<Block, Option<Block>>,
    cfg: SecondaryMap<Block, Option<Block>>,
    ends: Ends,
}

impl Joins {
    /// Finds the joins under both rules; [`of`](Self::of) answers by `rule`.
    pub fn new(func: &Function, cfg: &Cfg, rule: JoinRule) -> Self {
        Self::with_loops(func, cfg, &Loops::new(cfg), rule)
    }

    /// The same with the loops at hand.
    pub fn with_loops(func: &Function, cfg: &Cfg, loops: &Loops, rule: JoinRule) -> Self {
        let ends = Ends::new(func, cfg, loops);
        let same_home = |from, to| ends.home(from) == ends.home(to);
        Self {
            rule,
            default: joins(cfg, loops, same_home),
            cfg: joins(cfg, loops, |_, _| true),
            ends,
        }
    }

    /// The rule that [`of`](Self::of) follows.
    pub fn rule(&self) -> JoinRule {
        self.rule
    }

    /// The join of a branch; `None` where the lanes meet only at the virtual
    /// exit, that is, never again. Of a block that ends in a jump it is the
    /// jump's target, in a return or trap and of unreachable blocks `None`. A
    /// branch in the header of a loop that never leaves may join at its own
    /// block.
    pub fn of(&self, b: Block) -> Option<Block> {
        self.under(self.rule, b)
    }

    /// The join of a branch under either rule.
    pub fn under(&self, rule: JoinRule, b: Block) -> Option<Block> {
        match rule {
            JoinRule::Default => self.default[b],
            JoinRule::Cfg => self.cfg[b],
        }
    }

    /// Whether the textbook's join of `b` is later than the default one:
    /// there lanes that go on would wait for lanes that leave.
    pub fn deferred(&self, b: Block) -> bool {
        self.default[b] != self.cfg[b]
    }

    /// Whether `edge` is an early return, which the default rule ignores.
    pub fn is_early_return(&self, cfg: &Cfg, edge: Edge) -> bool {
        self.ends.home(edge.from) != self.ends.home(cfg.target(edge))
    }

    /// The ends of the function and the homes of its blocks.
    pub fn ends(&self) -> &Ends {
        &self.ends
    }
}

fn joins(
    cfg: &Cfg,
    loops: &Loops,
    keep: impl Fn(Block, Block) -> bool,
) -> SecondaryMap<Block, Option<Block>> {
    let tree = DomTree::post_dominators_of_rest(cfg, loops, keep);
    let mut joins = SecondaryMap::with_capacity(cfg.num_blocks());
    for &b in cfg.rpo() {
        joins[b] = match tree.parent(b, loops) {
            Parent::Block(join) => Some(join),
            Parent::Loop(l) => Some(loops.header(l)),
            Parent::Exit => None,
        };
    }
    joins
}
