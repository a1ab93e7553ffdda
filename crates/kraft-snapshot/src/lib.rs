//! KIP-630 metadata snapshots: writer, reader, byte windows, reassembly.
//!
//! A snapshot is a file of record batches: a control batch with the header (and kraft.version and voters, where the
//! log has them), data batches with the records of an image, a control batch with the footer. Its offsets count from 0,
//! its epoch is that of its [`SnapshotId`](kraft_core::SnapshotId), its name is made of that id. Bytes, names and file
//! modes are Kafka's, either side reads what the other has written.
//!
//! # Contract, in call order
//!
//! *Writing:* [`SnapshotWriter::create`] writes the header into a part file, [`append`](SnapshotWriter::append) takes
//! one record value after the other, [`freeze`](SnapshotWriter::freeze) writes the footer, makes the file durable and
//! gives it its final name. A file with the final name is complete; a writer that is dropped leaves nothing.
//!
//! *Reading:* [`SnapshotReader::open`] checks the header, [`next_batch`](SnapshotReader::next_batch) one batch after
//! the other. The snapshot is verified when `next_batch` has said `None`, not before: whoever cannot take records
//! back reads twice, the first time with [`verify_rest`](SnapshotReader::verify_rest).
//!
//! *Sending:* [`read_window`] gives the bytes of a FetchSnapshot response.
//!
//! *Fetching:* [`FetchedSnapshot::create`], [`append`](FetchedSnapshot::append) each piece at its position,
//! [`freeze`](FetchedSnapshot::freeze), which verifies the whole before it gets its name.
//!
//! Writer and reader hold one batch in memory. Where Kafka believes a file that has a header, this crate wants the
//! footer at the very end, contiguous offsets, the epoch of the name and every checksum: a snapshot cut behind any
//! batch is an error and not a smaller snapshot.
//!
//! # What it does not do
//!
//! It does not decide when to take, serve, fetch or delete a snapshot, keeps no list of them, and does not know what
//! a record value means.
//!
//! ```
//! use std::path::Path;
//!
//! use kraft_core::{Epoch, SnapshotId};
//! use kraft_fs::{FileSystem, MemFs};
//! use kraft_snapshot::{SnapshotHeader, SnapshotReader, SnapshotWriter};
//!
//! let fs = MemFs::new();
//! let dir = Path::new("/data/__cluster_metadata-0");
//! fs.create_dir_all(dir)?;
//! let id = SnapshotId { end_offset: 42, epoch: Epoch(3) };
//! let header = SnapshotHeader {
//!     last_contained_log_timestamp: 1_760_000_000_000,
//!     kraft_version: 1,
//!     voters: None,
//! };
//!
//! let mut writer = SnapshotWriter::create(&fs, dir, id, &header, || 1_760_000_000_123)?;
//! writer.append(b"a record value")?;
//! writer.freeze()?;
//!
//! let mut reader = SnapshotReader::open(&fs, dir, id)?.expect("it has just been frozen");
//! assert_eq!(reader.header(), &header);
//! while let Some(batch) = reader.next_batch()? {
//!     for value in batch.values() {
//!         assert_eq!(&value[..], b"a record value");
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
pub use reader::{DataBatch, KRAFT_VERSION_MAX, SnapshotDamage, SnapshotReadError, SnapshotReader};
pub use window::{WINDOW_BYTES_MAX, read_window};
pub use writer::{SnapshotWriteError, SnapshotWriter};
