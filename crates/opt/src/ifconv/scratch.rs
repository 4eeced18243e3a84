//! Tables that are filled for one region after the other.
//!
//! A function has thousands of regions, most of them small, and every room
//! keeps tables of a region while it works on it. Made anew for each, they would
//! cost more than what is done with them; here they are kept and emptied. A
//! [`Table`] is indexed by an entity of the function and empty at once: its slots
//! carry the number of the round that filled them. A slot is small, since there is
//! one for every entity, and what it stands for lies together with the rest of its
//! round. A [`Small`] map is a list while little is in it. Hash tables are emptied
//! by `clear`, which costs no more than what was put in.

use std::hash::Hash;

use hashbrown::HashMap;
use warpfold_ir::entity::EntityRef;

/// A map from entities of the function.
#[derive(Clone, Debug)]
pub struct Table<K, V> {
    round: u32,
    /// The round that filled a slot, and where its value stands.
    slots: Vec<(u32, u32)>,
    values: Vec<V>,
    of: std::marker::PhantomData<K>,
}

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self {
            round: 1,
            slots: Vec::new(),
            values: Vec::new(),
            of: std::marker::PhantomData,
        }
    }
}

impl<K: EntityRef, V> Table<K, V> {
    /// Takes everything out.
    pub fn clear(&mut self) {
        self.values.clear();
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            // What was filled so many rounds ago would come back.
            self.slots.clear();
            self.round = 1;
        }
    }

    /// What a key stands for.
    #[inline]
    pub fn get(&self, key: &K) -> Option<&V> {
        let &(round, at) = self.slots.get(key.index())?;
        match round == self.round {
            true => self.values.get(at as usize),
            false => None,
        }
    }

    /// Sets what a key stands for.
    #[inline]
    pub fn insert(&mut self, key: K, value: V) {
        let n = key.index();
        if self.slots.len() <= n {
            // Keys come in no order; a few steps lead up to the last one.
            let len = (n + 1).max(self.slots.len() * 2);
            self.slots.resize(len, (0, 0));
        }
        let (round, at) = &mut self.slots[n];
        if *round == self.round {
            self.values[*at as usize] = value;
        } else {
            (*round, *at) = (self.round, self.values.len() as u32);
            self.values.push(value);
        }
    }
}

/// A map that has few keys in most rounds: a list that is searched from its
/// beginning, and a hash table once there are more.
#[derive(Clone, Debug)]
pub struct Small<K, V> {
    few: Vec<(K, V)>,
    /// All there is, if anything is in it.
    many: HashMap<K, V>,
}

impl<K, V> Default for Small<K, V> {
    fn default() -> Self {
        Self {
            few: Vec::new(),
            many: HashMap::new(),
        }
    }
}

impl<K: Eq + Hash, V> Small<K, V> {
    /// Where a list is not searched faster any more than a table.
    const FEW: usize = 8;

    /// Takes everything out.
    pub fn clear(&mut self) {
        self.few.clear();
        clear(&mut self.many);
    }

    /// What a key stands for.
    pub fn get(&self, key: &K) -> Option<&V> {
        match self.many.is_empty() {
            true => self.few.iter().find(|(k, _)| k == key).map(|(_, v)| v),
            false => self.many.get(key),
        }
    }

    /// Sets what a key stands for.
    pub fn insert(&mut self, key: K, value: V) {
        if !self.many.is_empty() {
            self.many.insert(key, value);
        } else if let Some((_, old)) = self.few.iter_mut().find(|(k, _)| *k == key) {
            *old = value;
        } else if self.few.len() < Self::FEW {
            self.few.push((key, value));
        } else {
            self.many.extend(self.few.drain(..));
            self.many.insert(key, value);
        }
    }
}

/// Takes everything out of a hash table. One that is far too large for what is in
/// it is given back, so that a large region does not make all others dear.
pub(super) fn clear<K: Eq + Hash, V>(map: &mut HashMap<K, V>) {
    if map.capacity() == 0 {
        return;
    }
    const SMALL: usize = 64;
    match map.capacity() > SMALL && map.len() < map.capacity() / 8 {
        true => *map = HashMap::new(),
        false => map.clear(),
    }
}

#[cfg(test)]
mod tests {
    use warpfold_ir::Value;

    use super::*;

    #[test]
    fn a_table_is_empty_after_each_round() {
        let mut table: Table<Value, &str> = Table::default();
        let [a, b] = [3, 700].map(Value::from_u32);
        table.insert(a, "a");
        assert_eq!((table.get(&a), table.get(&b)), (Some(&"a"), None));
        table.clear();
        assert_eq!(table.get(&a), None);
        table.insert(b, "b");
        assert_eq!((table.get(&a), table.get(&b)), (None, Some(&"b")));
        table.insert(b, "c");
        assert_eq!((table.get(&b), table.values.len()), (Some(&"c"), 1));
        table.round = u32::MAX;
        table.insert(a, "late");
        table.clear();
        assert_eq!((table.get(&a), table.get(&b)), (None, None));
    }

    #[test]
    fn a_small_map_stays_one_when_it_grows() {
        let mut map: Small<u32, u32> = Small::default();
        for n in 0..20 {
            map.insert(n, n);
            // What is there already is replaced, in the list and in the table.
            map.insert(0, 100 + n);
            for k in 1..=n {
                assert_eq!(map.get(&k), Some(&k));
            }
            assert_eq!((map.get(&0), map.get(&(n + 1))), (Some(&(100 + n)), None));
        }
        map.clear();
        assert_eq!((map.get(&0), map.get(&7)), (None, None));
        map.insert(7, 1);
        assert_eq!((map.get(&0), map.get(&7)), (None, Some(&1)));
    }

    #[test]
    fn large_hash_tables_are_given_back_when_little_is_in_them() {
        let mut map: HashMap<u32, u32> = (0..1000).map(|i| (i, i)).collect();
        clear(&mut map);
        assert!(map.is_empty() && map.capacity() >= 1000);
        map.insert(1, 1);
        clear(&mut map);
        assert_eq!((map.len(), map.capacity()), (0, 0));
    }
}
