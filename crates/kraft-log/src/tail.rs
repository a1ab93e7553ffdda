//! Torn is not corrupt: what may be behind the last valid batch of the last segment.
//!
//! A crash in the middle of a round leaves a file that ends inside a batch, or whole 512-byte sectors that still hold
//! the zeros that were there before. Only that is cut; other bytes that are no valid batch mean that something which
//! had been durable was damaged.

use crate::op::ROUND_BYTES_MAX;
use kraft_core::Epoch;
use kraft_fs::File;
use kraft_wire::batch::{
    BATCH_SIZE_MAX, BatchHeader, CRC_START, HEADER_SIZE, LENGTH_OVERHEAD, MAGIC, crc32c_append,
};
use std::{collections::BTreeSet, io};
use thiserror::Error;

/// What a disk writes at once.
const SECTOR: u64 = 512;

/// The last segment up to where its batches are valid.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ValidPart {
    /// Where the valid batches end.
    pub(crate) position: u64,
    /// The size of the file.
    pub(crate) len: u64,
    /// The offset that the next batch would have.
    pub(crate) next_offset: i64,
    /// The epoch of the last valid batch.
    pub(crate) last_epoch: Epoch,
}

/// Why bytes behind the last valid batch are not what a crash leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NotTorn {
    /// The batch is all there, and wrong.
    #[error("no part of it is missing")]
    NothingMissing,
    /// More bytes follow than are ever written before a sync.
    #[error("{bytes} bytes follow, more than are written at once")]
    TooManyBytes {
        /// How many.
        bytes: u64,
    },
    /// A valid batch lies where there should be only the rest of a torn one, or proves by its epoch that a sync came
    /// between.
    #[error("a valid batch of epoch {epoch} follows at byte {position}")]
    ValidBatchBehind {
        /// Where.
        position: u64,
        /// Its epoch.
        epoch: Epoch,
    },
    /// It lies before the place up to which this node knows that the log was durable.
    #[error("the log had been durable up to byte {synced} of segment {segment}")]
    BelowSynced {
        /// The segment.
        segment: i64,
        /// Where in it.
        synced: u64,
    },
}

/// Whether a crash explains what is behind the valid part, so that it may be cut.
pub(crate) fn judge(file: &impl File, valid: ValidPart) -> io::Result<Result<(), NotTorn>> {
    let Some(used_end) = last_nonzero(file, valid.position, valid.len)? else {
        return Ok(Ok(()));
    };
    let there = valid.len - valid.position;
    let used = used_end - valid.position;
    let header = read_header(file, valid)?;
    let size = header
        .map(|header| header.size() as u64)
        .filter(|size| *size >= HEADER_SIZE as u64);
    let runs_past_end = match (header, size) {
        (None, _) => true,
        (Some(header), Some(size)) => size > there && continues(&header, valid),
        (Some(_), None) => false,
    };
    let extent = size.unwrap_or(HEADER_SIZE as u64).min(there);
    if used > extent.max(ROUND_BYTES_MAX) {
        return Ok(Err(NotTorn::TooManyBytes { bytes: used }));
    }
    let whole = size.is_some_and(|size| size <= there);
    let lacks_head = lacks_head(file, valid)?;
    if whole && crc_matches(file, valid.position, extent)? && !lacks_head {
        return Ok(Err(NotTorn::NothingMissing));
    }
    if !runs_past_end && !has_zero_sector(file, valid, valid.position + extent)? {
        return Ok(Err(NotTorn::NothingMissing));
    }
    // A batch may end in zeros.
    let mut tail = vec![0; there.min(used + BATCH_SIZE_MAX as u64) as usize];
    file.read_exact_at(&mut tail, valid.position)?;
    if !lacks_head && header.is_some_and(|header| only_length_is_wrong(&header, &tail)) {
        return Ok(Err(NotTorn::NothingMissing));
    }
    let own_epoch = header
        .filter(|header| continues(header, valid))
        .map(|header| Epoch(header.leader_epoch));
    let mut epochs: BTreeSet<Epoch> = own_epoch.into_iter().collect();
    for (at, epoch) in valid_batches_behind(&tail, used as usize, valid) {
        epochs.insert(epoch);
        // One round writes batches of one epoch. A batch that runs past the end has nothing behind it at all.
        if epochs.len() > 1 || runs_past_end {
            let position = valid.position + at as u64;
            return Ok(Err(NotTorn::ValidBatchBehind { position, epoch }));
        }
    }
    Ok(Ok(()))
}

/// Whether a header looks like that of the next batch.
fn continues(header: &BatchHeader, valid: ValidPart) -> bool {
    header.magic == MAGIC
        && header.base_offset == valid.next_offset
        && header.leader_epoch >= valid.last_epoch.0
        && header.last_offset_delta >= 0
}

/// The header behind the valid part; `None` if the file ends before it does.
fn read_header(file: &impl File, valid: ValidPart) -> io::Result<Option<BatchHeader>> {
    if valid.len - valid.position < HEADER_SIZE as u64 {
        return Ok(None);
    }
    let mut head = [0; HEADER_SIZE];
    file.read_exact_at(&mut head, valid.position)?;
    Ok(BatchHeader::parse(&head))
}

/// Whether a batch that fails has the right checksum, so that all of it is there.
fn crc_matches(file: &impl File, position: u64, size: u64) -> io::Result<bool> {
    let mut head = [0; HEADER_SIZE];
    file.read_exact_at(&mut head, position)?;
    let stored = BatchHeader::parse(&head).map(|header| header.crc);
    let mut buffer = vec![0; 64 * 1024];
    let (mut at, end) = (position + CRC_START as u64, position + size);
    let mut crc = 0;
    while at < end {
        let piece = (end - at).min(buffer.len() as u64) as usize;
        file.read_exact_at(&mut buffer[..piece], at)?;
        crc = crc32c_append(crc, &buffer[..piece]);
        at += piece as u64;
    }
    Ok(stored == Some(crc))
}

/// Whether a batch with another length, by one bit, would be good: no part of it is missing then.
fn only_length_is_wrong(header: &BatchHeader, tail: &[u8]) -> bool {
    let sizes = (0..u32::BITS).map(|bit| i64::from(header.length ^ (1 << bit)) + LENGTH_OVERHEAD as i64);
    let sizes = sizes.filter_map(|size| usize::try_from(size).ok());
    let mut sizes: Vec<_> = sizes
        .filter(|size| (HEADER_SIZE..=tail.len()).contains(size))
        .collect();
    sizes.sort_unstable();
    let (mut at, mut crc) = (CRC_START, 0);
    sizes.into_iter().any(|size| {
        crc = crc32c_append(crc, &tail[at..size]);
        at = size;
        crc == header.crc
    })
}

/// Whether the first sector is missing with nothing in it but the part of the header that no checksum covers.
fn lacks_head(file: &impl File, valid: ValidPart) -> io::Result<bool> {
    let sector_end = (valid.position / SECTOR + 1) * SECTOR;
    let uncovered = sector_end - valid.position <= CRC_START as u64;
    Ok(uncovered && has_zero_sector(file, valid, sector_end + 1)?)
}

/// Whether a sector of the failing batch, which ends at `end`, is all zeros; of the first one only the part behind the
/// valid batches counts. Where a good batch has nothing but zeros too, zeros are no sign of a missing sector: in the
/// high bytes of its offset, and in its last byte.
fn has_zero_sector(file: &impl File, valid: ValidPart, end: u64) -> io::Result<bool> {
    let leading_zeros = valid
        .next_offset
        .to_be_bytes()
        .iter()
        .take_while(|byte| **byte == 0)
        .count();
    let first_sign = valid.position + leading_zeros as u64;
    let mut start = valid.position;
    while start < end - 1 {
        let sector_end = ((start / SECTOR + 1) * SECTOR).min(valid.len);
        let mut sector = [0; SECTOR as usize];
        let sector = &mut sector[..(sector_end - start) as usize];
        file.read_exact_at(sector, start)?;
        if sector_end > first_sign && sector.iter().all(|byte| *byte == 0) {
            return Ok(true);
        }
        start = sector_end;
    }
    Ok(false)
}

/// The end of the last byte that is not zero, from `start` on.
pub(crate) fn last_nonzero(file: &impl File, start: u64, len: u64) -> io::Result<Option<u64>> {
    let mut buffer = vec![0; 64 * 1024];
    let zeros = vec![0; buffer.len()];
    let mut end = len;
    while end > start {
        let from = end.saturating_sub(buffer.len() as u64).max(start);
        let piece = &mut buffer[..(end - from) as usize];
        file.read_exact_at(piece, from)?;
        // Most are all zeros, and to compare is faster than to look.
        if *piece != zeros[..piece.len()]
            && let Some(at) = piece.iter().rposition(|byte| *byte != 0)
        {
            return Ok(Some(from + at as u64 + 1));
        }
        end = from;
    }
    Ok(None)
}

/// Valid batches anywhere behind the start of `tail`, of which `used` bytes are not the zeros at its end.
fn valid_batches_behind(
    tail: &[u8],
    used: usize,
    valid: ValidPart,
) -> impl Iterator<Item = (usize, Epoch)> + '_ {
    (1..used).filter_map(move |at| {
        let rest = &tail[at..];
        let header = BatchHeader::parse(rest)?;
        let plausible = header.magic == MAGIC
            && header.base_offset > valid.next_offset
            && header.leader_epoch >= valid.last_epoch.0
            && header.record_count > 0
            && header.last_offset_delta == header.record_count - 1;
        if !plausible || header.size() < HEADER_SIZE {
            return None;
        }
        let batch = rest.get(..header.size())?;
        header.check_crc(batch).ok()?;
        Some((at, Epoch(header.leader_epoch)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kraft_fs::{FileSystem, MemFs, Open};
    use kraft_wire::batch::BatchBuilder;
    use std::path::Path;

    fn batch(base: i64, epoch: i32, size: usize) -> Vec<u8> {
        let mut builder = BatchBuilder::data(1);
        builder.push_record(None, Some(&vec![7; size]), 0, &[]).unwrap();
        builder.build(base, epoch).to_vec()
    }

    /// The judgement on a file in which 100 bytes of valid batches of epoch 3 precede `tail`; the next offset is 10.
    fn judged(tail: &[u8]) -> Result<(), NotTorn> {
        judged_at(100, tail)
    }

    fn judged_at(position: u64, tail: &[u8]) -> Result<(), NotTorn> {
        let file = MemFs::new().open(Path::new("/f"), Open::CreateNew).unwrap();
        file.write_all_at(&vec![1; position as usize], 0).unwrap();
        file.write_all_at(tail, position).unwrap();
        let valid = ValidPart {
            position,
            len: file.len().unwrap(),
            next_offset: 10,
            last_epoch: Epoch(3),
        };
        judge(&file, valid).unwrap()
    }

    fn joined(parts: &[&[u8]]) -> Vec<u8> {
        parts.concat()
    }

    /// Zeroes a sector of a file whose tail begins at byte 100.
    fn without_sector(mut tail: Vec<u8>, sector: usize) -> Vec<u8> {
        let start = (sector * 512).saturating_sub(100);
        let end = ((sector + 1) * 512 - 100).min(tail.len());
        tail[start..end].fill(0);
        tail
    }

    #[test]
    fn a_batch_may_lack_the_start_of_its_header_which_no_checksum_covers() {
        let next = batch(10, 3, 100);
        let without_start = |bytes: usize| joined(&[&vec![0; bytes], &next[bytes..]]);
        for bytes in 8..=21 {
            assert_eq!(
                judged_at(512 - bytes as u64, &without_start(bytes)),
                Ok(()),
                "{bytes} bytes"
            );
        }
        // Zeros that do not reach from the valid part to the end of a sector are not a sector that is missing.
        assert_eq!(judged_at(500, &without_start(8)), Err(NotTorn::NothingMissing));
        assert_eq!(judged_at(100, &without_start(9)), Err(NotTorn::NothingMissing));
    }

    #[test]
    fn a_length_in_a_missing_sector_is_missing_and_not_wrong_by_a_bit() {
        let sizes = (1..300).map(|size| batch(10, 3, size));
        let next: Vec<_> = sizes
            .filter(|next| (next.len() - LENGTH_OVERHEAD).is_power_of_two())
            .collect();
        assert_eq!(next.len(), 3, "lengths of 64, 128 and 256");
        for next in next {
            for bytes in 12..=21 {
                let torn = joined(&[&vec![0; bytes], &next[bytes..]]);
                assert_eq!(judged_at(512 - bytes as u64, &torn), Ok(()), "{bytes} bytes");
            }
        }
    }

    #[test]
    fn a_crash_leaves_nothing_zeros_a_short_batch_or_one_without_a_sector() {
        let next = batch(10, 3, 2000);
        let after = batch(11, 3, 300);
        let torn = [
            Vec::new(),
            vec![0; 5000],
            next[..20].to_vec(),
            next[..70].to_vec(),
            next[..next.len() - 1].to_vec(),
            without_sector(next.clone(), 0),
            without_sector(next.clone(), 2),
            without_sector(next.clone(), 4),
            joined(&[&without_sector(next.clone(), 2), &after, &[0; 5000]]),
            joined(&[&without_sector(next.clone(), 0), &after]),
            without_sector(batch(10, 4, 2000), 1),
        ];
        for (n, tail) in torn.iter().enumerate() {
            assert_eq!(judged(tail), Ok(()), "case {n}");
        }
    }

    #[test]
    fn a_batch_that_is_all_there_is_damage_whatever_is_wrong_with_it() {
        let mut flipped = batch(10, 3, 2000);
        flipped[1000] ^= 1;
        let mut no_length = batch(10, 3, 2000);
        no_length[8..12].copy_from_slice(&[0, 0, 0, 1]);
        let mut zero_filled = BatchBuilder::data(1);
        zero_filled.push_record(None, Some(&[0; 2000]), 0, &[]).unwrap();
        let damage = [
            joined(&[&flipped, &batch(11, 3, 10), &[0; 5000]]),
            flipped,
            no_length,
            // Valid, but elsewhere: a sector of zeros in its record proves nothing.
            zero_filled.build(12, 3).to_vec(),
        ];
        for (n, tail) in damage.iter().enumerate() {
            assert_eq!(judged(tail), Err(NotTorn::NothingMissing), "case {n}");
        }
    }

    #[test]
    fn batches_behind_a_failing_one_can_prove_that_it_had_been_synced() {
        // A length that points behind the end of the file hides the batches that follow.
        let mut long = batch(10, 3, 100);
        let size = long.len() as u64;
        long[9] ^= 3;
        let epoch = Epoch(3);
        assert_eq!(
            judged(&joined(&[&long, &batch(11, 3, 10)])),
            Err(NotTorn::ValidBatchBehind {
                position: 100 + size,
                epoch
            })
        );
        // A later epoch begins only when all before it is durable.
        let torn = without_sector(batch(10, 3, 2000), 2);
        let position = 100 + torn.len() as u64;
        let epoch = Epoch(4);
        assert_eq!(
            judged(&joined(&[&torn, &batch(11, 4, 10)])),
            Err(NotTorn::ValidBatchBehind { position, epoch })
        );
    }

    #[test]
    fn a_length_with_a_wrong_bit_does_not_make_a_whole_batch_a_torn_one() {
        let good = batch(10, 3, 2000);
        for bit in 0..32 {
            let mut wrong = good.clone();
            wrong[8 + bit / 8] ^= 1 << (bit % 8);
            for behind in [&[][..], &[0; 5000], &batch(11, 3, 10)] {
                let tail = joined(&[&wrong, behind]);
                assert_eq!(judged(&tail), Err(NotTorn::NothingMissing), "bit {bit}");
            }
        }
    }

    #[test]
    fn no_round_leaves_more_than_it_may_write() {
        let torn = without_sector(batch(10, 3, 2000), 2);
        let more = vec![9; ROUND_BYTES_MAX as usize];
        let bytes = (torn.len() + more.len()) as u64;
        assert_eq!(
            judged(&joined(&[&torn, &more])),
            Err(NotTorn::TooManyBytes { bytes })
        );
    }
}
