//! The names of one directory in memory, beside what of them is durable.

use super::rng::Rng;
use std::collections::BTreeMap;

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Node {
    File(u64),
    Directory,
}

#[derive(Debug, Clone)]
enum Change {
    Link(String, Node),
    Unlink(String),
    Rename(String, String),
}

/// A directory: names as readers see them, names as a sync has left them, and the changes between, in order.
#[derive(Debug, Clone, Default)]
pub(super) struct Directory {
    pub(super) names: BTreeMap<String, Node>,
    durable: BTreeMap<String, Node>,
    unsynced: Vec<Change>,
}

impl Directory {
    /// A directory whose names are durable as they are.
    pub(super) fn durable(names: BTreeMap<String, Node>) -> Self {
        Self {
            durable: names.clone(),
            names,
            unsynced: Vec::new(),
        }
    }

    pub(super) fn link(&mut self, name: String, node: Node) {
        self.change(Change::Link(name, node));
    }

    pub(super) fn unlink(&mut self, name: String) {
        self.change(Change::Unlink(name));
    }

    pub(super) fn rename(&mut self, from: String, to: String) {
        self.change(Change::Rename(from, to));
    }

    fn change(&mut self, change: Change) {
        apply(&mut self.names, &change);
        self.unsynced.push(change);
    }

    pub(super) fn sync(&mut self) {
        self.durable = self.names.clone();
        self.unsynced.clear();
    }

    pub(super) fn durable_names(&self) -> BTreeMap<String, Node> {
        self.durable.clone()
    }

    /// What a crash may leave: a file system that keeps a journal loses the changes from some point on.
    pub(super) fn torn_names(&self, rng: &mut Rng) -> BTreeMap<String, Node> {
        let kept = rng.below(self.unsynced.len() as u64 + 1) as usize;
        let mut names = self.durable.clone();
        for change in &self.unsynced[..kept] {
            apply(&mut names, change);
        }
        names
    }
}

fn apply(names: &mut BTreeMap<String, Node>, change: &Change) {
    match change {
        Change::Link(name, node) => {
            names.insert(name.clone(), *node);
        }
        Change::Unlink(name) => {
            names.remove(name);
        }
        Change::Rename(from, to) => {
            if let Some(node) = names.remove(from) {
                names.insert(to.clone(), node);
            }
        }
    }
}
