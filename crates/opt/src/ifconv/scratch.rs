//! Tables that are filled for one region after the other.
//!
//! A function has thousands of regions, most of them small, and every room
//! keeps tables of a region while it works on it. Made anew for each, they would
//! cost more than what is done with them; here they are kept and emptied. A
//! [`Table`] is indexed by an entity of the function and empty at once: its slots
//! carry the number of the round that filled them. A slot is small, since there is
//! one for every entity, and what it stands for lies together with the rest of its
//! round. Hash tables are emptied by `clear`, which costs no more than what was
//! put in.

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
    pub fn get(&self, key: &K) -> Option<&V> {
        let &(round, at) = self.slots.get(key.index())?;
        match round == self.round {
            true => self.values.get(at as usize),
            false => None,
        }
    }

    /// Sets what a key stands for.
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

/// Takes everything out of a hash table. One that is far too large for what is in
/// it is given back, so that a large region does not make all others dear.
pub(super) fn clear<K: Eq + Hash, V>(map: &mut HashMap<K, V>) {
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
    fn large_hash_tables_are_given_back_when_little_is_in_them() {
        let mut map: HashMap<u32, u32> = (0..1000).map(|i| (i, i)).collect();
        clear(&mut map);
        assert!(map.is_empty() && map.capacity() >= 1000);
        map.insert(1, 1);
        clear(&mut map);
        assert_eq!((map.len(), map.capacity()), (0, 0));
    }
}
