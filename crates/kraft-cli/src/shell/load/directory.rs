//! A metadata directory: the newest snapshot that can be read, and the log behind it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kraft_core::SnapshotId;
use kraft_fs::RealFs;
use kraft_log::{METADATA_PARTITION_DIR, Repair};
use kraft_snapshot::{SnapshotFileState, SnapshotReadError, parse_name};
use kraft_wire::batch::BatchView;

use super::error::LoadError;
use super::replay::Replay;
use super::segment::{Ended, Go, read_segment};
use super::{Loaded, Provenance, incomplete, loaded, read_snapshot, replay_batch};
use crate::dump::files::Kind;

/// Reads a directory. A running node deletes, cuts and adds meanwhile, which may look like damage.
pub(super) fn load(path: &Path) -> Result<Loaded, LoadError> {
    let below = path.join(METADATA_PARTITION_DIR);
    let dir = if below.is_dir() { below } else { path.to_owned() };
    settled(|| once(&dir))
}

/// Reads until it succeeds, or fails twice in the same way.
fn settled<T>(mut once: impl FnMut() -> Result<T, LoadError>) -> Result<T, LoadError> {
    let mut before = None;
    for _ in 1..TRIES {
        match once() {
            Err(error) if before.as_ref() != Some(&error.to_string()) => before = Some(error.to_string()),
            done => return done,
        }
    }
    once()
}

/// The files of the directory that count, in rising order.
struct Listing {
    snapshots: Vec<(SnapshotId, PathBuf)>,
    segments: Vec<(i64, PathBuf)>,
}

fn once(dir: &Path) -> Result<Loaded, LoadError> {
    let listing = list(dir).map_err(|source| LoadError::Read {
        path: dir.to_owned(),
        source,
    })?;
    if listing.snapshots.is_empty() && listing.segments.is_empty() {
        return Err(LoadError::NothingThere { path: dir.to_owned() });
    }
    let Base {
        mut replay,
        snapshot,
        damaged,
    } = base(&listing)?;
    let mut notes = match behind(&listing, snapshot, &mut replay) {
        Err(hole @ LoadError::Hole { .. }) => {
            // A damaged snapshot is why there is one.
            let newest = damaged.into_iter().next();
            return Err(newest.map_or(hole, |(_, damage)| LoadError::Snapshot { damage, read: None }));
        }
        done => done?,
    };
    let reached = replay.image.provenance.offset;
    for (id, damage) in damaged {
        if reached < 0 || id.end_offset > reached + 1 {
            let read = (reached >= 0).then_some(reached);
            return Err(LoadError::Snapshot { damage, read });
        }
        notes.push(format!(
            "{damage}; what it held is read from the rest of the directory"
        ));
    }
    Ok(loaded(replay, notes))
}

fn list(dir: &Path) -> io::Result<Listing> {
    let mut listing = Listing {
        snapshots: Vec::new(),
        segments: Vec::new(),
    };
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        // What is no file has no batches; a pipe would be waited for. One that is gone by now is an error where it is read.
        if fs::metadata(&path).is_ok_and(|kind| !kind.is_file()) {
            continue;
        }
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        if let Ok(Some(name)) = parse_name(name) {
            if name.state == SnapshotFileState::Frozen {
                listing.snapshots.push((name.id, path));
            }
        } else if let Some(Kind::Segment { base_offset }) = Kind::of(&path) {
            listing.segments.push((base_offset, path));
        }
    }
    // The newest is that of the highest epoch, as for a node.
    listing.snapshots.sort_by_key(|(id, _)| (id.epoch, id.end_offset));
    listing.segments.sort();
    Ok(listing)
}

/// What the log is read on top of.
struct Base {
    replay: Replay,
    snapshot: Option<SnapshotId>,
    /// Newer ones that are damaged, the newest first.
    damaged: Vec<(SnapshotId, SnapshotReadError)>,
}

fn base(listing: &Listing) -> Result<Base, LoadError> {
    let mut damaged = Vec::new();
    for (id, path) in listing.snapshots.iter().rev() {
        let mut replay = Replay::new();
        match read_snapshot(path, *id, &mut replay, |_| ()) {
            Ok(time_ms) => {
                replay.moved_to(Provenance {
                    offset: id.end_offset - 1,
                    epoch: id.epoch.0,
                    time_ms,
                });
                let snapshot = Some(*id);
                return Ok(Base {
                    replay,
                    snapshot,
                    damaged,
                });
            }
            Err(damage @ SnapshotReadError::Damaged { .. }) => damaged.push((*id, damage)),
            Err(damage) => return Err(LoadError::Snapshot { damage, read: None }),
        }
    }
    Ok(Base {
        replay: Replay::new(),
        snapshot: None,
        damaged,
    })
}

/// Replays what the log has behind the snapshot.
fn behind(
    listing: &Listing,
    snapshot: Option<SnapshotId>,
    replay: &mut Replay,
) -> Result<Vec<String>, LoadError> {
    let covered = snapshot.map_or(0, |id| id.end_offset);
    let Some((start, first_path)) = listing.segments.first() else {
        return Ok(Vec::new());
    };
    if *start > covered {
        return Err(LoadError::Hole {
            path: first_path.clone(),
            start: *start,
            snapshot_end: snapshot.map(|id| id.end_offset),
        });
    }
    let from = listing.segments.partition_point(|(base, _)| *base <= covered) - 1;
    let segments = &listing.segments[from..];
    let mut log = Behind {
        snapshot,
        covered,
        epoch_before: None,
        beside: false,
    };
    let mut expected = None;
    for (index, (base, path)) in segments.iter().enumerate() {
        if let Some(expected) = expected.filter(|expected| expected != base) {
            return Err(LoadError::NotContiguous {
                path: path.clone(),
                expected,
                found: *base,
            });
        }
        expected = Some(*base);
        let last = index + 1 == segments.len();
        let ended = match read_segment(path, last, &mut expected, |batch| log.batch(batch, replay)) {
            Err(LoadError::Damaged { position, reason, .. }) if last && would_be_cut(path, position) => {
                Ended::Incomplete { position, reason }
            }
            ended => ended?,
        };
        if log.beside {
            let note = format!(
                "{}: the log is not what the latest snapshot continues, and is not shown",
                path.display()
            );
            return Ok(vec![note]);
        }
        if last {
            return Ok(incomplete(path, &ended));
        }
    }
    Ok(Vec::new())
}

/// Whether a node that starts would cut the segment there, because a crash explains what is behind.
fn would_be_cut(path: &Path, position: u64) -> bool {
    let verified = path.parent().map(|dir| kraft_log::verify(&RealFs, dir));
    let Some(Ok(verified)) = verified else {
        return false;
    };
    let cut = |repair: &Repair| matches!(repair, Repair::Cut { path: at, position: from, .. } if at == path && *from == position);
    verified.repairs.iter().any(cut)
}

/// The log behind a snapshot, batch by batch.
struct Behind {
    snapshot: Option<SnapshotId>,
    covered: i64,
    /// The epoch of the last batch that the snapshot covers.
    epoch_before: Option<i32>,
    /// Whether the log is another one than that which the snapshot was made from.
    beside: bool,
}

impl Behind {
    fn batch(&mut self, batch: &BatchView, replay: &mut Replay) -> Go {
        let epoch = batch.leader_epoch();
        if batch.last_offset() < self.covered {
            self.epoch_before = Some(epoch);
            return Go::On;
        }
        if let Some(snapshot) = self.snapshot {
            let of_snapshot = snapshot.epoch.0;
            // A full truncation to the snapshot that was interrupted leaves the old log beside it.
            self.beside =
                epoch < of_snapshot || self.epoch_before.is_some_and(|before| before != of_snapshot);
            if self.beside {
                return Go::Stop;
            }
            self.epoch_before = None;
        }
        replay_batch(replay, batch, batch.base_offset().max(self.covered));
        Go::On
    }
}

/// How often the directory is read at most.
const TRIES: u32 = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_read_again_until_it_fails_twice_in_the_same_way() {
        let gone = |name: &str| LoadError::Read {
            path: name.into(),
            source: io::ErrorKind::NotFound.into(),
        };
        let outcomes = |outcomes: &[Option<&str>]| {
            let mut left = outcomes.iter();
            let read = settled(|| match left.next().unwrap() {
                Some(name) => Err(gone(name)),
                None => Ok(()),
            });
            (read.is_ok(), left.len())
        };
        assert_eq!(outcomes(&[None, None]), (true, 1));
        assert_eq!(
            outcomes(&[Some("a"), Some("b"), Some("a"), None, None]),
            (true, 1)
        );
        assert_eq!(outcomes(&[Some("a"), Some("b"), Some("b"), None]), (false, 1));
        let names: Vec<_> = (0..100).map(|number| number.to_string()).collect();
        let always: Vec<_> = names.iter().map(|name| Some(name.as_str())).collect();
        assert_eq!(outcomes(&always), (false, 80));
    }
}
