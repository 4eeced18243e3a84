//! Carrying values out of bodies that may be jumped over, and the final
//! numbering of items.
//!
//! A value that is made in a body and used behind it becomes a parameter of the
//! block behind it, once for every body that it leaves. What comes over the jump
//! is what the value would have replaced, if that was there before the body, and
//! poison otherwise: then no lane looks at it.

use hashbrown::{HashMap, HashSet};
use warpfold_ir::{Block, Function, Type, Value};

use super::build::{Made, V};
use super::{Gate, Item, Plan, PlanGuard, Signed, Val, What};

impl<T: Copy> What<T> {
    /// The values that it uses.
    pub(super) fn uses(&self, mut see: impl FnMut(T)) {
        match self {
            Self::Inst { args, guard, .. } | Self::Merged { args, guard, .. } => {
                args.iter().copied().for_each(&mut see);
                if let Some(g) = guard {
                    see(g.pred.val);
                    g.otherwise.into_iter().for_each(see);
                }
            }
            Self::Compare(_, a, b) | Self::Pred(_, a, b) => [*a, *b].into_iter().for_each(see),
            Self::Select(c, a, b) => [*c, *a, *b].into_iter().for_each(see),
            Self::Idiom(_, _, args) => args.iter().copied().for_each(see),
            Self::Leave(_, p) | Self::Open { body: p, .. } => see(p.val),
            Self::Carry { inside, outside } => [*inside, *outside].into_iter().for_each(see),
            Self::Const(..) | Self::Poison(_) | Self::Close => {}
        }
    }

    /// The same over other values.
    fn map<U>(&self, f: impl Fn(T) -> U) -> What<U> {
        let signed = |p: &Signed<T>| Signed {
            val: f(p.val),
            negated: p.negated,
        };
        let guarded = |g: &PlanGuard<T>| PlanGuard {
            pred: signed(&g.pred),
            otherwise: g.otherwise.map(&f),
        };
        match self {
            Self::Inst { inst, args, guard } => What::Inst {
                inst: *inst,
                args: args.iter().map(|&v| f(v)).collect(),
                guard: guard.as_ref().map(guarded),
            },
            Self::Merged { insts, args, guard } => What::Merged {
                insts: *insts,
                args: args.iter().map(|&v| f(v)).collect(),
                guard: guard.as_ref().map(guarded),
            },
            Self::Const(ty, bits) => What::Const(*ty, *bits),
            Self::Poison(ty) => What::Poison(*ty),
            Self::Compare(cc, a, b) => What::Compare(*cc, f(*a), f(*b)),
            Self::Pred(op, a, b) => What::Pred(*op, f(*a), f(*b)),
            Self::Select(c, a, b) => What::Select(f(*c), f(*a), f(*b)),
            Self::Idiom(op, ty, args) => {
                What::Idiom(*op, *ty, args.iter().map(|&v| f(v)).collect())
            }
            Self::Leave(b, p) => What::Leave(*b, signed(p)),
            Self::Open { body, vote } => What::Open {
                body: signed(body),
                vote: *vote,
            },
            Self::Close => What::Close,
            Self::Carry { inside, outside } => What::Carry {
                inside: f(*inside),
                outside: f(*outside),
            },
        }
    }
}

/// The value that an item makes.
fn result(func: &Function, at: usize, what: &What<V>) -> Option<V> {
    match what {
        What::Inst { inst, .. }
        | What::Merged {
            insts: [inst, _], ..
        } => func.result(*inst).map(V::Old),
        What::Compare(..) | What::Pred(..) | What::Select(..) | What::Idiom(..) => {
            Some(V::Item(at))
        }
        _ => None,
    }
}

/// A skipped body as a range of items, and what is carried out of it: each
/// value with what comes over the jump, if anything.
struct Body {
    open: usize,
    close: usize,
    carried: Vec<(V, Option<V>)>,
}

/// Numbers the items of a plan, with values carried out of bodies.
pub(super) fn finish(
    func: &Function,
    made: Made,
    head: Block,
    join: Block,
    keeps_jump: bool,
    end: Gate,
) -> Plan {
    let bodies = bodies(func, &made);
    let mut front = made.front;
    let mut poisons: HashMap<Type, usize> = HashMap::new();
    for (v, outside) in bodies.iter().flat_map(|b| &b.carried) {
        if outside.is_none() {
            let ty = made.types.of(func, *v);
            poisons.entry(ty).or_insert_with(|| {
                front.push(Item {
                    what: What::Poison(ty),
                    owner: head,
                    gate: Gate::Open,
                });
                front.len() - 1
            });
        }
    }
    // Constants use nothing.
    let mut items: Vec<Item> = front
        .iter()
        .map(|i| Item {
            what: i.what.map(|_| Val::Item(0)),
            owner: i.owner,
            gate: i.gate,
        })
        .collect();
    let by_close: HashMap<usize, &Body> = bodies.iter().map(|b| (b.close, b)).collect();
    let mut now: HashMap<V, Val> = HashMap::new();
    let name = |now: &HashMap<V, Val>, v: V| match (now.get(&v), v) {
        (Some(&val), _) => val,
        (None, V::Old(v)) => Val::Old(v),
        (None, V::Front(i) | V::Item(i)) => Val::Item(i),
    };
    for (at, item) in made.items.iter().enumerate() {
        if let Some(v @ V::Item(_)) = result(func, at, &item.what) {
            now.insert(v, Val::Item(items.len()));
        }
        items.push(Item {
            what: item.what.map(|v| name(&now, v)),
            owner: item.owner,
            gate: item.gate,
        });
        let Some(body) = by_close.get(&at) else {
            continue;
        };
        for &(v, outside) in &body.carried {
            let outside = match outside {
                Some(v) => name(&now, v),
                None => Val::Item(poisons[&made.types.of(func, v)]),
            };
            let inside = name(&now, v);
            now.insert(v, Val::Item(items.len()));
            items.push(Item {
                what: What::Carry { inside, outside },
                owner: item.owner,
                gate: item.gate,
            });
        }
    }
    let names: Vec<(Value, Val)> = made
        .names
        .iter()
        .map(|&(p, v)| (p, name(&now, v)))
        .collect();
    let join_args = made.join_args.iter().map(|&v| name(&now, v)).collect();
    Plan {
        head,
        join,
        items,
        names,
        join_args,
        keeps_jump,
        end,
    }
}

fn bodies(func: &Function, made: &Made) -> Vec<Body> {
    let mut home: HashMap<V, usize> = HashMap::new();
    let mut last: HashMap<V, usize> = HashMap::new();
    let mut open: Vec<usize> = Vec::new();
    let mut bodies: Vec<Body> = Vec::new();
    for (at, item) in made.items.iter().enumerate() {
        item.what.uses(|v| {
            last.insert(v, at);
        });
        if let Some(v) = result(func, at, &item.what) {
            home.insert(v, at);
        }
        match item.what {
            What::Open { .. } => open.push(at),
            What::Close => {
                if let Some(open) = open.pop() {
                    bodies.push(Body {
                        open,
                        close: at,
                        carried: Vec::new(),
                    });
                }
            }
            _ => {}
        }
        // What may come over the jump must be there in front of it.
        if let (Some(&jump), Some(&v)) = (open.last(), made.fallback.get(&at)) {
            let slot = last.entry(v).or_insert(jump);
            *slot = jump.max(*slot);
        }
    }
    let names = made.names.iter().map(|(_, v)| v);
    for &v in made.join_args.iter().chain(names) {
        last.insert(v, usize::MAX);
    }
    for body in &mut bodies {
        let mut seen: HashSet<V> = HashSet::new();
        for at in body.open..body.close {
            let Some(v) = result(func, at, &made.items[at].what) else {
                continue;
            };
            let used_behind = last.get(&v).is_some_and(|&last| last > body.close);
            if used_behind && seen.insert(v) {
                let outside = made.fallback.get(&at).copied();
                let there = |v: &V| home.get(v).is_none_or(|&at| at < body.open);
                body.carried.push((v, outside.filter(there)));
            }
        }
    }
    bodies
}
