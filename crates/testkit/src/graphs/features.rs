//! What is in a kernel on an odd graph.

use std::collections::BTreeMap;
use std::fmt;

use warpfold::analysis::uniformity::Uniformity;
use warpfold::analysis::{Cfg, JoinRule, Joins, Loops};
use warpfold::exec::Outcome;
use warpfold::ir::{Opcode, Shape, Terminator, Type, ValueDef};

use super::Kernel;

/// Everything that [`generate`](super::generate) can bring about, with what it
/// is. What only a run shows is found by [`Kernel::ran`].
pub const FEATURES: &[(&str, &str)] = &[
    ("loop", "a loop"),
    ("nested loops", "a loop in a loop"),
    ("irreducible", "a cycle with several entries"),
    ("irreducible inside", "the same, in a loop"),
    ("several exits", "a loop that several edges leave"),
    ("endless loop", "a loop that only guarded exits leave"),
    ("several ends", "several blocks that return or trap"),
    ("early return", "an edge that the default joins leave out"),
    (
        "deferred join",
        "a branch whose join is later under `--joins cfg`",
    ),
    ("switch", "a branch of three ways or more"),
    (
        "repeated target",
        "two edges of one terminator to one block",
    ),
    (
        "repeated with other arguments",
        "two such edges that carry different values",
    ),
    ("uniform branch", "a branch that is proven never to split"),
    (
        "branch of a block",
        "a branch that is common to a block, and no more is known",
    ),
    ("divergent branch", "a branch that may split"),
    ("known mask", "a divergent branch whose lanes are known"),
    ("tail guard", "a comparison of an index with a bound"),
    ("vote in a loop", "a ballot, vote or broadcast in a loop"),
    ("shuffle in a loop", "a shuffle in a loop"),
    ("guard with else", "a guarded instruction with an `else`"),
    (
        "guard without else",
        "one without, whose result is poison elsewhere",
    ),
    ("poison hidden", "a select by the guard of such a result"),
    ("exit", "`exit if`"),
    ("trap", "`trap if`"),
    ("fault", "a division that may trap"),
    ("atomic", "an atomic update"),
    ("store", "a store to memory that all lanes share"),
    ("read-only load", "a load of memory that nothing writes"),
    ("stack slot", "a load of the lane's own memory"),
    ("index x", "`tid_x`"),
    ("index y", "`tid_y`"),
    ("index z", "`tid_z`"),
    (
        "stride",
        "a value that goes up by more than one from lane to lane",
    ),
    ("bits", "a value that varies and of which bits are uniform"),
    ("signed division", "a signed division or remainder"),
    ("narrow", "a number of 8 bits"),
    ("wide", "a number of 64 bits that varies"),
    ("temporal", "a value whose claim is weaker where it is used"),
    ("one dimension", "a block of one dimension"),
    ("two dimensions", "a block of two dimensions"),
    ("three dimensions", "a block of three dimensions"),
    ("partial warp", "a warp that lacks lanes"),
    ("several warps", "blocks of more than one warp"),
    ("several blocks", "a grid of more than one block"),
    ("shape known", "all sizes are told to the analysis"),
    ("shape known in part", "some are"),
    ("shape unknown", "none are"),
    ("joins default", "the default join rule"),
    ("joins cfg", "the textbook's"),
    ("coarse", "the analysis ran out of its budget"),
    ("split", "a warp split in the run"),
    ("lanes left", "lanes left before others in the run"),
    ("deep", "more than three entries on the stack"),
    ("trapped", "a lane trapped"),
];

/// How many kernels had each feature.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Features {
    /// By name from [`FEATURES`].
    pub counts: BTreeMap<&'static str, u64>,
}

impl Features {
    fn note(&mut self, name: &'static str, found: bool) {
        debug_assert!(FEATURES.iter().any(|f| f.0 == name), "{name}");
        if found {
            self.counts.insert(name, 1);
        }
    }

    /// Adds another kernel's.
    pub fn add(&mut self, other: &Self) {
        for (&name, n) in &other.counts {
            *self.counts.entry(name).or_default() += n;
        }
    }

    /// Those that do not occur.
    pub fn missing(&self) -> Vec<&'static str> {
        let all = FEATURES.iter().map(|f| f.0);
        all.filter(|name| !self.counts.contains_key(name)).collect()
    }
}

impl fmt::Display for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list: Vec<String> = self
            .counts
            .iter()
            .map(|(k, n)| format!("{k} {n}"))
            .collect();
        f.write_str(&list.join(", "))
    }
}

impl Kernel {
    /// What there is in it, and in what is claimed of it.
    pub fn features(&self, claims: &Uniformity) -> Features {
        let mut all = Features::default();
        self.graph_features(&mut all);
        self.code_features(&mut all);
        self.claimed_features(claims, &mut all);
        self.launch_features(&mut all);
        all
    }

    /// What a run of it showed.
    pub fn ran(&self, outcome: &Outcome, all: &mut Features) {
        let c = &outcome.counters;
        all.note("split", c.divergent_branch > 0);
        all.note("lanes left", c.lost.exited > 0);
        all.note("deep", c.max_depth > 3);
        all.note("trapped", !outcome.traps.is_empty());
    }

    fn graph_features(&self, all: &mut Features) {
        let func = &self.func;
        let cfg = Cfg::new(func);
        let loops = Loops::new(&cfg);
        let joins = Joins::new(func, &cfg, JoinRule::Default);
        for l in loops.ids() {
            let inside = loops.parent(l).is_some();
            all.note("loop", true);
            all.note("nested loops", inside);
            all.note("irreducible", loops.is_irreducible(l));
            all.note("irreducible inside", loops.is_irreducible(l) && inside);
            all.note("several exits", loops.exits(&cfg, l).count() > 1);
            all.note("endless loop", loops.is_endless(l));
        }
        let ends = cfg.rpo().iter().filter(|&&b| func.term(b).is_end());
        all.note("several ends", ends.count() > 1);
        for &b in cfg.rpo() {
            let in_loop = loops.loop_of(b).is_some();
            for &i in &func.block(b).insts {
                let shape = func.inst(i).op.shape();
                let votes = matches!(shape, Shape::Ballot | Shape::Vote | Shape::ReadFirst);
                all.note("vote in a loop", in_loop && votes);
                all.note("shuffle in a loop", in_loop && shape == Shape::Shuffle);
            }
            let early = cfg.edges_from(b).any(|e| joins.is_early_return(&cfg, e));
            all.note("early return", early);
            all.note("deferred join", joins.deferred(b));
            let targets = func.term(b).targets();
            all.note("switch", targets.len() > 2);
            for (k, t) in targets.iter().enumerate() {
                let again = targets[..k].iter().filter(|s| s.block == t.block);
                for same in again {
                    all.note("repeated target", true);
                    all.note("repeated with other arguments", same.args != t.args);
                }
            }
        }
    }

    fn code_features(&self, all: &mut Features) {
        let func = &self.func;
        let cfg = Cfg::new(func);
        for (b, i) in func.laid_out_insts() {
            if !cfg.is_reachable(b) {
                continue;
            }
            let inst = func.inst(i);
            let result = !inst.results.is_empty();
            let otherwise = inst.guard.is_some_and(|g| g.otherwise.is_some());
            all.note("guard with else", otherwise);
            all.note(
                "guard without else",
                inst.guard.is_some() && result && !otherwise,
            );
            let unguarded = |v| match func.def(v) {
                ValueDef::Result(d, _) => {
                    let guard = func.inst(d).guard;
                    guard.is_some_and(|g| g.otherwise.is_none() && g.pred == inst.args[0])
                }
                ValueDef::Param(..) => false,
            };
            all.note(
                "poison hidden",
                inst.op == Opcode::Select && inst.args[1..].iter().any(|&v| unguarded(v)),
            );
            all.note("exit", inst.op == Opcode::Exit);
            all.note("trap", inst.op == Opcode::TrapIf);
            let by_constant = inst
                .args
                .get(1)
                .is_some_and(|&v| func.as_const(v).is_some());
            let divides = inst.op.shape() == Shape::IntDiv;
            all.note("fault", divides && !by_constant);
            all.note("atomic", inst.op.shape() == Shape::AtomicRmw);
            let slot = |v| {
                func.def_inst(v)
                    .is_some_and(|d| func.inst(d).op == Opcode::StackAddr)
            };
            let local = inst.args.last().is_some_and(|&v| slot(v));
            all.note("store", inst.op.shape() == Shape::Store && !local);
            let readonly = inst
                .mem()
                .is_some_and(|(flags, _)| flags.contains(warpfold::ir::MemFlags::READONLY));
            all.note("read-only load", readonly);
            all.note("stack slot", inst.op.shape() == Shape::Load && local);
            all.note("index x", inst.op == Opcode::TidX);
            all.note("index y", inst.op == Opcode::TidY);
            all.note("index z", inst.op == Opcode::TidZ);
            let signed = matches!(inst.op, Opcode::Sdiv | Opcode::Srem);
            all.note("signed division", signed);
            all.note("narrow", inst.ty == Type::I8);
        }
    }

    fn claimed_features(&self, claims: &Uniformity, all: &mut Features) {
        use warpfold::analysis::Scope;
        let func = &self.func;
        let cfg = Cfg::new(func);
        all.note("coarse", claims.is_coarse());
        for &b in cfg.rpo() {
            let term = func.term(b);
            if cfg.branches(b) {
                let uniform = claims.is_uniform_branch(b);
                all.note("uniform branch", uniform);
                all.note("branch of a block", claims.branch_scope(b) == Scope::Block);
                all.note("divergent branch", !uniform);
                let two = matches!(term, Terminator::Br { .. });
                all.note(
                    "known mask",
                    two && !uniform && claims.known_mask(b).is_some(),
                );
                all.note("tail guard", claims.tail_guard(b));
            }
            let insts = func.block(b).insts.iter();
            let results = insts.clone().flat_map(|&i| &func.inst(i).results);
            for &v in results.chain(&func.block(b).params) {
                let shape = claims.shape(v);
                let strides = shape.signed_stride().is_some_and(|s| s.unsigned_abs() > 1);
                all.note("stride", strides);
                let bits = shape.uniform_bits() & !shape.bits().known();
                all.note("bits", shape.stride().is_none() && bits != 0);
                let long = func.ty(v) == Type::I64 && !shape.is_uniform();
                all.note("wide", long);
            }
            let uses = insts.flat_map(|&i| func.inst(i).uses()).chain(term.uses());
            for v in uses {
                all.note("temporal", claims.shape_at(v, b) != claims.shape(v));
            }
        }
    }

    fn launch_features(&self, all: &mut Features) {
        let block = self.launch.block;
        let dimensions = match block {
            [_, 1, 1] => "one dimension",
            [_, _, 1] => "two dimensions",
            _ => "three dimensions",
        };
        all.note(dimensions, true);
        let threads: u32 = block.iter().product();
        all.note("partial warp", !threads.is_multiple_of(32));
        all.note("several warps", threads > 32);
        let blocks: u32 = self.launch.grid.iter().product();
        all.note("several blocks", blocks > 1);
        let sizes = [self.shape.block(), self.shape.grid()];
        let known = sizes.iter().flatten().flatten().count();
        let shape = match known {
            6 => "shape known",
            0 => "shape unknown",
            _ => "shape known in part",
        };
        all.note(shape, true);
        let joins = match self.joins {
            JoinRule::Default => "joins default",
            JoinRule::Cfg => "joins cfg",
        };
        all.note(joins, true);
    }
}
