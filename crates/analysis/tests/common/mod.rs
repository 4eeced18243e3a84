//! Graphs written as text, for the tests of the graph analyses.

#![allow(dead_code)]

use warpfold_analysis::{Cfg, JoinRule, Joins, Loops, Regions};
use warpfold_ir::{
    Block, BlockCall, Function, FunctionBuilder, Imm, InstData, Opcode, Terminator, TrapCode, Type,
};

/// A function made of empty blocks, and the blocks' names.
pub struct Graph {
    pub func: Function,
    pub names: Vec<String>,
    pub cfg: Cfg,
}

/// One block of a graph.
#[derive(Clone, Debug, Default)]
pub struct Node {
    pub succs: Vec<usize>,
    /// Ends in a trap when there are no successors.
    pub trap: bool,
    pub barrier: bool,
    /// Two successors make a switch, not a branch.
    pub switch: bool,
}

/// Reads `e: a b | a: j | b: j | j`: blocks in layout order with their
/// successors. No successor is a return, or a trap after `name!`; three are a
/// switch; `name*` holds a barrier.
pub fn graph(text: &str) -> Graph {
    let rows: Vec<(&str, Vec<&str>)> = text
        .split('|')
        .map(|row| {
            let (name, succs) = row.split_once(':').unwrap_or((row, ""));
            (name.trim(), succs.split_whitespace().collect())
        })
        .collect();
    let names: Vec<String> = rows
        .iter()
        .map(|(name, _)| name.trim_end_matches(['!', '*']).to_string())
        .collect();
    let find = |name: &&str| names.iter().position(|n| n == name).expect("a known name");
    let nodes: Vec<Node> = rows
        .iter()
        .map(|(name, succs)| Node {
            succs: succs.iter().map(find).collect(),
            trap: name.contains('!'),
            barrier: name.contains('*'),
            switch: false,
        })
        .collect();
    let func = build(&nodes);
    Graph {
        cfg: Cfg::new(&func),
        func,
        names,
    }
}

/// The function of a graph.
pub fn build(nodes: &[Node]) -> Function {
    let mut b = FunctionBuilder::new("g");
    let cond = b.param(Type::Pred, true);
    let index = b.param(Type::I32, true);
    let blocks: Vec<Block> = (0..nodes.len())
        .map(|i| if i == 0 { b.current() } else { b.block() })
        .collect();
    for (i, node) in nodes.iter().enumerate() {
        b.switch_to(blocks[i]);
        if node.barrier {
            b.push(InstData::new(Opcode::Barrier, Type::I32, &[], Imm::None));
        }
        match node.succs[..] {
            [] if node.trap => b.trap(TrapCode::User(1)),
            [] => b.ret(&[]),
            [to] => b.jump(blocks[to], &[]),
            [then, otherwise] if !node.switch => b.br(cond, blocks[then], blocks[otherwise]),
            [ref table @ .., default] => b.terminate(Terminator::Switch {
                index,
                table: table
                    .iter()
                    .map(|&to| BlockCall::from(blocks[to]))
                    .collect(),
                default: blocks[default].into(),
                mark: Default::default(),
            }),
        }
    }
    b.finish()
}

impl Graph {
    pub fn block(&self, name: &str) -> Block {
        let i = self.names.iter().position(|n| n == name);
        self.func.layout[i.expect("a known name")]
    }

    pub fn name(&self, b: Block) -> &str {
        let i = self.func.layout.iter().position(|&x| x == b);
        &self.names[i.expect("a laid-out block")]
    }

    pub fn names(&self, blocks: impl IntoIterator<Item = Block>) -> String {
        let names: Vec<&str> = blocks.into_iter().map(|b| self.name(b)).collect();
        names.join(" ")
    }

    pub fn joins(&self, rule: JoinRule) -> Joins {
        Joins::new(&self.func, &self.cfg, rule)
    }

    /// `e→j t→a`: all branches' joins; the exit is `-`.
    pub fn joins_text(&self, rule: JoinRule) -> String {
        let joins = self.joins(rule);
        let branches = self
            .func
            .layout
            .iter()
            .filter(|&&b| self.cfg.is_reachable(b) && self.func.term(b).is_conditional());
        let texts: Vec<String> = branches
            .map(|&b| {
                let join = joins.of(b).map_or("-", |j| self.name(j));
                format!("{}→{join}", self.name(b))
            })
            .collect();
        texts.join(" ")
    }

    /// The branches whose cfg join is later.
    pub fn deferred(&self) -> String {
        let joins = self.joins(JoinRule::Default);
        self.names(
            self.func
                .layout
                .iter()
                .copied()
                .filter(|&b| joins.deferred(b)),
        )
    }

    pub fn regions(&self) -> Regions {
        let joins = self.joins(JoinRule::Default);
        Regions::new(&self.func, &self.cfg, &joins, &Loops::new(&self.cfg))
    }

    /// Per branch in layout order: shape, interior, join, or why none.
    pub fn regions_text(&self) -> Vec<String> {
        let regions = self.regions();
        let branches = self
            .func
            .layout
            .iter()
            .filter(|&&b| self.func.term(b).is_conditional());
        branches
            .map(|&b| match regions.headed_by(b) {
                Ok(r) => {
                    let inside = self.names(regions.blocks(r).iter().copied());
                    let join = self.name(regions[r].join);
                    format!("{}: {} [{inside}] → {join}", self.name(b), regions[r].shape)
                }
                Err(why) => {
                    let mut why = why.to_string();
                    for &x in self.func.layout.iter().rev() {
                        why = why.replace(&x.to_string(), self.name(x));
                    }
                    format!("{}: {why}", self.name(b))
                }
            })
            .collect()
    }
}
