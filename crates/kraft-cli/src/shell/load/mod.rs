//! From files to an image, reading only and without a lock, also while a node runs.

mod directory;
mod error;
mod replay;
mod segment;

use std::fs;
use std::path::Path;

use kraft_core::{Epoch, SnapshotId};
use kraft_fs::RealFs;
use kraft_snapshot::{SnapshotReadError, SnapshotReader, parse_name};
use kraft_wire::batch::BatchView;
use kraft_wire::control::{ControlRecord, control_records};

use super::image::{Image, Provenance};
use crate::progress::Watched;
use error::LoadError;
use replay::Replay;
use segment::{Ended, Go, read_segment};

/// An image, and what there is to know beside it.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) image: Image,
    pub(super) notes: Vec<String>,
}

/// Reads a directory, a segment or a snapshot.
pub(super) fn load(path: &Path) -> Result<Loaded, LoadError> {
    let found = fs::metadata(path).map_err(|source| LoadError::Read {
        path: path.to_owned(),
        source,
    })?;
    if found.is_dir() {
        return directory::load(path);
    }
    // A pipe would be waited for.
    if !found.is_file() {
        return Err(LoadError::NoBatches {
            path: path.to_owned(),
        });
    }
    match snapshot_id(path)? {
        Some(id) => load_snapshot(path, id),
        None => load_segment(path),
    }
}

/// Which snapshot a file is; `None` if it is something else. What its name does not say, its first batch does.
fn snapshot_id(path: &Path) -> Result<Option<SnapshotId>, LoadError> {
    let name = path.file_name().and_then(|name| name.to_str());
    if let Some(name) = name.and_then(|name| parse_name(name).ok().flatten()) {
        return Ok(Some(name.id));
    }
    let mut id = None;
    let first = |batch: &BatchView| {
        let records = control_records(batch).unwrap_or_default();
        if let Some((_, ControlRecord::SnapshotHeader(_))) = records.first() {
            id = Some(SnapshotId {
                end_offset: 0,
                epoch: Epoch(batch.leader_epoch()),
            });
        }
        Go::Stop
    };
    match read_segment(path, true, &mut None, first) {
        // What is wrong is said when the file is read as what it then is.
        Ok(_) | Err(LoadError::Damaged { .. }) => Ok(id),
        Err(error) => Err(error),
    }
}

fn load_snapshot(path: &Path, id: SnapshotId) -> Result<Loaded, LoadError> {
    let mut replay = Replay::new();
    let mut last = None;
    let read = read_snapshot(path, id, &mut replay, |place| last = Some(place));
    read.map_err(|damage| LoadError::Snapshot { damage, read: None })?;
    if let Some(place) = last {
        replay.moved_to(place);
    }
    Ok(loaded(replay, Vec::new()))
}

/// Replays a snapshot; `each` hears where in it every batch ends. Returns the time of the last record that it stands for.
fn read_snapshot(
    path: &Path,
    id: SnapshotId,
    replay: &mut Replay,
    mut each: impl FnMut(Provenance),
) -> Result<i64, SnapshotReadError> {
    let fs = Watched::new(RealFs);
    let opened = SnapshotReader::open_file(&fs, path, id)?;
    let mut reader = opened.ok_or_else(|| SnapshotReadError::Io {
        path: path.to_owned(),
        source: std::io::ErrorKind::NotFound.into(),
    })?;
    while let Some(batch) = reader.next_batch()? {
        let base = batch.base_offset();
        let mut count = 0;
        replay.snapshot_batch(base, batch.values().inspect(|_| count += 1));
        each(Provenance {
            offset: base + count - 1,
            epoch: id.epoch.0,
            time_ms: batch.timestamp_ms(),
        });
    }
    Ok(reader.header().last_contained_log_timestamp)
}

fn load_segment(path: &Path) -> Result<Loaded, LoadError> {
    let mut replay = Replay::new();
    let mut any = false;
    let ended = read_segment(path, true, &mut None, |batch| {
        any = true;
        // A control batch says nothing about the metadata, and does not move its place in Kafka's tool either.
        if !batch.is_control() {
            replay_batch(&mut replay, batch, batch.base_offset());
        }
        Go::On
    });
    match ended {
        Err(LoadError::Damaged { position: 0, .. }) | Ok(Ended::Incomplete { position: 0, .. }) if !any => {
            Err(LoadError::NoBatches {
                path: path.to_owned(),
            })
        }
        ended => Ok(loaded(replay, incomplete(path, &ended?))),
    }
}

/// Replays the records of a batch from the offset `from` on.
fn replay_batch(replay: &mut Replay, batch: &BatchView, from: i64) {
    if !batch.is_control() {
        let base = batch.base_offset();
        let values = batch.values().map(|value| batch.bytes().slice_ref(value));
        let skipped = usize::try_from(from - base).unwrap_or(0);
        replay.batch(from.max(base), values.skip(skipped));
    }
    replay.moved_to(Provenance {
        offset: batch.last_offset(),
        epoch: batch.leader_epoch(),
        time_ms: batch.header().max_timestamp,
    });
}

fn loaded(replay: Replay, mut notes: Vec<String>) -> Loaded {
    notes.extend(replay.notes());
    Loaded {
        image: replay.image,
        notes,
    }
}

fn incomplete(path: &Path, ended: &Ended) -> Vec<String> {
    match ended {
        Ended::Whole => Vec::new(),
        Ended::Incomplete { position, reason } => vec![format!(
            "{}: byte {position}: {reason}; it is being written, or a crash has torn it, and is left out",
            path.display()
        )],
    }
}

#[cfg(test)]
#[path = "load_test.rs"]
mod tests;
