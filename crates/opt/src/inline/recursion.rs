//! Which functions call themselves, however indirectly.

use hashbrown::HashMap;
use warpfold_ir::dominators::Graph;
use warpfold_ir::{CallTarget, FuncRef, Function, Terminator};

/// Which functions reach themselves by direct calls: the strongly connected
/// components of the call graph, by Kosaraju's two walks.
pub(super) fn recursive(functions: &[&Function]) -> Vec<bool> {
    let numbers: HashMap<&str, u32> = (0..).zip(functions).map(|(i, f)| (&*f.name, i)).collect();
    let root = functions.len() as u32;
    let mut edges: Vec<(u32, u32)> = (0..root).map(|i| (root, i)).collect();
    let mut recursive = vec![false; functions.len()];
    for (from, func) in (0..).zip(functions) {
        for callee in direct_callees(func) {
            let name = func.callees[callee].name.as_str();
            if let Some(&to) = numbers.get(name) {
                edges.push((from, to));
                recursive[from as usize] |= from == to;
            }
        }
    }
    let graph = Graph::new(functions.len() + 1, &edges);
    let back = graph.reversed();
    let mut seen = vec![false; functions.len() + 1];
    seen[root as usize] = true;
    for first in graph.reverse_postorder(root) {
        let mut component = Vec::new();
        let mut work = vec![first];
        while let Some(f) = work.pop() {
            if !std::mem::replace(&mut seen[f as usize], true) {
                component.push(f);
                work.extend(back.successors(f));
            }
        }
        if component.len() > 1 {
            for f in component {
                recursive[f as usize] = true;
            }
        }
    }
    recursive
}

/// The functions that a function calls directly.
fn direct_callees(func: &Function) -> impl Iterator<Item = FuncRef> + '_ {
    let calls = func
        .laid_out_insts()
        .filter_map(|(_, i)| func.call(func.inst(i)).map(|(target, _)| target));
    let tails = func.layout.iter().filter_map(|&b| match func.term(b) {
        Terminator::TailCall(call) => Some(call.target),
        _ => None,
    });
    calls.chain(tails).filter_map(|target| match target {
        CallTarget::Direct(callee) => Some(callee),
        CallTarget::Indirect { .. } => None,
    })
}
