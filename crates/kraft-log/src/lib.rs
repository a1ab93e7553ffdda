//! The `__cluster_metadata-0` log in Kafka's on-disk format: its segments, its recovery and its small files.
//!
//! A directory that Apache Kafka 4.4 wrote is continued here, and the other way round.
//!
//! # Contract, in call order
//!
//! 1. The caller locks the metadata directory ([`kraft_fs::FileSystem::lock_dir`]) and checks it
//!    ([`check_directories`]).
//! 2. [`open`] reads and checks everything, puts in order what a crash can have left, and refuses other damage with
//!    file and byte, having written nothing. It gives one part to each thread:
//!    [`LogWriter`] to the log thread, [`LogIndex`] to the engine, [`LogReader`] (which clones) to whoever reads, and
//!    `Recovered` to the core.
//! 3. For each disk operation of the core the engine attaches the bytes ([`StorageOp`]), tells the index
//!    ([`LogIndex::submit`], before the next step of the core) and queues it for the log thread.
//! 4. The log thread calls [`LogWriter::run_round`] with the queue; what it returns is durable, and the engine tells the
//!    index ([`LogIndex::complete`]). After an error nothing is retried: the node ends. A fetched snapshot that fails
//!    its checks is no error but [`Round::rejected`], of which index ([`LogIndex::snapshot_rejected`]) and core hear
//!    first.
//! 5. Batches that are still in memory come from [`LogIndex::recent`], others from [`LogReader::read`].
//! 6. [`LogWriter::close`] on an orderly stop. Without it the next start cuts the zeros behind the last batch.
//!
//! A crash at any moment leaves a beginning of what was asked for, and all that a round had reported. No thread is
//! started and no clock is read here, so that a simulator can run the same code.
//!
//! [`verify`] is a start that changes nothing, for whoever wants to know beforehand. [`recover`] holds the ways out of
//! damage that a start refuses.
//!
//! # Layout
//!
//! `<base offset>.log` files hold record batches one behind the other. Only the last may end in zeros: blocks that are
//! written before they are needed make a sync cheap. Indexes are kept in memory and written when a segment ends; every
//! start, Kafka's as ours, builds them anew. `kraft-synced` is a file of our own, a hint how far the log was once
//! durable, which Kafka ignores.
//!
//! # What it does not do
//!
//! It decides nothing about consensus: which batch is appended where, and when the log is cut, comes from the core. It
//! does not decide when to take a snapshot. Old snapshots and segments go when it is told to clean
//! ([`StorageOp::Clean`]), which is reported as [`Round::cleaned`] for [`LogIndex::cleaned`].
//!
//! ```
//! use kraft_core::{Instant, LogView, Ticket};
//! use kraft_fs::MemFs;
//! use kraft_log::{LogOptions, StorageOp, batch_info, open};
//! use kraft_wire::batch::{BatchBuilder, BatchView};
//! use std::{collections::VecDeque, path::Path};
//!
//! let mut log = open(MemFs::new(), Path::new("/__cluster_metadata-0"), LogOptions::default())?;
//!
//! let mut builder = BatchBuilder::data(1_760_000_000_000);
//! builder.push(b"a record")?;
//! let batch = builder.build(0, 1);
//! let append = StorageOp::Append {
//!     infos: vec![batch_info(&BatchView::parse(batch.clone())?)?],
//!     batches: batch.clone(),
//! };
//! log.index.submit(Ticket(1), &append, Instant(0));
//! assert_eq!((log.index.end().last_offset, log.index.flushed_end()), (1, 0));
//!
//! let mut queue = VecDeque::from([(Ticket(1), append)]);
//! let round = log.writer.run_round(&mut queue)?;
//! log.index.complete(round.up_to);
//! assert_eq!(log.index.flushed_end(), 1);
//! assert_eq!(log.reader.read(0, 1000, i64::MAX)?, batch);
//! log.writer.close()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[macro_use]
#[cfg(not(kraft_mutations))]
mod mutation;
#[macro_use]
#[cfg(kraft_mutations)]
pub mod mutation;

mod batch_info;
mod blocks;
mod cached;
mod clean;
mod deleted;
mod directory;
pub mod directory_check;
pub mod epoch_checkpoint;
mod epoch_checks;
mod epochs;
mod examine;
mod examined_segment;
pub mod format;
mod in_range;
mod index;
pub mod info;
pub mod java_date;
pub mod java_properties;
mod layout;
pub mod meta_properties;
mod names;
mod needed_names;
mod op;
mod open;
mod open_error;
mod options;
pub mod partition_metadata;
mod preparer;
pub mod quorum_state;
mod reader;
mod recent;
pub mod recover;
mod round;
mod scan;
mod segment_files;
mod segment_index;
mod small_file;
mod snapshot_id;
mod storage_error;
mod synced_mark;
mod tail;
mod verify;
mod writer;

pub use batch_info::batch_info;
pub use clean::{Cleaned, Retention};
pub use directory_check::{
    CheckedDirectories, CheckedDirectory, ConfiguredDirectories, DirectoryCheckError, check_directories,
};
pub use index::LogIndex;
pub use info::{DirectoryInfo, DirectoryProblem, directory_info};
pub use meta_properties::{MetaProperties, new_directory_id};
pub use op::StorageOp;
pub use open::{Opened, open};
pub use open_error::{OpenError, Refusal};
pub use options::LogOptions;
pub use preparer::{Prepared, Preparer};
pub use reader::{LogReader, ReadError};
pub use round::{RejectedSnapshot, Round};
pub use scan::BatchFault;
pub use small_file::SmallFileError;
pub use snapshot_id::SnapshotIdError;
pub use storage_error::StorageError;
pub use tail::NotTorn;
pub use verify::{RemoveReason, Repair, Verified, verify};
pub use writer::LogWriter;

/// Name of the partition directory of Kafka's metadata log, inside the metadata directory.
pub const METADATA_PARTITION_DIR: &str = "__cluster_metadata-0";
