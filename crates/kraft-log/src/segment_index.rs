//! The offset and time index of a segment: every few kilobytes the place of a batch.

/// How many bytes of batches lie between two entries, at least.
const INTERVAL_BYTES: u64 = 4096;

/// The indexes of one segment, kept in memory; their files are written for others, and never read.
#[derive(Debug, Clone)]
pub(crate) struct SegmentIndex {
    base: i64,
    /// Last offset (from the base) and place of a batch.
    offsets: Vec<(u32, u32)>,
    /// Largest timestamp so far, and the last offset (from the base) of the batch that has it.
    times: Vec<(i64, u32)>,
    bytes_since_entry: u64,
    max_timestamp: Option<(i64, u32)>,
    /// The timestamp of the first batch.
    first_timestamp: Option<i64>,
}

impl SegmentIndex {
    pub(crate) fn new(base: i64) -> Self {
        Self {
            base,
            offsets: Vec::new(),
            times: Vec::new(),
            bytes_since_entry: 0,
            max_timestamp: None,
            first_timestamp: None,
        }
    }

    /// Counts a batch that stands at `position`.
    pub(crate) fn add(&mut self, last: i64, position: u64, size: u64, max_timestamp: i64) {
        self.first_timestamp.get_or_insert(max_timestamp);
        let relative = u32::try_from(last - self.base).expect("a segment spans less than 2^31 offsets");
        if self
            .max_timestamp
            .is_none_or(|(largest, _)| max_timestamp > largest)
        {
            self.max_timestamp = Some((max_timestamp, relative));
        }
        if self.bytes_since_entry > INTERVAL_BYTES {
            let position = u32::try_from(position).expect("a segment has less than 2^31 bytes");
            self.offsets.push((relative, position));
            self.offer_time();
            self.bytes_since_entry = 0;
        }
        self.bytes_since_entry += size;
    }

    /// A place at or before the batch that contains `offset`.
    pub(crate) fn lookup(&self, offset: i64) -> u64 {
        let above = self
            .offsets
            .partition_point(|(relative, _)| self.base + i64::from(*relative) <= offset);
        above
            .checked_sub(1)
            .map_or(0, |entry| u64::from(self.offsets[entry].1))
    }

    /// The largest timestamp of the first batch; `None` where it has none.
    pub(crate) fn first_timestamp(&self) -> Option<i64> {
        self.first_timestamp.filter(|timestamp| *timestamp >= 0)
    }

    /// Forgets the batches that end at `end` or behind it.
    pub(crate) fn truncate(&mut self, end: i64) {
        let base = self.base;
        self.offsets
            .retain(|(relative, _)| base + i64::from(*relative) < end);
        self.times
            .retain(|(_, relative)| base + i64::from(*relative) < end);
        self.max_timestamp = self.times.last().copied();
        self.bytes_since_entry = 0;
        if end <= base {
            self.first_timestamp = None;
        }
    }

    /// The contents of `.index` and `.timeindex`, the closing entry of the time index included.
    pub(crate) fn files(&self) -> (Vec<u8>, Vec<u8>) {
        let mut closed = self.clone();
        closed.offer_time();
        let mut offsets = Vec::with_capacity(closed.offsets.len() * 8);
        for (relative, position) in closed.offsets {
            offsets.extend_from_slice(&relative.to_be_bytes());
            offsets.extend_from_slice(&position.to_be_bytes());
        }
        let mut times = Vec::with_capacity(closed.times.len() * 12);
        for (timestamp, relative) in closed.times {
            times.extend_from_slice(&timestamp.to_be_bytes());
            times.extend_from_slice(&relative.to_be_bytes());
        }
        (offsets, times)
    }

    fn offer_time(&mut self) {
        if let Some((timestamp, relative)) = self.max_timestamp
            && self.times.last().is_none_or(|(last, _)| timestamp > *last)
        {
            self.times.push((timestamp, relative));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Batches of 3000 bytes and two records each, the third with the largest timestamp.
    fn index() -> SegmentIndex {
        let mut index = SegmentIndex::new(1000);
        for (n, timestamp) in [10, 20, 90, 30, 40].into_iter().enumerate() {
            let n = n as u64;
            index.add(1001 + 2 * n as i64, 3000 * n, 3000, timestamp);
        }
        index
    }

    #[test]
    fn an_entry_follows_more_than_4096_bytes_and_names_last_offset_and_start() {
        let index = index();
        assert_eq!(index.offsets, [(5, 6000), (9, 12000)]);
        assert_eq!(index.times, [(90, 5)]);
        let (offsets, times) = index.files();
        assert_eq!(offsets[..8], [0, 0, 0, 5, 0, 0, 0x17, 0x70]);
        assert_eq!(times, [0, 0, 0, 0, 0, 0, 0, 90, 0, 0, 0, 5]);
    }

    #[test]
    fn lookup_never_skips_the_batch() {
        let index = index();
        let places = [(1000, 0), (1004, 0), (1005, 6000), (1008, 6000), (1009, 12000)];
        for (offset, place) in places {
            assert_eq!(index.lookup(offset), place, "offset {offset}");
        }
    }

    #[test]
    fn truncation_forgets_entries_behind_the_end() {
        let mut index = index();
        index.truncate(1006);
        assert_eq!(index.lookup(2000), 6000);
        index.truncate(1004);
        assert_eq!(index.lookup(2000), 0);
        assert!(index.files().1.is_empty());
    }
}
