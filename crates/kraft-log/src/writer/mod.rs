//! The log thread's half of the log: rounds of operations, each durable when it returns.

use crate::{
    blocks::Blocks,
    clean::{Candidate, Cleaned, Extent, Retention},
    deleted::{DeletedFiles, SEGMENT_DELAY_MS},
    epoch_checkpoint,
    epochs::EpochCache,
    layout::{Layout, Segment, Shared},
    names::{LogName, NO_VOTE_FILE, SegmentFile, classify, log_file, offset_index_file, time_index_file},
    op::{ROUND_BYTES_MAX, StorageOp},
    options::LogOptions,
    quorum_state,
    round::{RejectedSnapshot, Round},
    scan::find_batch,
    segment_files::{create_segment, cut, open_segment, remove_if_there, write_index_files},
    storage_error::{StorageError, failed},
    synced_mark::{SyncedFile, SyncedMark},
};
use bytes::Bytes;
use kraft_core::{BatchInfo, SnapshotId, Ticket};
use kraft_fs::{File, FileSystem, Open};
use kraft_snapshot::{
    FetchedSnapshot, FetchedSnapshotError, SnapshotFileState, SnapshotReadError, SnapshotReader, frozen_name,
    parse_name,
};
use kraft_wire::batch::BatchHeader;
use std::{
    collections::{BTreeMap, VecDeque},
    path::Path,
    sync::Arc,
};

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

/// Appends that are written by one call and made durable by one sync.
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
            incoming: None,
            start,
            deleted: DeletedFiles::default(),
            cleaned: None,
            rejected: None,
            completed: Ticket::NONE,
            failed: false,
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
            self.write(&joined(&gathered.parts), &gathered.infos)?;
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
            self.write(&batches[position..end], &rest[..count])?;
            self.sync()?;
            position = end;
            rest = &rest[count..];
        }
        Ok(())
    }

    /// Writes batches at the end of the last segment.
    fn write(&mut self, bytes: &[u8], infos: &[BatchInfo]) -> Result<(), StorageError> {
        let (file, path, start) = {
            let layout = self.shared.layout();
            let (_, segment) = layout.newest();
            (segment.file.clone(), segment.path.clone(), segment.written)
        };
        self.blocks
            .claim(start + bytes.len() as u64)
            .map_err(failed("preparing blocks for", &path))?;
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
        let spare = self.blocks.take_spare(base);
        let (segment, size) = match spare.map_err(failed("renaming the spare file in", dir))? {
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

    /// Cuts the log at `to`. At every moment a crash leaves a log without a hole, whose epoch cache promises nothing
    /// that is gone.
    fn truncate(&mut self, to: i64) -> Result<(), StorageError> {
        let (start, end) = {
            let layout = self.shared.layout();
            (layout.start(), layout.end)
        };
        if to >= end {
            if self.epochs.truncate_from_end(end) {
                self.store_epochs()?;
            }
            return Ok(());
        }
        if to < start {
            return self.truncate_fully(to);
        }
        self.clear_synced()?;
        if self.epochs.truncate_from_end(to) {
            self.store_epochs()?;
        }
        self.blocks.leave();
        let (base, position) = self.place_of(to)?;
        let later = self.cut_layout(base, position, to);
        for later_base in later.into_keys().rev() {
            self.remove_segment(later_base)?;
        }
        self.sync_dir()?;
        let (file, path) = {
            let layout = self.shared.layout();
            let (_, segment) = layout.newest();
            (segment.file.clone(), segment.path.clone())
        };
        cut(&*file, position).map_err(failed("cutting", &path))?;
        self.follow(base, position, position)
    }

    /// The segment that ends the log when it is cut at `to`, and where in it.
    fn place_of(&self, to: i64) -> Result<(i64, u64), StorageError> {
        let layout = self.shared.layout();
        let (base, segment) = layout
            .segments
            .range(..=to)
            .next_back()
            .expect("the cut is not before the log start");
        if *base == to {
            return Ok((*base, 0));
        }
        let near = segment.index.lookup(to);
        let found = find_batch(&*segment.file, near, segment.written, to);
        let (position, first_cut) = found.map_err(failed("reading", &segment.path))?;
        assert_eq!(first_cut.base_offset, to, "a log is cut between batches");
        Ok((*base, position))
    }

    /// Tells readers of a cut before the files change; returns the segments behind it.
    fn cut_layout(&self, base: i64, position: u64, to: i64) -> BTreeMap<i64, Segment<F>> {
        let mut layout = self.shared.layout_mut();
        layout.truncations += 1;
        layout.end = to;
        let later = layout.segments.split_off(&(base + 1));
        let segment = layout.newest_mut();
        segment.written = position;
        segment.index.truncate(to);
        later
    }

    fn replace_by_snapshot(&mut self, snapshot: SnapshotId) -> Result<(), StorageError> {
        let path = self.shared.dir.join(frozen_name(snapshot));
        let found = self.shared.fs.metadata(&path);
        if found.map_err(failed("looking for", &path))?.is_none() {
            return Err(StorageError::NoSnapshot { path });
        }
        self.truncate_fully(snapshot.end_offset)?;
        self.remove_snapshots_before(snapshot)
    }

    /// Removes all batches; the log then starts and ends at `to`.
    ///
    /// The old segments go first and from the end, so that a crash leaves a log without a hole, which the snapshot
    /// that all this is for is ahead of: the next start completes it.
    fn truncate_fully(&mut self, to: i64) -> Result<(), StorageError> {
        self.clear_synced()?;
        self.epochs.clear();
        self.store_epochs()?;
        self.blocks.leave();
        let bases: Vec<i64> = self.shared.layout().segments.keys().copied().collect();
        for base in bases.into_iter().rev() {
            self.remove_segment(base)?;
        }
        self.sync_dir()?;
        let segment = create_segment(&self.shared.fs, &self.shared.dir, to)?;
        let mut layout = self.shared.layout_mut();
        *layout = Layout {
            segments: BTreeMap::from([(to, segment)]),
            end: to,
            truncations: layout.truncations + 1,
        };
        drop(layout);
        self.start = to;
        self.follow(to, 0, 0)
    }

    /// Removes what retention does not keep. The oldest segments go first: a crash leaves a log without a hole, which
    /// the newest snapshot leads to.
    fn clean(&mut self, high_watermark: i64, now_ms: i64) -> Result<(), StorageError> {
        let shared = self.shared.clone();
        let Shared { fs, dir, .. } = &*shared;
        self.deleted.tell(fs, now_ms)?;
        let mut extent = Extent {
            start: self.start,
            segments: Vec::new(),
            high_watermark,
            snapshots: frozen_snapshots(fs, dir)?,
        };
        let layout = self.shared.layout();
        let sizes = layout.segments.iter();
        extent.segments = sizes.map(|(base, segment)| (*base, segment.written)).collect();
        drop(layout);
        let Retention { bytes, age_ms } = self.options.retention;
        extent.shrink("log and snapshots are too large", |_, total| {
            Ok::<_, StorageError>(bytes.is_some_and(|most| total > most))
        })?;
        if let Some(age_ms) = age_ms {
            extent.shrink("it is too old", |id, _| {
                let timestamp = last_contained_timestamp(fs, dir, id)?;
                Ok::<_, StorageError>(timestamp.is_some_and(|at| now_ms.saturating_sub(at) > age_ms))
            })?;
        }
        if extent.start == self.start {
            return Ok(());
        }
        let oldest = extent.snapshots.first().expect("the newest one stays").id;
        let first = extent.segments.first().expect("the last segment stays").0;
        let gone = {
            let mut layout = self.shared.layout_mut();
            let kept = layout.segments.split_off(&first);
            std::mem::replace(&mut layout.segments, kept)
        };
        for base in gone.into_keys() {
            self.remove_segment(base)?;
        }
        self.sync_dir()?;
        if self.epochs.truncate_from_start(extent.start) {
            self.store_epochs()?;
        }
        self.remove_snapshots_before(oldest)?;
        self.start = extent.start;
        self.cleaned = Some(Cleaned { oldest });
        self.deleted.tell(fs, now_ms)
    }

    fn remove_segment(&mut self, base: i64) -> Result<(), StorageError> {
        let Shared { fs, dir, .. } = &*self.shared;
        for name in [log_file(base), offset_index_file(base), time_index_file(base)] {
            self.deleted.delete(fs, dir, &name, SEGMENT_DELAY_MS)?;
        }
        Ok(())
    }

    fn remove_snapshots_before(&mut self, newest: SnapshotId) -> Result<(), StorageError> {
        let Shared { fs, dir, .. } = &*self.shared;
        let rank = |id: SnapshotId| (id.epoch, id.end_offset);
        let names = fs.list(dir).map_err(failed("listing", dir))?;
        for entry in names {
            let older = matches!(
                parse_name(&entry.name),
                Ok(Some(file)) if file.state == SnapshotFileState::Frozen && rank(file.id) < rank(newest)
            );
            if older {
                let delay_ms = self.options.delete_delay_ms;
                self.deleted.delete(fs, dir, &entry.name, delay_ms)?;
            }
            // Producer states of segments that are gone; a metadata log has no producers.
            if matches!(classify(&entry.name), LogName::Segment(SegmentFile::Unused, _)) {
                remove_if_there(fs, &dir.join(&entry.name))?;
            }
        }
        self.sync_dir()
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

/// The snapshots of a directory, in their order.
fn frozen_snapshots<F: FileSystem>(fs: &F, dir: &Path) -> Result<Vec<Candidate>, StorageError> {
    let entries = fs.list(dir).map_err(failed("listing", dir))?;
    let frozen = entries.into_iter().filter_map(|entry| {
        let file = parse_name(&entry.name).ok().flatten()?;
        (file.state == SnapshotFileState::Frozen).then_some(Candidate {
            id: file.id,
            size: entry.metadata.len,
        })
    });
    let mut snapshots: Vec<_> = frozen.collect();
    snapshots.sort_by_key(|snapshot| (snapshot.id.epoch, snapshot.id.end_offset));
    Ok(snapshots)
}

/// When the last record of a snapshot was written; `None` if its header cannot be read, which makes it no older.
fn last_contained_timestamp<F: FileSystem>(
    fs: &F,
    dir: &Path,
    id: SnapshotId,
) -> Result<Option<i64>, StorageError> {
    match SnapshotReader::open(fs, dir, id) {
        Ok(reader) => Ok(reader.map(|reader| reader.header().last_contained_log_timestamp)),
        Err(SnapshotReadError::Io { path, source }) => Err(failed("reading", &path)(source)),
        Err(_) => Ok(None),
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

fn joined(parts: &[Bytes]) -> Bytes {
    match parts {
        [one] => one.clone(),
        many => many.concat().into(),
    }
}

fn check_sizes(batches: &Bytes, infos: &[BatchInfo]) {
    let announced: usize = infos.iter().map(|info| info.bytes as usize).sum();
    assert_eq!(announced, batches.len(), "an append describes all of its bytes");
}
