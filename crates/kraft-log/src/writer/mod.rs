//! The log thread's half of the log: rounds of operations, each durable when it returns.

mod cleaning;
mod truncation;

use crate::{
    blocks::Blocks,
    cached::Cached,
    clean::Cleaned,
    deleted::{DeletedFiles, SEGMENT_DELAY_MS},
    epoch_checkpoint,
    epochs::EpochCache,
    layout::Shared,
    names::{NO_VOTE_FILE, log_file, offset_index_file, time_index_file},
    op::{ROUND_BYTES_MAX, StorageOp},
    options::LogOptions,
    quorum_state,
    round::{RejectedSnapshot, Round},
    segment_files::{create_segment, cut, open_segment, remove_if_there, write_index_files},
    storage_error::{StorageError, failed},
    synced_mark::{SyncedFile, SyncedMark},
};
use bytes::Bytes;
use kraft_core::{BatchInfo, SnapshotId, Ticket};
use kraft_fs::{File, FileSystem, Open};
use kraft_snapshot::{FetchedSnapshot, FetchedSnapshotError};
use kraft_wire::batch::BatchHeader;
use std::{collections::VecDeque, io, sync::Arc};

/// Performs operations. There is one per log, on one thread.
///
/// After an error every further call fails: see [`StorageError`].
pub struct LogWriter<F: FileSystem> {
    shared: Arc<Shared<F>>,
    options: LogOptions,
    /// The epoch cache as it is on disk.
    epochs: EpochCache,
    blocks: Arc<Blocks<F>>,
    synced: SyncedFile<F>,
    cached: Cached,
    incoming: Option<FetchedSnapshot<F>>,
    /// Where the log starts: in the first segment, or behind it.
    start: i64,
    deleted: DeletedFiles,
    /// What this round has removed because it was old.
    cleaned: Option<Cleaned>,
    /// What this round found wrong with a fetched snapshot.
    rejected: Option<RejectedSnapshot>,
    completed: Ticket,
    failed: bool,
    /// Small appends are copied together here to be written at once.
    joined: Vec<u8>,
}

impl<F: FileSystem> Drop for LogWriter<F> {
    /// Whoever opens the directory next finds that nobody else writes there.
    fn drop(&mut self) {
        self.blocks.close();
    }
}

impl<F: FileSystem> std::fmt::Debug for LogWriter<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogWriter")
            .field("dir", &self.shared.dir)
            .field("completed", &self.completed)
            .field("failed", &self.failed)
            .finish_non_exhaustive()
    }
}

/// Appends that are made durable by one sync.
#[derive(Debug, Default)]
struct Gathered {
    parts: Vec<Bytes>,
    infos: Vec<BatchInfo>,
    bytes: u64,
}

impl<F: FileSystem> LogWriter<F> {
    pub(crate) fn new(
        shared: Arc<Shared<F>>,
        options: LogOptions,
        epochs: EpochCache,
        synced: SyncedFile<F>,
    ) -> Result<(Self, Arc<Blocks<F>>), StorageError> {
        let (start, base, size) = {
            let layout = shared.layout();
            let (base, newest) = layout.newest();
            (layout.start(), base, newest.written)
        };
        let (fs, dir) = (shared.fs.clone(), shared.dir.clone());
        let blocks = Arc::new(Blocks::new(
            fs,
            dir,
            options.prepare_bytes,
            options.segment_bytes,
            size,
        ));
        let writer = Self {
            shared,
            options,
            epochs,
            blocks: Arc::clone(&blocks),
            synced,
            cached: Cached::new(base),
            incoming: None,
            start,
            deleted: DeletedFiles::default(),
            cleaned: None,
            rejected: None,
            completed: Ticket::NONE,
            failed: false,
            joined: Vec::new(),
        };
        writer.follow(base, size, size)?;
        Ok((writer, blocks))
    }

    /// Performs one round from the front of `ops` and removes it there: appends that need no other file, up to 4 MiB
    /// and with one sync; or a single operation of another kind, an append that starts an epoch or a segment among
    /// them. A fetched snapshot that fails its checks is no error: see [`Round::rejected`].
    ///
    /// # Errors
    /// [`StorageError`]. The operations of the round may then be done, or in part, or not.
    pub fn run_round(&mut self, ops: &mut VecDeque<(Ticket, StorageOp)>) -> Result<Round, StorageError> {
        if self.failed {
            return Err(StorageError::FailedBefore);
        }
        // Whatever makes the round return early has failed.
        self.failed = true;
        self.completed = self.round(ops)?;
        self.failed = false;
        Ok(Round {
            up_to: self.completed,
            rejected: self.rejected.take(),
            cleaned: self.cleaned.take(),
        })
    }

    /// Ends the [`Preparer`](crate::Preparer), cuts the zeros behind the last batch and writes the last segment's
    /// indexes.
    ///
    /// # Errors
    /// [`StorageError`]. The next start finds what a kill would have left.
    pub fn close(self) -> Result<(), StorageError> {
        if self.failed {
            return Err(StorageError::FailedBefore);
        }
        if self.blocks.close() {
            remove_if_there(&self.shared.fs, &self.blocks.spare_path())?;
        }
        self.seal_last_segment()
    }

    fn round(&mut self, ops: &mut VecDeque<(Ticket, StorageOp)>) -> Result<Ticket, StorageError> {
        let mut gathered = Gathered::default();
        let mut done = self.completed;
        while let Some((ticket, StorageOp::Append { batches, infos })) = ops.front() {
            check_sizes(batches, infos);
            if !self.joins(&gathered, batches, infos) {
                break;
            }
            done = *ticket;
            gathered.bytes += batches.len() as u64;
            gathered.parts.push(batches.clone());
            gathered.infos.extend_from_slice(infos);
            ops.pop_front();
        }
        if !gathered.parts.is_empty() {
            self.write_gathered(&gathered)?;
            self.sync()?;
            return Ok(done);
        }
        let Some((ticket, op)) = ops.pop_front() else {
            return Ok(done);
        };
        self.perform(op)?;
        Ok(ticket)
    }

    fn perform(&mut self, op: StorageOp) -> Result<(), StorageError> {
        match op {
            StorageOp::Append { batches, infos } => self.append_in_runs(&batches, &infos),
            StorageOp::Truncate { to } => self.truncate(to),
            StorageOp::TruncateFully { snapshot } => self.replace_by_snapshot(snapshot),
            StorageOp::SnapshotChunk {
                snapshot,
                position,
                bytes,
                last,
            } => match self.store_chunk(snapshot, position, &bytes, last) {
                Ok(()) => Ok(()),
                Err(FetchedSnapshotError::Io { path, source }) => {
                    Err(failed("storing a fetched snapshot in", &path)(source))
                }
                Err(reason) => {
                    self.rejected = Some(RejectedSnapshot { snapshot, reason });
                    Ok(())
                }
            },
            StorageOp::AbandonSnapshot { snapshot } => {
                // Dropping it removes its file.
                self.incoming.take_if(|incoming| incoming.id() == snapshot);
                Ok(())
            }
            StorageOp::Clean {
                high_watermark,
                now_ms,
            } => self.clean(high_watermark, now_ms),
            StorageOp::ResumeVoting => {
                remove_if_there(&self.shared.fs, &self.shared.dir.join(NO_VOTE_FILE))?;
                self.sync_dir()
            }
            StorageOp::StoreElection(election) => {
                quorum_state::store(&self.shared.fs, &self.shared.dir, &election).map_err(failed(
                    "replacing",
                    &self.shared.dir.join(quorum_state::FILE_NAME),
                ))
            }
            StorageOp::StartEpoch { epoch, start } => {
                if self.epochs.assign(epoch, start) {
                    self.store_epochs()?;
                }
                Ok(())
            }
        }
    }

    /// Whether an append can share the write and the sync of those before it.
    fn joins(&self, gathered: &Gathered, batches: &Bytes, infos: &[BatchInfo]) -> bool {
        let bytes = gathered.bytes + batches.len() as u64;
        let same_epoch = infos.iter().all(|info| self.epochs.latest() == Some(info.epoch));
        let last = infos.last().map(|info| info.last);
        let newest = newest_timestamp(batches, infos);
        bytes <= ROUND_BYTES_MAX && same_epoch && !self.overflows(bytes, last) && !self.is_old(newest)
    }

    /// Whether the last segment has to be followed by a new one before this much more is written.
    fn overflows(&self, bytes: u64, last: Option<i64>) -> bool {
        let layout = self.shared.layout();
        let (base, segment) = layout.newest();
        let too_large = segment.written > 0 && segment.written + bytes > self.options.segment_bytes;
        too_large || last.is_some_and(|last| last - base > i64::from(i32::MAX))
    }

    /// Whether the last segment is so old that what comes now goes into a new one, by the timestamps of the batches:
    /// recovery, and another voter, come to the same segments.
    fn is_old(&self, newest: i64) -> bool {
        let layout = self.shared.layout();
        let (_, segment) = layout.newest();
        let first = segment.index.first_timestamp();
        first.is_some_and(|first| newest.saturating_sub(first) > self.options.segment_age_ms)
    }

    /// Appends in pieces that lie in one epoch and one segment and are no larger than a round, each durable before
    /// the next. That a batch of a later epoch, or of a later segment, is on disk proves that all before it are.
    fn append_in_runs(&mut self, batches: &Bytes, infos: &[BatchInfo]) -> Result<(), StorageError> {
        let mut position = 0;
        let mut rest = infos;
        let newest = newest_timestamp(batches, infos);
        while let Some(first) = rest.first() {
            if self.overflows(u64::from(first.bytes), Some(first.last))
                || (position == 0 && self.is_old(newest))
            {
                self.roll(first.base)?;
            }
            if self.epochs.assign(first.epoch, first.base) {
                self.store_epochs()?;
            }
            let mut bytes = u64::from(first.bytes);
            let mut count = 1;
            for info in &rest[1..] {
                let with_it = bytes + u64::from(info.bytes);
                if info.epoch != first.epoch
                    || with_it > ROUND_BYTES_MAX
                    || self.overflows(with_it, Some(info.last))
                {
                    break;
                }
                bytes = with_it;
                count += 1;
            }
            let end = position + bytes as usize;
            self.claim(bytes)?;
            self.write(&batches[position..end], &rest[..count])?;
            self.sync()?;
            position = end;
            rest = &rest[count..];
        }
        Ok(())
    }

    /// Writes what has been gathered, in as few pieces as a small buffer allows: what a stall of the disk has let
    /// gather is not copied together, for memory that is large once tends to stay with the process.
    fn write_gathered(&mut self, gathered: &Gathered) -> Result<(), StorageError> {
        let (mut parts, mut infos) = (&gathered.parts[..], &gathered.infos[..]);
        self.claim(gathered.bytes)?;
        while let Some(first) = parts.first() {
            let mut joined = std::mem::take(&mut self.joined);
            joined.clear();
            let together = together(parts);
            let bytes = match &parts[..together] {
                [_] => &first[..],
                many => {
                    many.iter().for_each(|part| joined.extend_from_slice(part));
                    &joined[..]
                }
            };
            let described = described(bytes.len(), infos);
            self.write(bytes, &infos[..described])?;
            self.joined = joined;
            parts = &parts[together..];
            infos = &infos[described..];
        }
        Ok(())
    }

    /// Asks for the place of what is written next and becomes durable with one sync.
    fn claim(&self, bytes: u64) -> Result<(), StorageError> {
        let end = self.shared.layout().newest().1.written + bytes;
        self.blocks.claim(end).map_err(|error| {
            let layout = self.shared.layout();
            failed("preparing blocks for", &layout.newest().1.path)(error)
        })
    }

    /// Writes batches at the end of the last segment, where their place has been asked for.
    fn write(&mut self, bytes: &[u8], infos: &[BatchInfo]) -> Result<(), StorageError> {
        let (file, path, start) = {
            let layout = self.shared.layout();
            let (_, segment) = layout.newest();
            (segment.file.clone(), segment.path.clone(), segment.written)
        };
        file.write_all_at(bytes, start)
            .map_err(failed("writing", &path))?;
        self.publish(bytes, infos);
        Ok(())
    }

    /// Shows readers what has been written.
    fn publish(&self, bytes: &[u8], infos: &[BatchInfo]) {
        let mut layout = self.shared.layout_mut();
        let mut position = 0;
        for info in infos {
            assert_eq!(info.base, layout.end, "an append continues the log");
            let header = BatchHeader::parse(&bytes[position..]).expect("an append holds whole batches");
            let segment = layout.newest_mut();
            segment.index.add(
                info.last,
                segment.written,
                u64::from(info.bytes),
                header.max_timestamp,
            );
            segment.written += u64::from(info.bytes);
            position += info.bytes as usize;
            layout.end = info.last + 1;
        }
    }

    fn sync(&mut self) -> Result<(), StorageError> {
        let layout = self.shared.layout();
        let (base, segment) = layout.newest();
        let (file, path, written, base) = (segment.file.clone(), segment.path.clone(), segment.written, base);
        drop(layout);
        file.sync_data().map_err(failed("syncing", &path))?;
        if let Some(part) = self.cached.leave(base, written) {
            file.leave_cache(part.start, part.end - part.start);
        }
        let epoch = self.epochs.latest().expect("a batch has an epoch");
        self.synced
            .mark(SyncedMark {
                segment: base,
                position: written,
                epoch,
            })
            .map_err(failed("writing the synced mark beside", &path))
    }

    /// Ends the last segment and begins one at `base`, with the blocks of the spare file if there is one.
    fn roll(&self, base: i64) -> Result<(), StorageError> {
        self.seal_last_segment()?;
        let dir = &self.shared.dir;
        let spare = match self.blocks.take_spare(base) {
            // Somebody has tidied up a file that they did not know. Where it is the directory that is gone, that is found next.
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            spare => spare.map_err(failed("renaming the spare file in", dir))?,
        };
        let (segment, size) = match spare {
            Some(size) => (open_segment(&self.shared.fs, dir, base, Open::ReadWrite)?, size),
            None => (create_segment(&self.shared.fs, dir, base)?, 0),
        };
        self.shared.layout_mut().segments.insert(base, segment);
        self.follow(base, 0, size)
    }

    /// Has blocks made ready in the segment at `base` from now on.
    fn follow(&self, base: i64, used: u64, size: u64) -> Result<(), StorageError> {
        self.blocks
            .follow(base, used, size)
            .map_err(failed("opening", &self.shared.dir.join(log_file(base))))
    }

    /// Cuts the zeros behind the last batch, durably, and writes the indexes. A JVM that finds a single zero behind a
    /// segment which is not the last one deletes every later one.
    fn seal_last_segment(&self) -> Result<(), StorageError> {
        let layout = self.shared.layout();
        let (base, segment) = layout.newest();
        self.blocks
            .seal(segment.written, || cut(&*segment.file, segment.written))
            .map_err(failed("cutting", &segment.path))?;
        write_index_files(&self.shared, base, &segment.index)
            .map_err(failed("writing the indexes of", &segment.path))
    }

    fn store_epochs(&self) -> Result<(), StorageError> {
        epoch_checkpoint::store(&self.shared.fs, &self.shared.dir, self.epochs.entries()).map_err(failed(
            "replacing",
            &self.shared.dir.join(epoch_checkpoint::FILE_NAME),
        ))
    }

    fn remove_segment(&mut self, base: i64) -> Result<(), StorageError> {
        let Shared { fs, dir, .. } = &*self.shared;
        for name in [log_file(base), offset_index_file(base), time_index_file(base)] {
            self.deleted.delete(fs, dir, &name, SEGMENT_DELAY_MS)?;
        }
        Ok(())
    }

    fn store_chunk(
        &mut self,
        snapshot: SnapshotId,
        position: u64,
        bytes: &Bytes,
        last: bool,
    ) -> Result<(), FetchedSnapshotError> {
        if position == 0 {
            // Dropping what there is of another one removes its file.
            self.incoming = None;
            self.incoming = Some(FetchedSnapshot::create(
                &self.shared.fs,
                &self.shared.dir,
                snapshot,
            )?);
        }
        let Some(mut incoming) = self.incoming.take().filter(|incoming| incoming.id() == snapshot) else {
            return Err(FetchedSnapshotError::Position {
                expected: 0,
                position,
            });
        };
        incoming.append(position, bytes)?;
        if last {
            incoming.freeze()?;
        } else {
            self.incoming = Some(incoming);
        }
        Ok(())
    }

    fn clear_synced(&self) -> Result<(), StorageError> {
        self.synced
            .clear()
            .map_err(failed("clearing the synced mark in", &self.shared.dir))
    }

    fn sync_dir(&self) -> Result<(), StorageError> {
        let dir = &self.shared.dir;
        self.shared.fs.sync_dir(dir).map_err(failed("syncing", dir))
    }
}

/// The largest timestamp of some batches.
fn newest_timestamp(batches: &[u8], infos: &[BatchInfo]) -> i64 {
    let mut position = 0;
    let timestamps = infos.iter().filter_map(|info| {
        let header = BatchHeader::parse(&batches[position..]);
        position += info.bytes as usize;
        header.map(|header| header.max_timestamp)
    });
    timestamps.max().unwrap_or(-1)
}

/// How many of the parts, at least one, are written as one.
fn together(parts: &[Bytes]) -> usize {
    let mut bytes = 0;
    let fits = |part: &&Bytes| {
        bytes += part.len();
        bytes <= JOINED_BYTES_MAX
    };
    parts.iter().take_while(fits).count().max(1)
}

/// How many of the batches so many bytes are.
fn described(bytes: usize, infos: &[BatchInfo]) -> usize {
    let mut end = 0;
    let within = |info: &&BatchInfo| {
        end += info.bytes as usize;
        end <= bytes
    };
    infos.iter().take_while(within).count()
}

fn check_sizes(batches: &Bytes, infos: &[BatchInfo]) {
    let announced: usize = infos.iter().map(|info| info.bytes as usize).sum();
    assert_eq!(announced, batches.len(), "an append describes all of its bytes");
}

/// So much is copied together at most to be written by one call, which costs about as much as the copy of this.
const JOINED_BYTES_MAX: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_parts_are_written_as_one_and_large_ones_where_they_lie() {
        let small = Bytes::from(vec![1; 300]);
        let large = Bytes::from(vec![2; JOINED_BYTES_MAX + 1]);
        let half = Bytes::from(vec![3; JOINED_BYTES_MAX / 2]);
        let cases = [
            (vec![&small], 1),
            (vec![&large], 1),
            (vec![&large, &small], 1),
            (vec![&small, &large], 1),
            (vec![&half, &half, &small], 2),
            (vec![&half, &small, &half, &small], 2),
            (vec![&small; 500], JOINED_BYTES_MAX / 300),
        ];
        for (parts, expected) in cases {
            let parts: Vec<Bytes> = parts.into_iter().cloned().collect();
            assert_eq!(together(&parts), expected, "{:?}", parts.iter().map(Bytes::len));
        }
    }
}
