//! Block parameters that only ever hold one value (apart from themselves)
//! become that value.

use warpfold_analysis::JoinRule;
use warpfold_ir::{Function, Value};

use super::Renames;
use crate::log::Log;

/// Runs the pass once; true if anything changed.
pub fn run(func: &mut Function, _joins: JoinRule, _log: &mut Log) -> bool {
    let n = func.num_blocks();
    // Per block and parameter: what the edges seen so far pass.
    let mut incoming: Vec<Vec<Incoming>> = vec![Vec::new(); n];
    for &b in &func.layout {
        incoming[b.as_u32() as usize] = vec![Incoming::None; func.block(b).params.len()];
    }
    for &b in &func.layout {
        for target in func.term(b).targets() {
            let params = &func.block(target.block).params;
            let seen = &mut incoming[target.block.as_u32() as usize];
            for (i, &arg) in target.args.iter().enumerate() {
                if arg != params[i] {
                    seen[i] = seen[i].meet(arg);
                }
            }
        }
    }
    let mut renames = Renames::default();
    let mut shrunk = Vec::new();
    // Per block and parameter: whether it goes away.
    let mut goes: Vec<Vec<bool>> = vec![Vec::new(); n];
    for (at, &b) in func.layout.iter().enumerate() {
        if at == 0 {
            continue;
        }
        let seen = &incoming[b.as_u32() as usize];
        let mut one = vec![false; seen.len()];
        for (i, inc) in seen.iter().enumerate() {
            if let Incoming::One(v) = *inc {
                let v = renames.get(v);
                let param = func.block(b).params[i];
                // Two parameters may name each other; one of them stays then.
                if v != param {
                    renames.set(param, v);
                    one[i] = true;
                }
            }
        }
        if one.iter().any(|&x| x) {
            shrunk.push(b);
            goes[b.as_u32() as usize] = one;
        }
    }
    let changed = !shrunk.is_empty();
    renames.apply(func);
    func.retain_params_of(&shrunk, |b, i| !goes[b.as_u32() as usize][i]);
    changed
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Incoming {
    None,
    One(Value),
    Many,
}

impl Incoming {
    fn meet(self, v: Value) -> Self {
        match self {
            Self::None => Self::One(v),
            Self::One(w) if w == v => self,
            _ => Self::Many,
        }
    }
}
