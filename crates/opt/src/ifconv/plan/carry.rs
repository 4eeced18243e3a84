//! Carrying values out of bodies that may be jumped over, and the final
//! numbering of items.
//!
//! A value that is made in a body and used behind it becomes a parameter of the
//! block behind it, once for every body that it leaves. What comes over the jump
//! is what the value would have replaced, if that was there before the body, and
//! poison otherwise: then no lane looks at it.

use smallvec::SmallVec;
use warpfold_ir::{Function, Type, Value};

use super::Val as V;
use super::build::{FRONT, Made};
use super::{Gate, Item, Plan, What};
use crate::ifconv::scratch::Table;

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

    /// Puts other values in their place.
    fn rename(&mut self, f: impl Fn(T) -> T) {
        let put = |v: &mut T| *v = f(*v);
        match self {
            Self::Inst { args, guard, .. } | Self::Merged { args, guard, .. } => {
                args.iter_mut().for_each(put);
                if let Some(g) = guard {
                    put(&mut g.pred.val);
                    g.otherwise.iter_mut().for_each(put);
                }
            }
            Self::Compare(_, a, b) | Self::Pred(_, a, b) => [a, b].into_iter().for_each(put),
            Self::Select(c, a, b) => [c, a, b].into_iter().for_each(put),
            Self::Idiom(_, _, args) => args.iter_mut().for_each(put),
            Self::Leave(_, p) | Self::Open { body: p, .. } => put(&mut p.val),
            Self::Carry { inside, outside } => [inside, outside].into_iter().for_each(put),
            Self::Const(..) | Self::Poison(_) | Self::Close => {}
        }
    }
}

/// The value that an item makes.
fn result(func: &Function, at: usize, what: &What) -> Option<V> {
    match what {
        What::Inst { inst, .. }
        | What::Merged {
            insts: [inst, _], ..
        } => func.result(*inst).map(V::Old),
        What::Compare(..) | What::Pred(..) | What::Select(..) | What::Idiom(..) => {
            Some(V::Item(at as u32))
        }
        _ => None,
    }
}

/// A skipped body as a range of items, and what is carried out of it: each
/// value with what comes over the jump, if anything.
#[derive(Clone, Debug)]
struct Body {
    open: usize,
    close: usize,
    carried: SmallVec<[(V, Option<V>); 2]>,
}

/// Something known of values. Of constants at the front nothing is asked.
#[derive(Clone, Debug)]
struct Known<T> {
    old: Table<Value, T>,
    items: Vec<Option<T>>,
}

impl<T> Default for Known<T> {
    fn default() -> Self {
        Self {
            old: Table::default(),
            items: Vec::new(),
        }
    }
}

impl<T: Copy> Known<T> {
    fn begin(&mut self, items: usize) {
        self.old.clear();
        self.items.clear();
        self.items.resize(items, None);
    }

    fn get(&self, v: V) -> Option<T> {
        match v {
            V::Old(v) => self.old.get(&v).copied(),
            V::Item(i) => self.items.get(i as usize).copied().flatten(),
        }
    }

    fn set(&mut self, v: V, what: T) {
        match v {
            V::Old(v) => self.old.insert(v, what),
            V::Item(i) => {
                if let Some(slot) = self.items.get_mut(i as usize) {
                    *slot = Some(what);
                }
            }
        }
    }
}

/// What is needed for the last step of a plan.
#[derive(Clone, Debug, Default)]
pub(super) struct Carrying {
    bodies: Vec<Body>,
    /// The item that makes a value, and the last that uses it.
    home: Known<usize>,
    last: Known<usize>,
    /// What a value is called by now.
    now: Known<V>,
    open: Vec<usize>,
}

/// Numbers the items of a plan, with values carried out of bodies.
pub(super) fn finish(
    func: &Function,
    made: &mut Made,
    carrying: &mut Carrying,
    mut plan: Plan,
) -> Plan {
    carrying.find_bodies(func, made);
    let Carrying { bodies, now, .. } = carrying;
    let mut poisons: SmallVec<[(Type, usize); 2]> = SmallVec::new();
    for (v, outside) in bodies.iter().flat_map(|b| &b.carried) {
        if outside.is_none() {
            let ty = made.types.of(func, *v);
            if !poisons.iter().any(|p| p.0 == ty) {
                made.front.push(Item {
                    what: What::Poison(ty),
                    owner: plan.head,
                    gate: Gate::Open,
                });
                poisons.push((ty, made.front.len() - 1));
            }
        }
    }
    let carries: usize = bodies.iter().map(|b| b.carried.len()).sum();
    let mut items = Vec::with_capacity(made.front.len() + made.items.len() + carries);
    if made.front.is_empty() && carries == 0 {
        // They have their numbers.
        items.append(&mut made.items);
        plan.items = items;
        return plan;
    }
    // Constants use nothing.
    items.append(&mut made.front);
    now.begin(made.items.len());
    let name = |now: &Known<V>, v: V| match v {
        V::Item(i) if i >= FRONT => V::Item(i - FRONT),
        v => now.get(v).unwrap_or(v),
    };
    let mut closing = bodies.iter();
    let mut next = closing.next();
    for (at, mut item) in made.items.drain(..).enumerate() {
        let (owner, gate) = (item.owner, item.gate);
        now.set(V::Item(at as u32), V::Item(items.len() as u32));
        item.what.rename(|v| name(now, v));
        items.push(item);
        let Some(body) = next.filter(|body| body.close == at) else {
            continue;
        };
        next = closing.next();
        for &(v, outside) in &body.carried {
            let outside = match outside {
                Some(v) => name(now, v),
                None => {
                    let ty = made.types.of(func, v);
                    let poison = poisons.iter().find(|p| p.0 == ty);
                    V::Item(poison.expect("there is one of each type").1 as u32)
                }
            };
            let inside = name(now, v);
            now.set(v, V::Item(items.len() as u32));
            items.push(Item {
                what: What::Carry { inside, outside },
                owner,
                gate,
            });
        }
    }
    for (_, v) in &mut plan.names {
        *v = name(now, *v);
    }
    for v in &mut plan.join_args {
        *v = name(now, *v);
    }
    plan.items = items;
    plan
}

impl Carrying {
    /// Finds the bodies in the order of their ends, and what is carried out of them.
    fn find_bodies(&mut self, func: &Function, made: &Made) {
        self.bodies.clear();
        let opens = |item: &Item| matches!(item.what, What::Open { .. });
        if !made.items.iter().any(opens) {
            return;
        }
        let Self {
            bodies,
            home,
            last,
            open,
            ..
        } = self;
        home.begin(made.items.len());
        last.begin(made.items.len());
        for (at, item) in made.items.iter().enumerate() {
            item.what.uses(|v| last.set(v, at));
            if let Some(v) = result(func, at, &item.what) {
                home.set(v, at);
            }
            match item.what {
                What::Open { .. } => open.push(at),
                What::Close => {
                    if let Some(open) = open.pop() {
                        bodies.push(Body {
                            open,
                            close: at,
                            carried: SmallVec::new(),
                        });
                    }
                }
                _ => {}
            }
            // What may come over the jump must be there in front of it.
            if let (Some(&jump), Some(v)) = (open.last(), made.fallback[at]) {
                last.set(v, last.get(v).map_or(jump, |last| jump.max(last)));
            }
        }
        let names = made.names.iter().map(|(_, v)| v);
        for &v in made.join_args.iter().chain(names) {
            last.set(v, usize::MAX);
        }
        for body in bodies {
            for at in body.open..body.close {
                let Some(v) = result(func, at, &made.items[at].what) else {
                    continue;
                };
                if last.get(v).is_some_and(|last| last > body.close) {
                    let there = |v: &V| home.get(*v).is_none_or(|at| at < body.open);
                    let outside = made.fallback[at].filter(there);
                    body.carried.push((v, outside));
                }
            }
        }
    }
}
