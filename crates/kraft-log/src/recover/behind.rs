//! Whole batches behind bytes that are none.

use crate::batch_info::batch_info;
use kraft_core::{ControlRecord, VoterSet};
use kraft_fs::File;
use kraft_wire::batch::{BATCH_SIZE_MAX, BatchHeader, BatchView, HEADER_SIZE, MAGIC, MAGIC_END};
use std::io;

/// What was found.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Behind {
    /// How many batches.
    pub(super) batches: u64,
    /// Behind the last record of any of them; 0 if there is none.
    pub(super) end: i64,
    /// Every voter set in them.
    pub(super) voters: Vec<VoterSet>,
}

/// A batch whose checksum is right.
struct WholeBatch {
    header: BatchHeader,
    bytes: Vec<u8>,
}

/// Looks at every byte from `start` on, in bounded memory.
pub(super) fn batches_behind(file: &impl File, start: u64, len: u64) -> io::Result<Behind> {
    let mut found = Behind::default();
    let mut window = Vec::new();
    let mut position = start;
    while position + HEADER_SIZE as u64 <= len {
        window.resize(WINDOW_BYTES.min((len - position) as usize), 0);
        file.read_exact_at(&mut window, position)?;
        let mut at = 0;
        while at + HEADER_SIZE <= window.len() {
            // Most places are ruled out by one byte.
            if window[at + MAGIC_AT] != MAGIC as u8 {
                at += 1;
                continue;
            }
            match whole_batch(file, &window[at..], position + at as u64, len)? {
                Some(batch) => {
                    at += batch.header.size();
                    found.add(batch);
                }
                None => at += 1,
            }
        }
        position += at as u64;
    }
    Ok(found)
}

impl Behind {
    fn add(&mut self, batch: WholeBatch) {
        self.batches += 1;
        self.end = self.end.max(batch.header.last_offset().saturating_add(1));
        let readable = BatchView::parse(batch.bytes.into()).ok();
        let info = readable.and_then(|batch| batch_info(&batch).ok());
        let control = info.and_then(|info| info.control);
        self.voters
            .extend(control.into_iter().flatten().filter_map(|record| match record {
                ControlRecord::Voters(voters) => Some(voters),
                ControlRecord::LeaderChange { .. } | ControlRecord::KRaftVersion(_) => None,
            }));
    }
}

/// The batch that begins at `position`, of which `head` is the beginning. A right checksum is enough: whoever wrote it
/// meant it, and others may count on it, even if this release does not read it, as with compressed records.
fn whole_batch(file: &impl File, head: &[u8], position: u64, len: u64) -> io::Result<Option<WholeBatch>> {
    let plausible = |header: &BatchHeader| {
        header.magic == MAGIC
            && header.base_offset >= 0
            && header.record_count > 0
            && header.last_offset_delta == header.record_count - 1
            && (HEADER_SIZE..=BATCH_SIZE_MAX).contains(&header.size())
            && header.size() as u64 <= len - position
    };
    let Some(header) = BatchHeader::parse(head).filter(plausible) else {
        return Ok(None);
    };
    let mut bytes = vec![0; header.size()];
    file.read_exact_at(&mut bytes, position)?;
    Ok(header
        .check_crc(&bytes)
        .is_ok()
        .then_some(WholeBatch { header, bytes }))
}

/// Where the magic byte stands in a batch.
const MAGIC_AT: usize = MAGIC_END - 1;

const WINDOW_BYTES: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use kraft_fs::{FileSystem, MemFs, Open};
    use kraft_wire::batch::{BatchBuilder, CRC_START, crc32c};
    use std::path::Path;

    fn batch(base: i64, size: usize) -> Vec<u8> {
        let mut builder = BatchBuilder::data(1);
        builder.push_record(None, Some(&vec![7; size]), 0, &[]).unwrap();
        builder.build(base, 3).to_vec()
    }

    #[test]
    fn whole_batches_are_found_wherever_they_lie() {
        let file = MemFs::new().open(Path::new("/f"), Open::CreateNew).unwrap();
        let gap = WINDOW_BYTES as u64 - 30;
        let mut flipped = batch(7, 500);
        flipped[300] ^= 1;
        file.write_all_at(&batch(5, 100), 3).unwrap();
        // Across the border of two windows.
        file.write_all_at(&batch(6, 40_000), gap).unwrap();
        file.write_all_at(&flipped, gap + 50_000).unwrap();
        file.write_all_at(&batch(9, 10), gap + 2_000_000).unwrap();
        let len = file.len().unwrap();
        let found = batches_behind(&file, 0, len).unwrap();
        assert_eq!((found.batches, found.end), (3, 10));
        assert_eq!(batches_behind(&file, 4, len).unwrap().batches, 2);
        assert_eq!(batches_behind(&file, len - 10, len).unwrap(), Behind::default());
    }

    /// Compressed with each codec that there is, and with some that there are not, and records that cannot be read.
    #[test]
    fn a_right_checksum_makes_a_batch_whole_whatever_is_in_it() {
        for byte in [1, 2, 3, 4, 5, 6, 7] {
            let mut compressed = batch(7, 50);
            compressed[CRC_START + 1] |= byte;
            let mut unreadable = batch(8, 50);
            *unreadable.last_mut().unwrap() = byte;
            for batch in [&mut compressed, &mut unreadable] {
                let crc = crc32c(&[&batch[CRC_START..]]);
                batch[CRC_START - 4..CRC_START].copy_from_slice(&crc.to_be_bytes());
            }
            let file = MemFs::new().open(Path::new("/f"), Open::CreateNew).unwrap();
            let bytes = [compressed, unreadable].concat();
            file.write_all_at(&bytes, 0).unwrap();
            let found = batches_behind(&file, 0, bytes.len() as u64).unwrap();
            assert_eq!((found.batches, found.end), (2, 9), "{byte}");
        }
    }
}
