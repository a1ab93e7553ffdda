//! A table that makes room by letting go of what was not used for longest.

use std::{collections::HashMap, hash::Hash};

/// At most so many values by their keys.
#[derive(Debug)]
pub(crate) struct Recent<K, V> {
    entries: HashMap<K, Entry<V>>,
    uses: u64,
    max: usize,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    used: u64,
}

impl<K: Eq + Hash + Clone, V> Recent<K, V> {
    /// Nothing yet, `max` later.
    pub(crate) fn new(max: usize) -> Self {
        Self {
            entries: HashMap::new(),
            uses: 0,
            max,
        }
    }

    /// A value that is being used.
    pub(crate) fn get(&mut self, key: &K) -> Option<&V> {
        self.uses += 1;
        let entry = self.entries.get_mut(key)?;
        entry.used = self.uses;
        Some(&entry.value)
    }

    pub(crate) fn insert(&mut self, key: K, value: V) {
        self.uses += 1;
        if self.entries.len() >= self.max && !self.entries.contains_key(&key) {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                self.entries.remove(&oldest);
            }
        }
        let used = self.uses;
        self.entries.insert(key, Entry { value, used });
    }

    pub(crate) fn retain(&mut self, keep: impl Fn(&V) -> bool) {
        self.entries.retain(|_, entry| keep(&entry.value));
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_used_for_longest_makes_room() {
        let mut table = Recent::new(3);
        for key in 0..3 {
            table.insert(key, key * 10);
        }
        assert_eq!(table.get(&0), Some(&0));
        // A leader that is asked all the time stays, however many others are named.
        for key in 3..1000 {
            table.insert(key, key * 10);
            assert_eq!(table.get(&0), Some(&0), "after {key}");
        }
        assert_eq!(table.get(&1), None);
        assert_eq!(table.get(&998), Some(&9980));
        assert_eq!(table.get(&999), Some(&9990));
    }

    #[test]
    fn a_new_value_for_a_key_takes_no_room() {
        let mut table = Recent::new(2);
        table.insert('a', 1);
        table.insert('b', 2);
        table.insert('b', 3);
        assert_eq!(table.get(&'a'), Some(&1));
        assert_eq!(table.get(&'b'), Some(&3));
    }
}
