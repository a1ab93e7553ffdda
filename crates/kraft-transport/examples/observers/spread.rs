//! How long it takes until all replicas know that something is committed.

use crate::connection::Arrived;
use std::{
    collections::BTreeMap,
    time::{Instant, SystemTime, UNIX_EPOCH},
};

/// What was measured since it was begun.
pub(crate) struct Spread {
    observers: usize,
    since: Instant,
    /// Answers in all.
    answers: u64,
    /// Those that brought records.
    with_records: u64,
    /// Batches that not all know to be committed, by where they end.
    under_way: BTreeMap<i64, UnderWay>,
    /// From the leader's time stamp until the last one knew, in milliseconds.
    appended_to_last: Vec<f64>,
    /// From the first one that knew to the last.
    first_to_last: Vec<f64>,
}

struct UnderWay {
    appended_ms: i64,
    /// When somebody first knew that it is committed.
    first: Option<Instant>,
    /// How many know.
    known: usize,
}

impl Spread {
    pub(crate) fn new(observers: usize) -> Self {
        Self {
            observers,
            since: Instant::now(),
            answers: 0,
            with_records: 0,
            under_way: BTreeMap::new(),
            appended_to_last: Vec::new(),
            first_to_last: Vec::new(),
        }
    }

    /// Forgets what was measured; what is under way is followed to its end.
    pub(crate) fn begin(&mut self) {
        let under_way = std::mem::take(&mut self.under_way);
        *self = Self {
            under_way,
            ..Self::new(self.observers)
        };
    }

    /// A replica has got an answer with these batches. It knew the log to be committed up to `before`, and now up to `now`.
    pub(crate) fn answered(&mut self, batches: &[Arrived], before: i64, now: i64) {
        self.answers += 1;
        self.with_records += u64::from(!batches.is_empty());
        for batch in batches {
            self.under_way.entry(batch.end).or_insert(UnderWay {
                appended_ms: batch.appended_ms,
                first: None,
                known: 0,
            });
        }
        if before == now {
            return;
        }
        let at = Instant::now();
        let mut everywhere = Vec::new();
        for (end, batch) in self.under_way.range_mut(before + 1..=now) {
            batch.known += 1;
            let first = *batch.first.get_or_insert(at);
            if batch.known == self.observers {
                everywhere.push(*end);
                self.first_to_last.push((at - first).as_secs_f64() * 1e3);
                self.appended_to_last.push(wall_ms() - batch.appended_ms as f64);
            }
        }
        for end in everywhere {
            self.under_way.remove(&end);
        }
    }

    /// Words `name=value`.
    pub(crate) fn summary(&mut self) -> String {
        let seconds = self.since.elapsed().as_secs_f64();
        let mut words = vec![
            format!("answers/s={:.1}", self.answers as f64 / seconds),
            format!("with_records/s={:.1}", self.with_records as f64 / seconds),
            format!("batches={}", self.first_to_last.len()),
        ];
        for (name, values) in [
            ("appended_to_last", &mut self.appended_to_last),
            ("first_to_last", &mut self.first_to_last),
        ] {
            for (label, part) in [("p50", 0.5), ("p99", 0.99), ("max", 1.0)] {
                words.push(format!("{name}_{label}={:.2}", quantile(values, part)));
            }
        }
        words.join(" ")
    }
}

fn wall_ms() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0.0, |since| since.as_secs_f64() * 1e3)
}

/// The value below which this part of the values lies.
fn quantile(values: &mut [f64], part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        len => values[((len as f64 * part).ceil() as usize).clamp(1, len) - 1],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(end: i64) -> Arrived {
        Arrived { end, appended_ms: 0 }
    }

    #[test]
    fn a_batch_is_everywhere_when_the_last_one_knows_it_to_be_committed() {
        let mut spread = Spread::new(2);
        // Both have it before anybody knows that it is committed.
        spread.answered(&[batch(11)], 10, 10);
        spread.answered(&[batch(11)], 10, 10);
        spread.answered(&[], 10, 11);
        assert_eq!(spread.first_to_last.len(), 0);
        // The last one hears of two at once.
        spread.answered(&[batch(12), batch(14)], 10, 14);
        assert_eq!(spread.first_to_last.len(), 1);
        spread.begin();
        assert_eq!((spread.answers, spread.first_to_last.len()), (0, 0));
        spread.answered(&[batch(12), batch(14)], 11, 14);
        assert_eq!(spread.first_to_last.len(), 2);
        assert!(spread.under_way.is_empty());
        assert!(spread.appended_to_last[0] > 1e12);
        assert_eq!((spread.answers, spread.with_records), (1, 1));
    }

    #[test]
    fn a_quantile_is_one_of_the_values() {
        assert_eq!(quantile(&mut [3.0, 1.0, 2.0, 4.0], 0.5), 2.0);
        assert_eq!(quantile(&mut [3.0, 1.0, 2.0, 4.0], 0.99), 4.0);
        assert!(quantile(&mut [], 0.5).is_nan());
    }
}
