//! The newest appends, kept in memory: not yet written ones because no file has them, others because everybody who
//! is up to date reads them.

use bytes::{Bytes, BytesMut};
use kraft_core::{BatchInfo, Ticket};
use std::collections::VecDeque;

#[derive(Debug)]
struct Append {
    ticket: Ticket,
    base: i64,
    /// For each batch: its last offset, and where its bytes end.
    batches: Vec<(i64, usize)>,
    bytes: Bytes,
}

impl Append {
    fn last(&self) -> i64 {
        self.batches.last().expect("an append has a batch").0
    }

    /// Where batch `n` begins in the bytes.
    fn start_of(&self, n: usize) -> usize {
        n.checked_sub(1).map_or(0, |before| self.batches[before].1)
    }
}

/// Appends in order, without a gap.
#[derive(Debug)]
pub(crate) struct Recent {
    appends: VecDeque<Append>,
    bytes: usize,
    bytes_max: usize,
    /// Everything below is committed.
    committed: i64,
}

impl Recent {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self {
            appends: VecDeque::new(),
            bytes: 0,
            bytes_max,
            committed: 0,
        }
    }

    /// Everything below this is committed.
    pub(crate) fn commit(&mut self, high_watermark: i64) {
        self.committed = self.committed.max(high_watermark);
    }

    pub(crate) fn push(&mut self, ticket: Ticket, bytes: &Bytes, infos: &[BatchInfo]) {
        let Some(first) = infos.first() else { return };
        let mut end = 0;
        let batches = infos
            .iter()
            .map(|info| {
                end += info.bytes as usize;
                (info.last, end)
            })
            .collect();
        self.bytes += bytes.len();
        self.appends.push_back(Append {
            ticket,
            base: first.base,
            batches,
            bytes: bytes.clone(),
        });
    }

    /// Lets go of the oldest appends that are on disk, as far as there are too many bytes. Those that are not committed
    /// stay longer: somebody is about to read them.
    pub(crate) fn evict(&mut self, completed: Ticket) {
        while let Some(oldest) = self.appends.front() {
            let bytes_max = match oldest.last() < self.committed {
                true => self.bytes_max,
                false => self.bytes_max.saturating_mul(UNCOMMITTED_TIMES),
            };
            if self.bytes <= bytes_max || oldest.ticket > completed {
                break;
            }
            let oldest = self.appends.pop_front().expect("there is a front");
            self.bytes -= oldest.bytes.len();
        }
    }

    /// Forgets the batches that end behind `to`.
    pub(crate) fn truncate(&mut self, to: i64) {
        while let Some(newest) = self.appends.back_mut() {
            let kept = newest.batches.partition_point(|(last, _)| *last < to);
            let size = newest.start_of(kept);
            self.bytes -= newest.bytes.len() - size;
            if kept > 0 {
                newest.bytes.truncate(size);
                newest.batches.truncate(kept);
                return;
            }
            self.appends.pop_back();
        }
    }

    pub(crate) fn clear(&mut self) {
        self.appends.clear();
        self.bytes = 0;
    }

    /// The number of the append that `from` is in or before. Nearly everybody reads at the tail, and a search through
    /// all of them touches memory that nobody else needs.
    fn first_with(&self, from: i64) -> usize {
        let newest = self.appends.iter().rev().take(NEWEST);
        match newest.take_while(|append| append.last() >= from).count() {
            NEWEST => self.appends.partition_point(|append| append.last() < from),
            behind => self.appends.len() - behind,
        }
    }

    /// Whole batches that end at or before `up_to`, from the one that contains `from`, at least one, otherwise not
    /// more than `max_bytes`. `None` if that batch is not here.
    pub(crate) fn read(&self, from: i64, max_bytes: usize, up_to: i64) -> Option<Bytes> {
        match self.parts(from, max_bytes, up_to)?.as_slice() {
            [one] => Some(one.clone()),
            many => {
                let mut joined = BytesMut::with_capacity(many.iter().map(Bytes::len).sum());
                many.iter().for_each(|part| joined.extend_from_slice(part));
                Some(joined.freeze())
            }
        }
    }

    /// The same where they lie, at least one part.
    pub(crate) fn parts(&self, from: i64, max_bytes: usize, up_to: i64) -> Option<Vec<Bytes>> {
        let first = self.first_with(from);
        if self.appends.get(first)?.base > from {
            return None;
        }
        let mut parts: Vec<Bytes> = Vec::new();
        let mut total = 0;
        'appends: for append in self.appends.range(first..) {
            let skipped = append.batches.partition_point(|(last, _)| *last < from);
            let start = append.start_of(skipped);
            let mut end = start;
            let mut full = false;
            for (last, batch_end) in &append.batches[skipped..] {
                let first_of_all = total == 0 && end == start;
                let fits = total + (batch_end - start) <= max_bytes;
                if *last >= up_to || !(fits || first_of_all) {
                    full = true;
                    break;
                }
                end = *batch_end;
            }
            if end > start {
                total += end - start;
                parts.push(append.bytes.slice(start..end));
            }
            if full {
                break 'appends;
            }
        }
        (!parts.is_empty()).then_some(parts)
    }
}

/// How many times the bytes may be there while the oldest of them are not committed.
const UNCOMMITTED_TIMES: usize = 4;

/// So many appends are looked at one by one.
const NEWEST: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use kraft_core::Epoch;

    fn infos(batches: &[(i64, i64, u32)]) -> Vec<BatchInfo> {
        batches
            .iter()
            .map(|(base, last, bytes)| BatchInfo {
                base: *base,
                last: *last,
                epoch: Epoch(1),
                bytes: *bytes,
                control: None,
            })
            .collect()
    }

    /// Batches 10..=11 (2 bytes), 12..=12 (1 byte); then 13..=15 (3 bytes).
    fn recent() -> Recent {
        let mut recent = Recent::new(100);
        recent.push(
            Ticket(1),
            &Bytes::from_static(b"aab"),
            &infos(&[(10, 11, 2), (12, 12, 1)]),
        );
        recent.push(Ticket(2), &Bytes::from_static(b"ccc"), &infos(&[(13, 15, 3)]));
        recent
    }

    fn read(recent: &Recent, from: i64, max_bytes: usize, up_to: i64) -> Option<String> {
        recent
            .read(from, max_bytes, up_to)
            .map(|bytes| String::from_utf8(bytes.to_vec()).expect("ascii"))
    }

    #[test]
    fn whole_batches_from_the_one_that_contains_the_offset() {
        let recent = recent();
        let cases = [
            (10, 100, i64::MAX, Some("aabccc")),
            (11, 100, i64::MAX, Some("aabccc")),
            (12, 100, i64::MAX, Some("bccc")),
            (14, 100, i64::MAX, Some("ccc")),
            (10, 0, i64::MAX, Some("aa")),
            (10, 3, i64::MAX, Some("aab")),
            (10, 5, i64::MAX, Some("aab")),
            (10, 100, 13, Some("aab")),
            (10, 100, 12, Some("aa")),
            (10, 100, 11, None),
            (9, 100, i64::MAX, None),
            (16, 100, i64::MAX, None),
        ];
        for (from, max_bytes, up_to, expected) in cases {
            let got = read(&recent, from, max_bytes, up_to);
            assert_eq!(
                got.as_deref(),
                expected,
                "from {from}, {max_bytes} bytes, up to {up_to}"
            );
        }
    }

    #[test]
    fn every_offset_is_found_among_many_appends() {
        let mut recent = Recent::new(100);
        for base in (10..30).step_by(2) {
            let name = Bytes::copy_from_slice(&[b'a' + base as u8 - 10]);
            recent.push(Ticket(base as u64), &name, &infos(&[(base, base + 1, 1)]));
        }
        for from in 10..30 {
            let name = char::from(b'a' + (from as u8 - 10) / 2 * 2).to_string();
            assert_eq!(read(&recent, from, 1, i64::MAX), Some(name), "from {from}");
        }
        assert_eq!(read(&recent, 9, 1, i64::MAX), None);
        assert_eq!(read(&recent, 30, 1, i64::MAX), None);
    }

    #[test]
    fn truncation_forgets_batches_and_eviction_only_what_is_on_disk() {
        let mut recent = recent();
        recent.truncate(12);
        assert_eq!(read(&recent, 10, 100, i64::MAX).as_deref(), Some("aa"));
        assert_eq!(recent.bytes, 2);
        recent.truncate(10);
        assert_eq!(read(&recent, 10, 100, i64::MAX), None);

        let mut recent = self::recent();
        recent.bytes_max = 3;
        recent.evict(Ticket(0));
        assert_eq!(read(&recent, 10, 100, i64::MAX).as_deref(), Some("aabccc"));
        recent.commit(13);
        recent.evict(Ticket(1));
        assert_eq!(read(&recent, 10, 100, i64::MAX), None);
        assert_eq!(read(&recent, 13, 100, i64::MAX).as_deref(), Some("ccc"));
    }

    #[test]
    fn what_is_not_committed_stays_until_there_is_four_times_as_much() {
        let mut recent = recent();
        recent.bytes_max = 2;
        recent.commit(12);
        recent.evict(Ticket(2));
        assert_eq!(read(&recent, 10, 100, i64::MAX).as_deref(), Some("aabccc"));
        recent.push(Ticket(3), &Bytes::from_static(b"ddd"), &infos(&[(16, 16, 3)]));
        recent.evict(Ticket(3));
        assert_eq!(read(&recent, 10, 100, i64::MAX), None);
        assert_eq!(read(&recent, 13, 100, i64::MAX).as_deref(), Some("cccddd"));
        recent.commit(16);
        recent.evict(Ticket(3));
        assert_eq!(read(&recent, 13, 100, i64::MAX), None);
        recent.commit(15);
        assert_eq!(recent.committed, 16);
    }
}
