//! Edits that several passes share.

use warpfold_analysis::{Cfg, JoinRule, Joins};
use warpfold_ir::entity::SecondaryMap;
use warpfold_ir::{Block, BlockCall, Function, Terminator};

use crate::clean::Renames;

/// Blocks being appended to others. What is pending (names of values, the
/// layout) is done in one walk in the end.
#[derive(Debug, Default)]
pub(crate) struct Merger {
    /// Values that became others.
    pub renames: Renames,
    /// The block that a block was appended to.
    into: SecondaryMap<Block, Option<Block>>,
    /// The block whose terminator a block ends with now.
    ends_as: SecondaryMap<Block, Option<Block>>,
    /// The end whose place in layout a block takes.
    takes_place: SecondaryMap<Block, Option<Block>>,
    any: bool,
}

impl Merger {
    /// With tables that have room for all of a function at once.
    pub(crate) fn of(func: &Function) -> Self {
        let mut this = Self::default();
        this.into.resize(func.num_blocks());
        this.ends_as.resize(func.num_blocks());
        this
    }

    /// Appends block `from`, entered only through `call`, to `into`, whose
    /// terminator it replaces. The parameters of `from` become the arguments
    /// of the call. Until [`finish`](Self::finish) `from` stays in the layout,
    /// without terminator.
    ///
    /// Layout order ranks the ends of a function, so the merged block takes the
    /// later block's place when that is an end. (An entry block that ends so has
    /// no other blocks left behind it.)
    pub(crate) fn append(&mut self, func: &mut Function, into: Block, call: &BlockCall) {
        let from = call.block;
        let params = std::mem::take(&mut func.block_mut(from).params);
        for (&param, &arg) in params.iter().zip(&call.args) {
            self.renames.set(param, self.renames.get(arg));
        }
        let insts = std::mem::take(&mut func.block_mut(from).insts);
        let term = func.block_mut(from).term.take();
        let origin = func.block(from).origin;
        let is_end = term.as_ref().is_some_and(Terminator::is_end);
        if is_end && func.entry() != Some(into) {
            self.takes_place[into] = Some(self.takes_place[from].unwrap_or(from));
        }
        self.into[from] = Some(into);
        self.ends_as[into] = Some(self.source(from));
        self.any = true;
        let block = func.block_mut(into);
        block.insts.extend(insts);
        block.term = term;
        block.origin = origin;
    }

    /// The block that the code of `b` is in now.
    pub(crate) fn place(&mut self, b: Block) -> Block {
        let mut last = b;
        while let Some(into) = self.into[last] {
            last = into;
        }
        // The next look-up is short.
        let mut at = b;
        while at != last {
            at = self.into[at].replace(last).unwrap_or(last);
        }
        last
    }

    /// The block whose terminator `b` ends with now.
    pub(crate) fn source(&self, b: Block) -> Block {
        self.ends_as[b].unwrap_or(b)
    }

    /// Brings names and layout up to date.
    pub(crate) fn finish(&self, func: &mut Function) {
        self.renames.apply(func);
        if !self.any {
            return;
        }
        let mut at: SecondaryMap<Block, u32> = SecondaryMap::new();
        at.resize(func.num_blocks());
        for (i, &b) in func.layout.iter().enumerate() {
            at[b] = i as u32;
        }
        func.layout.retain(|&b| self.into[b].is_none());
        func.layout
            .sort_by_key(|&b| at[self.takes_place[b].unwrap_or(b)]);
    }
}

/// Whether the function calls anything. Only then may it be called itself while
/// it runs, and its lanes not leave for good when they return.
pub(crate) fn has_calls(func: &Function) -> bool {
    let tail = |b: &Block| matches!(func.term(*b), Terminator::TailCall(_));
    func.laid_out_insts()
        .any(|(_, i)| func.inst(i).op.effects().calls)
        || func.layout.iter().any(tail)
}

/// Edges into each block, by block number.
pub(crate) fn count_edges(func: &Function) -> Vec<u32> {
    let mut n = vec![0; func.num_blocks()];
    for &b in &func.layout {
        for t in func.term(b).targets() {
            n[t.block.as_u32() as usize] += 1;
        }
    }
    n
}

/// Whether the function has anything that depends on which lanes execute
/// together, and so on where they join.
fn is_convergent(func: &Function) -> bool {
    func.laid_out_insts()
        .any(|(_, i)| func.inst(i).op.effects().convergent)
}

/// How often joins are compared before what is left of a function stays as it
/// is. Each time costs a walk over the whole function.
const TRIALS: u32 = 64;

/// Applies `change` to those of `blocks` where it moves no join of a branch that
/// is left: to all together if it does not, else to one half after the other,
/// down to single steps. `change` is given blocks of the function and how many
/// steps it may take at each, and returns what it did. Functions where nothing
/// but cost depends on joins are changed without a look at them unless
/// `for_cost` asks for it.
pub(crate) fn where_joins_stay<T>(
    func: &mut Function,
    blocks: &[Block],
    rule: JoinRule,
    for_cost: bool,
    change: impl Fn(&mut Function, &[Block], usize) -> (Vec<T>, Merger),
) -> Vec<T> {
    if !for_cost && !is_convergent(func) {
        return change(func, blocks, usize::MAX).0;
    }
    let mut done = Vec::new();
    let mut work = vec![(blocks, usize::MAX)];
    for _ in 0..TRIALS {
        let Some((blocks, limit)) = work.pop() else {
            break;
        };
        let laid_out = laid_out(func);
        let here: Vec<Block> = blocks.iter().copied().filter(|&b| laid_out[b]).collect();
        let mut after = func.clone();
        let (made, mut merged) = change(&mut after, &here, limit);
        if made.is_empty() {
            continue;
        }
        if same_joins(func, &after, rule, &mut merged) {
            *func = after;
            done.extend(made);
            // Of a single step there may be a next one.
            if limit == 1 {
                work.push((blocks, 1));
            }
        } else if blocks.len() > 1 {
            let (first, second) = blocks.split_at(blocks.len() / 2);
            work.extend([(second, limit), (first, limit)]);
        } else if limit > 1 {
            work.push((blocks, 1));
        }
    }
    done
}

/// Which blocks are laid out.
pub(crate) fn laid_out(func: &Function) -> SecondaryMap<Block, bool> {
    let mut is = SecondaryMap::with_capacity(func.num_blocks());
    for &b in &func.layout {
        is[b] = true;
    }
    is
}

/// Whether lanes join as before in `after`, which was made from `before`: each
/// branch that is left has the same join. `merged` says what was appended where.
fn same_joins(before: &Function, after: &Function, rule: JoinRule, merged: &mut Merger) -> bool {
    let joins = |func: &Function| Joins::new(func, &Cfg::new(func), rule);
    let (old, new) = (joins(before), joins(after));
    let mut branches = after
        .layout
        .iter()
        .filter(|&&b| after.term(b).is_conditional());
    branches.all(|&b| old.of(merged.source(b)).map(|join| merged.place(join)) == new.of(b))
}
