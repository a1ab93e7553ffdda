//! KIP-630 metadata snapshots: writer, reader, byte windows, reassembly.

pub mod control;
mod fetched;
mod header;
mod name;
mod part_file;
mod reader;
mod window;
mod writer;

pub use fetched::{FetchedSnapshot, FetchedSnapshotError};
pub use header::SnapshotHeader;
pub use name::{
    SnapshotFileName, SnapshotFileState, SnapshotNameError, deleted_name, frozen_name, parse_name,
    partial_name,
};
pub use reader::{DataBatch, SnapshotDamage, SnapshotReadError, SnapshotReader};
pub use window::{WINDOW_BYTES_MAX, read_window};
pub use writer::{SnapshotWriteError, SnapshotWriter};
