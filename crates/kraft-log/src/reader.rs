//! Reading the log and its snapshots while the log thread writes.

use crate::{
    layout::Shared,
    scan::{checked_size, find_batch},
};
use bytes::{Bytes, BytesMut};
use kraft_core::{SnapshotId, SnapshotWindow};
use kraft_fs::{File, FileSystem};
use kraft_snapshot::{frozen_name, read_window};
use kraft_wire::batch::BatchHeader;
use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};
use thiserror::Error;

/// Reads batches and snapshots. Clones read the same log, from any thread.
#[derive(Debug)]
pub struct LogReader<F: FileSystem> {
    shared: Arc<Shared<F>>,
}

impl<F: FileSystem> Clone for LogReader<F> {
    fn clone(&self) -> Self {
        Self {
            shared: self.shared.clone(),
        }
    }
}

/// Why nothing could be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The offset is not in the log.
    #[error("offset {offset} is outside of the log, which begins at {start} and ends at {end}")]
    OutOfRange {
        /// The offset.
        offset: i64,
        /// Where the log begins.
        start: i64,
        /// Where the written part of it ends.
        end: i64,
    },
    /// The log was cut while it was read; whoever asked asks anew.
    #[error("the log was truncated during the read")]
    Truncated,
    /// There is no such snapshot.
    #[error("there is no snapshot {}", frozen_name(*id))]
    NoSnapshot {
        /// Which.
        id: SnapshotId,
    },
    /// The operating system could not read, or what was written there is no longer there (`InvalidData`).
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// A place in a segment, taken out of the layout so that reading needs no lock.
struct Place<F: FileSystem> {
    file: Arc<F::File>,
    path: PathBuf,
    position: u64,
    written: u64,
    truncations: u64,
}

impl<F: FileSystem> LogReader<F> {
    pub(crate) fn new(shared: Arc<Shared<F>>) -> Self {
        Self { shared }
    }

    /// Whole batches that end at or before `up_to`, from the one that contains `from`: at least one, otherwise not
    /// more than `max_bytes`, of one segment only. Batches that are written but not flushed are read too. Nothing,
    /// without error, where there is no such batch.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn read(&self, from: i64, max_bytes: usize, up_to: i64) -> Result<Bytes, ReadError> {
        let Some(place) = self.place(from, up_to)? else {
            return Ok(Bytes::new());
        };
        let read = read_batches(&place, from, max_bytes, up_to);
        if self.shared.layout().truncations == place.truncations {
            read
        } else {
            Err(ReadError::Truncated)
        }
    }

    /// Raw bytes of a snapshot from `position` on, not more than `max_bytes`; none at its end or behind it.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn snapshot_window(
        &self,
        id: SnapshotId,
        position: u64,
        max_bytes: usize,
    ) -> Result<Bytes, ReadError> {
        let window = SnapshotWindow {
            snapshot: id,
            position,
            // Not looked at: the file says how large it is.
            size: 0,
            max_bytes: i32::try_from(max_bytes).unwrap_or(i32::MAX),
        };
        match read_window(&self.shared.fs, &self.shared.dir, &window) {
            Ok(Some(bytes)) => Ok(bytes),
            Ok(None) => Err(ReadError::NoSnapshot { id }),
            Err(source) => Err(ReadError::Io {
                path: self.snapshot_path(id),
                source,
            }),
        }
    }

    /// Where a snapshot stands, or would.
    #[must_use]
    pub fn snapshot_path(&self, id: SnapshotId) -> PathBuf {
        self.shared.dir.join(frozen_name(id))
    }

    /// The directory of the log.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.shared.dir
    }

    /// The file system of the log.
    #[must_use]
    pub fn fs(&self) -> &F {
        &self.shared.fs
    }

    fn place(&self, from: i64, up_to: i64) -> Result<Option<Place<F>>, ReadError> {
        let layout = self.shared.layout();
        let (start, end) = (layout.start(), layout.end);
        if from < start || from > end {
            return Err(ReadError::OutOfRange {
                offset: from,
                start,
                end,
            });
        }
        if from == end || from >= up_to {
            return Ok(None);
        }
        let (_, segment) = layout
            .segments
            .range(..=from)
            .next_back()
            .expect("an offset at or behind the start is at or behind the first base");
        Ok(Some(Place {
            file: segment.file.clone(),
            path: segment.path.clone(),
            position: segment.index.lookup(from),
            written: segment.written,
            truncations: layout.truncations,
        }))
    }
}

fn read_batches<F: FileSystem>(
    place: &Place<F>,
    from: i64,
    max_bytes: usize,
    up_to: i64,
) -> Result<Bytes, ReadError> {
    let wrap = |source: io::Error| ReadError::Io {
        path: place.path.clone(),
        source,
    };
    let (start, first) = find_batch(&*place.file, place.position, place.written, from).map_err(wrap)?;
    if first.last_offset() >= up_to {
        return Ok(Bytes::new());
    }
    let length = (place.written - start).min(max_bytes.max(first.size()) as u64) as usize;
    let mut bytes = BytesMut::zeroed(length);
    place.file.read_exact_at(&mut bytes, start).map_err(wrap)?;
    let mut end = 0;
    while let Some(header) = BatchHeader::parse(&bytes[end..]) {
        let size = checked_size(&header, start + end as u64, place.written).map_err(wrap)?;
        if size > (length - end) as u64 || header.last_offset() >= up_to {
            break;
        }
        end += size as usize;
    }
    bytes.truncate(end);
    Ok(bytes.freeze())
}
