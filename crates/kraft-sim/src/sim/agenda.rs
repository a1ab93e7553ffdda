//! What happens when, in virtual time.

use kraft_core::Instant;
use std::{cmp::Reverse, collections::BinaryHeap};

/// Things to come, ordered by time; at one moment, by the order in which they were entered.
#[derive(Debug)]
pub(crate) struct Agenda<T> {
    heap: BinaryHeap<Reverse<Entry<T>>>,
    entered: u64,
}

#[derive(Debug)]
struct Entry<T> {
    at: Instant,
    number: u64,
    what: T,
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

impl<T> Agenda<T> {
    pub(crate) fn new() -> Self {
        Self {
            heap: BinaryHeap::new(),
            entered: 0,
        }
    }

    pub(crate) fn enter(&mut self, at: Instant, what: T) {
        self.entered += 1;
        let number = self.entered;
        self.heap.push(Reverse(Entry { at, number, what }));
    }

    pub(crate) fn next(&mut self) -> Option<(Instant, T)> {
        self.heap.pop().map(|Reverse(entry)| (entry.at, entry.what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_comes_first_then_the_order_of_entry() {
        let mut agenda = Agenda::new();
        for (at, what) in [(5, 'c'), (1, 'a'), (5, 'd'), (1, 'b')] {
            agenda.enter(Instant(at), what);
        }
        let order: String = std::iter::from_fn(|| agenda.next())
            .map(|(_, what)| what)
            .collect();
        assert_eq!(order, "abcd");
    }
}
