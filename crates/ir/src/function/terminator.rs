//! Terminators: how blocks end and where lanes go on.

use smallvec::{SmallVec, smallvec};

use super::callee::TailCall;
use crate::codes::TrapCode;
use crate::entities::{Block, Value};
use crate::opcode::CostClass;

/// A jump target with its arguments.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct BlockCall {
    /// Target.
    pub block: Block,
    /// One argument per parameter of the target.
    pub args: SmallVec<[Value; 4]>,
}

impl Clone for BlockCall {
    /// The derived one would copy the list element by element.
    #[inline]
    fn clone(&self) -> Self {
        Self {
            block: self.block,
            args: SmallVec::from_slice(&self.args),
        }
    }
}

impl BlockCall {
    /// A target with arguments.
    pub fn new(block: Block, args: &[Value]) -> Self {
        Self {
            block,
            args: SmallVec::from_slice(args),
        }
    }
}

impl From<Block> for BlockCall {
    fn from(block: Block) -> Self {
        Self::new(block, &[])
    }
}

/// What the author of a branch asks of its form.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Hint {
    /// Straight-line code in its place, whatever the cost, where that is legal.
    Flatten,
    /// The branch stays, whatever else.
    Keep,
}

impl Hint {
    /// Every hint.
    pub const ALL: [Self; 2] = [Self::Flatten, Self::Keep];

    /// The word in text.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flatten => "flatten",
            Self::Keep => "keep",
        }
    }
}

/// What is known of a conditional branch beside where it leads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct BranchMark {
    /// Proven never to split a warp; prediction and measurement both charge
    /// `b_proven` for it.
    pub proven: bool,
    /// Made or settled by a rewrite; not to be decided again.
    pub decided: bool,
    /// What its author asks for.
    pub hint: Option<Hint>,
}

/// How a block ends.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Terminator {
    /// Goes on at one block.
    Jump(BlockCall),
    /// Goes on at one of two blocks.
    Br {
        /// Decides, a `pred`.
        cond: Value,
        /// Taken where it holds.
        then: BlockCall,
        /// Taken where it does not.
        otherwise: BlockCall,
        /// What is known of it.
        mark: BranchMark,
    },
    /// Goes on at the block that the index selects.
    Switch {
        /// Selects, an integer taken unsigned.
        index: Value,
        /// Targets from index 0 on.
        table: Vec<BlockCall>,
        /// Target of every other index.
        default: BlockCall,
        /// What is known of it.
        mark: BranchMark,
    },
    /// The lanes return.
    Ret(SmallVec<[Value; 2]>),
    /// The lanes trap.
    Trap(TrapCode),
    /// The lanes return what a callee gives them.
    TailCall(TailCall),
}

impl Terminator {
    /// An unmarked two-way branch.
    pub fn br(cond: Value, then: impl Into<BlockCall>, otherwise: impl Into<BlockCall>) -> Self {
        Self::Br {
            cond,
            then: then.into(),
            otherwise: otherwise.into(),
            mark: BranchMark::default(),
        }
    }

    /// A jump.
    pub fn jump(to: impl Into<BlockCall>) -> Self {
        Self::Jump(to.into())
    }

    /// A return.
    pub fn ret(values: &[Value]) -> Self {
        Self::Ret(SmallVec::from_slice(values))
    }

    /// Targets in table order, a switch's default last; repeated targets are
    /// repeated. The position of a target is its edge's number.
    pub fn targets(&self) -> SmallVec<[&BlockCall; 2]> {
        match self {
            Self::Jump(to) => smallvec![to],
            Self::Br {
                then, otherwise, ..
            } => smallvec![then, otherwise],
            Self::Switch { table, default, .. } => table.iter().chain([default]).collect(),
            Self::Ret(_) | Self::Trap(_) | Self::TailCall(_) => smallvec![],
        }
    }

    /// The target with this number, without a list of all; `None` if there are
    /// not as many.
    #[inline]
    pub fn target(&self, edge: u32) -> Option<&BlockCall> {
        match (self, edge) {
            (Self::Jump(to), 0) => Some(to),
            (Self::Br { then, .. }, 0) => Some(then),
            (Self::Br { otherwise, .. }, 1) => Some(otherwise),
            (Self::Switch { table, default, .. }, i) => match table.get(i as usize) {
                None if i as usize == table.len() => Some(default),
                target => target,
            },
            _ => None,
        }
    }

    /// All of [`targets`](Self::targets), to change them.
    pub fn targets_mut(&mut self) -> SmallVec<[&mut BlockCall; 2]> {
        match self {
            Self::Jump(to) => smallvec![to],
            Self::Br {
                then, otherwise, ..
            } => smallvec![then, otherwise],
            Self::Switch { table, default, .. } => table.iter_mut().chain([default]).collect(),
            Self::Ret(_) | Self::Trap(_) | Self::TailCall(_) => smallvec![],
        }
    }

    /// The value that decides, of a branch or switch.
    #[inline]
    pub fn condition(&self) -> Option<Value> {
        match *self {
            Self::Br { cond, .. } => Some(cond),
            Self::Switch { index, .. } => Some(index),
            _ => None,
        }
    }

    /// The mark of a branch or switch.
    pub fn mark(&self) -> Option<BranchMark> {
        match *self {
            Self::Br { mark, .. } | Self::Switch { mark, .. } => Some(mark),
            _ => None,
        }
    }

    /// The same, to change it.
    pub fn mark_mut(&mut self) -> Option<&mut BranchMark> {
        match self {
            Self::Br { mark, .. } | Self::Switch { mark, .. } => Some(mark),
            _ => None,
        }
    }

    /// Whether it chooses between targets.
    pub fn is_conditional(&self) -> bool {
        self.condition().is_some()
    }

    /// Whether lanes leave the function here: `ret`, `trap`, a tail call.
    pub fn is_end(&self) -> bool {
        matches!(self, Self::Ret(_) | Self::Trap(_) | Self::TailCall(_))
    }

    /// What an issue of it costs.
    pub fn cost_class(&self) -> CostClass {
        match self {
            Self::Jump(_) => CostClass::Jump,
            Self::Br { .. } | Self::Switch { .. } => CostClass::Branch,
            Self::Ret(_) | Self::Trap(_) => CostClass::Ctl,
            Self::TailCall(_) => CostClass::Call,
        }
    }

    /// Condition, block arguments, returned values and what a tail call uses.
    pub fn uses(&self) -> impl Iterator<Item = Value> + '_ {
        let returned: &[Value] = match self {
            Self::Ret(values) => values,
            _ => &[],
        };
        self.condition()
            .into_iter()
            .chain(
                self.targets()
                    .into_iter()
                    .flat_map(|t| t.args.iter().copied()),
            )
            .chain(returned.iter().copied())
            .chain(match self {
                Self::TailCall(call) => call.uses().collect(),
                _ => SmallVec::<[Value; 4]>::new(),
            })
    }

    /// Replaces every used value by `f` of it.
    pub fn map_uses(&mut self, mut f: impl FnMut(Value) -> Value) {
        match self {
            Self::Br { cond, .. } => *cond = f(*cond),
            Self::Switch { index, .. } => *index = f(*index),
            Self::Ret(values) => values.iter_mut().for_each(|v| *v = f(*v)),
            Self::TailCall(call) => call.map_uses(&mut f),
            _ => {}
        }
        for target in self.targets_mut() {
            target.args.iter_mut().for_each(|v| *v = f(*v));
        }
    }
}
