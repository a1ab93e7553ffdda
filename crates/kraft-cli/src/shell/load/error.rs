//! Why nothing can be shown.

use std::io;
use std::path::PathBuf;

use kraft_snapshot::SnapshotReadError;
use thiserror::Error;

/// Why there is no image.
#[derive(Debug, Error)]
pub(in crate::shell) enum LoadError {
    #[error("{}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{}: no segment and no snapshot of a metadata log in it; give the directory that has meta.properties, the \
        one of the partition, or one of its .log and .checkpoint files", path.display())]
    NothingThere { path: PathBuf },
    #[error("{}: not a file of record batches; give a .log or .checkpoint file of a metadata log, or its directory",
        path.display())]
    NoBatches { path: PathBuf },
    #[error("{}: byte {position}: {reason}; read {}; kraft dump shows what is behind it, kraft verify what a node \
        would do", path.display(), up_to(*.read))]
    Damaged {
        path: PathBuf,
        position: u64,
        reason: String,
        /// The offset of the last record before it.
        read: i64,
    },
    #[error("{damage}; kraft dump shows what can be read of it{}", instead(*.read))]
    Snapshot {
        damage: SnapshotReadError,
        /// How far older snapshots and the log reach.
        read: Option<i64>,
    },
    #[error("{}: the log begins at offset {start}, and {}", path.display(), before(*.snapshot_end))]
    Hole {
        path: PathBuf,
        start: i64,
        /// Where the newest usable snapshot ends.
        snapshot_end: Option<i64>,
    },
    #[error("{}: the segment begins at offset {found}, and the one before ends at {expected}; read {}", path.display(),
        up_to(*.expected - 1))]
    NotContiguous {
        path: PathBuf,
        expected: i64,
        found: i64,
    },
}

fn up_to(offset: i64) -> String {
    if offset < 0 {
        "nothing before it".to_owned()
    } else {
        format!("up to offset {offset}")
    }
}

fn instead(read: Option<i64>) -> String {
    read.map_or_else(String::new, |read| {
        format!(", and without it only what is up to offset {read} is known")
    })
}

fn before(snapshot_end: Option<i64>) -> String {
    match snapshot_end {
        Some(end) => format!("the newest snapshot that can be read ends at {end}"),
        None => "no snapshot says what was before".to_owned(),
    }
}
